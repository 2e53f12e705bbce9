//! `oarlock ui`: the page of a running host in a browser.

use super::admin::Admin;
use anyhow::Context as _;
use clap::Args;
use serde_json::Value;
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr};
use std::process::{Command, Stdio};

/// The options of `oarlock ui`.
#[derive(Debug, Args)]
#[command(
    after_help = "Examples:\n  oarlock ui\n  oarlock ui --no-browser\n  kubectl port-forward -n oarlock deploy/oarlock 9797 & oarlock ui    # of a host in a cluster"
)]
pub(super) struct UiArgs {
    #[command(flatten)]
    admin: Admin,

    /// Print the address only
    #[arg(long)]
    no_browser: bool,
}

pub(super) async fn run(args: UiArgs) -> anyhow::Result<()> {
    let text = super::admin::send(&args.admin, "POST", "/page/session").await;
    let text = text.with_context(|| format!("cannot open a session at {}", args.admin.address()))?;
    let answer: Value = serde_json::from_str(&text).unwrap_or_default();
    let token = answer.get("token").and_then(Value::as_str);
    let token = token.with_context(|| {
        format!("{} is not a host with a page: check --admin-addr, and the version of the host", args.admin.address())
    })?;
    let url = format!("http://{}/#token={token}", reachable(args.admin.address()));
    super::say(&url)?;
    let browser = if args.no_browser { None } else { browser() };
    if let Some(program) = browser {
        let started =
            Command::new(program).arg(&url).stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null()).spawn();
        started.with_context(|| format!("cannot start {program}: open the address above in a browser"))?;
    }
    Ok(())
}

/// The program that opens addresses. None: there is no display.
fn browser() -> Option<&'static str> {
    if cfg!(target_os = "macos") {
        return Some("open");
    }
    let display =
        ["DISPLAY", "WAYLAND_DISPLAY"].iter().any(|name| std::env::var_os(name).is_some_and(|v| !v.is_empty()));
    display.then_some("xdg-open")
}

/// An address to connect to: a host that listens on all addresses does so on loopback, too.
fn reachable(address: SocketAddr) -> SocketAddr {
    let ip = match address.ip() {
        IpAddr::V4(ip) if ip.is_unspecified() => Ipv4Addr::LOCALHOST.into(),
        IpAddr::V6(ip) if ip.is_unspecified() => Ipv6Addr::LOCALHOST.into(),
        ip => ip,
    };
    SocketAddr::new(ip, address.port())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_address_of_all_interfaces_is_opened_on_loopback() {
        for (listens, opened) in [
            ("0.0.0.0:9797", "127.0.0.1:9797"),
            ("[::]:1", "[::1]:1"),
            ("127.0.0.1:1", "127.0.0.1:1"),
            ("10.0.0.7:2", "10.0.0.7:2"),
        ] {
            assert_eq!(reachable(listens.parse().unwrap()).to_string(), opened);
        }
    }
}
