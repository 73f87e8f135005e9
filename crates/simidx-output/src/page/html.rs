//! HTML in which every text is escaped on its way in.

use std::fmt::{self, Display, Write};

/// A piece of HTML. Markup is in the program; whatever else comes in is escaped.
#[derive(Debug, Default, Clone)]
pub struct Html(String);

impl Html {
    /// Nothing yet.
    pub fn new() -> Self {
        Html::default()
    }

    /// Text on one line.
    pub fn of(text: impl Display) -> Self {
        let mut html = Html::new();
        html.text(text);
        html
    }

    /// Adds markup of the program's own.
    pub fn markup(&mut self, markup: &'static str) -> &mut Self {
        self.0.push_str(markup);
        self
    }

    /// Adds text on one line: control characters, and those that change the direction of writing, are shown as escapes.
    pub fn text(&mut self, text: impl Display) -> &mut Self {
        self.escaped(text, |_| false)
    }

    /// Adds text of several lines: line ends and tabs stay.
    pub fn prose(&mut self, text: &str) -> &mut Self {
        self.escaped(text, |c| matches!(c, '\n' | '\t'))
    }

    /// Opens an element.
    pub fn open(&mut self, tag: &'static str, attributes: &[(&'static str, &str)]) -> &mut Self {
        self.0.push('<');
        self.0.push_str(tag);
        for (name, value) in attributes {
            self.0.push(' ');
            self.0.push_str(name);
            self.0.push_str("=\"");
            self.text(value);
            self.0.push('"');
        }
        self.0.push('>');
        self
    }

    /// Closes an element.
    pub fn close(&mut self, tag: &'static str) -> &mut Self {
        self.0.push_str("</");
        self.0.push_str(tag);
        self.0.push('>');
        self
    }

    /// Adds an element that holds a text on one line.
    pub fn element(
        &mut self,
        tag: &'static str,
        attributes: &[(&'static str, &str)],
        text: impl Display,
    ) -> &mut Self {
        self.open(tag, attributes).text(text).close(tag)
    }

    /// Adds a paragraph.
    pub fn paragraph(&mut self, text: impl Display) -> &mut Self {
        self.element("p", &[], text)
    }

    /// Adds another piece.
    pub fn append(&mut self, other: &Html) -> &mut Self {
        self.0.push_str(&other.0);
        self
    }

    /// Whether there is nothing.
    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// Number of bytes.
    pub fn len(&self) -> usize {
        self.0.len()
    }

    /// The HTML.
    pub fn as_str(&self) -> &str {
        &self.0
    }

    fn escaped(&mut self, text: impl Display, stays: fn(char) -> bool) -> &mut Self {
        let mut escape = Escape {
            out: &mut self.0,
            stays,
        };
        // A string takes everything.
        let _ = write!(escape, "{text}");
        self
    }
}

/// Escapes what is written to it.
struct Escape<'a> {
    out: &'a mut String,
    /// The control characters that stay.
    stays: fn(char) -> bool,
}

impl Write for Escape<'_> {
    fn write_str(&mut self, text: &str) -> fmt::Result {
        for c in text.chars() {
            match c {
                '&' => self.out.push_str("&amp;"),
                '<' => self.out.push_str("&lt;"),
                '>' => self.out.push_str("&gt;"),
                '"' => self.out.push_str("&quot;"),
                '\'' => self.out.push_str("&#39;"),
                c if is_unseen(c) && !(self.stays)(c) => self.out.extend(c.escape_unicode()),
                c => self.out.push(c),
            }
        }
        Ok(())
    }
}

/// Whether a character controls how others are shown, or may not stand in a page.
fn is_unseen(c: char) -> bool {
    c.is_control()
        || matches!(c,
            '\u{061c}' | '\u{200b}' | '\u{200e}' | '\u{200f}' | '\u{2028}'..='\u{202e}' | '\u{2066}'..='\u{2069}'
            | '\u{feff}' | '\u{fdd0}'..='\u{fdef}' | '\u{e0000}'..='\u{e007f}')
        || u32::from(c) & 0xfffe == 0xfffe
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn nothing_hostile_gets_through() {
        let mut html = Html::new();
        html.open("a", &[("title", "\"><script>'")])
            .text("<b>&\n\u{1b}[2J\u{202e}\u{ffff}");
        assert_eq!(
            html.as_str(),
            "<a title=\"&quot;&gt;&lt;script&gt;&#39;\">&lt;b&gt;&amp;\\u{a}\\u{1b}[2J\\u{202e}\\u{ffff}"
        );
    }

    #[test]
    fn prose_keeps_its_lines() {
        let mut html = Html::new();
        html.prose("a\tb\nc\rd\u{9b}é");
        assert_eq!(html.as_str(), "a\tb\nc\\u{d}d\\u{9b}é");
    }
}
