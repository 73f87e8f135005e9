//! The OpenAPI description against the server: the test requests each address, method and status, checks each body, and
//! allows no other answers.

use std::collections::BTreeSet;
use std::sync::Arc;

use serde_json::{Value, json};
use simidx::{BuildOptions, IdKind, IndexBuilder, Width};
use simidx_collection::Collection;
use simidx_server::Token;
use simidx_text::{Pipeline, Preset};

use crate::client::{Client, Response};
use crate::documents::store;
use crate::harness::{Running, default, options, start};

const TOKEN: &str = "0123456789abcdef";

fn description() -> Value {
    serde_json::from_str(include_str!("../../openapi.json")).unwrap()
}

/// Returns how a value violates a schema, which may use only the keywords of the description.
fn fault(all: &Value, schema: &Value, value: &Value) -> Option<String> {
    if let Some(name) = schema["$ref"].as_str() {
        let name = name.strip_prefix("#/components/schemas/").unwrap();
        return fault(all, &all["components"]["schemas"][name], value);
    }
    if let Some(any) = schema["anyOf"].as_array() {
        let faults: Option<Vec<_>> = any.iter().map(|one| fault(all, one, value)).collect();
        return faults.map(|faults| faults.join("; "));
    }
    if schema.get("const").is_some_and(|wanted| wanted != value) {
        return Some(format!("{value} is not {schema}"));
    }
    let is_of = |kind: &Value| match kind.as_str() {
        Some("object") => value.is_object(),
        Some("array") => value.is_array(),
        Some("string") => value.is_string(),
        Some("integer") => value.is_u64(),
        Some("number") => value.is_number(),
        Some("boolean") => value.is_boolean(),
        _ => false,
    };
    let good = match &schema["type"] {
        Value::Null => true,
        Value::Array(kinds) => kinds.iter().any(is_of),
        kind => is_of(kind),
    };
    if !good {
        return Some(format!("{value} is not {schema}"));
    }
    if let Some(items) = value.as_array() {
        return items
            .iter()
            .find_map(|item| fault(all, &schema["items"], item));
    }
    let (Some(object), Some(known)) = (value.as_object(), schema["properties"].as_object()) else {
        return None;
    };
    let missing = schema["required"].as_array().unwrap().iter();
    let missing = missing
        .filter_map(Value::as_str)
        .find(|name| !object.contains_key(*name));
    if let Some(name) = missing {
        return Some(format!("{name} is missing in {value}"));
    }
    object
        .iter()
        .find_map(|(name, value)| match known.get(name) {
            Some(schema) => fault(all, schema, value),
            None => Some(format!("{name} is not described")),
        })
}

/// Sends requests, and records the answers.
struct Asker<'a> {
    server: &'a Running,
    all: &'a Value,
    seen: BTreeSet<(String, String, String)>,
}

impl Asker<'_> {
    fn ask(&mut self, route: &str, method: &str, path: &str, kind: &str, body: &[u8]) -> Response {
        self.ask_with(
            route,
            method,
            path,
            kind,
            body,
            &format!("authorization: Bearer {TOKEN}\r\n"),
        )
    }

    fn ask_with(
        &mut self,
        route: &str,
        method: &str,
        path: &str,
        kind: &str,
        body: &[u8],
        headers: &str,
    ) -> Response {
        let mut client: Client = self.server.client();
        client.headers = headers.to_owned();
        let response = client.request(method, path, kind, body);
        self.note(route, method, &response);
        response
    }

    fn note(&mut self, route: &str, method: &str, response: &Response) {
        let status = response.status.to_string();
        let methods = self.all["paths"][route].as_object().unwrap();
        // A method that an address does not accept is checked against the description of a method that it accepts.
        let (known, operation) = match methods.get(&method.to_lowercase()) {
            Some(operation) => (method.to_lowercase(), operation),
            None => {
                let (known, operation) = methods.iter().next().unwrap();
                (known.clone(), operation)
            }
        };
        let described = &operation["responses"][&status];
        assert!(
            described.is_object(),
            "{method} {route}: {status} is not described: {response:?}"
        );
        let kind = response
            .header("content-type")
            .unwrap()
            .split(';')
            .next()
            .unwrap();
        let content = &described["content"][kind];
        assert!(
            content.is_object(),
            "{method} {route}: {status}: {kind} is not described"
        );
        let check = |value: &Value| {
            if let Some(fault) = fault(self.all, &content["schema"], value) {
                panic!("{method} {route}: {status}: {fault}");
            }
        };
        match kind {
            "application/json" | "application/problem+json" => check(&response.json()),
            "application/x-ndjson" => {
                for line in response.text().lines() {
                    check(&serde_json::from_str(line).unwrap());
                }
            }
            _ => {}
        }
        for name in described["headers"]
            .as_object()
            .into_iter()
            .flat_map(|names| names.keys())
        {
            assert!(
                response.header(&name.to_lowercase()).is_some(),
                "{route}: no {name}"
            );
        }
        self.seen.insert((route.to_owned(), known, status));
    }
}

