//! How far the nearest other fingerprint is, for a sample of fingerprints.

use rayon::prelude::*;
use simidx::set::Segment;
use simidx::{Fingerprint, Set};

use super::Args;
use crate::support::failure::Failure;
use crate::support::page::{Bar, BarChart, Boundary, Html, Sample, grouped, sampled};

/// Comparisons that are made at most, beside those of the least sample.
const MAX_COMPARISONS: u64 = 1_000_000_000;

/// Fingerprints that are sampled however many there are.
const LEAST_SAMPLE: u64 = 50;

/// Fingerprints that are compared with the sample at a time.
const CHUNK: usize = 1 << 16;

/// Distances to nearest neighbours.
pub(super) struct Neighbours {
    /// Number of fingerprints by the distance to their nearest neighbour.
    counts: Vec<u64>,
    /// Number of all fingerprints.
    all: u64,
    width: u32,
}

/// Compares a sample with all fingerprints.
///
/// # Errors
/// A damaged block.
pub(super) fn find(set: &Set, args: &Args) -> Result<Neighbours, Failure> {
    let stored: u64 = set.segments().map(Segment::len).sum();
    let bearable = (MAX_COMPARISONS / stored.max(1)).max(LEAST_SAMPLE);
    let size = u64::from(args.sample).min(bearable) as usize;
    let mut sample = Sample::new(size, args.seed);
    for fingerprint in set.fingerprints(0)? {
        let fingerprint = fingerprint?;
        sample.show(fingerprint, fingerprint);
    }
    let all = sample.seen();
    let mut nearest: Vec<(u128, u32)> = sample
        .into_items()
        .into_iter()
        .map(|f| (f, u32::MAX))
        .collect();
    let mut fingerprints = set.fingerprints(0)?;
    let mut chunk = Vec::with_capacity(CHUNK);
    loop {
        chunk.clear();
        for fingerprint in fingerprints.by_ref().take(CHUNK) {
            chunk.push(fingerprint?);
        }
        if chunk.is_empty() {
            break;
        }
        nearest.par_iter_mut().for_each(|(own, nearest)| {
            let distances = chunk.iter().map(|other| own.distance(*other));
            // Its own distance is 0, and the fingerprints are distinct.
            *nearest = distances
                .filter(|&distance| distance > 0)
                .fold(*nearest, u32::min);
        });
    }
    let mut counts = vec![0; set.width().bits() as usize + 1];
    for (_, distance) in nearest {
        if let Some(count) = counts.get_mut(distance as usize) {
            *count += 1;
        }
    }
    Ok(Neighbours {
        counts,
        all,
        width: set.width().bits(),
    })
}

impl Neighbours {
    pub(super) fn html(&self, distance: u32) -> Html {
        let mut html = Html::new();
        let looked_at: u64 = self.counts.iter().sum();
        let last = self
            .counts
            .iter()
            .rposition(|&count| count > 0)
            .unwrap_or(0);
        let first = self
            .counts
            .iter()
            .position(|&count| count > 0)
            .unwrap_or(0)
            .min(1);
        let within = (distance as usize + 1).min(last + 1);
        let near: u64 = self.counts[..within].iter().sum();
        let bars = (first.max(1)..=last).map(|at| Bar {
            label: at.to_string(),
            value: self.counts[at] as f64,
            figures: vec![grouped(self.counts[at])],
            is_beyond: at > distance as usize,
            ..Bar::default()
        });
        let bars: Vec<Bar> = if looked_at == 0 {
            Vec::new()
        } else {
            bars.collect()
        };
        let has_beyond = bars.iter().any(|bar| bar.is_beyond);
        let sample = sampled(looked_at, self.all, "fingerprint");
        html.append(&BarChart {
            id: "nearest",
            title: format!("Distance to the nearest other fingerprint, for {sample}"),
            alternative: match looked_at {
                0 => "There are no two fingerprints.".into(),
                _ => format!(
                    "Of {sample}, {} have another one within {distance} bits. The largest distance to the nearest is {last}.",
                    grouped(near)
                ),
            },
            x_label: "bits that differ",
            y_label: "fingerprints",
            columns: vec!["fingerprints"],
            beyond: has_beyond.then(|| "beyond the distance, without a near-duplicate".into()),
            boundary: has_beyond.then(|| Boundary {
                before: distance as usize,
                label: format!("distance {distance}"),
            }),
            bars,
            ..BarChart::default()
        }
        .html());
        if looked_at > 0 {
            html.paragraph(format!(
                "Near-duplicates are the bars at the left. Fingerprints of documents that have nothing to do with each \
                 other differ in about half of the {} bits, and the nearest of many in fewer. A distance is well chosen \
                 if it lies in the gap between the two.",
                self.width
            ));
        }
        html
    }
}
