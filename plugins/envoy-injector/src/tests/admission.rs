//! Injection into new Pods.

use super::{INITIALIZER, create, initializer, names, namespace, plain_pod, pod, review, shop};
use crate::EnvoyInjector;
use oarlock_guest::testing::Runner;
use oarlock_guest::{Change, PatchType};
use serde_json::{Value, json};

const SWITCH: &str = "initializer.kubernetes.io/envoy";

#[test]
fn a2_a_new_pod_gets_envoy_and_its_volume_and_twice_is_once() {
    let mut runner = shop(INITIALIZER);
    let (report, injected) = create(&mut runner, &plain_pod());
    assert!(report.in_sync(), "{report:#?}");
    assert_eq!(
        injected,
        json!({
            "apiVersion": "v1", "kind": "Pod",
            "metadata": {"name": "web", "namespace": "shop", "annotations": {},
                         "labels": {"initializer.kubernetes.io/envoy-injected": "true"}},
            "spec": {
                "containers": [
                    {"name": "web", "image": "web:1"},
                    {"name": "envoy", "image": "envoy:1", "volumeMounts": [{"name": "envoy", "mountPath": "/etc/envoy"}]},
                ],
                "volumes": [{"name": "envoy", "configMap": {"name": "envoy"}}],
            },
        })
    );
    let (again, twice) = create(&mut runner, &injected);
    assert!(!again.patched, "{again:#?}");
    assert_eq!(twice, injected);
}

#[test]
fn a5_the_pod_speaks_before_its_namespace_and_the_namespace_before_the_default() {
    for (annotation, label, default, host_network, granted, expected) in [
        (None, None, false, false, false, false),
        (None, None, true, false, false, true),
        (None, Some("true"), false, false, false, true),
        (None, Some("false"), true, false, false, false),
        (None, Some("on"), false, false, false, false),
        (None, Some("on"), true, false, false, true),
        (Some("true"), Some("false"), false, false, false, true),
        (Some("false"), Some("true"), true, false, false, false),
        (Some("true"), None, false, true, false, true),
        (None, Some("true"), false, true, false, false),
        (None, Some("true"), false, true, true, true),
        (Some("false"), Some("true"), true, true, true, false),
    ] {
        let annotations = annotation.map_or_else(|| json!({}), |value| json!({SWITCH: value}));
        let labels = label.map_or_else(|| json!({}), |value| json!({SWITCH: value}));
        let mut runner = Runner::<EnvoyInjector>::new()
            .config("injectByDefault", default.to_string())
            .config("injectHostNetwork", granted.to_string())
            .seed(namespace("shop", &labels))
            .seed(initializer(INITIALIZER));
        let spec = json!({"containers": [{"name": "web", "image": "web:1"}], "hostNetwork": host_network});
        let (report, injected) = create(&mut runner, &pod(&annotations, &spec));
        assert_eq!(report.error, None);
        let case = (annotation, label, default, host_network, granted);
        assert_eq!(names(&injected, "containers").len() == 2, expected, "{case:?}");
        assert_eq!(report.patched, expected, "{case:?}");
    }
}

#[test]
fn a5_an_annotation_that_makes_no_sense_is_refused_and_named() {
    let (report, _) = create(&mut shop(INITIALIZER), &pod(&json!({SWITCH: "yes"}), &json!({})));
    let error = report.error.unwrap();
    assert!(!error.is_transient() && error.message().contains("\"yes\" is neither true nor false"), "{error:?}");
}

#[test]
fn a5_pods_of_the_system_and_of_the_kubelet_are_left_alone() {
    let mut runner = shop(INITIALIZER).config("injectByDefault", "true");
    let mut of_the_system = pod(&json!({SWITCH: "true"}), &json!({"containers": []}));
    of_the_system["metadata"]["namespace"] = json!("kube-system");
    let (report, _) = runner.admit(&of_the_system, review(&of_the_system, "kube-system"));
    assert!(!report.patched && report.error.is_none(), "{report:#?}");
    let (report, _) = create(&mut runner, &pod(&json!({"kubernetes.io/config.mirror": "abc"}), &json!({})));
    assert!(!report.patched && report.error.is_none(), "{report:#?}");
}

