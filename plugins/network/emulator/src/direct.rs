//! The emulated Neutron as a library, without a server.

use serde_json::Value;

use crate::neutron::{Call, Caller, Neutron};

/// A Neutron with direct calls, for tests without sockets. Every caller is an administrator.
///
/// ```
/// let mut neutron = neutron_emulator::Direct::default();
/// let (status, body) = neutron.call("POST", "/v2.0/networks", "", None, br#"{"network": {"name": "blue"}}"#);
/// assert_eq!((status, &body["network"]["name"]), (201, &"blue".into()));
/// assert_eq!(neutron.all("networks").len(), 1);
/// ```
#[derive(Debug, Default)]
pub struct Direct(Neutron);

impl Direct {
    /// Answers one request with a status and a body; null: no body.
    ///
    /// * `path` - begins with `/v2.0/`.
    /// * `query` - without the question mark; empty: none.
    /// * `if_match` - the header's value.
    pub fn call(&mut self, method: &str, path: &str, query: &str, if_match: Option<&str>, body: &[u8]) -> (u16, Value) {
        let (caller, base) = (Caller::anyone(), "http://neutron");
        let call = Call { method, path, query, if_match, body, caller: &caller, base, hide_younger_than: None };
        let answer = self.0.answer(&call);
        (answer.status.as_u16(), answer.body.unwrap_or_default())
    }

    /// All objects of a collection (`networks`, `subnets`, `ports`), ordered by id.
    #[must_use]
    pub fn all(&self, collection: &str) -> Vec<Value> {
        self.0.all(collection)
    }
}
