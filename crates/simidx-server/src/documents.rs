//! Adding, looking up and deleting the records of the store.

use std::ops::ControlFlow;
use std::sync::Arc;
use std::time::Instant;

use bytes::Bytes;
use hyper::body::Incoming;
use hyper::{Method, Response, StatusCode};
use serde::Serialize;
use serde_json::{Value, json};
use simidx::Width;
use simidx_collection::Error;

use crate::answer::{self, Budget, ByteBudget, Taken, sent};
use crate::batch::Room;
use crate::body::{content_type, read, wrong_type};
use crate::problem::Problem;
use crate::request::{self, Params, What, shown};
use crate::response::{self, Content, JSON, NDJSON, of_generation, whole};
use crate::state::{App, Generation};
use crate::store::{Addition, Store};

/// Lines that are added before the disk is waited for.
const TOGETHER: usize = 1024;

impl From<Error> for Problem {
    fn from(error: Error) -> Self {
        match error {
            Error::Index(error) => error.into(),
            Error::Io(error) => simidx::Error::from(error).into(),
            Error::IdExists(_) => {
                Problem::new(StatusCode::CONFLICT, "id-exists", error.to_string())
            }
            Error::BadId(_) => Problem::bad("bad-id", error.to_string()),
            // The errors name files, which are nobody's business.
            Error::Unsealed(_) => {
                let status = StatusCode::INSUFFICIENT_STORAGE;
                let detail =
                    "too many records wait to be sealed, and sealing fails; the log says why";
                Problem::new(status, "not-sealed", detail)
            }
            Error::Journal(_) => {
                let status = StatusCode::INSUFFICIENT_STORAGE;
                let detail = "the journal failed, and the store takes no more changes until the server is started again; the \
                              log says why";
                Problem::new(status, "journal-failed", detail)
            }
            other => Problem::unanswerable("options", other.to_string()),
        }
    }
}

/// The store, and what makes fingerprints for it.
pub(crate) fn store(app: &App) -> Result<(Store, Arc<Generation>), Problem> {
    let no_store = || {
        let detail = "the server keeps no records; start it with --store";
        Problem::unanswerable("no-store", detail)
    };
    let (index, store) = app.store.as_ref().ok_or_else(no_store)?;
    Ok((store.clone(), app.indexes[*index].current()))
}

/// A record as a body or a line of it says it.
fn record(generation: &Generation, bytes: &[u8]) -> Result<(String, u128), Problem> {
    let (id, what) = request::document(generation.source.width(), bytes)?;
    let fingerprint = match what {
        What::Fingerprint(fingerprint) => fingerprint,
        What::Text(text) => match generation.fingerprint(&text)? {
            (fingerprint, true) => fingerprint,
            (_, false) => {
                let detail = "the text has no features by which it could be compared";
                return Err(Problem::unanswerable("no-features", detail));
            }
        },
    };
    Ok((id, fingerprint))
}

/// What the answers to additions may still have, and until when.
struct Bounds {
    app: Arc<App>,
    results: Budget,
    bytes: ByteBudget,
    /// Bytes of the answers so far, and what they have taken.
    len: usize,
    taken: Taken,
    is_full: bool,
    deadline: Instant,
}

impl Bounds {
    fn new(app: &Arc<App>) -> Self {
        let limits = &app.options.limits;
        Bounds {
            results: Budget::new(limits.max_results),
            bytes: ByteBudget::new(limits.max_answer),
            len: 0,
            taken: Taken::default(),
            is_full: false,
            deadline: Instant::now() + limits.timeout,
            app: app.clone(),
        }
    }

    /// Takes the bytes of a piece of JSON and a comma, if there is room for them.
    fn grow(&mut self, piece: &impl Serialize) -> bool {
        let bounds = answer::Bounds {
            app: &self.app,
            results: &self.results,
            bytes: &self.bytes,
        };
        let len = self.len + serde_json::to_vec(piece).map_or(0, |piece| piece.len() + 1);
        self.is_full |= self.taken.grow(len, &bounds).is_err();
        self.len = len;
        !self.is_full
    }

    /// Takes a match or an id, if there is room for it.
    fn take(&mut self, piece: &impl Serialize) -> bool {
        !self.is_full && self.results.take().is_ok() && self.grow(piece)
    }

    /// Bytes that give the room back when they are sent.
    fn sent(self, bytes: String) -> Bytes {
        sent(bytes.into(), self.taken.into_room().as_ref())
    }

    fn is_over(&self) -> bool {
        Instant::now() >= self.deadline
    }
}

/// What an addition answers: as many matches and ids as there is room for, and then how many records match.
fn object(
    width: Width,
    (id, fingerprint): &(String, u128),
    added: &Addition,
    bounds: &mut Bounds,
) -> Value {
    let mut object = json!({
        "id": id,
        "fingerprint": width.to_hex(*fingerprint),
        "outcome": added.outcome,
        "matches": [],
    });
    // It is answered in any case.
    bounds.grow(&object);
    let (mut matches, mut is_truncated) = (Vec::new(), false);
    for near in &added.matches {
        let mut found = json!({
            "fingerprint": width.to_hex(near.fingerprint),
            "distance": near.distance,
            "ids": [],
        });
        if !bounds.take(&found) {
            is_truncated = true;
            break;
        }
        let ids = near.ids.iter().take_while(|id| bounds.take(id));
        let ids: Vec<&String> = ids.collect();
        is_truncated |= ids.len() < near.ids.len();
        found["ids"] = json!(ids);
        matches.push(found);
    }
    object["matches"] = matches.into();
    if is_truncated {
        let counts = added.matches.iter().map(|near| near.ids.len());
        object["truncated"] = true.into();
        object["match_count"] = counts.sum::<usize>().into();
    }
    object
}

