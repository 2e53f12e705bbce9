//! A controller of Sites with kube-rs, as one writes it without a host, with one bug for each value of BUG: what `oarlock check --command`
//! must find.
//!
//! A Site has a ConfigMap `NAME-config` with its title and color.
//!
//! | BUG | bug |
//! | --- | --- |
//! | none | none |
//! | `starts` | each start writes the time into the ConfigMap |
//! | `hot` | each reconcile writes another value, again and again |
//! | `asks` | reads the ConfigMap again and again |
//! | `dies` | ends where there are four replicas |
//! | `prints` | prints the value of a Secret |
//! | `generation` | the status has the generation of the first write |
//! | `stuck` | the finalizer of a green Site stays |
//! | `orphans` | the ConfigMap has no owner, and stays |

use anyhow::Context as _;
use futures::StreamExt as _;
use k8s_openapi::api::core::v1::{ConfigMap, Secret};
use k8s_openapi::apimachinery::pkg::apis::meta::v1::ObjectMeta;
use kube::api::{Patch, PatchParams};
use kube::core::NamespaceResourceScope;
use kube::runtime::controller::{Action, Config, Controller};
use kube::runtime::watcher;
use kube::{Api, Client, Resource, ResourceExt as _};
use serde::{Deserialize, Serialize};
use serde_json::{Value, json};
use std::borrow::Cow;
use std::collections::BTreeMap;
use std::io::Write as _;
use std::sync::Arc;
use std::time::Duration;

const MANAGER: &str = "site-controller";
const FINALIZER: &str = "check.oarlock.test/site";

#[derive(Clone, Debug, Serialize, Deserialize)]
struct Site {
    metadata: ObjectMeta,
    spec: Spec,
    status: Option<Value>,
}

#[derive(Clone, Debug, Serialize, Deserialize)]
struct Spec {
    title: String,
    replicas: u32,
    color: Option<String>,
}

impl Resource for Site {
    type DynamicType = ();
    type Scope = NamespaceResourceScope;

    fn kind((): &()) -> Cow<'_, str> {
        "Site".into()
    }

    fn group((): &()) -> Cow<'_, str> {
        "check.oarlock.test".into()
    }

    fn version((): &()) -> Cow<'_, str> {
        "v1".into()
    }

    fn plural((): &()) -> Cow<'_, str> {
        "sites".into()
    }

    fn meta(&self) -> &ObjectMeta {
        &self.metadata
    }

    fn meta_mut(&mut self) -> &mut ObjectMeta {
        &mut self.metadata
    }
}

struct Context {
    client: Client,
    bug: String,
    started: String,
}

#[tokio::main(flavor = "current_thread")]
async fn main() -> anyhow::Result<()> {
    let client = Client::try_default().await.context("no API server: set KUBECONFIG")?;
    let context =
        Arc::new(Context { client: client.clone(), bug: std::env::var("BUG").unwrap_or_default(), started: now() });
    Controller::new(Api::<Site>::all(client.clone()), watcher::Config::default())
        .owns(Api::<ConfigMap>::all(client), watcher::Config::default())
        .with_config(Config::default().concurrency(2))
        .shutdown_on_signal()
        .run(reconcile, |_, _, _| Action::requeue(Duration::from_secs(1)), context)
        .for_each(|_| std::future::ready(()))
        .await;
    Ok(())
}

fn now() -> String {
    k8s_openapi::jiff::Timestamp::now().as_nanosecond().to_string()
}

async fn reconcile(site: Arc<Site>, cx: Arc<Context>) -> kube::Result<Action> {
    let (name, namespace) = (site.name_any(), site.namespace().unwrap_or_default());
    let sites = Api::<Site>::namespaced(cx.client.clone(), &namespace);
    let maps = Api::<ConfigMap>::namespaced(cx.client.clone(), &namespace);
    let apply = PatchParams::apply(MANAGER).force();
    let held = site.finalizers().iter().any(|one| one == FINALIZER);
    if site.meta().deletion_timestamp.is_some() {
        let stuck = cx.bug == "stuck" && site.spec.color.as_deref() == Some("green");
        if held && !stuck {
            let none = json!({"metadata": {"finalizers": null, "resourceVersion": site.resource_version()}});
            sites.patch(&name, &PatchParams::default(), &Patch::Merge(none)).await?;
        }
        return Ok(Action::await_change());
    }
    if !held {
        let one = json!({"metadata": {"finalizers": [FINALIZER], "resourceVersion": site.resource_version()}});
        sites.patch(&name, &PatchParams::default(), &Patch::Merge(one)).await?;
        return Ok(Action::await_change());
    }
    match cx.bug.as_str() {
        "dies" if site.spec.replicas == 4 => std::process::exit(3),
        "prints" => {
            let secret = Api::<Secret>::namespaced(cx.client.clone(), "default").get("credentials").await?;
            let token = secret.data.unwrap_or_default().remove("token").unwrap_or_default();
            // The bug; nobody can be told where the write fails.
            let _ = writeln!(std::io::stderr(), "token {}", String::from_utf8_lossy(&token.0));
        }
        _ => {}
    }
    let mut data = BTreeMap::from([("title", site.spec.title.clone())]);
    data.extend(site.spec.color.clone().map(|color| ("color", color)));
    match cx.bug.as_str() {
        "starts" => drop(data.insert("started", cx.started.clone())),
        "hot" => drop(data.insert("now", now())),
        _ => {}
    }
    let owners: Vec<_> = site.controller_owner_ref(&()).into_iter().filter(|_| cx.bug != "orphans").collect();
    let map = format!("{name}-config");
    let document = json!({"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": map, "ownerReferences": owners},
        "data": data});
    maps.patch(&map, &apply, &Patch::Apply(&document)).await?;
    let first = site.status.as_ref().and_then(|status| status.get("observedGeneration")).cloned();
    let generation = first.filter(|_| cx.bug == "generation").unwrap_or_else(|| json!(site.metadata.generation));
    let status = json!({"observedGeneration": generation});
    if site.status.as_ref() != Some(&status) {
        let document = json!({"apiVersion": "check.oarlock.test/v1", "kind": "Site", "status": status});
        sites.patch_status(&name, &apply, &Patch::Apply(&document)).await?;
    }
    Ok(match cx.bug.as_str() {
        "hot" => Action::requeue(Duration::from_millis(300)),
        "asks" => Action::requeue(Duration::from_millis(20)),
        _ => Action::await_change(),
    })
}
