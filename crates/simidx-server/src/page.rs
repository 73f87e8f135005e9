//! The page for people: a search form, matches with their texts, and the figures of the index. It runs and loads
//! nothing.

use std::sync::Arc;

use hyper::header::{CONTENT_SECURITY_POLICY, HeaderValue, REFERRER_POLICY};
use hyper::{Response, StatusCode};
use maud::{Markup, Render, html};
use serde_json::Value;
use simidx::IdBuf;
use simidx_output::page::{
    self, Bar, BarChart, Entry, POLICY_WITH_FORM, document, pair, plural, short, warning,
};

use crate::answer::{Asked, Form};
use crate::batch::{Batch, on_pool};
use crate::metrics::{BOUNDS, IndexMetrics};
use crate::problem::Problem;
use crate::queries::{question, record_id};
use crate::request::{self, Params, What};
use crate::response::{Content, of_generation, whole};
use crate::state::{App, Generation};

/// Largest number of matches that are shown.
const SHOWN: usize = 20;

/// Largest size in bytes of a query on the page, which is repeated next to each match.
const SOUGHT_LEN: usize = 64 << 10;

/// Largest number of ids of a match that are shown.
const SHOWN_IDS: usize = 5;

/// Answers with the page.
///
/// # Errors
/// Invalid parameters, or an unknown index. The page itself shows other errors of a search.
pub(crate) async fn page(
    app: &Arc<App>,
    query: Option<&str>,
) -> Result<Response<Content>, Problem> {
    // A form also sends empty fields.
    let query = query.unwrap_or_default();
    let filled = query.split('&').filter(|pair| !pair.ends_with('='));
    let query = filled.collect::<Vec<_>>().join("&");
    let mut params = Params::parse(Some(&query), &["q", "k", "index"])?;
    // A form sends each line end as CR and LF.
    params.q = params.q.map(|q| q.replace("\r\n", "\n"));
    if params.q.as_ref().is_some_and(|q| q.len() > SOUGHT_LEN) {
        let detail = format!(
            "the page searches for at most {SOUGHT_LEN} bytes; POST /v1/text takes longer texts"
        );
        return Err(Problem::too_large(detail));
    }
    let first = app.indexes.first().map(|index| &*index.name);
    let name = match app.index(params.index.as_deref()) {
        Ok(index) => Some(&*index.name),
        Err(problem) if params.index.is_some() => return Err(problem),
        Err(_) => first,
    };
    let served = app.index(name)?;
    let generation = served.current();
    let size = generation.source.size();
    let lead = html! {
        p {
            (plural(size.fingerprints, "fingerprint")) " of " (generation.source.width()) " bits in "
            (plural(size.records, "record")) ". Near-duplicates differ in at most "
            (plural(app.default_distance(&generation.source).into(), "bit")) "."
        }
    };
    let mut sections = vec![(
        "search",
        "Search",
        form(app, &params, &served.name, &generation),
    )];
    if let Some(q) = &params.q {
        let found = found(app, &generation, q, &params).await;
        let found = found.unwrap_or_else(|problem| warning(problem.detail()));
        sections.push(("matches", "Matches", found));
    }
    let asked = generation.clone();
    let figures = move || Ok((asked.source.figures()?, asked.source.resident_fraction()));
    let (figures, resident) = on_pool(app, figures).await?;
    let mut glance = simidx_output::report::rows(&figures);
    if let Some(part) = resident {
        glance.push(("in memory", format!("{:.0} %", 100.0 * part)));
    }
    glance.push(("generation", generation.source.generation()));
    glance.push(("opened", crate::log::timestamp(generation.loaded_at)));
    sections.push((
        "figures",
        "At a glance",
        page::figures("The index that answers now", &glance),
    ));
    if let Some(chart) = page::compression(&figures) {
        sections.push(("compression", "Compression", chart.render()));
    }
    sections.push(("latency", "Latency", latency(&served.metrics).render()));
    let title = format!("simidx: {}", served.name);
    let page = document(&title, POLICY_WITH_FORM, &lead, &sections);
    let mut response = whole(
        StatusCode::OK,
        "text/html; charset=utf-8",
        page.into_bytes(),
    );
    let headers = response.headers_mut();
    // This directive, which forbids framing, only works as a header.
    let policy = format!("{POLICY_WITH_FORM}; frame-ancestors 'none'");
    if let Ok(policy) = HeaderValue::try_from(policy) {
        headers.insert(CONTENT_SECURITY_POLICY, policy);
    }
    headers.insert(REFERRER_POLICY, HeaderValue::from_static("no-referrer"));
    Ok(of_generation(response, generation.source.generation()))
}

