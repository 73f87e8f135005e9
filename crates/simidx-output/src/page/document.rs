//! A page as a whole: head, style, contents, and the limit of its size.

use std::io::{self, Write};

use super::html::Html;

/// What a page looks like.
const STYLE: &str = include_str!("style.css");

/// Nothing is loaded and nothing is run, whatever a text contains.
const POLICY: &str =
    "default-src 'none'; style-src 'unsafe-inline'; base-uri 'none'; form-action 'none'";

/// The same for a page with a form, which goes to where the page came from.
const POLICY_WITH_FORM: &str =
    "default-src 'none'; style-src 'unsafe-inline'; base-uri 'none'; form-action 'self'";

/// What forms look like.
const FORM_STYLE: &str = include_str!("form.css");

/// A page that is being written.
#[derive(Debug)]
pub struct Document {
    title: String,
    lead: Html,
    /// Ids and headings.
    sections: Vec<(&'static str, &'static str)>,
    body: Html,
    has_form: bool,
}

impl Document {
    /// A page with a title, and what stands below it.
    pub fn new(title: &str, lead: Html) -> Self {
        Document {
            title: title.to_owned(),
            lead,
            sections: Vec::new(),
            body: Html::new(),
            has_form: false,
        }
    }

    /// The same with a form among its sections.
    pub fn with_form(mut self) -> Self {
        self.has_form = true;
        self
    }

    /// What a browser may do with the page, which is in its head too.
    pub fn policy(&self) -> &'static str {
        match self.has_form {
            true => POLICY_WITH_FORM,
            false => POLICY,
        }
    }

    /// Adds a section.
    pub fn section(&mut self, id: &'static str, heading: &'static str, content: &Html) {
        self.sections.push((id, heading));
        self.body.open("section", &[("aria-labelledby", id)]);
        self.body.element("h2", &[("id", id)], heading);
        self.body.append(content).markup("</section>\n");
    }

    /// Writes the page.
    ///
    /// # Errors
    /// What `out` reports.
    pub fn write(&self, out: &mut (impl Write + ?Sized)) -> io::Result<()> {
        let mut head = Html::new();
        head.markup("<!DOCTYPE html>\n<html lang=\"en\">\n<head>\n<meta charset=\"utf-8\">\n");
        head.open(
            "meta",
            &[
                ("http-equiv", "Content-Security-Policy"),
                ("content", self.policy()),
            ],
        );
        head.markup("\n<meta name=\"viewport\" content=\"width=device-width, initial-scale=1\">\n");
        head.markup("<meta name=\"color-scheme\" content=\"light dark\">\n");
        head.element("title", &[], &self.title);
        head.markup("\n<style>\n")
            .markup(STYLE)
            .markup(if self.has_form { FORM_STYLE } else { "" })
            .markup("</style>\n</head>\n<body>\n<header>\n");
        head.element("h1", &[], &self.title)
            .markup("\n")
            .append(&self.lead);
        head.markup("<nav aria-label=\"Contents\"><ul>");
        for (id, heading) in &self.sections {
            let target = format!("#{id}");
            head.markup("<li>")
                .open("a", &[("href", &target)])
                .text(heading)
                .markup("</a></li>");
        }
        head.markup("</ul></nav>\n</header>\n<main>\n");
        out.write_all(head.as_str().as_bytes())?;
        out.write_all(self.body.as_str().as_bytes())?;
        out.write_all(b"</main>\n</body>\n</html>\n")
    }
}

/// As many of the pieces as fit a number of bytes, and their number.
pub fn fitting(pieces: impl IntoIterator<Item = Html>, max_len: usize) -> (Html, u64) {
    let (mut all, mut count) = (Html::new(), 0);
    for piece in pieces {
        if all.len() + piece.len() > max_len {
            break;
        }
        all.append(&piece);
        count += 1;
    }
    (all, count)
}
