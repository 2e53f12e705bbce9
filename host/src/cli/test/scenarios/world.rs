//! The world of a scenario: an embedded API server, HTTP stubs, and a host that can restart.

use super::Plugin;
use super::cluster::{Cluster, DEFAULT, Fault, Seen, text};
use super::format::ObjectRef;
use super::takeover::Partition;
use axum::extract::Request;
use axum::middleware::{self, Next};
use axum::response::{IntoResponse as _, Response};
use data_encoding::HEXLOWER;
use http::header::{HeaderValue, USER_AGENT};
use http::{Method, StatusCode};
use oarlock::api::GroupVersionKind;
use oarlock::grants::Grants;
use oarlock::plugin::{HttpGate, HttpStubs};
use oarlock::runtime::{SimulatedHost, SimulatedHostOptions};
use oarlock_devserver::{ClusterCopy, DevServer, IN_PROCESS_WEBHOOKS};
use oarlock_manifest::{Limits, PluginGrant};
use serde_json::Value;
use sha2::{Digest as _, Sha256};
use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;
use std::sync::atomic::{AtomicBool, Ordering::Relaxed};
use std::sync::{Arc, Mutex, PoisonError};

/// The user agent of the steps.
const RUNNER: &str = "oarlock-test";

/// Writes that a failure of `quiet` shows.
const SHOWN_WRITES: usize = 5;

/// The accepted writes of hosts, except for events.
#[derive(Clone, Debug, Default)]
struct Writes(Arc<Mutex<(u64, Vec<String>)>>);

impl Writes {
    /// Their number, and the first ones for people, since the last time.
    fn take(&self) -> (u64, Vec<String>) {
        std::mem::take(&mut self.0.lock().unwrap_or_else(PoisonError::into_inner))
    }

    fn note(&self, write: String) {
        let mut noted = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        noted.0 += 1;
        if noted.1.len() < SHOWN_WRITES {
            noted.1.push(write);
        }
    }
}

/// A request that writes more than an event, for people. None: it does not.
fn write_of(request: &Request) -> Option<String> {
    let path = request.uri().path();
    let dry = request.uri().query().is_some_and(|query| query.contains("dryRun="));
    let writes = request.method() != Method::GET && !dry && !path.contains("/events");
    writes.then(|| format!("{} {path}", request.method()))
}

/// A running host, and whether it is cut off.
pub(super) struct Generation {
    pub(super) host: SimulatedHost,
    pub(super) cut: Arc<AtomicBool>,
    /// How often a fault of a service crashed the hosts before it.
    crashes: u64,
    /// Whether a fault crashed it, or it is cut off.
    pub(super) is_down: Cut,
    pub(super) partition: Partition,
}

/// Whether a client is cut off.
pub(super) type Cut = Arc<dyn Fn() -> bool + Send + Sync>;

/// See the module.
pub(super) struct World<'p> {
    plugin: &'p Plugin,
    server: Arc<ClusterCopy>,
    pub(super) cluster: Cluster,
    pub(super) stubs: HttpStubs,
    writes: Writes,
    /// With the plugin and its grant. A link, because the plugin is the same for all scenarios.
    folder: &'p Path,
    pub(super) generation: Option<Generation>,
    /// The host from which the present one took over, while it runs.
    pub(super) former: Option<Generation>,
    /// Whether hosts have Leases: only where one takes over from another.
    leases: bool,
    starts: u32,
    swaps: usize,
    /// Reconciles of earlier hosts.
    pub(super) earlier: u64,
    /// The uids of the events so far, in their order.
    events: Vec<String>,
    /// The faults that are gone and never struck.
    pub(super) idle: Vec<String>,
}

