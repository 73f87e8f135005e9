//! Sketches in the file: one for each record in its place, whatever the memory, the threads and the order, and after
//! merges.

use simidx::Set;
use simidx::builder::{BuildError, MIN_MEMORY};
use simidx::format::SketchParameters;
use simidx::merge::MergeOptions;
use simidx::set::Exclusions;
use simidx::{
    BuildOptions, Error, Fingerprint, Id, IdBuf, IdKind, Index, IndexBuilder, Storage, Width,
};
use simidx_testkit::encoding::{Layout, SKETCHES};
use simidx_testkit::open_set;
use simidx_testkit::sketches::SketchSection;

const FEATURES: &str = "words:3 html:no";

/// A record: fingerprint, id, sketch.
type Record<F> = (F, u64, Vec<u64>);

/// Records of which some have equal fingerprints, equal ids or both.
fn records<F: Fingerprint>(numbers: std::ops::Range<u64>, words: u64) -> Vec<Record<F>> {
    let mixed = |x: u64| {
        (x ^ x >> 31)
            .wrapping_mul(0x9e37_79b9_7f4a_7c15)
            .rotate_left(29)
    };
    let record = |i: u64| {
        let fingerprint = F::from_u128(u128::from(mixed(i % 700) >> 8) << 64 >> (128 - F::WIDTH));
        let sketch = (0..words).map(|word| mixed(mixed(i / 2) + word));
        (fingerprint, i % 900 % 77, sketch.collect())
    };
    numbers.map(record).collect()
}

fn name(id: u64) -> String {
    // One is the start of another, and their lengths differ.
    "a".repeat(id as usize % 30) + ["", "\0", "b"][id as usize % 3] + &(id / 40).to_string()
}

fn options(ids: IdKind, words: u64, memory: Option<u64>) -> BuildOptions {
    let mut options = BuildOptions::default();
    options.ids = ids;
    options.memory = memory;
    options.sketches = Some(SketchParameters::new(64 * words as u32, FEATURES).unwrap());
    options
}

fn build<F: Fingerprint>(records: &[Record<F>], options: BuildOptions) -> Vec<u8> {
    let ids = options.ids;
    let mut builder = IndexBuilder::new(Width::of::<F>(), options).unwrap();
    for (fingerprint, id, sketch) in records {
        let name = name(*id);
        let id = match ids {
            IdKind::None => None,
            IdKind::Number => Some(Id::Number(*id)),
            IdKind::String => Some(Id::String(&name)),
        };
        let pushed = builder.push_with_sketch(*fingerprint, id, sketch);
        pushed.unwrap();
    }
    let mut file = Vec::new();
    builder.finish(&mut file).unwrap();
    file
}

fn bytes(sketch: &[u64]) -> Vec<u8> {
    sketch.iter().flat_map(|word| word.to_le_bytes()).collect()
}

/// Returns the expected sketches of a file, by sorting.
fn expected<F: Fingerprint>(records: &[Record<F>], ids: IdKind) -> Vec<Vec<u8>> {
    let key = |(fingerprint, id, sketch): &Record<F>| {
        let id = match ids {
            IdKind::None => (0, String::new()),
            IdKind::Number => (*id, String::new()),
            IdKind::String => (0, name(*id)),
        };
        (*fingerprint, id, bytes(sketch))
    };
    let mut keys: Vec<_> = records.iter().map(key).collect();
    keys.sort();
    if ids == IdKind::None {
        keys.dedup_by_key(|(fingerprint, ..)| *fingerprint);
    }
    keys.into_iter().map(|(_, _, sketch)| sketch).collect()
}

fn check<F: Fingerprint>(ids: IdKind, words: u64) {
    let records = records::<F>(0..3000, words);
    let file = build(&records, options(ids, words, None));
    let layout = Layout::parse(&file);
    let section = layout.bytes(&file, SKETCHES, 0);
    let expected = expected(&records, ids);
    assert!(
        section == SketchSection::new(FEATURES, &expected).bytes(),
        "{ids:?}, {words}"
    );
    // All else is as it is without sketches.
    let index = Index::<F>::from_bytes(Storage::copy(&file)).unwrap();
    assert!(index.verify(&Default::default()).unwrap().is_sound());
    let mut without = options(ids, words, None);
    without.sketches = None;
    let mut builder = IndexBuilder::new(Width::of::<F>(), without).unwrap();
    for (fingerprint, id, _) in &records {
        let pushed = match ids {
            IdKind::None => builder.push(*fingerprint),
            IdKind::Number => builder.push_with_id(*fingerprint, *id),
            IdKind::String => builder.push_with_id(*fingerprint, &name(*id)),
        };
        pushed.unwrap();
    }
    let mut other = Vec::new();
    builder.finish(&mut other).unwrap();
    assert!(layout.find_section(SKETCHES, 0).is_some());
    let before = layout.section(SKETCHES, 0).offset;
    let plain = Layout::parse(&other);
    let end = plain
        .sections
        .iter()
        .map(|s| s.offset + s.len)
        .max()
        .unwrap();
    assert!(file[..end] == other[..end] && end.next_multiple_of(64) == before);
    assert!(
        simidx_testkit::open::<F>(other)
            .sketches()
            .unwrap()
            .is_none()
    );
}

