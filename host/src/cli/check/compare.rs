//! Two worlds that should be the same: their differences, each as the step of a scenario that fails in one and passes in the other.

use super::super::test::scenarios::Seen;
use super::program::reference;
use super::source::text;
use serde_json::{Map, Value, json};
use std::collections::{BTreeMap, BTreeSet};

/// Fields that differ from world to world: of metadata and of references.
const IDENTIFYING: [&str; 4] = ["uid", "resourceVersion", "creationTimestamp", "managedFields"];

/// The same, but for `spec`, where they mean something else.
const PASSING: [&str; 4] = ["lastTransitionTime", "lastUpdateTime", "generation", "observedGeneration"];

/// Fields of an object whose keys are the user's own.
const FREE: [&str; 3] = ["data", "binaryData", "stringData"];

fn is_volatile(name: &str) -> bool {
    IDENTIFYING.contains(&name) || PASSING.contains(&name)
}

/// The API server adds a volume of this name, and five characters, to a Pod.
const TOKEN_VOLUME: &str = "kube-api-access-";

/// An object: apiVersion, kind, namespace and name.
pub(super) type Id = [String; 4];

/// A difference.
#[derive(Clone, Debug)]
pub(super) struct Difference {
    /// The object. None: a record of a service.
    pub(super) id: Option<Id>,
    /// Kind and place, without names: differences with the same shape have likely the same reason.
    pub(super) shape: String,
    /// For people.
    pub(super) line: String,
    /// A step of a scenario.
    pub(super) step: Value,
}

/// The objects of a world in a spelling that can be compared with another world's, and as they were.
pub(super) struct World<'s> {
    objects: BTreeMap<Id, (Value, &'s Value)>,
}

/// What a server chose, and a name in its place that is the same in other worlds.
pub(super) type Names = Vec<(String, String)>;

/// The names of uids, and of generated names.
pub(super) fn names(seen: &Seen) -> Names {
    let mut names = Names::new();
    for object in &seen.objects {
        let uid = text(object, "/metadata/uid");
        if uid.len() > 8 {
            names.push((
                uid.to_owned(),
                format!("<uid of {} {}>", text(object, "/kind"), text(object, "/metadata/name")),
            ));
        }
    }
    let mut counts: BTreeMap<String, usize> = BTreeMap::new();
    for object in &seen.objects {
        let (generated, name) = (text(object, "/metadata/generateName"), text(object, "/metadata/name"));
        if !generated.is_empty() && name.len() > generated.len() {
            let count = counts.entry(generated.to_owned()).or_default();
            *count += 1;
            // Others may name it.
            names.push((name.to_owned(), format!("{generated}{count}")));
        }
    }
    let mut addresses = Names::new();
    for object in seen.objects.iter().filter(|object| text(object, "/kind") == "Service") {
        let assigned = object.pointer("/spec/clusterIPs").and_then(Value::as_array).into_iter().flatten();
        for address in assigned.filter_map(Value::as_str).filter(|address| *address != HEADLESS) {
            addresses.push((address.to_owned(), format!("<address of {}>", text(object, "/metadata/name"))));
        }
    }
    // One address can begin as another does.
    addresses.sort_by_key(|(address, _)| std::cmp::Reverse(address.len()));
    names.extend(addresses);
    names
}

impl<'s> World<'s> {
    /// * `ids` - names of records of services.
    pub(super) fn of(seen: &'s Seen, ids: &Names) -> Self {
        let mut names = names(seen);
        names.extend(ids.iter().cloned());
        let mut objects = BTreeMap::new();
        for object in &seen.objects {
            let mut name = text(object, "/metadata/name").to_owned();
            if !text(object, "/metadata/generateName").is_empty()
                && let Some((_, counted)) = names.iter().find(|(generated, _)| *generated == name)
            {
                name.clone_from(counted);
            }
            let mut value = object.clone();
            if let Some(data) = value.get_mut("data").and_then(Value::as_object_mut)
                && text(object, "/kind") == "Secret"
            {
                // A new password is as good as the one before.
                data.values_mut().for_each(|value| *value = json!("<secret>"));
            }
            if let Some(metadata) = value.get_mut("metadata").and_then(Value::as_object_mut) {
                metadata.remove("name");
            }
            normalise_object(&mut value, &names);
            let id = [
                text(object, "/apiVersion").to_owned(),
                text(object, "/kind").to_owned(),
                text(object, "/metadata/namespace").to_owned(),
                name,
            ];
            objects.insert(id, (value, object));
        }
        Self { objects }
    }

