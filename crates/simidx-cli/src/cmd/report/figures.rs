//! The figures of indexes: what they hold, and what each table takes against the bound.

use simidx::Set;
use simidx::set::Segment;
use simidx::summary::Summary;

use super::Args;
use super::clusters::Clusters;
use super::distances::Pairs;
use crate::support::page::{
    Bar, BarChart, Column, Html, ReferenceLine, Table, decimal, grouped, sampled,
};

/// Tables that are listed; a thousand segments have thousands.
const MAX_TABLES: usize = 100;

/// Characters of a name that are shown.
const NAME_LEN: usize = 120;

/// Characters of a pipeline that are shown.
const PIPELINE_LEN: usize = 1000;

/// A name, cut if it is long.
pub(super) fn cut(name: &str) -> String {
    cut_at(name, NAME_LEN)
}

fn cut_at(text: &str, len: usize) -> String {
    match text.char_indices().nth(len) {
        Some((end, _)) => format!("{}\u{2026}", &text[..end]),
        None => text.to_owned(),
    }
}

/// The figures of all indexes together.
pub(super) fn section(set: &Set, args: &Args, pairs: &Pairs, clusters: &Clusters) -> Html {
    let summaries: Vec<_> = set.segments().map(Segment::summary).collect();
    let sum = |figure: fn(&Summary) -> u64| summaries.iter().map(figure).sum::<u64>();
    let (fingerprints, file_len) = (sum(|s| s.fingerprint_count), sum(|s| s.file_len));
    let raw_len = sum(|s| s.raw_len());
    let mut rows = vec![
        ("width", format!("{} bits", set.width().bits())),
        (
            "distance of near-duplicates",
            args.distance(set).to_string(),
        ),
        ("records", grouped(set.record_count())),
        ("distinct fingerprints", grouped(fingerprints)),
        ("pairs within the distance", pairs.within()),
    ];
    if let [_, _, ..] = &summaries[..] {
        rows[3].0 = "fingerprints, those in several files counted in each";
        rows.insert(0, ("index files", grouped(summaries.len() as u64)));
    }
    rows.extend(clusters.figures());
    rows.push(("ids", set.id_kind().name().to_owned()));
    rows.push(("bytes of the files", grouped(file_len)));
    rows.push(("bytes of the fingerprints alone", grouped(raw_len)));
    if raw_len > 0 {
        rows.push((
            "files to fingerprints",
            format!("{} times", decimal(file_len as f64 / raw_len as f64, 2)),
        ));
        let bits = file_len as f64 * 8.0 / fingerprints as f64;
        rows.push((
            "bits per fingerprint, with all tables and ids",
            decimal(bits, 2),
        ));
    }
    if let [only] = &summaries[..] {
        rows.push((
            "bound of one table",
            format!(
                "{} bits per fingerprint",
                decimal(only.bound_bits_per_fingerprint(), 2)
            ),
        ));
        rows.push(("content id", only.content_id.to_string()));
    }
    if let Some(pipeline) = set.pipeline() {
        // It can be broken after commas.
        let pipeline = pipeline.replace(",\"", ", \"");
        rows.push(("pipeline", cut_at(&pipeline, PIPELINE_LEN)));
    }
    Table::of_figures("Contents and size", &rows)
}

/// The tables against the bound.
pub(super) fn compression(set: &Set) -> Html {
    let mut html = Html::new();
    html.paragraph(
        "A code for a random set of so many fingerprints takes at least as many bits as the bound says. Each table holds \
         all fingerprints of its index.",
    );
    let summaries: Vec<Summary> = set.segments().map(Segment::summary).collect();
    let all: usize = summaries.iter().map(|summary| summary.tables.len()).sum();
    let (mut bars, mut bounds) = (Vec::new(), Vec::new());
    let mut table = Table::new(
        "Tables",
        &[
            Column::text("table"),
            Column::text("codec"),
            Column::number("prefix bits"),
            Column::number("flips"),
            Column::number("blocks"),
            Column::number("bytes"),
            Column::number("bits per fingerprint"),
            Column::number("bound"),
            Column::number("above the bound"),
        ],
    );
    let files = summaries.iter().zip(set.names());
    let tables = files.flat_map(|(summary, name)| {
        (0..summary.tables.len()).map(move |number| (summary, name, number))
    });
    for (summary, name, number) in tables.take(MAX_TABLES) {
        let own = &summary.tables[number];
        let bits = summary.per_fingerprint(own.byte_len);
        let bound = summary.bound_bits_per_fingerprint();
        let label = match set.names() {
            [_] => number.to_string(),
            _ => format!("{number} of {}", cut(name)),
        };
        let above = match bound > 0.0 {
            true => format!("{} %", decimal((bits / bound - 1.0) * 100.0, 1)),
            false => String::new(),
        };
        table.row([
            label,
            own.codec.name().to_owned(),
            own.prefix_bits().to_string(),
            own.flips.to_string(),
            grouped(own.block_count),
            grouped(own.byte_len),
            decimal(bits, 2),
            decimal(bound, 2),
            above,
        ]);
        bounds.push(bound);
        bars.push(Bar {
            label: number.to_string(),
            value: bits,
            figures: vec![decimal(bits, 2)],
            ..Bar::default()
        });
    }
    if let ([_], [bound, ..], [first, ..]) = (set.names(), &bounds[..], &bars[..]) {
        let line = ReferenceLine {
            value: *bound,
            label: format!("bound {}", decimal(*bound, 1)),
        };
        let alternative = format!(
            "Table 0 takes {} bits, the bound is {}.",
            first.figures[0],
            decimal(*bound, 2)
        );
        html.append(
            &BarChart {
                id: "tables",
                title: "Bits per fingerprint of each table".into(),
                alternative,
                x_label: "table",
                y_label: "bits per fingerprint",
                top: Some(set.width().bits().into()),
                columns: vec!["bits per fingerprint"],
                line: Some(line),
                bars,
                ..BarChart::default()
            }
            .html(),
        );
    }
    html.append(&table.finish());
    if all > MAX_TABLES {
        html.paragraph(format!(
            "Shown are {}.",
            sampled(MAX_TABLES as u64, all as u64, "table")
        ));
    }
    html
}
