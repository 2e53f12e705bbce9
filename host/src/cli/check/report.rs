//! Reports of a check: text, JSON, HTML. They depend on the plugin, the inputs, the seed and the number of cases alone.

use super::program::Program;
use super::shrink::Shrunk;
use anyhow::Context as _;
use oarlock::text;
use serde_json::{Value, json};
use std::fmt::Write as _;
use std::path::Path;

/// A finding of a report.
#[derive(Clone, Debug)]
pub(super) struct Finding {
    /// The first case that shows it.
    pub(super) case: u64,
    /// How many cases show it.
    pub(super) cases: u64,
    /// The name of its file.
    pub(super) file: String,
    pub(super) shrunk: Shrunk,
}

/// What is checked.
#[derive(Clone, Debug)]
pub(super) enum Subject {
    /// Name and version.
    Plugin(String, String),
    /// As it was given.
    Command(String),
}

impl Subject {
    fn title(&self) -> String {
        match self {
            Self::Plugin(name, version) => text::one_line(&format!("{name} {version}")),
            Self::Command(command) => text::one_line(command),
        }
    }

    /// The command that plays the steps of a file.
    fn again(&self, file: &str) -> String {
        match self {
            Self::Plugin(..) => "oarlock test FILE.wasm --scenarios FOLDER, with the same --grant".to_owned(),
            Self::Command(command) => {
                let command = text::one_line(command).replace('\'', "'\\''");
                format!(
                    "oarlock check --command '{command}' --steps {file}, with the same --crd, --object and --cluster"
                )
            }
        }
    }

    /// What is said of a finding that its file does not show.
    fn unseen(&self) -> &'static str {
        match self {
            Self::Plugin(..) => "The file does not fail as a test: it shows the steps only.",
            Self::Command(_) => "It was not seen again when the steps were played again.",
        }
    }
}

/// A whole report.
#[derive(Clone, Debug)]
pub(super) struct Report {
    pub(super) subject: Subject,
    pub(super) seed: u64,
    pub(super) cases: u64,
    pub(super) findings: Vec<Finding>,
    /// Findings that were not shrunk and are counted only.
    pub(super) others: usize,
}

impl Report {
    /// For people. A line for each finding, and its reasons.
    pub(super) fn text(&self) -> String {
        let mut out = String::new();
        for finding in &self.findings {
            let Finding { case, cases, file, shrunk } = finding;
            let _ = writeln!(out, "FINDING  {}: {}", shrunk.oracle.name(), shrunk.oracle.sentence());
            for line in &shrunk.lines {
                let _ = writeln!(out, "           {}", text::one_line(line));
            }
            let more = if *cases > 1 { format!(" and {} more", cases - 1) } else { String::new() };
            let _ = writeln!(out, "         case {case}{more}; {} in {file}", counted(shrunk.scenario.len(), "step"));
            if !shrunk.fails {
                let _ = writeln!(out, "         {}", self.subject.unseen());
            }
        }
        let _ = writeln!(out, "{}: {} (seed {})", self.subject.title(), self.numbers(), self.seed);
        out
    }

    /// Cases and findings, with those that are left out.
    fn numbers(&self) -> String {
        let numbers = format!("{}, {}", counted(self.cases, "case"), counted(self.findings.len(), "finding"));
        if self.others == 0 { numbers } else { format!("{numbers}, {} more not shrunk: mend these first", self.others) }
    }

    /// For programs.
    pub(super) fn json(&self) -> Value {
        let findings: Vec<Value> = self
            .findings
            .iter()
            .map(|finding| {
                let Shrunk { oracle, lines, scenario, fails, .. } = &finding.shrunk;
                json!({
                    "oracle": oracle.name(), "summary": oracle.sentence(), "details": lines, "case": finding.case,
                    "cases": finding.cases, "file": finding.file, "steps": scenario.len(), "failsAsTest": fails,
                })
            })
            .collect();
        let mut report =
            json!({"seed": self.seed, "cases": self.cases, "findings": findings, "findingsNotShrunk": self.others});
        let (field, subject) = match &self.subject {
            Subject::Plugin(name, version) => ("plugin", json!({"name": name, "version": version})),
            Subject::Command(command) => ("command", json!(command)),
        };
        report.as_object_mut().map(|report| report.insert(field.to_owned(), subject));
        report
    }

