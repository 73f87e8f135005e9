//! The page for people: search, the matches side by side, and the figures of the index. It runs nothing and loads nothing.

use std::sync::Arc;

use hyper::header::{CONTENT_SECURITY_POLICY, HeaderValue, REFERRER_POLICY};
use hyper::{Response, StatusCode};
use serde_json::Value;
use simidx::IdBuf;
use simidx_output::page::{
    Bar, BarChart, Document, Entry, Html, ReferenceLine, Table, decimal, grouped, pair, plural,
    short,
};

use crate::answer::{Asked, Form};
use crate::batch::{Batch, on_pool};
use crate::metrics::{BOUNDS, IndexMetrics};
use crate::problem::Problem;
use crate::queries::{question, record_id};
use crate::request::{self, Params, What};
use crate::response::{Content, of_generation, whole};
use crate::state::{App, Generation};

/// Matches that are shown.
const SHOWN: usize = 20;

/// Bytes of what is searched for: it stands beside each match.
const SOUGHT_LEN: usize = 64 << 10;

/// Ids of a match that are shown.
const SHOWN_IDS: usize = 5;

/// Answers with the page.
///
/// # Errors
/// Parameters that are none, or an index that is not there. What else is wrong with a search stands on the page.
pub(crate) async fn page(
    app: &Arc<App>,
    query: Option<&str>,
) -> Result<Response<Content>, Problem> {
    // A form sends what is left empty too.
    let query = query.unwrap_or_default();
    let filled = query.split('&').filter(|pair| !pair.ends_with('='));
    let query = filled.collect::<Vec<_>>().join("&");
    let params = Params::parse(Some(&query), &["q", "k", "index"])?;
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
    let mut lead = Html::new();
    lead.paragraph(format!(
        "{} of {} bits in {}. Near-duplicates differ in at most {}.",
        plural(size.fingerprints, "fingerprint"),
        generation.source.width(),
        plural(size.records, "record"),
        plural(generation.source.max_distance().into(), "bit"),
    ));
    let mut document = Document::new(&format!("simidx: {}", served.name), lead).with_form();
    document.section(
        "search",
        "Search",
        &form(app, &params, &served.name, &generation),
    );
    if let Some(q) = &params.q {
        let found = match found(app, &generation, q, &params).await {
            Ok(found) => found,
            Err(problem) => {
                let mut html = Html::new();
                html.element("p", &[("class", "warning")], problem.detail());
                html
            }
        };
        document.section("matches", "Matches", &found);
    }
    let asked = generation.clone();
    let figures = move || Ok((asked.source.figures()?, asked.source.resident_fraction()));
    let (figures, resident) = on_pool(app, figures).await?;
    document.section(
        "figures",
        "At a glance",
        &glance(&generation, &figures, resident),
    );
    if let Some(compression) = compression(&figures) {
        document.section("compression", "Compression", &compression);
    }
    document.section("latency", "Latency", &latency(&served.metrics));
    document.section("distances", "Distances", &distances(&served.metrics));
    let policy = document.policy();
    let mut body = Vec::new();
    document.write(&mut body).map_err(simidx::Error::from)?;
    let mut response = whole(StatusCode::OK, "text/html; charset=utf-8", body);
    let headers = response.headers_mut();
    // Only as a header does it say that no other page may frame this one.
    if let Ok(policy) = HeaderValue::try_from(format!("{policy}; frame-ancestors 'none'")) {
        headers.insert(CONTENT_SECURITY_POLICY, policy);
    }
    headers.insert(REFERRER_POLICY, HeaderValue::from_static("no-referrer"));
    Ok(of_generation(response, generation.source.name()))
}

/// The form, filled as it was sent.
fn form(app: &App, params: &Params, index: &str, generation: &Generation) -> Html {
    let mut html = Html::new();
    html.open(
        "form",
        // Where the page is, also below a path of a proxy. A text may be too long for an address.
        &[("method", "post"), ("action", "."), ("role", "search")],
    );
    let what = match generation.fingerprinter() {
        Ok(_) => "Text, fingerprint or id",
        Err(_) => "Fingerprint or id",
    };
    html.open("label", &[("for", "q")]).text(what);
    let name = [
        ("id", "q"),
        ("name", "q"),
        ("required", ""),
        // As many take no more bytes than may be sought, whatever they are.
        ("maxlength", "20000"),
    ];
    html.open("textarea", &name);
    html.prose(params.q.as_deref().unwrap_or_default());
    html.markup("</textarea></label><div class=\"row\">");
    html.markup("<label for=\"k\">Largest distance");
    let largest = app.max_distance(&generation.source).to_string();
    let k = params
        .k
        .unwrap_or(generation.source.max_distance())
        .to_string();
    let number = [
        ("id", "k"),
        ("name", "k"),
        ("type", "number"),
        ("min", "0"),
        ("max", &largest),
        ("value", &k),
    ];
    html.open("input", &number).markup("</label>");
    if app.indexes.len() > 1 {
        html.markup("<label for=\"index\">Index<select id=\"index\" name=\"index\">");
        for other in &app.indexes {
            let value = ("value", &*other.name);
            match other.name == index {
                true => html.open("option", &[value, ("selected", "")]),
                false => html.open("option", &[value]),
            };
            html.text(&other.name).close("option");
        }
        html.markup("</select></label>");
    }
    html.markup("<button type=\"submit\">Search</button></div></form>\n");
    html
}

