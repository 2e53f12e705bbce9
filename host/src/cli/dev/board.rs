//! What `oarlock dev --watch` shows: the plugin, its builds, its tests, its last reconciles and errors.
//!
//! Each piece of news changes the board. It returns lines for an output that is no terminal.

use super::results::Results;
use crate::cli::group::Ended;
use crate::cli::terminal::fitted;
use oarlock::controller::FinishedReconcile;
use serde_json::Value;
use std::collections::VecDeque;
use std::time::Duration;
use tokio::time::Instant;

/// Reconciles and errors that are shown.
const RECONCILES: usize = 15;
const ERRORS: usize = 6;

/// News from the edit loop.
#[derive(Debug)]
pub(super) enum News {
    /// A build begins.
    Building,
    /// A build failed; the last version goes on.
    BuildFailed {
        took: Duration,
        /// The compiler's own words.
        output: String,
    },
    /// The result of a build is in the plugin directory.
    Built {
        took: Duration,
        /// When the save was noticed.
        saved: Instant,
        /// SHA-256 of the plugin file, in hex.
        digest: String,
        /// Warnings of the compiler.
        output: String,
    },
    /// The project's tests ended.
    Tested {
        /// `cases` or `scenarios`.
        tests: &'static str,
        ended: Ended,
    },
}

/// A version that was installed, and that has not reconciled yet.
#[derive(Debug)]
struct Awaited {
    digest: String,
    saved: Instant,
    build: Duration,
}

/// The state of everything shown.
#[derive(Debug, Default)]
pub(super) struct Board {
    /// First line: the project, and how to reach the API server.
    title: String,
    footer: String,
    build: String,
    /// The output of a failed build, and of failed tests.
    failures: Vec<String>,
    tests: Vec<String>,
    results: Results,
    plugins: Vec<String>,
    reconciles: VecDeque<String>,
    errors: VecDeque<String>,
    digest: String,
    awaited: Option<Awaited>,
}

impl Board {
    pub(super) fn new(title: String, footer: String) -> Self {
        Self { title, footer, ..Self::default() }
    }

    /// News from the edit loop. Returns the lines about it.
    pub(super) fn news(&mut self, news: News) -> Vec<String> {
        match news {
            News::Building => {
                "building".clone_into(&mut self.build);
                vec!["building".to_owned()]
            }
            News::BuildFailed { took, output } => {
                self.build = format!("failed after {}: the last version goes on", seconds(took));
                self.failures = text_lines(&output);
                self.tests.clear();
                let mut lines = vec![format!("build failed after {}; the last version goes on", seconds(took))];
                lines.extend(self.failures.iter().cloned());
                lines
            }
            News::Built { took, saved, digest, output } => {
                self.failures.clear();
                self.tests.clear();
                self.build = format!("built in {}", seconds(took));
                if digest == self.digest {
                    self.build.push_str(": the same plugin as before");
                    self.awaited = None;
                } else {
                    self.digest.clone_from(&digest);
                    self.results.another_version();
                    self.awaited = Some(Awaited { digest, saved, build: took });
                }
                let mut lines = text_lines(&output);
                lines.push(self.build.clone());
                lines
            }
            News::Tested { tests, ended } => self.tested(tests, &ended),
        }
    }

    fn tested(&mut self, tests: &'static str, ended: &Ended) -> Vec<String> {
        let run = self.results.run(tests, text_lines(&ended.output));
        if ended.success {
            let told = format!("{tests}: {} passed", run.passed);
            self.tests.push(told.clone());
            return vec![told];
        }
        self.tests.push(format!("{tests}: {}", run.summary()));
        let lines = run.lines(tests);
        self.failures.extend(lines.iter().cloned());
        lines
    }

    /// A reconcile has ended. Returns a line for the first one of a new version.
    pub(super) fn reconciled(&mut self, finished: &FinishedReconcile) -> Option<String> {
        let FinishedReconcile { plugin, version, key, error, .. } = finished;
        let result = if error.is_some() { "error" } else { "success" };
        let took = format!("{:.1} ms", finished.took.as_secs_f64() * 1e3);
        let now = jiff::Zoned::now().strftime("%H:%M:%S");
        self.reconciles.push_front(format!("{now}  {result:<7}  {took:>10}  {plugin} {version}  {key}"));
        self.reconciles.truncate(RECONCILES);
        let Awaited { saved, build, .. } = self.awaited.take_if(|awaited| awaited.digest == finished.digest)?;
        let whole = saved.elapsed();
        let share = 100.0 * build.as_secs_f64() / whole.as_secs_f64().max(0.001);
        let since = format!("{} after the save, of which the build {} ({share:.0} %)", seconds(whole), seconds(build));
        self.build = format!("{}; first reconcile {since}", self.build);
        Some(format!("{plugin} {version} reconciled {key} in {took}: {result}; {since}"))
    }

