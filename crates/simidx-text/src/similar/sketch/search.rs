//! Finds texts in an index that are similar to a batch of new texts, in one pass over the sketches.

use std::collections::HashMap;
use std::ops::Range;

use rayon::prelude::*;
use simidx::set::Segment;
use simidx::{Result, Set};

use super::sketcher::distance;
use super::{JaccardEstimate, SketchBanding, Sketcher, TextSketch};

/// Number of sketches that one task compares.
const TASK_LEN: u64 = 1 << 10;

/// Number of tasks whose matches are in memory at once.
const ROUND_TASKS: u64 = 32;

/// Marks the end of a list of queries.
const NONE: u32 = u32::MAX;

/// A record of an index whose sketch is near the sketch of a query.
///
/// ```
/// use simidx_text::similar::SketchMatch;
///
/// let matched = SketchMatch { query: 0, segment: 0, record: 7, distance: 16 };
/// assert_eq!(matched.estimate(256).similarity, 0.875);
/// ```
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct SketchMatch {
    /// Number of the query in its batch.
    pub query: usize,
    /// Number of the segment.
    pub segment: usize,
    /// Number of the record in the order of [`Index::records`](simidx::Index::records), for
    /// [`Index::id_of_record`](simidx::Index::id_of_record). In an index without ids, it is the rank.
    pub record: u64,
    /// Number of bits in which the sketches differ.
    pub distance: u32,
}

impl SketchMatch {
    /// Estimates the Jaccard similarity from the distance between sketches of `bits` bits.
    pub fn estimate(&self, bits: u32) -> JaccardEstimate {
        JaccardEstimate::at(self.distance, bits)
    }
}

/// Finds the records of a set of indexes that are similar to new texts. It uses the sketches in the indexes, not their
/// texts. Similarities are estimates with a known error, see [`JaccardEstimate`].
///
/// The search finds sketches whose estimate is at least the least similarity, minus a margin in standard errors.
/// Without a margin, half of the texts of exactly this similarity are missed, because their estimates are below it, and
/// as many texts of slightly lower similarity are found. With a margin of 2, the search finds 97 % of them, and more
/// others, which is useful if the texts are compared afterwards.
///
/// A batch of queries takes one pass over all sketches, on all threads of the current rayon pool: some nanoseconds for
/// each query and sketch for few queries, and about a microsecond for each sketch for many ([`SketchBanding`]). Memory:
/// the queries, and tables of 4 bytes for each band and query, and for each band and value of its bits. For 65,536
/// queries, this is 45 MB at 0.8 with 256 bits, and up to 400 MB at lower similarities or with a margin;
/// [`SketchSearch::batch_len`] returns the number of queries for less memory.
///
/// Half of the bits of two sketches are equal by chance. If sketches are short or the least similarity is low, a text
/// that resembles no document therefore has matches in a large index; [`SketchSearch::chance_matches`] returns their
/// expected number.
///
/// ```
/// use simidx::{BuildOptions, IndexBuilder, Set, Width};
/// use simidx_text::similar::{SketchFeatures, SketchSearch, Sketcher};
///
/// let sketcher = Sketcher::new(256, SketchFeatures::default())?;
/// let mut fingerprinter = sketcher.pipeline()?.fingerprinter(Width::W64)?;
/// let mut options = BuildOptions::default();
/// options.sketches = Some(sketcher.parameters().clone());
/// let mut builder = IndexBuilder::new(Width::W64, options)?;
/// let old = "The quick brown fox jumps over the lazy dog near the river bank, and nobody sees it.";
/// let sketch = sketcher.sketch(&mut fingerprinter, old);
/// builder.push_with_sketch(fingerprinter.fingerprint(old) as u64, None, sketch.as_u64s())?;
/// let mut file = Vec::new();
/// builder.finish(&mut file)?;
///
/// let set = Set::from_bytes(file)?;
/// let search = SketchSearch::new(&set, 0.7, 0.0)?;
/// let new = ["Something else.", "The quick brown fox jumps over the lazy dog near the river bank, and nobody sees me."];
/// let queries: Vec<_> = new.iter().map(|text| search.sketcher().sketch(&mut fingerprinter, text)).collect();
/// let best = search.best_matches(&queries)?;
/// assert_eq!((best[0], best[1].unwrap().record), (None, 0));
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Debug)]
pub struct SketchSearch<'a> {
    set: &'a Set,
    sketcher: Sketcher,
    least: f64,
    margin: f64,
}

