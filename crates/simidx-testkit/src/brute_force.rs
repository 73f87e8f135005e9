//! Pairs and clusters by comparing all values with all.

use simidx::Fingerprint;
use simidx::batch::Pair;

use crate::sorted_set;

/// Returns all pairs within a distance, by comparing all values.
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

/// Returns the connected components of a set, by walking from each value that has not been reached.
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
