//! The header of a NumPy file of versions 1 to 3, for arrays of fingerprints only.

use std::io::Read;

use serde::Deserialize;
use serde_json::Value;

use super::digits::quote;
use super::source::Source;
use crate::{Place, Result};
use simidx::Width;

/// The first bytes of a file.
pub(super) const MAGIC: &[u8] = b"\x93NUMPY";

/// Largest length of a header. The header of an array of numbers has some hundred bytes.
const MAX_HEADER: u32 = 1 << 16;

/// The layout of fingerprints in the array.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Layout {
    pub(super) count: u64,
    pub(super) big_endian: bool,
}

/// Reads the header. Returns the layout of the array, and its offset.
pub(super) fn read(source: &mut Source, width: Width) -> Result<(Layout, u64)> {
    let (version, mut start) = (take(source, 8)?, 8);
    let length = match version[..] {
        [.., 1, _] if version.starts_with(MAGIC) => take(source, 2)?,
        [.., 2 | 3, _] if version.starts_with(MAGIC) => take(source, 4)?,
        [.., major, minor] if version.starts_with(MAGIC) => {
            let message = format!("is of version {major}.{minor} of the NumPy format");
            return Err(source.input_error(Place::Offset(6), message));
        }
        _ => return Err(source.input_error(Place::File, "is not a NumPy file")),
    };
    start += length.len() as u64;
    let length = length
        .iter()
        .rev()
        .fold(0, |all, &b| all << 8 | u32::from(b));
    if length > MAX_HEADER {
        let message = format!("header is {length} bytes long, the limit is {MAX_HEADER}");
        return Err(source.input_error(Place::Offset(8), message));
    }
    let text = take(source, length)?;
    let layout = layout(&String::from_utf8_lossy(&text), width);
    let layout = layout.map_err(|message| source.input_error(Place::Offset(start), message))?;
    Ok((layout, start + u64::from(length)))
}

/// Reads `length` bytes.
fn take(source: &mut Source, length: u32) -> Result<Vec<u8>> {
    let mut bytes = Vec::new();
    let read = source.reader().take(length.into()).read_to_end(&mut bytes);
    match read {
        Ok(read) if read as u64 == u64::from(length) => Ok(bytes),
        Ok(_) => Err(source.input_error(Place::File, "ends within the NumPy header")),
        Err(e) => Err(source.io_error(e)),
    }
}

/// Parses the layout from a header.
fn layout(text: &str, width: Width) -> Result<Layout, String> {
    let array = Array::parse(text).ok_or("malformed NumPy header")?;
    let descr = array
        .descr
        .as_str()
        .ok_or("holds records of several fields, not fingerprints")?;
    let (order, kind) = descr.split_at_checked(1).unwrap_or_default();
    let bytes = width.bytes().min(8);
    match kind {
        "u4" | "i4" | "u8" | "i8" if kind.ends_with(&bytes.to_string()) => {}
        "u4" | "i4" => return Err(other_width(32, width)),
        "u8" | "i8" => return Err(other_width(64, width)),
        _ => {
            let descr = quote(descr);
            return Err(format!(
                "holds elements of type {descr}, not {width}-bit fingerprints"
            ));
        }
    }
    let big_endian = match order {
        "<" => false,
        ">" => true,
        _ => return Err("does not tell the byte order of its numbers".into()),
    };
    let count = array.fingerprints(width)?;
    Ok(Layout { count, big_endian })
}

fn other_width(bits: u32, width: Width) -> String {
    format!("holds {bits}-bit numbers, not {width}-bit fingerprints")
}

/// The description of an array in a header.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct Array {
    /// The type of the elements, a string unless they have several fields.
    descr: Value,
    fortran_order: bool,
    shape: Vec<u64>,
}

impl Array {
    /// Parses the Python dictionary of a header, as the JSON that it is but for some spellings. Python 2 may have
    /// appended an `L` to numbers.
    fn parse(text: &str) -> Option<Self> {
        let mut json: String = text.split_whitespace().collect();
        for (python, own) in [
            ("'", "\""),
            ("(", "["),
            (")", "]"),
            ("True", "true"),
            ("False", "false"),
            ("L,", ","),
            ("L]", "]"),
            (",]", "]"),
            (",}", "}"),
        ] {
            json = json.replace(python, own);
        }
        serde_json::from_str(&json).ok()
    }

