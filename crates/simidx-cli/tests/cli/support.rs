//! Helpers for tests of the command line: a folder, and runs of the program in it.
#![allow(dead_code, reason = "no test file uses all of it")]

use std::ffi::OsStr;
use std::fs;
use std::io::Write;
use std::path::PathBuf;
use std::process::{Command, Output, Stdio};
use std::sync::Arc;

use parquet::data_type::{ByteArray, ByteArrayType};
use parquet::file::writer::SerializedFileWriter;
use parquet::schema::parser::parse_message_type;
use rand::rngs::SmallRng;
use rand::{RngExt, SeedableRng};
use serde_json::Value;
use tempfile::TempDir;

/// The program under test.
pub(crate) const PROGRAM: &str = env!("CARGO_BIN_EXE_simidx");

/// A temporary folder. The program runs in it, so that messages name files without a folder.
pub(crate) struct Sandbox(TempDir);

impl Sandbox {
    pub(crate) fn new() -> Self {
        Sandbox(tempfile::tempdir().unwrap())
    }

    /// Creates a sandbox with `x.simidx`, built from `input` with additional arguments.
    #[track_caller]
    pub(crate) fn with_index(input: (&str, &[u8]), args: &[&str]) -> Self {
        let sandbox = Sandbox::new();
        sandbox.write(input.0, input.1);
        let build = ["build", input.0, "-o", "x.simidx"];
        sandbox.run(&[&build, args].concat()).done();
        sandbox
    }

    pub(crate) fn path(&self, name: &str) -> PathBuf {
        self.0.path().join(name)
    }

    pub(crate) fn write(&self, name: &str, bytes: impl AsRef<[u8]>) {
        fs::write(self.path(name), bytes).unwrap();
    }

    pub(crate) fn read(&self, name: &str) -> Vec<u8> {
        fs::read(self.path(name)).unwrap()
    }

    /// Returns the names of everything in the folder, sorted.
    pub(crate) fn names(&self) -> Vec<String> {
        let entries = fs::read_dir(self.0.path()).unwrap();
        let mut names: Vec<_> = entries
            .map(|entry| entry.unwrap().file_name().into_string().unwrap())
            .collect();
        names.sort();
        names
    }

    pub(crate) fn command<S: AsRef<OsStr>>(&self, args: &[S]) -> Command {
        let mut command = Command::new(PROGRAM);
        command.args(args).current_dir(self.0.path());
        command.stdin(Stdio::null());
        command
    }

    /// Runs the program with an empty standard input.
    pub(crate) fn run<S: AsRef<OsStr>>(&self, args: &[S]) -> Ran {
        Ran::of(self.command(args).output().unwrap())
    }

    /// Runs the program with these bytes as its standard input.
    pub(crate) fn pipe<S: AsRef<OsStr>>(&self, args: &[S], input: &[u8]) -> Ran {
        let mut command = self.command(args);
        command.stdin(Stdio::piped()).stdout(Stdio::piped());
        let mut child = command.stderr(Stdio::piped()).spawn().unwrap();
        let (mut stdin, input) = (child.stdin.take().unwrap(), input.to_vec());
        // A program that ends before it has read everything does not fail the test.
        let writer = std::thread::spawn(move || drop(stdin.write_all(&input)));
        let ran = Ran::of(child.wait_with_output().unwrap());
        writer.join().unwrap();
        ran
    }

    /// Runs a shell command in which `"$0" "$@"` is the program with its arguments.
    pub(crate) fn shell(&self, script: &str, args: &[&str]) -> Ran {
        let mut command = Command::new("sh");
        command.args(["-c", script, PROGRAM]).args(args);
        command.current_dir(self.0.path()).stdin(Stdio::null());
        Ran::of(command.output().unwrap())
    }
}

/// The result of a run of the program.
#[derive(Debug)]
pub(crate) struct Ran {
    pub(crate) code: Option<i32>,
    pub(crate) stdout: Vec<u8>,
    pub(crate) stderr: String,
}

impl Ran {
    pub(crate) fn of(output: Output) -> Self {
        Ran {
            code: output.status.code(),
            stdout: output.stdout,
            stderr: String::from_utf8(output.stderr).unwrap(),
        }
    }

    /// Asserts exit code 0 and a silent stderr.
    #[track_caller]
    pub(crate) fn done(self) -> Self {
        assert_eq!((self.code, self.stderr.as_str()), (Some(0), ""), "{self:?}");
        self
    }

    /// Asserts exit code 1 and a silent stderr.
    #[track_caller]
    pub(crate) fn no(self) -> Self {
        assert_eq!((self.code, self.stderr.as_str()), (Some(1), ""), "{self:?}");
        self
    }

    /// Asserts exit code 2, nothing on stdout and this one line on stderr.
    #[track_caller]
    pub(crate) fn refused(self, message: &str) {
        let expected = format!("simidx: {message}\n");
        assert_eq!(
            (self.code, self.text(), &*self.stderr),
            (Some(2), "", &*expected)
        );
    }

