//! The samples that are damaged: small files that cover widths, codecs, designs, kinds of ids and pipelines.

use rand::RngExt;
use simidx::design::{COVERING_7, TableDesign};
use simidx::format::SketchParameters;
use simidx::{BuildOptions, Codec, Fingerprint, Width};

use super::sample::{Records, Sample};
use simidx_testkit::encoding::{
    BUCKET_OFFSETS, BUCKETS, GROUPS, ID_ORDER, Layout, NUMBERS, PLACES,
};
use simidx_testkit::{clustered, options, rng, sorted_set, uniform};

/// The contents of a sample in addition to its fingerprints.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Kind {
    NoIds,
    Metadata,
    Numbers,
    GroupedNumbers,
    OrderedNumbers,
    Strings,
    GroupedStrings,
    OrderedStrings,
    Sketches,
    SketchesOfStrings,
}

impl Kind {
    const ALL: [Kind; 10] = [
        Kind::NoIds,
        Kind::Metadata,
        Kind::Numbers,
        Kind::GroupedNumbers,
        Kind::OrderedNumbers,
        Kind::Strings,
        Kind::GroupedStrings,
        Kind::OrderedStrings,
        Kind::Sketches,
        Kind::SketchesOfStrings,
    ];

    fn is_ordered(self) -> bool {
        matches!(self, Kind::OrderedNumbers | Kind::OrderedStrings)
    }

    fn name(self) -> &'static str {
        match self {
            Kind::NoIds => "no ids",
            Kind::Metadata => "a pipeline and metadata",
            Kind::Numbers => "numbers",
            Kind::GroupedNumbers => "grouped numbers",
            Kind::OrderedNumbers => "ordered numbers",
            Kind::Strings => "strings",
            Kind::GroupedStrings => "grouped strings",
            Kind::OrderedStrings => "ordered strings",
            Kind::Sketches => "sketches",
            Kind::SketchesOfStrings => "sketches of strings",
        }
    }

    /// Records of at most `count` fingerprints, of which some have several where they are grouped.
    fn records<F: Fingerprint>(self, count: usize) -> Records<F> {
        let mut grouped: Vec<F> = clustered(count);
        grouped.extend_from_within(..count / 4);
        grouped.extend_from_within(..count / 8);
        let set = sorted_set(&grouped);
        let numbers = |fingerprints: &[F]| -> Vec<(F, u64)> {
            fingerprints.iter().copied().zip(1000..).collect()
        };
        let strings = |fingerprints| -> Vec<(F, String)> {
            let string = |(f, id)| (f, format!("é{id}"));
            numbers(fingerprints).into_iter().map(string).collect()
        };
        match self {
            Kind::NoIds | Kind::Sketches => Records::Plain(grouped),
            Kind::Metadata => Records::Plain(set[..3].to_vec()),
            Kind::Numbers => {
                let ids = [3, 70_000, 9].into_iter().cycle();
                Records::Numbers(set.into_iter().zip(ids).collect())
            }
            Kind::GroupedNumbers | Kind::OrderedNumbers => Records::Numbers(numbers(&grouped)),
            Kind::Strings => {
                let mut records = strings(&set);
                // One that shares nothing with the others.
                records[1].1 = "!".into();
                Records::Strings(records)
            }
            Kind::GroupedStrings | Kind::OrderedStrings | Kind::SketchesOfStrings => {
                Records::Strings(strings(&grouped))
            }
        }
    }
}

/// A file of one design, codec and kind.
pub(crate) fn sample<F: Fingerprint>(
    design: TableDesign,
    codec: Codec,
    kind: Kind,
    count: usize,
) -> Sample<F> {
    let mut options = options(design, 128);
    options.codec = Some(codec);
    options.id_lookup = kind.is_ordered();
    if kind == Kind::Metadata {
        options.pipeline = Some("{\"n\":3}".into());
        for (key, value) in [("a", "1"), ("b", "é")] {
            options.metadata.insert(key, value).expect("it is short");
        }
    }
    if matches!(kind, Kind::Sketches | Kind::SketchesOfStrings) {
        options.sketches = Some(sketches_of(64));
    }
    Sample::new(kind.name(), options, &kind.records(count))
}

fn sketches_of(bits: u32) -> SketchParameters {
    SketchParameters::new(bits, "words:3").expect("there are such sketches")
}

/// Two tables, of the upper half first and of the lower one.
pub(crate) fn halves<F: Fingerprint>() -> TableDesign {
    TableDesign::choose_bands(Width::of::<F>(), 1, 2).expect("there is such a design")
}

/// A design of each of the other constructors.
fn other_designs<F: Fingerprint>() -> [TableDesign; 4] {
    let designs = [
        TableDesign::partition(Width::of::<F>(), 1, 1),
        TableDesign::two_level_bands(Width::of::<F>(), 1),
        TableDesign::covering(Width::of::<F>(), &COVERING_7),
        // Masks of bits here and there, of none and of all.
        TableDesign::from_masks(
            1,
            vec![
                !(F::MAX >> 7),
                F::from_u128(0x9249_0c3a_51f8_6011_8421_77d0_3c0f_a511),
                F::ZERO,
                F::MAX,
            ],
        ),
    ];
    designs.map(|design| design.expect("there is such a design"))
}

