//! The limits that the specification prints: those of the program and of the reader in Python, reached and not passed.

use std::collections::BTreeMap;
use std::fs;

use simidx::{Codec, FORMAT_VERSION, Index, MAX_BLOCK_SIZE, MAX_ID_LEN, MIN_BLOCK_SIZE};

use super::common::document::{plain_number, root, specification, table_behind};
use super::common::editor::Editor;
use super::common::forged::ByHand;
use super::common::{self, reference};

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
        format!("| table_count | {} |", simidx::MAX_TABLE_COUNT),
    ] {
        assert!(text.contains(&row), "{row}");
    }
}

fn grouped(number: usize) -> String {
    format!("{},{:03}", number / 1000, number % 1000)
}

#[test]
fn each_limit_is_that_of_the_program_and_of_the_reference_reader() {
    let limits: BTreeMap<String, String> = table_behind("## 13. Limits")
        .into_iter()
        .map(|row| (row[0].clone(), row[1].clone()))
        .collect();
    let python = fs::read_to_string(root().join("tools/simidx_ref.py")).unwrap();
    let constant = |name: &str| {
        let line = python
            .lines()
            .find_map(|line| line.strip_prefix(&format!("{name} = ")));
        plain_number(&line.expect(name).replace("**", "^"))
    };
    let limit = |what: &str| {
        let text = limits
            .get(what)
            .unwrap_or_else(|| panic!("no limit of {what}"));
        plain_number(text.split(' ').next().unwrap())
    };
    assert_eq!(
        limit("fingerprint_count, record_count"),
        constant("MAX_COUNT")
    );
    assert_eq!(limit("table_count"), simidx::MAX_TABLE_COUNT as u128);
    assert_eq!(limit("block_size"), MIN_BLOCK_SIZE.into());
    assert_eq!(limit("values in a block"), constant("MAX_VALUES_IN_BLOCK"));
    assert_eq!(limit("codeword length"), constant("MAX_CODEWORD_LEN"));
    assert_eq!(limit("string id"), MAX_ID_LEN as u128);
    assert_eq!(limit("string id"), constant("MAX_STRING_LEN"));
    assert_eq!(limit("pipeline"), constant("MAX_PIPELINE_LEN"));
    assert_eq!(limits.len(), 7, "a limit that no test knows");
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

#[test]
fn limits_are_reached_and_not_passed_by_the_program() {
    let design = || simidx::TableDesign::<u32>::partition(0, 1).unwrap();
    let open = |file: Vec<u8>| Index::<u32, _>::from_bytes(file).map(|_| ());
    // A pipeline of 65,536 bytes, a string of 65,535 bytes, 2^48 records, and one more of each.
    for (len, fits) in [(65_536, true), (65_537, false)] {
        let mut options = common::options(design(), 128);
        options.pipeline = Some(" ".repeat(len));
        let builder = simidx::IndexBuilder::new(options);
        let finished = builder.and_then(|builder| {
            let mut file = Vec::new();
            builder.finish(&mut file).map(|_| file)
        });
        assert_eq!(finished.and_then(open).is_ok(), fits, "{len}");
    }
    for (len, fits) in [(MAX_ID_LEN, true), (MAX_ID_LEN + 1, false)] {
        let mut options = common::options(design(), 128);
        options.ids = simidx::IdKind::String;
        let mut builder = simidx::IndexBuilder::new(options).unwrap();
        assert_eq!(builder.push_with_string(1, &"x".repeat(len)).is_ok(), fits);
    }
    for (records, refused) in [((1u128 << 48), None), ((1 << 48) + 1, Some(8))] {
        let mut editor = Editor::new(common::build(common::options(design(), 128), &[7]));
        editor.put_directory(8, records, 8);
        let rule = match open(editor.finish()) {
            Ok(()) => None,
            Err(simidx::Error::Format(error)) => Some(error.rule),
            Err(error) => panic!("{error}"),
        };
        assert_eq!(rule, refused, "{records}");
    }
    // Codewords of twelve bits, and of thirteen.
    for (longest, fits) in [(12u8, true), (13, false)] {
        let mut file = ByHand::new(Codec::Xor, &[&[7]]);
        file.lengths.fill(0);
        for symbol in 0..=longest {
            file.lengths[usize::from(symbol)] = (symbol + 1).min(longest);
        }
        assert_eq!(Index::<u64, _>::from_bytes(file.file()).is_ok(), fits);
    }
}

#[test]
fn the_bits_of_a_count_are_as_printed() {
    let text = specification();
    for (bits, size) in [(10, 128), (12, 512), (13, 1024), (16, 8192), (16, 65_536)] {
        assert_eq!(reference::count_bits(size), bits);
    }
    assert!(
        text.contains("10 bits for\nB = 128, 12 for 512, 13 for 1,024 and 16 for 8,192 and more")
    );
}
