//! Expression tree for the type check and the cost estimate: with positions, own numbers, and all macros expanded.
//!
//! The parser expands the macros of CEL's core. This module expands those of libraries, and the others once more, so that costs equal a
//! server's.

use kube_cel::cel::{
    IdedExpr,
    common::ast::{ComprehensionExpr, EntryExpr, Expr as Parsed, IdedEntryExpr, LiteralValue},
};

use super::{
    macros,
    tokens::{self, Kind as TokenKind, Token},
    value::is_reserved,
};

/// An expression.
#[derive(Clone, Debug)]
pub(super) struct Expr {
    /// Its number, below [`Tree::count`].
    pub(super) id: usize,
    /// The byte index of its sign or name in the source.
    pub(super) at: usize,
    pub(super) kind: Kind,
}

#[derive(Clone, Debug)]
pub(super) enum Kind {
    Unspecified,
    Literal(LiteralValue),
    Ident(String),
    Select { operand: Box<Expr>, field: String, test: bool },
    Call { name: String, target: Option<Box<Expr>>, args: Vec<Expr> },
    List { elements: Vec<Expr>, optional: Vec<usize> },
    Map(Vec<Entry>),
    Struct { name: String, fields: Vec<(String, Expr)> },
    Loop(Box<Loop>),
}

#[derive(Clone, Debug)]
pub(super) struct Entry {
    pub(super) key: Expr,
    pub(super) value: Expr,
    pub(super) optional: bool,
}

/// The expansion of macros over lists and maps.
#[derive(Clone, Debug)]
pub(super) struct Loop {
    pub(super) range: Expr,
    pub(super) var: String,
    pub(super) var2: Option<String>,
    pub(super) accu: String,
    pub(super) init: Expr,
    pub(super) condition: Expr,
    pub(super) step: Expr,
    pub(super) result: Expr,
}

impl Expr {
    /// The direct subexpressions.
    pub(super) fn children(&self) -> Vec<&Self> {
        match &self.kind {
            Kind::Unspecified | Kind::Literal(_) | Kind::Ident(_) => Vec::new(),
            Kind::Select { operand, .. } => vec![operand],
            Kind::Call { target, args, .. } => target.iter().map(|target| &**target).chain(args).collect(),
            Kind::List { elements, .. } => elements.iter().collect(),
            Kind::Map(entries) => entries.iter().flat_map(|entry| [&entry.key, &entry.value]).collect(),
            Kind::Struct { fields, .. } => fields.iter().map(|(_, value)| value).collect(),
            Kind::Loop(l) => vec![&l.range, &l.init, &l.condition, &l.step, &l.result],
        }
    }

    fn children_mut(&mut self) -> Vec<&mut Self> {
        match &mut self.kind {
            Kind::Unspecified | Kind::Literal(_) | Kind::Ident(_) => Vec::new(),
            Kind::Select { operand, .. } => vec![operand],
            Kind::Call { target, args, .. } => target.iter_mut().map(|target| &mut **target).chain(args).collect(),
            Kind::List { elements, .. } => elements.iter_mut().collect(),
            Kind::Map(entries) => entries.iter_mut().flat_map(|entry| [&mut entry.key, &mut entry.value]).collect(),
            Kind::Struct { fields, .. } => fields.iter_mut().map(|(_, value)| value).collect(),
            Kind::Loop(l) => vec![&mut l.range, &mut l.init, &mut l.condition, &mut l.step, &mut l.result],
        }
    }
}

/// A fault and its byte index.
pub(super) type Fault = (usize, String);

/// An expression and the facts known before the type check.
#[derive(Debug)]
pub(super) struct Tree {
    pub(super) root: Expr,
    /// The number of expressions.
    pub(super) count: usize,
    /// Macros that cannot be expanded.
    pub(super) faults: Vec<Fault>,
}

impl Tree {
    pub(super) fn new(parsed: &IdedExpr, source: &str) -> Self {
        let mut builder =
            Builder { tokens: tokens::tokens(source), cursor: 0, count: 0, faults: reserved_names(source) };
        let root = builder.expression(parsed);
        Self { root, count: builder.count, faults: builder.faults }
    }
}

/// Reserved words of CEL that are used as names.
pub(super) fn reserved_names(source: &str) -> Vec<Fault> {
    let found = tokens::tokens(source);
    let is = |i: usize, back: usize, text: &str| {
        i.checked_sub(back).and_then(|i| found.get(i)).is_some_and(|token| token.text == text)
    };
    let after_dot = |i: usize| is(i, 1, ".") || (is(i, 1, "?") && is(i, 2, "."));
    let names = found.iter().enumerate().filter(|(i, token)| {
        token.kind == TokenKind::Word
            && is_reserved(token.text)
            && !["true", "false", "null", "in"].contains(&token.text)
            && !after_dot(*i)
    });
    names.map(|(_, token)| (token.at, format!("reserved identifier: {}", token.text))).collect()
}

