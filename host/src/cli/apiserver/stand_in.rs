//! The programs of `oarlock apiserver envtest`: they take the flags of etcd and kube-apiserver.

mod etcd;
mod flags;
mod kube_apiserver;

use anyhow::Context as _;
use clap::{Args, ValueEnum};
use std::net::{IpAddr, Ipv4Addr};

/// Which program, and its own arguments.
#[derive(Debug, Args)]
pub(super) struct StandInArgs {
    #[arg(value_enum)]
    program: Program,

    #[arg(last = true)]
    arguments: Vec<String>,
}

#[derive(Clone, Copy, Debug, ValueEnum)]
enum Program {
    Etcd,
    KubeApiserver,
}

pub(super) async fn run(args: &StandInArgs) -> anyhow::Result<()> {
    match args.program {
        Program::Etcd => etcd::run(&args.arguments).await.context("etcd"),
        Program::KubeApiserver => kube_apiserver::run(&args.arguments).await.context("kube-apiserver"),
    }
}

/// The address to listen on: that of the flag, when other machines cannot reach it.
fn loopback(flag: &str, host: &str) -> IpAddr {
    match host.trim_matches(['[', ']']).parse::<IpAddr>() {
        Ok(address) if address.is_loopback() => address,
        Err(_) if host == "localhost" => Ipv4Addr::LOCALHOST.into(),
        _ => {
            tracing::warn!(flag, host, "listening on 127.0.0.1 instead: this server is for tests");
            Ipv4Addr::LOCALHOST.into()
        }
    }
}
