//! Reading the ids of a fingerprint, and finding an id (spec, section 9).

mod dictionary;
mod groups;
mod order;
mod sequence;

use std::iter::FusedIterator;
use std::ops::Range;

use super::open::{paged, section};
use super::paged::Paged;
use crate::codec::strings::StringCode;
use crate::error::{FormatError, Result};
use crate::format::{Directory, IdKind, Kind};
use crate::id::{Id, IdBuf};
pub use dictionary::IdBuffer;
pub(super) use dictionary::Repeats;
use dictionary::{Dictionary, DictionaryIds};
use groups::Groups;
pub(super) use sequence::IdSequence;

/// The rank of a fingerprint: its position in table 0.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Rank(pub(super) u64);

/// The id sections of an open index.
#[derive(Debug)]
pub(super) struct IdSections {
    record_count: u64,
    /// Absent if each fingerprint has one id.
    groups: Option<Groups>,
    values: IdValues,
    /// The indexes of the ids in the order of the ids.
    order: Option<Paged>,
}

/// The ids themselves: numbers or strings.
#[derive(Debug)]
enum IdValues {
    Numbers(Numbers),
    Strings(Box<Dictionary>),
}

/// The section of number ids.
#[derive(Debug)]
struct Numbers {
    base: u64,
    bits: u32,
    packed: Paged,
}

impl Numbers {
    /// Returns whether a number of the packed array may overflow.
    fn may_overflow(&self) -> bool {
        let most = u64::MAX.checked_shr(64 - self.bits).unwrap_or(0);
        self.base.checked_add(most).is_none()
    }

    fn read(&self, file: &[u8], index: u64) -> Result<u64, FormatError> {
        let number = self.packed.packed(file, index, self.bits)?;
        let number = self.base.checked_add(number);
        number.ok_or_else(|| self.packed.damaged(30, "an id passes 2^64"))
    }
}

impl IdSections {
    /// Opens the ids, whose parameters have been checked, with the code of the strings (V42).
    pub(super) fn open(
        directory: &Directory,
        string_code: &[u8],
    ) -> Result<Option<Self>, FormatError> {
        let (bits, record_count) = (directory.id_bits, directory.record_count);
        let fingerprint_count = directory.fingerprint_count;
        let paged = |kind| paged(directory, kind, 0);
        let groups = |chunks| Groups {
            chunks,
            fingerprint_count,
            record_count,
        };
        let values = match directory.id_kind {
            IdKind::None => return Ok(None),
            IdKind::Number => IdValues::Numbers(Numbers {
                base: directory.id_base,
                bits,
                packed: paged(Kind::NUMBERS)?,
            }),
            IdKind::String => {
                let section = section(directory, Kind::STRING_CODE, 0)?;
                let code = StringCode::from_bytes(string_code).map_err(|fault| {
                    let message = format!("the code of the ids: {fault}");
                    FormatError::damaged(42, message).at(section.offset)
                })?;
                IdValues::Strings(Box::new(Dictionary {
                    code,
                    places: paged(Kind::PLACES)?,
                    offsets: paged(Kind::BUCKET_OFFSETS)?,
                    offset_bits: bits,
                    buckets: paged(Kind::BUCKETS)?,
                    record_count,
                }))
            }
        };
        let optional = |kind| {
            let section = directory.section(kind, 0);
            section.map(|_| paged(kind)).transpose()
        };
        Ok(Some(IdSections {
            record_count,
            groups: optional(Kind::GROUPS)?.map(groups),
            values,
            order: optional(Kind::ID_ORDER)?,
        }))
    }

    /// Returns the sections with page checksums, in the order of the file.
    pub(super) fn paged_sections(&self) -> Vec<&Paged> {
        let mut sections = Vec::new();
        if let Some(groups) = &self.groups {
            sections.push(&groups.chunks);
        }
        match &self.values {
            IdValues::Numbers(numbers) => sections.push(&numbers.packed),
            IdValues::Strings(dictionary) => sections.extend(dictionary.paged_sections()),
        }
        sections.extend(&self.order);
        sections
    }

