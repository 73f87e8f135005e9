//! `pipeline-spec.md` against the program: all its lists, ranges, tables and test vectors.

use std::collections::{BTreeSet, HashSet};
use std::ops::RangeInclusive;
use std::path::PathBuf;
use std::process::Command;

use sha2::{Digest, Sha256};
use simidx::Width;
use simidx_testkit::document::{
    named_block, named_characters, named_table, named_words, pipeline_specification, quoted, row,
    table_heading, words,
};
use simidx_text::assets::{Assets, UserDictionary};
use simidx_text::dedup::Similarity;
use simidx_text::similar::{Sketcher, TextSigner, key_parameters};
use simidx_text::stages::Html;
use simidx_text::{Fingerprinter, Pipeline, PipelineOptions, Preset};
use xxhash_rust::xxh3::xxh3_64;

fn fingerprinter(spec: &str) -> Fingerprinter {
    let options: PipelineOptions = spec.parse().unwrap();
    let pipeline = Pipeline::new(options).unwrap();
    pipeline.fingerprinter(Width::W64).unwrap()
}

/// Returns all characters.
fn characters() -> impl Iterator<Item = char> {
    '\0'..=char::MAX
}

fn html(document: &str) -> String {
    let mut fingerprinter = fingerprinter("web,html=yes,normalise=none");
    fingerprinter.text(document).to_owned()
}

/// Current and former elements of HTML, and some names that were never elements: members of each list, and many in
/// none.
const ELEMENTS: &str = "a abbr acronym address applet area article aside audio b base basefont bdi bdo \
    bgsound big blink blockquote body br button canvas caption center cite code col colgroup data datalist dd \
    del details dfn dialog dir div dl dt em embed fieldset figcaption figure font footer form frame frameset h1 \
    h2 h3 h4 h5 h6 head header hgroup hr html i iframe image img input ins isindex kbd keygen label legend li \
    link listing main map mark marquee math menu menuitem meta meter multicol nav nextid nobr noembed noframe \
    noframes noscript object ol optgroup option output p param picture plaintext pre progress q rb rp rt rtc \
    ruby s samp script search section select slot small source spacer span strike strong style sub summary sup \
    svg table tbody td template textarea tfoot th thead time title tr track tt u ul unknown var video wbr x-y \
    xmp";

/// The lists of elements.
struct Elements {
    rcdata: BTreeSet<String>,
    rawtext: BTreeSet<String>,
    left_out: BTreeSet<String>,
    foreign: BTreeSet<String>,
    void: BTreeSet<String>,
    optional_end: BTreeSet<String>,
    inline: BTreeSet<String>,
}

impl Elements {
    fn read() -> Self {
        let text = pipeline_specification();
        let states = named_table(&text, "html-states");
        let state = |name: &str| words(&row(&states, name)[1].replace('`', ""));
        assert_eq!(state("script data"), words("script"));
        assert_eq!(state("PLAINTEXT"), words("plaintext"));
        assert_eq!(states.len(), 4, "a state that no test knows");
        Elements {
            rcdata: state("RCDATA"),
            rawtext: state("RAWTEXT"),
            left_out: named_words(&text, "html-omitted"),
            foreign: named_words(&text, "html-foreign"),
            void: named_words(&text, "html-void"),
            optional_end: named_words(&text, "html-optional-end"),
            inline: named_words(&text, "html-inline"),
        }
    }

    /// Returns the names in all lists.
    fn all(&self) -> BTreeSet<String> {
        let all = words(ELEMENTS);
        let lists = [
            &self.rcdata,
            &self.rawtext,
            &self.left_out,
            &self.foreign,
            &self.void,
            &self.optional_end,
            &self.inline,
        ];
        let listed: BTreeSet<String> = lists.into_iter().flatten().cloned().collect();
        assert!(listed.is_subset(&all), "{:?}", listed.difference(&all));
        all
    }
}

#[test]
fn elements_are_left_out_as_listed() {
    let elements = Elements::read();
    for name in elements.all() {
        let is_left_out = elements.left_out.contains(&name);
        let text = html(&format!("a<{name}>b</{name}>c"));
        assert_eq!(!text.contains('b'), is_left_out, "{name}: {text:?}");
        assert!(text.contains('a') && text.contains('c'), "{name}: {text:?}");
        let counts = !elements.void.contains(&name) && !elements.optional_end.contains(&name);
        let text = html(&format!("a<{name} class=x role=NavigaTion>b</{name}>c"));
        assert_eq!(
            !text.contains('b'),
            is_left_out || counts,
            "{name}: {text:?}"
        );
        let text = html(&format!("a<{name} role=main>b</{name}>c"));
        assert_eq!(!text.contains('b'), is_left_out, "{name}: {text:?}");
    }
}

