//! Work on several threads whose results come in the order of the tasks, whatever the threads do.

use std::sync::Mutex;
use std::sync::atomic::{AtomicBool, Ordering::Relaxed};
use std::sync::mpsc::{Receiver, SyncSender, sync_channel};

use crate::error::Result;

/// Tasks that may be ahead of the one whose results are being taken.
const TASKS_AHEAD: usize = 64;

/// Lists of results of one task that may wait.
const LISTS_AHEAD: usize = 2;

/// What a task gives its results to, list after list; it may take a list or only what is in it.
pub(super) type Give<'a, T> = &'a mut dyn FnMut(&mut Vec<T>) -> Result<()>;

/// Where the results of one task come from.
type Results<T> = Receiver<Result<Vec<T>>>;

/// Runs tasks `0..count` on the threads of the current pool, each thread with a state of its own, and hands what they give
/// to `take`, task after task. After each task it hands over an empty list: who takes may count tasks, and break off where
/// nothing is found. Holds a few lists of each of a few dozen tasks.
///
/// # Errors
/// What a task or `take` reports, the first in the order of the tasks.
pub(super) fn in_order<T: Send, S>(
    count: usize,
    state: impl Fn() -> S + Sync,
    work: impl Fn(&mut S, usize, Give<'_, T>) -> Result<()> + Sync,
    mut take: impl FnMut(&mut Vec<T>) -> Result<()>,
) -> Result<()> {
    let threads = rayon::current_num_threads().min(count);
    if threads <= 1 {
        let mut state = state();
        return (0..count).try_for_each(|task| {
            work(&mut state, task, &mut take)?;
            take(&mut Vec::new())
        });
    }
    let (announce, announced) = sync_channel(TASKS_AHEAD);
    let queue = Queue {
        next: Mutex::new((0, announce)),
        count,
        is_over: AtomicBool::new(false),
    };
    std::thread::scope(|scope| {
        for _ in 0..threads {
            scope.spawn(|| queue.run(&state, &work));
        }
        let result = receive(&announced, count, &mut take);
        queue.is_over.store(true, Relaxed);
        // Threads that wait for room find that nobody takes any more.
        drop(announced);
        result
    })
}

/// Takes the results of `count` tasks.
fn receive<T>(
    announced: &Receiver<Results<T>>,
    count: usize,
    take: &mut impl FnMut(&mut Vec<T>) -> Result<()>,
) -> Result<()> {
    for _ in 0..count {
        let Ok(results) = announced.recv() else {
            // A thread has panicked; the scope says so.
            return Ok(());
        };
        for list in results {
            take(&mut list?)?;
        }
        take(&mut Vec::new())?;
    }
    Ok(())
}

/// The tasks that are left.
struct Queue<T> {
    /// The next task, and where its results will come from is told.
    next: Mutex<(usize, SyncSender<Results<T>>)>,
    count: usize,
    is_over: AtomicBool,
}

impl<T: Send> Queue<T> {
    fn run<S>(
        &self,
        state: &(impl Fn() -> S + Sync),
        work: &(impl Fn(&mut S, usize, Give<'_, T>) -> Result<()> + Sync),
    ) {
        let mut state = state();
        while let Some((task, results)) = self.next() {
            let mut give = |list: &mut Vec<T>| {
                let sent = results.send(Ok(std::mem::take(list)));
                sent.map_err(|_| nobody_takes())
            };
            if let Err(error) = work(&mut state, task, &mut give) {
                // Nobody takes it either if that is what ended the task.
                let _ = results.send(Err(error));
            }
        }
    }

    /// The next task and where its results go; `None` at the end.
    fn next(&self) -> Option<(usize, SyncSender<Result<Vec<T>>>)> {
        let mut next = self.next.lock().ok()?;
        if next.0 == self.count || self.is_over.load(Relaxed) {
            return None;
        }
        let (give, results) = sync_channel(LISTS_AHEAD);
        next.1.send(results).ok()?;
        next.0 += 1;
        Some((next.0 - 1, give))
    }
}

fn nobody_takes() -> crate::Error {
    std::io::Error::from(std::io::ErrorKind::BrokenPipe).into()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn with_threads<R: Send>(threads: usize, run: impl FnOnce() -> R + Send) -> R {
        let pool = rayon::ThreadPoolBuilder::new().num_threads(threads);
        pool.build().unwrap().install(run)
    }

    /// Task i gives i lists of i, with the number of its thread's state.
    fn run(count: usize, mut take: impl FnMut(usize) -> Result<()>) -> Result<()> {
        let work = |tasks: &mut usize, task: usize, give: Give<'_, usize>| {
            *tasks += 1;
            (0..task).try_for_each(|_| give(&mut vec![task, task]))
        };
        in_order(
            count,
            || 0,
            work,
            |list| list.drain(..).try_for_each(&mut take),
        )
    }

    #[test]
    fn results_come_in_the_order_of_the_tasks() {
        let expected: Vec<usize> = (0..200).flat_map(|i| vec![i; 2 * i]).collect();
        for threads in [1, 2, 5] {
            let mut all = Vec::new();
            let ran = with_threads(threads, || {
                run(200, |result| {
                    all.push(result);
                    Ok(())
                })
            });
            ran.unwrap();
            assert_eq!(all, expected, "{threads} threads");
        }
    }

    #[test]
    fn an_error_of_the_taker_ends_the_work() {
        for threads in [1, 4] {
            let mut left = 1000;
            let ran = with_threads(threads, || {
                run(5000, |_| {
                    left -= 1;
                    match left {
                        0 => Err(std::io::Error::other("enough").into()),
                        _ => Ok(()),
                    }
                })
            });
            assert_eq!(ran.unwrap_err().to_string(), "enough");
            assert_eq!(left, 0);
        }
    }
}
