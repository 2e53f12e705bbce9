//! Resolves a kind on the API server of the current kubeconfig: `discover apps/v1 Deployment`.

#![expect(clippy::print_stdout, reason = "an example shows its result")]

use oarlock_api::{Discovery, GroupVersionKind, client};

#[tokio::main]
async fn main() -> Result<(), Box<dyn std::error::Error>> {
    let mut arguments = std::env::args().skip(1);
    let (Some(api_version), Some(kind)) = (arguments.next(), arguments.next()) else {
        return Err("usage: discover API_VERSION KIND".into());
    };
    client::install_crypto_provider();
    let options = client::Options::default();
    let config = client::load_config(&options).await?;
    let discovery = Discovery::new(client::renewing(options, config)?);
    match discovery.resolve(&GroupVersionKind::from_api_version(&api_version, kind)).await? {
        Some(resource) => println!("{} {:?}", resource.path("", None, None), resource.verbs),
        None => println!("the API server does not serve this kind"),
    }
    Ok(())
}
