//! Tables of the queries in memory, one for each mask of a cover. A table groups the queries by some bits of its mask,
//! which are their address.

use super::hits::Hit;
use crate::batch::cover::Bits;
use crate::cpu::{Cpu, Work, dispatch, prefetch};
use crate::design::Permutation;
use crate::fingerprint::Fingerprint;
use crate::index::QueryStats;
use crate::memory::huge_vec;

/// Nanoseconds to look up a fingerprint in a table.
const LOOK_UP_NS: f64 = 15.0;

/// Nanoseconds to compare two values.
const COMPARE_NS: f64 = 0.5;

/// The most bits of an address.
const MOST_ADDRESS_BITS: u32 = 24;

/// Leading bits of an address by which fingerprints are grouped.
const ARRANGED_BITS: u32 = 10;

/// Look-ups that are in flight together.
const TOGETHER: usize = 32;

/// The masks of the tables, and the estimated cost of a streamed fingerprint.
#[derive(Debug)]
pub(super) struct Cover<F> {
    bits: Bits<F>,
    masks: Vec<F>,
    /// Nanoseconds for each streamed fingerprint.
    pub(super) ns: f64,
}

/// The queries, in one table for each mask.
#[derive(Debug)]
pub(super) struct QueryTables<F> {
    distance: u32,
    tables: Vec<QueryTable<F>>,
}

/// The queries, ordered by address.
#[derive(Debug)]
struct QueryTable<F> {
    /// Gathers the address bits of a value.
    address: Permutation<F>,
    mask: F,
    /// The masks of the earlier tables.
    before: Vec<F>,
    /// The start of each address's queries, and the end of the last.
    starts: Vec<u32>,
    queries: Vec<F>,
    /// The number of each query among the distinct queries.
    numbers: Vec<u32>,
}

/// The state of a thread: buffers for look-ups, and the matches found.
#[derive(Debug)]
pub(super) struct LookUps<F> {
    pub(super) hits: Vec<Hit<F>>,
    pub(super) stats: QueryStats,
    /// The fingerprints, roughly in the order of a table.
    arranged: Vec<F>,
}

impl<F> Default for LookUps<F> {
    fn default() -> Self {
        LookUps {
            hits: Vec::new(),
            stats: QueryStats::default(),
            arranged: Vec::new(),
        }
    }
}

impl<F: Fingerprint> QueryTables<F> {
    /// Chooses masks for the queries. If comparing all is cheapest, the cover is a single empty mask.
    pub(super) fn plan(queries: &[F], distance: u32) -> Cover<F> {
        let mut bits = Bits::of(queries);
        // Fingerprints may differ from the queries in any bit.
        bits.varying = F::MAX;
        let all_ns = LOOK_UP_NS + queries.len() as f64 * COMPARE_NS;
        let cheapest = bits.cheapest(distance, LOOK_UP_NS, all_ns);
        let (ns, masks) = cheapest
            .filter(|(ns, _)| *ns < all_ns)
            .unwrap_or_else(|| (all_ns, vec![F::ZERO]));
        Cover { bits, masks, ns }
    }

    /// Builds the tables of the queries.
    pub(super) fn new(queries: &[F], distance: u32, cover: Cover<F>) -> Self {
        let table = |number| QueryTable::new(queries, &cover, number);
        QueryTables {
            distance,
            tables: (0..cover.masks.len()).map(table).collect(),
        }
    }

    /// Finds the queries near each of the fingerprints.
    pub(super) fn search(&self, fingerprints: &[F], look_ups: &mut LookUps<F>) {
        let mut arranged = std::mem::take(&mut look_ups.arranged);
        arranged.resize(fingerprints.len(), F::ZERO);
        for table in &self.tables {
            dispatch(Arrange {
                table,
                fingerprints,
                arranged: &mut arranged,
            });
            dispatch(Search {
                table,
                distance: self.distance,
                fingerprints: &arranged,
                look_ups,
            });
        }
        look_ups.arranged = arranged;
    }
}

impl<F: Fingerprint> QueryTable<F> {
    fn new(queries: &[F], cover: &Cover<F>, number: usize) -> Self {
        let mask = cover.masks[number];
        let wanted = queries.len().next_power_of_two().trailing_zeros();
        let address = cover.bits.sharpest(mask, wanted.min(MOST_ADDRESS_BITS));
        let mut table = QueryTable {
            address: Permutation::new(address),
            mask,
            before: cover.masks[..number].to_vec(),
            starts: huge_vec((1 << address.count_ones()) + 2),
            queries: huge_vec(queries.len()),
            numbers: huge_vec(queries.len()),
        };
        dispatch(Fill {
            table: &mut table,
            queries,
        });
        table
    }

