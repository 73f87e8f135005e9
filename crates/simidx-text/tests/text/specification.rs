//! Section 11 of the specification, text pipelines, against the program: every list and every range that it prints.

use std::collections::{BTreeSet, HashSet};
use std::ops::RangeInclusive;

use simidx_testkit::document::{between, specification};
use simidx_text::{Assets, Fingerprinter, Pipeline, PipelineOptions};

/// Section 11, its lines joined where they are broken.
fn section() -> String {
    let text = specification();
    between(&text, "## 11. Text pipelines\n", "\n## 12.").replace('\n', " ")
}

/// What stands between two phrases of section 11.
#[track_caller]
fn phrase(before: &str, after: &str) -> String {
    between(&section(), before, after).to_owned()
}

/// All that is set as code.
fn quoted(text: &str) -> Vec<String> {
    let parts = text.split('`').skip(1).step_by(2);
    parts.map(str::to_owned).collect()
}

fn names(before: &str, after: &str) -> BTreeSet<String> {
    let names = quoted(&phrase(before, after));
    let set: BTreeSet<String> = names.iter().cloned().collect();
    assert_eq!(set.len(), names.len(), "{before:?} names one twice");
    assert!(!set.is_empty());
    set
}

fn fingerprinter(spec: &str) -> Fingerprinter<u64> {
    let options: PipelineOptions = spec.parse().unwrap();
    Pipeline::new(options).unwrap().fingerprinter().unwrap()
}

/// All characters.
fn characters() -> impl Iterator<Item = char> {
    '\0'..=char::MAX
}

fn html(document: &str) -> String {
    let mut fingerprinter = fingerprinter("web,html=yes,normalise=none");
    fingerprinter.text(document).to_owned()
}

/// Elements that HTML has or had, and some that it never had: those of each list and many in none.
const ELEMENTS: &str = "a abbr acronym address applet area article aside audio b base basefont bdi bdo \
    bgsound big blink blockquote body br button canvas caption center cite code col colgroup data datalist dd \
    del details dfn dialog dir div dl dt em embed fieldset figcaption figure font footer form frame frameset h1 \
    h2 h3 h4 h5 h6 head header hgroup hr html i iframe image img input ins isindex kbd keygen label legend li \
    link listing main map mark marquee math menu menuitem meta meter multicol nav nextid nobr noembed noframe \
    noframes noscript object ol optgroup option output p param picture plaintext pre progress q rb rp rt rtc \
    ruby s samp script search section select slot small source spacer span strike strong style sub summary sup \
    svg table tbody td template textarea tfoot th thead time title tr track tt u ul unknown var video wbr x-y \
    xmp";

/// The lists of section 11.1.
struct Elements {
    rcdata: BTreeSet<String>,
    rawtext: BTreeSet<String>,
    left_out: BTreeSet<String>,
    void: BTreeSet<String>,
    optional_end: BTreeSet<String>,
    inline: BTreeSet<String>,
}

impl Elements {
    fn read() -> Self {
        Elements {
            rcdata: names("After the start tag of ", " it goes on in the RCDATA state"),
            rawtext: names("in that of script data, of ", " in RAWTEXT"),
            left_out: names(
                "Characters are left out from the start tag of a ",
                ", or of another element",
            ),
            void: names("counts for no void element (", ")"),
            optional_end: names("none whose end tag may be absent (", ")"),
            inline: names("or the name is one of ", "."),
        }
    }

