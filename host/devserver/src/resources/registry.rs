//! Registry of served resources: built-in ones and those of established CRDs.

use std::{
    collections::HashMap,
    sync::{Arc, Mutex, PoisonError, RwLock},
};

use crate::model::kinds::{Resource, builtins};

/// A consistent view of all served resources, in discovery order.
#[derive(Debug, Default, Clone)]
pub(crate) struct Served {
    resources: Vec<Arc<Resource>>,
    index: HashMap<(String, String, String), Arc<Resource>>,
}

impl Served {
    fn new(resources: Vec<Arc<Resource>>) -> Self {
        let index =
            resources.iter().map(|r| ((r.group.clone(), r.version.clone(), r.plural.clone()), Arc::clone(r))).collect();
        Self { resources, index }
    }

    /// The resource of a path.
    pub(crate) fn find(&self, group: &str, version: &str, plural: &str) -> Option<&Arc<Resource>> {
        self.index.get(&(group.to_owned(), version.to_owned(), plural.to_owned()))
    }

    /// All resources.
    pub(crate) fn all(&self) -> &[Arc<Resource>] {
        &self.resources
    }

    /// The resources of a group version, in discovery's order.
    pub(crate) fn of<'a>(&'a self, group: &'a str, version: &'a str) -> impl Iterator<Item = &'a Arc<Resource>> {
        self.resources.iter().filter(move |r| r.group == group && r.version == version)
    }

    /// The versions of a group, preferred first.
    pub(crate) fn versions(&self, group: &str) -> Vec<&str> {
        let mut versions: Vec<&str> = Vec::new();
        for r in self.resources.iter().filter(|r| r.group == group) {
            if !versions.contains(&r.version.as_str()) {
                versions.push(&r.version);
            }
        }
        if self.resources.iter().any(|r| r.group == group && r.custom.is_some()) {
            versions.sort_by(|a, b| rank(b).cmp(&rank(a)).then_with(|| a.cmp(b)));
        }
        versions
    }

    /// The groups besides the core group.
    pub(crate) fn groups(&self) -> Vec<&str> {
        let mut groups: Vec<&str> = Vec::new();
        for r in self.resources.iter().filter(|r| !r.group.is_empty()) {
            if !groups.contains(&r.group.as_str()) {
                groups.push(&r.group);
            }
        }
        groups
    }

    /// Whether a group is built in.
    pub(crate) fn builtin_group(&self, group: &str) -> bool {
        self.resources.iter().any(|r| r.group == group && r.custom.is_none())
    }

    /// A resource by its kind.
    pub(crate) fn by_kind(&self, group: &str, version: &str, kind: &str) -> Option<&Arc<Resource>> {
        self.resources.iter().find(|r| r.group == group && r.version == version && r.kind == kind)
    }
}

/// Kubernetes' order of versions: stable before beta before alpha, higher numbers first; other names last.
fn rank(version: &str) -> (u8, u64, u64) {
    let Some(rest) = version.strip_prefix('v') else { return (0, 0, 0) };
    let digits = rest.find(|c: char| !c.is_ascii_digit()).unwrap_or(rest.len());
    let (number, tail) = rest.split_at(digits);
    let Ok(number) = number.parse() else { return (0, 0, 0) };
    if tail.is_empty() {
        return (3, number, 0);
    }
    for (stage, prefix) in [(2, "beta"), (1, "alpha")] {
        if let Some(minor) = tail.strip_prefix(prefix).and_then(|m| m.parse().ok()) {
            return (stage, number, minor);
        }
    }
    (0, 0, 0)
}

/// The present [`Served`]; readers take a copy of the pointer.
#[derive(Debug)]
pub(crate) struct Registry {
    builtin: Vec<Arc<Resource>>,
    current: RwLock<Arc<Served>>,
    building: Mutex<()>,
}

impl Registry {
    /// The built-in kinds alone.
    pub(crate) fn new() -> Self {
        let builtin: Vec<Arc<Resource>> = builtins().into_iter().map(Arc::new).collect();
        let current = RwLock::new(Arc::new(Served::new(builtin.clone())));
        Self { builtin, current, building: Mutex::default() }
    }

    /// The present resources.
    pub(crate) fn served(&self) -> Arc<Served> {
        Arc::clone(&self.current.read().unwrap_or_else(PoisonError::into_inner))
    }

    /// Replaces the custom resources by the result of `build`; one builder at a time.
    pub(crate) fn rebuild_custom(&self, build: impl FnOnce(&[Arc<Resource>]) -> Vec<Arc<Resource>>) {
        let _one = self.building.lock().unwrap_or_else(PoisonError::into_inner);
        let before = self.served();
        let mut all = self.builtin.clone();
        all.extend(build(before.all()));
        *self.current.write().unwrap_or_else(PoisonError::into_inner) = Arc::new(Served::new(all));
    }
}

#[cfg(test)]
mod tests {
    use super::rank;

    #[test]
    fn stable_versions_come_before_beta_and_alpha() {
        let mut versions = ["foo1", "v1alpha2", "v11beta2", "v2", "v1", "v3beta1", "v11alpha2", "v10"];
        versions.sort_by(|a, b| rank(b).cmp(&rank(a)).then_with(|| a.cmp(b)));
        assert_eq!(versions, ["v10", "v2", "v1", "v11beta2", "v3beta1", "v11alpha2", "v1alpha2", "foo1"]);
    }
}
