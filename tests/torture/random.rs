//! Numbers that look random and come again with their seed.

/// xorshift64*.
#[derive(Clone, Debug)]
pub struct Random(u64);

impl Random {
    /// The same seed and stream give the same numbers.
    ///
    /// * `stream` - for several sequences of one seed.
    #[must_use]
    pub fn new(seed: u64, stream: u64) -> Self {
        let mixed = (seed ^ stream.wrapping_mul(0x9e37_79b9_7f4a_7c15)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        Self((mixed ^ (mixed >> 31)) | 1)
    }

    /// From 0 to `bound`, exclusive. 0 when `bound` is 0.
    pub fn below(&mut self, bound: usize) -> usize {
        self.0 ^= self.0 >> 12;
        self.0 ^= self.0 << 25;
        self.0 ^= self.0 >> 27;
        let number = self.0.wrapping_mul(0x2545_f491_4f6c_dd1d) >> 33;
        usize::try_from(number).unwrap_or(0).checked_rem(bound).unwrap_or(0)
    }

    /// Whether an event of this probability happens.
    pub fn percent(&mut self, probability: usize) -> bool {
        self.below(100) < probability
    }
}
