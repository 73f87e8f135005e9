//! `simidx serve`: its arguments, its first line, its answers compared with those of `query`, its end. The rest is
//! tested in `simidx-server`.

use std::io::{BufRead, BufReader, Read, Write};
use std::net::TcpStream;
use std::process::{Child, Command, Stdio};
use std::time::Duration;

use crate::support::Sandbox;

const DOCUMENTS: &[u8] = br#"{"id":"a","text":"the quick brown fox jumps over the lazy dog"}
{"id":"b","text":"the quick brown fox jumps over the lazy cat"}
{"id":"c","text":"of something else entirely"}
"#;

/// A server that was started as by a user, and is stopped on drop.
struct Serving {
    child: Child,
    address: String,
}

impl Serving {
    fn start(sandbox: &Sandbox, args: &[&str]) -> Self {
        Self::of(sandbox.command(&[&["serve", "--listen", "127.0.0.1:0"], args].concat()))
    }

    fn of(mut command: Command) -> Self {
        let mut child = command
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            .spawn()
            .unwrap();
        let mut line = String::new();
        BufReader::new(child.stdout.take().unwrap())
            .read_line(&mut line)
            .unwrap();
        let address = line.strip_prefix("listening on http://");
        let address = address
            .unwrap_or_else(|| panic!("{line:?}"))
            .trim()
            .to_owned();
        Serving { child, address }
    }

    /// Sends a request, and returns status and body.
    fn ask(&self, head: &str, body: &str) -> (u16, String) {
        let mut stream = TcpStream::connect(&self.address).unwrap();
        stream
            .set_read_timeout(Some(Duration::from_secs(60)))
            .unwrap();
        let len = body.len();
        let request = format!(
            "{head}\r\nhost: localhost\r\nconnection: close\r\ncontent-length: {len}\r\n\r\n{body}"
        );
        stream.write_all(request.as_bytes()).unwrap();
        let mut response = String::new();
        stream.read_to_string(&mut response).unwrap();
        let (head, body) = response.split_once("\r\n\r\n").unwrap();
        (
            head.split(' ').nth(1).unwrap().parse().unwrap(),
            body.to_owned(),
        )
    }

    fn get(&self, path: &str) -> (u16, String) {
        self.ask(&format!("GET {path} HTTP/1.1"), "")
    }

    fn signal(&self, name: &str) {
        let kill = Command::new("kill")
            .args([name, &self.child.id().to_string()])
            .status();
        assert!(kill.unwrap().success());
    }

    /// Stops the server like a service manager, and returns its log.
    fn end(mut self) -> String {
        self.signal("-TERM");
        let mut log = String::new();
        self.child
            .stderr
            .take()
            .unwrap()
            .read_to_string(&mut log)
            .unwrap();
        assert!(self.child.wait().unwrap().success(), "{log}");
        log
    }
}