    /// Returns the number of ids.
    pub(super) fn record_count(&self) -> u64 {
        self.record_count
    }

    /// Returns whether the file stores the order of its ids.
    pub(super) fn has_order(&self) -> bool {
        self.order.is_some()
    }

    /// Returns the indexes of the ids of a rank, which must be less than the number of fingerprints.
    pub(super) fn indexes(&self, file: &[u8], rank: Rank) -> Result<Range<u64>, FormatError> {
        match &self.groups {
            None => Ok(rank.0..rank.0 + 1),
            Some(groups) => groups.of(file, rank),
        }
    }

    /// Returns the ids of a rank, which must be less than the number of fingerprints.
    pub(super) fn of<'a>(&'a self, file: &'a [u8], rank: Rank) -> Result<Ids<'a>, FormatError> {
        let indexes = self.indexes(file, rank)?;
        Ok(Ids {
            source: Some((self, file)),
            next: indexes.start,
            end: indexes.end,
            buffer: IdBuffer::default(),
        })
    }

    /// Returns whether an id is the first of its fingerprint.
    pub(super) fn is_first(&self, file: &[u8], index: u64) -> Result<bool, FormatError> {
        match &self.groups {
            None => Ok(true),
            Some(groups) => groups.is_first(file, index),
        }
    }

    /// Returns the rank of the fingerprint that an id belongs to.
    pub(super) fn rank_of_index(&self, file: &[u8], index: u64) -> Result<Rank, FormatError> {
        match &self.groups {
            None => Ok(Rank(index)),
            Some(groups) => groups.rank_of(file, index),
        }
    }

