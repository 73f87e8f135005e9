//! Two texts side by side, with the words that differ marked.

use similar::{ChangeTag, TextDiff};

use super::html::Html;
use super::numbers::grouped;

/// Characters of a text that are compared.
const COMPARED: usize = 8000;

/// Characters of a text that are shown.
const SHOWN: usize = 2000;

/// Alike text that is longer is cut in its middle.
const ALIKE: usize = 400;

/// Characters of alike text that stay at each end of the cut.
const CONTEXT: usize = 120;

/// Consecutive words that stand in both texts or in one.
struct Run {
    tag: ChangeTag,
    words: String,
}

/// The panes of two texts, the first of which is the one that the other is compared with.
pub(super) fn panes(first: (&Html, &str), second: (&Html, &str)) -> Html {
    let texts = [first.1, second.1].map(|text| head(text, COMPARED));
    let mut html = Html::new();
    if first.1 == second.1 {
        html.markup("<div class=\"panes one\">");
        pane(&mut html, second.0, first.1, |html| {
            html.element("em", &[], "The same text in both.")
                .markup("\n");
            shown(
                html,
                &[Run {
                    tag: ChangeTag::Equal,
                    words: texts[0].to_owned(),
                }],
                ChangeTag::Equal,
            );
        });
        return html.markup("</div>\n").clone();
    }
    let runs = runs(texts[0], texts[1]);
    html.markup("<div class=\"panes\">");
    pane(&mut html, first.0, first.1, |html| {
        shown(html, &runs, ChangeTag::Delete)
    });
    pane(&mut html, second.0, second.1, |html| {
        shown(html, &runs, ChangeTag::Insert)
    });
    html.markup("</div>\n");
    html
}

/// The pane of a text that stands alone.
pub(super) fn one_pane(name: &Html, text: &str) -> Html {
    let mut html = Html::new();
    html.markup("<div class=\"panes one\">");
    let run = Run {
        tag: ChangeTag::Equal,
        words: head(text, COMPARED).to_owned(),
    };
    pane(&mut html, name, text, |html| {
        shown(html, &[run], ChangeTag::Equal)
    });
    html.markup("</div>\n");
    html
}

fn pane(html: &mut Html, name: &Html, text: &str, write: impl FnOnce(&mut Html)) {
    html.markup("<div class=\"pane\"><div class=\"name\">")
        .append(name)
        .markup("</div>");
    html.markup("<div class=\"words\" dir=\"auto\">");
    write(html);
    html.markup("</div>");
    let count = text.chars().take(COMPARED + 1).count();
    if count > COMPARED {
        let all = text.chars().count() as u64;
        let note = format!(
            "the first {} of {} characters are compared",
            grouped(COMPARED as u64),
            grouped(all)
        );
        html.element("div", &[("class", "note")], note);
    }
    html.markup("</div>");
}

/// The words of two texts, those that follow each other in the same part together.
fn runs(first: &str, second: &str) -> Vec<Run> {
    let mut runs: Vec<Run> = Vec::new();
    for change in TextDiff::from_unicode_words(first, second).iter_all_changes() {
        match runs.last_mut() {
            Some(run) if run.tag == change.tag() => run.words.push_str(change.value()),
            _ => runs.push(Run {
                tag: change.tag(),
                words: change.value().to_owned(),
            }),
        }
    }
    runs
}

/// Writes the runs of one side, its own ones marked.
fn shown(html: &mut Html, runs: &[Run], own: ChangeTag) {
    let mut left = SHOWN;
    let of_side = runs
        .iter()
        .filter(|run| run.tag == ChangeTag::Equal || run.tag == own);
    for run in of_side {
        if left == 0 {
            gap(html, "the rest is not shown");
            return;
        }
        let count = run.words.chars().count();
        if run.tag == ChangeTag::Equal {
            match count > ALIKE && runs.len() > 1 {
                true => {
                    html.prose(head(&run.words, CONTEXT));
                    let cut = count - 2 * CONTEXT;
                    gap(html, &format!("{} characters alike", grouped(cut as u64)));
                    html.prose(tail(&run.words, CONTEXT));
                    left = left.saturating_sub(2 * CONTEXT);
                }
                false => {
                    html.prose(head(&run.words, left));
                    left = left.saturating_sub(count);
                    if count > SHOWN {
                        gap(html, "the rest is not shown");
                        return;
                    }
                }
            }
            continue;
        }
        let tag = if own == ChangeTag::Delete {
            "del"
        } else {
            "ins"
        };
        html.open(tag, &[]).prose(head(&run.words, left)).close(tag);
        left = left.saturating_sub(count);
    }
}

fn gap(html: &mut Html, what: &str) {
    html.element(
        "span",
        &[("class", "gap")],
        format!(" [\u{2026} {what} \u{2026}] "),
    );
}

/// The first characters of a text.
pub(super) fn head(text: &str, count: usize) -> &str {
    match text.char_indices().nth(count) {
        Some((end, _)) => &text[..end],
        None => text,
    }
}

/// The last characters of a text.
fn tail(text: &str, count: usize) -> &str {
    match count
        .checked_sub(1)
        .and_then(|back| text.char_indices().nth_back(back))
    {
        Some((start, _)) => &text[start..],
        None => text,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn shown_of(first: &str, second: &str) -> String {
        let names = ["a", "b"].map(Html::of);
        panes((&names[0], first), (&names[1], second))
            .as_str()
            .to_owned()
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
        assert!(shown_of(&a, &a).contains("The same text in both."));
    }
}