    /// Where this world differs from `wanted`.
    ///
    /// * `excused` - names of objects that failed: what hangs on them may be as it was before.
    pub(super) fn differences(&self, wanted: &World<'_>, excused: &BTreeSet<String>) -> Vec<Difference> {
        let mut all = Vec::new();
        let ids: BTreeSet<&Id> = self.objects.keys().chain(wanted.objects.keys()).collect();
        for id in ids {
            let [_, kind, namespace, name] = id;
            let place =
                if namespace.is_empty() { format!("{kind} {name}") } else { format!("{kind} {namespace}/{name}") };
            let (found, expected) = (self.objects.get(id), wanted.objects.get(id));
            let about = |object: &&Value| {
                let object = object.to_string();
                excused.iter().any(|name| object.contains(name.as_str()))
            };
            if found.iter().chain(&expected).any(|(_, object)| about(object)) {
                continue;
            }
            let of = || Some(id.clone());
            match (found, expected) {
                (Some((_, object)), None) => all.push(Difference {
                    id: of(),
                    shape: format!("{kind} extra"),
                    line: format!("{place}: expected none, found one"),
                    step: absent(object),
                }),
                (None, Some((_, object))) => all.push(Difference {
                    id: of(),
                    shape: format!("{kind} missing"),
                    line: format!("{place}: expected one, found none"),
                    step: json!({"assert": {"resource": identity(object), "timeout": super::program::SETTLE}}),
                }),
                (Some((found, object)), Some((expected, raw))) => {
                    let found = &following(found, expected, (object, raw));
                    let Some(part) = part(Some(found), expected, raw) else { continue };
                    let mut resource = identity(object);
                    merge(&mut resource, part.clone());
                    let at = leaves(&part).unwrap_or_default();
                    all.push(Difference {
                        id: of(),
                        shape: format!("{kind}{}", shape(&at)),
                        line: format!(
                            "{place}: {at}: expected {}, found {}",
                            shown(expected.pointer(&at)),
                            shown(found.pointer(&at))
                        ),
                        step: json!({"assert": {"resource": resource, "timeout": super::program::SETTLE}}),
                    });
                }
                (None, None) => {}
            }
        }
        all
    }
}

/// The step that holds while there is no such object.
pub(super) fn absent(object: &Value) -> Value {
    json!({"error": {"resource": identity(object), "timeout": super::program::SETTLE}})
}

/// What names an object in a step.
pub(super) fn identity(object: &Value) -> Value {
    let named = reference(object, &json!({}));
    let mut metadata = Map::new();
    for field in ["name", "namespace"] {
        metadata.extend(named.get(field).map(|value| (field.to_owned(), value.clone())));
    }
    json!({"apiVersion": text(object, "/apiVersion"), "kind": text(object, "/kind"), "metadata": metadata})
}

/// Whether both are one object, which may be served in several versions.
pub(super) fn is_same_object(one: &Value, other: &Value) -> bool {
    let of = |object: &Value| {
        let mut named = identity(object);
        let group = text(&named, "/apiVersion").rsplit_once('/').map_or("", |(group, _)| group).to_owned();
        if let Some(fields) = named.as_object_mut() {
            fields.insert("apiVersion".to_owned(), group.into());
        }
        named
    };
    of(one) == of(other)
}

/// The part of an object that has a text, for an `error` step. None: it has no such text.
pub(super) fn holding(object: &Value, secret: &str) -> Option<Value> {
    match object {
        Value::String(text) => text.contains(secret).then(|| object.clone()),
        Value::Object(fields) => fields.iter().find_map(|(name, field)| {
            if name == "managedFields" {
                return None;
            }
            Some(Value::Object(Map::from_iter([(name.clone(), holding(field, secret)?)])))
        }),
        Value::Array(items) => {
            let at = items.iter().position(|item| holding(item, secret).is_some())?;
            let blank = |item: &Value| if item.is_object() { json!({}) } else { item.clone() };
            let item = |(n, item): (usize, &Value)| if n == at { holding(item, secret) } else { Some(blank(item)) };
            items.iter().enumerate().map(item).collect::<Option<Vec<_>>>().map(Value::Array)
        }
        _ => None,
    }
}

