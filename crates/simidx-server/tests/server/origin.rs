//! Accepted host names and origins of requests, and accepted transfer encodings of bodies.

use std::net::SocketAddr;

use simidx::Width;
use simidx_server::{ServerOptions, Token};

use crate::client::Response;
use crate::documents::store;
use crate::harness::{Running, options, start};

const TOKEN: &str = "0123456789abcdef";
const RECORD: &str = "{\"id\":\"a\",\"fingerprint\":\"ff\"}";

fn of_store(change: impl FnOnce(&mut ServerOptions)) -> (tempfile::TempDir, Running) {
    let folder = tempfile::tempdir().unwrap();
    let mut options = options(Vec::new());
    options.store = Some(store(&folder.path().join("pages"), Width::W64));
    change(&mut options);
    (folder, start(options))
}

/// Sends a head unchanged, then a body.
fn send(server: &Running, head: &str, body: &str) -> Response {
    let mut client = server.client();
    let len = match body {
        "" => String::new(),
        body => format!("content-length: {}\r\n", body.len()),
    };
    client
        .send(format!("{head}\r\n{len}\r\n{body}").as_bytes())
        .unwrap();
    client.receive(false).unwrap()
}

fn add(server: &Running, lines: &str) -> Response {
    let head = format!("POST /v1/documents HTTP/1.1\r\n{lines}\r\ncontent-type: application/json");
    send(server, &head, RECORD)
}

#[test]
fn without_a_token_only_names_of_this_machine_are_served() {
    let (_folder, server) = of_store(|options| options.listen_name = Some("This-Machine".into()));
    let port = server.address.port();
    for host in [
        "localhost",
        "LocalHost:9",
        "127.0.0.1",
        "127.8.9.1",
        "[::1]",
        "this-machine",
        &format!("127.0.0.1:{port}"),
        &format!("[::1]:{port}"),
    ] {
        let head = format!("GET /v1/info HTTP/1.1\r\nhost: {host}");
        assert_eq!(send(&server, &head, "").status, 200, "{host}");
    }
    for host in [
        "evil.example",
        &format!("evil.example:{port}"),
        "localhost.evil.example",
        "127.0.0.1.evil.example",
        "192.0.2.1",
        "[::2]",
        "localhost@evil.example",
    ] {
        for (line, body) in [
            ("GET /v1/info HTTP/1.1", ""),
            ("GET / HTTP/1.1", ""),
            ("GET /livez HTTP/1.1", ""),
            ("DELETE /v1/documents/a HTTP/1.1", ""),
            ("POST /-/reload HTTP/1.1\r\ncontent-length: 0", ""),
            (
                "POST /v1/documents HTTP/1.1\r\ncontent-type: application/json",
                RECORD,
            ),
        ] {
            let refused = send(&server, &format!("{line}\r\nhost: {host}"), body);
            let found = (refused.status, &*refused.kind());
            assert_eq!(found, (403, "forbidden"), "{host}: {line}");
        }
    }
    // The host of an absolute URL takes precedence over the header.
    let head = "GET http://evil.example/v1/info HTTP/1.1\r\nhost: localhost";
    assert_eq!(send(&server, head, "").status, 403);
    assert_eq!(server.metric("simidx_store_records"), 0.0);
}

#[test]
fn a_host_is_named_once() {
    let (_folder, bare) = of_store(|_| ());
    let (_other, secret) = of_store(|options| options.token = Some(Token::new(TOKEN).unwrap()));
    for server in [&bare, &secret] {
        for head in [
            "GET /livez HTTP/1.1",
            "GET /livez HTTP/1.1\r\nhost: localhost\r\nhost: localhost",
            "GET /livez HTTP/1.1\r\nhost: ",
            "GET /livez HTTP/1.1\r\nhost: local host",
        ] {
            let refused = send(server, head, "");
            let found = (refused.status, &*refused.kind());
            assert_eq!(found, (400, "bad-request"), "{head}");
        }
        // HTTP/1.0 does not require a host.
        assert_eq!(send(server, "GET /livez HTTP/1.0", "").status, 200);
    }
}