/// Returns the form with the values that were sent.
fn form(app: &App, params: &Params, index: &str, generation: &Generation) -> Markup {
    let what = match generation.fingerprinter() {
        Ok(_) => "Text, fingerprint or id",
        Err(_) => "Fingerprint or id",
    };
    let largest = app.max_distance(&generation.source);
    let distance = params.k.unwrap_or(app.default_distance(&generation.source));
    html! {
        // The address of this page, also below a path of a proxy. The method is POST because a text may be too long for
        // an address.
        form method="post" action="." role="search" {
            label for="q" {
                (what)
                // 20,000 characters never exceed the size limit of a query.
                textarea id="q" name="q" required maxlength="20000" { (params.q.as_deref().unwrap_or_default()) }
            }
            div.row {
                label for="k" {
                    "Largest distance"
                    input id="k" name="k" type="number" min="0" max=(largest) value=(distance);
                }
                @if app.indexes.len() > 1 {
                    label for="index" {
                        "Index"
                        select id="index" name="index" {
                            @for other in &app.indexes {
                                option value=(other.name) selected[other.name == index] { (other.name) }
                            }
                        }
                    }
                }
                button type="submit" { "Search" }
            }
        }
    }
}

/// Interprets a query: as a fingerprint with all its digits, else as a known id, else as a text.
fn meant(generation: &Generation, q: &str) -> Result<(Vec<What>, Option<IdBuf>), Problem> {
    let source = &generation.source;
    let word = q.trim();
    let digits = word.strip_prefix("0x").unwrap_or(word);
    let is_whole = digits.len() == source.width().bytes() * 2;
    if is_whole && let Ok(fingerprint) = request::fingerprint(source.width(), digits) {
        return Ok((vec![What::Fingerprint(fingerprint)], None));
    }
    if let Ok(id) = record_id(source.id_kind(), word) {
        let found = source.fingerprints_of_id(id.as_id())?;
        if !found.is_empty() {
            let found = found.into_iter().map(What::Fingerprint).collect();
            return Ok((found, Some(id)));
        }
    }
    match (
        generation.fingerprinter(),
        request::fingerprint(source.width(), word),
    ) {
        (Ok(_), _) => Ok((vec![What::Text(q.to_owned())], None)),
        (Err(_), Ok(fingerprint)) => Ok((vec![What::Fingerprint(fingerprint)], None)),
        (Err(_), Err(_)) => {
            let detail = "that is neither a fingerprint nor an id of this index, which records no way to fingerprint texts";
            Err(Problem::unanswerable("no-pipeline", detail))
        }
    }
}

/// Returns the matches, each next to the query.
async fn found(
    app: &Arc<App>,
    generation: &Arc<Generation>,
    q: &str,
    params: &Params,
) -> Result<Markup, Problem> {
    let (asked, sought) = (generation.clone(), q.to_owned());
    let (queries, id) = on_pool(app, move || meant(&asked, &sought)).await?;
    let mut nearest = params.clone();
    nearest.limit = Some(SHOWN + 1);
    let question = question(app, &generation.source, &nearest)?;
    let text = match (&queries[..], &id) {
        ([What::Text(text)], _) => Some(text.clone()),
        (_, Some(id)) => app.options.texts.get(&id.to_string()).cloned(),
        _ => None,
    };
    let asked = queries.into_iter().map(|what| Asked::new(what, question));
    let batch = Batch::new(app, generation, asked, Form::Lines);
    let (parts, _) = batch.whole().await?;
    // There may be many ids, most of which are not shown.
    let parse = move || {
        let parts: Vec<_> = parts.into_iter().map(|part| part.bytes).collect();
        let lines = parts.concat();
        let answers = lines
            .split(|&byte| byte == b'\n')
            .filter(|line| !line.is_empty());
        let answers: Result<Vec<Value>, _> = answers.map(serde_json::from_slice).collect();
        let answers = answers.map_err(std::io::Error::from);
        Ok(answers.map_err(simidx::Error::from)?)
    };
    let answers = on_pool(app, parse).await?;
    Ok(html! {
        @for answer in &answers {
            @let asked = Entry {
                ids: id.iter().map(ToString::to_string).collect(),
                fingerprint: word(&answer["query"]),
                note: "searched for".into(),
                text: text.clone(),
                ..Entry::default()
            };
            (matches(app, answer, question.max_distance(), &asked))
        }
    })
}

