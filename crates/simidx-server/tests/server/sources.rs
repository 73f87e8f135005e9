//! A source of another kind than files: records in memory, searched one by one. Its answers are those of a file.

use std::collections::BTreeMap;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, mpsc};
use std::time::{Duration, Instant};

use serde_json::{Value, json};
use simidx::set::Question;
use simidx::{Fingerprint, Fingerprints, Id, IdBuf, IdKind, Width};
use simidx_server::{IdIter, Server, ServerOptions, Sink, Source, SourceSize};

use crate::client::PATIENCE;
use crate::harness::{Fixture, Running, default, options, run};

/// Fingerprints with their ids, in order.
pub(crate) struct Plain(pub(crate) BTreeMap<u64, Vec<IdBuf>>);

impl Source for Plain {
    fn width(&self) -> Width {
        Width::W64
    }

    fn max_distance(&self) -> u32 {
        3
    }

    fn id_kind(&self) -> IdKind {
        IdKind::String
    }

    fn pipeline(&self) -> Option<&str> {
        None
    }

    fn generation(&self) -> String {
        "plain".to_owned()
    }

    fn find(
        &self,
        queries: &Fingerprints,
        question: Question,
        sink: &mut dyn Sink,
    ) -> simidx::Result<()> {
        for (number, query) in queries.iter().enumerate() {
            let query = query as u64;
            let all = self.0.keys().map(|&found| (query.distance(found), found));
            let mut found: Vec<_> = all.filter(|(d, _)| *d <= question.max_distance()).collect();
            found.sort_unstable();
            if let Question::Nearest { count, .. } = question {
                found.truncate(count);
            }
            sink.begin(number);
            for (distance, found) in found {
                let mut ids = self.0[&found].iter().cloned().map(Ok);
                let ids: &mut IdIter<'_> = &mut ids;
                sink.found(found.into(), distance, ids)?;
            }
            sink.end(number);
        }
        Ok(())
    }

    fn fingerprints_of_id(&self, id: Id<'_>) -> simidx::Result<Vec<u128>> {
        let with = self
            .0
            .iter()
            .filter(|(_, ids)| ids.iter().any(|other| other.as_id() == id));
        Ok(with.map(|(&fingerprint, _)| fingerprint.into()).collect())
    }

    fn cost(&self, _: Question) -> f64 {
        self.0.len() as f64
    }

    fn size(&self) -> SourceSize {
        SourceSize::default()
    }

    fn figures(&self) -> simidx::Result<Value> {
        Ok(json!({}))
    }

    fn resident_fraction(&self) -> Option<f64> {
        Some(1.0)
    }
}

#[test]
fn another_source_answers_as_a_file_with_the_same_records() {
    let fixture = Fixture::<u64>::new(800);
    let mut records: BTreeMap<u64, Vec<IdBuf>> = BTreeMap::new();
    for (number, &fingerprint) in fixture.fingerprints.iter().enumerate() {
        let id = IdBuf::String(format!("id-{number}"));
        records.entry(fingerprint).or_default().push(id);
    }
    let plain: Box<dyn Source> = Box::new(Plain(records));
    let options = options(vec![default(&fixture.path)]);
    let server = Server::bind_with_sources(options, vec![("plain".to_owned(), plain)]);
    let server = run(server.unwrap());
    let mut client = server.client();
    for query in fixture.fingerprints.iter().step_by(37) {
        for path in [
            format!("/v1/query/{query:x}?k=5"),
            format!("/v1/query/{query:x}?limit=2"),
            format!("/v1/nearest/{query:x}?count=3"),
        ] {
            let end = if path.contains('?') { "&" } else { "?" };
            let (a, b) = (
                format!("{path}{end}index=default"),
                format!("{path}{end}index=plain"),
            );
            let (a, b) = (client.get(&a), client.get(&b));
            assert_eq!(a.text(), b.text(), "{path}");
            assert_eq!(b.generation(), "plain");
        }
    }
    let words: Vec<u8> = fixture
        .fingerprints
        .iter()
        .flat_map(|f| f.to_le_bytes())
        .collect();
    let mut post = |name: &str| {
        let path = format!("/v1/query?index={name}");
        client.post(&path, "application/octet-stream", &words).body
    };
    assert_eq!(post("default"), post("plain"));
    assert_eq!(
        client.get("/v1/ids/id-5?index=plain").body,
        client.get("/v1/ids/id-5").body
    );
    assert_eq!(client.post("/-/reload", "", b"").status, 200);
    assert_eq!(client.get("/?index=plain&q=id-5").status, 200);
}

/// A source that does something at each search, with the queries, and may change its records. Each search names another
/// generation.
struct Acting<F> {
    records: Arc<Mutex<Plain>>,
    act: F,
    searches: AtomicU64,
}

