//! Reports on scenarios: text, JUnit XML, TAP. They depend on the scenarios, the plugin and the seed alone.

use super::super::Format;
use oarlock::text;
use std::fmt::Write as _;
use std::time::Duration;

/// What became of a scenario.
#[derive(Clone, Debug)]
pub(super) struct Played {
    /// The name of its file, without the extension.
    pub(super) name: String,
    /// For people; may be empty.
    pub(super) description: String,
    /// Its file, as the user named the folder.
    pub(super) file: String,
    pub(super) steps: usize,
    /// Simulated time.
    pub(super) took: Duration,
    pub(super) failure: Option<Failure>,
    /// Whether the plugin computed past its deadline.
    pub(super) interrupted: bool,
    /// Reconciles that ended before the end of the last step.
    pub(super) reconciles: u64,
    /// The faults that never struck, where the scenario came to its end.
    pub(super) idle: Vec<String>,
    /// Whether `--update` changed the file.
    pub(super) written: bool,
}

/// The failure of a scenario.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Failure {
    /// Of the step in its file.
    pub(super) line: u64,
    /// `step 3: assert ConfigMap default/a`
    pub(super) place: String,
    /// What was expected and what was found.
    pub(super) lines: Vec<String>,
}

impl Played {
    /// The name and the description, in one line.
    fn title(&self) -> String {
        let Self { name, description, .. } = self;
        text::one_line(&if description.is_empty() { name.clone() } else { format!("{name}: {description}") })
    }

    /// Lines beside the report: what does not make a scenario fail.
    pub(super) fn beside(&self, format: Format) -> Vec<String> {
        let written = (self.written && format != Format::Text).then(|| format!("{}: written", self.file));
        let idle = self.idle.iter().map(|fault| format!("{}: fault {fault} never struck", self.file));
        written.into_iter().chain(idle).map(|line| text::one_line(&line)).collect()
    }

    /// The place in the file and the step, in one line.
    fn headline(&self, failure: &Failure) -> String {
        text::one_line(&format!("{}:{}: {}", self.file, failure.line, failure.place))
    }
}

/// The report.
///
/// * `suite` - the file of the plugin.
pub(super) fn report(format: Format, suite: &str, played: &[Played]) -> String {
    match format {
        Format::Text => as_text(played),
        Format::Junit => as_junit(suite, played),
        Format::Tap => as_tap(played),
    }
}

fn as_text(played: &[Played]) -> String {
    let mut out = String::new();
    for one in played {
        let word = match (&one.failure, one.written) {
            (Some(_), _) => "FAILED  ",
            (None, true) => "written ",
            (None, false) => "ok      ",
        };
        let _ = writeln!(out, "{word} {}", one.title());
        if let Some(failure) = &one.failure {
            let _ = writeln!(out, "         {}", one.headline(failure));
            for line in &failure.lines {
                let _ = writeln!(out, "           {}", text::one_line(line));
            }
        }
    }
    out
}

fn as_junit(suite: &str, played: &[Played]) -> String {
    let failures = played.iter().filter(|one| one.failure.is_some()).count();
    let seconds = |took: Duration| format!("{:.3}", took.as_secs_f64());
    let time = seconds(played.iter().map(|one| one.took).sum());
    let counts = format!("tests=\"{}\" failures=\"{failures}\" errors=\"0\"", played.len());
    let mut out = String::from("<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n");
    let _ = writeln!(out, "<testsuites {counts} time=\"{time}\">");
    let _ = writeln!(out, "  <testsuite name=\"{}\" {counts} skipped=\"0\" time=\"{time}\">", xml(suite));
    for one in played {
        let (name, file, time) = (xml(&one.name), xml(&one.file), seconds(one.took));
        let _ =
            write!(out, "    <testcase name=\"{name}\" classname=\"{}\" file=\"{file}\" time=\"{time}\"", xml(suite));
        let Some(failure) = &one.failure else {
            out.push_str("/>\n");
            continue;
        };
        let lines: Vec<String> = failure.lines.iter().map(|line| xml(line)).collect();
        let headline = xml(&one.headline(failure));
        let _ = writeln!(out, ">\n      <failure type=\"step\" message=\"{headline}\">{}</failure>", lines.join("\n"));
        out.push_str("    </testcase>\n");
    }
    out.push_str("  </testsuite>\n</testsuites>\n");
    out
}

/// Text in XML: control characters, which XML does not allow, are escaped as in text.
fn xml(text: &str) -> String {
    let mut out = String::new();
    for c in printable(text).chars() {
        match c {
            '&' => out.push_str("&amp;"),
            '<' => out.push_str("&lt;"),
            '>' => out.push_str("&gt;"),
            '"' => out.push_str("&quot;"),
            c => out.push(c),
        }
    }
    out
}

/// Text in one line, without the characters that neither XML 1.0 nor YAML 1.2 allows.
fn printable(text: &str) -> String {
    text::one_line(text).replace(['\u{fffe}', '\u{ffff}'], "\u{fffd}")
}

/// The name of a test, in which nothing begins a directive. `\#` is `#` since TAP 14. Parsers of TAP 13 do not know that, and would take a
/// failed test with `# TODO` in its name as one that may fail.
fn tap_name(title: &str) -> String {
    let mut parts = title.split('#');
    let mut out = parts.next().unwrap_or_default().replace('\\', "\\\\");
    for part in parts {
        let word: String = part.trim_start().chars().take(4).collect();
        let directive = word.eq_ignore_ascii_case("todo") || word.eq_ignore_ascii_case("skip");
        out.push_str(if directive { "\\\\u{23}" } else { "\\#" });
        out.push_str(&part.replace('\\', "\\\\"));
    }
    out
}

fn as_tap(played: &[Played]) -> String {
    let mut out = format!("TAP version 14\n1..{}\n", played.len());
    for (at, one) in played.iter().enumerate() {
        let word = if one.failure.is_some() { "not ok" } else { "ok" };
        let _ = writeln!(out, "{word} {} - {}", at + 1, tap_name(&one.title()));
        if let Some(failure) = &one.failure {
            // JSON texts are YAML.
            let quoted = |text: &str| serde_json::Value::from(printable(text)).to_string();
            let _ = writeln!(out, "  ---\n  message: {}\n  severity: fail", quoted(&failure.place));
            let _ = writeln!(out, "  at:\n    file: {}\n    line: {}\n  found:", quoted(&one.file), failure.line);
            for line in &failure.lines {
                let _ = writeln!(out, "    - {}", quoted(line));
            }
            out.push_str("  ...\n");
        }
    }
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn no_name_begins_a_directive() {
        for (title, name) in [
            ("a #12", "a \\#12"),
            ("a\\", "a\\\\"),
            ("a # TODO b", "a \\\\u{23} TODO b"),
            ("a \\#skip", "a \\\\\\\\u{23}skip"),
            ("# todo", "\\\\u{23} todo"),
            ("", ""),
        ] {
            assert_eq!(tap_name(title), name);
        }
    }
}
