//! Counts the records of each group by reading their ids, and finds the record with the least key in each.

use super::MemoryBudget;
use super::groups::{Group, Groups, NONE};
use crate::error::{Error, Result};
use crate::fingerprint::Fingerprint;
use crate::id::Id;
use crate::set::Typed;

/// The ranks of values with several records, ascending, each with its number of records.
pub(super) type Shared = Vec<(u32, u64)>;

/// Computes the key of a record from its fingerprint and its id.
pub(super) type KeyOf<'k, F, K> = &'k mut dyn FnMut(F, Id<'_>) -> K;

/// Reads all ids once. Counts the records of each group, makes the value of the record with the least key the
/// representative if there are keys, and adds a group for each ungrouped value that has several records.
///
/// # Errors
/// Damaged segments, segments that hold other fingerprints than `values`, and values that exceed the budget.
pub(super) fn count<F: Fingerprint, K: Ord>(
    segments: Typed<'_, F>,
    values: &[F],
    groups: &mut Groups,
    mut key: Option<KeyOf<'_, F, K>>,
    budget: &MemoryBudget,
) -> Result<Shared> {
    let beside = size_of_val(values) + groups.len() + groups.groups.len() * size_of::<Option<K>>();
    budget.check_beside(beside, values.len(), size_of::<u32>())?;
    let beside = beside + values.len() * size_of::<u32>();
    let of_ranks = groups.of_ranks(values.len());
    let mut least_keys: Vec<Option<K>> = Vec::new();
    if key.is_some() {
        least_keys.resize_with(groups.groups.len(), || None);
    }
    groups.groups.iter_mut().for_each(|g| g.record_count = 0);
    let mut shared = Shared::new();
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
            let new = key.as_mut().map(|key| key(value, id));
            if is_less(&new, &least) {
                least = new;
            }
        }
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
                if let Some(least_of_group) = least_keys.get_mut(group as usize)
                    && is_less(&least, least_of_group)
                {
                    *least_of_group = least;
                    groups.groups[group as usize].representative = rank;
                }
            }
        }
    }
    Ok(shared)
}

/// Returns whether there is a key that is less than the least one so far.
fn is_less<K: Ord>(key: &Option<K>, least: &Option<K>) -> bool {
    match (key, least) {
        (Some(key), Some(least)) => key < least,
        (key, _) => key.is_some(),
    }
}

fn changed() -> Error {
    let message = "table 0 holds other fingerprints when it is read again";
    std::io::Error::new(std::io::ErrorKind::InvalidData, message).into()
}
