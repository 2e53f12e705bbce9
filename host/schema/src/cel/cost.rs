//! Cost estimate of CEL expressions: the most that an expression can cost, by a server's rules.
//!
//! The estimate decides which rules a CustomResourceDefinition may have, so it equals the server's to the unit. That includes the
//! server's treatment of paths: where a server looks up the size of the wrong field, so does this module.
//!
//! # Source
//!
//! cel-go `checker/cost.go`; apiextensions-apiserver `pkg/apiserver/schema/cel/compilation.go`, `sizeEstimator`.

mod calls;
mod library;
mod path;
mod range;
#[cfg(test)]
mod tests;

use std::collections::HashMap;

use kube_cel::cel::common::ast::LiteralValue;

use self::{path::Path, range::Range};
use super::{
    check::Checked,
    decl::Decl,
    macros::ACCUMULATOR,
    tree::{Expr, Kind, Loop},
    types::Type,
};

const LIST: Range = Range::exactly(10);
const MAP: Range = Range::exactly(30);
const STRUCT: Range = Range::exactly(40);
/// Cost of names and fields.
const SELECT: Range = Range::exactly(1);
/// Cost of each character read.
const TRAVERSAL: f64 = 0.1;
/// Cost of each character of a regular expression.
const REGEX: f64 = 0.25;

/// The most that `checked` can cost on a value of `decl`.
pub(crate) fn estimate(checked: &Checked, decl: &Decl) -> u64 {
    let mut coster = Coster {
        checked,
        decl,
        paths: HashMap::new(),
        locals: HashMap::new(),
        sizes: HashMap::new(),
        entry_sizes: HashMap::new(),
    };
    coster.cost(&checked.root).max
}

/// Sizes of the entries of a list or map.
#[derive(Clone, Copy, Debug)]
struct EntrySize {
    is_list: bool,
    key: Range,
    value: Range,
}

impl EntrySize {
    fn union(self, other: Self) -> Self {
        Self { is_list: self.is_list, key: self.key.union(other.key), value: self.value.union(other.value) }
    }
}

/// A variable of a loop.
#[derive(Clone, Debug)]
struct Local {
    path: Path,
    size: Option<Range>,
    entry_size: Option<EntrySize>,
}

/// An operand of a call with the known facts about its size.
#[derive(Clone, Debug)]
struct Operand<'a> {
    /// Empty unless the operand is a part of the value.
    path: Path,
    ty: Option<&'a Type>,
    expr: Option<&'a Expr>,
    size: Option<Range>,
}

impl Operand<'_> {
    fn size_or_unknown(&self) -> Range {
        self.size.unwrap_or(Range::UNKNOWN)
    }
}

struct Coster<'a> {
    checked: &'a Checked,
    decl: &'a Decl,
    paths: HashMap<usize, Path>,
    locals: HashMap<&'a str, Vec<Local>>,
    sizes: HashMap<usize, Range>,
    entry_sizes: HashMap<usize, EntrySize>,
}

