//! Limits of memory and time for a request.

use std::sync::{Arc, Mutex, mpsc};
use std::time::Duration;

use serde_json::{Value, json};
use simidx::{BuildOptions, IdKind, IndexBuilder, Width};

use crate::client::{Client, PATIENCE, until};
use crate::documents::store;
use crate::harness::{Running, default, options, start, write};
use crate::sources::acting;

const JSON: &str = "application/json";
const NDJSON: &str = "application/x-ndjson";

/// Bytes of each id, and number of records with the fingerprint `ff`: the answer to one query has 3.8 MB.
const ID_LEN: usize = 60_000;
const RECORDS: usize = 64;

/// Largest size of an answer in bytes: it fits the answers to two queries, but not to three.
const MAX_ANSWER: usize = 8 << 20;

/// Starts a server with an index of long ids.
fn of_long_ids() -> (tempfile::TempDir, Running) {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("index.simidx");
    let mut building = BuildOptions::default();
    building.ids = IdKind::String;
    let mut builder = IndexBuilder::new(Width::W64, building).unwrap();
    for number in 0..RECORDS {
        let id = format!("{number:04}{}", "i".repeat(ID_LEN - 4));
        builder.push_with_id(0xff_u64, &id).unwrap();
    }
    builder.finish_to_path(&path).unwrap();
    let mut options = options(vec![default(&path)]);
    options.limits.max_answer = MAX_ANSWER;
    (folder, start(options))
}

fn batch(count: usize) -> Vec<u8> {
    json!({ "fingerprints": vec!["ff"; count] })
        .to_string()
        .into_bytes()
}

#[test]
fn an_answer_has_no_more_bytes_than_permitted() {
    let (_folder, server) = of_long_ids();
    let mut client = server.client();
    let whole = client.post("/v1/query", JSON, &batch(2));
    assert_eq!(whole.status, 200);
    assert!(whole.body.len() > 2 * RECORDS * ID_LEN);
    assert_eq!(
        whole.json()["results"][1]["matches"][0]["ids"][63]
            .as_str()
            .unwrap()
            .len(),
        ID_LEN
    );
    // The answers to a body of 2 KB would have more than a gigabyte.
    for count in [3, 300] {
        let refused = client.post("/v1/query", JSON, &batch(count));
        let found = (refused.status, &*refused.kind());
        assert_eq!(found, (422, "limit-reached"), "{count}");
        assert!(refused.text().contains("bytes in one answer"));
    }
    // The lines contain the answers within the limit, and the last line reports the limit.
    let lines = client.post("/v1/query", NDJSON, &b"\"ff\"\n".repeat(300));
    let mut lines: Vec<Value> = lines
        .text()
        .lines()
        .map(|line| serde_json::from_str(line).unwrap())
        .collect();
    let last = lines.pop().unwrap();
    assert_eq!(last["error"]["kind"], "limit-reached", "{last}");
    assert!(!lines.is_empty() && lines.len() < 300);
    assert!(lines.iter().all(|line| line["query"] == "00000000000000ff"));
    // A single id is within the limit of an answer.
    assert_eq!(client.get("/v1/query/ff").status, 200);
    until(|| server.metric("simidx_answer_bytes ") == 0.0);
}

#[test]
fn more_ids_than_permitted_can_be_left_out() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("index.simidx");
    write(&path, &[0xff_u64; 20], true);
    let mut options = options(vec![default(&path)]);
    options.limits.max_results = 10;
    let server = start(options);
    let mut client = server.client();
    let refused = client.get("/v1/query/ff?k=0&limit=1");
    assert_eq!((refused.status, &*refused.kind()), (422, "limit-reached"));
    let advice = "or for the binary form, which has no ids";
    assert!(refused.text().contains(advice), "{}", refused.text());
    let words = 0xff_u64.to_le_bytes();
    let answer = client.post("/v1/query", "application/octet-stream", &words);
    assert_eq!((answer.status, answer.body.len()), (200, 4 + 4 + 8 + 1));
}

