//! A source of another kind than files: records in memory, searched one by one. Its answers are those of a file.

use std::collections::BTreeMap;

use serde_json::{Value, json};
use simidx::{Fingerprint, Id, IdBuf, IdKind};
use simidx_server::{IdIter, Search, Server, Sink, Source, SourceSize};

use crate::harness::{Fixture, default, options, run};

/// Fingerprints with their ids, in order.
pub(crate) struct Plain(pub(crate) BTreeMap<u64, Vec<IdBuf>>);

impl Source for Plain {
    fn width(&self) -> u32 {
        64
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

    fn find(&self, queries: &[u128], search: Search, sink: &mut dyn Sink) -> simidx::Result<()> {
        for (number, &query) in queries.iter().enumerate() {
            let query = query as u64;
            let all = self.0.keys().map(|&found| (query.distance(found), found));
            let mut found: Vec<_> = all.filter(|(d, _)| *d <= search.distance).collect();
            found.sort_unstable();
            found.truncate(search.nearest.unwrap_or(usize::MAX));
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

    fn cost(&self, _: Search) -> f64 {
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
