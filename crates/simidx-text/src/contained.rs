//! Texts that stand in longer ones, as items of a test set do in training data: how much of them, and where.

use std::collections::{BTreeMap, HashMap, HashSet};
use std::hash::BuildHasherDefault;
use std::ops::Range;

use crate::Fingerprinter;
use crate::dedup::{Similarity, SimilarityError};
use crate::feature_set::{hash_of_run, word_hashes, word_places};
use crate::tally::LowBits;

/// The options of a [`ContainedSearch`]. Start from [`ContainedOptions::default`].
///
/// ```
/// use simidx_text::contained::ContainedOptions;
///
/// let mut options = ContainedOptions::default();
/// assert_eq!((options.words, options.containment, options.similarity), (8, 0.8, 0.0));
/// options.words = 13;
/// ```
#[derive(Clone, Copy, Debug, PartialEq)]
#[non_exhaustive]
pub struct ContainedOptions {
    /// Words in a run, 1 to 64.
    pub words: usize,
    /// The least share of the runs of an item that a document has, 0 to 1.
    pub containment: f64,
    /// The least Jaccard similarity of an item and a document, 0 to 1.
    pub similarity: f64,
}

impl Default for ContainedOptions {
    fn default() -> Self {
        ContainedOptions {
            words: 8,
            containment: 0.8,
            similarity: 0.0,
        }
    }
}

/// An item that stands in a document; found by [`ContainedSearch::find`].
///
/// ```
/// use simidx::Width;
/// use simidx_text::Pipeline;
/// use simidx_text::contained::{Contained, ContainedOptions, ContainedSearch};
///
/// let mut fingerprinter = Pipeline::default().fingerprinter(Width::W64)?;
/// let search = ContainedSearch::new(&mut fingerprinter, ["to be"], &ContainedOptions::default())?;
/// let found: Vec<Contained> = search.find(&mut fingerprinter, "not to be");
/// assert_eq!((found[0].containment, found[0].similarity), (1.0, 1.0 / 2.0));
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
pub struct Contained {
    /// The number of the item, from 0.
    pub item: usize,
    /// The share of the runs of the item that the document has, 0 to 1.
    pub containment: f64,
    /// The Jaccard similarity of the runs of both, 0 to 1: never more than the containment.
    pub similarity: f64,
    /// The bytes of the document from the first to the last of these runs, each where it first occurs. Of HTML these are
    /// bytes of its text.
    pub place: Range<usize>,
}

/// Items, such as those of a test set, to be found in any number of documents.
///
/// The containment of an item in a document is the share of its distinct runs of words that the document has, in any
/// order; the similarity is that of [`FeatureSet::of_shingles`](crate::compare::FeatureSet::of_shingles). An item with
/// fewer words than a run has is one run, of all of its words, and compared with runs of as many words in documents. An
/// item without words is never found.
///
/// Nothing is missed and nothing is estimated, except that two runs with the same hash of 64 bits count as one.
///
/// Memory: at most 110 bytes for each run of the items. A search takes little more than the time in which the words of the
/// document are hashed, and a tenth of it again for each length of the items that are shorter than a run.
///
/// ```
/// use simidx::Width;
/// use simidx_text::Pipeline;
/// use simidx_text::contained::{ContainedOptions, ContainedSearch};
///
/// let mut fingerprinter = Pipeline::default().fingerprinter(Width::W64)?;
/// let mut options = ContainedOptions::default();
/// options.words = 2;
/// let items = ["To be, or not", "Whether 'tis nobler"];
/// let search = ContainedSearch::new(&mut fingerprinter, items, &options)?;
///
/// let document = "He said: to be or not to be. Then he left.";
/// let found = search.find(&mut fingerprinter, document);
/// assert_eq!((found.len(), found[0].item, found[0].containment), (1, 0, 1.0));
/// assert_eq!(&document[found[0].place.clone()], "to be or not");
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Clone, Debug)]
pub struct ContainedSearch {
    options: ContainedOptions,
    items: Vec<Item>,
    /// The distinct runs in the order of the items: one that follows another in a document often does so here.
    runs: Vec<u64>,
    /// The number of each run in this order.
    numbers: HashMap<u64, usize, BuildHasherDefault<LowBits>>,
    /// The number of a run, and an item that has it, ascending.
    postings: Vec<(usize, usize)>,
    /// Where the postings of each run begin.
    starts: Vec<usize>,
    /// Refuses most runs that no item has.
    filter: Filter,
    /// The lengths that runs have in words, ascending.
    lengths: Vec<usize>,
}

