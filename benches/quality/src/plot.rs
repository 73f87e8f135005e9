//! Precision and recall against the distance, drawn as in figure 1 of the paper: a panel for each pipeline.

use super::jaccard;
use super::score::{Curve, Point, Share};
use super::svg::{Anchor, Svg};

/// Width of the drawing in pixels: letters stay legible where a page has room for 16 cm.
const WIDTH: f64 = 800.0;
const MARGIN: f64 = 14.0;
const LINE_HEIGHT: f64 = 17.0;
/// Height of the axes of a panel, alone and among others.
const AXES_HEIGHT: [f64; 2] = [360.0, 190.0];
/// Room around the axes: at the left for their numbers, at the right for the names of the lines, below for the distances.
const LEFT_ROOM: f64 = 58.0;
const RIGHT_ROOM: f64 = 70.0;
const BOTTOM_ROOM: f64 = 62.0;
/// Characters of a bold name that surely fit the drawing, and half of it.
const NAME_CHARS: [usize; 2] = [90, 44];
/// The number of characters of the line about the data that fit the drawing.
const HEAD_CHARS: usize = 104;

const SMALL: &str = r#"font-size="12""#;
const INK: &str = r##"stroke="#282828""##;
const MESH: &str = r##"stroke="#dedede""##;

/// A method with its figures.
#[derive(Debug)]
pub(super) struct Measured {
    pub(super) name: String,
    /// Whether the limits are distances; otherwise they are similarities.
    pub(super) has_distances: bool,
    pub(super) curve: Curve,
}

/// The data set that was measured.
#[derive(Debug)]
pub(super) struct Caption {
    /// Name of the data.
    pub(super) data: String,
    /// A description of its contents.
    pub(super) contents: String,
    /// Bits of a fingerprint.
    pub(super) width: u32,
}

/// An SVG with a panel for each method. Methods of equal figures share one.
pub(super) fn draw(caption: &Caption, measured: &[Measured]) -> String {
    let panels = panels(measured);
    let columns = panels.len().clamp(1, 2);
    let mut svg = Svg::new();
    let mut y = draw_head(&mut svg, caption);
    for row in panels.chunks(columns) {
        let names = row.iter().map(|panel| panel.name_lines.len()).max();
        let names_height = (names.unwrap_or_default() + 1) as f64 * LINE_HEIGHT + 22.0;
        let height = AXES_HEIGHT[columns - 1];
        for (column, panel) in row.iter().enumerate() {
            let width = WIDTH / columns as f64;
            let left = column as f64 * width;
            draw_names(&mut svg, panel, (left + MARGIN, y + LINE_HEIGHT));
            let axes = Axes {
                left: left + LEFT_ROOM,
                right: left + width - RIGHT_ROOM,
                top: y + names_height,
                bottom: y + names_height + height,
                last_level: (panel.measured.curve.points.len() - 1).max(1),
            };
            draw_axes(&mut svg, panel.measured, &axes);
            draw_lines(&mut svg, &panel.measured.curve, &axes);
        }
        y += names_height + height + BOTTOM_ROOM;
    }
    svg.finish(WIDTH, y, &title(caption))
}

fn title(caption: &Caption) -> String {
    format!("Precision and recall against distance: {}", caption.data)
}

/// Methods that one pair of lines stands for.
struct Panel<'a> {
    name_lines: Vec<String>,
    measured: &'a Measured,
}

fn panels(measured: &[Measured]) -> Vec<Panel<'_>> {
    let mut groups: Vec<Vec<&Measured>> = Vec::new();
    for method in measured {
        let is_equal = |group: &&mut Vec<&Measured>| {
            group[0].curve == method.curve && group[0].has_distances == method.has_distances
        };
        match groups.iter_mut().find(is_equal) {
            Some(group) => group.push(method),
            None => groups.push(vec![method]),
        }
    }
    let room = NAME_CHARS[usize::from(groups.len() > 1)];
    groups
        .into_iter()
        .map(|group| Panel {
            name_lines: names(&group, room),
            measured: group[0],
        })
        .collect()
}

/// The names of methods, those after the first marked as equal.
fn names(group: &[&Measured], room: usize) -> Vec<String> {
    let marks = ["", "equal: "];
    let names = group.iter().enumerate();
    let names = names.map(|(number, method)| format!("{}{}", marks[number.min(1)], method.name));
    names.flat_map(|name| wrapped(&name, room)).collect()
}

/// Breaks a text into lines of at most `room` characters, after commas and spaces, or anywhere if necessary.
fn wrapped(text: &str, room: usize) -> Vec<String> {
    let mut lines = vec![String::new()];
    for word in text.split_inclusive([',', ' ']) {
        let mut word: Vec<char> = word.chars().collect();
        while !word.is_empty() {
            let line = lines.len() - 1;
            let free = room - lines[line].chars().count().min(room);
            if word.len() <= free || free == room {
                let part = word.drain(..word.len().min(free));
                lines[line].extend(part);
            } else {
                lines.push(String::new());
            }
        }
    }
    lines
}

