//! The four plugins, each with a kind of its own.

use super::guest::{Mode, Role, Shape};
use crate::harness::Grant;
use serde_json::{Value, json};

/// The API group of all kinds.
const GROUP: &str = "torture.oarlock.dev";

/// Seconds for one reconcile: what a version that loops costs a worker.
const DEADLINE: u32 = 2;

/// A plugin and its kind.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Kind {
    /// Finalizer and status; a thing in the ledger.
    Plain,
    /// The same, whose value hangs on a ConfigMap as well.
    Dependent,
    /// No finalizer; a ConfigMap per object.
    Parent,
    /// Finalizer, no status; a thing in the ledger.
    Quiet,
}

impl Kind {
    /// Every one.
    pub const ALL: [Self; 4] = [Self::Plain, Self::Dependent, Self::Parent, Self::Quiet];

    /// The plugin's name, and its file's.
    #[must_use]
    pub fn plugin(self) -> &'static str {
        match self {
            Self::Plain => "plain",
            Self::Dependent => "dependent",
            Self::Parent => "parent",
            Self::Quiet => "quiet",
        }
    }

    /// Whether the objects wait for the plugin when they are deleted.
    #[must_use]
    pub fn has_finalizer(self) -> bool {
        self != Self::Parent
    }

    /// Whether the objects tell how they are.
    #[must_use]
    pub fn has_status(self) -> bool {
        self != Self::Quiet
    }

    /// What is kept for an object.
    #[must_use]
    pub fn shape(self) -> Shape {
        match self {
            Self::Plain | Self::Quiet => Shape::Ledger,
            Self::Dependent => Shape::Settings,
            Self::Parent => Shape::Child,
        }
    }

    /// What this plugin is in a version.
    #[must_use]
    pub fn role(self, version: &str) -> Role {
        Role {
            name: self.plugin().to_owned(),
            version: version.to_owned(),
            kind: self.kind(),
            cleanup: self.has_finalizer(),
            manage_status: self.has_status(),
            shape: self.shape(),
            mode: Mode::Ok,
        }
    }

    /// What this plugin may do, and where the ledger is.
    #[must_use]
    pub fn grant(self, ledger: &str) -> Grant {
        let reads = ["get", "list", "watch"];
        let grant = Grant::nothing().rule(GROUP, &[&self.plural()], &reads).origin(ledger).config("ledger", ledger);
        let grant = match self.shape() {
            Shape::Ledger => grant,
            Shape::Settings => grant.rule("", &["configmaps"], &reads),
            Shape::Child => grant.rule("", &["configmaps"], &["get", "list", "watch", "create", "patch"]),
        };
        let grant = if self.has_finalizer() { grant.cleanup() } else { grant };
        let grant = if self.has_status() { grant.manage_status() } else { grant };
        grant.limits(|limits| limits.deadline_seconds = DEADLINE)
    }

    /// The URL path of its objects in a namespace.
    #[must_use]
    pub fn path(self, namespace: &str) -> String {
        format!("/apis/{GROUP}/v1/namespaces/{namespace}/{}", self.plural())
    }

    /// A new object.
    ///
    /// * `settings` - the name of the ConfigMap it hangs on.
    #[must_use]
    pub fn object(self, name: &str, value: &str, settings: &str) -> Value {
        let spec = match self.shape() {
            Shape::Settings => json!({"value": value, "settings": settings}),
            Shape::Ledger | Shape::Child => json!({"value": value}),
        };
        let api_version = format!("{GROUP}/v1");
        json!({"apiVersion": api_version, "kind": self.kind(), "metadata": {"name": name}, "spec": spec})
    }

    /// The CustomResourceDefinition's name and the document.
    #[must_use]
    pub fn crd(self) -> (String, Value) {
        let (kind, plural) = (self.kind(), self.plural());
        let text = json!({"type": "string"});
        let status = json!({"type": "object", "x-kubernetes-preserve-unknown-fields": true});
        let name = format!("{plural}.{GROUP}");
        let crd = json!({
            "apiVersion": "apiextensions.k8s.io/v1", "kind": "CustomResourceDefinition", "metadata": {"name": name},
            "spec": {
                "group": GROUP, "scope": "Namespaced",
                "names": {"plural": plural, "singular": self.plugin(), "kind": kind, "listKind": format!("{kind}List")},
                "versions": [{
                    "name": "v1", "served": true, "storage": true, "subresources": {"status": {}},
                    "schema": {"openAPIV3Schema": {"type": "object", "properties": {
                        "spec": {"type": "object", "properties": {"value": text, "settings": text}},
                        "status": status,
                    }}},
                }],
            },
        });
        (name, crd)
    }

    pub(super) fn kind(self) -> String {
        format!("{self:?}")
    }

    fn plural(self) -> String {
        format!("{}s", self.plugin())
    }
}