#[derive(Clone, Copy, Debug)]
struct Item {
    /// Distinct runs.
    run_count: usize,
    /// Words in each.
    length: usize,
}

impl ContainedSearch {
    /// Prepares the search for these items, which are numbered from 0.
    ///
    /// # Errors
    ///
    /// Options that are out of range.
    pub fn new(
        fingerprinter: &mut Fingerprinter,
        items: impl IntoIterator<Item = impl AsRef<str>>,
        options: &ContainedOptions,
    ) -> Result<Self, SimilarityError> {
        Similarity::of_words(1.0, options.words)?;
        for least in [options.containment, options.similarity] {
            if !(0.0..=1.0).contains(&least) {
                return Err(SimilarityError::Least(least));
            }
        }
        let mut search = ContainedSearch {
            options: *options,
            items: Vec::new(),
            runs: Vec::new(),
            numbers: HashMap::default(),
            postings: Vec::new(),
            starts: Vec::new(),
            filter: Filter::default(),
            lengths: Vec::new(),
        };
        let mut sums = Vec::new();
        for item in items {
            let words = word_hashes(fingerprinter.cleaned(item.as_ref()));
            sums.extend(run_sums(&words, search.push(&words)));
        }
        search.filter = Filter::of(sums);
        search.postings.sort_unstable();
        search.postings.dedup();
        for (start, &(run, _)) in search.postings.iter().enumerate() {
            if run == search.starts.len() {
                search.starts.push(start);
            }
        }
        search.lengths.sort_unstable();
        search.lengths.dedup();
        Ok(search)
    }

    /// Adds an item with these words, and returns the length of its runs.
    fn push(&mut self, words: &[u64]) -> usize {
        let length = self.options.words.min(words.len()).max(1);
        for run in words.windows(length).map(hash_of_run) {
            let number = *self.numbers.entry(run).or_insert(self.runs.len());
            if number == self.runs.len() {
                self.runs.push(run);
            }
            self.postings.push((number, self.items.len()));
        }
        if words.len() >= length {
            self.lengths.push(length);
        }
        let run_count = distinct_run_count(words, length);
        self.items.push(Item { run_count, length });
        length
    }

    /// The items that stand in a document, ascending.
    pub fn find(&self, fingerprinter: &mut Fingerprinter, document: &str) -> Vec<Contained> {
        let text = fingerprinter.cleaned(document);
        let words = word_hashes(text);
        let mut shared: HashMap<u64, Shared, BuildHasherDefault<LowBits>> = HashMap::default();
        for (run, at) in self.first_occurrences(&words) {
            let postings = self.postings[self.starts[run]..].iter();
            for &(_, item) in postings.take_while(|posting| posting.0 == run) {
                let one = Shared {
                    count: 0,
                    first: at,
                    last: at,
                };
                let shared = shared.entry(item as u64).or_insert(one);
                shared.count += 1;
                shared.first = shared.first.min(at);
                shared.last = shared.last.max(at);
            }
        }
        let mut places: Option<Vec<Range<usize>>> = None;
        // The distinct runs of each length in the document.
        let mut run_counts = BTreeMap::new();
        let mut found = Vec::new();
        for (item, shared) in shared {
            let item = item as usize;
            let Item { run_count, length } = self.items[item];
            // Distinct runs are counted by other hashes than shared ones.
            let both = shared.count.min(run_count);
            let containment = both as f64 / run_count as f64;
            if containment < self.options.containment.max(self.options.similarity) {
                continue;
            }
            let in_document = run_counts
                .entry(length)
                .or_insert_with(|| distinct_run_count(&words, length));
            let both_at_most = both.min(*in_document);
            let similarity = both_at_most as f64 / (*in_document + run_count - both_at_most) as f64;
            if similarity < self.options.similarity {
                continue;
            }
            let places = places.get_or_insert_with(|| word_places(text));
            let last = places.get(shared.last + length - 1);
            let end = last.map_or(text.len(), |place| place.end);
            let start = places.get(shared.first).map_or(end, |place| place.start);
            found.push(Contained {
                item,
                containment,
                similarity,
                place: start..end,
            });
        }
        found.sort_unstable_by_key(|found| found.item);
        found
    }

