//! Namespaces: look-up, and admission of new objects.

use std::sync::Arc;

use crate::{
    model::{
        kinds::Resource,
        status::{ApiError, Result},
    },
    store::{Key, Object, Store},
};

/// The namespace with this name, if it exists.
pub(crate) fn find(store: &Store, name: &str) -> Option<Arc<Object>> {
    store.existing("namespaces")?.get(&Key::new("", name))
}

/// Rejects objects in a namespace that is absent or terminating.
pub(crate) fn admit_create(store: &Store, resource: &Resource, key: &Key) -> Result<()> {
    if !resource.namespaced || key.namespace.is_empty() {
        return Ok(());
    }
    let Some(namespace) = find(store, &key.namespace) else {
        return Err(ApiError::not_found("", "namespaces", &key.namespace));
    };
    if namespace.value.pointer("/metadata/deletionTimestamp").is_none() {
        return Ok(());
    }
    let why = format!("unable to create new content in namespace {} because it is being terminated", key.namespace);
    let message = format!("namespace {} is being terminated", key.namespace);
    Err(ApiError::forbidden(&resource.group, &resource.plural, &key.name, &why).with_cause(
        "NamespaceTerminating",
        "metadata.namespace",
        &message,
    ))
}
