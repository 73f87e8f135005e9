//! Searchers: single and batched queries, and their answers.

use std::ffi::c_void;
use std::ptr::null_mut;
use std::sync::{Mutex, TryLockError};

use simidx::Set;
use simidx::batch::Answers;
use simidx::set::{Question, SetScratch};

use crate::border::{Buffer, places};
use crate::fingerprint::{Many, one, simidx_fingerprint};
use crate::handles::{self, Handle};
use crate::open::simidx_index;
use crate::status::simidx_status::SIMIDX_ERROR_BUSY;
use crate::status::{Failure, Result, guard, simidx_status};
use crate::work::{Work, simidx_work_options};

/// The largest distance of a query.
const MOST_DISTANCE: u32 = 128;

/// The working memory of queries, which also holds the answer to the last one. It keeps its index open. Only one thread
/// may use it at a time: create one for each thread.
pub struct simidx_searcher {
    _private: [u8; 0],
}

impl Handle for simidx_searcher {
    type Value = Mutex<Searcher>;
    const NAME: &'static str = "searcher";
}

/// A fingerprint that a query found.
#[repr(C)]
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct simidx_match {
    /// The fingerprint. `simidx_ids` and related functions give its ids.
    pub fingerprint: simidx_fingerprint,
    /// Number of the query, from 0.
    pub query: u64,
    /// Number of bits in which the fingerprint differs from the query.
    pub distance: u32,
    /// Always 0.
    pub reserved: u32,
}

/// The value of a searcher's handle.
pub(crate) struct Searcher {
    set: Set,
    scratch: SetScratch,
    answers: Answers,
}

impl Searcher {
    fn new(set: &Set) -> Self {
        let mut scratch = SetScratch::new();
        // The ids are read by the fingerprints of matches.
        scratch.set_ranked(false);
        Searcher {
            set: set.clone(),
            scratch,
            answers: Answers::new(set.width()),
        }
    }

    /// Writes the matches from `first` on, as many as fit. Returns the number of matches from there on.
    fn matches(&self, first: usize, buffer: &Buffer<simidx_match>) -> usize {
        let answers = &self.answers;
        let count = answers.fingerprints.len().saturating_sub(first);
        let ends = &answers.offsets[1..];
        let mut query = ends.partition_point(|&end| end <= first as u64);
        for place in 0..count.min(buffer.capacity()) {
            let number = first + place;
            let fingerprint = answers.fingerprints.get(number).unwrap_or_default();
            while ends.get(query).is_some_and(|&end| end <= number as u64) {
                query += 1;
            }
            let found = simidx_match {
                fingerprint: fingerprint.into(),
                query: query as u64,
                distance: answers.distances[number].into(),
                reserved: 0,
            };
            buffer.put(place, found);
        }
        count
    }
}

/// Calls `work` with a searcher, unless another thread is using it.
fn with<T>(
    searcher: *const simidx_searcher,
    work: impl FnOnce(&mut Searcher) -> Result<T>,
) -> Result<T> {
    let handle = handles::get(searcher)?;
    let mut searcher = match handle.try_lock() {
        Ok(searcher) => searcher,
        // The rest of a call that panicked is not an answer.
        Err(TryLockError::Poisoned(poisoned)) => {
            handle.clear_poison();
            let mut searcher = poisoned.into_inner();
            searcher.answers.clear();
            searcher
        }
        Err(TryLockError::WouldBlock) => {
            let message = "another thread is using the searcher; make one for each thread";
            return Err(Failure::new(SIMIDX_ERROR_BUSY, message));
        }
    };
    work(&mut searcher)
}

/// Runs a query on a searcher. The searcher has no answer afterwards if the query or one of its arguments fails.
fn ask<A>(
    searcher: *const simidx_searcher,
    arguments: Result<A>,
    query: impl FnOnce(&mut Searcher, &A) -> Result<()>,
) -> Result<()> {
    let asked = with(searcher, |searcher| {
        searcher.answers.clear();
        match &arguments {
            Ok(arguments) => query(searcher, arguments),
            Err(_) => Ok(()),
        }
    });
    // Invalid arguments are reported even if the searcher cannot be used.
    arguments.and(asked)
}

/// The destination of an answer: the number of its matches, and the matches that fit.
type Places = (Buffer<usize>, Buffer<simidx_match>);

/// Answers one query.
fn answer(
    searcher: *const simidx_searcher,
    query: simidx_fingerprint,
    question: Question,
    places: Result<Places>,
) -> Result<()> {
    let arguments = places.and_then(|places| check(question).and(Ok(places)));
    ask(searcher, arguments, |searcher, (found, buffer)| {
        let Searcher {
            set,
            scratch,
            answers,
        } = searcher;
        let query = one(set.width(), query)?;
        for hit in set.answer_with(scratch, query, question)?.iter() {
            answers.push(hit.fingerprint, hit.distance);
        }
        answers.end_query();
        found.set(searcher.matches(0, buffer));
        Ok(())
    })
}

