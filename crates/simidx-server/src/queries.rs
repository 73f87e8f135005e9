//! What queries are answered: one, those of an id, of a text, and batches in three forms.

use std::sync::Arc;

use bytes::Bytes;
use hyper::body::Incoming;
use hyper::{Response, StatusCode};
use simidx::format::MAX_ID_LEN;
use simidx::set::Question;
use simidx::{IdBuf, IdKind};

use crate::answer::{Asked, Form};
use crate::batch::{Batch, aside};
use crate::body::{content_type, read, wrong_type};
use crate::problem::Problem;
use crate::request::{self, Params, What, shown};
use crate::response::{self, BINARY, Content, JSON, NDJSON, of_generation, whole};
use crate::source::Source;
use crate::state::{App, Generation, Served};

/// The number of an index, and the generation of it that answers a request.
pub(crate) fn current(app: &App, name: Option<&str>) -> Result<(usize, Arc<Generation>), Problem> {
    let served: &Served = app.index(name)?;
    let number = app
        .indexes
        .iter()
        .position(|index| std::ptr::eq(index, served));
    Ok((number.unwrap_or_default(), served.current()))
}

/// How often an id is looked up at the most, if its very record changes each time before it is searched for.
const ID_TRIES: usize = 64;

/// Adds the generation that an answer is from: that of the answer itself if it says so, as those of stores do, else that of
/// the files.
fn named(
    response: Response<Content>,
    answered: Option<String>,
    generation: &Generation,
) -> Response<Content> {
    match answered {
        Some(name) => of_generation(response, name),
        // Only files are asked, since a store may have to wait for that.
        None => match generation.name() {
            Some(name) => of_generation(response, name.clone()),
            None => response,
        },
    }
}

