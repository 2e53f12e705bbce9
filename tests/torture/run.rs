//! The order of things.

use super::churn::{Churn, Done};
use super::host_log::HostLog;
use super::kinds::Kind;
use super::ledger::Ledger;
use super::replays::Recordings;
use super::report::Report;
use super::swaps::Swapper;
use super::verdict::{Found, Truth, Verdict};
use super::vitals::Vitals;
use crate::harness::{Cluster, Host, HostOptions, HttpClient, PluginDir, built_plugin, eventually, text};
use anyhow::{Context, Result, bail, ensure};
use futures::future::try_join_all;
use serde_json::Value;
use std::sync::Mutex;
use std::time::Duration;
use tempfile::TempDir;
use tokio::time::{Instant, sleep, sleep_until};
use tokio_util::sync::CancellationToken;

/// How long objects may take to converge, at first and in the end.
const CONVERGE: Duration = Duration::from_secs(240);
/// How long the last versions may take to run: they are compiled with what a busy machine leaves over.
const RUN: Duration = Duration::from_secs(480);

/// How often the last version of a plugin may be rolled back because the machine is busy.
const LATE: usize = 5;
/// How long the host may take to go back to what it used before.
const CALM_DOWN: Duration = Duration::from_secs(60);
/// Changes go on this long after the last swap: what is lost then no swap finds again.
const AFTERMATH: Duration = Duration::from_secs(3);

/// How hard it is.
#[derive(Clone, Debug)]
pub struct Options {
    /// Everything random comes from it.
    pub seed: u64,
    /// Of swaps and changes.
    pub period: Duration,
    /// Objects of all kinds together.
    pub objects: usize,
    /// Changes per second, of all kinds together.
    pub changes_per_second: u32,
    /// Between two swaps. None: no swaps.
    pub swap_every: Option<Duration>,
    /// How often the host is killed.
    pub kills: u32,
    /// How many recorded reconciles are replayed in the end.
    pub replays: usize,
    /// See [`Process::spawn`](crate::harness::Process::spawn).
    pub own_group: bool,
}

/// Does it all, and tells what came of it.
///
/// * `tell` - is told what happens, for people.
///
/// # Errors
///
/// When it could not be done at all: something does not start, or the API server fails. What the host did wrong is in the report.
pub async fn run(options: &Options, tell: &(dyn Fn(&str) + Sync)) -> Result<Report> {
    let folder = tempfile::Builder::new().prefix("oarlock-torture-").tempdir()?;
    let result = Torture::start(options, &folder, tell).await?.torture().await;
    let failed = result.as_ref().map_or(true, |report| !report.failures().is_empty());
    if failed {
        tell(&format!("logs are kept in {}", folder.keep().display()));
    }
    result
}

struct Torture<'a> {
    options: &'a Options,
    tell: &'a (dyn Fn(&str) + Sync),
    ledger: Ledger,
    cluster: Cluster,
    namespace: String,
    plugins: PluginDir,
    host_options: HostOptions,
    /// The admin address of the present host.
    admin: Mutex<String>,
}

impl<'a> Torture<'a> {
    async fn start(options: &'a Options, folder: &TempDir, tell: &'a (dyn Fn(&str) + Sync)) -> Result<Self> {
        let cluster = Cluster::start(folder.path(), options.own_group).await?;
        let ledger = Ledger::open().await?;
        for kind in Kind::ALL {
            let (name, crd) = kind.crd();
            let path = format!("/apis/apiextensions.k8s.io/v1/customresourcedefinitions/{name}");
            cluster.apply(&path, "torture", &crd).await?;
        }
        let namespace = cluster.fresh_namespace().await?;
        for kind in Kind::ALL {
            let path = kind.path(&namespace);
            eventually(Duration::from_secs(10), &format!("{path} to be served"), || cluster.list(&path)).await?;
        }
        let plugins = PluginDir::create(folder.path().join("plugins"))?;
        for kind in Kind::ALL {
            plugins.grant(kind.plugin(), &kind.grant(&ledger.url()))?;
        }
        // Empty: versions are the same from run to run.
        let mut args = vec!["--cache-dir".to_owned(), folder.path().join("code").display().to_string()];
        if options.replays > 0 {
            args.extend(["--recorder-mib", "64"].map(str::to_owned));
        }
        let host_options = HostOptions {
            plugins: plugins.path().to_owned(),
            kubeconfig: cluster.kubeconfig().to_owned(),
            resync_seconds: None,
            args,
            // A line for each reconcile.
            environment: vec![("OARLOCK_LOG", "info,oarlock::controller=debug".to_owned())],
            log: folder.path().join("host.log"),
            open_files: None,
            own_group: options.own_group,
        };
        Ok(Self { options, tell, ledger, cluster, namespace, plugins, host_options, admin: Mutex::default() })
    }

