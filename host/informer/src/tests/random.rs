//! Random histories with all faults mixed: no subscriber, early or late, ever receives or reads a state that never existed, and all end
//! with the server's content.
//!
//! `OARLOCK_SEED=n` plays one history, `OARLOCK_SOAK_SECONDS=n` as many as fit into that time.

use super::*;
use oarlock_api::resource_version;
use serde_json::json;
use std::collections::BTreeMap;

/// The number of histories by default.
const HISTORIES: u64 = 200;

/// The choices of one history.
struct Dice(fastrand::Rng);

impl Dice {
    fn roll(&mut self, sides: u64) -> u64 {
        self.0.u64(..sides)
    }

    fn flip(&mut self) -> bool {
        self.roll(2) == 0
    }

    fn name(&mut self) -> String {
        let i = self.roll(6);
        format!("n{}/o{}", i % 2, i / 2)
    }
}

/// The host's last write of each object, and the responses still on their way.
#[derive(Default)]
struct Own {
    last: BTreeMap<ObjectKey, Answer>,
    under_way: Vec<Answer>,
}

#[derive(Clone)]
enum Answer {
    Object(Box<Object>),
    Gone { key: ObjectKey, uid: String },
}

impl Own {
    fn act(&mut self, server: &Server, name: &str, delete: bool) {
        let uid = server.world().objects.get(name).map(|o| o["metadata"]["uid"].as_str().unwrap().to_owned());
        match uid {
            Some(uid) if delete => {
                server.delete(name);
                self.under_way.push(Answer::Gone { key: key(name), uid });
            }
            _ => {
                let object = server.apply(name, &json!({"app": "web"}));
                self.under_way.push(Answer::Object(Box::new(Object::parse(&object.to_string()).unwrap())));
            }
        }
    }

    fn answers_arrive(&mut self, informers: &Informers) {
        for answer in self.under_way.drain(..) {
            match &answer {
                Answer::Object(object) => informers.record_object(&gvk(), object),
                Answer::Gone { key, uid } => informers.record_delete(&gvk(), key, uid),
            }
            self.last.insert(answer.key().clone(), answer);
        }
    }

    /// The store claims to be fresh only if it is.
    async fn check(&self, server: &Server, store: &Store) {
        for (key, answer) in &self.last {
            if !store.synced() || store.fresh(key, Instant::now()).await.is_err() {
                continue;
            }
            let stored = store.get(key);
            match answer {
                Answer::Gone { uid, .. } => assert_ne!(stored.map(|o| o.uid().to_owned()).as_ref(), Some(uid), "{key}"),
                Answer::Object(written) => match stored {
                    Some(stored) => {
                        let seen = resource_version::at_least(stored.resource_version(), written.resource_version());
                        assert!(seen, "{key}: {} for {}", stored.resource_version(), written.resource_version());
                    }
                    None => assert!(server.deleted_since(key, written.resource_version()), "{key} was never deleted"),
                },
            }
        }
    }
}

impl Answer {
    fn key(&self) -> &ObjectKey {
        match self {
            Self::Object(object) => object.key(),
            Self::Gone { key, .. } => key,
        }
    }
}

/// One history in progress.
struct Play {
    dice: Dice,
    server: Server,
    informers: Watching,
    followers: Vec<Follower>,
    own: Own,
    /// Since when the server lags behind; less time than a restored cluster needs.
    lagging: Option<Instant>,
}

impl Play {
    fn new(seed: u64) -> Self {
        let server = Server::new();
        server.apply("n0/o0", &json!({}));
        let informers = informers(&server);
        let followers = vec![Follower::all(&informers)];
        Self {
            dice: Dice(fastrand::Rng::with_seed(seed)),
            server,
            informers,
            followers,
            own: Own::default(),
            lagging: None,
        }
    }

    async fn play(&mut self) {
        for _ in 0..self.dice.roll(60) {
            match self.dice.roll(40) {
                0..20 => self.write(),
                20..32 => self.fault(),
                32..34 => self.subscribers(),
                _ => self.breathe().await,
            }
            if self.lagging.is_some_and(|since| since.elapsed() > Duration::from_secs(200)) {
                self.heal();
            }
        }
        self.heal();
        self.own.answers_arrive(&self.informers);
        for follower in &self.followers {
            follower.until_equal(&self.server).await;
        }
        let store = self.followers[0].store();
        self.own.check(&self.server, store).await;
        for namespace in ["n0", "n1"] {
            let options = ListOptions { namespace: Some(namespace.into()), ..ListOptions::default() };
            let scan: Vec<ObjectKey> = store.keys().into_iter().filter(|k| *k.namespace == *namespace).collect();
            assert_eq!(store.list(&options).iter().map(|o| o.key().clone()).collect::<Vec<_>>(), scan);
        }
    }