    /// The runs that an item has among those of these words: the number of each, and that of the word with which it begins
    /// first.
    fn first_occurrences(&self, words: &[u64]) -> Vec<(usize, usize)> {
        let mut found = Vec::new();
        let mut next = 0;
        for &length in &self.lengths {
            for (at, sum) in run_sums(words, length).enumerate() {
                if !self.filter.may_have(sum) {
                    continue;
                }
                let run = hash_of_run(&words[at..at + length]);
                let number = match self.runs.get(next) == Some(&run) {
                    true => Some(next),
                    false => self.numbers.get(&run).copied(),
                };
                if let Some(number) = number {
                    found.push((number, at));
                    next = number + 1;
                }
            }
        }
        found.sort_unstable();
        found.dedup_by_key(|(number, _)| *number);
        found
    }
}

/// The number of distinct runs of `length` words.
fn distinct_run_count(words: &[u64], length: usize) -> usize {
    let mut runs: HashSet<u64, BuildHasherDefault<LowBits>> = HashSet::default();
    runs.reserve(words.len());
    runs.extend(run_sums(words, length));
    runs.len()
}

/// The runs that an item and a document share.
struct Shared {
    count: usize,
    /// The numbers of the words of the document with which the first and the last of them begin.
    first: usize,
    last: usize,
}

/// Numbers for all runs of `length` words, in order, each made from the one before. Equal runs have equal numbers.
fn run_sums(words: &[u64], length: usize) -> impl Iterator<Item = u64> {
    const FACTOR: u64 = 0x9e37_79b9_7f4a_7c15;
    let (mut sum, mut power) = (0u64, FACTOR);
    let (first, others) = words.split_at((length - 1).min(words.len()));
    for word in first {
        sum = sum.wrapping_mul(FACTOR).wrapping_add(*word);
        power = power.wrapping_mul(FACTOR);
    }
    let left = std::iter::once(&0).chain(words);
    others.iter().zip(left).map(move |(entering, left)| {
        let next = sum.wrapping_mul(FACTOR).wrapping_add(*entering);
        sum = next.wrapping_sub(left.wrapping_mul(power));
        sum
    })
}

/// Bits by the highest bits of the sums of runs, few enough to stay in the cache: most runs of a corpus are in no item.
#[derive(Clone, Debug, Default)]
struct Filter {
    bits: Vec<u64>,
    shift: u32,
}

impl Filter {
    fn of(sums: Vec<u64>) -> Self {
        // Two of 8 to 16 bits are set.
        let count = (sums.len() * 8).next_power_of_two().max(64);
        let mut filter = Filter {
            bits: vec![0; count / 64],
            shift: 64 - count.ilog2(),
        };
        for sum in sums {
            let (number, two) = filter.place(sum);
            filter.bits[number] |= two;
        }
        filter
    }

    /// Two bits for the sum of a run, in a number that is loaded once.
    fn place(&self, sum: u64) -> (usize, u64) {
        let [one, other] = [self.shift, self.shift - 6].map(|shift| 1 << (sum >> shift & 63));
        ((sum >> self.shift) as usize / 64, one | other)
    }