    /// A page without scripts and without requests.
    pub(super) fn html(&self) -> String {
        let title = escaped(&format!("oarlock check: {}", self.subject.title()));
        let mut out = format!(
            "<!DOCTYPE html>\n<html lang=\"en\">\n<head>\n<meta charset=\"utf-8\">\n<title>{title}</title>\n<style>body{{font-family:sans-serif;max-width:60em;margin:2em auto}}pre{{background:#f4f4f4;padding:1em;overflow:auto}}</style>\n</head>\n<body>\n<h1>{title}</h1>\n<p>{}, seed {}</p>\n",
            self.numbers(),
            self.seed
        );
        for finding in &self.findings {
            let Shrunk { oracle, lines, scenario, .. } = &finding.shrunk;
            let _ = writeln!(out, "<h2>{}: {}</h2>\n<ul>", oracle.name(), oracle.sentence());
            for line in lines {
                let _ = writeln!(out, "<li>{}</li>", escaped(line));
            }
            let steps: Vec<String> = scenario.steps.iter().chain(&scenario.teardown).map(Value::to_string).collect();
            let _ = writeln!(
                out,
                "</ul>\n<p>Case {}; {}</p>\n<pre>{}</pre>",
                finding.case,
                escaped(&finding.file),
                steps.iter().map(|step| escaped(step)).collect::<Vec<_>>().join("\n")
            );
        }
        out.push_str("</body>\n</html>\n");
        out
    }

    /// Writes the scenario of each finding into a folder.
    ///
    /// * `cluster` - what exists before the host starts.
    /// * `services` - the stubs of HTTP services.
    ///
    /// # Errors
    ///
    /// The folder cannot be written.
    pub(super) fn write(&self, folder: &Path, cluster: &[Value], services: &[Value]) -> anyhow::Result<()> {
        if self.findings.is_empty() {
            return Ok(());
        }
        std::fs::create_dir_all(folder).with_context(|| format!("cannot create {}", folder.display()))?;
        let cluster: Vec<Value> = cluster.iter().map(|object| json!({"resource": object})).collect();
        for finding in &self.findings {
            let Shrunk { oracle, lines, scenario, .. } = &finding.shrunk;
            let Program { steps, teardown } = scenario;
            let title = self.subject.title();
            let mut text =
                format!("# Found by oarlock check --seed {} in case {} of {title}.\n", self.seed, finding.case);
            for line in lines {
                let _ = writeln!(text, "# {}", text::one_line(line));
            }
            let _ = writeln!(text, "# Play it again: {}", self.subject.again(&finding.file));
            // In this order. The name of the file is that of the oracle.
            let mut parts = vec![json!({"description": oracle.sentence()}), json!({"cluster": cluster})];
            if !services.is_empty() {
                parts.push(json!({"http": services}));
            }
            parts.push(json!({"steps": steps}));
            if !teardown.is_empty() {
                parts.push(json!({"teardown": teardown}));
            }
            for part in parts {
                text.push_str(serde_saphyr::to_string(&part)?.trim_end());
                text.push('\n');
            }
            let path = folder.join(&finding.file);
            std::fs::write(&path, text).with_context(|| format!("cannot write {}", path.display()))?;
        }
        Ok(())
    }
}

/// `1 case`, `2 cases`.
fn counted(number: impl std::fmt::Display, what: &str) -> String {
    let number = number.to_string();
    let plural = if number == "1" { "" } else { "s" };
    format!("{number} {what}{plural}")
}

fn escaped(text: &str) -> String {
    text::one_line(text).replace('&', "&amp;").replace('<', "&lt;").replace('>', "&gt;").replace('"', "&quot;")
}
