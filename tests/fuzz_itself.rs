//! The generator keeps what it promises, and every oracle of the operation sequences can fail.

use anyhow::{Context, Result, bail, ensure};
use http::{Method, StatusCode};
use oarlock_schema::Crd;
use oarlock_tests::{
    fuzz_plugin::{
        Expected, Files, Finding, Limits, Names, Operation, Oracle, Plan, Report, Seen, Source, Step, Subject, Verdict,
        compare, normalise, plan, play_once, shrink, unharmed,
    },
    harness::{Action, Rule, World, WorldOptions, misfit_version, repository_root},
    torture::Random,
};
use proptest::prelude::*;
use serde_json::{Map, Value, json};
use std::collections::BTreeSet;
use std::time::Duration;
use tempfile::TempDir;

/// A schema of `spec` with the keywords a structural schema may have.
fn schemas() -> impl Strategy<Value = Value> {
    let string = prop_oneof![
        Just(json!({"type": "string"})),
        (0_u64..4, 4_u64..12)
            .prop_map(|(least, most)| json!({"type": "string", "minLength": least, "maxLength": most})),
        Just(json!({"type": "string", "enum": ["one", "two", "three"]})),
        Just(json!({"type": "string", "pattern": "^[a-z]([-a-z0-9]{0,10}[a-z0-9])?$"})),
        Just(json!({"type": "string", "pattern": "^v[0-9]+$", "maxLength": 6})),
        prop::sample::select(vec!["date-time", "ipv4", "cidr", "uuid", "email", "duration", "byte", "mac"])
            .prop_map(|format| json!({"type": "string", "format": format})),
        Just(json!({"type": "string", "x-kubernetes-validations": [{"rule": "isCIDR(self)", "message": "a range"}]})),
        Just(
            json!({"type": "string", "maxLength": 15, "x-kubernetes-validations": [{"rule": "isIP(self) && ip(self).family() == 4"}]})
        ),
    ];
    let number = prop_oneof![
        (-5_i64..5, 5_i64..50).prop_map(|(low, high)| json!({"type": "integer", "minimum": low, "maximum": high})),
        Just(json!({"type": "integer", "minimum": 0, "exclusiveMinimum": true})),
        Just(json!({"type": "integer", "format": "int32", "multipleOf": 5, "maximum": 100})),
        (-8_i32..8).prop_map(|low| json!({"type": "number", "minimum": f64::from(low) / 4.0})),
        Just(json!({"type": "boolean"})),
        Just(json!({"x-kubernetes-int-or-string": true})),
        Just(json!({"type": "integer", "nullable": true})),
    ];
    let leaf = prop_oneof![string, number];
    leaf.prop_recursive(3, 16, 4, |inner| {
        let fields = prop::collection::btree_map("[a-d]", inner.clone(), 1..4);
        prop_oneof![
            3 => (fields, any::<bool>()).prop_map(|(fields, all)| {
                let required: Vec<String> = fields.keys().take(if all { 4 } else { 1 }).cloned().collect();
                let fields: Map<String, Value> = fields.into_iter().collect();
                json!({"type": "object", "properties": fields, "required": required})
            }),
            1 => (inner.clone(), 0_u64..2, 2_u64..5).prop_map(|(items, least, most)| {
                json!({"type": "array", "items": items, "minItems": least, "maxItems": most})
            }),
            1 => Just(json!({"type": "array", "x-kubernetes-list-type": "set", "maxItems": 4,
                "items": {"type": "string", "maxLength": 5}})),
            1 => Just(json!({"type": "array", "maxItems": 3, "x-kubernetes-list-type": "map", "x-kubernetes-list-map-keys": ["k"],
                "items": {"type": "object", "required": ["k"],
                    "properties": {"k": {"type": "string", "maxLength": 4}, "v": {"type": "integer"}}}})),
            1 => inner.prop_map(|values| json!({"type": "object", "additionalProperties": values, "maxProperties": 4})),
            1 => Just(json!({"type": "object", "properties": {"a": {"type": "integer"}, "b": {"type": "string"}},
                "oneOf": [{"required": ["a"], "not": {"required": ["b"]}}, {"required": ["b"], "not": {"required": ["a"]}}]})),
        ]
    })
}

