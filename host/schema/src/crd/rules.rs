//! `x-kubernetes-validations` of a schema, as far as they can be judged without an object.

use kube_cel::cel::IdedExpr;
use serde_json::Value;

use super::{
    check,
    cost::{self, Cardinality},
    text,
};
use crate::{
    cel,
    error::FieldError,
    node::{Additional, MAX_DEPTH, Node},
};

/// Checks the rules of a schema and of everything below it.
pub(super) fn check(schema: &Value, at: &str, errors: &mut Vec<FieldError>) {
    let mut checker = Checker { errors, total: 0, dearest: Vec::new() };
    checker.walk(&Node::parse(schema), at, Cardinality::ONE, 0);
    let Checker { total, mut dearest, .. } = checker;
    if let Some(detail) = cost::over_schema_limit(total) {
        dearest.sort_by_key(|(cost, _)| std::cmp::Reverse(*cost));
        for (_, field) in dearest.iter().take(5) {
            let detail = "contributed to estimated rule cost total exceeding cost limit for entire OpenAPIv3 schema";
            errors.push(FieldError::forbidden(field, detail));
        }
        errors.push(FieldError::forbidden(at, &detail));
    }
}

struct Checker<'e> {
    errors: &'e mut Vec<FieldError>,
    /// What all expressions cost at worst.
    total: u64,
    /// Costs and places of expressions that matter.
    dearest: Vec<(u64, String)>,
}

impl Checker<'_> {
    fn walk(&mut self, node: &Node, at: &str, cardinality: Cardinality, depth: usize) {
        if depth > MAX_DEPTH || !node.has_rules {
            return;
        }
        for (i, rule) in node.rules.iter().enumerate() {
            let here = Here { node, cardinality, is_root: depth == 0 };
            self.rule(rule, here, &format!("{at}.x-kubernetes-validations[{i}]"));
        }
        for (name, child) in &node.properties {
            self.walk(child, &format!("{at}.properties[{name}]"), cardinality, depth + 1);
        }
        let below = cardinality.below(node);
        if let Some(items) = node.items.as_deref() {
            self.walk(items, &format!("{at}.items"), below, depth + 1);
        }
        if let Some(Additional::Schema(values)) = &node.additional {
            self.walk(values, &format!("{at}.additionalProperties"), below, depth + 1);
        }
    }

    /// Estimates what an expression costs, and refuses it if that is too much.
    fn price(&mut self, what: &str, program: &IdedExpr, here: Here<'_>, field: &str) {
        let cost = cost::estimate(program, here.node, here.cardinality);
        self.total = self.total.saturating_add(cost);
        if cost >= 100_000 {
            self.dearest.push((cost, field.to_owned()));
        }
        if let Some(detail) = cost::over_rule_limit(what, cost) {
            self.errors.push(FieldError::forbidden(field, &detail));
        }
    }

    fn rule(&mut self, rule: &Value, here: Here<'_>, at: &str) {
        let source = text(rule, "rule");
        let optional = rule.get("optionalOldSelf") == Some(&Value::Bool(true));
        let field = format!("{at}.rule");
        let mut is_transition = false;
        if source.trim().is_empty() {
            self.errors.push(FieldError::required(&field, "rule is not specified"));
        } else {
            match cel::parse(&source) {
                Ok(program) => {
                    is_transition = program.references().has_variable("oldSelf");
                    match check::check_rule(&program, &source, here.node, here.is_root, optional) {
                        Ok(()) => self.price("rule", &program, here, &field),
                        Err(fault) => refuse(&field, rule, &fault, self.errors),
                    }
                }
                Err(fault) => refuse(&field, rule, &format!("compilation failed: {fault}"), self.errors),
            }
        }
        let expression = text(rule, "messageExpression");
        if !expression.trim().is_empty() {
            let field = format!("{at}.messageExpression");
            let checked = cel::parse(&expression)
                .map_err(|fault| format!("messageExpression compilation failed: {fault}"))
                .and_then(|program| {
                    check::check_message(&program, &expression, here.node, here.is_root, optional).map(|()| program)
                });
            match checked {
                Ok(program) => self.price("messageExpression", &program, here, &field),
                Err(fault) => refuse(&field, rule, &fault, self.errors),
            }
        }
        check_texts(rule, &source, at, self.errors);
        let field_path = text(rule, "fieldPath");
        if !field_path.is_empty() {
            check_field_path(&field_path, here.node, &format!("{at}.fieldPath"), self.errors);
        }
        if !is_transition && rule.get("optionalOldSelf").is_some_and(|o| !o.is_null()) {
            let value = rule.get("optionalOldSelf").unwrap_or(&Value::Null);
            let detail = "may not be set if oldSelf is not used in rule";
            self.errors.push(FieldError::invalid(&format!("{at}.optionalOldSelf"), value, detail));
        }
    }
}

