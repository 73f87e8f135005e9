//! Draws the figures of the build bench: throughput by number of fingerprints, and the time of each stage of a build
//! compared with sorting.

use std::error::Error;

use plotters::prelude::*;
use plotters::style::text_anchor::{HPos, Pos, VPos};
use serde_json::Value;

use crate::{Area, COLOURS, grouped};

const SIZE: (u32, u32) = (1240, 560);

/// Width of the left panel.
const LEFT: i32 = 540;

/// Pixels before the bars, for their labels.
const BAR_LABELS: u32 = 150;

/// Stages of a build, as the lines name them, and what the legend says.
const STAGES: [(&str, &str); 6] = [
    ("add", "add"),
    ("sort", "sort"),
    ("merge", "merge"),
    ("choose", "choose code"),
    ("encode", "encode"),
    ("ids", "end"),
];

/// Reads the lines of the bench and draws them.
pub(crate) fn draw(text: &str, path: &str) -> Result<(), Box<dyn Error>> {
    let figures = Figures::parse(text)?;
    let root = SVGBackend::new(path, SIZE).into_drawing_area();
    root.fill(&WHITE)?;
    let (left, right) = root.split_horizontally(LEFT);
    figures.draw_throughput(&left)?;
    figures.draw_bars(&right)?;
    root.present()?;
    Ok(())
}

/// The lines of a file; where a case was measured again, the last.
struct Figures {
    builds: Vec<Build>,
    sorts: Vec<Sort>,
}

/// The fastest sort on a number of threads.
struct Sort {
    count: f64,
    threads: u64,
    throughput: f64,
}

/// Puts a measurement in the place of an earlier one, or at the end.
fn put<T>(all: &mut Vec<T>, new: T, is_same: fn(&T, &T) -> bool) {
    match all.iter_mut().find(|earlier| is_same(earlier, &new)) {
        Some(earlier) => *earlier = new,
        None => all.push(new),
    }
}

/// One case.
struct Build {
    count: f64,
    tables: u64,
    codec: String,
    memory: String,
    threads: u64,
    throughput: f64,
    times_sort: f64,
    /// Seconds of each stage.
    stages: Vec<f64>,
}

impl Figures {
    fn parse(text: &str) -> Result<Self, Box<dyn Error>> {
        let (mut builds, mut sorts) = (Vec::new(), Vec::new());
        for line in text.lines() {
            let line: Value = serde_json::from_str(line)?;
            match line["kind"].as_str() {
                Some("build") => put(&mut builds, Build::parse(&line)?, Build::is_same_case),
                Some("sort") if line["fastest"] == true => {
                    put(&mut sorts, Sort::parse(&line)?, Sort::is_same_case);
                }
                _ => {}
            }
        }
        match builds.is_empty() {
            true => Err("holds no line of kind build".into()),
            false => Ok(Figures { builds, sorts }),
        }
    }

    /// The case that the others differ from in one respect: the first of every run.
    fn base(&self) -> &Build {
        &self.builds[0]
    }

    /// Number of fingerprints and throughput, for each number of tables.
    fn throughput(&self) -> Vec<(u64, Vec<(f64, f64)>)> {
        let base = self.base();
        let is_alike = |b: &&Build| {
            (&b.codec, &b.memory, b.threads) == (&base.codec, &base.memory, base.threads)
        };
        let mut lines: Vec<(u64, Vec<(f64, f64)>)> = Vec::new();
        for build in self.builds.iter().filter(is_alike) {
            let point = (build.count, build.throughput);
            match lines.iter_mut().find(|line| line.0 == build.tables) {
                Some(line) => line.1.push(point),
                None => lines.push((build.tables, vec![point])),
            }
        }
        lines.sort_by_key(|line| line.0);
        lines
    }

    /// The throughput of the fastest sort on no more threads than the base case has.
    fn sort_line(&self) -> Vec<(f64, f64)> {
        let mut line: Vec<(f64, f64)> = Vec::new();
        let threads = self.base().threads;
        for sort in self.sorts.iter().filter(|sort| sort.threads <= threads) {
            match line.iter_mut().find(|point| point.0 == sort.count) {
                Some(point) => point.1 = sort.throughput.max(point.1),
                None => line.push((sort.count, sort.throughput)),
            }
        }
        line
    }

