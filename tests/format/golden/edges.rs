//! Good files at the edges of what the format allows: counts that fill a unit exactly or pass it by one, the densest
//! values and keys, the shortest and the longest texts.

use simidx::Codec;
use simidx_testkit::encoding::{Bits, SKETCHES, STRING_CODE, bits_of, filled};
use simidx_testkit::forged::ByHand;
use simidx_testkit::parts::Parts;
use simidx_testkit::sketches::SketchSection;

use super::good::{Good, Ids, case, dump, ordered, small};

/// Every one of them.
pub(super) fn all() -> Vec<Good> {
    let mut files = dense();
    files.extend(units());
    files.extend(texts());
    files.extend(string_codes());
    files.extend(sketches());
    files
}

/// Blocks and key groups with the most numbers that fit, or one less.
fn dense() -> Vec<Good> {
    let by_hand = |name: &str, what: &str, blocks: &[Vec<u128>]| {
        let slices: Vec<&[u128]> = blocks.iter().map(|block| &block[..]).collect();
        Good {
            name: name.into(),
            file: ByHand::new(Codec::EliasFano, &slices).file(),
            dump: dump(&blocks.concat()),
            contents: Some(format!("{name}.txt")),
            what: what.into(),
        }
    };
    let alone = |values: &[u128]| values.iter().map(|value| vec![*value]).collect::<Vec<_>>();
    vec![
        by_hand(
            "dense-blocks",
            "codec ef: blocks with c = Z + 1, Z, Z + 1, Z + 1 = 1, Z = 1, and two of 3 numbers with Z = 5 and Z = 6",
            &[
                (0..10).collect(),
                vec![10, 12, 13, 14],
                (15..19).collect(),
                vec![19, 20],
                vec![22, 23],
                vec![24, 26, 29, 30],
                vec![31, 33, 37, 38],
            ],
        ),
        by_hand(
            "dense-keys",
            "0, 1 and 2, each in a block of its own: a key group with c = Z + 1",
            &alone(&[0, 1, 2]),
        ),
        by_hand(
            "nearly-dense-keys",
            "1, 2 and 3, each in a block of its own: a key group with c = Z",
            &alone(&[1, 2, 3]),
        ),
        by_hand(
            "dense-key-group",
            "0 … 256, each in a block of its own: a full key group with c = Z + 1, and one of one key",
            &alone(&(0..257).collect::<Vec<u128>>()),
        ),
    ]
}

/// Whole chunks, samples and pages.
fn units() -> Vec<Good> {
    let ascending = |count: u32| (0..count).collect::<Vec<u32>>();
    let chunks = [ascending(1024), ascending(320)].concat();
    let numbers: Ids = Ids::Numbers(|i| 37 * i % 256);
    let letters = Ids::Strings(|i| if i % 3 == 0 { "a" } else { "b" }.into());
    vec![
        case(
            "whole-chunks",
            "0 … 1,023, then 0 … 319; the ids 0 … 1,343: three chunks and two samples without rest",
            small::<u32>(3, 1, Codec::Gap),
            &chunks,
            Ids::Numbers(|i| i),
        ),
        case(
            "a-whole-page",
            "0 … 4,095 with the ids 37·i mod 256 and their order: 4,096 bytes of numbers; the order has two pages",
            ordered(small::<u32>(3, 1, Codec::Gap)),
            &ascending(4096),
            numbers,
        ),
        case(
            "a-page-and-a-byte",
            "0 … 4,096 with the ids 37·i mod 256: 4,097 bytes of numbers",
            small::<u32>(3, 1, Codec::Gap),
            &ascending(4097),
            numbers,
        ),
        case(
            "places-on-two-pages",
            "0 … 2,999 with the ids `b`, and `a` where i mod 3 = 0; places of 12 bits and their order on two pages",
            ordered(small::<u32>(3, 1, Codec::Gap)),
            &ascending(3000),
            letters,
        ),
        case(
            "groups-on-two-pages",
            "0 … 29, each 1,000 times, all with the id 7",
            small::<u32>(3, 1, Codec::Gap),
            &(0..30_000).map(|i| i / 1000).collect::<Vec<u32>>(),
            Ids::Numbers(|_| 7),
        ),
    ]
}

