//! Conversion of JSON into CEL values.

use std::{collections::HashMap, sync::Arc};

use kube_cel::cel::{
    Context, Program, Value as CelValue,
    objects::{Key, Map},
};
use serde_json::Value;

use crate::{
    formats,
    node::{Additional, Node},
};

thread_local! {
    /// Conversions whose results only CEL itself can build, without a dependency on its clock crate.
    static TIMESTAMP: Option<Program> = Program::compile("timestamp(x)").ok();
    static DURATION: Option<Program> = Program::compile("duration(x)").ok();
    static CONTEXT: Context<'static> = Context::default();
}

const RESERVED: [&str; 21] = [
    "true",
    "false",
    "null",
    "in",
    "as",
    "break",
    "const",
    "continue",
    "else",
    "for",
    "function",
    "if",
    "import",
    "let",
    "loop",
    "package",
    "namespace",
    "return",
    "var",
    "void",
    "while",
];

/// Whether the word is reserved in CEL.
pub(crate) fn is_reserved(name: &str) -> bool {
    RESERVED.contains(&name)
}

/// The CEL identifier of a field name.
///
/// # Source
///
/// apiserver `pkg/cel/escaping.go`, `Escape`.
pub(crate) fn escape(name: &str) -> String {
    if is_reserved(name) {
        return format!("__{name}__");
    }
    name.replace("__", "__underscores__").replace('.', "__dot__").replace('-', "__dash__").replace('/', "__slash__")
}

/// As [`escape`]; `None` for a name without a CEL spelling.
pub(crate) fn escape_name(name: &str) -> Option<String> {
    let spelled = !name.is_empty()
        && !name.starts_with(|c: char| c.is_ascii_digit())
        && name.chars().all(|c| c.is_ascii_alphanumeric() || "-./_".contains(c));
    spelled.then(|| escape(name))
}

/// The name of a value's type in CEL.
pub(super) fn type_name(value: &CelValue) -> &'static str {
    match value {
        CelValue::List(_) => "list",
        CelValue::Map(_) => "map",
        CelValue::Int(_) => "int",
        CelValue::UInt(_) => "uint",
        CelValue::Float(_) => "double",
        CelValue::String(_) => "string",
        CelValue::Bytes(_) => "bytes",
        CelValue::Bool(_) => "bool",
        CelValue::Null => "null_type",
        // Times, durations and library types have no name that a rule can write without a dot.
        _ => "other",
    }
}

/// A whole object: rules see only the name in its metadata.
pub(crate) fn root(node: &Node, value: &Value) -> CelValue {
    let mut value = value.clone();
    if let Some(meta) = value.get_mut("metadata").and_then(Value::as_object_mut) {
        meta.retain(|key, _| key == "name" || key == "generateName");
    }
    convert(Some(node), &value)
}

/// A value with the types of its schema.
pub(crate) fn convert(node: Option<&Node>, value: &Value) -> CelValue {
    match value {
        Value::Null => CelValue::Null,
        Value::Bool(b) => CelValue::Bool(*b),
        Value::Number(n) => {
            let is = |t: &str| node.is_some_and(|node| node.types.iter().any(|x| x == t));
            let float = CelValue::Float(n.as_f64().unwrap_or(f64::NAN));
            if is("number") {
                return float;
            }
            if let Some(i) = n.as_i64() {
                return CelValue::Int(i);
            }
            match n.as_f64().filter(|f| is("integer") && f.fract() == 0.0 && f.abs() < 9.0e15) {
                #[expect(clippy::cast_possible_truncation, reason = "whole and small")]
                Some(f) => CelValue::Int(f as i64),
                None => float,
            }
        }
        Value::String(s) => text(node, s),
        Value::Array(items) => {
            let of_items = node.and_then(|n| n.items.as_deref());
            CelValue::List(Arc::new(items.iter().map(|item| convert(of_items, item)).collect()))
        }
        Value::Object(object) => {
            // Keys of a map, and of a value without a schema, are data and keep their spelling; field names are escaped.
            let is_map = node.is_none_or(|n| matches!(n.additional.as_ref(), Some(Additional::Schema(_))));
            let mut map: HashMap<Key, CelValue> = HashMap::new();
            for (key, child) in object {
                let converted = convert(node.and_then(|n| n.child(key)), child);
                let mut add = |name: String| map.insert(Key::String(Arc::new(name)), converted.clone());
                // A field whose name is a reserved word can be written both ways.
                if is_map || is_reserved(key) {
                    add(key.clone());
                }
                if !is_map {
                    add(escape(key));
                }
            }
            CelValue::Map(Map { map: Arc::new(map) })
        }
    }
}

fn text(node: Option<&Node>, s: &str) -> CelValue {
    let plain = || CelValue::String(Arc::new(s.to_owned()));
    let Some(node) = node.filter(|n| !n.int_or_string) else { return plain() };
    match node.format.as_str() {
        "date-time" => TIMESTAMP.with(|program| through(program.as_ref(), s)).unwrap_or_else(plain),
        "date" => TIMESTAMP.with(|program| through(program.as_ref(), &format!("{s}T00:00:00Z"))).unwrap_or_else(plain),
        "duration" if formats::go_duration(s) => {
            DURATION.with(|program| through(program.as_ref(), s)).unwrap_or_else(plain)
        }
        "byte" => formats::base64(s).map_or_else(plain, |bytes| CelValue::Bytes(Arc::new(bytes))),
        _ => plain(),
    }
}

fn through(program: Option<&Program>, s: &str) -> Option<CelValue> {
    CONTEXT.with(|context| {
        let mut scope = context.new_inner_scope();
        scope.add_variable_from_value("x", CelValue::String(Arc::new(s.to_owned())));
        program?.execute(&scope).ok()
    })
}
