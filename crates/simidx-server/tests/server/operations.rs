//! Tokens, addresses, metrics, the log.

use std::net::SocketAddr;

use simidx_server::{NamedIndex, Server, StartError, Token};
use simidx_testkit::le_bytes;

use crate::harness::{Fixture, default, options, serve, start};

const TOKEN: &str = "a token of some length";

#[test]
fn an_address_that_others_can_reach_takes_a_token() {
    let fixture = Fixture::<u64>::new(40);
    let mut open = options(vec![default(&fixture.path)]);
    open.listen = SocketAddr::from(([0, 0, 0, 0], 0));
    let error = Server::bind(open.clone()).unwrap_err();
    assert!(matches!(error, StartError::Open(_)), "{error}");
    open.insecure = true;
    drop(Server::bind(open.clone()).unwrap());
    open.insecure = false;
    open.token = Some(Token::new(TOKEN).unwrap());
    drop(Server::bind(open).unwrap());
}

#[test]
fn everything_but_the_probes_takes_the_token() {
    let fixture = Fixture::<u64>::new(40);
    let mut options = options(vec![default(&fixture.path)]);
    options.token = Some(Token::new(TOKEN).unwrap());
    let server = start(options);
    let mut client = server.client();
    for path in ["/livez", "/readyz", "/healthz"] {
        assert_eq!(client.get(path).status, 200);
    }
    let closed = [
        "/",
        "/metrics",
        "/openapi.json",
        "/v1/info",
        "/v1/query/1",
        "/v1/ids/1",
        "/no",
    ];
    for headers in [
        "",
        "authorization: Bearer x\r\n",
        "authorization: Basic dTpw\r\n",
    ] {
        client.headers = headers.to_owned();
        for path in closed {
            let response = client.get(path);
            assert_eq!(
                (response.status, response.kind()),
                (401, "unauthorized".to_owned())
            );
            let challenge = response.header("www-authenticate").unwrap();
            assert_eq!(challenge.starts_with("Basic"), path == "/", "{path}");
        }
        for path in ["/v1/query", "/v1/text", "/-/reload"] {
            assert_eq!(client.post(path, "text/plain", b"x").status, 401);
        }
    }
    client.headers = format!("authorization: Bearer {TOKEN}\r\n");
    for path in &closed[..5] {
        assert_eq!(client.get(path).status, 200, "{path}");
    }
    assert_eq!(client.post("/-/reload", "", b"").status, 200);
    // A browser requests the page with a user name and password.
    client.headers = "authorization: Basic dTphIHRva2VuIG9mIHNvbWUgbGVuZ3Ro\r\n".to_owned();
    assert_eq!(client.get("/").status, 200);
    assert_eq!(client.get("/v1/info").status, 401);
}

#[test]
fn metrics_count_what_was_answered() {
    let fixture = Fixture::<u64>::new(400);
    let server = serve(&fixture.path);
    let mut client = server.client();
    // Metrics without values are also described, except those of a store, which this server lacks.
    let described = client.get("/metrics");
    assert!(described.text().contains("# TYPE simidx_matches_total"));
    assert!(!described.text().contains("simidx_store_"));
    for _ in 0..5 {
        client.get("/v1/query/ff");
    }
    let body = le_bytes(&fixture.fingerprints);
    client.post("/v1/query?k=0", "application/octet-stream", &body);
    client.get("/v1/query/zz");
    let route = "route=\"/v1/query/{fingerprint}\"";
    assert_eq!(
        server.metric(&format!("simidx_requests_total{{{route},status=\"200\"}}")),
        5.0
    );
    assert_eq!(
        server.metric(&format!("simidx_requests_total{{{route},status=\"400\"}}")),
        1.0
    );
    assert_eq!(
        server.metric(&format!("simidx_request_seconds_count{{{route}}}")),
        6.0
    );
    assert_eq!(
        server.metric("simidx_query_seconds_count{index=\"default\"}"),
        405.0
    );
    assert_eq!(
        server.metric("simidx_matches_total{index=\"default\"}"),
        400.0
    );
    assert_eq!(
        server.metric("simidx_index_fingerprints{index=\"default\"}"),
        400.0
    );
    assert_eq!(server.metric("simidx_ready"), 1.0);
    // Prometheus demands a type before the first sample, and distinct names.
    let text = client.get("/metrics");
    let mut types = Vec::new();
    for line in text.text().lines() {
        if let Some(rest) = line.strip_prefix("# TYPE ") {
            types.push(rest.split(' ').next().unwrap().to_owned());
        } else if !line.starts_with('#') {
            let name = line.split(['{', ' ']).next().unwrap();
            let base = ["_bucket", "_sum", "_count"]
                .iter()
                .find_map(|end| name.strip_suffix(end));
            let last = types.last().unwrap();
            assert!(last == name || Some(&**last) == base, "{line}");
            line.rsplit(' ').next().unwrap().parse::<f64>().unwrap();
        }
    }
    let mut once = types.clone();
    once.sort();
    once.dedup();
    assert_eq!(once.len(), types.len());
}

