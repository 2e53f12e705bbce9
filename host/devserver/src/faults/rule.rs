//! Fault rules in their written form, and their validation.

use serde::{Deserialize, Serialize};
use serde_json::Value;

use super::plan::glob;
use crate::{http::body, model::error::Error};

/// A fault rule: matching requests, conditions, and the fault.
///
/// In YAML (`oarlock apiserver --faults` takes a list of these):
///
/// ```
/// # let rules = oarlock_devserver::faults::Rules::parse(r#"
/// - id: lost-answers
///   requests: {verbs: [create, apply], resource: configmaps, userAgent: "my-controller/*"}
///   skip: 1
///   times: 2
///   fault: {cut: {afterEffect: true}}
/// # "#).unwrap();
/// # assert_eq!(rules.iter().next().unwrap().times, Some(2));
/// ```
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct Rule {
    /// The rule's id, of letters, digits, `-`, `_` and `.`; `rule-1`, `rule-2`, … when empty.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub id: String,
    /// The matching requests. A fault of watches also applies to running watches when the rule is added.
    #[serde(default, skip_serializing_if = "is_default")]
    pub requests: Requests,
    /// The matching events of these watches; only for `delayEvents`, `dropEvents` and `duplicateEvents`.
    #[serde(default, skip_serializing_if = "is_default")]
    pub events: Events,
    /// The number of matches before the first fault.
    #[serde(default, skip_serializing_if = "is_default")]
    pub skip: u64,
    /// The number of faults; `None`: until the rule is removed.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub times: Option<u64>,
    /// The probability of each fault, from 0 to 1; `None`: always.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub probability: Option<f64>,
    /// Seed of the random numbers for `probability`: the same seed and order of requests give the same faults.
    #[serde(default, skip_serializing_if = "is_default")]
    pub seed: u64,
    /// The fault.
    pub fault: Fault,
}

/// The matching requests of a rule. Absent fields match everything; in strings `*` is any sequence of characters.
///
/// `verbs` to `name` concern requests for objects: a rule with one of them does not match discovery and `/version`.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields, default)]
pub struct Requests {
    /// get, list, watch, create, update, patch, apply, delete, deletecollection; empty: all.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub verbs: Vec<String>,
    /// The API group; empty for the core group.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub group: Option<String>,
    /// The plural.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub resource: Option<String>,
    /// `status`, `scale`, …; empty for the object itself.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub subresource: Option<String>,
    /// The namespace of the path; empty for a cluster-scoped object, or all namespaces.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub namespace: Option<String>,
    /// The name of the path; empty for a request for several objects, or a create.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub name: Option<String>,
    /// The path without the query, of any request.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub path: Option<String>,
    /// The User-Agent header.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub user_agent: Option<String>,
    /// The user of the request: `system:admin` without credentials.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub user: Option<String>,
}

impl Requests {
    /// Whether requests for a resource can match.
    ///
    /// * `group` - empty for the core group.
    /// * `resource` - the plural.
    #[must_use]
    pub fn fit_resource(&self, group: &str, resource: &str) -> bool {
        let fits = |pattern: &Option<String>, text: &str| pattern.as_deref().is_none_or(|pattern| glob(pattern, text));
        fits(&self.group, group) && fits(&self.resource, resource)
    }
}

/// The matching events of a watch. Absent fields match everything, but bookmarks only match when `types` contains them.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields, default)]
pub struct Events {
    /// ADDED, MODIFIED, DELETED, BOOKMARK; empty: the first three.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub types: Vec<String>,
    /// The namespace of the object.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub namespace: Option<String>,
    /// The name of the object.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub name: Option<String>,
}

