//! The names of the fields that contain texts, fingerprints and ids.

use super::source::input_error;
use super::{Format, names};
use crate::{Place, Result};
use simidx::IdBuf;

/// The names of the members, or columns, that contain texts, fingerprints and ids.
///
/// In [`Format::Jsonl`], [`Format::Json`], [`Format::Parquet`] and [`Format::Arrow`] a path such as `meta.url` names a
/// member of a member, unless a member is called `meta.url`, and `messages.*.content` names the member `content` of
/// every element of the list `messages`. [`Format::Csv`] has named columns; [`Format::Tsv`] has them if a text or a
/// fingerprint is named. The other formats have no named fields.
///
/// ```
/// use simidx_input::{Fields, ReadOptions};
///
/// let mut fields = Fields::default();
/// fields.text = vec!["title".to_owned(), "body".to_owned()];
/// fields.id = Some("meta.url".to_owned());
/// let options = ReadOptions::default().fields(fields);
/// ```
#[derive(Clone, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct Fields {
    /// The fields with the text of each document. If there are any, every record must have all of them, and a field
    /// `fingerprint` is ignored. Several texts, and those of the elements of a list, are joined by line ends, except
    /// nulls. By default, a record has `text` or `fingerprint`.
    pub text: Vec<String>,
    /// The field with the fingerprint. If it is set, every record must have it, and a field `text` is ignored.
    pub fingerprint: Option<String>,
    /// The field with the id. If it is set, every record must have it. By default, a field `id` is the id, if it
    /// exists.
    pub id: Option<String>,
    /// Whether a record may have an invalid id: null, negative, or of another type. The record then has no id, and
    /// [`Record::odd_id`](super::Record::odd_id) describes the problem. By default, that is an error.
    pub odd_ids: bool,
}

/// The id of a record, if it has one, and the problem with an id that is ignored.
pub(super) type FoundId = (Option<IdBuf>, Option<String>);

/// The default names.
pub(super) const TEXT: &str = "text";
pub(super) const FINGERPRINT: &str = "fingerprint";
const ID: &str = "id";

/// The advice to a user who has to choose a field.
pub(super) const CHOOSE: &str = "choose with --text-field or --fingerprint-field";

/// Returns the message for a table whose columns include neither default column.
pub(super) fn neither_column<S: AsRef<str>>(all: &[S]) -> String {
    let there = names::list(TEXT, all);
    format!("has no column {TEXT:?} or {FINGERPRINT:?}{there}; {CHOOSE}")
}

/// Returns the message for a table whose columns do not include the named one.
pub(super) fn no_column<S: AsRef<str>>(name: &str, all: &[S]) -> String {
    format!("has no column {name:?}{}", names::list(name, all))
}

/// The contents of records, as determined by the names.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Holds {
    Texts,
    Fingerprints,
    /// Either default field.
    Either,
}

/// The columns of the contents of records: texts, or a fingerprint.
#[derive(Debug)]
pub(super) enum Held<C> {
    Texts(Vec<C>),
    Fingerprint(C),
}

impl Fields {
    /// Returns the columns of the contents and of the ids. `column` finds a column by name, `missing` describes a table
    /// without it, and `other` finds fingerprints if no column has a default name.
    pub(super) fn find<C: Copy>(
        &self,
        column: impl Fn(&str) -> Result<Option<C>, String>,
        missing: impl Fn(&str) -> String,
        other: impl FnOnce(Option<C>) -> Result<C, String>,
    ) -> Result<(Held<C>, Option<C>), String> {
        let wanted = |name: &str| column(name)?.ok_or_else(|| missing(name));
        let id = || match &self.id {
            Some(name) => wanted(name).map(Some),
            None => column(self.id()),
        };
        let held = match self.holds() {
            Holds::Texts => {
                let texts = self.text.iter().map(|name| wanted(name));
                Held::Texts(texts.collect::<Result<_, _>>()?)
            }
            Holds::Fingerprints => Held::Fingerprint(wanted(self.fingerprint())?),
            Holds::Either => match (column(TEXT)?, column(FINGERPRINT)?) {
                (Some(text), None) => Held::Texts(vec![text]),
                (None, Some(fingerprint)) => Held::Fingerprint(fingerprint),
                (None, None) => Held::Fingerprint(other(id()?)?),
                (Some(_), Some(_)) => {
                    return Err(format!(
                        "has both a column {TEXT:?} and a column {FINGERPRINT:?}; {CHOOSE}"
                    ));
                }
            },
        };
        Ok((held, id()?))
    }

