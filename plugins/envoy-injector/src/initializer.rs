//! The injected containers and volumes: the ConfigMap `envoy-initializer`.

use crate::settings::Settings;
use oarlock_guest::{Error, Kind, Result, cluster, kind};
use serde::Deserialize;
use serde_json::{Map, Value};
use serde_saphyr::{Location, Spanned};
use std::cell::RefCell;
use std::collections::BTreeSet;
use std::rc::Rc;

/// The ConfigMap's name.
pub(crate) const NAME: &str = "envoy-initializer";
/// The key of its data.
const KEY: &str = "config";

/// Containers and volumes, each with a name, in the order of the ConfigMap.
#[derive(Clone, Debug, Default, PartialEq)]
pub(crate) struct Initializer {
    /// Containers.
    pub(crate) containers: Vec<Map<String, Value>>,
    /// Init containers; native sidecars are those with `restartPolicy: Always`.
    pub(crate) init_containers: Vec<Map<String, Value>>,
    /// Volumes.
    pub(crate) volumes: Vec<Map<String, Value>>,
}

/// The YAML document.
#[derive(Debug, Default, Deserialize)]
#[serde(rename_all = "camelCase", default, deny_unknown_fields)]
struct Document {
    containers: Option<Vec<Spanned<Value>>>,
    init_containers: Option<Vec<Spanned<Value>>>,
    volumes: Option<Vec<Spanned<Value>>>,
}

pub(crate) fn config_map_kind() -> Kind {
    kind("v1", "ConfigMap")
}

impl Initializer {
    /// Reads the ConfigMap from the cache: an edit applies to the next Pod.
    ///
    /// # Errors
    ///
    /// Transient, because the ConfigMap may appear or be corrected: the failure policy decides about Pods meanwhile. The message has the
    /// ConfigMap, the key, and line and column.
    pub(crate) fn read(settings: &Settings) -> Result<Rc<Self>> {
        let namespace = &settings.config_namespace;
        let map: Option<Value> = cluster::get(&config_map_kind(), namespace, NAME)?;
        let refused = |what: &str| Error::transient(format_args!("ConfigMap {namespace}/{NAME}{what}"));
        let map = map.ok_or_else(|| refused(" does not exist: it says what is injected"))?;
        let text = map.get("data").and_then(|data| data.get(KEY)).and_then(Value::as_str);
        let text = text.ok_or_else(|| refused(&format!(" has no key {KEY}: it says what is injected")))?;
        Self::parsed(text).map_err(|problem| refused(&format!(", key {KEY}{problem}")))
    }

    /// Parses the YAML, unless it is that of the last call: the calls of one reconcile read the same ConfigMap.
    fn parsed(text: &str) -> std::result::Result<Rc<Self>, String> {
        thread_local! {
            static LAST: RefCell<Option<(String, Rc<Initializer>)>> = const { RefCell::new(None) };
        }
        LAST.with_borrow_mut(|last| {
            if let Some((_, same)) = last.as_ref().filter(|(known, _)| known == text) {
                return Ok(Rc::clone(same));
            }
            let parsed = Rc::new(Self::parse(text)?);
            *last = Some((text.to_owned(), Rc::clone(&parsed)));
            Ok(parsed)
        })
    }

    /// Parses the YAML. An error begins with its position: `, line 3, column 5: …`.
    pub(crate) fn parse(text: &str) -> std::result::Result<Self, String> {
        let options = serde_saphyr::options! { with_snippet: false };
        // A document with only comments is no mapping for the parser.
        let document: Option<Document> = serde_saphyr::from_str_with_options(text, options).map_err(|error| {
            let said = error.to_string();
            // The parser's message may repeat the position.
            let said = said.strip_prefix("error: ").unwrap_or(&said).lines().next().unwrap_or_default();
            error.location().map_or_else(|| format!(": {said}"), |at| problem(at, said))
        })?;
        let Document { containers, init_containers, volumes } = document.unwrap_or_default();
        let mut names = BTreeSet::new();
        let this = Self {
            containers: items("containers", containers, &mut names)?,
            init_containers: items("initContainers", init_containers, &mut names)?,
            volumes: items("volumes", volumes, &mut BTreeSet::new())?,
        };
        if this.containers.is_empty() && this.init_containers.is_empty() && this.volumes.is_empty() {
            return Err(": it names no containers, initContainers or volumes".to_owned());
        }
        Ok(this)
    }

    /// Whether a Pod's specification has a container for every name.
    pub(crate) fn is_in(&self, spec: &Value) -> bool {
        let has = |name: &Value| {
            let lists = ["containers", "initContainers"].into_iter().filter_map(|list| spec.get(list)?.as_array());
            lists.flatten().any(|container| container.get("name") == Some(name))
        };
        self.containers.iter().chain(&self.init_containers).filter_map(|container| container.get("name")).all(has)
    }
}

fn items(
    list: &str,
    written: Option<Vec<Spanned<Value>>>,
    names: &mut BTreeSet<String>,
) -> std::result::Result<Vec<Map<String, Value>>, String> {
    let mut items = Vec::new();
    for Spanned { value, referenced, .. } in written.unwrap_or_default() {
        let refused = |what: &str| problem(referenced, &format!("{list}[{}] {what}", items.len()));
        let Value::Object(mut item) = value else { return Err(refused("is not a mapping")) };
        let Some(name) = item.get("name").and_then(Value::as_str).filter(|name| !name.is_empty()) else {
            return Err(refused("has no name"));
        };
        if !names.insert(name.to_owned()) {
            return Err(refused(&format!("is the second that is called {name}")));
        }
        if let Some(directive) = directive(&item) {
            return Err(refused(&format!("has the field {directive}: directives of patches are not for this place")));
        }
        without_nulls(&mut item);
        items.push(item);
    }
    Ok(items)
}

fn problem(at: Location, what: &str) -> String {
    format!(", line {}, column {}: {what}", at.line(), at.column())
}

/// The first `$patch` or similar directive, at any depth: strategic merge would act on it.
fn directive(fields: &Map<String, Value>) -> Option<&str> {
    fields.iter().find_map(|(key, value)| {
        if key.starts_with('$') {
            return Some(key.as_str());
        }
        let inner = match value {
            Value::Object(fields) => return directive(fields),
            Value::Array(items) => items,
            _ => return None,
        };
        inner.iter().filter_map(Value::as_object).find_map(directive)
    })
}

/// An empty field counts as absent.
fn without_nulls(fields: &mut Map<String, Value>) {
    fields.retain(|_, value| !value.is_null());
    for value in fields.values_mut() {
        match value {
            Value::Object(fields) => without_nulls(fields),
            Value::Array(items) => items.iter_mut().filter_map(Value::as_object_mut).for_each(without_nulls),
            _ => {}
        }
    }
}
