//! Writes string ids as a compressed sorted dictionary and the place of each id in it (spec, section 9.4).

use super::{IdParameters, PackedSection, for_each_sorted};
use crate::builder::sections::SectionWriter;
use crate::codec::bits::bit_length;
use crate::codec::strings::{BUCKET_LEN, BucketWriter, SAMPLE_BUCKETS, StringCode};
use crate::error::Result;
use crate::extsort::{IndexedStrings, Numbered, Prefix, Sorted, Sorter, Spool, ValueSpace};
use crate::format::{Kind, index_bits};
use crate::watch::{Reporter, Stage};

/// The most bytes of ids, approximately, that the code is trained on. Very long ids are fewer.
const SAMPLE_LEN: usize = 8 << 20;

/// Writes the sections of the ids in `strings`, which are in rank order, each preceded by its length in two bytes.
pub(super) fn write(
    strings: &mut Spool,
    count: u64,
    with_order: bool,
    file: &mut SectionWriter<'_>,
    space: &ValueSpace,
    reporter: &mut Reporter,
) -> Result<(IdParameters, StringCode)> {
    reporter.begin(Stage::SortIds, count)?;
    let sorted = sort(strings, space, reporter)?;
    let mut dictionary = collect(sorted, count, space)?;
    reporter.begin(Stage::WriteIds, count)?;
    let code = StringCode::train(dictionary.sample.iter());
    let mut places = dictionary.places(space)?;
    let mut buckets = encode(&mut dictionary.strings, &code, space, reporter)?;
    let bits = index_bits(count);
    let mut section = PackedSection::begin(file, Kind::PLACES, count, bits, &space.temp)?;
    for_each_number(&mut places, |place| section.push(place))?;
    section.end()?;
    let id_bits = bit_length(buckets.bytes.len());
    let offsets = count.div_ceil(BUCKET_LEN as u64);
    let mut section =
        PackedSection::begin(file, Kind::BUCKET_OFFSETS, offsets, id_bits, &space.temp)?;
    for_each_number(&mut buckets.offsets, |offset| section.push(offset))?;
    section.end()?;
    let mut section = file.begin_paged(Kind::BUCKETS, 0, buckets.bytes.len(), &space.temp)?;
    buckets.bytes.read(1, |bytes| section.write(bytes))?;
    section.end()?;
    if with_order {
        let mut section = PackedSection::begin(file, Kind::ID_ORDER, count, bits, &space.temp)?;
        for_each_number(&mut dictionary.indexes, |index| section.push(index))?;
        section.end()?;
    }
    let parameters = IdParameters {
        base: 0,
        bits: id_bits,
    };
    Ok((parameters, code))
}

/// Sorts ids by their bytes, and equal ones by their index in rank order.
fn sort(
    strings: &mut Spool,
    space: &ValueSpace,
    reporter: &mut Reporter,
) -> Result<Sorted<IndexedStrings>> {
    let mut sorter = Sorter::<IndexedStrings>::new(space.temp.clone(), space.sort_budget / 2);
    let mut index = 0;
    for_each_id(strings, reporter, |id| {
        sorter.add(|ids| ids.push(Prefix::default(), [id, b""], index))?;
        index += 1;
        Ok(())
    })?;
    sorter.finish()
}

/// Calls `take` with each id of a spool, in which it is preceded by its length in two bytes.
fn for_each_id(
    strings: &mut Spool,
    reporter: &mut Reporter,
    mut take: impl FnMut(&[u8]) -> Result<()>,
) -> Result<()> {
    let mut waiting = Vec::new();
    strings.read(1, |piece| {
        let mut rest = if waiting.is_empty() {
            piece
        } else {
            waiting.extend_from_slice(piece);
            &waiting
        };
        let mut count = 0;
        while let Some((id, after)) = split_id(rest) {
            take(id)?;
            count += 1;
            rest = after;
        }
        waiting = rest.to_vec();
        reporter.advance(count)?;
        Ok(())
    })
}

/// Splits off the first id, which is preceded by its length. Returns the id and the rest; `None` if the id is not
/// complete.
fn split_id(bytes: &[u8]) -> Option<(&[u8], &[u8])> {
    let (len, rest) = bytes.split_first_chunk::<2>()?;
    rest.split_at_checked(usize::from(u16::from_le_bytes(*len)))
}

/// The ids in sorted order.
struct Dictionary {
    /// Each id, preceded by its length in two bytes.
    strings: Spool,
    /// The index in rank order of each id, in eight bytes.
    indexes: Spool,
    sample: Sample,
}

