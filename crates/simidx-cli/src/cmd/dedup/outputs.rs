//! The outputs: the kept records and the report.

use std::collections::BTreeSet;
use std::fs;
use std::io;
use std::path::{Path, PathBuf};

use simidx_input::{Fate, InputFile};

use super::judged::{Judged, Verdict};
use super::page::Page;
use super::report::{self, Notes, ReportFormat};
use super::summary::Summary;
use super::update::Update;
use super::{Args, Job};
use crate::support::failure::{Failure, into_io};
use crate::support::inputs::{InputFiles, OnError, folder};
use crate::support::originals::{Copier, OTHER_NAME, check_name};
use crate::support::output::{Output, Together, compressed};
use crate::support::page::grouped;

/// Returns the files of `--texts`. If the run repeats one that did not end, its own outputs are not among them.
///
/// # Errors
/// A pattern without matches if there are earlier documents, and an input that has no name for its output.
pub(super) fn earlier_texts(
    args: &Args,
    paths: &[PathBuf],
    (has_earlier, is_repeated): (bool, bool),
) -> Result<Vec<PathBuf>, Failure> {
    let mut texts = Vec::new();
    for pattern in &args.texts {
        match simidx_input::expand(pattern, None) {
            Ok(files) => texts.extend(files),
            Err(error) if has_earlier => return Err(error.into()),
            // In the first week there are none.
            Err(_) => {}
        }
    }
    if is_repeated {
        let mut own = InputFiles::new(args.output.iter().chain(&args.report));
        if let Some(folder) = &args.output_dir {
            own.add(shard_names(paths)?.iter().map(|name| folder.join(name)));
        }
        texts.retain(|file| !own.contains(file));
    }
    Ok(texts)
}

/// The outputs, checked before anything is read.
pub(super) struct Outputs {
    /// The files of kept records: that of `-o`, or one for each input; none with `--dry-run`.
    kept: Vec<(PathBuf, Output)>,
    /// The folder of these files, if it is not there yet.
    new_folder: Option<PathBuf>,
    report: Option<(Output, ReportFormat)>,
}

impl Outputs {
    /// Checks early that the outputs may be written.
    ///
    /// # Errors
    /// An output that may not be written, or two outputs in one file.
    pub(super) fn new(args: &Args, paths: &[PathBuf], texts: &[PathBuf]) -> Result<Self, Failure> {
        let mut inputs = args.input.files()?;
        inputs.add(&args.against);
        if let Some(file) = texts.iter().find(|file| paths.contains(file)) {
            let message = "is an input, and cannot be an earlier text of --texts as well";
            return Err(Failure::new(message).about(file.display()));
        }
        // Not their folders: what is kept of these documents may stand next to them.
        inputs.add(texts);
        // Also of a folder of shards, which has been expanded into them.
        let folders = args.input.inputs.iter().filter(|path| path.is_dir());
        inputs.add(folders);
        let (mut kept, mut new_folder) = (Vec::new(), None);
        match (&args.output, &args.output_dir) {
            _ if args.dry_run => {}
            (Some(path), _) => {
                kept.push((path.clone(), Output::outside(path, args.force, &inputs)?))
            }
            (None, Some(path)) => {
                inputs.check_outside(path)?;
                new_folder = check_folder(path)?;
                for name in shard_names(paths)? {
                    let path = path.join(name);
                    let output = shard(&path, args.force, &inputs)?;
                    kept.push((path, output));
                }
            }
            (None, None) => {}
        }
        let report = match &args.report {
            None => None,
            Some(path) => {
                let output = Output::outside(path, args.force, &inputs)?;
                Some((output, ReportFormat::of(path)?))
            }
        };
        let outputs = Outputs {
            kept,
            new_folder,
            report,
        };
        outputs.check_each_other(args)?;
        Ok(outputs)
    }

    /// Checks that the report is not also a file of records, and that standard output has one use.
    fn check_each_other(&self, args: &Args) -> Result<(), Failure> {
        let needs_stdout = |option| {
            let message = format!("--json needs standard output; name a file with {option}");
            Err(Failure::new(message))
        };
        if args.json && matches!(self.kept[..], [(_, Output::Stdout)]) {
            return needs_stdout("-o");
        }
        let (Some((report, _)), Some(path)) = (&self.report, &args.report) else {
            return Ok(());
        };
        if args.json && matches!(report, Output::Stdout) {
            return needs_stdout("--report");
        }
        let is_it = |(place, kept): &(PathBuf, Output)| kept.is_same_file(report) || place == path;
        let is_twice = self.kept.iter().any(is_it);
        if is_twice {
            let option = if args.output.is_some() {
                "-o"
            } else {
                "--output-dir"
            };
            let message = format!("is named twice, by {option} and --report");
            return Err(Failure::new(message).about(path.display()));
        }
        Ok(())
    }

    /// Checks that the names of the outputs fit what will be written, and that it can be written.
    ///
    /// # Errors
    /// One does not, or it cannot.
    pub(super) fn check_formats(
        &self,
        args: &Args,
        originals: &[InputFile],
    ) -> Result<(), Failure> {
        let bare = originals.iter().find(|original| !original.has_fields());
        if let (Some(original), true) = (bare, args.annotate) {
            let format = original.format();
            let message = format!(
                "records read as {format} have no fields to annotate; use --report instead"
            );
            return Err(Failure::new(message).about(original.path().display()));
        }
        match &args.output {
            Some(path) => check_name(path, originals, OTHER_NAME),
            None => {
                let mut parts = originals.chunks(1).zip(&self.kept);
                let way_out = "compress the input by gzip or zstd, or name one output with -o";
                parts.try_for_each(|(original, (path, _))| check_name(path, original, way_out))
            }
        }
    }

