//! The uses of imports that a tape records.

use crate::api::{GroupVersionKind, ObjectKey};
use crate::informer::Object;
use bytes::Bytes;
use std::sync::Arc;

/// Overhead of an entry beside its texts.
pub(super) const ENTRY_BYTES: usize = 96;

/// The call during which a guest used an import.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
pub enum Phase {
    /// The start of the instance, before any call.
    #[default]
    Start,
    /// get-desired.
    GetDesired,
    /// The first get-actual.
    GetActual,
    /// patch.
    Patch,
    /// get-actual after patch.
    GetActualAgain,
}

impl Phase {
    /// All phases, in order.
    pub const ALL: [Self; 5] = [Self::Start, Self::GetDesired, Self::GetActual, Self::Patch, Self::GetActualAgain];

    /// As a case names it.
    #[must_use]
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Start => "start",
            Self::GetDesired => "get-desired",
            Self::GetActual => "get-actual",
            Self::Patch => "patch",
            Self::GetActualAgain => "get-actual-again",
        }
    }

    /// The phase of a call after this phase.
    pub(in crate::plugin) fn then(self, call: &str) -> Self {
        match call {
            "get-desired" => Self::GetDesired,
            "get-actual" if self == Self::Patch => Self::GetActualAgain,
            "get-actual" => Self::GetActual,
            "patch" => Self::Patch,
            _ => self,
        }
    }
}

/// A read with its arguments.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Read {
    /// `cluster.get-object`.
    Get(GroupVersionKind, ObjectKey),
    /// `cluster.get-applied`.
    Applied(GroupVersionKind, ObjectKey),
    /// `cluster.get-live`.
    Live(GroupVersionKind, ObjectKey),
    /// `cluster.list-objects` and `cluster.list-indexed`.
    List(GroupVersionKind, Box<Listed>),
    /// A function of `merge` on a custom resource, whose definition decides about the result. With its documents.
    Merge(GroupVersionKind, MergeFunction, Vec<String>),
}

/// A function of the import `merge`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum MergeFunction {
    /// `create-two-way`.
    CreateTwoWay,
    /// `create-three-way`.
    CreateThreeWay,
    /// `apply-patch`.
    ApplyPatch,
}

/// The arguments of a list. Empty texts and 0: none.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Listed {
    /// The namespace.
    pub namespace: String,
    /// The label selector, as the guest wrote it.
    pub label_selector: String,
    /// The uid of an owner.
    pub owner_uid: String,
    /// Most objects.
    pub limit: u32,
    /// The name of an index, and the value in it.
    pub indexed: Option<(String, String)>,
}

impl std::fmt::Display for Read {
    /// The call with its arguments.
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Self::Get(kind, key) => write!(f, "cluster.get-object({kind}, {key})"),
            Self::Applied(kind, key) => write!(f, "cluster.get-applied({kind}, {key})"),
            Self::Live(kind, key) => write!(f, "cluster.get-live({kind}, {key})"),
            Self::List(kind, listed) => {
                let Listed { namespace, label_selector, owner_uid, limit, indexed } = &**listed;
                let (call, by) = match indexed {
                    Some((index, value)) => ("list-indexed", format!("index {index:?}, value {value:?}, ")),
                    None => ("list-objects", String::new()),
                };
                write!(
                    f,
                    "cluster.{call}({kind}, {by}namespace {namespace:?}, label-selector {label_selector:?}, owner-uid \
                     {owner_uid:?}, limit {limit})"
                )
            }
            Self::Merge(kind, function, documents) => {
                write!(f, "merge.{}({kind}, {})", function.as_str(), documents.join(", "))
            }
        }
    }
}

impl MergeFunction {
    /// Its name in the contract.
    #[must_use]
    pub fn as_str(self) -> &'static str {
        match self {
            Self::CreateTwoWay => "create-two-way",
            Self::CreateThreeWay => "create-three-way",
            Self::ApplyPatch => "apply-patch",
        }
    }
}

impl Read {
    /// Whether the answer contains Secrets, or parts of them.
    pub(in crate::plugin) fn is_of_secrets(&self) -> bool {
        match self {
            Self::Get(kind, _) | Self::Applied(kind, _) | Self::Live(kind, _) | Self::List(kind, _) => kind.is_secret(),
            Self::Merge(..) => false,
        }
    }

