//! Which of a project's tests a version broke, and which failed before it.

use std::collections::BTreeMap;

/// Whether a test passed, by its kind (`cases`, `scenarios`) and its name.
type Passed = BTreeMap<(&'static str, String), bool>;

/// The results of all tests.
#[derive(Debug, Default)]
pub(super) struct Results {
    /// The last ones under the versions before the present one.
    before: Passed,
    now: Passed,
}

/// The parts of a run that failed, in the order in which they are shown.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
enum Part {
    /// Passed under the version before.
    Broken,
    /// Was not played before.
    New,
    FailedBefore,
    /// Lines about no test.
    Other,
}

impl Part {
    /// What it has, after a number or a kind of tests.
    fn words(self) -> &'static str {
        match self {
            Self::Broken => "broken by this version",
            Self::New => "without an earlier result",
            Self::FailedBefore => "failed before",
            Self::Other => "",
        }
    }
}

/// One run of `oarlock test`.
#[derive(Debug, Default)]
pub(super) struct Run {
    pub(super) passed: usize,
    /// The number of tests and the lines.
    failed: BTreeMap<Part, (usize, Vec<String>)>,
}

impl Results {
    /// Another version takes the place of the present one.
    pub(super) fn another_version(&mut self) {
        self.before.append(&mut self.now);
    }

    /// A run under the present version has ended.
    ///
    /// * `lines` - its report as text. The lines about a test that failed follow it, with spaces before them.
    pub(super) fn run(&mut self, tests: &'static str, lines: Vec<String>) -> Run {
        let (mut run, mut part) = (Run::default(), Part::Other);
        for line in lines {
            let (word, title) = line.split_once(' ').unwrap_or((&line, ""));
            let result = (!title.is_empty()).then_some(word).filter(|word| ["ok", "FAILED"].contains(word));
            if let Some(word) = result {
                // A description may change.
                let name = title.trim().split(": ").next().unwrap_or_default();
                let (test, passed) = ((tests, name.to_owned()), word == "ok");
                part = match self.before.get(&test) {
                    _ if passed => Part::Other,
                    Some(true) => Part::Broken,
                    Some(false) => Part::FailedBefore,
                    None => Part::New,
                };
                self.now.insert(test, passed);
                if passed {
                    run.passed += 1;
                    continue;
                }
            } else if !line.starts_with(' ') {
                part = Part::Other;
            }
            let (count, kept) = run.failed.entry(part).or_default();
            *count += usize::from(result.is_some());
            kept.push(line);
        }
        run
    }
}

impl Run {
    /// How many tests failed, and of which part.
    pub(super) fn summary(&self) -> String {
        let counted = self.failed.iter().filter(|(_, (count, _))| *count > 0);
        let counted: Vec<String> = counted.map(|(part, (count, _))| format!("{count} {}", part.words())).collect();
        if counted.is_empty() { "FAILED".to_owned() } else { format!("FAILED ({})", counted.join(", ")) }
    }

    /// The lines about tests that failed, the broken ones first, below headings.
    pub(super) fn lines(self, tests: &str) -> Vec<String> {
        let heading = |part: Part| match part {
            Part::Broken => Some(format!("{tests} {}:", part.words())),
            Part::New => Some(format!("{tests} that fail, {}:", part.words())),
            Part::FailedBefore => Some(format!("{tests} that {}:", part.words())),
            Part::Other => None,
        };
        let unplayed = self.failed.keys().all(|part| *part == Part::Other).then(|| format!("{tests} failed:"));
        let parts = self.failed.into_iter().flat_map(|(part, (_, lines))| heading(part).into_iter().chain(lines));
        unplayed.into_iter().chain(parts).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn lines(text: &str) -> Vec<String> {
        text.lines().map(str::to_owned).collect()
    }

    /// A case that cannot be read ends the run.
    #[test]
    fn a_run_that_plays_nothing_shows_why_and_takes_no_result_away() {
        let mut results = Results::default();
        assert_eq!(results.run("cases", lines("ok       a\nok       b")).passed, 2);
        results.another_version();
        let run = results.run("cases", lines("oarlock: cases/a.yaml:1: unknown field"));
        assert_eq!(run.summary(), "FAILED");
        assert_eq!(run.lines("cases"), ["cases failed:", "oarlock: cases/a.yaml:1: unknown field"]);
        results.another_version();
        let run = results.run("cases", lines("FAILED   a\nFAILED   c"));
        assert_eq!(run.summary(), "FAILED (1 broken by this version, 1 without an earlier result)");
    }

    /// The kinds have names of their own, and a scenario its description.
    #[test]
    fn scenarios_are_known_by_their_files() {
        let mut results = Results::default();
        results.run("cases", lines("FAILED   a"));
        results.run("scenarios", lines("ok       a: It starts"));
        results.another_version();
        let run = results.run("scenarios", lines("FAILED   a: It starts again\n         scenarios/a.yaml:3: step 1"));
        let expected =
            ["scenarios broken by this version:", "FAILED   a: It starts again", "         scenarios/a.yaml:3: step 1"];
        assert_eq!(run.lines("scenarios"), expected);
    }
}
