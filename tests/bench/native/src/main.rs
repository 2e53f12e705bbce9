//! The Network controller as one writes it with kube-rs: `Controller`, typed objects, server-side apply of the status, the
//! finalizer helper where there is something outside to take away. The benchmarks run it beside the host; nobody needs it
//! otherwise.

mod network;
mod neutron;

use anyhow::Context as _;
use clap::Parser;
use futures::StreamExt as _;
use k8s_openapi::apimachinery::pkg::apis::meta::v1::{Condition, Time};
use k8s_openapi::jiff::Timestamp;
use kube::api::{Patch, PatchParams};
use kube::runtime::controller::{Action, Config, Controller};
use kube::runtime::finalizer::{Event, finalizer};
use kube::runtime::watcher;
use kube::{Api, Client, ResourceExt as _};
use network::{Network, NetworkStatus};
use neutron::Neutron;
use serde_json::json;
use std::sync::Arc;
use std::time::Duration;

const MANAGER: &str = "native-controller";

#[derive(Debug, thiserror::Error)]
enum Error {
    #[error("Neutron: {0}")]
    Neutron(String),
    #[error(transparent)]
    Kubernetes(#[from] kube::Error),
    #[error("finalizer: {0}")]
    Finalizer(#[source] Box<kube::runtime::finalizer::Error<Self>>),
}

type Result<T, E = Error> = std::result::Result<T, E>;

/// A native Network controller.
#[derive(Debug, Parser)]
struct Args {
    /// How many objects are reconciled at once
    #[arg(long, default_value_t = 2)]
    workers: u16,

    /// Neutron's URL; without it only the status is written
    #[arg(long)]
    neutron: Option<String>,
}

struct Context {
    client: Client,
    neutron: Option<Neutron>,
}

#[tokio::main]
async fn main() -> anyhow::Result<()> {
    let args = Args::parse();
    let client = Client::try_default().await.context("no API server: set KUBECONFIG")?;
    let context = Arc::new(Context { client: client.clone(), neutron: args.neutron.as_deref().map(Neutron::new) });
    Controller::new(Api::<Network>::all(client), watcher::Config::default())
        .with_config(Config::default().concurrency(args.workers))
        .shutdown_on_signal()
        .run(reconcile, |_, _, _| Action::requeue(Duration::from_secs(1)), context)
        .for_each(|_| std::future::ready(()))
        .await;
    Ok(())
}

async fn reconcile(object: Arc<Network>, context: Arc<Context>) -> Result<Action> {
    let api = Api::<Network>::namespaced(context.client.clone(), &object.namespace().unwrap_or_default());
    let Some(neutron) = &context.neutron else {
        write_status(&api, &object, NetworkStatus::default()).await?;
        return Ok(Action::await_change());
    };
    finalizer(&api, "oarlock.dev/native", object, |event| async {
        match event {
            Event::Apply(object) => {
                let (network, subnet) = neutron.ensure(&object).await?;
                let ids =
                    NetworkStatus { network_id: Some(network), subnet_id: Some(subnet), ..NetworkStatus::default() };
                write_status(&api, &object, ids).await?;
            }
            Event::Cleanup(object) => neutron.remove(&object).await?,
        }
        Ok(Action::await_change())
    })
    .await
    .map_err(|e| Error::Finalizer(Box::new(e)))
}

/// Applies the status, unless the object has it already.
async fn write_status(api: &Api<Network>, object: &Network, ids: NetworkStatus) -> Result<()> {
    let stored = object.status.clone().unwrap_or_default();
    let since = stored.conditions.iter().find(|c| c.type_ == "Ready" && c.status == "True");
    let ready = Condition {
        type_: "Ready".to_owned(),
        status: "True".to_owned(),
        reason: "Synced".to_owned(),
        message: "the network is as it should be".to_owned(),
        observed_generation: object.metadata.generation,
        last_transition_time: since.map_or_else(|| Time(Timestamp::now()), |c| c.last_transition_time.clone()),
    };
    let wanted = NetworkStatus {
        cidr: Some(object.spec.cidr.clone()),
        gateway: Some(object.spec.gateway.clone()),
        observed_generation: object.metadata.generation,
        conditions: vec![ready],
        ..ids
    };
    if wanted == stored {
        return Ok(());
    }
    let document = json!({"apiVersion": "samplecrd.k8s.io/v1", "kind": "Network", "status": wanted});
    api.patch_status(&object.name_any(), &PatchParams::apply(MANAGER).force(), &Patch::Apply(&document)).await?;
    Ok(())
}
