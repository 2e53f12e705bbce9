//! Validation of `x-kubernetes-validations` without an object: syntax, types and costs.
//!
//! # Source
//!
//! apiextensions-apiserver `pkg/apis/apiextensions/validation/validation.go`,
//! `ValidateCustomResourceDefinitionOpenAPISchema`, and `cel_validation.go`.

use serde_json::Value;

use super::{field_path, text};
use crate::{
    cel::{self, Checked, Decl},
    error::FieldError,
    node::{Additional, ListType, MAX_DEPTH, Node},
};

/// Highest cost of one expression, over all values it runs on.
const RULE_LIMIT: u64 = 10_000_000;
/// Highest cost of all expressions of a schema.
const SCHEMA_LIMIT: u64 = 100_000_000;

/// The mode of checking expressions.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Checks {
    /// Whether the schema has other faults; then it has no types, and expressions are not checked.
    pub(super) is_broken: bool,
    /// Whether the schema is the stored one: then an expression may cost more than a new one.
    pub(super) is_stored: bool,
}

/// Checks the rules of a schema and of everything below it.
pub(super) fn check(schema: &Value, at: &str, checks: Checks, errors: &mut Vec<FieldError>) {
    let mut checker = Checker { errors, checks, total: 0, dearest: Vec::new() };
    let root = Here { at: at.to_owned(), cardinality: Some(1), uncorrelated: None, is_root: true, is_opaque: false };
    checker.walk(&Node::parse(schema), &root, 0);
    let Checker { total, mut dearest, .. } = checker;
    if let Some(factor) = factor(total, SCHEMA_LIMIT) {
        dearest.sort_by_key(|(cost, _)| std::cmp::Reverse(*cost));
        for (_, field) in dearest.iter().take(4) {
            let detail = "contributed to estimated rule cost total exceeding cost limit for entire OpenAPIv3 schema";
            errors.push(FieldError::forbidden(field, detail));
        }
        let what = "x-kubernetes-validations estimated rule cost total for entire OpenAPIv3 schema";
        errors.push(FieldError::forbidden(at, &too_dear(what, &factor)));
    }
}

/// The factor by which a cost exceeds its limit, in a server's words; `None` within the limit.
#[expect(clippy::cast_precision_loss, reason = "a server computes the factor with the same floats")]
fn factor(cost: u64, limit: u64) -> Option<String> {
    let factor = cost as f64 / limit as f64;
    (cost > limit).then(|| match factor {
        _ if factor > 100.0 => "more than 100x".to_owned(),
        _ if factor < 1.5 => format!("{factor:.6}x"),
        _ => format!("{factor:.1}x"),
    })
}

fn too_dear(what: &str, factor: &str) -> String {
    format!(
        "{what} exceeds budget by factor of {factor} (try simplifying the rule, or adding maxItems, maxProperties, and \
         maxLength where arrays, maps, and strings are declared)"
    )
}

/// The position of a level in a schema.
#[derive(Clone, Debug)]
struct Here {
    at: String,
    /// The number of its values in one object; `None` where a level above has no limit.
    cardinality: Option<u64>,
    /// The path of the list above whose items have no stable identity; a rule below it has no `oldSelf`.
    uncorrelated: Option<String>,
    is_root: bool,
    /// Whether a level above has rules but no types.
    is_opaque: bool,
}

struct Checker<'e> {
    errors: &'e mut Vec<FieldError>,
    checks: Checks,
    /// The worst-case cost of all expressions.
    total: u64,
    /// Costs and paths of the costliest expressions.
    dearest: Vec<(u64, String)>,
}

