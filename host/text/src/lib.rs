//! Escaping of untrusted text for terminals, log lines, events and tables.
//!
//! Control characters move the cursor, set a terminal's title or end a line; bidirectional marks change how a text reads. The host
//! escapes text of guests, registries and servers where it enters, so that every place that shows it is safe.

#[cfg(doctest)]
#[doc = include_str!("../README.md")]
struct Readme;

use std::fmt::{self, Write};

/// Control characters including line breaks, and marks that break lines or change the direction of text.
fn is_hidden(c: char) -> bool {
    c.is_control()
        || matches!(c, '\u{61c}' | '\u{200e}' | '\u{200f}' | '\u{2028}'..='\u{202e}' | '\u{2066}'..='\u{2069}')
}

/// Writes hidden characters as escapes such as `\n` and `\u{1b}`.
#[derive(Debug)]
pub struct Escape<'w, W>(pub &'w mut W);

impl<W: Write> Write for Escape<'_, W> {
    fn write_str(&mut self, text: &str) -> fmt::Result {
        for part in text.split_inclusive(is_hidden) {
            match part.char_indices().next_back() {
                Some((end, last)) if is_hidden(last) => {
                    self.0.write_str(part.get(..end).unwrap_or_default())?;
                    write!(self.0, "{}", last.escape_default())?;
                }
                _ => self.0.write_str(part)?,
            }
        }
        Ok(())
    }
}

/// A text in one line, with hidden characters escaped.
#[must_use]
pub fn one_line(text: &str) -> String {
    let mut escaped = String::with_capacity(text.len());
    // Writing to a string cannot fail.
    let _ = Escape(&mut escaped).write_str(text);
    escaped
}

/// The beginning of a text in one line, at most `limit_bytes` long.
#[must_use]
pub fn quoted(text: &str, limit_bytes: usize) -> String {
    let mut escaped = one_line(shorten(text, limit_bytes));
    escaped.truncate(escaped.floor_char_boundary(limit_bytes));
    escaped
}

/// A text of several lines for a terminal: line breaks and tabs as they are, other hidden characters escaped.
#[must_use]
pub fn lines(text: &str) -> String {
    let parts = text.split_inclusive(['\n', '\t']).map(|part| match part.strip_suffix(['\n', '\t']) {
        Some(before) => one_line(before) + part.get(before.len()..).unwrap_or_default(),
        None => one_line(part),
    });
    parts.collect()
}

/// A JSON document for a terminal, which says the same: hidden characters of its texts are escaped as JSON does.
#[must_use]
pub fn json(document: &str) -> String {
    let mut escaped = String::with_capacity(document.len());
    for c in document.chars() {
        if is_hidden(c) && !matches!(c, '\n' | '\t') {
            for unit in c.encode_utf16(&mut [0; 2]) {
                // Writing to a string cannot fail.
                let _ = write!(escaped, "\\u{unit:04x}");
            }
        } else {
            escaped.push(c);
        }
    }
    escaped
}

/// The beginning of a text, at most `limit_bytes` long, cut between characters.
#[must_use]
pub fn shorten(text: &str, limit_bytes: usize) -> &str {
    text.get(..text.floor_char_boundary(limit_bytes)).unwrap_or(text)
}

/// An error with its causes, in one line.
#[must_use]
pub fn chain(error: &dyn std::error::Error) -> String {
    let mut text = error.to_string();
    let mut source = error.source();
    while let Some(cause) = source {
        let cause_text = cause.to_string();
        // Many errors repeat their source in their own message.
        if !text.contains(&cause_text) {
            text.push_str(": ");
            text.push_str(&cause_text);
        }
        source = cause.source();
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn t10_a_text_of_a_stranger_cannot_move_a_terminal_or_turn_a_line_around() {
        assert_eq!(one_line("a\nb\u{85}c\td"), "a\\nb\\u{85}c\\td");
        assert_eq!(one_line("\x1b]0;title\x07x\u{9b}31m"), "\\u{1b}]0;title\\u{7}x\\u{9b}31m");
        assert_eq!(one_line("safe\u{202e}exe.txt\u{2066}\u{200f}"), "safe\\u{202e}exe.txt\\u{2066}\\u{200f}");
        assert_eq!(one_line("Grüße, 世界 👩‍💻"), "Grüße, 世界 👩‍💻");
        assert_eq!(lines("a\tb\r\n\x1b[2Jc"), "a\tb\\r\n\\u{1b}[2Jc");
    }

    #[test]
    fn t10_a_json_document_stays_one_and_cannot_move_a_terminal_either() {
        assert_eq!(json("{\n\t\"a\u{202e}\": \"\u{7f}\u{85}ü👩‍💻\"}"), "{\n\t\"a\\u202e\": \"\\u007f\\u0085ü👩‍💻\"}");
    }

    #[test]
    fn an_escaped_text_stays_within_its_limit() {
        assert_eq!(quoted(&"\x1b".repeat(100), 13), "\\u{1b}\\u{1b}\\");
        assert_eq!(quoted("añb", 2), "a");
    }

    #[test]
    fn texts_are_cut_between_characters() {
        assert_eq!(shorten("añb", 2), "a");
        assert_eq!(shorten("añb", 3), "añ");
        assert_eq!(shorten("añb", 99), "añb");
    }
}
