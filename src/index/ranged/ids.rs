//! The ids of matches over ranges: the pages that are missing are read in one round for all matches, and it is tried again.

use std::ops::Range;

use super::query::Probe;
use super::source::{Parts, ReadRanges};
use super::{RangedIndex, section_range};
use crate::error::{FormatError, Result};
use crate::fingerprint::Fingerprint;
use crate::format::{IdKind, Kind};
use crate::index::file_bytes::FileBytes;
use crate::index::ids::{IdBuf, IdBuffer, IdSections, Rank};
use crate::index::lines::LineTable;
use crate::index::open::{block_counts_of, block_ranks, check_record_checksum, ids_of};
use crate::index::query::Match;

/// Ranks of one address whose ids are asked for before it is known which of them is meant.
const MOST_LIKELY: usize = 4;

/// What ids need beside their pages.
#[derive(Debug)]
pub(super) struct ForIds {
    block_ranks: Vec<u64>,
    string_code: Vec<u8>,
}

impl<F: Fingerprint, R: ReadRanges> RangedIndex<F, R> {
    /// The ids of each match, in order; none if the index has none. For all matches together, two rounds find numbers and four
    /// find strings, if table 0 is in lines and evenly filled; each surprise adds a round. If table 0 is in blocks, the first
    /// call reads how many fingerprints each block has, two bytes a block.
    ///
    /// ```
    /// # use simidx::{BuildOptions, Id, IdKind, IndexBuilder, Width};
    /// # use simidx::index::ranged::RangedIndex;
    /// # let mut options = BuildOptions::default();
    /// # options.ids = IdKind::String;
    /// # let mut builder = IndexBuilder::new(Width::W64, options)?;
    /// # builder.push_with_string(0xff_u64, "home")?;
    /// # let mut file = tempfile::tempfile()?;
    /// # builder.finish(&mut file)?;
    /// let index = RangedIndex::<u64, _>::open(file)?;
    /// let found = index.query(0xfe, 1)?;
    /// let ids = index.ids(&found)?;
    /// assert_eq!(ids[0][0].as_id(), Id::String("home"));
    /// # Ok::<(), simidx::Error>(())
    /// ```
    ///
    /// # Errors
    /// What the source reports, a damaged page, or a match that table 0 lacks.
    pub fn ids(&self, matches: &[Match<F>]) -> Result<Vec<Vec<IdBuf>>> {
        if self.id_kind() == IdKind::None {
            return Ok(vec![Vec::new(); matches.len()]);
        }
        let for_ids = self.for_ids()?;
        // Pages that come a second time are checked a second time.
        let sections = ids_of(&self.directory, &for_ids.string_code)?;
        let sections = sections.ok_or_else(|| FormatError::damaged(15, "the ids are missing"))?;
        if let Some(table) = &self.tables[0].lines {
            return self.in_rounds(|file| {
                let read = |found: &Match<F>| read_ids_in_lines(&sections, table, found, file);
                try_all(matches, read)
            });
        }
        let ranks = self.ranks(matches, &for_ids.block_ranks)?;
        self.in_rounds(|file| try_all(&ranks, |&rank| read_ids_of(&sections, rank, file)))
    }

    fn for_ids(&self) -> Result<&ForIds> {
        if let Some(known) = self.for_ids.get() {
            return Ok(known);
        }
        let section = |kind| section_range(&self.directory, kind, 0);
        let (counts, code) = (section(Kind::BlockCounts), section(Kind::StringCode));
        let mut wanted = vec![counts.clone()];
        if self.string_code.is_none() {
            wanted.push(code.clone());
        }
        let parts = Parts::read(&self.source, wanted)?;
        let code = match &self.string_code {
            Some(code) => code,
            None => parts.get(code),
        };
        let counts = parts.get(counts);
        for (kind, bytes) in [(Kind::BlockCounts, counts), (Kind::StringCode, code)] {
            if let Some(record) = self.directory.section(kind, 0) {
                check_record_checksum(record, bytes)?;
            }
        }
        let counts = block_counts_of(&self.directory, counts)?;
        let for_ids = ForIds {
            block_ranks: block_ranks(counts),
            string_code: code.to_vec(),
        };
        Ok(self.for_ids.get_or_init(|| for_ids))
    }

