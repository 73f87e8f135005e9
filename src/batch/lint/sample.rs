//! Which fingerprints of a large set are looked at.

/// One of every so many, at a place that a hash of their number decides: a set that is dense or regular may repeat itself
/// every so many, and a fixed place would then see always the same.
pub(super) struct Sample {
    /// Positions of which one is taken.
    step: u64,
    position: u64,
    /// The position to be taken among these.
    taken: u64,
}

impl Sample {
    /// At most `most` of at most `count` positions, always the same; the first one is among them, so that there is one
    /// however many positions come in the end.
    pub(super) fn new(count: u64, most: u64) -> Self {
        let step = count.div_ceil(most.max(1)).max(1);
        Sample {
            step,
            position: 0,
            taken: 0,
        }
    }

    /// Whether the next position is taken.
    pub(super) fn takes_next(&mut self) -> bool {
        let position = self.position;
        self.position += 1;
        let is_taken = position == self.taken;
        if self.position.is_multiple_of(self.step) {
            let group = self.position / self.step;
            self.taken = self.position + place(group, self.step);
        }
        is_taken
    }
}

/// A number below `step` that looks like chance: the high half of a product is spread evenly.
fn place(group: u64, step: u64) -> u64 {
    ((u128::from(mix(group)) * u128::from(step)) >> 64) as u64
}

/// Two rounds of a multiplication by an odd number, each followed by the high bits upon the low ones.
fn mix(number: u64) -> u64 {
    const SEED: u64 = 0x5195_d1ab_0c3f_e2c9;
    const ODD: u64 = 0xd6e8_feb8_6659_fd93;
    let mixed = (number ^ SEED).wrapping_mul(ODD);
    let mixed = (mixed ^ mixed >> 32).wrapping_mul(ODD);
    mixed ^ mixed >> 32
}

#[cfg(test)]
mod tests {
    use super::*;

    fn taken(count: u64, most: u64) -> Vec<u64> {
        let mut sample = Sample::new(count, most);
        (0..count).filter(|_| sample.takes_next()).collect()
    }

    #[test]
    fn one_of_every_so_many_is_taken() {
        assert_eq!(taken(100, 100), (0..100).collect::<Vec<_>>());
        assert_eq!(taken(100, u64::MAX).len(), 100);
        assert!(taken(0, 5).is_empty());
        for (count, most) in [(100_000u64, 1000), (65_536, 4096), (1000, 999), (7, 1)] {
            let step = count.div_ceil(most);
            let groups: Vec<u64> = taken(count, most)
                .iter()
                .map(|place| place / step)
                .collect();
            assert!(groups.windows(2).all(|two| two[0] < two[1]));
            assert!(groups.len() as u64 <= most);
            // Only of the last group, if it is not whole, nothing may be taken.
            assert!(groups.len() as u64 >= count / step);
        }
        assert_eq!(taken(9999, 77), taken(9999, 77));
        // Fewer may come than were said.
        for count in 1..1000 {
            assert!(Sample::new(count * 1000, 1).takes_next());
        }
    }

    #[test]
    fn places_within_groups_are_spread_evenly() {
        let step = 16;
        let mut counts = [[0u32; 16]; 16];
        let places: Vec<u64> = taken(1 << 20, 1 << 16)
            .iter()
            .map(|place| place % step)
            .collect();
        for two in places.windows(2) {
            counts[two[0] as usize][two[1] as usize] += 1;
        }
        // Chance would have 256 each, and 16 more or less in two cases of three.
        let all = counts.iter().flatten();
        assert!(
            all.clone().all(|&count| (156..356).contains(&count)),
            "{counts:?}"
        );
    }
}
