//! Query strings and the option objects in them.

use serde_json::{Value, json};

use crate::{
    model::{
        path::decode,
        selector::{FieldSelector, LabelSelector},
        status::{ApiError, Cause, Result},
    },
    resources::deletion::{DeleteOptions, Propagation},
};

/// The decoded pairs of a query string.
#[derive(Debug, Default, Clone)]
pub(crate) struct Query(Vec<(String, String)>);

impl Query {
    /// Splits and decodes; a pair without `=` has an empty value.
    pub(crate) fn parse(text: &str) -> Self {
        let decode = |s: &str| decode(&s.replace('+', " "));
        let pairs = text.split('&').filter(|p| !p.is_empty()).map(|pair| {
            let (key, value) = pair.split_once('=').unwrap_or((pair, ""));
            (decode(key), decode(value))
        });
        Self(pairs.collect())
    }

    /// The first value of a key; empty counts as absent.
    pub(crate) fn get(&self, key: &str) -> Option<&str> {
        self.0.iter().find(|(k, v)| k == key && !v.is_empty()).map(|(_, v)| v.as_str())
    }

    /// The first value of a key, which may be empty.
    pub(crate) fn first(&self, key: &str) -> Option<&str> {
        self.0.iter().find(|(k, _)| k == key).map(|(_, v)| v.as_str())
    }

    fn all(&self, key: &str) -> Vec<&str> {
        self.0.iter().filter(|(k, _)| k == key).map(|(_, v)| v.as_str()).collect()
    }

    /// Any value but `0` and `false` is true, including the bare key.
    pub(crate) fn flag(&self, key: &str) -> bool {
        self.0.iter().find(|(k, _)| k == key).is_some_and(|(_, v)| v != "0" && !v.eq_ignore_ascii_case("false"))
    }
}

/// The treatment of unknown and duplicate fields.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum FieldValidation {
    Ignore,
    Warn,
    Strict,
}

/// The options of a write.
#[derive(Debug, Clone)]
pub(crate) struct WriteOptions {
    pub(crate) dry_run: bool,
    pub(crate) field_manager: Option<String>,
    pub(crate) field_validation: FieldValidation,
    pub(crate) force: bool,
}

fn dry_run(values: &[&str]) -> Option<Cause> {
    values.iter().any(|v| *v != "All").then(|| Cause::unsupported("dryRun", &json!(values), &["All"]))
}

fn refused(kind: &str, causes: &[Cause]) -> Result<()> {
    if causes.is_empty() { Ok(()) } else { Err(ApiError::invalid_options(kind, causes)) }
}

impl WriteOptions {
    /// `kind` names the option object in errors: CreateOptions, UpdateOptions, PatchOptions.
    pub(crate) fn parse(query: &Query, kind: &str) -> Result<Self> {
        let mut causes = Vec::new();
        let field_manager = query.get("fieldManager").map(str::to_owned);
        causes.extend(field_manager.iter().filter_map(|manager| check_manager(manager)));
        let dry = query.all("dryRun");
        causes.extend(dry_run(&dry));
        let field_validation = match query.get("fieldValidation") {
            Some("Strict") => FieldValidation::Strict,
            Some("Ignore") => FieldValidation::Ignore,
            None | Some("Warn") => FieldValidation::Warn,
            Some(other) => {
                let known = ["", "Ignore", "Strict", "Warn"];
                causes.push(Cause::unsupported("fieldValidation", &json!(other), &known));
                FieldValidation::Warn
            }
        };
        refused(kind, &causes)?;
        Ok(Self { dry_run: !dry.is_empty(), field_manager, field_validation, force: query.flag("force") })
    }
}

fn check_manager(manager: &str) -> Option<Cause> {
    const FIELD: &str = "fieldManager";
    if manager.len() > 128 {
        return Some(Cause::raw("FieldValueTooLong", FIELD, "Too long: may not be more than 128 bytes"));
    }
    let (position, character) = manager.chars().enumerate().find(|(_, c)| c.is_control())?;
    let detail = format!("invalid character U+{:04X} (at position {position})", u32::from(character));
    Some(Cause::invalid(FIELD, &json!(manager), &detail))
}

