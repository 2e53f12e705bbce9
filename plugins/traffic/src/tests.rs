//! The plugin on the native runner. tests/traffic.rs gives its files to Envoy.

use crate::Traffic;
use crate::config_map::{NAME, config_map_kind};
use oarlock_guest::http::Response;
use oarlock_guest::testing::{Report, Runner};
use proptest::prelude::*;
use serde_json::{Value, json};
use std::time::Duration;

fn route(name: &str, created: &str, spec: &Value) -> Value {
    json!({
        "apiVersion": "traffic.oarlock.dev/v1alpha1", "kind": "TrafficRoute", "spec": spec,
        "metadata": {"name": name, "namespace": "shop", "uid": format!("uid-{name}"), "generation": 1, "creationTimestamp": created},
    })
}

fn destination(version: &str, weight: u32) -> Value {
    json!({"name": version, "weight": weight, "port": 8080, "pods": {"app": "reviews", "version": version}})
}

fn split(v1: u32, v2: u32) -> Value {
    json!({"host": "reviews", "rules": [{"destinations": [destination("v1", v1), destination("v2", v2)]}]})
}

fn pod(name: &str, version: &str, address: &str, ready: bool) -> Value {
    json!({
        "apiVersion": "v1", "kind": "Pod",
        "metadata": {"name": name, "namespace": "shop", "labels": {"app": "reviews", "version": version}},
        "status": {"phase": "Running", "podIP": address, "conditions": [{"type": "Ready", "status": if ready { "True" } else { "False" }}]},
    })
}

fn namespace(name: &str) -> Value {
    json!({"apiVersion": "v1", "kind": "Namespace", "metadata":
        {"name": name, "uid": format!("uid-{name}"), "labels": {"initializer.kubernetes.io/envoy": "true"}}})
}

/// A cluster with Pods of two versions.
fn cluster() -> Runner<Traffic> {
    [pod("one", "v1", "10.0.0.1", true), pod("two", "v2", "10.0.0.2", true), pod("slow", "v2", "10.0.0.3", false)]
        .into_iter()
        .fold(Runner::new(), Runner::seed)
}

/// The condition of a status.
fn condition(report: &Report, kind: &str) -> (String, String, String) {
    let conditions = report.status.as_ref().unwrap()["conditions"].as_array().unwrap().clone();
    let found = conditions.into_iter().find(|condition| condition["type"] == kind).unwrap();
    let text = |field: &str| found[field].as_str().unwrap().to_owned();
    (text("status"), text("reason"), text("message"))
}

/// A route as the API server stores it after its reconcile.
fn stored(report: &Report, mut route: Value) -> Value {
    route["status"] = report.status.clone().unwrap();
    route
}

/// A file of the ConfigMap of a namespace.
fn file(runner: &Runner<Traffic>, namespace: &str, name: &str) -> Value {
    let map = runner.get(&config_map_kind(), namespace, NAME).unwrap();
    serde_json::from_str(map["data"][name].as_str().unwrap()).unwrap()
}

#[test]
fn a_valid_route_is_accepted_and_programmed_in_every_namespace_with_injection() {
    let first = route("reviews", "2026-01-01T00:00:00Z", &split(90, 10));
    let report = cluster().object(first.clone()).reconcile();
    assert!(report.in_sync(), "{report:?}");
    assert_eq!(condition(&report, "Accepted").0, "True");
    assert_eq!(condition(&report, "Programmed").1, "NoNamespace");

    let mut runner = cluster().seed(stored(&report, first.clone())).object(namespace("shop"));
    assert!(runner.settle(3).last().unwrap().in_sync());
    let rds = file(&runner, "shop", "rds.json");
    let host = &rds["resources"][0]["virtual_hosts"][0];
    assert_eq!(
        host["domains"],
        json!(["reviews.shop", "reviews.shop.svc", "reviews.shop.svc.cluster.local", "reviews"])
    );
    let clusters = &host["routes"][0]["route"]["weighted_clusters"]["clusters"];
    assert_eq!(
        *clusters,
        json!([{"name": "shop/reviews/v1", "weight": 90}, {"name": "shop/reviews/v2", "weight": 10}])
    );
    let eds = file(&runner, "shop", "eds_shop_reviews_v2.json");
    // Only ready Pods.
    assert_eq!(eds["resources"][0]["endpoints"][0]["lb_endpoints"].as_array().unwrap().len(), 1);
    assert!(!runner.reconcile().patched, "nothing changed");

    let map = runner.get(&config_map_kind(), "shop", NAME).unwrap().clone();
    let mounting = json!({"apiVersion": "v1", "kind": "Pod",
        "metadata": {"name": "client", "namespace": "shop", "labels": {"initializer.kubernetes.io/envoy-injected": "true"}},
        "spec": {"volumes": [{"name": "envoy-traffic", "configMap": {"name": NAME}}]}, "status": {"phase": "Running"}});
    let report = cluster().seed(map).seed(mounting).object(stored(&report, first)).reconcile();
    assert_eq!(condition(&report, "Programmed").0, "True");
    assert_eq!(report.status.unwrap()["programmed"], json!([{"namespace": "shop", "pods": 1}]));
}

