//! Functions of C: each type has one that reads it from JSON, and one that makes JSON of it.

use crate::{
    c::{
        has_no_null, is_pointed_to,
        names::{Container, FieldName, Fields, Names},
    },
    model::{Field, Model, Type},
    text::quoted_bytes,
};
use std::fmt::Write as _;

pub(crate) fn write(out: &mut String, model: &Model, names: &Names) {
    declarations(out, names);
    for (index, name) in names.enums.iter().enumerate() {
        let values = model.enums.get(index).map(|one| one.values.as_slice()).unwrap_or_default();
        enumeration(out, &names.prefix, name, values);
    }
    for one in &names.containers {
        read_container(out, names, one);
        write_container(out, names, one);
    }
    for ((one, fields), name) in model.structs.iter().zip(&names.fields).zip(&names.structs) {
        read_struct(out, names, name, &one.fields, fields);
        write_struct(out, names, name, &one.fields, fields);
    }
    ends(out, names);
}

fn reads(names: &Names, name: &str) -> String {
    format!("static inline bool {name}_read({}_reader *in, const json *value, {name} *out)", names.prefix)
}

fn writes(name: &str) -> String {
    format!("static inline const json *{name}_to_json(oarlock_mem *mem, const {name} *in)")
}

fn declarations(out: &mut String, names: &Names) {
    out.push('\n');
    for name in names.structs.iter().chain(names.containers.iter().map(|one| &one.name)) {
        let _ = writeln!(out, "{};\n{};", reads(names, name), writes(name));
    }
}

/// Reading and writing of the object itself.
fn ends(out: &mut String, names: &Names) {
    let (prefix, Some(name)) = (&names.prefix, names.structs.first()) else { return };
    let _ = write!(
        out,
        "\n/* Reads an object. NULL when it does not fit the schema; then `*problem` (which may be NULL) says why and where.\n\
         \x20* Strings and values are those of `object`, which must live as long; the rest is in `mem`. */\n\
         static inline {name} *{name}_parse(oarlock_mem *mem, const json *object, const char **problem) {{\n    \
         {prefix}_reader in = {{mem, NULL}};\n    {name} *out = oarlock_alloc(mem, sizeof *out);\n    \
         if ({name}_read(&in, object, out)) return out;\n    if (problem) *problem = in.problem + strspn(in.problem, \".: \");\n    return NULL;\n}}\n\n\
         /* The object as JSON. It is in `mem`, with copies of the strings; values of `in` become part of it. */\n\
         static inline const json *{name}_write(oarlock_mem *mem, const {name} *in) {{\n    return {name}_to_json(mem, in);\n}}\n"
    );
}

fn enumeration(out: &mut String, prefix: &str, name: &str, values: &[String]) {
    let texts: Vec<String> = values.iter().map(|value| quoted_bytes(value)).collect();
    let _ = write!(
        out,
        "\n/* The text of a value; NULL of 0. */\nstatic inline const char *{name}_text({name} value) {{\n    \
         static const char *const texts[] = {{NULL, {}}};\n    \
         return (size_t)value < sizeof texts / sizeof *texts ? texts[value] : NULL;\n}}\n\n\
         static inline bool {name}_read({prefix}_reader *in, const json *value, {name} *out) {{\n    \
         for (int i = 1; i <= {}; i++) {{\n        *out = ({name})i;\n        \
         if (json_is(value, {name}_text(*out))) return true;\n    }}\n    \
         return {prefix}_wrong(in, \"a value that the schema has\");\n}}\n",
        texts.join(", "),
        values.len()
    );
}

/// The call that reads `value` into a place.
fn read_call(names: &Names, ty: &Type, place: &str) -> String {
    let prefix = &names.prefix;
    match ty {
        Type::Bool => format!("{prefix}_bool_read(in, value, {place})"),
        Type::Int32 => format!("{prefix}_int32_read(in, value, {place})"),
        Type::Int64 => format!("{prefix}_int64_read(in, value, {place})"),
        Type::Float => format!("{prefix}_double_read(in, value, {place})"),
        Type::IntOrString | Type::Quantity => format!("{prefix}_int_or_string_read(in, value, {place})"),
        Type::String | Type::Bytes | Type::Time | Type::Constant(_) => {
            format!("{prefix}_string_read(in, value, {place})")
        }
        Type::Any | Type::Nullable(_) => format!("(*{place} = value, true)").replace("*&", ""),
        Type::List(_) | Type::Map(_) => format!("{}_read(in, value, {place})", names.container(ty)),
        Type::Struct(index) | Type::Recursive(index) => {
            format!("{}_read(in, value, {place})", names.structs.get(*index).map_or("", |name| name))
        }
        Type::Enum(index) => format!("{}_read(in, value, {place})", names.enums.get(*index).map_or("", |name| name)),
    }
}

