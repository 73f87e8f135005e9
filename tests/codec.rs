//! The blocks of files against a second encoder and decoder written from the specification.

mod common;

use common::reference::{self, Layout};
use common::{build, build_numbers, data_sets, options, sorted_set};
use simidx::{Fingerprint, TableDesign};

/// The values of a table as the specification wants them.
fn permuted<F: Fingerprint>(set: &[F], mask: u128) -> Vec<u128> {
    let mut values: Vec<u128> = set
        .iter()
        .map(|f| reference::apply(f.to_u128(), mask, F::WIDTH))
        .collect();
    values.sort_unstable();
    values
}

/// Decodes every block of a table, compares values and keys with the set, and encodes them again.
fn check_table<F: Fingerprint>(file: &[u8], layout: &Layout, number: usize, set: &[F], what: &str) {
    let table = &layout.tables[number];
    let expected = permuted(set, table.mask);
    let blocks = layout.section(reference::BLOCKS, number);
    let stored = &file[blocks.offset..blocks.offset + blocks.len];
    assert_eq!(
        stored.len(),
        table.block_count * layout.block_size,
        "{what}"
    );
    let mut values = Vec::with_capacity(expected.len());
    let mut keys = Vec::new();
    for block in stored.chunks_exact(layout.block_size) {
        values.extend(reference::decode(block, &table.lengths, layout.width));
        keys.extend(values.last());
    }
    assert_eq!(values, expected, "{what}");
    assert_eq!(layout.keys(file, number), keys, "{what}");
    let (encoded, counts) =
        reference::encode(&expected, &table.lengths, layout.width, layout.block_size);
    assert_eq!(counts.len(), table.block_count, "{what}");
    assert!(
        encoded == stored,
        "{what}: the blocks are not the greedy ones"
    );
}

/// Rule V13 and that each codeword serves: no position without a value, none without a codeword.
fn check_code<F: Fingerprint>(lengths: &[u8], values: &[u128], what: &str) {
    assert_eq!(lengths.len() as u32, F::WIDTH, "{what}");
    let mut used = vec![false; lengths.len()];
    for pair in values.windows(2) {
        used[127 - (pair[0] ^ pair[1]).leading_zeros() as usize] = true;
    }
    let coded: Vec<bool> = lengths.iter().map(|&len| len > 0).collect();
    assert_eq!(coded, used, "{what}");
    let space: u32 = lengths.iter().filter(|l| **l > 0).map(|&l| 4096 >> l).sum();
    let whole = match used.iter().filter(|u| **u).count() {
        0 => 0,
        1 => 2048,
        _ => 4096,
    };
    assert_eq!(space, whole, "{what}");
}

fn check_files<F: Fingerprint>(block_sizes: &[u32], size: usize, designs: &[TableDesign<F>]) {
    for data in data_sets::<F>(size) {
        let set = sorted_set(&data.fingerprints);
        for design in designs {
            for &block_size in block_sizes {
                let file = build(options(design.clone(), block_size), &data.fingerprints);
                let layout = Layout::parse(&file);
                assert_eq!(layout.width, F::WIDTH);
                assert_eq!(layout.tables.len(), design.table_count());
                for (number, table) in layout.tables.iter().enumerate() {
                    let what = format!("{}, blocks of {block_size}, table {number}", data.name);
                    assert_eq!(table.mask, design.masks()[number].to_u128(), "{what}");
                    check_code::<F>(&table.lengths, &permuted(&set, table.mask), &what);
                    check_table(&file, &layout, number, &set, &what);
                }
            }
        }
    }
}

/// Few and many tables, and masks whose bits are scattered.
fn designs<F: Fingerprint>() -> Vec<TableDesign<F>> {
    let odd = (0..F::WIDTH)
        .step_by(2)
        .fold(F::ZERO, |m, p| m | common::bit(p));
    vec![
        TableDesign::choose_bands(2, 3).unwrap(),
        TableDesign::two_level_bands(1).unwrap(),
        TableDesign::from_masks(1, vec![F::ZERO, odd, !odd, F::MAX]).unwrap(),
    ]
}

#[test]
fn blocks_of_32_bits_are_those_of_the_reference() {
    check_files::<u32>(&[128, 1024], 700, &designs());
}

#[test]
fn blocks_of_64_bits_are_those_of_the_reference() {
    check_files::<u64>(&[128, 1024], 700, &designs());
}

