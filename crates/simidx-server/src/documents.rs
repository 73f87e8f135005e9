//! Adding, looking up and deleting the records of the store.

use std::ops::ControlFlow;
use std::sync::Arc;
use std::time::Instant;

use bytes::Bytes;
use hyper::{Method, StatusCode};
use serde::Serialize;
use serde_json::{Value, json};
use simidx::Width;
use simidx_collection::{Added, Collection, Error, Outcome};

use crate::answer::{Budget, Taken};
use crate::call::{Answer, Call};
use crate::problem::Problem;
use crate::request::{self, What, shown};
use crate::response::{self, JSON, NDJSON, of_generation, whole};
use crate::source::name_of;
use crate::state::{App, Generation};

/// Largest number of lines that are added before the disk is synchronised.
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
            // The messages name files, which clients should not see.
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

/// Returns the store, and the generation that fingerprints texts for it.
pub(crate) fn store(app: &App) -> Result<(Arc<Collection>, Arc<Generation>), Problem> {
    // The store is the last index.
    match (&app.options.store, app.indexes.last()) {
        (Some(store), Some(index)) => Ok((store.clone(), index.current())),
        _ => {
            let detail = "the server keeps no records; start it with --store";
            Err(Problem::unanswerable("no-store", detail))
        }
    }
}

/// Returns the id and the fingerprint of a record, from a body or a line of it.
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

/// The remaining limits of the answers to additions, and their deadline.
struct Allowance {
    budget: Budget,
    /// Length of the answers so far, and the memory reserved for them.
    len: usize,
    taken: Taken,
    is_full: bool,
    /// A single addition has no deadline.
    deadline: Option<Instant>,
}

impl Allowance {
    fn new(app: &Arc<App>, is_alone: bool) -> Self {
        let timeout = app.options.limits.timeout;
        Allowance {
            budget: Budget::new(app, true),
            len: 0,
            taken: Taken::default(),
            is_full: false,
            deadline: (!is_alone).then(|| Instant::now() + timeout),
        }
    }

    /// Reserves memory for a JSON value and a comma, if it is within the limit.
    fn grow(&mut self, piece: &impl Serialize) -> bool {
        self.len += serde_json::to_vec(piece).map_or(0, |piece| piece.len() + 1);
        self.is_full |= self.taken.grow(self.len, &self.budget).is_err();
        !self.is_full
    }

    /// Takes a match or an id, if it is within the limit.
    fn take(&mut self, piece: &impl Serialize) -> bool {
        !self.is_full && self.budget.take_result().is_ok() && self.grow(piece)
    }

    /// Returns the answers as they are sent.
    fn sent(self, answers: String) -> Bytes {
        let [bytes] = self.taken.sent([answers.into()]);
        bytes
    }

    fn is_over(&self) -> bool {
        self.deadline.is_some_and(|end| Instant::now() >= end)
    }
}

