//! Guest output before a trap: printed or logged errors, which explain the failure of a call.

use std::collections::VecDeque;

/// Lines kept from the beginning, and from the end. The important lines of a stack trace come first in some languages and last in others.
const FIRST_LINES: usize = 4;
const LAST_LINES: usize = 8;

/// Longest line that is assembled from printed output.
const LINE_BYTES: usize = 4 << 10;

/// The kept error lines, and incomplete printed lines.
#[derive(Debug, Default)]
pub(super) struct GuestOutput {
    first: Vec<String>,
    last: VecDeque<String>,
    out: Vec<u8>,
    err: Vec<u8>,
}

impl GuestOutput {
    /// Keeps a line about an error.
    pub(super) fn keep(&mut self, line: &str) {
        if line.trim().is_empty() {
            return;
        }
        let line = line.trim().to_owned();
        if self.first.len() < FIRST_LINES {
            self.first.push(line);
            return;
        }
        if self.last.len() == LAST_LINES {
            self.last.pop_front();
        }
        self.last.push_back(line);
    }

    /// Adds printed output, and returns the complete lines without those about the runtime of a language.
    pub(super) fn printed(&mut self, error: bool, bytes: &[u8]) -> Vec<String> {
        let open = if error { &mut self.err } else { &mut self.out };
        let mut lines = Vec::new();
        for part in bytes.split_inclusive(|b| *b == b'\n') {
            open.extend_from_slice(part.get(..LINE_BYTES).unwrap_or(part));
            if part.ends_with(b"\n") || open.len() >= LINE_BYTES {
                let line = text(&std::mem::take(open));
                if !is_noise(&line) {
                    lines.push(line);
                }
            }
        }
        lines
    }

    /// The incomplete lines of standard output and of standard error.
    pub(super) fn rest(&mut self) -> [Option<String>; 2] {
        [&mut self.out, &mut self.err].map(|open| (!open.is_empty()).then(|| text(&std::mem::take(open))))
    }

    /// The kept error lines as one line.
    pub(super) fn error_lines(&self) -> Option<String> {
        let open = (!self.err.is_empty()).then(|| text(&self.err));
        let lines: Vec<&str> = self.first.iter().chain(&self.last).map(String::as_str).chain(open.as_deref()).collect();
        (!lines.is_empty()).then(|| lines.join(" | "))
    }

    pub(super) fn forget(&mut self) {
        self.first.clear();
        self.last.clear();
    }
}

/// Whether a line is about the language's runtime itself, which is written in Rust: the place of its own panic, and advice for its authors.
fn is_noise(line: &str) -> bool {
    line.starts_with("note: run with `RUST_BACKTRACE=")
        || line.starts_with("thread '") && line.contains(" panicked at runtime/src/")
}

fn text(bytes: &[u8]) -> String {
    String::from_utf8_lossy(bytes).trim_end().to_owned()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn n16_the_runtime_of_a_language_is_no_part_of_an_error() {
        let mut output = GuestOutput::default();
        let printed = b"ValueError: mine\nthread '<unnamed>' (1) panicked at runtime/src/lib.rs:1293:21:\n\
            note: run with `RUST_BACKTRACE=1` environment variable to display a backtrace\n\
            thread '<unnamed>' panicked at src/lib.rs:7:5:\n";
        assert_eq!(
            output.printed(true, printed),
            ["ValueError: mine", "thread '<unnamed>' panicked at src/lib.rs:7:5:"]
        );
    }

    #[test]
    fn lines_are_put_together_and_the_first_and_last_ones_kept() {
        let mut output = GuestOutput::default();
        assert!(output.printed(true, b"ha").is_empty());
        assert_eq!(output.error_lines().as_deref(), Some("ha"));
        assert_eq!(output.printed(true, b"lf\nwhole\nre"), ["half", "whole"]);
        assert_eq!(output.printed(false, &vec![b'x'; 3 * LINE_BYTES]).concat().len(), LINE_BYTES);
        assert_eq!(output.rest(), [None, Some("re".to_owned())]);
        assert_eq!(output.error_lines(), None);
        for i in 0..24 {
            output.keep(&format!(" line {i}\n"));
        }
        let kept: Vec<String> = (0..FIRST_LINES).chain(24 - LAST_LINES..24).map(|i| format!("line {i}")).collect();
        assert_eq!(output.error_lines().unwrap(), kept.join(" | "));
        output.forget();
        assert_eq!(output.error_lines(), None);
    }
}
