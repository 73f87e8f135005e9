//! Building an index file from arrays of fingerprints and ids.

use std::ffi::{c_char, c_void};
use std::mem::offset_of;
use std::path::Path;

use simidx::builder::AtomicFile;
use simidx::design::TableDesign;
use simidx::{BuildOptions, Codec, Column, IdKind, IndexBuilder, Width};

use crate::border::{self, At, Options};
use crate::fingerprint::{Many, known_width};
use crate::status::simidx_status::SIMIDX_ERROR_INPUT;
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
            [false, true, false] => unsafe { Self::strings(options.id_strings, count) },
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

    /// # Safety
    /// All `count` strings are NUL-terminated.
    unsafe fn strings(strings: *const *const c_char, count: usize) -> Result<Self> {
        // SAFETY: the caller's promise.
        let strings = unsafe { border::array("id_strings", strings, count) }?;
        let string = |(number, &string): (usize, &*const c_char)| {
            let name = At("id_strings", number);
            // SAFETY: the caller's promise.
            border::utf8(name, unsafe { border::string(name, string) }?)
        };
        let strings: Result<Vec<&str>> = strings.iter().enumerate().map(string).collect();
        Ok(Ids::Strings(strings?))
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
            let building = build_options(width, max_distance, &options, &ids)?;
            let work = Work::new(options.threads, options.progress, options.user)?;
            fingerprints.with(width, |column| {
                work.run(|| write(building, &path, column, &ids, &work))
            })
        }
    })
}

/// # Safety
/// The strings in the options are NUL-terminated.
unsafe fn build_options(
    width: Width,
    max_distance: u32,
    given: &simidx_build_options,
    ids: &Ids<'_>,
) -> Result<BuildOptions> {
    let mut options = BuildOptions::default();
    options.max_distance = max_distance;
    options.ids = match ids {
        Ids::None => IdKind::None,
        Ids::Numbers(_) => IdKind::Number,
        Ids::Strings(_) => IdKind::String,
    };
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

fn write(
    options: BuildOptions,
    path: &Path,
    fingerprints: Column<'_>,
    ids: &Ids<'_>,
    work: &Work,
) -> Result<()> {
    let total = fingerprints.len() as u64;
    let mut builder = IndexBuilder::new(fingerprints.width(), options.watch(work.watch()))?;
    // The target is checked before the work.
    let mut file = AtomicFile::create(path)?;
    let mut start = 0;
    for piece in fingerprints.chunks(PIECE) {
        match ids {
            Ids::None => builder.extend_from_slice(piece)?,
            Ids::Numbers(numbers) => {
                for (fingerprint, &id) in piece.iter().zip(&numbers[start..]) {
                    builder.push_with_id(fingerprint, id)?;
                }
            }
            Ids::Strings(strings) => {
                for (row, fingerprint) in (start..).zip(piece.iter()) {
                    let pushed = builder.push_with_id(fingerprint, strings[row]);
                    pushed.map_err(|error| of_row(row, error))?;
                }
            }
        }
        start += piece.len();
        work.report("read", start as u64, total)?;
    }
    builder.finish(&mut file)?;
    Ok(file.commit()?)
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
