//! The reader: open and validate a file, search it, read its ids.

mod blocks;
mod checked;
mod flips;
mod ids;
mod iter;
mod keys;
mod lines;
mod nearest;
mod open;
mod paged;
mod plans;
mod probe;
mod probe_lines;
mod query;
mod ranks;
mod records;
mod scratch;
mod search;
mod sketches;
mod storage;
mod table;
mod verify;
mod warm;

pub use crate::cpu::instruction_set;
#[cfg(feature = "fuzzing")]
pub(crate) use blocks::Decode;
pub(crate) use ids::SortedStrings;
pub use ids::{IdBuffer, Ids};
pub use iter::Fingerprints;
pub(crate) use open::width_of;
pub(crate) use query::QUERIES_UNDER_WAY;
pub use query::{Match, QueryStats, Strategy};
pub use records::Records;
pub use scratch::Scratch;
pub use sketches::Sketches;
pub use storage::Storage;
pub use verify::VerifyReport;
pub(crate) use warm::warm_all;
pub use warm::{WarmOptions, WarmReport};

use std::fmt;
use std::ops::Range;
use std::sync::OnceLock;

use crate::codec::Codec;
use crate::design::{Permutation, ProbePlan, costs_in_memory, plan_probes};
use crate::error::{Error, FormatError, Result};
use crate::fingerprint::Fingerprint;
use crate::format::{ContentId, Directory, IdKind, Kind, Metadata};
use crate::id::Id;
use crate::summary::Summary;
use ids::{IdSections, Rank};
use plans::{Plans, plausible_count};
use sketches::SketchSection;
use table::Table;

/// An index over bytes that lie in memory or are mapped into it.
///
/// The bytes are a [`Storage`]: mapped by [`Index::open`], read by [`Index::open_in_memory`], or given to
/// [`Index::from_bytes`]. The index is `Send + Sync`; threads share it and each keeps a [`Scratch`] of its own.
///
/// ```
/// # use simidx::{BuildOptions, IndexBuilder, Width};
/// use simidx::Index;
///
/// # let mut builder = IndexBuilder::new(Width::W64, BuildOptions::default())?;
/// # for fingerprint in [42_u64, 7, 42] { builder.push(fingerprint)?; }
/// # let mut file = Vec::new();
/// # builder.finish(&mut file)?;
/// let index = Index::<u64>::from_bytes(file)?; // of 42, 7 and 42 again
/// assert_eq!((index.len(), index.record_count()), (2, 3));
/// assert_eq!(index.query(43, 1)?[0].fingerprint, 42);
/// let all = index.iter().collect::<simidx::Result<Vec<u64>>>()?;
/// assert_eq!(all, [7, 42]);
/// # Ok::<(), simidx::Error>(())
/// ```
///
/// No byte is trusted: whatever the file holds, every call gives an error or the answer that the
/// file's contents call for, without a panic.
pub struct Index<F> {
    data: Storage,
    directory: Directory,
    tables: Vec<Table<F>>,
    ids: Option<IdSections>,
    /// The rank of the first value of each block of table 0, once it has been asked for.
    block_ranks: OnceLock<Vec<u64>>,
    pipeline: Option<String>,
    metadata: Metadata,
    /// Once they have been asked for.
    sketches: OnceLock<Option<SketchSection>>,
    plans: Plans,
}

impl<F> fmt::Debug for Index<F> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Index")
            .field("width", &(8 * size_of::<F>()))
            .field("fingerprint_count", &self.directory.fingerprint_count)
            .field("record_count", &self.directory.record_count)
            .field("table_count", &self.tables.len())
            .field("file_len", &self.data.as_ref().len())
            .finish_non_exhaustive()
    }
}

impl<F: Fingerprint> Index<F> {
    /// The distance that the tables were chosen for, k. Queries may ask for any.
    pub fn max_distance(&self) -> u32 {
        self.directory.max_distance
    }

    /// Number of records that went into the index.
    pub fn record_count(&self) -> u64 {
        self.directory.record_count
    }

    /// Number of distinct fingerprints.
    pub fn len(&self) -> u64 {
        self.directory.fingerprint_count
    }

    /// How many fingerprints to make room for before they are read: no more than the file has bytes, whatever it says.
    pub(crate) fn expected_count(&self) -> u64 {
        self.len().min(self.bytes().len() as u64)
    }

    /// Whether the index holds no fingerprint.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// Number of tables.
    pub fn table_count(&self) -> usize {
        self.tables.len()
    }

    /// Bytes of a block.
    pub fn block_size(&self) -> u32 {
        self.directory.block_size
    }

