//! Keeps a greeting on every {{kind}}, in the annotation `example.com/greeting`.

{{#types}}
// Made of crd.yaml: make types
#[rustfmt::skip]
mod api;
{{/types}}
#[cfg(test)]
mod tests;

use oarlock_guest::{
    Context, Manifest, Mapping, Observation, Outcome, PatchType, Reconciler, Result, cluster, config, export, kind,
    object_ref,
};
use serde::{Deserialize, Serialize};
use serde_json::{Value, json};
{{^types}}
use std::collections::BTreeMap;
{{/types}}

const ANNOTATION: &str = "example.com/greeting";

/// Reconciles every {{kind}}.
#[derive(Debug, Default)]
pub struct {{kind}}Reconciler;

{{#types}}
/// The types are in src/api.rs.
type Object = api::{{kind}};
{{/types}}
{{^types}}
/// The fields of a {{kind}} that are read here.
#[derive(Debug, Deserialize)]
pub struct Object {
    metadata: Metadata,
}

#[derive(Debug, Deserialize)]
struct Metadata {
    annotations: Option<BTreeMap<String, String>>,
}
{{/types}}

/// What is compared: only what this plugin owns.
#[derive(Debug, Serialize, Deserialize)]
pub struct State {
    greeting: String,
}

impl Reconciler for {{kind}}Reconciler {
    type Object = Object;
    type State = State;

    /// What the plugin is, and what it asks for.
    fn manifest() -> Manifest {
        Manifest::new("{{name}}", env!("CARGO_PKG_VERSION"))
            .description("Keeps a greeting on every {{kind}}")
            .primary(kind("{{api_version}}", "{{kind}}"))
            // No mapping is needed: the host wakes the objects that read the ConfigMap.
            .watch_with(kind("v1", "ConfigMap"), Mapping::Reads, |watch| watch.names.push("greeting".to_owned()))
            .permission("{{group}}", "{{plural}}", &["get", "list", "watch", "patch"])
            .config_property("greeting", json!({"type": "string", "description": "The word it greets with"}))
    }

    /// The state the object asks for. Not asked while it is being deleted.
    fn desired(&self, cx: &Context<Object>) -> Result<Option<State>> {
        let settings: Option<Value> = cluster::get(&kind("v1", "ConfigMap"), cx.namespace(), "greeting")?;
        let word = settings.and_then(|settings| Some(settings.pointer("/data/greeting")?.as_str()?.to_owned()));
        let word = word.or_else(|| config::get("greeting")).unwrap_or_else(|| "Hello".to_owned());
        Ok(Some(State { greeting: format!("{word}, {}", cx.name()) }))
    }

    /// The state the world is in. Asked again after the patch: read from the cache, which has it by then.
    fn actual(&self, cx: &Context<Object>) -> Result<Observation<State>> {
        if cx.deleting() {
            return Ok(Observation::absent());
        }
        let object: Option<Object> = cluster::get(cx.kind(), cx.namespace(), cx.name())?;
        let greeting = object.and_then(|object| object.metadata.annotations?.remove(ANNOTATION));
        Ok(Observation::of(greeting.map(|greeting| State { greeting })))
    }

    /// The changes from one to the other. Only asked when they differ.
    fn patch(&self, cx: &Context<Object>, desired: Option<State>, _actual: Option<State>) -> Result<Outcome> {
        let Some(State { greeting }) = desired else { return Ok(Outcome::new()) };
        let target = object_ref(cx.kind(), cx.namespace(), cx.name());
        let patch = json!({"metadata": {"annotations": {ANNOTATION: greeting}}});
        Ok(Outcome::new()
            .patch(Some(target), PatchType::MergePatch, patch)
            .event_normal("Greeted", format!("Greeted with \"{greeting}\"")))
    }
}

export!({{kind}}Reconciler);
