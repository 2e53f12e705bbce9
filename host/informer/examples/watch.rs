//! Prints every change of a kind on the API server of the current kubeconfig: `watch v1 ConfigMap`.

#![expect(clippy::print_stdout, reason = "an example shows its result")]

use oarlock_api::{Discovery, GroupVersionKind, client};
use oarlock_informer::{Delta, Informers, WatchSpec};
use std::{sync::Arc, time::Duration};
use tokio::time::Instant;

#[tokio::main]
async fn main() -> Result<(), Box<dyn std::error::Error>> {
    let mut arguments = std::env::args().skip(1);
    let (Some(api_version), Some(kind)) = (arguments.next(), arguments.next()) else {
        return Err("usage: watch API_VERSION KIND".into());
    };
    client::install_crypto_provider();
    let options = client::Options::default();
    let config = client::load_config(&options).await?;
    let client = client::renewing(options, config)?;
    let informers = Informers::new(client.clone(), Discovery::new(client));
    let handler = Arc::new(|delta: &Delta| match delta {
        Delta::Applied { old: None, new, .. } => println!("added    {}", new.key()),
        Delta::Applied { new, .. } => println!("modified {}", new.key()),
        Delta::Deleted(last) => println!("deleted  {}", last.key()),
        Delta::Synced => println!("synced"),
    });
    let gvk = GroupVersionKind::from_api_version(&api_version, kind);
    let subscription = informers.subscribe(WatchSpec::all(gvk), handler);
    subscription.synced(Instant::now() + Duration::from_secs(10)).await?;
    println!("{} objects, {} bytes", subscription.store().len(), subscription.store().heap_bytes());
    std::future::pending().await
}