impl<'a> SketchSearch<'a> {
    /// Recommended largest number of queries in a pass. More queries take more memory, and hardly less time each.
    pub const BATCH: usize = 1 << 16;

    /// Returns the number of queries in a batch that takes at most `memory` bytes, see [`SketchSearch::best_matches`]:
    /// from 256 to [`SketchSearch::BATCH`].
    pub fn batch_len(&self, memory: u64) -> usize {
        const LEAST: usize = 256;
        let lists = rayon::current_num_threads() as u64 + 1;
        let bytes_of = |len: usize| {
            let best = lists * BEST_LEN * len as u64;
            best + Tables::byte_count(self.banding(len), len)
        };
        let mut len = Self::BATCH;
        while len > LEAST && bytes_of(len) > memory {
            len /= 2;
        }
        len
    }

    /// Creates a search for a similarity of at least `least`, from 0 to 1, minus `margin` standard errors.
    ///
    /// # Errors
    /// Segments without sketches, with sketches of different kinds, or with sketches of unknown features.
    pub fn new(set: &'a Set, least: f64, margin: f64) -> Result<Self> {
        let parameters = set.sketch_parameters()?.ok_or_else(|| {
            let message = "there are no sketches to compare texts with; build with --sketch 256";
            simidx::builder::OptionsError::new("sketches", message)
        })?;
        let sketcher = Sketcher::like(parameters);
        Ok(SketchSearch {
            sketcher: sketcher.map_err(|error| {
                simidx::builder::OptionsError::new("sketches", error.to_string())
            })?,
            set,
            least,
            margin,
        })
    }

    /// Returns the expected number of matches of a text that has nothing in common with any record: the number of
    /// sketches times the probability that enough bits of two sketches are equal by chance.
    ///
    /// ```
    /// # use simidx::{BuildOptions, IndexBuilder, Set, Width};
    /// # use simidx_text::similar::{SketchFeatures, SketchSearch, Sketcher};
    /// # let sketcher = Sketcher::new(64, SketchFeatures::default())?;
    /// # let mut fingerprinter = sketcher.pipeline()?.fingerprinter(Width::W64)?;
    /// # let mut options = BuildOptions::default();
    /// # options.sketches = Some(sketcher.parameters().clone());
    /// # let mut builder = IndexBuilder::new(Width::W64, options)?;
    /// # for number in 0..1000 {
    /// #     let text = format!("The quick brown fox jumps over {number} lazy dogs");
    /// #     let sketch = sketcher.sketch(&mut fingerprinter, &text);
    /// #     builder.push_with_sketch(fingerprinter.fingerprint(&text) as u64, None, sketch.as_u64s())?;
    /// # }
    /// # let mut file = Vec::new();
    /// # builder.finish(&mut file)?;
    /// # let set = Set::from_bytes(file)?;
    /// // A thousand sketches of 64 bits.
    /// assert!(SketchSearch::new(&set, 0.3, 0.0)?.chance_matches() > 5.0);
    /// assert!(SketchSearch::new(&set, 0.8, 0.0)?.chance_matches() < 1e-6);
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn chance_matches(&self) -> f64 {
        let of_file = |file: Segment<'_>| Some(file.sketches().ok()??.len());
        let count: u64 = self.set.segments().filter_map(of_file).sum();
        chance_matches(
            count,
            self.least,
            self.margin,
            self.sketcher.parameters().bits(),
        )
    }

