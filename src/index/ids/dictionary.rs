//! String ids: a compressed sorted dictionary, and the place of each id in it (spec, section 9.4).

use std::cmp::Ordering;
use std::ops::Range;

use crate::bit_set::BitSet;
use crate::codec::strings::{
    BUCKET_LEN, Bucket, BucketReader, GROUP_LEN, StringBuffer, StringCode, StringFault,
};
use crate::cpu::prefetch;
use crate::error::FormatError;
use crate::format::index_bits;
use crate::index::paged::Paged;

/// Ids of a bucket.
const IDS_PER_BUCKET: u64 = BUCKET_LEN as u64;

/// Buckets in a group; their first strings are coded relative to that of the first bucket.
const BUCKETS_PER_GROUP: u64 = GROUP_LEN as u64;

/// A buffer in which string ids are decoded. Reuse one for several [`Ids`](crate::index::Ids) to avoid an allocation
/// for each.
#[derive(Debug, Clone, Default)]
pub struct IdBuffer {
    /// The first id of a group of buckets.
    reference: StringBuffer,
    id: StringBuffer,
}

impl IdBuffer {
    /// Returns the last id read.
    pub(super) fn as_bytes(&self) -> &[u8] {
        self.id.as_bytes()
    }
}

/// The sections of string ids.
#[derive(Debug)]
pub(super) struct Dictionary {
    pub(super) code: StringCode,
    pub(super) places: Paged,
    pub(super) offsets: Paged,
    pub(super) offset_bits: u32,
    pub(super) buckets: Paged,
    pub(super) record_count: u64,
}

impl Dictionary {
    /// Returns the sections with page checksums.
    pub(super) fn paged_sections(&self) -> [&Paged; 3] {
        [&self.places, &self.offsets, &self.buckets]
    }

    /// Returns the place of an id in the order of all ids.
    #[inline]
    pub(super) fn place(&self, file: &[u8], index: u64) -> Result<u64, FormatError> {
        let place = self.places.packed(file, index, self.place_bits())?;
        if place < self.record_count {
            return Ok(place);
        }
        Err(self.places.damaged(37, "there is no such place"))
    }

    fn place_bits(&self) -> u32 {
        index_bits(self.record_count)
    }

    fn bucket_count(&self) -> u64 {
        self.record_count.div_ceil(IDS_PER_BUCKET)
    }

