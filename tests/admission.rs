//! The second door: AdmissionReviews as an API server sends them, to a host with a guest that answers well or badly.

mod bad_input;
pub(crate) mod certificates;
mod contested;
mod crowd;
mod forged;
mod initializers;
mod swap;

use anyhow::{Context, Result, ensure};
use base64::Engine as _;
use http::Method;
use oarlock_tests::harness::{
    Grant, HttpClient, SOON, World, WorldOptions, built_plugin, eventually, steady, text, with_world,
};
use serde_json::{Value, json};
use std::{fs, sync::Arc};

const CONFIGURATIONS: &str = "/apis/admissionregistration.k8s.io/v1";

/// A way to the door of a host.
pub(crate) struct Door {
    pub(crate) client: HttpClient,
}

fn options() -> WorldOptions {
    WorldOptions { host: false, network: false, crd: false, ..WorldOptions::default() }
}

fn grant() -> Grant {
    Grant::nothing().rule("", &["configmaps"], &["get", "list", "watch"]).all_admission()
}

/// The gatekeeper that wants this label value, which is its version too.
pub(crate) fn gatekeeper(says: &str) -> Result<Vec<u8>> {
    let mut bytes = fs::read(built_plugin("gatekeeper")?)?;
    let marker = b"gatekeeper-says:";
    let at = bytes.windows(marker.len()).position(|window| window == marker).context("no marker")? + marker.len();
    let room = bytes.get_mut(at..at + 16).context("no room")?;
    room.fill(b' ');
    room.get_mut(..says.len()).context("too long")?.copy_from_slice(says.as_bytes());
    Ok(bytes)
}

/// Puts the gatekeeper in and opens the door.
async fn open(world: &World, grant: &Grant) -> Result<Door> {
    world.plugins.grant("gatekeeper", grant)?;
    world.plugins.place("gatekeeper.wasm", &gatekeeper("yes")?)?;
    start(world).await
}

async fn start(world: &World) -> Result<Door> {
    world.start_host_with(&["--admission-addr", "127.0.0.1:0"]).await?;
    door(world).await
}

/// Finds the door by what the host tells the API server of it.
pub(crate) async fn door(world: &World) -> Result<Door> {
    let config = eventually(SOON, "the webhook configuration", || configuration(world, "mutating")).await?;
    let bundle = base64::prelude::BASE64_STANDARD.decode(text(&config, "/webhooks/0/clientConfig/caBundle"))?;
    let url = text(&config, "/webhooks/0/clientConfig/url");
    let base = url.split('/').take(3).collect::<Vec<_>>().join("/");
    Ok(Door { client: HttpClient::with_ca(&base, &bundle)? })
}

async fn configuration(world: &World, kind: &str) -> Result<Value> {
    let path = format!("{CONFIGURATIONS}/{kind}webhookconfigurations/oarlock");
    world.cluster.get(&path).await?.with_context(|| format!("no {kind} configuration"))
}

/// The CA bundle the API server is told.
async fn bundle(world: &World) -> Result<String> {
    let config = configuration(world, "mutating").await?;
    let encoded = text(&config, "/webhooks/0/clientConfig/caBundle");
    Ok(String::from_utf8(base64::prelude::BASE64_STANDARD.decode(encoded)?)?)
}

