//! Tables in lines: V9, V12, V14, V15, V24, V28, V34 to V36, V44 to V47.

use simidx_testkit::encoding::{LINE_PAGES, LOW_BITS};
use simidx_testkit::lines::{
    self, LINE_LEN, bits_of_field, field, field_of, flip_bit, line_at, line_of, put_field,
};

use super::*;

/// Two tables of two lines, whose values have 55 low bits.
const LINES: &str = "lines-64";
const WITH_NUMBERS: &str = "lines-64-numbers";
/// Line 1 is crowded, lines 6 and 7 have no values.
const CROWDED: &str = "lines-crowded";
/// Lines 4 to 6 have no bits below their addresses.
const DENSE: &str = "lines-dense";
/// The first lines are crowded, and their finer lines are the lines from 32.
const LONG: &str = "lines-4101";
/// Two tables with bits after their low bits.
const SPARE: &str = "lines-spare-bits";

/// Adds to a field of a line.
fn add(e: &mut Editor, place: (usize, usize), field: field::Field, more: u128) {
    let value = field_of(line_of(e, place.0, place.1), field) + more;
    put_field(e, place, field, value);
}

/// Writes a field of the table record 0 that has the number of lines or of address bits.
fn put_in_record(e: &mut Editor, (at, len): field::Field, value: u128) {
    let at = e.layout.tables[0].record_at + at;
    e.put_number(at, value, len);
}

/// The first of the marks.
const FIRST_MARKS: field::Field = (5, 8);

const LINE_COUNT: field::Field = (0, 8);
const ADDRESS_BITS: field::Field = (9, 1);

/// V9, V12 and V14.
#[rustfmt::skip]
pub(super) fn records() -> Vec<Forgery> {
    vec![
        edit(9, "reserved-in-table-in-lines", Open, LINES, "the first reserved byte of a record of a table in lines is 1",
            |e| put_in_record(e, (10, 1), 1)),
        edit(12, "lines", Open, LINES, "codec lines, and symbol 0 of table 0 has code length 1", |e| put_lengths(e, 0, &[1])),
        edit(14, "address-bits-7", Open, LINES, "address_bits 7", |e| put_in_record(e, ADDRESS_BITS, 7)),
        edit(14, "address-bits-33", Open, "lines-32", "address_bits 33 of 32 bits", |e| put_in_record(e, ADDRESS_BITS, 33)),
        edit(14, "address-bits-49", Open, LINES, "address_bits 49", |e| put_in_record(e, ADDRESS_BITS, 49)),
        edit(14, "too-many-address-bits", Open, LINES, "address_bits 10 and 2 lines", |e| put_in_record(e, ADDRESS_BITS, 10)),
        edit(14, "no-line", Open, "lines-empty", "table 0 has no line", |e| put_in_record(e, LINE_COUNT, 0)),
        edit(14, "too-few-lines", Open, LINES, "one more fingerprint than 256 for each line", |e| put_counts(e, 513, 513)),
        edit(14, "too-many-values", Open, LINES, "2^39 fingerprints, in 2^31 lines", |e| {
            put_in_record(e, LINE_COUNT, 1 << 31);
            put_counts(e, 1 << 39, 1 << 39);
        }),
    ]
}

/// Returns the file with its sections at the places that they would have with `count` fingerprints.
fn with_places_of(e: &Editor, count: u128) -> Vec<u8> {
    let mut parts = Parts::of(&e.file);
    let of_file = parts.field(directory::FINGERPRINT_COUNT);
    parts.put(directory::FINGERPRINT_COUNT, count);
    let mut e = Editor::new(parts.file());
    e.put_directory(directory::FINGERPRINT_COUNT, of_file);
    e.finish()
}