impl<'p> World<'p> {
    /// An API server without a host. Must be called on the runtime of the scenario.
    ///
    /// * `folder` - of the plugins of the host; still empty.
    /// * `leases` - whether hosts have Leases.
    pub(super) fn new(plugin: &'p Plugin, folder: &'p Path, leases: bool) -> Self {
        let server = Arc::new(DevServer::copy_of(Vec::new(), oarlock_devserver::Options::default()));
        let cluster = Cluster::new(client(&server, RUNNER, Arc::new(|| false), None, None));
        let (stubs, writes, generation, former, events) = Default::default();
        let (starts, swaps, earlier, idle) = (0, 0, 0, Vec::new());
        Self {
            plugin,
            server,
            cluster,
            stubs,
            writes,
            folder,
            generation,
            former,
            leases,
            starts,
            swaps,
            earlier,
            events,
            idle,
        }
    }

    /// The grant of the plugin: the operator's, or all that the manifest asks for.
    pub(super) async fn grant(&self, config: BTreeMap<String, String>, limits: Option<Limits>) -> PluginGrant {
        let mut plurals = BTreeMap::new();
        let manifest = &self.plugin.manifest;
        let kinds = manifest.primaries.iter().map(oarlock_manifest::Primary::gvk);
        for kind in kinds.chain(manifest.watches.iter().map(oarlock_manifest::Watch::gvk)) {
            let named = GroupVersionKind::new(kind.group.as_str(), kind.version.as_str(), kind.kind.as_str());
            if let Ok(Some(resource)) = self.cluster.resolve(&named).await {
                plurals.insert(named, resource.plural);
            }
        }
        let plural = |kind: &oarlock_manifest::Kind| {
            let named = GroupVersionKind::new(kind.group.as_str(), kind.version.as_str(), kind.kind.as_str());
            plurals.get(&named).cloned()
        };
        let mut grant = match self.plugin.grant.clone() {
            Some(grant) => grant,
            None => PluginGrant {
                definitions: self.plugin.definitions.clone(),
                ..Grants::asked(manifest, config.clone(), &plural)
            },
        };
        // A machine of an author has no file of a secret: the scenario has its value.
        grant.secret_files.retain(|key, _| !config.contains_key(key));
        grant.config.extend(config);
        grant.limits = limits.unwrap_or(grant.limits);
        grant
    }

    /// Starts a host, and waits until its plugin reconciles.
    pub(super) async fn start(&mut self) -> Result<(), Fault> {
        let generation = self.launch();
        self.lead(generation).await
    }

    /// Makes a host the present one, and waits until its plugin reconciles.
    pub(super) async fn lead(&mut self, mut generation: Generation) -> Result<(), Fault> {
        let is_down = Arc::clone(&generation.is_down);
        self.server.answer_webhooks(generation.host.webhooks(), move || !is_down());
        let ready = generation.host.ready().await;
        self.generation = Some(generation);
        ready?;
        self.rest().await;
        Ok(())
    }

    /// Starts a host. With Leases it is a standby while another host leads.
    pub(super) fn launch(&mut self) -> Generation {
        self.starts += 1;
        let cut = Arc::<AtomicBool>::default();
        let agent = |client: &str| format!("{client}/{} start-{}", env!("CARGO_PKG_VERSION"), self.starts);
        // A fault that crashed an earlier host says nothing about this one.
        let (stubs, crashes_before, off) = (self.stubs.clone(), self.stubs.crashes(), Arc::clone(&cut));
        let off: Cut = Arc::new(move || off.load(Relaxed) || stubs.crashes() > crashes_before);
        let partition = Partition::default();
        let divided = self.leases.then(|| partition.clone());
        let (writes, server) = (Some(self.writes.clone()), &self.server);
        let of_server = client(server, &agent("oarlock"), Arc::clone(&off), writes, divided.clone());
        let (server, earlier) = (Arc::clone(&self.server), self.crashes());
        let is_down: Cut = Arc::new(move || off() || crashes(&server).difference(&earlier).next().is_some());
        // Rules are about requests of "oarlock/*": they strike what a plugin does, not a renewal of its Lease.
        let of_leases = || client(&self.server, &agent("oarlock-leases"), Arc::clone(&is_down), None, divided);
        let leases = self.leases.then(of_leases);
        let gate = Arc::clone(&is_down);
        let http = HttpGate::stubs(self.stubs.clone(), move || gate());
        let manifest = &self.plugin.manifest;
        let called = !manifest.admission.is_empty() || !manifest.conversions.is_empty();
        let options = SimulatedHostOptions {
            plugins: self.folder.to_owned(),
            engine: self.plugin.engine.clone(),
            http,
            webhooks: called.then(|| IN_PROCESS_WEBHOOKS.to_owned()),
        };
        let host = SimulatedHost::start(of_server, leases, options);
        Generation { host, cut, crashes: crashes_before, is_down, partition }
    }