#[test]
fn what_is_left_out_ends_with_as_many_end_tags() {
    let elements = Elements::read();
    for name in &elements.left_out {
        // Raw text contains no start tags.
        if !elements.rawtext.contains(name) && name != "script" {
            let nested = html(&format!(
                "a<{name}><{name}>b</{name}>b<p></p></x>b</{name}>c"
            ));
            assert_eq!(nested, "a\nc", "{name}");
        }
        assert_eq!(html(&format!("a<{name}>b")), "a\n", "{name}");
        let is_closed = elements.foreign.contains(name);
        let text = html(&format!("a<{name}/>b"));
        assert_eq!(text.contains('b'), is_closed, "{name}: {text:?}");
    }
}

#[test]
fn lines_end_at_all_elements_but_those_listed() {
    let elements = Elements::read();
    for name in elements.all() {
        let expected = match elements.inline.contains(&name) {
            true => "ab",
            false => "a\nb",
        };
        match elements.left_out.contains(&name) {
            true => assert_eq!(html(&format!("a<{name}></{name}>b")), expected, "{name}"),
            false => assert_eq!(html(&format!("a<{name}>b")), expected, "{name}"),
        }
        assert_eq!(html(&format!("a</{name}>b")), expected, "{name}");
        assert_eq!(html(&format!("</{name}>b")), "b", "{name}");
        assert_eq!(html(&format!("a<p></{name}>b")), "a\nb", "{name}");
    }
}

#[test]
fn raw_text_is_that_of_the_elements_listed() {
    let elements = Elements::read();
    for name in elements.all() {
        let is_raw = elements.rawtext.contains(&name) || name == "script";
        if elements.left_out.contains(&name) {
            // A comment would hide the end tag.
            let text = html(&format!("<{name}><!--</{name}>c"));
            assert_eq!(text.contains('c'), is_raw, "{name}: {text:?}");
            // Only in script data does a start tag in a comment count.
            let text = html(&format!("<{name}><!--<script></{name}>c"));
            let is_script = name == "script";
            assert_eq!(text.contains('c'), is_raw && !is_script, "{name}: {text:?}");
            continue;
        }
        let text = html(&format!("<{name}>&amp;<b>b</{name}>c<b>"));
        let expected = match &*name {
            "plaintext" => "&amp;<b>b</plaintext>c<b>",
            _ if elements.rcdata.contains(&name) => "&<b>bc",
            _ if is_raw => "&amp;<b>bc",
            _ => "&bc",
        };
        assert_eq!(text.replace('\n', ""), expected, "{name}");
    }
}

#[test]
fn nothing_is_raw_within_other_vocabularies() {
    let elements = Elements::read();
    let more = ["script".to_owned(), "plaintext".to_owned()];
    let raw = elements.rcdata.iter().chain(&elements.rawtext).chain(&more);
    for name in raw {
        for foreign in &elements.foreign {
            let text = html(&format!("a<{foreign}><{name}></{foreign}>c"));
            assert_eq!(text, "a\nc", "{foreign} {name}");
        }
    }
}

#[test]
fn documents_are_html_that_begin_as_listed() {
    let mut fingerprinter = fingerprinter("web,html=auto,normalise=none");
    let mut is_html = |document: &str| {
        !fingerprinter
            .text(&format!("{document}<i>t"))
            .contains("<i>")
    };
    let starts = named_block(&pipeline_specification(), "html-starts");
    for start in &starts {
        for before in [
            "",
            " \n",
            "\u{feff} ",
            "<!-- x --> <!---->\n",
            "<?xml version=\"1.0\"?><!--x-->",
        ] {
            assert!(is_html(&format!("{before}{start}>")), "{before}{start}");
            assert!(
                is_html(&format!("{before}{} x=y>", start.to_uppercase())),
                "{before}{start}"
            );
            assert!(!is_html(&format!("{before}{start}er>")), "{before}{start}");
            assert!(!is_html(&format!("{before}x{start}>")), "{before}{start}");
        }
    }
    for other in ["<p>", "<div>", "<!--<html>", "<title>"] {
        assert!(!is_html(other), "{other}");
    }
}

fn holds(ranges: &[RangeInclusive<u32>], c: char) -> bool {
    ranges.iter().any(|range| range.contains(&u32::from(c)))
}