impl Checker<'_> {
    /// Checks a level and everything below; returns whether the texts of all rules there are valid.
    fn walk(&mut self, node: &Node, here: &Here, depth: usize) -> bool {
        if depth > MAX_DEPTH || !node.has_rules {
            return true;
        }
        let declared = if node.rules.is_empty() { None } else { Decl::of(node, here.is_root) };
        let is_opaque = here.is_opaque || (!node.rules.is_empty() && declared.is_none());
        let limit = match (&node.items, &node.additional) {
            (Some(_), _) => node.max_items,
            (None, Some(_)) => node.max_properties,
            (None, None) => Some(1),
        };
        let cardinality = here.cardinality.zip(limit).map(|(outer, inner)| outer.saturating_mul(inner));
        let below = |step: String, correlated: bool| Here {
            at: format!("{}.{step}", here.at),
            cardinality,
            uncorrelated: here.uncorrelated.clone().or_else(|| (!correlated).then(|| here.at.clone())),
            is_root: false,
            is_opaque,
        };
        let mut sound = true;
        for (name, child) in &node.properties {
            sound &= self.walk(child, &below(format!("properties[{name}]"), true), depth + 1);
        }
        if let Some(items) = node.items.as_deref() {
            let correlated = matches!(node.list_type, ListType::Map(_));
            sound &= self.walk(items, &below("items".to_owned(), correlated), depth + 1);
        }
        if let Some(Additional::Schema(values)) = &node.additional {
            sound &= self.walk(values, &below("additionalProperties".to_owned(), true), depth + 1);
        }
        for (i, rule) in node.rules.iter().enumerate() {
            sound &= check_texts(rule, node, &format!("{}.x-kubernetes-validations[{i}]", here.at), self.errors);
        }
        if !sound || self.checks.is_broken || node.rules.is_empty() {
            return sound;
        }
        match declared.filter(|_| !is_opaque) {
            Some(decl) => {
                let count = here.cardinality.unwrap_or_else(|| decl.most_in_a_request());
                for (i, rule) in node.rules.iter().enumerate() {
                    self.rule(rule, &decl, count, here, &format!("{}.x-kubernetes-validations[{i}]", here.at));
                }
            }
            None => {
                let detail = "internal error: failed to construct type information for x-kubernetes-validations rules: \
                              unable to convert structural schema to CEL declarations";
                self.errors.push(FieldError::internal(&format!("{}.x-kubernetes-validations", here.at), detail));
            }
        }
        sound
    }

    /// Adds up the costs of expressions, and rejects one that costs too much by itself.
    fn price(&mut self, what: &str, cost: u64, field: &str) {
        self.total = self.total.saturating_add(cost);
        if cost >= SCHEMA_LIMIT / 100 {
            self.dearest.push((cost, field.to_owned()));
        }
        if let Some(factor) = factor(cost, RULE_LIMIT).filter(|_| !self.checks.is_stored) {
            self.errors.push(FieldError::forbidden(field, &too_dear(&format!("estimated {what} cost"), &factor)));
        }
    }

    fn rule(&mut self, rule: &Value, decl: &Decl, count: u64, here: &Here, at: &str) {
        let source = text(rule, "rule");
        let optional = rule.get("optionalOldSelf") == Some(&Value::Bool(true));
        let field = format!("{at}.rule");
        let checked = compile(&source, decl, optional, "").and_then(|checked| {
            let is_bool = checked.is_bool();
            let checked =
                is_bool.then_some(checked).ok_or_else(|| "cel expression must evaluate to a bool".to_owned())?;
            instantiate(checked, "program")
        });
        let uses_old = match checked {
            Ok(checked) => {
                self.price("rule", cel::estimate(&checked, decl).saturating_mul(count), &field);
                self.message(rule, decl, optional, at);
                checked.uses_old
            }
            Err(fault) => {
                refuse(&field, rule, &fault, self.errors);
                false
            }
        };
        if let (true, Some(within)) = (uses_old, &here.uncorrelated) {
            let detail = format!("oldSelf cannot be used on the uncorrelatable portion of the schema within {within}");
            self.errors.push(FieldError::invalid(&field, &source.as_str().into(), &detail));
        }
        if let Some(value) = rule.get("optionalOldSelf").filter(|value| !uses_old && !value.is_null()) {
            let detail = "may not be set if oldSelf is not used in rule";
            self.errors.push(FieldError::invalid(&format!("{at}.optionalOldSelf"), value, detail));
        }
    }

    fn message(&mut self, rule: &Value, decl: &Decl, optional: bool, at: &str) {
        let source = text(rule, "messageExpression");
        if source.is_empty() {
            return;
        }
        let field = format!("{at}.messageExpression");
        let checked = compile(&source, decl, optional, "messageExpression ").and_then(|checked| {
            let is_string = checked.is_string();
            let fault = || "messageExpression must evaluate to a string".to_owned();
            instantiate(is_string.then_some(checked).ok_or_else(fault)?, "messageExpression")
        });
        match checked {
            Ok(checked) => self.price("messageExpression", cel::estimate(&checked, decl), &field),
            Err(fault) => refuse(&field, rule, &fault, self.errors),
        }
    }
}

