//! Extracts the text of HTML with a tokenizer that follows the WHATWG rules.

use html5gum::{Emitter, State, Tokenizer, naive_next_state};

/// Whether a document begins like HTML, after white space, comments and an XML declaration.
pub(super) fn looks_like_html(document: &str) -> bool {
    let mut rest = document.trim_start_matches('\u{feff}').trim_start();
    loop {
        let end = match rest {
            _ if rest.starts_with("<!--") => "-->",
            _ if rest.starts_with("<?xml") => "?>",
            _ => break,
        };
        match rest.split_once(end) {
            Some((_, after)) => rest = after.trim_start(),
            None => return false,
        }
    }
    let starts = ["<!doctype html", "<html", "<head", "<body"];
    starts.iter().any(|start| {
        let found = rest.as_bytes().get(..start.len());
        let is_start = found.is_some_and(|found| found.eq_ignore_ascii_case(start.as_bytes()));
        // `<header>` must not match `<head>`.
        let next = rest.as_bytes().get(start.len());
        is_start && !next.is_some_and(u8::is_ascii_alphanumeric)
    })
}

/// Appends the text of an HTML document to `out`. Entities are decoded; comments, scripts, style sheets and navigation
/// are dropped. Each block begins and ends a line. The time is linear in the length.
pub(super) fn append_text(document: &str, out: &mut String) {
    let emitter = TextEmitter {
        text: std::mem::take(out).into_bytes(),
        ..TextEmitter::default()
    };
    let mut tokenizer = Tokenizer::new_with_emitter(document, emitter);
    // The emitter returns the text as the only token, at the end. Reading a string cannot fail.
    let text = tokenizer.next().and_then(Result::ok).unwrap_or_default();
    *out = String::from_utf8(text)
        .unwrap_or_else(|error| String::from_utf8_lossy(error.as_bytes()).into_owned());
}

/// A receiver of tokens that keeps only the text. It ignores errors, comments, and all attributes except roles.
#[derive(Debug, Default)]
struct TextEmitter {
    /// The text so far, in UTF-8.
    text: Vec<u8>,
    is_at_end: bool,
    tag: Tag,
    /// The name of the last start tag, whose end tag ends raw text.
    last_start_tag: Vec<u8>,
    /// Number of open foreign elements (SVG and MathML), which contain no raw text.
    foreign: usize,
    skipped: Option<Skipped>,
}

/// The current tag.
#[derive(Debug, Default)]
struct Tag {
    name: Vec<u8>,
    is_end: bool,
    is_self_closing: bool,
    /// The name of the current attribute, and its value if it is a role.
    attribute: Vec<u8>,
    value: Vec<u8>,
    /// Whether the element has a role already; only the first one counts.
    has_role: bool,
    is_navigation: bool,
}

impl Tag {
    fn restart(&mut self, is_end: bool) {
        self.name.clear();
        self.attribute.clear();
        self.value.clear();
        self.is_end = is_end;
        self.is_self_closing = false;
        self.has_role = false;
        self.is_navigation = false;
    }

    fn is_role(&self) -> bool {
        self.attribute == b"role"
    }

    fn end_attribute(&mut self) {
        if self.is_role() && !self.has_role {
            self.has_role = true;
            self.is_navigation = self.value.eq_ignore_ascii_case(b"navigation");
        }
        self.attribute.clear();
        self.value.clear();
    }
}

/// An element whose content is skipped.
#[derive(Debug)]
struct Skipped {
    name: Vec<u8>,
    /// Number of open elements with its name, itself included.
    depth: usize,
}

impl TextEmitter {
    /// Handles a complete start tag. Returns the tokenizer state for its content, if it differs from the usual one.
    fn open(&mut self) -> Option<State> {
        let is_foreign = is_foreign(&self.tag.name);
        self.foreign += usize::from(is_foreign);
        match &mut self.skipped {
            Some(skipped) if skipped.name == self.tag.name => skipped.depth += 1,
            Some(_) => {}
            None => {
                self.break_line();
                if is_no_text(&self.tag.name) || self.tag.is_navigation {
                    self.skip();
                }
            }
        }
        if is_foreign && self.tag.is_self_closing {
            self.close();
        }
        match self.foreign {
            0 => naive_next_state(&self.tag.name),
            _ => None,
        }
    }

    /// Skips the element whose start tag was just read, unless its end would be ambiguous.
    fn skip(&mut self) {
        let name = &self.tag.name;
        if !is_void(name) && !has_optional_end(name) {
            self.skipped = Some(Skipped {
                name: name.clone(),
                depth: 1,
            });
        }
    }

    /// Handles an end tag.
    fn close(&mut self) {
        let is_foreign = is_foreign(&self.tag.name);
        self.foreign = self.foreign.saturating_sub(usize::from(is_foreign));
        match &mut self.skipped {
            Some(skipped) if skipped.name == self.tag.name => {
                skipped.depth -= 1;
                if skipped.depth == 0 {
                    self.skipped = None;
                }
            }
            Some(_) => {}
            None => self.break_line(),
        }
    }

