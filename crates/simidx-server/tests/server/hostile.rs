//! Invalid requests of every kind: each gets a 4xx answer, and the server continues.

use simidx::Width;
use simidx_server::Limits;

use crate::client::{Response, until};
use crate::documents::store;
use crate::harness::{Fixture, Running, default, options, serve, start};

const JSON: &str = "application/json";
const NDJSON: &str = "application/x-ndjson";
const BINARY: &str = "application/octet-stream";

fn limited(limits: impl FnOnce(&mut Limits)) -> (Fixture<u64>, Running) {
    let fixture = Fixture::<u64>::new(400);
    let mut options = options(vec![default(&fixture.path)]);
    limits(&mut options.limits);
    let server = start(options);
    (fixture, server)
}

fn check(response: &Response, status: u16, kind: &str) {
    assert_eq!(
        (response.status, &*response.kind()),
        (status, kind),
        "{response:?}"
    );
}

/// Whether the server still answers.
fn answers(server: &Running) -> bool {
    server.client().get("/v1/query/ff").status == 200
}

#[test]
fn wrong_addresses_and_parameters_are_refused() {
    let fixture = Fixture::<u64>::new(400);
    let server = serve(&fixture.path);
    let mut client = server.client();
    let long = "9".repeat(2000);
    for (path, status, kind) in [
        ("/v1", 404, "unknown-address"),
        ("/v1/query/", 404, "unknown-address"),
        ("/v1/query/1/2", 404, "unknown-address"),
        ("/v1/query/../../../../etc/passwd", 404, "unknown-address"),
        ("/v1/query/..%2f..%2fetc%2fpasswd", 400, "bad-fingerprint"),
        ("/../../etc/passwd", 404, "unknown-address"),
        ("/%2e%2e/%2e%2e/etc/passwd", 404, "unknown-address"),
        ("//v1/info", 404, "unknown-address"),
        ("/v1/query/zz", 400, "bad-fingerprint"),
        ("/v1/query/10000000000000000", 400, "bad-fingerprint"),
        ("/v1/query/-1", 400, "bad-fingerprint"),
        ("/v1/query/%00", 400, "bad-fingerprint"),
        ("/v1/query/%ff", 400, "bad-encoding"),
        ("/v1/query/%f", 400, "bad-encoding"),
        ("/v1/query/1?k", 400, "bad-parameter"),
        ("/v1/query/1?k=-1", 400, "bad-parameter"),
        ("/v1/query/1?k=99999999999999999999", 400, "bad-parameter"),
        ("/v1/query/1?k=1&k=2", 400, "bad-parameter"),
        ("/v1/query/1?limit=0", 400, "bad-parameter"),
        ("/v1/query/1?limit=1&nearest=1", 400, "bad-parameter"),
        ("/v1/query/1?q=1", 400, "bad-parameter"),
        ("/v1/query/1?index=%ff", 400, "bad-encoding"),
        ("/v1/query/1?k=8", 422, "distance-too-large"),
        ("/v1/query/1?k=65", 422, "distance-too-large"),
        ("/v1/nearest/1?count=0", 400, "bad-parameter"),
        ("/v1/nearest/1?k=8", 422, "distance-too-large"),
        ("/v1/ids/..%2f..%2fetc", 404, "unknown-id"),
        (&format!("/v1/query/{long}"), 400, "bad-fingerprint"),
        (&format!("/v1/query/1?k={long}"), 400, "bad-parameter"),
        (&format!("/v1/query/1?{long}=1"), 400, "bad-parameter"),
        ("/v1/info?index=nope", 404, "unknown-index"),
    ] {
        check(&client.get(path), status, kind);
    }
    // The largest values in range.
    let response = client.get("/v1/query/1?limit=18446744073709551615");
    assert_eq!(response.status, 200);
    for (method, path) in [
        ("POST", "/v1/query/1"),
        ("GET", "/v1/query"),
        ("DELETE", "/v1/text"),
        ("PUT", "/"),
        ("GET", "/-/reload"),
        ("OPTIONS", "/v1/info"),
        ("TRACE", "/livez"),
    ] {
        let response = client.request(method, path, "", b"");
        check(&response, 405, "method-not-allowed");
        assert!(response.header("allow").is_some());
    }
    assert!(answers(&server));
}