    /// Returns the number of sketches in a file.
    fn sketch_count(&self, segment: usize) -> Result<u64> {
        let file = self.set.segment(segment);
        let sketches = file.map_or(Ok(None), Segment::sketches)?;
        Ok(sketches.map_or(0, |sketches| sketches.len()))
    }

    /// The sketcher for new texts, which makes sketches like those of the index.
    pub fn sketcher(&self) -> &Sketcher {
        &self.sketcher
    }

    /// Returns the method that compares a batch of `query_count` queries.
    pub fn banding(&self, query_count: usize) -> SketchBanding {
        let bits = self.sketcher.parameters().bits();
        SketchBanding::new(self.least, self.margin, bits, query_count)
    }

    /// Returns the nearest record of each query; among equally near ones, the first of the first segment. It is `None`
    /// if no record is near enough. Equal queries are searched once. Memory: 40 bytes for each query and thread,
    /// independent of the number of matches.
    ///
    /// # Errors
    /// The errors of [`SketchSearch::for_each_match`].
    pub fn best_matches(&self, queries: &[TextSketch]) -> Result<Vec<Option<SketchMatch>>> {
        let mut number_of: HashMap<&TextSketch, usize> = HashMap::new();
        let mut distinct: Vec<TextSketch> = Vec::new();
        let mut numbers = Vec::with_capacity(queries.len());
        for query in queries {
            let number = *number_of.entry(query).or_insert_with(|| {
                distinct.push(query.clone());
                distinct.len() - 1
            });
            numbers.push(number);
        }
        let best = self.best_of_distinct(&distinct)?;
        let of_query = |(query, number): (usize, usize)| {
            best[number].map(|found| SketchMatch { query, ..found })
        };
        Ok(numbers.into_iter().enumerate().map(of_query).collect())
    }

    fn best_of_distinct(&self, queries: &[TextSketch]) -> Result<Vec<Option<SketchMatch>>> {
        let tables = Tables::new(queries, self.banding(queries.len()))?;
        let mut best: Vec<Option<SketchMatch>> = vec![None; queries.len()];
        for segment in 0..self.set.segment_count() {
            let tasks = self.sketch_count(segment)?.div_ceil(TASK_LEN);
            // Few long runs of tasks, because each has its own list of the best matches.
            let least = tasks as usize / (4 * rayon::current_num_threads());
            let found = (0..tasks as usize)
                .into_par_iter()
                .with_min_len(least.max(1))
                .try_fold(
                    || vec![None; queries.len()],
                    |mut best, task| {
                        let start = task as u64 * TASK_LEN;
                        let take = |found| keep_nearer(&mut best, found);
                        self.matches_of(segment, start..start + TASK_LEN, &tables, take)?;
                        Ok::<_, simidx::Error>(best)
                    },
                )
                .try_reduce(
                    || vec![None; queries.len()],
                    |mut best, other| {
                        other
                            .into_iter()
                            .flatten()
                            .for_each(|found| keep_nearer(&mut best, found));
                        Ok(best)
                    },
                )?;
            found
                .into_iter()
                .flatten()
                .for_each(|found| keep_nearer(&mut best, found));
        }
        Ok(best)
    }

    /// Calls `visit` with all matches of a batch of queries, ordered by segment, record and query. Excluded records are
    /// not found.
    ///
    /// # Errors
    /// A query with another number of bits, a damaged page of a segment, or an error of `visit`.
    pub fn for_each_match<E: From<simidx::Error>>(
        &self,
        queries: &[TextSketch],
        mut visit: impl FnMut(SketchMatch) -> Result<(), E>,
    ) -> Result<(), E> {
        let tables = Tables::new(queries, self.banding(queries.len()))?;
        for segment in 0..self.set.segment_count() {
            let count = self.sketch_count(segment)?;
            for start in (0..count).step_by((TASK_LEN * ROUND_TASKS) as usize) {
                let end = count.min(start + TASK_LEN * ROUND_TASKS);
                let tasks: Vec<u64> = (start..end).step_by(TASK_LEN as usize).collect();
                let tasks = tasks.into_par_iter().map(|start| {
                    let mut found = Vec::new();
                    let records = start..end.min(start + TASK_LEN);
                    self.matches_of(segment, records, &tables, |one| found.push(one))?;
                    Ok::<_, simidx::Error>(found)
                });
                for matches in tasks.collect::<Vec<_>>() {
                    for found in matches? {
                        visit(found)?;
                    }
                }
            }
        }
        Ok(())
    }

