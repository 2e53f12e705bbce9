//! REST services of scenarios: collections of JSON records in memory.

mod records;

use crate::plugin::tape::Sent;
use crate::plugin::{HttpStub, StubAnswer};
use bytes::Bytes;
use percent_encoding::percent_decode_str;
use records::Service;
use serde::Deserialize;
use serde_json::{Map, Value, json};
use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

/// A service in its written form.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct ServiceText {
    /// What the paths of the collections follow.
    url: String,
    /// The body of an error, in which `{Item}`, `{reason}` and `{message}` are replaced.
    error: Option<Value>,
    /// By path: `networks`, or `zones/{zone}/records`, where the field `zone` of a record is the id in the path.
    collections: BTreeMap<String, CollectionText>,
}

/// A collection in its written form.
#[derive(Clone, Debug, Default, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields, default)]
struct CollectionText {
    /// The field of the id. None: `id`.
    id: Option<String>,
    ids: Ids,
    /// The field in which a body has one record. None: the body is the record.
    item: Option<String>,
    /// The field in which a body has the records of a list. None: the body is the list.
    list: Option<String>,
    /// The parameters by which a list is filtered; others are refused. None: all.
    filters: Option<Vec<String>>,
    /// Fields that a new record must have.
    required: Vec<String>,
    /// Fields that no update may change.
    read_only: Vec<String>,
    /// Fields whose values differ from record to record.
    unique: Vec<String>,
    /// Values of fields that a new record does not have.
    defaults: Map<String, Value>,
    /// Fields whose values the service chooses where a record has none: a field, or `list.field` for each item of a list. `{n}` counts.
    generated: BTreeMap<String, String>,
    /// Fields that name records of other collections, which must exist.
    references: BTreeMap<String, Reference>,
    /// The field that counts changes. `If-Match` has its value, or `field=value`.
    revision: Option<String>,
    /// The field of the time of creation.
    created: Option<String>,
    /// The field of the time of the last change.
    updated: Option<String>,
    put: Put,
    statuses: Statuses,
    /// What exists at the beginning.
    records: Vec<Map<String, Value>>,
}

/// Who chooses ids.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "lowercase")]
enum Ids {
    #[default]
    Uuid,
    Number,
    /// The client: in the body of POST, or in the path of PUT, which then creates.
    Client,
}

/// What PUT does with fields that the body does not have.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "lowercase")]
enum Put {
    #[default]
    Replace,
    Merge,
}

#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct Reference {
    /// The path of the other collection.
    to: String,
    /// Whether the record goes with the other one. False: the other one cannot be deleted.
    #[serde(default)]
    cascade: bool,
}

/// Statuses of answers.
#[derive(Clone, Copy, Debug, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields, default)]
struct Statuses {
    create: u16,
    update: u16,
    delete: u16,
    invalid: u16,
    in_use: u16,
}

impl Default for Statuses {
    fn default() -> Self {
        Self { create: 201, update: 200, delete: 204, invalid: 400, in_use: 409 }
    }
}

impl ServiceText {
    /// The URLs of the collections.
    pub(super) fn urls(&self) -> Vec<String> {
        self.collections.keys().map(|path| format!("{}/{path}", self.url.trim_end_matches('/'))).collect()
    }

    /// A stub that keeps the records. It answers the requests for its collections.
    ///
    /// # Errors
    ///
    /// A part of the description makes no sense.
    pub(super) fn stub(&self, delay: Duration) -> Result<HttpStub, String> {
        let service = Arc::new(Mutex::new(Service::new(self)?));
        let base = format!("{}/", self.url.trim_end_matches('/'));
        let text = self.clone();
        let fits = move |sent: &Sent| text.target(&base, &sent.url).is_some();
        let (text, base) = (self.clone(), format!("{}/", self.url.trim_end_matches('/')));
        let answering = Arc::clone(&service);
        let answer = move |sent: &Sent| -> StubAnswer {
            let mut service = answering.lock().unwrap_or_else(PoisonError::into_inner);
            let answered = match text.target(&base, &sent.url) {
                Some(target) => service.answer(&target, sent),
                None => Err(Refusal::default()),
            };
            let (status, body) = answered.unwrap_or_else(|refusal| (refusal.status, Some(text.said(&refusal))));
            let mut answer = http::Response::new(Bytes::from(body.map(|body| body.to_string()).unwrap_or_default()));
            *answer.status_mut() = http::StatusCode::from_u16(status).unwrap_or_default();
            let json = http::HeaderValue::from_static("application/json");
            answer.headers_mut().insert(http::header::CONTENT_TYPE, json);
            Ok(answer)
        };
        let urls = self.urls();
        let records = move || service.lock().unwrap_or_else(PoisonError::into_inner).collections(&urls);
        let (fits, answer) = (Box::new(fits), Box::new(answer));
        Ok(HttpStub { fits, answer, times: None, delay, records: Some(Box::new(records)) })
    }

