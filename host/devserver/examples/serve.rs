//! Serves until Ctrl-C and prints where.
//!
//! `cargo run --example serve -- [--no-controllers] [PORT]`

use std::net::{Ipv4Addr, SocketAddr};

use oarlock_devserver::{DevServer, Options};

#[tokio::main]
#[expect(clippy::print_stdout, reason = "the address is what the example is for")]
async fn main() -> Result<(), Box<dyn std::error::Error>> {
    let mut options = Options::default();
    for argument in std::env::args().skip(1) {
        match argument.as_str() {
            "--no-controllers" => options = options.controllers(false),
            port => options = options.addr(SocketAddr::from((Ipv4Addr::LOCALHOST, port.parse()?))),
        }
    }
    let server = DevServer::start(options).await?;
    println!("{}", server.url());
    tokio::signal::ctrl_c().await?;
    server.shutdown().await;
    Ok(())
}
