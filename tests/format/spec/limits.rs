//! The limits that the specification prints: those of the program and of the reader in Python, reached and not passed.

use std::collections::BTreeMap;
use std::fs;

use simidx::design::TableDesign;
use simidx::format::{FORMAT_VERSION, MAX_BLOCK_SIZE, MAX_ID_LEN, MIN_BLOCK_SIZE};
use simidx::{BuildOptions, Codec, IndexBuilder};

use simidx_testkit::document::{between, plain_number, root, specification, table_behind};
use simidx_testkit::editor::Editor;
use simidx_testkit::forged::ByHand;
use simidx_testkit::reference_reader::common_verdict;
use simidx_testkit::{self, reference};

#[test]
fn the_limits_are_those_of_the_program() {
    let text = specification();
    for row in [
        format!("Status: normative for format version {FORMAT_VERSION}."),
        format!("| V3 | format_version is known ({FORMAT_VERSION}) |"),
        format!(
            "| block_size | {MIN_BLOCK_SIZE} to {}, power of two |",
            grouped(MAX_BLOCK_SIZE as usize)
        ),
        format!("| string id | {} bytes |", grouped(MAX_ID_LEN)),
        format!("| table_count | {} |", simidx::design::MAX_TABLE_COUNT),
    ] {
        assert!(text.contains(&row), "{row}");
    }
}

fn grouped(number: usize) -> String {
    format!("{},{:03}", number / 1000, number % 1000)
}

/// The limits of section 13, as printed.
fn limits() -> BTreeMap<String, String> {
    let rows = table_behind("## 13. Limits").into_iter();
    rows.map(|row| (row[0].clone(), row[1].clone())).collect()
}

/// A limit of section 13, of a range the lower end.
#[track_caller]
pub(crate) fn limit(what: &str) -> u128 {
    let limits = limits();
    let text = limits.get(what).expect(what);
    plain_number(text.split(' ').next().unwrap())
}

#[test]
fn each_limit_is_that_of_the_program_and_of_the_reference_reader() {
    let python = fs::read_to_string(root().join("tools/simidx_ref.py")).unwrap();
    let constant = |name: &str| {
        let line = python
            .lines()
            .find_map(|line| line.strip_prefix(&format!("{name} = ")));
        plain_number(&line.expect(name).replace("**", "^"))
    };
    assert_eq!(
        limit("fingerprint_count, record_count"),
        constant("MAX_COUNT")
    );
    assert_eq!(
        limit("table_count"),
        simidx::design::MAX_TABLE_COUNT as u128
    );
    assert_eq!(limit("block_size"), MIN_BLOCK_SIZE.into());
    assert_eq!(limit("values in a block"), constant("MAX_VALUES_IN_BLOCK"));
    assert_eq!(limit("codeword length"), constant("MAX_CODEWORD_LEN"));
    assert_eq!(limit("string id"), MAX_ID_LEN as u128);
    assert_eq!(limit("string id"), constant("MAX_STRING_LEN"));
    assert_eq!(limit("pipeline"), constant("MAX_PIPELINE_LEN"));
    assert_eq!(limits().len(), 7, "a limit that no test knows");
    for (name, phrase) in [
        ("PAGE_LEN", "[4096·i, min(4096·(i+1), P))"),
        ("CHUNK_LEN", "chunks of 64 bytes"),
        ("CHUNK_IDS", "⌈record_count / 448⌉"),
        ("STRINGS_PER_OFFSET", "⌈record_count / 16⌉"),
    ] {
        let number = constant(name).to_string();
        assert!(
            phrase.contains(&number) && specification().contains(phrase),
            "{name}"
        );
    }
}

/// Whether a file opens.
fn opens(file: &[u8]) -> bool {
    simidx::AnyIndex::from_bytes(file).is_ok()
}

/// Options for one table without a prefix.
fn one_table(block_size: u32) -> BuildOptions<u32> {
    let design = TableDesign::partition(0, 1).unwrap();
    simidx_testkit::options(design, block_size)
}

/// The file of a builder with these options and these fingerprints, if it takes them.
fn written(options: BuildOptions<u32>, fingerprints: &[u32]) -> Option<Vec<u8>> {
    let mut builder = IndexBuilder::new(options).ok()?;
    for &fingerprint in fingerprints {
        builder.push(fingerprint).unwrap();
    }
    let mut file = Vec::new();
    builder.finish(&mut file).ok()?;
    Some(file)
}

