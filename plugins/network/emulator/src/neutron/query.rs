//! Query strings of lists: filters, order, pages, fields.

use http::StatusCode;
use serde_json::{Value, json};

use super::{Call, Document, Kind, attribute};
use crate::answer::{Refusal, Result};

/// A parsed query.
#[derive(Debug)]
pub(super) struct Query {
    pairs: Vec<(String, String)>,
    limit: Option<usize>,
    /// Names with `true` for descending.
    sort: Vec<(String, bool)>,
}

/// Names that are not filters.
const CONTROLS: &[&str] = &["fields", "limit", "marker", "page_reverse", "sort_key", "sort_dir"];
/// Filters on values that are stored as they are shown.
const STORED_TEXTS: &[&str] = &["description", "id", "name", "network_id"];
const TAG_FILTERS: &[&str] = &["tags", "tags-any", "not-tags", "not-tags-any"];

impl Query {
    pub(super) fn parse(kind: Kind, query: &str) -> Result<Self> {
        let pairs: Vec<(String, String)> =
            url::form_urlencoded::parse(query.as_bytes()).map(|(n, v)| (n.into_owned(), v.into_owned())).collect();
        let known =
            |name: &str| CONTROLS.contains(&name) || TAG_FILTERS.contains(&name) || attribute::exists(kind, name);
        if let Some((name, _)) = pairs.iter().find(|(name, _)| !known(name)) {
            return Err(Refusal::bad_request(format!("['{name}'] is invalid attribute for filtering")));
        }
        let all = |name: &str| pairs.iter().filter(|(n, _)| n == name).map(|(_, v)| v.clone()).collect::<Vec<_>>();
        let (keys, directions) = (all("sort_key"), all("sort_dir"));
        if keys.len() != directions.len() {
            return Err(Refusal::bad_request("The number of sort_keys and sort_dirs must be same"));
        }
        if let Some(key) = keys.iter().find(|key| !attribute::exists(kind, key)) {
            return Err(Refusal::bad_request(format!("['{key}'] is invalid attribute for sort_keys")));
        }
        let limit = match all("limit").first().map(|text| (text.parse::<usize>(), text)) {
            None | Some((Ok(0), _)) => None,
            Some((Ok(limit), _)) => Some(limit),
            Some((Err(_), text)) => {
                let message = format!("Bad limit request: Limit must be an integer 0 or greater and not '{text}'.");
                return Err(Refusal::new(StatusCode::BAD_REQUEST, "BadRequest", message));
            }
        };
        let sort = keys.into_iter().zip(directions.iter().map(|d| d == "desc")).collect();
        Ok(Self { pairs, limit, sort })
    }

    fn first(&self, name: &str) -> Option<&str> {
        self.pairs.iter().find(|(n, _)| n == name).map(|(_, v)| v.as_str())
    }

    /// Filters, sorts and cuts out the page, with links to its neighbours.
    pub(super) fn page(
        &self,
        kind: Kind,
        mut rows: Vec<Document>,
        page_limit: Option<usize>,
        call: &Call<'_>,
    ) -> Result<Value> {
        let reverse = self.first("page_reverse").is_some_and(|v| v.eq_ignore_ascii_case("true"));
        let marker = self.first("marker").filter(|_| self.limit.is_some() || page_limit.is_some());
        if let Some(marker) = marker
            && !rows.iter().any(|row| id(row) == marker)
        {
            return Err(kind.not_found(marker));
        }
        rows.sort_by(|a, b| self.compare(a, b));
        if reverse {
            rows.reverse();
        }
        if let Some(marker) = marker {
            let at = rows.iter().position(|row| id(row) == marker).map_or(0, |at| at + 1);
            rows.drain(..at);
        }
        rows.retain(|row| self.matches(row));
        let limit = match (self.limit, page_limit) {
            (Some(limit), Some(most)) => Some(limit.min(most)),
            (limit, most) => limit.or(most),
        };
        let full = limit.is_some_and(|limit| rows.len() >= limit);
        rows.truncate(limit.unwrap_or(usize::MAX));
        if reverse {
            rows.reverse();
        }
        let links = if limit.is_some() { self.links(&rows, full, reverse, call) } else { Vec::new() };
        let rows: Vec<Document> = rows.into_iter().map(|row| pick_pairs(row, &self.pairs)).collect();
        let mut body = json!({kind.collection(): rows});
        if let (false, Some(body)) = (links.is_empty(), body.as_object_mut()) {
            body.insert(format!("{}_links", kind.collection()), Value::Array(links));
        }
        Ok(body)
    }

