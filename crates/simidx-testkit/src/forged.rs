//! Valid files to be damaged by hand, and the verdicts of both readers on damaged ones.

use simidx::design::TableDesign;
use simidx::format::{FormatClass, FormatError};
use simidx::{BuildOptions, Codec, Error, Index, Set, Storage, Width};

use crate::editor::Editor;
use crate::encoding::{
    self, BLOCK_COUNTS, BLOCKS, Bits, Coding, DIRECTORY_FIXED_LEN, KEY_ENTRIES, KEY_GROUPS,
    content_id_of_fingerprints, directory, key_sections,
};
use crate::parts::{Part, Parts};
use crate::python_reader::common_verdict;
use crate::{build, build_numbers, build_strings, options, uniform};

/// The codecs of tables in blocks.
pub const IN_BLOCKS: [Codec; 3] = [Codec::Xor, Codec::Gap, Codec::EliasFano];

/// Returns options for two tables in small blocks.
pub fn small() -> BuildOptions {
    let mut options = options(TableDesign::choose_bands(Width::W64, 1, 2).unwrap(), 128);
    options.codec = Some(Codec::Xor);
    options
}

/// Returns a file with sixty values in two tables of several blocks, without ids.
pub fn plain() -> Editor {
    Editor::new(build(small(), &uniform::<u64>(60)))
}

/// Returns a file with ten fingerprints and the ids 0 to 9.
pub fn numbers() -> Editor {
    let records: Vec<(u64, u64)> = (0..10).map(|i| (i << 50, i)).collect();
    Editor::new(build_numbers(small(), &records))
}

/// Returns a file with five fingerprints of two ids each.
pub fn grouped_numbers() -> Editor {
    let records: Vec<(u64, u64)> = (0..10).map(|i| ((i / 2) << 50, i * 100)).collect();
    Editor::new(build_numbers(small(), &records))
}

/// Returns a file like [`grouped_numbers`], with the order of the ids.
pub fn ordered_numbers() -> Editor {
    let records: Vec<(u64, u64)> = (0..10).map(|i| (i << 50, 7 * i % 10)).collect();
    let mut options = small();
    options.id_lookup = true;
    Editor::new(build_numbers(options, &records))
}

/// Returns a file with forty fingerprints and string ids of two bytes.
pub fn strings() -> Editor {
    let records: Vec<(u64, String)> = (0..40).map(|i| (i << 50, format!("{i:02}"))).collect();
    Editor::new(build_strings(small(), &records))
}

/// Returns a file with forty records of twenty fingerprints and string ids, some of them equal, and their order.
pub fn ordered_strings() -> Editor {
    let id = |i: u64| format!("{:02}", 7 * i % 30);
    let records: Vec<(u64, String)> = (0..40).map(|i| ((i / 2) << 50, id(i))).collect();
    let mut options = small();
    options.id_lookup = true;
    Editor::new(build_strings(options, &records))
}

fn format_error(error: Error) -> FormatError {
    match error {
        Error::Format(error) => error,
        other => panic!("{other}"),
    }
}

/// Asserts that both readers name the rule and its class.
fn assert_judged(file: &[u8], rule: u8, class: FormatClass) {
    assert_eq!(common_verdict(file), format!("{} V{rule}", class.name()));
}

/// Returns the rule and class with which both readers refuse to open a file.
pub fn refusal(file: &[u8]) -> (u8, FormatClass) {
    let any = Set::from_bytes(Storage::copy(file))
        .map(|_| ())
        .expect_err("a bad file opens");
    let error = format_error(any);
    assert!(
        error
            .to_string()
            .contains(&format!("rule V{}", error.rule()))
    );
    assert_judged(file, error.rule(), error.class());
    (error.rule(), error.class())
}

/// Returns the first rule that both readers find broken by a full check; the file must open.
pub fn found(file: Vec<u8>) -> (u8, FormatClass) {
    let index = Index::<u64>::from_bytes(Storage::copy(&file)).expect("the file can be opened");
    let report = index.verify(&Default::default()).unwrap();
    assert!(!report.is_sound(), "nothing was found");
    let problem = &report.problems[0];
    assert_judged(&file, problem.rule(), problem.class());
    (problem.rule(), problem.class())
}

/// Changes bit 32 of a fingerprint in table 1, so that table 0 lacks it (V36); returns the new one.
pub fn put_stranger(editor: &mut Editor) -> u64 {
    let last = editor.layout.tables[1].block_count - 1;
    let mut values = editor.blocks(1).swap_remove(last);
    let end = values.len() - 1;
    values[end] ^= 1;
    editor.put_values(1, last, &values);
    // Table 1 has the halves swapped.
    let stranger = u64::try_from(values[end]).expect("it has 64 bits");
    stranger.rotate_right(32)
}

