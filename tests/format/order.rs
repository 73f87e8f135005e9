//! Of several broken rules the first is reported, by both readers: each file here is wrong in more than one way.

use simidx::Codec;
use simidx::format::FormatClass::Damaged;
use simidx_testkit::build_strings;
use simidx_testkit::editor::Editor;
use simidx_testkit::encoding::{
    self, BLOCK_COUNTS, Bits, GROUPS, ID_ORDER, KEY_ENTRIES, KEY_GROUPS, METADATA, NUMBERS,
    bits_of, directory, elias_fano_layout,
};
use simidx_testkit::forged::{ByHand, found, grouped_numbers, plain, put_stranger, refusal, small};
use simidx_testkit::parts::Parts;

/// The key of the first block of two, and the values of the second.
const BEFORE: u128 = 1000;
const VALUES: [u128; 5] = [1003, 1010, 1011, 2000, 2100];

#[test]
fn of_masks_and_codes_the_first_rule_is_reported() {
    let mut editor = plain();
    let tables = editor.layout.tables.clone();
    editor.put_number(tables[0].lengths_at, 255, 1);
    assert_eq!(refusal(&editor.clone().finish()), (13, Damaged));
    editor.put_number(tables[1].codec_at, 3, 1);
    assert_eq!(refusal(&editor.clone().finish()), (12, Damaged));
    editor.put_number(tables[0].mask_at, 1, 8);
    assert_eq!(refusal(&editor.finish()), (11, Damaged));
}

#[test]
fn of_the_rules_of_opening_the_first_is_reported() {
    let mut parts = Parts::of(&plain().file);
    parts.add(METADATA, b"\x01\0\0\0\0a".to_vec());
    let mut groups = Editor::new(parts.file());
    // From the last to the first, each on top of the others.
    let metadata = groups.section(METADATA, 0);
    groups.file[metadata.offset] = 0;
    groups.seal_section(METADATA, 0);
    assert_eq!(refusal(&groups.clone().finish()), (41, Damaged));
    let counts = groups.section(BLOCK_COUNTS, 0);
    groups.flip(counts.offset, 1);
    groups.seal_section(BLOCK_COUNTS, 0);
    assert_eq!(refusal(&groups.clone().finish()), (18, Damaged));
    let entries = groups.section(KEY_ENTRIES, 1);
    groups.flip(entries.offset + 8, 1);
    groups.seal_section(KEY_ENTRIES, 1);
    assert_eq!(refusal(&groups.clone().finish()), (17, Damaged));
    // A group of table 0 comes before the entries of table 1.
    groups.flip(groups.section(KEY_GROUPS, 0).offset, 1);
    assert_eq!(refusal(&groups.finish()), (16, Damaged));
}

#[test]
fn v22_a_fault_of_a_codeword_goes_before_values_that_do_not_ascend() {
    let mut file = ByHand::new(Codec::Xor, &[&[1, BEFORE], &VALUES]);
    file.lengths.fill(0);
    file.lengths[3] = 1;
    // Bit 3 twice, which the first of the two has set; then a bit that is not a codeword.
    let mut stream = bits_of(0, 4);
    stream.extend_from_bitslice(&bits_of(0, 4));
    stream.extend_from_bitslice(&bits_of(1, 1));
    file.replace(1, 4, &stream);
    assert_eq!(found(file.file()), (22, Damaged));
}

/// The stream of three numbers, the last two of them in the interval after the greatest one, with these low bits.
fn beyond_the_last_interval(max: u128, low: [u128; 2]) -> Bits {
    let (low_bits, buckets) = elias_fano_layout(3, max);
    assert!(low.iter().all(|number| number >> low_bits == 0));
    let mut stream = Bits::repeat(false, 3 + buckets);
    stream.set(0, true);
    stream.set(1 + buckets, true);
    stream.set(2 + buckets, true);
    for number in [0, low[0], low[1]] {
        stream.extend_from_bitslice(&bits_of(number, low_bits));
    }
    stream
}

#[test]
fn v24_goes_before_v25_where_numbers_are_beyond_the_last_interval() {
    let max = VALUES[4] - BEFORE - 2;
    for (low, rule) in [([1, 2], 25), ([2, 1], 24), ([2, 2], 24)] {
        let stream = beyond_the_last_interval(max, low);
        let mut file = ByHand::new(Codec::EliasFano, &[&[1, BEFORE], &VALUES]);
        file.replace(1, 4, &stream);
        assert_eq!(found(file.file()), (rule, Damaged));
    }
}

