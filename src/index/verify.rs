//! The full check of a file: every block, every page, every rule (spec, section 12).

use super::Index;
use super::ids::Rank;
use super::open::parse;
use super::table::BLOCKS_READ_TOGETHER;
use crate::error::{Error, FormatError};
use crate::fingerprint::Fingerprint;
use crate::format::{HEADER_LEN, Header};

/// Fingerprints that are compared between tables at a time: a bound on memory.
const COMPARE_COUNT: usize = 1 << 25;

/// Pages of ids that are asked for at a time.
const PAGES_READ_AHEAD: usize = 512;

/// Most problems that a report keeps; it counts all of them.
const KEPT_PROBLEMS: usize = 20;

/// What a full check looked at and what it found.
///
/// ```
/// # use simidx::{BuildOptions, Index, IndexBuilder};
/// # let mut builder = IndexBuilder::<u64>::new(BuildOptions::default())?;
/// # builder.push(7)?;
/// # let mut file = Vec::new();
/// # builder.finish(&mut file)?;
/// let report = Index::<u64, _>::from_bytes(file)?.verify();
/// assert!(report.is_sound());
/// assert_eq!(report.fingerprint_count, 1);
/// # Ok::<(), simidx::Error>(())
/// ```
#[derive(Debug, Clone, PartialEq, Eq, Default)]
#[non_exhaustive]
pub struct VerifyReport {
    /// Blocks checked, of all tables.
    pub block_count: u64,
    /// Pages of ids checked.
    pub page_count: u64,
    /// Fingerprints found in table 0.
    pub fingerprint_count: u64,
    /// Problems found.
    pub problem_count: u64,
    /// The first problems, at most twenty.
    pub problems: Vec<FormatError>,
}

impl VerifyReport {
    /// Whether nothing is wrong with the file.
    pub fn is_sound(&self) -> bool {
        self.problem_count == 0
    }

    fn add(&mut self, problem: FormatError) {
        self.problem_count += 1;
        if self.problems.len() < KEPT_PROBLEMS {
            self.problems.push(problem);
        }
    }

    /// Adds the error if there is one; whether there was none.
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

/// A part of a full check, reported as it begins.
///
/// ```
/// # use simidx::{BuildOptions, Index, IndexBuilder};
/// use simidx::verify::VerifyStage;
///
/// # let mut builder = IndexBuilder::<u64>::new(BuildOptions::default())?;
/// # builder.push(7)?;
/// # let mut file = Vec::new();
/// # builder.finish(&mut file)?;
/// # let index = Index::<u64, _>::from_bytes(file)?;
/// let mut stages = Vec::new();
/// index.verify_with(|stage| stages.push(stage));
/// assert_eq!(stages[0], VerifyStage::Blocks(0));
/// # Ok::<(), simidx::Error>(())
/// ```
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub enum VerifyStage {
    /// The blocks of a table are decoded.
    Blocks(usize),
    /// The ids are read.
    Ids,
    /// A table is compared with table 0.
    Compare(usize),
}

impl<F: Fingerprint, D: AsRef<[u8]>> Index<F, D> {
    /// Checks every byte of the file against every rule of the format, also what opening and queries have checked before: a
    /// mapped file may have been overwritten since. Queries refuse the blocks and pages found damaged from then on.
    ///
    /// Time: the file is opened again, each table is decoded, and each further one decoded and sorted again for every 2^25
    /// fingerprints of table 0; memory: 2^26 fingerprints, or what opening takes.
    pub fn verify(&self) -> VerifyReport {
        self.verify_with(|_| ())
    }

    /// [`Index::verify`] that tells `progress` of each part as it begins.
    pub fn verify_with(&self, mut progress: impl FnMut(VerifyStage)) -> VerifyReport {
        let mut report = VerifyReport::default();
        report.check(self.check_opening());
        let mut sound = Vec::with_capacity(self.tables.len());
        for table in 0..self.tables.len() {
            progress(VerifyStage::Blocks(table));
            sound.push(self.verify_blocks(table, &mut report));
        }
        if self.ids.is_some() {
            progress(VerifyStage::Ids);
            self.verify_ids(sound[0], &mut report);
        }
        report.check(self.check_gaps());
        for table in (1..self.tables.len()).filter(|&t| sound[0] && sound[t]) {
            progress(VerifyStage::Compare(table));
            report.check(self.compare_with_table_0(table));
        }
        report
            .problems
            .sort_by_key(|problem| place_in_order(problem.rule()));
        report
    }

