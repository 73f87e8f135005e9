//! Cleaning: the text of HTML documents.

use std::fmt;
use std::str::FromStr;

use crate::{Error, Result};

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
    /// `no`: all of a document is text.
    #[default]
    No,
    /// `yes`: every document is HTML.
    Yes,
    /// `auto`: a document is HTML if it begins, after white space and comments, with `<!doctype html`, `<html`, `<head`
    /// or `<body`.
    Auto,
}

impl Html {
    /// All of them, in the order in which they are listed to users.
    pub const ALL: [Html; 3] = [Html::Auto, Html::Yes, Html::No];

    /// The name that a description of a pipeline gives it.
    pub fn name(self) -> &'static str {
        match self {
            Html::No => "no",
            Html::Yes => "yes",
            Html::Auto => "auto",
        }
    }
}

impl fmt::Display for Html {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(self.name())
    }
}

impl FromStr for Html {
    type Err = Error;

    fn from_str(name: &str) -> Result<Self> {
        let found = Self::ALL.into_iter().find(|html| html.name() == name);
        let clause = || format!("unknown html {name:?}, known are auto, yes and no");
        found.ok_or_else(|| Error::Pipeline(clause()))
    }
}

/// The cleaning stage with the buffer that it uses again for each document.
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

    /// The text of a document, without markup.
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

    /// The document: without the feature `html` no pipeline asks for more.
    #[cfg(not(feature = "html"))]
    pub(super) fn clean<'t>(&'t mut self, document: &'t str) -> &'t str {
        debug_assert_eq!(self.html, Html::No);
        document
    }
}
