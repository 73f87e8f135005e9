//! Manifests: a set answers as its segments do, and damaged or hostile manifests are refused.

use std::fs;
use std::path::Path;

use simidx::set::{Manifest, ManifestSegment};
use simidx::{BuildOptions, Error, Fingerprint, IndexBuilder, Set, Width};
use simidx_testkit::hit;
use tempfile::TempDir;

fn build<F: Fingerprint>(path: &Path, fingerprints: &[F]) {
    let mut builder = IndexBuilder::new(Width::of::<F>(), BuildOptions::default()).unwrap();
    builder.extend_from_slice(fingerprints).unwrap();
    builder.finish_to_path(path).unwrap();
}

/// A folder with a published set of two segments, one of them in a folder of its own.
fn published() -> (TempDir, Manifest) {
    let folder = tempfile::tempdir().unwrap();
    fs::create_dir(folder.path().join("sub")).unwrap();
    build(&folder.path().join("a b.simidx"), &[0xff_u64, 0xf0]);
    build(&folder.path().join("sub/é.simidx"), &[0xfe_u64, u64::MAX]);
    let mut manifest = Manifest::default();
    manifest.generation = 7;
    manifest.notes.insert("made-by".into(), "a test".into());
    for name in ["a b.simidx", "sub/é.simidx"] {
        manifest.add_file(folder.path(), name).unwrap();
    }
    manifest.publish(folder.path()).unwrap();
    (folder, manifest)
}

/// A text with its checksum.
fn sealed(text: &str) -> Vec<u8> {
    format!("{text}crc32 {:08x}\n", crc32fast::hash(text.as_bytes())).into_bytes()
}

#[track_caller]
fn refused(bytes: &[u8]) -> (Option<u64>, String) {
    match Manifest::from_bytes(bytes) {
        Err(Error::Manifest(error)) => (error.line(), error.message().to_owned()),
        other => panic!("{other:?}"),
    }
}

#[test]
fn a_set_answers_as_its_segments() {
    let (folder, manifest) = published();
    let read = Manifest::read(folder.path()).unwrap();
    assert_eq!(read.generation, 7);
    assert_eq!(read.segments, manifest.segments);
    assert_eq!(read.notes, manifest.notes);
    assert_eq!(read.to_bytes().unwrap(), manifest.to_bytes().unwrap());
    assert_eq!(read.segments[1].range, Some((0xfe, u64::MAX.into())));
    let file = folder.path().join(Manifest::FILE_NAME);
    assert_eq!(read.path(), Some(&*file));
    for path in [folder.path(), &file] {
        assert!(Manifest::is_at(path).unwrap());
        for set in [
            Manifest::read(path).unwrap().open(),
            #[cfg(feature = "mmap")]
            Set::open([path]),
            Set::open_in_memory([path]),
        ] {
            let set = set.unwrap();
            assert_eq!((set.width(), set.segment_count()), (Width::W64, 2));
            let found = hit(set.query(0xff_u64, 1).unwrap());
            assert_eq!(found, [(0, 0xff), (1, 0xfe)]);
        }
    }
    // Next to files, and with another name.
    let other = folder.path().join("copy");
    fs::copy(&file, &other).unwrap();
    build(&folder.path().join("c.simidx"), &[1_u64]);
    let all = Set::open_in_memory([folder.path().join("c.simidx"), other]).unwrap();
    assert_eq!(all.record_count(), 5);
}

#[test]
fn what_is_no_set_is_none() {
    let folder = tempfile::tempdir().unwrap();
    assert!(!Manifest::is_at(folder.path()).unwrap());
    assert!(!Manifest::is_at(folder.path().join("none")).unwrap());
    let index = folder.path().join("a.simidx");
    build(&index, &[7_u64]);
    assert!(!Manifest::is_at(&index).unwrap());
    let Err(Error::Manifest(error)) = Manifest::read(&index) else {
        panic!("it is an index")
    };
    assert_eq!(
        error.to_string(),
        format!("{}: line 1: not a simidx set", index.display())
    );
    let Err(Error::Io(error)) = Manifest::read(folder.path()) else {
        panic!("there is none")
    };
    assert!(error.to_string().contains(Manifest::FILE_NAME), "{error}");
}

