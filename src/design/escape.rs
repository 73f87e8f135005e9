//! Probes of tables whose masks may overlap. The search for them also proves that they miss nothing.
//!
//! A difference *escapes* a table that is probed with r flips if it has more than r bits in the address. The
//! search enumerates the differences of at most k bits that escape all tables probed so far. It branches on
//! the bits of the first address that the difference does not escape yet. When a difference escapes all
//! tables, the search catches it with one more table or with more flips, and continues from there. Branches
//! that were closed before stay closed, because probes are only added. At the end, nothing escapes.

use std::ops::RangeInclusive;

use super::costs::Offers;
use super::probes::TableProbes;
use crate::fingerprint::Fingerprint;

/// Steps that a search takes for each mask before it starts.
const PREPARATION: u64 = 128;

/// Why a search ended without probes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Stop {
    /// Some difference escapes, whatever the search chooses.
    Escaped,
    /// The probes cost at least as much as the best ones known.
    TooDear,
    /// The allowed work is used up.
    Work,
}

/// Searches for probes with flips in the range `flips` for each table that cost less than `limit_ns`.
///
/// Subtracts its steps, of a few nanoseconds each, from `work`.
///
/// # Errors
/// The reason why no probes were found.
pub(super) fn search<F: Fingerprint>(
    masks: &[F],
    distance: u32,
    flips: RangeInclusive<u32>,
    offers: &Offers,
    limit_ns: f64,
    work: &mut u64,
) -> Result<(Vec<TableProbes>, f64), Stop> {
    *work = work
        .checked_sub(masks.len() as u64 * PREPARATION)
        .ok_or(Stop::Work)?;
    let addresses: Vec<Addresses<F>> = masks
        .iter()
        .map(|&mask| Addresses::new(mask, &flips, offers))
        .collect();
    let mut search = Search {
        classes: classes(&addresses),
        addresses: &addresses,
        offers,
        most_flips: *flips.end(),
        limit_ns,
        frozen: false,
        probed: Vec::new(),
        paid: vec![0.0; masks.len()],
        shared: vec![0; masks.len()],
        work,
    };
    search.close(F::ZERO, F::ZERO, distance)?;
    search.drop_redundant(distance);
    let ns = search.cost();
    let mut probes: Vec<TableProbes> = search.probed.iter().map(|p| p.probes(offers)).collect();
    probes.sort_by_key(|p| p.table);
    Ok((probes, ns))
}

/// The bits of a table that its probes may address.
#[derive(Debug, Clone, Copy)]
struct Addresses<F> {
    /// Without flips: the whole mask.
    whole: F,
    /// With flips: the highest bits of the mask, as many as are cheapest with the most flips.
    cut: F,
    least_flips: u32,
}

impl<F: Fingerprint> Addresses<F> {
    fn new(mask: F, flips: &RangeInclusive<u32>, offers: &Offers) -> Self {
        let bits = offers.best(mask.count_ones(), *flips.end()).address_bits;
        Addresses {
            whole: mask,
            cut: top_bits(mask, bits),
            least_flips: *flips.start(),
        }
    }

    fn with_flips(&self, flips: u32) -> F {
        if flips == 0 { self.whole } else { self.cut }
    }

    /// Returns the fewest flips that catch a difference.
    fn flips_for(&self, difference: F) -> u32 {
        if self.least_flips == 0 && self.whole & difference == F::ZERO {
            return 0;
        }
        (self.cut & difference)
            .count_ones()
            .max(self.least_flips.max(1))
    }
}

/// A table that is probed.
#[derive(Debug, Clone, Copy)]
struct Probed<F> {
    table: usize,
    flips: u32,
    address: F,
    ns: f64,
}

impl<F: Fingerprint> Probed<F> {
    fn new(table: usize, flips: u32, addresses: &[Addresses<F>], offers: &Offers) -> Self {
        let address = addresses[table].with_flips(flips);
        Probed {
            table,
            flips,
            address,
            ns: offers.best(address.count_ones(), flips).ns,
        }
    }

