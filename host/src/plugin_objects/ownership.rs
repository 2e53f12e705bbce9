//! Whose object it is: an object that the host made belongs to a person as soon as a person writes what the plugin is.

use super::MADE;
use crate::apply::HOST;
use serde_json::{Value, json};

/// What the host does with an object that it made.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum Owner {
    /// The object stays that of the host.
    Host,
    /// A person wrote the source or the grant: the host gives the object away. `keeps_source`: nobody else wrote the source.
    Person { keeps_source: bool },
}

/// * `object` - as the API server has it, with `managedFields`.
pub(super) fn owner(object: &Value) -> Owner {
    let all = object.pointer("/metadata/managedFields").and_then(Value::as_array);
    let others = all.into_iter().flatten().filter(|entry| entry["manager"] != HOST);
    let (mut source, mut grant) = (false, false);
    for entry in others {
        let owns = |field: &str| entry.pointer(&format!("/fieldsV1/f:spec/f:{field}")).is_some();
        source |= owns("source");
        grant |= owns("grant");
    }
    if source || grant { Owner::Person { keeps_source: !source } } else { Owner::Host }
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

/// Whether the host made the object.
pub(super) fn is_ours(object: &Value) -> bool {
    object.pointer("/metadata/labels").and_then(|labels| labels.get(MADE.0)).is_some_and(|value| value == MADE.1)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_object_is_a_persons_when_another_manager_has_its_source_or_grant() {
        let of = |manager: &str, field: &str| {
            let fields = json!({"f:spec": {format!("f:{field}"): {}}});
            json!({"metadata": {"managedFields": [
                {"manager": "oarlock", "fieldsV1": {"f:spec": {"f:source": {"f:file": {}}}}},
                {"manager": manager, "fieldsV1": fields}]}})
        };
        assert_eq!(owner(&of("kubectl", "paused")), Owner::Host);
        assert_eq!(owner(&of("oarlock", "source")), Owner::Host);
        assert_eq!(owner(&of("argocd", "source")), Owner::Person { keeps_source: false });
        assert_eq!(owner(&of("kubectl-patch", "grant")), Owner::Person { keeps_source: true });
    }
}
