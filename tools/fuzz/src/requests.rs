//! Requests to the server: addresses, parameters and bodies, read by its parsers.

use simidx::Width;
use simidx_server::Problem;
use simidx_server::request::{self, Params, What};

/// Queries of a batch, at most.
const MAX_BATCH: usize = 100;

/// The longest message: it must not grow with the request.
const MAX_DETAIL: usize = 1000;

/// The first byte says what the rest is and how wide fingerprints are.
pub fn check(data: &[u8]) {
    let [what, contents @ ..] = data else {
        return;
    };
    let width = Width::ALL[usize::from(what >> 4) % 3];
    match what & 15 {
        0 => check_batch(width, contents),
        1 => check_lines(width, contents),
        2 => check_words(width, contents),
        3 => drop(good(request::text(contents, true))),
        4 => {
            let text = good(request::text(contents, false));
            let is_text = text.map(|(text, _)| text.as_bytes() == contents);
            assert_eq!(is_text.is_some(), std::str::from_utf8(contents).is_ok());
            assert_ne!(is_text, Some(false));
        }
        8 => check_documents(width, contents),
        _ => {
            let Ok(text) = std::str::from_utf8(contents) else {
                return;
            };
            match what & 15 {
                5 => check_fingerprint(width, text),
                6 => check_escapes(text),
                _ => {
                    let allowed = ["k", "limit", "nearest", "index", "q"];
                    if let Some(params) = good(Params::parse(Some(text), &allowed)) {
                        check_params(&params);
                    }
                }
            }
        }
    }
}

/// Returns the value if it was valid; a problem must be short, have a kind, and be in the 400 family.
fn good<T>(read: Result<T, Problem>) -> Option<T> {
    let problem = match read {
        Ok(read) => return Some(read),
        Err(problem) => problem,
    };
    assert!(problem.status().is_client_error(), "{problem:?}");
    assert!(!problem.kind().is_empty());
    assert!(problem.detail().len() < MAX_DETAIL, "{problem:?}");
    let json = problem.to_json().to_string();
    assert_eq!(json.lines().count(), 1, "{json}");
    None
}

fn check_params(params: &Params) {
    assert!(params.limit != Some(0) && params.nearest != Some(0));
    assert!(params.limit.is_none() || params.nearest.is_none());
}

fn check_query(width: Width, query: &What) {
    if let What::Fingerprint(fingerprint) = query {
        assert!(*fingerprint <= width.max());
    }
}

fn check_batch(width: Width, body: &[u8]) {
    if let Some((queries, params)) = good(request::batch(width, body, MAX_BATCH)) {
        assert!(queries.len() <= MAX_BATCH);
        queries.iter().for_each(|query| check_query(width, query));
        check_params(&params);
    }
}

fn check_lines(width: Width, body: &[u8]) {
    let mut last = 0;
    for (number, line) in request::lines(body) {
        assert!(number > last && !line.contains(&b'\n'));
        last = number;
        if let Some((query, params)) = good(request::line(width, line)) {
            check_query(width, &query);
            check_params(&params);
        }
    }
}

fn check_documents(width: Width, body: &[u8]) {
    for (_, line) in request::lines(body) {
        if let Some((id, what)) = good(request::document(width, line)) {
            assert!((1..=65_535).contains(&id.len()));
            check_query(width, &what);
        }
    }
}

fn check_words(width: Width, body: &[u8]) {
    let len = width.bytes();
    let is_good = body.len().is_multiple_of(len) && body.len() / len <= MAX_BATCH;
    let words = good(request::words(width, body, MAX_BATCH));
    assert_eq!(words.is_some(), is_good);
    for (word, bytes) in words.iter().flatten().zip(body.chunks(len)) {
        assert_eq!(&word.to_le_bytes()[..len], bytes);
    }
}

fn check_fingerprint(width: Width, text: &str) {
    if let Some(fingerprint) = good(request::fingerprint(width, text)) {
        check_query(width, &What::Fingerprint(fingerprint));
        let again = request::fingerprint(width, &format!("{fingerprint:x}"));
        assert_eq!(again, Ok(fingerprint));
    }
}

fn check_escapes(text: &str) {
    if let Some(decoded) = good(request::decode(text, false)) {
        // Escaping every byte can be undone.
        let escaped: String = decoded.bytes().map(|byte| format!("%{byte:02x}")).collect();
        assert_eq!(request::decode(&escaped, false).as_deref(), Ok(&*decoded));
        assert!(decoded.len() <= text.len());
    }
}
