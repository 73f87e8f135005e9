//! Draws the figures of the recall bench: the share of pairs that is found by their similarity, as the model says (lines)
//! and as measured (marks).

use std::error::Error;

use plotters::prelude::*;
use plotters::style::text_anchor::{HPos, Pos, VPos};
use serde_json::Value;

use crate::{Area, COLOURS};

const SIZE: (u32, u32) = (1160, 900);
const TITLE_HEIGHT: u32 = 62;

/// A panel: a method, bits of a fingerprint, distances, and what it says above and below.
struct Panel {
    method: &'static str,
    width: u64,
    distances: [u64; 4],
    title: &'static str,
    axis: &'static str,
}

const PANELS: [Panel; 4] = [
    Panel {
        method: "minhash",
        width: 32,
        distances: [1, 2, 4, 6],
        title: "One-bit MinHash, 32 bits",
        axis: "Jaccard similarity of the features",
    },
    Panel {
        method: "minhash",
        width: 64,
        distances: [3, 6, 9, 12],
        title: "One-bit MinHash, 64 bits, and bands",
        axis: "Jaccard similarity of the features",
    },
    Panel {
        method: "minhash",
        width: 128,
        distances: [6, 12, 18, 24],
        title: "One-bit MinHash, 128 bits",
        axis: "Jaccard similarity of the features",
    },
    Panel {
        method: "simhash",
        width: 64,
        distances: [3, 6, 9, 12],
        title: "Simhash, 64 bits",
        axis: "cosine of the weighted features",
    },
];

/// The bands that are drawn: those for a least similarity of 0.8.
const BANDS: (u64, u64) = (15, 4);

/// Where a line bears its label: at this recall, and at this one where the lines are steep.
const LABEL_AT: f64 = 0.62;
const LABEL_AT_STEEP: f64 = 0.3;

/// Reads the lines of the bench and draws them.
pub(crate) fn draw(text: &str, path: &str) -> Result<(), Box<dyn Error>> {
    let lines: Result<Vec<Value>, _> = text.lines().map(serde_json::from_str).collect();
    let mut lines = lines?;
    lines.retain(|line| line["kind"] == "recall" && line["texts"] == "made");
    if lines.is_empty() {
        return Err("holds no line of kind recall on made texts".into());
    }
    let root = SVGBackend::new(path, SIZE).into_drawing_area();
    root.fill(&WHITE)?;
    let (above, below) = root.split_vertically(TITLE_HEIGHT);
    let write = |text: &str, at: (i32, i32), size: u32, style| {
        let style = ("sans-serif", size).into_font().style(style).color(&BLACK);
        above.draw_text(text, &style, at)
    };
    write(
        "Pairs of texts that are found, by their similarity",
        (18, 10),
        21,
        FontStyle::Bold,
    )?;
    let marks = "Lines: the model. Marks: measured on made texts. k: the largest distance at which a pair counts as found.";
    write(marks, (18, 38), 15, FontStyle::Normal)?;
    for (panel, area) in PANELS.iter().zip(below.split_evenly((2, 2))) {
        panel.draw(&area, &lines)?;
    }
    root.present()?;
    Ok(())
}