/// * `what` - the beginning of the error message.
fn compile(source: &str, decl: &Decl, optional: bool, what: &str) -> Result<Checked, String> {
    cel::check(source, decl, optional).map_err(|faults| format!("{what}compilation failed: {faults}"))
}

fn instantiate(checked: Checked, what: &str) -> Result<Checked, String> {
    match checked.conversion_fault() {
        Some(fault) => Err(format!("{what} instantiation failed: {fault}")),
        None => Ok(checked),
    }
}

/// The rule in a server's printed form: its internal type, with its field order.
fn print(rule: &Value) -> String {
    // Go's JSON is escaped for HTML.
    let html = |json: String| json.replace('<', "\\u003c").replace('>', "\\u003e").replace('&', "\\u0026");
    let string = |key: &str| html(Value::from(text(rule, key)).to_string());
    let optional = |key: &str| html(rule.get(key).unwrap_or(&Value::Null).to_string());
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

/// Checks the texts beside the expressions, and that expressions are present; returns whether all are valid.
fn check_texts(rule: &Value, node: &Node, at: &str, errors: &mut Vec<FieldError>) -> bool {
    let before = errors.len();
    let (source, message, expression) = (text(rule, "rule"), text(rule, "message"), text(rule, "messageExpression"));
    let lines = |text: &str| text.trim().contains(['\n', '\r']);
    let message_at = format!("{at}.message");
    if source.trim().is_empty() {
        errors.push(FieldError::required(&format!("{at}.rule"), "rule is not specified"));
    } else if !message.is_empty() && message.trim().is_empty() {
        let detail = "must be non-empty if specified";
        errors.push(FieldError::invalid(&message_at, &message.as_str().into(), detail));
    } else if lines(&message) {
        errors.push(FieldError::invalid(&message_at, &message.as_str().into(), "must not contain line breaks"));
    } else if lines(&source) && message.is_empty() {
        errors.push(FieldError::required(&message_at, "message must be specified if rule contains line breaks"));
    }
    if !expression.is_empty() && expression.trim().is_empty() {
        let detail = "messageExpression must be non-empty if specified";
        errors.push(FieldError::required(&format!("{at}.messageExpression"), detail));
    }
    let reasons = ["FieldValueDuplicate", "FieldValueForbidden", "FieldValueInvalid", "FieldValueRequired"];
    let reason = text(rule, "reason");
    if rule.get("reason").is_some_and(Value::is_string) && !reasons.contains(&reason.as_str()) {
        let supported = reasons.map(str::to_owned);
        errors.push(FieldError::not_supported(&format!("{at}.reason"), &reason.as_str().into(), &supported));
    }
    check_field_path(&text(rule, "fieldPath"), node, &format!("{at}.fieldPath"), errors);
    errors.len() == before
}

fn check_field_path(path: &str, node: &Node, at: &str, errors: &mut Vec<FieldError>) {
    if path.is_empty() {
        return;
    }
    let mut refuse = |detail: &str| errors.push(FieldError::invalid(at, &path.into(), detail));
    if path.trim().is_empty() {
        refuse("must be non-empty if specified");
    }
    if path.contains(['\n', '\r']) {
        refuse("must not contain line breaks");
    }
    if field_path::resolve(path, node).is_none() {
        refuse("must be a valid path");
    }
}

fn refuse(field: &str, rule: &Value, detail: &str, errors: &mut Vec<FieldError>) {
    errors.push(FieldError {
        message: format!("Invalid value: {}: {detail}", print(rule)),
        ..FieldError::invalid_without_value(field, "")
    });
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_factor_is_written_as_a_server_writes_it() {
        for (cost, written) in [
            (9_999_999, None),
            (10_000_000, None),
            (10_000_001, Some("1.000000x")),
            (14_999_999, Some("1.500000x")),
            (15_000_000, Some("1.5x")),
            (1_000_000_000, Some("100.0x")),
            (1_000_000_001, Some("more than 100x")),
            (u64::MAX, Some("more than 100x")),
        ] {
            assert_eq!(factor(cost, RULE_LIMIT).as_deref(), written, "{cost}");
        }
    }
}
