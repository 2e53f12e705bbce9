//! Label selectors in the syntax of `kubectl -l` and watch URLs, and the names and label values that Kubernetes allows.
//!
//! ```
//! use oarlock_selector::Selector;
//!
//! let selector: Selector = "tier in (web, api),!legacy".parse()?;
//! assert!(selector.matches(|label| (label == "tier").then_some("web")));
//! let error = "tier in web".parse::<Selector>().unwrap_err();
//! assert_eq!(error.to_string(), "unable to parse requirement: found 'web' expected: '('");
//! # Ok::<(), oarlock_selector::ParseError>(())
//! ```

pub mod names;
mod parser;

use std::{collections::BTreeSet, fmt, str::FromStr};

/// Longest bounded selector, in bytes, and most requirements in it: it is evaluated for every object of a watch.
const LONGEST_SELECTOR: usize = 4096;
const MOST_REQUIREMENTS: usize = 32;

/// A parsed label selector: all requirements must hold. An empty selector matches everything.
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct Selector {
    requirements: Vec<Requirement>,
}

/// One condition on one label.
#[derive(Clone, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
struct Requirement {
    key: String,
    condition: Condition,
}

#[derive(Clone, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
enum Condition {
    In(BTreeSet<String>),
    /// Also holds when the label is missing.
    NotIn(BTreeSet<String>),
    Exists,
    Missing,
    GreaterThan(i64),
    LessThan(i64),
}

/// A text that is no selector. The message has the words of an API server.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{0}")]
pub struct ParseError(String);

impl Selector {
    /// Parses a selector within the size limits.
    ///
    /// # Errors
    ///
    /// The fault, or the exceeded limit, in words.
    pub fn bounded(text: &str) -> Result<Self, String> {
        if text.len() > LONGEST_SELECTOR {
            return Err(format!("a label selector of {} bytes; the limit is {LONGEST_SELECTOR}", text.len()));
        }
        let selector: Self = text.parse().map_err(|e| format!("label selector {text:?}: {e}"))?;
        if selector.len() > MOST_REQUIREMENTS {
            return Err(format!(
                "a label selector of {} requirements; the limit is {MOST_REQUIREMENTS}",
                selector.len()
            ));
        }
        Ok(selector)
    }

    /// Whether every object matches.
    pub fn is_empty(&self) -> bool {
        self.requirements.is_empty()
    }

    /// The number of requirements.
    pub fn len(&self) -> usize {
        self.requirements.len()
    }

    /// Whether labels match; `label` returns the value of a label, or `None` if missing.
    pub fn matches<'a>(&self, label: impl Fn(&str) -> Option<&'a str>) -> bool {
        self.requirements.iter().all(|r| r.condition.holds(label(&r.key)))
    }

    /// A label and the values of which it must have one: the part that an index can serve.
    pub fn indexable(&self) -> Option<(&str, &BTreeSet<String>)> {
        self.requirements.iter().find_map(|r| match &r.condition {
            Condition::In(values) => Some((r.key.as_str(), values)),
            _ => None,
        })
    }

    fn new(mut requirements: Vec<Requirement>) -> Self {
        requirements.sort();
        requirements.dedup();
        Self { requirements }
    }
}

impl Condition {
    fn holds(&self, value: Option<&str>) -> bool {
        let number = || value.and_then(|v| v.parse::<i64>().ok());
        match self {
            Self::In(values) => value.is_some_and(|v| values.contains(v)),
            Self::NotIn(values) => value.is_none_or(|v| !values.contains(v)),
            Self::Exists => value.is_some(),
            Self::Missing => value.is_none(),
            Self::GreaterThan(limit) => number().is_some_and(|n| n > *limit),
            Self::LessThan(limit) => number().is_some_and(|n| n < *limit),
        }
    }
}

