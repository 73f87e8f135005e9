//! The text pipeline: the arguments that name its stages, and the files that it needs.

use std::fs::File;
use std::io::Read;
use std::path::{Path, PathBuf};

use simidx::Set;
use simidx_text::assets::{Assets, IdfTable, StopWords, UserDictionary};
use simidx_text::stages::{Html, Idf, Sketch};
use simidx_text::{Pipeline, PipelineOptions, Preset};

use crate::support::failure::Failure;
use crate::support::messages::say;
use crate::support::options::heading;

/// Largest size of a file that a pipeline may need, in bytes.
const MAX_FILE_LEN: u64 = 1 << 30;

/// The stages that fingerprint documents; shared by the commands that read documents.
#[derive(Debug, Clone, clap::Args)]
pub(crate) struct PipelineArgs {
    /// How documents become fingerprints: a preset (web, news-zh, code, short, compat-1e0ng, compat-mfonda,
    /// compat-simhashcjk, compat-yanyiwu or compat-text-dedup), then stages to change, as in
    /// web,segment=chars:4,fingerprint=simhash. news-zh finds more than web in Chinese prose, and is worse where texts share
    /// a template [default: web]
    #[arg(
        long,
        value_name = "PRESET[,STAGE=VALUE]",
        value_parser = parse_options,
        help_heading = heading::DOCUMENTS
    )]
    pipeline: Option<Box<PipelineOptions>>,
    /// Whether documents are HTML: auto, yes or no [default: that of the preset]
    #[arg(long, value_name = "WHEN", help_heading = heading::DOCUMENTS)]
    html: Option<Html>,
    #[command(flatten)]
    pub(crate) files: PipelineFiles,
}

fn parse_options(text: &str) -> simidx_text::Result<Box<PipelineOptions>> {
    text.parse().map(Box::new)
}

impl PipelineArgs {
    /// Whether a stage or a file other than the default is given.
    pub(crate) fn is_given(&self) -> bool {
        self.stages() != Preset::default().options() || self.files.paths().next().is_some()
    }

    /// Whether stages or files other than the default are given that change the features.
    pub(crate) fn makes_features(&self) -> bool {
        let files = &self.files;
        let has_words = files.stop_words.is_some() || files.user_dictionary.is_some();
        has_words || self.stages() != Preset::default().options()
    }

    /// Whether the pipeline is given, and makes simhashes.
    pub(crate) fn makes_simhashes(&self) -> bool {
        self.is_given() && self.stages().sketch == Sketch::SimHash
    }

    /// Whether stages are named, even default ones; files do not count.
    #[cfg(feature = "serve")]
    pub(crate) fn names_stages(&self) -> bool {
        self.pipeline.is_some() || self.html.is_some()
    }

    /// Returns the stages of the named preset, or of the default one.
    fn stages(&self) -> PipelineOptions {
        let given = self.pipeline.as_deref().cloned();
        given.unwrap_or_else(|| Preset::default().options())
    }

    /// Returns the pipeline. Warns about stages that have no effect in it.
    ///
    /// # Errors
    /// Stages that cannot be combined, or a file that cannot be read.
    pub(crate) fn pipeline(&self) -> Result<Pipeline, Failure> {
        let pipeline = self.unweighted()?;
        let idle = pipeline.options().idle_weights();
        if !idle.is_empty() {
            let stages = idle.join(" and ");
            say(format_args!(
                "fingerprint=minhash ignores {stages}; fingerprint=simhash does not"
            ));
        }
        Ok(pipeline)
    }

    /// Returns the pipeline for a command that does not weigh features, without a warning about weights.
    ///
    /// # Errors
    /// The errors of [`Self::pipeline`].
    pub(crate) fn unweighted(&self) -> Result<Pipeline, Failure> {
        let files = self.files.read()?;
        let mut options = self.stages();
        options.html = self.html.unwrap_or(options.html);
        options.stop_words = files.stop_words;
        options.user_dictionary = files.user_dictionary;
        if let Some(table) = files.idf {
            options.idf = Idf::Table(table);
        }
        Ok(Pipeline::new(options)?)
    }
}

/// Returns the user's files that a pipeline was made with.
pub(crate) fn files_of(pipeline: &Pipeline) -> Assets {
    let options = pipeline.options();
    let mut files = Assets::default();
    files.stop_words.clone_from(&options.stop_words);
    files.user_dictionary.clone_from(&options.user_dictionary);
    if let Idf::Table(table) = &options.idf {
        files.idf = Some(table.clone());
    }
    files
}

