//! Validation of `metadata` for every kind.

use serde_json::{Value, json};

use crate::model::{kinds::Resource, names, status::Cause};

type Check = fn(&str) -> Vec<String>;

/// The syntax of names of a kind.
fn name_check(resource: &Resource) -> Check {
    match (resource.group.as_str(), resource.plural.as_str()) {
        ("", "namespaces") => names::label,
        ("", "services") => names::label,
        ("rbac.authorization.k8s.io", _) => names::path_segment,
        ("certificates.k8s.io", "certificatesigningrequests") => |_| Vec::new(),
        _ => names::subdomain,
    }
}

/// Validates the metadata of a new object with its final name.
pub(crate) fn create(resource: &Resource, object: &Value) -> Vec<Cause> {
    let mut causes = Vec::new();
    let text = |key: &str| object.pointer("/metadata").and_then(|m| m.get(key)?.as_str()).unwrap_or_default();
    let check = name_check(resource);
    let prefix = text("generateName");
    if !prefix.is_empty() {
        // A prefix may end in a character that a name may not end in.
        let probe = prefix.strip_suffix('-').map_or_else(|| prefix.to_owned(), |p| format!("{p}a"));
        causes.extend(check(&probe).iter().map(|e| Cause::invalid("metadata.generateName", &json!(prefix), e)));
    }
    let name = text("name");
    if name.is_empty() {
        causes.push(Cause::required("metadata.name", "name or generateName is required"));
    } else {
        causes.extend(check(name).iter().map(|e| Cause::invalid("metadata.name", &json!(name), e)));
    }
    causes.extend(common(object, has_any_finalizers(resource)));
    causes
}

/// Kinds whose metadata changes the API server checks once; it checks those of others twice.
const CHANGES_ONCE: &[&str] = &["endpointslices", "limitranges", "persistentvolumes"];

/// Whether the finalizers of a kind may have any qualified name.
fn has_any_finalizers(resource: &Resource) -> bool {
    let groups = ["apiextensions.k8s.io", "admissionregistration.k8s.io", "apiregistration.k8s.io"];
    resource.custom.is_some() || groups.contains(&resource.group.as_str())
}

/// Validates the metadata of a new version against the old one.
pub(crate) fn update(resource: &Resource, object: &Value, old: &Value) -> Vec<Cause> {
    let once = common(object, has_any_finalizers(resource));
    // The API server checks the metadata of most kinds once for the kind and once for the update.
    let times = if resource.custom.is_some() { 1 } else { 4 };
    let changes = if CHANGES_ONCE.contains(&resource.plural.as_str()) { 1 } else { 2 };
    let mut causes: Vec<Cause> = once.iter().cycle().take(once.len() * times).cloned().collect();
    let meta = |o: &Value, key: &str| o.pointer("/metadata").and_then(|m| m.get(key)).cloned().unwrap_or_default();
    for key in ["name", "uid"] {
        let (new, was) = (meta(object, key), meta(old, key));
        if !was.is_null() && new != was {
            let cause = Cause::invalid(format!("metadata.{key}"), &new, "field is immutable");
            causes.extend(vec![cause; changes]);
        }
    }
    for key in ["deletionTimestamp", "deletionGracePeriodSeconds"] {
        let (new, was) = (meta(object, key), meta(old, key));
        if new != was {
            let cause = Cause::invalid(format!("metadata.{key}"), &new, "field is immutable");
            causes.extend(vec![cause; changes]);
        }
    }
    if !meta(old, "deletionTimestamp").is_null() {
        let had: Vec<Value> = meta(old, "finalizers").as_array().cloned().unwrap_or_default();
        let new: Vec<String> = meta(object, "finalizers")
            .as_array()
            .into_iter()
            .flatten()
            .filter(|f| !had.contains(f))
            .map(ToString::to_string)
            .collect();
        if !new.is_empty() {
            let detail = format!(
                "no new finalizers can be added if the object is being deleted, found new finalizers []string{{{}}}",
                new.join(", ")
            );
            let cause = Cause::forbidden("metadata.finalizers", &detail);
            causes.extend([cause.clone(), cause]);
        }
    }
    causes
}

