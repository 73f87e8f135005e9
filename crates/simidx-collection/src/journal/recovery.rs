//! What a journal has when it is opened.

use redb::{Database, ReadableDatabase, ReadableTable, TableDefinition, TableHandle};
use simidx::Fingerprint;

use super::{CHANGES, Change, DELETED, journal_error};
use crate::error::{Error, Result};

/// What a journal has when it is opened.
#[derive(Debug)]
pub(crate) struct Recovered<F> {
    /// The changes with their numbers, in order.
    pub(crate) changes: Vec<(u64, Change<F>)>,
    /// The deletions of records in segments.
    pub(crate) deleted: Vec<(u64, String)>,
    pub(crate) generations: Vec<u64>,
}

impl<F> Recovered<F> {
    /// The last change that the journal knows of.
    pub(crate) fn last(&self) -> u64 {
        let change = self.changes.last().map_or(0, |change| change.0);
        change.max(self.deleted.last().map_or(0, |deleted| deleted.0))
    }
}

/// What the tables hold.
pub(super) fn read<F: Fingerprint>(database: &Database) -> Result<Recovered<F>> {
    let read = database.begin_read().map_err(journal_error)?;
    let mut generations = Vec::new();
    for table in read.list_tables().map_err(journal_error)? {
        let number = table
            .name()
            .strip_prefix(CHANGES)
            .and_then(|number| number.parse().ok());
        generations.extend(number.map(|number: u64| number));
    }
    generations.sort_unstable();
    let damaged = || Error::Journal("damaged journal: a change cannot be read".to_owned());
    let mut changes = Vec::new();
    for &generation in &generations {
        let name = format!("{CHANGES}{generation}");
        let table = read.open_table(TableDefinition::<u64, &[u8]>::new(&name));
        for row in table
            .map_err(journal_error)?
            .iter()
            .map_err(journal_error)?
        {
            let (number, bytes) = row.map_err(journal_error)?;
            let change = Change::decode(bytes.value()).ok_or_else(damaged)?;
            changes.push((number.value(), change));
        }
    }
    changes.sort_by_key(|change| change.0);
    let mut deleted = Vec::new();
    match read.open_table(DELETED) {
        Err(redb::TableError::TableDoesNotExist(_)) => {}
        table => {
            for row in table
                .map_err(journal_error)?
                .iter()
                .map_err(journal_error)?
            {
                let (number, id) = row.map_err(journal_error)?;
                let id = String::from_utf8(id.value().to_vec()).map_err(|_| damaged())?;
                deleted.push((number.value(), id));
            }
        }
    }
    Ok(Recovered {
        changes,
        deleted,
        generations,
    })
}
