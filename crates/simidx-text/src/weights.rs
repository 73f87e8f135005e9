//! Weights of features, and the selection of those that count.

use std::fmt;
use std::num::NonZeroU32;
use std::str::FromStr;

use crate::names::plain_number;
use crate::{Error, Result};

/// The largest factor in a table or a list.
const MAX_WEIGHT: f64 = (1 << 20) as f64;

/// The weight of a feature as a function of its number of occurrences in a document.
///
/// ```
/// use simidx_text::stages::Weights;
///
/// assert_eq!("log2".parse(), Ok(Weights::Log2));
/// ```
#[non_exhaustive]
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub enum Weights {
    /// `count`: the number of occurrences.
    #[default]
    Count,
    /// `uniform`: 1.
    Uniform,
    /// `capped:N`: the number of occurrences, but at most N.
    Capped(NonZeroU32),
    /// `log2`: 1 plus the integer part of the binary logarithm of the number of occurrences.
    Log2,
}

impl Weights {
    /// Returns the weight of a number of occurrences.
    pub(super) fn of(self, count: u32) -> u32 {
        match self {
            Weights::Count => count,
            Weights::Uniform => count.min(1),
            Weights::Capped(most) => count.min(most.get()),
            Weights::Log2 => u32::BITS - count.leading_zeros(),
        }
    }
}

impl fmt::Display for Weights {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Weights::Count => f.pad("count"),
            Weights::Uniform => f.pad("uniform"),
            Weights::Capped(most) => write!(f, "capped:{most}"),
            Weights::Log2 => f.pad("log2"),
        }
    }
}

impl FromStr for Weights {
    type Err = Error;

    fn from_str(text: &str) -> Result<Self> {
        let found = match text {
            "count" => Some(Weights::Count),
            "uniform" => Some(Weights::Uniform),
            "log2" => Some(Weights::Log2),
            _ => text
                .strip_prefix("capped:")
                .and_then(plain_number)
                .map(Weights::Capped),
        };
        let known = "use count, uniform, capped:N or log2";
        found.ok_or_else(|| Error::Pipeline(format!("unknown weights {text:?}; {known}")))
    }
}

/// The selection of the features of a document that count.
///
/// ```
/// use simidx_text::stages::FeatureSelection;
///
/// let selection: FeatureSelection = "top:20".parse()?;
/// assert_eq!(selection.to_string(), "top:20");
/// # Ok::<(), simidx_text::Error>(())
/// ```
#[non_exhaustive]
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub enum FeatureSelection {
    /// `all`: every feature.
    #[default]
    All,
    /// `top:N`: the N features of greatest weight; among equal weights, those that occur first.
    Top(NonZeroU32),
    /// `longest:N`: the N features with the most characters; among equal lengths, those that occur first. With
    /// sentences as tokens, it is a known signature of Chinese web pages.
    Longest(NonZeroU32),
}

impl fmt::Display for FeatureSelection {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            FeatureSelection::All => f.pad("all"),
            FeatureSelection::Top(count) => write!(f, "top:{count}"),
            FeatureSelection::Longest(count) => write!(f, "longest:{count}"),
        }
    }
}

impl FromStr for FeatureSelection {
    type Err = Error;

    fn from_str(text: &str) -> Result<Self> {
        let found = match text.split_once(':') {
            None if text == "all" => Some(FeatureSelection::All),
            Some(("top", count)) => plain_number(count).map(FeatureSelection::Top),
            Some(("longest", count)) => plain_number(count).map(FeatureSelection::Longest),
            _ => None,
        };
        let known = "use all, top:N or longest:N";
        found.ok_or_else(|| Error::Pipeline(format!("unknown select {text:?}; {known}")))
    }
}

/// Parses a decimal number from 0 to 2^20.
pub(super) fn parse_weight(text: &str) -> Option<f64> {
    let value = text.parse::<f64>().ok()?;
    (0.0..=MAX_WEIGHT).contains(&value).then_some(value)
}

