//! Handlers of queries: of one fingerprint, id or text, and of batches in three forms.

use std::sync::Arc;

use bytes::Bytes;
use hyper::{Response, StatusCode};
use simidx::format::MAX_ID_LEN;
use simidx::set::Question;
use simidx::{IdBuf, IdKind};

use crate::answer::{Answered, Asked, Form};
use crate::batch::{Batch, on_pool};
use crate::call::{Answer, Call};
use crate::problem::Problem;
use crate::request::{self, Params, What, shown};
use crate::response::{self, BINARY, Content, JSON, NDJSON, of_generation, whole};
use crate::source::Source;
use crate::state::App;

/// Largest number of times that an id is looked up again because its record changed before the search.
const ID_TRIES: usize = 64;

/// The parameters of a search.
const SEARCH: [&str; 4] = ["k", "limit", "nearest", "index"];

/// Returns the options of a search.
///
/// # Errors
/// A distance that is too large.
pub(crate) fn question(app: &App, source: &Source, params: &Params) -> Result<Question, Problem> {
    let largest = app.max_distance(source);
    let nearest = params.nearest.is_some();
    let distance = params.k.unwrap_or_else(|| match nearest {
        true => largest,
        false => app.default_distance(source),
    });
    if distance > largest {
        let (width, made_for) = (source.width(), source.max_distance());
        let detail = match distance > width.bits() {
            true => format!("k={distance} is more than the {width} bits of a fingerprint"),
            false => format!(
                "k={distance} is more than this server permits, {largest}; the tables were made for {made_for}, and each \
                 further bit costs several times as many probes"
            ),
        };
        return Err(Problem::unanswerable("distance-too-large", detail));
    }
    Ok(match params.nearest.or(params.limit) {
        None => Question::Within(distance),
        Some(count) => Question::Nearest {
            count,
            max_distance: distance,
        },
    })
}

/// Answers with the records within a distance of a fingerprint.
pub(crate) async fn within(call: Call) -> Answer {
    let params = call.params(&SEARCH)?;
    near(&call.app, call.parameter(), &params).await
}

/// Answers with the records that are nearest to a fingerprint.
pub(crate) async fn nearest(call: Call) -> Answer {
    let mut params = call.params(&["k", "count", "index"])?;
    params.nearest.get_or_insert(1);
    near(&call.app, call.parameter(), &params).await
}

async fn near(app: &Arc<App>, hex: &str, params: &Params) -> Answer {
    let generation = app.index(params.index.as_deref())?.current();
    let hex = request::decode(hex, false)?;
    let what = What::Fingerprint(request::fingerprint(generation.source.width(), &hex)?);
    let asked = Asked::new(what, question(app, &generation.source, params)?);
    let batch = Batch::new(app, &generation, [asked], Form::Lines);
    object(batch).await
}

/// Answers one query with an object.
async fn object(batch: Batch) -> Answer {
    let (mut answered, name) = batch.whole().await?;
    let [object, ..] = answered.pop().unwrap_or_default().into_parts();
    Ok(of_generation(whole(StatusCode::OK, JSON, object), name))
}

/// Answers with the records near the records of an id.
pub(crate) async fn of_id(call: Call) -> Answer {
    let (app, params) = (&call.app, call.params(&SEARCH)?);
    let generation = app.index(params.index.as_deref())?.current();
    let word = request::decode(call.parameter(), false)?;
    let id = record_id(generation.source.id_kind(), &word)?;
    let question = question(app, &generation.source, &params)?;
    for _ in 0..ID_TRIES {
        let (asked, from) = (id.clone(), generation.clone());
        // Without a table of ids, this reads all of them.
        let look_up = move || Ok(from.source.fingerprints_of_id(asked.as_id())?);
        let fingerprints = on_pool(app, look_up).await?;
        if fingerprints.is_empty() {
            let detail = format!("no record has the id {}", shown(&word));
            return Err(Problem::not_found("unknown-id", detail));
        }
        let query_count = fingerprints.len();
        let asked = fingerprints.into_iter().map(|fingerprint| Asked {
            id: Some(id.clone()),
            ..Asked::new(What::Fingerprint(fingerprint), question)
        });
        let batch = Batch::new(app, &generation, asked, Form::Objects);
        let (answered, name) = batch.whole().await?;
        // A record is nearest to itself. If the answer lacks it, the record has changed since the look-up.
        if answered.iter().map(|a| a.own_id_count).sum::<usize>() == query_count {
            return Ok(of_generation(results(answered), name));
        }
    }
    Err(Problem::busy(
        "the record changes faster than it can be looked up",
    ))
}

/// Parses an id in an address.
///
/// # Errors
/// The word is not an id of this kind.
pub(crate) fn record_id(kind: IdKind, word: &str) -> Result<IdBuf, Problem> {
    match kind {
        IdKind::None => {
            let detail = "the index has no ids; build it with --ids to look records up";
            Err(Problem::unanswerable("no-ids", detail))
        }
        IdKind::Number => match word.parse() {
            Ok(number) => Ok(IdBuf::Number(number)),
            Err(_) => {
                let detail = format!(
                    "{} is not an id: those of the index are numbers below 2^64",
                    shown(word)
                );
                Err(Problem::bad("bad-id", detail))
            }
        },
        IdKind::String if word.len() > MAX_ID_LEN => {
            let detail = format!("an id has at most {MAX_ID_LEN} bytes");
            Err(Problem::bad("bad-id", detail))
        }
        IdKind::String => Ok(IdBuf::String(word.into())),
    }
}

