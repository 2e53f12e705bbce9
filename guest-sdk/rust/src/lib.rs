#![doc = include_str!("../README.md")]

mod adapter;
#[doc(hidden)]
pub mod bindings;
pub mod cache;
pub mod cluster;
pub mod config;
mod context;
mod converter;
mod error;
pub mod http;
mod imports;
pub mod log;
mod manifest;
pub mod merge;
mod observation;
mod outcome;
pub mod raw;
mod reconciler;
#[cfg(not(target_arch = "wasm32"))]
pub mod testing;
#[cfg(test)]
mod tests;

#[doc(hidden)]
pub use adapter::Adapter;
pub use context::Context;
#[doc(hidden)]
pub use converter::ConverterAdapter;
pub use converter::{Converter, keep, restore};
pub use error::{Error, Result};
pub use manifest::{Manifest, kind};
pub use oarlock_manifest::{
    AdmissionRule, Index, Kind, Mapping, PluginManifest, PolicyRule, Primary, SafeRequest, Watch,
};
pub use observation::Observation;
pub use outcome::{
    ApplyChange, Change, DeleteChange, Event, ObjectRef, Outcome, PatchChange, PatchType, Precondition, Propagation,
    Severity, object_ref,
};
pub use raw::{ObjectKey, Trigger};
pub use reconciler::Reconciler;

/// Exports a [`Converter`] from this component, beside its [`Reconciler`]. The manifest names the definitions in `conversions`.
///
/// On other targets than wasm32 it only checks the type.
#[macro_export]
macro_rules! export_converter {
    ($converter:ty) => {
        #[cfg(target_arch = "wasm32")]
        const _: () = {
            type Exported = $crate::ConverterAdapter<$converter>;
    $crate::bindings::converter::export_raw_converter!(Exported with_types_in $crate::bindings::converter);
        };
        #[cfg(not(target_arch = "wasm32"))]
        const _: fn() = || {
            fn is_converter<C: $crate::Converter>() {}
            is_converter::<$converter>();
        };
    };
}

/// Exports a [`Reconciler`] from this component. Once per plugin crate, at the top level.
///
/// On other targets than wasm32 it only checks the type, so that the same crate can be tested natively.
#[macro_export]
macro_rules! export {
    ($reconciler:ty) => {
        #[cfg(target_arch = "wasm32")]
        const _: () = {
            type Exported = $crate::Adapter<$reconciler>;
    $crate::bindings::export_raw!(Exported with_types_in $crate::bindings);
        };
        #[cfg(not(target_arch = "wasm32"))]
        const _: fn() -> $crate::Manifest = <$reconciler as $crate::Reconciler>::manifest;
    };
}
