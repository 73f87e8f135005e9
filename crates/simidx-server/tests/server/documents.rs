//! Documents are added and deleted: each answer names the near records before it, and every later query finds the
//! addition.

use std::path::Path;
use std::sync::Arc;

use serde_json::{Value, json};
use simidx::Width;
use simidx_collection::{Collection, Options};
use simidx_server::{NamedIndex, ServerOptions};
use simidx_text::{Pipeline, Preset};

use crate::client::{Client, Response, until};
use crate::harness::{Running, options, start};

const JSON: &str = "application/json";
const NDJSON: &str = "application/x-ndjson";

pub(crate) fn store(path: &Path, width: Width) -> Arc<Collection> {
    let mut options = Options::default();
    let pipeline = Pipeline::new(Preset::Short.options()).unwrap();
    options.pipeline = Some(pipeline.describe());
    Arc::new(Collection::open_or_create(path, width, options).unwrap())
}

fn with_store(path: &Path, width: Width) -> ServerOptions {
    let mut options = options(Vec::<NamedIndex>::new());
    options.store = Some(store(path, width));
    options
}

fn add(server: &Running, document: &Value) -> Response {
    server
        .client()
        .post("/v1/documents", JSON, document.to_string().as_bytes())
}

fn delete(server: &Running, id: &str) -> Response {
    server
        .client()
        .request("DELETE", &format!("/v1/documents/{id}"), "", b"")
}

/// Returns the ids in an answer.
fn named(answer: &Value) -> Vec<&str> {
    let matches = answer["matches"].as_array().unwrap().iter();
    let ids = matches.flat_map(|near| near["ids"].as_array().unwrap());
    ids.map(|id| id.as_str().unwrap()).collect()
}

#[test]
fn documents_come_and_go() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("pages");
    let server = start(with_store(&path, Width::W64));
    let first = add(&server, &json!({"id": "a/1", "fingerprint": "FF"}));
    assert_eq!(first.status, 200);
    let expected = json!({
        "id": "a/1", "fingerprint": "00000000000000ff", "outcome": "new", "matches": [],
    });
    assert_eq!(first.json(), expected);
    let second = add(&server, &json!({"id": "é", "fingerprint": "fe"})).json();
    let near = json!([{"fingerprint": "00000000000000ff", "distance": 1, "ids": ["a/1"]}]);
    assert_eq!(second["matches"], near);
    let again = add(&server, &json!({"id": "é", "fingerprint": "fe"})).json();
    assert_eq!(
        (&again["outcome"], named(&again)),
        (&json!("unchanged"), vec!["a/1"])
    );

    let get = |path: &str| server.client().get(path);
    let found = get("/v1/query/ff");
    assert_eq!(named(&found.json()), ["a/1", "é"]);
    assert_eq!(get("/v1/ids/a/1").status, 200);
    assert_eq!(named(&get("/v1/nearest/fe").json()), ["é"]);
    assert_eq!(
        get("/v1/documents/%C3%A9").json(),
        json!({"id": "é", "fingerprint": "00000000000000fe"})
    );
    let generation = found.generation();
    assert_eq!(
        delete(&server, "a/1").json(),
        json!({"id": "a/1", "deleted": true})
    );
    assert_eq!(delete(&server, "a/1").kind(), "unknown-id");
    assert_eq!(get("/v1/documents/a/1").kind(), "unknown-id");
    let found = get("/v1/query/ff");
    assert_eq!(named(&found.json()), ["é"]);
    assert_ne!(found.generation(), generation);
    let replaced = add(&server, &json!({"id": "é", "fingerprint": "0f00"})).json();
    assert_eq!(replaced["outcome"], "replaced");
    assert_eq!(server.metric("simidx_store_records"), 1.0);
    assert_eq!(
        get("/v1/info").json()["indexes"][0]["figures"]["record_count"],
        1
    );
    assert_eq!(get("/").status, 200);

    // The store survives a restart of the server, which ignores the requested width.
    drop(server);
    let server = start(with_store(&path, Width::W32));
    assert_eq!(named(&server.client().get("/v1/query/f01").json()), ["é"]);
}

