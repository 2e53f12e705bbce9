//! The secrets that a plugin knows. The host replaces them in every text of the plugin before it keeps or passes on the text.

use super::fingerprints::{Fingerprints, hash, replaced};
use super::{SHORTEST_CREDENTIAL, Secrets, is_credential};
use std::borrow::Cow;
use std::collections::HashSet;
use std::sync::atomic::{AtomicBool, Ordering::Relaxed};
use std::sync::{PoisonError, RwLock, RwLockReadGuard};

/// Most spellings of values of Secrets and secret files, of some 60 bytes each. None is forgotten: beyond that the host withholds all texts.
const MOST_SPELLINGS: usize = 100_000;

/// Spellings of credentials of HTTP requests after which older ones are forgotten; twice as many are known. A plugin may get a new one for
/// each request.
const MOST_CREDENTIALS: usize = 4096;

/// Printed bytes between two searches, beside those in which a secret may go on.
const PRINTED_BYTES: usize = 4 << 10;

/// Documents that are not read again.
const MOST_LEARNED: usize = 1 << 14;

/// Replaces every text of a plugin that saw too many secrets.
const WITHHELD: &str = "[withheld: the plugin saw more secrets than the host can recognize]";

/// The secrets that a plugin knows: values of its secret files, of Secrets that it saw, and credentials of HTTP requests.
#[derive(Debug)]
pub struct KnownSecrets {
    /// Whether it is for a real plugin. In tests of plugins nothing is replaced, so that they find secrets in texts.
    learns: bool,
    /// Whether there is anything to look for.
    any: AtomicBool,
    known: RwLock<Known>,
}

#[derive(Debug, Default)]
struct Known {
    secrets: Fingerprints,
    /// The later credentials, and those before them.
    credentials: [Fingerprints; 2],
    /// Hashes of documents and credentials that were learned.
    learned: HashSet<u64>,
    full: bool,
}

impl Default for KnownSecrets {
    fn default() -> Self {
        Self { learns: !oarlock_simulation::is_running(), any: AtomicBool::new(false), known: RwLock::default() }
    }
}

impl KnownSecrets {
    /// Knows no secret, and learns none.
    #[must_use]
    pub fn off() -> Self {
        Self { learns: false, ..Self::default() }
    }

