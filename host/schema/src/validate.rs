//! Validation of values by a schema: types, ranges, enumerations, formats and the logical quantors.

use serde_json::Value;

use crate::{
    error::FieldError,
    formats, go,
    node::{Additional, MAX_DEPTH, Members, Node},
    numbers,
};

/// The result of validating one value by one schema.
#[derive(Debug, Default)]
struct Outcome {
    errors: Vec<FieldError>,
    /// The number of validators that ran; the alternative with the most explains a failed `oneOf`.
    matches: usize,
}

impl Outcome {
    fn merge(&mut self, other: Self) {
        self.errors.extend(other.errors);
        self.matches += other.matches;
    }

    fn is_valid(&self) -> bool {
        self.errors.is_empty()
    }
}

/// The position of the validation: the path in messages starts below `base`, the prefix of all fields (`status` for `/status`).
#[derive(Clone, Copy, Debug)]
pub(crate) struct Base<'a>(pub(crate) &'a str);

impl Base<'_> {
    fn field(self, path: &str) -> String {
        match (self.0.is_empty(), path.is_empty()) {
            (true, _) => path.to_owned(),
            (_, true) => self.0.to_owned(),
            _ => format!("{}.{path}", self.0),
        }
    }

    fn invalid(self, path: &str, value: &Value, text: &str) -> FieldError {
        FieldError::invalid(&self.field(path), value, &format!("{path} in body {text}"))
    }

    /// A fault without a path, such as those of `oneOf` and of numbers that do not fit their format.
    fn placeless(self, text: &str) -> FieldError {
        FieldError::invalid(self.0, &Value::String(String::new()), text)
    }

    fn wrong_type(self, path: &str, expected: &str, found: &str) -> FieldError {
        let text = format!("{path} in body must be of type {expected}: {}", go::quote(found));
        FieldError::type_invalid(&self.field(path), found, &text)
    }
}

/// Checks `value`; parts that equal the corresponding parts of `old` may stay invalid.
///
/// # Source
///
/// kube-openapi `pkg/validation/validate`, apiextensions-apiserver `pkg/apiserver/validation/ratcheting.go`.
pub(crate) fn validate_value(node: &Node, value: &Value, old: Option<&Value>, base: Base<'_>) -> Vec<FieldError> {
    validate(node, value, old, "", base, 0).errors
}

fn validate(node: &Node, value: &Value, old: Option<&Value>, path: &str, base: Base<'_>, depth: usize) -> Outcome {
    let mut out = Outcome { matches: 1, ..Outcome::default() };
    if depth > MAX_DEPTH * 2 || old == Some(value) {
        // Unchanged parts are accepted regardless of a newer schema.
        return out;
    }
    let mut add = |errors: Vec<FieldError>| {
        out.errors.extend(errors);
        out.matches += 1;
    };
    add(check_type(node, value, path, base));
    if value.is_null() {
        add(check_enum(node, value, path, base));
        return out;
    }
    out.merge(quantors(node, value, path, base, depth));
    match value {
        Value::String(text) => {
            out.errors.extend(check_string(node, text, value, path, base));
            out.matches += 1;
        }
        Value::Number(number) => {
            out.errors.extend(numbers::check(node, number, path).into_iter().map(|fault| match fault {
                numbers::Fault::OutOfFormat(text) => base.placeless(&text),
                numbers::Fault::OutOfRange(text) => base.invalid(path, value, &text),
            }));
            out.matches += 1;
        }
        Value::Array(items) => out.merge(check_array(node, items, old, path, base, depth)),
        Value::Object(_) | Value::Null | Value::Bool(_) => {}
    }
    out.errors.extend(check_enum(node, value, path, base));
    out.matches += 1;
    if value.is_object() {
        out.merge(check_object(node, value, old, path, base, depth));
    }
    out
}

fn type_of(value: &Value) -> (&'static str, &'static str) {
    match value {
        Value::Null => ("null", ""),
        Value::Bool(_) => ("boolean", ""),
        Value::Number(n) if n.is_i64() || n.is_u64() => ("integer", "int64"),
        Value::Number(_) => ("number", "double"),
        Value::String(_) => ("string", ""),
        Value::Array(_) => ("array", ""),
        Value::Object(_) => ("object", ""),
    }
}

fn check_type(node: &Node, value: &Value, path: &str, base: Base<'_>) -> Vec<FieldError> {
    let has = |t: &str| node.types.iter().any(|x| x == t);
    let (found, format) = type_of(value);
    if node.types.is_empty() || (value.is_null() && node.nullable) || has(found) {
        return Vec::new();
    }
    let whole = value.as_f64().is_some_and(|f| f.fract() == 0.0);
    if (found == "number" && whole && has("integer")) || (found == "integer" && has("number")) {
        return Vec::new();
    }
    let textual = value.is_string() || value.is_array();
    if !node.format.is_empty() && !value.is_null() && !textual {
        return vec![base.wrong_type(path, &node.format, format)];
    }
    if !node.format.is_empty() && textual && !has("number") && !has("integer") {
        return Vec::new();
    }
    vec![base.wrong_type(path, &node.types.join(","), found)]
}

fn check_enum(node: &Node, value: &Value, path: &str, base: Base<'_>) -> Vec<FieldError> {
    if node.enumeration.is_empty() || node.enumeration.iter().any(|allowed| numbers::same(allowed, value)) {
        return Vec::new();
    }
    let supported: Vec<String> = node
        .enumeration
        .iter()
        .map(|allowed| allowed.as_str().map_or_else(|| allowed.to_string(), str::to_owned))
        .collect();
    vec![FieldError::not_supported(&base.field(path), value, &supported)]
}

