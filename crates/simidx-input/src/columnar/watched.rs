//! Outputs that libraries write to, whose failures they would turn into words.

use std::io::{self, Write};

use crate::Result;

/// An output whose failure is kept.
pub(super) struct Watched<'a> {
    out: &'a mut (dyn Write + Send),
    failure: Option<io::Error>,
}

impl<'a> Watched<'a> {
    pub(super) fn new(out: &'a mut (dyn Write + Send)) -> Self {
        Watched { out, failure: None }
    }

    /// The failure of the output, if that is why what was written to it failed.
    pub(super) fn blame<T>(self, written: Result<T>) -> Result<T> {
        match (written, self.failure) {
            (Err(_), Some(failure)) => Err(failure.into()),
            (written, _) => written,
        }
    }

    /// The failure of the output, if there was one.
    #[cfg(feature = "parquet")]
    pub(super) fn take_failure(&mut self) -> Option<io::Error> {
        self.failure.take()
    }

    fn keep(&mut self, error: io::Error) -> io::Error {
        let copy = io::Error::new(error.kind(), error.to_string());
        self.failure.get_or_insert(error);
        copy
    }
}

impl Write for Watched<'_> {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        match self.out.write(bytes) {
            Err(error) if error.kind() != io::ErrorKind::Interrupted => Err(self.keep(error)),
            result => result,
        }
    }

    fn flush(&mut self) -> io::Result<()> {
        self.out.flush().map_err(|error| self.keep(error))
    }
}
