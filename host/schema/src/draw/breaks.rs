//! Objects that break one rule of their schema.

use super::strings;
use super::{Draw, count, escape, flag, list, properties, requires};
use serde_json::{Value, json};

/// An object with one value that its schema does not allow.
#[derive(Clone, Debug, PartialEq)]
pub struct Broken {
    /// The whole object.
    pub object: Value,
    /// The keyword of the rule that does not hold any more; `unknown field`, or `value` for one that fits its own schema and
    /// breaks a rule about several.
    pub rule: &'static str,
    /// JSON pointer to what was changed.
    pub pointer: String,
}

const RULES: [&str; 18] = [
    "type",
    "enum",
    "pattern",
    "format",
    "minLength",
    "maxLength",
    "minimum",
    "maximum",
    "multipleOf",
    "minItems",
    "maxItems",
    "uniqueItems",
    "minProperties",
    "maxProperties",
    "required",
    "unknown field",
    "x-kubernetes-validations",
    "value",
];

/// Strings and lists are not made longer than this to be too long.
const LONGEST: usize = 10_000;

/// Breaks one rule at one place of a valid object; None: there is none that can be broken.
///
/// * `is_refused` - the validator's word: what it lets through was not broken.
pub fn break_one(
    schema: &Value,
    object: &Value,
    draw: &mut Draw<'_>,
    is_refused: impl Fn(&Value) -> bool,
) -> Option<Broken> {
    let mut places = Vec::new();
    for (name, property) in properties(schema) {
        let is_ours = !["apiVersion", "kind", "metadata", "status"].contains(&name.as_str());
        if let Some(value) = object.get(name).filter(|_| is_ours) {
            collect(property, value, &format!("/{}", escape(name)), &mut places);
        }
    }
    places.push((String::new(), schema.clone()));
    let mut tries: Vec<(usize, &'static str)> =
        (0..places.len()).flat_map(|place| RULES.iter().map(move |rule| (place, *rule))).collect();
    while !tries.is_empty() {
        let (place, rule) = tries.swap_remove(draw.below(tries.len()));
        let Some((pointer, schema)) = places.get(place) else { continue };
        let Some(value) = object.pointer(pointer) else { continue };
        let Some(broken) = broken(rule, schema, value, pointer, draw) else { continue };
        let mut whole = object.clone();
        if let Some(there) = whole.pointer_mut(pointer) {
            *there = broken;
        }
        if is_refused(&whole) {
            return Some(Broken { object: whole, rule, pointer: pointer.clone() });
        }
    }
    None
}

/// Every value with its schema, but for those of quantors.
fn collect(schema: &Value, value: &Value, pointer: &str, places: &mut Vec<(String, Value)>) {
    places.push((pointer.to_owned(), schema.clone()));
    match value {
        Value::Object(fields) => {
            for (name, field) in fields {
                let known = schema.get("properties").and_then(|all| all.get(name));
                if let Some(known) = known.or_else(|| schema.get("additionalProperties").filter(|one| one.is_object()))
                {
                    collect(known, field, &format!("{pointer}/{}", escape(name)), places);
                }
            }
        }
        Value::Array(items) => {
            let of_items = schema.get("items").unwrap_or(&Value::Null);
            for (at, item) in items.iter().enumerate() {
                collect(of_items, item, &format!("{pointer}/{at}"), places);
            }
        }
        _ => {}
    }
}

/// The value with one rule broken; None: the schema has no such rule, or it cannot be broken here.
fn broken(rule: &str, schema: &Value, value: &Value, pointer: &str, draw: &mut Draw<'_>) -> Option<Value> {
    // The root has fields of every object in it.
    if pointer.is_empty() && !["required", "unknown field"].contains(&rule) {
        return None;
    }
    match rule {
        "type" => Some(match schema.get("type")?.as_str()? {
            "string" => json!({"not": "a string"}),
            "boolean" => json!("maybe"),
            "object" | "array" => json!("neither object nor list"),
            _ if flag(schema, "x-kubernetes-int-or-string") => json!(["neither"]),
            _ => json!("not a number"),
        }),
        "enum" => schema.get("enum").map(|_| json!("no-such-member")),
        "value" => Some(draw.value(schema, pointer, 1)).filter(|drawn| drawn != value),
        "required" | "unknown field" | "minProperties" | "maxProperties" => {
            broken_object(rule, schema, value, pointer.is_empty(), draw)
        }
        "minItems" | "maxItems" | "uniqueItems" => broken_array(rule, schema, value, pointer, draw),
        "minimum" | "maximum" | "multipleOf" => broken_number(rule, schema, value),
        _ => broken_string(rule, schema, value, draw),
    }
}

fn broken_object(rule: &str, schema: &Value, value: &Value, is_root: bool, draw: &mut Draw<'_>) -> Option<Value> {
    let mut fields = value.as_object()?.clone();
    match rule {
        "required" => {
            let there: Vec<String> = fields.keys().filter(|name| requires(schema, name)).cloned().collect();
            fields.remove(there.get(draw.below(there.len()))?)?;
        }
        "unknown field" => {
            let open =
                schema.get("additionalProperties").is_some() || flag(schema, "x-kubernetes-preserve-unknown-fields");
            if open || (!is_root && schema.get("properties").is_none()) {
                return None;
            }
            fields.insert("noSuchField".to_owned(), json!("x"));
        }
        "minProperties" => {
            let least = count(schema, "minProperties").filter(|least| *least > 0)?;
            let spare: Vec<String> = fields.keys().filter(|name| !requires(schema, name)).cloned().collect();
            for name in spare.iter().take((fields.len() + 1).checked_sub(least)?) {
                fields.remove(name);
            }
        }
        _ => {
            let most = count(schema, "maxProperties").filter(|most| *most < LONGEST)?;
            let others = schema.get("additionalProperties")?;
            for number in fields.len()..=most {
                let value = draw.value(others, "", 1);
                fields.insert(format!("one-more-{number}"), value);
            }
        }
    }
    Some(Value::Object(fields))
}

fn broken_array(rule: &str, schema: &Value, value: &Value, pointer: &str, draw: &mut Draw<'_>) -> Option<Value> {
    let mut items = value.as_array()?.clone();
    match rule {
        "minItems" => items.truncate(count(schema, "minItems")?.checked_sub(1)?),
        "maxItems" => {
            let most = count(schema, "maxItems").filter(|most| *most < LONGEST)?;
            for number in items.len()..=most {
                items.push(draw.value(schema.get("items").unwrap_or(&Value::Null), &format!("{pointer}/{number}"), 1));
            }
        }
        _ => {
            let kind = schema.get("x-kubernetes-list-type").and_then(Value::as_str);
            if !flag(schema, "uniqueItems") && !kind.is_some_and(|kind| ["set", "map"].contains(&kind)) {
                return None;
            }
            items.push(items.first()?.clone());
        }
    }
    Some(Value::Array(items))
}

fn broken_number(rule: &str, schema: &Value, value: &Value) -> Option<Value> {
    let number = value.as_f64()?;
    let bound = schema.get(rule)?.as_f64()?;
    let beyond = match rule {
        "minimum" => bound.floor() - 1.0,
        "maximum" => bound.ceil() + 1.0,
        _ => number + bound / 2.0,
    };
    let whole = format!("{beyond:.0}").parse::<i64>().ok().filter(|_| beyond.fract() == 0.0);
    Some(whole.map_or_else(|| json!(beyond), |whole| json!(whole)))
}

fn broken_string(rule: &str, schema: &Value, value: &Value, draw: &mut Draw<'_>) -> Option<Value> {
    value.as_str()?;
    let least = count(schema, "minLength").unwrap_or(0);
    let most = count(schema, "maxLength").unwrap_or(LONGEST).min(LONGEST).max(least);
    match rule {
        "minLength" => Some(json!("x".repeat(least.checked_sub(1)?))),
        "maxLength" => {
            let most = count(schema, "maxLength").filter(|most| *most < LONGEST)?;
            Some(json!("x".repeat(most + 1)))
        }
        "pattern" => {
            schema.get("pattern")?;
            // Few patterns allow a bell.
            let text = format!("\u{7}{}", strings::word(least, most, draw.random()));
            Some(json!(text.chars().take(most).collect::<String>()))
        }
        "format" => {
            schema.get("format")?;
            Some(json!("(no format)".chars().cycle().take(most.min(11).max(least)).collect::<String>()))
        }
        _ => {
            let rules = list(schema, "x-kubernetes-validations").count();
            (rules > 0).then(|| json!(strings::word(least, most, draw.random())))
        }
    }
}
