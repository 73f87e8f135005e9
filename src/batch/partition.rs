//! Groups values in memory that agree on a mask, by two counting passes instead of sorting.
//!
//! The first pass scatters each chunk of the values to buckets within a chunk of a second list. A chunk fits into the
//! cache and is the work of one thread. The second pass takes the parts of one bucket from all chunks and scatters them
//! to groups in a small list.

use super::cover::Bits;
use super::emit::Emitter;
use super::group::{Rule, compare_pairs, search};
use super::ordered::{Give, Worker, in_order};
use crate::cpu::{Cpu, Work, dispatch};
use crate::design::Permutation;
use crate::error::Result;
use crate::fingerprint::Fingerprint;
use crate::memory::huge_vec;
use crate::threads::map_parts_mut;

/// Number of values of a chunk.
const CHUNK_LEN: usize = 1 << 20;

/// The intended size of a bucket: its second pass stays in the nearest cache.
const BUCKET_LEN: usize = 1 << 12;

/// The most bits of the key that one pass uses.
const MOST_PASS_BITS: u32 = 12;

/// Groups up to this size are compared in place.
const SMALL: usize = 64;

/// The values of one table, in buckets.
#[derive(Debug)]
pub(super) struct Buckets<F> {
    key: Key<F>,
    scattered: Vec<F>,
    /// For each chunk the start of each bucket, and the end of the last.
    starts: Vec<Vec<u32>>,
    chunk_len: usize,
}

/// The bits of the mask that select the bucket and the group of a value.
#[derive(Debug)]
struct Key<F> {
    permutation: Permutation<F>,
    bucket_bits: u32,
    group_bits: u32,
}

impl<F: Fingerprint> Key<F> {
    /// Creates a key with about as many groups as values, if the mask has enough bits.
    fn new(bits: &Bits<F>, mask: F, count: usize) -> Self {
        let wanted = count.next_power_of_two().trailing_zeros();
        let bucket_bits = (count / BUCKET_LEN).next_power_of_two().trailing_zeros();
        let bucket_bits = bucket_bits.min(MOST_PASS_BITS).min(mask.count_ones());
        let group_bits = wanted.saturating_sub(bucket_bits).min(MOST_PASS_BITS);
        let mask = bits.sharpest(mask, bucket_bits + group_bits);
        Key {
            permutation: Permutation::new(mask),
            bucket_bits,
            group_bits: mask.count_ones() - bucket_bits,
        }
    }

    #[inline(always)]
    fn bucket<C: Cpu>(&self, cpu: C, value: F) -> usize {
        self.permutation.prefix_with(cpu, value) >> self.group_bits
    }

    #[inline(always)]
    fn group<C: Cpu>(&self, cpu: C, value: F) -> usize {
        self.permutation.prefix_with(cpu, value) & ((1 << self.group_bits) - 1)
    }
}

impl<F: Fingerprint> Buckets<F> {
    /// Allocates memory for `count` values.
    pub(super) fn new(count: usize) -> Self {
        Self::with_chunks(count, CHUNK_LEN)
    }

    fn with_chunks(count: usize, chunk_len: usize) -> Self {
        let mut scattered = huge_vec(count);
        scattered.resize(count, F::ZERO);
        Buckets {
            key: Key {
                permutation: Permutation::new(F::ZERO),
                bucket_bits: 0,
                group_bits: 0,
            },
            scattered,
            starts: Vec::new(),
            chunk_len,
        }
    }

    /// Fills the buckets with values, as many as memory was allocated for. Values that agree on the mask share a
    /// bucket.
    pub(super) fn fill(&mut self, values: &[F], bits: &Bits<F>, mask: F) {
        self.key = Key::new(bits, mask, values.len());
        let key = &self.key;
        let chunk_len = self.chunk_len;
        let scattered = &mut self.scattered[..values.len()];
        self.starts = map_parts_mut(scattered, chunk_len, |number, out| {
            let start = number * chunk_len;
            let values = &values[start..start + out.len()];
            dispatch(Scatter { key, values, out })
        });
    }

    /// Returns the number of buckets.
    pub(super) fn count(&self) -> usize {
        1 << self.key.bucket_bits
    }

