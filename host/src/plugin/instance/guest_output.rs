//! Guest output before a trap: printed or logged errors, which explain the failure of a call.

use crate::secrets::KnownSecrets;
use std::borrow::Cow;
use std::collections::VecDeque;

/// Lines kept from the beginning, and from the end. The important lines of a stack trace come first in some languages and last in others.
const FIRST_LINES: usize = 4;
const LAST_LINES: usize = 8;

/// Longest line that is assembled from printed output.
const LINE_BYTES: usize = 4 << 10;

/// The kept error lines, and printed output that is not in the log yet.
#[derive(Clone, Debug, Default)]
pub(super) struct GuestOutput {
    first: Vec<String>,
    last: VecDeque<String>,
    out: Stream,
    err: Stream,
}

/// Printed output of one stream.
#[derive(Clone, Debug, Default)]
struct Stream {
    /// Output in which a secret may begin that is not printed to its end.
    held: Vec<u8>,
    /// The incomplete line, without secrets.
    open: Vec<u8>,
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

    /// Adds printed output, and returns the complete lines without secrets, and without those about the runtime of a language.
    pub(super) fn printed(&mut self, error: bool, bytes: &[u8], secrets: &KnownSecrets) -> Vec<String> {
        let stream = if error { &mut self.err } else { &mut self.out };
        match secrets.printed(&mut stream.held, bytes) {
            Cow::Borrowed(shown) => stream.lines(shown),
            Cow::Owned(shown) => stream.all_lines(&shown),
        }
    }

    /// Whether output waits because a secret may begin in it.
    pub(super) fn holds(&self) -> bool {
        !self.out.held.is_empty() || !self.err.held.is_empty()
    }

    /// The lines of standard output and of standard error that remain, the incomplete ones included.
    pub(super) fn rest(&mut self, secrets: &KnownSecrets) -> [Vec<String>; 2] {
        [&mut self.out, &mut self.err].map(|stream| stream.rest(secrets))
    }

    /// The kept error lines, and those that remain of standard error, as one line.
    pub(super) fn error_lines(&self, secrets: &KnownSecrets) -> Option<String> {
        let mut all = self.clone();
        all.err.rest(secrets).iter().for_each(|line| all.keep(line));
        let lines: Vec<&str> = all.first.iter().chain(&all.last).map(String::as_str).collect();
        (!lines.is_empty()).then(|| lines.join(" | "))
    }

    pub(super) fn forget(&mut self) {
        self.first.clear();
        self.last.clear();
    }
}

impl Stream {
    /// Adds the output of one write without secrets, and returns the complete lines.
    fn lines(&mut self, bytes: &[u8]) -> Vec<String> {
        let mut lines = Vec::new();
        for part in bytes.split_inclusive(|b| *b == b'\n') {
            self.open.extend_from_slice(part.get(..LINE_BYTES).unwrap_or(part));
            if part.ends_with(b"\n") || self.open.len() >= LINE_BYTES {
                let line = text(&std::mem::take(&mut self.open));
                if !is_noise(&line) {
                    lines.push(line);
                }
            }
        }
        lines
    }

    /// The same for the output of several writes.
    fn all_lines(&mut self, bytes: &[u8]) -> Vec<String> {
        bytes.chunks(LINE_BYTES).flat_map(|part| self.lines(part)).collect()
    }

