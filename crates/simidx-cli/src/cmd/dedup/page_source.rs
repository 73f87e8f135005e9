//! What the page of a deduplication is made of.

use std::collections::{BTreeSet, HashMap};

use simidx_input::{Content, InputFile};

use super::judged::{Judged, Verdict};
use super::measure::difference;
use super::page::{Cause, Judgements};
use crate::support::failure::Failure;
use crate::support::progress::ProgressMode;

/// Bytes of a text that are held: more than the page compares.
const MAX_TEXT_LEN: usize = 1 << 18;

/// The results of a run.
pub(super) struct PageSource<'a, 'j> {
    pub(super) judged: &'a Judged<'j>,
    pub(super) originals: &'a [InputFile],
    pub(super) mode: ProgressMode,
}

impl Judgements for PageSource<'_, '_> {
    fn count(&self) -> usize {
        self.judged.count()
    }

    fn cause(&self, document: usize) -> Option<Cause> {
        match self.judged.decisions.verdict(document) {
            Verdict::Kept => None,
            Verdict::Duplicate {
                of,
                distance,
                similarity,
            } => Some(Cause::Document {
                of,
                difference: distance.unwrap_or_else(|| similarity.map_or(0, difference)),
            }),
            Verdict::Excluded { .. } => Some(Cause::Member),
        }
    }

    fn label(&self, document: usize) -> Result<String, Failure> {
        Ok(self.judged.label(document)?.to_string())
    }

    fn similarity(&self, document: usize) -> Option<f64> {
        match self.judged.decisions.verdict(document) {
            Verdict::Duplicate { similarity, .. } => similarity,
            _ => None,
        }
    }

    fn texts(&self, documents: &BTreeSet<usize>) -> Result<HashMap<usize, String>, Failure> {
        let mut texts = HashMap::new();
        let bar = self.mode.reading("documents").doing("reading texts");
        let bar = bar.start(self.originals.iter().map(InputFile::byte_count).sum());
        let mut walk = self.judged.documents.labels.positions.walk();
        let mut bytes = 0;
        for original in self.originals {
            let mut reader = original.records()?;
            while let Some(record) = reader.next() {
                let document = walk.next().filter(|document| documents.contains(document));
                match (document, record.map(|record| record.content)) {
                    (_, Err(error @ simidx_input::Error::Io(_))) => return Err(error.into()),
                    (Some(document), Ok(Content::Text(mut text))) => {
                        text.truncate(text.floor_char_boundary(MAX_TEXT_LEN));
                        texts.insert(document, text);
                    }
                    _ => {}
                }
                bar.show_sometimes(walk.position(), bytes + reader.bytes_read());
            }
            bytes += reader.bytes_read();
            original.check_unchanged()?;
        }
        bar.finish();
        walk.check_complete()?;
        Ok(texts)
    }
}
