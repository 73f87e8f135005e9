//! What `--verify` compares: the feature sets of candidates, read in a second pass and kept in a temporary file.

use std::fs::File;
use std::io::{self, BufWriter, Read, Seek, SeekFrom, Write};
use std::path::{Path, PathBuf};

use indicatif::ProgressBar;
use rayon::prelude::*;
use simidx::batch::{Deduplicated, Deduplicator, Verifier};
use simidx::{Error, Fingerprint};
use simidx_input::{Content, InputFile};
use simidx_text::Pipeline;
use simidx_text::compare::FeatureSet;

use super::documents::{Positions, Walk};
use super::verify::Similarity;
use crate::support::failure::Failure;
use crate::support::fingerprinters::Fingerprinters;
use crate::support::progress::{ProgressMode, ReadingBar};

/// Texts that are taken apart at a time, and bytes of them.
const BATCH_TEXTS: usize = 4096;
const BATCH_LEN: usize = 16 << 20;

/// Comparisons after which the progress bar is told.
const TOLD_EVERY: u64 = 1 << 10;

/// The feature sets of candidates. Memory: 20 bytes a candidate.
pub(super) struct Texts {
    similarity: Similarity,
    fingerprinters: Fingerprinters<u64>,
    folder: PathBuf,
    file: BufWriter<File>,
    /// The documents, ascending.
    documents: Vec<u32>,
    /// For each of them a hash of its set, and where in the file the set ends, in features.
    identities: Vec<u64>,
    ends: Vec<u64>,
    /// The set that was read last: mostly one is compared with many.
    last: Option<(usize, FeatureSet)>,
    compared: u64,
    bar: ProgressBar,
}

impl Texts {
    pub(super) fn new(
        similarity: Similarity,
        pipeline: &Pipeline,
        temp_dir: Option<&Path>,
    ) -> Result<Self, Failure> {
        let folder = temp_dir.map_or_else(std::env::temp_dir, Path::to_owned);
        let file = tempfile::tempfile_in(&folder);
        let file = file.map_err(|error| Failure::from(error).about(folder.display()))?;
        Ok(Texts {
            similarity,
            fingerprinters: Fingerprinters::new(pipeline)?,
            folder,
            file: BufWriter::with_capacity(1 << 20, file),
            documents: Vec::new(),
            identities: Vec::new(),
            ends: Vec::new(),
            last: None,
            compared: 0,
            bar: ProgressBar::hidden(),
        })
    }

    /// Reads the texts of the candidates.
    pub(super) fn read<F: Fingerprint>(
        mut self,
        originals: &[InputFile],
        candidates: &[bool],
        positions: &Positions,
        mode: ProgressMode,
    ) -> Result<Self, Failure> {
        let bar = mode.reading("documents").doing("reading candidates");
        let bar = bar.start(originals.iter().map(InputFile::byte_count).sum());
        let mut walk = positions.walk();
        let mut bytes = 0;
        for original in originals {
            self.read_one::<F>(original, candidates, &mut walk, (&bar, &mut bytes))?;
        }
        bar.finish();
        walk.check_complete()?;
        let flushed = self.file.flush();
        flushed.map_err(|error| self.blame(error))?;
        Ok(self)
    }

    fn read_one<F: Fingerprint>(
        &mut self,
        original: &InputFile,
        candidates: &[bool],
        walk: &mut Walk<'_>,
        (bar, bytes): (&ReadingBar, &mut u64),
    ) -> Result<(), Failure> {
        let mut reader = original.records::<F>()?;
        let (mut batch, mut batch_len) = (Vec::new(), 0);
        while let Some(record) = reader.next_record() {
            let document = walk.next();
            let wanted = document.filter(|&document| candidates.get(document) == Some(&true));
            match (wanted, record.map(|record| record.content)) {
                (_, Err(error @ simidx_input::Error::Io(_))) => return Err(error.into()),
                (None, _) => {}
                (Some(document), Ok(Content::Text(text))) => {
                    batch_len += text.len();
                    batch.push((document, text));
                }
                // It was a document in the first pass.
                (Some(_), _) => return Err(original.changed().into()),
            }
            if batch.len() >= BATCH_TEXTS || batch_len >= BATCH_LEN {
                self.add(&mut batch)?;
                batch_len = 0;
            }
            bar.show_sometimes(walk.position(), *bytes + reader.bytes_read());
        }
        self.add(&mut batch)?;
        *bytes += reader.bytes_read();
        Ok(original.check_unchanged()?)
    }