#[test]
fn wrong_bodies_are_refused() {
    let (_fixture, server) = limited(|limits| {
        limits.max_batch = 5;
        limits.max_body = 4096;
    });
    let mut client = server.client();
    let deep = "[".repeat(4000);
    let six: String = "\"1\"\n".repeat(6);
    for (kind_of_body, body, status, kind) in [
        (JSON, &b""[..], 400, "bad-json"),
        (JSON, b"{", 400, "bad-json"),
        (JSON, b"\xff\xfe", 400, "bad-json"),
        (JSON, b"null", 400, "bad-request"),
        (JSON, deep.as_bytes(), 400, "bad-request"),
        (JSON, b"{\"fingerprints\":\"1\"}", 400, "bad-request"),
        (JSON, b"{\"fingerprints\":[1]}", 400, "bad-request"),
        (
            JSON,
            b"{\"fingerprints\":[\"1\"],\"k\":1e999}",
            400,
            "bad-json",
        ),
        (
            JSON,
            b"{\"fingerprints\":[\"1\"],\"k\":3.5}",
            400,
            "bad-request",
        ),
        (
            JSON,
            b"{\"fingerprints\":[\"1\"],\"k\":64}",
            422,
            "distance-too-large",
        ),
        (JSON, b"{\"fingerprints\":[\"\\ud800\"]}", 400, "bad-json"),
        (
            JSON,
            b"{\"fingerprints\":[\"1\",\"1\",\"1\",\"1\",\"1\",\"1\"]}",
            413,
            "too-large",
        ),
        (JSON, b"{\"texts\":[\"a\"]}", 422, "no-pipeline"),
        (NDJSON, b"\xff\n", 400, "bad-json"),
        (
            NDJSON,
            b"{\"fingerprint\":\"1\",\"text\":\"a\"}\n",
            400,
            "bad-request",
        ),
        (NDJSON, b"{\"text\":\"a\"}\n", 422, "no-pipeline"),
        (BINARY, b"1234567", 400, "bad-length"),
        (BINARY, &[0; 48], 413, "too-large"),
        (BINARY, &[0; 5000], 413, "too-large"),
        ("text/csv", b"1", 415, "bad-content-type"),
        ("", b"1", 415, "bad-content-type"),
    ] {
        let response = client.post("/v1/query", kind_of_body, body);
        check(&response, status, kind);
        if status == 413 {
            client = server.client();
        }
    }
    let response = client.post("/v1/query", NDJSON, six.as_bytes());
    let last = response.text().lines().last().unwrap();
    assert!(
        last.contains("\"too-large\"") && last.contains("\"line\":6"),
        "{last}"
    );
    let twice = client.post("/v1/query?k=1", JSON, b"{\"fingerprints\":[\"1\"],\"k\":1}");
    check(&twice, 400, "bad-parameter");
    check(
        &client.post("/v1/text", "text/plain", b"a\xff"),
        422,
        "no-pipeline",
    );
    assert!(answers(&server));
}

#[test]
fn documents_that_are_none_change_nothing() {
    let folder = tempfile::tempdir().unwrap();
    let mut options = options(Vec::new());
    options.store = Some(store(&folder.path().join("pages"), Width::W64));
    options.limits.max_body = 4096;
    options.limits.max_batch = 3;
    let server = start(options);
    let deep = "[".repeat(4000);
    let bodies = [
        &b""[..],
        b"\xff\xfe",
        b"null",
        deep.as_bytes(),
        b"{\"id\":\"a\",\"id\":\"b\",\"fingerprint\":\"1\"}",
        b"{\"id\":\"\\ud800\",\"fingerprint\":\"1\"}",
        b"{\"id\":[],\"fingerprint\":\"1\"}",
        b"{\"id\":\"a\",\"fingerprint\":1e999}",
        b"{\"id\":\"a\",\"fingerprint\":\"\"}",
        b"{\"id\":\"a\",\"fingerprint\":\"-1\"}",
        b"{\"id\":\"a\",\"fingerprint\":\"11111111111111111\"}",
        b"{\"id\":\"a\",\"text\":null}",
    ];
    for body in bodies {
        let refused = server.client().post("/v1/documents", JSON, body);
        assert_eq!(refused.status, 400, "{}", refused.text());
        let lines = server.client().post("/v1/documents", NDJSON, body);
        let last = lines.text().lines().last().unwrap();
        let is_done = last.contains("\"count\":0,\"done\":true");
        assert!(
            last.contains("\"line\":1") || body.is_empty() && is_done,
            "{last}"
        );
    }
    for path in ["%ff", "%", "%zz", "a?k=1"] {
        let path = format!("/v1/documents/{path}");
        for method in ["GET", "DELETE"] {
            let refused = server.client().request(method, &path, "", b"");
            assert_eq!(refused.status, 400, "{method} {path}");
        }
    }
    let long = server.client().post("/v1/documents", JSON, &[b' '; 5000]);
    check(&long, 413, "too-large");
    assert_eq!(server.metric("simidx_store_records"), 0.0);
    let four: String = (0..4)
        .map(|number| format!("{{\"id\":\"{number}\",\"fingerprint\":\"1\"}}\n"))
        .collect();
    let answer = server
        .client()
        .post("/v1/documents", NDJSON, four.as_bytes());
    let last = answer.text().lines().last().unwrap();
    assert!(
        last.contains("\"too-large\"") && last.contains("\"line\":4"),
        "{last}"
    );
    assert_eq!(server.metric("simidx_store_records"), 3.0);
}

