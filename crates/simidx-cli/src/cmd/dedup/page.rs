//! `--report` as a page to look at: which documents were dropped for which, their texts side by side.

use std::cmp::Reverse;
use std::collections::{BTreeSet, HashMap};

use maud::{Markup, Render, html};

use super::Job;
use super::judged::{Judged, Verdict};
use super::measure::{Measure, difference};
use crate::support::failure::Failure;
use crate::support::output::Column;
use crate::support::page::{
    BarChart, Differences, Entry, POLICY, SizeClasses, cluster, decimal, document, figures,
    grouped, keep_first, pair, plural, shown,
};
use crate::support::similarity::each_text;

/// Clusters that are shown.
const CLUSTERS: usize = 20;

/// Documents of a cluster that are shown next to the one that is kept.
const MEMBERS: usize = 4;

/// Doubtful documents that are shown.
const DOUBTFUL: usize = 30;

/// Bytes of a text that are held: more than the page compares.
const MAX_TEXT_LEN: usize = 1 << 18;

/// The seed of the samples.
const SEED: u64 = 1;

/// Texts by the numbers of their documents.
type Texts = HashMap<usize, String>;

/// A cluster that is shown.
struct Cluster {
    /// Number of its documents.
    size: u64,
    kept: usize,
    /// Those that differ most from the one that is kept.
    others: Vec<(Reverse<u32>, usize)>,
}

/// The results of a run, and where the texts are.
pub(super) struct Page<'a, 'j> {
    pub(super) job: &'a Job<'j>,
    pub(super) judged: &'a Judged<'j>,
}

impl Page<'_, '_> {
    /// The page, with figures of the run as a whole.
    ///
    /// # Errors
    /// Ids that cannot be read, and inputs that cannot be read again.
    pub(super) fn html(&self, title: &str, rows: &[(&str, String)]) -> Result<String, Failure> {
        let mut differences = Differences::new(self.job.measure.limit(), DOUBTFUL, SEED);
        // How many are dropped for each document.
        let mut counts = vec![0_u32; self.judged.count()];
        for (difference, kept, dropped) in self.dropped() {
            differences.add(difference, dropped as u128, (kept, dropped));
            counts[kept] += 1;
        }
        let (mut sizes, mut largest) = (SizeClasses::default(), Vec::new());
        let mut cluster_count = 0;
        for (kept, count) in counts
            .into_iter()
            .enumerate()
            .filter(|&(_, count)| count > 0)
        {
            cluster_count += 1;
            let size = u64::from(count) + 1;
            sizes.add(size);
            keep_first(&mut largest, (Reverse(size), kept), CLUSTERS);
        }
        let clusters = self.with_members(&largest);
        let texts = self.texts(&differences, &clusters)?;
        let lead = html! {
            p {
                "Near-duplicates are " (self.job.measure.definition()) ". Samples are taken by the seed " (SEED) "."
            }
        };
        let limit = match self.job.measure {
            Measure::Distance(distance, _) => format!("distance of {distance}"),
            Measure::Similarity(similarity) => format!("similarity of {}", similarity.least()),
        };
        let doubtful =
            differences.doubtful(&limit, ("dropped document", ""), |difference, pair| {
                self.pair(difference, pair, &texts)
            })?;
        let doubtful = html! {
            @if differences.within() + differences.beyond() > 0 {
                p { "The document on the left is kept, the one on the right is dropped for it." }
            }
            (doubtful)
        };
        let pieces = clusters.iter().enumerate();
        let pieces = pieces.map(|(place, cluster)| self.cluster(place == 0, cluster, &texts));
        let pieces = pieces.collect::<Result<Vec<_>, Failure>>()?;
        let note = format!(
            ", of each the document that is kept and at most {MEMBERS} others, those that differ most from it"
        );
        let clusters = html! {
            (sizes.chart())
            @if cluster_count > 0 {
                h3 { "The largest clusters" }
                (shown(pieces, cluster_count, "cluster", &note))
            }
        };
        let sections = [
            (
                "figures",
                "At a glance",
                figures("Kept and dropped documents", rows),
            ),
            (
                "distances",
                "Differences",
                self.chart(&differences).render(),
            ),
            ("doubtful", "Doubtful duplicates", doubtful),
            ("clusters", "Clusters", clusters),
        ];
        Ok(document(title, POLICY, &lead, &sections))
    }

    /// The documents that are dropped for others, in their order: how much the two differ, the one that is kept, and the
    /// one that is dropped.
    fn dropped(&self) -> impl Iterator<Item = (u32, usize, usize)> {
        let decisions = &self.judged.decisions;
        (0..self.judged.count()).filter_map(|document| match decisions.verdict(document) {
            Verdict::Duplicate {
                of,
                distance,
                similarity,
            } => {
                let of_texts = || similarity.map_or(0, difference);
                Some((distance.unwrap_or_else(of_texts), of, document))
            }
            Verdict::Kept | Verdict::Excluded { .. } => None,
        })
    }