/// V15.
#[rustfmt::skip]
pub(super) fn sections() -> Vec<Forgery> {
    vec![
        edit(15, "lines-before-low-bits", Open, LINES, "the records of the low bits and of the lines of table 0 have changed places", |e| {
            let (a, b) = (e.section(LOW_BITS, 0).record_at, e.section(LINE_PAGES, 0).record_at);
            e.swap(a, b, 24);
        }),
        record(15, "table-of-lines", LINES, "the lines of table 1 say that they are of table 2", (LINE_PAGES, 1), Table, |_| 2),
        record(15, "checksum-of-lines", LINES, "the record of the lines has a checksum", (LINE_PAGES, 0), Checksum, |_| 1),
        record(15, "checksum-of-low-bits", LINES, "the record of the low bits has a checksum", (LOW_BITS, 1), Checksum, |_| 1),
        edit(15, "length-of-lines", Open, LINES, "one more line than the section has", |e| put_in_record(e, LINE_COUNT, 3)),
        edit(15, "most-lines", Open, LINES, "2^58 lines: their bytes pass a u64", |e| put_in_record(e, LINE_COUNT, 1 << 58)),
        record(15, "length-of-low-bits", LINES, "the low bits have 4 bytes: a page of no bytes",
            (LOW_BITS, 1), Length, |_| 4),
        parts(15, "a-byte-more-of-low-bits", Open, LINES, "a byte after the low bits of table 1",
            |parts| parts.section(LOW_BITS, 1).push(0)),
        parts(15, "a-byte-less-of-low-bits", Open, LINES, "the low bits of table 0 lack their last byte", |parts| {
            parts.section(LOW_BITS, 0).pop();
        }),
        parts(15, "low-bits-missing", Open, LINES, "table 1 has no low bits", |parts| parts.remove(LOW_BITS, 1)),
        parts(15, "block-counts-of-lines", Open, LINES, "block counts, and no table in blocks",
            |parts| parts.add(BLOCK_COUNTS, Vec::new())),
        parts(15, "key-entries-of-lines", Open, "blocks-and-lines", "key entries of table 1, which is in lines", |parts| {
            let place = parts.sections.iter().position(|s| s.kind == KEY_ENTRIES).unwrap();
            let mut section = parts.sections[place].clone();
            section.table = 1;
            parts.sections.insert(place + 1, section);
        }),
        raw(15, "lines-at-64-bytes", LONG, "lines and low bits at multiples of 64 bytes",
            |e| with_places_of(&e, 4100)),
        raw(15, "lines-at-4096-bytes", "lines-4100", "lines and low bits at multiples of 4,096 bytes",
            |e| with_places_of(&e, 4101)),
    ]
}

/// V28.
#[rustfmt::skip]
pub(super) fn pages() -> Vec<Forgery> {
    vec![
        edit(28, "lines", Query, LINES, "a bit of a line of table 1 flipped", |e| {
            let at = line_at(e, 1, 1);
            e.flip(at + 40, 1);
        }),
        edit(28, "low-bits", Query, LINES, "a bit of the low bits of table 1 flipped", |e| {
            let at = e.section(LOW_BITS, 1).offset;
            e.flip(at + 40, 1);
        }),
        edit(28, "low-bits-second-page", Query, LONG, "a bit of the second page of the low bits flipped", |e| {
            let at = e.section(LOW_BITS, 0).offset;
            e.flip(at + 5000, 1);
        }),
        edit(28, "lines-of-another-table", Query, LINES, "the lines of both tables have changed places, with their checksums", |e| {
            let (zero, one) = (e.section(LINE_PAGES, 0), e.section(LINE_PAGES, 1));
            e.swap(zero.offset, one.offset, zero.len);
        }),
    ]
}

/// The low bits of the value of a rank as places of bits in the section.
fn low_bits_of(e: &Editor, table: usize, rank: usize) -> std::ops::Range<usize> {
    let count = e.layout.width as usize - usize::from(e.layout.tables[table].address_bits);
    count * rank..count * (rank + 1)
}

/// Writes the low bits of the value of a rank, or bits after those of all.
fn put_low_bits(e: &mut Editor, table: usize, bits: std::ops::Range<usize>, to: &Bits) {
    let (at, len) = (
        e.section(LOW_BITS, table).offset,
        e.layout.payload_of(&e.file, LOW_BITS, table).len(),
    );
    let mut all = Bits::from_slice(&e.file[at..at + len]);
    all[bits].copy_from_bitslice(to);
    e.put(at, &encoding::filled(all));
    e.seal_pages_of(LOW_BITS, table);
}

