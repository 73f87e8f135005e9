//! Options and records that cannot make an index are refused with a message that says why.

use simidx::builder::BuildError;
use simidx::design::{Coverage, MAX_DISTANCE, MAX_TABLE_COUNT, PlanRequest, TableDesign};
use simidx::format::{MAX_BLOCK_SIZE, MAX_ID_LEN, MIN_BLOCK_SIZE};
use simidx::{BuildOptions, Error, Fingerprint, IdKind, Index, IndexBuilder, Storage, Width};

/// The message with which options are refused.
fn refusal<F: Fingerprint>(options: BuildOptions) -> String {
    match IndexBuilder::new(Width::of::<F>(), options) {
        Err(Error::Options(error)) => error.to_string(),
        Err(error) => panic!("refused as something else: {error}"),
        Ok(_) => panic!("the options were accepted"),
    }
}

fn with_block_size(block_size: u32) -> BuildOptions {
    let mut options = BuildOptions::default();
    options.block_size = block_size;
    options
}

fn with_distance(max_distance: u32) -> BuildOptions {
    let mut options = BuildOptions::default();
    options.max_distance = max_distance;
    options
}

fn with_pipeline(len: usize) -> BuildOptions {
    let mut options = BuildOptions::default();
    options.pipeline = Some("p".repeat(len));
    options
}

#[test]
fn block_sizes_out_of_range_are_refused() {
    for size in [
        0,
        1,
        64,
        127,
        129,
        1000,
        1023,
        8191,
        16_384,
        1 << 31,
        u32::MAX,
    ] {
        let message = refusal::<u64>(with_block_size(size));
        assert!(
            message.contains("power of two from 128 to 8192"),
            "{message}"
        );
        assert!(message.contains(&size.to_string()), "{message}");
    }
}

#[test]
fn block_sizes_in_range_are_taken() {
    let mut size = MIN_BLOCK_SIZE;
    while size <= MAX_BLOCK_SIZE {
        let index =
            simidx_testkit::open::<u64>(simidx_testkit::build(with_block_size(size), &[1_u64, 2]));
        assert_eq!(index.block_size(), size);
        size *= 2;
    }
}

#[test]
fn distances_above_the_largest_are_refused() {
    for distance in [MAX_DISTANCE + 1, 20, 64, 255, 256, u32::MAX] {
        for message in [
            refusal::<u32>(with_distance(distance)),
            refusal::<u64>(with_distance(distance)),
            refusal::<u128>(with_distance(distance)),
        ] {
            assert!(
                message.contains(&format!("at most {MAX_DISTANCE}, not {distance}")),
                "{message}"
            );
        }
    }
}

#[test]
fn a_builder_takes_what_fits_its_width() {
    let mut builder = IndexBuilder::new(Width::W32, BuildOptions::default()).unwrap();
    builder.push(7_u128).unwrap();
    for refused in [
        builder.push(1_u64 << 32),
        builder.extend_from_slice(&[1_u64]),
        builder.extend_from_slice(&[1_u128]),
    ] {
        assert!(matches!(
            refused,
            Err(Error::WidthMismatch { index: 32, .. })
        ));
    }
    builder.extend_from_slice(&[42_u32]).unwrap();
    let mut file = Vec::new();
    builder.finish(&mut file).unwrap();
    assert!(file == simidx_testkit::build(BuildOptions::default(), &[7_u32, 42]));
}

#[test]
fn a_design_for_another_width_is_refused() {
    let mut options = BuildOptions::default();
    options.design = Some(TableDesign::partition(Width::W64, 3, 2).unwrap());
    assert!(options.check().is_ok());
    let refused = IndexBuilder::new(Width::W32, options);
    assert!(matches!(
        refused,
        Err(Error::WidthMismatch {
            index: 32,
            requested: 64
        })
    ));
}

#[test]
fn distances_up_to_the_largest_are_taken() {
    for distance in 0..=MAX_DISTANCE {
        let index =
            simidx_testkit::open::<u32>(simidx_testkit::build(with_distance(distance), &[1u32]));
        assert_eq!(index.max_distance(), distance);
    }
}

#[test]
fn a_design_for_another_distance_is_refused() {
    for distance in [0, 1, 2, 4, 7] {
        let mut options = with_distance(3);
        options.design =
            Some(TableDesign::choose_bands(Width::W64, distance, distance + 1).unwrap());
        let message = refusal::<u64>(options);
        assert!(
            message.contains(&format!("for distance {distance}, not 3")),
            "{message}"
        );
    }
}

#[test]
fn whatever_design_is_accepted_makes_a_file_that_opens() {
    // An empty mask covers any distance, those that no file can state included.
    for distance in [0, 7, 8, 31, 32, 33, 255, 256, 300, u32::MAX] {
        let Ok(design) = TableDesign::from_masks(distance, vec![0u32]) else {
            assert!(distance > MAX_DISTANCE);
            continue;
        };
        let mut options = with_distance(distance);
        options.design = Some(design);
        let Ok(mut builder) = IndexBuilder::new(Width::W32, options) else {
            assert!(distance > MAX_DISTANCE);
            continue;
        };
        builder.push(1_u32).unwrap();
        let mut file = Vec::new();
        builder.finish(&mut file).unwrap();
        let index = Index::<u32>::from_bytes(Storage::from(file))
            .unwrap_or_else(|error| panic!("distance {distance}: {error}"));
        assert_eq!(index.max_distance(), distance);
    }
}

