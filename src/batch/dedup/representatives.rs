//! The first document of each fingerprint, which represents the others, and lists of those.

use std::hash::{BuildHasher, RandomState};

use hashbrown::HashTable;
use hashbrown::hash_table::Entry;

use super::{NONE, Verifier};
use crate::batch::disjoint_sets::DisjointSets;
use crate::error::Result;
use crate::fingerprint::Fingerprint;

/// The first document of each fingerprint.
#[derive(Debug)]
pub(super) struct Representatives {
    table: HashTable<u32>,
    seed: u64,
    /// A bit for each document: whether it is the first of its fingerprint.
    bits: Vec<u64>,
    /// A bit for each document: whether it has no fingerprint. Empty if all have one.
    apart: Vec<u64>,
}

impl Representatives {
    /// Those of all documents but some, which have no fingerprint.
    pub(super) fn new<F: Fingerprint>(fingerprints: &[F], without: &[u32]) -> Self {
        // Random, so that no input can be made for which the table is slow. No result depends on it.
        let seed = RandomState::new().hash_one(0);
        let mut table = HashTable::new();
        let mut bits = vec![0u64; fingerprints.len().div_ceil(64)];
        let mut apart = Vec::new();
        if !without.is_empty() {
            apart.resize(bits.len(), 0u64);
        }
        for &document in without {
            apart[document as usize / 64] |= 1 << (document % 64);
        }
        for (document, &fingerprint) in fingerprints.iter().enumerate() {
            if bit(&apart, document) {
                continue;
            }
            let is_equal = |&other: &u32| fingerprints[other as usize] == fingerprint;
            let hash_of = |&other: &u32| hash(fingerprints[other as usize], seed);
            if let Entry::Vacant(entry) = table.entry(hash(fingerprint, seed), is_equal, hash_of) {
                entry.insert(document as u32);
                bits[document / 64] |= 1 << (document % 64);
            }
        }
        Representatives {
            table,
            seed,
            bits,
            apart,
        }
    }

    pub(super) fn len(&self) -> usize {
        self.table.len()
    }

    fn is_representative(&self, document: usize) -> bool {
        bit(&self.bits, document)
    }

    pub(super) fn find<F: Fingerprint>(&self, fingerprints: &[F], fingerprint: F) -> Option<usize> {
        let is_equal = |&other: &u32| fingerprints[other as usize] == fingerprint;
        let found = self.table.find(hash(fingerprint, self.seed), is_equal);
        found.map(|&document| document as usize)
    }

    /// Each document that has a fingerprint, with the first one that has it.
    pub(super) fn all<F: Fingerprint>(
        &self,
        fingerprints: &[F],
    ) -> impl Iterator<Item = (usize, usize)> {
        let documents = fingerprints.iter().enumerate();
        documents.filter_map(|(document, &fingerprint)| {
            if bit(&self.apart, document) {
                return None;
            }
            let representative = match self.is_representative(document) {
                true => document,
                false => self.find(fingerprints, fingerprint)?,
            };
            Some((document, representative))
        })
    }

    /// The documents that are not the first of their fingerprints, with these.
    pub(super) fn others<F: Fingerprint>(
        &self,
        fingerprints: &[F],
    ) -> impl Iterator<Item = (usize, usize)> {
        self.all(fingerprints)
            .filter(|(document, representative)| document != representative)
    }

    /// The documents that are the first of their fingerprints, in order.
    pub(super) fn iter<F: Fingerprint>(
        &self,
        fingerprints: &[F],
    ) -> impl Iterator<Item = (usize, F)> {
        let documents = fingerprints.iter().copied().enumerate();
        documents.filter(|&(document, _)| self.is_representative(document))
    }
}

/// A bit of a list, or no bit beyond its end.
fn bit(bits: &[u64], number: usize) -> bool {
    let word = bits.get(number / 64).copied().unwrap_or(0);
    word >> (number % 64) & 1 == 1
}

/// A hash of a fingerprint, quicker than those of the standard library: a product folded.
fn hash<F: Fingerprint>(fingerprint: F, seed: u64) -> u64 {
    let value = fingerprint.to_u128();
    let fold = |value: u64| {
        let product = u128::from(value ^ seed) * 0x9e37_79b9_7f4a_7c15;
        (product >> 64) as u64 ^ product as u64
    };
    match F::WIDTH {
        128 => fold(fold((value >> 64) as u64) ^ value as u64),
        _ => fold(value as u64),
    }
}

/// The documents of each fingerprint, chained from the first one on.
pub(super) struct Lists {
    next: Vec<u32>,
}

impl Lists {
    pub(super) fn new(count: usize) -> Self {
        Lists {
            next: vec![NONE; count],
        }
    }

    pub(super) fn add(&mut self, representative: u32, document: u32) {
        self.next[document as usize] = self.next[representative as usize];
        self.next[representative as usize] = document;
    }

    pub(super) fn get(&self, representative: u32, out: &mut Vec<u32>) {
        out.clear();
        let mut document = representative;
        while document != NONE {
            out.push(document);
            document = self.next[document as usize];
        }
    }

    /// Joins the documents of a list that are identical, and leaves one of each in it; returns these.
    pub(super) fn join_identical(
        &mut self,
        representative: u32,
        sets: &mut DisjointSets,
        verifier: &mut dyn Verifier,
    ) -> Result<Vec<u32>> {
        let mut documents = Vec::new();
        self.get(representative, &mut documents);
        if documents.len() < 2 {
            return Ok(documents);
        }
        let mut named = Vec::with_capacity(documents.len());
        for document in documents {
            named.push((verifier.identity(document as usize)?, document));
        }
        named.sort_unstable();
        let mut distinct = Vec::new();
        for identical in named.chunk_by(|a, b| a.0 == b.0) {
            let first = identical[0].1;
            distinct.push(first);
            for &(_, document) in &identical[1..] {
                sets.join(first, document);
            }
        }
        // The representative is the smallest number of all, so that it is the first of those that it is identical to.
        distinct.sort_unstable();
        self.next[representative as usize] = NONE;
        for &document in distinct[1..].iter().rev() {
            self.add(representative, document);
        }
        Ok(distinct)
    }
}