/// Returns the answer to an addition: the matches and ids within the limits, then the number of all matches.
fn object(
    width: Width,
    (id, fingerprint): &(String, u128),
    added: &Added,
    allowance: &mut Allowance,
) -> Value {
    let mut object = json!({
        "id": id,
        "fingerprint": width.to_hex(*fingerprint),
        "outcome": match added.outcome {
            Outcome::New => "new",
            Outcome::Unchanged => "unchanged",
            Outcome::Replaced(_) => "replaced",
        },
        "matches": [],
    });
    // The addition is answered even beyond the limit.
    allowance.grow(&object);
    let (mut matches, mut is_truncated) = (Vec::new(), false);
    for near in &added.matches {
        let mut found = json!({
            "fingerprint": width.to_hex(near.fingerprint),
            "distance": near.distance,
            "ids": [],
        });
        if !allowance.take(&found) {
            is_truncated = true;
            break;
        }
        let ids = near.ids.iter().take_while(|id| allowance.take(id));
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

/// The reason why the documents of further lines are not added.
fn too_late() -> Problem {
    let detail =
        "the request timed out at this line; send its document and the rest in another request";
    Problem::new(StatusCode::SERVICE_UNAVAILABLE, "timeout", detail)
}

/// Runs work that waits for the disk on a blocking thread. Once begun, it has no timeout, because the answer reports
/// whether the change was made.
pub(crate) async fn on_disk<T: Send + 'static>(
    app: &App,
    work: impl FnOnce() -> Result<T, Problem> + Send + 'static,
) -> Result<T, Problem> {
    let deadline = Instant::now() + app.options.limits.timeout;
    let permit = app.turn_by(deadline).await?;
    let done = tokio::task::spawn_blocking(move || {
        // The work continues after the client has disconnected.
        let _permit = permit;
        work()
    });
    done.await
        .map_err(|_| Problem::busy("the work broke off"))?
}

/// Checks and adds documents: one as JSON, or one for each line.
pub(crate) async fn add(mut call: Call) -> Answer {
    call.params(&[])?;
    let kind = call.kind(&[JSON, NDJSON])?;
    let (store, generation) = store(&call.app)?;
    let (body, permit) = call.read().await?;
    let app = call.app;
    let allowance = Allowance::new(&app, kind == JSON);
    let max_batch = app.options.limits.max_batch;
    let answer = on_disk(&app, move || {
        let _permit = permit;
        let mut lines = Lines {
            store: &store,
            allowance,
            records: Vec::new(),
            numbers: Vec::new(),
            out: String::new(),
            count: 0,
            generation: None,
        };
        if kind == JSON {
            lines.records.push(record(&generation, &body)?);
            lines.add()?;
        } else {
            let last = match lines.read(&generation, &body, max_batch) {
                Ok(()) => json!({"done": true, "count": lines.count}),
                // The status of the response can still report it.
                Err(problem) if lines.count == 0 => return Err(problem),
                Err(problem) => json!({"error": problem.to_json()}),
            };
            lines.out += &format!("{last}\n");
        }
        let name = lines.generation;
        let name = name.unwrap_or_else(|| generation.source.generation());
        Ok((lines.allowance.sent(lines.out), name))
    });
    let (answer, name) = answer.await?;
    Ok(of_generation(whole(StatusCode::OK, kind, answer), name))
}

/// The documents in the lines of a body, and the answers to them.
struct Lines<'s> {
    store: &'s Collection,
    allowance: Allowance,
    /// The records to add together, and their lines.
    records: Vec<(String, u128)>,
    numbers: Vec<u64>,
    out: String,
    count: usize,
    /// The generation of the store after the last addition.
    generation: Option<String>,
}

impl Lines<'_> {
    /// Adds the documents up to the first invalid line.
    ///
    /// # Errors
    /// The problem with that line, or with the first document that is not added.
    fn read(
        &mut self,
        generation: &Generation,
        body: &[u8],
        max_batch: usize,
    ) -> Result<(), Problem> {
        for (number, line) in request::lines(body) {
            let in_time = || match self.allowance.is_over() {
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

    /// Adds the records read so far.
    fn add(&mut self) -> Result<(), Problem> {
        let records = std::mem::take(&mut self.records);
        let numbers = std::mem::take(&mut self.numbers);
        let (store, width) = (self.store, self.store.width());
        let (mut lines, mut count) = (String::new(), 0);
        let (allowance, mut last) = (&mut self.allowance, None);
        let outcome = match records.is_empty() || allowance.is_over() {
            true => Ok(()),
            false => store.add_each(&records, |added| {
                let object = object(width, &records[count], &added, allowance);
                lines += &format!("{object}\n");
                count += 1;
                last = Some(added.change_count);
                match allowance.is_over() {
                    true => ControlFlow::Break(()),
                    false => ControlFlow::Continue(()),
                }
            }),
        };
        // Records that were not acknowledged have no answers.
        if !matches!(outcome, Err(Error::Journal(_))) {
            self.out += &lines;
            self.count += count;
            let generation = last.map(|last| name_of(store, last));
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

/// Looks up or deletes a record.
pub(crate) async fn one(call: Call) -> Answer {
    call.params(&[])?;
    let id = request::decode(call.parameter(), false)?.into_owned();
    let (store, _) = store(&call.app)?;
    let is_deletion = call.head.method == Method::DELETE;
    let answer = on_disk(&call.app, move || {
        let (object, change_count) = if is_deletion {
            let deleted = store.delete_numbered(&id)?;
            let object = json!({"id": id, "deleted": true});
            (deleted.value.then_some(object), deleted.change_count)
        } else {
            let found = store.get_numbered(&id)?;
            let hex = found
                .value
                .map(|fingerprint| store.width().to_hex(fingerprint));
            let object = hex.map(|hex| json!({"id": id, "fingerprint": hex}));
            (object, found.change_count)
        };
        let unknown = || {
            let detail = format!("no record has the id {}", shown(&id));
            Problem::not_found("unknown-id", detail)
        };
        let name = name_of(&store, change_count);
        Ok((object.ok_or_else(unknown)?, name))
    });
    let (object, name) = answer.await?;
    Ok(of_generation(response::json(&object), name))
}