#[test]
fn a5_a_pod_without_name_and_namespace_is_known_by_its_review() {
    let pod = json!({"apiVersion": "v1", "kind": "Pod", "metadata": {"generateName": "web-"},
                     "spec": {"containers": [{"name": "web", "image": "web:1"}]}});
    let (report, injected) = create(&mut shop(INITIALIZER), &pod);
    assert!(report.in_sync(), "{report:#?}");
    assert_eq!(names(&injected, "containers"), ["web", "envoy"]);
}

#[test]
fn a6_only_new_pods_are_injected() {
    let mut runner = shop(INITIALIZER);
    for (field, value) in [("operation", "UPDATE"), ("subResource", "ephemeralcontainers"), ("subResource", "binding")]
    {
        let mut review = review(&plain_pod(), "shop");
        review[field] = json!(value);
        let (report, unchanged) = runner.admit(plain_pod(), review);
        assert!(!report.patched && report.error.is_none(), "{value}: {report:#?}");
        assert_eq!(unchanged, plain_pod());
    }
}

#[test]
fn an_edit_of_the_config_map_counts_for_the_next_pod() {
    let mut runner = shop(INITIALIZER);
    create(&mut runner, &plain_pod());
    runner.put(initializer(&INITIALIZER.replace("envoy:1", "envoy:2")));
    let (_, injected) = create(&mut runner, &plain_pod());
    assert_eq!(injected["spec"]["containers"][1]["image"], "envoy:2");
}

#[test]
fn what_is_wrong_with_the_config_map_is_said_with_line_and_column_and_left_to_the_failure_policy() {
    for (yaml, said) in [
        ("", "names no containers"),
        ("# nothing\n", "names no containers"),
        ("containers: []\n", "names no containers"),
        ("containers:\n  - image: envoy\n", "line 2, column 5: containers[0] has no name"),
        ("containers:\n  - name: envoy\n  - name: [\n", "line "),
        ("containers:\n  - name: ''\n", "line 2, column 5: containers[0] has no name"),
        ("containers:\n  - name: 7\n", "line 2, column 5: containers[0] has no name"),
        ("containers:\n  - envoy\n", "line 2, column 5: containers[0] is not a mapping"),
        ("containers:\n  - name: a\n  - name: a\n", "line 3, column 5: containers[1] is the second that is called a"),
        (
            "containers:\n  - name: a\ninitContainers:\n  - name: a\n",
            "line 4, column 5: initContainers[0] is the second",
        ),
        (
            "volumes:\n  - name: a\n    emptyDir: {$patch: delete}\n",
            "line 2, column 5: volumes[0] has the field $patch",
        ),
        ("container:\n  - name: a\n", "line 1, column 1: "),
        ("containers: envoy\n", "line 1, column 13: "),
        ("containers:\n\t- name: a\n", "line 2"),
        ("- name: a\n", "line 1"),
        ("a: &a [*a]\n", "line 1"),
    ] {
        let (report, _) = create(&mut shop(yaml), &plain_pod());
        let error = report.error.unwrap_or_else(|| panic!("{yaml:?} was taken"));
        assert!(error.is_transient(), "{yaml:?}: {error:?}");
        assert!(error.message().starts_with("ConfigMap default/envoy-initializer, key config"), "{error}");
        assert!(error.message().contains(said), "{yaml:?}: {error}");
        assert!(error.message().len() < 400 && !error.message().contains('\n'), "{error}");
    }
}

