//! The good files of the corpus: each with the rule that its records follow and what a reader must find in it.

use simidx::design::TableDesign;
use simidx::format::FORMAT_VERSION;
use simidx::{BuildOptions, Codec, Fingerprint, IdKind, IndexBuilder, Width};

use simidx_testkit::encoding::{
    BLOCKS, FIRST_ANCILLARY, KEY_ENTRIES, KEY_GROUPS, Layout, METADATA, PIPELINE, SKETCHES, crc32,
    directory, number,
};
use simidx_testkit::forged::{ByHand, IN_BLOCKS, codec_number};
use simidx_testkit::manifest::{Entry, Expect, folder};
use simidx_testkit::parts::Parts;
use simidx_testkit::sketches::SketchSection;

use super::{edges, lines};

/// A good file.
#[derive(Debug, Clone)]
pub(crate) struct Good {
    /// The name of the file without `good-` and `.simidx`.
    pub(crate) name: String,
    pub(crate) file: Vec<u8>,
    /// The output of `dump`: a line for each record, or for each fingerprint if there are no ids.
    pub(crate) dump: String,
    /// The file of the corpus that holds the dump; files of the same records share it.
    pub(crate) contents: Option<String>,
    pub(crate) what: String,
}

/// Longest dump that the corpus keeps as a text.
const MAX_DUMP_LEN: usize = 16_384;

/// The ids of the records of a case, from the number of the record.
#[derive(Debug, Clone, Copy)]
pub(super) enum Ids {
    None,
    Numbers(fn(u64) -> u64),
    Strings(fn(u64) -> String),
}

/// The index of `fingerprints`, and its dump made of the records themselves.
pub(super) fn case<F: Fingerprint>(
    name: &str,
    what: &str,
    mut options: BuildOptions,
    fingerprints: &[F],
    ids: Ids,
) -> Good {
    options.ids = match ids {
        Ids::None => IdKind::None,
        Ids::Numbers(_) => IdKind::Number,
        Ids::Strings(_) => IdKind::String,
    };
    let mut builder = IndexBuilder::new(Width::of::<F>(), options).unwrap();
    let mut records = Vec::new();
    for (number, &fingerprint) in (0u64..).zip(fingerprints) {
        // Numbers sort by value, strings by their bytes.
        let (pushed, id) = match ids {
            Ids::None => (builder.push(fingerprint), (0, String::new())),
            Ids::Numbers(id) => {
                let id = id(number);
                let pushed = builder.push_with_id(fingerprint, id);
                (pushed, (id, id.to_string()))
            }
            Ids::Strings(id) => {
                let id = id(number);
                (builder.push_with_id(fingerprint, &id), (0, id))
            }
        };
        pushed.unwrap();
        records.push((fingerprint, id));
    }
    let mut file = Vec::new();
    builder.finish(&mut file).unwrap();
    records.sort();
    if let Ids::None = ids {
        records.dedup();
    }
    let line = |(fingerprint, (_, id)): &(F, (u64, String))| match ids {
        Ids::None => format!("{}\n", fingerprint.to_hex()),
        _ => format!("{}\t{id}\n", fingerprint.to_hex()),
    };
    let dump: String = records.iter().map(line).collect();
    let kept = dump.len() <= MAX_DUMP_LEN;
    Good {
        name: name.into(),
        file,
        dump,
        contents: kept.then(|| format!("{name}.txt")),
        what: what.into(),
    }
}

/// A file of these records with empty ids among them, which the format permits and the builder refuses: it is what is
/// stored, and its dump is made of the records.
fn stored(name: &str, what: &str, records: impl IntoIterator<Item = (u64, String)>) -> Good {
    let path = folder(FORMAT_VERSION).join(format!("good-{name}.simidx"));
    let mut records: Vec<_> = records.into_iter().collect();
    records.sort();
    let line = |(fingerprint, id): &(u64, String)| format!("{}\t{id}\n", fingerprint.to_hex());
    let dump: String = records.iter().map(line).collect();
    let kept = dump.len() <= MAX_DUMP_LEN;
    Good {
        name: name.into(),
        file: std::fs::read(path).unwrap(),
        dump,
        contents: kept.then(|| format!("{name}.txt")),
        what: what.into(),
    }
}

