//! Objects that exist before the first request.

use std::sync::Arc;

use serde_json::{Value, json};

use crate::{
    access,
    api::Api,
    model::{kinds::RBAC_GROUP, members, time, user::User},
    resources::managed::Writer,
    rest::write::Write,
    store::Key,
};

/// The namespaces every cluster has.
const NAMESPACES: &[&str] = &["default", "kube-system", "kube-public", "kube-node-lease"];

impl Api {
    /// Creates the namespaces with their default ServiceAccounts, the Service of the API server itself, and the default roles.
    pub(crate) fn bootstrap(self: &Arc<Self>) {
        for name in NAMESPACES {
            self.make("", "namespaces", "", name, json!({}));
            // With controllers, it is created with the namespace.
            if !self.options.controllers {
                self.make("", "serviceaccounts", name, "default", json!({}));
            }
        }
        let spec = json!({"clusterIP": "10.96.0.1", "ports": [{"name": "https", "port": 443, "targetPort": 6443}]});
        self.make("", "services", "default", "kubernetes", json!({"spec": spec}));
        for (plural, name, object) in access::authorization::defaults::objects() {
            self.make(RBAC_GROUP, plural, "", &name, object);
        }
    }

    /// Creates a `v1` object of a group on the server's own behalf, if absent.
    pub(crate) fn make(self: &Arc<Self>, group: &str, plural: &str, namespace: &str, name: &str, mut object: Value) {
        let served = self.registry.served();
        let Some(resource) = served.find(group, "v1", plural) else { return };
        if let Some(meta) = members::object(&mut object, "metadata") {
            meta.insert("name".to_owned(), name.into());
        }
        let writer = Writer { manager: "kube-apiserver".to_owned(), subresource: String::new(), time: time::now() };
        let key = Key::new(namespace, name);
        let user = User::admin();
        let mut write =
            Write { api: self, user: &user, resource, key, dry_run: false, writer, tracked: false, call: None };
        if let Err(error) = write.create_own(object) {
            // Another client created it, or its namespace is gone again.
            tracing::debug!(plural, namespace, name, status = %error.code(), "not created");
        }
    }
}
