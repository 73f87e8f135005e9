//! Similar texts: deduplication, pairs and clusters.

use numpy::IntoPyArray;
use pyo3::prelude::*;
use simidx::Error;
use simidx_text::dedup::Similarity;
use simidx_text::similar::{Fate, SimilarCandidates, SimilarOptions, SimilarTexts};
use simidx_text::{Pipeline, PipelineOptions};

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
    /// Earlier texts, which are decided first.
    against: Option<Texts>,
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
        let pipeline = texts::given(given.get("pipeline")?.as_ref(), given.py())?;
        let words = match given.get("words")? {
            // As in the program.
            None if *pipeline.options() == PipelineOptions::default() => Some(3),
            None => None,
            Some(words) => match words.extract::<&str>() {
                Ok("pipeline") => None,
                Ok(other) => {
                    let message = format!("words={other:?}: a number or \"pipeline\" is expected");
                    return Err(Class::OptionType.error(given.py(), message));
                }
                Err(_) => Some(options::count(&words, "words")?),
            },
        };
        let least = match words {
            Some(words) => Similarity::of_words(similarity, words),
            None => Similarity::of_features(similarity),
        };
        let mut options = SimilarOptions::default();
        options.similarity = least.map_err(|_| {
            let words = words.map_or_else(String::new, |words| format!(", words={words}"));
            let message = format!(
                "similarity={similarity}{words}: a Jaccard similarity above 0 and at most 1 is expected, of 1 to 64 words"
            );
            Class::Option.error(given.py(), message)
        })?;
        options.memory = given.memory()?;
        options.temp_dir = given.temp_dir()?;
        Ok(Search {
            texts: input::texts(&given.value("texts")?)?,
            against: given
                .get("against")?
                .map(|texts| input::texts(&texts))
                .transpose()?,
            pipeline,
            options,
            how: given.how()?,
        })
    }

    /// Calls `work` with the number of texts and with candidates of similar ones, with the longest texts first if those should
    /// be decided first. Earlier texts are decided before all others and have the numbers after theirs.
    pub(crate) fn run<T: Send + 'static>(
        self,
        py: Python<'_>,
        longest_first: bool,
        work: impl FnOnce(usize, SimilarCandidates, &Watch) -> simidx::Result<T> + Send + 'static,
    ) -> PyResult<T> {
        let (texts, pipeline, options) = (self.texts, self.pipeline, self.options);
        let against = self.against;
        run_apart(py, &self.how, move |watch| {
            let mut texts = texts.all();
            let own = texts.len();
            texts.extend(against.iter().flat_map(Texts::all));
            let total = texts.len() as u64;
            let mut collected = SimilarTexts::new(&pipeline, &options)?;
            for piece in texts.chunks(PIECE) {
                watch.report("sign", collected.text_count() as u64, total)?;
                collected.push_all(piece)?;
            }
            watch.report("group", 0, total)?;
            let rank = |text: usize| match longest_first {
                _ if text >= own => u64::MAX,
                true => texts[text].len() as u64,
                false => 0,
            };
            let mut candidates = match longest_first || texts.len() > own {
                false => collected.candidates()?,
                true => collected.candidates_by(rank)?,
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
            Ok(work(own, candidates, watch)?)
        })
    }
}

/// Returns which texts to keep so that hardly any two are similar: each dropped text is similar to an earlier kept one,
/// or with `longest` to one that is not shorter.
#[pyfunction]
pub(crate) fn dedup_texts(given: Given<'_>) -> PyResult<Bound<'_, PyAny>> {
    let longest = longest_first(&given)?;
    let mask = Search::new(&given)?.run(given.py(), longest, |own, candidates, watch| {
        let found = candidates.dedup(&watch.of_library())?;
        let kept = (0..own).map(|text| found.is_kept(text));
        Ok(kept.collect::<Vec<bool>>())
    })?;
    Ok(mask.into_pyarray(given.py()).into_any())
}

/// Returns a row for each text that `dedup_texts` drops: its row, the row that is kept for it, whether that is one of the
/// earlier texts, and the similarity of the two.
#[pyfunction]
pub(crate) fn dropped_texts(given: Given<'_>) -> PyResult<[Bound<'_, PyAny>; 4]> {
    let (py, longest) = (given.py(), longest_first(&given)?);
    let dropped = Search::new(&given)?.run(py, longest, |own, candidates, watch| {
        let found = candidates.dedup(&watch.of_library())?;
        let of_text = |text: usize| match found.fate(text) {
            Fate::Kept => None,
            Fate::Dropped { kept, jaccard } => {
                let row = kept.checked_sub(own).unwrap_or(kept);
                Some((text as i64, row as i64, kept >= own, jaccard))
            }
        };
        Ok((0..own).filter_map(of_text).collect::<Vec<_>>())
    })?;
    let rows: Vec<i64> = dropped.iter().map(|dropped| dropped.0).collect();
    let kept: Vec<i64> = dropped.iter().map(|dropped| dropped.1).collect();
    let is_earlier: Vec<bool> = dropped.iter().map(|dropped| dropped.2).collect();
    let similarity: Vec<f64> = dropped.iter().map(|dropped| dropped.3).collect();
    Ok([
        rows.into_pyarray(py).into_any(),
        kept.into_pyarray(py).into_any(),
        is_earlier.into_pyarray(py).into_any(),
        similarity.into_pyarray(py).into_any(),
    ])
}

/// Reads which of several similar texts is kept: `keep`.
fn longest_first(given: &Given<'_>) -> PyResult<bool> {
    let value = given.value("keep")?;
    match value.extract::<String>().as_deref() {
        Ok("first") => Ok(false),
        Ok("longest") => Ok(true),
        _ => {
            let what = "\"first\" or \"longest\" is expected";
            Err(options::refused(Class::Option, &value, "keep", what))
        }
    }
}

/// Returns nearly all pairs of similar texts: left, right, similarity, ordered by row.
#[pyfunction]
pub(crate) fn pairs_texts(given: Given<'_>) -> PyResult<Columns<'_>> {
    let (py, most) = (given.py(), given.read("max_pairs", options::count)?);
    let pairs = Search::new(&given)?.run(py, false, move |_, mut candidates, watch| {
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
    let labels = Search::new(&given)?.run(given.py(), false, |_, mut candidates, watch| {
        let labels = candidates.clusters(&watch.of_library())?.into_iter();
        Ok(labels.map(|first| first as i64).collect::<Vec<i64>>())
    })?;
    Ok(labels.into_pyarray(given.py()).into_any())
}
