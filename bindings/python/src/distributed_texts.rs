//! Texts on many machines, for `simidx.distributed`: their keys, and what is decided where all that may be near one another is.

use numpy::{IntoPyArray, PyArrayMethods};
use pyo3::prelude::*;
use pyo3::types::{PyDict, PyTuple};
use simidx::batch::{Decision, DedupOptions, Deduplicator, IdColumn};
use simidx::{Error, IdBuf, IdKind};
use simidx_text::Pipeline;
use simidx_text::dedup::{Similarity, content_identity};
use simidx_text::similar::{
    Fate, JaccardEstimate, MOST_CHANCE_MATCHES, SketchFeatures, SketchSearch, TextSigner,
    TextSketch,
};

use crate::arrays::array;
use crate::column::Column;
use crate::distributed::of_width;
use crate::errors::{Class, Failure};
use crate::index::PyIndex;
use crate::input;
use crate::keywords::Keywords;
use crate::opened::Opened;
use crate::options;
use crate::records;
use crate::run::{Watch, run_apart};
use crate::sets::priorities;
use crate::similar::Search;

/// Texts of which sketches are looked for at a time.
const SKETCHED: usize = 1 << 16;

/// A hash of all bytes of each text, of 128 bits: what tells apart texts without features.
#[pyfunction]
pub(crate) fn _identities<'py>(
    py: Python<'py>,
    texts: &Bound<'py, PyAny>,
) -> PyResult<Bound<'py, PyAny>> {
    let texts = input::texts(texts)?;
    let texts = texts.all().into_iter();
    let identities: Vec<u128> = texts.map(content_identity).collect();
    array(py, identities)
}

/// The keys of texts: a row for each text, a column for each band.
#[pyfunction]
#[pyo3(signature = (texts, similarity, **options), text_signature = "(texts, similarity, *, words=3, pipeline=None, threads=None)")]
pub(crate) fn _text_keys<'py>(
    py: Python<'py>,
    texts: &Bound<'py, PyAny>,
    similarity: f64,
    options: Option<&Bound<'py, PyDict>>,
) -> PyResult<Bound<'py, PyAny>> {
    let keywords = Keywords::new(py, "_text_keys", options, &["words", "pipeline", "threads"])?;
    let search = Search::new(texts, similarity, &keywords)?;
    let signer = TextSigner::new(search.options.similarity);
    let (texts, pipeline) = (search.texts, search.pipeline);
    let (rows, keys) = run_apart(py, &search.how, move |_| {
        let texts = texts.all();
        let parallel = pipeline.parallel(simidx::Width::W64)?;
        let keys = signer.all_wide_keys(&parallel, &texts);
        Ok((texts.len(), keys))
    })?;
    let columns = keys.len().checked_div(rows).unwrap_or_default();
    Ok(keys.into_pyarray(py).reshape([rows, columns])?.into_any())
}

/// What `dedup_texts` decides, and why: for each text the row that is kept for it or -1, and their similarity. Of the kept rows it
/// is the most similar one, of several the first. `longest` decides on longer texts first, `chains` drops what chains of similar
/// texts lead to, each for the first text of its chain.
#[pyfunction]
#[pyo3(signature = (texts, similarity, **options), text_signature = "(texts, similarity, *, words=3, pipeline=None, memory=None, threads=None, longest=False, chains=False)")]
pub(crate) fn _dedup_texts<'py>(
    py: Python<'py>,
    texts: &Bound<'py, PyAny>,
    similarity: f64,
    options: Option<&Bound<'py, PyDict>>,
) -> PyResult<Bound<'py, PyTuple>> {
    let known = [
        "words", "pipeline", "memory", "threads", "longest", "chains",
    ];
    let keywords = Keywords::new(py, "_dedup_texts", options, &known)?;
    let (longest, chains) = (keywords.flag("longest")?, keywords.flag("chains")?);
    let mut search = Search::new(texts, similarity, &keywords)?;
    // What is found first would depend on which other texts came to the same place.
    search.options.most_similar = true;
    let (kept, jaccards) = search.run_in_order(py, longest, move |candidates, watch| {
        let found = match chains {
            false => candidates.dedup(&watch.of_library())?,
            true => candidates.dedup_by_chains(&watch.of_library())?,
        };
        let fates = (0..found.text_count()).map(|text| match found.fate(text) {
            Fate::Kept => (-1, 1.0),
            Fate::Dropped { kept, jaccard } => (kept as i64, jaccard),
        });
        Ok(fates.unzip::<i64, f64, Vec<_>, Vec<_>>())
    })?;
    let (kept, jaccards) = (kept.into_pyarray(py), jaccards.into_pyarray(py));
    PyTuple::new(py, [kept.into_any(), jaccards.into_any()])
}

