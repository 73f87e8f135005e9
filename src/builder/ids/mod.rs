//! Keeps the ids of all records in rank order while the tables are written, then writes them (spec, section 9).

mod groups;
mod strings;

use std::io;

use super::sections::{PagedSection, SectionWriter};
use crate::codec::bits::{BitWriter, bit_length};
use crate::codec::strings::StringCode;
use crate::error::Result;
use crate::extsort::{Numbered, Sorted, Sorter, Spool, TempSpace, ValueSpace};
use crate::fingerprint::Fingerprint;
use crate::format::{ContentId, IdKind, ItemDigest, Kind, index_bits};
use crate::watch::Reporter;
use groups::GroupBitmap;

/// Bytes of a number in a spool.
const NUMBER_LEN: usize = 8;

/// The parameters of the ids in the directory.
#[derive(Debug, Clone, Copy, Default)]
pub(super) struct IdParameters {
    pub(super) base: u64,
    pub(super) bits: u32,
}

/// Ids in rank order.
#[derive(Debug)]
pub(crate) struct IdSpool {
    kind: IdKind,
    /// Whether the file stores the order of the ids.
    with_order: bool,
    groups: GroupBitmap,
    numbers: Spool,
    least: u64,
    most: u64,
    /// Each string, preceded by its length in two bytes.
    strings: Spool,
    content_id: ContentId,
}

impl IdSpool {
    /// Creates an empty spool.
    pub(crate) fn new(kind: IdKind, with_order: bool, temp: &TempSpace) -> Self {
        IdSpool {
            kind,
            with_order,
            groups: GroupBitmap::new(temp),
            numbers: temp.spool(),
            least: u64::MAX,
            most: 0,
            strings: temp.spool(),
            content_id: ContentId::default(),
        }
    }

    fn record_count(&self) -> u64 {
        self.groups.record_count()
    }

    /// Returns the content id of all records so far.
    pub(super) fn content_id(&self) -> ContentId {
        self.content_id
    }

    /// Appends the id of a record by its bytes, those of a number with the most significant first; does nothing if there
    /// are no ids. `is_first` is true for the first id of its fingerprint.
    pub(crate) fn push<F: Fingerprint>(
        &mut self,
        fingerprint: F,
        is_first: bool,
        id: &[u8],
    ) -> io::Result<()> {
        let mut digest = ItemDigest::new(fingerprint);
        match self.kind {
            IdKind::None => return Ok(()),
            IdKind::Number => {
                let id = u64::from_be_bytes(id.try_into().expect("a number has eight bytes"));
                digest.add_word(id);
                self.least = self.least.min(id);
                self.most = self.most.max(id);
                self.numbers.write(&id.to_le_bytes())?;
            }
            IdKind::String => {
                digest.add_string(id);
                self.strings.write(&(id.len() as u16).to_le_bytes())?;
                self.strings.write(id)?;
            }
        }
        self.content_id.add(digest.finish());
        self.groups.push(is_first)
    }

    /// Writes all id sections except the code of the strings, which is returned if there is one.
    pub(super) fn write(
        mut self,
        file: &mut SectionWriter<'_>,
        space: &ValueSpace,
        reporter: &mut Reporter,
    ) -> Result<(IdParameters, Option<StringCode>)> {
        self.groups.write(file, &space.temp)?;
        if self.kind == IdKind::String {
            let order = self.with_order;
            let (parameters, code) = strings::write(
                &mut self.strings,
                self.groups.record_count(),
                order,
                file,
                space,
                reporter,
            )?;
            return Ok((parameters, Some(code)));
        }
        Ok((self.write_numbers(file, space, reporter)?, None))
    }

    fn write_numbers(
        &mut self,
        file: &mut SectionWriter<'_>,
        space: &ValueSpace,
        reporter: &mut Reporter,
    ) -> Result<IdParameters> {
        let base = self.least.min(self.most);
        let bits = bit_length(self.most - base);
        let count = self.record_count();
        let mut section = PackedSection::begin(file, Kind::NUMBERS, count, bits, &space.temp)?;
        let mut sorter = Sorter::<Vec<Numbered<u64>>>::new(space.temp.clone(), space.sort_budget);
        let mut index = 0;
        self.numbers.read::<crate::Error>(NUMBER_LEN, |piece| {
            for number in piece.chunks_exact(NUMBER_LEN) {
                let id = u64::from_le_bytes(number.try_into().expect("the chunk has eight bytes"));
                section.push(id - base)?;
                if self.with_order {
                    sorter.add(|ids| {
                        ids.push(Numbered {
                            fingerprint: id,
                            id: index,
                        })
                    })?;
                    index += 1;
                }
            }
            reporter.advance((piece.len() / NUMBER_LEN) as u64)?;
            Ok(())
        })?;
        section.end()?;
        if self.with_order {
            let bits = index_bits(count);
            let mut section = PackedSection::begin(file, Kind::ID_ORDER, count, bits, &space.temp)?;
            for_each_sorted(sorter.finish()?, |_, index| section.push(index))?;
            section.end()?;
        }
        Ok(IdParameters { base, bits })
    }
}

/// Calls `take` with sorted pairs of numbers.
fn for_each_sorted(
    sorted: Sorted<Vec<Numbered<u64>>>,
    mut take: impl FnMut(u64, u64) -> io::Result<()>,
) -> Result<()> {
    sorted.for_each_round(|pairs| {
        let mut pairs = pairs.iter();
        Ok(pairs.try_for_each(|pair| take(pair.fingerprint, pair.id))?)
    })
}

/// A paged section that is a packed array (spec, section 3.3).
struct PackedSection<'w, 'a> {
    section: PagedSection<'w, 'a>,
    bits: u32,
    writer: BitWriter,
    waiting: usize,
}

impl<'w, 'a> PackedSection<'w, 'a> {
    /// Numbers that are written together.
    const PIECE_COUNT: usize = 1 << 12;

    /// Starts an array of `count` numbers of `bits` bits.
    fn begin(
        file: &'w mut SectionWriter<'a>,
        kind: Kind,
        count: u64,
        bits: u32,
        temp: &TempSpace,
    ) -> io::Result<Self> {
        let payload_len = (count * u64::from(bits)).div_ceil(8);
        Ok(PackedSection {
            section: file.begin_paged(kind, 0, payload_len, temp)?,
            bits,
            writer: BitWriter::new(),
            waiting: 0,
        })
    }

    fn push(&mut self, number: u64) -> io::Result<()> {
        self.writer.write_value(number, self.bits);
        self.waiting += 1;
        if self.waiting < Self::PIECE_COUNT {
            return Ok(());
        }
        self.waiting = 0;
        let section = &mut self.section;
        self.writer.drain(|bytes| section.write(bytes))
    }

    fn end(mut self) -> io::Result<()> {
        self.section.write(&self.writer.finish())?;
        self.section.end()
    }
}
