//! The HTML document: head, style, contents and size limit.

use maud::{DOCTYPE, Markup, PreEscaped, html};

use super::numbers::sampled;
use crate::one_line;

/// The style sheet of a page.
const STYLE: PreEscaped<&str> = PreEscaped(include_str!("style.css"));

/// The content security policy: the page loads and runs nothing, whatever its texts contain.
pub const POLICY: &str =
    "default-src 'none'; style-src 'unsafe-inline'; base-uri 'none'; form-action 'none'";

/// The content security policy of a page with a form, which may be sent only to the origin of the page.
pub const POLICY_WITH_FORM: &str =
    "default-src 'none'; style-src 'unsafe-inline'; base-uri 'none'; form-action 'self'";

/// Largest size of a list of records, in bytes.
const MAX_LIST_LEN: usize = 500_000;

/// A section of a page: its id, heading and contents.
pub type Section = (&'static str, &'static str, Markup);

/// Returns a page with a title, an introduction and sections. `policy` is its content security policy.
pub fn document(title: &str, policy: &str, lead: &Markup, sections: &[Section]) -> String {
    let title = one_line(title);
    let page = html! {
        (DOCTYPE)
        html lang="en" {
            head {
                meta charset="utf-8";
                meta http-equiv="Content-Security-Policy" content=(policy);
                meta name="viewport" content="width=device-width, initial-scale=1";
                meta name="color-scheme" content="light dark";
                title { (title) }
                style { (STYLE) }
            }
            body {
                header {
                    h1 { (title) }
                    (lead)
                    nav aria-label="Contents" {
                        ul {
                            @for (id, heading, _) in sections {
                                li { a href={ "#" (id) } { (heading) } }
                            }
                        }
                    }
                }
                main {
                    @for (id, heading, content) in sections {
                        section aria-labelledby=(id) {
                            h2 id=(id) { (heading) }
                            (content)
                        }
                    }
                }
            }
        }
    };
    legible(&page.0)
}

/// Returns the pieces that fit a page, after a sentence with their number and the number of all.
pub fn shown(pieces: impl IntoIterator<Item = Markup>, all: u64, name: &str, note: &str) -> Markup {
    let (mut list, mut count, mut is_cut) = (String::new(), 0, false);
    for PreEscaped(piece) in pieces {
        let piece = legible(&piece);
        is_cut = list.len() + piece.len() > MAX_LIST_LEN;
        if is_cut {
            break;
        }
        list += &piece;
        count += 1;
    }
    html! {
        p { "Shown: " (sampled(count, all, name)) (note) "." }
        @if is_cut { p { "More of them would make the page too large." } }
        (PreEscaped(list))
    }
}

/// Returns a highlighted paragraph.
pub fn warning(text: &str) -> Markup {
    html! { p.warning { (text) } }
}

/// Replaces control characters, and characters that change the writing direction, by escapes.
fn legible(html: &str) -> String {
    let mut legible = String::with_capacity(html.len());
    for c in html.chars() {
        match is_unseen(c) {
            true => legible.extend(c.escape_unicode()),
            false => legible.push(c),
        }
    }
    legible
}

/// Whether a character affects how others are displayed, or is invalid in HTML. Line ends and tabs are part of a text.
fn is_unseen(c: char) -> bool {
    c.is_control() && !matches!(c, '\n' | '\t')
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
        let hostile = "\"><script>'&\u{1b}[2J\u{202e}\u{ffff}\u{9b}";
        let lead = html! { p title=(hostile) { (hostile) "a\tb\nc\rd" } };
        let page = document(&format!("{hostile}\nline"), POLICY, &lead, &[]);
        let escaped = "&quot;&gt;&lt;script&gt;'&amp;\\u{1b}[2J\\u{202e}\\u{ffff}\\u{9b}";
        for part in [
            format!("<h1>{escaped}\\nline</h1>"),
            format!("<p title=\"{escaped}\">{escaped}a\tb\nc\\u{{d}}d</p>"),
        ] {
            assert!(page.contains(&part), "{part}: {page}");
        }
        assert!(!page.contains("<script"));
    }

    #[test]
    fn a_list_ends_where_the_page_would_be_too_large() {
        let piece = || html! { p { ("\u{1b}".repeat(20_000)) } };
        let list = shown((0..9).map(|_| piece()), 9, "piece", "").into_string();
        assert!(list.len() < MAX_LIST_LEN + 200);
        assert!(list.starts_with("<p>Shown: 4 of 9 pieces.</p><p>More of them"));
        assert!(
            shown([piece()], 1, "piece", "")
                .0
                .starts_with("<p>Shown: the only piece.</p><p>\\u")
        );
    }
}