#[test]
fn a_server_can_be_bound_within_a_runtime() {
    let fixture = Fixture::<u64>::new(40);
    let runtime = tokio::runtime::Runtime::new().unwrap();
    let server = runtime.block_on(async { serve(&fixture.path) });
    assert_eq!(server.client().get("/v1/query/ff").status, 200);
}

#[test]
fn what_cannot_be_served_is_said_at_the_start() {
    let fixture = Fixture::<u64>::new(40);
    let folder = fixture.folder.path();
    let junk = folder.join("junk.simidx");
    std::fs::write(&junk, "junk").unwrap();
    let error = Server::bind(options(vec![default(&junk)]))
        .unwrap_err()
        .to_string();
    assert!(
        error.contains("junk.simidx") && error.contains("not a simidx file"),
        "{error}"
    );
    let mut damaged = std::fs::read(&fixture.path).unwrap();
    let in_directory = damaged.len() - 100;
    damaged[in_directory] ^= 1;
    std::fs::write(&junk, damaged).unwrap();
    let error = Server::bind(options(vec![default(&junk)]))
        .unwrap_err()
        .to_string();
    assert!(error.contains("damaged"), "{error}");
    let twice = vec![default(&fixture.path), default(&fixture.path)];
    let error = Server::bind(options(twice)).unwrap_err().to_string();
    assert!(error.contains("two indexes called default"), "{error}");
    let mut options = options(vec![NamedIndex::new("a", [&fixture.path]).unwrap()]);
    let taken = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
    options.listen = taken.local_addr().unwrap();
    let error = Server::bind(options).unwrap_err().to_string();
    assert!(
        error.contains(&taken.local_addr().unwrap().to_string()),
        "{error}"
    );
}

#[test]
fn a_reload_reads_the_token_again() {
    const NEW: &str = "another token of some length";
    let fixture = Fixture::<u64>::new(40);
    let path = fixture.folder.path().join("token");
    std::fs::write(&path, TOKEN).unwrap();
    let mut options = options(vec![default(&fixture.path)]);
    options.token = Some(Token::read(&path).unwrap());
    let server = start(options);
    let status = |token: &str, method: &str, path: &str| {
        let mut client = server.client();
        client.headers = format!("authorization: Bearer {token}\r\n");
        client.request(method, path, "", b"").status
    };
    std::fs::write(&path, NEW).unwrap();
    // A reload of an index by name concerns only this index.
    assert_eq!(status(TOKEN, "POST", "/-/reload?index=default"), 200);
    assert_eq!(status(TOKEN, "POST", "/-/reload"), 200);
    assert_eq!(status(TOKEN, "GET", "/v1/info"), 401);
    assert_eq!(status(NEW, "GET", "/v1/info"), 200);
    // A file with an invalid token changes nothing.
    std::fs::write(&path, "short").unwrap();
    assert_eq!(status(NEW, "POST", "/-/reload"), 422);
    assert_eq!(status(NEW, "GET", "/v1/info"), 200);
    std::fs::remove_file(&path).unwrap();
    server.handle.reload();
    assert_eq!(status(NEW, "GET", "/v1/info"), 200);
}

#[test]
#[cfg(target_os = "linux")]
fn metrics_tell_what_the_process_takes() {
    let fixture = Fixture::<u64>::new(40);
    let server = serve(&fixture.path);
    let (time, open) = ("process_cpu_seconds_total ", "process_open_fds ");
    let before = server.metric(time);
    assert!(before > 0.0);
    crate::client::until(|| server.metric(time) > before);
    let (few, most) = (server.metric(open), server.metric("process_max_fds "));
    assert!(few >= 5.0 && few < most, "{few} of {most}");
}
