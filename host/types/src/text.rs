//! Text of a schema as comments and string literals. A schema is input of others: it must end neither.

use std::fmt::Write as _;

/// Longest description that is written, in characters.
const LONGEST: usize = 4000;
/// Width of a comment.
const WIDTH: usize = 100;

/// The lines of a description, wrapped. Nothing in them ends a comment of any language, nor changes the direction of text.
pub(crate) fn lines(doc: &str) -> Vec<String> {
    let shown: String = doc.chars().take(LONGEST).filter(|letter| *letter == '\n' || is_shown(*letter)).collect();
    // A backslash goes first: what it becomes could end a comment. A trigraph of C is one more way to write it.
    let shown = shown.replace('\\', "/").replace("*/", "* /").replace("/*", "/ *").replace("??/", "? ?/");
    let mut lines = Vec::new();
    for line in shown.trim().lines() {
        let mut wrapped = String::new();
        for word in line.split_whitespace() {
            if !wrapped.is_empty() && wrapped.chars().count() + word.chars().count() >= WIDTH {
                lines.push(std::mem::take(&mut wrapped));
            }
            if !wrapped.is_empty() {
                wrapped.push(' ');
            }
            wrapped.push_str(word);
        }
        lines.push(wrapped);
    }
    lines.dedup_by(|next, line| next.is_empty() && line.is_empty());
    lines
}

fn is_shown(letter: char) -> bool {
    !letter.is_control()
        && !matches!(letter, '\u{200b}'..='\u{200f}' | '\u{2028}'..='\u{202e}' | '\u{2060}'..='\u{206f}' | '\u{feff}')
}

/// Writes a comment of lines that begin with a mark: `///`, `//`, `#`.
pub(crate) fn comment(out: &mut String, indent: &str, mark: &str, doc: &str) {
    for line in lines(doc) {
        let _ = writeln!(out, "{}", format!("{indent}{mark} {line}").trim_end());
    }
}

/// Writes a comment in `/** … */`.
pub(crate) fn block_comment(out: &mut String, indent: &str, begin: &str, doc: &str) {
    match lines(doc).as_slice() {
        [] => {}
        [line] => {
            let _ = writeln!(out, "{indent}{begin} {line} */");
        }
        lines => {
            let _ = writeln!(out, "{indent}{begin}");
            for line in lines {
                let _ = writeln!(out, "{}", format!("{indent} * {line}").trim_end());
            }
            let _ = writeln!(out, "{indent} */");
        }
    }
}

/// A string literal in double quotes, as TypeScript reads it: letters outside ASCII are escaped as UTF-16.
pub(crate) fn quoted(text: &str) -> String {
    escaped(text, |out, letter| {
        let mut units = [0; 2];
        for unit in letter.encode_utf16(&mut units) {
            let _ = write!(out, "\\u{unit:04x}");
        }
    })
}

/// As [`quoted`], as Rust reads it.
pub(crate) fn quoted_rust(text: &str) -> String {
    escaped(text, |out, letter| {
        let _ = write!(out, "\\u{{{:x}}}", u32::from(letter));
    })
}

/// As [`quoted`], as Python reads it: one escape for each letter.
pub(crate) fn quoted_wide(text: &str) -> String {
    escaped(text, |out, letter| {
        let _ = write!(out, "\\U{:08x}", u32::from(letter));
    })
}

/// As [`quoted`], as C and Go read it: an escape for each byte of UTF-8, and none that begins a trigraph of C.
pub(crate) fn quoted_bytes(text: &str) -> String {
    let escaped = escaped(text, |out, letter| {
        let mut bytes = [0; 4];
        for byte in letter.encode_utf8(&mut bytes).bytes() {
            let _ = write!(out, "\\{byte:03o}");
        }
    });
    escaped.replace("??", "?\\077")
}

fn escaped(text: &str, escape: impl Fn(&mut String, char)) -> String {
    let mut out = "\"".to_owned();
    for letter in text.chars() {
        match letter {
            '"' | '\\' => out.extend(['\\', letter]),
            ' '..='~' => out.push(letter),
            other => escape(&mut out, other),
        }
    }
    out.push('"');
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_description_ends_no_comment_and_hides_no_text() {
        assert_eq!(lines("a */ b\n\n\n/* c \u{202e}d\u{2028}e\u{7}"), ["a * / b", "", "/ * c de"]);
        assert_eq!(lines("a *\\ b /\\* c ??\\"), ["a * / b // * c ? ?/"]);
        assert!(lines(&"word ".repeat(100_000)).iter().all(|line| line.len() <= WIDTH));
    }

    #[test]
    fn literals_keep_their_text() {
        assert_eq!(quoted("a\"\\\n€"), r#""a\"\\\u000a\u20ac""#);
        assert_eq!(quoted_rust("\u{1f600}"), r#""\u{1f600}""#);
        assert_eq!(quoted_wide("é"), r#""\U000000e9""#);
        assert_eq!(quoted_bytes("é1??=\\"), r#""\303\2511?\077=\\""#);
    }
}
