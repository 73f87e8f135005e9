//! Pages to look at: HTML with escaping built in, tables, charts and texts side by side, in one file that needs nothing else.

mod chart;
mod diff;
mod document;
mod html;
mod numbers;
mod sample;
mod sizes;
mod table;
mod views;

pub use chart::{Bar, BarChart, Boundary, ReferenceLine};
pub use document::{Document, fitting};
pub use html::Html;
pub use numbers::{decimal, grouped, plural, sampled, short};
pub use sample::Sample;
pub use sizes::SizeClasses;
pub use table::{Column, Table};
pub use views::{Entry, cluster, pair};
