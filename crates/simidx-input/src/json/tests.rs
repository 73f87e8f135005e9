//! Tests of the readers of JSON, by format.

mod lines;
mod values;
