//! The specification against the program: its worked examples, its constants and its rules.

mod bounds;
mod container;
mod examples;
mod lengths;
mod limits;
mod lines;
mod worked_file;
mod worked_lines;
