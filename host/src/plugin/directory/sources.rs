//! The plugin directory, the plugins pulled from registries, and the plugins that objects declare, as one set of files.

use super::declared::{Declarations, Declared, DeclaredSource, Fate, key_of, plugin_of};
use super::{Candidate, DeclaredPlugin, DirectoryWatch, Error, Found, Pulled, Snapshot, Stamp};
use crate::oci::{PullStatus, PullStatuses};
use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use tokio::sync::watch;

/// A watch of all plugin files. A pulled plugin has its reference in place of a file name, and its grant is in the plugin directory. A
/// declared plugin has the name of its object there, whatever its source is, so that another source is a swap.
#[derive(Debug)]
pub struct Sources {
    folder: PathBuf,
    directory: DirectoryWatch,
    pulled: Option<PullStatuses>,
    declarations: Option<Declarations>,
    declared: Option<watch::Receiver<Option<BTreeMap<String, Declared>>>>,
    /// The last content of the directory. None: not read yet.
    local: Option<Snapshot>,
    /// The last snapshot returned.
    last: Option<Snapshot>,
    /// The number of the state of a directory that nobody watches.
    looks: Option<watch::Receiver<u64>>,
    /// Whether the last snapshot is of a time when the declarations were known.
    known: bool,
}

impl Sources {
    /// Starts watching; see [`DirectoryWatch::start`].
    ///
    /// * `pulled` - pulled plugins. None: none.
    /// * `declarations` - declared plugins. None: none.
    #[must_use]
    pub fn start(folder: PathBuf, pulled: Option<PullStatuses>, declarations: Option<Declarations>) -> Self {
        let declared = declarations.as_ref().map(Declarations::subscribe);
        let directory = DirectoryWatch::start(folder.clone());
        let (local, last, looks) = Default::default();
        Self { folder, directory, pulled, declarations, declared, local, last, looks, known: false }
    }

    /// The plugins of a directory that nobody watches; see [`DirectoryWatch::fixed`].
    ///
    /// * `looks` - the number of the present state. When it changes, the directory is read again.
    #[must_use]
    pub fn fixed(folder: PathBuf, mut looks: watch::Receiver<u64>) -> Self {
        let directory = DirectoryWatch::fixed(folder.clone(), *looks.borrow_and_update());
        let (pulled, declarations, declared, local, last) = Default::default();
        Self { folder, directory, pulled, declarations, declared, local, last, looks: Some(looks), known: false }
    }

    /// The next snapshot that differs from the last one; see [`DirectoryWatch::next`]. A pulled plugin is never removed. A plugin whose
    /// pull has no result yet is omitted. Until the declarations are known, files without a grant are omitted.
    ///
    /// # Errors
    ///
    /// As [`DirectoryWatch::next`]; pulled plugins wait then, because their grants are in the directory.
    ///
    /// # Cancel safety
    ///
    /// Nothing is lost.
    pub async fn next(&mut self) -> Result<Snapshot, Error> {
        loop {
            let known = self.local.is_some();
            let pulled = async {
                match &mut self.pulled {
                    Some(pulled) if known => pulled.changed().await,
                    _ => std::future::pending().await,
                }
            };
            let declared = async {
                match &mut self.declared {
                    Some(declared) if known => {
                        if declared.changed().await.is_err() {
                            std::future::pending::<()>().await;
                        }
                    }
                    _ => std::future::pending().await,
                }
            };
            let looks = async {
                if let Some(looks) = &mut self.looks
                    && looks.changed().await.is_ok()
                {
                    return *looks.borrow_and_update();
                }
                std::future::pending().await
            };
            tokio::select! {
                local = self.directory.next() => self.local = Some(local?),
                number = looks => self.directory = DirectoryWatch::fixed(self.folder.clone(), number),
                () = pulled => {}
                () = declared => {}
            }
            let Some(mut all) = self.local.clone() else { continue };
            self.add_pulled(&mut all);
            self.add_declared(&mut all);
            let known = self.declarations.as_ref().is_none_or(|declarations| declarations.now().is_some());
            // Who waits for the declarations hears of them, also when there are none.
            if self.last.as_ref() != Some(&all) || known != self.known {
                self.known = known;
                self.last = Some(all.clone());
                return Ok(all);
            }
        }
    }

    fn add_pulled(&self, all: &mut Snapshot) {
        let Some(pulled) = &self.pulled else { return };
        for (name, pull_status) in pulled.now().into_iter().filter(|(name, _)| plugin_of(name).is_none()) {
            let grant = all.grants.get(&format!("{}.yaml", pull_status.plugin)).cloned();
            if let Some(candidate) = candidate(&self.folder, &name, pull_status) {
                all.files.insert(name, Found { candidate, wasm: Stamp::fixed(), grant });
            }
        }
    }

    /// Adds the declared plugins. One that has its code from a file of the directory takes the place of this file.
    fn add_declared(&self, all: &mut Snapshot) {
        let Some(declarations) = &self.declarations else { return };
        let Some(declared) = declarations.now() else {
            // The grant of such a file may be in an object.
            all.files.retain(|_, found| found.grant.is_some());
            return;
        };
        let mut fates = BTreeMap::new();
        for (plugin, declared) in declared {
            let key = key_of(&plugin);
            let (found, fate) = match &declared.source {
                DeclaredSource::File(file) => match claim(all, &plugin, file, declared.grant.is_some()) {
                    Ok(Some(found)) => (Some(found), Fate::Taken),
                    Ok(None) => (None, Fate::GoesOnByItself),
                    Err(fault) => (None, Fate::Fault(fault)),
                },
                DeclaredSource::Reference(reference) => self.pulled_for(&key, reference),
            };
            if let Some(Found { candidate, wasm, .. }) = found {
                let (grant, before) = (declared.grant.clone(), candidate.declared);
                let source = before.map_or_else(|| declared.source.clone(), |before| before.source);
                let of = DeclaredPlugin { plugin: plugin.clone(), source, grant };
                let candidate = Candidate { file_name: key.clone(), declared: Some(of), ..candidate };
                all.files.insert(key, Found { candidate, wasm, grant: declared.stamp() });
            }
            fates.insert(plugin, (declared, fate));
        }
        declarations.set_fates(fates);
    }

