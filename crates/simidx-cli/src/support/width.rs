//! `--width`: the number of bits of a fingerprint, and the type that belongs to it.

use clap::builder::{PossibleValuesParser, TypedValueParser};
use simidx::Width;

/// Reads `--width`.
pub(crate) fn width() -> impl TypedValueParser<Value = Width> {
    PossibleValuesParser::new(["32", "64", "128"]).try_map(|bits| bits.parse())
}

/// Runs an expression with a type bound to the fingerprint of a [`Width`].
macro_rules! with_width {
    ($width:expr, $F:ident => $body:expr) => {
        match $width {
            simidx::Width::W32 => {
                type $F = u32;
                $body
            }
            simidx::Width::W64 => {
                type $F = u64;
                $body
            }
            simidx::Width::W128 => {
                type $F = u128;
                $body
            }
        }
    };
}
pub(crate) use with_width;

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_possible_values_are_all_widths() {
        let parser = width();
        let names = parser.possible_values().unwrap();
        let names: Vec<String> = names.map(|name| name.get_name().to_owned()).collect();
        assert_eq!(names, Width::ALL.map(|width| width.to_string()));
        for width in Width::ALL {
            assert_eq!(with_width!(width, F => Width::of::<F>()), width);
        }
    }
}