    fn may_have(&self, sum: u64) -> bool {
        let (number, two) = self.place(sum);
        self.bits[number] & two == two
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Pipeline;
    use crate::compare::FeatureSet;
    use simidx::Width;
    use std::collections::BTreeSet;

    fn fingerprinter() -> Fingerprinter {
        let pipeline = Pipeline::new(crate::Preset::Short.options()).unwrap();
        pipeline.fingerprinter(Width::W64).unwrap()
    }

    fn options(words: usize, containment: f64, similarity: f64) -> ContainedOptions {
        ContainedOptions {
            words,
            containment,
            similarity,
        }
    }

    fn search(items: &[&str], options: ContainedOptions) -> ContainedSearch {
        ContainedSearch::new(&mut fingerprinter(), items, &options).unwrap()
    }

    /// The runs of a text by the characters themselves: words are cut at spaces, and Han characters are words.
    fn runs(text: &str, length: usize) -> BTreeSet<Vec<String>> {
        let spaced = text.chars().flat_map(|c| match c {
            '一'..='龥' => vec![' ', c, ' '],
            _ => vec![c],
        });
        let spaced: String = spaced.collect();
        let words: Vec<String> = spaced.split_whitespace().map(str::to_lowercase).collect();
        words.windows(length).map(<[String]>::to_vec).collect()
    }

    /// Item, containment and similarity, each pair compared by itself.
    fn by_brute_force(
        items: &[&str],
        document: &str,
        options: ContainedOptions,
    ) -> Vec<(usize, f64, f64)> {
        let mut found = Vec::new();
        for (number, item) in items.iter().enumerate() {
            let mut lengths = (1..=options.words).rev();
            let Some(length) = lengths.find(|&length| !runs(item, length).is_empty()) else {
                continue;
            };
            let (a, b) = (runs(item, length), runs(document, length));
            let both = a.intersection(&b).count() as f64;
            let (containment, similarity) =
                (both / a.len() as f64, both / a.union(&b).count() as f64);
            if both > 0.0 && containment >= options.containment && similarity >= options.similarity
            {
                found.push((number, containment, similarity));
            }
        }
        found
    }

    /// Texts of few different words, so that they share runs.
    fn texts(count: usize, longest: usize, seed: u64) -> Vec<String> {
        let words = ["a", "B", "cc", "d", "汉", "字", "e字", "f"];
        let mut state = seed;
        let mut below = |limit: usize| {
            state = state.wrapping_mul(0x5851_f42d_4c95_7f2d).wrapping_add(11);
            (state >> 33) as usize % limit
        };
        let text = |_| {
            let length = below(longest + 1);
            let words: Vec<&str> = (0..length).map(|_| words[below(words.len())]).collect();
            words.join(" ")
        };
        (0..count).map(text).collect()
    }

    #[test]
    fn what_is_found_is_what_brute_force_finds() {
        let (items, documents) = (texts(20, 12, 1), texts(20, 60, 2));
        let items: Vec<&str> = items.iter().map(String::as_str).collect();
        let (mut count, mut fingerprinter) = (0, fingerprinter());
        for words in [1, 2, 3, 5] {
            for (containment, similarity) in
                [(0.0, 0.0), (0.8, 0.0), (1.0, 0.0), (0.5, 0.05), (0.0, 0.3)]
            {
                let options = options(words, containment, similarity);
                let search = search(&items, options);
                for document in documents
                    .iter()
                    .map(String::as_str)
                    .chain(items.iter().copied())
                {
                    let found = search.find(&mut fingerprinter, document);
                    count += found.len();
                    let figures: Vec<_> = found
                        .iter()
                        .map(|found| (found.item, found.containment, found.similarity))
                        .collect();
                    assert_eq!(
                        figures,
                        by_brute_force(&items, document, options),
                        "{document}"
                    );
                    // The place has all of the runs.
                    for found in found {
                        let part = &document[found.place];
                        let again = search.find(&mut fingerprinter, part);
                        let again = again.iter().find(|other| other.item == found.item).unwrap();
                        assert_eq!(again.containment, found.containment, "{part}");
                    }
                }
            }
        }
        assert!(count > 1_000, "{count}");
    }

    #[test]
    fn similarities_are_those_of_feature_sets() {
        let (items, documents) = (texts(40, 12, 3), texts(40, 20, 4));
        let items: Vec<&str> = items.iter().map(String::as_str).collect();
        let search = search(&items, options(3, 0.0, 0.0));
        for document in &documents {
            for found in search.find(&mut fingerprinter(), document) {
                let item = items[found.item];
                if word_hashes(item).len() >= 3 {
                    let [a, b] = [item, document].map(|text| FeatureSet::of_shingles(text, 3));
                    assert_eq!(found.similarity, a.jaccard(&b));
                }
            }
        }
    }

    #[test]
    fn places_are_bytes_of_the_document() {
        let items = ["One two three four", "汉字很好", "nothing of it"];
        let search = search(&items, options(3, 0.6, 0.0));
        let part = |document: &'static str| {
            let found = search.find(&mut fingerprinter(), document);
            let parts = found.into_iter().map(|found| &document[found.place]);
            parts.collect::<Vec<_>>()
        };
        assert_eq!(
            part("…zero “ＯＮＥ, two  three; four”, five"),
            ["ＯＮＥ, two  three; four"]
        );
        assert_eq!(part("我说：汉字，很好！"), ["汉字，很好"]);
        // The first of two, and what lies between two halves.
        assert_eq!(
            part("one two three four, one two three four"),
            ["one two three four"]
        );
        assert_eq!(
            part("two three four one two three"),
            ["two three four one two three"]
        );
        assert_eq!(part("one two. Three fifths of four"), [""; 0]);
    }

