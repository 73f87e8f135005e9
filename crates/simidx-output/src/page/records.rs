//! Pairs and clusters of records on a page, with their texts compared word by word.

use maud::{Markup, html};
use similar::{ChangeTag, TextDiff};

use super::numbers::{cut, grouped};
use super::table::table;
use crate::one_line;

/// Largest number of characters of an id that are shown.
const ID_LEN: usize = 160;

/// Largest number of characters of a text that are compared.
const COMPARED: usize = 8000;

/// Largest number of characters of a text that are shown.
const SHOWN: usize = 2000;

/// Largest number of characters of equal text that are shown whole; longer text is cut in the middle.
const ALIKE: usize = 400;

/// Characters of equal text that remain on each side of the cut.
const CONTEXT: usize = 120;

/// A record, or several records with the same fingerprint.
#[derive(Debug, Clone, Default)]
pub struct Entry {
    /// The ids that are shown.
    pub ids: Vec<String>,
    /// Whether there are more ids.
    pub has_more_ids: bool,
    /// The fingerprint in hexadecimal.
    pub fingerprint: String,
    /// A note next to the fingerprint, such as a distance.
    pub note: String,
    /// The text of the record, if known.
    pub text: Option<String>,
}

impl Entry {
    /// Returns the ids and the fingerprint; digits that differ from those of `other` are marked.
    fn name(&self, other: &Entry) -> Markup {
        let mut others = other.fingerprint.chars();
        html! {
            @for (number, id) in self.ids.iter().enumerate() {
                @if number > 0 { ", " }
                bdi.id { (cut(&one_line(id), ID_LEN)) }
            }
            @if self.has_more_ids { " and more" }
            @if !self.fingerprint.is_empty() {
                " "
                code {
                    @for digit in self.fingerprint.chars() {
                        @if others.next().is_some_and(|other| other != digit) {
                            mark { (digit) }
                        } @else {
                            (digit)
                        }
                    }
                }
            }
        }
    }
}

/// Returns a pair of records below a heading.
pub fn pair(heading: &str, first: &Entry, second: &Entry) -> Markup {
    html! {
        article {
            h4 { (heading) }
            (next_to_each_other(first, second))
        }
    }
}

/// Returns a cluster: its representative `first` and other members.
pub fn cluster(heading: &str, is_open: bool, first: &Entry, others: &[Entry]) -> Markup {
    let all = || std::iter::once(first).chain(others);
    html! {
        details open[is_open] {
            summary { (heading) }
            @if !others.is_empty() && all().any(|entry| entry.text.is_some()) {
                @for other in others { (next_to_each_other(first, other)) }
            } @else {
                @let rows = all().map(|entry| vec![entry.name(first), html! { (entry.note) }]);
                (table("Members that are shown", &["record", "place"], 2, &rows.collect::<Vec<_>>()))
            }
        }
    }
}

/// Returns two records next to each other, with their texts where known.
fn next_to_each_other(first: &Entry, second: &Entry) -> Markup {
    let alone = |text: &str| words(&[(ChangeTag::Equal, text.to_owned())], ChangeTag::Equal);
    let texts = match (&first.text, &second.text) {
        (Some(a), Some(b)) if a == b => [alone(a), html! { em { "The same text in both." } }],
        (Some(a), Some(b)) => {
            let runs = runs(head(a, COMPARED), head(b, COMPARED));
            [
                words(&runs, ChangeTag::Delete),
                words(&runs, ChangeTag::Insert),
            ]
        }
        (a, b) => [a, b].map(|text| text.as_deref().map(alone).unwrap_or_default()),
    };
    html! {
        div.panes {
            @for ((entry, other), text) in [(first, second), (second, first)].into_iter().zip(texts) {
                div.pane {
                    div.name { (entry.name(other)) span.about { " " (entry.note) } }
                    div.words dir="auto" { (text) }
                    @let chars = entry.text.as_ref().map_or(0, |text| text.chars().count());
                    @if chars > COMPARED {
                        div.note {
                            "the first " (grouped(COMPARED as u64)) " of " (grouped(chars as u64))
                            " characters are compared"
                        }
                    }
                }
            }
        }
    }
}

/// Consecutive words that both texts have, or only one of them.
type Run = (ChangeTag, String);

/// Returns the runs of equal and different words of two texts.
fn runs(first: &str, second: &str) -> Vec<Run> {
    let mut runs: Vec<Run> = Vec::new();
    for change in TextDiff::from_unicode_words(first, second).iter_all_changes() {
        match runs.last_mut() {
            Some((tag, words)) if *tag == change.tag() => words.push_str(change.value()),
            _ => runs.push((change.tag(), change.value().to_owned())),
        }
    }
    runs
}

