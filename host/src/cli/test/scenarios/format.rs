//! The YAML format of a scenario. Names are chainsaw's where the meaning is the same.

use super::faults::FaultText;
use super::located::Located;
use oarlock::cases::{ExpectedRequest, StubText};
use oarlock_manifest::Limits;
use serde::{Deserialize, Deserializer};
use serde_saphyr::Spanned;
use std::collections::BTreeMap;
use std::path::PathBuf;
use std::time::Duration;

/// A scenario: what exists before the host starts, the HTTP services, and the steps.
#[derive(Debug, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub(super) struct Scenario {
    /// For people.
    #[serde(default)]
    pub(super) description: String,
    /// Values of the plugin's configuration.
    #[serde(default)]
    pub(super) config: BTreeMap<String, Spanned<String>>,
    /// The limits of the grant.
    pub(super) limits: Option<Limits>,
    /// The time of day when the host starts.
    pub(super) start: Option<Start>,
    /// Objects that exist before the host starts.
    #[serde(default)]
    pub(super) cluster: Vec<Spanned<Documents>>,
    /// Stubs of HTTP services; the first one that fits answers.
    #[serde(default)]
    pub(super) http: Vec<Spanned<StubText>>,
    /// Cases or recordings whose exchanges are stubs as well, each for one request.
    #[serde(default)]
    pub(super) recordings: Vec<Spanned<String>>,
    pub(super) steps: Spanned<Vec<Spanned<Step>>>,
}

/// One operation.
#[derive(Debug, Default, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub(super) struct Step {
    /// For people.
    #[serde(default)]
    pub(super) name: String,
    apply: Option<Write>,
    create: Option<Write>,
    update: Option<Write>,
    patch: Option<Write>,
    delete: Option<Delete>,
    assert: Option<Check>,
    error: Option<Check>,
    wait: Option<Wait>,
    events: Option<ExpectedEvents>,
    requests: Option<Vec<ExpectedRequest>>,
    stub: Option<Vec<StubText>>,
    advance: Option<Span>,
    quiet: Option<Quiet>,
    restart: Option<Restart>,
    swap: Option<Swap>,
    takeover: Option<Empty>,
    fault: Option<Box<FaultText>>,
    heal: Option<Heal>,
    logs: Option<Logs>,
}

/// The names of the operations.
const OPERATIONS: &str = "apply, create, update, patch, delete, assert, error, wait, events, requests, stub, advance, quiet, restart, swap, takeover, fault, heal and logs";

/// The operation of a step.
#[derive(Debug)]
pub(super) enum Operation {
    Write(Verb, Write),
    Delete(Delete),
    Assert(Check),
    Error(Check),
    Wait(Wait),
    Events(ExpectedEvents),
    Requests(Vec<ExpectedRequest>),
    Stub(Vec<StubText>),
    Advance(Duration),
    Quiet(Quiet),
    Restart(Restart),
    Swap(Swap),
    Takeover,
    Fault(Box<FaultText>),
    Heal(Heal),
    Logs(Logs),
}

/// How a document is written.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Verb {
    Apply,
    Create,
    Update,
    Patch,
}

impl Verb {
    pub(super) fn as_str(self) -> &'static str {
        match self {
            Self::Apply => "apply",
            Self::Create => "create",
            Self::Update => "update",
            Self::Patch => "patch",
        }
    }
}

impl Step {
    /// The operation of the step.
    ///
    /// # Errors
    ///
    /// The step has none, or several.
    pub(super) fn operation(self) -> Result<Operation, String> {
        let write = |verb: Verb, write: Option<Write>| write.map(|write| Operation::Write(verb, write));
        let all = [
            write(Verb::Apply, self.apply),
            write(Verb::Create, self.create),
            write(Verb::Update, self.update),
            write(Verb::Patch, self.patch),
            self.delete.map(Operation::Delete),
            self.assert.map(Operation::Assert),
            self.error.map(Operation::Error),
            self.wait.map(Operation::Wait),
            self.events.map(Operation::Events),
            self.requests.map(Operation::Requests),
            self.stub.map(Operation::Stub),
            self.advance.map(|span| Operation::Advance(span.0)),
            self.quiet.map(Operation::Quiet),
            self.restart.map(Operation::Restart),
            self.swap.map(Operation::Swap),
            self.takeover.map(|Empty {}| Operation::Takeover),
            self.fault.map(Operation::Fault),
            self.heal.map(Operation::Heal),
            self.logs.map(Operation::Logs),
        ];
        let mut found = all.into_iter().flatten();
        match (found.next(), found.next()) {
            (Some(operation), None) => Ok(operation),
            (None, _) => Err(format!("a step needs one of {OPERATIONS}")),
            (Some(_), Some(_)) => Err(format!("a step has several operations: it needs one of {OPERATIONS}")),
        }
    }
}

/// One document, or those of a file.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct Documents {
    pub(super) resource: Option<Located>,
    /// Path, from the folder of the scenario.
    pub(super) file: Option<String>,
}

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct Write {
    pub(super) resource: Option<Located>,
    /// Several, one after the other, while the host has no time to come to rest.
    #[serde(default)]
    pub(super) resources: Vec<Located>,
    pub(super) file: Option<String>,
    /// `status`, `scale`, …
    pub(super) subresource: Option<String>,
    /// A part of the message with which the API server rejects the write. None: it accepts it.
    pub(super) rejected: Option<String>,
}

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct Delete {
    pub(super) r#ref: ObjectRef,
    pub(super) rejected: Option<String>,
}

