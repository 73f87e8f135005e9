//! The baseline: the fastest ways there are to sort an array of fingerprints.

use std::time::Instant;

use rayon::prelude::*;
use simidx::Fingerprint;
#[cfg(target_pointer_width = "64")]
use voracious_radix_sort::RadixSort;

/// A way to sort on a number of threads.
type Kernel = fn(&mut [u64], usize);

/// A sort, and whether it can use more than one thread.
const SORTS: &[(&str, bool, Kernel)] = &[
    ("std sort_unstable", false, |v, _| v.sort_unstable()),
    ("rayon par_sort_unstable", true, |v, _| {
        v.par_sort_unstable();
    }),
    ("rdst, as in builds", true, |v, _| Fingerprint::sort(v)),
    #[cfg(target_pointer_width = "64")]
    ("voracious_mt_sort", true, |v, n| v.voracious_mt_sort(n)),
];

/// A sort at a number of threads.
pub(crate) struct Sort {
    pub(crate) name: &'static str,
    pub(crate) threads: usize,
    kernel: Kernel,
}

/// Every sort at every number of threads that it can use.
pub(crate) fn sorts(all_threads: usize) -> Vec<Sort> {
    let mut sorts = Vec::new();
    for &(name, is_parallel, kernel) in SORTS {
        let counts = thread_counts(if is_parallel { all_threads } else { 1 });
        sorts.extend(counts.into_iter().map(|threads| Sort {
            name,
            threads,
            kernel,
        }));
    }
    sorts
}

/// The powers of two up to `all`, and `all`.
pub(crate) fn thread_counts(all: usize) -> Vec<usize> {
    let powers = (0..).map(|exponent| 1 << exponent);
    let mut counts: Vec<usize> = powers.take_while(|&count| count < all).collect();
    counts.push(all);
    counts
}

/// Runs `work` on `count` threads.
pub(crate) fn on_threads<T: Send>(count: usize, work: impl FnOnce() -> T + Send) -> T {
    let pool = rayon::ThreadPoolBuilder::new().num_threads(count).build();
    pool.expect("threads can be started").install(work)
}

/// Seconds that each sort takes for `fingerprints`, in memory that is there already.
pub(crate) fn measure(sorts: &[Sort], fingerprints: &[u64]) -> Vec<f64> {
    let mut copy = fingerprints.to_vec();
    let mut one = |sort: &Sort| {
        copy.copy_from_slice(fingerprints);
        let seconds = on_threads(sort.threads, || {
            let started = Instant::now();
            (sort.kernel)(&mut copy, sort.threads);
            started.elapsed().as_secs_f64()
        });
        assert!(copy.is_sorted(), "{} does not sort", sort.name);
        seconds
    };
    sorts.iter().map(&mut one).collect()
}
