//! Where objects come from: a schema, or examples.

use crate::torture::Random;
use anyhow::{Context, Result, bail};
use oarlock_schema::Crd;
use oarlock_schema::draw::{Broken, Draw, break_one, escape};
use serde_json::{Map, Value, json};

/// How often an object is drawn before that counts as impossible.
const TRIES: usize = 400;

/// What objects of a kind may look like.
#[derive(Clone, Debug)]
pub enum Source {
    /// The schema of a custom resource.
    Schema {
        /// Its definition.
        crd: Box<Crd>,
        /// The version that is written.
        version: String,
        /// Objects to take values from; may be empty.
        examples: Vec<Value>,
    },
    /// Whole objects that are known to be valid. Others are mixed from them, for better or worse.
    Examples {
        /// At least one.
        objects: Vec<Value>,
        /// JSON pointers to what cannot be changed while an object lives, though only the plugin knows.
        fixed: Vec<String>,
    },
}

/// What the API server should say to an object.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Expected {
    /// It takes it.
    Accepted,
    /// It refuses it, for this reason.
    Refused(String),
    /// Nobody knows.
    Either,
}

impl Source {
    /// An object that is valid, in place of `current` if there is one.
    ///
    /// # Errors
    ///
    /// When no drawn object passes the validator: the rules of the schema want more than chance can give.
    pub fn valid(&self, random: &mut Random, current: Option<&Value>) -> Result<Value> {
        match self {
            Self::Schema { crd, version, examples } => {
                let schema = &crd.versions.iter().find(|one| one.name == *version).context("no such version")?.openapi;
                let mut draw = Draw::new(random.numbers(), examples.iter().collect());
                if let Some(current) = current {
                    draw.knows(current);
                }
                for _ in 0..TRIES {
                    let object = object(crd, version, mutated(&mut draw, schema, current));
                    if self.expected(current, &object) == Expected::Accepted {
                        return Ok(object);
                    }
                }
                let known =
                    current.into_iter().chain(examples).find(|one| self.expected(current, one) == Expected::Accepted);
                known.cloned().context("no object that was drawn is valid: give examples of valid ones (BASE)")
            }
            Self::Examples { objects, fixed } => {
                let same =
                    |one: &&Value| current.is_none_or(|now| fixed.iter().all(|at| one.pointer(at) == now.pointer(at)));
                let alike: Vec<&Value> = objects.iter().filter(same).collect();
                let all: Vec<&Value> = objects.iter().collect();
                let from = if alike.is_empty() || random.percent(10) { &all } else { &alike };
                from.get(random.below(from.len())).map(|one| (*one).clone()).context("no examples")
            }
        }
    }

    /// An object with one fault, or one that may have any; None: nothing can be broken.
    ///
    /// # Errors
    ///
    /// As [`valid`](Self::valid).
    pub fn invalid(&self, random: &mut Random, current: Option<&Value>) -> Result<Option<Broken>> {
        let base = self.valid(random, current)?;
        match self {
            Self::Schema { crd, version, examples } => {
                let schema = &crd.versions.iter().find(|one| one.name == *version).context("no such version")?.openapi;
                let mut draw = Draw::new(random.numbers(), examples.iter().collect());
                Ok(break_one(schema, &base, &mut draw, |one| {
                    matches!(self.expected(current, one), Expected::Refused(_))
                }))
            }
            Self::Examples { objects, .. } => {
                let Some(other) = objects.get(random.below(objects.len())) else { bail!("no examples") };
                let mut object = base;
                let spoil = random.percent(50);
                mix(&mut object, other, random, spoil);
                Ok(Some(Broken { object, rule: if spoil { "spoilt" } else { "mixed" }, pointer: String::new() }))
            }
        }
    }

    /// What the API server should say when `object` is created, or put in place of `current`.
    #[must_use]
    pub fn expected(&self, current: Option<&Value>, object: &Value) -> Expected {
        match self {
            Self::Schema { crd, version, .. } => {
                let errors = faults(crd, version, current, object);
                if errors.is_empty() { Expected::Accepted } else { Expected::Refused(errors.join("; ")) }
            }
            Self::Examples { objects, .. } => {
                let body = |object: &Value| {
                    let mut object = object.clone();
                    object.pointer_mut("/metadata").and_then(Value::as_object_mut).map(|meta| meta.remove("name"));
                    object
                };
                let known = objects.iter().any(|one| body(one) == body(object));
                if known { Expected::Accepted } else { Expected::Either }
            }
        }
    }

