//! Files that are replaced while requests continue.

use std::path::Path;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::time::{Duration, Instant};

use simidx::Index;
use simidx_server::NamedIndex;

use crate::client::{Client, PATIENCE, until};
use crate::harness::{Fixture, Running, default, fingerprints, options, serve, start, write};

/// Replaces a file atomically.
fn replace(path: &Path, bytes: &[u8]) {
    let beside = path.with_extension("new");
    std::fs::write(&beside, bytes).unwrap();
    std::fs::rename(beside, path).unwrap();
}

/// Two versions of a file, with their generations and the number of matches of a query.
struct Versions {
    bytes: [Vec<u8>; 2],
    generations: [String; 2],
    query: u64,
    counts: [usize; 2],
}

impl Versions {
    fn new(fixture: &Fixture<u64>) -> Self {
        let other = fixture.folder.path().join("other.simidx");
        let mut changed = fingerprints::<u64>(500, 99);
        let query = fixture.fingerprints[0];
        changed.push(query ^ 3);
        write(&other, &changed, true);
        let bytes = [&fixture.path, &other].map(|path| std::fs::read(path).unwrap());
        let indexes = [&fixture.path, &other].map(|path| Index::<u64>::open(path).unwrap());
        Versions {
            bytes,
            generations: indexes
                .each_ref()
                .map(|index| index.content_id().to_string()),
            query,
            counts: indexes
                .each_ref()
                .map(|index| index.query(query, 3).unwrap().len()),
        }
    }
}

fn reload(server: &Running) -> crate::client::Response {
    server.client().post("/-/reload", "", b"")
}

/// Sends queries until `end` is set, and checks that each answer comes from a single version.
fn load(mut client: Client, versions: &Versions, end: &AtomicBool, answered: &AtomicU64) {
    let path = format!("/v1/query/{:x}", versions.query);
    let body = versions.query.to_le_bytes().repeat(600);
    while !end.load(Ordering::Relaxed) {
        let response = client.get(&path);
        assert_eq!(response.status, 200, "{response:?}");
        let version = versions
            .generations
            .iter()
            .position(|g| *g == response.generation());
        let count = versions.counts[version.unwrap()];
        assert_eq!(response.json()["matches"].as_array().unwrap().len(), count);
        let response = client.post("/v1/query", "application/octet-stream", &body);
        assert_eq!(response.status, 200, "{response:?}");
        let version = versions
            .generations
            .iter()
            .position(|g| *g == response.generation());
        let count = (versions.counts[version.unwrap()] as u32).to_le_bytes();
        for query in 1..=600 {
            assert_eq!(response.body[4 * query..4 * query + 4], count);
        }
        answered.fetch_add(2, Ordering::Relaxed);
    }
}

#[test]
fn a_hundred_reloads_good_and_bad_fail_no_request() {
    let fixture = Fixture::<u64>::new(3000);
    let versions = Versions::new(&fixture);
    assert_ne!(versions.counts[0], versions.counts[1]);
    let server = serve(&fixture.path);
    let (end, answered) = (AtomicBool::new(false), AtomicU64::new(0));
    let short = &versions.bytes[1][..versions.bytes[1].len() / 2];
    let mut damaged = versions.bytes[1].clone();
    damaged[600] ^= 0x10;
    let mut newer = versions.bytes[1].clone();
    newer[8] ^= 0xff;
    let bad: [&[u8]; 5] = [short, &damaged, &newer, b"", b"no index at all"];
    std::thread::scope(|scope| {
        for _ in 0..3 {
            scope.spawn(|| load(server.client(), &versions, &end, &answered));
        }
        let mut now = 0;
        for round in 0..200 {
            let before = answered.load(Ordering::Relaxed);
            if round % 2 == 0 {
                now = 1 - now;
                replace(&fixture.path, &versions.bytes[now]);
                let response = reload(&server);
                assert_eq!(response.status, 200, "{response:?}");
                let reloaded = &response.json()["reloaded"][0];
                assert_eq!(reloaded["generation"], versions.generations[now]);
                assert_eq!(reloaded["changed"], true);
            } else {
                match bad.get(round / 2 % 6) {
                    Some(bytes) => replace(&fixture.path, bytes),
                    None => std::fs::remove_file(&fixture.path).unwrap(),
                }
                let response = reload(&server);
                assert_eq!(response.status, 422, "{response:?}");
                assert!(
                    response.json()["detail"]
                        .as_str()
                        .unwrap()
                        .contains("index.simidx")
                );
            }
            let response = server.client().get("/v1/query/1");
            assert_eq!(response.generation(), versions.generations[now]);
            // Requests are answered meanwhile.
            let started = Instant::now();
            while round % 20 == 0 && answered.load(Ordering::Relaxed) == before {
                assert!(started.elapsed() < PATIENCE);
                std::thread::yield_now();
            }
        }
        end.store(true, Ordering::Relaxed);
    });
    assert!(answered.load(Ordering::Relaxed) > 20);
    assert_eq!(
        server.metric("simidx_reloads_total{result=\"good\"}"),
        100.0
    );
    assert_eq!(
        server.metric("simidx_reloads_total{result=\"failed\"}"),
        100.0
    );
    until(|| server.handle.generation_count() == 1);
}

