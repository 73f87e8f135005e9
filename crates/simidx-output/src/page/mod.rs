//! Self-contained HTML pages with tables, charts and compared texts.

mod chart;
mod differences;
mod document;
mod numbers;
mod records;
mod sample;
mod sizes;
mod table;

pub use chart::{Bar, BarChart};
pub use differences::Differences;
pub use document::{Section, document, shown, warning};
pub use numbers::{cut, decimal, grouped, plural, sampled};
pub use records::{Entry, cluster, pair};
pub use sample::{Sample, keep_first};
pub use sizes::SizeClasses;
pub use table::{figures, table};
