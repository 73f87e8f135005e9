//! An open collection, and its opening.

use std::ops::ControlFlow;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, OnceLock};
use std::time::Duration;

use pyo3::prelude::*;
use pyo3::types::PyString;
use rayon::prelude::*;
use simidx::set::Question;
use simidx::{Fingerprints, Width};
use simidx_collection::{Collection, Near, Options, Sync};
use simidx_text::Pipeline;
use simidx_text::assets::Assets;

use super::columns::Columns;
use crate::errors::{Class, Failure};
use crate::given::Given;
use crate::options;
use crate::run::Watch;
use crate::texts::{pipeline_of, width_of};

/// Queries per task of a thread.
const PIECE: usize = 64;

/// The time between two checks, during a close, whether the calls of other threads have ended.
const PAUSE: Duration = Duration::from_millis(1);

/// The number of the package's functions between a caller and the extension when a collection is opened.
const COLLECTION_FRAMES: i32 = 2;

/// The caller's settings of a collection.
#[derive(Clone)]
pub(super) struct Settings {
    pub(super) options: Options,
    width: Option<Width>,
    /// The width of a given `Pipeline`, which a new collection has unless a width is given.
    width_of_pipeline: Option<Width>,
    distance: Option<u32>,
}

impl Settings {
    pub(super) fn read(given: &Given<'_>) -> PyResult<Self> {
        let mut options = Options::default();
        let distance = given.distance()?;
        options.max_distance = distance.unwrap_or(options.max_distance);
        let width = given.read("width", options::width)?;
        let pipeline = given.get("pipeline")?;
        let describe = |pipeline| pipeline_of(pipeline, COLLECTION_FRAMES);
        options.pipeline = pipeline.as_ref().map(describe).transpose()?;
        if let Some(sync) = given.get("sync")? {
            let name = sync.cast::<PyString>().map(|name| name.to_string());
            options.sync = match name.as_deref() {
                Ok("always") => Sync::Always,
                Ok("batch") => Sync::Batch,
                Ok("never") => Sync::Never,
                _ => {
                    let what = "\"always\", \"batch\" or \"never\" is expected";
                    return Err(options::refused(Class::Option, &sync, "sync", what));
                }
            };
        }
        options.replace = given.get("replace")?.is_none() || given.flag("replace")?;
        let records = given.read("seal_records", options::count)?;
        options.seal_records = records.unwrap_or(options.seal_records);
        let threads = given.read("threads", options::count)?;
        options.threads = threads.unwrap_or(options.threads);
        Ok(Settings {
            options,
            width,
            width_of_pipeline: width_of(pipeline.as_ref()),
            distance,
        })
    }

    /// Returns the width of a new collection.
    pub(super) fn width_of_new(&self) -> Width {
        self.width.or(self.width_of_pipeline).unwrap_or_default()
    }

    /// Checks that an existing collection has these settings.
    fn check(&self, live: &Live) -> Result<(), Failure> {
        let differs = |what: &str, is: &str, given: &str| {
            let message = format!("the collection has {what} {is}, not {given}; leave it out");
            Err(Failure::Other(Class::Option, message))
        };
        let collection = live.collection();
        let (width, distance) = (collection.width(), collection.max_distance());
        match &self.options.pipeline {
            _ if self.width.is_some_and(|given| given != width) => differs(
                "width",
                &width.to_string(),
                &self.width_of_new().to_string(),
            ),
            _ if self.distance.is_some_and(|given| given != distance) => {
                let given = self.options.max_distance;
                differs("k", &distance.to_string(), &given.to_string())
            }
            Some(given) if collection.pipeline() != Some(given) => {
                differs("pipeline", collection.pipeline().unwrap_or("none"), given)
            }
            _ => Ok(()),
        }
    }
}

/// An open collection.
pub(crate) struct Live {
    /// Present until this is dropped.
    collection: Option<Collection>,
    pipeline: OnceLock<Pipeline>,
    /// The process that opened it; its children do not have its threads.
    process: u32,
}

impl Live {
    pub(super) fn start(
        settings: Settings,
        open: impl FnOnce(Settings) -> simidx_collection::Result<Collection>,
    ) -> Result<Self, Failure> {
        let live = Live {
            collection: Some(open(settings.clone())?),
            pipeline: OnceLock::new(),
            process: std::process::id(),
        };
        settings.check(&live)?;
        Ok(live)
    }

    pub(super) fn is_of_this_process(&self) -> bool {
        self.process == std::process::id()
    }

    pub(crate) fn collection(&self) -> &Collection {
        let collection = self.collection.as_ref();
        collection.expect("it is there until this is dropped")
    }

