//! The SDK from a plugin author's view, on the native runner.

use crate::http::{Failure, Response};
use crate::testing::Runner;
use crate::{
    Context, Error, Manifest, Mapping, Observation, Outcome, PatchType, Reconciler, Result, cache, cluster, config,
    http, kind, log,
};
use serde::Deserialize;
use serde_json::{Value, json};
use std::collections::BTreeMap;
use std::time::Duration;

mod changes;
mod decoding;

fn config_map() -> crate::Kind {
    kind("v1", "ConfigMap")
}

fn manifest() -> Manifest {
    Manifest::new("probe", "1")
        .primary(kind("example.com/v1", "Thing"))
        .watch(config_map(), Mapping::OwnerReference)
        .index("by-user", config_map(), ".data.users[*]")
        .index_by_label("by-a", config_map(), "a")
        .http_origin("http://granted.example.com:80")
        .http_safe_request("POST", "*/tokens")
        .cleanup()
        .config_required("url", json!({"type": "string"}))
        .config_property("word", json!({"type": "string"}))
}

fn thing(spec: &Value) -> Value {
    let metadata = json!({"name": "a", "namespace": "default", "uid": "u-1"});
    json!({"apiVersion": "example.com/v1", "kind": "Thing", "metadata": metadata, "spec": spec})
}

/// Runs the action in the object's `spec.ask` in `actual`, and shows its result.
#[derive(Default)]
struct Probe;

#[derive(Deserialize)]
struct Thing {
    spec: Spec,
}

#[derive(Deserialize)]
struct Spec {
    ask: String,
}

impl Reconciler for Probe {
    type Object = Thing;
    type State = Value;

    fn manifest() -> Manifest {
        manifest()
    }

    fn desired(&self, cx: &Context<Thing>) -> Result<Option<Value>> {
        cx.object()?;
        Ok(Some(json!("asked")))
    }

    fn actual(&self, cx: &Context<Thing>) -> Result<Observation<Value>> {
        if cx.deleting() {
            return Ok(Observation::absent());
        }
        let answer = match cx.object()?.spec.ask.as_str() {
            "secret" => json!(cluster::get::<Value>(&kind("v1", "Secret"), "default", "s")?),
            "granted" => json!(http::get("http://GRANTED.example.com/x").send()?.status),
            "ungranted" => json!(http::get("http://granted.example.com:8080/").send()?.status),
            "write" => json!(http::delete("http://granted.example.com/x").send()?.status),
            "token" => json!(http::post("http://granted.example.com/v3/tokens").send()?.status),
            "nonsense" => json!(http::get("granted").send()?.status),
            "count" => {
                let next = cache::get::<u32>("count").unwrap_or_default() + 1;
                cache::set("count", &next, Some(Duration::from_secs(60)));
                json!(next)
            }
            "word" => json!([config::get("word"), config::require("url")?, config::keys()]),
            "list" => {
                let labelled = |selector: &str| {
                    let options = cluster::ListOptions { label_selector: selector.to_owned(), ..Default::default() };
                    cluster::list::<Value>(&config_map(), &options).map(|found| found.len())
                };
                json!([labelled("")?, labelled("a=1")?, labelled("a!=1,b")?, labelled("!b")?])
            }
            "indexed" => {
                let namespace = "default".to_owned();
                let options = cluster::ListOptions { namespace, ..Default::default() };
                let of = |index: &str, value: &str| {
                    let found = cluster::list_indexed::<Value>(&config_map(), index, value, &options);
                    found.map(|found| found.len())
                };
                json!([of("by-user", "me")?, of("by-user", "nobody")?, of("by-a", "1")?])
            }
            "index" => {
                json!(cluster::list_indexed::<Value>(&config_map(), "by-name", "x", &Default::default())?)
            }
            "status" => return Ok(Observation::present(json!("asked")).status(BTreeMap::from([((1, 2), 3)]))),
            "array" => return Ok(Observation::present(json!("asked")).status(json!([1]))),
            other => json!(other),
        };
        log::with_fields(log::Level::Info, "answered", &[("answer", &answer.to_string())]);
        Ok(Observation::present(json!("asked")).status(json!({"answer": answer})))
    }

    fn patch(&self, _: &Context<Thing>, _: Option<Value>, _: Option<Value>) -> Result<Outcome> {
        Ok(Outcome::new())
    }
}

fn ask(what: &str) -> Runner<Probe> {
    Runner::new().http(|_| Ok(Response::empty(204))).config("url", "http://x").object(thing(&json!({"ask": what})))
}

#[track_caller]
fn answer(what: &str, expected: &Value) {
    let report = ask(what).reconcile();
    assert_eq!(report.error, None);
    assert_eq!(report.status.unwrap()["answer"], *expected);
}

