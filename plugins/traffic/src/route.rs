//! The TrafficRoute: its fields, and the checks that need no other object.

use crate::{duration, regular_expression};
use oarlock_guest::{Kind, kind};
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;

/// A TrafficRoute, as far as this plugin reads it.
#[derive(Clone, Debug, Default, Deserialize)]
#[serde(default)]
pub(crate) struct TrafficRoute {
    pub(crate) metadata: Metadata,
    pub(crate) spec: Spec,
    pub(crate) status: Status,
}

#[derive(Clone, Debug, Default, Deserialize)]
#[serde(default, rename_all = "camelCase")]
pub(crate) struct Metadata {
    pub(crate) name: String,
    pub(crate) namespace: String,
    pub(crate) uid: String,
    pub(crate) generation: i64,
    pub(crate) creation_timestamp: String,
}

#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub(crate) struct Spec {
    pub(crate) host: String,
    pub(crate) rules: Vec<Rule>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) canary: Option<Canary>,
}

#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub(crate) struct Rule {
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub(crate) matches: Vec<Match>,
    pub(crate) destinations: Vec<Destination>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) timeout: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) retries: Option<Retries>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) mirror: Option<Mirror>,
}

/// All of its conditions must hold.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub(crate) struct Match {
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) path: Option<PathMatch>,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub(crate) headers: Vec<HeaderMatch>,
}

#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub(crate) struct PathMatch {
    #[serde(rename = "type", default)]
    pub(crate) kind: PathKind,
    pub(crate) value: String,
}

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) enum PathKind {
    /// The path itself and paths below it.
    #[default]
    PathPrefix,
    Exact,
    RegularExpression,
}

#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub(crate) struct HeaderMatch {
    pub(crate) name: String,
    #[serde(rename = "type", default)]
    pub(crate) kind: HeaderKind,
    pub(crate) value: String,
}

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) enum HeaderKind {
    #[default]
    Exact,
    RegularExpression,
}

/// Pods or a Service of the route's namespace.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub(crate) struct Target {
    pub(crate) name: String,
    /// Labels of Pods. Exactly one of `pods` and `service` is set.
    #[serde(skip_serializing_if = "BTreeMap::is_empty")]
    pub(crate) pods: BTreeMap<String, String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) service: Option<String>,
    pub(crate) port: u16,
}

#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub(crate) struct Destination {
    #[serde(flatten)]
    pub(crate) target: Target,
    pub(crate) weight: u32,
}

#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub(crate) struct Mirror {
    #[serde(flatten)]
    pub(crate) target: Target,
    pub(crate) percent: u32,
}

#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default, rename_all = "camelCase")]
pub(crate) struct Retries {
    pub(crate) attempts: u32,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) per_try_timeout: Option<String>,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub(crate) on: Vec<String>,
}

/// Moves the weight of a rule's other destination to `destination`, step by step.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(default, rename_all = "camelCase")]
pub(crate) struct Canary {
    pub(crate) destination: String,
    pub(crate) step_percent: u32,
    pub(crate) interval: String,
    pub(crate) metric: Metric,
    pub(crate) on_degradation: OnDegradation,
}

#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub(crate) struct Metric {
    /// A PromQL query with one sample as its result.
    pub(crate) query: String,
    /// The largest good value, a decimal number.
    pub(crate) max: String,
}

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) enum OnDegradation {
    /// The weight stays as it is.
    #[default]
    Stop,
    /// The weight returns to 0.
    Rollback,
}

/// The part of the status that later reconciles read.
#[derive(Clone, Debug, Default, Deserialize)]
#[serde(default)]
pub(crate) struct Status {
    pub(crate) accepted: Option<Accepted>,
    pub(crate) canary: Option<Progress>,
}

/// The last valid configuration, with the weights of the canary: Envoy gets it.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub(crate) struct Accepted {
    /// The generation of the TrafficRoute.
    pub(crate) generation: i64,
    pub(crate) host: String,
    pub(crate) rules: Vec<Rule>,
}

/// The state of a canary.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(default, rename_all = "camelCase")]
pub(crate) struct Progress {
    /// The generation that it began with: an edit of the spec begins it again.
    pub(crate) generation: i64,
    pub(crate) weight: u32,
    /// The time of the last step, in seconds since 1970, as Prometheus has it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) stepped_at: Option<i64>,
    pub(crate) phase: Phase,
    pub(crate) message: String,
}

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) enum Phase {
    #[default]
    Advancing,
    Stopped,
    RolledBack,
    Completed,
}

/// Why a configuration is not accepted.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Problem {
    /// The reason of the condition `Accepted`.
    pub(crate) reason: &'static str,
    pub(crate) message: String,
}

impl Problem {
    pub(crate) fn new(reason: &'static str, message: impl Into<String>) -> Self {
        Self { reason, message: message.into() }
    }
}

pub(crate) fn route_kind() -> Kind {
    kind("traffic.oarlock.dev/v1alpha1", "TrafficRoute")
}

impl TrafficRoute {
    /// `NAMESPACE/NAME`, which begins the names of its clusters.
    pub(crate) fn id(&self) -> String {
        format!("{}/{}", self.metadata.namespace, self.metadata.name)
    }

    /// Older routes first.
    pub(crate) fn age(&self) -> (&str, &str, &str) {
        (&self.metadata.creation_timestamp, &self.metadata.namespace, &self.metadata.name)
    }
}

