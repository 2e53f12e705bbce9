//! Steps on HTTP services: what their collections hold.

use super::cluster::Fault;
use super::format::Check;
use super::located::Located;
use super::matching::{Difference, differences};
use super::steps::{Deadline, Steps};
use oarlock::plugin::Collection;
use serde_json::Value;

/// The collection that a name means: its URL or the end of it.
///
/// # Errors
///
/// None has this name, or several have.
pub(super) fn resolve(name: &str, known: &[String]) -> Result<String, String> {
    let end = format!("/{name}");
    let mut named = known.iter().filter(|url| *url == name || url.ends_with(&end));
    match (named.next(), named.next()) {
        (Some(url), None) => Ok(url.clone()),
        (Some(_), Some(_)) => Err(format!("collection: several services have {name:?}; give its URL")),
        (None, _) if known.is_empty() => Err(format!("collection: no service has {name:?}; add a service to http")),
        (None, _) => Err(format!("collection: no service has {name:?}; there are {}", known.join(", "))),
    }
}

impl Check {
    /// Whether this names records.
    pub(super) fn of_records(&self) -> bool {
        self.record.is_some() || self.records.is_some()
    }

    /// Resolves the collection.
    ///
    /// * `all` - whether all records can be named.
    ///
    /// # Errors
    ///
    /// The fields do not go together.
    pub(super) fn of_service(&mut self, known: &[String], all: bool) -> Result<(), String> {
        let name = self.collection.take().ok_or("record: needs collection")?;
        self.collection = Some(resolve(&name, known)?);
        if self.resource.is_some() || self.file.is_some() {
            return Err("needs one of resource, file and collection".to_owned());
        }
        match (&self.record, &self.records) {
            (Some(record), None) if record.value.is_object() => Ok(()),
            (Some(_), None) => Err("record: needs the fields of a record".to_owned()),
            (None, Some(records)) if all => match &records.value {
                Value::Array(records) if records.iter().all(Value::is_object) => Ok(()),
                _ => Err("records: needs a list of records".to_owned()),
            },
            _ if all => Err("collection: needs one of record and records".to_owned()),
            _ => Err("collection: needs record".to_owned()),
        }
    }
}

impl Steps<'_, '_> {
    /// The records of a collection.
    fn records(&self, url: &str) -> Vec<Value> {
        let named = |collection: &Collection| collection.url == url;
        let collections = self.world.stubs.records().into_iter().filter(named);
        collections.flat_map(|collection| collection.records).map(|record| record.fields).collect()
    }

    /// Waits until the records of a collection are as expected.
    pub(super) async fn assert_records(&mut self, url: &str, check: &Check) -> Result<(), Fault> {
        let until = Deadline::of(check.timeout);
        loop {
            let found = self.records(url);
            let (mut lines, differing) = match (&check.record, &check.records) {
                (Some(record), _) => one(record, &found),
                (None, Some(Located { value: Value::Array(wanted), .. })) => (all(wanted, &found), Vec::new()),
                _ => (Vec::new(), Vec::new()),
            };
            if lines.is_empty() {
                return Ok(());
            }
            if until.pause(self).await? {
                continue;
            }
            if let Some(record) = &check.record
                && self.update
                && self.edited(record, &differing)
            {
                return Ok(());
            }
            lines.push(until.line());
            return Err(lines);
        }
    }

    /// Waits until no record of a collection matches.
    pub(super) async fn error_records(&self, url: &str, check: &Check) -> Result<(), Fault> {
        let until = Deadline::of(check.timeout);
        let Some(record) = &check.record else { return Ok(()) };
        loop {
            let found = self.records(url).into_iter().find(|found| differences(&record.value, found).is_empty());
            let Some(found) = found else { return Ok(()) };
            if !until.pause(self).await? {
                return Err(vec![format!("expected no such record, found {found}"), until.line()]);
            }
        }
    }
}

/// What the record that differs least does not have, in lines. No lines: it has everything.
fn one(expected: &Located, found: &[Value]) -> (Fault, Vec<Difference>) {
    let compared = found.iter().map(|record| differences(&expected.value, record));
    match compared.min_by_key(Vec::len) {
        Some(differing) => (differing.iter().map(Difference::line).collect(), differing),
        None => (vec!["no such record: the collection is empty".to_owned()], Vec::new()),
    }
}

/// What is missing or too much, in lines. None: each expected record is another one of the found, and no other is there.
fn all(wanted: &[Value], found: &[Value]) -> Fault {
    // Which expected record each found one has; found by augmenting paths.
    let mut taken: Vec<Option<usize>> = vec![None; found.len()];
    let missing: Vec<usize> =
        (0..wanted.len()).filter(|at| !place(*at, wanted, found, &mut taken, &mut vec![false; found.len()])).collect();
    let mut lines = Vec::new();
    if wanted.len() != found.len() {
        lines.push(format!("records: expected {}, found {}", wanted.len(), found.len()));
    }
    let expected = missing.iter().filter_map(|at| wanted.get(*at));
    lines.extend(expected.map(|record| format!("expected {record}, found none like it")));
    let more = found.iter().zip(&taken).filter(|(_, taken)| taken.is_none());
    lines.extend(more.map(|(record, _)| format!("expected none, found {record}")));
    lines
}

/// Finds a record for an expected one, by moving others. False: there is none.
fn place(at: usize, wanted: &[Value], found: &[Value], taken: &mut [Option<usize>], seen: &mut [bool]) -> bool {
    for (n, record) in found.iter().enumerate() {
        let fits = wanted.get(at).is_some_and(|wanted| differences(wanted, record).is_empty());
        if !fits || seen.get(n).copied().unwrap_or(true) {
            continue;
        }
        seen.iter_mut().skip(n).take(1).for_each(|seen| *seen = true);
        let free = taken.get(n).copied().flatten().is_none_or(|other| place(other, wanted, found, taken, seen));
        if free {
            taken.iter_mut().skip(n).take(1).for_each(|taken| *taken = Some(at));
            return true;
        }
    }
    false
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn all_records_match_in_any_order() {
        let found = [json!({"id": 1, "name": "a"}), json!({"id": 2, "name": "b"})];
        // The empty record fits both: it must leave the first one to the other.
        assert!(all(&[json!({}), json!({"name": "a"})], &found).is_empty());
        assert!(all(&[json!({"name": "b"}), json!({"name": "a"})], &found).is_empty());
        let twice = all(&[json!({"name": "a"}), json!({"name": "a"})], &found);
        let expected =
            ["expected {\"name\":\"a\"}, found none like it", "expected none, found {\"id\":2,\"name\":\"b\"}"];
        assert_eq!(twice, expected);
        assert_eq!(all(&[], &found)[0], "records: expected 0, found 2");
    }

    #[test]
    fn a_collection_has_one_meaning() {
        let known = ["http://a/v1/items".to_owned(), "http://b/v1/items".to_owned(), "http://b/v1/sub".to_owned()];
        assert_eq!(resolve("sub", &known).unwrap(), "http://b/v1/sub");
        assert_eq!(resolve("http://a/v1/items", &known).unwrap(), "http://a/v1/items");
        assert!(resolve("items", &known).unwrap_err().contains("several"));
        assert!(resolve("ub", &known).unwrap_err().contains("there are http://a/v1/items"));
    }
}
