//! Nothing: `Cargo.toml` next to it is the content.
