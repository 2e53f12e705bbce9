//! Competes for a Lease on the API server of the current kubeconfig: `elect default example`. Start it twice, and end one of them.

#![expect(clippy::print_stdout, reason = "an example shows its result")]

use oarlock_api::client;
use oarlock_lease::{Leases, Options, Timing};

#[tokio::main]
async fn main() -> anyhow::Result<()> {
    let mut arguments = std::env::args().skip(1);
    let (Some(namespace), Some(name)) = (arguments.next(), arguments.next()) else {
        anyhow::bail!("usage: elect NAMESPACE NAME");
    };
    client::install_crypto_provider();
    let options = Options { namespace, identity: format!("process-{}", std::process::id()), timing: Timing::default() };
    let leases = Leases::start(options, client::Options::default()).await?;
    println!("{} competes for the Lease {}", leases.identity().unwrap_or_default(), oarlock_lease::name_of(&name));
    let election = leases.election(&name);
    election.compete(&[]);
    loop {
        let guard = election.held().await;
        println!("leading");
        guard.over().await;
        println!("no longer leading");
    }
}
