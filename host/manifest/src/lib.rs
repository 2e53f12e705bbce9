//! What a plugin says of itself ([`PluginManifest`]) and what it is granted ([`PluginGrant`]).
//!
//! Both are JSON documents under `oarlock.dev/v1alpha1`. The types here only carry the shape: unknown fields are refused by
//! name when one is read, the host checks the rest. The guest SDK writes manifests with the same types, so that the two cannot
//! drift apart.

mod grant;
mod manifest;

pub use grant::{GrantedHttp, Limits, PluginGrant};
pub use manifest::{
    AdmissionRule, HttpAccess, Kind, Mapping, PluginManifest, PolicyRule, Primary, SafeRequest, Watch,
};

/// The version both documents carry in `apiVersion`.
pub const API_VERSION: &str = "oarlock.dev/v1alpha1";
