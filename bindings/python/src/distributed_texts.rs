//! Distributed deduplication for `simidx_spark.distributed`: keys and similarities of texts.

use numpy::{IntoPyArray, PyArrayMethods, PyReadonlyArray1};
use pyo3::prelude::*;
use simidx_text::compare::FeatureSet;
use simidx_text::dedup::content_identity;
use simidx_text::similar::TextSigner;

use crate::arrays::array;
use crate::given::Given;
use crate::input;
use crate::run::run_apart;
use crate::similar::Search;

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