/// Adds the fields of `more` to an object.
pub(super) fn merge(into: &mut Value, more: Value) {
    match (into, more) {
        (Value::Object(fields), Value::Object(more)) => {
            for (name, value) in more {
                merge(fields.entry(name).or_insert_with(|| json!({})), value);
            }
        }
        (into, more) => *into = more,
    }
}

/// The least part of `expected` that `found` does not have. None: they are equal. A field that is too much is expected to be null.
///
/// * `raw` - `expected` before it was normalised.
pub(super) fn part(found: Option<&Value>, expected: &Value, raw: &Value) -> Option<Value> {
    let nothing = json!({});
    let found = if expected.is_object() { found.or(Some(&nothing)) } else { found };
    match (found, expected) {
        (Some(Value::Object(found)), Value::Object(wanted)) => {
            let mut fields = Map::new();
            for (name, wanted) in wanted {
                let raw = raw.get(name).unwrap_or(wanted);
                fields.extend(part(found.get(name), wanted, raw).map(|part| (name.clone(), part)));
            }
            let more = found.keys().filter(|name| !wanted.contains_key(*name));
            fields.extend(more.map(|name| (name.clone(), Value::Null)));
            (!fields.is_empty()).then_some(Value::Object(fields))
        }
        (Some(Value::Array(found)), Value::Array(wanted)) if found.len() == wanted.len() => {
            if found == wanted {
                return None;
            }
            let raw = |at: usize, wanted: &Value| raw.get(at).cloned().unwrap_or_else(|| wanted.clone());
            let item = |(at, (found, wanted)): (usize, (&Value, &Value))| {
                let raw = raw(at, wanted);
                part(Some(found), wanted, &raw).unwrap_or(if wanted.is_object() { json!({}) } else { raw })
            };
            Some(Value::Array(found.iter().zip(wanted).enumerate().map(item).collect()))
        }
        (Some(found), wanted) if found == wanted => None,
        _ => Some(lasting(raw)),
    }
}

/// A value without what differs from world to world.
fn lasting(raw: &Value) -> Value {
    match raw {
        Value::Object(fields) => {
            let kept = fields.iter().filter(|(name, _)| !is_volatile(name));
            Value::Object(kept.map(|(name, field)| (name.clone(), lasting(field))).collect())
        }
        Value::Array(items) => Value::Array(items.iter().map(lasting).collect()),
        other => other.clone(),
    }
}

/// The pointer to the first difference.
pub(super) fn leaves(part: &Value) -> Option<String> {
    match part {
        Value::Object(fields) if !fields.is_empty() => fields
            .iter()
            .find_map(|(name, field)| Some(format!("/{}{}", oarlock_schema::draw::escape(name), leaves(field)?)))
            .or_else(|| Some(String::new())),
        Value::Array(items) => {
            let at = items.iter().position(|item| *item != json!({}))?;
            Some(format!("/{at}{}", leaves(items.get(at)?).unwrap_or_default()))
        }
        _ => Some(String::new()),
    }
}

/// A pointer without the parts that an object chooses: three steps, without numbers.
pub(super) fn shape(pointer: &str) -> String {
    let steps = pointer.split('/').skip(1).take(2).filter(|step| step.parse::<usize>().is_err());
    steps.map(|step| format!(".{step}")).collect()
}

pub(super) fn shown(value: Option<&Value>) -> String {
    let text = value.map_or_else(|| "none".to_owned(), Value::to_string);
    if text.chars().count() > 200 { format!("{}…", text.chars().take(200).collect::<String>()) } else { text }
}