#[test]
fn answers_that_are_not_read_share_a_room() {
    let (_folder, server) = of_long_ids();
    let body = batch(2);
    let head = format!(
        "POST /v1/query HTTP/1.1\r\nhost: localhost\r\ncontent-type: {JSON}\r\ncontent-length: {}\r\n\r\n",
        body.len()
    );
    let mut clients: Vec<Client> = Vec::new();
    // Four answers of the largest size fill the budget; bytes that the system takes are sent.
    let room = 4 * MAX_ANSWER;
    let refused = loop {
        assert!(clients.len() < 40, "there was room for all");
        let mut client = server.client();
        client.send(&[head.as_bytes(), &body].concat()).unwrap();
        if client.line().unwrap().contains(" 503 ") {
            break client;
        }
        assert!(server.metric("simidx_answer_bytes ") <= room as f64);
        clients.push(client);
    };
    assert!(clients.len() >= 3, "{}", clients.len());
    drop(refused);
    // Small answers need no permits.
    let small = server.client().get("/v1/query/ff00ff00ff00");
    assert_eq!(small.status, 200);
    let busy = server.client().post("/v1/query", JSON, &body);
    assert_eq!((busy.status, &*busy.kind()), (503, "busy"));
    drop(clients);
    until(|| server.metric("simidx_answer_bytes ") == 0.0);
    assert_eq!(server.client().post("/v1/query", JSON, &body).status, 200);
}

#[test]
fn a_store_gathers_no_more_bytes_of_ids_than_permitted() {
    let folder = tempfile::tempdir().unwrap();
    let mut options = options(Vec::new());
    options.store = Some(store(&folder.path().join("pages"), Width::W64));
    options.limits.max_answer = 20_000;
    // The limit is below the number of matches, and is reached before the byte limit when the answer is streamed.
    options.limits.max_results = 2;
    let server = start(options);
    let mut client = server.client();
    for number in 0..3 {
        let document = json!({"id": format!("{number:08000}"), "fingerprint": "ff"}).to_string();
        let added = client.post("/v1/documents", JSON, document.as_bytes());
        assert_eq!(added.status, 200, "{}", added.text());
    }
    for path in ["/v1/query/ff", "/v1/query/ff?limit=1", "/v1/nearest/ff"] {
        let refused = client.get(path);
        assert_eq!((refused.status, &*refused.kind()), (422, "limit-reached"));
        assert!(refused.text().contains("bytes in one answer"), "{path}");
    }
    // Columns contain no ids.
    let columns = client.post(
        "/v1/query",
        "application/octet-stream",
        &0xff_u64.to_le_bytes(),
    );
    assert_eq!(columns.status, 200);
}

#[test]
fn answers_to_texts_without_features_take_bytes_as_others_do() {
    let folder = tempfile::tempdir().unwrap();
    let mut options = options(Vec::new());
    options.store = Some(store(&folder.path().join("pages"), Width::W64));
    options.limits.max_answer = 20_000;
    let server = start(options);
    let mut client = server.client();
    for (count, status) in [(10, 200), (1000, 422)] {
        let body = json!({ "texts": vec!["?"; count] }).to_string();
        let answer = client.post("/v1/query", JSON, body.as_bytes());
        assert_eq!(answer.status, status, "{count}");
        if status == 422 {
            assert_eq!(answer.kind(), "limit-reached");
        }
    }
}

#[test]
fn the_parts_of_an_answer_share_what_takes_no_room() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("index.simidx");
    let mut building = BuildOptions::default();
    building.ids = IdKind::String;
    let mut builder = IndexBuilder::new(Width::W64, building).unwrap();
    builder.push_with_id(0xff_u64, &"i".repeat(100)).unwrap();
    builder.finish_to_path(&path).unwrap();
    let server = start(options(vec![default(&path)]));
    // 256 queries, answered together, have answers of 50 KB. The total exceeds the socket buffers.
    let body = "\"ff\"\n".repeat(100_000);
    let mut client = server.client();
    let head = format!(
        "POST /v1/query HTTP/1.1\r\nhost: localhost\r\ncontent-type: {NDJSON}\r\ncontent-length: {}\r\n\r\n",
        body.len()
    );
    client
        .send(&[head.as_bytes(), body.as_bytes()].concat())
        .unwrap();
    until(|| server.metric("simidx_answer_bytes ") > 0.0);
    drop(client);
    until(|| server.metric("simidx_answer_bytes ") == 0.0);
}

