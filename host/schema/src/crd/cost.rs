//! Estimates of what a CEL rule costs at worst, with which a server refuses rules over unbounded data.
//!
//! Rougher than the estimate of a server, and never dearer where a schema gives sizes: what this refuses, a server
//! refuses as well, but a server also refuses rules that are over the limit by little.
//!
//! # Source
//!
//! cel-go `checker/cost.go`; apiextensions-apiserver `pkg/apiserver/schema/cel/compilation.go` and
//! `pkg/apis/apiextensions/validation/cel_validation.go`; apiserver `pkg/cel/common/schemas.go`.

use kube_cel::cel::{
    IdedExpr,
    common::ast::{CallExpr, EntryExpr, Expr, LiteralValue},
};

use crate::node::{Additional, Node};

/// Bytes of the largest request.
const REQUEST: u64 = 3 * 1024 * 1024;
/// The most one expression may cost, over all values it runs on.
const RULE_LIMIT: u64 = 10_000_000;
/// The most all expressions of a schema may cost.
const SCHEMA_LIMIT: u64 = 100_000_000;

/// How many values a schema node may stand for in one object.
#[derive(Clone, Copy, Debug)]
pub(super) struct Cardinality(
    /// `None` where some level on the way has no limit.
    Option<u64>,
);

impl Cardinality {
    pub(super) const ONE: Self = Self(Some(1));

    /// For the elements or values of `node`.
    pub(super) fn below(self, node: &Node) -> Self {
        let limit = if node.items.is_some() { node.max_items } else { node.max_properties };
        Self(self.0.zip(limit).map(|(outer, inner)| outer.saturating_mul(inner)))
    }

    /// Without a limit, as many values of `node` as a request has room for.
    fn of(self, node: &Node) -> u64 {
        self.0.unwrap_or_else(|| REQUEST / (least_bytes(node) + 1))
    }
}

/// The most elements or entries a value of `node` can have.
fn elements(node: &Node) -> u64 {
    match (&node.items, &node.additional) {
        (Some(items), _) => node.max_items.unwrap_or_else(|| (REQUEST - 2) / (least_bytes(items) + 1)),
        (None, Some(Additional::Schema(values))) => {
            node.max_properties.unwrap_or_else(|| (REQUEST - 2) / (least_bytes(values) + 6))
        }
        (None, Some(Additional::Any(_))) => node.max_properties.unwrap_or((REQUEST - 2) / 6),
        (None, None) => 1,
    }
}

/// Bytes of the shortest JSON of a value.
fn least_bytes(node: &Node) -> u64 {
    match node.types.first().map(String::as_str) {
        Some("string" | "array") => 2,
        Some("boolean") => 4,
        Some("object") => node
            .required
            .iter()
            .filter_map(|key| Some(least_bytes(node.properties.get(key)?) + 4 + u64::try_from(key.len()).ok()?))
            .fold(2, u64::saturating_add),
        _ => 1,
    }
}

/// What a value can be, for its size.
#[derive(Clone, Debug)]
enum Shape<'a> {
    Of(&'a Node),
    /// A string or list of at most so many characters or elements.
    Sized(u64),
    /// Of fixed, small size.
    Small,
    Unknown,
}

impl Shape<'_> {
    fn size(&self) -> u64 {
        match self {
            Self::Sized(size) => *size,
            Self::Small => 1,
            Self::Unknown => u64::MAX,
            Self::Of(node) => match (node.types.first().map(String::as_str), node.format.as_str()) {
                (Some("string"), "date" | "date-time" | "duration") => 64,
                (Some("string"), _) => node
                    .max_length
                    .or_else(|| {
                        let longest = node.enumeration.iter().map(|v| v.as_str().map_or(0, str::len)).max()?;
                        u64::try_from(longest).ok()
                    })
                    .unwrap_or(REQUEST - 2),
                (Some("array" | "object"), _) => elements(node),
                (Some("integer"), _) if node.types.len() > 1 => node.max_length.unwrap_or(REQUEST - 2),
                (Some(_), _) => 1,
                (None, _) => REQUEST,
            },
        }
    }
}

/// The cost of reading a string once.
fn reading(size: u64) -> u64 {
    size.div_ceil(10)
}

struct Estimator<'a> {
    variables: Vec<(String, Shape<'a>)>,
    cost: u64,
}