#[test]
fn blocks_of_128_bits_are_those_of_the_reference() {
    check_files::<u128>(&[128, 1024], 700, &designs());
}

#[test]
fn every_block_size_is_filled_as_by_the_reference() {
    let design = TableDesign::<u64>::choose_bands(1, 2).unwrap();
    let set: Vec<u64> = common::clustered(6000);
    for shift in 7..=16 {
        let file = build(options(design.clone(), 1 << shift), &set);
        let layout = Layout::parse(&file);
        assert_eq!(layout.block_size, 1 << shift);
        for number in 0..2 {
            check_table(&file, &layout, number, &sorted_set(&set), "clustered");
        }
    }
}

#[test]
fn a_full_count_ends_a_block_before_its_bits_do() {
    let design = TableDesign::<u32>::choose_bands(0, 1).unwrap();
    let run: Vec<u32> = common::dense_run(70_000);
    let file = build(options(design, 65_536), &run);
    let layout = Layout::parse(&file);
    let (_, counts) = reference::encode(
        &permuted(&sorted_set(&run), layout.tables[0].mask),
        &layout.tables[0].lengths,
        32,
        65_536,
    );
    assert_eq!(counts, [65_536, 4_464]);
    check_table(&file, &layout, 0, &sorted_set(&run), "dense run");
}

#[test]
fn block_counts_are_those_of_the_reference() {
    let records: Vec<(u64, u64)> = common::clustered(900).into_iter().zip(0..).collect();
    let set = sorted_set(&records.iter().map(|r| r.0).collect::<Vec<_>>());
    let design = TableDesign::<u64>::choose_bands(1, 2).unwrap();
    let file = build_numbers(options(design, 256), &records);
    let layout = Layout::parse(&file);
    let table = &layout.tables[0];
    let (_, counts) = reference::encode(&permuted(&set, table.mask), &table.lengths, 64, 256);
    let section = layout.section(reference::BLOCK_COUNTS, 0);
    let stored: Vec<usize> = file[section.offset..section.offset + section.len]
        .chunks_exact(2)
        .map(|pair| usize::from(pair[0]) + 256 * usize::from(pair[1]) + 1)
        .collect();
    assert_eq!(stored, counts);
}

#[test]
fn sections_stand_where_the_specification_puts_them() {
    let mut options = options(TableDesign::<u64>::choose_bands(2, 3).unwrap(), 512);
    options.pipeline = Some("{}".into());
    let records: Vec<(u64, u64)> = common::uniform(300).into_iter().zip(0..).collect();
    let mut doubled = records.clone();
    doubled.extend(&records);
    let file = build_numbers(options, &doubled);
    let layout = Layout::parse(&file);
    let kinds: Vec<(u16, u16)> = layout.sections.iter().map(|s| (s.kind, s.table)).collect();
    let tables = [(1, 0), (2, 0), (1, 1), (2, 1), (1, 2), (2, 2)];
    let expected: Vec<(u16, u16)> = tables
        .into_iter()
        .chain([(3, 0), (4, 0), (5, 0), (8, 0)])
        .collect();
    assert_eq!(kinds, expected);
    let mut end = 16usize;
    for section in &layout.sections {
        let alignment = if section.kind == reference::BLOCKS {
            512
        } else {
            64
        };
        assert_eq!(section.offset, end.next_multiple_of(alignment));
        assert!(file[end..section.offset].iter().all(|&byte| byte == 0));
        end = section.offset + section.len;
        let checksum = match section.kind {
            2 | 3 | 8 => reference::crc32(&file[section.offset..end]),
            _ => 0,
        };
        assert_eq!(section.checksum, checksum, "kind {}", section.kind);
    }
    assert_eq!(layout.directory_at, end.next_multiple_of(64));
    assert_eq!(layout.directory_at + layout.directory_len + 32, file.len());
    assert_eq!(layout.fingerprint_count, 300);
    assert_eq!(layout.record_count, 600);
}

#[test]
fn the_reference_follows_the_examples_of_the_specification() {
    // Those of the codes and of the blocks are in tests/spec.rs.
    assert_eq!(reference::crc32(b"123456789"), 0xcbf4_3926);
    assert_eq!(reference::apply(0x1122_3344, 0x0000_ff00, 32), 0x3311_2244);
}
