//! Replay of a real API server's recorded responses (tests/conformance): each write starts from the object in the previous response, and
//! must give the object in the next one.

#![expect(clippy::unwrap_used, clippy::indexing_slicing, reason = "tests")]

use std::collections::HashMap;
use std::path::PathBuf;

use oarlock_merge::apply::{self, Reset, Write, equal_but_for_times};
use oarlock_merge::fields::FieldSet;
use oarlock_merge::schema::Schema;
use oarlock_merge::steps::Budget;
use oarlock_merge::strategic;
use serde_json::{Map, Value, json};

/// Defaults of the server, which are outside of this crate.
const DEFAULTED: &[&str] = &[
    "imagePullPolicy",
    "resources",
    "terminationMessagePath",
    "terminationMessagePolicy",
    "protocol",
    "targetPort",
    "defaultMode",
    "maxUnavailable",
    "podIPs",
    "replicas",
];

/// Fields that the server sets on every object, or at creation.
const SERVER: &[&str] = &["resourceVersion", "generation", "creationTimestamp", "uid", "namespace", "selfLink"];

fn case(name: &str) -> Value {
    let path = PathBuf::from(env!("CARGO_MANIFEST_DIR"))
        .join("../../tests/conformance/cases")
        .join(name)
        .with_extension("json");
    serde_json::from_str(&std::fs::read_to_string(&path).unwrap_or_else(|e| unreachable!("{}: {e}", path.display())))
        .unwrap()
}

/// Values only in `got` or only in `want`; defaults and undeclared fields may differ.
fn differences(got: &Value, want: &Value, path: &str, created: bool, found: &mut Vec<String>) {
    match (got, want) {
        (Value::Object(got), Value::Object(want)) => {
            for (key, value) in want {
                let path = format!("{path}.{key}");
                match got.get(key) {
                    Some(got) => differences(got, value, &path, created, found),
                    None if created
                        || value.is_null()
                        || DEFAULTED.contains(&key.as_str())
                        || SERVER.contains(&key.as_str()) => {}
                    None => found.push(format!("{path} is missing")),
                }
            }
            for (key, value) in got {
                let dropped = key.starts_with('$') || key == "nope" || key == "metadata" || *value == json!({});
                if !want.contains_key(key) && !dropped {
                    found.push(format!("{path}.{key} should be gone"));
                }
            }
        }
        (Value::Array(got), Value::Array(want)) if got.len() == want.len() => {
            for (i, (got, want)) in got.iter().zip(want).enumerate() {
                differences(got, want, &format!("{path}[{i}]"), created, found);
            }
        }
        // Admission adds tolerations to pods.
        (got, want)
            if got == want
                || path == ".spec.tolerations"
                || path.ends_with(".resourceVersion")
                || path.ends_with(".generation") => {}
        (got, want) => found.push(format!("{path}: {got} instead of {want}")),
    }
}

fn check_same(got: &Value, want: &Value, created: bool, step: &str) {
    let (mut got, mut want) = (got.clone(), want.clone());
    for object in [&mut got, &mut want] {
        if let Some(metadata) = object.get_mut("metadata").and_then(Value::as_object_mut) {
            metadata.remove("managedFields");
        }
        if let Some(object) = object.as_object_mut() {
            object.remove("status");
        }
    }
    let mut found = Vec::new();
    differences(&got, &want, "", created, &mut found);
    assert!(found.is_empty(), "{step}: {found:#?}\ngot {got:#}");
}

/// A recorded scenario: each step has the request, the expected response, and the stored object.
struct Replay {
    name: String,
    stored: HashMap<String, Value>,
    custom: Option<Schema>,
    steps: usize,
}

impl Replay {
    fn schema(&self, object: &Value) -> Schema {
        let api_version = object["apiVersion"].as_str().unwrap_or_default();
        let (group, version) = api_version.split_once('/').unwrap_or(("", api_version));
        let builtin = Schema::builtin(group, version, object["kind"].as_str().unwrap_or_default());
        builtin.or_else(|| self.custom.clone()).unwrap_or_else(|| unreachable!("{api_version}"))
    }

    fn run(name: &str) -> usize {
        let case = case(name);
        let mut replay = Self { name: name.to_owned(), stored: HashMap::new(), custom: None, steps: 0 };
        for (i, step) in case["steps"].as_array().unwrap().iter().enumerate() {
            replay.step(i, step);
        }
        replay.steps
    }

