//! Files that appear under their names when they are complete: what is there before, meanwhile and after, whatever goes
//! wrong.

use std::fs;
use std::io::{self, Write};
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::path::Path;

use simidx::Set;
use simidx::builder::AtomicFile;
use simidx::merge::MergeOptions;
use simidx::{BuildOptions, Error, IndexBuilder, Watch, Width};
use simidx_testkit::{build, recording};

/// The names in a folder, in order.
fn names(folder: &Path) -> Vec<String> {
    let entries = fs::read_dir(folder).unwrap();
    let name = |entry: io::Result<fs::DirEntry>| entry.unwrap().file_name().into_string().unwrap();
    let mut names: Vec<String> = entries.map(name).collect();
    names.sort();
    names
}

fn builder(fingerprints: &[u64]) -> IndexBuilder {
    watched(Watch::default(), fingerprints)
}

fn watched(watch: Watch, fingerprints: &[u64]) -> IndexBuilder {
    let options = BuildOptions::default().watch(watch);
    let mut builder = IndexBuilder::new(Width::W64, options).unwrap();
    builder.extend_from_slice(fingerprints).unwrap();
    builder
}

#[test]
fn the_file_of_a_path_is_that_of_a_writer() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("x.simidx");
    let fingerprints: Vec<u64> = (0..10_000u64)
        .map(|i| i.wrapping_mul(0x9e37_79b9_7f4a_7c15))
        .collect();
    let expected = build(BuildOptions::default(), &fingerprints);
    let (watch, calls) = recording(usize::MAX);
    let summary = watched(watch, &fingerprints).finish_to_path(&path).unwrap();
    assert!(!calls.lock().unwrap().is_empty());
    assert_eq!(summary.file_len, expected.len() as u64);
    assert!(fs::read(&path).unwrap() == expected);
    assert_eq!(names(folder.path()), ["x.simidx"]);
}

#[test]
fn a_merge_may_replace_a_segment_that_is_open() {
    let folder = tempfile::tempdir().unwrap();
    let paths = ["a", "b"].map(|name| folder.path().join(name));
    builder(&[1, 2]).finish_to_path(&paths[0]).unwrap();
    builder(&[2, 3]).finish_to_path(&paths[1]).unwrap();
    let segments = Set::open_in_memory(&paths).unwrap();
    let options = MergeOptions::default();
    segments.merge_to_path(&options, &paths[0]).unwrap();
    assert!(fs::read(&paths[0]).unwrap() == build(BuildOptions::default(), &[1u64, 2, 2, 3]));
    assert_eq!(names(folder.path()), ["a", "b"]);
}

#[test]
fn nothing_is_under_the_name_before_the_commit_and_all_of_it_after() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("x");
    fs::write(&path, "old").unwrap();
    let mut file = AtomicFile::create(&path).unwrap();
    assert_eq!(file.path(), path);
    // More than is gathered before a write.
    let new = vec![7; 1 << 20];
    file.write_all(&new).unwrap();
    file.sync().unwrap();
    assert_eq!(fs::read_to_string(&path).unwrap(), "old");
    assert_eq!(fs::metadata(file.temporary_path()).unwrap().len(), 1 << 20);
    assert_eq!(file.temporary_path().parent(), Some(folder.path()));
    file.write_all(b"!").unwrap();
    file.commit().unwrap();
    assert!(fs::read(&path).unwrap() == [&new[..], b"!"].concat());
    assert_eq!(names(folder.path()), ["x"]);
}

#[test]
fn an_error_a_panic_and_a_drop_leave_the_old_file_alone() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("x");
    fs::write(&path, "old").unwrap();
    let failed = AtomicFile::write_with(&path, |file| {
        file.write_all(b"new")?;
        Err::<(), _>(io::Error::other("no more"))
    });
    assert_eq!(failed.unwrap_err().to_string(), "no more");
    let panicked = catch_unwind(AssertUnwindSafe(|| {
        watched(Watch::new(|_| panic!("on purpose")), &[1]).finish_to_path(&path)
    }));
    assert!(panicked.is_err());
    AtomicFile::create(&path).unwrap().write_all(b"n").unwrap();
    assert_eq!(fs::read_to_string(&path).unwrap(), "old");
    assert_eq!(names(folder.path()), ["x"]);
}

