//! A store answers as a file does; and events between a request and its search, simulated by a hook before each search.

use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, mpsc};
use std::time::{Duration, Instant};

use serde_json::json;
use simidx::{Fingerprint, Fingerprints, Watch, Width};
use simidx_collection::Collection;
use simidx_server::{Hook, Server, ServerOptions};
use simidx_testkit::le_bytes;

use crate::client::PATIENCE;
use crate::documents::store;
use crate::harness::{Fixture, Running, default, options, start};

/// Starts a server of an empty store that passes the queries of each search to a hook.
pub(crate) fn acting(
    options: ServerOptions,
    act: impl Fn(&Fingerprints) + Send + Sync + 'static,
) -> Running {
    let folder = tempfile::tempdir().unwrap();
    let store = store(&folder.path().join("pages"), Width::W64);
    acting_on(store, options, move |queries| {
        // The folder lives as long as the server.
        let _ = folder.path();
        act(queries);
    })
}

/// Starts a server of this store, with a hook before each search.
fn acting_on(
    store: Arc<Collection>,
    mut options: ServerOptions,
    act: impl Fn(&Fingerprints) + Send + Sync + 'static,
) -> Running {
    options.store = Some(store);
    options.hook = Some(Hook(Arc::new(move |queries| {
        if let Some(queries) = queries {
            act(queries);
        }
    })));
    start(options)
}

#[test]
fn a_store_answers_as_a_file_with_the_same_records() {
    let fixture = Fixture::<u64>::new(800);
    let records = store(&fixture.folder.path().join("pages"), Width::W64);
    let all = fixture.fingerprints.iter().enumerate();
    let all: Vec<_> = all
        .map(|(number, f)| (format!("id-{number}"), *f))
        .collect();
    // Half of the records are in a segment, and half are recent.
    let (sealed, recent) = all.split_at(all.len() / 2);
    records.add_many(sealed).1.unwrap();
    records.seal(&Watch::default()).unwrap();
    records.add_many(recent).1.unwrap();
    let generation = format!("{:016x}-{:016x}", records.opening(), all.len());
    let mut options = options(vec![default(&fixture.path)]);
    options.store = Some(records);
    let server = start(options);
    let mut client = server.client();
    for query in fixture.fingerprints.iter().step_by(37) {
        for path in [
            format!("/v1/query/{query:x}?k=5"),
            format!("/v1/query/{query:x}?limit=2"),
            format!("/v1/nearest/{query:x}?count=3"),
        ] {
            let file = client.get(&format!("{path}&index=default"));
            let store = client.get(&format!("{path}&index=store"));
            assert_eq!((file.status, file.text()), (200, store.text()), "{path}");
            assert_eq!(store.generation(), generation);
        }
    }
    let words = le_bytes(&fixture.fingerprints);
    let mut post = |name: &str| {
        let path = format!("/v1/query?index={name}");
        client.post(&path, "application/octet-stream", &words).body
    };
    assert_eq!(post("default"), post("store"));
    let file = client.get("/v1/ids/id-5");
    assert_eq!(file.status, 200);
    assert_eq!(client.get("/v1/ids/id-5?index=store").body, file.body);
    assert_eq!(client.post("/-/reload", "", b"").status, 200);
    assert_eq!(client.get("/?index=store&q=id-5").status, 200);
}

#[test]
fn a_store_is_checked_before_it_answers() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("pages");
    let records = store(&path, Width::W64);
    let all: Vec<(String, u64)> = (0..2000).map(|n| (n.to_string(), n << 32)).collect();
    records.add_many(&all).1.unwrap();
    records.seal(&Watch::default()).unwrap();
    records.close().unwrap();
    drop(records);
    let segment = path.join("segment-0000000001.simidx");
    let mut bytes = std::fs::read(&segment).unwrap();
    // The summary at the end of the file, which is checked when it is opened, remains.
    let middle = bytes.len() / 2;
    bytes[middle] ^= 0xff;
    std::fs::write(&segment, bytes).unwrap();
    let mut options = options(Vec::new());
    options.store = Some(store(&path, Width::W64));
    let refused = Server::bind(options.clone()).unwrap_err().to_string();
    assert!(refused.contains("segment-0000000001.simidx"), "{refused}");
    options.warm = false;
    drop(start(options));
}

#[test]
fn answers_of_a_store_name_its_records_even_if_nothing_is_searched() {
    const JSON: &str = "application/json";
    const NDJSON: &str = "application/x-ndjson";
    let folder = tempfile::tempdir().unwrap();
    let records = store(&folder.path().join("pages"), Width::W64);
    records.add("a", 0xff_u64).unwrap();
    let generation = format!("{:016x}-{:016x}", records.opening(), 1);
    let mut options = options(Vec::new());
    options.store = Some(records);
    let server = start(options);
    let mut client = server.client();
    // More texts than one chunk holds, and one with features after them.
    let mut texts = vec!["…?!"; 600];
    texts.push("the quick brown fox jumps over the lazy dog");
    let lines = texts
        .iter()
        .map(|text| format!("{}\n", json!({"text": text})));
    let lines: String = lines.collect();
    let texts = json!({ "texts": texts }).to_string();
    for (path, kind, body) in [
        ("/v1/query", JSON, "{\"fingerprints\":[]}"),
        ("/v1/query", NDJSON, ""),
        ("/v1/query", "application/octet-stream", ""),
        ("/v1/query", JSON, &*texts),
        ("/v1/query", NDJSON, &*lines),
        ("/v1/text", "text/plain", "…?!"),
    ] {
        let answer = client.post(path, kind, body.as_bytes());
        assert_eq!(answer.status, 200, "{path} {kind}: {}", answer.text());
        assert_eq!(answer.generation(), generation, "{path} {kind}");
    }
}

