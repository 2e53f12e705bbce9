//! The review of a Pod by `plugins/envoy-injector` as one writes it with axum: HTTPS with rustls and ring, the same injection, the same
//! strategic merge, in one process. The benchmarks run it beside the host; nobody needs it otherwise.
//!
//! Two things are less than in the plugin, as a native webhook has them: the containers to inject are parsed once, not at each review, and
//! nobody looks whether the namespace has the ConfigMap that the Pod mounts.

mod initializer;
// The same work, line by line: these are the plugin's own files.
#[path = "../../../../plugins/envoy-injector/src/inject.rs"]
mod inject;
#[path = "../../../../plugins/envoy-injector/src/overlay.rs"]
mod overlay;
mod review;
mod settings;

use anyhow::Context as _;
use axum::Router;
use axum::routing::post;
use base64::Engine as _;
use base64::prelude::BASE64_STANDARD;
use clap::Parser;
use hyper_util::rt::TokioIo;
use hyper_util::service::TowerToHyperService;
use initializer::Initializer;
use review::Reviewer;
use rustls::ServerConfig;
use rustls::pki_types::PrivatePkcs8KeyDer;
use serde_json::json;
use settings::{Order, Settings};
use std::path::PathBuf;
use std::sync::Arc;
use tokio::net::{TcpListener, TcpStream};
use tokio_rustls::TlsAcceptor;

/// A native webhook on loopback. Prints its URL and its CA bundle as a line of JSON.
#[derive(Debug, Parser)]
struct Args {
    /// What to inject: the document of the ConfigMap `envoy-initializer`
    #[arg(long)]
    initializer: PathBuf,

    /// Injected containers stand before the Pod's own
    #[arg(long)]
    first: bool,
}

#[tokio::main]
#[expect(clippy::print_stdout, reason = "how its caller finds it")]
async fn main() -> anyhow::Result<()> {
    let args = Args::parse();
    let text = std::fs::read_to_string(&args.initializer).with_context(|| args.initializer.display().to_string())?;
    let order = if args.first { Order::First } else { Order::Last };
    let reviewer = Reviewer::new(Initializer::parse(&text)?, Settings { order, init_order: order })?;
    let (tls, pem) = identity()?;
    let router = Router::new().route("/mutate", post(review::answer)).with_state(Arc::new(reviewer));
    let listener = TcpListener::bind("127.0.0.1:0").await?;
    let url = format!("https://{}/mutate", listener.local_addr()?);
    println!("{}", json!({"url": url, "caBundle": BASE64_STANDARD.encode(pem)}));
    let acceptor = TlsAcceptor::from(Arc::new(tls));
    loop {
        let (stream, _) = listener.accept().await?;
        // A client that ends a connection in its own way is no error of the webhook.
        let serving = serve(stream, acceptor.clone(), router.clone());
        tokio::spawn(async move { serving.await.unwrap_or_default() });
    }
}

async fn serve(stream: TcpStream, acceptor: TlsAcceptor, router: Router) -> anyhow::Result<()> {
    stream.set_nodelay(true)?;
    let tls = acceptor.accept(stream).await?;
    let service = TowerToHyperService::new(router);
    Ok(hyper::server::conn::http1::Builder::new().serve_connection(TokioIo::new(tls), service).await?)
}

/// A certificate for loopback that signs itself: the TLS configuration, and the certificate in PEM.
fn identity() -> anyhow::Result<(ServerConfig, String)> {
    let made = rcgen::generate_simple_self_signed(["127.0.0.1".to_owned()])?;
    let key = PrivatePkcs8KeyDer::from(made.signing_key.serialize_der());
    let provider = Arc::new(rustls::crypto::ring::default_provider());
    let config = ServerConfig::builder_with_provider(provider).with_safe_default_protocol_versions()?;
    let mut tls = config.with_no_client_auth().with_single_cert(vec![made.cert.der().clone()], key.into())?;
    tls.alpn_protocols = vec![b"http/1.1".to_vec()];
    Ok((tls, made.cert.pem()))
}
