//! Reads the sketches of the records of an index (spec, section 10.4).

use std::ops::Range;

use super::Index;
use super::ids::IdBuffer;
use super::open::slice;
use super::paged::Paged;
use crate::error::{Error, FormatError, Result};
use crate::fingerprint::Fingerprint;
use crate::format::{IdKind, Kind, PAGE_LEN, SketchParameters};
use crate::id::IdBuf;

/// The sketch section of an open index.
#[derive(Debug)]
pub(super) struct SketchSection {
    parameters: SketchParameters,
    pages: Paged,
    count: u64,
}

/// The sketches of the records of an index. Created by [`Index::sketches`].
///
/// In an index with ids, sketch i belongs to record i in the order of [`Index::records`]. Without ids, it belongs to
/// the fingerprint of rank i; of several records, the sketch with the smallest bytes is kept. Sketches are read in
/// place, and each page of 4,096 bytes is checked on first use. A page holds 128 sketches of 256 bits, and its check
/// takes about 0.3 microseconds.
///
/// ```
/// use simidx::format::SketchParameters;
/// use simidx::{BuildOptions, Index, IndexBuilder, Width};
///
/// let mut options = BuildOptions::default();
/// options.sketches = Some(SketchParameters::new(128, "words:3 html:no")?);
/// let mut builder = IndexBuilder::new(Width::W64, options)?;
/// builder.push_with_sketch(42_u64, None, &[1, 2])?;
/// builder.push_with_sketch(7_u64, None, &[3, 4])?;
/// let mut file = Vec::new();
/// builder.finish(&mut file)?;
///
/// let index = Index::<u64>::from_bytes(file)?;
/// let sketches = index.sketches()?.expect("the index has sketches");
/// assert_eq!((sketches.parameters().bits(), sketches.len()), (128, 2));
/// let mut words = Vec::new();
/// sketches.read(0..2, &mut words)?;
/// assert_eq!(words, [3, 4, 1, 2]);
/// # Ok::<(), simidx::Error>(())
/// ```
#[derive(Debug, Clone, Copy)]
pub struct Sketches<'a> {
    section: &'a SketchSection,
    file: &'a [u8],
}

impl<'a> Sketches<'a> {
    /// Returns the length of the sketches and the method that made them.
    pub fn parameters(&self) -> &'a SketchParameters {
        &self.section.parameters
    }

    /// Number of sketches.
    pub fn len(&self) -> u64 {
        self.section.count
    }

    /// Whether there are no sketches.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// Appends some sketches to `words`, as [`SketchParameters::u64_count`] numbers each. Bit i of a sketch is bit i
    /// mod 64 of its number i / 64.
    ///
    /// # Errors
    /// A range beyond the last sketch, or a damaged page.
    pub fn read(&self, numbers: Range<u64>, words: &mut Vec<u64>) -> Result<()> {
        if numbers.start > numbers.end || numbers.end > self.len() {
            let message = format!("there are no sketches {numbers:?}, but {}", self.len());
            return Err(Error::option("sketches", message));
        }
        let len = self.parameters().sketch_len() as u64;
        // The section lies in the file, so its length fits a usize.
        let bytes = (numbers.start * len) as usize..(numbers.end * len) as usize;
        let bytes = self.section.pages.bytes(self.file, bytes)?;
        let (numbers, _) = bytes.as_chunks::<8>();
        words.extend(numbers.iter().map(|number| u64::from_le_bytes(*number)));
        Ok(())
    }
}

