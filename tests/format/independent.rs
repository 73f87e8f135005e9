//! The reader in Python, written from the specification alone, against this crate.

use std::collections::BTreeSet;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Output;

use proptest::prelude::*;
use rand::RngExt;
use rand::rngs::StdRng;
use rayon::prelude::*;
use simidx::design::TableDesign;
use simidx::format::FORMAT_VERSION;
use simidx::{BuildOptions, Id, IdBuf, IdKind, IndexBuilder, Set, Width};
use simidx_testkit::editor::Editor;
use simidx_testkit::encoding::{
    BUCKET_OFFSETS, DIRECTORY_FIXED_LEN, HEADER_LEN, PAGE_LEN, SECTION_RECORD_LEN,
};
use simidx_testkit::manifest::{self, Expect};
use simidx_testkit::python_reader::{self, python_verdict, verdict};

/// Returns the output of a successful run.
fn text(output: &Output) -> String {
    assert!(output.status.success(), "{output:?}");
    String::from_utf8(output.stdout.clone()).unwrap()
}

/// Cases of random edits for each golden file.
const EDITS_PER_FILE: usize = 8;

/// Returns the output of `query`, by this crate.
fn query(set: &Set, query: u128, distance: u32) -> String {
    let width = set.width();
    let mut lines = String::new();
    for found in set.query(query, distance).unwrap() {
        let digits = [query, found.fingerprint].map(|value| width.to_hex(value));
        let line = format!("{}\t{}\t{}", digits[0], digits[1], found.distance);
        if set.id_kind() == IdKind::None {
            lines += &format!("{line}\n");
        }
        for id in found.ids().unwrap() {
            lines += &format!("{line}\t{}\n", id.unwrap());
        }
    }
    lines
}

/// Compares what both readers can say about a sound file beyond what its row in the manifest says.
fn compare(path: &Path) {
    let set = Set::read_file(path).unwrap();
    let name = path.to_str().unwrap();
    let table = set.first().summary().tables.len() - 1;
    if table > 0 {
        let arguments = ["dump", name, "--table", &table.to_string()];
        let theirs = python_reader::printed(&arguments);
        let ours = simidx_testkit::dump(&set, table).unwrap();
        assert_eq!(theirs, ours, "{name}, table {table}");
    }
    // Near some members, and near none where there are none.
    let difference = 0b101;
    let step = (set.first().len() as usize / 5).max(1000);
    let members = set.fingerprints(0).unwrap().step_by(step);
    let mut queries: Vec<u128> = members.map(|f| f.unwrap() ^ difference).collect();
    queries.push(difference);
    let digits: Vec<String> = queries.iter().map(|q| set.width().to_hex(*q)).collect();
    // At the distance of the tables, and beyond it.
    for distance in [set.max_distance(), set.max_distance() + 2] {
        let distance_text = distance.to_string();
        let mut arguments = vec!["query", name, "-k", &distance_text];
        arguments.extend(digits.iter().map(String::as_str));
        let theirs = python_reader::printed(&arguments);
        let ours: String = queries.iter().map(|&q| query(&set, q, distance)).collect();
        assert_eq!(theirs, ours, "{name}, distance {distance}");
    }
}

fn golden_files() -> Vec<PathBuf> {
    let folder = manifest::folder(FORMAT_VERSION);
    let entries = manifest::read(&folder).into_iter();
    let good = entries.filter(|entry| entry.expect == Expect::Good);
    good.map(|entry| folder.join(entry.file)).collect()
}

#[test]
fn both_readers_agree_on_the_golden_files() {
    golden_files().par_iter().for_each(|path| compare(path));
}

