//! What the ledger knows and counts. No IO.

use std::collections::{HashMap, VecDeque};
use tokio::time::Instant;

/// Ended reconciles that are remembered for each key.
const REMEMBERED: usize = 8;

/// Violations that are kept word for word.
const KEPT: usize = 20;

/// Who asks, and about what.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Touch {
    /// Plugin.
    pub plugin: String,
    /// Its version.
    pub version: String,
    /// One reconcile.
    pub correlation: String,
    /// Of the object; with the plugin it is the key of the host's queue.
    pub name: String,
    /// Of the object.
    pub uid: String,
}

impl Touch {
    /// From `plugin/version/correlation/name/uid`.
    #[must_use]
    pub fn parse(path: &str) -> Option<Self> {
        let mut parts = path.split('/').map(str::to_owned);
        let (plugin, version, correlation) = (parts.next()?, parts.next()?, parts.next()?);
        let (name, uid) = (parts.next()?, parts.next()?);
        let whole = parts.next().is_none() && !name.is_empty() && !uid.is_empty();
        whole.then_some(Self { plugin, version, correlation, name, uid })
    }
}

/// Something that exists outside Kubernetes.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Thing {
    /// Which plugin made it.
    pub plugin: String,
    /// Its value.
    pub value: String,
}

/// The reconciles that touched a key.
#[derive(Debug, Default)]
struct Key {
    now: String,
    version: String,
    before: VecDeque<String>,
}

/// What exists, who touched what, and what must not happen.
#[derive(Debug, Default)]
pub struct Books {
    things: HashMap<String, Vec<Thing>>,
    keys: HashMap<(String, String), Key>,
    first: HashMap<(String, String), Instant>,
    values: HashMap<String, Instant>,
    touches: u64,
    doubles: u64,
    overlaps: u64,
    violations: Vec<String>,
}

impl Books {
    /// Notes that a reconcile works on a key.
    ///
    /// Reconciles of one key may follow each other, but not interleave: one that speaks again after another one has begun was
    /// at work at the same time.
    pub fn touch(&mut self, touch: &Touch) {
        self.touches += 1;
        self.first.entry((touch.plugin.clone(), touch.version.clone())).or_insert_with(Instant::now);
        let key = self.keys.entry((touch.plugin.clone(), touch.name.clone())).or_default();
        if key.now == touch.correlation {
            return;
        }
        if key.before.contains(&touch.correlation) {
            self.overlaps += 1;
            let said = format!(
                "{} {}: reconcile {} of version {} at the same time as {} of version {}",
                touch.plugin, touch.name, touch.correlation, touch.version, key.now, key.version
            );
            self.violated(said);
            return;
        }
        let ended = std::mem::replace(&mut key.now, touch.correlation.clone());
        key.version.clone_from(&touch.version);
        key.before.push_back(ended);
        if key.before.len() > REMEMBERED {
            key.before.pop_front();
        }
    }

    /// The value of an object's thing, the oldest if there are several.
    #[must_use]
    pub fn value(&self, uid: &str) -> Option<&str> {
        self.things.get(uid).and_then(|things| things.first()).map(|thing| thing.value.as_str())
    }

    /// Makes a thing, also when there is one: that is counted.
    pub fn create(&mut self, touch: &Touch, value: &str) {
        let things = self.things.entry(touch.uid.clone()).or_default();
        things.push(Thing { plugin: touch.plugin.clone(), value: value.to_owned() });
        if things.len() > 1 {
            self.doubles += 1;
            self.violated(format!("{} {}: a second thing for {}", touch.plugin, touch.name, touch.uid));
        }
        self.arrived(value);
    }

    /// Gives an object's thing another value. False: there is none.
    pub fn update(&mut self, touch: &Touch, value: &str) -> bool {
        let Some(thing) = self.things.get_mut(&touch.uid).and_then(|things| things.first_mut()) else { return false };
        value.clone_into(&mut thing.value);
        self.arrived(value);
        true
    }

    /// Removes what is there for an object.
    pub fn delete(&mut self, touch: &Touch) {
        self.things.remove(&touch.uid);
    }

    /// Everything that exists, by the object's uid.
    #[must_use]
    pub fn things(&self) -> &HashMap<String, Vec<Thing>> {
        &self.things
    }

    /// When a version of a plugin was first at work.
    #[must_use]
    pub fn first(&self, plugin: &str, version: &str) -> Option<Instant> {
        self.first.get(&(plugin.to_owned(), version.to_owned())).copied()
    }

    /// When a value first arrived; of `a+b` only the `a`.
    #[must_use]
    pub fn arrival(&self, value: &str) -> Option<Instant> {
        self.values.get(value).copied()
    }

    /// Requests so far.
    #[must_use]
    pub fn touches(&self) -> u64 {
        self.touches
    }

    /// How often a second thing was made for an object.
    #[must_use]
    pub fn doubles(&self) -> u64 {
        self.doubles
    }

    /// How often two reconciles were at work on one key.
    #[must_use]
    pub fn overlaps(&self) -> u64 {
        self.overlaps
    }

    /// The first violations, in words.
    #[must_use]
    pub fn violations(&self) -> &[String] {
        &self.violations
    }

    fn arrived(&mut self, value: &str) {
        let value = value.split('+').next().unwrap_or(value);
        self.values.entry(value.to_owned()).or_insert_with(Instant::now);
    }

    fn violated(&mut self, what: String) {
        if self.violations.len() < KEPT {
            self.violations.push(what);
        }
    }
}
