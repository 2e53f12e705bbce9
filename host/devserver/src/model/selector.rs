//! Label and field selectors.

use serde_json::Value;

use crate::model::status::{ApiError, Result};

/// A conjunction of requirements on labels; empty matches everything.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(crate) struct LabelSelector(oarlock_selector::Selector);

impl LabelSelector {
    /// Parses `a=b,c in (d,e),!f`.
    pub(crate) fn parse(text: &str) -> Result<Self> {
        text.parse().map(Self).map_err(|error: oarlock_selector::ParseError| ApiError::bad_request(error.to_string()))
    }

    /// Whether everything matches.
    pub(crate) fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// Whether the labels of an object match.
    pub(crate) fn matches(&self, object: &Value) -> bool {
        let labels = object.pointer("/metadata/labels");
        self.0.matches(|key| labels.and_then(|labels| labels.get(key)).and_then(Value::as_str))
    }
}

/// A selector as text, `a=b,c in (d,e)`; plain maps (ReplicationController) count as matchLabels.
pub(crate) fn to_text(selector: Option<&Value>) -> String {
    let Some(selector) = selector else { return String::new() };
    let structured = selector.get("matchLabels").is_some() || selector.get("matchExpressions").is_some();
    let labels = if structured { selector.get("matchLabels") } else { Some(selector) };
    let mut parts: Vec<(String, String)> = labels
        .and_then(Value::as_object)
        .into_iter()
        .flatten()
        .map(|(k, v)| (k.clone(), format!("{k}={}", v.as_str().unwrap_or_default())))
        .collect();
    for term in selector.get("matchExpressions").and_then(Value::as_array).into_iter().flatten() {
        let text = |key: &str| term.get(key).and_then(Value::as_str).unwrap_or_default();
        let mut values: Vec<&str> =
            term.get("values").and_then(Value::as_array).into_iter().flatten().filter_map(Value::as_str).collect();
        values.sort_unstable();
        let (key, values) = (text("key"), values.join(","));
        let shown = match text("operator") {
            "In" => format!("{key} in ({values})"),
            "NotIn" => format!("{key} notin ({values})"),
            "DoesNotExist" => format!("!{key}"),
            _ => key.to_owned(),
        };
        parts.push((key.to_owned(), shown));
    }
    parts.sort();
    parts.into_iter().map(|(_, shown)| shown).collect::<Vec<_>>().join(",")
}

/// A conjunction of equalities on fields; empty matches everything.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(crate) struct FieldSelector(Vec<FieldTerm>);

#[derive(Debug, Clone, PartialEq, Eq)]
struct FieldTerm {
    path: String,
    equal: bool,
    value: String,
}

impl FieldSelector {
    /// Parses `metadata.name=a,status.phase!=Running`.
    pub(crate) fn parse(text: &str) -> Result<Self> {
        let mut terms = Vec::new();
        for part in split_terms(text) {
            if part.is_empty() {
                continue;
            }
            let (path, equal, value) = if let Some((path, value)) = part.split_once("!=") {
                (path, false, value)
            } else if let Some((path, value)) = part.split_once("==") {
                (path, true, value)
            } else if let Some((path, value)) = part.split_once('=') {
                (path, true, value)
            } else {
                return Err(ApiError::bad_request(format!("invalid selector: '{text}'; can't understand '{part}'")));
            };
            terms.push(FieldTerm { path: path.to_owned(), equal, value: unescape(value) });
        }
        Ok(Self(terms))
    }

    /// Whether everything matches.
    pub(crate) fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// Restricts the selection to one object.
    pub(crate) fn and_name(mut self, name: &str) -> Self {
        self.0.push(FieldTerm { path: "metadata.name".to_owned(), equal: true, value: name.to_owned() });
        self
    }

    /// The value a field must have.
    pub(crate) fn exact(&self, path: &str) -> Option<&str> {
        self.0.iter().find(|t| t.equal && t.path == path).map(|t| t.value.as_str())
    }

    /// The paths used, to be checked against the fields of the kind.
    pub(crate) fn paths(&self) -> impl Iterator<Item = &str> {
        self.0.iter().map(|t| t.path.as_str())
    }

    /// Whether an object matches; an absent field equals the empty string.
    pub(crate) fn matches(&self, object: &Value) -> bool {
        self.0.iter().all(|term| {
            let mut node = Some(object);
            for part in term.path.split('.') {
                node = node.and_then(|n| n.get(part));
            }
            let text = match node {
                Some(Value::String(s)) => s.clone(),
                None | Some(Value::Null) => default_of(&term.path).to_owned(),
                Some(other) => other.to_string(),
            };
            (text == term.value) == term.equal
        })
    }
}

/// The default of an absent field for comparisons.
fn default_of(path: &str) -> &'static str {
    if path == "spec.unschedulable" { "false" } else { "" }
}

/// Splits at unescaped commas.
fn split_terms(text: &str) -> Vec<&str> {
    let mut out = Vec::new();
    let (mut start, mut escaped) = (0, false);
    for (i, c) in text.char_indices() {
        if c == ',' && !escaped {
            out.push(text.get(start..i).unwrap_or_default());
            start = i + 1;
        }
        escaped = c == '\\' && !escaped;
    }
    out.push(text.get(start..).unwrap_or_default());
    out
}

fn unescape(text: &str) -> String {
    let mut out = String::new();
    let mut chars = text.chars();
    while let Some(c) = chars.next() {
        out.push(if c == '\\' { chars.next().unwrap_or(c) } else { c });
    }
    out
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[track_caller]
    fn check(selector: &str, labels: &Value, expected: bool) {
        let object = json!({"metadata": {"labels": labels}});
        let got = LabelSelector::parse(selector).unwrap().matches(&object);
        assert_eq!(got, expected, "{selector} on {object}");
    }

    #[test]
    fn label_selectors_match_as_kubernetes_does() {
        check("a=b", &json!({"a": "b"}), true);
        check("a!=b", &json!({}), true);
        check("a in (b, c),d", &json!({"a": "c", "d": ""}), true);
        check("a notin (b)", &json!({"a": "b"}), false);
        check("!a", &json!({"a": "b"}), false);
        check("a>3", &json!({"a": "4"}), true);
        check("a<3", &json!({"a": "x"}), false);
        check("a in ()", &json!({"a": ""}), true);
    }

    #[test]
    fn escaped_commas_belong_to_the_value() {
        let selector = FieldSelector::parse(r"metadata.name=a\,b").unwrap();
        assert!(selector.matches(&json!({"metadata": {"name": "a,b"}})));
    }
}
