//! The file format: what both readers say of good and bad files, rule by rule, and what the specification states.

mod asked;
mod codec;
mod corpus;
mod fields;
mod frozen;
mod golden;
mod independent;
mod order;
mod spec;
