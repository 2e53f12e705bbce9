//! Table of checks that many fields share: `rules.txt`.
//!
//! `[type]` begins a type; a line is a path, then checks after `;`. `[]` in a path is each element of a list, `{}` each entry of a map.
//! Absent values pass every check but `required`.

use std::{collections::HashMap, sync::LazyLock};

use serde_json::Value;

use super::shapes;
use crate::model::{names, status::Cause};

enum PathStep {
    Field(&'static str),
    Each,
    Entry,
}

/// A check, and the text after its `=`.
type Check = (&'static str, &'static str);

struct Rule {
    path: Vec<PathStep>,
    checks: Vec<Check>,
}

static TABLE: LazyLock<HashMap<&'static str, Vec<Rule>>> = LazyLock::new(|| {
    let mut types: HashMap<&'static str, Vec<Rule>> = HashMap::new();
    let mut current = "";
    for line in include_str!("rules.txt").lines().filter(|l| !l.is_empty() && !l.starts_with('#')) {
        if let Some(name) = line.strip_prefix('[').and_then(|l| l.strip_suffix(']')) {
            current = name;
            continue;
        }
        let mut parts = line.split(" ; ");
        let path = steps(parts.next().unwrap_or_default());
        let checks = parts.map(|c| c.split_once('=').unwrap_or((c, ""))).collect();
        types.entry(current).or_default().push(Rule { path, checks });
    }
    types
});

fn steps(path: &'static str) -> Vec<PathStep> {
    let mut out = Vec::new();
    for part in path.split('.') {
        let name = part.trim_end_matches(['[', ']', '{', '}']);
        out.push(PathStep::Field(name));
        let marks = part.get(name.len()..).unwrap_or_default();
        out.extend(marks.split_inclusive([']', '}']).map(|m| if m == "[]" { PathStep::Each } else { PathStep::Entry }));
    }
    out
}

/// The faults of a value of a type by the table; its fields are below `path`.
pub(super) fn check(kind: &str, value: &Value, path: &str) -> Vec<Cause> {
    let mut out = Vec::new();
    for rule in TABLE.get(kind).into_iter().flatten() {
        walk(Some(value), &rule.path, path.to_owned(), &rule.checks, &mut out);
    }
    out
}

fn walk(value: Option<&Value>, steps: &[PathStep], path: String, checks: &[Check], out: &mut Vec<Cause>) {
    let Some((step, rest)) = steps.split_first() else { return apply(value, path, checks, out) };
    let Some(value) = value else { return };
    match step {
        PathStep::Field(name) => {
            if value.is_object() {
                let member = value.get(name).filter(|v| !v.is_null());
                let path = if path.is_empty() { (*name).to_owned() } else { format!("{path}.{name}") };
                walk(member, rest, path, checks, out);
            }
        }
        PathStep::Each => {
            for (i, element) in value.as_array().into_iter().flatten().enumerate() {
                walk(Some(element), rest, format!("{path}[{i}]"), checks, out);
            }
        }
        PathStep::Entry => {
            for (key, member) in value.as_object().into_iter().flatten() {
                walk(Some(member), rest, format!("{path}[{key}]"), checks, out);
            }
        }
    }
}

fn is_empty(value: &Value) -> bool {
    match value {
        Value::Null => true,
        Value::String(text) => text.is_empty(),
        Value::Array(list) => list.is_empty(),
        Value::Object(map) => map.is_empty(),
        Value::Number(number) => number.as_i64() == Some(0),
        Value::Bool(_) => false,
    }
}

fn apply(value: Option<&Value>, path: String, checks: &[Check], out: &mut Vec<Cause>) {
    // Of several mutually exclusive members, only the first is checked further.
    let mut first: Option<Value> = None;
    for (name, argument) in checks {
        if *name == "required" {
            if value.is_none_or(is_empty) {
                out.push(Cause::required(path, argument));
                return;
            }
            continue;
        }
        let Some(whole) = value else { return };
        let value = first.as_ref().unwrap_or(whole);
        match *name {
            // The remaining checks do not apply to an empty string.
            "filled" if value == "" => return,
            "filled" => {}
            "enum" => {
                let known: Vec<&str> = argument.split(',').collect();
                if !value.as_str().is_some_and(|text| known.contains(&text)) {
                    out.push(Cause::unsupported(path.clone(), value, &known));
                }
            }
            "forbidden" => out.push(Cause::forbidden(path.clone(), argument)),
            "refused" => out.push(Cause::invalid(path.clone(), value, argument)),
            "unique" => out.extend(unique(value, &path, argument)),
            "is" => out.extend(check(argument, value, &path)),
            "one" => {
                let (causes, rest) = one(value, &path, argument);
                out.extend(causes);
                first = rest;
            }
            name => match shapes::find(name) {
                Some(shape) => out.extend(shape(value, &path)),
                None => out
                    .extend(problems(name, argument, value).iter().map(|why| Cause::invalid(path.clone(), value, why))),
            },
        }
    }
}