#[test]
fn a_server_that_asks_for_a_token_or_is_open_has_any_name() {
    let (_folder, secret) = of_store(|options| options.token = Some(Token::new(TOKEN).unwrap()));
    let (_other, open) = of_store(|options| {
        options.listen = SocketAddr::from(([0, 0, 0, 0], 0));
        options.insecure = true;
    });
    // A proxy may forward the host name of the original request.
    for server in [&secret, &open] {
        let head = format!(
            "GET /v1/info HTTP/1.1\r\nhost: search.example\r\nauthorization: Bearer {TOKEN}"
        );
        let port = server.address.port();
        let mut client = crate::client::Client::new(SocketAddr::from(([127, 0, 0, 1], port)));
        client.send(format!("{head}\r\n\r\n").as_bytes()).unwrap();
        assert_eq!(client.receive(false).unwrap().status, 200);
    }
}

#[test]
fn changes_that_pages_of_other_servers_ask_for_are_refused() {
    let (_folder, server) = of_store(|_| ());
    let port = server.address.port();
    let own = format!("host: localhost:{port}");
    for origin in [
        "http://evil.example",
        "http://localhost:1",
        "http://localhost",
        "null",
        "",
        "http://evil.example http://localhost",
    ] {
        let lines = format!("{own}\r\norigin: {origin}");
        let refused = add(&server, &lines);
        assert_eq!((refused.status, &*refused.kind()), (403, "forbidden"));
        for line in ["DELETE /v1/documents/a", "POST /-/reload"] {
            let head = format!("{line} HTTP/1.1\r\n{lines}\r\ncontent-length: 0");
            let refused = send(&server, &head, "");
            assert_eq!((refused.status, &*refused.kind()), (403, "forbidden"));
        }
        // A GET request is not a change, and the browser does not let the page read its response.
        let head = format!("GET /v1/documents/a HTTP/1.1\r\n{lines}");
        assert_eq!(send(&server, &head, "").status, 404);
    }
    let lines = format!("{own}\r\norigin: http://localhost:{port}");
    assert_eq!(add(&server, &lines).status, 200);
    let head = format!("DELETE /v1/documents/a HTTP/1.1\r\n{lines}");
    assert_eq!(send(&server, &head, "").status, 200);
    assert_eq!(add(&server, &own).status, 200);
}

#[test]
fn ways_to_send_a_body_that_are_not_understood_are_refused() {
    let (_folder, server) = of_store(|_| ());
    let host = "host: localhost";
    for (lines, status) in [
        ("content-encoding: gzip", 415),
        ("content-encoding: identity, gzip", 415),
        ("content-encoding: identity", 200),
    ] {
        let answer = add(&server, &format!("{host}\r\n{lines}"));
        assert_eq!(answer.status, status, "{lines}");
        if status != 200 {
            assert_eq!(answer.kind(), "bad-encoding");
        }
    }
    for (charset, status) in [
        ("charset=utf-16", 415),
        ("x=y; Charset=\"ISO-8859-1\"", 415),
        ("charset=UTF-8", 200),
        ("charset=\"utf-8\"", 200),
        ("x=y", 200),
    ] {
        let head = format!(
            "POST /v1/documents HTTP/1.1\r\n{host}\r\ncontent-type: application/json; {charset}"
        );
        assert_eq!(send(&server, &head, RECORD).status, status, "{charset}");
    }
    let chunks = format!("{:x}\r\n{RECORD}\r\n0\r\n\r\n", RECORD.len());
    for (coding, status) in [
        ("gzip, chunked", 501),
        ("identity, chunked", 501),
        ("Chunked", 200),
    ] {
        let mut client = server.client();
        let request = format!(
            "POST /v1/documents HTTP/1.1\r\n{host}\r\ncontent-type: application/json\r\n\
             transfer-encoding: {coding}\r\n\r\n{chunks}"
        );
        client.send(request.as_bytes()).unwrap();
        let answer = client.receive(false).unwrap();
        assert_eq!(answer.status, status, "{coding}");
        if status != 200 {
            assert_eq!(answer.kind(), "bad-encoding");
        }
    }
}
