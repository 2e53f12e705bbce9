//! Installation and upgrade of the definitions in a plugin file, before its version runs.
//!
//! Any host may write: upgrades go in one direction, because each definition names those that it replaced. So an older version, on this host
//! or another one, does not undo the upgrade of a newer one.

use super::candidate::{CandidateVersion, Granting};
use super::host_events::HostEvents;
use super::lock;
use crate::api::{GroupVersionKind, ObjectKey};
use crate::apply::{HostObjects, WriteError};
use crate::controller::{Controller, Version};
use crate::informer::Object;
use crate::plugin::Definition;
use serde_json::{Map, Value, json};
use std::sync::{Arc, Mutex};
use std::time::Duration;

/// The field manager: not the one that writes `spec.conversion`, because an apply removes what the manager wrote before.
pub const MANAGER: &str = "oarlock-definitions";

/// Annotation with the digest of the definition.
const INSTALLED: &str = "oarlock.dev/definition";

/// Annotation with the digests of the definitions that this one replaced, the newest first.
const REPLACED: &str = "oarlock.dev/replaced-definitions";

/// Most digests in [`REPLACED`].
const MOST_REPLACED: usize = 32;

/// Interval of the checks whether the API server serves a definition.
const LOOK: Duration = Duration::from_millis(200);

/// Interval after a failure or a refusal: a person may have changed the definition.
const AGAIN: Duration = Duration::from_secs(5);

/// Why a version waits for its definitions.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Obstacle {
    /// Stored objects may not survive the upgrade: a sentence.
    Refused(String),
    /// The conversion webhook comes first: a sentence.
    Unconverted(String),
    /// A sentence.
    Waits(String),
}

/// The progress of an installation. Cheap to clone.
#[derive(Clone, Debug, Default)]
pub(super) struct Installation(Arc<Mutex<Option<Obstacle>>>);

impl Installation {
    pub(super) fn obstacle(&self) -> Option<Obstacle> {
        lock(&self.0).clone()
    }

    fn set(&self, obstacle: Option<Obstacle>) {
        *lock(&self.0) = obstacle;
    }
}

/// Installs definitions. Cheap to clone.
#[derive(Clone, Debug)]
pub(super) struct DefinitionInstaller {
    pub(super) objects: HostObjects,
    pub(super) events: HostEvents,
    /// Also upgrades that stored objects may not survive: authors change their minds, and a rehearsal stores nothing.
    pub(super) any_upgrade: bool,
}

impl DefinitionInstaller {
    /// Installs and upgrades the definitions that the grant of a version names. Returns when the API server has established all of them.
    ///
    /// * `controller`, `version` - of the candidate: its conversions may be needed first.
    /// * `refused` - called with the reason when an upgrade is refused for the first time.
    ///
    /// # Cancel safety
    ///
    /// Dropping the future leaves each definition whole.
    pub(super) async fn install(
        &self,
        candidate: &CandidateVersion,
        (controller, version): (&Controller, &Version),
        installation: &Installation,
        refused: impl FnOnce(String),
    ) {
        let mut refused = Some(refused);
        let converted = candidate.conversions();
        for definition in granted(candidate) {
            let converts = converted.iter().any(|name| name == definition.name());
            if converts {
                controller.convert_with(version, true);
            }
            loop {
                let pause = match self.look(candidate.name(), definition, converts).await {
                    Ok(true) => break,
                    Ok(false) => LOOK,
                    Err(obstacle) => {
                        if let Obstacle::Refused(why) = &obstacle
                            && let Some(refused) = refused.take()
                        {
                            refused(why.clone());
                        }
                        let pause = if matches!(obstacle, Obstacle::Unconverted(_)) { LOOK } else { AGAIN };
                        installation.set(Some(obstacle));
                        pause
                    }
                };
                tokio::time::sleep(pause).await;
            }
            installation.set(None);
            if converts {
                // The conversions of the version before may not know a new version of the definition.
                controller.convert_with(version, false);
            }
        }
    }

