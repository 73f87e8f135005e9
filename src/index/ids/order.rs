//! Finds the records with an id, by the order of the ids if the file stores it (spec, section 9.7).

use std::ops::Range;

use super::{IdSections, IdValues, Numbers, Rank};
use crate::error::FormatError;
use crate::format::index_bits;
use crate::id::Id;
use crate::index::paged::Paged;

impl IdSections {
    /// Returns the ranks of the records with an id, ascending, repeated for each such record.
    pub(in crate::index) fn find(&self, file: &[u8], id: Id<'_>) -> Result<Vec<Rank>, FormatError> {
        let mut indexes = match (&self.values, id) {
            (IdValues::Numbers(numbers), Id::Number(wanted)) => match &self.order {
                Some(order) => self.ordered_numbers(file, numbers, order, wanted)?,
                None => self.all(|index| Ok(numbers.read(file, index)? == wanted))?,
            },
            (IdValues::Strings(dictionary), Id::String(wanted)) => {
                let places = dictionary.find(file, wanted.as_bytes())?;
                match &self.order {
                    Some(order) => self.at_places(file, order, places)?,
                    None if places.is_empty() => Vec::new(),
                    None => {
                        self.all(|index| Ok(places.contains(&dictionary.place(file, index)?)))?
                    }
                }
            }
            _ => Vec::new(),
        };
        indexes.sort_unstable();
        let ranks = indexes.into_iter();
        ranks.map(|index| self.rank_of_index(file, index)).collect()
    }

    /// Returns the indexes of all ids that satisfy a condition.
    fn all(
        &self,
        mut is_wanted: impl FnMut(u64) -> Result<bool, FormatError>,
    ) -> Result<Vec<u64>, FormatError> {
        let mut found = Vec::new();
        for index in 0..self.record_count {
            if is_wanted(index)? {
                found.push(index);
            }
        }
        Ok(found)
    }

    /// Returns the index of the id at a place of the order.
    fn at_place(&self, file: &[u8], order: &Paged, place: u64) -> Result<u64, FormatError> {
        let index = order.packed(file, place, index_bits(self.record_count))?;
        if index < self.record_count {
            return Ok(index);
        }
        Err(order.damaged(37, "there is no such id"))
    }

    fn at_places(
        &self,
        file: &[u8],
        order: &Paged,
        places: Range<u64>,
    ) -> Result<Vec<u64>, FormatError> {
        let IdValues::Strings(dictionary) = &self.values else {
            return Ok(Vec::new());
        };
        let mut found = Vec::new();
        for place in places {
            let index = self.at_place(file, order, place)?;
            if dictionary.place(file, index)? != place {
                return Err(order.damaged(37, "it is not the inverse of the places"));
            }
            found.push(index);
        }
        Ok(found)
    }

    fn ordered_numbers(
        &self,
        file: &[u8],
        numbers: &Numbers,
        order: &Paged,
        wanted: u64,
    ) -> Result<Vec<u64>, FormatError> {
        let (mut low, mut high) = (0, self.record_count);
        while low < high {
            let middle = low + (high - low) / 2;
            let index = self.at_place(file, order, middle)?;
            match numbers.read(file, index)? < wanted {
                true => low = middle + 1,
                false => high = middle,
            }
        }
        let mut found = Vec::new();
        for place in low..self.record_count {
            let index = self.at_place(file, order, place)?;
            if numbers.read(file, index)? != wanted {
                break;
            }
            found.push(index);
        }
        Ok(found)
    }

    /// Checks that the places form a permutation, and the order as a whole (V37).
    pub(in crate::index) fn check_order(&self, file: &[u8]) -> Result<(), FormatError> {
        if let IdValues::Strings(dictionary) = &self.values {
            dictionary.check_places(file)?;
        }
        let Some(order) = &self.order else {
            return Ok(());
        };
        let mut last = None;
        for place in 0..self.record_count {
            let index = self.at_place(file, order, place)?;
            match &self.values {
                IdValues::Numbers(numbers) => {
                    let now = Some((numbers.read(file, index)?, index));
                    if last >= now {
                        return Err(order.damaged(37, "it is not that of the numbers"));
                    }
                    last = now;
                }
                IdValues::Strings(dictionary) => {
                    if dictionary.place(file, index)? != place {
                        return Err(order.damaged(37, "it is not the inverse of the places"));
                    }
                }
            }
        }
        Ok(())
    }

    /// Checks that the bits after the order are zero (V34).
    pub(super) fn check_spare_bits_of_order(&self, file: &[u8]) -> Result<(), FormatError> {
        match &self.order {
            None => Ok(()),
            Some(order) => {
                let bits = index_bits(self.record_count);
                order.check_spare_bits(file, self.record_count, bits)
            }
        }
    }
}
