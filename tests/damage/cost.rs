//! The most that a file may cost, whatever its bytes say: memory, and work in steps, since a clock would measure the
//! machine.

use simidx::index::QueryStats;

/// Bytes that may be held in addition to a multiple of the file's length: the tables of codes, twice in a full check,
/// which opens the file again, and the plans of queries.
const HELD_ANYWAY: usize = 1 << 19;

/// Most bytes held for each byte of the file.
const HELD_FOR_A_BYTE: usize = 16;

/// Most bytes held while a file of this length is opened, asked everything and checked.
pub(crate) fn held_limit(file_len: usize) -> usize {
    HELD_ANYWAY + HELD_FOR_A_BYTE * file_len
}

/// Counts steps and fails where they pass a limit, so that what does not end is found without waiting for it.
///
/// A step is a probe, a block read or a candidate compared for a query, and a fingerprint or an id handed out. Opening
/// and a full check are not metered: they go once over what the directory lists, whose lengths rule V15 has fitted into
/// the file, and say how many blocks and pages that were.
#[derive(Debug)]
pub(crate) struct Meter<'a> {
    pub(crate) steps: u64,
    limit: u64,
    what: &'a str,
}

impl<'a> Meter<'a> {
    pub(crate) fn new(limit: u64, what: &'a str) -> Self {
        let steps = 0;
        Meter { steps, limit, what }
    }

    pub(crate) fn add(&mut self, steps: u64) {
        self.steps += steps;
        let (steps, limit) = (self.steps, self.limit);
        assert!(steps <= limit, "{}: more than {limit} steps", self.what);
    }

    pub(crate) fn add_query(&mut self, stats: QueryStats) {
        self.add(stats.probes + stats.blocks + stats.candidates);
    }
}
