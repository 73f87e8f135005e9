//! Writes one table in lines from its ascending values.

use std::io;

use super::sections::{PagedSection, SectionWriter};
use super::table_writer::{PART_LEN, TableRequest, WrittenTable, in_groups};
use crate::codec::Codec;
use crate::codec::lines::{LineSink, LineWriter, MAX_VALUES, address_bits};
use crate::error::{Error, Result};
use crate::extsort::{Spool, TempSpace, Values};
use crate::fingerprint::Fingerprint;
use crate::format::{ContentId, Kind, TableRecord};
use crate::threads::map_parts;
use crate::watch::{Reporter, Stage};

/// The row that is being written, and the lines, which are kept to be written after it.
struct Sections<'w, 'a> {
    row: PagedSection<'w, 'a>,
    lines: Spool,
    finer: Spool,
}

impl LineSink<io::Error> for Sections<'_, '_> {
    fn lines(&mut self, bytes: &[u8]) -> io::Result<()> {
        self.lines.write(bytes)
    }

    fn finer(&mut self, bytes: &[u8]) -> io::Result<()> {
        self.finer.write(bytes)
    }

    fn row(&mut self, bytes: Vec<u8>) -> io::Result<()> {
        self.row.write_owned(bytes)
    }
}

/// Writes the row and the lines of a table.
///
/// # Errors
/// A failure to read the values or to write the table.
pub(super) fn write<F: Fingerprint>(
    file: &mut SectionWriter<'_>,
    request: &TableRequest<F>,
    values: &mut Values<F>,
    temp: &TempSpace,
    reporter: &mut Reporter,
) -> Result<WrittenTable> {
    // The layout of the lines depends on the number of values.
    let count = values.len();
    if count > MAX_VALUES {
        let message = format!("a table in lines holds no {count} fingerprints; use several files");
        return Err(Error::option("codec", message));
    }
    let address_bits = address_bits(F::WIDTH, count);
    reporter.begin(Stage::EncodeTable(request.number), count)?;
    let mut writer = LineWriter::new(address_bits);
    let mut sections = Sections {
        row: file.begin_paged(Kind::LOW_BITS, request.number, count, temp)?,
        lines: temp.spool(),
        finer: temp.spool(),
    };
    let mut content_id = ContentId::default();
    in_groups(values, request.parts_at_a_time, &mut |group| {
        // The values of table 0 are the fingerprints.
        if request.number == 0 {
            let sums = map_parts(group, PART_LEN, |_, part| ContentId::of_fingerprints(part));
            sums.iter().for_each(|sum| content_id.add(sum.to_u128()));
        }
        writer.push(group, &mut sections)?;
        reporter.written(sections.row.offset());
        reporter.advance(group.len() as u64)?;
        Ok(())
    })?;
    writer.finish(&mut sections)?;
    let Sections {
        row,
        mut lines,
        mut finer,
    } = sections;
    row.end()?;
    let mut section = file.begin_paged(Kind::LINES, request.number, count, temp)?;
    for spool in [&mut lines, &mut finer] {
        spool.read(1, |bytes| section.write(bytes))?;
    }
    section.end()?;
    Ok(WrittenTable {
        record: TableRecord {
            prefix_mask: request.mask.to_u128(),
            block_count: writer.line_count(),
            codec: Codec::Lines,
            address_bits,
            code_lengths: vec![0; F::WIDTH as usize],
        },
        blocks: None,
        content_id,
    })
}