    /// The rules of stage "open" once more, for what of the file has been read for good.
    fn check_opening(&self) -> Result<(), FormatError> {
        let header = Header::decode(self.bytes())?;
        match parse::<F>(&header, self.bytes()) {
            Ok(parts) if parts.directory == self.directory => Ok(()),
            Err(Error::Format(error)) => Err(error),
            // Another index, of this width or another.
            _ => {
                let message = "the directory is another one than when the file was opened";
                Err(FormatError::damaged(7, message))
            }
        }
    }

    /// V34 for the bytes between sections.
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

    /// V21 to V27 and V35 for one table; whether all hold.
    fn verify_blocks(&self, number: usize, report: &mut VerifyReport) -> bool {
        let table = &self.tables[number];
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
        if number == 0 {
            report.fingerprint_count = total;
        }
        if sound && total != self.len() {
            let message = format!("{total} values, should be {}", self.len());
            report.add(FormatError::damaged(35, message).in_table(number));
            sound = false;
        }
        sound
    }

    /// V28 to V33.
    fn verify_ids(&self, table_0_is_sound: bool, report: &mut VerifyReport) {
        let Some(ids) = &self.ids else { return };
        let mut sound = true;
        for section in ids.paged_sections() {
            for page in 0..section.page_count() {
                if page.is_multiple_of(PAGES_READ_AHEAD) {
                    section.read_ahead(self.bytes(), page, PAGES_READ_AHEAD);
                }
                report.page_count += 1;
                sound &= report.check(section.check_page_again(self.bytes(), page));
            }
        }
        if !sound {
            return;
        }
        sound &= report.check(ids.check_groups(self.bytes()));
        sound &= report.check(ids.check_strings(self.bytes()));
        report.check(ids.check_spare_bits(self.bytes()));
        if sound && table_0_is_sound {
            report.check(self.check_id_order());
        }
    }

    /// V30 for all ids, then V33.
    fn check_id_order(&self) -> Result<(), FormatError> {
        let Some(ids) = &self.ids else { return Ok(()) };
        let mut order = Ok(());
        for rank in 0..self.len() {
            let (mut ascending, mut last) = (true, None);
            let mut of_rank = ids.of(self.bytes(), Rank(rank))?;
            while let Some(id) = of_rank.read()? {
                ascending &= last <= Some(id);
                last = Some(id);
            }
            if !ascending && order.is_ok() {
                let message = format!("the ids of rank {rank} do not ascend");
                order = Err(FormatError::damaged(33, message));
            }
        }
        order
    }

    /// V36: collects from the table what falls into a range of table 0, range by range, and compares.
    fn compare_with_table_0(&self, number: usize) -> Result<(), FormatError> {
        let differs =
            || FormatError::damaged(36, "holds other fingerprints than table 0").in_table(number);
        let mut block = 0;
        let mut expected = Vec::new();
        while block < self.tables[0].block_count() {
            expected.clear();
            let table_0 = &self.tables[0];
            let low = block.checked_sub(1).map(|b| table_0.keys.get(b));
            while block < table_0.block_count() && expected.len() < COMPARE_COUNT {
                table_0.read_ahead(self.bytes(), block);
                let next = table_0.block_count().min(block + BLOCKS_READ_TOGETHER);
                table_0.read_blocks(self.bytes(), block..next, &mut expected)?;
                block = next;
            }
            let high = table_0.keys.get(block - 1);
            let wanted = |f| low.is_none_or(|l| l < f) && f <= high;
            let found = self.collect(number, expected.len(), wanted)?;
            if found.len() != expected.len() || found.iter().zip(&expected).any(|(f, e)| *f != e.0)
            {
                return Err(differs());
            }
        }
        Ok(())
    }

    /// The fingerprints of a table that satisfy a condition, in numeric order; of more than `most` only some.
    fn collect(
        &self,
        number: usize,
        most: usize,
        wanted: impl Fn(F) -> bool,
    ) -> Result<Vec<F>, FormatError> {
        let table = &self.tables[number];
        let (mut values, mut found) = (Vec::new(), Vec::new());
        for block in (0..table.block_count()).step_by(BLOCKS_READ_TOGETHER) {
            values.clear();
            table.read_ahead(self.bytes(), block);
            let next = table.block_count().min(block + BLOCKS_READ_TOGETHER);
            table.read_blocks(self.bytes(), block..next, &mut values)?;
            let fingerprints = values.iter().map(|&v| table.permutation.invert(v));
            found.extend(fingerprints.filter(|&f| wanted(f)));
            if found.len() > most {
                break;
            }
        }
        F::sort(&mut found);
        Ok(found)
    }
}

/// The order in which problems are told: by stage, those of blocks and ids as they stand in the file, those
/// of the full check by rule (spec, section 12).
fn place_in_order(rule: u8) -> u8 {
    match rule {
        0..=27 => 27,
        29..=32 => 32,
        other => other,
    }
}