    fn write(&mut self) {
        let name = self.dice.name();
        match self.dice.roll(16) {
            0..6 => drop(self.server.apply(&name, &json!({"app": if self.dice.flip() { "web" } else { "api" }}))),
            6..9 => self.server.delete(&name),
            9..11 => {
                // Deleted and created again before any reader can see it, or in one event.
                if self.dice.flip() {
                    self.server.delete(&name);
                    self.server.apply(&name, &json!({"app": "web"}));
                } else {
                    self.server.replace(&name);
                }
            }
            11 => self.server.world().version_up(),
            _ => {
                let delete = self.dice.flip();
                self.own.act(&self.server, &name, delete);
                if self.dice.flip() {
                    self.own.answers_arrive(&self.informers);
                }
            }
        }
    }

    fn fault(&mut self) {
        let on = self.dice.flip();
        let server = self.server.clone();
        match self.dice.roll(16) {
            0 => server.close_watches(),
            1 => server.stall_watches(),
            2 | 3 => {
                server.compact();
                server.world().plain_gone = on;
                if on { server.close_watches() } else { server.send("ERROR", &expired()) }
            }
            4 => server.send("ERROR", &expired()),
            5 => server.world().repeats = on,
            6 => server.world().expire_pages = 1,
            7 => {
                let behind = self.dice.roll(8);
                let mut world = server.world();
                world.lag = on.then(|| world.version().saturating_sub(behind));
                drop(world);
                self.lagging = on.then(Instant::now);
                server.close_watches();
            }
            8 => {
                server.world().forbidden = on.then(|| "/apis/samplecrd.k8s.io/v1/".to_owned());
                server.close_watches();
            }
            9 => {
                server.world().overloaded = on.then_some(7);
                server.close_watches();
            }
            10 => server.world().delay = Duration::from_secs(if on { 0 } else { self.dice.roll(100) }),
            11 => server.send_text(if on { "no JSON" } else { "{\"type\":\"MODIFIED\",\"object\":{\"metadata\":{}}}" }),
            12 => {
                let bad = json!({"metadata": {"name": "bad", "labels": 7}});
                server.world().extra_items = if on { vec![bad] } else { vec![] };
            }
            13 => server.serve(on.then_some(true)),
            14 if on => server.world().unwatchable ^= true,
            14 => match self.dice.roll(3) {
                0 => server.world().closing ^= true,
                1 => server.world().buffering ^= true,
                _ => {
                    let mut world = server.world();
                    world.error = world.error.xor(Some(500));
                }
            },
            _ => {
                let version = server.version().to_string();
                if server.world().lag.is_none() {
                    server.bookmark(&version);
                }
            }
        }
    }

    fn subscribers(&mut self) {
        if self.dice.flip() {
            let namespace = self.dice.flip().then(|| "n1".to_owned());
            let label_selector = self.dice.flip().then(|| "app in (web)".to_owned());
            let spec = WatchSpec { namespace, label_selector, ..WatchSpec::all(gvk()) };
            self.followers.push(Follower::new(&self.informers, spec));
        } else if self.followers.len() > 1 {
            let leaves = self.dice.roll(self.followers.len() as u64);
            // The first one stays, because its own writes are checked.
            self.followers.remove(usize::try_from(leaves).unwrap().max(1));
        }
    }

    /// Lets the tasks run, for a moment or for long.
    async fn breathe(&mut self) {
        let step = Duration::from_millis([1, 50, 1500][usize::try_from(self.dice.roll(3)).unwrap()]);
        for _ in 0..self.dice.roll(40) {
            tokio::time::advance(step).await;
            self.followers.iter().for_each(Follower::check);
            self.own.check(&self.server, self.followers[0].store()).await;
        }
        self.own.answers_arrive(&self.informers);
    }

    fn heal(&mut self) {
        let lagged = self.lagging.take().is_some();
        if self.server.world().served.is_none() {
            self.server.serve(Some(true));
        }
        let mut world = self.server.world();
        (world.lag, world.forbidden, world.overloaded) = (None, None, None);
        (world.repeats, world.closing, world.unwatchable, world.delay) = (false, false, false, Duration::ZERO);
        (world.error, world.buffering) = (None, false);
        drop(world);
        if lagged {
            self.server.close_watches();
        }
    }
}

fn expired() -> serde_json::Value {
    json!({"kind": "Status", "code": 410, "reason": "Expired"})
}

/// Prints how to replay a failed history.
struct Seed(u64);

impl Drop for Seed {
    fn drop(&mut self) {
        if std::thread::panicking() {
            println!("to play it again: OARLOCK_SEED={}", self.0);
        }
    }
}

fn play(seed: u64) {
    let _told_if_it_fails = Seed(seed);
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().start_paused(true).build().unwrap();
    runtime.block_on(async { Play::new(seed).play().await });
}

#[test]
fn every_subscriber_sees_an_ordered_subsequence_and_ends_at_the_live_state() {
    let variable = |name| std::env::var(name).ok().map(|text: String| text.parse::<u64>().unwrap());
    if let Some(seed) = variable("OARLOCK_SEED") {
        return play(seed);
    }
    let first = fastrand::u64(..) >> 16;
    let began = Instant::now();
    let mut played = 0;
    match variable("OARLOCK_SOAK_SECONDS") {
        Some(seconds) => {
            while began.elapsed() < Duration::from_secs(seconds) {
                play(first + played);
                played += 1;
            }
            println!("{played} histories from {first}");
        }
        None => (0..HISTORIES).for_each(|n| play(first + n)),
    }
}