/// Returns the matches of an answer.
fn matches(app: &App, answer: &Value, distance: u32, asked: &Entry) -> Markup {
    let matches = answer["matches"].as_array().map_or(&[][..], Vec::as_slice);
    let bits = plural(distance.into(), "bit");
    html! {
        @if answer["without_features"] == true {
            p { "Nothing in this text says what it is like, so nothing is near it." }
        } @else {
            @match matches.len() {
                0 => p { "Nothing is within " (bits) "." },
                1 => h3 { "1 match within " (bits) },
                count if count > SHOWN => h3 { "The " (SHOWN) " nearest of more matches" },
                count => h3 { (count) " matches within " (bits) },
            }
        }
        @for (place, found) in matches.iter().take(SHOWN).enumerate() {
            @let heading = format!("{}: distance {}", place + 1, found["distance"]);
            (pair(&heading, asked, &entry(app, asked, found)))
        }
    }
}

/// Returns one match of a query.
fn entry(app: &App, asked: &Entry, found: &Value) -> Entry {
    let ids = found["ids"].as_array().map_or(&[][..], Vec::as_slice);
    let ids: Vec<String> = ids.iter().map(word).collect();
    let fingerprint = word(&found["fingerprint"]);
    let bits = differing(&asked.fingerprint, &fingerprint);
    let note = match &bits[..] {
        [] => "no bit differs".to_owned(),
        [one] => format!("bit {one} differs"),
        bits => format!("bits {} differ", bits.join(", ")),
    };
    Entry {
        text: ids.iter().find_map(|id| app.options.texts.get(id)).cloned(),
        has_more_ids: ids.len() > SHOWN_IDS,
        ids: ids.into_iter().take(SHOWN_IDS).collect(),
        fingerprint,
        note,
    }
}

/// Returns the bits in which two fingerprints differ, the lowest first.
fn differing(a: &str, b: &str) -> Vec<String> {
    let value = |hex| u128::from_str_radix(hex, 16).unwrap_or_default();
    let bits = value(a) ^ value(b);
    let differing = (0..u128::BITS).filter(|bit| bits >> bit & 1 == 1);
    differing.map(|bit| bit.to_string()).collect()
}

/// Formats a JSON value for display.
fn word(value: &Value) -> String {
    match value {
        Value::String(text) => text.clone(),
        other => other.to_string(),
    }
}

/// Returns a chart of the queries since the start, by their times.
fn latency(metrics: &IndexMetrics) -> BarChart {
    let counts = metrics.queries.counts();
    let first = counts.iter().position(|&count| count > 0);
    let last = counts.iter().rposition(|&count| count > 0);
    let buckets = first
        .zip(last)
        .map_or(0..0, |(first, last)| first..last + 1);
    let bars = buckets.map(|bucket| {
        let label = match BOUNDS.get(bucket) {
            Some(&us) => short(us as f64),
            None => "more".to_owned(),
        };
        Bar::count(label, counts[bucket])
    });
    let bars: Vec<Bar> = bars.collect();
    BarChart {
        id: "latencies",
        title: "Queries by their latency".into(),
        alternative: match bars.is_empty() {
            true => "No query has been answered yet.".into(),
            false => {
                "Each bar counts the queries since the start that took that many microseconds."
                    .into()
            }
        },
        x_label: "microseconds, at most",
        y_label: "queries",
        bars,
        ..BarChart::default()
    }
}
