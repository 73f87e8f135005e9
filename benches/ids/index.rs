//! The ids of an index of this library, in a mapped file.

use std::time::Instant;

use simidx::design::TableDesign;
use simidx::index::IdBuffer;
use simidx::index::WarmOptions;
use simidx::{BuildOptions, Id, IdKind, Index, IndexBuilder, Width};

use crate::stores::{Built, Pick, Records, Sizes, Store};

/// The ids of an index.
pub(crate) struct IndexIds {
    index: Index<u64>,
    buffer: IdBuffer,
    sizes: Sizes,
    _folder: tempfile::TempDir,
}

fn options() -> BuildOptions {
    let mut options = BuildOptions::default();
    let design = TableDesign::with_table_count(Width::W64, 3, 1);
    options.design = Some(design.expect("there is such a design"));
    options
}

/// An index with the numbers of the records as ids, in which fingerprints are looked up.
pub(crate) fn of_numbers(fingerprints: &[u64]) -> Index<u64> {
    let mut options = options();
    options.ids = IdKind::Number;
    let mut builder = IndexBuilder::new(Width::W64, options).expect("the options are valid");
    for (&fingerprint, number) in fingerprints.iter().zip(0..) {
        let pushed = builder.push_with_id(fingerprint, number);
        pushed.expect("there is room");
    }
    let mut file = Vec::new();
    builder.finish(&mut file).expect("memory takes every write");
    Index::from_bytes(file).expect("the file is sound")
}

impl IndexIds {
    /// An index of one table. The seconds are those that its ids take: a build with them less one without.
    pub(crate) fn build(records: &Records, with_lookup: bool) -> Built {
        let folder = tempfile::tempdir_in(env!("CARGO_TARGET_TMPDIR")).expect("a folder is made");
        let path = folder.path().join("index.simidx");
        let started = Instant::now();
        let mut builder = IndexBuilder::new(Width::W64, options()).expect("the options are valid");
        for &fingerprint in &records.fingerprints {
            builder.push(fingerprint).expect("there is room");
        }
        builder.finish_to_path(&path).expect("the disk has room");
        let without_ids = started.elapsed();
        std::fs::remove_file(&path).expect("it is there");

        let started = Instant::now();
        let mut options = options();
        options.ids = IdKind::String;
        options.id_lookup = with_lookup;
        let mut builder = IndexBuilder::new(Width::W64, options).expect("the options are valid");
        for (&fingerprint, id) in records.fingerprints.iter().zip(&records.ids) {
            let pushed = builder.push_with_id(fingerprint, id);
            pushed.expect("there is room");
        }
        let summary = builder.finish_to_path(&path).expect("the disk has room");
        let of_ids = started.elapsed().saturating_sub(without_ids);
        assert_eq!(summary.record_count, summary.fingerprint_count);

        let index = Index::open(&path).expect("the file is an index");
        // All pages are checked once, so that no look-up pays for that.
        index
            .warm(&WarmOptions::default())
            .expect("the file is sound");
        let store = IndexIds {
            sizes: sizes(summary.record_count, summary.ids_len, with_lookup),
            index,
            buffer: IdBuffer::default(),
            _folder: folder,
        };
        (Box::new(store), of_ids.as_secs_f64())
    }
}

/// The parts of the sections of ids: places and order are packed arrays with a checksum for each page.
fn sizes(record_count: u64, ids_len: u64, with_lookup: bool) -> Sizes {
    let bits = u64::from(u64::BITS - (record_count - 1).leading_zeros());
    let payload_len = (record_count * bits).div_ceil(8);
    let places = payload_len + payload_len.div_ceil(4096) * 4;
    let order = if with_lookup { places } else { 0 };
    Sizes {
        ids: ids_len - places - order,
        places,
        order,
    }
}

impl Store for IndexIds {
    fn name(&self) -> &'static str {
        match self.index.has_id_lookup() {
            true => "simidx, id look-up",
            false => "simidx",
        }
    }

    fn sizes(&self) -> Sizes {
        self.sizes
    }

    fn read(&mut self, pick: &Pick, take: &mut dyn FnMut(&[u8])) -> bool {
        let ids = self.index.ids(&pick.found).expect("the rank is known");
        let mut ids = ids.with_buffer(std::mem::take(&mut self.buffer));
        match ids.read().expect("the file is sound") {
            Some(Id::String(id)) => take(id.as_bytes()),
            other => panic!("record {}: {other:?}", pick.number),
        }
        self.buffer = ids.into_buffer();
        true
    }

    /// Without the order of the ids the index would read all places, milliseconds each time.
    fn can_find(&self) -> bool {
        self.index.has_id_lookup()
    }

    fn find(&self, id: &str) -> Option<usize> {
        let rank = self.index.rank_of_id(id).expect("the file is sound");
        rank.map(|rank| rank as usize)
    }
}
