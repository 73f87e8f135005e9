//! The full check of a file: every block, every page, every rule (spec, section 12).

use std::ops::Range;

use super::Index;
use super::blocks::{BLOCKS_READ_TOGETHER, BlockTable};
use super::ids::{IdSections, IdSequence, Rank};
use super::open::{check_record_checksum, parse, slice};
use super::paged::Paged;
use super::records::READ_AHEAD_LEN;
use super::table::{PARTS_READ_TOGETHER, Table};
use crate::error::{Error, FormatError};
use crate::fingerprint::Fingerprint;
use crate::format::{ContentId, HEADER_LEN, Header, ItemDigest};
use crate::id::Id;
use crate::watch::{Stage, Watch};

/// The most fingerprints that are compared between tables at a time, to bound memory.
const COMPARE_COUNT: usize = 1 << 25;

/// Pages of ids to request at a time.
const PAGES_READ_AHEAD: usize = 512;

/// The most problems that a report keeps; it counts all of them.
const KEPT_PROBLEMS: usize = 20;

/// The results of a full check.
///
/// ```
/// # use simidx::{BuildOptions, Index, IndexBuilder, Width};
/// # let mut builder = IndexBuilder::new(Width::W64, BuildOptions::default())?;
/// # builder.push(7_u64)?;
/// # let mut file = Vec::new();
/// # builder.finish(&mut file)?;
/// let report = Index::<u64>::from_bytes(file)?.verify(&Default::default())?;
/// assert!(report.is_sound());
/// assert_eq!(report.fingerprint_count, 1);
/// # Ok::<(), simidx::Error>(())
/// ```
#[derive(Debug, Clone, PartialEq, Eq, Default)]
#[non_exhaustive]
pub struct VerifyReport {
    /// Number of blocks checked, in all tables.
    pub block_count: u64,
    /// Number of pages checked, of tables in lines and of ids.
    pub page_count: u64,
    /// Number of pages of sketches checked.
    pub sketch_page_count: u64,
    /// Number of fingerprints in table 0.
    pub fingerprint_count: u64,
    /// Number of problems found.
    pub problem_count: u64,
    /// The first problems, at most twenty.
    pub problems: Vec<FormatError>,
}

impl VerifyReport {
    /// Whether there are no problems.
    pub fn is_sound(&self) -> bool {
        self.problem_count == 0
    }

    fn add(&mut self, problem: FormatError) {
        self.problem_count += 1;
        if self.problems.len() < KEPT_PROBLEMS {
            self.problems.push(problem);
        }
    }

    /// Adds the error if there is one; returns the value otherwise.
    fn value<T>(&mut self, result: Result<T, FormatError>) -> Option<T> {
        result.map_err(|problem| self.add(problem)).ok()
    }

    /// Adds the error if there is one. Returns whether there was none.
    fn check(&mut self, result: Result<(), FormatError>) -> bool {
        match result {
            Ok(()) => true,
            Err(problem) => {
                self.add(problem);
                false
            }
        }
    }
}

/// Problems of tables in lines that are reported after others, in the order of the rules.
#[derive(Debug, Default)]
struct Later {
    /// V34.
    spare: Vec<FormatError>,
    /// V47.
    order: Vec<FormatError>,
}

impl<F: Fingerprint> Index<F> {
    /// Checks every byte of the file against every rule of the format, including what has been checked before, since a
    /// mapped file may have been overwritten. From then on queries refuse the blocks and pages found damaged.
    ///
    /// Time: opens the file again and decodes each table; decodes and sorts each table but the first again for every
    /// 2^25 fingerprints of table 0. Memory: 2^26 fingerprints, or what opening takes. Calls the watch at the start of
    /// each part of the file.
    ///
    /// ```
    /// use std::ops::ControlFlow;
    ///
    /// use simidx::{Error, Watch};
    /// # use simidx::{BuildOptions, Index, IndexBuilder, Width};
    /// # let mut builder = IndexBuilder::new(Width::W64, BuildOptions::default())?;
    /// # builder.push(7_u64)?;
    /// # let mut file = Vec::new();
    /// # builder.finish(&mut file)?;
    /// # let index = Index::<u64>::from_bytes(file)?;
    ///
    /// let show = |progress: simidx::watch::Progress| {
    ///     println!("{:?}, {} of {}", progress.stage, progress.done, progress.total);
    ///     ControlFlow::Continue(())
    /// };
    /// assert!(index.verify(&Watch::new(show))?.is_sound());
    /// let stop = Watch::new(|_| ControlFlow::Break(()));
    /// assert!(matches!(index.verify(&stop), Err(Error::Interrupted)));
    /// # Ok::<(), simidx::Error>(())
    /// ```
    ///
    /// # Errors
    /// [`Error::Interrupted`] if the watch stops the work.
    pub fn verify(&self, watch: &Watch) -> crate::Result<VerifyReport> {
        self.verify_parts(watch, 0..self.part_count())
    }