    /// Writes the definition if it is to change. Returns whether it is established.
    async fn look(&self, plugin: &str, definition: &Definition, converts: bool) -> Result<bool, Obstacle> {
        let name = definition.name();
        let failed =
            |what: &str, error: &WriteError| Obstacle::Waits(format!("definition {name} cannot be {what}: {error}"));
        let live = self.objects.read(&kind(), &ObjectKey::new("", name)).await.map_err(|e| failed("read", &e))?;
        let document = match change(live.as_ref(), definition, converts) {
            Change::Nothing => return established(name, live.as_ref()),
            Change::Refuse(reasons, document) if self.any_upgrade => {
                let reasons = reasons.join("; ");
                tracing::warn!(plugin, definition = name, reasons, "stored objects may not survive the upgrade");
                document
            }
            Change::Refuse(reasons, _) => {
                let reasons = reasons.join("; ");
                return Err(Obstacle::Refused(format!("the upgrade of definition {name} is refused: {reasons}")));
            }
            Change::Convert(document) if self.any_upgrade => document,
            Change::Convert(_) => {
                let why = format!(
                    "definition {name} waits for the conversion webhook, which only a host with --admission-service, --admission-url or \
                     --admission-addr can be"
                );
                return Err(Obstacle::Unconverted(why));
            }
            Change::Apply(document) => document,
        };
        let what = if live.is_some() { "upgraded" } else { "installed" };
        match self.objects.apply_as(MANAGER, &document).await {
            // The API server stores it in other words than the file, which says the same.
            Ok(stored) if changed_nothing(live.as_ref(), &stored) => established(name, live.as_ref()),
            Ok(_) => {
                tracing::info!(plugin, definition = name, "definition {what}");
                let reason = if live.is_some() { "DefinitionUpgraded" } else { "DefinitionInstalled" };
                self.events.record(plugin, false, reason, format!("plugin {plugin}: definition {name} was {what}"));
                Ok(false)
            }
            // Somebody else was faster.
            Err(WriteError::Conflict(_)) => Ok(false),
            Err(error) => Err(failed(what, &error)),
        }
    }
}

/// The definitions in the file that the grant names.
fn granted(candidate: &CandidateVersion) -> impl Iterator<Item = &Definition> {
    candidate.compiled.definitions.iter().filter(|definition| is_granted(candidate, definition))
}

/// The names of the definitions in the file that the grant does not name.
pub(super) fn ungranted(candidate: &CandidateVersion) -> Vec<String> {
    let others = candidate.compiled.definitions.iter().filter(|definition| !is_granted(candidate, definition));
    others.map(|definition| definition.name().to_owned()).collect()
}

fn is_granted(candidate: &CandidateVersion, definition: &Definition) -> bool {
    let Granting::Grant { grants, .. } = &candidate.granting else { return false };
    grants.definitions().iter().any(|name| name == definition.name())
}

fn kind() -> GroupVersionKind {
    GroupVersionKind::new("apiextensions.k8s.io", "v1", "CustomResourceDefinition")
}

/// What the host does with a definition in the cluster.
#[derive(Debug, PartialEq)]
pub enum Change {
    /// Nothing: the cluster has this definition, or a newer one.
    Nothing,
    /// It applies the document after its conversion webhook, which the definition does not have yet.
    Convert(Value),
    /// It applies the document.
    Apply(Value),
    /// Stored objects may not survive it: the reasons, and the document that is not applied.
    Refuse(Vec<String>, Value),
}

