//! Work on several threads whose results arrive in the order of the tasks.

use std::collections::VecDeque;
use std::sync::{Condvar, Mutex, MutexGuard, PoisonError};

use crate::error::Result;
use crate::threads::{beside, lock};

/// The most tasks that may be ahead of the one whose results are being taken.
const TASKS_AHEAD: usize = 64;

/// The most lists of results of one task that may wait to be taken.
const LISTS_AHEAD: usize = 2;

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
    let queue = Queue {
        state: Mutex::new(State {
            next: 0,
            first: 0,
            begun: VecDeque::new(),
            is_over: false,
        }),
        count,
        news: Condvar::new(),
        early: Condvar::new(),
        room: [const { Condvar::new() }; TASKS_AHEAD],
    };
    let mut result = Ok(());
    beside(threads, &|| queue.work(new_worker), &mut || {
        // Wakes threads that wait for room, so that they stop.
        let _end = End(&queue);
        result = queue.take_all(take);
    });
    result
}

/// The tasks and the results that wait to be taken.
struct Queue<T> {
    state: Mutex<State<T>>,
    count: usize,
    /// Signals that there are results to take.
    news: Condvar,
    /// Signals that a task may begin.
    early: Condvar,
    /// Signals that there is room for a list of a task, by the task's number modulo the number of tasks that may be
    /// ahead.
    room: [Condvar; TASKS_AHEAD],
}

struct State<T> {
    /// The next task to begin.
    next: usize,
    /// The task whose results are being taken.
    first: usize,
    /// The results of the tasks from `first` to `next`.
    begun: VecDeque<Results<T>>,
    /// Whether results are no longer taken, or a thread has panicked.
    is_over: bool,
}

/// The waiting results of one task.
struct Results<T> {
    lists: VecDeque<Vec<T>>,
    end: Option<Result<()>>,
}

/// Ends the work when it goes out of scope.
struct End<'a, T>(&'a Queue<T>);

impl<T> Drop for End<'_, T> {
    fn drop(&mut self) {
        lock(&self.0.state).is_over = true;
        self.0.news.notify_all();
        self.0.early.notify_all();
        self.0.room.iter().for_each(Condvar::notify_all);
    }
}

impl<T> State<T> {
    fn of(&mut self, task: usize) -> &mut Results<T> {
        let number = task - self.first;
        &mut self.begun[number]
    }
}

impl<T: Send> Queue<T> {
    /// Waits until the work is over or `holds` is false.
    fn wait_while(
        &self,
        change: &Condvar,
        holds: impl Fn(&mut State<T>) -> bool,
    ) -> MutexGuard<'_, State<T>> {
        let goes_on = |state: &mut State<T>| !state.is_over && holds(state);
        let waited = change.wait_while(lock(&self.state), goes_on);
        waited.unwrap_or_else(PoisonError::into_inner)
    }

    /// Runs tasks until none is left.
    fn work<'w>(&self, new_worker: &(dyn Fn() -> Worker<'w, T> + Sync)) {
        let on_panic = End(self);
        let mut worker = new_worker();
        while let Some(task) = self.begin() {
            let ended = worker(task, &mut |list| self.give(task, list));
            let mut state = lock(&self.state);
            if !state.is_over {
                state.of(task).end = Some(ended);
                self.news.notify_one();
            }
        }
        std::mem::forget(on_panic);
    }

    /// Returns the next task as soon as it may begin; `None` at the end.
    fn begin(&self) -> Option<usize> {
        let is_early = |state: &mut State<T>| {
            state.next < self.count && state.next >= state.first + TASKS_AHEAD
        };
        let mut state = self.wait_while(&self.early, is_early);
        if state.next == self.count || state.is_over {
            return None;
        }
        state.begun.push_back(Results {
            lists: VecDeque::new(),
            end: None,
        });
        state.next += 1;
        Some(state.next - 1)
    }

    /// Queues a list of a task as soon as there is room.
    fn give(&self, task: usize, list: &mut Vec<T>) -> Result<()> {
        let is_full = |state: &mut State<T>| state.of(task).lists.len() >= LISTS_AHEAD;
        let mut state = self.wait_while(&self.room[task % TASKS_AHEAD], is_full);
        if state.is_over {
            // Ends the task; this error is not reported.
            return Err(std::io::Error::from(std::io::ErrorKind::BrokenPipe).into());
        }
        let lists = &mut state.of(task).lists;
        lists.push_back(std::mem::take(list));
        self.news.notify_one();
        Ok(())
    }

    /// Passes the results of all tasks to `take`.
    fn take_all(&self, take: Give<'_, T>) -> Result<()> {
        let is_missing = |state: &mut State<T>| {
            let results = state.begun.front();
            results.is_none_or(|results| results.lists.is_empty() && results.end.is_none())
        };
        for _ in 0..self.count {
            let end = loop {
                let mut state = self.wait_while(&self.news, is_missing);
                let Some(results) = state.begun.front_mut() else {
                    // A thread has panicked; the scope of the threads passes that on.
                    return Ok(());
                };
                let list = results.lists.pop_front();
                if list.is_none() {
                    let Some(end) = results.end.take() else {
                        return Ok(());
                    };
                    state.begun.pop_front();
                    state.first += 1;
                    self.early.notify_one();
                    break end;
                }
                self.room[state.first % TASKS_AHEAD].notify_one();
                drop(state);
                take(&mut list.unwrap_or_default())?;
            };
            end?;
            take(&mut Vec::new())?;
        }
        Ok(())
    }
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