    /// The pulled file of a declared plugin. Until a changed reference has a result, the file is the one before.
    fn pulled_for(&self, key: &str, reference: &str) -> (Option<Found>, Fate) {
        let Some(pulled) = &self.pulled else {
            return (None, Fate::Fault("this host cannot pull from registries: its log has the reason".to_owned()));
        };
        let status = pulled.now().remove(key).filter(|status| status.reference == reference);
        match status.and_then(|status| candidate(&self.folder, key, status)) {
            Some(candidate) => (Some(Found { candidate, wasm: Stamp::fixed(), grant: None }), Fate::Taken),
            None => (self.last.as_ref().and_then(|last| last.files.get(key).cloned()), Fate::IsPulled),
        }
    }

    /// Whether the declarations are known, and each pull has succeeded or failed.
    #[must_use]
    pub fn all_asked(&self) -> bool {
        let pulled = self.pulled.as_ref().map(PullStatuses::now).unwrap_or_default();
        let references = match self.declarations.as_ref().map(Declarations::now) {
            Some(None) => return false,
            Some(Some(declared)) => declared,
            None => BTreeMap::new(),
        };
        let references =
            references.iter().filter(|(_, declared)| matches!(declared.source, DeclaredSource::Reference(_)));
        let mut keys = references.map(|(plugin, _)| key_of(plugin));
        (self.pulled.is_none() || keys.all(|key| pulled.contains_key(&key)))
            && pulled.into_iter().all(|(name, pull_status)| candidate(&self.folder, &name, pull_status).is_some())
    }
}

/// Takes a file of the directory for a declared plugin. None: the file goes on by itself, because a grant file lies beside it.
///
/// * `granted` - whether the object has a grant.
fn claim(all: &mut Snapshot, plugin: &str, file: &str, granted: bool) -> Result<Option<Found>, String> {
    let Some(found) = all.files.get(file) else {
        return Err(format!(
            "spec.source.file is {file}, which is not in the plugin directory: put it there, or name another file"
        ));
    };
    if found.grant.is_none() {
        return Ok(all.files.remove(file));
    }
    let beside = Path::new(file).with_extension("yaml");
    let beside = beside.display();
    if granted {
        return Err(format!(
            "{file} has two grants, {beside} beside it and spec.grant of Plugin {plugin}: remove one of them; {beside} stays in force"
        ));
    }
    if found.candidate.own_name() != plugin {
        return Err(format!(
            "{beside} beside {file} gives it its grant and its name: remove {beside} and write spec.grant, or name this object {}",
            found.candidate.own_name()
        ));
    }
    Ok(None)
}

/// None: the pull has no result yet.
fn candidate(folder: &Path, name: &str, pull_status: PullStatus) -> Option<Candidate> {
    let PullStatus { plugin, content, refused, problem, .. } = pull_status;
    let refused = refused.map(|refused| refused.reason);
    // An unreachable registry does not stop the present version.
    let refused = refused.or_else(|| problem.filter(|_| content.is_none()));
    if content.is_none() && refused.is_none() {
        return None;
    }
    let grant = folder.join(format!("{plugin}.yaml"));
    let (path, digest) = match content {
        Some(content) => (content.path, Some(content.layer.hex().to_owned())),
        None => (PathBuf::new(), None),
    };
    let pulled = Some(Pulled { plugin, digest, grant, refused });
    Some(Candidate { pulled, ..Candidate::file(name.to_owned(), path) })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn snapshot(files: &[(&str, bool)]) -> Snapshot {
        let mut all = Snapshot::default();
        for (file, granted) in files {
            let candidate = Candidate::file((*file).to_owned(), Path::new("/plugins").join(file));
            let grant = granted.then(|| Stamp::of_text("of a file".to_owned()));
            all.files.insert((*file).to_owned(), Found { candidate, wasm: Stamp::fixed(), grant });
        }
        all
    }

    #[test]
    fn an_object_takes_a_file_without_a_grant_file_and_no_other() {
        let mut all = snapshot(&[("a.wasm", false), ("b.wasm", true)]);
        let taken = claim(&mut all, "x", "a.wasm", true).unwrap().unwrap();
        assert_eq!(taken.candidate.path, Path::new("/plugins/a.wasm"));
        assert_eq!(all.files.keys().collect::<Vec<_>>(), ["b.wasm"]);
        assert!(claim(&mut all, "b", "b.wasm", false).unwrap().is_none());
        let fault =
            |plugin: &str, file: &str, granted: bool| claim(&mut all.clone(), plugin, file, granted).unwrap_err();
        let both = fault("b", "b.wasm", true);
        assert!(both.contains("b.yaml beside it") && both.contains("Plugin b"), "{both}");
        assert!(fault("c", "b.wasm", false).contains("name this object b"));
        assert!(fault("c", "c.wasm", true).contains("not in the plugin directory"));
    }
}