#[test]
fn a_watched_file_is_opened_when_it_was_replaced() {
    let fixture = Fixture::<u64>::new(500);
    let versions = Versions::new(&fixture);
    let mut options = options(vec![default(&fixture.path)]);
    options.watch = Some(Duration::from_millis(10));
    let server = start(options);
    let generation = || server.client().get("/v1/query/1").generation();
    assert_eq!(generation(), versions.generations[0]);
    replace(&fixture.path, &versions.bytes[1]);
    until(|| generation() == versions.generations[1]);
    // An invalid file is tried once, and not again.
    replace(&fixture.path, b"junk");
    until(|| server.metric("simidx_reloads_total{result=\"failed\"}") == 1.0);
    std::thread::sleep(Duration::from_millis(100));
    assert_eq!(
        server.metric("simidx_reloads_total{result=\"failed\"}"),
        1.0
    );
    assert_eq!(generation(), versions.generations[1]);
    replace(&fixture.path, &versions.bytes[0]);
    until(|| generation() == versions.generations[0]);
}

#[test]
fn a_reload_of_which_one_index_fails_changes_none() {
    let fixture = Fixture::<u64>::new(400);
    let versions = Versions::new(&fixture);
    let [first, second] = ["a", "b"].map(|name| fixture.folder.path().join(name));
    let names = ["first", "second"];
    for (good, bad, bad_one) in [(&first, &second, 1), (&second, &first, 0)] {
        for path in [&first, &second] {
            replace(path, &versions.bytes[0]);
        }
        let indexes = [("first", &first), ("second", &second)]
            .map(|(name, path)| NamedIndex::new(name, [path]).unwrap());
        let server = start(options(indexes.into()));
        let generations = || {
            names.map(|name| {
                let path = format!("/v1/query/1?index={name}");
                server.client().get(&path).generation()
            })
        };
        let [old, new] = &versions.generations;
        replace(good, &versions.bytes[1]);
        replace(bad, b"junk");
        let response = reload(&server);
        assert_eq!(response.status, 422, "{response:?}");
        assert_eq!(generations(), [old.clone(), old.clone()]);
        server.handle.reload();
        assert_eq!(generations(), [old.clone(), old.clone()]);
        let failed = server.metric("simidx_reloads_total{result=\"failed\"}");
        assert_eq!(failed, 2.0);
        assert_eq!(server.metric("simidx_reloads_total{result=\"good\"}"), 0.0);
        // A reload by name concerns only one index.
        let path = format!("/-/reload?index={}", names[1 - bad_one]);
        assert_eq!(server.client().post(&path, "", b"").status, 200);
        let mut changed = [old.clone(), old.clone()];
        changed[1 - bad_one] = new.clone();
        assert_eq!(generations(), changed);
        replace(bad, &versions.bytes[1]);
        let response = reload(&server);
        assert_eq!(response.status, 200, "{response:?}");
        assert_eq!(generations(), [new.clone(), new.clone()]);
        until(|| server.handle.generation_count() == 2);
    }
}

#[test]
fn pages_elsewhere_cannot_ask_for_a_reload() {
    let fixture = Fixture::<u64>::new(40);
    let server = serve(&fixture.path);
    let mut client = server.client();
    client.headers = "origin: http://elsewhere.example\r\n".to_owned();
    let response = client.post("/-/reload", "", b"");
    assert_eq!(
        (response.status, response.kind()),
        (403, "forbidden".to_owned())
    );
    let response = server.client().post("/-/reload?index=x", "", b"");
    assert_eq!(
        (response.status, response.kind()),
        (404, "unknown-index".to_owned())
    );
}

#[test]
fn a_file_of_another_width_is_refused() {
    let fixture = Fixture::<u64>::new(40);
    let server = serve(&fixture.path);
    let before = server.client().get("/v1/query/1").generation();
    let other = fixture.path.with_extension("replacing");
    write(&other, &fingerprints::<u32>(40, 3), true);
    std::fs::rename(&other, &fixture.path).unwrap();
    let refused = reload(&server);
    assert_eq!((refused.status, &*refused.kind()), (422, "mismatch"));
    assert!(refused.text().contains("32 bits"), "{}", refused.text());
    assert_eq!(server.client().get("/v1/query/1").generation(), before);
}
