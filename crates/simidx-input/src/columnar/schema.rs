//! Finds the columns of a typed table that contain the records.

use crate::fields::{FoundId, Held, TEXT, joined, neither_column, no_column, null_texts};
use crate::{Fields, MAX_DOCUMENT, ReadOptions, names};
use simidx::{IdBuf, Width};

/// A column whose values contain no others.
#[derive(Debug)]
pub(crate) struct Leaf {
    /// The path of the column, with `*` for the elements of a list.
    pub(super) name: String,
    /// The path as other programs write it, if it differs.
    pub(super) other_name: String,
    /// The kind of the values; `None` if records cannot use them.
    pub(super) kind: Option<Kind>,
    /// Whether a row may have several of the values.
    pub(super) is_list: bool,
    /// Whether the column is a top-level column.
    pub(super) is_top: bool,
}

/// The kind of the values of a column.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Kind {
    Integer {
        bits: u32,
        signed: bool,
    },
    /// Fixed-length bytes, the most significant first.
    Fixed {
        bytes: usize,
    },
    /// Strings with the hexadecimal digits of fingerprints.
    Digits(Width),
    /// Strings.
    Text,
}

impl Kind {
    /// Whether the values are fingerprints that do not need parsing.
    pub(super) fn is_ready_made(self) -> bool {
        matches!(self, Kind::Integer { .. } | Kind::Fixed { .. })
    }

    /// Returns the words for a kind in messages.
    fn words(kind: Option<Self>) -> String {
        match kind {
            Some(Kind::Integer { bits, .. }) => format!("{bits}-bit numbers"),
            Some(Kind::Fixed { bytes }) => format!("arrays of {bytes} bytes"),
            Some(Kind::Digits(_) | Kind::Text) => "strings".into(),
            None => "values of another type".into(),
        }
    }
}

/// A column that is read.
#[derive(Clone, Debug)]
pub(super) struct Chosen {
    /// The number of the column among the leaves.
    pub(super) index: usize,
    pub(super) name: String,
    pub(super) kind: Kind,
    pub(super) is_list: bool,
}

/// The columns of the records.
#[derive(Debug)]
pub(super) struct Schema {
    pub(super) content: Held<Chosen>,
    pub(super) id: Option<Chosen>,
    /// The problem with the column of the ids, if ids are optional.
    odd_id: Option<String>,
    fields: Fields,
    width: Width,
}

impl Schema {
    /// Returns the columns of records. The error describes why there are none.
    pub(super) fn find(leaves: &[Leaf], options: &ReadOptions) -> Result<Self, String> {
        let (fields, width) = (&options.fields, options.width);
        let all = Leaves(leaves);
        let (content, id) = fields.find(
            |name| Ok(all.named(name)),
            |name| all.missing(name),
            |id| all.only_fitting(width, id),
        )?;
        let (id, odd_id) = match id.map(|index| all.chosen(index, ids)).transpose() {
            Err(message) if fields.odd_ids => (None, Some(message)),
            id => (id?, None),
        };
        let content = match content {
            Held::Texts(columns) => {
                let columns = columns.into_iter().map(|index| all.chosen(index, texts));
                Held::Texts(columns.collect::<Result<_, _>>()?)
            }
            Held::Fingerprint(index) => {
                Held::Fingerprint(all.chosen(index, |leaf| fingerprints(leaf, width))?)
            }
        };
        Ok(Schema {
            content,
            id,
            odd_id,
            fields: fields.clone(),
            width,
        })
    }

    /// Returns the id of a row.
    ///
    /// # Errors
    /// The problem with the id, unless invalid ids are permitted.
    pub(super) fn found_id(&self, id: Option<Result<IdBuf, String>>) -> Result<FoundId, String> {
        match &self.odd_id {
            Some(message) => Ok((None, Some(message.clone()))),
            None => self.fields.found_id(id),
        }
    }

    /// Whether the column supports bulk reads at this width.
    pub(super) fn fits(&self, width: Width) -> bool {
        self.is_plain() && self.width == width
    }

    /// Whether records are fingerprints without ids that do not need parsing.
    pub(super) fn is_plain(&self) -> bool {
        match &self.content {
            Held::Fingerprint(chosen) => {
                let has_ids = self.id.is_some() || self.odd_id.is_some();
                !has_ids && chosen.kind.is_ready_made()
            }
            Held::Texts(_) => false,
        }
    }
}

/// All columns of a table.
struct Leaves<'a>(&'a [Leaf]);

