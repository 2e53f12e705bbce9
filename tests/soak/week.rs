//! The order of things.

use super::usage::Usage;
use crate::harness::{Cluster, Grant, Host, HostOptions, PluginDir, Process, built_plugin, eventually, oarlock_binary};
use crate::torture::{Kind, Ledger};
use anyhow::{Context, Result, ensure};
use serde_json::{Value, json};
use std::{
    fmt,
    path::{Path, PathBuf},
    time::Duration,
};
use tokio::time::{Instant, sleep};

/// The namespace of the Leases.
pub(super) const LEASES: &str = "oarlock-soak";

/// How long the hosts may take to come back to what they used before. Rates of patches are forgotten within five minutes.
const CALM_DOWN: Duration = Duration::from_secs(400);

/// What an hour holds.
#[derive(Clone, Copy, Debug)]
pub struct Load {
    /// Objects that need nothing.
    pub idle: usize,
    /// Objects of each of the four other kinds.
    pub busy: usize,
    /// Swaps of each of the four plugins.
    pub swaps: usize,
    /// Watches that are cut.
    pub cuts: u64,
}

impl Default for Load {
    fn default() -> Self {
        Self { idle: 6000, busy: 15, swaps: 15, cuts: 60 }
    }
}

/// How long it is.
#[derive(Clone, Debug)]
pub struct Options {
    /// Simulated hours.
    pub hours: u32,
    /// What each of them holds.
    pub load: Load,
    /// See [`Process::spawn`].
    pub own_group: bool,
}

/// What was done, and what the hosts used.
#[derive(Clone, Debug, Default)]
pub struct Report {
    /// Simulated hours.
    pub hours: u32,
    /// Objects made and deleted.
    pub objects: usize,
    /// Versions that took another one's place.
    pub swaps: usize,
    /// Watches cut.
    pub cuts: u64,
    /// Changes of holders that the Leases count.
    pub moves: u64,
    /// Certificates of the admission servers, and tokens of the hosts.
    pub renewals: usize,
    /// Of each host: after the first hour, and in the end.
    pub usage: Vec<(Usage, Usage)>,
    /// What must not happen, in words.
    pub violations: Vec<String>,
}

impl Report {
    /// What did not hold.
    #[must_use]
    pub fn failures(&self) -> Vec<String> {
        let mut failures = self.violations.clone();
        for (number, (start, end)) in self.usage.iter().enumerate() {
            failures.extend(end.grown_since(start).into_iter().map(|grown| format!("host {number}: {grown}")));
        }
        failures
    }
}

impl fmt::Display for Report {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { hours, objects, swaps, cuts, moves, renewals, .. } = self;
        writeln!(f, "{hours} simulated hours: {objects} objects made and deleted, {swaps} swaps, {cuts} watches cut,")?;
        writeln!(f, "{moves} changes of holders of Leases, {renewals} certificates and tokens renewed")?;
        for (number, (start, end)) in self.usage.iter().enumerate() {
            writeln!(f, "\n| host {number} | after the first hour | in the end |\n| --- | --- | --- |")?;
            for (name, end) in &end.0 {
                writeln!(f, "| {name} | {:.1} | {end:.1} |", start.0.get(name).unwrap_or(&0.0))?;
            }
        }
        Ok(())
    }
}

/// Does it all.
///
/// * `tell` - is told what happens, for people.
///
/// # Errors
///
/// When something does not start, does not converge, or the API server fails. What the hosts keep for ever is in the report.
pub async fn run(options: &Options, tell: &(dyn Fn(&str) + Sync)) -> Result<Report> {
    let folder = tempfile::Builder::new().prefix("oarlock-soak-").tempdir()?;
    let result = Box::pin(lived(options, folder.path(), tell)).await;
    if result.as_ref().map_or(true, |report| !report.failures().is_empty()) {
        tell(&format!("logs are kept in {}", folder.keep().display()));
    }
    result
}