    /// Reads an id by its index, which must be less than the number of records.
    pub(super) fn read<'b>(
        &self,
        file: &[u8],
        index: u64,
        buffer: &'b mut IdBuffer,
    ) -> Result<Id<'b>, FormatError> {
        let slot = self.slot(file, index)?;
        self.read_at_slot(file, slot, buffer)
    }

    /// Reads an id by its slot.
    pub(super) fn read_at_slot<'b>(
        &self,
        file: &[u8],
        slot: u64,
        buffer: &'b mut IdBuffer,
    ) -> Result<Id<'b>, FormatError> {
        match &self.values {
            IdValues::Numbers(numbers) => Ok(Id::Number(numbers.read(file, slot)?)),
            IdValues::Strings(dictionary) => Ok(Id::String(dictionary.read(file, slot, buffer)?)),
        }
    }

    /// Returns the slot of an id: the place in the dictionary of a string, the index of a number.
    pub(super) fn slot(&self, file: &[u8], index: u64) -> Result<u64, FormatError> {
        match &self.values {
            IdValues::Numbers(_) => Ok(index),
            IdValues::Strings(dictionary) => dictionary.place(file, index),
        }
    }

    /// Returns the key of an id: a number itself, or the place of a string in the dictionary.
    pub(super) fn key(&self, file: &[u8], index: u64) -> Result<u64, FormatError> {
        match &self.values {
            IdValues::Numbers(numbers) => numbers.read(file, index),
            IdValues::Strings(dictionary) => dictionary.place(file, index),
        }
    }

    /// Returns whether a condition holds for the indexes of all ids of a rank, which must be less than the number of
    /// fingerprints.
    pub(super) fn all_of(
        &self,
        file: &[u8],
        rank: Rank,
        mut holds: impl FnMut(u64) -> Result<bool, FormatError>,
    ) -> Result<bool, FormatError> {
        for index in self.indexes(file, rank)? {
            if !holds(index)? {
                return Ok(false);
            }
        }
        Ok(true)
    }

    /// Returns the places of an id in the dictionary.
    pub(super) fn places_of(&self, file: &[u8], id: Id<'_>) -> Result<Range<u64>, FormatError> {
        match (&self.values, id) {
            (IdValues::Strings(dictionary), Id::String(id)) => dictionary.find(file, id.as_bytes()),
            _ => Ok(0..0),
        }
    }

    /// Returns the ids in order if they are strings.
    pub(super) fn sorted_strings<'a>(&'a self, file: &'a [u8]) -> Option<SortedStrings<'a>> {
        match &self.values {
            IdValues::Numbers(_) => None,
            IdValues::Strings(dictionary) => {
                Some(SortedStrings(DictionaryIds::new(dictionary, file)))
            }
        }
    }

    /// Calls `visit` with each id and its slot, in the order of the slots: strings ascend.
    pub(super) fn visit(
        &self,
        file: &[u8],
        mut visit: impl FnMut(u64, Id<'_>),
    ) -> Result<(), FormatError> {
        match &self.values {
            IdValues::Numbers(numbers) => {
                for index in 0..self.record_count {
                    visit(index, Id::Number(numbers.read(file, index)?));
                }
            }
            IdValues::Strings(dictionary) => {
                let mut ids = DictionaryIds::new(dictionary, file);
                while let Some((place, id)) = ids.next()? {
                    visit(place, Id::String(dictionary.text(id)?));
                }
            }
        }
        Ok(())
    }

    /// Checks that groups (V29), numbers (V30) and the dictionary (V31, V32, V38) can be read as a whole.
    pub(super) fn check(&self, file: &[u8]) -> Result<Repeats, FormatError> {
        if let Some(groups) = &self.groups {
            groups.check(file)?;
        }
        match &self.values {
            IdValues::Numbers(numbers) => {
                if numbers.may_overflow() {
                    (0..self.record_count).try_for_each(|i| numbers.read(file, i).map(drop))?;
                }
                Ok(Repeats::default())
            }
            IdValues::Strings(dictionary) => dictionary.check(file),
        }
    }

    /// Checks the order of the indexes of equal ids that [`IdSections::check`] has found (V38); the places must be
    /// valid.
    pub(super) fn check_repeats(&self, file: &[u8], repeats: &Repeats) -> Result<(), FormatError> {
        match &self.values {
            IdValues::Numbers(_) => Ok(()),
            IdValues::Strings(dictionary) => dictionary.check_repeats(file, repeats),
        }
    }

    /// Checks that the bits after packed arrays are zero (V34).
    pub(super) fn check_spare_bits(&self, file: &[u8]) -> Result<(), FormatError> {
        match &self.values {
            IdValues::Numbers(numbers) => {
                let (packed, bits) = (&numbers.packed, numbers.bits);
                packed.check_spare_bits(file, self.record_count, bits)?;
            }
            IdValues::Strings(dictionary) => dictionary.check_spare_bits(file)?,
        }
        self.check_spare_bits_of_order(file)
    }
}

/// The string ids of an index in order.
#[derive(Debug)]
pub(crate) struct SortedStrings<'a>(DictionaryIds<'a>);

impl SortedStrings<'_> {
    /// Returns the next id with its slot, valid until the following id is read.
    ///
    /// # Errors
    /// A damaged page.
    pub(crate) fn next(&mut self) -> Result<Option<(u64, &[u8])>> {
        Ok(self.0.next()?)
    }
}

/// The ids of a fingerprint, in order. Created by [`Index::ids`](super::Index::ids) and
/// [`Index::ids_of`](super::Index::ids_of).
///
/// The iterator returns owned ids, which allocates for a string; [`Ids::read`] lends each id instead. An error, for a
/// damaged page of ids, is the last item.
///
/// ```
/// # use simidx::{BuildOptions, IndexBuilder, Width};
/// use simidx::{IdKind, Index};
///
/// let mut options = BuildOptions::default();
/// options.ids = IdKind::Number;
/// let mut builder = IndexBuilder::new(Width::W64, options)?;
/// builder.push_with_id(0xff_u64, 1)?;
/// builder.push_with_id(0xff_u64, 2)?;
/// let mut file = Vec::new();
/// builder.finish(&mut file)?;
///
/// let index = Index::<u64>::from_bytes(file)?;
/// let ids = index.ids_of(0xff)?;
/// assert_eq!(ids.len(), 2);
/// let texts: Vec<String> = ids.map(|id| Ok(id?.to_string())).collect::<simidx::Result<_>>()?;
/// assert_eq!(texts, ["1", "2"]);
/// # Ok::<(), simidx::Error>(())
/// ```
#[derive(Debug, Clone)]
pub struct Ids<'a> {
    /// Absent if there are no ids.
    source: Option<(&'a IdSections, &'a [u8])>,
    next: u64,
    end: u64,
    /// The last string read.
    buffer: IdBuffer,
}

