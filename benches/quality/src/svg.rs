//! A drawing in SVG: lines, areas, marks and text, in pixels.

use std::fmt::Write;

/// How text stands at its place.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Anchor {
    Start,
    Middle,
    End,
}

/// A drawing that grows.
#[derive(Debug)]
pub(super) struct Svg {
    body: String,
}

impl Svg {
    /// An empty drawing.
    pub(super) fn new() -> Self {
        Svg {
            body: String::new(),
        }
    }

    /// Text whose baseline is at `y`.
    pub(super) fn text(&mut self, (x, y): (f64, f64), anchor: Anchor, style: &str, text: &str) {
        let anchor = match anchor {
            Anchor::Start => "start",
            Anchor::Middle => "middle",
            Anchor::End => "end",
        };
        let text = escaped(text);
        self.push(format_args!(
            r#"<text x="{x:.1}" y="{y:.1}" text-anchor="{anchor}" {style}>{text}</text>"#
        ));
    }

    /// Text that runs upwards, around its middle.
    pub(super) fn upward_text(&mut self, (x, y): (f64, f64), text: &str) {
        let text = escaped(text);
        self.push(format_args!(
            r#"<text transform="translate({x:.1},{y:.1}) rotate(-90)" text-anchor="middle">{text}</text>"#
        ));
    }

    /// A line through points.
    pub(super) fn line(&mut self, points: &[(f64, f64)], style: &str) {
        let points = listed(points);
        self.push(format_args!(
            r#"<polyline points="{points}" fill="none" {style}/>"#
        ));
    }

    /// The area inside points.
    pub(super) fn area(&mut self, points: &[(f64, f64)], style: &str) {
        let points = listed(points);
        self.push(format_args!(r#"<polygon points="{points}" {style}/>"#));
    }

    /// A disc.
    pub(super) fn disc(&mut self, (x, y): (f64, f64), radius: f64, style: &str) {
        self.push(format_args!(
            r#"<circle cx="{x:.1}" cy="{y:.1}" r="{radius}" {style}/>"#
        ));
    }

    /// The document, of this size, with a title for those who do not see it.
    pub(super) fn finish(self, width: f64, height: f64, title: &str) -> String {
        let title = escaped(title);
        format!(
            r##"<svg xmlns="http://www.w3.org/2000/svg" width="{width}" height="{height}" viewBox="0 0 {width} {height}" font-family="sans-serif" font-size="13" fill="#282828" role="img">
<title>{title}</title>
<rect width="100%" height="100%" fill="#fff"/>
{}</svg>
"##,
            self.body
        )
    }

    fn push(&mut self, element: std::fmt::Arguments<'_>) {
        // A string takes whatever is written.
        let _ = writeln!(self.body, "{element}");
    }
}

fn listed(points: &[(f64, f64)]) -> String {
    let points = points.iter().map(|(x, y)| format!("{x:.1},{y:.1}"));
    points.collect::<Vec<_>>().join(" ")
}

/// Text without what has a meaning in XML or no place in it.
fn escaped(text: &str) -> String {
    let mut escaped = String::with_capacity(text.len());
    for c in text.chars() {
        match c {
            '<' => escaped.push_str("&lt;"),
            '>' => escaped.push_str("&gt;"),
            '&' => escaped.push_str("&amp;"),
            '"' => escaped.push_str("&quot;"),
            '\u{fffe}' | '\u{ffff}' => escaped.push('\u{fffd}'),
            c if c.is_control() => escaped.extend(c.escape_default()),
            c => escaped.push(c),
        }
    }
    escaped
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn text_stays_text() {
        let mut svg = Svg::new();
        svg.text((1.0, 2.0), Anchor::End, "", "<b>&\"\u{1b}\u{ffff}é");
        let svg = svg.finish(3.0, 4.0, "</title>");
        assert!(
            svg.contains(">&lt;b&gt;&amp;&quot;\\u{1b}\u{fffd}é</text>"),
            "{svg}"
        );
        assert_eq!(svg.matches("</title>").count(), 1);
    }
}