#[test]
fn controls_are_dropped_as_listed() {
    let listed = named_characters(&pipeline_specification(), "invisible");
    let text: String = characters().map(|c| format!("a{c}b ")).collect();
    let is_dropped = |c: char| holds(&listed, c) || c.is_control() && !c.is_whitespace();
    let expected = characters().map(|c| match is_dropped(c) {
        true => "ab ".to_owned(),
        false => format!("a{c}b "),
    });
    let mut fingerprinter = fingerprinter("web,html=no,normalise=controls");
    assert!(fingerprinter.text(&text) == expected.collect::<String>());
}

/// The character ranges that divide a text into runs.
struct Scripts {
    /// Han characters and kana.
    cjk: Vec<RangeInclusive<u32>>,
    kana: Vec<RangeInclusive<u32>>,
    south_east_asian: Vec<RangeInclusive<u32>>,
    variation_selectors: Vec<RangeInclusive<u32>>,
}

impl Scripts {
    fn read() -> Self {
        let text = pipeline_specification();
        let read = |name| named_characters(&text, name);
        Scripts {
            cjk: read("cjk"),
            kana: read("kana"),
            south_east_asian: read("south-east-asian"),
            variation_selectors: read("variation-selectors"),
        }
    }
}

/// Returns the features that `segment` produces for some characters, each repeated four times.
fn features(
    fingerprinter: &mut Fingerprinter,
    documents: impl Iterator<Item = String>,
) -> HashSet<String> {
    let mut features = HashSet::new();
    for document in documents {
        fingerprinter.for_each_feature(&document, &mut |feature| {
            features.insert(feature.to_owned());
        });
    }
    features
}

#[test]
fn characters_without_spaces_are_those_listed() {
    let scripts = Scripts::read();
    let mut words = fingerprinter("web,html=no,normalise=none,segment=words,shingle=1");
    let all: Vec<char> = characters().collect();
    for chunk in all.chunks(1 << 14) {
        let lines = chunk.iter().map(|c| format!("{c}{c}{c}{c}\n"));
        let found = features(&mut words, [lines.collect::<String>()].into_iter());
        for &c in chunk {
            let repeated = |count: usize| c.to_string().repeat(count);
            let is_cut = [2, 3].map(|count| found.contains(&repeated(count)));
            let expected = [holds(&scripts.cjk, c), holds(&scripts.south_east_asian, c)];
            assert_eq!(is_cut, expected, "U+{:04X}", u32::from(c));
        }
    }
}

#[test]
fn kana_are_those_listed() {
    let scripts = Scripts::read();
    assert!(scripts.kana.iter().flat_map(Clone::clone).all(|c| {
        let c = char::from_u32(c).unwrap();
        holds(&scripts.cjk, c)
    }));
    let mut words = fingerprinter("web,html=no,normalise=none,segment=auto,shingle=1");
    // Of the supplementary planes, only a sample is tested, to save time.
    let looked_at =
        |c: &char| holds(&scripts.cjk, *c) && (*c < '\u{20000}' || u32::from(*c) % 61 == 0);
    for c in characters().filter(looked_at) {
        let found = features(&mut words, [format!("{c}自由主义")].into_iter());
        // Jieba knows the word, so with kana or without, it would not be cut there.
        let by_pairs = found.contains("由主");
        assert_eq!(
            by_pairs,
            holds(&scripts.kana, c),
            "U+{:04X}: {found:?}",
            u32::from(c)
        );
    }
}

#[test]
fn variation_selectors_are_those_listed() {
    let scripts = Scripts::read();
    let mut words = fingerprinter("web,html=no,normalise=none,segment=words,shingle=1");
    let all: Vec<char> = characters().filter(|&c| !holds(&scripts.cjk, c)).collect();
    for chunk in all.chunks(1 << 14) {
        let lines = chunk.iter().map(|c| format!("中{c}国\n"));
        let found = features(&mut words, [lines.collect::<String>()].into_iter());
        for &c in chunk {
            let belongs = found.contains(&format!("中{c}国"));
            assert_eq!(
                belongs,
                holds(&scripts.variation_selectors, c),
                "U+{:04X}",
                u32::from(c)
            );
        }
    }
}

#[test]
fn sentences_end_where_they_are_said_to() {
    let listed = named_characters(&pipeline_specification(), "sentence-ends");
    let mut sentences = fingerprinter("web,html=no,normalise=none,segment=sentences,shingle=1");
    for c in characters() {
        let mut is_cut = false;
        sentences.for_each_feature(&format!("one{c}two"), &mut |feature| {
            is_cut |= feature == "one"
        });
        assert_eq!(is_cut, holds(&listed, c), "U+{:04X}", u32::from(c));
    }
    // Full stops before white space, before the end, or next to another full stop.
    for (text, expected) in [
        ("one. two", vec!["one", "two"]),
        ("one.", vec!["one"]),
        ("one..two", vec!["one", "two"]),
        ("1.5 a.b", vec!["1.5 a.b"]),
    ] {
        let mut found = Vec::new();
        sentences.for_each_feature(text, &mut |feature| found.push(feature.to_owned()));
        assert_eq!(found, expected);
    }
}

