//! The records of a service, and its answers.

use super::{Answer, CollectionText, Ids, Put, Refusal, ServiceText, Statuses, Target};
use crate::plugin::tape::Sent;
use crate::plugin::{Collection, Record};
use serde_json::{Map, Value, json};
use std::collections::{BTreeMap, BTreeSet};
use std::slice;

/// Most records of a collection; further ones are refused.
const MOST_RECORDS: usize = 10_000;

/// The first number of ids that are numbers: large enough that no other number of a world is the same by chance.
const FIRST_NUMBER: u64 = 1_000_001;

/// The first number in generated values, for the same reason.
const FIRST_GENERATED: u64 = 100_001;

/// The form of times.
const TIME: &str = "%Y-%m-%dT%H:%M:%SZ";

/// The records of a service.
pub(super) struct Service {
    texts: BTreeMap<String, CollectionText>,
    /// By path, in the order of their creation.
    records: BTreeMap<String, Vec<Map<String, Value>>>,
    /// Records created so far.
    created: u64,
    /// Values generated so far.
    generated: u64,
}

fn refusal(path: &str, status: u16, reason: &'static str, message: String) -> Refusal {
    Refusal { status, reason, message, path: path.to_owned() }
}

fn now() -> Value {
    json!(oarlock_simulation::now().strftime(TIME).to_string())
}

/// A value as a path or a query has it.
fn plain(value: &Value) -> String {
    value.as_str().map_or_else(|| value.to_string(), str::to_owned)
}

impl Service {
    pub(super) fn new(text: &ServiceText) -> Result<Self, String> {
        if !text.url.starts_with("http://") && !text.url.starts_with("https://") {
            return Err(format!("service.url: {:?} is no URL such as http://example.com/v1", text.url));
        }
        for (path, collection) in &text.collections {
            for (field, reference) in &collection.references {
                if !text.collections.contains_key(&reference.to) {
                    let known: Vec<&str> = text.collections.keys().map(String::as_str).collect();
                    let (to, known) = (&reference.to, known.join(", "));
                    return Err(format!(
                        "service.collections.{path}.references.{field}.to: no collection {to:?}; there are {known}"
                    ));
                }
            }
            let Statuses { create, update, delete, invalid, in_use } = collection.statuses;
            if let Some(odd) =
                [create, update, delete, invalid, in_use].iter().find(|status| !(200..600).contains(*status))
            {
                return Err(format!("service.collections.{path}.statuses: {odd} is not between 200 and 599"));
            }
        }
        let mut service = Self { texts: text.collections.clone(), records: BTreeMap::new(), created: 0, generated: 0 };
        for (path, collection) in &text.collections {
            for record in &collection.records {
                let record = service.completed(collection, record.clone());
                service.records.entry(path.clone()).or_default().push(record);
            }
        }
        Ok(service)
    }

    pub(super) fn collections(&self, urls: &[String]) -> Vec<Collection> {
        let of = |(url, (path, text)): (&String, (&String, &CollectionText))| {
            let records = self.records.get(path).into_iter().flatten();
            let record = |fields: &Map<String, Value>| Record {
                id: fields.get(text.id()).filter(|_| text.ids != Ids::Client).map(plain),
                fields: Value::Object(fields.clone()),
                counted: text.counted(),
                chosen: chosen(text, fields),
            };
            Collection { url: url.clone(), records: records.map(record).collect() }
        };
        urls.iter().zip(&self.texts).map(of).collect()
    }

    pub(super) fn answer(&mut self, target: &Target<'_>, sent: &Sent) -> Answer {
        for (field, id) in &target.parents {
            self.check_reference(target, field, id)?;
        }
        match (sent.method.as_str(), &target.id) {
            ("GET" | "HEAD", None) => self.list(target),
            ("GET" | "HEAD", Some(id)) => {
                let at = self.find(target, id)?;
                Ok((200, self.record(target, at).map(|record| target.text.wrapped(record))))
            }
            ("POST", None) => self.create(target, body_of(target, sent)?),
            ("PUT" | "PATCH", Some(id)) => {
                if sent.method == "PUT" && target.text.ids == Ids::Client && self.find(target, id).is_err() {
                    let mut fields = body_of(target, sent)?;
                    fields.insert(target.text.id().to_owned(), json!(id));
                    return self.create(target, fields);
                }
                self.update(target, id, sent)
            }
            ("DELETE", Some(id)) => {
                let at = self.find(target, id)?;
                self.check_revision(target, at, sent)?;
                self.delete(target, at)?;
                Ok((target.text.statuses.delete, None))
            }
            (method, _) => Err(refusal(target.path, 405, "Invalid", format!("{method} is not allowed"))),
        }
    }

