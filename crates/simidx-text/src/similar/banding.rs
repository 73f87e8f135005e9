//! Chooses the number of bands, and of minima in each, that find the pairs of a similarity with a required probability.

/// Required share of found pairs at exactly the least similarity.
const RECALL: f64 = 0.9995;

/// Largest number of bands, if they are enough with [`GOOD_ROWS`] minima in each.
const FEW_BANDS: u32 = 16;

/// Smallest number of minima in a band with which dissimilar texts rarely share a band.
const GOOD_ROWS: u32 = 3;

/// Largest number of bands in all other cases.
const MOST_BANDS: u32 = 40;

/// The smallest similarity that bands exist for.
const LEAST: f64 = 0.02;

/// Largest number of minima in a band.
const MOST_ROWS: u32 = 64;

/// A number of bands of MinHash values. Two texts are compared if they agree in a whole band.
///
/// Two sets of Jaccard similarity J agree in a MinHash value with probability J, and so in one of b bands of r values
/// with probability 1 - (1 - J^r)^b. (Leskovec, Rajaraman and Ullman, "Mining of Massive Datasets", section 3.4.)
///
/// ```
/// use simidx_text::similar::Banding;
///
/// let banding = Banding::for_similarity(0.8);
/// assert_eq!((banding.band_count(), banding.row_count()), (15, 4));
/// assert!(banding.recall(0.8) > 0.9995);
/// assert!(banding.recall(0.2) < 0.03); // so few of such pairs are compared for nothing
/// ```
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Banding {
    pub(super) bands: u32,
    pub(super) rows: u32,
}

impl Banding {
    /// Returns the banding that finds at least 99.95 % of the pairs at this similarity, at most 1, and more of the
    /// pairs above it. Similarities below 0.02 use the banding for 0.02. It has the most minima in a band, because it
    /// then compares the fewest other pairs.
    pub fn for_similarity(least: f64) -> Self {
        let least = least.clamp(LEAST, 1.0);
        let best = |most_bands| {
            let rows = (1..=MOST_ROWS).rev();
            let all = rows.map(|rows| Banding {
                bands: bands_needed(least, rows),
                rows,
            });
            all.into_iter().find(|banding| banding.bands <= most_bands)
        };
        let few = best(FEW_BANDS).filter(|banding| banding.rows >= GOOD_ROWS);
        few.or_else(|| best(MOST_BANDS)).unwrap_or(Banding {
            bands: bands_needed(least, 1).min(512),
            rows: 1,
        })
    }

    /// Number of bands.
    pub fn band_count(&self) -> usize {
        self.bands as usize
    }

    /// Number of MinHash values in a band.
    pub fn row_count(&self) -> usize {
        self.rows as usize
    }

    /// The probability that two texts with this similarity are compared.
    pub fn recall(&self, similarity: f64) -> f64 {
        let missed_by_one = (-similarity.powi(self.rows as i32)).ln_1p();
        1.0 - (f64::from(self.bands) * missed_by_one).exp()
    }
}

/// Returns the number of bands of `rows` minima that find the required share of the pairs.
fn bands_needed(similarity: f64, rows: u32) -> u32 {
    let found_by_one = similarity.powi(rows as i32);
    match found_by_one >= 1.0 {
        true => 1,
        // This form is also exact for small probabilities.
        false => ((1.0 - RECALL).ln() / (-found_by_one).ln_1p()).ceil() as u32,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_similarity_has_a_banding_that_finds_it() {
        for percent in 2..=100 {
            let least = f64::from(percent) / 100.0;
            let banding = Banding::for_similarity(least);
            assert!(banding.recall(least) >= 0.99, "{least}: {banding:?}");
            if least >= 0.3 {
                assert!(banding.bands <= MOST_BANDS, "{least}: {banding:?}");
                assert!(banding.recall(least) >= RECALL, "{least}: {banding:?}");
            }
        }
        assert_eq!(Banding::for_similarity(1.0).band_count(), 1);
    }
}
