//! Fields of the built-in kinds, from a table (`fields.txt`) that is read once: protobuf numbers, JSON names, types.

use std::{collections::HashMap, sync::LazyLock};

/// A field of a message.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Field {
    pub(crate) number: u32,
    /// JSON name; `-` when the fields of the message are inlined.
    pub(crate) name: &'static str,
    pub(crate) shape: Shape,
    pub(crate) kind: Kind,
    /// Whether zero is significant: the field is required, or a pointer in Go. Other fields are always sent, and omitted from JSON when
    /// zero.
    pub(crate) zero_counts: bool,
}

impl Field {
    pub(crate) fn is_embedded(&self) -> bool {
        self.name == "-"
    }
}

/// The multiplicity of a field.
#[derive(Debug, Clone, Copy)]
pub(crate) enum Shape {
    One,
    Many,
    /// Entries with string keys.
    Map,
}

/// The type of a field.
#[derive(Debug, Clone, Copy)]
pub(crate) enum Kind {
    Int32,
    Int64,
    Bool,
    Double,
    Text,
    Bytes,
    Message(&'static str),
}

static TABLE: LazyLock<HashMap<&'static str, Vec<Field>>> = LazyLock::new(|| {
    let mut messages: HashMap<&'static str, Vec<Field>> = HashMap::new();
    let mut message = "";
    for line in include_str!("fields.txt").lines().filter(|l| !l.starts_with('#')) {
        match line.strip_prefix(' ') {
            None => {
                message = line;
                messages.insert(line, Vec::new());
            }
            Some(line) => messages.entry(message).or_default().extend(field(line)),
        }
    }
    messages
});

fn field(line: &'static str) -> Option<Field> {
    let mut words = line.splitn(3, ' ');
    let (number, name, form) = (words.next()?.parse().ok()?, words.next()?, words.next()?);
    let (zero_counts, form) = match form.strip_prefix('!') {
        Some(form) => (true, form),
        None => (false, form),
    };
    let (shape, form) = match (form.strip_prefix('*'), form.strip_prefix("map ")) {
        (Some(form), _) => (Shape::Many, form),
        (_, Some(form)) => (Shape::Map, form),
        (None, None) => (Shape::One, form),
    };
    let kind = match form {
        "int32" => Kind::Int32,
        "int64" => Kind::Int64,
        "bool" => Kind::Bool,
        "double" => Kind::Double,
        "string" => Kind::Text,
        "bytes" => Kind::Bytes,
        message => Kind::Message(message.strip_prefix('.')?),
    };
    Some(Field { number, name, shape, kind, zero_counts })
}

/// The fields of a message; empty for an unknown one.
pub(crate) fn message(name: &str) -> &'static [Field] {
    TABLE.get(name).map_or(&[], Vec::as_slice)
}

/// The message of a kind and its fields.
pub(crate) fn of_kind(api_version: &str, kind: &str) -> Option<(&'static str, &'static [Field])> {
    // Options of requests exist in every group.
    if kind == "DeleteOptions" {
        return Some(("meta.v1.DeleteOptions", message("meta.v1.DeleteOptions")));
    }
    let (group, version) = api_version.split_once('/').unwrap_or(("core", api_version));
    let package = group.split('.').next().unwrap_or_default();
    TABLE.get_key_value(format!("{package}.{version}.{kind}").as_str()).map(|(name, fields)| (*name, fields.as_slice()))
}

/// Whether a message has a JSON form of its own.
pub(crate) fn is_special(name: &str) -> bool {
    matches!(
        name,
        "meta.v1.Time"
            | "meta.v1.MicroTime"
            | "meta.v1.FieldsV1"
            | "runtime.RawExtension"
            | "api.resource.Quantity"
            | "util.intstr.IntOrString"
            | "apiextensions.v1.Json"
            | "apiextensions.v1.JsonSchemaPropsOrArray"
            | "apiextensions.v1.JsonSchemaPropsOrBool"
            | "apiextensions.v1.JsonSchemaPropsOrStringArray"
    ) || is_list(message(name))
}

/// Go types that are lists: Verbs, ExtraValue.
fn is_list(fields: &[Field]) -> bool {
    matches!(fields, [Field { name: "items", shape: Shape::Many, kind: Kind::Text, .. }])
}

/// The names of all messages.
#[cfg(test)]
pub(crate) fn names() -> impl Iterator<Item = &'static str> {
    TABLE.keys().copied()
}
