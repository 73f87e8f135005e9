//! Work on the threads of the current pool, and pools that are kept.
//!
//! Shared work is slow to compile, because each closure passed to a pool brings its own copy of the pool's code. This
//! module compiles that code once, for all callers.

use std::io;
use std::sync::atomic::{AtomicBool, Ordering::Relaxed};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::thread::JoinHandle;

use rayon::prelude::*;
use rayon::{ThreadPool, ThreadPoolBuilder};

/// Calls `work` with each number below `count`, on all threads of the current pool.
pub(crate) fn for_each(count: usize, work: &(dyn Fn(usize) + Sync)) {
    (0..count).into_par_iter().for_each(work);
}

/// Calls `work` with each number below `count`, on all threads of the current pool. Returns the results in order.
pub(crate) fn map<T: Send>(count: usize, work: impl Fn(usize) -> T + Sync) -> Vec<T> {
    let mut results = Vec::with_capacity(count);
    for _ in 0..count {
        results.push(None);
    }
    let results = Mutex::new(results);
    for_each(count, &|number| {
        let made = work(number);
        lock(&results)[number] = Some(made);
    });
    let mut all = Vec::with_capacity(count);
    for made in results.into_inner().unwrap_or_else(PoisonError::into_inner) {
        all.extend(made);
    }
    all
}

/// [`map_parts_with`] for work that may fail. After the first error, no further parts begin.
///
/// # Errors
/// The error of the first part that failed, in order.
pub(crate) fn try_map_parts_with<T: Sync, S: Send, U: Send, E: Send>(
    items: &[T],
    part_len: usize,
    new_state: impl Fn() -> S + Sync,
    work: impl Fn(&mut S, &[T]) -> Result<U, E> + Sync,
) -> Result<Vec<U>, E> {
    let has_failed = AtomicBool::new(false);
    let made = map_parts_with(items, part_len, new_state, |state, part| {
        if has_failed.load(Relaxed) {
            return None;
        }
        let made = work(state, part);
        has_failed.fetch_or(made.is_err(), Relaxed);
        Some(made)
    });
    made.into_iter().flatten().collect()
}

/// Calls `work` with each part of `items` and its number, on all threads of the current pool. Returns the results in
/// order. All parts but the last have length `part_len`.
pub(crate) fn map_parts<T: Sync, U: Send>(
    items: &[T],
    part_len: usize,
    work: impl Fn(usize, &[T]) -> U + Sync,
) -> Vec<U> {
    map(items.len().div_ceil(part_len), |number| {
        let start = number * part_len;
        let end = items.len().min(start + part_len);
        work(number, &items[start..end])
    })
}

/// [`map_parts`] with a state that is reused from part to part; there are at most as many states as threads.
fn map_parts_with<T: Sync, S: Send, U: Send>(
    items: &[T],
    part_len: usize,
    new_state: impl Fn() -> S + Sync,
    work: impl Fn(&mut S, &[T]) -> U + Sync,
) -> Vec<U> {
    let idle = Mutex::new(Vec::new());
    map_parts(items, part_len, |_, part| {
        let waiting = lock(&idle).pop();
        let mut state = waiting.unwrap_or_else(&new_state);
        let made = work(&mut state, part);
        lock(&idle).push(state);
        made
    })
}

/// Calls `work` with each part of `items` and its number, on all threads of the current pool. Returns the results in
/// order.
pub(crate) fn map_parts_mut<T: Send, U: Send>(
    items: &mut [T],
    part_len: usize,
    work: impl Fn(usize, &mut [T]) -> U + Sync,
) -> Vec<U> {
    let parts: Vec<_> = items.chunks_mut(part_len).map(Mutex::new).collect();
    map(parts.len(), |number| {
        work(number, &mut lock(&parts[number]))
    })
}

/// Work on its own thread, and its result.
#[derive(Debug)]
pub(crate) struct Background<T> {
    thread: JoinHandle<()>,
    made: Arc<Mutex<Option<T>>>,
}

