//! Draws the figures of the peers bench: the median latency of a query against bytes per fingerprint. With the word `build`
//! or `recall` before the files, those of that bench.
//!
//! `cargo run --release --example chart -- target/peers.jsonl book/src/img/latency.svg`
//! `cargo run --release --example chart -- build target/build.jsonl book/src/img/build.svg`
//! `cargo run --release --example chart -- recall target/recall.jsonl book/src/img/recall.svg`

#[path = "chart/build.rs"]
mod build;
#[path = "chart/recall.rs"]
mod recall;

use std::error::Error;
use std::ops::Range;

use plotters::coord::Shift;
use plotters::prelude::*;
use serde_json::Value;

const SIZE: (u32, u32) = (1000, 640);
const LABEL_SIZE: i32 = 13;

/// The size of the fingerprints themselves, drawn as a line.
const RAW_BYTES: f64 = 8.0;

/// Colours that people with the common kinds of colour blindness can distinguish (Okabe and Ito).
const COLOURS: [RGBColor; 8] = [
    RGBColor(90, 90, 90),
    RGBColor(230, 159, 0),
    RGBColor(213, 94, 0),
    RGBColor(0, 114, 178),
    RGBColor(0, 158, 115),
    RGBColor(204, 121, 167),
    RGBColor(86, 180, 233),
    RGBColor(120, 100, 20),
];

type Area<'a> = DrawingArea<SVGBackend<'a>, Shift>;

fn main() -> Result<(), Box<dyn Error>> {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let arguments: Vec<&str> = arguments.iter().map(String::as_str).collect();
    let (draw, input, output): (Draw, _, _) = match *arguments.as_slice() {
        ["build", input, output] => (build::draw, input, output),
        ["recall", input, output] => (recall::draw, input, output),
        [input, output] => (draw_latency, input, output),
        _ => return Err("usage: chart [build|recall] FIGURES.jsonl CHART.svg".into()),
    };
    let text = std::fs::read_to_string(input).map_err(|e| format!("{input}: {e}"))?;
    if let Some(folder) = std::path::Path::new(output).parent() {
        std::fs::create_dir_all(folder).map_err(|e| format!("{output}: {e}"))?;
    }
    draw(&text, output).map_err(|e| format!("{input} to {output}: {e}"))?;
    Ok(())
}

/// Draws JSON lines to a file.
type Draw = fn(&str, &str) -> Result<(), Box<dyn Error>>;

fn draw_latency(text: &str, path: &str) -> Result<(), Box<dyn Error>> {
    Figures::parse(text)?.draw(path)
}

/// The points of one workload.
struct Figures {
    title: String,
    series: Vec<Series>,
}

struct Series {
    family: String,
    points: Vec<Point>,
}

struct Point {
    label: String,
    bytes: f64,
    us: f64,
}

impl Figures {
    fn parse(text: &str) -> Result<Self, Box<dyn Error>> {
        let lines: Result<Vec<Value>, _> = text.lines().map(serde_json::from_str).collect();
        let mut lines = lines?;
        lines.retain(|line| line["kind"] == "query");
        let first = lines.first().ok_or("holds no line of kind query")?;
        let title = title(first);
        if lines.iter().any(|line| self::title(line) != title) {
            return Err("holds figures of more than one workload".into());
        }
        let mut series: Vec<Series> = Vec::new();
        for line in &lines {
            let family = line["family"].as_str().ok_or("a line without a family")?;
            let point = Point::parse(line)?;
            match series.iter_mut().find(|s| s.family == family) {
                Some(series) => series.points.push(point),
                None => series.push(Series {
                    family: family.into(),
                    points: vec![point],
                }),
            }
        }
        Ok(Figures { title, series })
    }

