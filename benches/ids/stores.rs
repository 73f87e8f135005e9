//! The compared ways to store ids: sorted dictionaries with the numbers of records, a plain array, a map of ids alone,
//! and indexes.

use std::time::Instant;

use rand::rngs::SmallRng;
use rand::seq::SliceRandom;
use rand::{RngExt, SeedableRng};
use simidx::{Index, Match};

use crate::front_coding::FrontCoding;
use crate::index::{self, IndexIds};
use crate::packed::Packed;

/// Records: a fingerprint and an id each. Their numbers are those of the fingerprints in ascending order, and have nothing
/// to do with the order of the ids.
pub(crate) struct Records {
    /// In the order of their numbers.
    pub(crate) fingerprints: Vec<u64>,
    pub(crate) ids: Vec<String>,
    /// The numbers in the order of the ids.
    order: Vec<usize>,
    /// An index without ids, whose answers name records.
    names: Index<u64>,
}

/// A record to look up.
pub(crate) struct Pick {
    pub(crate) number: usize,
    pub(crate) found: Match<u64>,
}

impl Records {
    /// Records with these ids, which must be distinct.
    pub(crate) fn new(mut ids: Vec<String>) -> Self {
        let mut rng = SmallRng::seed_from_u64(8);
        let mut fingerprints = Vec::new();
        while fingerprints.len() < ids.len() {
            fingerprints.extend((fingerprints.len()..ids.len()).map(|_| rng.random::<u64>()));
            fingerprints.sort_unstable();
            fingerprints.dedup();
        }
        ids.shuffle(&mut rng);
        let mut order: Vec<usize> = (0..ids.len()).collect();
        order.sort_unstable_by_key(|&number| ids[number].as_str());
        let names = index::of_numbers(&fingerprints);
        Records {
            fingerprints,
            ids,
            order,
            names,
        }
    }

    /// A record by its number.
    pub(crate) fn pick(&self, number: usize) -> Pick {
        let found = self.names.query(self.fingerprints[number], 0);
        let found = found.expect("the file is sound")[0];
        Pick { number, found }
    }

    /// The number of the record with an id.
    pub(crate) fn find(&self, id: &str) -> Option<usize> {
        let found = self
            .order
            .binary_search_by(|&n| self.ids[n].as_str().cmp(id));
        found.ok().map(|place| self.order[place])
    }

    /// The numbers in the order of the ids, sorted anew: that is a part of every build.
    fn sorted(&self) -> Vec<usize> {
        let mut order: Vec<usize> = (0..self.ids.len()).collect();
        order.sort_unstable_by_key(|&number| self.ids[number].as_str());
        order
    }
}

/// Bytes of a store.
#[derive(Clone, Copy, Default)]
pub(crate) struct Sizes {
    /// Bytes of the ids themselves, and of parts that cannot be separated from them.
    pub(crate) ids: u64,
    /// From the number of a record to its place in the order of the ids.
    pub(crate) places: u64,
    /// From there back.
    pub(crate) order: u64,
}

/// A way to store the ids of records.
pub(crate) trait Store {
    fn name(&self) -> &'static str;

    fn sizes(&self) -> Sizes;

    /// Lends the id of a record. Returns `false` if the store has no way from numbers to ids.
    fn read(&mut self, pick: &Pick, take: &mut dyn FnMut(&[u8])) -> bool;

    /// Whether the store has a way from ids to numbers.
    fn can_find(&self) -> bool {
        true
    }

    /// The number of the record with an id.
    fn find(&self, id: &str) -> Option<usize>;
}

/// A store and the seconds that it took to build.
pub(crate) type Built = (Box<dyn Store>, f64);

/// Returns the builders of all stores.
pub(crate) fn builders() -> Vec<fn(&Records) -> Built> {
    vec![
        |records| timed(|| Array::new(records)),
        |records| timed(|| FstMap::new(records)),
        |records| timed(|| Sorted::new("fst, both ways", records, fst_of)),
        |records| timed(|| Sorted::new("front coding", records, FrontCoding::new)),
        |records| IndexIds::build(records, false),
        |records| IndexIds::build(records, true),
    ]
}

fn timed<S: Store + 'static>(build: impl FnOnce() -> S) -> Built {
    let started = Instant::now();
    let store = build();
    (Box::new(store), started.elapsed().as_secs_f64())
}

/// Sorted distinct strings.
pub(crate) trait Dictionary {
    fn byte_len(&self) -> u64;

    /// Replaces `string` by the one at a place.
    fn read(&self, place: usize, string: &mut Vec<u8>);

