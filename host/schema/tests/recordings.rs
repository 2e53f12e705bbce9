//! Replay of a real API server's recorded responses with this crate.
//!
//! A miniature server stores definitions and objects. It compares its responses to writes with the recorded status, causes, warnings, and
//! the parts of objects that do not depend on a server.
#![expect(clippy::unwrap_used, clippy::panic, clippy::indexing_slicing, reason = "a test may fail this way")]

use std::{
    collections::BTreeMap,
    path::{Path, PathBuf},
};

use oarlock_schema::{
    Crd, FieldError, cells, column_definitions, default_crd, invalid_status, normalize_numbers, prune_crd,
    reconcile_status, validate_crd, validate_crd_update,
};
use serde_json::{Value, json};

fn cases(area: &str) -> Vec<(String, Value)> {
    let dir = PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("../../tests/conformance/cases").join(area);
    let mut cases: Vec<(String, Value)> = std::fs::read_dir(&dir)
        .unwrap()
        .map(|entry| {
            let path = entry.unwrap().path();
            let text = std::fs::read_to_string(&path).unwrap().replace("${run}", "run").replace("${ns}", "ns");
            (path.file_stem().unwrap().to_string_lossy().into_owned(), serde_json::from_str(&text).unwrap())
        })
        .collect();
    cases.sort_by(|a, b| a.0.cmp(&b.0));
    cases
}

#[derive(Default)]
struct Server {
    definitions: BTreeMap<String, Value>,
    /// Keys are collection path and name.
    objects: BTreeMap<(String, String), Value>,
    compared: usize,
}

struct Answer {
    code: u64,
    body: Value,
    warnings: Vec<String>,
}

const CRDS: &str = "/apis/apiextensions.k8s.io/v1/customresourcedefinitions";

fn merge(target: &mut Value, patch: &Value) {
    let Some(patch) = patch.as_object() else {
        *target = patch.clone();
        return;
    };
    if !target.is_object() {
        *target = json!({});
    }
    let target = target.as_object_mut().unwrap();
    for (key, value) in patch {
        if value.is_null() {
            target.remove(key);
        } else {
            merge(target.entry(key.clone()).or_insert(Value::Null), value);
        }
    }
}

fn patched(old: &Value, patch: &Value) -> Value {
    let mut new = old.clone();
    match patch.as_array() {
        None => merge(&mut new, patch),
        Some(operations) => {
            for operation in operations {
                let (parent, key) = operation["path"].as_str().unwrap().rsplit_once('/').unwrap();
                let key = key.replace("~1", "/");
                // Finalizers, a list, are a server's task.
                let Some(parent) = new.pointer_mut(parent).filter(|p| p.is_object()) else { continue };
                match operation["op"].as_str().unwrap() {
                    "add" | "replace" => parent[key] = operation["value"].clone(),
                    "remove" => drop(parent.as_object_mut().unwrap().remove(&key)),
                    other => panic!("{other}"),
                }
            }
        }
    }
    new
}

fn refused(group: &str, kind: &str, name: &str, errors: &[FieldError]) -> Answer {
    Answer { code: 422, body: invalid_status(group, kind, name, errors), warnings: Vec::new() }
}

impl Server {
    fn answer(&mut self, step: &Value) -> Option<Answer> {
        let path = step["path"].as_str()?;
        let method = step["method"].as_str()?;
        if path.starts_with(CRDS) {
            return self.define(method, path, &step["body"]);
        }
        let parts: Vec<&str> = path.trim_start_matches("/apis/").split('/').collect();
        let (group, version, rest) = match parts.as_slice() {
            [group, version, "namespaces", "ns", rest @ ..] => (*group, *version, rest),
            [group, version, rest @ ..] => (*group, *version, rest),
            _ => return None,
        };
        let plural = *rest.first()?;
        let definition = self.definitions.get(&format!("{plural}.{group}"))?;
        let crd = Crd::parse(definition).unwrap();
        match (method, rest) {
            ("POST", [_]) => self.create(&crd, version, step),
            // Conflicts are a server's task.
            ("PUT", _) if step["expect"]["status"] != 200 => None,
            ("PUT", [_, name]) => self.update(&crd, version, name, false, |_| step["body"].clone()),
            ("PUT", [_, name, "status"]) => self.update(&crd, version, name, true, |_| step["body"].clone()),
            ("PATCH", [_, name]) => self.update(&crd, version, name, false, |old| patched(old, &step["body"])),
            ("PATCH", [_, name, "status"]) => self.update(&crd, version, name, true, |old| patched(old, &step["body"])),
            _ => None,
        }
    }

