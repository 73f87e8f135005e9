//! Decodes whole texts by the encoding that they declare, or by a guess.

use chardetng::{EncodingDetector, Iso2022JpDetection, Utf8Detection};
use encoding_rs::{Encoding, UTF_8};

use super::TextEncoding;
use super::text_encoding::Choice;

/// Number of bytes at the start of a document that may declare its encoding.
const DECLARED_WITHIN: usize = 1024;

/// Number of bytes for a guess, from the first byte outside ASCII.
const GUESSED_FROM: usize = 64 << 10;

/// Number of valid characters outside ASCII for each invalid byte sequence above which a document counts as faulty
/// UTF-8.
const VALID_PER_FAULT: usize = 8;

/// A decoded text, as [`read_document`](crate::read_document) returns it.
///
/// ```
/// use simidx_input::{TextEncoding, read_document};
///
/// # let folder = tempfile::tempdir()?;
/// # let path = folder.path().join("a.txt");
/// std::fs::write(&path, b"\xc4\xe3\xba\xc3")?;
/// let decoded = read_document(&path, "GBK".parse::<TextEncoding>()?)?;
/// assert_eq!(decoded.text, "你好");
/// assert!(!decoded.has_faults);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Decoded {
    /// The text.
    pub text: String,
    /// Whether invalid bytes were replaced by U+FFFD.
    pub has_faults: bool,
}

impl Decoded {
    fn faultless(text: String) -> Self {
        Decoded {
            text,
            has_faults: false,
        }
    }
}

/// Decodes bytes to text.
///
/// `declared` is the encoding that came with the bytes, `chosen` the one that the user names. A byte order mark takes
/// precedence, then `chosen`, then valid UTF-8. Invalid bytes become U+FFFD.
pub(super) fn decode(
    bytes: Vec<u8>,
    declared: Option<&[u8]>,
    chosen: TextEncoding,
) -> Result<Decoded, String> {
    match chosen.named() {
        Some(encoding) => {
            let (text, _, has_faults) = encoding.decode(&bytes);
            let text = text.into_owned();
            check(Decoded { text, has_faults })
        }
        None => detect(bytes, declared),
    }
}

/// Decodes bytes to text if the user names no encoding.
fn detect(bytes: Vec<u8>, declared: Option<&[u8]>) -> Result<Decoded, String> {
    let marked = Encoding::for_bom(&bytes);
    if let Some((encoding, mark)) = marked.filter(|(encoding, _)| *encoding != UTF_8) {
        let (text, has_faults) = encoding.decode_without_bom_handling(&bytes[mark..]);
        let text = text.into_owned();
        return check(Decoded { text, has_faults });
    }
    let bytes = match String::from_utf8(bytes) {
        Ok(mut text) => {
            if text.starts_with('\u{feff}') {
                text.remove(0);
            }
            return check(Decoded::faultless(text));
        }
        Err(error) => error.into_bytes(),
    };
    // A guess would be useless, because none of the possible encodings has zero bytes.
    if bytes.contains(&0) {
        return Err(BINARY.into());
    }
    let (valid, faults) = utf8_counts(&bytes, true);
    let encoding = match marked.is_some() || valid >= faults * VALID_PER_FAULT {
        true => UTF_8,
        false => self::declared(&bytes, declared).unwrap_or_else(|| guess(&bytes, true)),
    };
    let (text, has_faults) = encoding.decode_with_bom_removal(&bytes);
    let text = text.into_owned();
    check(Decoded { text, has_faults })
}

/// Returns the encoding of a stream that begins with `head`, or is `head` if `is_whole` is set; `None` for UTF-8, even
/// if it is faulty.
pub(super) fn of_stream(
    head: &[u8],
    is_whole: bool,
    chosen: TextEncoding,
) -> Option<&'static Encoding> {
    match chosen.0 {
        Choice::Format => return None,
        Choice::Named(encoding) => return Some(encoding),
        Choice::Guess => {}
    }
    if let Some((encoding, _)) = Encoding::for_bom(head) {
        return Some(encoding).filter(|encoding| *encoding != UTF_8);
    }
    // Faulty UTF-8 is reported by line, but an incorrect guess would damage every line, so little evidence for UTF-8
    // suffices.
    let (valid, faults) = utf8_counts(head, is_whole);
    // None of the encodings that can be guessed has zero bytes.
    match faults == 0 || valid > faults || head.contains(&0) {
        true => None,
        false => Some(guess(head, is_whole)),
    }
}

