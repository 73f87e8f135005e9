//! `--report` as a page to look at: which documents were dropped for which, their texts side by side.

use std::collections::{BTreeMap, BTreeSet, HashMap};

use super::measure::Measure;
use crate::support::failure::Failure;
use crate::support::page::{
    Bar, BarChart, Boundary, Document, Entry, Html, Sample, SizeClasses, Table, cluster, decimal,
    fitting, grouped, pair, plural, sampled,
};

/// Clusters that are shown.
const CLUSTERS: usize = 20;

/// Documents of a cluster that are shown beside the one that is kept.
const MEMBERS: usize = 4;

/// Doubtful documents that are shown.
const DOUBTFUL: usize = 30;

/// Bytes of the page for the doubtful documents, and for the clusters.
const MAX_LEN: usize = 800_000;

/// The seed of the samples.
const SEED: u64 = 1;

/// Bars of the chart of distances; what is farther is in the last one.
const MAX_BARS: usize = 40;

/// What the page says of the run as a whole.
pub(super) struct Facts {
    /// What was read.
    pub(super) title: String,
    /// What makes documents near-duplicates.
    pub(super) measure: Measure,
    /// Names and values, for the first table.
    pub(super) figures: Vec<(&'static str, String)>,
}

/// Why a document was dropped, and how much the two differ, as the [`Measure`] counts it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Cause {
    /// For this document, which is kept.
    Document { of: usize, difference: u32 },
    /// For a member of an index.
    Member,
}

/// What is known of the documents, by their numbers from 0.
pub(super) trait Judgements {
    /// Number of documents.
    fn count(&self) -> usize;

    /// Why a document was dropped; `None` if it is kept.
    fn cause(&self, document: usize) -> Option<Cause>;

    /// The id of a document.
    ///
    /// # Errors
    /// The ids cannot be read.
    fn label(&self, document: usize) -> Result<String, Failure>;

    /// How similar a document's text is to that of the document that is kept for it, if texts were compared.
    fn similarity(&self, document: usize) -> Option<f64>;

    /// The texts of documents, as far as they have any.
    ///
    /// # Errors
    /// The inputs cannot be read again.
    fn texts(&self, documents: &BTreeSet<usize>) -> Result<HashMap<usize, String>, Failure>;
}

/// Makes the page.
///
/// # Errors
/// What the judgements report.
pub(super) fn page(facts: &Facts, judgements: &impl Judgements) -> Result<Document, Failure> {
    let survey = Survey::of(judgements);
    let doubtful = survey.doubtful(facts.measure.limit());
    let largest = survey.largest(judgements);
    let mut shown: BTreeSet<usize> = doubtful
        .iter()
        .flat_map(|&(of, document, _)| [of, document])
        .collect();
    for (kept, others) in &largest {
        shown.insert(*kept);
        shown.extend(others.iter().map(|(_, document)| document));
    }
    let texts = judgements.texts(&shown)?;
    let shelf = Shelf {
        judgements,
        texts,
        measure: facts.measure,
    };

    let mut lead = Html::new();
    lead.paragraph(format!(
        "Near-duplicates are {}. Samples are taken by the seed {SEED}.",
        facts.measure.definition()
    ));
    let mut page = Document::new(&facts.title, lead);
    let figures = Table::of_figures("What became of the documents", &facts.figures);
    page.section("figures", "At a glance", &figures);
    let heading = match facts.measure {
        Measure::Distance(..) => "Distances",
        Measure::Similarity(_) => "Similarities",
    };
    page.section("distances", heading, &survey.chart(facts.measure).html());
    page.section(
        "doubtful",
        "Doubtful duplicates",
        &survey.doubtful_section(&doubtful, &shelf)?,
    );
    page.section(
        "clusters",
        "Clusters",
        &survey.clusters_section(&largest, &shelf)?,
    );
    Ok(page)
}

/// A document that is kept, and others of its cluster with their differences, the farthest first.
type ShownCluster = (usize, Vec<(u32, usize)>);

/// What one pass over all documents shows.
struct Survey {
    /// Documents dropped for others, by difference.
    counts: Vec<u64>,
    /// And for members of indexes.
    member_count: u64,
    /// Samples of those dropped for others, by difference: the one that is kept and the one that is dropped.
    samples: BTreeMap<u32, Vec<(usize, usize)>>,
    sizes: SizeClasses,
    cluster_count: u64,
    /// The largest clusters by the documents that are kept.
    largest: Vec<(u32, usize)>,
}

