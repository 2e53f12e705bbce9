//! Invariant of every cache at every moment: the states of an object that it shows and delivers are an ordered subsequence of the
//! object's history at the server. In the end the cache equals a live list.

use super::{
    server::{Selection, Server},
    *,
};
use std::collections::BTreeMap;
use tokio::sync::watch;

/// Uid and resource version.
type State = (String, String);

/// Follows one subscription and compares it with the server's history.
pub(super) struct Follower {
    pub(super) subscription: Subscription,
    pub(super) told: Arc<watch::Sender<Told>>,
    /// For its handler, which the store itself owns.
    own_store: Arc<Mutex<Option<Store>>>,
    server: Server,
    selection: Selection,
    /// The newest version that the store has shown of each key.
    shown: Mutex<BTreeMap<ObjectKey, u64>>,
}

/// The changes that a subscription received, and the objects that result from them.
#[derive(Default, Clone)]
pub(super) struct Told {
    /// One word per change, such as `+default/a@105` or `-default/a`, and `synced`.
    pub(super) log: Vec<String>,
    objects: BTreeMap<ObjectKey, State>,
    /// The newest delivered version of each key.
    newest: BTreeMap<ObjectKey, u64>,
    /// At the last change the kind was not served, or not listed yet.
    parked: bool,
    /// The first change that cannot follow the ones before.
    pub(super) violation: Option<String>,
}

impl Told {
    /// * `parked` - whether the kind is not served, as far as the watch knows.
    fn take(&mut self, delta: &Delta, parked: bool, server: &Server, selection: &Selection) {
        if parked && !self.parked {
            // When the kind is served again, its objects may be unchanged, including those with a delivered end.
            self.newest.clear();
        }
        self.parked = parked;
        let verdict = self.follow(delta).and_then(|()| self.happened(delta, server, selection));
        if let Err(violation) = verdict {
            self.violation.get_or_insert(format!("{violation}: {delta:?} after {:?}", self.log));
        }
    }

    /// Whether the change can follow the ones before.
    fn follow(&mut self, delta: &Delta) -> Result<(), &'static str> {
        match delta {
            Delta::Applied { old, new, initial } => {
                let version = number(new.resource_version());
                self.log.push(format!("{}{}@{version}", if *initial { "=" } else { "+" }, new.key()));
                let before = self.objects.insert(new.key().clone(), state(new));
                if before != old.as_ref().map(|o| state(o)) {
                    return Err("a gap or a repetition: the old state is not what was told before");
                }
                if before.is_some_and(|(uid, _)| uid != new.uid()) {
                    return Err("another object, but no end of the first");
                }
                if self.newest.insert(new.key().clone(), version) >= Some(version) {
                    return Err("an older state after a newer one");
                }
            }
            Delta::Deleted(last) => {
                self.log.push(format!("-{}", last.key()));
                if self.objects.remove(last.key()).map(|(uid, _)| uid).as_deref() != Some(last.uid()) {
                    return Err("the end of what was not there");
                }
            }
            Delta::Synced => self.log.push("synced".to_owned()),
        }
        Ok(())
    }

    /// Whether the server's history contains the change.
    fn happened(&self, delta: &Delta, server: &Server, selection: &Selection) -> Result<(), &'static str> {
        match delta {
            Delta::Deleted(_) if !server.serves(selection) => Ok(()),
            Delta::Applied { new, .. } if !server.showed(new.key(), &state(new), selection) => Err("it never was so"),
            Delta::Deleted(last) => {
                let newest = self.newest.get(last.key()).copied().unwrap_or_default();
                let ended = server.ended_since(last.key(), last.uid(), newest, selection);
                if ended { Ok(()) } else { Err("it has not ended") }
            }
            Delta::Applied { .. } | Delta::Synced => Ok(()),
        }
    }
}

impl Follower {
    pub(super) fn new(watching: &Watching, spec: WatchSpec) -> Self {
        let told = Arc::new(watch::Sender::new(Told::default()));
        let selection = Selection {
            version: spec.gvk.version.clone(),
            namespace: spec.namespace.clone().unwrap_or_default(),
            web: spec.label_selector.is_some(),
        };
        let (server, sender, selected) = (watching.server.clone(), Arc::clone(&told), selection.clone());
        let own_store: Arc<Mutex<Option<Store>>> = Arc::default();
        let store = Arc::clone(&own_store);
        let handler: Handler = Arc::new(move |delta| {
            let parked = store.lock().unwrap().as_ref().is_some_and(|store| !store.synced());
            sender.send_modify(|told| told.take(delta, parked, &server, &selected));
        });
        let subscription = watching.subscribe(spec, handler);
        *own_store.lock().unwrap() = Some(subscription.store().clone());
        Self { subscription, told, own_store, server: watching.server.clone(), selection, shown: Mutex::default() }
    }

