//! Work on several threads whose results arrive in the order of the tasks.

use std::sync::Mutex;
use std::sync::mpsc::{Receiver, SyncSender, sync_channel};
use std::thread;

use crate::error::Result;
use crate::threads::lock;

/// The most tasks that may be ahead of the one whose results are being taken.
const TASKS_AHEAD: usize = 64;

/// The most lists of results of one task that may wait to be taken; its end is one of them.
const LISTS_AHEAD: usize = 3;

/// The callback that takes a task's results, list after list. It may take a list or drain it.
pub(super) type Give<'a, T> = &'a mut dyn FnMut(&mut Vec<T>) -> Result<()>;

/// Runs one task after the other, with its own buffers.
pub(super) type Worker<'a, T> = Box<dyn FnMut(usize, Give<'_, T>) -> Result<()> + 'a>;

/// Runs tasks `0..count` on all threads of the current pool, each with its own worker, and passes their results to
/// `take` in the order of the tasks. An empty list ends each task, so that `take` can count tasks, and can stop the
/// work even if there are no results. Holds at most a few lists for each of a few dozen tasks.
///
/// # Errors
/// The first error of a task or of `take`, in the order of the tasks.
pub(super) fn in_order<'w, T: Send>(
    count: usize,
    new_worker: &(dyn Fn() -> Worker<'w, T> + Sync),
    take: Give<'_, T>,
) -> Result<()> {
    let threads = rayon::current_num_threads().min(count);
    if threads <= 1 {
        let mut worker = new_worker();
        return (0..count).try_for_each(|task| {
            worker(task, take)?;
            take(&mut Vec::new())
        });
    }
    let next = Mutex::new(0);
    let (begun, tasks) = sync_channel(TASKS_AHEAD);
    thread::scope(|scope| {
        for number in 0..threads {
            let (begun, next) = (begun.clone(), &next);
            let work = move || run_tasks(count, next, &begun, new_worker());
            if let Err(error) = thread::Builder::new().spawn_scoped(scope, work) {
                assert!(number > 0, "no thread can be started: {error}");
                break;
            }
        }
        // Only the threads hold it, so that the taker sees when the last one has ended.
        drop(begun);
        take_all(tasks, take)
    })
}

/// A message of a task: some results, or its end.
enum Sent<T> {
    List(Vec<T>),
    End(Result<()>),
}

/// Runs tasks until none is left, or until the results are no longer taken.
fn run_tasks<T>(
    count: usize,
    next: &Mutex<usize>,
    begun: &SyncSender<Receiver<Sent<T>>>,
    mut worker: Worker<'_, T>,
) {
    while let Some((task, sender)) = begin(count, next, begun) {
        let ended = worker(task, &mut |list| {
            let sent = sender.send(Sent::List(std::mem::take(list)));
            // Ends the task; this error is not reported.
            sent.map_err(|_| std::io::Error::from(std::io::ErrorKind::BrokenPipe).into())
        });
        if sender.send(Sent::End(ended)).is_err() {
            return;
        }
    }
}

/// Returns the next task as soon as it may begin, and where to send its results; `None` at the end.
fn begin<T>(
    count: usize,
    next: &Mutex<usize>,
    begun: &SyncSender<Receiver<Sent<T>>>,
) -> Option<(usize, SyncSender<Sent<T>>)> {
    // Held while the receiver is sent, so that receivers arrive in the order of the tasks.
    let mut next = lock(next);
    let task = *next;
    if task == count {
        return None;
    }
    let (sender, results) = sync_channel(LISTS_AHEAD);
    begun.send(results).ok()?;
    *next += 1;
    Some((task, sender))
}

/// Passes the results of all tasks to `take`. Dropping `tasks` drops the receivers in it, so that the threads stop.
fn take_all<T>(tasks: Receiver<Receiver<Sent<T>>>, take: Give<'_, T>) -> Result<()> {
    for results in tasks {
        loop {
            match results.recv() {
                Ok(Sent::List(mut list)) => take(&mut list)?,
                Ok(Sent::End(ended)) => break ended?,
                // The thread has panicked; the scope of the threads passes that on.
                Err(_) => return Ok(()),
            }
        }
        take(&mut Vec::new())?;
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn with_threads<R: Send>(threads: usize, run: impl FnOnce() -> R + Send) -> R {
        let pool = rayon::ThreadPoolBuilder::new().num_threads(threads);
        pool.build().unwrap().install(run)
    }

    /// Runs tasks where task i gives two lists of i times i.
    fn run(count: usize, mut take: impl FnMut(usize) -> Result<()>) -> Result<()> {
        let worker = || -> Worker<'_, usize> {
            Box::new(|task, give| (0..task).try_for_each(|_| give(&mut vec![task, task])))
        };
        in_order(count, &worker, &mut |list| {
            list.drain(..).try_for_each(&mut take)
        })
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
    fn an_error_of_a_task_comes_after_what_it_gave() {
        for threads in [1, 4] {
            let mut taken = 0;
            let ran = with_threads(threads, || {
                let worker = || -> Worker<'_, usize> {
                    Box::new(|task, give| {
                        give(&mut vec![task])?;
                        match task {
                            100.. => Err(std::io::Error::other(task.to_string()).into()),
                            _ => Ok(()),
                        }
                    })
                };
                in_order(5000, &worker, &mut |list| {
                    taken += list.len();
                    Ok(())
                })
            });
            assert_eq!(ran.unwrap_err().to_string(), "100");
            assert_eq!(taken, 101);
        }
    }

    #[test]
    #[should_panic(expected = "a scoped thread panicked")]
    fn a_panic_of_a_task_ends_the_work() {
        let worker = || -> Worker<'_, usize> {
            Box::new(|task, _| {
                assert!(task != 7, "the seventh");
                Ok(())
            })
        };
        with_threads(3, || in_order(5000, &worker, &mut |_| Ok(()))).unwrap();
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
