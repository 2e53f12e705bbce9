//! Admission webhooks: selection, call order, and the effect of their responses on a write.
//!
//! # Source
//!
//! apiserver `pkg/admission/plugin/webhook`: `generic/webhook.go`, `mutating/dispatcher.go`, `validating/dispatcher.go`.

use std::{collections::BTreeSet, sync::Arc};

use futures::future::join_all;
use serde_json::{Map, Value, json};

use crate::{
    conversion,
    http::{
        decode::{self, Expected},
        query::Query,
        request::Request,
    },
    model::{
        json_patch,
        kinds::Resource,
        members,
        status::{ApiError, Result},
        types,
        user::User,
        versions,
    },
    resources::{defaults, deletion::DeleteOptions, managed},
    store::Object,
};

mod hooks;
mod matching;
mod review;

use hooks::Hook;
pub(crate) use hooks::Webhooks;
use matching::Target;
use review::{Failure, ReviewResponse};

/// The operation on an object.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Operation {
    Create,
    Update,
    Delete,
}

impl Operation {
    /// The name in rules and reviews.
    pub(crate) fn name(self) -> &'static str {
        match self {
            Self::Create => "CREATE",
            Self::Update => "UPDATE",
            Self::Delete => "DELETE",
        }
    }
}

/// Group, version and kind.
pub(crate) type Kind = (&'static str, &'static str, &'static str);

/// The attributes of a write for webhooks.
#[derive(Debug)]
pub(crate) struct Attributes<'a> {
    pub(crate) webhooks: &'a Webhooks,
    pub(crate) user: &'a User,
    pub(crate) resource: &'a Arc<Resource>,
    pub(crate) subresource: &'a str,
    pub(crate) namespace: &'a str,
    /// Empty when the server generates the name, and in a deletecollection.
    pub(crate) name: &'a str,
    pub(crate) operation: Operation,
    /// CreateOptions, UpdateOptions or DeleteOptions, in the form sent to webhooks.
    pub(crate) options: Value,
    pub(crate) dry_run: bool,
    /// The kind of an object that is not of the resource's own kind: a Scale, a Binding. Such objects are not converted.
    pub(crate) kind: Option<Kind>,
}

/// The object before the write.
#[derive(Debug, Clone, Copy)]
pub(crate) enum Old<'a> {
    None,
    /// In the version of [`Attributes::resource`].
    Stored(&'a Object),
    /// An object of the kind in [`Attributes::kind`].
    Plain(&'a Value),
}

impl<'a> Old<'a> {
    fn value(self) -> Option<&'a Value> {
        match self {
            Self::None => None,
            Self::Stored(object) => Some(&object.value),
            Self::Plain(value) => Some(value),
        }
    }
}

/// The options of a write in the form sent to webhooks.
pub(crate) fn options(kind: &str, query: &Query) -> Value {
    let mut map = head(kind);
    if query.get("dryRun").is_some() {
        map.insert("dryRun".to_owned(), json!(["All"]));
    }
    for key in ["fieldManager", "fieldValidation"] {
        if let Some(value) = query.get(key) {
            map.insert(key.to_owned(), value.into());
        }
    }
    Value::Object(map)
}

/// The options of a deletion in the form sent to webhooks.
pub(crate) fn delete_options(options: &DeleteOptions) -> Value {
    let mut map = head("DeleteOptions");
    if options.dry_run {
        map.insert("dryRun".to_owned(), json!(["All"]));
    }
    if let Some(seconds) = options.grace_seconds {
        map.insert("gracePeriodSeconds".to_owned(), seconds.into());
    }
    if let Some(policy) = options.propagation {
        map.insert("propagationPolicy".to_owned(), format!("{policy:?}").into());
    }
    let parts = [("uid", &options.uid), ("resourceVersion", &options.resource_version)];
    let given: Map<String, Value> =
        parts.into_iter().filter_map(|(k, v)| Some((k.to_owned(), v.clone()?.into()))).collect();
    if !given.is_empty() {
        map.insert("preconditions".to_owned(), Value::Object(given));
    }
    Value::Object(map)
}

fn head(kind: &str) -> Map<String, Value> {
    let head = [("kind", kind), ("apiVersion", "meta.k8s.io/v1")];
    head.into_iter().map(|(k, v)| (k.to_owned(), v.into())).collect()
}