/// Answers many queries.
fn answer_many(
    searcher: *const simidx_searcher,
    queries: &Many,
    question: Question,
    (work, offsets, places): (Result<Work>, Result<Buffer<u64>>, Result<Places>),
) -> Result<()> {
    let arguments = places.and_then(|places| {
        let arguments = (places, work?, offsets?);
        check(question).and(Ok(arguments))
    });
    ask(searcher, arguments, |searcher, (places, work, offsets)| {
        let (found, buffer) = places;
        let set = &searcher.set;
        searcher.answers = queries.with(set.width(), |queries| {
            work.run(|| Ok(set.answer_all(queries, question, &work.watch())?))
        })?;
        offsets.put_all(0, &searcher.answers.offsets);
        found.set(searcher.matches(0, buffer));
        Ok(())
    })
}

fn check(question: Question) -> Result<()> {
    check_distance(question.max_distance())
}

/// Checks that a distance is at most the width of the longest fingerprints.
pub(crate) fn check_distance(distance: u32) -> Result<()> {
    match distance <= MOST_DISTANCE {
        true => Ok(()),
        false => Err(Failure::argument(format!(
            "the distance is {distance}, and at most {MOST_DISTANCE} bits"
        ))),
    }
}

/// Creates a searcher of an index. Free it with `simidx_searcher_free`. It may outlive the index.
///
/// @param out  the searcher; NULL if the call fails
#[unsafe(no_mangle)]
pub unsafe extern "C" fn simidx_searcher_new(
    index: *const simidx_index,
    out: *mut *mut simidx_searcher,
) -> simidx_status {
    guard(|| {
        // SAFETY: the caller's promise.
        let out = unsafe { Buffer::one("out", out, null_mut()) }?;
        let searcher = Searcher::new(&*handles::get(index)?);
        out.set(handles::open(Mutex::new(searcher))?);
        Ok(())
    })
}

/// Frees a searcher. NULL and a freed searcher are ignored.
#[unsafe(no_mangle)]
pub extern "C" fn simidx_searcher_free(searcher: *mut simidx_searcher) {
    handles::close(searcher);
}

/// Finds all fingerprints within `distance` bits of one, inclusive, each once: by distance, then by value. Exact for
/// every distance from 0 to 128; fast for distances up to the `max_distance` of the index.
///
/// @param buffer    receives the matches, as many as fit; may be NULL if `capacity` is 0
/// @param capacity  capacity of the buffer
/// @param found     number of matches. If it exceeds the capacity, `simidx_matches` gives the others
#[unsafe(no_mangle)]
pub unsafe extern "C" fn simidx_query(
    searcher: *mut simidx_searcher,
    fingerprint: simidx_fingerprint,
    distance: u32,
    buffer: *mut simidx_match,
    capacity: usize,
    found: *mut usize,
) -> simidx_status {
    guard(|| {
        // SAFETY: the caller's promises.
        let places = unsafe { places(buffer, capacity, found) };
        answer(searcher, fingerprint, Question::Within(distance), places)
    })
}

/// Finds the `count` fingerprints nearest to one, within `distance` bits: by distance, then by value. Fewer if there
/// are not enough.
///
/// @param buffer    receives the matches, as many as fit; may be NULL if `capacity` is 0
/// @param capacity  capacity of the buffer
/// @param found     number of matches. If it exceeds the capacity, `simidx_matches` gives the others
#[unsafe(no_mangle)]
pub unsafe extern "C" fn simidx_nearest(
    searcher: *mut simidx_searcher,
    fingerprint: simidx_fingerprint,
    count: usize,
    distance: u32,
    buffer: *mut simidx_match,
    capacity: usize,
    found: *mut usize,
) -> simidx_status {
    guard(|| {
        // SAFETY: the caller's promises.
        let places = unsafe { places(buffer, capacity, found) };
        let question = Question::Nearest {
            count,
            max_distance: distance,
        };
        answer(searcher, fingerprint, question, places)
    })
}

/// Gets the matches of the last query of a searcher, or of its last batch, from one on: those that did not fit, without
/// searching again. There are none after a query that failed for any reason.
///
/// @param first     number of the match that goes first into the buffer
/// @param buffer    receives the matches, as many as fit; may be NULL if `capacity` is 0
/// @param capacity  capacity of the buffer
/// @param found     number of matches from `first` on
#[unsafe(no_mangle)]
pub unsafe extern "C" fn simidx_matches(
    searcher: *mut simidx_searcher,
    first: usize,
    buffer: *mut simidx_match,
    capacity: usize,
    found: *mut usize,
) -> simidx_status {
    guard(|| {
        // SAFETY: the caller's promises.
        let (found, buffer) = unsafe { places(buffer, capacity, found) }?;
        found.set(with(searcher, |searcher| {
            Ok(searcher.matches(first, &buffer))
        })?);
        Ok(())
    })
}

