//! The plugin that is tried, and everything it needs.

use super::source::Source;
use crate::harness::oarlock;
use anyhow::{Context, Result, bail, ensure};
use oarlock_manifest::{PluginGrant, PluginManifest};
use oarlock_schema::Crd;
use serde_json::{Map, Value, json};
use std::{
    collections::BTreeSet,
    fs,
    path::{Path, PathBuf},
};

/// Files and options, as a user gives them.
#[derive(Clone, Debug, Default)]
pub struct Files {
    /// The plugin.
    pub plugin: PathBuf,
    /// Definitions of the kinds it works with; the first that defines one of its primaries gives the schema. Beside those
    /// `crd.yaml` and `NAME.crd.yaml` beside the plugin are taken.
    pub crds: Vec<PathBuf>,
    /// Objects of a primary: the only source for a kind without a definition, and help for one whose rules are hard to meet.
    pub base: Option<PathBuf>,
    /// Objects that are there before the plugin, in YAML; Networks among them are kept by the plugin network, with the same Neutron.
    pub beside: Option<PathBuf>,
    /// The grant; else `NAME.yaml` beside the plugin; else what it asks for.
    pub grant: Option<PathBuf>,
    /// `KEY=URL`: the server whose address the plugin finds under this key of its configuration; `KEY=neutron`: a Neutron
    /// emulator of each world. Keys that the manifest names as origins are taken with the addresses of the grant.
    pub targets: Vec<String>,
    /// URL paths of those servers whose content counts.
    pub looks: Vec<String>,
    /// JSON pointers to what cannot be changed while an object lives, though the schema does not say so.
    pub fixed: Vec<String>,
    /// Names of fields that are not compared.
    pub ignored: Vec<String>,
}

/// A server that the plugin sends requests to.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Target {
    /// Its key of the configuration.
    pub(super) key: String,
    /// None: a Neutron emulator of each world.
    pub(super) url: Option<String>,
}

/// The plugin that is tried.
#[derive(Clone, Debug)]
pub struct Subject {
    /// Its name, from the manifest.
    pub name: String,
    pub(super) wasm: Vec<u8>,
    pub(super) manifest: PluginManifest,
    pub(super) grant: PluginGrant,
    pub(super) crds: Vec<PathBuf>,
    /// What is there before it.
    pub(super) beside: Vec<Value>,
    /// What its objects may look like.
    pub source: Source,
    pub(super) api_version: String,
    pub(super) kind: String,
    /// What the primary's label selector asks for.
    pub(super) labels: Map<String, Value>,
    pub(super) targets: Vec<Target>,
    pub(super) looks: Vec<String>,
    pub(super) ignored: BTreeSet<String>,
}

impl Subject {
    /// Reads everything, and asks `oarlock inspect` what the plugin is.
    ///
    /// # Errors
    ///
    /// When it is no plugin, has no primary, or there is neither a definition nor an example of one.
    pub async fn load(files: &Files) -> Result<Self> {
        let wasm = fs::read(&files.plugin).with_context(|| files.plugin.display().to_string())?;
        let shown = files.plugin.display().to_string();
        let told = asked(&["inspect", &shown, "--json"]).await?;
        let told: Value = serde_json::from_str(&told)?;
        let manifest: PluginManifest = serde_json::from_value(told.get("manifest").cloned().unwrap_or_default())?;
        let beside = |name: &str| Some(files.plugin.with_file_name(name)).filter(|path| path.is_file());
        let stem = files.plugin.file_stem().unwrap_or_default().to_string_lossy().into_owned();
        let grant_file = files.grant.clone().or_else(|| beside(&format!("{stem}.yaml")));
        let grant = match grant_file {
            Some(path) => read(&path)?,
            None => asked(&["grant", &shown]).await?,
        };
        let grant: PluginGrant = serde_saphyr::from_str(&grant).context("the grant")?;
        let mut crds = files.crds.clone();
        crds.extend(["crd.yaml".to_owned(), format!("{stem}.crd.yaml")].iter().filter_map(|name| beside(name)));
        let targets = targets(files, &manifest, &grant)?;
        let (examples, beside) = (documents(files.base.as_deref())?, documents(files.beside.as_deref())?);
        let (source, api_version, kind) = source(&manifest, &crds, examples, files.fixed.clone())?;
        let primary = manifest.primaries.iter().find(|one| one.kind == kind).context("no primary of that kind")?;
        let pairs =
            primary.label_selector.split(',').filter_map(|one| one.replace("==", "=").split_once('=').map(owned));
        let labels = pairs.filter(|(key, _)| !key.ends_with('!')).map(|(key, value)| (key, json!(value))).collect();
        Ok(Self {
            name: grant.name.clone().unwrap_or_else(|| manifest.name.clone()),
            wasm,
            grant,
            crds,
            beside,
            source,
            api_version,
            kind,
            labels,
            targets,
            looks: files.looks.clone(),
            ignored: files.ignored.iter().cloned().collect(),
            manifest,
        })
    }