    /// Whether all names are the default ones.
    pub(super) fn are_default(&self) -> bool {
        self.holds() == Holds::Either && self.id.is_none()
    }

    pub(super) fn holds(&self) -> Holds {
        match (self.text.is_empty(), &self.fingerprint) {
            (false, _) => Holds::Texts,
            (true, Some(_)) => Holds::Fingerprints,
            (true, None) => Holds::Either,
        }
    }

    /// The names of the texts, at least one.
    pub(super) fn texts(&self) -> Vec<&str> {
        match self.text.is_empty() {
            true => vec![TEXT],
            false => self.text.iter().map(String::as_str).collect(),
        }
    }

    /// The name of the fingerprint.
    pub(super) fn fingerprint(&self) -> &str {
        self.fingerprint.as_deref().unwrap_or(FINGERPRINT)
    }

    /// The name of the id.
    pub(super) fn id(&self) -> &str {
        self.id.as_deref().unwrap_or(ID)
    }

    /// Returns the id of a record.
    ///
    /// # Errors
    /// The problem with the id, unless invalid ids are permitted.
    pub(super) fn found_id(&self, id: Option<Result<IdBuf, String>>) -> Result<FoundId, String> {
        match id {
            Some(Err(message)) if self.odd_ids => Ok((None, Some(message))),
            id => Ok((id.transpose()?, None)),
        }
    }

    /// Checks that records of the format can have these fields.
    pub(super) fn check(&self, name: &str, format: Format) -> Result<()> {
        let message = match format {
            _ if self.are_default() => return Ok(()),
            _ if self.contradiction().is_some() => self.contradiction().unwrap_or_default(),
            format if format.has_fields() => return Ok(()),
            Format::Tsv if self.holds() != Holds::Either => return Ok(()),
            Format::Tsv => {
                "tsv without a text field holds fingerprints, whose id has no name".into()
            }
            _ => format!("the format {format} has no fields to name"),
        };
        Err(input_error(name, Place::File, message))
    }

    /// Returns the contradiction between these names, if there is one.
    fn contradiction(&self) -> Option<String> {
        let texts = self.texts();
        if self.holds() == Holds::Texts && self.fingerprint.is_some() {
            return Some("a record is a text or a fingerprint; name one of the two fields".into());
        }
        let named = texts.iter().copied();
        let all = named
            .chain(self.fingerprint.as_deref())
            .chain(self.id.as_deref());
        if all.into_iter().any(str::is_empty) {
            return Some("a field has an empty name".into());
        }
        if let Some(name) = texts.iter().find(|name| **name == self.id()) {
            return Some(format!("the text and the id cannot both be {name:?}"));
        }
        if self.fingerprint() == self.id() {
            return Some(format!(
                "the fingerprint and the id cannot both be {:?}",
                self.id()
            ));
        }
        let twice = |name: &&&str| texts.iter().filter(|other| *other == *name).count() > 1;
        if let Some(name) = texts.iter().find(twice) {
            return Some(format!("the text {name:?} is named twice"));
        }
        let single = [self.fingerprint.as_deref(), self.id.as_deref()];
        let of_list = |name: &&str| has_wildcard(name);
        let name = single.into_iter().flatten().find(of_list)?;
        Some(format!(
            "{name:?} names the elements of a list, where one value is wanted"
        ))
    }
}

/// Whether a path leads to the elements of a list.
pub(super) fn has_wildcard(path: &str) -> bool {
    path.split('.').any(|part| part == "*")
}

/// Joins the texts of a record; returns `None` if all of them are null.
pub(super) fn joined<S: AsRef<str>>(texts: impl IntoIterator<Item = Option<S>>) -> Option<String> {
    let mut all: Option<String> = None;
    for text in texts.into_iter().flatten() {
        match &mut all {
            None => all = Some(text.as_ref().to_owned()),
            Some(all) => {
                all.push('\n');
                all.push_str(text.as_ref());
            }
        }
    }
    all
}

/// Returns the message for a record whose texts with these names are all null.
pub(super) fn null_texts(names: &[&str]) -> String {
    let quoted: Vec<String> = names.iter().map(|name| format!("{name:?}")).collect();
    let verb = if names.len() == 1 { "is" } else { "are" };
    format!("{} {verb} null", quoted.join(" and "))
}
