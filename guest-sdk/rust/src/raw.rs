//! The contract without the trait: for guests that need full control over their results, such as those that test a host.
//!
//! Implement [`Guest`] on your own type and pass it to [`export_raw!`](crate::export_raw).

pub use crate::bindings::exports::oarlock::reconciler::reconcile::{
    ApplyChange, Change, DeleteChange, Event, Guest, ObjectRef, Observation, Outcome, PatchChange, PatchType,
    Precondition, Propagation, Severity,
};
pub use crate::bindings::oarlock::reconciler::types::{
    Denial, Error, GroupVersionKind, ObjectKey, Request, Retry, Trigger,
};

pub use crate::adapter::log_panics;

/// The imported functions in the contract's own types. Only a wasm32 guest has a host that provides them.
#[cfg(target_arch = "wasm32")]
pub use crate::bindings::oarlock::reconciler::{cache, cluster, config, http, log, merge};

/// Exports a [`Guest`] from this component. Does nothing on targets other than wasm32.
#[macro_export]
macro_rules! export_raw {
    ($guest:ty) => {
        #[cfg(target_arch = "wasm32")]
        const _: () = {
            type Exported = $guest;
    $crate::bindings::export_raw!(Exported with_types_in $crate::bindings);
        };
    };
}

use oarlock_manifest::Kind;

impl From<&Kind> for GroupVersionKind {
    fn from(kind: &Kind) -> Self {
        Self { group: kind.group.clone(), version: kind.version.clone(), kind: kind.kind.clone() }
    }
}

impl From<GroupVersionKind> for Kind {
    fn from(kind: GroupVersionKind) -> Self {
        Self { group: kind.group, version: kind.version, kind: kind.kind }
    }
}
