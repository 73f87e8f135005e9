//! Clusters: groups of fingerprints that near pairs link, directly or through others.

mod count_records;
mod groups;

use std::path::PathBuf;

use crate::batch::gathered::extend_from_set;
use crate::error::{Error, Result};
use crate::extsort::{MemoryLimit, Sorted, Sorter, add_all};
use crate::fingerprint::{ByWidth, Column, Fingerprint, Width, by_width, for_width, taken};
use crate::format::IdKind;
use crate::set::{Set, Typed, at_width};
use crate::setters;
use crate::watch::Watch;
use groups::{Groups, NONE};

/// How clusters are found. Start from [`ClusterOptions::default`] and set what differs.
///
/// ```
/// use simidx::batch::ClusterOptions;
///
/// let options = ClusterOptions::default().distance(6).min_size(1);
/// ```
#[derive(Debug, Clone)]
#[non_exhaustive]
pub struct ClusterOptions {
    /// The largest distance in bits at which two fingerprints are linked; any value is exact. Default 3.
    pub distance: u32,
    /// The least number of records of a cluster. With 1, a fingerprint without neighbours is a cluster too. Default 2.
    pub min_size: u64,
    /// The most bytes of memory, at least 64 MiB. Unlimited by default.
    pub memory: Option<u64>,
    /// The folder for temporary files, see [`BuildOptions::temp_dir`](crate::BuildOptions::temp_dir). They are needed
    /// only if many fingerprints are given more than once.
    pub temp_dir: Option<PathBuf>,
    /// Called with the progress of the search for near fingerprints, see
    /// [`PairOptions::watch`](super::PairOptions::watch).
    pub watch: Watch,
}

setters!(ClusterOptions {
    distance(u32)
    min_size(u64)
    memory(Some(u64))
    temp_dir(Some(impl Into<PathBuf>))
    watch(Watch)
});

impl Default for ClusterOptions {
    fn default() -> Self {
        ClusterOptions {
            distance: 3,
            min_size: 2,
            memory: None,
            temp_dir: None,
            watch: Watch::default(),
        }
    }
}

/// Fingerprints that are linked by steps within a distance.
///
/// ```
/// use simidx::Width;
/// use simidx::batch::{ClusterFinder, ClusterOptions};
///
/// let mut options = ClusterOptions::default();
/// options.distance = 1;
/// let mut finder = ClusterFinder::new(Width::W64, &options)?;
/// finder.extend_from_slice(&[0xff00_u64, 0xff01, 0xff03])?;
/// let report = finder.finish(|cluster| {
///     assert_eq!((cluster.number, cluster.record_count), (0, 3));
///     assert_eq!(cluster.fingerprints, [0xff00, 0xff01, 0xff03]);
///     Ok(())
/// })?;
/// assert_eq!(report.cluster_count, 1);
/// # Ok::<(), simidx::Error>(())
/// ```
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub struct Cluster<'a> {
    /// The number of the cluster, from 0. Clusters are ordered by record count, largest first, then by smallest
    /// fingerprint.
    pub number: u64,
    /// Number of records; without ids, number of fingerprints.
    pub record_count: u64,
    /// The members, distinct and ascending.
    pub fingerprints: &'a [u128],
    /// The member that represents the cluster: the fingerprint of the record with the smallest id; without ids the
    /// smallest fingerprint.
    pub representative: u128,
    /// The largest distance from the representative to a member, in bits.
    pub radius: u32,
}

/// The totals of all clusters.
///
/// ```
/// use simidx::Width;
/// use simidx::batch::{ClusterFinder, ClusterOptions};
///
/// let mut options = ClusterOptions::default();
/// options.distance = 1;
/// let mut finder = ClusterFinder::new(Width::W64, &options)?;
/// finder.extend_from_slice(&[0xff00_u64, 0xff01, 0xff03])?;
/// let report = finder.finish(|cluster| {
///     assert_eq!((cluster.representative, cluster.radius), (0xff00, 2));
///     Ok(())
/// })?;
/// assert_eq!((report.fingerprint_count, report.widest_radius), (3, 2));
/// # Ok::<(), simidx::Error>(())
/// ```
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
#[non_exhaustive]
pub struct ClusterReport {
    /// Number of clusters.
    pub cluster_count: u64,
    /// Number of records in clusters.
    pub record_count: u64,
    /// Number of fingerprints in clusters.
    pub fingerprint_count: u64,
    /// Number of clusters whose radius is more than twice the linking distance. Such chains link fingerprints that are
    /// not near-duplicates.
    pub chain_count: u64,
    /// The largest radius.
    pub widest_radius: u32,
    /// The number of the first cluster with the largest radius.
    pub widest_cluster: u64,
}

