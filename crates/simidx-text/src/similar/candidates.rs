//! Texts that may be similar, and the comparison of two of them.

use std::collections::HashSet;
use std::ops::Range;
use std::sync::atomic::{AtomicU64, Ordering};

use simidx::Result;

use super::columns::Columns;
use super::crowded::{Crowded, LARGE};
use super::digest::{Digest, append_wanted};
use super::groups::{Groups, place_of};
use super::sets::{SetBuffer, Sets};
use super::{BATCH_LEN, BATCH_TEXTS, NONE};
use crate::ParallelFingerprinter;
use crate::dedup::Similarity;
use crate::feature_set::{jaccard, jaccard_if};

/// Largest number of group members whose digests are examined together.
const MOST_FOUND: usize = 4096;

/// Texts, some of which have keys in common. Once these have been given, they are compared.
#[derive(Debug)]
pub struct SimilarCandidates {
    pub(super) similarity: Similarity,
    pub(super) fingerprinter: ParallelFingerprinter,
    /// The group of each text in each band, by place.
    pub(super) columns: Columns,
    pub(super) groups: Groups,
    /// The text at each place in the order of decisions, if that differs from the order of the texts.
    pub(super) text_at: Option<Vec<u32>>,
    /// For each place, the first place with equal features; `NONE` for the first place itself.
    pub(super) firsts: Vec<u32>,
    /// Whether a text has a key in common with an unequal one, and is the first of its equals.
    pub(super) is_candidate: Vec<bool>,
    /// The feature sets by text, in the end those of all candidates.
    pub(super) sets: Sets,
    /// Memory in bytes for data about large groups.
    pub(super) large_budget: Option<u64>,
    /// Whether the sets have not been given yet.
    pub(super) needs_sets: bool,
    /// Number of texts, the first in the order of decisions, that are kept in any case.
    pub(super) kept_first: usize,
    /// Given texts that wait for others, and their size in bytes.
    pub(super) pending: Vec<(u32, String)>,
    pub(super) pending_len: usize,
    pub(super) compared: AtomicU64,
}

/// Counts of the work of a search.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct Counts {
    /// Number of texts that have a key in common with a text of other features. Of equal texts, only the first counts.
    pub candidate_count: u64,
    /// Number of pairs of texts whose features were compared.
    pub compared_count: u64,
}

/// Working memory for comparisons.
#[derive(Debug, Default)]
pub(super) struct Buffers {
    candidates: Vec<u32>,
    ranked: Vec<(u32, u32)>,
    pub(super) members: Vec<u32>,
    /// The groups of the text, and whether they may have kept members.
    looked_at: Vec<(usize, u32, bool)>,
    /// The kept members of these groups.
    members_found: Vec<u32>,
    /// The members that were compared with the text.
    pub(super) failed: HashSet<u32>,
    pub(super) one: SetBuffer,
    pub(super) other: SetBuffer,
    /// Number of kept members in each group of the text.
    pub(super) kept_counts: Vec<usize>,
    /// Number of members in each group of the text, up to the size of a large group.
    pub(super) member_counts: Vec<usize>,
}

impl SimilarCandidates {
    /// Number of texts.
    pub fn text_count(&self) -> usize {
        self.is_candidate.len()
    }

    /// Whether [`SimilarCandidates::give`] needs a text: it may be similar to another one, and there was not enough
    /// memory to keep its features.
    pub fn needs_text(&self, text: usize) -> bool {
        self.needs_sets && self.is_candidate.get(text) == Some(&true)
    }

    /// Whether any text has to be given.
    pub fn needs_texts(&self) -> bool {
        self.needs_sets && self.is_candidate.contains(&true)
    }

    /// Gives a needed text. The order of texts does not matter.
    ///
    /// # Errors
    /// A failure to write its features to the temporary file.
    pub fn give(&mut self, number: usize, text: impl Into<String>) -> Result<()> {
        if !self.needs_text(number) {
            return Ok(());
        }
        let text = text.into();
        self.pending_len += text.len();
        self.pending.push((number as u32, text));
        if self.pending.len() >= BATCH_TEXTS || self.pending_len >= BATCH_LEN {
            self.take_pending()?;
        }
        Ok(())
    }

