//! A build in little memory gives the same bytes as one in plenty, and keeps to its limit whatever the data.

use proptest::prelude::*;
use rand::SeedableRng;
use rand::rngs::SmallRng;
use rand::seq::SliceRandom;
use simidx::builder::MIN_MEMORY;
use simidx::design::TableDesign;
use simidx::{BuildOptions, Codec, Error, Fingerprint, IdKind, IndexBuilder, Width};
use simidx_testkit::{skewed, thorough};

/// More than fits the least memory, with ids and without.
const COUNT: usize = 3_000_000;

fn options<F: Fingerprint>(
    ids: IdKind,
    memory: Option<u64>,
    folder: &tempfile::TempDir,
) -> BuildOptions {
    let mut options = BuildOptions::default();
    options.design = Some(TableDesign::with_table_count(Width::of::<F>(), 3, 2).unwrap());
    options.ids = ids;
    options.memory = memory;
    options.temp_dir = Some(folder.path().into());
    options
}

/// An index of these fingerprints, with ids that are made of their values, so that order does not matter.
fn build<F: Fingerprint>(values: &[F], options: BuildOptions) -> Vec<u8> {
    let ids = options.ids;
    let mut builder = IndexBuilder::new(Width::of::<F>(), options).unwrap();
    for (i, &value) in values.iter().enumerate() {
        let id = (value.to_u128() as u64).rotate_left(7) % 1000;
        match ids {
            IdKind::None if i % 1000 == 0 => builder
                .extend_from_slice(&values[i..values.len().min(i + 1000)])
                .unwrap(),
            IdKind::None => {}
            IdKind::Number => builder.push_with_id(value, id).unwrap(),
            IdKind::String => builder.push_with_id(value, &format!("id {id}")).unwrap(),
        }
    }
    assert_eq!(builder.record_count(), values.len() as u64);
    let mut file = Vec::new();
    builder.finish(&mut file).unwrap();
    file
}

#[test]
fn little_memory_and_plenty_give_the_same_bytes() {
    let folder = tempfile::tempdir().unwrap();
    for ids in [IdKind::None, IdKind::Number, IdKind::String] {
        let values = skewed("half equal", COUNT);
        let plenty = build(&values, options::<u64>(ids, None, &folder));
        let little = build(&values, options::<u64>(ids, Some(MIN_MEMORY), &folder));
        assert!(plenty == little, "{ids:?}");
        assert_eq!(folder.path().read_dir().unwrap().count(), 0);
    }
}

#[test]
fn order_and_threads_change_no_byte() {
    let folder = tempfile::tempdir().unwrap();
    let mut values = skewed("half equal", COUNT / 4);
    let expected = build(&values, options::<u64>(IdKind::Number, None, &folder));
    for threads in [1, 2, 5] {
        values.shuffle(&mut SmallRng::seed_from_u64(threads));
        let pool = rayon::ThreadPoolBuilder::new()
            .num_threads(threads as usize)
            .build()
            .unwrap();
        for memory in [None, Some(MIN_MEMORY)] {
            let found =
                pool.install(|| build(&values, options::<u64>(IdKind::Number, memory, &folder)));
            assert!(found == expected, "{threads} threads, memory {memory:?}");
        }
    }
}

#[test]
fn builds_in_all_threads_of_a_pool_do_not_wait_for_one_another() {
    use rayon::prelude::*;
    let folder = tempfile::tempdir().unwrap();
    let values = skewed("uniform", 2 * COUNT);
    let expected = build(&values, options::<u64>(IdKind::None, None, &folder));
    let pool = rayon::ThreadPoolBuilder::new()
        .num_threads(2)
        .build()
        .unwrap();
    pool.install(|| {
        (0..2).into_par_iter().for_each(|_| {
            let found = build(
                &values,
                options::<u64>(IdKind::None, Some(MIN_MEMORY), &folder),
            );
            assert!(found == expected);
        });
    });
}

