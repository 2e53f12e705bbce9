//! Ranges of sizes and costs: least and most.

/// A range from the least to the most.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Range {
    pub(super) min: u64,
    pub(super) max: u64,
}

impl Range {
    pub(super) const ZERO: Self = Self::exactly(0);
    pub(super) const UNKNOWN: Self = Self { min: 0, max: u64::MAX };
    /// The neutral element of widening.
    pub(super) const EMPTY: Self = Self { min: u64::MAX, max: 0 };

    pub(super) const fn exactly(value: u64) -> Self {
        Self { min: value, max: value }
    }

    /// A range to be widened by sizes; zero if there will be none.
    pub(super) const fn nothing(empty: bool) -> Self {
        if empty { Self::ZERO } else { Self::EMPTY }
    }

    pub(super) fn plus(self, other: Self) -> Self {
        Self { min: self.min.saturating_add(other.min), max: self.max.saturating_add(other.max) }
    }

    pub(super) fn times(self, other: Self) -> Self {
        Self { min: self.min.saturating_mul(other.min), max: self.max.saturating_mul(other.max) }
    }

    /// Times a factor, rounded up.
    pub(super) fn scaled(self, factor: f64) -> Self {
        Self { min: scale(self.min, factor), max: scale(self.max, factor) }
    }

    pub(super) fn union(self, other: Self) -> Self {
        Self { min: self.min.min(other.min), max: self.max.max(other.max) }
    }
}

#[expect(
    clippy::cast_precision_loss,
    clippy::cast_possible_truncation,
    clippy::cast_sign_loss,
    reason = "a server computes with the same floats, and a cast from a float saturates"
)]
pub(super) fn scale(value: u64, factor: f64) -> u64 {
    (value as f64 * factor).ceil() as u64
}
