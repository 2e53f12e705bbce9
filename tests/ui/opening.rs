//! `oarlock ui` opens the page in a browser: which program it starts, with which address, and through a forwarded port.

use super::{Browser, actions};
use anyhow::{Context, Result, ensure};
use oarlock_tests::harness::{
    SOON, World, WorldOptions, eventually, oarlock_binary, repository_root, text, with_world,
};
use std::ffi::OsString;
use std::net::SocketAddr;
use std::path::Path;
use std::process::{Output, Stdio};
use std::sync::Arc;
use std::{env, fs};
use tokio::io::copy_bidirectional;
use tokio::net::{TcpListener, TcpStream};
use tokio::process::Command;
use tokio::task::{JoinHandle, JoinSet};

/// Forwards the connections of a port to another one, as `kubectl port-forward` does, until it is dropped.
struct Forward {
    address: SocketAddr,
    task: JoinHandle<()>,
}

impl Forward {
    async fn to(target: SocketAddr) -> Result<Self> {
        let listener = TcpListener::bind("127.0.0.1:0").await?;
        let address = listener.local_addr()?;
        let task = tokio::spawn(async move {
            // They end with this task.
            let mut connections = JoinSet::new();
            while let Ok((mut client, _)) = listener.accept().await {
                connections.spawn(async move {
                    let mut host = TcpStream::connect(target).await?;
                    copy_bidirectional(&mut client, &mut host).await
                });
            }
        });
        Ok(Self { address, task })
    }
}

impl Drop for Forward {
    fn drop(&mut self) {
        self.task.abort();
    }
}

/// Runs `oarlock ui` as in a session with a display, or without one.
///
/// * `path` - the folders of programs.
/// * `opened` - where the stand-in of a browser writes what it is asked to open.
async fn ui(args: &[&str], path: &OsString, display: &str, opened: &Path) -> Result<Output> {
    let mut command = Command::new(oarlock_binary()?);
    command.arg("ui").args(args).stdin(Stdio::null()).kill_on_drop(true);
    command.env("PATH", path).env("OPENED", opened).env("DISPLAY", display).env_remove("WAYLAND_DISPLAY");
    let output = tokio::time::timeout(SOON, command.output()).await;
    Ok(output.context("oarlock ui still runs")??)
}

/// The folders of programs, first that of the stand-in of a browser.
fn with_browser() -> Result<OsString> {
    let others = env::var_os("PATH").unwrap_or_default();
    let own = repository_root().join("tests/ui/browser");
    Ok(env::join_paths([own].into_iter().chain(env::split_paths(&others)))?)
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn the_command_opens_the_address_that_it_prints_where_there_is_a_display() -> Result<()> {
    with_world(WorldOptions { network: false, crd: false, ..WorldOptions::default() }, async |world: Arc<World>| {
        let admin = world.host(async |host| Ok(host.admin().base().trim_start_matches("http://").to_owned())).await?;
        let folder = tempfile::tempdir()?;
        let args = ["--admin-addr", admin.as_str()];
        // Nothing can be started here, so the command succeeds only where it starts nothing.
        let (nowhere, opened) = (folder.path().as_os_str().to_owned(), folder.path().join("opened"));
        for (more, display) in [(&[][..], ""), (&["--no-browser"], ":7")] {
            let ran = ui(&[&args, more].concat(), &nowhere, display, &opened).await?;
            ensure!(ran.status.success() && ran.stderr.is_empty(), "{ran:?}");
        }
        let failed = ui(&args, &nowhere, ":7", &opened).await?;
        let said = String::from_utf8_lossy(&failed.stderr).into_owned();
        ensure!(
            !failed.status.success() && said.contains("cannot start xdg-open: open the address above in a browser"),
            "{said}"
        );
        ensure!(String::from_utf8_lossy(&failed.stdout).contains("/#token="), "the address comes first: {failed:?}");
        let ran = ui(&args, &with_browser()?, ":7", &opened).await?;
        let printed = String::from_utf8(ran.stdout)?;
        ensure!(ran.status.success() && printed.starts_with(&format!("http://{admin}/#token=")), "{printed}");
        eventually(SOON, "the browser to be asked", || async { Ok(fs::read_to_string(&opened)?) }).await?;
        ensure!(fs::read_to_string(&opened)? == printed, "the browser got another address than {printed}");
        Ok(())
    })
    .await
}

/// Nothing tells the plugin that its subnet is gone, so only the button brings it back.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn the_page_opens_and_acts_through_a_forwarded_port() -> Result<()> {
    let Some(browser) = Browser::find()? else { return Ok(()) };
    with_world(WorldOptions::default(), async |world: Arc<World>| {
        let uid = world.create_network("blue", "10.6.0.0/24", "10.6.0.1").await?;
        world.ready("blue").await?;
        let admin = world.host(async |host| Ok(host.admin().base().trim_start_matches("http://").to_owned())).await?;
        let forward = Forward::to(admin.parse()?).await?;
        let folder = tempfile::tempdir()?;
        let opened = folder.path().join("opened");
        let ran = ui(&["--admin-addr", &forward.address.to_string()], &with_browser()?, ":7", &opened).await?;
        ensure!(ran.status.success(), "{ran:?}");
        let url = eventually(SOON, "the browser to be asked", || async { Ok(fs::read_to_string(&opened)?) }).await?;
        let url = url.trim();
        ensure!(url.starts_with(&format!("http://{}/#token=", forward.address)) && !url.contains(&admin), "{url}");
        let (_, subnet) = world.only_network(&uid).await?;
        world.neutron.delete("subnet", &text(&subnet, "/id")).await?;
        actions::press(&browser, url, "network", "Reconcile", ("plugin network reconciles 1 objects now", "Pause"))
            .await?;
        eventually(SOON, "another subnet", || async {
            let (_, made) = world.only_network(&uid).await?;
            ensure!(text(&made, "/id") != text(&subnet, "/id"), "{made}");
            let network = world.network("blue").await?;
            ensure!(network.to_string().contains(&text(&made, "/id")), "{network:#}");
            Ok(())
        })
        .await
    })
    .await
}