/// The JSON of what a pointer points to.
fn write_call(names: &Names, ty: &Type, pointer: &str) -> String {
    let own = format!("*{pointer}").replace("*&", "");
    match ty {
        Type::Bool => format!("json_new_bool(mem, {own})"),
        Type::Int32 | Type::Int64 => format!("json_new_int(mem, {own})"),
        Type::Float => format!("json_new_double(mem, {own})"),
        Type::IntOrString | Type::Quantity => format!("{}_int_or_string_write(mem, {pointer})", names.prefix),
        Type::String | Type::Bytes | Type::Time | Type::Constant(_) => format!("json_new_text(mem, {own})"),
        Type::Any | Type::Nullable(_) => own,
        Type::List(_) | Type::Map(_) => format!("{}_to_json(mem, {pointer})", names.container(ty)),
        Type::Struct(index) | Type::Recursive(index) => {
            format!("{}_to_json(mem, {pointer})", names.structs.get(*index).map_or("", |name| name))
        }
        Type::Enum(index) => {
            format!("json_new_text(mem, {}_text({own}))", names.enums.get(*index).map_or("", |name| name))
        }
    }
}

fn read_container(out: &mut String, names: &Names, one: &Container) {
    let (prefix, is_map) = (&names.prefix, matches!(one.ty, Type::Map(_)));
    let (ty, nullable) = one.item().non_null();
    let place = if is_map { "out->items[i].value" } else { "out->items[i]" };
    let (kind, expected) = if is_map { ("OBJECT", "an object") } else { ("ARRAY", "a list") };
    let _ = write!(
        out,
        "\n{} {{\n    if (!{prefix}_is(in, value, JSON_{kind}, \"{expected}\")) return false;\n    \
         const json *all = value;\n    out->count = json_count(all);\n    \
         out->items = oarlock_alloc(in->mem, (out->count + 1) * sizeof *out->items);\n    \
         for (size_t i = 0; i < out->count; i++) {{\n        value = json_at(all, i);\n",
        reads(names, &one.name)
    );
    if is_map {
        out.push_str("        out->items[i].key = json_name(all, i);\n");
    }
    if nullable {
        let _ = writeln!(out, "        if ({prefix}_is_null(value)) continue;");
    }
    let wrong =
        if is_map { format!("{prefix}_in_field(in, out->items[i].key)") } else { format!("{prefix}_in_list(in, i)") };
    let call = if nullable && has_no_null(ty) {
        let _ = writeln!(out, "        {place} = oarlock_alloc(in->mem, sizeof *{place});");
        read_call(names, ty, place)
    } else {
        read_call(names, ty, &format!("&{place}"))
    };
    let _ = write!(out, "        if (!{call}) return {wrong};\n    }}\n    return true;\n}}\n");
}

fn write_container(out: &mut String, names: &Names, one: &Container) {
    let is_map = matches!(one.ty, Type::Map(_));
    let (ty, nullable) = one.item().non_null();
    let place = if is_map { "in->items[i].value" } else { "in->items[i]" };
    let value = if nullable && has_no_null(ty) {
        format!("{place} ? {} : NULL", write_call(names, ty, place))
    } else if nullable && matches!(ty, Type::List(_) | Type::Map(_)) {
        format!("{place}.items ? {} : NULL", write_call(names, ty, &format!("&{place}")))
    } else {
        write_call(names, ty, &format!("&{place}"))
    };
    let new = if is_map { "object" } else { "array" };
    let _ = write!(
        out,
        "\n{} {{\n    json *out = json_new_{new}(mem);\n    for (size_t i = 0; i < in->count; i++) {{\n        const json *value = {value};\n",
        writes(&one.name)
    );
    out.push_str(if is_map {
        "        json_set(out, in->items[i].key, value ? value : json_new_null(mem));\n"
    } else {
        "        json_append(out, value);\n"
    });
    out.push_str("    }\n    return out;\n}\n");
}

