//! Authorization: RBAC from the stored roles and bindings.
//!
//! Members of `system:masters` have all permissions; other users have those of their bindings. A watch is authorized when it starts.
//!
//! # Source
//!
//! Kubernetes `plugin/pkg/auth/authorizer/rbac` and `apiserver/pkg/endpoints/request/requestinfo.go`.

use std::sync::Arc;

use http::Method;

use crate::{
    http::request::Request,
    model::{
        path::{self, ResourcePath, Target},
        selector::FieldSelector,
        status::{ApiError, Result},
        user::{MASTERS, User},
    },
    store::Store,
};

pub(crate) mod bindings;
pub(crate) mod defaults;
pub(crate) mod escalation;
pub(crate) mod impersonation;
pub(crate) mod rules;

pub(crate) use rules::Action;

/// The decision about an action.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Decision {
    pub(crate) allowed: bool,
    /// The binding that allows it, or the bindings with missing roles; mostly empty for a denial.
    pub(crate) reason: String,
}

/// RBAC over the stored roles and bindings.
#[derive(Debug)]
pub(crate) struct Authorizer {
    store: Arc<Store>,
    /// Whether an aggregated ClusterRole has the rules of the selected roles, which a controller copies in a cluster.
    aggregates: bool,
}

impl Authorizer {
    pub(crate) fn new(store: Arc<Store>, aggregates: bool) -> Self {
        Self { store, aggregates }
    }

    /// Decides whether a user may perform an action.
    pub(crate) fn decide(&self, user: &User, action: &Action) -> Decision {
        if user.is_in(MASTERS) {
            return Decision { allowed: true, reason: String::new() };
        }
        let namespace = match action {
            Action::Object { namespace, .. } => namespace.as_str(),
            Action::Url { .. } => "",
        };
        let held = bindings::held(self, user, namespace);
        match held.grants.iter().find(|g| g.rules.iter().any(|r| r.allows(action))) {
            Some(grant) => Decision { allowed: true, reason: format!("RBAC: allowed by {}", grant.source) },
            None => {
                let problems = held.problems();
                let reason = if problems.is_empty() { problems } else { format!("RBAC: {problems}") };
                Decision { allowed: false, reason }
            }
        }
    }

    /// Answers 403 for an action that the user may not perform.
    pub(crate) fn require(&self, user: &User, action: &Action) -> Result<()> {
        let decision = self.decide(user, action);
        if decision.allowed {
            return Ok(());
        }
        let mut why = format!("User {:?} cannot {action}", user.name);
        if !decision.reason.is_empty() {
            why = format!("{why}: {}", decision.reason);
        }
        Err(match action {
            Action::Url { .. } => ApiError::forbidden("", "", "", &why),
            Action::Object { group, resource, name, .. } => ApiError::forbidden(group, resource, name, &why),
        })
    }
}

/// The action of a request.
pub(crate) fn action(call: &Request) -> Action {
    match path::parse(&call.path) {
        Target::Resource(path) => on_objects(call, path),
        _ => Action::Url { verb: call.method.as_str().to_lowercase(), path: call.path.clone() },
    }
}

fn on_objects(call: &Request, path: ResourcePath) -> Action {
    let verb = match call.verb().as_str() {
        "apply" => "patch".to_owned(),
        // Subresources are never watched: regardless of the query, they are read.
        "watch" if !path.subresource.is_empty() => "get".to_owned(),
        verb => verb.to_owned(),
    };
    // A rule for one name allows a list or watch that is limited to that name.
    let selected = || {
        let selector = call.query.get("fieldSelector").and_then(|text| FieldSelector::parse(text).ok())?;
        selector.exact("metadata.name").map(str::to_owned)
    };
    let name =
        if path.name.is_empty() && call.method == Method::GET { selected().unwrap_or_default() } else { path.name };
    // A namespace itself counts as an object.
    let own = path.group.is_empty() && path.plural == "namespaces" && path.namespace.is_empty();
    let namespace = if own && call.method != Method::POST { name.clone() } else { path.namespace };
    Action::Object { verb, group: path.group, resource: path.plural, subresource: path.subresource, namespace, name }
}
