//! Texts that are similar: which to keep, their pairs and their clusters.

use numpy::IntoPyArray;
use pyo3::prelude::*;
use pyo3::types::PyDict;
use simidx::Error;
use simidx_text::Pipeline;
use simidx_text::dedup::Similarity;
use simidx_text::similar::{SimilarCandidates, SimilarOptions, SimilarTexts};

use crate::column::Texts;
use crate::errors::Class;
use crate::input;
use crate::keywords::Keywords;
use crate::options;
use crate::run::{How, Watch, run_apart};
use crate::table;
use crate::texts;

/// Texts between two reports of progress.
const PIECE: usize = 4096;

/// Words of a run, if nothing else is said.
const WORDS: usize = 3;

/// The keyword arguments that all functions here know.
const COMMON: [&str; 6] = [
    "words", "pipeline", "memory", "temp_dir", "threads", "progress",
];

/// What the functions here are given.
pub(crate) struct Search {
    pub(crate) texts: Texts,
    pub(crate) pipeline: Pipeline,
    pub(crate) options: SimilarOptions,
    pub(crate) how: How,
}

impl Search {
    pub(crate) fn new<'py>(
        object: &Bound<'py, PyAny>,
        similarity: f64,
        keywords: &Keywords<'_, 'py>,
    ) -> PyResult<Self> {
        let py = object.py();
        // `None` stands for the features of the pipeline.
        let words = match keywords.raw("words")? {
            Some(words) if words.is_none() => None,
            Some(words) => Some(options::count(&words, "words")?),
            None => Some(WORDS),
        };
        let least = match words {
            Some(words) => Similarity::of_words(similarity, words),
            None => Similarity::of_features(similarity),
        };
        let mut options = SimilarOptions::default();
        options.similarity = least.map_err(|_| {
            let words = words.map_or_else(|| "None".to_owned(), |words| words.to_string());
            let message = format!(
                "similarity={similarity}, words={words}: a Jaccard similarity above 0 and at most 1 is expected, of 1 to 64 words"
            );
            Class::Option.error(py, message)
        })?;
        options.memory = keywords.memory()?;
        options.temp_dir = keywords.temp_dir()?;
        Ok(Search {
            texts: input::texts(object)?,
            pipeline: texts::given(keywords.get("pipeline")?.as_ref(), py)?,
            options,
            how: keywords.how()?,
        })
    }

    /// Lets `work` work on the texts that may be similar.
    pub(crate) fn run<T: Send + 'static>(
        self,
        py: Python<'_>,
        work: impl FnOnce(SimilarCandidates, &Watch) -> simidx::Result<T> + Send + 'static,
    ) -> PyResult<T> {
        self.run_in_order(py, false, work)
    }

    /// The same, with the longest texts first if they are to be decided on in that order.
    pub(crate) fn run_in_order<T: Send + 'static>(
        self,
        py: Python<'_>,
        longest_first: bool,
        work: impl FnOnce(SimilarCandidates, &Watch) -> simidx::Result<T> + Send + 'static,
    ) -> PyResult<T> {
        let (texts, pipeline, options) = (self.texts, self.pipeline, self.options);
        run_apart(py, &self.how, move |watch| {
            let texts = texts.all();
            let total = texts.len() as u64;
            let mut collected = SimilarTexts::new(&pipeline, &options)?;
            for (number, text) in texts.iter().enumerate() {
                collected.push(*text)?;
                if number % PIECE == 0 {
                    watch.report("sign", number as u64, total)?;
                }
            }
            watch.report("group", 0, total)?;
            let mut candidates = match longest_first {
                false => collected.candidates()?,
                true => collected.candidates_by(|text| texts[text].len() as u64)?,
            };
            if candidates.needs_texts() {
                for (number, text) in texts.iter().enumerate() {
                    if candidates.needs_text(number) {
                        candidates.give(number, *text)?;
                    }
                    if number % PIECE == 0 {
                        watch.report("read again", number as u64, total)?;
                    }
                }
            }
            watch.report("compare", 0, total)?;
            Ok(work(candidates, watch)?)
        })
    }
}

