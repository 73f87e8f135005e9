//! Where the bytes of a ranged index come from.

use std::fs::File;
use std::io::{self, Read, Seek, SeekFrom};
use std::ops::Range;
use std::sync::Arc;

use crate::error::Result;

/// Bytes between two ranges that are rather fetched with them than left out.
const SMALL_GAP: u64 = 1 << 10;

/// Reads ranges of a file that need not be on this machine: over HTTP, from an object store.
///
/// The calls are synchronous. Each call of [`ReadRanges::read_ranges`] is one round: an implementation does well to send the
/// requests for all ranges at once.
///
/// ```
/// use std::io;
/// use std::ops::Range;
/// use simidx::index::ranged::ReadRanges;
///
/// /// A file in memory, every range of which costs a request.
/// struct Store(Vec<u8>);
///
/// impl ReadRanges for Store {
///     fn file_len(&self) -> io::Result<u64> {
///         Ok(self.0.len() as u64)
///     }
///
///     fn read_ranges(&self, ranges: &[Range<u64>]) -> io::Result<Vec<Vec<u8>>> {
///         let get = |range: &Range<u64>| self.0.get(range.start as usize..range.end as usize);
///         let bytes = ranges.iter().map(|range| get(range).map(<[u8]>::to_vec));
///         bytes.collect::<Option<_>>().ok_or_else(|| io::ErrorKind::UnexpectedEof.into())
///     }
/// }
/// # assert_eq!(Store(vec![1, 2, 3]).read_ranges(&[1..3])?, [[2, 3]]);
/// # Ok::<(), io::Error>(())
/// ```
pub trait ReadRanges {
    /// Length of the file in bytes.
    ///
    /// # Errors
    /// What the source reports.
    fn file_len(&self) -> io::Result<u64>;

    /// The bytes of each range, in their order. The ranges lie within the length of the file, ascend and do not overlap.
    ///
    /// # Errors
    /// What the source reports. A source that returns fewer or shorter pieces is found out.
    fn read_ranges(&self, ranges: &[Range<u64>]) -> io::Result<Vec<Vec<u8>>>;
}

impl<R: ReadRanges + ?Sized> ReadRanges for &R {
    fn file_len(&self) -> io::Result<u64> {
        (**self).file_len()
    }

    fn read_ranges(&self, ranges: &[Range<u64>]) -> io::Result<Vec<Vec<u8>>> {
        (**self).read_ranges(ranges)
    }
}

impl<R: ReadRanges + ?Sized> ReadRanges for Arc<R> {
    fn file_len(&self) -> io::Result<u64> {
        (**self).file_len()
    }

    fn read_ranges(&self, ranges: &[Range<u64>]) -> io::Result<Vec<Vec<u8>>> {
        (**self).read_ranges(ranges)
    }
}

/// A file of this machine, for trying things out: a mapped [`Index`](crate::Index) is faster. Moves the position of the file.
impl ReadRanges for File {
    fn file_len(&self) -> io::Result<u64> {
        Ok(self.metadata()?.len())
    }

    fn read_ranges(&self, ranges: &[Range<u64>]) -> io::Result<Vec<Vec<u8>>> {
        let mut file = self;
        let read = |range: &Range<u64>| {
            let mut bytes = Vec::new();
            file.seek(SeekFrom::Start(range.start))?;
            Read::take(&mut file, range.end - range.start).read_to_end(&mut bytes)?;
            Ok(bytes)
        };
        ranges.iter().map(read).collect()
    }
}

/// Parts of a file that were read in one round.
#[derive(Debug, Default)]
pub(super) struct Parts(Vec<(u64, Vec<u8>)>);

impl Parts {
    /// Reads some ranges in one round, those close to each other as one. They must lie within the file.
    pub(super) fn read(source: &impl ReadRanges, mut ranges: Vec<Range<u64>>) -> Result<Self> {
        ranges.retain(|range| !range.is_empty());
        ranges.sort_unstable_by_key(|range| (range.start, range.end));
        let mut joined: Vec<Range<u64>> = Vec::with_capacity(ranges.len());
        for range in ranges {
            match joined.last_mut() {
                Some(last) if range.start <= last.end.saturating_add(SMALL_GAP) => {
                    last.end = last.end.max(range.end);
                }
                _ => joined.push(range),
            }
        }
        if joined.is_empty() {
            return Ok(Parts::default());
        }
        let pieces = source.read_ranges(&joined)?;
        let lens = joined.iter().map(|range| range.end - range.start);
        if !pieces.iter().map(|piece| piece.len() as u64).eq(lens) {
            let message = "the source gave fewer bytes than it was asked for";
            return Err(io::Error::new(io::ErrorKind::UnexpectedEof, message).into());
        }
        let starts = joined.into_iter().map(|range| range.start);
        Ok(Parts(starts.zip(pieces).collect()))
    }

    /// The bytes of a range that was among those read; none if it was not.
    pub(super) fn get(&self, range: Range<u64>) -> &[u8] {
        let after = self.0.partition_point(|(start, _)| *start <= range.start);
        let found = after.checked_sub(1).and_then(|at| {
            let (start, bytes) = &self.0[at];
            let (from, to) = (range.start - start, range.end.checked_sub(*start)?);
            bytes.get(usize::try_from(from).ok()?..usize::try_from(to).ok()?)
        });
        found.unwrap_or_default()
    }

    /// The parts, each with its offset.
    pub(super) fn into_parts(self) -> impl Iterator<Item = (u64, Vec<u8>)> {
        self.0.into_iter()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::io::Write;

    #[test]
    fn a_file_gives_its_ranges_and_close_ones_are_joined() {
        let mut file = tempfile::tempfile().unwrap();
        let bytes: Vec<u8> = (0..10_000u32).map(|i| i as u8).collect();
        file.write_all(&bytes).unwrap();
        assert_eq!(file.file_len().unwrap(), 10_000);
        let parts = Parts::read(&file, vec![9000..9001, 5..7, 100..200, 3..3]).unwrap();
        assert_eq!(parts.0.len(), 2);
        assert_eq!(parts.get(5..7), [5, 6]);
        assert_eq!(parts.get(100..200), &bytes[100..200]);
        assert_eq!(parts.get(9000..9001), &bytes[9000..9001]);
        assert_eq!(parts.get(9000..9002), &[]);
        assert_eq!(parts.get(0..5), &[]);
    }

    #[test]
    fn a_source_that_gives_too_little_is_found_out() {
        let file = tempfile::tempfile().unwrap();
        assert!(Parts::read(&file, vec![0..1, 5..6]).is_err());
    }
}