#[test]
fn a_config_map_that_is_missing_or_has_no_key_is_named() {
    let mut runner = shop(INITIALIZER).config("configNamespace", "mesh");
    let (report, _) = create(&mut runner, &plain_pod());
    let error = report.error.unwrap();
    assert!(
        error.is_transient() && error.message().contains("ConfigMap mesh/envoy-initializer does not exist"),
        "{error}"
    );
    runner.put(super::config_map("mesh", "envoy-initializer", &json!({"config.yaml": INITIALIZER})));
    let (report, _) = create(&mut runner, &plain_pod());
    assert!(report.error.unwrap().message().contains("has no key config"));
}

#[test]
fn a_pod_that_opts_out_does_not_care_what_the_config_map_says() {
    let (report, _) = create(&mut shop("containers: ["), &pod(&json!({SWITCH: "false"}), &json!({})));
    assert!(!report.patched && report.error.is_none(), "{report:#?}");
}

#[test]
fn a_configuration_that_makes_no_sense_is_named() {
    for (key, value) in [("injectByDefault", "yes"), ("order", "middle"), ("initOrder", "1"), ("rolloutSeconds", "5m")]
    {
        let (report, _) = create(&mut shop(INITIALIZER).config(key, value), &plain_pod());
        let error = report.error.unwrap();
        assert!(error.is_transient() && error.message().contains(key), "{error:?}");
    }
}

#[test]
fn a4_injected_containers_stand_where_the_configuration_says_in_the_config_maps_order() {
    let yaml = "containers: [{name: c1}, {name: c2}]\ninitContainers: [{name: i1}, {name: i2, restartPolicy: Always}]";
    let spec = json!({"containers": [{"name": "a"}, {"name": "b"}], "initContainers": [{"name": "x"}, {"name": "y"}]});
    for (order, init_order, containers, inits) in [
        ("last", "last", ["a", "b", "c1", "c2"], ["x", "y", "i1", "i2"]),
        ("first", "last", ["c1", "c2", "a", "b"], ["x", "y", "i1", "i2"]),
        ("last", "first", ["a", "b", "c1", "c2"], ["i1", "i2", "x", "y"]),
    ] {
        let mut runner = shop(yaml).config("order", order).config("initOrder", init_order);
        let (_, injected) = create(&mut runner, &pod(&json!({}), &spec));
        assert_eq!(names(&injected, "containers"), containers);
        assert_eq!(names(&injected, "initContainers"), inits);
        // Another webhook appends its own container, and the API server calls again.
        let mut changed = injected.clone();
        changed["spec"]["containers"].as_array_mut().unwrap().push(json!({"name": "late"}));
        let (_, again) = create(&mut runner, &changed);
        let first = ["c1", "c2", "a", "b", "late"];
        let last = ["a", "b", "late", "c1", "c2"];
        let expected = if order == "first" { first } else { last };
        assert_eq!(names(&again, "containers"), expected, "a3: as if it had been there before");
        assert!(!create(&mut runner, &again).0.patched);
    }
}

#[test]
fn a_container_of_the_name_in_the_other_list_is_not_doubled() {
    let spec = json!({"containers": [{"name": "web"}],
                      "initContainers": [{"name": "envoy", "image": "mine", "restartPolicy": "Always"}]});
    let mut runner = shop(INITIALIZER);
    let (report, injected) = create(&mut runner, &pod(&json!({}), &spec));
    assert_eq!(names(&injected, "containers"), ["web"]);
    assert_eq!(injected["spec"]["initContainers"], spec["initContainers"]);
    assert!(report.warnings[0].contains("container envoy is not injected"), "{:?}", report.warnings);
    assert!(!create(&mut runner, &injected).0.patched);
}

#[test]
fn a_pod_that_asks_where_nobody_else_does_is_told_what_it_will_wait_for() {
    let mut runner = Runner::<EnvoyInjector>::new().seed(namespace("shop", &json!({}))).seed(initializer(INITIALIZER));
    let asks = pod(&json!({SWITCH: "true"}), &json!({"containers": [{"name": "web"}]}));
    let (report, _) = create(&mut runner, &asks);
    assert!(report.warnings[0].contains("namespace shop has no ConfigMap envoy"), "{:?}", report.warnings);
    runner.put(super::config_map("shop", "envoy", &json!({})));
    assert!(create(&mut runner, &asks).0.warnings.is_empty());
}