#[test]
fn an_id_is_looked_up_again_only_if_its_own_record_has_changed() {
    // The record `own` has each of these fingerprints in turn, and keeps the last one.
    let own = |store: &Collection, fingerprint: u64| {
        store.add("own", fingerprint).unwrap();
        store.add("other", fingerprint ^ 1).unwrap();
    };
    for (changes, tries) in [(0, 1), (2, 3), (63, 64), (64, 64)] {
        let folder = tempfile::tempdir().unwrap();
        let records = store(&folder.path().join("pages"), Width::W64);
        own(&records, 0x100);
        let (searches, changing) = (Arc::new(AtomicU64::new(0)), records.clone());
        let counted = searches.clone();
        let server = acting_on(records.clone(), options(Vec::new()), move |_| {
            let search = counted.fetch_add(1, Ordering::Relaxed) + 1;
            if search <= changes {
                own(&changing, 0x100 << (search % 2));
            }
        });
        let response = server.client().get("/v1/ids/own");
        assert_eq!(searches.load(Ordering::Relaxed), tries);
        if changes == tries {
            assert_eq!((response.status, response.kind()), (503, "busy".to_owned()));
            continue;
        }
        let (opening, count) = (records.opening(), 2 * (changes + 1));
        assert_eq!(
            response.generation(),
            format!("{opening:016x}-{count:016x}")
        );
        let last = 0x100_u64 << (changes % 2);
        assert_eq!(
            response.json(),
            json!({"results": [{
                "id": "own",
                "matches": [
                    {"distance": 0, "fingerprint": last.to_hex(), "ids": ["own"]},
                    {"distance": 1, "fingerprint": (last ^ 1).to_hex(), "ids": ["other"]},
                ],
                "query": last.to_hex(),
            }]})
        );
    }
}

#[test]
fn a_body_takes_room_until_its_last_query_is_answered() {
    let (sender, receiver) = mpsc::channel::<()>();
    let receiver = Mutex::new(receiver);
    // The query 2 blocks until the test releases it.
    let server = acting(options(Vec::new()), move |queries| {
        if queries.iter().any(|query| query == 2) {
            let _ = receiver.lock().unwrap().recv_timeout(PATIENCE);
        }
    });
    assert_eq!(server.metric("simidx_body_bytes "), 0.0);
    // The queries of short lines take more memory than the lines.
    for (padding, least) in [(1000, 301 * 1000), (0, 301 * 64)] {
        let line = |query: u64| format!("\"{query:x}\"{}\n", " ".repeat(padding));
        let body = format!("{}{}", line(1).repeat(300), line(2));
        let mut client = server.client();
        let head = format!(
            "POST /v1/query HTTP/1.1\r\nhost: localhost\r\ncontent-type: application/x-ndjson\r\ncontent-length: {}\r\n\r\n",
            body.len()
        );
        client.send(head.as_bytes()).unwrap();
        client.send(body.as_bytes()).unwrap();
        // The head of the answer and its first lines have arrived.
        assert!(client.line().unwrap().contains(" 200 "));
        assert!(server.metric("simidx_body_bytes ") >= f64::from(least));
        sender.send(()).unwrap();
        while client.line().unwrap() != "{\"done\":true,\"count\":301}" {}
        let started = Instant::now();
        while server.metric("simidx_body_bytes ") != 0.0 {
            assert!(started.elapsed() < PATIENCE);
        }
    }
}

#[test]
fn a_batch_that_takes_too_long_ends_after_the_query_at_which_it_does() {
    let mut options = options(Vec::new());
    let timeout = Duration::from_millis(200);
    options.limits.timeout = timeout;
    let asked = Arc::new(Mutex::new(Vec::new()));
    let log = asked.clone();
    let server = acting(options, move |queries| {
        log.lock().unwrap().push(queries.len());
        std::thread::sleep(timeout);
    });
    let body = 1u64.to_le_bytes().repeat(256);
    let mut client = server.client();
    let response = client.post("/v1/query", "application/octet-stream", &body);
    assert_eq!(
        (response.status, response.kind()),
        (503, "timeout".to_owned())
    );
    drop(server);
    // At most one query on each of two threads.
    let asked = asked.lock().unwrap();
    assert!(
        asked.len() <= 2 && asked.iter().all(|&len| len == 1),
        "{asked:?}"
    );
}

#[test]
fn a_search_that_breaks_off_is_500_and_the_server_goes_on() {
    let server = acting(options(Vec::new()), |queries| {
        assert!(
            queries.iter().all(|query| query != 2),
            "as the test wants it"
        );
    });
    let mut client = server.client();
    let response = client.get("/v1/query/2");
    assert_eq!(
        (response.status, response.kind()),
        (500, "other".to_owned())
    );
    let body = [1u64.to_le_bytes(), 2u64.to_le_bytes()].concat();
    let response = client.post("/v1/query", "application/octet-stream", &body);
    assert_eq!(
        (response.status, response.kind()),
        (500, "other".to_owned())
    );
    assert_eq!(client.get("/v1/query/1").status, 200);
    let failed = server.metric("simidx_requests_total{route=\"/v1/query\",status=\"500\"}");
    assert_eq!(failed, 1.0);
}
