//! Good files to be made wrong by hand, and what both readers say about the wrong ones.

use simidx::FormatClass::Damaged;
use simidx::{AnyIndex, BuildOptions, Error, FormatClass, FormatError, Index, TableDesign};

use super::editor::Editor;
use super::reference;
use super::reference_reader::common_verdict;
use super::{build, build_numbers, build_strings, options, uniform};

pub(crate) fn small() -> BuildOptions<u64> {
    options(TableDesign::choose_bands(1, 2).unwrap(), 128)
}

/// Sixty values in two tables of several blocks, without ids.
pub(crate) fn plain() -> Editor {
    Editor::new(build(small(), &uniform(60)))
}

pub(crate) fn with_pipeline() -> Editor {
    let mut options = small();
    options.pipeline = Some("{\"é\":1}".into());
    Editor::new(build(options, &uniform(10)))
}

/// Ten fingerprints, the ids 0 to 9.
pub(crate) fn numbers() -> Editor {
    let records: Vec<(u64, u64)> = (0..10).map(|i| (i << 50, i)).collect();
    Editor::new(build_numbers(small(), &records))
}

/// Five fingerprints with two ids each.
pub(crate) fn grouped_numbers() -> Editor {
    let records: Vec<(u64, u64)> = (0..10).map(|i| ((i / 2) << 50, i * 100)).collect();
    Editor::new(build_numbers(small(), &records))
}

/// Forty fingerprints with string ids of two bytes.
pub(crate) fn strings() -> Editor {
    let records: Vec<(u64, String)> = (0..40).map(|i| (i << 50, format!("{i:02}"))).collect();
    Editor::new(build_strings(small(), &records))
}

fn format_error(error: Error) -> FormatError {
    match error {
        Error::Format(error) => error,
        other => panic!("{other}"),
    }
}

/// Both readers name the rule and its class.
fn assert_judged(file: &[u8], rule: u8, class: FormatClass) {
    assert_eq!(common_verdict(file), format!("{} V{rule}", class.name()));
}

/// The rule and class with which a file is refused when it is opened, by both readers.
pub(crate) fn refusal(file: &[u8]) -> (u8, FormatClass) {
    let any = AnyIndex::from_bytes(file)
        .map(|_| ())
        .expect_err("a bad file opens");
    let error = format_error(any);
    assert!(error.to_string().contains(&format!("rule V{}", error.rule)));
    assert_judged(file, error.rule, error.class);
    (error.rule, error.class)
}

/// The first rule that a full check of a file finds broken, by both readers; the file must open.
pub(crate) fn found(file: Vec<u8>) -> (u8, FormatClass) {
    let index = Index::<u64, _>::from_bytes(&file[..]).expect("the file can be opened");
    let report = index.verify();
    assert!(!report.is_sound(), "nothing was found");
    let problem = &report.problems[0];
    assert_judged(&file, problem.rule, problem.class);
    (problem.rule, problem.class)
}

/// What reading a table gives first as an error. Both readers judge the file alike.
pub(crate) fn read(file: Vec<u8>, table: usize) -> (u8, FormatClass) {
    common_verdict(&file);
    let index = Index::<u64, _>::from_bytes(file).expect("the file can be opened");
    let error = index.fingerprints(table).unwrap().find_map(Result::err);
    let error = format_error(error.expect("the table can be read"));
    assert_eq!(error.table, Some(table as u8));
    (error.rule, error.class)
}

/// What reading the ids of a fingerprint gives as an error. Both readers judge the file alike.
pub(crate) fn read_ids(file: Vec<u8>, fingerprint: u64) -> (u8, FormatClass) {
    common_verdict(&file);
    let index = Index::<u64, _>::from_bytes(file).expect("the file can be opened");
    let error = index
        .for_each_id(fingerprint, |_| ())
        .expect_err("the ids can be read");
    let error = format_error(error);
    (error.rule, error.class)
}

/// Block rules are found by a reader and by a full check alike.
pub(crate) fn assert_block_rule(file: Vec<u8>, table: usize, rule: u8) {
    assert_eq!(read(file.clone(), table), (rule, Damaged));
    assert_eq!(found(file), (rule, Damaged));
}

/// The values of a block and the bits that their stream has.
pub(crate) fn values_of(
    editor: &Editor,
    table: usize,
    block: usize,
) -> (Vec<u128>, reference::Bits) {
    let lengths = &editor.layout.tables[table].lengths;
    let values = reference::decode(editor.block(table, block), lengths, 64);
    let stream = reference::stream(&values, lengths, 64);
    (values, stream)
}

pub(crate) fn put_block(
    editor: &mut Editor,
    table: usize,
    block: usize,
    count: usize,
    stream: &reference::Bits,
) {
    let bytes = reference::block(count, stream, editor.layout.block_size);
    let at = editor.layout.block_at(table, block);
    editor.put(at, &bytes);
}