/// Returns the pipeline that indexes record, with these files. It can make fingerprints of their width. Warns about files
/// that it does not use.
///
/// # Errors
/// Indexes without a pipeline, or a pipeline that needs other files; the failure names the index.
pub(crate) fn recorded(set: &Set, files: &Assets) -> Result<Pipeline, Failure> {
    let recorder = set
        .segments()
        .find(|segment| segment.pipeline() == set.pipeline());
    let blame = |failure: Failure| match recorder {
        Some(segment) => failure.about(segment.name()),
        None => failure,
    };
    let description = set.pipeline().ok_or_else(|| {
        let message = "the index records no text pipeline, as it was built from fingerprints";
        blame(Failure::new(message))
    })?;
    let pipeline = Pipeline::parse(description, files).and_then(|pipeline| {
        pipeline.fingerprinter(set.width())?;
        Ok(pipeline)
    });
    let pipeline = pipeline.map_err(|error| blame(error.into()))?;
    let names = |files: &Assets| {
        let words = files.user_dictionary.as_ref().map(|_| "--user-dictionary");
        let stops = files.stop_words.as_ref().map(|_| "--stop-words");
        [words, stops, files.idf.as_ref().map(|_| "--idf")]
    };
    let used = names(&files_of(&pipeline));
    let given = names(files).into_iter().flatten();
    let idle: Vec<&str> = given.filter(|name| !used.contains(&Some(name))).collect();
    if !idle.is_empty() {
        let names = idle.join(" and ");
        say(format_args!(
            "the index ignores {names}, as it was built without"
        ));
    }
    Ok(pipeline)
}

/// The files that a pipeline needs.
#[derive(Debug, Clone, clap::Args)]
pub(crate) struct PipelineFiles {
    /// Dictionary for jieba: on each line a word and, optionally, its frequency and part of speech
    #[arg(long, value_name = "FILE", help_heading = heading::DOCUMENTS)]
    user_dictionary: Option<PathBuf>,
    /// Words to ignore, one on each line
    #[arg(long, value_name = "FILE", help_heading = heading::DOCUMENTS)]
    stop_words: Option<PathBuf>,
    /// Inverse document frequencies to weight features by: on each line a feature, a tab and a number; `#default` and a
    /// number for all others
    #[arg(long, value_name = "FILE", help_heading = heading::DOCUMENTS)]
    idf: Option<PathBuf>,
}

impl PipelineFiles {
    /// Returns the paths of the given files.
    pub(crate) fn paths(&self) -> impl Iterator<Item = &Path> {
        let all = [&self.user_dictionary, &self.stop_words, &self.idf];
        all.into_iter().flatten().map(PathBuf::as_path)
    }

    /// Reads the named files.
    ///
    /// # Errors
    /// A file that cannot be read or used; the failure names it, and its line.
    pub(crate) fn read(&self) -> Result<Assets, Failure> {
        let mut resources = Assets::default();
        resources.user_dictionary =
            read(self.user_dictionary.as_deref(), UserDictionary::from_bytes)?;
        resources.stop_words = read(self.stop_words.as_deref(), StopWords::from_bytes)?;
        resources.idf = read(self.idf.as_deref(), IdfTable::from_bytes)?;
        Ok(resources)
    }
}

fn read<T>(
    path: Option<&Path>,
    parse: impl FnOnce(&str, &[u8]) -> simidx_text::Result<T>,
) -> Result<Option<T>, Failure> {
    let Some(path) = path else {
        return Ok(None);
    };
    let mut bytes = Vec::new();
    let mut file = File::open(path)
        .map_err(Failure::at(path))?
        .take(MAX_FILE_LEN + 1);
    file.read_to_end(&mut bytes).map_err(Failure::at(path))?;
    if bytes.len() as u64 > MAX_FILE_LEN {
        let message = format!("is longer than {MAX_FILE_LEN} bytes");
        return Err(Failure::new(message).about(path.display()));
    }
    // Descriptions are stored in index files, which must not reveal directories of the machine.
    let name = path.file_name().unwrap_or_default().to_string_lossy();
    Ok(Some(parse(&name, &bytes)?))
}
