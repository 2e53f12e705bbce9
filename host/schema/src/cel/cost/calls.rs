//! Costs of CEL calls.

use kube_cel::cel::common::ast::LiteralValue;

use super::{Coster, Operand, REGEX, TRAVERSAL, range::Range};
use crate::cel::tree::{Expr, Kind};

/// The cost of a call, and the size of its result.
#[derive(Clone, Copy, Debug)]
pub(super) struct Call {
    pub(super) cost: Range,
    pub(super) size: Option<Range>,
}

impl Call {
    pub(super) fn of(cost: Range) -> Self {
        Self { cost, size: None }
    }

    pub(super) fn sized(cost: Range, size: Range) -> Self {
        Self { cost, size: Some(size) }
    }
}

impl<'a> Coster<'a> {
    pub(super) fn call(&mut self, expr: &'a Expr, name: &str, target: Option<&'a Expr>, args: &'a [Expr]) -> Range {
        if let ("dyn", [arg]) = (name, args) {
            let cost = self.cost(arg);
            self.copy_sizes(expr, arg);
            return Range::exactly(1).plus(cost);
        }
        let mut costs = Vec::with_capacity(args.len());
        let mut operands = Vec::with_capacity(args.len());
        for arg in args {
            costs.push(self.cost(arg));
            operands.push(self.operand(arg));
        }
        let overloads = self.checked.overloads.get(expr.id).cloned().unwrap_or_default();
        if overloads.is_empty() {
            return Range::ZERO;
        }
        let before = target.map_or(Range::ZERO, |target| self.cost(target));
        let target = target.map(|target| self.operand(target));
        let mut cost = Range::EMPTY;
        let mut size: Option<Range> = None;
        for overload in overloads {
            let call = self.overload(expr, name, overload, target.as_ref(), &operands, &costs);
            cost = cost.union(call.cost);
            if let Some(more) = call.size {
                size = Some(size.map_or(more, |size| size.union(more)));
            }
            let step = match overload {
                "index_list" => Some("@items"),
                "index_map" => Some("@values"),
                _ => None,
            };
            if let (Some(step), Some(first)) = (step, args.first()) {
                size = self.entry_size(first).map(|entry| entry.value);
                let path = self.path(first).append(step);
                self.paths.insert(expr.id, path);
            }
            if size.is_none() {
                size = self.size(expr);
            }
        }
        self.set_size(expr, size);
        before.plus(cost)
    }

    fn overload(
        &mut self,
        expr: &'a Expr,
        name: &str,
        overload: &str,
        target: Option<&Operand<'a>>,
        args: &[Operand<'a>],
        costs: &[Range],
    ) -> Call {
        let before = costs.iter().fold(Range::ZERO, |sum, cost| sum.plus(*cost));
        let found = self
            .extension(overload, target, args)
            .or_else(|| self.library(name, overload, target, args))
            .or_else(|| of_core(overload, target, args));
        if let Some(call) = found {
            return Call { cost: call.cost.plus(before), size: call.size };
        }
        match (overload, args, costs) {
            ("logical_or" | "logical_and", _, [left, right]) => {
                Call::of(Range { min: left.min, max: left.plus(*right).max })
            }
            ("conditional", [_, yes, no], [condition, if_yes, if_no]) => {
                let size = yes.size_or_unknown().union(no.size_or_unknown());
                self.join_entries(expr, yes, no);
                Call::sized(condition.plus(if_yes.union(*if_no)), size)
            }
            ("add_string" | "add_bytes" | "add_list", [left, right], _) => {
                let size = left.size_or_unknown().plus(right.size_or_unknown());
                self.join_entries(expr, left, right);
                let own = if overload == "add_list" { Range::exactly(1) } else { size.scaled(TRAVERSAL) };
                Call::sized(own.plus(before), size)
            }
            _ => Call::of(Range::exactly(1).plus(before)),
        }
    }

    fn join_entries(&mut self, expr: &Expr, a: &Operand<'_>, b: &Operand<'_>) {
        let entry = |operand: &Operand<'_>| operand.expr.and_then(|expr| self.entry_size(expr));
        if let (Some(a), Some(b)) = (entry(a), entry(b)) {
            self.entry_sizes.insert(expr.id, a.union(b));
        }
    }

    /// The size of an operand, for a library's estimate.
    pub(super) fn size_of(&self, operand: &Operand<'_>) -> Range {
        operand.size.or_else(|| self.declared_size(&operand.path)).unwrap_or(Range::UNKNOWN)
    }

    /// Sets and lists, which have estimates of their own.
    fn extension(&self, overload: &str, target: Option<&Operand<'_>>, args: &[Operand<'_>]) -> Option<Call> {
        let listed =
            |factor: f64, size: Range| Call::sized(size.scaled(factor).plus(Range::exactly(1)).plus(super::LIST), size);
        match (overload, target, args) {
            ("list_sets_contains_list" | "list_sets_intersects_list" | "list_sets_equivalent_list", _, [a, b]) => {
                let factor = if overload == "list_sets_equivalent_list" { 2.0 } else { 1.0 };
                Some(Call::of(self.size_of(a).times(self.size_of(b)).scaled(factor).plus(Range::exactly(1))))
            }
            ("list_slice", Some(target), [start, end]) => {
                let end = whole(end, self.size_of(target).max);
                Some(listed(1.0, Range::exactly(end.wrapping_sub(whole(start, 0)))))
            }
            ("lists_range", None, [count]) => Some(listed(1.0, Range::exactly(whole(count, u64::MAX)))),
            ("list_reverse", Some(target), []) => Some(listed(1.0, self.size_of(target))),
            ("list_flatten" | "list_flatten_int", Some(target), _) => {
                #[expect(clippy::cast_precision_loss, reason = "a server computes with the same floats")]
                let depth = args.first().map_or(1.0, |depth| whole(depth, u64::MAX) as f64);
                Some(listed(depth, self.size_of(target)))
            }
            ("list_distinct", Some(target), []) => {
                let size = self.size_of(target);
                Some(listed(2.0, size.times(size)))
            }
            _ if overload.ends_with("_sort") || overload.ends_with("_sortByAssociatedKeys") => {
                let size = self.size_of(args.first().or(target)?);
                let text = overload.starts_with("list_string_") || overload.starts_with("list_bytes_");
                Some(listed(if text { 2.0 + TRAVERSAL } else { 2.0 }, size.times(size)))
            }
            _ => None,
        }
    }
}

