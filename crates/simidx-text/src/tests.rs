//! The frozen values of the pipeline, and their quality.

use super::*;
use crate::assets::*;
use crate::stages::*;
use proptest::prelude::*;
use simidx::Fingerprint;
use unicode_segmentation::UnicodeSegmentation;

/// Texts with their fingerprints by `words` and by `chars:3`, computed by another implementation in another language.
const GOLDEN: [(&str, u128, u128); 10] = [
    (
        "The quick brown fox jumps over the lazy dog, and the dog doesn't mind.",
        0x801887e10cb310bd,
        0x223eccf438df75fd,
    ),
    (
        "我爱北京天安门，天安门上太阳升。",
        0x2f425a434600d107,
        0x4702c4724869aca1,
    ),
    (
        "使用Rust语言编写 a fast 検索エンジン in 2024年",
        0xc614274e0a024b96,
        0xb6ee8b34a3c7c68b,
    ),
    (
        "السلام عليكم ورحمة الله وبركاته",
        0x2bdc0c560461bea7,
        0x27ce27ad2f924147,
    ),
    (
        "Ще не вмерла України і слава, і воля",
        0x51514c163d242004,
        0xa104c80229888082,
    ),
    ("Hello", 0xc779cfaa5e523818, 0xfe8a70c5ab723cd9),
    ("Thumbs up 👍🏽 and a family 👨👩👧 🎉", 0xf42c04b316b2ff3f, 0),
    (
        "Cafe\u{301} nai\u{308}ve Việt Nam",
        0x95350835894c4167,
        0x911c3712f9e04dde,
    ),
    ("", 0, 0),
    ("👍🎉 !?", 0, 0xa160569f83fc7818),
];

const FOX: &str = "The quick brown fox jumps over the lazy dog, then runs across the wide green \
    field towards the old farm house, where the hens have been asleep since the sun went down.";
const FOX_EDITED: &str = "The quick brown fox leaps over the lazy dog, then runs across the wide \
    green field towards the old farm house, where the hens have been asleep since sun went down!";
const UNRELATED: &str = "Parliament passed the budget on Tuesday after a debate of nine hours; \
    ministers expect that revenue from customs duties will rise by four per cent next year.";

fn pipeline(tokenizer: &str) -> Pipeline {
    let tokenizer = tokenizer.parse().unwrap();
    let options = PipelineOptions {
        tokenizer,
        ..PipelineOptions::PLAIN
    };
    Pipeline::new(options).unwrap()
}

/// Returns the pipeline for simhashes of single words.
fn plain() -> Pipeline {
    Pipeline::new(PipelineOptions::PLAIN).unwrap()
}

#[cfg(feature = "compat")]
fn preset(name: &str) -> Pipeline {
    let preset: Preset = name.parse().unwrap();
    Pipeline::new(preset.options()).unwrap()
}

fn words(text: &str) -> u128 {
    plain().fingerprint(text, Width::W64).unwrap()
}

fn chars(length: u8, text: &str) -> u128 {
    pipeline(&format!("chars:{length}"))
        .fingerprint(text, Width::W64)
        .unwrap()
}

fn feature_hash(feature: &str) -> u128 {
    FeatureHash::Xxh3.hash(feature.as_bytes(), 0)
}

#[test]
#[cfg(feature = "html")]
fn there_is_one_default() {
    let web = Pipeline::new(Preset::Web.options()).unwrap().describe();
    assert_eq!(Pipeline::default().describe(), web);
    let options = [PipelineOptions::default(), Preset::default().options()];
    for options in options {
        assert_eq!(Pipeline::new(options).unwrap().describe(), web);
    }
}

#[test]
fn fingerprints_are_frozen() {
    for (text, by_words, by_chars) in GOLDEN {
        assert_eq!(words(text), by_words, "words of {text:?}");
        if by_chars != 0 {
            assert_eq!(chars(3, text), by_chars, "chars:3 of {text:?}");
        }
    }
}

#[test]
fn a_narrow_fingerprint_is_the_low_part_of_a_wide_one() {
    let wide = plain().fingerprint(GOLDEN[0].0, Width::W128).unwrap();
    assert_eq!(wide, 0x0841000499b52ae1801887e10cb310bd);
    let narrow = plain().fingerprint(GOLDEN[0].0, Width::W32).unwrap();
    assert_eq!(narrow, 0x0cb310bd);
}

