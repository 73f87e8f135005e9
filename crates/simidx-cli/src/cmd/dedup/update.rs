//! `--update`: a folder remembers the documents that are kept, for the next run. It is a set of index files with sketches,
//! to which each run adds one file.

use std::fs;
use std::io::{self, BufWriter, Read, Seek, Write};
use std::path::{Path, PathBuf};

use simidx::format::SketchParameters;
use simidx::set::Manifest;
use simidx::{BuildOptions, IdBuf, IdKind, IndexBuilder, Set};
use simidx_text::dedup::{Similarity, content_identity};
use simidx_text::similar::{SignedText, SketchFeatures, Sketcher, are_keys, key_parameters};
use simidx_text::{ParallelFingerprinter, Pipeline};
use tempfile::{SpooledTempFile, spooled_tempfile_in};

use super::Job;
use super::judged::{Judged, Verdict};
use crate::support::failure::Failure;
use crate::support::output::{Output, Together};
use crate::support::records::{Fingerprinted, Refusal, id_of_kind};

/// Bits of the sketches of a new folder, where keys do not fit: the standard error at a similarity of 0.7 is 0.032.
const SKETCH_BITS: u32 = 512;

/// The file that a run locks while it changes the folder.
const LOCK_NAME: &str = "update.lock";

/// The part of the memory that holds the data of documents before it goes to a temporary file, and as much for texts.
const MEMORY_SHARE: u64 = 32;

/// A folder that is to remember documents, and the data of each document of this run.
pub(super) struct Update<'a> {
    folder: Folder<'a>,
    parameters: SketchParameters,
    /// Writes the file of this run. It is there from the start, so that a memory limit below its need is refused then.
    builder: Option<IndexBuilder>,
    /// Makes sketches, if these are remembered and not the keys that texts are compared by.
    pub(super) sketcher: Option<Sketcher>,
    kind: IdKind,
    /// For each document its keys or its sketch.
    documents: BufWriter<SpooledTempFile>,
    /// The fingerprints of the first documents.
    fingerprints: BufWriter<SpooledTempFile>,
    fingerprinter: ParallelFingerprinter,
    /// The texts of the documents after them. A fingerprint takes as long as the comparison, so none is made of a document
    /// that is dropped while its text waits.
    texts: Vec<String>,
    /// Bytes that they take.
    texts_len: usize,
    /// Bytes that the texts may take.
    room: usize,
    /// The lock of the folder, and the name of the file that is written there, if a document is kept.
    written: Option<(fs::File, Option<String>)>,
}

/// Bytes of a text that waits, next to its own: the string, what the allocator adds, its fingerprint, and the room that a
/// growing vector has in reserve.
const WAITING: usize = 128;

/// Returns the manifest of the folder of `--update`; an empty one if there is none yet.
///
/// # Errors
/// Something else is at this path, or a set that another program maintains.
pub(super) fn read_manifest(folder: &Path) -> Result<Manifest, Failure> {
    let refuse = |message: &str| Err(Failure::new(message).about(folder.display()));
    if !folder.exists() {
        return Ok(Manifest::default());
    }
    if !folder.is_dir() {
        return refuse("is a file; --update needs a folder, and creates one that does not exist");
    }
    if !Manifest::is_at(folder).map_err(Failure::at(folder))? {
        let mut entries = fs::read_dir(folder).map_err(Failure::at(folder))?;
        let is_other = |entry: &io::Result<fs::DirEntry>| match entry {
            Ok(entry) => entry.file_name() != LOCK_NAME,
            Err(_) => true,
        };
        return match entries.find(is_other) {
            None => Ok(Manifest::default()),
            Some(_) => refuse("has other files, but no manifest of a set; name a new folder"),
        };
    }
    let manifest = Manifest::read(folder)?;
    match manifest.notes.is_empty() {
        true => Ok(manifest),
        false => refuse("is a set that another program keeps; name a new folder"),
    }
}

/// The folder of `--update` as a run finds it.
pub(super) struct Folder<'a> {
    path: &'a Path,
    pub(super) manifest: Manifest,
    /// The paths of the outputs of this run.
    outputs: String,
    /// The files of an earlier run that did not finish, which this one repeats.
    pub(super) unfinished: Vec<PathBuf>,
}