    fn draw(&self, path: &str) -> Result<(), Box<dyn Error>> {
        let root = SVGBackend::new(path, SIZE).into_drawing_area();
        root.fill(&WHITE)?;
        let x = around(self.points().map(|p| p.bytes).chain([RAW_BYTES]));
        let y = around(self.points().map(|p| p.us));
        let mut chart = ChartBuilder::on(&root)
            .caption(&self.title, ("sans-serif", 18))
            .margin(12)
            .x_label_area_size(44)
            .y_label_area_size(64)
            .build_cartesian_2d(x.log_scale(), y.clone().log_scale())?;
        chart
            .configure_mesh()
            .light_line_style(RGBColor(240, 240, 240))
            .bold_line_style(RGBColor(215, 215, 215))
            .x_desc(
                "bytes per fingerprint (t: tables, b: blocks; the line is the raw fingerprints)",
            )
            .x_labels(20)
            .x_max_light_lines(1)
            .y_desc("median latency of a query, microseconds")
            .x_label_formatter(&|v| sparse_number(*v))
            .y_label_formatter(&|v| number(*v))
            .axis_desc_style(("sans-serif", 15))
            .label_style(("sans-serif", 13))
            .draw()?;
        let raw = vec![(RAW_BYTES, y.start), (RAW_BYTES, y.end)];
        chart.draw_series([PathElement::new(raw, RGBColor(170, 170, 170))])?;

        for (series, colour) in self.series.iter().zip(COLOURS.iter().cycle()) {
            let colour = *colour;
            if series.family.starts_with("simidx") {
                chart.draw_series([PathElement::new(series.line(), colour.mix(0.35))])?;
            }
            let circles = series.points.iter();
            let circles = circles.map(|p| Circle::new((p.bytes, p.us), 4, colour.filled()));
            chart
                .draw_series(circles)?
                .label(&series.family)
                .legend(move |at| Circle::new((at.0 + 10, at.1), 4, colour.filled()));
        }
        chart
            .configure_series_labels()
            .position(SeriesLabelPosition::UpperRight)
            .label_font(("sans-serif", 14))
            .background_style(WHITE)
            .border_style(RGBColor(200, 200, 200))
            .draw()?;

        let pixels: Vec<Vec<(i32, i32)>> = self
            .series
            .iter()
            .map(|series| {
                series
                    .points
                    .iter()
                    .map(|p| chart.backend_coord(&(p.bytes, p.us)))
                    .collect()
            })
            .collect();
        let (frame_x, frame_y) = chart.plotting_area().get_pixel_range();
        let mut labels = Labels::new(frame_x, frame_y, pixels.iter().flatten());
        for ((series, pixels), colour) in
            self.series.iter().zip(&pixels).zip(COLOURS.iter().cycle())
        {
            for (point, &pixel) in series.points.iter().zip(pixels) {
                labels.draw(&root, &point.label, pixel, *colour)?;
            }
        }
        root.present()?;
        Ok(())
    }

    fn points(&self) -> impl Iterator<Item = &Point> {
        self.series.iter().flat_map(|series| &series.points)
    }
}

impl Series {
    /// From design to design, by size.
    fn line(&self) -> Vec<(f64, f64)> {
        let mut line: Vec<(f64, f64)> = self.points.iter().map(|p| (p.bytes, p.us)).collect();
        line.sort_by(|a, b| a.0.total_cmp(&b.0));
        line
    }
}

impl Point {
    fn parse(line: &Value) -> Result<Self, Box<dyn Error>> {
        let name = line["name"].as_str().ok_or("a line without a name")?;
        let figure = |key: &str| {
            let figure = line[key].as_f64().filter(|&figure| figure > 0.0);
            figure.ok_or_else(|| format!("{name}: no figure {key}"))
        };
        Ok(Point {
            label: label(name),
            bytes: figure("bytes_per_fingerprint")?,
            us: figure("p50_us")?,
        })
    }
}

/// Returns a description of the workload.
fn title(line: &Value) -> String {
    let count = line["fingerprint_count"].as_f64().unwrap_or(0.0);
    let data = line["data"].as_str().unwrap_or("");
    let machine = line["machine"].as_str().unwrap_or("unknown");
    format!(
        "{} {data} fingerprints of 64 bits, distance {}, one thread (processor: {machine})",
        grouped(count as u64),
        line["distance"]
    )
}

