//! TypeScript: interfaces and unions of literals.

use crate::{
    model::{Model, Struct, Type},
    names::is_identifier,
    text::{block_comment, quoted},
};
use std::fmt::Write as _;

pub(crate) fn write(model: &Model) -> String {
    let mut out = String::new();
    let _ =
        writeln!(out, "// Types of {} {}. Made by `oarlock types`; changes are lost.", model.api_version(), model.kind);
    for (holds, text) in [
        (model.uses(|ty| *ty == Type::Time), "/** A time in RFC 3339. */\nexport type Time = string;"),
        (
            model.uses(|ty| *ty == Type::IntOrString),
            "/** An integer or a string. */\nexport type IntOrString = number | string;",
        ),
        (
            model.uses(|ty| *ty == Type::Quantity),
            "/** A quantity such as 100m or 2Gi. */\nexport type Quantity = number | string;",
        ),
    ] {
        if holds {
            let _ = writeln!(out, "\n{text}");
        }
    }
    for one in &model.structs {
        interface(&mut out, model, one);
    }
    for one in &model.enums {
        out.push('\n');
        block_comment(&mut out, "", "/**", &one.doc);
        let values: Vec<String> = one.values.iter().map(|value| quoted(value)).collect();
        let _ = writeln!(out, "export type {} = {};", one.name, values.join(" | "));
    }
    out
}

fn interface(out: &mut String, model: &Model, one: &Struct) {
    out.push('\n');
    block_comment(out, "", "/**", &one.doc);
    let _ = writeln!(out, "export interface {} {{", one.name);
    for field in &one.fields {
        block_comment(out, "  ", "/**", &field.doc);
        // Any word may name a property; `__proto__` in quotes would set the prototype of a literal, but not here.
        let name = if is_identifier(&field.json) { field.json.clone() } else { quoted(&field.json) };
        let mark = if field.required { "" } else { "?" };
        let _ = writeln!(out, "  {name}{mark}: {};", ty_name(model, &field.ty));
    }
    if one.open {
        out.push_str("  /** Fields outside the schema. */\n  [field: string]: unknown;\n");
    }
    out.push_str("}\n");
}

fn ty_name(model: &Model, ty: &Type) -> String {
    match ty {
        Type::Bool => "boolean".to_owned(),
        Type::Int32 | Type::Int64 | Type::Float => "number".to_owned(),
        Type::String | Type::Bytes => "string".to_owned(),
        Type::Constant(value) => quoted(value),
        Type::Time => "Time".to_owned(),
        Type::IntOrString => "IntOrString".to_owned(),
        Type::Quantity => "Quantity".to_owned(),
        Type::Any => "unknown".to_owned(),
        Type::List(item) => match item.as_ref() {
            Type::Nullable(_) => format!("({})[]", ty_name(model, item)),
            _ => format!("{}[]", ty_name(model, item)),
        },
        Type::Map(value) => format!("Record<string, {}>", ty_name(model, value)),
        Type::Nullable(inner) => format!("{} | null", ty_name(model, inner)),
        Type::Struct(index) | Type::Recursive(index) => model.struct_name(*index).to_owned(),
        Type::Enum(index) => model.enum_name(*index).to_owned(),
    }
}
