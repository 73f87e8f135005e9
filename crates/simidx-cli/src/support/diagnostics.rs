//! What there is to say against records and inputs: the first of each kind are named, all are counted.

use std::fmt;

use simidx_input::RecordReader;
use simidx_input::{InputError, Place};

use crate::support::failure::Failure;
use crate::support::output::{one_line, say};
use crate::support::records::{OnError, in_input};

/// Records of a kind that are named; the rest are counted.
const SHOWN: u64 = 10;

/// What there was to say against records so far.
#[derive(Debug)]
pub(crate) struct Diagnostics {
    on_error: OnError,
    skipped: u64,
    replaced: u64,
    guessed: u64,
}

impl Diagnostics {
    pub(crate) fn new(on_error: OnError) -> Self {
        Diagnostics {
            on_error,
            skipped: 0,
            replaced: 0,
            guessed: 0,
        }
    }

    /// Number of records left out.
    pub(crate) fn skipped_count(&self) -> u64 {
        self.skipped
    }

    /// Number of records in which bytes became U+FFFD.
    pub(crate) fn replaced_count(&self) -> u64 {
        self.replaced
    }

    /// Leaves a record out.
    ///
    /// # Errors
    /// What is wrong with it, if it is not to be left out.
    pub(crate) fn skip_or_fail(&mut self, error: InputError) -> Result<(), Failure> {
        if self.on_error == OnError::Stop {
            return Err(error.into());
        }
        name(&mut self.skipped, "skipped", &error);
        Ok(())
    }

    /// Notes that bytes of a record at this place became U+FFFD.
    pub(crate) fn note_faults(&mut self, (source, place): (&str, Place)) {
        let message = "bytes that stand for nothing in its encoding became U+FFFD";
        name(
            &mut self.replaced,
            "replaced",
            &in_input(source, place, message),
        );
    }

    /// Notes that the lines of an input, just opened, are read in an encoding that nothing but their looks tells.
    pub(crate) fn note_guess<F>(&mut self, reader: &dyn RecordReader<F>) {
        if let Some(encoding) = reader.guessed_encoding() {
            let (source, _) = reader.place();
            let message = format!("looks like {encoding} and is read so; --encoding names another");
            let guess = in_input(source, Place::File, message);
            name(&mut self.guessed, "guessed", &guess);
        }
    }

    /// Tells the numbers, if there is anything to tell.
    pub(crate) fn tell(&self) {
        let plural = |count| if count == 1 { "" } else { "s" };
        if self.guessed > SHOWN {
            let count = self.guessed;
            say(format_args!("guessed the encodings of {count} inputs"));
        }
        if self.replaced > 0 {
            let (count, plural) = (self.replaced, plural(self.replaced));
            say(format_args!("replaced bytes in {count} record{plural}"));
        }
        if self.skipped > 0 {
            let (count, plural) = (self.skipped, plural(self.skipped));
            say(format_args!("skipped {count} record{plural}"));
        }
    }
}

/// Counts one more, and names it if it is among the first.
fn name(count: &mut u64, what: &str, record: &dyn fmt::Display) {
    *count += 1;
    if *count <= SHOWN {
        let record = one_line(&record.to_string());
        say(format_args!("{what}: {record}"));
    }
}