    /// Whether `to` differs from `from` in what only the plugin knows cannot be changed.
    #[must_use]
    pub fn changes_what_is_fixed(&self, from: &Value, to: &Value) -> bool {
        match self {
            Self::Schema { .. } => false,
            Self::Examples { fixed, .. } => fixed.iter().any(|at| from.pointer(at) != to.pointer(at)),
        }
    }
}

/// What is wrong with an object, as an API server with strict field validation sees it.
fn faults(crd: &Crd, version: &str, current: Option<&Value>, object: &Value) -> Vec<String> {
    let Some(of_version) = crd.versions.iter().find(|one| one.name == version) else {
        return vec!["no such version".to_owned()];
    };
    let schema = &of_version.schema;
    let mut errors: Vec<String> =
        crd.validate_type_and_metadata(version, object).iter().map(ToString::to_string).collect();
    let mut object = object.clone();
    errors.extend(schema.prune(&mut object).iter().map(|path| format!("unknown field {path}")));
    schema.default(&mut object);
    let current = current.map(|current| {
        let mut current = current.clone();
        schema.prune(&mut current);
        schema.default(&mut current);
        current
    });
    errors.extend(schema.validate(&object, current.as_ref()).iter().map(ToString::to_string));
    errors
}

fn object(crd: &Crd, version: &str, fields: Map<String, Value>) -> Value {
    let mut object = json!({
        "apiVersion": format!("{}/{version}", crd.group), "kind": crd.names.kind, "metadata": {"name": "drawn"},
    });
    if let Some(all) = object.as_object_mut() {
        all.extend(fields);
    }
    object
}

/// New fields, or those of `current` with some of them drawn again.
fn mutated(draw: &mut Draw<'_>, schema: &Value, current: Option<&Value>) -> Map<String, Value> {
    let drawn = draw.fields(schema);
    let Some(current) = current.and_then(Value::as_object).filter(|_| draw.random().u8(..100) < 85) else {
        return drawn;
    };
    let mut fields: Map<String, Value> =
        current.iter().filter(|(name, _)| !is_of_every_object(name)).map(|(k, v)| (k.clone(), v.clone())).collect();
    let drawn = Value::Object(drawn);
    let mut places = Vec::new();
    places_of(&drawn, "", &mut places);
    // One or two places at a time: most rules are about few fields.
    for _ in 0..draw.random().usize(1..=2) {
        let Some(at) = draw.random().choice(&places) else { continue };
        if let Some(value) = drawn.pointer(at) {
            put(&mut fields, at, value);
        }
    }
    fields
}

fn is_of_every_object(name: &str) -> bool {
    ["apiVersion", "kind", "metadata", "status"].contains(&name)
}

/// Pointers to everything in a value.
fn places_of(value: &Value, pointer: &str, places: &mut Vec<String>) {
    if !pointer.is_empty() {
        places.push(pointer.to_owned());
    }
    for (name, field) in value.as_object().into_iter().flatten() {
        places_of(field, &format!("{pointer}/{}", escape(name)), places);
    }
}

/// Puts a value where its parent is; elsewhere nothing happens.
fn put(fields: &mut Map<String, Value>, pointer: &str, value: &Value) {
    let mut whole = Value::Object(std::mem::take(fields));
    if let Some((parent, name)) = pointer.rsplit_once('/')
        && let Some(parent) = whole.pointer_mut(parent).and_then(Value::as_object_mut)
    {
        parent.insert(name.replace("~1", "/").replace("~0", "~"), value.clone());
    }
    if let Value::Object(all) = whole {
        *fields = all;
    }
}

/// Takes some of what differs from another example, and with `spoil` puts nonsense into one text that differs.
fn mix(object: &mut Value, other: &Value, random: &mut Random, spoil: bool) {
    let (Some(ours), Some(theirs)) = (object.as_object_mut(), other.as_object()) else {
        if spoil && object.is_string() && random.percent(50) {
            *object = json!("nonsense");
        } else if random.percent(50) {
            *object = other.clone();
        }
        return;
    };
    let names: Vec<String> = ours.keys().chain(theirs.keys()).cloned().collect();
    for name in names {
        match (ours.get_mut(&name), theirs.get(&name)) {
            (Some(mine), Some(yours)) if mine != yours => mix(mine, yours, random, spoil),
            (None, Some(yours)) if random.percent(50) => {
                ours.insert(name, yours.clone());
            }
            (Some(_), None) if random.percent(50) => {
                ours.remove(&name);
            }
            _ => {}
        }
    }
}