    #[test]
    fn short_items_are_one_run_and_wordless_ones_are_never_found() {
        let items = ["to be", "", "…", "be", "to be or not"];
        let search = search(&items, ContainedOptions::default());
        let found = |document| {
            let found = search.find(&mut fingerprinter(), document);
            let found = found
                .into_iter()
                .map(|found| (found.item, found.similarity));
            found.collect::<Vec<_>>()
        };
        assert_eq!(found("Or to be"), [(0, 1.0 / 2.0), (3, 1.0 / 3.0)]);
        assert_eq!(found("To be!"), [(0, 1.0), (3, 1.0 / 2.0)]);
        assert_eq!(found("to or be not"), [(3, 1.0 / 4.0)]);
        assert!(found("").is_empty() && found("…").is_empty());
    }

    #[cfg(feature = "html")]
    #[test]
    fn html_is_searched_as_its_text() {
        let mut fingerprinter = Pipeline::default().fingerprinter(Width::W64).unwrap();
        let options = ContainedOptions::default();
        let search = ContainedSearch::new(&mut fingerprinter, ["to be or"], &options).unwrap();
        let page = "<html><p>Said: to <b>be</b> or not</p></html>";
        assert_eq!(search.find(&mut fingerprinter, page)[0].containment, 1.0);
    }

    #[test]
    fn options_out_of_range_are_refused() {
        let refused =
            |options| ContainedSearch::new(&mut fingerprinter(), ["a"], &options).unwrap_err();
        assert_eq!(refused(options(0, 0.8, 0.0)), SimilarityError::Words(0));
        assert_eq!(refused(options(65, 0.8, 0.0)), SimilarityError::Words(65));
        assert_eq!(refused(options(3, 1.1, 0.0)), SimilarityError::Least(1.1));
        assert_eq!(refused(options(3, 0.8, -1.0)), SimilarityError::Least(-1.0));
        assert!(matches!(
            refused(options(3, f64::NAN, 0.0)),
            SimilarityError::Least(_)
        ));
    }
}