    fn record(&self, target: &Target<'_>, at: usize) -> Option<&Map<String, Value>> {
        self.records.get(target.path)?.get(at)
    }

    /// Whether a record is below the records that the path names.
    fn below(target: &Target<'_>, record: &Map<String, Value>) -> bool {
        target.parents.iter().all(|(field, id)| record.get(field).map(plain).as_ref() == Some(id))
    }

    fn find(&self, target: &Target<'_>, id: &str) -> Result<usize, Refusal> {
        let records = self.records.get(target.path).map(Vec::as_slice).unwrap_or_default();
        let named = |record: &Map<String, Value>| {
            record.get(target.text.id()).map(plain).as_deref() == Some(id) && Self::below(target, record)
        };
        let missing = || refusal(target.path, 404, "NotFound", format!("{} {id} could not be found", target.path));
        records.iter().position(named).ok_or_else(missing)
    }

    fn list(&self, target: &Target<'_>) -> Answer {
        let mut wanted: BTreeMap<String, Vec<String>> = BTreeMap::new();
        for (name, value) in url::form_urlencoded::parse(target.query.as_bytes()) {
            if target.text.filters.as_ref().is_some_and(|filters| !filters.iter().any(|filter| *filter == name)) {
                let message = format!("{name} is no filter of {}", target.path);
                return Err(refusal(target.path, target.text.statuses.invalid, "Invalid", message));
            }
            wanted.entry(name.into_owned()).or_default().push(value.into_owned());
        }
        let fits = |record: &&Map<String, Value>| {
            let one = |(name, values): (&String, &Vec<String>)| {
                record.get(name).is_some_and(|value| values.contains(&plain(value)))
            };
            Self::below(target, record) && wanted.iter().all(one)
        };
        let records = self.records.get(target.path).into_iter().flatten().filter(fits);
        let list: Value = records.cloned().map(Value::Object).collect();
        let body = match &target.text.list {
            Some(field) => Value::Object(Map::from_iter([(field.clone(), list)])),
            None => list,
        };
        Ok((200, Some(body)))
    }

    fn create(&mut self, target: &Target<'_>, mut fields: Map<String, Value>) -> Answer {
        let text = target.text;
        fields.extend(target.parents.iter().map(|(field, id)| (field.clone(), json!(id))));
        let client = (text.ids == Ids::Client).then(|| text.id().to_owned());
        if let Some(missing) = text.required.iter().chain(&client).find(|field| !fields.contains_key(*field)) {
            return Err(refusal(target.path, text.statuses.invalid, "Invalid", format!("{missing} is missing")));
        }
        self.check(target, &fields, None)?;
        if self.records.get(target.path).map_or(0, Vec::len) >= MOST_RECORDS {
            return Err(refusal(target.path, 507, "Full", format!("{} has {MOST_RECORDS} records", target.path)));
        }
        let record = self.completed(text, fields);
        let body = text.wrapped(&record);
        self.records.entry(target.path.to_owned()).or_default().push(record);
        Ok((text.statuses.create, Some(body)))
    }

    /// A record with everything that the service adds.
    fn completed(&mut self, text: &CollectionText, mut fields: Map<String, Value>) -> Map<String, Value> {
        self.created += 1;
        for (name, value) in &text.defaults {
            fields.entry(name.clone()).or_insert_with(|| value.clone());
        }
        let id = match text.ids {
            Ids::Uuid => Some(json!(format!("00000000-0000-4000-8000-{:012}", self.created))),
            Ids::Number => Some(json!(FIRST_NUMBER - 1 + self.created)),
            Ids::Client => None,
        };
        if let Some(id) = id {
            fields.insert(text.id().to_owned(), id);
        }
        fields.extend(text.revision.iter().map(|field| (field.clone(), json!(0))));
        fields.extend(text.created.iter().chain(&text.updated).map(|field| (field.clone(), now())));
        self.generate(text, &mut fields, &Map::new());
        fields
    }