impl<'a> Folder<'a> {
    /// Reads the folder for a run with these outputs, which `force` lets it replace.
    ///
    /// # Errors
    /// The errors of `read_manifest`, and an earlier run that did not finish, unless this run repeats it.
    pub(super) fn open(
        path: &'a Path,
        outputs: &[&Option<PathBuf>],
        force: bool,
    ) -> Result<Self, Failure> {
        // While another run changes the folder, this one waits.
        let (mut lock, mut of_earlier) = (None, String::new());
        let place = path.join(LOCK_NAME);
        if place.exists() {
            let mut file = fs::File::open(&place).map_err(Failure::at(&place))?;
            file.lock_shared()?;
            file.read_to_string(&mut of_earlier)
                .map_err(Failure::at(&place))?;
            lock = Some(file);
        }
        let manifest = read_manifest(path)?;
        let unfinished = match lock {
            Some(_) => unfinished(path, &manifest).map_err(Failure::at(path))?,
            None => Vec::new(),
        };
        let mut names = Vec::new();
        for output in outputs.iter().copied().flatten() {
            let name = std::path::absolute(output).map_err(Failure::at(output))?;
            names.push(name.display().to_string());
        }
        let outputs = names.join(", ");
        if let Some(file) = unfinished.first()
            && !(force && outputs == of_earlier)
        {
            let message = format!(
                "was left by a run that did not finish, so its documents are not remembered; repeat that run with --force, into {of_earlier}"
            );
            return Err(Failure::new(message).about(file.display()));
        }
        Ok(Folder {
            path,
            manifest,
            outputs,
            unfinished,
        })
    }
}

/// Returns the files of runs that ended before they had changed the manifest of the folder. Their outputs may be there,
/// and the folder does not know these documents.
fn unfinished(folder: &Path, manifest: &Manifest) -> io::Result<Vec<PathBuf>> {
    let mut found = Vec::new();
    for entry in fs::read_dir(folder)? {
        let path = entry?.path();
        let name = path.file_name().unwrap_or_default().to_string_lossy();
        let number = name.strip_suffix(".simidx").unwrap_or_default();
        let is_of_run = number.len() == 6 && number.bytes().all(|byte| byte.is_ascii_digit());
        if is_of_run && manifest.segments.iter().all(|known| known.name != name) {
            found.push(path);
        }
    }
    found.sort();
    Ok(found)
}

/// Checks that no output is the folder of `--update` or in it, where the next run would refuse it, or holds it.
///
/// # Errors
/// The first that is.
pub(super) fn check_outside(folder: &Path, outputs: &[&Option<PathBuf>]) -> Result<(), Failure> {
    // Of paths of which only a start exists, `..` and symbolic links are followed there.
    let place = |path: &Path| {
        let path = std::path::absolute(path).map_err(Failure::at(path))?;
        let mut ancestors = path.ancestors();
        let found = ancestors.find_map(|start| Some((start, start.canonicalize().ok()?)));
        Ok::<_, Failure>(match found {
            Some((start, known)) => known.join(path.strip_prefix(start).unwrap_or(&path)),
            None => path,
        })
    };
    let folder = place(folder)?;
    let outputs = outputs.iter().copied().flatten();
    for output in outputs.filter(|path| path.as_os_str() != "-") {
        let place = place(output)?;
        let message = match (place.starts_with(&folder), folder.starts_with(&place)) {
            (true, _) => "is in the folder of --update, which has only index files",
            (_, true) => "would hold the folder of --update; name another",
            _ => continue,
        };
        return Err(Failure::new(message).about(output.display()));
    }
    Ok(())
}

impl<'a> Update<'a> {
    /// Checks that the folder can remember what is compared.
    ///
    /// # Errors
    /// Documents without ids, another pipeline, or features that sketches cannot be of.
    pub(super) fn new(
        folder: Folder<'a>,
        job: &Job<'_>,
        similarity: Similarity,
    ) -> Result<Self, Failure> {
        let refuse = |message: String| Err(Failure::new(message).about(folder.path.display()));
        let (parameters, kind) = match job.set {
            None => (parameters(similarity, &job.pipeline)?, IdKind::String),
            Some(set) => {
                let Some(parameters) = set.sketch_parameters()? else {
                    return refuse("has no sketches; --update adds to files with sketches".into());
                };
                if let Err(message) = check_pipeline(set, &job.pipeline) {
                    return refuse(message);
                }
                (parameters.clone(), set.id_kind())
            }
        };
        if kind == IdKind::None {
            return refuse("has no ids; --update adds to files with ids".into());
        }
        let temp_dir = job.args.resources.temp_dir.clone();
        let temp_dir = temp_dir.unwrap_or_else(std::env::temp_dir);
        let room = (job.memory.search / MEMORY_SHARE) as usize;
        let mut options = BuildOptions::default();
        options.ids = kind;
        options.sketches = Some(parameters.clone());
        options.memory = Some(job.args.resources.memory_limit());
        options.temp_dir.clone_from(&job.args.resources.temp_dir);
        options.pipeline = Some(job.pipeline.describe());
        Ok(Update {
            builder: Some(IndexBuilder::new(job.width, options)?),
            folder,
            sketcher: match are_keys(&parameters) {
                true => None,
                false => Some(Sketcher::like(&parameters)?),
            },
            parameters,
            kind,
            documents: BufWriter::new(spooled_tempfile_in(room, &temp_dir)),
            fingerprints: BufWriter::new(spooled_tempfile_in(room / 8, &temp_dir)),
            fingerprinter: job.pipeline.parallel(job.width)?,
            texts: Vec::new(),
            texts_len: 0,
            room,
            written: None,
        })
    }

