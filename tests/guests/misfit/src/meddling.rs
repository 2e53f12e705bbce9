//! The mode `meddles`: writes of ConfigMaps that somebody else made.

use crate::guest::{anything, apply_text, core, parsed};
use crate::reconcile::Reconcile;
use oarlock_guest::raw::{Change, Error, ObjectRef, PatchChange, PatchType, cluster};
use serde_json::{Value, json};

impl Reconcile {
    /// The labels that it patched, one in each reconcile.
    pub(crate) fn meddled(&self) -> Result<usize, Error> {
        let found = cluster::get_live(&core("ConfigMap"), &self.key("patched"))?;
        let found = found.map(|text| parsed(&text)).unwrap_or_default();
        let ours = |label: &&str| found.pointer(&format!("/metadata/labels/{label}")) == Some(&json!("misfit"));
        Ok(["a", "b"].into_iter().filter(ours).count())
    }

    /// The first write takes one field of each ConfigMap, and the second one another field, too.
    pub(crate) fn meddling(&self) -> Result<Vec<Change>, Error> {
        let fields = self.meddled()? + 1;
        let mut changes = Vec::new();
        let labels: Value = ["a", "b"].into_iter().take(fields).map(|label| (label, "misfit")).collect();
        changes.push(Change::Patch(PatchChange {
            target: Some(ObjectRef { kind: core("ConfigMap"), key: self.key("patched") }),
            patch_type: PatchType::MergePatch,
            patch: json!({"metadata": {"labels": labels}}).to_string(),
            subresource: String::new(),
            precondition: anything(),
        }));
        let taken = |suffix: &str, count: usize| {
            let key = self.key(suffix);
            let data: Value = ["x", "y"].into_iter().take(count).map(|field| (field, self.value.clone())).collect();
            let metadata = json!({"name": key.name, "namespace": key.namespace});
            let object = json!({"apiVersion": "v1", "kind": "ConfigMap", "metadata": metadata, "data": data});
            apply_text(object.to_string(), true)
        };
        changes.push(taken("applied", fields));
        if fields > 1 {
            changes.push(taken("patched", 1));
        }
        Ok(changes)
    }
}
