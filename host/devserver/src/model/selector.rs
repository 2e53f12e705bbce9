//! Label and field selectors.

use serde_json::Value;

use crate::model::{
    names,
    status::{ApiError, Result},
};

/// A conjunction of requirements on labels; empty matches everything.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(crate) struct LabelSelector(Vec<Requirement>);

#[derive(Debug, Clone, PartialEq, Eq)]
struct Requirement {
    key: String,
    operator: Operator,
    values: Vec<String>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Operator {
    In,
    NotIn,
    Exists,
    Missing,
    Greater,
    Less,
}

#[derive(Debug, Clone, PartialEq, Eq)]
enum Token {
    Word(String),
    Symbol(&'static str),
    End,
}

impl Token {
    fn text(&self) -> &str {
        match self {
            Self::Word(w) => w,
            Self::Symbol(s) => s,
            Self::End => "",
        }
    }
}

fn tokens(text: &str) -> Vec<Token> {
    let mut out = Vec::new();
    let mut chars = text.chars().peekable();
    while let Some(&c) = chars.peek() {
        if c.is_whitespace() {
            chars.next();
        } else if "!=<>(),".contains(c) {
            chars.next();
            let double = matches!((c, chars.peek()), ('=' | '!', Some('=')));
            if double {
                chars.next();
            }
            out.push(Token::Symbol(match (c, double) {
                ('=', false) => "=",
                ('=', true) => "==",
                ('!', true) => "!=",
                ('!', false) => "!",
                ('<', _) => "<",
                ('>', _) => ">",
                ('(', _) => "(",
                (')', _) => ")",
                _ => ",",
            }));
        } else {
            let mut word = String::new();
            while let Some(&c) = chars.peek() {
                if c.is_whitespace() || "!=<>(),".contains(c) {
                    break;
                }
                word.push(c);
                chars.next();
            }
            out.push(Token::Word(word));
        }
    }
    out
}

struct Parser {
    tokens: Vec<Token>,
    at: usize,
}

type Parsed<T> = std::result::Result<T, String>;

impl Parser {
    fn peek(&self) -> Token {
        self.tokens.get(self.at).cloned().unwrap_or(Token::End)
    }

    fn next(&mut self) -> Token {
        let token = self.peek();
        self.at += 1;
        token
    }

    fn selector(&mut self) -> Parsed<Vec<Requirement>> {
        let mut out = Vec::new();
        loop {
            match self.peek() {
                Token::Word(_) | Token::Symbol("!") => {
                    out.push(self.requirement().map_err(|e| format!("unable to parse requirement: {e}"))?);
                    match self.next() {
                        Token::End => return Ok(out),
                        Token::Symbol(",") => match self.peek() {
                            Token::Word(_) | Token::Symbol("!") => {}
                            other => {
                                return Err(format!("found '{}', expected: identifier after ','", other.text()));
                            }
                        },
                        other => return Err(format!("found '{}', expected: ',' or 'end of string'", other.text())),
                    }
                }
                Token::End => return Ok(out),
                other @ Token::Symbol(_) => {
                    return Err(format!("found '{}', expected: !, identifier, or 'end of string'", other.text()));
                }
            }
        }
    }

    fn requirement(&mut self) -> Parsed<Requirement> {
        if self.peek() == Token::Symbol("!") {
            self.next();
            let key = self.key()?;
            return Ok(Requirement { key, operator: Operator::Missing, values: Vec::new() });
        }
        let key = self.key()?;
        if matches!(self.peek(), Token::End | Token::Symbol(",")) {
            return Ok(Requirement { key, operator: Operator::Exists, values: Vec::new() });
        }
        let operator = match self.next() {
            Token::Symbol("=" | "==") => Operator::In,
            Token::Symbol("!=") => Operator::NotIn,
            Token::Symbol(">") => Operator::Greater,
            Token::Symbol("<") => Operator::Less,
            Token::Word(w) if w == "in" => return self.set(key, Operator::In),
            Token::Word(w) if w == "notin" => return self.set(key, Operator::NotIn),
            other => {
                return Err(format!("found '{}', expected: in, notin, =, ==, !=, gt, lt", other.text()));
            }
        };
        let value = match self.peek() {
            Token::Word(word) => {
                self.next();
                word
            }
            Token::End | Token::Symbol(",") => String::new(),
            other @ Token::Symbol(_) => return Err(format!("found '{}', expected: identifier", other.text())),
        };
        if matches!(operator, Operator::Greater | Operator::Less) && value.parse::<i64>().is_err() {
            return Err(format!(
                "values[0][{key}]: Invalid value: \"{value}\": for 'Gt', 'Lt' operators, the value must be an integer"
            ));
        }
        check_value(&key, &value)?;
        Ok(Requirement { key, operator, values: vec![value] })
    }

