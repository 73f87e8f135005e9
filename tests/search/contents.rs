//! The content id of a file, which no option changes, and the metadata of its users.

use proptest::prelude::*;
use proptest::test_runner::RngSeed;
use rand::seq::SliceRandom;
use simidx::Set;
use simidx::builder::MIN_MEMORY;
use simidx::design::TableDesign;
use simidx::format::{ContentId, Metadata};
use simidx::merge::MergeOptions;
use simidx::{BuildOptions, Codec, Fingerprint, IdKind, Index, IndexBuilder, Width};
use simidx_testkit::{build, build_numbers, build_strings, open, rng, sized};

/// Records of each kind of ids.
#[derive(Debug, Clone)]
enum Records<F> {
    Plain(Vec<F>),
    Numbers(Vec<(F, u64)>),
    Strings(Vec<(F, String)>),
}

impl<F: Fingerprint> Records<F> {
    fn build(&self, options: BuildOptions) -> Index<F> {
        open(match self {
            Records::Plain(records) => build(options, records),
            Records::Numbers(records) => build_numbers(options, records),
            Records::Strings(records) => build_strings(options, records),
        })
    }

    fn shuffled(&self) -> Self {
        let mut records = self.clone();
        match &mut records {
            Records::Plain(records) => records.shuffle(&mut rng(1)),
            Records::Numbers(records) => records.shuffle(&mut rng(1)),
            Records::Strings(records) => records.shuffle(&mut rng(1)),
        }
        records
    }

    /// The first so many, and the rest.
    fn split(&self, at: usize) -> [Self; 2] {
        match self {
            Records::Plain(records) => {
                let (first, rest) = records.split_at(at);
                [
                    Records::Plain(first.to_vec()),
                    Records::Plain(rest.to_vec()),
                ]
            }
            Records::Numbers(records) => {
                let (first, rest) = records.split_at(at);
                [
                    Records::Numbers(first.to_vec()),
                    Records::Numbers(rest.to_vec()),
                ]
            }
            Records::Strings(records) => {
                let (first, rest) = records.split_at(at);
                [
                    Records::Strings(first.to_vec()),
                    Records::Strings(rest.to_vec()),
                ]
            }
        }
    }

    /// Each kind with these fingerprints.
    fn all(fingerprints: &[F]) -> [Self; 3] {
        let numbers = fingerprints.iter().copied().zip(7..);
        let strings = numbers.clone().map(|(f, id)| (f, format!("id {id:09}")));
        [
            Records::Plain(fingerprints.to_vec()),
            Records::Numbers(numbers.clone().collect()),
            Records::Strings(strings.collect()),
        ]
    }
}

/// Options that make different files of the same records.
fn many_options<F: Fingerprint>() -> Vec<BuildOptions> {
    let mut all = vec![BuildOptions::default()];
    let designs = [
        TableDesign::partition(Width::of::<F>(), 3, 1),
        TableDesign::choose_bands(Width::of::<F>(), 2, 3),
        TableDesign::two_level_bands(Width::of::<F>(), 1),
    ];
    for (design, codec) in designs.into_iter().zip(Codec::ALL) {
        for (block_size, id_lookup) in [(128, true), (4096, false)] {
            let mut options = simidx_testkit::options(design.clone().unwrap(), block_size);
            options.codec = Some(codec);
            options.id_lookup = id_lookup;
            options.memory = Some(MIN_MEMORY);
            options.pipeline = id_lookup.then(|| "{}".into());
            all.push(options);
        }
    }
    all
}

fn content_id<F: Fingerprint>(records: &Records<F>) -> ContentId {
    records.build(BuildOptions::default()).content_id()
}

fn check_options<F: Fingerprint>() {
    let fingerprints = simidx_testkit::clustered::<F>(sized(1500));
    let mut seen = Vec::new();
    for records in Records::all(&fingerprints) {
        let expected = content_id(&records);
        assert!(!seen.contains(&expected), "other ids, another identifier");
        seen.push(expected);
        for (i, options) in many_options::<F>().into_iter().enumerate() {
            let index = records.shuffled().build(options);
            assert_eq!(index.content_id(), expected, "options {i}");
            assert!(index.verify(&Default::default()).unwrap().is_sound());
        }
    }
}

#[test]
#[cfg_attr(miri, ignore = "takes minutes")]
fn no_option_and_no_order_changes_the_identifier() {
    check_options::<u32>();
    check_options::<u64>();
    check_options::<u128>();
}