/// The most `program` can cost on all values of `node`.
pub(super) fn estimate(program: &IdedExpr, node: &Node, cardinality: Cardinality) -> u64 {
    let variables = vec![("self".to_owned(), Shape::Of(node)), ("oldSelf".to_owned(), Shape::Of(node))];
    let mut estimator = Estimator { variables, cost: 0 };
    estimator.expression(program);
    estimator.cost.saturating_mul(cardinality.of(node))
}

impl<'a> Estimator<'a> {
    fn pay(&mut self, cost: u64) {
        self.cost = self.cost.saturating_add(cost);
    }

    /// The cost of `expression` alone.
    fn apart(&mut self, expression: &IdedExpr) -> (u64, Shape<'a>) {
        let before = std::mem::take(&mut self.cost);
        let shape = self.expression(expression);
        (std::mem::replace(&mut self.cost, before), shape)
    }

    fn expression(&mut self, expression: &IdedExpr) -> Shape<'a> {
        match &expression.expr {
            Expr::Literal(LiteralValue::String(text)) => {
                Shape::Sized(u64::try_from(text.inner().chars().count()).unwrap_or(u64::MAX))
            }
            Expr::Unspecified | Expr::Literal(_) => Shape::Small,
            Expr::Ident(name) => {
                self.pay(1);
                self.variables.iter().rev().find(|(n, _)| n == name).map_or(Shape::Small, |(_, shape)| shape.clone())
            }
            Expr::Select(select) => {
                let operand = self.expression(&select.operand);
                self.pay(1);
                match (select.test, operand) {
                    (true, _) => Shape::Small,
                    (false, Shape::Of(node)) => {
                        let escaped = |name: &str| crate::cel::value::escape(name) == select.field;
                        let property = node.properties.iter().find(|(name, _)| escaped(name)).map(|(_, n)| n);
                        property.or_else(|| node.child(&select.field)).map_or(Shape::Small, Shape::Of)
                    }
                    (false, _) => Shape::Small,
                }
            }
            Expr::List(list) => {
                self.pay(10);
                for element in &list.elements {
                    self.expression(element);
                }
                Shape::Sized(u64::try_from(list.elements.len()).unwrap_or(u64::MAX))
            }
            Expr::Map(map) => {
                self.pay(30);
                for entry in &map.entries {
                    if let EntryExpr::MapEntry(entry) = &entry.expr {
                        self.expression(&entry.key);
                        self.expression(&entry.value);
                    }
                }
                Shape::Sized(u64::try_from(map.entries.len()).unwrap_or(u64::MAX))
            }
            Expr::Struct(_) => Shape::Small,
            Expr::Call(call) => self.call(call),
            Expr::Comprehension(comprehension) => {
                let range = self.expression(&comprehension.iter_range);
                self.expression(&comprehension.accu_init);
                let depth = self.variables.len();
                self.variables.push((comprehension.iter_var.clone(), element(&range)));
                self.variables.extend(comprehension.iter_var2.iter().map(|name| (name.clone(), element(&range))));
                self.variables.push((comprehension.accu_var.clone(), Shape::Sized(range.size())));
                let (condition, _) = self.apart(&comprehension.loop_cond);
                let (step, _) = self.apart(&comprehension.loop_step);
                self.pay(range.size().saturating_mul(condition.saturating_add(step)));
                self.expression(&comprehension.result);
                self.variables.truncate(depth);
                Shape::Sized(range.size())
            }
        }
    }

    fn call(&mut self, call: &CallExpr) -> Shape<'a> {
        if let ("_?_:_", [condition, a, b]) = (call.func_name.as_str(), call.args.as_slice()) {
            self.expression(condition);
            let ((first, one), (second, other)) = (self.apart(a), self.apart(b));
            self.pay(first.max(second));
            return if one.size() > other.size() { one } else { other };
        }
        let target = call.target.as_deref().map(|target| self.expression(target));
        let args: Vec<Shape<'a>> = call.args.iter().map(|arg| self.expression(arg)).collect();
        let text = target.as_ref().or(args.first()).map_or(0, Shape::size);
        let first = args.first().map_or(0, Shape::size);
        match (call.func_name.as_str(), args.as_slice()) {
            ("_&&_" | "_||_" | "!_" | "@not_strictly_false", _) => Shape::Small,
            ("_[_]" | "_[?_]", [of, _]) => {
                self.pay(1);
                element(of)
            }
            ("_+_", [a, b]) => {
                let size = a.size().saturating_add(b.size());
                let numbers = matches!((a, b), (Shape::Small, _) | (_, Shape::Small)) || is_number(a) || is_number(b);
                self.pay(if numbers { 1 } else { reading(size) });
                if numbers { Shape::Small } else { Shape::Sized(size) }
            }
            ("_==_" | "_!=_" | "_<_" | "_<=_" | "_>_" | "_>=_", [a, b]) => {
                self.pay(reading(a.size().min(b.size())));
                Shape::Small
            }
            ("@in", [_, list]) => {
                self.pay(list.size());
                Shape::Small
            }
            ("startsWith" | "endsWith", _) => {
                self.pay(reading(first));
                Shape::Small
            }
            ("contains", _) => {
                self.pay(reading(text).saturating_mul(reading(first)));
                Shape::Small
            }
            ("matches" | "find" | "findAll", _) => {
                self.pay(reading(text.saturating_add(1)).saturating_mul(first.div_ceil(4)));
                Shape::Sized(text)
            }
            // How long the text of a number is, the estimate of a server does not know.
            ("string", _) if !matches!(args.first(), Some(Shape::Sized(_))) && text <= 1 => {
                self.pay(1);
                Shape::Unknown
            }
            (
                "string" | "lowerAscii" | "upperAscii" | "trim" | "reverse" | "replace" | "substring" | "split"
                | "join" | "format" | "ip" | "cidr" | "isIP" | "isCIDR" | "url" | "isURL" | "quantity" | "isQuantity",
                _,
            ) => {
                self.pay(reading(text));
                Shape::Sized(text)
            }
            _ => {
                self.pay(1);
                Shape::Small
            }
        }
    }
}