impl Asker<'_> {
    /// Requests the page as its form does.
    fn ask_for_page(&mut self, busy: &Running) {
        let form = "application/x-www-form-urlencoded";
        let long = format!("q={}", "a".repeat(2000));
        for (kind, body, status) in [
            (form, "q=a&k=3&index=", 200),
            (form, "k=x", 400),
            (form, "index=x", 404),
            (form, &*long, 413),
            ("image/png", "", 415),
        ] {
            let asked = self.ask("/", "POST", "/", kind, body.as_bytes());
            assert_eq!(asked.status, status);
        }
        assert_eq!(self.ask_with("/", "POST", "/", form, b"", "").status, 401);
        let mut slow = self.server.client();
        let head = format!(
            "POST / HTTP/1.1\r\nhost: localhost\r\ncontent-type: {form}\r\ncontent-length: 9\r\n\
             authorization: Bearer {TOKEN}\r\n\r\n"
        );
        slow.send(head.as_bytes()).unwrap();
        let response = slow.receive(false).unwrap();
        assert_eq!(response.status, 408);
        self.note("/", "POST", &response);
        let mut client = busy.client();
        client.headers = format!("authorization: Bearer {TOKEN}\r\n");
        let response = client.post("/", form, b"q=a");
        assert_eq!(response.status, 503);
        self.note("/", "POST", &response);
    }

    fn ask_for_documents(&mut self, busy: &Running, storeless: &Running, strict: &Running) {
        const MANY: &str = "/v1/documents";
        const ONE: &str = "/v1/documents/{id}";
        let (json_kind, lines) = ("application/json", "application/x-ndjson");
        let document = b"{\"id\":\"a\",\"fingerprint\":\"1\"}";
        assert_eq!(
            self.ask(MANY, "POST", MANY, json_kind, document).status,
            200
        );
        assert_eq!(self.ask(MANY, "POST", MANY, lines, document).status, 200);
        let good_then_bad = [&document[..], b"\nx"].concat();
        assert_eq!(
            self.ask(MANY, "POST", MANY, lines, &good_then_bad).status,
            200
        );
        assert_eq!(self.ask(MANY, "POST", MANY, lines, b"x").status, 400);
        assert_eq!(self.ask(MANY, "POST", MANY, json_kind, b"x").status, 400);
        assert_eq!(
            self.ask_with(MANY, "POST", MANY, json_kind, document, "")
                .status,
            401
        );
        assert_eq!(self.ask(MANY, "GET", MANY, "", b"").status, 405);
        assert_eq!(
            self.ask(MANY, "POST", MANY, json_kind, &[b' '; 2000])
                .status,
            413
        );
        assert_eq!(self.ask(MANY, "POST", MANY, "image/png", b"").status, 415);
        let text = b"{\"id\":\"a\",\"text\":\"\"}";
        assert_eq!(self.ask(MANY, "POST", MANY, json_kind, text).status, 422);
        let mut slow = self.server.client();
        let head = format!(
            "POST {MANY} HTTP/1.1\r\nhost: localhost\r\ncontent-type: {json_kind}\r\ncontent-length: 9\r\n\
             authorization: Bearer {TOKEN}\r\n\r\n"
        );
        slow.send(head.as_bytes()).unwrap();
        let response = slow.receive(false).unwrap();
        assert_eq!(response.status, 408);
        self.note(MANY, "POST", &response);

        let path = "/v1/documents/a";
        assert_eq!(self.ask(ONE, "POST", path, "", b"").status, 405);
        for method in ["GET", "DELETE"] {
            assert_eq!(self.ask(ONE, method, path, "", b"").status, 200);
            assert_eq!(
                self.ask(ONE, method, "/v1/documents/b", "", b"").status,
                404
            );
            assert_eq!(
                self.ask(ONE, method, "/v1/documents/%", "", b"").status,
                400
            );
            assert_eq!(self.ask_with(ONE, method, path, "", b"", "").status, 401);
        }
        for (fingerprint, status) in [(1, 200), (2, 409)] {
            let document = format!("{{\"id\":\"a\",\"fingerprint\":\"{fingerprint}\"}}");
            let mut client = strict.client();
            client.headers = format!("authorization: Bearer {TOKEN}\r\n");
            let response = client.post(MANY, json_kind, document.as_bytes());
            assert_eq!(response.status, status);
            self.note(MANY, "POST", &response);
        }
        for (server, status) in [(busy, 503), (storeless, 422)] {
            let mut client = server.client();
            client.headers = format!("authorization: Bearer {TOKEN}\r\n");
            let response = client.post(MANY, json_kind, document);
            assert_eq!(response.status, status);
            self.note(MANY, "POST", &response);
            for method in ["GET", "DELETE"] {
                let response = client.request(method, path, "", b"");
                assert_eq!(response.status, status);
                self.note(ONE, method, &response);
            }
        }
    }
}

