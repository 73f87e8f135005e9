//! Searches in open files: what is asked, and the answers in columns.

use std::sync::Arc;

use pyo3::prelude::*;
use simidx::batch::{Answers, JoinOptions, answer_all, contains_all, join_watched};
use simidx::segments::Question;

use crate::column::Column;
use crate::errors::{Class, Failure};
use crate::input::{self, Expected};
use crate::matches::{Match, Matches, matches_of};
use crate::opened::Opened;
use crate::options;
use crate::run::{How, run_apart, run_short};
use crate::width::Width;

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
pub(crate) fn queries<F: Width>(object: &Bound<'_, PyAny>, signed: bool) -> PyResult<Vec<F>> {
    let expected = Expected {
        width: Some(F::WIDTH),
        signed,
    };
    let read = input::fingerprints(object, expected)?;
    let column = F::column(read).map(Column::into_owned);
    column.ok_or_else(|| Class::Internal.error(object.py(), "a mix of widths"))
}

/// The distance that is asked for, or that of the files.
pub(crate) fn distance_or(opened: &Opened, k: Option<&Bound<'_, PyAny>>) -> PyResult<u32> {
    let given = options::optional(k, "k", options::distance)?;
    Ok(given.unwrap_or_else(|| opened.max_distance()))
}

/// Answers queries, at once if there is little to do.
pub(crate) fn answer<F: Width>(
    py: Python<'_>,
    opened: Arc<Opened>,
    queries: Vec<F>,
    question: Question,
    how: &How,
) -> PyResult<Matches> {
    let ns = match question {
        Question::Within(distance) => {
            let segments = opened.of::<F>().map_err(|failure| failure.raise(py))?;
            let plans = segments.indexes().map(|index| index.plan(distance).ns());
            plans.sum::<f64>() * queries.len() as f64
        }
        Question::Nearest { .. } => f64::INFINITY,
    };
    let (of_work, total) = (Arc::clone(&opened), queries.len() as u64);
    let work = move |report: &mut dyn FnMut(usize) -> simidx::Result<()>| {
        let segments = of_work.of::<F>()?;
        Ok::<_, Failure>(answer_all(segments, &queries, question, report)?)
    };
    let answers: Answers<F> = match ns < SHORT_NS && how.threads.is_none() {
        true => run_short(py, how, move || work(&mut |_| Ok(())))?,
        false => run_apart(py, how, move |watch| {
            work(&mut |done| watch.report("query", done as u64, total))
        })?,
    };
    Matches::new(py, opened, answers)
}

/// All fingerprints within a distance of one, with their ids.
pub(crate) fn one<F: Width>(
    py: Python<'_>,
    opened: Arc<Opened>,
    query: F,
    distance: u32,
) -> PyResult<Vec<Match>> {
    let segments = opened.of::<F>().map_err(|failure| failure.raise(py))?;
    let plans = segments.indexes();
    let ns: f64 = plans.map(|index| index.plan(distance).ns()).sum();
    let of_work = Arc::clone(&opened);
    let work = move || Ok::<_, Failure>(of_work.of::<F>()?.query(query, distance)?);
    let found = match ns < SHORT_NS {
        true => run_short(py, &How::default(), work)?,
        false => run_apart(py, &How::default(), move |_| work())?,
    };
    let distances: Vec<u8> = found.iter().map(|found| found.distance as u8).collect();
    let found: Vec<F> = found.iter().map(|found| found.fingerprint).collect();
    matches_of(py, &opened, &found, &distances)
}

/// Whether a fingerprint within a distance of each query is there.
pub(crate) fn contains<F: Width>(
    py: Python<'_>,
    opened: Arc<Opened>,
    queries: Vec<F>,
    distance: u32,
    how: &How,
) -> PyResult<Vec<bool>> {
    run_apart(py, how, move |watch| {
        let total = queries.len() as u64;
        let report = |done| watch.report("query", done as u64, total);
        Ok(contains_all(opened.of::<F>()?, &queries, distance, report)?)
    })
}

/// The answers to very many queries, by one pass over the files where that is quicker.
pub(crate) fn join<F: Width>(
    py: Python<'_>,
    opened: Arc<Opened>,
    queries: Vec<F>,
    options: JoinOptions,
    how: &How,
) -> PyResult<Matches> {
    let of_work = Arc::clone(&opened);
    let answers = run_apart(py, how, move |watch| {
        let mut answers = Answers::default();
        let search = |done, total| watch.report("search", done, total);
        let visit = |query: usize, found: simidx::Match<F>| {
            while answers.query_count() < query {
                answers.end_query();
                watch.report("join", answers.query_count() as u64, queries.len() as u64)?;
            }
            answers.push(found.fingerprint, found.distance);
            Ok(())
        };
        join_watched(of_work.of::<F>()?, &queries, &options, search, visit)?;
        while answers.query_count() < queries.len() {
            answers.end_query();
        }
        Ok(answers)
    })?;
    Matches::new(py, opened, answers)
}
