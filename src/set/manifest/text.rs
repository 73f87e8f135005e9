//! The text format of a manifest (`set-spec.md`): its lines, and the rules for names.

use std::collections::HashSet;
use std::fmt::Write;
use std::str::FromStr;

use super::{Manifest, ManifestSegment};
use crate::error::ManifestError;

/// The start of a manifest of any version.
pub(super) const MAGIC: &str = "simidx-set ";

/// The most bytes of a name, of a key and of a value.
const MAX_NAME_LEN: usize = 1024;
const MAX_VALUE_LEN: usize = 65_536;

/// Bytes of the last line: `crc32 `, eight digits and the line end.
const LAST_LINE_LEN: usize = 15;

type Refused = std::result::Result<(), String>;

/// Checks that a name stays in its folder, on any system.
pub(super) fn check_name(name: &str) -> Refused {
    let refuse = |why: &str| Err(format!("{name:?} is not a valid segment name: {why}"));
    if name.is_empty() || name.len() > MAX_NAME_LEN {
        return refuse(&format!("names have 1 to {MAX_NAME_LEN} bytes"));
    }
    if name
        .chars()
        .any(|c| c.is_control() || matches!(c, '\\' | ':'))
    {
        return refuse("names have no control character, colon or backslash");
    }
    if name.split('/').any(|part| matches!(part, "" | "." | "..")) {
        return refuse("names stay in the folder, and no part of them is empty, . or ..");
    }
    Ok(())
}

/// Checks that a note can be written.
pub(super) fn check_note(key: &str, value: &str) -> Refused {
    let is_plain = |byte: u8| byte.is_ascii_alphanumeric() || b".-_".contains(&byte);
    if key.is_empty() || key.len() > MAX_NAME_LEN || !key.bytes().all(is_plain) {
        return Err(format!("{key:?} is not a valid key of a note"));
    }
    if value.len() > MAX_VALUE_LEN || value.chars().any(char::is_control) {
        let rule = format!("has at most {MAX_VALUE_LEN} bytes and no control character");
        return Err(format!("the value of the note {key} {rule}"));
    }
    Ok(())
}

/// Checks that the figures of a segment are possible.
pub(super) fn check_segment(segment: &ManifestSegment) -> Refused {
    check_name(&segment.name)?;
    let refuse = |why: &str| Err(format!("{}: {why}", segment.name));
    if !matches!(segment.width, 32 | 64 | 128) {
        return refuse("the width is 32, 64 or 128");
    }
    if segment.max_distance > segment.width {
        return refuse("the distance is at most the width");
    }
    if segment.fingerprint_count > segment.record_count {
        return refuse("there are more fingerprints than records");
    }
    if segment.range.is_some() != (segment.fingerprint_count > 0) {
        return refuse("there is a smallest and a largest fingerprint if there are any");
    }
    if let Some((smallest, largest)) = segment.range
        && (smallest > largest || segment.width < 128 && largest >> segment.width != 0)
    {
        return refuse("the smallest and the largest fingerprint are out of order or too wide");
    }
    Ok(())
}

/// Formats a manifest whose parts have been checked.
pub(super) fn render(manifest: &Manifest) -> String {
    let mut text = format!("{MAGIC}1\ngeneration {}\n", manifest.generation);
    for (key, value) in &manifest.notes {
        let _ = writeln!(text, "note\t{key}\t{value}");
    }
    for segment in &manifest.segments {
        let digits = segment.width as usize / 4;
        let end = |end: Option<u128>| end.map_or("-".to_owned(), |end| format!("{end:0digits$x}"));
        let _ = writeln!(
            text,
            "segment\t{}\t{:032x}\t{}\t{}\t{}\t{}\t{}\t{}\t{}",
            segment.name,
            segment.content_id,
            segment.record_count,
            segment.fingerprint_count,
            segment.file_len,
            end(segment.range.map(|(smallest, _)| smallest)),
            end(segment.range.map(|(_, largest)| largest)),
            segment.width,
            segment.max_distance,
        );
    }
    let _ = writeln!(text, "crc32 {:08x}", crc32fast::hash(text.as_bytes()));
    text
}

