//! Documents of earlier runs: those of an index, found by the sketches that it carries, and compared by their texts if
//! these are there.

use std::collections::{BTreeSet, HashMap};
use std::path::PathBuf;

use rayon::prelude::*;
use simidx::{Error, IdBuf, IdKind, Set};
use simidx_input::InputFile;
use simidx_text::Pipeline;
use simidx_text::dedup::Similarity;
use simidx_text::similar::{
    JaccardEstimate, KeySearch, MOST_CHANCE_MATCHES, SignedText, SimilarCandidates, SimilarTexts,
    SketchMatch, SketchSearch, Sketcher, TextSketch, are_keys, chance_matches, key_parameters,
};

use super::judged::Member;
use super::update::check_pipeline;
use super::{Args, Job};
use crate::support::failure::Failure;
use crate::support::labels::place_among;
use crate::support::messages::counted;
use crate::support::records::{id_of_kind, open_files, visit_texts};
use crate::support::similarity::ID_SHARE;

/// Bytes of features that wait until their texts are compared with the index together.
const WAITING_LEN: usize = 32 << 20;

/// Margin in standard errors where texts decide: of the documents that are just similar enough, sketches miss one in
/// three million.
const MARGIN_OF_TEXTS: f64 = 5.0;

/// The share of the memory of a search that holds keys, and also wanted records, is one part in this number.
const MEMORY_PARTS: u64 = 4;

/// Bytes that a record of the index takes while its text is looked for, without its id.
const WANTED_LEN: u64 = 256;

/// The most earlier texts, and bytes of them, that are signed together.
const BATCH_TEXTS: usize = 4096;
const BATCH_LEN: usize = 16 << 20;

/// Opens the files of `--texts`, before anything is read.
///
/// # Errors
/// An index without ids, and a file that cannot be read.
pub(super) fn open_texts(
    args: &Args,
    set: &Set,
    texts: &[PathBuf],
) -> Result<Vec<InputFile>, Failure> {
    let has_ids = set.id_kind() != IdKind::None || set.record_count() == 0;
    if !args.texts.is_empty() && !has_ids {
        let message = "--texts finds documents by their ids, and the index has none";
        return Err(Failure::new(message).about(set.names().join(", ")));
    }
    let temp_dir = args.resources.temp_dir.as_deref();
    let mut options = args.input.fields.options(set.width());
    options.fields.odd_ids = true;
    open_files(texts, args.input.format(), &options, temp_dir)
}

/// Compares documents with an index before they are compared with each other.
pub(super) struct Against<'a> {
    set: &'a Set,
    search: Search<'a>,
    /// The most documents whose sketches are compared together.
    batch_len: usize,
    /// Bytes for the keys of documents, and as many for the records that may be similar.
    memory: u64,
    /// The sketches that are compared together.
    sketches: Vec<TextSketch>,
    /// Their texts, where estimates decide.
    waiting: Vec<SignedText>,
    waiting_len: usize,
    near: Near,
}