/// The message for bytes that are not text.
const BINARY: &str = "holds binary data";

fn check(decoded: Decoded) -> Result<Decoded, String> {
    match decoded.text.contains('\0') {
        true => Err(BINARY.into()),
        false => Ok(decoded),
    }
}

/// Counts the evidence for and against UTF-8: characters outside ASCII, which are rarely valid by chance, and invalid
/// byte sequences. A character that the end of a partial text truncates is neither.
fn utf8_counts(bytes: &[u8], is_whole: bool) -> (usize, usize) {
    let (mut valid, mut faults, mut last) = (0, 0, &[][..]);
    for chunk in bytes.utf8_chunks() {
        valid += chunk.valid().chars().filter(|c| !c.is_ascii()).count();
        last = chunk.invalid();
        faults += usize::from(!last.is_empty());
    }
    // A chunk ends at a fault, so the last chunk of complete characters has none.
    let is_cut_off = std::str::from_utf8(last).is_err_and(|error| error.error_len().is_none());
    if !is_whole && is_cut_off {
        faults -= 1;
    }
    (valid, faults)
}

/// Returns the encoding that came with the bytes, or that they declare, if it is known. UTF-8 and UTF-16 are excluded,
/// because the bytes are known to be in neither.
fn declared(bytes: &[u8], declared: Option<&[u8]>) -> Option<&'static Encoding> {
    let head = &bytes[..bytes.len().min(DECLARED_WITHIN)];
    let labels = [declared, xml_label(head), meta_label(head)];
    let mut known = labels.into_iter().flatten().filter_map(Encoding::for_label);
    // Bytes without zeros are not UTF-16.
    known.find(|encoding| *encoding != UTF_8 && encoding.is_ascii_compatible())
}

/// Returns the encoding in `<?xml encoding="…"?>` at the start.
fn xml_label(head: &[u8]) -> Option<&[u8]> {
    let head = head.strip_prefix(b"<?xml")?;
    let end = find(head, b"?>")?;
    value_of(&head[..end], b"encoding")
}

/// Returns the encoding in the first `<meta>` with a `charset`.
fn meta_label(mut head: &[u8]) -> Option<&[u8]> {
    while let Some(start) = find(head, b"<meta") {
        head = &head[start + b"<meta".len()..];
        let end = find(head, b">").unwrap_or(head.len());
        if let Some(label) = value_of(&head[..end], b"charset") {
            return Some(label);
        }
    }
    None
}

/// Returns the value after a name and `=`, without quotation marks.
pub(super) fn value_of<'a>(text: &'a [u8], name: &[u8]) -> Option<&'a [u8]> {
    let rest = text[find(text, name)? + name.len()..].trim_ascii_start();
    let rest = rest.strip_prefix(b"=")?.trim_ascii_start();
    let rest = match rest.split_first() {
        Some((b'"' | b'\'', rest)) => rest,
        _ => rest,
    };
    let ends = |b: &u8| b.is_ascii_whitespace() || b"\"';,/>".contains(b);
    let value = &rest[..rest.iter().position(ends).unwrap_or(rest.len())];
    (!value.is_empty()).then_some(value)
}

/// Returns the first position of `word`, which is in lower case, ignoring case.
fn find(text: &[u8], word: &[u8]) -> Option<usize> {
    text.windows(word.len())
        .position(|window| window.eq_ignore_ascii_case(word))
}