#[test]
fn a_set_is_replaced_whole() {
    let (folder, mut manifest) = published();
    let old = Manifest::read(folder.path()).unwrap().open().unwrap();
    build(&folder.path().join("c.simidx"), &[0xfd_u64]);
    manifest.segments.clear();
    manifest.add_file(folder.path(), "c.simidx").unwrap();
    manifest.publish(folder.path()).unwrap();
    for name in ["a b.simidx", "sub/é.simidx"] {
        fs::remove_file(folder.path().join(name)).unwrap();
    }
    let new = Manifest::read(folder.path()).unwrap().open().unwrap();
    assert_eq!(old.query(0xff_u64, 1).unwrap().len(), 2);
    assert_eq!(new.query(0xff_u64, 1).unwrap()[0].fingerprint, 0xfd);
}

#[test]
fn a_reader_that_meets_a_replaced_file_reads_again() {
    let (folder, manifest) = published();
    let replaced = std::cell::Cell::new(false);
    let opened = Manifest::read_and_open(folder.path(), |path| {
        if !replaced.replace(true) {
            build(&folder.path().join("c.simidx"), &[0xfd_u64]);
            let mut next = manifest.clone();
            next.segments.clear();
            next.add_file(folder.path(), "c.simidx").unwrap();
            next.publish(folder.path()).unwrap();
            fs::remove_file(path).unwrap();
        }
        Set::read_file(path)
    });
    let (read, indexes) = opened.unwrap();
    assert_eq!(
        (read.segments[0].name.as_str(), indexes.len()),
        ("c.simidx", 1)
    );

    fs::remove_file(folder.path().join("c.simidx")).unwrap();
    let Err(Error::Io(error)) = Manifest::read(folder.path()).unwrap().open() else {
        panic!("the file is gone")
    };
    assert!(error.to_string().contains("c.simidx"), "{error}");
    let gone = Manifest::read_and_open(folder.path(), |path| Set::read_file(path));
    assert!(matches!(gone, Err(Error::Io(_))));
}

#[test]
fn a_file_that_is_not_the_listed_one_is_refused() {
    let (folder, _) = published();
    for (fingerprints, what) in [
        (&[0xff_u64, 0xf1][..], "content id"),
        (&[0xff, 0xf0, 0xf0], "number of records"),
        (&[0xff], "number of records"),
    ] {
        build(&folder.path().join("a b.simidx"), fingerprints);
        let error = Set::open_in_memory([folder.path()])
            .unwrap_err()
            .to_string();
        // Other numbers may mean another length.
        assert!(
            error.contains("a b.simidx is not the file that is listed"),
            "{error}"
        );
        assert!(error.contains(what) || error.contains("length"), "{error}");
    }
    build(&folder.path().join("a b.simidx"), &[0xff_u32, 0xf0]);
    let error = Set::open_in_memory([folder.path()])
        .unwrap_err()
        .to_string();
    assert!(
        error.ends_with("its width is 32, and 64 is listed"),
        "{error}"
    );
}

#[test]
fn every_damage_is_refused() {
    let (_folder, manifest) = published();
    let bytes = manifest.to_bytes().unwrap();
    for len in 0..bytes.len() {
        refused(&bytes[..len]);
    }
    for place in 0..bytes.len() {
        for bit in 0..8 {
            let mut damaged = bytes.clone();
            damaged[place] ^= 1 << bit;
            refused(&damaged);
        }
    }
    let twice = [&bytes[..], &bytes[..]].concat();
    refused(&twice);
    refused(&[&bytes[..], b"\n"].concat());
    let zeros = vec![0; 1 << 20];
    refused(&zeros);
}

#[test]
fn an_endless_file_is_refused() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join(Manifest::FILE_NAME);
    fs::File::create(&path).unwrap().set_len(1 << 40).unwrap();
    let Err(Error::Manifest(error)) = Manifest::read(folder.path()) else {
        panic!("it is too long")
    };
    assert_eq!(error.message(), "a manifest has at most 67108864 bytes");
    #[cfg(unix)]
    assert!(matches!(Manifest::read("/dev/zero"), Err(Error::Io(_))));
}