fn get_low_bits(e: &Editor, table: usize, rank: usize) -> Bits {
    let all = Bits::from_slice(e.layout.payload_of(&e.file, LOW_BITS, table));
    all[low_bits_of(e, table, rank)].to_bitvec()
}

/// Exchanges the low bits of the values of two ranks.
fn swap_low_bits(e: &mut Editor, table: usize, one: usize, two: usize) {
    let (of_one, of_two) = (get_low_bits(e, table, one), get_low_bits(e, table, two));
    put_low_bits(e, table, low_bits_of(e, table, one), &of_two);
    put_low_bits(e, table, low_bits_of(e, table, two), &of_one);
}

/// Flips one of the low bits of the value of a rank, counted from the highest one.
fn flip_low_bit(e: &mut Editor, table: usize, rank: usize, bit: usize) {
    let mut bits = get_low_bits(e, table, rank);
    let is_set = bits[bit];
    bits.set(bit, !is_set);
    put_low_bits(e, table, low_bits_of(e, table, rank), &bits);
}

/// A value of line 0 that is not the last one of its address.
fn with_a_next(e: &Editor, table: usize) -> usize {
    let marks = bits_of_field(line_of(e, table, 0), field::MARKS);
    (0..).find(|value| !marks.contains(value)).unwrap()
}

/// The ranks of the first and the last value of a line of table 0.
fn ranks_of(e: &Editor, line: usize) -> (usize, usize) {
    let line = line_of(e, 0, line);
    let first = lines::rank_of(line) as usize;
    (
        first,
        first + bits_of_field(line, field::MARKS).last().unwrap(),
    )
}

/// V24.
#[rustfmt::skip]
pub(super) fn orders() -> Vec<Forgery> {
    vec![
        edit(24, "lines-equal", Query, LINES, "two values of an address have the same low bits", |e| {
            let value = with_a_next(e, 0);
            let bits = get_low_bits(e, 0, value);
            put_low_bits(e, 0, low_bits_of(e, 0, value + 1), &bits);
        }),
        edit(24, "lines-descending", Query, LINES, "two values of an address of table 1 have changed places", |e| {
            let value = with_a_next(e, 1);
            swap_low_bits(e, 1, value, value + 1);
        }),
        edit(24, "lines-of-two-addresses", Query, CROWDED, "the first and the last value of finer line 4 have changed places", |e| {
            let (first, last) = ranks_of(e, 4);
            swap_low_bits(e, 0, first, last);
        }),
    ]
}

/// V34 to V36.
#[rustfmt::skip]
pub(super) fn whole_tables() -> Vec<Forgery> {
    /// Flips the last of the low bits of the first value of table 1.
    fn put_another(e: &mut Editor) {
        let last = low_bits_of(e, 1, 0).len() - 1;
        flip_low_bit(e, 1, 0, last);
    }
    vec![
        edit(34, "after-low-bits", Verify, SPARE, "the first bit after the low bits of table 0", |e| {
            let end = low_bits_of(e, 0, 167).start;
            put_low_bits(e, 0, end..end + 1, &Bits::repeat(true, 1));
        }),
        edit(34, "after-low-bits-of-table-1", Verify, SPARE, "the last bit after the low bits of table 1", |e| {
            let end = 8 * e.layout.payload_of(&e.file, LOW_BITS, 1).len();
            put_low_bits(e, 1, end - 1..end, &Bits::repeat(true, 1));
        }),
        edit(35, "lines", Verify, LINES, "table 1 lacks its last value", |e| {
            let marks = bits_of_field(line_of(e, 1, 1), field::MARKS);
            let (before, last) = (marks[marks.len() - 2], marks[marks.len() - 1]);
            flip_bit(e, (1, 1), field::MARKS, last);
            if before + 1 < last {
                flip_bit(e, (1, 1), field::MARKS, last - 1);
            } else {
                let address = *bits_of_field(line_of(e, 1, 1), field::ADDRESSES).last().unwrap();
                flip_bit(e, (1, 1), field::ADDRESSES, address);
            }
        }),
        edit(36, "lines", Verify, LINES, "table 1 holds a fingerprint that table 0 lacks", put_another),
        edit(36, "lines-with-numbers", Query, WITH_NUMBERS, "table 1 holds a fingerprint that table 0 lacks, so without ids", put_another),
    ]
}

