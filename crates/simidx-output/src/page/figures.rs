//! A chart of the tables of an index, from the JSON of `simidx info --json`.

use serde_json::Value;

use super::chart::{Bar, BarChart};
use super::numbers::{decimal, grouped, sampled};

/// Largest number of tables that are shown. A thousand files have thousands.
const MAX_TABLES: usize = 100;

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