#[test]
fn the_reader_in_python_says_about_every_file_what_the_manifest_says() {
    let folder = manifest::folder(FORMAT_VERSION);
    let files = manifest::read(&folder).len();
    let path = folder.join("manifest.tsv");
    let ran = python_reader::run(&["check", path.to_str().unwrap()]);
    let rows = |name: &str| {
        fs::read_to_string(folder.join(name))
            .unwrap()
            .lines()
            .count()
            - 1
    };
    let vectors = rows("queries.tsv") + rows("lookups.tsv") + rows("plans.tsv");
    let summary = format!("{files} files and {vectors} vectors, 0 not as they should be\n");
    assert_eq!(text(&ran), summary);

    // The verdict can differ: another rule, another stage, other contents, another count.
    let copy = tempfile::tempdir().unwrap();
    for entry in fs::read_dir(&folder).unwrap() {
        let path = entry.unwrap().path();
        fs::copy(&path, copy.path().join(path.file_name().unwrap())).unwrap();
    }
    let path = copy.path().join("manifest.tsv");
    let rows = fs::read_to_string(&path).unwrap();
    let mut wrong_rows: Vec<String> = rows.lines().take(1).map(str::to_owned).collect();
    for (right, wrong) in [
        ("\tV13\t", "\tV12\t"),
        ("\tV15\topen\t", "\tV15\tquery\t"),
        ("\tV21\tquery\t", "\tV21\tverify\t"),
        ("\tV34\tverify\t", "\tV34\tquery\t"),
        ("\ttwo-bit-0.txt\t", "\ttwo-bit-63.txt\t"),
        ("\t65537\t65537\t", "\t65537\t65538\t"),
    ] {
        let with_it = rows.lines().filter(|row| row.contains(right));
        let before = wrong_rows.len();
        wrong_rows.extend(with_it.map(|row| row.replace(right, wrong)));
        assert!(wrong_rows.len() > before, "no row has {right:?}");
    }
    let mut changed = wrong_rows.len() - 1;
    fs::write(&path, wrong_rows.join("\n") + "\n").unwrap();
    for name in ["queries.tsv", "lookups.tsv", "plans.tsv"] {
        let path = copy.path().join(name);
        let vectors = fs::read_to_string(&path).unwrap();
        let (_, last) = vectors.trim_end().rsplit_once('\n').unwrap();
        let (asked, answer) = last.rsplit_once('\t').unwrap();
        let wrong = match answer {
            "yes" => "no",
            "no" => "yes",
            "-" => "0",
            _ => "-",
        };
        let header = vectors.lines().next().unwrap();
        fs::write(&path, format!("{header}\n{asked}\t{wrong}\n")).unwrap();
        changed += 1;
    }
    let ran = python_reader::run(&["check", path.to_str().unwrap()]);
    assert_eq!(ran.status.code(), Some(1));
    let told = String::from_utf8(ran.stdout).unwrap().lines().count();
    assert_eq!(
        told,
        changed + 1,
        "a line for each changed row and the summary"
    );
}

#[test]
fn both_readers_agree_on_a_fresh_file_of_many_blocks() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("fresh.simidx");
    let mut options = BuildOptions::default();
    options.design = Some(TableDesign::choose_bands(Width::W64, 3, 5).unwrap());
    options.ids = IdKind::String;
    options.id_lookup = true;
    let mut builder = IndexBuilder::new(Width::W64, options).unwrap();
    for i in 0..4000u64 {
        let fingerprint = (i % 3500).wrapping_mul(0x9e37_79b9_7f4a_7c15);
        builder
            .push_with_id(fingerprint, &format!("record {i}"))
            .unwrap();
    }
    builder.finish(fs::File::create(&path).unwrap()).unwrap();
    let verified = python_reader::run(&["verify", path.to_str().unwrap()]);
    assert_eq!(text(&verified), "sound\n");
    compare(&path);
}

#[test]
fn both_readers_agree_on_bucket_offsets_of_several_pages() {
    let mut options = BuildOptions::default();
    options.design = Some(TableDesign::with_table_count(Width::W32, 3, 1).unwrap());
    options.ids = IdKind::String;
    let mut builder = IndexBuilder::new(Width::W32, options).unwrap();
    // Sixteen ids a bucket, some 14 bits an offset: offsets lie across the border of the pages.
    for i in 0..37_504u32 {
        let id = if i % 3 == 0 { "a" } else { "b" };
        builder.push_with_id(i / 2, id).unwrap();
    }
    let mut file = Vec::new();
    builder.finish(&mut file).unwrap();
    let editor = Editor::new(file.clone());
    assert!(editor.payload_len(BUCKET_OFFSETS) > PAGE_LEN);
    assert!(!PAGE_LEN.is_multiple_of(editor.layout.id_bits));
    assert_eq!(python_reader::common_verdict(&file), "sound");
}

/// Returns the output of `find`, by this crate.
fn find(set: &Set, id: Id<'_>) -> String {
    let fingerprints = set.fingerprints_of_id(id).unwrap().into_iter();
    let lines = fingerprints.map(|f| format!("{id}\t{}\n", set.width().to_hex(f)));
    lines.collect()
}

#[test]
fn both_readers_find_the_same_by_ids() {
    let mut found = 0;
    for path in golden_files() {
        let set = Set::read_file(&path).unwrap();
        let mut ids: Vec<IdBuf> = Vec::new();
        let mut fingerprints = set.fingerprints(0).unwrap();
        while fingerprints.next().is_some() {
            ids.extend(fingerprints.ids().unwrap().map(Result::unwrap));
        }
        let step = ids.len().div_ceil(3).max(1);
        let mut some: Vec<IdBuf> = ids.into_iter().step_by(step).collect();
        some.dedup();
        match set.id_kind() {
            IdKind::None => continue,
            IdKind::Number => some.push(Id::from(4_711_471).into()),
            IdKind::String => some.push(Id::from("4711471").into()),
        }
        some.retain(|id| !id.to_string().contains('\0'));
        let texts: Vec<String> = some.iter().map(IdBuf::to_string).collect();
        // As one argument after `--` an id may be anything but a zero byte.
        let mut arguments = vec!["find", path.to_str().unwrap(), "--"];
        arguments.extend(texts.iter().map(String::as_str));
        let theirs = python_reader::printed(&arguments);
        let ours: String = some.iter().map(|id| find(&set, id.as_id())).collect();
        assert_eq!(theirs, ours, "{}", path.display());
        found += ours.lines().count();
    }
    assert!(found > 100, "{found} records found");
}

