//! What new grants add and remove, compared with those of the plugins that run now, and the RBAC that follows.

use super::inputs::Plugin;
use super::kinds::Kind;
use oarlock::grants;
use oarlock::rbac::{self, Needs};
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
    /// The rules that `oarlock rbac` prints for the plugin now and not before, and the other way round. They begin with `+` or `-`.
    pub(super) rbac: Vec<String>,
}

/// The plugins whose version or grant changes, by name.
///
/// * `kinds` - of the cluster.
pub(super) fn between(old: &[Plugin], new: &[Plugin], kinds: &[Kind]) -> Vec<GrantChange> {
    let needs = |plugin: &Plugin| {
        rbac::of(&plugin.manifest, &plugin.grants, &|kind| {
            let resources = kinds.iter().map(|kind| &kind.resource);
            let served = resources.filter(|resource| {
                (&resource.gvk.group, &resource.gvk.version, &resource.gvk.kind)
                    == (&kind.group, &kind.version, &kind.kind)
            });
            served.map(|resource| resource.plural.clone()).next()
        })
    };
    let all = |plugins: &[Plugin]| {
        plugins.iter().map(needs).fold(Needs::default(), |mut all, one| {
            all.extend(one);
            all
        })
    };
    let (all_before, all_after) = (all(old), all(new));
    // What another plugin needs, too, is no difference.
    let rules = |sign: &str, plugin: Option<&Plugin>, others: &Needs| -> Vec<String> {
        let rules = plugin.map(|plugin| needs(plugin).beyond(others).minimal().rules()).unwrap_or_default();
        rules.iter().map(|rule| format!("{sign} rbac: {rule}")).collect()
    };
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
        let rbac = [rules("+", after, &all_before), rules("-", before, &all_after)].concat();
        Some(GrantChange { plugin: name.clone(), before: version(before), after: version(after), lines, rbac })
    });
    let differs =
        |change: &GrantChange| change.before != change.after || !(change.lines.is_empty() && change.rbac.is_empty());
    changes.filter(differs).collect()
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
