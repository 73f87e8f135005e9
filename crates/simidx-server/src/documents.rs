//! Adding, looking up and deleting the records of the store.

use std::sync::Arc;

use hyper::body::Incoming;
use hyper::{Method, Response, StatusCode};
use serde::Deserialize;
use serde_json::{Value, json};
use simidx_collection::Error;

use crate::problem::Problem;
use crate::request::{self, Params, fingerprint, shown};
use crate::response::{self, Content, JSON, NDJSON, whole};
use crate::routes::{content_type, read, wrong_type};
use crate::state::{App, Generation};
use crate::store::{Addition, Store};

/// Lines that are added before the disk is waited for.
const TOGETHER: usize = 1024;

/// A document: an id, and a text or its fingerprint.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Document {
    id: String,
    text: Option<String>,
    fingerprint: Option<String>,
}

impl From<Error> for Problem {
    fn from(error: Error) -> Self {
        match error {
            Error::Index(error) => error.into(),
            Error::Io(error) => simidx::Error::from(error).into(),
            Error::IdExists(_) => {
                Problem::new(StatusCode::CONFLICT, "id-exists", error.to_string())
            }
            Error::BadId(_) => Problem::bad("bad-id", error.to_string()),
            Error::Journal(_) => {
                let status = StatusCode::INSUFFICIENT_STORAGE;
                Problem::new(status, "journal-failed", error.to_string())
            }
            other => Problem::unanswerable("options", other.to_string()),
        }
    }
}

/// The store, and what makes fingerprints for it.
fn store(app: &App) -> Result<(Store, Arc<Generation>), Problem> {
    let no_store = || {
        let detail = "the server keeps no records; start it with --store";
        Problem::unanswerable("no-store", detail)
    };
    let (index, store) = app.store.as_ref().ok_or_else(no_store)?;
    Ok((store.clone(), app.indexes[*index].current()))
}

/// A record as a body or a line of it says it.
fn record(generation: &Generation, bytes: &[u8]) -> Result<(String, u128), Problem> {
    let document: Document = serde_json::from_slice(bytes).map_err(|e| request::bad_json(&e))?;
    if !(1..=simidx::format::MAX_ID_LEN).contains(&document.id.len()) {
        return Err(Error::BadId(document.id.len()).into());
    }
    let fingerprint = match (document.fingerprint, document.text) {
        (Some(hex), None) => fingerprint(generation.source.width(), &hex)?,
        (None, Some(text)) => match generation.fingerprinter()?.fingerprint(&text) {
            (fingerprint, true) => fingerprint,
            (_, false) => {
                let detail = "the text has no features by which it could be compared";
                return Err(Problem::unanswerable("no-features", detail));
            }
        },
        _ => {
            let detail = "a document has either text or fingerprint";
            return Err(Problem::bad("bad-request", detail));
        }
    };
    Ok((document.id, fingerprint))
}

/// What an addition answers.
fn object(width: u32, (id, fingerprint): &(String, u128), added: &Addition) -> Value {
    let digits = width as usize / 4;
    let matches = added.matches.iter().map(|near| {
        json!({
            "fingerprint": format!("{:0digits$x}", near.fingerprint),
            "distance": near.distance,
            "ids": near.ids,
        })
    });
    json!({
        "id": id,
        "fingerprint": format!("{fingerprint:0digits$x}"),
        "outcome": added.outcome,
        "matches": matches.collect::<Vec<_>>(),
    })
}

/// Runs what waits for the disk where it may wait.
async fn waiting<T: Send + 'static>(
    app: &App,
    work: impl FnOnce() -> Result<T, Problem> + Send + 'static,
) -> Result<T, Problem> {
    let _room = app.waiting.try_acquire().map_err(|_| {
        let limit = app.options.limits.max_waiting;
        Problem::busy(format!("{limit} requests like this one are being answered"))
    })?;
    let done = tokio::task::spawn_blocking(work).await;
    done.map_err(|_| Problem::busy("the work broke off"))?
}

/// Checks and adds documents: one as JSON, or a line for each.
pub(crate) async fn add(
    app: &Arc<App>,
    head: &hyper::http::request::Parts,
    body: Incoming,
) -> Result<Response<Content>, Problem> {
    Params::parse(head.uri.query(), &[])?;
    let kind = content_type(&head.headers);
    if ![JSON, NDJSON].contains(&&*kind) {
        return Err(wrong_type(&kind, &[JSON, NDJSON].join(", ")));
    }
    let (store, generation) = store(app)?;
    let body = read(app, body).await?;
    let width = store.width();
    if kind == JSON {
        let answer = waiting(app, move || {
            let record = record(&generation, &body)?;
            let mut added = store.add_many(std::slice::from_ref(&record))?;
            let added = added
                .pop()
                .ok_or_else(|| Problem::busy("nothing was added"))?;
            Ok(object(width, &record, &added))
        });
        return Ok(response::json(StatusCode::OK, &answer.await?));
    }
    let max_batch = app.options.limits.max_batch;
    let lines = waiting(app, move || {
        Ok(add_lines(&store, &generation, &body, max_batch))
    });
    Ok(whole(StatusCode::OK, NDJSON, lines.await?))
}

/// Adds the documents of lines up to the first that is none; a line for each, and a last one that says what came of it.
fn add_lines(store: &Store, generation: &Generation, body: &[u8], max_batch: usize) -> String {
    let (mut out, mut count, mut trouble) = (String::new(), 0, None);
    let mut records = Vec::new();
    let mut add = |records: &mut Vec<(String, u128)>, count: &mut usize| -> Result<(), Problem> {
        for (record, added) in records.iter().zip(store.add_many(records)?) {
            out += &format!("{}\n", object(store.width(), record, &added));
            *count += 1;
        }
        records.clear();
        Ok(())
    };
    for (number, line) in request::lines(body) {
        let read = request::check_batch(count + records.len() + 1, max_batch)
            .and_then(|()| record(generation, line));
        let added = match read {
            Ok(record) => {
                records.push(record);
                match records.len() < TOGETHER {
                    true => Ok(()),
                    false => add(&mut records, &mut count),
                }
            }
            Err(problem) => Err(problem.at_line(number)),
        };
        if let Err(problem) = added {
            trouble = Some(problem);
            break;
        }
    }
    let added = add(&mut records, &mut count);
    let last = match trouble.or(added.err()) {
        None => json!({"done": true, "count": count}),
        Some(problem) => json!({"error": problem.to_json()}),
    };
    out + &format!("{last}\n")
}

/// Looks a record up or deletes it.
pub(crate) async fn one(
    app: &Arc<App>,
    head: &hyper::http::request::Parts,
    id: &str,
) -> Result<Response<Content>, Problem> {
    Params::parse(head.uri.query(), &[])?;
    let id = request::decode(id, false)?.into_owned();
    let (store, _) = store(app)?;
    let unknown =
        |id: &str| Problem::not_found("unknown-id", format!("no record has the id {}", shown(id)));
    let is_deletion = head.method == Method::DELETE;
    let answer = waiting(app, move || match is_deletion {
        true if store.delete(&id)? => Ok(json!({"id": id, "deleted": true})),
        true => Err(unknown(&id)),
        false => {
            let fingerprint = store.get(&id)?.ok_or_else(|| unknown(&id))?;
            let digits = store.width() as usize / 4;
            Ok(json!({"id": id, "fingerprint": format!("{fingerprint:0digits$x}")}))
        }
    });
    Ok(response::json(StatusCode::OK, &answer.await?))
}