    /// Returns the number of parts that a full check reports: each table, the ids, and the comparison of each further
    /// table with table 0.
    pub(crate) fn part_count(&self) -> u64 {
        2 * self.tables.len() as u64 - 1 + u64::from(self.ids.is_some())
    }

    /// Runs the full check. Its parts have these numbers among the parts of a set.
    pub(crate) fn verify_parts(
        &self,
        watch: &Watch,
        parts: Range<u64>,
    ) -> crate::Result<VerifyReport> {
        let mut number = parts.start;
        let mut begin = |stage| {
            number += 1;
            watch.report(stage, number - 1, parts.end)
        };
        let mut report = VerifyReport::default();
        report.check(self.check_opening());
        let (mut totals, mut later) = (Vec::with_capacity(self.tables.len()), Later::default());
        for table in 0..self.tables.len() {
            begin(Stage::CheckTable(table))?;
            totals.push(self.verify_table(table, &mut later, &mut report));
        }
        let is_whole = |table: usize| totals[table] == Some(self.len());
        let mut content_id = None;
        if let Some(ids) = &self.ids {
            begin(Stage::CheckIds)?;
            let mut is_readable = true;
            for section in ids.paged_sections() {
                is_readable &= self.verify_pages(section, &mut report);
            }
            self.verify_sketches(&mut report);
            if is_readable {
                content_id = self.verify_ids(ids, is_whole(0), &mut report);
            }
        } else {
            self.verify_sketches(&mut report);
        }
        report.check(self.check_gaps());
        later
            .spare
            .into_iter()
            .for_each(|problem| report.add(problem));
        for (table, &total) in totals.iter().enumerate() {
            if let Some(total) = total.filter(|&total| total != self.len()) {
                let message = format!("{total} values, should be {}", self.len());
                report.add(FormatError::damaged(35, message).in_table(table));
            }
        }
        for table in (1..self.tables.len()).filter(|&t| is_whole(0) && is_whole(t)) {
            begin(Stage::CompareTable(table))?;
            report.check(self.compare_with_table_0(table));
        }
        if self.ids.is_none() && is_whole(0) {
            content_id = report.value(self.content_of_fingerprints());
        }
        if let Some(content_id) = content_id {
            report.check(self.check_content_id(content_id));
        }
        report.check(self.check_ancillary());
        later
            .order
            .into_iter()
            .for_each(|problem| report.add(problem));
        Ok(report)
    }

    /// Checks the rules of the stage "open" again, for parts of the file that are read only once.
    fn check_opening(&self) -> Result<(), FormatError> {
        let header = Header::decode(self.bytes())?;
        match parse::<F>(&header, self.bytes()) {
            Ok(parts) if parts.directory == self.directory => Ok(()),
            Err(Error::Format(error)) => Err(error),
            // The file now holds another index, of this width or another.
            _ => {
                let message = "the directory is another one than when the file was opened";
                Err(FormatError::damaged(7, message))
            }
        }
    }

    /// Checks V34 for the bytes between sections.
    fn check_gaps(&self) -> Result<(), FormatError> {
        let mut end = HEADER_LEN as u64;
        let starts = self
            .directory
            .sections
            .iter()
            .map(|s| (s.offset, s.offset + s.len));
        let directory_at = starts.clone().next_back().map_or(end, |(_, end)| end);
        let directory_at = crate::format::align(directory_at, crate::format::SECTION_ALIGNMENT);
        for (start, next) in starts.chain(directory_at.map(|at| (at, at))) {
            let gap = self.bytes().get(end as usize..start as usize);
            if let Some(at) = gap.and_then(|gap| gap.iter().position(|&byte| byte != 0)) {
                let message = "a byte between two sections is not zero";
                return Err(FormatError::damaged(34, message).at(end + at as u64));
            }
            end = next;
        }
        Ok(())
    }

