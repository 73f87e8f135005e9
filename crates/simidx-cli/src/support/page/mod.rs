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

pub(crate) use chart::{Bar, BarChart, Boundary, ReferenceLine};
pub(crate) use document::{Document, fitting};
pub(crate) use html::Html;
pub(crate) use numbers::{decimal, grouped, plural, sampled, short};
pub(crate) use sample::Sample;
pub(crate) use sizes::SizeClasses;
pub(crate) use table::{Column, Table};
pub(crate) use views::{Entry, cluster, pair};