impl Drop for Serving {
    fn drop(&mut self) {
        // After the end, the process no longer exists.
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

#[test]
fn what_it_answers_is_what_query_prints() {
    let sandbox = Sandbox::with_index(("d.jsonl", DOCUMENTS), &["-q"]);
    let server = Serving::start(&sandbox, &["x.simidx"]);
    let text = "the quick brown fox jumps over the lazy dog";
    let query = |args: &[&str]| {
        let ran = sandbox.run(&[&["query", "x.simidx", "--json"], args].concat());
        String::from_utf8(ran.stdout).unwrap()
    };
    let printed = query(&["--text", text, "-k", "6"]);
    assert!(printed.contains("\"ids\":[\"a\"]"));
    let head = "POST /v1/text?k=6 HTTP/1.1\r\ncontent-type: text/plain";
    assert_eq!(server.ask(head, text), (200, printed.clone()));
    let object: serde_json::Value = serde_json::from_str(&printed).unwrap();
    let fingerprint = object["query"].as_str().unwrap();
    for (path, args) in [
        (format!("/v1/query/{fingerprint}"), vec![fingerprint]),
        (
            format!("/v1/query/{fingerprint}?k=7&limit=1"),
            vec![fingerprint, "-k", "7", "--limit", "1"],
        ),
        ("/v1/query/0".to_owned(), vec!["0"]),
    ] {
        assert_eq!(server.get(&path), (200, query(&args)));
    }
    let by_id = query(&["--id", "b"]);
    let expected = format!("{{\"results\":[{}]}}\n", by_id.trim_end());
    assert_eq!(server.get("/v1/ids/b"), (200, expected));
    assert!(!server.end().contains("request"));
}

#[test]
fn ids_that_are_numbers_are_strings_on_request() {
    let sandbox = Sandbox::with_index(
        ("d.tsv", b"ff\t9007199254740993\n"),
        &["-q", "--ids", "number"],
    );
    let server = Serving::start(&sandbox, &["x.simidx", "--json-strings"]);
    assert!(
        server
            .get("/v1/query/ff")
            .1
            .contains("\"ids\":[\"9007199254740993\"]")
    );
    assert!(
        server
            .get("/v1/ids/9007199254740993")
            .1
            .contains("\"id\":\"9007199254740993\"")
    );
    assert_eq!(server.get("/v1/ids/x").0, 400);
}

#[test]
fn a_hangup_before_the_first_request_ends_nothing() {
    let sandbox = Sandbox::with_index(("d.jsonl", DOCUMENTS), &["-q"]);
    let server = Serving::start(&sandbox, &["x.simidx"]);
    server.signal("-HUP");
    assert_eq!(server.get("/readyz").0, 200);
    server.end();
}

#[test]
fn a_hangup_opens_the_files_anew_and_good_ones_only() {
    let sandbox = Sandbox::with_index(("d.hex", b"ff\n"), &["-q"]);
    let server = Serving::start(
        &sandbox,
        &[
            "--index",
            "a=x.simidx",
            "--log-format",
            "json",
            "--access-log",
        ],
    );
    let count = || server.get("/v1/query/ff").1.matches("distance").count();
    assert_eq!(count(), 1);
    sandbox.write("d.hex", b"ff\nfe\n");
    sandbox
        .run(&["build", "d.hex", "-o", "x.simidx", "-q", "--force"])
        .done();
    server.signal("-HUP");
    let started = std::time::Instant::now();
    while count() != 2 {
        assert!(started.elapsed() < Duration::from_secs(60));
        std::thread::sleep(Duration::from_millis(10));
    }
    std::fs::rename(sandbox.path("x.simidx"), sandbox.path("y.simidx")).unwrap();
    server.signal("-HUP");
    while !server
        .get("/metrics")
        .1
        .contains("simidx_reloads_total{result=\"failed\"} 1")
    {
        assert!(started.elapsed() < Duration::from_secs(60));
        std::thread::sleep(Duration::from_millis(10));
    }
    assert_eq!(count(), 2);
    server.get("/v1/%0a%22forged%22");
    let log = server.end();
    let events: Vec<serde_json::Value> = log
        .lines()
        .map(|line| serde_json::from_str(line).unwrap())
        .collect();
    for event in ["serving", "request", "reloaded", "ended"] {
        assert!(
            events.iter().any(|line| line["event"] == event),
            "{event}: {log}"
        );
    }

    let request = events
        .iter()
        .find(|line| line["event"] == "request")
        .unwrap();
    assert_eq!(request["client"], "127.0.0.1");
    assert!(
        request["status"].is_u64() && request["us"].is_u64(),
        "{request}"
    );
    assert!(events.iter().any(
        |line| line["level"] == "error" && line["error"].as_str().unwrap().contains("x.simidx")
    ));
}

#[test]
fn what_keeps_it_from_starting_is_one_line() {
    let sandbox = Sandbox::with_index(("d.hex", b"ff\n"), &["-q"]);
    sandbox.write("token", "short");
    for (args, said) in [
        (
            &["x.simidx", "--listen", "0.0.0.0:0"][..],
            "use --token-file, or allow it with --insecure",
        ),
        (&["none.simidx"], "none.simidx"),
        (&["d.hex"], "d.hex: not a simidx file"),
        (
            &["x.simidx", "--token-file", "token"],
            "token: a token has at least 16 characters",
        ),
        (
            &["x.simidx", "--tls-cert", "d.hex", "--tls-key", "d.hex"],
            "d.hex",
        ),
        (&["x.simidx", "--watch", "-1"], "--watch"),
        (&["x.simidx", "--watch", "0"], "above 0"),
        (&["x.simidx", "--timeout", "0"], "above 0"),
        (&["x.simidx", "--idle-timeout", "0"], "above 0"),
        (&["x.simidx", "--max-body", "0"], "above 0"),
        (&["x.simidx", "--max-answer", "0"], "above 0"),
        (&["x.simidx", "--listen", "localhost"], "127.0.0.1:8080"),
        (&["--check", "--listen", "127.0.0.1:1"], "127.0.0.1:1: "),
        (&["--index", "a b=x.simidx"], "not a name of an index"),
        (&["--index", "a"], "NAME=FILE"),
        (&[], "--help"),
    ] {
        let ran = sandbox.run(&[&["serve"], args].concat());
        assert_eq!(ran.code, Some(2), "{ran:?}");
        assert!(
            ran.stderr.contains(said) && ran.stderr.lines().count() == 1,
            "{ran:?}"
        );
        assert!(ran.stdout.is_empty());
    }
}

#[test]
fn the_page_shows_the_texts_that_are_given() {
    let sandbox = Sandbox::with_index(("d.jsonl", DOCUMENTS), &["-q"]);
    let server = Serving::start(
        &sandbox,
        &["x.simidx", "--texts", "d.jsonl", "--max-k", "64"],
    );
    let (status, page) = server.get("/?q=a&k=64");
    assert_eq!(status, 200);
    assert!(
        page.contains("<del>dog") && page.contains("<ins>cat"),
        "{page}"
    );
}

#[test]
fn killed_at_any_moment_a_store_loses_no_document() {
    let sandbox = Sandbox::new();
    let mut acknowledged = Vec::new();
    for run in 0..5_u64 {
        let mut server = Serving::start(&sandbox, &["--store", "pages"]);
        let head = "POST /v1/documents HTTP/1.1\r\ncontent-type: application/json";
        let address = server.address.clone();
        let added = std::thread::scope(|scope| {
            let threads: Vec<_> = (0..4_u64)
                .map(|thread| {
                    let address = &address;
                    scope.spawn(move || {
                        let mut added = Vec::new();
                        for number in 0.. {
                            let id = format!("{run} {thread} {number}");
                            let mixed = (run << 40 | thread << 32 | number).wrapping_add(1);
                            let value = mixed.wrapping_mul(0x9e37_79b9_7f4a_7c15);
                            let body =
                                format!("{{\"id\":\"{id}\",\"fingerprint\":\"{value:016x}\"}}");
                            match try_ask(address, head, &body) {
                                Some((200, _)) => added.push((id, value)),
                                Some(other) => panic!("{other:?}"),
                                None => return added,
                            }
                        }
                        added
                    })
                })
                .collect();
            std::thread::sleep(Duration::from_millis(150 + 97 * run));
            server.child.kill().unwrap();
            threads
                .into_iter()
                .flat_map(|t| t.join().unwrap())
                .collect::<Vec<_>>()
        });
        server.child.wait().unwrap();
        assert!(!added.is_empty());
        acknowledged.extend(added);
    }
    let server = Serving::start(&sandbox, &["--store", "pages", "--sync", "batch"]);
    for (id, value) in &acknowledged {
        let (status, body) = server.get(&format!("/v1/query/{value:016x}?k=0"));
        assert_eq!(status, 200);
        assert_eq!(body.matches(&format!("[\"{id}\"]")).count(), 1, "{body}");
    }
    // The last addition of each thread, which was not acknowledged, may also exist.
    let (_, metrics) = server.get("/metrics");
    let records = metrics
        .lines()
        .find_map(|line| line.strip_prefix("simidx_store_records "));
    let records: usize = records.unwrap().parse().unwrap();
    let known = acknowledged.len();
    assert!(
        (known..=known + 5 * 4).contains(&records),
        "{records} of {known}"
    );
    server.end();
}

#[test]
fn a_store_keeps_what_it_was_made_with() {
    let sandbox = Sandbox::new();
    let made = [
        "--store",
        "pages",
        "-k",
        "5",
        "--width",
        "32",
        "--pipeline",
        "code",
    ];
    Serving::start(&sandbox, &made).end();
    for (flags, flag, given, own) in [
        (&["-k", "3"][..], "-k", "3", "5"),
        (&["--width", "64"], "--width", "64", "32"),
        (
            &["--pipeline", "short"],
            "--pipeline",
            "\"shingle\":1",
            "\"shingle\":2",
        ),
        // The default, given explicitly.
        (
            &["--pipeline", "web"],
            "--pipeline",
            "not {",
            "\"shingle\":2",
        ),
    ] {
        let args = [
            &["serve", "--store", "pages", "--listen", "127.0.0.1:0"],
            flags,
        ]
        .concat();
        let refused = sandbox.command(&args).output().unwrap();
        let text = String::from_utf8(refused.stderr).unwrap();
        assert_eq!(refused.status.code(), Some(2), "{text}");
        for word in [flag, given, own, "pages"] {
            assert!(text.contains(word), "{text}");
        }
        assert_eq!(text.lines().count(), 1, "{text}");
    }
    Serving::start(&sandbox, &made).end();
    Serving::start(&sandbox, &["--store", "pages"]).end();
}

#[test]
fn what_only_a_store_is_made_with_needs_one() {
    let sandbox = Sandbox::with_index(("a.hex", b"07\n"), &[]);
    for flags in [
        ["-k", "3"],
        ["--width", "64"],
        ["--sync", "batch"],
        ["--pipeline", "short"],
        ["--html", "yes"],
    ] {
        let args = [
            &["serve", "x.simidx", "--listen", "127.0.0.1:0"],
            &flags[..],
        ];
        let message =
            "the following required arguments were not provided: --store <DIR>; see --help";
        sandbox.run(&args.concat()).refused(message);
    }
}

/// Starts a server with a limit on file sizes that its journal soon reaches.
#[cfg(unix)]
fn without_room(sandbox: &Sandbox, sync: &str) -> Serving {
    Serving::start(sandbox, &["--store", "pages"]).end();
    let listen = "127.0.0.1:0";
    let serve = sandbox.command(&[
        "serve", "--store", "pages", "--sync", sync, "--listen", listen,
    ]);
    let script = "trap '' XFSZ; ulimit -f 2400; exec \"$0\" \"$@\"";
    let mut command = Command::new("sh");
    command
        .args(["-c", script])
        .arg(serve.get_program())
        .args(serve.get_args());
    if let Some(folder) = serve.get_current_dir() {
        command.current_dir(folder);
    }
    Serving::of(command)
}

/// Returns documents that exceed the limit.
#[cfg(unix)]
fn many_documents() -> String {
    (0..40_000_u64)
        .map(|number| {
            let value = number.wrapping_mul(0x9e37_79b9_7f4a_7c15);
            format!(
                "{{\"id\":\"a long name of a page {number}\",\"fingerprint\":\"{value:016x}\"}}\n"
            )
        })
        .collect()
}

#[test]
#[cfg(unix)]
fn a_journal_that_fails_is_said() {
    let sandbox = Sandbox::new();
    let server = without_room(&sandbox, "always");
    let head = "POST /v1/documents HTTP/1.1\r\ncontent-type: application/x-ndjson";
    assert_eq!(server.get("/readyz"), (200, "ready\n".to_owned()));
    server.ask(head, &many_documents());
    let one = "POST /v1/documents HTTP/1.1\r\ncontent-type: application/json";
    let (status, body) = server.ask(one, "{\"id\":\"a\",\"fingerprint\":\"1\"}");
    assert_eq!(status, 507, "{body}");
    assert!(
        body.contains("the log says why") && !body.contains('/'),
        "{body}"
    );
    let (status, body) = server.get("/readyz");
    assert_eq!(status, 503);
    assert!(
        body.starts_with("the journal of the store failed"),
        "{body}"
    );
    let (_, metrics) = server.get("/metrics");
    assert!(metrics.contains("simidx_store_failed{what=\"journal\"} 1\n"));
    assert!(metrics.contains("simidx_store_failed{what=\"seal\"} 0\n"));
    // The log is read while the server runs, without waiting for its end.
    let mut server = server;
    let mut lines = BufReader::new(server.child.stderr.take().unwrap()).lines();
    let line = lines.find_map(|line| line.ok().filter(|line| line.contains("store-journal-")));
    assert!(line.unwrap().contains(" error store-journal-failed error="));
    server.signal("-TERM");
    let rest: Vec<String> = lines.map_while(Result::ok).collect();
    assert!(
        !rest.iter().any(|line| line.contains("store-journal-")),
        "{rest:?}"
    );
    assert_eq!(server.child.wait().unwrap().code(), Some(2));
}

#[test]
#[cfg(unix)]
fn changes_that_cannot_be_written_at_the_end_are_an_error() {
    let sandbox = Sandbox::new();
    let mut server = without_room(&sandbox, "never");
    let head = "POST /v1/documents HTTP/1.1\r\ncontent-type: application/x-ndjson";
    assert_eq!(server.ask(head, &many_documents()).0, 200);
    server.signal("-TERM");
    let mut log = String::new();
    let mut stderr = server.child.stderr.take().unwrap();
    stderr.read_to_string(&mut log).unwrap();
    assert_eq!(server.child.wait().unwrap().code(), Some(2), "{log}");
    assert!(log.contains("store-not-written"), "{log}");
}

#[test]
fn commands_say_where_the_records_of_a_new_store_are() {
    let sandbox = Sandbox::new();
    let server = Serving::start(&sandbox, &["--store", "pages"]);
    let head = "POST /v1/documents HTTP/1.1\r\ncontent-type: application/json";
    assert_eq!(
        server.ask(head, "{\"id\":\"a\",\"fingerprint\":\"ff\"}").0,
        200
    );
    server.end();
    for (args, code) in [
        (&["query", "pages", "ff"][..], 2),
        (&["info", "pages"], 2),
        (&["dump", "pages"], 2),
        (&["verify", "pages"], 0),
    ] {
        let ran = sandbox.run(args);
        assert_eq!(ran.code, Some(code), "{ran:?}");
        assert!(ran.stderr.contains("in its journal"), "{ran:?}");
        assert_eq!(ran.stderr.lines().count(), 1, "{ran:?}");
    }
}

/// Returns a command for a server with a limit on open files.
#[cfg(unix)]
fn with_files(sandbox: &Sandbox, count: u32) -> Command {
    let serve = sandbox.command(&["serve", "x.simidx", "--listen", "127.0.0.1:0"]);
    let mut command = Command::new("sh");
    command
        .args(["-c", "ulimit -n \"$1\"; shift; exec \"$@\"", "sh"])
        .arg(count.to_string())
        .arg(serve.get_program())
        .args(serve.get_args());
    if let Some(folder) = serve.get_current_dir() {
        command.current_dir(folder);
    }
    command
}

#[test]
#[cfg(unix)]
fn too_few_files_are_one_line_and_no_panic() {
    let sandbox = Sandbox::with_index(("d.hex", b"ff\n"), &["-q"]);
    for count in 6..12 {
        let ran = with_files(&sandbox, count).output().unwrap();
        let text = String::from_utf8(ran.stderr).unwrap();
        assert_eq!(ran.status.code(), Some(2), "{count}: {text}");
        assert!(!text.contains("panicked"), "{count}: {text}");
        assert_eq!(text.lines().count(), 1, "{count}: {text}");
    }
}

#[test]
#[cfg(unix)]
fn what_lasts_is_said_once() {
    let sandbox = Sandbox::with_index(("d.hex", b"ff\n"), &["-q"]);
    let server = Serving::of(with_files(&sandbox, 40));
    let mut streams = Vec::new();
    for _ in 0..60 {
        streams.push(TcpStream::connect(&server.address).unwrap());
    }
    // It tries again every 50 ms.
    std::thread::sleep(Duration::from_millis(600));
    drop(streams);
    let log = server.end();
    assert_eq!(log.matches("cannot accept").count(), 1, "{log}");
}

#[test]
fn a_server_is_asked_whether_it_is_ready() {
    let sandbox = Sandbox::with_index(("d.hex", b"ff\n"), &["-q"]);
    sandbox.write("token", "0123456789abcdef");
    let args = ["x.simidx", "--token-file", "token", "--drain-delay", "600"];
    let mut server = Serving::start(&sandbox, &args);
    let check = || sandbox.run(&["serve", "--check", "--listen", &server.address]);
    let ready = check();
    assert_eq!(
        (ready.code, ready.stdout.as_slice()),
        (Some(0), &b"ready\n"[..])
    );
    server.signal("-TERM");
    let started = std::time::Instant::now();
    while check().code == Some(0) {
        assert!(started.elapsed() < Duration::from_secs(60));
    }
    assert_eq!(check().code, Some(1));
    // The second signal ends the drain delay.
    server.signal("-TERM");
    assert_eq!(server.child.wait().unwrap().code(), Some(0));
    let gone = sandbox.run(&["serve", "--check", "--listen", &server.address]);
    assert_eq!(gone.code, Some(2), "{gone:?}");
}

#[test]
fn a_snapshot_and_a_reload_of_the_token_are_logged() {
    let sandbox = Sandbox::new();
    sandbox.write("token", "0123456789abcdef");
    let args = ["--store", "pages", "--token-file", "token"];
    let server = Serving::start(&sandbox, &[&args[..], &["--log-format", "json"]].concat());
    for path in ["/-/snapshot", "/-/reload"] {
        let head = format!("POST {path} HTTP/1.1\r\nauthorization: Bearer 0123456789abcdef");
        let (status, body) = server.ask(&head, "");
        assert_eq!(status, 200, "{body}");
    }
    let log = server.end();
    let line = |event: &str| -> serde_json::Value {
        let lines = log.lines().map(|line| serde_json::from_str(line).unwrap());
        let mut found = lines.filter(|line: &serde_json::Value| line["event"] == event);
        found.next().unwrap_or_else(|| panic!("{event}: {log}"))
    };
    assert!(line("snapshot taken")["seconds"].is_f64(), "{log}");
    line("token reloaded");
}

#[test]
fn a_server_of_https_is_asked_by_another_program() {
    let sandbox = Sandbox::new();
    let listener = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
    let address = listener.local_addr().unwrap().to_string();
    let answering = std::thread::spawn(move || {
        let (mut stream, _) = listener.accept().unwrap();
        let mut request = [0; 1024];
        assert!(stream.read(&mut request).unwrap() > 0);
        // An alert of TLS: the message was unexpected.
        stream.write_all(&[21, 3, 3, 0, 2, 2, 10]).unwrap();
    });
    let ran = sandbox.run(&["serve", "--check", "--listen", &address]);
    answering.join().unwrap();
    assert_eq!(ran.code, Some(2), "{ran:?}");
    let instead = format!("curl https://{address}/readyz");
    assert!(ran.stderr.contains(&instead), "{ran:?}");
}

#[test]
fn it_listens_at_a_name_of_this_machine() {
    let sandbox = Sandbox::with_index(("d.hex", b"ff\n"), &["-q"]);
    let server = Serving::of(sandbox.command(&["serve", "x.simidx", "--listen", "localhost:0"]));
    assert!(
        server.address.starts_with("127.0.0.1:"),
        "{}",
        server.address
    );
    assert_eq!(server.get("/readyz").0, 200);
    server.end();
}

/// Sends a request to a server that may stop meanwhile.
fn try_ask(address: &str, head: &str, body: &str) -> Option<(u16, String)> {
    let mut stream = TcpStream::connect(address).ok()?;
    let len = body.len();
    let request = format!(
        "{head}\r\nhost: localhost\r\nconnection: close\r\ncontent-length: {len}\r\n\r\n{body}"
    );
    stream.write_all(request.as_bytes()).ok()?;
    let mut response = String::new();
    stream.read_to_string(&mut response).ok()?;
    let (head, body) = response.split_once("\r\n\r\n")?;
    Some((head.split(' ').nth(1)?.parse().ok()?, body.to_owned()))
}
