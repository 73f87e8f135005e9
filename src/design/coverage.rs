//! The proof that a list of prefix masks misses nothing within a distance.

/// The most partial differences that a check examines, to bound its time. The designs of this crate stay far below it
/// (spec, section 13).
const NODE_LIMIT: u32 = 1 << 20;

/// The result of a coverage check.
///
/// ```
/// use simidx::Width;
/// use simidx::design::{Coverage, TableDesign};
///
/// let halves = TableDesign::partition(Width::W64, 3, 2)?;
/// assert_eq!(halves.coverage(1), Coverage::Complete);
/// assert!(matches!(halves.coverage(2), Coverage::Misses(bits) if bits.count_ones() == 2));
/// # Ok::<(), simidx::Error>(())
/// ```
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub enum Coverage {
    /// Every difference within the distance leaves some mask untouched.
    Complete,
    /// If all these bits differ, they touch every mask.
    Misses(u128),
    /// The masks are so irregular that the check gave up.
    TooComplex,
}

/// Searches for at most `distance` bits that touch every mask.
///
/// A set that touches all masks touches the first mask that it does not yet touch, so branching on the bits of that
/// mask is enough. Bits that belong to the same masks are equivalent, and one of them represents all.
pub(crate) fn check(masks: &[u128], distance: u32) -> Coverage {
    let mut search = Search {
        masks,
        representatives: representatives(masks),
        nodes: 0,
    };
    search.extend(0, distance)
}

struct Search<'a> {
    masks: &'a [u128],
    representatives: Vec<u128>,
    nodes: u32,
}

impl Search<'_> {
    fn extend(&mut self, touched: u128, left: u32) -> Coverage {
        self.nodes += 1;
        if self.nodes > NODE_LIMIT {
            return Coverage::TooComplex;
        }
        let Some(&free) = self.masks.iter().find(|&&m| m & touched == 0) else {
            return Coverage::Misses(touched);
        };
        if left == 0 {
            return Coverage::Complete;
        }
        for i in 0..self.representatives.len() {
            let bit = self.representatives[i];
            if bit & free == 0 {
                continue;
            }
            match self.extend(touched | bit, left - 1) {
                Coverage::Complete => {}
                found => return found,
            }
        }
        Coverage::Complete
    }
}

/// Returns one bit for each set of bits that belong to exactly the same masks.
fn representatives(masks: &[u128]) -> Vec<u128> {
    let mut seen: Vec<(Vec<bool>, u128)> = Vec::new();
    for position in 0..u128::BITS {
        let bit = 1 << position;
        let member: Vec<bool> = masks.iter().map(|&m| m & bit != 0).collect();
        if !seen.iter().any(|(other, _)| *other == member) {
            seen.push((member, bit));
        }
    }
    seen.into_iter().map(|(_, bit)| bit).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn agrees_with_enumeration_on_every_pair_of_byte_masks() {
        for a in 0..=255u128 {
            for b in [0, 1, 0x0f, 0xf0, 0x3c, 0xff, a] {
                for distance in 0..=3 {
                    let missed = (0..=255u128)
                        .any(|e| e.count_ones() <= distance && e & a != 0 && e & b != 0);
                    let found = check(&[a, b], distance);
                    assert_eq!(
                        found != Coverage::Complete,
                        missed,
                        "whether {distance} bits can touch both masks {a:#x} and {b:#x}"
                    );
                }
            }
        }
    }

    #[test]
    fn gives_up_on_masks_that_would_take_for_ever() {
        let masks: Vec<u128> = (0..255u32)
            .map(|i| 0x9e37_79b9_7f4a_7c15_f39c_c060_5ced_c835u128.rotate_left(i * 37))
            .collect();
        assert_eq!(check(&masks, 2), Coverage::Complete);
        assert_ne!(check(&masks, 60), Coverage::Complete);
    }
}
