//! JSONPath: the subset that Kubernetes uses in printer columns, selectable fields and scale paths.

mod plain;

pub use plain::PlainPath;

use serde_json::Value;
use std::cell::Cell;

/// Most nested filters, because a path's filters are parsed recursively.
const MOST_DEPTH: usize = 16;

/// Characters that end a name.
const ENDS: [char; 17] = ['.', '[', ']', '(', ')', '{', '}', '=', '!', '<', '>', '\\', '?', '@', ' ', '\'', '"'];

/// Most values visited by one search. `..` visits deep values more than once, so that a few of them visit exponentially many.
const MOST_VALUES: usize = 1 << 20;

/// A parsed path, such as `.status.conditions[?(@.type=="Ready")].status`.
#[derive(Clone, Debug, PartialEq)]
pub struct JsonPath {
    steps: Vec<Step>,
}

#[derive(Clone, Debug, PartialEq)]
enum Step {
    Field(String),
    Fields(Vec<String>),
    /// Negative counts from the end.
    Index(i64),
    Slice(Option<i64>, Option<i64>),
    All,
    Descend,
    Filter(Filter),
}

#[derive(Clone, Debug, PartialEq)]
struct Filter {
    left: Operand,
    /// Without a comparison the filter tests for presence.
    compare: Option<(String, Operand)>,
}

#[derive(Clone, Debug, PartialEq)]
enum Operand {
    Path(JsonPath),
    Literal(Value),
}

/// A path outside the supported subset.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{0}")]
pub struct ParseError(String);

impl JsonPath {
    /// Parses a path; one leading `$` and surrounding braces are allowed.
    ///
    /// # Errors
    ///
    /// [`ParseError`] for anything outside the subset: fields, `['x']`, `[0]`, `[-1]`, `[1:3]`, `[*]`, `..`, and filters that compare a
    /// path below `@` with a literal or test for presence.
    ///
    /// # Source
    ///
    /// client-go `util/jsonpath`.
    pub fn parse(text: &str) -> Result<Self, ParseError> {
        let text = text.trim();
        let text = text.strip_prefix('{').and_then(|t| t.strip_suffix('}')).unwrap_or(text);
        let mut parser = Parser { rest: text.strip_prefix('$').unwrap_or(text), whole: text, depth: 0 };
        let steps = parser.steps(&[])?;
        if parser.rest.is_empty() { Ok(Self { steps }) } else { Err(parser.error("unexpected text")) }
    }

    /// All values at the path, in the order of the document. The search ends after a million visited values.
    #[must_use]
    pub fn find<'a>(&self, value: &'a Value) -> Vec<&'a Value> {
        self.search(value, &Cell::new(MOST_VALUES))
    }

    /// * `left` - the number of values that may still be visited.
    fn search<'a>(&self, value: &'a Value, left: &Cell<usize>) -> Vec<&'a Value> {
        let mut found = vec![value];
        for step in &self.steps {
            let mut next = Vec::new();
            for value in found {
                step.follow(value, &mut next, left);
            }
            found = next;
        }
        found
    }

    /// The first value at the path.
    #[must_use]
    pub fn first<'a>(&self, value: &'a Value) -> Option<&'a Value> {
        self.find(value).into_iter().next()
    }

    /// The names of a path that consists only of fields.
    fn plain_fields(&self) -> Option<Vec<&str>> {
        self.steps
            .iter()
            .map(|step| match step {
                Step::Field(name) => Some(name.as_str()),
                _ => None,
            })
            .collect()
    }
}

/// The names along a path of fields, such as `.spec['a.b'].c`. None: the path has other steps, or is invalid.
#[must_use]
pub fn field_steps(text: &str) -> Option<Vec<String>> {
    let path = JsonPath::parse(text).ok()?;
    Some(path.plain_fields()?.into_iter().map(str::to_owned).collect())
}

impl Step {
    fn follow<'a>(&self, value: &'a Value, out: &mut Vec<&'a Value>, left: &Cell<usize>) {
        if !take(left) {
            return;
        }
        match self {
            Self::Field(name) => out.extend(value.get(name.as_str())),
            Self::Fields(names) => {
                let names = names.iter().take_while(|_| take(left));
                out.extend(names.filter_map(|name| value.get(name.as_str())));
            }
            Self::Index(index) => {
                if let Some(items) = value.as_array() {
                    out.extend(position(*index, items.len()).and_then(|i| items.get(i)));
                }
            }
            Self::Slice(from, to) => {
                if let Some(items) = value.as_array() {
                    let end = |i: Option<i64>, default: usize| {
                        i.map_or(default, |i| position(i, items.len()).unwrap_or(if i < 0 { 0 } else { items.len() }))
                    };
                    let (from, to) = (end(*from, 0), end(*to, items.len()));
                    out.extend(items.iter().take(to).skip(from).take_while(|_| take(left)));
                }
            }
            Self::All => match value {
                Value::Array(items) => out.extend(items.iter().take_while(|_| take(left))),
                Value::Object(object) => out.extend(object.values().take_while(|_| take(left))),
                _ => {}
            },
            Self::Descend => descend(value, out, 0, left),
            Self::Filter(filter) => {
                if let Some(items) = value.as_array() {
                    out.extend(items.iter().take_while(|_| take(left)).filter(|item| filter.holds(item, left)));
                }
            }
        }
    }
}

