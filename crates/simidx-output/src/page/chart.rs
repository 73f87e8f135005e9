//! Bar charts as SVG, each with a title, a text in its place and the table of its figures.

use std::fmt::Write;

use super::html::Html;
use super::numbers::short;
use super::table::{Column, Table};

/// Pixels from the top to the highest bar, and to the axis.
const PLOT: (f64, f64) = (34.0, 214.0);

/// Most bars that have their values above them.
const MAX_VALUES: usize = 14;

/// Bars that a chart has room for at least: few bars are not the wider for it.
const LEAST_SLOTS: usize = 4;

/// Most bars of a chart that is narrower than the page.
const FEW: usize = 7;

/// Most grid lines above the axis.
const MAX_GRID_LINES: f64 = 4.0;

/// Most characters of all labels below the bars together.
const MAX_TICK_CHARS: usize = 48;

/// A bar.
#[derive(Debug, Clone, Default)]
pub struct Bar {
    /// What it is called.
    pub label: String,
    /// What stands below the bar, if the label is too long for that.
    pub tick: Option<String>,
    /// Its height.
    pub value: f64,
    /// What the table says of it, by column.
    pub figures: Vec<String>,
    /// Whether it is drawn hatched.
    pub is_beyond: bool,
}

impl Bar {
    fn tick(&self) -> &str {
        self.tick.as_deref().unwrap_or(&self.label)
    }
}

/// A line between two bars.
#[derive(Debug, Clone)]
pub struct Boundary {
    /// Number of bars before it.
    pub before: usize,
    /// What it separates.
    pub label: String,
}

/// A line at a value.
#[derive(Debug, Clone)]
pub struct ReferenceLine {
    /// Where it is.
    pub value: f64,
    /// What it says.
    pub label: String,
}

/// A chart of bars that stand side by side.
#[derive(Debug, Clone, Default)]
pub struct BarChart {
    /// Different for each chart of a page.
    pub id: &'static str,
    /// What the chart is called.
    pub title: String,
    /// What the chart shows, in words.
    pub alternative: String,
    /// What stands below the bars.
    pub x_label: &'static str,
    /// What their heights are.
    pub y_label: &'static str,
    /// The bars, from left to right.
    pub bars: Vec<Bar>,
    /// Headings of the figures.
    pub columns: Vec<&'static str>,
    /// What hatched bars are.
    pub beyond: Option<String>,
    /// A line between two bars.
    pub boundary: Option<Boundary>,
    /// A line at a value.
    pub line: Option<ReferenceLine>,
    /// The value at the top; the largest one by default.
    pub top: Option<f64>,
}

impl BarChart {
    /// The chart, and its figures below it.
    pub fn html(&self) -> Html {
        let mut html = Html::new();
        let class = if self.bars.len() <= FEW {
            "few"
        } else {
            "many"
        };
        html.open("figure", &[("class", class)])
            .element("figcaption", &[], &self.title);
        if self.bars.is_empty() {
            return html
                .paragraph(&self.alternative)
                .markup("</figure>\n")
                .clone();
        }
        html.element(
            "p",
            &[("class", "axis")],
            format!("\u{2191} {}", self.y_label),
        );
        self.draw(&mut html);
        html.element(
            "p",
            &[("class", "axis end")],
            format!("{} \u{2192}", self.x_label),
        );
        if let Some(beyond) = &self.beyond {
            html.markup("<p class=\"axis\"><svg class=\"key\" aria-hidden=\"true\" width=\"18\" height=\"12\">");
            self.rect(&mut html, ("0", "100%"), (0.0, 12.0), true);
            html.markup("</svg> ")
                .text(format!("hatched: {beyond}"))
                .markup("</p>");
        }
        html.markup("<details><summary>Figures of this chart</summary>\n");
        html.append(&self.table()).markup("</details></figure>\n");
        html
    }

    fn draw(&self, html: &mut Html) {
        let [title, about] = ["title", "about"].map(|part| format!("{}-{part}", self.id));
        html.open(
            "svg",
            &[
                ("class", "chart"),
                ("role", "img"),
                ("height", "240"),
                ("aria-labelledby", &format!("{title} {about}")),
            ],
        );
        html.element("title", &[("id", &title)], &self.title);
        html.element("desc", &[("id", &about)], &self.alternative);
        if self.bars.iter().any(|bar| bar.is_beyond) {
            html.open("defs", &[]).open(
                "pattern",
                &[
                    ("id", &format!("{}-hatch", self.id)),
                    ("width", "6"),
                    ("height", "6"),
                    ("patternUnits", "userSpaceOnUse"),
                    ("patternTransform", "rotate(45)"),
                ],
            );
            html.markup("<rect class=\"hatch\" width=\"2\" height=\"6\"></rect></pattern></defs>");
        }
        let largest = self.bars.iter().map(|bar| bar.value).fold(0.0, f64::max);
        let step = grid_step(self.top.unwrap_or(largest));
        let top = self.top.unwrap_or((largest / step).ceil().max(1.0) * step);
        let height = |value: f64| (value / top).clamp(0.0, 1.0) * (PLOT.1 - PLOT.0);
        for line in 0..=(top / step).floor() as u32 {
            let value = f64::from(line) * step;
            let y = PLOT.1 - height(value);
            across(html, "grid", y);
            label(html, ("-8", y + 4.0), "end", "tick", &short(value));
        }
        self.draw_bars(html, height);
        if let Some(line) = &self.line {
            let y = PLOT.1 - height(line.value);
            across(html, "reference", y);
            label(html, ("100%", y - 6.0), "end", "halo", &line.label);
        }
        if let Some(boundary) = &self.boundary {
            let x = percent(boundary.before as f64 * self.slot());
            vertical(html, &x);
            label(html, (&x, 12.0), "middle", "halo", &boundary.label);
        }
        html.markup("</svg>\n");
    }