/// An integer literal.
fn whole(operand: &Operand<'_>, otherwise: u64) -> u64 {
    match operand.expr.map(|expr| &expr.kind) {
        Some(Kind::Literal(LiteralValue::Int(i))) => u64::try_from(*i.inner()).unwrap_or(0),
        _ => otherwise,
    }
}

/// Functions of the language itself.
fn of_core(overload: &str, target: Option<&Operand<'_>>, args: &[Operand<'_>]) -> Option<Call> {
    let one = Range::exactly(1);
    Some(match (overload, target, args) {
        ("string_format", Some(target), _) => Call::of(target.size_or_unknown().scaled(TRAVERSAL)),
        ("string_to_bytes", _, [text]) => {
            let size = text.size_or_unknown();
            let bytes = Range { min: size.min, max: size.max.wrapping_mul(4) };
            Call::sized(size.scaled(TRAVERSAL), bytes)
        }
        ("bytes_to_string", _, [bytes]) => {
            let size = bytes.size_or_unknown();
            Call::sized(size.scaled(TRAVERSAL), Range { min: size.min / 4, max: size.max })
        }
        ("strings_quote", _, [text]) => {
            let size = text.size_or_unknown();
            let max = size.max.wrapping_mul(2).wrapping_add(2);
            Call::sized(size.scaled(TRAVERSAL), Range { min: size.min.wrapping_add(2), max })
        }
        ("starts_with_string" | "ends_with_string", _, [part]) => Call::of(part.size_or_unknown().scaled(TRAVERSAL)),
        ("in_list", _, [_, list]) => Call::of(list.size_or_unknown()),
        ("matches_string", Some(text), [regex]) => {
            let text = text.size_or_unknown().plus(one).scaled(TRAVERSAL);
            Call::of(text.times(regex.size_or_unknown().scaled(REGEX)))
        }
        ("contains_string", Some(text), [part]) => {
            Call::of(text.size_or_unknown().scaled(TRAVERSAL).times(part.size_or_unknown().scaled(TRAVERSAL)))
        }
        (
            "less_string"
            | "greater_string"
            | "less_equals_string"
            | "greater_equals_string"
            | "less_bytes"
            | "greater_bytes"
            | "less_equals_bytes"
            | "greater_equals_bytes"
            | "equals"
            | "not_equals",
            _,
            [a, b],
        ) => {
            let max = a.size_or_unknown().max.min(b.size_or_unknown().max);
            Call::of(Range { min: max.min(1), max }.scaled(TRAVERSAL))
        }
        _ => return None,
    })
}
