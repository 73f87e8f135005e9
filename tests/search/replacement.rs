//! Threads query a file that is replaced by renaming, and open it anew: every answer is of one whole generation. They
//! also share one index of the first generation, whose file is soon no longer there under its name.

use std::collections::HashSet;
use std::fs;
use std::path::Path;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::thread;

use simidx::design::TableDesign;
use simidx::{Codec, Index, Scratch, Width};
use simidx_testkit::{build, matched, options, scan, sorted_set, uniform};

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

/// An index, the number of its records, which identifies it, and the answers to the queries.
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
        let mut options = options(TableDesign::choose_bands(Width::W64, 3, 4).unwrap(), 256);
        options.codec = Some(Codec::ALL[number % Codec::ALL.len()]);
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
    /// The number of queries to indexes that a reader opened itself, and the same number to the shared one.
    asked: AtomicUsize,
    replaced: AtomicUsize,
    /// The number of each for which the file of the index had certainly been replaced before.
    asked_of_replaced: [AtomicUsize; 2],
    /// Openings of each generation.
    openings: [AtomicUsize; GENERATIONS],
    /// Whether a thread has failed, so that the others must stop waiting.
    failed: AtomicBool,
}

impl Progress {
    /// Returns the number of replacements that are due after the queries so far.
    fn due(&self) -> usize {
        self.asked.load(Ordering::Relaxed) * REPLACEMENTS / (READERS * QUERIES)
    }

    /// How often the file has been replaced, at least; once more, if it is being counted.
    fn replaced(&self) -> usize {
        self.replaced.load(Ordering::Acquire)
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

/// Maps the file where that can be done.
fn open(path: &Path) -> Index<u64> {
    #[cfg(feature = "mmap")]
    return Index::open(path).unwrap();
    #[cfg(not(feature = "mmap"))]
    return Index::open_in_memory(path).unwrap();
}

/// An index, its generation, and the replacements that were counted when it was opened.
struct Asked<'a> {
    index: &'a Index<u64>,
    scratch: Scratch<u64>,
    generation: &'a Generation,
    opened_at: usize,
}

impl Asked<'_> {
    /// Asks a query; whether the file had been replaced before.
    fn ask(&mut self, queries: &[u64], i: usize, progress: &Progress) -> bool {
        let is_replaced = progress.replaced() > self.opened_at;
        let found = self.index.query_with(&mut self.scratch, queries[i], 3);
        let found = matched(found.unwrap());
        let of = self.generation.record_count;
        assert_eq!(found, self.generation.answers[i], "of {of} records");
        is_replaced
    }
}

/// Opens the file, asks it and the shared index some queries in turn, and so on.
fn read(
    reader: usize,
    path: &Path,
    shared: &Index<u64>,
    queries: &[u64],
    all: &[Generation],
    progress: &Progress,
) {
    let _alarm = Alarm(&progress.failed);
    let mut shared = Asked {
        index: shared,
        scratch: Scratch::new(),
        generation: &all[0],
        opened_at: 0,
    };
    for opening in 0..QUERIES / QUERIES_OF_AN_OPENING {
        let index = match (reader + opening) % 4 {
            0 => Index::<u64>::open_in_memory(path).unwrap(),
            _ => open(path),
        };
        let is_it = |g: &Generation| g.record_count == index.record_count();
        let number = all.iter().position(is_it).expect("a generation");
        progress.openings[number].fetch_add(1, Ordering::Relaxed);
        let mut own = Asked {
            index: &index,
            scratch: Scratch::new(),
            generation: &all[number],
            // The one that made this generation may not have been counted yet.
            opened_at: progress.replaced() + 1,
        };
        // Here and not before the file is opened, so that it is replaced under who has to wait.
        if !progress.wait_while(|| progress.due() > progress.replaced() + AHEAD) {
            return;
        }
        for i in 0..QUERIES_OF_AN_OPENING {
            let i = (reader * 31 + opening * QUERIES_OF_AN_OPENING + i) % queries.len();
            let [of_own, of_shared] = &progress.asked_of_replaced;
            let is_replaced = own.ask(queries, i, progress);
            of_own.fetch_add(is_replaced.into(), Ordering::Relaxed);
            let is_replaced = shared.ask(queries, i, progress);
            of_shared.fetch_add(is_replaced.into(), Ordering::Relaxed);
            progress.asked.fetch_add(1, Ordering::Relaxed);
        }
    }
}

/// Writes the next generation next to the file and renames it, repeatedly.
fn replace(path: &Path, all: &[Generation], progress: &Progress) {
    let _alarm = Alarm(&progress.failed);
    for number in 1..=REPLACEMENTS {
        if !progress.wait_while(|| progress.due() + 1 < number) {
            return;
        }
        let next = path.with_extension("next");
        fs::write(&next, &all[number % GENERATIONS].file).unwrap();
        fs::rename(&next, path).unwrap();
        progress.replaced.store(number, Ordering::Release);
    }
}

#[test]
fn readers_of_a_file_that_is_replaced_again_and_again_see_whole_generations() {
    let queries: Vec<u64> = uniform(300);
    let all = generations(&queries);
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("x.simidx");
    fs::write(&path, &all[0].file).unwrap();
    let shared = open(&path);
    let progress = Progress::default();
    thread::scope(|scope| {
        for reader in 0..READERS {
            let (path, shared, queries, all, progress) =
                (&path, &shared, &queries, &all, &progress);
            scope.spawn(move || read(reader, path, shared, queries, all, progress));
        }
        replace(&path, &all, &progress);
    });
    let asked = progress.asked.into_inner();
    let replaced = progress.replaced.into_inner();
    let [own, of_shared] = progress.asked_of_replaced.map(AtomicUsize::into_inner);
    let openings = progress.openings.map(AtomicUsize::into_inner);
    let opened: usize = openings.iter().sum();
    simidx_testkit::report(&format!(
        "{asked} queries by {READERS} threads, {own} of them of a file replaced since its opening, and as many of one \
         index that they shared, {of_shared} of them after its file was replaced; {opened} openings, {replaced} \
         replacements; openings by generation: {openings:?}"
    ));
    assert!(own > 0 && of_shared > asked / 2);
    assert!(shared.verify(&Default::default()).unwrap().is_sound());
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
        // A condition that never becomes true is not waited for.
        assert!(!progress.wait_while(|| true));
    });
    let progress = Progress::default();
    drop(Alarm(&progress.failed));
    assert!(progress.wait_while(|| false), "who ends well tells nobody");
}
