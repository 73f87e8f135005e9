//! `--texts`: the texts of the records that are shown, found by their ids.

use simidx::{IdBuf, IdKind, Width};
use simidx_input::Content;

use super::Args;
use super::entries::Labels;
use crate::support::failure::Failure;
use crate::support::progress::ProgressMode;
use crate::support::records::{id_of_kind, total_len};

/// Bytes of a text that are held: more than the page compares.
const MAX_TEXT_LEN: usize = 1 << 20;

/// Reads the texts of the records that are shown.
///
/// # Errors
/// Documents that cannot be read; a record that is no document is passed over.
pub(super) fn read(
    args: &Args,
    width: Width,
    labels: &mut Labels,
    mode: ProgressMode,
) -> Result<(), Failure> {
    if labels.kind == IdKind::None {
        let message = "the index has no ids, by which --texts are found; build it with --ids";
        return Err(Failure::new(message));
    }
    let expanded = args
        .texts
        .iter()
        .map(|path| simidx_input::expand(path, None));
    let paths = expanded.collect::<simidx_input::Result<Vec<_>>>()?.concat();
    let bar = mode.reading("documents").start(total_len(&paths));
    let options = args.fields.options(width);
    let (mut position, mut bytes) = (0, 0);
    for path in &paths {
        let mut reader = simidx_input::open_with(path, args.input.0, &options)?;
        while let Some(record) = reader.next() {
            match record {
                Err(error @ simidx_input::Error::Io(_)) => return Err(error.into()),
                Err(_) => {}
                Ok(record) => {
                    let own = record.id.unwrap_or(IdBuf::Number(position));
                    if let (Content::Text(text), Some(id)) =
                        (record.content, id_of_kind(own, labels.kind))
                    {
                        labels.take_text(id, || cut(text));
                    }
                }
            }
            position += 1;
            bar.show_sometimes(position, bytes + reader.bytes_read());
        }
        bytes += reader.bytes_read();
    }
    bar.finish();
    Ok(())
}

fn cut(mut text: String) -> String {
    if text.len() > MAX_TEXT_LEN {
        text.truncate(text.floor_char_boundary(MAX_TEXT_LEN));
        text.shrink_to_fit();
    }
    text
}
