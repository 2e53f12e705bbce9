//! What should be against what is. No IO.

use super::guest::Shape;
use super::kinds::Kind;
use super::ledger::Thing;
use serde_json::Value;
use std::collections::{BTreeMap, HashMap, HashSet};

/// An object as its maker knows it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Known {
    /// Its kind, and so its plugin.
    pub kind: Kind,
    /// Its name.
    pub name: String,
    /// Its uid.
    pub uid: String,
    /// What its maker wrote last into `spec.value`.
    pub value: String,
    /// The ConfigMap it hangs on; empty: none.
    pub settings: String,
}

/// What should be.
#[derive(Clone, Debug, Default)]
pub struct Truth {
    /// The objects that were made and not deleted.
    pub living: Vec<Known>,
    /// What was last written into the ConfigMaps that objects hang on, by name.
    pub settings: BTreeMap<String, String>,
}

/// What is.
#[derive(Clone, Debug, Default)]
pub struct Found {
    /// The objects of the API server.
    pub objects: Vec<(Kind, Value)>,
    /// The ConfigMaps that plugins made.
    pub children: Vec<Value>,
    /// The ledger's things, by uid.
    pub things: HashMap<String, Vec<Thing>>,
}

/// Where the two differ, in words.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Verdict {
    /// Objects whose latest value is not where it should have arrived.
    pub lost: Vec<String>,
    /// Objects that do not say of themselves that they are well.
    pub not_converged: Vec<String>,
    /// Objects that were deleted and are still there.
    pub stuck: Vec<String>,
    /// Things of objects that are not there.
    pub left_over: Vec<String>,
    /// Objects with several things.
    pub double: Vec<String>,
}

impl Verdict {
    /// Compares.
    #[must_use]
    pub fn of(truth: &Truth, found: &Found) -> Self {
        let mut verdict = Self::default();
        let objects: HashMap<&str, &Value> = found.objects.iter().map(|(_, o)| (text(o, "/metadata/uid"), o)).collect();
        let mut children: HashMap<&str, Vec<&str>> = HashMap::new();
        for child in &found.children {
            let owner = text(child, "/metadata/ownerReferences/0/uid");
            children.entry(owner).or_default().push(text(child, "/data/value"));
        }
        for known in &truth.living {
            let things = match known.kind.shape() {
                Shape::Child => children.get(known.uid.as_str()).cloned().unwrap_or_default(),
                Shape::Ledger | Shape::Settings => {
                    let things = found.things.get(&known.uid);
                    things.into_iter().flatten().map(|thing| thing.value.as_str()).collect()
                }
            };
            verdict.judge(truth, known, objects.get(known.uid.as_str()).copied(), &things);
        }
        let living: HashSet<&str> = truth.living.iter().map(|known| known.uid.as_str()).collect();
        for (kind, object) in &found.objects {
            if !living.contains(text(object, "/metadata/uid")) {
                verdict.stuck.push(format!("{} {}", kind.plugin(), text(object, "/metadata/name")));
            }
        }
        let gone = |uid: &&str| !living.contains(uid);
        verdict.left_over.extend(children.keys().copied().filter(gone).map(|uid| format!("the child of {uid}")));
        verdict.left_over.extend(found.things.keys().map(String::as_str).filter(gone).map(|uid| format!("of {uid}")));
        verdict
    }

    /// Whether all is as it should be.
    #[must_use]
    pub fn is_clean(&self) -> bool {
        *self == Self::default()
    }

    fn judge(&mut self, truth: &Truth, known: &Known, object: Option<&Value>, things: &[&str]) {
        let who = format!("{} {}", known.kind.plugin(), known.name);
        let expected = match known.kind.shape() {
            Shape::Settings => {
                let settings = truth.settings.get(&known.settings).map_or("none", String::as_str);
                format!("{}+{settings}", known.value)
            }
            Shape::Ledger | Shape::Child => known.value.clone(),
        };
        if things.len() > 1 {
            self.double.push(format!("{who}: {things:?}"));
        }
        let (Some(object), true) = (object, things.first() == Some(&expected.as_str())) else {
            self.lost.push(format!("{who}: {things:?} instead of {expected:?}"));
            return;
        };
        if !known.kind.has_status() {
            return;
        }
        let conditions = object.pointer("/status/conditions").and_then(Value::as_array);
        let ready = conditions.into_iter().flatten().find(|condition| text(condition, "/type") == "Ready");
        let well = object.pointer("/status/observedGeneration") == object.pointer("/metadata/generation")
            && ready.is_some_and(|ready| text(ready, "/status") == "True")
            && text(object, "/status/value") == expected;
        if !well {
            self.not_converged.push(format!("{who}: {}", object.get("status").unwrap_or(&Value::Null)));
        }
    }
}

fn text<'a>(value: &'a Value, pointer: &str) -> &'a str {
    value.pointer(pointer).and_then(Value::as_str).unwrap_or_default()
}
