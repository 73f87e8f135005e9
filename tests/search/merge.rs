//! A merge of segments is byte for byte the build of all their records, less what is left out.

use std::collections::HashSet;

use proptest::prelude::*;
use simidx::Set;
use simidx::design::TableDesign;
use simidx::merge::{MergeCodec, MergeOptions, Merged};
use simidx::set::Exclusions;
use simidx::watch::Progress;
use simidx::{
    BuildOptions, Codec, Error, Fingerprint, IdKind, Index, IndexBuilder, Storage, Width,
};
use simidx_testkit::{open_set, recording};

/// A fingerprint and a number that makes its id.
type Record<F> = (F, u64);

fn options<F: Fingerprint>(tables: usize, codec: Option<Codec>, ids: IdKind) -> BuildOptions {
    let mut options = BuildOptions::default();
    options.design = Some(TableDesign::with_table_count(Width::of::<F>(), 3, tables).unwrap());
    options.block_size = 128;
    options.codec = codec;
    options.ids = ids;
    options.pipeline = Some("words".into());
    options
}

fn build<F: Fingerprint>(records: &[Record<F>], options: BuildOptions) -> Vec<u8> {
    let ids = options.ids;
    let mut builder = IndexBuilder::new(Width::of::<F>(), options).unwrap();
    for &(fingerprint, id) in records {
        match ids {
            IdKind::None => builder.push(fingerprint),
            IdKind::Number => builder.push_with_id(fingerprint, id),
            IdKind::String => builder.push_with_id(fingerprint, &name(id)),
        }
        .unwrap();
    }
    let mut file = Vec::new();
    builder.finish(&mut file).unwrap();
    file
}

fn name(id: u64) -> String {
    "x".repeat(id as usize % 40) + &id.to_string()
}

fn merged(files: &[Vec<u8>], options: &MergeOptions) -> (Vec<u8>, Merged) {
    let mut file = Vec::new();
    let segments = open_set(files.to_vec());
    let merged = segments.merge(options, &mut file).unwrap();
    (file, merged)
}

/// Which parts of the records are left out.
#[derive(Debug, Clone)]
struct Left {
    fingerprints: HashSet<u64>,
    ids: HashSet<u64>,
}

fn check<F: Fingerprint>(
    parts: &[Vec<(u64, u64)>],
    left: &Left,
    ids: IdKind,
    tables: usize,
    codec: Option<Codec>,
) {
    let fingerprint = |value: u64| F::from_u128(u128::from(value) << 61 | u128::from(value));
    let parts: Vec<Vec<Record<F>>> = parts
        .iter()
        .map(|part| part.iter().map(|&(f, id)| (fingerprint(f), id)).collect())
        .collect();
    let mut exclusions = Exclusions::default();
    let left_fingerprints: HashSet<F> = left.fingerprints.iter().map(|&f| fingerprint(f)).collect();
    left_fingerprints
        .iter()
        .for_each(|&f| exclusions.add_fingerprint(f));
    match ids {
        IdKind::None => {}
        IdKind::Number => left
            .ids
            .iter()
            .for_each(|&id| exclusions.add_number(id).unwrap()),
        IdKind::String => left
            .ids
            .iter()
            .for_each(|&id| exclusions.add_string(&name(id)).unwrap()),
    }
    let all: Vec<Record<F>> = parts.iter().flatten().copied().collect();
    let is_left = |record: &&Record<F>| {
        let by_id = ids != IdKind::None && left.ids.contains(&record.1);
        !by_id && !left_fingerprints.contains(&record.0)
    };
    let kept: Vec<Record<F>> = all.iter().filter(is_left).copied().collect();
    let files: Vec<Vec<u8>> = parts
        .iter()
        .map(|part| build(part, options::<F>(tables, codec, ids)))
        .collect();
    let mut merge_options = MergeOptions::default();
    merge_options.exclusions = exclusions;
    merge_options.codec = codec.map_or(MergeCodec::Chosen, MergeCodec::Given);
    let (file, report) = merged(&files, &merge_options);
    let mut expected = options::<F>(tables, codec, ids);
    expected.pipeline = expected.pipeline.filter(|_| !files.is_empty());
    let mut expected = build(&kept, expected);
    let distinct =
        |records: &[Record<F>]| records.iter().map(|r| r.0).collect::<HashSet<F>>().len();
    let mut dropped_records = all.len() - kept.len();
    if ids == IdKind::None && !kept.is_empty() {
        // How many records a fingerprint left out had is not known: once a segment.
        let is_out = |record: &&Record<F>| left_fingerprints.contains(&record.0);
        let of_part = |part: &Vec<Record<F>>| {
            distinct(&part.iter().filter(is_out).copied().collect::<Vec<_>>())
        };
        dropped_records = parts.iter().map(of_part).sum();
        let record_count = all.len() - dropped_records;
        set_counts(&mut expected, distinct(&kept) as u64, record_count as u64);
    }
    assert!(file == expected);
    assert_eq!(report.dropped_record_count, dropped_records as u64);
    let dropped = distinct(&all) - distinct(&kept);
    assert_eq!(report.dropped_fingerprint_count, dropped as u64);
}

