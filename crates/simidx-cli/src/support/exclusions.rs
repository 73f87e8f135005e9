//! Lists of what to leave out of indexes.

use std::path::{Path, PathBuf};

use simidx::set::Exclusions;
use simidx::{Fingerprint, IdKind, Set, Width};
use simidx_input::{Content, Format, unescape};

use crate::support::failure::Failure;
use crate::support::records::refused;

/// What to leave out of the indexes; shared by the commands that read them.
#[derive(Debug, Clone, clap::Args)]
pub(crate) struct ExcludeArgs {
    /// File of what to leave out of the indexes, one on each line
    #[arg(long, value_name = "FILE")]
    exclude: Option<PathBuf>,
    /// File of what to leave out of one of the indexes, as --exclude from all. May be repeated
    #[arg(long, value_names = ["INDEX", "FILE"], num_args = 2)]
    exclude_from: Vec<PathBuf>,
    /// What the lines of the files are [default: fingerprint]
    #[arg(long, value_enum, value_name = "WHAT")]
    exclude_by: Option<ExcludeBy>,
}

/// How lists name records.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, clap::ValueEnum)]
enum ExcludeBy {
    /// Hexadecimal fingerprints; all records of each are left out
    #[default]
    Fingerprint,
    /// Ids; the records with each are left out
    Id,
}

impl ExcludeArgs {
    /// Checks that nothing is to be left out where there are no indexes to leave it out of: `remedy` says what to do then.
    ///
    /// # Errors
    /// Something is.
    pub(crate) fn refuse(&self, remedy: &str) -> Result<(), Failure> {
        let has_list = self.exclude.is_some() || !self.exclude_from.is_empty();
        if !has_list && self.exclude_by.is_none() {
            return Ok(());
        }
        Err(Failure::new(format!(
            "--exclude leaves records out of indexes; {remedy}"
        )))
    }

    /// The files.
    pub(crate) fn paths(&self) -> impl Iterator<Item = &PathBuf> {
        let of_one = self.exclude_from.as_chunks().0.iter();
        self.exclude.iter().chain(of_one.map(|[_, list]| list))
    }

    /// The files, each with the number of the index that it is for, if it is for one only, by the names of the indexes.
    ///
    /// # Errors
    /// No index, or several, of a name, or no file where it is said what files hold.
    fn lists(&self, names: &[String]) -> Result<Vec<(Option<usize>, &Path)>, Failure> {
        let of_all = self.exclude.iter().map(|list| (None, list.as_path()));
        let mut lists: Vec<_> = of_all.collect();
        for [index, list] in self.exclude_from.as_chunks().0 {
            lists.push((Some(number_of(index, names)?), list.as_path()));
        }
        if lists.is_empty() && self.exclude_by.is_some() {
            let message = "--exclude-by says what a list holds; give one with --exclude";
            return Err(Failure::new(message));
        }
        Ok(lists)
    }

    /// Calls `gather` for each list, with the number of the segment that it is for, if it is for one only, and with what adds the
    /// list to exclusions.
    ///
    /// # Errors
    /// What is wrong with the options or the files, or what `gather` returns.
    pub(crate) fn for_each_list(
        &self,
        set: &Set,
        mut gather: impl FnMut(Option<usize>, AddList<'_>) -> Result<(), Failure>,
    ) -> Result<(), Failure> {
        let (by, kind) = (self.exclude_by.unwrap_or_default(), set.id_kind());
        for (only, list) in self.lists(set.names())? {
            gather(only, &|exclusions| {
                add_list((list, set.width()), by, kind, exclusions)
            })?;
        }
        Ok(())
    }

    /// The set without what is in the files.
    ///
    /// # Errors
    /// What is wrong with the files or the set.
    pub(crate) fn apply(&self, set: Set) -> Result<Set, Failure> {
        let mut live = set.clone();
        self.for_each_list(&set, |only, add| {
            let mut exclusions = Exclusions::default();
            add(&mut exclusions)?;
            live = match only {
                None => live.clone().without(&exclusions)?,
                Some(number) => live.clone().without_from(number, &exclusions)?,
            };
            Ok(())
        })?;
        Ok(live)
    }
}

/// What adds the contents of a file to exclusions.
type AddList<'l> = &'l dyn Fn(&mut Exclusions) -> Result<(), Failure>;

/// The number of the index that has a name.
///
/// # Errors
/// There is none, or several have it.
fn number_of(index: &Path, names: &[String]) -> Result<usize, Failure> {
    let name = index.display().to_string();
    let mut named = names
        .iter()
        .enumerate()
        .filter(|(_, other)| **other == name);
    let problem = match (named.next(), named.next()) {
        (Some((number, _)), None) => return Ok(number),
        (None, _) => "is none of the indexes; name one as it is named among them",
        _ => "is given twice; name it in two ways",
    };
    Err(Failure::new(format!("--exclude-from: {problem}")).about(name))
}

/// Adds the contents of a file to exclusions from indexes with such ids.
///
/// # Errors
/// The file cannot be read, or a line of it names no records of such indexes.
fn add_list(
    (path, width): (&Path, Width),
    by: ExcludeBy,
    ids: IdKind,
    exclusions: &mut Exclusions,
) -> Result<(), Failure> {
    let format = match by {
        ExcludeBy::Fingerprint => Format::Hex,
        ExcludeBy::Id => Format::Lines,
    };
    let options = width.into();
    let mut reader = simidx_input::open_with(path, Some(format), &options)?;
    while let Some(record) = reader.next() {
        let record = record?;
        let problem = match record.content {
            Content::Fingerprint(_) if record.id.is_some() => {
                // The user may mean this record only.
                Some("has an id too, but all records of the fingerprint would be left out; remove the id".into())
            }
            Content::Fingerprint(fingerprint) => {
                exclusions.add_fingerprint(fingerprint);
                None
            }
            Content::Text(id) => add_id(exclusions, ids, &id)?,
        };
        if let Some(problem) = problem {
            let (source, place) = reader.place();
            return Err(refused(source, place, problem));
        }
    }
    Ok(())
}

/// Adds an id, or says what is wrong with it.
///
/// # Errors
/// A temporary file cannot be written.
fn add_id(exclusions: &mut Exclusions, ids: IdKind, id: &str) -> Result<Option<String>, Failure> {
    Ok(match (ids, u64::parse_dec(id)) {
        // As dump and query print it.
        (IdKind::String, _) => match unescape(id) {
            Ok(id) => {
                exclusions.add_string(&id)?;
                None
            }
            Err(error) => Some(format!("the id {id:?}: {error}")),
        },
        (IdKind::Number, Some(id)) => {
            exclusions.add_number(id)?;
            None
        }
        (IdKind::Number, None) => Some(format!("the id {id:?} is not a number below 2^64")),
        _ => Some("is an id, but the index stores no ids".into()),
    })
}
