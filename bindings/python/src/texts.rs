//! Texts: pipelines, the texts that are similar, and two texts compared.

use numpy::IntoPyArray;
use pyo3::prelude::*;
use pyo3::types::{PyInt, PyString, PyTuple};
use simidx::{Error, Fingerprint};
use simidx_text::assets::Assets;
use simidx_text::dedup::Similarity;
use simidx_text::similar::{SimilarCandidates, SimilarOptions, SimilarTexts};
use simidx_text::{Pipeline, PipelineOptions, Preset};

use crate::column::Texts;
use crate::errors::{Class, Failure};
use crate::input;
use crate::options;
use crate::run::{How, Watch, run};
use crate::width::{Width, by_width};

/// Texts between two reports of progress.
const PIECE: usize = 4096;

/// How texts become fingerprints.
#[pyclass(frozen, module = "simidx", name = "Pipeline")]
pub(crate) struct PyPipeline {
    pipeline: Pipeline,
    name: Option<String>,
    width: u32,
}

fn check_width(py: Python<'_>, width: u32) -> PyResult<u32> {
    match width {
        32 | 64 | 128 => Ok(width),
        _ => {
            let message = format!("width={width}: fingerprints have 32, 64 or 128 bits");
            Err(Class::Option.error(py, message))
        }
    }
}

/// The pipeline of a name, as in the options of the program.
fn named(py: Python<'_>, name: &str) -> PyResult<Pipeline> {
    let options: Result<PipelineOptions, _> = name.parse();
    let pipeline = options.and_then(Pipeline::new);
    pipeline.map_err(|error| Failure::from(error).raise(py))
}

/// The pipeline that is meant by a name or is one.
fn given(object: Option<&Bound<'_, PyAny>>, py: Python<'_>) -> PyResult<Pipeline> {
    let Some(object) = object else {
        return named(py, Preset::default().name());
    };
    if let Ok(pipeline) = object.cast::<PyPipeline>() {
        return Ok(pipeline.get().pipeline.clone());
    }
    if let Ok(name) = object.cast::<PyString>() {
        return named(py, &name.to_cow()?);
    }
    let message = "pipeline: a name or a Pipeline is expected";
    Err(Class::InputType.error(py, message))
}

/// The description of the pipeline that is meant.
pub(crate) fn pipeline_of(object: &Bound<'_, PyAny>) -> PyResult<String> {
    Ok(given(Some(object), object.py())?.describe())
}

impl PyPipeline {
    fn over<T: Send + 'static>(
        &self,
        py: Python<'_>,
        texts: Texts,
        how: &How,
        work: impl FnOnce(&Pipeline, &[&str], &Watch) -> Result<T, Failure> + Send + 'static,
    ) -> PyResult<T> {
        let pipeline = self.pipeline.clone();
        run(py, how, move |watch| work(&pipeline, &texts.all(), watch))
    }
}

fn all_fingerprints<F: Width>(
    pipeline: &Pipeline,
    texts: &[&str],
    watch: &Watch,
) -> Result<Vec<F>, Failure> {
    let parallel = pipeline.parallel::<F>()?;
    let mut all = Vec::with_capacity(texts.len());
    for piece in texts.chunks(PIECE) {
        all.extend(parallel.fingerprints(piece));
        watch.report("fingerprint", all.len() as u64, texts.len() as u64)?;
    }
    Ok(all)
}

#[pymethods]
impl PyPipeline {
    #[new]
    #[pyo3(signature = (name="web", *, width=64))]
    fn new(py: Python<'_>, name: &str, width: u32) -> PyResult<Self> {
        let width = check_width(py, width)?;
        let pipeline = named(py, name)?;
        // A hash of too few bits is refused now, not at the first text.
        let fits = by_width!(width, F => pipeline.fingerprinter::<F>().map(drop));
        fits.map_err(|error| Failure::from(error).raise(py))?;
        Ok(PyPipeline {
            pipeline,
            name: Some(name.to_owned()),
            width,
        })
    }

    /// The pipeline of a description, as `description` gives it and index files record it.
    #[staticmethod]
    #[pyo3(signature = (description, *, width=64))]
    fn from_description(py: Python<'_>, description: &str, width: u32) -> PyResult<Self> {
        let pipeline = Pipeline::parse(description, &Assets::default());
        Ok(PyPipeline {
            pipeline: pipeline.map_err(|error| Failure::from(error).raise(py))?,
            name: None,
            width: check_width(py, width)?,
        })
    }

