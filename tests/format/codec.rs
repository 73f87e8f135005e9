//! The files of the builder against a second encoder, written from the specification, and the reader in Python.

use simidx::design::TableDesign;
use simidx::{BuildOptions, Codec, Fingerprint, Width};
use simidx_testkit::encoding::{self, Layout};
use simidx_testkit::forged::{IN_BLOCKS, codec_number};
use simidx_testkit::parts::Parts;
use simidx_testkit::python_reader::common_verdict;
use simidx_testkit::{build, build_numbers, build_strings, data_sets, options, sorted_set};

/// The values of a table as the specification wants them.
fn permuted<F: Fingerprint>(set: &[F], mask: u128) -> Vec<u128> {
    let mut values: Vec<u128> = set
        .iter()
        .map(|f| encoding::apply(f.to_u128(), mask, F::WIDTH))
        .collect();
    values.sort_unstable();
    values
}

/// Compares the bytes of a table in blocks with those that the specification wants of the set. A table in lines is read by
/// the reader in Python: with the right content identifier, a sound file holds the set in every table.
fn check_table<F: Fingerprint>(file: &[u8], layout: &Layout, number: usize, set: &[F], what: &str) {
    let table = &layout.tables[number];
    if table.codec != encoding::LINES {
        let values = permuted(set, table.mask);
        encoding::assert_blocks(file, layout, number, &values, what);
    } else if number == 0 {
        let values = permuted(set, 0);
        let content_id = encoding::content_id_of_fingerprints(&values, layout.width);
        assert_eq!(layout.content_id, content_id, "{what}");
        assert_eq!(common_verdict(file), "sound", "{what}");
    }
}

