//! Parquet files: rows with all their columns.

use std::sync::Arc;

use parquet::basic::{Compression, ZstdLevel};
use parquet::column::writer::ColumnWriter;
use parquet::file::metadata::KeyValue;
use parquet::file::properties::WriterProperties;
use parquet::file::reader::{FileReader, SerializedFileReader};
use parquet::file::writer::SerializedFileWriter;
use parquet::schema::parser::parse_message_type;

use super::{clusters, done, near, texts};
use crate::support::Sandbox;

/// Returns rows of a text, an optional number, a list of any length and a boolean, in groups of seven.
fn table(texts: &[String]) -> Vec<u8> {
    let schema = "message rows { required binary text (UTF8); optional double score; \
                  optional group tags (LIST) { repeated group list { optional int32 element; } } \
                  required boolean flag; }";
    let schema = Arc::new(parse_message_type(schema).unwrap());
    let properties = WriterProperties::builder()
        .set_compression(Compression::ZSTD(ZstdLevel::default()))
        .set_key_value_metadata(Some(vec![KeyValue::new(
            "made".to_owned(),
            "by a test".to_owned(),
        )]))
        .build();
    let mut file = Vec::new();
    let mut writer = SerializedFileWriter::new(&mut file, schema, Arc::new(properties)).unwrap();
    for (number, group) in texts.chunks(7).enumerate() {
        let mut rows = writer.next_row_group().unwrap();
        let numbers: Vec<usize> = (number * 7..number * 7 + group.len()).collect();
        while let Some(mut column) = rows.next_column().unwrap() {
            match column.untyped() {
                ColumnWriter::ByteArrayColumnWriter(w) => {
                    let values: Vec<_> = group.iter().map(|text| text.as_str().into()).collect();
                    w.write_batch(&values, None, None).unwrap();
                }
                ColumnWriter::DoubleColumnWriter(w) => {
                    let levels: Vec<i16> = numbers.iter().map(|i| i16::from(i % 3 != 0)).collect();
                    let there = numbers.iter().filter(|&&i| i % 3 != 0);
                    let there: Vec<f64> = there.map(|&i| i as f64 / 8.0).collect();
                    w.write_batch(&there, Some(&levels), None).unwrap();
                }
                ColumnWriter::Int32ColumnWriter(w) => {
                    let [mut definitions, mut repetitions] = [vec![], vec![]];
                    let mut values = vec![];
                    for i in &numbers {
                        // No list, an empty list, or elements of which some are missing.
                        for j in 0..(i % 4).max(1) {
                            definitions.push(match i % 4 {
                                0 => i16::from(i % 8 == 0),
                                _ => 2 + i16::from(j != 1),
                            });
                            repetitions.push(i16::from(j > 0));
                            if i % 4 > 0 && j != 1 {
                                values.push((i * 10 + j) as i32);
                            }
                        }
                    }
                    w.write_batch(&values, Some(&definitions), Some(&repetitions))
                        .unwrap();
                }
                ColumnWriter::BoolColumnWriter(w) => {
                    let values: Vec<bool> = numbers.iter().map(|i| i % 5 == 0).collect();
                    w.write_batch(&values, None, None).unwrap();
                }
                _ => unreachable!(),
            }
            column.close().unwrap();
        }
        rows.close().unwrap();
    }
    writer.close().unwrap();
    file
}

fn rows(path: std::path::PathBuf) -> Vec<String> {
    let file = std::fs::File::open(path).unwrap();
    let reader = SerializedFileReader::new(file).unwrap();
    let metadata = reader.metadata();
    let pairs = metadata.file_metadata().key_value_metadata().unwrap();
    assert!(pairs.iter().any(|pair| pair.key == "made"), "{pairs:?}");
    for group in metadata.row_groups() {
        assert!(
            group
                .columns()
                .iter()
                .all(|c| matches!(c.compression(), Compression::ZSTD(_)))
        );
    }
    let rows = reader.get_row_iter(None).unwrap();
    rows.map(|row| row.unwrap().to_string()).collect()
}

#[test]
fn rows_keep_all_their_columns() {
    let texts = texts();
    let first = clusters(texts.len(), near(&texts, 3));
    let sandbox = Sandbox::new();
    sandbox.write("a.parquet", table(&texts));
    done(sandbox.run(&["dedup", "a.parquet", "-o", "kept.parquet"]));
    let all = rows(sandbox.path("a.parquet"));
    assert_eq!(all.len(), texts.len());
    let kept = all.iter().enumerate().filter(|(i, _)| first[*i] == *i);
    let kept: Vec<&String> = kept.map(|(_, row)| row).collect();
    assert!(kept.len() < all.len());
    assert_eq!(
        rows(sandbox.path("kept.parquet"))
            .iter()
            .collect::<Vec<_>>(),
        kept
    );
    // Two files with one schema, and with different ones.
    done(sandbox.run(&["dedup", "a.parquet", "kept.parquet", "-o", "both.parquet"]));
    assert_eq!(
        rows(sandbox.path("both.parquet"))
            .iter()
            .collect::<Vec<_>>(),
        kept
    );
    let ran = sandbox.run(&["dedup", "a.parquet", "-o", "kept.parquet.gz"]);
    ran.refused("kept.parquet.gz: a Parquet file is compressed inside and not as a whole");
}
