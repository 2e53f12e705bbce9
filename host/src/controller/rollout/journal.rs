//! The journal of a canary: how to undo each write of the candidate that the version that runs would not have made.
//!
//! An entry is stored in the cluster before its write, as a Secret of the host for each primary. So any host can undo it, also after a crash.

use super::comparison::hash;
use super::entry::{Entry, Found, Undo, is_managed, merge, of_parts, parts, values};
use super::values::{set_back, still, uncontested, without};
use crate::api::{GroupVersionKind, ObjectKey};
use crate::apply::access::host_may_list;
use crate::apply::{Change, Identity, ObjectRef, Precondition, Propagation, WriteError, WriteIdentity, Writer};
use crate::controller::ReconcileKey;
use crate::informer::Object;
use base64::Engine as _;
use base64::prelude::BASE64_STANDARD as BASE64;
use serde::{Deserialize, Serialize};
use serde_json::{Value, json};
use std::collections::{BTreeMap, HashMap};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

/// The label of the Secrets; its value is the plugin.
const LABEL: &str = "oarlock.dev/canary";

/// The type of the Secrets.
const TYPE: &str = "oarlock.dev/canary";

/// Most bytes of one primary's journal.
const JOURNAL_BYTES: usize = 512 << 10;

/// Most primaries with a journal, of all plugins.
const MOST: usize = 20_000;

/// The journal of one primary.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
struct Journal {
    plugin: String,
    /// The rollout; see [`super::Rollout`].
    rollout: String,
    kind: [String; 3],
    namespace: String,
    name: String,
    entries: Vec<Entry>,
    /// Whether the API server has it as it is here.
    #[serde(skip)]
    stored: bool,
}

/// The journals of a host. Cheap to clone.
#[derive(Clone, Debug)]
pub struct Journals {
    namespace: Arc<str>,
    writer: Writer,
    of_plugins: Arc<Mutex<HashMap<String, BTreeMap<ReconcileKey, Journal>>>>,
}

impl Journals {
    /// * `namespace` - of the Secrets.
    #[must_use]
    pub fn new(namespace: &str, writer: Writer) -> Self {
        Self { namespace: namespace.into(), writer, of_plugins: Arc::default() }
    }

    /// The namespace of their Secrets.
    #[must_use]
    pub fn namespace(&self) -> Arc<str> {
        Arc::clone(&self.namespace)
    }

    /// Reads the journals of a plugin from the cluster: another host may have written them.
    ///
    /// # Errors
    ///
    /// The API server's error.
    pub(super) async fn load(&self, plugin: &str) -> Result<(), WriteError> {
        let label = format!("{LABEL}={plugin}");
        let secrets = self.writer.host_objects().list(&secret(), &self.namespace, &label).await?;
        let journals = secrets.iter().filter_map(|secret| match parse(secret) {
            Some(journal) if journal.plugin == plugin => Some((journal.key(), Journal { stored: true, ..journal })),
            _ => {
                let name = secret.pointer("/metadata/name").and_then(Value::as_str).unwrap_or_default();
                tracing::warn!(plugin, name, "the Secret has the label {LABEL}, but is no journal of a canary");
                None
            }
        });
        let journals: BTreeMap<ReconcileKey, Journal> = journals.collect();
        self.lock().insert(plugin.to_owned(), journals);
        Ok(())
    }

    /// Whether the host may read journals. Unknown: it may.
    pub(super) async fn may_load(&self) -> bool {
        host_may_list(self.writer.requests(), "secrets", &self.namespace).await.unwrap_or(true)
    }

    /// The primaries with a journal.
    pub(super) fn keys(&self, plugin: &str) -> Vec<ReconcileKey> {
        self.lock().get(plugin).map(|journals| journals.keys().cloned().collect()).unwrap_or_default()
    }

