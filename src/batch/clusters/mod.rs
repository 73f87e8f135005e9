//! Clusters: what pairs within a distance link, directly or by way of others.

mod central;
mod count_records;
mod groups;
mod ranks;

use std::path::PathBuf;

use crate::batch::gathered::Gathered;
use crate::error::{Error, Result};
use crate::extsort::{MemoryLimit, Sorted};
use crate::fingerprint::{Column, Fingerprint, Width, by_width, taken};
use crate::format::IdKind;
use crate::id::{Id, IdBuf};
use crate::set::{Set, Typed, at_width};
use crate::setters;
use crate::watch::Watch;
use count_records::Shared;
use groups::{Group, Groups, NONE};

/// How clusters are found. Start from [`ClusterOptions::default`] and set what differs.
///
/// ```
/// use simidx::batch::{ClusterOptions, Representative};
///
/// let options = ClusterOptions::default()
///     .representative(Representative::Central)
///     .min_size(1);
/// ```
#[derive(Debug, Clone)]
#[non_exhaustive]
pub struct ClusterOptions {
    /// The largest distance between two fingerprints that links them, in bits; any is exact. Default 3.
    pub distance: u32,
    /// Which member stands for a cluster. Default [`Representative::First`].
    pub representative: Representative,
    /// The least number of records of a cluster; 1 makes a cluster of each fingerprint that is near no other one, too.
    /// Default 2.
    pub min_size: u64,
    /// Bytes of memory that may be used, at least [`MIN_MEMORY`](crate::builder::MIN_MEMORY). By default there is no limit.
    pub memory: Option<u64>,
    /// Where temporary files go, see [`BuildOptions::temp_dir`](crate::BuildOptions::temp_dir): there are some only if
    /// many fingerprints are given more than once.
    pub temp_dir: Option<PathBuf>,
    /// Called with the progress of the search for near fingerprints, see [`PairOptions::watch`](super::PairOptions::watch).
    pub watch: Watch,
}

setters!(ClusterOptions {
    distance(u32)
    representative(Representative)
    min_size(u64)
    memory(Some(u64))
    temp_dir(Some(impl Into<PathBuf>))
    watch(Watch)
});

impl Default for ClusterOptions {
    fn default() -> Self {
        ClusterOptions {
            distance: 3,
            representative: Representative::First,
            min_size: 2,
            memory: None,
            temp_dir: None,
            watch: Watch::default(),
        }
    }
}

/// Which member stands for a cluster.
///
/// ```
/// use simidx::Width;
/// use simidx::batch::{ClusterFinder, ClusterOptions, Representative};
///
/// let options = ClusterOptions::default().representative(Representative::Central);
/// let mut finder = ClusterFinder::new(Width::W64, &options)?;
/// finder.extend_from_slice(&[0xff00_u64, 0xff01, 0xff03])?;
/// let report = finder.finish(|cluster| {
///     assert_eq!(cluster.representative, 0xff01); // one bit from each of the others
///     Ok(())
/// })?;
/// assert_eq!(report.cluster_count, 1);
/// # Ok::<(), simidx::Error>(())
/// ```
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
#[non_exhaustive]
pub enum Representative {
    /// That of the record with the smallest id; without ids the smallest fingerprint.
    #[default]
    First,
    /// The one with the least sum of distances to the others, counted for each record; the smallest of several. Exact
    /// for clusters of any size: it is found by counting bits.
    Central,
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
    /// Number of the cluster, from 0: those with most records first, then those with the smallest fingerprint.
    pub number: u64,
    /// Number of records; without ids that of fingerprints.
    pub record_count: u64,
    /// The members, distinct and ascending.
    pub fingerprints: &'a [u128],
    /// The member that stands for the cluster.
    pub representative: u128,
    /// The largest distance of a member from that one, in bits.
    pub radius: u32,
}

/// What all clusters together come to.
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
    /// Number of their records.
    pub record_count: u64,
    /// Number of their fingerprints.
    pub fingerprint_count: u64,
    /// Number of clusters with a radius of more than twice the distance that links: chains, of which the ends are not
    /// near-duplicates.
    pub chain_count: u64,
    /// The largest radius.
    pub widest_radius: u32,
    /// The number of the first cluster that has it.
    pub widest_cluster: u64,
}

