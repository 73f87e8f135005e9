//! Keeps failures of outputs that libraries write to, which would only return a message.

use std::io::{self, Write};

use crate::Result;

/// An output that keeps its failure.
pub(super) struct Watched<'a> {
    out: &'a mut (dyn Write + Send),
    failure: Option<io::Error>,
}

impl<'a> Watched<'a> {
    pub(super) fn new(out: &'a mut (dyn Write + Send)) -> Self {
        Watched { out, failure: None }
    }

    /// Returns the failure of the output, if it caused the error of a write.
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