    /// Adds the next document.
    ///
    /// # Errors
    /// A document without an id that the index can hold, and a temporary file that cannot be written.
    pub(super) fn push(
        &mut self,
        record: &mut Fingerprinted,
        text: &SignedText,
    ) -> Result<(), Refusal> {
        let id = record.id.clone().and_then(|id| id_of_kind(id, self.kind));
        if id.is_none() {
            let message = match self.kind {
                IdKind::Number => "has no number as its id, as the earlier documents have",
                _ => "has no id of 1 to 65,535 bytes, by which its text could be found again",
            };
            return Err(Refusal::record(message));
        }
        let mut write = |word: &u64| self.documents.write_all(&word.to_le_bytes());
        match &record.sketch {
            Some(sketch) => sketch.as_u64s().iter().try_for_each(write)?,
            None => text.packed_keys().iter().try_for_each(&mut write)?,
        }
        let text = record.text.take().unwrap_or_default();
        self.texts_len += text.capacity() + WAITING;
        self.texts.push(text);
        if self.texts_len > self.room {
            self.texts_len = 0;
            let texts = std::mem::take(&mut self.texts);
            for fingerprint in self.fingerprints_of(&texts) {
                self.fingerprints.write_all(&fingerprint.to_le_bytes())?;
            }
        }
        Ok(())
    }

    /// The fingerprints of texts; of one without features a hash of its bytes, which is not near those of others.
    fn fingerprints_of(&self, texts: &[String]) -> Vec<u128> {
        let found = self.fingerprinter.fingerprints_if_any(texts).into_iter();
        let instead = |text: &String| content_identity(text) & self.fingerprinter.width().max();
        let found = found.zip(texts);
        found
            .map(|(found, text)| found.unwrap_or_else(|| instead(text)))
            .collect()
    }

    /// The fingerprints of the last documents, whose texts wait. Those of documents that are dropped may be any.
    fn last_fingerprints(&mut self, judged: &Judged<'_>) -> Vec<u128> {
        let mut texts = std::mem::take(&mut self.texts);
        let first = judged.count() - texts.len();
        for (document, text) in (first..).zip(&mut texts) {
            if !is_kept(judged, document) {
                *text = String::new();
            }
        }
        self.fingerprints_of(&texts)
    }