#[test]
fn a13_the_patch_says_only_what_is_new() {
    let (report, _) = create(&mut shop(INITIALIZER), &plain_pod());
    let [Change::Patch(patch)] = report.changes.as_slice() else { panic!("{:?}", report.changes) };
    assert_eq!(patch.patch_type, PatchType::StrategicMergePatch);
    assert!(patch.target.is_none());
    assert!(!patch.patch.contains("web:1"), "{}", patch.patch);
}

#[test]
fn a13_ports_that_share_a_number_are_injected_once_each() {
    let yaml = "containers: [{name: envoy, image: 'envoy:2', ports: [{containerPort: 443}, {containerPort: 443, protocol: UDP}]}]";
    let mut runner = shop(yaml);
    let spec =
        |ports: Value| json!({"containers": [{"name": "web"}, {"name": "envoy", "image": "envoy:1", "ports": ports}]});
    let both = json!([{"containerPort": 443, "protocol": "TCP"}, {"containerPort": 443, "protocol": "UDP"}]);
    for ports in [both, json!([{"containerPort": 443, "protocol": "UDP"}]), json!([])] {
        let (report, injected) = create(&mut runner, &pod(&json!({}), &spec(ports)));
        assert!(report.in_sync(), "{report:#?}");
        assert_eq!(injected["spec"]["containers"][1]["image"], "envoy:2");
        assert_eq!(injected["spec"]["containers"][1]["ports"].as_array().unwrap().len(), 2, "{injected}");
        assert!(!create(&mut runner, &injected).0.patched);
    }
}

#[test]
fn a3_what_the_api_server_adds_is_no_difference() {
    let yaml = "
containers:
  - name: envoy
    image: envoy:1
    ports: [{containerPort: 9901}]
    readinessProbe: {httpGet: {path: /ready, port: 9901}}
    resources: {limits: {cpu: 0.5, memory: 1024Mi}, requests: {cpu: '1'}}
    env: [{name: NODE, valueFrom: {fieldRef: {fieldPath: spec.nodeName}}}]
    volumeMounts: [{name: envoy, mountPath: /etc/envoy}, {name: scratch, mountPath: /tmp}]
volumes:
  - {name: envoy, configMap: {name: envoy}}
  - {name: scratch, emptyDir: {sizeLimit: 1024Mi}}
";
    let mut runner = shop(yaml);
    let (_, mut defaulted) = create(&mut runner, &plain_pod());
    let envoy = &mut defaulted["spec"]["containers"][1];
    envoy["imagePullPolicy"] = json!("IfNotPresent");
    envoy["terminationMessagePath"] = json!("/dev/termination-log");
    envoy["ports"][0]["protocol"] = json!("TCP");
    envoy["readinessProbe"]["httpGet"]["scheme"] = json!("HTTP");
    envoy["readinessProbe"]["timeoutSeconds"] = json!(1);
    envoy["resources"] = json!({"limits": {"cpu": "500m", "memory": "1Gi"}, "requests": {"cpu": "1", "memory": "1Gi"}});
    envoy["env"][0]["valueFrom"]["fieldRef"]["apiVersion"] = json!("v1");
    let token =
        json!({"name": "token", "readOnly": true, "mountPath": "/var/run/secrets/kubernetes.io/serviceaccount"});
    envoy["volumeMounts"].as_array_mut().unwrap().push(token);
    defaulted["spec"]["volumes"][0]["configMap"]["defaultMode"] = json!(420);
    defaulted["spec"]["volumes"][1]["emptyDir"]["sizeLimit"] = json!("1Gi");
    let (report, twice) = create(&mut runner, &defaulted);
    assert!(!report.patched, "{report:#?}");
    assert_eq!(twice, defaulted);
}