    /// The place of a string.
    fn find(&self, wanted: &[u8]) -> Option<usize>;
}

/// A dictionary, the place of each record in it, and the record of each place.
struct Sorted<D> {
    name: &'static str,
    dictionary: D,
    places: Packed,
    order: Packed,
    buffer: Vec<u8>,
}

impl<D: Dictionary> Sorted<D> {
    fn new(name: &'static str, records: &Records, make: impl FnOnce(&[&str]) -> D) -> Self {
        let order = records.sorted();
        let ids: Vec<&str> = order.iter().map(|&n| records.ids[n].as_str()).collect();
        let mut places = vec![0; order.len()];
        for (place, &number) in order.iter().enumerate() {
            places[number] = place;
        }
        let largest = order.len() - 1;
        Sorted {
            name,
            dictionary: make(&ids),
            places: Packed::new(places.into_iter(), largest),
            order: Packed::new(order.into_iter(), largest),
            buffer: Vec::new(),
        }
    }
}

impl<D: Dictionary> Store for Sorted<D> {
    fn name(&self) -> &'static str {
        self.name
    }

    fn sizes(&self) -> Sizes {
        Sizes {
            ids: self.dictionary.byte_len(),
            places: self.places.byte_len(),
            order: self.order.byte_len(),
        }
    }

    fn read(&mut self, pick: &Pick, take: &mut dyn FnMut(&[u8])) -> bool {
        let place = self.places.get(pick.number);
        self.dictionary.read(place, &mut self.buffer);
        take(&self.buffer);
        true
    }

    fn find(&self, id: &str) -> Option<usize> {
        let place = self.dictionary.find(id.as_bytes())?;
        Some(self.order.get(place))
    }
}

/// A map from ids to their places, which ascend as the ids do.
fn fst_of(sorted: &[&str]) -> fst::Map<Vec<u8>> {
    let pairs = sorted.iter().zip(0..);
    fst::Map::from_iter(pairs).expect("the ids ascend")
}

impl Dictionary for fst::Map<Vec<u8>> {
    fn byte_len(&self) -> u64 {
        self.as_fst().size() as u64
    }

    fn read(&self, place: usize, string: &mut Vec<u8>) {
        string.clear();
        let found = self.as_fst().get_key_into(place as u64, string);
        assert!(found, "place {place}");
    }

    fn find(&self, wanted: &[u8]) -> Option<usize> {
        self.get(wanted).map(|place| place as usize)
    }
}

/// A map from ids to numbers of records: it has no way back.
struct FstMap(fst::Map<Vec<u8>>);

impl FstMap {
    fn new(records: &Records) -> Self {
        let order = records.sorted().into_iter();
        let pairs = order.map(|number| (records.ids[number].as_str(), number as u64));
        FstMap(fst::Map::from_iter(pairs).expect("the ids ascend"))
    }
}

impl Store for FstMap {
    fn name(&self) -> &'static str {
        "fst, ids to numbers"
    }

    fn sizes(&self) -> Sizes {
        Sizes {
            ids: self.0.as_fst().size() as u64,
            ..Sizes::default()
        }
    }

    fn read(&mut self, _: &Pick, _: &mut dyn FnMut(&[u8])) -> bool {
        false
    }

    fn find(&self, id: &str) -> Option<usize> {
        self.0.get(id).map(|number| number as usize)
    }
}

/// The ids one after the other in the order of their numbers, and where each ends: it finds none.
struct Array {
    text: Vec<u8>,
    starts: Packed,
}

impl Array {
    fn new(records: &Records) -> Self {
        let (mut text, mut starts) = (Vec::new(), vec![0]);
        for id in &records.ids {
            text.extend_from_slice(id.as_bytes());
            starts.push(text.len());
        }
        let starts = Packed::new(starts.into_iter(), text.len());
        Array { text, starts }
    }
}

impl Store for Array {
    fn name(&self) -> &'static str {
        "array"
    }

    fn sizes(&self) -> Sizes {
        Sizes {
            ids: self.text.len() as u64 + self.starts.byte_len(),
            ..Sizes::default()
        }
    }

    fn read(&mut self, pick: &Pick, take: &mut dyn FnMut(&[u8])) -> bool {
        let (start, end) = (
            self.starts.get(pick.number),
            self.starts.get(pick.number + 1),
        );
        take(&self.text[start..end]);
        true
    }

    fn can_find(&self) -> bool {
        false
    }

    fn find(&self, _: &str) -> Option<usize> {
        None
    }
}
