//! Context of a reconcile: object, trigger, attempt.

use crate::{Error, Kind, ObjectKey, Result, Trigger, raw};
use serde::de::DeserializeOwned;
use serde_json::{Value, json};
use std::cell::OnceCell;

/// The context of a reconcile: the same for each of its calls.
#[derive(Debug)]
pub struct Context<T> {
    request: raw::Request,
    kind: Kind,
    object: OnceCell<T>,
    review: OnceCell<Value>,
}

impl<T: DeserializeOwned> Context<T> {
    /// The object of the reconcile; after its deletion, its last known state. Parsed at the first call.
    ///
    /// # Errors
    ///
    /// Terminal, when it is not of type `T`, or its state is unknown.
    pub fn object(&self) -> Result<&T> {
        if let Some(object) = self.object.get() {
            return Ok(object);
        }
        let text = self.request.object.as_ref().or(self.request.last_seen.as_ref());
        let text = text.ok_or_else(|| Error::terminal("the object is gone and nothing is known of it"))?;
        let object = serde_json::from_str(text)
            .map_err(|error| Error::terminal(format_args!("not a {} this plugin can read: {error}", self.kind.kind)))?;
        Ok(self.object.get_or_init(|| object))
    }

    /// At admission: the AdmissionRequest as the API server sent it, with the `pending` initializers. None in a reconcile.
    ///
    /// # Errors
    ///
    /// Terminal, when it is not JSON.
    pub fn review(&self) -> Result<Option<&Value>> {
        if let Some(review) = self.review.get() {
            return Ok(Some(review));
        }
        let Some(text) = &self.request.review else { return Ok(None) };
        let review = serde_json::from_str(text)?;
        Ok(Some(self.review.get_or_init(|| review)))
    }
}

impl<T> Context<T> {
    pub(crate) fn new(request: raw::Request) -> Self {
        let kind = request.kind.clone().into();
        Self { request, kind, object: OnceCell::new(), review: OnceCell::new() }
    }

    /// The object's kind: one of the manifest's primaries.
    pub fn kind(&self) -> &Kind {
        &self.kind
    }

    /// Namespace (empty for cluster-scoped kinds) and name.
    pub fn key(&self) -> &ObjectKey {
        &self.request.key
    }

    /// Namespace; empty for cluster-scoped kinds.
    pub fn namespace(&self) -> &str {
        &self.request.key.namespace
    }

    /// Name.
    pub fn name(&self) -> &str {
        &self.request.key.name
    }

    /// The object's uid, also after its deletion. Things made for the object are marked with it and found by it: another object may get
    /// the same name, but never the same uid. Empty only at the admission of a create.
    pub fn uid(&self) -> &str {
        &self.request.uid
    }

    /// Whether the object is being deleted or is deleted: nothing of it should exist.
    pub fn deleting(&self) -> bool {
        self.request.deleting || self.is_gone()
    }

    /// Whether the object no longer exists in the cluster; [`object`](Self::object) is its last known state.
    pub fn is_gone(&self) -> bool {
        self.request.object.is_none() && self.request.review.is_none()
    }

    /// The cause of the reconcile. For logs and metrics only.
    pub fn trigger(&self) -> Trigger {
        self.request.trigger
    }

    /// 1 for the first attempt since the last success.
    pub fn attempt(&self) -> u32 {
        self.request.attempt
    }

    /// Connects the log lines, events and requests of one reconcile.
    pub fn correlation_id(&self) -> &str {
        &self.request.correlation_id
    }

    /// Whether this is a dry run, which must have no effects: the host refuses HTTP requests other than GET, HEAD and granted safe ones.
    pub fn dry_run(&self) -> bool {
        self.request.dry_run
    }

    /// The request in the contract's own type.
    pub fn raw(&self) -> &raw::Request {
        &self.request
    }

    /// An entry for `metadata.ownerReferences` that makes this object the controller of another one in its namespace, which is deleted
    /// with it. Without `blockOwnerDeletion`: with it, some API servers ask for `update` on the owner's `finalizers`.
    pub fn owner_reference(&self) -> Value {
        let Kind { group, version, kind } = &self.kind;
        let api_version = if group.is_empty() { version.clone() } else { format!("{group}/{version}") };
        json!({
            "apiVersion": api_version, "kind": kind, "name": self.name(), "uid": self.uid(), "controller": true,
        })
    }
}
