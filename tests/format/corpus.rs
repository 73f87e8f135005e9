//! The library and the program over every file of the corpus: what the manifest says about a file is what they say.

use std::collections::BTreeSet;
use std::fs;

use simidx::design::{Coverage, TableDesign};
use simidx::format::{FORMAT_VERSION, FormatClass, FormatError};
use simidx::{Error, IdKind, Set, Storage, Width};
use simidx_testkit::document::{named_table, specification};
use simidx_testkit::encoding::crc32;
use simidx_testkit::hit;
use simidx_testkit::manifest::{self, Broken, Entry, Expect, Stage};

/// The dumps of all tables, or the first error met.
fn dumps(set: &Set) -> Result<Vec<String>, Error> {
    let tables = 0..set.first().summary().tables.len();
    tables
        .map(|table| simidx_testkit::dump(set, table))
        .collect()
}

fn broken(error: &FormatError, stage: Stage) -> Broken {
    Broken {
        class: error.class(),
        rule: error.rule(),
        stage,
    }
}

/// The rule that a file breaks as one meets it who opens the file, reads it, then checks it; none for a sound file.
fn verdict(file: &[u8]) -> Option<Broken> {
    let format = |error| match error {
        Error::Format(error) => error,
        other => panic!("{other}"),
    };
    let index = match Set::from_bytes(Storage::copy(file)) {
        Ok(index) => index,
        Err(error) => return Some(broken(&format(error), Stage::Open)),
    };
    let read = dumps(&index);
    let report = index
        .segment(0)
        .unwrap()
        .verify(&Default::default())
        .unwrap();
    let first = report.problems.first();
    match read {
        Ok(_) => first.map(|problem| broken(problem, Stage::Verify)),
        Err(error) => {
            let met = broken(&format(error), Stage::Query);
            let checked = first.map(|problem| broken(problem, Stage::Query));
            assert_eq!(checked, Some(met), "a full check finds what a reader met");
            Some(met)
        }
    }
}

/// Returns the verdict of a reader of this version on a file of the corpus of a version. Files of other versions need
/// another reader, whatever else is wrong with them, unless their headers are broken.
fn expected(entry: &Entry, version: u16) -> Option<Broken> {
    let in_header = entry.broken.filter(|broken| broken.rule <= 3);
    if version == FORMAT_VERSION || in_header.is_some() {
        return entry.broken;
    }
    Some(Broken {
        class: FormatClass::Unsupported,
        rule: 3,
        stage: Stage::Open,
    })
}

/// Every file of every version with its row.
fn files() -> Vec<(u16, Entry, Vec<u8>)> {
    let versions = manifest::versions();
    assert!(versions.contains(&FORMAT_VERSION), "{versions:?}");
    let mut files = Vec::new();
    for version in versions {
        let folder = manifest::folder(version);
        for entry in manifest::read(&folder) {
            let file = fs::read(folder.join(&entry.file)).unwrap();
            files.push((version, entry, file));
        }
    }
    files
}

#[test]
fn the_library_says_about_every_file_what_the_manifest_says() {
    for (version, entry, file) in files() {
        assert_eq!(
            verdict(&file),
            expected(&entry, version),
            "{}: {}",
            entry.file,
            entry.what
        );
    }
}

/// A search at the full width is one probe over all of table 0.
#[test]
fn a_probe_over_all_values_meets_what_reading_them_meets() {
    let mut count = 0;
    for (version, entry, file) in files() {
        let is_of_query = entry
            .broken
            .is_some_and(|broken| broken.stage == Stage::Query);
        if version != FORMAT_VERSION || !is_of_query {
            continue;
        }
        let set = Set::from_bytes(Storage::copy(&file)).unwrap();
        let read = set
            .fingerprints(0)
            .and_then(|mut all| all.try_for_each(|one| one.map(drop)));
        if let Err(Error::Format(read)) = read {
            let found = match set.width() {
                Width::W32 => set.query(0u32, 32).map(drop),
                Width::W64 => set.query(0u64, 64).map(drop),
                _ => set.query(0u128, 128).map(drop),
            };
            let Err(Error::Format(met)) = found else {
                panic!("{}: {found:?}", entry.file);
            };
            assert_eq!(met.rule(), read.rule(), "{}", entry.file);
            count += 1;
        }
    }
    assert!(count > 50, "{count}");
}

/// The rank of the last line is one more, so each of its values has the low bits of the next one.
#[test]
fn a_probe_of_a_line_meets_a_value_beyond_the_table() {
    let folder = manifest::folder(FORMAT_VERSION);
    let open = |name: &str| {
        let file = fs::read(folder.join(name)).unwrap();
        Set::from_bytes(Storage::copy(&file)).unwrap()
    };
    let (good, bad) = (
        open("good-lines-64.simidx"),
        open("bad-v45-a-value-too-many.simidx"),
    );
    let mut refused = 0;
    for value in good.fingerprints(0).unwrap() {
        let value = value.unwrap() as u64;
        match bad.query(value, 0) {
            Ok(found) => assert_eq!(found.len(), 1, "{value}"),
            Err(Error::Format(error)) => {
                assert_eq!(error.rule(), 45);
                refused += 1;
            }
            Err(error) => panic!("{error}"),
        }
    }
    assert!(refused > 50, "{refused}");
}

