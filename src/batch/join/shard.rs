//! A part of the fingerprints: one of several equal ranges of values, independent of the files that hold them.

use std::str::FromStr;

use crate::error::OptionsError;
use crate::fingerprint::Fingerprint;

/// The fingerprints in one of `count` equally long ranges of values, numbered from 1. The results of runs over all
/// ranges add up to those of one run over the whole.
///
/// ```
/// use simidx::batch::Shard;
///
/// let shard: Shard = "2/4".parse().unwrap();
/// assert_eq!((shard.number(), shard.count()), (2, 4));
/// assert!("5/4".parse::<Shard>().is_err());
/// ```
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Shard {
    number: u32,
    count: u32,
}

impl Default for Shard {
    /// Returns the shard of all fingerprints.
    fn default() -> Self {
        Shard {
            number: 1,
            count: 1,
        }
    }
}

impl Shard {
    /// Creates range `number` of `count`.
    ///
    /// # Errors
    /// A number that is not from 1 to `count`.
    pub fn new(number: u32, count: u32) -> Result<Self, OptionsError> {
        if (1..=count).contains(&number) {
            return Ok(Shard { number, count });
        }
        let message = format!("there is no shard {number} of {count}");
        Err(OptionsError::new("shard", message))
    }

    /// The number of the range, from 1.
    pub fn number(&self) -> u32 {
        self.number
    }

    /// Number of ranges.
    pub fn count(&self) -> u32 {
        self.count
    }

    /// Returns the first and the last value.
    pub(crate) fn bounds<F: Fingerprint>(&self) -> (F, F) {
        let low = match self.number {
            1 => F::ZERO,
            number => self.end::<F>(number - 1).wrapping_add(F::from_u128(1)),
        };
        (low, self.end(self.number))
    }

    /// Returns the last value of range `number`: the end of the first `number / count` of all values.
    fn end<F: Fingerprint>(&self, number: u32) -> F {
        let (number, count) = (u128::from(number), u128::from(self.count));
        let max = F::MAX.to_u128();
        F::from_u128(max / count * number + max % count * number / count)
    }
}

impl FromStr for Shard {
    type Err = OptionsError;

    fn from_str(text: &str) -> Result<Self, OptionsError> {
        let parts = text.split_once('/');
        let parsed =
            parts.and_then(|(number, count)| Some((number.parse().ok()?, count.parse().ok()?)));
        let (number, count) = parsed.ok_or_else(|| {
            OptionsError::new("shard", format!("{text:?} is not a shard such as 1/4"))
        })?;
        Shard::new(number, count)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check<F: Fingerprint>(count: u32) {
        let mut next = Some(F::ZERO);
        for number in 1..=count {
            let (low, high) = Shard::new(number, count).unwrap().bounds::<F>();
            assert_eq!(Some(low), next, "{number} of {count}");
            assert!(low <= high);
            next = (high != F::MAX).then(|| high.wrapping_add(F::from_u128(1)));
        }
        assert_eq!(next, None, "the last range ends with the last value");
    }

    #[test]
    fn ranges_lie_end_to_end() {
        for count in [1, 2, 3, 7, 64, 1000, 65_537] {
            check::<u32>(count);
            check::<u64>(count);
            check::<u128>(count);
        }
    }

    #[test]
    fn refuses_what_is_no_range() {
        for bad in ["", "1", "0/3", "4/3", "1/0", "-1/2", "a/b", "1/2/3"] {
            assert!(bad.parse::<Shard>().is_err(), "{bad}");
        }
    }
}
