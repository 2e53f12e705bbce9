//! A world with a host and the plugin that is tried, and when it has come to rest.

use super::kinds::{Resource, resource};
use super::observe::{Outcome, of_object, standing};
use super::outside::{Names, Thing, everything, normalise};
use super::plan::Plan;
use super::run::Limits;
use super::subject::Subject;
use super::verdict::{Finding, Oracle, Verdict};
use crate::harness::{Gate, Grant, HttpClient, LogLine, Upstream, World, WorldOptions, eventually, ready, text};
use anyhow::{Context, Result, ensure};
use http::Method;
use serde_json::Value;
use std::collections::BTreeSet;
use std::time::Duration;

/// How long the plugin may take to run, and resyncs to come.
const START: Duration = Duration::from_secs(60);

/// A world for one plugin.
#[derive(Debug)]
pub(super) struct Stage<'a> {
    pub(super) world: World,
    pub(super) subject: &'a Subject,
    pub(super) resource: Resource,
    /// Gates to servers that are not the world's own.
    gates: Vec<Gate>,
    targets: Vec<HttpClient>,
    /// Identities of what was there before the plugin.
    before: BTreeSet<String>,
    /// See [`Limits`].
    settle: Duration,
    /// The host looks at everything again and again.
    pub(super) resyncs: bool,
}

impl<'a> Stage<'a> {
    /// Starts a world and a host with the plugin.
    pub(super) async fn set(subject: &'a Subject, plan: &Plan, limits: &Limits) -> Result<Self> {
        let resync_seconds = plan.resync_seconds;
        let options =
            WorldOptions { resync_seconds, crd: false, network: false, host: false, ..WorldOptions::default() };
        let world = World::start(options).await?;
        for crd in &subject.crds {
            world.cluster.apply_crd(crd).await?;
        }
        let resource = resource(&world.cluster, &subject.api_version, &subject.kind).await?;
        let (mut gates, mut targets) = (Vec::new(), Vec::new());
        let mut grant = subject.grant.clone();
        for target in &subject.targets {
            let url = match &target.url {
                None => {
                    targets.push(HttpClient::new(world.neutron.url()));
                    world.neutron_gate.url()
                }
                Some(url) => {
                    let gate = Gate::open(Upstream::Http(url.clone()), world.tripwire.clone()).await?;
                    targets.push(HttpClient::new(url));
                    gates.push(gate);
                    gates.last().context("no gate")?.url()
                }
            };
            grant.http.origins.push(url.clone());
            grant.config.insert(target.key.clone(), url);
        }
        // A line for each reconcile.
        world.set_environment("OARLOCK_LOG", "info,oarlock::controller=debug");
        furnish(&world, subject).await?;
        let before = everything(&world.cluster, &targets, &subject.looks).await?;
        let before = before.iter().map(Thing::identity).collect();
        world.plugins.grant(&subject.name, &Grant::from(grant))?;
        world.plugins.place(&format!("{}.wasm", subject.name), &subject.wasm)?;
        eventually(START, &format!("{} to run", subject.name), || async {
            let plugin = world.host(async |host| host.plugin(&subject.name).await).await?;
            ensure!(text(&plugin, "/state") == "active", "{plugin}");
            Ok(())
        })
        .await?;
        Ok(Self { world, subject, resource, gates, targets, before, settle: limits.settle, resyncs: plan.resyncs() })
    }

    /// The URL path of an object.
    pub(super) fn path(&self, name: &str) -> String {
        format!("{}/{name}", self.resource.collection(Some(&self.world.namespace)))
    }

    /// The reconciles so far, as the log has them.
    pub(super) async fn log(&self) -> Result<Vec<LogLine>> {
        let name = self.subject.name.as_str();
        let about = |line: &LogLine| {
            (line.text.contains("reconcile") || line.text.contains("resync skipped"))
                && line.field("plugin").as_deref() == Some(name)
        };
        self.world.log(about).await
    }

    /// How many reconciles of an object ended so far.
    pub(super) async fn reconciled(&self, name: &str) -> Result<usize> {
        Ok(of_object(&self.log().await?, name).len())
    }

    /// How many writes the host and the plugin sent so far.
    pub(super) fn writes(&self) -> u64 {
        self.world.tripwire.count()
    }

    /// Places in all journals.
    pub(super) fn marks(&self) -> Vec<usize> {
        self.all_gates().map(Gate::mark).collect()
    }

    /// The writes after these places that mention none of `excused`.
    pub(super) fn written_since(&self, marks: &[usize], excused: &[&str]) -> Vec<String> {
        let mut written = Vec::new();
        for (gate, mark) in self.all_gates().zip(marks) {
            written.extend(gate.writes_since(*mark).iter().map(ToString::to_string));
        }
        written.retain(|write| !excused.iter().any(|name| write.contains(name)));
        written
    }

    fn all_gates(&self) -> impl Iterator<Item = &Gate> {
        [&self.world.kubernetes_gate, &self.world.neutron_gate].into_iter().chain(&self.gates)
    }

    /// What the host says of an object once it is over with it.
    ///
    /// * `mark` - only reconciles after so many count.
    pub(super) async fn verdict(&self, name: &str, mark: usize) -> Result<Verdict, Finding> {
        let ask = || async {
            let reconciles = of_object(&self.log().await?, name);
            let since = reconciles.get(mark..).unwrap_or_default();
            let verdict =
                match standing(since, self.resyncs).with_context(|| format!("the last: {:?}", since.last()))? {
                    Outcome::Synced => Verdict::InSync,
                    Outcome::Failed(why) | Outcome::Other(why) => Verdict::Error(why),
                };
            let object = self.world.cluster.get(&self.path(name)).await?.context("it is not there")?;
            self.is_told(&object, &verdict).await?;
            Ok(verdict)
        };
        eventually(self.settle, &format!("{name} to settle"), ask)
            .await
            .map_err(|error| Finding::new(Oracle::Converges, format!("{error:#}")))
    }

