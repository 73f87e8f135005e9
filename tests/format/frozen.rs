//! Version 1 is final: the test files that it was frozen with are never changed or removed, only added to.

use std::fs;

use simidx::Set;
use simidx::format::FORMAT_VERSION;
use simidx_testkit::document::root;
use simidx_testkit::encoding::crc32;
use simidx_testkit::manifest::folder;

/// The CRC-32 of the list of frozen files. A change of this number breaks a promise (specification, section 14).
const LIST_CRC: u32 = 0x4540_b209;

/// Frozen files.
const COUNT: usize = 657;

/// The list: on each line the CRC-32 of a file in hexadecimal, and its name.
fn list() -> String {
    let list = fs::read_to_string(root().join("tests/data/frozen-v1.tsv"));
    list.expect("the list of frozen files is there")
}

#[test]
fn the_list_of_frozen_files_is_what_it_was() {
    assert_eq!(crc32(list().as_bytes()), LIST_CRC);
    assert_eq!(list().lines().count(), COUNT);
}

#[test]
fn frozen_files_are_what_they_were() {
    for line in list().lines() {
        let (crc, name) = line.split_once('\t').expect("a number and a name");
        let file = fs::read(folder(1).join(name));
        let file = file.unwrap_or_else(|error| panic!("{name}: {error}"));
        assert_eq!(format!("{:08x}", crc32(&file)), crc, "{name}");
    }
}

#[test]
fn this_library_reads_and_writes_the_frozen_version() {
    assert_eq!(FORMAT_VERSION, 1);
    let good = list();
    let good = good.lines().filter_map(|line| line.split_once('\t'));
    let good = good.filter(|(_, name)| name.starts_with("good-") && name.ends_with(".simidx"));
    let mut count = 0;
    for (_, name) in good {
        let opened = Set::read_file(folder(1).join(name));
        let index = opened.unwrap_or_else(|error| panic!("{name}: {error}"));
        let report = index
            .segment(0)
            .unwrap()
            .verify(&Default::default())
            .unwrap();
        assert!(report.is_sound(), "{name}");
        count += 1;
    }
    assert!(count > 50, "{count}");
}