    /// A log line about a plugin, as JSON. Warnings and errors are shown in their author's words.
    pub(super) fn logged(&mut self, line: &str) {
        let line: Value = serde_json::from_str(line).unwrap_or_default();
        let text = |field: &str| line.get(field).and_then(Value::as_str).unwrap_or_default();
        if !matches!(text("level"), "WARN" | "ERROR") {
            return;
        }
        let time = text("timestamp").get(11..19).unwrap_or_default();
        let mut shown = format!("{time}  {}", text("message"));
        for field in ["key", "error", "reason", "why"] {
            if !text(field).is_empty() {
                shown.push_str(&format!("  {}", text(field)));
            }
        }
        self.errors.push_front(shown);
        self.errors.truncate(ERRORS);
    }

    /// The document of `/plugins`. Returns the digests of the versions that the host has compiled, in hex.
    pub(super) fn plugins(&mut self, document: &Value) -> Vec<String> {
        let entries: Vec<&Value> = document.get("plugins").and_then(Value::as_array).into_iter().flatten().collect();
        self.plugins = entries.iter().map(|entry| about(entry)).collect();
        let digest = |entry: &&Value| {
            let compiling = entry.get("state").and_then(Value::as_str) == Some("compiling");
            let digest = entry.get("digest").and_then(Value::as_str).filter(|_| !compiling)?;
            Some(digest.trim_start_matches("sha256:").to_owned())
        };
        entries.iter().filter_map(digest).collect()
    }

    /// The board on a terminal.
    pub(super) fn screen(&self, columns: usize, rows: usize) -> Vec<String> {
        let mut lines = vec![self.title.clone()];
        lines.extend(self.plugins.iter().map(|plugin| format!("plugin  {plugin}")));
        lines.push(format!("build   {}", self.build));
        lines.extend(self.tests.iter().map(|tests| format!("tests   {tests}")));
        let left = |lines: &Vec<String>| rows.saturating_sub(lines.len() + 1);
        let section = |title: &str, content: Vec<String>, most: usize| -> Vec<String> {
            if content.is_empty() || most < 3 {
                return Vec::new();
            }
            let title = [String::new(), title.to_owned()];
            title.into_iter().chain(content).take(most).collect()
        };
        let errors = section("last errors", self.errors.iter().cloned().collect(), left(&lines).min(2 + ERRORS));
        let others = if self.reconciles.is_empty() { 0 } else { 5 };
        let most = left(&lines).saturating_sub(errors.len() + others);
        lines.extend(section("failed", self.failures.clone(), most));
        let most = left(&lines).saturating_sub(errors.len());
        lines.extend(section("last reconciles", self.reconciles.iter().cloned().collect(), most));
        lines.extend(errors);
        lines.truncate(rows.saturating_sub(1));
        lines.push(self.footer.clone());
        lines.iter().map(|line| fitted(line, columns)).collect()
    }
}

/// One plugin in a line.
fn about(entry: &Value) -> String {
    let text = |field: &str| entry.get(field).and_then(Value::as_str).unwrap_or_default();
    let name = if text("name").is_empty() { text("file") } else { text("name") };
    let digest: String = text("digest").trim_start_matches("sha256:").chars().take(12).collect();
    let objects = entry.get("objects").and_then(Value::as_object).into_iter().flat_map(|kinds| kinds.values());
    let objects: u64 = objects.filter_map(Value::as_u64).sum();
    let mut line = format!("{name} {}  {}  {digest}  {objects} objects", text("version"), text("state"));
    if !text("reason").is_empty() {
        line.push_str(&format!("  {}", text("reason")));
    }
    line
}

/// The lines of an output, without its colours; tabs are spaces.
fn text_lines(output: &str) -> Vec<String> {
    output.trim_end().lines().map(|line| line.replace('\t', "    ")).collect()
}

