//! Answers and figures of simidx as JSON and as HTML pages, for the program and the server.
//!
//! - [`JsonStyle`] writes answer objects with their matches and ids.
//! - [`report`] writes the figures of index files.
//! - [`page`] writes self-contained HTML pages.

mod json;
pub mod page;
pub mod report;

use std::fmt;
use std::io::{self, Write};

pub use json::JsonStyle;

/// Writes a row of a report for people.
///
/// # Errors
/// Any error of `out`.
pub fn row(
    out: &mut (impl Write + ?Sized),
    label: &str,
    value: impl fmt::Display,
) -> io::Result<()> {
    writeln!(out, "{label:<24}{value}")
}

/// Returns a text as one line without control characters, for example for a file name.
pub fn one_line(text: &str) -> String {
    let mut line = String::with_capacity(text.len());
    for c in text.chars() {
        match c.is_control() || matches!(c, '\u{2028}' | '\u{2029}') {
            true => line.extend(c.escape_default()),
            false => line.push(c),
        }
    }
    line
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_line_has_no_characters_that_move_the_cursor() {
        assert_eq!(
            one_line("a\nb\u{1b}[2J\u{2028}é"),
            "a\\nb\\u{1b}[2J\\u{2028}é"
        );
    }
}
