//! Good files with tables in lines beyond those of every codec: of several lines, crowded ones, ones without low bits.

use simidx::Codec::Lines;
use simidx_testkit::encoding::{BLOCKS, KEY_ENTRIES, KEY_GROUPS, LINE_PAGES, LOW_BITS};
use simidx_testkit::parts::Parts;

use super::good::{Good, Ids, case, mixed, ordered, small};

/// Every one of them.
pub(super) fn all() -> Vec<Good> {
    let mut files = few();
    files.extend(shapes());
    files.extend(pages());
    files.extend(with_tables_in_blocks());
    files
}

/// No value, and one.
fn few() -> Vec<Good> {
    vec![
        case::<u64>(
            "lines-empty",
            "no record",
            small::<u64>(3, 4, Lines),
            &[],
            Ids::None,
        )
        .with_contents_of("empty"),
        case::<u64>(
            "lines-empty-strings",
            "no record, string ids",
            small::<u64>(3, 1, Lines),
            &[],
            Ids::Strings(|_| String::new()),
        )
        .with_contents_of("empty"),
        case(
            "lines-one",
            "deadbeef0badcafe alone",
            small::<u64>(3, 4, Lines),
            &[0xdead_beef_0bad_cafeu64],
            Ids::None,
        )
        .with_contents_of("one"),
        case(
            "lines-example",
            "the values of the example of section 8.2",
            small::<u32>(0, 1, Lines),
            &[0x0500_0001u32, 0x0500_0002, 0x07ab_cdef],
            Ids::None,
        ),
    ]
}

/// Lines by what they hold.
fn shapes() -> Vec<Good> {
    let several: Vec<u64> = mixed(320).collect();
    // Two levels: those of the first byte 5a, and of the first bytes 5a 5a 5a.
    let among = |x: u64, bytes: u32| x >> (8 * bytes) | 0x5a5a_5a5a << (64 - 8 * bytes);
    let near = mixed(480).skip(60).zip(0..).map(|(x, i)| match i {
        0..100 => among(x, 1),
        _ => among(x, 3),
    });
    let crowded: Vec<u64> = mixed(60).chain(near).collect();
    let dense: Vec<u32> = (0..600).collect();
    let full: Vec<u32> = (0..216).map(|i| i << 20).collect();
    vec![
        case(
            "lines-several",
            "mixed(1) … mixed(320), with the ids 91·j mod 701, j = 0 … 319, and their order: several top lines",
            ordered(small::<u64>(3, 2, Lines)),
            &several,
            Ids::Numbers(|i| 91 * i % 701),
        ),
        case(
            "lines-crowded",
            "mixed(1) … mixed(60), then mixed(61) … mixed(480), of which the first 100 start with 5a and the others with 5a5a5a, the bits after that being their first: crowded lines among the finer lines of crowded lines",
            small::<u64>(3, 1, Lines),
            &crowded,
            Ids::None,
        ),
        case(
            "lines-dense",
            "0 … 599: lines without bits below their addresses",
            small::<u32>(2, 1, Lines),
            &dense,
            Ids::None,
        ),
        case(
            "lines-full",
            "i · 2^20, i = 0 … 215: a line of as many values as it has marks",
            small::<u32>(0, 1, Lines),
            &full,
            Ids::None,
        ),
        case(
            "lines-spare-bits",
            "mixed(1) … mixed(167): bits after the low bits",
            small::<u64>(1, 2, Lines),
            &several[..167],
            Ids::None,
        ),
    ]
}

/// The most values whose lines and low bits are aligned to 64 bytes, and one more.
fn pages() -> Vec<Good> {
    let file = |count: u32| {
        let values: Vec<u32> = (0..count).map(|i| (i << 19) | (i * 37 % 8)).collect();
        case(
            &format!("lines-{count}"),
            &format!("i · 2^19 + (37·i mod 8), i = 0 … {}", count - 1),
            small::<u32>(0, 1, Lines),
            &values,
            Ids::None,
        )
    };
    vec![file(4100), file(4101)]
}

/// A table in lines and one in blocks.
fn with_tables_in_blocks() -> Vec<Good> {
    let values: Vec<u32> = mixed(20).map(|x| (x >> 32) as u32).collect();
    let build = |codec| {
        let options = small::<u32>(1, 2, codec);
        case("", "", options, &values, Ids::Numbers(|i| i)).with_contents_of("twenty-numbers")
    };
    let (lines, blocks) = (build(Lines), build(simidx::Codec::EliasFano));
    let file = |name: &str, what: &str, zero: &Good, one: &Good| Good {
        name: name.into(),
        file: with_tables_of(&zero.file, &one.file),
        contents: Some("twenty-numbers.txt".into()),
        what: format!("⌊mixed(i) / 2^32⌋, i = 1 … 20, with the numbers 0 … 19 as ids; {what}"),
        ..zero.clone()
    };
    vec![
        file(
            "lines-and-blocks",
            "table 0 in codec lines and table 1 in codec ef",
            &lines,
            &blocks,
        ),
        file(
            "blocks-and-lines",
            "table 0 in codec ef and table 1 in codec lines",
            &blocks,
            &lines,
        ),
    ]
}

/// A file of two tables with table 1 of another file with the same fingerprints, which is of another codec.
fn with_tables_of(zero: &[u8], one: &[u8]) -> Vec<u8> {
    let is_of_tables =
        |kind| [BLOCKS, KEY_GROUPS, KEY_ENTRIES, LINE_PAGES, LOW_BITS].contains(&kind);
    let (mut parts, others) = (Parts::of(zero), Parts::of(one));
    parts.tables[1] = others.tables[1].clone();
    parts
        .sections
        .retain(|s| s.table == 0 || !is_of_tables(s.kind));
    let of_one = others
        .sections
        .into_iter()
        .filter(|s| s.table == 1 && is_of_tables(s.kind));
    parts.sections.extend(of_one);
    // The sections of the tables come first, and the low bits of a table before its lines.
    parts.sections.sort_by_key(|s| match s.kind {
        BLOCKS | LOW_BITS => (0, s.table, 0),
        LINE_PAGES => (0, s.table, 1),
        kind => (kind, s.table, 0),
    });
    parts.file()
}
