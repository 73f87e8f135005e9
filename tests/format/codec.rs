//! The blocks of files against a second encoder and decoder written from the specification.

use simidx::design::TableDesign;
use simidx::{BuildOptions, Codec, Fingerprint};
use simidx_testkit::forged::codec_number;
use simidx_testkit::reference::{self, Layout};
use simidx_testkit::{build, build_numbers, data_sets, options, sorted_set};

/// The values of a table as the specification wants them.
fn permuted<F: Fingerprint>(set: &[F], mask: u128) -> Vec<u128> {
    let mut values: Vec<u128> = set
        .iter()
        .map(|f| reference::apply(f.to_u128(), mask, F::WIDTH))
        .collect();
    values.sort_unstable();
    values
}

/// Decodes every block of a table, compares the values with the set and encodes them again.
fn check_table<F: Fingerprint>(file: &[u8], layout: &Layout, number: usize, set: &[F], what: &str) {
    let table = &layout.tables[number];
    let coding = layout.coding(number);
    let expected = permuted(set, table.mask);
    let blocks = layout.section(reference::BLOCKS, number);
    let stored = &file[blocks.offset..blocks.offset + blocks.len];
    assert_eq!(
        stored.len(),
        table.block_count * layout.block_size,
        "{what}"
    );
    let decoded = layout.blocks(file, number);
    let values: Vec<u128> = decoded.iter().flat_map(|block| &block.1).copied().collect();
    assert_eq!(values, expected, "{what}");
    let keys: Vec<u128> = decoded
        .iter()
        .map(|block| block.1[block.1.len() - 1])
        .collect();
    let section = layout.section(reference::KEYS, number);
    let keys = reference::keys_section(&keys, layout.width);
    assert!(
        file[section.offset..section.offset + section.len] == keys,
        "{what}: the keys"
    );

    let mut end = 0;
    let room = reference::room(layout.block_size);
    for ((before, values), bytes) in decoded.iter().zip(stored.chunks_exact(layout.block_size)) {
        let stream = coding.stream(*before, values);
        assert_eq!(stream.len(), coding.stream_len(*before, values), "{what}");
        let encoded = reference::block(values.len(), &stream, layout.block_size);
        assert!(encoded == bytes, "{what}: the encodings of a block differ");
        let start = end;
        end += values.len();
        let one_more = expected.get(start..=end);
        let full = values.len() == 65_536
            || one_more.is_none_or(|values| coding.stream_len(*before, values) > room);
        assert!(full, "{what}: a block has room for one more value");
    }
    if table.codec != reference::EF {
        let (encoded, _) = coding.encode(&expected, layout.block_size);
        assert!(
            encoded == stored,
            "{what}: the blocks are not the greedy ones"
        );
    }
}

/// Rule V13 and that each codeword serves: no position without a value, none without a codeword.
fn check_code<F: Fingerprint>(layout: &Layout, number: usize, values: &[u128], what: &str) {
    let table = &layout.tables[number];
    assert_eq!(table.lengths.len() as u32, F::WIDTH, "{what}");
    let mut used = vec![false; table.lengths.len()];
    if table.codec != reference::EF {
        for pair in values.windows(2) {
            used[layout.coding(number).split(pair[0], pair[1]).0 as usize] = true;
        }
    }
    let coded: Vec<bool> = table.lengths.iter().map(|&len| len > 0).collect();
    assert_eq!(coded, used, "{what}");
    let lengths = table.lengths.iter().filter(|len| **len > 0);
    let space: u32 = lengths.map(|&len| 4096 >> len).sum();
    let whole = match used.iter().filter(|u| **u).count() {
        0 => 0,
        1 => 2048,
        _ => 4096,
    };
    assert_eq!(space, whole, "{what}");
}

/// Options with a codec.
fn coded<F: Fingerprint>(
    design: &TableDesign<F>,
    block_size: u32,
    codec: Codec,
) -> BuildOptions<F> {
    let mut options = options(design.clone(), block_size);
    options.codec = Some(codec);
    options
}