/// Where a rule stands.
#[derive(Clone, Copy)]
struct Here<'a> {
    node: &'a Node,
    cardinality: Cardinality,
    is_root: bool,
}

/// The rule as a server prints it: its inner form, with its field order.
fn print(rule: &Value) -> String {
    let string = |key: &str| Value::from(text(rule, key)).to_string();
    let optional = |key: &str| rule.get(key).unwrap_or(&Value::Null).to_string();
    format!(
        "{{\"Rule\":{},\"Message\":{},\"MessageExpression\":{},\"Reason\":{},\"FieldPath\":{},\"OptionalOldSelf\":{}}}",
        string("rule"),
        string("message"),
        string("messageExpression"),
        optional("reason"),
        string("fieldPath"),
        optional("optionalOldSelf"),
    )
}

/// Message and reason.
fn check_texts(rule: &Value, source: &str, at: &str, errors: &mut Vec<FieldError>) {
    let message = text(rule, "message");
    if rule.get("message").is_some_and(|m| !m.is_null()) && !message.is_empty() && message.trim().is_empty() {
        let detail = "message must be non-empty if specified";
        errors.push(FieldError::invalid(&format!("{at}.message"), &message.as_str().into(), detail));
    } else if message.contains('\n') {
        let detail = "message must not contain line breaks";
        errors.push(FieldError::invalid(&format!("{at}.message"), &message.as_str().into(), detail));
    } else if source.contains('\n') && message.is_empty() {
        errors.push(FieldError::required(
            &format!("{at}.message"),
            "message must be specified if rule contains line breaks",
        ));
    }
    let reasons = ["FieldValueRequired", "FieldValueInvalid", "FieldValueForbidden", "FieldValueDuplicate"];
    let reason = text(rule, "reason");
    if !reason.is_empty() && !reasons.contains(&reason.as_str()) {
        let mut supported = reasons.map(str::to_owned);
        supported.sort();
        errors.push(FieldError::not_supported(&format!("{at}.reason"), &reason.as_str().into(), &supported));
    }
}

fn refuse(field: &str, rule: &Value, detail: &str, errors: &mut Vec<FieldError>) {
    errors.push(FieldError {
        message: format!("Invalid value: {}: {detail}", print(rule)),
        ..FieldError::invalid_without_value(field, "")
    });
}

fn check_field_path(path: &str, node: &Node, at: &str, errors: &mut Vec<FieldError>) {
    let refuse = |detail: &str| FieldError::invalid(at, &path.into(), detail);
    if path.contains('\n') {
        errors.push(refuse("fieldPath must not contain line breaks"));
        return;
    }
    let steps = crate::jsonpath::field_steps(path).filter(|_| path.starts_with(['.', '[']));
    let Some(steps) = steps else {
        errors.push(refuse("fieldPath must be a valid path"));
        return;
    };
    let mut here = node;
    for step in &steps {
        match here.child(step) {
            Some(child) => here = child,
            None => {
                let detail = format!("fieldPath must be a valid path: does not refer to a valid field: {step}");
                errors.push(refuse(&detail));
                return;
            }
        }
    }
}
