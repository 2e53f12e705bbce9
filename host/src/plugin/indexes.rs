//! The declared indexes of a manifest.

use crate::api::GroupVersionKind;
use crate::informer::Indexer;
use oarlock_jsonpath::PlainPath;
use oarlock_manifest::{Index, PluginManifest};

/// An index of a manifest, for the stores of its kind.
#[derive(Clone, Debug)]
pub(crate) struct KindIndex {
    pub(crate) kind: GroupVersionKind,
    /// The name in the manifest.
    pub(crate) name: String,
    pub(crate) indexer: Indexer,
}

/// The indexes of a valid manifest.
pub(crate) fn of(manifest: &PluginManifest) -> Vec<KindIndex> {
    let of = |index: &Index| {
        let kind = GroupVersionKind::new(index.group.as_str(), index.version.as_str(), index.kind.as_str());
        Some(KindIndex { kind, name: index.name.clone(), indexer: indexer(index).ok()? })
    };
    manifest.indexes.iter().filter_map(of).collect()
}

/// The function of an index.
///
/// # Errors
///
/// The fault of the index, as the end of a sentence.
pub(super) fn indexer(index: &Index) -> Result<Indexer, String> {
    match (index.json_path.as_str(), index.label.as_str()) {
        ("", "") => Err("has neither jsonPath nor label".to_owned()),
        ("", label) => Ok(Indexer::label(label)),
        (text, "") => {
            let path = PlainPath::parse(text).map_err(|error| format!("has a jsonPath that is no index: {error}"))?;
            Ok(Indexer::new(format!("path {text}"), move |document, found| path.scalars(document, found)))
        }
        _ => Err("has both jsonPath and label".to_owned()),
    }
}
