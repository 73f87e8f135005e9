//! Building an index file from arrays of fingerprints and ids.

use std::ffi::{c_char, c_void};
use std::mem::offset_of;
use std::path::Path;
use std::ptr::{null, null_mut};
use std::sync::{Mutex, TryLockError};

use simidx::builder::AtomicFile;
use simidx::design::TableDesign;
use simidx::{BuildOptions, Codec, Column, IdKind, IndexBuilder, Width};

use crate::border::{self, At, Buffer, Options};
use crate::fingerprint::{Many, known_width};
use crate::handles::{self, Handle};
use crate::status::simidx_status::{SIMIDX_ERROR_BUSY, SIMIDX_ERROR_CLOSED, SIMIDX_ERROR_INPUT};
use crate::status::{Failure, Result, guard, simidx_status};
use crate::text::{description, simidx_pipeline};
use crate::work::{Work, simidx_progress};

/// Records between two progress reports.
const PIECE: usize = 1 << 16;

/// Options of a build, and the ids. Set `struct_size` to `sizeof(simidx_build_options)`; 0 in all other fields is the
/// default. At most one of `id_numbers`, `id_strings` and `id_ends` may be set; if all are NULL, the index has no ids.
#[repr(C)]
#[derive(Debug, Clone, Copy)]
pub struct simidx_build_options {
    /// Size of this struct.
    pub struct_size: usize,
    /// Number ids, one for each fingerprint.
    pub id_numbers: *const u64,
    /// String ids, one for each fingerprint: NUL-terminated UTF-8.
    pub id_strings: *const *const c_char,
    /// The end of each id in `id_bytes`, one for each fingerprint. The first id starts at 0, the others at the end of
    /// the one before.
    pub id_ends: *const u64,
    /// String ids, concatenated.
    pub id_bytes: *const c_char,
    /// Length of `id_bytes`.
    pub id_bytes_len: usize,
    /// The pipeline that made the fingerprints, to be recorded in the file.
    pub pipeline: *const simidx_pipeline,
    /// The most bytes of memory; more goes to temporary files. 0: no limit.
    pub memory: u64,
    /// The folder for temporary files; NULL for that of the system.
    pub temp_dir: *const c_char,
    /// "lines", "ef", "gap" or "xor"; NULL chooses by the data.
    pub codec: *const c_char,
    /// Number of tables; 0 lets the planner choose.
    pub tables: u32,
    /// Bytes of a block, a power of two from 128 to 8,192; 0 for 512.
    pub block_size: u32,
    /// 1: the file stores the order of its ids, with which `simidx_find_string` takes microseconds.
    pub id_lookup: u32,
    /// Number of threads, for this call alone; 0 for threads that such calls share, as many as the processor runs at a
    /// time.
    pub threads: u32,
    /// Called with the progress, unless it is NULL.
    pub progress: simidx_progress,
    /// Passed to `progress`.
    pub user: *mut c_void,
}

// SAFETY: 0 is a value of each field, and the first one is the size.
unsafe impl Options for simidx_build_options {
    const NAME: &'static str = "simidx_build_options";
    const FIRST_SIZE: usize = offset_of!(Self, user) + size_of::<*mut c_void>();
}

