//! A damaged block or page does not affect the others.

use simidx::design::TableDesign;
use simidx::index::Strategy;
use simidx::{Codec, Scratch, Width};

use super::sample::answer;
use simidx_testkit::editor::Editor;
use simidx_testkit::encoding::{LINE_PAGES, LOW_BITS, PAGE_LEN};
use simidx_testkit::forged::IN_BLOCKS;
use simidx_testkit::{build, matched, options, scan, sorted_set, uniform};

/// Two hundred fingerprints and their file, one block of which is damaged.
fn with_a_damaged_block(codec: Codec, table: usize, block: usize) -> (Vec<u64>, Editor) {
    let set = sorted_set(&uniform::<u64>(200));
    let mut options = options(TableDesign::choose_bands(Width::W64, 1, 2).unwrap(), 128);
    options.codec = Some(codec);
    let mut editor = Editor::new(build(options, &set));
    let at = editor.layout.block_at(table, block);
    editor.flip(at + 50, 8);
    (set, editor)
}

#[test]
fn a_damaged_block_leaves_the_others_readable() {
    for codec in IN_BLOCKS {
        let (set, editor) = with_a_damaged_block(codec, 0, 2);
        let at = editor.layout.block_at(0, 2);
        let index = simidx_testkit::open::<u64>(editor.finish());
        let all: Vec<_> = index.fingerprints(0).unwrap().collect();
        assert_eq!(all.iter().filter(|f| f.is_err()).count(), 1);
        let readable: Vec<u64> = all.into_iter().filter_map(Result::ok).collect();
        assert!(readable.len() > 150 && readable.len() < 200);
        let lost: Vec<u64> = set
            .iter()
            .copied()
            .filter(|f| !readable.contains(f))
            .collect();
        for fingerprint in set {
            match index.contains(fingerprint) {
                Ok(found) => assert!(found && !lost.contains(&fingerprint)),
                Err(_) => assert!(lost.contains(&fingerprint)),
            }
        }
        let report = index.verify(&Default::default()).unwrap();
        assert_eq!(report.problem_count, 1);
        assert_eq!(
            (report.problems[0].table(), report.problems[0].block()),
            (Some(0), Some(2))
        );
        assert_eq!(report.problems[0].offset(), Some(at as u64));
    }
}

#[test]
fn a_flip_that_leads_to_a_damaged_page_of_lines_is_an_error() {
    // The lines of a table take two pages, which the first bit of a value selects.
    let set = sorted_set(&uniform::<u64>(20_000));
    let design = TableDesign::with_table_count(Width::W64, 3, 2).unwrap();
    let mut options = options(design, 512);
    options.codec = Some(Codec::Lines);
    let mut editor = Editor::new(build(options, &set));
    let lines = editor.section(LINE_PAGES, 0);
    assert!(lines.len > PAGE_LEN);
    editor.flip(lines.offset + PAGE_LEN + 100, 1);
    let index = simidx_testkit::open::<u64>(editor.finish());
    let mut scratch = Scratch::new();
    scratch.set_strategy(Strategy::Probe);
    for &query in set.iter().filter(|&&value| value >> 63 == 0).step_by(500) {
        // Without flips the page is not read.
        let found = index.query_with(&mut scratch, query, 1).unwrap();
        assert_eq!(matched(found), scan(&set, query, 1));
        let error = index.query_with(&mut scratch, query, 3).unwrap_err();
        assert!(error.to_string().contains("V28"), "{error}");
    }
}

#[test]
fn a_damaged_block_ends_many_queries_without_a_wrong_answer() {
    for codec in IN_BLOCKS {
        let (set, editor) = with_a_damaged_block(codec, 1, 3);
        let index = simidx_testkit::open::<u64>(editor.finish());
        let mut scratch = Scratch::new();
        scratch.set_strategy(Strategy::Probe);
        // First those that do not come across the bad block, more than are under way together.
        let (good, bad): (Vec<u64>, Vec<u64>) = set
            .iter()
            .partition(|f| index.query_with(&mut scratch, **f, 1).is_ok());
        assert!(good.len() > 150 && !bad.is_empty(), "{codec:?}");
        let mut answered = 0;
        let queries = [good, bad].concat();
        let result = index.query_many_with(&mut scratch, &queries, 1, |number, matches| {
            assert_eq!(number, answered);
            assert_eq!(matched(matches), scan(&set, queries[number], 1));
            answered += 1;
        });
        assert!(answer(result, "many queries").is_none());
        assert!(answered > 0 && answered < queries.len(), "{answered}");
        assert_eq!(scratch.matches(), [], "not the answer to an older query");
        // The scratch is as good as new.
        scratch.set_strategy(Strategy::Scan);
        assert_eq!(index.query_with(&mut scratch, set[0], 0).unwrap().len(), 1);
    }
}

#[test]
fn a_damaged_page_of_low_bits_leaves_the_others_readable() {
    let set = sorted_set(&uniform::<u64>(2000));
    let mut options = options(TableDesign::partition(Width::W64, 1, 1).unwrap(), 128);
    options.codec = Some(Codec::Lines);
    let mut editor = Editor::new(build(options, &set));
    let section = editor.section(LOW_BITS, 0);
    assert!(section.len > 3 * PAGE_LEN);
    editor.flip(section.offset + PAGE_LEN + 50, 8);
    let index = simidx_testkit::open::<u64>(editor.finish());
    let mut lost = 0;
    for (place, fingerprint) in set.iter().enumerate() {
        match answer(index.contains(*fingerprint), "a damaged page") {
            Some(found) => assert!(found),
            // The values of the page, a third of all, and those that share a line with one of them.
            None => {
                assert!((500..1400).contains(&place), "{place}");
                lost += 1;
            }
        }
    }
    assert!((500..900).contains(&lost), "{lost}");
    assert!(answer(index.contains(!set[0]), "a value that is not there") == Some(false));
    let report = index.verify(&Default::default()).unwrap();
    assert_eq!(report.problem_count, 1);
    assert_eq!(
        (report.problems[0].rule(), report.problems[0].offset()),
        (28, Some((section.offset + PAGE_LEN) as u64))
    );
}
