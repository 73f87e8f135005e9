//! Searches in open files: what is asked, and the answers in columns.

use std::sync::Arc;

use pyo3::prelude::*;
use simidx::Fingerprints;
use simidx::batch::{Answers, JoinOptions, answer_all, contains_all, join as join_all};
use simidx::set::Question;

use crate::errors::Failure;
use crate::input::{self, Expected};
use crate::matches::{Match, Matches, matches_of};
use crate::opened::Opened;
use crate::options;
use crate::run::{How, run_apart, run_short};

/// Nanoseconds that work may take which no signal can break off.
const SHORT_NS: f64 = 5e6;

/// How the caller wants long work to be done.
pub(crate) fn how(
    threads: Option<&Bound<'_, PyAny>>,
    progress: Option<&Bound<'_, PyAny>>,
) -> PyResult<How> {
    Ok(How {
        threads: options::optional(threads, "threads", options::count)?,
        progress: options::progress(progress)?,
    })
}

/// Reads queries of the width of an index. They are copied, which costs nothing beside their answers: between two looks at
/// whether to go on a search may read them for long.
pub(crate) fn queries(
    object: &Bound<'_, PyAny>,
    opened: &Opened,
    signed: bool,
) -> PyResult<Fingerprints> {
    let expected = Expected {
        width: Some(opened.width()),
        signed,
    };
    Ok(input::fingerprints(object, expected)?.into_owned())
}

/// The distance that is asked for, or that of the files.
pub(crate) fn distance_or(opened: &Opened, k: Option<&Bound<'_, PyAny>>) -> PyResult<u32> {
    let given = options::optional(k, "k", options::distance)?;
    Ok(given.unwrap_or_else(|| opened.set.max_distance()))
}

/// Answers queries, at once if there is little to do.
pub(crate) fn answer(
    py: Python<'_>,
    opened: Arc<Opened>,
    queries: Fingerprints,
    question: Question,
    how: &How,
) -> PyResult<Matches> {
    let ns = match question {
        Question::Within(distance) => opened.query_ns(distance) * queries.len() as f64,
        Question::Nearest { .. } => f64::INFINITY,
    };
    let set = opened.set.clone();
    let work =
        move |watch: &simidx::Watch| Ok::<_, Failure>(answer_all(&set, &queries, question, watch)?);
    let answers: Answers = match ns < SHORT_NS && how.threads.is_none() {
        true => run_short(py, how, move || work(&simidx::Watch::default()))?,
        false => run_apart(py, how, move |watch| work(&watch.of_library()))?,
    };
    Matches::new(py, opened, answers)
}

/// All fingerprints within a distance of one, with their ids.
pub(crate) fn one(
    py: Python<'_>,
    opened: Arc<Opened>,
    query: u128,
    distance: u32,
) -> PyResult<Vec<Match>> {
    let ns = opened.query_ns(distance);
    let set = opened.set.clone();
    let work = move || {
        let (mut found, mut distances) = (Fingerprints::new(set.width()), Vec::new());
        for hit in set.query(query, distance)? {
            found.push(hit.fingerprint);
            distances.push(hit.distance as u8);
        }
        Ok::<_, Failure>((found, distances))
    };
    let (found, distances) = match ns < SHORT_NS {
        true => run_short(py, &How::default(), work)?,
        false => run_apart(py, &How::default(), move |_| work())?,
    };
    matches_of(py, &opened, found, &distances)
}

/// Whether a fingerprint within a distance of each query is there.
pub(crate) fn contains(
    py: Python<'_>,
    opened: Arc<Opened>,
    queries: Fingerprints,
    distance: u32,
    how: &How,
) -> PyResult<Vec<bool>> {
    run_apart(py, how, move |watch| {
        let watch = watch.of_library();
        Ok(contains_all(&opened.set, &queries, distance, &watch)?)
    })
}

/// The answers to very many queries, by one pass over the files where that is quicker.
pub(crate) fn join(
    py: Python<'_>,
    opened: Arc<Opened>,
    queries: Fingerprints,
    options: JoinOptions,
    how: &How,
) -> PyResult<Matches> {
    let set = opened.set.clone();
    let answers = run_apart(py, how, move |watch| {
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
        join_all(&set, &queries, &options, visit)?;
        while answers.query_count() < total {
            answers.end_query();
        }
        Ok(answers)
    })?;
    Matches::new(py, opened, answers)
}