impl<'a> Coster<'a> {
    fn cost(&mut self, expr: &'a Expr) -> Range {
        match &expr.kind {
            Kind::Unspecified | Kind::Literal(_) => Range::ZERO,
            Kind::Ident(name) => {
                let path = self.local(name).map_or_else(|| Path::of(name), |local| local.path.clone());
                self.paths.insert(expr.id, path);
                SELECT
            }
            Kind::Select { operand, field, test } => {
                let cost = self.cost(operand);
                // A presence test itself costs nothing.
                if *test {
                    return cost;
                }
                let path = self.path(operand).append(field);
                self.paths.insert(expr.id, path);
                match self.checked.type_of(operand) {
                    Some(Type::Map(_) | Type::Struct(_) | Type::Param(_)) => cost.plus(SELECT),
                    _ => cost,
                }
            }
            Kind::Call { name, target, args } => self.call(expr, name, target.as_deref(), args),
            Kind::List { elements, .. } => {
                let mut cost = Range::ZERO;
                let mut size = Range::nothing(elements.is_empty());
                for element in elements {
                    cost = cost.plus(self.cost(element));
                    size = size.union(self.size_or_unknown(element));
                }
                self.entry_sizes.insert(expr.id, EntrySize { is_list: true, key: Range::exactly(1), value: size });
                cost.plus(LIST)
            }
            Kind::Map(entries) => {
                let mut cost = Range::ZERO;
                let mut key = Range::nothing(entries.is_empty());
                let mut value = key;
                for entry in entries {
                    cost = cost.plus(self.cost(&entry.key));
                    cost = cost.plus(self.cost(&entry.value));
                    key = key.union(self.size_or_unknown(&entry.key));
                    value = value.union(self.size_or_unknown(&entry.value));
                }
                self.entry_sizes.insert(expr.id, EntrySize { is_list: false, key, value });
                cost.plus(MAP)
            }
            Kind::Struct { fields, .. } => {
                fields.iter().fold(Range::ZERO, |cost, (_, value)| cost.plus(self.cost(value))).plus(STRUCT)
            }
            Kind::Loop(l) if is_binding(l) => self.binding(expr, l),
            Kind::Loop(l) => self.comprehension(expr, l),
        }
    }

    fn binding(&mut self, expr: &'a Expr, l: &'a Loop) -> Range {
        let cost = self.cost(&l.range);
        let cost = cost.plus(self.cost(&l.init));
        self.push_local(&l.accu, &l.init);
        let cost = cost.plus(self.cost(&l.result));
        self.pop(&l.accu);
        self.copy_sizes(expr, &l.result);
        cost
    }

    fn comprehension(&mut self, expr: &'a Expr, l: &'a Loop) -> Range {
        let cost = self.cost(&l.range);
        let cost = cost.plus(self.cost(&l.init));
        self.push_local(&l.accu, &l.init);
        match &l.var2 {
            Some(var2) => {
                self.push_iteration(&l.var, &l.range, false);
                self.push_iteration(var2, &l.range, true);
            }
            None => {
                let over_list = self.is_list(&l.range);
                self.push_iteration(&l.var, &l.range, over_list);
            }
        }
        let condition = self.cost(&l.condition);
        let step = self.cost(&l.step);
        self.pop(&l.var);
        l.var2.iter().for_each(|var2| self.pop(var2));
        let cost = cost.plus(self.cost(&l.result));
        self.pop(&l.accu);
        let rounds = self.size_or_unknown(&l.range);
        match &l.init.kind {
            Kind::Literal(_) => {
                let size = self.size(&l.init);
                self.set_size(expr, size);
            }
            Kind::List { .. } | Kind::Map(_) => {
                self.set_size(expr, Some(rounds));
                if let Some(entry) = self.entry_size(&l.step) {
                    self.entry_sizes.insert(expr.id, entry);
                }
            }
            _ => {}
        }
        cost.plus(rounds.times(step.plus(condition)))
    }

    fn is_list(&self, range: &Expr) -> bool {
        match self.entry_size(range) {
            Some(entry) => entry.is_list,
            None => matches!(self.checked.type_of(range), Some(Type::List(_))),
        }
    }

    /// A variable for elements, indices, keys or values.
    fn push_iteration(&mut self, name: &'a str, range: &'a Expr, of_values: bool) {
        let entry = self.entry_size(range);
        let size = entry.map(|entry| if of_values { entry.value } else { entry.key });
        let step = match (self.is_list(range), of_values) {
            (true, true) => "@items",
            (true, false) => "@indices",
            (false, true) => "@values",
            (false, false) => "@keys",
        };
        let path = self.path(range).append(step);
        self.locals.entry(name).or_default().push(Local { path, size, entry_size: None });
    }