    /// The rollout that wrote a primary's journal. None: it has none.
    pub(super) fn rollout_of(&self, plugin: &str, key: &ReconcileKey) -> Option<String> {
        self.lock().get(plugin)?.get(key).map(|journal| journal.rollout.clone())
    }

    /// The number of primaries with a journal, of all plugins.
    #[must_use]
    pub fn len(&self) -> usize {
        self.lock().values().map(BTreeMap::len).sum()
    }

    /// Whether there is no journal.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// Stores entries, before their writes.
    ///
    /// # Errors
    ///
    /// The API server's error; [`WriteError::Denied`] beyond the limits.
    pub(super) async fn record(
        &self,
        write_identity: &WriteIdentity,
        rollout: &str,
        key: &ReconcileKey,
        found: Vec<Found>,
    ) -> Result<(), WriteError> {
        let plugin = write_identity.plugin.as_str();
        let before = self.lock().get(plugin).and_then(|journals| journals.get(key)).cloned();
        let count = self.len();
        if before.is_none() && count >= MOST {
            return Err(WriteError::Denied(format!("{MOST} objects have a journal of a canary already")));
        }
        let same = before.clone().filter(|journal| journal.rollout == rollout);
        let mut journal = same.unwrap_or_else(|| Journal::new(plugin, rollout, key));
        for found in found {
            match journal.entries.iter_mut().find(|of| of.names(&found.entry)) {
                Some(known) => known.add(found),
                None => journal.entries.push(found.entry),
            }
        }
        if journal.stored && before.as_ref() == Some(&journal) {
            return Ok(());
        }
        journal.stored = false;
        let text = serde_json::to_vec(&journal).map_err(|e| WriteError::Malformed(e.to_string()))?;
        if text.len() > JOURNAL_BYTES {
            return Err(WriteError::Denied(format!("a journal of more than {} KiB", JOURNAL_BYTES >> 10)));
        }
        let document = json!({"apiVersion": "v1", "kind": "Secret", "type": TYPE,
            "metadata": {"name": name(plugin, key), "namespace": &*self.namespace, "labels": {LABEL: plugin}},
            "data": {"journal": BASE64.encode(&text)}});
        // First, so that a reconcile that is cancelled here leaves no journal that this host does not know.
        self.lock().entry(plugin.to_owned()).or_default().insert(key.clone(), journal);
        self.writer.host_objects().apply(&write_identity.guard, &document).await?;
        // A key has one worker, so nobody changed it meanwhile.
        if let Some(journal) = self.lock().get_mut(plugin).and_then(|journals| journals.get_mut(key)) {
            journal.stored = true;
        }
        Ok(())
    }

    /// Forgets the journals of a plugin: another host may have changed them since.
    pub(in crate::controller) fn forget(&self, plugin: &str) {
        self.lock().remove(plugin);
    }

    /// Undoes the writes about a primary, unless their version was promoted, and drops its journal. Returns their objects, and why some writes
    /// stay: the API server or the grant refuses what would undo them.
    ///
    /// * `primary` - for its finalizer.
    ///
    /// # Errors
    ///
    /// The API server's error. The journal stays, so that a retry undoes the rest.
    pub(super) async fn settle(
        &self,
        write_identity: &WriteIdentity,
        key: &ReconcileKey,
        primary: Option<&Arc<Object>>,
        promoted: bool,
    ) -> Result<(Vec<ObjectRef>, Vec<String>), WriteError> {
        let plugin = write_identity.plugin.as_str();
        let (mut undone, mut refused) = (Vec::new(), Vec::new());
        let Some(journal) = self.lock().get(plugin).and_then(|journals| journals.get(key)).cloned() else {
            return Ok((undone, refused));
        };
        for entry in journal.entries.iter().rev().filter(|_| !promoted) {
            match self.undo(write_identity, key, primary, entry).await {
                Ok(()) => undone.push(entry.target()),
                // Another try would end the same, and the version that runs would never reconcile the object.
                Err(error @ (WriteError::Invalid(_) | WriteError::Denied(_) | WriteError::Malformed(_))) => {
                    refused.push(format!("{}: {error}", entry.target()));
                }
                Err(error) => return Err(error),
            }
        }
        let secret_key = ObjectKey::new(&*self.namespace, name(plugin, key).as_str());
        self.writer.host_objects().delete_any(&write_identity.guard, &secret(), &secret_key).await?;
        if let Some(journals) = self.lock().get_mut(plugin) {
            journals.remove(key);
        }
        Ok((undone, refused))
    }