    /// The names of the presets.
    #[staticmethod]
    fn presets() -> Vec<&'static str> {
        Preset::ALL.iter().map(|preset| preset.name()).collect()
    }

    /// The fingerprints of texts, in order.
    #[pyo3(signature = (texts, *, threads=None, progress=None))]
    fn fingerprints<'py>(
        &self,
        py: Python<'py>,
        texts: &Bound<'py, PyAny>,
        threads: Option<&Bound<'py, PyAny>>,
        progress: Option<&Bound<'py, PyAny>>,
    ) -> PyResult<Bound<'py, PyAny>> {
        let texts = input::texts(texts)?;
        let how = how(threads, progress)?;
        by_width!(self.width, F => {
            let values = self.over(py, texts, &how, all_fingerprints::<F>)?;
            F::array(py, values)
        })
    }

    /// The fingerprint of one text, as an integer.
    fn fingerprint<'py>(&self, py: Python<'py>, text: &str) -> PyResult<Bound<'py, PyInt>> {
        let value = by_width!(self.width, F => {
            let value = py.detach(|| self.pipeline.fingerprint::<F>(text));
            value.map_err(|error| Failure::from(error).raise(py))?.to_u128()
        });
        Ok(value.into_pyobject(py)?)
    }

    /// Whether any feature of each text counts. The fingerprint of a text without features says nothing about it.
    #[pyo3(signature = (texts, *, threads=None))]
    fn has_features<'py>(
        &self,
        py: Python<'py>,
        texts: &Bound<'py, PyAny>,
        threads: Option<&Bound<'py, PyAny>>,
    ) -> PyResult<Bound<'py, PyAny>> {
        let texts = input::texts(texts)?;
        let mask = self.over(py, texts, &how(threads, None)?, |pipeline, texts, watch| {
            let parallel = pipeline.parallel::<u32>()?;
            let mut mask = Vec::with_capacity(texts.len());
            for piece in texts.chunks(PIECE) {
                let found = parallel.fingerprints_if_any(piece);
                mask.extend(found.iter().map(Option::is_some));
                watch.check()?;
            }
            Ok(mask)
        })?;
        Ok(mask.into_pyarray(py).into_any())
    }

    /// The complete description: one line of JSON, which index files record.
    #[getter]
    fn description(&self) -> String {
        self.pipeline.describe()
    }

    /// Bits of the fingerprints.
    #[getter]
    fn width(&self) -> u32 {
        self.width
    }

    fn __eq__(&self, other: &Bound<'_, PyAny>) -> bool {
        let other = other.cast::<PyPipeline>();
        other.is_ok_and(|other| {
            let other = other.get();
            self.width == other.width && self.pipeline == other.pipeline
        })
    }

    fn __hash__(&self) -> u64 {
        use std::hash::{DefaultHasher, Hash, Hasher};
        let mut hasher = DefaultHasher::new();
        (self.pipeline.describe(), self.width).hash(&mut hasher);
        hasher.finish()
    }

    fn __reduce__<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyTuple>> {
        let parse = py.import("simidx._simidx")?.getattr("_pipeline")?;
        (parse, (self.pipeline.describe(), self.width)).into_pyobject(py)
    }

    fn __repr__(&self) -> String {
        match &self.name {
            Some(name) => format!("simidx.Pipeline({name:?}, width={})", self.width),
            None => format!(
                "<simidx.Pipeline {}, width={}>",
                self.description(),
                self.width
            ),
        }
    }
}

/// The pipeline that was pickled.
#[pyfunction]
pub(crate) fn _pipeline(py: Python<'_>, description: &str, width: u32) -> PyResult<PyPipeline> {
    PyPipeline::from_description(py, description, width)
}

fn how(threads: Option<&Bound<'_, PyAny>>, progress: Option<&Bound<'_, PyAny>>) -> PyResult<How> {
    Ok(How {
        threads: options::optional(threads, "threads", options::count)?,
        progress: options::progress(progress)?,
    })
}

/// What the functions on similar texts take.
pub(crate) struct Search {
    pub(crate) texts: Texts,
    pub(crate) pipeline: Pipeline,
    pub(crate) options: SimilarOptions,
    pub(crate) how: How,
}

/// The arguments that all of them have.
pub(crate) struct Given<'a, 'py> {
    pub(crate) texts: &'a Bound<'py, PyAny>,
    pub(crate) similarity: f64,
    pub(crate) words: Option<usize>,
    pub(crate) pipeline: Option<&'a Bound<'py, PyAny>>,
    pub(crate) memory: Option<&'a Bound<'py, PyAny>>,
    pub(crate) temp_dir: Option<&'a Bound<'py, PyAny>>,
    pub(crate) threads: Option<&'a Bound<'py, PyAny>>,
    pub(crate) progress: Option<&'a Bound<'py, PyAny>>,
}