#[test]
fn composed_and_decomposed_texts_are_the_same() {
    assert_eq!(
        words("Cafe\u{301} nai\u{308}ve"),
        words("Caf\u{e9} na\u{ef}ve")
    );
    assert_eq!(words("\u{1112}\u{1161}\u{11ab}글"), words("한글"));
}

#[test]
fn full_width_half_width_and_case_are_the_same() {
    assert_eq!(words("ＲＵＳＴ　２０２４"), words("rust 2024"));
    assert_eq!(words("ｴﾝｼﾞﾝ"), words("エンジン"));
}

#[test]
fn similar_texts_are_nearer_than_others() {
    let near = words(FOX).distance(words(FOX_EDITED));
    let far = words(FOX).distance(words(UNRELATED));
    assert_eq!((near, far), (8, 31));
    let near = chars(4, FOX).distance(chars(4, FOX_EDITED));
    let far = chars(4, FOX).distance(chars(4, UNRELATED));
    assert_eq!((near, far), (3, 29));
}

#[test]
fn similar_chinese_texts_are_nearer_than_others() {
    let text = words("人工智能技术正在改变我们的生活方式，也给许多行业带来了新的机会和挑战。");
    let edited = words("人工智能技术正在改变我们的生活方式，也给很多行业带来了新的机会与挑战。");
    let other = words("昨天下午北京下了一场大雨，部分地铁线路因为积水而临时停运了两个小时。");
    let distances = (text.distance(edited), text.distance(other));
    assert_eq!(distances, (1, 28));
}

#[test]
fn a_fingerprinter_gives_the_same_for_every_document_in_turn() {
    let mut fingerprinter = plain().fingerprinter(Width::W64).unwrap();
    for (text, by_words, _) in GOLDEN.into_iter().chain(GOLDEN) {
        assert_eq!(fingerprinter.fingerprint(text), by_words);
    }
}

#[test]
fn features_make_up_the_fingerprint() {
    let mut options = PipelineOptions {
        weights: "capped:2".parse().unwrap(),
        shingle: GramLen::new(2).unwrap(),
        ..PipelineOptions::PLAIN
    };
    options.stop_words = Some(StopWords::from_bytes("s", b"THE\n").unwrap());
    options.idf = Idf::Table(IdfTable::from_bytes("i", b"#default 1.5\na b\t0.25").unwrap());
    let pipeline = Pipeline::new(options).unwrap();
    let mut fingerprinter = pipeline.fingerprinter(Width::W64).unwrap();
    let text = "a the B a b a b c";
    let features = fingerprinter.features(text);
    let told: Vec<_> = features
        .iter()
        .map(|f| (f.text.as_str(), f.count, f.weight))
        .collect();
    assert_eq!(told, [("a b", 3, 0.5), ("b a", 2, 3.0), ("b c", 1, 1.5)]);
    let votes = features.iter().map(|f| (f.hash, (f.weight * 4.0) as u64));
    assert_eq!(
        fingerprinter.fingerprint(text),
        simhash(votes, Width::W64, TieRule::Clear)
    );
}

#[test]
fn feature_sets_hold_what_counts() {
    let mut fingerprinter = pipeline("words").fingerprinter(Width::W64).unwrap();
    let cats = fingerprinter.feature_set("The cat, the CAT");
    assert_eq!(cats, fingerprinter.feature_set("cat the"));
    assert_eq!(cats.hashes().len(), 2);
    let options: PipelineOptions = "short,select=top:1".parse().unwrap();
    let pipeline = Pipeline::new(options).unwrap();
    let mut fingerprinter = pipeline.fingerprinter(Width::W64).unwrap();
    assert_eq!(
        fingerprinter.feature_set("a b b").hashes(),
        [feature_hash("b") as u64]
    );
    assert_eq!(fingerprinter.text(" A  B"), "a b");
}

#[test]
fn the_longest_sentences_are_a_signature() {
    let options = PipelineOptions {
        tokenizer: Tokenizer::Sentences,
        select: "longest:2".parse().unwrap(),
        ..PipelineOptions::PLAIN
    };
    let pipeline = Pipeline::new(options).unwrap();
    let text = "Short. This sentence is the longest of all of them. This one is rather long. Tiny.";
    let fingerprint = pipeline.fingerprint(text, Width::W64).unwrap();
    let other = text.replace("Tiny", "Other").replace("Short", "New");
    assert_eq!(
        pipeline.fingerprint(&other, Width::W64).unwrap(),
        fingerprint
    );
    let changed = text.replace("rather", "quite");
    assert_ne!(
        pipeline.fingerprint(&changed, Width::W64).unwrap(),
        fingerprint
    );
}