    /// Chooses the values that a record does not have. An item of a list that is otherwise as before keeps its value.
    fn generate(&mut self, text: &CollectionText, fields: &mut Map<String, Value>, before: &Map<String, Value>) {
        for (place, form) in &text.generated {
            let mut next = || {
                self.generated += 1;
                json!(form.replace("{n}", &(FIRST_GENERATED - 1 + self.generated).to_string()))
            };
            let Some((list, field)) = place.split_once('.') else {
                let chosen = |fields: &Map<String, Value>| fields.get(place).filter(|value| !value.is_null()).cloned();
                let value = chosen(fields).or_else(|| chosen(before)).unwrap_or_else(next);
                fields.insert(place.clone(), value);
                continue;
            };
            let known = before.get(list).and_then(Value::as_array).map(Vec::as_slice).unwrap_or_default();
            for item in fields.get_mut(list).and_then(Value::as_array_mut).into_iter().flatten() {
                let Some(item) = item.as_object_mut() else { continue };
                item.retain(|name, value| name != field || !value.is_null());
                let same = |known: &&Value| {
                    let rest = known.as_object().map(|known| known.iter().filter(|(name, _)| *name != field));
                    rest.is_some_and(|rest| rest.eq(item.iter()))
                };
                if !item.contains_key(field) {
                    let value = known.iter().find(same).and_then(|known| known.get(field)).cloned();
                    item.insert(field.to_owned(), value.unwrap_or_else(&mut next));
                }
            }
        }
    }

    fn update(&mut self, target: &Target<'_>, id: &str, sent: &Sent) -> Answer {
        let text = target.text;
        let at = self.find(target, id)?;
        self.check_revision(target, at, sent)?;
        let given = body_of(target, sent)?;
        let old = self.record(target, at).cloned().unwrap_or_default();
        let changed = |field: &&String| given.get(*field).is_some_and(|value| old.get(*field) != Some(value));
        if let Some(field) = text.read_only.iter().find(changed) {
            return Err(refusal(target.path, text.statuses.invalid, "Invalid", format!("{field} cannot be changed")));
        }
        let mut new = if sent.method == "PATCH" || text.put == Put::Merge { old.clone() } else { Map::new() };
        new.extend(given);
        let kept = text.counted().into_iter().chain(text.read_only.iter().cloned());
        let kept = kept.chain(target.parents.keys().cloned()).chain([text.id().to_owned()]);
        for field in kept {
            new.extend(old.get(&field).map(|value| (field, value.clone())));
        }
        for (name, value) in &text.defaults {
            new.entry(name.clone()).or_insert_with(|| value.clone());
        }
        self.check(target, &new, Some(at))?;
        self.generate(text, &mut new, &old);
        if let Some(field) = &text.revision {
            let revision = old.get(field).and_then(Value::as_u64).unwrap_or_default();
            new.insert(field.clone(), json!(revision + 1));
        }
        if let Some(field) = &text.updated {
            new.insert(field.clone(), now());
        }
        let body = text.wrapped(&new);
        if let Some(record) = self.records.get_mut(target.path).and_then(|records| records.get_mut(at)) {
            *record = new;
        }
        Ok((text.statuses.update, Some(body)))
    }

    /// Whether a record may have these fields.
    ///
    /// * `at` - of the record, unless it is new.
    fn check(&self, target: &Target<'_>, fields: &Map<String, Value>, at: Option<usize>) -> Result<(), Refusal> {
        for field in target.text.references.keys() {
            if let Some(id) = fields.get(field).filter(|id| !id.is_null()) {
                self.check_reference(target, field, &plain(id))?;
            }
        }
        let others = self.records.get(target.path).into_iter().flatten().enumerate();
        let mut others = others.filter(|(other, record)| Some(*other) != at && Self::below(target, record));
        let id = (target.text.ids == Ids::Client).then(|| target.text.id().to_owned());
        let unique: Vec<String> = target.text.unique.iter().cloned().chain(id).collect();
        let taken = |record: &Map<String, Value>| {
            let same = |field: &&String| {
                fields.get(*field).is_some_and(|value| !value.is_null() && record.get(*field) == Some(value))
            };
            unique.iter().find(same).cloned()
        };
        match others.find_map(|(_, record)| taken(record)) {
            Some(field) => {
                Err(refusal(target.path, 409, "Exists", format!("there is a record with this {field} already")))
            }
            None => Ok(()),
        }
    }

    fn check_reference(&self, target: &Target<'_>, field: &str, id: &str) -> Result<(), Refusal> {
        let Some(reference) = target.text.references.get(field) else { return Ok(()) };
        let named = self.texts.get(&reference.to).map_or("id", CollectionText::id);
        let mut records = self.records.get(&reference.to).into_iter().flatten();
        if records.any(|record| record.get(named).map(plain).as_deref() == Some(id)) {
            return Ok(());
        }
        Err(refusal(&reference.to, 404, "NotFound", format!("{} {id} could not be found", reference.to)))
    }

