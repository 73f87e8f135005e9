//! Documents of earlier runs: those of an index, found by the sketches that it carries, and compared by their texts if
//! these are there.

use std::collections::{BTreeSet, HashMap};

use simidx::{Error, IdBuf, IdKind, Set};
use simidx_input::{Content, InputFile};
use simidx_text::Pipeline;
use simidx_text::dedup::Similarity;
use simidx_text::similar::{
    JaccardEstimate, KeySearch, MOST_CHANCE_MATCHES, SignedText, SimilarCandidates, SimilarTexts,
    SketchMatch, SketchSearch, Sketcher, TextSketch, are_keys, chance_matches, key_parameters,
};

use super::judged::Member;
use super::{Args, Job};
use crate::support::failure::Failure;
use crate::support::labels::place_among;
use crate::support::messages::counted;
use crate::support::records::{id_of_kind, visit_all};

/// Bytes of features that wait until their texts are compared with the index together.
const WAITING_LEN: usize = 32 << 20;

/// Margin in standard errors where texts decide: of the documents that are just similar enough, sketches miss one in
/// three million.
const MARGIN_OF_TEXTS: f64 = 5.0;

/// Bytes that a document of the index takes while its text is looked for: its id twice, and its record.
const WANTED_LEN: u64 = 160;

/// The texts that `--texts` names, opened before anything is read.
///
/// # Errors
/// A pattern that nothing matches, and a file that cannot be read.
pub(super) fn open_texts(args: &Args, set: &Set) -> Result<Vec<InputFile>, Failure> {
    if !args.texts.is_empty() && set.id_kind() == IdKind::None {
        let message = "--texts finds documents by their ids, and the index has none";
        return Err(Failure::new(message).about(set.names().join(", ")));
    }
    let (input, temp_dir) = (&args.input, args.resources.temp_dir.as_deref());
    let mut options = input.fields.options(set.width());
    options.fields.odd_ids = true;
    let mut files = Vec::new();
    for pattern in &args.texts {
        for path in simidx_input::expand(pattern, None)? {
            files.push(InputFile::open_with(
                &path,
                input.format(),
                &options,
                temp_dir,
            )?);
        }
    }
    Ok(files)
}

/// Compares documents with an index before they are compared with each other.
pub(super) struct Against<'a> {
    set: &'a Set,
    search: Search<'a>,
    /// The most documents whose sketches are compared together.
    batch_len: usize,
    /// Bytes for the keys of documents.
    key_memory: u64,
    waiting: Vec<(SignedText, TextSketch)>,
    waiting_len: usize,
    /// The records that may be similar where texts decide: the numbers of the segment and of the record.
    near: BTreeSet<(usize, u64)>,
}

