//! Validation of manifests: later code need not check them again.

use crate::grants::{self, ASKED_WORKERS, MOST_WORKERS};
use oarlock_manifest::{Kind, Mapping, PluginManifest, Primary, Watch};

/// Longest list in a manifest: the host checks and compares it entry by entry.
const ENTRIES: usize = 256;

/// Most indexes of one kind: each takes memory and time for every object.
const INDEXES: usize = 16;

/// Longest sentence about a fault, which quotes an untrusted manifest.
const FAULT_BYTES: usize = 1024;

/// Parses and validates the result of `describe`.
///
/// # Errors
///
/// Every fault, one sentence each, in the terms of the manifest; never empty.
pub fn manifest(json: &str) -> Result<PluginManifest, Vec<String>> {
    checked(json).map_err(|faults| faults.iter().map(|fault| crate::quoted(fault, FAULT_BYTES)).collect())
}

fn checked(json: &str) -> Result<PluginManifest, Vec<String>> {
    let manifest: PluginManifest = serde_json::from_str(json).map_err(|e| vec![e.to_string()])?;
    let mut faults = Vec::new();
    check_sizes(&manifest, &mut faults);
    if !faults.is_empty() {
        return Err(faults);
    }
    check_head(&manifest, &mut faults);
    check_kinds(&manifest, &mut faults);
    check_indexes(&manifest, &mut faults);
    check_permissions(&manifest, &mut faults);
    faults.extend(manifest.admission.iter().enumerate().flat_map(|(i, rule)| grants::admission_fault(i, rule)));
    check_conversions(&manifest, &mut faults);
    check_http(&manifest, &mut faults);
    if faults.is_empty() { Ok(manifest) } else { Err(faults) }
}

fn check_sizes(manifest: &PluginManifest, faults: &mut Vec<String>) {
    for (list, entries) in [
        ("primaries", manifest.primaries.len()),
        ("watches", manifest.watches.len()),
        ("indexes", manifest.indexes.len()),
        ("admission", manifest.admission.len()),
        ("conversions", manifest.conversions.len()),
        ("permissions", manifest.permissions.len()),
        ("http.origins", manifest.http.origins.len()),
        ("http.originsFromConfig", manifest.http.origins_from_config.len()),
        ("http.safeRequests", manifest.http.safe_requests.len()),
    ] {
        if entries > ENTRIES {
            faults.push(format!("{list} has {entries} entries; there may be {ENTRIES}"));
        }
    }
}

fn check_head(manifest: &PluginManifest, faults: &mut Vec<String>) {
    if manifest.api_version != oarlock_manifest::API_VERSION || manifest.kind != "PluginManifest" {
        faults.push(format!(
            "apiVersion and kind must be {} and PluginManifest, not {:?} and {:?}",
            oarlock_manifest::API_VERSION,
            manifest.api_version,
            manifest.kind
        ));
    }
    if manifest.name == crate::apply::HOST {
        faults.push(format!("name {:?} is the host's own", manifest.name));
    }
    if !is_plugin_name(&manifest.name) {
        faults.push(format!(
            "name {:?} must be a DNS label (a-z, 0-9, -; begins with a letter, ends with a letter or digit) of at most 40 characters",
            manifest.name
        ));
    }
    if manifest.version.is_empty()
        || manifest.version.len() > 64
        || crate::one_line(&manifest.version) != manifest.version
    {
        faults.push("version must have 1 to 64 characters, all of them printable".to_owned());
    }
    if !(1..=ASKED_WORKERS).contains(&manifest.workers) {
        faults.push(format!(
            "workers is {}, must be 1 to {ASKED_WORKERS} (a grant may give up to {MOST_WORKERS})",
            manifest.workers
        ));
    }
    if manifest.resync_seconds == 0 {
        faults.push("resyncSeconds is 0, must be at least 1".to_owned());
    }
    if manifest.primaries.is_empty() && manifest.admission.is_empty() && manifest.conversions.is_empty() {
        faults.push(
            "primaries, admission and conversions are all empty: there is nothing this plugin would do".to_owned(),
        );
    }
    if manifest.primaries.is_empty() && (manifest.cleanup || manifest.manage_status) {
        faults.push("cleanup and manageStatus need a primary".to_owned());
    }
    if let Some(schema) = &manifest.config
        && !schema.is_object()
    {
        faults.push("config must be a JSON Schema, that is a JSON object".to_owned());
    }
}