    /// Ends the line, unless the element is inline.
    fn break_line(&mut self) {
        let is_open = self.text.last().is_some_and(|&last| last != b'\n');
        if is_open && !is_inline(&self.tag.name) {
            self.text.push(b'\n');
        }
    }
}

impl Emitter for TextEmitter {
    type Token = Vec<u8>;

    fn emit_string(&mut self, text: &[u8]) {
        if self.skipped.is_none() {
            self.text.extend_from_slice(text);
        }
    }

    fn init_start_tag(&mut self) {
        self.tag.restart(false);
    }

    fn init_end_tag(&mut self) {
        self.tag.restart(true);
    }

    fn push_tag_name(&mut self, name: &[u8]) {
        self.tag.name.extend_from_slice(name);
    }

    fn set_self_closing(&mut self) {
        self.tag.is_self_closing = true;
    }

    fn init_attribute(&mut self) {
        self.tag.end_attribute();
    }

    fn push_attribute_name(&mut self, name: &[u8]) {
        self.tag.attribute.extend_from_slice(name);
    }

    fn push_attribute_value(&mut self, value: &[u8]) {
        if self.tag.is_role() {
            self.tag.value.extend_from_slice(value);
        }
    }

    fn emit_current_tag(&mut self) -> Option<State> {
        self.tag.end_attribute();
        self.last_start_tag.clear();
        if self.tag.is_end {
            self.close();
            return None;
        }
        self.last_start_tag.extend_from_slice(&self.tag.name);
        self.open()
    }

    fn current_is_appropriate_end_tag_token(&mut self) -> bool {
        self.tag.is_end && !self.tag.name.is_empty() && self.tag.name == self.last_start_tag
    }

    fn set_last_start_tag(&mut self, name: Option<&[u8]>) {
        self.last_start_tag = name.unwrap_or_default().to_vec();
    }

    fn emit_eof(&mut self) {
        self.is_at_end = true;
    }

    fn pop_token(&mut self) -> Option<Vec<u8>> {
        std::mem::take(&mut self.is_at_end).then(|| std::mem::take(&mut self.text))
    }

    #[inline]
    fn should_emit_errors(&mut self) -> bool {
        false
    }

    fn emit_error(&mut self, _: html5gum::Error) {}
    fn init_comment(&mut self) {}
    fn push_comment(&mut self, _: &[u8]) {}
    fn emit_current_comment(&mut self) {}
    fn init_doctype(&mut self) {}
    fn push_doctype_name(&mut self, _: &[u8]) {}
    fn set_doctype_public_identifier(&mut self, _: &[u8]) {}
    fn push_doctype_public_identifier(&mut self, _: &[u8]) {}
    fn set_doctype_system_identifier(&mut self, _: &[u8]) {}
    fn push_doctype_system_identifier(&mut self, _: &[u8]) {}
    fn set_force_quirks(&mut self) {}
    fn emit_current_doctype(&mut self) {}
}

/// Whether an element contains no readable text, or is navigation.
fn is_no_text(name: &[u8]) -> bool {
    matches!(
        name,
        b"script" | b"style" | b"noscript" | b"template" | b"iframe" | b"object" | b"noembed"
    ) || matches!(name, b"svg" | b"math" | b"nav" | b"datalist" | b"select")
}

/// Whether an element is foreign (SVG or MathML), so that a slash may close it.
fn is_foreign(name: &[u8]) -> bool {
    matches!(name, b"svg" | b"math")
}

/// Whether an element has neither content nor an end tag.
fn is_void(name: &[u8]) -> bool {
    matches!(
        name,
        b"area" | b"base" | b"br" | b"col" | b"embed" | b"hr" | b"img" | b"input" | b"link"
    ) || matches!(name, b"meta" | b"source" | b"track" | b"wbr")
}

/// Whether the end tag of an element is optional.
fn has_optional_end(name: &[u8]) -> bool {
    matches!(
        name,
        b"li" | b"p" | b"dt" | b"dd" | b"td" | b"th" | b"tr" | b"thead" | b"tbody" | b"tfoot"
    ) || matches!(name, b"option" | b"optgroup" | b"body" | b"html" | b"head")
}

/// Whether an element does not end a line of text.
fn is_inline(name: &[u8]) -> bool {
    matches!(
        name,
        b"a" | b"abbr" | b"acronym" | b"b" | b"bdi" | b"bdo" | b"big" | b"cite" | b"code"
    ) || matches!(
        name,
        b"data" | b"del" | b"dfn" | b"em" | b"font" | b"i" | b"ins" | b"kbd" | b"mark"
    ) || matches!(
        name,
        b"q" | b"rb" | b"rp" | b"rt" | b"ruby" | b"s" | b"samp" | b"small" | b"span"
    ) || matches!(
        name,
        b"strike" | b"strong" | b"sub" | b"sup" | b"time" | b"tt" | b"u" | b"var" | b"wbr" | b"img"
    )
}

