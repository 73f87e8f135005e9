//! The file format: what both readers say of good and bad files, rule by rule, and what the specification states.

mod codec;
mod corpus;
mod frozen;
mod golden;
mod independent;
mod rules_block;
mod rules_id;
mod rules_lines;
mod rules_open;
mod spec;