impl Survey {
    fn of(judgements: &impl Judgements) -> Self {
        let mut dropped = vec![0u32; judgements.count()];
        let (mut counts, mut member_count) = (Vec::new(), 0);
        let mut samples: BTreeMap<u32, Sample<(usize, usize)>> = BTreeMap::new();
        for document in 0..judgements.count() {
            match judgements.cause(document) {
                None => {}
                Some(Cause::Member) => member_count += 1,
                Some(Cause::Document { of, difference }) => {
                    dropped[of] += 1;
                    if counts.len() <= difference as usize {
                        counts.resize(difference as usize + 1, 0);
                    }
                    counts[difference as usize] += 1;
                    let sample = samples
                        .entry(difference)
                        .or_insert_with(|| Sample::new(DOUBTFUL, SEED));
                    sample.show(document as u128, (of, document));
                }
            }
        }
        let (mut sizes, mut cluster_count) = (SizeClasses::default(), 0);
        let mut largest: Vec<(u32, usize)> = Vec::with_capacity(CLUSTERS + 1);
        for (document, &count) in dropped.iter().enumerate().filter(|(_, count)| **count > 0) {
            sizes.add(u64::from(count) + 1);
            cluster_count += 1;
            let place = largest.partition_point(|&(other, _)| other >= count);
            largest.insert(place, (count, document));
            largest.truncate(CLUSTERS);
        }
        Survey {
            counts,
            member_count,
            samples: samples
                .into_iter()
                .map(|(difference, sample)| (difference, sample.into_items()))
                .collect(),
            sizes,
            cluster_count,
            largest,
        }
    }

    /// Those that are nearly no duplicates, the farthest first: some that only a chain links, then those within the
    /// difference.
    fn doubtful(&self, difference: u32) -> Vec<(usize, usize, u32)> {
        let within = self.samples.range(..=difference).rev();
        let beyond = self.samples.range(difference.saturating_add(1)..).rev();
        let of = |(difference, pairs): (&u32, &Vec<(usize, usize)>)| {
            let difference = *difference;
            pairs
                .iter()
                .map(move |&(of, document)| (of, document, difference))
                .collect::<Vec<_>>()
        };
        // A third of them are chains, if there are some.
        let mut doubtful: Vec<_> = beyond.flat_map(of).take(DOUBTFUL / 3).collect();
        let left = DOUBTFUL - doubtful.len();
        doubtful.extend(within.flat_map(of).take(left));
        doubtful
    }

    /// The largest clusters with some of their documents.
    fn largest(&self, judgements: &impl Judgements) -> Vec<ShownCluster> {
        let places: HashMap<usize, usize> = self
            .largest
            .iter()
            .enumerate()
            .map(|(place, &(_, document))| (document, place))
            .collect();
        let mut others: Vec<Vec<(u32, usize)>> = vec![Vec::new(); self.largest.len()];
        for document in 0..judgements.count() {
            if let Some(Cause::Document { of, difference }) = judgements.cause(document)
                && let Some(&place) = places.get(&of)
            {
                let held = &mut others[place];
                let at = held.partition_point(|&(other, _)| other >= difference);
                held.insert(at, (difference, document));
                held.truncate(MEMBERS);
            }
        }
        self.largest
            .iter()
            .map(|&(_, document)| document)
            .zip(others)
            .collect()
    }

    fn chart(&self, measure: Measure) -> BarChart {
        let limit = measure.limit();
        let last = self.counts.len().min(MAX_BARS);
        let mut bars: Vec<Bar> = Vec::with_capacity(last);
        for (at, &count) in self.counts[..last].iter().enumerate() {
            let rest: u64 = if at + 1 == last {
                self.counts[last..].iter().sum()
            } else {
                0
            };
            bars.push(Bar {
                label: match (rest > 0, measure) {
                    (false, _) => measure.label(at as u32),
                    (true, Measure::Distance(..)) => format!("{at}+"),
                    (true, Measure::Similarity(_)) => format!("≤ {}", measure.label(at as u32)),
                },
                value: (count + rest) as f64,
                figures: vec![grouped(count + rest)],
                is_beyond: at > limit as usize,
                ..Bar::default()
            });
        }
        let all: u64 = self.counts.iter().sum();
        let has_chains = bars.iter().any(|bar| bar.is_beyond);
        BarChart {
            id: "dropped",
            title: match measure {
                Measure::Distance(..) => {
                    "Dropped documents by their distance from the one that is kept".into()
                }
                Measure::Similarity(_) => {
                    "Dropped documents by their similarity to the one that is kept".into()
                }
            },
            alternative: match (all, self.member_count) {
                (0, 0) => "No document was dropped.".into(),
                (0, _) => "All documents that were dropped are near a member of the index.".into(),
                _ => format!(
                    "Of {} dropped for another one, {} have {}.",
                    plural(all, "document"),
                    grouped(self.counts.first().copied().unwrap_or_default()),
                    match measure {
                        Measure::Distance(..) => "its fingerprint",
                        Measure::Similarity(_) => "a similarity above 0.99",
                    }
                ),
            },
            x_label: measure.unit(),
            y_label: "documents",
            columns: vec!["documents"],
            beyond: has_chains.then(|| "dropped by a chain of near-duplicates".into()),
            boundary: has_chains.then(|| Boundary {
                before: limit as usize + 1,
                label: match measure {
                    Measure::Distance(distance, _) => format!("distance {distance}"),
                    Measure::Similarity(_) => format!("similarity {}", measure.label(limit)),
                },
            }),
            bars,
            ..BarChart::default()
        }
    }