    /// All names there are.
    fn all(&self) -> BTreeSet<String> {
        let all: BTreeSet<String> = ELEMENTS.split(' ').map(str::to_owned).collect();
        let lists = [
            &self.rcdata,
            &self.rawtext,
            &self.left_out,
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
        // Within raw text there are no start tags.
        if !elements.rawtext.contains(name) && name != "script" {
            let nested = html(&format!(
                "a<{name}><{name}>b</{name}>b<p></p></x>b</{name}>c"
            ));
            assert_eq!(nested, "a\nc", "{name}");
        }
        assert_eq!(html(&format!("a<{name}>b")), "a\n", "{name}");
        let is_closed = phrase("to the end tag at which", "To the end of the document");
        let is_closed = quoted(&is_closed)[1..].contains(name);
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
            // Of script data alone a start tag in a comment counts.
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
        for foreign in quoted(&phrase("but not within ", ": between")) {
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
    let starts = names("an XML declaration, with ", ", in any case");
    assert!(starts.len() > 2);
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

/// Ranges of code points, each with this sign between its ends; single ones are ranges too.
fn ranges(text: &str, sign: &str) -> Vec<RangeInclusive<u32>> {
    let number = |digits: &str| u32::from_str_radix(digits.trim_start_matches("U+"), 16).unwrap();
    let is_number = |word: &&str| number_like(word);
    let text = text.replace(sign, "-");
    let words = text.split([' ', ',', ';', ':']).filter(is_number);
    let ranges = words.map(|word| match word.split_once('-') {
        Some((first, last)) => number(first)..=number(last),
        None => number(word)..=number(word),
    });
    ranges.collect()
}

/// Whether a word is a code point, or two with a sign between them.
fn number_like(word: &str) -> bool {
    word.split('-').all(|part| {
        let digits = part.trim_start_matches("U+");
        digits.len() >= 4
            && digits
                .chars()
                .all(|c| c.is_ascii_hexdigit() && !c.is_ascii_lowercase())
    })
}

fn holds(ranges: &[RangeInclusive<u32>], c: char) -> bool {
    ranges.iter().any(|range| range.contains(&u32::from(c)))
}

#[test]
fn controls_are_dropped_as_listed() {
    let listed = phrase("characters that are no white space, and ", ". `nfkc` is");
    let listed = ranges(&listed, " to ");
    assert_eq!(listed.len(), 5, "{listed:?}");
    let text: String = characters().map(|c| format!("a{c}b ")).collect();
    let is_dropped = |c: char| holds(&listed, c) || c.is_control() && !c.is_whitespace();
    let expected = characters().map(|c| match is_dropped(c) {
        true => "ab ".to_owned(),
        false => format!("a{c}b "),
    });
    let mut fingerprinter = fingerprinter("web,html=no,normalise=controls");
    assert!(fingerprinter.text(&text) == expected.collect::<String>());
}

/// The characters of section 11.3.
struct Scripts {
    /// Han characters and kana.
    cjk: Vec<RangeInclusive<u32>>,
    kana: Vec<RangeInclusive<u32>>,
    south_east_asian: Vec<RangeInclusive<u32>>,
    variation_selectors: Vec<RangeInclusive<u32>>,
}

impl Scripts {
    fn read() -> Self {
        let read = |before: &str, after: &str| {
            let text = phrase(before, after)
                .replace(", and ", ", ")
                .replace(" and ", ", ");
            let found = ranges(&text, "–");
            assert_eq!(found.len(), text.split(", ").count(), "{text}");
            found
        };
        Scripts {
            cjk: read("are here the code points ", "; kana among them"),
            kana: read("; kana among them ", ". The characters"),
            south_east_asian: read("four other scripts are ", ". A variation"),
            variation_selectors: read("A variation selector (", ")"),
        }
    }
}

/// What `segment` makes of each character repeated four times, those that are asked for: the features of all.
fn features(
    fingerprinter: &mut Fingerprinter<u64>,
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
    // Of the supplementary planes every so many, for time's sake.
    let looked_at =
        |c: &char| holds(&scripts.cjk, *c) && (*c < '\u{20000}' || u32::from(*c) % 61 == 0);
    for c in characters().filter(looked_at) {
        let found = features(&mut words, [format!("{c}自由主义")].into_iter());
        // Jieba knows the word, kana or not it would not be cut there.
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
    let listed = phrase("| `sentences` | what stands between ", ", and full stops");
    let mut ends: BTreeSet<char> = quoted(&listed)
        .iter()
        .flat_map(|mark| mark.chars())
        .collect();
    for range in ranges(&listed, " to ") {
        ends.extend(range.filter_map(char::from_u32));
    }
    for (name, c) in [("LF", '\n'), ("CR", '\r')] {
        assert!(listed.contains(name));
        ends.insert(c);
    }
    assert_eq!(ends.len(), listed.split(", ").count());
    let mut sentences = fingerprinter("web,html=no,normalise=none,segment=sentences,shingle=1");
    for c in characters() {
        let mut is_cut = false;
        sentences.for_each_feature(&format!("one{c}two"), &mut |feature| {
            is_cut |= feature == "one"
        });
        assert_eq!(is_cut, ends.contains(&c), "U+{:04X}", u32::from(c));
    }
    // Full stops before white space or the end or beside another.
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
    assert!(section().contains(r"matches of `[\w']+(://[\w./]+)?` with the `\w` of ASCII"));
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

/// The rows of the table of members: names, values and meaning.
fn members() -> Vec<[String; 3]> {
    let text = specification();
    let table = between(
        &text,
        "| member | value | meaning |\n|---|---|---|\n",
        "\n\n",
    );
    let rows = table.lines().map(|line| {
        let cells: Vec<&str> = line.trim_matches('|').split(" | ").map(str::trim).collect();
        <[&str; 3]>::try_from(cells).unwrap().map(str::to_owned)
    });
    rows.collect()
}

#[test]
fn descriptions_have_the_members_listed() {
    let listed: Vec<String> = members().iter().flat_map(|row| quoted(&row[0])).collect();
    let example = phrase("(what may stand in each is told below):  ``` ", " ```");
    for description in [
        example.as_str(),
        &Pipeline::new("web".parse().unwrap()).unwrap().describe(),
    ] {
        let object: serde_json::Value = serde_json::from_str(description).unwrap();
        let keys: BTreeSet<&String> = object.as_object().unwrap().keys().collect();
        assert_eq!(keys, listed.iter().collect(), "{description}");
        // And in one order.
        let places = |text: &str| -> Vec<usize> {
            let place = |key: &&String| text.find(&format!("\"{key}\":")).unwrap();
            let mut keys: Vec<&String> = keys.iter().copied().collect();
            keys.sort_by_key(place);
            keys.iter()
                .map(|key| listed.iter().position(|l| l == *key).unwrap())
                .collect()
        };
        assert_eq!(places(description), places(&example));
    }
    let parsed = Pipeline::parse(&example, &Assets::default()).unwrap();
    let head = |text: &str| text.split("\"tables\"").next().unwrap().to_owned();
    assert_eq!(head(&parsed.describe()), head(&example));
    for (from, to) in [
        ("\"version\":2", "\"version\":3"),
        ("\"seed\":0", "\"seed\":0,\"more\":0"),
    ] {
        let other = example.replacen(from, to, 1);
        assert!(
            Pipeline::parse(&other, &Assets::default()).is_err(),
            "{other}"
        );
    }
}

/// The values that the refusal of another one names.
fn known(refusal: &str) -> BTreeSet<String> {
    let (_, known) = refusal.split_once("known are ").unwrap();
    let known = known.split(" with N from ").next().unwrap();
    let known = known
        .trim_end_matches(" joined by +")
        .replace(", and ", ", ")
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
        let rows = members();
        let row = rows
            .iter()
            .find(|row| quoted(&row[0]).iter().any(|name| name == member));
        let values = quoted(&row.unwrap()[1]);
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
                assert!(!parses(&format!("{base},{option}={name}:0")), "{value}");
                let is_limited = member == "segment";
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
    for shingle in [0, 1, 16, 17] {
        let is_allowed = (1..=16).contains(&shingle);
        assert_eq!(parses(&format!("web,shingle={shingle}")), is_allowed);
    }
    assert!(!parses("web,fingerprint=minhash,ties=set"));
    assert!(
        parses("web,hash=xxh3-128,seed=7") && !parses("web,fingerprint=simhash,hash=md5,seed=7")
    );
}

#[test]
fn members_go_together_as_listed() {
    let parses = |spec: String| {
        let options = spec.parse::<PipelineOptions>();
        options.is_ok_and(|options| Pipeline::new(options).is_ok())
    };
    let row = |name: &str| {
        let named = |row: &[String; 3]| quoted(&row[0]).iter().any(|member| member == name);
        let values = quoted(&members().into_iter().find(named).unwrap()[1]);
        values
            .iter()
            .map(|value| value.replace(":N", ":3"))
            .collect::<Vec<String>>()
    };
    let hashes = names("`minhash` is for the hashes ", " only.");
    for hash in row("feature_hash") {
        let is_listed = hashes.contains(&hash);
        assert_eq!(
            parses(format!("web,fingerprint=minhash,hash={hash}")),
            is_listed,
            "{hash}"
        );
    }
    let segments = names(
        "`user_dictionary` and `parts` are for the segments ",
        " only",
    );
    for segment in row("segment") {
        let is_listed = segments.contains(&segment);
        let spec = format!("web,shingle=1,parts=n:1,segment={segment}");
        assert_eq!(parses(spec), is_listed, "{segment}");
    }
    assert!(section().contains("`parts` and the `idf` of jieba are for `shingle` 1 only"));
    for stage in ["parts=n:1", "idf=jieba"] {
        for shingle in 1..4 {
            let spec = format!("web,segment=jieba,{stage},shingle={shingle}");
            assert_eq!(parses(spec), shingle == 1, "{stage}");
        }
    }
}

#[test]
fn letters_and_numbers_make_sentences() {
    let listed = "with the property Alphabetic or of general category N,";
    assert!(section().contains(listed));
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

#[test]
fn test_vectors_are_what_comes_out() {
    let text = specification();
    let table = between(&text, "Test vectors (f = 64):\n\n", "\n\n");
    let mut lines = table.lines().map(|line| {
        let cells = line.trim_matches('|').split(" | ");
        cells
            .map(|cell| cell.trim().replace('`', ""))
            .collect::<Vec<String>>()
    });
    let heading = lines.next().unwrap();
    assert_eq!(heading[1..], ["words", "chars:3", "words, minhash"]);
    let specs = ["words", "chars:3", "words,fingerprint=minhash"];
    let mut fingerprinters = specs.map(|spec| {
        let base = "web,html=no,shingle=1,weights=count,fingerprint=simhash";
        fingerprinter(&format!("{base},segment={spec}"))
    });
    let rows: Vec<Vec<String>> = lines.skip(1).collect();
    assert_eq!(rows.len(), 4);
    for row in rows {
        let document = if row[0] == "(empty)" { "" } else { &row[0] };
        for (fingerprinter, expected) in fingerprinters.iter_mut().zip(&row[1..]) {
            assert_eq!(
                format!("{:016x}", fingerprinter.fingerprint(document)),
                *expected
            );
        }
    }
}
