//! Changes that a plugin returns, carried out by the runner.

use super::{config_map, manifest, thing};
use crate::testing::Runner;
use crate::{
    Context, Manifest, Observation, Outcome, PatchType, Reconciler, Result, cluster, kind, merge, object_ref, warn,
};
use serde::Serialize;
use serde_json::{Value, json};
use std::collections::BTreeMap;
use std::time::Duration;

/// Returns the changes in `spec.changes`, until `status.done`.
#[derive(Default)]
struct Changer;

#[derive(Serialize)]
struct Card<'a> {
    #[serde(rename = "apiVersion")]
    api_version: &'a str,
    kind: &'a str,
    metadata: Value,
    data: &'a Value,
}

impl Reconciler for Changer {
    type Object = Value;
    type State = Value;

    fn manifest() -> Manifest {
        manifest()
    }

    fn desired(&self, cx: &Context<Value>) -> Result<Option<Value>> {
        Ok(Some(cx.object()?["spec"]["data"].clone()))
    }

    fn actual(&self, _: &Context<Value>) -> Result<Observation<Value>> {
        let card: Option<Value> = cluster::get(&config_map(), "default", "card")?;
        Ok(Observation::of(card.map(|card| card["data"].clone())))
    }

    fn patch(&self, cx: &Context<Value>, desired: Option<Value>, _: Option<Value>) -> Result<Outcome> {
        let data = desired.unwrap_or_default();
        let metadata = json!({"name": "card", "namespace": "default"});
        let card = Card { api_version: "v1", kind: "ConfigMap", metadata, data: &data };
        let target = || Some(object_ref(&config_map(), "default", "card"));
        let outcome = Outcome::new().event_warning("Changed", "as told").requeue_after(Duration::from_micros(1));
        Ok(match cx.object()?["spec"]["how"].as_str().unwrap_or_default() {
            "apply" => outcome.apply(&card),
            "create" => outcome.create(&card),
            "merge" => outcome.patch(target(), PatchType::MergePatch, json!({"data": data})),
            "json" => outcome.patch(
                target(),
                PatchType::JsonPatch,
                json!([{"op": "replace", "path": "/data", "value": data}]),
            ),
            "strategic" => {
                let from = json!({"apiVersion": "v1", "kind": "ConfigMap", "data": {"old": "1"}});
                let to = json!({"apiVersion": "v1", "kind": "ConfigMap", "data": data});
                let patch = merge::create_two_way(&config_map(), &from, &to)?;
                outcome.patch(target(), PatchType::StrategicMergePatch, patch)
            }
            "stale" => outcome.apply_with(&card, |change| change.precondition.uid = Some("another".into())),
            "unwritable" => outcome.apply(BTreeMap::from([((1, 2), 3)])),
            other => {
                warn!("no way to {other}");
                outcome
            }
        })
    }
}

