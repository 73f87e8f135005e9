//! Texts: pipelines, and the fingerprints that they make.

use std::ffi::{c_char, c_void};
use std::ptr::null_mut;

use simidx_text::assets::Assets;
use simidx_text::dedup::Similarity;
use simidx_text::similar::{Fate, SimilarOptions, SimilarTexts};
use simidx_text::{ParallelFingerprinter, Pipeline, PipelineOptions};

use crate::border::{self, Buffer};
use crate::fingerprint::{Out, known_width, simidx_fingerprint};
use crate::handles::{self, Handle};
use crate::status::{Failure, Result, guard, simidx_status};
use crate::work::{Work, simidx_work_options};

/// Texts between two progress reports.
const PIECE: usize = 4096;

/// A pipeline, which computes fingerprints of texts. All threads may use it at the same time.
pub struct simidx_pipeline {
    _private: [u8; 0],
}

impl Handle for simidx_pipeline {
    type Value = ParallelFingerprinter;
    const NAME: &'static str = "pipeline";
}

/// Opens a pipeline by its name, as in the option `--pipeline` of the program: a preset such as "web", optionally with
/// changed stages as in "web,shingle=4"; or by a description, the line of JSON from `simidx_index_pipeline`. Close it
/// with `simidx_pipeline_close`.
///
/// @param name   a NUL-terminated string
/// @param width  bits of the fingerprints: 32, 64 or 128
/// @param out    the pipeline; NULL if the call fails
#[unsafe(no_mangle)]
pub unsafe extern "C" fn simidx_pipeline_open(
    name: *const c_char,
    width: u32,
    out: *mut *mut simidx_pipeline,
) -> simidx_status {
    guard(|| {
        // SAFETY: the caller's promises.
        let (out, name) = unsafe {
            (
                Buffer::one("out", out, null_mut())?,
                border::string("name", name)?,
            )
        };
        let name = border::utf8("name", name)?;
        let pipeline = match name.starts_with('{') {
            true => Pipeline::parse(name, &Assets::default())?,
            false => Pipeline::new(name.parse::<PipelineOptions>()?)?,
        };
        let width = known_width(width)?;
        out.set(handles::open(pipeline.parallel(width)?)?);
        Ok(())
    })
}

/// Closes a pipeline. NULL and a closed pipeline are ignored.
#[unsafe(no_mangle)]
pub extern "C" fn simidx_pipeline_close(pipeline: *mut simidx_pipeline) {
    handles::close(pipeline);
}

/// Computes the fingerprint of one text, on this thread.
///
/// @param text  `len` bytes of UTF-8
/// @param len   bytes of the text
/// @param out   the fingerprint
#[unsafe(no_mangle)]
pub unsafe extern "C" fn simidx_fingerprint_text(
    pipeline: *const simidx_pipeline,
    text: *const c_char,
    len: usize,
    out: *mut simidx_fingerprint,
) -> simidx_status {
    guard(|| {
        // SAFETY: the caller's promises.
        let (out, text) = unsafe {
            (
                Buffer::new("out", out, 1)?,
                border::array::<u8>("text", text.cast(), len)?,
            )
        };
        let text = border::utf8("text", text)?;
        let pipeline = handles::get(pipeline)?;
        let fingerprint = pipeline.with(|fingerprinter| fingerprinter.fingerprint(text));
        out.set(fingerprint.into());
        Ok(())
    })
}

