//! Batches: answered in chunks on a thread pool, so that a long request does not delay others.

use std::collections::VecDeque;
use std::ops::Range;
use std::sync::Arc;
use std::time::{Duration, Instant};

use bytes::Bytes;
use hyper::StatusCode;
use simidx::set::Question;
use tokio::sync::{OwnedSemaphorePermit, mpsc, oneshot};

use crate::answer::{Answered, Asked, Budget, Form, answer};
use crate::call::no_memory;
use crate::problem::Problem;
use crate::request::What;
use crate::source::Source;
use crate::state::{App, Generation};

/// Largest number of queries that a thread answers before it turns to another request.
const CHUNK: usize = 256;

/// Largest estimated time of a chunk, in nanoseconds.
const CHUNK_NS: f64 = 5_000_000.0;

/// Largest estimated time between two checks of the deadline, in nanoseconds.
const GROUP_NS: f64 = 500_000.0;

/// Bytes that most answers fit in: a match or two with short ids.
const ANSWER_LEN: usize = 192;

/// Rough estimate of the nanoseconds to fingerprint a byte of a text.
const TEXT_NS: f64 = 50.0;

/// Largest number of pieces of an answer that wait for the client.
const PIECES: usize = 4;

/// Extra time to wait for an answer after the deadline. A thread that is working checks the deadline itself and then
/// returns a partial answer.
const GRACE: Duration = Duration::from_millis(100);

/// Largest estimated time, in nanoseconds, of a request that is answered on the thread of its connection: that of a group,
/// since groups that are done are counted, even if the answer is then discarded.
const INLINE_NS: f64 = GROUP_NS;

/// Estimated nanoseconds of a query in a test with a hook: expensive, and in a group by itself.
const HOOKED_NS: f64 = 1e6;

/// The state that the chunks of a batch share.
pub(crate) struct Batch {
    generation: Arc<Generation>,
    queries: Vec<Asked>,
    form: Form,
    budget: Budget,
    deadline: Instant,
    /// The permits of the request body. They are held until the last chunk is done, even if the client has
    /// disconnected.
    body: Option<OwnedSemaphorePermit>,
}

/// The answer to a chunk, and the error that ended it early.
type Chunk = (Answered, Result<(), Problem>);

impl Batch {
    pub(crate) fn new(
        app: &Arc<App>,
        generation: &Arc<Generation>,
        queries: impl IntoIterator<Item = Asked>,
        form: Form,
    ) -> Self {
        Batch {
            // Lines are sent chunk by chunk.
            budget: Budget::new(app, form != Form::Lines),
            deadline: Instant::now() + app.options.limits.timeout,
            generation: generation.clone(),
            queries: queries.into_iter().collect(),
            form,
            body: None,
        }
    }

    /// Holds the permits of a request body as long as its queries, which may take more memory than the body.
    ///
    /// # Errors
    /// There is no memory for that.
    pub(crate) fn keeping(mut self, permit: Option<OwnedSemaphorePermit>) -> Result<Self, Problem> {
        self.body = permit;
        let bodies = &self.budget.app.bodies;
        let text_len = |asked: &Asked| match &asked.what {
            What::Text(text) => text.len(),
            _ => 0,
        };
        let texts: usize = self.queries.iter().map(text_len).sum();
        let len = self.queries.capacity() * size_of::<Asked>() + texts;
        // The largest batch that is permitted has to be possible.
        let len = len.min(bodies.count.saturating_mul(1024));
        match bodies.hold(&mut self.body, len) {
            true => Ok(self),
            false => Err(no_memory()),
        }
    }

    /// Estimates the nanoseconds of a query, without fingerprinting a text.
    fn cost(&self, question: Question) -> f64 {
        match self.budget.app.options.hook {
            Some(_) => HOOKED_NS,
            None => self.generation.source.cost(question),
        }
    }

    /// Returns how many queries, from `start` on, have at most this estimated time; at most [`CHUNK`].
    fn fitting(&self, start: usize, ns: f64) -> usize {
        let mut left = ns;
        // Most often, all queries have equal options.
        let mut known = None;
        let queries = self.queries[start..].iter().take(CHUNK);
        let fitting = queries.take_while(|asked| {
            let cost = match known {
                Some((question, cost)) if question == asked.question => cost,
                _ => self.cost(asked.question),
            };
            known = Some((asked.question, cost));
            let text = match &asked.what {
                What::Text(text) => text.len() as f64 * TEXT_NS,
                What::Fingerprint(_) => 0.0,
            };
            left -= cost + text;
            left >= 0.0
        });
        fitting.count()
    }

