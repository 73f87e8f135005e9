//! Warnings about sets that are slow to search: thresholds and texts.

use std::fmt;

use super::{DocumentLengths, LintReport};

/// The least share of duplicates for a warning.
const MANY_DUPLICATES: f64 = 0.2;

/// A group may have this share of the records, or this many, without a warning.
const LARGE_GROUP: (f64, u64) = (0.01, 32);

/// The least number of records for statements about shares.
const MIN_RECORDS: u64 = 64;

/// A query may have this many candidates, or this many times those on uniform data, without a warning.
const MANY_CANDIDATES: f64 = 1000.0;
const MANY_TIMES: f64 = 8.0;

/// At most one in this many bits may be lopsided without a warning.
const FEW_BITS: usize = 8;

/// The least shares of empty and of short documents for a warning.
const MANY_EMPTY: f64 = 0.01;
const MANY_SHORT: f64 = 0.1;

/// The subject of a [`LintWarning`].
///
/// ```
/// use simidx::batch::LintWarningKind;
///
/// assert_eq!(LintWarningKind::DeadBits.to_string(), "dead-bits");
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum LintWarningKind {
    /// `dead-bits`: bits that are always set or never.
    DeadBits,
    /// `lopsided-bits`: more than an eighth of the bits are set, or clear, in more than three quarters.
    LopsidedBits,
    /// `duplicates`: many records share a fingerprint with another record.
    Duplicates,
    /// `large-group`: very many records share one fingerprint.
    LargeGroup,
    /// `crowded-prefixes`: probes find many more candidates than on uniform data.
    CrowdedPrefixes,
    /// `empty-documents`: documents without features all have one fingerprint.
    EmptyDocuments,
    /// `short-documents`: documents with few features.
    ShortDocuments,
}

impl fmt::Display for LintWarningKind {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(match self {
            LintWarningKind::DeadBits => "dead-bits",
            LintWarningKind::LopsidedBits => "lopsided-bits",
            LintWarningKind::Duplicates => "duplicates",
            LintWarningKind::LargeGroup => "large-group",
            LintWarningKind::CrowdedPrefixes => "crowded-prefixes",
            LintWarningKind::EmptyDocuments => "empty-documents",
            LintWarningKind::ShortDocuments => "short-documents",
        })
    }
}

/// A reason why a set will be slow to search.
///
/// ```
/// use simidx::batch::{DocumentLengths, LintWarningKind};
///
/// let mut lengths = DocumentLengths::default();
/// (0..100).for_each(|_| lengths.add(0));
/// let warnings = lengths.warnings();
/// assert_eq!(warnings[0].kind, LintWarningKind::EmptyDocuments);
/// println!("{}; try this: {}", warnings[0].reason, warnings[0].remedy);
/// ```
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct LintWarning {
    /// The subject of the warning.
    pub kind: LintWarningKind,
    /// The finding and its consequence, in one clause.
    pub reason: String,
    /// A possible remedy.
    pub remedy: &'static str,
}

impl fmt::Display for LintWarning {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}: {}; {}", self.kind, self.reason, self.remedy)
    }
}

/// Returns all warnings about a report.
pub(super) fn of(report: &LintReport) -> Vec<LintWarning> {
    let mut warnings = of_bits(report);
    warnings.extend(of_records(report));
    warnings.extend(crowded(report));
    warnings
}

fn of_bits(report: &LintReport) -> Vec<LintWarning> {
    use LintWarningKind::*;
    let bits = &report.bits;
    let mut warnings = Vec::new();
    let mut warn = |kind, reason, remedy| {
        warnings.push(LintWarning {
            kind,
            reason,
            remedy,
        });
    };
    if !bits.dead.is_empty() {
        let reason = format!("{} the same in every fingerprint", are(&bits.dead));
        let remedy = "check that the fingerprints are as wide as said, and how they were made";
        warn(DeadBits, reason, remedy);
    }
    let most = report.width.bits() as usize / FEW_BITS;
    if bits.lopsided.len() > most {
        let reason = format!(
            "{} set, or clear, in more than three quarters of the fingerprints",
            are(&bits.lopsided)
        );
        let remedy = "features that most documents have decide them: drop these with --stop-words, take shingle=2, or for simhash weigh them with --idf";
        warn(LopsidedBits, reason, remedy);
    }
    warnings
}