#[test]
fn ascii_words_are_what_the_expression_matches() {
    let expression = named_block(&pipeline_specification(), "ascii-words").concat();
    assert_eq!(expression, "[0-9A-Za-z_']+(://[0-9A-Za-z_./]+)?");
    let mut words = fingerprinter("web,html=no,normalise=none,segment=ascii-words,shingle=1");
    let is_word = |c: char| c.is_ascii_alphanumeric() || c == '_';
    for c in characters().take(0x3000) {
        let found = features(&mut words, [format!("a{c}b x://y{c}z")].into_iter());
        let one = format!("a{c}b");
        assert_eq!(found.contains(&one), is_word(c) || c == '\'', "{c:?}");
        let address = format!("x://y{c}z");
        assert_eq!(
            found.contains(&address),
            is_word(c) || "./".contains(c),
            "{c:?}"
        );
    }
}

/// Returns the rows of the table of members: names, values and meaning.
fn members() -> Vec<Vec<String>> {
    named_table(&pipeline_specification(), "members")
}

#[test]
fn descriptions_have_the_members_listed_in_their_order() {
    let example = named_block(&pipeline_specification(), "description-example").concat();
    let web = Pipeline::new("web".parse().unwrap()).unwrap().describe();
    for description in [&example, &web] {
        let object: serde_json::Value = serde_json::from_str(description).unwrap();
        let object = object.as_object().unwrap();
        let listed: BTreeSet<String> = members().iter().map(|row| row[0].clone()).collect();
        assert_eq!(object.keys().cloned().collect::<BTreeSet<_>>(), listed);
        let place = |row: &Vec<String>| description.find(&format!("\"{}\":", row[0])).unwrap();
        let places: Vec<usize> = members().iter().map(place).collect();
        assert!(places.is_sorted(), "{description}");
    }
    let parsed = Pipeline::parse(&example, &Assets::default()).unwrap();
    let head = |text: &str| text.split("\"tables\"").next().unwrap().to_owned();
    assert_eq!(head(&parsed.describe()), head(&example));
    for (from, to) in [
        ("\"version\":3", "\"version\":2"),
        ("\"version\":3", "\"version\":4"),
        ("\"seed\":0", "\"seed\":0,\"more\":0"),
    ] {
        let other = example.replacen(from, to, 1);
        assert!(
            Pipeline::parse(&other, &Assets::default()).is_err(),
            "{other}"
        );
    }
    let members = members();
    assert_eq!(row(&members, "version")[1], "2, 3");
}

/// Returns the values that the error for an unknown value names.
fn known(refusal: &str) -> BTreeSet<String> {
    let (_, known) = refusal.split_once("; use ").unwrap();
    let known = known.split(" (N is ").next().unwrap();
    let known = known
        .trim_end_matches(" joined by +")
        .replace(", or ", ", ")
        .replace(" or ", ", ")
        .replace(" and ", ", ");
    known.split(", ").map(str::to_owned).collect()
}