    /// The lines that remain.
    fn rest(&mut self, secrets: &KnownSecrets) -> Vec<String> {
        let shown = secrets.printed_rest(&mut self.held);
        let mut lines = self.all_lines(&shown);
        if !self.open.is_empty() {
            lines.push(text(&std::mem::take(&mut self.open)));
        }
        lines
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
            output.printed(true, printed, &KnownSecrets::off()),
            ["ValueError: mine", "thread '<unnamed>' panicked at src/lib.rs:7:5:"]
        );
    }

    #[test]
    fn lines_are_put_together_and_the_first_and_last_ones_kept() {
        let (mut output, none) = (GuestOutput::default(), KnownSecrets::off());
        assert!(output.printed(true, b"ha", &none).is_empty());
        assert_eq!(output.error_lines(&none).as_deref(), Some("ha"));
        assert_eq!(output.printed(true, b"lf\nwhole\nre", &none), ["half", "whole"]);
        assert_eq!(output.printed(false, &vec![b'x'; 3 * LINE_BYTES], &none).concat().len(), LINE_BYTES);
        assert_eq!(output.rest(&none), [vec![], vec!["re".to_owned()]]);
        assert_eq!(output.error_lines(&none), None);
        for i in 0..24 {
            output.keep(&format!(" line {i}\n"));
        }
        let kept: Vec<String> = (0..FIRST_LINES).chain(24 - LAST_LINES..24).map(|i| format!("line {i}")).collect();
        assert_eq!(output.error_lines(&none).unwrap(), kept.join(" | "));
        output.forget();
        assert_eq!(output.error_lines(&none), None);
    }

    fn knowing(values: &[&str]) -> KnownSecrets {
        let secrets = KnownSecrets::default();
        secrets.learn_values(values.iter().map(|value| (*value).to_owned()).collect::<Vec<_>>().iter());
        secrets
    }

    /// Lines of which none contains `canary`, as one text.
    fn shown(lines: &[String]) -> String {
        let text = lines.join("|");
        assert!(!text.contains("canary"), "{text}");
        // Each placeholder without its digits.
        let mut parts = text.split("oarlock-secret-");
        let first = parts.next().unwrap().to_owned();
        parts.fold(first, |text, part| text + "#" + part.get(16..).unwrap_or_default())
    }

    #[test]
    fn a_secret_that_is_printed_in_several_writes_is_replaced() {
        let large: String = (0..400).map(|number| format!("canary-{number:06}")).collect();
        let secrets = knowing(&[&large]);
        let mut output = GuestOutput::default();
        let (one, other) = large.split_at(4 << 10);
        let mut lines = output.printed(true, format!("first\nkey: {one}").as_bytes(), &secrets);
        assert_eq!(lines, ["first"], "a complete line does not wait");
        lines.extend(output.printed(true, other.as_bytes(), &secrets));
        assert_eq!(shown(&[output.error_lines(&secrets).unwrap()]), "key: #");
        lines.extend(output.printed(true, b"!\nlast", &secrets));
        lines.extend(output.rest(&secrets).concat());
        assert_eq!(shown(&lines), "first|key: #!|last");
        assert!(!output.holds());
    }

    #[test]
    fn a_secret_of_several_lines_is_replaced_when_each_is_printed_alone() {
        let secrets = knowing(&["canary-a1\ncanary-b2", "canary-of-one-line"]);
        let mut output = GuestOutput::default();
        for part in ["before\nkey: canary-a1\n", "canary-b2\n", "a canary-of-", "one-line\n", "after"] {
            assert!(output.printed(false, part.as_bytes(), &secrets).is_empty(), "{part}");
            assert!(output.printed(true, part.as_bytes(), &secrets).is_empty(), "{part}");
        }
        let expected = "before|key: #|a #|after";
        assert_eq!(shown(&[output.error_lines(&secrets).unwrap()]), expected.replace('|', " | "));
        for lines in output.rest(&secrets) {
            assert_eq!(shown(&lines), expected);
        }
        assert!(!output.holds() && output.rest(&secrets).concat().is_empty());
    }

    #[test]
    fn output_in_which_a_secret_may_begin_is_bounded_and_nothing_of_it_is_lost() {
        let secret = "canary-a1\ncanary-b2";
        let secrets = knowing(&[secret]);
        let mut output = GuestOutput::default();
        let (mut lines, mut expected, mut printed) = (Vec::new(), Vec::new(), String::new());
        for number in 0..20_000 {
            let hidden = number % 7 == 0;
            expected.push(if hidden { format!("{number} #") } else { format!("{number} line") });
            printed.push_str(&if hidden { format!("{number} {secret}\n") } else { format!("{number} line\n") });
        }
        for part in printed.as_bytes().chunks(13) {
            lines.extend(output.printed(false, part, &secrets));
            assert!(output.out.held.len() < 2 * LINE_BYTES, "{}", output.out.held.len());
        }
        assert!(lines.len() > 15_000, "{}", lines.len());
        lines.extend(output.rest(&secrets).concat());
        assert_eq!(shown(&lines), expected.join("|"));
    }
}
