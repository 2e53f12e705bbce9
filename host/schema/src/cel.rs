//! CEL rules of custom resources: `x-kubernetes-validations`.

mod check;
mod condition;
mod cost;
mod decl;
mod faults;
mod functions;
mod literals;
mod macros;
mod parse;
mod tokens;
mod tree;
mod types;
pub(crate) mod value;

use std::{collections::BTreeMap, sync::Arc};

use kube_cel::{
    KubeCelExt,
    cel::{Context, ExecutionError, IdedExpr, Value as CelValue, objects::OptionalValue},
};
use serde_json::Value;

pub use self::condition::Condition;
pub(crate) use self::{
    check::{Checked, check},
    cost::estimate,
    decl::Decl,
    parse::parse,
};
use crate::{
    error::FieldError,
    node::{Additional, MAX_DEPTH, Members, Node},
};

thread_local! {
    /// The functions of Kubernetes' CEL; building the table costs more than most rules.
    static FUNCTIONS: Context<'static> = functions();
}

/// The functions of the libraries, and `type` with the names of the types, which are strings here: the type checker allows comparing them
/// only with each other.
fn functions() -> Context<'static> {
    let mut context = Context::default().with_all();
    context.add_function("type", |of: CelValue| value::type_name(&of).to_owned());
    for name in ["bool", "bytes", "double", "int", "list", "map", "null_type", "string", "uint"] {
        context.add_variable_from_value(name, name);
    }
    context
}

/// The compiled rules of a schema, in the schema's own shape.
#[derive(Debug, Default)]
pub(crate) struct Rules {
    here: Vec<Rule>,
    properties: BTreeMap<String, Self>,
    items: Option<Box<Self>>,
    additional: Option<Box<Self>>,
}

/// One rule.
#[derive(Debug)]
struct Rule {
    /// `None` when the expression does not compile: then the rule always fails.
    program: Option<IdedExpr>,
    text: String,
    message: Option<String>,
    message_program: Option<IdedExpr>,
    reason: Option<String>,
    field_path: Option<String>,
    /// Whether it compares with the earlier value; such a rule is skipped without one, unless `optional_old`.
    transition: bool,
    optional_old: bool,
}

impl Rules {
    pub(crate) fn compile(node: &Node) -> Self {
        if !node.has_rules {
            return Self::default();
        }
        let below = |n: &Node| n.has_rules.then(|| Box::new(Self::compile(n)));
        Self {
            here: node.rules.iter().map(Rule::compile).collect(),
            properties: node
                .properties
                .iter()
                .filter(|(_, n)| n.has_rules)
                .map(|(k, n)| (k.clone(), Self::compile(n)))
                .collect(),
            items: node.items.as_deref().and_then(below),
            additional: match node.additional.as_ref() {
                Some(Additional::Schema(n)) => below(n),
                _ => None,
            },
        }
    }
}

impl Rule {
    fn compile(rule: &Value) -> Self {
        let text = |key: &str| rule.get(key).and_then(Value::as_str).filter(|s| !s.is_empty()).map(str::to_owned);
        let source = text("rule").unwrap_or_default();
        let program = parse(&source).ok();
        Self {
            transition: program.as_ref().is_some_and(|p| p.references().has_variable("oldSelf")),
            program,
            message: text("message").map(|m| m.trim().to_owned()),
            message_program: text("messageExpression").and_then(|m| parse(&m).ok()),
            reason: text("reason"),
            field_path: text("fieldPath"),
            optional_old: rule.get("optionalOldSelf").and_then(Value::as_bool).unwrap_or(false),
            text: source.trim().to_owned(),
        }
    }

    fn description(&self) -> String {
        self.message.clone().unwrap_or_else(|| format!("failed rule: {}", self.text))
    }

    /// The message of a failed rule: the result of its message expression if usable, else its message, else the rule.
    fn failure(&self, context: &Context<'_>) -> String {
        let computed = self.message_program.as_ref().and_then(|program| match CelValue::resolve(program, context) {
            Ok(CelValue::String(s)) => Some(s.trim().to_owned()).filter(|s| !s.is_empty() && !s.contains('\n')),
            _ => None,
        });
        computed.unwrap_or_else(|| self.description())
    }
}

/// Evaluates all rules for an object and its earlier state.
///
/// * `value`, `old` - whole objects.
///
/// # Source
///
/// apiextensions-apiserver `pkg/apiserver/schema/cel/validation.go`.
pub(crate) fn check_rules(node: &Node, rules: &Rules, value: &Value, old: Option<&Value>) -> Vec<FieldError> {
    check_rules_at(node, rules, value, old, "")
}

