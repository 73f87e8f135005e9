//! The first document of each fingerprint, and lists of the others.

use std::hash::{BuildHasher, RandomState};

use hashbrown::HashTable;
use hashbrown::hash_table::Entry;

use super::{Confirm, NONE};
use crate::batch::disjoint_sets::DisjointSets;
use crate::error::Result;
use crate::fingerprint::Fingerprint;

/// The first document of each fingerprint.
#[derive(Debug)]
pub(super) struct Heads {
    table: HashTable<u32>,
    seed: u64,
    /// A bit for each document: whether it is the first of its fingerprint.
    bits: Vec<u64>,
}

impl Heads {
    pub(super) fn new<F: Fingerprint>(fingerprints: &[F]) -> Self {
        // Random, so that no input can be made for which the table is slow. No result depends on it.
        let seed = RandomState::new().hash_one(0);
        let mut table = HashTable::new();
        let mut bits = vec![0u64; fingerprints.len().div_ceil(64)];
        for (document, &fingerprint) in fingerprints.iter().enumerate() {
            let is_equal = |&other: &u32| fingerprints[other as usize] == fingerprint;
            let hash_of = |&other: &u32| hash(fingerprints[other as usize], seed);
            if let Entry::Vacant(entry) = table.entry(hash(fingerprint, seed), is_equal, hash_of) {
                entry.insert(document as u32);
                bits[document / 64] |= 1 << (document % 64);
            }
        }
        Heads { table, seed, bits }
    }

    pub(super) fn len(&self) -> usize {
        self.table.len()
    }

    fn is_head(&self, document: usize) -> bool {
        self.bits[document / 64] >> (document % 64) & 1 == 1
    }

    pub(super) fn find<F: Fingerprint>(&self, fingerprints: &[F], fingerprint: F) -> Option<usize> {
        let is_equal = |&other: &u32| fingerprints[other as usize] == fingerprint;
        let found = self.table.find(hash(fingerprint, self.seed), is_equal);
        found.map(|&document| document as usize)
    }

    /// Each document with the first one of its fingerprint.
    pub(super) fn all<F: Fingerprint>(
        &self,
        fingerprints: &[F],
    ) -> impl Iterator<Item = (usize, usize)> {
        let documents = fingerprints.iter().enumerate();
        documents.filter_map(|(document, &fingerprint)| {
            let head = match self.is_head(document) {
                true => document,
                false => self.find(fingerprints, fingerprint)?,
            };
            Some((document, head))
        })
    }

    /// The documents that are not the first of their fingerprints, with these.
    pub(super) fn others<F: Fingerprint>(
        &self,
        fingerprints: &[F],
    ) -> impl Iterator<Item = (usize, usize)> {
        self.all(fingerprints)
            .filter(|(document, head)| document != head)
    }

    /// The documents that are the first of their fingerprints, in order.
    pub(super) fn iter<F: Fingerprint>(
        &self,
        fingerprints: &[F],
    ) -> impl Iterator<Item = (usize, F)> {
        let documents = fingerprints.iter().copied().enumerate();
        documents.filter(|&(document, _)| self.is_head(document))
    }
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

    pub(super) fn add(&mut self, head: u32, document: u32) {
        self.next[document as usize] = self.next[head as usize];
        self.next[head as usize] = document;
    }

    pub(super) fn get(&self, head: u32, out: &mut Vec<u32>) {
        out.clear();
        let mut document = head;
        while document != NONE {
            out.push(document);
            document = self.next[document as usize];
        }
    }

    /// Joins the documents of a list that are identical, and leaves one of each in it; returns these.
    pub(super) fn join_identical(
        &mut self,
        head: u32,
        sets: &mut DisjointSets,
        confirm: &mut dyn Confirm,
    ) -> Result<Vec<u32>> {
        let mut documents = Vec::new();
        self.get(head, &mut documents);
        if documents.len() < 2 {
            return Ok(documents);
        }
        let mut named = Vec::with_capacity(documents.len());
        for document in documents {
            named.push((confirm.identity(document as usize)?, document));
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
        // The head is the smallest number of all, so that it is the first of those that it is identical to.
        distinct.sort_unstable();
        self.next[head as usize] = NONE;
        for &document in distinct[1..].iter().rev() {
            self.add(head, document);
        }
        Ok(distinct)
    }
}