/// `found`, with the values of `expected` in the status where each world has the generation of the object: it counts the changes.
///
/// * `objects` - found and expected, as they were.
fn following(found: &Value, expected: &Value, objects: (&Value, &Value)) -> Value {
    fn follow(found: &mut Value, expected: &Value, generations: (&Value, &Value)) {
        match (found, expected) {
            (Value::Object(found), Value::Object(expected)) => {
                for (name, found) in found {
                    expected.get(name).into_iter().for_each(|expected| follow(found, expected, generations));
                }
            }
            (Value::Array(found), Value::Array(expected)) => {
                found.iter_mut().zip(expected).for_each(|(found, expected)| follow(found, expected, generations));
            }
            (found, expected) if (&*found, expected) == generations => *found = expected.clone(),
            _ => {}
        }
    }
    let mut found = found.clone();
    let generation = |object: &Value| object.pointer("/metadata/generation").cloned().unwrap_or_default();
    let (own, other) = (generation(objects.0), generation(objects.1));
    if let (Some(found), Some(expected), true) = (found.get_mut("status"), expected.get("status"), own.is_number()) {
        follow(found, expected, (&own, &other));
    }
    found
}

/// `spec.clusterIP` of a Service without an address.
const HEADLESS: &str = "None";

/// Takes out of an object what differs from world to world.
fn normalise_object(object: &mut Value, names: &[(String, String)]) {
    let service = text(object, "/kind") == "Service";
    for (name, field) in object.as_object_mut().into_iter().flatten() {
        match name.as_str() {
            free if FREE.contains(&free) => field.as_object_mut().into_iter().flatten().for_each(|(_, value)| {
                replace(value, names);
            }),
            "spec" => {
                if service {
                    unassign(field);
                }
                take_out(field, names, &|name| IDENTIFYING.contains(&name));
            }
            _ => normalise(field, names),
        }
    }
    if let Some(fields) = object.as_object_mut() {
        fields.retain(|_, field| field.as_object().is_none_or(|fields| !fields.is_empty()));
    }
}

/// Takes the addresses and ports that the API server assigns out of the spec of a Service.
fn unassign(spec: &mut Value) {
    let Some(spec) = spec.as_object_mut() else { return };
    if spec.get("clusterIP").is_some_and(|address| address != HEADLESS) {
        spec.remove("clusterIP");
        spec.remove("clusterIPs");
    }
    spec.remove("healthCheckNodePort");
    for port in spec.get_mut("ports").and_then(Value::as_array_mut).into_iter().flatten() {
        port.as_object_mut().map(|port| port.remove("nodePort"));
    }
}

/// Takes out what differs from world to world.
pub(super) fn normalise(value: &mut Value, uids: &[(String, String)]) {
    take_out(value, uids, &is_volatile);
}

fn take_out(value: &mut Value, uids: &[(String, String)], volatile: &dyn Fn(&str) -> bool) {
    match value {
        Value::Object(fields) => {
            fields.retain(|name, _| !volatile(name));
            fields.values_mut().for_each(|field| take_out(field, uids, volatile));
            fields.retain(|_, field| field.as_object().is_none_or(|fields| !fields.is_empty()));
        }
        Value::Array(items) => items.iter_mut().for_each(|item| take_out(item, uids, volatile)),
        single => replace(single, uids),
    }
}

