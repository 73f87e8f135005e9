//! Parses parameters, bodies and lines of requests, none of which is trusted.

use std::borrow::Cow;

use serde::Deserialize;
use simidx::{Fingerprint, Width};

use crate::problem::Problem;

/// Largest number of bytes of an invalid value that an error repeats.
const SHOWN_LEN: usize = 60;

/// Largest size in bytes of the id of an added document. An address can hold any such id, to look it up and delete it.
const ID_LEN: usize = 8192;

/// The search parameters of a request.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Params {
    /// `k`: the largest distance.
    pub k: Option<u32>,
    /// `limit`: the largest number of matches; the nearest are returned.
    pub limit: Option<usize>,
    /// `nearest`: the number of nearest records.
    pub nearest: Option<usize>,
    /// `index`: the index that is searched.
    pub index: Option<String>,
    /// `q`: the query of the page.
    pub q: Option<String>,
}

impl Params {
    /// Parses the part of an address after `?`, in which only some names are allowed.
    ///
    /// # Errors
    /// An unknown or repeated name, or an invalid value.
    pub fn parse(query: Option<&str>, allowed: &[&str]) -> Result<Self, Problem> {
        let bad = |detail| Problem::bad("bad-parameter", detail);
        let mut params = Params::default();
        let pairs = query.unwrap_or_default().split('&');
        for pair in pairs.filter(|pair| !pair.is_empty()) {
            let (name, value) = pair.split_once('=').unwrap_or((pair, ""));
            let (name, value) = (decode(name, true)?, decode(value, true)?);
            if !allowed.contains(&&*name) {
                let known = match allowed {
                    [] => "this address takes none".to_owned(),
                    [only] => format!("use {only}"),
                    [others @ .., last] => format!("use {} or {last}", others.join(", ")),
                };
                let name = shown(&name);
                return Err(bad(format!("unknown parameter {name}; {known}")));
            }
            let before = match &*name {
                "k" => params.k.replace(number(&name, &value)?).is_some(),
                "limit" => params.limit.replace(number(&name, &value)?).is_some(),
                "nearest" | "count" => params.nearest.replace(number(&name, &value)?).is_some(),
                "q" => params.q.replace(value.into_owned()).is_some(),
                _ => params.index.replace(value.into_owned()).is_some(),
            };
            if before {
                return Err(bad(format!("{name} is given twice")));
            }
        }
        params.checked()
    }

    /// Converts the search parameters of a body.
    fn of_body(
        k: Option<u32>,
        limit: Option<usize>,
        nearest: Option<usize>,
    ) -> Result<Self, Problem> {
        let params = Params {
            k,
            limit,
            nearest,
            ..Params::default()
        };
        params.checked()
    }

    fn checked(self) -> Result<Self, Problem> {
        let detail = match (self.limit, self.nearest) {
            (Some(0), _) | (_, Some(0)) => "limit, nearest and count are at least 1",
            (Some(_), Some(_)) => "limit and nearest cannot be combined",
            _ => return Ok(self),
        };
        Err(Problem::bad("bad-parameter", detail))
    }
}

fn number<T: std::str::FromStr>(name: &str, value: &str) -> Result<T, Problem> {
    let digits = !value.is_empty() && value.bytes().all(|b| b.is_ascii_digit());
    match value.parse() {
        Ok(number) if digits => Ok(number),
        _ => {
            let detail = format!("{name}={} is not a number in range", shown(value));
            Err(Problem::bad("bad-parameter", detail))
        }
    }
}

/// Quotes, escapes and shortens a value for an error message.
pub(crate) fn shown(value: &str) -> String {
    match value.char_indices().nth(SHOWN_LEN) {
        Some((end, _)) => format!("{:?}…", &value[..end]),
        None => format!("{value:?}"),
    }
}