fn left() -> impl Strategy<Value = Left> {
    let some = prop_oneof![Just(0), Just(8usize)];
    some.prop_flat_map(|most| {
        let fingerprints = prop::collection::hash_set(0u64..40, 0..=most);
        let ids = prop::collection::hash_set(0u64..30, 0..=most);
        (fingerprints, ids).prop_map(|(fingerprints, ids)| Left { fingerprints, ids })
    })
}

proptest! {
    #[test]
    fn a_merge_is_the_build_of_all_records(
        parts in prop::collection::vec(
            prop::collection::vec((prop_oneof![0u64..40, any::<u64>()], 0u64..30), 1..120), 1..5,
        ),
        left in left(),
        ids in prop_oneof![Just(IdKind::None), Just(IdKind::Number), Just(IdKind::String)],
        tables in prop_oneof![Just(1usize), Just(2), Just(4)],
        codec in prop_oneof![Just(None), prop::sample::select(&Codec::ALL[..]).prop_map(Some)],
    ) {
        check::<u64>(&parts, &left, ids, tables, codec);
        check::<u128>(&parts, &left, ids, tables, codec);
        check::<u32>(&parts, &left, ids, tables, codec);
    }
}

#[test]
fn the_codec_is_that_of_the_segments_where_they_agree() {
    let part = |from: u64| -> Vec<Record<u64>> {
        (from..from + 3000)
            .map(|i| (i.wrapping_mul(0x9e37_79b9_7f4a_7c15), i))
            .collect()
    };
    let gap = [0, 9000].map(|from| {
        build(
            &part(from),
            options::<u64>(2, Some(Codec::Gap), IdKind::None),
        )
    });
    let mut as_segments = MergeOptions::default();
    as_segments.codec = MergeCodec::Same;
    let (file, _) = merged(&gap, &as_segments);
    let all = [part(0), part(9000)].concat();
    assert!(file == build(&all, options::<u64>(2, Some(Codec::Gap), IdKind::None)));
    let xor = build(
        &part(9000),
        options::<u64>(2, Some(Codec::Xor), IdKind::None),
    );
    let mixed = [gap[0].clone(), xor];
    let (file, _) = merged(&mixed, &as_segments);
    assert!(file == build(&all, options::<u64>(2, None, IdKind::None)));
    // Of a table that one of them lacks the data decides.
    let single = build(
        &part(9000),
        options::<u64>(1, Some(Codec::Gap), IdKind::None),
    );
    let (file, _) = merged(&[gap[0].clone(), single], &as_segments);
    let codecs = |file: Vec<u8>| -> Vec<Codec> {
        let tables = simidx_testkit::open::<u64>(file).summary().tables;
        tables.iter().map(|table| table.codec).collect()
    };
    let chosen = codecs(build(&all, options::<u64>(2, None, IdKind::None)))[1];
    assert_eq!(codecs(file), [Codec::Gap, chosen]);
    // By default the data decides, as in a build: small segments and a large file may want different codecs.
    let (file, _) = merged(&gap, &MergeOptions::default());
    assert!(file == build(&all, options::<u64>(2, None, IdKind::None)));
}

#[test]
fn large_segments_with_large_groups_are_merged_in_little_memory() {
    let part = |seed: u64| -> Vec<Record<u64>> {
        let value = |i: u64| match i % 3 {
            0 => 7,
            _ => (i ^ seed).wrapping_mul(0x9e37_79b9_7f4a_7c15),
        };
        (0..700_000).map(|i| (value(i), i % 900)).collect()
    };
    let parts = [part(1), part(2)];
    for ids in [IdKind::None, IdKind::Number, IdKind::String] {
        let files: Vec<Vec<u8>> = parts
            .iter()
            .map(|p| build(p, options::<u64>(2, None, ids)))
            .collect();
        let mut little = MergeOptions::default();
        little.memory = simidx::builder::MIN_MEMORY;
        little.codec = MergeCodec::Chosen;
        let (file, _) = merged(&files, &little);
        assert!(
            file == build(&parts.concat(), options::<u64>(2, None, ids)),
            "{ids:?}"
        );
    }
}

#[test]
fn a_segment_that_states_a_wrong_count_cannot_be_opened() {
    let records: Vec<Record<u64>> = (0..500).map(|i| (i << 40 | i, i)).collect();
    let good = build(&records, options::<u64>(2, None, IdKind::None));
    for (fingerprints, count) in [(499, 600), (501, 600)] {
        let mut forged = good.clone();
        set_counts(&mut forged, fingerprints, count);
        let error = Index::<u64>::from_bytes(Storage::from(forged)).unwrap_err();
        let Error::Format(error) = error else {
            panic!("{error}")
        };
        assert_eq!(error.rule(), 18);
    }
}

