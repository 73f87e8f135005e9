//! Indexes: opening and closing, figures, warming, the full check.

use std::ffi::{c_char, c_void};
use std::mem::offset_of;
use std::path::PathBuf;
use std::ptr::null_mut;

use simidx::index::WarmOptions;
use simidx::set::Segment;
use simidx::{Set, Storage};

use crate::border::{self, At, Buffer, Options};
use crate::handles::{self, Handle};
use crate::status::{Result, guard, simidx_status};
use crate::work::{Work, simidx_work_options};

/// An open index: one file, or several that are searched as one. All threads may use it at the same time.
pub struct simidx_index {
    _private: [u8; 0],
}

impl Handle for simidx_index {
    type Value = Set;
    const NAME: &'static str = "index";
}

/// Options of opening files. Set `struct_size` to `sizeof(simidx_open_options)`; 0 in all other fields is the default.
#[repr(C)]
#[derive(Debug, Clone, Copy)]
pub struct simidx_open_options {
    /// Size of this struct.
    pub struct_size: usize,
    /// 0: files are mapped, and must not be shortened or overwritten while they are open (replacing by a rename is
    /// safe). 1: files are read into memory.
    pub in_memory: u32,
    /// 1: all blocks are read and checked at once, as by `simidx_warm`, so that the first queries are as fast as later
    /// ones.
    pub warm: u32,
}

// SAFETY: 0 is a value of each field, and the first one is the size.
unsafe impl Options for simidx_open_options {
    const NAME: &'static str = "simidx_open_options";
    const FIRST_SIZE: usize = offset_of!(Self, warm) + size_of::<u32>();
}

/// The kind of the ids of an index.
#[repr(C)]
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum simidx_id_kind {
    /// No ids.
    SIMIDX_IDS_NONE = 0,
    /// 64-bit numbers.
    SIMIDX_IDS_NUMBERS = 1,
    /// Strings of 1 to 65,535 bytes of UTF-8.
    SIMIDX_IDS_STRINGS = 2,
}

/// Figures of an index. Set `struct_size` to `sizeof(simidx_info)` before the call.
#[repr(C)]
#[derive(Debug, Clone, Copy)]
pub struct simidx_info {
    /// Size of this struct; after the call, the number of bytes filled.
    pub struct_size: usize,
    /// Bits of a fingerprint: 32, 64 or 128.
    pub width: u32,
    /// The distance that the tables were chosen for. Queries may use any distance.
    pub max_distance: u32,
    /// The kind of the ids: a `simidx_id_kind`.
    pub id_kind: u32,
    /// 1 if all files store the order of their ids, with which an id is found in microseconds.
    pub has_id_lookup: u32,
    /// Number of files.
    pub segment_count: u64,
    /// Number of records of all files.
    pub record_count: u64,
    /// Number of distinct fingerprints; one in several files counts for each.
    pub fingerprint_count: u64,
    /// Bytes of all files.
    pub file_bytes: u64,
}

// SAFETY: 0 is a value of each field, and the first one is the size.
unsafe impl Options for simidx_info {
    const NAME: &'static str = "simidx_info";
    const FIRST_SIZE: usize = offset_of!(Self, file_bytes) + size_of::<u64>();
}

fn open(paths: &[PathBuf], options: &simidx_open_options) -> Result<*mut simidx_index> {
    let in_memory = border::switch("in_memory", options.in_memory)?;
    let warm = border::switch("warm", options.warm)?;
    let set = Work::quiet()?.run(|| {
        let set = match in_memory {
            true => Set::open_in_memory(paths)?,
            false => Set::open(paths)?,
        };
        if warm {
            set.warm(&WarmOptions::default())?;
        }
        Ok(set)
    })?;
    handles::open(set)
}

/// Opens an index file of any width. Close it with `simidx_close`.
///
/// @param path     the file; on Unix its bytes need not be UTF-8
/// @param options  may be NULL
/// @param out      the index; NULL if the call fails
#[unsafe(no_mangle)]
pub unsafe extern "C" fn simidx_open(
    path: *const c_char,
    options: *const simidx_open_options,
    out: *mut *mut simidx_index,
) -> simidx_status {
    guard(|| {
        // SAFETY: the caller's promises.
        let (out, options, path) = unsafe {
            (
                Buffer::one("out", out, null_mut())?,
                border::options(options)?,
                border::string("path", path)?,
            )
        };
        out.set(open(&[border::path("path", path)?], &options)?);
        Ok(())
    })
}

/// Opens several index files of one width, which are searched as one. A fingerprint in several of them is found once,
/// with the ids of all.
///
/// @param paths    `count` files
/// @param options  may be NULL
/// @param out      the index; NULL if the call fails
#[unsafe(no_mangle)]
pub unsafe extern "C" fn simidx_open_many(
    paths: *const *const c_char,
    count: usize,
    options: *const simidx_open_options,
    out: *mut *mut simidx_index,
) -> simidx_status {
    guard(|| {
        // SAFETY: the caller's promises.
        let (out, options, paths) = unsafe {
            (
                Buffer::one("out", out, null_mut())?,
                border::options(options)?,
                border::array("paths", paths, count)?,
            )
        };
        let path = |(number, &path)| {
            let name = At("paths", number);
            // SAFETY: the caller's promise.
            border::path("paths", unsafe { border::string(name, path) }?)
        };
        let paths: Result<Vec<PathBuf>> = paths.iter().enumerate().map(path).collect();
        out.set(open(&paths?, &options)?);
        Ok(())
    })
}