    async fn torture(&self) -> Result<Report> {
        let guest = std::fs::read(built_plugin("changeling")?)?;
        let mut swapper = Swapper::new(&self.plugins, guest, self.options.seed);
        swapper.place_all()?;
        let each = self.options.objects.div_ceil(Kind::ALL.len());
        let mut churns =
            Kind::ALL.map(|kind| Churn::new(&self.cluster, &self.namespace, kind, each, self.options.seed));
        try_join_all(churns.iter_mut().map(Churn::fill)).await?;
        let mut report = Report { objects: each * Kind::ALL.len(), ..Report::default() };

        let mut host = self.start_host().await?;
        (self.tell)(&format!("{} objects, and a host with four plugins", report.objects));
        let started = Instant::now();
        report.verdict = self.settled(&churns).await?;
        report.first_sync = started.elapsed();
        ensure!(report.verdict.is_clean(), "it does not even begin well: {:?}", report.failures());
        report.before = Vitals::of(&host).await?;
        (self.tell)(&format!("all converged after {:.1} s; now it begins", report.first_sync.as_secs_f64()));

        let end = Instant::now() + self.options.period;
        let stop = CancellationToken::new();
        let mut kills = Vec::new();
        let pause = Duration::from_secs(1) * u32::try_from(churns.len())? / self.options.changes_per_second.max(1);
        let changing = try_join_all(churns.iter_mut().map(|churn| churn.change(pause, &stop)));
        let torturing = async {
            let swapping = async {
                match self.options.swap_every {
                    Some(pause) => swapper.swap(pause, end).await,
                    None => Ok(()),
                }
            };
            tokio::try_join!(swapping, self.kill(&mut host, &mut kills, end))?;
            sleep_until(end).await;
            let last = match self.options.swap_every {
                Some(_) => swapper.place_all()?,
                None => Vec::new(),
            };
            let mut complaints = Vec::new();
            for (kind, version) in last {
                let ran = self.run_last(&host, &mut swapper, kind, version).await;
                complaints.extend(ran.err().map(|error| format!("{error:#}")));
            }
            (self.tell)("the last versions run");
            sleep(AFTERMATH).await;
            stop.cancel();
            anyhow::Ok(complaints)
        };
        let mut recordings = Recordings::default();
        let admin = || Some(HttpClient::new(&self.admin.lock().ok()?));
        let recording = recordings.collect(&self.cluster, &self.namespace, admin, self.options.replays);
        let recording = async {
            tokio::select! {
                recorded = recording => recorded,
                () = stop.cancelled() => Ok(()),
            }
        };
        let (_, complaints, ()) = tokio::try_join!(changing, torturing, recording)?;
        report.complaints = complaints;
        (self.tell)("nothing changes any more");

        let stopped = Instant::now();
        report.verdict = self.settled(&churns).await?;
        report.settling = stopped.elapsed();
        self.fill_in(&mut report, &churns, &swapper, &kills);
        report.after = self.calmed(&host, &report.before).await?;
        if self.options.replays > 0 {
            report.replays = recordings.replay(&swapper, &self.plugins.path().with_file_name("recordings")).await?;
        }
        report.log = HostLog::read(&std::fs::read_to_string(&self.host_options.log).context("no log of the host")?);
        Ok(report)
    }

    async fn start_host(&self) -> Result<Host> {
        let host = Host::start(&self.host_options).await?;
        if let Ok(mut admin) = self.admin.lock() {
            host.admin().base().clone_into(&mut admin);
        }
        Ok(host)
    }