    fn add(&mut self, batch: &mut Vec<(usize, String)>) -> Result<(), Failure> {
        let (similarity, fingerprinters) = (self.similarity, &self.fingerprinters);
        let sets: Vec<FeatureSet> = batch
            .par_iter()
            .map(|(_, text)| similarity.set(text, fingerprinters))
            .collect();
        for ((document, _), set) in batch.drain(..).zip(sets) {
            let bytes: Vec<u8> = set
                .hashes()
                .iter()
                .flat_map(|hash| hash.to_le_bytes())
                .collect();
            let end = self.ends.last().copied().unwrap_or(0) + set.hashes().len() as u64;
            self.documents.push(document as u32);
            self.identities.push(xxhash_rust::xxh3::xxh3_64(&bytes));
            self.ends.push(end);
            let written = self.file.write_all(&bytes);
            written.map_err(|error| self.blame(error))?;
        }
        Ok(())
    }

    /// Which documents to keep, if candidates are compared by these sets.
    pub(super) fn confirmed<F: Fingerprint>(
        &mut self,
        deduplicator: Deduplicator<F>,
        mode: ProgressMode,
    ) -> Result<Deduplicated<F>, Failure> {
        self.bar = mode.counter("texts");
        self.bar.set_message("comparing");
        let found = deduplicator.finish(Some(self))?;
        self.bar.finish_and_clear();
        Ok(found)
    }

    /// The Jaccard similarity of two candidates.
    pub(super) fn jaccard(&mut self, a: usize, b: usize) -> Result<f64, Error> {
        let other = self.get(b)?;
        Ok(self.remembered(a)?.jaccard(&other))
    }

    fn place(&self, document: usize) -> Result<usize, Error> {
        let place = self.documents.binary_search(&(document as u32));
        // All documents that may be asked for are candidates.
        place.map_err(|_| io::Error::other(format!("document {document} was not read")).into())
    }

    fn remembered(&mut self, document: usize) -> Result<&FeatureSet, Error> {
        let set = match self.last.take() {
            Some((last, set)) if last == document => set,
            _ => self.get(document)?,
        };
        Ok(&self.last.insert((document, set)).1)
    }

    fn get(&self, document: usize) -> Result<FeatureSet, Error> {
        let place = self.place(document)?;
        let start = place.checked_sub(1).map_or(0, |before| self.ends[before]);
        let mut bytes = vec![0; (self.ends[place] - start) as usize * 8];
        let mut file = self.file.get_ref();
        let read = file.seek(SeekFrom::Start(start * 8));
        let read = read.and_then(|_| file.read_exact(&mut bytes));
        read.map_err(|error| self.blame(error))?;
        let (hashes, _) = bytes.as_chunks();
        let hashes = hashes.iter().map(|hash| u64::from_le_bytes(*hash));
        Ok(FeatureSet::from_hashes(hashes.collect()))
    }

    fn blame(&self, error: io::Error) -> io::Error {
        io::Error::new(error.kind(), format!("{}: {error}", self.folder.display()))
    }
}

impl Verifier for Texts {
    fn identity(&mut self, document: usize) -> Result<u64, Error> {
        Ok(self.identities[self.place(document)?])
    }

    fn is_duplicate(&mut self, a: usize, b: usize) -> Result<bool, Error> {
        self.compared += 1;
        if self.compared.is_multiple_of(TOLD_EVERY) {
            self.bar.set_position(self.compared);
        }
        let similarity = self.similarity;
        let other = self.get(b)?;
        Ok(similarity.is_met(self.remembered(a)?, &other))
    }
}
