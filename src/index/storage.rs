//! The bytes of an index: mapped from a file, read into memory, or provided by the caller.

use std::fs::File;
use std::io::{self, Read};
use std::path::Path;
#[cfg(feature = "mmap")]
use std::path::PathBuf;

use crate::error::{Error, Result};
use crate::memory::{self, huge_vec, try_huge_vec};

/// The bytes of an index file.
///
/// ```
/// use simidx::{BuildOptions, Index, IndexBuilder, Storage, Width};
///
/// let mut builder = IndexBuilder::new(Width::W64, BuildOptions::default())?;
/// builder.push(42_u64)?;
/// let mut file = Vec::new();
/// builder.finish(&mut file)?;
/// let index = Index::<u64>::from_bytes(Storage::copy(&file))?;
/// assert_eq!(index.storage().as_ref(), file);
/// # Ok::<(), simidx::Error>(())
/// ```
#[derive(Debug)]
pub struct Storage(Bytes);

#[derive(Debug)]
enum Bytes {
    #[cfg(feature = "mmap")]
    Mapped(memmap2::Mmap, Box<Origin>),
    Memory(Vec<u8>),
    Lent(&'static [u8]),
}

/// The file of a mapping. Its length is queried by name, because keeping a file open for each mapping would limit their
/// number.
#[cfg(feature = "mmap")]
#[derive(Debug)]
struct Origin {
    path: PathBuf,
    identity: (u64, u64),
}

/// Returns what distinguishes a file from another of the same name, if the system provides it.
#[cfg(feature = "mmap")]
fn identity(metadata: &std::fs::Metadata) -> (u64, u64) {
    #[cfg(unix)]
    {
        use std::os::unix::fs::MetadataExt;
        (metadata.dev(), metadata.ino())
    }
    #[cfg(not(unix))]
    {
        let _ = metadata;
        (0, 0)
    }
}

impl AsRef<[u8]> for Storage {
    #[inline]
    fn as_ref(&self) -> &[u8] {
        match &self.0 {
            #[cfg(feature = "mmap")]
            Bytes::Mapped(map, _) => map,
            Bytes::Memory(bytes) => bytes,
            Bytes::Lent(bytes) => bytes,
        }
    }
}

/// Takes the bytes of a file without copying them.
///
/// ```
/// use simidx::{BuildOptions, Index, IndexBuilder, Storage, Width};
///
/// let mut file = Vec::new();
/// IndexBuilder::new(Width::W64, BuildOptions::default())?.finish(&mut file)?;
/// let index: Index<u64> = Index::from_bytes(Storage::from(file))?;
/// assert!(index.is_empty());
/// # Ok::<(), simidx::Error>(())
/// ```
impl From<Vec<u8>> for Storage {
    fn from(bytes: Vec<u8>) -> Self {
        Storage(Bytes::Memory(bytes))
    }
}

impl Storage {
    /// Maps a file.
    ///
    /// A mapping shows the current contents of the file:
    ///
    /// - Renaming another file over it, or removing it, is safe: the mapping keeps the old file, and opening the name
    ///   again gives the new one. `simidx build` and `merge` replace their outputs in this way.
    /// - Shortening it raises SIGBUS in the process that reads the missing part, which cannot be turned into an error.
    ///   [`Storage::check_len`] detects a shorter file; opening calls it once.
    /// - Overwriting it is an error if a block or page that has not been used yet no longer matches its checksum.
    ///   **Parts that have been checked are not checked again**, except by [`Index::verify`](crate::Index::verify),
    ///   after which queries refuse the blocks and pages found damaged. Keys and parameters are read only once, and a
    ///   block of another index has a valid checksum too, so answers can be wrong. Nothing panics, and no byte outside
    ///   the mapping is read.
    ///
    /// If files are not replaced by renaming, use [`Storage::read`].
    ///
    /// # Errors
    /// The file cannot be opened, is not a regular file, or cannot be mapped; the message names it.
    #[cfg(feature = "mmap")]
    pub fn map(path: impl AsRef<Path>) -> Result<Self> {
        let path = path.as_ref();
        let file = open_regular(path)?;
        #[expect(unsafe_code, reason = "the operating system offers no other mapping")]
        // SAFETY: the mapping is read-only, and nothing else in this process has its address. That nobody changes the
        // file meanwhile is the caller's promise, stated above: the language leaves open what comes of bytes that
        // change under a reference. As compilers are, a value is what it was when it was read, and all values are
        // treated as hostile: a broken promise yields an error or a wrong answer, and no index is used unchecked.
        let map = unsafe { memmap2::Mmap::map(&file) }.map_err(|e| named(path, e))?;
        let origin = Origin {
            path: path.to_owned(),
            identity: identity(&file.metadata().map_err(|e| named(path, e))?),
        };
        Ok(Storage(Bytes::Mapped(map, Box::new(origin))))
    }

