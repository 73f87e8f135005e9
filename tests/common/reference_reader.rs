//! The reader in Python, which was written from the specification alone, and the verdicts of both readers.

use std::io::{BufRead, BufReader, Write};
use std::path::Path;
use std::process::{Child, ChildStdin, ChildStdout, Command, Output, Stdio};
use std::sync::{LazyLock, Mutex, PoisonError};

use simidx::{AnyIndex, Error};

/// Judges the files that come on its input, each behind its length, and prints a line for each.
const JUDGE: &str = r#"
import sys
sys.path.insert(0, sys.argv[1])
import simidx_ref as reader

while head := sys.stdin.buffer.read(8):
    data = sys.stdin.buffer.read(int.from_bytes(head, "little"))
    try:
        reader.verify(reader.Index(data))
        verdict = "sound"
    except reader.Rejected as rejected:
        verdict = str(rejected).split(":")[0]
    except Exception as error:
        verdict = f"not judged: {error!r}"
    print(verdict, flush=True)
"#;

fn tools() -> &'static Path {
    Path::new(concat!(env!("CARGO_MANIFEST_DIR"), "/tools"))
}

/// Python that leaves no compiled files behind. It must be 3.9 or newer.
fn python() -> Command {
    let mut command = Command::new("python3");
    command.arg("-B");
    command
}

/// Runs the reference reader as a user does.
pub(crate) fn run(arguments: &[&str]) -> Output {
    python()
        .arg(tools().join("simidx_ref.py"))
        .args(arguments)
        .output()
        .expect("python3 must be installed for this test")
}

/// One Python process that judges all files of a test program; it ends when the program does.
struct Judge {
    _process: Child,
    files: ChildStdin,
    verdicts: BufReader<ChildStdout>,
}

impl Judge {
    fn start() -> Self {
        let mut process = python()
            .args(["-c", JUDGE])
            .arg(tools())
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .spawn()
            .expect("python3 must be installed for this test");
        Judge {
            files: process.stdin.take().expect("the input is a pipe"),
            verdicts: BufReader::new(process.stdout.take().expect("the output is a pipe")),
            _process: process,
        }
    }

    fn verdict(&mut self, file: &[u8]) -> String {
        let len = (file.len() as u64).to_le_bytes();
        self.files.write_all(&len).expect("python takes the length");
        self.files.write_all(file).expect("python takes the file");
        self.files.flush().expect("python takes the file");
        let mut line = String::new();
        self.verdicts
            .read_line(&mut line)
            .expect("python gives a verdict");
        line.trim_end().to_owned()
    }
}

static JUDGE_PROCESS: LazyLock<Mutex<Judge>> = LazyLock::new(|| Mutex::new(Judge::start()));

/// `class Vn` of the first rule that a file breaks, by the reference reader; `sound` for a sound one.
pub(crate) fn reference_verdict(file: &[u8]) -> String {
    let judge = JUDGE_PROCESS.lock();
    judge.unwrap_or_else(PoisonError::into_inner).verdict(file)
}

/// The same by this crate.
pub(crate) fn verdict(file: &[u8]) -> String {
    let error = match AnyIndex::from_bytes(file) {
        Err(Error::Format(error)) => error,
        Err(error) => panic!("{error}"),
        Ok(index) => {
            let report = match index {
                AnyIndex::W32(index) => index.verify(),
                AnyIndex::W64(index) => index.verify(),
                AnyIndex::W128(index) => index.verify(),
            };
            match report.problems.into_iter().next() {
                None => return "sound".into(),
                Some(problem) => problem,
            }
        }
    };
    format!("{} V{}", error.class.name(), error.rule)
}

/// The verdict on a file, which must be that of both readers.
pub(crate) fn common_verdict(file: &[u8]) -> String {
    let ours = verdict(file);
    assert_eq!(
        ours,
        reference_verdict(file),
        "this crate and the reference reader"
    );
    ours
}