#[test]
fn an_addition_counts_ids_as_they_are_written() {
    let folder = tempfile::tempdir().unwrap();
    let mut options = options(Vec::new());
    options.store = Some(store(&folder.path().join("pages"), Width::W64));
    options.limits.max_answer = 20_000;
    let server = start(options);
    // A byte that is escaped as six bytes.
    let add = |len: usize| {
        let document = json!({"id": "\u{1}".repeat(len), "fingerprint": "ff"}).to_string();
        let added = server
            .client()
            .post("/v1/documents", JSON, document.as_bytes());
        assert_eq!(added.status, 200, "{}", added.text());
        assert!(added.body.len() <= 20_000, "{}", added.body.len());
        let added = added.json();
        let named = added["matches"][0]["ids"].as_array().map_or(0, Vec::len);
        (named, added["match_count"].as_u64())
    };
    assert_eq!(add(2900), (0, None));
    assert_eq!(add(2901), (0, Some(1)));
    assert_eq!(add(1), (1, Some(2)));
}

#[test]
fn an_addition_names_as_many_bytes_of_ids_as_permitted() {
    let folder = tempfile::tempdir().unwrap();
    let mut options = options(Vec::new());
    options.store = Some(store(&folder.path().join("pages"), Width::W64));
    options.limits.max_answer = 20_000;
    let server = start(options);
    let document = |number: usize, len: usize| {
        json!({"id": format!("{number:0len$}"), "fingerprint": "ff"}).to_string()
    };
    for number in 0..4 {
        let added = server
            .client()
            .post("/v1/documents", JSON, document(number, 8000).as_bytes());
        assert_eq!(added.status, 200, "{}", added.text());
    }
    let added = server
        .client()
        .post("/v1/documents", JSON, document(9, 1).as_bytes());
    let added = added.json();
    assert_eq!(added["truncated"], true);
    assert_eq!(added["match_count"], 4);
    assert_eq!(added["matches"][0]["ids"].as_array().unwrap().len(), 2);
    until(|| server.metric("simidx_answer_bytes ") == 0.0);
}

#[test]
fn the_id_of_an_addition_can_be_named_by_an_address() {
    let folder = tempfile::tempdir().unwrap();
    let mut options = options(Vec::new());
    options.store = Some(store(&folder.path().join("pages"), Width::W64));
    let server = start(options);
    let add = |id: &str| {
        let document = json!({"id": id, "fingerprint": "ff"}).to_string();
        server
            .client()
            .post("/v1/documents", JSON, document.as_bytes())
    };
    // Percent-encoding takes nine bytes for each of these characters of three bytes.
    let longest = "\u{fffd}".repeat(8190 / 3) + "ab";
    assert_eq!(add(&longest).status, 200);
    let escaped: String = longest.bytes().map(|byte| format!("%{byte:02x}")).collect();
    let mut client = server.client();
    client.headers = format!("authorization: Bearer {}\r\n", "t".repeat(4096));
    for method in ["GET", "DELETE"] {
        let answer = client.request(method, &format!("/v1/documents/{escaped}"), "", b"");
        assert_eq!(answer.status, 200, "{method}");
    }
    let refused = add(&(longest + "c"));
    assert_eq!((refused.status, &*refused.kind()), (400, "bad-id"));
    assert!(refused.text().contains("8192"), "{}", refused.text());
}

/// Starts a server with one worker thread, whose searches block until the sender is dropped.
fn held(
    timeout: Duration,
    max_waiting: usize,
) -> (mpsc::Sender<()>, Arc<Mutex<Vec<u128>>>, Running) {
    let (release, held) = mpsc::channel::<()>();
    let held = Mutex::new(held);
    let mut options = options(Vec::new());
    options.threads = 1;
    options.limits.max_waiting = max_waiting;
    options.limits.timeout = timeout;
    // All queries run on the worker thread.
    options.warm = false;
    let searched = Arc::new(Mutex::new(Vec::new()));
    let log = searched.clone();
    let server = acting(options, move |queries| {
        log.lock().unwrap().extend(queries.iter());
        if queries.iter().any(|query| query == 1) {
            let _ = held.lock().unwrap().recv_timeout(PATIENCE);
        }
    });
    (release, searched, server)
}