fn seconds(time: Duration) -> String {
    format!("{:.1} s", time.as_secs_f64())
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    fn finished(digest: &str, error: Option<&str>) -> FinishedReconcile {
        FinishedReconcile {
            plugin: "greeter".to_owned(),
            version: "0.1.0".to_owned(),
            digest: digest.to_owned(),
            key: "ConfigMap default/a".to_owned(),
            took: Duration::from_micros(3100),
            error: error.map(str::to_owned),
        }
    }

    fn built(digest: &str) -> News {
        let took = Duration::from_secs(3);
        News::Built { took, saved: Instant::now(), digest: digest.to_owned(), output: String::new() }
    }

    #[tokio::test(start_paused = true)]
    async fn the_first_reconcile_of_a_new_version_is_told_with_its_time_since_the_save() {
        let mut board = Board::default();
        assert_eq!(board.news(built("one")), ["built in 3.0 s"]);
        tokio::time::advance(Duration::from_secs(4)).await;
        assert_eq!(board.reconciled(&finished("zero", None)), None);
        assert_eq!(
            board.reconciled(&finished("one", None)).unwrap(),
            "greeter 0.1.0 reconciled ConfigMap default/a in 3.1 ms: success; 4.0 s after the save, of which the build 3.0 s (75 %)"
        );
        assert_eq!(board.reconciled(&finished("one", None)), None);
        assert_eq!(board.news(built("one")), ["built in 3.0 s: the same plugin as before"]);
    }

    #[test]
    fn a_failed_build_is_told_in_the_words_of_the_compiler_until_one_succeeds() {
        let mut board = Board::default();
        let output = "error[E0425]: cannot find value `x`\n\t--> src/lib.rs\n".to_owned();
        let lines = board.news(News::BuildFailed { took: Duration::from_secs(1), output });
        assert_eq!(lines[1..], ["error[E0425]: cannot find value `x`", "    --> src/lib.rs"]);
        assert!(board.screen(80, 24).join("\n").contains("E0425"));
        board.news(built("one"));
        assert!(!board.screen(80, 24).join("\n").contains("E0425"));
    }

    #[test]
    fn cases_that_the_version_broke_come_first_and_those_that_failed_before_are_told_as_such() {
        let mut board = Board::default();
        let tested = |success: bool, output: &str| {
            let ended = Ended { success, status: String::new(), output: output.to_owned() };
            News::Tested { tests: "cases", ended }
        };
        board.news(built("one"));
        let lines = board.news(tested(false, "FAILED   a\n           desired: 1 is not 2\nok       b\n"));
        assert_eq!(
            lines,
            ["cases that fail, without an earlier result:", "FAILED   a", "           desired: 1 is not 2"]
        );
        board.news(built("two"));
        let second = "FAILED   a\n           desired: 1 is not 2\nFAILED   b\n           status: 3 is not 4\noarlock: 2 of 2 cases failed\n";
        let expected = [
            "cases broken by this version:",
            "FAILED   b",
            "           status: 3 is not 4",
            "cases that failed before:",
            "FAILED   a",
            "           desired: 1 is not 2",
            "oarlock: 2 of 2 cases failed",
        ];
        assert_eq!(board.news(tested(false, second)), expected);
        let screen = board.screen(100, 24).join("\n");
        assert!(screen.contains("tests   cases: FAILED (1 broken by this version, 1 failed before)"), "{screen}");
        // The same plugin again: the version before is still that one.
        board.news(built("two"));
        assert_eq!(board.news(tested(false, second)), expected);
        board.news(built("three"));
        assert_eq!(board.news(tested(true, "ok       a\nok       b\n")), ["cases: 2 passed"]);
        board.news(built("four"));
        assert_eq!(
            board.news(tested(false, "FAILED   a\nok       b\n")),
            ["cases broken by this version:", "FAILED   a"]
        );
    }

    #[test]
    fn every_screen_fits_and_no_text_of_a_guest_controls_it() {
        let evil = "\x1b[2J\x1b]0;mine\x07\r\n\u{202e}";
        let mut board = Board::new("title".to_owned(), "footer".to_owned());
        board.plugins(&json!({"plugins": [{"name": evil, "version": evil, "state": "active", "reason": evil}]}));
        board.news(News::BuildFailed { took: Duration::ZERO, output: evil.repeat(100) });
        for _ in 0..100 {
            let mut finished = finished("one", Some(evil));
            finished.key = evil.to_owned();
            board.reconciled(&finished);
            board.logged(&json!({"level": "ERROR", "message": evil, "error": evil}).to_string());
        }
        for (columns, rows) in [(1, 1), (20, 5), (80, 24), (200, 60)] {
            let screen = board.screen(columns, rows);
            assert!(screen.len() <= rows.max(1), "{columns}x{rows}: {}", screen.len());
            assert!(screen.iter().all(|line| line.chars().count() <= columns && !line.contains(char::is_control)));
        }
        assert_eq!(board.screen(80, 24).last().unwrap(), "footer");
        assert!(board.screen(80, 60).iter().any(|line| line.contains("last reconciles")));
        assert!(board.screen(80, 60).iter().any(|line| line.contains("last errors")));
    }
}
