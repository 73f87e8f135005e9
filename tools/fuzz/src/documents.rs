//! Documents through the text pipeline.

use simidx::Width;
use simidx_text::assets::Assets;
use simidx_text::stages::Html;
use simidx_text::{Fingerprinter, Pipeline, PipelineOptions, Preset};

/// Pipelines that no preset has.
const OTHERS: [&str; 8] = [
    "web,html=yes,segment=chars:3",
    "web,html=no,segment=sentences,shingle=1",
    "short,normalise=none,segment=words,shingle=3",
    "short,normalise=controls+case,weights=log2",
    "code,segment=chars:1,shingle=4,fingerprint=simhash,ties=set",
    "news-zh,segment=jieba,idf=jieba",
    "news-zh,segment=auto,fingerprint=simhash",
    "web,normalise=nfkc+space,segment=auto,weights=capped:3",
];

/// A list of stages as users give it, on the first line; a document on the others.
pub fn check_options(bytes: &[u8]) {
    let text = String::from_utf8_lossy(bytes);
    let (options, document) = text.split_once('\n').unwrap_or((&text, ""));
    let Ok(options) = options.parse::<PipelineOptions>() else {
        return;
    };
    if let Ok(pipeline) = Pipeline::new(options) {
        check_pipeline(&pipeline, document);
    }
}

/// A document through a pipeline of many.
pub fn check(how: u8, bytes: &[u8]) {
    let number = usize::from(how) % (Preset::ALL.len() + OTHERS.len());
    let options = match number.checked_sub(Preset::ALL.len()) {
        None => Preset::ALL[number].options(),
        Some(other) => OTHERS[other].parse().expect("the pipeline is well spelt"),
    };
    let pipeline = Pipeline::new(options).expect("its stages fit together");
    check_pipeline(&pipeline, &String::from_utf8_lossy(bytes));
}

fn check_pipeline(pipeline: &Pipeline, document: &str) {
    let described = Pipeline::parse(&pipeline.describe(), &Assets::default());
    assert_eq!(&described.expect("its description is read back"), pipeline);
    check_normalised(pipeline, document);
    if let Ok(fingerprinter) = pipeline.fingerprinter(Width::W128) {
        check_fingerprint(fingerprinter, document);
    }
    let fingerprinter = pipeline.fingerprinter(Width::W64);
    check_fingerprint(fingerprinter.expect("the hash is wide enough"), document);
}

/// Normalising twice changes nothing.
fn check_normalised(pipeline: &Pipeline, document: &str) {
    let mut fingerprinter = pipeline
        .fingerprinter(Width::W32)
        .expect("32 bits always fit");
    let once = fingerprinter.text(document).to_owned();
    if pipeline.options().html == Html::No {
        assert_eq!(fingerprinter.text(&once), once);
    }
}

fn check_fingerprint(mut fingerprinter: Fingerprinter, document: &str) {
    let fingerprint = fingerprinter.fingerprint(document);
    let again = fingerprinter.fingerprint_if_any(document);
    let features = fingerprinter.features(document);
    let has_any = features.iter().any(|feature| feature.weight > 0.0);
    assert_eq!(again, has_any.then_some(fingerprint));
    assert!(
        features
            .iter()
            .all(|feature| feature.weight.is_finite() && feature.count > 0)
    );
    let comparison = fingerprinter.compare(document, document);
    assert_eq!(comparison.distance(), 0);
    assert_eq!(comparison.a.fingerprint, fingerprint);
    let mut visited = 0;
    fingerprinter.for_each_feature(document, &mut |_| visited += 1);
    assert_eq!(visited, features.len());
}
