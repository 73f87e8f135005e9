//! Files made wrong by hand, their checksums right: each rule of the stage "block" (V21 to V27) is noticed by
//! both readers, as the first one broken and in its class.

mod common;

use common::editor::Editor;
use common::forged::{assert_block_rule, plain, put_block, small, values_of};
use common::reference::{self, BLOCK_COUNTS, KEYS, bits_of};
use common::{build, build_numbers};

#[test]
fn v21_a_wrong_block_checksum_is_damage() {
    for table in 0..2 {
        for byte in [0, 4, 6, 127] {
            let mut editor = plain();
            let at = editor.layout.block_at(table, 1) + byte;
            editor.flip(at, 1);
            assert_block_rule(editor.finish(), table, 21);
        }
    }
}

#[test]
fn v22_bits_that_are_no_codeword_are_damage() {
    let mut lone = Editor::new(build(small(), &[0, 1]));
    let at = lone.layout.block_at(0, 0);
    lone.flip(at + 6 + 8, 0x80);
    lone.seal_block(0, 0);
    assert_block_rule(lone.finish(), 0, 22);
    let mut single = Editor::new(build(small(), &[5]));
    let at = single.layout.block_at(1, 0);
    single.put_number(at + 4, 1, 2);
    single.seal_block(1, 0);
    assert_block_rule(single.finish(), 1, 22);
}

#[test]
fn v23_values_that_run_past_the_end_are_damage() {
    let mut editor = plain();
    let lengths = editor.layout.tables[0].lengths.clone();
    // The zeros behind the last value begin with the codeword of the first of the shortest.
    let shortest = (1..=12).find_map(|len| lengths.iter().position(|&l| l == len));
    let first = shortest.expect("there are codewords");
    let takes = usize::from(lengths[first]) + first;
    let block = (0..editor.layout.tables[0].block_count)
        .find(|&block| values_of(&editor, 0, block).1.len() + takes > 122 * 8)
        .expect("some block is full");
    let (values, stream) = values_of(&editor, 0, block);
    put_block(&mut editor, 0, block, values.len() + 1, &stream);
    assert_block_rule(editor.finish(), 0, 23);
}

#[test]
fn v24_values_that_do_not_ascend_are_damage() {
    let mut editor = plain();
    let last = editor.layout.tables[0].block_count - 1;
    let (values, mut stream) = values_of(&editor, 0, last);
    let lengths = editor.layout.tables[0].lengths.clone();
    let value = values[values.len() - 1];
    // A position at which the bit is set already: the next value clears what is below.
    let position = (0..64)
        .find(|&p| lengths[p as usize] > 0 && value >> p & 1 == 1)
        .expect("some coded bit is set");
    stream.extend_from_bitslice(&reference::codewords(&lengths)[position as usize]);
    stream.extend_from_bitslice(&bits_of(0, position));
    put_block(&mut editor, 0, last, values.len() + 1, &stream);
    assert_block_rule(editor.finish(), 0, 24);
}

#[test]
fn v24_a_block_that_starts_at_the_key_before_is_damage() {
    for table in 0..2 {
        let mut editor = plain();
        let key = editor.layout.keys(&editor.file, table)[0];
        put_block(&mut editor, table, 1, 1, &bits_of(key, 64));
        assert_block_rule(editor.finish(), table, 24);
    }
}

#[test]
fn v25_a_key_that_is_not_the_last_value_is_damage() {
    let mut editor = plain();
    let keys = editor.layout.keys(&editor.file, 1);
    let at = editor.section(KEYS, 1).offset;
    editor.put_number(at, keys[0] + 1, 8);
    editor.seal_section(KEYS, 1);
    assert_block_rule(editor.finish(), 1, 25);
}

#[test]
fn v26_bits_behind_the_last_value_are_damage() {
    let mut editor = plain();
    let last = editor.layout.tables[1].block_count - 1;
    let at = editor.layout.block_at(1, last);
    editor.flip(at + 127, 1);
    editor.seal_block(1, last);
    assert_block_rule(editor.finish(), 1, 26);
    let mut editor = plain();
    let (values, mut stream) = values_of(&editor, 1, last);
    stream.push(true);
    put_block(&mut editor, 1, last, values.len(), &stream);
    assert_block_rule(editor.finish(), 1, 26);
}

#[test]
fn v27_blocks_and_block_counts_that_disagree_are_damage() {
    let records: Vec<(u64, u64)> = common::uniform(60).into_iter().zip(0..).collect();
    let mut editor = Editor::new(build_numbers(small(), &records));
    let at = editor.section(BLOCK_COUNTS, 0).offset;
    editor.file[at] += 1;
    editor.file[at + 2] -= 1;
    editor.seal_section(BLOCK_COUNTS, 0);
    assert_block_rule(editor.finish(), 0, 27);
}
