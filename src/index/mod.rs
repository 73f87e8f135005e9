//! The reader: opens and validates a file, searches it, reads its ids.

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

#[cfg(feature = "fuzzing")]
pub(crate) use blocks::Decode;
pub use ids::Ids;
pub(crate) use ids::SortedStrings;
pub use iter::Fingerprints;
pub(crate) use open::{naming, width_of};
pub(crate) use query::QUERIES_UNDER_WAY;
pub use query::{Match, QueryStats};
pub use records::Records;
pub use scratch::Scratch;
pub use storage::Storage;
pub use verify::VerifyReport;
pub(crate) use warm::warm_all;
pub use warm::{WarmOptions, WarmReport};

// For the program, the benches and the tests: no interface to rely on.
#[doc(hidden)]
pub use crate::cpu::instruction_set;
#[doc(hidden)]
pub use ids::IdBuffer;
#[doc(hidden)]
pub use query::Strategy;
#[doc(hidden)]
pub use sketches::Sketches;

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

/// An index over bytes in memory or in a mapping.
///
/// The bytes are a [`Storage`]: mapped by `Index::open`, read by [`Index::open_in_memory`], or given to
/// [`Index::from_bytes`]. The index is `Send + Sync`: threads share it, and each keeps its own [`Scratch`].
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
/// No byte is trusted: whatever the file holds, every call returns an error or the answer for the file's contents,
/// without a panic.
pub struct Index<F> {
    data: Storage,
    directory: Directory,
    tables: Vec<Table<F>>,
    ids: Option<IdSections>,
    /// The rank of the first value of each block of table 0; computed on first use.
    block_ranks: OnceLock<Vec<u64>>,
    pipeline: Option<String>,
    metadata: Metadata,
    /// The sketches; read on first use.
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
    /// The distance that the tables were chosen for, k. Queries may use any distance.
    pub fn max_distance(&self) -> u32 {
        self.directory.max_distance
    }

    /// Number of records.
    pub fn record_count(&self) -> u64 {
        self.directory.record_count
    }

    /// Number of distinct fingerprints.
    pub fn len(&self) -> u64 {
        self.directory.fingerprint_count
    }

    /// Returns the number of fingerprints to reserve memory for: at most the number of bytes of the file, whatever it
    /// claims.
    pub(crate) fn expected_count(&self) -> u64 {
        self.len().min(self.bytes().len() as u64)
    }

    /// Whether the index is empty.
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

    /// The kind of the ids.
    pub fn id_kind(&self) -> IdKind {
        self.directory.id_kind
    }

    /// The text pipeline that produced the fingerprints, if the index records it.
    pub fn pipeline(&self) -> Option<&str> {
        self.pipeline.as_deref()
    }

    /// The user-defined keys and values in the file.
    pub fn metadata(&self) -> &Metadata {
        &self.metadata
    }

    /// The content id, which identifies the records: it is the same for the same records, whatever the tables.
    pub fn content_id(&self) -> ContentId {
        ContentId(self.directory.content_id)
    }

    /// Whether the file stores the order of its ids, which makes [`Index::rank_of_id`] fast.
    pub fn has_id_lookup(&self) -> bool {
        self.ids.as_ref().is_some_and(IdSections::has_order)
    }

    /// The storage that holds the bytes of the file.
    pub fn storage(&self) -> &Storage {
        &self.data
    }

    /// Returns the parameters and sizes of the index and of each table.
    pub fn summary(&self) -> Summary {
        Summary::of::<F>(&self.directory, self.bytes().len() as u64)
    }

    /// Returns the plan for queries within a distance: the tables to probe, with how many flips, or a scan. Plans are
    /// computed on first use and kept.
    #[doc(hidden)]
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

    /// Returns whether the index holds exactly this fingerprint. Decodes one block.
    ///
    /// # Errors
    /// A damaged block.
    pub fn contains(&self, fingerprint: F) -> Result<bool> {
        Ok(self.tables[0].locate(self.bytes(), fingerprint)?.is_some())
    }

    /// Returns the ids of a match of a query of this index, in order. Empty if the index has no ids.
    ///
    /// A match holds its rank, so only the pages of its ids are read.
    ///
    /// # Errors
    /// A damaged block or page, including a match that is not in table 0; a rank that is not less than [`Index::len`],
    /// for example of a match of another index.
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