    /// Returns the pipeline, which computes fingerprints of texts.
    pub(super) fn pipeline(&self) -> Result<&Pipeline, Failure> {
        if let Some(pipeline) = self.pipeline.get() {
            return Ok(pipeline);
        }
        let Some(description) = self.collection().pipeline() else {
            let message =
                "the collection records no pipeline; pass fingerprints, or make it with pipeline=";
            return Err(Failure::Other(Class::Option, message.to_owned()));
        };
        let pipeline = Pipeline::parse(description, &Assets::default())?;
        Ok(self.pipeline.get_or_init(|| pipeline))
    }

    /// Computes the fingerprint of a text, which must have features.
    pub(super) fn fingerprint(&self, text: &str) -> Result<u128, Failure> {
        let width = self.collection().width();
        let mut fingerprinter = self.pipeline()?.fingerprinter(width)?;
        let found = fingerprinter.fingerprint_if_any(text);
        found.ok_or_else(|| {
            let message = "text: no feature counts, so that it is near to nothing; leave it out";
            Failure::Other(Class::Input, message.to_owned())
        })
    }

    /// Adds records. Returns the matches of each, and the error that kept the next one from being added.
    pub(super) fn add_many(
        &self,
        ids: &[&str],
        fingerprints: &Fingerprints,
        watch: &Watch,
    ) -> Result<(Columns, Option<Failure>), Failure> {
        if ids.len() != fingerprints.len() {
            let [records, ids] = [fingerprints.len(), ids.len()];
            let message = format!("there are {records} fingerprints and {ids} ids");
            return Err(Failure::Other(Class::Input, message));
        }
        let records = ids.iter().copied().zip(fingerprints.iter());
        let records: Vec<(&str, u128)> = records.collect();
        let mut columns = Columns::new(fingerprints.width());
        let added = self.collection().add_each(&records, |added| {
            columns.push_added(added);
            let done = columns.outcomes.len() as u64;
            match watch.report("add", done, records.len() as u64) {
                Ok(()) => ControlFlow::Continue(()),
                Err(_) => ControlFlow::Break(()),
            }
        });
        Ok((columns, added.err().map(Failure::from)))
    }

    /// Answers queries on all threads of the current pool.
    pub(crate) fn search(
        &self,
        queries: &Fingerprints,
        question: Question,
        watch: &Watch,
    ) -> Result<Columns, Failure> {
        let (collection, total) = (self.collection(), queries.len() as u64);
        let done = AtomicU64::new(0);
        let ask = |&query: &u128| self.near(query, question);
        let answer = |queries: &[u128]| -> Result<Vec<Vec<Near>>, Failure> {
            let found: Result<Vec<_>, _> = queries.iter().map(ask).collect();
            let more = queries.len() as u64;
            let done = done.fetch_add(more, Ordering::Relaxed) + more;
            watch.report("query", done, total)?;
            Ok(found?)
        };
        let queries: Vec<u128> = queries.iter().collect();
        let pieces: Result<Vec<_>, Failure> = queries.par_chunks(PIECE).map(answer).collect();
        let mut columns = Columns::new(collection.width());
        for near in pieces?.into_iter().flatten() {
            columns.push(near);
        }
        Ok(columns)
    }

    /// Answers one query on this thread.
    pub(crate) fn search_one(&self, query: u128, question: Question) -> Result<Columns, Failure> {
        let mut columns = Columns::new(self.collection().width());
        columns.push(self.near(query, question)?);
        Ok(columns)
    }

    fn near(&self, query: u128, question: Question) -> simidx_collection::Result<Vec<Near>> {
        let answer = self
            .collection()
            .answer(query, question, Some(usize::MAX))?;
        Ok(answer.value)
    }

    /// Syncs all changes to disk and ends the threads, once it is not used otherwise.
    pub(super) fn close(mut live: Arc<Self>) -> Result<(), Failure> {
        // A call that was running in another process when this one was forked never releases it.
        if !live.is_of_this_process() {
            std::mem::forget(live);
            return Ok(());
        }
        let live = loop {
            match Arc::try_unwrap(live) {
                Ok(live) => break live,
                Err(used) => {
                    live = used;
                    std::thread::sleep(PAUSE);
                }
            }
        };
        Ok(live.collection().close()?)
    }
}

impl Drop for Live {
    fn drop(&mut self) {
        let collection = self.collection.take();
        // Ending it would wait for threads that do not exist here.
        if !self.is_of_this_process() {
            std::mem::forget(collection);
        }
    }
}