/// Returns the runs of one side; the words that only this side has are marked.
fn words(runs: &[Run], own: ChangeTag) -> Markup {
    let (mut left, mut pieces) = (SHOWN, Vec::new());
    let is_here = |tag: ChangeTag| tag == ChangeTag::Equal || tag == own;
    for (tag, words) in runs.iter().filter(|(tag, _)| is_here(*tag)) {
        let count = words.chars().count();
        let shown = head(words, left);
        if *tag == ChangeTag::Equal && count > ALIKE && runs.len() > 1 {
            let alike = format!("{} characters alike", grouped((count - 2 * CONTEXT) as u64));
            let end = head_len(words, count - CONTEXT);
            pieces.push(html! { (head(words, CONTEXT)) (gap(&alike)) (words[end..]) });
            left = left.saturating_sub(2 * CONTEXT);
            continue;
        }
        pieces.push(match tag {
            ChangeTag::Equal => html! { (shown) },
            ChangeTag::Delete => html! { del { (shown) } },
            ChangeTag::Insert => html! { ins { (shown) } },
        });
        if shown.len() < words.len() {
            pieces.push(gap("the rest is not shown"));
            break;
        }
        left -= count;
    }
    html! { @for piece in pieces { (piece) } }
}

fn gap(what: &str) -> Markup {
    html! { span.gap { " [\u{2026} " (what) " \u{2026}] " } }
}

/// Returns the first `count` characters of a text.
fn head(text: &str, count: usize) -> &str {
    &text[..head_len(text, count)]
}

fn head_len(text: &str, count: usize) -> usize {
    text.char_indices()
        .nth(count)
        .map_or(text.len(), |(end, _)| end)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn entry(id: &str, fingerprint: &str, text: Option<&str>) -> Entry {
        Entry {
            ids: vec![id.to_owned()],
            fingerprint: fingerprint.to_owned(),
            text: text.map(str::to_owned),
            ..Entry::default()
        }
    }

    fn shown_of(first: &str, second: &str) -> String {
        let [a, b] = [("a", first), ("b", second)].map(|(id, text)| entry(id, "", Some(text)));
        next_to_each_other(&a, &b).into_string()
    }

    #[test]
    fn digits_that_differ_are_marked_and_ids_cut() {
        let long = "x".repeat(1000);
        let html = pair(
            "p",
            &entry("<i>", "00ff", None),
            &entry(&long, "01ff", None),
        )
        .into_string();
        assert!(
            html.contains("<bdi class=\"id\">&lt;i&gt;</bdi> <code>0<mark>0</mark>ff</code>"),
            "{html}"
        );
        assert!(html.contains("<code>0<mark>1</mark>ff</code>"), "{html}");
        assert!(html.len() < 800, "{}", html.len());
    }

    #[test]
    fn clusters_without_texts_are_tables() {
        let html = cluster(
            "c",
            true,
            &entry("a", "00", None),
            &[entry("b", "01", None)],
        );
        assert_eq!(html.into_string().matches("<tr>").count(), 3);
    }

    #[test]
    fn words_that_differ_are_marked_and_escaped() {
        let html = shown_of("the quick <b> fox", "the slow <b> fox & more");
        assert!(
            html.contains("the <del>quick</del> &lt;b&gt; fox"),
            "{html}"
        );
        assert!(
            html.contains("the <ins>slow</ins> &lt;b&gt; fox<ins> &amp; more</ins>"),
            "{html}"
        );
    }

    #[test]
    fn what_is_alike_for_long_is_cut() {
        let alike = "word ".repeat(300);
        let html = shown_of(&format!("a {alike}b"), &format!("c {alike}d"));
        assert_eq!(html.matches("characters alike").count(), 2, "{html}");
        assert!(html.len() < 1500, "{}", html.len());
        assert!(html.contains("<del>b</del>") && html.contains("<ins>d</ins>"));
    }

    #[test]
    fn long_texts_are_bounded_and_say_so() {
        let [a, b] = ["x1 y1 ", "x2 y2 "].map(|words| words.repeat(20_000));
        let html = shown_of(&a, &b);
        assert!(html.len() < 60_000, "{}", html.len());
        assert!(html.contains("the first 8,000 of 120,000 characters are compared"));
        assert!(html.contains("the rest is not shown"));
        let html = shown_of(&a, &a);
        assert!(html.contains("The same text in both.") && html.contains("the rest is not shown"));
    }
}