    fn take_pending(&mut self) -> Result<()> {
        self.pending_len = 0;
        let pending = std::mem::take(&mut self.pending);
        let similarity = self.similarity;
        let sets = self
            .fingerprinter
            .map(&pending, |fingerprinter, (_, text)| {
                similarity.feature_set(fingerprinter, text)
            });
        for ((text, _), set) in pending.iter().zip(sets) {
            self.sets.put(*text as usize, set.hashes())?;
        }
        Ok(())
    }

    /// Makes all sets readable.
    pub(super) fn complete(&mut self) -> Result<()> {
        self.take_pending()?;
        let sets = &mut self.sets;
        let candidates = self.is_candidate.iter().enumerate();
        let missing = candidates
            .filter(|(_, is_candidate)| **is_candidate)
            .find(|&(text, _)| !sets.has(text));
        if let Some((text, _)) = missing {
            let message = format!("text {text} was not given");
            return Err(std::io::Error::new(std::io::ErrorKind::NotFound, message).into());
        }
        Ok(sets.flush()?)
    }

    /// Returns the counts so far.
    pub fn counts(&self) -> Counts {
        let candidates = self.is_candidate.iter();
        Counts {
            candidate_count: candidates.filter(|&&is| is).count() as u64,
            compared_count: self.compared.load(Ordering::Relaxed),
        }
    }

    /// Returns the text at a place.
    pub(super) fn text_at(&self, place: u32) -> u32 {
        match &self.text_at {
            Some(text_at) => text_at[place as usize],
            None => place,
        }
    }

    /// Returns the first place whose text has the same features as the text at this place.
    pub(super) fn first_of(&self, place: u32) -> u32 {
        match self.firsts[place as usize] {
            NONE => place,
            first => first,
        }
    }

    /// Returns the groups of the texts at these places, in one row for each band.
    pub(super) fn groups_at(&self, places: Range<usize>) -> Result<Vec<Vec<u32>>> {
        let read = |band| {
            let mut row = Vec::with_capacity(places.len());
            self.columns.read(band, places.clone(), &mut row)?;
            Ok(row)
        };
        (0..self.groups.band_count()).map(read).collect()
    }

    /// Returns the similarity of the texts at two places, even if it is low. If the texts are unequal, both must be
    /// candidates.
    pub(super) fn jaccard(&self, a: u32, b: u32, buffers: &mut Buffers) -> Result<f64> {
        let [a, b] = [a, b].map(|place| self.first_of(place));
        if a == b {
            return Ok(1.0);
        }
        let sets = &self.sets;
        let [a, b] = [a, b].map(|place| self.text_at(place) as usize);
        let a = sets.read(a, &mut buffers.one)?;
        Ok(jaccard(a, sets.read(b, &mut buffers.other)?))
    }

    #[inline]
    pub(super) fn digest(&self, place: u32) -> Digest {
        self.sets.digest(self.text_at(place) as usize)
    }