    /// Returns whether a pair with this difference meets in this table and in none before.
    #[inline(always)]
    fn counts(&self, difference: F) -> bool {
        let mut counts = difference & self.mask == F::ZERO;
        for &mask in &self.before {
            counts &= difference & mask != F::ZERO;
        }
        counts
    }
}

/// Fills an empty table with queries.
struct Fill<'a, F> {
    table: &'a mut QueryTable<F>,
    queries: &'a [F],
}

impl<F: Fingerprint> Work for Fill<'_, F> {
    type Output = ();

    #[inline(always)]
    fn run<C: Cpu>(self, cpu: C) {
        let table = self.table;
        let addresses = 1 << table.address.prefix_bits();
        // Counted two places ahead, so that filling leaves the starts in place.
        table.starts.resize(addresses + 2, 0);
        for &query in self.queries {
            table.starts[table.address.prefix_with(cpu, query) + 2] += 1;
        }
        for address in 2..table.starts.len() {
            table.starts[address] += table.starts[address - 1];
        }
        table.queries.resize(self.queries.len(), F::ZERO);
        table.numbers.resize(self.queries.len(), 0);
        for (number, &query) in self.queries.iter().enumerate() {
            let next = &mut table.starts[table.address.prefix_with(cpu, query) + 1];
            table.queries[*next as usize] = query;
            table.numbers[*next as usize] = number as u32;
            *next += 1;
        }
        table.starts.pop();
    }
}

/// Groups fingerprints with similar addresses, so that their look-ups share the nearest cache. A random access to a
/// table that is larger than the caches takes several times as long.
struct Arrange<'a, F> {
    table: &'a QueryTable<F>,
    fingerprints: &'a [F],
    arranged: &'a mut [F],
}

impl<F: Fingerprint> Work for Arrange<'_, F> {
    type Output = ();

    #[inline(always)]
    fn run<C: Cpu>(self, cpu: C) {
        let address = &self.table.address;
        let shift = address.prefix_bits().saturating_sub(ARRANGED_BITS);
        let mut next = [0u32; (1 << ARRANGED_BITS) + 1];
        for &fingerprint in self.fingerprints {
            next[(address.prefix_with(cpu, fingerprint) >> shift) + 1] += 1;
        }
        for part in 1..next.len() {
            next[part] += next[part - 1];
        }
        for &fingerprint in self.fingerprints {
            let next = &mut next[address.prefix_with(cpu, fingerprint) >> shift];
            self.arranged[*next as usize] = fingerprint;
            *next += 1;
        }
    }
}

/// Looks up fingerprints in one table.
struct Search<'a, F> {
    table: &'a QueryTable<F>,
    distance: u32,
    fingerprints: &'a [F],
    look_ups: &'a mut LookUps<F>,
}

impl<F: Fingerprint> Work for Search<'_, F> {
    type Output = ();

    #[inline(always)]
    fn run<C: Cpu>(self, cpu: C) {
        self.look_ups.stats.probes += self.fingerprints.len() as u64;
        let mut addresses = [0usize; TOGETHER];
        let mut ranges = [(0u32, 0u32); TOGETHER];
        let mut next = [0usize; TOGETHER];
        let mut chunks = self.fingerprints.chunks(TOGETHER);
        let mut asked: &[F] = &[];
        loop {
            // Prefetches the starts of the next chunk and the queries of this one.
            let behind = chunks.next().unwrap_or_default();
            for (next, &fingerprint) in next.iter_mut().zip(behind) {
                *next = self.table.address.prefix_with(cpu, fingerprint);
                prefetch(&self.table.starts, *next);
            }
            for (range, &address) in ranges.iter_mut().zip(&addresses[..asked.len()]) {
                *range = (self.table.starts[address], self.table.starts[address + 1]);
                if range.0 < range.1 {
                    prefetch(&self.table.queries, range.0 as usize);
                }
            }
            for (&(start, end), &fingerprint) in ranges.iter().zip(asked) {
                self.look_ups
                    .compare(self.table, self.distance, fingerprint, start, end);
            }
            if behind.is_empty() {
                return;
            }
            (asked, addresses) = (behind, next);
        }
    }
}

impl<F: Fingerprint> LookUps<F> {
    /// Compares a fingerprint with the queries from `start` to `end`.
    #[inline(always)]
    fn compare(
        &mut self,
        table: &QueryTable<F>,
        distance: u32,
        fingerprint: F,
        start: u32,
        end: u32,
    ) {
        self.stats.candidates += u64::from(end - start);
        for place in start as usize..end as usize {
            let difference = fingerprint ^ table.queries[place];
            if difference.count_ones() <= distance && table.counts(difference) {
                self.hits.push(Hit {
                    query: table.numbers[place],
                    distance: difference.count_ones(),
                    fingerprint,
                });
            }
        }
    }
}