#[test]
fn members_have_the_values_listed() {
    let parses = |spec: &str| {
        spec.parse::<PipelineOptions>()
            .is_ok_and(|o| Pipeline::new(o).is_ok())
    };
    for (member, base) in [
        ("html", "web"),
        ("normalise", "web"),
        ("segment", "web"),
        ("weights", "web"),
        ("select", "web"),
        ("feature_hash", "web,fingerprint=simhash"),
        ("fingerprint", "web"),
        ("ties", "web,fingerprint=simhash"),
    ] {
        let values = quoted(&row(&members(), member)[1]);
        let option = member.replace("feature_hash", "hash");
        for value in values.iter().filter(|value| *value != "+") {
            for number in ["1", "16"] {
                let spec = format!(
                    "{base},{option}={}",
                    value.replace(":N", &format!(":{number}"))
                );
                assert!(parses(&spec), "{spec}");
            }
            if let Some(name) = value.strip_suffix(":N") {
                // A text may have no word at all.
                let is_free = name == "word-runs";
                assert_eq!(parses(&format!("{base},{option}={name}:0")), is_free);
                let is_limited = member == "segment" && !is_free;
                assert_eq!(
                    parses(&format!("{base},{option}={name}:17")),
                    !is_limited,
                    "{value}"
                );
            }
        }
        let refused = format!("{base},{option}=other").parse::<PipelineOptions>();
        let listed = values.iter().filter(|value| *value != "+").cloned();
        assert_eq!(
            known(&refused.unwrap_err().to_string()),
            listed.collect(),
            "{member}"
        );
    }
    let range = row(&members(), "shingle")[1].replace(" to ", " ");
    let range: Vec<u32> = range.split(' ').map(|n| n.parse().unwrap()).collect();
    for shingle in 0..20 {
        let is_allowed = (range[0]..=range[1]).contains(&shingle);
        assert_eq!(parses(&format!("web,shingle={shingle}")), is_allowed);
    }
    assert_eq!(row(&members(), "seed")[1], "0 to 2^53 − 1");
    let most = (1u64 << 53) - 1;
    let seeded = |seed: u64| format!("web,seed={seed}");
    assert!(parses(&seeded(most)) && !parses(&seeded(most + 1)) && !parses(&seeded(u64::MAX)));
    // A description with a greater seed is also refused.
    let example = named_block(&pipeline_specification(), "description-example").concat();
    for (seed, is_read) in [(most, true), (most + 1, false)] {
        let description = example.replacen("\"seed\":0", &format!("\"seed\":{seed}"), 1);
        let parsed = Pipeline::parse(&description, &Assets::default());
        assert_eq!(parsed.is_ok(), is_read, "{seed}");
    }
}

/// Returns the values of a member: all of a list, with 3 for N, or some numbers of a range.
fn values(member: &str) -> Vec<String> {
    let members = members();
    let values = &row(&members, member)[1];
    match values.as_str() {
        "1 to 16" => ["1", "2", "16"].map(str::to_owned).to_vec(),
        _ => quoted(values)
            .iter()
            .map(|value| value.replace(":N", ":3"))
            .collect(),
    }
}

#[test]
fn members_go_together_as_listed() {
    let base = "web,segment=jieba,shingle=1,fingerprint=simhash";
    for rule in named_table(&pipeline_specification(), "restrictions") {
        let (other, allowed) = rule[2].split_once(": ").unwrap();
        let (other, allowed) = (quoted(other).concat(), quoted(allowed));
        let all = values(&other);
        assert!(allowed.iter().all(|value| all.contains(value)), "{rule:?}");
        assert!(allowed.len() < all.len(), "{rule:?}");
        for value in all {
            let option = other.replace("feature_hash", "hash");
            let stage = match &rule[0][..] {
                "user_dictionary" | "f" => String::new(),
                "parts" => ",parts=n:1".to_owned(),
                "idf" => ",idf=jieba".to_owned(),
                "seed" => ",seed=7".to_owned(),
                name => format!(",{name}={}", rule[1]),
            };
            let spec = format!("{base}{stage},{option}={value}");
            let mut options: PipelineOptions = spec.parse().unwrap();
            if rule[0] == "user_dictionary" {
                options.user_dictionary = Some(UserDictionary::from_bytes("d", b"a").unwrap());
            }
            let is_accepted = match (Pipeline::new(options), &rule[0][..]) {
                (Ok(pipeline), "f") => pipeline.fingerprinter(Width::W128).is_ok(),
                (pipeline, _) => pipeline.is_ok(),
            };
            assert_eq!(is_accepted, allowed.contains(&value), "{rule:?} {value}");
        }
    }
}

#[test]
fn letters_and_numbers_make_sentences() {
    let mut sentences = fingerprinter("web,html=no,normalise=none,segment=sentences,shingle=1");
    for c in characters() {
        let mut count = 0;
        sentences.for_each_feature(&c.to_string(), &mut |_| count += 1);
        assert_eq!(
            count == 1,
            c.is_alphabetic() || c.is_numeric(),
            "U+{:04X}",
            u32::from(c)
        );
    }
}

/// Replaces each `\uXXXX` in a text by the character.
fn unescaped(text: &str) -> String {
    serde_json::from_str(&format!("\"{text}\"")).unwrap()
}

#[test]
fn texts_are_normalised_as_in_the_vectors() {
    for vector in named_table(&pipeline_specification(), "normalisation-vectors") {
        let mut fingerprinter = fingerprinter(&format!("web,html=no,normalise={}", vector[0]));
        let normalised = fingerprinter.text(&unescaped(&vector[1])).to_owned();
        assert_eq!(normalised, unescaped(&vector[2]), "{vector:?}");
        assert_eq!(fingerprinter.text(&normalised), normalised, "{vector:?}");
    }
}