    /// What the ids are.
    pub fn id_kind(&self) -> IdKind {
        self.directory.id_kind
    }

    /// How the documents became fingerprints, if the index records it.
    pub fn pipeline(&self) -> Option<&str> {
        self.pipeline.as_deref()
    }

    /// The keys and values that were stored with the index.
    pub fn metadata(&self) -> &Metadata {
        &self.metadata
    }

    /// What identifies the contents of the index: equal for equal records, whatever the tables.
    pub fn content_id(&self) -> ContentId {
        ContentId(self.directory.content_id)
    }

    /// Whether the file has the order of its ids, which makes [`Index::rank_of_id`] quick.
    pub fn has_id_lookup(&self) -> bool {
        self.ids.as_ref().is_some_and(IdSections::has_order)
    }

    /// What holds the bytes of the file.
    pub fn storage(&self) -> &Storage {
        &self.data
    }

    /// Parameters and sizes of the index and of each table.
    pub fn summary(&self) -> Summary {
        Summary::of::<F>(&self.directory, self.bytes().len() as u64)
    }

    /// How queries within a distance are answered: which tables are probed with how many flips, or a scan. Worked
    /// out when a distance is first asked for, then kept.
    pub fn plan(&self, distance: u32) -> &ProbePlan {
        self.plans.get(distance.min(F::WIDTH), || {
            let masks: Vec<F> = self.tables.iter().map(|t| t.permutation().mask()).collect();
            let file_len = self.bytes().len() as f64;
            let directory = &self.directory;
            let costs = costs_in_memory(self.tables[0].codec(), directory.block_size, file_len);
            plan_probes(
                &masks,
                distance.min(F::WIDTH),
                plausible_count(directory),
                &costs,
            )
        })
    }

    /// Whether the index holds this very fingerprint. Decodes one block.
    ///
    /// # Errors
    /// A damaged block.
    pub fn contains(&self, fingerprint: F) -> Result<bool> {
        Ok(self.tables[0].locate(self.bytes(), fingerprint)?.is_some())
    }