/// Guesses the encoding of bytes. More bytes follow unless `is_whole` is set.
fn guess(bytes: &[u8], is_whole: bool) -> &'static Encoding {
    let start = bytes.iter().position(|b| !b.is_ascii()).unwrap_or(0);
    let looked_at = &bytes[start..bytes.len().min(start + GUESSED_FROM)];
    let mut detector = EncodingDetector::new(Iso2022JpDetection::Deny);
    let is_last = is_whole && start + looked_at.len() == bytes.len();
    detector.feed(looked_at, is_last);
    detector.guess(None, Utf8Detection::Deny)
}

#[cfg(test)]
mod tests {
    use super::*;
    use encoding_rs::{BIG5, EUC_KR, GB18030, GBK, SHIFT_JIS, WINDOWS_1251, WINDOWS_1252};
    use proptest::prelude::*;

    const SIMPLIFIED: &str = "近年来，网络上重复的网页越来越多。搜索引擎必须找出内容几乎相同的文档，\
                              否则用户会看到许多一样的结果。我们用指纹来比较这些文档，速度快而且准确。";
    const TRADITIONAL: &str = "近年來，網路上重複的網頁越來越多。搜尋引擎必須找出內容幾乎相同的文件，\
                               否則使用者會看到許多一樣的結果。我們用指紋來比較這些文件，速度快而且準確。";
    const JAPANESE: &str = "近年、ウェブ上には同じような文書がたくさんあります。検索エンジンは、\
                            ほとんど同じ内容の文書を見つけなければなりません。指紋を使って比べます。";
    const KOREAN: &str =
        "요즘 인터넷에는 거의 같은 문서가 많이 있습니다. 검색 엔진은 그런 문서를 찾아야 합니다.";
    const RUSSIAN: &str =
        "В сети много почти одинаковых документов. Поисковая система должна их находить.";
    const FRENCH: &str =
        "Le réseau contient beaucoup de documents presque identiques, créés à partir d’un modèle.";

    fn decode(bytes: Vec<u8>, declared: Option<&[u8]>) -> Result<String, String> {
        detect(bytes, declared).map(|decoded| decoded.text)
    }

    fn encode(encoding: &'static Encoding, text: &str) -> Vec<u8> {
        let (bytes, _, lossy) = encoding.encode(text);
        assert!(!lossy);
        bytes.into_owned()
    }

    #[test]
    fn encodings_are_guessed() {
        for (encoding, text) in [
            (GBK, SIMPLIFIED),
            (GB18030, SIMPLIFIED),
            (BIG5, TRADITIONAL),
            (SHIFT_JIS, JAPANESE),
            (EUC_KR, KOREAN),
            (WINDOWS_1251, RUSSIAN),
            (WINDOWS_1252, FRENCH),
            (UTF_8, TRADITIONAL),
        ] {
            let bytes = encode(encoding, text);
            assert_eq!(
                decode(bytes.clone(), None).unwrap(),
                text,
                "{}",
                encoding.name()
            );
            // ASCII text is not evidence, regardless of its length.
            let late = [&b"<html> ".repeat(20_000)[..], &bytes].concat();
            assert!(
                decode(late, None).unwrap().ends_with(text),
                "{}",
                encoding.name()
            );
        }
    }

    #[test]
    fn characters_of_four_bytes_are_decoded() {
        // A rare Chinese character, a letter and a symbol, which only GB18030 contains.
        let text = format!("{SIMPLIFIED}𠮷ñ😀{SIMPLIFIED}");
        let bytes = encode(GB18030, &text);
        assert!(
            bytes
                .windows(4)
                .any(|four| four == [0x95, 0x34, 0xb7, 0xfb] || four[1].is_ascii_digit())
        );
        assert_eq!(decode(bytes, None).unwrap(), text);
    }

    #[test]
    fn byte_order_marks_have_the_last_word() {
        for text in [SIMPLIFIED, "a", ""] {
            let little: Vec<u8> = text.encode_utf16().flat_map(u16::to_le_bytes).collect();
            let big: Vec<u8> = text.encode_utf16().flat_map(u16::to_be_bytes).collect();
            for bytes in [
                [b"\xff\xfe", &little[..]].concat(),
                [b"\xfe\xff", &big[..]].concat(),
                [b"\xef\xbb\xbf", text.as_bytes()].concat(),
            ] {
                assert_eq!(decode(bytes, Some(b"big5")).unwrap(), text);
            }
        }
    }