/// Opens an index in memory, without a copy. The bytes must stay there unchanged until the index and all its searchers
/// are closed.
///
/// @param bytes  `len` bytes, the whole file; they need not be aligned
/// @param out    the index; NULL if the call fails
#[unsafe(no_mangle)]
pub unsafe extern "C" fn simidx_open_memory(
    bytes: *const c_void,
    len: usize,
    out: *mut *mut simidx_index,
) -> simidx_status {
    guard(|| {
        // SAFETY: the caller's promises: the bytes stay as long as anything reads them.
        let (out, bytes) = unsafe {
            (
                Buffer::one("out", out, null_mut())?,
                border::array::<u8>("bytes", bytes.cast(), len)?,
            )
        };
        let set =
            Work::quiet()?.run(|| Ok(Set::from_bytes(Storage::lent(bytes))?.named("memory")))?;
        out.set(handles::open(set)?);
        Ok(())
    })
}

/// Closes an index. Its searchers stay valid; its files are closed when the last of them is freed. NULL and a closed
/// index are ignored.
#[unsafe(no_mangle)]
pub extern "C" fn simidx_close(index: *mut simidx_index) {
    handles::close(index);
}

/// Gets figures of an index. They are available without reading any file.
///
/// @param out its `struct_size` gives the size of the struct
#[unsafe(no_mangle)]
pub unsafe extern "C" fn simidx_index_info(
    index: *const simidx_index,
    out: *mut simidx_info,
) -> simidx_status {
    guard(|| {
        let info = info(&*handles::get(index)?);
        // SAFETY: the caller's promise.
        unsafe { border::fill_struct(out, &info) }
    })
}

fn info(set: &Set) -> simidx_info {
    let summaries: Vec<_> = set.segments().map(Segment::summary).collect();
    let kind = match set.id_kind() {
        simidx::IdKind::None => simidx_id_kind::SIMIDX_IDS_NONE,
        simidx::IdKind::Number => simidx_id_kind::SIMIDX_IDS_NUMBERS,
        simidx::IdKind::String => simidx_id_kind::SIMIDX_IDS_STRINGS,
    };
    simidx_info {
        struct_size: size_of::<simidx_info>(),
        width: set.width().bits(),
        max_distance: set.max_distance(),
        id_kind: kind as u32,
        has_id_lookup: summaries.iter().all(|summary| summary.has_id_lookup).into(),
        segment_count: summaries.len() as u64,
        record_count: set.record_count(),
        fingerprint_count: summaries.iter().map(|s| s.fingerprint_count).sum(),
        file_bytes: summaries.iter().map(|summary| summary.file_len).sum(),
    }
}

/// Gets the description of the pipeline that made the fingerprints: one line of JSON, which `simidx_pipeline_open`
/// accepts. `found` is 0 if the file does not record it.
///
/// @param buffer    receives the text, without a NUL
/// @param capacity  capacity of the buffer in bytes
/// @param found     number of bytes of the text; if it exceeds the capacity, call again with a larger buffer
#[unsafe(no_mangle)]
pub unsafe extern "C" fn simidx_index_pipeline(
    index: *const simidx_index,
    buffer: *mut c_char,
    capacity: usize,
    found: *mut usize,
) -> simidx_status {
    guard(|| {
        // SAFETY: the caller's promises.
        let (found, buffer) = unsafe { border::places(buffer.cast::<u8>(), capacity, found) }?;
        let set = handles::get(index)?;
        let bytes = set.pipeline().unwrap_or_default().as_bytes();
        buffer.put_all(0, bytes);
        found.set(bytes.len());
        Ok(())
    })
}

/// Loads all files into memory and checks each block once, on all threads, so that the first queries are as fast as
/// later ones. Fails with the first damaged block.
///
/// @param options  may be NULL
#[unsafe(no_mangle)]
pub unsafe extern "C" fn simidx_warm(
    index: *const simidx_index,
    options: *const simidx_work_options,
) -> simidx_status {
    guard(|| {
        // SAFETY: the caller's promise.
        let work = unsafe { Work::read(options) }?;
        let set = handles::get(index)?;
        work.run(|| {
            let options = WarmOptions::default().threads(work.threads());
            set.warm(&options.watch(work.watch()))?;
            Ok(())
        })
    })
}

/// Checks every byte of the files against every rule of the format. Fails with the first problem.
///
/// @param options  may be NULL
#[unsafe(no_mangle)]
pub unsafe extern "C" fn simidx_verify(
    index: *const simidx_index,
    options: *const simidx_work_options,
) -> simidx_status {
    guard(|| {
        // SAFETY: the caller's promise.
        let work = unsafe { Work::read(options) }?;
        let set = handles::get(index)?;
        work.run(|| Ok(set.verify(&work.watch())?))
    })
}
