//! The frozen values of the pipeline, worked out by another implementation in another language,
//! and what they are good for.

use super::*;
use proptest::prelude::*;
use unicode_segmentation::UnicodeSegmentation;

/// Texts with their fingerprints by `words` and by `chars:3`.
const GOLDEN: [(&str, u64, u64); 10] = [
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
    (
        "Thumbs up 👍🏽 and a family 👨\u{200d}👩\u{200d}👧 🎉",
        0xf42c04b316b2ff3f,
        0x2c31f7abbaafbfeb,
    ),
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

fn words(text: &str) -> u64 {
    Pipeline::default().fingerprint(text)
}

fn chars(length: u8, text: &str) -> u64 {
    let features = Features::chars(length).unwrap();
    Pipeline::new(features).fingerprint(text)
}

#[test]
fn the_feature_hash_is_frozen() {
    // Published by the author of XXH3; the shorter hash shows that the crate is the real one.
    assert_eq!(xxhash_rust::xxh3::xxh3_64(b"hello"), 0x9555e8555c62dcfd);
    assert_eq!(feature_hash(""), 0x99aa06d3014798d86001c324468d497f);
    assert_eq!(feature_hash("a"), 0xa96faf705af16834e6c632b61e964e1f);
    assert_eq!(feature_hash("hello"), 0xb5e9c1ad071b3e7fc779cfaa5e523818);
    assert_eq!(feature_hash("我爱"), 0x14810dde69855abbb317a42bd644b587);
}

#[test]
fn fingerprints_are_frozen() {
    for (text, by_words, by_chars) in GOLDEN {
        assert_eq!(words(text), by_words, "words of {text:?}");
        assert_eq!(chars(3, text), by_chars, "chars:3 of {text:?}");
    }
}

#[test]
fn a_narrow_fingerprint_is_the_low_part_of_a_wide_one() {
    let wide: u128 = Pipeline::default().fingerprint(GOLDEN[0].0);
    assert_eq!(wide, 0x0841000499b52ae1801887e10cb310bd);
    let narrow: u32 = Pipeline::default().fingerprint(GOLDEN[0].0);
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
    let mut fingerprinter = Pipeline::default().fingerprinter();
    for (text, by_words, _) in GOLDEN.into_iter().chain(GOLDEN) {
        assert_eq!(fingerprinter.fingerprint::<u64>(text), by_words);
    }
}

#[test]
fn a_pipeline_is_known_by_its_description() {
    for features in [Features::Words, Features::chars(5).unwrap()] {
        let pipeline = Pipeline::new(features);
        assert_eq!(Pipeline::parse(&pipeline.describe()).unwrap(), pipeline);
        assert_eq!(pipeline.features(), features);
    }
    assert!(matches!(
        Pipeline::parse("{}"),
        Err(crate::Error::Pipeline(_))
    ));
}

proptest! {
    #[test]
    fn words_agree_with_the_definition(text in "[a-zA-Z ',.0-9é]{0,200}") {
        let lower = text.to_lowercase();
        let hashes: Vec<u64> = lower.unicode_words().map(|w| feature_hash(w) as u64).collect();
        prop_assert_eq!(words(&text), simhash::naive(&hashes));
    }

    #[test]
    fn no_text_makes_the_pipeline_panic(text in any::<String>(), length in 1..=GramLen::MAX) {
        words(&text);
        chars(length, &text);
    }
}
