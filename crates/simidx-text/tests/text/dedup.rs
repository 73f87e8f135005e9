//! Documents without features, which have no fingerprint and are similar only to equal documents.

use simidx::Width;
use simidx_text::Pipeline;
use simidx_text::dedup::Similarity;

#[test]
fn a_fingerprint_is_there_if_a_feature_counts() {
    let pipelines = [
        "web",
        "short",
        "web,fingerprint=simhash,ties=set",
        "web,fingerprint=simhash,weights=log2,select=top:3",
        "news-zh",
    ];
    let texts = [
        "",
        "👍👍",
        "?! …",
        "<p>→</p>",
        "word",
        "汉字 汉字",
        "a b c d",
    ];
    for pipeline in pipelines {
        let pipeline = Pipeline::new(pipeline.parse().unwrap()).unwrap();
        let mut one = pipeline.fingerprinter(Width::W64).unwrap();
        let many = pipeline.parallel(Width::W64).unwrap();
        for (text, found) in texts.into_iter().zip(many.fingerprints_if_any(&texts)) {
            let fingerprint = one.fingerprint(text);
            let features = one.features(text);
            let is_empty = features.iter().all(|feature| feature.weight <= 0.0);
            let expected = (!is_empty).then_some(fingerprint);
            assert_eq!((one.fingerprint_if_any(text), found), (expected, expected));
            if is_empty {
                assert_eq!(fingerprint, pipeline.empty_fingerprint(Width::W64));
            }
        }
        assert!(one.fingerprint_if_any("a b c").is_some());
        assert!(one.fingerprint_if_any("👍").is_none());
    }
}

#[test]
fn without_features_only_bytes_count() {
    let mut fingerprinter = Pipeline::default().fingerprinter(Width::W64).unwrap();
    let texts = ["👍 👍", "👍  👍", "👍 👍"];
    let similarities = [Similarity::of_features(0.1), Similarity::of_words(0.1, 3)];
    for similarity in similarities.map(Result::unwrap) {
        let sets = texts.map(|text| similarity.feature_set(&mut fingerprinter, text));
        assert_eq!(sets[0].jaccard(&sets[2]), 1.0);
        assert!(sets[0].jaccard(&sets[1]) < similarity.least());
    }
}
