//! Building a file from an iterator of records.

use std::path::Path;

use crate::builder::{BuildOptions, IndexBuilder};
use crate::error::{Error, Result};
use crate::fingerprint::{Fingerprint, Width};
use crate::format::IdKind;
use crate::id::Id;
use crate::index::Index;
use crate::summary::Summary;

impl<F: Fingerprint> Index<F> {
    /// Builds an index file from fingerprints and ids with default options, which suit queries within distance 3. The
    /// ids are all numbers or all strings. The complete file replaces any file of that name once it is on disk.
    /// [`IndexBuilder`] has all options.
    ///
    /// ```
    /// use simidx::Index;
    ///
    /// # let folder = tempfile::tempdir()?;
    /// # let path = folder.path().join("pages.simidx");
    /// let pages = [(0xff00_u64, "home"), (0xff01, "index")];
    /// let summary = Index::build(&path, pages)?;
    /// assert_eq!(summary.record_count, 2);
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    ///
    /// # Errors
    /// Ids of two kinds, an empty string or one of more than 65,535 bytes, and the errors of
    /// [`IndexBuilder::finish_to_path`].
    pub fn build<'i, I: Into<Id<'i>>>(
        path: impl AsRef<Path>,
        records: impl IntoIterator<Item = (F, I)>,
    ) -> Result<Summary> {
        let records = records
            .into_iter()
            .map(|(fingerprint, id)| (fingerprint, id.into()));
        let mut records = records.peekable();
        let kind = match records.peek() {
            Some((_, Id::Number(_))) => IdKind::Number,
            Some((_, Id::String(_))) => IdKind::String,
            None => IdKind::None,
        };
        let mut builder = IndexBuilder::new(
            Width::of::<F>(),
            BuildOptions {
                ids: kind,
                ..BuildOptions::default()
            },
        )?;
        for (fingerprint, id) in records {
            match (kind, id) {
                (IdKind::Number, Id::Number(_)) | (IdKind::String, Id::String(_)) => {
                    builder.push_with_id(fingerprint, id)?;
                }
                _ => {
                    return Err(Error::option(
                        "records",
                        "ids are all numbers or all strings",
                    ));
                }
            }
        }
        builder.finish_to_path(path)
    }
}
