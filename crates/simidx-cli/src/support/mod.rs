//! What several commands share: opening indexes, reading records, output, progress, messages.

pub(crate) mod build_report;
pub(crate) mod choices;
pub(crate) mod diagnostics;
pub(crate) mod failure;
pub(crate) mod heading;
pub(crate) mod id_word;
pub(crate) mod index_file;
pub(crate) mod interrupt;
pub(crate) mod json_ids;
pub(crate) mod memory;
pub(crate) mod output;
pub(crate) mod pipeline;
pub(crate) mod progress;
pub(crate) mod query_file;
pub(crate) mod records;
pub(crate) mod report;
pub(crate) mod resources;
pub(crate) mod spooled_ids;
pub(crate) mod transient;
pub(crate) mod width;