/// Calls `visit` with each cluster of records of the segments, in order: a component of at least two records that are
/// linked by steps of at most a distance, those that share a fingerprint by a step of 0. Without ids fingerprints
/// count, not records.
///
/// Reads table 0 of each segment once, and with ids once again with these; takes no more time than
/// [`pairs`](crate::batch::pairs()), whatever the number of pairs. Memory: see [`ClusterFinder`]; beside that the members of one
/// cluster. [`Set::ids_of`](crate::Set::ids_of) gives the ids of a member.
///
/// ```
/// use simidx::batch::{ClusterOptions, clusters};
/// use simidx::Set;
///
/// # use simidx::{Index, IndexBuilder, Width};
/// # let mut builder = IndexBuilder::new(Width::W64, Default::default())?;
/// # builder.extend_from_slice(&[0xff00_u64, 0xff01, 0x1234_5678])?;
/// # let mut file = Vec::new();
/// # builder.finish(&mut file)?;
/// # let segments = Set::from_bytes(file)?;
/// let report = clusters(&segments, &ClusterOptions::default(), |cluster| {
///     assert_eq!(cluster.fingerprints, [0xff00, 0xff01]);
///     Ok(())
/// })?;
/// assert_eq!(report.cluster_count, 1);
/// # Ok::<(), simidx::Error>(())
/// ```
///
/// # Errors
/// A damaged segment, 2^32 - 1 distinct fingerprints and more, a memory limit that they do not fit, and what temporary
/// files or `visit` report; after an error of its own `visit` is not called again.
pub fn clusters(
    set: &Set,
    options: &ClusterOptions,
    mut visit: impl FnMut(Cluster<'_>) -> Result<()>,
) -> Result<ClusterReport> {
    visit_clusters(set, options, &mut visit)
}

fn visit_clusters(
    set: &Set,
    options: &ClusterOptions,
    visit: VisitCluster<'_>,
) -> Result<ClusterReport> {
    at_width!(set, set => clusters_of(set, options, visit))
}

/// Is called with each cluster.
type VisitCluster<'a> = &'a mut dyn FnMut(Cluster<'_>) -> Result<()>;

fn clusters_of<F: Fingerprint>(
    segments: Typed<'_, F>,
    options: &ClusterOptions,
    visit: VisitCluster<'_>,
) -> Result<ClusterReport> {
    let mut finder = Finder::new(options)?;
    finder.gathered.extend_from_set(segments)?;
    let (budget, representative) = (finder.budget, options.representative);
    finder.find(
        visit,
        &mut |values, groups| match (segments.id_kind(), representative) {
            (IdKind::None, _) => Ok(Shared::new()),
            (_, Representative::First) => count_records::count(
                segments,
                values,
                groups,
                Some(&mut |_, id: Id<'_>| IdBuf::from(id)),
                &budget,
            ),
            (_, Representative::Central) => {
                count_records::count::<F, ()>(segments, values, groups, None, &budget)
            }
        },
    )
}

/// [`clusters`], where the record with the least key represents its cluster, and [`ClusterOptions::representative`] does not
/// count. `key` is called once for each record; of equal keys the one of the smaller fingerprint counts.
///
/// So the longest document of a cluster, or the one that came first, represents it: give each record its position as a
/// number id, and look up in `key` what is known of that position.
///
/// ```
/// use std::cmp::Reverse;
///
/// use simidx::batch::{ClusterOptions, clusters_by_key};
/// use simidx::Set;
/// use simidx::{BuildOptions, Id, IdKind, Index, IndexBuilder, Width};
///
/// let documents = [(0xff00u64, "a page"), (0xff01, "a page, and its footer"), (0x1234_5678, "another")];
/// let mut options = BuildOptions::default();
/// options.ids = IdKind::Number;
/// let mut builder = IndexBuilder::new(Width::W64, options)?;
/// for (&(fingerprint, _), position) in documents.iter().zip(0..) {
///     builder.push_with_id(fingerprint, position)?;
/// }
/// let mut file = Vec::new();
/// builder.finish(&mut file)?;
/// let set = Set::from_bytes(file)?;
///
/// let longest_first = |_, id: Id<'_>| match id {
///     Id::Number(position) => Reverse(documents[position as usize].1.len()),
///     Id::String(_) => Reverse(0),
/// };
/// let mut representatives = Vec::new();
/// clusters_by_key(&set, &ClusterOptions::default(), longest_first, |cluster| {
///     representatives.push(cluster.representative);
///     Ok(())
/// })?;
/// assert_eq!(representatives, [0xff01]);
/// # Ok::<(), simidx::Error>(())
/// ```
///
/// Memory: beside that of [`clusters`] one key for each cluster; what a key owns elsewhere does not count towards the limit.
///
/// # Errors
/// As for [`clusters`], and segments that have records but no ids.
pub fn clusters_by_key<K: Ord>(
    set: &Set,
    options: &ClusterOptions,
    mut key: impl FnMut(u128, Id<'_>) -> K,
    mut visit: impl FnMut(Cluster<'_>) -> Result<()>,
) -> Result<ClusterReport> {
    at_width!(set, set => {
        let key = |fingerprint, id: Id<'_>| key(Fingerprint::to_u128(fingerprint), id);
        clusters_of_by_key(set, options, key, &mut visit)
    })
}

fn clusters_of_by_key<F: Fingerprint, K: Ord>(
    segments: Typed<'_, F>,
    options: &ClusterOptions,
    mut key: impl FnMut(F, Id<'_>) -> K,
    visit: VisitCluster<'_>,
) -> Result<ClusterReport> {
    if segments.id_kind() == IdKind::None && !segments.is_empty() {
        let message = "only records with ids have keys, and the segments have no ids";
        return Err(Error::option("key", message));
    }
    let mut options = options.clone();
    options.representative = Representative::First;
    let mut finder = Finder::new(&options)?;
    finder.gathered.extend_from_set(segments)?;
    let budget = finder.budget;
    finder.find(visit, &mut |values, groups| {
        count_records::count(segments, values, groups, Some(&mut key), &budget)
    })
}

/// Finds clusters of distinct fingerprints, straight from the fingerprints.
///
/// A union-find over the fingerprints joins what a search like that of [`PairFinder`](crate::batch::PairFinder) links. In a
/// crowd where all are near each other it does not go through all pairs: of a group that agrees on a mask only as many
/// pairs are looked at as link it, so that a hundred thousand copies take no longer than others.
///
/// Memory: about 36 bytes for each distinct fingerprint of 64 bits while they are linked (24 of 32 bits, 60 of 128
/// bits), and about as much at most afterwards, by the number of clusters. What does not fit the limit of the options
/// is refused.
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

/// The search at its width.
#[derive(Debug)]
enum OfWidth {
    W32(Finder<u32>),
    W64(Finder<u64>),
    W128(Finder<u128>),
}

impl ClusterFinder {
    /// A search without fingerprints, for those of a width.
    ///
    /// # Errors
    /// A memory limit that is too small to be kept.
    pub fn new(width: Width, options: &ClusterOptions) -> Result<Self> {
        let finder = match width {
            Width::W32 => OfWidth::W32(Finder::new(options)?),
            Width::W64 => OfWidth::W64(Finder::new(options)?),
            Width::W128 => OfWidth::W128(Finder::new(options)?),
        };
        Ok(ClusterFinder { finder })
    }

    /// Adds a fingerprint; one that is there already changes nothing.
    ///
    /// # Errors
    /// A value that does not fit the width, and what keeps fingerprints that exceed the memory limit from being written to a
    /// temporary file.
    #[inline]
    pub fn push(&mut self, fingerprint: impl Fingerprint) -> Result<()> {
        self.push_value(fingerprint.to_u128())
    }

    fn push_value(&mut self, value: u128) -> Result<()> {
        by_width!(OfWidth, &mut self.finder, finder => finder.gathered.push(taken(value)?))
    }

    /// Adds the fingerprints of a column, which takes no copy of it.
    ///
    /// # Errors
    /// A column of another width, and as for [`ClusterFinder::push`].
    pub fn extend_from_slice<'c>(&mut self, fingerprints: impl Into<Column<'c>>) -> Result<()> {
        self.extend(fingerprints.into())
    }

    fn extend(&mut self, fingerprints: Column<'_>) -> Result<()> {
        by_width!(OfWidth, &mut self.finder, finder => {
            finder.gathered.extend(fingerprints.values()?)
        })
    }

    /// Calls `visit` with each cluster in order. It works on all threads of the current pool and calls `visit` on this
    /// one.
    ///
    /// # Errors
    /// More fingerprints than fit the memory limit, or than 2^32 - 2; what temporary files or `visit` report, after
    /// which `visit` is not called again.
    pub fn finish(self, mut visit: impl FnMut(Cluster<'_>) -> Result<()>) -> Result<ClusterReport> {
        self.give(&mut visit)
    }

    fn give(self, visit: VisitCluster<'_>) -> Result<ClusterReport> {
        by_width!(OfWidth, self.finder, finder => {
            finder.find(visit, &mut |_, _| Ok(Shared::new()))
        })
    }
}

/// A search among values of one type.
#[derive(Debug)]
struct Finder<F> {
    options: ClusterOptions,
    budget: MemoryBudget,
    gathered: Gathered<F>,
}

impl<F: Fingerprint> Finder<F> {
    fn new(options: &ClusterOptions) -> Result<Self> {
        let budget = MemoryBudget::new(options.memory)?;
        let temp = MemoryLimit::unlimited().temp(options.temp_dir.clone());
        Ok(Finder {
            options: options.clone(),
            budget,
            gathered: Gathered::new(temp, budget.bytes() / 3),
        })
    }

    /// [`ClusterFinder::finish`], where `count` counts the records of groups.
    fn find(
        self,
        visit: VisitCluster<'_>,
        count: &mut dyn FnMut(&[F], &mut Groups) -> Result<Shared>,
    ) -> Result<ClusterReport> {
        let (options, budget) = (self.options, self.budget);
        let values = distinct(self.gathered, &budget)?;
        let mut groups = Groups::of_linked(&values, &options, &budget)?;
        let shared = count(&values, &mut groups)?;
        groups.select(options.min_size);
        let found = Found {
            values: &values,
            groups: &groups,
            shared: &shared,
            options: &options,
        };
        found.give(visit)
    }
}

/// The distinct fingerprints that were given, ascending.
fn distinct<F: Fingerprint>(gathered: Gathered<F>, budget: &MemoryBudget) -> Result<Vec<F>> {
    let mut merge = match gathered.finish()? {
        Sorted::Memory(mut values) => {
            values.shrink_to_fit();
            return Ok(values);
        }
        Sorted::Runs(merge) => merge,
    };
    let mut values: Vec<F> = Vec::new();
    while let Some(round) = merge.next_round()? {
        // Equal ones may be spread over rounds.
        let repeated = !values.is_empty() && values.last() == round.first();
        let round = &round[usize::from(repeated)..];
        budget.check(values.len() + round.len(), 3 * F::BYTES)?;
        values.extend_from_slice(round);
    }
    Ok(values)
}

/// Clusters that are ready to be given.
struct Found<'a, F> {
    values: &'a [F],
    groups: &'a Groups,
    shared: &'a Shared,
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
            let representative = self.representative(group, &members);
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

    /// The values that are in no group: each has one record.
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

    fn representative(&self, group: &Group, members: &[F]) -> F {
        let ranks = self.groups.ranks(group);
        match self.options.representative {
            Representative::First => {
                let first = self.values.get(group.representative as usize);
                first.copied().unwrap_or(members[0])
            }
            Representative::Central => {
                let weights = ranks.iter().map(|&rank| self.record_count(rank));
                central::central(members.iter().copied().zip(weights))
            }
        }
    }

    /// Number of records of a value in a cluster.
    fn record_count(&self, rank: u32) -> u64 {
        let found = self.shared.binary_search_by_key(&rank, |&(rank, _)| rank);
        found.map_or(1, |at| self.shared[at].1)
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

/// Memory for fingerprints and what is known of each.
#[derive(Debug, Clone, Copy)]
struct MemoryBudget {
    bytes: usize,
}

impl MemoryBudget {
    /// # Errors
    /// A limit that is too small to be kept.
    fn new(memory: Option<u64>) -> Result<Self> {
        let bytes = MemoryLimit::new(memory)?.budget();
        Ok(MemoryBudget { bytes })
    }

    fn bytes(self) -> usize {
        self.bytes
    }

    /// Whether so many fingerprints fit, of which each takes so many bytes with all that is known of it.
    ///
    /// # Errors
    /// They do not.
    fn check(self, count: usize, each_len: usize) -> Result<()> {
        self.check_beside(0, count, each_len)
    }

    /// The same beside so many bytes.
    ///
    /// # Errors
    /// As for [`MemoryBudget::check`].
    fn check_beside(self, beside: usize, count: usize, each_len: usize) -> Result<()> {
        let needed = count.saturating_mul(each_len).saturating_add(beside);
        if needed <= self.bytes {
            return Ok(());
        }
        Err(Error::Budget {
            purpose: format!("clustering {count} distinct fingerprints"),
            needed: needed as u64,
            given: self.bytes as u64,
        })
    }
}