/// The values were computed by another implementation in another language.
#[test]
fn fingerprints_by_minhash_are_frozen() {
    let options: PipelineOptions = "web,html=no,shingle=1".parse().unwrap();
    let pipeline = Pipeline::new(options).unwrap();
    for ((text, ..), expected) in [
        (GOLDEN[0], 0xb0bafd34fb67500d),
        (GOLDEN[1], 0xc5b3eb8612aa3ad4),
        (GOLDEN[5], 0x0d25624b039a060e),
        (GOLDEN[8], 0),
    ] {
        assert_eq!(
            pipeline.fingerprint(text, Width::W64).unwrap(),
            expected,
            "{text}"
        );
    }
}

#[test]
fn minhash_takes_features_as_a_set() {
    let options = PipelineOptions {
        sketch: Sketch::MinHash,
        ..PipelineOptions::PLAIN
    };
    let pipeline = Pipeline::new(options).unwrap();
    let minhash = |text: &str| pipeline.fingerprint(text, Width::W64).unwrap();
    assert_eq!(minhash("b a a c"), minhash("c b a"));
    assert_eq!(minhash(""), 0);
    assert_eq!(minhash(FOX), 0xfbb659f9b72978a9);
}

#[test]
fn what_does_not_fit_together_is_refused() {
    let refused = |change: &dyn Fn(&mut PipelineOptions)| {
        let mut options = PipelineOptions::PLAIN;
        change(&mut options);
        Pipeline::new(options).unwrap_err().to_string()
    };
    let seed = refused(&|o| (o.feature_hash, o.seed) = (FeatureHash::Fnv1, 1));
    assert_eq!(seed, "text pipeline: this feature hash takes no seed");
    let largest = PipelineOptions {
        seed: (1 << 53) - 1,
        ..PipelineOptions::PLAIN
    };
    assert!(Pipeline::new(largest).is_ok());
    let seed = refused(&|o| o.seed = 1 << 53);
    assert_eq!(
        seed,
        "text pipeline: the seed 9007199254740992 is above 9007199254740991"
    );
    let minhash = refused(&|o| (o.feature_hash, o.sketch) = (FeatureHash::Fnv1, Sketch::MinHash));
    assert!(minhash.ends_with("xxh3-128 or md5"), "{minhash}");
    let parts = refused(&|o| o.parts = Some("n:1".parse().unwrap()));
    assert!(
        parts.ends_with("parts needs segment=auto or segment=jieba"),
        "{parts}"
    );
}

#[test]
#[cfg(feature = "compat")]
fn a_hash_narrower_than_the_fingerprint_is_refused() {
    let options = PipelineOptions {
        feature_hash: FeatureHash::Fnv1,
        ..PipelineOptions::PLAIN
    };
    let pipeline = Pipeline::new(options).unwrap();
    let error = pipeline
        .fingerprint("a", Width::W128)
        .unwrap_err()
        .to_string();
    assert_eq!(
        error,
        "text pipeline: fnv1-64 has 64 bits, too few for fingerprints of 128"
    );
}

/// A build without a feature refuses the descriptions of all pipelines that need it, and names it; a build with the
/// feature accepts them.
#[test]
fn a_description_names_the_feature_that_is_missing() {
    let is_built = |feature: &str| match feature {
        "html" => cfg!(feature = "html"),
        "jieba" => cfg!(feature = "jieba"),
        "compat" => cfg!(feature = "compat"),
        other => panic!("{other}"),
    };
    for (stage, feature) in [
        ("html=auto", "html"),
        ("html=yes", "html"),
        ("segment=auto", "jieba"),
        ("segment=jieba", "jieba"),
        ("idf=jieba", "jieba"),
        ("segment=ascii-words", "compat"),
        ("segment=joined-chars:3", "compat"),
        ("hash=md5", "compat"),
        ("hash=md5-high64", "compat"),
        ("hash=fnv1-64", "compat"),
        ("hash=jenkins-64", "compat"),
        ("segment=word-runs:5", "compat"),
        ("hash=xxh3-64", "compat"),
    ] {
        let spec = format!("short,fingerprint=simhash,{stage}");
        let description = describe::write(&spec.parse().unwrap());
        match Pipeline::parse(&description, &Assets::default()) {
            Ok(pipeline) => {
                assert!(is_built(feature), "{stage}");
                assert_eq!(pipeline.describe(), description);
            }
            Err(error) => {
                assert!(!is_built(feature), "{error}");
                let expected = format!(
                    "text pipeline: {stage} needs a simidx-text with its feature `{feature}`"
                );
                assert_eq!(error.to_string(), expected);
            }
        }
    }
}

