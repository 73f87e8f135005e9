//! Detects the delimiter of a table from its first line.

use csv_core::ReaderBuilder;

use crate::ReadOptions;
use crate::table::TableColumns;

/// The candidates, in this order.
const DELIMITERS: [u8; 4] = [b',', b';', b'\t', b'|'];

/// Returns the delimiter with which a line names the columns of the fields; otherwise the one that yields the most
/// columns.
pub(super) fn of(line: &[u8], options: &ReadOptions) -> u8 {
    let most = DELIMITERS
        .into_iter()
        .rev()
        .max_by_key(|&d| names(line, d).len());
    in_header(line, options).or(most).unwrap_or(DELIMITERS[0])
}

/// Returns the delimiter with which a line has at least two columns, including those of the fields. The line is then
/// certainly a header.
pub(crate) fn in_header(line: &[u8], options: &ReadOptions) -> Option<u8> {
    DELIMITERS.into_iter().find(|&delimiter| {
        let names = names(line, delimiter);
        let names: Vec<&str> = names.iter().map(String::as_str).collect();
        names.len() > 1 && TableColumns::find(&names, options).is_ok()
    })
}

/// Returns the values of a line; none if it is not valid UTF-8.
pub(crate) fn names(line: &[u8], delimiter: u8) -> Vec<String> {
    let mut parser = ReaderBuilder::new().delimiter(delimiter).build();
    let (mut values, mut ends) = (vec![0; line.len() + 1], vec![0; line.len() + 1]);
    let (_, _, made, mut count) = parser.read_record(line, &mut values, &mut ends);
    // Empty input ends a line that has no line end.
    let (_, _, _, more) = parser.read_record(&[], &mut values[made..], &mut ends[count..]);
    count += more;
    let mut start = 0;
    let names = ends[..count].iter().map(|&end| {
        let name = String::from_utf8(values[start..end].to_vec());
        start = end;
        name
    });
    names.collect::<Result<_, _>>().unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::tests::fields;

    #[test]
    fn a_line_is_taken_apart() {
        assert_eq!(names(b"a,\"b, c\",d\r\n", b','), ["a", "b, c", "d"]);
        assert_eq!(names(b"a;b", b';'), ["a", "b"]);
        assert_eq!(names(b"", b','), [""; 0]);
        assert_eq!(names(b"a,\xff\n", b','), [""; 0]);
    }

    #[test]
    fn the_delimiter_is_the_one_that_names_the_columns() {
        let default = ReadOptions::default();
        assert_eq!(of(b"id,text\n", &default), b',');
        assert_eq!(of(b"id;text, and more;x\n", &fields("", "id").into()), b';');
        assert_eq!(of(b"a,b;text;id\n", &default), b';');
        assert_eq!(of(b"x\ty\tz,w\n", &default), b'\t');
        assert_eq!(of(b"text\n", &default), b',');
        assert_eq!(of(b"", &default), b',');
        assert_eq!(in_header(b"a|body", &fields("body", "").into()), Some(b'|'));
        for line in ["text", "some text, and more", "a,b", ""] {
            assert_eq!(in_header(line.as_bytes(), &default), None, "{line}");
        }
    }
}
