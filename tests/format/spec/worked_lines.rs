//! The lines of the printed file compared with its bytes.

use std::collections::BTreeMap;
use std::ops::Range;

use super::worked_file::{Line, worked_file, worked_lines};
use simidx_testkit::document::{named_table, numbers, plain_number, specification};
use simidx_testkit::editor::Editor;
use simidx_testkit::encoding::{self, Bits, crc32};

/// Lines whose bytes their text does not give whole: the two magics, and what parts a number in the midst of its bits.
const TOLD_IN_PART: usize = 5;

/// The sizes of the fields of section 10, by name.
fn fields() -> BTreeMap<String, usize> {
    let text = specification();
    let tables = [
        "header",
        "footer",
        "directory",
        "table-record",
        "section-record",
    ];
    let rows = tables.into_iter().flat_map(|name| named_table(&text, name));
    let field = |row: Vec<String>| {
        let name = row[3].split([' ', ',', ':', ';']).next()?;
        Some((name.to_owned(), row[1].parse().ok()?))
    };
    rows.filter_map(field).collect()
}

/// A number in little-endian bytes.
fn little_endian(number: u128, len: usize) -> Vec<u8> {
    number.to_le_bytes()[..len].to_vec()
}

/// The number that a text starts with, and what comes after it.
fn leading_number(text: &str) -> Option<(usize, &str)> {
    let end = text.find(|c: char| !c.is_ascii_digit())?;
    Some((text[..end].parse().ok()?, &text[end..]))
}

/// `block_size 128`, `kind 1, blocks; table 0`: fields of section 4 and their values.
fn field(line: &Line, fields: &BTreeMap<String, usize>) -> Option<Vec<u8>> {
    let mut bytes = Vec::new();
    for said in line.says.split("; ") {
        let (name, value) = said.split_once(' ')?;
        let size = match name {
            // As long as the width says.
            "prefix_mask" => line.bytes.len(),
            _ => *fields.get(name)?,
        };
        let value = value.split([',', ':']).next()?;
        if !value.starts_with(|c: char| c.is_ascii_digit()) {
            return None;
        }
        bytes.extend(little_endian(plain_number(value), size));
    }
    Some(bytes)
}

/// `last key, 0x80000000, …`, and `end 0: …` of a key group.
fn key(line: &Line) -> Option<Vec<u8>> {
    let value = line
        .says
        .strip_prefix("last key, ")
        .or_else(|| line.says.strip_prefix("end "))?;
    let value = value.split([',', ':']).next()?;
    value
        .starts_with(|c: char| c.is_ascii_digit())
        .then(|| little_endian(plain_number(value), line.bytes.len()))
}

/// `numbers 4, 6, 0, 9 in 4 bits: …`: a packed array.
fn packed(line: &Line) -> Option<Vec<u8>> {
    let (list, rest) = line.says.strip_prefix("numbers ")?.split_once(" in ")?;
    let (bits, _) = leading_number(rest)?;
    Some(encoding::packed_array(&numbers(list), bits))
}

/// The bytes of which a checksum at `at` is said to be.
fn summed(at: usize, of: &str, file: &[u8]) -> Range<usize> {
    let number = |at, len| encoding::number(file, at, len) as usize;
    let count = |before: &str, after: &str| -> usize {
        let (_, rest) = of.split_once(before).unwrap();
        rest.split_once(after).unwrap().0.parse().unwrap()
    };
    match of {
        "the section" => {
            let offset = number(at + 4, 8);
            offset..offset + number(at + 12, 8)
        }
        "the directory" => {
            let offset = number(at - 12, 8);
            offset..offset + number(at - 4, 4)
        }
        _ if of.starts_with("bytes ") => {
            let (first, last) = of["bytes ".len()..].split_once(" to ").unwrap();
            first.parse().unwrap()..last.parse::<usize>().unwrap() + 1
        }
        _ if of.ends_with(" bytes of the block") => {
            let block = at..at + 4 + count("the other ", " bytes");
            assert_eq!(block.len(), encoding::Layout::parse(file).block_size);
            at + 4..block.end
        }
        _ if of.ends_with(" before") => at - count("the ", " bytes")..at,
        _ if of.starts_with("the key group of 0 bytes") => at..at,
        _ => at - count("the page of ", " byte")..at,
    }
}

/// `CRC-32 of …`.
fn checksum(line: &Line, file: &[u8]) -> Option<Vec<u8>> {
    let of = line.says.strip_prefix("CRC-32 of ")?;
    let (of, place) = match of.split_once(", bound to (") {
        Some((of, place)) => (of, Some(numbers(place.strip_suffix(')')?))),
        None => (of, None),
    };
    let bytes = &file[summed(line.at, of, file)];
    let sum = match place {
        Some(place) => {
            let [kind, table, number] = place[..] else {
                return None;
            };
            encoding::bound_checksum(bytes, kind as u16, table as usize, number as usize)
        }
        None => crc32(bytes),
    };
    Some(sum.to_le_bytes().to_vec())
}

