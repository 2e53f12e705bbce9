//! Whose object it is: an object that the host made belongs to a person as soon as a person writes what the plugin is.

use super::MADE;
use crate::apply::HOST;
use serde_json::{Value, json};

/// What the host does with an object that it made.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum Owner {
    /// The object stays that of the host.
    Host,
    /// A person wrote the source or the grant, or made the object with the label of the host: the host gives the object away. `keeps_source`: nobody else wrote the source.
    Person { keeps_source: bool },
}

/// * `object` - as the API server has it, with `managedFields`.
pub(super) fn owner(object: &Value) -> Owner {
    let all = object.pointer("/metadata/managedFields").and_then(Value::as_array);
    let (mut made, mut source, mut grant) = (false, false, false);
    for entry in all.into_iter().flatten() {
        let owns = |field: &str| entry.pointer(&format!("/fieldsV1/f:spec/f:{field}")).is_some();
        if entry["manager"] != HOST {
            source |= owns("source");
            grant |= owns("grant");
        } else if let Some(labels) = entry.pointer("/fieldsV1/f:metadata/f:labels") {
            made |= labels.get(format!("f:{}", MADE.0)).is_some();
        }
    }
    if source || grant || !made { Owner::Person { keeps_source: !source } } else { Owner::Host }
}

/// The document that gives an object away: the host owns its label no longer.
pub(super) fn given_away(name: &str, namespace: &str, live: &Value, keeps_source: bool) -> Value {
    let metadata = json!({"name": name, "namespace": namespace});
    let mut document = json!({"apiVersion": super::kind().api_version(), "kind": "Plugin", "metadata": metadata});
    if let (true, Some(source)) = (keeps_source, live.pointer("/spec/source"))
        && let Some(document) = document.as_object_mut()
    {
        document.insert("spec".to_owned(), json!({"source": source}));
    }
    document
}

/// The document with which the host takes the label of an object from all other owners, by another value.
pub(super) fn taken(given_away: &Value) -> Value {
    let mut document = given_away.clone();
    if let Some(metadata) = document.pointer_mut("/metadata").and_then(Value::as_object_mut) {
        metadata.insert("labels".to_owned(), json!({MADE.0: ""}));
    }
    document
}

/// Whether the object has the label of the host. Who copies such an object copies the label: [`owner`] knows who wrote it.
pub(super) fn is_ours(object: &Value) -> bool {
    object.pointer("/metadata/labels").and_then(|labels| labels.get(MADE.0)).is_some_and(|value| value == MADE.1)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_object_is_a_persons_when_another_manager_has_its_source_or_grant_or_alone_its_label() {
        let label = json!({"f:labels": {"f:app.kubernetes.io/managed-by": {}}});
        let of = |manager: &str, field: &str| {
            let fields = json!({"f:spec": {format!("f:{field}"): {}}});
            json!({"metadata": {"managedFields": [
                {"manager": "oarlock", "fieldsV1": {"f:metadata": label, "f:spec": {"f:source": {"f:file": {}}}}},
                {"manager": manager, "fieldsV1": fields}]}})
        };
        let copied = json!({"metadata": {"managedFields": [
            {"manager": "velero", "fieldsV1": {"f:metadata": label, "f:spec": {"f:paused": {}}}},
            {"manager": "oarlock", "subresource": "status", "fieldsV1": {"f:status": {"f:state": {}}}}]}});
        assert_eq!(owner(&copied), Owner::Person { keeps_source: true });
        assert!(!is_ours(&taken(&given_away("a", "n", &copied, true))));
        assert_eq!(owner(&of("kubectl", "paused")), Owner::Host);
        assert_eq!(owner(&of("oarlock", "source")), Owner::Host);
        assert_eq!(owner(&of("argocd", "source")), Owner::Person { keeps_source: false });
        assert_eq!(owner(&of("kubectl-patch", "grant")), Owner::Person { keeps_source: true });
    }
}
