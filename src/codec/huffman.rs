//! Canonical, length-limited Huffman codes (spec, section 6).

use huffman_compress::CodeBuilder;

use super::bits::WINDOW_BITS;

/// The longest codeword: decoding takes a table of at most 2^12 entries.
pub(crate) const MAX_CODE_LEN: u32 = 12;

/// The reason why a list of code lengths is invalid.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum CodeError {
    /// A length above [`MAX_CODE_LEN`].
    TooLong,
    /// The lengths do not fill the code space exactly.
    NotComplete,
}

/// A canonical code over the symbols `0..lengths.len()`.
#[derive(Debug, Clone)]
pub(crate) struct Code {
    lengths: Vec<u8>,
    codewords: Vec<u16>,
    decode: DecodeTable,
}

/// The bits of the first look-up; only rare codewords are longer. Its table takes 2 KiB, so that several fit in the
/// first-level cache together.
const FIRST_BITS: u32 = 9;

/// The most bits of a codeword and its tail in a [`Step`].
const MAX_STEP_BITS: u32 = WINDOW_BITS;

/// Decodes the next bits of a stream.
#[derive(Debug, Clone)]
pub(crate) struct DecodeTable {
    /// The steps by the first [`FIRST_BITS`] bits.
    steps: Box<[Step; 1 << FIRST_BITS]>,
    /// `symbol << 4 | length` by [`MAX_CODE_LEN`] bits; length 0 marks bits without a codeword.
    entries: Vec<u16>,
}

/// A codeword and its tail, whose length is the symbol, with the shift counts that separate them.
///
/// From the top of the word: the symbol, the length of both, 63 minus the symbol, the length of the codeword, one byte
/// each. A shift uses only the low six bits of its count, so no byte has to be extracted.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Step(u32);

impl Step {
    /// For bits that need the long table or a wider read.
    const UNKNOWN: Step = Step(0);

    fn new(symbol: u32, len: u32) -> Self {
        if len == 0 || symbol > 63 || len + symbol > MAX_STEP_BITS {
            return Step::UNKNOWN;
        }
        Step(symbol << 24 | (len + symbol) << 16 | (63 - symbol) << 8 | len)
    }

    #[inline(always)]
    pub(crate) fn is_unknown(self) -> bool {
        self == Step::UNKNOWN
    }

    #[inline(always)]
    pub(crate) fn symbol(self) -> u32 {
        self.0 >> 24
    }

    /// Returns the bits of codeword and tail together.
    #[inline(always)]
    pub(crate) fn len(self) -> usize {
        (self.0 >> 16 & 0xff) as usize
    }

    /// Returns the number whose top bit is at the position that the symbol gives, and whose lower bits are the tail.
    /// `window` starts with the codeword.
    #[inline(always)]
    pub(crate) fn number(self, window: u64) -> u64 {
        (window.wrapping_shl(self.0) >> 1 | 1 << 63).wrapping_shr(self.0 >> 8)
    }
}

impl Code {
    /// Creates the code with these lengths: codewords ascend by length, then by symbol.
    ///
    /// # Errors
    /// Lengths above the limit, or incomplete ones. All zero is the code of no symbol, a single symbol has length 1,
    /// and otherwise the lengths must satisfy Kraft's inequality with equality.
    pub(crate) fn from_lengths(lengths: &[u8]) -> Result<Self, CodeError> {
        if lengths.iter().any(|&len| u32::from(len) > MAX_CODE_LEN) {
            return Err(CodeError::TooLong);
        }
        let used = lengths.iter().filter(|&&len| len > 0).count();
        let space: u32 = lengths
            .iter()
            .filter(|&&len| len > 0)
            .map(|&len| 1 << (MAX_CODE_LEN - u32::from(len)))
            .sum();
        let wanted = match used {
            0 => 0,
            1 => 1 << (MAX_CODE_LEN - 1),
            _ => 1 << MAX_CODE_LEN,
        };
        if space != wanted {
            return Err(CodeError::NotComplete);
        }
        let codewords = assign(lengths);
        let decode = DecodeTable::new(lengths, &codewords);
        Ok(Code {
            lengths: lengths.to_vec(),
            codewords,
            decode,
        })
    }

