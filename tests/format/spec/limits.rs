//! The limits that the specification prints: those of the program and of the reader in Python, reached and not passed.

use std::fs;

use simidx::design::{MAX_TABLE_COUNT, TableDesign};
use simidx::format::{
    MAX_BLOCK_SIZE, MAX_ID_LEN, MAX_SKETCH_BITS, MIN_BLOCK_SIZE, SketchParameters,
};
use simidx::{BuildOptions, Codec, IndexBuilder, Storage, Width};

use simidx_testkit::document::{
    named_block, named_formulas, named_table, plain_number, root, row, specification,
};
use simidx_testkit::editor::Editor;
use simidx_testkit::encoding::{self, METADATA, directory};
use simidx_testkit::forged::ByHand;
use simidx_testkit::parts::Parts;
use simidx_testkit::python_reader::common_verdict;

/// How section 13 calls the size of a block.
const BLOCK_SIZE: &str = "block_size, a power of two";

/// The rows of section 13.
fn limits() -> Vec<Vec<String>> {
    named_table(&specification(), "limits")
}

fn limit(cell: &str) -> u128 {
    match cell.split_once(" − ") {
        Some((number, less)) => plain_number(number) - plain_number(less),
        None => plain_number(cell),
    }
}

/// The least value that section 13 allows.
#[track_caller]
pub(crate) fn least(what: &str) -> u128 {
    limit(&row(&limits(), what)[1])
}

/// The greatest value that section 13 allows.
#[track_caller]
pub(crate) fn most(what: &str) -> u128 {
    limit(&row(&limits(), what)[2])
}

/// The most values of a line with low bits and of one without.
pub(crate) fn most_values_of_a_line() -> [u128; 2] {
    let limits = limits();
    let cell = &row(&limits, "values of a line")[2];
    let (marked, dense) = cell.split_once(" or ").unwrap();
    [marked, dense].map(plain_number)
}

#[test]
fn the_rules_print_the_limits() {
    let rules = named_table(&specification(), "rules");
    for limit in limits() {
        let condition = row(&rules, &limit[3])[1].replace(['(', ')', ';'], " ");
        let words: Vec<&str> = condition
            .split(' ')
            .map(|w| w.trim_end_matches(','))
            .collect();
        for number in limit[1..3].iter().flat_map(|cell| cell.split(" or ")) {
            let number = number.split(" − ").next().unwrap();
            // Of what is counted the least number goes without saying.
            assert!(
                ["0", "1", "–"].contains(&number) || words.contains(&number),
                "{limit:?}"
            );
        }
    }
}

