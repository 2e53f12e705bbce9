//! Rust: structs and enums of serde.

use crate::{
    model::{Enum, Field, Model, Struct, Type},
    names::{Scope, pascal, snake},
    text::{comment, quoted_rust},
};
use std::fmt::Write as _;

/// One a line.
const KEYWORDS: &str = include_str!("rust/keywords.txt");
/// Keywords that cannot be raw identifiers.
const NEVER: &[&str] = &["self", "super", "crate", "_"];

const NULLABLE: &str = "
/// Reads null as `Some(None)`: `None` is a field that is absent.
fn nullable<'de, D: serde::Deserializer<'de>, T: Deserialize<'de>>(value: D) -> Result<Option<Option<T>>, D::Error> {
    Deserialize::deserialize(value).map(Some)
}
";

const NULL_AS_EMPTY: &str = "
/// Reads null as empty: Go writes that of an empty list.
fn null_as_empty<'de, D: serde::Deserializer<'de>, T: Default + Deserialize<'de>>(value: D) -> Result<T, D::Error> {
    Option::deserialize(value).map(Option::unwrap_or_default)
}
";

pub(crate) fn write(model: &Model) -> String {
    let mut out = String::new();
    let _ = writeln!(
        out,
        "//! Types of {} {}. Made by `oarlock types`; changes are lost.\n",
        model.api_version(),
        model.kind
    );
    out.push_str(
        "#![allow(dead_code, reason = \"a plugin need not use every type\")]\n\nuse serde::{Deserialize, Serialize};\n",
    );
    if model.has_open() || model.uses(|ty| matches!(ty, Type::Map(_))) {
        out.push_str("use std::collections::BTreeMap;\n");
    }
    aliases(&mut out, model);
    for (index, one) in model.structs.iter().enumerate() {
        structure(&mut out, model, index, one);
        if index == 0 {
            constants(&mut out, model, one);
        }
    }
    for one in &model.enums {
        enumeration(&mut out, one);
    }
    if model.has_nullable_fields() {
        out.push_str(NULLABLE);
    }
    if model.has_null_for_empty() {
        out.push_str(NULL_AS_EMPTY);
    }
    out
}

fn aliases(out: &mut String, model: &Model) {
    if model.uses(|ty| *ty == Type::Time) {
        out.push_str("\n/// A time in RFC 3339, as the API server wrote it.\npub type Time = String;\n");
    }
    if model.uses(|ty| *ty == Type::Quantity) {
        out.push_str("\n/// A quantity such as `100m` or `2Gi`, in its spelling.\npub type Quantity = IntOrString;\n");
    }
    if model.uses(|ty| matches!(ty, Type::Quantity | Type::IntOrString)) {
        out.push_str(
            "\n/// An integer or a string.\n#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]\n#[serde(untagged)]\n\
             pub enum IntOrString {\n    Int(i64),\n    String(String),\n}\n",
        );
    }
}

fn constants(out: &mut String, model: &Model, root: &Struct) {
    let _ = writeln!(out, "\nimpl {} {{", root.name);
    for (name, value) in [("API_VERSION", model.api_version()), ("KIND", model.kind.clone())] {
        let _ = writeln!(out, "    /// What `{}` says.", if name == "KIND" { "kind" } else { "apiVersion" });
        let _ = writeln!(out, "    pub const {name}: &'static str = {};", quoted_rust(&value));
    }
    out.push_str("}\n");
}