    async fn undo(
        &self,
        write_identity: &WriteIdentity,
        key: &ReconcileKey,
        primary: Option<&Arc<Object>>,
        entry: &Entry,
    ) -> Result<(), WriteError> {
        let target = entry.target();
        let carry_out = async |change: Change| match self.writer.carry_out(write_identity, &change).await {
            // Its namespace or itself is gone, and with it the writes.
            Ok(()) | Err(WriteError::NotFound(_)) => Ok(()),
            Err(error) => Err(error),
        };
        match &entry.undo {
            Undo::Finalizer => {
                let live = match primary {
                    Some(_) => None,
                    // The version that runs may not watch it.
                    None => self.writer.requests().read(write_identity, Identity::Host, &key.kind, &key.key).await?,
                };
                match primary.or(live.as_ref()).filter(|object| object.has_finalizer(&write_identity.finalizer())) {
                    Some(object) => self.writer.finalizers().remove(write_identity, &key.kind, object).await,
                    None => Ok(()),
                }
            }
            Undo::Delete => {
                let live = self.read(write_identity, &target).await?;
                // Otherwise the candidate did not create it after all.
                let Some(live) = live.filter(|live| is_managed(live, write_identity)) else { return Ok(()) };
                // Somebody may make another one in its place meanwhile.
                let precondition = Precondition { uid: Some(live.uid().to_owned()), ..Precondition::default() };
                carry_out(Change::Delete { target, propagation: Propagation::Background, precondition }).await
            }
            Undo::Merge(patch) => {
                let Some((live, owned)) = self.live(write_identity, &target).await? else { return Ok(()) };
                match uncontested(patch, &live, &owned) {
                    Value::Object(left) if left.is_empty() => Ok(()),
                    left => carry_out(merge(target, left)).await,
                }
            }
            Undo::Apply { document, before } => {
                // Otherwise the version that runs makes it anew, if it is wanted.
                let Some((live, owned)) = self.live(write_identity, &target).await? else { return Ok(()) };
                // The document decides about its own fields; the others were those of another writer. They are set back before the apply,
                // because after it nobody knows any more that the candidate wrote them, and again if the apply removes them.
                let kept = still(&without(before, document), &owned);
                let set_back = async |live: &Value| match set_back(live, &kept) {
                    Some(patch) => carry_out(merge(target.clone(), patch)).await,
                    None => Ok(()),
                };
                set_back(&live).await?;
                let object = uncontested(document, &live, &owned);
                let (subresource, precondition) = (String::new(), Precondition::default());
                carry_out(Change::Apply { object, subresource, force: true, precondition }).await?;
                match self.live(write_identity, &target).await? {
                    Some((live, _)) => set_back(&live).await,
                    None => Ok(()),
                }
            }
        }
    }

    /// An object, and what the plugin wrote last of it. None: it is gone, or goes.
    async fn live(
        &self,
        write_identity: &WriteIdentity,
        target: &ObjectRef,
    ) -> Result<Option<(Value, Value)>, WriteError> {
        let live = self.read(write_identity, target).await?.filter(|live| !live.deleting());
        Ok(live.map(|live| values(&live, write_identity)))
    }

    async fn read(
        &self,
        write_identity: &WriteIdentity,
        target: &ObjectRef,
    ) -> Result<Option<Arc<Object>>, WriteError> {
        self.writer.requests().read(write_identity, Identity::Plugin, &target.kind, &target.key).await
    }

