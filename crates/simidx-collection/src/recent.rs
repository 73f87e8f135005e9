//! Recent records in memory: found by id, and by fingerprint with the pigeonhole principle.

use std::collections::HashMap;
use std::sync::Arc;

use simidx::{Fingerprint, Width};

use crate::options::Options;

/// Bits in a band.
const BAND_BITS: u32 = 16;
/// The most flipped bits of a band that are looked up; beyond this, all records are compared.
const MOST_FLIPS: u32 = 3;

/// A record.
#[derive(Debug, Clone)]
pub(crate) struct Record {
    pub(crate) fingerprint: u128,
    pub(crate) id: Arc<str>,
}

/// The records at one moment. A clone shares them.
#[derive(Debug, Clone, Default)]
pub(crate) struct Lot {
    /// Not shared while records are added; otherwise they are copied once.
    records: Arc<Vec<Record>>,
    live: Vec<bool>,
}

impl Lot {
    /// Iterates over all live records.
    pub(crate) fn iter(&self) -> impl Iterator<Item = &Record> {
        let live = self.records.iter().zip(&self.live);
        live.filter(|(_, live)| **live).map(|(record, _)| record)
    }
}

/// Records that are not yet in a segment.
///
/// Bands of 16 bits are keys of tables of chains: each table has the records by the value of one band. If two
/// fingerprints differ in at most k bits, then some band i differs in at most r(i) bits, if the sum of r(i) + 1 over
/// the bands is k + 1.
#[derive(Debug)]
pub(crate) struct Recent {
    width: Width,
    lot: Lot,
    live_count: usize,
    by_id: HashMap<Arc<str>, u32>,
    /// For each band and value, the last record with it, plus one; 0 if there is none.
    heads: Vec<Vec<u32>>,
    /// For each band and record, the one before it in the chain, plus one.
    chains: Vec<Vec<u32>>,
    bytes: usize,
    /// The last change that these records include.
    pub(crate) last: u64,
    /// The generations of the journal with these records.
    pub(crate) generations: Vec<u64>,
    /// Ids of records that were deleted since sealing began.
    pub(crate) killed: Vec<Arc<str>>,
    is_frozen: bool,
}

impl Recent {
    pub(crate) fn new(width: Width, generation: u64) -> Self {
        let bands = (width.bits() / BAND_BITS) as usize;
        Recent {
            width,
            lot: Lot::default(),
            live_count: 0,
            by_id: HashMap::new(),
            heads: vec![vec![0; 1 << BAND_BITS]; bands],
            chains: vec![Vec::new(); bands],
            bytes: 0,
            last: 0,
            generations: vec![generation],
            killed: Vec::new(),
            is_frozen: false,
        }
    }

    /// Creates an empty list for the records that follow these.
    pub(crate) fn next(&self, generation: u64) -> Self {
        Recent::new(self.width, generation)
    }

    /// Returns the number of records, including deleted ones.
    pub(crate) fn len(&self) -> usize {
        self.lot.records.len()
    }

    pub(crate) fn live_count(&self) -> usize {
        self.live_count
    }

    /// Returns whether the records should be sealed.
    pub(crate) fn is_full(&self, options: &Options) -> bool {
        self.len() >= options.seal_records || self.bytes >= options.seal_bytes
    }

    /// Counts a deletion, which takes space in the journal.
    pub(crate) fn note_deletion(&mut self, id: &str) {
        self.bytes += id.len() + 64;
    }

    /// Stops further additions; deletions are still possible.
    pub(crate) fn freeze(&mut self) {
        self.is_frozen = true;
    }

    /// Returns the generation of the journal for further changes.
    pub(crate) fn generation(&self) -> u64 {
        self.generations.last().copied().unwrap_or_default()
    }

    /// Returns the records at this moment.
    pub(crate) fn lot(&self) -> Lot {
        self.lot.clone()
    }

    pub(crate) fn insert(&mut self, id: Arc<str>, fingerprint: u128) {
        let number = self.lot.records.len() as u32 + 1;
        for (band, (heads, chain)) in self.heads.iter_mut().zip(&mut self.chains).enumerate() {
            let head = &mut heads[value_of(fingerprint, band)];
            chain.push(*head);
            *head = number;
        }
        // The id is shared, with its number and flags next to it.
        self.bytes += id.len() + self.width.bytes() + 64;
        self.by_id.insert(Arc::clone(&id), number - 1);
        self.lot.live.push(true);
        self.live_count += 1;
        Arc::make_mut(&mut self.lot.records).push(Record { fingerprint, id });
    }

    /// Returns the fingerprint of the live record with an id.
    pub(crate) fn get(&self, id: &str) -> Option<u128> {
        let &number = self.by_id.get(id)?;
        Some(self.lot.records[number as usize].fingerprint)
    }

    /// Removes the record with an id. Returns whether there was one.
    pub(crate) fn kill(&mut self, id: &str) -> bool {
        let Some((id, number)) = self.by_id.remove_entry(id) else {
            return false;
        };
        self.lot.live[number as usize] = false;
        self.live_count -= 1;
        if self.is_frozen {
            self.killed.push(id);
        }
        true
    }

    /// Iterates over all live records.
    pub(crate) fn iter(&self) -> impl Iterator<Item = &Record> {
        self.lot.iter()
    }

