//! The specification against the program: its worked examples, its constants and its rules.

mod bounds;
mod citations;
#[path = "../common/mod.rs"]
mod common;
mod container;
mod examples;
mod lengths;
mod limits;
mod worked_file;
mod worked_lines;
