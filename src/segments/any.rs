//! Segments whose width is known only when their headers have been read.

use std::path::Path;

use super::{Manifest, Segments, differ, no_segment};
use crate::error::{Error, Result};
use crate::fingerprint::Fingerprint;
use crate::index::{AnyIndex, Index};

/// [`Segments`] of one of the three widths.
///
/// ```
/// # use simidx::{BuildOptions, IndexBuilder};
/// use simidx::AnyIndex;
/// use simidx::segments::AnySegments;
///
/// # let mut builder = IndexBuilder::<u64>::new(BuildOptions::default())?;
/// # builder.push(7)?;
/// # let mut file = Vec::new();
/// # builder.finish(&mut file)?;
/// let index = AnyIndex::from_bytes(file)?;
/// match AnySegments::with_names(vec![("pages".to_owned(), index)])? {
///     AnySegments::W64(segments) => assert_eq!(segments.names(), ["pages"]),
///     _ => println!("not for this program"),
/// }
/// # Ok::<(), simidx::Error>(())
/// ```
#[derive(Debug)]
pub enum AnySegments {
    /// 32-bit fingerprints.
    W32(Segments<u32>),
    /// 64-bit fingerprints.
    W64(Segments<u64>),
    /// 128-bit fingerprints.
    W128(Segments<u128>),
}

impl AnySegments {
    /// Opens index files of one width, whatever it is, by mapping them, as [`Index::open`] does. Their paths are their
    /// names. In place of a set, which is a folder with a [`Manifest`] or that file itself, its segments are opened.
    ///
    /// # Errors
    /// As for [`Index::open`], as an [`Error::Segment`] but for what the operating system reports, which names the file
    /// already; and as for [`Manifest::read_and_open`] and [`AnySegments::with_names`].
    #[cfg(feature = "mmap")]
    pub fn open<P: AsRef<Path>>(paths: impl IntoIterator<Item = P>) -> Result<Self> {
        Self::open_each(paths, |path| AnyIndex::open(path))
    }

    /// Opens index files and sets of one width, whatever it is, by reading them into memory.
    ///
    /// # Errors
    /// As for [`Index::open_in_memory`], [`Manifest::read_and_open`] and [`AnySegments::with_names`].
    pub fn open_in_memory<P: AsRef<Path>>(paths: impl IntoIterator<Item = P>) -> Result<Self> {
        Self::open_each(paths, |path| AnyIndex::open_in_memory(path))
    }

    fn open_each<P: AsRef<Path>>(
        paths: impl IntoIterator<Item = P>,
        open: impl Fn(&Path) -> Result<AnyIndex>,
    ) -> Result<Self> {
        let mut segments = Vec::new();
        for path in paths {
            let path = path.as_ref();
            // What cannot be read is refused when it is opened.
            if Manifest::is_at(path).unwrap_or(false) {
                let (manifest, indexes) = Manifest::read_and_open(path, &open)?;
                let names = manifest.paths().map(|path| path.display().to_string());
                segments.extend(names.zip(indexes));
                continue;
            }
            let name = path.display().to_string();
            let index = open(path).map_err(|error| match error {
                Error::Io(_) => error,
                error => Error::Segment {
                    segment: segments.len(),
                    name: name.clone(),
                    error: Box::new(error),
                },
            })?;
            segments.push((name, index));
        }
        Self::with_names(segments)
    }
}

impl AnySegments {
    /// The segments, each with the name that errors shall call it.
    ///
    /// # Errors
    /// [`Error::Options`] if there is no segment; [`Error::Mismatch`] if two differ in their width, or as for
    /// [`Segments::with_names`].
    pub fn with_names(segments: Vec<(String, AnyIndex)>) -> Result<Self> {
        let (first_name, first) = segments.first().ok_or_else(no_segment)?;
        let widths = |index: &AnyIndex| [first, index].map(AnyIndex::width);
        for (name, index) in &segments {
            if index.width() != first.width() {
                let way_out = "fingerprints of different widths cannot be compared";
                return Err(differ(
                    [first_name, name],
                    "their width",
                    widths(index),
                    way_out,
                ));
            }
        }
        Ok(match first {
            AnyIndex::W32(_) => AnySegments::W32(collect(segments, |any| match any {
                AnyIndex::W32(index) => Some(index),
                _ => None,
            })?),
            AnyIndex::W64(_) => AnySegments::W64(collect(segments, |any| match any {
                AnyIndex::W64(index) => Some(index),
                _ => None,
            })?),
            AnyIndex::W128(_) => AnySegments::W128(collect(segments, |any| match any {
                AnyIndex::W128(index) => Some(index),
                _ => None,
            })?),
        })
    }
}

/// The segments of the width that `select` knows.
fn collect<F: Fingerprint>(
    segments: Vec<(String, AnyIndex)>,
    select: impl Fn(AnyIndex) -> Option<Index<F>>,
) -> Result<Segments<F>> {
    let segments = segments.into_iter();
    let selected = segments.filter_map(|(name, index)| Some((name, select(index)?)));
    Segments::with_names(selected.collect())
}