    /// Returns the bytes of a bucket, which must exist.
    fn bucket_bytes<'a>(&self, file: &'a [u8], number: u64) -> Result<&'a [u8], FormatError> {
        let payload_len = self.buckets.len();
        let wrong = || {
            let message = "an offset does not point to its bucket";
            self.offsets.damaged(32, message)
        };
        let offset = |number| -> Result<usize, FormatError> {
            if number == self.bucket_count() {
                return Ok(payload_len);
            }
            let offset = self.offsets.packed(file, number, self.offset_bits)?;
            usize::try_from(offset).map_err(|_| wrong())
        };
        let (start, end) = (offset(number)?, offset(number + 1)?);
        if start >= end || end > payload_len || (start == 0) != (number == 0) {
            return Err(wrong());
        }
        self.buckets.bytes(file, start..end)
    }

    /// Returns a bucket whose first id is coded relative to `reference`, which is empty for the first bucket of a
    /// group.
    fn bucket<'a>(
        &'a self,
        file: &'a [u8],
        number: u64,
        reference: &'a [u8],
    ) -> Result<Bucket<'a>, FormatError> {
        let bytes = self.bucket_bytes(file, number)?;
        let left = self.record_count - number * IDS_PER_BUCKET;
        let count = left.min(IDS_PER_BUCKET) as usize;
        Ok(Bucket::new(&self.code, bytes, count, reference))
    }

    /// Reads the first id of a group of buckets.
    fn first_of_group(
        &self,
        file: &[u8],
        group: u64,
        id: &mut StringBuffer,
    ) -> Result<(), FormatError> {
        let bucket = self.bucket(file, group * BUCKETS_PER_GROUP, &[])?;
        bucket.nth(0, id).map_err(|fault| self.fault(fault))
    }

    /// Reads the id at a place, which must be less than the number of records.
    pub(super) fn read<'b>(
        &self,
        file: &[u8],
        place: u64,
        buffer: &'b mut IdBuffer,
    ) -> Result<&'b str, FormatError> {
        let number = place / IDS_PER_BUCKET;
        // Prefetched while the first id of the group is read.
        prefetch(self.bucket_bytes(file, number)?, 0);
        let mut reference: &[u8] = &[];
        if !number.is_multiple_of(BUCKETS_PER_GROUP) {
            let group = number / BUCKETS_PER_GROUP;
            self.first_of_group(file, group, &mut buffer.reference)?;
            reference = buffer.reference.as_bytes();
        }
        let index = (place % IDS_PER_BUCKET) as usize;
        let bucket = self.bucket(file, number, reference)?;
        let read = bucket.nth(index, &mut buffer.id);
        read.map_err(|fault| self.fault(fault))?;
        self.text(buffer.id.as_bytes())
    }

    /// Returns an id as text.
    pub(super) fn text<'b>(&self, id: &'b [u8]) -> Result<&'b str, FormatError> {
        std::str::from_utf8(id).map_err(|_| self.fault(StringFault::Utf8))
    }

    /// Returns the places of an id; empty if no record has it.
    pub(super) fn find(&self, file: &[u8], wanted: &[u8]) -> Result<Range<u64>, FormatError> {
        let mut buffer = IdBuffer::default();
        let group_count = self.bucket_count().div_ceil(BUCKETS_PER_GROUP);
        let group = first_not_less(0..group_count, |group| {
            let bucket = self.bucket(file, group * BUCKETS_PER_GROUP, &[])?;
            let is_less = bucket.first_is_less(wanted, &mut buffer.id);
            is_less.map_err(|fault| self.fault(fault))
        })?;
        // Unless the id is at the start of this group, it is in the one before.
        let group = group.saturating_sub(1);
        if group_count > 0 {
            self.first_of_group(file, group, &mut buffer.reference)?;
        }
        let buckets = group * BUCKETS_PER_GROUP + 1..(group + 1) * BUCKETS_PER_GROUP;
        let buckets = buckets.start..buckets.end.min(self.bucket_count());
        let bucket = first_not_less(buckets, |number| {
            let bucket = self.bucket(file, number, buffer.reference.as_bytes())?;
            let is_less = bucket.first_is_less(wanted, &mut buffer.id);
            is_less.map_err(|fault| self.fault(fault))
        })?;
        let mut found = 0..0;
        let mut ids = DictionaryIds {
            picker: DictionaryPicker {
                group: Some(group),
                buffer,
                ..DictionaryPicker::new(self, file)
            },
            place: bucket.saturating_sub(1) * IDS_PER_BUCKET,
        };
        while let Some((place, id)) = ids.next()? {
            match id.cmp(wanted) {
                Ordering::Less => {}
                Ordering::Equal if found.is_empty() => found = place..place + 1,
                Ordering::Equal => found.end = place + 1,
                Ordering::Greater => break,
            }
        }
        Ok(found)
    }

    /// Checks the offsets, and all buckets with the order of the ids (V31, V32, V38). Returns which ids equal the one
    /// before.
    pub(super) fn check(&self, file: &[u8]) -> Result<Repeats, FormatError> {
        let (mut last, mut buffer) = (Vec::new(), IdBuffer::default());
        let (mut repeats, mut place) = (Repeats::default(), 0);
        if self.bucket_count() == 0 && self.buckets.len() > 0 {
            return Err(self.buckets.damaged(32, "there are bytes and no buckets"));
        }
        for number in 0..self.bucket_count() {
            if number.is_multiple_of(BUCKETS_PER_GROUP) {
                let group = number / BUCKETS_PER_GROUP;
                self.first_of_group(file, group, &mut buffer.reference)?;
            }
            let reference = match number.is_multiple_of(BUCKETS_PER_GROUP) {
                true => &[],
                false => buffer.reference.as_bytes(),
            };
            let bucket = self.bucket(file, number, reference)?;
            let checked = bucket.check(&mut last, &mut buffer.id, |is_equal| {
                // The first of all ids has none before it.
                if is_equal && place > 0 {
                    repeats.0.insert(place);
                }
                place += 1;
            });
            checked.map_err(|fault| self.fault(fault))?;
        }
        Ok(repeats)
    }

    /// Checks that the places are those of a permutation (V37).
    pub(super) fn check_places(&self, file: &[u8]) -> Result<(), FormatError> {
        let mut seen = BitSet::default();
        for index in 0..self.record_count {
            let place = self.place(file, index)?;
            if seen.contains(place) {
                return Err(self.places.damaged(37, "two ids have the same place"));
            }
            seen.insert(place);
        }
        Ok(())
    }

    /// Checks the order of the indexes of equal ids (V38); the places must be those of a permutation.
    pub(super) fn check_repeats(&self, file: &[u8], repeats: &Repeats) -> Result<(), FormatError> {
        let mut seen = BitSet::default();
        for index in 0..self.record_count {
            let place = self.place(file, index)?;
            // The previous id, which is equal, must have a smaller index.
            if repeats.0.contains(place) && !seen.contains(place - 1) {
                return Err(self.places.damaged(38, "the indexes of equal ids descend"));
            }
            seen.insert(place);
        }
        Ok(())
    }

    /// Checks that the bits after the packed arrays are zero (V34).
    pub(super) fn check_spare_bits(&self, file: &[u8]) -> Result<(), FormatError> {
        let places = (self.record_count, self.place_bits());
        self.places.check_spare_bits(file, places.0, places.1)?;
        let offsets = (self.bucket_count(), self.offset_bits);
        self.offsets.check_spare_bits(file, offsets.0, offsets.1)
    }

    #[cold]
    fn fault(&self, fault: StringFault) -> FormatError {
        let rule = match fault {
            StringFault::Order => 38,
            _ => 31,
        };
        self.buckets.damaged(rule, &fault.to_string())
    }
}