    /// Returns the end of the queries, from `start` on, that have at most this estimated time. There is at least one
    /// query.
    fn end(&self, start: usize, ns: f64) -> usize {
        start + self.fitting(start, ns).max(1)
    }

    /// Answers some of the queries within a budget, until the deadline.
    fn chunk(&self, queries: Range<usize>, budget: &Budget) -> Chunk {
        let mut answered = Answered {
            bytes: Vec::with_capacity(queries.len() * ANSWER_LEN),
            ..Answered::default()
        };
        let mut start = queries.start;
        while start < queries.end {
            if Instant::now() >= self.deadline {
                return (answered, Err(timed_out()));
            }
            let end = self.end(start, GROUP_NS).min(queries.end);
            let outcome = answer(
                &self.generation,
                &self.queries[start..end],
                self.form,
                budget,
                &mut answered,
            );
            if outcome.is_err() {
                return (answered, outcome);
            }
            start = end;
        }
        (answered, Ok(()))
    }

    /// Whether the searches of the batch are cheap enough for the thread of its connection. Fingerprinting takes longer
    /// than a search, by a time that depends on the text. A store visits the records of each match, even if the answer
    /// has no ids that could exceed its budget.
    fn is_cheap(&self) -> bool {
        let is_text = |asked: &Asked| matches!(asked.what, What::Text(_));
        let is_store = matches!(self.generation.source, Source::Store(_));
        self.budget.app.options.warm
            && !(is_store && self.form == Form::Columns)
            && !self.queries.iter().any(is_text)
            && self.fitting(0, INLINE_NS) == self.queries.len()
    }

    /// Returns the generation of the records that an answer comes from; `parts` are its first parts. The generation of
    /// a store is determined by the search, or now if nothing was searched.
    fn name_of<'a>(&self, parts: impl IntoIterator<Item = &'a mut Answered>) -> String {
        let own = parts.into_iter().find_map(|part| part.generation.take());
        own.or_else(|| self.generation.name.clone())
            .unwrap_or_else(|| self.generation.source.generation())
    }

    /// Answers all queries, in parts that are not copied, because they may be long. Also returns the generation of the
    /// records.
    ///
    /// # Errors
    /// The reason why a query has no answer.
    pub(crate) async fn whole(self) -> Result<(Vec<Answered>, String), Problem> {
        if self.is_cheap() {
            let budget = Budget::inline(&self.budget.app);
            let (mut answered, outcome) = self.chunk(0..self.queries.len(), &budget);
            match outcome {
                Ok(()) => {
                    let name = self.name_of([&mut answered]);
                    return Ok((vec![answered], name));
                }
                // The answer may only be too long to be written here, which the searches alone do not show.
                Err(problem) if ["limit-reached", "busy"].contains(&problem.kind()) => {}
                Err(problem) => return Err(problem),
            }
        }
        let (mut whole, mut chunks) = (Vec::new(), Chunks::start(self).await?);
        while let Some((chunk, outcome)) = chunks.next().await {
            outcome?;
            whole.push(chunk);
        }
        let name = chunks.batch.name_of(&mut whole);
        Ok((whole, name))
    }

    /// Answers the queries in lines. The last line says that the answer is complete, or what the error was. `trouble`
    /// is the error of the request after these queries. Also returns the generation of the records.
    ///
    /// # Errors
    /// The reason why the first chunk has no answer. The status of the response can still report it.
    pub(crate) async fn lines(
        self,
        trouble: Option<Problem>,
    ) -> Result<(mpsc::Receiver<Bytes>, String), Problem> {
        let mut chunks = Chunks::start(self).await?;
        let mut first = chunks.next().await;
        if let Some((answered, Err(problem))) = &first
            && answered.bytes.is_empty()
        {
            return Err(problem.clone());
        }
        let name = chunks
            .batch
            .name_of(first.as_mut().map(|(answered, _)| answered));
        let (sender, receiver) = mpsc::channel(PIECES);
        tokio::spawn(async move {
            let mut next = first;
            let mut outcome = trouble.map_or(Ok(()), Err);
            while let Some((answered, chunk_outcome)) = next {
                let [bytes, ..] = answered.into_parts();
                if sender.capacity() == 0 {
                    // A client that does not read keeps no other from the pool.
                    chunks.permit = None;
                }
                if !bytes.is_empty() && sender.send(bytes).await.is_err() {
                    return;
                }
                if chunk_outcome.is_err() {
                    outcome = chunk_outcome;
                    break;
                }
                next = tokio::select! {
                    next = chunks.next() => next,
                    () = sender.closed() => return,
                };
            }
            let last = match outcome {
                Ok(()) => {
                    let count = chunks.batch.queries.len();
                    format!("{{\"done\":true,\"count\":{count}}}\n")
                }
                Err(problem) => format!("{{\"error\":{}}}\n", problem.to_json()),
            };
            drop(chunks);
            let _ = sender.send(last.into()).await;
        });
        Ok((receiver, name))
    }
}