/// V44 and V45.
#[rustfmt::skip]
pub(super) fn lines() -> Vec<Forgery> {
    vec![
        edit(44, "a-mark-more", Query, LINES, "a mark after the last value of line 0", |e| {
            let last = *bits_of_field(line_of(e, 0, 0), field::MARKS).last().unwrap();
            flip_bit(e, (0, 0), field::MARKS, last + 1);
        }),
        edit(44, "a-mark-less", Query, LINES, "line 0 lacks its first mark", |e| {
            let first = bits_of_field(line_of(e, 0, 0), field::MARKS)[0];
            flip_bit(e, (0, 0), field::MARKS, first);
        }),
        edit(44, "an-address-more", Query, LINES, "an address more in line 0", |e| {
            let addresses = bits_of_field(line_of(e, 0, 0), field::ADDRESSES);
            let other = (0..256).find(|address| !addresses.contains(address)).unwrap();
            flip_bit(e, (0, 0), field::ADDRESSES, other);
        }),
        edit(44, "no-mark", Query, "lines-one", "an address, and no mark", |e| {
            put_field(e, (0, 0), FIRST_MARKS, 0);
        }),
        edit(44, "no-address", Query, CROWDED, "a mark in line 6, which has no values", |e| flip_bit(e, (0, 6), field::MARKS, 0)),
        edit(44, "a-mark-without-bits-below", Query, DENSE, "a mark in line 4, which has no bits below its addresses",
            |e| flip_bit(e, (0, 4), field::MARKS, 0)),
        edit(44, "marks-without-bits-below", Query, DENSE, "line 4, which has no bits below its addresses, has three values and three marks", |e| {
            put_field(e, (0, 4), (32, 16), 0b111);
            put_field(e, (0, 4), (48, 16), 0);
            put_field(e, (0, 4), FIRST_MARKS, 0b111);
        }),
        edit(44, "not-crowded", Query, CROWDED, "line 1 does not say that it is crowded", |e| {
            let rank = lines::rank_of(line_of(e, 0, 1));
            put_field(e, (0, 1), field::HEAD, rank);
        }),
        edit(45, "a-value-too-many", Query, LINES, "the rank of line 1, the last one, is one more",
            |e| add(e, (0, 1), field::HEAD, 1)),
        edit(45, "largest-rank", Query, LINES, "the rank of line 0 is 2^39 - 1",
            |e| put_field(e, (0, 0), field::HEAD, lines::CROWDED - 1)),
        edit(45, "in-table-1", Query, LINES, "the rank of line 1 of table 1 is that of all values",
            |e| put_field(e, (1, 1), field::HEAD, 200)),
        edit(45, "rank-with-numbers", Query, "lines-several", "the rank of line 1, the last one, is one more",
            |e| add(e, (0, 1), field::HEAD, 1)),
        edit(45, "rank-without-values", Query, CROWDED, "the rank of line 7, which has no values, is 481",
            |e| put_field(e, (0, 7), field::HEAD, 481)),
        edit(45, "rank-in-an-empty-table", Query, "lines-empty", "the rank of line 0 of table 3 is 1",
            |e| put_field(e, (3, 0), field::HEAD, 1)),
        edit(45, "another-finer-line", Query, CROWDED, "the low bits of the last value of finer line 4 are of another line", |e| {
            let (_, last) = ranks_of(e, 4);
            flip_low_bit(e, 0, last, 0);
        }),
        edit(45, "another-address", Query, CROWDED, "the low bits of the last value of finer line 4 are of another address", |e| {
            let (_, last) = ranks_of(e, 4);
            flip_low_bit(e, 0, last, 21);
        }),
        edit(45, "another-address-without-bits-below", Query, DENSE, "the low bits of the value 599 are 600", |e| {
            let w = low_bits_of(e, 0, 599).len();
            put_low_bits(e, 0, low_bits_of(e, 0, 599), &bits_of(600, w as u32));
        }),
    ]
}

