//! Sorting fingerprints: the one place that knows the sorting library.

use rdst::RadixSort;

use crate::design::Permuted;
use crate::fingerprint::Fingerprint;

/// Sorts in place, on all threads of the current pool. About 10 to 20 ns a value.
pub(crate) fn sort_fingerprints<F: Fingerprint>(values: &mut Vec<F>) {
    values.radix_sort_builder().with_low_mem_tuner().sort();
}

/// Sorts permuted values in place. They are unwrapped for that, which costs nothing: the collections
/// reuse the memory, and the sort is compiled for the bare numbers only.
pub(crate) fn sort_permuted<F: Fingerprint>(values: Vec<Permuted<F>>) -> Vec<Permuted<F>> {
    let mut bare: Vec<F> = values.into_iter().map(|value| value.0).collect();
    sort_fingerprints(&mut bare);
    bare.into_iter().map(Permuted).collect()
}
