//! Validation of ConfigMaps, Secrets, Events and Leases.

use serde_json::{Value, json};

use crate::model::{kinds::Resource, names, status::Cause};

const IMMUTABLE: &str = "field is immutable when `immutable` is set";

fn keys(object: &Value, field: &str) -> Vec<String> {
    object.get(field).and_then(Value::as_object).into_iter().flatten().map(|(k, _)| k.clone()).collect()
}

fn check_keys(object: &Value, field: &str) -> Vec<Cause> {
    let mut out = Vec::new();
    for key in keys(object, field) {
        let problems = names::config_key(&key);
        out.extend(problems.iter().map(|e| Cause::invalid(format!("{field}[{key}]"), &json!(key), e)));
    }
    out
}

/// Keys, their overlap, and the size.
pub(super) fn config_map(object: &Value) -> Vec<Cause> {
    let mut out = check_keys(object, "data");
    let binary = keys(object, "binaryData");
    for key in keys(object, "data").iter().filter(|k| binary.contains(k)) {
        out.push(Cause::invalid(format!("data[{key}]"), &json!(key), "duplicate of key present in binaryData"));
    }
    out.extend(check_keys(object, "binaryData"));
    let size: usize = ["data", "binaryData"]
        .iter()
        .filter_map(|f| object.get(*f)?.as_object())
        .flatten()
        .map(|(_, v)| v.as_str().map_or(0, str::len))
        .sum();
    if size > 1024 * 1024 {
        out.push(Cause::raw("FieldValueTooLong", "", "Too long: may not be more than 1048576 bytes"));
    }
    out
}

/// Keys, and the requirements of the type.
pub(super) fn secret(object: &Value) -> Vec<Cause> {
    let mut out = check_keys(object, "data");
    let have = keys(object, "data");
    let missing = |key: &str| !have.iter().any(|k| k == key);
    let required = |key: &str| Cause::required(format!("data[{key}]"), "");
    match object.get("type").and_then(Value::as_str).unwrap_or_default() {
        "kubernetes.io/tls" => {
            out.extend(["tls.crt", "tls.key"].into_iter().filter(|k| missing(k)).map(required));
        }
        "kubernetes.io/basic-auth" if missing("username") && missing("password") => {
            out.extend([required("username"), required("password")]);
        }
        "kubernetes.io/ssh-auth" if missing("ssh-privatekey") => out.push(required("ssh-privatekey")),
        kind @ ("kubernetes.io/dockerconfigjson" | "kubernetes.io/dockercfg") => {
            let key = if kind.ends_with("json") { ".dockerconfigjson" } else { ".dockercfg" };
            if missing(key) {
                out.push(required(key));
            } else if let Err(why) = decoded_json(object, key) {
                let message = format!("Invalid value: \"<secret contents redacted>\": {why}");
                out.push(Cause::raw("FieldValueInvalid", format!("data[{key}]"), message));
            }
        }
        "kubernetes.io/service-account-token" => {
            let name = object.pointer("/metadata/annotations/kubernetes.io~1service-account.name");
            if name.and_then(Value::as_str).is_none_or(str::is_empty) {
                out.push(Cause::required("metadata.annotations[kubernetes.io/service-account.name]", ""));
            }
        }
        _ => {}
    }
    out
}

/// An invalid certificate is stored all the same.
pub(super) fn certificate_warning(object: &Value) -> Option<String> {
    use base64::{Engine as _, engine::general_purpose::STANDARD};
    if object.get("type").and_then(Value::as_str) != Some("kubernetes.io/tls") {
        return None;
    }
    let plain =
        object.get("stringData").and_then(|d| d.get("tls.crt")?.as_str()).map(str::as_bytes).map(<[u8]>::to_vec);
    let coded = object.get("data").and_then(|d| d.get("tls.crt")?.as_str()).and_then(|text| STANDARD.decode(text).ok());
    let certificate = plain.or(coded)?;
    let begins = certificate.windows(11).any(|part| part == b"-----BEGIN ");
    (!begins).then(|| "tls: failed to find any PEM data in certificate input".to_owned())
}

