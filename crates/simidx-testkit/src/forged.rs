//! Good files to be made wrong by hand, and what both readers say about the wrong ones.

use simidx::design::TableDesign;
use simidx::format::FormatClass::Damaged;
use simidx::format::{FormatClass, FormatError};
use simidx::{AnyIndex, BuildOptions, Codec, Error, Index};

use crate::editor::{Editor, assemble};
use crate::reference::{self, Bits, Coding, crc32, keys_section};
use crate::reference_reader::common_verdict;
use crate::{build, build_numbers, build_strings, each_id, options, uniform};

/// Two tables in small blocks.
pub fn small_in(codec: Codec) -> BuildOptions<u64> {
    let mut options = options(TableDesign::choose_bands(1, 2).unwrap(), 128);
    options.codec = Some(codec);
    options
}

/// The same in the codec of the paper.
pub fn small() -> BuildOptions<u64> {
    small_in(Codec::Xor)
}

/// Sixty values in two tables of several blocks, without ids.
pub fn plain_in(codec: Codec) -> Editor {
    Editor::new(build(small_in(codec), &uniform(60)))
}

/// The same in the codec of the paper.
pub fn plain() -> Editor {
    plain_in(Codec::Xor)
}

pub fn with_pipeline() -> Editor {
    let mut options = small();
    options.pipeline = Some("{\"é\":1}".into());
    Editor::new(build(options, &uniform(10)))
}

/// Ten fingerprints, the ids 0 to 9.
pub fn numbers() -> Editor {
    let records: Vec<(u64, u64)> = (0..10).map(|i| (i << 50, i)).collect();
    Editor::new(build_numbers(small(), &records))
}

/// Five fingerprints with two ids each.
pub fn grouped_numbers() -> Editor {
    let records: Vec<(u64, u64)> = (0..10).map(|i| ((i / 2) << 50, i * 100)).collect();
    Editor::new(build_numbers(small(), &records))
}

/// Forty fingerprints with string ids of two bytes.
pub fn strings() -> Editor {
    let records: Vec<(u64, String)> = (0..40).map(|i| (i << 50, format!("{i:02}"))).collect();
    Editor::new(build_strings(small(), &records))
}

fn format_error(error: Error) -> FormatError {
    match error {
        Error::Format(error) => error,
        other => panic!("{other}"),
    }
}

/// Both readers name the rule and its class.
fn assert_judged(file: &[u8], rule: u8, class: FormatClass) {
    assert_eq!(common_verdict(file), format!("{} V{rule}", class.name()));
}