    fn draw_throughput(&self, area: &Area) -> Result<(), Box<dyn Error>> {
        let (lines, sort) = (self.throughput(), self.sort_line());
        let all = || lines.iter().flat_map(|line| &line.1).chain(&sort);
        let highest = all().map(|point| point.1).fold(0.0, f64::max);
        let counts = crate::around(all().map(|point| point.0));
        let base = self.base();
        let title = format!(
            "Throughput: {}, {} threads, all in memory",
            base.codec, base.threads
        );
        let mut chart = ChartBuilder::on(area)
            .caption(title, ("sans-serif", 17))
            .margin(12)
            .x_label_area_size(44)
            .y_label_area_size(56)
            .build_cartesian_2d(counts.log_scale(), 0.0..highest * 1.25)?;
        chart
            .configure_mesh()
            .light_line_style(WHITE)
            .bold_line_style(RGBColor(225, 225, 225))
            .x_desc("fingerprints")
            .y_desc("million fingerprints a second, for each table")
            .x_label_formatter(&|v| grouped(*v as u64))
            .y_label_formatter(&|v| format!("{v:.0}"))
            .axis_desc_style(("sans-serif", 14))
            .label_style(("sans-serif", 13))
            .draw()?;
        let tables = lines.into_iter().map(|(tables, points)| {
            let plural = if tables == 1 { "" } else { "s" };
            (format!("{tables} table{plural}"), points)
        });
        let named = std::iter::once(("the fastest sort alone".to_string(), sort)).chain(tables);
        for ((name, points), colour) in named.zip(COLOURS) {
            let circles = points.iter().map(|&at| Circle::new(at, 4, colour.filled()));
            chart.draw_series(circles)?;
            chart
                .draw_series([PathElement::new(points, colour.stroke_width(2))])?
                .label(name)
                .legend(move |(x, y)| {
                    PathElement::new([(x, y), (x + 20, y)], colour.stroke_width(2))
                });
        }
        chart
            .configure_series_labels()
            .position(SeriesLabelPosition::UpperLeft)
            .label_font(("sans-serif", 13))
            .background_style(WHITE.mix(0.9))
            .border_style(RGBColor(200, 200, 200))
            .draw()?;
        Ok(())
    }

    /// Returns the builds shown as bars: the cases other than those of tables, each at the largest number of
    /// fingerprints that it was measured at.
    fn bars(&self) -> Vec<&Build> {
        let mut bars: Vec<&Build> = Vec::new();
        let base = self.base();
        for build in self.builds.iter().filter(|b| b.tables == base.tables) {
            match bars
                .iter_mut()
                .find(|bar| bar.label(base) == build.label(base))
            {
                Some(bar) if bar.count < build.count => *bar = build,
                Some(_) => {}
                None => bars.push(build),
            }
        }
        bars.sort_by_key(|bar| (bar.threads < base.threads, bar.memory != base.memory));
        bars
    }

    fn draw_bars(&self, area: &Area) -> Result<(), Box<dyn Error>> {
        let (bars, base) = (self.bars(), self.base());
        let longest = bars.iter().map(|bar| bar.times_sort).fold(1.0, f64::max);
        let title = format!("Builds of {} tables beside as many sorts", base.tables);
        let height = bars.len() as f64;
        let mut chart = ChartBuilder::on(area)
            .caption(title, ("sans-serif", 17))
            .margin(12)
            .x_label_area_size(44)
            .y_label_area_size(BAR_LABELS)
            .build_cartesian_2d(0.0..longest * 1.4, height..0.0)?;
        chart
            .configure_mesh()
            .disable_y_mesh()
            .disable_y_axis()
            .light_line_style(WHITE)
            .bold_line_style(RGBColor(225, 225, 225))
            .x_desc("times the sort on as many threads (at the end of a bar: fingerprints)")
            .x_label_formatter(&|v| format!("{v:.1}"))
            .axis_desc_style(("sans-serif", 14))
            .label_style(("sans-serif", 13))
            .draw()?;
        for (stage, (_, name)) in STAGES.iter().enumerate() {
            let colour = COLOURS[stage];
            let parts = bars.iter().enumerate().filter_map(|(i, bar)| {
                let (from, to) = bar.part(stage);
                let (top, bottom) = (i as f64 + 0.15, i as f64 + 0.85);
                (to > from).then(|| Rectangle::new([(from, top), (to, bottom)], colour.filled()))
            });
            chart
                .draw_series(parts)?
                .label(*name)
                .legend(move |(x, y)| {
                    Rectangle::new([(x, y - 5), (x + 12, y + 5)], colour.filled())
                });
        }
        let sort = vec![(1.0, 0.0), (1.0, height)];
        chart.draw_series([PathElement::new(sort, BLACK.stroke_width(1))])?;
        chart
            .configure_series_labels()
            .position(SeriesLabelPosition::UpperRight)
            .label_font(("sans-serif", 13))
            .background_style(WHITE.mix(0.9))
            .border_style(RGBColor(200, 200, 200))
            .draw()?;
        let at = |bar: usize, x: f64| {
            let (x, y) = chart.backend_coord(&(x, bar as f64 + 0.5));
            // The coordinates are those of both panels.
            (x - LEFT, y)
        };
        for (i, bar) in bars.iter().enumerate() {
            let figure = format!("{:.2} ({})", bar.times_sort, power(bar.count));
            let (start, end) = (at(i, 0.0), at(i, bar.times_sort));
            write(area, bar.label(base), (start.0 - 6, start.1), HPos::Right)?;
            write(area, figure, (end.0 + 6, end.1), HPos::Left)?;
        }
        Ok(())
    }
}