#[derive(Clone, Debug, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub(in crate::cli) struct ObjectRef {
    pub(super) api_version: String,
    pub(super) kind: String,
    #[serde(default)]
    pub(super) namespace: String,
    pub(super) name: String,
}

/// A part of an object. Without a name any object of the kind may have it. Or a part of a record of a service.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct Check {
    pub(super) resource: Option<Located>,
    pub(super) file: Option<String>,
    pub(super) timeout: Option<Span>,
    /// A collection of a service: its URL or the end of it.
    pub(super) collection: Option<String>,
    /// A part of one record of the collection.
    pub(super) record: Option<Located>,
    /// Parts of all records of the collection, in any order.
    pub(super) records: Option<Located>,
}

#[derive(Debug, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub(super) struct Wait {
    pub(super) api_version: String,
    pub(super) kind: String,
    #[serde(default)]
    pub(super) namespace: String,
    pub(super) name: String,
    pub(super) r#for: For,
    pub(super) timeout: Option<Span>,
}

/// What is waited for: one of the fields.
#[derive(Debug, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub(super) struct For {
    pub(super) deletion: Option<Empty>,
    pub(super) condition: Option<Condition>,
    pub(super) json_path: Option<PathValue>,
}

#[derive(Clone, Copy, Debug, Default, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct Empty {}

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct Condition {
    pub(super) name: String,
    /// Its status. None: True.
    pub(super) value: Option<String>,
}

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct PathValue {
    /// As in kubectl: `{.status.phase}`.
    pub(super) path: String,
    /// None: any value.
    pub(super) value: Option<String>,
}

/// The events of an object, in order, since the scenario began. Only the given fields are compared.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct ExpectedEvents {
    pub(super) r#ref: ObjectRef,
    pub(super) expect: Vec<ExpectedEvent>,
}

#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct ExpectedEvent {
    pub(super) severity: Option<Severity>,
    pub(super) reason: Option<String>,
    pub(super) message: Option<String>,
    pub(super) count: Option<u64>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "lowercase")]
pub(super) enum Severity {
    Normal,
    Warning,
}

#[derive(Clone, Copy, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct Restart {
    /// The host ends at once, without finishing anything.
    #[serde(default)]
    pub(super) crash: bool,
}

/// Another version of the plugin takes over.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct Swap {
    /// Its path, from the folder of the scenario. None: the plugin of the command line, as a version with another digest.
    pub(super) file: Option<PathBuf>,
}

/// A time without writes of the host. Events do not count.
#[derive(Clone, Copy, Debug, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub(super) struct Quiet {
    pub(super) r#for: Span,
    /// The most reconciles in any minute. None: as many as it likes.
    pub(super) reconciles_per_minute: Option<u32>,
}

/// The fault that ends. Without an id all end.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct Heal {
    pub(super) id: Option<String>,
}

/// What no log line of the plugin says, since the scenario began.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct Logs {
    /// A part of a line.
    pub(super) without: String,
}

/// A length of time: `250ms`, `90s`, `1h30m`.
#[derive(Clone, Copy, Debug)]
pub(super) struct Span(pub(super) Duration);

/// The longest time that a step may take. The clock of tokio ends after some centuries.
const LONGEST: Duration = Duration::from_secs(366 * 24 * 3600);

impl<'de> Deserialize<'de> for Span {
    fn deserialize<D: Deserializer<'de>>(from: D) -> Result<Self, D::Error> {
        let text = String::deserialize(from)?;
        let parsed = text.parse::<jiff::SignedDuration>().ok().and_then(|span| Duration::try_from(span).ok());
        let valid = parsed.filter(|span| *span <= LONGEST);
        valid.map(Self).ok_or_else(|| {
            serde::de::Error::custom(format_args!("{text:?} is not a duration: 250ms, 90s, 1h30m; at most 8784h"))
        })
    }
}

/// The time of day when a host starts: RFC 3339.
#[derive(Clone, Copy, Debug)]
pub(super) struct Start(pub(super) jiff::Timestamp);

/// Plugins count seconds from 1970 on, and some count nanoseconds in 64 bits, which end in 2262.
const EARLIEST: jiff::Timestamp = jiff::Timestamp::UNIX_EPOCH;
const LATEST: jiff::Timestamp = jiff::Timestamp::constant(7_258_118_400, 0);

impl<'de> Deserialize<'de> for Start {
    fn deserialize<D: Deserializer<'de>>(from: D) -> Result<Self, D::Error> {
        let text = String::deserialize(from)?;
        let parsed = text.parse::<jiff::Timestamp>().ok().filter(|start| (EARLIEST..=LATEST).contains(start));
        parsed.map(Self).ok_or_else(|| {
            let why = format!("{text:?} is no RFC 3339 time such as 2026-01-01T00:00:00Z, from {EARLIEST} to {LATEST}");
            serde::de::Error::custom(why)
        })
    }
}