/// V46 and V47.
#[rustfmt::skip]
pub(super) fn crowded_lines() -> Vec<Forgery> {
    vec![
        edit(46, "no-extra-bits", Query, CROWDED, "crowded line 1 has extra_bits 0", |e| put_field(e, (0, 1), field::EXTRA_BITS, 0)),
        edit(46, "too-many-extra-bits", Query, CROWDED, "crowded line 1 has extra_bits 55, and 54 low bits",
            |e| put_field(e, (0, 1), field::EXTRA_BITS, 55)),
        edit(46, "most-extra-bits", Query, CROWDED, "crowded line 1 has extra_bits 2^64 - 1",
            |e| put_field(e, (0, 1), field::EXTRA_BITS, u64::MAX.into())),
        edit(46, "after-the-last-line", Query, CROWDED, "the last finer line of crowded line 1 is after the last line",
            |e| add(e, (0, 1), field::FIRST, 1)),
        edit(46, "largest-first", Query, CROWDED, "the first finer line of crowded line 1 is 2^64 - 1",
            |e| put_field(e, (0, 1), field::FIRST, u64::MAX.into())),
        edit(46, "without-bits-below", Query, DENSE, "line 4, which has no bits below its addresses, is crowded", |e| {
            put_field(e, (0, 4), field::HEAD, lines::CROWDED);
            put_field(e, (0, 4), field::FIRST, 0);
            put_field(e, (0, 4), field::EXTRA_BITS, 1);
            put_field(e, (0, 4), field::ZERO, 0);
        }),
        edit(46, "a-line-of-values", Query, LINES, "line 0, which has values, is crowded",
            |e| add(e, (0, 0), field::HEAD, lines::CROWDED)),
        edit(46, "itself", Query, CROWDED, "crowded line 1 is its own first finer line", |e| put_field(e, (0, 1), field::FIRST, 1)),
        edit(47, "rank-of-crowded", Verify, CROWDED, "the rank of crowded line 1 is one more", |e| add(e, (0, 1), field::HEAD, 1)),
        edit(47, "largest-rank-of-crowded", Verify, CROWDED, "the rank of crowded line 1 is 2^39 - 1",
            |e| put_field(e, (0, 1), field::HEAD, 2 * lines::CROWDED - 1)),
        edit(47, "rank-without-values", Verify, CROWDED, "the rank of line 7, which has no values, is one more",
            |e| add(e, (0, 7), field::HEAD, 1)),
        edit(47, "marks-of-crowded", Verify, CROWDED, "crowded line 1 has a mark", |e| flip_bit(e, (0, 1), field::MARKS, 0)),
        edit(47, "zeros-of-crowded", Verify, CROWDED, "the last byte of crowded line 1 is 1", |e| {
            let at = line_at(e, 0, 1) + LINE_LEN - 1;
            e.put_number(at, 1, 1);
            e.seal_pages_of(LINE_PAGES, 0);
        }),
        edit(47, "exchanged-finer-lines", Verify, LONG, "the finer lines of the crowded lines 0 and 1 have changed places", |e| {
            let (zero, one) = (line_at(e, 0, 32), line_at(e, 0, 34));
            e.swap(zero, one, 2 * LINE_LEN);
            put_field(e, (0, 0), field::FIRST, 34);
            put_field(e, (0, 1), field::FIRST, 32);
        }),
        parts(47, "a-line-more", Verify, LINES, "a line without values after the last line of table 1", |parts| {
            let lines = parts.section(LINE_PAGES, 1);
            lines.resize(lines.len() + LINE_LEN, 0);
            parts.tables[1][0] += 1;
        }),
    ]
}
