//! The lines of a table in lines, read and edited.

use crate::editor::Editor;
use crate::reference::LINE_PAGES;
pub use crate::reference::lines::*;

/// Where a line of a table is.
pub fn line_at(editor: &Editor, table: usize, line: usize) -> usize {
    editor.section(LINE_PAGES, table).offset + LINE_LEN * line
}

/// The bytes of a line of a table.
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
