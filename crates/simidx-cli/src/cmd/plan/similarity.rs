//! What finding similar texts takes, and what it finds.

use std::io::{self, Write};

use serde::Serialize;
use simidx_text::dedup::Similarity;
use simidx_text::similar::{Banding, SimilarTexts};

use crate::support::messages::counted;
use crate::support::quantity::Size;
use crate::support::similarity::features_of;

/// MinHash values in a band for which the bands are shown.
const SHOWN_ROWS: u32 = 8;

/// Bands of those that are shown, at the most.
const MOST_BANDS: usize = 512;

/// Bytes of text for a word, in English with the space before it.
const WORD_LEN: f64 = 6.5;

/// Of the memory, the part that `dedup` has for finding ids that come twice.
const ID_SHARE: u64 = 16;

/// Bytes for a key of a text.
const KEY_LEN: f64 = 4.0;

/// Processor time in seconds for a text, and for a byte of text: a fit to 10^5 and 10^6 English descriptions of 500 bytes and
/// to 5,468 licences of 3,000, on an x86-64 server of 2024.
const TEXT_SECONDS: f64 = 1e-6;
const BYTE_SECONDS: f64 = 12e-9;

/// Processor time in seconds for finding what a text may be similar to and comparing it, where few are: from the same texts.
const COMPARE_SECONDS: f64 = 1e-6;

/// Values of a key.
const KEYS: f64 = 4294967296.0;

/// What a search for similar texts takes and finds.
#[derive(Debug, Serialize)]
pub(super) struct SimilarityPlan {
    count: u64,
    similarity: f64,
    features: String,
    text_bytes: u64,
    /// MinHash values in a band, and bands.
    rows: usize,
    bands: usize,
    /// The share of pairs at the least similarity that is found, and of those at it and above.
    recall: f64,
    mean_recall: f64,
    /// With everything else in temporary files, and with everything in memory.
    least_memory: u64,
    full_memory: u64,
    /// Processor time, if most texts are similar to few others.
    cpu_seconds: f64,
    /// Pairs of unlike texts that have a key in common by chance.
    chance_candidates: f64,
    alternatives: Vec<Alternative>,
    by_similarity: Vec<Compared>,
}

/// Other bands that find as much.
#[derive(Debug, Serialize)]
struct Alternative {
    rows: usize,
    bands: usize,
    recall: f64,
    mean_recall: f64,
    /// The share of all pairs of such a similarity that is compared for nothing.
    compared_at_half: f64,
    compared_at_third: f64,
    key_bytes_per_text: f64,
    is_choice: bool,
}

/// The share of the pairs of a similarity that is compared.
#[derive(Debug, Serialize)]
struct Compared {
    similarity: f64,
    compared: f64,
}

/// The plan for so many texts of a mean size.
pub(super) fn plan(similarity: Similarity, count: u64, text_size: Size) -> SimilarityPlan {
    let least = similarity.least();
    let choice = Banding::for_similarity(least);
    let texts = count as f64;
    let Size(text_bytes) = text_size;
    let features = texts * (text_bytes as f64 / WORD_LEN).max(1.0);
    let with_ids = |memory: u64| memory.saturating_add(memory / (ID_SHARE - 1) + 1);
    let full_memory = SimilarTexts::full_memory(similarity, count, features as u64);
    let rows = 1..=SHOWN_ROWS.max(choice.row_count() as u32);
    SimilarityPlan {
        count,
        similarity: least,
        features: features_of(similarity),
        text_bytes,
        rows: choice.row_count(),
        bands: choice.band_count(),
        recall: choice.recall(least),
        mean_recall: choice.mean_recall(least),
        least_memory: with_ids(SimilarTexts::least_memory(count, false)),
        full_memory: with_ids(full_memory),
        cpu_seconds: texts * (TEXT_SECONDS + COMPARE_SECONDS + BYTE_SECONDS * text_bytes as f64),
        chance_candidates: texts * (texts - 1.0).max(0.0) / 2.0 * choice.band_count() as f64 / KEYS,
        alternatives: rows
            .map(|rows| Banding::with_rows(least, rows))
            .filter(|banding| banding.band_count() <= MOST_BANDS)
            .map(|banding| Alternative::new(banding, least, choice))
            .collect(),
        by_similarity: (1..=20)
            .map(|step| f64::from(step) / 20.0)
            .map(|similarity| Compared {
                similarity,
                compared: choice.recall(similarity),
            })
            .collect(),
    }
}