    fn doubtful_section(
        &self,
        doubtful: &[(usize, usize, u32)],
        shelf: &Shelf<'_, impl Judgements>,
    ) -> Result<Html, Failure> {
        let mut html = Html::new();
        let all = self.counts.iter().sum();
        if all == 0 {
            html.paragraph("No document was dropped for another one.");
            return Ok(html);
        }
        html.paragraph("The document on the left is kept, the one on the right is dropped for it. Those that differ most come first.");
        let mut pieces = Vec::with_capacity(doubtful.len());
        for &(of, document, difference) in doubtful {
            let heading = shelf.heading(document, difference);
            let kept = shelf.entry(of, "kept".into())?;
            let dropped = shelf.entry(document, "dropped".into())?;
            pieces.push(pair(&heading, &kept, &dropped));
        }
        let (pieces, shown) = fitting(pieces, MAX_LEN);
        html.paragraph(format!(
            "Shown: {}.",
            sampled(shown, all, "dropped document")
        ));
        html.append(&pieces);
        Ok(html)
    }

    fn clusters_section(
        &self,
        largest: &[ShownCluster],
        shelf: &Shelf<'_, impl Judgements>,
    ) -> Result<Html, Failure> {
        let mut html = Html::new();
        html.append(&self.sizes.chart().html());
        if largest.is_empty() {
            return Ok(html);
        }
        html.element("h3", &[], "The largest clusters");
        let mut pieces = Vec::with_capacity(largest.len());
        for (place, (&(dropped, _), (kept, others))) in self.largest.iter().zip(largest).enumerate()
        {
            let first = shelf.entry(*kept, "kept".into())?;
            let mut entries = Vec::with_capacity(others.len());
            for &(difference, document) in others {
                let note = shelf.heading(document, difference);
                entries.push(shelf.entry(document, note)?);
            }
            let heading = format!("Cluster of {}", plural(u64::from(dropped) + 1, "document"));
            pieces.push(cluster(&heading, place == 0, &first, &entries));
        }
        let (pieces, shown) = fitting(pieces, MAX_LEN);
        html.paragraph(format!(
            "Shown: {}, of each the document that is kept and at most {MEMBERS} others, those that differ most from it.",
            sampled(shown, self.cluster_count, "cluster")
        ));
        html.append(&pieces);
        Ok(html)
    }
}

/// Where what is shown of documents comes from.
struct Shelf<'a, J> {
    judgements: &'a J,
    texts: HashMap<usize, String>,
    measure: Measure,
}

impl<J: Judgements> Shelf<'_, J> {
    fn entry(&self, document: usize, note: String) -> Result<Entry, Failure> {
        Ok(Entry {
            ids: vec![self.judgements.label(document)?],
            has_more_ids: false,
            fingerprint: String::new(),
            note,
            text: self.texts.get(&document).cloned(),
        })
    }

    /// How near two documents are.
    fn heading(&self, document: usize, difference: u32) -> String {
        let mut heading = Vec::new();
        if let Measure::Distance(..) = self.measure {
            heading.push(format!("distance {difference}"));
        }
        if let Some(similarity) = self.judgements.similarity(document) {
            heading.push(format!("similarity {}", decimal(similarity, 2)));
        }
        if difference > self.measure.limit() {
            heading.push("linked by a chain".to_owned());
        }
        heading.join(", ")
    }
}
