//! The page for people: its contents, its defence against hostile values, and its display in a browser.

use std::path::Path;
use std::process::Command;

use simidx::{BuildOptions, Fingerprint, IdKind, IndexBuilder, Width};
use simidx_server::ServerOptions;
use simidx_text::{Pipeline, Preset};

use crate::documents::store;
use crate::harness::{Fixture, default, options, serve, start};

const BROWSER: &str = "/usr/bin/chromium";

const TEXTS: [(&str, &str); 3] = [
    (
        "a",
        "the quick brown fox jumps over the lazy dog near the river bank on a sunny day in spring",
    ),
    (
        "b",
        "the quick brown fox jumps over the lazy dog near the river bank on a sunny day in summer",
    ),
    (
        "<script>alert(1)</script>",
        "of something else entirely & <b>bold</b>",
    ),
];

fn with_texts(folder: &Path) -> ServerOptions {
    let path = folder.join("texts.simidx");
    let pipeline = Pipeline::new(Preset::Short.options()).unwrap();
    let mut build = BuildOptions::default();
    build.ids = IdKind::String;
    build.pipeline = Some(pipeline.describe());
    let mut builder = IndexBuilder::new(Width::W64, build).unwrap();
    for (id, text) in TEXTS {
        builder
            .push_with_id(pipeline.fingerprint(text, Width::W64).unwrap() as u64, id)
            .unwrap();
    }
    builder.finish_to_path(&path).unwrap();
    let mut options = options(vec![default(&path)]);
    options.limits.max_distance = Some(64);
    options.texts = TEXTS
        .map(|(id, text)| (id.to_owned(), text.to_owned()))
        .into();
    options
}

/// Checks the properties of every page.
fn check(html: &str) {
    assert!(html.starts_with("<!DOCTYPE html>"));
    let lower = html.to_lowercase();
    for wrong in [
        "<script", "http://", "https://", "src=", "url(", "@import", "onclick", "<link",
    ] {
        assert!(!lower.contains(wrong), "{wrong}");
    }
    assert!(html.contains("<html lang=\"en\">") && html.contains("color-scheme"));
    // Each field has a label.
    for field in ["q", "k"] {
        assert!(html.contains(&format!("<label for=\"{field}\"")), "{field}");
        assert!(html.contains(&format!(" id=\"{field}\"")), "{field}");
    }
}

#[test]
fn the_form_can_be_sent_as_it_is() {
    let fixture = Fixture::<u64>::new(400);
    let mut options = options(vec![default(&fixture.path)]);
    // The tables were made for 3.
    options.limits.max_distance = Some(2);
    let page = start(options).client().get("/");
    let page = page.text();
    assert!(page.contains("max=\"2\" value=\"2\""), "{page}");
    assert!(page.contains("differ in at most 2 bits"), "{page}");
}

#[test]
fn the_page_shows_matches_side_by_side_with_what_differs() {
    let folder = tempfile::tempdir().unwrap();
    let server = start(with_texts(folder.path()));
    let mut client = server.client();
    let response = client.get("/");
    assert_eq!(
        response.header("content-type"),
        Some("text/html; charset=utf-8")
    );
    let policy = response.header("content-security-policy").unwrap();
    assert!(policy.contains("default-src 'none'") && policy.contains("form-action 'self'"));
    assert!(policy.contains("frame-ancestors 'none'"));
    check(response.text());
    assert!(response.text().contains("No query has been answered yet."));

    let response = client.get("/?q=a&k=64&index=default");
    check(response.text());
    let text = response.text();
    assert!(text.contains("3 matches within 64 bits"), "{text}");
    assert!(
        text.contains("<del>spring") && text.contains("<ins>summer"),
        "{text}"
    );
    assert!(text.contains("&lt;script&gt;alert(1)&lt;/script&gt;"));
    assert!(text.contains("<mark>") && text.contains("searched for"));
    assert!(text.contains("Each bar counts the queries since the start"));

    // Queries by text, by fingerprint, and by a hostile value.
    let text = TEXTS[1].1.replace(' ', "+");
    assert!(
        client
            .get(&format!("/?q={text}&k=0"))
            .text()
            .contains("1 match within 0 bits")
    );
    let pipeline = Pipeline::new(Preset::Short.options()).unwrap();
    let fingerprint = pipeline.fingerprint(TEXTS[1].1, Width::W64).unwrap() as u64;
    let hex = fingerprint.to_hex();
    assert!(
        client
            .get(&format!("/?q={hex}&k="))
            .text()
            .contains(" within 3 bits")
    );
    let hostile = client.get("/?q=%3C%2Ftextarea%3E%3Cscript%3Ealert(1)%3C/script%3E&k=0");
    check(hostile.text());
    assert!(hostile.text().contains("&lt;/textarea&gt;"));
}