/// Writes other counts into the directory and repairs the checksums (specification, section 4).
fn set_counts(file: &mut [u8], fingerprints: u64, records: u64) {
    let footer = file.len() - 40;
    let directory = u64::from_le_bytes(file[footer..footer + 8].try_into().unwrap()) as usize;
    file[directory..directory + 8].copy_from_slice(&fingerprints.to_le_bytes());
    file[directory + 8..directory + 16].copy_from_slice(&records.to_le_bytes());
    let checksum = crc32fast::hash(&file[directory..footer]);
    file[footer + 12..footer + 16].copy_from_slice(&checksum.to_le_bytes());
    let checksum = crc32fast::hash(&file[footer..footer + 32]);
    file[footer + 32..footer + 36].copy_from_slice(&checksum.to_le_bytes());
}

#[test]
fn segments_without_records_add_nothing_whatever_they_are() {
    let records: Vec<Record<u64>> = (0..500).map(|i| (i << 40 | i, i)).collect();
    let full = build(&records, options::<u64>(2, None, IdKind::Number));
    let empty = build::<u64>(&[], BuildOptions::default());
    let files = [empty.clone(), full.clone(), empty.clone()];
    let (file, _) = merged(&files, &MergeOptions::default());
    assert!(file == full);
    let (file, _) = merged(&[empty.clone(), empty.clone()], &MergeOptions::default());
    assert!(file == empty);
}

#[test]
fn everything_may_be_left_out() {
    // Some fingerprints are repeated: without ids what repeats them must not stay counted, by rule V8.
    let fingerprint = |i: u64| ((i % 500) << 40) | (i % 500);
    let records: Vec<Record<u64>> = (0..700).map(|i| (fingerprint(i), i)).collect();
    for ids in [IdKind::None, IdKind::Number, IdKind::String] {
        let full = build(&records, options::<u64>(2, Some(Codec::Gap), ids));
        let mut options_ = MergeOptions::default();
        records
            .iter()
            .for_each(|r| options_.exclusions.add_fingerprint(r.0));
        options_.codec = MergeCodec::Same;
        let (file, report) = merged(&[full], &options_);
        assert_eq!(report.dropped_fingerprint_count, 500);
        assert_eq!(report.dropped_record_count, 700);
        assert!(
            file == build::<u64>(&[], options::<u64>(2, Some(Codec::Gap), ids)),
            "{ids:?}"
        );
    }
}

fn refusal(files: &[Vec<u8>], options: &MergeOptions) -> String {
    let error = open_set(files.to_vec())
        .merge(options, Vec::new())
        .unwrap_err();
    error.to_string()
}

#[test]
fn ids_that_the_segments_do_not_have_cannot_be_left_out() {
    let records: Vec<Record<u64>> = (0..50).map(|i| (i, i)).collect();
    let file = build(&records, options::<u64>(2, None, IdKind::Number));
    let mut options = MergeOptions::default();
    options.exclusions.add_string("x").unwrap();
    let message = "records cannot be left out by such ids: the ids are number";
    assert_eq!(refusal(&[file], &options), message);
}

#[test]
fn a_damaged_segment_is_named() {
    let records: Vec<Record<u64>> = (0..5000).map(|i| (i << 30, i)).collect();
    let good = build(&records, options::<u64>(2, None, IdKind::Number));
    let mut bad = good.clone();
    bad[1000] ^= 1;
    let named = |name, file| open_set([file]).named(name);
    let segments = Set::new([named("a", good), named("b", bad)]).unwrap();
    let result = segments.merge(&MergeOptions::default(), Vec::new());
    let Err(Error::Segment { segment, name, .. }) = result else {
        panic!("{result:?}");
    };
    assert_eq!((segment, name.as_str()), (1, "b"));
}

/// Writes into a file that stays the same file.
#[cfg(feature = "mmap")]
fn overwrite(path: &std::path::Path, at: u64, bytes: &[u8]) {
    use std::io::{Seek, SeekFrom, Write};
    let mut file = std::fs::File::options().write(true).open(path).unwrap();
    file.seek(SeekFrom::Start(at)).unwrap();
    file.write_all(bytes).unwrap();
}

/// A mapped file all blocks of which have been checked.
#[cfg(feature = "mmap")]
fn mapped(path: &std::path::Path, file: &[u8]) -> Set {
    std::fs::write(path, file).unwrap();
    let set = Set::open([path]).unwrap();
    assert!(
        set.segment(0)
            .unwrap()
            .verify(&Default::default())
            .unwrap()
            .is_sound()
    );
    set
}