/// How records of the index are found.
enum Search<'a> {
    /// By sketches, whose estimates decide.
    Estimates(SketchSearch<'a>, InIndex),
    /// By sketches, so that texts decide.
    Sketches(SketchSearch<'a>),
    /// By the keys that documents are compared by, so that texts decide.
    Keys(KeySearch<'a>),
}

impl<'a> Against<'a> {
    /// Checks that the index is of what is compared. A search takes at most `memory` bytes.
    ///
    /// # Errors
    /// No sketches, or others.
    pub(super) fn new(
        (set, has_texts): (&'a Set, bool),
        similarity: Similarity,
        pipeline: &Pipeline,
        memory: u64,
    ) -> Result<Self, Failure> {
        let refuse = |message: &str| Err(Failure::new(message).about(&set.names()[0]));
        let Some(parameters) = set.sketch_parameters()? else {
            return refuse(
                "has no sketches to compare texts with; build it with --sketch 256, or compare fingerprints by -k",
            );
        };
        let mut batch_len = usize::MAX;
        let search = if !are_keys(parameters) {
            let search = sketch_search((set, has_texts), similarity, pipeline)?;
            batch_len = search.batch_len(memory);
            match has_texts {
                true => Search::Sketches(search),
                false => {
                    let bits = search.sketcher().parameters().bits();
                    Search::Estimates(search, InIndex::of_sketches(bits))
                }
            }
        } else if key_parameters(similarity, pipeline.options().html).as_ref() != Some(parameters) {
            let features = parameters.features();
            return refuse(&format!(
                "remembers documents for another --similarity, --features or --html: it has {features}"
            ));
        } else if !has_texts {
            return refuse("remembers no sketches of documents; name their files with --texts");
        } else {
            Search::Keys(KeySearch::new(set, parameters))
        };
        Ok(Against {
            set,
            search,
            batch_len,
            key_memory: memory / 4,
            waiting: Vec::new(),
            waiting_len: 0,
            near: BTreeSet::new(),
        })
    }

    /// Makes the sketches that are compared, if any are.
    pub(super) fn sketcher(&self) -> Option<&Sketcher> {
        match &self.search {
            Search::Estimates(search, _) | Search::Sketches(search) => Some(search.sketcher()),
            Search::Keys(_) => None,
        }
    }

    /// Takes the next document, with its sketch if sketches are compared. It comes to the texts, or is found in the index, at
    /// the latest by [`Against::finish`].
    ///
    /// # Errors
    /// A damaged index, and what the texts report.
    pub(super) fn push(
        &mut self,
        text: SignedText,
        sketch: Option<TextSketch>,
        texts: &mut SimilarTexts,
    ) -> Result<(), Error> {
        let Some(sketch) = sketch else {
            if let Search::Keys(keys) = &mut self.search {
                keys.push(&text);
                if keys.byte_count() > self.key_memory {
                    self.near.extend(keys.near_records()?);
                }
            }
            return texts.push_signed(text);
        };
        self.waiting_len += size_of_val(text.features().hashes());
        self.waiting.push((text, sketch));
        if self.waiting.len() >= self.batch_len || self.waiting_len >= WAITING_LEN {
            self.compare(texts)?;
        }
        Ok(())
    }

    fn compare(&mut self, texts: &mut SimilarTexts) -> Result<(), Error> {
        self.waiting_len = 0;
        let waiting = std::mem::take(&mut self.waiting).into_iter();
        let (waiting, sketches): (Vec<_>, Vec<_>) = waiting.unzip();
        match &mut self.search {
            Search::Keys(keys) => self.near.extend(keys.near_records()?),
            Search::Sketches(search) => {
                self.near.extend(search.near_records(&sketches)?);
                let mut waiting = waiting.into_iter();
                waiting.try_for_each(|text| texts.push_signed(text))?;
            }
            Search::Estimates(search, in_index) => {
                let best = search.best_matches(&sketches)?;
                for (text, found) in waiting.into_iter().zip(best) {
                    match found {
                        None => texts.push_signed(text)?,
                        Some(found) => {
                            let document = texts.text_count() + in_index.documents.len();
                            in_index.documents.push((document, found));
                        }
                    }
                }
            }
        }
        Ok(())
    }

    /// Returns what was found once all documents are there. The texts of records that may be similar follow those of the
    /// documents.
    ///
    /// # Errors
    /// As for [`Against::push`]; too little memory for the records, and a record whose text is not there.
    pub(super) fn finish(
        mut self,
        job: &Job<'_>,
        texts: &mut SimilarTexts,
    ) -> Result<(InIndex, Earlier), Failure> {
        self.compare(texts)?;
        if let Search::Estimates(_, in_index) = self.search {
            return Ok((in_index, Earlier::default()));
        }
        let mut earlier = Earlier::new(self.set, self.near, job.memory.search / 4)?;
        earlier.read(job, |_, text| Ok(texts.push(text)?))?;
        earlier.check_all_read()?;
        Ok((InIndex::default(), earlier))
    }
}

/// A search by sketches, after a check that they are of what is compared.
fn sketch_search<'a>(
    (set, has_texts): (&'a Set, bool),
    similarity: Similarity,
    pipeline: &Pipeline,
) -> Result<SketchSearch<'a>, Failure> {
    let refuse = |message: String| Err(Failure::new(message).about(&set.names()[0]));
    let margin = if has_texts { MARGIN_OF_TEXTS } else { 0.0 };
    let search = SketchSearch::new(set, similarity.least(), margin)?;
    if !has_texts && search.chance_matches() > MOST_CHANCE_MATCHES {
        return refuse(too_short(&search, set.record_count(), similarity.least()));
    }
    let features = search.sketcher().features();
    if similarity.words() != Some(features.words()) {
        let words = features.words();
        return refuse(format!(
            "has sketches of runs of {words} words; say --features words:{words}"
        ));
    }
    if pipeline.options().html != features.html() {
        let html = features.html();
        return refuse(format!(
            "has sketches of texts with --html {html}; say so here, too"
        ));
    }
    Ok(search)
}

/// Returns the error for sketches that are too short for the number of records, with the ways out.
fn too_short(search: &SketchSearch<'_>, records: u64, least: f64) -> String {
    let bits = search.sketcher().parameters().bits();
    let is_enough = |least, bits| chance_matches(records, least, 0.0, bits) <= MOST_CHANCE_MATCHES;
    let percents = (least * 100.0).ceil() as u32..=100;
    let higher = percents
        .map(|percent| f64::from(percent) / 100.0)
        .find(|&higher| is_enough(higher, bits));
    let higher = higher.map(|higher| format!("--similarity {higher}"));
    let longer = (1..=8)
        .map(|words| 64 * words)
        .find(|&longer| is_enough(least, longer));
    let longer = longer.map(|longer| format!("build it with --sketch {longer}"));
    let ways: Vec<String> = higher.into_iter().chain(longer).collect();
    format!(
        "has {} with sketches of {bits} bits: of a document that is like none of them, {:.2} would seem to have a \
         similarity of {least} by chance; {}",
        counted(records, "record"),
        search.chance_matches(),
        ways.join(", or ")
    )
}

/// The documents that an index has, by estimates: ascending, each with the record that is most like it. The others are the
/// texts that are compared with each other, numbered from 0. Memory: 40 bytes for each document in the index.
#[derive(Debug, Default)]
pub(super) struct InIndex {
    pub(super) documents: Vec<(usize, SketchMatch)>,
    /// Bits of a sketch; 0 if no document was compared by sketches alone.
    pub(super) bits: u32,
}

impl InIndex {
    /// No documents yet, which are found by sketches of this length.
    fn of_sketches(bits: u32) -> Self {
        InIndex {
            documents: Vec::new(),
            bits,
        }
    }

    /// The number of a document among the texts; none if the index has it.
    pub(super) fn text_of(&self, document: usize) -> Option<usize> {
        match self
            .documents
            .binary_search_by_key(&document, |found| found.0)
        {
            Ok(_) => None,
            Err(before) => Some(document - before),
        }
    }

    /// The document that a text is.
    pub(super) fn document_of(&self, text: usize) -> usize {
        let excluded = |number: usize| self.documents[number].0 as u64;
        place_among(self.documents.len(), excluded, text as u64) as usize
    }

    /// The record that a document is like; none if the index has none.
    ///
    /// # Errors
    /// A damaged index.
    pub(super) fn member(&self, document: usize, set: &Set) -> Result<Option<Member>, Error> {
        let found = self
            .documents
            .binary_search_by_key(&document, |found| found.0);
        let Ok(number) = found else {
            return Ok(None);
        };
        let (_, found) = self.documents[number];
        let estimate = found.estimate(self.bits);
        member(set, (found.segment, found.record), Err(estimate)).map(Some)
    }
}

/// A record of the index, with its similarity or an estimate of it.
fn member(
    set: &Set,
    (segment, record): (usize, u64),
    similarity: Result<f64, JaccardEstimate>,
) -> Result<Member, Error> {
    let (fingerprint, id) = set.record(segment, record)?;
    Ok(Member {
        fingerprint: set.width().to_hex(fingerprint),
        id,
        similarity: similarity.ok(),
        estimate: similarity.err(),
    })
}

/// Texts of earlier documents, which take part in the decisions: those that may be similar to a new one. Any others with the
/// same ids may be among them, which changes nothing: they are earlier documents as well.
#[derive(Debug, Default)]
pub(super) struct Earlier {
    /// The wanted records by their ids: the first record, the number of records, and the number of texts read.
    wanted: HashMap<IdBuf, ((usize, u64), u64, u64)>,
    kind: IdKind,
    /// The record of each text, in the order of the texts.
    pub(super) records: Vec<(usize, u64)>,
}

impl Earlier {
    fn new(set: &Set, near: BTreeSet<(usize, u64)>, memory: u64) -> Result<Self, Failure> {
        let needed = near.len() as u64 * WANTED_LEN;
        if needed > memory {
            let purpose = format!("finding {} documents of the index by their ids", near.len());
            let error = Error::Budget {
                purpose,
                needed: 4 * needed,
                given: 4 * memory,
            };
            return Err(error.into());
        }
        let mut wanted = HashMap::new();
        for (segment, record) in near {
            let Some(id) = set.id_of_record(segment, record)? else {
                let message = "has a record without an id, by which its text could be found";
                return Err(Failure::new(message).about(&set.names()[segment]));
            };
            wanted.entry(id).or_insert(((segment, record), 0, 0)).1 += 1;
        }
        Ok(Earlier {
            wanted,
            kind: set.id_kind(),
            records: Vec::new(),
        })
    }

    /// Calls `visit` with the number and the text of each wanted document, in the order of the files.
    fn read(
        &mut self,
        job: &Job<'_>,
        mut visit: impl FnMut(usize, String) -> Result<(), Failure>,
    ) -> Result<(), Failure> {
        if self.wanted.is_empty() {
            return Ok(());
        }
        self.records.clear();
        let total = job.texts.iter().map(InputFile::byte_count).sum();
        let bar = job
            .mode
            .reading("reading earlier texts", "documents", total);
        let readers = job.texts.iter().map(InputFile::records);
        visit_all(readers, &bar, |position, record| {
            let Some(record) = record else {
                return Ok(());
            };
            let id = record.id.unwrap_or(IdBuf::Number(position));
            let wanted = id_of_kind(id, self.kind).and_then(|id| self.wanted.get_mut(&id));
            if let (Some((place, _, read)), Content::Text(text)) = (wanted, record.content) {
                visit(self.records.len(), text)?;
                *read += 1;
                self.records.push(*place);
            }
            Ok(())
        })?;
        let mut files = job.texts.iter();
        Ok(files.try_for_each(InputFile::check_unchanged)?)
    }

    /// Checks that the text of each wanted record was there.
    fn check_all_read(&self) -> Result<(), Failure> {
        let missing = self.wanted.iter();
        let missing = missing.filter(|(_, (_, wanted, read))| read < wanted);
        let mut missing: Vec<String> = missing.map(|(id, _)| id.to_string()).collect();
        missing.sort_unstable();
        let Some(first) = missing.first() else {
            return Ok(());
        };
        let others = match missing.len() {
            1 => String::new(),
            count => format!(" and {}", counted(count as u64 - 1, "other")),
        };
        Err(Failure::new(format!(
            "--texts has no document {first}{others}, which the index has and new ones may be similar to; name the file \
             that has it"
        )))
    }

    /// Reads the texts again for which there was no memory. The first of them has the number `first`.
    ///
    /// # Errors
    /// A file that cannot be read again, or that has other documents now.
    pub(super) fn give(
        &mut self,
        job: &Job<'_>,
        first: usize,
        candidates: &mut SimilarCandidates,
    ) -> Result<(), Failure> {
        self.read(job, |number, text| {
            Ok(candidates.give(first + number, text)?)
        })
    }

    /// The record whose text has this number.
    ///
    /// # Errors
    /// A damaged index.
    pub(super) fn member(
        &self,
        number: usize,
        set: &Set,
        similarity: f64,
    ) -> Result<Member, Error> {
        member(set, self.records[number], Ok(similarity))
    }

    /// The id of the record whose text has this number.
    ///
    /// # Errors
    /// A damaged index.
    pub(super) fn id(&self, number: usize, set: &Set) -> Result<Option<IdBuf>, Error> {
        let (segment, record) = self.records[number];
        set.id_of_record(segment, record)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn documents_and_texts_have_numbers_of_their_own() {
        let found = |document| {
            let found = SketchMatch {
                query: 0,
                segment: 0,
                record: 0,
                distance: 0,
            };
            (document, found)
        };
        let in_index = InIndex {
            documents: [0, 1, 4, 7].map(found).to_vec(),
            bits: 64,
        };
        let texts: Vec<_> = (0..9).map(|document| in_index.text_of(document)).collect();
        assert_eq!(
            texts,
            [
                None,
                None,
                Some(0),
                Some(1),
                None,
                Some(2),
                Some(3),
                None,
                Some(4)
            ]
        );
        for (document, text) in texts.into_iter().enumerate() {
            assert!(text.is_none_or(|text| in_index.document_of(text) == document));
        }
        assert_eq!(InIndex::default().text_of(7), Some(7));
        assert_eq!(InIndex::default().document_of(7), 7);
    }
}
