//! The figures of a measurement as they are printed: a table for people, lines for spreadsheets, JSON.

use std::io::{self, Write};

use serde_json::{Value, json};

use super::interval::CONFIDENCE;
use super::plot::Measured;
use super::score::{Curve, Point, Share};

/// The distance whose figures people see first: that of the paper, and the default of an index.
const USUAL_DISTANCE: f64 = 3.0;

/// How the figures are printed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Style {
    /// The usual distance and the best one, in columns.
    Best,
    /// A line with tabs for each limit.
    All,
    /// An object for each method.
    Json,
}

/// Writes figures in one style.
#[derive(Debug)]
pub(super) struct Table<W> {
    out: W,
    style: Style,
    /// Of the longest name.
    name_width: usize,
}

impl<W: Write> Table<W> {
    /// Writes the heading, with room for these names.
    pub(super) fn new<'a>(
        mut out: W,
        style: Style,
        names: impl Iterator<Item = &'a str>,
    ) -> io::Result<Self> {
        let longest = names.map(|name| name.chars().count()).max();
        let name_width = longest.unwrap_or_default().max("pipeline".len());
        match style {
            Style::Json => {}
            Style::All => writeln!(
                out,
                "pipeline\tdistance\tprecision\trecall\tf1\tfound\tprecision_low\tprecision_high\trecall_low\trecall_high"
            )?,
            Style::Best => writeln!(
                out,
                "{:<name_width$}  {:>4}  {:>9}  {:<20}  {:<20}  F1",
                "pipeline", "at", "pairs", "precision (95 %)", "recall (95 %)"
            )?,
        }
        Ok(Table {
            out,
            style,
            name_width,
        })
    }

    /// Writes the figures of a method.
    pub(super) fn write(&mut self, measured: &Measured) -> io::Result<()> {
        let Measured {
            name,
            has_distances,
            curve,
        } = measured;
        match self.style {
            Style::Json => writeln!(self.out, "{}", object(name, curve)),
            Style::All => curve
                .points
                .iter()
                .try_for_each(|point| self.write_line(name, point)),
            Style::Best => {
                let best = curve.best();
                let usual = curve.points.iter().filter(|_| *has_distances);
                let mut usual =
                    usual.filter(|p| p.limit == USUAL_DISTANCE && p.limit != best.limit);
                if let Some(point) = usual.next() {
                    self.write_row(name, point, "")?;
                }
                self.write_row(name, &best, "  best")
            }
        }
    }

    /// Ends the output.
    pub(super) fn finish(mut self) -> io::Result<()> {
        self.out.flush()
    }

    fn write_row(&mut self, name: &str, point: &Point, mark: &str) -> io::Result<()> {
        let share = |share: Option<Share>| match share {
            Some(Share { value, interval }) => {
                format!("{value:.3} ({:.3}-{:.3})", interval.low, interval.high)
            }
            None => "nothing found".to_owned(),
        };
        writeln!(
            self.out,
            "{name:<width$}  {:>4}  {:>9}  {:<20}  {:<20}  {:.3}{mark}",
            point.limit,
            point.found,
            share(point.precision),
            share(Some(point.recall)),
            point.f1(),
            width = self.name_width,
        )
    }

    fn write_line(&mut self, name: &str, point: &Point) -> io::Result<()> {
        let Point {
            limit,
            found,
            precision,
            recall,
            ..
        } = point;
        let figure = |figure: Option<f64>| figure.map(|f| format!("{f:.4}")).unwrap_or_default();
        writeln!(
            self.out,
            "{name}\t{limit}\t{}\t{:.4}\t{:.4}\t{found}\t{}\t{}\t{:.4}\t{:.4}",
            figure(precision.map(|p| p.value)),
            recall.value,
            point.f1(),
            figure(precision.map(|p| p.interval.low)),
            figure(precision.map(|p| p.interval.high)),
            recall.interval.low,
            recall.interval.high,
        )
    }
}

fn object(name: &str, curve: &Curve) -> Value {
    let interval = |share: Share| [share.interval.low, share.interval.high];
    let point = |point: &Point| {
        json!({
            "limit": point.limit,
            "found": point.found,
            "hits": point.hits,
            "precision": point.precision.map(|precision| precision.value),
            "precision_interval": point.precision.map(interval),
            "recall": point.recall.value,
            "recall_interval": interval(point.recall),
            "f1": point.f1(),
        })
    };
    let points: Vec<_> = curve.points.iter().map(point).collect();
    json!({
        "pipeline": name,
        "relevant": curve.relevant,
        "confidence": CONFIDENCE,
        "points": points,
    })
}