fn read_struct(out: &mut String, names: &Names, name: &str, fields: &[Field], c: &Fields) {
    let prefix = &names.prefix;
    let _ = write!(
        out,
        "\n{} {{\n    if (!{prefix}_is(in, value, JSON_OBJECT, \"an object\")) return false;\n",
        reads(names, name)
    );
    if !fields.is_empty() || c.other.is_some() {
        out.push_str("    const json *object = value;\n");
    }
    out.push_str("    memset(out, 0, sizeof *out);\n");
    for (field, FieldName { name, null }) in fields.iter().zip(&c.fields) {
        let json = quoted_bytes(&field.json);
        let (ty, nullable) = field.ty.non_null();
        let _ = writeln!(out, "    value = json_get(object, {json});");
        if let Some(null) = null {
            let _ = writeln!(out, "    out->{null} = {prefix}_is_null(value);");
        }
        let condition = match (field.required, nullable || field.null_is_empty) {
            // Null is a value of such a field.
            _ if *ty == Type::Any => "value && ".to_owned(),
            (true, false) => String::new(),
            (true, true) => format!("!{prefix}_is_null(value) && "),
            (false, _) => format!("{prefix}_has(value) && "),
        };
        let call = if is_pointed_to(field) {
            format!(
                "(out->{name} = oarlock_alloc(in->mem, sizeof *out->{name}), {})",
                read_call(names, ty, &format!("out->{name}"))
            )
        } else if *ty == Type::Any {
            let _ = writeln!(out, "    out->{name} = value;");
            if field.required {
                let _ = writeln!(
                    out,
                    "    if (!value && !{prefix}_wrong(in, \"there\")) return {prefix}_in_field(in, {json});"
                );
            }
            continue;
        } else {
            read_call(names, ty, &format!("&out->{name}"))
        };
        let _ = writeln!(out, "    if ({condition}!{call}) return {prefix}_in_field(in, {json});");
    }
    if let Some(other) = &c.other {
        let _ = writeln!(out, "    json *rest = json_copy(in->mem, object);");
        for field in fields {
            let _ = writeln!(out, "    json_set(rest, {}, NULL);", quoted_bytes(&field.json));
        }
        let _ = writeln!(out, "    if (json_count(rest)) out->{other} = rest;");
    }
    out.push_str("    return true;\n}\n");
}

fn write_struct(out: &mut String, names: &Names, name: &str, fields: &[Field], c: &Fields) {
    let other = c.other.as_ref();
    let _ = writeln!(out, "\n{} {{", writes(name));
    let _ = match other {
        Some(other) => {
            writeln!(out, "    json *out = in->{other} ? json_copy(mem, in->{other}) : json_new_object(mem);")
        }
        None => writeln!(out, "    json *out = json_new_object(mem);"),
    };
    if fields.is_empty() && other.is_none() {
        out.push_str("    (void)in;\n");
    }
    for (field, FieldName { name, null }) in fields.iter().zip(&c.fields) {
        let json = quoted_bytes(&field.json);
        let (ty, nullable) = field.ty.non_null();
        let pointed = is_pointed_to(field);
        let pointer = if pointed { format!("in->{name}") } else { format!("&in->{name}") };
        let mut value = write_call(names, ty, &pointer);
        if let Type::Constant(constant) = ty {
            value = format!("json_new_text(mem, in->{name} ? in->{name} : {})", quoted_bytes(constant));
        }
        let is_container = matches!(ty, Type::List(_) | Type::Map(_));
        let present = if is_container { format!("in->{name}.items") } else { format!("in->{name}") };
        // A required list may be empty in C without items; everything else that is missing becomes null, which the API server reports.
        let _ = match (field.required, null) {
            (true, _) if nullable && is_container || pointed || *ty == Type::Any => {
                writeln!(out, "    json_set(out, {json}, {present} ? {value} : json_new_null(mem));")
            }
            (true, _) => writeln!(out, "    json_set(out, {json}, {value});"),
            (false, Some(null)) => {
                writeln!(
                    out,
                    "    if ({present} || in->{null}) json_set(out, {json}, {present} ? {value} : json_new_null(mem));"
                )
            }
            (false, None) => writeln!(out, "    if ({present}) json_set(out, {json}, {value});"),
        };
    }
    out.push_str("    return out;\n}\n");
}
