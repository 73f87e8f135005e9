//! The texts of documents in a further pass over the inputs.

use simidx_input::{Content, InputFile};

use crate::support::failure::Failure;
use crate::support::positions::Positions;
use crate::support::progress::ReadingBar;

/// What takes the number of a document and its text.
type Visit<'a> = &'a mut dyn FnMut(usize, String) -> Result<(), Failure>;

/// Hands the texts of the documents to `visit`, in order, in another pass over the inputs.
///
/// # Errors
/// An input that cannot be read again or has changed, and what `visit` returns.
pub(crate) fn each_text(
    (originals, positions): (&[InputFile], &Positions),
    bar: ReadingBar,
    visit: Visit<'_>,
) -> Result<(), Failure> {
    let bar = bar.start(originals.iter().map(InputFile::byte_count).sum());
    let mut walk = positions.walk();
    let mut bytes = 0;
    for original in originals {
        let mut reader = original.records()?;
        while let Some(record) = reader.next() {
            match (walk.next(), record.map(|record| record.content)) {
                (_, Err(error @ simidx_input::Error::Io(_))) => return Err(error.into()),
                // A fingerprint has no text.
                (None, _) | (Some(_), Ok(Content::Fingerprint(_))) => {}
                (Some(document), Ok(Content::Text(text))) => visit(document, text)?,
                // It was a document in the first pass.
                (Some(_), _) => return Err(original.changed().into()),
            }
            bar.show_sometimes(walk.position(), bytes + reader.bytes_read());
        }
        bytes += reader.bytes_read();
        original.check_unchanged()?;
    }
    bar.finish();
    walk.check_complete()
}