impl Leaves<'_> {
    /// Returns the column with a name, or with a path whose parts are joined by points.
    fn named(&self, name: &str) -> Option<usize> {
        let position = |is: &dyn Fn(&Leaf) -> bool| self.0.iter().position(is);
        position(&|leaf| leaf.is_top && leaf.name == name)
            .or_else(|| position(&|leaf| leaf.name == name))
            .or_else(|| position(&|leaf| leaf.other_name == name))
    }

    fn missing(&self, name: &str) -> String {
        let is_within = |leaf: &&Leaf| {
            let rest = leaf.name.strip_prefix(name);
            rest.is_some_and(|rest| rest.starts_with('.'))
        };
        let within = self.0.iter().filter(is_within);
        let within: Vec<&str> = within.map(|leaf| leaf.name.as_str()).collect();
        let is_list = |path: &&str| path[name.len()..].starts_with(".*");
        match (within.iter().find(|path| is_list(path)), within.is_empty()) {
            (Some(path), _) => format!("column {name:?} is a list; {path:?} names its elements"),
            (None, false) => format!("column {name:?} has members{}", names::list(name, &within)),
            (None, true) => no_column(name, &self.names()),
        }
    }

    fn names(&self) -> Vec<&str> {
        self.0.iter().map(|leaf| leaf.name.as_str()).collect()
    }

    fn chosen(
        &self,
        index: usize,
        kind: impl FnOnce(&Leaf) -> Result<Kind, String>,
    ) -> Result<Chosen, String> {
        let leaf = &self.0[index];
        Ok(Chosen {
            index,
            name: leaf.name.clone(),
            kind: kind(leaf)?,
            is_list: leaf.is_list,
        })
    }

    /// Returns the only column of integers of the width that is not the id. Signed integers are not accepted if other
    /// columns may contain documents.
    fn only_fitting(&self, width: Width, id: Option<usize>) -> Result<usize, String> {
        let others = || {
            let leaves = self.0.iter().enumerate();
            leaves.filter(|&(index, leaf)| leaf.is_top && !leaf.is_list && Some(index) != id)
        };
        let has_strings = others().any(|(_, leaf)| leaf.kind == Some(Kind::Text));
        let fitting = others().filter_map(|(index, leaf)| match leaf.kind {
            Some(Kind::Integer { bits, signed }) if bits == width.bits() => Some((index, signed)),
            _ => None,
        });
        match fitting.collect::<Vec<_>>()[..] {
            [(index, signed)] if !(signed && has_strings) => Ok(index),
            _ => Err(neither_column(&self.names())),
        }
    }
}

fn fingerprints(leaf: &Leaf, width: Width) -> Result<Kind, String> {
    match leaf.kind {
        _ if leaf.is_list => Err(list(leaf)),
        Some(Kind::Text) => Ok(Kind::Digits(width)),
        Some(kind @ Kind::Integer { bits, .. }) if bits == width.bits() => Ok(kind),
        Some(kind @ Kind::Fixed { bytes }) if bytes == width.bytes() => Ok(kind),
        _ => Err(other_kind(leaf, &format!("not {width}-bit fingerprints"))),
    }
}

fn texts(leaf: &Leaf) -> Result<Kind, String> {
    match leaf.kind {
        Some(Kind::Text) => Ok(Kind::Text),
        _ => Err(other_kind(leaf, "not strings")),
    }
}

fn ids(leaf: &Leaf) -> Result<Kind, String> {
    match leaf.kind {
        _ if leaf.is_list => Err(list(leaf)),
        Some(kind @ (Kind::Text | Kind::Integer { .. })) => Ok(kind),
        _ => Err(other_kind(leaf, "neither strings nor integers")),
    }
}

fn other_kind(leaf: &Leaf, wanted: &str) -> String {
    let kind = Kind::words(leaf.kind);
    format!("column {:?} holds {kind}, {wanted}", leaf.name)
}

fn list(leaf: &Leaf) -> String {
    format!(
        "column {:?} is a list, where one value is wanted",
        leaf.name
    )
}

/// Converts a number to an id.
pub(super) fn number_id(number: i128, name: &str) -> Result<IdBuf, String> {
    let id = u64::try_from(number);
    id.map(IdBuf::Number)
        .map_err(|_| format!("{name:?} is {number}, which is below 0"))
}

/// Returns bytes as text.
pub(super) fn utf8(bytes: &[u8]) -> Result<&str, String> {
    std::str::from_utf8(bytes).map_err(|_| "not valid UTF-8".into())
}

/// Joins the texts of a row.
pub(super) fn one_text(mut all: Vec<Option<String>>, columns: &[Chosen]) -> Result<String, String> {
    // A single text, the usual case, is not copied.
    let text = match all.len() {
        1 => all.pop().flatten(),
        _ => joined(all),
    };
    let names = || {
        columns
            .iter()
            .map(|column| column.name.as_str())
            .collect::<Vec<_>>()
    };
    let text = text.ok_or_else(|| null_texts(&names()))?;
    match text.len() as u64 > MAX_DOCUMENT {
        true => Err(too_long(names().first().unwrap_or(&TEXT))),
        false => Ok(text),
    }
}

/// Returns the message for a text that is too long.
pub(super) fn too_long(name: &str) -> String {
    format!("{name:?} is longer than {MAX_DOCUMENT} bytes")
}