#[test]
fn what_cannot_be_searched_for_is_said_on_the_page() {
    let fixture = Fixture::<u64>::new(400);
    let server = serve(&fixture.path);
    let mut client = server.client();
    let response = client.get("/?q=some+text");
    check(response.text());
    assert!(response.text().contains("class=\"warning\""));
    let found = client.get(&format!("/?q={:x}", fixture.fingerprints[0]));
    assert!(found.text().contains("within 3 bits"));
    let too_far = client.get("/?q=00000000000000ff&k=60");
    assert!(too_far.text().contains("more than this server permits"));
}

#[test]
fn a_long_text_is_sent_by_the_form() {
    const FORM: &str = "application/x-www-form-urlencoded";
    let folder = tempfile::tempdir().unwrap();
    let server = start(with_texts(folder.path()));
    let mut client = server.client();
    // The form's action is the address of the page, also below a path of a proxy.
    let page = client.get("/");
    assert!(page.text().contains("<form method=\"post\" action=\".\""));
    // Nine bytes each in a form: an address of that length is refused.
    let text = "\u{6c49}".repeat(20_000);
    let escaped = "%E6%B1%89".repeat(20_000);
    let found = client.post("/", FORM, format!("q={escaped}&k=64&index=").as_bytes());
    assert_eq!(found.status, 200);
    check(found.text());
    assert!(found.text().contains(&text) && found.text().contains("3 matches within 64 bits"));
    let found = client.post("/", FORM, b"q=the+quick+brown+fox&k=64");
    assert!(found.text().contains("3 matches within 64 bits"));
    // A browser sends a line end as two characters; the form repeats the original text.
    let found = client.post("/", FORM, b"q=one%0D%0Atwo&k=64");
    check(found.text());
    let filled = found.text().contains(">one\ntwo</textarea>");
    assert!(filled && !found.text().contains("\\u{d}"));
    let long = format!("q={}", "a".repeat((64 << 10) + 1));
    for (kind, body, status, said) in [
        (FORM, long.as_bytes(), 413, "too-large"),
        (FORM, b"k=x", 400, "bad-parameter"),
        (FORM, b"q=\xff", 400, "bad-encoding"),
        ("text/plain", b"q=a", 415, "bad-content-type"),
    ] {
        let refused = client.post("/", kind, body);
        assert_eq!((refused.status, &*refused.kind()), (status, said));
    }
}

#[test]
fn the_page_of_a_store_has_no_figures_of_files() {
    let folder = tempfile::tempdir().unwrap();
    let mut options = options(Vec::new());
    options.store = Some(store(&folder.path().join("pages"), Width::W64));
    let server = start(options);
    let page = server.client().get("/");
    check(page.text());
    assert!(page.text().contains("not sealed yet"));
    for wrong in ["0.00", "Each bar is a table", "times the raw"] {
        assert!(!page.text().contains(wrong), "{wrong}");
    }
}

/// Returns the levels of the headings, in order.
fn levels(html: &str) -> Vec<u8> {
    let starts = html
        .match_indices("<h")
        .map(|(at, _)| html.as_bytes()[at + 2]);
    starts.filter(u8::is_ascii_digit).collect()
}

#[test]
fn no_heading_leaves_out_a_level() {
    let folder = tempfile::tempdir().unwrap();
    let server = start(with_texts(folder.path()));
    let page = server.client().get("/?q=a&k=64");
    let levels = levels(page.text());
    assert!(levels.contains(&b'4'));
    assert!(
        levels.windows(2).all(|two| two[1] <= two[0] + 1),
        "{levels:?}"
    );
}

#[test]
fn a_browser_shows_the_page() {
    if !Path::new(BROWSER).exists() {
        simidx_testkit::report(&format!("skipped the page in a browser: no {BROWSER} here"));
        return;
    }
    let folder = tempfile::tempdir().unwrap();
    let server = start(with_texts(folder.path()));
    let profile = format!(
        "--user-data-dir={}",
        folder.path().join("profile").display()
    );
    let address = format!("http://{}/?q=a&k=64", server.address);
    let shown = Command::new(BROWSER)
        .args([
            "--headless",
            "--no-sandbox",
            "--disable-gpu",
            "--disable-dev-shm-usage",
            &profile,
        ])
        .args(["--enable-logging=stderr", "--dump-dom", &address])
        .output()
        .unwrap();
    let (dom, log) = (
        String::from_utf8_lossy(&shown.stdout),
        String::from_utf8_lossy(&shown.stderr),
    );
    assert!(shown.status.success(), "{log}");
    assert!(
        dom.contains("3 matches within 64 bits") && dom.contains("<ins>summer"),
        "{dom}"
    );
    assert!(dom.contains("<svg"), "{dom}");
    // The log would report violations of the page's policy, and invalid HTML.
    assert!(!log.contains("Content Security Policy"), "{log}");
}
