//! Outputs that are compressed if their names say so.

use std::io::Write;
use std::path::Path;

use flate2::write::GzEncoder;

use crate::support::failure::Failure;

/// What takes bytes.
type Sink<'a> = &'a mut (dyn Write + Send);

/// The name of a file in lower case, without the suffix that tells the compression.
pub(super) fn plain_name(path: &Path) -> String {
    let name = name(path);
    let plain = name
        .strip_suffix(".gz")
        .or_else(|| name.strip_suffix(".zst"));
    plain.unwrap_or(&name).to_owned()
}

/// Whether the name of a file says that it is compressed.
pub(super) fn is_compressed(path: &Path) -> bool {
    plain_name(path) != name(path)
}

fn name(path: &Path) -> String {
    let name = path.file_name().unwrap_or_default();
    name.to_string_lossy().to_ascii_lowercase()
}

/// Lets `write` write what goes to `out`, compressed as the name says.
///
/// # Errors
/// What `write` or `out` report.
pub(super) fn by_name<T>(
    path: &Path,
    out: Sink<'_>,
    write: impl FnOnce(Sink<'_>) -> Result<T, Failure>,
) -> Result<T, Failure> {
    let name = name(path);
    if name.ends_with(".gz") {
        let mut encoder = GzEncoder::new(out, flate2::Compression::default());
        let result = write(&mut encoder)?;
        encoder.finish()?;
        return Ok(result);
    }
    if name.ends_with(".zst") {
        let mut encoder = zstd::stream::write::Encoder::new(out, zstd::DEFAULT_COMPRESSION_LEVEL)?;
        encoder.include_checksum(true)?;
        let result = write(&mut encoder)?;
        encoder.finish()?;
        return Ok(result);
    }
    write(out)
}