/// Sets a byte between two sections and the last bit after the numbers, both against V34.
fn set_unused_bits(editor: &mut Editor) {
    let numbers = editor.section(NUMBERS, 0);
    editor.flip(numbers.offset + numbers.len, 1);
    editor.flip(numbers.offset + editor.payload_len(NUMBERS) - 1, 1);
    editor.seal_pages(NUMBERS);
}

#[test]
fn of_several_broken_rules_the_first_is_reported() {
    let mut block = grouped_numbers();
    set_unused_bits(&mut block);
    block.flip(block.layout.block_at(1, 0) + 9, 1);
    assert_eq!(found(block.finish()), (21, Damaged));

    let mut groups = grouped_numbers();
    set_unused_bits(&mut groups);
    groups.flip(groups.section(GROUPS, 0).offset, 1);
    groups.seal_pages(GROUPS);
    assert_eq!(found(groups.finish()), (29, Damaged));

    let mut base = grouped_numbers();
    set_unused_bits(&mut base);
    base.put_directory(directory::ID_BASE, u64::MAX.into());
    assert_eq!(found(base.finish()), (30, Damaged));

    // The ids of the first fingerprint descend, and those of the last pass the largest number.
    let mut late_base = grouped_numbers();
    let at = late_base.section(NUMBERS, 0).offset;
    let mut numbers = encoding::Bits::from_slice(&late_base.file[at..at + 13]);
    numbers[..10].copy_from_bitslice(&bits_of(101, 10));
    late_base.put(at, &numbers.into_vec());
    late_base.seal_pages(NUMBERS);
    assert_eq!(found(late_base.clone().finish()), (33, Damaged));
    late_base.put_directory(directory::ID_BASE, u128::from(u64::MAX) - 850);
    assert_eq!(found(late_base.finish()), (30, Damaged));

    // The first number becomes 1020, above the one after it.
    let mut order = grouped_numbers();
    order.put(order.section(NUMBERS, 0).offset, &[0xff]);
    set_unused_bits(&mut order);
    assert_eq!(found(order.finish()), (33, Damaged));
}

#[test]
fn of_the_rules_of_a_full_check_the_first_is_reported() {
    // From the last to the first, each on top of the others.
    let mut options = small();
    options.id_lookup = true;
    let records: Vec<(u64, &str)> = (0..40).map(|i| ((i / 2) << 50, "same")).collect();
    let mut parts = Parts::of(&build_strings(options, &records));
    parts.add(0x8000, vec![7; 10]);
    let mut editor = Editor::new(parts.file());
    editor.flip(editor.section(0x8000, 0).offset, 1);
    let first = |editor: &Editor| found(editor.clone().finish()).0;
    assert_eq!(first(&editor), 40);
    editor.put_directory(directory::CONTENT_ID, 1);
    assert_eq!(first(&editor), 39);
    put_stranger(&mut editor);
    assert_eq!(first(&editor), 36);
    editor.flip(editor.layout.directory_at - 1, 1);
    assert_eq!(first(&editor), 34);
    for (one, two) in [(1, 4), (0, 1)] {
        let mut changed = Parts::of(&editor.clone().finish());
        changed.swap_places(one, two);
        assert_eq!(found(changed.file()).0, 38);
    }
    let order = editor.section(ID_ORDER, 0);
    editor.flip(order.offset, 1);
    editor.seal_pages(ID_ORDER);
    assert_eq!(first(&editor), 37);
}

#[test]
fn a_table_that_lacks_a_value_is_reported_behind_the_ids() {
    let mut editor = grouped_numbers();
    let mut values = editor.blocks(1).swap_remove(0);
    values.pop();
    editor.put_values(1, 0, &values);
    assert_eq!(found(editor.clone().finish()), (35, Damaged));
    let mut unused = editor.clone();
    set_unused_bits(&mut unused);
    assert_eq!(found(unused.finish()), (34, Damaged));
    let page = editor.section(NUMBERS, 0).offset;
    editor.flip(page, 1);
    assert_eq!(found(editor.finish()), (28, Damaged));
}