#[test]
fn files_of_other_versions_need_another_reader() {
    let folder = manifest::folder(FORMAT_VERSION);
    for entry in manifest::read(&folder) {
        let mut file = fs::read(folder.join(&entry.file)).unwrap();
        // The contents of a folder of the next version, as far as this reader may look.
        let next = FORMAT_VERSION + 1;
        if file.len() >= 16 && entry.broken.is_none_or(|broken| broken.rule > 3) {
            file[8..10].copy_from_slice(&next.to_le_bytes());
            let checksum = crc32(&file[..12]);
            file[12..16].copy_from_slice(&checksum.to_le_bytes());
        }
        assert_eq!(verdict(&file), expected(&entry, next), "{}", entry.file);
    }
}

#[test]
fn good_files_hold_what_the_manifest_says() {
    let mut seen = BTreeSet::new();
    for (version, entry, file) in files() {
        if entry.expect != Expect::Good || version != FORMAT_VERSION {
            continue;
        }
        let set = Set::from_bytes(Storage::copy(&file)).unwrap();
        let dumps = dumps(&set).unwrap();
        let (segment, name) = (set.first(), &entry.file);
        let summary = segment.summary();
        assert_eq!(set.width().bits(), entry.width, "{name}");
        assert_eq!(summary.tables.len(), entry.table_count, "{name}");
        assert_eq!(summary.block_size as usize, entry.block_size, "{name}");
        assert_eq!(segment.len(), entry.fingerprint_count, "{name}");
        assert_eq!(segment.record_count(), entry.record_count, "{name}");
        assert_eq!(segment.id_kind().name(), entry.ids, "{name}");
        let codecs: BTreeSet<&str> = summary.tables.iter().map(|t| t.codec.name()).collect();
        assert_eq!(codecs, entry.codec.split('+').collect(), "{name}");
        let ids = (entry.ids.clone(), grouped(&entry));
        seen.insert((entry.width, entry.codec.clone(), ids.0, ids.1));
        let contents = crc32(dumps[0].as_bytes());
        assert_eq!(Some(contents), entry.contents_crc32, "{name}");
        let pipeline = segment.pipeline().map(|text| crc32(text.as_bytes()));
        assert_eq!(pipeline, entry.pipeline_crc32, "{name}");
        let lines = segment.metadata().iter();
        let lines: String = lines
            .map(|(key, value)| format!("{key}\t{value}\n"))
            .collect();
        let metadata = (!lines.is_empty()).then(|| crc32(lines.as_bytes()));
        assert_eq!(metadata, entry.metadata_crc32, "{name}");
        let sketches = segment.sketches().unwrap();
        let features = sketches.map(|s| crc32(s.parameters().features().as_bytes()));
        assert_eq!(features, entry.features_crc32, "{name}");
        if let Some(contents) = &entry.contents {
            let text = fs::read_to_string(manifest::folder(version).join(contents)).unwrap();
            assert_eq!(dumps[0], text, "{name}");
        }
        for other in &dumps[1..] {
            assert_eq!(sorted(other), sorted(&dumps[0]), "{name}");
        }
    }
    for width in [32, 64, 128] {
        for codec in ["xor", "gap", "ef", "lines"] {
            for (ids, several) in [
                ("none", false),
                ("number", false),
                ("number", true),
                ("string", false),
                ("string", true),
            ] {
                let wanted = (width, codec.into(), ids.into(), several);
                assert!(seen.contains(&wanted), "no file of {wanted:?}");
            }
        }
    }
}

/// Whether some fingerprint has several ids.
fn grouped(entry: &Entry) -> bool {
    entry.ids != "none" && entry.record_count > entry.fingerprint_count
}

fn sorted(dump: &str) -> Vec<&str> {
    let mut lines: Vec<&str> = dump.lines().collect();
    // The ids of a fingerprint keep their order in every table.
    lines.sort_by_key(|line| line.split('\t').next());
    lines
}

/// Class and stage of each rule, by the table of section 12; those of a retired one are dashes.
fn rules_of_the_specification() -> Vec<(String, String)> {
    let rows = named_table(&specification(), "rules").into_iter();
    let numbered = rows.zip(1..).map(|(row, number): (_, usize)| {
        assert_eq!(row[0], format!("V{number}"));
        (row[2].clone(), row[3].clone())
    });
    numbered.collect()
}