fn config_map(mode: &str) -> Value {
    json!({"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "one", "namespace": "n", "annotations": {"gate": mode}}})
}

pub(crate) fn review(object: &Value) -> Value {
    let kind = text(object, "/kind");
    let resource = format!("{}s", kind.to_lowercase());
    json!({"apiVersion": "admission.k8s.io/v1", "kind": "AdmissionReview", "request": {
        "uid": "705ab4f5-6393-11e8-b7cc-42010a800002", "kind": {"group": "", "version": "v1", "kind": kind},
        "resource": {"group": "", "version": "v1", "resource": resource}, "operation": "CREATE",
        "name": text(object, "/metadata/name"), "namespace": "n", "userInfo": {"username": "somebody"},
        "object": object, "oldObject": null, "dryRun": false}})
}

impl Door {
    /// What a webhook answers.
    pub(crate) async fn ask(&self, path: &str, review: &Value) -> Result<Value> {
        let answer = self.client.json(Method::POST, path, &[], review).await?;
        ensure!(answer.status.is_success(), "{path}: {} {}", answer.status, answer.text());
        let answer = answer.json()?;
        ensure!(text(&answer, "/kind") == "AdmissionReview", "{answer}");
        let response = answer.get("response").cloned().context("no response")?;
        ensure!(text(&response, "/uid") == text(review, "/request/uid"), "{response}");
        Ok(response)
    }

    /// What is said of a ConfigMap in this mode.
    async fn gate(&self, mode: &str) -> Result<Value> {
        self.ask("/mutate/gatekeeper/0", &review(&config_map(mode))).await
    }
}

/// The operations of an answer's patch.
pub(crate) fn patch(response: &Value) -> Result<Value> {
    let text = response.get("patch").and_then(Value::as_str).with_context(|| format!("no patch: {response}"))?;
    Ok(serde_json::from_slice(&base64::prelude::BASE64_STANDARD.decode(text)?)?)
}

pub(crate) fn allowed(response: &Value) -> bool {
    response.get("allowed") == Some(&Value::Bool(true))
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a13_a_patch_of_any_type_becomes_a_minimal_json_patch() -> Result<()> {
    with_world(options(), async |world: Arc<World>| {
        let door = open(&world, &grant()).await?;
        let labels = json!([{"op": "add", "path": "/metadata/labels", "value": {"gate": "yes"}}]);
        for mode in ["label", "json", "strategic", "named"] {
            let response = door.gate(mode).await.context(mode.to_owned())?;
            ensure!(allowed(&response) && patch(&response)? == labels, "{mode}: {response}");
        }
        let response = door.gate("twice").await?;
        let data = json!([{"op": "add", "path": "/data", "value": {"twice": "yes"}}, labels[0]]);
        let mut operations = patch(&response)?;
        if let Some(list) = operations.as_array_mut() {
            list.sort_by_key(|operation| text(operation, "/path"));
        }
        ensure!(operations == data && response["warnings"] == json!(["twice"]), "{response}");
        ensure!(response["auditAnnotations"]["plugin"] == "gatekeeper yes", "{response}");
        // What is as it should be is left alone.
        let mut there = config_map("label");
        there["metadata"]["labels"] = json!({"gate": "yes"});
        let response = door.ask("/mutate/gatekeeper/0", &review(&there)).await?;
        ensure!(allowed(&response) && response.get("patch").is_none(), "{response}");
        // A warning does not need a change.
        let response = door.gate("warn").await?;
        ensure!(
            allowed(&response) && response["warnings"] == json!(["careful"]) && response.get("patch").is_none(),
            "{response}"
        );
        Ok(())
    })
    .await
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_refusal_says_who_and_why_and_a_validating_rule_names_the_places() -> Result<()> {
    with_world(options(), async |world: Arc<World>| {
        let door = open(&world, &grant()).await?;
        for (mode, code, message) in [
            ("deny", 418, "plugin gatekeeper: not today"),
            ("terminal", 400, "plugin gatekeeper: this can never be"),
            ("who", 403, "plugin gatekeeper: CREATE by somebody"),
        ] {
            let response = door.gate(mode).await?;
            ensure!(!allowed(&response) && response["status"]["code"] == code, "{response}");
            ensure!(text(&response, "/status/message") == message, "{response}");
        }
        let secret = json!({"apiVersion": "v1", "kind": "Secret", "metadata": {"name": "s", "namespace": "n", "labels": {"gate": "no"}}});
        let response = door.ask("/validate/gatekeeper/1", &review(&secret)).await?;
        ensure!(!allowed(&response) && text(&response, "/status/message").contains("not as it should be"), "{response}");
        let mut good = secret.clone();
        good["metadata"]["labels"]["gate"] = json!("yes");
        ensure!(allowed(&door.ask("/validate/gatekeeper/1", &review(&good)).await?), "a good one");
        // Of a deletion the stored object is under review.
        let mut deletion = review(&config_map("protected"));
        deletion["request"]["oldObject"] = deletion["request"]["object"].take();
        deletion["request"]["operation"] = json!("DELETE");
        let response = door.ask("/mutate/gatekeeper/0", &deletion).await?;
        ensure!(!allowed(&response) && text(&response, "/status/message").contains("it must stay"), "{response}");
        Ok(())
    })
    .await
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_plugin_reads_its_caches_at_admission_and_the_terms_of_its_grant_count() -> Result<()> {
    with_world(options(), async |world: Arc<World>| {
        let ignoring = Grant::nothing().rule("", &["configmaps"], &["get", "list", "watch"]).admission_with(|granted| {
            granted.failure_policy = Some("Ignore".to_owned());
            granted.timeout_seconds = Some(7);
            granted.object_selector = Some(json!({"matchLabels": {"gated": "true"}}));
        });
        let door = open(&world, &ignoring).await?;
        let config = configuration(&world, "mutating").await?;
        let webhook = &config["webhooks"][0];
        ensure!(webhook["failurePolicy"] == "Ignore" && webhook["timeoutSeconds"] == 7, "{webhook}");
        ensure!(webhook["objectSelector"]["matchLabels"]["gated"] == "true", "{webhook}");
        let mut object = config_map("settings");
        object["metadata"]["namespace"] = json!(world.namespace);
        let mut asked = review(&object);
        asked["request"]["namespace"] = json!(world.namespace);
        let response = door.ask("/mutate/gatekeeper/0", &asked).await?;
        ensure!(allowed(&response) && response["warnings"][0].as_str().is_some_and(|w| w.contains("there are no settings")), "{response}");
        let settings = json!({"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "gate-settings"}, "data": {"says": "so"}});
        world.cluster.create(&format!("/api/v1/namespaces/{}/configmaps", world.namespace), &settings).await?;
        eventually(SOON, "the settings to count", || async {
            let response = door.ask("/mutate/gatekeeper/0", &asked).await?;
            ensure!(patch(&response)?[0]["value"]["gate"] == "so", "{response}");
            Ok(())
        })
        .await
    })
    .await
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn the_webhook_configurations_follow_the_plugins_and_are_repaired() -> Result<()> {
    with_world(options(), async |world: Arc<World>| {
        open(&world, &grant()).await?;
        let path = format!("{CONFIGURATIONS}/mutatingwebhookconfigurations/oarlock");
        let validating = eventually(SOON, "the other one", || configuration(&world, "validating")).await?;
        ensure!(validating["webhooks"][0]["name"] == "rule-1.gatekeeper.oarlock.dev", "{validating}");
        // Somebody else's idea of it does not last.
        world.cluster.merge_patch(&path, &json!({"webhooks": []})).await?;
        let there = || async {
            let config = configuration(&world, "mutating").await?;
            ensure!(config["webhooks"][0]["name"] == "rule-0.gatekeeper.oarlock.dev", "{config}");
            Ok(config)
        };
        eventually(SOON, "it to be repaired", there).await?;
        world.cluster.delete(&path).await?;
        let config = eventually(SOON, "it to be made again", there).await?;
        // In step, it is left alone.
        tokio::time::sleep(std::time::Duration::from_secs(1)).await;
        let later = configuration(&world, "mutating").await?;
        ensure!(text(&later, "/metadata/resourceVersion") == text(&config, "/metadata/resourceVersion"), "{later}");
        world.plugins.remove("gatekeeper.wasm")?;
        eventually(SOON, "both to be gone", || async {
            for kind in ["mutating", "validating"] {
                ensure!(configuration(&world, kind).await.is_err(), "{kind} is there");
            }
            Ok(())
        })
        .await
    })
    .await
}

/// Found on a node (D1): who uninstalls deletes them while the hosts still end.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_host_that_ends_does_not_write_the_webhook_configurations_again() -> Result<()> {
    with_world(options(), async |world: Arc<World>| {
        world.add_host_args(vec!["--shutdown-delay-seconds=60".to_owned()]);
        let door = open(&world, &grant()).await?;
        eventually(SOON, "the other one", || configuration(&world, "validating")).await?;
        let host = world.take_host().await?;
        let admin = host.admin().clone();
        let mut process = host.into_process();
        process.terminate().await?;
        eventually(SOON, "the host to be told that it ends", || async {
            let ready = admin.get("/readyz").await?;
            ensure!(ready.status.is_server_error(), "{}", ready.text());
            Ok(())
        })
        .await?;
        for kind in ["mutating", "validating"] {
            world.cluster.delete(&format!("{CONFIGURATIONS}/{kind}webhookconfigurations/oarlock")).await?;
        }
        // Five times as long as it takes a host that keeps them.
        steady(std::time::Duration::from_secs(1), "their absence", || async {
            for kind in ["mutating", "validating"] {
                ensure!(configuration(&world, kind).await.is_err(), "{kind} is there again");
            }
            Ok(())
        })
        .await?;
        // It is still asked by API servers that do not know yet.
        let answer = door.client.get("/").await?;
        ensure!(answer.status.is_client_error(), "{}", answer.status);
        process.terminate().await?;
        process.wait(SOON).await.map(drop)
    })
    .await
}

/// Seen on a node: the API server sent a review on an idle connection while the host closed it. Go repeats no POST on another connection.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_host_that_ends_answers_on_connections_that_the_client_closes() -> Result<()> {
    with_world(options(), async |world: Arc<World>| {
        world.add_host_args(vec!["--shutdown-delay-seconds=60".to_owned()]);
        let door = open(&world, &grant()).await?;
        let closes = async || -> Result<bool> {
            let answer = door.client.get("/mutate/gatekeeper/0").await?;
            Ok(answer.headers.get(http::header::CONNECTION).is_some_and(|value| value == "close"))
        };
        ensure!(!closes().await?, "connections are kept open");
        let mut process = world.take_host().await?.into_process();
        process.terminate().await?;
        eventually(SOON, "each response to close its connection", || async {
            ensure!(closes().await?, "it stays open");
            Ok(())
        })
        .await?;
        process.terminate().await?;
        process.wait(SOON).await.map(drop)
    })
    .await
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_plugin_that_waits_for_its_kind_keeps_no_webhook_of_another_that_was_removed() -> Result<()> {
    with_world(options(), async |world: Arc<World>| {
        world.plugins.add("network", "network", &world.network_grant()?)?;
        open(&world, &grant()).await?;
        eventually(SOON, "the other one to wait", || async {
            let network = world.host(async |host| host.plugin("network").await).await?;
            ensure!(network.to_string().contains("syncing"), "{network}");
            Ok(())
        })
        .await?;
        world.plugins.remove("gatekeeper.wasm")?;
        eventually(SOON, "its webhooks to be gone", || async {
            for kind in ["mutating", "validating"] {
                ensure!(configuration(&world, kind).await.is_err(), "{kind} is there");
            }
            Ok(())
        })
        .await
    })
    .await
}