fn definition(spec: &Value) -> Value {
    json!({"apiVersion": "apiextensions.k8s.io/v1", "kind": "CustomResourceDefinition",
        "metadata": {"name": "things.fuzz.example.com"},
        "spec": {"group": "fuzz.example.com", "scope": "Namespaced", "names": {"plural": "things", "kind": "Thing"},
            "versions": [{"name": "v1", "served": true, "storage": true, "schema": {"openAPIV3Schema": {
                "type": "object", "required": ["spec"], "properties": {"spec": spec}}}}]}})
}

fn source(definition: &Value) -> Result<Source, String> {
    let crd = Crd::parse(definition).map_err(|errors| format!("{:?}", errors.first()))?;
    Ok(Source::Schema { crd: Box::new(crd), version: "v1".to_owned(), examples: Vec::new() })
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 120, failure_persistence: None, ..ProptestConfig::default() })]

    /// The validator of the API server is the judge of both.
    #[test]
    fn drawn_objects_are_valid_and_broken_ones_break_one_rule(spec in schemas(), seed in 0_u64..1_000_000) {
        let definition = definition(&spec);
        let Ok(source) = source(&definition) else { return Err(TestCaseError::reject("the definition is not valid")) };
        let mut random = Random::new(seed, 0);
        let first = source.valid(&mut random, None).map_err(|error| TestCaseError::fail(format!("{error}: {spec}")))?;
        prop_assert_eq!(source.expected(None, &first), Expected::Accepted);
        let next = source.valid(&mut random, Some(&first)).map_err(|error| TestCaseError::fail(error.to_string()))?;
        prop_assert_eq!(source.expected(Some(&first), &next), Expected::Accepted);
        let broken = source.invalid(&mut random, Some(&next)).map_err(|error| TestCaseError::fail(error.to_string()))?;
        let Some(broken) = broken else { return Err(TestCaseError::fail(format!("nothing can be broken: {spec}"))) };
        let Expected::Refused(why) = source.expected(Some(&next), &broken.object) else {
            return Err(TestCaseError::fail(format!("{broken:?} is not refused")));
        };
        let word = match broken.rule {
            "type" => "must be of type",
            "enum" => "Unsupported value",
            "required" => "Required value",
            "maxLength" => "Too long",
            "maxItems" | "maxProperties" => "Too many",
            "unknown field" => "unknown field",
            "minimum" | "maximum" | "multipleOf" => "should be",
            "pattern" => "should match",
            _ => "",
        };
        prop_assert!(why.contains(word), "{} at {}: {}", broken.rule, broken.pointer, why);
    }

    #[test]
    fn the_same_seed_is_the_same_plan(spec in schemas(), seed in 0_u64..1000) {
        let Ok(source) = source(&definition(&spec)) else { return Err(TestCaseError::reject("the definition is not valid")) };
        let draw = || plan(&source, seed, 3, 12).map_err(|error| TestCaseError::fail(error.to_string()));
        let (one, two) = (draw()?, draw()?);
        prop_assert_eq!(&one, &two);
        let text = serde_json::to_string(&one).unwrap();
        let read: Plan = serde_json::from_str(&text).unwrap();
        prop_assert_eq!(&one, &read);
    }
}

