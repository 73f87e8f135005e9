//! Measures a collection: each sync mode, queries relative to those of a static file while records are added, and how
//! long additions wait while segments are sealed and merged. Threads that only compute are a control: they show how
//! long the scheduler alone makes a thread wait.
//!
//! `cargo run --release -p simidx-collection --example measure -- FOLDER [RECORDS] [SECONDS]`

use std::error::Error;
use std::path::Path;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::time::{Duration, Instant};

use simidx::index::WarmOptions;
use simidx::{BuildOptions, IdKind, Index, IndexBuilder, Scratch, Watch, Width};
use simidx_collection::{Collection, Options, Sync};

/// Additions per second while queries are measured.
const RATE: u64 = 1000;

fn fingerprint(number: u64) -> u64 {
    let mut value = number.wrapping_add(1).wrapping_mul(0x9e37_79b9_7f4a_7c15);
    value = (value ^ value >> 30).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    value = (value ^ value >> 27).wrapping_mul(0x94d0_49bb_1331_11eb);
    value ^ value >> 31
}

fn id(number: u64) -> String {
    format!("https://example.org/pages/{number}")
}

/// Returns a member of the set with some bits flipped, or another value.
fn query(number: u64, records: u64) -> u64 {
    match number % 2 {
        0 => fingerprint(fingerprint(number) % records) ^ 1 << (number % 64) ^ 1 << (number % 37),
        _ => fingerprint(!number),
    }
}

fn print(what: &str, mut times: Vec<Duration>, took: Duration) {
    times.sort_unstable();
    let at = |share: f64| times[((times.len() - 1) as f64 * share) as usize].as_secs_f64() * 1e6;
    println!(
        "{what:<44} {:>9.0}/s  p50 {:>8.1} us  p99 {:>8.1} us  p99.9 {:>8.1} us  max {:>8.1} us",
        times.len() as f64 / took.as_secs_f64(),
        at(0.5),
        at(0.99),
        at(0.999),
        at(1.0)
    );
}

/// Additions that take this long are examined more closely.
const LONG: Duration = Duration::from_millis(5);

/// The longest addition of a thread, and how much of it the thread spent runnable without a processor.
#[derive(Clone, Copy, Default)]
struct Longest {
    took: Duration,
    without_processor: Duration,
    seen: Duration,
    count: u64,
}

impl Longest {
    fn add(&mut self, took: Duration) {
        self.count += 1;
        // The system's counter is read only now and then, so that the difference covers little more than the addition.
        if took < LONG && !self.count.is_multiple_of(64) {
            return;
        }
        let seen = without_processor();
        if took > self.took {
            (self.took, self.without_processor) = (took, (seen - self.seen).min(took));
        }
        self.seen = seen;
    }
}

/// Returns how long this thread has waited for a processor, if the system reports it.
fn without_processor() -> Duration {
    let text = std::fs::read_to_string("/proc/thread-self/schedstat").unwrap_or_default();
    let field = text.split(' ').nth(1).and_then(|field| field.parse().ok());
    Duration::from_nanos(field.unwrap_or_default())
}

fn print_longest(all: impl Iterator<Item = Longest>) {
    if let Some(longest) = all.max_by_key(|longest| longest.took) {
        println!(
            "{:<44} {:.1} ms, of which {:.1} ms without a processor",
            "  the longest",
            longest.took.as_secs_f64() * 1e3,
            longest.without_processor.as_secs_f64() * 1e3
        );
    }
}

/// Prints the longest time in which no addition of any thread completed, from the time of each.
fn print_longest_stop(started: Instant, mut ends: Vec<Instant>) {
    ends.sort_unstable();
    let starts = std::iter::once(&started).chain(&ends);
    let stops = starts.zip(&ends).map(|(start, end)| *end - *start);
    let longest = stops.max().unwrap_or_default();
    let what = "  the longest time without any";
    println!("{what:<44} {:.1} ms", longest.as_secs_f64() * 1e3);
}

/// Measures the waits of threads that need only a processor.
fn nothing(threads: usize) {
    let end = Instant::now() + Duration::from_secs(3);
    let started = Instant::now();
    let all: Vec<Vec<Duration>> = std::thread::scope(|scope| {
        let compute = || {
            let mut times = Vec::new();
            while Instant::now() < end {
                let started = Instant::now();
                std::hint::black_box((0..500).fold(0, |sum, number| sum ^ fingerprint(number)));
                times.push(started.elapsed());
            }
            times
        };
        let threads: Vec<_> = (0..threads).map(|_| scope.spawn(compute)).collect();
        threads.into_iter().map(|t| t.join().unwrap()).collect()
    });
    let what = format!("nothing but computing, {threads} threads");
    print(&what, all.concat(), started.elapsed());
}