fn position(index: i64, len: usize) -> Option<usize> {
    let from_end = usize::try_from(index.unsigned_abs()).ok()?;
    if index < 0 { len.checked_sub(from_end) } else { Some(from_end) }
}

/// Counts one visited value. False: the limit is reached.
fn take(left: &Cell<usize>) -> bool {
    let rest = left.get().checked_sub(1);
    left.set(rest.unwrap_or_default());
    rest.is_some()
}

fn descend<'a>(value: &'a Value, out: &mut Vec<&'a Value>, depth: usize, left: &Cell<usize>) {
    if depth > 128 || !take(left) {
        return;
    }
    out.push(value);
    match value {
        Value::Array(items) => items.iter().for_each(|v| descend(v, out, depth + 1, left)),
        Value::Object(object) => object.values().for_each(|v| descend(v, out, depth + 1, left)),
        _ => {}
    }
}

impl Filter {
    fn holds(&self, item: &Value, left: &Cell<usize>) -> bool {
        fn value<'a>(operand: &'a Operand, item: &'a Value, left: &Cell<usize>) -> Option<&'a Value> {
            match operand {
                Operand::Path(path) => path.search(item, left).into_iter().next(),
                Operand::Literal(literal) => Some(literal),
            }
        }
        let Some(one) = value(&self.left, item, left) else { return false };
        let Some((operator, right)) = &self.compare else { return true };
        let Some(right) = value(right, item, left) else { return false };
        let order = match (one, right) {
            (Value::String(a), Value::String(b)) => Some(a.cmp(b)),
            (Value::Number(a), Value::Number(b)) => a.as_f64().partial_cmp(&b.as_f64()),
            (a, b) if a == b => Some(std::cmp::Ordering::Equal),
            _ => None,
        };
        match operator.as_str() {
            "==" => order.is_some_and(std::cmp::Ordering::is_eq),
            "!=" => !order.is_some_and(std::cmp::Ordering::is_eq),
            "<" => order.is_some_and(std::cmp::Ordering::is_lt),
            "<=" => order.is_some_and(std::cmp::Ordering::is_le),
            ">" => order.is_some_and(std::cmp::Ordering::is_gt),
            _ => order.is_some_and(std::cmp::Ordering::is_ge),
        }
    }
}

struct Parser<'a> {
    rest: &'a str,
    whole: &'a str,
    /// Depth of nested filters.
    depth: usize,
}

impl<'a> Parser<'a> {
    fn error(&self, what: &str) -> ParseError {
        ParseError(format!("{what} at {:?} of path {:?}", self.rest, self.whole))
    }

    fn eat(&mut self, prefix: &str) -> bool {
        match self.rest.strip_prefix(prefix) {
            Some(rest) => {
                self.rest = rest;
                true
            }
            None => false,
        }
    }