/// What `simidx dedup -k` decides of documents, and why: for each the row that is kept for it or -1, and the distance of their
/// fingerprints. Of each cluster the document of the highest priority is kept.
#[pyfunction]
#[pyo3(signature = (fingerprints, width, k, **options), text_signature = "(fingerprints, width, k, *, priority=None, memory=None, threads=None)")]
pub(crate) fn _dedup_documents<'py>(
    py: Python<'py>,
    fingerprints: &Bound<'py, PyAny>,
    width: u32,
    k: &Bound<'py, PyAny>,
    options: Option<&Bound<'py, PyDict>>,
) -> PyResult<Bound<'py, PyTuple>> {
    let known = ["priority", "memory", "threads"];
    let keywords = Keywords::new(py, "_dedup_documents", options, &known)?;
    let mut options = DedupOptions::default();
    options.distance = options::distance(k, "k")?;
    options.memory = keywords.memory()?;
    let values = of_width(fingerprints, width)?.into_owned();
    let priority = keywords.get("priority")?;
    let priorities = priorities(py, priority.as_ref(), values.len())?.map(Column::into_owned);
    let (kept, distances) = run_apart(py, &keywords.how()?, move |watch| {
        options.watch = watch.of_library();
        let mut documents = Deduplicator::new(values.width(), &options);
        documents.extend_from_slice(&values)?;
        let mut found = documents.finish()?;
        if let Some(priorities) = priorities {
            found.keep_by(|document| priorities[document]);
        }
        let fates = (0..values.len()).map(|document| match found.decision(document) {
            Decision::Duplicate { of, distance } => (of as i64, distance as i32),
            _ => (-1, 0),
        });
        Ok(fates.unzip::<i64, i32, Vec<_>, Vec<_>>())
    })?;
    let (kept, distances) = (kept.into_pyarray(py), distances.into_pyarray(py));
    PyTuple::new(py, [kept.into_any(), distances.into_any()])
}

/// The number of words in the runs of which an index has sketches, if it has some of one kind.
#[pyfunction]
pub(crate) fn _sketch_words(py: Python<'_>, index: &PyIndex) -> PyResult<Option<usize>> {
    let opened = index.opened(py)?;
    match opened.set.sketch_parameters() {
        Ok(parameters) => {
            let features = parameters.map(|p| p.features().parse::<SketchFeatures>());
            Ok(features
                .and_then(Result::ok)
                .map(|features| features.words()))
        }
        Err(Error::Segment { .. }) => Ok(None),
        Err(error) => Err(Failure::from(error).raise(py)),
    }
}

/// The records of an index that are most like texts, of those that have one: row, record, and what is estimated.
struct InIndex {
    rows: Vec<i64>,
    fingerprints: simidx::Fingerprints,
    ids: Option<IdColumn>,
    estimates: Vec<f64>,
    standard_errors: Vec<f64>,
}