    /// Returns the codeword length of each symbol; 0 for a symbol that does not occur.
    pub(crate) fn lengths(&self) -> &[u8] {
        &self.lengths
    }

    /// Returns the codeword of a symbol and its length in bits.
    #[inline(always)]
    pub(crate) fn codeword(&self, symbol: u32) -> (u16, u32) {
        let symbol = symbol as usize;
        (self.codewords[symbol], u32::from(self.lengths[symbol]))
    }

    pub(crate) fn decode_table(&self) -> &DecodeTable {
        &self.decode
    }
}

impl DecodeTable {
    fn new(lengths: &[u8], codewords: &[u16]) -> Self {
        let mut entries = vec![0; 1 << MAX_CODE_LEN];
        fill(&mut entries, lengths, codewords);
        let free = MAX_CODE_LEN - FIRST_BITS;
        let step = |index: usize| {
            let entry = u32::from(entries[index << free]);
            match entry & 15 {
                len @ 0..=FIRST_BITS => Step::new(entry >> 4, len),
                _ => Step::UNKNOWN,
            }
        };
        DecodeTable {
            steps: Box::new(std::array::from_fn(step)),
            entries,
        }
    }

    /// Returns the step at the top of a window, or [`Step::UNKNOWN`].
    #[inline(always)]
    pub(crate) fn step(&self, window: u64) -> Step {
        self.steps[(window >> (64 - FIRST_BITS)) as usize]
    }

    /// Returns the symbol and the codeword length at the top of a window; length 0 if there is no codeword.
    #[inline]
    pub(crate) fn look_up(&self, window: u64) -> (u32, u32) {
        let entry = self.entries[(window >> (64 - MAX_CODE_LEN)) as usize];
        (u32::from(entry >> 4), u32::from(entry & 15))
    }
}

/// Fills a table of 2^12 entries with the codewords.
fn fill(entries: &mut [u16], lengths: &[u8], codewords: &[u16]) {
    for (symbol, (&len, &word)) in lengths.iter().zip(codewords).enumerate() {
        if len == 0 {
            continue;
        }
        let free = MAX_CODE_LEN - u32::from(len);
        let first = usize::from(word) << free;
        entries[first..first + (1 << free)].fill((symbol as u16) << 4 | u16::from(len));
    }
}

/// Assigns canonical codewords: counts up through the symbols in order of length, then of number, and appends a zero
/// bit whenever the length grows.
fn assign(lengths: &[u8]) -> Vec<u16> {
    let mut codewords = vec![0; lengths.len()];
    let mut next = 0u16;
    for len in 1..=MAX_CODE_LEN as u8 {
        next <<= 1;
        for (symbol, _) in lengths.iter().enumerate().filter(|(_, l)| **l == len) {
            codewords[symbol] = next;
            next += 1;
        }
    }
    codewords
}

/// Returns the codeword lengths of an optimal or nearly optimal code for the counts, none above [`MAX_CODE_LEN`]. At
/// most 2^12 counts may be above 0.
///
/// Rare counts are raised to the smallest floor that keeps the limit. For counts like those of delta positions, the
/// mean length equals that of package-merge to five decimals.
pub(crate) fn code_lengths(counts: &[u64]) -> Vec<u8> {
    let used = counts.iter().filter(|&&count| count > 0).count();
    if used < 2 {
        return counts.iter().map(|&count| u8::from(count > 0)).collect();
    }
    let fits = |floor: u64| {
        let lengths = unlimited_lengths(counts, floor);
        let longest = lengths.iter().copied().max().unwrap_or(0);
        (longest <= MAX_CODE_LEN).then_some(lengths)
    };
    // If all counts are equal, no codeword of at most 2^12 symbols has more than 12 bits.
    let (mut low, mut high) = (1, counts.iter().copied().max().unwrap_or(1));
    while low < high {
        let middle = low + (high - low) / 2;
        match fits(middle) {
            Some(_) => high = middle,
            None => low = middle + 1,
        }
    }
    let lengths = fits(low).expect("equal counts need no more");
    lengths.into_iter().map(|len| len as u8).collect()
}