fn check_kinds(manifest: &PluginManifest, faults: &mut Vec<String>) {
    let mut seen = Vec::new();
    for (i, primary) in manifest.primaries.iter().enumerate() {
        let gvk = primary.gvk();
        check_gvk(&format!("primaries[{i}]"), &gvk, faults);
        check_namespaces(&format!("primaries[{i}]"), &primary.namespaces, faults);
        check_selector(&format!("primaries[{i}].labelSelector"), &primary.label_selector, faults);
        if seen.contains(&gvk) {
            faults.push(format!("primaries[{i}] names {}/{} {} a second time", gvk.group, gvk.version, gvk.kind));
        }
        seen.push(gvk);
    }
    for (i, watch) in manifest.watches.iter().enumerate() {
        let place = format!("watches[{i}]");
        check_gvk(&place, &watch.gvk(), faults);
        check_namespaces(&place, &watch.namespaces, faults);
        check_selector(&format!("{place}.labelSelector"), &watch.label_selector, faults);
        match &watch.map_to {
            Mapping::Label { key } | Mapping::Annotation { key } if key.is_empty() => {
                faults.push(format!("{place}.mapTo.key must not be empty"));
            }
            Mapping::ReferencedBy { pointer } if !pointer.starts_with('/') => {
                faults.push(format!("{place}.mapTo.pointer {pointer:?} must be a JSON pointer, beginning with /"));
            }
            Mapping::Reads if watch.primary.is_some() => {
                faults.push(format!(
                    "{place}.primary needs a mapTo: without one, the keys are those that read an object"
                ));
            }
            _ => {}
        }
        match &watch.primary {
            Some(primary) if !seen.contains(primary) => faults.push(format!(
                "{place}.primary {}/{} {} is not among the primaries",
                primary.group, primary.version, primary.kind
            )),
            None if seen.is_empty() && watch.map_to != Mapping::CacheOnly => {
                faults.push(format!("{place} wakes keys, but there is no primary"));
            }
            _ => {}
        }
    }
}

fn check_indexes(manifest: &PluginManifest, faults: &mut Vec<String>) {
    let primaries = manifest.primaries.iter().map(Primary::gvk);
    let read: Vec<Kind> = primaries.chain(manifest.watches.iter().map(Watch::gvk)).collect();
    for (i, index) in manifest.indexes.iter().enumerate() {
        let kind = index.gvk();
        let place = format!("indexes[{i}] {:?}", index.name);
        if index.name.is_empty() || index.name.len() > 63 || !index.name.bytes().all(is_label_byte) {
            faults.push(format!("{place} has a name that is not 1 to 63 characters of a-z, 0-9 and -"));
        }
        if !read.contains(&kind) {
            faults.push(format!(
                "{place} is of {}/{} {}, which is neither a primary nor a watch",
                kind.group, kind.version, kind.kind
            ));
        }
        if manifest.indexes.iter().take(i).any(|earlier| earlier.name == index.name && earlier.gvk() == kind) {
            faults.push(format!("{place} is there twice"));
        }
        let of_kind = manifest.indexes.iter().take(i).filter(|earlier| earlier.gvk() == kind).count();
        if of_kind == INDEXES {
            faults.push(format!("{place}: {} has more than {INDEXES} indexes", kind.kind));
        }
        if let Err(fault) = super::indexes::indexer(index) {
            faults.push(format!("{place} {fault}"));
        }
    }
}

fn check_permissions(manifest: &PluginManifest, faults: &mut Vec<String>) {
    for (i, rule) in manifest.permissions.iter().enumerate() {
        for (list, empty) in [
            ("apiGroups", rule.api_groups.is_empty()),
            ("resources", rule.resources.is_empty()),
            ("verbs", rule.verbs.is_empty()),
        ] {
            if empty {
                faults.push(format!("permissions[{i}].{list} is empty: the rule would allow nothing"));
            }
        }
    }
    faults.extend(grants::verb_faults(&manifest.permissions));
    let count = grants::count_asked(manifest);
    if count > grants::PERMISSIONS {
        faults.push(format!(
            "permissions, primaries and watches stand for {count} combinations of verb, group, resource, name and namespace; \
             at most {} can be compared",
            grants::PERMISSIONS
        ));
    }
}

