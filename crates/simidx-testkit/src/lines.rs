//! Parses and edits the lines of a table in lines (section 8.2).

use crate::editor::Editor;
use crate::encoding::{LINE_PAGES, number};

/// Bytes of a line.
pub const LINE_LEN: usize = 64;

/// The bit of a line's head that marks it as crowded, above those of the rank.
pub const CROWDED: u128 = 1 << 39;

/// The fields of a line, each as its place and its length.
pub mod field {
    pub type Field = (usize, usize);

    pub const HEAD: Field = (0, 5);
    pub const MARKS: Field = (5, 27);
    pub const ADDRESSES: Field = (32, 32);
    pub const FIRST: Field = (32, 8);
    pub const EXTRA_BITS: Field = (40, 8);
    pub const ZERO: Field = (48, 16);
}

/// Returns the value of a field of at most 16 bytes.
pub fn field_of(line: &[u8], (at, len): field::Field) -> u128 {
    number(line, at, len)
}

/// Returns the rank of a line.
pub fn rank_of(line: &[u8]) -> u128 {
    field_of(line, field::HEAD) % CROWDED
}

pub fn is_crowded(line: &[u8]) -> bool {
    field_of(line, field::HEAD) >= CROWDED
}

/// Returns the numbers of the set bits of a field.
pub fn bits_of_field(line: &[u8], (at, len): field::Field) -> Vec<usize> {
    let is_set = |bit: &usize| line[at + bit / 8] >> (bit % 8) & 1 == 1;
    (0..8 * len).filter(is_set).collect()
}

/// Returns the offset of a line of a table.
pub fn line_at(editor: &Editor, table: usize, line: usize) -> usize {
    editor.section(LINE_PAGES, table).offset + LINE_LEN * line
}

/// Returns the bytes of a line of a table.
pub fn line_of(editor: &Editor, table: usize, line: usize) -> &[u8] {
    &editor.file[line_at(editor, table, line)..][..LINE_LEN]
}

/// Writes a field of a line, by its table and number, and the checksum of its page.
pub fn put_field(
    editor: &mut Editor,
    (table, line): (usize, usize),
    (at, len): field::Field,
    value: u128,
) {
    let at = line_at(editor, table, line) + at;
    editor.put_number(at, value, len);
    editor.seal_pages_of(LINE_PAGES, table);
}

/// Flips a bit of a field of a line, by its table and number, and writes the checksum of its page.
pub fn flip_bit(
    editor: &mut Editor,
    (table, line): (usize, usize),
    (at, _): field::Field,
    bit: usize,
) {
    let at = line_at(editor, table, line) + at + bit / 8;
    editor.flip(at, 1 << (bit % 8));
    editor.seal_pages_of(LINE_PAGES, table);
}
