//! All kinds of queries, against the answers of the library.

use serde_json::{Value, json};
use simidx::{Fingerprint, Index};
use simidx_server::NamedIndex;
use simidx_testkit::le_bytes;

use crate::harness::{Fixture, fingerprints, options, serve, start, write};

const JSON: &str = "application/json";
const NDJSON: &str = "application/x-ndjson";
const BINARY: &str = "application/octet-stream";

fn one_by_one<F: Fingerprint>() {
    let fixture = Fixture::<F>::new(2000);
    let server = serve(&fixture.path);
    let mut client = server.client();
    let generation = fixture.index.content_id().to_string();
    let mut found = 0;
    for &query in fixture
        .fingerprints
        .iter()
        .step_by(97)
        .chain(&[F::ZERO, F::MAX])
    {
        for k in [0, 1, 3, 5] {
            let response = client.get(&format!("/v1/query/{}?k={k}", query.to_hex()));
            assert_eq!(response.status, 200);
            assert_eq!(response.generation(), generation);
            let expected = fixture.object(query, k);
            found += expected["matches"].as_array().unwrap().len();
            assert_eq!(response.json(), expected);
        }
        let response = client.get(&format!("/v1/query/{}", query.to_hex()));
        assert_eq!(response.json(), fixture.object(query, 3));
    }
    assert!(found > 100);
}

#[test]
fn single_queries_are_answered_as_by_the_library_at_every_width() {
    one_by_one::<u32>();
    one_by_one::<u64>();
    one_by_one::<u128>();
}