/// Title, name of the data, and what the lines are. Returns where it ends.
fn draw_head(svg: &mut Svg, caption: &Caption) -> f64 {
    let mut y = 28.0;
    let heading = "Precision and recall against distance";
    let bold = r#"font-size="18" font-weight="bold""#;
    svg.text((MARGIN, y), Anchor::Start, bold, heading);
    let Caption {
        data,
        contents,
        width,
    } = caption;
    let data = format!("{data}: {contents}; {width}-bit fingerprints");
    for line in wrapped(&data, HEAD_CHARS) {
        y += LINE_HEIGHT + 3.0;
        svg.text((MARGIN, y), Anchor::Start, "", &line);
    }
    y += LINE_HEIGHT + 10.0;
    let mut x = MARGIN;
    for line in Line::BOTH {
        let (start, end) = ((x, y - 4.0), (x + 46.0, y - 4.0));
        let band = [
            (x, y - 12.0),
            (end.0, y - 12.0),
            (end.0, y + 4.0),
            (x, y + 4.0),
        ];
        svg.area(&band, &line.band_style());
        line.draw_path(svg, &[start, end]);
        line.draw_mark(svg, (x + 23.0, start.1));
        svg.text((x + 54.0, y), Anchor::Start, "", line.name());
        x += 130.0;
    }
    let band = "shaded: 95 % confidence intervals";
    svg.text((x, y), Anchor::Start, "", band);
    y + LINE_HEIGHT
}

