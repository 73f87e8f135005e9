//! Enums whose values have names, which users and descriptions of pipelines use.

use crate::Error;

/// [`simidx::named`] with an [`Error`] that states the kind of name and the known names.
macro_rules! named {
    ($Enum:ident, $what:literal, $($names:tt)+) => {
        simidx::named!(
            $Enum,
            crate::Error,
            |name| crate::names::unknown($what, name, &$Enum::ALL.map($Enum::name)),
            $($names)+
        );
    };
}

pub(crate) use named;

/// Returns the error of an unknown name.
pub(crate) fn unknown(what: &str, name: &str, known: &[&str]) -> Error {
    let (last, others) = known.split_last().expect("it has values");
    let known = others.join(", ") + " or " + last;
    Error::Pipeline(format!("unknown {what} {name:?}; use {known}"))
}

/// Parses a number without sign or leading zeros.
pub(crate) fn plain_number<T: std::str::FromStr>(digits: &str) -> Option<T> {
    let is_plain = digits == "0" || !digits.starts_with('0');
    let is_plain = is_plain && digits.bytes().all(|b| b.is_ascii_digit());
    digits.parse().ok().filter(|_| is_plain)
}
