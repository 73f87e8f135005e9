//! Self-contained HTML pages with tables, charts and compared texts.

mod chart;
mod differences;
mod document;
mod figures;
mod numbers;
mod records;
mod sample;
mod sizes;
mod table;

pub use chart::{Bar, BarChart};
pub use differences::Differences;
pub use document::{POLICY, POLICY_WITH_FORM, Section, document, shown, warning};
pub use figures::compression;
pub use numbers::{cut, decimal, grouped, plural, sampled, short};
pub use records::{Entry, cluster, pair};
pub use sample::{Sample, keep_first};
pub use sizes::SizeClasses;
pub use table::{figures, table};
