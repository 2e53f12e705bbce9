//! Objects that exist before the first request.

use serde_json::{Value, json};

use super::{Controllers, service_accounts};
use crate::{access::authorization, model::kinds::RBAC_GROUP, resources::write, store::Key};

/// The namespaces every cluster has.
const NAMESPACES: &[&str] = &["default", "kube-system", "kube-public", "kube-node-lease"];

impl Controllers {
    /// Creates the namespaces with their default ServiceAccounts, the Service of the API server itself, and the default roles.
    pub(crate) fn bootstrap(&self) {
        for name in NAMESPACES {
            let created = self.make(("", "namespaces"), Key::new("", name), json!({}));
            // A client may have deleted that of an existing namespace.
            if created || !self.enabled {
                service_accounts::create_default(self, name);
            }
        }
        let address = self.store.settings().services.addresses().next().map(|address| address.to_string());
        let spec = json!({"clusterIP": address, "ports": [{"name": "https", "port": 443, "targetPort": 6443}]});
        self.make(("", "services"), Key::new("default", "kubernetes"), json!({"spec": spec}));
        for (plural, name, object) in authorization::defaults::objects() {
            self.make((RBAC_GROUP, plural), Key::new("", &name), object);
        }
    }

    fn make(&self, resource: (&str, &str), key: Key, object: Value) -> bool {
        write::create_own(&self.store, &self.registry, resource, key, object)
    }
}
