//! Definitions that the host would install or upgrade.

use super::changes::{self, Change};
use super::cluster::{Objects, name_of_definition, whole_definition};
use super::inputs::Plugin;
use oarlock::lifecycle::definitions::{self, MANAGER};
use serde_json::Value;

/// The changes of the definitions in the plugin files, in the order of the plugins.
///
/// * `problems` - gets a sentence about each upgrade that the host would refuse.
pub(super) async fn changes(client: &kube::Client, plugins: &[Plugin], problems: &mut Vec<String>) -> Vec<Change> {
    let mut found = Vec::new();
    for plugin in plugins {
        let granted = plugin.grants.definitions();
        let conversions = plugin.grants.conversions(&plugin.manifest);
        for definition in plugin.definitions.iter().filter(|one| granted.iter().any(|name| name == one.name())) {
            let name = definition.name();
            let live = match whole_definition(client, name).await {
                Ok(live) => live,
                Err(error) => {
                    problems.push(format!("cannot get definition {name}: {error}"));
                    continue;
                }
            };
            let converts = conversions.iter().any(|converted| converted == name);
            let document = match definitions::change(live.as_ref(), definition, converts) {
                definitions::Change::Nothing => continue,
                definitions::Change::Refuse(reasons, _) => {
                    let (plugin, reasons) = (&plugin.manifest.name, reasons.join("; "));
                    problems.push(format!(
                        "plugin {plugin} would not run: the upgrade of definition {name} is refused: {reasons}"
                    ));
                    continue;
                }
                definitions::Change::Convert(document) | definitions::Change::Apply(document) => document,
            };
            let planned = planned(live.as_ref(), document);
            let of = |object: Value| Objects::from([(name_of_definition(name.to_owned()), object)]);
            let mut changed = changes::between(live.map(of).unwrap_or_default(), of(planned));
            for change in &mut changed {
                change.managers = [MANAGER.to_owned()].into();
            }
            found.extend(changed);
        }
    }
    found
}

/// The definition after the apply: fields of other managers stay.
fn planned(live: Option<&Value>, document: Value) -> Value {
    let Some(live) = live else { return document };
    let mut planned = live.clone();
    for (part, pointer) in [("spec", "/spec"), ("labels", "/metadata/labels"), ("annotations", "/metadata/annotations")]
    {
        let Some(applied) = document.pointer(pointer).and_then(Value::as_object) else { continue };
        let place = if part == "spec" { Some(&mut planned) } else { planned.get_mut("metadata") };
        let Some(place) = place.and_then(Value::as_object_mut) else { continue };
        let present = place.entry(part).or_insert_with(|| Value::Object(serde_json::Map::new()));
        if let Some(present) = present.as_object_mut() {
            present.extend(applied.clone());
        }
    }
    planned
}
