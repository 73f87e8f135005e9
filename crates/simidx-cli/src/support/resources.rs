//! The resources of a command on whole sets: memory, temporary files, threads.

use std::path::{Path, PathBuf};

use clap::builder::{PathBufValueParser, TypedValueParser};

use crate::support::failure::Failure;
use crate::support::heading;
use crate::support::memory;
use crate::support::quantity::Size;
use crate::support::records::threads_from;

/// The resources of a command; shared by those that work on whole sets.
#[derive(Debug, Clone, clap::Args)]
pub(crate) struct ResourceArgs {
    /// Memory limit, such as 1GiB; what does not fit goes to temporary files [default: half of the machine's memory]
    #[arg(long, value_name = "SIZE", help_heading = heading::RESOURCES)]
    memory: Option<Size>,
    /// Directory for temporary files, which are deleted in any case [default: that of the system]
    #[arg(long, value_name = "DIR", value_parser = temp_dir(), help_heading = heading::RESOURCES)]
    pub(crate) temp_dir: Option<PathBuf>,
    /// Number of threads; 0 uses all cores
    #[arg(long, value_name = "N", default_value_t = 0, value_parser = threads_from(0), help_heading = heading::RESOURCES)]
    pub(crate) threads: u16,
}

impl ResourceArgs {
    /// Bytes of memory to use.
    pub(crate) fn memory_limit(&self) -> u64 {
        self.memory
            .map_or_else(memory::default_limit, |Size(bytes)| bytes)
    }
}

/// A directory in which temporary files can be made: they may be needed only after hours.
pub(crate) fn temp_dir() -> impl TypedValueParser<Value = PathBuf> {
    PathBufValueParser::new().try_map(|directory| {
        tempfile::tempfile_in(&directory)?;
        Ok::<_, std::io::Error>(directory)
    })
}

/// Checks that temporary files can be made in the directory of an output, which is the one for them by default.
///
/// # Errors
/// No such directory, or one that cannot be written to.
pub(crate) fn check_temp_dir(directory: &Path) -> Result<(), Failure> {
    match tempfile::tempfile_in(directory) {
        Ok(_) => Ok(()),
        Err(error) => {
            let message =
                format!("{error}; --temp-dir names another directory for temporary files");
            Err(Failure::new(message).about(directory.display()))
        }
    }
}
