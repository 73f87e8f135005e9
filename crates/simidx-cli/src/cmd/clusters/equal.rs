//! Clusters of an index, and among them those of equal documents without features, which no index holds.

use simidx::batch::{Cluster, ClusterReport};

use super::printer::Printer;
use crate::support::failure::Failure;

/// Prints clusters in order: those of most records first, then those of the smallest fingerprint.
pub(super) struct Merged<'a> {
    printer: Printer<'a>,
    /// The groups that are still to come, the last one first.
    groups: Vec<Vec<u64>>,
    /// The fingerprint that all of these documents have.
    fingerprint: u128,
    /// Clusters printed so far, and the groups among them.
    count: u64,
    group_count: u64,
    group_records: u64,
    /// The number of the first cluster of the largest radius.
    widest: Option<(u32, u64)>,
}

impl<'a> Merged<'a> {
    /// For groups in order.
    pub(super) fn new(printer: Printer<'a>, mut groups: Vec<Vec<u64>>, fingerprint: u128) -> Self {
        groups.reverse();
        Merged {
            printer,
            groups,
            fingerprint,
            count: 0,
            group_count: 0,
            group_records: 0,
            widest: None,
        }
    }

    /// Prints a cluster of the index, after the groups that come before it.
    ///
    /// # Errors
    /// As for [`Printer::cluster`] and [`Printer::equal`].
    pub(super) fn cluster(&mut self, cluster: &Cluster<'_>) -> simidx::Result<()> {
        let own = (cluster.record_count, cluster.fingerprints.first());
        while let Some(group) = self.groups.last() {
            let size = group.len() as u64;
            let comes_first = size > own.0 || size == own.0 && Some(&self.fingerprint) <= own.1;
            if !comes_first {
                break;
            }
            self.group()?;
        }
        let mut cluster = *cluster;
        cluster.number = self.count;
        self.count += 1;
        if self
            .widest
            .is_none_or(|(widest, _)| cluster.radius > widest)
        {
            self.widest = Some((cluster.radius, cluster.number));
        }
        self.printer.cluster(&cluster)
    }

    /// Prints the next group.
    fn group(&mut self) -> simidx::Result<()> {
        if let Some(group) = self.groups.pop() {
            self.printer.equal(self.count, self.fingerprint, &group)?;
            self.count += 1;
            self.group_count += 1;
            self.group_records += group.len() as u64;
        }
        Ok(())
    }

    /// Prints what is still to come; returns what all clusters come to.
    ///
    /// # Errors
    /// What standard output reports.
    pub(super) fn finish(mut self, mut report: ClusterReport) -> Result<ClusterReport, Failure> {
        while !self.groups.is_empty() {
            self.group()?;
        }
        report.cluster_count += self.group_count;
        report.record_count += self.group_records;
        report.fingerprint_count += u64::from(self.group_count > 0);
        if let Some((_, number)) = self.widest {
            report.widest_cluster = number;
        }
        self.printer.finish()?;
        Ok(report)
    }
}