impl DeleteOptions {
    /// A body replaces the query as a whole.
    pub(crate) fn parse(query: &Query, body: Option<&Value>) -> Result<Self> {
        const KIND: &str = "DeleteOptions";
        let from_body = body.filter(|b| b.as_object().is_some_and(|m| !m.is_empty()));
        let text = |key: &str| match from_body {
            Some(b) => b.get(key).and_then(Value::as_str).map(str::to_owned),
            None => query.get(key).map(str::to_owned),
        };
        let dry: Vec<&str> = match from_body {
            Some(b) => b
                .get("dryRun")
                .and_then(Value::as_array)
                .into_iter()
                .flatten()
                .map(|d| d.as_str().unwrap_or_default())
                .collect(),
            None => query.all("dryRun"),
        };
        let mut causes = Vec::new();
        let propagation = match text("propagationPolicy").as_deref() {
            None => None,
            Some("Background") => Some(Propagation::Background),
            Some("Foreground") => Some(Propagation::Foreground),
            Some("Orphan") => Some(Propagation::Orphan),
            Some(other) => {
                let known = ["Foreground", "Background", "Orphan", "nil"];
                causes.push(Cause::unsupported("propagationPolicy", &json!(other), &known));
                None
            }
        };
        let orphan = match from_body {
            Some(b) => b.get("orphanDependents").and_then(Value::as_bool),
            None => query.get("orphanDependents").map(|v| !matches!(v, "0" | "false")),
        };
        if let (Some(_), Some(policy)) = (orphan, text("propagationPolicy")) {
            let detail = "orphanDependents and deletionPropagation cannot be both set";
            causes.push(Cause::invalid("propagationPolicy", &json!(policy), detail));
        }
        causes.extend(dry_run(&dry));
        refused(KIND, &causes)?;
        let grace_seconds = match from_body {
            Some(b) => b.get("gracePeriodSeconds").and_then(Value::as_i64),
            None => match query.get("gracePeriodSeconds").map(str::parse) {
                None => None,
                Some(Ok(seconds)) => Some(seconds),
                Some(Err(_)) => {
                    let text = query.get("gracePeriodSeconds").unwrap_or_default();
                    return Err(ApiError::bad_request(format!("strconv.ParseInt: parsing \"{text}\": invalid syntax")));
                }
            },
        };
        let precondition = |key: &str| {
            from_body.and_then(|b| b.pointer("/preconditions")?.get(key)).and_then(Value::as_str).map(str::to_owned)
        };
        Ok(Self {
            dry_run: !dry.is_empty(),
            grace_seconds,
            propagation: propagation.or(match orphan {
                Some(true) => Some(Propagation::Orphan),
                Some(false) => Some(Propagation::Background),
                None => None,
            }),
            uid: precondition("uid"),
            resource_version: precondition("resourceVersion"),
        })
    }
}

/// The meaning of a list's resourceVersion.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Match {
    Unset,
    Exact,
    NotOlderThan,
}

/// The options of list, watch and deletecollection.
#[derive(Debug, Clone)]
pub(crate) struct ListOptions {
    pub(crate) labels: LabelSelector,
    pub(crate) fields: FieldSelector,
    pub(crate) watch: bool,
    pub(crate) bookmarks: bool,
    pub(crate) send_initial_events: Option<bool>,
    pub(crate) resource_version: Option<String>,
    pub(crate) version_match: Match,
    pub(crate) limit: usize,
    pub(crate) continue_token: Option<String>,
    pub(crate) timeout_seconds: Option<u64>,
}