    fn take_while(&mut self, keep: impl Fn(char) -> bool) -> &'a str {
        let end = self.rest.find(|c| !keep(c)).unwrap_or(self.rest.len());
        let (taken, rest) = self.rest.split_at(end);
        self.rest = rest;
        taken
    }

    /// Parses steps up to the end or to one of `stops`.
    fn steps(&mut self, stops: &[char]) -> Result<Vec<Step>, ParseError> {
        let mut steps = Vec::new();
        while !self.rest.is_empty() && !self.rest.starts_with(stops) {
            if self.eat("[") {
                steps.push(self.bracket()?);
            } else if self.eat("..") {
                steps.push(Step::Descend);
                if !self.rest.starts_with('[') {
                    steps.push(self.name()?);
                }
            } else {
                let dotted = self.eat(".");
                if dotted && self.rest.starts_with('[') {
                    continue;
                }
                if dotted && self.rest.is_empty() && steps.is_empty() {
                    break;
                }
                steps.push(self.name()?);
            }
        }
        Ok(steps)
    }

    fn name(&mut self) -> Result<Step, ParseError> {
        if self.eat("*") {
            return Ok(Step::All);
        }
        if self.rest.starts_with(['{', '}']) {
            return Err(self.error("a brace without its counterpart"));
        }
        let mut name = String::new();
        loop {
            name.push_str(self.take_while(|c| !ENDS.contains(&c)));
            // `\.` puts a dot into the name, as in `.metadata.labels.example\.com/x`.
            if !self.eat("\\") {
                break;
            }
            if let Some(c) = self.rest.chars().next() {
                name.push(c);
                self.rest = self.rest.split_at(c.len_utf8()).1;
            }
        }
        if name.is_empty() { Err(self.error("a name is missing")) } else { Ok(Step::Field(name)) }
    }

    fn bracket(&mut self) -> Result<Step, ParseError> {
        self.take_while(char::is_whitespace);
        let step = if self.eat("*") {
            Step::All
        } else if self.eat("?(") {
            Step::Filter(self.filter()?)
        } else if self.rest.starts_with(['\'', '"']) {
            let mut names = vec![self.quoted()?];
            while self.eat(",") {
                self.take_while(char::is_whitespace);
                names.push(self.quoted()?);
            }
            match names.pop() {
                Some(only) if names.is_empty() => Step::Field(only),
                last => {
                    names.extend(last);
                    Step::Fields(names)
                }
            }
        } else {
            let from = self.integer()?;
            if self.eat(":") {
                Step::Slice(from, self.integer()?)
            } else {
                Step::Index(from.ok_or_else(|| self.error("an index is missing"))?)
            }
        };
        self.take_while(char::is_whitespace);
        if self.eat("]") { Ok(step) } else { Err(self.error("a ] is missing")) }
    }

    fn integer(&mut self) -> Result<Option<i64>, ParseError> {
        let text = self.take_while(|c| c == '-' || c.is_ascii_digit());
        if text.is_empty() {
            return Ok(None);
        }
        text.parse().map(Some).map_err(|_error| self.error("not an index"))
    }

    fn quoted(&mut self) -> Result<String, ParseError> {
        let Some(quote) = self.rest.chars().next().filter(|c| matches!(c, '\'' | '"')) else {
            return Err(self.error("a quoted name is missing"));
        };
        let mut out = String::new();
        let mut escaped = false;
        for (i, c) in self.rest.char_indices().skip(1) {
            if escaped {
                out.push(c);
                escaped = false;
            } else if c == '\\' {
                escaped = true;
            } else if c == quote {
                self.rest = self.rest.split_at(i + c.len_utf8()).1;
                return Ok(out);
            } else {
                out.push(c);
            }
        }
        Err(self.error("a quote is not closed"))
    }

    fn filter(&mut self) -> Result<Filter, ParseError> {
        if self.depth == MOST_DEPTH {
            return Err(self.error("too many filters in each other"));
        }
        self.depth += 1;
        let left = self.operand()?;
        let operator = ["==", "!=", "<=", ">=", "<", ">"].into_iter().find(|op| self.eat(op));
        let compare = match operator {
            Some(operator) => Some((operator.to_owned(), self.operand()?)),
            None => None,
        };
        self.depth -= 1;
        if self.eat(")") { Ok(Filter { left, compare }) } else { Err(self.error("a ) is missing")) }
    }

    fn operand(&mut self) -> Result<Operand, ParseError> {
        self.take_while(char::is_whitespace);
        let operand = if self.eat("@") {
            Operand::Path(JsonPath { steps: self.steps(&['=', '!', '<', '>', ')', ' '])? })
        } else if self.rest.starts_with(['\'', '"']) {
            Operand::Literal(self.quoted()?.into())
        } else {
            let text = self.take_while(|c| !matches!(c, ')' | ' ' | '=' | '!' | '<' | '>'));
            let literal = serde_json::from_str::<Value>(text).ok().filter(|v| v.is_number() || v.is_boolean());
            Operand::Literal(literal.ok_or_else(|| self.error("not a literal"))?)
        };
        self.take_while(char::is_whitespace);
        Ok(operand)
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn paths_lead_where_they_say() {
        let object = json!({"a": {"b": [{"t": "x", "n": 1}, {"t": "y", "n": 2}], "c.d": "dot"}, "e": "f"});
        for (path, expect) in [
            (".e", json!(["f"])),
            ("e", json!(["f"])),
            ("{.e}", json!(["f"])),
            ("$.e", json!(["f"])),
            (".a['c.d']", json!(["dot"])),
            (".a.c\\.d", json!(["dot"])),
            (".a.b[0].t", json!(["x"])),
            (".a.b[-1].t", json!(["y"])),
            (".a.b[*].n", json!([1, 2])),
            (".a.b[0:1].n", json!([1])),
            (".a.b[?(@.t==\"y\")].n", json!([2])),
            (".a.b[?(@.t == 'y')].n", json!([2])),
            (".a.b[?(@.n>1)].t", json!(["y"])),
            (".a.b[?(@.n!=1)].t", json!(["y"])),
            (".a.b[?(@.n)].t", json!(["x", "y"])),
            ("..t", json!(["x", "y"])),
            (".a.b[9]", json!([])),
            (".none.at.all", json!([])),
        ] {
            let found = JsonPath::parse(path).unwrap();
            assert_eq!(json!(found.find(&object)), expect, "{path}");
        }
    }

    #[test]
    fn malformed_paths_are_refused() {
        for path in [".a[", ".a[?(@.x==", ".a['b]", ".a[x]", ".a..", ".a[?(x)]", "{.a", ".a}", ".a{b", "{.a}{.b}"] {
            assert!(JsonPath::parse(path).is_err(), "{path}");
        }
    }

    #[test]
    fn bounded_work_of_paths_that_find_exponentially_much() {
        let deep = (0..100).fold(json!(0), |inner, _| json!([inner]));
        let path = JsonPath::parse(&"..[*]".repeat(8)).unwrap();
        assert!(path.find(&deep).len() <= MOST_VALUES);
        let nested = format!(".a{}", "[?(@.a".repeat(100_000));
        assert!(JsonPath::parse(&nested).is_err());
    }
}