    fn step(&mut self, i: usize, step: &Value) {
        if step["body"]["kind"] == "CustomResourceDefinition" {
            self.custom = Some(Schema::from_openapi(&step["body"]["spec"]["versions"][0]["schema"]["openAPIV3Schema"]));
            return;
        }
        let label = format!("{} step {i} ({})", self.name, step["note"].as_str().unwrap_or_default());
        let (method, path) = (step["method"].as_str().unwrap_or_default(), step["path"].as_str().unwrap_or_default());
        let (expect, answer) = (&step["expect"], &step["expect"]["body"]);
        let status = expect["status"].as_u64().unwrap_or_default();
        let subresource = if path.ends_with("/status") { "status" } else { "" };
        let mut key = path.trim_end_matches("/status").to_owned();
        if method == "POST" {
            key = format!("{key}/{}", step["body"]["metadata"]["name"].as_str().unwrap_or_default());
        }
        let old = self.stored.get(&key).cloned();
        let content = step["contentType"].as_str().unwrap_or_default();
        if content.contains("strategic") {
            self.strategic(&label, old.as_ref(), step, status);
        } else if content.contains("apply") && step["body"].is_object() {
            self.apply(&label, old.as_ref(), step, status, subresource);
        } else if (method == "POST" || method == "PUT" || content.contains("merge-patch")) && status < 300 {
            self.update(&label, old.as_ref(), step);
        }
        match method {
            "DELETE" if answer["metadata"]["deletionTimestamp"].is_null() => drop(self.stored.remove(&key)),
            "DELETE" => {
                if let Some(stored) = self.stored.get_mut(&key) {
                    for name in ["deletionTimestamp", "deletionGracePeriodSeconds"] {
                        stored["metadata"][name] = answer["metadata"][name].clone();
                    }
                }
            }
            _ if status == 404 => drop(self.stored.remove(&key)),
            _ if (200..300).contains(&status) && step["query"]["dryRun"].is_null() && method != "GET" => {
                self.stored.insert(key, answer.clone());
            }
            _ => {}
        }
    }

    fn strategic(&mut self, label: &str, old: Option<&Value>, step: &Value, status: u64) {
        let old = old.unwrap();
        let result = strategic::apply_patch(&self.schema(old), old, &step["body"], &Budget::unlimited());
        self.steps += 1;
        match (result, status) {
            (Ok(got), 200) => {
                // Status is written only through its subresource, which writes nothing else.
                let part = |object: &Value| json!({"part": object["status"]});
                if step["path"].as_str().is_some_and(|path| path.ends_with("/status")) {
                    check_same(&part(&got), &part(&step["expect"]["body"]), false, label);
                } else {
                    check_same(&got, &step["expect"]["body"], false, label);
                }
            }
            (Err(error), status) => {
                assert_eq!(error.to_string(), step["expect"]["body"]["message"].as_str().unwrap(), "{label}");
                assert_eq!(u64::from(error.status()), status, "{label}");
            }
            // Rejected later, when the result is parsed as its type or validated.
            (Ok(_), status) => assert_eq!(status, 422, "{label}"),
        }
    }

    fn write<'a>(schema: &'a Schema, step: &'a Value, subresource: &'a str) -> Write<'a> {
        let manager = step["query"]["fieldManager"].as_str().unwrap_or("conformance");
        let kept = ["ConfigMap", "ServiceAccount", "Secret"].iter().any(|kind| step["expect"]["body"]["kind"] == *kind);
        let reset = match subresource {
            "" if kept => Reset::Nothing,
            "" => Reset::Fields(FieldSet::of_fields(&[&["status"]])),
            _ => Reset::AllBut(vec!["status".to_owned()]),
        };
        Write::new(schema, manager, "<time>").subresource(subresource).reset(reset)
    }

    fn apply(&mut self, label: &str, old: Option<&Value>, step: &Value, status: u64, subresource: &str) {
        let applied = &step["body"];
        if applied["apiVersion"].is_null()
            || applied["metadata"]["name"].is_null()
            || status == 400 && !applied["metadata"]["managedFields"].is_array()
        {
            return; // Refused before anything is merged.
        }
        let (schema, expect) = (self.schema(applied), &step["expect"]["body"]);
        let force = step["query"]["force"] == "true";
        let result = apply::apply(old, applied, &Self::write(&schema, step, subresource), force);
        let message = expect["message"].as_str().unwrap_or_default();
        match result {
            Ok(got) if status < 300 => {
                self.steps += 1;
                check_same(&got, expect, old.is_none(), label);
                check_managers(&got, expect, label);
                if let Some(old) = old
                    && expect["metadata"]["resourceVersion"] == "<rv:same>"
                    && step["query"]["dryRun"].is_null()
                    && got["metadata"].get("deletionTimestamp").is_none()
                {
                    assert!(equal_but_for_times(old, &got), "{label}: {old:#} {got:#}");
                }
            }
            Ok(_) => assert!(message.contains("is invalid") || message.contains("uid mismatch"), "{label}: {message}"),
            Err(error) => {
                self.steps += 1;
                assert_eq!(error.to_string(), message, "{label}");
                if let apply::Error::Conflicts(conflicts) = error {
                    let causes: Vec<Value> = conflicts
                        .iter()
                        .map(|c| json!({"field": c.path.to_string(), "message": c.message(), "reason": "FieldManagerConflict"}))
                        .collect();
                    assert_eq!(Value::from(causes), expect["details"]["causes"], "{label}");
                }
            }
        }
    }

    fn update(&mut self, label: &str, old: Option<&Value>, step: &Value) {
        let expect = &step["expect"]["body"];
        let schema = self.schema(expect);
        let mut new = expect.clone();
        let given = step["body"]["metadata"].get("managedFields").or_else(|| old?["metadata"].get("managedFields"));
        let metadata = new["metadata"].as_object_mut().unwrap();
        match given {
            Some(given) => drop(metadata.insert("managedFields".to_owned(), given.clone())),
            None => drop(metadata.remove("managedFields")),
        }
        apply::update(old, &mut new, &Self::write(&schema, step, ""));
        if step["managedFields"] == true {
            self.steps += 1;
            check_managers(&new, expect, label);
        }
    }
}

