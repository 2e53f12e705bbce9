#![doc = include_str!("../README.md")]

pub mod admin;
pub mod admission;
pub mod api;
pub mod apply;
pub mod cases;
pub mod controller;
pub mod grants;
pub mod informer;
pub mod lease;
pub mod lifecycle;
pub mod logging;
pub mod metrics;
pub mod oci;
pub mod plugin;
pub mod rbac;
pub mod runtime;
pub mod workqueue;

/// An error with its causes, in one line.
pub(crate) fn chain(error: &dyn std::error::Error) -> String {
    let mut text = error.to_string();
    let mut source = error.source();
    while let Some(cause) = source {
        let cause_text = cause.to_string();
        // Many errors repeat their source in their own words.
        if !text.contains(&cause_text) {
            text.push_str(": ");
            text.push_str(&cause_text);
        }
        source = cause.source();
    }
    text
}

/// The beginning of a text, at most `limit_bytes` long, cut between characters.
pub(crate) fn shorten(text: &str, limit_bytes: usize) -> &str {
    text.get(..text.floor_char_boundary(limit_bytes)).unwrap_or(text)
}

/// A text without line breaks and other control characters, for logs and comments that quote a stranger.
pub(crate) fn one_line(text: &str) -> String {
    text.chars().map(|c| if c.is_control() { ' ' } else { c }).collect()
}

#[cfg(test)]
mod tests {
    #[test]
    fn a_quoted_text_stays_on_its_line() {
        assert_eq!(super::one_line("a\nb\u{85}c\td"), "a b c d");
    }

    #[test]
    fn texts_are_cut_between_characters() {
        assert_eq!(super::shorten("añb", 2), "a");
        assert_eq!(super::shorten("añb", 3), "añ");
        assert_eq!(super::shorten("añb", 99), "añb");
    }
}
