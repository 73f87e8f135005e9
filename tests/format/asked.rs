//! Errors of single operations on a damaged file, without reading or checking all of it.

use simidx::Codec::Lines;
use simidx::design::TableDesign;
use simidx::format::FORMAT_VERSION;
use simidx::format::FormatClass::{self, Damaged};
use simidx::index::Strategy;
use simidx::{BuildOptions, Error, Id, Index, Scratch, Set, Width};
use simidx_testkit::editor::Editor;
use simidx_testkit::encoding::{GROUPS, ID_ORDER};
use simidx_testkit::forged::{
    found, grouped_numbers, numbers, ordered_numbers, ordered_strings, put_stranger, small, strings,
};
use simidx_testkit::lines::{
    CROWDED, bits_of_field, field, field_of, flip_bit, is_crowded, line_of, put_field,
};
use simidx_testkit::manifest::{self, Entry, Stage};
use simidx_testkit::parts::Parts;
use simidx_testkit::python_reader::{common_verdict, verdict};
use simidx_testkit::{build, each_id, matched, scan, uniform};

/// The damaged files of the corpus that open, with the numbers of the rules that they break.
fn damaged() -> impl Iterator<Item = (Entry, u8, Set)> {
    let folder = manifest::folder(FORMAT_VERSION);
    let entries = manifest::read(&folder).into_iter();
    entries.filter_map(move |entry| {
        let broken = entry.broken.filter(|broken| broken.stage != Stage::Open)?;
        let set = Set::read_file(folder.join(&entry.file)).unwrap();
        Some((entry, broken.rule, set))
    })
}

fn rule_of(error: &Error) -> u8 {
    match error {
        Error::Format(error) => error.rule(),
        other => panic!("{other}"),
    }
}

#[test]
fn ids_of_one_fingerprint_meet_the_rules_that_reading_all_meets() {
    let mut checked = 0;
    for (entry, rule, set) in damaged() {
        let is_of_ids = (28..=37).contains(&rule) && rule != 36 && !entry.codec.contains("lines");
        if !is_of_ids || entry.broken.unwrap().stage != Stage::Query {
            continue;
        }
        let mut fingerprints = set.fingerprints(0).unwrap();
        let met = fingerprints.find_map(|fingerprint| {
            let read = each_id(set.ids_of(fingerprint.unwrap()), |_| ());
            read.err().map(|error| rule_of(&error))
        });
        assert_eq!(met, Some(rule), "{}", entry.file);
        checked += 1;
    }
    assert!(checked > 30, "{checked} files");
}

#[test]
fn a_damaged_block_is_named_with_its_table() {
    let mut checked = 0;
    for (entry, rule, set) in damaged() {
        if !(21..=27).contains(&rule) || entry.codec.contains("lines") {
            continue;
        }
        let named = (0..entry.table_count).any(|table| {
            let mut errors = set.fingerprints(table).unwrap().filter_map(Result::err);
            errors.any(|error| match error {
                Error::Format(error) => error.table() == Some(table as u8),
                other => panic!("{other}"),
            })
        });
        assert!(named, "{}", entry.file);
        checked += 1;
    }
    assert!(checked > 30, "{checked} files");
}

#[test]
fn damaged_sketches_are_refused_and_all_else_is_read() {
    let mut checked = 0;
    for (entry, rule, set) in damaged() {
        if rule != 43 && !entry.file.contains("of-sketches") {
            continue;
        }
        let mut fingerprints = set.fingerprints(0).unwrap();
        assert!(fingerprints.all(|read| read.is_ok()));
        let segment = set.first();
        let refused = match segment.sketches() {
            Err(error) => rule_of(&error),
            Ok(sketches) => {
                let sketches = sketches.expect("there are sketches of a known method");
                let mut words = Vec::new();
                let error = sketches.read(0..sketches.len(), &mut words).unwrap_err();
                assert!(words.is_empty());
                assert!(sketches.read(0..sketches.len() + 1, &mut words).is_err());
                assert!(sketches.read(0..0, &mut words).is_ok());
                rule_of(&error)
            }
        };
        assert_eq!(refused, rule, "{}", entry.file);
        checked += 1;
    }
    assert!(checked > 20, "{checked} files");
}

