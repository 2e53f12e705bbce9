//! The records of services in two worlds: which correspond, and their differences.

use super::super::test::scenarios::Seen;
use super::compare::{Difference, Names, leaves, names, normalise, part, shape, shown};
use oarlock::plugin::Record;
use serde_json::{Map, Value, json};
use std::collections::{BTreeMap, BTreeSet};
use std::hash::{DefaultHasher, Hash as _, Hasher as _};

/// How far a record is described by the records that it names, and these by theirs.
const DEPTH: usize = 3;

/// A record in a spelling that can be compared with another world's.
struct Known<'s> {
    record: &'s Record,
    /// Without what the service counts.
    value: Value,
    /// With all ids left out.
    blank: Value,
    /// The same for records that correspond in every field, and in the records that they name.
    colour: u64,
}

/// The records of one collection in both worlds that correspond. None: there is none in this world.
struct Pair<'s> {
    url: &'s str,
    found: Option<Known<'s>>,
    wanted: Option<Known<'s>>,
}

/// The records of two worlds.
pub(super) struct Records<'s> {
    pairs: Vec<Pair<'s>>,
    /// Names of the ids of the one world, the same as of the corresponding records of the other.
    pub(super) found: Names,
    pub(super) wanted: Names,
    uids: [Names; 2],
}

impl<'s> Records<'s> {
    /// Finds which records correspond: equal ones first, then those that differ least.
    pub(super) fn of(found: &'s Seen, wanted: &'s Seen) -> Self {
        let uids = [names(found), names(wanted)];
        let [found_uids, wanted_uids] = &uids;
        let (mut mine, mut theirs) = (known(found, found_uids), known(wanted, wanted_uids));
        let mut pairs = Vec::new();
        let urls: BTreeSet<&str> = mine.keys().chain(theirs.keys()).copied().collect();
        for url in urls {
            let (mine, theirs) = (mine.remove(url).unwrap_or_default(), theirs.remove(url).unwrap_or_default());
            pairs.extend(paired(url, mine, theirs));
        }
        let (mut found, mut wanted) = (Names::new(), Names::new());
        for (at, pair) in pairs.iter().enumerate() {
            let name = format!("<record {} of {}>", at + 1, last(pair.url));
            for (known, names) in [(&pair.found, &mut found), (&pair.wanted, &mut wanted)] {
                names.extend(known.iter().flat_map(|known| given(known.record, &name)));
            }
        }
        Self { pairs, found, wanted, uids }
    }

    /// Where the first world differs from the second.
    ///
    /// * `excused` - as for objects.
    pub(super) fn differences(&self, excused: &BTreeSet<String>) -> Vec<Difference> {
        let [found_uids, wanted_uids] = &self.uids;
        let spelled = |known: &Known<'_>, uids: &Names, ids: &Names| {
            let mut value = known.value.clone();
            normalise(&mut value, &uids.iter().chain(ids).cloned().collect::<Vec<_>>());
            value
        };
        let mut all = Vec::new();
        for Pair { url, found, wanted } in &self.pairs {
            let found = found.as_ref().map(|known| spelled(known, found_uids, &self.found));
            let wanted = wanted.as_ref().map(|known| spelled(known, wanted_uids, &self.wanted));
            let about = |value: &Value| {
                let text = value.to_string();
                excused.iter().any(|name| text.contains(name.as_str()))
            };
            if found.iter().chain(&wanted).any(about) {
                continue;
            }
            let collection = last(url);
            let (what, line) = match (&found, &wanted) {
                (Some(found), None) => (
                    " extra".to_owned(),
                    format!("record of {collection}: expected none, found {}", shown(Some(found))),
                ),
                (None, Some(wanted)) => (
                    " missing".to_owned(),
                    format!("record of {collection}: expected {}, found none", shown(Some(wanted))),
                ),
                (Some(found), Some(wanted)) => {
                    let Some(part) = part(Some(found), wanted, wanted) else { continue };
                    let at = leaves(&part).unwrap_or_default();
                    let (expected, found) = (shown(wanted.pointer(&at)), shown(found.pointer(&at)));
                    (shape(&at), format!("record of {collection}: {at}: expected {expected}, found {found}"))
                }
                (None, None) => continue,
            };
            all.push(Difference { id: None, shape: format!("{collection}{what}"), line, step: self.step(url) });
        }
        all
    }

    /// The step that holds while a collection is as in the second world.
    fn step(&self, url: &str) -> Value {
        let [_, uids] = &self.uids;
        let of_collection = self.pairs.iter().filter(|pair| pair.url == url);
        let records = of_collection.filter_map(|pair| pair.wanted.as_ref()).map(|known| {
            let fields = known.value.as_object().cloned().unwrap_or_default();
            // A field with a uid, an id or a time is another one in each world.
            let lasting = |(name, field): &(String, Value)| {
                let mut same = json!({name: field});
                let before = same.clone();
                normalise(&mut same, &uids.iter().chain(&self.wanted).cloned().collect::<Vec<_>>());
                same == before && !field.is_null()
            };
            Value::Object(fields.into_iter().filter(lasting).collect())
        });
        let records: Vec<Value> = records.collect();
        json!({"assert": {"collection": url, "records": records, "timeout": super::program::SETTLE}})
    }
}

