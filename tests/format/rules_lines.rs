//! Files with tables in lines made wrong by hand, their checksums right: V44 to V47 are noticed by both readers, as the
//! first rule broken.

use simidx::Codec::Lines;
use simidx::design::TableDesign;
use simidx::index::Strategy;
use simidx::{BuildOptions, Error, Index, Scratch, Width};
use simidx_testkit::editor::Editor;
use simidx_testkit::forged::{plain_in, small_in};
use simidx_testkit::lines::{
    CROWDED, bits_of_field, field, field_of, flip_bit, is_crowded, line_of, put_field, rank_of,
};
use simidx_testkit::parts::Parts;
use simidx_testkit::reference::{LINE_PAGES, LOW_BITS};
use simidx_testkit::reference_reader::common_verdict;
use simidx_testkit::{build, matched, scan};

/// Two tables of several lines, some of them crowded: half of the values start with 24 zero bits, and end with as many.
fn crowded() -> Editor {
    let spread = simidx_testkit::uniform::<u64>(800).into_iter().zip(0..);
    let values: Vec<u64> = spread
        .map(|(value, i)| match i % 2 {
            0 => value,
            _ => value >> 24 & !0xff_ffff,
        })
        .collect();
    let editor = Editor::new(build(small_in(Lines), &values));
    assert_eq!(common_verdict(&editor.file), "sound");
    editor
}

/// The numbers of the lines of a table that are crowded, or of those that are not.
fn lines(editor: &Editor, table: usize, are_crowded: bool) -> Vec<usize> {
    (0..editor.layout.tables[table].block_count)
        .filter(|line| is_crowded(line_of(editor, table, *line)) == are_crowded)
        .collect()
}

/// The number of the first crowded line of a table.
fn crowded_line(editor: &Editor, table: usize) -> usize {
    lines(editor, table, true)[0]
}

/// What both readers say when a field of a line has another value.
fn verdict_with(
    editor: &Editor,
    place: (usize, usize),
    field: field::Field,
    value: u128,
) -> String {
    let mut editor = editor.clone();
    put_field(&mut editor, place, field, value);
    common_verdict(&editor.finish())
}

#[test]
fn v44_marks_that_are_not_as_many_as_the_addresses_are_damage() {
    let good = plain_in(Lines);
    for table in 0..2 {
        for (field, bits) in [(field::MARKS, 216), (field::ADDRESSES, 256)] {
            for bit in 0..bits {
                let mut editor = good.clone();
                flip_bit(&mut editor, (table, 0), field, bit);
                assert_eq!(common_verdict(&editor.finish()), "damaged V44", "{bit}");
            }
        }
    }
}

#[test]
fn v44_queries_use_no_line_that_lacks_its_marks() {
    let mut options = BuildOptions::default().codec(Lines);
    options.design = Some(TableDesign::choose_bands(Width::W32, 3, 4).unwrap());
    let values = simidx_testkit::uniform::<u32>(1000);
    let good = Editor::new(build(options, &values));
    for line in lines(&good, 0, false) {
        let mut editor = good.clone();
        for bit in bits_of_field(line_of(&good, 0, line), field::MARKS) {
            flip_bit(&mut editor, (0, line), field::MARKS, bit);
        }
        let index = Index::<u32>::from_bytes(editor.finish()).unwrap();
        let mut scratch = Scratch::new();
        scratch.set_strategy(Strategy::Probe);
        // A probe of 8 bits flips none of them at distance 3, and one at distance 5.
        for distance in [3, 5] {
            let mut refused = 0;
            for &query in &values[..100] {
                match index.query_with(&mut scratch, query, distance) {
                    Ok(found) => assert_eq!(matched(found), scan(&values, query, distance)),
                    Err(Error::Format(error)) => {
                        assert_eq!(error.rule(), 44, "{error}");
                        refused += 1;
                    }
                    Err(error) => panic!("{error}"),
                }
            }
            assert!(refused > 0, "line {line} at distance {distance}");
        }
    }
}

#[test]
fn v45_lines_of_more_values_than_are_left_are_damage() {
    let good = plain_in(Lines);
    for table in 0..2 {
        for rank in [1, 60, 61, CROWDED - 1] {
            let verdict = verdict_with(&good, (table, 0), field::HEAD, rank);
            assert_eq!(verdict, "damaged V45", "{rank}");
        }
    }
}

