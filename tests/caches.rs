//! The caches against a real API server over HTTP that misbehaves at random: what they tell and show was so, in that order, and
//! in the end it is what a live list shows. The same with every fault there is, on a paused clock: crate oarlock,
//! `informer::tests::random`.

use anyhow::{Context, Result, ensure};
use k8s_openapi::api::core::v1::ConfigMap;
use kube::api::{Api, DeleteParams, ListParams, ObjectMeta, PostParams};
use oarlock::{
    api::{Discovery, GroupVersionKind, client},
    informer::{Delta, Informers, ListOptions, Object, Subscription, WatchSpec},
};
use oarlock_devserver::{
    DevServer, Options, Running,
    faults::{Events, Fault, Requests, Rule},
};
use oarlock_tests::{harness::eventually, torture::Random};
use std::{
    collections::{BTreeMap, HashSet},
    sync::{Arc, Mutex, MutexGuard, PoisonError},
    time::Duration,
};

const NAMESPACE: &str = "default";
/// Rounds of writes, faults and pauses; a pause is 30 ms on average.
const ROUNDS: usize = 200;
/// Backoff may have grown to 15 s, and some requests are held for a while.
const PATIENCE: Duration = Duration::from_secs(120);

/// Name to uid and resource version.
type Objects = BTreeMap<String, (String, u64)>;

/// What one subscriber was told, and whether that can be.
#[derive(Default)]
struct Told {
    objects: Objects,
    /// The newest version told of each name.
    newest: BTreeMap<String, u64>,
    /// All states that were told.
    states: Vec<(String, String, u64)>,
    violation: Option<String>,
}

impl Told {
    fn take(&mut self, delta: &Delta) {
        let verdict = match delta {
            Delta::Applied { old, new, .. } => {
                let (name, state) = state(new);
                self.states.push((name.clone(), state.0.clone(), state.1));
                let before = self.objects.insert(name.clone(), state.clone());
                let follows = before == old.as_ref().map(|old| self::state(old).1);
                let same = before.is_none_or(|(uid, _)| uid == state.0);
                let later = self.newest.insert(name, state.1) < Some(state.1);
                follows && same && later
            }
            Delta::Deleted(last) => {
                let (name, (uid, _)) = state(last);
                self.objects.remove(&name).is_some_and(|(had, _)| had == uid)
            }
            Delta::Synced => true,
        };
        if !verdict {
            self.violation.get_or_insert_with(|| format!("{delta:?} after {:?}", self.states));
        }
    }
}

fn state(object: &Object) -> (String, (String, u64)) {
    let version = object.resource_version().parse().unwrap_or(0);
    (object.key().name.to_string(), (object.uid().to_owned(), version))
}

struct Follower {
    subscription: Subscription,
    told: Arc<Mutex<Told>>,
}

fn lock(told: &Mutex<Told>) -> MutexGuard<'_, Told> {
    told.lock().unwrap_or_else(PoisonError::into_inner)
}

impl Follower {
    fn new(informers: &Informers) -> Self {
        let told = Arc::new(Mutex::new(Told::default()));
        let taking = Arc::clone(&told);
        let spec = WatchSpec {
            namespace: Some(NAMESPACE.to_owned()),
            ..WatchSpec::all(GroupVersionKind::new("", "v1", "ConfigMap"))
        };
        let subscription = informers.subscribe(spec, Arc::new(move |delta| lock(&taking).take(delta)));
        Self { subscription, told }
    }

    fn stored(&self) -> Objects {
        self.subscription.store().list(&ListOptions::default()).iter().map(|object| state(object)).collect()
    }

    fn check(&self) -> Result<()> {
        let violation = &lock(&self.told).violation;
        ensure!(violation.is_none(), "told what cannot be: {violation:?}");
        Ok(())
    }
}

/// Writes as its user wants, past the faults, and notes all that was ever so.
struct Writer {
    maps: Api<ConfigMap>,
    history: HashSet<(String, String, u64)>,
}

impl Writer {
    async fn write(&mut self, random: &mut Random) -> Result<()> {
        let name = format!("map-{}", random.below(5));
        let exists = self.maps.get_opt(&name).await?;
        let written = match (exists, random.below(3)) {
            (Some(_), 0) => {
                self.maps.delete(&name, &DeleteParams::default()).await?;
                return Ok(());
            }
            (Some(mut map), _) => {
                map.data = Some([("value".to_owned(), random.below(1 << 30).to_string())].into());
                self.maps.replace(&name, &PostParams::default(), &map).await?
            }
            (None, _) => {
                let metadata = ObjectMeta { name: Some(name), ..ObjectMeta::default() };
                self.maps.create(&PostParams::default(), &ConfigMap { metadata, ..ConfigMap::default() }).await?
            }
        };
        self.history.insert(of(&written)?);
        Ok(())
    }

    async fn live(&self) -> Result<Objects> {
        let list = self.maps.list(&ListParams::default()).await?;
        list.items.iter().map(|map| of(map).map(|(name, uid, version)| (name, (uid, version)))).collect()
    }
}

fn of(map: &ConfigMap) -> Result<(String, String, u64)> {
    let metadata = map.metadata.clone();
    let version = metadata.resource_version.context("no version")?.parse()?;
    Ok((metadata.name.context("no name")?, metadata.uid.context("no uid")?, version))
}

