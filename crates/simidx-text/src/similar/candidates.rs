//! Texts that may be similar, and how two of them are compared.

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

/// Members of groups whose digests are looked at together.
const MOST_FOUND: usize = 4096;

/// Texts of which some have keys in common. Those are compared once they are there.
#[derive(Debug)]
pub struct SimilarCandidates {
    pub(super) similarity: Similarity,
    /// Whether a dropped text is to name the most similar one of those that are kept.
    pub(super) most_similar: bool,
    pub(super) fingerprinter: ParallelFingerprinter,
    /// The group of each text in each band, by place.
    pub(super) columns: Columns,
    pub(super) groups: Groups,
    /// The text of each place in the order of decisions, if that is not the order of the texts.
    pub(super) text_at: Option<Vec<u32>>,
    /// For each place the first one with equal features, `NONE` if it is the first.
    pub(super) firsts: Vec<u32>,
    /// Texts that are not the first.
    pub(super) equal_count: u64,
    /// Whether a text has a key in common with an unequal one, and no equal one comes before it.
    pub(super) is_candidate: Vec<bool>,
    /// The feature sets by text; those of all candidates, in the end.
    pub(super) sets: Sets,
    /// Bytes of memory for what is known of large groups.
    pub(super) large_budget: Option<u64>,
    /// Whether the sets are yet to come.
    pub(super) needs_sets: bool,
    /// Texts with a single feature.
    pub(super) single_feature_count: usize,
    /// Texts that have been given and wait to be signed together, and bytes of them.
    pub(super) pending: Vec<(u32, String)>,
    pub(super) pending_len: usize,
    pub(super) compared: AtomicU64,
}

/// What a search has done.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct Counts {
    /// Texts that have the same features as an earlier one.
    pub equal_count: u64,
    /// Texts that have a key in common with one of other features. Of equal texts only the first counts.
    pub candidate_count: u64,
    /// Pairs of texts whose features were compared.
    pub compared_count: u64,
}

/// Memory for comparing texts.
#[derive(Debug, Default)]
pub(super) struct Buffers {
    candidates: Vec<u32>,
    ranked: Vec<(u32, u32)>,
    pub(super) members: Vec<u32>,
    /// The groups of the text, and whether they may have kept members.
    looked_at: Vec<(usize, u32, bool)>,
    /// Kept members of them.
    members_found: Vec<u32>,
    /// Those that were compared with the text.
    pub(super) failed: HashSet<u32>,
    pub(super) one: SetBuffer,
    pub(super) other: SetBuffer,
    /// How many members of each group of the text are kept.
    pub(super) kept_counts: Vec<usize>,
    /// How many members each group of the text has, or as many as make it large.
    pub(super) member_counts: Vec<usize>,
}

impl SimilarCandidates {
    /// Number of texts.
    pub fn text_count(&self) -> usize {
        self.is_candidate.len()
    }

    /// Whether the text has to be given by [`SimilarCandidates::give`]: it may be similar to another one, and there was no
    /// memory to keep its features.
    pub fn needs_text(&self, text: usize) -> bool {
        self.needs_sets && self.is_candidate.get(text) == Some(&true)
    }

    /// Whether any text has to be given.
    pub fn needs_texts(&self) -> bool {
        self.needs_sets && self.is_candidate.contains(&true)
    }

    /// Takes a text that is needed, in any order.
    ///
    /// # Errors
    ///
    /// What keeps its features from being written to the temporary file.
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

    /// What has been done so far.
    pub fn counts(&self) -> Counts {
        let candidates = self.is_candidate.iter();
        Counts {
            equal_count: self.equal_count,
            candidate_count: candidates.filter(|&&is| is).count() as u64,
            compared_count: self.compared.load(Ordering::Relaxed),
        }
    }

    /// The text at a place.
    pub(super) fn text_at(&self, place: u32) -> u32 {
        match &self.text_at {
            Some(text_at) => text_at[place as usize],
            None => place,
        }
    }

    /// The first place whose text has the same features as that at this one.
    pub(super) fn first_of(&self, place: u32) -> u32 {
        match self.firsts[place as usize] {
            NONE => place,
            first => first,
        }
    }

    /// The groups of the texts at these places: for each band a row.
    pub(super) fn groups_at(&self, places: Range<usize>) -> Result<Vec<Vec<u32>>> {
        let read = |band| {
            let mut row = Vec::with_capacity(places.len());
            self.columns.read(band, places.clone(), &mut row)?;
            Ok(row)
        };
        (0..self.groups.band_count()).map(read).collect()
    }

    /// The similarity of the texts at two places, whatever it is. If they are unequal, each must be a candidate.
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

    /// Of the kept members from a place on, in the groups of a text, the first that is similar to it; those first that
    /// share most keys with it, and of those the earliest. If `most_similar` is set, it is the most similar one instead. What
    /// is known of large groups spares their members a look-up.
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
            // To look into the file costs more than to ask what is known.
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
                similar = self.more_similar(similar, Some((other, jaccard)));
                self.most_similar
            },
        )?;
        Ok(similar)
    }

    /// The more similar of two places, with its similarity; if they are equally similar, that of the first text.
    pub(super) fn more_similar(
        &self,
        one: Option<(u32, f64)>,
        other: Option<(u32, f64)>,
    ) -> Option<(u32, f64)> {
        let (Some(a), Some(b)) = (one, other) else {
            return one.or(other);
        };
        let order = a.1.total_cmp(&b.1);
        let order = order.then_with(|| self.text_at(b.0).cmp(&self.text_at(a.0)));
        if order.is_ge() { one } else { other }
    }

    /// All first ones of equal texts before a place that are similar to the text there, by their places, ascending. Its own
    /// first is not among them.
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

    /// Compares a text with others, and calls `visit` with those that are similar, as long as it returns true.
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

/// Puts the members of groups in order: those of most groups first, then by place.
fn rank(candidates: &mut [u32], ranked: &mut Vec<(u32, u32)>) {
    candidates.sort_unstable();
    ranked.clear();
    let same = candidates.chunk_by(|a, b| a == b);
    ranked.extend(same.map(|same| (same.len() as u32, same[0])));
    ranked.sort_unstable_by_key(|&(shared, place)| (std::cmp::Reverse(shared), place));
}
