//! Type check of CEL expressions against a schema.
//!
//! # Source
//!
//! cel-go `checker/checker.go`, with the environment of apiserver `pkg/cel/environment`.

mod aggregates;
#[cfg(test)]
mod tests;

use std::{collections::HashMap, rc::Rc};

use kube_cel::cel::common::ast::LiteralValue;

use super::{
    decl::Decl,
    faults,
    functions::{self, Overload},
    literals,
    parse::parse_as_written,
    tree::{Expr, Fault, Kind, Tree},
    types::{Substitutions, Type},
    value::{escape, is_reserved},
};

/// An expression with its types.
#[derive(Debug)]
pub(crate) struct Checked {
    pub(super) root: Expr,
    /// By the numbers of expressions; none for unchecked expressions.
    pub(super) types: Vec<Option<Type>>,
    /// The possible overloads of each call.
    pub(super) overloads: Vec<Vec<&'static str>>,
    /// Whether it compares with the earlier value.
    pub(crate) uses_old: bool,
}

impl Checked {
    /// Whether it yields a bool.
    pub(crate) fn is_bool(&self) -> bool {
        self.type_of(&self.root) == Some(&Type::Bool)
    }

    /// Whether it yields a string.
    pub(crate) fn is_string(&self) -> bool {
        self.type_of(&self.root) == Some(&Type::String)
    }

    /// The fault of a constant that prevents making a program of the expression.
    pub(crate) fn conversion_fault(&self) -> Option<String> {
        literals::conversion_fault(&self.root)
    }

    pub(super) fn type_of(&self, expr: &Expr) -> Option<&Type> {
        self.types.get(expr.id).and_then(Option::as_ref)
    }
}

/// Parses an expression over values of `decl` and checks its types.
///
/// # Errors
///
/// All faults, in a server's format.
pub(crate) fn check(source: &str, decl: &Decl, optional_old: bool) -> Result<Checked, String> {
    let parsed = parse_as_written(source).map_err(|errors| faults::print(source, faults::syntax(&errors, source)))?;
    let tree = Tree::new(&parsed, source);
    if !tree.faults.is_empty() {
        return Err(faults::print(source, faults::placed(source, tree.faults)));
    }
    let mut objects = HashMap::new();
    decl.objects(&mut objects);
    let old = if optional_old { Type::optional(decl.ty.clone()) } else { decl.ty.clone() };
    let mut checker = Checker {
        objects,
        scopes: vec![("self".to_owned(), decl.ty.clone()), ("oldSelf".to_owned(), old)],
        types: vec![None; tree.count],
        overloads: vec![Vec::new(); tree.count],
        known: Substitutions::default(),
        fresh: 0,
        uses_old: false,
        faults: Vec::new(),
    };
    let mut root = tree.root;
    checker.check(&mut root);
    let Checker { types, overloads, known, uses_old, faults, .. } = checker;
    if !faults.is_empty() {
        return Err(faults::print(source, faults::placed(source, faults)));
    }
    let types = types.into_iter().map(|ty| ty.map(|ty| known.apply(&ty, true))).collect();
    let checked = Checked { root, types, overloads, uses_old };
    let faults = literals::check(&checked);
    if faults.is_empty() {
        return Ok(checked);
    }
    Err(faults::print(source, faults::placed(source, faults)))
}

struct Checker<'d> {
    objects: HashMap<&'d str, &'d Decl>,
    /// Variables, inner ones last.
    scopes: Vec<(String, Type)>,
    types: Vec<Option<Type>>,
    overloads: Vec<Vec<&'static str>>,
    known: Substitutions,
    fresh: usize,
    uses_old: bool,
    faults: Vec<Fault>,
}

