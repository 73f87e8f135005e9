//! The diameter of a set of fingerprints: the largest distance between two of them.

use std::cmp::Reverse;

use super::central::majority;
use crate::cpu::{Cpu, Work, dispatch};
use crate::fingerprint::Fingerprint;

/// Members up to which the diameter is always exact.
pub(super) const EXACT_MEMBERS: usize = 1 << 14;

/// Walks to the farthest member and from there on to the farthest one.
const WALKS: usize = 4;

/// The largest distance between two members of a cluster.
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
///     assert!(cluster.diameter.is_exact && cluster.diameter.distance == 2);
///     Ok(())
/// })?;
/// assert_eq!(report.cluster_count, 1);
/// # Ok::<(), simidx::Error>(())
/// ```
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub struct Diameter {
    /// Bits in which two of the members differ. If it is not exact, others may differ in more, but in no more than
    /// twice as many.
    pub distance: u32,
    /// Whether no two members differ in more bits; always so for up to 16,384 fingerprints.
    pub is_exact: bool,
}

impl Diameter {
    pub(super) fn exact(distance: u32) -> Self {
        Diameter {
            distance,
            is_exact: true,
        }
    }

    /// Whether two members may differ in more bits than this.
    pub(super) fn may_exceed(self, distance: u32) -> bool {
        match self.is_exact {
            true => self.distance > distance,
            false => self.distance.saturating_mul(2) > distance,
        }
    }

    /// The diameter of distinct members. Changes their order.
    pub(super) fn of<F: Fingerprint>(members: &mut [F]) -> Self {
        Self::within(members, EXACT_MEMBERS)
    }

    /// [`Diameter::of`], searched for without a doubt up to so many members.
    fn within<F: Fingerprint>(members: &mut [F], exact_members: usize) -> Self {
        match members {
            [] | [_] => return Self::exact(0),
            &mut [x, y] => return Self::exact(x.distance(y)),
            _ => {}
        }
        let least = walk(members);
        let first = members[0];
        let differences = members.iter().map(|&member| member ^ first);
        let varying = differences.fold(F::ZERO, |all, bits| all | bits);
        if least == varying.count_ones() {
            return Self::exact(least);
        }
        let centre = majority(members);
        members.sort_unstable_by_key(|member| Reverse(centre.distance(*member)));
        // By the triangle inequality.
        let around = centre.distance(members[0]) + centre.distance(members[1]);
        let most = around.min(varying.count_ones()).min(2 * least);
        if least >= most || members.len() <= exact_members {
            return Self::exact(search(members, centre, least, most));
        }
        Diameter {
            distance: least,
            is_exact: false,
        }
    }
}

/// A distance between two members that is at least half of the largest, and mostly the largest.
fn walk<F: Fingerprint>(members: &[F]) -> u32 {
    let (mut from, mut longest) = (members[0], 0);
    for _ in 0..WALKS {
        let (distance, to) = farthest(from, members);
        if distance <= longest {
            break;
        }
        (from, longest) = (to, distance);
    }
    longest
}

/// The first of the members that are farthest away.
fn farthest<F: Fingerprint>(from: F, members: &[F]) -> (u32, F) {
    let distance = dispatch(Farthest { from, members });
    let is_there = |member: &&F| from.distance(**member) == distance;
    let member = members.iter().find(is_there).copied();
    (distance, member.unwrap_or(from))
}

struct Farthest<'a, F> {
    from: F,
    members: &'a [F],
}

impl<F: Fingerprint> Work for Farthest<'_, F> {
    type Output = u32;

    #[inline(always)]
    fn run<C: Cpu>(self, _: C) -> u32 {
        let mut most = 0;
        for &member in self.members {
            most = most.max((self.from ^ member).count_ones());
        }
        most
    }
}

/// The largest distance between two members, known to lie between two values. They come by their distance from a point
/// in their middle, the farthest first: two of them are no farther from each other than from the point together.
fn search<F: Fingerprint>(members: &[F], centre: F, least: u32, most: u32) -> u32 {
    let mut longest = least;
    let mut rest = members;
    while let [from, others @ ..] = rest {
        let radius = centre.distance(*from);
        let count = others.partition_point(|&other| radius + centre.distance(other) > longest);
        if count == 0 || longest >= most {
            break;
        }
        longest = longest.max(dispatch(Farthest {
            from: *from,
            members: &others[..count],
        }));
        rest = others;
    }
    longest
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    proptest! {
        #[test]
        fn it_is_the_largest_of_all_distances(
            members in prop::collection::btree_set(any::<u32>(), 1..200), kept: u32, narrow: u32,
        ) {
            let members: std::collections::BTreeSet<u32> = members.iter().map(|m| m & kept & narrow).collect();
            let mut members: Vec<u32> = members.into_iter().collect();
            let distances = members.iter().flat_map(|x| members.iter().map(|y| x.distance(*y)));
            let expected = distances.max().unwrap();
            prop_assert_eq!(Diameter::of(&mut members), Diameter::exact(expected));
            let bound = Diameter::within(&mut members, 0);
            prop_assert!(bound.distance <= expected && expected <= 2 * bound.distance);
            prop_assert!(!bound.is_exact || bound.distance == expected);
        }
    }
}
