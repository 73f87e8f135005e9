//! Diagnoses sets that are slow to search: their bits, duplicates, prefixes and short documents.

mod bits;
mod crowding;
mod warnings;

pub use bits::BitReport;
pub use crowding::TableCrowding;
pub use warnings::{LintWarning, LintWarningKind};

use crate::error::Result;
use crate::fingerprint::{Fingerprint, Width};
use crate::format::IdKind;
use crate::set::{Set, Typed, at_width};
use crate::setters;
use bits::BitCounter;

/// Options of a lint.
///
/// ```
/// use simidx::batch::LintOptions;
///
/// let options = LintOptions::default().distance(6).group_count(20);
/// ```
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct LintOptions {
    /// The distance of future queries, at most the width; `None` for the distance that the indexes were built for.
    pub distance: Option<u32>,
    /// The number of largest duplicate groups to report, 5 by default. 0 counts as 1, because a warning depends on the
    /// largest.
    pub group_count: usize,
}

setters!(LintOptions {
    distance(Some(u32))
    group_count(usize)
});

impl Default for LintOptions {
    fn default() -> Self {
        LintOptions {
            distance: None,
            group_count: 5,
        }
    }
}

/// The number of short documents in a set. Indexes do not record it: count while fingerprints are computed.
///
/// ```
/// use simidx::batch::DocumentLengths;
///
/// let mut lengths = DocumentLengths::default();
/// for features in [0, 3, 500] {
///     lengths.add(features);
/// }
/// assert_eq!((lengths.document_count, lengths.empty_count, lengths.short_count), (3, 1, 1));
/// assert!(lengths.warnings().is_empty()); // three documents are too few for a judgement
/// ```
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct DocumentLengths {
    /// Number of documents.
    pub document_count: u64,
    /// Number of documents without any feature that counts.
    pub empty_count: u64,
    /// Number of documents with at least one and fewer than [`DocumentLengths::SHORT`] distinct features that count.
    pub short_count: u64,
}

impl DocumentLengths {
    /// Documents with fewer distinct features are short, since each feature decides several bits.
    pub const SHORT: u32 = 8;

    /// Counts a document that has `features` distinct features that count.
    pub fn add(&mut self, features: u32) {
        self.document_count += 1;
        match features {
            0 => self.empty_count += 1,
            1..Self::SHORT => self.short_count += 1,
            _ => {}
        }
    }

    /// Returns warnings about empty and short documents; none if they are few.
    pub fn warnings(&self) -> Vec<LintWarning> {
        warnings::of_documents(self)
    }
}

/// The findings of [`lint`].
///
/// ```
/// use simidx::batch::{LintOptions, lint};
/// use simidx::Set;
///
/// # use simidx::{Index, IndexBuilder, Width};
/// # let mut builder = IndexBuilder::new(Width::W64, Default::default())?;
/// # builder.extend_from_slice(&[0xff00_u64, 0xff01, 0x1234_5678])?;
/// # let mut file = Vec::new();
/// # builder.finish(&mut file)?;
/// # let segments = Set::from_bytes(file)?;
/// let report = lint(&segments, &LintOptions::default())?;
/// assert_eq!((report.record_count, report.fingerprint_count), (3, 3));
/// assert!(report.warnings().is_empty()); // three fingerprints are too few for a judgement
/// # Ok::<(), simidx::Error>(())
/// ```
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
pub struct LintReport {
    /// The width of the fingerprints.
    pub width: Width,
    /// The distance of future queries.
    pub distance: u32,
    /// Number of records.
    pub record_count: u64,
    /// Number of distinct fingerprints.
    pub fingerprint_count: u64,
    /// The balance of the bits of the distinct fingerprints.
    pub bits: BitReport,
    /// The largest groups of records that share a fingerprint, largest first. Empty if the indexes have no ids, because
    /// they then hold only the number of records.
    pub groups: Vec<DuplicateGroup>,
    /// The prefix crowding of the tables, by index and table.
    pub tables: Vec<TableCrowding>,
    /// For each index, whether queries probe its tables. A small index is searched as fast by comparing all
    /// fingerprints, so crowded prefixes do not matter there.
    pub probed: Vec<bool>,
}

impl LintReport {
    /// Returns the share of records whose fingerprint an earlier record already has, from 0 to 1.
    pub fn duplicate_share(&self) -> f64 {
        match self.record_count {
            0 => 0.0,
            records => 1.0 - self.fingerprint_count as f64 / records as f64,
        }
    }

    /// Returns everything that will slow down searches; empty if there is nothing.
    pub fn warnings(&self) -> Vec<LintWarning> {
        warnings::of(self)
    }
}