/// Returns the first number of a range that is not less than wanted; the end if all are less.
fn first_not_less(
    range: Range<u64>,
    mut is_less: impl FnMut(u64) -> Result<bool, FormatError>,
) -> Result<u64, FormatError> {
    let Range { mut start, mut end } = range;
    while start < end {
        let middle = start + (end - start) / 2;
        match is_less(middle)? {
            true => start = middle + 1,
            false => end = middle,
        }
    }
    Ok(end)
}

/// The places of ids that equal the one before. All are below the number of records, and if there are several, the file
/// has about a bit for each.
#[derive(Debug, Default)]
pub(in crate::index) struct Repeats(BitSet);

/// Reads ids at ascending places, each bucket at most once.
#[derive(Debug)]
pub(super) struct DictionaryPicker<'a> {
    dictionary: &'a Dictionary,
    file: &'a [u8],
    /// The bucket that is being read.
    bucket: Option<(u64, BucketReader<'a>)>,
    /// The place after that of the id in the buffer.
    next: u64,
    /// The group of buckets whose first id is the reference in the buffer.
    group: Option<u64>,
    buffer: IdBuffer,
}

impl<'a> DictionaryPicker<'a> {
    pub(super) fn new(dictionary: &'a Dictionary, file: &'a [u8]) -> Self {
        DictionaryPicker {
            dictionary,
            file,
            bucket: None,
            next: 0,
            group: None,
            buffer: IdBuffer::default(),
        }
    }

    /// Returns the id at a place, which must be less than the number of records and not less than the last place.
    pub(super) fn pick(&mut self, place: u64) -> Result<&[u8], FormatError> {
        let dictionary = self.dictionary;
        let number = place / IDS_PER_BUCKET;
        if self.bucket.as_ref().is_none_or(|(open, _)| *open != number) {
            self.begin_bucket(number)?;
        }
        debug_assert!(place + 1 >= self.next);
        if let Some((_, reader)) = &mut self.bucket {
            while self.next <= place {
                let next = reader.next(&mut self.buffer.id);
                next.map_err(|fault| dictionary.fault(fault))?;
                self.next += 1;
            }
        }
        Ok(self.buffer.id.as_bytes())
    }

    fn begin_bucket(&mut self, number: u64) -> Result<(), FormatError> {
        let dictionary = self.dictionary;
        let mut reference: &[u8] = &[];
        if !number.is_multiple_of(BUCKETS_PER_GROUP) {
            let group = number / BUCKETS_PER_GROUP;
            if self.group != Some(group) {
                dictionary.first_of_group(self.file, group, &mut self.buffer.reference)?;
                self.group = Some(group);
            }
            reference = self.buffer.reference.as_bytes();
        }
        let bucket = dictionary.bucket(self.file, number, &[])?;
        let reader = bucket.reader(&mut self.buffer.id);
        // The first id is coded relative to the reference, which is copied and not kept.
        self.buffer.id.set(reference);
        self.bucket = Some((number, reader));
        self.next = number * IDS_PER_BUCKET;
        Ok(())
    }
}

/// The ids of a dictionary in their order.
#[derive(Debug)]
pub(super) struct DictionaryIds<'a> {
    picker: DictionaryPicker<'a>,
    /// The place of the next id.
    place: u64,
}

impl<'a> DictionaryIds<'a> {
    /// Starts at the first id.
    pub(super) fn new(dictionary: &'a Dictionary, file: &'a [u8]) -> Self {
        DictionaryIds {
            picker: DictionaryPicker::new(dictionary, file),
            place: 0,
        }
    }

    /// Returns the next id with its place, valid until the following id is read.
    pub(super) fn next(&mut self) -> Result<Option<(u64, &[u8])>, FormatError> {
        let place = self.place;
        if place == self.picker.dictionary.record_count {
            return Ok(None);
        }
        self.place += 1;
        Ok(Some((place, self.picker.pick(place)?)))
    }
}
