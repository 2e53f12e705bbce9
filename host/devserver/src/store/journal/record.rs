//! One change as one line: a checksum, a blank, JSON.

use std::borrow::Cow;

use data_encoding::HEXLOWER;
use serde::{Deserialize, Serialize};
use serde_json::Value;
use sha2::{Digest as _, Sha256};

use crate::store::{Key, Object};

/// The version of the files.
pub(super) const FORMAT: u32 = 1;
/// Number of hexadecimal digits of SHA-256 in the checksum.
const DIGITS: usize = 16;

/// A line of a log or a snapshot.
#[derive(Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
/// The log calls a resource store a shelf.
pub(crate) enum Record<'a> {
    /// The first line.
    Format(u32),
    /// A server started: all its revisions are above this one.
    Begun { revision: u64 },
    /// An object was created or changed.
    Put {
        shelf: Cow<'a, str>,
        revision: u64,
        namespace: Cow<'a, str>,
        name: Cow<'a, str>,
        /// The API version of a custom resource.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        version: Option<Cow<'a, str>>,
        value: Cow<'a, Value>,
    },
    /// An object was deleted.
    Gone { shelf: Cow<'a, str>, revision: u64, namespace: Cow<'a, str>, name: Cow<'a, str> },
    /// A kind is no longer served; its objects were deleted before.
    Dropped { shelf: Cow<'a, str> },
    /// In a snapshot: the objects of a kind at this revision follow.
    Shelf { shelf: String, revision: u64 },
    /// The last line of a snapshot.
    End {},
}

impl<'a> Record<'a> {
    pub(crate) fn put(shelf: &'a str, key: &Key, object: &'a Object) -> Self {
        let (namespace, name) = (key.namespace.clone().into(), key.name.clone().into());
        let version = object.version.as_deref().map(Cow::Borrowed);
        let value = Cow::Borrowed(&object.value);
        Self::Put { shelf: shelf.into(), revision: object.revision, namespace, name, version, value }
    }

    pub(crate) fn gone(shelf: &'a str, key: &Key, revision: u64) -> Self {
        let (namespace, name) = (key.namespace.clone().into(), key.name.clone().into());
        Self::Gone { shelf: shelf.into(), revision, namespace, name }
    }

    /// The line, with its end.
    pub(crate) fn to_line(&self) -> Vec<u8> {
        let json = serde_json::to_string(self).unwrap_or_default();
        format!("{} {json}\n", checksum(json.as_bytes())).into_bytes()
    }
}

impl Record<'static> {
    /// Parses a line without its end; the error describes its fault.
    pub(crate) fn parse(line: &[u8]) -> Result<Self, String> {
        let (sum, json) = line.split_at_checked(DIGITS + 1).ok_or("it is too short for a record")?;
        if sum.strip_suffix(b" ") != Some(checksum(json).as_bytes()) {
            return Err("its checksum is not that of its content".to_owned());
        }
        serde_json::from_slice(json).map_err(|e| format!("it is not a record: {e}"))
    }
}

fn checksum(bytes: &[u8]) -> String {
    let mut digest = HEXLOWER.encode(&Sha256::digest(bytes));
    digest.truncate(DIGITS);
    digest
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::store::Content;
    use serde_json::json;

    #[test]
    fn a_record_reads_what_it_writes() {
        let key = Key::new("n s", "a\"b\n");
        let object = Object::new(json!({"a": "\n\u{2028}", "n": 1.5}), 7);
        let custom = Object::new(Content { value: json!({}), version: Some("v1beta1".into()) }, 8);
        let records = [
            Record::Format(FORMAT),
            Record::Begun { revision: 6 },
            Record::put("pods", &key, &object),
            Record::put("networks.example.com", &key, &custom),
            Record::gone("pods", &key, 8),
            Record::Dropped { shelf: "x".into() },
            Record::Shelf { shelf: "x".into(), revision: 9 },
            Record::End {},
        ];
        for record in records {
            let line = record.to_line();
            let body = line.strip_suffix(b"\n").unwrap();
            assert!(!body.contains(&b'\n'));
            assert_eq!(Record::parse(body).unwrap(), record);
        }
    }

    #[test]
    fn every_changed_or_missing_byte_is_noticed() {
        let line = Record::gone("pods", &Key::new("n", "a"), 8).to_line();
        let body = line.strip_suffix(b"\n").unwrap();
        for at in 0..body.len() {
            let mut changed = body.to_vec();
            changed[at] ^= 1;
            Record::parse(&changed).unwrap_err();
            Record::parse(&body[..at]).unwrap_err();
        }
    }
}
