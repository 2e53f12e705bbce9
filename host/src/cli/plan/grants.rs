//! What new grants add and remove, compared with those of the plugins that run now.

use super::inputs::Plugin;
use oarlock::grants;
use oarlock_manifest::{GrantedHttp, PluginGrant};
use std::collections::{BTreeMap, BTreeSet};

/// A plugin whose version or grant changes.
#[derive(Debug)]
pub(super) struct GrantChange {
    pub(super) plugin: String,
    /// The version that runs now. None: the plugin does not run now.
    pub(super) before: Option<String>,
    /// The planned version. None: the plugin is not part of the plan.
    pub(super) after: Option<String>,
    /// Lines of the grant that begin with `+` or `-`, or with `~` for a configuration key with another value.
    pub(super) lines: Vec<String>,
}

/// The plugins whose version or grant changes, by name.
pub(super) fn between(old: &[Plugin], new: &[Plugin]) -> Vec<GrantChange> {
    let names: BTreeSet<&String> = old.iter().chain(new).map(|plugin| &plugin.manifest.name).collect();
    let of = |plugins: &'_ [Plugin], name: &str| plugins.iter().position(|plugin| plugin.manifest.name == name);
    let changes = names.into_iter().filter_map(|name| {
        let before = of(old, name).and_then(|at| old.get(at));
        let after = of(new, name).and_then(|at| new.get(at));
        let lines = match (before, after) {
            (Some(before), Some(after)) => grants::difference(&before.grant, &after.grant),
            (Some(before), None) => grants::difference(&before.grant, &empty(&before.grant)),
            (None, Some(after)) => grants::difference(&empty(&after.grant), &after.grant),
            (None, None) => return None,
        };
        let version = |plugin: Option<&Plugin>| plugin.map(|plugin| plugin.manifest.version.clone());
        Some(GrantChange { plugin: name.clone(), before: version(before), after: version(after), lines })
    });
    changes.filter(|change| change.before != change.after || !change.lines.is_empty()).collect()
}

/// A grant of nothing, with the same limits.
fn empty(grant: &PluginGrant) -> PluginGrant {
    PluginGrant {
        partial: false,
        permissions: Vec::new(),
        cleanup: false,
        manage_status: false,
        admission: Vec::new(),
        conversions: Vec::new(),
        definitions: Vec::new(),
        http: GrantedHttp::default(),
        config: BTreeMap::new(),
        secret_files: BTreeMap::new(),
        workers: None,
        resync_seconds: None,
        ..grant.clone()
    }
}