fn common(object: &Value, custom: bool) -> Vec<Cause> {
    let mut causes = Vec::new();
    let Some(meta) = object.get("metadata") else { return causes };
    for (key, value) in meta.get("labels").and_then(Value::as_object).into_iter().flatten() {
        causes.extend(names::qualified_name(key).iter().map(|e| Cause::invalid("metadata.labels", &json!(key), e)));
        let text = value.as_str().unwrap_or_default();
        causes.extend(names::label_value(text).iter().map(|e| Cause::invalid("metadata.labels", value, e)));
    }
    let mut size = 0;
    for (key, value) in meta.get("annotations").and_then(Value::as_object).into_iter().flatten() {
        let lower = key.to_lowercase();
        causes.extend(
            names::qualified_name(&lower).iter().map(|e| Cause::invalid("metadata.annotations", &json!(key), e)),
        );
        size += key.len() + value.as_str().map_or(0, str::len);
    }
    if size > 256 * 1024 {
        let detail = "Too long: may not be more than 262144 bytes";
        causes.push(Cause::raw("FieldValueTooLong", "metadata.annotations", detail));
    }
    causes.extend(owners(meta));
    for (i, finalizer) in meta.get("finalizers").and_then(Value::as_array).into_iter().flatten().enumerate() {
        let text = finalizer.as_str().unwrap_or_default();
        let field = if custom { "metadata.finalizers".to_owned() } else { format!("metadata.finalizers[{i}]") };
        let problems = names::qualified_name(text);
        causes.extend(problems.iter().map(|e| Cause::invalid("metadata.finalizers", finalizer, e)));
        let standard = matches!(text, "kubernetes" | "orphan" | "foregroundDeletion");
        if !standard && !text.contains('/') && !custom {
            let detail = "name is neither a standard finalizer name nor is it fully qualified";
            causes.push(Cause::invalid(field, finalizer, detail));
        }
    }
    causes
}

fn owners(meta: &Value) -> Vec<Cause> {
    let mut causes = Vec::new();
    let mut controller: Option<String> = None;
    let list = meta.get("ownerReferences").and_then(Value::as_array);
    for owner in list.into_iter().flatten() {
        let text = |key: &str| owner.get(key).and_then(Value::as_str).unwrap_or_default();
        for key in ["apiVersion", "kind", "name", "uid"] {
            if text(key).is_empty() {
                let field = format!("metadata.ownerReferences.{key}");
                let detail = if key == "apiVersion" { "version must not be empty" } else { "must not be empty" };
                causes.push(Cause::invalid(field, &json!(""), detail));
            }
        }
        if owner.get("controller") == Some(&Value::Bool(true)) {
            let this = format!("{}/{}", text("kind"), text("name"));
            if let Some(first) = &controller {
                let detail = format!(
                    "Only one reference can have Controller set to true. Found \"true\" in references for {first} and {this}"
                );
                causes.push(Cause::raw(
                    "FieldValueInvalid",
                    "metadata.ownerReferences",
                    format!("Invalid value: {}: {detail}", owners_text(list)),
                ));
            } else {
                controller = Some(this);
            }
        }
    }
    causes
}

/// Owner references as Go prints them: in the order of the struct's fields.
fn owners_text(list: Option<&Vec<Value>>) -> String {
    let each = list.into_iter().flatten().map(|owner| {
        let fields = ["apiVersion", "kind", "name", "uid", "controller", "blockOwnerDeletion"]
            .iter()
            .filter_map(|key| owner.get(*key).map(|v| format!("\"{key}\":{v}")));
        format!("{{{}}}", fields.collect::<Vec<_>>().join(","))
    });
    format!("[{}]", each.collect::<Vec<_>>().join(","))
}