#[test]
fn every_address_and_status_is_as_described() {
    let all = description();
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("texts.simidx");
    let pipeline = Pipeline::new(Preset::Short.options()).unwrap();
    let mut build = BuildOptions::default();
    build.ids = IdKind::String;
    build.pipeline = Some(pipeline.describe());
    let mut builder = IndexBuilder::new(Width::W64, build).unwrap();
    builder
        .push_with_id(
            pipeline.fingerprint("one two three", Width::W64).unwrap() as u64,
            "a",
        )
        .unwrap();
    builder.finish_to_path(&path).unwrap();
    let mut options = options(vec![default(&path)]);
    options.token = Some(Token::new(TOKEN).unwrap());
    options.limits.max_body = 1000;
    options.limits.timeout = std::time::Duration::from_millis(500);
    options.limits.max_results = 1;
    // All expensive requests are refused.
    options.limits.max_waiting = 0;
    options.store = Some(store(&folder.path().join("busy"), Width::W64));
    let busy = start(options.clone());
    options.store = None;
    let storeless = start(options.clone());
    options.store = Some(store(&folder.path().join("pages"), Width::W64));
    options.limits.max_waiting = 8;
    let server_options = options.clone();
    let mut keeping = simidx_collection::Options::default();
    keeping.replace = false;
    let strict = folder.path().join("strict");
    options.store = Some(Arc::new(
        Collection::open_or_create(strict, Width::W64, keeping).unwrap(),
    ));
    let strict = start(options);
    let mut options = server_options;
    options.drain_delay = std::time::Duration::from_secs(1);
    let server = start(options.clone());
    let mut asker = Asker {
        server: &server,
        all: &all,
        seen: BTreeSet::new(),
    };

    let plain = "text/plain";
    let (json_kind, lines, words) = (
        "application/json",
        "application/x-ndjson",
        "application/octet-stream",
    );
    for (route, path) in [
        ("/", "/"),
        ("/livez", "/livez"),
        ("/readyz", "/readyz"),
        ("/healthz", "/healthz"),
        ("/metrics", "/metrics"),
        ("/openapi.json", "/openapi.json"),
        ("/v1/info", "/v1/info"),
        ("/v1/query/{fingerprint}", "/v1/query/1"),
        ("/v1/nearest/{fingerprint}", "/v1/nearest/1?count=2"),
        ("/v1/ids/{id}", "/v1/ids/a"),
    ] {
        assert_eq!(asker.ask(route, "GET", path, "", b"").status, 200, "{path}");
        assert_eq!(asker.ask(route, "PUT", path, "", b"").status, 405, "{path}");
        if !["/livez", "/readyz", "/healthz"].contains(&route) {
            assert_eq!(
                asker.ask_with(route, "GET", path, "", b"", "").status,
                401,
                "{path}"
            );
        }
    }
    asker.ask_for_page(&busy);
    asker.ask_for_documents(&busy, &storeless, &strict);
    let batch = json!({"fingerprints": ["1"], "k": 1}).to_string();
    assert_eq!(
        asker
            .ask(
                "/v1/query",
                "POST",
                "/v1/query",
                json_kind,
                batch.as_bytes()
            )
            .status,
        200
    );
    assert_eq!(
        asker
            .ask(
                "/v1/query",
                "POST",
                "/v1/query",
                lines,
                b"\"1\"\n{\"text\":\".\"}\nx"
            )
            .status,
        200
    );
    assert_eq!(
        asker
            .ask("/v1/query", "POST", "/v1/query", lines, b"\"1\"\n")
            .status,
        200
    );
    assert_eq!(
        asker
            .ask("/v1/query", "POST", "/v1/query", words, &[0; 16])
            .status,
        200
    );
    assert_eq!(
        asker
            .ask("/v1/text", "POST", "/v1/text", plain, b"one two three")
            .status,
        200
    );
    assert_eq!(
        asker.ask("/-/reload", "POST", "/-/reload", "", b"").status,
        200
    );
    let snapshot = "/-/snapshot";
    assert_eq!(asker.ask(snapshot, "POST", snapshot, "", b"").status, 200);
    assert_eq!(asker.ask(snapshot, "GET", snapshot, "", b"").status, 405);
    assert_eq!(
        asker
            .ask_with(snapshot, "POST", snapshot, "", b"", "")
            .status,
        401
    );
    assert_eq!(
        asker
            .ask(snapshot, "POST", "/-/snapshot?index=x", "", b"")
            .status,
        400
    );
    let mut client = storeless.client();
    client.headers = format!("authorization: Bearer {TOKEN}\r\n");
    let response = client.post(snapshot, "", b"");
    assert_eq!(response.status, 422);
    asker.note(snapshot, "POST", &response);
    let mut client = busy.client();
    client.headers = format!("authorization: Bearer {TOKEN}\r\n");
    let response = client.post(snapshot, "", b"");
    assert_eq!(response.status, 503);
    asker.note(snapshot, "POST", &response);
    for (route, kind) in [
        ("/v1/query", json_kind),
        ("/v1/text", json_kind),
        ("/-/reload", ""),
    ] {
        assert_eq!(asker.ask(route, "GET", route, "", b"").status, 405);
        assert_eq!(
            asker.ask_with(route, "POST", route, kind, b"", "").status,
            401
        );
        let path = format!("{route}?index=x");
        assert_eq!(asker.ask(route, "POST", &path, kind, b"").status, 404);
        let path = format!("{route}?surprise=1");
        assert_eq!(asker.ask(route, "POST", &path, kind, b"").status, 400);
    }
    for (route, path) in [
        ("/", "/?k=x"),
        ("/v1/info", "/v1/info?k=1"),
        ("/v1/query/{fingerprint}", "/v1/query/x"),
        ("/v1/nearest/{fingerprint}", "/v1/nearest/x"),
        ("/v1/ids/{id}", "/v1/ids/%"),
    ] {
        assert_eq!(asker.ask(route, "GET", path, "", b"").status, 400, "{path}");
    }
    for (route, path) in [
        ("/", "/?index=x"),
        ("/v1/info", "/v1/info?index=x"),
        ("/v1/query/{fingerprint}", "/v1/query/1?index=x"),
        ("/v1/nearest/{fingerprint}", "/v1/nearest/1?index=x"),
        ("/v1/ids/{id}", "/v1/ids/b"),
    ] {
        assert_eq!(asker.ask(route, "GET", path, "", b"").status, 404, "{path}");
    }
    for (route, path) in [
        ("/v1/query/{fingerprint}", "/v1/query/1?k=60"),
        ("/v1/nearest/{fingerprint}", "/v1/nearest/1?k=60"),
        ("/v1/ids/{id}", "/v1/ids/a?k=60"),
    ] {
        assert_eq!(asker.ask(route, "GET", path, "", b"").status, 422, "{path}");
    }
    for route in ["/v1/query", "/v1/text"] {
        let path = format!("{route}?k=60");
        let body = if route == "/v1/text" {
            &b"{\"text\":\"a\"}"[..]
        } else {
            b"{\"texts\":[\"a\"]}"
        };
        assert_eq!(asker.ask(route, "POST", &path, json_kind, body).status, 422);
        assert_eq!(
            asker
                .ask(route, "POST", route, json_kind, &[b' '; 2000])
                .status,
            413
        );
        assert_eq!(
            asker.ask(route, "POST", route, "image/png", b"").status,
            415
        );
        let mut slow = server.client();
        let head = format!(
            "POST {route} HTTP/1.1\r\nhost: localhost\r\ncontent-type: {json_kind}\r\ncontent-length: 9\r\n\
             authorization: Bearer {TOKEN}\r\n\r\n"
        );
        slow.send(head.as_bytes()).unwrap();
        let response = slow.receive(false).unwrap();
        assert_eq!(response.status, 408);
        asker.note(route, "POST", &response);
        let mut client = busy.client();
        client.headers = format!("authorization: Bearer {TOKEN}\r\n");
        let response = client.post(route, json_kind, body);
        assert_eq!(response.status, 503);
        asker.note(route, "POST", &response);
    }
    let headers = format!("origin: http://e.example\r\nauthorization: Bearer {TOKEN}\r\n");
    for (route, method, path) in [
        ("/-/reload", "POST", "/-/reload"),
        ("/-/snapshot", "POST", "/-/snapshot"),
        ("/v1/documents", "POST", "/v1/documents"),
        ("/v1/documents/{id}", "DELETE", "/v1/documents/a"),
    ] {
        let refused = asker.ask_with(route, method, path, "", b"", &headers);
        assert_eq!(refused.status, 403, "{method} {path}");
    }
    std::fs::remove_file(&path).unwrap();
    assert_eq!(
        asker.ask("/-/reload", "POST", "/-/reload", "", b"").status,
        422
    );
    server.handle.shut_down();
    for route in ["/readyz", "/healthz"] {
        assert_eq!(asker.ask(route, "GET", route, "", b"").status, 503);
    }

    let mut missing = Vec::new();
    for (route, methods) in all["paths"].as_object().unwrap() {
        for (method, operation) in methods.as_object().unwrap() {
            for status in operation["responses"].as_object().unwrap().keys() {
                let one = (route.clone(), method.clone(), status.clone());
                // Statuses that this test does not cover: 500 is tested for queries in sources.rs, and for no other
                // addresses; 507, a full disk, has only its status tested below; a full queue is tested in
                // connections.rs.
                let elsewhere =
                    status == "500" || status == "507" || status == "503" && method == "get";
                if !elsewhere && !asker.seen.contains(&one) {
                    missing.push(one);
                }
            }
        }
    }
    assert!(missing.is_empty(), "described and never seen: {missing:?}");
    assert!(asker.seen.len() > 60, "{}", asker.seen.len());
}

#[test]
fn a_store_that_takes_no_changes_is_507_and_names_no_file() {
    let why = || "/srv/pages/journal.redb: no space left on device".to_owned();
    for (error, kind) in [
        (simidx_collection::Error::Journal(why()), "journal-failed"),
        (simidx_collection::Error::Unsealed(why()), "not-sealed"),
    ] {
        let problem = simidx_server::Problem::from(error);
        assert_eq!((problem.status().as_u16(), problem.kind()), (507, kind));
        assert!(!problem.to_json().to_string().contains("srv"), "{problem}");
        assert!(problem.detail().contains("the log says why"), "{problem}");
    }
}
