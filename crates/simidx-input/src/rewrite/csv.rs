//! Rows of comma-separated values, as RFC 4180 has them.

use std::io::{self, Write};

/// Writes a row. A cell is quoted where it must be.
pub(super) fn write_row<'a>(
    out: &mut dyn Write,
    cells: impl Iterator<Item = &'a str>,
) -> io::Result<()> {
    let mut row = String::new();
    for (number, cell) in cells.enumerate() {
        if number > 0 {
            row.push(',');
        }
        match cell.contains([',', '"', '\n', '\r']) {
            true => {
                row.push('"');
                row.push_str(&cell.replace('"', "\"\""));
                row.push('"');
            }
            false => row.push_str(cell),
        }
    }
    // A row of one empty cell would be a blank line, which readers skip.
    if row.is_empty() {
        row.push_str("\"\"");
    }
    row.push('\n');
    out.write_all(row.as_bytes())
}