    fn key(&mut self) -> Parsed<String> {
        match self.next() {
            Token::Word(key) => match names::qualified_name(&key).first() {
                None => Ok(key),
                Some(problem) => Err(format!("<nil>: Invalid value: \"{key}\": {problem}")),
            },
            other => Err(format!("found '{}', expected: identifier", other.text())),
        }
    }

    fn set(&mut self, key: String, operator: Operator) -> Parsed<Requirement> {
        match self.next() {
            Token::Symbol("(") => {}
            other => return Err(format!("found '{}' expected: '('", other.text())),
        }
        let mut values = Vec::new();
        let mut expect_value = true;
        loop {
            match self.next() {
                Token::Word(word) if expect_value => {
                    check_value(&key, &word)?;
                    values.push(word);
                    expect_value = false;
                }
                Token::Symbol(",") => {
                    if expect_value {
                        values.push(String::new());
                    }
                    expect_value = true;
                }
                Token::Symbol(")") => {
                    if expect_value {
                        values.push(String::new());
                    }
                    return Ok(Requirement { key, operator, values });
                }
                other => return Err(format!("found '{}', expected: ',' or ')'", other.text())),
            }
        }
    }
}

fn check_value(key: &str, value: &str) -> Parsed<()> {
    match names::label_value(value).first() {
        None => Ok(()),
        Some(problem) => Err(format!("values[0][{key}]: Invalid value: \"{value}\": {problem}")),
    }
}

impl LabelSelector {
    /// Parses `a=b,c in (d,e),!f`.
    pub(crate) fn parse(text: &str) -> Result<Self> {
        let mut parser = Parser { tokens: tokens(text), at: 0 };
        parser.selector().map(Self).map_err(ApiError::bad_request)
    }

    /// Whether everything matches.
    pub(crate) fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// Whether the labels of an object match.
    pub(crate) fn matches(&self, object: &Value) -> bool {
        if self.0.is_empty() {
            return true;
        }
        let labels = object.pointer("/metadata/labels");
        self.0.iter().all(|r| {
            let value = labels.and_then(|l| l.get(&r.key)).and_then(Value::as_str);
            let number = || value.and_then(|v| v.parse::<i64>().ok());
            let bound = || r.values.first().and_then(|v| v.parse::<i64>().ok());
            match r.operator {
                Operator::In => value.is_some_and(|v| r.values.iter().any(|w| w == v)),
                Operator::NotIn => value.is_none_or(|v| r.values.iter().all(|w| w != v)),
                Operator::Exists => value.is_some(),
                Operator::Missing => value.is_none(),
                Operator::Greater => number().zip(bound()).is_some_and(|(a, b)| a > b),
                Operator::Less => number().zip(bound()).is_some_and(|(a, b)| a < b),
            }
        })
    }
}

/// A selector as text, `a=b,c in (d,e)`; plain maps (ReplicationController) count as matchLabels.
pub(crate) fn to_text(selector: Option<&Value>) -> String {
    let Some(selector) = selector else { return String::new() };
    let structured = selector.get("matchLabels").is_some() || selector.get("matchExpressions").is_some();
    let labels = if structured { selector.get("matchLabels") } else { Some(selector) };
    let mut parts: Vec<(String, String)> = labels
        .and_then(Value::as_object)
        .into_iter()
        .flatten()
        .map(|(k, v)| (k.clone(), format!("{k}={}", v.as_str().unwrap_or_default())))
        .collect();
    for term in selector.get("matchExpressions").and_then(Value::as_array).into_iter().flatten() {
        let text = |key: &str| term.get(key).and_then(Value::as_str).unwrap_or_default();
        let mut values: Vec<&str> =
            term.get("values").and_then(Value::as_array).into_iter().flatten().filter_map(Value::as_str).collect();
        values.sort_unstable();
        let (key, values) = (text("key"), values.join(","));
        let shown = match text("operator") {
            "In" => format!("{key} in ({values})"),
            "NotIn" => format!("{key} notin ({values})"),
            "DoesNotExist" => format!("!{key}"),
            _ => key.to_owned(),
        };
        parts.push((key.to_owned(), shown));
    }
    parts.sort();
    parts.into_iter().map(|(_, shown)| shown).collect::<Vec<_>>().join(",")
}

/// A conjunction of equalities on fields; empty matches everything.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(crate) struct FieldSelector(Vec<FieldTerm>);

#[derive(Debug, Clone, PartialEq, Eq)]
struct FieldTerm {
    path: String,
    equal: bool,
    value: String,
}

impl FieldSelector {
    /// Parses `metadata.name=a,status.phase!=Running`.
    pub(crate) fn parse(text: &str) -> Result<Self> {
        let mut terms = Vec::new();
        for part in split_terms(text) {
            if part.is_empty() {
                continue;
            }
            let (path, equal, value) = if let Some((path, value)) = part.split_once("!=") {
                (path, false, value)
            } else if let Some((path, value)) = part.split_once("==") {
                (path, true, value)
            } else if let Some((path, value)) = part.split_once('=') {
                (path, true, value)
            } else {
                return Err(ApiError::bad_request(format!("invalid selector: '{text}'; can't understand '{part}'")));
            };
            terms.push(FieldTerm { path: path.to_owned(), equal, value: unescape(value) });
        }
        Ok(Self(terms))
    }