/// Rule V13 and that each codeword serves: no position without a value, none without a codeword.
fn check_code<F: Fingerprint>(layout: &Layout, number: usize, values: &[u128], what: &str) {
    let table = &layout.tables[number];
    assert_eq!(table.lengths.len() as u32, F::WIDTH, "{what}");
    let mut used = vec![false; table.lengths.len()];
    if [encoding::XOR, encoding::GAP].contains(&table.codec) {
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
fn coded(design: &TableDesign, block_size: u32, codec: Codec) -> BuildOptions {
    let mut options = options(design.clone(), block_size);
    options.codec = Some(codec);
    options
}

fn check_files<F: Fingerprint>(block_sizes: &[u32], size: usize, designs: &[TableDesign]) {
    for data in data_sets::<F>(size) {
        let set = sorted_set(&data.fingerprints);
        for (design, codec) in designs.iter().flat_map(|d| Codec::ALL.map(|c| (d, c))) {
            // Lines have one size.
            let count = if codec == Codec::Lines {
                1
            } else {
                block_sizes.len()
            };
            for &block_size in &block_sizes[..count] {
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
                    assert_eq!(table.mask, design.masks().get(number).unwrap(), "{what}");
                    assert_eq!(table.codec, codec_number(codec), "{what}");
                    check_code::<F>(&layout, number, &permuted(&set, table.mask), &what);
                    check_table(&file, &layout, number, &set, &what);
                }
            }
        }
    }
}

/// Few and many tables, and masks whose bits are scattered.
fn designs<F: Fingerprint>() -> Vec<TableDesign> {
    let odd = (0..F::WIDTH)
        .step_by(2)
        .fold(F::ZERO, |m, p| m | simidx_testkit::bit(p));
    vec![
        TableDesign::choose_bands(Width::of::<F>(), 2, 3).unwrap(),
        TableDesign::two_level_bands(Width::of::<F>(), 1).unwrap(),
        TableDesign::from_masks(1, vec![F::ZERO, odd, !odd, F::MAX]).unwrap(),
    ]
}

#[test]
fn files_of_32_bits_are_those_of_the_specification() {
    check_files::<u32>(&[128, 1024], simidx_testkit::sized(700), &designs::<u32>());
}

#[test]
fn files_of_64_bits_are_those_of_the_specification() {
    check_files::<u64>(&[128, 1024], simidx_testkit::sized(700), &designs::<u64>());
}

#[test]
fn files_of_128_bits_are_those_of_the_specification() {
    check_files::<u128>(&[128, 1024], simidx_testkit::sized(700), &designs::<u128>());
}

#[test]
fn every_block_size_is_filled() {
    let design = TableDesign::choose_bands(Width::W64, 1, 2).unwrap();
    let set: Vec<u64> = simidx_testkit::clustered(simidx_testkit::sized(6000));
    for (shift, codec) in (7..=13).flat_map(|shift| IN_BLOCKS.map(|c| (shift, c))) {
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
fn the_largest_blocks_hold_a_dense_run() {
    let design = TableDesign::choose_bands(Width::W32, 0, 1).unwrap();
    let run: Vec<u32> = (0..70_000).collect();
    for codec in IN_BLOCKS {
        let file = build(coded(&design, 8192, codec), &run);
        let layout = Layout::parse(&file);
        check_table(&file, &layout, 0, &sorted_set(&run), "dense run");
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
fn the_builder_takes_lines_unless_blocks_are_smaller() {
    assert_eq!(
        chosen_codecs::<u64>(&simidx_testkit::uniform(5000))[0],
        Codec::Lines
    );
    // One block of any codec is larger than a few lines.
    for few in [&[7][..], &[7, 9]] {
        assert_eq!(chosen_codecs::<u64>(few)[0], Codec::Lines);
    }
    // All have the same leading bits, which the lines of table 0 store with each value.
    let crowded: Vec<u64> = simidx_testkit::uniform::<u64>(5000)
        .iter()
        .map(|value| value >> 24)
        .collect();
    assert_eq!(chosen_codecs(&crowded)[0], Codec::EliasFano);
    let clustered: Vec<u64> = (0..5000).map(|i| ((i / 50) << 50) | (i % 50 * 3)).collect();
    assert_eq!(chosen_codecs(&clustered)[0], Codec::Gap);
    // No block is smaller than a line.
    for codec in chosen_codecs::<u64>(&[]) {
        assert_eq!(codec, Codec::EliasFano);
    }
}

#[test]
#[cfg_attr(miri, ignore = "takes minutes")]
fn a_codec_makes_the_same_file_whether_chosen_or_given() {
    let mut checked = 0;
    for data in data_sets::<u64>(3000) {
        let chosen = chosen_codecs(&data.fingerprints);
        let first = chosen[0];
        if chosen.iter().all(|codec| *codec == first) {
            // The tables are chosen for the codec, if it is given.
            let mut options = BuildOptions::default();
            options.design = Some(TableDesign::with_table_count(Width::W64, 3, 2).unwrap());
            let auto = build(options.clone(), &data.fingerprints);
            options.codec = Some(first);
            let given = build(options, &data.fingerprints);
            assert!(given == auto, "{}", data.name);
            checked += 1;
        }
    }
    assert!(checked > 1);
}

/// Options with all that a file can have.
fn everything<F: Fingerprint>(codec: Codec) -> BuildOptions {
    let mut options = options(
        TableDesign::choose_bands(Width::of::<F>(), 2, 3).unwrap(),
        512,
    );
    options.codec = Some(codec);
    options.pipeline = Some("{}".into());
    options.metadata.insert("key", "value").unwrap();
    options.id_lookup = true;
    options
}

#[test]
fn sections_stand_where_the_specification_puts_them() {
    let fingerprints = simidx_testkit::uniform::<u64>(300);
    let numbers: Vec<(u64, u64)> = fingerprints.iter().copied().zip(0..).collect();
    let strings: Vec<(u64, String)> = numbers
        .iter()
        .map(|&(f, id)| (f, format!("{f:016x}{id}")))
        .collect();
    let of_tables = |kind| [(kind, 0), (kind, 1), (kind, 2)];
    let tail = |kinds: &[u16]| -> Vec<(u16, u16)> {
        let ids = kinds.iter().map(|&kind| (kind, 0));
        let mut all: Vec<(u16, u16)> = of_tables(1).into_iter().chain(ids).collect();
        all.push((9, 0));
        all.extend(of_tables(10));
        all.extend(of_tables(11));
        all
    };
    let of_numbers = [tail(&[2, 4, 8]), vec![(13, 0), (14, 0)]].concat();
    let of_strings = [tail(&[2, 5, 6, 7, 8]), vec![(12, 0), (13, 0), (14, 0)]].concat();
    check_places(
        &build_numbers(everything::<u64>(Codec::Gap), &numbers.repeat(2)),
        &of_numbers,
    );
    check_places(
        &build_strings(
            everything::<u64>(Codec::Gap),
            &[&strings[..], &strings].concat(),
        ),
        &of_strings,
    );
    let file = build(everything::<u64>(Codec::Gap), &fingerprints);
    check_places(&file, &[tail(&[]), vec![(13, 0), (14, 0)]].concat());
    let lines = (0..3).flat_map(|table| [(16, table), (15, table)]);
    let of_lines = lines.chain([2, 4, 8, 13, 14].map(|kind| (kind, 0)));
    check_places(
        &build_numbers(everything::<u64>(Codec::Lines), &numbers.repeat(2)),
        &of_lines.collect::<Vec<_>>(),
    );
}

/// Holds that the sections are these, each right after the one before, and that the records have the right checksums.
fn check_places(file: &[u8], expected: &[(u16, u16)]) {
    let layout = Layout::parse(file);
    let kinds: Vec<(u16, u16)> = layout.sections.iter().map(|s| (s.kind, s.table)).collect();
    assert_eq!(kinds, expected);
    let mut end = 16usize;
    for section in &layout.sections {
        let alignment = match section.kind {
            encoding::BLOCKS => 512,
            2..=8 if section.len > 4100 => 4096,
            _ => 64,
        };
        assert_eq!(section.offset, end.next_multiple_of(alignment));
        assert!(file[end..section.offset].iter().all(|&byte| byte == 0));
        end = section.offset + section.len;
        let checksum = match section.kind {
            9 | 11..=14 => encoding::crc32(&file[section.offset..end]),
            _ => 0,
        };
        assert_eq!(section.checksum, checksum, "kind {}", section.kind);
    }
    assert_eq!(layout.directory_at, end.next_multiple_of(64));
    assert_eq!(layout.directory_at + layout.directory_len + 40, file.len());
    assert_eq!(layout.fingerprint_count, 300);
}

/// The payloads of all sections of ids, as the specification makes them of records in the order of fingerprints and ids.
fn id_sections(records: &[(u64, String)]) -> Vec<(u16, Vec<u8>)> {
    let firsts: Vec<bool> = (0..records.len())
        .map(|i| i == 0 || records[i].0 != records[i - 1].0)
        .collect();
    let mut sections = Vec::new();
    let fingerprints = firsts.iter().filter(|first| **first).count();
    if fingerprints < records.len() {
        let (mut groups, mut ones) = (Vec::new(), 0u64);
        for chunk in firsts.chunks(448) {
            groups.extend(ones.to_le_bytes());
            let mut bits: encoding::Bits = chunk.iter().copied().collect();
            bits.resize(448, false);
            groups.extend(encoding::filled(bits));
            ones += chunk.iter().filter(|first| **first).count() as u64;
        }
        sections.push((encoding::GROUPS, groups));
    }
    let mut order: Vec<usize> = (0..records.len()).collect();
    order.sort_by_key(|&i| (&records[i].1, i));
    let mut places = vec![0; records.len()];
    for (place, &index) in order.iter().enumerate() {
        places[index] = place as u128;
    }
    let bits = encoding::bit_length(records.len() - 1);
    let order: Vec<u128> = order.into_iter().map(|i| i as u128).collect();
    sections.push((encoding::PLACES, encoding::packed_array(&places, bits)));
    sections.push((encoding::ID_ORDER, encoding::packed_array(&order, bits)));
    sections
}

#[test]
fn groups_places_and_orders_are_those_of_the_specification() {
    for (count, of_one) in [(1, 1), (2, 1), (300, 2), (1000, 1), (1700, 3), (2500, 2)] {
        let count = simidx_testkit::sized(count);
        let fingerprints = simidx_testkit::uniform::<u64>(count);
        let record = |i: usize| (fingerprints[i / of_one], format!("id {}", i * 37 % 701));
        let mut records: Vec<(u64, String)> = (0..count).map(record).collect();
        let file = build_strings(everything::<u64>(Codec::Gap), &records);
        let layout = Layout::parse(&file);
        records.sort();
        let expected = id_sections(&records);
        for (kind, payload) in expected {
            assert!(
                layout.payload(&file, kind) == payload,
                "kind {kind} of {count}"
            );
        }
        // The dictionary holds the sorted ids, and each bucket is the one encoding of its ids.
        let mut parts = Parts::of(&file);
        let mut ids: Vec<Vec<u8>> = records.iter().map(|r| r.1.clone().into_bytes()).collect();
        ids.sort();
        assert!(parts.dictionary() == ids);
        let digests = records.iter().map(|(fingerprint, id)| {
            let words = encoding::words_of_fingerprint((*fingerprint).into(), 64);
            let of_id = encoding::words_of_string(id.as_bytes());
            encoding::digest(&[words, of_id].concat())
        });
        assert_eq!(layout.content_id, digests.fold(0, u128::wrapping_add));
    }
}

#[test]
fn keys_of_many_groups_are_those_of_the_specification() {
    for blocks in [255, 256, 257, 512, 513, 700] {
        // With the largest code, each block holds few values.
        let design = TableDesign::choose_bands(Width::W128, 0, 1).unwrap();
        let values = simidx_testkit::uniform::<u128>(8 * simidx_testkit::sized(blocks));
        let file = build(coded(&design, 128, Codec::EliasFano), &values);
        let layout = Layout::parse(&file);
        check_table(&file, &layout, 0, &sorted_set(&values), "many keys");
    }
}

#[test]
fn the_encoder_follows_the_examples_of_the_specification() {
    // The checksums of the codes and of the blocks are in the tests of the specification.
    assert_eq!(encoding::crc32(b"123456789"), 0xcbf4_3926);
    assert_eq!(encoding::apply(0x1122_3344, 0x0000_ff00, 32), 0x3311_2244);
}
