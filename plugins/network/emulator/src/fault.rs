//! Fault rules for chosen requests.

use serde::{Deserialize, Serialize};
use serde_json::Value;

/// One rule: matching requests and their fault.
///
/// The first matching rule with remaining uses applies; later ones do not see the request.
/// In JSON (`PUT /_faults` takes a list of these):
///
/// ```
/// # let rule: neutron_emulator::Fault = serde_json::from_str(r#"
/// {"method": "POST", "path": "/v2.0/networks", "skip": 1, "count": 2, "action": {"answer": {"status": 503}}}
/// # "#).unwrap();
/// # assert_eq!(rule.count, Some(2));
/// ```
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct Fault {
    /// HTTP method in capitals; `None` matches every method.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub method: Option<String>,
    /// The whole path without the query, where `*` is any sequence of characters (including `/`): `/v2.0/networks/*/tags`. `None` matches
    /// every path of both services; Keystone's paths begin with `/v3`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub path: Option<String>,
    /// How many matching requests pass before the rule applies.
    #[serde(default)]
    pub skip: u64,
    /// The number of requests to which the rule then applies; `None`: until the rules are replaced.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub count: Option<u64>,
    /// The fault.
    pub action: Action,
}

/// The effect of a [`Fault`] on a request.
///
/// `after_effect` (`afterEffect` in JSON): the request is carried out first and only its response is lost or replaced, as when a proxy
/// times out on a slow success.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", rename_all_fields = "camelCase", deny_unknown_fields)]
#[non_exhaustive]
pub enum Action {
    /// Answers with this status.
    Answer {
        /// HTTP status code.
        status: u16,
        /// `NeutronError.type`; `HTTPError` when absent.
        #[serde(default, rename = "type", skip_serializing_if = "Option::is_none")]
        kind: Option<String>,
        /// `NeutronError.message`.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        message: Option<String>,
        /// Replaces the whole body; `kind` and `message` are then ignored.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        body: Option<Value>,
        /// Sent as `Retry-After`.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        retry_after_seconds: Option<u64>,
        /// See [`Action`].
        #[serde(default)]
        after_effect: bool,
    },
    /// Resets the connection (TCP RST) without an answer. For every request: an outage.
    Reset {
        /// See [`Action`].
        #[serde(default)]
        after_effect: bool,
    },
    /// Holds the connection open without a response.
    Hang {
        /// See [`Action`].
        #[serde(default)]
        after_effect: bool,
    },
    /// Carries the request out after this time.
    Delay {
        /// Milliseconds.
        milliseconds: u64,
    },
    /// Sends the true answer slowly, in pieces.
    Dribble {
        /// Bytes per piece; 0 counts as 1.
        #[serde(default)]
        bytes: usize,
        /// Time between pieces in milliseconds.
        milliseconds: u64,
    },
    /// Answers 200 with a syntactically valid JSON body of about this many bytes.
    Oversized {
        /// Length of the body.
        bytes: usize,
    },
    /// Answers 200 with `Content-Type: application/json` and bytes that are neither JSON nor UTF-8.
    Garbage,
    /// Carries out the request, but a list omits objects younger than this (a replica that lags behind).
    HideNew {
        /// Age in milliseconds from which objects are listed.
        milliseconds: u64,
    },
    /// Every token issued so far has expired when this request arrives.
    ExpireTokens,
}

impl Action {
    /// An answer with this status and Neutron error type.
    #[must_use]
    pub fn answer(status: u16, kind: &str) -> Self {
        Self::Answer {
            status,
            kind: Some(kind.to_owned()),
            message: None,
            body: None,
            retry_after_seconds: None,
            after_effect: false,
        }
    }

    /// 429 with `Retry-After` in seconds.
    #[must_use]
    pub fn throttle(retry_after_seconds: u64) -> Self {
        Self::Answer {
            status: 429,
            kind: Some("OverLimit".to_owned()),
            message: Some("This request was rate-limited.".to_owned()),
            body: None,
            retry_after_seconds: Some(retry_after_seconds),
            after_effect: false,
        }
    }

    /// A reset before the request is carried out.
    #[must_use]
    pub const fn reset() -> Self {
        Self::Reset { after_effect: false }
    }

    /// A reset after the request was carried out.
    #[must_use]
    pub const fn reset_after_effect() -> Self {
        Self::Reset { after_effect: true }
    }