#[test]
fn a7_a_pod_of_one_megabyte_is_injected() {
    let mut large = plain_pod();
    large["metadata"]["annotations"]["filler"] = json!("x".repeat(200_000));
    let env: Vec<Value> =
        (0..10_000).map(|i| json!({"name": format!("VARIABLE_{i}"), "value": "y".repeat(60)})).collect();
    large["spec"]["containers"][0]["env"] = json!(env);
    let fields = json!({"f:x": "z".repeat(50_000)});
    large["metadata"]["managedFields"] = json!([{"manager": "kubectl", "operation": "Update", "fieldsV1": fields}]);
    assert!(large.to_string().len() > 1_000_000);
    let mut runner = shop(INITIALIZER);
    let (report, injected) = create(&mut runner, &large);
    assert!(report.in_sync(), "{:?}", report.error);
    let [Change::Patch(patch)] = report.changes.as_slice() else { panic!("{:?}", report.changes) };
    assert!(patch.patch.len() < 1000, "{}", patch.patch.len());
    assert_eq!(names(&injected, "containers"), ["web", "envoy"]);
    assert_eq!(injected["spec"]["containers"][0], large["spec"]["containers"][0]);
    assert!(!create(&mut runner, &injected).0.patched);
}

#[test]
fn a14_pods_of_no_shape_at_all_are_no_panic() {
    let mut runner = shop(INITIALIZER);
    for spec in [
        json!(null),
        json!("x"),
        json!([]),
        json!({}),
        json!({"containers": null, "volumes": null}),
        json!({"containers": {}, "initContainers": "x", "volumes": 3}),
        json!({"containers": [null, 3, "x", [], {}, {"name": null}, {"name": 7}], "volumes": [null, {}]}),
        json!({"containers": [{"name": "envoy", "env": "x", "ports": [null], "volumeMounts": {}}]}),
    ] {
        let (report, _) = create(&mut runner, &pod(&json!({}), &spec));
        assert!(report.error.is_none_or(|error| !error.message().is_empty()), "{spec}");
    }
    let metadata = json!({"name": "x", "annotations": "x", "labels": 3});
    let (report, _) = create(&mut runner, &json!({"apiVersion": "v1", "kind": "Pod", "metadata": metadata}));
    assert!(report.changes.len() <= 1);
}

#[test]
fn a6_a_dry_run_shows_the_patch() {
    let (report, _) = create(&mut shop(INITIALIZER).dry_run(), &plain_pod());
    assert_eq!(report.changes.len(), 1);
    assert_eq!(report.error, None);
}

#[test]
fn as_an_initializer_it_is_on_by_default_and_takes_its_own_name_off() {
    for (annotation, expected) in [(None, &["web", "envoy"][..]), (Some("false"), &["web"][..])] {
        for others in [&[][..], &["next.example.com"][..]] {
            let mut runner = shop(INITIALIZER);
            let annotations = annotation.map_or_else(|| json!({}), |value| json!({SWITCH: value}));
            let mut object = pod(&annotations, &json!({"containers": [{"name": "web", "image": "web:1"}]}));
            let waiting: Vec<&str> = ["envoy.example.com"].iter().chain(others).copied().collect();
            let listed = |names: &[&str]| names.iter().map(|name| json!({"name": name})).collect::<Value>();
            object["metadata"]["initializers"] = json!({"pending": listed(&waiting)});
            object["metadata"]["namespace"] = json!("elsewhere");
            let asked = json!({"operation": "CREATE", "namespace": "elsewhere", "pending": waiting});
            let (report, after) = runner.admit(&object, asked);
            assert!(report.in_sync(), "{report:#?}");
            assert_eq!(names(&after, "containers"), expected);
            let left = &after["metadata"]["initializers"]["pending"];
            assert_eq!(*left, if others.is_empty() { Value::Null } else { listed(others) });
        }
    }
}