/// What is searched for: a fingerprint of all its digits, else an id that is there, else a text.
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

/// The matches, each beside what was searched for.
async fn found(
    app: &Arc<App>,
    generation: &Arc<Generation>,
    q: &str,
    params: &Params,
) -> Result<Html, Problem> {
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
    let parts = parts.into_iter();
    let lines: Vec<u8> = parts.flat_map(|part| part.bytes).collect();
    let mut html = Html::new();
    for line in lines
        .split(|&byte| byte == b'\n')
        .filter(|line| !line.is_empty())
    {
        let answer: Value = serde_json::from_slice(line)
            .map_err(std::io::Error::from)
            .map_err(simidx::Error::from)?;
        let asked = Entry {
            ids: id.iter().map(ToString::to_string).collect(),
            fingerprint: word(&answer["query"]),
            note: "searched for".into(),
            text: text.clone(),
            ..Entry::default()
        };
        let matches = answer["matches"].as_array().map_or(&[][..], Vec::as_slice);
        let distance = question.max_distance();
        let bits = plural(distance.into(), "bit");
        match (matches.len(), answer["without_features"].as_bool()) {
            (_, Some(true)) => {
                html.paragraph("Nothing in this text says what it is like, so nothing is near it.")
            }
            (0, _) => html.paragraph(format!("Nothing is within {bits}.")),
            (count, _) => {
                let heading = match count > SHOWN {
                    true => format!("The {SHOWN} nearest of more matches"),
                    false => format!("{} within {bits}", matches_of(count)),
                };
                html.element("h3", &[], heading)
            }
        };
        for (place, found) in matches.iter().take(SHOWN).enumerate() {
            html.append(&one(app, place, &asked, found));
        }
    }
    Ok(html)
}

fn matches_of(count: usize) -> String {
    match count {
        1 => "1 match".to_owned(),
        count => format!("{count} matches"),
    }
}

/// A match beside what was searched for.
fn one(app: &App, place: usize, asked: &Entry, found: &Value) -> Html {
    let ids = found["ids"].as_array().map_or(&[][..], Vec::as_slice);
    let ids: Vec<String> = ids.iter().map(word).collect();
    let fingerprint = word(&found["fingerprint"]);
    let bits = differing(&asked.fingerprint, &fingerprint);
    let note = match &bits[..] {
        [] => "no bit differs".to_owned(),
        [one] => format!("bit {one} differs"),
        bits => {
            let bits: Vec<String> = bits.iter().map(ToString::to_string).collect();
            format!("bits {} differ", bits.join(", "))
        }
    };
    let entry = Entry {
        text: ids.iter().find_map(|id| app.options.texts.get(id)).cloned(),
        has_more_ids: ids.len() > SHOWN_IDS,
        ids: ids.into_iter().take(SHOWN_IDS).collect(),
        fingerprint,
        note,
    };
    let distance = found["distance"].as_u64().unwrap_or_default();
    let heading = format!("{}: distance {distance}", place + 1);
    pair(&heading, asked, &entry)
}

/// The bits in which two fingerprints differ, the lowest first.
fn differing(a: &str, b: &str) -> Vec<u32> {
    let value = |hex| u128::from_str_radix(hex, 16).unwrap_or_default();
    let bits = value(a) ^ value(b);
    (0..u128::BITS).filter(|bit| bits >> bit & 1 == 1).collect()
}

/// A word of JSON as it is shown.
fn word(value: &Value) -> String {
    match value {
        Value::String(text) => text.clone(),
        other => other.to_string(),
    }
}

/// Figures of the files, one or several.
fn parts(figures: &Value) -> Vec<&Value> {
    match figures["segments"].as_array() {
        Some(segments) => segments.iter().collect(),
        None => vec![figures],
    }
}

