//! Label selectors in the syntax of `kubectl -l` and watch URLs.

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

/// Why a text is no selector.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum Error {
    /// The text ends or continues where it must not.
    #[error("label selector {selector:?}: expected {expected}, found {found}")]
    Syntax {
        /// The whole text.
        selector: String,
        /// The expected syntax.
        expected: &'static str,
        /// The text found there.
        found: String,
    },
    /// No label can have this key.
    #[error("{0:?} is not a label key")]
    Key(String),
    /// No label can have this value.
    #[error("{0:?} is not a label value")]
    Value(String),
    /// `<` and `>` compare integers.
    #[error("{0:?} is not an integer")]
    Integer(String),
}

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
    type Err = Error;

    /// Parses equality (`a=b`, `a==b`, `a!=b`), sets (`a in (x,y)`, `a notin (x)`), presence (`a`, `!a`) and integers (`a>1`, `a<5`),
    /// separated by commas. The empty text matches everything.
    ///
    /// # Source
    ///
    /// apimachinery `pkg/labels/selector.go`, `Parse`.
    fn from_str(text: &str) -> Result<Self, Error> {
        let mut parser = Parser { text, rest: text };
        let mut requirements = Vec::new();
        if parser.peek() != Token::End {
            loop {
                requirements.push(parser.requirement()?);
                match parser.next() {
                    Token::End => break,
                    Token::Symbol(",") => {}
                    other => return Err(parser.unexpected("`,` or the end", &other)),
                }
            }
        }
        Ok(Self::new(requirements))
    }
}

#[derive(Debug, Clone, PartialEq, Eq)]
enum Token<'a> {
    End,
    Word(&'a str),
    Symbol(&'a str),
}

struct Parser<'a> {
    text: &'a str,
    rest: &'a str,
}

const SYMBOLS: [&str; 9] = ["==", "!=", "=", "!", "<", ">", "(", ")", ","];

impl<'a> Parser<'a> {
    fn peek(&self) -> Token<'a> {
        let rest = self.rest.trim_start();
        if rest.is_empty() {
            return Token::End;
        }
        if let Some(symbol) = SYMBOLS.iter().find(|s| rest.starts_with(**s)) {
            return Token::Symbol(symbol);
        }
        let is_end = |c: char| c.is_whitespace() || "=!<>(),".contains(c);
        Token::Word(rest.split(is_end).next().unwrap_or(rest))
    }

    fn next(&mut self) -> Token<'a> {
        let token = self.peek();
        self.rest = self.rest.trim_start();
        let length = match &token {
            Token::End => 0,
            Token::Word(word) => word.len(),
            Token::Symbol(symbol) => symbol.len(),
        };
        self.rest = self.rest.get(length..).unwrap_or_default();
        token
    }

    fn unexpected(&self, expected: &'static str, found: &Token<'_>) -> Error {
        let found = match found {
            Token::End => "the end".to_owned(),
            Token::Word(text) | Token::Symbol(text) => format!("{text:?}"),
        };
        Error::Syntax { selector: self.text.to_owned(), expected, found }
    }

    fn key(&mut self) -> Result<String, Error> {
        match self.next() {
            Token::Word(word) => checked_key(word),
            other => Err(self.unexpected("a label key", &other)),
        }
    }

    fn requirement(&mut self) -> Result<Requirement, Error> {
        if self.peek() == Token::Symbol("!") {
            self.next();
            return Ok(Requirement { key: self.key()?, condition: Condition::Missing });
        }
        let key = self.key()?;
        let condition = match self.peek() {
            Token::End | Token::Symbol(",") => Condition::Exists,
            operator => {
                self.next();
                match operator {
                    Token::Symbol("=" | "==") => Condition::In([self.value()?].into()),
                    Token::Symbol("!=") => Condition::NotIn([self.value()?].into()),
                    Token::Symbol(">") => Condition::GreaterThan(self.integer()?),
                    Token::Symbol("<") => Condition::LessThan(self.integer()?),
                    Token::Word("in") => Condition::In(self.values()?),
                    Token::Word("notin") => Condition::NotIn(self.values()?),
                    other => return Err(self.unexpected("an operator", &other)),
                }
            }
        };
        Ok(Requirement { key, condition })
    }

    /// A value may be empty: `a=` and `a=,b`.
    fn value(&mut self) -> Result<String, Error> {
        match self.peek() {
            Token::Word(word) => {
                self.next();
                checked_value(word)
            }
            Token::End | Token::Symbol("," | ")") => Ok(String::new()),
            other @ Token::Symbol(_) => Err(self.unexpected("a label value", &other)),
        }
    }

    fn integer(&mut self) -> Result<i64, Error> {
        match self.next() {
            Token::Word(word) => word.parse().map_err(|_not_an_integer| Error::Integer(word.to_owned())),
            other => Err(self.unexpected("an integer", &other)),
        }
    }

    fn values(&mut self) -> Result<BTreeSet<String>, Error> {
        match self.next() {
            Token::Symbol("(") => {}
            other => return Err(self.unexpected("`(`", &other)),
        }
        let mut values = BTreeSet::new();
        loop {
            values.insert(self.value()?);
            match self.next() {
                Token::Symbol(",") => {}
                Token::Symbol(")") => return Ok(values),
                other => return Err(self.unexpected("`,` or `)`", &other)),
            }
        }
    }
}

/// A qualified name: at most 63 letters, digits, `-`, `_` and `.`, with an optional DNS prefix before a slash.
fn checked_key(key: &str) -> Result<String, Error> {
    let (prefix, name) = key.split_once('/').map_or((None, key), |(p, n)| (Some(p), n));
    let dns = |p: &str| {
        !p.is_empty()
            && p.len() <= 253
            && p.split('.').all(|label| {
                !label.is_empty()
                    && !label.starts_with('-')
                    && !label.ends_with('-')
                    && label.bytes().all(|b| b.is_ascii_lowercase() || b.is_ascii_digit() || b == b'-')
            })
    };
    if name.is_empty() || !is_value(name) || prefix.is_some_and(|p| !dns(p)) {
        return Err(Error::Key(key.to_owned()));
    }
    Ok(key.to_owned())
}

fn checked_value(value: &str) -> Result<String, Error> {
    if is_value(value) { Ok(value.to_owned()) } else { Err(Error::Value(value.to_owned())) }
}

/// Empty, or at most 63 letters, digits, `-`, `_` and `.`, with a letter or digit at both ends.
fn is_value(value: &str) -> bool {
    let edge = |b: Option<u8>| b.is_none_or(|b| b.is_ascii_alphanumeric());
    value.len() <= 63
        && edge(value.bytes().next())
        && edge(value.bytes().last())
        && value.bytes().all(|b| b.is_ascii_alphanumeric() || b"-_.".contains(&b))
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
