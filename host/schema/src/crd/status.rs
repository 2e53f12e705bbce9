//! The status of a CustomResourceDefinition: accepted names and conditions.

use serde_json::{Map, Value, json};

use super::{list, text, texts};
use crate::go;

/// The annotation required for groups of the Kubernetes project.
pub(super) const APPROVED: &str = "api-approved.kubernetes.io";

/// Whether `group` belongs to the Kubernetes project: `k8s.io`, `kubernetes.io` and everything below them.
///
/// # Source
///
/// apiextensions-apiserver `pkg/apihelpers/helpers.go`, `IsProtectedCommunityGroup`.
#[must_use]
pub fn is_protected_group(group: &str) -> bool {
    ["k8s.io", "kubernetes.io"]
        .iter()
        .any(|domain| group == *domain || group.strip_suffix(domain).is_some_and(|head| head.ends_with('.')))
}

/// The approval state of a definition in a group of the Kubernetes project.
pub(super) enum Approval {
    Missing(String),
    Invalid(String),
    Bypassed(String),
    Approved(String),
}

/// Reads the approval annotation.
pub(super) fn approval(crd: &Value) -> Approval {
    const SEE: &str = "see https://github.com/kubernetes/enhancements/pull/1111";
    let annotations = crd.pointer("/metadata/annotations").unwrap_or(&Value::Null);
    let annotation = text(annotations, APPROVED);
    let is_url = url::Url::parse(&annotation).is_ok_and(|url| url.has_host());
    if annotation.is_empty() {
        Approval::Missing(format!("protected groups must have approval annotation \"{APPROVED}\", {SEE}"))
    } else if annotation.starts_with("unapproved") {
        Approval::Bypassed(format!("not approved: {}", go::quote(&annotation)))
    } else if is_url {
        Approval::Approved(format!("approved in {annotation}"))
    } else {
        Approval::Invalid(format!(
            "protected groups must have approval annotation \"{APPROVED}\" with either a URL or a reason starting \
             with \"unapproved\", {SEE}"
        ))
    }
}

/// The status that an API server's controllers give to a definition.
///
/// Names are accepted if no other definition of the group has them; once all are, the definition is established and
/// stays so. Conditions that do not change keep their transition time. `storedVersions` gains the storage version.
///
/// * `crd` - the whole object with its present status, which may be absent.
/// * `others` - other definitions; those of other groups are ignored.
/// * `now` - RFC 3339 time for conditions that change.
///
/// # Source
///
/// apiextensions-apiserver `pkg/controller/status/naming_controller.go`, `establish`, `apiapproval`.
#[must_use]
pub fn reconcile_status(crd: &Value, others: &[&Value], now: &str) -> Value {
    let spec = crd.get("spec").unwrap_or(&Value::Null);
    let wanted = spec.get("names").unwrap_or(&Value::Null);
    let old = crd.get("status").cloned().unwrap_or(Value::Null);
    let (accepted, conflict) = accept_names(crd, others, wanted, old.get("acceptedNames").unwrap_or(&Value::Null));

    let mut conditions: Vec<Value> = list(&old, "conditions").to_vec();
    let was_established = conditions.iter().any(|c| text(c, "type") == "Established" && text(c, "status") == "True");
    match &conflict {
        Some((reason, message)) => set(&mut conditions, "NamesAccepted", "False", reason, message, now),
        None => set(&mut conditions, "NamesAccepted", "True", "NoConflicts", "no conflicts found", now),
    }
    if !was_established {
        let (status, reason, message) = match conflict {
            None => ("True", "InitialNamesAccepted", "the initial names have been accepted"),
            Some(_) => ("False", "NotAccepted", "not all names are accepted"),
        };
        set(&mut conditions, "Established", status, reason, message, now);
    }
    if is_protected_group(&text(spec, "group")) {
        let (status, reason, message) = match approval(crd) {
            Approval::Missing(m) => ("False", "MissingAnnotation", m),
            Approval::Invalid(m) => ("False", "InvalidAnnotation", m),
            Approval::Bypassed(m) => ("False", "UnapprovedAnnotation", m),
            Approval::Approved(m) => ("True", "ApprovedAnnotation", m),
        };
        set(&mut conditions, "KubernetesAPIApprovalPolicyConformant", status, reason, &message, now);
    }

    let mut stored = texts(&old, "storedVersions");
    for version in list(spec, "versions").iter().filter(|v| v.get("storage") == Some(&Value::Bool(true))) {
        let name = text(version, "name");
        if !stored.contains(&name) {
            stored.push(name);
        }
    }
    json!({"acceptedNames": accepted, "conditions": conditions, "storedVersions": stored})
}

