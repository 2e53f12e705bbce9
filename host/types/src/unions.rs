//! Unions: in a structural schema they only say which fields are present, so that they become sentences in the comment of a struct.

use serde_json::Value;

/// Sentences about the fields that exclude or need each other; empty without.
pub(crate) fn rules(schema: &Value) -> Vec<String> {
    let mut rules = Vec::new();
    of(schema, &mut rules);
    for part in list(schema, "allOf") {
        of(part, &mut rules);
    }
    let count = |key| schema.get(key).and_then(Value::as_u64);
    match (schema.get("properties").is_some(), count("minProperties"), count("maxProperties")) {
        (true, Some(1), Some(1)) => rules.push("Exactly one field.".to_owned()),
        (true, Some(least @ 1..), _) => rules.push(format!("At least {} field{}.", number(least), plural(least))),
        (true, _, Some(1)) => rules.push("At most one field.".to_owned()),
        _ => {}
    }
    for union in list(schema, "x-kubernetes-unions") {
        rules.extend(marked(union));
    }
    rules.dedup();
    rules
}

fn of(schema: &Value, rules: &mut Vec<String>) {
    let one_of = alternatives(list(schema, "oneOf"));
    // Beside the alternatives there may be one that forbids all of them: none is as good as one.
    let (none, some): (Vec<&Value>, Vec<&Value>) = list(schema, "oneOf").iter().partition(|one| forbids_any(one));
    let at_most = if none.is_empty() { None } else { alternatives(some) };
    for (count, groups) in
        [("Exactly one", one_of), ("At most one", at_most), ("At least one", alternatives(list(schema, "anyOf")))]
    {
        if let Some(groups) = groups.filter(|groups| groups.len() > 1) {
            rules.push(format!("{count} of: {}.", groups.join(", ")));
        }
    }
    let together = schema.get("not").map(required).unwrap_or_default();
    match together.as_slice() {
        [] => {}
        [only] => rules.push(format!("Not: {only}.")),
        all => rules.push(format!("Not together: {}.", all.join(", "))),
    }
}

/// The fields that each alternative requires. None: an alternative is of another form.
fn alternatives<'v>(alternatives: impl IntoIterator<Item = &'v Value>) -> Option<Vec<String>> {
    let names = |one: &Value| {
        let names = required(one);
        (!names.is_empty()).then(|| names.join(" with "))
    };
    alternatives.into_iter().map(names).collect()
}

/// `not` of fields, or of any of several.
fn forbids_any(schema: &Value) -> bool {
    schema.get("not").is_some_and(|not| !list(not, "anyOf").is_empty() || !required(not).is_empty())
}

fn required(schema: &Value) -> Vec<&str> {
    list(schema, "required").iter().filter_map(Value::as_str).collect()
}

/// The extension that API servers write into OpenAPI documents.
fn marked(union: &Value) -> Option<String> {
    let fields = union.get("fields-to-discriminateBy")?.as_object()?;
    let discriminator = union.get("discriminator").and_then(Value::as_str);
    let mut names: Vec<String> = fields
        .iter()
        .map(|(field, value)| match (discriminator, value.as_str()) {
            (Some(_), Some(value)) if value != field => format!("{field} ({value})"),
            _ => field.clone(),
        })
        .collect();
    names.sort();
    let which = discriminator.map(|field| format!(", as {field} says")).unwrap_or_default();
    let says_something = names.len() > 1 || (names.len() == 1 && discriminator.is_some());
    says_something.then(|| format!("At most one of: {}{which}.", names.join(", ")))
}

fn number(count: u64) -> String {
    if count == 1 { "one".to_owned() } else { count.to_string() }
}

fn plural(count: u64) -> &'static str {
    if count == 1 { "" } else { "s" }
}

fn list<'v>(schema: &'v Value, key: &str) -> &'v [Value] {
    schema.get(key).and_then(Value::as_array).map(Vec::as_slice).unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn a_union_is_a_sentence() {
        let required = |names: &[&str]| json!({"required": names});
        let (a, b) = (required(&["a"]), required(&["b", "c"]));
        for (schema, told) in [
            (json!({"oneOf": [a, b]}), "Exactly one of: a, b with c."),
            (json!({"anyOf": [a, b]}), "At least one of: a, b with c."),
            (json!({"oneOf": [{"not": {"anyOf": [a, b]}}, a, b]}), "At most one of: a, b with c."),
            (
                json!({"allOf": [{"oneOf": [a, b]}, {"anyOf": [a, b]}]}),
                "Exactly one of: a, b with c. At least one of: a, b with c.",
            ),
            (json!({"oneOf": [{"properties": {"a": {}}, "required": ["a"]}, b]}), "Exactly one of: a, b with c."),
            (json!({"not": required(&["a", "b"])}), "Not together: a, b."),
            (json!({"properties": {}, "minProperties": 1, "maxProperties": 1}), "Exactly one field."),
            (json!({"properties": {}, "minProperties": 1}), "At least one field."),
            (json!({"properties": {}, "minProperties": 2, "maxProperties": 3}), "At least 2 fields."),
            (json!({"minProperties": 1}), ""),
            (
                json!({"x-kubernetes-unions": [{"discriminator": "type", "fields-to-discriminateBy": {"b": "B", "a": "a"}}]}),
                "At most one of: a, b (B), as type says.",
            ),
            (json!({"oneOf": [{"properties": {"a": {}}}, b]}), ""),
            (json!({"oneOf": 1, "anyOf": [1], "not": [], "allOf": {}, "x-kubernetes-unions": [1]}), ""),
        ] {
            assert_eq!(rules(&schema).join(" "), told, "{schema}");
        }
    }
}