impl Checker<'_> {
    fn fault(&mut self, expr: &Expr, text: String) {
        self.faults.push((expr.at, text));
    }

    fn set(&mut self, expr: &Expr, ty: Type) {
        if let Some(place) = self.types.get_mut(expr.id) {
            *place = Some(ty);
        }
    }

    fn refer(&mut self, expr: &Expr, overloads: Vec<&'static str>) {
        if let Some(place) = self.overloads.get_mut(expr.id) {
            *place = overloads;
        }
    }

    fn type_of(&self, expr: &Expr) -> Type {
        self.types.get(expr.id).cloned().flatten().unwrap_or(Type::Error)
    }

    fn new_parameter(&mut self) -> Type {
        self.fresh += 1;
        Type::Param(format!("_var{}", self.fresh - 1).into())
    }

    fn lookup(&self, name: &str) -> Option<Type> {
        let variable = self.scopes.iter().rev().find(|(n, _)| n == name).map(|(_, ty)| ty.clone());
        variable.or_else(|| type_name(name))
    }

    fn check(&mut self, expr: &mut Expr) {
        match &mut expr.kind {
            Kind::Unspecified => self.set(expr, Type::Error),
            Kind::Literal(literal) => {
                let ty = literal_type(literal);
                self.set(expr, ty);
            }
            Kind::Ident(name) => {
                let found = self.lookup(name);
                self.uses_old |= name == "oldSelf" && !self.scopes.iter().skip(2).any(|(n, _)| n == "oldSelf");
                if found.is_none() {
                    let text = undeclared(name);
                    self.fault(expr, text);
                }
                self.set(expr, found.unwrap_or(Type::Error));
            }
            Kind::Select { .. } => self.select(expr),
            Kind::Call { .. } => self.call(expr),
            Kind::List { .. } => self.list(expr),
            Kind::Map(_) => self.map(expr),
            Kind::Struct { .. } => self.structure(expr),
            Kind::Loop(_) => self.comprehension(expr),
        }
    }

    fn select(&mut self, expr: &mut Expr) {
        if let Some(name) = qualified(expr)
            && let Some(ty) = self.lookup(&name)
        {
            expr.kind = Kind::Ident(name);
            self.set(expr, ty);
            return;
        }
        let at = expr.at;
        let Kind::Select { operand, field, test } = &mut expr.kind else { return };
        let ty = self.field(at, operand, field, false);
        let ty = if *test { Type::Bool } else { self.known.apply(&ty, false) };
        self.set(expr, ty);
    }

    /// The type of a field. It is optional for an optional operand and for an optional selection.
    fn field(&mut self, at: usize, operand: &mut Expr, field: &str, optional: bool) -> Type {
        self.check(operand);
        let operand = self.known.apply(&self.type_of(operand), false);
        let inside = operand.inside_optional().cloned();
        let target = inside.clone().unwrap_or(operand);
        let ty = match &target {
            Type::Map(entry) => entry.1.clone(),
            Type::Struct(name) => {
                let object = self.objects.get(&**name).copied();
                if let Some(found) = object.and_then(|decl| field_of(decl, field)) {
                    found.ty.clone()
                } else {
                    // Types of libraries have no fields.
                    let text = match object {
                        Some(_) => format!("undefined field '{field}'"),
                        None => format!("unexpected failed resolution of '{name}'"),
                    };
                    self.faults.push((at, text));
                    Type::Error
                }
            }
            Type::Param(_) => {
                self.known.assignable(&Type::Dyn, &target);
                Type::Dyn
            }
            other => {
                if !other.is_dyn_or_error() {
                    self.faults.push((at, format!("type '{other}' does not support field selection")));
                }
                Type::Dyn
            }
        };
        if optional || inside.is_some() { Type::optional(ty) } else { ty }
    }

    fn call(&mut self, expr: &mut Expr) {
        let at = expr.at;
        let Kind::Call { name, target, args } = &mut expr.kind else { return };
        if let ("_?._", [operand, Expr { kind: Kind::Literal(LiteralValue::String(field)), .. }]) =
            (name.as_str(), args.as_mut_slice())
        {
            let field = field.inner().to_owned();
            let ty = self.field(at, operand, &field, true);
            let ty = self.known.apply(&ty, false);
            self.set(expr, ty);
            self.refer(expr, vec!["select_optional_field"]);
            return;
        }
        for arg in args.iter_mut() {
            self.check(arg);
        }
        // The target may be the first part of a function's name.
        let full = target.as_deref().and_then(qualified).map(|prefix| format!("{prefix}.{name}"));
        if let Some(full) = full.filter(|full| functions::overloads(full).is_some()) {
            *name = full;
            *target = None;
        }
        if let Some(target) = target {
            self.check(target);
        }
        let Some(overloads) = functions::overloads(name) else {
            let text = undeclared(name);
            self.fault(expr, text);
            self.set(expr, Type::Error);
            return;
        };
        let ty = self.resolve(expr, &overloads);
        self.set(expr, ty);
    }

    /// Finds the matching overloads, and the type of the result.
    fn resolve(&mut self, expr: &Expr, overloads: &[Overload]) -> Type {
        let Kind::Call { name, target, args } = &expr.kind else { return Type::Error };
        if matches!(name.as_str(), "_&&_" | "_||_") {
            return self.logic(expr, name, args);
        }
        let mut given: Vec<Type> =
            target.iter().map(|target| &**target).chain(args).map(|arg| self.type_of(arg)).collect();
        let mut result: Option<Type> = None;
        let mut fitting = Vec::new();
        for overload in overloads.iter().filter(|overload| overload.is_member == target.is_some()) {
            let mut fresh = Substitutions::default();
            for parameter in &overload.parameters {
                let new = self.new_parameter();
                fresh.set(parameter, new);
            }
            let wanted: Vec<Type> = overload.arguments.iter().map(|ty| fresh.apply(ty, false)).collect();
            if !self.known.all_assignable(&given, &wanted) {
                continue;
            }
            fitting.push(overload.id);
            let ty = self.known.apply(&fresh.apply(&overload.result, false), false);
            result = Some(match result {
                None => ty,
                Some(before) if before != Type::Dyn && before != ty => Type::Dyn,
                Some(before) => before,
            });
        }
        if let Some(result) = result {
            self.refer(expr, fitting);
            return result;
        }
        for ty in &mut given {
            *ty = self.known.apply(ty, true);
        }
        let shown: Vec<String> = given.iter().map(ToString::to_string).collect();
        let signature = match (target, shown.split_first()) {
            (Some(_), Some((first, rest))) => format!("{first}.({})", rest.join(", ")),
            _ => format!("({})", shown.join(", ")),
        };
        self.fault(expr, format!("found no matching overload for '{name}' applied to '{signature}'"));
        Type::Error
    }

    fn logic(&mut self, expr: &Expr, name: &str, args: &[Expr]) -> Type {
        let mut ty = Type::Bool;
        for arg in args {
            let found = self.type_of(arg);
            if !self.known.assignable(&found, &Type::Bool) {
                self.fault(arg, format!("expected type 'bool' but found '{found}'"));
                ty = Type::Error;
            }
        }
        if ty == Type::Bool {
            self.refer(expr, vec![if name == "_&&_" { "logical_and" } else { "logical_or" }]);
        }
        ty
    }
}

