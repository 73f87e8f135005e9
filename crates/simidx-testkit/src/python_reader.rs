//! The reader in Python, which was written only from the specification, and the verdicts of both readers.

use std::io::{Read, Write};
use std::path::Path;
use std::process::{Child, ChildStdin, ChildStdout, Command, Output, Stdio};
use std::sync::{Mutex, PoisonError};

use simidx::{Error, Set, Storage};

/// Serves requests, each a letter and a body preceded by its length: `J` judges a file, `R` runs the program with
/// arguments separated by zero bytes. An answer is preceded by its length too.
const SERVER: &str = r#"
import contextlib
import io
import sys
sys.path.insert(0, sys.argv[1])
import simidx_ref as reader

def judge(data):
    try:
        reader.verify(reader.Index(data))
        return b"sound"
    except reader.Rejected as rejected:
        return str(rejected).split(":")[0].encode()
    except Exception as error:
        return f"not judged: {error!r}".encode()

def run(arguments):
    sys.argv = ["simidx_ref.py", *arguments.decode().split("\0")]
    printed = io.TextIOWrapper(io.BytesIO(), encoding="utf-8")
    with contextlib.redirect_stdout(printed):
        status = reader.main()
        printed.flush()
    return printed.buffer.getvalue() if status == 0 else f"exit status {status}".encode()

while head := sys.stdin.buffer.read(9):
    body = sys.stdin.buffer.read(int.from_bytes(head[1:], "little"))
    answer = judge(body) if head[:1] == b"J" else run(body)
    sys.stdout.buffer.write(len(answer).to_bytes(8, "little") + answer)
    sys.stdout.buffer.flush()
"#;

fn tools() -> &'static Path {
    Path::new(concat!(env!("CARGO_MANIFEST_DIR"), "/../../tools"))
}

/// Returns a command that runs Python without leaving compiled files. It must be 3.9 or newer.
fn python() -> Command {
    let mut command = Command::new("python3");
    command.arg("-B");
    command
}

/// Runs the reader as a user does.
pub fn run(arguments: &[&str]) -> Output {
    python()
        .arg(tools().join("simidx_ref.py"))
        .args(arguments)
        .output()
        .expect("python3 must be installed for this test")
}

/// A Python process that answers one request at a time. It ends with the test program.
struct Server {
    _process: Child,
    requests: ChildStdin,
    answers: ChildStdout,
}

impl Server {
    fn start() -> Self {
        let mut process = python()
            .args(["-c", SERVER])
            .arg(tools())
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .spawn()
            .expect("python3 must be installed for this test");
        Server {
            requests: process.stdin.take().expect("the input is a pipe"),
            answers: process.stdout.take().expect("the output is a pipe"),
            _process: process,
        }
    }

    fn answer(&mut self, kind: u8, body: &[u8]) -> String {
        let head = [&[kind][..], &(body.len() as u64).to_le_bytes()].concat();
        self.requests
            .write_all(&head)
            .expect("python takes the length");
        self.requests
            .write_all(body)
            .expect("python takes the body");
        self.requests.flush().expect("python takes the body");
        let mut len = [0; 8];
        self.answers.read_exact(&mut len).expect("python answers");
        let len = usize::try_from(u64::from_le_bytes(len)).expect("it fits into memory");
        let mut answer = vec![0; len];
        self.answers
            .read_exact(&mut answer)
            .expect("python answers");
        String::from_utf8(answer).expect("python prints UTF-8")
    }
}

fn ask(kind: u8, body: &[u8]) -> String {
    // The idle processes. There are as many as threads have asked at the same time.
    static IDLE: Mutex<Vec<Server>> = Mutex::new(Vec::new());
    let idle = || IDLE.lock().unwrap_or_else(PoisonError::into_inner);
    let waiting = idle().pop();
    let mut server = waiting.unwrap_or_else(Server::start);
    let answer = server.answer(kind, body);
    idle().push(server);
    answer
}

/// Returns the output of the reader with these arguments; `exit status N` if it fails. Uses an idle process, and starts
/// one only if there is none; [`run`] always starts one.
pub fn printed(arguments: &[&str]) -> String {
    ask(b'R', arguments.join("\0").as_bytes())
}

/// Returns `class Vn` of the first rule that a file breaks, by the reader in Python; `sound` for a valid file.
pub fn python_verdict(file: &[u8]) -> String {
    ask(b'J', file)
}

/// Returns the same verdict by this crate.
pub fn verdict(file: &[u8]) -> String {
    let error = match Set::from_bytes(Storage::copy(file)) {
        Err(Error::Format(error)) => error,
        Err(error) => panic!("{error}"),
        Ok(set) => {
            let reports = set
                .segments()
                .map(|file| file.verify(&Default::default()).unwrap());
            match reports.flat_map(|report| report.problems).next() {
                None => return "sound".into(),
                Some(problem) => problem,
            }
        }
    };
    format!("{} V{}", error.class().name(), error.rule())
}

/// Returns the verdict on a file, which must be that of both readers.
pub fn common_verdict(file: &[u8]) -> String {
    let ours = verdict(file);
    assert_eq!(
        ours,
        python_verdict(file),
        "this crate and the reader in Python"
    );
    ours
}
