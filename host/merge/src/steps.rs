//! Step budgets: work on untrusted documents is counted, and ends at its limit or at its deadline.
//!
//! Nothing here reads a clock. The caller decides when to stop; a budget asks it once in `ASK_EVERY` steps.

use std::cell::Cell;
use std::fmt;

/// Most steps of one piece of work. A step takes some ten nanoseconds: this exceeds any deadline, and bounds work without one.
pub const MOST_STEPS: u64 = 1 << 30;

/// Steps between two checks whether to stop.
const ASK_EVERY: u64 = 1 << 10;

/// Why work ended early.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum Stopped {
    /// The work exceeds its steps.
    #[error("it takes more than {0} steps")]
    Steps(u64),
    /// The deadline has passed, or the caller no longer waits.
    #[error("its deadline has passed")]
    Late,
}

/// The steps of one piece of work. Charged for every visited value, and for every moved element.
pub struct Budget<'a> {
    most: u64,
    spent: Cell<u64>,
    ask_at: Cell<u64>,
    stop: Option<&'a dyn Fn() -> bool>,
}

impl fmt::Debug for Budget<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Budget").field("most", &self.most).field("spent", &self.spent.get()).finish_non_exhaustive()
    }
}

impl<'a> Budget<'a> {
    /// For trusted documents: steps are counted without a limit.
    #[must_use]
    pub fn unlimited() -> Self {
        Self::of(u64::MAX)
    }

    /// At most `most` steps.
    #[must_use]
    pub fn of(most: u64) -> Self {
        Self { most, spent: Cell::new(0), ask_at: Cell::new(ASK_EVERY), stop: None }
    }

    /// At most [`MOST_STEPS`] steps.
    ///
    /// * `stop` - whether to end the work. It must be cheap.
    #[must_use]
    pub fn until(stop: &'a dyn Fn() -> bool) -> Self {
        Self { stop: Some(stop), ..Self::of(MOST_STEPS) }
    }

    /// Charges steps before they are done.
    ///
    /// # Errors
    ///
    /// [`Stopped`]: the work must end.
    pub fn charge(&self, steps: usize) -> Result<(), Stopped> {
        let spent = self.spent.get().saturating_add(steps as u64);
        self.spent.set(spent);
        if spent > self.most {
            return Err(Stopped::Steps(self.most));
        }
        if spent >= self.ask_at.get() {
            self.ask_at.set(spent.saturating_add(ASK_EVERY));
            if self.stop.is_some_and(|stop| stop()) {
                return Err(Stopped::Late);
            }
        }
        Ok(())
    }

    /// The steps so far.
    #[must_use]
    pub fn spent(&self) -> u64 {
        self.spent.get()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn work_ends_at_its_bound_and_when_it_is_told_to() {
        let budget = Budget::of(10);
        assert_eq!(budget.charge(10), Ok(()));
        assert_eq!(budget.charge(1), Err(Stopped::Steps(10)));
        assert_eq!(budget.spent(), 11);
        let over = Cell::new(false);
        let stop = || over.get();
        let budget = Budget::until(&stop);
        assert_eq!(budget.charge(5000), Ok(()));
        over.set(true);
        let stopped = (0..=ASK_EVERY).find_map(|_| budget.charge(1).err());
        assert_eq!(stopped, Some(Stopped::Late));
    }
}
