//! Pruning: removal of fields outside the schema.

use serde_json::Value;

use crate::node::{Additional, MAX_DEPTH, Node};

/// Fields of `ObjectMeta`; all other fields of an object's metadata are unknown.
const META_FIELDS: [&str; 15] = [
    "name",
    "generateName",
    "namespace",
    "selfLink",
    "uid",
    "resourceVersion",
    "generation",
    "creationTimestamp",
    "deletionTimestamp",
    "deletionGracePeriodSeconds",
    "labels",
    "annotations",
    "ownerReferences",
    "finalizers",
    "managedFields",
];

const TYPE_AND_META: [&str; 3] = ["apiVersion", "kind", "metadata"];

/// Removes unknown fields of a whole object and returns their paths in order.
pub(crate) fn prune_object(node: &Node, object: &mut Value) -> Vec<String> {
    let mut pruner = Pruner { removed: Vec::new() };
    pruner.prune(Some(node), object, "", true, 0);
    pruner.removed.sort();
    pruner.removed
}

/// Removes unknown fields of a value inside an object, such as a default.
pub(crate) fn prune_value(node: &Node, value: &mut Value, path: &str) -> Vec<String> {
    let mut pruner = Pruner { removed: Vec::new() };
    pruner.prune(Some(node), value, path, false, 0);
    pruner.removed.sort();
    pruner.removed
}

struct Pruner {
    removed: Vec<String>,
}

impl Pruner {
    fn prune(&mut self, node: Option<&Node>, value: &mut Value, path: &str, is_root: bool, depth: usize) {
        if depth > MAX_DEPTH * 2 {
            return;
        }
        let resource = is_root || node.is_some_and(|n| n.embedded);
        let keep = node.is_some_and(|n| n.preserve_unknown);
        match value {
            Value::Object(object) => {
                object.retain(|key, child| {
                    let at = join(path, key);
                    if resource && TYPE_AND_META.contains(&key.as_str()) {
                        if key == "metadata" {
                            self.prune_meta(child, &at);
                        }
                        return true;
                    }
                    if let Some(known) = node.and_then(|n| n.properties.get(key)) {
                        self.prune(Some(known), child, &at, false, depth + 1);
                        return true;
                    }
                    match node.and_then(|n| n.additional.as_ref()) {
                        Some(Additional::Schema(known)) => self.prune(Some(known), child, &at, false, depth + 1),
                        Some(Additional::Any(true)) if !keep => self.prune(None, child, &at, false, depth + 1),
                        _ if keep => {}
                        _ => {
                            self.removed.push(at);
                            return false;
                        }
                    }
                    true
                });
            }
            Value::Array(items) => {
                let of_items = node.and_then(|n| n.items.as_deref());
                if keep && of_items.is_none() {
                    return;
                }
                for (i, item) in items.iter_mut().enumerate() {
                    self.prune(of_items, item, &format!("{path}[{i}]"), false, depth + 1);
                }
            }
            Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_) => {}
        }
    }

    fn prune_meta(&mut self, meta: &mut Value, path: &str) {
        if let Value::Object(meta) = meta {
            meta.retain(|key, _| {
                let known = META_FIELDS.contains(&key.as_str());
                if !known {
                    self.removed.push(join(path, key));
                }
                known
            });
        }
    }
}

fn join(path: &str, key: &str) -> String {
    if path.is_empty() { key.to_owned() } else { format!("{path}.{key}") }
}