#[test]
fn what_is_no_file_to_replace_is_refused_at_once() {
    let folder = tempfile::tempdir().unwrap();
    let refused = |name: &str| {
        let path = folder.path().join(name);
        let error = AtomicFile::create(&path).unwrap_err();
        let message = error.to_string();
        let message = message.strip_prefix(&format!("{}: ", path.display()));
        (error.kind(), message.unwrap().to_owned())
    };
    fs::create_dir(folder.path().join("directory")).unwrap();
    let expected = (io::ErrorKind::IsADirectory, "is a directory".to_owned());
    assert_eq!(refused("directory"), expected);
    assert_eq!(refused("directory/."), expected);
    let (kind, message) = refused("missing/x");
    assert_eq!(kind, io::ErrorKind::NotFound);
    assert_eq!(message, "its folder does not exist");
    assert_eq!(refused("x/").0, io::ErrorKind::InvalidInput);
    match builder(&[1]).finish_to_path(folder.path().join("directory")) {
        Err(Error::Io(error)) => assert_eq!(error.kind(), io::ErrorKind::IsADirectory),
        other => panic!("{other:?}"),
    }
    assert_eq!(names(folder.path()), ["directory"]);
}

#[cfg(unix)]
#[test]
fn permissions_of_the_old_file_are_kept() {
    use std::os::unix::fs::PermissionsExt;
    let folder = tempfile::tempdir().unwrap();
    let mode = |path: &Path| fs::metadata(path).unwrap().permissions().mode() & 0o777;
    let usual = folder.path().join("usual");
    fs::write(&usual, "").unwrap();
    let path = folder.path().join("x");
    AtomicFile::create(&path).unwrap().commit().unwrap();
    assert_eq!(
        mode(&path),
        mode(&usual),
        "those of a file made in the usual way"
    );
    for kept in [0o600, 0o666, 0o444, 0o751] {
        fs::set_permissions(&path, fs::Permissions::from_mode(kept)).unwrap();
        let mut file = AtomicFile::create(&path).unwrap();
        assert_eq!(mode(file.temporary_path()), kept);
        file.write_all(b"new").unwrap();
        file.commit().unwrap();
        assert_eq!(mode(&path), kept);
    }
}

#[cfg(unix)]
#[test]
fn links_stay_and_what_they_point_to_is_replaced() {
    use std::os::unix::fs::symlink;
    let folder = tempfile::tempdir().unwrap();
    let at = |name: &str| folder.path().join(name);
    fs::create_dir(at("deep")).unwrap();
    fs::write(at("deep/real"), "old").unwrap();
    symlink("deep/real", at("link")).unwrap();
    symlink("link", at("link-to-link")).unwrap();
    symlink("deep/not-yet", at("dangling")).unwrap();
    symlink("circle", at("circle")).unwrap();
    symlink("deep", at("folder")).unwrap();
    let write = |name: &str| {
        AtomicFile::write_with(at(name), |file| {
            assert!(file.temporary_path().starts_with(at("deep")));
            file.write_all(name.as_bytes())
        })
    };
    write("link-to-link").unwrap();
    assert_eq!(fs::read_to_string(at("deep/real")).unwrap(), "link-to-link");
    write("dangling").unwrap();
    assert_eq!(fs::read_to_string(at("deep/not-yet")).unwrap(), "dangling");
    assert!(write("circle").is_err());
    assert!(write("folder").is_err());
    for link in ["link", "link-to-link", "dangling", "circle", "folder"] {
        assert!(fs::symlink_metadata(at(link)).unwrap().is_symlink());
    }
    assert_eq!(names(&at("deep")), ["not-yet", "real"]);
}

/// A device that is always full.
#[cfg(target_os = "linux")]
#[test]
fn a_device_is_refused() {
    let error = AtomicFile::create("/dev/full").unwrap_err();
    assert_eq!(error.to_string(), "/dev/full: is not a regular file");
}
