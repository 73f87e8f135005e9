//! Where documents stand among the records of the inputs.

use crate::support::failure::Failure;

/// Where the documents stand among all records of the inputs. Memory: 8 bytes for each record that was skipped.
#[derive(Debug, Default)]
pub(crate) struct Positions {
    /// The positions of records that are no documents, ascending.
    skipped: Vec<u64>,
    /// The position after the last document.
    end: u64,
    /// Number of all records.
    total: u64,
}

impl Positions {
    /// The next documents stand here, one after the other.
    pub(crate) fn push(&mut self, position: u64, count: u64) {
        self.skipped.extend(self.end..position);
        self.end = position + count;
    }

    /// The document that stands at a position; none if the record is no document.
    pub(crate) fn document_at(&self, position: u64) -> Option<usize> {
        let before = self.skipped.partition_point(|&skipped| skipped < position);
        let is_skipped = self.skipped.get(before) == Some(&position);
        (position < self.end && !is_skipped).then(|| position as usize - before)
    }

    /// Where a document stands.
    pub(crate) fn of(&self, document: usize) -> u64 {
        let document = document as u64;
        let before = |i: usize| self.skipped[i] - i as u64;
        let (mut low, mut high) = (0, self.skipped.len());
        while low < high {
            let middle = low.midpoint(high);
            match before(middle) <= document {
                true => low = middle + 1,
                false => high = middle,
            }
        }
        document + low as u64
    }

    /// Says that there are so many records.
    pub(crate) fn end_at(&mut self, total: u64) {
        self.total = total;
    }

    /// Number of records that are no documents.
    pub(crate) fn skipped_count(&self) -> u64 {
        self.skipped.len() as u64 + (self.total - self.end)
    }

    /// Says whether a further pass over the records, of which there were so many, had as many as the first one.
    pub(crate) fn check(&self, count: u64) -> Result<(), Failure> {
        if count == self.total {
            return Ok(());
        }
        let first = self.total;
        let message = format!("the inputs have changed: {first} records at first, {count} later");
        Err(Failure::new(message))
    }

    /// Goes through all records once more.
    pub(crate) fn walk(&self) -> Walk<'_> {
        Walk {
            positions: self,
            position: 0,
            passed: 0,
        }
    }
}

/// A further pass over the records.
pub(crate) struct Walk<'a> {
    positions: &'a Positions,
    position: u64,
    /// Number of skipped records so far.
    passed: usize,
}

impl Walk<'_> {
    /// The document that the next record is.
    pub(crate) fn next(&mut self) -> Option<usize> {
        let position = self.position;
        self.position += 1;
        if self.positions.skipped.get(self.passed) == Some(&position) {
            self.passed += 1;
            return None;
        }
        (position < self.positions.end).then(|| position as usize - self.passed)
    }

    /// Number of records so far.
    pub(crate) fn position(&self) -> u64 {
        self.position
    }

    /// Says whether the pass had as many records as the first one.
    pub(crate) fn check_complete(&self) -> Result<(), Failure> {
        self.positions.check(self.position)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn positions_count_what_was_skipped() {
        let mut positions = Positions::default();
        for (position, count) in [(2, 1), (3, 4), (7, 1), (10, 2), (20, 1)] {
            positions.push(position, count);
        }
        positions.end_at(25);
        let expected = [2, 3, 4, 5, 6, 7, 10, 11, 20];
        let found: Vec<u64> = (0..9).map(|document| positions.of(document)).collect();
        assert_eq!(found, expected);
        assert_eq!(positions.skipped_count(), 25 - 9);
        let mut walk = positions.walk();
        let walked: Vec<u64> = (0..25u64).filter(|_| walk.next().is_some()).collect();
        assert_eq!(walked, expected);
        let found: Vec<u64> = (0..25)
            .filter(|&position| positions.document_at(position).is_some())
            .collect();
        assert_eq!(found, expected);
        for (document, &position) in expected.iter().enumerate() {
            assert_eq!(positions.document_at(position), Some(document));
        }
        assert!(walk.check_complete().is_ok());
        walk.next();
        assert!(walk.check_complete().is_err());
    }
}