#[track_caller]
fn refused(mut runner: Runner<Probe>, part: &str) {
    match runner.reconcile().error {
        Some(Error::Terminal { message }) => assert!(message.contains(part), "{message}"),
        other => panic!("{other:?}"),
    }
}

#[test]
fn what_the_manifest_does_not_ask_for_is_refused() {
    refused(ask("secret"), "Secret is neither a primary nor a watch");
    refused(ask("ungranted"), "does not ask for http://granted.example.com:8080");
    refused(ask("nonsense"), "not an absolute http or https URL");
    answer("granted", &json!(204));
    answer("write", &json!(204));
}

#[test]
fn a_dry_run_lets_only_reads_and_safe_requests_out() {
    refused(ask("write").dry_run(), "dry run: DELETE /x");
    for what in ["granted", "token"] {
        assert_eq!(ask(what).dry_run().reconcile().error, None);
    }
}

#[test]
fn values_in_the_cache_expire_and_are_lost_on_restart() {
    let mut runner = ask("count");
    let next = |runner: &mut Runner<Probe>| runner.reconcile().status.unwrap()["answer"].clone();
    assert_eq!((next(&mut runner), next(&mut runner)), (json!(1), json!(2)));
    runner.advance(Duration::from_secs(59));
    assert_eq!(next(&mut runner), 3);
    runner.advance(Duration::from_secs(60));
    assert_eq!(next(&mut runner), 1);
    runner.restart();
    assert_eq!(next(&mut runner), 1);
}

#[test]
fn configuration_is_read_by_key() {
    answer("word", &json!([null, "http://x", ["url"]]));
    let mut runner = ask("word").config("word", "");
    assert_eq!(runner.reconcile().status.unwrap()["answer"], json!([null, "http://x", ["url", "word"]]));
    refused(Runner::new().object(thing(&json!({"ask": "word"}))), "does not set url");
}

#[test]
fn lists_go_by_labels() {
    let labelled = |name: &str, labels: Value| json!({"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": name, "namespace": "default", "labels": labels}});
    let mut runner = ask("list")
        .seed(labelled("one", json!({"a": "1", "b": "x"})))
        .seed(labelled("two", json!({"a": "2", "b": "y"})))
        .seed(labelled("three", json!({})));
    assert_eq!(runner.reconcile().status.unwrap()["answer"], json!([3, 1, 1, 1]));
}

#[test]
fn lists_go_by_declared_indexes() {
    let of = |name: &str, namespace: &str, users: Value| json!({"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": name, "namespace": namespace, "labels": {"a": "1"}}, "data": {"users": users}});
    let mut runner = ask("indexed")
        .seed(of("one", "default", json!(["me", "you"])))
        .seed(of("two", "default", json!(["you"])))
        .seed(of("three", "other", json!(["me"])));
    assert_eq!(runner.reconcile().status.unwrap()["answer"], json!([1, 0, 2]));
    refused(ask("index"), "no index \"by-name\" of ConfigMap");
}

#[test]
fn an_object_of_another_shape_is_the_objects_fault() {
    refused(Runner::new().object(thing(&json!({"ask": 1}))), "not a Thing this plugin can read");
    refused(Runner::new(), "call object() first");
}

#[test]
fn a_status_that_is_no_json_object_is_refused() {
    refused(ask("status"), "status: not the JSON that was expected");
    refused(ask("array"), "the status is not a JSON object");
}

#[test]
fn what_was_logged_and_sent_is_in_the_report() {
    let report = ask("granted").reconcile();
    assert_eq!(report.request_lines(), ["GET /x"]);
    assert_eq!(report.log[0].message, "answered");
    assert_eq!(report.log[0].fields, [("answer".to_owned(), "204".to_owned())]);
}

#[test]
fn an_object_with_cleanup_goes_when_nothing_is_left() {
    let mut runner = ask("word");
    runner.delete();
    assert!(runner.current().is_some(), "the finalizer holds it");
    let report = runner.reconcile();
    assert!(report.gone && report.desired.is_none());
    assert!(runner.current().is_none());
}

/// Has no finalizer, and reports the last state that it sees.
#[derive(Default)]
struct Witness;

impl Reconciler for Witness {
    type Object = Value;
    type State = String;

    fn manifest() -> Manifest {
        Manifest::new("witness", "1").primary(config_map())
    }

    fn desired(&self, _: &Context<Value>) -> Result<Option<String>> {
        Ok(None)
    }

    fn actual(&self, cx: &Context<Value>) -> Result<Observation<String>> {
        Ok(Observation::present(cx.uid().to_owned()))
    }

    fn patch(&self, _: &Context<Value>, _: Option<String>, _: Option<String>) -> Result<Outcome> {
        Ok(Outcome::new())
    }
}