async fn lived(options: &Options, folder: &Path, tell: &(dyn Fn(&str) + Sync)) -> Result<Report> {
    let mut week = Week::start(options, folder).await?;
    tell("two hosts share five plugins");
    week.hour().await?;
    let start = week.settled(None).await?;
    let began = Instant::now();
    for hour in 1..options.hours {
        week.hour().await.with_context(|| format!("hour {hour}"))?;
        if hour % 24 == 0 {
            let memory: Vec<String> =
                week.usage().await?.iter().map(|one| format!("{:.0}", one.0.get("rss MiB").unwrap_or(&0.0))).collect();
            let seconds = began.elapsed().as_secs();
            tell(&format!("{hour} hours in {seconds} s; the hosts use {} MiB", memory.join(" and ")));
        }
    }
    let end = week.settled(Some(&start)).await?;
    let mut report = week.report().await?;
    report.hours = options.hours;
    report.usage = start.into_iter().zip(end).collect();
    Ok(report)
}

/// Everything that runs.
pub(super) struct Week {
    pub(super) load: Load,
    pub(super) cluster: Cluster,
    pub(super) ledger: Ledger,
    pub(super) namespace: String,
    pub(super) plugins: PluginDir,
    pub(super) hosts: Vec<Seat>,
    pub(super) guest: Vec<u8>,
    pub(super) hour: u32,
    pub(super) done: Report,
    _server: Process,
}

/// A host and its files.
pub(super) struct Seat {
    pub(super) host: Host,
    pub(super) folder: PathBuf,
    code: PathBuf,
}

/// The identity of a host in its Leases, without the part that is random.
pub(super) fn identity(number: usize) -> String {
    format!("soak-{number}")
}

/// The user, and the token, of the hosts in an hour.
pub(super) fn user(hour: u32) -> String {
    format!("host-{hour}")
}

impl Week {
    async fn start(options: &Options, folder: &Path) -> Result<Self> {
        let tokens: String =
            (0..=options.hours).map(|hour| format!("{0},{0},{0},\"system:masters\"\n", user(hour))).collect();
        std::fs::write(folder.join("tokens"), tokens)?;
        let kubeconfig = folder.join("kubeconfig");
        let text = |path: &Path| path.display().to_string();
        let args = [
            "apiserver",
            "--port",
            "0",
            "--kubeconfig-out",
            &text(&kubeconfig),
            "--token-file",
            &text(&folder.join("tokens")),
        ];
        let args = args.map(str::to_owned);
        let server = Process::spawn(
            "oarlock apiserver",
            &oarlock_binary()?,
            &args,
            &[],
            &folder.join("apiserver.log"),
            options.own_group,
        )?;
        let start = Duration::from_secs(30);
        let cluster = eventually(start, "the API server", || Cluster::join(kubeconfig.clone(), folder)).await?;
        let ledger = Ledger::open().await?;
        for kind in Kind::ALL {
            let (name, crd) = kind.crd();
            let path = format!("/apis/apiextensions.k8s.io/v1/customresourcedefinitions/{name}");
            cluster.apply(&path, "soak", &crd).await?;
        }
        cluster.create("/api/v1/namespaces", &json!({"metadata": {"name": LEASES}})).await?;
        let namespace = cluster.fresh_namespace().await?;
        let settings = json!({"apiVersion": "v1", "kind": "ConfigMap", "data": {"value": "s"},
            "metadata": {"name": "settings-0", "labels": {"torture": "settings"}}});
        cluster.create(&format!("/api/v1/namespaces/{namespace}/configmaps"), &settings).await?;
        for kind in Kind::ALL {
            let path = kind.path(&namespace);
            eventually(start, &format!("{path} to be served"), || cluster.list(&path)).await?;
        }
        let plugins = PluginDir::create(folder.join("plugins"))?;
        for kind in Kind::ALL {
            // A machine that is busy with other things must not roll a version back.
            let grant = kind.grant(&ledger.url()).limits(|limits| limits.deadline_seconds = 30);
            plugins.grant(kind.plugin(), &grant)?;
        }
        plugins.grant("idler-0000", &Grant::nothing().rule("", &["configmaps"], &["get", "list", "watch"]))?;
        let guest = std::fs::read(built_plugin("changeling")?)?;
        let mut week = Self {
            load: options.load,
            cluster,
            ledger,
            namespace,
            plugins,
            hosts: Vec::new(),
            guest,
            hour: 0,
            done: Report::default(),
            _server: server,
        };
        week.place_idler()?;
        for kind in Kind::ALL {
            week.place(kind, "first")?;
        }
        for number in 0..2 {
            let seat = week.seat(number, &folder.join(format!("host-{number}")), options.own_group).await?;
            week.hosts.push(seat);
        }
        // Of five plugins and of the hosts.
        eventually(start, "the Leases", || async {
            let leases = week.leases().await?.len();
            ensure!(leases == 6, "{leases} of 6");
            Ok(())
        })
        .await?;
        Ok(week)
    }

