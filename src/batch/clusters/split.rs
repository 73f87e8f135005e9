//! Splitting a cluster that is too wide, so that no part is wider than wanted.

use super::central::from_the_middle;
use crate::fingerprint::Fingerprint;

/// Members of a part that the further ones are compared with: enough for any real group of copies, few enough to stay
/// quick.
const RIM: usize = 1024;

/// Parts of distinct members, as numbers of members: no two members of a part differ in more than `widest` bits.
///
/// Members take turns in the order of the sum of their distances to all, then of their value. One that is in no part
/// yet starts one and takes others that are in none: all within half of `widest`, for these are near enough to each
/// other by the triangle inequality; then, nearest first and by value, each within `widest` of it and of all taken so
/// far, until 1,024 of these further ones are taken. The order of the members makes no difference.
///
/// Time: the parts times the members, at about a nanosecond, and the comparisons of the further ones.
pub(super) fn split<F: Fingerprint>(members: &[F], widest: u32) -> Vec<Vec<u32>> {
    let mut left = from_the_middle(members);
    let mut parts = Vec::new();
    let mut taken = vec![false; members.len()];
    while let Some(&(_, leader, _)) = left.first() {
        let part = part_around(leader, &left, widest);
        part.iter().for_each(|&n| taken[n as usize] = true);
        left.retain(|&(.., n)| !taken[n as usize]);
        parts.push(part);
    }
    parts
}

/// The part that a member starts with what is left.
fn part_around<F: Fingerprint>(leader: F, left: &[(i64, F, u32)], widest: u32) -> Vec<u32> {
    let mut near: Vec<(u32, F, u32)> = left
        .iter()
        .map(|&(_, member, number)| (leader.distance(member), member, number))
        .filter(|&(distance, ..)| distance <= widest)
        .collect();
    near.sort_unstable();
    let inner = near.partition_point(|&(distance, ..)| distance <= widest / 2);
    // The farthest of the inner ones come last: only those can be too far from one outside.
    let mut part = near[..inner].to_vec();
    for &outer in &near[inner..] {
        if part.len() - inner == RIM {
            break;
        }
        if fits(outer, &part, widest) {
            part.push(outer);
        }
    }
    part.into_iter().map(|(.., number)| number).collect()
}

/// Whether a member is near enough to all of a part, whose members come by their distance from the same leader.
fn fits<F: Fingerprint>(
    (radius, member, _): (u32, F, u32),
    part: &[(u32, F, u32)],
    widest: u32,
) -> bool {
    let doubtful = part.iter().rev();
    doubtful
        .take_while(|(other, ..)| radius + other > widest)
        .all(|(_, other, _)| member.distance(*other) <= widest)
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    /// The parts as sets of members.
    fn parts_of(members: &[u32], widest: u32) -> Vec<Vec<u32>> {
        let parts = split(members, widest).into_iter();
        let part = |part: Vec<u32>| {
            let mut part: Vec<u32> = part.into_iter().map(|n| members[n as usize]).collect();
            part.sort_unstable();
            part
        };
        parts.map(part).collect()
    }

    proptest! {
        #[test]
        fn no_part_is_wider_than_wanted_and_nobody_is_lost(
            members in prop::collection::btree_set(0u32..1 << 12, 0..150), widest in 0u32..10,
        ) {
            let mut members: Vec<u32> = members.into_iter().collect();
            let parts = parts_of(&members, widest);
            for part in &parts {
                for x in part {
                    prop_assert!(part.iter().all(|y| x.distance(*y) <= widest));
                }
            }
            let mut all = parts.concat();
            all.sort_unstable();
            prop_assert_eq!(&all, &members);
            members.reverse();
            prop_assert_eq!(parts_of(&members, widest), parts);
        }
    }

    #[test]
    fn a_chain_falls_apart_around_its_middle() {
        let chain = [0, 0b111, 0b11_1111, 0b1_1111_1111];
        let parts = parts_of(&chain, 6);
        assert_eq!(parts, [vec![0, 0b111, 0b11_1111], vec![0b1_1111_1111]]);
        assert_eq!(parts_of(&chain, 0).len(), 4);
    }
}
