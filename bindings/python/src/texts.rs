//! Texts: pipelines, and two texts compared.

use std::ffi::CStr;

use numpy::IntoPyArray;
use pyo3::exceptions::PyUserWarning;
use pyo3::prelude::*;
use pyo3::types::{PyInt, PyString, PyTuple};
use simidx::{Fingerprints, Width};
use simidx_text::assets::Assets;
use simidx_text::{Pipeline, PipelineOptions, Preset};

use crate::arrays::array;
use crate::column::Texts;
use crate::errors::{Class, Failure};
use crate::input;
use crate::options;
use crate::run::{How, Watch, run_apart};

/// Texts between two reports of progress.
const PIECE: usize = 4096;

/// How texts become fingerprints.
#[pyclass(frozen, module = "simidx", name = "Pipeline")]
pub(crate) struct PyPipeline {
    pipeline: Pipeline,
    name: Option<String>,
    width: Width,
}

fn check_width(py: Python<'_>, bits: u32) -> PyResult<Width> {
    Width::from_bits(bits).ok_or_else(|| {
        let message = format!("width={bits}: fingerprints have 32, 64 or 128 bits");
        Class::Option.error(py, message)
    })
}

/// The pipeline of a name, as in the options of the program.
fn named(py: Python<'_>, name: &str) -> PyResult<Pipeline> {
    let options: Result<PipelineOptions, _> = name.parse();
    let pipeline = options.and_then(Pipeline::new);
    let pipeline = pipeline.map_err(|error| Failure::from(error).raise(py))?;
    let idle = pipeline.options().idle_weights();
    if !idle.is_empty() {
        let stages = idle.join(" and ");
        let message =
            format!("{name}: fingerprint=minhash ignores {stages}; fingerprint=simhash does not\0");
        let message = CStr::from_bytes_until_nul(message.as_bytes()).unwrap_or_default();
        PyErr::warn(py, &py.get_type::<PyUserWarning>(), message, 1)?;
    }
    Ok(pipeline)
}

/// The pipeline that is meant by a name or is one.
pub(crate) fn given(object: Option<&Bound<'_, PyAny>>, py: Python<'_>) -> PyResult<Pipeline> {
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
        run_apart(py, how, move |watch| work(&pipeline, &texts.all(), watch))
    }
}

fn all_fingerprints(
    pipeline: &Pipeline,
    width: Width,
    texts: &[&str],
    watch: &Watch,
) -> Result<Fingerprints, Failure> {
    let parallel = pipeline.parallel(width)?;
    let mut all = Fingerprints::new(width);
    for piece in texts.chunks(PIECE) {
        let found = parallel.fingerprints(piece);
        found.iter().for_each(|value| all.push(value));
        watch.report("fingerprint", all.len() as u64, texts.len() as u64)?;
    }
    Ok(all)
}

/// The fingerprints of texts, each of which must have features.
pub(crate) fn telling_fingerprints(
    pipeline: &Pipeline,
    width: Width,
    texts: &[&str],
    watch: &Watch,
) -> Result<Fingerprints, Failure> {
    let (fingerprints, mask) = with_features(pipeline, width, texts, watch)?;
    match mask.iter().position(|says| !says) {
        None => Ok(fingerprints),
        Some(row) => {
            let message = format!(
                "texts[{row}]: no feature counts, so that it is near to nothing; leave it out"
            );
            Err(Failure::Other(Class::Input, message))
        }
    }
}

fn with_features(
    pipeline: &Pipeline,
    width: Width,
    texts: &[&str],
    watch: &Watch,
) -> Result<(Fingerprints, Vec<bool>), Failure> {
    let parallel = pipeline.parallel(width)?;
    // What `fingerprints` gives for a text without features.
    let none = parallel.empty_fingerprint();
    let (mut all, mut mask) = (Fingerprints::new(width), Vec::new());
    for piece in texts.chunks(PIECE) {
        let found = parallel.fingerprints_if_any(piece);
        mask.extend(found.iter().map(Option::is_some));
        for found in found {
            all.push(found.unwrap_or(none));
        }
        watch.report("fingerprint", all.len() as u64, texts.len() as u64)?;
    }
    Ok((all, mask))
}

#[pymethods]
impl PyPipeline {
    #[new]
    #[pyo3(signature = (name="web", *, width=64))]
    fn new(py: Python<'_>, name: &str, width: u32) -> PyResult<Self> {
        let width = check_width(py, width)?;
        let pipeline = named(py, name)?;
        // A hash of too few bits is refused now, not at the first text.
        let fits = pipeline.fingerprinter(width);
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
        let width = self.width;
        let values = self.over(py, texts, &how, move |pipeline, texts, watch| {
            all_fingerprints(pipeline, width, texts, watch)
        })?;
        array(py, values)
    }

    /// The fingerprint of one text, as an integer.
    fn fingerprint<'py>(&self, py: Python<'py>, text: &str) -> PyResult<Bound<'py, PyInt>> {
        let value = py.detach(|| self.pipeline.fingerprint(text, self.width));
        let value = value.map_err(|error| Failure::from(error).raise(py))?;
        Ok(value.into_pyobject(py)?)
    }

    /// The fingerprints of texts and whether any feature of each text counts, in one pass: `fingerprints` and `has_features`.
    #[pyo3(signature = (texts, *, threads=None, progress=None))]
    fn fingerprints_and_features<'py>(
        &self,
        py: Python<'py>,
        texts: &Bound<'py, PyAny>,
        threads: Option<&Bound<'py, PyAny>>,
        progress: Option<&Bound<'py, PyAny>>,
    ) -> PyResult<(Bound<'py, PyAny>, Bound<'py, PyAny>)> {
        let texts = input::texts(texts)?;
        let how = how(threads, progress)?;
        let width = self.width;
        let (values, mask) = self.over(py, texts, &how, move |pipeline, texts, watch| {
            with_features(pipeline, width, texts, watch)
        })?;
        Ok((array(py, values)?, mask.into_pyarray(py).into_any()))
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
            let parallel = pipeline.parallel(Width::W32)?;
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
        self.width.bits()
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
        (self.pipeline.describe(), self.width.bits()).hash(&mut hasher);
        hasher.finish()
    }

    fn __reduce__<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyTuple>> {
        let parse = py.import("simidx._simidx")?.getattr("_pipeline")?;
        (parse, (self.pipeline.describe(), self.width.bits())).into_pyobject(py)
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
    run_apart(py, &How::default(), move |_| {
        let found = pipeline.fingerprinter(width)?.compare(&a, &b);
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
            fingerprints: (found.a.fingerprint, found.b.fingerprint),
            most_different: features
                .map(|f| (f.text.clone(), f.weight_a, f.weight_b))
                .collect(),
        })
    })
}