impl Good {
    /// Takes the records of another file of the corpus.
    pub(super) fn with_contents_of(mut self, name: &str) -> Self {
        self.contents = self.contents.map(|_| format!("{name}.txt"));
        self
    }

    pub(crate) fn file_name(&self) -> String {
        format!("good-{}.simidx", self.name)
    }

    /// The bits of its fingerprints.
    pub(super) fn width(&self) -> u32 {
        Layout::parse(&self.file).width
    }

    /// Whether its records have ids.
    pub(super) fn has_ids(&self) -> bool {
        Layout::parse(&self.file).id_kind != 0
    }

    /// The bytes of a section, if there is one of its kind.
    fn section(&self, layout: &Layout, kind: u16) -> Option<&[u8]> {
        let section = layout.find_section(kind, 0)?;
        Some(&self.file[section.offset..section.offset + section.len])
    }

    /// The row of the manifest.
    pub(crate) fn entry(&self) -> Entry {
        let layout = Layout::parse(&self.file);
        let mut codecs: Vec<u8> = layout.tables.iter().map(|t| t.codec).collect();
        codecs.dedup();
        let names = Codec::ALL.map(|codec| (codec_number(codec), codec.name()));
        let name = |number: &u8| names.iter().find(|(n, _)| n == number).unwrap().1;
        let sketches = self.section(&layout, SKETCHES).map(SketchSection::parse);
        let sketches = sketches.filter(|section| section.method == 1);
        Entry {
            file: self.file_name(),
            expect: Expect::Good,
            broken: None,
            width: layout.width,
            table_count: layout.tables.len(),
            block_size: layout.block_size,
            codec: codecs.iter().map(name).collect::<Vec<_>>().join("+"),
            ids: ["none", "number", "string"][usize::from(layout.id_kind)].into(),
            fingerprint_count: layout.fingerprint_count as u64,
            record_count: layout.record_count as u64,
            contents: self.contents.clone(),
            contents_crc32: Some(crc32(self.dump.as_bytes())),
            pipeline_crc32: self.section(&layout, PIPELINE).map(crc32),
            metadata_crc32: self.section(&layout, METADATA).map(metadata_crc32),
            features_crc32: sketches.as_ref().map(|s| crc32(&s.features)),
            sketches_crc32: sketches.as_ref().map(|s| crc32(&s.payload)),
            made_from: None,
            what: self.what.clone(),
        }
    }
}

/// The CRC-32 of a line for each entry of the metadata: the key, a tab and the value.
fn metadata_crc32(section: &[u8]) -> u32 {
    let (mut lines, mut rest) = (Vec::new(), section);
    while !rest.is_empty() {
        let key_end = 5 + usize::from(rest[0]);
        let end = key_end + number(rest, 1, 4) as usize;
        lines.extend([&rest[5..key_end], b"\t", &rest[key_end..end], b"\n"].concat());
        rest = &rest[end..];
    }
    crc32(&lines)
}

/// Options of small files: blocks of 128 bytes.
pub(super) fn small<F: Fingerprint>(
    max_distance: u32,
    tables: usize,
    codec: Codec,
) -> BuildOptions {
    let mut options = BuildOptions::default();
    options.max_distance = max_distance;
    options.design =
        Some(TableDesign::with_table_count(Width::of::<F>(), max_distance, tables).unwrap());
    options.block_size = 128;
    options.codec = Some(codec);
    options
}

/// The same, and the file has the order of its ids.
pub(super) fn ordered(mut options: BuildOptions) -> BuildOptions {
    options.id_lookup = true;
    options
}