/// Small files of one width: every codec with every kind, and every codec with every design, the kinds taking turns.
pub(crate) fn samples<F: Fingerprint>() -> Vec<Sample<F>> {
    let mut samples = Vec::new();
    let first = 2 * (F::WIDTH / 64) as usize;
    let mut kinds = Kind::ALL.into_iter().cycle().skip(first);
    for (i, codec) in Codec::ALL.into_iter().enumerate() {
        for (j, kind) in Kind::ALL.into_iter().enumerate() {
            // Every bit of a kind in one codec; ids look alike in all of them.
            let stride = if i == j % Codec::ALL.len() { 1 } else { 5 };
            samples.push(sample(halves::<F>(), codec, kind, 30).with_stride(stride));
        }
        for design in other_designs::<F>() {
            let kind = kinds.next().expect("they come again and again");
            samples.push(sample(design, codec, kind, 10).with_stride(7));
        }
        // So that no design meets the same kind with each codec.
        kinds.next();
    }
    samples
        .extend([mixed_codecs(), wide_numbers(30, 30), text_pipeline()].map(|s| s.with_stride(5)));
    samples
}

/// Values in clusters of eight, whose neighbours in table 0 are far apart in table 1: a Huffman code is much smaller
/// for the one and not for the other, once there are enough of them for a difference in the number of blocks.
fn mixed_codecs<F: Fingerprint>() -> Sample<F> {
    let high_bits = |value: F| (0..8).map(move |i| value ^ F::from_u128(i) << (F::WIDTH / 2 - 3));
    let sample = |clusters| {
        let fingerprints = uniform::<F>(clusters).into_iter().flat_map(high_bits);
        let records = Records::Plain(fingerprints.collect());
        Sample::new("two codecs", options(halves::<F>(), 128), &records)
    };
    let mut samples = (4..40).map(sample);
    let mixed = samples.find(|sample| sample.name.contains('+'));
    mixed.expect("some number of clusters gives tables of two codecs")
}

/// Explicit numbers of up to 64 bits, in groups if there are more records than fingerprints.
fn wide_numbers<F: Fingerprint>(fingerprints: usize, records: usize) -> Sample<F> {
    let step = u64::MAX / (records as u64 - 1);
    let ids = (0..records as u64).map(|i| u64::MAX - i * step);
    let fingerprints = uniform::<F>(fingerprints).into_iter().cycle();
    let records = Records::Numbers(fingerprints.zip(ids).collect());
    Sample::new("numbers of 64 bits", options(halves::<F>(), 128), &records)
}

/// A pipeline section as programs write it; to this crate it is any UTF-8 text.
fn text_pipeline<F: Fingerprint>() -> Sample<F> {
    let description = r#"{"version":2,"html":"no","normalise":"controls+nfkc+case+space","segment":"words","shingle":1,"fingerprint":"minhash"}"#;
    let mut options = options(halves::<F>(), 128);
    options.pipeline = Some(description.into());
    let records = Kind::NoIds.records(10);
    Sample::new("a text pipeline", options, &records)
}

/// Larger files, each with a section of several pages, so several checksums: numbers, buckets, groups, places and the
/// order of the ids, offsets of buckets. Not every bit of these is flipped, which would be more work than all others are,
/// but every n-th with an odd n, so that all bits of bytes come up.
pub(crate) fn samples_of_several_pages<F: Fingerprint>() -> Vec<Sample<F>> {
    let one_table = || -> BuildOptions {
        let design = TableDesign::partition(Width::of::<F>(), 1, 1);
        options(design.expect("there is such a design"), 128)
    };
    let ordered = || {
        let mut options = one_table();
        options.id_lookup = true;
        options
    };
    let mut rng = rng(0x1d5);
    let mut long = || {
        (0..90)
            .map(|_| rng.random_range('!'..='~'))
            .collect::<String>()
    };
    let fingerprints = || uniform::<F>(20).into_iter().cycle();
    let strings = fingerprints().zip((0..120).map(|_| long())).collect();
    // A repeated number takes no bits.
    let groups = fingerprints().zip([7; 65 * 448 - 1]).collect();
    let descending = fingerprints().zip((0..3000).rev()).collect();
    // Short ones, for there is one offset of some 17 bits for each bucket.
    let digit = |i: u64| (i / 20 % 10).to_string();
    let many = fingerprints().zip((0..40_000).map(digit)).collect();
    let mut samples = vec![
        wide_numbers(20, 520),
        Sample::new("long strings", one_table(), &Records::Strings(strings)),
        Sample::new("large groups", one_table(), &Records::Numbers(groups)),
        Sample::new("a long order", ordered(), &Records::Numbers(descending)),
        Sample::new("many strings", one_table(), &Records::Strings(many)),
    ];
    let mut sketched = one_table();
    sketched.sketches = Some(sketches_of(512));
    let set = Records::Plain(uniform::<F>(140));
    let sketched = Sample::new("sketches on three pages", sketched, &set).with_stride(61);
    let kinds = [
        &[NUMBERS][..],
        &[BUCKETS],
        &[GROUPS],
        &[ID_ORDER],
        &[PLACES, BUCKET_OFFSETS],
    ];
    for (sample, (stride, kinds)) in samples
        .iter_mut()
        .zip([29, 61, 503, 151, 8009].into_iter().zip(kinds))
    {
        sample.stride = stride;
        let layout = Layout::parse(&sample.file);
        for &kind in kinds {
            let payload = layout.payload(&sample.file, kind).len();
            assert!(payload > 4096, "{}: kind {kind}", sample.name);
        }
    }
    assert_eq!(sketched.report.sketch_page_count, 3);
    samples.push(sketched);
    samples
}

/// A file of two key groups and a part of a third.
pub(crate) fn many_blocks() -> Sample<u128> {
    let design = TableDesign::partition(Width::W128, 1, 1).expect("there is such a design");
    let mut options = options(design, 128);
    options.codec = Some(Codec::EliasFano);
    let records = Records::Plain(uniform(5000));
    let sample = Sample::new("many blocks", options, &records).with_stride(100_003);
    assert!(Layout::parse(&sample.file).tables[0].block_count > 512);
    sample
}