    /// Asserts exit code 2, nothing on stdout and one line on stderr, and returns the line.
    #[track_caller]
    pub(crate) fn refusal(&self) -> &str {
        assert_eq!((self.code, self.text()), (Some(2), ""), "{self:?}");
        let line = self.stderr.strip_suffix('\n').unwrap_or_default();
        assert!(
            line.starts_with("simidx: ") && !line.contains('\n'),
            "{self:?}"
        );
        &line["simidx: ".len()..]
    }

    #[track_caller]
    pub(crate) fn text(&self) -> &str {
        std::str::from_utf8(&self.stdout).unwrap()
    }

    pub(crate) fn lines(&self) -> Vec<&str> {
        self.text().lines().collect()
    }

    /// Returns the only JSON object on stdout.
    #[track_caller]
    pub(crate) fn json(&self) -> Value {
        let objects = self.json_lines();
        assert_eq!(objects.len(), 1, "{self:?}");
        objects[0].clone()
    }

    #[track_caller]
    pub(crate) fn json_lines(&self) -> Vec<Value> {
        let lines = self.text().lines();
        let objects = lines.map(|line| serde_json::from_str(line).unwrap());
        objects
            .inspect(|o: &Value| assert!(o.is_object()))
            .collect()
    }
}

/// Returns the keys of a JSON object, sorted.
#[track_caller]
pub(crate) fn keys(object: &Value) -> Vec<&str> {
    let mut keys: Vec<_> = object.as_object().unwrap().keys().map(|k| &**k).collect();
    keys.sort_unstable();
    keys
}

/// Returns `count` random little-endian words. More than eight million bytes of them exceed the smallest memory limit.
pub(crate) fn words(count: u64) -> Vec<u8> {
    let mut rng = SmallRng::seed_from_u64(count);
    (0..count)
        .flat_map(|_| rng.random::<u64>().to_le_bytes())
        .collect()
}

/// Returns fingerprints. Every fourth is random and the others are within 5 bits of it; some are repeated.
pub(crate) fn sample(count: usize) -> Vec<u64> {
    let mut rng = SmallRng::seed_from_u64(7);
    let mut all = Vec::with_capacity(count);
    let mut centre = 0;
    for i in 0..count {
        if i % 4 == 0 {
            centre = rng.random();
        }
        let flips = (0..i % 4 * 5 / 3).map(|_| 1u64 << rng.random_range(0..64));
        all.push(flips.fold(centre, |value, bit| value ^ bit));
    }
    all.extend_from_within(..count / 20);
    all
}

/// Returns a line of hexadecimal digits for each fingerprint.
pub(crate) fn hex(fingerprints: &[u64]) -> Vec<u8> {
    let lines = fingerprints.iter().map(|value| format!("{value:016x}\n"));
    lines.collect::<String>().into_bytes()
}

pub(crate) fn gzip(bytes: &[u8]) -> Vec<u8> {
    let mut encoder = flate2::write::GzEncoder::new(Vec::new(), flate2::Compression::fast());
    encoder.write_all(bytes).unwrap();
    encoder.finish().unwrap()
}

/// Returns a Parquet file of the members with these names, which are strings, of lines of JSON.
pub(crate) fn parquet(lines: &str, names: &[&str]) -> Vec<u8> {
    let lines = lines
        .lines()
        .map(|line| serde_json::from_str(line).unwrap());
    let rows: Vec<Value> = lines.collect();
    let columns = names.iter();
    let columns: String = columns
        .map(|name| format!("optional binary {name} (UTF8); "))
        .collect();
    let schema = parse_message_type(&format!("message rows {{ {columns} }}")).unwrap();
    let mut file = Vec::new();
    let mut writer =
        SerializedFileWriter::new(&mut file, Arc::new(schema), Arc::default()).unwrap();
    let mut group = writer.next_row_group().unwrap();
    for name in names {
        let texts = rows.iter().map(|row| row[*name].as_str());
        let levels: Vec<i16> = texts.clone().map(|text| text.is_some().into()).collect();
        let texts: Vec<ByteArray> = texts.flatten().map(ByteArray::from).collect();
        let mut column = group.next_column().unwrap().unwrap();
        let values = column.typed::<ByteArrayType>();
        values.write_batch(&texts, Some(&levels), None).unwrap();
        column.close().unwrap();
    }
    group.close().unwrap();
    writer.close().unwrap();
    file
}

/// Changes the version of an index to a later one, with a valid checksum.
pub(crate) fn newer(mut index: Vec<u8>) -> Vec<u8> {
    index[8..10].copy_from_slice(&2u16.to_le_bytes());
    let checksum = crc32fast::hash(&index[..12]);
    index[12..16].copy_from_slice(&checksum.to_le_bytes());
    index
}
