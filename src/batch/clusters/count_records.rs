//! Counts the records of each group by reading their ids, and finds the record with the smallest id in each.

use super::check_budget;
use super::groups::{Group, Groups, NONE};
use crate::error::{Error, Result};
use crate::fingerprint::Fingerprint;
use crate::id::IdBuf;
use crate::set::Typed;

/// Reads all ids once. Counts the records of each group, makes the value of the record with the smallest id the
/// representative, and adds a group for each ungrouped value that has several records.
///
/// # Errors
/// Damaged segments, segments that hold other fingerprints than `values`, and values that exceed the budget.
pub(super) fn count<F: Fingerprint>(
    segments: Typed<'_, F>,
    values: &[F],
    groups: &mut Groups,
    budget: usize,
) -> Result<()> {
    let ids_len = groups.groups.len() * size_of::<Option<IdBuf>>();
    let ranks_len = values.len() * size_of::<u32>();
    let mut needed = size_of_val(values) + groups.len() + ids_len + ranks_len;
    check_budget(budget, values.len(), needed)?;
    let of_ranks = groups.of_ranks(values.len());
    let mut smallest: Vec<Option<IdBuf>> = vec![None; groups.groups.len()];
    groups.groups.iter_mut().for_each(|g| g.record_count = 0);
    let mut fingerprints = segments.fingerprints(0)?;
    for (rank, &value) in (0..).zip(values) {
        let next = fingerprints.next().transpose()?;
        if next != Some(value) {
            return Err(changed());
        }
        let (mut count, mut least) = (0, None);
        let mut ids = fingerprints.ids()?;
        while let Some(id) = ids.read()? {
            count += 1;
            take_smaller(&mut least, Some(IdBuf::from(id)));
        }
        match of_ranks[rank as usize] {
            NONE if count > 1 => {
                needed += size_of::<Group>();
                // Those that are too many are only counted.
                if needed <= budget {
                    groups.push_single(rank, count);
                }
            }
            NONE => {}
            group => {
                groups.groups[group as usize].record_count += count;
                if take_smaller(&mut smallest[group as usize], least) {
                    groups.groups[group as usize].representative = rank;
                }
            }
        }
    }
    check_budget(budget, values.len(), needed)
}

/// Replaces the smallest id so far if a new one is smaller, and returns whether it was.
fn take_smaller(smallest: &mut Option<IdBuf>, new: Option<IdBuf>) -> bool {
    let is_smaller = match (&new, &*smallest) {
        (Some(new), Some(smallest)) => new < smallest,
        (new, _) => new.is_some(),
    };
    if is_smaller {
        *smallest = new;
    }
    is_smaller
}

fn changed() -> Error {
    let message = "table 0 holds other fingerprints when it is read again";
    std::io::Error::new(std::io::ErrorKind::InvalidData, message).into()
}