impl Set {
    /// Calls `visit` with each cluster of records of the set, in order. A cluster is a connected component of at least two
    /// records, linked by steps of at most a distance; records that share a fingerprint are linked at distance 0. Without
    /// ids, fingerprints count instead of records.
    ///
    /// Reads table 0 of each segment once, and a second time for ids if there are any. Takes no more time than
    /// [`Set::pairs`](crate::Set::pairs), however many pairs there are. Memory: as for [`ClusterFinder`], plus the members
    /// of one cluster. [`Set::ids_of`](crate::Set::ids_of) gives the ids of a member.
    ///
    /// ```
    /// use simidx::batch::ClusterOptions;
    /// use simidx::Set;
    ///
    /// # use simidx::{Index, IndexBuilder, Width};
    /// # let mut builder = IndexBuilder::new(Width::W64, Default::default())?;
    /// # builder.extend_from_slice(&[0xff00_u64, 0xff01, 0x1234_5678])?;
    /// # let mut file = Vec::new();
    /// # builder.finish(&mut file)?;
    /// # let segments = Set::from_bytes(file)?;
    /// let report = segments.clusters(&ClusterOptions::default(), |cluster| {
    ///     assert_eq!(cluster.fingerprints, [0xff00, 0xff01]);
    ///     Ok(())
    /// })?;
    /// assert_eq!(report.cluster_count, 1);
    /// # Ok::<(), simidx::Error>(())
    /// ```
    ///
    /// # Errors
    /// A damaged segment, 2^32 - 1 or more distinct fingerprints, a memory limit that is too small for them, and any error
    /// of temporary files or of `visit`. After an error of its own, `visit` is not called again.
    pub fn clusters(
        &self,
        options: &ClusterOptions,
        mut visit: impl FnMut(Cluster<'_>) -> Result<()>,
    ) -> Result<ClusterReport> {
        visit_clusters(self, options, &mut visit)
    }
}

fn visit_clusters(
    set: &Set,
    options: &ClusterOptions,
    visit: VisitCluster<'_>,
) -> Result<ClusterReport> {
    at_width!(set, set => clusters_of(set, options, visit))
}

/// The callback for each cluster.
type VisitCluster<'a> = &'a mut dyn FnMut(Cluster<'_>) -> Result<()>;

fn clusters_of<F: Fingerprint>(
    segments: Typed<'_, F>,
    options: &ClusterOptions,
    visit: VisitCluster<'_>,
) -> Result<ClusterReport> {
    let mut finder = Finder::new(options)?;
    extend_from_set(&mut finder.gathered, segments)?;
    let budget = finder.budget;
    finder.find(visit, &mut |values, groups| match segments.id_kind() {
        IdKind::None => Ok(()),
        _ => count_records::count(segments, values, groups, budget),
    })
}

/// Finds clusters of distinct fingerprints, without an index.
///
/// A union-find over the fingerprints joins the pairs that a search like that of
/// [`PairFinder`](crate::batch::PairFinder) finds. It does not visit all pairs of a crowd: within a group that agrees
/// on a mask it examines only enough pairs to connect the group, so 100,000 copies take no longer than other records.
///
/// Memory: about 36 bytes for each distinct 64-bit fingerprint while they are linked (24 for 32 bits, 60 for 128 bits),
/// and about the same at most afterwards, depending on the number of clusters. More fingerprints than fit the memory
/// limit are an error.
///
/// ```
/// use simidx::Width;
/// use simidx::batch::{ClusterFinder, ClusterOptions};
///
/// let mut finder = ClusterFinder::new(Width::W64, &ClusterOptions::default())?;
/// for fingerprint in [0xff00_u64, 0xff07, 0xff3f, 0x1234_5678_0000_0000, 0xff00] {
///     finder.push(fingerprint)?;
/// }
/// let mut clusters = Vec::new();
/// let report = finder.finish(|cluster| {
///     clusters.push((cluster.fingerprints.to_vec(), cluster.radius));
///     Ok(())
/// })?;
/// assert_eq!(clusters, [(vec![0xff00, 0xff07, 0xff3f], 6)]);
/// assert_eq!(report.chain_count, 0); // no radius above twice the distance
/// # Ok::<(), simidx::Error>(())
/// ```
#[derive(Debug)]
pub struct ClusterFinder {
    finder: OfWidth,
}

/// The search, by width.
type OfWidth = ByWidth<Finder<u32>, Finder<u64>, Finder<u128>>;

impl ClusterFinder {
    /// Creates a search for fingerprints of a width.
    ///
    /// # Errors
    /// A memory limit that is too small.
    pub fn new(width: Width, options: &ClusterOptions) -> Result<Self> {
        let finder = for_width!(width, Finder::new(options)?);
        Ok(ClusterFinder { finder })
    }

    /// Adds a fingerprint; repeated ones have no effect.
    ///
    /// # Errors
    /// A value that does not fit the width, and an error of the temporary file that takes fingerprints beyond the
    /// memory limit.
    #[inline]
    pub fn push(&mut self, fingerprint: impl Fingerprint) -> Result<()> {
        self.push_value(fingerprint.to_u128())
    }

    fn push_value(&mut self, value: u128) -> Result<()> {
        by_width!(ByWidth, &mut self.finder, finder => {
            let value = taken(value)?;
            finder.gathered.add(|values| values.push(value))
        })
    }

    /// Adds the fingerprints of a column without copying it.
    ///
    /// # Errors
    /// A column of another width, and the errors of [`ClusterFinder::push`].
    pub fn extend_from_slice<'c>(&mut self, fingerprints: impl Into<Column<'c>>) -> Result<()> {
        self.extend(fingerprints.into())
    }

    fn extend(&mut self, fingerprints: Column<'_>) -> Result<()> {
        by_width!(ByWidth, &mut self.finder, finder => {
            add_all(&mut finder.gathered, fingerprints.values()?)
        })
    }

    /// Calls `visit` with each cluster in order. Works on all threads of the current pool and calls `visit` on this
    /// one.
    ///
    /// # Errors
    /// More fingerprints than fit the memory limit, or than 2^32 - 2, and any error of temporary files or of `visit`.
    /// After an error of its own, `visit` is not called again.
    pub fn finish(self, mut visit: impl FnMut(Cluster<'_>) -> Result<()>) -> Result<ClusterReport> {
        self.give(&mut visit)
    }

    fn give(self, visit: VisitCluster<'_>) -> Result<ClusterReport> {
        by_width!(ByWidth, self.finder, finder => {
            finder.find(visit, &mut |_, _| Ok(()))
        })
    }
}

/// A search among values of one type.
#[derive(Debug)]
struct Finder<F> {
    options: ClusterOptions,
    /// Bytes of memory for fingerprints and their groups.
    budget: usize,
    /// Fingerprints in any order, with repetitions. They are sorted in memory up to a budget, beyond it in files.
    gathered: Sorter<Vec<F>>,
}

impl<F: Fingerprint> Finder<F> {
    fn new(options: &ClusterOptions) -> Result<Self> {
        let budget = MemoryLimit::new(options.memory)?.budget();
        let temp = MemoryLimit::unlimited().temp(options.temp_dir.clone());
        Ok(Finder {
            options: options.clone(),
            budget,
            gathered: Sorter::new(temp, budget / 3),
        })
    }

    /// [`ClusterFinder::finish`], with `count` to count the records of groups.
    fn find(
        self,
        visit: VisitCluster<'_>,
        count: &mut dyn FnMut(&[F], &mut Groups) -> Result<()>,
    ) -> Result<ClusterReport> {
        let (options, budget) = (self.options, self.budget);
        let values = distinct(self.gathered, budget)?;
        let mut groups = Groups::of_linked(&values, &options, budget)?;
        count(&values, &mut groups)?;
        groups.select(options.min_size);
        let found = Found {
            values: &values,
            groups: &groups,
            options: &options,
        };
        found.give(visit)
    }
}

/// Returns the distinct fingerprints, ascending.
fn distinct<F: Fingerprint>(gathered: Sorter<Vec<F>>, budget: usize) -> Result<Vec<F>> {
    let mut merge = match gathered.finish()? {
        Sorted::Memory(mut values) => {
            values.shrink_to_fit();
            return Ok(values);
        }
        Sorted::Runs(merge) => merge,
    };
    let (mut values, mut count, mut last) = (Vec::new(), 0, None);
    while let Some(round) = merge.next_round()? {
        // A fingerprint may be repeated across rounds.
        let repeated = last.is_some() && last == round.first().copied();
        last = round.last().copied().or(last);
        let round = &round[usize::from(repeated)..];
        count += round.len();
        // Those that are too many are only counted.
        match linking_len::<F>(count) <= budget {
            true => values.extend_from_slice(round),
            false => values = Vec::new(),
        }
    }
    check_budget(budget, count, linking_len::<F>(count))?;
    Ok(values)
}

/// Returns the bytes of `count` fingerprints while they are linked.
fn linking_len<F: Fingerprint>(count: usize) -> usize {
    count.saturating_mul(3 * F::BYTES + 12)
}

/// Clusters that are ready to be visited.
struct Found<'a, F> {
    values: &'a [F],
    groups: &'a Groups,
    options: &'a ClusterOptions,
}

impl<F: Fingerprint> Found<'_, F> {
    fn give(&self, visit: VisitCluster<'_>) -> Result<ClusterReport> {
        let mut report = ClusterReport::default();
        let mut fingerprints = Vec::new();
        for group in &self.groups.groups {
            let members = self.groups.members(group, self.values);
            fingerprints.clear();
            fingerprints.extend(members.iter().map(|member| member.to_u128()));
            let first = self.values.get(group.representative as usize);
            let representative = first.copied().unwrap_or(members[0]);
            let distances = members.iter().map(|member| member.distance(representative));
            let cluster = Cluster {
                number: report.cluster_count,
                record_count: group.record_count,
                fingerprints: &fingerprints,
                representative: representative.to_u128(),
                radius: distances.max().unwrap_or_default(),
            };
            report.add(&cluster, self.options.distance);
            visit(cluster)?;
        }
        if self.options.min_size <= 1 {
            self.give_singles(&mut report, visit)?;
        }
        Ok(report)
    }

