//! Distributed deduplication for `simidx_spark.distributed`: keys, similarities and sketches of texts.

use numpy::{IntoPyArray, PyArrayMethods, PyReadonlyArray1};
use pyo3::prelude::*;
use simidx::batch::IdColumn;
use simidx::{Error, Fingerprints, IdKind};
use simidx_text::Pipeline;
use simidx_text::compare::FeatureSet;
use simidx_text::dedup::{Similarity, content_identity};
use simidx_text::similar::{
    JaccardEstimate, MOST_CHANCE_MATCHES, SketchFeatures, SketchSearch, TextSigner, TextSketch,
};

use crate::arrays::array;
use crate::errors::{Class, Failure};
use crate::given::Given;
use crate::index::PyIndex;
use crate::input;
use crate::opened::Opened;
use crate::records;
use crate::run::{Watch, run_apart};
use crate::similar::Search;

/// Texts whose sketches are looked up at a time.
const SKETCHED: usize = 1 << 16;

/// Returns a 128-bit hash of all bytes of each text, which distinguishes texts without features.
#[pyfunction]
pub(crate) fn identities<'py>(
    py: Python<'py>,
    texts: &Bound<'py, PyAny>,
) -> PyResult<Bound<'py, PyAny>> {
    let texts = input::texts(texts)?;
    let texts = texts.all().into_iter();
    let identities: Vec<u128> = texts.map(content_identity).collect();
    array(py, identities)
}

/// Returns for each text its keys, one for each band, its features in brief, and its features on demand.
///
/// The second array has five numbers for each text: a hash of 128 bits of its features, the number of features, and for
/// each of 128 classes of features whether it has an odd number of them. Features come as the end of each text's among
/// all, and all of them.
#[pyfunction]
pub(crate) fn text_keys<'py>(
    given: Given<'py>,
    with_features: bool,
) -> PyResult<[Bound<'py, PyAny>; 4]> {
    given.only(&Search::NAMES)?;
    let (py, search) = (given.py(), Search::new(&given)?);
    let signer = TextSigner::new(search.options.similarity);
    let (texts, pipeline) = (search.texts, search.pipeline);
    let (mut keys, mut briefs) = (Vec::new(), Vec::new());
    let (mut ends, mut all) = (Vec::<i64>::new(), Vec::new());
    let (keys, briefs, ends, all) = run_apart(py, &search.how, move |_| {
        let parallel = pipeline.parallel(simidx::Width::W64)?;
        for set in signer.all_features(&parallel, &texts.all()) {
            keys.extend(signer.wide_keys(&set));
            briefs.extend(brief(set.hashes()));
            if with_features {
                all.extend_from_slice(set.hashes());
            }
            ends.push(all.len() as i64);
        }
        Ok((keys, briefs, ends, all))
    })?;
    let rows = ends.len();
    let columns = keys.len().checked_div(rows).unwrap_or_default();
    Ok([
        keys.into_pyarray(py).reshape([rows, columns])?.into_any(),
        briefs.into_pyarray(py).reshape([rows, BRIEF])?.into_any(),
        ends.into_pyarray(py).into_any(),
        all.into_pyarray(py).into_any(),
    ])
}

/// Numbers in a brief.
const BRIEF: usize = 5;

/// Returns the features of a text in brief: a hash of all, their number, and the parities of 128 classes.
fn brief(features: &[u64]) -> [u64; BRIEF] {
    let (mut high, mut low, mut parities) = (0, 0, [0, 0]);
    for &feature in features {
        high = mixed(high ^ feature, 0xd1b5_4a32_d192_ed03);
        low = mixed(low ^ feature, 0x9fb2_1c65_1e98_df25);
        parities[(feature >> 63) as usize] ^= 1 << (feature >> 57 & 63);
    }
    [high, low, features.len() as u64, parities[0], parities[1]]
}

fn mixed(value: u64, factor: u64) -> u64 {
    let product = u128::from(value ^ 0x9e37_79b9_7f4a_7c15) * u128::from(factor);
    (product >> 64) as u64 ^ product as u64
}

/// Returns the Jaccard similarity of pairs of texts, by their rows. Features are those of `text_keys`.
#[pyfunction]
pub(crate) fn similarities<'py>(
    py: Python<'py>,
    ends: PyReadonlyArray1<'py, i64>,
    features: PyReadonlyArray1<'py, u64>,
    left: PyReadonlyArray1<'py, i64>,
    right: PyReadonlyArray1<'py, i64>,
) -> PyResult<Bound<'py, PyAny>> {
    let (all, mut start) = (features.as_slice()?, 0);
    let sets = ends.as_slice()?.iter().map(|&end| {
        let set = all[start..end as usize].to_vec();
        start = end as usize;
        FeatureSet::from_hashes(set)
    });
    let sets: Vec<FeatureSet> = sets.collect();
    let pairs = left.as_slice()?.iter().zip(right.as_slice()?);
    let found = pairs.map(|(&left, &right)| sets[left as usize].jaccard(&sets[right as usize]));
    Ok(found.collect::<Vec<f64>>().into_pyarray(py).into_any())
}