#[test]
fn every_width_and_codec_spills_to_the_same_bytes() {
    fn check<F: Fingerprint>(values: &[u64], codec: Codec) {
        let folder = tempfile::tempdir().unwrap();
        let values: Vec<F> = values
            .iter()
            .map(|&v| F::from_u128(u128::from(v) << 64 | u128::from(v)))
            .collect();
        let (all, one) = ([Codec::Xor, Codec::Gap, Codec::EliasFano], [codec]);
        let codecs = thorough(&all[..], &one).iter().copied();
        for codec in [None].into_iter().chain(codecs.map(Some)) {
            let with = |memory| {
                let mut options = options::<F>(IdKind::None, memory, &folder);
                options.codec = codec;
                build(&values, options)
            };
            assert!(
                with(None) == with(Some(MIN_MEMORY)),
                "{} bits, {codec:?}",
                F::WIDTH
            );
        }
    }
    let values = skewed("one prefix", 2 * COUNT);
    check::<u32>(&values, Codec::Xor);
    check::<u64>(&values[..COUNT], Codec::Gap);
    check::<u128>(&values[..COUNT / 2], Codec::EliasFano);
}

#[test]
fn less_than_the_least_memory_is_refused() {
    let folder = tempfile::tempdir().unwrap();
    let error = IndexBuilder::new(
        Width::W64,
        options::<u64>(IdKind::None, Some(MIN_MEMORY - 1), &folder),
    )
    .unwrap_err();
    match error {
        Error::Budget { needed, given, .. } => {
            assert!(needed >= MIN_MEMORY);
            assert_eq!(given, MIN_MEMORY - 1);
        }
        other => panic!("{other:?}"),
    }
}

#[test]
fn a_missing_temporary_folder_is_an_error_that_names_it() {
    let folder = tempfile::tempdir().unwrap();
    let mut options = options::<u64>(IdKind::None, Some(MIN_MEMORY), &folder);
    options.temp_dir = Some("/no/such/folder".into());
    let mut builder = IndexBuilder::new(Width::W64, options).unwrap();
    let error = builder
        .extend_from_slice(&skewed("uniform", COUNT))
        .unwrap_err()
        .to_string();
    assert!(
        error.starts_with("temporary file in /no/such/folder: "),
        "{error}"
    );
}

#[test]
fn records_that_are_refused_do_not_count_and_lost_ones_end_the_build() {
    let folder = tempfile::tempdir().unwrap();
    let mut builder =
        IndexBuilder::new(Width::W64, options::<u64>(IdKind::String, None, &folder)).unwrap();
    builder.push_with_id(7_u64, "a").unwrap();
    assert!(builder.push_with_id(8_u64, &"x".repeat(70_000)).is_err());
    assert!(builder.push(9_u64).is_err() && builder.extend_from_slice(&[9_u64]).is_err());
    assert!(builder.push_with_id(9_u64, 9).is_err());
    assert_eq!(builder.record_count(), 1);
    let mut file = Vec::new();
    assert_eq!(builder.finish(&mut file).unwrap().record_count, 1);
    assert!(
        simidx_testkit::open::<u64>(file)
            .verify(&Default::default())
            .unwrap()
            .is_sound()
    );

    let mut options = options::<u64>(IdKind::None, Some(MIN_MEMORY), &folder);
    options.temp_dir = Some("/no/such/folder".into());
    let mut builder = IndexBuilder::new(Width::W64, options).unwrap();
    assert!(
        builder
            .extend_from_slice(&skewed("uniform", COUNT))
            .is_err()
    );
    let error = builder.finish(Vec::new()).unwrap_err();
    assert_eq!(error.to_string(), "records were lost when they were added");
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(16))]

    #[test]
    fn extending_is_pushing(values in prop::collection::vec(any::<u32>(), 0..300), cut in 0usize..300) {
        let folder = tempfile::tempdir().unwrap();
        let mut builder = IndexBuilder::new(Width::W32, options::<u32>(IdKind::None, None, &folder)).unwrap();
        let (first, second) = values.split_at(cut.min(values.len()));
        builder.extend_from_slice(first).unwrap();
        for &value in second {
            builder.push(value).unwrap();
        }
        let mut file = Vec::new();
        builder.finish(&mut file).unwrap();
        prop_assert_eq!(file, build(&values, options::<u32>(IdKind::None, None, &folder)));
    }
}
