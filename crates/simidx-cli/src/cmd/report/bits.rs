//! The bits of the fingerprints: how often each is set, and what a health check says of them.

use simidx::Set;
use simidx::batch::{LintOptions, LintReport, lint};

use crate::support::failure::Failure;
use crate::support::page::{Bar, BarChart, Html, ReferenceLine, decimal, grouped, plural};

/// Looks at the bits.
///
/// # Errors
/// A damaged block or page.
pub(super) fn section(set: &Set, distance: u32) -> Result<Html, Failure> {
    let mut options = LintOptions::default();
    options.distance = Some(distance);
    let report = lint(set, &options)?;
    let mut html = Html::new();
    html.append(&chart(&report).html());
    let warnings = report.warnings();
    if warnings.is_empty() {
        html.paragraph("The health check (simidx lint) has nothing to warn of.");
    }
    for warning in warnings {
        html.element("p", &[("class", "warning")], format!("Warning: {warning}"));
    }
    Ok(html)
}

/// The share of ones of each bit.
fn chart(report: &LintReport) -> BarChart {
    let bits = &report.bits;
    let share = |set: u64| set as f64 / report.fingerprint_count as f64 * 100.0;
    let shares: Vec<f64> = bits.set_counts.iter().map(|&count| share(count)).collect();
    let fingerprints = plural(report.fingerprint_count, "fingerprint");
    let (least, most) = shares
        .iter()
        .fold((100f64, 0f64), |(a, b), &s| (a.min(s), b.max(s)));
    let is_empty = report.fingerprint_count == 0;
    let bars = shares.iter().zip(&bits.set_counts).enumerate();
    let bars = bars.map(|(bit, (&share, &count))| Bar {
        label: bit.to_string(),
        value: share,
        figures: vec![format!("{} %", decimal(share, 1)), grouped(count)],
        ..Bar::default()
    });
    BarChart {
        id: "balance",
        title: format!("How often each bit is set, in {fingerprints}"),
        alternative: match is_empty {
            true => "There are no fingerprints.".into(),
            false => format!(
                "The bits are set in {least:.1} to {most:.1} % of the fingerprints; 50 % is best."
            ),
        },
        x_label: "bit, 0 is the lowest",
        y_label: "percent of the fingerprints",
        bars: if is_empty { Vec::new() } else { bars.collect() },
        columns: vec!["set", "fingerprints"],
        line: Some(ReferenceLine {
            value: 50.0,
            label: "balanced".into(),
        }),
        top: Some(100.0),
        ..BarChart::default()
    }
}
