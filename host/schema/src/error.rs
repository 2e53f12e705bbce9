//! Validation errors: a fault at a field, in the words of an API server.

use serde_json::{Value, json};

use crate::go;

/// The kind of a [`FieldError`]; its name goes into `details.causes[].reason`.
///
/// # Source
///
/// apimachinery `pkg/util/validation/field/errors.go`, `ErrorType`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
#[non_exhaustive]
pub enum Reason {
    /// A field must be set.
    Required,
    /// A set or a map repeats a member.
    Duplicate,
    /// The value is rejected.
    Invalid,
    /// The value is not in the enumeration.
    NotSupported,
    /// The field must not be set, or not to this value.
    Forbidden,
    /// A string is too long.
    TooLong,
    /// A list or map has too many members.
    TooMany,
    /// The JSON type is wrong.
    TypeInvalid,
    /// The server cannot validate the field.
    Internal,
}

impl Reason {
    /// The machine-readable form, such as `FieldValueInvalid`.
    #[must_use]
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Required => "FieldValueRequired",
            Self::Duplicate => "FieldValueDuplicate",
            Self::Invalid => "FieldValueInvalid",
            Self::NotSupported => "FieldValueNotSupported",
            Self::Forbidden => "FieldValueForbidden",
            Self::TooLong => "FieldValueTooLong",
            Self::TooMany => "FieldValueTooMany",
            Self::TypeInvalid => "FieldValueTypeInvalid",
            Self::Internal => "InternalError",
        }
    }

    const fn title(self) -> &'static str {
        match self {
            Self::Required => "Required value",
            Self::Duplicate => "Duplicate value",
            Self::Invalid | Self::TypeInvalid => "Invalid value",
            Self::NotSupported => "Unsupported value",
            Self::Forbidden => "Forbidden",
            Self::TooLong => "Too long",
            Self::TooMany => "Too many",
            Self::Internal => "Internal error",
        }
    }
}

/// A fault at one field: one entry of `details.causes` of a 422 Status.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct FieldError {
    /// The kind of fault.
    pub reason: Reason,
    /// Path of the field, such as `spec.ports[0].name`; `<nil>` when the server names none.
    pub field: String,
    /// Text without the path, such as `Invalid value: 0: must be positive`.
    pub message: String,
}

impl std::fmt::Display for FieldError {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "{}: {}", self.field, self.message)
    }
}

impl FieldError {
    fn new(reason: Reason, field: &str, value: Option<&str>, detail: &str) -> Self {
        let mut message = reason.title().to_owned();
        for part in value.into_iter().chain(Some(detail).filter(|d| !d.is_empty())) {
            message.push_str(": ");
            message.push_str(part);
        }
        Self { reason, field: nil_if_empty(field), message }
    }

    /// `field` must be set; `detail` may be empty.
    #[must_use]
    pub fn required(field: &str, detail: &str) -> Self {
        Self::new(Reason::Required, field, None, detail)
    }

    /// `field` must not be set like this.
    #[must_use]
    pub fn forbidden(field: &str, detail: &str) -> Self {
        Self::new(Reason::Forbidden, field, None, detail)
    }

    /// The server cannot validate `field` because of `detail`.
    #[must_use]
    pub fn internal(field: &str, detail: &str) -> Self {
        Self::new(Reason::Internal, field, None, detail)
    }

    /// `value` at `field` is rejected because of `detail`.
    #[must_use]
    pub fn invalid(field: &str, value: &Value, detail: &str) -> Self {
        Self::new(Reason::Invalid, field, Some(&go::value(value)), detail)
    }

    /// As [`invalid`](Self::invalid), without the value in the message.
    #[must_use]
    pub fn invalid_without_value(field: &str, detail: &str) -> Self {
        Self::new(Reason::Invalid, field, None, detail)
    }