#[test]
fn the_plain_name_is_a_domain_only_in_its_own_namespace() {
    let first = route("reviews", "2026-01-01T00:00:00Z", &split(50, 50));
    let report = cluster().object(first.clone()).reconcile();
    let mut runner = cluster().seed(stored(&report, first)).object(namespace("front"));
    assert!(runner.settle(3).last().unwrap().in_sync());
    let domains = file(&runner, "front", "rds.json")["resources"][0]["virtual_hosts"][0]["domains"].clone();
    assert!(!domains.as_array().unwrap().contains(&json!("reviews")), "{domains}");
}

#[test]
fn an_invalid_edit_names_its_error_and_the_last_good_configuration_stays() {
    let good = route("reviews", "2026-01-01T00:00:00Z", &split(90, 10));
    let accepted = cluster().object(good.clone()).reconcile();
    let service = json!({"name": "v2", "weight": 10, "port": 80, "service": "none"});
    for (spec, reason, message) in [
        (split(90, 20), "WeightsDoNotAddUp", "rules[0]: the weights add up to 110, not 100: v1 90, v2 20"),
        (
            json!({"host": "reviews", "rules": [{"destinations": [destination("v1", 50), destination("v3", 50)]}]}),
            "DestinationNotFound",
            "destination v3: namespace shop has no Pod with the labels app=reviews,version=v3",
        ),
        (
            json!({"host": "reviews", "rules": [{"destinations": [destination("v1", 90), service]}]}),
            "DestinationNotFound",
            "destination v2: Service shop/none does not exist",
        ),
        (
            json!({"host": "reviews", "rules": [{"timeout": "soon", "destinations": [destination("v1", 100)]}]}),
            "InvalidDuration",
            "rules[0].timeout: \"soon\" is not a duration such as 1m30s",
        ),
        (
            json!({"host": "reviews", "rules": [
                {"destinations": [destination("v1", 100)]},
                {"destinations": [{"name": "v1", "weight": 100, "port": 1, "pods": {"app": "reviews"}}]},
            ]}),
            "DestinationAmbiguous",
            "destination v1 has two definitions: give one of them another name",
        ),
    ] {
        let mut edited = stored(&accepted, good.clone());
        edited["spec"] = spec;
        edited["metadata"]["generation"] = json!(2);
        let report = cluster().object(edited).reconcile();
        assert_eq!(condition(&report, "Accepted"), ("False".to_owned(), reason.to_owned(), message.to_owned()));
        assert_eq!(report.error.as_ref().unwrap().message(), message);
        let before = &accepted.status.as_ref().unwrap()["accepted"];
        assert_eq!(report.status.as_ref().unwrap()["accepted"], *before, "{reason}");
    }
}

#[test]
fn a_host_belongs_to_the_route_that_has_it_and_else_to_the_oldest() {
    let (old, new) = ("2026-01-01T00:00:00Z", "2026-02-01T00:00:00Z");
    let (first, second) = (route("first", old, &split(90, 10)), route("second", new, &split(50, 50)));
    let accepted = cluster().object(second.clone()).reconcile();
    // Neither has it: the oldest gets it, whichever runs first.
    let report = cluster().seed(first.clone()).object(second.clone()).reconcile();
    let claimed = (
        "False".to_owned(),
        "HostClaimed".to_owned(),
        "host reviews: TrafficRoute shop/first has it already".to_owned(),
    );
    assert_eq!(condition(&report, "Accepted"), claimed);
    assert!(report.status.as_ref().unwrap().get("accepted").is_none());
    assert!(cluster().seed(second.clone()).object(first.clone()).reconcile().in_sync());
    // The younger one had it before the older one asked.
    let report = cluster().seed(stored(&accepted, second)).object(first).reconcile();
    assert_eq!(condition(&report, "Accepted").1, "HostClaimed");
}