fn of_records(report: &LintReport) -> Vec<LintWarning> {
    let mut warnings = Vec::new();
    let share = report.duplicate_share();
    if report.record_count >= MIN_RECORDS && share > MANY_DUPLICATES {
        warnings.push(LintWarning {
            kind: LintWarningKind::Duplicates,
            reason: format!(
                "{:.1} % of the records have the fingerprint of another one, so that matches come in crowds",
                share * 100.0
            ),
            remedy: "`simidx dedup` keeps one of each",
        });
    }
    let most = (report.record_count as f64 * LARGE_GROUP.0).max(LARGE_GROUP.1 as f64);
    let largest = report.groups.first();
    if let Some(group) = largest.filter(|group| group.record_count as f64 > most) {
        warnings.push(LintWarning {
            kind: LintWarningKind::LargeGroup,
            reason: format!(
                "{} records share the fingerprint {}, {} among them",
                group.record_count,
                report.width.to_hex(group.fingerprint),
                group.id
            ),
            remedy: "look at what they have in common: empty or broken documents, a template",
        });
    }
    warnings
}

/// Returns a warning about the most crowded table, if it is too crowded.
fn crowded(report: &LintReport) -> Option<LintWarning> {
    let excess = |candidates: f64, uniform: f64| {
        candidates > MANY_CANDIDATES && candidates > MANY_TIMES * uniform
    };
    let is_probed = |segment: usize| report.probed.get(segment).copied().unwrap_or(false);
    let crowded = report.tables.iter().filter(|table| {
        is_probed(table.segment) && excess(table.candidates(), table.uniform_candidates)
    });
    let worst = crowded.max_by(|a, b| a.candidates().total_cmp(&b.candidates()))?;
    Some(LintWarning {
        kind: LintWarningKind::CrowdedPrefixes,
        reason: format!(
            "a query like the members compares about {:.0} candidates in table {}, on uniform data {:.0}: {} fingerprints share their {} leading bits",
            worst.candidates(),
            worst.table,
            worst.uniform_candidates,
            worst.largest,
            worst.address_bits
        ),
        remedy: "queries stay exact and get slow: build with more --tables, or mend what the other warnings name",
    })
}

/// Returns the warnings about empty and short documents.
pub(super) fn of_documents(documents: &DocumentLengths) -> Vec<LintWarning> {
    let mut warnings = Vec::new();
    if documents.document_count < MIN_RECORDS {
        return warnings;
    }
    let share = |count: u64| count as f64 / documents.document_count as f64;
    let (empty, short) = (documents.empty_count, documents.short_count);
    if share(empty) > MANY_EMPTY {
        warnings.push(LintWarning {
            kind: LintWarningKind::EmptyDocuments,
            reason: format!(
                "{:.1} % of the documents ({empty}) have no feature; they are near to nothing, and no index holds them",
                share(empty) * 100.0
            ),
            remedy: "take a pipeline that finds features in them, or leave them out",
        });
    }
    if share(short) > MANY_SHORT {
        warnings.push(LintWarning {
            kind: LintWarningKind::ShortDocuments,
            reason: format!(
                "{:.1} % of the documents ({short}) have fewer than {} distinct features, of which each decides several bits",
                share(short) * 100.0,
                DocumentLengths::SHORT
            ),
            remedy: "take --pipeline short, or leave them out",
        });
    }
    warnings
}

/// Lists bits as the subject of a sentence, with runs as ranges.
fn list(bits: &[u32]) -> String {
    let mut runs: Vec<(u32, u32)> = Vec::new();
    for &bit in bits {
        match runs.last_mut() {
            Some((_, end)) if *end + 1 == bit => *end = bit,
            _ => runs.push((bit, bit)),
        }
    }
    let run = |&(first, last): &(u32, u32)| match last - first {
        0 => first.to_string(),
        _ => format!("{first} to {last}"),
    };
    let runs: Vec<String> = runs.iter().map(run).collect();
    let noun = if bits.len() == 1 { "bit" } else { "bits" };
    format!("{noun} {}", runs.join(", "))
}

/// Lists bits with a verb in agreement.
fn are(bits: &[u32]) -> String {
    let verb = if bits.len() == 1 { "is" } else { "are" };
    format!("{} {verb}", list(bits))
}
