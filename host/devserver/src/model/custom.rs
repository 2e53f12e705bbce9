//! Served versions of custom resources: schema, conversion and settings.

use std::sync::Arc;

use oarlock_schema::{Crd, PrinterColumn, Scale, StructuralSchema};
use serde_json::Value;

/// One served version of a custom resource.
#[derive(Debug)]
pub(crate) struct CustomVersion {
    /// The name of the CRD.
    pub(crate) crd: String,
    /// The whole definition, for documents about it.
    pub(crate) definition: Arc<Crd>,
    pub(crate) schema: StructuralSchema,
    /// The schema of the storage version, when it differs.
    pub(crate) storage: Option<StructuralSchema>,
    /// Objects before this revision were written under another schema.
    pub(crate) since: u64,
    pub(crate) openapi: Value,
    pub(crate) scale: Option<Scale>,
    pub(crate) columns: Vec<PrinterColumn>,
    pub(crate) selectable: Vec<String>,
    pub(crate) deprecation: Option<String>,
}

impl CustomVersion {
    /// A stored object in this version; `None` when it equals the stored form.
    ///
    /// * `revision` - the revision of the object.
    pub(crate) fn view(&self, stored: &Value, revision: u64) -> Option<Value> {
        if self.storage.is_none() && revision >= self.since {
            return None;
        }
        let mut value = stored.clone();
        if let Some(storage) = &self.storage {
            storage.default(&mut value);
        }
        self.schema.prune(&mut value);
        if self.storage.is_none() {
            self.schema.default(&mut value);
        }
        Some(value)
    }

    /// A value to be stored, in this version; `None` when it equals the stored form.
    pub(crate) fn converted(&self, value: &Value) -> Option<Value> {
        self.storage.as_ref()?;
        let mut value = value.clone();
        self.schema.prune(&mut value);
        Some(value)
    }

    /// Drops fields that this version lacks and returns their paths.
    pub(crate) fn prune(&self, object: &mut Value) -> Vec<String> {
        self.schema.prune(object)
    }

    /// Fills in defaults; fields that the storage version lacks are lost.
    pub(crate) fn default(&self, object: &mut Value) {
        self.schema.default(object);
        if let Some(storage) = &self.storage {
            storage.prune(object);
        }
    }
}
