//! The file that the specification prints byte by byte.

use std::fs;

use simidx_testkit::document::{
    named_block, named_table, named_values, plain_number, root, specification,
};
use simidx_testkit::encoding::Layout;

/// A line of the hex dump: `offset  bytes  text`.
pub(crate) struct Line {
    pub(crate) at: usize,
    pub(crate) bytes: Vec<u8>,
    pub(crate) says: String,
}

impl Line {
    fn parse(line: &str) -> Self {
        let (offset, rest) = line.split_once("  ").unwrap();
        let (bytes, says) = rest.split_once("  ").unwrap_or((rest, ""));
        let bytes = match bytes.strip_prefix("00 * ") {
            Some(count) => vec![0; count.parse().unwrap()],
            None => bytes
                .split(' ')
                .map(|byte| u8::from_str_radix(byte, 16).unwrap())
                .collect(),
        };
        Line {
            at: usize::from_str_radix(offset, 16).unwrap(),
            bytes,
            says: says.trim().to_owned(),
        }
    }
}

/// The lines of the file in section 4.7, without headings.
pub(crate) fn worked_lines() -> Vec<Line> {
    let lines = named_block(&specification(), "worked-example").into_iter();
    let lines = lines.filter(|line| !line.trim_start().starts_with('#'));
    lines.map(|line| Line::parse(&line)).collect()
}

/// The file that section 4.7 prints.
pub(crate) fn worked_file() -> Vec<u8> {
    let mut file = Vec::new();
    for line in worked_lines() {
        assert_eq!(line.at, file.len(), "{}", line.says);
        file.extend(line.bytes);
    }
    file
}

#[test]
fn the_worked_hex_is_the_golden_file_without_a_gap() {
    let golden = fs::read(root().join("tests/data/v1/good-worked-example.simidx")).unwrap();
    assert_eq!(worked_file(), golden);
}

#[test]
fn the_worked_hex_decodes_to_the_records_that_the_text_names() {
    let index = simidx_testkit::open::<u32>(worked_file());
    let mut records = Vec::new();
    for fingerprint in index.fingerprints(0).unwrap() {
        let fingerprint = fingerprint.unwrap();
        let push =
            |id: simidx::Id<'_>| records.push([format!("{fingerprint:#010x}"), id.to_string()]);
        simidx_testkit::each_id(index.ids_of(fingerprint), push).unwrap();
    }
    let text = specification();
    assert_eq!(named_table(&text, "worked-records"), records);
    let values = named_values(&text, "worked-parameters");
    let value = |name: &str| plain_number(&values[name]);
    let layout = Layout::parse(&worked_file());
    assert_eq!(value("width"), layout.width.into());
    assert_eq!(value("max_distance"), index.max_distance().into());
    assert_eq!(value("tables"), layout.tables.len() as u128);
    assert_eq!(value("block_size"), layout.block_size as u128);
    for table in &layout.tables {
        assert_eq!(value("prefix bits"), table.mask.count_ones().into());
    }
}