/// A field; a field whose name is a reserved word is also found under that word.
fn field_of<'d>(decl: &'d Decl, field: &str) -> Option<&'d Decl> {
    let found = decl.fields.get(field).or_else(|| decl.fields.get(&escape(field)).filter(|_| is_reserved(field)))?;
    Some(&**found)
}

fn undeclared(name: &str) -> String {
    format!("undeclared reference to '{name}' (in container '')")
}

/// `a.b.c` as one name, if it consists only of names.
fn qualified(expr: &Expr) -> Option<String> {
    match &expr.kind {
        Kind::Ident(name) => Some(name.clone()),
        Kind::Select { operand, field, test: false } => Some(format!("{}.{field}", qualified(operand)?)),
        _ => None,
    }
}

fn literal_type(literal: &LiteralValue) -> Type {
    match literal {
        LiteralValue::Boolean(_) => Type::Bool,
        LiteralValue::Bytes(_) => Type::Bytes,
        LiteralValue::Double(_) => Type::Double,
        LiteralValue::Int(_) => Type::Int,
        LiteralValue::Null => Type::Null,
        LiteralValue::String(_) => Type::String,
        LiteralValue::UInt(_) => Type::Uint,
    }
}

/// The type that a type name denotes.
fn type_name(name: &str) -> Option<Type> {
    let ty = match name {
        "bool"
        | "bytes"
        | "double"
        | "int"
        | "string"
        | "uint"
        | "timestamp"
        | "duration"
        | "net.IP"
        | "net.CIDR"
        | "kubernetes.URL"
        | "kubernetes.Quantity"
        | "kubernetes.Semver"
        | "kubernetes.NamedFormat" => Type::parse(name),
        "google.protobuf.Timestamp" => Type::Timestamp,
        "google.protobuf.Duration" => Type::Duration,
        "null_type" => Type::Null,
        "list" => Type::list(Type::Param("A".into())),
        "map" => Type::map(Type::Param("A".into()), Type::Param("B".into())),
        "optional_type" => Type::optional(Type::Param("A".into())),
        "type" => return Some(Type::Meta(Some(Rc::new(Type::Meta(None))))),
        _ => return None,
    };
    Some(Type::Meta(Some(Rc::new(ty))))
}
