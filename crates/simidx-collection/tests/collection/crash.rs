//! Killed at any moment, and out of disk: what was acknowledged is there, once, and what was deleted is not.

use std::collections::BTreeMap;
use std::io::{BufRead, BufReader, Write};
use std::path::Path;
use std::process::{Command, Output, Stdio};
use std::time::Duration;

use simidx::{Watch, Width};
use simidx_collection::{Collection, Error, Options};
use simidx_testkit::thorough;

const THREADS: u64 = 4;
/// The name of the folder for the process that is to be killed, and the number of its run.
const FOLDER: &str = "SIMIDX_COLLECTION_FOLDER";
const RUN: &str = "SIMIDX_COLLECTION_RUN";
/// The name of the folder for the process that finds the disk full.
const READ: &str = "SIMIDX_COLLECTION_READ";
/// Set where nothing shall be sealed, so that the journal grows.
const UNSEALED: &str = "SIMIDX_COLLECTION_UNSEALED";

fn options() -> Options {
    let mut options = Options::default();
    options.seal_records = match std::env::var(UNSEALED) {
        Ok(_) => 1_000_000,
        Err(_) => 60,
    };
    options
}

/// A change that a thread makes.
#[derive(Debug, Clone)]
enum Change {
    Add(String, u128),
    Delete(String),
}

fn mixed(mut value: u64) -> u64 {
    for _ in 0..3 {
        value = (value ^ value >> 29).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    }
    value
}

/// The change of a number: additions, some of which replace, and deletions of what was added a while ago.
fn change(run: u64, thread: u64, number: u64) -> Change {
    let id = |number: u64| format!("{run} {thread} {number}");
    let value = mixed(run << 40 | thread << 32 | number).into();
    match number % 10 {
        4 if number > 100 => Change::Delete(id(number - 99)),
        7 => Change::Delete(id(number - 2)),
        9 => Change::Add(id(number - 1), value),
        _ => Change::Add(id(number), value),
    }
}

type Records = BTreeMap<String, u128>;

fn apply(records: &mut Records, change: &Change) {
    match change {
        Change::Add(id, value) => {
            records.insert(id.clone(), *value);
        }
        Change::Delete(id) => {
            records.remove(id);
        }
    }
}

/// Makes changes until it is killed, or the disk is full; says which have been acknowledged. Does nothing unless it is
/// started by another test.
#[test]
fn child() {
    let (Ok(folder), Ok(run)) = (std::env::var(FOLDER), std::env::var(RUN)) else {
        return;
    };
    let run = run.parse().unwrap();
    let pages = Collection::open_or_create(folder, Width::W64, options()).unwrap();
    std::thread::scope(|scope| {
        for thread in 0..THREADS {
            let pages = &pages;
            scope.spawn(move || {
                for number in 0.. {
                    let made = match change(run, thread, number) {
                        Change::Add(id, value) => pages.add(&id, value).map(|_| ()),
                        Change::Delete(id) => pages.delete(&id).map(|_| ()),
                    };
                    match made {
                        Ok(()) => {}
                        Err(Error::Journal(_)) => return,
                        Err(error) => panic!("{error}"),
                    }
                    let line = format!("acknowledged {thread} {number}\n");
                    std::io::stdout().write_all(line.as_bytes()).unwrap();
                }
            });
        }
    });
    // Queries go on after the journal has failed, changes do not.
    assert_eq!(pages.query(mixed(run << 40), 0).unwrap().len(), 1);
    assert!(matches!(
        pages.add("further", 7_u64),
        Err(Error::Journal(_))
    ));
    assert!(pages.stats().journal_error.is_some());
}

/// Opens a collection whose journal cannot be written anew. Does nothing unless it is started by another test.
#[test]
fn reader() {
    let Ok(folder) = std::env::var(READ) else {
        return;
    };
    let pages = Collection::open(folder, options()).unwrap();
    assert!(pages.stats().journal_error.is_some());
    assert_eq!(pages.get("a").unwrap(), Some(7));
    assert_eq!(pages.query(7_u64, 0).unwrap().len(), 1);
    assert!(matches!(pages.add("b", 8_u64), Err(Error::Journal(_))));
    assert!(matches!(
        pages.seal(&Watch::default()),
        Err(Error::Journal(_))
    ));
    assert!(matches!(pages.close(), Err(Error::Journal(_))));
    println!("read on a full disk");
}

/// Opens a collection in a process whose files may have 4 KB: a journal that is written anew does not fit. Without
/// `trap '' XFSZ` as its script, this kills the process.
#[cfg(unix)]
pub(crate) fn read_on_a_full_disk(folder: &Path, script: &str) -> Output {
    let program = std::env::current_exe().unwrap();
    let script = format!("{script}; ulimit -c 0; ulimit -f 8; exec \"$0\" \"$@\"");
    Command::new("sh")
        .args(["-c", &script])
        .arg(program)
        .args([
            "crash::reader",
            "--exact",
            "--nocapture",
            "--test-threads=1",
        ])
        .env(READ, folder)
        .stderr(Stdio::inherit())
        .output()
        .unwrap()
}

