//! Whether every value of one schema is a value of another, and keeps its data.

use crate::formats;
use crate::node::{Additional, ListType, MAX_DEPTH, Node};
use serde_json::Value;

/// The fields whose stored values are lost or become invalid, with the reasons.
pub(super) fn compare(old: &Node, new: &Node) -> Vec<(String, String)> {
    let mut comparison = Comparison::default();
    comparison.node("", old, new, 0);
    comparison.found
}

#[derive(Default)]
struct Comparison {
    found: Vec<(String, String)>,
}

impl Comparison {
    fn add(&mut self, path: &str, reason: impl Into<String>) {
        self.found.push((path.to_owned(), reason.into()));
    }

    fn node(&mut self, path: &str, old: &Node, new: &Node, depth: usize) {
        if depth > MAX_DEPTH || old == new {
            return;
        }
        if let Some(refused) = types(old, new) {
            return self.add(path, refused);
        }
        if old.nullable && !new.nullable {
            self.add(path, "null is not allowed any more: stored nulls are lost");
        }
        if new.embedded && !old.embedded {
            return self.add(path, "stored values must be whole objects with apiVersion and kind now");
        }
        self.object(path, old, new, depth);
        self.list(path, old, new, depth);
        self.values(path, old, new);
        self.rules(path, old, new);
    }

    fn object(&mut self, path: &str, old: &Node, new: &Node, depth: usize) {
        for (name, before) in &old.properties {
            let at = join(path, name);
            match (new.child(name), &new.additional) {
                (Some(after), _) => self.node(&at, before, after, depth + 1),
                (None, Some(Additional::Any(true))) => {}
                (None, _) if new.preserve_unknown || is_of_every_object(path, name) => {}
                (None, _) => self.add(&at, "the field is removed: stored values are lost"),
            }
        }
        for (name, after) in new.properties.iter().filter(|(name, _)| !old.properties.contains_key(*name)) {
            match &old.additional {
                Some(Additional::Schema(before)) => self.node(&join(path, name), before, after, depth + 1),
                Some(Additional::Any(true)) => self.node(&join(path, name), &anything(), after, depth + 1),
                _ if old.preserve_unknown && !is_of_every_object(path, name) => {
                    self.node(&join(path, name), &anything(), after, depth + 1);
                }
                _ => {}
            }
        }
        self.other_fields(path, old, new, depth);
        for name in new.required.iter().filter(|name| new.child(name).is_none_or(|field| field.default.is_none())) {
            let at = join(path, name);
            // A field with a default may be absent from objects that are older than the default.
            if !old.required.contains(name) {
                self.add(&at, "the field becomes required, without a default: objects without it are invalid");
            } else if old.child(name).is_some_and(|field| field.default.is_some()) {
                self.add(&at, "the required field loses its default: objects without it are invalid");
            }
        }
    }

    /// Fields outside of `properties`.
    fn other_fields(&mut self, path: &str, old: &Node, new: &Node, depth: usize) {
        let keeps_all = new.preserve_unknown || matches!(new.additional, Some(Additional::Any(true)));
        let any = join(path, "*");
        match (&old.additional, &new.additional) {
            (Some(Additional::Schema(before)), Some(Additional::Schema(after))) => {
                self.node(&any, before, after, depth + 1);
            }
            (Some(Additional::Any(true)), Some(Additional::Schema(after))) => {
                self.node(&any, &anything(), after, depth + 1);
            }
            (Some(Additional::Schema(_) | Additional::Any(true)), _) if !keeps_all => {
                self.add(path, "only the fields of the schema are kept: other stored keys are lost");
            }
            (_, Some(Additional::Schema(after))) if old.preserve_unknown => {
                self.node(&any, &anything(), after, depth + 1);
            }
            _ if old.preserve_unknown && !keeps_all => {
                self.add(path, "unknown fields are not preserved any more: stored ones are lost");
            }
            _ => {}
        }
    }

    fn list(&mut self, path: &str, old: &Node, new: &Node, depth: usize) {
        if let (Some(before), Some(after)) = (&old.items, &new.items) {
            self.node(&format!("{path}[*]"), before, after, depth + 1);
        }
        let unique = match &new.list_type {
            ListType::Set => "the items of the list must differ now",
            ListType::Map(_) => "the items of the list must differ in their keys now",
            ListType::Unsaid | ListType::Atomic => return,
        };
        if new.list_type != old.list_type {
            self.add(path, unique);
        }
    }