/// Ranges, gateways inside of them, and what may not be changed: nothing but the schema says so.
#[test]
fn networks_are_drawn_and_broken_in_every_way_their_schema_knows() -> Result<()> {
    let file = std::fs::read_to_string(repository_root().join("plugins/network/crd.yaml"))?;
    let source = source(&serde_saphyr::from_str(&file)?).map_err(anyhow::Error::msg)?;
    let (mut ranges, mut gateways, mut rules, mut reasons) =
        <(BTreeSet<_>, BTreeSet<_>, BTreeSet<_>, String)>::default();
    let mut random = Random::new(1, 0);
    for _ in 0..60 {
        let first = source.valid(&mut random, None)?;
        ranges.insert(first.pointer("/spec/cidr").context("no cidr")?.to_string());
        let next = source.valid(&mut random, Some(&first))?;
        ensure!(first.pointer("/spec/cidr") == next.pointer("/spec/cidr"), "{first} -> {next}");
        gateways.insert(next.pointer("/spec/gateway").context("no gateway")?.to_string());
        let broken = source.invalid(&mut random, Some(&next))?.context("nothing can be broken")?;
        rules.insert(broken.rule);
        if let Expected::Refused(why) = source.expected(Some(&next), &broken.object) {
            reasons.push_str(&why);
        }
    }
    ensure!(ranges.len() > 30 && gateways.len() > 30, "{} ranges, {} gateways", ranges.len(), gateways.len());
    for rule in ["type", "maxLength", "required", "unknown field", "x-kubernetes-validations", "value"] {
        ensure!(rules.contains(rule), "no {rule} in {rules:?}");
    }
    for reason in ["cannot be changed", "is outside of cidr", "must be an IPv4 address"] {
        ensure!(reasons.contains(reason), "never {reason:?}: {reasons}");
    }
    Ok(())
}

#[test]
fn what_differs_from_world_to_world_is_no_difference_and_the_rest_is() {
    let world = |uid: &str, namespace: &str, network: &str, gateway: &str| {
        let object = json!({
            "metadata": {"name": "fuzz-a0", "namespace": namespace, "uid": uid, "resourceVersion": network, "generation": 4,
                "managedFields": [
                    {"manager": "fuzz", "time": "2026-01-01T00:00:00Z"},
                    {"manager": "oarlock.network", "time": network, "fieldsV1": {format!("k:{{\"uid\":\"{uid}\"}}"): {}}},
                ]},
            "status": {"networkId": network, "gateway": gateway, "conditions": [{"lastTransitionTime": network}]},
            "child": {"metadata": {"name": format!("x-{namespace}"), "generateName": "x-"}},
        });
        let uids = [(uid.to_owned(), "fuzz-a0".to_owned())].into();
        normalise(&object, &Names { uids, namespace: namespace.to_owned(), ..Names::default() })
    };
    let uuid = |n: u8| format!("123e4567-e89b-12d3-a456-4266141740{n:02}");
    let one = world(&uuid(1), "oarlock-e2e-x1", &uuid(2), "10.0.0.1");
    assert_eq!(one, world(&uuid(3), "oarlock-e2e-y2", &uuid(4), "10.0.0.1"));
    assert_ne!(one, world(&uuid(3), "oarlock-e2e-y2", &uuid(4), "10.0.0.2"));
    assert!(one.to_string().contains("<uid of fuzz-a0>"), "{one}");
    // The plugin stopped owning a field.
    let mut less = one.clone();
    less["metadata"]["managedFields"] = json!([]);
    assert_ne!(one, less);
}

fn seen(verdicts: &[(&str, Verdict)], outside: &[&str]) -> Seen {
    let verdicts = verdicts.iter().map(|(name, verdict)| ((*name).to_owned(), verdict.clone())).collect();
    Seen { verdicts, outside: outside.iter().map(|&line| line.to_owned()).collect(), ..Seen::default() }
}