#[test]
fn the_text_of_html_is_that_of_the_vector() {
    let text = pipeline_specification();
    let lines = named_block(&text, "html-vector-text");
    assert_eq!(
        html(&named_block(&text, "html-vector").concat()),
        lines.join("\n") + "\n"
    );
}

#[test]
fn fingerprints_are_those_of_the_vectors() {
    let text = pipeline_specification();
    let rows = named_table(&text, "fingerprint-vectors");
    for (column, stages) in table_heading(&text, "fingerprint-vectors")
        .iter()
        .enumerate()
        .skip(1)
    {
        let base = "web,html=no,shingle=1,weights=count,fingerprint=simhash";
        let mut fingerprinter = fingerprinter(&format!("{base},{stages}"));
        for row in &rows {
            let document = if row[0] == "(empty)" { "" } else { &row[0] };
            let found = format!("{:016x}", fingerprinter.fingerprint(document));
            assert_eq!(found, row[column], "{stages}: {document}");
        }
    }
}

#[test]
fn words_deviate_from_uax_29_where_the_specification_says_so() {
    let tokens = |normalise: &str, text: &str| {
        let stages = "html=no,segment=words,shingle=1";
        let mut words = fingerprinter(&format!("web,{stages},normalise={normalise}"));
        let mut tokens = Vec::new();
        words.for_each_feature(text, &mut |token| tokens.push(token.to_owned()));
        tokens
    };
    let rows = named_table(&pipeline_specification(), "segmentation-deviation");
    for (after, first) in [("a letter", 'a'), ("a digit", '7')] {
        let listed = words(&row(&rows, after)[2]);
        // By the rules, the underscore joins its neighbours.
        let others = characters().filter(|c| c.is_ascii_punctuation() && *c != '_');
        for second in others {
            let text = format!("{first}{second}\u{200d}\u{1f469}");
            let is_one = |normalise| tokens(normalise, &text) == [&*text];
            let is_listed = listed.contains(&second.to_string());
            assert_eq!(is_one("none"), is_listed, "{text:?}");
            assert!(!is_one("controls"), "{text:?}");
        }
    }
}

/// Returns the hash of a shingle by section 9.4.
fn hash_of_run(words: &[&str]) -> u64 {
    words.iter().fold(0, |hash, word| {
        let word = xxh3_64(word.as_bytes());
        let product =
            u128::from(hash ^ word ^ 0x9E37_79B9_7F4A_7C15) * u128::from(0xD1B5_4A32_D192_ED03u64);
        (product >> 64) as u64 ^ product as u64
    })
}

/// The least value of hash function i over features, by section 9.2.
fn minimum(i: u32, hashes: &[u64]) -> u32 {
    let mix = |mut x: u32| {
        x = (x ^ (x >> 16)).wrapping_mul(0x7FEB_352D);
        x = (x ^ (x >> 15)).wrapping_mul(0x846C_A68B);
        x ^ (x >> 16)
    };
    let factor = (2 * i + 1).wrapping_mul(0x9E37_79B9);
    let value =
        |hash: &u64| mix((*hash as u32).wrapping_add(((hash >> 32) as u32).wrapping_mul(factor)));
    hashes.iter().map(value).min().unwrap()
}

/// The sketch of 64 bits of features by section 9.4.
fn sketch_of(hashes: &[u64]) -> u64 {
    let bit = |i| u64::from(minimum(i, hashes) & 1);
    (0..64).fold(0, |sketch, i| sketch | bit(i) << i)
}

/// The keys of features by section 9.5, two in each number.
fn keys_of(hashes: &[u64], bands: u32, rows: u32) -> Vec<u64> {
    let key = |band: u32| {
        let minima = (band * rows..(band + 1) * rows).map(|i| minimum(i, hashes));
        let bytes: Vec<u8> = minima.flat_map(u32::to_le_bytes).collect();
        u64::from(xxh3_64(&bytes) as u32)
    };
    let keys: Vec<u64> = (0..bands).map(key).collect();
    let pair = |keys: &[u64]| keys[0] | keys.get(1).map_or(0, |key| key << 32);
    keys.chunks(2).map(pair).collect()
}

