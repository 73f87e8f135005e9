//! Searchers: queries, one at a time or many, and their answers.

use std::ffi::c_void;
use std::ptr::null_mut;
use std::sync::{Mutex, TryLockError};

use simidx::Set;
use simidx::batch::{Answers, answer_all, contains_all};
use simidx::set::{Question, SetScratch};

use crate::border::Buffer;
use crate::fingerprint::{Many, one, simidx_fingerprint};
use crate::handles::{self, Handle};
use crate::open::simidx_index;
use crate::status::simidx_status::SIMIDX_ERROR_BUSY;
use crate::status::{Failure, Result, guard, simidx_status};
use crate::work::{Work, simidx_work_options};

/// The largest distance that can be asked for.
const MOST_DISTANCE: u32 = 128;

/// The memory that queries work in, with the answer to the last one. It holds its index open. One thread at a time uses it:
/// make one for each thread.
pub struct simidx_searcher {
    _private: [u8; 0],
}

impl Handle for simidx_searcher {
    type Value = Mutex<Searcher>;
    const NAME: &'static str = "searcher";
}

/// A fingerprint that was found.
#[repr(C)]
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct simidx_match {
    /// The fingerprint. Its ids are those that `simidx_ids` and its like give.
    pub fingerprint: simidx_fingerprint,
    /// Number of the query, from 0.
    pub query: u64,
    /// Number of bits in which it differs from the query.
    pub distance: u32,
    /// Always 0.
    pub reserved: u32,
}

/// What a handle of a searcher stands for.
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

    /// Writes the matches from one on, as many as fit, and returns how many there are from there.
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

/// Lets work use a searcher, unless another thread does.
fn with<T>(
    searcher: *const simidx_searcher,
    work: impl FnOnce(&mut Searcher) -> Result<T>,
) -> Result<T> {
    let handle = handles::get(searcher)?;
    let mut searcher = match handle.try_lock() {
        Ok(searcher) => searcher,
        // What is left of a call that panicked is no answer.
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

/// Lets a query use a searcher, which has no answer after the call if the query or one of its arguments fails.
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
    // Invalid arguments are the failure, even if the searcher cannot be used.
    arguments.and(asked)
}

/// Where an answer goes: the number of its matches, and the matches that fit.
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
            work.run(|| Ok(answer_all(set, queries, question, &work.watch())?))
        })?;
        offsets.put_all(0, &searcher.answers.offsets);
        found.set(searcher.matches(0, buffer));
        Ok(())
    })
}

fn check(question: Question) -> Result<()> {
    let distance = question.max_distance();
    match distance <= MOST_DISTANCE {
        true => Ok(()),
        false => Err(Failure::argument(format!(
            "the distance is {distance}, and at most {MOST_DISTANCE} bits"
        ))),
    }
}

/// A new searcher of an index. Free it with `simidx_searcher_free`. It may outlive the index.
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

/// Frees a searcher. NULL and a searcher that is freed already are left alone.
#[unsafe(no_mangle)]
pub extern "C" fn simidx_searcher_free(searcher: *mut simidx_searcher) {
    handles::close(searcher);
}

/// All fingerprints within `distance` bits of one, the distance included, each once: by distance, then by value. Exact for
/// every distance; quick for those up to the `max_distance` of the index.
///
/// @param buffer    gets the matches, as many as fit; may be NULL if `capacity` is 0
/// @param capacity  room in the buffer
/// @param found     number of matches. If that is more than the capacity, `simidx_matches` has the others
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

/// The `count` fingerprints nearest to one, among those within `distance` bits: by distance, then by value. Fewer if there are
/// not so many.
///
/// @param buffer    gets the matches, as many as fit; may be NULL if `capacity` is 0
/// @param capacity  room in the buffer
/// @param found     number of matches. If that is more than the capacity, `simidx_matches` has the others
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

/// The matches of the last query of a searcher, or of its last many queries, from one on: what did not fit before, without
/// searching again. There are none after such a call that failed, whatever it failed for.
///
/// @param first     number of the match that goes first into the buffer
/// @param buffer    gets the matches, as many as fit; may be NULL if `capacity` is 0
/// @param capacity  room in the buffer
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

/// Whether the index holds a fingerprint within `distance` bits of one. It stops at the first.
///
/// @param out  1 if it does, else 0
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

/// The matches of many queries, found on all threads: those of query 0 first, each as from `simidx_query`.
///
/// @param fingerprints  `count` of them: `uint32_t`, `uint64_t` or `simidx_fingerprint`
/// @param width         their bits: 32, 64 or 128, as the index has
/// @param options       may be NULL
/// @param offsets       gets `count + 1` numbers: the matches of query i are those from `offsets[i]` to before
///                      `offsets[i + 1]`; may be NULL
/// @param buffer        gets the matches, as many as fit; may be NULL if `capacity` is 0
/// @param capacity      room in the buffer
/// @param found         number of matches. If that is more than the capacity, `simidx_matches` has the others
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

/// The `nearest` fingerprints nearest to each of many, found on all threads, as from `simidx_nearest`. What comes in and goes out is
/// as for `simidx_query_many`.
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

/// Whether the index holds a fingerprint within `distance` bits of each of many, found on all threads.
///
/// @param fingerprints  `count` of them: `uint32_t`, `uint64_t` or `simidx_fingerprint`
/// @param width         their bits: 32, 64 or 128, as the index has
/// @param options       may be NULL
/// @param out           gets 1 or 0 for each of them
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
                work.run(|| Ok(contains_all(set, queries, distance, &work.watch())?))
            })
        })?;
        for (place, found) in found.into_iter().enumerate() {
            out.put(place, found.into());
        }
        Ok(())
    })
}

/// The places of an answer.
///
/// # Safety
/// As for [`Buffer::new`].
unsafe fn places(buffer: *mut simidx_match, capacity: usize, found: *mut usize) -> Result<Places> {
    // SAFETY: the caller's promises.
    unsafe {
        Ok((
            Buffer::one("found", found, 0)?,
            Buffer::new("buffer", buffer, capacity)?,
        ))
    }
}
