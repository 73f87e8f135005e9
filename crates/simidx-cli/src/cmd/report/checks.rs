//! The results of `simidx lint` and `simidx bench` on a page.

use maud::{Markup, html};
use simidx::Set;
use simidx::batch::{LintOptions, LintReport, lint};

use super::Args;
use crate::cmd::bench;
use crate::support::failure::Failure;
use crate::support::latency::{Latency, sample_queries};
use crate::support::page::{Bar, BarChart, decimal, figures, grouped, plural, warning};

/// Returns the section on the bits of the fingerprints: how often each is set, and warnings.
///
/// # Errors
/// A damaged block or page.
pub(super) fn bits(set: &Set, distance: u32) -> Result<Markup, Failure> {
    let mut options = LintOptions::default();
    options.distance = Some(distance);
    let report = lint(set, &options)?;
    let warnings = report.warnings();
    Ok(html! {
        (bit_chart(&report))
        @if warnings.is_empty() {
            p { "The health check (simidx lint) has nothing to warn of." }
        }
        @for words in warnings {
            (warning(&format!("Warning: {words}")))
        }
    })
}

/// Returns a chart of the share of ones in each bit.
fn bit_chart(report: &LintReport) -> BarChart {
    let all = report.fingerprint_count;
    let counts = report.bits.set_counts.iter().filter(|_| all > 0);
    let bars: Vec<Bar> = counts
        .enumerate()
        .map(|(bit, &count)| {
            let share = count as f64 / all as f64 * 100.0;
            Bar {
                label: bit.to_string(),
                value: share,
                figures: vec![format!("{} %", decimal(share, 1)), grouped(count)],
            }
        })
        .collect();
    let shares = || bars.iter().map(|bar| bar.value);
    let (least, most) = (shares().fold(100.0, f64::min), shares().fold(0.0, f64::max));
    BarChart {
        id: "balance",
        title: format!(
            "How often each bit is set, in {}",
            plural(all, "fingerprint")
        ),
        alternative: match all {
            0 => "There are no fingerprints.".into(),
            _ => format!(
                "The bits are set in {least:.1} to {most:.1} % of the fingerprints; 50 % is best."
            ),
        },
        x_label: "bit, 0 is the lowest",
        y_label: "percent of the fingerprints",
        columns: &["set", "fingerprints"],
        line: Some((50.0, "balanced".into())),
        top: Some(100.0),
        bars,
        ..BarChart::default()
    }
}

/// Returns the section on the latency of a sample of queries.
///
/// # Errors
/// A damaged block.
pub(super) fn latency(set: &Set, args: &Args) -> Result<Markup, Failure> {
    let distance = args.distance(set);
    let queries = sample_queries(set, args.latency_queries as usize, args.seed)?;
    bench::warm_up(set, &queries, distance)?;
    let latencies = bench::latencies(set, &queries, distance)?;
    let count = latencies.len() as u64;
    let latency = Latency::of(latencies);
    let rows = [
        ("median", latency.p50),
        ("9 of 10 take at most", latency.p90),
        ("99 of 100 take at most", latency.p99),
        ("slowest", latency.max),
        ("mean", latency.mean),
    ];
    let rows = rows.map(|(name, us)| (name, format!("{} \u{b5}s", decimal(us, 1))));
    Ok(html! {
        p {
            (plural(count, "query")) " within distance " (distance)
            ", one after the other on one thread: half are members with 0 to 5 bits flipped, half are random. Asked once \
             before, so that the memory is warm. simidx bench measures more of them."
        }
        (figures("Latency of a query", &rows))
    })
}