    /// Ends the host, as a signal does.
    ///
    /// * `crash` - it ends at once: nothing that it still does reaches the API server or a service.
    pub(super) async fn end(&mut self, crash: bool) {
        self.end_former();
        let Some(Generation { host, cut, crashes, .. }) = self.generation.take() else { return };
        self.earlier += host.reconciles();
        self.server.answer_webhooks(None, || false);
        if crash || !self.crashes().is_empty() || self.stubs.crashes() > crashes {
            cut.store(true, Relaxed);
            host.abandon();
        } else {
            host.stop().await;
        }
    }

    /// Puts another version of the plugin into the folder, and waits until it runs.
    ///
    /// * `file` - its file. None: the plugin again, with another digest.
    pub(super) async fn swap(&mut self, file: Option<&Path>) -> Result<(), Fault> {
        let versions = self.plugin.swaps.get(&file.map(Path::to_owned)).map(Vec::as_slice).unwrap_or_default();
        let bytes = versions.iter().cycle().nth(self.swaps % 2).map(Vec::as_slice).unwrap_or_default();
        self.swaps += 1;
        let path = self.folder.join(format!("{}.wasm", self.plugin.manifest.name));
        let written = path.with_extension("new");
        let put = std::fs::write(&written, bytes).and_then(|()| std::fs::rename(&written, &path));
        put.map_err(|error| vec![format!("cannot write {}: {error}", path.display())])?;
        if let Some(former) = &self.former {
            former.host.read_again();
        }
        match &self.generation {
            Some(generation) => generation.host.swap(&HEXLOWER.encode(&Sha256::digest(bytes))).await,
            None => Ok(()),
        }
    }

    /// Waits until nothing is left to do before the next timer, and takes note of events.
    pub(super) async fn rest(&mut self) {
        for generation in self.generation.iter().chain(&self.former) {
            generation.host.rest().await;
        }
        let known: BTreeSet<&String> = self.events.iter().collect();
        let mut new: Vec<(u64, String)> = Vec::new();
        for event in self.cluster.list_at("/api/v1/events").await {
            let text = |pointer: &str| event.pointer(pointer).and_then(Value::as_str).unwrap_or_default().to_owned();
            let uid = text("/metadata/uid");
            if !known.contains(&uid) {
                new.push((text("/metadata/resourceVersion").parse().unwrap_or_default(), uid));
            }
        }
        new.sort();
        self.events.extend(new.into_iter().map(|(_, uid)| uid));
    }

    /// The ids of the fault rules that crashed a client.
    fn crashes(&self) -> BTreeSet<String> {
        crashes(&self.server)
    }

