//! The text of HTML, by a tokeniser of the WHATWG rules.

use html5gum::emitters::callback::{Callback, CallbackEmitter, CallbackEvent};
use html5gum::{Span, State, Tokenizer, naive_next_state};

/// Whether a document begins as HTML does, after white space, comments and an XML declaration.
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
        // `<header>` is no `<head>`.
        let next = rest.as_bytes().get(start.len());
        is_start && !next.is_some_and(u8::is_ascii_alphanumeric)
    })
}

/// Appends the text of an HTML document to `out`: entities decoded, without comments, scripts, style sheets and
/// navigation, with an end of line where a block begins or ends. Linear in the length.
pub(super) fn append_text(document: &str, out: &mut String) {
    let emitter = CallbackEmitter::<_, State>::new(TextCollector {
        out,
        attribute: Attribute::Other,
        tag: Vec::new(),
        foreign: 0,
        skipped: None,
    });
    let mut tokenizer = Tokenizer::new_with_emitter(document, emitter);
    // A string can always be read.
    while let Some(Ok(state)) = tokenizer.next() {
        tokenizer.set_state(state);
    }
}

/// What is known of the attribute whose value comes next.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Attribute {
    Role,
    Other,
}

/// Takes the events of a tokeniser in.
#[derive(Debug)]
struct TextCollector<'o> {
    out: &'o mut String,
    attribute: Attribute,
    /// The name of the start tag that is being read.
    tag: Vec<u8>,
    /// Elements of other vocabularies that are open: in them no text is raw.
    foreign: usize,
    skipped: Option<Skipped>,
}

/// An element whose content is left out.
#[derive(Debug)]
struct Skipped {
    name: Vec<u8>,
    /// Elements of its name that are open, itself included.
    depth: usize,
}

/// What it returns is how to read on after a start tag whose content is read in another way.
impl Callback<State, ()> for TextCollector<'_> {
    fn handle_event(&mut self, event: CallbackEvent<'_>, _: Span<()>) -> Option<State> {
        match event {
            CallbackEvent::OpenStartTag { name } => self.open(name),
            CallbackEvent::AttributeName { name } => {
                self.attribute = match name {
                    b"role" => Attribute::Role,
                    _ => Attribute::Other,
                }
            }
            CallbackEvent::AttributeValue { value } => {
                let is_navigation = value.eq_ignore_ascii_case(b"navigation");
                if self.attribute == Attribute::Role && is_navigation {
                    self.skip();
                }
            }
            CallbackEvent::CloseStartTag { self_closing: true } if is_foreign(&self.tag) => {
                self.close(&self.tag.clone());
            }
            CallbackEvent::CloseStartTag { .. } if self.foreign == 0 => {
                return naive_next_state(&self.tag);
            }
            CallbackEvent::EndTag { name } => self.close(name),
            CallbackEvent::String { value } if self.skipped.is_none() => {
                self.out.push_str(&String::from_utf8_lossy(value));
            }
            _ => {}
        }
        None
    }
}

impl TextCollector<'_> {
    fn open(&mut self, name: &[u8]) {
        self.tag.clear();
        self.tag.extend_from_slice(name);
        self.attribute = Attribute::Other;
        self.foreign += usize::from(is_foreign(name));
        match &mut self.skipped {
            Some(skipped) if skipped.name == name => skipped.depth += 1,
            Some(_) => {}
            None => {
                self.break_line(name);
                if is_no_text(name) {
                    self.skip();
                }
            }
        }
    }

    /// Leaves out the element whose start tag is being read, unless one around it is left out already, or nobody could tell
    /// where it ends.
    fn skip(&mut self) {
        if self.skipped.is_none() && !is_void(&self.tag) && !has_optional_end(&self.tag) {
            self.skipped = Some(Skipped {
                name: self.tag.clone(),
                depth: 1,
            });
        }
    }

    fn close(&mut self, name: &[u8]) {
        self.foreign = self.foreign.saturating_sub(usize::from(is_foreign(name)));
        match &mut self.skipped {
            Some(skipped) if skipped.name == name => {
                skipped.depth -= 1;
                if skipped.depth == 0 {
                    self.skipped = None;
                }
            }
            Some(_) => {}
            None => self.break_line(name),
        }
    }

    /// Ends the line unless the element runs on within one.
    fn break_line(&mut self, name: &[u8]) {
        if !is_inline(name) && !self.out.is_empty() && !self.out.ends_with('\n') {
            self.out.push('\n');
        }
    }
}

/// Elements whose content is not for reading, and those of navigation.
fn is_no_text(name: &[u8]) -> bool {
    matches!(
        name,
        b"script" | b"style" | b"noscript" | b"template" | b"iframe" | b"object" | b"noembed"
    ) || matches!(name, b"svg" | b"math" | b"nav" | b"datalist" | b"select")
}

/// Elements of other vocabularies, which a slash may close.
fn is_foreign(name: &[u8]) -> bool {
    matches!(name, b"svg" | b"math")
}

/// Elements without content or end tag.
fn is_void(name: &[u8]) -> bool {
    matches!(
        name,
        b"area" | b"base" | b"br" | b"col" | b"embed" | b"hr" | b"img" | b"input" | b"link"
    ) || matches!(name, b"meta" | b"source" | b"track" | b"wbr")
}

/// Elements that may go without an end tag.
fn has_optional_end(name: &[u8]) -> bool {
    matches!(
        name,
        b"li" | b"p" | b"dt" | b"dd" | b"td" | b"th" | b"tr" | b"thead" | b"tbody" | b"tfoot"
    ) || matches!(name, b"option" | b"optgroup" | b"body" | b"html" | b"head")
}

/// Elements that do not end a line of text.
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
    use proptest::prelude::*;

    fn text(html: &str) -> String {
        let mut out = String::new();
        append_text(html, &mut out);
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
            html in r#"(<|>|/|!|-|"|'|=|&|;|#|x|nav|script|svg|div|role|navigation|é|\PC){0,60}"#
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
