//! Files made wrong by hand, their checksums right: each rule of the stage "block" (V21 to V27) is noticed by
//! both readers, as the first one broken and in its class, in blocks of every codec that has them.

use simidx::Codec;
use simidx::format::FormatClass::Damaged;
use simidx_testkit::build_numbers;
use simidx_testkit::editor::Editor;
use simidx_testkit::forged::{
    ByHand, IN_BLOCKS, assert_block_rule, plain_in, read, small_in, values_of,
};
use simidx_testkit::reference::{BLOCK_COUNTS, Bits, bits_of, elias_fano, elias_fano_layout};
use simidx_testkit::reference_reader::common_verdict;

const DELTA_CODECS: [Codec; 2] = [Codec::Xor, Codec::Gap];

/// The key of the first block of [`two_blocks`].
const BEFORE: u128 = 1000;

/// Values of the second block.
const VALUES: [u128; 5] = [1003, 1010, 1011, 2000, 2100];

fn two_blocks(codec: Codec) -> ByHand {
    ByHand::new(codec, &[&[1, BEFORE], &VALUES])
}

/// Two blocks of which the second has that count and stream.
fn second(codec: Codec, count: usize, stream: &Bits) -> Vec<u8> {
    let mut by_hand = two_blocks(codec);
    by_hand.replace(1, count, stream);
    by_hand.file()
}

/// The file in which the second block holds these values, right or wrong, the last of which is its key in the keys
/// section if it is not to be another one.
fn second_of(codec: Codec, values: &[u128]) -> Vec<u8> {
    let stream = two_blocks(codec).coding().stream(Some(BEFORE), values);
    second(codec, values.len(), &stream)
}

#[test]
fn files_made_by_hand_are_sound_before_they_are_made_wrong() {
    for codec in IN_BLOCKS {
        assert_eq!(common_verdict(&two_blocks(codec).file()), "sound");
        assert_eq!(common_verdict(&second_of(codec, &VALUES)), "sound");
        let single = ByHand::new(codec, &[&[7]]);
        assert_eq!(common_verdict(&single.file()), "sound");
        let extremes = ByHand::new(codec, &[&[0], &[1], &[2, u64::MAX.into()]]);
        assert_eq!(common_verdict(&extremes.file()), "sound");
    }
}

#[test]
fn v21_a_wrong_block_checksum_is_damage() {
    for codec in IN_BLOCKS {
        for table in 0..2 {
            for byte in [0, 4, 6, 127] {
                let mut editor = plain_in(codec);
                let at = editor.layout.block_at(table, 1) + byte;
                editor.flip(at, 1);
                assert_block_rule(editor.finish(), table, 21);
            }
        }
    }
}

#[test]
fn v21_a_block_in_the_place_of_another_is_damage() {
    for codec in IN_BLOCKS {
        let good = plain_in(codec);
        let size = good.layout.block_size;
        for (one, two) in [((0, 0), (0, 1)), ((1, 2), (1, 1)), ((0, 1), (1, 1))] {
            let [at, other] = [one, two].map(|(table, block)| good.layout.block_at(table, block));
            let mut exchanged = good.clone();
            exchanged.swap(at, other, size);
            assert_block_rule(exchanged.clone().finish(), one.0, 21);
            assert_eq!(read(exchanged.finish(), two.0), (21, Damaged));
            let mut repeated = good.clone();
            repeated.file.copy_within(at..at + size, other);
            assert_block_rule(repeated.finish(), two.0, 21);
        }
    }
}

#[test]
fn v22_bits_that_are_no_codeword_are_damage() {
    for codec in DELTA_CODECS {
        // A lone codeword is `0`.
        let mut lone = two_blocks(codec);
        lone.lengths.fill(0);
        lone.lengths[4] = 1;
        let coding = lone.coding();
        let mut stream = coding.stream(Some(BEFORE), &[BEFORE + 16, 1100]);
        lone.replace(1, 2, &stream);
        lone.count(&[&[1, BEFORE], &[BEFORE + 16, 1100]]);
        lone.keys = simidx_testkit::reference::key_sections(&[BEFORE, 1100], 64, 0);
        assert_eq!(common_verdict(&lone.file()), "sound", "{codec:?}");
        stream.set(0, true);
        lone.replace(1, 2, &stream);
        assert_block_rule(lone.file(), 0, 22);
        // No codeword at all.
        lone.lengths.fill(0);
        assert_block_rule(lone.file(), 0, 22);
    }
}

#[test]
fn v22_a_fault_of_a_codeword_goes_before_values_that_do_not_ascend() {
    let mut file = two_blocks(Codec::Xor);
    file.lengths.fill(0);
    file.lengths[3] = 1;
    // Twice the bit 3, which the first of the two has set; then a bit that is no codeword.
    let mut stream = bits_of(0, 4);
    stream.extend_from_bitslice(&bits_of(0, 4));
    stream.extend_from_bitslice(&bits_of(1, 1));
    file.replace(1, 4, &stream);
    assert_block_rule(file.file(), 0, 22);
}