    /// A page that is not full has no next page in the direction of travel.
    fn links(&self, rows: &[Document], full: bool, reverse: bool, call: &Call<'_>) -> Vec<Value> {
        let link = |rel: &str, row: Option<&Document>, back: bool| {
            let mut query = url::form_urlencoded::Serializer::new(String::new());
            query.extend_pairs(self.pairs.iter().filter(|(n, _)| n != "marker" && n != "page_reverse"));
            if let Some(row) = row {
                query.append_pair("marker", id(row));
            }
            if back {
                query.append_pair("page_reverse", "True");
            }
            json!({"rel": rel, "href": format!("{}{}?{}", call.base, call.path, query.finish())})
        };
        let next = (full || reverse).then(|| link("next", rows.last(), false));
        let previous = (full || !reverse).then(|| link("previous", rows.first(), true));
        next.into_iter().chain(previous).collect()
    }

    fn compare(&self, a: &Document, b: &Document) -> std::cmp::Ordering {
        let key = |row: &Document, name: &str| row.get(name).map(Value::to_string).unwrap_or_default();
        for (name, descending) in &self.sort {
            let order = key(a, name).cmp(&key(b, name));
            if order.is_ne() {
                return if *descending { order.reverse() } else { order };
            }
        }
        id(a).cmp(id(b))
    }

    /// Whether a stored row can match at all: rendering the others would make every list as costly as the whole table. Values of one name
    /// are alternatives; different names are all required.
    pub(super) fn may_match(&self, stored: &Document) -> bool {
        // A page may begin after a row that the filter excludes.
        self.first("marker").is_some()
            || STORED_TEXTS.iter().all(|name| {
                let mut values = self.pairs.iter().filter(|(n, _)| n == name).map(|(_, v)| v.as_str()).peekable();
                values.peek().is_none() || values.any(|value| value_matches(stored.get(*name), value))
            })
    }

    fn matches(&self, row: &Document) -> bool {
        self.pairs.iter().map(|(name, _)| name.as_str()).all(|name| {
            let mut values = self.pairs.iter().filter(|(n, _)| n == name).map(|(_, v)| v.as_str());
            if CONTROLS.contains(&name) {
                true
            } else if TAG_FILTERS.contains(&name) {
                values.all(|value| tags_match(row, name, value))
            } else {
                values.any(|value| value_matches(row.get(name), value))
            }
        })
    }
}

fn id(row: &Document) -> &str {
    row.get("id").and_then(Value::as_str).unwrap_or_default()
}

fn tags_match(row: &Document, filter: &str, value: &str) -> bool {
    let tags: Vec<&str> =
        row.get("tags").and_then(Value::as_array).into_iter().flatten().filter_map(Value::as_str).collect();
    let mut wanted = value.split(',');
    match filter {
        "tags" => wanted.all(|tag| tags.contains(&tag)),
        "tags-any" => wanted.any(|tag| tags.contains(&tag)),
        "not-tags" => !wanted.all(|tag| tags.contains(&tag)),
        _ => !wanted.any(|tag| tags.contains(&tag)),
    }
}

fn value_matches(stored: Option<&Value>, wanted: &str) -> bool {
    match stored {
        None | Some(Value::Null) => wanted.is_empty(),
        Some(Value::String(text)) => text == wanted,
        Some(Value::Bool(flag)) => {
            let wanted = wanted.to_lowercase();
            ["true", "1"].contains(&wanted.as_str()) == *flag && (*flag || ["false", "0"].contains(&wanted.as_str()))
        }
        Some(Value::Number(number)) => number.to_string() == wanted,
        // `fixed_ips=subnet_id=…` and `security_groups=…`.
        Some(Value::Array(items)) => items.iter().any(|item| match (item, wanted.split_once('=')) {
            (Value::Object(item), Some((name, value))) => item.get(name).and_then(Value::as_str) == Some(value),
            (Value::String(item), _) => item == wanted,
            _ => false,
        }),
        Some(Value::Object(_)) => false,
    }
}

/// Keeps the attributes named by `fields=`, all without it.
pub(super) fn pick(row: Document, query: &str) -> Document {
    let pairs: Vec<(String, String)> =
        url::form_urlencoded::parse(query.as_bytes()).map(|(n, v)| (n.into_owned(), v.into_owned())).collect();
    pick_pairs(row, &pairs)
}

fn pick_pairs(mut row: Document, pairs: &[(String, String)]) -> Document {
    if pairs.iter().any(|(name, _)| name == "fields") {
        row.retain(|attribute, _| pairs.iter().any(|(name, field)| name == "fields" && field == attribute));
    }
    row
}
