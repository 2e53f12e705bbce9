//! Pods of many shapes: `tests/pods/NAME.yaml` is the input, `NAME.expected.yaml` the stored Pod. `UPDATE_GOLDEN=1` writes the latter.

use super::{config_map, initializer, namespace, review};
use crate::EnvoyInjector;
use oarlock_guest::testing::Runner;
use serde::{Deserialize, Serialize};
use serde_json::{Value, json};
use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};

/// One Pod and its environment.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct Case {
    /// The reason for this case.
    why: String,
    /// The plugin's configuration.
    #[serde(default)]
    settings: BTreeMap<String, String>,
    /// Labels of the namespace; injection is on by default.
    #[serde(default = "switched_on")]
    namespace: Value,
    /// The injected file of `tests/initializers`.
    #[serde(default = "story")]
    initializer: String,
    pod: Value,
}

/// The result.
#[derive(Debug, Default, Deserialize, Serialize, PartialEq)]
#[serde(default, deny_unknown_fields)]
struct Expected {
    #[serde(skip_serializing_if = "Option::is_none")]
    error: Option<String>,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    warnings: Vec<String>,
    /// None: unchanged.
    #[serde(skip_serializing_if = "Option::is_none")]
    pod: Option<Value>,
}

fn switched_on() -> Value {
    json!({"initializer.kubernetes.io/envoy": "true"})
}

fn story() -> String {
    "story".to_owned()
}

fn folder(name: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("tests").join(name)
}

fn read<T: for<'de> Deserialize<'de>>(path: &Path) -> T {
    let text = std::fs::read_to_string(path).unwrap_or_else(|error| panic!("{}: {error}", path.display()));
    serde_saphyr::from_str(&text).unwrap_or_else(|error| panic!("{}: {error}", path.display()))
}

fn runner(case: &Case) -> Runner<EnvoyInjector> {
    let yaml = std::fs::read_to_string(folder("initializers").join(format!("{}.yaml", case.initializer))).unwrap();
    let runner = Runner::new().seed(namespace("shop", &case.namespace)).seed(initializer(&yaml)).seed(config_map(
        "shop",
        "envoy",
        &json!({}),
    ));
    case.settings.iter().fold(runner, |runner, (key, value)| runner.config(key, value))
}

/// Injects into one Pod twice.
fn injected(name: &str, case: &Case) -> Expected {
    let mut runner = runner(case);
    let (report, pod) = runner.admit(&case.pod, review(&case.pod, "shop"));
    if let Some(error) = report.error {
        assert_eq!(pod, case.pod, "{name}: a refused Pod was changed");
        return Expected { error: Some(error.to_string()), ..Expected::default() };
    }
    assert!(report.in_sync(), "{name}: {report:#?}");
    let (again, twice) = runner.admit(&pod, review(&pod, "shop"));
    assert!(!again.patched && twice == pod, "{name}: the second time changes something: {again:#?}");
    sound(name, &case.pod, &pod);
    Expected { error: None, warnings: report.warnings, pod: (pod != case.pod).then_some(pod) }
}

/// Invariants of every Pod: names are unique, mounted volumes exist, and nothing of the original is lost.
fn sound(name: &str, before: &Value, after: &Value) {
    let items = |pod: &Value, list: &str| pod["spec"][list].as_array().cloned().unwrap_or_default();
    let name_of = |item: &Value| item["name"].as_str().unwrap_or_default().to_owned();
    let containers = |pod: &Value| {
        [items(pod, "initContainers"), items(pod, "containers"), items(pod, "ephemeralContainers")].concat()
    };
    let names: Vec<String> = containers(after).iter().map(name_of).collect();
    assert_eq!(names.iter().collect::<BTreeSet<_>>().len(), names.len(), "{name}: {names:?}");
    let volumes: Vec<String> = items(after, "volumes").iter().map(name_of).collect();
    assert_eq!(volumes.iter().collect::<BTreeSet<_>>().len(), volumes.len(), "{name}: {volumes:?}");
    let known_before: BTreeSet<String> = items(before, "volumes").iter().map(name_of).collect();
    for container in containers(after) {
        for mount in container["volumeMounts"].as_array().into_iter().flatten() {
            let mounted = name_of(mount);
            assert!(volumes.contains(&mounted), "{name}: {mounted} is mounted and does not exist");
        }
    }
    for container in containers(before).iter().filter(|container| name_of(container) != "envoy") {
        assert!(containers(after).iter().any(|kept| name_of(kept) == name_of(container)), "{name}: lost {container}");
        let ours = name_of(container).starts_with("envoy");
        assert!(ours || containers(after).contains(container), "{name}: changed {container}");
    }
    assert!(known_before.is_subset(&volumes.into_iter().collect()), "{name}: lost a volume");
    // The rest of the specification is unchanged.
    let rest = |pod: &Value| {
        let mut rest = pod.clone();
        for list in ["containers", "initContainers", "volumes"] {
            rest["spec"].as_object_mut().map(|spec| spec.remove(list));
        }
        rest["metadata"].as_object_mut().map(|metadata| metadata.remove("labels"));
        rest
    };
    assert_eq!(rest(before), rest(after), "{name}");
}

#[test]
fn a1_pods_of_every_shape_are_stored_as_expected() {
    let update = std::env::var_os("UPDATE_GOLDEN").is_some();
    let mut names = BTreeSet::new();
    let mut wrong = Vec::new();
    for entry in std::fs::read_dir(folder("pods")).unwrap() {
        let path = entry.unwrap().path();
        let file = path.file_name().unwrap().to_string_lossy().into_owned();
        let Some(name) = file.strip_suffix(".yaml").filter(|name| !name.ends_with(".expected")) else { continue };
        names.insert(name.to_owned());
        let case: Case = read(&path);
        assert!(case.why.len() > 10, "{name}: why is it here?");
        let got = injected(name, &case);
        let golden = path.with_file_name(format!("{name}.expected.yaml"));
        if update {
            std::fs::write(&golden, serde_saphyr::to_string(&got).unwrap()).unwrap();
        }
        let expected: Expected = read(&golden);
        if got != expected {
            wrong.push(format!("{name}:\n{}\ninstead of\n{}", json!(got), json!(expected)));
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n\n"));
    assert!(names.len() >= 60, "only {} shapes were found", names.len());
    for entry in std::fs::read_dir(folder("pods")).unwrap() {
        let file = entry.unwrap().file_name().to_string_lossy().into_owned();
        let of = file.trim_end_matches(".yaml").trim_end_matches(".expected").to_owned();
        assert!(names.contains(&of), "{file} has no Pod");
    }
}
