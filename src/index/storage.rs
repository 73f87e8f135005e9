//! Where the bytes of an index lie: mapped from a file, read into memory, or in memory of the caller.

use std::fs::File;
use std::io::{self, Read};
use std::path::Path;
#[cfg(feature = "mmap")]
use std::path::PathBuf;
use std::sync::atomic::{AtomicBool, Ordering};

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
pub struct Storage {
    bytes: Bytes,
    /// Whether [`Storage::lock`] keeps the bytes in memory.
    locked: AtomicBool,
}

#[derive(Debug)]
enum Bytes {
    #[cfg(feature = "mmap")]
    Mapped(memmap2::Mmap, Box<Origin>),
    Memory(Vec<u8>),
    Lent(&'static [u8]),
}

/// The file behind a mapping, which is asked for its length again by its name: an open file for each mapping would set a
/// limit to their number.
#[cfg(feature = "mmap")]
#[derive(Debug)]
struct Origin {
    path: PathBuf,
    identity: (u64, u64),
}

/// What tells a file from another one of the same name, where the system has that.
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
        match &self.bytes {
            #[cfg(feature = "mmap")]
            Bytes::Mapped(map, _) => map,
            Bytes::Memory(bytes) => bytes,
            Bytes::Lent(bytes) => bytes,
        }
    }
}

/// The bytes of a file as they are, without a copy.
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
        Storage::of(Bytes::Memory(bytes))
    }
}

impl Drop for Storage {
    fn drop(&mut self) {
        // What was read into memory goes back to an allocator, which may keep it.
        if *self.locked.get_mut() {
            memory::unlock(self.as_ref());
        }
    }
}

impl Storage {
    fn of(bytes: Bytes) -> Self {
        Storage {
            bytes,
            locked: AtomicBool::new(false),
        }
    }

