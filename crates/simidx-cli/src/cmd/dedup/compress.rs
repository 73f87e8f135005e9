//! Outputs that are compressed if their names say so.

use std::io::Write;
use std::path::Path;

use flate2::write::GzEncoder;

use super::names::name;
use crate::support::failure::Failure;

/// What takes bytes.
type Sink<'a> = &'a mut (dyn Write + Send);

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
