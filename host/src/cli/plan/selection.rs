//! The primaries of a plan: `--namespace`, `--selector`, `--kind`.

use super::inputs::Plugin;
use anyhow::{Context as _, ensure};
use clap::Args;
use oarlock::api::{Discovery, GroupVersionKind, ObjectKey};
use oarlock::controller::ReconcileKey;
use serde_json::Value;
use std::collections::{BTreeMap, BTreeSet};

/// Which primaries are reconciled. Plugins can read the others.
#[derive(Debug, Args)]
pub(super) struct SelectionArgs {
    /// Only primaries in this namespace [default: all namespaces]
    #[arg(short, long, value_name = "NAME")]
    namespace: Option<String>,

    /// Only primaries with these labels, as in kubectl get -l
    #[arg(short = 'l', long, value_name = "SELECTOR")]
    selector: Option<String>,

    /// Only primaries of this kind. Repeatable
    #[arg(long, value_name = "KIND")]
    kind: Vec<String>,
}

impl SelectionArgs {
    /// As the fields of a query to a host.
    pub(super) fn fields(&self) -> Vec<(&'static str, &str)> {
        let kinds = self.kind.iter().map(|kind| ("kind", kind.as_str()));
        let namespace = self.namespace.as_deref().map(|namespace| ("namespace", namespace));
        kinds.chain(namespace).chain(self.selector.as_deref().map(|selector| ("selector", selector))).collect()
    }
}

/// The selected primaries.
pub(super) struct Selection {
    namespace: Option<String>,
    kinds: BTreeSet<GroupVersionKind>,
    /// The objects with the labels, by kind. None: all, and those that a plugin creates.
    labelled: Option<BTreeMap<GroupVersionKind, BTreeSet<ObjectKey>>>,
}

impl Selection {
    /// * `copy` - the copy of the cluster: the API server knows what a selector means.
    ///
    /// # Errors
    ///
    /// The selector is invalid, or no plugin has the kind.
    pub(super) async fn new(args: SelectionArgs, plugins: &[Plugin], copy: &kube::Client) -> anyhow::Result<Self> {
        let primaries = plugins.iter().flat_map(|plugin| &plugin.manifest.primaries).map(|primary| primary.gvk());
        let primaries: BTreeSet<GroupVersionKind> =
            primaries.map(|kind| GroupVersionKind::new(kind.group, kind.version, kind.kind)).collect();
        let wanted = |kind: &&GroupVersionKind| {
            args.kind.is_empty() || args.kind.iter().any(|wanted| wanted.eq_ignore_ascii_case(&kind.kind))
        };
        let kinds: BTreeSet<GroupVersionKind> = primaries.iter().filter(wanted).cloned().collect();
        for wanted in &args.kind {
            let known = kinds.iter().any(|kind| wanted.eq_ignore_ascii_case(&kind.kind));
            let names: Vec<&str> = primaries.iter().map(|kind| kind.kind.as_str()).collect();
            ensure!(known, "--kind {wanted}: the primaries are {}", names.join(", "));
        }
        let labelled = match &args.selector {
            Some(selector) => Some(labelled(copy, &kinds, selector).await?),
            None => None,
        };
        Ok(Self { namespace: args.namespace, kinds, labelled })
    }

    /// Whether a key is reconciled.
    pub(super) fn selects(&self, key: &ReconcileKey) -> bool {
        self.kinds.contains(&*key.kind)
            && self.namespace.as_ref().is_none_or(|namespace| **namespace == *key.key.namespace)
            && self.labelled.as_ref().is_none_or(|of| of.get(&*key.kind).is_some_and(|keys| keys.contains(&key.key)))
    }
}

async fn labelled(
    copy: &kube::Client,
    kinds: &BTreeSet<GroupVersionKind>,
    selector: &str,
) -> anyhow::Result<BTreeMap<GroupVersionKind, BTreeSet<ObjectKey>>> {
    let discovery = Discovery::new(copy.clone());
    let mut found = BTreeMap::new();
    for kind in kinds {
        let Some(resource) = discovery.resolve(kind).await? else { continue };
        let query =
            url::form_urlencoded::Serializer::new(String::new()).append_pair("labelSelector", selector).finish();
        let request = http::Request::get(format!("{}?{query}", resource.path("", None, None))).body(Vec::new())?;
        let list: Value = copy.request(request).await.context("--selector")?;
        let items = list.pointer("/items").and_then(Value::as_array).into_iter().flatten();
        let keys = items.map(|item| {
            let text = |pointer: &str| item.pointer(pointer).and_then(Value::as_str).unwrap_or_default();
            ObjectKey::new(text("/metadata/namespace"), text("/metadata/name"))
        });
        found.insert(kind.clone(), keys.collect());
    }
    Ok(found)
}