    /// Returns the probes at the cheapest address length, which is correct because a shorter address catches everything
    /// that a longer one does.
    fn probes(&self, offers: &Offers) -> TableProbes {
        let bits = self.address.count_ones();
        offers
            .best(bits, self.flips)
            .probes(self.table, self.flips, bits)
    }
}

struct Search<'a, F> {
    addresses: &'a [Addresses<F>],
    /// Sets of bits that lie in the same addresses, and need not be distinguished.
    classes: Vec<F>,
    offers: &'a Offers,
    most_flips: u32,
    limit_ns: f64,
    /// Whether the search only proves its probes, and may not add any.
    frozen: bool,
    probed: Vec<Probed<F>>,
    /// The cost of the probes of each table so far.
    paid: Vec<f64>,
    /// The number of bits that each table shares with the probed ones.
    shared: Vec<u32>,
    work: &'a mut u64,
}

impl<F: Fingerprint> Search<'_, F> {
    /// Ensures that no difference escapes that has all bits of `taken`, none of `barred` and at most `left` others.
    fn close(&mut self, taken: F, barred: F, left: u32) -> Result<(), Stop> {
        let branch = loop {
            match self.look(taken, barred, left)? {
                Look::Caught => return Ok(()),
                Look::Open(address) => break address,
                Look::Escapes => self.catch(taken)?,
            }
        };
        // The next bit of the address belongs to one of the classes. The classes before it are barred.
        let mut barred = barred;
        for i in 0..self.classes.len() {
            let class = self.classes[i];
            let bits = class & branch & !taken & !barred;
            if bits != F::ZERO {
                self.close(taken | top_bits(bits, 1), barred, left - 1)?;
                barred = barred | class;
            }
        }
        Ok(())
    }

    /// Returns whether differences that extend `taken` can escape. Costs one step for each probed table.
    ///
    /// In addresses without a common free bit, each bit of a difference counts once. If these addresses together need
    /// more than `left` bits, nothing escapes.
    fn look(&mut self, taken: F, barred: F, left: u32) -> Result<Look<F>, Stop> {
        self.spend(self.probed.len() + self.classes.len() / 4 + 1)?;
        let (mut first, mut packed, mut needed) = (None, F::ZERO, 0);
        for probed in &self.probed {
            let hit = probed.address & taken;
            let hits = if hit == F::ZERO { 0 } else { hit.count_ones() };
            if hits > probed.flips {
                continue;
            }
            let free = probed.address & !taken & !barred;
            first = first.or(Some(probed.address));
            if free & packed == F::ZERO {
                packed = packed | free;
                needed += probed.flips + 1 - hits;
                if needed > left {
                    return Ok(Look::Caught);
                }
            }
        }
        Ok(first.map_or(Look::Escapes, Look::Open))
    }

    /// Adds the cheapest probes that catch a difference. Prefers tables with new bits, because they catch more.
    fn catch(&mut self, difference: F) -> Result<(), Stop> {
        if self.frozen {
            return Err(Stop::Escaped);
        }
        self.spend(self.addresses.len() * 4)?;
        let mut cheapest: Option<(f64, Probed<F>)> = None;
        for (table, addresses) in self.addresses.iter().enumerate() {
            let flips = addresses.flips_for(difference);
            if flips > self.most_flips {
                continue;
            }
            let probed = Probed::new(table, flips, self.addresses, self.offers);
            let score = (probed.ns - self.paid[table]) * (1.0 + self.crowd(table));
            if cheapest.is_none_or(|(least, _)| score < least) {
                cheapest = Some((score, probed));
            }
        }
        let (_, probed) = cheapest.ok_or(Stop::Escaped)?;
        self.add(probed);
        if self.cost() < self.limit_ns {
            Ok(())
        } else {
            Err(Stop::TooDear)
        }
    }

    /// Adds a probed table, or flips to its probes.
    fn add(&mut self, probed: Probed<F>) {
        self.paid[probed.table] = probed.ns;
        match self.probed.iter_mut().find(|p| p.table == probed.table) {
            Some(known) => *known = probed,
            None => {
                self.probed.push(probed);
                for (shared, other) in self.shared.iter_mut().zip(self.addresses) {
                    *shared += (probed.address & other.cut).count_ones();
                }
            }
        }
    }

    /// Returns the average number of probed addresses that contain a bit of a table.
    fn crowd(&self, table: usize) -> f64 {
        let bits = self.addresses[table].cut.count_ones().max(1);
        f64::from(self.shared[table]) / f64::from(bits)
    }

    /// Removes unnecessary probes, as far as the allowed work permits.
    fn drop_redundant(&mut self, distance: u32) {
        self.frozen = true;
        for i in (0..self.probed.len()).rev() {
            let without = self.probed.remove(i);
            match self.close(F::ZERO, F::ZERO, distance) {
                Ok(()) => {}
                Err(stop) => {
                    self.probed.insert(i, without);
                    if stop == Stop::Work {
                        return;
                    }
                }
            }
        }
    }

    fn cost(&self) -> f64 {
        self.probed.iter().map(|p| p.ns).sum()
    }

    fn spend(&mut self, steps: usize) -> Result<(), Stop> {
        *self.work = self.work.checked_sub(steps as u64).ok_or(Stop::Work)?;
        Ok(())
    }
}

