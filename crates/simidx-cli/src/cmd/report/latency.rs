//! How long queries take, by a few of them.

use std::time::{Duration, Instant};

use simidx::Set;
use simidx::set::SetScratch;

use super::Args;
use crate::support::failure::Failure;
use crate::support::latency::{Latency, sample_queries};
use crate::support::page::{Bar, BarChart, Html, Table, decimal, grouped, plural, short};

/// Longest time of the measurement, and of the warm-up before it.
const MAX_TIME: Duration = Duration::from_secs(3);

/// Measures queries; none where there are no queries.
///
/// # Errors
/// A damaged block.
pub(super) fn section(set: &Set, args: &Args) -> Result<Option<Html>, Failure> {
    if args.latency_queries == 0 {
        return Ok(None);
    }
    let distance = args.distance(set);
    let queries = sample_queries(set, args.latency_queries as usize, args.seed)?;
    let mut scratch = SetScratch::new();
    let mut latencies = Vec::with_capacity(queries.len());
    for is_warm in [false, true] {
        let started = Instant::now();
        latencies.clear();
        for &query in &queries {
            let asked = Instant::now();
            let found = set.query_with(&mut scratch, query, distance)?;
            std::hint::black_box(found.len());
            latencies.push(asked.elapsed());
            if started.elapsed() > MAX_TIME {
                break;
            }
        }
        if !is_warm && started.elapsed() > MAX_TIME {
            break;
        }
    }
    let mut html = Html::new();
    html.paragraph(format!(
        "{} within distance {distance}, one after the other on one thread: half are members with 0 to 5 bits flipped, \
         half are random. Asked once before, so that the memory is warm. simidx bench measures more of them.",
        plural(latencies.len() as u64, "query")
    ));
    html.append(&chart(&latencies).html());
    let figures = Latency::of(latencies);
    let rows = [
        ("median", figures.p50),
        ("9 of 10 are faster than", figures.p90),
        ("99 of 100 are faster than", figures.p99),
        ("slowest", figures.max),
        ("mean", figures.mean),
    ];
    let rows = rows.map(|(name, us)| (name, format!("{} \u{b5}s", decimal(us, 1))));
    html.append(&Table::of_figures("Latency of a query", &rows));
    Ok(Some(html))
}

/// The latencies in classes, two in each doubling.
fn chart(latencies: &[Duration]) -> BarChart {
    let classes: Vec<u32> = latencies.iter().copied().map(class).collect();
    let (first, last) = (classes.iter().min(), classes.iter().max());
    let range = first
        .zip(last)
        .map_or(0..0, |(first, last)| *first..last + 1);
    let bars = range.map(|class| {
        let count = classes.iter().filter(|&&other| other == class).count();
        Bar {
            label: between(class, |us| match us.fract() == 0.0 {
                true => grouped(us as u64),
                false => decimal(us, 1),
            }),
            value: count as f64,
            figures: vec![grouped(count as u64)],
            tick: Some(between(class, short)),
            ..Bar::default()
        }
    });
    BarChart {
        id: "latencies",
        title: "Queries by their latency".into(),
        alternative: "Each bar counts the queries of a range of latencies; the table below has the quantiles.".into(),
        x_label: "microseconds",
        y_label: "queries",
        bars: bars.collect(),
        columns: vec!["queries"],
        ..BarChart::default()
    }
}

/// Where a class ends, in microseconds: 1, 1.5, 2, 3, 4, 6, 8 and so on.
fn end(class: u32) -> f64 {
    let power = 2f64.powi((class / 2) as i32);
    if class.is_multiple_of(2) {
        power
    } else {
        1.5 * power
    }
}

/// The class of a latency.
fn class(latency: Duration) -> u32 {
    let us = latency.as_secs_f64() * 1e6;
    (0..).find(|&class| us < end(class)).unwrap_or(0)
}

/// The range of a class.
fn between(class: u32, shown: impl Fn(f64) -> String) -> String {
    match class.checked_sub(1) {
        Some(before) => format!("{}\u{2013}{}", shown(end(before)), shown(end(class))),
        None => format!("<{}", shown(end(0))),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_latency_has_one_class() {
        let ranges = [100, 1000, 1500, 2999, 5700, 6000, 1_600_000].map(|nanos| {
            let class = class(Duration::from_nanos(nanos));
            between(class, |us| us.to_string())
        });
        let expected = [
            "<1",
            "1\u{2013}1.5",
            "1.5\u{2013}2",
            "2\u{2013}3",
            "4\u{2013}6",
            "6\u{2013}8",
            "1536\u{2013}2048",
        ];
        assert_eq!(ranges, expected);
    }
}
