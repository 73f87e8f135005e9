//! How often each bit of the fingerprints is set, with warnings of bits that tell few of them apart.

use maud::{Markup, html};
use simidx::Set;

use crate::support::failure::Failure;
use crate::support::page::{Bar, BarChart, decimal, grouped, plural, warning};

/// Least number of fingerprints for warnings.
const LEAST_COUNT: u64 = 64;

/// The largest deviation of the share of set bits from a half at which a bit still distinguishes fingerprints.
const MAX_IMBALANCE: f64 = 0.25;

/// Chance deviations stay below this number of standard deviations, each half of the inverse square root of the count.
const DEVIATIONS: f64 = 6.0;

/// There is a warning if more than one bit in this number is unbalanced.
const FEW_BITS: usize = 8;

/// Counts the set bits of all fingerprints, and returns the section.
///
/// # Errors
/// A damaged block.
pub(super) fn section(set: &Set) -> Result<Markup, Failure> {
    let mut counts = vec![0; set.width().bits() as usize];
    let mut all = 0;
    for fingerprint in set.fingerprints(0)? {
        let fingerprint = fingerprint?;
        for (bit, count) in counts.iter_mut().enumerate() {
            *count += (fingerprint >> bit & 1) as u64;
        }
        all += 1;
    }
    Ok(html! {
        (chart(&counts, all))
        @for message in warnings(&counts, all) {
            (warning(&message))
        }
    })
}

/// Returns warnings of bits that are the same in all, or most, of the fingerprints.
fn warnings(counts: &[u64], all: u64) -> Vec<String> {
    let mut warnings = Vec::new();
    if all < LEAST_COUNT {
        return warnings;
    }
    let most = MAX_IMBALANCE.max(DEVIATIONS / (all as f64).sqrt() / 2.0);
    let imbalance = |count: u64| (count as f64 / all as f64 - 0.5).abs();
    let bits = counts.len();
    let (dead, alive): (Vec<usize>, Vec<usize>) =
        (0..bits).partition(|&bit| counts[bit] == 0 || counts[bit] == all);
    let unbalanced = alive.iter().filter(|&&bit| imbalance(counts[bit]) > most);
    let unbalanced = unbalanced.count();
    if let (Some(first), Some(last)) = (dead.first(), dead.last()) {
        warnings.push(format!(
            "{} of the {bits} bits, from bit {first} to bit {last}, are the same in every fingerprint: check that the \
             fingerprints are as wide as said, and how they were made.",
            dead.len()
        ));
    }
    if unbalanced > bits / FEW_BITS {
        warnings.push(format!(
            "{unbalanced} of the {bits} bits are set, or clear, in more than three quarters of the fingerprints: \
             they depend on features that most documents have. Drop these with --stop-words, or take shingle=2."
        ));
    }
    warnings
}

/// Returns a chart of the share of ones in each bit.
fn chart(counts: &[u64], all: u64) -> BarChart {
    let bar = |(bit, &count): (usize, &u64)| {
        let share = count as f64 / all as f64 * 100.0;
        Bar {
            label: bit.to_string(),
            value: share,
            figures: vec![format!("{} %", decimal(share, 1)), grouped(count)],
        }
    };
    let counts = counts.iter().filter(|_| all > 0);
    let bars: Vec<Bar> = counts.enumerate().map(bar).collect();
    let shares = || bars.iter().map(|bar| bar.value);
    let (least, most) = (shares().fold(100.0, f64::min), shares().fold(0.0, f64::max));
    BarChart {
        id: "balance",
        title: format!(
            "How often each bit is set, in {}",
            plural(all, "fingerprint")
        ),
        alternative: match all {
            0 => "There are no fingerprints.".into(),
            _ => format!(
                "The bits are set in {least:.1} to {most:.1} % of the fingerprints; 50 % is best."
            ),
        },
        x_label: "bit, 0 is the lowest",
        y_label: "percent of the fingerprints",
        columns: &["set", "fingerprints"],
        line: Some((50.0, "balanced".into())),
        top: Some(100.0),
        bars,
        ..BarChart::default()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn dead_and_unbalanced_bits_are_warned_of() {
        let warned = |counts: &[u64], all| {
            let warnings = warnings(counts, all);
            let of = |words| warnings.iter().any(|warning| warning.contains(words));
            (of("the same in every"), of("three quarters"))
        };
        assert_eq!(warned(&[500; 32], 1000), (false, false));
        assert_eq!(warned(&[0; 32], 63), (false, false));
        for dead in [0, 1000] {
            let counts = [&[dead], &[500; 31][..]].concat();
            assert_eq!(warned(&counts, 1000), (true, false));
        }
        // An eighth of the bits may be unbalanced.
        for (count, is_warned) in [(4, false), (5, true)] {
            let counts = [vec![800; count], vec![500; 32 - count]].concat();
            assert_eq!(warned(&counts, 1000), (false, is_warned), "{count}");
        }
        // Of few fingerprints, chance unbalances many bits.
        assert_eq!(warned(&[52; 32], 64), (false, false));
        assert_eq!(warned(&[52; 32], 6400), (false, true));
    }
}
