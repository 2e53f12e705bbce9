//! Good versions that Plugin objects remember: a host without saved versions, such as one in a new Pod, can still go back to them.

use std::collections::BTreeMap;
use std::sync::Arc;
use tokio::sync::watch;

/// The good versions of the plugins when the host first read their objects. Cheap to clone.
#[derive(Clone, Debug)]
pub struct ObjectVersions {
    /// By plugin. None: the objects are not read yet.
    known: Arc<watch::Sender<Option<BTreeMap<String, ObjectVersion>>>>,
}

/// The good version of a plugin in the status of its object.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ObjectVersion {
    /// SHA-256 of its file, in hex.
    pub digest: String,
    /// A reference with a digest that has it.
    pub reference: String,
    /// SHA-256 of the file that was rolled back last, in hex, and why.
    pub rejected: Option<(String, String)>,
}

impl Default for ObjectVersions {
    fn default() -> Self {
        Self { known: Arc::new(watch::Sender::new(None)) }
    }
}

impl ObjectVersions {
    /// Sets the versions. Later calls change nothing: the host writes the objects itself.
    pub fn set_once(&self, versions: BTreeMap<String, ObjectVersion>) {
        self.known.send_if_modified(|known| {
            let first = known.is_none();
            known.get_or_insert(versions);
            first
        });
    }

    /// The version of a plugin, when the objects are read.
    ///
    /// # Cancel safety
    ///
    /// Dropping the future changes nothing.
    pub(super) async fn get(&self, plugin: &str) -> Option<ObjectVersion> {
        // An error is impossible: `self` owns the sender.
        let _ = self.known.subscribe().wait_for(Option::is_some).await;
        self.known.borrow().as_ref()?.get(plugin).cloned()
    }

    /// Forgets the version of a plugin that runs on this host by now.
    pub(super) fn remove(&self, plugin: &str) {
        self.known.send_if_modified(|known| {
            if let Some(known) = known {
                known.remove(plugin);
            }
            false
        });
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test]
    async fn the_first_versions_count_until_their_plugin_runs() {
        let of = |digest: &str| {
            let version = ObjectVersion { digest: digest.to_owned(), reference: String::new(), rejected: None };
            BTreeMap::from([("a".to_owned(), version)])
        };
        let versions = ObjectVersions::default();
        let waiting = tokio::spawn({
            let versions = versions.clone();
            async move { versions.get("a").await }
        });
        tokio::task::yield_now().await;
        assert!(!waiting.is_finished(), "the objects are not read yet");
        versions.set_once(of("1"));
        versions.set_once(of("2"));
        assert_eq!(waiting.await.unwrap().unwrap().digest, "1");
        // The load that asked may have been aborted.
        assert_eq!(versions.get("a").await.unwrap().digest, "1");
        versions.remove("a");
        assert_eq!(versions.get("a").await, None);
        versions.set_once(of("3"));
        assert_eq!(versions.get("a").await, None, "it ran");
    }
}
