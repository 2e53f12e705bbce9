//! Tags of a resource.

use http::StatusCode;
use serde_json::{Value, json};

use super::{Call, Kind, Neutron, attribute, parse_body};
use crate::answer::{Answer, Refusal, Result};

/// Most tags one resource may have.
const MOST: usize = 50;

impl Neutron {
    /// `tag`: the rest of the path after `/tags`, empty or one tag.
    pub(super) fn tags(&mut self, kind: Kind, id: &str, tag: &[&str], call: &Call<'_>) -> Result {
        // The real server (29.0) does not check the resource: a missing one is an internal error.
        let row = self.table(kind).get(id).ok_or_else(Refusal::internal)?;
        let (allowed, verb) = match call.method {
            "GET" => (self.sees(kind, row, call.caller), "get"),
            "DELETE" => (call.caller.owns(row), "delete"),
            _ => (call.caller.owns(row), "update"),
        };
        if !allowed {
            return Err(Refusal::policy(&format!("rule:{verb}_{}:tags", kind.name())));
        }
        let row = self.table_mut(kind).get_mut(id).ok_or_else(Refusal::internal)?;
        match (call.method, tag) {
            ("GET", []) => Ok(Answer::ok(json!({"tags": row.tags}))),
            ("PUT" | "POST", []) => {
                let given = parse_tags(call.body)?;
                let mut tags = if call.method == "PUT" { std::collections::BTreeSet::new() } else { row.tags.clone() };
                tags.extend(given.iter().cloned());
                check_count(kind, tags.len())?;
                row.tags = tags;
                row.touch();
                Ok(Answer::ok(json!({"tags": given})))
            }
            ("DELETE", []) => {
                row.tags.clear();
                row.touch();
                Ok(Answer::no_content())
            }
            ("PUT", [tag]) => {
                let tag = decode(tag);
                check_length(&tag)?;
                check_count(kind, row.tags.len() + usize::from(!row.tags.contains(&tag)))?;
                if row.tags.insert(tag) {
                    row.touch();
                }
                Ok(Answer::new(StatusCode::CREATED, Value::Null))
            }
            ("GET", [tag]) if row.tags.contains(&decode(tag)) => Ok(Answer::no_content()),
            ("DELETE", [tag]) if row.tags.remove(&decode(tag)) => {
                row.touch();
                Ok(Answer::no_content())
            }
            ("GET" | "DELETE", [tag]) => {
                Err(Refusal::missing("TagNotFound", format!("Tag {} could not be found.", decode(tag))))
            }
            _ => Err(Refusal::method()),
        }
    }
}

fn parse_tags(body: &[u8]) -> Result<Vec<String>> {
    let body = parse_body(body)?;
    let given = body.get("tags").ok_or_else(|| Refusal::input("Invalid tags body"))?;
    let items =
        given.as_array().ok_or_else(|| Refusal::input(format!("{} is not a list", attribute::quoted(given))))?;
    let mut tags: Vec<String> = Vec::new();
    for item in items {
        let Some(tag) = item.as_str() else {
            return Err(Refusal::input(format!("{} is not a valid string", attribute::quoted(item))));
        };
        check_length(tag)?;
        if tags.iter().any(|seen| seen == tag) {
            return Err(Refusal::input(format!("Duplicate items in the list: '{tag}'")));
        }
        tags.push(tag.to_owned());
    }
    Ok(tags)
}

fn check_length(tag: &str) -> Result<()> {
    if tag.chars().count() > 255 {
        Err(Refusal::input(format!("'{tag}' exceeds maximum length of 255")))
    } else {
        Ok(())
    }
}

fn check_count(kind: Kind, count: usize) -> Result<()> {
    if count <= MOST {
        return Ok(());
    }
    let message =
        format!("Bad {} request: The number of tags exceed the per-resource limit of {MOST}.", kind.collection());
    Err(Refusal::new(StatusCode::BAD_REQUEST, "BadRequest", message))
}

/// A path segment with its percent escapes resolved.
fn decode(segment: &str) -> String {
    // A plus sign is literal in a path, but a space in the form encoding that the decoder reads.
    let form = segment.replace('+', "%2B");
    url::form_urlencoded::parse(form.as_bytes()).next().map(|(tag, _)| tag.into_owned()).unwrap_or_default()
}
