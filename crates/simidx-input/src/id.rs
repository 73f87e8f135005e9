//! Ids of records.

use simidx::IdBuf;
use simidx::format::MAX_ID_LEN;

use super::escape::unescape;

/// Parses an id from a text.
pub(super) fn from_text(text: &str) -> Result<IdBuf, String> {
    check(text)?;
    Ok(IdBuf::from(text))
}

/// Parses an escaped id from a column between tabs.
pub(super) fn from_column(column: &str) -> Result<IdBuf, String> {
    let text = unescape(column).map_err(|error| format!("id {column:?}: {error}"))?;
    check(&text)?;
    Ok(IdBuf::String(text.into_owned()))
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

/// Whether a terminal or tool may interpret the character as more than a part of a line.
pub(super) fn breaks_line(c: char) -> bool {
    c.is_control() || matches!(c, '\u{2028}' | '\u{2029}')
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ids_are_printed_as_they_are() {
        assert_eq!(IdBuf::Number(u64::MAX).to_string(), "18446744073709551615");
        assert_eq!(from_text("a b é").unwrap().to_string(), "a b é");
    }

    #[test]
    fn the_longest_id_is_accepted() {
        let longest = "x".repeat(MAX_ID_LEN);
        assert_eq!(from_text(&longest), Ok(IdBuf::String(longest)));
    }

    #[test]
    fn bad_ids_are_refused() {
        let error = |text: &str| from_text(text).unwrap_err();
        assert_eq!(error(""), "id is empty");
        let long = "x".repeat(70000);
        assert_eq!(error(&long), "id is 70000 bytes long, the limit is 65535");
    }

    #[test]
    fn characters_that_break_lines_are_accepted() {
        for text in ["a\0", "a\nb", "\u{1b}[31m", "\u{2028}", "a\\b"] {
            let id = from_text(text);
            assert_eq!(id, Ok(IdBuf::String(text.to_owned())));
            let escaped = crate::Escaped(text).to_string();
            assert_eq!(from_column(&escaped), id);
        }
        let error = from_column(r"C:\dir").unwrap_err();
        assert_eq!(
            error,
            r#"id "C:\\dir": \d is not an escape; a backslash is written \\"#
        );
        assert_eq!(from_column("").unwrap_err(), "id is empty");
    }
}