/// The part of a name that the legend does not say: `simidx/xor/t10/B512` is `t10`.
fn label(name: &str) -> String {
    let parts: Vec<&str> = name.split('/').collect();
    match parts.as_slice() {
        // Without the usual size of a block.
        ["simidx", _, tables, "B512"] => (*tables).into(),
        ["simidx", _, tables, block] => format!("{tables} {block}"),
        [_, "auto", blocks] => format!("{blocks} (automatic)"),
        _ => parts[parts.len() - 1].into(),
    }
}

/// A range with room on both sides.
fn around(values: impl Iterator<Item = f64>) -> Range<f64> {
    let (low, high) = values.fold((f64::MAX, f64::MIN), |(low, high), value| {
        (low.min(value), high.max(value))
    });
    low / 1.5..high * 1.5
}

fn number(value: f64) -> String {
    match value {
        v if v >= 1000.0 => grouped(v.round() as u64),
        v if v >= 1.0 => format!("{v:.0}"),
        v => format!("{v:.1}"),
    }
}

/// Only numbers that start with 1, 2 or 5: the others stand too close.
fn sparse_number(value: f64) -> String {
    let text = number(value);
    match text.trim_start_matches(['0', '.']).chars().next() {
        Some('1' | '2' | '5') => text,
        _ => String::new(),
    }
}

fn grouped(value: u64) -> String {
    match value {
        0..1000 => value.to_string(),
        _ => format!("{},{:03}", grouped(value / 1000), value % 1000),
    }
}

/// Labels next to their points, where nothing else is drawn.
struct Labels {
    frame: (Range<i32>, Range<i32>),
    taken: Vec<Place>,
}

/// Left, top, right, bottom.
type Place = (i32, i32, i32, i32);

impl Labels {
    fn new<'a>(
        frame_x: Range<i32>,
        frame_y: Range<i32>,
        points: impl Iterator<Item = &'a (i32, i32)>,
    ) -> Self {
        let around = |&(x, y): &(i32, i32)| (x - 5, y - 5, x + 5, y + 5);
        Labels {
            frame: (frame_x, frame_y),
            taken: points.map(around).collect(),
        }
    }

    /// Writes a label in the first free place around its point; without one it is left out.
    fn draw(
        &mut self,
        root: &Area,
        text: &str,
        (x, y): (i32, i32),
        colour: RGBColor,
    ) -> Result<(), Box<dyn Error>> {
        // Without fonts the width is a guess, on the wide side.
        let width = text.chars().count() as i32 * LABEL_SIZE * 6 / 10;
        let height = LABEL_SIZE;
        let (right, left, middle) = (x + 7, x - 7 - width, x - width / 2);
        let (above, below, level) = (y - 7 - height, y + 7, y - height / 2);
        let places = [
            (right, level),
            (middle, above),
            (middle, below),
            (left, level),
            (right, above),
            (right, below),
            (left, above),
            (left, below),
            (middle, above - height),
            (middle, below + height),
        ];
        let boxes = places.map(|(left, top)| (left, top, left + width, top + height));
        let Some(place) = boxes.into_iter().find(|place| self.is_free(place)) else {
            eprintln!("no room for the label {text}");
            return Ok(());
        };
        let style = ("sans-serif", LABEL_SIZE).into_font().color(&colour);
        root.draw(&Text::new(text.to_string(), (place.0, place.1), style))?;
        self.taken.push(place);
        Ok(())
    }

    fn is_free(&self, &(left, top, right, bottom): &Place) -> bool {
        let (x, y) = &self.frame;
        let inside = left >= x.start && right <= x.end && top >= y.start && bottom <= y.end;
        let apart = |other: &Place| {
            right <= other.0 || left >= other.2 || bottom <= other.1 || top >= other.3
        };
        inside && self.taken.iter().all(apart)
    }
}