impl fmt::Display for Selector {
    /// Requirements sorted, so that equal selectors print the same.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (i, Requirement { key, condition }) in self.requirements.iter().enumerate() {
            if i > 0 {
                f.write_str(",")?;
            }
            let join = |values: &BTreeSet<String>| values.iter().map(String::as_str).collect::<Vec<_>>().join(",");
            match condition {
                Condition::In(values) if values.len() == 1 => write!(f, "{key}={}", join(values))?,
                Condition::In(values) => write!(f, "{key} in ({})", join(values))?,
                Condition::NotIn(values) if values.len() == 1 => write!(f, "{key}!={}", join(values))?,
                Condition::NotIn(values) => write!(f, "{key} notin ({})", join(values))?,
                Condition::Exists => f.write_str(key)?,
                Condition::Missing => write!(f, "!{key}")?,
                Condition::GreaterThan(limit) => write!(f, "{key}>{limit}")?,
                Condition::LessThan(limit) => write!(f, "{key}<{limit}")?,
            }
        }
        Ok(())
    }
}

impl FromStr for Selector {
    type Err = ParseError;

    /// Parses equality (`a=b`, `a==b`, `a!=b`), sets (`a in (x,y)`, `a notin (x)`), presence (`a`, `!a`) and integers (`a>1`, `a<5`),
    /// separated by commas. The empty text matches everything.
    ///
    /// # Source
    ///
    /// apimachinery `pkg/labels/selector.go`, `Parse`.
    fn from_str(text: &str) -> Result<Self, ParseError> {
        parser::parse(text).map(Self::new).map_err(ParseError)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;
    use std::collections::BTreeMap;

    fn matches(selector: &str, labels: &[(&str, &str)]) -> bool {
        let labels: BTreeMap<&str, &str> = labels.iter().copied().collect();
        selector.parse::<Selector>().unwrap().matches(|key| labels.get(key).copied())
    }

    #[test]
    fn requirements_hold_as_upstream_documents_them() {
        let web = [("app", "web"), ("tier", "2")];
        for (selector, expected) in [
            ("", true),
            ("app", true),
            ("!app", false),
            ("!missing", true),
            ("app=web", true),
            ("app==web", true),
            ("app=api", false),
            ("app!=web", false),
            ("app!=api", true),
            ("missing!=x", true),
            ("app in (api, web)", true),
            ("app in (api)", false),
            ("app notin (api)", true),
            ("missing notin (x)", true),
            ("missing in (x)", false),
            ("missing=", false),
            ("tier>1", true),
            ("tier<2", false),
            ("app>1", false),
            (" app = web , tier in (2,3) , !gone ", true),
            ("app=web,tier=3", false),
            ("example.com/app", false),
        ] {
            assert_eq!(matches(selector, &web), expected, "{selector:?}");
        }
        assert!(matches("a=", &[("a", "")]));
        assert!(matches("a in (,x)", &[("a", "")]));
        // `in` and `notin` are operators only where one is expected.
        assert!(matches("in=notin", &[("in", "notin")]));
    }

    #[test]
    fn nonsense_is_refused() {
        for bad in [
            ",",
            "a,",
            "a,,b",
            "=b",
            "a=b=c",
            "a in",
            "a in x",
            "a in (x",
            "a in (x y)",
            "a b",
            "!",
            "!a=b",
            "a=!b",
            "a>x",
            "a=-x",
            "/a",
            "A.com/x",
            "a/b/c",
            "a@b",
            "(a)",
            "a notin )",
        ] {
            assert!(bad.parse::<Selector>().is_err(), "{bad:?}");
        }
        assert!("a".repeat(64).parse::<Selector>().is_err());
        assert!(format!("a={}", "b".repeat(64)).parse::<Selector>().is_err());
    }

    proptest! {
        #[test]
        fn what_is_printed_parses_to_the_same(
            parts in proptest::collection::vec(("[a-c]", "[a-c]{0,2}", "[a-c]", 0usize..7), 0..5)
        ) {
            let text: Vec<String> = parts.iter().map(|(k, v, w, form)| match form {
                0 => format!("{k}={v}"),
                1 => format!("{k}!={v}"),
                2 => format!("{k} in ({v},{w})"),
                3 => format!("{k} notin ({v},{w})"),
                4 => k.clone(),
                5 => format!("{k}>7"),
                _ => format!("!{k}"),
            }).collect();
            let selector: Selector = text.join(",").parse().unwrap();
            prop_assert_eq!(selector.to_string().parse::<Selector>().unwrap(), selector);
        }

        #[test]
        fn no_text_panics(text in "\\PC*") {
            let _ = text.parse::<Selector>();
        }
    }
}
