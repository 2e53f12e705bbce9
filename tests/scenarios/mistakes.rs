//! Mistakes: in files, of plugins, of stubs. Each is one line, with its place and what is allowed.

use super::{DEFINITION, Scenarios, child, misfit, run};
use anyhow::{Result, ensure};
use oarlock_tests::harness::{built_plugin, oarlock, repository_root};

/// A stub with a service; what follows may add a collection.
const SERVICE: &str = "- service:\n    url: http://a.example\n    collections:\n      items: {}\n";

/// The exit status of a test that cannot run.
const UNUSABLE: Option<i32> = Some(2);

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_mistake_in_a_file_has_its_line_its_column_and_what_is_allowed() -> Result<()> {
    let assert = |rest: &str| format!("steps:\n- assert: {rest}\n");
    for (text, expected) in [
        ("steps:\n- asert: {}\n".to_owned(), "2:3: unknown field `asert`, expected one of name, apply, create,"),
        (assert("{resourse: {}}"), "2:12: unknown field `resourse`, expected one of resource, file, timeout"),
        (assert("{}"), "2:3: needs one of resource and file"),
        (assert("{resource: {kind: Pod}}"), "2:3: resource: needs apiVersion and kind"),
        (assert("{file: no.txt}"), "2:3: cannot read "),
        (
            "steps:\n- error: {resource: {apiVersion: v1, kind: Pod, spec: {\"(length(containers))\": 2}}}\n"
                .to_owned(),
            "2:3: resource.spec.(length(containers)): expressions of chainsaw are not supported",
        ),
        (
            assert("{resource: {apiVersion: v1, kind: Pod, spec: {containers: [{\"~.(env)\": {name: a}}]}}}"),
            "2:3: resource.spec.containers[0].~.(env): expressions of chainsaw are not supported",
        ),
        (
            assert("{resource: {apiVersion: v1, kind: Pod}, timeout: soon}"),
            "\"soon\" is not a duration: 250ms, 90s, 1h30m; at most 8784h",
        ),
        ("steps:\n\n- name: x\n".to_owned(), "3:3: a step needs one of apply, create, update, patch, delete,"),
        ("steps:\n- restart: {}\n  advance: 1s\n".to_owned(), "2:3: a step has several operations"),
        ("steps: []\nstep: []\n".to_owned(), "2:1: unknown field `step`, expected one of description, config,"),
        ("description: x\n".to_owned(), "missing field `steps`"),
        ("steps: [}\n".to_owned(), "1:8: mismatched bracket"),
        (
            "steps:\n- fault: {requests: {verbs: [creat]}, fault: {cut: {}}}\n".to_owned(),
            "\"creat\" is none of get, list,",
        ),
        ("steps:\n- fault: {fault: {cutt: {}}}\n".to_owned(), "unknown variant `cutt`, expected one of answer, delay,"),
        (
            "steps:\n- fault: {fault: {crash: {kill: 7}}}\n".to_owned(),
            "2:3: fault.crash.kill: a scenario ends no process",
        ),
        (
            "http:\n- request: {}\n  response: {base64: \"?\"}\nsteps: [{advance: 1s}]\n".to_owned(),
            "2:3: response.base64: no base64",
        ),
        ("recordings: [no.txt]\nsteps: [{advance: 1s}]\n".to_owned(), "1:14: cannot read "),
        (
            format!("http:\n{SERVICE}      itms: {{}}\n  service2: x\nsteps: [{{advance: 1s}}]\n"),
            "x.yaml:7:3: unknown field `service2`",
        ),
        (
            format!("http:\n{SERVICE}      subs: {{filter: [a]}}\nsteps: [{{advance: 1s}}]\n"),
            "6:14: unknown field `filter`, expected one of id, ids, item",
        ),
        (
            format!("http:\n{SERVICE}      subs: {{references: {{of: {{to: item}}}}}}\nsteps: [{{advance: 1s}}]\n"),
            "2:3: service.collections.subs.references.of.to: no collection \"item\"; there are items, subs",
        ),
        (format!("http:\n{SERVICE}  times: 1\nsteps: [{{advance: 1s}}]\n"), "2:3: a service answers by itself"),
        ("http:\n- times: 1\nsteps: [{advance: 1s}]\n".to_owned(), "2:3: needs one of request, service and file"),
        ("http:\n- file: no.yaml\nsteps: [{advance: 1s}]\n".to_owned(), "2:3: cannot read "),
        (
            format!("http:\n{SERVICE}steps:\n- assert: {{collection: item, record: {{}}}}\n"),
            "7:3: collection: no service has \"item\"; there are http://a.example/items",
        ),
        (
            format!("http:\n{SERVICE}steps:\n- error: {{collection: items, records: []}}\n"),
            "7:3: collection: needs record",
        ),
        (
            "steps:\n- fault: {http: {}, fault: {stale: {}}}\n".to_owned(),
            "2:3: fault: a fault with http is one of answer, delay, hang, cut and crash",
        ),
        (
            "steps:\n- fault: {http: {}, requests: {}, fault: {cut: {}}}\n".to_owned(),
            "2:3: requests: a fault with http has no requests",
        ),
        (
            "steps:\n- wait: {apiVersion: v1, kind: Pod, name: p, for: {}}\n".to_owned(),
            "for: needs one of deletion, condition and jsonPath",
        ),
    ] {
        refused(&text, expected).await?;
    }
    Ok(())
}

