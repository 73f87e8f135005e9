//! Document frequencies of features, counted over a corpus, and the table of weights that they determine.

use std::collections::HashMap;
use std::io::{self, Write};

/// Counts the documents that each feature occurs in.
///
/// When it holds twice the number of features to keep, it drops the rarest. Among equally rare features, the last in
/// byte order are dropped first. A dropped feature that occurs again is counted from zero, so its frequency may be too
/// low, by at most [`DocumentFrequencies::most_missed`], which is 0 if no feature was dropped.
///
/// ```
/// use simidx_text::assets::{FrequencyCounter, IdfTable};
///
/// let mut counter = FrequencyCounter::new(1000);
/// for document in [["the", "cat"], ["the", "dog"]] {
///     counter.add(1, document.into_iter().map(|word| (word.to_owned(), 1)));
/// }
/// let mut file = Vec::new();
/// counter.finish(1).write("by hand", &mut file)?;
/// assert!(file.ends_with(b"#default 1.791759\nthe\t0.182322\ncat\t0.693147\ndog\t0.693147\n"));
/// IdfTable::from_bytes("idf.tsv", &file)?;
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Clone, Debug)]
pub struct FrequencyCounter {
    counts: HashMap<String, u64>,
    max_features: usize,
    document_count: u64,
    most_missed: u64,
    /// Number of occurrences of features that are too long to keep.
    long_count: u64,
}

/// Largest number of bytes of a feature that is kept: longer features rarely occur twice.
const MAX_FEATURE_LEN: usize = 256;

impl FrequencyCounter {
    /// Creates a counter that keeps at least `max_features` features. Memory: about 80 bytes and the text (at most 256
    /// bytes) for each of twice this number of features, and for each feature in the last call of [`add`](Self::add).
    pub fn new(max_features: usize) -> Self {
        FrequencyCounter {
            counts: HashMap::new(),
            max_features,
            document_count: 0,
            most_missed: 0,
            long_count: 0,
        }
    }

    /// Adds `documents` documents. `features` are their features, each with the number of these documents that it
    /// occurs in. The order of features does not matter; the division of the documents into calls may matter once
    /// features are dropped.
    pub fn add(&mut self, documents: u64, features: impl IntoIterator<Item = (String, u64)>) {
        self.document_count += documents;
        for (feature, count) in features {
            if feature.len() > MAX_FEATURE_LEN {
                self.long_count += 1;
                continue;
            }
            *self.counts.entry(feature).or_default() += count;
        }
        if self.counts.len() > self.max_features.saturating_mul(2) {
            self.drop_rarest();
        }
    }

    /// Drops all but the most frequent features.
    fn drop_rarest(&mut self) {
        let mut all: Vec<(String, u64)> = self.counts.drain().collect();
        if self.max_features < all.len() {
            all.select_nth_unstable_by(self.max_features, by_frequency);
            let dropped = all.drain(self.max_features..);
            self.most_missed += dropped.map(|(_, count)| count).max().unwrap_or(0);
        }
        self.counts.extend(all);
    }

    /// Returns the frequencies of the features that occur in at least `min_count` documents.
    pub fn finish(mut self, min_count: u64) -> DocumentFrequencies {
        if self.counts.len() > self.max_features {
            self.drop_rarest();
        }
        let mut found = DocumentFrequencies {
            document_count: self.document_count,
            min_count,
            features: Vec::new(),
            rare_count: 0,
            unwritable_count: self.long_count,
            most_missed: self.most_missed,
        };
        for (feature, count) in self.counts {
            if count < min_count {
                found.rare_count += 1;
            } else if is_writable(&feature) {
                found.features.push((feature, count));
            } else {
                found.unwritable_count += 1;
            }
        }
        found.features.sort_unstable_by(by_frequency);
        found
    }
}

/// Orders features by descending frequency, then by their bytes.
fn by_frequency(a: &(String, u64), b: &(String, u64)) -> std::cmp::Ordering {
    b.1.cmp(&a.1).then_with(|| a.0.cmp(&b.0))
}

/// Whether a line of an [`IdfTable`](super::assets::IdfTable) can contain the feature; a line that starts with `#` is a
/// comment.
fn is_writable(feature: &str) -> bool {
    !feature.is_empty() && !feature.starts_with('#') && !feature.contains(['\t', '\n', '\r'])
}

