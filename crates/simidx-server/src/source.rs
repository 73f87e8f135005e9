//! What answers queries: index files, or anything else that keeps records.

use std::cell::RefCell;

use simidx::set::{Question, SetScratch};
use simidx::{Fingerprints, Id, IdBuf, IdKind, Set, Width};
use simidx_output::report::to_json;

/// Ids of a match, read one after the other.
pub type IdIter<'a> = dyn Iterator<Item = simidx::Result<IdBuf>> + 'a;

/// Takes the answers to some queries.
pub trait Sink {
    /// A query is answered from here on; the number is that among the queries.
    fn begin(&mut self, query: usize);

    /// A match of this query: fingerprint, distance, ids. Matches come by distance, then by value.
    ///
    /// # Errors
    /// What `ids` reports, or that there are more matches than wanted. The search ends with it.
    fn found(
        &mut self,
        fingerprint: u128,
        distance: u32,
        ids: &mut IdIter<'_>,
    ) -> simidx::Result<()>;

    /// The answer to this query is complete.
    fn end(&mut self, query: usize);

    /// The answers come from these records, named as by [`Source::generation`]. A source whose records change says so for the
    /// first query; one whose records stay need not.
    fn generation(&mut self, _name: String) {}

    /// Whether the ids of matches are read. If not, `found` may get none.
    fn wants_ids(&self) -> bool {
        true
    }
}

/// A set of records that the server searches. Fingerprints are in the low bits.
///
/// Implement it for other ways to keep records, and give them to [`Server::bind_with_sources`](crate::Server::bind_with_sources);
/// index files are one already. All methods are called on many threads.
pub trait Source: Send + Sync + 'static {
    /// Bits of a fingerprint.
    fn width(&self) -> Width;

    /// The distance of queries that name none.
    fn max_distance(&self) -> u32;

    /// What the ids are.
    fn id_kind(&self) -> IdKind;

    /// How documents became fingerprints, if that is known.
    fn pipeline(&self) -> Option<&str>;

    /// What identifies the records as they are now: a word of letters and digits, the same for the same records.
    fn generation(&self) -> String;

    /// Answers queries in their order.
    ///
    /// # Errors
    /// Damage, or what `sink` returns. Some of the queries before have then been answered.
    fn find(
        &self,
        queries: &Fingerprints,
        question: Question,
        sink: &mut dyn Sink,
    ) -> simidx::Result<()>;

    /// The fingerprints of all records that have an id, ascending, each once.
    ///
    /// # Errors
    /// Damage.
    fn fingerprints_of_id(&self, id: Id<'_>) -> simidx::Result<Vec<u128>>;

    /// Nanoseconds that a query takes, as far as that can be foreseen. Cheap queries are answered where they arrive, others on
    /// threads of their own.
    fn cost(&self, question: Question) -> f64;

    /// Numbers of records, fingerprints, bytes and tables.
    fn size(&self) -> SourceSize;

    /// Figures as JSON: those of `simidx info --json`.
    ///
    /// # Errors
    /// Damage.
    fn figures(&self) -> simidx::Result<serde_json::Value>;

    /// The part of the records that is in memory, if the system says so.
    fn resident_fraction(&self) -> Option<f64>;
}

/// How much a [`Source`] holds.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct SourceSize {
    /// Records.
    pub records: u64,
    /// Fingerprints; one in several files counts in each.
    pub fingerprints: u64,
    /// Bytes.
    pub bytes: u64,
    /// Tables of all files.
    pub tables: u64,
}

/// Index files that are searched as one.
pub(crate) struct Files {
    set: Set,
    generation: String,
    size: SourceSize,
}

impl From<Set> for Files {
    fn from(set: Set) -> Self {
        let (mut id, mut size) = (0u128, SourceSize::default());
        for segment in set.segments() {
            let summary = segment.summary();
            id = id.wrapping_add(segment.content_id().to_u128());
            size.records += summary.record_count;
            size.fingerprints += summary.fingerprint_count;
            size.bytes += summary.file_len;
            size.tables += summary.tables.len() as u64;
        }
        Files {
            set,
            generation: format!("{id:032x}"),
            size,
        }
    }
}

thread_local! {
    static SCRATCH: RefCell<SetScratch> = RefCell::default();
}

impl Source for Files {
    fn width(&self) -> Width {
        self.set.width()
    }

    fn max_distance(&self) -> u32 {
        self.set.max_distance()
    }

    fn id_kind(&self) -> IdKind {
        self.set.id_kind()
    }

    fn pipeline(&self) -> Option<&str> {
        self.set.pipeline()
    }

    fn generation(&self) -> String {
        self.generation.clone()
    }

    fn find(
        &self,
        queries: &Fingerprints,
        question: Question,
        sink: &mut dyn Sink,
    ) -> simidx::Result<()> {
        SCRATCH.with_borrow_mut(|scratch| {
            scratch.set_ranked(sink.wants_ids());
            self.set
                .answer_many_with(scratch, queries, question, |number, matches| {
                    sink.begin(number);
                    for hit in matches.iter() {
                        match sink.wants_ids() {
                            false => {
                                sink.found(hit.fingerprint, hit.distance, &mut std::iter::empty())?
                            }
                            true => sink.found(hit.fingerprint, hit.distance, &mut hit.ids()?)?,
                        }
                    }
                    sink.end(number);
                    Ok(())
                })
        })
    }

    fn fingerprints_of_id(&self, id: Id<'_>) -> simidx::Result<Vec<u128>> {
        self.set.fingerprints_of_id(id)
    }

    fn cost(&self, question: Question) -> f64 {
        let distance = question.max_distance();
        let plans = self.set.segments().map(|file| file.plan(distance));
        let cost: f64 = plans.map(|plan| plan.ns()).sum();
        match question {
            // It looks for near ones first, and most often ends there.
            Question::Nearest { .. } if distance <= self.max_distance() => cost * 2.0,
            Question::Nearest { .. } => f64::INFINITY,
            Question::Within(_) => cost,
        }
    }

    fn size(&self) -> SourceSize {
        self.size
    }

    fn figures(&self) -> simidx::Result<serde_json::Value> {
        to_json(&self.set)
    }

    fn resident_fraction(&self) -> Option<f64> {
        let (mut resident, mut all) = (0.0, 0.0);
        for segment in self.set.segments() {
            let storage = segment.storage();
            let len = storage.as_ref().len() as f64;
            resident += storage.resident_fraction()? * len;
            all += len;
        }
        (all > 0.0).then(|| resident / all)
    }
}