    async fn seat(&self, number: usize, folder: &Path, own_group: bool) -> Result<Seat> {
        std::fs::create_dir_all(folder.join("certificates"))?;
        self.write_credentials(folder)?;
        let text = |path: PathBuf| path.display().to_string();
        let args =
            ["--lease-namespace", LEASES, "--lease-duration-seconds", "5", "--lease-renew-deadline-seconds", "3"];
        let more = ["--lease-retry-period-seconds", "1", "--admission-addr", "127.0.0.1:0"];
        let mut args: Vec<String> = args.into_iter().chain(more).map(str::to_owned).collect();
        args.extend(["--admission-cert-dir".to_owned(), text(folder.join("certificates"))]);
        args.extend(["--identity".to_owned(), identity(number)]);
        args.extend(["--cache-dir".to_owned(), text(folder.join("cache"))]);
        let options = HostOptions {
            plugins: self.plugins.path().to_owned(),
            kubeconfig: folder.join("kubeconfig"),
            resync_seconds: None,
            args,
            // A line for each reconcile of a million objects is not what is tested.
            environment: vec![("OARLOCK_LOG", "info,oarlock::controller=warn".to_owned())],
            log: folder.join("host.log"),
            open_files: None,
            own_group,
        };
        let host = Host::start(&options).await?;
        Ok(Seat { host, folder: folder.to_owned(), code: folder.join("cache/code") })
    }

    async fn usage(&self) -> Result<Vec<Usage>> {
        let mut usage = Vec::new();
        for seat in &self.hosts {
            usage.push(Usage::of(&seat.host, &seat.code).await?);
        }
        Ok(usage)
    }

    /// What the hosts use when they have nothing to do.
    ///
    /// * `start` - it is waited until they use no more than that, for a while. None: until nothing waits.
    async fn settled(&self, start: Option<&[Usage]>) -> Result<Vec<Usage>> {
        let until = Instant::now() + CALM_DOWN;
        let zero = ["own-writes", "echoes", "tombstones", "timers", "backoffs", "patched", "events-waiting"];
        loop {
            let usage = self.usage().await?;
            let settled = match start {
                Some(start) => start.iter().zip(&usage).all(|(start, now)| now.grown_since(start).is_empty()),
                None => usage.iter().all(|one| zero.iter().all(|map| one.0.get(&format!("map {map}")) == Some(&0.0))),
            };
            if settled || Instant::now() > until {
                ensure!(settled || start.is_some(), "the hosts are still busy: {usage:?}");
                return Ok(usage);
            }
            sleep(Duration::from_secs(2)).await;
        }
    }

    async fn report(&self) -> Result<Report> {
        let mut report = self.done.clone();
        for lease in self.leases().await? {
            report.moves += lease.pointer("/spec/leaseTransitions").and_then(Value::as_u64).unwrap_or_default();
        }
        self.ledger.books(|books| report.violations.extend(books.violations().iter().cloned()));
        for seat in &self.hosts {
            let panics = seat.host.log(|line| line.text.contains("panicked"));
            report.violations.extend(panics.into_iter().map(|line| line.text));
        }
        Ok(report)
    }

    /// The Leases of the hosts.
    pub(super) async fn leases(&self) -> Result<Vec<Value>> {
        self.cluster.list(&format!("/apis/coordination.k8s.io/v1/namespaces/{LEASES}/leases")).await
    }
}
