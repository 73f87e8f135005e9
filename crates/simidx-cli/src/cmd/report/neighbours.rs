//! The distances to the nearest other fingerprint, for a sample of fingerprints.

use maud::{Markup, html};
use rayon::prelude::*;
use simidx::set::Segment;
use simidx::{Fingerprint, Set};

use super::Args;
use crate::support::failure::Failure;
use crate::support::page::{BarChart, Differences, Sample, grouped, sampled};

/// Largest number of comparisons, in addition to those of the smallest sample.
const MAX_COMPARISONS: u64 = 1_000_000_000;

/// Smallest sample, for any number of fingerprints.
const LEAST_SAMPLE: u64 = 50;

/// Number of fingerprints that are compared with the sample at once.
const CHUNK: usize = 1 << 16;

/// Compares a sample with all fingerprints, and returns the section.
///
/// # Errors
/// A damaged block.
pub(super) fn section(set: &Set, args: &Args) -> Result<Markup, Failure> {
    let stored: u64 = set.segments().map(Segment::len).sum();
    let bearable = (MAX_COMPARISONS / stored.max(1)).max(LEAST_SAMPLE);
    let mut sample = Sample::new(u64::from(args.sample).min(bearable) as usize, args.seed);
    for fingerprint in set.fingerprints(0)? {
        let fingerprint = fingerprint?;
        sample.show(fingerprint, fingerprint);
    }
    let mut nearest: Vec<(u128, u32)> = sample.items().iter().map(|&f| (f, u32::MAX)).collect();
    let mut fingerprints = set.fingerprints(0)?;
    loop {
        let chunk = fingerprints.by_ref().take(CHUNK);
        let chunk = chunk.collect::<simidx::Result<Vec<u128>>>()?;
        if chunk.is_empty() {
            break;
        }
        nearest.par_iter_mut().for_each(|(own, nearest)| {
            let distances = chunk.iter().map(|other| own.distance(*other));
            // The distance to itself is 0; all other fingerprints are different.
            *nearest = distances
                .filter(|&distance| distance > 0)
                .fold(*nearest, u32::min);
        });
    }
    let distance = args.distance(set)?;
    let mut found = Differences::new(distance, 0, args.seed);
    // A single fingerprint has no neighbour.
    for &(own, nearest) in nearest.iter().filter(|(_, nearest)| *nearest < u32::MAX) {
        found.add(nearest, own, (own, own));
    }
    let sample = sampled(
        found.within() + found.beyond(),
        sample.seen(),
        "fingerprint",
    );
    let chart = BarChart {
        id: "nearest",
        title: format!("Distance to the nearest other fingerprint, for {sample}"),
        alternative: match found.within() + found.beyond() {
            0 => "There are no two fingerprints.".into(),
            _ => format!(
                "Of {sample}, {} have another one within {distance} bits.",
                grouped(found.within())
            ),
        },
        x_label: "bits that differ",
        y_label: "fingerprints",
        ..found.chart(
            1,
            |at| at.to_string(),
            "beyond the distance, without a near-duplicate",
        )
    };
    Ok(html! {
        (chart)
        p {
            "Near-duplicates are the bars at the left. Fingerprints of documents that have nothing to do with each other \
             differ in about half of the " (set.width()) " bits, and the nearest of many in fewer. A distance is well \
             chosen if it lies in the gap between the two."
        }
    })
}
