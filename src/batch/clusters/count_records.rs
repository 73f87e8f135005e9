//! What the ids tell of groups: how many records each has, and which record comes first.

use super::groups::{Group, Groups, NONE};
use super::{MemoryBudget, Representative};
use crate::error::{Error, Result};
use crate::fingerprint::Fingerprint;
use crate::index::{Id, Segments};

/// The ranks of values with several records, ascending, and how many.
pub(super) type Shared = Vec<(u32, u64)>;

/// Goes through all ids once: counts the records of each group, finds its first one if that is to stand for it, and
/// adds a group for each value that has several records and is in none.
///
/// # Errors
/// Damaged segments, or ones that hold other fingerprints than these values; values that do not fit the budget.
pub(super) fn count<F: Fingerprint, D: AsRef<[u8]>>(
    segments: &Segments<F, D>,
    values: &[F],
    groups: &mut Groups,
    representative: Representative,
    budget: &MemoryBudget,
) -> Result<Shared> {
    let beside = size_of_val(values) + groups.len() + groups.groups.len() * size_of::<Id<'_>>();
    budget.check_beside(beside, values.len(), size_of::<u32>())?;
    let beside = beside + values.len() * size_of::<u32>();
    let of_ranks = groups.of_ranks(values.len());
    let mut first_ids = match representative {
        Representative::First => vec![None; groups.groups.len()],
        Representative::Central => Vec::new(),
    };
    groups.groups.iter_mut().for_each(|g| g.record_count = 0);
    let mut shared = Shared::new();
    let mut fingerprints = segments.fingerprints(0)?;
    for (rank, &value) in (0..).zip(values) {
        let next = fingerprints.next().transpose()?;
        if next != Some(value) {
            return Err(changed());
        }
        let (mut count, mut first) = (0, None);
        fingerprints.for_each_id(|id| {
            count += 1;
            first.get_or_insert(id);
        })?;
        if count > 1 {
            let each_len = size_of::<(u32, u64)>() + size_of::<Group>();
            budget.check_beside(beside, shared.len(), each_len)?;
            shared.push((rank, count));
        }
        match of_ranks[rank as usize] {
            NONE if count > 1 => groups.push_single(rank, count),
            NONE => {}
            group => {
                groups.groups[group as usize].record_count += count;
                if let Some(best) = first_ids.get_mut(group as usize)
                    && is_before(first, *best)
                {
                    *best = first;
                    groups.groups[group as usize].representative = rank;
                }
            }
        }
    }
    Ok(shared)
}

/// Whether an id is smaller than the smallest one so far.
fn is_before(id: Option<Id<'_>>, best: Option<Id<'_>>) -> bool {
    match (id, best) {
        (Some(id), Some(best)) => id < best,
        (id, _) => id.is_some(),
    }
}

fn changed() -> Error {
    let message = "table 0 holds other fingerprints when it is read again";
    std::io::Error::new(std::io::ErrorKind::InvalidData, message).into()
}