impl<F: Fn(&Fingerprints) + Send + Sync + 'static> Source for Acting<F> {
    fn width(&self) -> Width {
        Width::W64
    }

    fn max_distance(&self) -> u32 {
        3
    }

    fn id_kind(&self) -> IdKind {
        IdKind::String
    }

    fn pipeline(&self) -> Option<&str> {
        None
    }

    fn generation(&self) -> String {
        self.searches.load(Ordering::Relaxed).to_string()
    }

    fn find(
        &self,
        queries: &Fingerprints,
        question: Question,
        sink: &mut dyn Sink,
    ) -> simidx::Result<()> {
        (self.act)(queries);
        let number = self.searches.fetch_add(1, Ordering::Relaxed) + 1;
        sink.generation(number.to_string());
        self.records.lock().unwrap().find(queries, question, sink)
    }

    fn fingerprints_of_id(&self, id: Id<'_>) -> simidx::Result<Vec<u128>> {
        self.records.lock().unwrap().fingerprints_of_id(id)
    }

    /// A millisecond.
    fn cost(&self, _: Question) -> f64 {
        1e6
    }

    fn size(&self) -> SourceSize {
        SourceSize::default()
    }

    fn figures(&self) -> simidx::Result<Value> {
        Ok(json!({}))
    }

    fn resident_fraction(&self) -> Option<f64> {
        None
    }
}

/// A server of such a source without records.
pub(crate) fn acting(
    options: ServerOptions,
    act: impl Fn(&Fingerprints) + Send + Sync + 'static,
) -> Running {
    acting_on(Arc::new(Mutex::new(Plain(BTreeMap::new()))), options, act)
}

/// A server of such a source.
fn acting_on(
    records: Arc<Mutex<Plain>>,
    options: ServerOptions,
    act: impl Fn(&Fingerprints) + Send + Sync + 'static,
) -> Running {
    let source: Box<dyn Source> = Box::new(Acting {
        records,
        act,
        searches: AtomicU64::new(0),
    });
    run(Server::bind_with_sources(options, vec![("acting".to_owned(), source)]).unwrap())
}

#[test]
fn an_id_is_looked_up_again_only_if_its_own_record_has_changed() {
    // The record of `own` has each of these fingerprints in turn, until the last one stays.
    let own = |fingerprint: u64| {
        let named = |id: &str| vec![IdBuf::String(id.to_owned())];
        Plain(BTreeMap::from([
            (fingerprint, named("own")),
            (fingerprint ^ 1, named("other")),
        ]))
    };
    for (changes, tries) in [(0, 1), (2, 3), (63, 64), (64, 64)] {
        let records = Arc::new(Mutex::new(own(0x100)));
        let (searches, changing) = (Arc::new(AtomicU64::new(0)), records.clone());
        let counted = searches.clone();
        let server = acting_on(records, options(Vec::new()), move |_| {
            let search = counted.fetch_add(1, Ordering::Relaxed) + 1;
            if search <= changes {
                *changing.lock().unwrap() = own(0x100 << (search % 2));
            }
        });
        let response = server.client().get("/v1/ids/own");
        assert_eq!(searches.load(Ordering::Relaxed), tries);
        if changes == tries {
            assert_eq!((response.status, response.kind()), (503, "busy".to_owned()));
            continue;
        }
        assert_eq!(response.generation(), tries.to_string());
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
    // The query 2 waits until it is told.
    let server = acting(options(Vec::new()), move |queries| {
        if queries.iter().any(|query| query == 2) {
            let _ = receiver.lock().unwrap().recv_timeout(PATIENCE);
        }
    });
    assert_eq!(server.metric("simidx_body_bytes "), 0.0);
    let line = |query: u64| format!("\"{query:x}\"{}\n", " ".repeat(1000));
    let body = format!("{}{}", line(1).repeat(300), line(2));
    let mut client = server.client();
    let head = format!(
        "POST /v1/query HTTP/1.1\r\nhost: localhost\r\ncontent-type: application/x-ndjson\r\ncontent-length: {}\r\n\r\n",
        body.len()
    );
    client.send(head.as_bytes()).unwrap();
    client.send(body.as_bytes()).unwrap();
    // The head of the answer and its first lines are there.
    assert!(client.line().unwrap().contains(" 200 "));
    assert!(server.metric("simidx_body_bytes ") >= body.len() as f64);
    drop(sender);
    while client.line().unwrap() != "{\"done\":true,\"count\":301}" {}
    let started = Instant::now();
    while server.metric("simidx_body_bytes ") != 0.0 {
        assert!(started.elapsed() < PATIENCE);
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
    // One on each of two threads at most.
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