    /// An object as it is written: with a name, and the labels that make it the plugin's.
    pub(super) fn named(&self, object: &Value, name: &str) -> Value {
        let mut object = object.clone();
        let metadata = object.get("metadata").and_then(Value::as_object);
        let of =
            |key: &str| metadata.and_then(|meta| meta.get(key)).and_then(Value::as_object).cloned().unwrap_or_default();
        let (mut labels, annotations) = (of("labels"), of("annotations"));
        labels.extend(self.labels.clone());
        let metadata = json!({"name": name, "labels": labels, "annotations": annotations});
        if let Some(fields) = object.as_object_mut() {
            fields.insert("metadata".to_owned(), metadata);
            fields.remove("status");
        }
        object
    }
}

fn owned((key, value): (&str, &str)) -> (String, String) {
    (key.trim().to_owned(), value.trim().to_owned())
}

async fn asked(args: &[&str]) -> Result<String> {
    let told = oarlock(args).await?;
    ensure!(told.status.success(), "{}", String::from_utf8_lossy(&told.stderr).trim());
    Ok(String::from_utf8(told.stdout)?)
}

fn read(path: &Path) -> Result<String> {
    fs::read_to_string(path).with_context(|| path.display().to_string())
}

/// The objects in a file of YAML.
fn documents(file: Option<&Path>) -> Result<Vec<Value>> {
    let Some(file) = file else { return Ok(Vec::new()) };
    let documents: Vec<Value> =
        serde_saphyr::from_multiple(&read(file)?).with_context(|| file.display().to_string())?;
    Ok(documents.into_iter().filter(Value::is_object).collect())
}

fn targets(files: &Files, manifest: &PluginManifest, grant: &PluginGrant) -> Result<Vec<Target>> {
    let mut targets = Vec::new();
    for told in &files.targets {
        let (key, url) = told.split_once('=').with_context(|| format!("{told:?} is not KEY=URL"))?;
        targets.push(Target { key: key.to_owned(), url: Some(url.to_owned()).filter(|url| url != "neutron") });
    }
    for key in &manifest.http.origins_from_config {
        let url = grant.config.get(key).filter(|url| !url.is_empty()).cloned();
        if let Some(url) = url.filter(|_| !targets.iter().any(|target| target.key == *key)) {
            targets.push(Target { key: key.clone(), url: Some(url) });
        }
    }
    Ok(targets)
}

/// Where objects come from, and of which kind they are.
fn source(
    manifest: &PluginManifest,
    crds: &[PathBuf],
    examples: Vec<Value>,
    fixed: Vec<String>,
) -> Result<(Source, String, String)> {
    let api_version = |group: &str, version: &str| {
        if group.is_empty() { version.to_owned() } else { format!("{group}/{version}") }
    };
    let is_of = |object: &Value, primary: &oarlock_manifest::Primary| {
        let field = |key: &str| object.get(key).and_then(Value::as_str);
        field("apiVersion") == Some(&api_version(&primary.group, &primary.version))
            && field("kind") == Some(&primary.kind)
    };
    for path in crds {
        let document: Value = serde_saphyr::from_str(&read(path)?).with_context(|| path.display().to_string())?;
        let crd = Crd::parse(&document).map_err(|errors| {
            let errors: Vec<_> = errors.iter().map(ToString::to_string).collect();
            anyhow::anyhow!("{}: {}", path.display(), errors.join("; "))
        })?;
        let primary = manifest.primaries.iter().find(|one| one.group == crd.group && one.kind == crd.names.kind);
        // Of several primaries, that of the examples is meant.
        let meant = |primary: &&oarlock_manifest::Primary| {
            examples.is_empty() || examples.iter().any(|object| is_of(object, primary))
        };
        let Some(primary) = primary.filter(meant) else { continue };
        let known = crd.versions.iter().any(|version| version.name == primary.version);
        ensure!(known, "{} does not define version {}", path.display(), primary.version);
        let (version, kind) = (primary.version.clone(), primary.kind.clone());
        let name = api_version(&primary.group, &version);
        return Ok((Source::Schema { crd: Box::new(crd), version, examples }, name, kind));
    }
    for primary in &manifest.primaries {
        let name = api_version(&primary.group, &primary.version);
        let objects: Vec<Value> = examples.iter().filter(|one| is_of(one, primary)).cloned().collect();
        if !objects.is_empty() {
            return Ok((Source::Examples { objects, fixed }, name, primary.kind.clone()));
        }
    }
    let kinds: Vec<_> = manifest.primaries.iter().map(|one| one.kind.as_str()).collect();
    bail!("there is neither a definition (CRD) nor an example (BASE) of what {} reconciles: {kinds:?}", manifest.name)
}