/// Returns Huffman's lengths for the non-zero counts, each raised to at least `floor`.
fn unlimited_lengths(counts: &[u64], floor: u64) -> Vec<u32> {
    let weights = counts.iter().enumerate().filter(|(_, count)| **count > 0);
    let (book, _) = weights
        .map(|(symbol, &count)| (symbol, count.max(floor)))
        .collect::<CodeBuilder<usize, u64>>()
        .finish();
    let mut lengths = vec![0; counts.len()];
    for (&symbol, word) in book.iter() {
        lengths[symbol] = word.len() as u32;
    }
    lengths
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn assigns_codewords_by_length_then_symbol() {
        let code = Code::from_lengths(&[3, 0, 1, 3, 2]).unwrap();
        let words: Vec<_> = [2, 4, 0, 3].map(|s| code.codeword(s)).into();
        assert_eq!(words, [(0b0, 1), (0b10, 2), (0b110, 3), (0b111, 3)]);
        assert_eq!(code.decode_table().look_up(0b1101 << 60), (0, 3));
    }

    #[test]
    fn refuses_lengths_that_are_no_complete_code() {
        let error = |lengths: &[u8]| Code::from_lengths(lengths).unwrap_err();
        assert_eq!(error(&[13, 1]), CodeError::TooLong);
        for bad in [&[1, 1, 1][..], &[1, 2], &[2], &[1, 2, 3]] {
            assert_eq!(error(bad), CodeError::NotComplete, "{bad:?}");
        }
        assert!(Code::from_lengths(&[0, 0]).is_ok());
        assert!(Code::from_lengths(&[0, 1]).is_ok());
    }

    #[test]
    fn a_lone_symbol_leaves_half_of_the_code_space_empty() {
        let code = Code::from_lengths(&[0, 1]).unwrap();
        assert_eq!(code.decode_table().look_up(0), (1, 1));
        assert_eq!(code.decode_table().look_up(1 << 63), (0, 0));
    }

    #[test]
    #[cfg_attr(miri, ignore = "takes minutes")]
    fn limits_the_lengths_of_fibonacci_counts() {
        let mut counts = vec![1u64, 1];
        for i in 2..64 {
            counts.push(counts[i - 1] + counts[i - 2]);
        }
        let lengths = code_lengths(&counts);
        assert_eq!(lengths.iter().max(), Some(&12));
        assert!(Code::from_lengths(&lengths).is_ok());
    }

    #[test]
    #[cfg_attr(miri, ignore = "takes minutes")]
    fn as_many_symbols_as_the_table_has_entries_fit() {
        for power in 0..4 {
            let counts: Vec<u64> = (1..=4096u64).map(|i| i.pow(power)).collect();
            let lengths = code_lengths(&counts);
            assert!(lengths.iter().all(|&len| len == 12));
            let code = Code::from_lengths(&lengths).unwrap();
            assert_eq!(code.decode_table().look_up(4095 << 52), (4095, 12));
        }
    }

    /// Returns the shortest total of any code within the limit (Larmore and Hirschberg 1990).
    fn package_merge_cost(counts: &[u64]) -> u64 {
        let mut leaves: Vec<u64> = counts.iter().copied().filter(|&c| c > 0).collect();
        leaves.sort_unstable();
        let mut level = leaves.clone();
        for _ in 1..MAX_CODE_LEN {
            let mut next: Vec<u64> = level.chunks_exact(2).map(|p| p[0] + p[1]).collect();
            next.extend(&leaves);
            next.sort_unstable();
            level = next;
        }
        level.iter().take(2 * (leaves.len() - 1)).sum()
    }

    proptest! {
        #[test]
        #[cfg_attr(miri, ignore = "takes minutes")]
        fn lengths_make_a_code_within_a_hundredth_of_the_optimum(
            counts in prop::collection::vec(prop_oneof![Just(0u64), 1u64..10, 1u64..1 << 40], 1..=128)
        ) {
            let lengths = code_lengths(&counts);
            prop_assert!(Code::from_lengths(&lengths).is_ok());
            if counts.iter().filter(|&&c| c > 0).count() > 1 {
                let cost: u64 = counts.iter().zip(&lengths).map(|(c, &l)| c * u64::from(l)).sum();
                let optimum = package_merge_cost(&counts);
                prop_assert!(cost >= optimum && cost as f64 <= optimum as f64 * 1.01);
            }
        }
    }
}