#[cfg(test)]
mod tests {
    use super::*;
    use html5gum::Token;
    use proptest::prelude::*;

    /// Extracts the text from the tokens of the library's own emitter.
    fn by_tokens(html: &str) -> String {
        let mut emitter = TextEmitter::default();
        let mut tokenizer = Tokenizer::new(html);
        while let Some(Ok(token)) = tokenizer.next() {
            match token {
                Token::StartTag(tag) => {
                    emitter.tag.restart(false);
                    emitter.tag.name = tag.name.0;
                    emitter.tag.is_self_closing = tag.self_closing;
                    let role = tag.attributes.get(b"role".as_slice());
                    emitter.tag.is_navigation =
                        role.is_some_and(|role| role.eq_ignore_ascii_case(b"navigation"));
                    if let Some(state) = emitter.open() {
                        tokenizer.set_state(state);
                    }
                }
                Token::EndTag(tag) => {
                    emitter.tag.restart(true);
                    emitter.tag.name = tag.name.0;
                    emitter.close();
                }
                Token::String(text) => emitter.emit_string(&text),
                Token::Comment(_) | Token::Doctype(_) | Token::Error(_) => {}
            }
        }
        String::from_utf8_lossy(&emitter.text).into_owned()
    }

    fn text(html: &str) -> String {
        let mut out = String::new();
        append_text(html, &mut out);
        assert_eq!(out, by_tokens(html), "{html:?}");
        let lines = out.lines().map(str::trim).filter(|line| !line.is_empty());
        lines.collect::<Vec<_>>().join("|")
    }

    #[test]
    fn blocks_are_lines_and_inline_elements_run_on() {
        let page = "<!doctype html><html><head><title>T &amp; U</title></head><body><p>One <b>t</b>wo\
            <br>three<div>four</div>five<ul><li>six<li>seven</ul>";
        assert_eq!(text(page), "T & U|One two|three|four|five|six|seven");
    }

    #[test]
    fn what_is_not_for_reading_goes() {
        let page = "a<script>if (x < 1) '</p>';</script><style>p{}</style><!-- no --><noscript>b</noscript>\
            <nav>menu<nav>deeper</nav>still</nav>c<div role=Navigation><div>d</div>e</div>f<svg><text>g</text></svg>\
            h<svg/>i<select><option>j</select>";
        assert_eq!(text(page), "a|c|f|h|i");
    }

    #[test]
    fn nothing_after_an_element_that_is_left_out_is_lost() {
        assert_eq!(text("a<svg><title/><style/><path/></svg>b"), "a|b");
        assert_eq!(
            text("a<nav><svg><title/></svg></nav>b<title>c</title>d"),
            "a|b|c|d"
        );
        assert_eq!(
            text("<ul><li role=navigation>one<li>two</ul><p>three"),
            "one|two|three"
        );
        assert_eq!(
            text("a<textarea><b>c</textarea>d<xmp><p></xmp>e"),
            "a|<b>c|d|<p>|e"
        );
    }

    #[test]
    fn only_the_role_of_a_start_tag_counts() {
        assert_eq!(text("<div>a</div role=navigation>b"), "a|b");
        assert_eq!(text("<b role=navigation role=x>a</b>c"), "c");
        assert_eq!(text("<b role=x role=navigation>a</b>c"), "ac");
        assert_eq!(text("<b title=role role='navig&#97;tion'>a</b>c"), "c");
    }

    #[test]
    fn entities_are_decoded() {
        assert_eq!(
            text("&lt;p&gt; &eacute;&#20013;&#x6587; &nosuch; A&amp"),
            "<p> é中文 &nosuch; A&"
        );
    }

    #[test]
    fn broken_markup_is_read_as_browsers_do() {
        assert_eq!(text("<p title='<b>'>one<p"), "one");
        assert_eq!(text("1 < 2 <3 </ <!x> three"), "1 < 2 <3  three");
        assert_eq!(text("<nav>never closed"), "");
    }

    #[test]
    fn html_is_told_by_its_beginning() {
        for page in [
            "<!DOCTYPE html>",
            "\u{feff} \n<!-- c --><?xml version='1.0'?><HTML lang=en>",
            "<head>",
            "<body class=x>",
        ] {
            assert!(looks_like_html(page), "{page}");
        }
        for other in [
            "",
            "html",
            "<header>",
            "<p>",
            "<!-- <html>",
            "a <html>",
            "<!doctype h",
        ] {
            assert!(!looks_like_html(other), "{other}");
        }
    }

    proptest! {
        #[test]
        fn no_text_makes_it_panic(
            html in r#"(<|>|</|/|!|-|"|'|=|&|;|#|x|nav|script|title|svg|div|role|navigation|<p role=|é|\PC){0,60}"#
        ) {
            looks_like_html(&html);
            text(&html);
        }

        #[test]
        fn text_without_markup_stays(plain in "[a-zé中 ,.]{0,60}") {
            let mut out = String::new();
            append_text(&plain, &mut out);
            prop_assert_eq!(out, plain);
        }
    }
}
