//! The clusters on a page: their sizes, and the largest ones.

use std::cmp::Reverse;

use maud::{Markup, html};
use simidx::batch::{ClusterOptions, ClusterReport};
use simidx::{Error, Fingerprint, Set};

use super::Args;
use super::labels::Labels;
use crate::support::failure::Failure;
use crate::support::page::{
    Entry, SizeClasses, cluster, grouped, keep_first, plural, sampled, shown, warning,
};

/// Number of members of a cluster that are shown next to its representative.
const MEMBERS: usize = 4;

/// The clusters of a set.
pub(super) struct Clusters {
    /// The counts of clusters; if memory is insufficient, the reason.
    report: Result<ClusterReport, String>,
    distance: u32,
    sizes: SizeClasses,
    largest_size: u64,
    largest: Vec<Shown>,
}

/// A cluster that is shown.
struct Shown {
    heading: String,
    representative: u128,
    /// The members that differ most from the representative, with their distances.
    others: Vec<(Reverse<u32>, u128)>,
}

impl Clusters {
    /// Finds all clusters, if memory is sufficient.
    ///
    /// # Errors
    /// Any error of the search.
    pub(super) fn find(set: &Set, args: &Args) -> Result<Self, Failure> {
        let mut options = ClusterOptions::default();
        options.distance = args.distance(set)?;
        options.memory = Some(args.resources.memory_limit());
        options.temp_dir = args.resources.temp_dir.clone();
        let (mut sizes, mut largest, mut largest_size) = (SizeClasses::default(), Vec::new(), 0);
        let found = set.clusters(&options, |cluster| {
            sizes.add(cluster.record_count);
            largest_size = largest_size.max(cluster.record_count);
            if largest.len() < args.clusters as usize {
                let (first, mut others) = (cluster.representative, Vec::new());
                for &other in cluster.fingerprints.iter().filter(|&&other| other != first) {
                    keep_first(
                        &mut others,
                        (Reverse(other.distance(first)), other),
                        MEMBERS,
                    );
                }
                largest.push(Shown {
                    heading: format!(
                        "Cluster {}: {}, {}, radius {}",
                        cluster.number,
                        plural(cluster.record_count, "record"),
                        plural(cluster.fingerprints.len() as u64, "fingerprint"),
                        cluster.radius
                    ),
                    representative: first,
                    others,
                });
            }
            Ok(())
        });
        let report = match found {
            Err(error @ Error::Budget { .. }) => Err(Failure::from(error).to_string()),
            found => Ok(found?),
        };
        Ok(Clusters {
            report,
            distance: options.distance,
            sizes,
            largest_size,
            largest,
        })
    }

    /// Returns the fingerprints that are shown.
    pub(super) fn members(&self) -> impl Iterator<Item = u128> {
        self.largest.iter().flat_map(|shown| {
            let others = shown.others.iter().map(|(_, other)| *other);
            others.chain([shown.representative])
        })
    }

    /// Returns the figures of the clusters.
    pub(super) fn figures(&self) -> Vec<(&'static str, String)> {
        let clusters = "clusters of near-duplicates";
        match &self.report {
            Err(_) => vec![(clusters, "not counted: too little memory".into())],
            Ok(report) => vec![
                (clusters, grouped(report.cluster_count)),
                ("records in clusters", grouped(report.record_count)),
                (
                    "fingerprints in clusters",
                    grouped(report.fingerprint_count),
                ),
                ("records of the largest cluster", grouped(self.largest_size)),
            ],
        }
    }

    /// Returns the section on their sizes, and on the largest clusters.
    pub(super) fn section(&self, labels: &Labels) -> Markup {
        let report = match &self.report {
            Ok(report) => report,
            Err(message) => {
                return warning(&format!("The clusters were not looked for: {message}."));
            }
        };
        let largest = self.largest.iter().enumerate();
        let largest = largest.map(|(place, shown)| shown.html(place == 0, labels));
        let note = format!(
            ", of each the representative and at most {MEMBERS} others, those that differ most from it"
        );
        html! {
            (self.sizes.chart())
            @if report.chain_count > 0 {
                p.warning {
                    "Chains: in " (sampled(report.chain_count, report.cluster_count, "cluster"))
                    ", members differ from the first one in more than " (self.distance.saturating_mul(2))
                    " bits, twice the distance; in cluster " (report.widest_cluster) " by " (report.widest_radius)
                    ". A smaller -k makes fewer chains."
                }
            }
            @if !self.largest.is_empty() {
                h3 { "The largest clusters" }
                (shown(largest, report.cluster_count, "cluster", &note))
            }
        }
    }
}

impl Shown {
    fn html(&self, is_open: bool, labels: &Labels) -> Markup {
        let first = labels.entry(self.representative, "representative of the cluster".into());
        let others = self
            .others
            .iter()
            .map(|&(Reverse(distance), other)| labels.entry(other, format!("distance {distance}")));
        // In a cluster of a single fingerprint, its records may still differ.
        let alike = labels.further_records(self.representative, "the same fingerprint");
        let others: Vec<Entry> = others.chain(alike).take(MEMBERS).collect();
        cluster(&self.heading, is_open, &first, &others)
    }
}
