//! Ids of records.

use std::fmt;

use simidx::format::MAX_ID_LEN;

use super::escape::unescape;

/// The id of a record.
///
/// ```
/// use simidx_input::RecordId;
///
/// assert_eq!(RecordId::Number(7).to_string(), "7");
/// assert_eq!(RecordId::Text("a/b.html".to_owned()).to_string(), "a/b.html");
/// ```
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub enum RecordId {
    /// A number, from a JSON integer.
    Number(u64),
    /// Text of 1 to [`MAX_ID_LEN`] bytes, of any characters.
    Text(String),
}

impl RecordId {
    /// The id that `text` is, or else what is wrong with it.
    pub(super) fn from_text(text: &str) -> Result<Self, String> {
        check(text)?;
        Ok(RecordId::Text(text.to_owned()))
    }

    /// The id that stands escaped in a column between tabs, or else what is wrong with it.
    pub(super) fn from_column(column: &str) -> Result<Self, String> {
        let text = unescape(column).map_err(|error| format!("id {column:?}: {error}"))?;
        check(&text)?;
        Ok(RecordId::Text(text.into_owned()))
    }
}

impl fmt::Display for RecordId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            RecordId::Number(number) => number.fmt(f),
            RecordId::Text(text) => text.fmt(f),
        }
    }
}

fn check(text: &str) -> Result<(), String> {
    if text.is_empty() {
        return Err("id is empty".into());
    }
    if text.len() > MAX_ID_LEN {
        let length = text.len();
        return Err(format!(
            "id is {length} bytes long, the limit is {MAX_ID_LEN}"
        ));
    }
    Ok(())
}

/// Whether some terminal or tool takes the character for more than a part of a line.
pub(super) fn breaks_line(c: char) -> bool {
    c.is_control() || matches!(c, '\u{2028}' | '\u{2029}')
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ids_are_printed_as_they_are() {
        assert_eq!(
            RecordId::Number(u64::MAX).to_string(),
            "18446744073709551615"
        );
        assert_eq!(RecordId::from_text("a b é").unwrap().to_string(), "a b é");
    }

    #[test]
    fn the_longest_id_is_accepted() {
        let longest = "x".repeat(MAX_ID_LEN);
        assert_eq!(RecordId::from_text(&longest), Ok(RecordId::Text(longest)));
    }

    #[test]
    fn bad_ids_are_refused() {
        let error = |text: &str| RecordId::from_text(text).unwrap_err();
        assert_eq!(error(""), "id is empty");
        let long = "x".repeat(70000);
        assert_eq!(error(&long), "id is 70000 bytes long, the limit is 65535");
    }

    #[test]
    fn characters_that_break_lines_are_accepted() {
        for text in ["a\0", "a\nb", "\u{1b}[31m", "\u{2028}", "a\\b"] {
            let id = RecordId::from_text(text);
            assert_eq!(id, Ok(RecordId::Text(text.to_owned())));
            let escaped = crate::Escaped(text).to_string();
            assert_eq!(RecordId::from_column(&escaped), id);
        }
        let error = RecordId::from_column(r"C:\dir").unwrap_err();
        assert_eq!(
            error,
            r#"id "C:\\dir": \d is no escape; a backslash is written \\"#
        );
        assert_eq!(RecordId::from_column("").unwrap_err(), "id is empty");
    }
}