/// Checks whether the index holds a fingerprint within `distance` bits of one. Stops at the first.
///
/// @param out 1 if it does, otherwise 0
#[unsafe(no_mangle)]
pub unsafe extern "C" fn simidx_contains(
    searcher: *mut simidx_searcher,
    fingerprint: simidx_fingerprint,
    distance: u32,
    out: *mut u8,
) -> simidx_status {
    guard(|| {
        // SAFETY: the caller's promise.
        let out = unsafe { Buffer::one("out", out, 0) }?;
        check(Question::Within(distance))?;
        with(searcher, |Searcher { set, scratch, .. }| {
            let query = one(set.width(), fingerprint)?;
            out.set(set.contains_near_with(scratch, query, distance)?.into());
            Ok(())
        })
    })
}

/// Answers many queries on all threads. The matches of query 0 come first; each answer is as from `simidx_query`.
///
/// @param fingerprints  `count` values of `uint32_t`, `uint64_t` or `simidx_fingerprint`
/// @param width         their bits: 32, 64 or 128, the width of the index
/// @param options       may be NULL
/// @param offsets       receives `count + 1` numbers: the matches of query i are those from `offsets[i]` to before
///                      `offsets[i + 1]`; may be NULL
/// @param buffer        receives the matches, as many as fit; may be NULL if `capacity` is 0
/// @param capacity      capacity of the buffer
/// @param found         number of matches. If it exceeds the capacity, `simidx_matches` gives the others
#[unsafe(no_mangle)]
pub unsafe extern "C" fn simidx_query_many(
    searcher: *mut simidx_searcher,
    fingerprints: *const c_void,
    width: u32,
    count: usize,
    distance: u32,
    options: *const simidx_work_options,
    offsets: *mut u64,
    buffer: *mut simidx_match,
    capacity: usize,
    found: *mut usize,
) -> simidx_status {
    guard(|| {
        // SAFETY: the caller's promises.
        unsafe {
            let queries = Many::new(fingerprints, width, count);
            let offsets = Buffer::optional("offsets", offsets, count.saturating_add(1));
            let places = (
                Work::read(options),
                offsets,
                places(buffer, capacity, found),
            );
            answer_many(searcher, &queries, Question::Within(distance), places)
        }
    })
}

/// Finds the `nearest` fingerprints nearest to each of many, on all threads, as `simidx_nearest` does for one. The
/// arguments are those of `simidx_query_many`.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn simidx_nearest_many(
    searcher: *mut simidx_searcher,
    fingerprints: *const c_void,
    width: u32,
    count: usize,
    nearest: usize,
    distance: u32,
    options: *const simidx_work_options,
    offsets: *mut u64,
    buffer: *mut simidx_match,
    capacity: usize,
    found: *mut usize,
) -> simidx_status {
    guard(|| {
        // SAFETY: the caller's promises.
        unsafe {
            let queries = Many::new(fingerprints, width, count);
            let offsets = Buffer::optional("offsets", offsets, count.saturating_add(1));
            let places = (
                Work::read(options),
                offsets,
                places(buffer, capacity, found),
            );
            let question = Question::Nearest {
                count: nearest,
                max_distance: distance,
            };
            answer_many(searcher, &queries, question, places)
        }
    })
}

/// Checks whether the index holds a fingerprint within `distance` bits of each of many, on all threads.
///
/// @param fingerprints  `count` values of `uint32_t`, `uint64_t` or `simidx_fingerprint`
/// @param width         their bits: 32, 64 or 128, the width of the index
/// @param options       may be NULL
/// @param out           receives 1 or 0 for each of them
#[unsafe(no_mangle)]
pub unsafe extern "C" fn simidx_contains_many(
    searcher: *mut simidx_searcher,
    fingerprints: *const c_void,
    width: u32,
    count: usize,
    distance: u32,
    options: *const simidx_work_options,
    out: *mut u8,
) -> simidx_status {
    guard(|| {
        // SAFETY: the caller's promises.
        let (queries, work, out) = unsafe {
            (
                Many::new(fingerprints, width, count),
                Work::read(options)?,
                Buffer::new("out", out, count)?,
            )
        };
        check(Question::Within(distance))?;
        let found = with(searcher, |Searcher { set, .. }| {
            queries.with(set.width(), |queries| {
                work.run(|| Ok(set.contains_all(queries, distance, &work.watch())?))
            })
        })?;
        for (place, found) in found.into_iter().enumerate() {
            out.put(place, found.into());
        }
        Ok(())
    })
}