/// Whole buckets of ids from all over the dictionary.
#[derive(Debug, Default)]
struct Sample {
    bytes: Vec<u8>,
    ends: Vec<usize>,
}

impl Sample {
    fn push(&mut self, id: &[u8]) {
        self.bytes.extend_from_slice(id);
        self.ends.push(self.bytes.len());
    }

    fn iter(&self) -> impl Iterator<Item = &[u8]> + Clone {
        let starts = std::iter::once(0).chain(self.ends.iter().copied());
        let ranges = starts.zip(&self.ends);
        ranges.map(|(start, &end)| &self.bytes[start..end])
    }
}

/// Keeps sorted ids and chooses the sample by position alone, so that it does not depend on the memory.
fn collect(sorted: Sorted<IndexedStrings>, count: u64, space: &ValueSpace) -> Result<Dictionary> {
    let mut dictionary = Dictionary {
        strings: space.temp.spool(),
        indexes: space.temp.spool(),
        sample: Sample::default(),
    };
    let bucket_count = count.div_ceil(BUCKET_LEN as u64);
    let stride = bucket_count.div_ceil(SAMPLE_BUCKETS as u64).max(1);
    let (mut place, mut is_sampled) = (0, false);
    let mut take = |_, [id, _]: [&[u8]; 2], index: u64| -> Result<()> {
        if place % BUCKET_LEN as u64 == 0 {
            let bucket = place / BUCKET_LEN as u64;
            let has_room = dictionary.sample.bytes.len() < SAMPLE_LEN;
            is_sampled = bucket.is_multiple_of(stride) && has_room;
        }
        if is_sampled {
            dictionary.sample.push(id);
        }
        place += 1;
        dictionary.strings.write(&(id.len() as u16).to_le_bytes())?;
        dictionary.strings.write(id)?;
        Ok(dictionary.indexes.write(&index.to_le_bytes())?)
    };
    sorted.for_each_round(|ids| ids.for_each(&mut take))?;
    Ok(dictionary)
}

impl Dictionary {
    /// Returns the place of each id, in rank order, in eight bytes.
    fn places(&mut self, space: &ValueSpace) -> Result<Spool> {
        let mut sorter = Sorter::<Vec<Numbered<u64>>>::new(space.temp.clone(), space.sort_budget);
        let mut place = 0;
        self.indexes.read::<crate::Error>(8, |indexes| {
            for &index in indexes.as_chunks::<8>().0 {
                let fingerprint = u64::from_le_bytes(index);
                sorter.add(|pairs| {
                    pairs.push(Numbered {
                        fingerprint,
                        id: place,
                    })
                })?;
                place += 1;
            }
            Ok(())
        })?;
        let mut places = space.temp.spool();
        for_each_sorted(sorter.finish()?, |_, place| {
            places.write(&place.to_le_bytes())
        })?;
        Ok(places)
    }
}

/// The buckets of a dictionary.
struct Buckets {
    bytes: Spool,
    /// The start of each bucket, in eight bytes.
    offsets: Spool,
}

/// Compresses the ids of a dictionary.
fn encode(
    strings: &mut Spool,
    code: &StringCode,
    space: &ValueSpace,
    reporter: &mut Reporter,
) -> Result<Buckets> {
    let mut buckets = Buckets {
        bytes: space.temp.spool(),
        offsets: space.temp.spool(),
    };
    let mut writer = BucketWriter::new(code);
    for_each_id(strings, reporter, |id| match writer.push(id) {
        Some(bucket) => buckets.push(bucket),
        None => Ok(()),
    })?;
    if let Some(bucket) = writer.finish() {
        buckets.push(bucket)?;
    }
    Ok(buckets)
}

impl Buckets {
    fn push(&mut self, bucket: &[u8]) -> Result<()> {
        let offset = self.bytes.len();
        self.offsets.write(&offset.to_le_bytes())?;
        Ok(self.bytes.write(bucket)?)
    }
}

/// Calls `take` with numbers of eight bytes.
fn for_each_number(
    numbers: &mut Spool,
    mut take: impl FnMut(u64) -> std::io::Result<()>,
) -> Result<()> {
    numbers.read::<crate::Error>(8, |piece| {
        let mut numbers = piece.as_chunks::<8>().0.iter();
        Ok(numbers.try_for_each(|&number| take(u64::from_le_bytes(number)))?)
    })
}