/// The number of documents that each feature occurs in, as [`FrequencyCounter::finish`] returns it.
///
/// ```
/// use simidx_text::assets::FrequencyCounter;
///
/// let mut counter = FrequencyCounter::new(1000);
/// counter.add(3, [("the".to_owned(), 3), ("cat".to_owned(), 1)]);
/// let frequencies = counter.finish(2);
/// assert_eq!(frequencies.features, [("the".to_owned(), 3)]);
/// assert_eq!((frequencies.rare_count, frequencies.most_missed), (1, 0));
/// ```
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct DocumentFrequencies {
    /// Number of documents.
    pub document_count: u64,
    /// Smallest number of documents in which a listed feature occurs.
    pub min_count: u64,
    /// The features with the number of documents that they occur in, by descending number, then by their bytes.
    pub features: Vec<(String, u64)>,
    /// Number of features left out because they occur in fewer than `min_count` documents.
    pub rare_count: u64,
    /// Number of features left out because a line cannot contain them: those with a tab, a line end or a leading `#`.
    /// Features of more than 256 bytes are counted here at every occurrence.
    pub unwritable_count: u64,
    /// The largest possible undercount of a frequency; 0 if no feature was dropped. A feature that occurs in at most
    /// this number of documents may be missing.
    pub most_missed: u64,
}

impl DocumentFrequencies {
    /// The inverse document frequency of a feature that occurs in `count` of N documents: ln((N + 1) / (count + 0.5)).
    pub fn idf(&self, count: u64) -> f64 {
        let documents = self.document_count as f64 + 1.0;
        (documents / (count as f64 + 0.5)).ln().max(0.0)
    }

    /// Writes the table that [`IdfTable`](super::assets::IdfTable) reads, with the description of the pipeline (one
    /// line) in a comment. Unlisted features have the inverse document frequency of a feature that never occurs.
    ///
    /// # Errors
    /// Any error of `out`.
    pub fn write(&self, pipeline: &str, out: &mut dyn Write) -> io::Result<()> {
        writeln!(
            out,
            "# inverse document frequencies: feature, TAB, ln((N + 1) / (documents with it + 0.5))"
        )?;
        writeln!(out, "# N: {} documents", self.document_count)?;
        writeln!(
            out,
            "# features: {}, each in at least {} documents",
            self.features.len(),
            self.min_count
        )?;
        writeln!(out, "# pipeline: {}", pipeline.replace(['\n', '\r'], " "))?;
        writeln!(out, "#default {:.6}", self.idf(0))?;
        for (feature, count) in &self.features {
            writeln!(out, "{feature}\t{:.6}", self.idf(*count))?;
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::assets::IdfTable;

    fn named(counts: &[(&str, u64)]) -> Vec<(String, u64)> {
        counts.iter().map(|&(f, c)| (f.to_owned(), c)).collect()
    }

    #[test]
    fn what_a_line_cannot_hold_is_left_out_and_counted() {
        let mut counter = FrequencyCounter::new(100);
        let features = ["a b", "#x", "y\tz", "u\nv", "c\r", " ", "d"];
        counter.add(9, features.map(|feature| (feature.to_owned(), 3)));
        counter.add(1, named(&[("d", 1), ("once", 1)]));
        let found = counter.finish(2);
        assert_eq!(found.features, named(&[("d", 4), (" ", 3), ("a b", 3)]));
        assert_eq!((found.rare_count, found.unwritable_count), (1, 4));
        let mut counter = FrequencyCounter::new(100);
        counter.add(2, named(&[(&"x".repeat(257), 2), (&"x".repeat(256), 2)]));
        let of_long = counter.finish(1);
        assert_eq!((of_long.features.len(), of_long.unwritable_count), (1, 1));
        assert_eq!((found.document_count, found.most_missed), (10, 0));
        let mut file = Vec::new();
        found.write("two\nlines", &mut file).unwrap();
        let table = IdfTable::from_bytes("t", &file).unwrap();
        for (feature, count) in [("d", 4), (" ", 3), ("a b", 3), ("once", 0), ("#x", 0)] {
            let error = table.get(feature) - found.idf(count);
            assert!(error.abs() <= 5e-7, "{feature:?}");
        }
    }

    #[test]
    fn features_that_are_dropped_bound_what_is_missed() {
        // Feature i occurs in 1000 / i of 1000 documents, in a mixed order.
        let occurs = |feature: u64, document: u64| {
            (document * 7919 + feature * 104_729) % 1000 < 1000 / feature
        };
        let document = |number| {
            let features = (1..=300).filter(move |&f| occurs(f, number));
            features.map(|f| (f.to_string(), 1))
        };
        let count = |kept| {
            let mut counter = FrequencyCounter::new(kept);
            (0..1000).for_each(|number| counter.add(1, document(number)));
            counter.finish(1)
        };
        let (exact, bounded) = (count(1000), count(60));
        assert_eq!(exact.most_missed, 0);
        assert_eq!(exact.features[0], ("1".to_owned(), 1000));
        assert!(bounded.most_missed > 0 && bounded.features.len() == 60);
        let found: HashMap<_, _> = bounded.features.iter().cloned().collect();
        for (feature, count) in exact.features {
            let found = found.get(&feature).copied().unwrap_or(0);
            assert!(
                found <= count && found + bounded.most_missed >= count,
                "{feature}"
            );
        }
    }
}
