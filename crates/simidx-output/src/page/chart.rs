//! Bar charts as SVG, each with a title, an alternative text and a table of its figures.

use std::fmt::Display;

use maud::{Markup, Render, html};

use super::numbers::{grouped, short};
use super::table::table;

/// Distances in pixels from the top to the highest bar and to the axis.
const PLOT: (f64, f64) = (34.0, 214.0);

/// Largest number of bars that are labelled with their values.
const MAX_VALUES: usize = 14;

/// Smallest number of bars that a chart reserves room for, so that a few bars are not wider.
const LEAST_SLOTS: usize = 4;

/// Largest number of bars in a chart that is narrower than the page.
const FEW: usize = 7;

/// Largest number of grid lines above the axis.
const MAX_GRID_LINES: f64 = 4.0;

/// Largest total number of characters in the labels below the bars.
const MAX_LABEL_CHARS: usize = 48;

/// A bar of a chart.
#[derive(Debug)]
pub struct Bar {
    /// The label below the bar.
    pub label: String,
    /// The height of the bar.
    pub value: f64,
    /// The cells of the bar in the table, one for each column.
    pub figures: Vec<String>,
}

impl Bar {
    /// Creates a bar whose height is a count.
    pub fn count(label: impl Display, count: u64) -> Self {
        Bar {
            label: label.to_string(),
            value: count as f64,
            figures: vec![grouped(count)],
        }
    }
}

/// A vertical line that separates the bars within a limit from the bars beyond it.
#[derive(Debug)]
pub struct Limit {
    /// Number of bars within the limit.
    pub within: usize,
    /// The label of the line.
    pub label: String,
    /// A description of the bars beyond the limit.
    pub beyond: &'static str,
}

/// A chart of vertical bars.
#[derive(Debug, Default)]
pub struct BarChart {
    /// The HTML id, unique within a page.
    pub id: &'static str,
    /// The title of the chart.
    pub title: String,
    /// The alternative text of the chart.
    pub alternative: String,
    /// The label of the horizontal axis.
    pub x_label: &'static str,
    /// The label of the vertical axis.
    pub y_label: &'static str,
    /// The bars, from left to right.
    pub bars: Vec<Bar>,
    /// The headings of the table's columns, if it has more columns than the heights.
    pub columns: &'static [&'static str],
    /// A line between bars. The bars beyond it are hollow.
    pub limit: Option<Limit>,
    /// A horizontal line at a value, with its label.
    pub line: Option<(f64, String)>,
    /// The value at the top of the chart; by default, the largest value.
    pub top: Option<f64>,
}

impl Render for BarChart {
    fn render(&self) -> Markup {
        html! {
            figure.few[self.bars.len() <= FEW] {
                figcaption { (self.title) }
                @if self.bars.is_empty() {
                    p { (self.alternative) }
                } @else {
                    p.axis { "\u{2191} " (self.y_label) }
                    (self.drawing())
                    p.axis.end { (self.x_label) " \u{2192}" }
                    @if let Some(limit) = &self.limit {
                        p.axis { "hollow: " (limit.beyond) }
                    }
                    details {
                        summary { "Figures of this chart" }
                        (self.table())
                    }
                }
            }
        }
    }
}

impl BarChart {
    fn drawing(&self) -> Markup {
        let largest = self.bars.iter().map(|bar| bar.value).fold(0.0, f64::max);
        let grid = grid_step(self.top.unwrap_or(largest));
        let top = self.top.unwrap_or((largest / grid).ceil().max(1.0) * grid);
        let y = |value: f64| PLOT.1 - (value / top).clamp(0.0, 1.0) * (PLOT.1 - PLOT.0);
        let slots = self.bars.len().max(LEAST_SLOTS) as f64;
        let x = |bars: f64| format!("{:.3}%", bars / slots * 100.0);
        let label_step = self.label_step();
        html! {
            svg.chart role="img" height="240" aria-labelledby={ (self.id) "-title " (self.id) "-about" } {
                title id={ (self.id) "-title" } { (self.title) }
                desc id={ (self.id) "-about" } { (self.alternative) }
                @for number in 0..=(top / grid) as u32 {
                    @let value = f64::from(number) * grid;
                    line.grid x1="0" x2="100%" y1=(px(y(value))) y2=(px(y(value))) {}
                    text.end x="-8" y=(px(y(value) + 4.0)) { (short(value)) }
                }
                @for (number, bar) in self.bars.iter().enumerate() {
                    @let left = number as f64;
                    // A positive value always remains visible.
                    @let upper = y(bar.value).min(PLOT.1 - if bar.value > 0.0 { 1.5 } else { 0.0 });
                    rect.beyond[self.limit.as_ref().is_some_and(|limit| number >= limit.within)]
                        x=(x(left + 0.1)) width=(x(0.8)) y=(px(upper)) height=(px(PLOT.1 - upper)) {}
                    @if self.bars.len() <= MAX_VALUES {
                        text.halo x=(x(left + 0.5)) y=(px(upper - 5.0)) { (short(bar.value)) }
                    }
                    @if number % label_step == 0 {
                        text x=(x(left + 0.5)) y=(px(PLOT.1 + 18.0)) { (bar.label) }
                    }
                }
                @if let Some((value, label)) = &self.line {
                    line.reference x1="0" x2="100%" y1=(px(y(*value))) y2=(px(y(*value))) {}
                    text.halo.end x="100%" y=(px(y(*value) - 6.0)) { (label) }
                }
                @if let Some(limit) = &self.limit {
                    @let middle = x(limit.within as f64);
                    line.reference x1=(middle) x2=(middle) y1="18" y2=(PLOT.1) {}
                    text.halo x=(middle) y="12" { (limit.label) }
                }
            }
        }
    }

    /// Returns the interval between labelled bars at which no two labels overlap.
    fn label_step(&self) -> usize {
        let chars: usize = self.bars.iter().map(|bar| bar.label.chars().count()).sum();
        let step = self.bars.len().div_ceil(MAX_VALUES);
        step.max(chars.div_ceil(MAX_LABEL_CHARS))
            .next_power_of_two()
    }

    fn table(&self) -> Markup {
        let columns = match self.columns {
            [] => std::slice::from_ref(&self.y_label),
            columns => columns,
        };
        let headings = [&[self.x_label], columns].concat();
        let cells = |bar: &Bar| [std::slice::from_ref(&bar.label), &bar.figures].concat();
        let rows: Vec<Vec<String>> = self.bars.iter().map(cells).collect();
        table(&self.title, &headings, 1, &rows)
    }
}

/// Formats a number of pixels.
fn px(value: f64) -> String {
    format!("{value:.1}")
}

/// Returns the distance between grid lines: 1, 2 or 5 times a power of ten. It is whole, because the values are counts.
fn grid_step(largest: f64) -> f64 {
    let mut power = 1.0;
    loop {
        for digit in [1.0, 2.0, 5.0] {
            if digit * power * MAX_GRID_LINES >= largest {
                return digit * power;
            }
        }
        power *= 10.0;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn grid_lines_are_at_round_numbers() {
        let found = [0.0, 1.0, 4.0, 5.0, 9.0, 134.0, 63_021.0, 2e9].map(grid_step);
        assert_eq!(found, [1.0, 1.0, 1.0, 2.0, 5.0, 50.0, 20_000.0, 5e8]);
    }
}
