//! Operations on whole sets over damaged files: pairs, clusters, many queries and merging.

use std::fmt::Debug;

use simidx::Set;
use simidx::batch::{ClusterOptions, JoinOptions, JoinStrategy, PairOptions};
use simidx::merge::MergeOptions;
use simidx::{Codec, Error, Fingerprint, Index, Storage};

use super::sample::{Sample, answer};
use super::samples::{Kind, halves, sample};
use simidx_testkit::thorough;

/// The results of the operations on whole sets for an index, each separately.
#[derive(Debug, PartialEq)]
struct Batch {
    pairs: Option<Vec<(u128, u128)>>,
    clusters: Option<Vec<Vec<u128>>>,
    streamed: Option<Vec<(usize, u128)>>,
    probed: Option<Vec<(usize, u128)>>,
    merged: Option<Vec<u8>>,
}

impl Batch {
    fn of<F: Fingerprint>(file: &[u8], queries: &[F], what: &str) -> Option<Self> {
        let index = answer(Index::<F>::from_bytes(Storage::copy(file)), what)?;
        let segments = Set::new([index]).expect("one segment goes with itself");
        let mut options = PairOptions::default();
        options.sorted = true;
        let mut pairs = Vec::new();
        let paired = segments.pairs(&options, |pair| {
            pairs.push((pair.smaller, pair.larger));
            Ok(())
        });
        let mut clusters = Vec::new();
        let clustered = segments.clusters(&ClusterOptions::default(), |cluster| {
            clusters.push(cluster.fingerprints.to_vec());
            Ok(())
        });
        let join = |strategy| {
            let mut options = JoinOptions::default();
            options.strategy = strategy;
            let mut found = Vec::new();
            let joined = segments.join(queries, &options, |number, found_match| {
                found.push((number, found_match.fingerprint));
                Ok(())
            });
            answer_of_segment(joined, what).map(|_| found)
        };
        let mut bytes = Vec::new();
        let merged = segments.merge(&MergeOptions::default(), &mut bytes);
        Some(Batch {
            pairs: answer_of_segment(paired, what).map(|()| pairs),
            clusters: answer_of_segment(clustered, what).map(|_| clusters),
            streamed: join(JoinStrategy::Stream),
            probed: join(JoinStrategy::Probe),
            merged: answer_of_segment(merged, what).map(|_| bytes),
        })
    }

    /// Holds that each operation gives an error or what it gives for the good file; the number of errors.
    fn errors_beside(&self, good: &Self, what: &str) -> usize {
        fn check<T: PartialEq + Debug>(found: &Option<T>, good: &Option<T>, what: &str) -> usize {
            assert!(found.is_none() || found == good, "{what}: {found:?}");
            usize::from(found.is_none())
        }
        check(&self.pairs, &good.pairs, what)
            + check(&self.clusters, &good.clusters, what)
            + check(&self.streamed, &good.streamed, what)
            + check(&self.probed, &good.probed, what)
            + check(&self.merged, &good.merged, what)
    }
}

/// As [`answer`], the error named after its segment or not.
fn answer_of_segment<T>(result: Result<T, Error>, what: &str) -> Option<T> {
    match result {
        Err(Error::Segment { error, .. }) => answer(Err(*error), what),
        other => answer(other, what),
    }
}

/// Flips each bit of a sample, or one of `stride`, and does everything with what can be opened.
fn check_batches<F: Fingerprint>(sample: &Sample<F>, stride: usize) {
    let queries = [sample.set[0], sample.set[7] ^ F::from_u128(4), F::ZERO];
    let good = Batch::of(&sample.file, &queries, "good").expect("the good file opens");
    assert!(good.pairs.as_ref().is_some_and(|pairs| !pairs.is_empty()));
    assert!(good.probed.is_some() && good.probed == good.streamed);
    assert!(good.merged.is_some() && good.clusters.is_some());
    let (mut flipped, mut opened, mut errors) = (0, 0, 0);
    for bit in (0..sample.file.len() * 8).step_by(stride) {
        let what = format!("{}, bit {bit}", sample.name);
        let mut file = sample.file.clone();
        file[bit / 8] ^= 0x80 >> (bit % 8);
        flipped += 1;
        if let Some(batch) = Batch::of(&file, &queries, &what) {
            opened += 1;
            errors += batch.errors_beside(&good, &what);
        }
    }
    assert!(opened > 10 && errors > opened / 2, "{}", sample.name);
    simidx_testkit::report(&format!(
        "{}: {flipped} bits flipped, {opened} files opened, {errors} of {} operations failed",
        sample.name,
        5 * opened
    ));
}

/// Bits from one that is flipped to the next in small samples and in larger ones: odd, so that all bits of bytes come up. A
/// release takes more of them.
const STRIDES: [usize; 2] = thorough([5, 61], [13, 141]);

/// Kinds of ids that merging reads differently.
const KINDS: [Kind; 3] = [Kind::NoIds, Kind::GroupedNumbers, Kind::GroupedStrings];

/// Every codec in a width, each with another kind of ids.
fn check_codecs<F: Fingerprint>(first_kind: usize) {
    for (i, codec) in Codec::ALL.into_iter().enumerate() {
        let kind = KINDS[(first_kind + i) % 3];
        check_batches(&sample::<F>(halves::<F>(), codec, kind, 12), STRIDES[0]);
        check_batches(&sample::<F>(halves::<F>(), codec, kind, 30), STRIDES[1]);
    }
}

#[test]
fn operations_on_whole_sets_give_an_error_or_the_right_answer() {
    check_codecs::<u32>(0);
    check_codecs::<u64>(1);
    check_codecs::<u128>(2);
}