    /// The records that are near any query of a batch, each once: the numbers of the segment and of the record, ascending.
    /// Records that are left out of the segments are not found. Memory: 16 bytes for each of them.
    ///
    /// # Errors
    ///
    /// As for [`SketchSearch::for_each_match`].
    pub fn near_records(&self, queries: &[TextSketch]) -> Result<Vec<(usize, u64)>> {
        let tables = Tables::new(queries, self.banding(queries.len()))?;
        let mut near = Vec::new();
        for segment in 0..self.set.segment_count() {
            let tasks = self.sketch_count(segment)?.div_ceil(TASK_LEN);
            let of_task = |task: u64| {
                let (start, mut records) = (task * TASK_LEN, Vec::new());
                self.matches_of(segment, start..start + TASK_LEN, &tables, |found| {
                    records.push((segment, found.record));
                })?;
                records.dedup();
                Ok(records)
            };
            let found: Result<Vec<_>> = (0..tasks).into_par_iter().map(of_task).collect();
            near.extend(found?.into_iter().flatten());
        }
        Ok(near)
    }

    /// Passes on the matches of some records of a segment, except excluded records.
    fn matches_of(
        &self,
        segment: usize,
        records: Range<u64>,
        tables: &Tables<'_>,
        mut take: impl FnMut(SketchMatch),
    ) -> Result<()> {
        let count = self.sketch_count(segment)?;
        let records = records.start..records.end.min(count);
        let (mut words, mut near) = (Vec::new(), Near::default());
        self.set
            .read_sketches(segment, records.clone(), &mut words)?;
        for (record, sketch) in records.zip(words.chunks_exact(tables.words)) {
            tables.find(sketch, &mut near);
            if near.found.is_empty() || !self.set.shows_record(segment, record)? {
                continue;
            }
            near.found.iter().for_each(|&(query, distance)| {
                take(SketchMatch {
                    query: query as usize,
                    segment,
                    record,
                    distance,
                })
            });
        }
        Ok(())
    }
}

/// Largest acceptable number of expected chance matches for dropping documents by sketches, see
/// [`SketchSearch::chance_matches`]: at this number, one text in a thousand would be dropped by mistake.
pub const MOST_CHANCE_MATCHES: f64 = 0.001;

/// Returns the expected number of matches, among `records` records, of a text that has nothing in common with them.
/// Matches are sketches of `sketch_bits` bits with an estimate of at least `least` minus `margin` standard errors. The
/// result underflows to 0 above about 1,000 bits.
///
/// ```
/// use simidx_text::similar::chance_matches;
///
/// assert!(chance_matches(1_000_000, 0.8, 0.0, 64) < 0.001);
/// assert!(chance_matches(1_000_000, 0.5, 0.0, 64) > 30.0);
/// assert!(chance_matches(1_000_000, 0.5, 0.0, 256) < 1e-8);
/// ```
pub fn chance_matches(records: u64, least: f64, margin: f64, sketch_bits: u32) -> f64 {
    // Without queries, all sketches are compared, so that no match is missed.
    let banding = SketchBanding::new(least, margin, sketch_bits, 0);
    records as f64 * banding.recall(0.0)
}

/// Bytes of the best match of a query.
const BEST_LEN: u64 = size_of::<Option<SketchMatch>>() as u64;