/// What a request asks for.
///
/// # Errors
/// A distance that is too large.
pub(crate) fn question(
    app: &App,
    source: &dyn Source,
    params: &Params,
) -> Result<Question, Problem> {
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

pub(crate) async fn one(
    app: &Arc<App>,
    hex: &str,
    params: Params,
) -> Result<Response<Content>, Problem> {
    let (index, generation) = current(app, params.index.as_deref())?;
    let fingerprint = request::fingerprint(generation.source.width(), hex)?;
    let asked = Asked {
        what: What::Fingerprint(fingerprint),
        id: None,
        question: question(app, &*generation.source, &params)?,
    };
    let batch = Batch::new(app, index, generation, vec![asked], Form::Lines);
    object(batch).await
}

/// The answer to one query, as an object.
async fn object(batch: Batch) -> Result<Response<Content>, Problem> {
    let source = batch.generation.clone();
    let mut answered = batch.whole().await?;
    let object = answered.bytes.pop().unwrap_or_default();
    let response = whole(StatusCode::OK, JSON, object);
    Ok(named(response, answered.generation, &source))
}

/// What is near the records that have an id.
pub(crate) async fn of_id(
    app: &Arc<App>,
    id: &str,
    query: Option<&str>,
) -> Result<Response<Content>, Problem> {
    let params = Params::parse(query, &["k", "limit", "nearest", "index"])?;
    let (index, generation) = current(app, params.index.as_deref())?;
    let word = request::decode(id, false)?;
    let id = record_id(generation.source.id_kind(), &word)?;
    let question = question(app, &*generation.source, &params)?;
    for _ in 0..ID_TRIES {
        let (asked, source) = (id.clone(), generation.clone());
        // Without a table of ids all of them are gone through.
        let look_up = move || Ok(source.source.fingerprints_of_id(asked.as_id())?);
        let fingerprints = aside(app, look_up).await?;
        if fingerprints.is_empty() {
            let detail = format!("no record has the id {}", shown(&word));
            return Err(Problem::not_found("unknown-id", detail));
        }
        let asked = fingerprints.into_iter().map(|fingerprint| Asked {
            what: What::Fingerprint(fingerprint),
            id: Some(id.clone()),
            question,
        });
        let batch = Batch::new(
            app,
            index,
            generation.clone(),
            asked.collect(),
            Form::Objects,
        );
        let query_count = batch.queries.len();
        let answered = batch.whole().await?;
        // The record is the nearest to itself. If it is not there, it has changed since it was looked up.
        if answered.own_id_count == query_count {
            let response = results(answered.bytes);
            return Ok(named(response, answered.generation, &generation));
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
fn results(objects: Vec<Bytes>) -> Response<Content> {
    let mut all = vec![Bytes::from_static(b"{\"results\":[")];
    for part in objects {
        if all.len() > 1 {
            all.push(Bytes::from_static(b","));
        }
        all.push(part);
    }
    all.push(Bytes::from_static(b"]}\n"));
    response::parts(JSON, all)
}

/// A batch in one of three forms.
pub(crate) async fn batch(
    app: &Arc<App>,
    head: &hyper::http::request::Parts,
    body: Incoming,
) -> Result<Response<Content>, Problem> {
    let params = Params::parse(head.uri.query(), &["k", "limit", "nearest", "index"])?;
    let kind = content_type(&head.headers);
    if ![JSON, NDJSON, BINARY].contains(&&*kind) {
        return Err(wrong_type(&kind, &[JSON, NDJSON, BINARY].join(", ")));
    }
    // An index that is not there is no reason to read a body.
    app.index(params.index.as_deref())?;
    let body = read(app, &head.headers, body).await?;
    let (index, generation) = current(app, params.index.as_deref())?;
    let source = generation.clone();
    let width = generation.source.width();
    let max_batch = app.options.limits.max_batch;
    let (response, answered_from) = match &*kind {
        BINARY => {
            let question = question(app, &*generation.source, &params)?;
            let words = request::words(width, &body, max_batch)?.into_iter();
            let count = words.len() as u32;
            let asked = words.map(|word| Asked {
                what: What::Fingerprint(word),
                id: None,
                question,
            });
            let batch = Batch::new(app, index, generation, asked.collect(), Form::Columns);
            let columns = batch.keeping(body.into_room()).whole().await?;
            let count = Bytes::copy_from_slice(&count.to_le_bytes());
            let parts = [
                vec![count],
                columns.counts,
                columns.bytes,
                columns.distances,
            ];
            let response = response::parts(BINARY, parts.into_iter().flatten());
            (response, columns.generation)
        }
        JSON => {
            let batch = request::batch(width, &body, max_batch)?;
            let question = question(app, &*generation.source, &either(params, batch.params)?)?;
            let asked = batch.queries.into_iter().map(|what| Asked {
                what,
                id: None,
                question,
            });
            let batch = Batch::new(app, index, generation, asked.collect(), Form::Objects);
            let answered = batch.keeping(body.into_room()).whole().await?;
            let response = results(answered.bytes);
            (response, answered.generation)
        }
        _ => {
            let (asked, trouble) = lines(app, &generation, &params, &body);
            if let (true, Some(trouble)) = (asked.is_empty(), &trouble) {
                return Err(trouble.clone());
            }
            let batch = Batch::new(app, index, generation, asked, Form::Lines);
            // The queries are as long as the body.
            let batch = batch.keeping(body.into_room());
            let (pieces, answered_from) = batch.lines(trouble).await?;
            (response::pieces(NDJSON, pieces), answered_from)
        }
    };
    Ok(named(response, answered_from, &source))
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
    generation: &Generation,
    params: &Params,
    body: &[u8],
) -> (Vec<Asked>, Option<Problem>) {
    let (source, max_batch) = (&*generation.source, app.options.limits.max_batch);
    let mut all = Vec::new();
    for (number, line) in request::lines(body) {
        let asked = request::check_batch(all.len() + 1, max_batch).and_then(|()| {
            let line = request::line(source.width(), line)?;
            let mut own = params.clone();
            own.k = line.k.or(own.k);
            if line.limit.is_some() {
                (own.limit, own.nearest) = (line.limit, None);
            }
            Ok(Asked {
                what: line.query,
                id: None,
                question: question(app, source, &own)?,
            })
        });
        match asked {
            Ok(asked) => all.push(asked),
            Err(problem) => return (all, Some(problem.at_line(number))),
        }
    }
    (all, None)
}

/// What is near a text.
pub(crate) async fn text(
    app: &Arc<App>,
    head: &hyper::http::request::Parts,
    body: Incoming,
) -> Result<Response<Content>, Problem> {
    const KINDS: [&str; 4] = ["", "text/plain", "text/html", JSON];
    let params = Params::parse(head.uri.query(), &["k", "limit", "nearest", "index"])?;
    let kind = content_type(&head.headers);
    if !KINDS.contains(&&*kind) {
        return Err(wrong_type(&kind, &KINDS[1..].join(", ")));
    }
    app.index(params.index.as_deref())?;
    let body = read(app, &head.headers, body).await?;
    let (index, generation) = current(app, params.index.as_deref())?;
    generation.fingerprinter()?;
    let (text, own) = request::text(&body, kind == JSON)?;
    let asked = Asked {
        what: What::Text(text.into_owned()),
        id: None,
        question: question(app, &*generation.source, &either(params, own)?)?,
    };
    let batch = Batch::new(app, index, generation, vec![asked], Form::Lines);
    object(batch.keeping(body.into_room())).await
}