#[test]
fn what_a_service_selects_is_found_by_its_port() {
    let spec = json!({"host": "reviews", "rules": [{"destinations": [{"name": "all", "weight": 100, "port": 80, "service": "reviews"}]}]});
    let service = json!({"apiVersion": "v1", "kind": "Service", "metadata": {"name": "reviews", "namespace": "shop"},
        "spec": {"ports": [{"name": "http", "port": 80}, {"name": "admin", "port": 81}]}});
    let slice = json!({"apiVersion": "discovery.k8s.io/v1", "kind": "EndpointSlice", "addressType": "IPv4",
        "metadata": {"name": "reviews-1", "namespace": "shop", "labels": {"kubernetes.io/service-name": "reviews"}},
        "ports": [{"name": "admin", "port": 9000}, {"name": "http", "port": 8080}],
        "endpoints": [{"addresses": ["10.0.0.9"], "conditions": {"ready": true}}, {"addresses": ["10.0.0.8"], "conditions": {"ready": false}}]});
    let first = route("reviews", "2026-01-01T00:00:00Z", &spec);
    let world = || cluster().seed(service.clone()).seed(slice.clone());
    let report = world().object(first.clone()).reconcile();
    assert!(report.in_sync(), "{report:?}");
    let mut runner = world().seed(stored(&report, first)).object(namespace("front"));
    assert!(runner.settle(3).last().unwrap().in_sync());
    let endpoints =
        file(&runner, "front", "eds_shop_reviews_all.json")["resources"][0]["endpoints"][0]["lb_endpoints"].clone();
    assert_eq!(
        endpoints,
        json!([{"endpoint": {"address": {"socket_address": {"address": "10.0.0.9", "port_value": 8080}}}}])
    );
}

/// As kube-apiserver returns the slice that the endpointslice controller keeps for a Service whose Pods are all gone.
#[test]
fn a_service_without_pods_stops_no_other_route() {
    let spec = |service: &str| json!({"host": service, "rules": [{"destinations": [{"name": "all", "weight": 100, "port": 80, "service": service}]}]});
    let service = |name: &str| {
        json!({"apiVersion": "v1", "kind": "Service", "metadata": {"name": name, "namespace": "shop"},
            "spec": {"ports": [{"name": "quic", "port": 80, "protocol": "UDP"}, {"name": "http", "port": 80, "protocol": "TCP"}]}})
    };
    let slice = |service: &str, endpoints: Value, ports: Value| {
        json!({"apiVersion": "discovery.k8s.io/v1", "kind": "EndpointSlice", "addressType": "IPv4",
            "metadata": {"name": format!("{service}-1"), "namespace": "shop", "labels": {"kubernetes.io/service-name": service}},
            "ports": ports, "endpoints": endpoints})
    };
    let endpoints = json!([{"addresses": ["10.0.0.9", "no.address"], "conditions": {}}]);
    let ports =
        json!([{"name": "quic", "port": 9999, "protocol": "UDP"}, {"name": "http", "port": 8080, "protocol": "TCP"}]);
    let world = || {
        let slices = [slice("empty", Value::Null, Value::Null), slice("full", endpoints.clone(), ports.clone())];
        ["empty", "full"].map(service).into_iter().chain(slices).fold(cluster(), |world, object| world.seed(object))
    };
    let routes = ["empty", "full"].map(|name| route(name, "2026-01-01T00:00:00Z", &spec(name)));
    let accepted: Vec<Value> = routes
        .into_iter()
        .map(|route| {
            let report = world().object(route.clone()).reconcile();
            assert!(report.in_sync(), "{report:?}");
            stored(&report, route)
        })
        .collect();
    let mut runner = accepted.into_iter().fold(world(), |world, route| world.seed(route)).object(namespace("front"));
    assert!(runner.settle(3).last().unwrap().in_sync());
    let found =
        |file_name: &str| file(&runner, "front", file_name)["resources"][0]["endpoints"][0]["lb_endpoints"].clone();
    assert_eq!(found("eds_shop_empty_all.json"), json!([]));
    let socket = json!({"address": "10.0.0.9", "port_value": 8080});
    assert_eq!(found("eds_shop_full_all.json"), json!([{"endpoint": {"address": {"socket_address": socket}}}]));
}

