//! Matching of webhooks with writes: rules, selectors, match conditions.
//!
//! # Source
//!
//! apiserver `pkg/admission/plugin/webhook/generic/webhook.go`, `predicates/rules/rules.go` and `matchconditions/matcher.go`.

use std::sync::Arc;

use serde_json::Value;

use super::{
    Attributes, Old, Operation,
    hooks::{Hook, Rule},
};
use crate::{
    model::{
        kinds::Resource,
        selector::LabelSelector,
        status::{ApiError, Result},
    },
    resources::namespaces,
};

/// The resource in a review: that of the request, or an equivalent one in the webhook's rules.
#[derive(Debug)]
pub(super) struct Target {
    pub(super) resource: Arc<Resource>,
}

fn names(list: &[String], value: &str) -> bool {
    list.iter().any(|n| n == "*" || n == value)
}

impl Rule {
    fn matches(&self, attributes: &Attributes<'_>, resource: &Resource) -> bool {
        names(&self.operations, attributes.operation.name())
            && names(&self.groups, &resource.group)
            && names(&self.versions, &resource.version)
            && self.in_scope(attributes)
            && self.resources.iter().any(|named| {
                let (plural, subresource) = named.split_once('/').unwrap_or((named, ""));
                (plural == "*" || plural == resource.plural)
                    && (subresource == "*" || subresource == attributes.subresource)
            })
    }

    fn in_scope(&self, attributes: &Attributes<'_>) -> bool {
        // Requests for a namespace contain its name, but are cluster-scoped all the same.
        let cluster = attributes.namespace.is_empty() || attributes.resource.plural == "namespaces";
        match self.scope.as_str() {
            "Cluster" => cluster,
            "Namespaced" => !cluster,
            _ => true,
        }
    }
}

impl Attributes<'_> {
    /// The resource for the review; `None` when the webhook does not match.
    pub(super) async fn matches(&self, hook: &Hook, object: Option<&Value>, old: Old<'_>) -> Result<Option<Target>> {
        let in_namespace = self.in_namespace(&hook.namespaces, object);
        if matches!(in_namespace, Ok(false)) || !selects(&hook.objects, object, old) {
            return Ok(None);
        }
        let Some(target) = self.target(hook) else { return Ok(None) };
        in_namespace?;
        if hook.conditions.is_empty() || self.conditions_hold(hook, &target, object, old).await? {
            return Ok(Some(target));
        }
        Ok(None)
    }

    /// Whether the namespace selector matches; cluster-scoped objects always match.
    fn in_namespace(&self, selector: &LabelSelector, object: Option<&Value>) -> Result<bool> {
        let namespaces = self.resource.is("", "namespaces");
        if selector.is_empty() || (self.namespace.is_empty() && !namespaces) {
            return Ok(true);
        }
        if let (true, "", Operation::Create | Operation::Update, Some(object)) =
            (namespaces, self.subresource, self.operation, object)
        {
            return Ok(selector.matches(object));
        }
        let name = if self.namespace.is_empty() { self.name } else { self.namespace };
        let namespace =
            namespaces::find(&self.webhooks.store, name).ok_or_else(|| ApiError::not_found("", "namespaces", name))?;
        Ok(selector.matches(&namespace.value))
    }

    fn target(&self, hook: &Hook) -> Option<Target> {
        let matching = |resource: &Resource| hook.rules.iter().any(|rule| rule.matches(self, resource));
        if matching(self.resource) {
            return Some(Target { resource: Arc::clone(self.resource) });
        }
        if !hook.equivalent {
            return None;
        }
        // All versions of a kind share a resource store, and so do both kinds of events.
        let (served, resource_store) = (self.webhooks.registry.served(), self.resource.resource_store());
        let others = served.all().iter().filter(|r| r.resource_store() == resource_store);
        let has = |r: &Resource| self.subresource.is_empty() || r.subresource(self.subresource).is_some();
        others.filter(|r| has(r)).find(|r| matching(r)).map(|r| Target { resource: Arc::clone(r) })
    }

    async fn conditions_hold(
        &self,
        hook: &Hook,
        target: &Target,
        object: Option<&Value>,
        old: Old<'_>,
    ) -> Result<bool> {
        let object = self.shown_or_null(target, object).await?;
        let old = self.shown_old(target, old).await?;
        let request = self.request(target, "");
        let variables = [("object", &object), ("oldObject", &old), ("request", &request)];
        let mut errors = Vec::new();
        for condition in &hook.conditions {
            match condition.holds(&variables) {
                Ok(true) => {}
                // One false condition suffices, even if others fail.
                Ok(false) => return Ok(false),
                Err(error) => errors.push(error),
            }
        }
        if errors.is_empty() || hook.ignore {
            return Ok(errors.is_empty());
        }
        let why = match errors.as_slice() {
            [one] => one.clone(),
            many => format!("[{}]", many.join(", ")),
        };
        Err(ApiError::forbidden(&self.resource.group, &self.resource.plural, self.name, &why))
    }
}

/// Whether the object selector matches, for the old or the new object.
fn selects(selector: &LabelSelector, object: Option<&Value>, old: Old<'_>) -> bool {
    selector.is_empty() || object.into_iter().chain(old.value()).any(|o| selector.matches(o))
}