/// Computes the fingerprints of many texts, on all threads.
///
/// @param texts    `count` texts, each UTF-8
/// @param lens     bytes of each; NULL if each is NUL-terminated
/// @param options  may be NULL
/// @param width    bits of the fingerprints, the width of the pipeline
/// @param out      receives `count` fingerprints: `uint32_t`, `uint64_t` or `simidx_fingerprint`
/// @param says     receives 1 for each text with a feature that counts, and 0 for each without, whose fingerprint has no
///                 meaning; may be NULL
#[unsafe(no_mangle)]
pub unsafe extern "C" fn simidx_fingerprint_texts(
    pipeline: *const simidx_pipeline,
    texts: *const *const c_char,
    lens: *const usize,
    count: usize,
    options: *const simidx_work_options,
    width: u32,
    out: *mut c_void,
    says: *mut u8,
) -> simidx_status {
    guard(|| {
        // SAFETY: the caller's promises.
        let (work, texts, says) = unsafe {
            (
                Work::read(options)?,
                border::texts("texts", texts, lens, count)?,
                Buffer::optional("says", says, count)?,
            )
        };
        let pipeline = handles::get(pipeline)?;
        if width != pipeline.width().bits() {
            return Err(Failure::argument(format!(
                "width is {width}, and the pipeline makes fingerprints of {} bits",
                pipeline.width()
            )));
        }
        // SAFETY: the caller's promise; the width is checked.
        let out = unsafe { Out::new(out, pipeline.width(), count) }?;
        let empty = pipeline.empty_fingerprint();
        let work = &work;
        work.run(move || {
            let mut place = 0;
            for piece in texts.chunks(PIECE) {
                for fingerprint in pipeline.fingerprints_if_any(piece) {
                    out.put(place, fingerprint.unwrap_or(empty));
                    says.put(place, fingerprint.is_some().into());
                    place += 1;
                }
                work.report("fingerprint", place as u64, texts.len() as u64)?;
            }
            Ok(())
        })
    })
}

/// Finds texts that are similar to earlier ones, as `simidx dedup` does: each dropped text is similar to a kept one before
/// it. Texts are compared if they share a key, which nearly all similar ones do. The similarity is the Jaccard similarity
/// of all runs of `words` words: those that both texts have, as a share of those that either has. Memory: 8 bytes for each
/// run, and about 300 for each text.
///
/// @param pipeline    the pipeline that extracts the text of HTML documents, and whose features are compared if `words`
///                    is 0; NULL for "web"
/// @param texts       `count` texts, each UTF-8
/// @param lens        bytes of each; NULL if each is NUL-terminated
/// @param similarity  the least similarity: above 0, at most 1, such as 0.8
/// @param words       words in a run, 1 to 64, such as 3; 0 for the features of the pipeline
/// @param options     may be NULL
/// @param kept        receives for each text the number of the text that is kept for it, from 0: its own if it is kept
#[unsafe(no_mangle)]
pub unsafe extern "C" fn simidx_dedup_texts(
    pipeline: *const simidx_pipeline,
    texts: *const *const c_char,
    lens: *const usize,
    count: usize,
    similarity: f64,
    words: u32,
    options: *const simidx_work_options,
    kept: *mut u64,
) -> simidx_status {
    guard(|| {
        // SAFETY: the caller's promises.
        let (work, texts, kept) = unsafe {
            (
                Work::read(options)?,
                border::texts("texts", texts, lens, count)?,
                Buffer::new("kept", kept, count)?,
            )
        };
        let least = match words {
            0 => Similarity::of_features(similarity),
            words => Similarity::of_words(similarity, words as usize),
        };
        let least = least.map_err(|error| Failure::argument(error.to_string()))?;
        let pipeline = match pipeline.is_null() {
            true => Pipeline::default(),
            false => handles::get(pipeline)?.pipeline().clone(),
        };
        let work = &work;
        work.run(move || {
            let options = SimilarOptions::default().similarity(least);
            let mut collected = SimilarTexts::new(&pipeline, &options)?;
            let total = texts.len() as u64;
            for piece in texts.chunks(PIECE) {
                collected.push_all(piece)?;
                work.report("sign", collected.text_count() as u64, total)?;
            }
            let found = collected.candidates()?.dedup(&work.watch())?;
            for text in 0..texts.len() {
                let kept_for = match found.fate(text) {
                    Fate::Kept => text,
                    Fate::Dropped { kept, .. } => kept,
                };
                kept.put(text, kept_for as u64);
            }
            Ok(())
        })
    })
}

/// Returns the description of a pipeline of the caller, if it is not NULL.
pub(crate) fn description(pipeline: *const simidx_pipeline) -> Result<Option<String>> {
    match pipeline.is_null() {
        true => Ok(None),
        false => Ok(Some(handles::get(pipeline)?.pipeline().describe())),
    }
}