    /// Checks V21 to V27 for a table in blocks, V28 and V44 to V47 for one in lines. Returns the number of values if
    /// all hold.
    fn verify_table(
        &self,
        number: usize,
        later: &mut Later,
        report: &mut VerifyReport,
    ) -> Option<u64> {
        let total = match &self.tables[number] {
            Table::Blocks(table) => self.verify_blocks(table, report),
            Table::Lines(table) => {
                let mut is_sound = true;
                for section in [&table.row, &table.lines] {
                    is_sound &= self.verify_pages(section, report);
                }
                let layout = is_sound.then(|| table.check_layout(self.bytes()));
                let layout = layout.and_then(|layout| report.value(layout));
                layout.map(|layout| {
                    later
                        .spare
                        .extend(table.check_spare_bits(self.bytes()).err());
                    later.order.extend(layout.order);
                    layout.rank
                })
            }
        };
        if number == 0 {
            report.fingerprint_count = total.unwrap_or(report.fingerprint_count);
        }
        total
    }

    /// Checks V21 to V27. Returns the number of values if all hold.
    fn verify_blocks(&self, table: &BlockTable<F>, report: &mut VerifyReport) -> Option<u64> {
        let (mut total, mut sound) = (0u64, true);
        for block in 0..table.block_count() {
            if block.is_multiple_of(BLOCKS_READ_TOGETHER) {
                table.read_ahead(self.bytes(), block);
            }
            report.block_count += 1;
            match table.block_checked_again(self.bytes(), block) {
                Ok(block) => total += block.count() as u64,
                Err(problem) => {
                    report.add(problem);
                    sound = false;
                }
            }
        }
        if table.number == 0 {
            report.fingerprint_count = total;
        }
        sound.then_some(total)
    }

    /// Checks V28 for the pages of a section. Returns whether it holds for all.
    fn verify_pages(&self, section: &Paged, report: &mut VerifyReport) -> bool {
        let mut sound = true;
        for page in 0..section.page_count() {
            if page.is_multiple_of(PAGES_READ_AHEAD) {
                section.read_ahead(self.bytes(), page, PAGES_READ_AHEAD);
            }
            report.page_count += 1;
            sound &= report.check(section.check_page_again(self.bytes(), page));
        }
        sound
    }

    /// Checks V43 and V28 for the sketches.
    fn verify_sketches(&self, report: &mut VerifyReport) {
        let page_count = self.check_sketches(|checked| {
            report.check(checked);
        });
        report.sketch_page_count += page_count;
    }

    /// Checks V29 to V33, V37 for the places by which ids are read, and V34 for the bits after packed arrays. Returns
    /// the content id if all records can be read.
    fn verify_ids(
        &self,
        ids: &IdSections,
        table_0_is_whole: bool,
        report: &mut VerifyReport,
    ) -> Option<ContentId> {
        let mut content_id = None;
        if let Some(repeats) = report.value(ids.check(self.bytes()))
            && report.check(ids.check_order(self.bytes()))
            && report.check(ids.check_repeats(self.bytes(), &repeats))
            && table_0_is_whole
            && let Some((found, order)) = report.value(self.check_records(ids))
        {
            report.check(order);
            content_id = Some(found);
        }
        report.check(ids.check_spare_bits(self.bytes()));
        content_id
    }

    /// Checks V40.
    fn check_ancillary(&self) -> Result<(), FormatError> {
        let sections = self.directory.sections.iter();
        let mut ancillary = sections.filter(|s| s.kind.is_ancillary());
        ancillary.try_for_each(|s| check_record_checksum(s, slice(self.bytes(), s)))
    }