#[test]
fn what_waits_for_a_thread_is_answered_at_the_deadline() {
    let (release, searched, server) = held(Duration::from_millis(300), 8);
    let mut first = server.client();
    first
        .send(b"GET /v1/query/1 HTTP/1.1\r\nhost: localhost\r\n\r\n")
        .unwrap();
    until(|| searched.lock().unwrap().contains(&1));
    // The thread blocks in the first query until all of these have been answered.
    let words = 2u64.to_le_bytes().repeat(300);
    for kind in ["one", "batch", "lines", "id", "page"] {
        let mut client = server.client();
        let answer = match kind {
            "one" => client.get("/v1/query/2"),
            "batch" => client.post("/v1/query", "application/octet-stream", &words),
            "lines" => client.post("/v1/query", NDJSON, b"\"2\"\n"),
            "id" => client.get("/v1/ids/x"),
            _ => client.get("/"),
        };
        assert_eq!((answer.status, &*answer.kind()), (503, "timeout"), "{kind}");
    }
    let answer = first.receive(false).unwrap();
    assert_eq!((answer.status, &*answer.kind()), (503, "timeout"));
    assert_eq!(*searched.lock().unwrap(), [1]);
    drop(release);
    until(|| server.client().get("/v1/query/3").status == 200);
    // These queries were cancelled.
    assert!(!searched.lock().unwrap().contains(&2));
}

#[test]
fn documents_do_not_wait_for_expensive_queries() {
    let (release, searched, server) = held(PATIENCE, 1);
    let mut first = server.client();
    first
        .send(b"GET /v1/query/1 HTTP/1.1\r\nhost: localhost\r\n\r\n")
        .unwrap();
    until(|| searched.lock().unwrap().contains(&1));
    // The query has the only permit of its kind.
    let busy = server.client().get("/v1/query/2");
    assert_eq!((busy.status, &*busy.kind()), (503, "busy"));
    let document = json!({"id": "a", "fingerprint": "2"}).to_string();
    let added = server
        .client()
        .post("/v1/documents", JSON, document.as_bytes());
    assert_eq!(added.status, 200);
    assert_eq!(server.client().get("/v1/documents/b").status, 404);
    drop(release);
    assert_eq!(first.receive(false).unwrap().status, 200);
}

#[test]
fn a_client_that_does_not_read_lines_keeps_no_other_from_the_pool() {
    const LINES: usize = 10_000;
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("index.simidx");
    let mut building = BuildOptions::default();
    building.ids = IdKind::String;
    let mut builder = IndexBuilder::new(Width::W64, building).unwrap();
    builder.push_with_id(0xff_u64, &"i".repeat(4000)).unwrap();
    builder.finish_to_path(&path).unwrap();
    let mut options = options(vec![default(&path)]);
    options.limits.max_waiting = 1;
    options.limits.timeout = Duration::from_secs(600);
    options.limits.idle_timeout = Duration::from_secs(600);
    let server = start(options);
    let body = "\"ff\"\n".repeat(LINES);
    let mut client = server.client();
    let head = format!(
        "POST /v1/query HTTP/1.1\r\nhost: localhost\r\ncontent-type: {NDJSON}\r\ncontent-length: {}\r\n\r\n",
        body.len()
    );
    client.send(&[head, body].concat().into_bytes()).unwrap();
    // The answer has more bytes than the system takes.
    assert!(client.line().unwrap().contains(" 200 "));
    let other = || server.client().post("/v1/query", NDJSON, b"\"ff\"\n");
    until(|| other().status == 200);
    while client.line().unwrap() != format!("{{\"done\":true,\"count\":{LINES}}}") {}
}

#[test]
fn a_text_becomes_no_longer_than_a_body_by_normalisation() {
    let folder = tempfile::tempdir().unwrap();
    let mut options = options(Vec::new());
    options.store = Some(store(&folder.path().join("pages"), Width::W64));
    options.limits.max_body = 100_000;
    let server = start(options);
    let mut client = server.client();
    // Each character of three bytes normalises to eighteen characters of 33 bytes.
    let long = "\u{fdfa}".repeat(4000);
    let short = "\u{fdfa}".repeat(3000);
    let plain = |text: &str| text.as_bytes().to_vec();
    assert_eq!(
        client.post("/v1/text", "text/plain", &plain(&short)).status,
        200
    );
    for (path, kind, body) in [
        ("/v1/text", "text/plain", plain(&long)),
        (
            "/v1/query",
            JSON,
            plain(&json!({"texts": [long]}).to_string()),
        ),
        (
            "/v1/query",
            NDJSON,
            plain(&json!({"text": long}).to_string()),
        ),
        (
            "/v1/documents",
            JSON,
            plain(&json!({"id": "a", "text": long}).to_string()),
        ),
    ] {
        let refused = client.post(path, kind, &body);
        let found = (refused.status, &*refused.kind());
        assert_eq!(found, (413, "too-large"), "{path} {kind}");
        assert!(refused.text().contains("100000 bytes"));
    }
    assert_eq!(server.metric("simidx_store_records"), 0.0);
}