fn check_files<F: Fingerprint>(block_sizes: &[u32], size: usize, designs: &[TableDesign<F>]) {
    for data in data_sets::<F>(size) {
        let set = sorted_set(&data.fingerprints);
        for (design, codec) in designs.iter().flat_map(|d| Codec::ALL.map(|c| (d, c))) {
            for &block_size in block_sizes {
                let options = coded(design, block_size, codec);
                let file = build(options, &data.fingerprints);
                let layout = Layout::parse(&file);
                assert_eq!(layout.width, F::WIDTH);
                assert_eq!(layout.tables.len(), design.table_count());
                for (number, table) in layout.tables.iter().enumerate() {
                    let what = format!(
                        "{}, {codec:?}, blocks of {block_size}, table {number}",
                        data.name
                    );
                    assert_eq!(table.mask, design.masks()[number].to_u128(), "{what}");
                    assert_eq!(table.codec, codec_number(codec), "{what}");
                    check_code::<F>(&layout, number, &permuted(&set, table.mask), &what);
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
        .fold(F::ZERO, |m, p| m | simidx_testkit::bit(p));
    vec![
        TableDesign::choose_bands(2, 3).unwrap(),
        TableDesign::two_level_bands(1).unwrap(),
        TableDesign::from_masks(1, vec![F::ZERO, odd, !odd, F::MAX]).unwrap(),
    ]
}

#[test]
fn blocks_of_32_bits_are_those_of_the_reference() {
    check_files::<u32>(&[128, 1024], simidx_testkit::sized(700), &designs());
}

#[test]
fn blocks_of_64_bits_are_those_of_the_reference() {
    check_files::<u64>(&[128, 1024], simidx_testkit::sized(700), &designs());
}

#[test]
fn blocks_of_128_bits_are_those_of_the_reference() {
    check_files::<u128>(&[128, 1024], simidx_testkit::sized(700), &designs());
}

#[test]
fn every_block_size_is_filled_as_by_the_reference() {
    let design = TableDesign::<u64>::choose_bands(1, 2).unwrap();
    let set: Vec<u64> = simidx_testkit::clustered(simidx_testkit::sized(6000));
    for (shift, codec) in (7..=16).flat_map(|shift| Codec::ALL.map(|c| (shift, c))) {
        let file = build(coded(&design, 1 << shift, codec), &set);
        let layout = Layout::parse(&file);
        assert_eq!(layout.block_size, 1 << shift);
        for number in 0..2 {
            check_table(&file, &layout, number, &sorted_set(&set), "clustered");
        }
    }
}

#[test]
#[cfg_attr(miri, ignore = "takes minutes")]
fn a_full_count_ends_a_block_before_its_bits_do() {
    let design = TableDesign::<u32>::choose_bands(0, 1).unwrap();
    let run: Vec<u32> = (0..70_000).collect();
    for codec in Codec::ALL {
        let file = build(coded(&design, 65_536, codec), &run);
        let layout = Layout::parse(&file);
        let blocks = layout.blocks(&file, 0);
        let counts: Vec<usize> = blocks.iter().map(|block| block.1.len()).collect();
        assert_eq!(counts, [65_536, 4_464], "{codec:?}");
        check_table(&file, &layout, 0, &sorted_set(&run), "dense run");
    }
}

#[test]
fn block_counts_are_those_of_the_reference() {
    let records: Vec<(u64, u64)> = simidx_testkit::clustered(simidx_testkit::sized(900))
        .into_iter()
        .zip(0..)
        .collect();
    let design = TableDesign::<u64>::choose_bands(1, 2).unwrap();
    for codec in Codec::ALL {
        let file = build_numbers(coded(&design, 256, codec), &records);
        let layout = Layout::parse(&file);
        let blocks = layout.blocks(&file, 0);
        let counts: Vec<usize> = blocks.iter().map(|block| block.1.len()).collect();
        let section = layout.section(reference::BLOCK_COUNTS, 0);
        let stored: Vec<usize> = file[section.offset..section.offset + section.len]
            .chunks_exact(2)
            .map(|pair| usize::from(pair[0]) + 256 * usize::from(pair[1]) + 1)
            .collect();
        assert_eq!(stored, counts, "{codec:?}");
    }
}

/// The tables that a builder makes where it may choose the codec.
fn chosen_codecs<F: Fingerprint>(fingerprints: &[F]) -> Vec<Codec> {
    let file = build(BuildOptions::default(), fingerprints);
    let index = simidx_testkit::open::<F>(file);
    index.summary().tables.iter().map(|t| t.codec).collect()
}

#[test]
#[cfg_attr(miri, ignore = "takes minutes")]
fn the_builder_takes_a_huffman_code_where_it_saves_a_tenth() {
    assert_eq!(
        chosen_codecs::<u64>(&simidx_testkit::uniform(5000))[0],
        Codec::EliasFano
    );
    let clustered: Vec<u64> = (0..5000).map(|i| ((i / 50) << 50) | (i % 50 * 3)).collect();
    assert_eq!(chosen_codecs(&clustered)[0], Codec::Gap);
    for codec in chosen_codecs::<u64>(&[]) {
        assert_eq!(codec, Codec::EliasFano);
    }
}

#[test]
#[cfg_attr(miri, ignore = "takes minutes")]
fn a_codec_makes_the_same_file_whether_chosen_or_given() {
    for data in data_sets::<u64>(3000) {
        let chosen = chosen_codecs(&data.fingerprints);
        let first = chosen[0];
        if chosen.iter().all(|codec| *codec == first) {
            let mut options = BuildOptions::default();
            options.codec = Some(first);
            let given = build(options, &data.fingerprints);
            let auto = build(BuildOptions::default(), &data.fingerprints);
            assert!(given == auto, "{}", data.name);
        }
    }
}

#[test]
fn sections_stand_where_the_specification_puts_them() {
    let mut options = options(TableDesign::<u64>::choose_bands(2, 3).unwrap(), 512);
    options.pipeline = Some("{}".into());
    let records: Vec<(u64, u64)> = simidx_testkit::uniform(300).into_iter().zip(0..).collect();
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