fn measured(count: u64, mut work: impl FnMut(u64)) -> (Vec<Duration>, Duration) {
    let started = Instant::now();
    let times = (0..count).map(|number| {
        let started = Instant::now();
        work(number);
        started.elapsed()
    });
    (times.collect(), started.elapsed())
}

/// Runs the work for some seconds with pauses, so that caches are colder and other threads get time.
fn paced(seconds: u64, mut work: impl FnMut(u64)) -> (Vec<Duration>, Duration) {
    let (started, mut times, mut number) = (Instant::now(), Vec::new(), 0);
    while started.elapsed() < Duration::from_secs(seconds) {
        let asked = Instant::now();
        work(number);
        times.push(asked.elapsed());
        number += 1;
        if number % 64 == 0 {
            std::thread::sleep(Duration::from_millis(2));
        }
    }
    (times, started.elapsed())
}

fn syncs(folder: &Path) -> Result<(), Box<dyn Error>> {
    for sync in [Sync::Always, Sync::Batch, Sync::Never] {
        for threads in [1, 16] {
            let mut options = Options::default();
            options.sync = sync;
            let path = folder.join(format!("{sync:?}{threads}"));
            let pages = Collection::create(&path, Width::W64, options)?;
            let end = Instant::now() + Duration::from_secs(3);
            let next = AtomicU64::new(0);
            let began = Instant::now();
            let all: Vec<(Vec<(Instant, Duration)>, Longest)> = std::thread::scope(|scope| {
                let threads: Vec<_> = (0..threads)
                    .map(|_| {
                        scope.spawn(|| {
                            let (mut times, mut longest) = (Vec::new(), Longest::default());
                            while Instant::now() < end {
                                let number = next.fetch_add(1, Ordering::Relaxed);
                                let started = Instant::now();
                                pages.add(&id(number), fingerprint(number)).unwrap();
                                let took = started.elapsed();
                                times.push((started + took, took));
                                longest.add(took);
                            }
                            (times, longest)
                        })
                    })
                    .collect();
                threads
                    .into_iter()
                    .map(|thread| thread.join().unwrap())
                    .collect()
            });
            let took = began.elapsed();
            let longest: Vec<Longest> = all.iter().map(|(_, longest)| *longest).collect();
            let times = all.into_iter().flat_map(|(times, _)| times);
            let (ends, times) = times.unzip();
            print(
                &format!("add, sync {sync:?}, {threads} threads"),
                times,
                took,
            );
            print_longest(longest.into_iter());
            print_longest_stop(began, ends);
            pages.close()?;
            std::fs::remove_dir_all(path)?;
        }
    }
    Ok(())
}

/// Measures deletions and additions while all segments are merged into one, and while the deletions made meanwhile are
/// applied at the end.
fn merging(folder: &Path, records: u64) -> Result<(), Box<dyn Error>> {
    let path = folder.join("merging");
    let mut options = Options::default();
    (options.sync, options.background) = (Sync::Never, false);
    let pages = Collection::create(&path, Width::W64, options)?;
    for number in 0..records {
        pages.add(&id(number), fingerprint(number))?;
        if number == records / 2 {
            pages.seal(&Watch::default())?;
        }
    }
    pages.seal(&Watch::default())?;
    let started = Instant::now();
    let times = std::thread::scope(|scope| {
        let merger = scope.spawn(|| pages.merge(&Watch::default()));
        let mut times = Vec::new();
        for number in 0..records {
            if merger.is_finished() {
                break;
            }
            let started = Instant::now();
            match number % 4 {
                0 => drop(pages.add(&id(records + number), fingerprint(records + number))?),
                _ => drop(pages.delete(&id(number))?),
            }
            times.push(started.elapsed());
        }
        merger.join().unwrap().map(|()| times)
    })?;
    print(
        &format!("delete and add while {records} are merged"),
        times,
        started.elapsed(),
    );
    pages.close()?;
    std::fs::remove_dir_all(path)?;
    Ok(())
}

/// Adds at the rate until it is stopped. Returns the time of each addition.
fn add_paced(
    pages: &Collection,
    next: &AtomicU64,
    threads: u64,
    ends: &AtomicBool,
) -> Vec<Duration> {
    let mut times = Vec::new();
    let mut due = Instant::now();
    while !ends.load(Ordering::Relaxed) {
        due += Duration::from_micros(1_000_000 * threads / RATE);
        std::thread::sleep(due.saturating_duration_since(Instant::now()));
        let number = next.fetch_add(1, Ordering::Relaxed);
        let started = Instant::now();
        pages.add(&id(number), fingerprint(number)).unwrap();
        times.push(started.elapsed());
    }
    times
}