fn check_conversions(manifest: &PluginManifest, faults: &mut Vec<String>) {
    for (i, name) in manifest.conversions.iter().enumerate() {
        let fault = if !grants::is_definition_name(name) {
            "is not the name of a CustomResourceDefinition, such as networks.example.com"
        } else if manifest.conversions.iter().take(i).any(|earlier| earlier == name) {
            "is there twice"
        } else {
            continue;
        };
        faults.push(format!("conversions[{i}] {name:?} {fault}"));
    }
}

fn check_http(manifest: &PluginManifest, faults: &mut Vec<String>) {
    for origin in &manifest.http.origins {
        if let Err(e) = grants::parse_origin(origin) {
            faults.push(e.to_string());
        }
    }
    for (i, safe) in manifest.http.safe_requests.iter().enumerate() {
        if safe.method.is_empty() || !safe.method.bytes().all(|b| b.is_ascii_uppercase()) {
            faults.push(format!("http.safeRequests[{i}].method {:?} must be in capitals", safe.method));
        }
        if !safe.path.starts_with(['/', '*']) {
            faults.push(format!("http.safeRequests[{i}].path {:?} must begin with / or *", safe.path));
        }
    }
}

fn check_gvk(place: &str, gvk: &Kind, faults: &mut Vec<String>) {
    if !gvk.group.is_empty() && !gvk.group.split('.').all(is_dns_label) {
        faults.push(format!(
            "{place}.group {:?} is not an API group: it must be a DNS name, or empty for the core group",
            gvk.group
        ));
    }
    let version_ok = gvk.version.strip_prefix('v').is_some_and(|rest| {
        rest.starts_with(|c: char| c.is_ascii_digit()) && rest.bytes().all(|b| b.is_ascii_alphanumeric())
    });
    if !version_ok {
        faults.push(format!("{place}.version {:?} is not an API version such as v1 or v1beta1", gvk.version));
    }
    let kind_ok = gvk.kind.starts_with(|c: char| c.is_ascii_uppercase())
        && gvk.kind.len() <= 63
        && gvk.kind.bytes().all(|b| b.is_ascii_alphanumeric());
    if !kind_ok {
        faults.push(format!("{place}.kind {:?} is not a kind: UpperCamelCase letters and digits", gvk.kind));
    }
}

fn check_namespaces(place: &str, namespaces: &[String], faults: &mut Vec<String>) {
    for namespace in namespaces {
        if namespace.is_empty() || namespace.len() > 63 || !namespace.bytes().all(is_label_byte) {
            faults.push(format!("{place}.namespaces holds {namespace:?}, which is not a namespace name"));
        }
    }
}

fn check_selector(place: &str, selector: &str, faults: &mut Vec<String>) {
    if let Err(e) = crate::api::Selector::bounded(selector) {
        faults.push(format!("{place}: {e}"));
    }
}

/// Whether the text is a valid plugin name.
#[must_use]
pub fn is_plugin_name(text: &str) -> bool {
    is_dns_label(text) && text.len() <= 40
}

fn is_label_byte(b: u8) -> bool {
    b.is_ascii_lowercase() || b.is_ascii_digit() || b == b'-'
}