impl Given<'_, '_> {
    pub(crate) fn search(&self, py: Python<'_>) -> PyResult<Search> {
        let similarity = match self.words {
            Some(words) => Similarity::of_words(self.similarity, words),
            None => Similarity::of_features(self.similarity),
        };
        let mut options = SimilarOptions::default();
        options.similarity = similarity.map_err(|_| {
            let message = format!(
                "similarity={}, words={:?}: a Jaccard similarity above 0 and at most 1 is expected, of 1 to 64 words",
                self.similarity, self.words
            );
            Class::Option.error(py, message)
        })?;
        options.memory = options::optional(self.memory, "memory", options::bytes)?;
        options.temp_dir = self.temp_dir.map(options::path).transpose()?;
        Ok(Search {
            texts: input::texts(self.texts)?,
            pipeline: given(self.pipeline, py)?,
            options,
            how: how(self.threads, self.progress)?,
        })
    }
}

impl Search {
    /// Lets `work` work on the texts that may be similar.
    pub(crate) fn run<T: Send + 'static>(
        self,
        py: Python<'_>,
        work: impl FnOnce(SimilarCandidates, &Watch) -> simidx::Result<T> + Send + 'static,
    ) -> PyResult<T> {
        let (texts, pipeline, options) = (self.texts, self.pipeline, self.options);
        run(py, &self.how, move |watch| {
            let texts = texts.all();
            let total = texts.len() as u64;
            let mut collected = SimilarTexts::new(&pipeline, &options)?;
            for (number, text) in texts.iter().enumerate() {
                collected.push(*text)?;
                if number % PIECE == 0 {
                    watch.report("sign", number as u64, total)?;
                }
            }
            watch.report("group", 0, total)?;
            let mut candidates = collected.candidates()?;
            if candidates.needs_texts() {
                for (number, text) in texts.iter().enumerate() {
                    if candidates.needs_text(number) {
                        candidates.give(number, *text)?;
                    }
                    if number % PIECE == 0 {
                        watch.report("read again", number as u64, total)?;
                    }
                }
            }
            watch.report("compare", 0, total)?;
            Ok(work(candidates, watch)?)
        })
    }
}

/// Which texts to keep so that no two are similar: each one that is not kept is similar to an earlier one that is.
#[pyfunction]
#[pyo3(signature = (texts, similarity=0.8, *, words=Some(3), pipeline=None, memory=None, temp_dir=None, threads=None, progress=None), text_signature = "(texts, similarity=0.8, *, words=3, pipeline=None, memory=None, temp_dir=None, threads=None, progress=None)")]
#[expect(
    clippy::too_many_arguments,
    reason = "they are the arguments of a function of Python"
)]
pub(crate) fn dedup_texts<'py>(
    py: Python<'py>,
    texts: &Bound<'py, PyAny>,
    similarity: f64,
    words: Option<usize>,
    pipeline: Option<&Bound<'py, PyAny>>,
    memory: Option<&Bound<'py, PyAny>>,
    temp_dir: Option<&Bound<'py, PyAny>>,
    threads: Option<&Bound<'py, PyAny>>,
    progress: Option<&Bound<'py, PyAny>>,
) -> PyResult<Bound<'py, PyAny>> {
    let given = Given {
        texts,
        similarity,
        words,
        pipeline,
        memory,
        temp_dir,
        threads,
        progress,
    };
    let mask = given.search(py)?.run(py, |candidates, _| {
        let found = candidates.dedup()?;
        let kept = (0..found.text_count()).map(|text| found.is_kept(text));
        Ok(kept.collect::<Vec<bool>>())
    })?;
    Ok(mask.into_pyarray(py).into_any())
}

/// All pairs of similar texts: `left, right, similarity`, by row.
#[pyfunction]
#[pyo3(signature = (texts, similarity=0.8, *, words=Some(3), pipeline=None, max_pairs=None, memory=None, temp_dir=None, threads=None, progress=None), text_signature = "(texts, similarity=0.8, *, words=3, pipeline=None, max_pairs=None, memory=None, temp_dir=None, threads=None, progress=None)")]
#[expect(
    clippy::too_many_arguments,
    reason = "they are the arguments of a function of Python"
)]
pub(crate) fn pairs_texts<'py>(
    py: Python<'py>,
    texts: &Bound<'py, PyAny>,
    similarity: f64,
    words: Option<usize>,
    pipeline: Option<&Bound<'py, PyAny>>,
    max_pairs: Option<u64>,
    memory: Option<&Bound<'py, PyAny>>,
    temp_dir: Option<&Bound<'py, PyAny>>,
    threads: Option<&Bound<'py, PyAny>>,
    progress: Option<&Bound<'py, PyAny>>,
) -> PyResult<Bound<'py, PyTuple>> {
    let given = Given {
        texts,
        similarity,
        words,
        pipeline,
        memory,
        temp_dir,
        threads,
        progress,
    };
    let pairs = given.search(py)?.run(py, move |mut candidates, watch| {
        let mut pairs: Vec<(i64, i64, f64)> = Vec::new();
        candidates.for_each_pair(|pair| -> simidx::Result<()> {
            if let Some(limit) = max_pairs
                && pairs.len() as u64 >= limit
            {
                return Err(Error::LimitReached {
                    what: "pairs",
                    limit,
                });
            }
            pairs.push((pair.a as i64, pair.b as i64, pair.jaccard));
            watch.check()
        })?;
        pairs.sort_unstable_by_key(|&(left, right, _)| (left, right));
        Ok(pairs)
    })?;
    let left: Vec<i64> = pairs.iter().map(|pair| pair.0).collect();
    let right: Vec<i64> = pairs.iter().map(|pair| pair.1).collect();
    let similarities: Vec<f64> = pairs.iter().map(|pair| pair.2).collect();
    let (left, right) = (left.into_pyarray(py), right.into_pyarray(py));
    let similarities = similarities.into_pyarray(py).into_any();
    PyTuple::new(py, [left.into_any(), right.into_any(), similarities])
}