#[test]
fn worlds_are_compared_but_for_what_hangs_on_objects_that_fail_in_both() {
    let fails = || Verdict::Error("no".to_owned());
    let well =
        seen(&[("fuzz-a0", Verdict::InSync), ("fuzz-b0", Verdict::InSync)], &["one of fuzz-a0", "one of fuzz-b0"]);
    assert_eq!(compare(&well, &well), []);
    let more = seen(
        &[("fuzz-a0", Verdict::InSync), ("fuzz-b0", Verdict::InSync)],
        &["one of fuzz-a0", "one of fuzz-b0", "old"],
    );
    assert_eq!(compare(&more, &well).len(), 1);
    assert_eq!(compare(&well, &more).len(), 1);
    // The same twice is not once.
    let twice = seen(
        &[("fuzz-a0", Verdict::InSync), ("fuzz-b0", Verdict::InSync)],
        &["one of fuzz-a0", "one of fuzz-b0", "one of fuzz-a0"],
    );
    assert_eq!(compare(&twice, &well).len(), 1);
    // Lines about the same thing are one difference.
    let other =
        seen(&[("fuzz-a0", Verdict::InSync), ("fuzz-b0", Verdict::InSync)], &["one of fuzz-a0", "two of fuzz-b0"]);
    let findings = compare(&other, &well);
    assert_eq!(findings.len(), 1, "{findings:?}");
    assert!(findings[0].text.contains("two of fuzz-b0") && findings[0].text.contains("one of fuzz-b0"), "{findings:?}");
    let failing = seen(&[("fuzz-a0", Verdict::InSync), ("fuzz-b0", fails())], &["one of fuzz-a0", "other of fuzz-b0"]);
    assert_eq!(compare(&failing, &well).len(), 2, "it fails, and what hangs on it differs");
    let fresh_fails = seen(&[("fuzz-a0", Verdict::InSync), ("fuzz-b0", fails())], &["one of fuzz-a0"]);
    assert_eq!(compare(&failing, &fresh_fails), []);
    assert_eq!(compare(&well, &fresh_fails).len(), 2, "in sync where a fresh world fails");
    let drifted = Seen { drifted: ["fuzz-b0".to_owned()].into(), ..failing };
    assert_eq!(compare(&drifted, &well), []);
}

#[tokio::test]
async fn a_list_that_fails_is_made_as_short_as_it_can_be() -> Result<()> {
    let (mut asked, items) = (0, (0..40).collect::<Vec<_>>());
    let short = shrink(items.clone(), 1000, async |some: &[i32]| {
        asked += 1;
        Ok(some.contains(&7) && some.contains(&31))
    })
    .await?;
    ensure!(short == [7, 31], "{short:?}");
    ensure!(asked < 100, "{asked}");
    let early = shrink(items, 3, async |some: &[i32]| Ok(some.contains(&7))).await?;
    ensure!(early.len() < 40 && early.contains(&7), "{early:?}");
    Ok(())
}

/// A plugin of one's own: the misfit in a mode, and ConfigMaps with three values.
async fn misfit(mode: &str) -> Result<(Subject, TempDir)> {
    let folder = tempfile::tempdir()?;
    let place = |name: &str| folder.path().join(name);
    std::fs::write(place("misfit.wasm"), misfit_version("1", mode)?)?;
    let objects: Vec<Value> = ["one", "two", "three"].iter().map(|value| config_map(value)).collect();
    let documents: Vec<String> = objects.iter().map(ToString::to_string).collect();
    std::fs::write(place("base.yaml"), documents.join("\n---\n"))?;
    let files = Files { plugin: place("misfit.wasm"), base: Some(place("base.yaml")), ..Files::default() };
    Ok((Subject::load(&files).await?, folder))
}

