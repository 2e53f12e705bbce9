//! `x-kubernetes-validations` of a schema, as far as they can be judged without an object.

use serde_json::Value;

use super::{check, list, text};
use crate::{
    cel,
    error::FieldError,
    node::{MAX_DEPTH, Node},
};

/// Checks the rules of a schema and of everything below it.
pub(super) fn check(schema: &Value, at: &str, errors: &mut Vec<FieldError>) {
    walk(schema, at, errors, 0);
}

fn walk(schema: &Value, at: &str, errors: &mut Vec<FieldError>, depth: usize) {
    if depth > MAX_DEPTH {
        return;
    }
    let rules = list(schema, "x-kubernetes-validations");
    if !rules.is_empty() {
        let node = Node::parse(schema);
        for (i, rule) in rules.iter().enumerate() {
            check_rule(rule, &node, depth == 0, &format!("{at}.x-kubernetes-validations[{i}]"), errors);
        }
    }
    if let Some(properties) = schema.get("properties").and_then(Value::as_object) {
        for (name, child) in properties {
            walk(child, &format!("{at}.properties[{name}]"), errors, depth + 1);
        }
    }
    for key in ["items", "additionalProperties"] {
        if let Some(child) = schema.get(key).filter(|c| c.is_object()) {
            walk(child, &format!("{at}.{key}"), errors, depth + 1);
        }
    }
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

fn check_rule(rule: &Value, node: &Node, is_root: bool, at: &str, errors: &mut Vec<FieldError>) {
    let source = text(rule, "rule");
    let mut is_transition = false;
    if source.trim().is_empty() {
        errors.push(FieldError::required(&format!("{at}.rule"), "rule is not specified"));
    } else {
        match cel::parse(&source) {
            Ok(program) => {
                is_transition = program.references().has_variable("oldSelf");
                let optional = rule.get("optionalOldSelf") == Some(&Value::Bool(true));
                if let Err(fault) = check::check_rule(&program, &source, node, is_root, optional) {
                    refuse(&format!("{at}.rule"), rule, &fault, errors);
                }
            }
            Err(fault) => refuse(&format!("{at}.rule"), rule, &format!("compilation failed: {fault}"), errors),
        }
    }
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
    let expression = text(rule, "messageExpression");
    if !expression.trim().is_empty() {
        let optional = rule.get("optionalOldSelf") == Some(&Value::Bool(true));
        let checked = cel::parse(&expression)
            .map_err(|fault| format!("messageExpression compilation failed: {fault}"))
            .and_then(|program| check::check_message(&program, &expression, node, is_root, optional));
        if let Err(fault) = checked {
            refuse(&format!("{at}.messageExpression"), rule, &fault, errors);
        }
    }
    let reasons = ["FieldValueRequired", "FieldValueInvalid", "FieldValueForbidden", "FieldValueDuplicate"];
    let reason = text(rule, "reason");
    if !reason.is_empty() && !reasons.contains(&reason.as_str()) {
        let mut supported = reasons.map(str::to_owned);
        supported.sort();
        errors.push(FieldError::not_supported(&format!("{at}.reason"), &reason.as_str().into(), &supported));
    }
    let field_path = text(rule, "fieldPath");
    if !field_path.is_empty() {
        check_field_path(&field_path, node, &format!("{at}.fieldPath"), errors);
    }
    if !is_transition && rule.get("optionalOldSelf").is_some_and(|o| !o.is_null()) {
        let value = rule.get("optionalOldSelf").unwrap_or(&Value::Null);
        let detail = "may not be set if oldSelf is not used in rule";
        errors.push(FieldError::invalid(&format!("{at}.optionalOldSelf"), value, detail));
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
