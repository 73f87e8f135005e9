//! Similar texts: deduplication, pairs and clusters.

use numpy::IntoPyArray;
use pyo3::prelude::*;
use simidx::Error;
use simidx_text::Pipeline;
use simidx_text::dedup::Similarity;
use simidx_text::similar::{SimilarCandidates, SimilarOptions, SimilarTexts};

use crate::column::Texts;
use crate::errors::Class;
use crate::given::Given;
use crate::input;
use crate::options;
use crate::run::{How, Watch, run_apart};
use crate::sets::{Columns, columns};
use crate::texts;

/// Texts between two progress reports.
const PIECE: usize = 4096;

/// The arguments of the functions in this file.
pub(crate) struct Search {
    pub(crate) texts: Texts,
    pub(crate) pipeline: Pipeline,
    pub(crate) options: SimilarOptions,
    pub(crate) how: How,
}

impl Search {
    /// The names of the arguments that are read here.
    pub(crate) const NAMES: [&str; 8] = [
        "texts",
        "similarity",
        "words",
        "pipeline",
        "memory",
        "temp_dir",
        "threads",
        "progress",
    ];

    /// Reads the texts and the options of a call.
    pub(crate) fn new(given: &Given<'_>) -> PyResult<Self> {
        let similarity = options::similarity(&given.value("similarity")?, "similarity")?;
        // `None` selects the features of the pipeline.
        let words = given.read("words", options::count)?;
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
            Class::Option.error(given.py(), message)
        })?;
        options.memory = given.memory()?;
        options.temp_dir = given.temp_dir()?;
        Ok(Search {
            texts: input::texts(&given.value("texts")?)?,
            pipeline: texts::given(given.get("pipeline")?.as_ref(), given.py())?,
            options,
            how: given.how()?,
        })
    }

    /// Calls `work` with candidates of similar texts, with the longest texts first if those should be decided first.
    pub(crate) fn run<T: Send + 'static>(
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

/// Returns which texts to keep so that no two are similar: each dropped text is similar to an earlier kept one.
#[pyfunction]
pub(crate) fn dedup_texts(given: Given<'_>) -> PyResult<Bound<'_, PyAny>> {
    let mask = Search::new(&given)?.run(given.py(), false, |candidates, watch| {
        let found = candidates.dedup(&watch.of_library())?;
        let kept = (0..found.text_count()).map(|text| found.is_kept(text));
        Ok(kept.collect::<Vec<bool>>())
    })?;
    Ok(mask.into_pyarray(given.py()).into_any())
}

/// Returns all pairs of similar texts: left, right, similarity, ordered by row.
#[pyfunction]
pub(crate) fn pairs_texts(given: Given<'_>) -> PyResult<Columns<'_>> {
    let (py, most) = (given.py(), given.read("max_pairs", options::count)?);
    let pairs = Search::new(&given)?.run(py, false, move |mut candidates, watch| {
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
        Ok(pairs.into_iter().collect())
    })?;
    Ok(columns(py, pairs))
}

/// Returns for each text the first of its cluster: `int64`. Two texts are in one cluster if a chain of similar texts
/// links them.
#[pyfunction]
pub(crate) fn clusters_texts(given: Given<'_>) -> PyResult<Bound<'_, PyAny>> {
    let labels = Search::new(&given)?.run(given.py(), false, |mut candidates, watch| {
        let labels = candidates.clusters(&watch.of_library())?.into_iter();
        Ok(labels.map(|first| first as i64).collect::<Vec<i64>>())
    })?;
    Ok(labels.into_pyarray(given.py()).into_any())
}