#[test]
fn hostile_lines_are_refused_under_right_checksums() {
    let (_folder, manifest) = published();
    let bytes = manifest.to_bytes().unwrap();
    let text = std::str::from_utf8(&bytes[..bytes.len() - 15]).unwrap();
    assert!(Manifest::from_bytes(&sealed(text)).is_ok());
    let replaced = |from: &str, to: &str| {
        assert!(text.contains(from), "{from}");
        refused(&sealed(&text.replace(from, to)))
    };
    for name in [
        "../a.simidx",
        "sub/../../a",
        "/etc/passwd",
        "C:a",
        "a\\..\\..\\b",
        "./a",
        "a//b",
        "a/",
        "",
        "a\u{1}b",
        "sub/é.simidx",
    ] {
        let (line, message) = replaced("a b.simidx", name);
        let second = name == "sub/é.simidx";
        assert_eq!(line, Some(if second { 5 } else { 4 }), "{name}: {message}");
    }
    replaced("a b.simidx", &"n".repeat(1025));
    for (from, to) in [
        ("simidx-set 1", "simidx-set 2"),
        ("generation 7", "generation +7"),
        ("generation 7", "generation 07"),
        ("generation 7", "generation 18446744073709551616"),
        ("generation 7\n", ""),
        ("note\tmade-by", "note\tmade by"),
        ("note\tmade-by", "note\t"),
        ("a test", "a\rtest"),
        ("note\t", "nota\t"),
        ("\t64\t3\n", "\t63\t3\n"),
        ("\t64\t3\n", "\t32\t3\n"),
        ("\t64\t3\n", "\t64\t65\n"),
        ("\t64\t3\n", "\t64\t3\t\n"),
        ("\t64\t3\n", "\t64\t3\r\n"),
        ("\t64\t3\n", "\t64\t-3\n"),
        ("\t2\t2\t", "\t1\t2\t"),
        ("\t2\t2\t", "\t0\t0\t"),
        ("00000000000000f0", "-"),
        ("00000000000000f0", "f0"),
        ("00000000000000f0", "00000000000000F0"),
        ("00000000000000f0", "00000000000fffff"),
        (
            "note\tmade-by\ta test\n",
            "note\tmade-by\ta test\nnote\tmade-by\tb\n",
        ),
        ("note\tmade-by\ta test\n", "note\tz\ta\nnote\tb\ta\n"),
    ] {
        replaced(from, to);
    }
}

#[test]
fn what_cannot_be_written_is_refused() {
    let (folder, mut manifest) = published();
    for name in ["../x", "/x", ""] {
        let error = manifest.add_file(folder.path(), name).unwrap_err();
        assert!(matches!(error, Error::Options(_)), "{error}");
    }
    let twice = manifest.segments[0].clone();
    manifest.segments.push(twice);
    assert!(manifest.publish(folder.path()).is_err());
    manifest.segments.pop();
    manifest.notes.insert("key".into(), "two\nlines".into());
    assert!(manifest.publish(folder.path()).is_err());
    assert_eq!(Manifest::read(folder.path()).unwrap().notes.len(), 1);
}

#[test]
fn a_segment_without_fingerprints_and_one_of_128_bits_are_listed() {
    let folder = tempfile::tempdir().unwrap();
    build::<u128>(&folder.path().join("empty"), &[]);
    build(&folder.path().join("wide"), &[1_u128 << 127, 9]);
    let mut manifest = Manifest::default();
    for name in ["empty", "wide"] {
        manifest.add_file(folder.path(), name).unwrap();
    }
    manifest.publish(folder.path()).unwrap();
    let read = Manifest::read(folder.path()).unwrap();
    let ranges: Vec<_> = read.segments.iter().map(|segment| segment.range).collect();
    assert_eq!(ranges, [None, Some((9, 1 << 127))]);
    let set = read.open().unwrap();
    assert_eq!((set.width(), set.record_count()), (Width::W128, 2));
    let listed = ManifestSegment::of_file("wide", set.segment(1).unwrap()).unwrap();
    let len = fs::metadata(folder.path().join("wide")).unwrap().len();
    assert_eq!(listed.file_len, len);
    assert_eq!(listed, read.segments[1]);
}

#[test]
fn the_example_of_the_specification_is_a_set() {
    let folder = tempfile::tempdir().unwrap();
    build(&folder.path().join("a.simidx"), &[0xf0_u64, 0xff]);
    let mut manifest = Manifest::default();
    manifest.generation = 1;
    manifest.add_file(folder.path(), "a.simidx").unwrap();
    let text = String::from_utf8(manifest.to_bytes().unwrap()).unwrap();
    let specification = include_str!("../../book/spec/set-spec.md");
    assert!(
        specification.contains(&format!("```text\n{text}```\n")),
        "{text}"
    );
}