#[test]
fn keys_are_those_of_the_specification() {
    let mut fingerprinter = Pipeline::default().fingerprinter(Width::W64).unwrap();
    let text = "the quick brown fox jumps";
    let words: Vec<&str> = text.split(' ').collect();
    let hashes: Vec<u64> = words.windows(3).map(hash_of_run).collect();
    for (least, name) in [
        (0.8, "keys:15x4 words:3 html:no"),
        (0.9, "keys:16x9 words:3 html:no"),
        (1.0, "keys:1x64 words:3 html:no"),
    ] {
        let similarity = Similarity::of_words(least, 3).unwrap();
        let parameters = key_parameters(similarity, Html::No).unwrap();
        assert_eq!(parameters.features(), name);
        let (bands, rows) = name[5..]
            .split_once(' ')
            .unwrap()
            .0
            .split_once('x')
            .unwrap();
        let expected = keys_of(&hashes, bands.parse().unwrap(), rows.parse().unwrap());
        let signed = TextSigner::new(similarity).sign(&mut fingerprinter, text);
        assert_eq!(signed.packed_keys(), expected, "{name}");
        assert_eq!(parameters.u64_count(), expected.len());
    }
    let first = keys_of(&hashes[..2], 15, 4)[0];
    let keys = format!("{:08x} and {:08x}", first as u32, first >> 32);
    let example = format!("`the quick brown fox` are {keys}");
    assert!(pipeline_specification().contains(&example), "{keys}");
}

#[test]
fn sketches_are_those_of_the_vectors() {
    let sketcher = Sketcher::new(64, "words:2 html:no".parse().unwrap()).unwrap();
    let mut fingerprinter = sketcher
        .pipeline()
        .unwrap()
        .fingerprinter(Width::W64)
        .unwrap();
    let mut sketch = |text: &str| sketcher.sketch(&mut fingerprinter, text).as_u64s()[0];
    for vector in named_table(&pipeline_specification(), "sketch-vectors") {
        let (text, joined) = (unescaped(&vector[0]), unescaped(&vector[1]));
        let words: Vec<&str> = joined.split(' ').filter(|word| !word.is_empty()).collect();
        let hashes: Vec<u64> = match words.len() {
            0 => vec![xxh3_64(text.as_bytes())],
            1 => vec![hash_of_run(&words)],
            _ => words.windows(2).map(hash_of_run).collect(),
        };
        let wanted = &vector[2];
        assert_eq!(&format!("{:016x}", sketch_of(&hashes)), wanted, "{text}");
        assert_eq!(&format!("{:016x}", sketch(&text)), wanted, "{text}");
    }
}

#[test]
fn long_features_have_the_hashes_of_the_vectors() {
    let stages = "web,html=no,shingle=1,fingerprint=simhash,segment=sentences";
    let pipeline = |more: &str| Pipeline::new(format!("{stages}{more}").parse().unwrap()).unwrap();
    let (wide, seeded) = (pipeline(""), pipeline(",hash=xxh3-64,seed=42"));
    for row in named_table(&pipeline_specification(), "hash-vectors") {
        let len: usize = row[0].replace(',', "").parse().unwrap();
        let text: String = ('a'..='z').cycle().take(len).collect();
        let found = wide.fingerprint(&text, Width::W128).unwrap();
        assert_eq!(format!("{found:032x}"), row[1], "{len}");
        let found = seeded.fingerprint(&text, Width::W64).unwrap();
        assert_eq!(format!("{found:016x}"), row[2], "{len}");
    }
}

#[test]
fn presets_are_those_of_the_appendix() {
    let text = pipeline_specification();
    let parsed = |json: &str| -> serde_json::Map<String, serde_json::Value> {
        serde_json::from_str(json).unwrap_or_else(|error| panic!("{json}: {error}"))
    };
    let example = named_block(&text, "description-example").concat();
    let lines = named_block(&text, "presets");
    assert_eq!(lines.len(), Preset::ALL.len());
    for (line, preset) in lines.iter().zip(Preset::ALL) {
        let (name, changes) = line.split_once(' ').unwrap();
        assert_eq!(name, preset.name());
        let mut wanted = parsed(&example);
        wanted.extend(parsed(&format!("{{{}}}", changes.trim())));
        let mut described = parsed(&Pipeline::new(preset.options()).unwrap().describe());
        for description in [&mut wanted, &mut described] {
            description.remove("tables");
        }
        assert_eq!(described, wanted, "{name}");
    }
}

#[test]
fn the_hash_of_python_2_is_that_of_the_vectors() {
    let spec = "short,normalise=none,segment=chars:16,hash=python2-128,fingerprint=simhash";
    let pipeline = Pipeline::new(spec.parse().unwrap()).unwrap();
    let mut fingerprinter = pipeline.fingerprinter(Width::W128).unwrap();
    for row in named_table(&pipeline_specification(), "python2-vectors") {
        let feature = if row[0] == "(empty)" { "" } else { &row[0] };
        // The simhash of one feature is its hash, and the simhash of none is 0.
        let found = format!("{:032x}", fingerprinter.fingerprint(feature));
        assert_eq!(found, row[1], "{feature}");
    }
}

