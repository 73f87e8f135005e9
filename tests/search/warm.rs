//! Warming checks everything that queries need, once. It reports its progress, can be stopped, and finds the first
//! damage.

use std::ops::ControlFlow;

use simidx::design::TableDesign;
use simidx::index::{WarmOptions, WarmReport};
use simidx::watch::Stage;
use simidx::{BuildOptions, Codec, Error, IdKind, Index, Set, Watch, Width};
use simidx_testkit::encoding::{BUCKETS, Layout};
use simidx_testkit::{build, build_strings, open, open_set, options, recording, sized, uniform};

/// A file of several megabytes with string ids.
fn file_with_ids(codec: Codec) -> Vec<u8> {
    let fingerprints = uniform::<u64>(sized(100_000));
    let ids: Vec<String> = fingerprints.iter().map(|f| format!("{f:032x}")).collect();
    let mut options = options(
        TableDesign::with_table_count(Width::W64, 3, 2).unwrap(),
        512,
    );
    (options.ids, options.codec) = (IdKind::String, Some(codec));
    let records: Vec<(u64, &str)> = fingerprints
        .iter()
        .zip(&ids)
        .map(|(&f, id)| (f, id.as_str()))
        .collect();
    build_strings(options, &records)
}

/// Blocks of all tables.
fn block_count(index: &Index<u64>) -> u64 {
    let tables = index.summary().tables.into_iter();
    let in_blocks = tables.filter(|table| table.codec != Codec::Lines);
    in_blocks.map(|table| table.block_count).sum()
}

/// A small file of tables in blocks.
fn in_blocks(fingerprints: &[u64]) -> Vec<u8> {
    let mut options = BuildOptions::default();
    options.codec = Some(Codec::EliasFano);
    build(options, fingerprints)
}

#[test]
fn every_block_and_page_is_warmed_once_on_any_number_of_threads() {
    for (codec, threads) in [0, 1, 3, 64]
        .map(|threads| (Codec::EliasFano, threads))
        .into_iter()
        .chain([(Codec::Lines, 0), (Codec::Lines, 1)])
    {
        let file = file_with_ids(codec);
        let index = open::<u64>(file.clone());
        let (watch, calls) = recording(usize::MAX);
        let options = WarmOptions::default().threads(threads).watch(watch);
        let report = index.warm(&options).unwrap();
        let seen = calls.lock().unwrap();
        assert_eq!(report.block_count, block_count(&index));
        assert_eq!(
            report.page_count,
            index.verify(&Default::default()).unwrap().page_count
        );
        assert!(report.byte_len < file.len() as u64);
        assert!(report.byte_len > file.len() as u64 * 9 / 10);
        assert!(seen.is_sorted_by_key(|progress| progress.done));
        let last = seen.last().unwrap();
        assert_eq!((last.done, last.total), (report.byte_len, report.byte_len));
    }
}

/// Damage that comes after the warming is seen by a full check only.
#[cfg(feature = "mmap")]
#[test]
#[cfg_attr(miri, ignore = "Miri maps no files")]
fn what_is_warm_is_not_checked_again() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("x.simidx");
    let fingerprints = uniform::<u64>(500);
    let mut file = in_blocks(&fingerprints);
    std::fs::write(&path, &file).unwrap();
    let [warm, cold] = [(); 2].map(|()| Index::<u64>::open(&path).unwrap());
    warm.warm(&WarmOptions::default().threads(1)).unwrap();
    let at = Layout::parse(&file).block_at(0, 0) + 100;
    file[at] ^= 1;
    let mut mapped = std::fs::File::options().write(true).open(&path).unwrap();
    std::io::Write::write_all(&mut mapped, &file).unwrap();
    let first = *fingerprints.iter().min().unwrap();
    assert!(warm.contains(first).is_ok());
    assert!(cold.contains(first).is_err());
    assert!(cold.warm(&WarmOptions::default().threads(1)).is_err());
    assert!(!warm.verify(&Default::default()).unwrap().is_sound());
    assert!(
        warm.warm(&WarmOptions::default().threads(1)).is_err(),
        "a full check has found the damage"
    );
}

#[test]
fn the_first_damage_is_told_whichever_thread_finds_it() {
    let mut file = file_with_ids(Codec::EliasFano);
    let layout = Layout::parse(&file);
    let blocks = layout.tables[1].block_count;
    let section = layout.section(BUCKETS, 0);
    let warm = |file: &[u8], threads| match open::<u64>(file.to_vec())
        .warm(&WarmOptions::default().threads(threads))
    {
        Err(Error::Format(error)) => (error.rule(), error.table(), error.block()),
        other => panic!("{other:?}"),
    };
    file[section.offset + section.len / 2] ^= 1;
    for threads in [1, 4] {
        assert_eq!(warm(&file, threads), (28, None, None));
    }
    for block in [blocks - 1, blocks / 2, blocks / 2 - 1] {
        file[layout.block_at(1, block) + 100] ^= 1;
        for threads in [1, 2, 7] {
            assert_eq!(warm(&file, threads), (21, Some(1), Some(block as u64)));
        }
    }
}