/// Factors for the parts of speech that jieba assigns: `n:3/v:2/*:1`.
///
/// The factor of a tag is that of the longest entry that is a prefix of the tag, otherwise that of `*`, otherwise 0.
///
/// ```
/// use simidx_text::PipelineOptions;
/// use simidx_text::stages::PartOfSpeechWeights;
///
/// let mut options: PipelineOptions = "news-zh,segment=auto".parse()?;
/// options.parts = Some("n:3/v:2/*:1".parse::<PartOfSpeechWeights>()?);
/// # Ok::<(), simidx_text::Error>(())
/// ```
#[derive(Clone, Debug, PartialEq)]
pub struct PartOfSpeechWeights {
    text: String,
    /// Tags and factors, the longest tags first.
    factors: Vec<(String, f64)>,
    others: f64,
}

impl PartOfSpeechWeights {
    /// Returns the factor of a part of speech.
    pub(super) fn get(&self, part: &str) -> f64 {
        let found = self.factors.iter().find(|(tag, _)| part.starts_with(tag));
        found.map_or(self.others, |&(_, factor)| factor)
    }

    /// The smallest of all factors.
    pub(super) fn least(&self) -> f64 {
        let factors = self.factors.iter().map(|&(_, factor)| factor);
        factors.fold(self.others, f64::min)
    }
}

impl fmt::Display for PartOfSpeechWeights {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(&self.text)
    }
}

impl FromStr for PartOfSpeechWeights {
    type Err = Error;

    fn from_str(text: &str) -> Result<Self> {
        let (mut factors, mut others) = (Vec::new(), None);
        for entry in text.split('/') {
            let parsed = entry.split_once(':').and_then(|(tag, factor)| {
                let is_tag = tag == "*" || tag.bytes().all(|b| b.is_ascii_alphanumeric());
                let factor = parse_weight(factor)?;
                (is_tag && !tag.is_empty()).then_some((tag, factor))
            });
            let clause = || format!("{entry:?} is not TAG:FACTOR with a factor from 0 to 2^20");
            let (tag, factor) = parsed.ok_or_else(|| Error::Pipeline(clause()))?;
            let is_repeated = factors.iter().any(|(known, _)| known == tag);
            if is_repeated || (tag == "*" && others.is_some()) {
                return Err(Error::Pipeline(format!("two factors for {tag}")));
            }
            match tag {
                "*" => others = Some(factor),
                _ => factors.push((tag.to_owned(), factor)),
            }
        }
        factors.sort_by_key(|(tag, _)| std::cmp::Reverse(tag.len()));
        Ok(PartOfSpeechWeights {
            text: text.to_owned(),
            factors,
            others: others.unwrap_or(0.0),
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn occurrences_are_weighed() {
        for (name, weights) in [
            ("count", [1, 2, 7, 8]),
            ("uniform", [1, 1, 1, 1]),
            ("capped:3", [1, 2, 3, 3]),
            ("log2", [1, 2, 3, 4]),
        ] {
            let parsed: Weights = name.parse().unwrap();
            assert_eq!(parsed.to_string(), name);
            assert_eq!([1, 2, 7, 8].map(|count| parsed.of(count)), weights);
        }
        for bad in ["", "capped", "capped:0", "capped:03", "capped:-1", "tf"] {
            assert!(bad.parse::<Weights>().is_err(), "{bad}");
        }
    }

    #[test]
    fn selections_are_read_back() {
        for name in ["all", "top:20", "longest:3"] {
            assert_eq!(name.parse::<FeatureSelection>().unwrap().to_string(), name);
        }
        for bad in ["", "all:1", "top", "top:0", "first:2"] {
            assert!(bad.parse::<FeatureSelection>().is_err(), "{bad}");
        }
    }

    #[test]
    fn the_longest_tag_decides() {
        let parts: PartOfSpeechWeights = "n:3/nr:5.5/v:0".parse().unwrap();
        let factors = ["n", "ns", "nr", "nrt", "v", "a", ""].map(|part| parts.get(part));
        assert_eq!(factors, [3.0, 3.0, 5.5, 5.5, 0.0, 0.0, 0.0]);
        let all: PartOfSpeechWeights = "v:2/*:1".parse().unwrap();
        assert_eq!((all.get("vn"), all.get("")), (2.0, 1.0));
        assert_eq!(all.to_string(), "v:2/*:1");
        for bad in [
            "", "n", "n:", "n:x", "n:-1", ":1", "n:1/n:2", "*:1/*:2", "n:nan",
        ] {
            assert!(bad.parse::<PartOfSpeechWeights>().is_err(), "{bad}");
        }
    }
}