#[test]
fn texts_are_fingerprinted_as_the_store_says() {
    let folder = tempfile::tempdir().unwrap();
    let server = start(with_store(&folder.path().join("pages"), Width::W128));
    let text = "the quick brown fox jumps over the lazy dog";
    let first = add(&server, &json!({"id": "a", "text": text})).json();
    assert_eq!(first["fingerprint"].as_str().unwrap().len(), 32);
    assert_eq!(
        named(&add(&server, &json!({"id": "b", "text": text})).json()),
        ["a"]
    );
    let found = server
        .client()
        .post("/v1/text", "text/plain", text.as_bytes())
        .json();
    assert_eq!(
        (named(&found), &found["query"]),
        (vec!["a", "b"], &first["fingerprint"])
    );
    let nothing = add(&server, &json!({"id": "c", "text": " \n"}));
    assert_eq!(
        (nothing.status, nothing.kind()),
        (422, "no-features".to_owned())
    );
}

#[test]
fn lines_are_added_up_to_the_first_that_is_none() {
    let folder = tempfile::tempdir().unwrap();
    let server = start(with_store(&folder.path().join("pages"), Width::W64));
    let mut lines: String = (0..3000)
        .map(|number: u64| {
            let fingerprint = number.wrapping_mul(0x9e37_79b9_7f4a_7c15);
            format!("{{\"id\":\"{number}\",\"fingerprint\":\"{fingerprint:x}\"}}\n")
        })
        .collect();
    let post = |lines: &str| {
        server
            .client()
            .post("/v1/documents", NDJSON, lines.as_bytes())
    };
    let answer = post(&lines);
    let answers: Vec<&str> = answer.text().lines().collect();
    assert_eq!(
        (answers.len(), answers[3000]),
        (3001, r#"{"count":3000,"done":true}"#)
    );
    assert!(answers[2999].contains(r#""id":"2999""#));
    lines =
        "\n{\"id\":\"x\",\"fingerprint\":\"1\"}\nnonsense\n{\"id\":\"y\",\"fingerprint\":\"2\"}"
            .into();
    let answer = post(&lines);
    let answers: Vec<Value> = answer
        .text()
        .lines()
        .map(|line| serde_json::from_str(line).unwrap())
        .collect();
    assert_eq!(answers.len(), 2);
    assert_eq!(answers[0]["outcome"], "new");
    assert_eq!(
        (&answers[1]["error"]["kind"], &answers[1]["error"]["line"]),
        (&json!("bad-json"), &json!(3))
    );
    assert_eq!(server.client().get("/v1/documents/y").status, 404);
    assert_eq!(server.metric("simidx_store_records"), 3001.0);
}

#[test]
fn lines_of_which_none_is_added_have_the_status_of_their_error() {
    let folder = tempfile::tempdir().unwrap();
    let server = start(with_store(&folder.path().join("pages"), Width::W64));
    for (lines, status, kind) in [
        ("garbage\n", 400, "bad-json"),
        (
            "\n{\"id\":\"a\",\"text\":\" \"}\n{\"id\":\"b\",\"fingerprint\":\"1\"}\n",
            422,
            "no-features",
        ),
    ] {
        let path = "/v1/documents";
        let refused = server.client().post(path, NDJSON, lines.as_bytes());
        assert_eq!((refused.status, &*refused.kind()), (status, kind));
        let line = if lines.starts_with('\n') { 2 } else { 1 };
        assert_eq!(refused.json()["line"], line);
    }
    let nothing = server.client().post("/v1/documents", NDJSON, b"");
    assert_eq!(
        (nothing.status, nothing.text()),
        (200, "{\"count\":0,\"done\":true}\n")
    );
    assert_eq!(server.metric("simidx_store_records"), 0.0);
}

#[test]
fn bad_documents_are_refused() {
    let folder = tempfile::tempdir().unwrap();
    let server = start(with_store(&folder.path().join("pages"), Width::W64));
    let long = "x".repeat(65_536);
    for (document, status, kind) in [
        (json!({"fingerprint": "1"}), 400, "bad-request"),
        (json!({"id": 7, "fingerprint": "1"}), 400, "bad-request"),
        (json!({"id": "", "fingerprint": "1"}), 400, "bad-id"),
        (json!({"id": long, "fingerprint": "1"}), 400, "bad-id"),
        (json!({"id": "a"}), 400, "bad-request"),
        (
            json!({"id": "a", "text": "x", "fingerprint": "1"}),
            400,
            "bad-request",
        ),
        (
            json!({"id": "a", "fingerprint": "x"}),
            400,
            "bad-fingerprint",
        ),
        // Only in an address are characters escaped in this way.
        (
            json!({"id": "a", "fingerprint": "%31"}),
            400,
            "bad-fingerprint",
        ),
        (
            json!({"id": "a", "fingerprint": "1".repeat(17)}),
            400,
            "bad-fingerprint",
        ),
        (
            json!({"id": "a", "fingerprint": "1", "more": 1}),
            400,
            "bad-request",
        ),
        (json!([]), 400, "bad-request"),
    ] {
        let refused = add(&server, &document);
        assert_eq!(
            (refused.status, &*refused.kind()),
            (status, kind),
            "{document}"
        );
    }
    for bad in [
        &b"\xff"[..],
        b"",
        b"{\"id\":\"a",
        b"{\"id\":\"\\ud800\",\"fingerprint\":\"1\"}",
    ] {
        assert_eq!(server.client().post("/v1/documents", JSON, bad).status, 400);
    }
    assert_eq!(
        server
            .client()
            .post("/v1/documents", "text/plain", b"x")
            .status,
        415
    );
    assert_eq!(delete(&server, "%ff").status, 400);
    assert_eq!(
        server
            .client()
            .post("/v1/documents?k=1", JSON, b"{}")
            .status,
        400
    );
    assert_eq!(server.metric("simidx_store_records"), 0.0);
}

#[test]
fn near_duplicates_at_once_name_each_other() {
    let folder = tempfile::tempdir().unwrap();
    let server = start(with_store(&folder.path().join("pages"), Width::W64));
    for round in 0..10_u64 {
        let centre = (round + 1).wrapping_mul(0x9e37_79b9_7f4a_7c15);
        let answers: Vec<Value> = std::thread::scope(|scope| {
            let threads: Vec<_> = (0..6_u64)
                .map(|thread| {
                    let server = &server;
                    scope.spawn(move || {
                        let fingerprint = format!("{:x}", centre ^ 1 << thread);
                        let id = format!("{round} {thread}");
                        add(server, &json!({"id": id, "fingerprint": fingerprint})).json()
                    })
                })
                .collect();
            threads
                .into_iter()
                .map(|thread| thread.join().unwrap())
                .collect()
        });
        let mut counts: Vec<usize> = answers.iter().map(|answer| named(answer).len()).collect();
        counts.sort_unstable();
        assert_eq!(counts, [0, 1, 2, 3, 4, 5], "round {round}");
    }
}

/// Returns the lines of an answer.
fn lines(answer: &Response) -> Vec<Value> {
    let lines = answer.text().lines();
    lines
        .map(|line| serde_json::from_str(line).unwrap())
        .collect()
}

#[test]
fn matches_of_additions_are_bounded_and_counted() {
    let folder = tempfile::tempdir().unwrap();
    let mut options = with_store(&folder.path().join("pages"), Width::W64);
    options.limits.max_results = 10;
    let server = start(options);
    for number in 0..20 {
        let id = format!("{number:02}");
        add(&server, &json!({"id": id, "fingerprint": "f"}));
    }
    let answer = add(&server, &json!({"id": "last", "fingerprint": "f"})).json();
    // One of the ten results is the fingerprint.
    let expected: Vec<String> = (0..9).map(|number| format!("{number:02}")).collect();
    assert_eq!(named(&answer), expected);
    assert_eq!(
        (&answer["truncated"], &answer["match_count"]),
        (&json!(true), &json!(20))
    );
    // The lines of a request share the limit.
    let body = "{\"id\":\"far\",\"fingerprint\":\"ffff00000000\"}\n{\"id\":\"x\",\"fingerprint\":\"f\"}\n\
                {\"id\":\"y\",\"fingerprint\":\"f\"}";
    let answer = server
        .client()
        .post("/v1/documents", NDJSON, body.as_bytes());
    let answers = lines(&answer);
    let counts: Vec<usize> = answers[..3].iter().map(|line| named(line).len()).collect();
    assert_eq!(counts, [0, 9, 0]);
    assert_eq!(answers[0].get("truncated"), None);
    assert_eq!(answers[2]["match_count"], 22);
    assert_eq!(answers[3], json!({"count": 3, "done": true}));
}

#[test]
fn what_is_refused_ends_the_lines_and_names_its_own() {
    let folder = tempfile::tempdir().unwrap();
    let mut collection = Options::default();
    collection.replace = false;
    let mut options = options(Vec::<NamedIndex>::new());
    let path = folder.path().join("pages");
    options.store = Some(Arc::new(
        Collection::open_or_create(path, Width::W64, collection).unwrap(),
    ));
    let server = start(options);
    let body = "{\"id\":\"a\",\"fingerprint\":\"1\"}\n\n{\"id\":\"b\",\"fingerprint\":\"2\"}\n\
                {\"id\":\"a\",\"fingerprint\":\"2\"}\n{\"id\":\"c\",\"fingerprint\":\"3\"}\nnonsense\n";
    let answer = server
        .client()
        .post("/v1/documents", NDJSON, body.as_bytes());
    let answers = lines(&answer);
    assert_eq!(answers.len(), 3, "{answers:?}");
    assert_eq!(
        (&answers[0]["outcome"], &answers[1]["outcome"]),
        (&json!("new"), &json!("new"))
    );
    let error = &answers[2]["error"];
    assert_eq!(
        (&error["kind"], &error["line"], &error["status"]),
        (&json!("id-exists"), &json!(4), &json!(409))
    );
    assert_eq!(server.metric("simidx_store_records"), 2.0);
}

#[test]
fn lines_have_a_deadline() {
    let folder = tempfile::tempdir().unwrap();
    let mut options = with_store(&folder.path().join("pages"), Width::W64);
    options.limits.timeout = std::time::Duration::from_millis(150);
    let server = start(options);
    let body: String = (0..60_000_u64)
        .map(|number| {
            let fingerprint = number.wrapping_mul(0x9e37_79b9_7f4a_7c15);
            format!("{{\"id\":\"{number}\",\"fingerprint\":\"{fingerprint:x}\"}}\n")
        })
        .collect();
    let answer = server
        .client()
        .post("/v1/documents", NDJSON, body.as_bytes());
    let answers = lines(&answer);
    let (error, answers) = answers.split_last().unwrap();
    assert_eq!(error["error"]["kind"], "timeout", "{error}");
    assert_eq!(error["error"]["line"], answers.len() + 1);
    let detail = error["error"]["detail"].as_str().unwrap();
    assert!(detail.contains("timed out at this line"), "{detail}");
    assert_eq!(server.metric("simidx_store_records"), answers.len() as f64);
}

#[test]
fn work_of_a_client_that_has_gone_still_takes_its_room() {
    const COUNT: u64 = 100_000;
    let folder = tempfile::tempdir().unwrap();
    let mut options = with_store(&folder.path().join("pages"), Width::W64);
    options.limits.max_waiting = 1;
    options.limits.timeout = std::time::Duration::from_secs(600);
    let server = start(options);
    let body: String = (0..COUNT)
        .map(|number| {
            let fingerprint = number.wrapping_mul(0x9e37_79b9_7f4a_7c15);
            format!("{{\"id\":\"{number}\",\"fingerprint\":\"{fingerprint:x}\"}}\n")
        })
        .collect();
    let len = body.len();
    let mut gone = server.client();
    let request = format!(
        "POST /v1/documents HTTP/1.1\r\nhost: localhost\r\ncontent-type: {NDJSON}\r\n\
         content-length: {len}\r\n\r\n{body}"
    );
    gone.send(request.as_bytes()).unwrap();
    let count = || server.metric("simidx_store_records") as u64;
    until(|| count() > 0);
    drop(gone);
    std::thread::sleep(std::time::Duration::from_millis(100));
    // The deletion waits for its turn.
    assert_eq!(delete(&server, "none").kind(), "unknown-id");
    assert_eq!(count(), COUNT);
}

/// Every record is near every query, so the number of matches equals the number of changes.
#[test]
fn an_answer_names_the_generation_that_it_comes_from() {
    const ADDITIONS: usize = 150;
    let folder = tempfile::tempdir().unwrap();
    let server = start(with_store(&folder.path().join("pages"), Width::W64));
    let generation = |response: &Response| {
        let generation = response.generation();
        let (_, changes) = generation.split_once('-').unwrap();
        usize::from_str_radix(changes, 16).unwrap()
    };
    std::thread::scope(|scope| {
        let adders: Vec<_> = (0..3)
            .map(|thread| {
                let server = &server;
                scope.spawn(move || {
                    for number in 0..ADDITIONS {
                        let id = format!("{thread} {number}");
                        let added = add(server, &json!({"id": id, "fingerprint": "ff"}));
                        assert_eq!(generation(&added), named(&added.json()).len() + 1);
                    }
                })
            })
            .collect();
        let mut client = server.client();
        while !adders.iter().all(|adder| adder.is_finished()) {
            let one = client.get("/v1/query/fe");
            assert_eq!(generation(&one), named(&one.json()).len());
            let own = client.get("/v1/ids/0%200");
            if own.status != 404 {
                assert_eq!(generation(&own), named(&own.json()["results"][0]).len());
            }
            let batch = json!({"fingerprints": ["fe", "fd"]}).to_string();
            let batch = client.post("/v1/query", JSON, batch.as_bytes());
            assert_eq!(generation(&batch), named(&batch.json()["results"][0]).len());
            let lines = client.post("/v1/query", NDJSON, b"\"fe\"\n\"fd\"\n");
            let text = String::from_utf8(lines.body.clone()).unwrap();
            let first: Value = serde_json::from_str(text.lines().next().unwrap()).unwrap();
            assert_eq!(generation(&lines), named(&first).len());
        }
        for adder in adders {
            adder.join().unwrap();
        }
    });
}

#[test]
fn the_records_of_a_generation_are_the_same_after_a_crash() {
    let folder = tempfile::tempdir().unwrap();
    let (path, crashed) = (folder.path().join("pages"), folder.path().join("crashed"));
    let mut options = Options::default();
    options.sync = simidx_collection::Sync::Never;
    options.background = false;
    let mut serving = crate::harness::options(Vec::new());
    serving.store = Some(Arc::new(
        Collection::open_or_create(&path, Width::W64, options.clone()).unwrap(),
    ));
    let server = start(serving.clone());
    assert_eq!(
        add(&server, &json!({"id": "a", "fingerprint": "1"})).status,
        200
    );
    let before = server.client().get("/v1/documents/a");
    assert_eq!(before.status, 200);
    // The visible record has not reached the disk.
    std::fs::create_dir(&crashed).unwrap();
    for entry in std::fs::read_dir(&path).unwrap() {
        let entry = entry.unwrap();
        std::fs::copy(entry.path(), crashed.join(entry.file_name())).unwrap();
    }
    serving.store = Some(Arc::new(Collection::open(&crashed, options).unwrap()));
    let server = start(serving);
    assert_eq!(server.client().get("/v1/documents/a").status, 404);
    let after = add(&server, &json!({"id": "b", "fingerprint": "2"}));
    let changes = |response: &Response| response.generation().split_once('-').unwrap().1.to_owned();
    assert_eq!(changes(&before), changes(&after));
    assert_ne!(before.generation(), after.generation());
}

#[test]
fn a_running_store_is_copied_on_request() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("pages");
    let server = start(with_store(&path, Width::W64));
    add(&server, &json!({"id": "a", "fingerprint": "ff"}));
    let copied = server.client().request("POST", "/-/snapshot", "", b"");
    assert_eq!(copied.status, 200);
    let copied = copied.json();
    assert_eq!(copied["changes"], 1);
    add(&server, &json!({"id": "b", "fingerprint": "ff"}));
    let copy = path.join(copied["snapshot"].as_str().unwrap());
    let restored = start(with_store(&copy, Width::W64));
    assert_eq!(named(&restored.client().get("/v1/query/ff").json()), ["a"]);
    // The store continues, and can be opened with the copies in its folder.
    drop(server);
    let server = start(with_store(&path, Width::W64));
    assert_eq!(
        named(&server.client().get("/v1/query/ff").json()),
        ["a", "b"]
    );
    // The copy fails, because a file is in the place of its folder.
    std::fs::remove_dir_all(path.join("snapshots")).unwrap();
    std::fs::write(path.join("snapshots"), "").unwrap();
    let refused = server.client().request("POST", "/-/snapshot", "", b"");
    assert_eq!(
        (refused.status, refused.kind()),
        (507, "snapshot-failed".into())
    );
    assert!(!refused.text().contains("pages"), "{}", refused.text());
}

#[test]
fn one_snapshot_is_taken_at_a_time() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("pages");
    let server = start(with_store(&path, Width::W64));
    let lines: String = (0..2000_u64)
        .map(|number| format!("{{\"id\":\"{number}\",\"fingerprint\":\"{number:x}\"}}\n"))
        .collect();
    server
        .client()
        .post("/v1/documents", NDJSON, lines.as_bytes());
    let (mut taken, mut refused) = (0, 0);
    until(|| {
        let mut clients: Vec<Client> = (0..8).map(|_| server.client()).collect();
        for client in &mut clients {
            let head = b"POST /-/snapshot HTTP/1.1\r\nhost: localhost\r\ncontent-length: 0\r\n\r\n";
            client.send(head).unwrap();
        }
        for mut client in clients {
            let answer = client.receive(false).unwrap();
            match answer.status {
                200 => taken += 1,
                status => {
                    assert_eq!((status, &*answer.kind()), (503, "busy"));
                    refused += 1;
                }
            }
        }
        refused > 0
    });
    assert!(taken > 0);
    assert_eq!(
        std::fs::read_dir(path.join("snapshots")).unwrap().count(),
        taken
    );
}

#[test]
fn a_seal_that_fails_is_told_from_a_journal_that_does() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("pages");
    let mut options = Options::default();
    options.seal_records = 10;
    let mut serving = crate::harness::options(Vec::new());
    serving.store = Some(Arc::new(
        Collection::open_or_create(&path, Width::W64, options).unwrap(),
    ));
    let server = start(serving);
    let places: Vec<_> = (1..100)
        .map(|number| path.join(format!("segment-{number:010}.simidx")))
        .collect();
    places
        .iter()
        .for_each(|place| std::fs::create_dir(place).unwrap());
    for number in 0..10 {
        let id = number.to_string();
        assert_eq!(
            add(&server, &json!({"id": id, "fingerprint": id})).status,
            200
        );
    }
    let failed = |what| server.metric(&format!("simidx_store_failed{{what=\"{what}\"}}"));
    let readiness = || {
        let answer = server.client().get("/readyz");
        (answer.status, answer.text().to_owned())
    };
    until(|| failed("seal") == 1.0);
    assert_eq!((failed("journal"), failed("merge")), (0.0, 0.0));
    let fails = "ready; sealing fails: the log says why\n".to_owned();
    assert_eq!(readiness(), (200, fails));
    // These additions fill the largest permitted number of lots that wait to be sealed.
    let lines: String = (10..300)
        .map(|number| format!("{{\"id\":\"{number}\",\"fingerprint\":\"{number}\"}}\n"))
        .collect();
    let refused = server
        .client()
        .post("/v1/documents", NDJSON, lines.as_bytes());
    let last: Value = serde_json::from_str(refused.text().lines().last().unwrap()).unwrap();
    assert_eq!(last["error"]["kind"], "not-sealed", "{last}");
    assert!(!last.to_string().contains("pages"), "{last}");
    let (status, line) = readiness();
    assert_eq!(status, 503);
    assert!(
        line.starts_with("changes are refused because sealing keeps failing"),
        "{line}"
    );
    places
        .iter()
        .for_each(|place| drop(std::fs::remove_dir(place)));
    until(|| failed("seal") == 0.0);
    until(|| readiness() == (200, "ready\n".to_owned()));
    let journal = server.metric("simidx_store_journal_bytes ");
    assert!(journal > 0.0);
    let info = server.client().get("/v1/info").json();
    assert_eq!(info["indexes"][0]["figures"]["journal_bytes"], journal);
}