fn set(conditions: &mut Vec<Value>, ty: &str, status: &str, reason: &str, message: &str, now: &str) {
    let found = conditions.iter_mut().find(|c| text(c, "type") == ty);
    let since = match &found {
        Some(old) if text(old, "status") == status => text(old, "lastTransitionTime"),
        _ => now.to_owned(),
    };
    let condition =
        json!({"type": ty, "status": status, "reason": reason, "message": message, "lastTransitionTime": since});
    match found {
        Some(old) => *old = condition,
        None => conditions.push(condition),
    }
}

type Conflict = (&'static str, String);

fn accept_names(crd: &Value, others: &[&Value], wanted: &Value, had: &Value) -> (Value, Option<Conflict>) {
    let group = crd.pointer("/spec/group");
    let own_name = crd.pointer("/metadata/name");
    let (mut resources, mut kinds) = (Vec::new(), Vec::new());
    for other in others {
        if other.pointer("/spec/group") != group || other.pointer("/metadata/name") == own_name {
            continue;
        }
        let Some(names) = other.pointer("/status/acceptedNames") else { continue };
        resources.extend([text(names, "plural"), text(names, "singular")]);
        resources.extend(texts(names, "shortNames"));
        kinds.extend([text(names, "kind"), text(names, "listKind")]);
    }
    let mut accepted: Map<String, Value> = had.as_object().cloned().unwrap_or_default();
    let mut conflict: Option<Conflict> = None;
    let in_use = |name: &str, used: &[String]| !name.is_empty() && used.iter().any(|u| u == name);
    let single = [
        ("plural", "PluralConflict", &resources),
        ("singular", "SingularConflict", &resources),
        ("kind", "KindConflict", &kinds),
        ("listKind", "ListKindConflict", &kinds),
    ];
    for (key, reason, used) in single {
        let name = text(wanted, key);
        if name != text(had, key) && in_use(&name, used) {
            conflict = Some((reason, format!("{} is already in use", go::quote(&name))));
        } else {
            accepted.insert(key.to_owned(), name.into());
        }
        if key == "singular" {
            let had_short = texts(had, "shortNames");
            let short = texts(wanted, "shortNames");
            let taken: Vec<String> = short
                .iter()
                .filter(|name| !had_short.contains(name) && in_use(name, &resources))
                .map(|name| format!("{} is already in use", go::quote(name)))
                .collect();
            match taken.as_slice() {
                [] if short.is_empty() => drop(accepted.remove("shortNames")),
                [] => drop(accepted.insert("shortNames".to_owned(), short.into())),
                [one] => conflict = Some(("ShortNamesConflict", one.clone())),
                many => conflict = Some(("ShortNamesConflict", format!("[{}]", many.join(", ")))),
            }
        }
    }
    // The two names without omitempty are present even when they are not accepted.
    for key in ["plural", "kind"] {
        accepted.entry(key).or_insert_with(|| "".into());
    }
    let categories = texts(wanted, "categories");
    if categories.is_empty() {
        accepted.remove("categories");
    } else {
        accepted.insert("categories".to_owned(), categories.into());
    }
    (Value::Object(accepted), conflict)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn groups_of_the_project_are_protected() {
        for (group, expect) in [
            ("k8s.io", true),
            ("samplecrd.k8s.io", true),
            ("a.kubernetes.io", true),
            ("notk8s.io", false),
            ("example.com", false),
        ] {
            assert_eq!(is_protected_group(group), expect, "{group}");
        }
    }

    #[test]
    fn an_established_definition_stays_established() {
        let first = json!({"metadata": {"name": "foos.g"}, "spec": {"group": "g", "names":
            {"plural": "foos", "singular": "foo", "kind": "Foo", "listKind": "FooList"},
            "versions": [{"name": "v1", "storage": true}]}});
        let mut crd = first.clone();
        crd["status"] = reconcile_status(&crd, &[], "2024-01-01T00:00:00Z");
        let again = reconcile_status(&crd, &[], "2025-01-01T00:00:00Z");
        assert_eq!(crd["status"], again);
        crd["spec"]["names"]["shortNames"] = json!(["x"]);
        let other = json!({"metadata": {"name": "xs.g"}, "spec": {"group": "g"}, "status": {"acceptedNames":
            {"plural": "xs", "singular": "x", "kind": "X", "listKind": "XList"}}});
        let status = reconcile_status(&crd, &[&other], "2025-01-01T00:00:00Z");
        let condition = |ty: &str| list(&status, "conditions").iter().find(|c| text(c, "type") == ty).unwrap().clone();
        assert_eq!(condition("Established")["status"], "True");
        assert_eq!(condition("NamesAccepted")["reason"], "ShortNamesConflict");
    }
}
