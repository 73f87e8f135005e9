//! The figures of an index on a page, from the JSON of `simidx info --json`.

use serde_json::Value;

use super::chart::{Bar, BarChart};
use super::numbers::{cut, decimal, grouped, sampled};

/// Largest number of tables that are shown. A thousand files have thousands.
const MAX_TABLES: usize = 100;

/// Largest number of characters of a pipeline that are shown.
const PIPELINE_LEN: usize = 1000;

/// The unit of table sizes.
const BITS: &str = " bits per fingerprint";

/// The figures that are shown: key, name and unit of each.
const NAMES: [(&str, &str, &str); 14] = [
    ("width", "width", " bits"),
    ("record_count", "records", ""),
    ("recent_count", "not sealed yet", ""),
    ("deleted_count", "deleted and still in segments", ""),
    ("segment_count", "segments", ""),
    ("fingerprint_count", "distinct fingerprints", ""),
    ("id_kind", "ids", ""),
    ("file_bytes", "bytes of the files", ""),
    ("raw_bytes", "bytes of the fingerprints alone", ""),
    ("ratio_to_raw", "files to fingerprints", " times"),
    ("bits_per_fingerprint", "all tables and ids", BITS),
    ("bound_bits_per_fingerprint", "bound of one table", BITS),
    ("content_id", "content id", ""),
    ("pipeline", "pipeline", ""),
];

/// Returns the names and values of the figures that are present.
pub fn glance(figures: &Value) -> Vec<(&'static str, String)> {
    let mut rows = Vec::new();
    if let Some(files) = figures["segments"].as_array() {
        rows.push(("index files", grouped(files.len() as u64)));
    }
    for (key, mut name, unit) in NAMES {
        if key == "fingerprint_count" && figures["segments"].is_array() {
            name = "fingerprints, those in several files counted in each";
        }
        let value = match &figures[key] {
            Value::Null => continue,
            // Spaces after commas let the browser break lines.
            Value::String(text) => cut(&text.replace(",\"", ", \""), PIPELINE_LEN),
            number => match (number.as_u64(), number.as_f64()) {
                (Some(count), _) => grouped(count),
                // An empty index has no meaningful ratio.
                (None, None | Some(0.0)) => continue,
                (None, Some(share)) => decimal(share, 2),
            },
        };
        rows.push((name, value + unit));
    }
    rows
}

/// Returns a chart of the size of each table and the theoretical minimum for uniform fingerprints; `None` without
/// tables.
pub fn compression(figures: &Value) -> Option<BarChart> {
    let files = match figures["segments"].as_array() {
        Some(files) => &files[..],
        None => std::slice::from_ref(figures),
    };
    let (mut bars, mut all, mut largest_bound) = (Vec::new(), 0, 0f64);
    for (file, figures) in files.iter().enumerate() {
        let bound = figures["bound_bits_per_fingerprint"]
            .as_f64()
            .unwrap_or_default();
        largest_bound = largest_bound.max(bound);
        for (number, table) in figures["tables"]
            .as_array()
            .into_iter()
            .flatten()
            .enumerate()
        {
            all += 1;
            if bars.len() == MAX_TABLES {
                continue;
            }
            let count = |key: &str| grouped(table[key].as_u64().unwrap_or_default());
            let bits = table["bits_per_fingerprint"].as_f64().unwrap_or_default();
            let above = match bound > 0.0 {
                true => format!("{} %", decimal((bits / bound - 1.0) * 100.0, 1)),
                false => String::new(),
            };
            bars.push(Bar {
                label: match files.len() {
                    1 => number.to_string(),
                    _ => format!("{}:{number}", file + 1),
                },
                value: bits,
                figures: vec![
                    table["codec"].as_str().unwrap_or_default().to_owned(),
                    count("prefix_bits"),
                    count("flips"),
                    count("block_count"),
                    count("bytes"),
                    decimal(bits, 2),
                    decimal(bound, 2),
                    above,
                ],
            });
        }
    }
    let chart = BarChart {
        id: "tables",
        title: format!(
            "Bits per fingerprint by table, {}",
            sampled(bars.len() as u64, all, "table")
        ),
        alternative:
            "Each bar is a table; the line is the least that uniform fingerprints can take.".into(),
        x_label: if files.len() == 1 {
            "table"
        } else {
            "file:table"
        },
        y_label: "bits per fingerprint",
        columns: &[
            "codec",
            "prefix bits",
            "flips",
            "blocks",
            "bytes",
            "bits per fingerprint",
            "bound",
            "above the bound",
        ],
        line: Some((
            largest_bound,
            format!("bound {}", decimal(largest_bound, 1)),
        )),
        bars,
        ..BarChart::default()
    };
    (!chart.bars.is_empty()).then_some(chart)
}
