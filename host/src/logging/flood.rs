//! Rate limit of log lines per plugin.

use std::sync::{Mutex, PoisonError};
use tokio::time::Instant;

/// Sustained log lines per second of one plugin.
pub const LINES_PER_SECOND: u32 = 100;

/// Burst of log lines of one plugin.
pub const BURST: u32 = 2000;

/// The log lines of one plugin. After a flood no line is written for a second; then one line reports the suppressed number.
#[derive(Debug)]
pub struct Flood {
    inner: Mutex<FloodState>,
}

#[derive(Debug)]
struct FloodState {
    room: f64,
    at: Instant,
    /// None: lines are not suppressed.
    suppressed: Option<u64>,
}

/// The decision about a line.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum FloodVerdict {
    Written,
    /// Written: the first after this many suppressed lines.
    WrittenAfter(u64),
    /// Suppressed: the first of a flood.
    FirstSuppressed,
    Suppressed,
}

impl Default for Flood {
    fn default() -> Self {
        Self { inner: Mutex::new(FloodState { room: f64::from(BURST), at: Instant::now(), suppressed: None }) }
    }
}

impl Flood {
    /// Whether another line may be written. Logs the beginning of a flood, and the number of its suppressed lines.
    ///
    /// * `plugin` - name for these two log lines.
    pub fn admits(&self, plugin: &str) -> bool {
        match self.judge() {
            FloodVerdict::Written => true,
            FloodVerdict::WrittenAfter(suppressed) => {
                tracing::warn!(plugin, suppressed, "log lines of this plugin were suppressed");
                true
            }
            FloodVerdict::FirstSuppressed => {
                tracing::warn!(
                    plugin,
                    lines_per_second = LINES_PER_SECOND,
                    "too many log lines of this plugin: further ones are suppressed"
                );
                false
            }
            FloodVerdict::Suppressed => false,
        }
    }

    fn judge(&self) -> FloodVerdict {
        let mut inner = self.inner.lock().unwrap_or_else(PoisonError::into_inner);
        let now = Instant::now();
        let since = now.saturating_duration_since(inner.at).as_secs_f64();
        inner.at = now;
        inner.room = (inner.room + since * f64::from(LINES_PER_SECOND)).min(f64::from(BURST));
        match inner.suppressed {
            // Not before there is room for a second: the two lines about a flood must not become a flood.
            Some(suppressed) if inner.room < f64::from(LINES_PER_SECOND) => {
                inner.suppressed = Some(suppressed + 1);
                FloodVerdict::Suppressed
            }
            Some(suppressed) => {
                inner.suppressed = None;
                inner.room -= 1.0;
                FloodVerdict::WrittenAfter(suppressed)
            }
            None if inner.room < 1.0 => {
                inner.suppressed = Some(1);
                FloodVerdict::FirstSuppressed
            }
            None => {
                inner.room -= 1.0;
                FloodVerdict::Written
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::time::Duration;

    #[tokio::test(start_paused = true)]
    async fn t5_a_flood_is_cut_off_and_its_length_is_told() {
        let flood = Flood::default();
        let written = (0..100_000).filter(|_| flood.judge() == FloodVerdict::Written).count();
        assert_eq!(written, BURST as usize);
        tokio::time::advance(Duration::from_millis(900)).await;
        assert_eq!(flood.judge(), FloodVerdict::Suppressed);
        tokio::time::advance(Duration::from_millis(200)).await;
        assert_eq!(flood.judge(), FloodVerdict::WrittenAfter(100_000 - u64::from(BURST) + 1));
        assert_eq!(flood.judge(), FloodVerdict::Written);
    }

    #[tokio::test(start_paused = true)]
    async fn t5_a_flood_that_lasts_has_no_more_lines_than_a_second_allows() {
        let flood = Flood::default();
        let mut lines = 0;
        for _ in 0..100 {
            lines += (0..10_000).filter(|_| flood.judge() != FloodVerdict::Suppressed).count();
            tokio::time::advance(Duration::from_millis(100)).await;
        }
        assert!(lines <= (BURST + 12 * LINES_PER_SECOND) as usize, "{lines} lines in 10 s");
    }

    #[tokio::test(start_paused = true)]
    async fn lines_at_a_steady_rate_are_all_written() {
        let flood = Flood::default();
        for _ in 0..10_000 {
            assert_eq!(flood.judge(), FloodVerdict::Written);
            tokio::time::advance(Duration::from_millis(10)).await;
        }
    }
}
