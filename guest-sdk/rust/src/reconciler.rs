//! The trait that a plugin implements.

use crate::{Context, Manifest, Observation, Outcome, Result};
use serde::Serialize;
use serde::de::DeserializeOwned;

/// The reconciler of a plugin: three calls about one object at a time.
///
/// The host calls [`desired`](Self::desired) and [`actual`](Self::actual) and compares the results as JSON. Only when they differ, it
/// calls [`patch`](Self::patch) for the changes, and `actual` again. Each call gets a new value: longer-lived data belongs into the
/// [`cache`](crate::cache), or better into the objects themselves.
pub trait Reconciler: Default + 'static {
    /// The type of the reconciled objects: your own struct with the fields that you read, a type of k8s-openapi, or `serde_json::Value`
    /// for a plugin with several kinds.
    type Object: DeserializeOwned + 'static;
    /// The compared state. It contains only what the plugin owns, in the same spelling on both sides.
    type State: Serialize + DeserializeOwned;

    /// The plugin's manifest. The only permitted import is [`log`](crate::log).
    fn manifest() -> Manifest;

    /// The state that the object asks for. None: nothing should exist. Not called for an object that is being deleted or is deleted.
    ///
    /// # Errors
    ///
    /// [`Error::terminal`](crate::Error::terminal) for an invalid object.
    fn desired(&self, cx: &Context<Self::Object>) -> Result<Option<Self::State>>;

    /// The actual state, and fields for the status. Called again after a patch.
    ///
    /// # Errors
    ///
    /// [`Error::transient`](crate::Error::transient) when an external system does not answer.
    fn actual(&self, cx: &Context<Self::Object>) -> Result<Observation<Self::State>>;

    /// Moves `actual` to `desired`: the host carries out the returned changes in Kubernetes; effects elsewhere happen in this call. A
    /// crash may come after each of them, so search for existing things before you create new ones.
    ///
    /// # Errors
    ///
    /// Any obstacle, of the kind that gives the right retry.
    fn patch(
        &self,
        cx: &Context<Self::Object>,
        desired: Option<Self::State>,
        actual: Option<Self::State>,
    ) -> Result<Outcome>;
}