    /// Whether everything matches.
    pub(crate) fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// Restricts the selection to one object.
    pub(crate) fn and_name(mut self, name: &str) -> Self {
        self.0.push(FieldTerm { path: "metadata.name".to_owned(), equal: true, value: name.to_owned() });
        self
    }

    /// The value a field must have.
    pub(crate) fn exact(&self, path: &str) -> Option<&str> {
        self.0.iter().find(|t| t.equal && t.path == path).map(|t| t.value.as_str())
    }

    /// The paths used, to be checked against the fields of the kind.
    pub(crate) fn paths(&self) -> impl Iterator<Item = &str> {
        self.0.iter().map(|t| t.path.as_str())
    }

    /// Whether an object matches; an absent field equals the empty string.
    pub(crate) fn matches(&self, object: &Value) -> bool {
        self.0.iter().all(|term| {
            let mut node = Some(object);
            for part in term.path.split('.') {
                node = node.and_then(|n| n.get(part));
            }
            let text = match node {
                Some(Value::String(s)) => s.clone(),
                None | Some(Value::Null) => default_of(&term.path).to_owned(),
                Some(other) => other.to_string(),
            };
            (text == term.value) == term.equal
        })
    }
}

/// The default of an absent field for comparisons.
fn default_of(path: &str) -> &'static str {
    if path == "spec.unschedulable" { "false" } else { "" }
}

/// Splits at unescaped commas.
fn split_terms(text: &str) -> Vec<&str> {
    let mut out = Vec::new();
    let (mut start, mut escaped) = (0, false);
    for (i, c) in text.char_indices() {
        if c == ',' && !escaped {
            out.push(text.get(start..i).unwrap_or_default());
            start = i + 1;
        }
        escaped = c == '\\' && !escaped;
    }
    out.push(text.get(start..).unwrap_or_default());
    out
}

fn unescape(text: &str) -> String {
    let mut out = String::new();
    let mut chars = text.chars();
    while let Some(c) = chars.next() {
        out.push(if c == '\\' { chars.next().unwrap_or(c) } else { c });
    }
    out
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[track_caller]
    fn check(selector: &str, labels: &Value, expected: bool) {
        let object = json!({"metadata": {"labels": labels}});
        let got = LabelSelector::parse(selector).unwrap().matches(&object);
        assert_eq!(got, expected, "{selector} on {object}");
    }

    #[test]
    fn label_selectors_match_as_kubernetes_does() {
        check("a=b", &json!({"a": "b"}), true);
        check("a!=b", &json!({}), true);
        check("a in (b, c),d", &json!({"a": "c", "d": ""}), true);
        check("a notin (b)", &json!({"a": "b"}), false);
        check("!a", &json!({"a": "b"}), false);
        check("a>3", &json!({"a": "4"}), true);
        check("a<3", &json!({"a": "x"}), false);
        check("a in ()", &json!({"a": ""}), true);
    }

    #[test]
    fn escaped_commas_belong_to_the_value() {
        let selector = FieldSelector::parse(r"metadata.name=a\,b").unwrap();
        assert!(selector.matches(&json!({"metadata": {"name": "a,b"}})));
    }
}