fn main() -> Result<(), Box<dyn Error>> {
    let mut arguments = std::env::args().skip(1);
    let folder = arguments.next().ok_or("name a folder")?;
    let records: u64 = arguments
        .next()
        .map_or(Ok(1_000_000), |records| records.parse())?;
    let seconds: u64 = arguments.next().map_or(Ok(60), |seconds| seconds.parse())?;
    let folder = Path::new(&folder);
    std::fs::create_dir_all(folder)?;
    if records <= 1_000_000 {
        nothing(1);
        nothing(16);
        syncs(folder)?;
        merging(folder, records)?;
    }

    let path = folder.join("pages");
    let mut options = Options::default();
    options.sync = Sync::Never;
    let pages = Collection::create(&path, Width::W64, options)?;
    let (times, took) = measured(records, |number| {
        pages.add(&id(number), fingerprint(number)).unwrap();
    });
    print(&format!("add {records} one after the other"), times, took);
    while {
        std::thread::sleep(Duration::from_millis(500));
        let stats = pages.stats();
        let before = (stats.seal_count, stats.merge_count);
        // An idle merge begins after some seconds, and that of 10^7 records takes many.
        std::thread::sleep(Duration::from_secs(7) + Duration::from_micros(records) * 5);
        let stats = pages.stats();
        before != (stats.seal_count, stats.merge_count) || stats.recent_count > 200_000
    } {}
    println!("{:?}", pages.stats());
    let started = Instant::now();
    pages.close()?;
    let closed = started.elapsed();

    let mut options = BuildOptions::default();
    options.ids = IdKind::String;
    options.id_lookup = true;
    let mut builder = IndexBuilder::new(Width::W64, options)?;
    for number in 0..records {
        builder.push_with_id(fingerprint(number), &id(number))?;
    }
    builder.finish_to_path(folder.join("static.simidx"))?;
    let index = Index::<u64>::open(folder.join("static.simidx"))?;
    index.warm(&WarmOptions::default().threads(1))?;
    let mut scratch = Scratch::new();
    let mut ask = |number| {
        for found in index
            .query_with(&mut scratch, query(number, records), 3)
            .unwrap()
        {
            for id in index.ids(found).unwrap() {
                std::hint::black_box(id.unwrap());
            }
        }
    };
    measured(50_000, &mut ask);
    let (times, took) = measured(200_000, |number| ask(number + 50_000));
    print("query, static file", times, took);
    let (times, took) = paced(seconds, &mut ask);
    print("query, static file, with pauses", times, took);

    for (sync, threads) in [(Sync::Batch, 4), (Sync::Always, 16)] {
        let mut options = Options::default();
        options.sync = sync;
        // Small, so that segments are sealed and merged in the time.
        options.seal_records = 10_000;
        let started = Instant::now();
        let pages = Collection::open(&path, options)?;
        println!("closed in {closed:?}, opened in {:?}", started.elapsed());
        measured(50_000, |number| {
            drop(pages.query(query(number, records), 3).unwrap())
        });
        let (times, took) = measured(200_000, |number| {
            drop(pages.query(query(number + 50_000, records), 3).unwrap());
        });
        print("query, nothing added", times, took);
        let (times, took) = paced(seconds, |number| {
            drop(pages.query(query(number, records), 3).unwrap());
        });
        print("query, nothing added, with pauses", times, took);
        let next = AtomicU64::new(pages.len() * 16);
        let ends = AtomicBool::new(false);
        std::thread::scope(|scope| {
            let began = Instant::now();
            let adders: Vec<_> = (0..threads)
                .map(|_| scope.spawn(|| add_paced(&pages, &next, threads, &ends)))
                .collect();
            let (times, took) = paced(seconds, |number| {
                drop(pages.query(query(number, records), 3).unwrap());
            });
            print(
                &format!("query, {RATE} additions a second, {sync:?}"),
                times,
                took,
            );
            // Afterwards there is one segment, so this comes last.
            if sync == Sync::Always {
                let merger = scope.spawn(|| pages.merge(&Watch::default()));
                let (times, took) = paced(seconds, |number| {
                    drop(pages.query(query(number, records), 3).unwrap());
                });
                let part = if merger.is_finished() {
                    "in part"
                } else {
                    "throughout"
                };
                print(&format!("  the same, a merge of all {part}"), times, took);
                merger.join().unwrap().unwrap();
            }
            ends.store(true, Ordering::Relaxed);
            let times = adders
                .into_iter()
                .flat_map(|adder| adder.join().unwrap())
                .collect();
            print(
                &format!("add, {RATE} a second, {sync:?}"),
                times,
                began.elapsed(),
            );
        });
        println!("{:?}", pages.stats());
        pages.close()?;
    }
    Ok(())
}