    fn define(&mut self, method: &str, path: &str, body: &Value) -> Option<Answer> {
        let others: Vec<&Value> = self.definitions.values().collect();
        let (code, mut new, errors) = match method {
            "POST" => {
                let mut new = body.clone();
                assert!(prune_crd(&mut new).is_empty());
                default_crd(&mut new);
                let errors = validate_crd(&new);
                (201, new, errors)
            }
            "PATCH" => {
                let old = self.definitions.get(path.trim_start_matches(CRDS).trim_start_matches('/'))?;
                let mut new = patched(old, body);
                default_crd(&mut new);
                let errors = validate_crd_update(&new, old);
                (200, new, errors)
            }
            "GET" => {
                let old = self.definitions.get(path.trim_start_matches(CRDS).trim_start_matches('/'))?;
                return Some(Answer { code: 200, body: old.clone(), warnings: Vec::new() });
            }
            _ => return None,
        };
        let name = new["metadata"]["name"].as_str().unwrap_or_default().to_owned();
        if !errors.is_empty() {
            return Some(refused("apiextensions.k8s.io", "CustomResourceDefinition", &name, &errors));
        }
        if method == "POST" && self.definitions.contains_key(&name) {
            return None;
        }
        let first = new.clone();
        new["status"] = reconcile_status(&new, &others, "<time>");
        self.definitions.insert(name, new);
        Some(Answer { code, body: first, warnings: Vec::new() })
    }

    fn create(&mut self, crd: &Crd, version: &str, step: &Value) -> Option<Answer> {
        let known = crd.version(version)?;
        let mut object = step["body"].clone();
        if object["apiVersion"] != format!("{}/{version}", crd.group).as_str() {
            return None;
        }
        let name = object["metadata"]["name"].as_str()?.to_owned();
        if self.objects.contains_key(&(crd.name.clone(), name.clone())) {
            return None;
        }
        normalize_numbers(&mut object);
        let unknown = known.schema.prune(&mut object);
        if step["query"]["fieldValidation"] == "Strict" && !unknown.is_empty() {
            let fields: Vec<String> = unknown.iter().map(|path| format!("unknown field \"{path}\"")).collect();
            let kind = &crd.names.kind;
            let message = format!(
                "{kind} in version \"{version}\" cannot be handled as a {kind}: strict decoding error: {}",
                fields.join(", ")
            );
            return Some(Answer { code: 400, body: json!({"message": message}), warnings: Vec::new() });
        }
        known.schema.default(&mut object);
        if known.status {
            object.as_object_mut()?.remove("status");
            known.schema.default(&mut object);
        }
        let mut errors = crd.validate_type_and_metadata(version, &object);
        errors.extend(known.schema.validate(&object, None));
        if !errors.is_empty() {
            let kind = object["kind"].as_str().unwrap_or_default();
            return Some(refused(&crd.group, kind, &name, &errors));
        }
        if let Some(storage) = crd.storage_version().filter(|s| s.name != version) {
            // Stored in another version: fields unknown to that version are lost.
            let mut stored = object.clone();
            storage.schema.prune(&mut stored);
            storage.schema.default(&mut stored);
            object = stored;
            known.schema.prune(&mut object);
        }
        if step["query"]["dryRun"].is_null() {
            self.objects.insert((crd.name.clone(), name), object.clone());
        }
        Some(Answer { code: 201, body: object, warnings: warnings(&unknown) })
    }

