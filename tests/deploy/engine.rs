//! The image in an engine: podman with runc. Left out where one of them, or the right to use it, is missing.

use super::image::{pack, run, stripped};
use anyhow::{Context, Result, bail, ensure};
use oarlock_tests::harness::{Cluster, HttpClient, SOON, eventually, repository_root};
use std::{
    env, fs,
    io::Write as _,
    os::unix::fs::PermissionsExt as _,
    path::{Path, PathBuf},
    process::Command,
};

/// An engine with a storage of its own. When dropped, nothing of it is left.
struct Engine {
    folder: PathBuf,
}

impl Engine {
    /// None: it cannot run a container here; why is said in a line that the test's output does not swallow.
    fn start(folder: &Path) -> Option<Self> {
        let paths = env::var_os("PATH").unwrap_or_default();
        let folders: Vec<PathBuf> = env::split_paths(&paths).chain([PathBuf::from("/usr/sbin")]).collect();
        let missing: Vec<&str> = ["podman", "runc"]
            .into_iter()
            .filter(|name| !folders.iter().any(|path| path.join(name).is_file()))
            .collect();
        let why = if !missing.is_empty() {
            format!("no {}; get it with: apt-get install --no-install-recommends podman runc", missing.join(" and no "))
        } else if !rustix::process::geteuid().is_root() {
            "only root has the rights that a container on the machine's own network needs".to_owned()
        } else {
            return Some(Self { folder: folder.to_owned() });
        };
        let _ = writeln!(std::io::stderr(), "skipped: the image in an engine: {why}");
        None
    }

    fn command(&self, args: &[&str]) -> Command {
        let mut command = Command::new("podman");
        for (option, name) in [("--root", "storage"), ("--runroot", "run"), ("--tmpdir", "tmp")] {
            command.arg(option).arg(self.folder.join(name));
        }
        // No systemd, journal or control groups are asked for.
        command.args(["--runtime", "runc", "--cgroup-manager", "cgroupfs", "--events-backend", "file"]);
        command.current_dir(&self.folder).args(args);
        command
    }

    fn podman(&self, args: &[&str]) -> Result<String> {
        run(&mut self.command(args)).map(|said| said.trim().to_owned())
    }

    /// What a container has said; its log is its standard error.
    fn logs(&self, container: &str) -> Result<String> {
        let output = self.command(&["logs", container]).output()?;
        Ok(String::from_utf8_lossy(&output.stdout).into_owned() + &String::from_utf8_lossy(&output.stderr))
    }

    /// Starts a container as a cluster would: nothing can be written but the cache, and there are no capabilities.
    fn container(&self, options: &[&str], image: &str, args: &[&str]) -> Result<String> {
        let limits = ["--ulimit", "nofile=20000:20000", "--ulimit", "nproc=4096:4096", "--pull", "never"];
        let least = ["--read-only", "--cap-drop", "all", "--security-opt", "no-new-privileges"];
        self.podman(&[&["run"], options, &limits, &least, &[image], args].concat())
    }
}

impl Drop for Engine {
    fn drop(&mut self) {
        let cleaned = [&["rm", "--all", "--force", "--time", "0"][..], &["rmi", "--all", "--force"]]
            .map(|args| self.podman(args));
        for failed in cleaned.iter().filter_map(|one| one.as_ref().err()) {
            let _ = writeln!(std::io::stderr(), "{failed:#}");
        }
    }
}

/// A grant as a cluster mounts it.
fn grants(folder: &Path) -> Result<PathBuf> {
    let to = folder.join("grants");
    fs::create_dir(&to)?;
    let from = repository_root().join(super::GRANTS).join("network.yaml");
    fs::copy(&from, to.join("network.yaml")).with_context(|| from.display().to_string())?;
    fs::set_permissions(&to, fs::Permissions::from_mode(0o755))?;
    Ok(to)
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn the_image_runs_in_an_engine_without_rights_and_ends_when_it_is_told() -> Result<()> {
    let folder = tempfile::tempdir()?;
    let Some(engine) = Engine::start(folder.path()) else { return Ok(()) };
    let image = folder.path().join("image");
    match env::var_os("IMAGE") {
        // Of `make image`: the program that is released.
        Some(layouts) => run(Command::new("cp").arg("-r").arg(layouts).arg(&image)).map(drop)?,
        None => pack(&stripped(folder.path())?, &image)?,
    }
    // Its path becomes the image's name, in which there are no capitals.
    let image = engine.podman(&["pull", "--quiet", "oci:image/oarlock"])?;
    let version = engine.container(&["--rm", "--network", "none"], &image, &["--version"])?;
    ensure!(version.starts_with(&format!("oarlock {}", env!("CARGO_PKG_VERSION"))), "{version}");

    let cluster = Cluster::start(folder.path(), false).await?;
    if cluster.is_external() {
        bail!("this test is about the embedded API server");
    }
    cluster.apply_crd(&repository_root().join("plugins/network/crd.yaml")).await?;
    let kubeconfig = folder.path().join("kubeconfig-of-container");
    fs::copy(cluster.kubeconfig(), &kubeconfig)?;
    fs::set_permissions(&kubeconfig, fs::Permissions::from_mode(0o644))?;
    let mounts = [
        format!("{}:/etc/oarlock/grants:ro", grants(folder.path())?.display()),
        format!("{}:/etc/oarlock/kubeconfig:ro", kubeconfig.display()),
    ];
    let options =
        ["--detach", "--network", "host", "--tmpfs", "/var/cache:mode=1777", "-v", &mounts[0], "-v", &mounts[1]];
    let args = [
        "run",
        "--plugins=/plugins",
        "--kubeconfig=/etc/oarlock/kubeconfig",
        "--admin-addr=127.0.0.1:0",
        "--cache-dir=/var/cache/oarlock",
        "--log-format=json",
    ];
    let container = engine.container(&options, &image, &args)?;
    let admin = eventually(SOON, "its admin address", || async {
        let said = engine.logs(&container)?;
        let address = said.split("\"admin_addr\":\"").nth(1).and_then(|rest| rest.split('"').next());
        Ok(HttpClient::new(&format!("http://{}", address.with_context(|| said.clone())?)))
    })
    .await?;
    eventually(SOON * 6, "the host in the container to be ready", || async {
        let ready = admin.get("/readyz").await?;
        ensure!(ready.status == 200, "{}", ready.text());
        Ok(())
    })
    .await?;
    let plugins = admin.get("/plugins").await?.text();
    ensure!(plugins.contains("network.wasm"), "{plugins}");
    let user = engine.podman(&["top", &container, "huser"])?;
    ensure!(user.lines().skip(1).all(|line| line.trim() == "65532"), "{user}");
    engine.podman(&["stop", "--time", "90", &container])?;
    let status = engine.podman(&["inspect", "--format", "{{.State.ExitCode}}", &container])?;
    ensure!(status == "0", "it ended with {status}: {}", engine.logs(&container)?);
    Ok(())
}