    /// Clusters by their numbers of documents and the one that is kept, each with those that differ most from it.
    fn with_members(&self, clusters: &[(Reverse<u64>, usize)]) -> Vec<Cluster> {
        let places = clusters.iter().enumerate();
        let places: HashMap<usize, usize> = places.map(|(at, &(_, kept))| (kept, at)).collect();
        let clusters = clusters.iter().map(|&(Reverse(size), kept)| Cluster {
            size,
            kept,
            others: Vec::new(),
        });
        let mut clusters: Vec<Cluster> = clusters.collect();
        for (difference, kept, document) in self.dropped() {
            if let Some(&place) = places.get(&kept) {
                keep_first(
                    &mut clusters[place].others,
                    (Reverse(difference), document),
                    MEMBERS,
                );
            }
        }
        clusters
    }

    /// The texts of the documents that are shown, as far as they have any.
    fn texts(&self, pairs: &Differences<usize>, clusters: &[Cluster]) -> Result<Texts, Failure> {
        let mut documents: BTreeSet<usize> = pairs.pairs().flat_map(|(a, b)| [a, b]).collect();
        for cluster in clusters {
            documents.insert(cluster.kept);
            documents.extend(cluster.others.iter().map(|(_, document)| document));
        }
        let mut texts = Texts::new();
        let reading = (self.job.mode, "reading texts", "documents");
        let positions = &self.judged.documents.labels.positions;
        each_text(
            (self.job.originals, positions),
            reading,
            &mut |document, mut text| {
                if documents.contains(&document) {
                    text.truncate(text.floor_char_boundary(MAX_TEXT_LEN));
                    text.shrink_to_fit();
                    texts.insert(document, text);
                }
                Ok(())
            },
        )?;
        Ok(texts)
    }

    fn chart(&self, differences: &Differences<usize>) -> BarChart {
        let all = differences.within() + differences.beyond();
        let unit = self.job.measure.unit();
        BarChart {
            id: "dropped",
            title: format!("Dropped documents by {unit}"),
            alternative: match (all, self.judged.decisions.counts().excluded) {
                (0, 0) => "No document was dropped.".into(),
                (0, _) => "All documents that were dropped are near a member of the index.".into(),
                _ => format!(
                    "{} dropped for another one, of which {} by a chain.",
                    plural(all, "document"),
                    grouped(differences.beyond()),
                ),
            },
            x_label: unit,
            y_label: "documents",
            ..differences.chart(
                0,
                |at| self.job.measure.label(at),
                "dropped by a chain of near-duplicates",
            )
        }
    }

    /// A document that is kept, and one that is dropped for it.
    fn pair(
        &self,
        difference: u32,
        (of, document): (usize, usize),
        texts: &Texts,
    ) -> Result<Markup, Failure> {
        let kept = self.entry(of, "kept".into(), texts)?;
        let dropped = self.entry(document, "dropped".into(), texts)?;
        Ok(pair(&self.heading(difference, document), &kept, &dropped))
    }

    fn cluster(&self, is_open: bool, shown: &Cluster, texts: &Texts) -> Result<Markup, Failure> {
        let kept = self.entry(shown.kept, "kept".into(), texts)?;
        let others = shown.others.iter().map(|&(Reverse(difference), document)| {
            self.entry(document, self.heading(difference, document), texts)
        });
        let others = others.collect::<Result<Vec<_>, _>>()?;
        let heading = format!("Cluster of {}", plural(shown.size, "document"));
        Ok(cluster(&heading, is_open, &kept, &others))
    }

    /// Returns the entry of a document: its name, a note and its text.
    fn entry(&self, document: usize, note: String, texts: &Texts) -> Result<Entry, Failure> {
        Ok(Entry {
            ids: vec![Column::of(&self.judged.label(document)?).to_string()],
            note,
            text: texts.get(&document).cloned(),
            ..Entry::default()
        })
    }

    /// Returns the distance or similarity of a document to the one that is kept for it, as a heading.
    fn heading(&self, difference: u32, document: usize) -> String {
        let mut heading = match self.judged.decisions.verdict(document) {
            Verdict::Duplicate {
                similarity: Some(jaccard),
                ..
            } => format!("similarity {}", decimal(jaccard, 2)),
            _ => format!("distance {difference}"),
        };
        if difference > self.job.measure.limit() {
            heading += ", linked by a chain";
        }
        heading
    }
}