    fn bytes(&self) -> usize {
        let of_kind = |kind: &GroupVersionKind| kind.group.len() + kind.version.len() + kind.kind.len();
        match self {
            Self::Get(kind, key) | Self::Applied(kind, key) | Self::Live(kind, key) => {
                of_kind(kind) + key.namespace.len() + key.name.len()
            }
            Self::List(kind, listed) => {
                let indexed = listed.indexed.as_ref().map_or(0, |(index, value)| index.len() + value.len());
                let texts = listed.namespace.len() + listed.label_selector.len() + listed.owner_uid.len();
                of_kind(kind) + size_of::<Listed>() + texts + indexed
            }
            Self::Merge(kind, _, documents) => of_kind(kind) + documents.iter().map(String::len).sum::<usize>(),
        }
    }
}

/// The answer of a read.
#[derive(Clone, Debug)]
pub enum Found {
    /// Objects of a cache or of the API server.
    Objects(Vec<Arc<Object>>),
    /// A text, or none.
    Text(Option<String>),
}

impl Found {
    fn bytes(&self) -> usize {
        match self {
            Self::Objects(objects) => objects.iter().map(|object| object.json().len() + size_of::<usize>()).sum(),
            Self::Text(text) => text.as_ref().map_or(0, String::len),
        }
    }

    /// The texts that the guest got.
    pub fn texts(&self) -> impl Iterator<Item = &str> {
        let (objects, text) = match self {
            Self::Objects(objects) => (objects.as_slice(), None),
            Self::Text(text) => (&[][..], text.as_deref()),
        };
        objects.iter().map(|object| object.json()).chain(text)
    }
}

/// The error of a read.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum ReadFailure {
    /// It may work later.
    Transient {
        /// The delay of the next attempt, in milliseconds.
        delay_ms: Option<u64>,
        /// The cause.
        message: String,
    },
    /// It will not work as it is.
    Terminal(String),
}

/// An HTTP request as the guest passed it.
#[derive(Clone, Debug)]
pub struct Sent {
    /// The method.
    pub method: String,
    /// The URL.
    pub url: String,
    /// Names and values.
    pub headers: Vec<(String, String)>,
    /// The body.
    pub body: Bytes,
}

impl Sent {
    /// A request with its body.
    pub(crate) fn of(head: &http::request::Parts, body: Bytes) -> Self {
        let text = |value: &http::HeaderValue| String::from_utf8_lossy(value.as_bytes()).into_owned();
        let headers = head.headers.iter().map(|(name, value)| (name.as_str().to_owned(), text(value)));
        Self { method: head.method.as_str().to_owned(), url: head.uri.to_string(), headers: headers.collect(), body }
    }

    fn bytes(&self) -> usize {
        let headers: usize = self.headers.iter().map(|(name, value)| name.len() + value.len() + 48).sum();
        self.method.len() + self.url.len() + headers + self.body.len()
    }
}

/// Why a guest got no response.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum SendFailure {
    /// Not allowed.
    Denied(String),
    /// No connection, or a broken one.
    Unreachable(String),
    /// No response in time.
    TimedOut,
    /// A body larger than this many bytes.
    TooLarge(u64),
    /// A malformed request.
    Invalid(String),
}

/// The use of an import.
#[derive(Debug)]
pub enum Seen {
    /// A read of the cluster.
    Read(Phase, Read, Result<Found, ReadFailure>),
    /// An HTTP exchange.
    Http(Phase, Sent, Result<http::Response<Bytes>, SendFailure>),
    /// `cache.get` of a key.
    CacheGet(String, Option<Vec<u8>>),
    /// `cache.set` of a key, with the time to live in milliseconds.
    CacheSet(String, Vec<u8>, u64),
    /// Random bytes.
    Random(Vec<u8>),
    /// A line in the log, with its level.
    Log(&'static str, String),
}

impl Seen {
    /// The bytes that count for the bound.
    pub(super) fn bytes(&self) -> usize {
        let text = |failure: &ReadFailure| match failure {
            ReadFailure::Transient { message, .. } | ReadFailure::Terminal(message) => message.len(),
        };
        ENTRY_BYTES
            + match self {
                Self::Read(_, read, answer) => read.bytes() + answer.as_ref().map_or_else(text, Found::bytes),
                Self::Http(_, sent, answer) => {
                    let headers = |response: &http::Response<Bytes>| -> usize {
                        response.headers().iter().map(|(name, value)| name.as_str().len() + value.len() + 96).sum()
                    };
                    let answer = answer.as_ref().map_or(QUOTED, |response| headers(response) + response.body().len());
                    sent.bytes() + answer
                }
                Self::CacheGet(key, value) => key.len() + value.as_ref().map_or(0, Vec::len),
                Self::CacheSet(key, value, _) => key.len() + value.len(),
                Self::Random(bytes) => bytes.len(),
                Self::Log(_, line) => line.len(),
            }
    }
}

/// Bytes counted for the reason of a failed request.
const QUOTED: usize = 256;
