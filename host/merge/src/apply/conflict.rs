//! Apply conflicts, with the API server's messages.

use std::collections::BTreeMap;

use super::{Manager, Operation};
use crate::fields::Path;

/// A field that another manager owns with a different value: one cause of the Status.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Conflict {
    /// The owner as the API server prints it: `"alice"`, `"kubectl" using v1`, `"ctl" with subresource "status"`.
    pub manager: String,
    /// The field.
    pub path: Path,
}

impl Conflict {
    pub(super) fn new(manager: &Manager, api_version: &str, path: Path) -> Self {
        let mut text = format!("{:?}", manager.name);
        if !manager.subresource.is_empty() {
            text = format!("{text} with subresource {:?}", manager.subresource);
        }
        if manager.operation == Operation::Update {
            text = format!("{text} using {api_version}");
        }
        Self { manager: text, path }
    }

    /// The message of the Status cause (reason `FieldManagerConflict`); its field is [`path`](Self::path).
    #[must_use]
    pub fn message(&self) -> String {
        format!("conflict with {}", self.manager)
    }
}

/// The message of the whole Status.
pub(super) fn message(conflicts: &[Conflict]) -> String {
    if let [one] = conflicts {
        return format!("Apply failed with 1 conflict: conflict with {}: {}", one.manager, one.path);
    }
    let mut by_manager: BTreeMap<&str, Vec<String>> = BTreeMap::new();
    for conflict in conflicts {
        by_manager.entry(&conflict.manager).or_default().push(format!("- {}", conflict.path));
    }
    let groups: Vec<String> =
        by_manager.iter().map(|(manager, paths)| format!("conflicts with {manager}:\n{}", paths.join("\n"))).collect();
    format!("Apply failed with {} conflicts: {}", conflicts.len(), groups.join("\n"))
}