/// The fault of a rule.
///
/// `after_effect` (`afterEffect` in a file): the request is carried out first, and only its response is lost, late or replaced.
///
/// All rules that match a request apply: `compact`, `stale`, `delay` and `slowBody` add up; of those that replace the response (`answer`,
/// `hang`, `cut`, `crash`) the first one counts.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", rename_all_fields = "camelCase", deny_unknown_fields)]
#[non_exhaustive]
pub enum Fault {
    /// Answers with a `Status`.
    Answer {
        /// The HTTP status code, 400 to 599.
        code: u16,
        /// `reason` of the status; `None`: Kubernetes' reason for this code.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        reason: Option<String>,
        /// `message` of the status.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        message: Option<String>,
        /// Value of the Retry-After header and of the details, in seconds.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        retry_after_seconds: Option<u64>,
        /// See [`Fault`].
        #[serde(default)]
        after_effect: bool,
    },
    /// Delays the response.
    Delay {
        /// The delay.
        milliseconds: u64,
        /// See [`Fault`].
        #[serde(default)]
        after_effect: bool,
    },
    /// Sends no response; the connection is cut when the rule is removed.
    Hang {
        /// See [`Fault`].
        #[serde(default)]
        after_effect: bool,
    },
    /// Cuts the connection without a response.
    Cut {
        /// See [`Fault`].
        #[serde(default)]
        after_effect: bool,
    },
    /// The client crashes after a write: the write is carried out, its response is never sent. From then on every request and every watch
    /// of that client (the same User-Agent and user) is cut, until the rule is removed. Applies only to writes, and not to dry runs.
    Crash {
        /// A process of the server's own user to kill (SIGKILL) after the write.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        kill: Option<i32>,
    },
    /// Sends the response slowly, in pieces; watches are not affected.
    SlowBody {
        /// Bytes per piece.
        bytes: usize,
        /// Time between pieces.
        milliseconds: u64,
    },
    /// Answers reads (get, list, watch) from the past, like another API server that lags behind.
    Stale {
        /// The number of versions behind; `None`: the state when the rule was added, while the rule exists.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        versions: Option<u64>,
        /// No read is older than this resourceVersion.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        not_older_than: Option<u64>,
        /// Only reads that Kubernetes serves from its watch cache: watches, and reads with a resourceVersion.
        #[serde(default)]
        cached_only: bool,
    },
    /// Compacts the log: requests that continue from an older version get 410. Running watches continue.
    Compact {},
    /// Delays events, and with them all later events.
    DelayEvents {
        /// The delay.
        milliseconds: u64,
    },
    /// Drops events.
    DropEvents {},
    /// Sends events twice.
    DuplicateEvents {},
    /// Ends the watch after this many further events or this much time, whichever is first; at once when neither is given.
    CloseWatch {
        /// Number of further events (without bookmarks).
        #[serde(default, skip_serializing_if = "Option::is_none")]
        after_events: Option<u64>,
        /// Time until the end.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        after_milliseconds: Option<u64>,
        /// Cuts the connection instead of an orderly end.
        #[serde(default)]
        cut: bool,
    },
    /// Ends the watch with an ERROR event with a 410; the time is as for `closeWatch`.
    ExpireWatch {
        /// Number of further events.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        after_events: Option<u64>,
        /// Time until the end.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        after_milliseconds: Option<u64>,
    },
    /// Sends nothing any more, not even a bookmark or the end, while the connection stays open; the time is as for `closeWatch`.
    /// Afterwards, or when the rule is removed, the watch continues where it stopped.
    StallWatch {
        /// Number of further events.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        after_events: Option<u64>,
        /// Time until the stall.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        after_milliseconds: Option<u64>,
        /// Duration of the stall; `None`: until the rule is removed.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        milliseconds: Option<u64>,
    },
}

fn is_default<T: Default + PartialEq>(value: &T) -> bool {
    *value == T::default()
}

/// The verbs of requests for objects.
const VERBS: &[&str] = &["get", "list", "watch", "create", "update", "patch", "apply", "delete", "deletecollection"];
/// The verbs that write.
const WRITES: &[&str] = &["create", "update", "patch", "apply", "delete", "deletecollection"];
const TYPES: &[&str] = &["ADDED", "MODIFIED", "DELETED", "BOOKMARK"];