/// Examines all fingerprints of a set: their bits, duplicates among records, and how crowded the tables are.
///
/// Streams every table that queries probe once, about 3 ns a fingerprint, and table 0 a second time for ids and bits.
/// Memory: a few megabytes.
///
/// ```
/// use simidx::Set;
/// use simidx::{BuildOptions, Index, IndexBuilder, Width};
/// use simidx::batch::{LintOptions, LintWarningKind, lint};
///
/// let mut builder = IndexBuilder::new(Width::W64, BuildOptions::default())?;
/// for i in 0..1000u64 {
///     // 32 bits in 64.
///     builder.push((i.wrapping_mul(0x9e37_79b9_7f4a_7c15)) >> 32)?;
/// }
/// let mut file = Vec::new();
/// builder.finish(&mut file)?;
/// let set = Set::from_bytes(file)?;
/// let report = lint(&set, &LintOptions::default())?;
/// assert_eq!(report.bits.dead, (32..64).collect::<Vec<u32>>());
/// assert_eq!(report.warnings()[0].kind, LintWarningKind::DeadBits);
/// # Ok::<(), simidx::Error>(())
/// ```
///
/// # Errors
/// A damaged block or page.
pub fn lint(set: &Set, options: &LintOptions) -> Result<LintReport> {
    at_width!(set, set => lint_of(set, options))
}

fn lint_of<F: Fingerprint>(segments: Typed<'_, F>, options: &LintOptions) -> Result<LintReport> {
    let distance = options.distance.unwrap_or(segments.max_distance());
    let distance = distance.min(F::WIDTH);
    let (fingerprint_count, bits, groups) = look_at_members(segments, options)?;
    let (mut tables, mut probed) = (Vec::new(), Vec::new());
    for (number, index) in segments.indexes().enumerate() {
        let crowding = crowding::crowding(number, index, distance);
        tables.extend(crowding.map_err(segments.blame(number))?);
        probed.push(!index.plan(distance).scan_is_cheaper());
    }
    Ok(LintReport {
        width: segments.width(),
        distance,
        record_count: segments.record_count(),
        fingerprint_count,
        bits,
        groups,
        tables,
        probed,
    })
}

/// Counts the distinct fingerprints and their set bits, and finds the largest groups of records that share one.
fn look_at_members<F: Fingerprint>(
    segments: Typed<'_, F>,
    options: &LintOptions,
) -> Result<(u64, BitReport, Vec<DuplicateGroup>)> {
    let has_ids = segments.id_kind() != IdKind::None;
    let mut bits = BitCounter::new();
    let mut groups = LargestGroups::new(options.group_count.max(1));
    let mut count = 0u64;
    let mut members = segments.fingerprints(0)?;
    while let Some(value) = members.next_permuted() {
        let fingerprint = members.invert(value?);
        bits.push(fingerprint);
        count += 1;
        if has_ids {
            let (mut records, mut first) = (0, None);
            for id in members.ids()? {
                records += 1;
                first.get_or_insert(id?);
            }
            groups.push(records, fingerprint.to_u128(), || {
                first.map(|id| id.to_string()).unwrap_or_default()
            });
        }
    }
    Ok((count, bits.finish(), groups.finish()))
}

/// A group of records that share a fingerprint.
///
/// ```
/// use simidx::batch::{LintOptions, lint};
/// use simidx::Set;
/// use simidx::{BuildOptions, IdKind, Index, IndexBuilder, Width};
///
/// let mut options = BuildOptions::default();
/// options.ids = IdKind::Number;
/// let mut builder = IndexBuilder::new(Width::W64, options)?;
/// for id in 0..5 {
///     builder.push_with_id(0xff00_u64, id)?;
/// }
/// let mut file = Vec::new();
/// builder.finish(&mut file)?;
/// let segments = Set::from_bytes(file)?;
/// let report = lint(&segments, &LintOptions::default())?;
/// assert_eq!((report.groups[0].record_count, report.groups[0].id.as_str()), (5, "0"));
/// # Ok::<(), simidx::Error>(())
/// ```
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct DuplicateGroup {
    /// Number of records.
    pub record_count: u64,
    /// The fingerprint that they share.
    pub fingerprint: u128,
    /// The id of the first record, as text.
    pub id: String,
}

/// The largest groups found so far.
struct LargestGroups {
    /// Ordered by size, largest first; among equals, the first found comes first.
    groups: Vec<DuplicateGroup>,
    limit: usize,
}

impl LargestGroups {
    fn new(limit: usize) -> Self {
        LargestGroups {
            groups: Vec::new(),
            limit,
        }
    }

    /// Adds a group if it is among the largest; only then `id` is called.
    fn push(&mut self, record_count: u64, fingerprint: u128, id: impl FnOnce() -> String) {
        let is_full = self.groups.len() >= self.limit;
        let least = self.groups.last().map_or(0, |group| group.record_count);
        if record_count < 2 || (is_full && record_count <= least) {
            return;
        }
        let place = self
            .groups
            .partition_point(|g| g.record_count >= record_count);
        let group = DuplicateGroup {
            record_count,
            fingerprint,
            id: id(),
        };
        self.groups.insert(place, group);
        self.groups.truncate(self.limit);
    }

    fn finish(self) -> Vec<DuplicateGroup> {
        self.groups
    }
}