    pub(super) fn faults(&self) -> oarlock_devserver::faults::Faults<'_> {
        self.server.faults()
    }

    /// Takes note of the faults that never struck, before they go.
    ///
    /// * `id` - of the fault that goes. None: all go.
    pub(super) fn note_idle(&mut self, id: Option<&str>) {
        let rules = self.faults().rules().into_iter().filter(|report| report.struck == 0).map(|report| report.rule.id);
        let going = rules.chain(self.stubs.idle_faults()).filter(|fault| id.is_none_or(|id| id == fault));
        let named = going.map(|fault| if fault.is_empty() { "of services".to_owned() } else { fault });
        let idle: Vec<String> = named.collect();
        self.idle.extend(idle);
    }

    /// The number of writes of hosts since the last time, to the API server and to services, and the first ones for people.
    pub(super) fn take_writes(&self) -> (u64, Vec<String>) {
        let (count, mut first) = self.writes.take();
        let of_services = self.stubs.take_writes();
        let total = count + of_services.len() as u64;
        first.extend(of_services);
        first.truncate(SHOWN_WRITES);
        (total, first)
    }

    /// How many reconciles of the running hosts ended.
    pub(super) fn reconciles(&self) -> u64 {
        self.generation.iter().chain(&self.former).map(|generation| generation.host.reconciles()).sum()
    }

    /// How many reconciles ended.
    pub(super) fn all_reconciles(&self) -> u64 {
        self.earlier + self.reconciles()
    }

    /// Everything there is.
    pub(super) async fn everything(&self) -> Seen {
        let events = self.all_events().await;
        let (objects, collections) = (self.cluster.objects().await, self.stubs.records());
        Seen { objects, events, collections, lines: Vec::new() }
    }

    /// The events of an object, in their order.
    pub(super) async fn events_of(&self, named: &ObjectRef) -> Vec<Value> {
        let mut events = self.all_events().await;
        events.retain(|event| {
            let is = |field: &str, wanted: &str| text(event, &format!("/involvedObject/{field}")) == wanted;
            let namespace = text(event, "/involvedObject/namespace");
            // A step may leave the namespace out.
            let there = namespace == named.namespace || (named.namespace.is_empty() && namespace == DEFAULT);
            is("kind", &named.kind) && is("name", &named.name) && (there || namespace.is_empty())
        });
        events
    }

    /// All events, in their order.
    pub(super) async fn all_events(&self) -> Vec<Value> {
        let order: BTreeMap<&str, usize> = self.events.iter().enumerate().map(|(at, uid)| (uid.as_str(), at)).collect();
        let mut events = self.cluster.list_at("/api/v1/events").await;
        events.sort_by_key(|event| order.get(text(event, "/metadata/uid")).copied().unwrap_or(usize::MAX));
        events
    }
}

impl Drop for World<'_> {
    /// The service refers to the server.
    fn drop(&mut self) {
        self.server.answer_webhooks(None, || false);
    }
}

fn crashes(server: &ClusterCopy) -> BTreeSet<String> {
    server.faults().rules().into_iter().filter(|report| report.crashed).map(|report| report.rule.id).collect()
}

/// A client of the API server.
///
/// * `cut` - whether the client is cut off.
/// * `writes` - counts the writes.
/// * `partition` - of the host. None: there will be none.
fn client(
    server: &ClusterCopy,
    user_agent: &str,
    cut: Cut,
    writes: Option<Writes>,
    partition: Option<Partition>,
) -> kube::Client {
    let agent = HeaderValue::from_str(user_agent).unwrap_or_else(|_| HeaderValue::from_static(RUNNER));
    let through = move |mut request: Request, next: Next| {
        let (agent, cut, writes, partition) = (agent.clone(), Arc::clone(&cut), writes.clone(), partition.clone());
        async move {
            if cut() || partition.as_ref().is_some_and(Partition::is_there) {
                return StatusCode::SERVICE_UNAVAILABLE.into_response();
            }
            let write = write_of(&request);
            request.headers_mut().insert(USER_AGENT, agent);
            let response: Response = next.run(request).await;
            // A refused write changes nothing: it is the retry of a failure.
            if let (Some(writes), Some(write), true) = (writes, write, response.status().is_success()) {
                writes.note(write);
            }
            match partition {
                Some(partition) => partition.cut(response),
                None => response,
            }
        }
    };
    kube::Client::new(server.router().layer(middleware::from_fn(through)), DEFAULT)
}