/// Returns the number of a codec in the file.
pub fn codec_number(codec: Codec) -> u8 {
    match codec {
        Codec::Xor => encoding::XOR,
        Codec::Gap => encoding::GAP,
        Codec::EliasFano => encoding::EF,
        Codec::Lines => encoding::LINES,
        other => panic!("no number for {other:?}"),
    }
}

/// A file of 64 bits with one table, without ids; its contents may be invalid.
#[derive(Debug, Clone)]
pub struct ByHand {
    pub codec: Codec,
    pub lengths: Vec<u8>,
    pub blocks: Vec<Vec<u8>>,
    /// The key groups and the key entries.
    pub keys: (Vec<u8>, Vec<u8>),
    /// The number of values that the file claims to have, and those of each block.
    pub fingerprint_count: usize,
    pub block_counts: Vec<usize>,
    pub content_id: u128,
}

/// Bytes of a block of a [`ByHand`].
const BLOCK_SIZE: usize = 128;

impl ByHand {
    /// Creates a file of these blocks, whose last values are their keys. Every delta position has a codeword of six
    /// bits.
    pub fn new(codec: Codec, blocks: &[&[u128]]) -> Self {
        let len = if codec == Codec::EliasFano { 0 } else { 6 };
        let keys: Vec<u128> = blocks.iter().map(|b| b[b.len() - 1]).collect();
        let mut file = ByHand {
            codec,
            lengths: vec![len; 64],
            blocks: Vec::new(),
            keys: key_sections(&keys, 64, 0),
            fingerprint_count: 0,
            block_counts: Vec::new(),
            content_id: 0,
        };
        let mut before = None;
        for block in blocks {
            let stream = file.coding().stream(before, block);
            let place = (0, file.blocks.len());
            file.blocks
                .push(encoding::block(block.len(), &stream, BLOCK_SIZE, place));
            before = block.last().copied();
        }
        file.count(blocks);
        file
    }

    /// Sets the counts to those of these blocks.
    pub fn count(&mut self, blocks: &[&[u128]]) {
        self.fingerprint_count = blocks.iter().map(|block| block.len()).sum();
        self.block_counts = blocks.iter().map(|block| block.len()).collect();
        self.content_id = content_id_of_fingerprints(&blocks.concat(), 64);
    }

    pub fn coding(&self) -> Coding {
        Coding::new(codec_number(self.codec), &self.lengths, 64)
    }

    /// Replaces a block by one with this count and stream.
    pub fn replace(&mut self, block: usize, count: usize, stream: &Bits) {
        self.blocks[block] = encoding::block(count, stream, BLOCK_SIZE, (0, block));
    }

    /// Returns the parts of the file.
    pub fn parts(&self) -> Parts {
        let mut record = (self.blocks.len() as u64).to_le_bytes().to_vec();
        record.extend([codec_number(self.codec), 0, 0, 0, 0, 0, 0, 0]);
        record.extend([0; 8]);
        record.extend(&self.lengths);
        let counts = self.block_counts.iter();
        let counts = counts.flat_map(|&count| (count as u16).wrapping_sub(1).to_le_bytes());
        let part = |(kind, bytes)| Part {
            kind,
            table: 0,
            bytes,
        };
        let sections = [
            (BLOCKS, self.blocks.concat()),
            (BLOCK_COUNTS, counts.collect()),
            (KEY_GROUPS, self.keys.0.clone()),
            (KEY_ENTRIES, self.keys.1.clone()),
        ];
        let mut parts = Parts {
            width: 64,
            fixed: vec![0; DIRECTORY_FIXED_LEN],
            tables: vec![record],
            sections: sections.into_iter().map(part).collect(),
        };
        let count = self.fingerprint_count as u128;
        parts.put(directory::FINGERPRINT_COUNT, count);
        parts.put(directory::RECORD_COUNT, count);
        parts.put(directory::CONTENT_ID, self.content_id);
        parts.put(directory::BLOCK_SIZE, BLOCK_SIZE as u128);
        parts.put(directory::TABLE_RECORD_LEN, parts.tables[0].len() as u128);
        parts
    }

    /// Returns the file with valid checksums.
    pub fn file(&self) -> Vec<u8> {
        self.parts().file()
    }
}
