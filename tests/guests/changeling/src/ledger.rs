//! The world outside: the test's HTTP server.

use crate::role::Role;
use oarlock_guest::{Context, Result, config, http};

/// What `slow` waits for, in milliseconds.
const SLOW_MS: &str = "300";

/// The ledger as one reconcile sees it.
pub(crate) struct Ledger {
    /// Plugin, version, correlation id, name and uid: who asks, and about what.
    who: String,
    url: String,
}

impl Ledger {
    pub(crate) fn new<T>(role: &Role, cx: &Context<T>) -> Result<Self> {
        let who = format!("{}/{}/{}/{}/{}", role.name, role.version, cx.correlation_id(), cx.name(), cx.uid());
        Ok(Self { who, url: config::require("ledger")? })
    }

    /// Tells that the key is worked on.
    pub(crate) fn mark(&self, slow: bool) -> Result<()> {
        let request = http::post(format!("{}/marks/{}", self.url, self.who));
        let request = if slow { request.query("delay-ms", SLOW_MS) } else { request };
        request.send()?.error_for_status()?;
        Ok(())
    }

    /// The value it has for the object.
    pub(crate) fn value(&self) -> Result<Option<String>> {
        let answer = http::get(self.thing()).send()?;
        if answer.status == 404 {
            return Ok(None);
        }
        Ok(Some(answer.error_for_status()?.text()))
    }

    /// Makes a thing for the object. The ledger makes a second one if there is one already.
    pub(crate) fn create(&self, value: &str) -> Result<()> {
        http::post(self.thing()).bytes(value).send()?.error_for_status()?;
        Ok(())
    }

    /// Gives the object's thing another value.
    pub(crate) fn update(&self, value: &str) -> Result<()> {
        http::put(self.thing()).bytes(value).send()?.error_for_status()?;
        Ok(())
    }

    /// Removes what is there for the object.
    pub(crate) fn delete(&self) -> Result<()> {
        http::delete(self.thing()).send()?.error_for_status()?;
        Ok(())
    }

    fn thing(&self) -> String {
        format!("{}/things/{}", self.url, self.who)
    }
}