/// For each text the first of its cluster: `int64`. Two texts are in one cluster if a chain of similar ones leads from one to
/// the other.
#[pyfunction]
#[pyo3(signature = (texts, similarity=0.8, *, words=Some(3), pipeline=None, memory=None, temp_dir=None, threads=None, progress=None), text_signature = "(texts, similarity=0.8, *, words=3, pipeline=None, memory=None, temp_dir=None, threads=None, progress=None)")]
#[expect(
    clippy::too_many_arguments,
    reason = "they are the arguments of a function of Python"
)]
pub(crate) fn clusters_texts<'py>(
    py: Python<'py>,
    texts: &Bound<'py, PyAny>,
    similarity: f64,
    words: Option<usize>,
    pipeline: Option<&Bound<'py, PyAny>>,
    memory: Option<&Bound<'py, PyAny>>,
    temp_dir: Option<&Bound<'py, PyAny>>,
    threads: Option<&Bound<'py, PyAny>>,
    progress: Option<&Bound<'py, PyAny>>,
) -> PyResult<Bound<'py, PyAny>> {
    let given = Given {
        texts,
        similarity,
        words,
        pipeline,
        memory,
        temp_dir,
        threads,
        progress,
    };
    let labels = given.search(py)?.run(py, |mut candidates, _| {
        let labels = candidates.clusters()?;
        Ok(labels
            .into_iter()
            .map(|first| first as i64)
            .collect::<Vec<i64>>())
    })?;
    Ok(labels.into_pyarray(py).into_any())
}

/// Two texts compared by one pipeline.
#[pyclass(frozen, module = "simidx", get_all)]
pub(crate) struct Comparison {
    /// Number of bits in which the fingerprints differ.
    distance: u32,
    /// Jaccard similarity of the features that count.
    jaccard: f64,
    /// The same, weighted.
    weighted_jaccard: f64,
    /// Cosine of the weights.
    cosine: f64,
    /// What the fingerprints estimate, from all features.
    similarity: f64,
    /// The same, estimated from the distance.
    estimate: f64,
    /// Whether the texts are equal.
    equal: bool,
    /// Whether both have features.
    have_features: bool,
    /// The fingerprints.
    fingerprints: (u128, u128),
    /// The features that differ most: text, weight in the first, weight in the second.
    most_different: Vec<(String, f64, f64)>,
}

#[pymethods]
impl Comparison {
    fn __repr__(&self) -> String {
        format!(
            "Comparison(distance={}, jaccard={:.4}, cosine={:.4})",
            self.distance, self.jaccard, self.cosine
        )
    }
}

/// Features that a comparison names.
const NAMED: usize = 10;

/// Compares two texts by the fingerprints and all features of a pipeline.
#[pyfunction]
#[pyo3(signature = (a, b, *, pipeline=None, width=64))]
pub(crate) fn compare(
    py: Python<'_>,
    a: String,
    b: String,
    pipeline: Option<&Bound<'_, PyAny>>,
    width: u32,
) -> PyResult<Comparison> {
    let width = check_width(py, width)?;
    let pipeline = given(pipeline, py)?;
    by_width!(width, F => run(py, &How::default(), move |_| {
        let found = pipeline.fingerprinter::<F>()?.compare(&a, &b);
        let features = found.most_different(NAMED).into_iter();
        Ok(Comparison {
            distance: found.distance(),
            jaccard: found.jaccard(),
            weighted_jaccard: found.weighted_jaccard(),
            cosine: found.cosine(),
            similarity: found.similarity(),
            estimate: found.estimate(),
            equal: found.are_equal(),
            have_features: found.have_features(),
            fingerprints: (found.a.fingerprint.to_u128(), found.b.fingerprint.to_u128()),
            most_different: features.map(|f| (f.text.clone(), f.weight_a, f.weight_b)).collect(),
        })
    }))
}