#[test]
#[cfg(feature = "mmap")]
fn a_table_that_is_overwritten_after_it_was_checked_is_refused() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("x.simidx");
    let value = |i: u64| i.wrapping_mul(0x9e37_79b9_7f4a_7c15);
    let records: Vec<Record<u64>> = (0..5000).map(|i| (value(i), i)).collect();
    for codec in Codec::ALL {
        for ids in [IdKind::None, IdKind::Number, IdKind::String] {
            let file = build(&records, options::<u64>(2, Some(codec), ids));
            let table = mapped(&path, &file).segment(0).unwrap().summary().tables[0].clone();
            // Table 0 starts at the second block, or at the second page.
            let (start, len) = match codec {
                Codec::Lines => (4096, table.byte_len / 128 * 128),
                _ => (128, table.block_count * 128),
            };
            let table = &file[start as usize..][..len as usize];
            let garbage = (0..len / 8).flat_map(|i| (value(i) ^ value(i) >> 29).to_le_bytes());
            // As many values as before, in another order.
            let turned = table.rchunks(128).flatten().copied().collect();
            for (bytes, rules) in [
                (garbage.collect::<Vec<u8>>(), &[24, 29, 33, 35][..]),
                (turned, &[24, 33][..]),
            ] {
                let segments = mapped(&path, &file);
                overwrite(&path, start, &bytes);
                let rule = rule_of_refusal(&segments);
                // Ids seem to descend where a fingerprint is repeated. Pages of lines are checked again.
                let is_right = rules.contains(&rule) || codec == Codec::Lines && rule == 28;
                assert!(is_right, "{codec:?} {ids:?}: rule {rule}");
            }
        }
    }
}

/// The rule for which a merge refuses the segment.
#[cfg(feature = "mmap")]
fn rule_of_refusal(segments: &Set) -> u8 {
    match segments.merge(&MergeOptions::default(), Vec::new()) {
        Err(Error::Segment { error, .. }) => match *error {
            Error::Format(error) => error.rule(),
            error => panic!("{error}"),
        },
        result => panic!("{result:?}"),
    }
}

#[test]
#[cfg(feature = "mmap")]
fn a_table_that_changes_after_it_was_read_does_no_harm() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("x.simidx");
    let records = |second: u64| -> Vec<Record<u64>> {
        let value = |i: u64| if i == 1 { second } else { i << 40 };
        (0..500).map(|i| (value(i), i)).collect()
    };
    let file = |second, codec| {
        build(
            &records(second),
            options::<u64>(1, Some(codec), IdKind::None),
        )
    };
    let before = file(1 << 40, Codec::EliasFano);
    let after = file(1 << 40 | 1, Codec::EliasFano);
    assert_eq!(before.len(), after.len());
    let segments = mapped(&path, &before);
    let change = move |progress: Progress| {
        if progress.stage == simidx::watch::Stage::EncodeTable(0) {
            overwrite(&path, 0, &after);
        }
        std::ops::ControlFlow::Continue(())
    };
    let options = MergeOptions::default()
        .codec(MergeCodec::Given(Codec::Gap))
        .watch(simidx::Watch::new(change));
    // The code of the table has no codeword for the new steps.
    let mut merged = Vec::new();
    segments.merge(&options, &mut merged).unwrap();
    assert!(merged == file(1 << 40, Codec::Gap));
}

#[test]
fn progress_counts_every_record_and_value() {
    let records: Vec<Record<u64>> = (0..5000).map(|i| (i << 30, i)).collect();
    let file = build(
        &records,
        options::<u64>(2, Some(Codec::EliasFano), IdKind::Number),
    );
    let two = open_set([file.clone(), file]);
    let (watch, calls) = recording(usize::MAX);
    let options = MergeOptions::default().codec(MergeCodec::Same).watch(watch);
    two.merge(&options, Vec::new()).unwrap();
    let calls = calls.lock().unwrap();
    let stages = calls.chunk_by(|a, b| a.stage == b.stage);
    let stages: Vec<&Progress> = stages.filter_map(<[Progress]>::last).collect();
    for last in [1, calls.len() / 2, calls.len()] {
        let mut options = MergeOptions::default();
        (options.codec, options.watch) = (MergeCodec::Same, recording(last).0);
        let stopped = two.merge(&options, Vec::new());
        assert!(matches!(stopped, Err(Error::Interrupted)));
    }
    let done: Vec<(u64, u64)> = stages.iter().map(|p| (p.done, p.total)).collect();
    // Each fingerprint is in both segments, which shows when their records have come together.
    assert_eq!(
        done,
        [
            (10_000, 10_000),
            (5000, 5000),
            // The second table is sorted, then written.
            (5000, 5000),
            (5000, 5000),
            (10_000, 10_000)
        ]
    );
}