fn check_string(node: &Node, text: &str, value: &Value, path: &str, base: Base<'_>) -> Vec<FieldError> {
    let mut errors = Vec::new();
    let length = u64::try_from(text.chars().count()).unwrap_or(u64::MAX);
    if let Some(max) = node.max_length.filter(|max| length > *max) {
        errors.push(FieldError::too_long(&base.field(path), max));
    } else if let Some(min) = node.min_length.filter(|min| length < *min) {
        errors.push(base.invalid(path, value, &format!("should be at least {min} chars long")));
    } else if let Some(pattern) = &node.pattern
        && !pattern.regex.as_ref().is_some_and(|regex| regex.is_match(text))
    {
        errors.push(base.invalid(path, value, &format!("should match '{}'", pattern.text)));
    }
    if !formats::matches(&node.format, text) {
        errors.push(base.wrong_type(path, &node.format, text));
    }
    errors
}

fn check_array(node: &Node, items: &[Value], old: Option<&Value>, path: &str, base: Base<'_>, depth: usize) -> Outcome {
    let mut out = Outcome { matches: 1, ..Outcome::default() };
    if let Some(of_items) = node.items.as_deref() {
        let members = Members::new(node, old);
        for (i, item) in items.iter().enumerate() {
            let before = members.counterpart(node, i, item);
            out.merge(validate(of_items, item, before, &format!("{path}[{i}]"), base, depth + 1));
        }
    }
    let size = u64::try_from(items.len()).unwrap_or(u64::MAX);
    if let Some(min) = node.min_items.filter(|min| size < *min) {
        out.errors.push(base.invalid(path, &size.into(), &format!("should have at least {min} items")));
    }
    if let Some(max) = node.max_items.filter(|max| size > *max) {
        out.errors.push(FieldError::too_many(&base.field(path), size, max));
    }
    if node.unique_items && numbers::repeats(items) {
        let text = format!("{path} in body shouldn't contain duplicates");
        out.errors.push(FieldError::invalid(&base.field(path), &Value::String(String::new()), &text));
    }
    out
}

fn check_object(node: &Node, value: &Value, old: Option<&Value>, path: &str, base: Base<'_>, depth: usize) -> Outcome {
    let mut out = Outcome { matches: 1, ..Outcome::default() };
    let Some(object) = value.as_object() else { return out };
    let size = u64::try_from(object.len()).unwrap_or(u64::MAX);
    if let Some(min) = node.min_properties.filter(|min| size < *min) {
        out.errors.push(base.invalid(path, &size.into(), &format!("should have at least {min} properties")));
        return out;
    }
    if let Some(max) = node.max_properties.filter(|max| size > *max) {
        out.errors.push(FieldError::too_many(&base.field(path), size, max));
        return out;
    }
    for key in node.required.iter().filter(|key| !object.contains_key(key.as_str())) {
        out.errors.push(FieldError::required(&base.field(&join(path, key)), ""));
    }
    for (key, child) in object {
        let at = join(path, key);
        let before = old.and_then(|old| old.get(key));
        if let Some(known) = node.child(key) {
            out.merge(validate(known, child, before, &at, base, depth + 1));
        } else if matches!(node.additional, Some(Additional::Any(false))) && !node.preserve_unknown {
            out.errors.push(base.invalid(&at, &Value::String(String::new()), "is a forbidden property"));
        }
    }
    out
}

fn join(path: &str, key: &str) -> String {
    if path.is_empty() { key.to_owned() } else { format!("{path}.{key}") }
}

/// `anyOf`, `oneOf`, `allOf`, `not`, with the errors of the closest alternative.
fn quantors(node: &Node, value: &Value, path: &str, base: Base<'_>, depth: usize) -> Outcome {
    let mut out = Outcome { matches: 1, ..Outcome::default() };
    let name = go::quote(path);
    let run = |node: &Node| validate(node, value, None, path, base, depth + 1);
    if !node.any_of.is_empty() {
        let (valid, best) = alternatives(&node.any_of, run);
        if valid == 0 {
            out.errors.push(base.placeless(&format!("{name} must validate at least one schema (anyOf)")));
        }
        out.merge(best);
    }
    if !node.one_of.is_empty() {
        let (valid, best) = alternatives(&node.one_of, run);
        if valid != 1 {
            let found = if valid == 0 { "none valid".to_owned() } else { format!("{valid} valid alternatives") };
            let text = format!("{name} must validate one and only one schema (oneOf). Found {found}");
            out.errors.push(base.placeless(&text));
        }
        out.merge(best);
    }
    if !node.all_of.is_empty() {
        let results: Vec<Outcome> = node.all_of.iter().map(run).collect();
        let valid = results.iter().filter(|r| r.is_valid()).count();
        let complete = valid == results.len();
        results.into_iter().for_each(|r| out.merge(r));
        if !complete {
            let none = if valid == 0 { ". None validated" } else { "" };
            out.errors.push(base.placeless(&format!("{name} must validate all the schemas (allOf){none}")));
        }
    }
    if let Some(not) = node.not.as_deref()
        && run(not).is_valid()
    {
        out.errors.push(base.placeless(&format!("{name} must not validate the schema (not)")));
    }
    out
}

/// The number of matching alternatives, and the errors to show: none when one matches, else those of the closest.
fn alternatives(nodes: &[Node], run: impl Fn(&Node) -> Outcome) -> (usize, Outcome) {
    let mut valid = 0;
    let mut best: Option<Outcome> = None;
    for outcome in nodes.iter().map(run) {
        if outcome.is_valid() {
            valid += 1;
        } else if best.as_ref().is_none_or(|b| outcome.matches > b.matches) {
            best = Some(outcome);
        }
    }
    (valid, if valid == 0 { best.unwrap_or_default() } else { Outcome::default() })
}
