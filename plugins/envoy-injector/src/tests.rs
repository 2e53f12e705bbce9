//! The plugin on an in-memory cluster.

mod admission;
mod golden;
mod namespaces;
mod pods;
mod properties;
mod workloads;

use crate::EnvoyInjector;
use oarlock_guest::testing::{Report, Runner};
use oarlock_guest::{Kind, Mapping, Reconciler, kind};
use serde_json::{Value, json};

/// A container, an init container and a volume.
const INITIALIZER: &str = "
containers:
  - name: envoy
    image: envoy:1
    volumeMounts:
      - {name: envoy, mountPath: /etc/envoy}
volumes:
  - name: envoy
    configMap: {name: envoy}
";

fn config_map(namespace: &str, name: &str, data: &Value) -> Value {
    json!({"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": name, "namespace": namespace}, "data": data})
}

fn initializer(yaml: &str) -> Value {
    config_map("default", "envoy-initializer", &json!({"config": yaml}))
}

fn namespace(name: &str, labels: &Value) -> Value {
    json!({"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": name, "uid": format!("uid-of-{name}"), "labels": labels}})
}

/// The namespace `shop`, with injection and an initializer.
fn shop(yaml: &str) -> Runner<EnvoyInjector> {
    Runner::new().seed(namespace("shop", &json!({"initializer.kubernetes.io/envoy": "true"}))).seed(initializer(yaml))
}

fn pod(annotations: &Value, spec: &Value) -> Value {
    json!({
        "apiVersion": "v1", "kind": "Pod",
        "metadata": {"name": "web", "namespace": "shop", "annotations": annotations}, "spec": spec,
    })
}

fn plain_pod() -> Value {
    pod(&json!({}), &json!({"containers": [{"name": "web", "image": "web:1"}]}))
}

/// A review as from the API server, with the fields that count.
fn review(pod: &Value, namespace: &str) -> Value {
    json!({
        "uid": "705ab4f5-6393-11e8-b7cc-42010a800002", "operation": "CREATE", "namespace": namespace, "name": pod["metadata"]["name"],
        "kind": {"group": "", "version": "v1", "kind": "Pod"},
        "resource": {"group": "", "version": "v1", "resource": "pods"},
        "userInfo": {"username": "somebody"}, "object": pod, "oldObject": null, "dryRun": false, "pending": [],
    })
}

fn create(runner: &mut Runner<EnvoyInjector>, pod: &Value) -> (Report, Value) {
    runner.admit(pod, review(pod, "shop"))
}

/// Names in a list of a Pod's specification.
fn names(pod: &Value, list: &str) -> Vec<String> {
    let items = pod["spec"][list].as_array().cloned().unwrap_or_default();
    items.iter().map(|item| item["name"].as_str().unwrap().to_owned()).collect()
}

fn config_map_kind() -> Kind {
    kind("v1", "ConfigMap")
}

#[test]
fn the_grant_in_the_folder_covers_what_the_manifest_asks_for() {
    let grant: oarlock_manifest::PluginGrant = serde_saphyr::from_str(include_str!("../envoy-injector.yaml")).unwrap();
    let manifest = EnvoyInjector::manifest();
    let manifest = manifest.document();
    let granted = |group: &str, resource: &str, verb: &str, name: Option<&String>| {
        grant.permissions.iter().any(|rule| {
            rule.api_groups.iter().any(|g| g == group)
                && rule.resources.iter().any(|r| r == resource)
                && rule.verbs.iter().any(|v| v == verb)
                && (rule.resource_names.is_empty() || name.is_some_and(|name| rule.resource_names.contains(name)))
        })
    };
    for rule in &manifest.permissions {
        for verb in &rule.verbs {
            assert!(granted(&rule.api_groups[0], &rule.resources[0], verb, rule.resource_names.first()), "{rule:?}");
        }
    }
    let primaries = manifest.primaries.iter().map(|primary| (primary.gvk(), None));
    let watches = manifest.watches.iter().map(|watch| (watch.gvk(), watch.names.first()));
    for (kind, name) in primaries.chain(watches) {
        for verb in ["get", "list", "watch"] {
            assert!(granted(&kind.group, &crate::plural(&kind.kind), verb, name), "{verb} {kind:?} {name:?}");
        }
    }
    for rule in &manifest.admission {
        let covers = |entry: &oarlock_manifest::GrantedAdmission| {
            (&entry.operations, &entry.api_groups, &entry.resources)
                == (&rule.operations, &rule.api_groups, &rule.resources)
        };
        assert!(grant.admission.iter().any(covers), "{rule:?}");
    }
    let declared = manifest.config.as_ref().unwrap()["properties"].as_object().unwrap();
    for (key, value) in &grant.config {
        assert_eq!(declared[key]["default"], **value, "{key}: the grant shows the default");
    }
    assert_eq!(grant.config.len(), declared.len());
}

#[test]
fn the_config_map_that_is_copied_wakes_every_namespace_and_a_copy_its_own() {
    let manifest = EnvoyInjector::manifest();
    let watches = &manifest.document().watches;
    let of = |name: &'static str| watches.iter().filter(move |watch| watch.names == [name]);
    assert!(of("envoy").any(|watch| watch.map_to == Mapping::All && watch.label_selector == format!("!{}", crate::namespace::COPY)));
    assert!(of("envoy").any(|watch| watch.map_to == Mapping::OwnerReference));
    // An edit of the initializer enqueues each kind of workload.
    assert_eq!(of("envoy-initializer").count(), 3);
}

#[test]
fn the_example_injects_its_pod() {
    let config_maps: Vec<Value> = serde_saphyr::from_multiple(include_str!("../envoy.yaml")).unwrap();
    let mut pod: Value = serde_saphyr::from_str(include_str!("../example.yaml")).unwrap();
    pod["metadata"]["namespace"] = "default".into();
    let runner = Runner::<EnvoyInjector>::new().seed(namespace("default", &json!({})));
    let mut runner = config_maps.into_iter().fold(runner, |runner, mut config_map| {
        config_map["metadata"]["namespace"] = "default".into();
        runner.seed(config_map)
    });
    let (report, injected) = runner.admit(&pod, review(&pod, "default"));
    assert!(report.in_sync(), "{report:#?}");
    assert!(report.warnings.is_empty(), "{:?}", report.warnings);
    assert_eq!(names(&injected, "containers"), ["web"]);
    assert_eq!(names(&injected, "initContainers"), ["envoy"]);
    assert_eq!(names(&injected, "volumes"), ["envoy"]);
    // Otherwise it ends before the Pod's containers start, and a Job never completes.
    assert_eq!(injected["spec"]["initContainers"][0]["restartPolicy"], "Always");
}