impl Alternative {
    fn new(banding: Banding, least: f64, choice: Banding) -> Self {
        Alternative {
            rows: banding.row_count(),
            bands: banding.band_count(),
            recall: banding.recall(least),
            mean_recall: banding.mean_recall(least),
            compared_at_half: banding.recall(0.5),
            compared_at_third: banding.recall(1.0 / 3.0),
            key_bytes_per_text: banding.band_count() as f64 * KEY_LEN,
            is_choice: banding == choice,
        }
    }
}

impl SimilarityPlan {
    pub(super) fn print(&self, out: &mut dyn Write) -> io::Result<()> {
        let Self {
            similarity,
            rows,
            bands,
            ..
        } = self;
        let texts = counted(self.count, "text");
        let size = Size(self.text_bytes);
        writeln!(
            out,
            "{texts} of {size}, similarity {similarity} and more, by {}\n",
            self.features
        )?;
        let mut row = |name: &str, value: String| writeln!(out, "{name:<24}{value}");
        row(
            "search",
            format!("{bands} bands of {rows} MinHash values, then all features"),
        )?;
        row(
            "recall",
            format!(
                "{:.4} at {similarity}, {:.5} on average above it",
                self.recall, self.mean_recall
            ),
        )?;
        let [least, full] = [self.least_memory, self.full_memory].map(Size);
        row(
            "memory",
            format!("at least {least:.1}; {full:.1} without temporary files"),
        )?;
        row(
            "processor time",
            format!(
                "about {}, if most are similar to few others",
                duration(self.cpu_seconds)
            ),
        )?;
        row(
            "candidates",
            format!(
                "{:.0} pairs by chance, and of pairs by their similarity the shares below",
                self.chance_candidates
            ),
        )?;
        writeln!(
            out,
            "\n  values  bands  recall at {similarity:<4}  pairs at 0.5 compared  at 0.33  key bytes a text"
        )?;
        for other in &self.alternatives {
            let line = format!(
                "{} {:>6}  {:>5}  {:>14.4}  {:>21.4}  {:>7.4}  {:>16}  {}",
                if other.is_choice { '*' } else { ' ' },
                other.rows,
                other.bands,
                other.recall,
                other.compared_at_half,
                other.compared_at_third,
                other.key_bytes_per_text,
                if other.is_choice { "<- choice" } else { "" },
            );
            writeln!(out, "{}", line.trim_end())?;
        }
        writeln!(out, "\n  similarity  compared")?;
        for compared in &self.by_similarity {
            writeln!(
                out,
                "  {:>10.2}  {:>8.4}",
                compared.similarity, compared.compared
            )?;
        }
        Ok(())
    }
}

/// A duration with a unit that fits.
fn duration(seconds: f64) -> String {
    match seconds {
        s if s < 120.0 => format!("{s:.1} s"),
        s if s < 7200.0 => format!("{:.0} minutes", s / 60.0),
        s => format!("{:.1} hours", s / 3600.0),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_plan_shows_what_a_search_does() {
        let plan = plan(Similarity::default(), 1_000_000, Size(500));
        assert_eq!((plan.rows, plan.bands), (4, 15));
        assert!(plan.recall >= 0.99 && plan.mean_recall > plan.recall);
        let choices: Vec<usize> = plan
            .alternatives
            .iter()
            .filter(|a| a.is_choice)
            .map(|a| a.rows)
            .collect();
        assert_eq!(choices, [4]);
        assert!(plan.alternatives.iter().all(|other| other.recall >= 0.99));
        let at = |similarity: f64| {
            plan.by_similarity
                .iter()
                .find(|c| c.similarity == similarity)
                .unwrap()
                .compared
        };
        assert_eq!(at(0.8), plan.recall);
        assert!(at(0.2) < 0.03 && at(1.0) == 1.0);
        assert!(plan.least_memory < plan.full_memory);
        // 15 keys of 32 bits for each of half a billion pairs and a thousand times as many.
        assert!((1745.0..1747.0).contains(&plan.chance_candidates));
        for percent in 2..=100 {
            let similarity = Similarity::of_words(f64::from(percent) / 100.0, 3).unwrap();
            let plan = super::plan(similarity, 1000, Size(500));
            let compared = plan.by_similarity.iter().map(|c| c.compared);
            let others = plan.alternatives.iter();
            let others = others.flat_map(|o| [o.recall, o.mean_recall, o.compared_at_half]);
            let all = compared
                .chain(others)
                .chain([plan.recall, plan.mean_recall]);
            assert!(
                all.into_iter().all(|share| (0.0..=1.0).contains(&share)),
                "{percent}"
            );
            assert!(
                plan.alternatives.iter().any(|other| other.is_choice),
                "{percent}"
            );
        }
        assert_eq!(
            [30.0, 600.0, 9000.0].map(duration),
            ["30.0 s", "10 minutes", "2.5 hours"]
        );
    }
}