/// The rule and class with which a file is refused when it is opened, by both readers.
pub fn refusal(file: &[u8]) -> (u8, FormatClass) {
    let any = AnyIndex::from_bytes(file)
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

/// The first rule that a full check of a file finds broken, by both readers; the file must open.
pub fn found(file: Vec<u8>) -> (u8, FormatClass) {
    let index = Index::<u64, _>::from_bytes(&file[..]).expect("the file can be opened");
    let report = index.verify();
    assert!(!report.is_sound(), "nothing was found");
    let problem = &report.problems[0];
    assert_judged(&file, problem.rule(), problem.class());
    (problem.rule(), problem.class())
}

/// What reading a table gives first as an error. Both readers judge the file alike.
pub fn read(file: Vec<u8>, table: usize) -> (u8, FormatClass) {
    common_verdict(&file);
    let index = Index::<u64, _>::from_bytes(file).expect("the file can be opened");
    let error = index.fingerprints(table).unwrap().find_map(Result::err);
    let error = format_error(error.expect("the table can be read"));
    assert_eq!(error.table(), Some(table as u8));
    (error.rule(), error.class())
}

/// What reading the ids of a fingerprint gives as an error. Both readers judge the file alike.
pub fn read_ids(file: Vec<u8>, fingerprint: u64) -> (u8, FormatClass) {
    common_verdict(&file);
    let index = Index::<u64, _>::from_bytes(file).expect("the file can be opened");
    let error = each_id(index.ids_of(fingerprint), |_| ()).expect_err("the ids can be read");
    let error = format_error(error);
    (error.rule(), error.class())
}

/// Block rules are found by a reader and by a full check alike.
pub fn assert_block_rule(file: Vec<u8>, table: usize, rule: u8) {
    assert_eq!(read(file.clone(), table), (rule, Damaged));
    assert_eq!(found(file), (rule, Damaged));
}

/// Puts a fingerprint into table 1, by changing its bit 32, which table 0 then lacks (V36); returns it.
pub fn put_stranger(editor: &mut Editor) -> u64 {
    let last = editor.layout.tables[1].block_count - 1;
    let mut values = values_of(editor, 1, last);
    let end = values.len() - 1;
    values[end] ^= 1;
    editor.put_values(1, last, &values);
    // The halves are swapped in table 1.
    let stranger = u64::try_from(values[end]).expect("it has 64 bits");
    stranger.rotate_right(32)
}

/// The values of a block, the key the last of them.
pub fn values_of(editor: &Editor, table: usize, block: usize) -> Vec<u128> {
    editor.layout.blocks(&editor.file, table)[block].1.clone()
}

/// The number of a codec in the file.
pub fn codec_number(codec: Codec) -> u8 {
    match codec {
        Codec::Xor => reference::XOR,
        Codec::Gap => reference::GAP,
        Codec::EliasFano => reference::EF,
    }
}

/// A file of 64 bits with one table, without ids, in which nothing need be right.
#[derive(Debug, Clone)]
pub struct ByHand {
    pub codec: Codec,
    pub lengths: Vec<u8>,
    pub blocks: Vec<Vec<u8>>,
    pub keys: Vec<u8>,
    pub fingerprint_count: usize,
}

/// Bytes of a block of a [`ByHand`].
const BLOCK_SIZE: usize = 128;

impl ByHand {
    /// A file of these blocks, the last value of each its key. Every delta position has a codeword, of six bits.
    pub fn new(codec: Codec, blocks: &[&[u128]]) -> Self {
        let len = if codec == Codec::EliasFano { 0 } else { 6 };
        let keys: Vec<u128> = blocks.iter().map(|b| b[b.len() - 1]).collect();
        let mut file = ByHand {
            codec,
            lengths: vec![len; 64],
            blocks: Vec::new(),
            keys: keys_section(&keys, 64),
            fingerprint_count: blocks.iter().map(|block| block.len()).sum(),
        };
        let mut before = None;
        for block in blocks {
            let stream = file.coding().stream(before, block);
            file.push(block.len(), &stream);
            before = block.last().copied();
        }
        file
    }

    pub fn coding(&self) -> Coding {
        Coding::new(codec_number(self.codec), &self.lengths, 64)
    }

    /// Adds a block of that count and stream.
    pub fn push(&mut self, count: usize, stream: &Bits) {
        self.blocks
            .push(reference::block(count, stream, BLOCK_SIZE));
    }

    /// Puts a block of that count and stream in the place of another.
    pub fn replace(&mut self, block: usize, count: usize, stream: &Bits) {
        self.blocks[block] = reference::block(count, stream, BLOCK_SIZE);
    }

    /// The file, all its checksums right.
    pub fn file(&self) -> Vec<u8> {
        let mut front = b"\x89SIMIDX\x0a\x01\0\x40\0".to_vec();
        front.extend_from_slice(&crc32(&front).to_le_bytes());
        front.resize(BLOCK_SIZE, 0);
        front.extend(self.blocks.concat());
        let keys_at = front.len().next_multiple_of(64);
        front.resize(keys_at, 0);
        front.extend_from_slice(&self.keys);
        front.resize(front.len().next_multiple_of(64), 0);

        let mut directory = Vec::new();
        let mut put = |number: usize, len: usize| {
            directory.extend_from_slice(&(number as u128).to_le_bytes()[..len]);
        };
        let fields = [
            (self.fingerprint_count, 8),
            (self.fingerprint_count, 8),
            (0, 8),
            (BLOCK_SIZE, 4),
            (2, 2),
            (1, 1),
            (0, 9),
        ];
        let table = [
            (0, 16),
            (self.blocks.len(), 8),
            (codec_number(self.codec).into(), 8),
        ];
        let lengths = self.lengths.iter().map(|&len| (usize::from(len), 1));
        let blocks_len = self.blocks.len() * BLOCK_SIZE;
        let blocks = [(1, 8), (BLOCK_SIZE, 8), (blocks_len, 8)];
        let keys_crc = crc32(&self.keys) as usize;
        let keys = [(2, 4), (keys_crc, 4), (keys_at, 8), (self.keys.len(), 8)];
        for (number, len) in fields
            .into_iter()
            .chain(table)
            .chain(lengths)
            .chain(blocks)
            .chain(keys)
        {
            put(number, len);
        }
        assemble(&front, &directory)
    }
}