    /// Returns the number of fingerprints, if the shape is valid for them.
    fn fingerprints(&self, width: Width) -> Result<u64, String> {
        match (width, &self.shape[..]) {
            (Width::W32 | Width::W64, &[count]) => Ok(count),
            (Width::W128, &[count, 2]) if !self.fortran_order => Ok(count),
            (Width::W128, [_, 2]) => Err("holds columns one after the other, not rows".into()),
            (Width::W128, [_]) => {
                Err(other_width(64, width) + ", which are an array of shape (n, 2)")
            }
            (_, shape) => {
                let shape: Vec<_> = shape.iter().map(u64::to_string).collect();
                let right = if width == Width::W128 { "n, 2" } else { "n" };
                Err(format!(
                    "has the shape ({}), not ({right})",
                    shape.join(", ")
                ))
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::super::source::tests::source;
    use super::super::words::tests::npy;
    use super::*;
    use proptest::prelude::*;

    fn read_bytes(bytes: &[u8], width: Width) -> Result<(Layout, u64), String> {
        read(&mut source(bytes), width).map_err(|e| e.to_string())
    }

    fn header(descr: &str, shape: &str, width: Width) -> Result<(Layout, u64), String> {
        read_bytes(&npy(descr, shape, &[]), width)
    }

    #[test]
    fn all_versions_are_read() {
        let dict = b"{'descr': '>u4', 'fortran_order': True, 'shape': (5,)}\n";
        let length = dict.len() as u32;
        let layout = Layout {
            count: 5,
            big_endian: true,
        };
        for (version, length) in [
            ([1, 0], &length.to_le_bytes()[..2]),
            ([2, 0], &length.to_le_bytes()),
            ([3, 0], &length.to_le_bytes()),
        ] {
            let bytes = [MAGIC, &version, length, dict].concat();
            let start = 8 + length.len() + dict.len();
            assert_eq!(read_bytes(&bytes, Width::W32), Ok((layout, start as u64)));
        }
        let error = read_bytes(&[MAGIC, &[4, 0, 0, 0]].concat(), Width::W32).unwrap_err();
        assert_eq!(error, "in: offset 6: is of version 4.0 of the NumPy format");
    }

    #[test]
    fn dictionaries_may_be_written_in_other_ways() {
        for text in [
            r#"{"shape":(7L,),"fortran_order":False,"descr":"<i8"}"#,
            " { 'descr' : '<u8' , 'fortran_order' : True , 'shape' : ( 7 , ) , } \n",
        ] {
            let layout = layout(text, Width::W64).unwrap();
            assert_eq!((layout.count, layout.big_endian), (7, false));
        }
    }

    #[test]
    fn other_arrays_are_refused() {
        let refused = |read: Result<(Layout, u64), String>| {
            let error = read.unwrap_err();
            error.strip_prefix("in: offset 10: ").unwrap().to_owned()
        };
        for (descr, shape, message) in [
            (
                "<u4",
                "(1,)",
                "holds 32-bit numbers, not 64-bit fingerprints",
            ),
            (
                "<f8",
                "(1,)",
                "holds elements of type \"<f8\", not 64-bit fingerprints",
            ),
            (
                "|u1",
                "(1,)",
                "holds elements of type \"|u1\", not 64-bit fingerprints",
            ),
            (
                "",
                "(1,)",
                "holds elements of type \"\", not 64-bit fingerprints",
            ),
            ("=u8", "(1,)", "does not tell the byte order of its numbers"),
            ("<u8", "(2, 3)", "has the shape (2, 3), not (n)"),
            ("<u8", "()", "has the shape (), not (n)"),
            ("<u8", "(-1,)", "malformed NumPy header"),
            ("<u8", "(18446744073709551616,)", "malformed NumPy header"),
            ("<u8", "(1,", "malformed NumPy header"),
        ] {
            assert_eq!(refused(header(descr, shape, Width::W64)), message);
        }
        let message = "holds 64-bit numbers, not 32-bit fingerprints";
        assert_eq!(refused(header("<u8", "(1,)", Width::W32)), message);
        let message =
            "holds 64-bit numbers, not 128-bit fingerprints, which are an array of shape (n, 2)";
        assert_eq!(refused(header("<u8", "(2,)", Width::W128)), message);
        let message = "has the shape (2, 3), not (n, 2)";
        assert_eq!(refused(header("<u8", "(2, 3)", Width::W128)), message);
        let text = "{'descr': [('a', '<u8')], 'fortran_order': False, 'shape': (1,)}";
        let message = "holds records of several fields, not fingerprints";
        assert_eq!(layout(text, Width::W64), Err(message.into()));
        let text = "{'descr': '<u8', 'fortran_order': True, 'shape': (3, 2)}";
        let message = "holds columns one after the other, not rows";
        assert_eq!(layout(text, Width::W128), Err(message.into()));
    }

    #[test]
    fn a_header_cut_off_or_too_long_is_refused() {
        let whole = npy("<u8", "(1,)", &[]);
        for length in 0..whole.len() {
            let error = read_bytes(&whole[..length], Width::W64).unwrap_err();
            assert_eq!(error, "in: ends within the NumPy header", "{length}");
        }
        let long = [MAGIC, &[2, 0, 255, 255, 255, 255], b"{}"].concat();
        let error = read_bytes(&long, Width::W64).unwrap_err();
        let message = "in: offset 8: header is 4294967295 bytes long, the limit is 65536";
        assert_eq!(error, message);
        assert_eq!(
            read_bytes(b"NUMPY or not", Width::W64).unwrap_err(),
            "in: is not a NumPy file"
        );
    }

    proptest! {
        #[test]
        fn no_header_makes_the_parser_panic(
            text in r"\{('descr'|'shape'|'fortran_order'|True|[:,(){}'0-9 L]|'<u8'|\(3,\)|\PC){0,30}\}?"
        ) {
            let _ = layout(&text, Width::W64);
            let _ = layout(&text, Width::W128);
        }
    }
}
