//! `--server-side`: the cluster's API server answers the planned writes as a dry run, with its admission, defaults and validation.

use super::changes::{Action, Change, OF_A_CREATION, OF_EACH_WRITE, stripped};
use super::cluster::Name;
use super::kinds::Kind;
use oarlock::api::Resource;
use serde_json::{Value, json};

/// Replaces each planned object with the API server's answer. Leaves out changes that the API server rejects or takes back.
///
/// * `problems` - gets a sentence about each change that the API server rejects.
pub(super) async fn answer(
    client: &kube::Client,
    kinds: &[Kind],
    changes: Vec<Change>,
    problems: &mut Vec<String>,
) -> Vec<Change> {
    let mut answered = Vec::new();
    for mut change in changes {
        let resource = kinds.iter().map(|kind| &kind.resource).find(|resource| resource.gvk == change.name.kind);
        let Some(resource) = resource else { continue };
        match dry_run(client, resource, &change).await {
            Ok(answer) if change.action != Action::Deleted => change.after = planned(&change, answer),
            Ok(_) => {}
            Err(error) => {
                problems.push(sentence(&change, &error));
                continue;
            }
        }
        if change.before != change.after {
            answered.push(change);
        }
    }
    answered
}

/// The object of the answer, without the metadata of each write. An update leaves the status as it is: the status is the planned one.
fn planned(change: &Change, answer: Value) -> Value {
    let mut object = stripped(answer, &OF_EACH_WRITE);
    if change.action == Action::Created {
        object = stripped(object, &OF_A_CREATION);
    }
    if let Some(fields) = object.as_object_mut() {
        match change.after.get("status") {
            Some(status) => fields.insert("status".to_owned(), status.clone()),
            None => fields.remove("status"),
        };
    }
    object
}

async fn dry_run(client: &kube::Client, resource: &Resource, change: &Change) -> Result<Value, kube::Error> {
    let Name { namespace, name, .. } = &change.name;
    let (method, name, body) = match change.action {
        Action::Created => ("POST", None, change.after.clone()),
        Action::Changed => {
            let mut object = change.after.clone();
            // Rejects the update if the object has changed since it was read.
            if let Some(metadata) = object.get_mut("metadata").and_then(Value::as_object_mut) {
                metadata.insert("resourceVersion".to_owned(), change.resource_version.clone().into());
            }
            ("PUT", Some(name.as_str()), object)
        }
        Action::Deleted => {
            let preconditions = json!({"resourceVersion": change.resource_version});
            let options = json!({"apiVersion": "v1", "kind": "DeleteOptions", "dryRun": ["All"],
                "preconditions": preconditions});
            ("DELETE", Some(name.as_str()), options)
        }
    };
    let path = resource.path(namespace, name, None);
    let managers: Vec<&str> = change.managers.iter().map(String::as_str).collect();
    let mut query = url::form_urlencoded::Serializer::new(String::new());
    query.append_pair("dryRun", "All");
    if let [manager, ..] = managers.as_slice() {
        query.append_pair("fieldManager", manager);
    }
    let request = http::Request::builder()
        .method(method)
        .uri(format!("{path}?{}", query.finish()))
        .header("content-type", "application/json")
        .body(body.to_string().into_bytes())
        .map_err(kube::Error::HttpError)?;
    client.request(request).await
}

fn sentence(change: &Change, error: &kube::Error) -> String {
    let Name { kind, namespace, name } = &change.name;
    let place = if namespace.is_empty() { String::new() } else { format!("{namespace}/") };
    let (what, why) = match error {
        kube::Error::Api(status) if status.code == 409 && change.action == Action::Changed => {
            ("changed while the plan was made", format!("{}; plan again", status.message))
        }
        kube::Error::Api(status) => ("is rejected by the API server", status.message.clone()),
        error => ("has no answer of the API server", error.to_string()),
    };
    format!("{} {place}{name} would be {} and {what}: {why}", kind.kind, change.action.as_str())
}
