//! What is there before the first request.

use std::sync::Arc;

use serde_json::json;

use crate::{api::Api, managed::Writer, rest::write::Write, storage::Key, time};

/// The namespaces every cluster has.
const NAMESPACES: &[&str] = &["default", "kube-system", "kube-public", "kube-node-lease"];

impl Api {
    /// Namespaces with their default ServiceAccounts, and the Service of the API server itself.
    pub(crate) fn bootstrap(self: &Arc<Self>) {
        for name in NAMESPACES {
            self.make("namespaces", "", name, json!({}));
            // With controllers it comes with the namespace.
            if !self.options.controllers {
                self.make("serviceaccounts", name, "default", json!({}));
            }
        }
        let spec = json!({"clusterIP": "10.96.0.1", "ports": [{"name": "https", "port": 443, "targetPort": 6443}]});
        self.make("services", "default", "kubernetes", json!({"spec": spec}));
    }

    /// Creates a core object on the server's own behalf, if it is not there.
    pub(crate) fn make(self: &Arc<Self>, plural: &str, namespace: &str, name: &str, mut object: serde_json::Value) {
        let served = self.registry.served();
        let Some(resource) = served.find("", "v1", plural) else { return };
        if let Some(map) = object.as_object_mut() {
            map.insert("metadata".to_owned(), json!({"name": name}));
        }
        let writer = Writer { manager: "kube-apiserver".to_owned(), subresource: String::new(), time: time::now() };
        let key = Key::new(namespace, name);
        let mut write = Write { api: self, resource, key, dry_run: false, writer, tracked: false };
        if let Err(error) = write.create(object) {
            // Somebody else made it, or its namespace is gone again.
            tracing::debug!(plural, namespace, name, status = %error.code(), "not created");
        }
    }
}
