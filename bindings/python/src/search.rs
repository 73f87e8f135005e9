//! Searches in open files and in collections: questions, and answers in columns.

use std::sync::Arc;

use numpy::IntoPyArray;
use pyo3::prelude::*;
use simidx::batch::{Answers, JoinOptions};
use simidx::set::Question;
use simidx::{Fingerprints, Width};

use crate::collection::{Live, PyCollection};
use crate::errors::Failure;
use crate::facts::{Facts, Found, found};
use crate::given::Given;
use crate::index::PyIndex;
use crate::opened::Opened;
use crate::options;
use crate::run::{How, run_apart, run_here, run_short};

/// The longest work that signals cannot cancel, in nanoseconds.
const SHORT_NS: f64 = 5e6;

/// The target of a search.
enum Searched {
    Files(Arc<Opened>),
    Collection(Arc<Live>),
}

impl Searched {
    /// Returns the target whose method was called: `self`.
    fn of(given: &Given<'_>) -> PyResult<Self> {
        match given.value("self")?.cast::<PyCollection>() {
            Ok(collection) => Ok(Searched::Collection(collection.get().live(given.py())?)),
            Err(_) => PyIndex::of(given).map(Searched::Files),
        }
    }

    fn width(&self) -> Width {
        match self {
            Searched::Files(opened) => opened.width(),
            Searched::Collection(live) => live.collection().width(),
        }
    }

    /// Returns the requested distance, or the default of the target.
    fn distance(&self, given: &Given<'_>) -> PyResult<u32> {
        Ok(given.distance()?.unwrap_or_else(|| match self {
            Searched::Files(opened) => opened.set.max_distance(),
            Searched::Collection(live) => live.collection().max_distance(),
        }))
    }

    /// Answers queries, on the caller's thread if there is little to do.
    fn answer(
        self,
        py: Python<'_>,
        queries: Fingerprints,
        question: Question,
        how: &How,
    ) -> PyResult<(Answers, Facts)> {
        let is_short = how.threads.is_none()
            && match (&self, question) {
                (_, Question::Nearest { .. }) => false,
                (Searched::Files(opened), Question::Within(distance)) => {
                    opened.query_ns(distance) * (queries.len() as f64) < SHORT_NS
                }
                (Searched::Collection(live), Question::Within(distance)) => {
                    queries.len() == 1 && distance <= live.collection().max_distance()
                }
            };
        match self {
            Searched::Files(opened) => {
                let set = opened.set.clone();
                let work = move |watch: &simidx::Watch| {
                    Ok::<_, Failure>(set.answer_all(&queries, question, watch)?)
                };
                let answers = match is_short {
                    true => run_short(py, move || work(&simidx::Watch::default()))?,
                    false => run_apart(py, how, move |watch| work(&watch.of_library()))?,
                };
                Ok((answers, Facts::of_files(opened)))
            }
            Searched::Collection(live) => {
                let one = queries.iter().next().filter(|_| is_short);
                let columns = match one {
                    // On this thread, to avoid waiting for the pool, which other calls may keep busy.
                    Some(query) => run_here(py, || live.search_one(query, question))?,
                    None => {
                        run_apart(py, how, move |watch| live.search(&queries, question, watch))?
                    }
                };
                Ok((columns.answers, Facts::of_ids(columns.ids)))
            }
        }
    }
}

/// Answers queries: the `n` nearest if a number is given, otherwise all within a distance.
#[pyfunction]
pub(crate) fn query(given: Given<'_>) -> PyResult<Found<'_>> {
    let (py, searched) = (given.py(), Searched::of(&given)?);
    let question = match given.raw("n")? {
        None => Question::Within(searched.distance(&given)?),
        Some(_) => Question::Nearest {
            count: given.read("n", options::count)?.unwrap_or(1),
            max_distance: given
                .read("max_distance", options::distance)?
                .unwrap_or(searched.width().bits()),
        },
    };
    let queries = given.queries(searched.width())?;
    let (answers, facts) = searched.answer(py, queries, question, &given.how()?)?;
    found(py, answers, facts)
}

/// Returns for each query whether there is a fingerprint within a distance.
#[pyfunction]
pub(crate) fn contains(given: Given<'_>) -> PyResult<Bound<'_, PyAny>> {
    let (py, searched) = (given.py(), Searched::of(&given)?);
    let distance = searched.distance(&given)?;
    let (queries, how) = (given.queries(searched.width())?, given.how()?);
    let mask = match searched {
        Searched::Files(opened) => run_apart(py, &how, move |watch| {
            let watch = watch.of_library();
            Ok(opened.set.contains_all(&queries, distance, &watch)?)
        })?,
        searched => {
            let question = Question::Within(distance);
            let (answers, _) = searched.answer(py, queries, question, &how)?;
            let bounds = answers.offsets.windows(2);
            bounds.map(|bounds| bounds[0] < bounds[1]).collect()
        }
    };
    Ok(mask.into_pyarray(py).into_any())
}

/// Answers very many queries, by one pass over the files if that is faster.
#[pyfunction]
pub(crate) fn join(given: Given<'_>) -> PyResult<Found<'_>> {
    let (py, opened) = (given.py(), PyIndex::of(&given)?);
    let mut options = JoinOptions::default();
    let distance = given.distance()?;
    options.distance = distance.unwrap_or_else(|| opened.set.max_distance());
    options.memory = given.memory()?;
    options.temp_dir = given.temp_dir()?;
    let queries = given.queries(opened.width())?;
    let set = opened.set.clone();
    let answers = run_apart(py, &given.how()?, move |watch| {
        let (mut answers, total) = (Answers::new(set.width()), queries.len());
        let options = options.watch(watch.of_library());
        let visit = |query: usize, found: simidx::Match<u128>| {
            while answers.query_count() < query {
                answers.end_query();
                watch.report("join", answers.query_count() as u64, total as u64)?;
            }
            answers.push(found.fingerprint, found.distance);
            Ok(())
        };
        set.join(&queries, &options, visit)?;
        while answers.query_count() < total {
            answers.end_query();
        }
        Ok(answers)
    })?;
    found(py, answers, Facts::of_files(opened))
}