    /// The ranks of matches, looked up in table 0, which is in blocks.
    fn ranks(&self, matches: &[Match<F>], block_ranks: &[u64]) -> Result<Vec<Rank>> {
        let probes = matches.iter().enumerate().map(|(owner, found)| Probe {
            owner,
            table: 0,
            low: found.fingerprint,
            high: found.fingerprint,
        });
        let probes: Vec<Probe<F>> = probes.collect();
        let mut ranks = vec![None; matches.len()];
        self.run(&probes, &mut |probe, place, _| {
            let first = place.and_then(|place| block_ranks.get(place.part).zip(Some(place.index)));
            ranks[probe.owner] = first.map(|(first, index)| Rank(first + index as u64));
        })?;
        let ranks = ranks.into_iter().zip(matches).map(|(rank, found)| {
            let rank = rank.filter(|rank| rank.0 < self.len());
            Ok(rank.ok_or_else(|| not_in_table_0(found))?)
        });
        ranks.collect()
    }
}

/// What is read for each item. All are tried whatever is missing, so that all that is missing is known.
fn try_all<I, T>(
    items: &[I],
    mut read: impl FnMut(&I) -> Result<T, FormatError>,
) -> Result<Vec<T>, FormatError> {
    let (mut all, mut fault) = (Vec::with_capacity(items.len()), None);
    for item in items {
        match read(item) {
            Ok(value) => all.push(value),
            Err(error) => fault = fault.or(Some(error)),
        }
    }
    fault.map_or(Ok(all), Err)
}

/// The ids of a match, whose rank a table in lines tells. While that is read, what the ids of likely ranks take is asked for
/// too.
fn read_ids_in_lines<F: Fingerprint>(
    sections: &IdSections,
    table: &LineTable<F>,
    found: &Match<F>,
    file: FileBytes<'_>,
) -> Result<Vec<IdBuf>, FormatError> {
    let value = found.fingerprint;
    let at_address = table.ranks_at_address(file, value);
    let (ranks, _) = at_address.inspect_err(|_| {
        sections.ask_near(file, likely_ranks(value, table.value_count));
    })?;
    let rank = table.rank_among(file, ranks.clone(), value);
    let rank = rank.inspect_err(|_| {
        for rank in ranks.take(MOST_LIKELY) {
            let _ = read_ids_of(sections, Rank(rank), file);
        }
    })?;
    let rank = rank.ok_or_else(|| not_in_table_0(found))?;
    read_ids_of(sections, Rank(rank), file)
}

/// Between which ranks a fingerprint stands almost always if all are equally likely.
fn likely_ranks<F: Fingerprint>(fingerprint: F, count: u64) -> Range<u64> {
    let count = count as f64;
    let expected = fingerprint.to_u128() as f64 / 2f64.powi(F::WIDTH as i32) * count;
    // Three standard deviations in the middle, where they are largest.
    let most = 1.5 * count.sqrt();
    (expected - most).max(0.0) as u64..(expected + most).min(count) as u64
}

fn not_in_table_0<F: Fingerprint>(found: &Match<F>) -> FormatError {
    FormatError::damaged(36, format!("table 0 lacks {:x}", found.fingerprint))
}

fn read_ids_of(
    sections: &IdSections,
    rank: Rank,
    file: FileBytes<'_>,
) -> Result<Vec<IdBuf>, FormatError> {
    let (mut ids, mut fault, mut buffer) = (Vec::new(), None, IdBuffer::default());
    for index in sections.indexes(file, rank)? {
        match sections.read(file, index, &mut buffer) {
            Ok(id) => ids.push(id.into()),
            Err(error) => fault = fault.or(Some(error)),
        }
    }
    fault.map_or(Ok(ids), Err)
}