#[test]
fn an_answer_is_byte_for_byte_that_of_the_program() {
    let fixture = Fixture::<u64>::new(40);
    let server = serve(&fixture.path);
    let query = fixture.fingerprints[0];
    let response = server.client().get(&format!("/v1/query/{query:x}?k=1"));
    let text = response.text();
    assert!(
        text.starts_with(r#"{"matches":[{"distance":0,"fingerprint":""#),
        "{text}"
    );
    assert!(
        text.ends_with(&format!("\"query\":\"{query:016x}\"}}\n")),
        "{text}"
    );
}

#[test]
fn limits_and_nearest_are_those_of_the_library() {
    let fixture = Fixture::<u64>::new(2000);
    let server = serve(&fixture.path);
    let mut client = server.client();
    for &query in fixture.fingerprints.iter().step_by(301) {
        for count in [1, 2, 3, 50] {
            for (address, k) in [
                (format!("/v1/query/{query:x}?limit={count}"), 3),
                (format!("/v1/query/{query:x}?nearest={count}&k=6"), 6),
                (format!("/v1/nearest/{query:x}?count={count}&k=5"), 5),
                // The largest permitted distance.
                (format!("/v1/nearest/{query:x}?count={count}"), 7),
            ] {
                let nearest = fixture.index.nearest(query, count, k).unwrap();
                let expected: Vec<_> = nearest.iter().map(|m| m.fingerprint.to_hex()).collect();
                let answer = client.get(&address).json();
                let matches = answer["matches"].as_array().unwrap();
                let found: Vec<_> = matches.iter().map(|m| m["fingerprint"].clone()).collect();
                assert_eq!(found, expected, "{address}");
            }
        }
    }
}

#[test]
fn batches_of_all_forms_are_answered_alike_and_as_by_the_library() {
    let fixture = Fixture::<u64>::new(3000);
    let server = serve(&fixture.path);
    let mut client = server.client();
    // On the connection's thread, in one chunk, in several.
    for count in [0, 1, 10, 255, 256, 257, 1500] {
        let queries: Vec<u64> = fixture.fingerprints[..count]
            .iter()
            .map(|f| f ^ 1)
            .collect();
        let expected: Vec<Value> = queries.iter().map(|&q| fixture.object(q, 3)).collect();
        let hex: Vec<String> = queries.iter().map(|q| q.to_hex()).collect();

        let body = json!({"fingerprints": hex, "k": 3}).to_string();
        let response = client.post("/v1/query", JSON, body.as_bytes());
        assert_eq!(response.status, 200, "{count}: {response:?}");
        assert_eq!(response.json(), json!({"results": expected}));

        let lines: String = hex
            .iter()
            .map(|hex| format!("{{\"fingerprint\":\"{hex}\"}}\n\r\n"))
            .collect();
        let response = client.post("/v1/query?k=3", NDJSON, lines.as_bytes());
        let mut lines: Vec<Value> = response
            .text()
            .lines()
            .map(|line| serde_json::from_str(line).unwrap())
            .collect();
        assert_eq!(lines.pop(), Some(json!({"done": true, "count": count})));
        assert_eq!(lines, expected);

        let response = client.post("/v1/query", BINARY, &le_bytes(&queries));
        assert_eq!(response.header("content-type"), Some(BINARY));
        assert_eq!(
            from_columns::<u64>(&response.body),
            plain(&fixture.index, &queries)
        );
    }
}

#[test]
fn columns_are_as_wide_as_the_fingerprints() {
    fn check<F: Fingerprint>() {
        let fixture = Fixture::<F>::new(500);
        let server = serve(&fixture.path);
        let mut body = Vec::new();
        fixture
            .fingerprints
            .iter()
            .for_each(|f| f.extend_le(&mut body));
        let response = server.client().post("/v1/query?k=2", BINARY, &body);
        let expected: Rows<F> = fixture
            .fingerprints
            .iter()
            .map(|&query| {
                let found = fixture.index.query(query, 2).unwrap();
                found
                    .iter()
                    .map(|m| (m.fingerprint, m.distance as u8))
                    .collect()
            })
            .collect();
        assert_eq!(from_columns::<F>(&response.body), expected);
    }
    check::<u32>();
    check::<u128>();
}

type Rows<F> = Vec<Vec<(F, u8)>>;

fn plain(index: &Index<u64>, queries: &[u64]) -> Rows<u64> {
    let rows = queries.iter().map(|&query| index.query(query, 3).unwrap());
    rows.map(|row| {
        row.iter()
            .map(|m| (m.fingerprint, m.distance as u8))
            .collect()
    })
    .collect()
}

/// Parses an answer in columns, which must be complete and without further bytes.
fn from_columns<F: Fingerprint>(body: &[u8]) -> Rows<F> {
    let word = |at: usize| u32::from_le_bytes(body[at..at + 4].try_into().unwrap()) as usize;
    let query_count = word(0);
    let counts: Vec<usize> = (1..=query_count).map(|query| word(4 * query)).collect();
    let total: usize = counts.iter().sum();
    let (fingerprints, distances) = body[4 + 4 * query_count..].split_at(total * F::BYTES);
    assert_eq!(distances.len(), total);
    let fingerprints = fingerprints
        .chunks(F::BYTES)
        .map(|bytes| F::from_le_slice(bytes).unwrap());
    let mut members = fingerprints.zip(distances.iter().copied());
    counts
        .into_iter()
        .map(|count| members.by_ref().take(count).collect())
        .collect()
}

#[test]
fn lines_may_differ_in_distance_and_limit() {
    let fixture = Fixture::<u64>::new(2000);
    let server = serve(&fixture.path);
    let query = fixture.fingerprints[0];
    let body = format!(
        "\"{query:x}\"\n{{\"fingerprint\":\"{query:x}\",\"k\":0}}\n{{\"fingerprint\":\"{query:x}\",\"k\":5,\"limit\":2}}"
    );
    let response = server.client().post("/v1/query", NDJSON, body.as_bytes());
    let lines: Vec<Value> = response
        .text()
        .lines()
        .map(|line| serde_json::from_str(line).unwrap())
        .collect();
    assert_eq!(lines[0], fixture.object(query, 3));
    assert_eq!(lines[1], fixture.object(query, 0));
    assert_eq!(lines[2]["matches"].as_array().unwrap().len(), 2);
    assert_eq!(lines[3], json!({"done": true, "count": 3}));
}

#[test]
fn a_bad_line_ends_a_batch_after_the_answers_before_it() {
    let fixture = Fixture::<u64>::new(2000);
    let server = serve(&fixture.path);
    let mut client = server.client();
    let body = "\"1\"\n\n\"2\"\n{\"fingerprint\":\"zz\"}\n\"3\"\n";
    let response = client.post("/v1/query", NDJSON, body.as_bytes());
    assert_eq!(response.status, 200);
    let lines: Vec<Value> = response
        .text()
        .lines()
        .map(|line| serde_json::from_str(line).unwrap())
        .collect();
    assert_eq!(lines.len(), 3);
    assert_eq!(lines[1]["query"], "0000000000000002");
    assert_eq!(
        (&lines[2]["error"]["line"], &lines[2]["error"]["status"]),
        (&json!(4), &json!(400))
    );
    // Before the first answer, the status can report the error.
    let response = client.post("/v1/query", NDJSON, b"{\"fingerprint\":\"zz\"}\n\"3\"\n");
    assert_eq!(
        (response.status, response.kind()),
        (400, "bad-fingerprint".to_owned())
    );
}

#[test]
fn records_are_found_by_their_ids() {
    let fixture = Fixture::<u64>::new(2000);
    let server = serve(&fixture.path);
    let mut client = server.client();
    for number in [0, 17, 1999] {
        let fingerprint = fixture.fingerprints[number];
        let mut expected = fixture.object(fingerprint, 2);
        expected["id"] = format!("id-{number}").into();
        let response = client.get(&format!("/v1/ids/id-{number}?k=2"));
        assert_eq!(response.json(), json!({"results": [expected]}));
        assert_eq!(
            client.get(&format!("/v1/ids/%69d-{number}?k=2")).body,
            response.body
        );
    }
    let response = client.get("/v1/ids/id-2000");
    assert_eq!(
        (response.status, response.kind()),
        (404, "unknown-id".to_owned())
    );
}

#[test]
fn texts_are_fingerprinted_as_those_of_the_index() {
    use simidx::{BuildOptions, IdKind, IndexBuilder, Width};
    use simidx_text::{Pipeline, Preset};

    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("texts.simidx");
    let pipeline = Pipeline::new(Preset::Short.options()).unwrap();
    let mut build = BuildOptions::default();
    build.ids = IdKind::String;
    build.pipeline = Some(pipeline.describe());
    let mut builder = IndexBuilder::new(Width::W64, build).unwrap();
    let text = "one two three four five six seven";
    let fingerprint = pipeline.fingerprint(text, Width::W64).unwrap() as u64;
    builder.push_with_id(fingerprint, "a").unwrap();
    builder.finish_to_path(&path).unwrap();
    let server = serve(&path);
    let mut client = server.client();

    let expected = json!({
        "query": fingerprint.to_hex(),
        "matches": [{"fingerprint": fingerprint.to_hex(), "distance": 0, "ids": ["a"]}],
    });
    let response = client.post("/v1/text", "text/plain; charset=utf-8", text.as_bytes());
    assert_eq!((response.status, response.json()), (200, expected.clone()));
    let body = json!({"text": text, "k": 0}).to_string();
    assert_eq!(
        client.post("/v1/text", JSON, body.as_bytes()).json(),
        expected
    );
    let body = json!({"texts": [text, "…?!", text]}).to_string();
    let results = client.post("/v1/query", JSON, body.as_bytes()).json();
    let empty = json!({
        "query": Width::W64.to_hex(pipeline.empty_fingerprint(Width::W64)),
        "matches": [],
        "without_features": true,
    });
    assert_eq!(results, json!({"results": [expected, empty, expected]}));
    let empty_text = client.post("/v1/text", "text/plain", b"");
    assert_eq!(empty_text.json(), empty);

    // Another index records no pipeline.
    let fixture = Fixture::<u64>::new(100);
    let server = serve(&fixture.path);
    let response = server
        .client()
        .post("/v1/text", "text/plain", text.as_bytes());
    assert_eq!(
        (response.status, response.kind()),
        (422, "no-pipeline".to_owned())
    );
}

#[test]
fn several_files_are_searched_as_one_and_indexes_by_name() {
    let folder = tempfile::tempdir().unwrap();
    let all = fingerprints::<u64>(900, 3);
    let paths = ["a.simidx", "b.simidx", "c.simidx"].map(|name| folder.path().join(name));
    for (path, part) in paths.iter().zip(all.chunks(300)) {
        write(path, part, false);
    }
    let indexes = vec![
        NamedIndex::new("all", paths.clone()).unwrap(),
        NamedIndex::new("first", [&paths[0]]).unwrap(),
    ];
    let server = start(options(indexes));
    let mut client = server.client();
    let query = all[0];
    let found = |response: crate::client::Response| {
        let answer = response.json();
        let matches = answer["matches"].as_array().unwrap().clone();
        matches
            .iter()
            .map(|m| m["fingerprint"].as_str().unwrap().to_owned())
            .collect::<Vec<_>>()
    };
    for (name, set) in [("all", &all[..]), ("first", &all[..300])] {
        for &query in all.iter().step_by(50) {
            let expected = simidx_testkit::scan(&simidx_testkit::sorted_set(set), query, 3);
            let expected: Vec<_> = expected.iter().map(|(_, f)| f.to_hex()).collect();
            let response = client.get(&format!("/v1/query/{query:x}?index={name}"));
            assert_eq!(found(response), expected);
            let body = query.to_le_bytes();
            let response = client.post(&format!("/v1/query?index={name}"), BINARY, &body);
            let rows = from_columns::<u64>(&response.body);
            assert_eq!(
                rows[0].iter().map(|(f, _)| f.to_hex()).collect::<Vec<_>>(),
                expected
            );
        }
    }
    let response = client.get(&format!("/v1/query/{query:x}"));
    assert_eq!(
        (response.status, response.kind()),
        (400, "unknown-index".to_owned())
    );
    let response = client.get(&format!("/v1/query/{query:x}?index=x"));
    assert_eq!(
        (response.status, response.kind()),
        (404, "unknown-index".to_owned())
    );
    let info = client.get("/v1/info").json();
    let names: Vec<_> = info["indexes"]
        .as_array()
        .unwrap()
        .iter()
        .map(|i| &i["name"])
        .collect();
    assert_eq!(names, ["all", "first"]);
    let text = info.to_string();
    assert!(text.contains("b.simidx") && !text.contains(folder.path().to_str().unwrap()));
}