impl InIndex {
    fn find(
        opened: &Opened,
        texts: &[&str],
        similarity: Similarity,
        pipeline: &Pipeline,
        watch: &Watch,
    ) -> Result<Self, Failure> {
        let set = &opened.set;
        let search = SketchSearch::new(set, similarity.least(), 0.0)?;
        let by_chance = search.chance_matches();
        if by_chance > MOST_CHANCE_MATCHES {
            let message = format!(
                "the sketches are too short for so many records and so low a similarity: {by_chance:.3} records would seem \
                 similar to a text by chance; build with longer sketches, or ask for a higher similarity"
            );
            return Err(Failure::Other(Class::Input, message));
        }
        let features = search.sketcher().features();
        if similarity.words() != Some(features.words())
            || pipeline.options().html != features.html()
        {
            let message = format!(
                "the index has sketches of runs of {} words, of texts with html={}; say so with words and pipeline",
                features.words(),
                features.html()
            );
            return Err(Failure::Other(Class::Input, message));
        }
        let signer = TextSigner::new(similarity);
        let mut fingerprinter = pipeline.fingerprinter(simidx::Width::W64)?;
        let mut found = InIndex {
            rows: Vec::new(),
            fingerprints: simidx::Fingerprints::new(set.width()),
            ids: match set.id_kind() {
                IdKind::None => None,
                IdKind::Number => Some(IdColumn::Numbers(Vec::new())),
                IdKind::String => Some(IdColumn::Strings {
                    ends: Vec::new(),
                    text: String::new(),
                }),
            },
            estimates: Vec::new(),
            standard_errors: Vec::new(),
        };
        for (number, some) in texts.chunks(SKETCHED).enumerate() {
            watch.check()?;
            let mut sketch = |text: &&str| {
                let signed = signer.sign(&mut fingerprinter, text);
                search.sketcher().sketch_of(signed.features())
            };
            let sketches: Vec<TextSketch> = some.iter().map(&mut sketch).collect();
            let best = search.best_matches(&sketches)?;
            for (row, matched) in (number * SKETCHED..).zip(best) {
                let Some(matched) = matched else { continue };
                let (fingerprint, id) = set.record(matched.segment, matched.record)?;
                found.rows.push(row as i64);
                found.fingerprints.push(fingerprint);
                found.push_id(id);
                let bits = search.sketcher().parameters().bits();
                let JaccardEstimate {
                    similarity,
                    standard_error,
                    ..
                } = matched.estimate(bits);
                found.estimates.push(similarity);
                found.standard_errors.push(standard_error);
            }
        }
        Ok(found)
    }

    fn push_id(&mut self, id: Option<IdBuf>) {
        match (&mut self.ids, id) {
            (Some(IdColumn::Numbers(numbers)), Some(IdBuf::Number(number))) => numbers.push(number),
            (Some(IdColumn::Strings { ends, text }), Some(IdBuf::String(id))) => {
                text.push_str(&id);
                ends.push(text.len() as u64);
            }
            _ => {}
        }
    }
}

/// Which texts an index has, by the sketches that it carries: rows, and for each the fingerprint and the id of the record that is
/// most like it, the estimate of their similarity and its standard error.
#[pyfunction]
#[pyo3(signature = (index, texts, similarity, **options), text_signature = "(index, texts, similarity, *, words=3, pipeline=None, threads=None)")]
pub(crate) fn _sketch_matches<'py>(
    py: Python<'py>,
    index: &PyIndex,
    texts: &Bound<'py, PyAny>,
    similarity: f64,
    options: Option<&Bound<'py, PyDict>>,
) -> PyResult<Bound<'py, PyTuple>> {
    let known = ["words", "pipeline", "threads"];
    let keywords = Keywords::new(py, "_sketch_matches", options, &known)?;
    let Search {
        texts,
        pipeline,
        options,
        how,
    } = Search::new(texts, similarity, &keywords)?;
    let opened = index.opened(py)?;
    let found = run_apart(py, &how, move |watch| {
        InIndex::find(&opened, &texts.all(), options.similarity, &pipeline, watch)
    })?;
    let columns = [
        found.rows.into_pyarray(py).into_any(),
        array(py, found.fingerprints)?,
        records::to_python(py, found.ids)?,
        found.estimates.into_pyarray(py).into_any(),
        found.standard_errors.into_pyarray(py).into_any(),
    ];
    PyTuple::new(py, columns)
}
