//! Covering designs: fewer tables, or longer prefixes, than choosing bands.
//!
//! The bits outside the prefix of a table are a block of a (v, K, k)-covering: every k groups of bits lie in
//! one of them (Gordon, Kuperberg and Patashnik, "New constructions for covering designs", 1995). Masks over
//! groups are written with group 0, the lowest bits, as bit 0; the groups are numbered so that the first
//! table has the highest ones.

use super::TableDesign;
use super::bands::{all_positions, split};
use crate::fingerprint::Fingerprint;

/// Two triangles of three groups each, a table an edge: of three errors one triangle has at most one, which
/// leaves an edge free. Prefix of a third of the width.
const TRIANGLES: [u16; 6] = [0x30, 0x28, 0x18, 0x06, 0x05, 0x03];

/// Four of seven groups, for two errors: the complements of the lines of the Fano plane, of which one goes
/// through any two points.
const FANO: [u16; 7] = [0x78, 0x1b, 0x63, 0x2d, 0x55, 0x4e, 0x36];

/// Three of eight groups.
const EIGHT: [u16; 8] = [0xe0, 0x0b, 0x51, 0x98, 0x85, 0x2c, 0x46, 0x32];

/// The biplane 2-(11, 5, 2): two blocks meet in two groups, so that of the eleven some block avoids any three.
const BIPLANE: [u16; 11] = [
    0x7c0, 0x278, 0x456, 0x2a6, 0x60d, 0x165, 0x52a, 0x0cb, 0x313, 0x4b1, 0x19c,
];

/// The Steiner system S(3, 4, 8): every three of eight groups lie in exactly one block of four, and the
/// complement of a block is a block.
const STEINER: [u16; 14] = [
    0xf0, 0x55, 0x66, 0x3c, 0x99, 0xcc, 0xa5, 0x0f, 0x5a, 0xaa, 0x33, 0x69, 0x96, 0xc3,
];

impl<F: Fingerprint> TableDesign<F> {
    /// The covering designs for a distance, none for most.
    pub(super) fn coverings(max_distance: u32) -> Vec<Self> {
        let lists: &[(&[u16], usize)] = match max_distance {
            2 => &[(&FANO, 7)],
            3 => &[(&TRIANGLES, 6), (&EIGHT, 8), (&BIPLANE, 11), (&STEINER, 8)],
            _ => &[],
        };
        lists
            .iter()
            .flat_map(|&(masks, groups)| {
                let groups = balanced_groups::<F>(groups);
                let masks = masks.iter().map(|&mask| widen(mask, &groups)).collect();
                Self::from_masks(max_distance, masks)
            })
            .collect()
    }
}

/// The width cut into groups, group 0 the lowest bits. Six groups are three of each half, so that the longer
/// ones are shared out evenly between the triangles.
fn balanced_groups<F: Fingerprint>(count: usize) -> Vec<F> {
    let positions = all_positions::<F>();
    let mut groups = if count == 6 {
        let (high, low) = positions.split_at(positions.len() / 2);
        [split(high, 3), split(low, 3)].concat()
    } else {
        split(&positions, count)
    };
    groups.reverse();
    groups
}

/// The bits of the groups that a mask over groups names.
fn widen<F: Fingerprint>(mask: u16, groups: &[F]) -> F {
    let named = groups
        .iter()
        .enumerate()
        .filter(|(g, _)| mask >> g & 1 == 1);
    named.fold(F::ZERO, |bits, (_, &group)| bits | group)
}