    #[test]
    fn what_is_declared_is_believed_unless_it_is_utf8() {
        // Too short for a guess.
        let word = encode(GBK, "中文");
        for head in [
            "<meta charset=gb2312>",
            "<META name=x><Meta CharSet = 'GBK' />",
            "<meta http-equiv=\"Content-Type\" content=\"text/html; charset=gb18030\">",
            "<?xml version=\"1.0\" encoding=\"GB2312\"?>",
            "<meta charset=\"utf-16\"><?xml encoding=\"utf-8\"?><meta charset=unknown><meta charset=gbk>",
        ] {
            let bytes = [head.as_bytes(), &word].concat();
            let text = decode(bytes, None).unwrap();
            let is_first = head.matches("charset").count() < 2;
            assert!(!is_first || text == format!("{head}中文"), "{text}");
        }
        let bytes = [b"<meta charset=big5>", &word[..]].concat();
        assert!(decode(bytes, Some(b"gbk")).unwrap().ends_with("中文"));
        let bytes = format!("<meta charset=gbk>{TRADITIONAL}").into_bytes();
        assert!(decode(bytes, Some(b"big5")).unwrap().ends_with(TRADITIONAL));
        let far = [
            &b" ".repeat(DECLARED_WITHIN)[..],
            b"<meta charset=big5>",
            &encode(GBK, SIMPLIFIED),
        ]
        .concat();
        assert!(decode(far, None).unwrap().ends_with(SIMPLIFIED));
    }

    #[test]
    fn faults_are_replaced() {
        let mut bytes = SIMPLIFIED.as_bytes().to_vec();
        bytes.pop();
        bytes.insert(0, 0xff);
        let text = decode(bytes, Some(b"gbk")).unwrap();
        assert!(
            text.starts_with("\u{fffd}近年来") && text.ends_with("准确\u{fffd}"),
            "{text}"
        );
        let bytes = [&encode(GBK, SIMPLIFIED)[..], b"\xff"].concat();
        let text = decode(bytes, Some(b"gbk")).unwrap();
        assert_eq!(text, format!("{SIMPLIFIED}\u{fffd}"));
    }

    #[test]
    fn faults_are_told() {
        let has_faults = |bytes: &[u8], chosen: TextEncoding| {
            let decoded = super::decode(bytes.to_vec(), None, chosen);
            decoded.unwrap().has_faults
        };
        let default = TextEncoding::default();
        let text = encode(GBK, SIMPLIFIED);
        assert!(!has_faults(&text, default));
        assert!(has_faults(&[&text[..], b"\xff"].concat(), default));
        assert!(has_faults(b"\xff\xfea\0b", default));
        assert!(!has_faults("\u{fffd}".as_bytes(), default));
        let big5 = "big5".parse().unwrap();
        assert!(!has_faults(&encode(BIG5, TRADITIONAL), big5));
        assert!(has_faults(b"\xff", big5));
    }

    #[test]
    fn what_the_user_says_is_believed() {
        let big5: TextEncoding = "big5".parse().unwrap();
        let decoded = |bytes: Vec<u8>| super::decode(bytes, Some(b"gbk"), big5);
        let text = decoded(encode(BIG5, TRADITIONAL)).unwrap().text;
        assert_eq!(text, TRADITIONAL);
        let marked = format!("\u{feff}{TRADITIONAL}").into_bytes();
        assert_eq!(decoded(marked).unwrap().text, TRADITIONAL);
        assert_eq!(decoded(b"a\0".to_vec()), Err(BINARY.into()));
        let bare: Vec<u8> = "中文".encode_utf16().flat_map(u16::to_le_bytes).collect();
        let utf16 = "utf-16le".parse().unwrap();
        assert_eq!(super::decode(bare, None, utf16).unwrap().text, "中文");
    }

