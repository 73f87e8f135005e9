//! A set of numbers as bits.

/// A set of numbers, with a bit for each up to the greatest one in it.
#[derive(Debug, Clone, Default)]
pub(crate) struct BitSet(Vec<u64>);

impl BitSet {
    /// Adds a number. Memory grows to one bit for each number up to it.
    #[inline]
    pub(crate) fn insert(&mut self, number: u64) {
        let word = (number / 64) as usize;
        if word >= self.0.len() {
            self.0.resize(word + 1, 0);
        }
        self.0[word] |= 1 << (number % 64);
    }

    #[inline]
    pub(crate) fn contains(&self, number: u64) -> bool {
        let word = self.0.get((number / 64) as usize);
        word.is_some_and(|word| word >> (number % 64) & 1 == 1)
    }
}