fn decoded_json(object: &Value, key: &str) -> Result<(), String> {
    use base64::{Engine as _, engine::general_purpose::STANDARD};
    let text = object.get("data").and_then(|d| d.get(key)?.as_str()).unwrap_or_default();
    let bytes = STANDARD.decode(text).map_err(|e| e.to_string())?;
    serde_json::from_slice::<Value>(&bytes).map(|_| ()).map_err(|e| e.to_string())
}

/// Fields protected by `immutable: true`, and a Secret's type.
pub(super) fn immutable(resource: &Resource, object: &Value, old: &Value) -> Vec<Cause> {
    let mut out = Vec::new();
    if resource.plural == "secrets" {
        let kind = |v: &Value| v.get("type").cloned().unwrap_or_default();
        if kind(object) != kind(old) {
            out.push(Cause::invalid("type", &kind(object), "field is immutable"));
        }
    }
    if old.get("immutable") != Some(&Value::Bool(true)) {
        return out;
    }
    if object.get("immutable") != Some(&Value::Bool(true)) {
        out.push(Cause::forbidden("immutable", IMMUTABLE));
    }
    for field in ["data", "binaryData"] {
        if object.get(field) != old.get(field) {
            out.push(Cause::forbidden(field, IMMUTABLE));
        }
    }
    out
}

/// The rules of core events, and the stricter ones of `events.k8s.io`.
pub(super) fn event(object: &Value, new: bool) -> Vec<Cause> {
    let mut out = Vec::new();
    let text = |p: &str| object.pointer(p).and_then(Value::as_str).unwrap_or_default();
    let (namespace, about) = (text("/metadata/namespace"), text("/involvedObject/namespace"));
    // Events about cluster-scoped objects are in the namespace `default`.
    let fits = about == namespace || (about.is_empty() && namespace == "default");
    if !fits {
        out.push(Cause::invalid("involvedObject.namespace", &json!(about), "does not match event.namespace"));
    }
    if !new {
        return out;
    }
    let controller = text("/reportingComponent");
    if controller.is_empty() {
        out.push(Cause::required("reportingController", ""));
    }
    let problems = names::qualified_name(controller);
    out.extend(problems.iter().map(|e| Cause::invalid("reportingController", &json!(controller), e)));
    for (field, pointer) in [("reportingInstance", "/reportingInstance"), ("action", "/action"), ("reason", "/reason")]
    {
        if text(pointer).is_empty() {
            out.push(Cause::required(field, ""));
        }
    }
    let kind = text("/type");
    if !matches!(kind, "Normal" | "Warning") {
        out.push(Cause::invalid("type", &json!(""), &format!("has invalid value: {kind}")));
    }
    out
}

/// Fields that `events.k8s.io` protects: all but the series.
pub(super) fn event_update(object: &Value, old: &Value) -> Vec<Cause> {
    const FIXED: &[(&str, &str)] = &[
        ("involvedObject", "involvedObject"),
        ("reason", "reason"),
        ("message", "message"),
        ("source", "source"),
        ("firstTimestamp", "firstTimestamp"),
        ("lastTimestamp", "lastTimestamp"),
        ("count", "count"),
        // Checked twice.
        ("reason", "reason"),
        ("type", "type"),
        ("eventTime", "eventTime"),
        ("action", "action"),
        ("related", "related"),
        ("reportingComponent", "reportingController"),
        ("reportingInstance", "reportingInstance"),
    ];
    let of = |v: &Value, key: &str| v.get(key).cloned().unwrap_or_default();
    let changed = FIXED.iter().filter(|(key, _)| of(object, key) != of(old, key));
    changed.map(|(key, field)| Cause::invalid(*field, &of(object, key), "field is immutable")).collect()
}

/// Numbers of a lease.
pub(super) fn lease(object: &Value) -> Vec<Cause> {
    let mut out = Vec::new();
    let number = |key: &str| object.pointer("/spec").and_then(|s| s.get(key)?.as_i64());
    if let Some(n) = number("leaseDurationSeconds").filter(|n| *n <= 0) {
        out.push(Cause::invalid("spec.leaseDurationSeconds", &json!(n), "must be greater than 0"));
    }
    if let Some(n) = number("leaseTransitions").filter(|n| *n < 0) {
        out.push(Cause::invalid("spec.leaseTransitions", &json!(n), "must be greater than or equal to 0"));
    }
    out
}
