//! Objects of another cluster as the first content of a store.

use serde_json::Value;

use crate::{
    handlers::Api,
    model::versions,
    resources::crd,
    store::{Content, Key},
};

/// Stores the objects as they are; definitions first, so that their kinds are served. Returns the objects whose kind is not served.
pub(crate) fn load(api: &Api, objects: Vec<Value>) -> Vec<Value> {
    let newest = objects.iter().filter_map(revision).max().unwrap_or_default();
    api.store.go_on_from(newest);
    let (definitions, others): (Vec<_>, Vec<_>) = objects.into_iter().partition(is_definition);
    let mut unknown = place(api, definitions, newest);
    crd::serve(&api.store, &api.registry);
    unknown.extend(place(api, others, newest));
    unknown
}

/// * `newest` - the revision of an object without a readable one.
fn place(api: &Api, objects: Vec<Value>, newest: u64) -> Vec<Value> {
    let served = api.registry.served();
    let mut unknown = Vec::new();
    for object in objects {
        let text = |pointer: &str| object.pointer(pointer).and_then(Value::as_str).unwrap_or_default();
        let (group, version) = text("/apiVersion").split_once('/').unwrap_or(("", text("/apiVersion")));
        let Some(resource) = served.by_kind(group, version, text("/kind")) else {
            unknown.push(object);
            continue;
        };
        let key = Key::new(text("/metadata/namespace"), text("/metadata/name"));
        let revision = revision(&object).unwrap_or(newest);
        let version = resource.custom.is_some().then(|| version.into());
        let value = versions::to_stored(resource, object, None);
        api.store.place(&resource.resource_store(), revision, &key, Content { value, version });
    }
    unknown
}

fn is_definition(object: &Value) -> bool {
    object.get("kind").is_some_and(|kind| kind == "CustomResourceDefinition")
}

fn revision(object: &Value) -> Option<u64> {
    object.pointer("/metadata/resourceVersion")?.as_str()?.parse().ok()
}

#[cfg(test)]
mod tests {
    use crate::{DevServer, Options};
    use serde_json::{Value, json};

    async fn send(client: &kube::Client, method: &str, path: &str, body: &Value) -> Value {
        let request = http::Request::builder().method(method).uri(path).header("content-type", "application/json");
        client.request(request.body(body.to_string().into_bytes()).unwrap()).await.unwrap()
    }

    #[tokio::test]
    async fn objects_are_served_as_they_were_and_further_changes_are_newer() {
        let definition = json!({"apiVersion": "apiextensions.k8s.io/v1", "kind": "CustomResourceDefinition",
            "metadata": {"name": "gadgets.oarlock.test", "uid": "d", "resourceVersion": "900"},
            "spec": {"group": "oarlock.test", "scope": "Namespaced", "names": {"plural": "gadgets", "singular": "gadget",
                "kind": "Gadget", "listKind": "GadgetList"}, "versions": [{"name": "v1", "served": true, "storage": true,
                "schema": {"openAPIV3Schema": {"type": "object", "x-kubernetes-preserve-unknown-fields": true}}}]},
            "status": {"conditions": [{"type": "Established", "status": "True"}, {"type": "NamesAccepted", "status": "True"}],
                "acceptedNames": {"plural": "gadgets", "kind": "Gadget"}, "storedVersions": ["v1"]}});
        let gadget = json!({"apiVersion": "oarlock.test/v1", "kind": "Gadget", "metadata": {"name": "a", "namespace": "default",
            "uid": "u", "resourceVersion": "1234", "generation": 7, "managedFields": [{"manager": "m", "operation": "Update",
                "apiVersion": "oarlock.test/v1", "fieldsType": "FieldsV1", "fieldsV1": {"f:size": {}}, "time": "2026-01-01T00:00:00Z"}]},
            "size": 3});
        let odd = json!({"apiVersion": "metrics.k8s.io/v1", "kind": "PodMetrics", "metadata": {"name": "p"}});
        let objects = vec![gadget.clone(), odd.clone(), definition];
        let copy = DevServer::copy_of(objects, Options::default().controllers(false));
        assert_eq!(copy.unknown(), [odd]);
        let client = kube::Client::new(copy.router(), "default");
        let path = "/apis/oarlock.test/v1/namespaces/default/gadgets/a";
        assert_eq!(send(&client, "GET", path, &Value::Null).await, gadget);
        let mut changed = gadget;
        changed["size"] = json!(4);
        let changed = send(&client, "PUT", path, &changed).await;
        let revision: u64 = changed["metadata"]["resourceVersion"].as_str().unwrap().parse().unwrap();
        assert!(revision > 1234 && copy.revision() >= revision);
        assert_eq!((&changed["metadata"]["uid"], &changed["metadata"]["generation"]), (&json!("u"), &json!(8)));
    }
}