    fn push_local(&mut self, name: &'a str, value: &'a Expr) {
        let path = self.path(value);
        let entry_size = self.entry_size(value);
        let size = self.size(value);
        self.locals.entry(name).or_default().push(Local { path, size, entry_size });
    }

    fn pop(&mut self, name: &str) {
        if let Some(stack) = self.locals.get_mut(name) {
            stack.pop();
        }
    }

    fn local(&self, name: &str) -> Option<&Local> {
        self.locals.get(name).and_then(|stack| stack.last())
    }

    fn path(&self, expr: &Expr) -> Path {
        if let Kind::Ident(name) = &expr.kind
            && let Some(local) = self.local(name)
        {
            return local.path.clone();
        }
        self.paths.get(&expr.id).cloned().unwrap_or_default()
    }

    fn operand(&mut self, expr: &'a Expr) -> Operand<'a> {
        let path = self.path(expr);
        let path = if path.first().is_some_and(|first| first == ACCUMULATOR) { Path::default() } else { path };
        Operand { path, ty: self.checked.type_of(expr), expr: Some(expr), size: self.size(expr) }
    }

    fn set_size(&mut self, expr: &Expr, size: Option<Range>) {
        if let Some(size) = size {
            self.sizes.insert(expr.id, size);
        }
    }

    fn size_or_unknown(&mut self, expr: &Expr) -> Range {
        self.size(expr).unwrap_or(Range::UNKNOWN)
    }

    fn copy_sizes(&mut self, to: &Expr, from: &Expr) {
        let size = self.size(from);
        self.set_size(to, size);
        if let Some(entry) = self.entry_size(from) {
            self.entry_sizes.insert(to.id, entry);
        }
    }

    fn size(&mut self, expr: &Expr) -> Option<Range> {
        if let Some(size) = self.sizes.get(&expr.id) {
            return Some(*size);
        }
        if let Some(size) = written_size(expr) {
            return Some(Range::exactly(size));
        }
        if let Some(size) = self.declared_size(&self.path(expr)) {
            self.sizes.insert(expr.id, size);
            return Some(size);
        }
        if self.checked.type_of(expr).is_some_and(Type::is_scalar) {
            return Some(Range::exactly(1));
        }
        match &expr.kind {
            Kind::Ident(name) => self.local(name).and_then(|local| local.size),
            _ => None,
        }
    }

    /// The size the schema allows at a path.
    fn declared_size(&self, path: &Path) -> Option<Range> {
        let names = path.names();
        let (_, steps) = names.split_first()?;
        let mut decl = self.decl;
        for step in steps {
            decl = match step.as_str() {
                "@items" | "@values" => decl.element.as_deref()?,
                "@keys" => decl.key.as_deref()?,
                field => decl.fields.get(field)?,
            };
        }
        Some(Range { min: 0, max: decl.max })
    }

    fn entry_size(&self, expr: &Expr) -> Option<EntrySize> {
        self.entry_sizes.get(&expr.id).copied().or_else(|| match &expr.kind {
            Kind::Ident(name) => self.local(name).and_then(|local| local.entry_size),
            _ => None,
        })
    }
}

/// Whether a loop has no iterations and only binds a value to a name.
fn is_binding(l: &Loop) -> bool {
    let empty = matches!(&l.range.kind, Kind::List { elements, .. } if elements.is_empty());
    let never = matches!(&l.condition.kind, Kind::Literal(LiteralValue::Boolean(b)) if !*b.inner());
    empty && never
}

/// The size of a literal.
fn written_size(expr: &Expr) -> Option<u64> {
    let size = match &expr.kind {
        Kind::Literal(LiteralValue::String(text)) => text.inner().chars().count(),
        Kind::Literal(LiteralValue::Bytes(bytes)) => bytes.inner().len(),
        Kind::Literal(_) => 1,
        Kind::List { elements, .. } => elements.len(),
        Kind::Map(entries) => entries.len(),
        _ => return None,
    };
    u64::try_from(size).ok()
}