    /// Visits each value without a group as a cluster of one record.
    fn give_singles(&self, report: &mut ClusterReport, visit: VisitCluster<'_>) -> Result<()> {
        let of_ranks = self.groups.of_ranks(self.values.len());
        let values = self.values.iter().zip(of_ranks);
        for (value, _) in values.filter(|(_, group)| *group == NONE) {
            let value = value.to_u128();
            let cluster = Cluster {
                number: report.cluster_count,
                record_count: 1,
                fingerprints: &[value],
                representative: value,
                radius: 0,
            };
            report.add(&cluster, self.options.distance);
            visit(cluster)?;
        }
        Ok(())
    }
}

impl ClusterReport {
    fn add(&mut self, cluster: &Cluster<'_>, distance: u32) {
        if cluster.radius > self.widest_radius {
            (self.widest_radius, self.widest_cluster) = (cluster.radius, cluster.number);
        }
        self.cluster_count += 1;
        self.record_count += cluster.record_count;
        self.fingerprint_count += cluster.fingerprints.len() as u64;
        self.chain_count += u64::from(cluster.radius > distance.saturating_mul(2));
    }
}

/// Checks that a budget has the bytes that `count` fingerprints need.
///
/// # Errors
/// Too little memory for them.
fn check_budget(budget: usize, count: usize, needed: usize) -> Result<()> {
    if needed <= budget {
        return Ok(());
    }
    Err(Error::Budget {
        purpose: format!("clustering {count} distinct fingerprints"),
        needed: needed as u64,
        given: budget as u64,
    })
}
