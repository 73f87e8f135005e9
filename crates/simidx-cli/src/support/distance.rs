//! `-k`: distances among the arguments.

use simidx::Width;
use simidx::design::MAX_DISTANCE;

use crate::support::failure::Failure;
use crate::support::quantity::count;

/// A value parser of distances.
pub(crate) fn distance() -> impl Fn(&str) -> Result<u32, String> + Clone + Send + Sync + 'static {
    count(0..=Width::W128.bits())
}

/// A value parser of distances that tables can be made for.
pub(crate) fn of_tables() -> impl Fn(&str) -> Result<u32, String> + Clone + Send + Sync + 'static {
    count(0..=MAX_DISTANCE)
}

/// A distance of fingerprints of this width, if one is given.
///
/// # Errors
/// One above the width: it is a mistake, as all fingerprints are within the width.
pub(crate) fn within(given: Option<u32>, width: Width) -> Result<Option<u32>, Failure> {
    match given {
        Some(distance) if distance > width.bits() => Err(Failure::new(format!(
            "-k {distance} is more than the {width} bits of a fingerprint"
        ))),
        within => Ok(within),
    }
}
