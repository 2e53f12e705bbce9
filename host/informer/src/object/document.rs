//! The stored text of an object, assembled from the API server's text, and positions in it.

use oarlock_api::GroupVersionKind;
use serde::Deserialize;
use serde_json::value::RawValue;
use std::borrow::Cow;

/// Prefix of the field managers of Oarlock's controllers; of `managedFields` only their entries are kept.
const OWN_MANAGERS: &str = "oarlock.";

/// A position in the text of an object.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Span {
    pub(super) at: u32,
    pub(super) len: u32,
}

/// The text of an object during its assembly: `head`, `before`, `after`, `tail`.
pub(super) struct Layout<'a> {
    source: &'a str,
    /// kind and apiVersion, where they were left out.
    head: String,
    /// The text before and after managedFields in `source`.
    before: &'a str,
    after: &'a str,
    /// Text outside of the document.
    tail: String,
}

impl<'a> Layout<'a> {
    pub(super) fn new(
        source: &'a str,
        managed_fields: Option<&RawValue>,
        types: Option<&GroupVersionKind>,
    ) -> serde_json::Result<Self> {
        let around = managed_fields.and_then(|value| around_member(source, value.get()));
        let (mut before, after) = around.unwrap_or((source, ""));
        let mut head = String::new();
        if let Some(gvk) = types {
            let kind = serde_json::to_string(&gvk.kind)?;
            let api_version = serde_json::to_string(&gvk.api_version())?;
            // The document is never `{}`: it has metadata, so a comma is right.
            head = format!("{{\"kind\":{kind},\"apiVersion\":{api_version},");
            before = before.strip_prefix('{').unwrap_or(before);
        }
        Ok(Self { source, head, before, after, tail: String::new() })
    }

    /// The length of the document.
    pub(super) fn document(&self) -> usize {
        self.head.len() + self.before.len() + self.after.len()
    }

    /// The position of `text`: in the document, if it is borrowed from there.
    pub(super) fn place(&mut self, text: &Text<'_>) -> serde_json::Result<Span> {
        let at = match &text.0 {
            Cow::Borrowed("") => 0,
            Cow::Borrowed(text) => match (offset(self.before, text), offset(self.after, text)) {
                (Some(at), _) => self.head.len() + at,
                (_, Some(at)) => self.head.len() + self.before.len() + at,
                (None, None) => self.append(text),
            },
            Cow::Owned(text) => self.append(text),
        };
        Ok(Span { at: narrow(at)?, len: narrow(text.0.len())? })
    }

    fn append(&mut self, text: &str) -> usize {
        let at = self.document() + self.tail.len();
        self.tail.push_str(text);
        at
    }

    pub(super) fn into_text(self) -> Box<str> {
        if self.head.is_empty() && self.tail.is_empty() && self.after.is_empty() && self.before == self.source {
            return self.source.into();
        }
        [&self.head, self.before, self.after, &self.tail].concat().into()
    }
}

/// The offset of `part` in `whole`, if it is borrowed from it.
fn offset(whole: &str, part: &str) -> Option<usize> {
    let at = part.as_ptr().addr().checked_sub(whole.as_ptr().addr())?;
    (at + part.len() <= whole.len()).then_some(at)
}

/// Positions have four bytes: an API server stores no document of 4 GiB.
pub(super) fn narrow(length: usize) -> serde_json::Result<u32> {
    u32::try_from(length).map_err(|_too_large| serde::de::Error::custom("the document is larger than 4 GiB"))
}

/// A string, borrowed unless it contains escapes.
#[derive(Default, PartialEq, Eq, PartialOrd, Ord, Deserialize)]
pub(super) struct Text<'a>(#[serde(borrow)] pub(super) Cow<'a, str>);

/// The text before and after the object member with `value`, a slice of `text`, without one of its commas.
///
/// A `RawValue` borrows from its input, so the position follows from the two addresses without another scan.
fn around_member<'a>(text: &'a str, value: &str) -> Option<(&'a str, &'a str)> {
    let at = value.as_ptr().addr().checked_sub(text.as_ptr().addr())?;
    let after = text.get(at + value.len()..)?.trim_start();
    let before = text.get(..at)?.trim_end().strip_suffix(':')?.trim_end().strip_suffix('"')?;
    // The key is `managedFields`, which contains no quote in any escaped form.
    let before = before.get(..before.rfind('"')?)?.trim_end();
    Some(match before.strip_suffix(',') {
        Some(before) => (before, after),
        None => (before, after.strip_prefix(',').unwrap_or(after)),
    })
}

/// The entries of this host's managers as a JSON array; empty if there are none.
pub(super) fn own_entries(managed_fields: Option<&RawValue>) -> serde_json::Result<String> {
    #[derive(Deserialize)]
    struct ManagedFieldsEntry<'a> {
        #[serde(borrow, default)]
        manager: Option<Cow<'a, str>>,
    }
    let Some(all) = managed_fields.filter(|value| value.get().contains(OWN_MANAGERS)) else { return Ok(String::new()) };
    let mut own = Vec::new();
    for entry in serde_json::from_str::<Vec<&RawValue>>(all.get())? {
        let manager = serde_json::from_str::<ManagedFieldsEntry<'_>>(entry.get())?.manager;
        if manager.is_some_and(|m| m.starts_with(OWN_MANAGERS)) {
            // A raw value may hold half of a surrogate pair or a number out of range. Readers of the entry would find nothing owned.
            serde_json::from_str::<serde_json::Value>(entry.get())?;
            own.push(entry.get());
        }
    }
    Ok(if own.is_empty() { String::new() } else { format!("[{}]", own.join(",")) })
}

/// Removes white space between tokens. API servers send none, so most texts are unchanged.
pub(super) fn compacted(text: &str) -> Cow<'_, str> {
    // A JSON string contains no line break: a line break shows a text that is formatted for people.
    if !text.contains('\n') {
        return text.into();
    }
    let mut compact = String::with_capacity(text.len());
    let (mut in_string, mut escaped) = (false, false);
    for c in text.chars() {
        if in_string {
            (in_string, escaped) = (escaped || c != '"', !escaped && c == '\\');
        } else if matches!(c, ' ' | '\t' | '\n' | '\r') {
            continue;
        } else {
            in_string = c == '"';
        }
        compact.push(c);
    }
    compact.into()
}
