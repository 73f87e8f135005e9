//! The first document of each fingerprint, which represents the others.

use std::hash::{BuildHasher, RandomState};

use hashbrown::HashTable;
use hashbrown::hash_table::Entry;

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
    /// Finds the first document of each fingerprint. The documents `without` have none.
    pub(super) fn new<F: Fingerprint>(fingerprints: &[F], without: &[u32]) -> Self {
        // The seed is random, so that no input can be made to slow the table down. Results do not depend on it.
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

    /// Iterates over the documents that are not the first of their fingerprint, each with the first one.
    pub(super) fn others<F: Fingerprint>(
        &self,
        fingerprints: &[F],
    ) -> impl Iterator<Item = (usize, usize)> {
        let documents = fingerprints.iter().enumerate();
        documents.filter_map(|(document, &fingerprint)| {
            match bit(&self.apart, document) || self.is_representative(document) {
                true => None,
                false => Some((document, self.find(fingerprints, fingerprint)?)),
            }
        })
    }

    /// Iterates over the documents that are the first of their fingerprint, in order.
    pub(super) fn iter<F: Fingerprint>(
        &self,
        fingerprints: &[F],
    ) -> impl Iterator<Item = (usize, F)> {
        let documents = fingerprints.iter().copied().enumerate();
        documents.filter(|&(document, _)| self.is_representative(document))
    }
}

/// Returns a bit of a list; 0 beyond its end.
fn bit(bits: &[u64], number: usize) -> bool {
    let word = bits.get(number / 64).copied().unwrap_or(0);
    word >> (number % 64) & 1 == 1
}

/// Hashes a fingerprint by a folded product, faster than the hashes of the standard library.
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