    /// The collection and the record that a URL names.
    fn target(&self, base: &str, url: &str) -> Option<Target<'_>> {
        let rest = url.strip_prefix(base)?;
        let (path, query) = rest.split_once('?').unwrap_or((rest, ""));
        let decoded = |part: &str| percent_decode_str(part).decode_utf8_lossy().into_owned();
        let parts: Vec<String> = path.trim_end_matches('/').split('/').map(decoded).collect();
        self.collections.iter().find_map(|(path, text)| {
            let pattern: Vec<&str> = path.split('/').collect();
            let id = match parts.len().checked_sub(pattern.len())? {
                0 => None,
                1 => parts.last().cloned(),
                _ => return None,
            };
            let mut parents = BTreeMap::new();
            for (pattern, part) in pattern.iter().zip(&parts) {
                match parameter(pattern) {
                    Some(field) => drop(parents.insert(field.to_owned(), part.clone())),
                    None if pattern == part => {}
                    None => return None,
                }
            }
            Some(Target { path, text, id, parents, query: query.to_owned() })
        })
    }

    /// The body of an error.
    fn said(&self, refusal: &Refusal) -> Value {
        let item = self.collections.get(&refusal.path).and_then(|collection| collection.item.as_deref());
        let mut first = item.unwrap_or_default().chars();
        let capital: String = first.next().into_iter().flat_map(char::to_uppercase).chain(first).collect();
        let mut body = self.error.clone().unwrap_or_else(|| json!({"error": "{message}"}));
        let words = [("{Item}", capital.as_str()), ("{reason}", refusal.reason), ("{message}", &refusal.message)];
        replace(&mut body, &words);
        body
    }
}

/// `zone` of `{zone}`.
fn parameter(part: &str) -> Option<&str> {
    part.strip_prefix('{')?.strip_suffix('}')
}

fn replace(value: &mut Value, words: &[(&str, &str)]) {
    match value {
        Value::String(text) => words.iter().for_each(|(word, by)| *text = text.replace(word, by)),
        Value::Array(items) => items.iter_mut().for_each(|item| replace(item, words)),
        Value::Object(fields) => fields.values_mut().for_each(|field| replace(field, words)),
        _ => {}
    }
}

/// What a URL names.
struct Target<'t> {
    path: &'t str,
    text: &'t CollectionText,
    id: Option<String>,
    /// Fields by the ids in the path.
    parents: BTreeMap<String, String>,
    query: String,
}

/// Why a request is refused.
#[derive(Default)]
struct Refusal {
    status: u16,
    reason: &'static str,
    message: String,
    /// Of the collection that it is about.
    path: String,
}

/// Status and body.
type Answer = Result<(u16, Option<Value>), Refusal>;

impl CollectionText {
    fn id(&self) -> &str {
        self.id.as_deref().unwrap_or("id")
    }

    fn counted(&self) -> Vec<String> {
        let id = (self.ids != Ids::Client).then(|| self.id().to_owned());
        let fields = [&self.revision, &self.created, &self.updated];
        id.into_iter().chain(fields.into_iter().flatten().cloned()).collect()
    }