/// Returns the zero bytes of a line: padding, reserved and unused bytes.
fn zeros(line: &Line, file: &[u8]) -> Option<Vec<u8>> {
    let says = line.says.as_str();
    let end = line.at + line.bytes.len();
    if let Some(multiple) = says.strip_prefix("padding to a multiple of ") {
        assert_eq!(end % multiple.parse::<usize>().unwrap(), 0, "{says}");
    } else if says.starts_with("zero bits to the end of the block") {
        assert_eq!(end % encoding::Layout::parse(file).block_size, 0, "{says}");
    } else {
        let zero = [
            "padding",
            "reserved",
            "no checksum here",
            "the rest of the bitmap",
        ];
        let none = says.ends_with(": no set bits before it");
        if !none && !zero.contains(&says) {
            return None;
        }
    }
    Some(vec![0; line.bytes.len()])
}

/// ``bits `1011`: …``, the others zero; of a count also the number that they are said to be.
fn bits(line: &Line) -> Option<Vec<u8>> {
    let (printed, rest) = line.says.strip_prefix("bits `")?.split_once('`')?;
    if let Some(rest) = rest.strip_prefix(" say ") {
        let (values, _) = rest.split_once(" values, minus 1").unwrap();
        let count = usize::from_str_radix(printed, 2).unwrap() + 1;
        assert_eq!(values, count.to_string());
    }
    let bits: Bits = printed.chars().map(|bit| bit == '1').collect();
    let mut bytes = encoding::filled(bits);
    bytes.resize(line.bytes.len(), 0);
    Some(bytes)
}

/// `block 0 of table 0 holds 3 values, minus 1`.
fn block_count(line: &Line) -> Option<Vec<u8>> {
    let (_, values) = line.says.split_once(" holds ")?;
    let (values, _) = values.split_once(" values, minus 1")?;
    let count = plain_number(values) - 1;
    Some(little_endian(count, line.bytes.len()))
}

/// `code lengths of the positions 16 to 31: 19 and 20 have 1 bit; …`.
fn code_lengths(line: &Line) -> Option<Vec<u8>> {
    let says = line.says.strip_prefix("code lengths of the positions ")?;
    let (range, those) = says.split_once(": ")?;
    let (first, last) = range.split_once(" to ")?;
    let (first, last): (usize, usize) = (first.parse().unwrap(), last.parse().unwrap());
    let mut lengths = vec![0; last + 1 - first];
    if those != "none" {
        let (those, rest) = those.split_once(" ha")?;
        assert!(
            ["s 1 bit", "ve 1 bit"].contains(&rest.split(';').next()?),
            "{says}"
        );
        for position in those.split(" and ") {
            lengths[position.parse::<usize>().unwrap() - first] = 1;
        }
    }
    Some(lengths)
}

/// The bytes of a line as its text gives them, if it does.
fn told(line: &Line, file: &[u8], fields: &BTreeMap<String, usize>) -> Option<Vec<u8>> {
    checksum(line, file)
        .or_else(|| zeros(line, file))
        .or_else(|| key(line))
        .or_else(|| bits(line))
        .or_else(|| packed(line))
        .or_else(|| block_count(line))
        .or_else(|| code_lengths(line))
        .or_else(|| field(line, fields))
}

#[test]
fn every_line_of_the_worked_hex_says_what_its_bytes_are() {
    let (file, lines, fields) = (worked_file(), worked_lines(), fields());
    let (mut compared, mut untold) = (0, Vec::new());
    for line in &lines {
        assert_ne!(line.says, "", "nothing is said of {:08x}", line.at);
        if let Some(bytes) = told(line, &file, &fields) {
            assert_eq!(bytes, line.bytes, "{:08x} {}", line.at, line.says);
            compared += 1;
        } else {
            untold.push(&line.says[..]);
        }
    }
    println!("{compared} of {} lines compared: {untold:?}", lines.len());
    assert!(compared >= 95 && compared + TOLD_IN_PART >= lines.len());
}

#[test]
fn the_lines_of_the_blocks_name_the_values_and_positions_that_they_hold() {
    let (file, lines) = (worked_file(), worked_lines());
    let editor = Editor::new(file);
    let layout = &editor.layout;
    for table in 0..layout.tables.len() {
        let block = layout.block_at(table, 0)..layout.block_at(table, 0) + layout.block_size;
        let lines = lines.iter().filter(|line| block.contains(&line.at));
        let says: Vec<&str> = lines.map(|line| &line.says[..]).collect();
        let says = says.concat();
        let values = &editor.blocks(table)[0];
        assert_eq!(values.len(), 3);
        let (position, _) = layout.coding(table).split(values[0], values[1]);
        for told in [
            format!("say {} values", values.len()),
            format!("the first value, {:#010x},", values[0]),
            format!("in {} bits", layout.width),
            format!(": position {position}, tail "),
            format!(" gives {:#010x}", values[1]),
        ] {
            assert_eq!(says.matches(&told).count(), 1, "{told:?} in {says:?}");
        }
    }
}
