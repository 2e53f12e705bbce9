//! Parser of label selectors, with the messages of an API server.
//!
//! # Source
//!
//! apimachinery `pkg/labels/selector.go`, `Lexer` and `Parser`.

use super::{Condition, Requirement, names};
use std::collections::BTreeSet;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Token<'a> {
    Word(&'a str),
    Symbol(&'static str),
    End,
}

impl<'a> Token<'a> {
    const fn text(self) -> &'a str {
        match self {
            Self::Word(text) | Self::Symbol(text) => text,
            Self::End => "",
        }
    }
}

/// The longer symbols come first.
const SYMBOLS: [&str; 9] = ["==", "!=", "=", "!", "<", ">", "(", ")", ","];

struct Parser<'a> {
    rest: &'a str,
}

/// The requirements of a selector, in the order of the text.
///
/// # Errors
///
/// The message of an API server.
pub(super) fn parse(text: &str) -> Result<Vec<Requirement>, String> {
    let mut parser = Parser { rest: text };
    let mut requirements = Vec::new();
    loop {
        match parser.peek() {
            Token::Word(_) | Token::Symbol("!") => {
                let requirement = parser.requirement();
                requirements.push(requirement.map_err(|e| format!("unable to parse requirement: {e}"))?);
                match parser.next() {
                    Token::End => return Ok(requirements),
                    Token::Symbol(",") => match parser.peek() {
                        Token::Word(_) | Token::Symbol("!") => {}
                        other => return Err(format!("found '{}', expected: identifier after ','", other.text())),
                    },
                    other => return Err(format!("found '{}', expected: ',' or 'end of string'", other.text())),
                }
            }
            Token::End => return Ok(requirements),
            other @ Token::Symbol(_) => {
                return Err(format!("found '{}', expected: !, identifier, or 'end of string'", other.text()));
            }
        }
    }
}

impl<'a> Parser<'a> {
    fn peek(&self) -> Token<'a> {
        let rest = self.rest.trim_start();
        if rest.is_empty() {
            return Token::End;
        }
        if let Some(symbol) = SYMBOLS.iter().find(|symbol| rest.starts_with(**symbol)) {
            return Token::Symbol(symbol);
        }
        let is_end = |c: char| c.is_whitespace() || "=!<>(),".contains(c);
        Token::Word(rest.split(is_end).next().unwrap_or(rest))
    }

    fn next(&mut self) -> Token<'a> {
        let token = self.peek();
        self.rest = self.rest.trim_start().get(token.text().len()..).unwrap_or_default();
        token
    }

    fn requirement(&mut self) -> Result<Requirement, String> {
        if self.peek() == Token::Symbol("!") {
            self.next();
            return Ok(Requirement { key: self.key()?, condition: Condition::Missing });
        }
        let key = self.key()?;
        if matches!(self.peek(), Token::End | Token::Symbol(",")) {
            return Ok(Requirement { key, condition: Condition::Exists });
        }
        let condition = match self.next() {
            Token::Symbol("=" | "==") => Condition::In([self.value(&key)?].into()),
            Token::Symbol("!=") => Condition::NotIn([self.value(&key)?].into()),
            Token::Symbol(">") => Condition::GreaterThan(self.integer(&key)?),
            Token::Symbol("<") => Condition::LessThan(self.integer(&key)?),
            Token::Word("in") => Condition::In(self.values(&key)?),
            Token::Word("notin") => Condition::NotIn(self.values(&key)?),
            other => return Err(format!("found '{}', expected: in, notin, =, ==, !=, gt, lt", other.text())),
        };
        Ok(Requirement { key, condition })
    }

    fn key(&mut self) -> Result<String, String> {
        match self.next() {
            Token::Word(key) => match names::qualified_name(key).first() {
                None => Ok(key.to_owned()),
                Some(fault) => Err(format!("<nil>: Invalid value: \"{key}\": {fault}")),
            },
            other => Err(format!("found '{}', expected: identifier", other.text())),
        }
    }

    /// A value may be empty: `a=` and `a=,b`.
    fn word(&mut self) -> Result<&'a str, String> {
        match self.peek() {
            Token::Word(word) => {
                self.next();
                Ok(word)
            }
            Token::End | Token::Symbol(",") => Ok(""),
            other @ Token::Symbol(_) => Err(format!("found '{}', expected: identifier", other.text())),
        }
    }

    fn value(&mut self, key: &str) -> Result<String, String> {
        let word = self.word()?;
        checked_value(key, word)
    }

    fn integer(&mut self, key: &str) -> Result<i64, String> {
        let word = self.word()?;
        let number = word.parse().map_err(|_not_an_integer| {
            format!(
                "values[0][{key}]: Invalid value: \"{word}\": for 'Gt', 'Lt' operators, the value must be an integer"
            )
        })?;
        checked_value(key, word)?;
        Ok(number)
    }

    fn values(&mut self, key: &str) -> Result<BTreeSet<String>, String> {
        match self.next() {
            Token::Symbol("(") => {}
            other => return Err(format!("found '{}' expected: '('", other.text())),
        }
        let mut values = BTreeSet::new();
        let mut expects_value = true;
        loop {
            match self.next() {
                Token::Word(word) if expects_value => {
                    values.insert(checked_value(key, word)?);
                    expects_value = false;
                }
                Token::Symbol(symbol @ ("," | ")")) => {
                    // An empty value: `a in (,x)`.
                    if expects_value {
                        values.insert(String::new());
                    }
                    if symbol == ")" {
                        return Ok(values);
                    }
                    expects_value = true;
                }
                other => return Err(format!("found '{}', expected: ',' or ')'", other.text())),
            }
        }
    }
}

fn checked_value(key: &str, value: &str) -> Result<String, String> {
    match names::label_value(value).first() {
        None => Ok(value.to_owned()),
        Some(fault) => Err(format!("values[0][{key}]: Invalid value: \"{value}\": {fault}")),
    }
}