/// Returns the number of words in the runs that the sketches of an index represent, if it has sketches of one kind.
#[pyfunction]
pub(crate) fn sketch_words(py: Python<'_>, index: &PyIndex) -> PyResult<Option<usize>> {
    let opened = index.opened(py)?;
    match opened.set.sketch_parameters() {
        Ok(parameters) => {
            let features = parameters.map(|p| p.features().parse::<SketchFeatures>());
            Ok(features
                .and_then(Result::ok)
                .map(|features| features.words()))
        }
        Err(Error::Segment { .. }) => Ok(None),
        Err(error) => Err(Failure::from(error).raise(py)),
    }
}

/// The texts with a similar record in an index: rows, fingerprints and ids of the most similar records, and the
/// estimates of their similarities with their standard errors.
type InIndex = (Vec<i64>, Fingerprints, Option<IdColumn>, Vec<f64>, Vec<f64>);

fn find_in_index(
    opened: &Opened,
    texts: &[&str],
    similarity: Similarity,
    pipeline: &Pipeline,
    watch: &Watch,
) -> Result<InIndex, Failure> {
    let set = &opened.set;
    let search = SketchSearch::new(set, similarity.least(), 0.0)?;
    let by_chance = search.chance_matches();
    if by_chance > MOST_CHANCE_MATCHES {
        let message = format!(
            "the sketches are too short for this many records and this low a similarity: {by_chance:.3} records would seem \
             similar to a text by chance; build with longer sketches, or ask for a higher similarity"
        );
        return Err(Failure::Other(Class::Input, message));
    }
    let features = search.sketcher().features();
    if similarity.words() != Some(features.words()) || pipeline.options().html != features.html() {
        let message = format!(
            "the index has sketches of runs of {} words, of texts with html={}; say so with words and pipeline",
            features.words(),
            features.html()
        );
        return Err(Failure::Other(Class::Input, message));
    }
    let signer = TextSigner::new(similarity);
    let mut fingerprinter = pipeline.fingerprinter(simidx::Width::W64)?;
    let mut ids = (set.id_kind() != IdKind::None).then(|| IdColumn::new(set.id_kind()));
    let (mut rows, mut fingerprints) = (Vec::new(), Fingerprints::new(set.width()));
    let (mut estimates, mut standard_errors) = (Vec::new(), Vec::new());
    for (number, some) in texts.chunks(SKETCHED).enumerate() {
        watch.check()?;
        let mut sketch = |text: &&str| {
            let signed = signer.sign(&mut fingerprinter, text);
            search.sketcher().sketch_of(signed.features())
        };
        let sketches: Vec<TextSketch> = some.iter().map(&mut sketch).collect();
        let best = search.best_matches(&sketches)?;
        for (row, matched) in (number * SKETCHED..).zip(best) {
            let Some(matched) = matched else { continue };
            let (fingerprint, id) = set.record(matched.segment, matched.record)?;
            rows.push(row as i64);
            fingerprints.push(fingerprint);
            if let (Some(ids), Some(id)) = (&mut ids, &id) {
                ids.push(id.as_id());
            }
            let bits = search.sketcher().parameters().bits();
            let JaccardEstimate {
                similarity,
                standard_error,
                ..
            } = matched.estimate(bits);
            estimates.push(similarity);
            standard_errors.push(standard_error);
        }
    }
    Ok((rows, fingerprints, ids, estimates, standard_errors))
}

/// Finds the texts that an index has, by its sketches. Returns their rows, and for each the fingerprint and the id of
/// the most similar record, the estimate of their similarity and its standard error.
#[pyfunction]
pub(crate) fn sketch_matches<'py>(
    py: Python<'py>,
    index: &PyIndex,
    given: Given<'py>,
) -> PyResult<[Bound<'py, PyAny>; 5]> {
    given.only(&Search::NAMES)?;
    let (opened, search) = (index.opened(py)?, Search::new(&given)?);
    let (texts, pipeline, options) = (search.texts, search.pipeline, search.options);
    let (rows, fingerprints, ids, estimates, errors) = run_apart(py, &search.how, move |watch| {
        find_in_index(&opened, &texts.all(), options.similarity, &pipeline, watch)
    })?;
    Ok([
        rows.into_pyarray(py).into_any(),
        array(py, fingerprints)?,
        records::to_python(py, ids)?,
        estimates.into_pyarray(py).into_any(),
        errors.into_pyarray(py).into_any(),
    ])
}