fn check_managers(got: &Value, want: &Value, label: &str) {
    let list = |object: &Value| -> Map<String, Value> {
        let entries = object["metadata"]["managedFields"].as_array().cloned().unwrap_or_default();
        entries.into_iter().map(|e| (format!("{} {} {}", e["operation"], e["manager"], e["subresource"]), e)).collect()
    };
    assert_eq!(Value::from(list(got)), Value::from(list(want)), "{label}");
}

#[test]
fn strategic_merge_patches_give_what_a_real_server_gave() {
    let names = [
        "crud/pod-status",
        "crud/deployment-status",
        "crud/deployment-status-b",
        "crud/pod-scheduling-gates",
        "delete-directive",
        "merge-by-key",
        "nulls",
        "pod",
        "primitive-lists",
        "replace-directive",
        "retain-keys",
        "service",
        "serviceaccount",
        "set-element-order",
        "unknown-directives",
    ];
    let steps: usize = names
        .iter()
        .map(|name| {
            Replay::run(&if name.contains('/') { (*name).to_owned() } else { format!("patch/strategic-{name}") })
        })
        .sum();
    assert!(steps > 40, "{steps}");
}

#[test]
fn applies_give_what_a_real_server_gave() {
    let names = [
        "atomic-list",
        "atomic-map",
        "before-first-apply",
        "conflict-with-update",
        "conflict",
        "create-update",
        "custom-resource",
        "delete-recreate",
        "dry-run",
        "errors",
        "list-map-env",
        "list-map-ports",
        "managed-fields",
        "migrate-from-update",
        "removal",
        "set-list",
        "shared-ownership",
        "status",
        "yaml-body",
    ];
    let steps: usize = names.iter().map(|name| Replay::run(&format!("apply/{name}"))).sum();
    assert!(steps > 60, "{steps}");
}

/// The recorded fields of `manager` in the response of a step.
fn booked(answer: &Value, manager: &str) -> Value {
    let entries = answer["metadata"]["managedFields"].as_array().unwrap();
    entries.iter().find(|e| e["manager"] == manager).unwrap()["fieldsV1"].clone()
}

#[test]
fn creations_book_what_a_real_server_booked() {
    let crd = case("crd/lifecycle");
    let mut crd = crd["steps"][0]["expect"]["body"].clone();
    let pods = case("patch/content-types-b");
    let steps = pods["steps"].as_array().unwrap();
    let mut pod = steps[0]["expect"]["body"].clone();
    pod["metadata"]["managedFields"] = steps.last().unwrap()["expect"]["body"]["metadata"]["managedFields"].clone();
    // At creation, admission runs after the ownership of fields is recorded.
    for name in ["preemptionPolicy", "priority", "serviceAccount", "serviceAccountName", "tolerations"] {
        pod["spec"].as_object_mut().unwrap().remove(name).unwrap();
    }
    for object in [&mut crd, &mut pod] {
        let mut want = booked(object, "conformance");
        want.as_object_mut().unwrap().remove("f:metadata"); // labels, written later
        object["metadata"].as_object_mut().unwrap().remove("managedFields");
        let api_version = object["apiVersion"].as_str().unwrap().to_owned();
        let (group, version) = api_version.split_once('/').unwrap_or(("", &api_version));
        let schema = Schema::builtin(group, version, object["kind"].as_str().unwrap()).unwrap();
        let reset = Reset::Fields(FieldSet::of_fields(&[&["status"]]));
        apply::update(None, object, &Write::new(&schema, "conformance", "<time>").reset(reset));
        assert_eq!(booked(object, "conformance"), want);
    }
}
