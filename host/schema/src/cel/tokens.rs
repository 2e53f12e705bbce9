//! Tokenizer of CEL expressions, to find the positions of their parts.
//!
//! The parser has checked the syntax before, but reports no positions.

/// The kind of a token.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Kind {
    /// A name or word, including `true` and `null`.
    Word,
    Number,
    Text,
    Sign,
}

/// A token and the index of its first byte.
#[derive(Clone, Copy, Debug)]
pub(super) struct Token<'s> {
    pub(super) kind: Kind,
    pub(super) text: &'s str,
    pub(super) at: usize,
}

/// The tokens of `source`, without spaces and comments.
pub(super) fn tokens(source: &str) -> Vec<Token<'_>> {
    let mut found = Vec::new();
    let mut at = 0;
    while let Some(rest) = source.get(at..).filter(|rest| !rest.is_empty()) {
        let (kind, length) = token(rest);
        if let (Some(kind), Some(text)) = (kind, rest.get(..length)) {
            found.push(Token { kind, text, at });
        }
        at += length.max(1);
    }
    found
}

/// Kind and length of the first token of `rest`; no kind for spaces and comments.
fn token(rest: &str) -> (Option<Kind>, usize) {
    let first = rest.chars().next().unwrap_or_default();
    let while_is = |is: &dyn Fn(char) -> bool| rest.find(|c: char| !is(c)).unwrap_or(rest.len());
    if first.is_whitespace() {
        return (None, while_is(&char::is_whitespace));
    }
    if rest.starts_with("//") {
        return (None, rest.find('\n').unwrap_or(rest.len()));
    }
    if let Some(length) = text(rest) {
        return (Some(Kind::Text), length);
    }
    if first.is_ascii_alphabetic() || first == '_' {
        return (Some(Kind::Word), while_is(&|c| c.is_ascii_alphanumeric() || c == '_'));
    }
    if first == '`' {
        return (Some(Kind::Word), rest.get(1..).and_then(|inner| inner.find('`')).map_or(rest.len(), |end| end + 2));
    }
    if first.is_ascii_digit() || (first == '.' && rest.chars().nth(1).is_some_and(|c| c.is_ascii_digit())) {
        return (Some(Kind::Number), number(rest));
    }
    let pair = ["&&", "||", "==", "!=", "<=", ">="].iter().any(|pair| rest.starts_with(pair));
    (Some(Kind::Sign), if pair { 2 } else { first.len_utf8() })
}

fn number(rest: &str) -> usize {
    let mut before = ' ';
    for (at, c) in rest.char_indices() {
        let goes_on = c.is_ascii_alphanumeric()
            || (c == '.' && rest.get(at + 1..).is_some_and(|next| next.starts_with(|c: char| c.is_ascii_digit())))
            || (matches!(c, '+' | '-') && matches!(before, 'e' | 'E') && !rest.starts_with("0x"));
        if !goes_on {
            return at;
        }
        before = c;
    }
    rest.len()
}

/// The length of a string or of bytes, with prefix and quotes.
fn text(rest: &str) -> Option<usize> {
    // Never further: the search of a whole source for each of its tokens takes quadratic time.
    let (prefix, _) = rest.char_indices().take(3).find(|(_, c)| matches!(c, '"' | '\''))?;
    let letters = rest.get(..prefix)?.to_ascii_lowercase();
    if !["", "r", "b", "rb", "br"].contains(&letters.as_str()) {
        return None;
    }
    let body = rest.get(prefix..)?;
    let quote = ["\"\"\"", "'''", "\"", "'"].into_iter().find(|quote| body.starts_with(quote))?;
    let mut escaped = false;
    for (at, c) in body.char_indices().filter(|(at, _)| *at >= quote.len()) {
        if escaped {
            escaped = false;
        } else if c == '\\' && !letters.contains('r') {
            escaped = true;
        } else if body.get(at..).is_some_and(|end| end.starts_with(quote)) {
            return Some(prefix + at + quote.len());
        }
    }
    Some(rest.len())
}