/// The change that a plugin file makes of a definition.
///
/// * `live` - the definition in the cluster. None: there is none.
/// * `converts` - the host writes `spec.conversion` itself.
#[must_use]
pub fn change(live: Option<&Value>, definition: &Definition, converts: bool) -> Change {
    let (mut new, digest) = (definition.document(), definition.digest());
    if converts {
        set_conversion(&mut new, None);
    }
    let annotation = |name: &str| {
        let annotations = live.and_then(|live| live.pointer("/metadata/annotations"));
        annotations.and_then(|all| all.get(name)).and_then(Value::as_str).unwrap_or_default()
    };
    let (installed, replaced) = (annotation(INSTALLED), annotation(REPLACED));
    let mut replaced: Vec<&str> = replaced.split(',').filter(|one| !one.is_empty()).collect();
    if replaced.contains(&digest.as_str()) {
        return Change::Nothing;
    }
    let mut breaking = Some(Vec::new());
    if let Some(live) = live {
        let spec = |of: &Value| of.get("spec").cloned().unwrap_or_default();
        if installed == digest && covers(&spec(live), &spec(&new)) {
            return Change::Nothing;
        }
        breaking = breaking_changes(live, &new, converts);
    }
    if !installed.is_empty() && installed != digest {
        replaced.insert(0, installed);
        replaced.truncate(MOST_REPLACED);
    }
    if let Some(metadata) = new.get_mut("metadata").and_then(Value::as_object_mut) {
        let annotations = metadata.entry("annotations").or_insert_with(|| Value::Object(Map::new()));
        if let Some(annotations) = annotations.as_object_mut() {
            annotations.insert(INSTALLED.to_owned(), json!(digest));
            if !replaced.is_empty() {
                annotations.insert(REPLACED.to_owned(), json!(replaced.join(",")));
            }
        }
        // Somebody may change it meanwhile.
        if let Some(version) = live.and_then(|live| live.pointer("/metadata/resourceVersion")) {
            metadata.insert("resourceVersion".to_owned(), version.clone());
        }
    }
    match breaking {
        None => Change::Convert(new),
        Some(breaking) if breaking.is_empty() => Change::Apply(new),
        Some(breaking) => Change::Refuse(breaking, new),
    }
}

/// Why stored objects may not survive an upgrade; empty: they do. None: they do with the conversion webhook, which comes first.
fn breaking_changes(live: &Value, new: &Value, converts: bool) -> Option<Vec<String>> {
    let with = |conversion: Option<&Value>| {
        let mut new = new.clone();
        if conversion.is_some() {
            set_conversion(&mut new, conversion);
        }
        let found = oarlock_schema::breaking_changes(live, &new);
        found.iter().map(ToString::to_string).collect::<Vec<_>>()
    };
    if !converts {
        return Some(with(None));
    }
    let present = live.pointer("/spec/conversion");
    let breaking = with(present);
    let none = present.and_then(|present| present.get("strategy")).is_none_or(|strategy| strategy == "None");
    let webhook = json!({"strategy": "Webhook", "webhook": {}});
    let converted = !breaking.is_empty() && none && with(Some(&webhook)).is_empty();
    (!converted).then_some(breaking)
}

/// * `conversion` - None: it is removed.
fn set_conversion(definition: &mut Value, conversion: Option<&Value>) {
    let Some(spec) = definition.get_mut("spec").and_then(Value::as_object_mut) else { return };
    match conversion {
        Some(conversion) => drop(spec.insert("conversion".to_owned(), conversion.clone())),
        None => drop(spec.remove("conversion")),
    }
}

/// Whether the present document has all of the wanted one. The API server adds defaults, leaves out what is empty, and writes 1.0 as 1.
fn covers(present: &Value, wanted: &Value) -> bool {
    match (present, wanted) {
        (Value::Object(present), Value::Object(wanted)) => wanted.iter().all(|(key, wanted)| {
            present.get(key).map_or_else(|| is_empty(key, wanted), |present| covers(present, wanted))
        }),
        (Value::Array(present), Value::Array(wanted)) => {
            present.len() == wanted.len() && present.iter().zip(wanted).all(|(present, wanted)| covers(present, wanted))
        }
        (Value::Number(present), Value::Number(wanted)) => present == wanted || present.as_f64() == wanted.as_f64(),
        _ => present == wanted,
    }
}

/// Whether an absent field says the same. A default of a field may be false, and an empty object is a subresource.
fn is_empty(field: &str, value: &Value) -> bool {
    match value {
        Value::Null => true,
        Value::Bool(on) => !on && field != "default",
        Value::String(text) => text.is_empty() && field != "default",
        Value::Array(list) => list.is_empty() && field != "default",
        Value::Number(_) | Value::Object(_) => false,
    }
}

/// Whether a write changed nothing.
fn changed_nothing(before: Option<&Value>, after: &Object) -> bool {
    let version = before.and_then(|before| before.pointer("/metadata/resourceVersion"));
    version.is_some_and(|version| version == after.resource_version())
}