/// The ids of the caller.
enum Ids<'a> {
    None,
    Numbers(&'a [u64]),
    Strings(Vec<&'a str>),
}

impl<'a> Ids<'a> {
    fn kind(&self) -> IdKind {
        match self {
            Ids::None => IdKind::None,
            Ids::Numbers(_) => IdKind::Number,
            Ids::Strings(_) => IdKind::String,
        }
    }

    /// # Safety
    /// The arrays are as the options say.
    unsafe fn read(options: &simidx_build_options, count: usize) -> Result<Self> {
        let given = [
            !options.id_numbers.is_null(),
            !options.id_strings.is_null(),
            !options.id_ends.is_null(),
        ];
        match given {
            [false, false, false] => Ok(Ids::None),
            // SAFETY: the caller's promise.
            [true, false, false] => unsafe {
                Ok(Ids::Numbers(border::array(
                    "id_numbers",
                    options.id_numbers,
                    count,
                )?))
            },
            // SAFETY: the caller's promise.
            [false, true, false] => unsafe {
                let strings = border::texts("id_strings", options.id_strings, null(), count)?;
                Ok(Ids::Strings(strings))
            },
            // SAFETY: the caller's promise.
            [false, false, true] => unsafe {
                let ends = border::array("id_ends", options.id_ends, count)?;
                let bytes = options.id_bytes.cast::<u8>();
                let bytes = border::array("id_bytes", bytes, options.id_bytes_len)?;
                Self::column(ends, bytes)
            },
            _ => {
                let message = "only one of id_numbers, id_strings and id_ends can be given";
                Err(Failure::argument(message))
            }
        }
    }

    fn column(ends: &[u64], bytes: &'a [u8]) -> Result<Self> {
        let mut start = 0;
        let mut strings = Vec::with_capacity(ends.len());
        for (number, &end) in ends.iter().enumerate() {
            let text = usize::try_from(end).ok();
            let text = text.and_then(|end| bytes.get(std::mem::replace(&mut start, end)..end));
            let text = text.ok_or_else(|| {
                let message = format!(
                    "id_ends[{number}] is before the one before it, or after the end of id_bytes"
                );
                Failure::argument(message)
            })?;
            strings.push(border::utf8(At("id", number), text)?);
        }
        Ok(Ids::Strings(strings))
    }
}

/// Writes an index of these fingerprints, in any order, to a file. The complete file replaces any file of its name once
/// it is on disk; if the call fails, that file is unchanged. The same records give the same bytes, with any number of
/// threads and any memory.
///
/// @param path          the file; on Unix its bytes need not be UTF-8
/// @param fingerprints  `count` values of `uint32_t`, `uint64_t` or `simidx_fingerprint`, one for each record
/// @param width         their bits: 32, 64 or 128
/// @param max_distance  the distance that the tables are chosen for: 0 to 12. Queries may use any distance
/// @param options       may be NULL
#[unsafe(no_mangle)]
pub unsafe extern "C" fn simidx_build(
    path: *const c_char,
    fingerprints: *const c_void,
    width: u32,
    count: usize,
    max_distance: u32,
    options: *const simidx_build_options,
) -> simidx_status {
    guard(|| {
        // SAFETY: the caller's promises.
        unsafe {
            let options = border::options(options)?;
            let path = border::path("path", border::string("path", path)?)?;
            let fingerprints = Many::new(fingerprints, width, count);
            let ids = Ids::read(&options, count)?;
            let width = known_width(width)?;
            let building = build_options(width, max_distance, &options, ids.kind())?;
            let work = Work::new(options.threads, options.progress, options.user)?;
            fingerprints.with(width, |column| {
                work.run(|| {
                    let mut building = Building::new(&path, width, building, &work)?;
                    building.add(column, &ids, count as u64)?;
                    building.finish()
                })
            })
        }
    })
}

/// An index file under construction, whose records are added in batches. Only one thread may use it at a time.
pub struct simidx_builder {
    _private: [u8; 0],
}

impl Handle for simidx_builder {
    /// Nothing after a failure.
    type Value = Mutex<Option<Building>>;
    const NAME: &'static str = "builder";
}

/// Begins an index file whose records are added in batches, which need not be in memory at the same time. With `memory`
/// in the options, the library holds no more than that either. The file is that of `simidx_build` with all records.
///
/// @param path          the file, as for `simidx_build`; it appears when the build is finished
/// @param width         bits of the fingerprints: 32, 64 or 128
/// @param id_kind       the kind of the ids: a `simidx_id_kind`
/// @param max_distance  the distance that the tables are chosen for: 0 to 12. Queries may use any distance
/// @param options       may be NULL. It has no ids. Its progress function may be called until the builder is closed
/// @param out           the builder, to be closed by `simidx_builder_finish` or `simidx_builder_abort`; NULL if the call
///                      fails
#[unsafe(no_mangle)]
pub unsafe extern "C" fn simidx_builder_new(
    path: *const c_char,
    width: u32,
    id_kind: u32,
    max_distance: u32,
    options: *const simidx_build_options,
    out: *mut *mut simidx_builder,
) -> simidx_status {
    guard(|| {
        // SAFETY: the caller's promises.
        unsafe {
            let out = Buffer::one("out", out, null_mut())?;
            let options = border::options(options)?;
            let path = border::path("path", border::string("path", path)?)?;
            let width = known_width(width)?;
            if !matches!(Ids::read(&options, 0)?, Ids::None) {
                let message = "the options of a builder have no ids; each batch has its own";
                return Err(Failure::argument(message));
            }
            let kind = match id_kind {
                0 => IdKind::None,
                1 => IdKind::Number,
                2 => IdKind::String,
                _ => {
                    let message = format!("id_kind is {id_kind}; there are 0, 1 and 2");
                    return Err(Failure::argument(message));
                }
            };
            let building = build_options(width, max_distance, &options, kind)?;
            let work = Work::new(options.threads, options.progress, options.user)?;
            let building = Building::new(&path, width, building, &work)?;
            out.set(handles::open(Mutex::new(Some(building)))?);
            Ok(())
        }
    })
}

/// Adds records to an index file under construction, in any order. They are copied. If the call fails, but for
/// SIMIDX_ERROR_BUSY, the builder can only be closed.
///
/// @param fingerprints  `count` values of `uint32_t`, `uint64_t` or `simidx_fingerprint`, one for each record
/// @param width         their bits: 32, 64 or 128, those of the builder
/// @param ids           options with the ids of these records and nothing else; NULL if the index has no ids
#[unsafe(no_mangle)]
pub unsafe extern "C" fn simidx_builder_add(
    builder: *mut simidx_builder,
    fingerprints: *const c_void,
    width: u32,
    count: usize,
    ids: *const simidx_build_options,
) -> simidx_status {
    change(builder, |mut building| {
        // SAFETY: the caller's promises.
        let (ids, fingerprints) = unsafe {
            let ids = border::options(ids)?;
            check_batch(&ids)?;
            let fingerprints = Many::new(fingerprints, width, count);
            (Ids::read(&ids, count)?, fingerprints)
        };
        let work = building.work.clone();
        fingerprints.with(building.width, move |column| {
            work.run(move || {
                building.add(column, &ids, 0)?;
                Ok(Some(building))
            })
        })
    })
}

/// Checks that the options of a batch have nothing but ids.
fn check_batch(options: &simidx_build_options) -> Result<()> {
    let others = [
        ("pipeline", !options.pipeline.is_null()),
        ("memory", options.memory > 0),
        ("temp_dir", !options.temp_dir.is_null()),
        ("codec", !options.codec.is_null()),
        ("tables", options.tables > 0),
        ("block_size", options.block_size > 0),
        ("id_lookup", options.id_lookup > 0),
        ("threads", options.threads > 0),
        ("progress", options.progress.is_some()),
    ];
    match others.iter().find(|(_, is_given)| *is_given) {
        Some((name, _)) => {
            let message = format!("{name} is an option of the builder, and not of a batch");
            Err(Failure::argument(message))
        }
        None => Ok(()),
    }
}

/// Writes the index file of all added records, as `simidx_build` does. Closes the builder, even if the call fails,
/// but for SIMIDX_ERROR_BUSY.
#[unsafe(no_mangle)]
pub extern "C" fn simidx_builder_finish(builder: *mut simidx_builder) -> simidx_status {
    let status = change(builder, |building| {
        let work = building.work.clone();
        work.run(|| building.finish())?;
        Ok(None)
    });
    if status != SIMIDX_ERROR_BUSY {
        handles::close(builder);
    }
    status
}

/// Closes a builder without an index file: any file of its name is unchanged. NULL and a closed builder are ignored.
#[unsafe(no_mangle)]
pub extern "C" fn simidx_builder_abort(builder: *mut simidx_builder) {
    handles::close(builder);
}

/// Changes what is under construction. A failure ends it.
fn change(
    builder: *const simidx_builder,
    work: impl FnOnce(Building) -> Result<Option<Building>>,
) -> simidx_status {
    guard(|| {
        let value = handles::get(builder)?;
        let mut value = match value.try_lock() {
            Ok(value) => value,
            Err(TryLockError::Poisoned(poisoned)) => poisoned.into_inner(),
            Err(TryLockError::WouldBlock) => {
                let message = "another thread is using the builder";
                return Err(Failure::new(SIMIDX_ERROR_BUSY, message));
            }
        };
        let building = value.take().ok_or_else(|| {
            let message = "the builder has failed before, and can only be closed";
            Failure::new(SIMIDX_ERROR_CLOSED, message)
        })?;
        *value = work(building)?;
        Ok(())
    })
}

/// # Safety
/// The strings in the options are NUL-terminated.
unsafe fn build_options(
    width: Width,
    max_distance: u32,
    given: &simidx_build_options,
    ids: IdKind,
) -> Result<BuildOptions> {
    let mut options = BuildOptions::default();
    options.max_distance = max_distance;
    options.ids = ids;
    options.pipeline = description(given.pipeline)?;
    options.memory = Some(given.memory).filter(|&memory| memory > 0);
    if given.tables > 0 {
        let design = TableDesign::with_table_count(width, max_distance, given.tables as usize);
        options.design = Some(design?);
    }
    if given.block_size > 0 {
        options.block_size = given.block_size;
    }
    options.id_lookup = border::switch("id_lookup", given.id_lookup)?;
    // SAFETY: the caller's promises.
    let (codec, temp_dir) = unsafe {
        (
            border::optional_string(given.codec),
            border::optional_string(given.temp_dir),
        )
    };
    if let Some(codec) = codec {
        options.codec = Some(border::utf8("codec", codec)?.parse::<Codec>()?);
    }
    if let Some(temp_dir) = temp_dir {
        options.temp_dir = Some(border::path("temp_dir", temp_dir)?);
    }
    Ok(options)
}

/// A build under way.
pub(crate) struct Building {
    builder: IndexBuilder,
    width: Width,
    file: AtomicFile,
    work: Work,
}

impl Building {
    fn new(path: &Path, width: Width, options: BuildOptions, work: &Work) -> Result<Self> {
        Ok(Building {
            builder: IndexBuilder::new(width, options.watch(work.watch()))?,
            width,
            // The target is checked before the work.
            file: AtomicFile::create(path)?,
            work: work.clone(),
        })
    }

    /// Adds records, and reports their number of this total; 0 if it is not known.
    fn add(&mut self, fingerprints: Column<'_>, ids: &Ids<'_>, total: u64) -> Result<()> {
        let mut start = 0;
        for piece in fingerprints.chunks(PIECE) {
            match ids {
                Ids::None => self.builder.extend_from_slice(piece)?,
                Ids::Numbers(numbers) => {
                    for (fingerprint, &id) in piece.iter().zip(&numbers[start..]) {
                        self.builder.push_with_id(fingerprint, id)?;
                    }
                }
                Ids::Strings(strings) => {
                    for (row, fingerprint) in (start..).zip(piece.iter()) {
                        let pushed = self.builder.push_with_id(fingerprint, strings[row]);
                        pushed.map_err(|error| of_row(row, error))?;
                    }
                }
            }
            start += piece.len();
            let done = self.builder.record_count();
            self.work.report("read", done, total)?;
        }
        Ok(())
    }

    fn finish(mut self) -> Result<()> {
        self.builder.finish(&mut self.file)?;
        Ok(self.file.commit()?)
    }
}

/// Adds the number of the record to an error.
fn of_row(row: usize, error: simidx::Error) -> Failure {
    match error {
        simidx::Error::Build(error) => {
            Failure::new(SIMIDX_ERROR_INPUT, format!("id {row}: {error}"))
        }
        error => error.into(),
    }
}