/// The records that may be similar where texts decide: the numbers of the segment and of the record.
type Near = BTreeSet<(usize, u64)>;

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
    /// Checks that the index is of what is compared. A search takes at most half of the memory, in bytes.
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
            batch_len = search.batch_len(memory / 2);
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
                "remembers documents for another --similarity, --features, --pipeline or --html: it has {features}"
            ));
        } else if !has_texts {
            return refuse("remembers no sketches of documents; name their files with --texts");
        } else if similarity.words().is_none()
            && let Err(message) = check_pipeline(set, pipeline)
        {
            return refuse(&message);
        } else {
            Search::Keys(KeySearch::new(set, parameters))
        };
        Ok(Against {
            set,
            search,
            batch_len,
            memory: memory / MEMORY_PARTS,
            sketches: Vec::new(),
            waiting: Vec::new(),
            waiting_len: 0,
            near: Near::new(),
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
        self.sketches.extend(sketch);
        match &mut self.search {
            Search::Keys(keys) => {
                keys.push(&text);
                let is_full = keys.byte_count() > self.memory;
                texts.push_signed(text)?;
                if is_full {
                    self.compare(texts)?;
                }
                return Ok(());
            }
            Search::Sketches(_) => texts.push_signed(text)?,
            Search::Estimates(..) => {
                self.waiting_len += size_of_val(text.features().hashes());
                self.waiting.push(text);
            }
        }
        if self.sketches.len() >= self.batch_len || self.waiting_len >= WAITING_LEN {
            self.compare(texts)?;
        }
        Ok(())
    }

    fn compare(&mut self, texts: &mut SimilarTexts) -> Result<(), Error> {
        self.waiting_len = 0;
        let waiting = std::mem::take(&mut self.waiting);
        let sketches = std::mem::take(&mut self.sketches);
        match &mut self.search {
            Search::Keys(keys) => self.near.extend(keys.near_records()?),
            Search::Sketches(search) => self.near.extend(search.near_records(&sketches)?),
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
        check_memory(&self.near, 0, self.memory)
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
        let sketcher = self.sketcher().cloned();
        let mut wanted = WantedTexts::new((self.set, sketcher), self.near, self.memory)?;
        if !wanted.places.is_empty() {
            wanted.read(job, texts)?;
        }
        Ok((InIndex::default(), wanted.found))
    }
}

/// Checks the memory for records whose texts are looked for, with this number of bytes for their ids.
fn check_memory(near: &Near, id_len: u64, memory: u64) -> Result<(), Error> {
    let needed = near.len() as u64 * WANTED_LEN + id_len;
    match needed > memory {
        true => Err(Error::Budget {
            purpose: format!("finding {} documents of the index by their ids", near.len()),
            needed: with_ids(needed * MEMORY_PARTS),
            given: with_ids(memory * MEMORY_PARTS),
        }),
        false => Ok(()),
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
        "has {} with sketches of {bits} bits: of a document that is like none of them, {:.4} would seem to have a \
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

/// Reads the texts of records that may be similar to new documents. Of the texts with the id of such a record, it takes those
/// that have the record's keys or sketch. Others were not remembered.
struct WantedTexts<'a> {
    set: &'a Set,
    kind: IdKind,
    sketcher: Option<Sketcher>,
    /// The records by their ids: the segment, the record, and whether its text is found.
    places: HashMap<IdBuf, Vec<(usize, u64, bool)>>,
    /// Texts that have such ids, with these and their positions.
    waiting: Vec<(IdBuf, u64)>,
    waiting_texts: Vec<String>,
    waiting_len: usize,
    found: Earlier,
}

impl<'a> WantedTexts<'a> {
    fn new(
        (set, sketcher): (&'a Set, Option<Sketcher>),
        near: Near,
        memory: u64,
    ) -> Result<Self, Failure> {
        let mut places: HashMap<_, Vec<_>> = HashMap::new();
        let mut id_len = 0;
        for &(segment, record) in &near {
            let Some(id) = set.id_of_record(segment, record)? else {
                let message = "has a record without an id, by which its text could be found";
                return Err(Failure::new(message).about(&set.names()[segment]));
            };
            if let IdBuf::String(id) = &id {
                id_len += id.len() as u64;
                check_memory(&near, id_len, memory)?;
            }
            let of_id = places.entry(id).or_default();
            of_id.reserve_exact(1);
            of_id.push((segment, record, false));
        }
        Ok(WantedTexts {
            set,
            kind: set.id_kind(),
            sketcher,
            places,
            waiting: Vec::new(),
            waiting_texts: Vec::new(),
            waiting_len: 0,
            found: Earlier::default(),
        })
    }

    /// Adds the texts of all records to `texts`, in the order of the files.
    ///
    /// # Errors
    /// A file that cannot be read, a record whose text is in none, and the errors of `texts`.
    fn read(&mut self, job: &Job<'_>, texts: &mut SimilarTexts) -> Result<(), Failure> {
        visit_texts(job.texts, job.earlier(), |position, id, text| {
            let id = id_of_kind(id, self.kind).filter(|id| self.places.contains_key(id));
            if let Some(id) = id {
                self.waiting_len += text.len();
                self.waiting.push((id, position));
                self.waiting_texts.push(text);
                if self.waiting.len() >= BATCH_TEXTS || self.waiting_len >= BATCH_LEN {
                    self.take_waiting(texts)?;
                }
            }
            Ok(())
        })?;
        self.take_waiting(texts)?;
        self.check_all_found()
    }

    fn take_waiting(&mut self, texts: &mut SimilarTexts) -> Result<(), Error> {
        let signed = texts.sign_all(&self.waiting_texts);
        self.waiting_texts.clear();
        self.waiting_len = 0;
        let sketcher = self.sketcher.as_ref();
        let own = signed.par_iter().map(|text| match sketcher {
            Some(sketcher) => sketcher.sketch_of(text.features()).as_u64s().to_vec(),
            None => text.packed_keys(),
        });
        let own: Vec<Vec<u64>> = own.collect();
        let signed = signed.into_iter().zip(own);
        let mut remembered = Vec::new();
        for ((id, position), (text, own)) in self.waiting.drain(..).zip(signed) {
            let mut first = None;
            for (segment, record, is_found) in self.places.get_mut(&id).into_iter().flatten() {
                remembered.clear();
                let records = *record..*record + 1;
                self.set.read_sketches(*segment, records, &mut remembered)?;
                if remembered == own {
                    *is_found = true;
                    first = first.or(Some((*segment, *record)));
                }
            }
            if let Some(place) = first {
                texts.push_signed(text)?;
                self.found.records.push(place);
                self.found.positions.push(position);
            }
        }
        Ok(())
    }

    /// Checks that the text of each record was found.
    fn check_all_found(&self) -> Result<(), Failure> {
        let is_missing = |places: &[(usize, u64, bool)]| places.iter().any(|place| !place.2);
        let missing = self.places.iter().filter(|(_, places)| is_missing(places));
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
            "--texts has no document {first}{others} with the text that the index remembers, to which new ones may be \
             similar; name the file that has it"
        )))
    }
}

/// The memory that a user gives, of which a search has this part.
fn with_ids(search: u64) -> u64 {
    search + search.div_ceil(ID_SHARE - 1)
}

/// Texts of earlier documents, which follow those of the new ones, and to which these are compared.
#[derive(Debug, Default)]
pub(super) struct Earlier {
    /// The record of each text.
    pub(super) records: Vec<(usize, u64)>,
    /// The position of each text in the files of `--texts`, ascending.
    positions: Vec<u64>,
}

impl Earlier {
    /// Reads the texts again for which there was no memory. The first of them has the number `first`.
    ///
    /// # Errors
    /// A file that cannot be read again, or has changed.
    pub(super) fn give(
        &self,
        job: &Job<'_>,
        first: usize,
        candidates: &mut SimilarCandidates,
    ) -> Result<(), Failure> {
        let mut numbers = self.positions.iter().zip(first..).peekable();
        visit_texts(job.texts, job.earlier(), |position, _, text| {
            if let Some((_, number)) = numbers.next_if(|&(&next, _)| next == position) {
                candidates.give(number, text)?;
            }
            Ok(())
        })?;
        Ok(())
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