/// Why an operation of a patch cannot be applied.
fn inapplicable(operation: &Value) -> String {
    let text = |key: &str| operation.get(key).and_then(Value::as_str).unwrap_or_default();
    let (kind, path) = (text("op"), text("path"));
    match kind {
        "test" => format!("testing value {path} failed: test failed"),
        "add" | "remove" | "replace" | "move" | "copy" => {
            format!("{kind} operation does not apply: doc is missing path: {path}: missing value")
        }
        _ => format!("Unexpected kind: {kind}"),
    }
}

/// The webhooks that were called already.
#[derive(Debug, Default)]
struct Rounds {
    /// Webhooks that may be called once more.
    asked: BTreeSet<usize>,
    /// Webhooks that will be called once more.
    again: BTreeSet<usize>,
    /// Whether a webhook changed the object.
    changed: bool,
}

impl Rounds {
    fn object_changed(&mut self) {
        self.changed = true;
        self.again.append(&mut self.asked);
    }
}

impl Attributes<'_> {
    /// Webhook configurations are not admitted themselves: a broken one could never be repaired.
    fn exempt(&self) -> bool {
        self.resource.group == "admissionregistration.k8s.io"
    }

    /// Whether any webhook may match: if not, nothing needs to be prepared for webhooks.
    pub(crate) fn may_change(&self) -> bool {
        !self.exempt() && !self.webhooks.mutating().is_empty()
    }

    /// Calls the mutating webhooks. `None` when nothing changed; `object` and the result are in stored form.
    pub(crate) async fn mutate(&self, call: &Request, object: Option<&Value>, old: Old<'_>) -> Result<Option<Value>> {
        if self.exempt() {
            return Ok(None);
        }
        let hooks = self.webhooks.mutating();
        if hooks.is_empty() {
            return Ok(None);
        }
        let mut object = object.cloned();
        let mut rounds = Rounds::default();
        self.round(call, &hooks, &mut object, old, &mut rounds, false).await?;
        if !rounds.changed {
            return Ok(None);
        }
        if let Some(object) = &mut object {
            let before = object.clone();
            self.plugins(object)?;
            if *object != before {
                rounds.object_changed();
            }
        }
        self.round(call, &hooks, &mut object, old, &mut rounds, true).await?;
        Ok(object)
    }

    /// The server's own admission plugins for new objects.
    fn plugins(&self, object: &mut Value) -> Result<()> {
        if self.operation == Operation::Create && self.kind.is_none() && self.subresource.is_empty() {
            defaults::plugins(&self.webhooks.store, self.resource, object)?;
        }
        Ok(())
    }

    async fn round(
        &self,
        call: &Request,
        hooks: &[Hook],
        object: &mut Option<Value>,
        old: Old<'_>,
        rounds: &mut Rounds,
        again: bool,
    ) -> Result<()> {
        for (number, hook) in hooks.iter().enumerate() {
            let Some(target) = self.matches(hook, object.as_ref(), old).await? else { continue };
            if again && !rounds.again.contains(&number) {
                continue;
            }
            let outcome = self.ask(call, hook, &target, object.as_ref(), old, true).await;
            let outcome = match outcome {
                Ok(response) => self.patched(hook, &target, &response, object.as_ref(), old).await,
                Err(failure) => Err(failure),
            };
            match outcome {
                Ok(None) => {}
                Ok(Some(changed)) => {
                    *object = Some(changed);
                    rounds.object_changed();
                }
                Err(failure) => failure.decide(hook)?,
            }
            if hook.reinvoke {
                rounds.asked.insert(number);
            }
        }
        Ok(())
    }

    /// Calls the validating webhooks, all at once.
    pub(crate) async fn validate(&self, call: &Request, object: Option<&Value>, old: Old<'_>) -> Result<()> {
        if self.exempt() {
            return Ok(());
        }
        let hooks = self.webhooks.validating();
        let mut asked = Vec::new();
        for hook in hooks.iter() {
            if let Some(target) = self.matches(hook, object, old).await? {
                asked.push((hook, target));
            }
        }
        let answers = join_all(asked.iter().map(|(hook, target)| async move {
            let answer = self.ask(call, hook, target, object, old, false).await;
            answer.map(drop).or_else(|failure| failure.decide(hook))
        }));
        answers.await.into_iter().collect()
    }

    /// Calls one webhook; the client always gets its warnings.
    async fn ask(
        &self,
        call: &Request,
        hook: &Hook,
        target: &Target,
        object: Option<&Value>,
        old: Old<'_>,
        mutating: bool,
    ) -> std::result::Result<ReviewResponse, Failure> {
        let uid = uuid::Uuid::new_v4().to_string();
        let mut request = self.request(target, &uid);
        let object = self.shown_or_null(target, object).await.map_err(Failure::Refused)?;
        let old = self.shown_old(target, old).await.map_err(Failure::Refused)?;
        if let Some(map) = request.as_object_mut() {
            map.insert("object".to_owned(), object);
            map.insert("oldObject".to_owned(), old);
        }
        let api_version = format!("admission.k8s.io/{}", hook.review_version);
        let sent = json!({"kind": "AdmissionReview", "apiVersion": api_version, "request": request});
        let body = hook
            .client
            .call(&self.webhooks.store, &sent, hook.timeout)
            .await
            .map_err(|why| Failure::not_called(&why))?;
        let mut response = review::read(&body, hook.review_version, &uid, mutating)?;
        call.warnings.add(std::mem::take(&mut response.warnings));
        if !response.allowed {
            return Err(Failure::Refused(review::denial(&hook.name, response.status.take())));
        }
        Ok(response)
    }

    /// The object with a webhook's patch; `None` when the patch changes nothing.
    async fn patched(
        &self,
        hook: &Hook,
        target: &Target,
        response: &ReviewResponse,
        object: Option<&Value>,
        old: Old<'_>,
    ) -> std::result::Result<Option<Value>, Failure> {
        let broken = |why: &str| Failure::Refused(ApiError::internal_error(why));
        let operations = response.operations().map_err(|why| broken(&why))?;
        if operations.is_empty() {
            return Ok(None);
        }
        let Some(object) = object else {
            let name = &hook.name;
            let why = format!(
                "admission webhook \"{name}\" attempted to modify the object, which is not supported for this operation"
            );
            return Err(broken(&why));
        };
        if let Some(other) = response.patch_type.as_deref().filter(|t| *t != "JSONPatch") {
            return Err(Failure::NotCalled(format!("unsupported patch type \"{other}\"")));
        }
        let mut patched = self.shown(target, object).await.map_err(Failure::Refused)?;
        let before = patched.clone();
        for operation in &operations {
            let one = std::slice::from_ref(operation);
            json_patch::apply(&mut patched, one).map_err(|_failed| broken(&inapplicable(operation)))?;
        }
        if patched == before {
            return Ok(None);
        }
        let patched = self.stored(target, patched, object, old).await.map_err(|why| broken(&why))?;
        Ok(Some(patched).filter(|p| p != object))
    }

    async fn shown_or_null(&self, target: &Target, object: Option<&Value>) -> Result<Value> {
        match object {
            Some(object) => self.shown(target, object).await,
            None => Ok(Value::Null),
        }
    }

    /// An object in the form sent to a webhook.
    async fn shown(&self, target: &Target, object: &Value) -> Result<Value> {
        if self.kind.is_some() {
            return Ok(object.clone());
        }
        let resource = &target.resource;
        let mut shown = match versions::to_served(resource, object) {
            Some(shown) => shown,
            None => conversion::between(&self.webhooks.store, self.resource, resource, object.clone()).await?,
        };
        resource.stamp(&mut shown);
        Ok(shown)
    }

    /// The old object in the form sent to a webhook.
    async fn shown_old(&self, target: &Target, old: Old<'_>) -> Result<Value> {
        match old {
            Old::None => Ok(Value::Null),
            Old::Plain(value) => Ok(value.clone()),
            Old::Stored(object) => self.shown(target, &object.value).await,
        }
    }

    /// The stored form of an object from a webhook: without unknown fields, with defaults.
    async fn stored(
        &self,
        target: &Target,
        mut patched: Value,
        before: &Value,
        old: Old<'_>,
    ) -> std::result::Result<Value, String> {
        if let Some((group, version, kind)) = self.kind {
            types::restrict(group, version, kind, &mut patched).map_err(|e| e.decoding)?;
            return Ok(patched);
        }
        decode::restrict(Expected::of(&target.resource), &mut patched).map_err(|e| e.decoding)?;
        let patched = versions::to_stored(&target.resource, patched, old.value());
        let converted = conversion::between(&self.webhooks.store, &target.resource, self.resource, patched).await;
        let mut patched = converted.map_err(|e| e.message().to_owned())?;
        self.resource.stamp(&mut patched);
        defaults::fill_in(self.resource, &mut patched).map_err(|e| e.message().to_owned())?;
        // Webhooks cannot change the field owners.
        let owners = before.pointer("/metadata").and_then(|m| m.get(managed::FIELD)).cloned();
        if let Some(meta) = members::object(&mut patched, "metadata") {
            match owners {
                Some(owners) => meta.insert(managed::FIELD.to_owned(), owners),
                None => meta.remove(managed::FIELD),
            };
        }
        Ok(patched)
    }
}