/// A scenario that cannot be read: one line says why.
async fn refused(text: &str, expected: &str) -> Result<()> {
    let told = Scenarios::new(&[("x.yaml", text)])?.run("misfit", &[]).await?;
    let one_line = told.stderr.lines().count() == 1 && told.stderr.starts_with("oarlock: ");
    let said = told.stderr.contains("x.yaml:") && told.stderr.contains(expected);
    ensure!(
        told.code == UNUSABLE && one_line && said && told.stdout.is_empty(),
        "{text}{}\nexpected {expected}",
        told.stderr
    );
    Ok(())
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_value_that_makes_no_sense_has_its_place_and_plain_words() -> Result<()> {
    for (text, expected) in [
        ("steps:\n- advance: 9999999h\n", "2:12: \"9999999h\" is not a duration: 250ms, 90s, 1h30m; at most"),
        (
            "start: yesterday\nsteps: [{advance: 1s}]\n",
            "1:8: \"yesterday\" is no RFC 3339 time such as 2026-01-01T00:00:00Z, from 1970-01-01T00:00:00Z to 2200-01-01T00:00:00Z",
        ),
        (
            "start: 9999-12-31T23:59:59Z\nsteps: [{advance: 1s}]\n",
            "1:8: \"9999-12-31T23:59:59Z\" is no RFC 3339 time such as 2026-01-01T00:00:00Z, from 1970",
        ),
        ("start: 1969-12-31T23:59:59Z\nsteps: [{advance: 1s}]\n", "1:8: "),
        ("steps: []\n", "1:8: steps: a scenario has at least one step"),
        ("steps:\n- quiet: {for: 1m, reconcilesPerMinute: -1}\n", "2:41: needs a whole number from 0 on"),
        (
            "steps:\n- advance: 1s\n---\nsteps:\n- advance: 1s\n",
            "4:1: a second document begins: one document in each file",
        ),
        ("steps:\n- advance: 1s\nsteps:\n- advance: 1s\n", "3:1: the key steps is there twice"),
        ("steps:\n- logs: {without: \"\"}\n", "2:3: logs.without: needs a part of a line"),
        (
            "steps:\n- wait: {apiVersion: v1, kind: Pod, name: p, for: {jsonPath: {path: \"{.status.phase\", value: Running}}}\n",
            "2:3: for.jsonPath.path: a brace without its counterpart at \"{.status.phase\"",
        ),
        (
            "steps:\n- advance: 1s\n- fault: {http: {}, fault: {cut: {}}}\n",
            "3:3: http: the scenario has no services: add one to its http",
        ),
        ("steps:\n- advance: 1s\n- swap: {file: no.wasm}\n", "3:3: swap.file: cannot read "),
        (
            "steps:\n- swap: {file: /etc/passwd}\n",
            "2:3: swap.file: /etc/passwd: not a plugin: not a WebAssembly file: it does not begin with \\0asm\n",
        ),
    ] {
        refused(text, expected).await?;
    }
    Ok(())
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn what_cannot_be_tested_is_told() -> Result<()> {
    let scenarios = Scenarios::new(&[("x.yaml", "steps: [{advance: 1s}]\n")])?;
    let no_plugin = run(&repository_root().join("Makefile"), scenarios.path(), &[]).await?;
    ensure!(no_plugin.code == UNUSABLE && no_plugin.stderr.contains("not a plugin"), "{}", no_plugin.stderr);
    for (file, expected) in
        [("none.wasm", "cannot read "), ("misfit.wasm", "is plugin misfit: only a version of changeling takes over")]
    {
        let text = format!("steps:\n- swap: {{file: {}}}\n", built_plugin("misfit")?.with_file_name(file).display());
        let told = Scenarios::new(&[("x.yaml", &text)])?.run("changeling", &[]).await?;
        ensure!(told.code == UNUSABLE && told.stderr.contains(expected), "{}", told.stderr);
    }
    let (plugin, empty) = (built_plugin("misfit")?.display().to_string(), tempfile::tempdir()?);
    for what in ["cases", "scenarios"] {
        let folder = empty.path().display().to_string();
        let told = oarlock(&["test", &plugin, &format!("--{what}"), &folder]).await?;
        let expected = format!("oarlock: there are no {what} (*.yaml, *.yml) in {folder}\n");
        let said = String::from_utf8_lossy(&told.stderr);
        ensure!(told.status.code() == UNUSABLE && said == expected, "{:?} {said}", told.status);
    }
    let bytes = Scenarios::new(&[])?;
    std::fs::write(bytes.path().join("x.yaml"), b"steps:\n- advance: 1s # \xff\n")?;
    let told = bytes.run("misfit", &[]).await?;
    ensure!(told.code == UNUSABLE && told.stderr.contains("x.yaml:2:17: not UTF-8 (byte 24)"), "{}", told.stderr);
    let nested = Scenarios::new(&[("x.yaml", "steps:\n- advance: 1s\n")])?;
    std::fs::create_dir(nested.path().join("a.yaml"))?;
    let told = nested.run("misfit", &[]).await?;
    ensure!(
        told.code == UNUSABLE && told.stderr.contains("a.yaml is a folder: scenarios are files"),
        "{}",
        told.stderr
    );
    let both = scenarios.run("misfit", &["--cases", "cases"]).await?;
    ensure!(both.code == UNUSABLE && both.stderr.contains("cannot be used with"), "{}", both.stderr);
    Ok(())
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_kind_that_is_not_served_is_a_failure_that_says_so() -> Result<()> {
    let pod = "steps:\n- apply: {resource: {apiVersion: v1, kind: Podd, metadata: {name: p}}}\n";
    let told = Scenarios::new(&[("x.yaml", pod)])?.run("misfit", &[]).await?;
    let expected =
        "the API server does not serve v1 Podd: check its name, or add its CustomResourceDefinition to cluster";
    ensure!(told.code == Some(1) && told.stdout.contains(expected), "{}", told.stdout);

    let events = "steps:\n- events: {ref: {apiVersion: v1, kind: Configmap, name: a}, expect: []}\n";
    let told = Scenarios::new(&[("x.yaml", events)])?.run("misfit", &[]).await?;
    let expected = "the API server does not serve v1 Configmap: check its name";
    ensure!(told.code == Some(1) && told.stdout.contains(expected), "{}", told.stdout);

    let no_definition = "config: {neutronUrl: \"http://neutron\"}\nsteps: [{advance: 1s}]\n";
    let told = Scenarios::new(&[("x.yaml", no_definition)])?.run("network", &[]).await?;
    let expected = ["start of the host", "plugin network waits (syncing): ", "Network"];
    ensure!(told.code == Some(1) && expected.iter().all(|part| told.stdout.contains(part)), "{}", told.stdout);

    let no_config = Scenarios::new(&[("x.yaml", "steps: [{advance: 1s}]\n")])?.run("network", &[]).await?;
    let expected = "plugin network does not run (awaiting-grant): config: neutronUrl has no value";
    ensure!(no_config.code == Some(1) && no_config.stdout.contains(expected), "{}", no_config.stdout);
    Ok(())
}

/// The scenario ends with the first missed deadline: what follows would depend on the machine.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_plugin_that_never_answers_is_told_and_so_is_the_limit() -> Result<()> {
    let text = format!("limits: {{deadlineSeconds: 1}}\nsteps:\n{}{}", misfit("loop-actual", "one"), child("one"));
    let scenarios = Scenarios::new(&[("x.yaml", &text)])?;
    let told = scenarios.run("misfit", &[]).await?;
    let expected = "x.yaml:3: step 1: apply ConfigMap a\n           plugin misfit did not answer for default/a within its deadline of 1 s (limits.deadlineSeconds)\n";
    ensure!(told.code == Some(1) && told.stdout.ends_with(expected), "{}", told.stdout);
    let text = text.replace("deadlineSeconds: 1}", "deadlineSeconds: 100}");
    let told = Scenarios::new(&[("x.yaml", &text)])?.run("misfit", &["--timeout-seconds", "1"]).await?;
    let expected = "not finished within 1 s of computing time (--timeout-seconds)\n";
    ensure!(told.code == Some(1) && told.stdout.ends_with(expected), "{}", told.stdout);
    Ok(())
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_request_without_a_stub_is_a_failure() -> Result<()> {
    let text = format!("config: {{url: \"http://h/x\"}}\nsteps:\n{}", misfit("fetch", "one"));
    let told = Scenarios::new(&[("x.yaml", &text)])?.run("misfit", &[]).await?;
    let expected = "no stub answers the request GET http://h/x: add one to http";
    ensure!(told.code == Some(1) && told.stdout.contains(expected), "{}", told.stdout);
    Ok(())
}

/// What is no resource of the API server would never strike.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_fault_of_no_resource_is_a_failure_that_says_what_is_meant() -> Result<()> {
    let fault = |requests: &str| format!("- fault: {{requests: {requests}, fault: {{cut: {{}}}}}}\n");
    for (requests, expected) in [
        ("{resource: configmap}", "requests.resource: no resource \"configmap\"; it is configmaps\n"),
        ("{resource: Pod}", "requests.resource: no resource \"Pod\"; it is pods\n"),
        ("{resource: nets}", "requests.resource: no resource \"nets\"; there are "),
        (
            "{resource: pods/status}",
            "requests.resource: no resource \"pods/status\"; write resource: pods, subresource: status\n",
        ),
        ("{resource: leases, group: apps}", "no leases in the group \"apps\"; it is in coordination.k8s.io\n"),
        ("{resource: pods, group: v1}", "no pods in the group \"v1\"; it is in \"\"\n"),
        ("{group: app}", "requests.group: no group \"app\"; there are \"\", "),
        ("{resource: sites}", "requests.resource: no resource \"sites\"; there are "),
    ] {
        let text = format!("steps:\n- advance: 1s\n{}", fault(requests));
        let told = Scenarios::new(&[("x.yaml", &text)])?.run("misfit", &[]).await?;
        let said = told.stdout.contains("x.yaml:3: step 2: fault\n") && told.stdout.contains(expected);
        ensure!(told.code == Some(1) && said, "{requests}: {}{}", told.stdout, told.stderr);
    }
    // Patterns, subresources, and definitions of the cluster, of a step and of another version than the preferred one.
    let served: String = [
        "{resource: config*}",
        "{resource: pods, subresource: status}",
        "{resource: pods, group: ''}",
        "{group: '*.k8s.io', resource: leases}",
        "{path: /version}",
        "{resource: sites}",
        "{verbs: [apply]}",
    ]
    .map(fault)
    .concat();
    let of_step = format!("steps:\n- apply: {{resource: {DEFINITION}}}\n{served}");
    let of_cluster = format!("cluster:\n- resource: {DEFINITION}\nsteps:\n{served}");
    let scenarios = Scenarios::new(&[("cluster.yaml", &of_cluster), ("step.yaml", &of_step)])?;
    let told = scenarios.run("misfit", &[]).await?;
    ensure!(told.code == Some(0), "{}{}", told.stdout, told.stderr);
    Ok(())
}

/// A key that the manifest does not name can have no effect. Another version may have it.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_key_of_the_configuration_that_the_plugin_does_not_have_is_refused() -> Result<()> {
    let text = "config:\n  neutronUrl: \"http://neutron\"\n  neutronURL: x\nsteps:\n- advance: 1s\n";
    let told = Scenarios::new(&[("x.yaml", text)])?.run("network", &[]).await?;
    let expected = "x.yaml:3:15: config: plugin network has no key \"neutronURL\"; there are ";
    let said = told.stderr.contains(expected) && told.stderr.contains("neutronUrl");
    ensure!(told.code == UNUSABLE && said && told.stdout.is_empty(), "{}{}", told.stdout, told.stderr);
    Ok(())
}
