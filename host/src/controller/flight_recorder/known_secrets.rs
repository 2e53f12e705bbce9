//! Secrets that a plugin saw recently. A later reconcile may repeat one that it kept in a cache or in its memory, and its record does not
//! show where that came from.

use crate::api::GroupVersionKind;
use crate::informer::Object;
use crate::plugin::tape::{Found, Read, Seen, Tape, TapeRoom};
use std::collections::VecDeque;
use std::sync::Arc;

/// Most bytes for one plugin.
const MOST_BYTES: usize = 256 << 10;

/// Overhead of an entry.
const ENTRY_BYTES: usize = 64;

/// Other names of headers with a credential, in lower case.
const CREDENTIALS: [&str; 4] = ["authorization", "proxy-authorization", "cookie", "set-cookie"];

/// Something that contains secrets.
#[derive(Clone, Debug)]
pub enum Known {
    /// A Secret.
    Object(Arc<Object>),
    /// A Secret as JSON.
    Text(Arc<str>),
    /// The value of a header with a credential.
    Header(Arc<str>),
}

/// Parts of names of fields and headers that contain a credential, and ends of names that say something about one.
const PARTS: [&str; 8] = ["token", "secret", "password", "passwd", "apikey", "api-key", "signature", "credential"];
const ABOUT: [&str; 6] = ["type", "url", "uri", "endpoint", "method", "count"];

/// Whether a header, or a field of a body, contains a credential.
#[must_use]
pub fn is_credential(name: &str) -> bool {
    let name = name.to_ascii_lowercase().replace('_', "-");
    CREDENTIALS.contains(&name.as_str())
        || PARTS.iter().any(|part| name.contains(part)) && !ABOUT.iter().any(|end| name.ends_with(end))
}

/// The secrets that a plugin saw last.
#[derive(Debug)]
pub(super) struct KnownSecrets {
    room: Arc<TapeRoom>,
    known: VecDeque<Known>,
    bytes: usize,
}

impl KnownSecrets {
    pub(super) fn new(room: Arc<TapeRoom>) -> Self {
        Self { room, known: VecDeque::new(), bytes: 0 }
    }

    /// All of them.
    pub(super) fn all(&self) -> Vec<Known> {
        self.known.iter().cloned().collect()
    }

    /// Notes the secrets that a reconcile saw.
    ///
    /// * `of` - the kind of its object.
    pub(super) fn learn(&mut self, of: &GroupVersionKind, tape: &Tape) {
        let recorded = tape.recorded();
        let secret = |group: &str, kind: &str| group.is_empty() && kind == "Secret";
        if secret(&of.group, &of.kind)
            && let Some(request) = &recorded.request
        {
            for text in [&request.object, &request.last_seen].into_iter().flatten() {
                self.note(Known::Text(Arc::clone(text)));
            }
        }
        for seen in &recorded.seen {
            match seen {
                Seen::Read(
                    _,
                    Read::Get(kind, _) | Read::Live(kind, _) | Read::List(kind, _),
                    Ok(Found::Objects(found)),
                ) if secret(&kind.group, &kind.kind) => {
                    for object in found {
                        self.note(Known::Object(Arc::clone(object)));
                    }
                }
                Seen::Http(_, sent, answer) => {
                    for (name, value) in &sent.headers {
                        self.header(name, value);
                    }
                    for (name, value) in answer.iter().flat_map(|response| response.headers()) {
                        self.header(name.as_str(), &String::from_utf8_lossy(value.as_bytes()));
                    }
                }
                _ => {}
            }
        }
    }

    fn header(&mut self, name: &str, value: &str) {
        if is_credential(name) && !self.known.iter().any(|known| matches!(known, Known::Header(of) if &**of == value)) {
            self.note(Known::Header(value.into()));
        }
    }

    fn note(&mut self, new: Known) {
        let same = |known: &Known| match (known, &new) {
            (Known::Object(a), Known::Object(b)) => Arc::ptr_eq(a, b),
            (Known::Text(a), Known::Text(b)) => a == b,
            _ => false,
        };
        let bytes = new.bytes();
        if bytes > MOST_BYTES || self.known.iter().any(same) {
            return;
        }
        while self.bytes + bytes > MOST_BYTES || !self.room.take(bytes) {
            let Some(oldest) = self.known.pop_front() else { return };
            self.bytes -= oldest.bytes();
            self.room.give_back(oldest.bytes());
        }
        self.bytes += bytes;
        self.known.push_back(new);
    }
}

impl Drop for KnownSecrets {
    fn drop(&mut self) {
        self.room.give_back(self.bytes);
    }
}

impl Known {
    fn bytes(&self) -> usize {
        ENTRY_BYTES
            + match self {
                Self::Object(object) => object.json().len(),
                Self::Text(text) | Self::Header(text) => text.len(),
            }
    }
}

#[cfg(test)]
mod tests {
    use super::super::FlightRecorder;
    use super::super::tests::record;
    use super::*;

    #[test]
    fn what_is_known_is_bounded_and_gives_its_room_back() {
        let room = TapeRoom::new(1 << 20);
        let mut secrets = KnownSecrets::new(Arc::clone(&room));
        for number in 0..10_000 {
            secrets.header("X-Auth-Token", &format!("{number:0>200}"));
        }
        assert!(secrets.bytes <= MOST_BYTES && room.taken() == secrets.bytes, "{}", room.taken());
        let last = format!("{:0>200}", 9_999);
        assert!(secrets.all().iter().any(|known| matches!(known, Known::Header(value) if **value == *last)));
        secrets.header("Accept", "text/plain");
        assert!(!secrets.all().iter().any(|known| matches!(known, Known::Header(value) if &**value == "text/plain")));
        drop(secrets);
        assert_eq!(room.taken(), 0);
    }

    #[test]
    fn a_primary_that_is_a_secret_is_known() {
        let records = FlightRecorder::new(8 << 20).plugin("p");
        let mut one = record(&records, "a", "synced", None);
        one.kind = GroupVersionKind::new("", "v1", "Secret");
        let mut secrets = KnownSecrets::new(TapeRoom::new(1 << 20));
        secrets.learn(&one.kind, &one.tape);
        secrets.learn(&one.kind, &one.tape);
        assert_eq!(secrets.all().len(), 1);
    }
}
