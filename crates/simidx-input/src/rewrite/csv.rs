//! Writes rows of comma-separated values by RFC 4180.

use std::io::{self, Write};

/// The separator of rows without another one.
const COMMA: u8 = b',';

/// Writes a row of comma-separated values. A cell is quoted only if necessary.
///
/// ```
/// let mut out = Vec::new();
/// simidx_input::write_csv_row(&mut out, ["a", "b,c"].into_iter())?;
/// assert_eq!(out, b"a,\"b,c\"\n");
/// # Ok::<(), std::io::Error>(())
/// ```
///
/// # Errors
///
/// Any error of `out`.
pub fn write_csv_row<'a>(
    out: &mut dyn Write,
    cells: impl Iterator<Item = &'a str>,
) -> io::Result<()> {
    let mut row = Vec::new();
    for (number, cell) in cells.enumerate() {
        if number > 0 {
            row.push(COMMA);
        }
        push_cell(&mut row, cell, COMMA);
    }
    // A row of one empty cell would be a blank line, which readers skip.
    if row.is_empty() {
        row.extend(b"\"\"");
    }
    row.push(b'\n');
    out.write_all(&row)
}

/// Appends a cell to a row, in quotation marks if necessary.
pub(super) fn push_cell(row: &mut Vec<u8>, cell: &str, delimiter: u8) {
    let needs_quotes = |byte| byte == delimiter || b"\"\n\r".contains(&byte);
    match cell.bytes().any(needs_quotes) {
        true => {
            row.push(b'"');
            row.extend(cell.replace('"', "\"\"").bytes());
            row.push(b'"');
        }
        false => row.extend(cell.bytes()),
    }
}