/// [`check_rules`] of a value with a path.
pub(crate) fn check_rules_at(
    node: &Node,
    rules: &Rules,
    value: &Value,
    old: Option<&Value>,
    path: &str,
) -> Vec<FieldError> {
    if !node.has_rules {
        return Vec::new();
    }
    FUNCTIONS.with(|functions| {
        let mut walk = Walk { functions, errors: Vec::new() };
        walk.node(node, rules, Pair { value, old, former: old, unchanged: old == Some(value) }, path, 0);
        walk.errors
    })
}

/// A value and its earlier state.
#[derive(Clone, Copy)]
struct Pair<'a> {
    value: &'a Value,
    /// The value of `oldSelf` in rules.
    old: Option<&'a Value>,
    /// The earlier value for detecting a change, also where rules have no `oldSelf`.
    former: Option<&'a Value>,
    /// Whether the value, or a value that contains it, is unchanged.
    unchanged: bool,
}

impl<'a> Pair<'a> {
    /// A part of the value; `former` is its earlier value, `old` the part of it that its rules may see.
    fn below(self, value: &'a Value, former: Option<&'a Value>, old: Option<&'a Value>) -> Self {
        let unchanged = self.unchanged || former == Some(value);
        Self { value, old: old.filter(|old| !old.is_null()), former, unchanged }
    }
}

struct Walk<'a> {
    functions: &'a Context<'static>,
    errors: Vec<FieldError>,
}

impl Walk<'_> {
    fn node(&mut self, node: &Node, rules: &Rules, pair: Pair<'_>, path: &str, depth: usize) {
        // A null has no rules of its own: the level above checks it.
        if pair.value.is_null() || depth > MAX_DEPTH * 2 {
            return;
        }
        if !rules.here.is_empty() {
            self.here(node, rules, pair, path);
        }
        match pair.value {
            Value::Object(object) => {
                for (key, child) in object {
                    let former = pair.former.and_then(|former| former.get(key));
                    let old = pair.old.filter(|_| !node.atomic_map).and_then(|old| old.get(key));
                    let below = pair.below(child, former, old);
                    if let (Some(known), Some(rules)) = (node.properties.get(key), rules.properties.get(key)) {
                        let at = if path.is_empty() { key.clone() } else { format!("{path}.{key}") };
                        self.node(known, rules, below, &at, depth + 1);
                    } else if let (false, Some(Additional::Schema(known)), Some(rules)) =
                        (node.properties.contains_key(key), node.additional.as_ref(), rules.additional.as_deref())
                    {
                        self.node(known, rules, below, &format!("{path}[{key}]"), depth + 1);
                    }
                }
            }
            Value::Array(items) => {
                if let (Some(known), Some(rules)) = (node.items.as_deref(), rules.items.as_deref()) {
                    let (formers, olds) = (Members::new(node, pair.former), Members::new(node, pair.old));
                    for (i, item) in items.iter().enumerate() {
                        let (former, same) = (formers.counterpart(node, i, item), olds.same(node, item));
                        self.node(known, rules, pair.below(item, former, same), &format!("{path}[{i}]"), depth + 1);
                    }
                }
            }
            Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_) => {}
        }
    }

    fn here(&mut self, node: &Node, rules: &Rules, pair: Pair<'_>, path: &str) {
        let Pair { value, old, unchanged, .. } = pair;
        let is_root = path.is_empty();
        let to_cel = |v: &Value| if is_root { value::root(node, v) } else { value::convert(Some(node), v) };
        let mut context = self.functions.new_inner_scope();
        context.add_variable_from_value("self", to_cel(value));
        let before = old.map(to_cel);
        for rule in &rules.here {
            if rule.transition && !rule.optional_old && before.is_none() {
                continue;
            }
            // An unchanged value may stay invalid, unless the rule is about change.
            if unchanged && !rule.transition {
                continue;
            }
            let mut scope = context.new_inner_scope();
            if rule.optional_old {
                let optional = before.clone().map_or_else(OptionalValue::none, OptionalValue::of);
                scope.add_variable_from_value("oldSelf", CelValue::Opaque(Arc::new(optional)));
            } else if let Some(before) = before.clone() {
                scope.add_variable_from_value("oldSelf", before);
            }
            let result = rule.program.as_ref().map(|program| CelValue::resolve(program, &scope));
            let place = place(path, rule.field_path.as_deref(), node);
            let reason = rule.reason.as_deref();
            match result {
                Some(Ok(CelValue::Bool(true))) => {}
                Some(Ok(CelValue::Bool(false))) => {
                    // With a fieldPath the fault is elsewhere, so this value is not shown.
                    let shown = if rule.field_path.is_some() { &Value::Object(serde_json::Map::new()) } else { value };
                    self.errors.push(FieldError::with_reason(reason, &place, shown, &rule.failure(&scope)));
                }
                Some(Ok(_)) => self.broken(path, node, "cel expression evaluation did not return a bool", rule),
                Some(Err(error)) => self.broken(path, node, &runtime_text(&error), rule),
                None => self.broken(path, node, "compilation failed", rule),
            }
        }
    }

    fn broken(&mut self, path: &str, node: &Node, text: &str, rule: &Rule) {
        let ty = node.types.first().map_or("", String::as_str);
        let detail = if text.starts_with("no such overload") {
            format!(
                "'{text}': call arguments did not match a supported operator, function or macro signature for rule: \
                 {}",
                rule.description()
            )
        } else {
            format!("{text} evaluating rule: {}", rule.description())
        };
        self.errors.push(FieldError::invalid(path, &ty.into(), &detail));
    }
}