#[test]
fn each_limit_is_that_of_the_program_and_of_the_reader_in_python() {
    let python = fs::read_to_string(root().join("tools/simidx_ref.py")).unwrap();
    assert_eq!(limits().len(), 19, "a limit that no test knows");
    let constant = |name: &str| {
        let line = python
            .lines()
            .find_map(|line| line.strip_prefix(&format!("{name} = ")));
        plain_number(&line.expect(name).replace("**", "^"))
    };
    assert_eq!(most("fingerprint_count"), constant("MAX_COUNT"));
    assert_eq!(most("record_count"), constant("MAX_COUNT"));
    assert_eq!(most("table_count"), MAX_TABLE_COUNT as u128);
    assert_eq!(least(BLOCK_SIZE), MIN_BLOCK_SIZE.into());
    assert_eq!(most(BLOCK_SIZE), MAX_BLOCK_SIZE.into());
    assert_eq!(most("values in a block"), constant("MAX_VALUES_IN_BLOCK"));
    assert_eq!(least("address_bits"), constant("LINE_ADDRESS_BITS"));
    assert_eq!(most("address_bits"), constant("MAX_ADDRESS_BITS"));
    let [marked, dense] = most_values_of_a_line();
    assert_eq!(marked, 8 * constant("LINE_MARKS_LEN"));
    assert_eq!(dense, 1 << constant("LINE_ADDRESS_BITS"));
    let in_lines = most("values of a table in lines");
    assert_eq!(in_lines + 1, 1 << constant("RANK_BITS"));
    assert_eq!(most("codeword length"), constant("MAX_CODEWORD_LEN"));
    assert_eq!(most("bytes of a string id"), MAX_ID_LEN as u128);
    assert_eq!(most("bytes of a string id"), constant("MAX_STRING_LEN"));
    assert_eq!(most("bytes of the pipeline"), constant("MAX_PIPELINE_LEN"));
    assert_eq!(most("bytes of the metadata"), constant("MAX_METADATA_LEN"));
    assert_eq!(most("table_count"), constant("MAX_TABLE_COUNT"));
    assert_eq!(most("bits of a sketch"), constant("MAX_SKETCH_BITS"));
    assert_eq!(most("bits of a sketch"), MAX_SKETCH_BITS.into());
    let features = most("bytes of the features of sketches");
    assert_eq!(features, constant("MAX_FEATURES_LEN"));
    let text = specification();
    let formulas = |name| named_formulas(&text, name);
    // How many are in one unit: one more makes a second.
    for (name, block, formula, variable) in [
        ("PAGE_LEN", "paged-lengths", "pages", "P"),
        ("CHUNK_IDS", "groups-lengths", "chunks", "record_count"),
        ("BUCKET_LEN", "string-lengths", "buckets", "record_count"),
        ("KEYS_PER_GROUP", "keys-lengths", "groups", "block_count"),
    ] {
        let full = constant(name) as usize;
        let units = [full, full + 1].map(|n| formulas(block).value(formula, &[(variable, n)]));
        assert_eq!(units, [1, 2], "{name}");
    }
    let chunk = formulas("groups-lengths").value("P", &[("chunks", 1)]);
    assert_eq!(chunk as u128, constant("CHUNK_LEN"));
}

/// Whether a file opens.
fn opens(file: &[u8]) -> bool {
    simidx::Set::from_bytes(Storage::copy(file)).is_ok()
}

#[test]
fn sketches_reach_their_limits() {
    let limits = |what| [least(what), most(what)];
    for bits in limits("bits of a sketch") {
        assert!(SketchParameters::new(bits as u32, "x").is_ok());
        assert!(SketchParameters::new(bits as u32 + 1, "x").is_err());
    }
    let [shortest, longest] = limits("bytes of the features of sketches").map(|len| len as usize);
    for (len, is_right) in [
        (shortest, true),
        (shortest - 1, false),
        (longest, true),
        (longest + 1, false),
    ] {
        let made = SketchParameters::new(64, &"f".repeat(len));
        assert_eq!(made.is_ok(), is_right, "{len}");
    }
}

/// Options for one table without a prefix.
fn one_table(block_size: u32) -> BuildOptions {
    let design = TableDesign::partition(Width::W32, 0, 1).unwrap();
    simidx_testkit::options(design, block_size)
}

/// The file of a builder with these options and these fingerprints, if it takes them.
fn written(options: BuildOptions, fingerprints: &[u32]) -> Option<Vec<u8>> {
    let mut builder = IndexBuilder::new(Width::W32, options).ok()?;
    for &fingerprint in fingerprints {
        builder.push(fingerprint).unwrap();
    }
    let mut file = Vec::new();
    builder.finish(&mut file).ok()?;
    Some(file)
}

#[test]
fn the_longest_pipeline_is_written_and_read_and_no_longer_one() {
    let limit = most("bytes of the pipeline") as usize;
    for (len, fits) in [(limit, true), (limit + 1, false)] {
        let mut options = one_table(128);
        options.pipeline = Some(" ".repeat(len));
        let file = written(options, &[]);
        assert_eq!(file.is_some_and(|file| opens(&file)), fits, "{len}");
    }
    let sections = named_table(&specification(), "sections");
    let range = row(&sections, "13")[4].strip_prefix("1 to ").unwrap();
    assert_eq!(plain_number(range), limit as u128);
    let range = row(&sections, "14")[4].strip_prefix("1 to ").unwrap();
    assert_eq!(plain_number(range), most("bytes of the metadata"));
}