    /// Name for the journal.
    pub(crate) const fn name(&self) -> &'static str {
        match self {
            Self::Answer { .. } => "answer",
            Self::Reset { .. } => "reset",
            Self::Hang { .. } => "hang",
            Self::Delay { .. } => "delay",
            Self::Dribble { .. } => "dribble",
            Self::Oversized { .. } => "oversized",
            Self::Garbage => "garbage",
            Self::HideNew { .. } => "hideNew",
            Self::ExpireTokens => "expireTokens",
        }
    }
}

impl Fault {
    /// A rule that applies to every request until it is replaced.
    #[must_use]
    pub const fn new(action: Action) -> Self {
        Self { method: None, path: None, skip: 0, count: None, action }
    }

    /// Limits the rule to a method and a path pattern (see [`Fault::path`]).
    #[must_use]
    pub fn on(mut self, method: &str, path: &str) -> Self {
        self.method = Some(method.to_owned());
        self.path = Some(path.to_owned());
        self
    }

    /// Limits the rule to a path pattern (see [`Fault::path`]), whatever the method.
    #[must_use]
    pub fn on_path(mut self, path: &str) -> Self {
        self.path = Some(path.to_owned());
        self
    }

    /// Applies the rule to this many requests only.
    #[must_use]
    pub const fn times(mut self, count: u64) -> Self {
        self.count = Some(count);
        self
    }

    /// Lets this many matching requests pass first.
    #[must_use]
    pub const fn after(mut self, skip: u64) -> Self {
        self.skip = skip;
        self
    }

    fn matches(&self, method: &str, path: &str) -> bool {
        self.method.as_deref().is_none_or(|m| m == method)
            && self.path.as_deref().is_none_or(|p| glob(p.as_bytes(), path.as_bytes()))
    }
}

/// Whether `pattern`, in which `*` is any sequence, matches all of `text`.
fn glob(pattern: &[u8], text: &[u8]) -> bool {
    match (pattern.split_first(), text.split_first()) {
        (None, None) => true,
        (Some((b'*', rest)), _) => (0..=text.len()).any(|n| text.get(n..).is_some_and(|tail| glob(rest, tail))),
        (Some((p, rest)), Some((t, tail))) => p == t && glob(rest, tail),
        _ => false,
    }
}

/// The active rules and their remaining uses.
#[derive(Debug, Default)]
pub(crate) struct Plan {
    rules: Vec<Fault>,
}

impl Plan {
    pub(crate) fn set(&mut self, rules: Vec<Fault>) {
        self.rules = rules;
    }

    /// The rules with the remaining `skip` and `count`.
    pub(crate) fn rules(&self) -> &[Fault] {
        &self.rules
    }

    /// Finds the fault of this request, and counts it.
    pub(crate) fn take(&mut self, method: &str, path: &str) -> Option<Action> {
        for rule in self.rules.iter_mut().filter(|r| r.count != Some(0) && r.matches(method, path)) {
            if rule.skip > 0 {
                rule.skip -= 1;
                continue;
            }
            rule.count = rule.count.map(|n| n.saturating_sub(1));
            return Some(rule.action.clone());
        }
        None
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_star_matches_any_run() {
        let check = |pattern: &str, path: &str, expect: bool| {
            assert_eq!(glob(pattern.as_bytes(), path.as_bytes()), expect, "{pattern} on {path}");
        };
        check("/v2.0/networks", "/v2.0/networks", true);
        check("/v2.0/networks", "/v2.0/networks/1", false);
        check("/v2.0/networks*", "/v2.0/networks/1", true);
        check("/v2.0/networks/*/tags", "/v2.0/networks/1/tags", true);
        check("/v2.0/networks/*/tags", "/v2.0/networks/1", false);
        check("*", "", true);
    }

    #[test]
    fn a_rule_waits_then_applies_then_is_used_up() {
        let mut plan = Plan::default();
        plan.set(vec![Fault::new(Action::reset()).on("POST", "/a").after(1).times(2), Fault::new(Action::Garbage)]);
        assert_eq!(plan.take("POST", "/a"), Some(Action::Garbage), "skipped by the first rule, met by the second");
        assert_eq!(plan.take("GET", "/a"), Some(Action::Garbage));
        assert_eq!(plan.take("POST", "/a"), Some(Action::reset()));
        assert_eq!(plan.take("POST", "/a"), Some(Action::reset()));
        assert_eq!(plan.take("POST", "/a"), Some(Action::Garbage));
    }

    #[test]
    fn an_unknown_field_of_a_rule_is_refused() {
        let refused = serde_json::from_str::<Fault>(r#"{"paht": "/", "action": "garbage"}"#).unwrap_err();
        assert!(refused.to_string().contains("paht"), "{refused}");
    }
}
