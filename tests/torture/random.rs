//! Random numbers that a seed repeats.

/// The numbers of one seed and stream.
#[derive(Clone, Debug)]
pub struct Random(fastrand::Rng);

impl Random {
    /// The same seed and stream give the same numbers.
    ///
    /// * `stream` - for several sequences of one seed.
    #[must_use]
    pub fn new(seed: u64, stream: u64) -> Self {
        Self(fastrand::Rng::with_seed(seed.rotate_left(32) ^ stream))
    }

    /// From 0 to `bound`, exclusive. 0 when `bound` is 0.
    pub fn below(&mut self, bound: usize) -> usize {
        self.0.usize(..bound.max(1))
    }

    /// The numbers for others who draw.
    pub fn numbers(&mut self) -> &mut fastrand::Rng {
        &mut self.0
    }

    /// Whether an event of this probability happens.
    pub fn percent(&mut self, probability: usize) -> bool {
        self.below(100) < probability
    }
}