/// Returns the versions of the tables in the description of a pipeline with jieba.
fn tables() -> serde_json::Value {
    let pipeline = Pipeline::new("web,segment=auto".parse().unwrap()).unwrap();
    let description: serde_json::Value = serde_json::from_str(&pipeline.describe()).unwrap();
    description["tables"].clone()
}

#[test]
fn the_tables_of_unicode_are_those_pinned() {
    let text = pipeline_specification();
    let tables = tables();
    let version =
        |text: &str| -> Vec<u32> { text.split('.').map(|n| n.parse().unwrap()).collect() };
    let rows = named_table(&text, "unicode");
    for row in &rows {
        let (used, pinned) = (version(tables[&row[0]].as_str().unwrap()), version(&row[2]));
        // The compiler contains the properties of characters, and may be newer than the version that the crate
        // requires.
        match &row[0][..] {
            "case" => assert!(used >= pinned, "{row:?}: {used:?}"),
            _ => assert_eq!(used, pinned, "{row:?}"),
        }
    }
    let printed = |block: &str| -> serde_json::Value {
        serde_json::from_str(&named_block(&text, block).concat()).unwrap()
    };
    let example = printed("tables-example");
    let members = |value: &serde_json::Value| -> Vec<String> {
        value.as_object().unwrap().keys().cloned().collect()
    };
    assert_eq!(members(&example), members(&tables));
    assert_eq!(example["jieba"], tables["jieba"]);
    for row in &rows {
        assert_eq!(example[&row[0]], *row[2]);
        assert_eq!(printed("description-example")["tables"][&row[0]], *row[2]);
    }
    assert_eq!(rows.len() + 1, members(&tables).len());
}

/// Returns the platform of the compiler.
fn host() -> String {
    let output = Command::new("rustc").arg("-vV").output().unwrap();
    let about = String::from_utf8(output.stdout).unwrap();
    let host = about.lines().find_map(|line| line.strip_prefix("host: "));
    host.unwrap().to_owned()
}

/// Returns Cargo's metadata on the packages of this platform: their versions and the locations of their sources.
fn metadata() -> serde_json::Value {
    let mut command = Command::new(env!("CARGO"));
    command.args(["metadata", "--format-version", "1", "--locked"]);
    command.args(["--filter-platform", &host()]);
    command.current_dir(env!("CARGO_MANIFEST_DIR"));
    let output = command.output().unwrap();
    assert!(
        output.status.success(),
        "{}",
        String::from_utf8_lossy(&output.stderr)
    );
    serde_json::from_slice(&output.stdout).unwrap()
}

/// Returns the only package with this name.
fn package<'m>(metadata: &'m serde_json::Value, name: &str) -> &'m serde_json::Value {
    let packages = metadata["packages"].as_array().unwrap();
    let mut found = packages.iter().filter(|package| package["name"] == name);
    let package = found.next().expect(name);
    assert!(found.next().is_none(), "two versions of {name}");
    package
}

#[test]
fn the_data_of_jieba_are_those_pinned() {
    let text = pipeline_specification();
    let metadata = metadata();
    let lock = PathBuf::from(metadata["workspace_root"].as_str().unwrap()).join("Cargo.lock");
    let lock: toml::Table = std::fs::read_to_string(lock).unwrap().parse().unwrap();
    let locked = lock["package"].as_array().unwrap();
    for row in named_table(&text, "jieba-crates") {
        assert_eq!(package(&metadata, &row[0])["version"], *row[1]);
        let locked = locked
            .iter()
            .find(|p| p["name"].as_str() == Some(&row[0]))
            .unwrap();
        assert_eq!(locked["version"].as_str(), Some(&row[1][..]));
        assert_eq!(locked["checksum"].as_str(), Some(&row[2][..]), "{}", row[0]);
        if row[0] == "jieba-rs" {
            let full = format!("{} {}", row[0], row[1]);
            let recorded = tables()["jieba"].as_str().unwrap().to_owned();
            assert!(full.starts_with(&format!("{recorded}.")), "{recorded}");
        }
    }
    // The crates compile these files into the program.
    for row in named_table(&text, "jieba-data") {
        let manifest = package(&metadata, &row[0])["manifest_path"]
            .as_str()
            .unwrap();
        let data = std::fs::read(PathBuf::from(manifest).with_file_name(&row[1])).unwrap();
        let digest: String = Sha256::digest(&data)
            .iter()
            .map(|b| format!("{b:02x}"))
            .collect();
        assert_eq!(digest, row[3], "{}", row[1]);
    }
}