#[test]
fn a_pipeline_of_no_or_too_many_bytes_is_refused() {
    for len in [0, 65_537, 200_000] {
        let message = refusal::<u64>(with_pipeline(len));
        assert!(
            message.contains(&format!("1 to 65536 bytes, not {len}")),
            "{message}"
        );
    }
}

#[test]
fn a_pipeline_of_allowed_length_comes_back() {
    for len in [1, 63, 64, 65, 65_536] {
        let index =
            simidx_testkit::open::<u64>(simidx_testkit::build(with_pipeline(len), &[1_u64]));
        assert_eq!(index.pipeline(), Some("p".repeat(len).as_str()));
    }
    let index =
        simidx_testkit::open::<u64>(simidx_testkit::build(BuildOptions::default(), &[1u64]));
    assert_eq!(index.pipeline(), None);
}

#[test]
fn a_string_id_that_is_too_long_is_refused_and_not_added() {
    let mut options = BuildOptions::default();
    options.ids = IdKind::String;
    let mut builder = IndexBuilder::new(Width::W64, options).unwrap();
    for len in [MAX_ID_LEN + 1, 1 << 17] {
        match builder.push_with_id(1_u64, &"x".repeat(len)) {
            Err(error @ Error::Build(BuildError::IdTooLong { .. })) => {
                let message = error.to_string();
                assert!(message.contains(&len.to_string()), "{message}");
                assert!(message.contains("65535"), "{message}");
            }
            other => panic!("{other:?}"),
        }
    }
    assert_eq!(builder.record_count(), 0);
    assert!(builder.push_with_id(1_u64, &"x".repeat(MAX_ID_LEN)).is_ok());
    assert_eq!(builder.record_count(), 1);
}

#[test]
fn hostile_ids_come_back() {
    let mut options = BuildOptions::default();
    options.ids = IdKind::String;
    let mut builder = IndexBuilder::new(Width::W64, options).unwrap();
    let hostile = ["\t", "\n", "\r", "\0", "\u{1b}[31m", "\\", " ", "\u{202e}"];
    for id in hostile {
        builder.push_with_id(1_u64, id).unwrap();
    }
    let refused = builder.push_with_id(1_u64, "");
    assert!(matches!(refused, Err(Error::Build(BuildError::EmptyId))));
    assert_eq!(builder.record_count(), hostile.len() as u64);
    let mut file = Vec::new();
    builder.finish(&mut file).unwrap();
    let index = simidx_testkit::open::<u64>(file);
    let found = index.query(1, 0).unwrap();
    let ids = index
        .ids(&found[0])
        .unwrap()
        .map(|id| id.unwrap().to_string());
    let mut expected = hostile;
    expected.sort_unstable();
    assert!(ids.eq(expected));
    // An empty one, which the builder refuses, is found in a file that has it.
    let stored = simidx_testkit::manifest::folder(1).join("good-one-empty-string.simidx");
    let stored = std::fs::read(stored).unwrap();
    let index = simidx_testkit::open::<u64>(stored);
    assert_eq!(index.ranks_of_id("").unwrap(), [0]);
    assert_eq!(
        index.fingerprints_of_id("").unwrap(),
        [0xdead_beef_0bad_cafe]
    );
}

#[test]
fn numbers_of_tables_out_of_range_are_refused() {
    assert!(TableDesign::from_masks(0, Vec::<u64>::new()).is_err());
    assert!(TableDesign::from_masks(0, vec![u64::MAX; MAX_TABLE_COUNT + 1]).is_err());
    let most = TableDesign::from_masks(0, vec![u64::MAX; MAX_TABLE_COUNT]).unwrap();
    let index = simidx_testkit::open::<u64>(simidx_testkit::build(
        simidx_testkit::options(most, 128),
        &[1u64, 2, 3],
    ));
    assert_eq!(index.table_count(), MAX_TABLE_COUNT);
    assert_eq!(index.query(2, 0).unwrap().len(), 1);
}

#[test]
fn masks_that_miss_a_pair_without_flips_make_a_design() {
    let masks = vec![0xffff_0000_0000_0000u64, 0x0000_ffff_ffff_ffff];
    let design = TableDesign::from_masks(2, masks.clone()).unwrap();
    assert_eq!(design.masks(), &masks.into());
    assert!(matches!(design.coverage(2), Coverage::Misses(_)));
}

#[test]
fn an_unknown_number_of_tables_is_refused_with_those_that_there_are() {
    let message = TableDesign::with_table_count(Width::W64, 3, 7)
        .unwrap_err()
        .to_string();
    assert!(
        message.contains("1, 2, 3, 4, 6, 8, 10, 11, 14, 16, 20, 35"),
        "{message}"
    );
    assert!(TableDesign::with_table_count(Width::W64, 13, 9).is_err());
    assert!(PlanRequest::new(1, 13).design().is_err());
    assert!(TableDesign::two_level_bands(Width::W64, 13).is_err());
}

#[test]
fn an_index_of_another_width_is_refused_by_its_widths() {
    let file = simidx_testkit::build(BuildOptions::default(), &[1u64]);
    match Index::<u32>::from_bytes(file.clone()) {
        Err(Error::WidthMismatch { index, requested }) => assert_eq!((index, requested), (64, 32)),
        other => panic!("{:?}", other.map(|_| ())),
    }
    assert!(Index::<u128>::from_bytes(file.clone()).is_err());
    assert!(Index::<u64>::from_bytes(file).is_ok());
}