    fn lock(&self) -> MutexGuard<'_, HashMap<String, BTreeMap<ReconcileKey, Journal>>> {
        self.of_plugins.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Journal {
    fn new(plugin: &str, rollout: &str, key: &ReconcileKey) -> Self {
        Self {
            plugin: plugin.to_owned(),
            rollout: rollout.to_owned(),
            kind: parts(&key.kind),
            namespace: key.key.namespace.to_string(),
            name: key.key.name.to_string(),
            entries: Vec::new(),
            stored: false,
        }
    }

    fn key(&self) -> ReconcileKey {
        ReconcileKey { kind: Arc::new(of_parts(&self.kind)), key: ObjectKey::new(&*self.namespace, &*self.name) }
    }
}

fn parse(secret: &Value) -> Option<Journal> {
    let encoded = secret.pointer("/data/journal")?.as_str()?;
    serde_json::from_slice(&BASE64.decode(encoded).ok()?).ok()
}

fn name(plugin: &str, key: &ReconcileKey) -> String {
    let kind = key.kind.to_string();
    let number = hash(&[plugin, &kind, &key.key.namespace, &key.key.name]);
    let second = hash(&["2", plugin, &kind, &key.key.namespace, &key.key.name]);
    format!("oarlock-canary-{number:016x}{second:016x}")
}

fn secret() -> GroupVersionKind {
    GroupVersionKind::new("", "v1", "Secret")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test]
    async fn journals_are_bounded_in_number_and_bytes() {
        use crate::api::Discovery;
        use crate::grants::Grants;
        use oarlock_devserver::{DevServer, Options};
        let client = kube::Client::new(DevServer::router(Options::default()), "default");
        let discovery = Discovery::new(client.clone());
        let informers = crate::informer::Informers::new(client.clone(), discovery.clone());
        let writer = Writer::new(client, discovery, informers, crate::metrics::Metrics::new());
        let journals = Journals::new("default", writer);
        let write_identity = WriteIdentity::new("p", Arc::new(Grants::none()));
        let key = |number: usize| ReconcileKey {
            kind: GroupVersionKind::new("", "v1", "ConfigMap").into(),
            key: ObjectKey::new("n", format!("o{number}")),
        };
        let entry = |key: &ReconcileKey, bytes: usize| {
            let target = ObjectRef { kind: GroupVersionKind::clone(&key.kind), key: key.key.clone() };
            vec![Found::of(&target, Undo::Merge(json!({"data": {"x": "x".repeat(bytes)}})))]
        };
        let record = async |key: &ReconcileKey, bytes: usize| {
            journals.record(&write_identity, "r", key, entry(key, bytes)).await
        };
        record(&key(0), 10).await.unwrap();
        assert!(matches!(record(&key(1), JOURNAL_BYTES).await, Err(WriteError::Denied(_))));
        assert_eq!(journals.len(), 1);
        let full: BTreeMap<_, _> =
            (1..MOST).map(|number| (key(number), Journal::new("q", "r", &key(number)))).collect();
        journals.lock().insert("q".to_owned(), full);
        assert!(matches!(record(&key(MOST), 10).await, Err(WriteError::Denied(_))));
        // What is known already goes on.
        record(&key(0), 20).await.unwrap();

        // Another host finds the same, and nothing is left after all is settled.
        let other = Journals { of_plugins: Arc::default(), ..journals.clone() };
        other.load("p").await.unwrap();
        assert_eq!(other.keys("p"), [key(0)]);
        assert_eq!(other.rollout_of("p", &key(0)).as_deref(), Some("r"));
        let (undone, refused) = other.settle(&write_identity, &key(0), None, true).await.unwrap();
        assert!(undone.is_empty() && refused.is_empty());
        other.load("p").await.unwrap();
        assert!(other.is_empty());
    }
}
