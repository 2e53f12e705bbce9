//! Faults on request: an API server that lags behind, loses answers, breaks watches.
//!
//! [`Rules`] say which requests are struck and how; they are given when the server starts ([`Options::faults`]), from Rust
//! while it runs ([`Running::faults`]), or over HTTP (`/_oarlock/faults`). The same rules and the same order of requests give
//! the same faults.
//!
//! [`Options::faults`]: crate::Options::faults
//! [`Running::faults`]: crate::Running::faults

use std::sync::{
    Arc, Mutex, PoisonError,
    atomic::{AtomicBool, Ordering},
};

use tokio::sync::watch;

use crate::{
    Error,
    api::Api,
    path::{self, Target},
    server::{Call, verb},
};

pub(crate) mod admin;
pub(crate) mod effect;
pub(crate) mod plan;
mod rule;
pub(crate) mod stream;

pub use rule::{Events, Fault, Requests, Rule, Rules};

use plan::{Active, Client, EventStrike, Meeting, Place, Plan, Strike, Turn};

/// The rules of a server, shared by its requests and watches.
#[derive(Debug)]
pub(crate) struct Board {
    plan: Mutex<Plan>,
    /// False when there are no rules: all that a request pays then.
    any: AtomicBool,
    /// Wakes watches and held requests when rules come, go, or a client crashes.
    changed: watch::Sender<()>,
}

impl Board {
    pub(crate) fn new() -> Self {
        Self { plan: Mutex::default(), any: AtomicBool::new(false), changed: watch::Sender::new(()) }
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
    fn add(&self, rules: Rules, revision: u64) -> Result<Vec<String>, Error> {
        let names: Vec<String> = rules.iter().map(|r| r.id.clone()).collect();
        self.change(|plan| plan.add(rules.into_vec(), revision)).map_err(|at| {
            let id = names.get(at).map_or("", String::as_str);
            Error::Fault { rule: at + 1, field: "id".to_owned(), why: format!("there is a rule {id:?} already") }
        })
    }

    fn any(&self) -> bool {
        self.any.load(Ordering::SeqCst)
    }

    /// What happens to a request.
    pub(crate) fn request(&self, call: &Call, revision: impl FnOnce() -> u64) -> Option<Box<Strike>> {
        if !self.any() {
            return None;
        }
        let strike = self.ask(|plan| plan.request(&meeting(call), revision()))?;
        if matches!(strike.end, Some(plan::End::Crash { .. })) {
            // Its watches are cut at once.
            self.changed.send_replace(());
        }
        Some(Box::new(strike))
    }
}

fn meeting(call: &Call) -> Meeting {
    let verb = verb(call);
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

/// The fault rules of a server that runs.
#[derive(Debug)]
pub struct Faults<'a> {
    pub(crate) api: &'a Arc<Api>,
}

impl Faults<'_> {
    /// Adds rules, all or none; answers their ids.
    ///
    /// # Errors
    ///
    /// [`Error::Fault`] when there is a rule of the same id.
    pub fn add(&self, rules: Rules) -> Result<Vec<String>, Error> {
        self.api.faults.add(rules, self.api.store.revision())
    }

    /// Adds one rule; answers its id.
    ///
    /// # Errors
    ///
    /// [`Error::Fault`] when it makes no sense, or there is a rule of the same id.
    pub fn strike(&self, rule: Rule) -> Result<String, Error> {
        Ok(self.add(Rules::new(vec![rule])?)?.pop().unwrap_or_default())
    }

    /// Removes a rule; false when there is none of that id. What it holds back goes on; requests it lets hang are cut.
    #[must_use]
    pub fn remove(&self, id: &str) -> bool {
        self.api.faults.change(|plan| plan.remove(id))
    }

    /// Removes all rules.
    pub fn clear(&self) {
        self.api.faults.change(Plan::clear);
    }

    /// The rules in their order, with what they did so far.
    #[must_use]
    pub fn rules(&self) -> Vec<Report> {
        self.api.faults.ask(|plan| plan.rules().iter().map(Report::of).collect())
    }
}

/// A rule and what it did so far.
#[derive(Debug, Clone, PartialEq, serde::Serialize)]
pub struct Report {
    /// The rule, with its id.
    #[serde(flatten)]
    pub rule: Rule,
    /// How many requests (or events) it was about, before `skip`, `times` and `probability`.
    pub matched: u64,
    /// How many it struck; of `crash` also what was cut after it.
    pub struck: u64,
    /// Whether a client has crashed by it.
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
