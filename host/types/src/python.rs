//! Python: typed dictionaries, as the SDK hands objects over.

use crate::{
    model::{Model, Struct, Type},
    names::is_identifier,
    text::{comment, quoted_wide},
};
use std::fmt::Write as _;

const KEYWORDS: &[&str] = &[
    "False", "None", "True", "and", "as", "assert", "async", "await", "break", "class", "continue", "def", "del",
    "elif", "else", "except", "finally", "for", "from", "global", "if", "import", "in", "is", "lambda", "nonlocal",
    "not", "or", "pass", "raise", "return", "try", "while", "with", "yield",
];

pub(crate) fn write(model: &Model) -> String {
    let mut out = String::new();
    let _ =
        writeln!(out, "# Types of {} {}. Made by `oarlock types`; changes are lost.", model.api_version(), model.kind);
    out.push_str("from __future__ import annotations\n\nfrom typing import Any, Literal, NotRequired, TypedDict\n");
    for (holds, text) in [
        (model.uses(|ty| *ty == Type::Time), "# A time in RFC 3339.\nTime = str"),
        (model.uses(|ty| *ty == Type::IntOrString), "# An integer or a string.\nIntOrString = int | str"),
        (model.uses(|ty| *ty == Type::Quantity), "# A quantity such as 100m or 2Gi.\nQuantity = int | float | str"),
    ] {
        if holds {
            let _ = writeln!(out, "\n{text}");
        }
    }
    for one in &model.enums {
        out.push('\n');
        comment(&mut out, "", "#", &one.doc);
        let values: Vec<String> = one.values.iter().map(|value| quoted_wide(value)).collect();
        let _ = writeln!(out, "{} = Literal[{}]", one.name, values.join(", "));
    }
    for one in &model.structs {
        dictionary(&mut out, model, one);
    }
    out
}

fn dictionary(out: &mut String, model: &Model, one: &Struct) {
    out.push_str("\n\n");
    comment(out, "", "#", &one.doc);
    if one.open {
        out.push_str("# Objects may have more fields.\n");
    }
    // A name with two lines before it would be mangled in a class.
    let is_name = |name: &str| is_identifier(name) && !KEYWORDS.contains(&name) && !name.starts_with("__");
    let in_class = one.fields.iter().all(|field| is_name(&field.json));
    let _ = if in_class {
        writeln!(out, "class {}(TypedDict):", one.name)
    } else {
        writeln!(out, "{0} = TypedDict(\"{0}\", {{", one.name)
    };
    for field in &one.fields {
        comment(out, "    ", "#", &field.doc);
        let ty = ty_name(model, &field.ty);
        let ty = if field.required { ty } else { format!("NotRequired[{ty}]") };
        let _ = if in_class {
            writeln!(out, "    {}: {ty}", field.json)
        } else {
            // Evaluated when the module is loaded, when later classes are not known yet.
            writeln!(out, "    {}: {},", quoted_wide(&field.json), quoted_wide(&ty).replace("\\\"", "'"))
        };
    }
    out.push_str(if !in_class {
        "})\n"
    } else if one.fields.is_empty() {
        "    pass\n"
    } else {
        ""
    });
}

fn ty_name(model: &Model, ty: &Type) -> String {
    match ty {
        Type::Bool => "bool".to_owned(),
        Type::Int32 | Type::Int64 => "int".to_owned(),
        Type::Float => "float".to_owned(),
        Type::String | Type::Bytes => "str".to_owned(),
        Type::Constant(value) => format!("Literal[{}]", quoted_wide(value)),
        Type::Time => "Time".to_owned(),
        Type::IntOrString => "IntOrString".to_owned(),
        Type::Quantity => "Quantity".to_owned(),
        Type::Any => "Any".to_owned(),
        Type::List(item) => format!("list[{}]", ty_name(model, item)),
        Type::Map(value) => format!("dict[str, {}]", ty_name(model, value)),
        Type::Nullable(inner) => format!("{} | None", ty_name(model, inner)),
        Type::Struct(index) | Type::Recursive(index) => model.struct_name(*index).to_owned(),
        Type::Enum(index) => model.enum_name(*index).to_owned(),
    }
}