#[test]
fn v22_high_bits_that_do_not_count_the_numbers_are_damage() {
    let good = two_blocks(Codec::EliasFano);
    let coding = good.coding();
    let stream = coding.stream(Some(BEFORE), &VALUES);
    let max = VALUES[4] - BEFORE - 2;
    let (_, buckets) = elias_fano_layout(4, max);
    for bit in 0..4 + buckets {
        let mut changed = stream.clone();
        let value = changed[bit];
        changed.set(bit, !value);
        let mut file = good.clone();
        file.replace(1, 5, &changed);
        assert_block_rule(file.file(), 0, 22);
    }
    // Counts that change the layout, up to all that there can be.
    for count in [2, 1 << 10] {
        assert_block_rule(second(Codec::EliasFano, count, &stream), 0, 22);
    }
}

#[test]
fn v22_more_values_than_there_is_room_for_between_the_keys_are_damage() {
    for (blocks, count) in [
        (&[&[3u128][..], &[4], &[5, 6, 7]][..], 4),
        (&[&[3], &[4], &[6]], 3),
        (&[&[0], &[1], &[6]], 6),
    ] {
        let mut file = ByHand::new(Codec::EliasFano, blocks);
        let mut all_ones = Bits::repeat(true, count - 1);
        all_ones.push(false);
        file.replace(2, count, &all_ones);
        assert_block_rule(file.file(), 0, 22);
    }
    let mut first = ByHand::new(Codec::EliasFano, &[&[0]]);
    first.replace(0, 2, &Bits::repeat(true, 1));
    assert_block_rule(first.file(), 0, 22);
}

#[test]
fn v23_values_that_run_past_the_end_are_damage() {
    let room = simidx_testkit::reference::room(128);
    for codec in IN_BLOCKS {
        // Steps of 30 bits and more: of 30 values some end after the block.
        let values: Vec<u128> = (1..=30).map(|i| BEFORE + (i << 40)).collect();
        let mut file = ByHand::new(codec, &[&[1, BEFORE], &[1 << 50]]);
        let stream = file
            .coding()
            .stream(Some(BEFORE), &[&values[..], &[1 << 50]].concat());
        assert!(stream.len() > room, "{codec:?}");
        file.replace(1, 31, &stream);
        assert_block_rule(file.file(), 0, 23);
    }
}

#[test]
fn v23_a_stream_may_end_with_the_block_and_not_a_bit_later() {
    let room = simidx_testkit::reference::room(128);
    for (longest_last, verdict) in [(21, "damaged V27"), (22, "damaged V23")] {
        for codec in DELTA_CODECS {
            // Each value sets one bit more, for a codeword of 6 bits and a tail.
            let positions = (48..=62).rev().chain([34, longest_last]);
            let mut values = vec![BEFORE];
            values.extend(positions.scan(BEFORE, |value, position| {
                *value += 1 << position;
                Some(*value)
            }));
            values.push(u64::MAX.into());
            let mut file = ByHand::new(codec, &[&[1, BEFORE], &[u64::MAX.into()]]);
            let stream = file.coding().stream(Some(BEFORE), &values[1..]);
            assert_eq!(stream.len(), room + longest_last as usize - 21);
            file.replace(1, values.len() - 1, &stream);
            assert_eq!(common_verdict(&file.file()), verdict, "{codec:?}");
        }
    }
    for (buckets, verdict) in [(22, "damaged V27"), (23, "damaged V23")] {
        let max = (buckets - 1) << 47;
        let key = BEFORE + max + 2;
        let mut file = ByHand::new(Codec::EliasFano, &[&[1, BEFORE], &[key]]);
        let values: Vec<u128> = (1..=20).map(|i| BEFORE + i).chain([key]).collect();
        let stream = file.coding().stream(Some(BEFORE), &values);
        assert_eq!(stream.len(), room + buckets as usize - 22);
        file.replace(1, 21, &stream);
        assert_eq!(common_verdict(&file.file()), verdict);
    }
}

#[test]
fn v24_values_that_do_not_ascend_are_damage() {
    // Codec `gap` has no way to say so.
    for (first, then) in [(1011, 1010), (1011, 1008), (2000, 1472)] {
        assert_block_rule(second_of(Codec::Xor, &[first, then, 2100]), 0, 24);
    }
    let max = VALUES[4] - BEFORE - 2;
    for numbers in [[5, 5, 600], [5, 4, 600], [5, 600, 600], [0, 700, 699]] {
        let (low_bits, _) = elias_fano_layout(3, max);
        assert!(
            numbers.is_sorted_by_key(|n| n >> low_bits),
            "the buckets ascend"
        );
        let stream = elias_fano(&numbers, max);
        let file = second(Codec::EliasFano, 4, &stream);
        assert_block_rule(file, 0, 24);
    }
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
        assert_block_rule(second(Codec::EliasFano, 4, &stream), 0, rule);
    }
}