    fn update(
        &mut self,
        crd: &Crd,
        version: &str,
        name: &str,
        status: bool,
        change: impl FnOnce(&Value) -> Value,
    ) -> Option<Answer> {
        let known = crd.version(version)?;
        let key = (crd.name.clone(), name.to_owned());
        let mut old = self.objects.get(&key)?.clone();
        known.schema.prune(&mut old);
        known.schema.default(&mut old);
        let mut new = change(&old);
        normalize_numbers(&mut new);
        let unknown = known.schema.prune(&mut new);
        known.schema.default(&mut new);
        if status {
            new["spec"] = old["spec"].clone();
        } else if known.status {
            match old.get("status") {
                Some(status) => new["status"] = status.clone(),
                None => drop(new.as_object_mut()?.remove("status")),
            }
        }
        let errors =
            if status { known.schema.validate_status(&new, &old) } else { known.schema.validate(&new, Some(&old)) };
        if !errors.is_empty() {
            return Some(refused(&crd.group, &crd.names.kind, name, &errors));
        }
        self.objects.insert(key, new.clone());
        Some(Answer { code: 200, body: new, warnings: warnings(&unknown) })
    }

    fn compare(&mut self, step: &Value, answer: &Answer, place: &str) {
        let expect = &step["expect"];
        assert_eq!(expect["status"], answer.code, "{place}: {:#}", answer.body);
        self.compared += 1;
        let body = &expect["body"];
        if answer.code >= 400 {
            assert_eq!(sorted_causes(body), sorted_causes(&answer.body), "{place}");
            if !body["message"].as_str().unwrap_or_default().ends_with("[<causes>]") {
                assert_eq!(body["message"], answer.body["message"], "{place}");
            }
            return;
        }
        for field in ["spec", "status", "data"] {
            if body["kind"] == "CustomResourceDefinition" && field == "status" {
                continue;
            }
            assert_eq!(body[field], answer.body[field], "{place}: {field}");
        }
        let expected: Vec<&str> =
            expect["warnings"].as_array().into_iter().flatten().filter_map(Value::as_str).collect();
        assert_eq!(expected, answer.warnings, "{place}: warnings");
    }
}

fn warnings(unknown: &[String]) -> Vec<String> {
    unknown.iter().map(|path| format!("299 - \"unknown field \\\"{path}\\\"\"")).collect()
}

/// Scenarios about more than a schema (decoding, identities), or with another library's messages: the tests of the server replay them.
const NOT_HERE: [&str; 9] = [
    "names-and-bodies",
    "definition-errors step 36",
    "definition-errors step 40",
    "definition-errors step 44",
    "definition-errors step 58",
    "definition-errors step 66",
    "definition-errors step 68",
    "string-keywords step 15",
    "string-keywords step 38",
];

fn sorted_causes(status: &Value) -> Vec<String> {
    let mut causes: Vec<String> =
        status["details"]["causes"].as_array().into_iter().flatten().map(Value::to_string).collect();
    causes.sort();
    causes
}

#[test]
fn writes_are_answered_as_recorded() {
    let mut total = 0;
    for (name, case) in cases("crd") {
        let mut server = Server::default();
        for (i, step) in case["steps"].as_array().unwrap().iter().enumerate() {
            // Finalizers are a server's task.
            if step["body"]["metadata"]["finalizers"].as_array().is_some_and(|f| f.len() > 1) {
                continue;
            }
            let place = format!("{name} step {i}");
            // A server's decoder drops a default of null before the schema sees it.
            if step["body"].to_string().contains("\"default\":null") {
                continue;
            }
            if let Some(answer) = server.answer(step)
                && step["unchecked"] != true
                && !NOT_HERE.iter().any(|one| *one == name || *one == place)
                && matches!(step["expect"]["status"].as_u64(), Some(200 | 201 | 400 | 422))
            {
                server.compare(step, &answer, &place);
            }
        }
        total += server.compared;
    }
    assert!(total > 120, "only {total} answers were compared");
}

#[test]
fn definitions_with_rules_are_answered_as_recorded() {
    let mut compared = 0;
    for (name, case) in cases("cel") {
        for (i, step) in case["steps"].as_array().unwrap().iter().enumerate() {
            let place = format!("{name} step {i}: {}", step["body"]["metadata"]["name"]);
            // A dry run: nothing is there before it.
            let answer = Server::default().answer(step).unwrap();
            let expect = &step["expect"];
            assert_eq!(expect["status"], answer.code, "{place}: {:#}", answer.body);
            if answer.code >= 400 {
                assert_eq!(sorted_causes(&expect["body"]), sorted_causes(&answer.body), "{place}");
            }
            compared += 1;
        }
    }
    assert!(compared >= 500, "only {compared} answers were compared");
}

