//! A store: a collection whose records come and go while the server runs.

use std::ops::ControlFlow;
use std::path::Path;
use std::sync::Arc;
use std::time::SystemTime;

use serde_json::{Value, json};
use simidx::set::Question;
use simidx::{Error, Fingerprints, Id, IdBuf, IdKind, Watch, Width};
use simidx_collection::{Collection, CollectionStats, Near, Numbered, Options, Outcome, Result};

use crate::log::timestamp;
use crate::source::{Sink, Source, SourceSize};

/// Nanoseconds that a query takes in a segment, and in the recent records.
const SEGMENT_NS: f64 = 10_000.0;

/// A collection that the server adds to, of whatever width. Clones are the same collection.
///
/// ```
/// use simidx::Width;
/// use simidx_collection::{Collection, Options};
/// use simidx_server::Store;
///
/// # let folder = tempfile::tempdir()?;
/// # let path = folder.path().join("pages");
/// let pages = Collection::create(&path, Width::W64, Options::default())?;
/// pages.close()?;
/// let store = Store::open(&path, Options::default())?;
/// assert_eq!(store.width(), Width::W64);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Clone)]
pub struct Store(Arc<Collection>);

impl std::fmt::Debug for Store {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "Store of {} bits", self.width())
    }
}

/// What was near an addition, and what became of the id.
#[derive(Debug, Clone)]
pub(crate) struct Addition {
    pub(crate) matches: Vec<Near>,
    pub(crate) outcome: &'static str,
    /// The generation of the store after it.
    pub(crate) generation: String,
}

impl Store {
    /// Opens the collection in a folder.
    ///
    /// # Errors
    /// As for [`Collection::open`].
    pub fn open(path: impl AsRef<Path>, options: Options) -> Result<Self> {
        Ok(Store(Arc::new(Collection::open(path, options)?)))
    }

    /// Opens the collection in a folder, or makes one of this width where there is none.
    ///
    /// # Errors
    /// As for [`Collection::open_or_create`].
    pub fn open_or_create(path: impl AsRef<Path>, width: Width, options: Options) -> Result<Self> {
        let collection = Collection::open_or_create(path, width, options)?;
        Ok(Store(Arc::new(collection)))
    }

    /// Bits of a fingerprint.
    pub fn width(&self) -> Width {
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
        Box::new(Living(self.clone(), max_answer))
    }

    /// Adds records one after the other, and hands the answer to each to `take`, which says whether to go on.
    pub(crate) fn add_each(
        &self,
        records: &[(String, u128)],
        mut take: impl FnMut(Addition) -> ControlFlow<()>,
    ) -> Result<()> {
        self.0.add_each(records, |added| {
            take(Addition {
                matches: added.matches,
                outcome: match added.outcome {
                    Outcome::New => "new",
                    Outcome::Unchanged => "unchanged",
                    Outcome::Replaced(_) => "replaced",
                },
                generation: self.generation_after(added.change_count),
            })
        })
    }

    /// Waits until all changes so far are on disk.
    ///
    /// # Errors
    /// As for [`Collection::sync`].
    pub fn sync(&self) -> Result<()> {
        self.0.sync()
    }

    /// Copies the store as it is at one moment to a folder of its own, below the folder of the store. Returns the path of the
    /// copy from there, and the number of changes that it has.
    ///
    /// # Errors
    /// As for [`Collection::snapshot`].
    pub fn snapshot(&self) -> Result<(String, u64)> {
        let now = timestamp(SystemTime::now()).replace(':', "-");
        let name = format!("snapshots/{now}");
        let count = self
            .0
            .snapshot(self.0.path().join(&name), &Watch::default())?;
        Ok((name, count))
    }

    /// Brings all changes to disk, and ends what seals and merges. Changes that come later fail.
    ///
    /// # Errors
    /// As for [`Collection::close`].
    pub fn close(&self) -> Result<()> {
        self.0.close()
    }

    /// What names the records after so many changes. Changes that a crash has lost had numbers too, so these alone would name
    /// others after it.
    fn generation_after(&self, change_count: u64) -> String {
        format!("{:016x}-{change_count:016x}", self.0.opening())
    }

    /// An answer with the generation that it comes from.
    fn named<T>(&self, answer: Numbered<T>) -> (T, String) {
        let generation = self.generation_after(answer.change_count);
        (answer.value, generation)
    }

    /// Deletes the record of an id; whether there was one, and the generation after it.
    pub(crate) fn delete(&self, id: &str) -> Result<(bool, String)> {
        self.0
            .delete_numbered(id)
            .map(|deleted| self.named(deleted))
    }

    /// The fingerprint of an id, and the generation that has it.
    pub(crate) fn get(&self, id: &str) -> Result<(Option<u128>, String)> {
        self.0.get_numbered(id).map(|found| self.named(found))
    }
}

/// A store as a source, and the bytes that the ids of an answer may have.
struct Living(Store, usize);

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

impl Source for Living {
    fn width(&self) -> Width {
        self.0.width()
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
        self.0.generation_after(self.0.0.change_count())
    }

    fn find(
        &self,
        queries: &Fingerprints,
        question: Question,
        sink: &mut dyn Sink,
    ) -> simidx::Result<()> {
        let id_bytes = sink.wants_ids().then_some(self.1);
        for (number, query) in queries.iter().enumerate() {
            let found = self.0.0.answer(query, question, id_bytes);
            let found = found.map_err(of_library)?;
            if number == 0 {
                sink.generation(self.0.generation_after(found.change_count));
            }
            sink.begin(number);
            for near in found.value {
                let mut ids = near.ids.into_iter().map(|id| Ok(IdBuf::String(id)));
                sink.found(near.fingerprint, near.distance, &mut ids)?;
            }
            sink.end(number);
        }
        Ok(())
    }

    fn fingerprints_of_id(&self, id: Id<'_>) -> simidx::Result<Vec<u128>> {
        let Id::String(id) = id else {
            return Ok(Vec::new());
        };
        let found = self.0.0.get(id).map_err(of_library)?;
        Ok(found.into_iter().collect())
    }

    fn cost(&self, question: Question) -> f64 {
        match question.max_distance() <= self.max_distance() {
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
            "width": self.0.width().bits(),
            "max_distance": self.0.max_distance(),
            "record_count": stats.record_count,
            "recent_count": stats.recent_count,
            "deleted_count": stats.deleted_count,
            "segment_count": stats.segment_count,
            "file_bytes": stats.segment_bytes,
            "journal_bytes": stats.journal_bytes,
            "pipeline": self.0.pipeline(),
            "background_error": stats.background_error.map(|error| without_folder(&error, self.0.0.path())),
            "journal_error": stats.journal_error.map(|error| without_folder(&error, self.0.0.path())),
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