impl ListOptions {
    /// Parses the options and checks their combination.
    pub(crate) fn parse(query: &Query, watch: bool) -> Result<Self> {
        let watch = watch || query.flag("watch");
        let number = |key: &str| match query.get(key).map(str::parse::<i64>) {
            None => Ok(0),
            Some(Ok(n)) => Ok(n),
            Some(Err(_)) => {
                let text = query.get(key).unwrap_or_default();
                Err(ApiError::bad_request(format!("strconv.ParseInt: parsing \"{text}\": invalid syntax")))
            }
        };
        let limit = usize::try_from(number("limit")?).unwrap_or(0);
        let timeout_seconds = u64::try_from(number("timeoutSeconds")?).ok().filter(|t| *t > 0);
        let version_match = match query.get("resourceVersionMatch") {
            Some("Exact") => Match::Exact,
            Some("NotOlderThan") => Match::NotOlderThan,
            _ => Match::Unset,
        };
        let options = Self {
            labels: LabelSelector::parse(query.get("labelSelector").unwrap_or_default())?,
            fields: FieldSelector::parse(query.get("fieldSelector").unwrap_or_default())?,
            watch,
            bookmarks: query.flag("allowWatchBookmarks"),
            send_initial_events: query.get("sendInitialEvents").map(|v| v == "true" || v == "1"),
            resource_version: query.get("resourceVersion").map(str::to_owned),
            version_match,
            limit,
            continue_token: query.get("continue").map(str::to_owned),
            timeout_seconds,
        };
        let causes = options.causes(query.get("resourceVersionMatch"));
        if causes.is_empty() { Ok(options) } else { Err(ApiError::invalid_options("ListOptions", &causes)) }
    }

    fn causes(&self, asked: Option<&str>) -> Vec<Cause> {
        const FIELD: &str = "resourceVersionMatch";
        let mut causes = Vec::new();
        if self.watch {
            match (asked, self.send_initial_events) {
                (Some(asked), None) => {
                    let detail = "resourceVersionMatch is forbidden for watch unless sendInitialEvents is provided";
                    causes.push(Cause::forbidden(FIELD, detail));
                    if asked != "NotOlderThan" {
                        causes.push(Cause::unsupported(FIELD, &json!(asked), &["NotOlderThan"]));
                    }
                }
                (asked, Some(_)) if asked != Some("NotOlderThan") => {
                    let detail = "sendInitialEvents requires setting resourceVersionMatch to NotOlderThan";
                    causes.push(Cause::forbidden(FIELD, detail));
                    if let Some(other) = asked {
                        causes.push(Cause::unsupported(FIELD, &json!(other), &["NotOlderThan"]));
                    }
                }
                _ => {}
            }
            if self.continue_token.is_some() {
                let detail = "resourceVersionMatch is forbidden when continue is provided";
                causes.push(Cause::forbidden(FIELD, detail));
            }
            return causes;
        }
        if self.send_initial_events.is_some() {
            causes.push(Cause::forbidden("sendInitialEvents", "sendInitialEvents is forbidden for list"));
        }
        let Some(asked) = asked else { return causes };
        let version = self.resource_version.as_deref().unwrap_or_default();
        if version.is_empty() {
            let detail = "resourceVersionMatch is forbidden unless resourceVersion is provided";
            causes.push(Cause::forbidden(FIELD, detail));
        }
        if self.continue_token.is_some() {
            let detail = "resourceVersionMatch is forbidden when continue is provided";
            causes.push(Cause::forbidden(FIELD, detail));
        }
        if !matches!(asked, "Exact" | "NotOlderThan") {
            causes.push(Cause::unsupported(FIELD, &json!(asked), &["Exact", "NotOlderThan", ""]));
        }
        if asked == "Exact" && version == "0" {
            let detail = "resourceVersionMatch \"exact\" is forbidden for resourceVersion \"0\"";
            causes.push(Cause::forbidden(FIELD, detail));
        }
        causes
    }
}

/// Parses a resourceVersion of a request; the error message is the API server's.
pub(crate) fn parse_version(text: &str) -> std::result::Result<u64, String> {
    text.parse().ok().ok_or_else(|| {
        format!("resourceVersion: Invalid value: \"{text}\": strconv.ParseUint: parsing \"{text}\": invalid syntax")
    })
}