/// Replaces times, and ids by their names.
fn replace(value: &mut Value, uids: &[(String, String)]) {
    match value {
        Value::String(text) => {
            if text.parse::<jiff::Timestamp>().is_ok() {
                "<time>".clone_into(text);
            }
            if text.starts_with(TOKEN_VOLUME) {
                TOKEN_VOLUME.clone_into(text);
            }
            for (uid, name) in uids {
                if text.contains(uid.as_str()) {
                    *text = text.replace(uid.as_str(), name);
                }
            }
        }
        // Ids that are numbers.
        Value::Number(number) => {
            let number = number.to_string();
            if let Some((_, name)) = uids.iter().find(|(id, _)| *id == number) {
                *value = name.as_str().into();
            }
        }
        _ => {}
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn seen(objects: Vec<Value>) -> Seen {
        Seen { objects, ..Seen::default() }
    }

    fn map(uid: &str, data: &Value) -> Value {
        json!({"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "a", "namespace": "n", "uid": uid}, "data": data})
    }

    #[test]
    fn names_that_a_server_chose_are_no_differences() {
        let world = |name: &str| {
            let metadata = json!({"name": name, "namespace": "n", "generateName": "a-"});
            let child = json!({"apiVersion": "v1", "kind": "ConfigMap", "metadata": metadata});
            seen(vec![child, map("11111111-1111", &json!({"child": name}))])
        };
        let (one, other) = (world("a-7fk2x"), world("a-zz9bq"));
        let found = World::of(&one, &Names::new()).differences(&World::of(&other, &Names::new()), &BTreeSet::new());
        assert!(found.is_empty(), "{found:?}");
    }

    #[test]
    fn volumes_of_tokens_are_no_differences() {
        let pod = |volume: &str| {
            let metadata = json!({"name": "a", "namespace": "n"});
            seen(vec![
                json!({"apiVersion": "v1", "kind": "Pod", "metadata": metadata, "spec": {"volumes": [{"name": volume}]}}),
            ])
        };
        let (one, other, own) = (pod("kube-api-access-x2z4k"), pod("kube-api-access-99bqt"), pod("data"));
        let differences = |seen: &Seen| {
            World::of(&one, &Names::new()).differences(&World::of(seen, &Names::new()), &BTreeSet::new()).len()
        };
        assert_eq!((differences(&other), differences(&own)), (0, 1));
    }

    #[test]
    fn what_the_api_server_assigns_is_no_difference() {
        let world = |address: &str, port: u16| {
            let spec =
                json!({"clusterIP": address, "clusterIPs": [address], "ports": [{"port": 80, "nodePort": port}]});
            let service = json!({"apiVersion": "v1", "kind": "Service", "metadata": {"name": "web", "namespace": "n"}, "spec": spec});
            seen(vec![service, map("11111111-1111", &json!({"url": format!("http://{address}:80")}))])
        };
        let differences = |one: &Seen, other: &Seen| {
            World::of(one, &Names::new()).differences(&World::of(other, &Names::new()), &BTreeSet::new()).len()
        };
        assert_eq!(differences(&world("10.96.0.2", 30001), &world("10.96.0.31", 30002)), 0);
        let mut headless = world("10.96.0.2", 30001);
        headless.objects[0]["spec"]["clusterIP"] = "None".into();
        assert_eq!(differences(&headless, &world("10.96.0.2", 30001)), 1);
    }

    #[test]
    fn a_status_that_follows_the_generation_is_no_difference_and_keys_of_data_are_the_users() {
        let world = |generation: u32, status: u32, data: &str| {
            let metadata = json!({"name": "a", "namespace": "n", "generation": generation});
            let object =
                json!({"apiVersion": "v1", "kind": "Site", "metadata": metadata, "status": {"at": [{"gen": status}]}});
            seen(vec![object, map("11111111-1111", &json!({"generation": data}))])
        };
        let differences = |one: &Seen, other: &Seen| {
            World::of(one, &Names::new()).differences(&World::of(other, &Names::new()), &BTreeSet::new()).len()
        };
        assert_eq!(differences(&world(1, 1, "x"), &world(3, 3, "x")), 0);
        assert_eq!(differences(&world(1, 1, "x"), &world(3, 2, "x")), 1);
        assert_eq!(differences(&world(1, 7, "x"), &world(3, 7, "y")), 1);
    }

    #[test]
    fn uids_and_times_are_no_differences_and_data_is() {
        let one = seen(vec![map(
            "11111111-1111",
            &json!({"own": "11111111-1111", "at": "2026-01-01T00:00:00Z", "x": "1", "old": "y"}),
        )]);
        let other =
            seen(vec![map("22222222-2222", &json!({"own": "22222222-2222", "at": "2027-01-01T00:00:00Z", "x": "2"}))]);
        let found = World::of(&one, &Names::new()).differences(&World::of(&other, &Names::new()), &BTreeSet::new());
        assert_eq!(found.len(), 1);
        assert_eq!(found[0].line, "ConfigMap n/a: /data/old: expected none, found \"y\"");
        let expected = json!({"assert": {"timeout": "5m", "resource": {"apiVersion": "v1", "kind": "ConfigMap",
            "metadata": {"name": "a", "namespace": "n"}, "data": {"x": "2", "old": null}}}});
        assert_eq!(found[0].step, expected);
        assert!(
            World::of(&one, &Names::new()).differences(&World::of(&one, &Names::new()), &BTreeSet::new()).is_empty()
        );
        let excused = BTreeSet::from(["a".to_owned()]);
        assert!(World::of(&one, &Names::new()).differences(&World::of(&other, &Names::new()), &excused).is_empty());
    }
}