/// Parses a manifest.
///
/// # Errors
/// The first line that breaks a rule.
pub(super) fn parse(bytes: &[u8]) -> Result<Manifest, ManifestError> {
    let whole = |message: &str| ManifestError::new(None, message);
    let Some(text) = bytes.strip_prefix(MAGIC.as_bytes()) else {
        return Err(ManifestError::new(Some(1), "not a simidx set"));
    };
    if !text.starts_with(b"1\n") {
        let message = "the set needs a newer simidx: its version is not 1";
        return Err(ManifestError::new(Some(1), message));
    }
    let (listed, last) = bytes
        .split_at_checked(bytes.len().wrapping_sub(LAST_LINE_LEN))
        .ok_or_else(|| whole("damaged set: it is cut short"))?;
    let sum = format!("crc32 {:08x}\n", crc32fast::hash(listed));
    if last != sum.as_bytes() {
        return Err(whole(
            "damaged set: its checksum is wrong, or it is cut short",
        ));
    }
    let listed = std::str::from_utf8(listed).map_err(|_| whole("damaged set: it is not UTF-8"))?;
    let mut manifest = Manifest::default();
    let mut names = HashSet::new();
    for (number, line) in listed.lines().enumerate().skip(1) {
        add_line(&mut manifest, &mut names, number, line)
            .map_err(|message| ManifestError::new(Some(number as u64 + 1), message))?;
    }
    // Each set has exactly one text: no signs, leading zeros, other line ends or other orders.
    let rendered = render(&manifest);
    if rendered.as_bytes() != bytes {
        let pairs = rendered.lines().zip(listed.lines());
        let equal = pairs.take_while(|(right, found)| right == found).count();
        let message = "the line is not written as a set is";
        return Err(ManifestError::new(Some(equal as u64 + 1), message));
    }
    Ok(manifest)
}

/// Adds the contents of a line; the first line has number 0.
fn add_line<'t>(
    manifest: &mut Manifest,
    names: &mut HashSet<&'t str>,
    number: usize,
    line: &'t str,
) -> Refused {
    if number == 1 {
        let generation = line.strip_prefix("generation ");
        manifest.generation = self::number(generation.ok_or("there is no generation")?)?;
        return Ok(());
    }
    let fields: Vec<&str> = line.splitn(11, '\t').collect();
    match fields[..] {
        ["note", key, value] => {
            check_note(key, value)?;
            let old = manifest.notes.insert(key.to_owned(), value.to_owned());
            old.map_or(Ok(()), |_| Err(format!("the note {key} is there twice")))
        }
        [
            "segment",
            name,
            content_id,
            records,
            fingerprints,
            len,
            smallest,
            largest,
            width,
            distance,
        ] => {
            let segment = ManifestSegment {
                name: name.to_owned(),
                content_id: hex(content_id)?,
                record_count: self::number(records)?,
                fingerprint_count: self::number(fingerprints)?,
                file_len: self::number(len)?,
                range: match (smallest, largest) {
                    ("-", "-") => None,
                    _ => Some((hex(smallest)?, hex(largest)?)),
                },
                width: self::number(width)?,
                max_distance: self::number(distance)?,
            };
            check_segment(&segment)?;
            if !names.insert(name) {
                return Err(format!("{name} is listed twice"));
            }
            manifest.segments.push(segment);
            Ok(())
        }
        _ => Err("the line is neither a note nor a segment".to_owned()),
    }
}

fn number<T: FromStr>(field: &str) -> Result<T, String> {
    field
        .parse()
        .map_err(|_| format!("{field:?} is not a number"))
}

fn hex(field: &str) -> Result<u128, String> {
    u128::from_str_radix(field, 16).map_err(|_| format!("{field:?} is not a hexadecimal number"))
}