fn is_number(shape: &Shape<'_>) -> bool {
    matches!(shape, Shape::Of(node) if matches!(node.types.as_slice(), [only] if only == "integer" || only == "number"))
}

fn element<'a>(shape: &Shape<'a>) -> Shape<'a> {
    match shape {
        Shape::Of(node) => match (&node.items, &node.additional) {
            (Some(items), _) => Shape::Of(items),
            (None, Some(Additional::Schema(values))) => Shape::Of(values),
            _ => Shape::Small,
        },
        // Parts of a text are no longer than the text.
        Shape::Sized(size) => Shape::Sized(*size),
        Shape::Small | Shape::Unknown => Shape::Small,
    }
}

/// The refusal of one expression that costs `cost`, if it is too dear.
pub(super) fn over_rule_limit(what: &str, cost: u64) -> Option<String> {
    over(&format!("estimated {what} cost"), cost, RULE_LIMIT)
}

/// The refusal of a whole schema, if its expressions together are too dear.
pub(super) fn over_schema_limit(cost: u64) -> Option<String> {
    over("x-kubernetes-validations estimated rule cost total for entire OpenAPIv3 schema", cost, SCHEMA_LIMIT)
}

/// Only what is over by far is refused: the estimate is a rough one.
fn over(what: &str, cost: u64, limit: u64) -> Option<String> {
    (cost > limit.saturating_mul(100)).then(|| {
        format!(
            "{what} exceeds budget by factor of more than 100x (try simplifying the rule, or adding maxItems, \
             maxProperties, and maxLength where arrays, maps, and strings are declared)"
        )
    })
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;
    use crate::cel;

    fn cost(rule: &str, of_element: &serde_json::Value, max_items: Option<u64>) -> u64 {
        let mut list = json!({"type": "array", "items": of_element});
        if let Some(max) = max_items {
            list["maxItems"] = max.into();
        }
        let node = Node::parse(&json!({"type": "object", "properties": {"l": list}}));
        estimate(&cel::parse(rule).unwrap(), &node, Cardinality::ONE)
    }

    #[test]
    fn sizes_in_a_schema_make_rules_cheap() {
        let text = json!({"type": "string"});
        let short = json!({"type": "string", "maxLength": 10});
        let search = "self.l.all(x, x.contains('abc'))";
        assert!(over_rule_limit("rule", cost(search, &text, None)).is_some());
        assert!(over_rule_limit("rule", cost(search, &text, Some(5))).is_none());
        assert!(over_rule_limit("rule", cost(search, &short, Some(1000))).is_none());
        let unique = "self.l.all(x, self.l.exists_one(y, x == y))";
        assert!(over_rule_limit("rule", cost(unique, &short, None)).is_some());
        assert!(cost(unique, &short, Some(10)) < 10_000);
    }
}