/// The result for the differences that extend a given one.
enum Look<F> {
    /// All are caught.
    Caught,
    /// The given difference escapes all probes so far.
    Escapes,
    /// Any difference that escapes has a further bit in this address.
    Open(F),
}

/// Returns the `count` highest bits of a mask, or all of them if it has fewer.
pub(super) fn top_bits<F: Fingerprint>(mask: F, count: u32) -> F {
    if count == 0 {
        return F::ZERO;
    }
    if mask.count_ones() <= count {
        return mask;
    }
    // Bisects for the number of low bits that can be cut off with enough left.
    let (mut enough, mut too_few) = (0, F::WIDTH);
    while too_few - enough > 1 {
        let middle = (enough + too_few) / 2;
        if (mask >> middle).count_ones() >= count {
            enough = middle;
        } else {
            too_few = middle;
        }
    }
    (mask >> enough) << enough
}

/// Groups the bits of the width by the addresses in which they lie.
fn classes<F: Fingerprint>(addresses: &[Addresses<F>]) -> Vec<F> {
    let mut classes = vec![F::MAX];
    for &Addresses { whole, cut, .. } in addresses {
        for set in [whole, cut] {
            if classes.len() == F::WIDTH as usize {
                return classes;
            }
            let parts = classes.iter().flat_map(|&c| [c & set, c & !set]);
            classes = parts.filter(|&part| part != F::ZERO).collect();
        }
    }
    classes
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::design::Costs;

    const ENOUGH: u64 = 1 << 24;

    fn found(
        masks: &[u32],
        distance: u32,
        flips: RangeInclusive<u32>,
        mut work: u64,
    ) -> Result<Vec<TableProbes>, Stop> {
        let offers = Offers::new(32, distance, 1 << 16, &Costs::DIRECT);
        let limit = f64::INFINITY;
        search(masks, distance, flips, &offers, limit, &mut work).map(|(probes, _)| probes)
    }

    /// Returns whether all patterns of at most `distance` of the low ten bits are caught.
    fn catches_all(masks: &[u32], probes: &[TableProbes], distance: u32) -> bool {
        let caught = |e: u32| {
            probes.iter().any(|p| {
                let address = top_bits(masks[p.table], p.address_bits);
                (address & e).count_ones() <= p.flips
            })
        };
        (0..1u32 << 10).all(|e| e.count_ones() > distance || caught(e))
    }

    /// Returns pseudorandom lists of masks over ten bits.
    fn lists() -> impl Iterator<Item = Vec<u32>> {
        (0..200u32).map(|list| {
            let count = 1 + list % 7;
            let scramble = |i: u32| {
                (list * 7 + i)
                    .wrapping_mul(0x9e37_79b9)
                    .rotate_left(list % 31)
            };
            (0..count).map(|i| scramble(i) & 0x3ff).collect()
        })
    }

    #[test]
    fn finds_probes_exactly_where_there_are_some_and_they_miss_nothing() {
        for masks in lists() {
            for distance in 0..=5 {
                let full = |flips: u32| -> Vec<TableProbes> {
                    let tables = masks.iter().enumerate();
                    tables
                        .map(|(table, mask)| TableProbes {
                            range_bits: 0,
                            table,
                            address_bits: mask.count_ones(),
                            flips,
                            prefix_bits: mask.count_ones(),
                        })
                        .collect()
                };
                match found(&masks, distance, 0..=0, ENOUGH) {
                    Ok(probes) => assert!(catches_all(&masks, &probes, distance)),
                    Err(stop) => {
                        assert_eq!(stop, Stop::Escaped);
                        assert!(!catches_all(&masks, &full(0), distance));
                    }
                }
                for flips in [0..=1, 1..=1, 0..=2, 2..=2] {
                    match found(&masks, distance, flips.clone(), ENOUGH) {
                        Ok(probes) => assert!(catches_all(&masks, &probes, distance)),
                        // Shortened addresses also catch what full ones catch.
                        Err(_) => assert!(!catches_all(&masks, &full(*flips.end()), distance)),
                    }
                }
            }
        }
    }

    #[test]
    fn no_probe_of_the_answer_is_redundant() {
        for masks in lists() {
            let Ok(probes) = found(&masks, 2, 0..=1, ENOUGH) else {
                continue;
            };
            for i in 0..probes.len() {
                let mut fewer = probes.clone();
                fewer.remove(i);
                assert!(!catches_all(&masks, &fewer, 2), "{masks:x?} {probes:?}");
            }
        }
    }

    #[test]
    fn stops_when_the_work_is_used_up_or_the_cost_too_high() {
        let masks = [0xffff_0000, 0xffff];
        assert_eq!(found(&masks, 1, 0..=0, 10), Err(Stop::Work));
        assert_eq!(found(&masks, 1, 0..=0, 258), Err(Stop::Work));
        assert!(found(&masks, 1, 0..=0, 1000).is_ok());
        let offers = Offers::new(32, 1, 1 << 16, &Costs::DIRECT);
        let dear = search(&masks, 1, 0..=0, &offers, 61.0, &mut ENOUGH.clone());
        assert_eq!(dear, Err(Stop::TooDear));
    }

    #[test]
    fn top_bits_are_the_highest() {
        assert_eq!(top_bits(0x0f0f_0f0fu32, 6), 0x0f0c_0000);
        assert_eq!(top_bits(0x0f0f_0f0fu32, 0), 0);
        assert_eq!(top_bits(0x0f0f_0f0fu32, 16), 0x0f0f_0f0f);
        assert_eq!(top_bits(0x0f0f_0f0fu32, 99), 0x0f0f_0f0f);
        assert_eq!(top_bits(u128::MAX, 1), 1 << 127);
        assert_eq!(top_bits(1u64, 1), 1);
    }

    #[test]
    fn classes_are_the_finest_sets_that_no_address_splits() {
        let address = |whole, cut| Addresses {
            whole,
            cut,
            least_flips: 0,
        };
        let classes = classes(&[
            address(0xffff_0000u32, 0xff00_0000),
            address(0xff_ff00, 0xff_0000),
        ]);
        let mut sorted = classes.clone();
        sorted.sort_unstable();
        assert_eq!(sorted, [0xff, 0xff00, 0xff_0000, 0xff00_0000]);
    }
}
