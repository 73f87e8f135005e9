//! Query files, which hold fingerprints only.

use std::path::Path;

use simidx::Width;
use simidx_input::{Content, Format, ReadOptions};

use crate::support::failure::Failure;
use crate::support::records::refused;

/// All fingerprints of a file, in hexadecimal digits where no other format is told; their ids are ignored.
///
/// # Errors
/// A file that cannot be read, or a document in it, which is refused with `message`.
pub(crate) fn read(
    path: &Path,
    width: Width,
    format: Option<Format>,
    message: &str,
) -> Result<Vec<u128>, Failure> {
    // A folder would be read as documents.
    let format = format.or_else(|| path.is_dir().then_some(Format::Hex));
    let mut options = ReadOptions::from(width);
    options.fallback = Some(Format::Hex);
    let mut reader = simidx_input::open_with(path, format, &options)?;
    let mut queries = Vec::new();
    while let Some(record) = reader.next() {
        match record?.content {
            Content::Fingerprint(fingerprint) => queries.push(fingerprint),
            Content::Text(_) => {
                let (source, place) = reader.place();
                return Err(refused(source, place, message));
            }
        }
    }
    Ok(queries)
}
