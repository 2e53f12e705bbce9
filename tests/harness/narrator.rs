//! Narration of a test or demo: one line per step.

use std::{
    sync::atomic::{AtomicU32, Ordering},
    time::Duration,
};
use tokio::time::Instant;

/// Prints steps (for the demo), or logs them (for tests: shown when the test fails).
#[derive(Debug)]
pub struct Narrator {
    /// Whether to print the real objects under their step.
    objects: bool,
    started: Instant,
    steps: AtomicU32,
}

impl Narrator {
    /// * `objects` - print the objects too.
    #[must_use]
    pub fn new(objects: bool) -> Self {
        Self { objects, started: Instant::now(), steps: AtomicU32::new(0) }
    }

    /// Reports one completed step.
    #[expect(clippy::print_stdout, reason = "this is the demo's output; in tests the runner captures it")]
    pub fn step(&self, text: &str) {
        let number = self.steps.fetch_add(1, Ordering::Relaxed) + 1;
        println!("{:>6.1}s  {number:>2}. {text}", self.elapsed().as_secs_f32());
    }

    /// Reports what the test waits for.
    #[expect(clippy::print_stdout, reason = "this is the demo's output; in tests the runner captures it")]
    pub fn progress(&self, text: &str) {
        println!("{:>6.1}s      … {text}", self.elapsed().as_secs_f32());
    }

    /// Shows a real object or a command's output, indented under the last step.
    #[expect(clippy::print_stdout, reason = "this is the demo's output; in tests the runner captures it")]
    pub fn show(&self, text: &str) {
        if self.objects {
            for line in text.trim_end().lines() {
                println!("              {line}");
            }
        }
    }

    fn elapsed(&self) -> Duration {
        self.started.elapsed()
    }
}