fn glance(generation: &Generation, figures: &Value, resident: Option<f64>) -> Html {
    let size = generation.source.size();
    let mut rows = vec![("records", grouped(size.records))];
    // Those of a store, then those of files.
    for (label, name) in [
        ("not sealed yet", "recent_count"),
        ("deleted and still in segments", "deleted_count"),
        ("segments", "segment_count"),
    ] {
        if let Some(count) = figures[name].as_u64() {
            rows.push((label, grouped(count)));
        }
    }
    if size.tables > 0 {
        rows.push(("files", parts(figures).len().to_string()));
        rows.push(("fingerprints", grouped(size.fingerprints)));
        rows.push(("tables", grouped(size.tables)));
    }
    rows.push(("bytes of files", grouped(size.bytes)));
    for (label, name) in [
        ("bits per fingerprint", "bits_per_fingerprint"),
        ("times the raw fingerprints", "ratio_to_raw"),
    ] {
        if let Some(figure) = figures[name].as_f64() {
            rows.push((label, decimal(figure, 2)));
        }
    }
    if let Some(part) = resident {
        rows.push(("in memory", format!("{:.0} %", 100.0 * part)));
    }
    rows.push(("generation", generation.source.generation()));
    rows.push(("opened", crate::log::timestamp(generation.loaded_at)));
    Table::of_figures("What answers now", &rows)
}

/// Bits per fingerprint of each table, and the bound; none without tables.
fn compression(figures: &Value) -> Option<Html> {
    let parts = parts(figures);
    let mut bars = Vec::new();
    for (number, part) in parts.iter().enumerate() {
        for (table, figures) in part["tables"].as_array().into_iter().flatten().enumerate() {
            let bits = figures["bits_per_fingerprint"].as_f64().unwrap_or_default();
            let tick = match parts.len() {
                1 => format!("{table}"),
                _ => format!("{}:{table}", number + 1),
            };
            bars.push(Bar {
                label: format!("table {tick}"),
                tick: Some(tick),
                value: bits,
                figures: vec![
                    decimal(bits, 2),
                    word(&figures["codec"]),
                    word(&figures["prefix_bits"]),
                    word(&figures["flips"]),
                ],
                ..Bar::default()
            });
        }
    }
    if bars.is_empty() {
        return None;
    }
    let bound = parts
        .iter()
        .filter_map(|part| part["bound_bits_per_fingerprint"].as_f64());
    let bound = bound.reduce(f64::max);
    let chart = BarChart {
        id: "tables",
        title: "Bits per fingerprint by table".into(),
        alternative:
            "Each bar is a table; the line is the least that uniform fingerprints can take.".into(),
        x_label: if parts.len() > 1 {
            "file:table"
        } else {
            "table"
        },
        y_label: "bits per fingerprint",
        bars,
        columns: vec!["bits per fingerprint", "codec", "prefix bits", "flips"],
        line: bound.map(|value| ReferenceLine {
            value,
            label: format!("bound {}", decimal(value, 1)),
        }),
        ..BarChart::default()
    };
    Some(chart.html())
}

/// Queries since the start by the time that they took.
fn latency(metrics: &IndexMetrics) -> Html {
    let counts = metrics.queries.counts();
    let used = |&(_, &count): &(usize, &u64)| count > 0;
    let numbered = || counts.iter().enumerate();
    let (first, last) = (numbered().find(used), numbered().rfind(used));
    let range = match (first, last) {
        (Some((first, _)), Some((last, _))) => first..last + 1,
        _ => 0..0,
    };
    let us = |bucket: usize| BOUNDS.get(bucket).map(|&us| us as f64);
    let bars = range.map(|bucket| {
        let from = bucket.checked_sub(1).and_then(us).unwrap_or(0.0);
        let (label, tick) = match us(bucket) {
            Some(to) => (format!("{}\u{2013}{}", short(from), short(to)), short(to)),
            None => (format!("> {}", short(from)), format!("> {}", short(from))),
        };
        Bar {
            label,
            // All of the label would meet the next one on a narrow screen.
            tick: Some(tick),
            value: counts[bucket] as f64,
            figures: vec![grouped(counts[bucket])],
            ..Bar::default()
        }
    });
    let bars: Vec<Bar> = bars.collect();
    let alternative = match bars.is_empty() {
        true => "No query has been answered yet.",
        false => "Each bar counts the queries since the start that took so many microseconds.",
    };
    let chart = BarChart {
        id: "latencies",
        title: "Queries by their latency".into(),
        alternative: alternative.into(),
        x_label: "microseconds, at most",
        y_label: "queries",
        bars,
        columns: vec!["queries"],
        ..BarChart::default()
    };
    chart.html()
}

/// Matches since the start by their distance.
fn distances(metrics: &IndexMetrics) -> Html {
    let bars = metrics
        .matches()
        .into_iter()
        .enumerate()
        .map(|(distance, count)| Bar {
            label: distance.to_string(),
            value: count as f64,
            figures: vec![grouped(count)],
            ..Bar::default()
        });
    let bars: Vec<Bar> = bars.collect();
    let alternative = match bars.is_empty() {
        true => "Nothing has been found yet.",
        false => "Each bar counts the matches since the start at a distance.",
    };
    let chart = BarChart {
        id: "matches-by-distance",
        title: "Matches by their distance".into(),
        alternative: alternative.into(),
        x_label: "distance",
        y_label: "matches",
        bars,
        columns: vec!["matches"],
        ..BarChart::default()
    };
    chart.html()
}