/// Traverses an expression in the order of its source.
#[derive(Debug)]
pub(super) struct Builder<'s> {
    tokens: Vec<Token<'s>>,
    /// The first token that is not assigned to an expression yet.
    cursor: usize,
    count: usize,
    pub(super) faults: Vec<Fault>,
}

impl Builder<'_> {
    pub(super) fn make(&mut self, at: usize, kind: Kind) -> Expr {
        let id = self.count;
        self.count += 1;
        Expr { id, at, kind }
    }

    /// A copy of the expression with numbers of its own.
    pub(super) fn copy(&mut self, expr: &Expr) -> Expr {
        let mut copy = expr.clone();
        self.renumber(&mut copy);
        copy
    }

    fn renumber(&mut self, expr: &mut Expr) {
        expr.id = self.count;
        self.count += 1;
        for child in expr.children_mut() {
            self.renumber(child);
        }
    }

    /// Advances to the next matching token, and returns it.
    fn find(&mut self, is: impl Fn(&[Token<'_>]) -> bool) -> Option<Token<'_>> {
        let mut at = self.cursor;
        while let Some(rest) = self.tokens.get(at..).filter(|rest| !rest.is_empty()) {
            if is(rest) {
                self.cursor = at + 1;
                return rest.first().copied();
            }
            at += 1;
        }
        None
    }

    fn at(&mut self, kind: TokenKind, text: &str) -> usize {
        let found = self.find(|rest| rest.first().is_some_and(|t| t.kind == kind && t.text == text));
        found.map_or(0, |token| token.at)
    }

    fn kind_at(&mut self, kind: TokenKind) -> usize {
        self.find(|rest| rest.first().is_some_and(|t| t.kind == kind)).map_or(0, |token| token.at)
    }

    /// The parenthesis after one of the names, and the name.
    fn call_at(&mut self, names: &[&str]) -> (usize, String) {
        let found = self.find(|rest| match rest {
            [name, open, ..] => name.kind == TokenKind::Word && names.contains(&name.text) && open.text == "(",
            _ => false,
        });
        let name = found.map(|token| token.text.to_owned()).unwrap_or_default();
        (self.at(TokenKind::Sign, "("), name)
    }

    fn expression(&mut self, parsed: &IdedExpr) -> Expr {
        match &parsed.expr {
            Parsed::Unspecified => self.make(0, Kind::Unspecified),
            Parsed::Literal(literal) => {
                let at = self.literal_at(literal);
                self.make(at, Kind::Literal(literal.clone()))
            }
            Parsed::Ident(name) => {
                let at = self.at(TokenKind::Word, name);
                self.make(at, Kind::Ident(name.clone()))
            }
            Parsed::Select(select) => {
                let has = if select.test { Some(self.call_at(&["has"]).0) } else { None };
                let operand = Box::new(self.expression(&select.operand));
                let dot = self.at(TokenKind::Sign, ".");
                self.kind_at(TokenKind::Word);
                let field = select.field.trim_matches('`').to_owned();
                self.make(has.unwrap_or(dot), Kind::Select { operand, field, test: select.test })
            }
            Parsed::Call(call) => self.call(&call.func_name, call.target.as_deref(), &call.args),
            Parsed::List(list) => {
                let at = self.at(TokenKind::Sign, "[");
                let elements = list.elements.iter().map(|element| self.expression(element)).collect();
                self.make(at, Kind::List { elements, optional: list.optional_indices.clone() })
            }
            Parsed::Map(map) => {
                let at = self.at(TokenKind::Sign, "{");
                let entries = map.entries.iter().filter_map(|entry| self.entry(entry)).collect();
                self.make(at, Kind::Map(entries))
            }
            Parsed::Struct(object) => {
                let at = self.at(TokenKind::Sign, "{");
                let mut fields = Vec::new();
                for entry in &object.entries {
                    if let EntryExpr::StructField(field) = &entry.expr {
                        fields.push((field.field.clone(), self.expression(&field.value)));
                    }
                }
                self.make(at, Kind::Struct { name: object.type_name.clone(), fields })
            }
            Parsed::Comprehension(comprehension) => self.comprehension(comprehension),
        }
    }

    fn entry(&mut self, entry: &IdedEntryExpr) -> Option<Entry> {
        let EntryExpr::MapEntry(entry) = &entry.expr else { return None };
        let key = self.expression(&entry.key);
        Some(Entry { key, value: self.expression(&entry.value), optional: entry.optional })
    }

    fn literal_at(&mut self, literal: &LiteralValue) -> usize {
        match literal {
            LiteralValue::String(_) | LiteralValue::Bytes(_) => self.kind_at(TokenKind::Text),
            LiteralValue::Boolean(_) | LiteralValue::Null => self.kind_at(TokenKind::Word),
            LiteralValue::Int(_) | LiteralValue::UInt(_) | LiteralValue::Double(_) => {
                let at = self.kind_at(TokenKind::Number);
                let before = self.cursor.checked_sub(2).and_then(|before| self.tokens.get(before));
                let negative = match literal {
                    LiteralValue::Int(i) => *i.inner() < 0,
                    LiteralValue::Double(d) => *d.inner() < 0.0,
                    _ => false,
                };
                before.filter(|token| negative && token.text == "-").map_or(at, |minus| minus.at)
            }
        }
    }

    fn call(&mut self, name: &str, target: Option<&IdedExpr>, args: &[IdedExpr]) -> Expr {
        if name.starts_with(|c: char| c.is_ascii_alphabetic() || c == '.')
            || (name.starts_with('_') && !name.ends_with(['_', ']']))
        {
            let target = target.map(|target| self.expression(target));
            let (at, _) = self.call_at(&[name.trim_start_matches('.')]);
            let args: Vec<Expr> = args.iter().map(|arg| self.expression(arg)).collect();
            return self.call_or_macro(at, name, target, args);
        }
        let sign = match name {
            "@in" => "in",
            "_?_:_" => "?",
            "_[_]" | "_[?_]" => "[",
            "_?._" => ".",
            other => other.trim_matches('_'),
        };
        let kind = if sign == "in" { TokenKind::Word } else { TokenKind::Sign };
        let mut made = Vec::new();
        let mut rest = args.iter();
        if args.len() > 1 {
            made.extend(rest.next().map(|first| self.expression(first)));
        }
        let at = self.at(kind, sign);
        if name == "_?._" {
            self.kind_at(TokenKind::Word);
            for field in rest {
                if let Parsed::Literal(literal) = &field.expr {
                    made.push(self.make(at, Kind::Literal(literal.clone())));
                }
            }
        } else {
            made.extend(rest.map(|arg| self.expression(arg)).collect::<Vec<_>>());
        }
        self.make(at, Kind::Call { name: name.to_owned(), target: None, args: made })
    }

    fn call_or_macro(&mut self, at: usize, name: &str, target: Option<Expr>, args: Vec<Expr>) -> Expr {
        match target {
            Some(target) => match macros::expand(self, at, name, target, args) {
                Ok(expanded) => expanded,
                Err((target, args)) => {
                    self.make(at, Kind::Call { name: name.to_owned(), target: Some(Box::new(target)), args })
                }
            },
            None => self.make(at, Kind::Call { name: name.trim_start_matches('.').to_owned(), target: None, args }),
        }
    }

    /// The original form of an expansion by the parser.
    fn comprehension(&mut self, c: &ComprehensionExpr) -> Expr {
        let range = self.expression(&c.iter_range);
        let (at, name) = self.call_at(&["all", "exists", "exists_one", "existsOne", "map", "filter"]);
        let var_at = self.at(TokenKind::Word, &c.iter_var);
        let mut args = vec![self.make(var_at, Kind::Ident(c.iter_var.clone()))];
        let step: &[IdedExpr] = match &c.loop_step.expr {
            Parsed::Call(step) => &step.args,
            _ => &[],
        };
        // The list that one iteration adds.
        let added = |add: &IdedExpr| match &add.expr {
            Parsed::List(list) => list.elements.first().cloned(),
            _ => None,
        };
        let parts: Vec<IdedExpr> = match (name.as_str(), step) {
            ("all" | "exists", [_, predicate]) | ("exists_one" | "existsOne" | "filter", [predicate, ..]) => {
                vec![predicate.clone()]
            }
            ("map", [_, add]) => added(add).into_iter().collect(),
            ("map", [filter, IdedExpr { expr: Parsed::Call(inner), .. }, _]) => {
                std::iter::once(filter.clone()).chain(inner.args.get(1).and_then(added)).collect()
            }
            _ => Vec::new(),
        };
        for part in &parts {
            args.push(self.expression(part));
        }
        self.call_or_macro(at, &name, Some(range), args)
    }
}