#[test]
fn an_object_that_is_gone_before_its_first_run_is_known_by_its_uid() {
    let metadata = json!({"name": "a", "namespace": "default", "uid": "u-1"});
    let mut runner =
        Runner::<Witness>::new().object(json!({"apiVersion": "v1", "kind": "ConfigMap", "metadata": metadata}));
    runner.delete();
    assert_eq!(runner.reconcile().before, Some(json!("u-1")));
}

#[test]
fn a_manifest_is_the_document_it_was_built_as() {
    let document = serde_json::to_value(manifest().permission("", "configmaps", &["get"]).document()).unwrap();
    assert_eq!(
        document,
        json!({
            "apiVersion": "oarlock.dev/v1alpha1", "kind": "PluginManifest", "name": "probe", "version": "1",
            "primaries": [{"group": "example.com", "version": "v1", "kind": "Thing"}],
            "watches": [{"group": "", "version": "v1", "kind": "ConfigMap", "mapTo": {"type": "ownerReference"}}],
            "indexes": [
                {"name": "by-user", "group": "", "version": "v1", "kind": "ConfigMap", "jsonPath": ".data.users[*]"},
                {"name": "by-a", "group": "", "version": "v1", "kind": "ConfigMap", "label": "a"},
            ],
            "permissions": [{"apiGroups": [""], "resources": ["configmaps"], "verbs": ["get"]}],
            "http": {
                "origins": ["http://granted.example.com:80"],
                "safeRequests": [{"method": "POST", "path": "*/tokens"}],
            },
            "cleanup": true, "manageStatus": false, "workers": 2, "resyncSeconds": 30,
            "config": {
                "type": "object", "additionalProperties": false, "required": ["url"],
                "properties": {"url": {"type": "string"}, "word": {"type": "string"}},
            },
        })
    );
}

#[test]
fn a_watch_with_the_mapping_reads_has_no_map_to() {
    let manifest = Manifest::new("probe", "1").watch(config_map(), Mapping::Reads);
    let document = serde_json::to_value(manifest.document()).unwrap();
    assert_eq!(document["watches"], json!([{"group": "", "version": "v1", "kind": "ConfigMap"}]));
}

#[test]
fn failures_of_http_say_who_tries_again() {
    for (failure, transient) in [
        (Failure::TimedOut, true),
        (Failure::Unreachable("reset".into()), true),
        (Failure::TooLarge(1), true),
        (Failure::Denied("no".into()), false),
        (Failure::Invalid("no".into()), false),
    ] {
        let mut runner = ask("granted");
        runner.script([Err(failure.clone())]);
        let error = runner.reconcile().error.unwrap();
        assert_eq!(error.is_transient(), transient, "{failure:?}");
        assert_eq!(runner.reconcile().error, None);
    }
}

/// Denies requests of the user `nobody`, and labels all other objects.
#[derive(Default)]
struct Gate;

impl Reconciler for Gate {
    type Object = Value;
    type State = Value;

    fn manifest() -> Manifest {
        Manifest::new("gate", "1")
    }

    fn desired(&self, cx: &Context<Value>) -> Result<Option<Value>> {
        let review = cx.review()?.ok_or_else(|| Error::terminal("only at admission"))?;
        if review["userInfo"]["username"] == "nobody" {
            return Err(Error::denied("nobody may do that"));
        }
        Ok(Some(json!("checked")))
    }

    fn actual(&self, cx: &Context<Value>) -> Result<Observation<Value>> {
        Ok(Observation::of(cx.object()?.pointer("/metadata/labels/gate").cloned()))
    }

    fn patch(&self, _: &Context<Value>, desired: Option<Value>, _: Option<Value>) -> Result<Outcome> {
        let labels = json!({"metadata": {"labels": {"gate": desired}}});
        Ok(Outcome::new().patch(None, PatchType::MergePatch, labels).warning("labelled"))
    }
}

#[test]
fn admission_changes_the_object_under_review_or_refuses_it() {
    let mut runner = Runner::<Gate>::new();
    let (report, object) = runner.admit(thing(&json!({})), json!({"userInfo": {"username": "somebody"}}));
    assert!(report.in_sync(), "{report:?}");
    assert_eq!(report.warnings, ["labelled"]);
    assert_eq!(object["metadata"]["labels"]["gate"], "checked");

    let (report, object) = runner.admit(thing(&json!({})), json!({"userInfo": {"username": "nobody"}}));
    assert_eq!(report.error, Some(Error::denied("nobody may do that")));
    assert_eq!(object, thing(&json!({})));
}

#[test]
fn under_review_the_namespace_is_known_and_the_name_may_still_be_made() {
    let pod = json!({"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"generateName": "card-"}});
    let (report, object) =
        Runner::<Gate>::new().admit(&pod, json!({"namespace": "shop", "userInfo": {"username": "a"}}));
    assert!(report.in_sync(), "{report:?}");
    assert_eq!(object["metadata"]["labels"]["gate"], "checked");
}