/// The shortest and the longest pipeline, and a short key of metadata.
fn texts() -> Vec<Good> {
    let with = |name: &str, what: &str, pipeline: Option<String>, key: Option<&str>| {
        let mut options = small::<u32>(3, 1, Codec::Xor);
        options.pipeline = pipeline;
        if let Some(key) = key {
            options.metadata.insert(key, "").unwrap();
        }
        let what = format!("1, 2 and 3, and {what}");
        case(name, &what, options, &[1u32, 2, 3], Ids::None)
    };
    let longest = "é".repeat(32_768);
    let longest_key = "k".repeat(255);
    vec![
        with(
            "shortest-texts",
            "a pipeline of one byte and metadata with a key of one byte and an empty value",
            Some("x".into()),
            Some("k"),
        ),
        with(
            "longest-key",
            "metadata with a key of 255 bytes",
            None,
            Some(&longest_key),
        ),
        with(
            "longest-pipeline",
            "a pipeline of 65,536 bytes, `é` again and again",
            Some(longest),
            None,
        ),
    ]
}

/// A section of the string code with these lengths of prefix symbols, and symbols by the length of their codewords.
fn string_code(prefixes: &[(usize, u8)], symbols: &[(u8, u8, &[u8])]) -> Vec<u8> {
    let mut section = vec![0; 152];
    for &(symbol, len) in prefixes {
        section[symbol] = len;
    }
    for &(len, header, bytes) in symbols {
        section[126 + 2 * usize::from(len)] += 1;
        section.push(header);
        section.extend_from_slice(bytes);
    }
    section
}

/// String codes that the builder of this crate does not make.
fn string_codes() -> Vec<Good> {
    let base = |name: &str, what: &str, id: fn(u64) -> String| {
        let options = small::<u32>(3, 1, Codec::Xor);
        case(name, what, options, &[1u32, 2, 3], Ids::Strings(id))
    };
    let put = |mut good: Good, code: Vec<u8>, bucket: Option<Vec<u8>>| {
        let mut parts = Parts::of(&good.file);
        let ids = parts.dictionary();
        *parts.section(STRING_CODE, 0) = code;
        match bucket {
            Some(bucket) => parts.put_buckets(&[bucket]),
            None => parts.put_dictionary(&ids),
        }
        good.file = parts.file();
        good
    };
    let mut bucket = Bits::new();
    let mut write = |value: u128, bits: u32| bucket.extend_from_bitslice(&bits_of(value, bits));
    // Prefix 0; 4,369 symbols of 15 bytes; the end.
    (0..=4369).for_each(|_| write(0, 1));
    write(0b111, 3);
    // Prefix 0; the symbol that ends the string.
    write(0b010, 3);
    // Prefix 15 in full; `c`, escaped; the end.
    write(0b11 << 16 | 15, 18);
    write(0b110 << 8 | u128::from(b'c'), 11);
    write(0b111, 3);
    let end: (u8, u8, &[u8]) = (3, 16, b"");
    vec![
        put(
            base(
                "long-symbols",
                "1, 2 and 3, with 65,535 times `a`, 15 times `b`, and the same and `c` as ids; symbols of 15 bytes, one with header 31",
                |i| ["a".repeat(65_535), "b".repeat(15), "b".repeat(15) + "c"][i as usize].clone(),
            ),
            string_code(
                &[(63, 1), (65, 2), (127, 2)],
                &[(1, 15, &[b'a'; 15]), (2, 31, &[b'b'; 15]), (3, 0, b""), end],
            ),
            Some(filled(bucket)),
        ),
        put(
            base(
                "lone-prefix",
                "1, 2 and 3, with `a`, `b` and `c` as ids; the prefix code has one symbol",
                |i| ["a", "b", "c"][i as usize].into(),
            ),
            string_code(&[(63, 1)], &[(1, 0, b""), (1, 16, b"")]),
            None,
        ),
    ]
}

/// Sketches of no record, and the shortest and the longest name of features.
fn sketches() -> Vec<Good> {
    let add = |mut good: Good, features: &str, sketches: &[Vec<u8>]| {
        let mut parts = Parts::of(&good.file);
        parts.add(SKETCHES, SketchSection::new(features, sketches).bytes());
        good.file = parts.file();
        good
    };
    let empty = case::<u64>(
        "sketches-of-nothing",
        "no record; a section of sketches of no bytes but the head, features named in one byte",
        small::<u64>(3, 1, Codec::Gap),
        &[],
        Ids::None,
    );
    let one = case(
        "sketches-longest-features",
        "7; a sketch of 64 bits, features named in 1,024 bytes",
        small::<u32>(3, 1, Codec::Gap),
        &[7u32],
        Ids::None,
    );
    vec![
        add(empty.with_contents_of("empty"), "f", &[]),
        add(one, &"é".repeat(512), &[b"sketched".to_vec()]),
    ]
}