impl<F: Fingerprint> Index<F> {
    /// Returns the sketches of the records; `None` if the index has none made by a method that this version knows. The
    /// first call checks the section header.
    ///
    /// # Errors
    /// A damaged section header.
    #[doc(hidden)]
    pub fn sketches(&self) -> Result<Option<Sketches<'_>>> {
        let section = match self.sketches.get() {
            Some(section) => section,
            None => {
                let section = self.read_sketch_section()?;
                self.sketches.get_or_init(|| section)
            }
        };
        Ok(section.as_ref().map(|section| Sketches {
            section,
            file: self.bytes(),
        }))
    }

    /// Reads the section and checks V43.
    fn read_sketch_section(&self) -> Result<Option<SketchSection>, FormatError> {
        let sections = self.directory.sections.iter();
        let mut found = sections.filter(|section| section.kind == Kind::SKETCHES);
        let Some(record) = found.next() else {
            return Ok(None);
        };
        let v43 = |fault: &str| {
            FormatError::damaged(43, format!("the sketches {fault}")).at(record.offset)
        };
        if found.next().is_some() {
            return Err(v43("are there twice"));
        }
        let count = match self.id_kind() {
            IdKind::None => self.len(),
            _ => self.record_count(),
        };
        let decoded = SketchParameters::decode(slice(self.bytes(), record), count);
        let Some((parameters, head)) = decoded.map_err(v43)? else {
            return Ok(None);
        };
        let start = record.offset as usize;
        let pages = Paged::new(record.kind, 0, start + head..start + record.len as usize);
        Ok(Some(SketchSection {
            parameters,
            pages: pages.ok_or_else(|| v43("are cut"))?,
            count,
        }))
    }

    /// Checks V43, and V28 for all pages of the sketches, even if they were checked before. Returns the number of
    /// pages.
    pub(super) fn check_sketches(&self, mut take: impl FnMut(Result<(), FormatError>)) -> u64 {
        let fresh = match self.read_sketch_section() {
            Ok(Some(section)) => section,
            Ok(None) => return 0,
            Err(error) => {
                take(Err(error));
                return 0;
            }
        };
        // These are the pages that queries will refuse if they are damaged.
        let section = self.sketches.get().and_then(Option::as_ref);
        let pages = &section.unwrap_or(&fresh).pages;
        for page in 0..pages.page_count() {
            if page.is_multiple_of(PAGES_READ_AHEAD) {
                pages.read_ahead(self.bytes(), page, PAGES_READ_AHEAD);
            }
            take(pages.check_page_again(self.bytes(), page));
        }
        pages.page_count() as u64
    }

    /// Returns the rank of the fingerprint of a record. Records are numbered in the order of [`Index::records`]. Takes
    /// some hundred nanoseconds.
    ///
    /// # Errors
    /// A record that does not exist, or a damaged page.
    pub fn rank_of_record(&self, record: u64) -> Result<u64> {
        self.check_record(record)?;
        match &self.ids {
            Some(ids) => Ok(ids.rank_of_index(self.bytes(), record)?.0),
            None => Ok(record),
        }
    }

    /// Returns the id of a record by its number; `None` if the index has no ids. Takes as long as [`Index::ids`] for
    /// one match.
    ///
    /// # Errors
    /// A record that does not exist, or a damaged page.
    pub fn id_of_record(&self, record: u64) -> Result<Option<IdBuf>> {
        self.check_record(record)?;
        let Some(ids) = &self.ids else {
            return Ok(None);
        };
        let mut buffer = IdBuffer::default();
        let id = ids.read(self.bytes(), record, &mut buffer)?;
        Ok(Some(id.into()))
    }

    /// Checks the number of a record.
    ///
    /// # Errors
    /// A record that does not exist.
    pub(crate) fn check_record(&self, record: u64) -> Result<()> {
        let count = match &self.ids {
            Some(ids) => ids.record_count(),
            None => self.len(),
        };
        if record < count {
            return Ok(());
        }
        let message = format!("there is no record {record}, the index has {count}");
        Err(Error::option("record", message))
    }

    /// Returns the key of the id of a record, see [`Index::all_keys`]; `None` without ids.
    ///
    /// # Errors
    /// A damaged page.
    pub(crate) fn key_of_record(&self, record: u64) -> Result<Option<u64>> {
        let ids = self.ids.as_ref();
        Ok(ids.map(|ids| ids.key(self.bytes(), record)).transpose()?)
    }
}

/// Pages to request at a time.
const PAGES_READ_AHEAD: usize = (2 << 20) / PAGE_LEN;
