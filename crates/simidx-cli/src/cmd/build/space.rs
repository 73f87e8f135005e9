//! Checks of the directory for temporary files, made before anything is read.

use std::path::Path;

use super::Args;
use crate::support::failure::Failure;
use crate::support::options::{IdChoice, check_temp_dir};
use crate::support::quantity::Size;

/// Checks that temporary files can be made, and that there is room for them as far as the number of records is known.
///
/// # Errors
/// No such directory, one that cannot be written to, or too little room in it.
pub(super) fn check(args: &Args) -> Result<(), Failure> {
    let folder = args.scratch_folder();
    check_temp_dir(&folder)?;
    let needed = temporary_len(args)?;
    match free_len(&folder) {
        Some(free) if free < needed => {
            let (needed, free) = (Size(needed), Size(free));
            let message = format!("temporary files take about {needed}, but only {free} is free");
            Err(Failure::new(message).about(folder.display()))
        }
        _ => Ok(()),
    }
}

/// Largest number of bytes of temporary files, as far as it is known: records are written as runs and then merged.
fn temporary_len(args: &Args) -> Result<u64, Failure> {
    let paths = args.input.paths()?;
    let options = args.input.fields.options(args.input.width);
    let records = simidx_input::expected_records_with(&paths, args.input.input.0, &options);
    let records = records.unwrap_or(0);
    let id_len = if args.ids == IdChoice::Number { 8 } else { 0 };
    let sketch_len = u64::from(args.sketch.unwrap_or(0) / 8);
    let bytes = records.saturating_mul(args.input.width.bytes() as u64 + id_len + sketch_len);
    // Records with ids or sketches get half of the room.
    Ok(
        match bytes > args.memory_limit() / if id_len + sketch_len == 0 { 1 } else { 2 } {
            true => bytes.saturating_mul(2),
            false => 0,
        },
    )
}

/// Bytes that are free in a directory; `None` where the system does not report it.
fn free_len(folder: &Path) -> Option<u64> {
    #[cfg(unix)]
    {
        let system = rustix::fs::statvfs(folder).ok()?;
        system.f_bavail.checked_mul(system.f_frsize)
    }
    #[cfg(not(unix))]
    {
        let _ = folder;
        None
    }
}