#[test]
fn the_longest_pipeline_is_written_and_read_and_no_longer_one() {
    let limit = limit("pipeline") as usize;
    for (len, fits) in [(limit, true), (limit + 1, false)] {
        let mut options = one_table(128);
        options.pipeline = Some(" ".repeat(len));
        let file = written(options, &[]);
        assert_eq!(file.is_some_and(|file| opens(&file)), fits, "{len}");
    }
    let range = &table_behind("### 10.4 Sections")[7][4];
    assert_eq!(
        plain_number(range.strip_prefix("1 to ").unwrap()),
        limit as u128
    );
}

#[test]
fn the_longest_string_is_taken_and_no_longer_one() {
    let limit = limit("string id") as usize;
    for (len, fits) in [(limit, true), (limit + 1, false)] {
        let mut options = one_table(128);
        options.ids = simidx::IdKind::String;
        let mut builder = IndexBuilder::new(options).unwrap();
        assert_eq!(builder.push_with_string(1, &"x".repeat(len)).is_ok(), fits);
    }
}

#[test]
fn the_most_records_are_read_and_no_more() {
    let limit = limit("fingerprint_count, record_count");
    for (records, verdict) in [(limit, "sound"), (limit + 1, "damaged V8")] {
        let mut editor = Editor::new(simidx_testkit::build(one_table(128), &[7]));
        editor.put_directory(8, records, 8);
        assert_eq!(common_verdict(&editor.finish()), verdict, "{records}");
    }
}

#[test]
fn the_longest_codewords_are_read_and_no_longer_ones() {
    let limit = limit("codeword length") as u8;
    for (longest, verdict) in [(limit, "sound"), (limit + 1, "damaged V13")] {
        let mut file = ByHand::new(Codec::Xor, &[&[7]]);
        file.lengths.fill(0);
        for symbol in 0..=longest {
            file.lengths[usize::from(symbol)] = (symbol + 1).min(longest);
        }
        assert_eq!(common_verdict(&file.file()), verdict, "{longest}");
    }
    let text = specification();
    for (before, after) in [
        ("It is valid (V13) if no length is above ", " and"),
        ("for len := 1 to ", ":"),
    ] {
        assert_eq!(plain_number(between(&text, before, after)), limit.into());
    }
}

#[test]
fn the_most_tables_are_written_and_read_and_no_more() {
    let limit = limit("table_count") as usize;
    let design = |tables| TableDesign::from_masks(0, vec![0u32; tables]);
    assert!(design(limit + 1).is_err());
    let file = written(simidx_testkit::options(design(limit).unwrap(), 128), &[7]).unwrap();
    assert_eq!(common_verdict(&file), "sound");
    assert_eq!(reference::Layout::parse(&file).tables.len(), limit);
    let text = specification();
    let fields = between(&text, "u8 | table_count, 1 to ", " |");
    assert_eq!(plain_number(fields), limit as u128);
}

#[test]
fn blocks_hold_as_many_values_as_printed_and_no_more() {
    let limit = limit("values in a block") as u32;
    for (values, blocks) in [(limit, 1), (limit + 1, 2)] {
        let mut options = one_table(MAX_BLOCK_SIZE);
        options.codec = Some(Codec::EliasFano);
        let run: Vec<u32> = (0..values).collect();
        let file = written(options, &run).unwrap();
        assert_eq!(common_verdict(&file), "sound");
        let layout = reference::Layout::parse(&file);
        assert_eq!(layout.tables[0].block_count, blocks, "{values} values");
    }
}

#[test]
fn blocks_have_the_sizes_printed_and_no_others() {
    let text = specification();
    let table = limits();
    let range = table["block_size"].strip_suffix(", power of two").unwrap();
    let (least, most) = range.split_once(" to ").unwrap();
    let range = plain_number(least) as u32..=plain_number(most) as u32;
    for (before, after) in [
        ("`block_size` is a\npower of two from ", ". Each"),
        ("| V8 | block_size is a power of two from ", ";"),
    ] {
        let printed = between(&text, before, after);
        assert_eq!(printed, format!("{least} to {most}"));
    }
    for size in (0..32).flat_map(|bits| [1u32 << bits, (1 << bits) + 1]) {
        let fits = size.is_power_of_two() && range.contains(&size);
        assert_eq!(written(one_table(size), &[7]).is_some(), fits, "{size}");
        let mut editor = Editor::new(simidx_testkit::build(one_table(128), &[7]));
        editor.put_directory(24, size.into(), 4);
        let verdict = common_verdict(&editor.finish());
        // Blocks of another size than that which was written are too few or too many bytes.
        assert_eq!(verdict != "damaged V8", fits, "{size}: {verdict}");
    }
}
