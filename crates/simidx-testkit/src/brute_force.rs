//! Pairs and clusters by comparing everything with everything.

use simidx::Fingerprint;
use simidx::batch::Pair;

use crate::sorted_set;

/// All pairs within a distance, by comparing all.
pub fn all_pairs<F: Fingerprint>(values: &[F], distance: u32) -> Vec<Pair> {
    let set = sorted_set(values);
    let mut found = Vec::new();
    for (i, &smaller) in set.iter().enumerate() {
        for &larger in &set[i + 1..] {
            if smaller.distance(larger) <= distance {
                found.push(Pair::new(smaller, larger));
            }
        }
    }
    found
}

/// The linked parts of a set, by walking from each value that has not been reached.
pub fn components<F: Fingerprint>(values: &[F], distance: u32) -> Vec<Vec<F>> {
    let mut left = sorted_set(values);
    let mut components = Vec::new();
    while let Some(start) = left.pop() {
        let mut component = vec![start];
        let mut next = 0;
        while let Some(&value) = component.get(next) {
            let near = |other: &F| value.distance(*other) <= distance;
            component.extend(left.iter().copied().filter(near));
            left.retain(|other| !near(other));
            next += 1;
        }
        component.sort_unstable();
        components.push(component);
    }
    components
}

/// The member with the least sum of distances to the others; each of them counts by its weight.
pub fn central<F: Fingerprint>(members: &[F], weight: &dyn Fn(F) -> u64) -> F {
    let sum = |x: F| -> u64 {
        let distances = members
            .iter()
            .map(|&y| u64::from(x.distance(y)) * weight(y));
        distances.sum()
    };
    members
        .iter()
        .copied()
        .min_by_key(|&x| (sum(x), x))
        .unwrap()
}