impl Sort {
    fn parse(line: &Value) -> Result<Self, String> {
        Ok(Sort {
            count: figure(line, "fingerprint_count")?,
            threads: figure(line, "threads")? as u64,
            throughput: figure(line, "million_per_second")?,
        })
    }

    fn is_same_case(&self, other: &Self) -> bool {
        (self.count, self.threads) == (other.count, other.threads)
    }
}

impl Build {
    fn parse(line: &Value) -> Result<Self, Box<dyn Error>> {
        let text = |key: &str| line[key].as_str().map(String::from);
        let stage = |(stage, _): &(&str, &str)| figure(line, &format!("{stage}_seconds"));
        let stages: Result<Vec<f64>, String> = STAGES.iter().map(stage).collect();
        Ok(Build {
            count: figure(line, "fingerprint_count")?,
            tables: figure(line, "tables")? as u64,
            codec: text("codec").ok_or("a build without a codec")?,
            memory: text("memory_name").ok_or("a build without memory_name")?,
            threads: figure(line, "threads")? as u64,
            throughput: figure(line, "million_per_second_per_table")?,
            times_sort: figure(line, "times_sort")?,
            stages: stages?,
        })
    }

    fn is_same_case(&self, other: &Self) -> bool {
        let key = |b: &Self| (b.count as u64, b.tables, b.threads);
        (key(self), &self.codec, &self.memory) == (key(other), &other.codec, &other.memory)
    }

    /// Returns the difference from the base case.
    fn label(&self, base: &Build) -> String {
        let mut parts = vec![self.codec.clone()];
        if self.memory != base.memory {
            parts.push(self.memory.clone());
        }
        if self.threads != base.threads {
            let plural = if self.threads == 1 { "" } else { "s" };
            parts.push(format!("{} thread{plural}", self.threads));
        }
        parts.join(", ")
    }

    /// From where to where a stage goes on the bar, in sorts.
    fn part(&self, stage: usize) -> (f64, f64) {
        let scale = self.times_sort / self.stages.iter().sum::<f64>();
        let before: f64 = self.stages[..stage].iter().sum();
        (before * scale, (before + self.stages[stage]) * scale)
    }
}

/// Writes next to a point, centred on its height.
fn write(area: &Area, text: String, at: (i32, i32), side: HPos) -> Result<(), Box<dyn Error>> {
    let font = ("sans-serif", 13).into_font().color(&BLACK);
    area.draw(&Text::new(text, at, font.pos(Pos::new(side, VPos::Center))))?;
    Ok(())
}

/// A power of ten as such.
fn power(count: f64) -> String {
    match count.log10() {
        exponent if exponent.fract() == 0.0 => format!("1e{exponent}"),
        _ => grouped(count as u64),
    }
}

fn figure(line: &Value, key: &str) -> Result<f64, String> {
    let figure = line[key].as_f64();
    figure.ok_or_else(|| format!("a line without a figure {key}"))
}