/// Which texts to keep so that no two are similar: each one that is not kept is similar to an earlier one that is.
#[pyfunction]
#[pyo3(signature = (texts, similarity=0.8, **options), text_signature = "(texts, similarity=0.8, *, words=3, pipeline=None, memory=None, temp_dir=None, threads=None, progress=None)")]
pub(crate) fn dedup_texts<'py>(
    py: Python<'py>,
    texts: &Bound<'py, PyAny>,
    #[pyo3(from_py_with = options::similarity)] similarity: f64,
    options: Option<&Bound<'py, PyDict>>,
) -> PyResult<Bound<'py, PyAny>> {
    let keywords = Keywords::new(py, "dedup_texts", options, &COMMON)?;
    let mask = Search::new(texts, similarity, &keywords)?.run(py, |candidates, watch| {
        let found = candidates.dedup(&watch.of_library())?;
        let kept = (0..found.text_count()).map(|text| found.is_kept(text));
        Ok(kept.collect::<Vec<bool>>())
    })?;
    Ok(mask.into_pyarray(py).into_any())
}

/// All pairs of similar texts: `left, right, similarity`, by row.
#[pyfunction]
#[pyo3(signature = (texts, similarity=0.8, **options), text_signature = "(texts, similarity=0.8, *, words=3, pipeline=None, max_pairs=None, memory=None, temp_dir=None, threads=None, progress=None)")]
pub(crate) fn pairs_texts<'py>(
    py: Python<'py>,
    texts: &Bound<'py, PyAny>,
    #[pyo3(from_py_with = options::similarity)] similarity: f64,
    options: Option<&Bound<'py, PyDict>>,
) -> PyResult<Bound<'py, PyAny>> {
    let known = [&["max_pairs"][..], &COMMON].concat();
    let keywords = Keywords::new(py, "pairs_texts", options, &known)?;
    let most = keywords.read("max_pairs", options::count)?;
    let search = Search::new(texts, similarity, &keywords)?;
    let pairs = search.run(py, move |mut candidates, watch| {
        let mut pairs: Vec<(i64, i64, f64)> = Vec::new();
        candidates.for_each_pair(|pair| -> simidx::Result<()> {
            if let Some(limit) = most
                && pairs.len() >= limit
            {
                return Err(Error::LimitReached {
                    what: "pairs",
                    limit: limit as u64,
                });
            }
            pairs.push((pair.a as i64, pair.b as i64, pair.jaccard));
            watch.check()
        })?;
        pairs.sort_unstable_by_key(|&(left, right, _)| (left, right));
        Ok(pairs)
    })?;
    let left: Vec<i64> = pairs.iter().map(|pair| pair.0).collect();
    let right: Vec<i64> = pairs.iter().map(|pair| pair.1).collect();
    let similarities: Vec<f64> = pairs.iter().map(|pair| pair.2).collect();
    let (left, right) = (left.into_pyarray(py), right.into_pyarray(py));
    let similarities = similarities.into_pyarray(py).into_any();
    table::pairs(
        py,
        "TextPairs",
        [left.into_any(), right.into_any(), similarities],
    )
}

/// For each text the first of its cluster: `int64`. Two texts are in one cluster if a chain of similar ones leads from one to
/// the other.
#[pyfunction]
#[pyo3(signature = (texts, similarity=0.8, **options), text_signature = "(texts, similarity=0.8, *, words=3, pipeline=None, memory=None, temp_dir=None, threads=None, progress=None)")]
pub(crate) fn clusters_texts<'py>(
    py: Python<'py>,
    texts: &Bound<'py, PyAny>,
    #[pyo3(from_py_with = options::similarity)] similarity: f64,
    options: Option<&Bound<'py, PyDict>>,
) -> PyResult<Bound<'py, PyAny>> {
    let keywords = Keywords::new(py, "clusters_texts", options, &COMMON)?;
    let labels = Search::new(texts, similarity, &keywords)?.run(py, |mut candidates, watch| {
        let labels = candidates.clusters(&watch.of_library())?.into_iter();
        Ok(labels.map(|first| first as i64).collect::<Vec<i64>>())
    })?;
    Ok(labels.into_pyarray(py).into_any())
}