    /// `found`, the name of a JSON type or a value, is of the wrong type.
    #[must_use]
    pub fn type_invalid(field: &str, found: &str, detail: &str) -> Self {
        Self::new(Reason::TypeInvalid, field, Some(&go::quote(found)), detail)
    }

    /// `value` repeats an earlier member.
    #[must_use]
    pub fn duplicate(field: &str, value: &Value) -> Self {
        Self::new(Reason::Duplicate, field, Some(&go::value(value)), "")
    }

    /// `value` is not one of `supported`.
    #[must_use]
    pub fn not_supported(field: &str, value: &Value, supported: &[String]) -> Self {
        let list: Vec<String> = supported.iter().map(|s| go::quote(s)).collect();
        let detail = if list.is_empty() { String::new() } else { format!("supported values: {}", list.join(", ")) };
        Self::new(Reason::NotSupported, field, Some(&go::value(value)), &detail)
    }

    /// A string has more than `max` characters (the server's text says bytes).
    #[must_use]
    pub fn too_long(field: &str, max: u64) -> Self {
        Self::new(Reason::TooLong, field, None, &format!("may not be more than {max} bytes"))
    }

    /// A list or map has `found` members where `max` are allowed.
    #[must_use]
    pub fn too_many(field: &str, found: u64, max: u64) -> Self {
        Self::new(Reason::TooMany, field, Some(&found.to_string()), &format!("must have at most {max} items"))
    }

    pub(crate) fn with_reason(reason: Option<&str>, field: &str, value: &Value, detail: &str) -> Self {
        match reason {
            Some("FieldValueRequired") => Self::required(field, detail),
            Some("FieldValueForbidden") => Self::forbidden(field, detail),
            other => {
                // An API server omits lists and objects from the message of a rule, and the text from duplicates.
                let shown = (!value.is_array() && !value.is_object()).then(|| go::value(value));
                match other {
                    Some("FieldValueDuplicate") => Self::new(Reason::Duplicate, field, shown.as_deref(), ""),
                    _ => Self::new(Reason::Invalid, field, shown.as_deref(), detail),
                }
            }
        }
    }

    /// As an element of `details.causes` of a Status.
    #[must_use]
    pub fn to_cause(&self) -> Value {
        json!({"reason": self.reason.as_str(), "message": self.message, "field": self.field})
    }
}

fn nil_if_empty(field: &str) -> String {
    if field.is_empty() { "<nil>".to_owned() } else { field.to_owned() }
}

/// The `Status` object (code 422, reason `Invalid`) that rejects an object because of `errors`.
///
/// * `group`, `kind` - type of the rejected object; an empty group is the core group.
/// * `name` - name of the rejected object; may be empty.
///
/// # Source
///
/// apimachinery `pkg/api/errors/errors.go`, `NewInvalid`, and `pkg/util/errors` for how several are joined.
#[must_use]
pub fn invalid_status(group: &str, kind: &str, name: &str, errors: &[FieldError]) -> Value {
    let mut texts: Vec<String> = Vec::new();
    for error in errors {
        let text = error.to_string();
        if !texts.contains(&text) {
            texts.push(text);
        }
    }
    let all = match texts.as_slice() {
        [one] => one.clone(),
        many => format!("[{}]", many.join(", ")),
    };
    let what = if group.is_empty() { kind.to_owned() } else { format!("{kind}.{group}") };
    let mut details = json!({"kind": kind, "causes": errors.iter().map(FieldError::to_cause).collect::<Vec<_>>()});
    if let Some(details) = details.as_object_mut() {
        for (key, value) in [("group", group), ("name", name)] {
            if !value.is_empty() {
                details.insert(key.to_owned(), value.into());
            }
        }
    }
    json!({
        "kind": "Status", "apiVersion": "v1", "metadata": {}, "status": "Failure", "reason": "Invalid", "code": 422,
        "message": format!("{what} {} is invalid: {all}", go::quote(name)), "details": details,
    })
}
