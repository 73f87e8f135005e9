//! The probes of a table: all patterns of a few flipped address bits, and their number.

/// The probes of one table.
///
/// ```
/// use simidx::Width;
/// use simidx::design::{Costs, TableDesign};
///
/// let halves = TableDesign::partition(Width::W64, 3, 2)?;
/// let plan = halves.plan(3, 100_000_000, &Costs::DIRECT);
/// for probes in plan.probes() {
///     assert!(probes.flips == 1 && probes.probe_count() <= 33);
///     assert!(probes.candidate_share() < 1e-6);
/// }
/// # Ok::<(), simidx::Error>(())
/// ```
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub struct TableProbes {
    /// Number of the table.
    pub table: usize,
    /// Leading bits of the permuted value that a probe must match: at most the prefix of the table, except that the
    /// only table of a plan may match any number of leading bits.
    pub address_bits: u32,
    /// The most flipped address bits: the probes are all patterns of at most this many.
    pub flips: u32,
    /// Number of the last address bits that form a range. They are not flipped one by one: a probe with fewer than
    /// `flips` flips in the bits before them reads all values of the range, which are adjacent in the table, and a
    /// probe with `flips` flips reads the query's own value. Fewer probes then find the same values or more.
    pub range_bits: u32,
    /// Leading bits of the permuted value, at least `address_bits`, in which wanted values differ in at most `flips`.
    /// If many values share an address, tables in lines skip values that differ in more.
    pub prefix_bits: u32,
}

impl TableProbes {
    /// Returns the number of probes: the sum of the binomials of `address_bits - range_bits` over 0 to `flips`;
    /// `u64::MAX` if it is too large for 64 bits.
    pub fn probe_count(&self) -> u64 {
        pattern_count(
            self.address_bits.saturating_sub(self.range_bits),
            self.flips,
        )
    }

    /// Returns the share of uniform data that the probes find, from 0 to 1: candidates for each fingerprint.
    pub fn candidate_share(&self) -> f64 {
        let (_, addresses) =
            probes_and_addresses(patterns, self.address_bits, self.range_bits, self.flips);
        addresses / 2f64.powi(self.address_bits as i32)
    }
}

/// Returns the number of patterns of at most `flips` flipped bits out of `address_bits`: the sum of the binomials, or
/// `u64::MAX` if it is too large.
pub(super) fn pattern_count(address_bits: u32, flips: u32) -> u64 {
    let (mut sum, mut term) = (1u128, 1u128);
    for i in 0..flips.min(address_bits) {
        // A term is at most 128 times the sum of the terms before it, so no product overflows.
        term = term * u128::from(address_bits - i) / u128::from(i + 1);
        sum += term;
        if sum > u128::from(u64::MAX) {
            return u64::MAX;
        }
    }
    sum as u64
}

/// Returns the number of probes for all patterns of at most `flips` flips of an address, and of the addresses that
/// their ranges span: a probe that has flips left spans all addresses that differ only in the last `range_bits`.
/// `patterns` computes [`pattern_count`] or looks it up.
pub(super) fn probes_and_addresses(
    patterns: impl Fn(u32, u32) -> f64,
    address_bits: u32,
    range_bits: u32,
    flips: u32,
) -> (f64, f64) {
    let flipped_bits = address_bits - range_bits;
    let all = patterns(flipped_bits, flips);
    let with_flips_left = match flips {
        0 => 0.0,
        flips => patterns(flipped_bits, flips - 1),
    };
    let spanned = with_flips_left * f64::from(1u32 << range_bits);
    (all, spanned + (all - with_flips_left))
}

/// [`pattern_count`] as a floating-point number.
pub(super) fn patterns(address_bits: u32, flips: u32) -> f64 {
    pattern_count(address_bits, flips) as f64
}