    /// Calls `take` once with each live record within a distance, in any order.
    pub(crate) fn visit_near(
        &self,
        fingerprint: u128,
        distance: u32,
        mut take: impl FnMut(&Record, u32),
    ) {
        let radii = radii(self.heads.len(), distance);
        let probes: usize = radii.iter().map(|&flips| patterns(flips)).sum();
        let scans = radii.iter().any(|&flips| flips > MOST_FLIPS) || probes > self.len() / 4;
        if scans {
            for record in self.iter() {
                let found = record.fingerprint.distance(fingerprint);
                if found <= distance {
                    take(record, found);
                }
            }
            return;
        }
        for (band, &flips) in radii.iter().enumerate() {
            let (heads, chain) = (&self.heads[band], &self.chains[band]);
            let value = value_of(fingerprint, band);
            for_each_pattern(flips, &mut |pattern| {
                let mut next = heads[value ^ pattern];
                while let Some(number) = next.checked_sub(1) {
                    let number = number as usize;
                    next = chain[number];
                    let record = &self.lot.records[number];
                    let found = record.fingerprint.distance(fingerprint);
                    if found <= distance
                        && self.lot.live[number]
                        && !found_before(record.fingerprint, fingerprint, &radii[..band])
                    {
                        take(record, found);
                    }
                }
            });
        }
    }
}

/// Returns the value of a band.
fn value_of(fingerprint: u128, band: usize) -> usize {
    (fingerprint >> (band as u32 * BAND_BITS)) as usize & ((1 << BAND_BITS) - 1)
}

/// Returns whether an earlier band has found a record.
fn found_before(a: u128, b: u128, radii: &[u32]) -> bool {
    let bits = |band| (value_of(a, band) ^ value_of(b, band)).count_ones();
    radii
        .iter()
        .enumerate()
        .any(|(band, &flips)| bits(band) <= flips)
}

/// Returns the number of bits to flip in each band that is used.
fn radii(bands: usize, distance: u32) -> Vec<u32> {
    let wanted = distance as usize + 1;
    let used = bands.min(wanted);
    let radius = |band| (wanted / used - 1 + usize::from(band < wanted % used)) as u32;
    (0..used).map(radius).collect()
}

/// Returns the number of patterns of at most `flips` bits.
fn patterns(flips: u32) -> usize {
    let (mut sum, mut of_count) = (1, 1);
    for count in 1..=flips.min(BAND_BITS) as usize {
        of_count = of_count * (BAND_BITS as usize + 1 - count) / count;
        sum += of_count;
    }
    sum
}

/// Calls `take` with each pattern of at most `flips` bits of a band.
fn for_each_pattern(flips: u32, take: &mut impl FnMut(usize)) {
    fn add(pattern: usize, from: u32, flips: u32, take: &mut impl FnMut(usize)) {
        take(pattern);
        if flips > 0 {
            for bit in from..BAND_BITS {
                add(pattern | 1 << bit, bit + 1, flips - 1, take);
            }
        }
    }
    add(0, 0, flips, take);
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Returns fingerprints near few others, some of them equal.
    fn sample(width: Width, count: u64) -> Vec<u128> {
        let mut state = 7_u64;
        let mut next = || {
            state = state
                .wrapping_mul(6_364_136_223_846_793_005)
                .wrapping_add(1);
            u128::from(state >> 20) << 60
                ^ u128::from(state).rotate_left(90)
                ^ u128::from(state >> 7)
        };
        let centres: Vec<u128> = (0..20).map(|_| next()).collect();
        let flipped = |number: u64| {
            let mut value = centres[(number % 20) as usize] & width.max();
            for _ in 0..number % 9 {
                value ^= 1 << (next() % u128::from(width.bits()));
            }
            value
        };
        (0..count).map(flipped).collect()
    }

    fn finds_what_a_scan_finds(width: Width) {
        let mut recent = Recent::new(width, 0);
        let sample = sample(width, 4000);
        for (number, &fingerprint) in sample.iter().enumerate() {
            recent.insert(number.to_string().into(), fingerprint);
        }
        for number in (0..4000).step_by(3) {
            assert!(recent.kill(&number.to_string()));
        }
        for distance in [0, 1, 2, 3, 5, 7, 9, 12, 20, width.bits()] {
            for &query in &sample[..60] {
                let mut found = Vec::new();
                recent.visit_near(query, distance, |record, distance| {
                    found.push((distance, record.id.to_string()));
                });
                let live = (0..4000).filter(|number| number % 3 != 0);
                let mut expected: Vec<(u32, String)> = live
                    .map(|number| (sample[number].distance(query), number.to_string()))
                    .filter(|(found, _)| *found <= distance)
                    .collect();
                found.sort();
                expected.sort();
                assert_eq!(found, expected, "{width} bits, {distance}");
            }
        }
    }

    #[test]
    fn what_is_near_is_found_as_by_a_scan() {
        Width::ALL.into_iter().for_each(finds_what_a_scan_finds);
    }

    #[test]
    fn patterns_are_as_many_as_counted() {
        for flips in 0..=MOST_FLIPS {
            let mut count = 0;
            for_each_pattern(flips, &mut |_| count += 1);
            assert_eq!(count, patterns(flips));
        }
        for (bands, distance) in [(2, 3), (4, 3), (4, 7), (8, 12), (2, 0)] {
            let sum: u32 = radii(bands, distance).iter().map(|flips| flips + 1).sum();
            assert_eq!(sum, distance + 1);
        }
    }
}
