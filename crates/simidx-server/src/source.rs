//! What answers queries: index files, or anything else that keeps records.

use std::cell::RefCell;

use simidx::segments::{AnySegments, Question, SegmentScratch, Segments};
use simidx::{Fingerprint, Id, IdBuf, IdKind};
use simidx_output::report::{TotalReport, reports};

/// What is searched for around each query.
///
/// ```
/// use simidx_server::Search;
///
/// let search = Search { distance: 3, nearest: None };
/// assert_eq!(search, Search::within(3));
/// ```
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Search {
    /// The largest distance of a match.
    pub distance: u32,
    /// As many of the nearest are enough; of equally near ones the smallest.
    pub nearest: Option<usize>,
}

impl Search {
    /// Everything within a distance.
    pub fn within(distance: u32) -> Self {
        Search {
            distance,
            nearest: None,
        }
    }
}

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
    /// Bits of a fingerprint: 32, 64 or 128.
    fn width(&self) -> u32;

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
    fn find(&self, queries: &[u128], search: Search, sink: &mut dyn Sink) -> simidx::Result<()>;

    /// The fingerprints of all records that have an id, ascending, each once.
    ///
    /// # Errors
    /// Damage.
    fn fingerprints_of_id(&self, id: Id<'_>) -> simidx::Result<Vec<u128>>;

    /// Nanoseconds that a query takes, as far as that can be foreseen. Cheap queries are answered where they arrive, others on
    /// threads of their own.
    fn cost(&self, search: Search) -> f64;

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

/// Open index files as a source.
pub(crate) fn of_segments(segments: AnySegments) -> Box<dyn Source> {
    match segments {
        AnySegments::W32(segments) => Box::new(Files::new(segments)),
        AnySegments::W64(segments) => Box::new(Files::new(segments)),
        AnySegments::W128(segments) => Box::new(Files::new(segments)),
    }
}

/// Index files that are searched as one.
struct Files<F> {
    segments: Segments<F>,
    generation: String,
    size: SourceSize,
}

impl<F: Fingerprint> Files<F> {
    fn new(segments: Segments<F>) -> Self {
        let (mut id, mut size) = (0u128, SourceSize::default());
        for index in segments.segments() {
            let summary = index.summary();
            id = id.wrapping_add(index.content_id().to_u128());
            size.records += summary.record_count;
            size.fingerprints += summary.fingerprint_count;
            size.bytes += summary.file_len;
            size.tables += summary.tables.len() as u64;
        }
        Files {
            segments,
            generation: format!("{id:032x}"),
            size,
        }
    }
}

/// A width, with the scratch of this thread.
trait Width: Fingerprint {
    fn with_scratch<R>(work: impl FnOnce(&mut SegmentScratch<Self>) -> R) -> R;
}

macro_rules! width {
    ($($F:ty),*) => {$(
        impl Width for $F {
            fn with_scratch<R>(work: impl FnOnce(&mut SegmentScratch<Self>) -> R) -> R {
                thread_local! {
                    static SCRATCH: RefCell<SegmentScratch<$F>> = RefCell::default();
                }
                SCRATCH.with_borrow_mut(work)
            }
        }
    )*};
}

width!(u32, u64, u128);

impl<F: Width> Source for Files<F> {
    fn width(&self) -> u32 {
        F::WIDTH
    }

    fn max_distance(&self) -> u32 {
        self.segments.max_distance()
    }

    fn id_kind(&self) -> IdKind {
        self.segments.id_kind()
    }

    fn pipeline(&self) -> Option<&str> {
        self.segments.pipeline()
    }

    fn generation(&self) -> String {
        self.generation.clone()
    }

    fn find(&self, queries: &[u128], search: Search, sink: &mut dyn Sink) -> simidx::Result<()> {
        let queries: Vec<F> = queries.iter().map(|&query| F::from_u128(query)).collect();
        let question = match search.nearest {
            None => Question::Within(search.distance),
            Some(count) => Question::Nearest {
                count,
                max_distance: search.distance,
            },
        };
        let segments = &self.segments;
        F::with_scratch(|scratch| {
            scratch.set_ranked(sink.wants_ids());
            segments.answer_many_with(scratch, &queries, question, |number, matches| {
                sink.begin(number);
                for found in matches {
                    let (fingerprint, distance) = (found.fingerprint.to_u128(), found.distance);
                    match sink.wants_ids() {
                        false => sink.found(fingerprint, distance, &mut std::iter::empty())?,
                        true => sink.found(fingerprint, distance, &mut segments.ids(&found)?)?,
                    }
                }
                sink.end(number);
                Ok(())
            })
        })
    }

    fn fingerprints_of_id(&self, id: Id<'_>) -> simidx::Result<Vec<u128>> {
        let found = self.segments.fingerprints_of_id(id)?;
        Ok(found.into_iter().map(F::to_u128).collect())
    }

    fn cost(&self, search: Search) -> f64 {
        let plans = self.segments.segments().iter();
        let cost: f64 = plans.map(|index| index.plan(search.distance).ns()).sum();
        match search.nearest {
            // It looks for near ones first, and most often ends there.
            Some(_) if search.distance <= self.max_distance() => cost * 2.0,
            Some(_) => f64::INFINITY,
            None => cost,
        }
    }

    fn size(&self) -> SourceSize {
        self.size
    }

    fn figures(&self) -> simidx::Result<serde_json::Value> {
        let mut reports = reports(&self.segments)?;
        let value = match reports.len() {
            1 => serde_json::to_value(reports.remove(0).report),
            _ => serde_json::to_value(TotalReport::of(reports)),
        };
        Ok(value.map_err(std::io::Error::from)?)
    }

    fn resident_fraction(&self) -> Option<f64> {
        let (mut resident, mut all) = (0.0, 0.0);
        for index in self.segments.segments() {
            let len = index.storage().as_ref().len() as f64;
            resident += index.resident_fraction()? * len;
            all += len;
        }
        (all > 0.0).then(|| resident / all)
    }
}