/// Decodes the percent-encoding of an address; in a query, `+` is a space.
///
/// # Errors
/// An invalid escape, or invalid UTF-8.
pub fn decode(text: &str, is_query: bool) -> Result<Cow<'_, str>, Problem> {
    if !text.contains(['%', '+']) {
        return Ok(Cow::Borrowed(text));
    }
    let wrong = |what| Problem::bad("bad-encoding", format!("{} {what}", shown(text)));
    let plain = match is_query {
        true => text.replace('+', " "),
        false => text.to_owned(),
    };
    let mut parts = plain.split('%').map(str::as_bytes);
    let mut bytes = parts.next().unwrap_or_default().to_vec();
    for part in parts {
        let Some((&[high, low], rest)) = part.split_first_chunk() else {
            return Err(wrong("ends within an escape"));
        };
        let digit = |digit: u8| char::from(digit).to_digit(16);
        match (digit(high), digit(low)) {
            (Some(high), Some(low)) => bytes.push((high << 4 | low) as u8),
            _ => return Err(wrong("has an invalid escape")),
        }
        bytes.extend_from_slice(rest);
    }
    let text = String::from_utf8(bytes).map_err(|_| wrong("is not UTF-8"))?;
    Ok(Cow::Owned(text))
}

/// Parses a fingerprint.
///
/// # Errors
/// The text is not a hexadecimal number, or it does not fit the width.
pub fn fingerprint(width: Width, text: &str) -> Result<u128, Problem> {
    let wrong = || Problem::bad("bad-fingerprint", no_fingerprint(width, text));
    width.parse_hex(text).ok_or_else(wrong)
}

fn no_fingerprint(width: Width, text: &str) -> String {
    let text = shown(text);
    format!("{text} is not a hexadecimal number of at most {width} bits")
}

/// A query of a batch.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum What {
    /// A fingerprint, in the low bits.
    Fingerprint(u128),
    /// A text, to be fingerprinted by the pipeline of the index.
    Text(String),
}

/// A document: an id, and a text or its fingerprint.
#[derive(Deserialize)]
#[serde(deny_unknown_fields, expecting = "an object")]
struct DocumentBody {
    id: String,
    text: Option<String>,
    fingerprint: Option<String>,
}

/// Parses a document to add: an object with `id` and either `text` or `fingerprint`.
///
/// # Errors
/// An invalid object, or an id that is empty or too long.
pub fn document(width: Width, bytes: &[u8]) -> Result<(String, What), Problem> {
    let body: DocumentBody = object(bytes)?;
    if !(1..=ID_LEN).contains(&body.id.len()) {
        let detail = format!(
            "an id has 1 to {ID_LEN} bytes, so that an address can name it; this one has {}",
            body.id.len()
        );
        return Err(Problem::bad("bad-id", detail));
    }
    let what = match (body.fingerprint, body.text) {
        (Some(hex), None) => What::Fingerprint(fingerprint(width, &hex)?),
        (None, Some(text)) => What::Text(text),
        _ => {
            let detail = "a document has either text or fingerprint";
            return Err(Problem::bad("bad-request", detail));
        }
    };
    Ok((body.id, what))
}

/// A fingerprint as a hexadecimal JSON string.
#[derive(Deserialize)]
#[serde(try_from = "String", bound = "F: Fingerprint")]
struct Hex<F>(F);

impl<F: Fingerprint> Hex<F> {
    fn into_query(self) -> What {
        What::Fingerprint(self.0.to_u128())
    }
}

impl<F: Fingerprint> TryFrom<String> for Hex<F> {
    type Error = String;

    fn try_from(text: String) -> Result<Self, String> {
        let parsed = F::parse_hex(&text).map(Hex);
        parsed.ok_or_else(|| no_fingerprint(Width::of::<F>(), &text))
    }
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields, expecting = "an object", bound = "F: Fingerprint")]
struct BatchBody<F> {
    fingerprints: Option<Vec<Hex<F>>>,
    texts: Option<Vec<String>>,
    k: Option<u32>,
    limit: Option<usize>,
    nearest: Option<usize>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields, expecting = "an object", bound = "F: Fingerprint")]
struct LineBody<F> {
    fingerprint: Option<Hex<F>>,
    text: Option<String>,
    k: Option<u32>,
    limit: Option<usize>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields, expecting = "an object")]
struct TextBody {
    text: String,
    k: Option<u32>,
    limit: Option<usize>,
    nearest: Option<usize>,
}

/// Parses an object.
fn object<'b, T: Deserialize<'b>>(bytes: &'b [u8]) -> Result<T, Problem> {
    if bytes.trim_ascii_start().first() == Some(&b'[') {
        // An array would be accepted, as the fields of the object in their order.
        let detail = "an object is expected here, not an array";
        return Err(Problem::bad("bad-request", detail));
    }
    serde_json::from_slice(bytes).map_err(|error| bad_json(&error))
}

