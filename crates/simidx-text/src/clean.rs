//! Cleaning: the text of HTML documents.

use crate::names::named;

/// Whether documents are HTML.
///
/// ```
/// use simidx_text::stages::Html;
///
/// assert_eq!("auto".parse(), Ok(Html::Auto));
/// ```
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum Html {
    /// `no`: the whole document is text.
    #[default]
    No,
    /// `yes`: every document is HTML.
    Yes,
    /// `auto`: a document is HTML if it begins, after white space and comments, with `<!doctype html`, `<html`, `<head`
    /// or `<body`.
    Auto,
}

named!(Html, "html", Auto = "auto", Yes = "yes", No = "no");

/// The cleaning stage, with a buffer that it reuses for each document.
#[derive(Clone, Debug, Default)]
pub(super) struct Cleaner {
    html: Html,
    #[cfg(feature = "html")]
    text: String,
}

impl Cleaner {
    pub(super) fn new(html: Html) -> Self {
        Cleaner {
            html,
            #[cfg(feature = "html")]
            text: String::new(),
        }
    }

    /// Returns the text of a document, without markup.
    #[cfg(feature = "html")]
    pub(super) fn clean<'t>(&'t mut self, document: &'t str) -> &'t str {
        let is_html = match self.html {
            Html::No => false,
            Html::Yes => true,
            Html::Auto => super::html::looks_like_html(document),
        };
        if !is_html {
            return document;
        }
        self.text.clear();
        super::html::append_text(document, &mut self.text);
        &self.text
    }

    /// Returns the document unchanged: without the feature `html`, pipelines cannot have this stage.
    #[cfg(not(feature = "html"))]
    pub(super) fn clean<'t>(&'t mut self, document: &'t str) -> &'t str {
        debug_assert_eq!(self.html, Html::No);
        document
    }
}
