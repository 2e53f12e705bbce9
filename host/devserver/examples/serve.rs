//! Starts an API server, writes its kubeconfig to a file, and serves until Ctrl-C: `serve kubeconfig`.

#![expect(clippy::print_stdout, reason = "an example shows its result")]

use oarlock_devserver::{DevServer, Options};

#[tokio::main]
async fn main() -> Result<(), Box<dyn std::error::Error>> {
    let file = std::env::args().nth(1).ok_or("usage: serve FILE")?;
    let server = DevServer::start(Options::default()).await?;
    std::fs::write(&file, server.kubeconfig())?;
    println!("kubectl --kubeconfig {file} get namespaces");
    tokio::signal::ctrl_c().await?;
    server.shutdown().await;
    Ok(())
}
