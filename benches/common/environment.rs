//! Settings from environment variables; `benches/README.md` lists them.

use std::path::PathBuf;
use std::str::FromStr;

/// The value of `SIMIDX_BENCH_` and the name, if it is set.
pub(crate) fn variable<T: FromStr>(name: &str) -> Option<T> {
    let text = std::env::var(format!("SIMIDX_BENCH_{name}")).ok()?;
    let Ok(value) = text.parse() else {
        panic!("SIMIDX_BENCH_{name}={text} cannot be understood");
    };
    Some(value)
}

/// As [`variable`], of values separated by commas.
pub(crate) fn list<T: FromStr>(name: &str) -> Option<Vec<T>> {
    let text: String = variable(name)?;
    let parts = text.split(',').filter(|part| !part.is_empty());
    let values: Result<Vec<T>, _> = parts.map(str::parse).collect();
    let Ok(values) = values else {
        panic!("SIMIDX_BENCH_{name}={text} cannot be understood");
    };
    Some(values)
}

/// The file for the figures: `SIMIDX_BENCH_OUTPUT`, or one below `target`, or none where the bench runs as a test.
pub(crate) fn output(default_name: &str) -> Option<PathBuf> {
    let below_target = || {
        let target = std::env::var_os("CARGO_TARGET_DIR").unwrap_or("target".into());
        PathBuf::from(target).join(default_name)
    };
    variable("OUTPUT").or_else(|| (!super::is_test()).then(below_target))
}