#[test]
#[cfg(unix)]
fn a_restart_on_a_full_disk_answers_queries() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("pages");
    let pages = Collection::create(&path, Width::W64, options()).unwrap();
    pages.add("a", 7_u64).unwrap();
    let killed = folder.path().join("killed");
    crate::files::copy(&path, &killed);
    let output = read_on_a_full_disk(&killed, "trap '' XFSZ");
    assert!(output.status.success(), "{}", output.status);
    assert!(String::from_utf8_lossy(&output.stdout).contains("read on a full disk"));
    // There is room again.
    let pages = Collection::open(&killed, options()).unwrap();
    pages.add("b", 8_u64).unwrap();
    assert_eq!(pages.len(), 2);
}

/// Starts the child, and kills it after a number of milliseconds or waits for its end. Returns how many changes of each
/// thread it has acknowledged.
fn run_child(folder: &Path, run: u64, script: Option<&str>, kill_after: Option<u64>) -> Vec<u64> {
    let program = std::env::current_exe().unwrap();
    let arguments = ["crash::child", "--exact", "--nocapture", "--test-threads=1"];
    let mut command = match script {
        None => Command::new(program),
        Some(script) => {
            let mut command = Command::new("sh");
            command.args(["-c", script]).arg(program).env(UNSEALED, "");
            command
        }
    };
    command
        .args(arguments)
        .env(FOLDER, folder)
        .env(RUN, run.to_string());
    let mut child = command.stdout(Stdio::piped()).spawn().unwrap();
    let lines = BufReader::new(child.stdout.take().unwrap()).lines();
    let mut counts = vec![0; THREADS as usize];
    std::thread::scope(|scope| {
        let mut killer = Some(|| {
            let milliseconds = kill_after?;
            std::thread::sleep(Duration::from_millis(milliseconds));
            child.kill().ok()
        });
        let mut killing = None;
        for line in lines {
            let line = line.unwrap();
            // The harness prints its lines too, in the middle of one of these perhaps.
            let Some((_, words)) = line.split_once("acknowledged ") else {
                continue;
            };
            let (thread, number) = words.split_once(' ').unwrap();
            counts[thread.parse::<usize>().unwrap()] = number.parse::<u64>().unwrap() + 1;
            if let Some(killer) = killer.take() {
                killing = Some(scope.spawn(killer));
            }
        }
        drop(killing);
    });
    let status = child.wait().unwrap();
    assert_eq!(status.success(), kill_after.is_none(), "{status}");
    counts
}

/// Compares a collection with what was acknowledged. Of each thread one further change may be there.
#[track_caller]
fn check(folder: &Path, records: &mut Records, run: u64, counts: &[u64]) {
    let pages = Collection::open(folder, options()).unwrap();
    for (thread, &count) in counts.iter().enumerate() {
        for number in 0..count {
            apply(records, &change(run, thread as u64, number));
        }
        let next = change(run, thread as u64, count);
        let is_there = match &next {
            Change::Add(id, value) => pages.get(id).unwrap() == Some(*value),
            Change::Delete(id) => pages.get(id).unwrap().is_none(),
        };
        if is_there {
            apply(records, &next);
        }
    }
    for (id, &value) in &*records {
        let found = pages.query(value, 0).unwrap();
        assert_eq!(found.len(), 1, "run {run}: {id}");
        assert_eq!(found[0].ids, [&**id], "run {run}");
        assert_eq!(pages.get(id).unwrap(), Some(value), "run {run}: {id}");
    }
    assert_eq!(pages.len(), records.len() as u64, "run {run}");
    let files = std::fs::read_dir(folder).unwrap();
    let names: Vec<_> = files.map(|file| file.unwrap().file_name()).collect();
    let temporary = names
        .iter()
        .filter(|name| name.to_string_lossy().ends_with(".tmp"));
    assert!(temporary.count() <= 2, "those of what runs now: {names:?}");
}

#[test]
fn killed_at_any_moment_it_loses_nothing() {
    let kills = std::env::var("SIMIDX_KILLS").map_or(10, |kills| kills.parse().unwrap());
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("pages");
    let mut records = Records::new();
    let mut acknowledged = 0;
    for run in 0..kills {
        let counts = run_child(&path, run, None, Some(20 + mixed(run) % 500));
        acknowledged += counts.iter().sum::<u64>();
        check(&path, &mut records, run, &counts);
    }
    assert!(acknowledged > kills * 20, "{acknowledged}");
    let pages = Collection::open(&path, options()).unwrap();
    pages.seal(&Watch::default()).unwrap();
    pages.merge(&Watch::default()).unwrap();
    assert_eq!(pages.stats().record_count, records.len() as u64);
}

#[test]
#[cfg(unix)]
fn a_full_disk_loses_nothing() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("pages");
    let mut records = Records::new();
    // In units of 512 bytes: the journal is the first file that does not fit.
    let limits = thorough(&[400, 800, 1600][..], &[400, 800]);
    for (run, limit) in limits.iter().enumerate() {
        let script = format!("trap '' XFSZ; ulimit -f {limit}; exec \"$0\" \"$@\"");
        let counts = run_child(&path, run as u64, Some(&script), None);
        check(&path, &mut records, run as u64, &counts);
    }
    assert!(records.len() > 10, "{}", records.len());
}