fn structure(out: &mut String, model: &Model, index: usize, one: &Struct) {
    out.push('\n');
    comment(out, "", "///", &one.doc);
    let default = if has_default(model, index, &mut Vec::new()) { "Default, " } else { "" };
    let _ = writeln!(
        out,
        "#[derive(Clone, Debug, {default}PartialEq, Serialize, Deserialize)]\npub struct {} {{",
        one.name
    );
    let mut names = Scope::default();
    for field in &one.fields {
        comment(out, "    ", "///", &field.doc);
        let (name, plain) = identifier(&mut names, &field.json);
        let mut serde = Vec::new();
        if plain != field.json {
            serde.push(format!("rename = {}", quoted_rust(&field.json)));
        }
        let (ty, nullable) = field.ty.non_null();
        if !field.required {
            serde.push("default".to_owned());
            serde.push("skip_serializing_if = \"Option::is_none\"".to_owned());
        }
        if !field.required && nullable {
            serde.push("deserialize_with = \"nullable\"".to_owned());
        }
        if field.null_is_empty {
            serde.push("deserialize_with = \"null_as_empty\"".to_owned());
        }
        if !serde.is_empty() {
            let _ = writeln!(out, "    #[serde({})]", serde.join(", "));
        }
        let written = ty_name(model, ty);
        let written = match (field.required, nullable) {
            (true, false) => written,
            (false, true) => format!("Option<Option<{written}>>"),
            _ => format!("Option<{written}>"),
        };
        let _ = writeln!(out, "    pub {name}: {written},");
    }
    if one.open {
        let (name, _) = identifier(&mut names, "other");
        let _ = writeln!(out, "    /// Fields outside the schema.\n    #[serde(flatten)]");
        let _ = writeln!(out, "    pub {name}: BTreeMap<String, serde_json::Value>,");
    }
    out.push_str("}\n");
}

/// The name of a field in the source, and without the mark of a raw identifier.
fn identifier(names: &mut Scope, json: &str) -> (String, String) {
    let mut name = snake(json);
    if NEVER.contains(&name.as_str()) {
        name.push('_');
    }
    let name = names.unique(&name);
    if KEYWORDS.lines().any(|word| word == name) { (format!("r#{name}"), name) } else { (name.clone(), name) }
}

fn enumeration(out: &mut String, one: &Enum) {
    out.push('\n');
    comment(out, "", "///", &one.doc);
    let _ = writeln!(
        out,
        "#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]\npub enum {} {{",
        one.name
    );
    // `Self` is a keyword that cannot be raw.
    let mut names = Scope::with(&["Self"]);
    for value in &one.values {
        let name = names.unique(&variant(value));
        if name != *value {
            let _ = writeln!(out, "    #[serde(rename = {})]", quoted_rust(value));
        }
        let _ = writeln!(out, "    {name},");
    }
    out.push_str("}\n");
}

fn ty_name(model: &Model, ty: &Type) -> String {
    match ty {
        Type::Bool => "bool".to_owned(),
        Type::Int32 => "i32".to_owned(),
        Type::Int64 => "i64".to_owned(),
        Type::Float => "f64".to_owned(),
        Type::String | Type::Bytes | Type::Constant(_) => "String".to_owned(),
        Type::Time => "Time".to_owned(),
        Type::IntOrString => "IntOrString".to_owned(),
        Type::Quantity => "Quantity".to_owned(),
        Type::Any => "serde_json::Value".to_owned(),
        Type::List(item) => format!("Vec<{}>", ty_name(model, item)),
        Type::Map(value) => format!("BTreeMap<String, {}>", ty_name(model, value)),
        Type::Nullable(inner) => format!("Option<{}>", ty_name(model, inner)),
        Type::Struct(index) => model.struct_name(*index).to_owned(),
        Type::Recursive(index) => format!("Box<{}>", model.struct_name(*index)),
        Type::Enum(index) => model.enum_name(*index).to_owned(),
    }
}

/// Whether a struct can be made of nothing: enums and integers-or-strings that are required have no natural value.
fn has_default(model: &Model, index: usize, seen: &mut Vec<usize>) -> bool {
    if seen.contains(&index) {
        return true;
    }
    seen.push(index);
    let fits = |field: &Field, seen: &mut Vec<usize>| match &field.ty {
        _ if !field.required => true,
        Type::Enum(_) | Type::IntOrString | Type::Quantity | Type::Recursive(_) => false,
        Type::Struct(inner) => has_default(model, *inner, seen),
        _ => true,
    };
    model.structs.get(index).is_some_and(|one| one.fields.iter().all(|field| fits(field, seen)))
}

/// The name of a variant: `HTTP` is `Http`, as Rust spells acronyms.
fn variant(value: &str) -> String {
    let name = pascal(value);
    let acronym = name.len() > 2 && name.chars().all(|letter| letter.is_ascii_uppercase());
    if acronym { pascal(&name.to_ascii_lowercase()) } else { name }
}