/// Replaces the best match of a query if `found` is nearer.
fn keep_nearer(best: &mut [Option<SketchMatch>], found: SketchMatch) {
    let rank = |found: &SketchMatch| (found.distance, found.segment, found.record);
    let best = &mut best[found.query];
    if best.as_ref().is_none_or(|best| rank(&found) < rank(best)) {
        *best = Some(found);
    }
}

/// The queries of a batch, by the bits of their bands.
struct Tables<'q> {
    queries: &'q [TextSketch],
    /// Number of 64-bit numbers in a sketch.
    words: usize,
    banding: SketchBanding,
    positions: Vec<u16>,
    /// For each band and value of its bits, the first query that has it, or `NONE`.
    first: Vec<u32>,
    /// For each band and query, the next query with the same value.
    next: Vec<u32>,
}

/// The queries near a sketch, and working memory for finding them.
#[derive(Default)]
struct Near {
    found: Vec<(u32, u32)>,
    candidates: Vec<u32>,
}

impl<'q> Tables<'q> {
    /// Bytes of the tables of `query_count` queries, and of the queries.
    fn byte_count(banding: SketchBanding, query_count: usize) -> u64 {
        let values = banding.band_count() << banding.band_bits();
        let numbers = values + banding.band_count() * query_count;
        let queries = query_count * banding.sketch_bits() as usize / 8;
        (size_of::<u32>() * numbers + queries) as u64
    }

    fn new(queries: &'q [TextSketch], banding: SketchBanding) -> Result<Self> {
        if let Some(other) = queries.iter().find(|q| q.bits() != banding.sketch_bits()) {
            let (given, wanted) = (other.bits(), banding.sketch_bits());
            let message = format!("a sketch of {given} bits is to be compared with {wanted} bits");
            return Err(simidx::builder::OptionsError::new("sketches", message).into());
        }
        if queries.len() >= NONE as usize {
            return Err(simidx::Error::LimitReached {
                what: "queries",
                limit: u64::from(NONE) - 1,
            });
        }
        let mut tables = Tables {
            queries,
            words: banding.sketch_bits() as usize / 64,
            banding,
            positions: banding.positions(),
            first: vec![NONE; banding.band_count() << banding.band_bits()],
            next: vec![NONE; banding.band_count() * queries.len()],
        };
        for band in 0..banding.band_count() {
            // Queries are inserted in reverse order, so that lists ascend.
            for (number, query) in queries.iter().enumerate().rev() {
                let place = tables.place(band, query.as_u64s());
                let first = std::mem::replace(&mut tables.first[place], number as u32);
                tables.next[band * queries.len() + number] = first;
            }
        }
        Ok(tables)
    }

    /// Returns the position of a sketch in the table of a band.
    #[inline]
    fn place(&self, band: usize, sketch: &[u64]) -> usize {
        let bits = self.banding.band_bits() as usize;
        let positions = &self.positions[band * bits..(band + 1) * bits];
        positions.iter().fold(band, |place, &position| {
            let bit = sketch[usize::from(position / 64)] >> (position % 64) & 1;
            place << 1 | bit as usize
        })
    }

    /// Finds the queries near a sketch, in order.
    fn find(&self, sketch: &[u64], near: &mut Near) {
        let largest = self.banding.largest_distance();
        let Near { found, candidates } = near;
        found.clear();
        let mut compare = |number: u32| {
            let distance = distance(self.queries[number as usize].as_u64s(), sketch);
            if distance <= largest {
                found.push((number, distance));
            }
        };
        if self.banding.band_count() == 0 {
            (0..self.queries.len() as u32).for_each(compare);
            return;
        }
        candidates.clear();
        for band in 0..self.banding.band_count() {
            let mut query = self.first[self.place(band, sketch)];
            while query != NONE {
                candidates.push(query);
                query = self.next[band * self.queries.len() + query as usize];
            }
        }
        candidates.sort_unstable();
        candidates.dedup();
        candidates.iter().for_each(|&number| compare(number));
    }
}