impl<T: Send + 'static> Background<T> {
    pub(crate) fn start(work: impl FnOnce() -> T + Send + 'static) -> Self {
        let made = Arc::new(Mutex::new(None));
        let place = Arc::clone(&made);
        let thread = spawn(Box::new(move || *lock(&place) = Some(work())));
        Background { thread, made }
    }

    /// Waits for the work and returns its result.
    pub(crate) fn join(self) -> T {
        if let Err(panic) = self.thread.join() {
            std::panic::resume_unwind(panic);
        }
        let made = lock(&self.made).take();
        made.expect("a thread that ends has put it there")
    }
}

fn spawn(work: Box<dyn FnOnce() + Send>) -> JoinHandle<()> {
    std::thread::spawn(work)
}

/// The most pools that are kept for later calls.
const MOST_KEPT: usize = 8;

/// The process that owns the pools, and the pools that are kept for later calls, with the requested numbers of threads.
type Pools = (u32, Vec<(usize, Arc<ThreadPool>)>);

/// Returns a pool for a call of another language: for 0, the one with as many threads as the processor runs at a time,
/// which all such calls share. Otherwise one with `threads` threads, which is not shared meanwhile.
///
/// # Errors
/// The threads cannot be started.
pub fn pool(threads: usize) -> io::Result<Arc<ThreadPool>> {
    static POOLS: Mutex<Pools> = Mutex::new((0, Vec::new()));
    let mut pools = lock(&POOLS);
    let (of, kept) = &mut *pools;
    let process = std::process::id();
    if *of != process {
        // After a fork, the child does not have the threads, and dropping the pools would wait for them.
        std::mem::forget(std::mem::take(kept));
        *of = process;
    }
    // An unused pool can only be taken under the lock.
    let is_free = |pool: &Arc<ThreadPool>| threads == 0 || Arc::strong_count(pool) == 1;
    let found = kept
        .iter()
        .find(|(of, pool)| *of == threads && is_free(pool));
    if let Some((_, pool)) = found {
        return Ok(Arc::clone(pool));
    }
    // Only calls that share a pool wait until it is built.
    let held = (threads == 0).then_some(pools);
    let pool = ThreadPoolBuilder::new()
        .num_threads(threads)
        .thread_name(|number| format!("simidx-{number}"))
        .build();
    let pool = Arc::new(pool.map_err(io::Error::other)?);
    let (_, kept) = &mut *held.unwrap_or_else(|| lock(&POOLS));
    // More threads than the processor runs at a time are rarely asked for, and would wait in memory.
    let most = std::thread::available_parallelism().map_or(1, usize::from);
    if threads == 0 || (threads <= most && kept.len() < MOST_KEPT) {
        kept.push((threads, Arc::clone(&pool)));
    }
    Ok(pool)
}

/// Locks a mutex whose contents no panic can have left half changed.
pub(crate) fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn results_come_in_order_whatever_the_threads_do() {
        for threads in [1, 2, 5] {
            let pool = rayon::ThreadPoolBuilder::new().num_threads(threads);
            pool.build().unwrap().install(|| {
                let mut items: Vec<usize> = (0..1000).collect();
                let first = map_parts(&items, 7, |number, part| (number, part[0], part.len()));
                assert_eq!(first.len(), 143);
                for (i, found) in first.iter().enumerate() {
                    assert_eq!(*found, (i, 7 * i, 7.min(1000 - 7 * i)));
                }
                let states = Mutex::new(0);
                let counts = map_parts_with(
                    &items,
                    10,
                    || *lock(&states) += 1,
                    |(), part| part.iter().sum::<usize>(),
                );
                assert_eq!(counts.iter().sum::<usize>(), 999 * 500);
                assert!((1..=threads).contains(&states.into_inner().unwrap()));
                map_parts_mut(&mut items, 3, |number, part| part.fill(number));
                assert!(items.iter().enumerate().all(|(i, &item)| item == i / 3));
            });
        }
    }

    #[test]
    fn an_error_ends_the_work() {
        let items: Vec<usize> = (0..100_000).collect();
        let visited = Mutex::new(0);
        let made = try_map_parts_with(
            &items,
            1,
            || (),
            |(), part| {
                *lock(&visited) += 1;
                match part[0] % 50_000 {
                    100 => Err(part[0]),
                    _ => Ok(()),
                }
            },
        );
        assert!(matches!(made, Err(100 | 50_100)));
        assert!(visited.into_inner().unwrap() < items.len());
    }
}