#[test]
fn a_caller_stops_and_goes_on_later() {
    let file = file_with_ids(Codec::EliasFano);
    let index = open::<u64>(file);
    let (watch, calls) = recording(3);
    let stopped = index.warm(&WarmOptions::default().threads(1).watch(watch));
    assert!(matches!(stopped, Err(Error::Interrupted)));
    let calls = calls.lock().unwrap();
    assert_eq!((calls.len(), calls[0].done), (3, 0));
    assert!(calls[2].done >= 1 << 20 && calls[2].done <= 2 << 20);
    let rest = index.warm(&WarmOptions::default().threads(2)).unwrap();
    assert_eq!(rest.block_count, block_count(&index));
}

#[test]
fn segments_and_indexes_of_any_width_are_warmed() {
    let files: Vec<Vec<u8>> = [1u64, 2]
        .map(|seed| {
            let fingerprints: Vec<u64> = uniform(3000).iter().map(|f: &u64| f ^ seed).collect();
            in_blocks(&fingerprints)
        })
        .to_vec();
    let each: Vec<WarmReport> = files
        .iter()
        .map(|file| {
            open_set([file.clone()])
                .warm(&WarmOptions::default().threads(1))
                .unwrap()
        })
        .collect();
    let named = |files: &[Vec<u8>]| {
        let files = files.iter().enumerate();
        let segments = files.map(|(i, file)| {
            let index = Set::from_bytes(file.clone()).unwrap();
            index.named(format!("file {i}"))
        });
        Set::new(segments).unwrap()
    };
    let both = named(&files)
        .warm(&WarmOptions::default().threads(2))
        .unwrap();
    assert_eq!(both.block_count, each[0].block_count + each[1].block_count);
    assert_eq!(both.byte_len, each[0].byte_len + each[1].byte_len);
    let mut damaged = files;
    let at = Layout::parse(&damaged[1]).block_at(0, 0) + 100;
    damaged[1][at] ^= 1;
    match named(&damaged).warm(&WarmOptions::default().threads(2)) {
        Err(Error::Segment { segment, name, .. }) => {
            assert_eq!((segment, &name[..]), (1, "file 1"))
        }
        other => panic!("{other:?}"),
    }
}

#[test]
fn a_full_check_reports_each_part_as_it_begins() {
    let index = open::<u64>(file_with_ids(Codec::EliasFano));
    let (watch, calls) = recording(usize::MAX);
    assert!(index.verify(&watch).unwrap().is_sound());
    let calls = calls.lock().unwrap();
    let tables = index.table_count();
    let expected = (0..tables)
        .map(Stage::CheckTable)
        .chain([Stage::CheckIds])
        .chain((1..tables).map(Stage::CompareTable));
    assert!(calls.iter().map(|call| call.stage).eq(expected));
    let total = calls.len() as u64;
    assert!(
        calls
            .iter()
            .map(|call| (call.done, call.total))
            .eq((0..total).map(|n| (n, total)))
    );
    let stopped = index.verify(&recording(2).0);
    assert!(matches!(stopped, Err(Error::Interrupted)));
}

#[test]
fn an_empty_index_is_warm() {
    let index = open::<u64>(build(BuildOptions::default(), &[] as &[u64]));
    let report = index.warm(&WarmOptions::default()).unwrap();
    assert_eq!((report.block_count, report.byte_len), (0, 0));
}

#[test]
fn a_panic_of_the_caller_ends_the_pass() {
    let index = open::<u64>(file_with_ids(Codec::EliasFano));
    let panicked = std::panic::catch_unwind(std::panic::AssertUnwindSafe(|| {
        let watch = Watch::new(|progress| match progress.done {
            // The other threads have not begun.
            0 => ControlFlow::Continue(()),
            _ => panic!("on purpose"),
        });
        index.warm(&WarmOptions::default().threads(2).watch(watch))
    }));
    assert!(panicked.is_err());
    index.warm(&WarmOptions::default().threads(2)).unwrap();
}

/// Bytes in memory are resident, wherever they came from.
#[cfg(all(feature = "mmap", target_os = "linux"))]
#[test]
fn pages_that_were_used_are_resident() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("x.simidx");
    std::fs::write(&path, file_with_ids(Codec::EliasFano)).unwrap();
    for index in [
        Index::<u64>::open(&path).unwrap(),
        Index::open_in_memory(&path).unwrap(),
    ] {
        index.warm(&WarmOptions::default().threads(2)).unwrap();
        let fraction = index.resident_fraction().unwrap();
        assert!((0.9..=1.0).contains(&fraction), "{fraction}");
    }
}