    /// Writes the documents that are kept to a file in the folder, which appears together with the other outputs.
    ///
    /// # Errors
    /// A file that cannot be built or written, and a folder that has changed since the run began.
    pub(super) fn write(
        &mut self,
        judged: &Judged<'_>,
        together: &mut Together,
    ) -> Result<(), Failure> {
        let Some(mut builder) = self.builder.take() else {
            return Ok(());
        };
        let last = self.last_fingerprints(judged);
        let first_of_last = judged.count() - last.len();
        for written in [&mut self.documents, &mut self.fingerprints] {
            written.flush()?;
            written.rewind()?;
        }
        let mut documents = io::BufReader::new(self.documents.get_mut());
        let mut fingerprints = io::BufReader::new(self.fingerprints.get_mut());
        let mut sketch = vec![0; self.parameters.u64_count()];
        for document in 0..judged.count() {
            let fingerprint = match document.checked_sub(first_of_last) {
                Some(number) => last[number],
                None => {
                    let mut bytes = [0; 16];
                    fingerprints.read_exact(&mut bytes)?;
                    u128::from_le_bytes(bytes)
                }
            };
            for word in &mut sketch {
                let mut bytes = [0; 8];
                documents.read_exact(&mut bytes)?;
                *word = u64::from_le_bytes(bytes);
            }
            if !is_kept(judged, document) {
                continue;
            }
            let id = id_of_kind(judged.label(document)?, self.kind);
            let id = id.as_ref().map(IdBuf::as_id);
            builder.push_with_sketch(fingerprint, id, &sketch)?;
        }
        let is_empty = builder.record_count() == 0;
        if is_empty && self.folder.unfinished.is_empty() {
            return Ok(());
        }
        let path = self.folder.path;
        fs::create_dir_all(path).map_err(Failure::at(path))?;
        // Held until the manifest is published, so that two runs do not overwrite each other.
        let lock = self.lock()?;
        if !Manifest::is_at(path)? && self.folder.manifest.segments.is_empty() {
            // A run that ends between here and the next manifest leaves an empty set, to which the next run adds.
            Manifest::default().publish(path)?;
        }
        let segments = read_manifest(path)?.segments;
        if segments != self.folder.manifest.segments
            || unfinished(path, &self.folder.manifest)? != self.folder.unfinished
        {
            let message = "has changed since this run began; run it again";
            return Err(Failure::new(message).about(path.display()));
        }
        // A later run that finds the file of this one, and not in the manifest, then knows which run is to be repeated.
        lock.set_len(0)?;
        (&lock).write_all(self.folder.outputs.as_bytes())?;
        lock.sync_all()?;
        if is_empty {
            self.written = Some((lock, None));
            return Ok(());
        }
        let numbers = self.folder.manifest.segments.len() + 1..;
        let mut names = numbers.map(|number| format!("{number:06}.simidx"));
        let is_free = |name: &String| !path.join(name).exists();
        let name = names.find(is_free).unwrap_or_default();
        let output = Output::File {
            path: path.join(&name),
            force: false,
        };
        together.write(&output, |out| Ok(builder.finish(out).map(drop)?))?;
        self.written = Some((lock, Some(name)));
        Ok(())
    }

    /// Locks the folder.
    ///
    /// # Errors
    /// A file that cannot be opened or locked.
    fn lock(&self) -> Result<fs::File, Failure> {
        let place = self.folder.path.join(LOCK_NAME);
        let mut options = fs::OpenOptions::new();
        options.create(true).write(true).truncate(false);
        let lock = options.open(&place).map_err(Failure::at(&place))?;
        lock.lock()?;
        Ok(lock)
    }

    /// Removes the files of a run that did not finish, and adds the file that was written to the set.
    ///
    /// # Errors
    /// A file that cannot be removed, and a manifest that cannot be written.
    pub(super) fn publish(self) -> Result<(), Failure> {
        let Some((_lock, name)) = self.written else {
            return Ok(());
        };
        let Folder {
            path,
            mut manifest,
            unfinished,
            ..
        } = self.folder;
        // Before the manifest: until it has the new file, that one marks this run as unfinished.
        for file in unfinished {
            fs::remove_file(&file).map_err(Failure::at(&file))?;
        }
        if let Some(name) = name {
            manifest.add_file(path, &name)?;
            manifest.generation += 1;
            manifest.publish(path)?;
        }
        Ok(())
    }
}

fn is_kept(judged: &Judged<'_>, document: usize) -> bool {
    matches!(judged.decisions.verdict(document), Verdict::Kept)
}

/// Returns the parameters of the keys or sketches of a new folder.
fn parameters(similarity: Similarity, pipeline: &Pipeline) -> Result<SketchParameters, Failure> {
    let html = pipeline.options().html;
    if let Some(parameters) = key_parameters(similarity, html) {
        return Ok(parameters);
    }
    let Some(words) = similarity.words() else {
        let message = "--update remembers runs of words, not features of the pipeline";
        return Err(Failure::new(message));
    };
    let sketcher = Sketcher::new(SKETCH_BITS, SketchFeatures::new(words, html)?)?;
    Ok(sketcher.parameters().clone())
}

/// Checks that documents become the same fingerprints as those of the set.
pub(super) fn check_pipeline(set: &Set, pipeline: &Pipeline) -> Result<(), String> {
    match set.pipeline() {
        Some(recorded) if recorded == pipeline.describe() => Ok(()),
        Some(recorded) => Err(format!("was made by another pipeline: {recorded}")),
        None => Err("was made of fingerprints, not of documents".to_owned()),
    }
}
