//! Scope of injection: Pods and namespaces.

use crate::settings::Settings;
use oarlock_guest::{Error, Kind, Result, cluster, kind, warn};
use serde_json::Value;

/// Annotation of a Pod, label of a namespace: `"true"` or `"false"`.
pub(crate) const SWITCH: &str = "initializer.kubernetes.io/envoy";
/// Label of injected Pods.
pub(crate) const INJECTED: &str = "initializer.kubernetes.io/envoy-injected";
/// Never injected: the cluster must start without the plugin.
pub(crate) const SYSTEM: &str = "kube-system";

/// Annotation of Pods that the kubelet runs from a file: it ignores the API server's version of them.
const MIRROR: &str = "kubernetes.io/config.mirror";

pub(crate) fn namespace_kind() -> Kind {
    kind("v1", "Namespace")
}

/// Whether to inject into a Pod in this namespace: its annotation, else the namespace's label, else the default.
///
/// # Errors
///
/// Terminal, when the annotation is invalid.
pub(crate) fn pod(pod: &Value, namespace: &str, settings: &Settings) -> Result<bool> {
    let annotations = pod.pointer("/metadata/annotations");
    if namespace == SYSTEM || annotations.is_some_and(|annotations| annotations.get(MIRROR).is_some()) {
        return Ok(false);
    }
    match annotations.and_then(|annotations| annotations.get(SWITCH)).and_then(Value::as_str) {
        Some("true") => return Ok(true),
        Some("false") => return Ok(false),
        Some(other) => {
            return Err(Error::terminal(format_args!("annotation {SWITCH}: {other:?} is neither true nor false")));
        }
        None => {}
    }
    let host_network = pod.pointer("/spec/hostNetwork") == Some(&Value::Bool(true));
    Ok((settings.host_network || !host_network) && namespace_named(namespace, settings)?)
}

/// Whether injection is on in a namespace, by its name.
pub(crate) fn namespace_named(name: &str, settings: &Settings) -> Result<bool> {
    // Read from the API server if the cache has none: the first Pod may follow its namespace at once.
    let known: Option<Value> = match cluster::get(&namespace_kind(), "", name)? {
        Some(namespace) => Some(namespace),
        None => cluster::get_live(&namespace_kind(), "", name)?,
    };
    Ok(known.map_or(settings.by_default, |known| namespace(&known, settings)))
}

/// Whether injection is on in this namespace: its label, else the default.
pub(crate) fn namespace(namespace: &Value, settings: &Settings) -> bool {
    match label(namespace, SWITCH) {
        Some("true") => true,
        Some("false") => false,
        None => settings.by_default,
        Some(other) => {
            warn!("label {SWITCH} of a namespace: {other:?} is neither true nor false, and counts as none");
            settings.by_default
        }
    }
}

/// A label of an object.
pub(crate) fn label<'a>(object: &'a Value, key: &str) -> Option<&'a str> {
    object.pointer("/metadata/labels")?.get(key)?.as_str()
}