/// The definitions in YAML files below `folder`.
fn definitions(folder: &Path, found: &mut Vec<(PathBuf, Value)>) {
    for entry in std::fs::read_dir(folder).unwrap() {
        let path = entry.unwrap().path();
        let name = path.file_name().unwrap().to_string_lossy().into_owned();
        if path.is_dir() {
            if !["target", "node_modules"].contains(&name.as_str()) && !name.starts_with('.') {
                definitions(&path, found);
            }
        } else if name.ends_with(".yaml") || name.ends_with(".yml") {
            let text = std::fs::read_to_string(&path).unwrap();
            let documents = text.split("\n---\n").filter(|text| text.contains("\nkind: CustomResourceDefinition\n"));
            for document in documents {
                found.push((path.clone(), serde_saphyr::from_str(document).unwrap()));
            }
        }
    }
}

#[test]
fn definitions_of_the_repository_are_those_that_a_real_server_took() {
    let mut found = Vec::new();
    for folder in ["plugins", "deploy", "templates", "guest-sdk", "docs"] {
        definitions(&PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("../..").join(folder), &mut found);
    }
    assert!(found.len() >= 2, "only {} definitions are there", found.len());
    let recorded = cases("cel").into_iter().find(|(name, _)| name == "shipped").unwrap().1;
    let steps = recorded["steps"].as_array().unwrap();
    for (path, definition) in found {
        let place = path.display();
        let step = steps.iter().find(|step| step["body"] == definition);
        let step =
            step.unwrap_or_else(|| panic!("{place} is not what was sent to a real server: tests/conformance/cel.py"));
        assert_eq!(step["expect"]["status"], 201, "{place}");
        assert!(Crd::parse(&definition).is_ok(), "{place}");
    }
}

#[test]
fn statuses_of_definitions_are_as_recorded() {
    let mut total = 0;
    for (name, case) in cases("crd") {
        let mut server = Server::default();
        for (i, step) in case["steps"].as_array().unwrap().iter().enumerate() {
            let answer = server.answer(step);
            let body = &step["expect"]["body"];
            // The deletion of a definition is a server's task.
            let stays = body["metadata"]["deletionTimestamp"].is_null();
            if stays
                && step["method"] == "GET"
                && body["kind"] == "CustomResourceDefinition"
                && body["status"].is_object()
            {
                let mut got = answer.unwrap().body["status"].clone();
                if let Some(conditions) = got["conditions"].as_array_mut() {
                    conditions.sort_by_key(|c| c["type"].to_string());
                }
                assert_eq!(got, body["status"], "{name} step {i}");
                total += 1;
            }
        }
    }
    assert!(total >= 4, "only {total} statuses were compared");
}

#[test]
fn tables_have_the_recorded_columns_and_cells() {
    let mut total = 0;
    for (name, case) in cases("crd").into_iter().chain(cases("table")) {
        let mut server = Server::default();
        for step in case["steps"].as_array().unwrap() {
            server.answer(step);
            let body = &step["expect"]["body"];
            let path = step["path"].as_str().unwrap_or_default();
            let plural = path.split('/').nth(6).unwrap_or_default();
            let Some(definition) =
                server.definitions.values().find(|d| body["kind"] == "Table" && d["spec"]["names"]["plural"] == plural)
            else {
                continue;
            };
            let crd = Crd::parse(definition).unwrap();
            let columns = &crd.versions[0].columns;
            assert_eq!(json!(column_definitions(columns)), body["columnDefinitions"], "{name}");
            for row in body["rows"].as_array().unwrap() {
                let object_name = row["cells"][0].as_str().unwrap().to_owned();
                let mut object = server.objects[&(crd.name.clone(), object_name)].clone();
                object["metadata"]["creationTimestamp"] = "2024-05-01T00:00:00Z".into();
                let mut got = cells(columns, &object, "2024-05-01T00:01:00Z".parse().unwrap());
                for cell in got.iter_mut().filter(|cell| **cell == "60s") {
                    *cell = "<age>".into();
                }
                assert_eq!(json!(got), row["cells"], "{name}");
                total += 1;
            }
        }
    }
    assert!(total >= 5, "only {total} rows were compared");
}