/// Whether the API server serves a definition.
fn established(name: &str, live: Option<&Value>) -> Result<bool, Obstacle> {
    let conditions = live.and_then(|live| live.pointer("/status/conditions")).and_then(Value::as_array);
    let condition = |kind: &str, status: &str| {
        let has = |condition: &Value, field: &str, text: &str| condition.get(field).is_some_and(|found| found == text);
        let is = |condition: &&Value| has(condition, "type", kind) && has(condition, "status", status);
        conditions.into_iter().flatten().find(is)
    };
    match condition("NamesAccepted", "False") {
        Some(refused) => {
            let why = refused.get("message").and_then(Value::as_str).unwrap_or_default();
            Err(Obstacle::Waits(format!("the API server does not serve definition {name}: {why}")))
        }
        None => Ok(condition("Established", "True").is_some()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn definition(fields: &Value) -> Definition {
        let schema = json!({"type": "object", "properties": {"spec": {"type": "object", "properties": fields}}});
        let document = json!({"apiVersion": "apiextensions.k8s.io/v1", "kind": "CustomResourceDefinition",
            "metadata": {"name": "networks.s.io", "labels": {"a": "b"}},
            "spec": {"group": "s.io", "scope": "Namespaced", "names": {"plural": "networks", "kind": "Network"},
                "versions": [{"name": "v1", "served": true, "storage": true, "schema": {"openAPIV3Schema": schema}}]}});
        Definition::new(&document).unwrap()
    }

    fn applied(change: Change) -> Value {
        let Change::Apply(mut document) = change else { panic!("{change:?}") };
        oarlock_schema::default_crd(&mut document);
        document
    }

    #[test]
    fn definitions_are_installed_upgraded_and_never_taken_back() {
        let cidr = json!({"type": "string"});
        let old = definition(&json!({"cidr": cidr}));
        let new = definition(&json!({"cidr": cidr, "mtu": {"type": "integer"}}));
        let mut live = applied(change(None, &old, false));
        assert_eq!(live["metadata"]["annotations"], json!({INSTALLED: old.digest()}));
        assert_eq!(live["metadata"]["labels"], json!({"a": "b"}));
        assert_eq!(change(Some(&live), &old, false), Change::Nothing);
        live["metadata"]["resourceVersion"] = json!("7");
        let upgraded = applied(change(Some(&live), &new, false));
        assert_eq!(upgraded["metadata"]["annotations"], json!({INSTALLED: new.digest(), REPLACED: old.digest()}));
        assert_eq!(upgraded["metadata"]["resourceVersion"], "7");
        for same_or_older in [&old, &new] {
            assert_eq!(change(Some(&upgraded), same_or_older, false), Change::Nothing);
        }
        // Never installed: a removal.
        let other = definition(&json!({"mtu": {"type": "integer"}}));
        let Change::Refuse(reasons, _) = change(Some(&upgraded), &other, false) else { panic!("accepted") };
        assert_eq!(reasons, ["v1: spec.cidr: the field is removed: stored values are lost"]);
    }

    #[test]
    fn a_definition_of_somebody_else_is_adopted_and_a_change_by_hand_is_repaired() {
        let old = definition(&json!({"cidr": {"type": "string"}}));
        let mut by_hand = old.document();
        let adopted = applied(change(Some(&by_hand), &old, false));
        assert_eq!(adopted["metadata"]["annotations"][INSTALLED], json!(old.digest()));
        by_hand = adopted;
        by_hand["spec"]["names"]["shortNames"] = json!(["nw"]);
        assert_eq!(change(Some(&by_hand), &old, false), Change::Nothing, "more than the definition has");
        by_hand["spec"]["versions"][0]["served"] = json!(false);
        assert_eq!(applied(change(Some(&by_hand), &old, false))["spec"]["versions"][0]["served"], true);
    }

    /// What kube-derive and schemars print, and what kube-apiserver stores of it.
    #[test]
    fn a_definition_in_the_words_of_the_api_server_is_the_same() {
        let mut document =
            definition(&json!({"mtu": {"type": "integer", "minimum": 1.0, "nullable": false, "description": ""}}))
                .document();
        for (field, value) in [("shortNames", json!([])), ("categories", json!([]))] {
            document["spec"]["names"][field] = value;
        }
        document["spec"]["preserveUnknownFields"] = json!(false);
        document["spec"]["versions"][0]["additionalPrinterColumns"] = json!([]);
        let printed = Definition::new(&document).unwrap();
        let mut live = definition(&json!({"mtu": {"type": "integer", "minimum": 1}})).document();
        live["metadata"]["annotations"] = json!({INSTALLED: printed.digest()});
        assert_eq!(change(Some(&live), &printed, false), Change::Nothing);
        live["spec"]["versions"][0]["schema"]["openAPIV3Schema"]["properties"]["spec"]["properties"]["mtu"]["minimum"] =
            json!(2);
        assert!(matches!(change(Some(&live), &printed, false), Change::Apply(_)));
    }

    #[test]
    fn the_conversion_of_the_host_stays() {
        let one = definition(&json!({"cidr": {"type": "string"}}));
        let mut live = applied(change(None, &one, true));
        live["spec"]["conversion"] = json!({"strategy": "Webhook", "webhook": {"conversionReviewVersions": ["v1"],
            "clientConfig": {"url": "https://a.example/convert/p"}}});
        assert_eq!(change(Some(&live), &one, true), Change::Nothing);
        let more = definition(&json!({"cidr": {"type": "string"}, "mtu": {"type": "integer"}}));
        let Change::Apply(document) = change(Some(&live), &more, true) else { panic!("no upgrade") };
        assert_eq!(document["spec"].get("conversion"), None);
    }

    #[test]
    fn a_version_with_another_schema_needs_the_conversion_webhook_first() {
        let old = definition(&json!({"cidr": {"type": "string"}}));
        let mut document = old.document();
        let schema = json!({"openAPIV3Schema": {"type": "object", "properties": {"cidrs": {"type": "array", "items": {"type": "string"}}}}});
        document["spec"]["versions"][0]["storage"] = json!(false);
        let versions = document["spec"]["versions"].as_array_mut().unwrap();
        versions.push(json!({"name": "v2", "served": true, "storage": true, "schema": schema}));
        let new = Definition::new(&document).unwrap();
        let mut live = applied(change(None, &old, true));
        assert!(matches!(change(Some(&live), &new, false), Change::Refuse(..)));
        assert!(matches!(change(Some(&live), &new, true), Change::Convert(_)));
        live["spec"]["conversion"] = json!({"strategy": "Webhook", "webhook": {"conversionReviewVersions": ["v1"],
            "clientConfig": {"url": "https://a.example/convert/p"}}});
        assert!(matches!(change(Some(&live), &new, true), Change::Apply(_)));
    }

    #[test]
    fn at_most_so_many_digests_are_remembered() {
        let mut live = applied(change(None, &definition(&json!({})), false));
        for number in 0..2 * MOST_REPLACED {
            let fields: Map<String, Value> =
                (0..=number).map(|field| (format!("f{field}"), json!({"type": "string"}))).collect();
            live = applied(change(Some(&live), &definition(&json!(fields)), false));
        }
        let replaced = live["metadata"]["annotations"][REPLACED].as_str().unwrap();
        assert_eq!(replaced.split(',').count(), MOST_REPLACED);
    }

    #[test]
    fn a_definition_is_served_once_it_is_established() {
        let conditions = |list: Value| json!({"status": {"conditions": list}});
        let is = |live: &Value| established("networks.s.io", Some(live));
        assert_eq!(is(&json!({})), Ok(false));
        assert_eq!(is(&conditions(json!([{"type": "Established", "status": "False"}]))), Ok(false));
        assert_eq!(is(&conditions(json!([{"type": "Established", "status": "True"}]))), Ok(true));
        let taken = json!([{"type": "NamesAccepted", "status": "False", "message": "\"Network\" is already in use"}]);
        let why = "the API server does not serve definition networks.s.io: \"Network\" is already in use";
        assert_eq!(is(&conditions(taken)), Err(Obstacle::Waits(why.to_owned())));
    }
}