    /// Returns a kept member of a text's groups, at place `from` or later, that is similar to the text. Among several,
    /// it is the one with the most shared keys, then the earliest. Data about large groups avoids look-ups of their
    /// members.
    pub(super) fn first_similar(
        &self,
        place: u32,
        groups: impl Iterator<Item = (usize, u32)>,
        from: u32,
        crowded: &Crowded,
        buffers: &mut Buffers,
    ) -> Result<Option<(u32, f64)>> {
        let Buffers {
            candidates,
            ranked,
            members,
            looked_at,
            members_found,
            kept_counts,
            ..
        } = buffers;
        let own_groups = &self.groups;
        looked_at.clear();
        looked_at.extend(groups.map(|(band, group)| {
            let may_have_kept = own_groups.may_have_kept(band, group);
            (band, group, may_have_kept)
        }));
        candidates.clear();
        members_found.clear();
        kept_counts.clear();
        let (digest, least) = (self.digest(place), self.similarity.least());
        let folded = digest.folded(place);
        let append = |members_found: &mut Vec<u32>, candidates: &mut Vec<u32>| {
            let others = members_found.drain(..);
            let others = others.map(|other| (other, self.digest(other)));
            append_wanted(
                others,
                |other| digest.may_be_similar(other, least),
                candidates,
            );
        };
        for &(band, group, may_have_kept) in looked_at.iter() {
            if !may_have_kept {
                kept_counts.push(0);
                continue;
            }
            // Reading from the file costs more than checking the data about the group.
            let is_in_file = own_groups.is_in_file(band);
            let first = match is_in_file {
                true => &[],
                false => own_groups.first_kept(band, group, LARGE, members)?,
            };
            let may_be_large = is_in_file || first.len() == LARGE;
            if let Some(folded) = folded.filter(|_| may_be_large) {
                let of = (folded, least);
                let known = crowded.candidates((band, group), from, of, members_found);
                if let Some(count) = known {
                    kept_counts.push(count);
                    continue;
                }
            }
            let kept = match may_be_large {
                true => own_groups.kept(band, group, members)?,
                false => first,
            };
            kept_counts.push(kept.len());
            let later = kept.iter().map(place_of);
            for member in later.skip_while(|&member| member < from) {
                members_found.push(member);
                if members_found.len() >= MOST_FOUND {
                    append(members_found, candidates);
                }
            }
        }
        append(members_found, candidates);
        rank(candidates, ranked);
        let mut similar = None;
        self.compare(
            place,
            ranked.iter().map(|&(_, other)| other),
            &mut buffers.one,
            &mut buffers.other,
            |other, jaccard| {
                similar = Some((other, jaccard));
                false
            },
        )?;
        Ok(similar)
    }

    /// Returns all places before `place` whose texts are similar to its text, ascending. Of equal texts only the first
    /// place is included; the first place of its own equals is not.
    pub(super) fn all_similar(
        &self,
        place: u32,
        groups: impl Iterator<Item = (usize, u32)>,
        buffers: &mut Buffers,
    ) -> Result<Vec<(u32, f64)>> {
        let first = self.first_of(place);
        let Buffers {
            candidates,
            members,
            ..
        } = buffers;
        candidates.clear();
        let (digest, least) = (self.digest(first), self.similarity.least());
        for (band, group) in groups {
            let members = self.groups.members(band, group, members)?;
            let before = members
                .iter()
                .map(place_of)
                .take_while(|&other| other < place);
            let others = before.filter(|&other| other != first);
            let others = others.map(|other| (other, self.digest(other)));
            append_wanted(
                others,
                |other| digest.may_be_similar(other, least),
                candidates,
            );
        }
        candidates.sort_unstable();
        candidates.dedup();
        let mut similar = Vec::new();
        self.compare(
            first,
            candidates.iter().copied(),
            &mut buffers.one,
            &mut buffers.other,
            |other, jaccard| {
                similar.push((other, jaccard));
                true
            },
        )?;
        Ok(similar)
    }

    /// Compares a text with others, and calls `visit` with the similar ones, until it returns `false`.
    pub(super) fn compare(
        &self,
        place: u32,
        others: impl Iterator<Item = u32>,
        one: &mut SetBuffer,
        other_set: &mut SetBuffer,
        mut visit: impl FnMut(u32, f64) -> bool,
    ) -> Result<()> {
        let sets = &self.sets;
        let mut others = others.peekable();
        if others.peek().is_none() {
            return Ok(());
        }
        let own = sets.read(self.text_at(place) as usize, one)?;
        for other in others {
            self.compared.fetch_add(1, Ordering::Relaxed);
            let other_set = sets.read(self.text_at(other) as usize, other_set)?;
            let found = jaccard_if(own, other_set, self.similarity.least());
            if found.is_some_and(|jaccard| !visit(other, jaccard)) {
                break;
            }
        }
        Ok(())
    }
}

/// Sorts the members of groups by descending number of groups, then by place.
fn rank(candidates: &mut [u32], ranked: &mut Vec<(u32, u32)>) {
    candidates.sort_unstable();
    ranked.clear();
    let same = candidates.chunk_by(|a, b| a == b);
    ranked.extend(same.map(|same| (same.len() as u32, same[0])));
    ranked.sort_unstable_by_key(|&(shared, place)| (std::cmp::Reverse(shared), place));
}