    /// The ids of a match of a query of this index, in order. None if the index has no ids.
    ///
    /// A match knows its rank, so that only the pages of its ids are read.
    ///
    /// # Errors
    /// A damaged block or page; a match that table 0 lacks, which is a fault of the file; a rank that is not less than
    /// [`Index::len`], as that of a match of another index may be.
    pub fn ids(&self, found: &Match<F>) -> Result<Ids<'_>> {
        let rank = match found.rank {
            Some(rank) if rank < self.len() => Rank(rank),
            Some(rank) => {
                let message = format!("there is no rank {rank}, the index has {}", self.len());
                return Err(Error::option("match", message));
            }
            None => return self.ids_of_member(found.fingerprint),
        };
        self.ids_of_rank(rank)
    }

    /// The ids of a fingerprint, in order. None if the index does not hold it or has no ids. One look-up in table 0.
    ///
    /// # Errors
    /// A damaged block or page.
    pub fn ids_of(&self, fingerprint: F) -> Result<Ids<'_>> {
        match self.rank(fingerprint)? {
            Some(rank) => self.ids_of_rank(Rank(rank)),
            None => Ok(Ids::none()),
        }
    }

    /// The ids of a fingerprint that a table of this index holds: one that table 0 lacks is a fault of the file.
    fn ids_of_member(&self, member: F) -> Result<Ids<'_>> {
        match self.rank(member)? {
            Some(rank) => self.ids_of_rank(Rank(rank)),
            None if self.ids.is_none() => Ok(Ids::none()),
            None => {
                let message = format!("table 0 lacks {member:x}, which another table holds");
                Err(FormatError::damaged(36, message).into())
            }
        }
    }

    fn ids_of_rank(&self, rank: Rank) -> Result<Ids<'_>> {
        match &self.ids {
            Some(ids) => Ok(ids.of(self.bytes(), rank)?),
            None => Ok(Ids::none()),
        }
    }

    /// The rank of a fingerprint, its place in numeric order; `None` if the index does not hold it. Decodes one block; the
    /// first call for an index without ids also reads how many fingerprints each block has.
    ///
    /// # Errors
    /// A damaged block.
    pub fn rank(&self, fingerprint: F) -> Result<Option<u64>> {
        let table = &self.tables[0];
        let Some(place) = table.locate(self.bytes(), fingerprint)? else {
            return Ok(None);
        };
        let first = table.rank_of_part(self.bytes(), place.part, self.block_ranks())?;
        Ok(first.map(|first| first + place.index as u64))
    }

    /// The fingerprint of a rank; `None` if there are not so many. Decodes one block.
    ///
    /// ```
    /// # use simidx::{BuildOptions, Index, IndexBuilder, Width};
    /// # let mut builder = IndexBuilder::new(Width::W64, BuildOptions::default())?;
    /// # builder.extend_from_slice(&[42_u64, 7])?;
    /// # let mut file = Vec::new();
    /// # builder.finish(&mut file)?;
    /// let index = Index::<u64>::from_bytes(file)?; // of 7 and 42
    /// assert_eq!(index.fingerprint(1)?, Some(42));
    /// assert_eq!(index.rank(42)?, Some(1));
    /// # Ok::<(), simidx::Error>(())
    /// ```
    ///
    /// # Errors
    /// A damaged block.
    pub fn fingerprint(&self, rank: u64) -> Result<Option<F>> {
        if rank >= self.len() {
            return Ok(None);
        }
        let table = &self.tables[0];
        let (part, first) = match table {
            Table::Blocks(_) => {
                let ranks = self.block_ranks();
                let block = ranks.partition_point(|&first| first <= rank) - 1;
                (block, ranks[block])
            }
            Table::Lines(lines) => {
                let part = lines.part_of_rank(self.bytes(), rank)?;
                (part, lines.rank_of_part(self.bytes(), part)?)
            }
        };
        let mut values = Vec::new();
        table.read_parts(self.bytes(), part..part + 1, &mut values)?;
        let place = rank.checked_sub(first);
        let value = place.and_then(|place| values.get(place as usize));
        if let (None, Table::Lines(lines)) = (value, table) {
            return Err(lines.wrong_rank(part).into());
        }
        Ok(value.map(|&value| table.permutation().invert(value)))
    }

    /// The rank of the first record that has an id; `None` if none has it. [`Index::fingerprint`] gives the fingerprint of a
    /// rank. A few microseconds if the file has the order of its ids ([`BuildOptions::id_lookup`](crate::BuildOptions::id_lookup)), otherwise
    /// the time to read through an array of all ids.
    ///
    /// ```
    /// use simidx::{BuildOptions, Id, IdKind, Index, IndexBuilder, Width};
    ///
    /// let mut options = BuildOptions::default();
    /// options.ids = IdKind::String;
    /// options.id_lookup = true;
    /// let mut builder = IndexBuilder::new(Width::W64, options)?;
    /// builder.push_with_id(0xff00_u64, "home")?;
    /// builder.push_with_id(0xff01_u64, "index")?;
    /// let mut file = Vec::new();
    /// builder.finish(&mut file)?;
    ///
    /// let index = Index::<u64>::from_bytes(file)?;
    /// let rank = index.rank_of_id(Id::String("home"))?.expect("there is such a record");
    /// let near = index.query(index.fingerprint(rank)?.expect("the rank is known"), 1)?;
    /// assert_eq!(near.len(), 2);
    /// # Ok::<(), simidx::Error>(())
    /// ```
    ///
    /// # Errors
    /// A damaged page, or an order of ids that is not right.
    pub fn rank_of_id<'i>(&self, id: impl Into<Id<'i>>) -> Result<Option<u64>> {
        Ok(self.ranks_of_id(id)?.first().copied())
    }

    /// The ranks of all records that have an id, ascending: a rank twice if two of its records do. As [`Index::rank_of_id`].
    ///
    /// # Errors
    /// As for [`Index::rank_of_id`].
    pub fn ranks_of_id<'i>(&self, id: impl Into<Id<'i>>) -> Result<Vec<u64>> {
        let Some(ids) = &self.ids else {
            return Ok(Vec::new());
        };
        let ranks = ids.find(self.bytes(), id.into())?;
        Ok(ranks.into_iter().map(|Rank(rank)| rank).collect())
    }

    /// The fingerprints of all records that have an id, ascending, each once. As [`Index::rank_of_id`].
    ///
    /// # Errors
    /// As for [`Index::rank_of_id`].
    pub fn fingerprints_of_id<'i>(&self, id: impl Into<Id<'i>>) -> Result<Vec<F>> {
        let mut ranks = self.ranks_of_id(id)?;
        ranks.dedup();
        let fingerprints = ranks.into_iter().map(|rank| self.fingerprint(rank));
        fingerprints.filter_map(Result::transpose).collect()
    }

    /// The rank of the first value of each block of table 0.
    fn block_ranks(&self) -> &[u64] {
        self.block_ranks.get_or_init(|| {
            let counts = self.directory.section(Kind::BlockCounts, 0);
            let counts = counts.map_or(&[][..], |record| open::slice(self.bytes(), record));
            open::block_ranks(counts.as_chunks::<2>().0)
        })
    }

    /// The fingerprints in numeric order. Each costs a decoding step, a few nanoseconds.
    pub fn iter(&self) -> Fingerprints<'_, F> {
        Fingerprints::new(self, 0)
    }

    /// The fingerprints of table `table` in its order, as they are in the records. Each fingerprint
    /// costs a decoding step, a few nanoseconds.
    ///
    /// # Errors
    /// [`Error::Options`] if there is no such table.
    pub fn fingerprints(&self, table: usize) -> Result<Fingerprints<'_, F>> {
        if table < self.tables.len() {
            return Ok(Fingerprints::new(self, table));
        }
        let message = format!(
            "there is no table {table}, the index has {}",
            self.tables.len()
        );
        Err(Error::option("table", message))
    }

    /// The blocks of table 0 that hold all fingerprints from `low` to `high`, and few others.
    pub(crate) fn blocks_between(&self, low: F, high: F) -> Range<usize> {
        let table = &self.tables[0];
        let end = table.first_part_at_least(high) + 1;
        table.first_part_at_least(low)..end.min(table.part_count())
    }

    /// The fingerprints of some blocks of table 0.
    pub(crate) fn fingerprints_of_blocks(&self, blocks: Range<usize>) -> Fingerprints<'_, F> {
        Fingerprints::of_blocks(self, 0, blocks)
    }

    /// Hands each id with its slot to `visit`: a number of its own below the record count. The ids of an index with strings come
    /// in order.
    ///
    /// # Errors
    /// A damaged page.
    pub(crate) fn visit_ids(&self, visit: impl FnMut(u64, Id<'_>)) -> Result<()> {
        match &self.ids {
            Some(ids) => Ok(ids.visit(self.bytes(), visit)?),
            None => Ok(()),
        }
    }

    /// Whether a condition holds for the keys of all ids of a fingerprint of this index: a number is its own key, that of
    /// a string is its place in the dictionary. The rank is looked up where it is not given.
    ///
    /// # Errors
    /// A damaged block or page.
    pub(crate) fn all_keys(
        &self,
        fingerprint: F,
        rank: Option<u64>,
        holds: impl Fn(u64) -> bool,
    ) -> Result<bool> {
        let rank = match rank {
            Some(rank) => Some(rank),
            None => self.rank(fingerprint)?,
        };
        let (Some(ids), Some(rank)) = (&self.ids, rank.filter(|&rank| rank < self.len())) else {
            return Ok(false);
        };
        let holds = |index| Ok(holds(ids.key(self.bytes(), index)?));
        Ok(ids.all_of(self.bytes(), Rank(rank), holds)?)
    }

    /// The keys of an id that is a string, see [`Index::all_keys`].
    ///
    /// # Errors
    /// A damaged page.
    pub(crate) fn places_of_id(&self, id: Id<'_>) -> Result<Range<u64>> {
        match &self.ids {
            Some(ids) => Ok(ids.places_of(self.bytes(), id)?),
            None => Ok(0..0),
        }
    }

    /// The ids in order if they are strings.
    pub(crate) fn sorted_strings(&self) -> Option<SortedStrings<'_>> {
        self.ids.as_ref()?.sorted_strings(self.bytes())
    }

    /// All records in order, with their ids; none if the index has no ids. About 0.3 microseconds a record.
    pub fn records(&self) -> Records<'_, F> {
        Records::new(self, records::READ_AHEAD_LEN)
    }

    /// [`Index::records`] with ids in about `budget` bytes of memory.
    pub(crate) fn records_within(&self, budget: usize) -> Records<'_, F> {
        Records::new(self, budget)
    }

    fn bytes(&self) -> &[u8] {
        self.data.as_ref()
    }

    /// The prefix mask of each table, at less cost than [`Index::summary`], which plans queries.
    pub(crate) fn prefix_masks(&self) -> impl Iterator<Item = F> {
        self.tables.iter().map(|table| table.permutation().mask())
    }

    /// The order of table `t`, which must be there.
    pub(crate) fn permutation(&self, t: usize) -> &Permutation<F> {
        self.tables[t].permutation()
    }

    /// The codec of table `t`, which must be there, at less cost than [`Index::summary`].
    pub(crate) fn codec(&self, t: usize) -> Codec {
        self.tables[t].codec().0
    }
}

impl<'a, F: Fingerprint> IntoIterator for &'a Index<F> {
    type Item = Result<F>;
    type IntoIter = Fingerprints<'a, F>;

    fn into_iter(self) -> Fingerprints<'a, F> {
        self.iter()
    }
}