/// Returns the JSON object of a batch, in several parts.
fn results(answered: Vec<Answered>) -> Response<Content> {
    let mut all = vec![Bytes::from_static(b"{\"results\":[")];
    for part in answered {
        if all.len() > 1 {
            all.push(Bytes::from_static(b","));
        }
        let [objects, ..] = part.into_parts();
        all.push(objects);
    }
    all.push(Bytes::from_static(b"]}\n"));
    response::parts(JSON, all)
}

/// Answers a batch in one of three forms.
pub(crate) async fn batch(mut call: Call) -> Answer {
    let params = call.params(&SEARCH)?;
    let kind = call.kind(&[JSON, NDJSON, BINARY])?;
    // An unknown index is refused before the body is read.
    call.app.index(params.index.as_deref())?;
    let (body, permit) = call.read().await?;
    let app = &call.app;
    let generation = app.index(params.index.as_deref())?.current();
    let (source, max_batch) = (&generation.source, app.options.limits.max_batch);
    let (response, name) = match kind {
        BINARY => {
            let question = question(app, source, &params)?;
            let words = request::words(source.width(), &body, max_batch)?;
            drop(body);
            let count = Bytes::copy_from_slice(&(words.len() as u32).to_le_bytes());
            let asked = words.into_iter().map(What::Fingerprint);
            let asked = asked.map(|what| Asked::new(what, question));
            let batch = Batch::new(app, &generation, asked, Form::Columns);
            let (answered, name) = batch.keeping(permit)?.whole().await?;
            let parts: Vec<_> = answered.into_iter().map(Answered::into_parts).collect();
            // The counts of all queries, then the fingerprints, then the distances.
            let columns = [1, 0, 2].into_iter();
            let columns = columns.flat_map(|column| parts.iter().map(move |p| p[column].clone()));
            (
                response::parts(BINARY, [count].into_iter().chain(columns)),
                name,
            )
        }
        JSON => {
            let (queries, own) = request::batch(source.width(), &body, max_batch)?;
            drop(body);
            let question = question(app, source, &either(params, own)?)?;
            let asked = queries.into_iter().map(|what| Asked::new(what, question));
            let batch = Batch::new(app, &generation, asked, Form::Objects);
            let (answered, name) = batch.keeping(permit)?.whole().await?;
            (results(answered), name)
        }
        _ => {
            let (asked, trouble) = lines(app, source, &params, &body);
            drop(body);
            if let (true, Some(trouble)) = (asked.is_empty(), &trouble) {
                return Err(trouble.clone());
            }
            let batch = Batch::new(app, &generation, asked, Form::Lines);
            let (pieces, name) = batch.keeping(permit)?.lines(trouble).await?;
            (response::pieces(NDJSON, pieces), name)
        }
    };
    Ok(of_generation(response, name))
}

/// Combines the search parameters of the address and the body.
///
/// # Errors
/// Both have the same parameter.
fn either(address: Params, body: Params) -> Result<Params, Problem> {
    let nearest = |p: &Params| p.nearest.or(p.limit).is_some();
    if address.k.is_some() && body.k.is_some() || nearest(&address) && nearest(&body) {
        let detail = "k and limit are either in the address or in the body";
        return Err(Problem::bad("bad-parameter", detail));
    }
    Ok(Params {
        k: address.k.or(body.k),
        limit: address.limit.or(body.limit),
        nearest: address.nearest.or(body.nearest),
        ..address
    })
}

/// Parses the queries in the lines of a body, up to the first invalid line, and returns its problem.
fn lines(
    app: &App,
    source: &Source,
    params: &Params,
    body: &[u8],
) -> (Vec<Asked>, Option<Problem>) {
    let max_batch = app.options.limits.max_batch;
    let mut all = Vec::new();
    for (number, line) in request::lines(body) {
        let asked = request::check_batch(all.len() + 1, max_batch).and_then(|()| {
            let (query, line) = request::line(source.width(), line)?;
            let mut own = params.clone();
            own.k = line.k.or(own.k);
            if line.limit.is_some() {
                (own.limit, own.nearest) = (line.limit, None);
            }
            Ok(Asked::new(query, question(app, source, &own)?))
        });
        match asked {
            Ok(asked) => all.push(asked),
            Err(problem) => return (all, Some(problem.at_line(number))),
        }
    }
    (all, None)
}

/// Answers with the records near a text.
pub(crate) async fn text(mut call: Call) -> Answer {
    let params = call.params(&SEARCH)?;
    let kind = call.kind(&["", "text/plain", "text/html", JSON])?;
    call.app.index(params.index.as_deref())?;
    let (body, permit) = call.read().await?;
    let app = &call.app;
    let generation = app.index(params.index.as_deref())?.current();
    generation.fingerprinter()?;
    let (text, own) = request::text(&body, kind == JSON)?;
    let text = text.into_owned();
    drop(body);
    let question = question(app, &generation.source, &either(params, own)?)?;
    let asked = Asked::new(What::Text(text), question);
    let batch = Batch::new(app, &generation, [asked], Form::Lines);
    object(batch.keeping(permit)?).await
}