fn config_map(value: &str) -> Value {
    json!({"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "example"}, "data": {"value": value}})
}

/// What is found when an object gets these values one after the other; `-`: it is deleted.
async fn found(mode: &str, values: &[&str]) -> Result<Vec<Finding>> {
    let (subject, _folder) = misfit(mode).await?;
    let step = |value: &&str| {
        let operation = if *value == "-" { Operation::Delete } else { Operation::Apply(config_map(value)) };
        Step { object: 0, operation, settle: true, note: String::new() }
    };
    let plan = Plan { seed: 0, objects: 1, resync_seconds: 1, steps: values.iter().map(step).collect() };
    // What is looked for is waited out in vain, and long enough for a first reconcile; the rest is there sooner.
    let clean_up = Duration::from_secs(if mode == "farewell" { 4 } else { 60 });
    let settle = Duration::from_secs(if mode == "never-equal" { 20 } else { 60 });
    let quiet = if mode.starts_with("never-settles:") { Duration::from_secs(60) } else { Duration::ZERO };
    let limits = Limits { quiet_resyncs: 2, quiet, settle, clean_up, ..Limits::default() };
    let failure = play_once(&subject, &plan, &limits, &mut Report::default()).await?;
    Ok(failure.map(|failure| failure.findings).unwrap_or_default())
}

async fn finds(mode: &str, values: &[&str], oracle: Oracle, word: &str) -> Result<()> {
    let findings = found(mode, values).await?;
    let Some(first) = findings.first() else { bail!("{mode}: nothing was found") };
    ensure!(first.oracle == oracle && first.text.contains(word), "{mode}: {first}");
    Ok(())
}

/// Otherwise what the others find would mean nothing.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_well_behaved_plugin_passes() -> Result<()> {
    let findings = found("ok", &["one", "two", "one", "-", "three"]).await?;
    ensure!(findings.is_empty(), "{findings:?}");
    Ok(())
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_plugin_that_never_comes_to_rest_is_found() -> Result<()> {
    finds("never-equal", &["one"], Oracle::Converges, "progressing").await
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_plugin_that_remembers_what_was_before_is_found() -> Result<()> {
    finds("remembers", &["one", "two"], Oracle::PathIndependent, "first").await
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_plugin_that_bears_a_grudge_is_found() -> Result<()> {
    finds("grudge", &["one", "two", "one"], Oracle::PathIndependent, "in sync in a fresh world").await
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_plugin_that_leaves_something_behind_is_found() -> Result<()> {
    finds("farewell", &["one"], Oracle::LeavesNothing, "farewell").await
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_plugin_that_writes_at_every_resync_is_found() -> Result<()> {
    finds("never-settles", &["one"], Oracle::Quiet, "nothing changed").await
}

/// The resyncs that are counted have passed by then.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_plugin_that_writes_at_every_twelfth_resync_is_found_in_a_minute_of_quiet() -> Result<()> {
    finds("never-settles:12", &["one"], Oracle::Quiet, "silence did not last").await
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_plugin_that_writes_much_for_a_change_is_found() -> Result<()> {
    finds("changes:30", &["one"], Oracle::Bounded, "writes for 1 change").await
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn an_api_server_that_fails_and_a_process_that_panics_are_found() -> Result<()> {
    let world = World::start(WorldOptions::default()).await?;
    let finds = |word: &str| {
        let Err(found) = unharmed(&world) else { bail!("{word}: nothing was found") };
        ensure!(found.oracle == Oracle::Unharmed && found.text.contains(word), "{word}: {found}");
        Ok(())
    };
    world.create_network("well", "10.6.0.0/24", "10.6.0.1").await?;
    world.ready("well").await?;
    ensure!(unharmed(&world).is_ok(), "{:?}", unharmed(&world));
    let failure = Action::kubernetes(StatusCode::INTERNAL_SERVER_ERROR, "InternalError", "as told", None);
    let rule = world.kubernetes_gate.rule(Rule::every(failure).methods(&[Method::PATCH]).times(1));
    world.set_gateway("well", "10.6.0.7").await?;
    rule.hit().await?;
    world.ready("well").await?;
    finds("-> 500")?;
    for process in ["apiserver", "host"] {
        let log = world.folder().join(format!("{process}.log"));
        let mut text = std::fs::read_to_string(&log)?;
        text.push_str(&format!("\nthread 'tokio-runtime-worker' panicked at {process}.rs:1:1:\nas told\n"));
        std::fs::write(&log, text)?;
        finds(&format!("panicked at {process}.rs"))?;
    }
    Ok(())
}