#[test]
fn sketches_are_in_the_order_of_the_records() {
    for ids in IdKind::ALL {
        for words in [1, 3, 8] {
            check::<u64>(ids, words);
        }
        check::<u32>(ids, 4);
        check::<u128>(ids, 4);
    }
}

#[test]
fn records_lead_to_ranks_and_ids() {
    let records = records::<u64>(0..3000, 2);
    for ids in IdKind::ALL {
        let index = simidx_testkit::open::<u64>(build(&records, options(ids, 2, None)));
        let mut next = 0;
        for (rank, fingerprint) in index.iter().enumerate() {
            let fingerprint = fingerprint.unwrap();
            let of_rank: Vec<IdBuf> = index
                .ids_of(fingerprint)
                .unwrap()
                .map(Result::unwrap)
                .collect();
            // Without ids, a record is a fingerprint.
            for i in 0..of_rank.len().max(1) {
                assert_eq!(index.rank_of_record(next).unwrap(), rank as u64);
                let id = index.id_of_record(next).unwrap();
                assert_eq!(id.as_ref(), of_rank.get(i));
                next += 1;
            }
        }
        let count = index.sketches().unwrap().unwrap().len();
        assert_eq!(next, count);
        assert!(index.rank_of_record(count).is_err() && index.id_of_record(count).is_err());
    }
}

#[test]
fn memory_order_and_threads_change_no_byte() {
    let mut records = records::<u64>(0..200_000, 8);
    for ids in IdKind::ALL {
        let plenty = build(&records, options(ids, 8, None));
        let len = records.len();
        records.rotate_left(len / 3);
        records.reverse();
        for threads in [1, 3] {
            let pool = rayon::ThreadPoolBuilder::new()
                .num_threads(threads)
                .build()
                .unwrap();
            // 18 MB of records in 8 MiB.
            let little = pool.install(|| build(&records, options(ids, 8, Some(MIN_MEMORY))));
            assert!(plenty == little, "{ids:?}, {threads}");
        }
    }
}

#[test]
fn a_merge_carries_sketches_along() {
    let all = records::<u64>(0..3000, 4);
    for ids in IdKind::ALL {
        let parts = [&all[..1000], &all[1000..1500], &all[1500..]];
        let file = |part| build::<u64>(part, options(ids, 4, None));
        let segments = open_set(parts.map(file));
        let mut file = Vec::new();
        let merged = segments.merge(&MergeOptions::default(), &mut file).unwrap();
        assert_eq!(merged.sketches.unwrap().bits(), 256);
        let mut expected = options(ids, 4, None);
        expected.design = Some(largest_design(&segments));
        assert!(file == build(&all, expected), "{ids:?}");
    }
}

fn largest_design(segments: &Set) -> simidx::design::TableDesign {
    let largest = segments.segments().rev().max_by_key(|s| s.len());
    let tables = largest.unwrap().summary().tables.into_iter();
    let masks: Vec<u64> = tables.map(|table| table.prefix_mask as u64).collect();
    simidx::design::TableDesign::from_masks(3, masks).unwrap()
}

#[test]
fn a_merge_leaves_out_the_sketches_of_what_it_leaves_out() {
    let all = records::<u64>(0..3000, 4);
    let (first, second) = all.split_at(1200);
    for ids in IdKind::ALL {
        let file = |part| build::<u64>(part, options(ids, 4, None));
        let segments = open_set([first, second].map(file));
        let mut merge_options = MergeOptions::default();
        let (everywhere, in_first) = (all[5].0, all[20].0);
        merge_options.exclusions.add_fingerprint(everywhere);
        let mut own = Exclusions::default();
        own.add_fingerprint(in_first);
        merge_options.segment_exclusions.insert(0, own);
        let mut gone = |id: u64| match ids {
            IdKind::None => {}
            IdKind::Number => merge_options.exclusions.add_number(id).unwrap(),
            IdKind::String => merge_options.exclusions.add_string(&name(id)).unwrap(),
        };
        gone(33);
        let mut file = Vec::new();
        segments.merge(&merge_options, &mut file).unwrap();
        let numbered = all.iter().enumerate();
        let is_gone = |id: u64| match ids {
            IdKind::None => false,
            IdKind::Number => id == 33,
            // Several numbers have one name.
            IdKind::String => name(id) == name(33),
        };
        let stays = |(number, record): &(usize, &Record<u64>)| {
            record.0 != everywhere
                && (*number >= 1200 || record.0 != in_first)
                && !is_gone(record.1)
        };
        let kept: Vec<Record<u64>> = numbered.filter(stays).map(|(_, r)| r.clone()).collect();
        assert!(kept.len() < all.len() - 3);
        let mut expected = options(ids, 4, None);
        expected.design = Some(largest_design(&segments));
        let expected = build(&kept, expected);
        let sketches = |file: &[u8]| Layout::parse(file).bytes(file, SKETCHES, 0).to_vec();
        assert!(sketches(&file) == sketches(&expected), "{ids:?}");
        assert!(
            simidx_testkit::open::<u64>(file)
                .verify(&Default::default())
                .unwrap()
                .is_sound()
        );
    }
}