/// The beginnings of errors that name a Rust type, and their replacements with the JSON type.
const STARTS: [(&str, &str); 2] = [
    ("invalid type: map,", "invalid type: object,"),
    ("invalid type: sequence,", "invalid type: array,"),
];

/// The ends of errors that name the expected Rust type, and their replacements. Words of the client stand between
/// beginning and end.
const ENDS: [(&str, &str); 3] = [
    (", expected u32", ", expected a whole number"),
    (", expected usize", ", expected a whole number"),
    (", expected a sequence", ", expected an array"),
];

/// Largest number of bytes of a JSON error, which may repeat an invalid value.
const ERROR_LEN: usize = 300;

fn bad_json(error: &serde_json::Error) -> Problem {
    let text = error.to_string();
    let kind = match error.classify() {
        // Only the error of a fingerprint begins with what it quotes.
        serde_json::error::Category::Data if text.starts_with('"') => "bad-fingerprint",
        serde_json::error::Category::Data => "bad-request",
        _ => "bad-json",
    };
    let (line, column) = (error.line(), error.column());
    let place = format!(" at line {line} column {column}");
    let mut detail = text.strip_suffix(&place).unwrap_or(&text).to_owned();
    let place = match line {
        // The whole value is meant.
        0 => String::new(),
        // Of lines, the problem has the number in the body.
        1 => format!(" at column {column}"),
        _ => place,
    };
    for (theirs, ours) in STARTS {
        if let Some(rest) = detail.strip_prefix(theirs) {
            detail = format!("{ours}{rest}");
        }
    }
    for (theirs, ours) in ENDS {
        if let Some(rest) = detail.strip_suffix(theirs) {
            detail = format!("{rest}{ours}");
        }
    }
    if detail.len() > ERROR_LEN {
        detail.truncate(detail.floor_char_boundary(ERROR_LEN));
        detail.push('…');
    }
    Problem::bad(kind, detail + &place)
}

/// Parses the body of a batch: an object with `fingerprints` or `texts`, and optionally `k`, `limit` or `nearest` for
/// all of them.
///
/// # Errors
/// An invalid object, or more than `max_batch` queries.
pub fn batch(width: Width, body: &[u8], max_batch: usize) -> Result<(Vec<What>, Params), Problem> {
    match width {
        Width::W32 => batch_of::<u32>(body, max_batch),
        Width::W64 => batch_of::<u64>(body, max_batch),
        Width::W128 => batch_of::<u128>(body, max_batch),
    }
}

fn batch_of<F: Fingerprint>(body: &[u8], max_batch: usize) -> Result<(Vec<What>, Params), Problem> {
    let body: BatchBody<F> = object(body)?;
    let queries: Vec<What> = match (body.fingerprints, body.texts) {
        (Some(fingerprints), None) => {
            check_batch(fingerprints.len(), max_batch)?;
            fingerprints.into_iter().map(Hex::into_query).collect()
        }
        (None, Some(texts)) => {
            check_batch(texts.len(), max_batch)?;
            texts.into_iter().map(What::Text).collect()
        }
        _ => {
            let detail = "a batch is an object with either fingerprints or texts, an array";
            return Err(Problem::bad("bad-request", detail));
        }
    };
    Ok((queries, Params::of_body(body.k, body.limit, body.nearest)?))
}

pub(crate) fn check_batch(count: usize, max_batch: usize) -> Result<(), Problem> {
    match count > max_batch {
        true => Err(Problem::too_large(format!(
            "the limit of a batch is {max_batch} queries or documents"
        ))),
        false => Ok(()),
    }
}

/// Parses a line of a batch: a fingerprint as a string, or an object with `fingerprint` or `text`, and optionally `k`
/// and `limit`.
///
/// # Errors
/// An invalid line.
pub fn line(width: Width, line: &[u8]) -> Result<(What, Params), Problem> {
    match width {
        Width::W32 => line_of::<u32>(line),
        Width::W64 => line_of::<u64>(line),
        Width::W128 => line_of::<u128>(line),
    }
}

