//! C: one header with structs, and functions between them and the JSON values of the SDK.

mod functions;
mod names;

pub use names::c_prefix;

use crate::{
    c::names::{Container, Names},
    model::{Field, Model, Type},
    text::{block_comment, quoted_bytes},
};
use std::fmt::Write as _;

/// The functions that every header needs; `PREFIX` is its prefix.
const READ: &str = include_str!("c/read.txt");
const INT_OR_STRING: &str = include_str!("c/int_or_string.txt");

pub(crate) fn write(model: &Model) -> String {
    let names = Names::of(model);
    let prefix = &names.prefix;
    let upper = prefix.to_ascii_uppercase();
    let mut out = String::new();
    let _ = write!(
        out,
        "/* Types of {api} {kind}. Made by `oarlock types`; changes are lost.\n *\n\
         \x20* A pointer that is NULL, and an enum that is 0, is absent. A field with NAME_is_null may also be null.\n\
         \x20* {prefix}_parse reads an object, and {prefix}_write makes one. */\n\
         #ifndef {upper}_H\n#define {upper}_H\n\n#include <oarlock/json.h>\n#include <string.h>\n\n\
         #define {upper}_API_VERSION {}\n#define {upper}_KIND {}\n\n",
        quoted_bytes(&model.api_version()),
        quoted_bytes(&model.kind),
        api = model.api_version(),
        kind = model.kind,
    );
    for name in &names.structs {
        let _ = writeln!(out, "typedef struct {name} {name};");
    }
    for one in &names.containers {
        let _ = writeln!(out, "typedef struct {0} {0};", one.name);
        if matches!(one.ty, Type::Map(_)) {
            let _ = writeln!(out, "typedef struct {0}_entry {0}_entry;", one.name);
        }
    }
    if model.uses(|ty| matches!(ty, Type::IntOrString | Type::Quantity)) {
        let _ = writeln!(
            out,
            "\n/* An integer, or a string where `text` is not NULL. */\n\
             typedef struct {{\n    int64_t number;\n    const char *text;\n}} {prefix}_int_or_string;"
        );
    }
    enums(&mut out, model, &names);
    for one in &names.containers {
        container(&mut out, &names, one);
    }
    for index in 0..model.structs.len() {
        structure(&mut out, model, &names, index);
    }
    for one in &names.containers {
        entry(&mut out, &names, one);
    }
    out.push_str(&READ.replace("PREFIX", prefix));
    if model.uses(|ty| matches!(ty, Type::IntOrString | Type::Quantity)) {
        out.push_str(&INT_OR_STRING.replace("PREFIX", prefix));
    }
    functions::write(&mut out, model, &names);
    let _ = writeln!(out, "\n#endif");
    out
}

fn enums(out: &mut String, model: &Model, names: &Names) {
    for ((one, name), constants) in model.enums.iter().zip(&names.enums).zip(&names.constants) {
        out.push('\n');
        block_comment(out, "", "/*", &one.doc);
        out.push_str("typedef enum {\n");
        for (number, constant) in constants.iter().enumerate() {
            let value = number.checked_sub(1).and_then(|number| one.values.get(number));
            match value {
                None => out.push_str(&format!("    {constant} = 0,\n")),
                // A comment is cut where the value would end it.
                Some(value) => {
                    let shown = crate::text::lines(value).into_iter().next().unwrap_or_default();
                    let _ = writeln!(out, "    {constant}, /* {} */", quoted_bytes(&shown).replace('\\', "/"));
                }
            }
        }
        let _ = writeln!(out, "}} {name};");
    }
}

fn container(out: &mut String, names: &Names, one: &Container) {
    let name = &one.name;
    let items = match one.ty {
        Type::Map(_) => format!("{name}_entry *"),
        _ => declared(&item(names, one.item()), "*"),
    };
    let _ =
        write!(out, "\n/* `items` of NULL: absent. */\nstruct {name} {{\n    {items}items;\n    size_t count;\n}};\n");
}

/// A member of a map. It has its value, so that it stands after all structs.
fn entry(out: &mut String, names: &Names, one: &Container) {
    if let Type::Map(value) = &one.ty {
        let value = declared(&item(names, value), "");
        let _ = write!(out, "\nstruct {}_entry {{\n    const char *key;\n    {value}value;\n}};\n", one.name);
    }
}

fn structure(out: &mut String, model: &Model, names: &Names, index: usize) {
    let (Some(one), Some(name), Some(fields)) =
        (model.structs.get(index), names.structs.get(index), names.fields.get(index))
    else {
        return;
    };
    out.push('\n');
    block_comment(out, "", "/*", &one.doc);
    let _ = writeln!(out, "struct {name} {{");
    for (field, c) in one.fields.iter().zip(&fields.fields) {
        block_comment(out, "    ", "/*", &field.doc);
        let _ = writeln!(out, "    {}{};", declared(&field_type(names, field), ""), c.name);
        if let Some(null) = &c.null {
            let _ = writeln!(out, "    bool {null};");
        }
    }
    if let Some(other) = &fields.other {
        let _ =
            writeln!(out, "    /* An object with the fields outside the schema, or NULL. */\n    const json *{other};");
    }
    if one.fields.is_empty() && fields.other.is_none() {
        out.push_str("    char empty;\n");
    }
    out.push_str("};\n");
}

/// The type before a name: `const char *`, `int32_t `.
fn declared(ty: &str, star: &str) -> String {
    match (ty.ends_with('*'), star) {
        (true, star) => format!("{ty}{star}"),
        (false, star) => format!("{ty} {star}"),
    }
}

/// Whether a field has a pointer to its value: no other value means absent.
fn is_pointed_to(field: &Field) -> bool {
    let (ty, nullable) = field.ty.non_null();
    match ty {
        Type::Struct(_) | Type::Recursive(_) => true,
        Type::Bool | Type::Int32 | Type::Int64 | Type::Float | Type::IntOrString | Type::Quantity => {
            nullable || !field.required
        }
        _ => false,
    }
}

fn field_type(names: &Names, field: &Field) -> String {
    let ty = value(names, field.ty.non_null().0);
    if is_pointed_to(field) { format!("{ty} *") } else { ty }
}

/// The type of an item of a list or of a value of a map.
fn item(names: &Names, ty: &Type) -> String {
    let (inner, nullable) = ty.non_null();
    let written = value(names, inner);
    if nullable && has_no_null(inner) { format!("{written} *") } else { written }
}

/// Whether no value of the type in C means null.
fn has_no_null(ty: &Type) -> bool {
    matches!(
        ty,
        Type::Bool
            | Type::Int32
            | Type::Int64
            | Type::Float
            | Type::IntOrString
            | Type::Quantity
            | Type::Struct(_)
            | Type::Recursive(_)
    )
}

fn value(names: &Names, ty: &Type) -> String {
    match ty {
        Type::Bool => "bool".to_owned(),
        Type::Int32 => "int32_t".to_owned(),
        Type::Int64 => "int64_t".to_owned(),
        Type::Float => "double".to_owned(),
        Type::String | Type::Bytes | Type::Time | Type::Constant(_) => "const char *".to_owned(),
        Type::IntOrString | Type::Quantity => format!("{}_int_or_string", names.prefix),
        Type::Any => "const json *".to_owned(),
        Type::List(_) | Type::Map(_) | Type::Nullable(_) => names.container(ty).to_owned(),
        Type::Struct(index) | Type::Recursive(index) => names.structs.get(*index).cloned().unwrap_or_default(),
        Type::Enum(index) => names.enums.get(*index).cloned().unwrap_or_default(),
    }
}