    #[test]
    fn streams_are_told_by_their_beginnings() {
        let of = |head: &[u8], is_whole| of_stream(head, is_whole, TextEncoding::AUTO);
        let gbk = encode(GBK, SIMPLIFIED);
        assert_eq!(of(&gbk, true), Some(GBK));
        // A truncated character is not a fault.
        assert_eq!(of(&gbk[..gbk.len() - 1], false), Some(GBK));
        let utf8 = SIMPLIFIED.as_bytes();
        assert_eq!(of(&utf8[..utf8.len() - 1], false), None);
        assert_eq!(of(&"é".as_bytes()[..1], false), None);
        assert_ne!(of(&"é".as_bytes()[..1], true), None);
        for head in [&b""[..], b"ascii", b"\xff\0a\0", "\u{feff}a".as_bytes()] {
            assert_eq!(of(head, true), None, "{head:?}");
        }
        assert_eq!(of(b"\xfe\xff\0a", true), Some(encoding_rs::UTF_16BE));
        assert_eq!(of_stream(&gbk, true, TextEncoding::default()), None);
        let named = "utf8".parse().unwrap();
        assert_eq!(of_stream(&gbk, true, named), Some(UTF_8));
    }

    #[test]
    fn a_fault_among_few_characters_makes_no_stream_another() {
        let of = |head: &[u8], is_whole| of_stream(head, is_whole, TextEncoding::AUTO);
        let line = "{\"text\": \"nothing but ASCII\"}\n".repeat(300);
        let few = ["é", &line, "é", &line, "éé"].concat();
        let faulty = [few.as_bytes(), b"\xff", line.as_bytes()].concat();
        assert_eq!(of(&faulty, true), None);
        // A truncated character is not a fault, and does not hide one.
        let two = ["é".as_bytes(), &"é".as_bytes()[..1]].concat();
        assert_eq!(of(&two, false), None);
        assert_ne!(of(&two, true), None);
        let cut = [b"\xff".as_slice(), &two].concat();
        assert_ne!(of(&cut, false), None);
        let cut = ["é\u{e8}\n".as_bytes(), b"\xff", &two[2..]].concat();
        assert_eq!(of(&cut, false), None);
        // Texts in other encodings contain little evidence for UTF-8.
        for (encoding, text) in [
            (BIG5, TRADITIONAL),
            (SHIFT_JIS, JAPANESE),
            (EUC_KR, KOREAN),
            (WINDOWS_1251, RUSSIAN),
            (WINDOWS_1252, FRENCH),
            (encoding_rs::IBM866, RUSSIAN),
            (encoding_rs::KOI8_U, RUSSIAN),
            (encoding_rs::EUC_JP, JAPANESE),
        ] {
            let bytes = encode(encoding, text);
            assert_eq!(of(&bytes, true), Some(encoding));
            let first = bytes.iter().position(|b| !b.is_ascii()).unwrap();
            assert_ne!(of(&bytes[..first + 9], false), None, "{}", encoding.name());
        }
    }

    #[test]
    fn zero_bytes_are_no_text() {
        for bytes in [
            &b"a\0b"[..],
            b"\xff\0\x80",
            b"\xff\xfea\0\0\0",
            b"\x7fELF\x02\x01\x01\0\xff",
        ] {
            assert_eq!(
                decode(bytes.to_vec(), None),
                Err(BINARY.into()),
                "{bytes:?}"
            );
        }
        assert_eq!(decode(Vec::new(), None), Ok(String::new()));
    }

    proptest! {
        #[test]
        fn no_bytes_panic(
            head in "(<meta |<\\?xml |charset|encoding|=|\"|gbk|>|\\?>){0,8}",
            tail in prop::collection::vec(any::<u8>(), 0..100),
            declared in prop::option::of("[a-z0-9-]{0,8}"),
        ) {
            let bytes = [head.as_bytes(), &tail].concat();
            let text = decode(bytes.clone(), declared.as_ref().map(|name| name.as_bytes()));
            if let (Ok(valid), Ok(text)) = (std::str::from_utf8(&bytes), text) {
                prop_assert_eq!(valid.strip_prefix('\u{feff}').unwrap_or(valid), text);
            }
        }
    }
}
