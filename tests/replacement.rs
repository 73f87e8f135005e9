//! Threads query a file that is replaced by renaming, and open it anew: every answer is of one whole generation.

mod common;

use std::collections::HashSet;
use std::fs;
use std::path::Path;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::thread;

use common::{build, matched, options, scan, sorted_set, uniform};
use simidx::{Codec, Index, TableDesign};

/// Versions of an index that follow one another under one name.
const GENERATIONS: usize = 8;

/// Threads that query while the file is replaced.
const READERS: usize = 16;

/// Queries of each of them.
const QUERIES: usize = 1000;

/// Queries after which a reader opens the file again.
const QUERIES_OF_AN_OPENING: usize = 20;

/// Replacements, spread over the queries.
const REPLACEMENTS: usize = 400;

/// Replacements by which the readers may be ahead.
const AHEAD: usize = GENERATIONS;

/// An index, the number of its records, which tells it from the others, and the answers to the queries.
struct Generation {
    file: Vec<u8>,
    record_count: u64,
    answers: Vec<Vec<(u32, u64)>>,
}

/// Every query is near a member of each generation, but each time near another one.
fn generations(queries: &[u64]) -> Vec<Generation> {
    let generation = |number: usize| {
        // One to three bits of a byte of its own.
        let flips = |i: usize| (0..1 + i % 3).fold(0, |bits, flip| bits | 1 << (8 * number + flip));
        let near = |(i, query): (usize, &u64)| query ^ flips(i + number);
        let mut members: Vec<u64> = queries.iter().enumerate().map(near).collect();
        members.extend((0..number as u64).map(|i| i << 40));
        let mut options = options(TableDesign::choose_bands(3, 4).unwrap(), 256);
        options.codec = Some(Codec::ALL[number % 3]);
        let set = sorted_set(&members);
        Generation {
            file: build(options, &members),
            record_count: members.len() as u64,
            answers: queries.iter().map(|&q| scan(&set, q, 3)).collect(),
        }
    };
    let generations: Vec<Generation> = (0..GENERATIONS).map(generation).collect();
    for query in 0..queries.len() {
        let answers: HashSet<_> = generations.iter().map(|g| &g.answers[query]).collect();
        assert_eq!(answers.len(), GENERATIONS, "an answer tells its generation");
    }
    generations
}

/// How far all threads are.
#[derive(Default)]
struct Progress {
    asked: AtomicUsize,
    replaced: AtomicUsize,
    /// Openings of each generation.
    openings: [AtomicUsize; GENERATIONS],
    /// Whether some thread has failed, so that nobody may wait any more.
    failed: AtomicBool,
}

impl Progress {
    /// How many replacements so many queries call for.
    fn due(&self) -> usize {
        self.asked.load(Ordering::Relaxed) * REPLACEMENTS / (READERS * QUERIES)
    }

    /// Waits until there is no more reason to; whether to go on.
    fn wait_while(&self, wait: impl Fn() -> bool) -> bool {
        while wait() && !self.failed.load(Ordering::Relaxed) {
            thread::yield_now();
        }
        !self.failed.load(Ordering::Relaxed)
    }
}

/// Held by each thread: if the thread panics, the others are told.
struct Alarm<'a>(&'a AtomicBool);

impl Drop for Alarm<'_> {
    fn drop(&mut self) {
        if thread::panicking() {
            self.0.store(true, Ordering::Relaxed);
        }
    }
}

/// Opens the file, asks it some queries, and so on.
fn read(reader: usize, path: &Path, queries: &[u64], all: &[Generation], progress: &Progress) {
    let _alarm = Alarm(&progress.failed);
    for opening in 0..QUERIES / QUERIES_OF_AN_OPENING {
        let replaced = || progress.replaced.load(Ordering::Relaxed);
        if !progress.wait_while(|| progress.due() > replaced() + AHEAD) {
            return;
        }
        let index = match (reader + opening) % 4 {
            #[cfg(feature = "mmap")]
            1.. => Index::<u64, _>::open(path).unwrap(),
            _ => Index::<u64, _>::open_in_memory(path).unwrap(),
        };
        let is_it = |g: &Generation| g.record_count == index.record_count();
        let number = all.iter().position(is_it).expect("a generation");
        progress.openings[number].fetch_add(1, Ordering::Relaxed);
        let mut searcher = index.searcher();
        for i in 0..QUERIES_OF_AN_OPENING {
            let i = (reader * 31 + opening * QUERIES_OF_AN_OPENING + i) % queries.len();
            let found = matched(searcher.query(queries[i], 3).unwrap());
            assert_eq!(found, all[number].answers[i], "generation {number}");
            progress.asked.fetch_add(1, Ordering::Relaxed);
        }
    }
}

/// Writes the next generation beside the file and renames it, again and again.
fn replace(path: &Path, all: &[Generation], progress: &Progress) {
    let _alarm = Alarm(&progress.failed);
    for number in 1..=REPLACEMENTS {
        if !progress.wait_while(|| progress.due() + 1 < number) {
            return;
        }
        let next = path.with_extension("next");
        fs::write(&next, &all[number % GENERATIONS].file).unwrap();
        fs::rename(&next, path).unwrap();
        progress.replaced.store(number, Ordering::Relaxed);
    }
}

#[test]
fn readers_of_a_file_that_is_replaced_again_and_again_see_whole_generations() {
    let queries: Vec<u64> = uniform(300);
    let all = generations(&queries);
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("x.simidx");
    fs::write(&path, &all[0].file).unwrap();
    let progress = Progress::default();
    thread::scope(|scope| {
        for reader in 0..READERS {
            let (path, queries, all, progress) = (&path, &queries, &all, &progress);
            scope.spawn(move || read(reader, path, queries, all, progress));
        }
        replace(&path, &all, &progress);
    });
    let asked = progress.asked.into_inner();
    let replaced = progress.replaced.into_inner();
    let openings = progress.openings.map(AtomicUsize::into_inner);
    let opened: usize = openings.iter().sum();
    println!(
        "{asked} queries by {READERS} threads, {opened} openings, {replaced} replacements; openings by generation: \
         {openings:?}"
    );
    assert_eq!(asked, READERS * QUERIES);
    assert_eq!(opened * QUERIES_OF_AN_OPENING, asked);
    assert_eq!(replaced, REPLACEMENTS);
    let seen = openings.iter().filter(|&&count| count > 0).count();
    assert!(seen > GENERATIONS / 2, "{openings:?}");
}

#[test]
fn a_thread_that_fails_ends_the_others() {
    let progress = Progress::default();
    thread::scope(|scope| {
        let failing = scope.spawn(|| {
            let _alarm = Alarm(&progress.failed);
            panic!("on purpose");
        });
        assert!(failing.join().is_err());
        // What never comes true is not waited for.
        assert!(!progress.wait_while(|| true));
    });
    let progress = Progress::default();
    drop(Alarm(&progress.failed));
    assert!(progress.wait_while(|| false), "who ends well tells nobody");
}