/// The text of a runtime error in cel-go's words, where cel-go has the same error.
fn runtime_text(error: &ExecutionError) -> String {
    match error {
        ExecutionError::NoSuchKey(key) => format!("no such key: {key}"),
        ExecutionError::NoSuchOverload
        | ExecutionError::UnsupportedBinaryOperator(..)
        | ExecutionError::UnsupportedUnaryOperator(..)
        | ExecutionError::ValuesNotComparable(..)
        | ExecutionError::UnexpectedType { .. } => "no such overload".to_owned(),
        ExecutionError::DivisionByZero(_) => "division by zero".to_owned(),
        ExecutionError::RemainderByZero(_) => "modulus by zero".to_owned(),
        ExecutionError::Overflow(..) => "integer overflow".to_owned(),
        ExecutionError::FunctionError { message, .. } => message.clone(),
        other => other.to_string(),
    }
}

/// The path of a rule's fault: its `fieldPath` (`.a.b`, `['c']`) below the rule's value.
fn place(path: &str, field_path: Option<&str>, node: &Node) -> String {
    let Some(field_path) = field_path else { return path.to_owned() };
    let mut out = path.to_owned();
    let mut at = Some(node);
    for step in oarlock_jsonpath::field_steps(field_path).unwrap_or_default() {
        let is_key = at.is_some_and(|n| !n.properties.contains_key(&step));
        if is_key {
            out.push_str(&format!("[{step}]"));
        } else {
            if !out.is_empty() {
                out.push('.');
            }
            out.push_str(&step);
        }
        at = at.and_then(|n| n.child(&step));
    }
    out
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn run(schema: &Value, value: &Value, old: Option<&Value>) -> Vec<String> {
        let node = Node::parse(schema);
        let rules = Rules::compile(&node);
        check_rules(&node, &rules, value, old).iter().map(ToString::to_string).collect()
    }

    fn eval(rule: &str, ty: &Value, x: &Value) -> Vec<String> {
        let mut property = ty.clone();
        property["x-kubernetes-validations"] = json!([{"rule": rule, "message": "no"}]);
        run(&json!({"type": "object", "properties": {"x": property}}), &json!({"x": x}), None)
    }

    #[test]
    fn the_libraries_for_addresses_are_there() {
        let text = json!({"type": "string"});
        for (rule, x, holds) in [
            ("isCIDR(self)", "10.0.0.0/8", true),
            ("isCIDR(self)", "10.0.0.0/33", false),
            ("isCIDR(self)", "ten", false),
            ("isIP(self)", "10.0.0.1", true),
            ("isIP(self) && ip(self).family() == 4", "::1", false),
            ("cidr(self).containsIP('10.1.2.3')", "10.0.0.0/8", true),
            ("cidr(self).containsIP(ip('11.1.2.3'))", "10.0.0.0/8", false),
            ("cidr(self).ip().family() == 4", "10.0.0.0/8", true),
            ("cidr(self) == cidr(self).masked()", "10.0.0.0/8", true),
            ("cidr(self) == cidr(self).masked()", "10.0.0.1/8", false),
            ("cidr(self).masked().ip() == ip('10.0.0.0')", "10.0.0.1/8", true),
            ("cidr(self).masked().ip() != ip('10.0.0.1')", "10.0.0.1/8", true),
            ("cidr(self).prefixLength() == 8", "10.0.0.1/8", true),
            ("string(ip(self)) == '10.0.0.1'", "10.0.0.1", true),
        ] {
            assert_eq!(eval(rule, &text, &x.into()).is_empty(), holds, "{rule} on {x}");
        }
    }

    #[test]
    fn formats_change_the_type_a_rule_sees() {
        let time = json!({"type": "string", "format": "date-time"});
        assert!(eval("self > timestamp('2024-01-01T00:00:00Z')", &time, &"2025-01-01T00:00:00Z".into()).is_empty());
        let duration = json!({"type": "string", "format": "duration"});
        assert!(eval("self == duration('90s')", &duration, &"1m30s".into()).is_empty());
        let bytes = json!({"type": "string", "format": "byte"});
        assert!(eval("size(self) == 3", &bytes, &"YWJj".into()).is_empty());
        assert!(eval("self * 2.0 == 6.0", &json!({"type": "number"}), &json!(3)).is_empty());
    }

    #[test]
    fn names_that_cel_cannot_spell_are_escaped() {
        let schema = json!({"type": "object", "properties": {"x": {"type": "object", "properties": {
            "namespace": {"type": "string"}, "a-b": {"type": "string"}, "c__d": {"type": "string"}},
            "x-kubernetes-validations": [
                {"rule": "self.__namespace__ == 'n' && self.a__dash__b == 'ab' && self.c__underscores__d == 'cd'"}]}}});
        assert_eq!(
            run(&schema, &json!({"x": {"namespace": "n", "a-b": "ab", "c__d": "cd"}}), None),
            Vec::<String>::new()
        );
    }

    #[test]
    fn what_may_be_absent_is_an_optional() {
        let schema = json!({"type": "object", "properties": {"x": {"type": "object", "properties": {
            "a": {"type": "integer"}}, "x-kubernetes-validations": [
                {"rule": "self.?a.orValue(0) >= oldSelf.?a.orValue(7)", "optionalOldSelf": true, "message": "no"},
                {"rule": "oldSelf.?a.hasValue() || self.?b.c.orValue('none') == 'none'", "optionalOldSelf": true}]}}});
        let with = |a: i64| json!({"x": {"a": a}});
        assert_eq!(run(&schema, &with(7), None), Vec::<String>::new());
        assert_eq!(run(&schema, &with(6), None), ["x: Invalid value: no"]);
        assert_eq!(run(&schema, &with(2), Some(&with(1))), Vec::<String>::new());
        assert_eq!(run(&schema, &json!({"x": {}}), Some(&with(1))), ["x: Invalid value: no"]);
    }

    #[test]
    fn a_rule_that_cannot_run_refuses_the_object() {
        let object = json!({"type": "object", "properties": {"a": {"type": "string"}}});
        assert_eq!(
            eval("self.a == 'x'", &object, &json!({})),
            ["x: Invalid value: \"object\": no such key: a evaluating rule: no"]
        );
    }

    #[test]
    fn unchanged_values_are_not_asked_again() {
        let schema = json!({"type": "object", "properties": {"x": {"type": "integer",
            "x-kubernetes-validations": [{"rule": "self > 5"}]}}});
        assert!(run(&schema, &json!({"x": 1}), Some(&json!({"x": 1}))).is_empty());
        assert_eq!(
            run(&schema, &json!({"x": 2}), Some(&json!({"x": 1}))),
            ["x: Invalid value: 2: failed rule: self > 5"]
        );
    }

    #[test]
    fn elements_of_plain_lists_may_stay_as_they_are_but_have_no_former_self() {
        let schema = json!({"type": "object", "properties": {"l": {"type": "array", "items": {"type": "object",
            "properties": {"n": {"type": "integer", "x-kubernetes-validations": [
                {"rule": "self > 5"}, {"rule": "self == oldSelf", "message": "never"}]}}}}}});
        let list = |numbers: &[i64]| json!({"l": numbers.iter().map(|n| json!({"n": n})).collect::<Vec<_>>()});
        assert!(run(&schema, &list(&[1, 7]), Some(&list(&[1]))).is_empty());
        assert_eq!(
            run(&schema, &list(&[1, 2]), Some(&list(&[1, 1]))),
            ["l[1].n: Invalid value: 2: failed rule: self > 5"]
        );
    }

    #[test]
    fn members_of_list_maps_meet_their_former_selves() {
        let schema = json!({"type": "object", "properties": {"l": {"type": "array", "x-kubernetes-list-type": "map",
            "x-kubernetes-list-map-keys": ["k"], "items": {"type": "object", "properties": {
                "k": {"type": "string"}, "v": {"type": "integer"}},
                "x-kubernetes-validations": [{"rule": "self.v >= oldSelf.v", "message": "falls"}]}}}});
        let old = json!({"l": [{"k": "a", "v": 1}, {"k": "b", "v": 5}]});
        assert_eq!(
            run(&schema, &json!({"l": [{"k": "b", "v": 4}, {"k": "a", "v": 2}, {"k": "c", "v": 0}]}), Some(&old)),
            ["l[0]: Invalid value: falls"]
        );
    }
}
