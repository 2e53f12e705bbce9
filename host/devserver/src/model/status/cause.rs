//! Causes in a `Status`: what is wrong with which field.

use serde_json::Value;

/// One reason why an object is not valid.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Cause {
    pub(super) reason: &'static str,
    pub(super) field: String,
    pub(super) message: String,
}

impl Cause {
    /// `Invalid value: …`; `value` is printed as JSON.
    pub(crate) fn invalid(field: impl Into<String>, value: &Value, detail: &str) -> Self {
        Self { reason: "FieldValueInvalid", field: field.into(), message: format!("Invalid value: {value}: {detail}") }
    }

    /// `Forbidden: …`
    pub(crate) fn forbidden(field: impl Into<String>, detail: &str) -> Self {
        Self { reason: "FieldValueForbidden", field: field.into(), message: format!("Forbidden: {detail}") }
    }

    /// `Required value: …`; an empty detail omits the colon.
    pub(crate) fn required(field: impl Into<String>, detail: &str) -> Self {
        let message = if detail.is_empty() { "Required value".to_owned() } else { format!("Required value: {detail}") };
        Self { reason: "FieldValueRequired", field: field.into(), message }
    }

    /// `Unsupported value: …: supported values: …`
    pub(crate) fn unsupported(field: impl Into<String>, value: &Value, supported: &[&str]) -> Self {
        let list: Vec<String> = supported.iter().map(|s| format!("\"{s}\"")).collect();
        Self {
            reason: "FieldValueNotSupported",
            field: field.into(),
            message: format!("Unsupported value: {value}: supported values: {}", list.join(", ")),
        }
    }

    /// `Duplicate value: …`
    pub(crate) fn duplicate(field: impl Into<String>, value: &Value) -> Self {
        Self { reason: "FieldValueDuplicate", field: field.into(), message: format!("Duplicate value: {value}") }
    }

    /// A cause whose reason and message come from elsewhere.
    pub(crate) fn raw(reason: &'static str, field: impl Into<String>, message: impl Into<String>) -> Self {
        Self { reason, field: field.into(), message: message.into() }
    }

    /// The field that is wrong.
    pub(crate) fn field(&self) -> &str {
        &self.field
    }

    /// Field and message in one line.
    pub(super) fn line(&self) -> String {
        format!("{}: {}", self.field, self.message)
    }
}