/// A response of Prometheus.
fn sample(at: f64, value: &str) -> Response {
    let result = json!([{"metric": {}, "value": [at, value]}]);
    Response::json_body(200, &json!({"status": "success", "data": {"resultType": "vector", "result": result}}))
}

fn canary(on_degradation: &str) -> Value {
    let mut spec = split(90, 10);
    spec["canary"] = json!({"destination": "v2", "stepPercent": 30, "interval": "1m", "onDegradation": on_degradation,
        "metric": {"query": "errors", "max": "0.05"}});
    route("reviews", "2026-01-01T00:00:00Z", &spec)
}

/// Runs a canary through samples; returns weight and phase after each.
fn weights(on_degradation: &str, samples: &[(f64, &str)]) -> Vec<(u64, String)> {
    let mut runner = cluster().config("prometheus", "http://prometheus:9090/").object(canary(on_degradation));
    let mut seen = Vec::new();
    for (at, value) in samples {
        runner.script([Ok(sample(*at, value))]);
        let report = runner.reconcile();
        assert!(report.in_sync(), "{report:?}");
        let status = report.status.unwrap();
        let weight = status["accepted"]["rules"][0]["destinations"][1]["weight"].as_u64().unwrap();
        let rest = status["accepted"]["rules"][0]["destinations"][0]["weight"].as_u64().unwrap();
        assert_eq!(weight + rest, 100);
        seen.push((weight, status["canary"]["phase"].as_str().unwrap().to_owned()));
    }
    seen
}

#[test]
fn a_canary_advances_in_time_until_it_has_everything() {
    let at = 1_000_000.0;
    let seen =
        weights("Stop", &[(at, "0"), (at + 59.0, "0"), (at + 60.0, "0.05"), (at + 125.0, "0"), (at + 185.0, "0")]);
    let seen: Vec<_> = seen.iter().map(|(weight, phase)| (*weight, phase.as_str())).collect();
    assert_eq!(seen, [(10, "Advancing"), (10, "Advancing"), (40, "Advancing"), (70, "Advancing"), (100, "Completed")]);
}

#[test]
fn a_canary_stops_or_rolls_back_when_its_metric_degrades() {
    let at = 1_000_000.0;
    for value in ["0.06", "+Inf"] {
        for (what, weight, phase) in [("Stop", 40, "Stopped"), ("Rollback", 0, "RolledBack")] {
            let seen = weights(what, &[(at, "0"), (at + 60.0, "0"), (at + 70.0, value), (at + 130.0, "0")]);
            assert_eq!(seen.last().unwrap(), &(weight, phase.to_owned()), "{what} {value}");
        }
    }
}

#[test]
fn the_weight_stays_while_the_metric_cannot_be_read() {
    let empty = json!({"status": "success", "data": {"resultType": "vector", "result": []}});
    for answer in [
        Ok(Response::empty(500)),
        Ok(Response::json_body(200, &empty)),
        Ok(Response::json_body(200, &json!(7))),
        Ok(sample(1_000_000.0, "NaN")),
    ] {
        let mut runner = cluster().config("prometheus", "http://prometheus:9090").object(canary("Rollback"));
        runner.script([answer]);
        let report = runner.reconcile();
        assert!(report.in_sync(), "{report:?}");
        let canary = &report.status.as_ref().unwrap()["canary"];
        assert_eq!((canary["weight"].as_u64(), canary["phase"].as_str()), (Some(10), Some("Advancing")));
        assert!(canary["message"].as_str().unwrap().starts_with("the weight stays: "), "{canary}");
    }
}

#[test]
fn a_config_map_of_somebody_else_is_left_alone_and_one_goes_with_injection() {
    let foreign =
        json!({"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": NAME, "namespace": "shop", "uid": "x"}});
    let mut runner = cluster().seed(foreign).object(namespace("shop"));
    assert!(runner.reconcile().changes.is_empty());

    let mut runner = cluster().object(namespace("shop"));
    runner.settle(3);
    assert!(runner.get(&config_map_kind(), "shop", NAME).is_some());
    runner.edit(|namespace| namespace["metadata"]["labels"] = json!({}));
    runner.settle(3);
    assert!(runner.get(&config_map_kind(), "shop", NAME).is_none());
}