fn line_of<F: Fingerprint>(line: &[u8]) -> Result<(What, Params), Problem> {
    if line.trim_ascii_start().first() == Some(&b'"') {
        let hex: Hex<F> = serde_json::from_slice(line).map_err(|error| bad_json(&error))?;
        return Ok((hex.into_query(), Params::default()));
    }
    let body: LineBody<F> = object(line)?;
    let query = match (body.fingerprint, body.text) {
        (Some(hex), None) => hex.into_query(),
        (None, Some(text)) => What::Text(text),
        _ => {
            let detail = "a line is an object with either fingerprint or text";
            return Err(Problem::bad("bad-request", detail));
        }
    };
    Ok((query, Params::of_body(body.k, body.limit, None)?))
}

/// Returns the lines of a body that are not blank, with their numbers from 1.
pub fn lines(body: &[u8]) -> impl Iterator<Item = (u64, &[u8])> {
    let numbered = (1..).zip(body.split(|&byte| byte == b'\n'));
    numbered.filter(|(_, line)| !line.trim_ascii().is_empty())
}

/// Parses a body of little-endian words.
///
/// # Errors
/// A length that is not a multiple of the size of a word, or more than `max_batch` words.
pub fn words(width: Width, body: &[u8], max_batch: usize) -> Result<Vec<u128>, Problem> {
    let (len, word_len) = (body.len(), width.bytes());
    if len % word_len != 0 {
        let detail =
            format!("{len} bytes are not a whole number of fingerprints of {word_len} bytes");
        return Err(Problem::bad("bad-length", detail));
    }
    check_batch(len / word_len, max_batch)?;
    let words = body.chunks_exact(word_len).map(|word| {
        let mut bytes = [0; 16];
        bytes[..word_len].copy_from_slice(word);
        u128::from_le_bytes(bytes)
    });
    Ok(words.collect())
}

