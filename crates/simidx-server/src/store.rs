//! A store: a collection whose records come and go while the server runs.

use std::ops::ControlFlow;
use std::path::Path;
use std::sync::Arc;
use std::time::SystemTime;

use serde_json::{Value, json};
use simidx::{Error, Fingerprint, Fingerprints, Id, IdBuf, IdKind, Width};
use simidx_collection::{Collection, CollectionStats, Near, Numbered, Options, Outcome};

use crate::log::timestamp;
use crate::source::{Search, Sink, Source, SourceSize};

/// Nanoseconds that a query takes in a segment, and in the recent records.
const SEGMENT_NS: f64 = 10_000.0;

/// A collection that the server adds to, of whatever width. Clones are the same collection.
///
/// ```
/// use simidx_server::Store;
/// use simidx_collection::{Collection, Options};
///
/// # let folder = tempfile::tempdir()?;
/// # let path = folder.path().join("pages");
/// let pages = Collection::<u64>::create(&path, Options::default())?;
/// pages.close()?;
/// let store = Store::open(&path, Options::default())?;
/// assert_eq!(store.width(), 64);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Clone)]
pub struct Store(Arc<dyn Records>);

impl std::fmt::Debug for Store {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "Store of {} bits", self.width())
    }
}

/// What was near an addition, and what became of the id.
#[derive(Debug, Clone)]
pub(crate) struct Addition {
    pub(crate) matches: Vec<Near<u128>>,
    pub(crate) outcome: &'static str,
    /// The generation of the store after it.
    pub(crate) generation: String,
}

/// What names the records of a store after so many changes. Changes that a crash has lost had numbers too, so these alone
/// would name others after it.
fn generation_name(opening: u64, change_count: u64) -> String {
    format!("{opening:016x}-{change_count:016x}")
}

/// Takes the answer to an addition, and says whether to go on.
pub(crate) type Take<'t> = dyn FnMut(Addition) -> ControlFlow<()> + 't;

type Outcomes = simidx_collection::Result<()>;

/// A collection of any width.
trait Records: Send + std::marker::Sync {
    fn add_each(&self, records: &[(String, u128)], take: &mut Take<'_>) -> Outcomes;
    fn sync(&self) -> simidx_collection::Result<()>;
    fn delete(&self, id: &str) -> simidx_collection::Result<Numbered<bool>>;
    fn get(&self, id: &str) -> simidx_collection::Result<Numbered<Option<u128>>>;
    fn stats(&self) -> CollectionStats;
    fn opening(&self) -> u64;
    fn path(&self) -> &Path;
    fn snapshot(&self, path: &Path) -> simidx_collection::Result<u64>;
    fn stop(&self) -> simidx_collection::Result<()>;
    fn width(&self) -> u32;
    fn max_distance(&self) -> u32;
    fn pipeline(&self) -> Option<&str>;
    fn source(self: Arc<Self>, max_answer: usize) -> Box<dyn Source>;
}

impl Store {
    /// Opens the collection in a folder.
    ///
    /// # Errors
    /// As for [`Collection::open`].
    pub fn open(path: impl AsRef<Path>, options: Options) -> simidx_collection::Result<Self> {
        let path = path.as_ref();
        match Collection::<u64>::open(path, options.clone()) {
            Err(simidx_collection::Error::Index(Error::WidthMismatch { index: 32, .. })) => {
                Ok(Store(Arc::new(Collection::<u32>::open(path, options)?)))
            }
            Err(simidx_collection::Error::Index(Error::WidthMismatch { index: 128, .. })) => {
                Ok(Store(Arc::new(Collection::<u128>::open(path, options)?)))
            }
            opened => Ok(Store(Arc::new(opened?))),
        }
    }

    /// Opens the collection in a folder, or makes one of this width where there is none.
    ///
    /// # Errors
    /// As for [`Collection::open_or_create`].
    pub fn open_or_create(
        path: impl AsRef<Path>,
        width: u32,
        options: Options,
    ) -> simidx_collection::Result<Self> {
        let path = path.as_ref();
        if simidx::set::Manifest::is_at(path)? {
            return Self::open(path, options);
        }
        Ok(match width {
            32 => Store(Arc::new(Collection::<u32>::create(path, options)?)),
            64 => Store(Arc::new(Collection::<u64>::create(path, options)?)),
            _ => Store(Arc::new(Collection::<u128>::create(path, options)?)),
        })
    }