#[test]
fn a_merge_of_different_sketches_has_none() {
    let all = records::<u64>(0..100, 2);
    let with = |features| {
        let mut options = options(IdKind::Number, 2, None);
        options.sketches = Some(SketchParameters::new(128, features).unwrap());
        build(&all, options)
    };
    for (one, other, is_kept) in [("a", "b", false), ("a", "a", true)] {
        let segments = open_set([with(one), with(other)]);
        let mut file = Vec::new();
        let merged = segments.merge(&MergeOptions::default(), &mut file).unwrap();
        assert_eq!(merged.sketches.is_some(), is_kept);
        let index = simidx_testkit::open::<u64>(file);
        assert_eq!(index.sketches().unwrap().is_some(), is_kept);
        assert_eq!(segments.sketch_parameters().is_ok(), is_kept);
    }
}

#[test]
fn records_must_have_the_sketches_that_the_index_stores() {
    let mut with = IndexBuilder::new(Width::W64, options(IdKind::None, 2, None)).unwrap();
    let missing = |error| matches!(error, Error::Build(BuildError::MissingSketch));
    assert!(missing(with.push(1_u64).unwrap_err()));
    assert!(missing(with.extend_from_slice(&[1_u64]).unwrap_err()));
    let wrong = with.push_with_sketch(1_u64, None, &[1]).unwrap_err();
    assert_eq!(
        wrong.to_string(),
        "a sketch has 64 bits, and the index stores sketches of 128"
    );
    let number = Some(Id::Number(2));
    assert!(with.push_with_sketch(1_u64, number, &[1, 2]).is_err());
    assert_eq!(with.record_count(), 0);
    let mut with = IndexBuilder::new(Width::W64, options(IdKind::String, 2, None)).unwrap();
    assert!(missing(with.push_with_id(1_u64, "x").unwrap_err()));
    assert!(with.push_with_sketch(1_u64, None, &[1, 2]).is_err());
    let long = "x".repeat(65_536);
    let long = Some(Id::String(&long));
    assert!(with.push_with_sketch(1_u64, long, &[1, 2]).is_err());
    let mut without = IndexBuilder::new(Width::W64, BuildOptions::default()).unwrap();
    let wrong = without.push_with_sketch(1_u64, None, &[1]).unwrap_err();
    assert_eq!(
        wrong.to_string(),
        "a sketch has 64 bits, and the index stores no sketches"
    );
}

#[test]
fn records_that_are_left_out_are_not_shown() {
    let all = records::<u64>(0..300, 1);
    let segments = open_set([build(&all, options(IdKind::Number, 1, None))]);
    let mut exclusions = Exclusions::default();
    exclusions.add_number(12).unwrap();
    exclusions.add_fingerprint(all[7].0);
    let shown = segments.clone().without(&exclusions).unwrap();
    let index = segments.index::<u64>(0).unwrap();
    let mut hidden = 0;
    for record in 0..index.record_count() {
        assert!(segments.shows_record(0, record).unwrap());
        let id = index.id_of_record(record).unwrap().unwrap();
        let rank = index.rank_of_record(record).unwrap();
        let is_hidden =
            id.as_id() == Id::Number(12) || index.fingerprint(rank).unwrap() == Some(all[7].0);
        hidden += u32::from(is_hidden);
        assert_eq!(shown.shows_record(0, record).unwrap(), !is_hidden);
    }
    assert!(hidden > 2);
    for set in [&segments, &shown] {
        assert!(set.shows_record(0, index.record_count()).is_err());
        assert!(set.shows_record(1, 0).is_err());
    }
}

#[test]
fn sketches_that_are_not_there_are_an_error() {
    let mut builder = IndexBuilder::new(Width::W64, BuildOptions::default()).unwrap();
    builder.push(7_u64).unwrap();
    let mut file = Vec::new();
    builder.finish(&mut file).unwrap();
    let set = Set::from_bytes(file).unwrap();
    for segment in [0, 1] {
        let read = set.read_sketches(segment, 0..1, &mut Vec::new());
        assert!(matches!(read, Err(Error::Options(_))), "{read:?}");
    }
}
