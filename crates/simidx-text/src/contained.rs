//! Texts that stand in longer ones, as items of a test set do in training data: how much of them, and where.

use std::collections::{BTreeMap, HashMap};
use std::hash::BuildHasherDefault;
use std::ops::Range;

use crate::Fingerprinter;
use crate::compare::FeatureSet;
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
/// order; the similarity is that of [`FeatureSet::of_shingles`]. An item with fewer words than a run has is one run, of all of
/// its words, and compared with runs of as many words in documents. An item without words is never found.
///
/// Nothing is missed and nothing is estimated, except that two runs with the same hash of 64 bits count as one.
///
/// Memory: at most 80 bytes for each run of the items. A search takes the time in which the words of the document are
/// hashed, and that much again for each length of the items that are shorter than a run.
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
    /// The hashes of runs, each with an item that has it, ascending.
    postings: Vec<(u64, usize)>,
    /// Where the postings of a run begin.
    starts: HashMap<u64, usize, BuildHasherDefault<LowBits>>,
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
            postings: Vec::new(),
            starts: HashMap::default(),
            lengths: Vec::new(),
        };
        for item in items {
            search.push(&word_hashes(fingerprinter.cleaned(item.as_ref())));
        }
        search.postings.sort_unstable();
        for (start, &(run, _)) in search.postings.iter().enumerate() {
            search.starts.entry(run).or_insert(start);
        }
        search.lengths.sort_unstable();
        search.lengths.dedup();
        Ok(search)
    }

    /// Adds an item with these words.
    fn push(&mut self, words: &[u64]) {
        let length = self.options.words.min(words.len()).max(1);
        let runs = FeatureSet::of_runs(words, length);
        let (number, runs) = (self.items.len(), runs.hashes());
        self.postings.extend(runs.iter().map(|&run| (run, number)));
        self.items.push(Item {
            run_count: runs.len(),
            length,
        });
        if !runs.is_empty() {
            self.lengths.push(length);
        }
    }

    /// The items that stand in a document, ascending.
    pub fn find(&self, fingerprinter: &mut Fingerprinter, document: &str) -> Vec<Contained> {
        let text = fingerprinter.cleaned(document);
        let words = word_hashes(text);
        // The items, and the first place of each of their runs.
        let mut shared = Vec::new();
        for (start, at) in self.first_occurrences(&words) {
            let run = self.postings[start].0;
            let postings = self.postings[start..].iter();
            let same = postings.take_while(|posting| posting.0 == run);
            shared.extend(same.map(|&(_, item)| (item, at)));
        }
        shared.sort_unstable();
        let mut places: Option<Vec<Range<usize>>> = None;
        // The distinct runs of each length in the document.
        let mut run_counts = BTreeMap::new();
        let mut found = Vec::new();
        for runs in shared.chunk_by(|a, b| a.0 == b.0) {
            let (both, (item, begin)) = (runs.len(), runs[0]);
            let Item { run_count, length } = self.items[item];
            let containment = both as f64 / run_count as f64;
            if containment < self.options.containment.max(self.options.similarity) {
                continue;
            }
            let in_document = run_counts
                .entry(length)
                .or_insert_with(|| FeatureSet::of_runs(&words, length).hashes().len());
            let similarity = both as f64 / (*in_document + run_count - both) as f64;
            if similarity < self.options.similarity {
                continue;
            }
            let places = places.get_or_insert_with(|| word_places(text));
            let last = runs[both - 1].1 + length - 1;
            let end = places.get(last).map_or(text.len(), |place| place.end);
            let start = places.get(begin).map_or(end, |place| place.start);
            found.push(Contained {
                item,
                containment,
                similarity,
                place: start..end,
            });
        }
        found
    }

    /// The runs that an item has among those of these words: where the postings of each begin, and the number of the word
    /// with which it begins first.
    fn first_occurrences(&self, words: &[u64]) -> Vec<(usize, usize)> {
        let mut found = Vec::new();
        for &length in &self.lengths {
            for (at, run) in words.windows(length).enumerate() {
                if let Some(&start) = self.starts.get(&hash_of_run(run)) {
                    found.push((start, at));
                }
            }
        }
        found.sort_unstable();
        found.dedup_by_key(|(start, _)| *start);
        found
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Pipeline;
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
