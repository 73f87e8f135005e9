//! Whether the folder for temporary files will do, asked before anything is read.

use std::path::Path;

use bytesize::ByteSize;
use simidx::Fingerprint;

use super::Args;
use crate::support::choices::IdChoice;
use crate::support::failure::Failure;

/// Checks that temporary files can be made, and that there is room for them as far as inputs tell how many records they
/// hold.
///
/// # Errors
/// No such folder, none that may be written to, or too little room in it.
pub(super) fn check<F: Fingerprint>(args: &Args) -> Result<(), Failure> {
    let folder = args.scratch_folder();
    check_folder(&folder)?;
    let needed = temporary_len::<F>(args)?;
    match free_len(&folder) {
        Some(free) if free < needed => {
            let (needed, free) = (ByteSize::b(needed), ByteSize::b(free));
            let message = format!("temporary files take about {needed}, but only {free} is free");
            Err(Failure::new(message).about(folder.display()))
        }
        _ => Ok(()),
    }
}

/// Checks that temporary files can be made in a folder.
///
/// # Errors
/// No such folder, or none that may be written to.
pub(crate) fn check_folder(folder: &Path) -> Result<(), Failure> {
    match tempfile::tempfile_in(folder) {
        Ok(_) => Ok(()),
        Err(error) => Err(Failure::from(error).about(folder.display())),
    }
}

/// Bytes that temporary files will take at most, as far as it is known: records are written as runs and then merged.
fn temporary_len<F: Fingerprint>(args: &Args) -> Result<u64, Failure> {
    let paths = args.input.paths()?;
    let options = args.input.fields.options();
    let records = simidx_input::expected_records_with::<F>(&paths, args.input.input.0, &options);
    let records = records.unwrap_or(0);
    let id_len = if args.ids == IdChoice::Number { 8 } else { 0 };
    let bytes = records.saturating_mul(F::BYTES as u64 + id_len);
    // Records with ids get half of the room.
    Ok(
        match bytes > args.memory_limit() / if id_len == 0 { 1 } else { 2 } {
            true => bytes.saturating_mul(2),
            false => 0,
        },
    )
}

/// Bytes that are free in a folder, where the system tells.
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