#[test]
fn a_body_without_a_length_is_cut_at_the_limit() {
    let (_fixture, server) = limited(|limits| limits.max_body = 4096);
    let mut client = server.client();
    let head = "POST /v1/query HTTP/1.1\r\nhost: localhost\r\ncontent-type: application/octet-stream\r\n\
                transfer-encoding: chunked\r\n\r\n";
    client.send(head.as_bytes()).unwrap();
    for _ in 0..5 {
        let _ = client.send(format!("400\r\n{}\r\n", "x".repeat(1024)).as_bytes());
    }
    check(&client.receive(false).unwrap(), 413, "too-large");
    assert!(answers(&server));
}

#[test]
fn more_results_than_permitted_are_no_short_answer() {
    let (fixture, server) = limited(|limits| limits.max_results = 3);
    let mut client = server.client();
    let query = fixture.fingerprints[0];
    let all = fixture.index.query(query, 6).unwrap().len();
    assert!(all > 3);
    check(
        &client.get(&format!("/v1/query/{query:x}?k=6")),
        422,
        "limit-reached",
    );
    let response = client.get(&format!("/v1/query/{query:x}?k=6&limit=3"));
    assert_eq!(response.json()["matches"].as_array().unwrap().len(), 3);
    // A response in lines contains the answers before the error.
    let body = format!(
        "{{\"fingerprint\":\"{query:x}\",\"k\":0}}\n{{\"fingerprint\":\"{query:x}\",\"k\":6}}\n"
    );
    let response = client.post("/v1/query", NDJSON, body.as_bytes());
    let lines: Vec<&str> = response.text().lines().collect();
    assert_eq!(lines.len(), 2, "{lines:?}");
    assert!(
        lines[0].contains("\"matches\"") && lines[1].contains("limit-reached"),
        "{lines:?}"
    );
    let body = [query.to_le_bytes(), query.to_le_bytes()].concat();
    check(
        &client.post("/v1/query?k=6", BINARY, &body),
        422,
        "limit-reached",
    );
}

#[test]
fn heads_that_are_no_heads_end_the_connection() {
    let fixture = Fixture::<u64>::new(400);
    let server = serve(&fixture.path);
    let flood: String = (0..10_000)
        .map(|number| format!("x-{number}: y\r\n"))
        .collect();
    let long = format!(
        "GET /{} HTTP/1.1\r\nhost: localhost\r\n\r\n",
        "a".repeat(200_000)
    );
    for head in [
        "GARBAGE\r\n\r\n",
        "GET / HTTP/9.9\r\n\r\n",
        "\0\0\0\0\0\0\0\0\r\n\r\n",
        "GET /livez HTTP/1.1\r\ncontent-length: -1\r\n\r\n",
        "POST /v1/query HTTP/1.1\r\ncontent-length: 5\r\ncontent-length: 6\r\n\r\n",
        &format!("GET /livez HTTP/1.1\r\n{flood}\r\n"),
        &long,
    ] {
        let mut client = server.client();
        let _ = client.send(head.as_bytes());
        if let Ok(response) = client.receive(false) {
            assert!((400..500).contains(&response.status), "{response:?}");
        }
        assert!(client.is_closed());
    }
    assert!(answers(&server));
}

#[test]
fn connections_that_are_cut_do_no_harm() {
    let fixture = Fixture::<u64>::new(400);
    let server = serve(&fixture.path);
    let head = "POST /v1/query HTTP/1.1\r\nhost: localhost\r\ncontent-type: application/x-ndjson\r\ncontent-length: 100000\r\n\r\n";
    let all = format!("{head}{}", "\"1\"\n".repeat(20_000));
    for cut in (0..all.len().min(4000)).step_by(37) {
        let mut client = server.client();
        client.send(&all.as_bytes()[..cut]).unwrap();
        drop(client);
    }
    // Clients that request large answers and read nothing.
    let body = "\"1\"\n".repeat(50_000);
    for _ in 0..20 {
        let request = format!(
            "POST /v1/query HTTP/1.1\r\nhost: localhost\r\ncontent-type: application/x-ndjson\r\ncontent-length: {}\r\n\r\n{body}",
            body.len()
        );
        let mut client = server.client();
        let _ = client.send(request.as_bytes());
        drop(client);
    }
    assert!(answers(&server));
    until(|| server.metric("simidx_connections ") <= 1.0);
}

#[test]
fn half_a_connection_is_answered_or_closed() {
    let fixture = Fixture::<u64>::new(400);
    let server = serve(&fixture.path);
    for (sent, may_answer) in [
        ("", false),
        ("GET /livez HTTP/1.1\r\nho", false),
        ("GET /livez HTTP/1.1\r\nhost: localhost\r\n\r\n", true),
        (
            "POST /v1/query HTTP/1.1\r\nhost: localhost\r\ncontent-type: application/octet-stream\r\ncontent-length: 8\r\n\r\n123",
            false,
        ),
    ] {
        let mut client = server.client();
        client.send(sent.as_bytes()).unwrap();
        client.end_sending();
        if let Ok(response) = client.receive(false) {
            let is_good = may_answer && response.status == 200;
            assert!(is_good || response.status >= 400, "{sent:?}: {response:?}");
        }
        assert!(client.is_closed(), "{sent:?}");
    }
    until(|| server.metric("simidx_connections ") <= 1.0);
    assert!(answers(&server));
}