/// A field of a rule and its fault.
type Wrong = (&'static str, String);

impl Rule {
    /// A rule that matches every request.
    #[must_use]
    pub fn new(fault: Fault) -> Self {
        Self {
            id: String::new(),
            requests: Requests::default(),
            events: Events::default(),
            skip: 0,
            times: None,
            probability: None,
            seed: 0,
            fault,
        }
    }

    /// Sets [`id`](Self::id).
    #[must_use]
    pub fn id(mut self, id: &str) -> Self {
        id.clone_into(&mut self.id);
        self
    }

    /// Sets [`requests`](Self::requests).
    #[must_use]
    pub fn requests(mut self, requests: Requests) -> Self {
        self.requests = requests;
        self
    }

    /// Sets [`events`](Self::events).
    #[must_use]
    pub fn events(mut self, events: Events) -> Self {
        self.events = events;
        self
    }

    /// Sets [`skip`](Self::skip).
    #[must_use]
    pub fn skip(mut self, skip: u64) -> Self {
        self.skip = skip;
        self
    }

    /// Sets [`times`](Self::times).
    #[must_use]
    pub fn times(mut self, times: u64) -> Self {
        self.times = Some(times);
        self
    }

    fn check(&self) -> Result<(), Wrong> {
        let known = |c: char| c.is_ascii_alphanumeric() || matches!(c, '-' | '_' | '.');
        if !self.id.chars().all(known) || self.id.len() > 100 {
            return Err(("id", format!("{:?} has other characters than letters, digits, -, _ and .", self.id)));
        }
        if self.times == Some(0) {
            return Err(("times", "0 times is never".to_owned()));
        }
        if let Some(p) = self.probability.filter(|p| !(0.0..=1.0).contains(p)) {
            return Err(("probability", format!("{p} is not between 0 and 1")));
        }
        let unknown = |list: &[String], known: &[&str]| list.iter().find(|v| !known.contains(&v.as_str())).cloned();
        if let Some(verb) = unknown(&self.requests.verbs, VERBS) {
            return Err(("requests.verbs", format!("{verb:?} is none of {}", VERBS.join(", "))));
        }
        if let Some(kind) = unknown(&self.events.types, TYPES) {
            return Err(("events.types", format!("{kind:?} is none of {}", TYPES.join(", "))));
        }
        if !self.fault.is_about_events() && self.events != Events::default() {
            return Err(("events", "only delayEvents, dropEvents and duplicateEvents choose events".to_owned()));
        }
        if let Some(verbs) = self.fault.verbs() {
            let useless = self.requests.verbs.iter().find(|v| !verbs.contains(&v.as_str()));
            if let Some(verb) = useless {
                return Err((
                    "requests.verbs",
                    format!("this fault never strikes a {verb}, only {}", verbs.join(", ")),
                ));
            }
        }
        self.fault.check()
    }
}

impl Fault {
    /// Whether the fault concerns single events of a watch.
    pub(crate) fn is_about_events(&self) -> bool {
        matches!(self, Self::DelayEvents { .. } | Self::DropEvents {} | Self::DuplicateEvents {})
    }

    /// Whether the fault concerns running watches.
    pub(crate) fn is_about_watches(&self) -> bool {
        matches!(self, Self::CloseWatch { .. } | Self::ExpireWatch { .. } | Self::StallWatch { .. })
    }

    /// The verbs that the rule can match; `None`: all.
    pub(crate) fn verbs(&self) -> Option<&'static [&'static str]> {
        match self {
            Self::Crash { .. } => Some(WRITES),
            Self::Stale { .. } => Some(&["get", "list", "watch"]),
            other if other.is_about_events() || other.is_about_watches() => Some(&["watch"]),
            _ => None,
        }
    }

    fn check(&self) -> Result<(), Wrong> {
        match self {
            Self::Answer { code, .. } if !(400..600).contains(code) => {
                Err(("fault.answer.code", format!("{code} is not between 400 and 599")))
            }
            Self::Crash { kill: Some(pid) } if *pid <= 1 => {
                Err(("fault.crash.kill", format!("{pid} is not the number of a process that can be killed")))
            }
            Self::SlowBody { bytes: 0, .. } => Err(("fault.slowBody.bytes", "0 bytes is nothing".to_owned())),
            _ => Ok(()),
        }
    }
}

/// Valid rules, in their order of evaluation.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Rules(Vec<Rule>);

impl Rules {
    /// Validates rules.
    ///
    /// # Errors
    ///
    /// [`Error::Fault`] with the number of the first invalid rule, and the field.
    pub fn new(rules: Vec<Rule>) -> Result<Self, Error> {
        for (rule, found) in (1_usize..).zip(&rules) {
            found.check().map_err(|(field, why)| Error::Fault { rule, field: field.to_owned(), why })?;
        }
        Ok(Self(rules))
    }

