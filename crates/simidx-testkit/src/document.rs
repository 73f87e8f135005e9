//! Reading the specification: its text, what stands between phrases, its tables and marked blocks.

use std::fs;
use std::path::Path;

/// The folder of the project.
pub fn root() -> &'static Path {
    Path::new(concat!(env!("CARGO_MANIFEST_DIR"), "/../.."))
}

/// The text of `format-spec.md`.
pub fn specification() -> String {
    fs::read_to_string(root().join("format-spec.md")).expect("the specification can be read")
}

/// What stands in the text between two phrases, of which the first is there once.
#[track_caller]
pub fn between<'a>(text: &'a str, before: &str, after: &str) -> &'a str {
    assert_eq!(text.matches(before).count(), 1, "{before:?}");
    let (_, rest) = text.split_once(before).expect(before);
    let (found, _) = rest.split_once(after).expect(after);
    found
}

/// The lines of the block or table that follows a marker comment.
pub fn after_marker(marker: &str) -> Vec<String> {
    let text = specification();
    let mut lines = text
        .lines()
        .skip_while(|line| *line != format!("<!-- {marker} -->"))
        .skip(1)
        .peekable();
    let fenced = lines.next_if_eq(&"```").is_some();
    lines
        .take_while(|line| {
            if fenced {
                *line != "```"
            } else {
                line.starts_with('|')
            }
        })
        .map(str::to_owned)
        .collect()
}

/// The rows of the table behind a heading, each as its cells.
pub fn table_behind(heading: &str) -> Vec<Vec<String>> {
    let text = specification();
    let (_, rest) = text.split_once(heading).expect(heading);
    let rows = rest.lines().skip_while(|line| !line.starts_with('|'));
    let rows = rows.take_while(|line| line.starts_with('|')).skip(2);
    let cells = |row: &str| {
        let cells = row.trim_matches('|').split('|');
        cells
            .map(|cell| cell.trim().trim_matches('`').to_owned())
            .collect()
    };
    rows.map(cells).collect()
}

/// A number as the specification prints it.
#[track_caller]
pub fn plain_number(text: &str) -> u128 {
    let text = text.replace(',', "");
    let number = |text: &str| -> u128 { text.parse().unwrap_or_else(|_| panic!("{text}")) };
    match (text.strip_prefix("0x"), text.split_once('^')) {
        (Some(digits), _) => u128::from_str_radix(digits, 16).expect("hexadecimal digits"),
        (None, Some((base, exponent))) => number(base).pow(number(exponent) as u32),
        (None, None) => number(&text),
    }
}
