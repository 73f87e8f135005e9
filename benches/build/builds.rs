//! One build into a file, timed as a whole and by stage.

use std::fs::File;
use std::io::{Read, Seek};
use std::ops::ControlFlow;
use std::path::Path;
use std::sync::{Arc, Mutex};
use std::time::Instant;

use simidx::watch::{Stage, Watch};
use simidx::{IndexBuilder, Width};

use crate::cases::Case;
use crate::sorts::on_threads;

/// The steps of a build. The last is the end of the file, with the ids if there were any.
pub(crate) const STEPS: [&str; 6] = ["add", "sort", "merge", "choose", "encode", "ids"];

/// The step in which the tables are encoded.
pub(crate) const ENCODE: usize = 4;

/// The measurements of a build.
#[derive(Debug, Clone)]
pub(crate) struct Build {
    pub(crate) seconds: f64,
    /// Seconds of each of [`STEPS`].
    pub(crate) steps: [f64; STEPS.len()],
    pub(crate) index: Digest,
}

/// The length and the checksum of a file, which distinguish it from others.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Digest {
    pub(crate) len: u64,
    crc: u32,
}

/// Builds an index in a file of `directory` that vanishes when it has been looked at. The time ends when all bytes are
/// handed to the system, which may write them to the disk later.
pub(crate) fn measure(case: &Case, fingerprints: &[u64], directory: &Path) -> Build {
    let mut file = tempfile::tempfile_in(directory).expect("a file can be made");
    let (seconds, steps) = on_threads(case.threads, || {
        let clock = Arc::new(Mutex::new(Clock::new()));
        let watched = Arc::clone(&clock);
        let watch = Watch::new(move |progress| {
            let mut clock = watched.lock().expect("no step panics");
            clock.enter(step(progress.stage));
            ControlFlow::Continue(())
        });
        let started = Instant::now();
        write(case, fingerprints, directory, &file, watch);
        let seconds = started.elapsed().as_secs_f64();
        let mut clock = clock.lock().expect("no step panics");
        clock.enter(0);
        (seconds, clock.seconds)
    });
    Build {
        seconds,
        steps,
        index: Digest::of(&mut file),
    }
}

fn write(case: &Case, fingerprints: &[u64], directory: &Path, file: &File, watch: Watch) {
    let options = case.options().temp_dir(directory).watch(watch);
    let mut builder = IndexBuilder::new(Width::W64, options).expect("the options are valid");
    builder
        .extend_from_slice(fingerprints)
        .expect("there is room");
    builder.finish(file).expect("the file can be written");
}

/// The place of a stage in [`STEPS`].
fn step(stage: Stage) -> usize {
    match stage {
        Stage::SortRecords | Stage::SortTable(_) => 1,
        Stage::MergeRecords | Stage::MergeTable(_) => 2,
        Stage::ChooseCode(_) => 3,
        Stage::EncodeTable(_) => ENCODE,
        Stage::WriteIds => 5,
        other => panic!("a stage without a step: {other:?}"),
    }
}

/// Sums up the time by step.
struct Clock {
    seconds: [f64; STEPS.len()],
    step: usize,
    since: Instant,
}

impl Clock {
    /// In the first step from now on.
    fn new() -> Self {
        Clock {
            seconds: [0.0; STEPS.len()],
            step: 0,
            since: Instant::now(),
        }
    }

    /// The time until now was of the step before.
    fn enter(&mut self, step: usize) {
        if step == self.step {
            return;
        }
        let now = Instant::now();
        self.seconds[self.step] += (now - self.since).as_secs_f64();
        (self.step, self.since) = (step, now);
    }
}

impl Digest {
    fn of(file: &mut File) -> Self {
        file.rewind().expect("the file can be read");
        let (mut len, mut crc) = (0, crc32fast::Hasher::new());
        let mut piece = vec![0; 1 << 20];
        loop {
            match file.read(&mut piece).expect("the file can be read") {
                0 => break,
                count => {
                    len += count as u64;
                    crc.update(&piece[..count]);
                }
            }
        }
        Digest {
            len,
            crc: crc.finalize(),
        }
    }
}