/// Kinds of faults, and how many of them leave the watch open.
const FAULTS: (usize, usize) = (15, 3);

/// A fault for the requests of the host alone, that ends by itself or when all are taken away.
///
/// * `kinds` - one of the first so many.
fn fault(random: &mut Random, kinds: usize) -> Rule {
    let mut roll = |sides| random.below(sides) as u64;
    let milliseconds = roll(400);
    let after_events = Some(roll(3));
    let answer = |code, retry_after_seconds| Fault::Answer {
        code,
        reason: None,
        message: None,
        retry_after_seconds,
        after_effect: false,
    };
    let (verbs, fault): (&[&str], Fault) = match roll(kinds) {
        0 => (&["watch"], Fault::DuplicateEvents {}),
        1 => (&["watch"], Fault::DelayEvents { milliseconds }),
        2 => {
            let milliseconds = Some(milliseconds);
            (&["watch"], Fault::StallWatch { after_events, after_milliseconds: None, milliseconds })
        }
        3 => (&["watch"], Fault::CloseWatch { after_events, after_milliseconds: None, cut: false }),
        4 => (&["watch"], Fault::CloseWatch { after_events: None, after_milliseconds: None, cut: true }),
        5 | 6 => (&["watch"], Fault::ExpireWatch { after_events, after_milliseconds: None }),
        7 => (&["list", "watch"], answer(429, Some(1))),
        8 => (&["list", "watch"], answer(403, None)),
        9 => (&["list", "watch"], answer(500, None)),
        10 => (&["list", "watch"], Fault::Cut { after_effect: false }),
        11 => (&["list"], Fault::Delay { milliseconds, after_effect: true }),
        12 | 13 => {
            let versions = Some(roll(12));
            (&["list", "watch"], Fault::Stale { versions, not_older_than: None, cached_only: false })
        }
        _ => (&["list"], Fault::SlowBody { bytes: 100, milliseconds: 5 }),
    };
    let verbs = verbs.iter().map(|verb| (*verb).to_owned()).collect();
    let requests = Requests { verbs, user_agent: Some("oarlock/*".to_owned()), ..Requests::default() };
    Rule::new(fault).requests(requests).events(Events::default()).times(1 + roll(3))
}

/// Takes all faults away; how often they have struck.
fn clear(server: &Running) -> u64 {
    let struck = server.faults().rules().iter().map(|rule| rule.struck).sum();
    server.faults().clear();
    struck
}

async fn play(seed: u64) -> Result<()> {
    let mut random = Random::new(seed, 0);
    let server = DevServer::start(Options::default().controllers(false)).await?;
    let folder = tempfile::tempdir()?;
    let path = folder.path().join("kubeconfig");
    std::fs::write(&path, server.kubeconfig())?;
    let options = client::Options { kubeconfig: Some(path.clone()), context: None };
    let host = client::build(client::load_config(&options).await?)?;
    // The test's own requests have another user agent, and meet no fault.
    let own = kube::Client::try_from(client::load_config(&options).await?)?;
    let mut writer = Writer { maps: Api::namespaced(own, NAMESPACE), history: HashSet::new() };
    for map in writer.maps.list(&ListParams::default()).await? {
        writer.history.insert(of(&map)?);
    }
    let informers = Informers::new(host.clone(), Discovery::new(host));
    let mut followers = vec![Follower::new(&informers)];
    let mut struck = 0;

    for round in 0..ROUNDS {
        // After a failure the cache waits longer than all rounds take: at first it follows.
        let kinds = if round < ROUNDS / 2 { FAULTS.1 } else { FAULTS.0 };
        match random.below(16) {
            0..9 => writer.write(&mut random).await?,
            9..12 => drop(server.faults().strike(fault(&mut random, kinds))?),
            12 => struck += clear(&server),
            13 if random.below(2) == 0 => drop(server.faults().strike(Rule::new(Fault::Compact {}).times(1))?),
            14 => followers.push(Follower::new(&informers)),
            15 if followers.len() > 1 => drop(followers.remove(1)),
            _ => tokio::time::sleep(Duration::from_millis(random.below(200) as u64)).await,
        }
        followers.iter().try_for_each(Follower::check)?;
    }
    struck += clear(&server);
    followers.push(Follower::new(&informers));
    ensure!(struck > 0, "no fault has struck");
    writer.write(&mut random).await?;
    let live = writer.live().await?;
    for follower in &followers {
        eventually(PATIENCE, "the cache to be what the server has", || async {
            follower.check()?;
            let (told, stored) = (lock(&follower.told).objects.clone(), follower.stored());
            ensure!(told == live, "told {told:?} instead of {live:?}; {}", follower.subscription.status());
            ensure!(stored == live, "stored {stored:?} instead of {live:?}");
            Ok(())
        })
        .await?;
        for state in &lock(&follower.told).states {
            ensure!(writer.history.contains(state), "it never was so: {state:?}");
        }
    }
    server.shutdown().await;
    Ok(())
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn caches_tell_only_what_was_so_however_the_api_server_misbehaves() -> Result<()> {
    let seed = match std::env::var("OARLOCK_SEED") {
        Ok(seed) => seed.parse()?,
        Err(_) => u64::from(std::process::id()) << 20 ^ std::time::UNIX_EPOCH.elapsed()?.as_secs(),
    };
    play(seed).await.with_context(|| format!("to play it again: OARLOCK_SEED={seed}"))
}