#[test]
fn the_longest_metadata_are_read_and_no_longer_ones() {
    let limit = most("bytes of the metadata") as usize;
    let base = simidx_testkit::build(one_table(128), &[7_u32]);
    for (len, verdict) in [(limit, "sound"), (limit + 1, "damaged V15")] {
        let value = (len - 6) as u32;
        let mut metadata = [&[1][..], &value.to_le_bytes(), b"k"].concat();
        metadata.resize(len, b'v');
        let mut parts = Parts::of(&base);
        parts.add(METADATA, metadata);
        assert_eq!(common_verdict(&parts.file()), verdict, "{len}");
    }
}

#[test]
fn the_longest_string_is_taken_and_no_longer_one() {
    let limit = most("bytes of a string id") as usize;
    for (len, fits) in [(limit, true), (limit + 1, false)] {
        let mut options = one_table(128);
        options.ids = simidx::IdKind::String;
        let mut builder = IndexBuilder::new(Width::W32, options).unwrap();
        assert_eq!(builder.push_with_id(1_u32, &"x".repeat(len)).is_ok(), fits);
    }
}

#[test]
fn the_most_records_are_read_and_no_more() {
    let limit = most("record_count");
    for (records, verdict) in [(limit, "sound"), (limit + 1, "damaged V8")] {
        let mut editor = Editor::new(simidx_testkit::build(one_table(128), &[7_u32]));
        editor.put_directory(directory::RECORD_COUNT, records);
        assert_eq!(common_verdict(&editor.finish()), verdict, "{records}");
    }
}

#[test]
fn the_longest_codewords_are_read_and_no_longer_ones() {
    let limit = most("codeword length") as u8;
    for (longest, verdict) in [(limit, "sound"), (limit + 1, "damaged V13")] {
        let mut file = ByHand::new(Codec::Xor, &[&[7]]);
        file.lengths.fill(0);
        for symbol in 0..=longest {
            file.lengths[usize::from(symbol)] = (symbol + 1).min(longest);
        }
        assert_eq!(common_verdict(&file.file()), verdict, "{longest}");
    }
    let loops = format!("for len := {} to {limit}:", least("codeword length"));
    assert!(named_block(&specification(), "huffman-code").contains(&loops));
}

#[test]
fn the_most_tables_are_written_and_read_and_no_more() {
    let limit = most("table_count") as usize;
    let design = |tables| TableDesign::from_masks(0, vec![0u32; tables]);
    assert!(design(limit + 1).is_err());
    let file = written(simidx_testkit::options(design(limit).unwrap(), 128), &[7]).unwrap();
    assert_eq!(common_verdict(&file), "sound");
    assert_eq!(encoding::Layout::parse(&file).tables.len(), limit);
}

#[test]
fn the_largest_block_cannot_pass_the_printed_number_of_values() {
    // Its count has room for as many, and each value but the key takes a bit of the rest.
    let most = most("values in a block") as usize;
    let largest = MAX_BLOCK_SIZE as usize;
    assert_eq!(1 << encoding::count_bits(largest), most);
    assert!(encoding::room(largest) + 1 < most);
}

#[test]
fn blocks_have_the_sizes_printed_and_no_others() {
    let range = least(BLOCK_SIZE) as u32..=most(BLOCK_SIZE) as u32;
    for size in (0..32).flat_map(|bits| [1u32 << bits, (1 << bits) + 1]) {
        let fits = size.is_power_of_two() && range.contains(&size);
        assert_eq!(written(one_table(size), &[7]).is_some(), fits, "{size}");
        let mut editor = Editor::new(simidx_testkit::build(one_table(128), &[7_u32]));
        editor.put_directory(directory::BLOCK_SIZE, size.into());
        let verdict = common_verdict(&editor.finish());
        // Blocks of another size than that which was written are too few or too many bytes.
        assert_eq!(verdict != "damaged V8", fits, "{size}: {verdict}");
    }
}