    pub(super) fn all(watching: &Watching) -> Self {
        Self::new(watching, WatchSpec::all(gvk()))
    }

    /// Waits until `condition` holds for the received changes.
    pub(super) async fn until(&self, what: &str, condition: impl Fn(&Told) -> bool) {
        let mut told = self.told.subscribe();
        let wanted = |told: &Told| told.violation.is_some() || condition(told);
        let waiting = tokio::time::timeout_at(soon(), told.wait_for(wanted)).await.map(|_| ());
        assert!(waiting.is_ok(), "never: {what}; told {:?}; {}", self.log(), self.subscription.status());
        self.check();
    }

    /// Waits until exactly the server's objects were delivered, and asserts that the store equals them.
    pub(super) async fn until_equal(&self, server: &Server) {
        let expected = self.live(server);
        self.until("equal to the server", |told| told.objects == expected).await;
        let stored: BTreeMap<_, _> = self.store().list(&ListOptions::default()).iter().map(|o| entry(o)).collect();
        assert_eq!(stored, expected);
    }

    pub(super) async fn until_told(&self, change: &str) {
        self.until(change, |told| told.log.iter().any(|entry| entry == change)).await;
    }

    pub(super) async fn until_status(&self, what: &str, condition: impl Fn(&WatchStatus) -> bool) {
        let mut status = self.subscription.store.watch_status();
        let waiting = tokio::time::timeout_at(soon(), status.wait_for(|status| condition(status))).await.map(|_| ());
        assert!(waiting.is_ok(), "never: {what}; {}", self.subscription.status());
        self.check();
    }

    /// Asserts that the changes so far, and the store's present content, are right.
    pub(super) fn check(&self) {
        assert_eq!(self.told.borrow().violation, None);
        let mut shown = self.shown.lock().unwrap();
        if !self.store().synced() {
            // When the kind is served again, its objects may be unchanged.
            shown.clear();
        }
        let stored: BTreeMap<ObjectKey, State> =
            self.store().list(&ListOptions::default()).iter().map(|o| entry(o)).collect();
        for (key, state) in &stored {
            assert!(self.server.showed(key, state, &self.selection), "{key} never was {state:?}");
            let version = number(&state.1);
            let before = shown.insert(key.clone(), version);
            assert!(before <= Some(version), "{key} went back from {before:?} to {version}");
        }
        for (key, newest) in shown.iter().filter(|(key, _)| !stored.contains_key(*key)) {
            let ended =
                !self.server.serves(&self.selection) || self.server.ended_since(key, "", *newest, &self.selection);
            assert!(ended, "{key} is not in the store, and has not ended since {newest}");
        }
        // Handlers receive a change before anything else happens.
        assert_eq!(self.told.borrow().objects, stored);
    }

    pub(super) fn log(&self) -> Vec<String> {
        self.told.borrow().log.clone()
    }

    pub(super) fn store(&self) -> &Store {
        self.subscription.store()
    }

    fn live(&self, server: &Server) -> BTreeMap<ObjectKey, State> {
        let world = server.world();
        let selected = world.objects.values().filter(|object| self.selection.selects(object));
        selected.map(|object| entry(&Object::parse(&object.to_string()).unwrap())).collect()
    }
}

impl Drop for Follower {
    fn drop(&mut self) {
        // Ends the cycle of store, handler and store.
        self.own_store.lock().unwrap().take();
    }
}

impl Server {
    fn serves(&self, selection: &Selection) -> bool {
        let world = self.world();
        world.served.is_some() && world.served_version == selection.version
    }

    /// Whether the object once had this state and was selected.
    fn showed(&self, key: &ObjectKey, (uid, version): &State, selection: &Selection) -> bool {
        let world = self.world();
        world.change_at(number(version)).is_some_and(|change| {
            let after = change.after.as_ref().filter(|_| change.about(key));
            after.is_some_and(|object| object["metadata"]["uid"] == **uid && selection.selects(object))
        })
    }

    /// Whether the object, or any object of this name if `uid` is empty, was deleted, replaced or deselected after `version`.
    fn ended_since(&self, key: &ObjectKey, uid: &str, version: u64, selection: &Selection) -> bool {
        let world = self.world();
        let mut later = world.history.iter().rev().take_while(|change| change.version > version);
        later.any(|change| {
            let goes_on = |object: &serde_json::Value| {
                selection.selects(object) && (uid.is_empty() || object["metadata"]["uid"] == *uid)
            };
            change.about(key) && !change.after.as_ref().is_some_and(goes_on)
        })
    }
}

fn number(version: &str) -> u64 {
    version.parse().unwrap()
}

fn state(object: &Object) -> State {
    (object.uid().to_owned(), object.resource_version().to_owned())
}

fn entry(object: &Object) -> (ObjectKey, State) {
    (object.key().clone(), state(object))
}
