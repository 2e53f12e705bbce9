//! Literals for the checkers of TypeScript and Python: objects of a type, and broken ones that the checker must refuse.

use oarlock_types::{Model, Type};
use serde_json::{Value, json};
use std::fmt::Write as _;

/// A program of TypeScript: the objects as they are, and the broken ones.
pub(crate) fn typescript(name: &str, kind: &str, objects: &[Value], broken: &[Value]) -> String {
    let mut out = include_str!("../../tests/support/typed.ts.txt").replace("NAME", name).replace("KIND", kind);
    let _ = writeln!(out, "\nexport const objects: {kind}[] = [");
    for one in objects {
        let _ = writeln!(out, "{one},");
    }
    let _ = writeln!(out, "];\n\nexport const broken: {kind}[] = [");
    for one in broken {
        let _ = writeln!(out, "// @ts-expect-error\n{one},");
    }
    out.push_str("];\n");
    out
}

/// As [`typescript`], with the fields that the type declares: a TypedDict cannot say that it has more.
pub(crate) fn python(model: &Model, name: &str, kind: &str, objects: &[Value], broken: &[Value]) -> String {
    let mut out = include_str!("../../tests/support/typed.py.txt").replace("NAME", name).replace("KIND", kind);
    let root = Type::Struct(0);
    for (list, all, end) in [("objects", objects, ",\n"), ("broken", broken, ",  # type: ignore\n")] {
        let _ = writeln!(out, "\n{list}: list[{kind}] = [");
        for one in all {
            literal(&mut out, &declared(model, &root, one));
            out.push_str(end);
        }
        out.push_str("]\n");
    }
    out
}

/// JSON as a literal of Python, in one line.
fn literal(out: &mut String, value: &Value) {
    match value {
        Value::Null => out.push_str("None"),
        Value::Bool(truth) => out.push_str(if *truth { "True" } else { "False" }),
        Value::Array(items) => {
            out.push('[');
            for item in items {
                literal(out, item);
                out.push_str(", ");
            }
            out.push(']');
        }
        Value::Object(members) => {
            out.push('{');
            for (name, member) in members {
                let _ = write!(out, "{}: ", Value::from(name.as_str()));
                literal(out, member);
                out.push_str(", ");
            }
            out.push('}');
        }
        other => out.push_str(&other.to_string()),
    }
}

/// The value without the fields outside the schema.
fn declared(model: &Model, ty: &Type, value: &Value) -> Value {
    match (ty, value) {
        (Type::Nullable(inner), _) => declared(model, inner, value),
        (Type::List(item), Value::Array(items)) => items.iter().map(|one| declared(model, item, one)).collect(),
        (Type::Map(item), Value::Object(members)) => {
            members.iter().map(|(name, one)| (name.clone(), declared(model, item, one))).collect()
        }
        (Type::Struct(index) | Type::Recursive(index), Value::Object(members)) => {
            let fields = model.structs[*index].fields.iter();
            let known = |field: &oarlock_types::Field| {
                Some((field.json.clone(), declared(model, &field.ty, members.get(&field.json)?)))
            };
            fields.filter_map(known).collect()
        }
        _ => value.clone(),
    }
}

/// The object with a fault at a random place: without a required field, or with a value of another type.
pub(crate) fn broken(random: &mut fastrand::Rng, model: &Model, object: &Value, without: bool) -> Value {
    let mut places = Places { model, required: Vec::new(), values: Vec::new() };
    places.find(&Type::Struct(0), object, "");
    let mut made = object.clone();
    if without {
        let (parent, name) = random.choice(places.required).unwrap();
        made.pointer_mut(&parent).unwrap().as_object_mut().unwrap().remove(&name);
    } else {
        let (at, wrong) = random.choice(places.values).unwrap();
        *made.pointer_mut(&at).unwrap() = wrong;
    }
    made
}

/// Where an object can have a fault.
struct Places<'m> {
    model: &'m Model,
    /// JSON pointers of objects, and a field that each requires.
    required: Vec<(String, String)>,
    /// JSON pointers of values, and a value that the type refuses.
    values: Vec<(String, Value)>,
}

impl Places<'_> {
    fn find(&mut self, ty: &Type, value: &Value, at: &str) {
        let below = |name: &str| format!("{at}/{}", name.replace('~', "~0").replace('/', "~1"));
        match ty {
            Type::Any => {}
            Type::Nullable(_) if value.is_null() => {}
            Type::Nullable(inner) => self.find(inner, value, at),
            Type::List(item) => {
                self.values.push((at.to_owned(), json!("a")));
                for (number, one) in value.as_array().unwrap().iter().enumerate() {
                    self.find(item, one, &format!("{at}/{number}"));
                }
            }
            Type::Map(item) => {
                for (name, one) in value.as_object().unwrap() {
                    self.find(item, one, &below(name));
                }
            }
            Type::Struct(index) | Type::Recursive(index) => {
                let model = self.model;
                for field in &model.structs[*index].fields {
                    let Some(one) = value.get(&field.json) else { continue };
                    if field.required {
                        self.required.push((at.to_owned(), field.json.clone()));
                    }
                    self.find(&field.ty, one, &below(&field.json));
                }
            }
            Type::Bool | Type::Int32 | Type::Int64 | Type::Float => self.values.push((at.to_owned(), json!("1"))),
            Type::String | Type::Time | Type::Bytes => self.values.push((at.to_owned(), json!(1))),
            Type::Constant(_) | Type::Enum(_) => self.values.push((at.to_owned(), json!("none of them"))),
            Type::IntOrString | Type::Quantity => self.values.push((at.to_owned(), json!([]))),
        }
    }
}