fn change(how: &str, existing: bool) -> Runner<Changer> {
    let runner = Runner::new().object(thing(&json!({"how": how, "data": {"word": "new"}})));
    let card = json!({"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "card", "namespace": "default"}, "data": {"old": "1"}});
    if existing { runner.seed(card) } else { runner }
}

#[test]
fn changes_are_carried_out_as_the_api_server_would() {
    for (how, existing, data) in [
        ("apply", false, json!({"word": "new"})),
        ("apply", true, json!({"old": "1", "word": "new"})),
        ("create", false, json!({"word": "new"})),
        ("merge", true, json!({"old": "1", "word": "new"})),
        ("json", true, json!({"word": "new"})),
        ("strategic", true, json!({"word": "new"})),
    ] {
        let mut runner = change(how, existing);
        let report = runner.reconcile();
        assert_eq!(report.error, None, "{how}");
        assert_eq!(report.event_lines(), ["Warning Changed: as told"]);
        assert_eq!(report.requeue_after, Some(Duration::from_millis(1)), "rounded up, never to nothing");
        assert_eq!(runner.get(&config_map(), "default", "card").unwrap()["data"], data, "{how}");
    }
}

#[test]
fn changes_that_cannot_be_carried_out_end_the_reconcile() {
    for (how, existing, part) in [
        ("create", true, "already exists"),
        ("merge", false, "does not exist"),
        ("stale", true, "precondition failed"),
        ("unwritable", false, "apply: not the JSON that was expected"),
    ] {
        let report = change(how, existing).reconcile();
        assert!(report.error.as_ref().is_some_and(|error| error.message().contains(part)), "{how}: {report:?}");
        assert!(report.events.is_empty(), "{how}: events are for changes that were carried out");
    }
    let report = change("dance", false).reconcile();
    assert!(!report.in_sync() && report.error.is_none());
    assert_eq!(report.log[0].message, "no way to dance");
}

#[test]
fn fields_left_out_of_an_apply_are_removed() {
    let mut runner = change("apply", true);
    runner.reconcile();
    runner.edit(|object| object["spec"]["data"] = json!({"other": "2"}));
    let report = runner.reconcile();
    assert_eq!(report.applied().len(), 1);
    assert_eq!(runner.get(&config_map(), "default", "card").unwrap()["data"], json!({"old": "1", "other": "2"}));
}

#[test]
fn lists_are_applied_by_their_keys() {
    let deployment = |containers: Value| {
        json!({"apiVersion": "apps/v1", "kind": "Deployment", "metadata": {"name": "web", "namespace": "default"},
               "spec": {"template": {"spec": {"containers": containers}}}})
    };
    let names = |runner: &Runner<Sidecar>| -> Vec<String> {
        let live = runner.get(&kind("apps/v1", "Deployment"), "default", "web").unwrap();
        let containers = live["spec"]["template"]["spec"]["containers"].as_array().unwrap();
        containers.iter().map(|container| container["name"].as_str().unwrap().to_owned()).collect()
    };
    let mut runner = Runner::<Sidecar>::new().object(deployment(json!([{"name": "web", "image": "web:1"}])));
    assert!(runner.reconcile().in_sync());
    assert_eq!(names(&runner), ["web", "proxy"]);
    assert!(!runner.reconcile().patched);
    // Additional fields of other managers are no difference, changes of the plugin's own fields are.
    runner.edit(|live| live["spec"]["template"]["spec"]["containers"][1]["stdin"] = json!(true));
    assert!(!runner.reconcile().patched);
    runner.edit(|live| live["spec"]["template"]["spec"]["containers"][1]["image"] = json!("proxy:0"));
    assert!(runner.reconcile().patched);
    runner.edit(|live| live["metadata"]["annotations"] = json!({"plain": "true"}));
    assert!(runner.reconcile().in_sync());
    assert_eq!(names(&runner), ["web"]);
}

/// Adds a container by apply.
#[derive(Default)]
struct Sidecar;

impl Sidecar {
    fn document(containers: &Value) -> Value {
        json!({"apiVersion": "apps/v1", "kind": "Deployment", "metadata": {"name": "web", "namespace": "default"},
               "spec": {"template": {"spec": {"containers": containers}}}})
    }
}

impl Reconciler for Sidecar {
    type Object = Value;
    type State = Value;

    fn manifest() -> Manifest {
        Manifest::new("sidecar", "1").primary(kind("apps/v1", "Deployment"))
    }

    fn desired(&self, cx: &Context<Value>) -> Result<Option<Value>> {
        let plain = cx.object()?.pointer("/metadata/annotations/plain").is_some();
        Ok((!plain).then(|| Self::document(&json!([{"name": "proxy", "image": "proxy:1"}]))))
    }

    fn actual(&self, cx: &Context<Value>) -> Result<Observation<Value>> {
        Ok(Observation::of(cluster::get_applied(cx.kind(), cx.namespace(), cx.name())?))
    }

    fn patch(&self, _: &Context<Value>, desired: Option<Value>, _: Option<Value>) -> Result<Outcome> {
        let nothing = json!({"apiVersion": "apps/v1", "kind": "Deployment",
                             "metadata": {"name": "web", "namespace": "default"}});
        Ok(Outcome::new().apply(desired.unwrap_or(nothing)))
    }
}
