//! Covering designs: fewer tables, or longer prefixes, than choosing bands.
//!
//! The bits outside the prefix of a table are a block of a (v, K, k)-covering: any k groups of bits lie in one of the
//! blocks (Gordon, Kuperberg and Patashnik, "New constructions for covering designs", 1995). In masks over groups, bit
//! 0 is group 0, the lowest bits. Groups are numbered so that the first table has the highest ones.

use super::TableDesign;
use super::bands::{all_positions, split};
use crate::error::OptionsError;
use crate::fingerprint::{Fingerprints, Width};

/// A covering design over groups of bits, for any width.
///
/// ```
/// use simidx::Width;
/// use simidx::design::{COVERING_8, Coverage, TableDesign};
///
/// let design = TableDesign::covering(Width::W64, &COVERING_8)?;
/// assert_eq!((design.table_count(), design.min_prefix_bits()), (8, 24));
/// assert_eq!(design.coverage(3), Coverage::Complete);
/// # Ok::<(), simidx::Error>(())
/// ```
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Covering {
    /// The distance up to which probes need no flips, k.
    pub max_distance: u32,
    /// Number of groups; equal runs of bits as far as the width allows.
    pub group_count: u32,
    /// The groups in the prefix of each table; bit 0 is group 0, the lowest bits of the fingerprint.
    pub masks: &'static [u16],
}

/// Six tables for k = 3 with a third of the width as prefix, 21 of 64 bits: two triangles of three groups, one table
/// for each edge. One of the triangles contains at most one of three errors, which leaves an edge free.
pub const COVERING_6: Covering = Covering {
    max_distance: 3,
    group_count: 6,
    masks: &[0x30, 0x28, 0x18, 0x06, 0x05, 0x03],
};

/// Seven tables for k = 2 with four of seven groups as prefix, 36 of 64 bits: the complements of the lines of the Fano
/// plane, where any two points are on one line.
pub const COVERING_7: Covering = Covering {
    max_distance: 2,
    group_count: 7,
    masks: &[0x78, 0x1b, 0x63, 0x2d, 0x55, 0x4e, 0x36],
};

/// Eight tables for k = 3 with three of eight groups as prefix, 24 of 64 bits: the complements of the blocks of
/// an (8, 5, 3) covering. The groups of 64 bits are bytes.
pub const COVERING_8: Covering = Covering {
    max_distance: 3,
    group_count: 8,
    masks: &[0xe0, 0x0b, 0x51, 0x98, 0x85, 0x2c, 0x46, 0x32],
};

/// Eleven tables for k = 3 with five of eleven groups as prefix, 28 of 64 bits: the blocks of the biplane 2-(11, 5, 2).
/// Two blocks meet in two groups, so some block avoids any three groups.
pub const COVERING_11: Covering = Covering {
    max_distance: 3,
    group_count: 11,
    masks: &[
        0x7c0, 0x278, 0x456, 0x2a6, 0x60d, 0x165, 0x52a, 0x0cb, 0x313, 0x4b1, 0x19c,
    ],
};

/// Fourteen tables for k = 3 with half of the width as prefix: the Steiner system S(3, 4, 8). Every three of
/// eight groups lie in exactly one block of four, and the complement of a block is a block. The groups of 64
/// bits are bytes.
pub const COVERING_14: Covering = Covering {
    max_distance: 3,
    group_count: 8,
    masks: &[
        0xf0, 0x55, 0x66, 0x3c, 0x99, 0xcc, 0xa5, 0x0f, 0x5a, 0xaa, 0x33, 0x69, 0x96, 0xc3,
    ],
};

/// All covering designs of this crate.
pub(crate) const COVERINGS: [Covering; 5] =
    [COVERING_6, COVERING_7, COVERING_8, COVERING_11, COVERING_14];

impl TableDesign {
    /// Creates the tables of a covering design, whose groups are runs of bits of the width.
    ///
    /// # Errors
    /// A custom design with more groups than bits, or that [`TableDesign::from_masks`] refuses.
    #[doc(hidden)]
    pub fn covering(width: Width, covering: &Covering) -> Result<Self, OptionsError> {
        if !(1..=width.bits()).contains(&covering.group_count) {
            let message = format!("{width} bits make no {} groups", covering.group_count);
            return Err(OptionsError::new("max_distance", message));
        }
        let masks = covering.masks_over(&all_positions(width));
        Self::checked(covering.max_distance, Fingerprints::collect(width, masks))
    }
}

impl Covering {
    /// Returns the mask of each table if the groups are runs of these bits; there must be at least as many bits as
    /// groups.
    pub(crate) fn masks_over(&self, positions: &[u128]) -> Vec<u128> {
        let groups = balanced_groups(positions, self.group_count as usize);
        let masks = self.masks.iter();
        masks.map(|&mask| widen(mask, &groups)).collect()
    }
}

/// Cuts bits into groups, group 0 last. Six groups are three in each half, so that the longer groups are evenly divided
/// between the triangles.
fn balanced_groups(positions: &[u128], count: usize) -> Vec<u128> {
    let mut groups = if count == 6 {
        let (high, low) = positions.split_at(positions.len() / 2);
        [split(high, 3), split(low, 3)].concat()
    } else {
        split(positions, count)
    };
    groups.reverse();
    groups
}

/// Returns the bits of the groups in a mask over groups.
fn widen(mask: u16, groups: &[u128]) -> u128 {
    let named = groups
        .iter()
        .enumerate()
        .filter(|(g, _)| mask >> g & 1 == 1);
    named.fold(0, |bits, (_, &group)| bits | group)
}