    /// Returns the ids of a fingerprint, in order. Empty if the index does not hold it or has no ids. Takes one look-up
    /// in table 0.
    ///
    /// # Errors
    /// A damaged block or page.
    pub fn ids_of(&self, fingerprint: F) -> Result<Ids<'_>> {
        match self.rank(fingerprint)? {
            Some(rank) => self.ids_of_rank(Rank(rank)),
            None => Ok(Ids::none()),
        }
    }

    /// Returns the ids of a fingerprint that a table of this index holds. If table 0 does not hold it, the file is
    /// damaged.
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

    /// Returns the rank of a fingerprint, its position in numeric order; `None` if the index does not hold it. Decodes
    /// one block; the first call for an index without ids also reads the number of fingerprints of each block.
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

    /// Returns the fingerprint of a rank; `None` beyond the last one. Decodes one block.
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

    /// Returns the rank of the first record with an id; `None` if there is none. [`Index::fingerprint`] returns the
    /// fingerprint of a rank. Takes a few microseconds if the file stores the order of its ids
    /// ([`BuildOptions::id_lookup`](crate::BuildOptions::id_lookup)), otherwise the time to read an array of all ids.
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
    /// A damaged page, or a wrong order of ids.
    pub fn rank_of_id<'i>(&self, id: impl Into<Id<'i>>) -> Result<Option<u64>> {
        Ok(self.ranks_of_id(id)?.first().copied())
    }

    /// Returns the ranks of all records with an id, ascending; a rank is repeated for each of its records with the id.
    /// Takes as long as [`Index::rank_of_id`].
    ///
    /// # Errors
    /// The errors of [`Index::rank_of_id`].
    pub fn ranks_of_id<'i>(&self, id: impl Into<Id<'i>>) -> Result<Vec<u64>> {
        let Some(ids) = &self.ids else {
            return Ok(Vec::new());
        };
        let ranks = ids.find(self.bytes(), id.into())?;
        Ok(ranks.into_iter().map(|Rank(rank)| rank).collect())
    }

    /// Returns the distinct fingerprints of all records with an id, ascending. Takes as long as [`Index::rank_of_id`].
    ///
    /// # Errors
    /// The errors of [`Index::rank_of_id`].
    pub fn fingerprints_of_id<'i>(&self, id: impl Into<Id<'i>>) -> Result<Vec<F>> {
        let mut ranks = self.ranks_of_id(id)?;
        ranks.dedup();
        let fingerprints = ranks.into_iter().map(|rank| self.fingerprint(rank));
        fingerprints.filter_map(Result::transpose).collect()
    }

    /// Returns the rank of the first value of each block of table 0.
    fn block_ranks(&self) -> &[u64] {
        self.block_ranks.get_or_init(|| {
            let counts = self.directory.section(Kind::BLOCK_COUNTS, 0);
            let counts = counts.map_or(&[][..], |record| open::slice(self.bytes(), record));
            open::block_ranks(counts.as_chunks::<2>().0)
        })
    }

    /// Returns the fingerprints in numeric order. Decoding takes a few nanoseconds each.
    pub fn iter(&self) -> Fingerprints<'_, F> {
        Fingerprints::new(self, 0)
    }

    /// Returns the fingerprints of table `table` in its order, as they were in the records. Decoding takes a few
    /// nanoseconds each.
    ///
    /// # Errors
    /// [`Error::Options`] if the table does not exist.
    pub fn fingerprints(&self, table: usize) -> Result<Fingerprints<'_, F>> {
        if table < self.tables.len() {
            return Ok(Fingerprints::new(self, table));
        }
        let message = format!(
            "there is no table {table}, the index has {}, numbered from 0",
            self.tables.len()
        );
        Err(Error::option("table", message))
    }

    /// Returns the number of blocks of table 0.
    pub(crate) fn block_count(&self) -> usize {
        self.tables[0].part_count()
    }

    /// Returns the fingerprints of some blocks of table 0.
    pub(crate) fn fingerprints_of_blocks(&self, blocks: Range<usize>) -> Fingerprints<'_, F> {
        Fingerprints::of_blocks(self, 0, blocks)
    }

    /// Calls `visit` with each id and its slot, a unique number below the record count. String ids come in order.
    ///
    /// # Errors
    /// A damaged page.
    pub(crate) fn visit_ids(&self, visit: impl FnMut(u64, Id<'_>)) -> Result<()> {
        match &self.ids {
            Some(ids) => Ok(ids.visit(self.bytes(), visit)?),
            None => Ok(()),
        }
    }

    /// Returns whether `holds` is true for the keys of all ids of a fingerprint of this index. The key of a number id
    /// is the number, that of a string id is its place in the dictionary. Looks up the rank if it is not given.
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

    /// Returns the keys of a string id, see [`Index::all_keys`].
    ///
    /// # Errors
    /// A damaged page.
    pub(crate) fn places_of_id(&self, id: Id<'_>) -> Result<Range<u64>> {
        match &self.ids {
            Some(ids) => Ok(ids.places_of(self.bytes(), id)?),
            None => Ok(0..0),
        }
    }

    /// Returns the ids in order if they are strings.
    pub(crate) fn sorted_strings(&self) -> Option<SortedStrings<'_>> {
        self.ids.as_ref()?.sorted_strings(self.bytes())
    }

    /// Returns all records in order, with their ids; none if the index has no ids. Takes about 0.3 microseconds a
    /// record.
    pub fn records(&self) -> Records<'_, F> {
        Records::new(self, records::READ_AHEAD_LEN)
    }

    /// [`Index::records`], with at most about `budget` bytes of ids in memory.
    pub(crate) fn records_within(&self, budget: usize) -> Records<'_, F> {
        Records::new(self, budget)
    }

    fn bytes(&self) -> &[u8] {
        self.data.as_ref()
    }

    /// Returns the prefix mask of each table. Cheaper than [`Index::summary`], which plans queries.
    pub(crate) fn prefix_masks(&self) -> impl Iterator<Item = F> {
        self.tables.iter().map(|table| table.permutation().mask())
    }

    /// Returns the bit order of table `t`, which must exist.
    pub(crate) fn permutation(&self, t: usize) -> &Permutation<F> {
        self.tables[t].permutation()
    }

    /// Returns the codec of table `t`, which must exist. Cheaper than [`Index::summary`].
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