    /// Bits of a fingerprint.
    pub fn width(&self) -> u32 {
        self.0.width()
    }

    /// The distance of near-duplicates.
    pub fn max_distance(&self) -> u32 {
        self.0.max_distance()
    }

    /// How documents become fingerprints, if the collection records it.
    pub fn pipeline(&self) -> Option<&str> {
        self.0.pipeline()
    }

    /// The figures of the collection.
    pub fn stats(&self) -> CollectionStats {
        self.0.stats()
    }

    /// What the server searches, for answers whose ids have at most so many bytes.
    pub(crate) fn source(&self, max_answer: usize) -> Box<dyn Source> {
        self.0.clone().source(max_answer)
    }

    pub(crate) fn add_each(&self, records: &[(String, u128)], take: &mut Take<'_>) -> Outcomes {
        self.0.add_each(records, take)
    }

    /// Waits until all changes so far are on disk.
    ///
    /// # Errors
    /// As for [`Collection::sync`].
    pub fn sync(&self) -> simidx_collection::Result<()> {
        self.0.sync()
    }

    /// Copies the store as it is at one moment to a folder of its own, below the folder of the store. Returns the path of the
    /// copy from there, and the number of changes that it has.
    ///
    /// # Errors
    /// As for [`Collection::snapshot`].
    pub fn snapshot(&self) -> simidx_collection::Result<(String, u64)> {
        let now = timestamp(SystemTime::now()).replace(':', "-");
        let name = format!("snapshots/{now}");
        let count = self.0.snapshot(&self.0.path().join(&name))?;
        Ok((name, count))
    }

    /// Brings all changes to disk, and ends what seals and merges. Changes that come later fail.
    ///
    /// # Errors
    /// As for [`Collection::stop`].
    pub fn stop(&self) -> simidx_collection::Result<()> {
        self.0.stop()
    }

    /// An answer with the generation that it comes from.
    fn named<T>(&self, answer: Numbered<T>) -> (T, String) {
        let generation = generation_name(self.0.opening(), answer.change_count);
        (answer.value, generation)
    }

    /// Deletes the record of an id; whether there was one, and the generation after it.
    pub(crate) fn delete(&self, id: &str) -> simidx_collection::Result<(bool, String)> {
        self.0.delete(id).map(|deleted| self.named(deleted))
    }

    /// The fingerprint of an id, and the generation that has it.
    pub(crate) fn get(&self, id: &str) -> simidx_collection::Result<(Option<u128>, String)> {
        self.0.get(id).map(|found| self.named(found))
    }
}

impl<F: Fingerprint> Records for Collection<F> {
    fn add_each(&self, records: &[(String, u128)], take: &mut Take<'_>) -> Outcomes {
        let records = records.iter();
        let records: Vec<(&str, F)> = records.map(|(id, f)| (&**id, F::from_u128(*f))).collect();
        self.add_each(&records, |added| {
            take(Addition {
                matches: added.matches.into_iter().map(Near::to_u128).collect(),
                outcome: match added.outcome {
                    Outcome::New => "new",
                    Outcome::Unchanged => "unchanged",
                    Outcome::Replaced(_) => "replaced",
                },
                generation: generation_name(self.opening(), added.change_count),
            })
        })
    }

    fn sync(&self) -> simidx_collection::Result<()> {
        self.sync()
    }

    fn delete(&self, id: &str) -> simidx_collection::Result<Numbered<bool>> {
        self.delete_numbered(id)
    }

    fn get(&self, id: &str) -> simidx_collection::Result<Numbered<Option<u128>>> {
        let found = self.get_numbered(id)?;
        Ok(found.map(|fingerprint| fingerprint.map(F::to_u128)))
    }

    fn stats(&self) -> CollectionStats {
        self.stats()
    }

    fn opening(&self) -> u64 {
        self.opening()
    }

    fn path(&self) -> &Path {
        self.path()
    }

    fn snapshot(&self, path: &Path) -> simidx_collection::Result<u64> {
        self.snapshot(path)
    }

    fn stop(&self) -> simidx_collection::Result<()> {
        self.stop()
    }

    fn width(&self) -> u32 {
        F::WIDTH
    }

    fn max_distance(&self) -> u32 {
        self.max_distance()
    }

