//! The objects of a check: drawn from the schema of a definition, or varied from examples.

use anyhow::{Context as _, bail, ensure};
use fastrand::Rng;
use oarlock_schema::Crd;
use oarlock_schema::draw::{Draw, break_one, escape};
use serde_json::{Map, Value, json};

/// How often an object is drawn before that counts as impossible.
const TRIES: usize = 400;

/// How many objects are drawn to see whether they differ.
const DRAWN: usize = 16;

/// The objects of one kind.
#[derive(Debug)]
pub(super) struct Source {
    api_version: String,
    kind: String,
    namespaced: bool,
    /// The definition, and the version that is written.
    definition: Option<(Box<Crd>, String)>,
    examples: Vec<Value>,
}

/// The sources for the kinds that a controller reconciles.
///
/// * `kinds` - apiVersion and kind.
/// * `definitions` - CustomResourceDefinitions.
/// * `examples` - objects that are valid.
///
/// # Errors
///
/// A sentence: a definition without a usable schema, a kind without a source, a schema of which no object can be drawn.
pub(super) fn sources(
    kinds: &[(String, String)],
    definitions: &[Value],
    examples: &[Value],
) -> anyhow::Result<Vec<Source>> {
    let mut parsed = Vec::new();
    for definition in definitions {
        let name = text(definition, "/metadata/name");
        for version in definition.pointer("/spec/versions").and_then(Value::as_array).into_iter().flatten() {
            let schema = version.pointer("/schema/openAPIV3Schema").filter(|schema| schema.get("properties").is_some());
            ensure!(
                schema.is_some(),
                "definition {name}, version {}: no schema with properties; objects are drawn from it",
                text(version, "/name")
            );
        }
        let crd = Crd::parse(definition).map_err(|errors| {
            let errors: Vec<String> = errors.iter().map(ToString::to_string).collect();
            anyhow::anyhow!("definition {name}: {}", errors.join("; "))
        })?;
        parsed.push((definition, crd));
    }
    let mut sources = Vec::new();
    for (api_version, kind) in kinds {
        let (group, version) = api_version.split_once('/').unwrap_or(("", api_version));
        let of_kind = |object: &&Value| text(object, "/kind") == kind && text(object, "/apiVersion") == api_version;
        let examples: Vec<Value> = examples.iter().filter(of_kind).cloned().collect();
        let found = parsed.iter().find(|(_, crd)| crd.group == group && crd.names.kind == *kind);
        let source = match found {
            Some((definition, crd)) => {
                let namespaced = text(definition, "/spec/scope") == "Namespaced";
                let definition = Some((Box::new(crd.clone()), version.to_owned()));
                Source { api_version: api_version.clone(), kind: kind.clone(), namespaced, definition, examples }
            }
            None if !examples.is_empty() => {
                let namespaced = kind != "Namespace" && kind != "Node";
                Source { api_version: api_version.clone(), kind: kind.clone(), namespaced, definition: None, examples }
            }
            None => continue,
        };
        source.object(&mut Rng::with_seed(0), "check-a", None, &[])?;
        sources.push(source);
    }
    if sources.is_empty() {
        let kinds: Vec<&str> = kinds.iter().map(|(_, kind)| kind.as_str()).collect();
        bail!(
            "nothing to draw objects of {} from: give a definition (--crd) or an object (--object)",
            if kinds.is_empty() { "a controller that reconciles no kind".to_owned() } else { kinds.join(", ") }
        );
    }
    Ok(sources)
}

/// Valid objects, of one kind after the other.
///
/// # Errors
///
/// See [`Source::object`].
pub(super) fn samples(sources: &[Source], number: u64) -> anyhow::Result<Vec<Value>> {
    let drawn = (0..number).zip(sources.iter().cycle());
    drawn.map(|(seed, source)| source.object(&mut Rng::with_seed(seed), "check-a", None, &[])).collect()
}

/// The kinds whose drawn objects are all the same.
pub(super) fn unvaried(sources: &[Source]) -> Vec<&str> {
    let same = |source: &&Source| {
        let mut random = Rng::with_seed(0);
        let mut drawn = (0..DRAWN).map(|_| source.object(&mut random, "check-a", None, &[]).ok());
        let first = drawn.next();
        source.definition.is_some() && drawn.all(|object| Some(object) == first)
    };
    sources.iter().filter(same).map(|source| source.kind.as_str()).collect()
}

impl Source {
    /// A valid object, in place of `current` if there is one.
    ///
    /// * `others` - objects to take values from.
    ///
    /// # Errors
    ///
    /// No drawn object is valid.
    pub(super) fn object(
        &self,
        random: &mut Rng,
        name: &str,
        current: Option<&Value>,
        others: &[&Value],
    ) -> anyhow::Result<Value> {
        let Some((crd, version)) = &self.definition else { return self.varied(random, name, current) };
        let schema = &crd.version(version).context("the definition does not have the version of the plugin")?.openapi;
        let examples = self.examples.iter().chain(others.iter().copied()).chain(current).collect();
        let mut draw = Draw::new(random, examples);
        for _ in 0..TRIES {
            let mut object = self.named(name);
            let mut fields = draw.fields(schema);
            if let Some(current) = current.and_then(Value::as_object)
                && draw.random().u8(..100) < 70
            {
                fields = changed(current, fields, draw.random());
            }
            if let Some(all) = object.as_object_mut() {
                all.extend(fields);
            }
            if self.faults(current, &object).is_empty() {
                return Ok(object);
            }
        }
        let known = self.examples.iter().map(|one| self.renamed(one, name));
        let fits = |one: &Value| self.faults(current, one).is_empty();
        let known = known.chain(current.cloned()).find(fits);
        known.with_context(|| format!("no drawn {} is valid: give valid objects (--object)", self.kind))
    }

