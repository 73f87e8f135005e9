//! Lines with a fingerprint and an optional id: the formats `hex`, `dec` and `tsv`.

use super::digits::{self, Radix};
use super::fields::CHOOSE;
use super::items::{ItemReader, Items};
use super::line_source::LineSource;
use super::source::Source;
use super::{Format, Record};
use crate::id;
use simidx::Width;

/// The greatest length of a line in bytes, twice that of an id.
pub(super) const MAX_LINE: u64 = 128 << 10;

/// Returns a reader of lines with a fingerprint and an optional id.
pub(super) fn reader(source: Source, format: Format, width: Width) -> ItemReader<LineSource> {
    let radix = match format {
        Format::Dec => Radix::Dec,
        _ => Radix::Hex,
    };
    let read = move |line: &LineSource, is_first| {
        let text = line.text()?;
        record(text, radix, width).map_err(|message| {
            // The input may be a table.
            match is_first && format == Format::Tsv && may_name_columns(text) {
                true => line.error(format!("{message}; if this line names columns, {CHOOSE}")),
                false => line.error(message),
            }
        })
    };
    ItemReader::new(LineSource::new(source, MAX_LINE), read).plain(radix, width)
}

/// Parses the record of a line.
fn record(line: &str, radix: Radix, width: Width) -> Result<Record, String> {
    let (digits, id) = match line.split_once('\t') {
        Some((digits, id)) => (digits, Some(id)),
        None => (line, None),
    };
    let fingerprint = match radix {
        Radix::Hex => digits::hex(digits, width)?,
        Radix::Dec => digits::dec(digits, width)?,
    };
    let id = match id {
        Some(id) if id.contains('\t') => return Err("more than two columns".into()),
        Some(id) => Some(id::from_column(id)?),
        None => None,
    };
    Ok(Record::fingerprint(fingerprint, id))
}

fn may_name_columns(line: &str) -> bool {
    let is_name = |value: &str| value.starts_with(|c: char| c.is_alphabetic() || c == '_');
    line.split('\t').all(is_name)
}

#[cfg(test)]
mod tests {
    use super::super::tests::{Read, fingerprint, read_all, read_by};
    use crate::Format;
    use simidx::Width;

    fn hex(bytes: &[u8]) -> Read {
        read_all(bytes, Format::Hex)
    }

    #[test]
    fn hexadecimal_lines_are_read() {
        let expected = [
            fingerprint(255, None),
            fingerprint(1, Some("a b")),
            fingerprint(2, None),
        ];
        assert_eq!(hex(b"00fF\n\n1\ta b\r\n2").records(), expected);
    }

    #[test]
    fn decimal_lines_are_read() {
        let read = read_by(b"4294967295\n10\tx\n", Format::Dec, &Width::W32.into());
        assert_eq!(
            read.records(),
            [
                fingerprint(u32::MAX.into(), None),
                fingerprint(10, Some("x"))
            ]
        );
    }

    #[test]
    fn wide_fingerprints_are_read() {
        let text = format!("{:x}\n{}", u128::MAX, 7);
        let read = read_by(text.as_bytes(), Format::Hex, &Width::W128.into());
        assert_eq!(
            read.records(),
            [fingerprint(u128::MAX, None), fingerprint(7, None)]
        );
    }

    #[test]
    fn bad_lines_are_reported_and_the_next_one_is_read() {
        for (line, message) in [
            (&b"xyz"[..], r#""xyz" is not a hexadecimal number"#),
            (b" 1", r#"" 1" is not a hexadecimal number"#),
            (b"1 \ta", r#""1 " is not a hexadecimal number"#),
            (b"\ta", r#""" is not a hexadecimal number"#),
            (
                b"12345678901234567",
                r#""12345678901234567" has 17 hexadecimal digits, at most 16 fit a 64-bit fingerprint"#,
            ),
            (b"1\t", "id is empty"),
            (b"1\ta\tb", "more than two columns"),
            (
                b"1\ta\\d".as_slice(),
                r#"id "a\\d": \d is not an escape; a backslash is written \\"#,
            ),
            (b"1\t\xff", "not valid UTF-8"),
        ] {
            let read = hex(&[b"1\n", line, b"\n2\n"].concat());
            assert_eq!(read.errors(), [format!("in:2: {message}")]);
            assert_eq!(read.records(), [fingerprint(1, None), fingerprint(2, None)]);
        }
    }

    #[test]
    fn long_ids_and_lines_are_refused() {
        let line = format!("1\t{}\n", "x".repeat(70000));
        let message = "in:1: id is 70000 bytes long, the limit is 65535";
        assert_eq!(hex(line.as_bytes()).errors(), [message]);
        let line = "1".repeat(200_000) + "\n1";
        let read = hex(line.as_bytes());
        assert_eq!(read.errors(), ["in:1: line is longer than 131072 bytes"]);
        assert_eq!(read.records(), [fingerprint(1, None)]);
    }

    #[test]
    fn tsv_lines_are_those_of_hex() {
        let read = read_all(b"a\n\nb\tid\n1\ta\tb\n", Format::Tsv);
        assert_eq!(
            read.records(),
            [fingerprint(10, None), fingerprint(11, Some("id"))]
        );
        assert_eq!(read.errors(), ["in:4: more than two columns"]);
    }

    #[test]
    fn names_of_columns_in_a_tsv_are_taken_for_that() {
        let read = read_all(b"id\ttext\n1\tx\n", Format::Tsv);
        let errors = read.errors();
        let end = "if this line names columns, choose with --text-field or --fingerprint-field";
        assert!(errors.len() == 1 && errors[0].ends_with(end), "{errors:?}");
        let read = read_all(b"1\tx\nid\ttext\n", Format::Tsv);
        assert_eq!(read.errors(), ["in:2: \"id\" is not a hexadecimal number"]);
        let read = hex(b"id\ttext\n");
        assert_eq!(read.errors(), ["in:1: \"id\" is not a hexadecimal number"]);
    }
}
