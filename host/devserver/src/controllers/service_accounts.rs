//! Controller of ServiceAccounts: each namespace has a default one.
//!
//! Pods need it, and a client may create a pod right after its namespace. So it exists before the response to the namespace.

use serde_json::json;

use super::Controllers;
use crate::{resources::write, store::Key};

/// Creates the default ServiceAccount of a namespace, if absent.
pub(super) fn create_default(controllers: &Controllers, namespace: &str) {
    let key = Key::new(namespace, "default");
    write::create_own(&controllers.store, &controllers.registry, ("", "serviceaccounts"), key, json!({}));
}