/// The values that the service gave to a record, the id first, each with a name that begins with `name`.
fn given(record: &Record, name: &str) -> Names {
    let id = record.id.iter().map(|id| (id.clone(), name.to_owned()));
    let chosen = record.chosen.iter().enumerate();
    id.chain(chosen.map(|(at, value)| (value.clone(), format!("{name}.{at}")))).collect()
}

/// The name of a record by its colour.
fn coloured(colours: &BTreeMap<String, u64>, record: &Record) -> String {
    let colour = record.id.as_ref().and_then(|id| colours.get(id)).copied().unwrap_or_default();
    format!("<{colour:x}>")
}

/// The last part of a path: `networks`.
fn last(url: &str) -> &str {
    url.rsplit('/').next().unwrap_or(url)
}

/// The records of a world by collection.
fn known<'s>(seen: &'s Seen, uids: &Names) -> BTreeMap<&'s str, Vec<Known<'s>>> {
    let records =
        || seen.collections.iter().flat_map(|one| one.records.iter().map(|record| (one.url.as_str(), record)));
    let value = |record: &Record| {
        let mut fields: Map<String, Value> = record.fields.as_object().cloned().unwrap_or_default();
        fields.retain(|name, _| !record.counted.contains(name));
        Value::Object(fields)
    };
    let mut colours: BTreeMap<String, u64> = BTreeMap::new();
    for _ in 0..DEPTH {
        let mut names = uids.clone();
        names.extend(records().flat_map(|(_, record)| given(record, &coloured(&colours, record))));
        let mut next = BTreeMap::new();
        for (url, record) in records() {
            let mut value = value(record);
            normalise(&mut value, &names);
            let mut hasher = DefaultHasher::new();
            (url, value.to_string()).hash(&mut hasher);
            next.extend(record.id.clone().map(|id| (id, hasher.finish())));
        }
        colours = next;
    }
    let mut blanks = uids.clone();
    blanks.extend(records().flat_map(|(_, record)| given(record, "<id>")));
    let mut by_colour = uids.clone();
    by_colour.extend(records().flat_map(|(_, record)| given(record, &coloured(&colours, record))));
    let mut known: BTreeMap<&str, Vec<Known<'_>>> = BTreeMap::new();
    for (url, record) in records() {
        let value = value(record);
        let (mut blank, mut whole) = (value.clone(), value.clone());
        normalise(&mut blank, &blanks);
        normalise(&mut whole, &by_colour);
        let mut hasher = DefaultHasher::new();
        whole.to_string().hash(&mut hasher);
        known.entry(url).or_default().push(Known { record, value, blank, colour: hasher.finish() });
    }
    known
}

