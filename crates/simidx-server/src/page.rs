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
use crate::batch::{Batch, aside};
use crate::metrics::{BOUNDS, IndexMetrics};
use crate::problem::Problem;
use crate::queries::{current, record_id, search};
use crate::request::{self, Params, What};
use crate::response::{Content, of_generation, whole};
use crate::state::{App, Generation};

/// Matches that are shown.
const SHOWN: usize = 20;

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
    let first = app.indexes.first().map(|index| &*index.name);
    let name = match app.index(params.index.as_deref()) {
        Ok(index) => Some(&*index.name),
        Err(problem) if params.index.is_some() => return Err(problem),
        Err(_) => first,
    };
    let (number, generation) = current(app, name)?;
    let served = &app.indexes[number];
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
        let found = match found(app, number, &generation, q, &params).await {
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
    let (figures, resident) = aside(app, figures).await?;
    document.section(
        "figures",
        "At a glance",
        &glance(&generation, &figures, resident),
    );
    document.section("compression", "Compression", &compression(&figures));
    document.section("latency", "Latency", &latency(&served.metrics));
    document.section("distances", "Distances", &distances(&served.metrics));
    let policy = document.policy();
    let mut body = Vec::new();
    document.write(&mut body).map_err(simidx::Error::from)?;
    let mut response = whole(StatusCode::OK, "text/html; charset=utf-8", body);
    let headers = response.headers_mut();
    headers.insert(CONTENT_SECURITY_POLICY, HeaderValue::from_static(policy));
    headers.insert(REFERRER_POLICY, HeaderValue::from_static("no-referrer"));
    Ok(of_generation(response, generation.source.generation()))
}

/// The form, filled as it was sent.
fn form(app: &App, params: &Params, index: &str, generation: &Generation) -> Html {
    let mut html = Html::new();
    html.open(
        "form",
        &[("method", "get"), ("action", "/"), ("role", "search")],
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
        ("maxlength", "6000"),
    ];
    html.open("textarea", &name);
    html.prose(params.q.as_deref().unwrap_or_default());
    html.markup("</textarea></label><div class=\"row\">");
    html.markup("<label for=\"k\">Largest distance");
    let largest = app.max_distance(&*generation.source).to_string();
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
    let source = &*generation.source;
    let word = q.trim();
    let digits = word.strip_prefix("0x").unwrap_or(word);
    let is_whole = digits.len() == source.width() as usize / 4;
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
    number: usize,
    generation: &Arc<Generation>,
    q: &str,
    params: &Params,
) -> Result<Html, Problem> {
    let (asked, sought) = (generation.clone(), q.to_owned());
    let (queries, id) = aside(app, move || meant(&asked, &sought)).await?;
    let mut nearest = params.clone();
    nearest.limit = Some(SHOWN + 1);
    let search = search(app, &*generation.source, &nearest)?;
    let text = match (&queries[..], &id) {
        ([What::Text(text)], _) => Some(text.clone()),
        (_, Some(id)) => app.options.texts.get(&id.to_string()).cloned(),
        _ => None,
    };
    let asked = queries.into_iter().map(|what| Asked {
        what,
        id: None,
        search,
    });
    let batch = Batch::new(
        app,
        number,
        generation.clone(),
        asked.collect(),
        Form::Lines,
    );
    let lines = batch.whole().await?.bytes.concat();
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
        let distance = search.distance;
        html.paragraph(
            match (matches.len(), answer["without_features"].as_bool()) {
                (_, Some(true)) => {
                    "Nothing in this text says what it is like, so nothing is near it.".to_owned()
                }
                (0, _) => format!("Nothing is within {}.", plural(distance.into(), "bit")),
                (count, _) if count > SHOWN => format!("The {SHOWN} nearest of more matches."),
                (count, _) => format!(
                    "{} within {}.",
                    matches_of(count),
                    plural(distance.into(), "bit")
                ),
            },
        );
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
    let number = |name: &str| figures[name].as_f64().unwrap_or_default();
    let rows = [
        ("files", parts(figures).len().to_string()),
        ("records", grouped(size.records)),
        ("fingerprints", grouped(size.fingerprints)),
        ("tables", grouped(size.tables)),
        ("bytes", grouped(size.bytes)),
        (
            "bits per fingerprint",
            decimal(number("bits_per_fingerprint"), 2),
        ),
        (
            "times the raw fingerprints",
            decimal(number("ratio_to_raw"), 2),
        ),
        (
            "in memory",
            resident.map_or("unknown".to_owned(), |part| {
                format!("{:.0} %", 100.0 * part)
            }),
        ),
        ("generation", generation.source.generation()),
        ("opened", crate::log::timestamp(generation.loaded_at)),
    ];
    Table::of_figures("What answers now", &rows)
}

/// Bits per fingerprint of each table, and the bound.
fn compression(figures: &Value) -> Html {
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
    chart.html()
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
    let us = |bucket: usize| BOUNDS.get(bucket).map(|&ns| ns as f64 / 1e3);
    let bars = range.map(|bucket| {
        let from = bucket.checked_sub(1).and_then(us).unwrap_or(0.0);
        let label = match us(bucket) {
            Some(to) => format!("{}\u{2013}{}", short(from), short(to)),
            None => format!("> {}", short(from)),
        };
        Bar {
            label,
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
        x_label: "microseconds",
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
