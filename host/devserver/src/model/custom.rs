//! Served versions of custom resources: schema, conversion and settings.

use std::{borrow::Cow, sync::Arc};

use oarlock_schema::{Crd, PrinterColumn, Scale, StructuralSchema};
use serde_json::Value;

/// One served version of a custom resource.
#[derive(Debug)]
pub(crate) struct CustomVersion {
    /// The name of the CRD.
    pub(crate) crd: String,
    /// The name of this version.
    pub(crate) name: Arc<str>,
    /// The name of the storage version.
    pub(crate) storage: Arc<str>,
    /// The whole definition, with all versions and the conversion webhook.
    pub(crate) definition: Arc<Crd>,
    pub(crate) schema: StructuralSchema,
    /// Objects before this revision were written under another schema.
    pub(crate) since: u64,
    pub(crate) openapi: Value,
    pub(crate) scale: Option<Scale>,
    pub(crate) columns: Vec<PrinterColumn>,
    pub(crate) selectable: Vec<String>,
    pub(crate) deprecation: Option<String>,
}

impl CustomVersion {
    /// A stored object as its own version's schema has it now: without unknown fields, with defaults.
    ///
    /// * `version` - the version that it is stored in.
    /// * `revision` - the revision of the object.
    pub(crate) fn decoded<'a>(&self, version: &str, revision: u64, stored: &'a Value) -> Cow<'a, Value> {
        if *version == *self.name && revision >= self.since {
            return Cow::Borrowed(stored);
        }
        let mut value = stored.clone();
        if let Some(version) = self.definition.version(version) {
            version.schema.prune(&mut value);
            version.schema.default(&mut value);
        }
        Cow::Owned(value)
    }

    /// Fills in the defaults of the storage version.
    ///
    /// An API server does that in each read. Here a stored object already has them.
    pub(crate) fn default_as_stored(&self, object: &mut Value) {
        if let Some(version) = self.definition.version(&self.storage) {
            version.schema.default(object);
        }
    }

    /// Drops the fields that a version lacks.
    pub(crate) fn prune_to(&self, version: &str, object: &mut Value) {
        if let Some(version) = self.definition.version(version) {
            version.schema.prune(object);
        }
    }

    /// Drops fields that this version lacks and returns their paths.
    pub(crate) fn prune(&self, object: &mut Value) -> Vec<String> {
        self.schema.prune(object)
    }

    /// Fills in defaults.
    pub(crate) fn default(&self, object: &mut Value) {
        self.schema.default(object);
    }
}
