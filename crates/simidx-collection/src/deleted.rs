//! Ids of deleted records: a set that is cheap to clone and to change.

use std::collections::HashSet;
use std::hash::{DefaultHasher, Hash, Hasher};
use std::sync::Arc;

/// The number of sets into which the ids are divided. Changing a set that a clone shares copies only that one.
const SHARDS: usize = 1024;

type Shard = Option<Arc<HashSet<Arc<str>>>>;

/// The deleted ids of a segment. Clones share all parts that neither changes.
#[derive(Debug, Clone, Default)]
pub(crate) struct DeletedIds {
    /// Empty, or all shards.
    shards: Arc<Vec<Shard>>,
    len: usize,
}

fn shard_of(id: &str) -> usize {
    let mut hasher = DefaultHasher::new();
    id.hash(&mut hasher);
    hasher.finish() as usize % SHARDS
}

impl DeletedIds {
    pub(crate) fn len(&self) -> usize {
        self.len
    }

    pub(crate) fn contains(&self, id: &str) -> bool {
        let shard = self.shards.get(shard_of(id)).and_then(Option::as_ref);
        shard.is_some_and(|shard| shard.contains(id))
    }

    pub(crate) fn insert(&mut self, id: Arc<str>) {
        let shards = Arc::make_mut(&mut self.shards);
        shards.resize(SHARDS, None);
        let shard = shards[shard_of(&id)].get_or_insert_default();
        self.len += usize::from(Arc::make_mut(shard).insert(id));
    }

    pub(crate) fn iter(&self) -> impl Iterator<Item = &Arc<str>> {
        self.shards.iter().flatten().flat_map(|shard| shard.iter())
    }

    /// Returns the ids added since `before`, an earlier clone of this set. Takes time only for the shards that have
    /// changed.
    pub(crate) fn since(&self, before: &DeletedIds) -> Vec<Arc<str>> {
        let mut all = Vec::new();
        for (number, shard) in self.shards.iter().enumerate() {
            let Some(shard) = shard else { continue };
            let earlier = before.shards.get(number).and_then(Option::as_ref);
            if !earlier.is_some_and(|earlier| Arc::ptr_eq(earlier, shard)) {
                let is_new = |id: &&Arc<str>| !earlier.is_some_and(|ids| ids.contains(*id));
                all.extend(shard.iter().filter(is_new).cloned());
            }
        }
        all
    }
}

impl FromIterator<Arc<str>> for DeletedIds {
    fn from_iter<I: IntoIterator<Item = Arc<str>>>(ids: I) -> Self {
        let mut all = DeletedIds::default();
        ids.into_iter().for_each(|id| all.insert(id));
        all
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn ids(range: std::ops::Range<u32>) -> impl Iterator<Item = Arc<str>> {
        range.map(|number| Arc::from(number.to_string()))
    }

    #[test]
    fn it_is_a_set_and_knows_what_has_come() {
        let mut all: DeletedIds = ids(0..5000).collect();
        let before = all.clone();
        ids(4000..6000).for_each(|id| all.insert(id));
        assert_eq!((before.len(), all.len()), (5000, 6000));
        assert_eq!((before.iter().count(), all.iter().count()), (5000, 6000));
        assert!(ids(0..6000).all(|id| all.contains(&id)));
        assert!(ids(5000..6000).all(|id| !before.contains(&id)));
        let since: HashSet<_> = all.since(&before).into_iter().collect();
        assert_eq!(since, ids(5000..6000).collect());
        assert!(all.since(&all.clone()).is_empty());
        assert_eq!(all.since(&DeletedIds::default()).len(), 6000);
        assert!(!DeletedIds::default().contains("0"));
    }

    #[test]
    fn a_change_copies_one_shard() {
        let mut all: DeletedIds = ids(0..20_000).collect();
        let before = all.clone();
        all.insert("new".into());
        let pairs = all.shards.iter().zip(&*before.shards);
        let copied = pairs.filter(|(now, before)| match (now, before) {
            (Some(now), Some(before)) => !Arc::ptr_eq(now, before),
            _ => false,
        });
        assert_eq!(copied.count(), 1);
    }
}