/// Returns the error of looking for an id. Both readers judge the file alike.
fn find<'i>(file: Vec<u8>, id: impl Into<Id<'i>>) -> (u8, FormatClass) {
    common_verdict(&file);
    let index = simidx_testkit::open::<u64>(file);
    match index.ranks_of_id(id) {
        Err(Error::Format(error)) => (error.rule(), error.class()),
        other => panic!("{other:?}"),
    }
}

#[test]
fn v28_a_damaged_page_of_the_order_is_met_by_those_who_look_for_an_id() {
    for good in [ordered_numbers(), ordered_strings()] {
        let section = good.section(ID_ORDER, 0);
        for at in section.offset..section.offset + section.len {
            let mut editor = good.clone();
            editor.flip(at, 1);
            let file = editor.finish();
            assert_eq!(found(file.clone()), (28, Damaged), "{at}");
            let wanted = if good.layout.id_kind == 1 {
                Id::Number(3)
            } else {
                Id::String("07")
            };
            assert_eq!(find(file, wanted), (28, Damaged), "{at}");
        }
    }
}

/// Grouped numbers whose count and bitmap are replaced.
fn groups(ones_before: u128, bitmap: u16) -> Vec<u8> {
    let mut editor = grouped_numbers();
    let at = editor.section(GROUPS, 0).offset;
    editor.put_number(at, ones_before, 8);
    editor.put(at + 8, &bitmap.to_be_bytes());
    editor.seal_pages(GROUPS);
    editor.finish()
}

#[test]
fn v29_counts_that_cannot_be_are_found_by_those_who_look_for_an_id() {
    for ones_before in [5, u64::MAX.into()] {
        let file = groups(ones_before, 0b1010_1010_1000_0000);
        assert_eq!(find(file, 900), (29, Damaged), "{ones_before}");
    }
}

#[test]
fn v36_a_fingerprint_that_table_0_lacks_has_no_ids() {
    for mut editor in [numbers(), grouped_numbers(), strings()] {
        let forged = put_stranger(&mut editor);
        let good = forged ^ 1 << 32;
        let file = editor.finish();
        assert_eq!(found(file.clone()), (36, Damaged));

        let index = simidx_testkit::open::<u64>(file);
        let mut scratch = Scratch::new();
        scratch.set_strategy(Strategy::Scan);
        assert_eq!(index.query_with(&mut scratch, forged, 0).unwrap(), []);
        let rule = |result: Result<(), Error>| match result {
            Err(Error::Format(error)) => error.rule(),
            other => panic!("{other:?}"),
        };
        let mut ids = 0;
        each_id(index.ids_of(forged), |_| ids += 1).unwrap();
        assert_eq!(ids, 0, "only a match must have ids");
        let near = index.query_with(&mut scratch, good, 0).unwrap()[0];
        each_id(index.ids(&near), |_| ids += 1).unwrap();
        assert!(ids > 0 && near.rank.is_some());
        let mut stranger = near;
        (stranger.fingerprint, stranger.rank) = (forged, None);
        assert_eq!(rule(index.ids(&stranger).map(|_| ())), 36);
        for table in 0..2 {
            let mut fingerprints = index.fingerprints(table).unwrap();
            while let Some(fingerprint) = fingerprints.next() {
                let read = each_id(fingerprints.ids(), |_| ());
                if fingerprint.unwrap() == forged {
                    assert_eq!((rule(read), table), (36, 1));
                } else {
                    read.unwrap();
                }
            }
        }
    }
}