    /// Passes the pairs that count by a rule to `take`, bucket after bucket. An empty list ends each bucket.
    ///
    /// # Errors
    /// Any error of `take`.
    pub(super) fn search_all(&self, rule: &Rule<F>, take: Give<'_, (F, F)>) -> Result<()> {
        let worker = || -> Worker<'_, (F, F)> {
            let mut groups = Groups::default();
            Box::new(move |bucket, give| {
                let mut out = Emitter::new(give);
                self.search(bucket, rule, &mut groups, &mut out);
                out.finish()
            })
        };
        in_order(self.count(), &worker, take)
    }

    /// Finds the pairs of a bucket that count by the rule.
    fn search(
        &self,
        bucket: usize,
        rule: &Rule<F>,
        groups: &mut Groups<F>,
        out: &mut Emitter<'_, F>,
    ) {
        dispatch(SearchBucket {
            buckets: self,
            bucket,
            rule,
            groups,
            out,
        });
    }

    /// Returns the values of a bucket, in parts.
    #[inline(always)]
    fn parts(&self, bucket: usize) -> impl Iterator<Item = &[F]> + Clone {
        let chunks = self.scattered.chunks(self.chunk_len).zip(&self.starts);
        chunks.map(move |(chunk, starts)| {
            &chunk[starts[bucket] as usize..starts[bucket + 1] as usize]
        })
    }
}

/// The groups of one bucket.
#[derive(Debug)]
struct Groups<F> {
    values: Vec<F>,
    /// The end of each group.
    ends: Vec<u32>,
}

impl<F> Default for Groups<F> {
    fn default() -> Self {
        Groups {
            values: Vec::new(),
            ends: Vec::new(),
        }
    }
}

/// Replaces counts of items by their starts, followed by the total.
fn accumulate(counts: &mut [u32]) {
    let mut sum = 0;
    for count in counts {
        sum += std::mem::replace(count, sum);
    }
}

struct Scatter<'a, F> {
    key: &'a Key<F>,
    values: &'a [F],
    out: &'a mut [F],
}

impl<F: Fingerprint> Work for Scatter<'_, F> {
    type Output = Vec<u32>;

    #[inline(always)]
    fn run<C: Cpu>(self, cpu: C) -> Vec<u32> {
        let mut starts = vec![0u32; (1 << self.key.bucket_bits) + 1];
        for &value in self.values {
            starts[self.key.bucket(cpu, value)] += 1;
        }
        accumulate(&mut starts);
        let mut next = starts.clone();
        for &value in self.values {
            let next = &mut next[self.key.bucket(cpu, value)];
            self.out[*next as usize] = value;
            *next += 1;
        }
        starts
    }
}

struct SearchBucket<'a, 'b, F> {
    buckets: &'a Buckets<F>,
    bucket: usize,
    rule: &'a Rule<F>,
    groups: &'a mut Groups<F>,
    out: &'a mut Emitter<'b, F>,
}

impl<F: Fingerprint> Work for SearchBucket<'_, '_, F> {
    type Output = ();

    #[inline(always)]
    fn run<C: Cpu>(self, cpu: C) {
        self.groups.fill(cpu, self.buckets, self.bucket);
        let mut start = 0;
        for &end in &self.groups.ends {
            let group = &mut self.groups.values[start..end as usize];
            start = end as usize;
            if self.out.is_over() {
                return;
            }
            match group.len() {
                0..2 => {}
                2..SMALL => compare_pairs(group, self.rule, self.out),
                _ => search(group, self.rule, self.out),
            }
        }
    }
}

impl<F: Fingerprint> Groups<F> {
    /// Copies the values of a bucket, group after group.
    #[inline(always)]
    fn fill<C: Cpu>(&mut self, cpu: C, buckets: &Buckets<F>, bucket: usize) {
        let key = &buckets.key;
        self.ends.clear();
        self.ends.resize((1 << key.group_bits) + 1, 0);
        for part in buckets.parts(bucket) {
            for &value in part {
                self.ends[key.group(cpu, value)] += 1;
            }
        }
        accumulate(&mut self.ends);
        let count = self.ends.pop().unwrap_or_default() as usize;
        if self.values.len() < count {
            self.values.resize(count, F::ZERO);
        }
        for part in buckets.parts(bucket) {
            for &value in part {
                let next = &mut self.ends[key.group(cpu, value)];
                self.values[*next as usize] = value;
                *next += 1;
            }
        }
    }
}
