//! Diagnostics about records and inputs: the first of each kind are shown, all are counted.

use std::fmt;

use simidx_input::RecordReader;
use simidx_input::{InputError, Place};
use simidx_output::one_line;

use crate::support::failure::Failure;
use crate::support::messages::{counted, say};

/// Number of diagnostics of a kind that are shown; the rest are only counted.
const SHOWN: u64 = 10;

/// What to do with a record that cannot be used.
#[derive(Debug, Clone, Copy, PartialEq, Eq, clap::ValueEnum)]
pub(crate) enum OnError {
    /// Stop with an error that names it
    Stop,
    /// Skip it and count it
    Skip,
    /// Keep it and count it, where records are copied
    #[value(skip)]
    Keep,
}

/// Counts of the diagnostics so far.
#[derive(Debug)]
pub(crate) struct Diagnostics {
    on_error: OnError,
    skipped: u64,
    replaced: u64,
    guessed: u64,
    odd_ids: u64,
    /// What is wrong with the first of them.
    first_odd_id: Option<InputError>,
}

impl Diagnostics {
    pub(crate) fn new(on_error: OnError) -> Self {
        Diagnostics {
            on_error,
            skipped: 0,
            replaced: 0,
            guessed: 0,
            odd_ids: 0,
            first_odd_id: None,
        }
    }

    /// Number of records skipped.
    pub(crate) fn skipped_count(&self) -> u64 {
        self.skipped
    }

    /// Number of records in which bytes became U+FFFD.
    pub(crate) fn replaced_count(&self) -> u64 {
        self.replaced
    }

    /// Skips a record.
    ///
    /// # Errors
    /// What is wrong with it, if invalid records are not to be skipped.
    pub(crate) fn skip_or_fail(&mut self, error: InputError) -> Result<(), Failure> {
        if self.on_error == OnError::Stop {
            return Err(error.into());
        }
        name(&mut self.skipped, "skipped", &error);
        Ok(())
    }

    /// Notes that bytes of a record at this place became U+FFFD.
    pub(crate) fn note_faults(&mut self, (source, place): (&str, Place)) {
        let message = "invalid bytes were replaced by U+FFFD";
        name(
            &mut self.replaced,
            "replaced",
            &in_input(source, place, message),
        );
    }

    /// Notes that a record at this place has an id that is none, for which its position stands.
    pub(crate) fn note_odd_id(&mut self, (source, place): (&str, Place), message: String) {
        self.odd_ids += 1;
        self.first_odd_id
            .get_or_insert_with(|| in_input(source, place, message));
    }

    /// Notes that the encoding of an input, just opened, was detected from its bytes alone.
    pub(crate) fn note_guess(&mut self, reader: &dyn RecordReader) {
        if let Some(encoding) = reader.guessed_encoding() {
            let (source, _) = reader.place();
            let message = format!("looks like {encoding}; --encoding overrides this");
            let guess = in_input(source, Place::File, message);
            name(&mut self.guessed, "detected", &guess);
        }
    }

    /// Reports the counts that are not zero.
    pub(crate) fn tell(&self) {
        if self.guessed > SHOWN {
            let count = self.guessed;
            say(format_args!("detected the encodings of {count} inputs"));
        }
        if self.replaced > 0 {
            let records = counted(self.replaced, "record");
            say(format_args!("replaced bytes in {records}"));
        }
        if let Some(first) = &self.first_odd_id {
            let first = one_line(&first.to_string());
            match self.odd_ids {
                1 => say(format_args!(
                    "1 record has an unusable id; its position is used instead: {first}"
                )),
                count => say(format_args!(
                    "{count} records have unusable ids; their positions are used instead (first: {first})"
                )),
            }
        }
        if self.skipped > 0 {
            let records = counted(self.skipped, "record");
            say(format_args!("skipped {records}"));
        }
    }
}

/// What is wrong with a record of an input.
pub(crate) fn in_input(source: &str, place: Place, message: impl Into<String>) -> InputError {
    InputError::new(source, place, message)
}

/// Counts one more, and shows it if it is among the first.
fn name(count: &mut u64, what: &str, record: &dyn fmt::Display) {
    *count += 1;
    if *count <= SHOWN {
        let record = one_line(&record.to_string());
        say(format_args!("{what}: {record}"));
    }
}