#[test]
fn every_rule_has_its_files_in_the_class_and_at_the_stage_of_the_specification() {
    let rules = rules_of_the_specification();
    assert!(rules.len() >= 41);
    let is_retired = |rule: &usize| rules[rule - 1].0 == "–";
    let mut without: BTreeSet<usize> = (1..=rules.len()).filter(|r| !is_retired(r)).collect();
    assert_eq!(without.len() + 1, rules.len(), "V10 is retired");
    for entry in manifest::read(&manifest::folder(FORMAT_VERSION)) {
        let Some(broken) = entry.broken else { continue };
        let rule = usize::from(broken.rule);
        without.remove(&rule);
        let (class, stage) = &rules[rule - 1];
        assert_eq!(broken.class.name(), class, "{}", entry.file);
        // With two stages a reader meets a rule as far as it looks.
        let mut stages = stage.split(", ").map(|stage| match stage {
            // The library reads all keys when it opens a file.
            "open" | "key" => Stage::Open,
            "block" | "page" | "id" => Stage::Query,
            "verify" => Stage::Verify,
            other => panic!("stage {other}"),
        });
        // Pages of the id order, and what follows the wanted id in a bucket, are read in a full check.
        let is_late = ["page", "id"].contains(&&stage[..]) && broken.stage == Stage::Verify;
        let is_met = is_late || stages.any(|s| s == broken.stage);
        assert!(is_met, "{}: {stage}", entry.file);
        let expect = match broken.class {
            FormatClass::Unsupported => Expect::Unsupported,
            _ => Expect::Bad,
        };
        assert_eq!(entry.expect, expect, "{}", entry.file);
        let from = entry.made_from.expect("it was made of a good file");
        assert!(from.starts_with("good-"), "{}", entry.file);
    }
    assert!(without.is_empty(), "no file breaks {without:?}");
}

/// The rows of a table of vectors of this version, each as its cells.
fn vectors(name: &str) -> Vec<Vec<String>> {
    let text = fs::read_to_string(manifest::folder(FORMAT_VERSION).join(name)).unwrap();
    let rows = text.lines().skip(1);
    rows.map(|row| row.split('\t').map(str::to_owned).collect())
        .collect()
}

fn opened(name: &str) -> Set {
    Set::read_file(manifest::folder(FORMAT_VERSION).join(name)).unwrap()
}

/// Fingerprints in hexadecimal digits as a vector lists them.
fn listed(set: &Set, fingerprints: impl IntoIterator<Item = u128>) -> String {
    let digits = fingerprints.into_iter().map(|f| set.width().to_hex(f));
    match digits.collect::<Vec<_>>() {
        none if none.is_empty() => "-".into(),
        some => some.join(" "),
    }
}

#[test]
fn queries_find_what_their_vectors_list() {
    let rows = vectors("queries.tsv");
    assert!(rows.len() > 200);
    for row in rows {
        let distance = row[2].parse().unwrap();
        let set = opened(&row[0]);
        let query = set.width().from_hex(row[1].as_bytes()).unwrap();
        let mut found: Vec<(u32, u128)> = hit(set.query(query, distance).unwrap());
        found.sort_unstable();
        let found = listed(&set, found.into_iter().map(|(_, fingerprint)| fingerprint));
        assert_eq!(found, row[3], "{row:?}");
    }
}

#[test]
fn lookups_find_what_their_vectors_list() {
    let rows = vectors("lookups.tsv");
    assert!(rows.len() > 200);
    for row in rows {
        let set = opened(&row[0]);
        let found = match set.id_kind() {
            IdKind::Number => set.fingerprints_of_id(row[1].parse::<u64>().unwrap()),
            _ => set.fingerprints_of_id(&row[1][..]),
        };
        let found = listed(&set, found.unwrap());
        assert_eq!(found, row[2], "{row:?}");
    }
}

/// The designs of this crate: the prefixes of all tables, without flips.
#[test]
fn plans_without_flips_are_as_complete_as_their_vectors_say() {
    let mut checked = BTreeSet::new();
    for row in vectors("plans.tsv") {
        let (width, distance) = (&row[0], row[1].parse().unwrap());
        let tables = row[2].split(' ').map(|table| {
            let mask = u32::from_str_radix(table.split(':').next()?, 16).ok()?;
            (table == format!("{mask:08x}:{}:0", mask.count_ones())).then_some(mask)
        });
        let masks: Option<Vec<u32>> = tables.collect();
        let Some(masks) = masks.filter(|_| width == "32" && distance <= 12) else {
            continue;
        };
        let design = TableDesign::from_masks(distance, masks).unwrap();
        let complete = design.coverage(distance) == Coverage::Complete;
        assert_eq!(if complete { "yes" } else { "no" }, row[3], "{row:?}");
        checked.insert(complete);
    }
    assert_eq!(checked.len(), 2, "complete ones and others");
}