    /// An object that the API server rejects. None: there is no schema, or nothing was found to break.
    pub(super) fn invalid(&self, random: &mut Rng, object: &Value, current: Option<&Value>) -> Option<Value> {
        let (crd, version) = self.definition.as_ref()?;
        let schema = &crd.version(version)?.openapi;
        let refused = |broken: &Value| !self.faults(current, broken).is_empty();
        break_one(schema, object, &mut Draw::new(random, Vec::new()), refused).map(|broken| broken.object)
    }

    /// Whether the API server accepts an object in place of `current`.
    pub(super) fn accepts(&self, current: Option<&Value>, object: &Value) -> bool {
        self.faults(current, object).is_empty()
    }

    /// Whether an object is of this kind.
    pub(super) fn is_of(&self, object: &Value) -> bool {
        text(object, "/kind") == self.kind && text(object, "/apiVersion") == self.api_version
    }

    fn faults(&self, current: Option<&Value>, object: &Value) -> Vec<String> {
        let Some((crd, name)) = &self.definition else { return Vec::new() };
        let Some(version) = crd.version(name) else { return vec![format!("no version {name}")] };
        let schema = &version.schema;
        let mut errors: Vec<String> =
            crd.validate_type_and_metadata(name, object).iter().map(ToString::to_string).collect();
        let completed = |object: &Value| {
            let mut object = object.clone();
            let unknown = schema.prune(&mut object);
            schema.default(&mut object);
            (object, unknown)
        };
        let (object, unknown) = completed(object);
        errors.extend(unknown);
        let current = current.map(|current| completed(current).0);
        errors.extend(schema.validate(&object, current.as_ref()).iter().map(ToString::to_string));
        errors
    }

    fn named(&self, name: &str) -> Value {
        let metadata =
            if self.namespaced { json!({"name": name, "namespace": "default"}) } else { json!({"name": name}) };
        json!({"apiVersion": self.api_version, "kind": self.kind, "metadata": metadata})
    }

    /// An object under another name.
    pub(super) fn renamed(&self, example: &Value, name: &str) -> Value {
        let mut object = example.clone();
        let named = self.named(name);
        if let (Some(all), Some(metadata)) = (object.pointer_mut("/metadata"), named.get("metadata")) {
            for field in ["name", "namespace"] {
                if let (Some(fields), Some(value)) = (all.as_object_mut(), metadata.get(field)) {
                    fields.insert(field.to_owned(), value.clone());
                }
            }
        }
        object
    }

    /// An example, or the present object with other labels and annotations: nobody knows which fields of a kind without a definition may
    /// change.
    fn varied(&self, random: &mut Rng, name: &str, current: Option<&Value>) -> anyhow::Result<Value> {
        let example = random.choice(&self.examples).context("no object")?;
        let Some(current) = current else { return Ok(self.renamed(example, name)) };
        let mut object = current.clone();
        for part in ["labels", "annotations"] {
            let known: Vec<(&String, &Value)> = self
                .examples
                .iter()
                .filter_map(|one| one.pointer("/metadata")?.get(part)?.as_object())
                .flatten()
                .collect();
            let Some((key, value)) = random.choice(known) else { continue };
            let Some(metadata) = object.get_mut("metadata").and_then(Value::as_object_mut) else { continue };
            let all = metadata.entry(part).or_insert_with(|| json!({}));
            let Some(all) = all.as_object_mut() else { continue };
            if all.remove(key).is_none() || random.u8(..100) < 30 {
                all.insert(key.clone(), value.clone());
            }
        }
        Ok(object)
    }
}

/// The fields of `current` with one or two places drawn again or left out.
fn changed(current: &Map<String, Value>, drawn: Map<String, Value>, random: &mut Rng) -> Map<String, Value> {
    let mut fields = current.clone();
    fields.retain(|name, _| !["apiVersion", "kind", "metadata", "status"].contains(&name.as_str()));
    let (mut whole, drawn) = (Value::Object(fields), Value::Object(drawn));
    let mut places = Vec::new();
    places_of(&drawn, "", &mut places);
    places_of(&whole, "", &mut places);
    for _ in 0..random.u8(1..3) {
        let Some(at) = random.choice(&places) else { continue };
        let Some((parent, name)) = at.rsplit_once('/') else { continue };
        let Some(parent) = whole.pointer_mut(parent).and_then(Value::as_object_mut) else { continue };
        let name = name.replace("~1", "/").replace("~0", "~");
        match drawn.pointer(at) {
            Some(value) => drop(parent.insert(name, value.clone())),
            None => drop(parent.remove(&name)),
        }
    }
    match whole {
        Value::Object(fields) => fields,
        _ => Map::new(),
    }
}

/// Pointers to everything below a value.
fn places_of(value: &Value, pointer: &str, places: &mut Vec<String>) {
    for (name, field) in value.as_object().into_iter().flatten() {
        let at = format!("{pointer}/{}", escape(name));
        places_of(field, &at, places);
        places.push(at);
    }
}

pub(super) fn text<'v>(value: &'v Value, pointer: &str) -> &'v str {
    value.pointer(pointer).and_then(Value::as_str).unwrap_or_default()
}