/// The names of the methods, and the best of their figures.
fn draw_names(svg: &mut Svg, panel: &Panel<'_>, (x, mut y): (f64, f64)) {
    for line in &panel.name_lines {
        svg.text((x, y), Anchor::Start, r#"font-weight="bold""#, line);
        y += LINE_HEIGHT;
    }
    let best = panel.measured.curve.best();
    let at = match panel.measured.has_distances {
        true => format!("k = {}", best.limit),
        false => format!("a similarity of {}", best.limit),
    };
    let best = format!("best F1 {:.2}, at {at}", best.f1());
    svg.text((x, y), Anchor::Start, SMALL, &best);
}

/// Where a panel has its axes.
struct Axes {
    left: f64,
    right: f64,
    top: f64,
    bottom: f64,
    last_level: usize,
}

impl Axes {
    fn place(&self, level: usize, share: f64) -> (f64, f64) {
        let step = (self.right - self.left) / self.last_level as f64;
        let x = self.left + level as f64 * step;
        (x, self.bottom - share * (self.bottom - self.top))
    }
}

fn draw_axes(svg: &mut Svg, measured: &Measured, axes: &Axes) {
    for fifths in 0..=5 {
        let share = f64::from(fifths) / 5.0;
        let (x, y) = axes.place(0, share);
        svg.line(&[(x, y), (axes.right, y)], MESH);
        let number = format!("{share:.1}");
        svg.text((x - 8.0, y + 4.0), Anchor::End, SMALL, &number);
    }
    let count = measured.curve.points.len();
    // Numbers must not touch each other.
    let every = match (measured.has_distances, count) {
        (true, ..=13) => 1,
        (true, _) => 4,
        (false, _) => 4,
    };
    for level in (0..count).step_by(every) {
        let (x, y) = axes.place(level, 0.0);
        svg.line(&[(x, y), (x, y + 4.0)], INK);
        let number = match measured.has_distances {
            true => level.to_string(),
            false => format!("{:.1}", jaccard::limit(level)),
        };
        svg.text((x, y + 18.0), Anchor::Middle, SMALL, &number);
    }
    let corners = [
        (axes.left, axes.top),
        (axes.left, axes.bottom),
        (axes.right, axes.bottom),
    ];
    svg.line(&corners, INK);
    let name = match measured.has_distances {
        true => "largest Hamming distance k (bits)",
        false => "least Jaccard similarity",
    };
    let (middle_x, middle_y) = (
        (axes.left + axes.right) / 2.0,
        (axes.top + axes.bottom) / 2.0,
    );
    let below = (middle_x, axes.bottom + 36.0);
    svg.text(below, Anchor::Middle, "", name);
    svg.upward_text((axes.left - 38.0, middle_y), "share of pairs");
}

fn draw_lines(svg: &mut Svg, curve: &Curve, axes: &Axes) {
    let shares = Line::BOTH.map(|line| (line, line.shares(curve)));
    // All bands first, or one would veil the other line.
    for (line, shares) in &shares {
        let low = shares.iter().map(|(l, s)| axes.place(*l, s.interval.low));
        let high = shares.iter().map(|(l, s)| axes.place(*l, s.interval.high));
        let band: Vec<_> = low.chain(high.rev()).collect();
        svg.area(&band, &line.band_style());
    }
    let mut ends = Vec::new();
    for (line, shares) in &shares {
        let points = shares.iter().map(|(l, s)| axes.place(*l, s.value));
        let points: Vec<_> = points.collect();
        line.draw(svg, &points);
        ends.extend(points.last().map(|end| (line, end.1)));
    }
    // Names that would cover each other move apart.
    ends.sort_by(|a, b| a.1.total_cmp(&b.1));
    if let [above, below] = &mut ends[..] {
        let missing = (14.0 - (below.1 - above.1)).max(0.0);
        above.1 -= missing / 2.0;
        below.1 += missing / 2.0;
    }
    for (line, y) in ends {
        let style = format!(r#"fill="{}""#, line.colour());
        let place = (axes.right + 9.0, y + 4.0);
        svg.text(place, Anchor::Start, &style, line.name());
    }
}

/// The lines of a panel.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Line {
    Precision,
    Recall,
}

impl Line {
    const BOTH: [Line; 2] = [Line::Precision, Line::Recall];

    fn name(self) -> &'static str {
        match self {
            Line::Precision => "precision",
            Line::Recall => "recall",
        }
    }

    /// Two colours that people with the common kinds of colour blindness can distinguish (Okabe and Ito).
    fn colour(self) -> &'static str {
        match self {
            Line::Precision => "#0072b2",
            Line::Recall => "#c04f00",
        }
    }

    fn band_style(self) -> String {
        format!(r#"fill="{}" fill-opacity="0.16""#, self.colour())
    }

    fn share(self, point: &Point) -> Option<Share> {
        match self {
            Line::Precision => point.precision,
            Line::Recall => Some(point.recall),
        }
    }

    /// The levels that have a share.
    fn shares(self, curve: &Curve) -> Vec<(usize, Share)> {
        let levels = curve.points.iter().enumerate();
        let shares = levels.filter_map(|(level, point)| Some((level, self.share(point)?)));
        shares.collect()
    }

    /// A line with its marks.
    fn draw(self, svg: &mut Svg, points: &[(f64, f64)]) {
        self.draw_path(svg, points);
        points.iter().for_each(|&point| self.draw_mark(svg, point));
    }

    /// Full for precision, dashed for recall.
    fn draw_path(self, svg: &mut Svg, points: &[(f64, f64)]) {
        let dashes = match self {
            Line::Precision => "",
            Line::Recall => r#" stroke-dasharray="6 4""#,
        };
        let colour = self.colour();
        let style = format!(r#"stroke="{colour}" stroke-width="2"{dashes}"#);
        svg.line(points, &style);
    }

    /// A full disc for precision, an open square for recall.
    fn draw_mark(self, svg: &mut Svg, (x, y): (f64, f64)) {
        let colour = self.colour();
        match self {
            Line::Precision => svg.disc((x, y), 3.6, &format!(r#"fill="{colour}""#)),
            Line::Recall => {
                let corners = [(-3.4, -3.4), (3.4, -3.4), (3.4, 3.4), (-3.4, 3.4)];
                let corners = corners.map(|(dx, dy)| (x + dx, y + dy));
                let style = format!(r##"fill="#fff" stroke="{colour}" stroke-width="1.6""##);
                svg.area(&corners, &style);
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::score::Tally;
    use crate::truth_clusters::TruthClusters;

    fn measured(name: &str, distances: &[usize]) -> Measured {
        let clusters = TruthClusters::of_pairs(9, [(0, 1), (1, 2), (3, 4)].into_iter());
        let mut tally = Tally::new(&clusters, 4);
        for (&distance, documents) in distances.iter().zip([[0, 1], [3, 4], [0, 8]]) {
            tally.add(distance, documents, documents[1] < 5);
        }
        Measured {
            name: name.to_owned(),
            has_distances: true,
            curve: tally.curve(|level| level as f64).unwrap(),
        }
    }

    fn caption() -> Caption {
        Caption {
            data: "a & b.jsonl".to_owned(),
            contents: "9 documents".to_owned(),
            width: 64,
        }
    }

    #[test]
    fn equal_lines_are_named_together() {
        let all = [
            measured("one", &[0, 1, 2]),
            measured("two", &[0, 1, 3]),
            measured("three", &[0, 1, 2]),
        ];
        let svg = draw(&caption(), &all);
        assert_eq!(svg.matches("largest Hamming distance k (bits)").count(), 2);
        for name in [">one<", ">equal: three<", ">two<"] {
            assert_eq!(svg.matches(name).count(), 1, "{name}");
        }
        assert!(svg.find(">equal: three<") < svg.find(">two<"));
        assert!(svg.contains("a &amp; b.jsonl: 9 documents; 64-bit fingerprints"));
    }

    #[test]
    fn a_line_begins_where_something_is_found() {
        let svg = draw(&caption(), &[measured("late", &[2, 2, 3])]);
        // Marks at the distances 2 and 3, and the one of the legend.
        assert_eq!(svg.matches("<circle").count(), 2 + 1);
        // No invalid number reaches the drawing.
        assert!(!svg.contains("NaN") && !svg.contains("inf"), "{svg}");
        let none = draw(&caption(), &[measured("none", &[])]);
        assert_eq!(none.matches("<circle").count(), 1);
    }

    #[test]
    fn names_break_after_commas() {
        assert_eq!(wrapped("ab,cd,ef", 6), ["ab,cd,", "ef"]);
        assert_eq!(wrapped("abcdefgh,i", 4), ["abcd", "efgh", ",i"]);
        assert_eq!(wrapped("", 4), [""]);
    }
}