#[test]
fn an_end_while_a_store_seals_leaves_no_file() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("pages");
    let mut options = Options::default();
    options.sync = simidx_collection::Sync::Never;
    options.seal_records = 2000;
    let store = Arc::new(Collection::open_or_create(&path, Width::W64, options).unwrap());
    let mut serving = crate::harness::options(Vec::new());
    serving.store = Some(store.clone());
    let server = start(serving);
    let document = |number: u64| {
        let value = number.wrapping_mul(0x9e37_79b9_7f4a_7c15);
        format!("{{\"id\":\"{number}\",\"fingerprint\":\"{value:016x}\"}}\n")
    };
    let lines: String = (0..8100).map(document).collect();
    let added = server
        .client()
        .post("/v1/documents", NDJSON, lines.as_bytes());
    assert_eq!(added.status, 200);
    server.handle.shut_down();
    server.join();
    // The process would end here: nothing after this runs.
    let manifest = std::fs::read_to_string(path.join("manifest.simidx-set")).unwrap();
    for entry in std::fs::read_dir(&path).unwrap() {
        let name = entry.unwrap().file_name().into_string().unwrap();
        let is_segment = name.starts_with("segment-");
        assert!(!name.ends_with(".tmp"), "{name}");
        assert!(!is_segment || manifest.contains(&name), "{name}");
    }
    let seals = store.stats().seal_count;
    std::thread::sleep(std::time::Duration::from_millis(50));
    assert_eq!(store.stats().seal_count, seals);
    assert!(store.close().is_ok());
}