    fn pipeline(&self) -> Option<&str> {
        self.pipeline()
    }

    fn source(self: Arc<Self>, max_answer: usize) -> Box<dyn Source> {
        Box::new(Living(self, max_answer))
    }
}

/// A collection as a source, and the bytes that the ids of an answer may have.
struct Living<F: Fingerprint>(Arc<Collection<F>>, usize);

/// An error without the folder of the collection, which is nobody's business.
fn without_folder(error: &str, folder: &Path) -> String {
    let folder = folder.display();
    let files = error.replace(&format!("{folder}/"), "");
    files.replace(&format!("{folder}: "), "")
}

/// An error of a collection as one of the library.
fn of_library(error: simidx_collection::Error) -> Error {
    match error {
        simidx_collection::Error::Index(error) => error,
        simidx_collection::Error::Io(error) => error.into(),
        other => std::io::Error::other(other).into(),
    }
}

impl<F: Fingerprint> Source for Living<F> {
    fn width(&self) -> Width {
        Width::of::<F>()
    }

    fn max_distance(&self) -> u32 {
        self.0.max_distance()
    }

    fn id_kind(&self) -> IdKind {
        IdKind::String
    }

    fn pipeline(&self) -> Option<&str> {
        self.0.pipeline()
    }

    fn generation(&self) -> String {
        generation_name(self.0.opening(), self.0.change_count())
    }

    fn find(
        &self,
        queries: &Fingerprints,
        search: Search,
        sink: &mut dyn Sink,
    ) -> simidx::Result<()> {
        let (distance, id_bytes) = (search.distance, sink.wants_ids().then_some(self.1));
        for (number, query) in queries.iter().enumerate() {
            let query = F::from_u128(query);
            let found = match search.nearest {
                None => self.0.query_limited(query, distance, id_bytes),
                Some(count) => self.0.nearest_limited(query, count, distance, id_bytes),
            };
            let found = found.map_err(of_library)?;
            if number == 0 {
                sink.generation(generation_name(self.0.opening(), found.change_count));
            }
            sink.begin(number);
            for near in found.value {
                let mut ids = near.ids.into_iter().map(|id| Ok(IdBuf::String(id)));
                sink.found(near.fingerprint.to_u128(), near.distance, &mut ids)?;
            }
            sink.end(number);
        }
        Ok(())
    }

    fn fingerprints_of_id(&self, id: Id<'_>) -> simidx::Result<Vec<u128>> {
        let Id::String(id) = id else {
            return Ok(Vec::new());
        };
        let found = self.0.get(id).map_err(of_library)?;
        Ok(found.into_iter().map(F::to_u128).collect())
    }

    fn cost(&self, search: Search) -> f64 {
        match search.distance <= self.max_distance() {
            true => SEGMENT_NS * (self.0.stats().segment_count + 1) as f64,
            false => f64::INFINITY,
        }
    }

    fn size(&self) -> SourceSize {
        let stats = self.0.stats();
        SourceSize {
            records: stats.record_count,
            fingerprints: stats.record_count,
            bytes: stats.segment_bytes,
            tables: 0,
        }
    }

    fn figures(&self) -> simidx::Result<Value> {
        let stats = self.0.stats();
        Ok(json!({
            "width": F::WIDTH,
            "max_distance": self.0.max_distance(),
            "record_count": stats.record_count,
            "recent_count": stats.recent_count,
            "deleted_count": stats.deleted_count,
            "segment_count": stats.segment_count,
            "file_bytes": stats.segment_bytes,
            "journal_bytes": stats.journal_bytes,
            "pipeline": self.0.pipeline(),
            "background_error": stats.background_error.map(|error| without_folder(&error, self.0.path())),
            "journal_error": stats.journal_error.map(|error| without_folder(&error, self.0.path())),
        }))
    }

    fn resident_fraction(&self) -> Option<f64> {
        None
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_error_names_files_without_their_folder() {
        let error = "/srv/a b/pages/segment-0000000001.simidx: no space left";
        let shown = without_folder(error, Path::new("/srv/a b/pages"));
        assert_eq!(shown, "segment-0000000001.simidx: no space left");
        let error = "it cannot be written anew: /srv/a b/pages: no space left";
        let shown = without_folder(error, Path::new("/srv/a b/pages"));
        assert_eq!(shown, "it cannot be written anew: no space left");
    }
}