/// Pairs the records of one collection.
fn paired<'s>(url: &'s str, found: Vec<Known<'s>>, mut wanted: Vec<Known<'s>>) -> Vec<Pair<'s>> {
    let mut pairs = Vec::new();
    let mut rest = Vec::new();
    for one in found {
        match wanted.iter().position(|other| other.colour == one.colour) {
            Some(at) => {
                let other = Some(wanted.remove(at));
                pairs.push(Pair { url, found: Some(one), wanted: other });
            }
            None => rest.push(one),
        }
    }
    for one in rest {
        let distances = wanted.iter().enumerate().map(|(at, other)| (distance(&one.blank, &other.blank), at));
        let nearest = distances.min().filter(|((differing, fields), _)| differing * 2 <= *fields);
        let other = nearest.map(|(_, at)| wanted.remove(at));
        pairs.push(Pair { url, found: Some(one), wanted: other });
    }
    pairs.extend(wanted.into_iter().map(|other| Pair { url, found: None, wanted: Some(other) }));
    pairs
}

/// How many fields differ, of how many.
fn distance(one: &Value, other: &Value) -> (usize, usize) {
    let nothing = Map::new();
    let [one, other] = [one, other].map(|value| value.as_object().unwrap_or(&nothing));
    let fields: BTreeSet<&String> = one.keys().chain(other.keys()).collect();
    (fields.iter().filter(|field| one.get(**field) != other.get(**field)).count(), fields.len())
}

#[cfg(test)]
mod tests {
    use super::*;
    use oarlock::plugin::Collection;

    /// Nets with a name each, and items with the number of their net.
    fn world(first: u64, nets: &[&str], items: &[(usize, &str)]) -> Seen {
        let id = |n: usize| format!("00000000-0000-4000-8000-{:012}", first + n as u64);
        let record = |id: String, fields: Value| {
            let mut fields = fields;
            fields.as_object_mut().unwrap().insert("id".to_owned(), json!(id));
            Record { id: Some(id), fields, counted: vec!["id".to_owned()], chosen: Vec::new() }
        };
        let nets =
            nets.iter().enumerate().map(|(n, name)| record(id(n), json!({"name": name, "kind": "net", "mtu": 1500})));
        let items = items
            .iter()
            .enumerate()
            .map(|(n, (net, name))| record(id(100 + n), json!({"name": name, "net": id(*net), "state": "on"})));
        let collections = vec![
            Collection { url: "http://s/nets".to_owned(), records: nets.collect() },
            Collection { url: "http://s/items".to_owned(), records: items.collect() },
        ];
        Seen { collections, ..Seen::default() }
    }

    fn lines(found: &Seen, wanted: &Seen) -> Vec<String> {
        Records::of(found, wanted).differences(&BTreeSet::new()).into_iter().map(|one| one.line).collect()
    }

    #[test]
    fn ids_and_orders_are_no_differences() {
        let one = world(1, &["a", "b"], &[(0, "x"), (1, "x")]);
        let other = world(500, &["b", "a"], &[(1, "x"), (0, "x")]);
        assert_eq!(lines(&one, &other), Vec::<String>::new());
    }

    #[test]
    fn a_field_a_missing_and_an_extra_record_are_differences() {
        let wanted = world(1, &["a", "b"], &[(0, "x")]);
        assert_eq!(
            lines(&world(7, &["a", "c"], &[(0, "x")]), &wanted),
            ["record of nets: /name: expected \"b\", found \"c\""]
        );
        let twice = lines(&world(7, &["a", "b", "b"], &[(0, "x")]), &wanted);
        assert_eq!(twice, ["record of nets: expected none, found {\"kind\":\"net\",\"mtu\":1500,\"name\":\"b\"}"]);
        // The item hangs on another net.
        let moved = lines(&world(7, &["a", "b"], &[(1, "x")]), &wanted);
        assert_eq!(moved, ["record of items: /net: expected \"<record 2 of nets>\", found \"<record 3 of nets>\""]);
        let excused = BTreeSet::from(["x".to_owned()]);
        let moved = world(7, &["a", "b"], &[(1, "x")]);
        assert!(Records::of(&moved, &wanted).differences(&excused).is_empty());
    }

    #[test]
    fn the_step_says_what_a_collection_holds_without_ids() {
        let (found, wanted) = (world(7, &["a"], &[]), world(1, &["a"], &[(0, "x")]));
        let steps: Vec<Value> =
            Records::of(&found, &wanted).differences(&BTreeSet::new()).into_iter().map(|one| one.step).collect();
        let expected = json!({"assert": {"collection": "http://s/items", "records": [{"name": "x", "state": "on"}], "timeout": "5m"}});
        assert_eq!(steps, [expected]);
    }
}
