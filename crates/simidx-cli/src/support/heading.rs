//! The headings under which help texts list the options that several commands share.

pub(crate) const INPUT: &str = "Input";
pub(crate) const DOCUMENTS: &str = "Documents";
pub(crate) const OUTPUT: &str = "Output";
pub(crate) const RESOURCES: &str = "Resources";