#[test]
fn the_reader_in_python_says_in_one_line_what_is_wrong() {
    let good = fs::read(golden_files().pop().unwrap()).unwrap();
    let mut newer = Editor::new(good.clone());
    newer.put_number(8, 2, 2);
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("bad.simidx");
    for (file, status, class) in [
        (b"no index".to_vec(), 2, "not-simidx V1: "),
        (newer.finish(), 2, "unsupported V3: "),
        (good[..good.len() - 1].to_vec(), 1, "damaged V5: "),
    ] {
        fs::write(&path, &file).unwrap();
        let output = python_reader::run(&["verify", path.to_str().unwrap()]);
        assert_eq!(output.status.code(), Some(status));
        assert!(output.stdout.is_empty());
        let stderr = String::from_utf8(output.stderr).unwrap();
        assert_eq!(stderr.lines().count(), 1, "{stderr}");
        assert!(stderr.starts_with(class), "{stderr}");
    }
}

#[test]
fn both_readers_name_the_same_rule_for_a_damaged_file() {
    let originals: Vec<Vec<u8>> = golden_files()
        .iter()
        .map(|p| fs::read(p).unwrap())
        .collect();
    let config = ProptestConfig {
        failure_persistence: None,
        ..ProptestConfig::with_cases(200)
    };
    let mut runner = proptest::test_runner::TestRunner::new(config);
    let damage = (
        prop::sample::select(originals),
        any::<prop::sample::Index>(),
        0..8u8,
        prop::option::weighted(0.2, any::<prop::sample::Index>()),
    );
    runner
        .run(&damage, |(mut bytes, at, bit, cut)| {
            let at = at.index(bytes.len());
            bytes[at] ^= 1 << bit;
            bytes.truncate(cut.map_or(bytes.len(), |cut| cut.index(bytes.len())));
            let ours = verdict(&bytes);
            prop_assert_ne!(&ours, "sound");
            prop_assert_eq!(python_verdict(&bytes), ours);
            Ok(())
        })
        .unwrap();
}

/// The places of a file that an edit may start at, each part of the file by itself.
fn parts(editor: &Editor) -> Vec<std::ops::Range<usize>> {
    let layout = &editor.layout;
    let directory = layout.directory_at;
    let mut parts = vec![8..12, directory..directory + DIRECTORY_FIXED_LEN];
    parts.extend(layout.tables.iter().map(|t| t.record_at..t.lengths_at));
    let codes = layout.tables.iter().map(|t| t.lengths_at);
    parts.extend(codes.map(|at| at..at + layout.width as usize));
    let records = layout.sections.iter().map(|s| s.record_at);
    parts.extend(records.map(|at| at..at + SECTION_RECORD_LEN));
    let mut end = HEADER_LEN;
    for section in &layout.sections {
        parts.push(end..section.offset);
        end = section.offset + section.len;
        parts.push(section.offset..end);
        // Once more its begin and its end: the first values and the last.
        parts.push(section.offset..end.min(section.offset + 16));
        parts.push(section.offset.max(end.saturating_sub(16))..end);
    }
    parts.push(end..directory);
    parts.push(editor.footer_at(0)..editor.footer_at(32));
    parts.retain(|part| !part.is_empty());
    parts
}

/// Changes up to four bytes in a row: all bits, one bit, or by one.
fn edit(editor: &mut Editor, rng: &mut StdRng) {
    let parts = parts(editor);
    let part = parts[rng.random_range(0..parts.len())].clone();
    let start = rng.random_range(part.clone());
    let how = rng.random_range(0..4);
    for at in start..part.end.min(start + rng.random_range(1..=4)) {
        let byte = &mut editor.file[at];
        *byte = match how {
            0 => rng.random(),
            1 => *byte ^ 1 << rng.random_range(0..8),
            2 => byte.wrapping_add(1),
            _ => byte.wrapping_sub(1),
        };
    }
}

#[test]
fn both_readers_name_the_same_rule_for_edits_under_right_checksums() {
    let mut rng = simidx_testkit::rng(0xed17);
    let mut verdicts = BTreeSet::new();
    for path in golden_files() {
        let original = Editor::new(fs::read(&path).unwrap());
        for case in 0..EDITS_PER_FILE {
            let mut editor = original.clone();
            for _ in 0..rng.random_range(1..=3) {
                edit(&mut editor, &mut rng);
            }
            if rng.random_ratio(9, 10) {
                editor.seal_all_sections();
            }
            let file = editor.finish();
            let (ours, theirs) = (verdict(&file), python_verdict(&file));
            assert_eq!(ours, theirs, "{}, case {case}", path.display());
            verdicts.insert(ours);
        }
    }
    assert!(verdicts.len() >= 12, "few rules were reached: {verdicts:?}");
}
