//! The frozen description, and invalid descriptions.

use super::*;

const WORDS: &str = r#"{"version":2,"html":"no","normalise":"controls+nfkc+case+space","segment":"words","user_dictionary":null,"stop_words":null,"shingle":1,"weights":"count","idf":null,"parts":null,"select":"all","feature_hash":"xxh3-128","seed":0,"fingerprint":"simhash","ties":"clear","tables":{"nfkc":"15.1.0","case":"16.0.0","words":"17.0.0","jieba":null}}"#;

fn read_plain(description: &str) -> Result<PipelineOptions> {
    read(description, &Assets::default())
}

fn error(description: &str) -> String {
    read_plain(description).unwrap_err().to_string()
}

#[test]
fn the_description_is_frozen() {
    let written = write(&words_of_version_2());
    let (fixed, _) = WORDS.split_once(r#""tables""#).unwrap();
    let (ours, tables) = written.split_once(r#""tables""#).unwrap();
    assert_eq!(ours, fixed);
    let versions = Versions::of_this_build(false);
    let expected = format!(
        r#":{{"nfkc":"{}","case":"{}","words":"{}","jieba":null}}}}"#,
        versions.nfkc, versions.case, versions.words
    );
    assert_eq!(tables, expected);
}

/// Returns the stages of a description of version 2, as files may contain it.
fn words_of_version_2() -> PipelineOptions {
    PipelineOptions {
        normalise: "controls+nfkc+case+space".parse().unwrap(),
        ..PipelineOptions::PLAIN
    }
}

#[test]
fn a_pipeline_has_the_first_version_that_knows_its_values() {
    let version = |options| {
        let written: Versioned = from_json(&write(&options)).unwrap();
        written.version
    };
    assert_eq!(version(words_of_version_2()), 2);
    assert_eq!(version(PipelineOptions::PLAIN), 3);
    let python2 = PipelineOptions {
        feature_hash: FeatureHash::Python2,
        ..words_of_version_2()
    };
    assert_eq!(version(python2), 3);
    assert_eq!(read_plain(WORDS).unwrap(), words_of_version_2());
    let later = WORDS.replacen("2", "3", 1);
    assert_eq!(read_plain(&later).unwrap(), words_of_version_2());
}

#[test]
fn what_is_written_is_read_back() {
    let options = PipelineOptions {
        normalise: "nfkc+space".parse().unwrap(),
        tokenizer: "jieba".parse().unwrap(),
        stop_words: Some(StopWords::from_bytes("s.txt", b"a").unwrap()),
        user_dictionary: Some(UserDictionary::from_bytes("d.txt", b"a 1 n").unwrap()),
        weights: "capped:4".parse().unwrap(),
        idf: Idf::Table(IdfTable::from_bytes("i.txt", b"a 1").unwrap()),
        parts: Some("n:2/*:1".parse().unwrap()),
        select: "top:20".parse().unwrap(),
        seed: (1 << 53) - 1,
        ..PipelineOptions::PLAIN
    };
    let Idf::Table(idf) = options.idf.clone() else {
        unreachable!("it is one");
    };
    let mut assets = Assets {
        stop_words: options.stop_words.clone(),
        user_dictionary: options.user_dictionary.clone(),
        idf: Some(idf),
    };
    let description = write(&options);
    assert_eq!(read(&description, &assets).unwrap(), options);
    assets.stop_words = Some(StopWords::from_bytes("t.txt", b"b").unwrap());
    let error = read(&description, &assets).unwrap_err().to_string();
    let start = "text pipeline: needs the stop words s.txt of XXH3-128 a96faf705af16834e6c632b61e964e1f, not t.txt of XXH3-128 ";
    assert!(error.starts_with(start), "{error}");
    assets.stop_words = None;
    let error = read(&description, &assets).unwrap_err().to_string();
    assert!(error.ends_with("61e964e1f"), "{error}");
}

#[test]
fn other_versions_of_tables_are_accepted() {
    let options = words_of_version_2();
    assert_eq!(read_plain(WORDS).unwrap(), options);
    assert_eq!(read_plain(&WORDS.replace("15.1.0", "99")).unwrap(), options);
}

#[test]
fn each_unknown_value_is_named() {
    for (from, to, clause) in [
        (
            "+nfkc",
            "+nfc",
            r#"unknown normalise "controls+nfc+case+space""#,
        ),
        ("count", "tf-idf", r#"unknown weights "tf-idf""#),
        ("xxh3-128", "fnv", r#"unknown feature_hash "fnv""#),
        ("simhash", "bloom", r#"unknown fingerprint "bloom""#),
        (r#""clear""#, r#""toss""#, r#"unknown ties "toss""#),
        (
            r#""version":2"#,
            r#""version":4,"new":0"#,
            "unknown version 4, versions 2 and 3 are known",
        ),
        (
            "case+space",
            "case+space+cjk-space",
            "version 2 has a value that only version 3 knows",
        ),
        (
            "xxh3-128",
            "python2-128",
            "version 2 has a value that only version 3 knows",
        ),
        (r#""words","#, r#""lines","#, r#"unknown segment "lines""#),
        (
            r#""shingle":1"#,
            r#""shingle":17"#,
            "a shingle of 17 tokens",
        ),
        (
            r#""idf":null"#,
            r#""idf":"mine""#,
            r#"unknown idf "mine", "jieba" is known"#,
        ),
        (
            r#""parts":null"#,
            r#""parts":"n""#,
            r#""n" is not TAG:FACTOR"#,
        ),
        (r#""all""#, r#""some""#, r#"unknown select "some""#),
        (r#""no""#, r#""maybe""#, r#"unknown html "maybe""#),
    ] {
        let start = format!("text pipeline: {clause}");
        let error = error(&WORDS.replacen(from, to, 1));
        assert!(error.starts_with(&start), "{error}");
    }
}

#[test]
fn missing_unknown_and_repeated_members_are_refused() {
    let cases = [
        (WORDS.replace(r#""seed":0,"#, ""), "missing field `seed`"),
        (
            WORDS.replace(r#""seed":0"#, r#""seed":0,"stem":1"#),
            "unknown field `stem`",
        ),
        (
            WORDS.replace(r#""seed":0"#, r#""seed":0,"seed":0"#),
            "duplicate field `seed`",
        ),
        (
            WORDS.replace(r#""version":2,"#, ""),
            "missing field `version`",
        ),
        ("words".to_owned(), "expected value"),
        (String::new(), "EOF"),
    ];
    for (description, clause) in cases {
        let start = format!("text pipeline: not a description: {clause}");
        let error = error(&description);
        assert!(error.starts_with(&start), "{error}");
    }
}
