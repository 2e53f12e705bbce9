//! Validation of a document against its schema, with the API server's messages.

use std::collections::BTreeSet;
use std::fmt;

use serde_json::Value;

use super::element_of;
use crate::fields::{Path, PathElement};
use crate::go;
use crate::schema::{Atom, ListKind, Scalar, TypeRef};

/// A fault and its path.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Problem {
    path: Path,
    message: String,
}

impl fmt::Display for Problem {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if self.path.0.is_empty() { f.write_str(&self.message) } else { write!(f, "{}: {}", self.path, self.message) }
    }
}

/// Checks types, declared fields and keys of a document before its apply.
pub(crate) fn validate(value: &Value, ty: TypeRef<'_>) -> Vec<Problem> {
    let mut walker = Walker { path: Vec::new(), problems: Vec::new() };
    walker.visit(value, ty);
    walker.problems
}

struct Walker {
    path: Vec<PathElement>,
    problems: Vec<Problem>,
}

impl Walker {
    fn report(&mut self, message: String) {
        self.problems.push(Problem { path: Path(self.path.clone()), message });
    }

    fn below(&mut self, element: PathElement, visit: impl FnOnce(&mut Self)) {
        self.path.push(element);
        visit(self);
        self.path.pop();
    }

    fn visit(&mut self, value: &Value, ty: TypeRef<'_>) {
        if value.is_null() {
            return;
        }
        match (ty.atom(Some(value)), value) {
            (Atom::Scalar(scalar), value) => self.scalar(scalar, value),
            (Atom::Map { fields, rest, owner, .. }, Value::Object(map)) => {
                for (name, child) in map {
                    let declared = fields.is_some_and(|fields| fields.contains_key(name)) || rest.is_some();
                    self.below(PathElement::field(name), |walker| {
                        if declared {
                            walker.visit(child, owner.field(name));
                        } else {
                            walker.report("field not declared in schema".to_owned());
                        }
                    });
                    // The API server does not check the other members then.
                    if !declared {
                        break;
                    }
                }
            }
            (Atom::List { kind, element }, Value::Array(items)) => self.list(kind, element, items),
            (Atom::Map { .. }, value) => self.report(format!("expected map, got {}", pointer(value))),
            (Atom::List { .. }, value) => self.report(format!("expected list, got {}", pointer(value))),
        }
    }

    fn list(&mut self, kind: &ListKind, element: TypeRef<'_>, items: &[Value]) {
        let mut seen = BTreeSet::new();
        for (position, item) in items.iter().enumerate() {
            let name = if *kind == ListKind::Atomic {
                PathElement::Index(i64::try_from(position).unwrap_or(i64::MAX))
            } else {
                match element_of(kind, item) {
                    Ok(name) => name,
                    Err(message) => {
                        self.report(format!("element {position}: {message}"));
                        return;
                    }
                }
            };
            if !seen.insert(name.clone()) {
                self.report(format!("duplicate entries for key {name}"));
            }
            self.below(name, |walker| walker.visit(item, element));
        }
    }

    fn scalar(&mut self, scalar: Scalar, value: &Value) {
        let message = match (scalar, value) {
            (Scalar::String, Value::String(_))
            | (Scalar::Number, Value::Number(_))
            | (Scalar::Bool, Value::Bool(_)) => return,
            (Scalar::Any, Value::String(_) | Value::Number(_) | Value::Bool(_)) => return,
            (Scalar::String, value) => {
                format!("expected string, got &value.valueUnstructured{{Value:{}}}", go::print_syntax(value))
            }
            (Scalar::Number, value) => format!("expected numeric (int or float), got {}", go_type(value)),
            (Scalar::Bool, value) => format!("expected boolean, got {}", pointer(value)),
            (Scalar::Any, value) => format!("expected any scalar, got {}", pointer(value)),
        };
        self.report(message);
    }
}

/// A Go pointer to a struct with one field, printed with `%v`.
fn pointer(value: &Value) -> String {
    format!("&{{{}}}", go::print(value))
}

fn go_type(value: &Value) -> &'static str {
    match value {
        Value::Null => "<nil>",
        Value::Bool(_) => "bool",
        Value::Number(n) if n.is_f64() => "float64",
        Value::Number(_) => "int64",
        Value::String(_) => "string",
        Value::Array(_) => "[]interface {}",
        Value::Object(_) => "map[string]interface {}",
    }
}