impl Panel {
    fn draw(&self, area: &Area<'_>, lines: &[Value]) -> Result<(), Box<dyn Error>> {
        let mut chart = ChartBuilder::on(area)
            .caption(self.title, ("sans-serif", 17))
            .margin(10)
            .x_label_area_size(42)
            .y_label_area_size(54)
            .build_cartesian_2d(0.5..1.0, 0.0..1.0)?;
        chart
            .configure_mesh()
            .light_line_style(WHITE)
            .bold_line_style(RGBColor(222, 222, 222))
            .x_labels(11)
            .y_labels(6)
            .x_desc(self.axis)
            .y_desc("share of pairs found")
            .x_label_formatter(&|x| format!("{x:.2}"))
            .y_label_formatter(&|y| format!("{y:.1}"))
            .axis_desc_style(("sans-serif", 15))
            .label_style(("sans-serif", 13))
            .draw()?;
        let points = |width: u64, k: u64, method: &str, figure: &str| -> Vec<(f64, f64)> {
            let ours = lines
                .iter()
                .filter(|l| l["width"] == width && l["k"] == k && l["method"] == method);
            let number = |line: &Value, key: &str| line[key].as_f64().unwrap_or(f64::NAN);
            ours.map(|line| (number(line, "similarity"), number(line, figure)))
                .collect()
        };
        let probability = |x: f64| match self.method {
            "minhash" => (1.0 - x) / 2.0,
            _ => x.min(1.0).acos() / std::f64::consts::PI,
        };
        let mut labels = Vec::new();
        for (i, &k) in self.distances.iter().enumerate() {
            let colour = COLOURS[i + 2];
            let curve: Vec<(f64, f64)> = steps()
                .map(|x| (x, within(self.width, probability(x), k)))
                .collect();
            let at = if self.method == "simhash" {
                LABEL_AT_STEEP
            } else {
                LABEL_AT
            };
            labels.push((label_place(&curve, at), format!("k = {k}"), colour));
            chart.draw_series([PathElement::new(curve, colour.stroke_width(2))])?;
            let measured = points(self.width, k, self.method, "measured");
            match i {
                0 => chart
                    .draw_series(measured.iter().map(|&p| Circle::new(p, 4, colour.filled())))?,
                1 => chart.draw_series(
                    measured
                        .iter()
                        .map(|&p| TriangleMarker::new(p, 6, colour.filled())),
                )?,
                2 => chart.draw_series(
                    measured
                        .iter()
                        .map(|&p| Cross::new(p, 4, colour.stroke_width(2))),
                )?,
                _ => chart.draw_series(
                    measured
                        .iter()
                        .map(|&p| Circle::new(p, 4, colour.stroke_width(2))),
                )?,
            };
        }
        if (self.method, self.width) == ("minhash", 64) {
            let (bands, rows) = BANDS;
            let colour = BLACK;
            let recall = |x: f64| 1.0 - (1.0 - x.powi(rows as i32)).powi(bands as i32);
            let curve: Vec<(f64, f64)> = steps().map(|x| (x, recall(x))).collect();
            labels.push((
                (0.51, 0.95),
                format!("{bands} bands of {rows}"),
                RGBColor(0, 0, 0),
            ));
            chart.draw_series(DashedLineSeries::new(curve, 7, 4, colour.stroke_width(2)))?;
            let measured = points(bands, rows, "bands", "measured");
            let squares = measured.iter().map(|&(x, y)| {
                EmptyElement::at((x, y))
                    + Rectangle::new([(-4, -4), (4, 4)], colour.stroke_width(2))
            });
            chart.draw_series(squares)?;
        }
        let plot = chart.plotting_area();
        for (at, label, colour) in labels {
            let position = Pos::new(HPos::Right, VPos::Center);
            let font = ("sans-serif", 15).into_font().style(FontStyle::Bold);
            let (x, y) = plot.map_coordinate(&at);
            let (base, top) = area.get_base_pixel();
            let at = match label.starts_with('k') {
                true => (x - base - 7, y - top),
                false => (x - base, y - top),
            };
            let position = match label.starts_with('k') {
                true => position,
                false => Pos::new(HPos::Left, VPos::Center),
            };
            area.draw_text(&label, &font.color(&colour).pos(position), at)?;
        }
        Ok(())
    }
}

/// Similarities for a smooth line.
fn steps() -> impl Iterator<Item = f64> {
    (0..=200).map(|step| 0.5 + f64::from(step) / 400.0)
}

/// Where a curve first reaches the recall of the labels.
fn label_place(curve: &[(f64, f64)], at: f64) -> (f64, f64) {
    let reached = curve.iter().find(|(_, recall)| *recall >= at);
    reached.or(curve.last()).copied().unwrap_or((0.5, 0.0))
}

/// The probability that at most `k` of `width` bits differ, each with this probability.
fn within(width: u64, bit: f64, k: u64) -> f64 {
    let mut term = (1.0 - bit).powi(width as i32);
    let mut sum = term;
    for i in 1..=k {
        term *= (width - i + 1) as f64 / i as f64 * bit / (1.0 - bit);
        sum += term;
    }
    sum
}
