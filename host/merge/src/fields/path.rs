//! Field paths.

use std::cmp::Ordering;
use std::collections::BTreeMap;
use std::fmt;

use serde_json::Value;

use crate::go;

/// One step of a path.
///
/// Numbers are equal by value: `1` is `1.0`.
#[derive(Debug, Clone)]
pub enum PathElement {
    /// A field of an object (`f:name`).
    Field(String),
    /// The list element with these keys (`k:{"name":"x"}`).
    Key(BTreeMap<String, Value>),
    /// The element of a set (`v:"x"`).
    Value(Value),
    /// The list element with an index (`i:0`).
    Index(i64),
}

impl PathElement {
    /// A field of an object.
    pub fn field(name: impl Into<String>) -> Self {
        Self::Field(name.into())
    }

    /// The names of the keys of a list element.
    pub(super) fn key_names(&self) -> Option<Vec<&String>> {
        match self {
            Self::Key(keys) => Some(keys.keys().collect()),
            Self::Field(_) | Self::Value(_) | Self::Index(_) => None,
        }
    }

    fn rank(&self) -> u8 {
        match self {
            Self::Field(_) => 0,
            Self::Key(_) => 1,
            Self::Value(_) => 2,
            Self::Index(_) => 3,
        }
    }
}

impl Ord for PathElement {
    fn cmp(&self, other: &Self) -> Ordering {
        match (self, other) {
            (Self::Field(a), Self::Field(b)) => a.cmp(b),
            (Self::Key(a), Self::Key(b)) => {
                let pairs = a.iter().zip(b).map(|((ak, av), (bk, bv))| ak.cmp(bk).then_with(|| go::compare(av, bv)));
                pairs.fold(Ordering::Equal, Ordering::then).then(a.len().cmp(&b.len()))
            }
            (Self::Value(a), Self::Value(b)) => go::compare(a, b),
            (Self::Index(a), Self::Index(b)) => a.cmp(b),
            _ => self.rank().cmp(&other.rank()),
        }
    }
}

impl PartialOrd for PathElement {
    fn partial_cmp(&self, other: &Self) -> Option<Ordering> {
        Some(self.cmp(other))
    }
}

impl PartialEq for PathElement {
    fn eq(&self, other: &Self) -> bool {
        self.cmp(other) == Ordering::Equal
    }
}

impl Eq for PathElement {}

/// The form of the API server's messages: `.name`, `[name="x"]`, `[="x"]`, `[0]`.
impl fmt::Display for PathElement {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Field(name) => write!(f, ".{name}"),
            Self::Key(keys) => {
                let keys: Vec<String> = keys.iter().map(|(k, v)| format!("{k}={v}")).collect();
                write!(f, "[{}]", keys.join(","))
            }
            Self::Value(value) => write!(f, "[={value}]"),
            Self::Index(index) => write!(f, "[{index}]"),
        }
    }
}

/// The path of a field from the root of the object.
#[derive(Debug, Clone, Default, PartialEq, Eq, PartialOrd, Ord)]
pub struct Path(pub Vec<PathElement>);

impl fmt::Display for Path {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.iter().try_for_each(|element| write!(f, "{element}"))
    }
}
