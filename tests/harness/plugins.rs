//! Plugin directory of a test: copies of built plugins, and their grants.

use anyhow::{Context, Result, ensure};
use oarlock_manifest::{GrantedAdmission, GrantedHttp, Limits, PluginGrant, PolicyRule, SafeRequest};
use std::{
    collections::BTreeMap,
    env, fs,
    path::{Path, PathBuf},
};

/// The repository's root folder, with `plugins/`, `wit/` and the rest.
#[must_use]
pub fn repository_root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).parent().unwrap_or_else(|| Path::new(".")).to_owned()
}

/// The output folder of `make test-plugins` (or of `make plugins`, without the tests' guests), unless `OARLOCK_PLUGINS` names another
/// one.
fn built() -> Result<PathBuf> {
    if let Some(folder) = env::var_os("OARLOCK_PLUGINS") {
        return Ok(folder.into());
    }
    let own = env::current_exe()?;
    // target/debug/deps/e2e-… or target/debug/demo
    let targets = own.ancestors().skip(1).take(3);
    let mut folders = targets.flat_map(|target| [target.join("plugins/tests"), target.join("plugins/out")]);
    Ok(folders.find(|folder| folder.is_dir()).unwrap_or_else(|| repository_root().join("target/plugins/tests")))
}

/// A built plugin, for example `network`.
///
/// # Errors
///
/// The plugin has not been built.
pub fn built_plugin(name: &str) -> Result<PathBuf> {
    let path = built()?.join(format!("{name}.wasm"));
    ensure!(path.is_file(), "{} is not built: run `make test-plugins`", path.display());
    Ok(path)
}

/// Whether the Go guests are built. Go is the one language that `make languages` omits where its tools are unavailable; a test reports
/// what it then skips.
#[must_use]
#[expect(clippy::print_stderr, reason = "what was not tested is said; the runner captures it")]
pub fn go_was_built() -> bool {
    let missing = built_plugin("namespace-baseline-go").and(built_plugin("unruly-go")).err();
    if let Some(missing) = &missing {
        eprintln!("without Go: {missing}");
    }
    missing.is_none()
}

