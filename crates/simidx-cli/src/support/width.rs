//! `--width`: the number of bits of a fingerprint.

use clap::builder::{PossibleValuesParser, TypedValueParser};
use simidx::Width;

/// Reads `--width`.
pub(crate) fn width() -> impl TypedValueParser<Value = Width> {
    PossibleValuesParser::new(["32", "64", "128"]).try_map(|bits| bits.parse())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_possible_values_are_all_widths() {
        let parser = width();
        let names = parser.possible_values().unwrap();
        let names: Vec<String> = names.map(|name| name.get_name().to_owned()).collect();
        assert_eq!(names, Width::ALL.map(|width| width.to_string()));
    }
}
