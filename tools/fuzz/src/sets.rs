//! Small sets of fingerprints in clusters, and tables for them, made of arbitrary input.

use arbitrary::Arbitrary;
use simidx::design::TableDesign;
use simidx::{BuildOptions, Codec, Fingerprint, Width};

/// The width that a number of an input chooses, as `arbitrary` chooses a variant.
pub fn width(number: u32) -> Width {
    let place = (u64::from(number) * Width::ALL.len() as u64) >> 32;
    Width::ALL[place as usize]
}

/// Fingerprints near a few centres.
#[derive(Debug, Arbitrary)]
pub struct Values {
    centres: [u128; 3],
    members: Vec<Member>,
}

/// A centre with some bits changed, or the number so far above it.
#[derive(Debug, Clone, Copy, Arbitrary)]
struct Member {
    centre: u8,
    flips: [u8; 3],
    above: u8,
}

/// Most members of a set: brute force compares all with all.
const MOST_MEMBERS: usize = 300;

impl Values {
    /// The members, with duplicates, in no order.
    pub fn fingerprints<F: Fingerprint>(&self) -> Vec<F> {
        let members = self.members.iter().take(MOST_MEMBERS);
        members.map(|member| member.get(&self.centres)).collect()
    }
}

impl Member {
    fn get<F: Fingerprint>(self, centres: &[u128; 3]) -> F {
        let centre: F = F::from_u128(centres[usize::from(self.centre % 3)]);
        let flip = |value: F, &bit: &u8| match u32::from(bit) {
            // Most bytes change a bit, the larger ones none.
            bit if bit < 192 => value ^ F::from_u128(1) << (bit % F::WIDTH),
            _ => value,
        };
        let above = F::from_u128(self.above.into());
        self.flips.iter().fold(centre, flip).wrapping_add(above)
    }
}

/// The tables of an index.
#[derive(Debug, Arbitrary)]
pub enum Design {
    /// The planner chooses.
    Planned,
    /// Bands of which errors are flipped.
    Partition(u8),
    /// Choices of bands.
    Bands(u8),
    /// One that the catalogue has.
    Listed(u8),
    /// Masks of any bits, behind one of leading bits.
    Masks(u8, [u128; 3]),
}

impl Design {
    /// The design, if there is one such.
    fn get<F: Fingerprint>(&self, k: u32) -> Option<TableDesign> {
        match *self {
            Design::Planned => None,
            Design::Partition(bands) => {
                TableDesign::partition(Width::of::<F>(), k, u32::from(bands % 8) + 1).ok()
            }
            Design::Bands(more) => {
                TableDesign::choose_bands(Width::of::<F>(), k, k + 1 + u32::from(more % 3)).ok()
            }
            Design::Listed(number) => {
                let mut designs = TableDesign::available(Width::of::<F>(), k);
                designs.retain(|design| design.table_count() <= 24);
                let number = usize::from(number).checked_rem(designs.len())?;
                Some(designs.swap_remove(number))
            }
            Design::Masks(leading, others) => {
                let leading = match u32::from(leading) % (F::WIDTH + 1) {
                    0 => F::ZERO,
                    bits => F::MAX << (F::WIDTH - bits),
                };
                let mut masks = vec![leading];
                masks.extend(others.map(F::from_u128));
                TableDesign::from_masks(k, masks).ok()
            }
        }
    }
}

/// Options of an index without ids.
#[derive(Debug, Arbitrary)]
pub struct Tables {
    max_distance: u8,
    design: Design,
    codec: Option<u8>,
    block_size: u8,
}

impl Tables {
    /// The options that this calls for.
    pub fn options<F: Fingerprint>(&self) -> BuildOptions {
        let mut options = BuildOptions::default();
        options.max_distance = u32::from(self.max_distance % 7);
        options.design = self.design.get::<F>(options.max_distance);
        options.codec = self
            .codec
            .map(|n| Codec::ALL[usize::from(n) % Codec::ALL.len()]);
        options.block_size = 128 << (self.block_size % 4);
        options
    }
}