    /// Checks that a mapped file still has the length that it had when it was mapped, by one system call. The file may
    /// still be shortened right afterwards. Bytes in memory always pass, and so does a file that no longer has its
    /// name, of which nothing is known.
    ///
    /// # Errors
    /// The file now has another length; the message names it.
    pub fn check_len(&self) -> Result<()> {
        #[cfg(feature = "mmap")]
        if let Bytes::Mapped(map, origin) = &self.0 {
            let now = std::fs::metadata(&origin.path).ok();
            let same = now.filter(|now| identity(now) == origin.identity);
            let mapped = map.len();
            if let Some(len) = same
                .map(|now| now.len())
                .filter(|&len| len != mapped as u64)
            {
                let message = format!("has {len} bytes now and had {mapped} when it was opened");
                let error = io::Error::new(io::ErrorKind::InvalidData, message);
                return Err(named(&origin.path, error));
            }
        }
        Ok(())
    }

    /// Reads a file into memory, into huge pages if the system supports them: random access is then slightly faster
    /// than in a mapping.
    ///
    /// # Errors
    /// The file cannot be opened, is not a regular file, or cannot be read; the message names it.
    pub fn read(path: impl AsRef<Path>) -> Result<Self> {
        let path = path.as_ref();
        let mut file = open_regular(path)?;
        let len = file.metadata().map_err(|e| named(path, e))?.len();
        // The length comes from the file: if it exceeds the memory, the result must be an error, not an abort.
        let too_large = || named(path, io::ErrorKind::OutOfMemory.into());
        let len = usize::try_from(len).map_err(|_| too_large())?;
        let mut bytes = try_huge_vec(len).map_err(|_| too_large())?;
        file.read_to_end(&mut bytes).map_err(|e| named(path, e))?;
        Ok(Storage(Bytes::Memory(bytes)))
    }

    /// Copies bytes into memory, into huge pages if the system supports them. [`Storage::from`] takes a vector without
    /// copying it.
    pub fn copy(bytes: &[u8]) -> Self {
        let mut copy = huge_vec(bytes.len());
        copy.extend_from_slice(bytes);
        Storage(Bytes::Memory(copy))
    }

    /// Takes static bytes without copying them: part of the program, or leaked memory.
    ///
    /// ```
    /// use simidx::{Set, Storage};
    ///
    /// static FILE: &[u8] = b"no index"; // or include_bytes!("pages.simidx")
    /// assert!(Set::from_bytes(Storage::lent(FILE)).is_err());
    /// ```
    pub fn lent(bytes: &'static [u8]) -> Self {
        Storage(Bytes::Lent(bytes))
    }

    /// Returns the fraction of the file that is in memory, from 0 to 1, whichever process has loaded it. `None` if the
    /// system does not report it: only Linux does, and only with the feature `mmap`. For a mapped file that this user
    /// neither owns nor may write, Linux reports that all of it is in memory. Takes one system call for each 64 MiB.
    pub fn resident_fraction(&self) -> Option<f64> {
        memory::resident_fraction(self.as_ref())
    }

    /// Advises the system that a mapping will be read at random: otherwise it may read megabytes around each page that
    /// a query needs. Methods that read a whole table request the next parts themselves.
    pub fn advise_random(&self) {
        match &self.0 {
            // Ignored advice is not an error.
            #[cfg(all(feature = "mmap", unix))]
            Bytes::Mapped(map, _) => drop(map.advise(memmap2::Advice::Random)),
            #[cfg(all(feature = "mmap", not(unix)))]
            Bytes::Mapped(..) => {}
            Bytes::Memory(_) | Bytes::Lent(_) => {}
        }
    }

    /// Drops the pages of a mapping from this process, so that the next use reads them again. Bytes in memory stay.
    ///
    /// # Errors
    /// Any error of the operating system.
    #[cfg(all(feature = "mmap", unix))]
    pub fn evict(&self) -> io::Result<()> {
        match &self.0 {
            #[expect(unsafe_code, reason = "memmap2 marks the advice as unsafe")]
            // SAFETY: the mapping is of a file, shared with it and read-only, so every page holds only what the file
            // holds. Dropped pages come back with the same contents, also for threads that read them meanwhile.
            Bytes::Mapped(map, _) => unsafe {
                map.unchecked_advise(memmap2::UncheckedAdvice::DontNeed)
            },
            Bytes::Memory(_) | Bytes::Lent(_) => Ok(()),
        }
    }
}

fn open_regular(path: &Path) -> Result<File> {
    // Checked before the file is opened, because opening a pipe would wait for a writer.
    let metadata = std::fs::metadata(path).map_err(|e| named(path, e))?;
    if metadata.is_dir() {
        let error = io::Error::new(io::ErrorKind::IsADirectory, "is a directory");
        return Err(named(path, error));
    }
    if !metadata.is_file() {
        let error = io::Error::new(io::ErrorKind::InvalidInput, "is not a regular file");
        return Err(named(path, error));
    }
    File::open(path).map_err(|e| named(path, e))
}

fn named(path: &Path, error: io::Error) -> Error {
    io::Error::new(error.kind(), format!("{}: {error}", path.display())).into()
}