    fn draw_bars(&self, html: &mut Html, height: impl Fn(f64) -> f64) {
        let slot = self.slot();
        let ticks: Vec<&str> = self.bars.iter().map(Bar::tick).collect();
        let (step, has_values) = (label_step(&ticks), self.bars.len() <= MAX_VALUES);
        for (number, bar) in self.bars.iter().enumerate() {
            // What there is can be seen.
            let height = if bar.value > 0.0 {
                height(bar.value).max(1.5)
            } else {
                0.0
            };
            let (left, width) = ((number as f64 + 0.1) * slot, 0.8 * slot);
            let (y, middle) = (PLOT.1 - height, percent((number as f64 + 0.5) * slot));
            self.rect(
                html,
                (&percent(left), &percent(width)),
                (y, height),
                bar.is_beyond,
            );
            if has_values {
                label(
                    html,
                    (&middle, y - 5.0),
                    "middle",
                    "halo",
                    &short(bar.value),
                );
            }
            if number % step == 0 {
                label(html, (&middle, PLOT.1 + 18.0), "middle", "tick", bar.tick());
            }
        }
    }

    /// A bar of the chart, from left to right in shares of the width, from top to bottom in pixels.
    fn rect(
        &self,
        html: &mut Html,
        (x, width): (&str, &str),
        (y, height): (f64, f64),
        is_beyond: bool,
    ) {
        let (y, height) = (format!("{y:.1}"), format!("{height:.1}"));
        let hatch = format!("url(#{}-hatch)", self.id);
        let mut attributes = vec![("x", x), ("y", &*y), ("width", width), ("height", &*height)];
        match is_beyond {
            true => attributes.extend([("class", "beyond"), ("fill", &*hatch)]),
            false => attributes.push(("class", "bar")),
        }
        html.open("rect", &attributes).close("rect");
    }

    /// The share of the width that a bar has, in percent.
    fn slot(&self) -> f64 {
        100.0 / self.bars.len().max(LEAST_SLOTS) as f64
    }

    fn table(&self) -> Html {
        let mut columns = vec![Column::text(self.x_label)];
        columns.extend(self.columns.iter().map(|heading| Column::number(heading)));
        let mut table = Table::new(&self.title, &columns);
        for bar in &self.bars {
            table.row(std::iter::once(&bar.label).chain(&bar.figures));
        }
        table.finish()
    }
}

/// The distance of grid lines, of which a few fit below a value: 1, 2 or 5 with zeros, since what is counted is whole.
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

fn percent(share: f64) -> String {
    let mut text = String::new();
    let _ = write!(text, "{share:.3}%");
    text
}

fn across(html: &mut Html, class: &str, y: f64) {
    let y = format!("{y:.1}");
    html.open(
        "line",
        &[
            ("class", class),
            ("x1", "0"),
            ("x2", "100%"),
            ("y1", &y),
            ("y2", &y),
        ],
    );
    html.close("line");
}

fn vertical(html: &mut Html, x: &str) {
    let (top, bottom) = ("18", format!("{}", PLOT.1));
    html.open(
        "line",
        &[
            ("class", "reference"),
            ("x1", x),
            ("x2", x),
            ("y1", top),
            ("y2", &bottom),
        ],
    );
    html.close("line");
}

fn label(html: &mut Html, (x, y): (&str, f64), anchor: &str, class: &str, text: &str) {
    let y = format!("{y:.1}");
    html.element(
        "text",
        &[
            ("x", x),
            ("y", &y),
            ("text-anchor", anchor),
            ("class", class),
        ],
        text,
    );
}

/// How many bars lie between two labels, so that these do not meet.
fn label_step(ticks: &[&str]) -> usize {
    let fits = |step: &usize| {
        let shown = ticks.iter().step_by(*step);
        let (count, chars) = shown.fold((0, 0), |(count, chars), tick| {
            (count + 1, chars + tick.chars().count())
        });
        count <= MAX_VALUES && chars <= MAX_TICK_CHARS
    };
    let steps = [1, 2, 4, 8, 16, 32];
    steps.into_iter().find(fits).unwrap_or(ticks.len())
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