/// The domains of a host as Pods of any namespace write it. In its own namespace, the plain name of a Service is one, too.
pub(crate) fn domains(host: &str, namespace: &str) -> Vec<String> {
    if host.contains('.') {
        return vec![host.to_owned()];
    }
    ["", ".svc", ".svc.cluster.local"].iter().map(|end| format!("{host}.{namespace}{end}")).collect()
}

impl Spec {
    /// Every target: destinations and mirrors.
    pub(crate) fn targets(&self) -> impl Iterator<Item = &Target> {
        targets(&self.rules)
    }

    /// The first fault that shows without other objects.
    pub(crate) fn problem(&self) -> Option<Problem> {
        self.rules
            .iter()
            .enumerate()
            .find_map(|(i, rule)| rule.problem(i))
            .or_else(|| self.ambiguous())
            .or_else(|| self.canary.as_ref()?.problem(&self.rules))
    }

    /// Two targets of one name: Envoy's clusters have the names of targets.
    fn ambiguous(&self) -> Option<Problem> {
        let mut known: BTreeMap<&str, &Target> = BTreeMap::new();
        self.targets().find_map(|target| match known.insert(&target.name, target) {
            Some(before) if before != target => Some(Problem::new(
                "DestinationAmbiguous",
                format!("destination {} has two definitions: give one of them another name", target.name),
            )),
            _ => None,
        })
    }
}

/// Every target of rules.
pub(crate) fn targets(rules: &[Rule]) -> impl Iterator<Item = &Target> {
    rules.iter().flat_map(|rule| {
        rule.destinations
            .iter()
            .map(|destination| &destination.target)
            .chain(rule.mirror.iter().map(|mirror| &mirror.target))
    })
}

impl Rule {
    fn problem(&self, i: usize) -> Option<Problem> {
        let sum: u32 = self.destinations.iter().map(|destination| destination.weight).sum();
        if sum != 100 {
            let weights: Vec<String> =
                self.destinations.iter().map(|to| format!("{} {}", to.target.name, to.weight)).collect();
            return Some(Problem::new(
                "WeightsDoNotAddUp",
                format!("rules[{i}]: the weights add up to {sum}, not 100: {}", weights.join(", ")),
            ));
        }
        if let Some((text, why)) = self.expressions().find_map(|text| Some((text, regular_expression::problem(text)?)))
        {
            return Some(Problem::new(
                "InvalidRegularExpression",
                format!("rules[{i}].matches: {text:?} is not a regular expression for Envoy: {why}"),
            ));
        }
        let per_try = self.retries.as_ref().and_then(|retries| retries.per_try_timeout.as_ref());
        let durations = [("timeout", self.timeout.as_ref()), ("retries.perTryTimeout", per_try)];
        for (field, text) in durations {
            if let Some(text) = text
                && duration::seconds(text).is_none()
            {
                return Some(Problem::new(
                    "InvalidDuration",
                    format!("rules[{i}].{field}: {text:?} is not a duration such as 1m30s"),
                ));
            }
        }
        None
    }

    /// The regular expressions of paths and headers.
    fn expressions(&self) -> impl Iterator<Item = &str> {
        self.matches.iter().flat_map(|one| {
            let path = one.path.iter().filter(|path| path.kind == PathKind::RegularExpression).map(|path| &path.value);
            let headers = one.headers.iter().filter(|header| header.kind == HeaderKind::RegularExpression);
            path.chain(headers.map(|header| &header.value)).map(String::as_str)
        })
    }

    /// Whether the rule splits traffic between this destination and one other.
    fn splits(&self, destination: &str) -> bool {
        self.destinations.len() == 2 && self.destinations.iter().any(|to| to.target.name == destination)
    }
}

impl Canary {
    fn problem(&self, rules: &[Rule]) -> Option<Problem> {
        let invalid = |message: String| Some(Problem::new("InvalidCanary", message));
        if !rules.iter().any(|rule| rule.splits(&self.destination)) {
            return invalid(format!(
                "canary.destination: no rule has the destination {:?} and one other: a canary moves weight between two",
                self.destination
            ));
        }
        if self.limit().is_none() {
            return invalid(format!("canary.metric.max: {:?} is not a number", self.metric.max));
        }
        if !duration::seconds(&self.interval).is_some_and(|seconds| seconds >= 1.0) {
            return invalid(format!(
                "canary.interval: {:?} is not a duration of at least a second, such as 3m",
                self.interval
            ));
        }
        None
    }

    /// The largest good value of the metric.
    pub(crate) fn limit(&self) -> Option<f64> {
        self.metric.max.parse().ok().filter(|max: &f64| max.is_finite())
    }

    /// The weight of the canary's destination in the spec.
    pub(crate) fn first_weight(&self, rules: &[Rule]) -> u32 {
        let split = rules.iter().find(|rule| rule.splits(&self.destination));
        let own = split.and_then(|rule| rule.destinations.iter().find(|to| to.target.name == self.destination));
        own.map_or(0, |to| to.weight)
    }

    /// The rules with this weight for the canary's destination, and the rest for the other one.
    pub(crate) fn with_weight(&self, rules: &[Rule], weight: u32) -> Vec<Rule> {
        let mut rules = rules.to_vec();
        for rule in rules.iter_mut().filter(|rule| rule.splits(&self.destination)) {
            for to in &mut rule.destinations {
                to.weight = if to.target.name == self.destination { weight } else { 100_u32.saturating_sub(weight) };
            }
        }
        rules
    }
}
