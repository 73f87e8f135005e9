//! Ids among the arguments of a command.

use simidx::{Id, IdKind, Set};

use super::failure::Failure;

/// The fingerprints of the records that have the id which an argument is, by the kind of ids of the indexes.
///
/// # Errors
/// Indexes without ids, a word that is not a number where ids are numbers, an id that no record has, or damage.
pub(crate) fn fingerprints_of(set: &Set, word: &str) -> Result<Vec<u128>, Failure> {
    let found = set.fingerprints_of_id(id(set.id_kind(), word)?)?;
    if found.is_empty() {
        return Err(Failure::new(format!("no record has the id {word:?}")));
    }
    Ok(found)
}

/// The id that an argument is.
///
/// # Errors
/// It cannot be one of this kind.
pub(crate) fn id(kind: IdKind, word: &str) -> Result<Id<'_>, Failure> {
    match kind {
        IdKind::String => Ok(Id::String(word)),
        IdKind::Number => match word.parse() {
            Ok(number) => Ok(Id::Number(number)),
            Err(_) => Err(Failure::new(format!(
                "{word:?} is not an id: those of the index are numbers below 2^64"
            ))),
        },
        IdKind::None => {
            let message = "the index has no ids; build it with --ids to look records up";
            Err(Failure::new(message))
        }
    }
}