    /// Maps a file.
    ///
    /// A mapping shows the file as it is, not as it was:
    ///
    /// - Another file renamed over it, or its removal, changes nothing: the mapping keeps the old one, and who opens the name
    ///   again gets the new one. So `simidx build` and `merge` replace their outputs.
    /// - Shortening it raises SIGBUS in the process that reads what is gone, and no error can be returned for that.
    ///   [`Storage::check_len`] tells whether it has happened; opening asks once.
    /// - Overwriting it is an error where a block or page that has not been used yet no longer fits its checksum. **What has
    ///   been checked is not checked again** except by [`Index::verify`](crate::Index::verify), which makes queries refuse
    ///   the blocks and pages that it finds damaged; keys and parameters have been read for good, and a block of another index has a right checksum too:
    ///   then answers can be wrong. Nothing panics, and no byte outside the mapping is read.
    ///
    /// Where files are not replaced by renaming, use [`Storage::read`].
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
        Ok(Storage::of(Bytes::Mapped(map, Box::new(origin))))
    }

    /// Asks whether a mapped file still has the length that it had when it was mapped: one call of the system. It may be
    /// shortened right behind the answer. Bytes in memory are always whole; of a file that no longer has its name nothing is
    /// known, and it passes.
    ///
    /// # Errors
    /// The file has another length now; the message names it.
    pub fn check_len(&self) -> Result<()> {
        #[cfg(feature = "mmap")]
        if let Bytes::Mapped(map, origin) = &self.bytes {
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

    /// Reads a file into memory, into huge pages where the system has them: random access is then a little quicker than
    /// in a mapping.
    ///
    /// # Errors
    /// The file cannot be opened, is not a regular file, or cannot be read; the message names it.
    pub fn read(path: impl AsRef<Path>) -> Result<Self> {
        let path = path.as_ref();
        let mut file = open_regular(path)?;
        let len = file.metadata().map_err(|e| named(path, e))?.len();
        // The length is the file's word: more than there is memory is an error and not the end of the process.
        let too_large = || named(path, io::ErrorKind::OutOfMemory.into());
        let len = usize::try_from(len).map_err(|_| too_large())?;
        let mut bytes = try_huge_vec(len).map_err(|_| too_large())?;
        file.read_to_end(&mut bytes).map_err(|e| named(path, e))?;
        Ok(Storage::of(Bytes::Memory(bytes)))
    }

    /// Copies bytes into memory, into huge pages where the system has them. [`Storage::from`] takes a
    /// vector as it is.
    pub fn copy(bytes: &[u8]) -> Self {
        let mut copy = huge_vec(bytes.len());
        copy.extend_from_slice(bytes);
        Storage::of(Bytes::Memory(copy))
    }

    /// Bytes that are in memory as long as the process, without a copy: part of the program, or what was leaked.
    ///
    /// ```
    /// use simidx::{Set, Storage};
    ///
    /// static FILE: &[u8] = b"no index"; // or include_bytes!("pages.simidx")
    /// assert!(Set::from_bytes(Storage::lent(FILE)).is_err());
    /// ```
    pub fn lent(bytes: &'static [u8]) -> Self {
        Storage::of(Bytes::Lent(bytes))
    }

    /// Brings all bytes to memory, in about the time of reading the file, and keeps them there until the storage is dropped:
    /// no query waits for a disk then. Locking a second time does nothing. What a page is checked for on its first use remains
    /// to be done, see [`Index::warm`](crate::Index::warm).
    ///
    /// # Errors
    /// [`Error::Budget`] if the limit of the process, RLIMIT_MEMLOCK (`ulimit -l`), is smaller than the file; otherwise
    /// what the operating system reports, with the limit; [`io::ErrorKind::Unsupported`] where memory cannot be locked, which
    /// is on systems other than Unix and without the feature `mmap`. Nothing is locked then.
    pub fn lock(&self) -> Result<()> {
        memory::lock(self.as_ref())?;
        self.locked.store(true, Ordering::Relaxed);
        Ok(())
    }

    /// The part of the file, from 0 to 1, that is in memory, whichever process has brought it there; `None` where the system
    /// does not say: only Linux does, and only with the feature `mmap`. Of a mapped file that this user neither owns nor may
    /// write, Linux says that it is all in memory. A call of the system for each 64 MiB.
    pub fn resident_fraction(&self) -> Option<f64> {
        memory::resident_fraction(self.as_ref())
    }

    /// Says that the bytes of a mapping will be read here and there: without it a system may read megabytes around each
    /// page that a query needs. The methods that read a whole table ask for what comes next themselves.
    pub fn advise_random(&self) {
        match &self.bytes {
            // Advice that is not taken is no fault.
            #[cfg(all(feature = "mmap", unix))]
            Bytes::Mapped(map, _) => drop(map.advise(memmap2::Advice::Random)),
            #[cfg(all(feature = "mmap", not(unix)))]
            Bytes::Mapped(..) => {}
            Bytes::Memory(_) | Bytes::Lent(_) => {}
        }
    }

    /// Drops the pages of a mapping from this process, so that the next use reads them again. Bytes in
    /// memory stay.
    ///
    /// # Errors
    /// What the operating system reports.
    #[cfg(all(feature = "mmap", unix))]
    pub fn evict(&self) -> io::Result<()> {
        match &self.bytes {
            #[expect(unsafe_code, reason = "memmap2 marks the advice as unsafe")]
            // SAFETY: the mapping is of a file, shared with it and read-only, so no page holds what the file does not:
            // those that are dropped come back with the same contents, for threads that read them meanwhile too.
            Bytes::Mapped(map, _) => unsafe {
                map.unchecked_advise(memmap2::UncheckedAdvice::DontNeed)
            },
            Bytes::Memory(_) | Bytes::Lent(_) => Ok(()),
        }
    }
}

fn open_regular(path: &Path) -> Result<File> {
    // Asked before the file is opened: opening a pipe would wait for somebody to write to it.
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
