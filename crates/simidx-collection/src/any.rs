//! Collections whose width is known only when their manifests have been read.

use std::path::Path;

use crate::collection::Collection;
use crate::error::{Error, Result};
use crate::files;
use crate::options::Options;

/// A [`Collection`] of one of the three widths.
///
/// ```
/// use simidx_collection::{AnyCollection, Options};
///
/// # let folder = tempfile::tempdir()?;
/// # let path = folder.path().join("pages");
/// AnyCollection::create(&path, 128, Options::default())?.close()?;
/// match AnyCollection::open(&path, Options::default())? {
///     AnyCollection::W128(pages) => assert!(pages.is_empty()),
///     _ => println!("not for this program"),
/// }
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Debug)]
pub enum AnyCollection {
    /// 32-bit fingerprints.
    W32(Collection<u32>),
    /// 64-bit fingerprints.
    W64(Collection<u64>),
    /// 128-bit fingerprints.
    W128(Collection<u128>),
}

impl AnyCollection {
    /// Makes an empty collection of fingerprints of `width` bits in a folder.
    ///
    /// # Errors
    /// As for [`Collection::create`]; a width other than 32, 64 and 128.
    pub fn create(path: impl AsRef<Path>, width: u32, options: Options) -> Result<Self> {
        Ok(match width {
            32 => AnyCollection::W32(Collection::create(path, options)?),
            64 => AnyCollection::W64(Collection::create(path, options)?),
            128 => AnyCollection::W128(Collection::create(path, options)?),
            _ => {
                let message = format!("fingerprints have 32, 64 or 128 bits, not {width}");
                return Err(Error::Options(message));
            }
        })
    }

    /// Opens the collection of a folder, of whatever width.
    ///
    /// # Errors
    /// As for [`Collection::open`].
    pub fn open(path: impl AsRef<Path>, options: Options) -> Result<Self> {
        let (_, settings) = files::read_manifest(path.as_ref())?;
        Ok(match settings.width {
            32 => AnyCollection::W32(Collection::open(path, options)?),
            64 => AnyCollection::W64(Collection::open(path, options)?),
            128 => AnyCollection::W128(Collection::open(path, options)?),
            width => {
                return Err(Error::NotACollection {
                    path: path.as_ref().to_owned(),
                    message: format!("its manifest has {width} as its width"),
                });
            }
        })
    }

    /// Opens the collection of a folder, of whatever width, or makes one of `width` where there is none.
    ///
    /// # Errors
    /// As for [`AnyCollection::open`] and [`AnyCollection::create`].
    pub fn open_or_create(path: impl AsRef<Path>, width: u32, options: Options) -> Result<Self> {
        match files::has_manifest(path.as_ref())? {
            true => Self::open(path, options),
            false => Self::create(path, width, options),
        }
    }

    /// Bits of a fingerprint: 32, 64 or 128.
    pub fn width(&self) -> u32 {
        match self {
            AnyCollection::W32(_) => 32,
            AnyCollection::W64(_) => 64,
            AnyCollection::W128(_) => 128,
        }
    }

    /// Brings all changes to disk and ends the threads.
    ///
    /// # Errors
    /// As for [`Collection::close`].
    pub fn close(self) -> Result<()> {
        match self {
            AnyCollection::W32(collection) => collection.close(),
            AnyCollection::W64(collection) => collection.close(),
            AnyCollection::W128(collection) => collection.close(),
        }
    }
}
