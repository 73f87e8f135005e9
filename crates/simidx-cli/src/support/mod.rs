//! Code that several commands share: opening indexes, reading records, output, progress, messages.

pub(crate) mod answers;
pub(crate) mod build_report;
pub(crate) mod failure;
pub(crate) mod indexes;
pub(crate) mod inputs;
pub(crate) mod labels;
pub(crate) mod latency;
pub(crate) mod messages;
pub(crate) mod options;
pub(crate) mod originals;
pub(crate) mod output;
pub(crate) mod pipeline;
pub(crate) mod process;
pub(crate) mod progress;
pub(crate) mod quantity;
pub(crate) mod queries;
pub(crate) mod records;
pub(crate) mod similarity;
pub(crate) mod table;
pub(crate) mod transient;

pub(crate) use simidx_output::{page, report};