/// Those of the languages that this run tests: all of them, or those in `OARLOCK_LANGUAGES`, separated by spaces. Go only where it was built.
#[must_use]
pub fn tested_languages(languages: &[&'static str]) -> Vec<&'static str> {
    let wanted = env::var("OARLOCK_LANGUAGES").ok();
    let is_wanted = |language: &str| wanted.as_ref().is_none_or(|all| all.split(' ').any(|one| one == language));
    languages.iter().copied().filter(|language| is_wanted(language) && (*language != "go" || go_was_built())).collect()
}

/// The grant and configuration of a plugin, `NAME.yaml` beside `NAME.wasm`.
#[derive(Clone, Debug)]
pub struct Grant(PluginGrant);

impl From<PluginGrant> for Grant {
    fn from(grant: PluginGrant) -> Self {
        Self(grant)
    }
}

impl Default for Grant {
    fn default() -> Self {
        Self::nothing()
    }
}

impl Grant {
    /// A grant without permissions.
    #[must_use]
    pub fn nothing() -> Self {
        Self(PluginGrant {
            api_version: oarlock_manifest::API_VERSION.to_owned(),
            kind: "PluginGrant".to_owned(),
            name: None,
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
            limits: Limits::default(),
            workers: None,
            resync_seconds: None,
            rollout: None,
        })
    }

    /// Grants every verb on these resources of a group.
    #[must_use]
    pub fn resources(self, group: &str, resources: &[&str]) -> Self {
        self.rule(group, resources, &["get", "list", "watch", "create", "update", "patch", "delete"])
    }

    /// Grants these verbs on these resources of a group, everywhere.
    #[must_use]
    pub fn rule(self, group: &str, resources: &[&str], verbs: &[&str]) -> Self {
        self.rule_in("", group, resources, verbs)
    }

    /// Grants these verbs on these resources of a group.
    ///
    /// * `namespace` - only in this namespace; empty: everywhere.
    #[must_use]
    pub fn rule_in(mut self, namespace: &str, group: &str, resources: &[&str], verbs: &[&str]) -> Self {
        let owned = |texts: &[&str]| texts.iter().map(|&text| text.to_owned()).collect();
        self.0.permissions.push(PolicyRule {
            api_groups: vec![group.to_owned()],
            resources: owned(resources),
            verbs: owned(verbs),
            resource_names: Vec::new(),
            namespaces: Some(namespace.to_owned()).filter(|name| !name.is_empty()).into_iter().collect(),
        });
        self
    }

    /// Grants admission reviews of these operations on a resource of a group.
    #[must_use]
    pub fn admission(mut self, operations: &[&str], group: &str, resource: &str) -> Self {
        self.0.admission.push(GrantedAdmission {
            operations: operations.iter().map(|&operation| operation.to_owned()).collect(),
            api_groups: vec![group.to_owned()],
            resources: vec![resource.to_owned()],
            ..GrantedAdmission::default()
        });
        self
    }

    /// Grants all admission rules of the manifest.
    #[must_use]
    pub fn all_admission(self) -> Self {
        self.admission_with(|_| {})
    }

    /// The same, on other terms.
    #[must_use]
    pub fn admission_with(mut self, change: impl FnOnce(&mut GrantedAdmission)) -> Self {
        let any = || vec!["*".to_owned()];
        let mut granted = GrantedAdmission {
            operations: any(),
            api_groups: any(),
            resources: vec!["*/*".to_owned()],
            ..GrantedAdmission::default()
        };
        change(&mut granted);
        self.0.admission.push(granted);
        self
    }

    /// Lets the host install and upgrade this definition.
    #[must_use]
    pub fn definition(mut self, definition: &str) -> Self {
        self.0.definitions.push(definition.to_owned());
        self
    }

    /// Grants the conversion of objects of this definition.
    #[must_use]
    pub fn conversion(mut self, definition: &str) -> Self {
        self.0.conversions.push(definition.to_owned());
        self
    }

    /// Grants requests to this origin.
    #[must_use]
    pub fn origin(mut self, origin: &str) -> Self {
        self.0.http.origins.push(origin.to_owned());
        self
    }

    /// Grants requests in a dry run.
    ///
    /// * `path` - the whole path, or its end when it begins with `*`.
    #[must_use]
    pub fn safe_request(mut self, method: &str, path: &str) -> Self {
        self.0.http.safe_requests.push(SafeRequest { method: method.to_owned(), path: path.to_owned() });
        self
    }

    /// Sets the plugin's name, instead of that of its file.
    #[must_use]
    pub fn name(mut self, name: &str) -> Self {
        self.0.name = Some(name.to_owned());
        self
    }

    /// Grants the plugin's finalizer on its primaries.
    #[must_use]
    pub fn cleanup(mut self) -> Self {
        self.0.cleanup = true;
        self
    }

    /// Grants the status of its primaries.
    #[must_use]
    pub fn manage_status(mut self) -> Self {
        self.0.manage_status = true;
        self
    }

    /// Accepts that the grant is smaller than the manifest asks for.
    #[must_use]
    pub fn partial(mut self) -> Self {
        self.0.partial = true;
        self
    }

    /// Sets a configuration value.
    #[must_use]
    pub fn config(mut self, key: &str, value: &str) -> Self {
        self.0.config.insert(key.to_owned(), value.to_owned());
        self
    }

    /// Changes the default limits.
    #[must_use]
    pub fn limits(mut self, change: impl FnOnce(&mut Limits)) -> Self {
        change(&mut self.0.limits);
        self
    }

    /// Sets a configuration value that is read from a file.
    #[must_use]
    pub fn secret_file(mut self, key: &str, file: &Path) -> Self {
        self.0.secret_files.insert(key.to_owned(), file.display().to_string());
        self
    }

    /// Sets the number of concurrent reconciles.
    #[must_use]
    pub fn workers(mut self, workers: u32) -> Self {
        self.0.workers = Some(workers);
        self
    }

    /// Sets the resync period of this plugin in seconds.
    #[must_use]
    pub fn resync_seconds(mut self, seconds: u32) -> Self {
        self.0.resync_seconds = Some(seconds);
        self
    }

    /// States the steps of a rollout: `rollout` of a grant.
    ///
    /// # Errors
    ///
    /// It does not have the shape of a rollout.
    pub fn rollout(mut self, steps: &serde_json::Value) -> Result<Self> {
        self.0.rollout = Some(serde_json::from_value(steps.clone())?);
        Ok(self)
    }
}

/// The network plugin's grant for a Neutron without authentication at this address.
#[must_use]
pub fn network_grant_for(url: &str) -> Grant {
    let reads = ["get", "list", "watch"];
    Grant::nothing()
        .rule("samplecrd.k8s.io", &["networks"], &reads)
        .cleanup()
        .manage_status()
        .conversion("networks.samplecrd.k8s.io")
        .origin(url)
        .safe_request("POST", "*/auth/tokens")
        .config("neutronUrl", url)
}

/// A plugin directory.
#[derive(Debug)]
pub struct PluginDir(PathBuf);

impl PluginDir {
    /// The number of plugins in it.
    ///
    /// # Errors
    ///
    /// The directory cannot be read.
    pub fn count(&self) -> Result<usize> {
        let files = fs::read_dir(self.path())?.collect::<std::io::Result<Vec<_>>>()?;
        Ok(files.iter().filter(|file| file.path().extension().is_some_and(|extension| extension == "wasm")).count())
    }

    /// Creates an empty directory.
    ///
    /// # Errors
    ///
    /// The folder cannot be created.
    pub fn create(path: PathBuf) -> Result<Self> {
        fs::create_dir_all(&path).with_context(|| path.display().to_string())?;
        Ok(Self(path))
    }

    /// Its path.
    #[must_use]
    pub fn path(&self) -> &Path {
        &self.0
    }

    /// Adds a built plugin.
    ///
    /// * `source` - name of the built plugin.
    /// * `name` - name of its files here.
    ///
    /// # Errors
    ///
    /// The plugin has not been built or cannot be copied.
    pub fn add(&self, source: &str, name: &str, grant: &Grant) -> Result<()> {
        self.grant(name, grant)?;
        let from = built_plugin(source)?;
        fs::copy(&from, self.0.join(format!("{name}.wasm"))).with_context(|| from.display().to_string())?;
        Ok(())
    }

    /// Writes a grant.
    ///
    /// # Errors
    ///
    /// The file cannot be written.
    pub fn grant(&self, name: &str, grant: &Grant) -> Result<()> {
        // JSON is valid YAML.
        Ok(fs::write(self.0.join(format!("{name}.yaml")), serde_json::to_vec_pretty(&grant.0)?)?)
    }

    /// Puts a complete file in place by renaming it.
    ///
    /// # Errors
    ///
    /// The file cannot be written.
    pub fn place(&self, name: &str, content: &[u8]) -> Result<()> {
        let beside = self.0.join(format!(".{name}.new"));
        fs::write(&beside, content)?;
        Ok(fs::rename(&beside, self.0.join(name))?)
    }

    /// Removes a file.
    ///
    /// # Errors
    ///
    /// The file does not exist.
    pub fn remove(&self, name: &str) -> Result<()> {
        fs::remove_file(self.0.join(name)).with_context(|| name.to_owned())
    }

    /// Writes any file.
    ///
    /// # Errors
    ///
    /// The file cannot be written.
    pub fn file(&self, name: &str, content: &[u8]) -> Result<()> {
        Ok(fs::write(self.0.join(name), content)?)
    }
}

/// The same plugin in a file with another digest: the addition is a custom section without meaning.
///
/// * `mark` - at most 100 bytes.
#[must_use]
pub fn with_another_digest(component: &[u8], mark: &str) -> Vec<u8> {
    let content = [&[4], &b"mark"[..], mark.as_bytes()].concat();
    let size = u8::try_from(content.len()).unwrap_or(0x7f);
    [component, &[0, size], &content].concat()
}

/// Invalid plugin files: a name, the bytes, and a word of the expected reason.
///
/// * `whole` - a valid plugin to break.
#[must_use]
pub fn broken_plugins(whole: &[u8]) -> Vec<(&'static str, Vec<u8>, &'static str)> {
    let half = whole.get(..whole.len() / 2).unwrap_or_default().to_vec();
    let mut corrupt = whole.to_vec();
    for byte in corrupt.iter_mut().skip(whole.len() / 3).take(64) {
        *byte = 0xff;
    }
    vec![
        ("empty", Vec::new(), "wasm"),
        ("text", b"#!/bin/sh\necho I am not wasm\n".to_vec(), "wasm"),
        ("truncated", half, "broken"),
        ("corrupt", corrupt, "not a valid component"),
        ("bare-module", b"\0asm\x01\0\0\0".to_vec(), "component type"),
        ("bare-component", b"\0asm\x0d\0\x01\0".to_vec(), "oarlock:reconciler/reconcile"),
        ("other-version", replaced(whole, b"@0.1.0", b"@0.9.0"), "0.9.0"),
        ("missing-export", replaced(whole, b"@0.1.0#patch", b"@0.1.0#pitch"), "patch"),
    ]
}

/// `bytes` with every `from` replaced by `to`, which has the same length.
fn replaced(bytes: &[u8], from: &[u8], to: &[u8]) -> Vec<u8> {
    let mut out = Vec::with_capacity(bytes.len());
    let mut rest = bytes;
    while let Some(byte) = rest.first() {
        if let Some(after) = rest.strip_prefix(from) {
            out.extend_from_slice(to);
            rest = after;
        } else {
            out.push(*byte);
            rest = rest.get(1..).unwrap_or_default();
        }
    }
    out
}