    /// Kills the host as often as told, spread over the time until `end`, and starts it again.
    async fn kill(&self, host: &mut Host, kills: &mut Vec<Instant>, end: Instant) -> Result<()> {
        let pause = self.options.period / (self.options.kills + 1);
        for left in (1..=self.options.kills).rev() {
            sleep_until(end - pause * left).await;
            host.kill().await?;
            kills.push(Instant::now());
            self.ledger.host_died();
            *host = self.start_host().await?;
            (self.tell)("the host was killed, and started again");
        }
        Ok(())
    }

    /// Waits until all is as it should be, or for too long.
    async fn settled(&self, churns: &[Churn<'_>]) -> Result<Verdict> {
        let mut truth = Truth::default();
        for churn in churns {
            truth.living.extend(churn.living.iter().cloned());
            truth.settings.extend(churn.settings.clone());
        }
        let began = Instant::now();
        loop {
            let verdict = Verdict::of(&truth, &self.found().await?);
            if verdict.is_clean() || began.elapsed() > CONVERGE {
                return Ok(verdict);
            }
            sleep(Duration::from_millis(500)).await;
        }
    }

    async fn found(&self) -> Result<Found> {
        let mut found = Found::default();
        for kind in Kind::ALL {
            let objects = self.cluster.list(&kind.path(&self.namespace)).await?;
            found.objects.extend(objects.into_iter().map(|object| (kind, object)));
        }
        let children = format!("/api/v1/namespaces/{}/configmaps?labelSelector=torture%3Dchild", self.namespace);
        found.children = self.cluster.list(&children).await?;
        found.things = self.ledger.books(|books| books.things().clone());
        Ok(found)
    }

    /// Waits until a plugin runs its last version, or another good one after it.
    async fn run_last(&self, host: &Host, swapper: &mut Swapper<'_>, kind: Kind, mut version: String) -> Result<()> {
        for _ in 0..LATE {
            if self.runs(host, kind, &version).await? {
                return Ok(());
            }
            version = swapper.place_good(kind)?;
        }
        bail!("{} missed its deadline again and again", kind.plugin())
    }

    /// Waits until a plugin runs this version. False: the host rolled it back, because a reconcile waited past its deadline for the ledger,
    /// which is slow on a busy machine.
    async fn runs(&self, host: &Host, kind: Kind, version: &str) -> Result<bool> {
        let name = kind.plugin();
        eventually(RUN, &format!("{name} to run version {version}"), || async {
            let plugin: Value = host.plugin(name).await?;
            let runs = text(&plugin, "/version") == version && text(&plugin, "/state") == "active";
            let late = text(&plugin, "/next/version") == version
                && text(&plugin, "/next/reason").starts_with("rolled back")
                && text(&plugin, "/next/reason").contains("within its deadline");
            ensure!(runs || late, "{plugin}");
            Ok(runs)
        })
        .await
    }

    async fn calmed(&self, host: &Host, before: &Vitals) -> Result<Vitals> {
        let end = Instant::now() + CALM_DOWN;
        loop {
            let vitals = Vitals::of(host).await?;
            if vitals.is_back_to(before) || Instant::now() > end {
                return Ok(vitals);
            }
            sleep(Duration::from_millis(500)).await;
        }
    }

    fn fill_in(&self, report: &mut Report, churns: &[Churn<'_>], swapper: &Swapper<'_>, kills: &[Instant]) {
        report.kills = kills.len();
        report.swaps = swapper.outcome(&self.ledger, kills);
        for churn in churns {
            let Done { edits, creates, deletes } = churn.done;
            report.done.edits += edits;
            report.done.creates += creates;
            report.done.deletes += deletes;
        }
        self.ledger.books(|books| {
            let written = churns.iter().flat_map(|churn| &churn.written);
            let arrivals = written.filter_map(|(value, at)| Some(books.arrival(value)?.saturating_duration_since(*at)));
            report.arrivals = arrivals.collect();
            report.touches = books.touches();
            report.doubles = books.doubles();
            report.overlaps = books.overlaps();
            report.violations = books.violations().to_vec();
        });
    }
}
