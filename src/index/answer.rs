//! What a query finds, and what it costs.

/// A fingerprint within the distance of a query.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub struct Match<F> {
    /// Number of bits in which it differs from the query.
    pub distance: u32,
    /// The fingerprint found.
    pub fingerprint: F,
}

/// What queries cost.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct QueryStats {
    /// Look-ups: one for each table and each pattern of flipped prefix bits; a scan of table 0 counts as one.
    pub probes: u64,
    /// Blocks read.
    pub blocks: u64,
    /// Fingerprints that shared a probed prefix and were compared.
    pub candidates: u64,
}

impl std::ops::AddAssign for QueryStats {
    fn add_assign(&mut self, other: Self) {
        self.probes += other.probes;
        self.blocks += other.blocks;
        self.candidates += other.candidates;
    }
}