    /// Learns the values of secret files.
    pub fn learn_values<'v>(&self, values: impl Iterator<Item = &'v String>) {
        for value in values {
            self.learn(value.as_bytes(), false, |secrets| drop(secrets.value(value, SHORTEST_CREDENTIAL)));
        }
    }

    /// Learns the values of a Secret, or of a part of one.
    ///
    /// * `document` - as JSON.
    pub fn learn_secret(&self, document: &str) {
        self.learn(document.as_bytes(), false, |secrets| secrets.learn_secret(document));
    }

    /// Learns the value of a header, if that is a credential.
    pub fn learn_header(&self, name: &str, value: &str) {
        if is_credential(name) {
            self.learn(value.as_bytes(), true, |secrets| drop(secrets.header(value)));
        }
    }

    /// Whether the plugin saw more secrets than the host can recognize.
    #[must_use]
    pub fn is_full(&self) -> bool {
        self.known().full
    }

    /// The bytes of the longest secret.
    #[must_use]
    pub fn longest(&self) -> usize {
        if self.any.load(Relaxed) { self.known().longest() } else { 0 }
    }

    /// The beginning of a text of the plugin, with placeholders for secrets.
    ///
    /// * `limit` - the bytes of the beginning. A placeholder may go beyond.
    #[must_use]
    pub fn hide<'t>(&self, text: &'t str, limit: usize) -> Cow<'t, str> {
        let shortened = crate::shorten(text, limit);
        if !self.any.load(Relaxed) {
            return Cow::Borrowed(shortened);
        }
        let known = self.known();
        if known.full {
            return Cow::Borrowed(WITHHELD);
        }
        let seen = crate::shorten(text, limit.saturating_add(known.longest()));
        match replaced(seen.as_bytes(), shortened.len(), &known.sets()) {
            Some((hidden, _)) => Cow::Owned(String::from_utf8_lossy(&hidden).into_owned()),
            None => Cow::Borrowed(shortened),
        }
    }

    /// A text of the plugin, or with a part of one, with placeholders for secrets.
    #[must_use]
    pub fn hidden(&self, text: String) -> String {
        let hidden = self.hide(&text, usize::MAX);
        if *hidden == *text { text } else { hidden.into_owned() }
    }

    /// Adds printed output, and takes from it what can be shown, with placeholders for secrets: a secret may be printed in parts.
    ///
    /// * `held` - output that could not be shown yet. Some of it may remain.
    #[must_use]
    pub fn printed<'b>(&self, held: &mut Vec<u8>, bytes: &'b [u8]) -> Cow<'b, [u8]> {
        if !self.any.load(Relaxed) {
            return Cow::Borrowed(bytes);
        }
        held.extend_from_slice(bytes);
        let known = self.known();
        Cow::Owned(known.take(held, known.settled(held, bytes.len())))
    }

    /// Takes the rest of printed output, with placeholders for secrets.
    #[must_use]
    pub fn printed_rest(&self, held: &mut Vec<u8>) -> Vec<u8> {
        self.known().take(held, held.len())
    }

    /// A text without these and other secrets.
    pub(super) fn hide_with(&self, others: &Fingerprints, text: &str) -> String {
        let hidden = self.hide_bytes_with(others, text.as_bytes());
        String::from_utf8(hidden).unwrap_or_default()
    }

    /// Bytes without these and other secrets.
    pub(super) fn hide_bytes_with(&self, others: &Fingerprints, bytes: &[u8]) -> Vec<u8> {
        let known = self.known();
        let [new, old] = &known.credentials;
        let hidden = replaced(bytes, usize::MAX, &[others, &known.secrets, new, old]);
        hidden.map_or_else(|| bytes.to_owned(), |(hidden, _)| hidden)
    }

    /// * `of` - what is learned from: it is read only once.
    fn learn(&self, of: &[u8], credential: bool, learn: impl FnOnce(&mut Secrets)) {
        if !self.learns || of.is_empty() || self.known().learned.contains(&hash(of)) {
            return;
        }
        let mut secrets = Secrets::default();
        learn(&mut secrets);
        let mut known = self.known.write().unwrap_or_else(PoisonError::into_inner);
        known.learn(&secrets, credential);
        if known.learned.len() >= MOST_LEARNED {
            known.learned.clear();
        }
        known.learned.insert(hash(of));
        self.any.store(true, Relaxed);
    }

    fn known(&self) -> RwLockReadGuard<'_, Known> {
        self.known.read().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Known {
    fn learn(&mut self, secrets: &Secrets, credential: bool) {
        for value in &secrets.values {
            if !credential {
                self.full |= self.secrets.len() > MOST_SPELLINGS;
                if self.full {
                    return;
                }
                self.secrets.add(value);
                continue;
            }
            let [new, old] = &mut self.credentials;
            if new.len() >= MOST_CREDENTIALS {
                *old = std::mem::take(new);
                // What is still in use is learned again.
                self.learned.clear();
            }
            new.add(value);
        }
    }

    fn sets(&self) -> [&Fingerprints; 3] {
        let [new, old] = &self.credentials;
        [&self.secrets, new, old]
    }

    fn longest(&self) -> usize {
        self.sets().iter().map(|set| set.longest()).max().unwrap_or_default()
    }

    /// The bytes at the beginning of printed output in which no secret can begin that goes on behind the output. A search comes once for as
    /// many bytes as it reads again.
    ///
    /// * `new` - the bytes at the end that were not printed before.
    fn settled(&self, held: &[u8], new: usize) -> usize {
        let longest = self.longest();
        let far = if held.len() < 2 * longest + PRINTED_BYTES { 0 } else { held.len() + 1 - longest.max(1) };
        if self.sets().iter().any(|set| set.have_lines()) {
            return far;
        }
        let after_line = held.iter().rev().take(new).position(|byte| *byte == b'\n');
        far.max(after_line.map_or(0, |after| held.len() - after))
    }

    /// Takes the beginning of printed output, and the whole of a secret that begins in it.
    fn take(&self, held: &mut Vec<u8>, limit: usize) -> Vec<u8> {
        if limit == 0 {
            return Vec::new();
        }
        let found = replaced(held, limit, &self.sets());
        let (shown, seen) = found.unwrap_or_else(|| (held.get(..limit).unwrap_or_default().to_owned(), limit));
        held.drain(..seen.min(held.len()));
        shown
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    fn secret(data: &serde_json::Value) -> String {
        json!({"apiVersion": "v1", "kind": "Secret", "stringData": data}).to_string()
    }

    #[test]
    fn what_a_plugin_knows_is_replaced_in_its_texts_and_nothing_without_secrets() {
        let known = KnownSecrets::default();
        assert!(matches!(known.hide("said the-value", 8), Cow::Borrowed("said the")));
        known.learn_values([&"of-a-file\n".to_owned()].into_iter());
        known.learn_secret(&secret(&json!({"a": "of-a-secret", "short": "yes"})));
        // A part of one, as get-applied returns it.
        known.learn_secret(r#"{"data":{"b":"b2YtYW4tYXBwbGllZC1wYXJ0"}}"#);
        known.learn_header("X-Auth-Token", "of-a-header");
        known.learn_header("Accept", "text/plain");
        let text = "of-a-file of-a-secret yes of-an-applied-part of-a-header text/plain b2YtYW4tYXBwbGllZC1wYXJ0";
        let hidden = known.hidden(text.to_owned());
        assert!(!hidden.contains("of-a") && !hidden.contains("b2YtYW4t"), "{hidden}");
        assert!(hidden.contains(" yes ") && hidden.contains(" text/plain "), "{hidden}");
        assert_eq!(hidden.matches("oarlock-secret-").count(), 4, "{hidden}");
        assert_eq!(known.hidden(hidden.clone()), hidden);
        let printed = known.printed(&mut Vec::new(), b"\xffof-a-secret\n").into_owned();
        assert!(printed.starts_with(b"\xffoarlock-secret-") && printed.ends_with(b"\n"), "{printed:?}");
        let off = KnownSecrets::off();
        off.learn_header("X-Auth-Token", "of-a-header");
        assert_eq!(off.hidden("of-a-header".to_owned()), "of-a-header");
    }

    #[test]
    fn a_secret_of_any_size_is_known_and_of_too_many_no_text_is_shown() {
        let known = KnownSecrets::default();
        let large = "x1y2z3".repeat(100_000);
        known.learn_secret(&secret(&json!({"large": large})));
        assert!(known.hidden(format!("a {large} b")).len() < 100);
        for number in 0..20_000 {
            known.learn_secret(&secret(&json!({"a": format!("value-{number}-{number}")})));
        }
        assert!(!known.is_full() && !known.hidden("value-0-0".to_owned()).contains("value"), "none is forgotten");
        for number in 20_000..60_000 {
            known.learn_secret(&secret(&json!({"a": format!("value-{number}-{number}")})));
        }
        assert!(known.is_full() && known.known().secrets.len() <= MOST_SPELLINGS + 8);
        for text in ["anything".to_owned(), "x".repeat(WITHHELD.len())] {
            assert_eq!(known.hidden(text), WITHHELD);
        }
    }

    #[test]
    fn of_credentials_those_in_use_are_known_however_many_there_were() {
        let known = KnownSecrets::default();
        let token = |number: u32| number.to_string().repeat(20);
        for number in 0..20_000 {
            known.learn_header("authorization", "Bearer in-use-all-the-time");
            known.learn_header("x-auth-token", &token(number));
        }
        assert!(known.known().credentials.iter().all(|some| some.len() < MOST_CREDENTIALS + 8) && !known.is_full());
        for text in ["in-use-all-the-time".to_owned(), token(19_999), token(19_000)] {
            assert!(known.hidden(text).starts_with("oarlock-secret-"));
        }
    }
}
