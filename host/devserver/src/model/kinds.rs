//! Served kinds: one [`Resource`] per group, version and plural, from the built-in table or from a CRD.

use std::sync::{Arc, OnceLock};

use oarlock_merge::schema::Schema;
use serde_json::Value;

use crate::model::custom::CustomVersion;

mod builtin;

pub(crate) use builtin::builtins;

/// The verbs of an ordinary resource, in discovery's order.
pub(crate) const ALL_VERBS: &[&str] =
    &["create", "delete", "deletecollection", "get", "list", "patch", "update", "watch"];

/// The API group of roles and bindings.
pub(crate) const RBAC_GROUP: &str = "rbac.authorization.k8s.io";

/// A kind of object under one group and version.
#[derive(Debug, Clone)]
pub(crate) struct Resource {
    pub(crate) group: String,
    pub(crate) version: String,
    pub(crate) plural: String,
    pub(crate) singular: String,
    pub(crate) kind: String,
    pub(crate) list_kind: String,
    pub(crate) namespaced: bool,
    pub(crate) short_names: Vec<String>,
    pub(crate) categories: Vec<String>,
    pub(crate) verbs: Vec<&'static str>,
    pub(crate) subresources: Vec<Subresource>,
    /// The schema and its settings; `None` for built-in kinds.
    pub(crate) custom: Option<Arc<CustomVersion>>,
    pub(crate) merge: OnceLock<Schema>,
}

/// A subresource with its own verbs; the kind is the one that it reads and writes.
#[derive(Debug, Clone)]
pub(crate) struct Subresource {
    pub(crate) name: String,
    /// Group, version and kind when they differ from the parent's.
    pub(crate) kind: Option<(&'static str, &'static str, &'static str)>,
    pub(crate) verbs: Vec<&'static str>,
}

impl Resource {
    /// `v1`, `apps/v1`
    pub(crate) fn group_version(&self) -> String {
        if self.group.is_empty() { self.version.clone() } else { format!("{}/{}", self.group, self.version) }
    }

    /// The merge schema of its objects.
    pub(crate) fn merge(&self) -> &Schema {
        self.merge.get_or_init(|| match &self.custom {
            Some(custom) => Schema::from_openapi(&custom.openapi),
            None => Schema::builtin(&self.group, &self.version, &self.kind).unwrap_or_default(),
        })
    }

    /// The resource store of its objects: all versions of a kind share one, and so do both kinds of events.
    pub(crate) fn resource_store(&self) -> String {
        if self.is_new_event() {
            return "events".to_owned();
        }
        crate::model::status::qualified(&self.plural, &self.group)
    }

    /// `events.k8s.io/v1`, stored as a core event.
    pub(crate) fn is_new_event(&self) -> bool {
        self.group == "events.k8s.io" && self.plural == "events"
    }

    /// Whether the resource has this subresource.
    pub(crate) fn subresource(&self, name: &str) -> Option<&Subresource> {
        self.subresources.iter().find(|s| s.name == name)
    }

    /// Sets kind and apiVersion of an object.
    pub(crate) fn stamp(&self, value: &mut Value) {
        if let Value::Object(map) = value {
            map.insert("kind".to_owned(), self.kind.clone().into());
            map.insert("apiVersion".to_owned(), self.group_version().into());
        }
    }

    /// Whether group and plural are these.
    pub(crate) fn is(&self, group: &str, plural: &str) -> bool {
        self.group == group && self.plural == plural
    }

    /// Whether status is a separate part that the main resource does not write.
    pub(crate) fn has_status(&self) -> bool {
        self.subresource("status").is_some()
    }

    /// Whether the kind counts changes of its spec.
    pub(crate) fn has_generation(&self) -> bool {
        if self.custom.is_some() {
            return true;
        }
        matches!(
            (self.group.as_str(), self.plural.as_str()),
            ("", "pods" | "podtemplates" | "replicationcontrollers")
                | ("apps", "deployments" | "daemonsets" | "replicasets" | "statefulsets")
                | ("batch", _)
                | ("apiextensions.k8s.io" | "admissionregistration.k8s.io" | "flowcontrol.apiserver.k8s.io", _)
                | ("networking.k8s.io", "ingresses" | "ingressclasses" | "networkpolicies")
                | ("policy" | "scheduling.k8s.io" | "resource.k8s.io", _)
                | ("discovery.k8s.io", "endpointslices")
        )
    }

    /// Whether a DELETE returns the object instead of a `Status`.
    pub(crate) fn returns_deleted(&self) -> bool {
        matches!(
            (self.group.as_str(), self.plural.as_str()),
            (
                "",
                "pods"
                    | "serviceaccounts"
                    | "services"
                    | "podtemplates"
                    | "resourcequotas"
                    | "persistentvolumes"
                    | "persistentvolumeclaims"
            ) | ("storage.k8s.io", "storageclasses" | "csidrivers" | "csinodes" | "volumeattachments")
        )
    }

    /// Whether a deletion without a propagation policy orphans the dependents.
    pub(crate) fn orphans(&self) -> bool {
        self.is("batch", "jobs") || self.is("", "replicationcontrollers")
    }

    /// Whether a PUT of an absent object creates it.
    pub(crate) fn put_creates(&self) -> bool {
        if self.custom.is_some() {
            return false;
        }
        matches!(
            (self.group.as_str(), self.plural.as_str()),
            ("", "events" | "endpoints" | "limitranges" | "services")
                | ("events.k8s.io" | "coordination.k8s.io" | "rbac.authorization.k8s.io", _)
                | ("apiregistration.k8s.io" | "node.k8s.io", _)
        )
    }

    /// Whether a PUT needs the resourceVersion that it replaces.
    pub(crate) fn needs_version(&self) -> bool {
        self.custom.is_some()
            || matches!(
                (self.group.as_str(), self.plural.as_str()),
                (
                    "coordination.k8s.io"
                        | "apiextensions.k8s.io"
                        | "admissionregistration.k8s.io"
                        | "node.k8s.io"
                        | "policy",
                    _
                ) | ("storage.k8s.io", "csidrivers" | "csinodes" | "csistoragecapacities" | "volumeattachments")
            )
    }
}
