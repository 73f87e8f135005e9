//! Disjoint sets of numbers, joined two at a time: union-find by size with path halving.

use crate::error::{Error, Result};

/// A partition of the numbers below a count (Tarjan and van Leeuwen, JACM 1984). Eight bytes a number.
#[derive(Debug, Clone)]
pub(crate) struct DisjointSets {
    parents: Vec<u32>,
    sizes: Vec<u32>,
}

impl DisjointSets {
    /// Creates a set for each number below `count`.
    ///
    /// # Errors
    /// 2^32 or more numbers.
    pub(crate) fn new(count: usize) -> Result<Self> {
        let Ok(end) = u32::try_from(count) else {
            return Err(Error::LimitReached {
                what: "fingerprints to group",
                limit: u32::MAX.into(),
            });
        };
        Ok(DisjointSets {
            parents: (0..end).collect(),
            sizes: vec![1; count],
        })
    }

    /// Returns the root of a number's set. It is the same for all members until the set is joined with another.
    pub(crate) fn root(&mut self, number: u32) -> u32 {
        let mut at = number as usize;
        while self.parents[at] as usize != at {
            let parent = self.parents[at] as usize;
            self.parents[at] = self.parents[parent];
            at = self.parents[at] as usize;
        }
        at as u32
    }

    /// Joins the sets of two numbers; returns whether they were different sets.
    pub(crate) fn join(&mut self, a: u32, b: u32) -> bool {
        let (a, b) = (self.root(a) as usize, self.root(b) as usize);
        if a == b {
            return false;
        }
        let (child, parent) = if self.sizes[a] < self.sizes[b] {
            (a, b)
        } else {
            (b, a)
        };
        self.parents[child] = parent as u32;
        self.sizes[parent] += self.sizes[child];
        true
    }

    /// Returns the number of members of a number's set.
    pub(crate) fn size(&mut self, number: u32) -> u32 {
        let root = self.root(number);
        self.sizes[root as usize]
    }
}
