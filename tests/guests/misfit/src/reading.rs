//! The modes of reading.

use crate::guest::{core, parsed};
use crate::program::{self, Query};
use crate::reconcile::Reconcile;
use oarlock_guest::raw::{Error, GroupVersionKind, ObjectKey, cluster};
use serde_json::{Value, json};

impl Reconcile {
    /// The desired state, after the reads of the mode.
    pub(crate) fn reading(&self) -> Result<String, Error> {
        let value = self.value.as_str().unwrap_or_default();
        let seen = match self.mode.as_str() {
            "list-all" => return self.list("").map(|found| json!(found.len()).to_string()),
            "indexed" => {
                let options = everything(self.namespace.clone(), "");
                let found = cluster::list_indexed(&core("ConfigMap"), "by-tenant", value, &options)?;
                let objects = found.iter().filter_map(|text| serde_json::from_str::<Value>(text).ok());
                let names: Vec<_> =
                    objects.map(|object| object["metadata"]["name"].as_str().unwrap_or_default().to_owned()).collect();
                names.join(" ")
            }
            "gadget" => {
                let [group, version, kind] = ["oarlock.test", "v1", "Gadget"].map(str::to_owned);
                let key = ObjectKey { namespace: self.namespace.clone(), name: value.to_owned() };
                let gadget = cluster::get_object(&GroupVersionKind { group, version, kind }, &key)?;
                gadget.map_or_else(|| "none".to_owned(), |text| parsed(&text)["spec"]["size"].to_string())
            }
            _ => program::run(value, |query| self.read(query))?,
        };
        Ok(self.object("ConfigMap", "child", &json!({"seen": seen})).to_string())
    }

    pub(crate) fn list(&self, label_selector: &str) -> Result<Vec<String>, Error> {
        cluster::list_objects(&core("ConfigMap"), &everything(self.namespace.clone(), label_selector))
    }

    fn read(&self, query: &Query) -> Result<Vec<Value>, Error> {
        let config_map = core("ConfigMap");
        let everything = everything(self.namespace.clone(), "");
        let found = match query {
            Query::Named(name) => {
                let key = ObjectKey { namespace: self.namespace.clone(), name: name.clone() };
                cluster::get_object(&config_map, &key)?.into_iter().collect()
            }
            Query::Labelled(selector) => self.list(selector)?,
            Query::Tenant(tenant) => cluster::list_indexed(&config_map, "by-tenant", tenant, &everything)?,
            Query::OwnedBy(uid) => {
                let options = cluster::ListOptions { owner_uid: uid.clone(), ..everything };
                if uid.is_empty() { Vec::new() } else { cluster::list_objects(&config_map, &options)? }
            }
        };
        Ok(found.iter().map(|text| parsed(text)).collect())
    }
}

pub(crate) fn everything(namespace: String, label_selector: &str) -> cluster::ListOptions {
    let (label_selector, owner_uid) = (label_selector.to_owned(), String::new());
    cluster::ListOptions { namespace, label_selector, owner_uid, limit: 0 }
}
