//! Threads that share an index meet a damaged block or page at the same time: each gets an error or the right answer.

use std::sync::Barrier;
use std::thread;

use rand::RngExt;
use simidx::design::TableDesign;
use simidx::{Error, Index, Scratch, Width};
use simidx_testkit::editor::Editor;
use simidx_testkit::encoding::{BUCKET_OFFSETS, BUCKETS, GROUPS, Layout, PLACES};
use simidx_testkit::forged::IN_BLOCKS;
use simidx_testkit::{
    build, build_strings, clustered, each_id, flipped, matched, open, options, rng, scan,
    sorted_set, thorough,
};

/// Threads that share an index.
const THREADS: usize = 16;

/// Fresh indexes of each codec, each with damage of its own.
const ROUNDS: u64 = 40;

/// Fresh indexes for each section of ids, each with damage of its own.
const ROUNDS_OF_IDS: u64 = thorough(40, 12);

/// Queries of each thread.
const QUERIES: u32 = 24;

/// A file with one bit of a block of table 0 changed, and what to ask of it.
struct Damaged {
    file: Vec<u8>,
    block: u64,
    /// The members that the block held.
    within: Vec<u64>,
    /// Queries near members of the block and near others, the former first; with their answers.
    queries: Vec<(u64, Vec<(u32, u64)>)>,
}

/// Changes another bit of another block in each round.
fn damaged(file: &[u8], set: &[u64], round: u64) -> Damaged {
    let mut rng = rng(round);
    let editor = Editor::new(file.to_vec());
    let (layout, blocks) = (&editor.layout, editor.blocks(0));
    let block = rng.random_range(0..blocks.len());
    let within: Vec<u64> = blocks[block].iter().map(|&v| v as u64).collect();
    let queries = (0..QUERIES).map(|i| {
        let near = if i % 3 < 2 { &within[..] } else { set };
        let query = flipped(near[rng.random_range(0..near.len())], i % 4, &mut rng);
        (query, scan(set, query, 3))
    });
    let queries = queries.collect();
    let mut file = file.to_vec();
    file[layout.block_at(0, block) + rng.random_range(0..layout.block_size)] ^=
        1 << rng.random_range(0..8);
    Damaged {
        file,
        block: block as u64,
        within,
        queries,
    }
}

/// The outcomes of queries.
#[derive(Debug, Default, Clone, Copy, PartialEq, Eq)]
struct Outcomes {
    right: usize,
    refused: usize,
}

impl Outcomes {
    /// Counts an answer, which must be correct, or an error, which must name the block.
    fn count<A: PartialEq + std::fmt::Debug>(
        &mut self,
        found: Result<A, Error>,
        right: &A,
        block: u64,
    ) {
        match found {
            Ok(found) => {
                assert_eq!(found, *right, "a wrong answer");
                self.right += 1;
            }
            Err(Error::Format(error)) => {
                let place = (error.rule(), error.table(), error.block());
                assert_eq!(place, (21, Some(0), Some(block)), "{error}");
                self.refused += 1;
            }
            Err(error) => panic!("{error}"),
        }
    }
}

/// Asks for what was in the block, then the queries.
fn ask(index: &Index<u64>, damaged: &Damaged) -> Outcomes {
    let (mut members, mut outcomes) = (Outcomes::default(), Outcomes::default());
    for member in &damaged.within {
        members.count(index.contains(*member), &true, damaged.block);
    }
    assert_eq!(members.right, 0, "a value of the damaged block was used");
    let mut scratch = Scratch::new();
    for (query, answer) in &damaged.queries {
        let found = index.query_with(&mut scratch, *query, 3).map(matched);
        outcomes.count(found, answer, damaged.block);
    }
    outcomes
}

/// Returns the results of threads that share an index and query it at the same time.
fn together<T: Send>(file: &[u8], ask: impl Fn(&Index<u64>) -> T + Sync) -> Vec<T> {
    let index = open::<u64>(file.to_vec());
    let barrier = Barrier::new(THREADS);
    thread::scope(|scope| {
        let one = || {
            barrier.wait();
            ask(&index)
        };
        let threads: Vec<_> = (0..THREADS).map(|_| scope.spawn(one)).collect();
        threads.into_iter().map(|t| t.join().unwrap()).collect()
    })
}

#[test]
fn threads_that_meet_a_damaged_block_at_once_get_no_wrong_answer() {
    let set = sorted_set(&clustered::<u64>(3000));
    for codec in IN_BLOCKS {
        let mut options = options(TableDesign::choose_bands(Width::W64, 3, 4).unwrap(), 256);
        options.codec = Some(codec);
        let file = build(options, &set);
        let mut all = Outcomes::default();
        for round in 0..ROUNDS {
            let damaged = damaged(&file, &set, round);
            let alone = ask(&open(damaged.file.clone()), &damaged);
            for outcomes in together(&damaged.file, |index| ask(index, &damaged)) {
                assert_eq!(outcomes, alone, "round {round}: as without other threads");
                all.right += outcomes.right;
                all.refused += outcomes.refused;
            }
        }
        simidx_testkit::report(&format!(
            "{codec:?}: {} queries by {THREADS} threads of {ROUNDS} damaged indexes, {} answered, {} refused",
            all.right + all.refused,
            all.right,
            all.refused
        ));
        assert_eq!(
            all.right + all.refused,
            ROUNDS as usize * THREADS * QUERIES as usize
        );
        assert!(all.right > 1000 && all.refused > 1000, "{all:?}");
    }
}

/// The ids of all members, or the rule that reading them breaks.
fn ids(index: &Index<u64>, set: &[u64]) -> Vec<Result<Vec<String>, u8>> {
    let of = |&member: &u64| {
        let mut ids = Vec::new();
        match each_id(index.ids_of(member), |id| ids.push(id.to_string())) {
            Ok(()) => Ok(ids),
            Err(Error::Format(error)) => Err(error.rule()),
            Err(error) => panic!("{error}"),
        }
    };
    set.iter().map(of).collect()
}

#[test]
fn threads_that_meet_a_damaged_page_of_ids_at_once_get_no_wrong_ids() {
    let set = sorted_set(&clustered::<u64>(3000));
    let records = (0..4).flat_map(|i| set.iter().map(move |&f| (f, format!("{f:x}-{i}"))));
    let records: Vec<(u64, String)> = records.collect();
    let options = options(TableDesign::choose_bands(Width::W64, 3, 4).unwrap(), 256);
    let file = build_strings(options, &records);
    let good = ids(&open(file.clone()), &set);
    let layout = Layout::parse(&file);
    let (mut right, mut refused) = (0, 0);
    for kind in [GROUPS, PLACES, BUCKET_OFFSETS, BUCKETS] {
        let section = layout.section(kind, 0);
        for round in 0..ROUNDS_OF_IDS {
            let mut rng = rng(round);
            let mut damaged = file.clone();
            let at = section.offset + rng.random_range(0..section.len);
            damaged[at] ^= 1 << rng.random_range(0..8);
            let alone = ids(&open(damaged.clone()), &set);
            for found in together(&damaged, |index| ids(index, &set)) {
                assert_eq!(found, alone, "byte {at}: as without other threads");
            }
            for (found, good) in alone.iter().zip(&good) {
                assert!(found == good || *found == Err(28), "byte {at}: {found:?}");
                right += usize::from(found.is_ok());
                refused += usize::from(found.is_err());
            }
        }
    }
    simidx_testkit::report(&format!(
        "of {THREADS} threads each: {right} members had their ids, {refused} were refused"
    ));
    assert!(right > 10_000 && refused > 10_000);
}
