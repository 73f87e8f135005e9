//! The ids of matches over ranges: the pages that are missing are read in one round for all matches, and it is tried again.

use std::ops::Range;

use super::query::Probe;
use super::source::{Parts, ReadRanges};
use super::{RangedIndex, section_range};
use crate::error::{Error, FormatError, Result};
use crate::fingerprint::Fingerprint;
use crate::format::{IdKind, Kind};
use crate::index::file_bytes::{Fetched, FileBytes};
use crate::index::ids::{IdBuf, IdBuffer, IdSections, Rank};
use crate::index::open::{block_counts_of, block_ranks, check_record_checksum, ids_of};
use crate::index::query::Match;

/// Rounds after which a file that asks for more is not read any further: a group of ids takes a handful.
const MOST_ROUNDS: usize = 1 << 10;

/// What ids need beside their pages.
#[derive(Debug)]
pub(super) struct ForIds {
    block_ranks: Vec<u64>,
    string_code: Vec<u8>,
}

impl<F: Fingerprint, R: ReadRanges> RangedIndex<F, R> {
    /// The ids of each match, in order; none if the index has none. The first call reads how many fingerprints each block
    /// has, two bytes a block. Then it takes two rounds to find the matches in table 0 and about five more for all of them
    /// together.
    ///
    /// ```
    /// # use simidx::{BuildOptions, Id, IdKind, IndexBuilder};
    /// # use simidx::index::ranged::RangedIndex;
    /// # let mut options = BuildOptions::default();
    /// # options.ids = IdKind::String;
    /// # let mut builder = IndexBuilder::<u64>::new(options)?;
    /// # builder.push_with_string(0xff, "home")?;
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
        let ranks = self.ranks(matches, &for_ids.block_ranks)?;
        // Pages that come a second time are checked a second time.
        let sections = ids_of(&self.directory, &for_ids.string_code)?;
        let sections = sections.ok_or_else(|| FormatError::damaged(15, "the ids are missing"))?;
        let mut fetched = Fetched::default();
        for _ in 0..MOST_ROUNDS {
            let tried = read_ids(&sections, &ranks, FileBytes::Fetched(&fetched));
            let missing = fetched.take_missing();
            if missing.is_empty() {
                return Ok(tried?);
            }
            let missing = missing
                .into_iter()
                .filter(|range| range.end <= self.file_len);
            let missing: Vec<Range<u64>> = missing.collect();
            if missing.is_empty() {
                return Ok(tried?);
            }
            for (start, bytes) in Parts::read(&self.source, missing)?.into_parts() {
                fetched.insert(start, bytes);
            }
        }
        Err(FormatError::damaged(29, "the ids of a match are spread over too many pages").into())
    }

    fn for_ids(&self) -> Result<&ForIds> {
        if let Some(known) = self.for_ids.get() {
            return Ok(known);
        }
        let section = |kind| section_range(&self.directory, kind, 0);
        let (counts, code) = (section(Kind::BlockCounts), section(Kind::StringCode));
        let parts = Parts::read(&self.source, vec![counts.clone(), code.clone()])?;
        for (kind, range) in [(Kind::BlockCounts, &counts), (Kind::StringCode, &code)] {
            if let Some(record) = self.directory.section(kind, 0) {
                check_record_checksum(record, parts.get(range.clone()))?;
            }
        }
        let counts = block_counts_of(&self.directory, parts.get(counts))?;
        let for_ids = ForIds {
            block_ranks: block_ranks(counts),
            string_code: parts.get(code).to_vec(),
        };
        Ok(self.for_ids.get_or_init(|| for_ids))
    }

    /// The ranks of matches, looked up in table 0.
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
            let first = block_ranks.get(place.block);
            ranks[probe.owner] = first.map(|first| Rank(first + place.index as u64));
        })?;
        let ranks = ranks.into_iter().zip(matches).map(|(rank, found)| {
            rank.filter(|rank| rank.0 < self.len()).ok_or_else(|| {
                let message = format!("table 0 lacks {:x}", found.fingerprint);
                Error::from(FormatError::damaged(36, message))
            })
        });
        ranks.collect()
    }
}

/// The ids of some ranks. All are tried whatever is missing, so that all that is missing is known.
fn read_ids(
    sections: &IdSections,
    ranks: &[Rank],
    file: FileBytes<'_>,
) -> Result<Vec<Vec<IdBuf>>, FormatError> {
    let (mut all, mut fault) = (Vec::with_capacity(ranks.len()), None);
    for &rank in ranks {
        match read_ids_of(sections, rank, file) {
            Ok(ids) => all.push(ids),
            Err(error) => fault = fault.or(Some(error)),
        }
    }
    fault.map_or(Ok(all), Err)
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