/// The parts of a file with the numbers of a section of places or indexes changed.
fn with_indexes(good: &Editor, kind: u16, change: impl FnOnce(&mut Vec<u128>)) -> Vec<u8> {
    let mut parts = Parts::of(&good.file);
    let mut indexes = parts.indexes(kind);
    change(&mut indexes);
    parts.put_indexes(kind, &indexes);
    parts.file()
}

#[test]
fn v37_an_order_of_wrong_indexes_is_found_by_those_who_look_for_an_id() {
    let numbers = with_indexes(&ordered_numbers(), ID_ORDER, |order| order.fill(15));
    assert_eq!(find(numbers, 3), (37, Damaged));
    let strings = ordered_strings();
    for index in [40, 63, 0] {
        let file = with_indexes(&strings, ID_ORDER, |order| order.fill(index));
        assert_eq!(find(file, "05"), (37, Damaged), "{index}");
    }
}

/// Two tables of several lines, some of them crowded: half of the values start with 24 zero bits, and end with as many.
fn crowded() -> Editor {
    let spread = uniform::<u64>(800).into_iter().zip(0..);
    let values: Vec<u64> = spread
        .map(|(value, i)| match i % 2 {
            0 => value,
            _ => value >> 24 & !0xff_ffff,
        })
        .collect();
    let editor = Editor::new(build(small().codec(Lines), &values));
    assert_eq!(common_verdict(&editor.file), "sound");
    editor
}

/// The numbers of the lines of a table that are crowded, or of those that are not.
fn lines(editor: &Editor, table: usize, are_crowded: bool) -> Vec<usize> {
    (0..editor.layout.tables[table].block_count)
        .filter(|line| is_crowded(line_of(editor, table, *line)) == are_crowded)
        .collect()
}

#[test]
fn v44_queries_use_no_line_that_lacks_its_marks() {
    let mut options = BuildOptions::default().codec(Lines);
    options.design = Some(TableDesign::choose_bands(Width::W32, 3, 4).unwrap());
    let values = uniform::<u32>(1000);
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

#[test]
fn v44_each_mark_and_each_address_of_a_line_counts() {
    let good = Editor::new(build(small().codec(Lines), &uniform::<u64>(60)));
    for table in 0..2 {
        for (field, bits) in [(field::MARKS, 216), (field::ADDRESSES, 256)] {
            for bit in 0..bits {
                let mut editor = good.clone();
                flip_bit(&mut editor, (table, 0), field, bit);
                assert_eq!(verdict(&editor.finish()), "damaged V44", "{bit}");
            }
        }
    }
}

#[test]
fn v46_crowded_lines_have_their_finer_lines() {
    let good = crowded();
    let place = (0, lines(&good, 0, true)[0]);
    let table = &good.layout.tables[0];
    let (count, low_bits) = (
        table.block_count as u128,
        u128::from(64 - table.address_bits),
    );
    let first = [count - 1, count, 1 << 58, 1 << 63, u64::MAX.into()];
    let extra = [0, low_bits + 1, 64, 128, 1 << 32, u64::MAX.into()];
    let first = first.map(|value| (field::FIRST, value));
    let extra = extra.map(|value| (field::EXTRA_BITS, value));
    for (field, value) in first.into_iter().chain(extra) {
        let mut editor = good.clone();
        put_field(&mut editor, place, field, value);
        assert_eq!(verdict(&editor.finish()), "damaged V46", "{value}");
    }
}

#[test]
fn v47_each_mark_and_each_bit_of_zero_of_a_crowded_line_is_zero() {
    let good = crowded();
    let line = lines(&good, 0, true)[0];
    for (field, bits) in [(field::MARKS, 216), (field::ZERO, 128)] {
        for bit in 0..bits {
            let mut editor = good.clone();
            flip_bit(&mut editor, (0, line), field, bit);
            assert_eq!(verdict(&editor.finish()), "damaged V47", "{bit}");
        }
    }
}
