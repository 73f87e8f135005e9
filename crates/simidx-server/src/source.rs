//! Sources of answers: index files, or a collection whose records change.

use std::path::Path;
use std::sync::Arc;

use serde_json::{Value, json};
use simidx::set::Question;
use simidx::{Error, Id, IdKind, Set, Width};
use simidx_collection::Collection;
use simidx_output::report;

/// Estimated nanoseconds of a query in each segment of a collection, and in its recent records.
const SEGMENT_NS: f64 = 10_000.0;

/// A source of answers. Fingerprints are in the low bits.
pub(crate) enum Source {
    /// Index files that are searched as one.
    Files(Set),
    /// A collection.
    Store(Arc<Collection>),
}

/// The size of a [`Source`].
#[derive(Debug, Clone, Copy, Default)]
pub(crate) struct SourceSize {
    pub(crate) records: u64,
    /// A fingerprint in several files counts once for each.
    pub(crate) fingerprints: u64,
    pub(crate) bytes: u64,
    pub(crate) tables: u64,
}

impl Source {
    pub(crate) fn width(&self) -> Width {
        match self {
            Source::Files(set) => set.width(),
            Source::Store(store) => store.width(),
        }
    }

    /// The default distance of a query.
    pub(crate) fn max_distance(&self) -> u32 {
        match self {
            Source::Files(set) => set.max_distance(),
            Source::Store(store) => store.max_distance(),
        }
    }

    pub(crate) fn id_kind(&self) -> IdKind {
        match self {
            Source::Files(set) => set.id_kind(),
            Source::Store(_) => IdKind::String,
        }
    }

    pub(crate) fn pipeline(&self) -> Option<&str> {
        match self {
            Source::Files(set) => set.pipeline(),
            Source::Store(store) => store.pipeline(),
        }
    }

    /// Identifies the current records: the value is equal for equal records.
    pub(crate) fn generation(&self) -> String {
        match self {
            Source::Files(set) => {
                let ids = set.segments().map(|file| file.content_id().to_u128());
                format!("{:032x}", ids.fold(0, u128::wrapping_add))
            }
            Source::Store(store) => name_of(store, store.change_count()),
        }
    }

    /// Returns the fingerprints of all records that have an id, ascending and distinct.
    ///
    /// # Errors
    /// Damage.
    pub(crate) fn fingerprints_of_id(&self, id: Id<'_>) -> simidx::Result<Vec<u128>> {
        match (self, id) {
            (Source::Files(set), id) => set.fingerprints_of_id(id),
            (Source::Store(store), Id::String(id)) => {
                Ok(store.get(id).map_err(of_library)?.into_iter().collect())
            }
            (Source::Store(_), _) => Ok(Vec::new()),
        }
    }

    /// Estimates the nanoseconds of a query. Cheap queries are answered on the thread of their connection, others on
    /// the thread pool.
    pub(crate) fn cost(&self, question: Question) -> f64 {
        let distance = question.max_distance();
        let is_far = distance > self.max_distance();
        match (self, question) {
            (Source::Store(_), _) if is_far => f64::INFINITY,
            (Source::Store(store), _) => SEGMENT_NS * (store.stats().segment_count + 1) as f64,
            (Source::Files(_), Question::Nearest { .. }) if is_far => f64::INFINITY,
            (Source::Files(set), _) => {
                let cost: f64 = set.segments().map(|file| file.plan(distance).ns()).sum();
                match question {
                    // A search for the nearest tries small distances first, and usually ends there.
                    Question::Nearest { .. } => cost * 2.0,
                    Question::Within(_) => cost,
                }
            }
        }
    }

    pub(crate) fn size(&self) -> SourceSize {
        match self {
            Source::Files(set) => {
                let mut size = SourceSize::default();
                for summary in set.segments().map(|file| file.summary()) {
                    size.records += summary.record_count;
                    size.fingerprints += summary.fingerprint_count;
                    size.bytes += summary.file_len;
                    size.tables += summary.tables.len() as u64;
                }
                size
            }
            Source::Store(store) => {
                let stats = store.stats();
                SourceSize {
                    records: stats.record_count,
                    fingerprints: stats.record_count,
                    bytes: stats.segment_bytes,
                    tables: 0,
                }
            }
        }
    }

    /// Returns the figures of `simidx info --json`.
    ///
    /// # Errors
    /// Damage.
    pub(crate) fn figures(&self) -> simidx::Result<Value> {
        match self {
            Source::Files(set) => report::figures(set),
            Source::Store(store) => {
                let stats = store.stats();
                let shown = |error: Option<String>| Some(without_folder(&error?, store.path()));
                Ok(json!({
                    "width": store.width().bits(),
                    "max_distance": store.max_distance(),
                    "record_count": stats.record_count,
                    "recent_count": stats.recent_count,
                    "deleted_count": stats.deleted_count,
                    "segment_count": stats.segment_count,
                    "file_bytes": stats.segment_bytes,
                    "journal_bytes": stats.journal_bytes,
                    "pipeline": store.pipeline(),
                    "background_error": shown(stats.background_error),
                    "journal_error": shown(stats.journal_error),
                }))
            }
        }
    }

    /// The fraction of the files that is in memory, if the system reports it.
    pub(crate) fn resident_fraction(&self) -> Option<f64> {
        let Source::Files(set) = self else {
            return None;
        };
        let (mut resident, mut all) = (0.0, 0.0);
        for segment in set.segments() {
            let storage = segment.storage();
            let len = storage.as_ref().len() as f64;
            resident += storage.resident_fraction()? * len;
            all += len;
        }
        (all > 0.0).then(|| resident / all)
    }
}

/// Returns the generation of a collection after `change_count` changes. The number alone would be ambiguous, because
/// changes that a crash has lost had numbers too.
pub(crate) fn name_of(store: &Collection, change_count: u64) -> String {
    format!("{:016x}-{change_count:016x}", store.opening())
}

/// Converts an error of a collection to one of the library.
pub(crate) fn of_library(error: simidx_collection::Error) -> Error {
    match error {
        simidx_collection::Error::Index(error) => error,
        simidx_collection::Error::Io(error) => error.into(),
        other => std::io::Error::other(other).into(),
    }
}

/// Removes the folder of the collection from an error, because clients should not see it.
fn without_folder(error: &str, folder: &Path) -> String {
    let folder = folder.display();
    let files = error.replace(&format!("{folder}/"), "");
    files.replace(&format!("{folder}: "), "")
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