#[test]
fn the_readme_shows_the_canary_that_is_shipped() {
    let (_, shipped) = include_str!("../canary.yaml").split_once('\n').unwrap();
    assert!(include_str!("../README.md").contains(shipped));
}

#[test]
fn a_cluster_that_no_route_names_any_more_stays_for_a_while() {
    let names = |runner: &Runner<Traffic>| -> Vec<String> {
        let cds = file(runner, "shop", "cds.json");
        let names =
            cds["resources"].as_array().unwrap().iter().map(|cluster| cluster["name"].as_str().unwrap().to_owned());
        names.collect()
    };
    let first = route("reviews", "2026-01-01T00:00:00Z", &split(90, 10));
    let report = cluster().object(first.clone()).reconcile();
    let mut runner =
        cluster().config("retireSeconds", "60").seed(stored(&report, first.clone())).object(namespace("shop"));
    runner.settle(3);
    assert_eq!(names(&runner), ["shop/reviews/v1", "shop/reviews/v2"]);
    let mut alone = stored(&report, first);
    alone["status"]["accepted"]["rules"][0]["destinations"].as_array_mut().unwrap().pop();
    runner.put(alone);
    let reports = runner.settle(3);
    assert!(reports.last().unwrap().in_sync());
    assert_eq!(reports.last().unwrap().requeue_after, Some(Duration::from_secs(10)));
    assert_eq!(names(&runner), ["shop/reviews/v1", "shop/reviews/v2"]);
    assert_eq!(file(&runner, "shop", "eds_shop_reviews_v2.json")["resources"][0]["cluster_name"], "shop/reviews/v2");
    runner.advance(Duration::from_secs(59));
    assert!(!runner.reconcile().patched);
    runner.advance(Duration::from_secs(2));
    assert!(runner.settle(3).last().unwrap().in_sync());
    assert_eq!(names(&runner), ["shop/reviews/v1"]);
    let map = runner.get(&config_map_kind(), "shop", NAME).unwrap();
    assert!(map["data"].get("eds_shop_reviews_v2.json").is_none());
    assert_eq!(runner.reconcile().requeue_after, None);
}

proptest! {
    /// Envoy refuses weights whose sum is 0, and domains that occur twice.
    #[test]
    fn whatever_is_accepted_has_weights_of_100_and_domains_once(v1 in 0_u32..=100, v2 in 0_u32..=100, hosts in prop::collection::vec("[ab](\\.shop)?", 1..5)) {
        let specs: Vec<Value> = hosts.iter().map(|host| { let mut spec = split(v1, v2); spec["host"] = json!(host); spec }).collect();
        let mut routes: Vec<Value> =
            specs.iter().enumerate().map(|(i, spec)| route(&format!("r{i}"), &format!("2026-01-0{}T00:00:00Z", i + 1), spec)).collect();
        for i in 0..routes.len() {
            let others = routes.iter().enumerate().filter(|(j, _)| *j != i).fold(cluster(), |runner, (_, other)| runner.seed(other.clone()));
            let report = others.object(routes[i].clone()).reconcile();
            routes[i] = stored(&report, routes[i].clone());
        }
        let mut runner = routes.into_iter().fold(cluster(), Runner::seed).object(namespace("shop"));
        prop_assert!(runner.settle(3).last().unwrap().in_sync());
        let rds = file(&runner, "shop", "rds.json");
        let mut domains = Vec::new();
        for host in rds["resources"][0]["virtual_hosts"].as_array().unwrap() {
            domains.extend(host["domains"].as_array().unwrap().iter().map(|domain| domain.as_str().unwrap().to_owned()));
            if let Some(clusters) = host["routes"][0]["route"]["weighted_clusters"]["clusters"].as_array() {
                let sum: u64 = clusters.iter().map(|cluster| cluster["weight"].as_u64().unwrap()).sum();
                prop_assert_eq!(sum, 100);
            }
        }
        let count = domains.len();
        domains.sort();
        domains.dedup();
        prop_assert_eq!(domains.len(), count);
    }
}