    fn values(&mut self, path: &str, old: &Node, new: &Node) {
        let gone: Vec<String> =
            old.enumeration.iter().filter(|value| !new.enumeration.contains(value)).map(Value::to_string).collect();
        if !new.enumeration.is_empty() {
            if old.enumeration.is_empty() {
                self.add(path, "only the values of an enum are allowed now");
            } else if !gone.is_empty() {
                self.add(path, format!("the enum loses {}", gone.join(", ")));
            }
        }
        if let Some(pattern) = &new.pattern
            && old.pattern.as_ref() != Some(pattern)
        {
            self.add(path, format!("the pattern {} is new", pattern.text));
        }
        if let Some(format) = narrower_format(old, new) {
            self.add(path, format!("the format {format} is new"));
        }
        if let Some(divisor) = new.multiple_of
            && old.multiple_of.is_none_or(|before| before % divisor != 0.0)
        {
            self.add(path, format!("values must be multiples of {divisor} now"));
        }
        let lower = (old.minimum, old.exclusive_minimum, new.minimum, new.exclusive_minimum);
        let upper = (old.maximum.map(|x| -x), old.exclusive_maximum, new.maximum.map(|x| -x), new.exclusive_maximum);
        for (name, (before, excluded_before, after, excluded), shown) in
            [("minimum", lower, new.minimum), ("maximum", upper, new.maximum)]
        {
            let stricter = |after: f64| {
                before.is_none_or(|before| before < after || before == after && excluded && !excluded_before)
            };
            if after.is_some_and(stricter) {
                let exclusive = if excluded { "exclusive " } else { "" };
                self.add(path, format!("the {exclusive}{name} is {} now", shown.unwrap_or_default()));
            }
        }
        for (name, before, after) in [
            ("minLength", old.min_length, new.min_length),
            ("minItems", old.min_items, new.min_items),
            ("minProperties", old.min_properties, new.min_properties),
        ] {
            if let Some(after) = after.filter(|after| *after > before.unwrap_or(0)) {
                self.add(path, format!("{name} is {after} now"));
            }
        }
        for (name, before, after) in [
            ("maxLength", old.max_length, new.max_length),
            ("maxItems", old.max_items, new.max_items),
            ("maxProperties", old.max_properties, new.max_properties),
        ] {
            if let Some(after) = after.filter(|after| before.is_none_or(|before| *after < before)) {
                self.add(path, format!("{name} is {after} now"));
            }
        }
    }

    fn rules(&mut self, path: &str, old: &Node, new: &Node) {
        let changed = [
            ("allOf", !new.all_of.is_empty() && new.all_of != old.all_of),
            ("anyOf", !new.any_of.is_empty() && new.any_of != old.any_of),
            ("oneOf", !new.one_of.is_empty() && new.one_of != old.one_of),
            ("not", new.not.is_some() && new.not != old.not),
        ];
        for (name, _) in changed.into_iter().filter(|(_, changed)| *changed) {
            self.add(path, format!("{name} is new or changes: stored values may not match it"));
        }
        let text = |rule: &Value| rule.get("rule").and_then(Value::as_str).unwrap_or_default().to_owned();
        for rule in &new.rules {
            let rule_text = text(rule);
            // A rule about a change does not concern what is stored.
            let of_changes = rule_text.contains("oldSelf") && rule.get("optionalOldSelf") != Some(&Value::Bool(true));
            if !of_changes && !old.rules.iter().any(|before| text(before) == rule_text) {
                self.add(path, format!("the rule {rule_text} is new: stored values may break it"));
            }
        }
    }
}

/// The schema that allows everything.
fn anything() -> Node {
    Node { preserve_unknown: true, nullable: true, ..Node::default() }
}

/// Why values of the old types are invalid. None: they are not.
fn types(old: &Node, new: &Node) -> Option<String> {
    let allowed = |ty: &String| {
        new.types.is_empty() || new.types.contains(ty) || ty == "integer" && new.types.iter().any(|new| new == "number")
    };
    let named = |types: &[String]| if types.is_empty() { "any type".to_owned() } else { types.join(" or ") };
    let fits = if old.types.is_empty() { new.types.is_empty() } else { old.types.iter().all(allowed) };
    (!fits).then(|| format!("the type changes from {} to {}", named(&old.types), named(&new.types)))
}

/// The new format, if it may refuse what the old one allows. The server checks formats that it knows, and no others.
fn narrower_format<'a>(old: &Node, new: &'a Node) -> Option<&'a str> {
    let format = new.format.as_str();
    // No value is checked for these.
    let free = matches!(format, "int64" | "float" | "double");
    let ty = new.types.first().map(String::as_str).unwrap_or_default();
    (!format.is_empty() && format != old.format && !free && formats::is_known(ty, format)).then_some(format)
}

/// Whether the server knows the field without a schema.
fn is_of_every_object(path: &str, name: &str) -> bool {
    path.is_empty() && matches!(name, "apiVersion" | "kind" | "metadata")
}

fn join(path: &str, name: &str) -> String {
    if path.is_empty() { name.to_owned() } else { format!("{path}.{name}") }
}
