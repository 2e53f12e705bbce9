#![doc = include_str!("../README.md")]

#[cfg(test)]
mod tests;

use oarlock_guest::{
    Context, Error, Kind, Manifest, Mapping, Observation, Outcome, Reconciler, Result, cluster, config, export, kind,
    object_ref,
};
use serde::{Deserialize, Serialize};
use serde_json::{Value, json};
use std::collections::BTreeMap;

/// What a Namespace has its own quota in.
const QUOTA_ANNOTATION: &str = "baseline.oarlock.dev/quota";
const QUOTA_NAME: &str = "baseline";
const POLICY_NAME: &str = "default-deny";

/// Reconciles Namespaces.
#[derive(Debug, Default)]
pub struct NamespaceBaseline;

/// The fields of a Namespace this plugin reads.
#[derive(Debug, Deserialize)]
pub struct Namespace {
    metadata: Metadata,
}

#[derive(Debug, Deserialize)]
struct Metadata {
    #[serde(default)]
    labels: BTreeMap<String, String>,
    #[serde(default)]
    annotations: BTreeMap<String, String>,
}

/// The documents, as they are applied. Of the actual state one may be missing.
#[derive(Debug, Default, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub struct Baseline {
    #[serde(skip_serializing_if = "Option::is_none")]
    quota: Option<Value>,
    #[serde(skip_serializing_if = "Option::is_none")]
    network_policy: Option<Value>,
}

impl Reconciler for NamespaceBaseline {
    type Object = Namespace;
    type State = Baseline;

    fn manifest() -> Manifest {
        let verbs = ["get", "list", "watch", "create", "patch", "delete"];
        Manifest::new("namespace-baseline", "0.1.0-rust")
            .description("Gives every Namespace that asks for it a ResourceQuota and a NetworkPolicy")
            .primary(kind("v1", "Namespace"))
            .watch_with(quota_kind(), Mapping::OwnerReference, |watch| watch.names.push(QUOTA_NAME.to_owned()))
            .watch_with(policy_kind(), Mapping::OwnerReference, |watch| watch.names.push(POLICY_NAME.to_owned()))
            .permission("", "resourcequotas", &verbs)
            .permission("networking.k8s.io", "networkpolicies", &verbs)
            .config_property(
                "label",
                json!({"type": "string", "description": "The label that switches it on with the value true"}),
            )
            .config_property(
                "quota",
                json!({"type": "string", "description": "A JSON object of strings: the hard limits"}),
            )
            .config_property("denyEgress", json!({"type": "string", "enum": ["true", "false"]}))
            .resync_seconds(300)
    }

    fn desired(&self, cx: &Context<Namespace>) -> Result<Option<Baseline>> {
        let metadata = &cx.object()?.metadata;
        let label = config::get("label").unwrap_or_else(|| "oarlock.dev/baseline".to_owned());
        if metadata.labels.get(&label).map(String::as_str) != Some("true") {
            return Ok(None);
        }
        let quota = match metadata.annotations.get(QUOTA_ANNOTATION) {
            Some(text) => strings(text, &format!("annotation {QUOTA_ANNOTATION}"))?,
            None => default_quota()?,
        };
        let mut policy_types = vec!["Ingress"];
        if config::get("denyEgress").as_deref() == Some("true") {
            policy_types.push("Egress");
        }
        let document = |api_version: &str, kind: &str, name: &str, spec: Value| {
            json!({
                "apiVersion": api_version, "kind": kind,
                "metadata": {"name": name, "namespace": cx.name(), "ownerReferences": [cx.owner_reference()]},
                "spec": spec,
            })
        };
        Ok(Some(Baseline {
            quota: Some(document("v1", "ResourceQuota", QUOTA_NAME, json!({"hard": quota}))),
            network_policy: Some(document(
                "networking.k8s.io/v1",
                "NetworkPolicy",
                POLICY_NAME,
                json!({"podSelector": {}, "policyTypes": policy_types}),
            )),
        }))
    }

    fn actual(&self, cx: &Context<Namespace>) -> Result<Observation<Baseline>> {
        // Everything in a Namespace goes with it.
        if cx.deleting() {
            return Ok(Observation::absent());
        }
        let quota = cluster::get_applied(&quota_kind(), cx.name(), QUOTA_NAME)?;
        let network_policy = cluster::get_applied(&policy_kind(), cx.name(), POLICY_NAME)?;
        let nothing = quota.is_none() && network_policy.is_none();
        Ok(Observation::of((!nothing).then_some(Baseline { quota, network_policy })))
    }

    fn patch(&self, cx: &Context<Namespace>, desired: Option<Baseline>, actual: Option<Baseline>) -> Result<Outcome> {
        let on = desired.is_some();
        let (desired, actual) = (desired.unwrap_or_default(), actual.unwrap_or_default());
        let documents = [
            (quota_kind(), QUOTA_NAME, desired.quota, actual.quota),
            (policy_kind(), POLICY_NAME, desired.network_policy, actual.network_policy),
        ];
        let (mut outcome, mut applied) = (Outcome::new(), false);
        for (kind, name, desired, actual) in documents {
            match desired {
                Some(document) if actual.as_ref() != Some(&document) => {
                    outcome = outcome.apply(document);
                    applied = true;
                }
                None if actual.is_some() => outcome = outcome.delete(object_ref(&kind, cx.name(), name)),
                _ => {}
            }
        }
        let both = "quota baseline and network policy default-deny";
        Ok(match (applied, on) {
            (true, _) => outcome.event_normal("BaselineWritten", format!("{both} written")),
            (false, false) => outcome.event_normal("BaselineRemoved", format!("{both} removed")),
            (false, true) => outcome,
        })
    }
}

fn default_quota() -> Result<BTreeMap<String, String>> {
    let default = || r#"{"pods":"50","requests.cpu":"10","requests.memory":"20Gi"}"#.to_owned();
    strings(&config::get("quota").unwrap_or_else(default), "config quota")
}

/// A JSON object whose values are strings.
fn strings(text: &str, place: &str) -> Result<BTreeMap<String, String>> {
    serde_json::from_str(text)
        .map_err(|_reason| Error::terminal(format_args!("{place} is not a JSON object of strings")))
}

fn quota_kind() -> Kind {
    kind("v1", "ResourceQuota")
}

fn policy_kind() -> Kind {
    kind("networking.k8s.io/v1", "NetworkPolicy")
}

export!(NamespaceBaseline);