/// Parses the body of a text: the text itself or, as JSON, an object with `text`.
///
/// # Errors
/// Invalid UTF-8, or an invalid object.
pub fn text(body: &[u8], is_json: bool) -> Result<(Cow<'_, str>, Params), Problem> {
    if is_json {
        let body: TextBody = object(body)?;
        let params = Params::of_body(body.k, body.limit, body.nearest)?;
        return Ok((Cow::Owned(body.text), params));
    }
    match std::str::from_utf8(body) {
        Ok(text) => Ok((Cow::Borrowed(text), Params::default())),
        Err(error) => {
            let detail = format!("the text is not UTF-8 from byte {} on", error.valid_up_to());
            Err(Problem::bad("bad-encoding", detail))
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn escapes_are_undone_once() {
        assert_eq!(decode("a%2Fb%252F+", false).unwrap(), "a/b%2F+");
        assert_eq!(decode("a+b", true).unwrap(), "a b");
        for bad in ["%", "%4", "%zz", "%ff", "%+1"] {
            assert_eq!(
                decode(bad, false).unwrap_err().kind(),
                "bad-encoding",
                "{bad}"
            );
        }
    }

    #[test]
    fn parameters_are_known_single_and_numbers() {
        let allowed = ["k", "limit", "nearest", "index"];
        let params = Params::parse(Some("k=4&limit=10&index=a%20b&"), &allowed).unwrap();
        assert_eq!((params.k, params.limit), (Some(4), Some(10)));
        assert_eq!(params.index.as_deref(), Some("a b"));
        let long = format!("k={}", "9".repeat(5000));
        for bad in [
            "k",
            "k=",
            "k=-1",
            "k=+1",
            "k=1&k=1",
            "limit=0",
            "x=1",
            "limit=1&nearest=1",
            &long,
            "k=18446744073709551616",
            "k=3;limit=1",
        ] {
            let problem = Params::parse(Some(bad), &allowed).unwrap_err();
            assert_eq!(problem.kind(), "bad-parameter", "{bad}");
            assert!(problem.detail().len() < 300);
        }
    }

    #[test]
    fn bodies_are_one_thing_or_the_other() {
        let good = batch(Width::W64, br#"{"fingerprints":["ff","0x1"],"k":2}"#, 2).unwrap();
        assert_eq!(good.0, [What::Fingerprint(255), What::Fingerprint(1)]);
        assert_eq!(good.1.k, Some(2));
        for (bad, kind) in [
            (&b"{"[..], "bad-json"),
            (b"\xff", "bad-json"),
            (b"[]", "bad-request"),
            (br#" [["ff"],null,2,null,null]"#, "bad-request"),
            (b"{}", "bad-request"),
            (br#"{"fingerprints":[255]}"#, "bad-request"),
            (
                br#"{"fingerprints":["10000000000000000"]}"#,
                "bad-fingerprint",
            ),
            (br#"{"fingerprints":["1"],"texts":["a"]}"#, "bad-request"),
            (br#"{"fingerprints":["1"],"k":-1}"#, "bad-request"),
            (
                br#"{"fingerprints":["1"],"fingerprints":["1"]}"#,
                "bad-request",
            ),
            (br#"{"fingerprints":["1"],"surprise":1}"#, "bad-request"),
            (br#"{"fingerprints":["1"],"limit":0}"#, "bad-parameter"),
            (br#"{"fingerprints":["1","2","3"]}"#, "too-large"),
        ] {
            assert_eq!(
                batch(Width::W64, bad, 2).unwrap_err().kind(),
                kind,
                "{bad:?}"
            );
        }
    }

    #[test]
    fn an_array_is_no_object_and_errors_speak_of_json() {
        let detail = |found: Result<(Vec<What>, Params), Problem>| {
            let problem = found.unwrap_err();
            problem.detail().to_owned()
        };
        for (bad, said) in [
            (r#"[["ff"],null,2,null,null]"#, "an object is expected"),
            (
                "5",
                "invalid type: integer `5`, expected an object at column ",
            ),
            ("null", "invalid type: null, expected an object at column "),
            (
                r#"{"fingerprints":["1"],"k":-1}"#,
                "integer `-1`, expected a whole number at column ",
            ),
            (
                r#"{"fingerprints":["1"],"limit":"2"}"#,
                "string \"2\", expected a whole number at column ",
            ),
            (
                r#"{"fingerprints":{"a":1}}"#,
                "invalid type: object, expected an array at column ",
            ),
            // Words of the client remain unchanged.
            (
                r#"{"limit":"invalid type: map, expected u32"}"#,
                r#"string "invalid type: map, expected u32", expected a whole number at column "#,
            ),
            (
                "{\"limit\":1,\n\"k\":-1}",
                "integer `-1`, expected a whole number at line 2 column ",
            ),
            (
                r#"{"expected a sequence":1}"#,
                "unknown field `expected a sequence`, expected one of",
            ),
        ] {
            let detail = detail(batch(Width::W64, bad.as_bytes(), 2));
            assert!(detail.contains(said), "{bad}: {detail}");
        }
        let long = format!(r#"{{"k":"{}"}}"#, "é".repeat(5000));
        let detail = detail(batch(Width::W64, long.as_bytes(), 2));
        assert!(
            detail.len() < 400 && detail.ends_with("… at column 10007"),
            "{detail}"
        );
        assert!(document(Width::W64, br#"["zz2",null,"ff"]"#).is_err());
        assert!(line(Width::W64, br#"["ff"]"#).is_err());
        let alone = line(Width::W64, b"\"zz\"").unwrap_err();
        assert_eq!(
            (alone.kind(), alone.detail()),
            (
                "bad-fingerprint",
                "\"zz\" is not a hexadecimal number of at most 64 bits"
            )
        );
        assert!(text(br#"["a"]"#, true).is_err());
        let none = Params::parse(Some("index=a"), &[]).unwrap_err();
        assert_eq!(
            none.detail(),
            "unknown parameter \"index\"; this address takes none"
        );
        let other = |allowed: &[&str]| Params::parse(Some("a=1"), allowed).unwrap_err();
        let refusals = [&["k"][..], &["k", "limit", "index"]]
            .map(|allowed| other(allowed).detail().to_owned());
        assert_eq!(
            refusals,
            [
                "unknown parameter \"a\"; use k",
                "unknown parameter \"a\"; use k, limit or index"
            ]
        );
    }

    #[test]
    fn words_are_whole() {
        assert_eq!(
            words(Width::W32, &[1, 0, 0, 0, 0, 0, 0, 1], 2).unwrap(),
            [1, 1 << 24]
        );
        assert_eq!(
            words(Width::W64, &[0; 12], 9).unwrap_err().kind(),
            "bad-length"
        );
        assert_eq!(
            words(Width::W64, &[0; 32], 3).unwrap_err().kind(),
            "too-large"
        );
    }
}