fn merged<F: Fingerprint>(parts: &[Records<F>]) -> Index<F> {
    let mut options = BuildOptions::default();
    options.design = Some(TableDesign::partition(Width::of::<F>(), 3, 4).unwrap());
    let parts = parts.iter().map(|records| records.build(options.clone()));
    let segments = Set::new(parts.collect::<Vec<_>>()).unwrap();
    let mut file = Vec::new();
    segments.merge(&MergeOptions::default(), &mut file).unwrap();
    open(file)
}

#[test]
#[cfg_attr(miri, ignore = "takes minutes")]
fn a_merge_of_parts_has_the_identifier_of_the_whole() {
    let fingerprints = simidx_testkit::uniform::<u64>(2000);
    for records in Records::all(&fingerprints) {
        let parts = records.split(700);
        let [first, second] = [0, 1].map(|i| content_id(&parts[i]).to_u128());
        let whole = content_id(&records);
        assert_eq!(first.wrapping_add(second), whole.to_u128());
        let index = merged(&parts);
        assert_eq!(index.content_id(), whole);
        assert!(index.verify(&Default::default()).unwrap().is_sound());
    }
}

#[test]
fn fingerprints_without_ids_count_once_and_records_each() {
    let once = content_id(&Records::Plain(vec![1u64, 2]));
    assert_eq!(content_id(&Records::Plain(vec![1u64, 2, 2, 1])), once);
    let index = merged(&[Records::Plain(vec![1u64, 2]), Records::Plain(vec![2, 1])]);
    assert_eq!(index.content_id(), once);
    let record = Records::Numbers(vec![(1u64, 7)]);
    let twice = Records::Numbers(vec![(1u64, 7), (1, 7)]);
    assert_ne!(content_id(&record), content_id(&twice));
    assert_eq!(
        merged(&[record.clone(), record]).content_id(),
        content_id(&twice)
    );
    assert_eq!(content_id(&Records::<u64>::Plain(Vec::new())).to_u128(), 0);
}

/// A file of nothing but metadata.
fn with_metadata(metadata: &Metadata) -> Index<u64> {
    let mut options = BuildOptions::default();
    options.ids = IdKind::Number;
    options.metadata = metadata.clone();
    let mut file = Vec::new();
    IndexBuilder::new(Width::W64, options)
        .unwrap()
        .finish(&mut file)
        .unwrap();
    open(file)
}

#[test]
fn as_much_metadata_as_there_can_be_comes_back() {
    let mut metadata = Metadata::default();
    metadata.insert("key", &"v".repeat((1 << 20) - 8)).unwrap();
    assert!(metadata.insert("k", "").is_err(), "not a byte more");
    let index = with_metadata(&metadata);
    assert_eq!(*index.metadata(), metadata);
    assert!(index.verify(&Default::default()).unwrap().is_sound());
    assert!(with_metadata(&Metadata::default()).metadata().is_empty());
}

proptest! {
    #![proptest_config(ProptestConfig {
        cases: sized(100) as u32,
        rng_seed: RngSeed::Fixed(0xc0de),
        failure_persistence: None,
        ..ProptestConfig::default()
    })]

    #[test]
    #[cfg_attr(miri, ignore = "takes minutes")]
    fn metadata_come_back(
        entries in prop::collection::btree_map(".{1,60}", ".{0,300}", 0..12),
    ) {
        let mut metadata = Metadata::default();
        for (key, value) in &entries {
            metadata.insert(key, value).unwrap();
        }
        let index = with_metadata(&metadata);
        let read = index.metadata().iter().map(|(k, v)| (k.to_owned(), v.to_owned()));
        prop_assert!(read.eq(entries.clone()));
        for (key, value) in &entries {
            prop_assert_eq!(index.metadata().get(key), Some(&value[..]));
        }
    }

    #[test]
    #[cfg_attr(miri, ignore = "takes minutes")]
    fn merges_of_any_parts_have_the_identifier_of_all_records(
        records in prop::collection::vec((0u32..500, "[a-c]{1,3}"), 2..200),
        part in any::<prop::sample::Index>(),
    ) {
        let at = part.index(records.len());
        let records = Records::Strings(records);
        let index = merged(&records.split(at));
        prop_assert_eq!(index.content_id(), content_id(&records));
        prop_assert!(index.verify(&Default::default()).unwrap().is_sound());
    }
}
