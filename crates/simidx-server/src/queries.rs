//! What queries are answered: one, those of an id, of a text, and batches in three forms.

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

/// How often an id is looked up at the most, if its very record changes each time before it is searched for.
const ID_TRIES: usize = 64;

/// The parameters of a search.
const SEARCH: [&str; 4] = ["k", "limit", "nearest", "index"];

/// What a request asks for.
///
/// # Errors
/// A distance that is too large.
pub(crate) fn question(app: &App, source: &Source, params: &Params) -> Result<Question, Problem> {
    let largest = app.max_distance(source);
    let nearest = params.nearest.is_some();
    let by_default = if nearest {
        largest
    } else {
        source.max_distance()
    };
    let distance = params.k.unwrap_or(by_default.min(largest));
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

/// What is within a distance of a fingerprint.
pub(crate) async fn within(call: Call) -> Answer {
    let params = call.params(&SEARCH)?;
    near(&call.app, call.parameter(), &params).await
}

/// What is nearest to a fingerprint.
pub(crate) async fn nearest(call: Call) -> Answer {
    let mut params = call.params(&["k", "count", "index"])?;
    params.nearest.get_or_insert(1);
    near(&call.app, call.parameter(), &params).await
}

async fn near(app: &Arc<App>, hex: &str, params: &Params) -> Answer {
    let generation = app.index(params.index.as_deref())?.current();
    let what = What::Fingerprint(request::fingerprint(generation.source.width(), hex)?);
    let asked = Asked::new(what, question(app, &generation.source, params)?);
    let batch = Batch::new(app, &generation, [asked], Form::Lines);
    object(batch).await
}

/// The answer to one query, as an object.
async fn object(batch: Batch) -> Answer {
    let (mut answered, name) = batch.whole().await?;
    let [object, ..] = answered.pop().unwrap_or_default().into_parts();
    Ok(of_generation(whole(StatusCode::OK, JSON, object), name))
}

/// What is near the records that have an id.
pub(crate) async fn of_id(call: Call) -> Answer {
    let (app, params) = (&call.app, call.params(&SEARCH)?);
    let generation = app.index(params.index.as_deref())?.current();
    let word = request::decode(call.parameter(), false)?;
    let id = record_id(generation.source.id_kind(), &word)?;
    let question = question(app, &generation.source, &params)?;
    for _ in 0..ID_TRIES {
        let (asked, from) = (id.clone(), generation.clone());
        // Without a table of ids all of them are gone through.
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
        // The record is the nearest to itself. If it is not there, it has changed since it was looked up.
        if answered.iter().map(|a| a.own_id_count).sum::<usize>() == query_count {
            return Ok(of_generation(results(answered), name));
        }
    }
    Err(Problem::busy(
        "the record changes faster than it can be looked up",
    ))
}

/// The id that a word of an address is.
///
/// # Errors
/// It can be none of this kind.
pub(crate) fn record_id(kind: IdKind, word: &str) -> Result<IdBuf, Problem> {
    match kind {
        IdKind::None => {
            let detail = "the index has no ids; build it with --ids to look records up";
            Err(Problem::unanswerable("no-ids", detail))
        }
        IdKind::Number => match word.parse() {
            Ok(number) => Ok(IdBuf::Number(number)),
            Err(_) => {
                let detail = format!("{} is no number below 2^64, as ids are here", shown(word));
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

/// Objects between commas, in several parts, as the object that a batch answers.
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

/// A batch in one of three forms.
pub(crate) async fn batch(mut call: Call) -> Answer {
    let params = call.params(&SEARCH)?;
    let kind = call.kind(&[JSON, NDJSON, BINARY])?;
    // An index that is not there is no reason to read a body.
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
            let (answered, name) = batch.keeping(permit).whole().await?;
            let parts: Vec<_> = answered.into_iter().map(Answered::into_parts).collect();
            // Counts, fingerprints and distances, each of all queries.
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
            let (answered, name) = batch.keeping(permit).whole().await?;
            (results(answered), name)
        }
        _ => {
            let (asked, trouble) = lines(app, source, &params, &body);
            drop(body);
            if let (true, Some(trouble)) = (asked.is_empty(), &trouble) {
                return Err(trouble.clone());
            }
            let batch = Batch::new(app, &generation, asked, Form::Lines);
            // The queries are as long as the body.
            let (pieces, name) = batch.keeping(permit).lines(trouble).await?;
            (response::pieces(NDJSON, pieces), name)
        }
    };
    Ok(of_generation(response, name))
}

/// What the address says of a search and what the body says of it.
///
/// # Errors
/// They speak of the same.
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

/// The queries of a body of lines up to the first that is none, and what is wrong with that.
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

/// What is near a text.
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
    object(batch.keeping(permit)).await
}
