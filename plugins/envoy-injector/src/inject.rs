//! Injection: merges a Pod's specification with the initializer, by name.

use crate::initializer::Initializer;
use crate::overlay::{overlay_container, overlay_volume};
use crate::settings::{Order, Settings};
use serde_json::{Map, Value, json};

type Item = Map<String, Value>;

/// A Pod's lists after injection.
#[derive(Debug)]
pub(crate) struct Injected {
    /// `containers`, `initContainers` and `volumes`; empty ones are omitted.
    pub(crate) spec: Item,
    /// Containers that are not injected, because the Pod has a container of that name in its other list.
    pub(crate) skipped: Vec<String>,
}

/// Injects into `spec`. The result depends on the names in the Pod, not on earlier injections, so it is idempotent.
pub(crate) fn inject(spec: &Value, initializer: &Initializer, settings: &Settings) -> Injected {
    let (containers, inits) = (list(spec, "containers"), list(spec, "initContainers"));
    let mut skipped = Vec::new();
    let mut wanted = |ours: &[Item], others: &[Value]| -> Vec<Item> {
        let (elsewhere, here) = ours.iter().cloned().partition::<Vec<_>, _>(|item| find(others, item).is_some());
        skipped.extend(elsewhere.iter().filter_map(|item| Some(item.get("name")?.as_str()?.to_owned())));
        here
    };
    let our_containers = wanted(&initializer.containers, inits);
    let our_inits = wanted(&initializer.init_containers, containers);
    let mut lists = Item::new();
    for (field, items) in [
        ("containers", merge_containers(containers, &our_containers, settings.order)),
        ("initContainers", merge_containers(inits, &our_inits, settings.init_order)),
        ("volumes", merge_volumes(list(spec, "volumes"), &initializer.volumes)),
    ] {
        if !items.is_empty() {
            lists.insert(field.to_owned(), Value::Array(items));
        }
    }
    Injected { spec: lists, skipped }
}

/// A list of a specification; empty if absent.
pub(crate) fn list<'a>(spec: &'a Value, field: &str) -> &'a [Value] {
    spec.get(field).and_then(Value::as_array).map(Vec::as_slice).unwrap_or_default()
}

/// The Pod's containers keep their order, and the injected ones that of the initializer.
fn merge_containers(own: &[Value], ours: &[Item], order: Order) -> Vec<Value> {
    let merged = ours.iter().map(|item| {
        let mut container = find(own, item).cloned().unwrap_or_else(|| json!({}));
        overlay_container(&mut container, item);
        container
    });
    let rest = own.iter().filter(|container| !ours.iter().any(|item| named_alike(container, item))).cloned();
    match order {
        Order::First => merged.chain(rest).collect(),
        Order::Last => rest.chain(merged).collect(),
    }
}

/// The order of volumes has no meaning, so none is moved.
fn merge_volumes(own: &[Value], ours: &[Item]) -> Vec<Value> {
    let mut volumes = own.to_vec();
    for item in ours {
        match volumes.iter_mut().find(|volume| named_alike(volume, item)) {
            Some(volume) => overlay_volume(volume, item),
            None => volumes.push(Value::Object(item.clone())),
        }
    }
    volumes
}

fn find<'a>(items: &'a [Value], item: &Item) -> Option<&'a Value> {
    items.iter().find(|own| named_alike(own, item))
}

fn named_alike(own: &Value, item: &Item) -> bool {
    own.get("name").is_some_and(|name| Some(name) == item.get("name"))
}
