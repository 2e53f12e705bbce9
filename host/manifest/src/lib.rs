//! The documents about a plugin: its manifest ([`PluginManifest`]) and its grant ([`PluginGrant`]).
//!
//! Both are JSON documents under `oarlock.dev/v1alpha1`. The types here define only the shape: a parser rejects unknown fields by name,
//! and the host validates the rest. The guest SDK writes manifests with the same types, so that the two cannot diverge.

mod grant;
mod manifest;
mod rollout;

pub use grant::{GrantedAdmission, GrantedHttp, Limits, PluginGrant};
pub use manifest::{
    AdmissionRule, HttpAccess, Index, Kind, Mapping, PluginManifest, PolicyRule, Primary, SafeRequest, Watch,
};
pub use rollout::{Approval, Rollout, RolloutCanary, RolloutPlan, RolloutShadow};

/// The `apiVersion` of both documents.
pub const API_VERSION: &str = "oarlock.dev/v1alpha1";

#[cfg(test)]
mod tests {
    /// The published schemas match the types. `UPDATE_EXPECT=1` writes them anew.
    #[test]
    fn the_published_schemas_are_the_types() {
        let folder = std::path::Path::new(env!("CARGO_MANIFEST_DIR")).join("../../wit");
        let schemas = [
            ("manifest.schema.json", schemars::schema_for!(super::PluginManifest)),
            ("grant.schema.json", schemars::schema_for!(super::PluginGrant)),
        ];
        for (name, schema) in schemas {
            let path = folder.join(name);
            let text = serde_json::to_string_pretty(&schema).unwrap() + "\n";
            if std::env::var_os("UPDATE_EXPECT").is_some() {
                std::fs::write(&path, &text).unwrap();
            }
            let published = std::fs::read_to_string(&path).unwrap_or_default();
            assert!(published == text, "wit/{name} is not what the types say; run this test with UPDATE_EXPECT=1");
        }
    }
}