impl Ids<'_> {
    /// Creates an empty list.
    pub(super) fn none() -> Self {
        Ids {
            source: None,
            next: 0,
            end: 0,
            buffer: IdBuffer::default(),
        }
    }

    /// Uses a buffer for strings, so that none has to be allocated; [`Ids::into_buffer`] returns it.
    #[doc(hidden)]
    pub fn with_buffer(mut self, buffer: IdBuffer) -> Self {
        self.buffer = buffer;
        self
    }

    /// Returns the buffer for strings.
    #[doc(hidden)]
    pub fn into_buffer(self) -> IdBuffer {
        self.buffer
    }

    /// Returns the number of remaining ids, without reading them.
    pub fn len(&self) -> u64 {
        self.end - self.next
    }

    /// Whether no ids are left.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// Returns the next id, valid until the following one is read. Allocates nothing if the buffer is large enough.
    ///
    /// ```
    /// # use simidx::{BuildOptions, IdKind, Index, IndexBuilder, Width};
    /// # let mut options = BuildOptions::default();
    /// # options.ids = IdKind::String;
    /// # let mut builder = IndexBuilder::new(Width::W64, options)?;
    /// # builder.push_with_id(0xff_u64, "a")?;
    /// # let mut file = Vec::new();
    /// # builder.finish(&mut file)?;
    /// # let index = Index::<u64>::from_bytes(file)?;
    /// for found in index.query(0xfe, 1)? {
    ///     let mut ids = index.ids(&found)?;
    ///     while let Some(id) = ids.read()? {
    ///         println!("{id}");
    ///     }
    /// }
    /// # Ok::<(), simidx::Error>(())
    /// ```
    ///
    /// # Errors
    /// A damaged page. The iteration ends there.
    pub fn read(&mut self) -> Result<Option<Id<'_>>> {
        Ok(self.read_next()?)
    }

    /// Skips the next ids as long as their keys satisfy a condition, see [`Index::all_keys`](super::Index::all_keys).
    ///
    /// # Errors
    /// A damaged page. The iteration ends there.
    pub(crate) fn skip_while(&mut self, holds: impl Fn(u64) -> bool) -> Result<()> {
        while let Some((sections, file)) = self.source.filter(|_| self.next < self.end) {
            match sections.key(file, self.next) {
                Ok(key) if holds(key) => self.next += 1,
                Ok(_) => break,
                Err(error) => {
                    self.next = self.end;
                    return Err(error.into());
                }
            }
        }
        Ok(())
    }

    pub(super) fn read_next(&mut self) -> Result<Option<Id<'_>>, FormatError> {
        let Some((sections, file)) = self.source.filter(|_| self.next < self.end) else {
            return Ok(None);
        };
        let index = self.next;
        self.next += 1;
        match sections.read(file, index, &mut self.buffer) {
            Ok(id) => Ok(Some(id)),
            Err(error) => {
                self.next = self.end;
                Err(error)
            }
        }
    }
}

impl Iterator for Ids<'_> {
    type Item = Result<IdBuf>;

    #[inline]
    fn next(&mut self) -> Option<Result<IdBuf>> {
        let next = self.read().transpose()?;
        Some(next.map(IdBuf::from))
    }

    fn size_hint(&self) -> (usize, Option<usize>) {
        match usize::try_from(self.len()) {
            // An error replaces all remaining ids.
            Ok(len) => (len.min(1), Some(len)),
            Err(_) => (1, None),
        }
    }
}

impl FusedIterator for Ids<'_> {}
