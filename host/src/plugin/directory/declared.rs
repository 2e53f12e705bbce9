//! Plugins that people declare in objects of the API server: a file of the directory or a reference in a registry, with its grant.

use super::Stamp;
use data_encoding::HEXLOWER;
use oarlock_manifest::PluginGrant;
use sha2::{Digest as _, Sha256};
use std::collections::{BTreeMap, BTreeSet};
use std::sync::{Arc, Mutex, PoisonError};
use tokio::sync::watch;

/// Begins the names of declared plugins in snapshots; a file or a reference has no such name.
const PREFIX: &str = "Plugin/";

/// The name of a declared plugin in snapshots.
#[must_use]
pub fn key_of(plugin: &str) -> String {
    format!("{PREFIX}{plugin}")
}

/// The declared plugin with this name in snapshots.
#[must_use]
pub fn plugin_of(key: &str) -> Option<&str> {
    key.strip_prefix(PREFIX)
}

/// A grant without a file.
#[derive(Clone, Debug, PartialEq)]
pub struct InlineGrant {
    /// The grant; its name is that of the plugin.
    pub grant: PluginGrant,
    /// The limits that it states itself.
    pub stated_limits: BTreeSet<String>,
}

/// The origin of a declared plugin.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum DeclaredSource {
    /// A file of the plugin directory.
    File(String),
    /// The text of a reference in a registry. The puller has its status under [`key_of`] the plugin.
    Reference(String),
}

/// A declared plugin.
#[derive(Clone, Debug, PartialEq)]
pub struct Declared {
    /// The code.
    pub source: DeclaredSource,
    /// The grant. None: the plugin waits for one.
    pub grant: Option<Arc<InlineGrant>>,
}

impl Declared {
    /// The state of the grant, in place of that of a file.
    pub(super) fn stamp(&self) -> Option<Stamp> {
        let grant = self.grant.as_ref()?;
        let text = serde_json::to_vec(&grant.grant).unwrap_or_default();
        let limits = grant.stated_limits.iter().map(String::as_str).collect::<Vec<_>>().join(",");
        let digest = Sha256::new_with_prefix(text).chain_update(limits);
        Some(Stamp::of_text(HEXLOWER.encode(&digest.finalize())))
    }
}

/// What the present directory and the registries make of a declaration.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Fate {
    /// The plugin has its file.
    Taken,
    /// A grant file lies beside the file, which goes on by itself.
    GoesOnByItself,
    /// The reference has no result yet.
    IsPulled,
    /// It cannot be used, for a reason for people.
    Fault(String),
}

/// The declared plugins, by name. Cheap to clone: one side sets them, the plugin directory follows, and reports its faults.
#[derive(Clone, Debug)]
pub struct Declarations {
    plugins: Arc<watch::Sender<Option<BTreeMap<String, Declared>>>>,
    fates: Arc<Mutex<BTreeMap<String, (Declared, Fate)>>>,
}

impl Default for Declarations {
    fn default() -> Self {
        Self { plugins: Arc::new(watch::Sender::new(None)), fates: Arc::default() }
    }
}

impl Declarations {
    /// Replaces the declared plugins.
    pub fn set(&self, plugins: BTreeMap<String, Declared>) {
        self.plugins.send_if_modified(|before| {
            let changed = before.as_ref() != Some(&plugins);
            *before = Some(plugins);
            changed
        });
    }

    /// The declared plugins. None: not known yet.
    #[must_use]
    pub fn now(&self) -> Option<BTreeMap<String, Declared>> {
        self.plugins.borrow().clone()
    }

    /// The declarations that the plugin directory saw last, and what became of them.
    #[must_use]
    pub fn fates(&self) -> BTreeMap<String, (Declared, Fate)> {
        self.fates.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }

    pub(super) fn set_fates(&self, fates: BTreeMap<String, (Declared, Fate)>) {
        *self.fates.lock().unwrap_or_else(PoisonError::into_inner) = fates;
    }

    pub(super) fn subscribe(&self) -> watch::Receiver<Option<BTreeMap<String, Declared>>> {
        self.plugins.subscribe()
    }
}