    /// Parses one rule or a list of rules, in JSON or YAML.
    ///
    /// # Errors
    ///
    /// [`Error::Fault`] with the number of the rule, from 1 (0: the text is no document), and the field.
    pub fn parse(text: &str) -> Result<Self, Error> {
        Self::from_bytes(text.as_bytes())
    }

    pub(crate) fn from_bytes(bytes: &[u8]) -> Result<Self, Error> {
        let document = body::yaml_or_json(bytes);
        let document = document.map_err(|why| Error::Fault { rule: 0, field: ".".to_owned(), why })?.value;
        let list = match document {
            Value::Array(list) => list,
            Value::Null => Vec::new(),
            one => vec![one],
        };
        let mut rules = Vec::with_capacity(list.len());
        for (rule, value) in (1_usize..).zip(list) {
            rules.push(serde_path_to_error::deserialize::<_, Rule>(value).map_err(|error| Error::Fault {
                rule,
                field: error.path().to_string(),
                why: error.inner().to_string(),
            })?);
        }
        Self::new(rules)
    }

    /// The rules.
    pub fn iter(&self) -> std::slice::Iter<'_, Rule> {
        self.0.iter()
    }

    pub(crate) fn into_vec(self) -> Vec<Rule> {
        self.0
    }
}

impl<'a> IntoIterator for &'a Rules {
    type Item = &'a Rule;
    type IntoIter = std::slice::Iter<'a, Rule>;

    fn into_iter(self) -> Self::IntoIter {
        self.iter()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn refused(text: &str, words: &[&str]) {
        let error = Rules::parse(text).unwrap_err().to_string();
        for word in words {
            assert!(error.contains(word), "{word:?} is not in {error:?}");
        }
    }

    #[test]
    fn a_bad_rule_is_named_with_its_field() {
        refused("- fault: {cut: {}}\n- fault: {cat: {}}", &["rule 2", "fault", "cat"]);
        refused("- fault: {answer: {code: 200}}", &["rule 1", "fault.answer.code", "200"]);
        refused("- fault: {answer: {code: x}}", &["rule 1", "fault.answer.code"]);
        refused("- fault: {delay: {miliseconds: 5}}", &["rule 1", "fault.delay", "miliseconds"]);
        refused(
            "- {requests: {verbs: [fetch]}, fault: {cut: {}}}",
            &["rule 1", "requests.verbs", "fetch", "deletecollection"],
        );
        refused("- {requests: {verb: [get]}, fault: {cut: {}}}", &["rule 1", "requests", "verb"]);
        refused("- {requests: {verbs: [get]}, fault: {crash: {}}}", &["requests.verbs", "never strikes a get"]);
        refused("- {requests: {verbs: [list]}, fault: {dropEvents: {}}}", &["requests.verbs", "list"]);
        refused("- {events: {name: a}, fault: {cut: {}}}", &["events"]);
        refused("- {events: {types: [GONE]}, fault: {dropEvents: {}}}", &["events.types", "GONE"]);
        refused("- {times: 0, fault: {cut: {}}}", &["times"]);
        refused("- {probability: 1.5, fault: {cut: {}}}", &["probability", "1.5"]);
        refused("- {fault: {crash: {kill: 1}}}", &["fault.crash.kill"]);
        refused("- {fault: {crash: {kill: -1}}}", &["fault.crash.kill"]);
        refused("- {fault: {slowBody: {bytes: 0, milliseconds: 1}}}", &["fault.slowBody.bytes"]);
        refused("- {id: a/b, fault: {cut: {}}}", &["id", "a/b"]);
        refused("- requests: {}", &["rule 1", "fault"]);
        refused("- 7", &["rule 1"]);
        refused("\"\\xff", &["rule 0"]);
    }

    #[test]
    fn a_rule_reads_what_it_writes() {
        let text = "{id: a, requests: {verbs: [watch], name: ''}, events: {types: [DELETED]}, skip: 1, times: 2, probability: 0.5, \
                    seed: 3, fault: {delayEvents: {milliseconds: 4}}}";
        let rules = Rules::parse(text).unwrap();
        let written = serde_json::to_string(&rules.0).unwrap();
        assert_eq!(Rules::parse(&written).unwrap(), rules);
        assert!(Rules::parse("").unwrap().0.is_empty());
    }
}