/// `count` values that look random and are the same for ever (SplitMix64).
pub(super) fn mixed(count: u64) -> impl Iterator<Item = u64> {
    (1..=count).map(|i| {
        let mut x = i.wrapping_mul(0x9e37_79b9_7f4a_7c15);
        x = (x ^ (x >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        x = (x ^ (x >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        x ^ (x >> 31)
    })
}

/// Values that look random, and for every one a neighbour in one bit.
fn neighbours<F: Fingerprint>(pairs: u64) -> Vec<F> {
    let values: Vec<u64> = mixed(2 * pairs).collect();
    let pairs = values.chunks_exact(2).zip(0..);
    pairs
        .flat_map(|(pair, i)| {
            let wide = u128::from(pair[0]) << 64 | u128::from(pair[1]);
            let value = F::from_u128(wide >> (128 - F::WIDTH));
            [value, value ^ F::from_u128(1) << (i % F::WIDTH)]
        })
        .collect()
}

/// Every good file, in the order of the manifest.
pub(crate) fn all() -> Vec<Good> {
    let mut files = few();
    files.extend(shapes());
    files.extend(with_order());
    files.extend(with_metadata());
    files.extend(designs());
    files.extend(block_sizes());
    files.extend(codecs_and_ids::<u32>());
    files.extend(codecs_and_ids::<u64>());
    files.extend(codecs_and_ids::<u128>());
    files.extend(by_other_writers());
    files.extend(with_sketches());
    files.extend(edges::all());
    files.extend(lines::all());
    files
}

/// The worked example, and files of almost nothing.
fn few() -> Vec<Good> {
    let ids = Ids::Numbers(|i| [7, 9, 3, 12][i as usize]);
    let example = [0x0000_000fu32, 0x0000_000f, 0x0000_001f, 0x8000_0000];
    let one = [0xdead_beef_0bad_cafeu64];
    vec![
        case(
            "worked-example",
            "the example of section 4.7",
            ordered(small::<u32>(1, 2, Codec::Xor)),
            &example,
            ids,
        ),
        case::<u64>(
            "empty",
            "no record",
            small::<u64>(3, 4, Codec::Gap),
            &[],
            Ids::None,
        ),
        case::<u64>(
            "empty-one-table",
            "no record",
            small::<u64>(3, 1, Codec::Gap),
            &[],
            Ids::None,
        )
        .with_contents_of("empty"),
        case::<u64>(
            "empty-numbers",
            "no record, number ids",
            small::<u64>(3, 4, Codec::Xor),
            &[],
            Ids::Numbers(|i| i),
        )
        .with_contents_of("empty"),
        case::<u64>(
            "empty-strings",
            "no record, string ids",
            small::<u64>(3, 4, Codec::EliasFano),
            &[],
            Ids::Strings(|_| String::new()),
        )
        .with_contents_of("empty"),
        case(
            "one",
            "deadbeef0badcafe alone",
            small::<u64>(3, 4, Codec::EliasFano),
            &one,
            Ids::None,
        ),
        stored(
            "one-empty-string",
            "deadbeef0badcafe with the empty string as id",
            one.map(|x| (x, String::new())),
        ),
        case(
            "two-bit-0",
            "6 and 7: they differ in bit 0 only",
            small::<u64>(3, 4, Codec::Gap),
            &[6u64, 7],
            Ids::None,
        ),
        case(
            "two-bit-63",
            "5 and 5 + 2^63: they differ in bit 63 only",
            small::<u64>(3, 4, Codec::Xor),
            &[5u64, 5 | 1 << 63],
            Ids::None,
        ),
    ]
}

/// Sets of a particular shape.
fn shapes() -> Vec<Good> {
    let dense: Vec<u32> = (0..5000).collect();
    let wide: Vec<u128> = mixed(90)
        .map(|x| u128::from(x) << 64 | u128::from(x.rotate_left(17)))
        .collect();
    let repeated: Vec<u64> = mixed(200).map(|x| (x % 150) << 32).collect();
    let mut only_pipeline = small::<u32>(3, 1, Codec::Xor);
    only_pipeline.pipeline = Some(r#"{"é":1}"#.into());
    vec![
        case(
            "one-group",
            "1,000 times 42, with the numbers 0, 1, 4, …, 999² as ids",
            small::<u64>(3, 4, Codec::EliasFano),
            &[42u64; 1000],
            Ids::Numbers(|i| i * i),
        ),
        case(
            "one-group-strings",
            "500 times 0, with the three digits of 0 … 499 as ids",
            small::<u32>(3, 1, Codec::Xor),
            &[0u32; 500],
            Ids::Strings(|i| format!("{i:03}")),
        ),
        case(
            "numbers-spare-bits",
            "1, 2 and 3 with the ids 5, 6 and 9: three numbers of three bits",
            small::<u32>(3, 1, Codec::Gap),
            &[1u32, 2, 3],
            Ids::Numbers(|i| [5, 6, 9][i as usize]),
        ),
        case(
            "dense-32",
            "0 … 4,999",
            small::<u32>(2, 3, Codec::Gap),
            &dense,
            Ids::None,
        ),
        case(
            "numbers-128",
            "mixed(i) · 2^64 + mixed(i) rotated left by 17, i = 1 … 90; ids 2^64 − 1 − j · ⌊(2^64 − 1) / 89⌋, j = 0 … 89",
            small::<u128>(3, 4, Codec::EliasFano),
            &wide,
            Ids::Numbers(|i| u64::MAX - i * (u64::MAX / 89)),
        ),
        case(
            "long-strings",
            "mixed(1) … mixed(600), with the hexadecimal digits of mixed(601), mixed(602), …, mixed(1,800) as ids, two and two",
            small::<u64>(3, 1, Codec::EliasFano),
            &mixed(600).collect::<Vec<u64>>(),
            Ids::Strings(|i| {
                let digits = mixed(1800).skip(600 + 2 * i as usize).take(2);
                digits.map(|x| format!("{x:016x}")).collect()
            }),
        ),
        stored(
            "strings-pipeline",
            "(mixed(i) mod 150) · 2^32, i = 1 … 200; `né` repeated (i − 1) mod 60 times as id; a pipeline",
            repeated
                .iter()
                .zip(0..)
                .map(|(&x, i)| (x, "né".repeat(i % 60))),
        ),
        case(
            "pipeline",
            "1, 2 and 3, and a pipeline whose second character has two bytes",
            only_pipeline,
            &[1u32, 2, 3],
            Ids::None,
        ),
    ]
}

/// Orders of ids.
fn with_order() -> Vec<Good> {
    let many: Vec<u64> = mixed(60).collect();
    let grouped: Vec<u64> = mixed(699).map(|x| (x % 500) << 40).collect();
    vec![
        case(
            "empty-ordered",
            "no record, string ids and their order",
            ordered(small::<u64>(3, 1, Codec::Gap)),
            &[0u64; 0],
            Ids::Strings(|_| String::new()),
        )
        .with_contents_of("empty"),
        case(
            "one-ordered",
            "7 with the id 5: an order of no bits",
            ordered(small::<u32>(3, 1, Codec::Xor)),
            &[7u32],
            Ids::Numbers(|_| 5),
        ),
        case(
            "ordered-numbers",
            "mixed(1) … mixed(60), with the ids 37·j mod 41, j = 0 … 59, and their order",
            ordered(small::<u64>(3, 4, Codec::EliasFano)),
            &many,
            Ids::Numbers(|i| 37 * i % 41),
        ),
        case(
            "ordered-strings",
            "mixed(1) … mixed(60), with the two digits of 37·j mod 41, j = 0 … 59, as ids, and their order",
            ordered(small::<u64>(3, 4, Codec::EliasFano)),
            &many,
            Ids::Strings(|i| format!("{:02}", 37 * i % 41)),
        ),
        case(
            "equal-strings",
            "mixed(1) … mixed(60), all with the id `same`",
            small::<u64>(3, 1, Codec::EliasFano),
            &many,
            Ids::Strings(|_| "same".into()),
        ),
        case(
            "ordered-groups",
            "(mixed(i) mod 500) · 2^40, i = 1 … 699, with the ids 91·j mod 701, j = 0 … 698, and their order",
            ordered(small::<u64>(3, 1, Codec::Gap)),
            &grouped,
            Ids::Numbers(|i| 91 * i % 701),
        ),
        case(
            "many-groups",
            "(mixed(i) mod 1,500) · 2^40, i = 1 … 2,300, all with the id 7",
            small::<u64>(3, 1, Codec::EliasFano),
            &mixed(2300).map(|x| (x % 1500) << 40).collect::<Vec<u64>>(),
            Ids::Numbers(|_| 7),
        ),
        case(
            "ordered-groups-strings",
            "(mixed(i) mod 500) · 2^40, i = 1 … 699, with `https://example.org/` and 91·j mod 301, j = 0 … 698, as ids, and their order",
            ordered(small::<u64>(3, 1, Codec::Gap)),
            &grouped,
            Ids::Strings(|i| format!("https://example.org/{}", 91 * i % 301)),
        ),
    ]
}

/// Metadata, alone and with all that can be there.
fn with_metadata() -> Vec<Good> {
    let mut one = small::<u32>(3, 1, Codec::Xor);
    one.metadata.insert("source", "né").unwrap();
    let mut several = ordered(small::<u32>(3, 2, Codec::Gap));
    several.pipeline = Some(r#"{"é":1}"#.into());
    for (key, value) in [("made by", ""), ("source", "hand"), ("ß", "日本語\n")] {
        several.metadata.insert(key, value).unwrap();
    }
    vec![
        case(
            "metadata",
            "1, 2 and 3, and the key `source` with the value `né`",
            one,
            &[1u32, 2, 3],
            Ids::None,
        ),
        case(
            "all-sections",
            "1, 2, 2 and 3 with the ids `a` to `d` and their order, a pipeline, and metadata of three keys",
            several,
            &[1u32, 2, 2, 3],
            Ids::Strings(|i| ["a", "b", "c", "d"][i as usize].into()),
        ),
    ]
}

/// Numbers of tables.
fn designs() -> Vec<Good> {
    let values: Vec<u64> = mixed(60).collect();
    let mut two_level = small::<u64>(3, 16, Codec::EliasFano);
    two_level.design = Some(TableDesign::two_level_bands(Width::W64, 3).unwrap());
    let sixty = "mixed(1) … mixed(60)";
    let most: Vec<u32> = (0..255)
        .map(|t| u32::MAX.checked_shl(t % 33).unwrap_or(0))
        .collect();
    let mut most_tables = small::<u64>(3, 1, Codec::EliasFano);
    most_tables.design = Some(TableDesign::from_masks(3, most).unwrap());
    vec![
        case(
            "one-table",
            sixty,
            small::<u64>(3, 1, Codec::Gap),
            &values,
            Ids::None,
        )
        .with_contents_of("sixty"),
        case(
            "six-tables",
            sixty,
            small::<u64>(3, 6, Codec::Gap),
            &values,
            Ids::None,
        )
        .with_contents_of("sixty"),
        case(
            "two-level",
            "mixed(1) … mixed(60) in 16 tables, bands of the rest of bands",
            two_level,
            &values,
            Ids::None,
        )
        .with_contents_of("sixty"),
        case(
            "twenty-tables",
            sixty,
            small::<u64>(3, 20, Codec::Xor),
            &values,
            Ids::None,
        )
        .with_contents_of("sixty"),
        case(
            "most-tables",
            "7 in 255 tables, of the 32 − t mod 33 highest bits each",
            most_tables,
            &[7u32],
            Ids::None,
        ),
    ]
}

/// Sizes of blocks.
fn block_sizes() -> Vec<Good> {
    let mut files = Vec::new();
    let hundred: Vec<u32> = mixed(100).map(|x| (x >> 32) as u32).collect();
    for bytes in [256, 512, 2048, 8192] {
        let mut options = small::<u32>(3, 1, Codec::Gap);
        options.block_size = bytes;
        let name = format!("blocks-of-{bytes}");
        let what = "⌊mixed(i) / 2^32⌋, i = 1 … 100";
        let file = case(&name, what, options, &hundred, Ids::None);
        files.push(file.with_contents_of("hundred"));
    }
    let squares: Vec<u64> = (0..5000).map(|i| i * i).collect();
    for codec in IN_BLOCKS {
        let mut options = small::<u64>(0, 1, codec);
        options.block_size = 8192;
        let name = format!("large-block-{}", codec.name());
        let what = "i², i = 0 … 4,999, with the number 5·i as id";
        files.push(case(
            &name,
            what,
            options,
            &squares,
            Ids::Numbers(|i| 5 * i),
        ));
    }
    let run: Vec<u32> = (0..65_537).collect();
    let mut options = small::<u32>(0, 1, Codec::Gap);
    options.block_size = 8192;
    let what = "0 … 65,536: the first block has almost as many values as its count can say";
    files.push(case("full-count", what, options, &run, Ids::None));
    files
}

/// Every codec with every kind of ids.
fn codecs_and_ids<F: Fingerprint>() -> Vec<Good> {
    let many = neighbours::<F>(100);
    let few = neighbours::<F>(24);
    // Fingerprints with an even number once, the others three times.
    let grouped: Vec<F> = [&few[..], &odd(&few), &odd(&few)].concat();
    let kinds: [(&str, &str, &[F], Ids); 4] = [
        (
            "numbers",
            "neighbours(24), the ids 1000 + 37·j, j = 0 … 47",
            &few,
            Ids::Numbers(|i| 1000 + 37 * i),
        ),
        (
            "grouped-numbers",
            "neighbours(24), then twice those of odd place; the ids 1000 + 37·j, j = 0 … 95",
            &grouped,
            Ids::Numbers(|i| 1000 + 37 * i),
        ),
        (
            "strings",
            "neighbours(24), with `é` and the two digits of j = 0 … 47 as ids",
            &few,
            Ids::Strings(|i| format!("é{i:02}")),
        ),
        (
            "grouped-strings",
            "neighbours(24), then twice those of odd place; `é` and the two digits of j = 0 … 95 as ids",
            &grouped,
            Ids::Strings(|i| format!("é{i:02}")),
        ),
    ];
    let mut files = Vec::new();
    for codec in Codec::ALL {
        let name = format!("{}-{}", codec.name(), F::WIDTH);
        let file = case(
            &name,
            "neighbours(100)",
            small::<F>(3, 2, codec),
            &many,
            Ids::None,
        );
        files.push(file.with_contents_of(&format!("{}-bits", F::WIDTH)));
        for (kind, what, fingerprints, ids) in kinds {
            let name = format!("{name}-{kind}");
            let file = case(&name, what, small::<F>(3, 2, codec), fingerprints, ids);
            files.push(file.with_contents_of(&format!("{}-bits-{kind}", F::WIDTH)));
        }
    }
    files
}

fn odd<F: Fingerprint>(values: &[F]) -> Vec<F> {
    values.iter().copied().skip(1).step_by(2).collect()
}

/// Files that the format allows and the builder of this crate does not write.
fn by_other_writers() -> Vec<Good> {
    let mut files = Vec::new();
    let blocks: [&[u128]; 2] = [&[1, 1000], &[1003, 1010, 1011, 2000, 2100]];
    for codec in IN_BLOCKS {
        files.push(Good {
            name: format!("by-hand-{}", codec.name()),
            file: ByHand::new(codec, &blocks).file(),
            dump: dump(&blocks.concat()),
            contents: Some("by-hand.txt".into()),
            what: "two blocks that are not full, in a code of 6 bits for every position where there is one".into(),
        });
    }
    let near: [&[u128]; 5] = [&[5], &[6], &[9], &[1000], &[70_000]];
    files.push(Good {
        name: "near-keys".into(),
        file: ByHand::new(Codec::Gap, &near).file(),
        dump: dump(&near.concat()),
        contents: Some("near-keys.txt".into()),
        what: "5, 6, 9, 1,000 and 70,000, each in a block of its own".into(),
    });
    files.push(two_key_groups());
    let values: Vec<u32> = mixed(20).map(|x| (x >> 32) as u32).collect();
    let build = |codec| {
        case(
            "mixed-codecs",
            "",
            small::<u32>(1, 2, codec),
            &values,
            Ids::None,
        )
    };
    let mut mixed = build(Codec::Xor);
    mixed.file = with_a_table_of(&mixed.file, &build(Codec::EliasFano).file);
    mixed.what =
        "⌊mixed(i) / 2^32⌋, i = 1 … 20, table 0 in codec xor and table 1 in codec ef".into();
    files.push(mixed);
    let mut masks = build(Codec::Gap);
    let mut parts = Parts::of(&masks.file);
    parts.tables[0][16..20].fill(0);
    parts.put(directory::MAX_DISTANCE, 32);
    masks.file = parts.file();
    masks.name = "no-prefix".into();
    masks.what =
        "as mixed-codecs, in codec gap; the mask of table 0 is 0 and max_distance is 32".into();
    files.push(masks);
    files.extend(extended());
    files
}

/// Returns the output of `dump` for fingerprints of 64 bits without ids.
pub(super) fn dump(fingerprints: &[u128]) -> String {
    let lines = fingerprints.iter().map(|x| format!("{x:016x}\n"));
    lines.collect()
}

/// A value in each of 512 blocks.
fn two_key_groups() -> Good {
    let values: Vec<[u128; 1]> = (0..512u128).map(|i| [1000 * i + i * i % 997]).collect();
    let blocks: Vec<&[u128]> = values.iter().map(|value| &value[..]).collect();
    let file = ByHand::new(Codec::EliasFano, &blocks);
    Good {
        name: "two-key-groups".into(),
        file: file.file(),
        dump: dump(&values.concat()),
        contents: Some("two-key-groups.txt".into()),
        what: "1,000·i + (i² mod 997), i = 0 … 511, each in a block of its own: two key groups of one length".into(),
    }
}

/// Files with what readers that do not know it ignore.
fn extended() -> Vec<Good> {
    let values: Vec<u32> = mixed(20).map(|x| (x >> 32) as u32).collect();
    let twenty = "⌊mixed(i) / 2^32⌋, i = 1 … 20";
    let base = || {
        let options = small::<u32>(1, 2, Codec::Gap);
        case("mixed-codecs", "", options, &values, Ids::Numbers(|i| i))
    };
    let make = |name: &str, what: &str, change: fn(&mut Parts)| {
        let mut good = base();
        let mut parts = Parts::of(&good.file);
        change(&mut parts);
        good.file = parts.file();
        good.name = name.into();
        good.what = format!("{twenty}, with the numbers 0 … 19 as ids; {what}");
        good.contents = Some("twenty-numbers.txt".into());
        good
    };
    vec![
        make(
            "ancillary",
            "three ancillary sections, of the kinds 0xffff, 0x8000 and 0xffff, the second without bytes",
            |parts| {
                parts.add(u16::MAX, b"not of this document".to_vec());
                parts.add(FIRST_ANCILLARY, Vec::new());
                parts.add(u16::MAX, vec![0xa5; 5000]);
            },
        ),
        make(
            "compatible-features",
            "all bits of compatible_features are set",
            |parts| parts.put(directory::COMPATIBLE_FEATURES, u64::MAX.into()),
        ),
        make(
            "long-table-records",
            "the table records have 13 bytes more, which are ff",
            |parts| lengthen_tables(parts, &[0xff; 13]),
        ),
        make(
            "all-extensions",
            "an ancillary section, a bit of compatible_features, and table records of one byte more",
            |parts| {
                parts.add(0xc000, vec![1]);
                parts.put(directory::COMPATIBLE_FEATURES, 1 << 63);
                lengthen_tables(parts, &[0]);
            },
        ),
    ]
}

/// Files with sketches, and with what is to be skipped in their place.
fn with_sketches() -> Vec<Good> {
    let values: Vec<u32> = mixed(20).map(|x| (x >> 32) as u32).collect();
    let twenty = "⌊mixed(i) / 2^32⌋, i = 1 … 20";
    // Sketch i has the byte i everywhere.
    let sketches =
        |count: u8, len: usize| -> Vec<Vec<u8>> { (0..count).map(|i| vec![i; len]).collect() };
    let base = |contents: &str, values: &[u32], ids| {
        let options = small::<u32>(1, 2, Codec::Gap);
        case("", "", options, values, ids).with_contents_of(contents)
    };
    let add = |mut good: Good, name: &str, what: &str, section: Vec<u8>| {
        let mut parts = Parts::of(&good.file);
        parts.add(SKETCHES, section);
        good.file = parts.file();
        good.name = name.into();
        good.what = format!("{twenty}, {what}");
        good
    };
    let numbers = || base("twenty-numbers", &values, Ids::Numbers(|i| i));
    let plain = || base("twenty", &values, Ids::None);
    // Ten fingerprints with two strings each.
    let halves = [&values[..10], &values[..10]].concat();
    let strings = || base("ten-strings", &halves, Ids::Strings(|i| format!("s{i}")));
    let mut unknown = SketchSection::new("letters", &sketches(3, 1));
    unknown.method = 2;
    vec![
        add(
            numbers(),
            "sketches-numbers",
            "with the numbers 0 … 19 as ids; 20 sketches of 64 bits",
            SketchSection::new("words:3 html:no", &sketches(20, 8)).bytes(),
        ),
        add(
            plain(),
            "sketches-plain",
            "without ids; 20 sketches of 512 bits, whose features have the longest name that fits a head of 128 bytes",
            SketchSection::new(&"f".repeat(110), &sketches(20, 64)).bytes(),
        ),
        add(
            strings(),
            "sketches-strings",
            "i up to 10, each with two strings; 20 sketches of 192 bits, features named in one byte",
            SketchSection::new("é", &sketches(20, 24)).bytes(),
        ),
        add(
            numbers(),
            "sketches-of-another-method",
            "with the numbers 0 … 19 as ids; a section of sketches of method 2",
            unknown.bytes(),
        ),
        several_pages_of_sketches(),
    ]
}

/// A file whose sketches take two pages.
fn several_pages_of_sketches() -> Good {
    let values: Vec<u32> = mixed(70).map(|x| (x >> 32) as u32).collect();
    let options = small::<u32>(1, 2, Codec::Gap);
    let what = "⌊mixed(i) / 2^32⌋, i = 1 … 70, with the numbers 0 … 69 as ids; sketches of 512 bits on two pages";
    let mut good = case(
        "sketches-on-two-pages",
        what,
        options,
        &values,
        Ids::Numbers(|i| i),
    );
    let mut parts = Parts::of(&good.file);
    let sketches: Vec<Vec<u8>> = (0..70).map(|i| vec![i; 64]).collect();
    let section = SketchSection::new("words:3 html:no", &sketches);
    parts.add(SKETCHES, section.bytes());
    good.file = parts.file();
    good
}

/// Gives the table records an extension.
fn lengthen_tables(parts: &mut Parts, extension: &[u8]) {
    for table in &mut parts.tables {
        table.extend_from_slice(extension);
    }
    let len = parts.tables[0].len();
    parts.put(directory::TABLE_RECORD_LEN, len as u128);
}

/// A file of two tables with table 1 of another file with the same fingerprints.
fn with_a_table_of(file: &[u8], other: &[u8]) -> Vec<u8> {
    let (mut parts, mut others) = (Parts::of(file), Parts::of(other));
    parts.tables[1] = others.tables[1].clone();
    for kind in [BLOCKS, KEY_GROUPS, KEY_ENTRIES] {
        *parts.section(kind, 1) = others.section(kind, 1).clone();
    }
    parts.file()
}