/// Why the documents of further lines are not added.
fn too_late() -> Problem {
    let detail = "the time of a request is over; send the document of this line and those after it in another one";
    Problem::new(StatusCode::SERVICE_UNAVAILABLE, "timeout", detail)
}

/// Runs what waits for the disk where it may wait. Nobody gives up waiting for a change: the answer says whether it was made.
pub(crate) async fn waiting<T: Send + 'static>(
    app: &Arc<App>,
    work: impl FnOnce() -> Result<T, Problem> + Send + 'static,
) -> Result<T, Problem> {
    let room = Room::new(app)?;
    let done = tokio::task::spawn_blocking(move || {
        // The work goes on when the client has gone.
        let _room = room;
        work()
    });
    done.await
        .map_err(|_| Problem::busy("the work broke off"))?
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
    let body = read(app, &head.headers, body).await?;
    let width = store.width();
    let mut bounds = Bounds::new(app);
    if kind == JSON {
        let answer = waiting(app, move || {
            let record = record(&generation, &body)?;
            let mut answer = None;
            store.add_each(std::slice::from_ref(&record), |added| {
                let object = object(width, &record, &added, &mut bounds);
                answer = Some((format!("{object}\n"), added.generation));
                ControlFlow::Continue(())
            })?;
            let (object, name) = answer.ok_or_else(|| Problem::busy("nothing was added"))?;
            Ok((bounds.sent(object), name))
        });
        let (object, name) = answer.await?;
        return Ok(of_generation(whole(StatusCode::OK, JSON, object), name));
    }
    let max_batch = app.options.limits.max_batch;
    let lines = waiting(app, move || {
        let mut lines = Lines::new(&store, bounds);
        let outcome = lines.read(&generation, &body, max_batch);
        let last = match outcome {
            Ok(()) => json!({"done": true, "count": lines.count}),
            Err(problem) => json!({"error": problem.to_json()}),
        };
        let none_added = || generation.source.generation();
        let name = lines.generation.unwrap_or_else(none_added);
        Ok((lines.bounds.sent(lines.out + &format!("{last}\n")), name))
    });
    let (lines, name) = lines.await?;
    Ok(of_generation(whole(StatusCode::OK, NDJSON, lines), name))
}

/// The documents of lines, and what was answered to them.
struct Lines<'s> {
    store: &'s Store,
    bounds: Bounds,
    /// What is to be added together, and the lines that say so.
    records: Vec<(String, u128)>,
    numbers: Vec<u64>,
    out: String,
    count: usize,
    /// The generation of the store after the last of them.
    generation: Option<String>,
}

impl<'s> Lines<'s> {
    fn new(store: &'s Store, bounds: Bounds) -> Self {
        Lines {
            store,
            bounds,
            records: Vec::new(),
            numbers: Vec::new(),
            out: String::new(),
            count: 0,
            generation: None,
        }
    }

    /// Adds the documents up to the first line that is none.
    ///
    /// # Errors
    /// What is wrong with the first document that is not added, or with its line.
    fn read(
        &mut self,
        generation: &Generation,
        body: &[u8],
        max_batch: usize,
    ) -> Result<(), Problem> {
        for (number, line) in request::lines(body) {
            let in_time = || match self.bounds.is_over() {
                true => Err(too_late()),
                false => Ok(()),
            };
            let read = request::check_batch(self.count + self.records.len() + 1, max_batch)
                .and_then(|()| in_time())
                .and_then(|()| record(generation, line));
            match read {
                Ok(record) => {
                    self.records.push(record);
                    self.numbers.push(number);
                }
                Err(problem) => {
                    self.add()?;
                    return Err(problem.at_line(number));
                }
            }
            if self.records.len() == TOGETHER {
                self.add()?;
            }
        }
        self.add()
    }

    /// Adds what was read, once.
    fn add(&mut self) -> Result<(), Problem> {
        let records = std::mem::take(&mut self.records);
        let numbers = std::mem::take(&mut self.numbers);
        let width = self.store.width();
        let (mut lines, mut count) = (String::new(), 0);
        let (bounds, mut generation) = (&mut self.bounds, None);
        let outcome = match records.is_empty() || bounds.is_over() {
            true => Ok(()),
            false => self.store.add_each(&records, |added| {
                lines += &format!("{}\n", object(width, &records[count], &added, bounds));
                count += 1;
                generation = Some(added.generation);
                match bounds.is_over() {
                    true => ControlFlow::Break(()),
                    false => ControlFlow::Continue(()),
                }
            }),
        };
        // What was not acknowledged has no answer.
        if !matches!(outcome, Err(Error::Journal(_))) {
            self.out += &lines;
            self.count += count;
            self.generation = generation.or(self.generation.take());
        }
        let next = numbers.get(count).or(numbers.last());
        let at_line = |problem: Problem| match next {
            Some(&number) => problem.at_line(number),
            None => problem,
        };
        match outcome {
            Err(error) => Err(at_line(error.into())),
            Ok(()) if count < records.len() => Err(at_line(too_late())),
            Ok(()) => Ok(()),
        }
    }
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
        true => match store.delete(&id)? {
            (true, name) => Ok((json!({"id": id, "deleted": true}), name)),
            (false, _) => Err(unknown(&id)),
        },
        false => {
            let (fingerprint, name) = store.get(&id)?;
            let fingerprint = fingerprint.ok_or_else(|| unknown(&id))?;
            let object = json!({"id": id, "fingerprint": store.width().to_hex(fingerprint)});
            Ok((object, name))
        }
    });
    let (object, name) = answer.await?;
    Ok(of_generation(response::json(StatusCode::OK, &object), name))
}