#[test]
fn v24_a_block_that_starts_at_the_key_before_or_below_is_damage() {
    // The bit at which the first value differs is set in the key before.
    for first in [BEFORE & !8, 512, 1] {
        let file = second_of(Codec::Xor, &[first, 1800, 2100]);
        assert_block_rule(file, 0, 24);
    }
    assert_block_rule(second_of(Codec::Xor, &[3, 2100]), 0, 24);
}

#[test]
fn v25_values_that_are_not_below_the_key_are_damage() {
    for codec in DELTA_CODECS {
        for last in [VALUES[4], VALUES[4] + 1, 1 << 40, u64::MAX.into()] {
            let file = second_of(codec, &[1003, last, VALUES[4]]);
            assert_block_rule(file, 0, 25);
            let mut first = ByHand::new(codec, &[&[5, 9]]);
            let stream = first.coding().stream(None, &[last, 9]);
            first.replace(0, 2, &stream);
            assert_block_rule(first.file(), 0, 25);
        }
    }
    let max = VALUES[4] - BEFORE - 2;
    let (low_bits, buckets) = elias_fano_layout(3, max);
    let largest = ((buckets as u128) << low_bits) - 1;
    for last in [max + 1, largest] {
        let stream = elias_fano(&[1, 2, last], max);
        assert_block_rule(second(Codec::EliasFano, 4, &stream), 0, 25);
    }
    // The last high bit stands for a bucket after the last one.
    let mut stream = elias_fano(&[1, 2, max], max);
    stream.set(2 + buckets - 1, false);
    stream.set(2 + buckets, true);
    assert_block_rule(second(Codec::EliasFano, 4, &stream), 0, 25);
}

#[test]
fn v25_sums_that_pass_the_width_are_above_the_key() {
    let top = u128::from(u64::MAX);
    for key in [top, top - 1, top - 1000] {
        for step in [1u128 << 63, (1 << 64) - 1] {
            let mut gap = ByHand::new(Codec::Gap, &[&[1, BEFORE], &[2000, key]]);
            let values = [key - 5, key - 5 + step, key];
            let stream = gap.coding().stream(Some(BEFORE), &values);
            gap.replace(1, 3, &stream);
            assert_block_rule(gap.file(), 0, 25);
            // And then on to values that seem to be right.
            let values = [key - 5, key - 5 + step, key - 5 + step + 2, key];
            let stream = gap.coding().stream(Some(BEFORE), &values);
            gap.replace(1, 4, &stream);
            assert_block_rule(gap.file(), 0, 25);
        }
    }
    // Numbers up to 2^63 - 1 above a base above 2^63.
    let before = (1 << 63) + 3;
    let mut ef = ByHand::new(Codec::EliasFano, &[&[1, before], &[top - 9, top]]);
    let max = top - before - 2;
    for numbers in [&[(1u128 << 63) - 1][..], &[5, (1 << 63) - 2]] {
        let (low_bits, buckets) = elias_fano_layout(numbers.len(), max);
        let last = ((buckets as u128) << low_bits) - 1;
        assert!(before + 1 + last > top, "the sum passes the width");
        let stream = elias_fano(numbers, max);
        ef.replace(1, numbers.len() + 1, &stream);
        assert_block_rule(ef.file(), 0, 25);
    }
}

#[test]
fn v26_bits_behind_the_last_value_are_damage() {
    for codec in IN_BLOCKS {
        let mut editor = plain_in(codec);
        let last = editor.layout.tables[1].block_count - 1;
        let at = editor.layout.block_at(1, last);
        editor.flip(at + 127, 1);
        editor.seal_block(1, last);
        assert_block_rule(editor.finish(), 1, 26);
        for values in [&VALUES[..], &VALUES[4..]] {
            let file = two_blocks(codec);
            let mut stream = file.coding().stream(Some(BEFORE), values);
            stream.push(true);
            assert_block_rule(second(codec, values.len(), &stream), 0, 26);
        }
        // A block of nothing but its key, first of its table.
        let mut single = ByHand::new(codec, &[&[7]]);
        single.replace(0, 1, &bits_of(1, 100));
        assert_block_rule(single.file(), 0, 26);
    }
}

#[test]
fn v27_blocks_and_block_counts_that_disagree_are_damage() {
    for codec in IN_BLOCKS {
        let records: Vec<(u64, u64)> = simidx_testkit::uniform(60).into_iter().zip(0..).collect();
        let mut editor = Editor::new(build_numbers(small_in(codec), &records));
        assert!(values_of(&editor, 0, 1).len() > 1);
        let at = editor.section(BLOCK_COUNTS, 0).offset;
        editor.file[at] += 1;
        editor.file[at + 2] -= 1;
        editor.seal_section(BLOCK_COUNTS, 0);
        assert_block_rule(editor.finish(), 0, 27);
    }
}
