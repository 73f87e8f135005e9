//! The program as a user meets it: outputs, messages, exit codes, files left and not left.

mod basics;
mod build;
mod clusters;
mod compare;
mod corpus;
mod dedup;
mod dedup_corpora;
mod encodings;
mod errors;
mod faults;
mod idf;
mod inputs;
mod interrupt;
mod join;
mod lint;
mod mapping;
mod memory;
mod merge;
mod pairs;
mod plan;
mod portable;
mod query;
mod read;
mod segments;
mod streams;
mod support;