/// The faults of a number or a string.
fn problems(name: &str, argument: &str, value: &Value) -> Vec<String> {
    let bound = |text: &str| text.parse::<i64>().unwrap_or_default();
    let text = value.as_str().unwrap_or_default();
    let number = value.as_i64().unwrap_or_default();
    let unless = |holds: bool, why: String| if holds { Vec::new() } else { vec![why] };
    match name {
        "min" => unless(number >= bound(argument), format!("must be greater than or equal to {argument}")),
        "above" => unless(number > bound(argument), format!("must be greater than {argument}")),
        "range" => {
            let (low, high) = argument.split_once(',').unwrap_or_default();
            unless((bound(low)..=bound(high)).contains(&number), format!("must be between {low} and {high}, inclusive"))
        }
        "mode" => {
            let why = "must be a number between 0 and 0777 (octal), both inclusive";
            unless((0..=0o777).contains(&number), why.to_owned())
        }
        "label" => names::label(text),
        "label1035" => names::label_1035(text),
        "subdomain" => names::subdomain(text),
        "qualified" => names::qualified_name(text),
        "segment" => names::path_segment(text),
        "key" => names::config_key(text),
        "portname" => names::port_name(text),
        "absolute" => unless(text.starts_with('/'), "must be an absolute path".to_owned()),
        "relative" => {
            let mut out = unless(!text.starts_with('/'), "must be a relative path".to_owned());
            out.extend(unless(!text.split('/').any(|p| p == ".."), "must not contain '..'".to_owned()));
            out
        }
        _ => Vec::new(),
    }
}

/// Duplicate elements (or duplicate values of one of their fields).
fn unique(value: &Value, path: &str, key: &str) -> Vec<Cause> {
    let (mut seen, mut out) = (Vec::new(), Vec::new());
    for (i, element) in value.as_array().into_iter().flatten().enumerate() {
        let (found, at) = if key.is_empty() {
            (Some(element), format!("{path}[{i}]"))
        } else {
            (element.get(key), format!("{path}[{i}].{key}"))
        };
        let Some(found) = found else { continue };
        if seen.contains(&found) {
            out.push(Cause::duplicate(at, found));
        }
        seen.push(found);
    }
    out
}

/// `what: a,b,c`: exactly one of these members, in this order. Also returns the value without those after the first, if any.
fn one(value: &Value, path: &str, argument: &str) -> (Vec<Cause>, Option<Value>) {
    let (what, members) = argument.split_once(": ").unwrap_or_default();
    let mut there = members.split(',').filter(|m| value.get(*m).is_some_and(|v| !v.is_null()));
    if there.next().is_none() {
        return (vec![Cause::required(path, &format!("must specify a {what} type"))], None);
    }
    let others: Vec<&str> = there.collect();
    let why = format!("may not specify more than 1 {what} type");
    let causes = others.iter().map(|name| Cause::forbidden(format!("{path}.{name}"), &why)).collect();
    let mut rest = value.clone();
    if let Some(map) = rest.as_object_mut() {
        map.retain(|key, _| !others.contains(&key.as_str()));
    }
    (causes, Some(rest).filter(|_| !others.is_empty()))
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn every_check_of_the_table_is_known() {
        let plain = [
            "required",
            "filled",
            "enum",
            "forbidden",
            "refused",
            "unique",
            "is",
            "one",
            "min",
            "above",
            "range",
            "mode",
            "label",
            "label1035",
            "subdomain",
            "qualified",
            "segment",
            "key",
            "portname",
            "absolute",
            "relative",
        ];
        for (kind, rules) in TABLE.iter() {
            for (name, argument) in rules.iter().flat_map(|r| &r.checks) {
                assert!(plain.contains(name) || shapes::find(name).is_some(), "{kind}: {name}");
                assert!(*name != "is" || TABLE.contains_key(argument), "{kind}: {argument}");
            }
        }
    }

    #[test]
    fn paths_reach_into_lists_and_maps() {
        let causes = check("podspec", &json!({"tolerations": [{"operator": "Bogus", "key": "k"}]}), "spec");
        let shown = format!("{causes:?}");
        assert!(shown.contains("spec.tolerations[0].operator") && shown.contains("Unsupported value"), "{shown}");
    }
}