    fn check_revision(&self, target: &Target<'_>, at: usize, sent: &Sent) -> Result<(), Refusal> {
        let Some(field) = &target.text.revision else { return Ok(()) };
        let wanted = sent.headers.iter().find(|(name, _)| name.eq_ignore_ascii_case("if-match"));
        let Some((_, wanted)) = wanted.filter(|(_, value)| value != "*") else { return Ok(()) };
        let value = wanted.strip_prefix(&format!("{field}=")).unwrap_or(wanted).trim_matches('"');
        let revision = self.record(target, at).and_then(|record| record.get(field)).map(plain).unwrap_or_default();
        if value == revision {
            return Ok(());
        }
        Err(refusal(target.path, 412, "Stale", format!("expected {field} {value}, found {revision}")))
    }

    /// Deletes a record, and those that go with it. Nothing is deleted if another record is in the way.
    fn delete(&mut self, target: &Target<'_>, at: usize) -> Result<(), Refusal> {
        let mut going = BTreeSet::new();
        let mut next = vec![(target.path.to_owned(), at)];
        while let Some(one) = next.pop() {
            if going.insert(one.clone()) {
                next.extend(self.naming(&one).filter(|(_, cascade)| *cascade).map(|(other, _)| other));
            }
        }
        for one in &going {
            let mut blocking = self.naming(one).filter(|(other, cascade)| !cascade && !going.contains(other));
            if let Some(((other, _), _)) = blocking.next() {
                let message = format!("a record of {} is in use by {other}", one.0);
                return Err(refusal(&one.0, target.text.statuses.in_use, "InUse", message));
            }
        }
        for (path, records) in &mut self.records {
            let mut at = 0..;
            records.retain(|_| at.next().is_none_or(|at| !going.contains(&(path.clone(), at))));
        }
        Ok(())
    }

    /// The records that name a record, and whether they go with it.
    fn naming(&self, (path, at): &(String, usize)) -> impl Iterator<Item = ((String, usize), bool)> {
        let named = self.texts.get(path).map_or("id", CollectionText::id);
        let id = self.records.get(path).and_then(|records| records.get(*at)?.get(named)).map(plain);
        let references = self.texts.iter().flat_map(|(other, of)| of.references.iter().map(move |one| (other, one)));
        let to_path = references.filter(move |(_, (_, reference))| reference.to == *path);
        to_path.flat_map(move |(other, (field, reference))| {
            let records = self.records.get(other).into_iter().flatten().enumerate();
            let id = id.clone();
            let naming = records.filter(move |(_, record)| id.is_some() && record.get(field).map(plain) == id);
            naming.map(move |(at, _)| ((other.clone(), at), reference.cascade))
        })
    }
}

/// The generated values of a record.
fn chosen(text: &CollectionText, fields: &Map<String, Value>) -> Vec<String> {
    let values = text.generated.iter().flat_map(|(place, form)| {
        let (first, field) = place.split_once('.').map_or((place.as_str(), None), |(list, field)| (list, Some(field)));
        let value = fields.get(first);
        let items = match field {
            None => value.map(slice::from_ref),
            Some(_) => value.and_then(Value::as_array).map(Vec::as_slice),
        };
        let (start, end) = form.split_once("{n}").unwrap_or((form, ""));
        let values =
            items.into_iter().flatten().filter_map(move |item| field.map_or(Some(item), |field| item.get(field)));
        // A client may have chosen it.
        let generated = move |value: &String| {
            let number = value.strip_prefix(start).and_then(|rest| rest.strip_suffix(end));
            number.is_some_and(|number| number.parse::<u64>().is_ok_and(|number| number >= FIRST_GENERATED))
        };
        values.map(plain).filter(generated)
    });
    values.collect()
}

/// The fields in the body of a request.
fn body_of(target: &Target<'_>, sent: &Sent) -> Result<Map<String, Value>, Refusal> {
    let body = serde_json::from_slice::<Value>(&sent.body).ok();
    let fields = match (&target.text.item, body) {
        (Some(item), Some(mut body)) => body.get_mut(item).map(Value::take),
        (None, body) => body,
        (Some(_), None) => None,
    };
    match fields {
        Some(Value::Object(fields)) => Ok(fields),
        _ => Err(refusal(target.path, target.text.statuses.invalid, "Invalid", "the body is no record".to_owned())),
    }
}