#[test]
fn v45_low_bits_that_are_not_those_of_their_line_are_damage() {
    let good = crowded();
    let address_bits = usize::from(good.layout.tables[0].address_bits);
    let low_bits = good.layout.payload_of(&good.file, LOW_BITS, 0);
    let finer = lines(&good, 0, false)
        .into_iter()
        .filter(|line| *line >> (address_bits - 8) > 0);
    let mut changed = 0;
    for line in finer {
        let bytes = line_of(&good, 0, line);
        let Some(last) = bits_of_field(bytes, field::MARKS).last().copied() else {
            continue;
        };
        // The first of the low bits of the last value is that of another finer line: the value still is the greatest.
        let bit = (rank_of(bytes) as usize + last) * (64 - address_bits);
        let (at, bit) = (bit / 8, 0x80 >> (bit % 8));
        if low_bits[at] & bit != 0 {
            continue;
        }
        let mut editor = good.clone();
        editor.flip(editor.section(LOW_BITS, 0).offset + at, bit);
        editor.seal_pages_of(LOW_BITS, 0);
        assert_eq!(
            common_verdict(&editor.finish()),
            "damaged V45",
            "line {line}"
        );
        changed += 1;
    }
    assert!(changed > 2, "{changed} lines");
}

#[test]
fn v46_crowded_lines_without_their_finer_lines_are_damage() {
    let good = crowded();
    let has_crowded = |table: &usize| !lines(&good, *table, true).is_empty();
    assert!(has_crowded(&0));
    for table in (0..2).filter(has_crowded) {
        let place = (table, crowded_line(&good, table));
        let record = &good.layout.tables[table];
        let low_bits = u128::from(64 - record.address_bits);
        for extra in [0, low_bits + 1, 64, 128, 1 << 32, u64::MAX.into()] {
            let verdict = verdict_with(&good, place, field::EXTRA_BITS, extra);
            assert_eq!(verdict, "damaged V46", "{extra}");
        }
        let count = record.block_count as u128;
        for first in [count - 1, count, 1 << 58, 1 << 63, u64::MAX.into()] {
            let verdict = verdict_with(&good, place, field::FIRST, first);
            assert_eq!(verdict, "damaged V46", "{first}");
        }
        // A table of one line that is crowded and its own finer line.
        let mut single = plain_in(Lines);
        put_field(&mut single, (table, 0), field::HEAD, CROWDED);
        put_field(&mut single, (table, 0), field::FIRST, 0);
        put_field(&mut single, (table, 0), field::EXTRA_BITS, 1);
        assert_eq!(common_verdict(&single.finish()), "damaged V46");
    }
}

#[test]
fn v47_lines_in_another_order_or_with_other_ranks_are_damage() {
    let good = crowded();
    for table in 0..2 {
        // The others would have other values.
        for line in 0..good.layout.tables[table].block_count {
            let bytes = line_of(&good, table, line);
            if bits_of_field(bytes, field::MARKS).is_empty() {
                let head = field_of(bytes, field::HEAD);
                let other = if rank_of(bytes) > 0 {
                    head - 1
                } else {
                    head + 1
                };
                let verdict = verdict_with(&good, (table, line), field::HEAD, other);
                assert_eq!(verdict, "damaged V47", "line {line}");
            }
        }
        for line in lines(&good, table, true) {
            let head = field_of(line_of(&good, table, line), field::HEAD);
            let verdict = verdict_with(&good, (table, line), field::HEAD, head ^ CROWDED >> 1);
            assert_eq!(verdict, "damaged V47", "line {line}");
            for (field, bits) in [(field::MARKS, 216), (field::ZERO, 128)] {
                for bit in (0..bits).step_by(25).chain([bits - 1]) {
                    let mut editor = good.clone();
                    flip_bit(&mut editor, (table, line), field, bit);
                    assert_eq!(common_verdict(&editor.finish()), "damaged V47", "{bit}");
                }
            }
        }
    }
}

#[test]
fn v47_lines_that_nothing_needs_are_damage() {
    for table in 0..2 {
        let mut parts = Parts::of(&crowded().file);
        let bytes = parts.section(LINE_PAGES, table);
        bytes.resize(bytes.len() + 64, 0);
        parts.tables[table][0] += 1;
        assert_eq!(common_verdict(&parts.file()), "damaged V47");
    }
}

#[test]
fn v47_fingerprints_of_wrong_ranks_are_errors_or_none() {
    let good = crowded();
    for line in 0..good.layout.tables[0].block_count {
        let head = field_of(line_of(&good, 0, line), field::HEAD);
        let (crowded, rank) = (head & CROWDED, head % CROWDED);
        for other in [1, rank + 1, CROWDED >> 1, CROWDED - 1] {
            let mut editor = good.clone();
            put_field(&mut editor, (0, line), field::HEAD, crowded | other);
            let index = simidx_testkit::open::<u64>(editor.finish());
            for rank in 0..index.len() + 2 {
                match index.fingerprint(rank) {
                    Ok(_) => {}
                    Err(Error::Format(error)) => {
                        assert!([24, 45, 47].contains(&error.rule()), "{error}");
                    }
                    Err(error) => panic!("{error}"),
                }
            }
        }
    }
}