#[test]
#[cfg(all(feature = "jieba", feature = "html", feature = "compat"))]
fn every_preset_is_known_by_its_description() {
    for preset in Preset::ALL {
        assert_eq!(preset.to_string().parse::<Preset>().unwrap(), preset);
        let pipeline = Pipeline::new(preset.options()).unwrap();
        let description = pipeline.describe();
        let parsed = Pipeline::parse(&description, &Assets::default()).unwrap();
        assert_eq!(parsed, pipeline);
    }
}

/// The values were published in the tests of the packages, or computed by the packages.
#[test]
#[cfg(feature = "compat")]
fn compatible_presets_give_the_published_values() {
    let go: [(&str, u128); 4] = [
        ("this is a test phrase", 0x8c3a5f7e9ecb3f35),
        ("this is a test phrass", 0x8c3a5f7e9ecb3f21),
        ("these are test phrases", 0xddfdbf7fbfaffb1d),
        ("foo bar", 0xd8dbe7186bad3db3),
    ];
    for (text, value) in go {
        assert_eq!(
            preset("compat-mfonda")
                .fingerprint(text, Width::W64)
                .unwrap(),
            value
        );
    }
    let cjk: [(&str, u128); 4] = [
        ("当山峰没有棱角的时候", 0xd7185f186a2eea5a),
        ("当山谷没有棱角的时候", 0xd71a5f186a2eea5a),
        ("棱角的时候", 0xd71a5f186a2ffa52),
        ("你妈妈喊你回家吃饭哦，回家罗回家罗", 0xd71bf7186a32b9f0),
    ];
    for (text, value) in cjk {
        let pipeline = preset("compat-simhashcjk");
        assert_eq!(pipeline.fingerprint(text, Width::W64).unwrap(), value);
    }
    let python: [(&str, u128); 10] = [
        (
            "How are you? I AM fine. Thanks. And you?",
            13831624873712969754,
        ),
        ("你好　世界！　　呼噜。", 15820109506574984036),
        ("你好，世界　呼噜", 15820109506574984036),
        ("This is simhash test.", 9981952072970799235),
        ("aa", 607744856545708306),
        ("aaaa", 15222026846552835557),
        ("aaaaabbb", 15555363622182306293),
        ("1", 994258241967195291),
        ("2", 8000222017881409068),
        ("", 16825458760271544958),
    ];
    for (text, value) in python {
        assert_eq!(
            preset("compat-1e0ng")
                .fingerprint(text, Width::W64)
                .unwrap(),
            value,
            "{text}"
        );
    }
}

#[test]
fn published_votes_are_counted() {
    let ones = |hashes: &[u128]| {
        let votes = hashes.iter().map(|&hash| (hash, 1));
        simhash(votes, Width::W64, TieRule::Clear)
    };
    // simhash-py.
    assert_eq!(ones(&[]), 0);
    assert_eq!(ones(&[0xdeadbeef; 100]), 0xdeadbeef);
    assert_eq!(ones(&[0xdeadbeefdeadbeef, 0x2152411021524110]), 0);
    assert_eq!(ones(&[0xabcd, 0xbcde, 0xcdef]), 0xadcf);
    // The C++ library of Yanyi Wu, with weights in thousandths.
    let weighted: [(u128, u64); 5] = [
        (15142046212652221781, 318452),
        (2117559126361955906, 151001),
        (14814508906697812479, 140870),
        (13004687738940023035, 106978),
        (18264030747823598625, 103739),
    ];
    assert_eq!(
        simhash(weighted, Width::W64, TieRule::Clear),
        15286165794479097173
    );
}

/// The Python package simhash, with features given by its user.
#[test]
#[cfg(feature = "compat")]
fn published_votes_of_md5_are_counted() {
    let hash = |feature: &str| FeatureHash::Md5.hash(feature.as_bytes(), 0);
    let two = ["aaa", "bbb"].map(|feature| (hash(feature), 1));
    assert_eq!(simhash(two, Width::W64, TieRule::Clear), 57087923692560392);
    let numbers = |weight: fn(u64) -> u64| {
        simhash(
            (0..500).map(|n| (hash(&n.to_string()), weight(n))),
            Width::W64,
            TieRule::Clear,
        )
    };
    assert_eq!(numbers(|_| 1), 7984652473404407437);
    assert_eq!(numbers(|n| 50 * n), 3372825719632739723);
}

