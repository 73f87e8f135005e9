//! Pipelines for texts, and the comparison of two texts.

use std::ffi::CStr;

use numpy::IntoPyArray;
use pyo3::exceptions::PyUserWarning;
use pyo3::prelude::*;
use pyo3::types::{PyDict, PyInt, PyString};
use simidx::{Fingerprints, Width};
use simidx_text::assets::Assets;
use simidx_text::{Pipeline, PipelineOptions, Preset};

use crate::arrays::array;
use crate::errors::{Class, Failure};
use crate::given::Given;
use crate::input;
use crate::options;
use crate::run::{How, Watch, run_apart};

/// Texts between two progress reports.
const PIECE: usize = 4096;

/// A pipeline, which computes fingerprints of texts.
#[pyclass(frozen, subclass, module = "simidx._simidx", name = "Pipeline")]
pub(crate) struct PyPipeline {
    pipeline: Pipeline,
    width: Width,
}

/// The number of features that a comparison lists.
const NAMED: usize = 10;

/// Opens a pipeline by its name, as in the options of the program. A warning refers to the line that called the
/// package; `frames` is the number of the package's functions between it and the extension.
fn named(py: Python<'_>, name: &str, frames: i32) -> PyResult<Pipeline> {
    let options: Result<PipelineOptions, _> = name.parse();
    let pipeline = options.and_then(Pipeline::new);
    let pipeline = pipeline.map_err(|error| Failure::from(error).raise(py))?;
    let idle = pipeline.options().idle_weights();
    if !idle.is_empty() {
        let stages = idle.join(" and ");
        let message =
            format!("{name}: fingerprint=minhash ignores {stages}; fingerprint=simhash does not\0");
        let message = CStr::from_bytes_until_nul(message.as_bytes()).unwrap_or_default();
        PyErr::warn(py, &py.get_type::<PyUserWarning>(), message, frames + 1)?;
    }
    Ok(pipeline)
}

/// Returns a pipeline given by name or as an object, for a function of the package that its caller calls directly.
pub(crate) fn given(object: Option<&Bound<'_, PyAny>>, py: Python<'_>) -> PyResult<Pipeline> {
    match object {
        Some(object) => meant(object, 1),
        None => named(py, Preset::default().name(), 1),
    }
}

fn meant(object: &Bound<'_, PyAny>, frames: i32) -> PyResult<Pipeline> {
    let py = object.py();
    if let Ok(pipeline) = object.cast::<PyPipeline>() {
        return Ok(pipeline.get().pipeline.clone());
    }
    if let Ok(name) = object.cast::<PyString>() {
        return named(py, &input::unicode(name, "pipeline")?, frames);
    }
    let message = "pipeline: a name or a Pipeline is expected";
    Err(Class::InputType.error(py, message))
}

/// Returns the width of a given `Pipeline`; `None` for a name.
pub(crate) fn width_of(object: Option<&Bound<'_, PyAny>>) -> Option<Width> {
    let pipeline = object?.cast::<PyPipeline>().ok()?;
    Some(pipeline.get().width)
}

/// Returns the description of a pipeline given by name or as an object.
pub(crate) fn pipeline_of(object: &Bound<'_, PyAny>, frames: i32) -> PyResult<String> {
    Ok(meant(object, frames)?.describe())
}

/// Returns the fingerprints of texts, each of which must have features.
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
    // The fingerprint that `fingerprints` returns for a text without features.
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
    /// Opens a pipeline by a name, or by a description as index files record it.
    #[new]
    fn new(
        py: Python<'_>,
        name: &Bound<'_, PyAny>,
        width: &Bound<'_, PyAny>,
        described: bool,
    ) -> PyResult<Self> {
        let name = &*input::string(name, "the name or description")?;
        let width = options::width(width, "width")?;
        let pipeline = match described {
            true => {
                let pipeline = Pipeline::parse(name, &Assets::default());
                pipeline.map_err(|error| Failure::from(error).raise(py))?
            }
            false => named(py, name, 1)?,
        };
        // A hash with too few bits is refused here, not at the first text.
        let fits = pipeline.fingerprinter(width).map(drop);
        fits.map_err(|error| Failure::from(error).raise(py))?;
        Ok(PyPipeline { pipeline, width })
    }

    /// Returns the names of the presets.
    #[staticmethod]
    fn presets() -> Vec<&'static str> {
        Preset::ALL.iter().map(|preset| preset.name()).collect()
    }

    /// Returns the fingerprint of one text as an integer.
    fn fingerprint<'py>(&self, text: &Bound<'py, PyAny>) -> PyResult<Bound<'py, PyInt>> {
        let (py, text) = (text.py(), input::string(text, "text")?);
        let value = py.detach(|| self.pipeline.fingerprint(&text, self.width));
        let value = value.map_err(|error| Failure::from(error).raise(py))?;
        Ok(value.into_pyobject(py)?)
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
}

/// Returns the fingerprints of texts by the pipeline `self`, and for each text whether it has a feature that counts.
#[pyfunction]
pub(crate) fn fingerprints_and_features(
    given: Given<'_>,
) -> PyResult<(Bound<'_, PyAny>, Bound<'_, PyAny>)> {
    let (py, texts) = (given.py(), input::texts(&given.value("texts")?)?);
    let this = given.value("self")?;
    let this = this.cast::<PyPipeline>()?.get();
    let (pipeline, width) = (this.pipeline.clone(), this.width);
    let (values, mask) = run_apart(py, &given.how()?, move |watch| {
        with_features(&pipeline, width, &texts.all(), watch)
    })?;
    Ok((array(py, values)?, mask.into_pyarray(py).into_any()))
}

/// Returns the comparison of two texts, with the names of `simidx.Comparison`.
#[pyfunction]
pub(crate) fn compare(given: Given<'_>) -> PyResult<Bound<'_, PyDict>> {
    let py = given.py();
    let a = input::string(&given.value("a")?, "a")?;
    let b = input::string(&given.value("b")?, "b")?;
    let pipeline = given.get("pipeline")?;
    let width = given.read("width", options::width)?;
    let width = width.or(width_of(pipeline.as_ref())).unwrap_or_default();
    let pipeline = self::given(pipeline.as_ref(), py)?;
    let found = run_apart(py, &How::default(), move |_| {
        Ok(pipeline.fingerprinter(width)?.compare(&a, &b))
    })?;
    let facts = PyDict::new(py);
    facts.set_item("distance", found.distance())?;
    facts.set_item("jaccard", found.jaccard())?;
    facts.set_item("weighted_jaccard", found.weighted_jaccard())?;
    facts.set_item("cosine", found.cosine())?;
    facts.set_item("similarity", found.similarity())?;
    facts.set_item("estimate", found.estimate())?;
    facts.set_item("equal", found.are_equal())?;
    facts.set_item("have_features", found.have_features())?;
    facts.set_item("fingerprints", (found.a.fingerprint, found.b.fingerprint))?;
    let features = found.most_different(NAMED).into_iter();
    let features = features.map(|f| (f.text.clone(), f.weight_a, f.weight_b));
    facts.set_item("most_different", features.collect::<Vec<_>>())?;
    Ok(facts)
}
