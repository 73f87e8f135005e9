//! The clusters: how many there are of which size, and the largest of them.

use std::cmp::Reverse;

use simidx::batch::{ClusterOptions, ClusterReport, clusters};
use simidx::{Error, Fingerprint, Set};

use super::Args;
use super::entries::Labels;
use crate::support::failure::Failure;
use crate::support::page::{Entry, Html, SizeClasses, cluster, fitting, grouped, plural, sampled};

/// Members of a cluster that are shown beside the one that stands for it.
const MEMBERS: usize = 4;

/// Bytes of the page for the largest clusters.
const MAX_LEN: usize = 800_000;

/// What there is to be said of clusters: nothing but why, if the memory does not hold them.
pub(super) struct Clusters(Result<Found, String>);

/// Clusters that were found.
struct Found {
    report: ClusterReport,
    distance: u32,
    sizes: SizeClasses,
    largest: Vec<Shown>,
    largest_size: u64,
}

/// A cluster that is shown.
struct Shown {
    number: u64,
    record_count: u64,
    fingerprint_count: u64,
    radius: u32,
    representative: u128,
    /// Those that differ most from the representative.
    others: Vec<u128>,
}

impl Clusters {
    /// Finds them all, if the memory holds them.
    ///
    /// # Errors
    /// What the search reports.
    pub(super) fn find(set: &Set, args: &Args) -> Result<Self, Failure> {
        let mut options = ClusterOptions::default();
        options.distance = args.distance(set);
        options.memory = Some(args.resources.memory_limit());
        options.temp_dir = args.resources.temp_dir.clone();
        let (mut sizes, mut largest, mut largest_size) = (SizeClasses::default(), Vec::new(), 0);
        let found = clusters(set, &options, |cluster| {
            sizes.add(cluster.record_count);
            largest_size = largest_size.max(cluster.record_count);
            if largest.len() < args.clusters as usize {
                largest.push(Shown {
                    number: cluster.number,
                    record_count: cluster.record_count,
                    fingerprint_count: cluster.fingerprints.len() as u64,
                    radius: cluster.radius,
                    representative: cluster.representative,
                    others: farthest(cluster.representative, cluster.fingerprints),
                });
            }
            Ok(())
        });
        match found {
            Ok(report) => Ok(Clusters(Ok(Found {
                report,
                distance: options.distance,
                sizes,
                largest,
                largest_size,
            }))),
            Err(error @ Error::Budget { .. }) => {
                Ok(Clusters(Err(Failure::from(error).to_string())))
            }
            Err(error) => Err(error.into()),
        }
    }

    /// The fingerprints that are shown.
    pub(super) fn members(&self) -> impl Iterator<Item = u128> {
        let members = |shown: &Shown| [&[shown.representative], &shown.others[..]].concat();
        let found = self.0.iter();
        found.flat_map(move |found| found.largest.iter().flat_map(members))
    }

    /// Their figures.
    pub(super) fn figures(&self) -> Vec<(&'static str, String)> {
        let clusters = "clusters of near-duplicates";
        match &self.0 {
            Err(_) => vec![(clusters, "not counted: too little memory".into())],
            Ok(found) => vec![
                (clusters, grouped(found.report.cluster_count)),
                ("records in clusters", grouped(found.report.record_count)),
                (
                    "fingerprints in clusters",
                    grouped(found.report.fingerprint_count),
                ),
                (
                    "records of the largest cluster",
                    grouped(found.largest_size),
                ),
            ],
        }
    }

    pub(super) fn section(&self, labels: &Labels, args: &Args) -> Html {
        let mut html = Html::new();
        match &self.0 {
            Ok(found) => found.section(&mut html, labels, args),
            Err(message) => {
                let words = format!("The clusters were not looked for: {message}.");
                html.element("p", &[("class", "warning")], words);
            }
        }
        html
    }
}

impl Found {
    fn section(&self, html: &mut Html, labels: &Labels, args: &Args) {
        html.append(&self.sizes.chart().html());
        let report = &self.report;
        if report.chain_count > 0 {
            html.element("p", &[("class", "warning")], format!(
                "Chains: in {}, members differ from the first one in more than {} bits, twice the distance; in cluster {} by {}. A smaller \
                 -k makes fewer chains.",
                sampled(report.chain_count, report.cluster_count, "cluster"),
                self.distance.saturating_mul(2),
                report.widest_cluster,
                report.widest_radius
            ));
        }
        if self.largest.is_empty() {
            return;
        }
        html.element("h3", &[], "The largest clusters");
        let pieces = self
            .largest
            .iter()
            .enumerate()
            .map(|(place, shown)| shown.html(place == 0, labels));
        let (pieces, count) = fitting(pieces, MAX_LEN);
        html.paragraph(format!(
            "Shown: {}, of each the member that stands for it and at most {MEMBERS} others, those that differ most from it.",
            sampled(count, report.cluster_count, "cluster")
        ));
        if count < u64::from(args.clusters).min(report.cluster_count) {
            html.paragraph("More of them would make the page too large.");
        }
        html.append(&pieces);
    }
}

impl Shown {
    fn html(&self, is_open: bool, labels: &Labels) -> Html {
        let heading = format!(
            "Cluster {}: {}, {}, radius {}",
            self.number,
            plural(self.record_count, "record"),
            plural(self.fingerprint_count, "fingerprint"),
            self.radius
        );
        let first = labels.entry(self.representative, "stands for the cluster".into());
        let others = self.others.iter().map(|&other| {
            let distance = other.distance(self.representative);
            labels.entry(other, format!("distance {distance}"))
        });
        // Records with one fingerprint differ too, if they are nothing but that.
        let alike = labels.records(self.representative, "the same fingerprint");
        let mut others: Vec<Entry> = others.collect();
        if let ([first, alike @ ..], true) = (&alike[..], others.len() < MEMBERS) {
            others.extend(alike.iter().take(MEMBERS - others.len()).cloned());
            let first = Entry {
                note: "stands for the cluster".into(),
                ..first.clone()
            };
            return cluster(&heading, is_open, &first, &others);
        }
        cluster(&heading, is_open, &first, &others)
    }
}

/// The fingerprints that differ most from this one.
fn farthest(from: u128, fingerprints: &[u128]) -> Vec<u128> {
    let mut others: Vec<u128> = Vec::with_capacity(MEMBERS + 1);
    for &other in fingerprints.iter().filter(|other| **other != from) {
        let key = |f: u128| Reverse(f.distance(from));
        let place = others.partition_point(|&held| key(held) <= key(other));
        others.insert(place, other);
        others.truncate(MEMBERS);
    }
    others
}