    /// Returns the content id of all records, after checking V33.
    ///
    /// # Errors
    /// A failure to read an id.
    fn check_records(
        &self,
        ids: &IdSections,
    ) -> Result<(ContentId, Result<(), FormatError>), FormatError> {
        let mut fingerprints = self.iter();
        let (mut order, mut content_id) = (Ok(()), ContentId::default());
        let mut sequence = IdSequence::new(ids, self.bytes(), READ_AHEAD_LEN);
        for rank in 0..self.len() {
            let Some(Ok(fingerprint)) = fingerprints.next() else {
                // The table was valid a moment ago: the file is being overwritten.
                return Err(FormatError::damaged(35, "fingerprints have gone").in_table(0));
            };
            let (mut ascends, mut last) = (true, None);
            for index in ids.indexes(self.bytes(), Rank(rank))? {
                if sequence.next_index() != index {
                    // The groups were valid a moment ago.
                    return Err(FormatError::damaged(29, "groups of ids have moved"));
                }
                let Some((id, slot)) = sequence.read()? else {
                    break;
                };
                let mut digest = ItemDigest::new(fingerprint);
                // Numbers may be equal, places may not.
                let now = match id {
                    Id::Number(number) => {
                        digest.add_word(number);
                        (number, index)
                    }
                    Id::String(string) => {
                        digest.add_string(string.as_bytes());
                        (slot, 0)
                    }
                };
                content_id.add(digest.finish());
                ascends &= last < Some(now);
                last = Some(now);
            }
            if !ascends && order.is_ok() {
                let message = format!("the ids of rank {rank} do not ascend");
                order = Err(FormatError::damaged(33, message));
            }
        }
        Ok((content_id, order))
    }

    /// Returns the content id of the fingerprints in table 0.
    fn content_of_fingerprints(&self) -> Result<ContentId, FormatError> {
        let mut content_id = ContentId::default();
        let mut fingerprints = self.iter();
        while let Some(chunk) = fingerprints.next_chunk() {
            let Ok(chunk) = chunk else {
                return Err(FormatError::damaged(35, "fingerprints have gone").in_table(0));
            };
            // The values of table 0 are the fingerprints.
            for value in chunk {
                content_id.add(ItemDigest::new(value.0).finish());
            }
        }
        Ok(content_id)
    }

    /// Checks V39.
    fn check_content_id(&self, found: ContentId) -> Result<(), FormatError> {
        if found == self.content_id() {
            return Ok(());
        }
        let message = format!("the contents are {found}, should be {}", self.content_id());
        Err(FormatError::damaged(39, message))
    }

    /// Checks V36: for one range of table 0 after the other, collects the values of the table in it and compares.
    fn compare_with_table_0(&self, number: usize) -> Result<(), FormatError> {
        let differs =
            || FormatError::damaged(36, "holds other fingerprints than table 0").in_table(number);
        let mut block = 0;
        let mut expected = Vec::new();
        while block < self.tables[0].part_count() {
            expected.clear();
            let table_0 = &self.tables[0];
            let low = block.checked_sub(1).map(|b| table_0.last_of_part(b));
            while block < table_0.part_count() && expected.len() < COMPARE_COUNT {
                table_0.read_ahead(self.bytes(), block);
                let next = table_0.part_count().min(block + PARTS_READ_TOGETHER);
                table_0.read_parts(self.bytes(), block..next, &mut expected)?;
                block = next;
            }
            let high = table_0.last_of_part(block - 1);
            let wanted = |f| low.is_none_or(|l| l < f) && f <= high;
            let found = self.collect(number, expected.len(), wanted)?;
            if found.len() != expected.len() || found.iter().zip(&expected).any(|(f, e)| *f != e.0)
            {
                return Err(differs());
            }
        }
        Ok(())
    }

    /// Returns the fingerprints of a table that satisfy a condition, in numeric order; only some if there are more than
    /// `most`.
    fn collect(
        &self,
        number: usize,
        most: usize,
        wanted: impl Fn(F) -> bool,
    ) -> Result<Vec<F>, FormatError> {
        let table = &self.tables[number];
        let (mut values, mut found) = (Vec::new(), Vec::new());
        for block in (0..table.part_count()).step_by(PARTS_READ_TOGETHER) {
            values.clear();
            table.read_ahead(self.bytes(), block);
            let next = table.part_count().min(block + PARTS_READ_TOGETHER);
            table.read_parts(self.bytes(), block..next, &mut values)?;
            let fingerprints = values.iter().map(|&v| table.permutation().invert(v));
            found.extend(fingerprints.filter(|&f| wanted(f)));
            if found.len() > most {
                break;
            }
        }
        F::sort(&mut found);
        Ok(found)
    }
}