#[cfg(feature = "jieba")]
mod jieba {
    use super::*;

    fn features(change: impl FnOnce(&mut PipelineOptions), text: &str) -> Vec<(String, f64)> {
        let mut options = PipelineOptions {
            tokenizer: Tokenizer::Auto,
            ..PipelineOptions::PLAIN
        };
        change(&mut options);
        let pipeline = Pipeline::new(options).unwrap();
        let features = pipeline.fingerprinter(Width::W64).unwrap().features(text);
        features.into_iter().map(|f| (f.text, f.weight)).collect()
    }

    fn texts(change: impl FnOnce(&mut PipelineOptions), text: &str) -> Vec<String> {
        features(change, text).into_iter().map(|f| f.0).collect()
    }

    #[test]
    fn han_runs_are_cut_by_the_dictionary() {
        let text = "我来到北京清华大学 to learn C++，検索エンジンも";
        let expected = [
            "我",
            "来到",
            "北京",
            "清华大学",
            "to",
            "learn",
            "c",
            "検索",
            "索エ",
        ];
        assert_eq!(texts(|_| (), text)[..9], expected);
        let whole = texts(|o| o.tokenizer = Tokenizer::Jieba, "用 C++ 写");
        assert_eq!(whole, ["用", "c++", "写"]);
    }

    #[test]
    fn a_user_dictionary_joins_words() {
        let text = "他是创新办主任也是云计算方面的专家";
        let dictionary = UserDictionary::from_bytes("d", "创新办 3 i\n云计算".as_bytes()).unwrap();
        assert!(!texts(|_| (), text).contains(&"创新办".to_owned()));
        let cut = texts(|o| o.user_dictionary = Some(dictionary), text);
        assert!(
            cut.contains(&"创新办".to_owned()) && cut.contains(&"云计算".to_owned()),
            "{cut:?}"
        );
    }

    #[test]
    fn frequencies_are_those_of_the_table() {
        let idf = |word: &str| features(|o| o.idf = Idf::Jieba, word);
        // The first value is in the table; the second word is not, so it has the median.
        let [(word, weight)] = &idf("劳动防护")[..] else {
            return assert_eq!(idf("劳动防护").len(), 2);
        };
        assert_eq!(
            (word.as_str(), (weight * 1000.0).round()),
            ("劳动防护", 13901.0)
        );
        assert_eq!(
            idf("simidx"),
            idf("qqxyz")
                .into_iter()
                .map(|f| ("simidx".into(), f.1))
                .collect::<Vec<_>>()
        );
    }

    #[test]
    fn parts_of_speech_weigh() {
        let parts = |o: &mut PipelineOptions| o.parts = Some("n:3/v:2/*:1".parse().unwrap());
        let features = features(parts, "我喜欢北京");
        let weights: Vec<_> = features
            .iter()
            .map(|(text, w)| (text.as_str(), *w))
            .collect();
        assert_eq!(weights, [("我", 1.0), ("喜欢", 2.0), ("北京", 3.0)]);
    }

    /// The value is from the readme of the C++ library.
    #[test]
    #[cfg(feature = "compat")]
    fn keywords_give_the_value_of_the_library_in_c() {
        let pipeline = preset("compat-yanyiwu");
        let fingerprint = pipeline.fingerprint("你好世界", Width::W64).unwrap();
        assert_eq!(fingerprint, 17676873585679812141);
    }
}

proptest! {
    #[test]
    fn words_agree_with_the_definition(text in "[a-zA-Z ',.0-9é]{0,200}") {
        let lower = text.to_lowercase();
        let hashes: Vec<u64> = lower.unicode_words().map(|w| feature_hash(w) as u64).collect();
        prop_assert_eq!(words(&text), u128::from(simhash::naive(&hashes)));
    }

    #[test]
    fn no_text_makes_a_pipeline_panic(text in any::<String>(), length in 1..=GramLen::MAX) {
        words(&text);
        chars(length, &text);
        pipeline("sentences").fingerprint(&text, Width::W64).unwrap();
        #[cfg(feature = "compat")]
        for tokenizer in ["ascii-words", "joined-chars:3"] {
            pipeline(tokenizer).fingerprint(&text, Width::W64).unwrap();
        }
        #[cfg(all(feature = "jieba", feature = "html", feature = "compat"))]
        for preset in Preset::ALL {
            let pipeline = Pipeline::new(preset.options()).unwrap();
            pipeline.fingerprint(&text, Width::W64).unwrap();
        }
    }
}
