//! The schema of one version: pruning, defaulting and validation of whole objects.

use std::sync::Arc;

use serde_json::Value;

use crate::{
    cel::{self, Rules},
    defaults,
    error::{FieldError, Reason},
    lists, meta,
    node::Node,
    prune,
    validate::{Base, validate_value},
};

const NOT_CHECKED: &str = "some validation rules were not checked because the object was invalid; correct the existing \
     errors to complete validation";

/// The schema of one version of a custom resource, ready for use; cheap to clone.
///
/// An API server calls [`prune`](Self::prune), [`default`](Self::default), then [`validate`](Self::validate). It prunes and defaults
/// objects from storage again.
#[derive(Clone, Debug)]
pub struct StructuralSchema {
    node: Arc<Node>,
    rules: Arc<Rules>,
}

impl StructuralSchema {
    /// Parses an `openAPIV3Schema`.
    ///
    /// Parts with a wrong shape count as absent; [`Crd::parse`](crate::Crd::parse) rejects schemas with any.
    #[must_use]
    pub fn new(schema: &Value) -> Self {
        let node = Node::parse(schema);
        let rules = Rules::compile(&node);
        Self { node: Arc::new(node), rules: Arc::new(rules) }
    }

    pub(crate) fn node(&self) -> &Node {
        &self.node
    }

    /// Removes the fields outside the schema.
    ///
    /// Returns their paths (`spec.list[0].field`) in order: `fieldValidation=Strict` rejects them with `unknown field "<path>"`, and
    /// `Warn` warns of them. A second call removes nothing.
    ///
    /// # Source
    ///
    /// apiextensions-apiserver `pkg/apiserver/schema/pruning/algorithm.go`.
    pub fn prune(&self, object: &mut Value) -> Vec<String> {
        prune::prune_object(&self.node, object)
    }

    /// Fills in defaults and drops nulls that the schema does not allow. A second call changes nothing.
    ///
    /// # Source
    ///
    /// apiextensions-apiserver `pkg/apiserver/schema/defaulting`.
    pub fn default(&self, object: &mut Value) {
        defaults::default_object(&self.node, object);
    }

    /// The faults of a pruned and defaulted object; empty when it is accepted.
    ///
    /// * `object` - the whole object with its metadata, which is not checked here.
    /// * `old` - the replaced object, for rules about change; parts equal to it may stay invalid.
    #[must_use]
    pub fn validate(&self, object: &Value, old: Option<&Value>) -> Vec<FieldError> {
        let errors = validate_value(&self.node, object, old, Base(""));
        self.complete(errors, object, old)
    }

    /// As [`validate`](Self::validate), for a write to `/status`: only `status` is checked against the schema.
    #[must_use]
    pub fn validate_status(&self, object: &Value, old: &Value) -> Vec<FieldError> {
        let errors = match (object.get("status"), self.node.properties.get("status")) {
            (Some(status), Some(node)) => validate_value(node, status, old.get("status"), Base("status")),
            _ => Vec::new(),
        };
        self.complete(errors, object, Some(old))
    }

    fn complete(&self, mut errors: Vec<FieldError>, object: &Value, old: Option<&Value>) -> Vec<FieldError> {
        errors.extend(meta::check_embedded(&self.node, object));
        let repeats = lists::check_lists(&self.node, object);
        // Lists that already had duplicates may keep them.
        if !repeats.is_empty() && old.is_none_or(|old| lists::check_lists(&self.node, old).is_empty()) {
            errors.extend(repeats);
        }
        if self.node.has_rules {
            let blocking = |e: &FieldError| {
                matches!(
                    e.reason,
                    Reason::NotSupported | Reason::Required | Reason::TooLong | Reason::TooMany | Reason::TypeInvalid
                )
            };
            if errors.iter().any(blocking) {
                errors.push(FieldError::invalid("", &Value::Null, NOT_CHECKED));
            } else {
                errors.extend(cel::check_rules(&self.node, &self.rules, object, old));
            }
        }
        errors
    }
}
