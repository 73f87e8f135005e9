//! The contents of a journal when it is opened, and writing them to a new file.

use std::fs;
use std::path::Path;

use redb::{Database, ReadOnlyTable, ReadTransaction, ReadableTable, TableDefinition, TableHandle};
use simidx::Width;

use super::change::{Rows, checked, with_checksum};
use super::{CHANGES, Change, DELETED, builder, damaged, journal_error};
use crate::error::{Error, Result, at};
use crate::system::sync_folder;

/// The name of an incomplete journal; such files are removed.
const UNFINISHED: &str = ".simidx-journal.tmp";
/// A journal is rewritten if its file has more bytes than this for each byte of a row, above a size that is always
/// fine.
const MOSTLY_FREE: u64 = 4;
const SMALL: u64 = 8 << 20;

/// The contents of a journal when it is opened.
#[derive(Debug)]
pub(crate) struct Recovered {
    width: Width,
    /// The changes that are not sealed, with their numbers, in order.
    pub(crate) changes: Vec<(u64, Change)>,
    /// The deletions of records in segments.
    pub(crate) deleted: Vec<(u64, String)>,
    /// The generations of the changes, in order, each with its last change.
    pub(crate) generations: Vec<(u64, u64)>,
    /// The last change, whether sealed or not.
    pub(crate) last: u64,
    /// Bytes of the rows.
    row_bytes: u64,
}

/// Reads the tables of a collection of a width, if the changes up to `sealed` are in segments.
///
/// # Errors
/// A damaged row, a missing change, and any error of redb.
pub(super) fn read(read: &ReadTransaction, width: Width, sealed: u64) -> Result<Recovered> {
    let mut recovered = Recovered {
        width,
        changes: Vec::new(),
        deleted: Vec::new(),
        generations: Vec::new(),
        last: sealed,
        row_bytes: 0,
    };
    for table in read.list_tables().map_err(journal_error)? {
        let name = table.name();
        let generation = name.strip_prefix(CHANGES).map(str::parse);
        match generation {
            Some(Ok(generation)) => recovered.generations.push((generation, 0)),
            None if name == DELETED.name() => {}
            _ => {
                return Err(Error::Journal(format!(
                    "the journal is of another version of simidx: it has the table {name}"
                )));
            }
        }
    }
    recovered.generations.sort_unstable();
    for (generation, last) in &mut recovered.generations {
        let name = format!("{CHANGES}{generation}");
        let table = read.open_table(TableDefinition::new(&name));
        recovered.row_bytes += each_row(&table.map_err(journal_error)?, |number, row| {
            let change = Change::decode(width, number, row)
                .ok_or_else(|| damaged(&format!("change {number} fails its checksum")))?;
            *last = number;
            if number > sealed {
                recovered.changes.push((number, change));
            }
            Ok(())
        })?;
    }
    // Changes and generations are in order, so a missing or repeated one is detected.
    for &(number, _) in &recovered.changes {
        if number != recovered.last + 1 {
            let missing = recovered.last + 1;
            return Err(damaged(&format!("change {missing} is missing")));
        }
        recovered.last = number;
    }
    match read.open_table(DELETED) {
        Err(redb::TableError::TableDoesNotExist(_)) => {}
        table => {
            recovered.row_bytes += each_row(&table.map_err(journal_error)?, |number, row| {
                let id = checked(Rows::Deleted, number, row)
                    .and_then(|id| String::from_utf8(id.to_vec()).ok())
                    .filter(|_| number <= recovered.last)
                    .ok_or_else(|| damaged(&format!("deletion {number} fails its checksum")))?;
                recovered.deleted.push((number, id));
                Ok(())
            })?;
        }
    }
    Ok(recovered)
}

/// Calls `take` with the number and the bytes of each row of a table, in order. Returns the number of all bytes.
fn each_row(
    table: &ReadOnlyTable<u64, &'static [u8]>,
    mut take: impl FnMut(u64, &[u8]) -> Result<()>,
) -> Result<u64> {
    let mut len = 0;
    for row in table.iter().map_err(journal_error)? {
        let (number, row) = row.map_err(journal_error)?;
        take(number.value(), row.value())?;
        len += row.value().len() as u64;
    }
    Ok(len)
}

impl Recovered {
    /// Returns whether a journal with these rows has far more space than they need.
    pub(super) fn is_small_in(&self, file_len: u64) -> bool {
        file_len > SMALL + MOSTLY_FREE * self.row_bytes
    }

    /// Returns the generation of a change that is not sealed.
    fn generation_of(&self, number: u64) -> u64 {
        let place = self.generations.partition_point(|&(_, last)| last < number);
        self.generations.get(place).map_or(1, |&(name, _)| name)
    }

    /// Writes a journal with only these rows, and gives it its name when it is on disk.
    ///
    /// # Errors
    /// Any error of redb and the operating system; an existing journal of that name stays unchanged.
    pub(super) fn write(&self, path: &Path) -> Result<()> {
        write_new(path, |database| {
            let write = database.begin_write().map_err(journal_error)?;
            let generation = |row: &(u64, Change)| self.generation_of(row.0);
            let groups = self.changes.chunk_by(|a, b| generation(a) == generation(b));
            for group in groups {
                let name = format!("{CHANGES}{}", generation(&group[0]));
                let table = write.open_table(TableDefinition::<u64, &[u8]>::new(&name));
                let mut table = table.map_err(journal_error)?;
                for (number, change) in group {
                    let row = change.encode(self.width, *number);
                    table.insert(number, &row[..]).map_err(journal_error)?;
                }
            }
            if !self.deleted.is_empty() {
                let mut table = write.open_table(DELETED).map_err(journal_error)?;
                for (number, id) in &self.deleted {
                    let row = with_checksum(Rows::Deleted, *number, id.clone().into_bytes());
                    table.insert(number, &row[..]).map_err(journal_error)?;
                }
            }
            write.commit().map_err(journal_error)
        })
    }
}

/// Creates a journal under another name, and gives it its own when it is on disk.
///
/// # Errors
/// Any error of redb and the operating system.
pub(super) fn write_new(path: &Path, fill: impl FnOnce(&Database) -> Result<()>) -> Result<()> {
    let folder = path.parent().unwrap_or(Path::new(""));
    let unfinished = folder.join(UNFINISHED);
    let written = || {
        if unfinished.exists() {
            fs::remove_file(&unfinished).map_err(at(&unfinished))?;
        }
        let database = builder().create(&unfinished).map_err(journal_error)?;
        fill(&database)?;
        database.close().map_err(journal_error)?;
        fs::rename(&unfinished, path).map_err(at(path))?;
        sync_folder(folder).map_err(at(folder))
    };
    let written = written();
    if written.is_err() {
        let _ = fs::remove_file(&unfinished);
    }
    written
}