    fn wrapped(&self, record: &Map<String, Value>) -> Value {
        let record = Value::Object(record.clone());
        match &self.item {
            Some(item) => Value::Object(Map::from_iter([(item.clone(), record)])),
            None => record,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    struct Api(HttpStub);

    impl Api {
        fn new(text: &str) -> Self {
            let service: ServiceText = serde_saphyr::from_str(text).unwrap();
            Self(service.stub(Duration::ZERO).unwrap())
        }

        fn send(&self, method: &str, path: &str, body: &Value) -> (u16, Value) {
            self.send_if(method, path, body, &[])
        }

        fn send_if(&self, method: &str, path: &str, body: &Value, headers: &[(&str, &str)]) -> (u16, Value) {
            let headers = headers.iter().map(|(name, value)| ((*name).to_owned(), (*value).to_owned())).collect();
            let body = if body.is_null() { Bytes::new() } else { Bytes::from(body.to_string()) };
            let sent = Sent { method: method.to_owned(), url: format!("http://a{path}"), headers, body };
            assert!((self.0.fits)(&sent), "{method} {path}");
            let answer = (self.0.answer)(&sent).unwrap();
            (answer.status().as_u16(), serde_json::from_slice(answer.body()).unwrap_or_default())
        }

        fn get(&self, path: &str) -> (u16, Value) {
            self.send("GET", path, &Value::Null)
        }
    }

    const FIRST: &str = "00000000-0000-4000-8000-000000000001";

    #[test]
    fn records_are_created_listed_changed_and_deleted() {
        let api = Api::new(
            "{url: http://a, collections: {items: {defaults: {state: active}, required: [name], readOnly: [size], filters: [name]}}}",
        );
        let first = json!({"id": FIRST, "name": "a b", "state": "active", "size": 1});
        assert_eq!(api.send("POST", "/items", &json!({"name": "a b", "size": 1})), (201, first.clone()));
        assert_eq!(api.send("POST", "/items", &json!({"size": 1})).0, 400);
        assert_eq!(api.send("POST", "/items", &json!([1])).0, 400);
        assert_eq!(api.get("/items?name=a+b"), (200, json!([first])));
        assert_eq!(api.get("/items?name=a%20b&name=c"), (200, json!([first])));
        assert_eq!(api.get("/items?name=c"), (200, json!([])));
        assert_eq!(api.get("/items?size=1").0, 400);
        let one = format!("/items/{FIRST}");
        assert_eq!(api.send("PUT", &one, &json!({"name": "c", "size": 2})).0, 400);
        let replaced = json!({"id": FIRST, "name": "c", "state": "active", "size": 1});
        assert_eq!(api.send("PUT", &one, &json!({"name": "c"})), (200, replaced.clone()));
        assert_eq!(api.send("PATCH", &one, &json!({"state": "down"})).1["name"], "c");
        assert_eq!(api.send("PATCH", "/items", &json!({})).0, 405);
        assert_eq!(api.send("DELETE", &one, &Value::Null), (204, Value::Null));
        assert_eq!(api.get(&one), (404, json!({"error": format!("items {FIRST} could not be found")})));
    }

    #[test]
    fn revisions_statuses_and_errors_are_those_of_the_description() {
        let api = Api::new(
            "{url: http://a/v1/, error: {E: {type: '{Item}{reason}'}}, collections: {items: {item: item, list: items, ids: number, put: merge, revision: rev, unique: [name], statuses: {create: 200, invalid: 422}}}}",
        );
        let made = json!({"item": {"id": 1_000_001, "name": "a", "rev": 0}});
        assert_eq!(api.send("POST", "/v1/items", &json!({"item": {"name": "a"}})), (200, made));
        assert_eq!(api.send("POST", "/v1/items", &json!({"name": "a"})), (422, json!({"E": {"type": "ItemInvalid"}})));
        assert_eq!(
            api.send("POST", "/v1/items", &json!({"item": {"name": "a"}})),
            (409, json!({"E": {"type": "ItemExists"}}))
        );
        let one = "/v1/items/1000001";
        let change = json!({"item": {"size": 2}});
        assert_eq!(
            api.send_if("PUT", one, &change, &[("if-match", "rev=1")]),
            (412, json!({"E": {"type": "ItemStale"}}))
        );
        let changed = json!({"item": {"id": 1_000_001, "name": "a", "size": 2, "rev": 1}});
        assert_eq!(api.send_if("PUT", one, &change, &[("If-Match", "rev=0")]), (200, changed.clone()));
        assert_eq!(api.send_if("DELETE", one, &Value::Null, &[("If-Match", "\"0\"")]).0, 412);
        assert_eq!(api.get("/v1/items"), (200, json!({"items": [changed["item"]]})));
        let collections = (api.0.records.as_ref().unwrap())();
        assert_eq!(collections[0].url, "http://a/v1/items");
        assert_eq!(collections[0].records[0].id.as_deref(), Some("1000001"));
        assert_eq!(collections[0].records[0].counted, ["id", "rev"]);
    }

    #[test]
    fn values_that_the_service_chooses_count_up_and_stay() {
        let api = Api::new(
            "{url: http://a, collections: {ports: {put: merge, generated: {mac: 'm-{n}', ips.address: 'a-{n}'}}}}",
        );
        let made = api.send("POST", "/ports", &json!({"ips": [{"subnet": 1}, {"subnet": 2, "address": "own"}]})).1;
        let ips = json!([{"subnet": 1, "address": "a-100001"}, {"subnet": 2, "address": "own"}]);
        assert_eq!((&made["ips"], &made["mac"]), (&ips, &json!("m-100002")));
        let change = json!({"ips": [{"subnet": 3}, {"subnet": 1}]});
        let changed = api.send("PUT", &format!("/ports/{FIRST}"), &change).1;
        let ips = json!([{"subnet": 3, "address": "a-100003"}, {"subnet": 1, "address": "a-100001"}]);
        assert_eq!((&changed["ips"], &changed["mac"]), (&ips, &json!("m-100002")));
        let collections = (api.0.records.as_ref().unwrap())();
        assert_eq!(collections[0].records[0].chosen, ["a-100003", "a-100001", "m-100002"]);
    }

    #[test]
    fn references_must_exist_block_a_deletion_or_cascade() {
        let api = Api::new(
            "{url: http://a, collections: {nets: {}, subs: {references: {net: {to: nets, cascade: true}}}, ports: {references: {sub: {to: subs}}}}}",
        );
        assert_eq!(api.send("POST", "/subs", &json!({"net": "none"})).0, 404);
        let net = api.send("POST", "/nets", &json!({})).1["id"].clone();
        let sub = api.send("POST", "/subs", &json!({"net": net})).1["id"].clone();
        let port = api.send("POST", "/ports", &json!({"sub": sub})).1["id"].clone();
        let path = |kind: &str, id: &Value| format!("/{kind}/{}", id.as_str().unwrap());
        assert_eq!(api.send("DELETE", &path("nets", &net), &Value::Null).0, 409);
        assert_eq!(api.get("/subs").1.as_array().unwrap().len(), 1);
        assert_eq!(api.send("DELETE", &path("ports", &port), &Value::Null).0, 204);
        assert_eq!(api.send("DELETE", &path("nets", &net), &Value::Null).0, 204);
        assert_eq!(api.get("/subs").1, json!([]));
    }

    #[test]
    fn a_path_names_the_records_above_and_clients_choose_ids() {
        let api = Api::new(
            "{url: http://a, collections: {zones: {ids: client, id: name, records: [{name: z}, {name: q}]}, 'zones/{zone}/names': {ids: client, id: name, references: {zone: {to: zones}}}}}",
        );
        assert_eq!(
            api.send("PUT", "/zones/z/names/www", &json!({"to": 1})),
            (201, json!({"name": "www", "zone": "z", "to": 1}))
        );
        assert_eq!(api.send("PUT", "/zones/q/names/www", &json!({"to": 2})).0, 201);
        assert_eq!(api.send("PUT", "/zones/q/names/www", &json!({"to": 3})).0, 200);
        assert_eq!(api.send("POST", "/zones/q/names", &json!({"name": "www"})).0, 409);
        assert_eq!(api.send("PUT", "/zones/x/names/www", &json!({})).0, 404);
        assert_eq!(api.get("/zones/z/names").1, json!([{"name": "www", "zone": "z", "to": 1}]));
        assert_eq!(api.send("DELETE", "/zones/q/names/www", &Value::Null).0, 204);
        assert_eq!(api.get("/zones/q/names/www").0, 404);
        assert_eq!(api.get("/zones/z/names/www").0, 200);
    }
}
