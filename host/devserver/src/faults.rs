//! Fault injection: an API server that lags behind, loses responses, breaks watches.
//!
//! [`Rules`] define the affected requests and their faults. They are set when the server starts ([`Options::faults`]), from Rust while it
//! runs ([`Running::faults`]), or over HTTP (`/_oarlock/faults`). The same rules and the same order of requests give the same faults.
//!
//! [`Options::faults`]: crate::Options::faults
//! [`Running::faults`]: crate::Running::faults

use std::sync::{
    Arc, Mutex, PoisonError,
    atomic::{AtomicBool, Ordering},
};

use tokio::sync::watch;
use tokio_util::sync::CancellationToken;

use crate::{
    http::request::Request,
    model::{
        error::Error,
        path::{self, Target},
    },
    store::Store,
};

pub(crate) mod admin;
pub(crate) mod effect;
pub(crate) mod plan;
mod rule;
pub(crate) mod stream;

pub use rule::{Events, Fault, Requests, Rule, Rules};

use plan::{Active, Client, EventFaultDecision, FaultDecision, Meeting, Place, Plan, Turn};

/// The fault rules of a server, shared by its requests and watches.
#[derive(Debug)]
pub(crate) struct FaultState {
    plan: Mutex<Plan>,
    /// False when there are no rules: the only cost of a request then.
    any: AtomicBool,
    /// Wakes watches and held requests when rules are added or removed, or a client crashes.
    changed: watch::Sender<()>,
    /// Rules read its revision, and compact it.
    store: Arc<Store>,
    /// Cancelled when the server shuts down: ends waits.
    stop: CancellationToken,
    /// Whether rules that kill processes are accepted over HTTP.
    may_kill: bool,
}

impl FaultState {
    pub(crate) fn new(store: Arc<Store>, stop: CancellationToken, may_kill: bool) -> Self {
        let (any, changed) = (AtomicBool::new(false), watch::Sender::new(()));
        Self { plan: Mutex::default(), any, changed, store, stop, may_kill }
    }

    fn ask<R>(&self, f: impl FnOnce(&mut Plan) -> R) -> R {
        f(&mut self.plan.lock().unwrap_or_else(PoisonError::into_inner))
    }

    fn change<R>(&self, f: impl FnOnce(&mut Plan) -> R) -> R {
        let out = self.ask(|plan| {
            let out = f(plan);
            self.any.store(!plan.rules().is_empty(), Ordering::SeqCst);
            out
        });
        self.changed.send_replace(());
        out
    }

    /// Adds all of the rules, or none.
    fn add(&self, rules: Rules) -> Result<Vec<String>, Error> {
        let names: Vec<String> = rules.iter().map(|r| r.id.clone()).collect();
        self.change(|plan| plan.add(rules.into_vec(), self.store.revision())).map_err(|at| {
            let id = names.get(at).map_or("", String::as_str);
            Error::Fault { rule: at + 1, field: "id".to_owned(), why: format!("there is a rule {id:?} already") }
        })
    }

    fn any(&self) -> bool {
        self.any.load(Ordering::SeqCst)
    }

    /// The faults of a request.
    pub(crate) fn request(&self, call: &Request) -> Option<Box<FaultDecision>> {
        if !self.any() {
            return None;
        }
        let decision = self.ask(|plan| plan.request(&meeting(call), self.store.revision()))?;
        if matches!(decision.end, Some(plan::End::Crash { .. })) {
            // The watches of the crashed client are cut at once.
            self.changed.send_replace(());
        }
        Some(Box::new(decision))
    }
}

fn meeting(call: &Request) -> Meeting {
    let verb = call.verb();
    let version = call.query.get("resourceVersion");
    let cached = verb == "watch" || (version.is_some() && call.query.get("resourceVersionMatch") != Some("Exact"));
    let place = match path::parse(&call.path) {
        Target::Resource(path) => Some(Place {
            group: path.group,
            resource: path.plural,
            subresource: path.subresource,
            namespace: path.namespace,
            name: path.name,
        }),
        _ => None,
    };
    Meeting {
        dry_run: call.query.get("dryRun").is_some(),
        client: Client { user_agent: call.user_agent.clone(), user: call.user.name.clone() },
        path: call.path.clone(),
        verb,
        place,
        cached,
    }
}

/// The fault rules of a running server.
#[derive(Debug)]
pub struct Faults<'a> {
    pub(crate) state: &'a FaultState,
}

impl Faults<'_> {
    /// Adds all rules or none; returns their ids.
    ///
    /// # Errors
    ///
    /// [`Error::Fault`] when a rule with the same id exists.
    pub fn add(&self, rules: Rules) -> Result<Vec<String>, Error> {
        self.state.add(rules)
    }

    /// Adds one rule; returns its id.
    ///
    /// # Errors
    ///
    /// [`Error::Fault`] when the rule is invalid, or a rule with the same id exists.
    pub fn strike(&self, rule: Rule) -> Result<String, Error> {
        Ok(self.add(Rules::new(vec![rule])?)?.pop().unwrap_or_default())
    }

    /// Removes a rule; false when the id is unknown. Delayed requests and events continue; hanging requests are cut.
    #[must_use]
    pub fn remove(&self, id: &str) -> bool {
        self.state.change(|plan| plan.remove(id))
    }

    /// Removes all rules.
    pub fn clear(&self) {
        self.state.change(Plan::clear);
    }

    /// The rules in their order, with their counters.
    #[must_use]
    pub fn rules(&self) -> Vec<Report> {
        self.state.ask(|plan| plan.rules().iter().map(Report::of).collect())
    }
}

/// A rule and its counters.
#[derive(Debug, Clone, PartialEq, serde::Serialize)]
pub struct Report {
    /// The rule, with its id.
    #[serde(flatten)]
    pub rule: Rule,
    /// Number of matching requests (or events), before `skip`, `times` and `probability`.
    pub matched: u64,
    /// Number of faults; for `crash` including the requests cut afterwards.
    pub struck: u64,
    /// Whether the rule has crashed a client.
    pub crashed: bool,
}

impl Report {
    fn of(active: &Active) -> Self {
        Self {
            rule: active.rule.clone(),
            matched: active.matched,
            struck: active.struck,
            crashed: active.crashed.is_some(),
        }
    }
}