fn is_dns_label(text: &str) -> bool {
    text.len() <= 63
        && text.starts_with(|c: char| c.is_ascii_lowercase())
        && !text.ends_with('-')
        && text.bytes().all(is_label_byte)
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::{Value, json};

    fn good() -> Value {
        json!({
            "apiVersion": "oarlock.dev/v1alpha1", "kind": "PluginManifest", "name": "network", "version": "0.1.0",
            "primaries": [{"group": "samplecrd.k8s.io", "version": "v1", "kind": "Network"}],
            "watches": [{"group": "apps", "version": "v1", "kind": "Deployment", "mapTo": {"type": "ownerReference"}}],
            "workers": 2, "resyncSeconds": 30,
        })
    }

    /// The fault list of a good manifest with `value` at `pointer`.
    fn faults(pointer: &str, value: Value) -> String {
        let mut doc = good();
        let (parent, last) = pointer.rsplit_once('/').unwrap();
        let parent = doc.pointer_mut(parent).unwrap();
        match parent {
            Value::Array(items) => items[last.parse::<usize>().unwrap()] = value,
            other => other[last] = value,
        }
        manifest(&doc.to_string()).unwrap_err().join("; ")
    }

    fn index(name: &str, kind: &str, path: &str) -> Value {
        json!({"name": name, "group": "samplecrd.k8s.io", "version": "v1", "kind": kind, "jsonPath": path})
    }

    #[test]
    fn a_good_manifest_passes() {
        assert_eq!(manifest(&good().to_string()).unwrap().name, "network");
    }

    #[test]
    fn nonsense_is_refused_by_name() {
        for (pointer, value, expected) in [
            ("/surprise", json!(1), "unknown field `surprise`"),
            ("/name", json!("Network!"), "name \"Network!\""),
            ("/name", json!(""), "name \"\""),
            ("/name", json!("oarlock"), "the host's own"),
            ("/version", json!("1\nkind: ClusterRole"), "printable"),
            ("/workers", json!(0), "workers is 0"),
            ("/workers", json!(9), "workers is 9, must be 1 to 8 (a grant may give up to 64)"),
            ("/resyncSeconds", json!(0), "resyncSeconds is 0"),
            ("/kind", json!("Pod"), "PluginManifest"),
            ("/apiVersion", json!("oarlock.dev/v9"), "oarlock.dev/v9"),
            ("/primaries/0/kind", json!("network"), "primaries[0].kind"),
            ("/primaries/0/version", json!("one"), "primaries[0].version"),
            ("/primaries/0/group", json!("samplecrd_k8s"), "primaries[0].group"),
            ("/primaries/0/labelSelector", json!("a in b"), "labelSelector"),
            ("/primaries", json!([]), "nothing this plugin would do"),
            ("/watches/0/mapTo", json!({"type": "telepathy"}), "telepathy"),
            ("/watches/0/mapTo", json!({"type": "label", "key": ""}), "mapTo.key"),
            ("/watches/0/mapTo", json!({"type": "referencedBy", "pointer": "spec"}), "JSON pointer"),
            ("/watches/0/primary", json!({"version": "v1", "kind": "Pod"}), "not among the primaries"),
            ("/indexes", json!([index("by-node", "Network", "")]), "neither jsonPath nor label"),
            ("/indexes", json!([index("by-node", "Pod", ".spec.nodeName")]), "neither a primary nor a watch"),
            ("/indexes", json!([index("By Node", "Network", ".spec.nodeName")]), "a name that is not"),
            ("/indexes", json!([index("by-node", "Network", "..nodeName")]), "only field names"),
            ("/indexes", json!(vec![index("by-node", "Network", ".spec"); 2]), "indexes[1] \"by-node\" is there twice"),
            (
                "/indexes",
                (0..17).map(|i| index(&format!("i{i}"), "Network", ".spec")).collect(),
                "Network has more than 16 indexes",
            ),
            ("/http", json!({"origins": ["neutron"]}), "neutron"),
            ("/config", json!("text"), "JSON Schema"),
            (
                "/permissions",
                json!([{"apiGroups": [""], "resources": ["pods"], "verbs": ["steal"]}]),
                "permissions[0].verbs holds \"steal\"",
            ),
            (
                "/permissions",
                json!([{"apiGroups": [""], "resources": [], "verbs": ["get"]}]),
                "permissions[0].resources",
            ),
            (
                "/permissions",
                json!([{"apiGroups": vec!["a"; 100], "resources": vec!["b"; 100], "verbs": ["get"]}]),
                "10006 combinations",
            ),
            ("/primaries/0/namespaces", json!(vec!["a"; 5000]), "combinations"),
            (
                "/watches",
                json!(vec![json!({"version": "v1", "kind": "A", "mapTo": {"type": "all"}}); 300]),
                "300 entries",
            ),
        ] {
            let said = faults(pointer, value);
            assert!(said.contains(expected), "{pointer}: {said}");
        }
    }

    #[test]
    fn what_is_not_json_is_refused_with_its_place() {
        assert!(manifest("{").unwrap_err()[0].contains("line 1"));
        assert!(manifest("").is_err());
        assert!(manifest("[]").is_err());
    }
}
