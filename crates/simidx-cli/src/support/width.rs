//! `--width`: the number of bits of a fingerprint, and the type that belongs to it.

use simidx::{AnyIndex, Fingerprint};

/// The number of bits of a fingerprint.
#[derive(Debug, Clone, Copy, PartialEq, Eq, clap::ValueEnum)]
pub(crate) enum Width {
    #[value(name = "32")]
    W32,
    #[value(name = "64")]
    W64,
    #[value(name = "128")]
    W128,
}

impl Width {
    /// The width of the fingerprints in an index.
    pub(crate) fn of_index(index: &AnyIndex) -> Self {
        match index {
            AnyIndex::W32(_) => Width::W32,
            AnyIndex::W64(_) => Width::W64,
            AnyIndex::W128(_) => Width::W128,
        }
    }

    /// Whether fingerprints of this type have this width.
    pub(crate) fn is_of<F: Fingerprint>(self) -> bool {
        crate::support::width::with_width!(self, G => G::WIDTH == F::WIDTH)
    }
}

/// Runs an expression with a type bound to the fingerprint of a [`Width`].
macro_rules! with_width {
    ($width:expr, $F:ident => $body:expr) => {
        match $width {
            $crate::support::width::Width::W32 => {
                type $F = u32;
                $body
            }
            $crate::support::width::Width::W64 => {
                type $F = u64;
                $body
            }
            $crate::support::width::Width::W128 => {
                type $F = u128;
                $body
            }
        }
    };
}
pub(crate) use with_width;

#[cfg(test)]
mod tests {
    use clap::ValueEnum;

    use super::*;

    #[test]
    fn each_name_is_the_number_of_bits_of_its_type() {
        for width in Width::value_variants() {
            let name = width.to_possible_value().unwrap();
            let bits = with_width!(width, F => F::WIDTH);
            assert_eq!(name.get_name(), bits.to_string());
        }
        assert!(Width::W32.is_of::<u32>() && !Width::W32.is_of::<u64>());
    }
}
