//! What a plugin does.

use crate::{Context, Manifest, Observation, Outcome, Result};
use serde::Serialize;
use serde::de::DeserializeOwned;

/// What a plugin does: three questions about one object at a time.
///
/// The host asks [`desired`](Self::desired) and [`actual`](Self::actual), compares the two as JSON, and only when they differ
/// asks [`patch`](Self::patch) for the changes and `actual` again. A new value is made for every call: what must live longer
/// goes into the [`cache`](crate::cache), or better into the world.
pub trait Reconciler: Default + 'static {
    /// The shape of the objects it reconciles: a struct of your own with the fields you read, a type of k8s-openapi, or
    /// `serde_json::Value` for a plugin with several kinds.
    type Object: DeserializeOwned;
    /// What is compared. Only what the plugin owns belongs here, spelled the same way from both sides.
    type State: Serialize + DeserializeOwned;

    /// What the plugin is and asks for. The only import it may use is [`log`](crate::log).
    fn manifest() -> Manifest;

    /// The state the object asks for. None: nothing should exist. Not asked while the object is going or gone.
    ///
    /// # Errors
    ///
    /// [`Error::terminal`](crate::Error::terminal) where the object makes no sense.
    fn desired(&self, cx: &Context<Self::Object>) -> Result<Option<Self::State>>;

    /// The state the world is in, and what to write into status. Asked again after a patch.
    ///
    /// # Errors
    ///
    /// [`Error::transient`](crate::Error::transient) where the world does not answer.
    fn actual(&self, cx: &Context<Self::Object>) -> Result<Observation<Self::State>>;

    /// Moves `actual` to `desired`: changes in Kubernetes are returned and carried out by the host, effects elsewhere happen
    /// here. A crash may come after each of them: look for what is there before making something new.
    ///
    /// # Errors
    ///
    /// Whatever kept it from the goal, by who should try again.
    fn patch(
        &self,
        cx: &Context<Self::Object>,
        desired: Option<Self::State>,
        actual: Option<Self::State>,
    ) -> Result<Outcome>;
}