fn timed_out() -> Problem {
    let detail = "the answer took too long; ask for fewer queries or a smaller k, or when the server has less to do";
    Problem::new(StatusCode::SERVICE_UNAVAILABLE, "timeout", detail)
}

/// The chunks of a batch in progress, in order.
struct Chunks {
    batch: Arc<Batch>,
    under_way: VecDeque<oneshot::Receiver<Chunk>>,
    next: usize,
    /// The permit of an expensive request, which chunks on the pool share.
    permit: Option<Arc<OwnedSemaphorePermit>>,
}

/// Runs expensive work on the thread pool. It waits in turn while there are too many expensive requests.
///
/// # Errors
/// An error of `work`, or the time for it is over.
pub(crate) async fn on_pool<T: Send + 'static>(
    app: &Arc<App>,
    work: impl FnOnce() -> Result<T, Problem> + Send + 'static,
) -> Result<T, Problem> {
    let deadline = Instant::now() + app.options.limits.timeout;
    let permit = app.turn_by(deadline).await?;
    let (sender, receiver) = oneshot::channel();
    app.pool.spawn_fifo(move || {
        let _permit = permit;
        if !sender.is_closed() {
            let _ = sender.send(work());
        }
    });
    let answer = tokio::time::timeout_at((deadline + GRACE).into(), receiver);
    match answer.await {
        Ok(done) => done.unwrap_or_else(|_| Err(broken_off())),
        Err(_) => Err(timed_out()),
    }
}

fn broken_off() -> Problem {
    let detail = "the answer broke off; the log of the server may say why";
    Problem::new(StatusCode::INTERNAL_SERVER_ERROR, "other", detail)
}

impl Chunks {
    async fn start(batch: Batch) -> Result<Self, Problem> {
        let permit = batch.budget.app.permit()?;
        let mut chunks = Chunks {
            under_way: VecDeque::new(),
            next: 0,
            permit: Some(Arc::new(permit)),
            batch: Arc::new(batch),
        };
        for _ in 0..chunks.batch.budget.app.pool.current_num_threads() {
            chunks.start_one().await;
        }
        Ok(chunks)
    }

    /// Starts the next chunk, if there is one. It waits for a permit if the batch has given back its own.
    async fn start_one(&mut self) {
        if self.next >= self.batch.queries.len() {
            return;
        }
        let (sender, receiver) = oneshot::channel();
        if self.permit.is_none() {
            match self.batch.budget.app.permit_by(self.batch.deadline).await {
                Ok(permit) => self.permit = Some(Arc::new(permit)),
                Err(problem) => {
                    // The error comes after the chunks under way, and ends the answer.
                    let _ = sender.send((Answered::default(), Err(problem)));
                    self.under_way.push_back(receiver);
                    return;
                }
            }
        }
        let (batch, start) = (self.batch.clone(), self.next);
        let permit = self.permit.clone();
        self.next = batch.end(start, CHUNK_NS);
        let queries = start..self.next;
        self.batch.budget.app.pool.spawn_fifo(move || {
            let _permit = permit;
            if !sender.is_closed() {
                let _ = sender.send(batch.chunk(queries, &batch.budget));
            }
        });
        self.under_way.push_back(receiver);
    }

    async fn next(&mut self) -> Option<Chunk> {
        let chunk = self.under_way.pop_front()?;
        let deadline = self.batch.deadline + GRACE;
        match tokio::time::timeout_at(deadline.into(), chunk).await {
            Ok(chunk) => {
                self.start_one().await;
                Some(chunk.unwrap_or_else(|_| (Answered::default(), Err(broken_off()))))
            }
            // Every thread is busy, or this one has spent all of this time on a single query.
            Err(_) => Some((Answered::default(), Err(timed_out()))),
        }
    }
}