    /// Writes all outputs, which then appear together. The numbers of records that could not be judged are added to the
    /// summary before the report is written.
    ///
    /// # Errors
    /// Any error of the inputs, the outputs, the indexes, the folder of `--update`, or temporary files.
    pub(super) fn write(
        &self,
        job: &Job<'_>,
        judged: &Judged<'_>,
        update: Option<&mut Update<'_>>,
        summary: &mut Summary,
    ) -> Result<(), Failure> {
        let (args, originals) = (job.args, job.originals);
        let mut together = Together::default();
        together.new_folder.clone_from(&self.new_folder);
        // First, so that a folder that refuses leaves no other output.
        if let Some(update) = update {
            update.write(judged, &mut together)?;
        }
        let notes = args.annotate.then(|| Notes::new(job, judged));
        let fields = notes.as_ref().map_or(&[][..], |notes| &notes.fields);
        let keeps_unjudged = args.input.on_error == OnError::Keep;
        let fate = |position| fate(judged, notes.as_ref(), keeps_unjudged, position);
        let mut copier = Copier::new(originals, fields, &fate, job.mode);
        let len = match args.output {
            Some(_) => originals.len().max(1),
            None => 1,
        };
        for (part, (path, output)) in originals.chunks(len).zip(&self.kept) {
            let copied = together.write(output, |out| copier.copy(part, path, out));
            copied.map_err(with_way_out)?;
        }
        let (records, lost) = copier.finish();
        let positions = &judged.documents.labels.positions;
        if !self.kept.is_empty() {
            positions.check(records)?;
        }
        summary.skipped = positions.skipped_count();
        if keeps_unjudged {
            summary.skipped_kept = summary.skipped.saturating_sub(lost);
        }
        if let (Some((output, format)), Some(path)) = (&self.report, &args.report) {
            together.write(output, |out| {
                compressed(path, out, |out| match format {
                    ReportFormat::Page => {
                        let page = Page { job, judged };
                        let html = page.html(&args.title(), &summary.rows(job.measure, grouped))?;
                        Ok(out.write_all(html.as_bytes())?)
                    }
                    ReportFormat::Table(format) => report::write(job, judged, *format, out),
                })
            })?;
        }
        together.appear()
    }
}

/// Returns the fate of the record at a position.
fn fate(
    judged: &Judged<'_>,
    notes: Option<&Notes>,
    keeps_unjudged: bool,
    position: u64,
) -> io::Result<Fate> {
    let document = judged.documents.labels.positions.document_at(position);
    let keeps = match (document, notes) {
        (None, _) => keeps_unjudged,
        (Some(document), None) => matches!(judged.decisions.verdict(document), Verdict::Kept),
        (Some(document), Some(notes)) => {
            let values = notes.of(document, judged);
            return values.map(Fate::With).map_err(into_io);
        }
    };
    Ok(if keeps { Fate::Copied } else { Fate::Dropped })
}

/// Checks early that a folder of outputs is there, or returns its path if it can be made.
fn check_folder(path: &Path) -> Result<Option<PathBuf>, Failure> {
    let refuse = |message: &str| Err(Failure::new(message).about(path.display()));
    match fs::metadata(path) {
        Ok(data) if data.is_dir() => Ok(None),
        Ok(_) => refuse("is not a directory"),
        Err(error) if error.kind() != io::ErrorKind::NotFound => refuse(&error.to_string()),
        Err(_) if !folder(path).is_dir() => refuse("its directory does not exist"),
        Err(_) => Ok(Some(path.to_owned())),
    }
}

/// A file in a folder of outputs. A folder below that is missing will be made.
fn shard(path: &Path, force: bool, inputs: &InputFiles) -> Result<Output, Failure> {
    match folder(path).is_dir() {
        true => Output::for_text(path, force, inputs),
        false => Ok(Output::File {
            path: path.to_owned(),
            force,
        }),
    }
}

/// The names of the files for inputs: their paths below the deepest folder that holds all of them.
fn shard_names(paths: &[PathBuf]) -> Result<Vec<PathBuf>, Failure> {
    let mut places = Vec::new();
    for path in paths {
        let refuse = |message: &str| Err(Failure::new(message).about(path.display()));
        if path == Path::new("-") || path.is_dir() {
            return refuse("has no name for a file in --output-dir; use -o");
        }
        let Some(name) = path.file_name() else {
            return refuse("has no name for a file in --output-dir; use -o");
        };
        let folder = folder(path).canonicalize().map_err(Failure::at(path))?;
        places.push((path, folder, name));
    }
    let mut shared = places.first().map(|(_, folder, _)| folder.clone());
    for (_, folder, _) in &places {
        shared = shared.and_then(|shared| {
            let mut above = shared.ancestors();
            above
                .find(|above| folder.starts_with(above))
                .map(Path::to_owned)
        });
    }
    let shared = shared.unwrap_or_default();
    let mut names = Vec::new();
    let mut seen = BTreeSet::new();
    for (path, folder, name) in places {
        let name = folder.strip_prefix(&shared).unwrap_or(&folder).join(name);
        if !seen.insert(name.clone()) {
            return Err(Failure::new("is named twice").about(path.display()));
        }
        names.push(name);
    }
    Ok(names)
}

/// The failure to write records, with the option that helps if they have the new fields already.
fn with_way_out(failure: Failure) -> Failure {
    match failure.to_string() {
        message if message.ends_with("other names") => {
            Failure::new(message + ", with --annotate-prefix")
        }
        _ => failure,
    }
}