    /// The Ready condition, or where there is none a warning event, says the same as the host's log.
    async fn is_told(&self, object: &Value, verdict: &Verdict) -> Result<()> {
        if self.subject.manifest.manage_status {
            let ready = ready(object)?;
            let generation = object.pointer("/metadata/generation");
            ensure!(object.pointer("/status/observedGeneration") == generation, "an old status: {object}");
            let says = if *verdict == Verdict::InSync { "True" } else { "False" };
            ensure!(ready.status == says, "{verdict:?}, but Ready is {ready:?}");
        } else if let Verdict::Error(why) = verdict {
            let events = self.world.events(&text(object, "/metadata/uid")).await?;
            let warned = events.iter().any(|event| text(event, "/type") == "Warning");
            ensure!(warned, "it fails ({why}), and no event says so");
        }
        Ok(())
    }

    /// Waits until an object is gone.
    pub(super) async fn gone(&self, name: &str) -> Result<(), Finding> {
        let ask = || async {
            let left = self.world.cluster.get(&self.path(name)).await?;
            ensure!(left.is_none(), "{}", left.unwrap_or_default());
            Ok(())
        };
        eventually(self.settle, &format!("{name} to go"), ask)
            .await
            .map_err(|error| Finding::new(Oracle::LeavesNothing, format!("{error:#}")))
    }

    /// Waits until every one of these objects was reconciled so often again; whatever comes of it.
    pub(super) async fn resyncs(&self, names: &[&str], times: usize) -> Result<()> {
        let mut from = Vec::new();
        for name in names {
            from.push(self.reconciled(name).await?);
        }
        eventually(START * 2, &format!("{times} resyncs"), || async {
            let log = self.log().await?;
            for (name, from) in names.iter().zip(&from) {
                let now = of_object(&log, name).len();
                ensure!(now >= from + times, "{name}: {} so far", now - from);
            }
            Ok(())
        })
        .await
    }

    /// What was not there before the plugin.
    pub(super) async fn added(&self) -> Result<Vec<Thing>> {
        let all = everything(&self.world.cluster, &self.targets, &self.subject.looks).await?;
        Ok(all.into_iter().filter(|thing| !self.before.contains(&thing.identity())).collect())
    }

    /// The same in a spelling that can be compared with another world's, in order.
    pub(super) async fn described(&self) -> Result<Vec<String>> {
        let (namespace, ignored) = (self.world.namespace.clone(), self.subject.ignored.clone());
        let mut names = Names { namespace, ignored, ..Names::default() };
        for object in self.world.cluster.list(&self.resource.collection(None)).await? {
            names.uids.insert(text(&object, "/metadata/uid"), text(&object, "/metadata/name"));
        }
        let elsewhere = Names { sorted: true, ..names.clone() };
        let line = |thing: Thing| {
            let names = if thing.place.starts_with('/') { &elsewhere } else { &names };
            format!("{}: {}", thing.place, normalise(&thing.value, names))
        };
        let mut lines: Vec<String> = self.added().await?.into_iter().map(line).collect();
        lines.sort();
        Ok(lines)
    }

    /// Creates an object, or puts it in the place of what is there. Answers whether that changed anything.
    ///
    /// # Errors
    ///
    /// What the API server answers.
    pub(super) async fn put(&self, object: &Value, name: &str, exists: bool) -> Result<bool> {
        let collection = self.resource.collection(Some(&self.world.namespace));
        let strict = "fieldValidation=Strict&fieldManager=fuzz";
        let cluster = &self.world.cluster;
        if !exists {
            return cluster.create(&format!("{collection}?{strict}"), object).await.map(|_| true);
        }
        let path = self.path(name);
        loop {
            let live = cluster.get(&path).await?.context("it is not there")?;
            let mut whole = object.clone();
            if let (Some(fields), Some(metadata)) = (whole.as_object_mut(), live.get("metadata")) {
                let mut metadata = metadata.clone();
                for part in ["labels", "annotations"] {
                    if let (Some(all), Some(value)) =
                        (metadata.as_object_mut(), object.pointer(&format!("/metadata/{part}")))
                    {
                        all.insert(part.to_owned(), value.clone());
                    }
                }
                fields.insert("metadata".to_owned(), metadata);
            }
            match cluster.request(Method::PUT, &format!("{path}?{strict}"), "application/json", &whole).await {
                // Somebody wrote in between: the host its finalizer or status, say.
                Err(error) if crate::harness::api_code(&error) == Some(409) => {}
                other => {
                    let version = "/metadata/resourceVersion";
                    return other.map(|written| written.pointer(version) != live.pointer(version));
                }
            }
        }
    }
}

/// Starts the host, and makes what is there before the plugin.
async fn furnish(world: &World, subject: &Subject) -> Result<()> {
    let is_network = |object: &&Value| text(object, "/kind") == "Network";
    if subject.beside.iter().any(|object| is_network(&object)) {
        world.plugins.add("network", "network", &world.network_grant()?)?;
    }
    world.start_host().await?;
    for object in &subject.beside {
        let resource = resource(&world.cluster, &text(object, "/apiVersion"), &text(object, "/kind")).await?;
        let namespace = object.pointer("/metadata/namespace").and_then(Value::as_str).unwrap_or(&world.namespace);
        world.cluster.create(&resource.collection(Some(namespace)), object).await?;
    }
    for network in subject.beside.iter().filter(is_network) {
        world.ready(&text(network, "/metadata/name")).await?;
    }
    Ok(())
}
