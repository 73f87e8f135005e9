//! A small good file, what it must answer, and asking a damaged one the same.

use simidx::format::Metadata;
use simidx::index::Strategy;
use simidx::index::VerifyReport;
use simidx::{BuildOptions, Error, Fingerprint, Id, IdBuf, IdKind, Index, Scratch};

use super::cost::Meter;
use simidx_testkit::{
    build, build_numbers, build_sketched, build_strings, each_id, flipped, made_up_sketch, matched,
    open, rng, scan, sorted_set,
};

/// The records of a sample.
#[derive(Debug, Clone)]
pub(crate) enum Records<F> {
    Plain(Vec<F>),
    Numbers(Vec<(F, u64)>),
    Strings(Vec<(F, String)>),
}

impl<F: Fingerprint> Records<F> {
    fn build(&self, options: BuildOptions) -> Vec<u8> {
        if options.sketches.is_some() {
            return self.build_sketched(options);
        }
        match self {
            Records::Plain(records) => build(options, records),
            Records::Numbers(records) => build_numbers(options, records),
            Records::Strings(records) => build_strings(options, records),
        }
    }

    fn build_sketched(&self, mut options: BuildOptions) -> Vec<u8> {
        options.ids = match self {
            Records::Plain(_) => IdKind::None,
            Records::Numbers(_) => IdKind::Number,
            Records::Strings(_) => IdKind::String,
        };
        let records: Vec<(F, Option<IdBuf>)> = match self {
            Records::Plain(records) => records.iter().map(|f| (*f, None)).collect(),
            Records::Numbers(records) => {
                let record = |(f, id): &(F, u64)| (*f, Some(IdBuf::Number(*id)));
                records.iter().map(record).collect()
            }
            Records::Strings(records) => {
                let record = |(f, id): &(F, String)| (*f, Some(IdBuf::String(id.clone())));
                records.iter().map(record).collect()
            }
        };
        build_sketched(options, &records)
    }

    fn set(&self) -> Vec<F> {
        fn firsts<F: Fingerprint, T>(records: &[(F, T)]) -> Vec<F> {
            sorted_set(&records.iter().map(|record| record.0).collect::<Vec<_>>())
        }
        match self {
            Records::Plain(records) => sorted_set(records),
            Records::Numbers(records) => firsts(records),
            Records::Strings(records) => firsts(records),
        }
    }

    /// The ids of each member, in the order in which an index has them.
    fn ids(&self, set: &[F]) -> Vec<Vec<String>> {
        let mut ids = vec![Vec::new(); set.len()];
        let mut add = |member, id| {
            let place = set.binary_search(member).expect("it is of the set");
            ids[place].push(id_text(id));
        };
        match self.clone() {
            Records::Plain(_) => {}
            Records::Numbers(mut records) => {
                records.sort_unstable();
                records.iter().for_each(|(f, id)| add(f, Id::Number(*id)));
            }
            Records::Strings(mut records) => {
                records.sort_unstable();
                records.iter().for_each(|(f, id)| add(f, Id::String(id)));
            }
        }
        ids
    }
}

impl<F: Fingerprint> Records<F> {
    /// The sketches in the order of the records, or of the set without ids.
    fn sketches(&self, set: &[F], words: usize) -> Vec<u64> {
        let sketch = |fingerprint: F, id: &str| made_up_sketch(fingerprint, id, words);
        match self.clone() {
            Records::Plain(_) => set.iter().flat_map(|&f| sketch(f, "")).collect(),
            Records::Numbers(mut records) => {
                records.sort_unstable();
                let sketches = records.iter().map(|(f, id)| sketch(*f, &id.to_string()));
                sketches.flatten().collect()
            }
            Records::Strings(mut records) => {
                records.sort_unstable();
                let sketches = records.iter().map(|(f, id)| sketch(*f, id));
                sketches.flatten().collect()
            }
        }
    }
}

/// How many ids are looked up.
const LOOKUPS: usize = 5;

impl<F: Fingerprint> Records<F> {
    /// Some ids, from the least to the greatest, and one that there is not; with the ranks of the records that have them.
    fn lookups(&self, set: &[F]) -> Vec<(IdBuf, Vec<u64>)> {
        let rank = |member: &F| set.binary_search(member).expect("it is of the set") as u64;
        let (mut records, missing): (Vec<(IdBuf, u64)>, IdBuf) = match self {
            Records::Plain(_) => return Vec::new(),
            Records::Numbers(records) => {
                let record = |(f, id): &(F, u64)| (IdBuf::Number(*id), rank(f));
                (records.iter().map(record).collect(), IdBuf::Number(5))
            }
            Records::Strings(records) => {
                let record = |(f, id): &(F, String)| (IdBuf::String(id.clone()), rank(f));
                let missing = IdBuf::String("zz".into());
                (records.iter().map(record).collect(), missing)
            }
        };
        records.sort();
        let last = records.len() - 1;
        let wanted = (0..LOOKUPS).map(|i| records[i * last / (LOOKUPS - 1)].0.clone());
        let ranks = |id: IdBuf| {
            let first = records.partition_point(|record| record.0 < id);
            let equal = records[first..].iter().take_while(|record| record.0 == id);
            let mut ranks: Vec<u64> = equal.map(|record| record.1).collect();
            ranks.sort_unstable();
            (id, ranks)
        };
        wanted.chain([missing]).map(ranks).collect()
    }
}

/// A query and its answer.
#[derive(Debug, Clone)]
pub(crate) struct Question<F> {
    pub(crate) query: F,
    pub(crate) distance: u32,
    pub(crate) expected: Vec<(u32, F)>,
}

/// Some queries of a set, with what a linear scan finds.
fn questions<F: Fingerprint>(set: &[F]) -> Vec<Question<F>> {
    let mut rng = rng(3);
    let mut questions = Vec::new();
    for distance in 0..=2 {
        for query in [set[0], flipped(set[set.len() / 2], 1, &mut rng), F::MAX] {
            let expected = scan(set, query, distance);
            questions.push(Question {
                query,
                distance,
                expected,
            });
        }
    }
    questions
}

/// A good file and what it must answer.
#[derive(Debug, Clone)]
pub(crate) struct Sample<F> {
    pub(crate) name: String,
    pub(crate) file: Vec<u8>,
    pub(crate) set: Vec<F>,
    /// The ids of each member, as text.
    pub(crate) ids: Vec<Vec<String>>,
    pub(crate) questions: Vec<Question<F>>,
    /// Some ids, and the ranks of the records that have them.
    pub(crate) lookups: Vec<(IdBuf, Vec<u64>)>,
    pub(crate) pipeline: Option<String>,
    pub(crate) metadata: Metadata,
    /// The sketches one after the other, if there are any.
    pub(crate) sketches: Option<Vec<u64>>,
    /// Bits from one that the sweep flips to the next.
    pub(crate) stride: usize,
    /// The steps of all operations on the valid file.
    steps: u64,
    /// The report of a full check of the valid file.
    pub(crate) report: VerifyReport,
}

impl<F: Fingerprint> Sample<F> {
    pub(crate) fn new(kind: &str, options: BuildOptions, records: &Records<F>) -> Self {
        let (pipeline, metadata) = (options.pipeline.clone(), options.metadata.clone());
        let options_sketches = options.sketches.clone();
        let file = records.build(options);
        let set = records.set();
        let sketched = options_sketches.map(|of| records.sketches(&set, of.u64_count()));
        let index = open::<F>(file.clone());
        let report = index.verify(&Default::default()).unwrap();
        assert!(report.is_sound());
        let mut sample = Sample {
            name: name(kind, &index),
            file,
            ids: records.ids(&set),
            questions: questions(&set),
            lookups: records.lookups(&set),
            set,
            pipeline,
            metadata,
            sketches: sketched,
            stride: 1,
            steps: u64::MAX,
            report,
        };
        let asked = sample.ask(&index, "the good file");
        assert_eq!(asked.failed, 0, "{}", sample.name);
        sample.steps = asked.steps;
        sample
    }

    /// Asks an index everything; an answer must be right, an error be one of the format, and it may take no more steps
    /// than with the good file.
    pub(crate) fn ask(&self, index: &Index<F>, what: &str) -> Asked {
        let mut asking = Asking {
            sample: self,
            meter: Meter::new(self.steps, what),
            what,
            asked: Asked::default(),
        };
        assert_eq!(index.pipeline(), self.pipeline.as_deref(), "{what}");
        assert_eq!(*index.metadata(), self.metadata, "{what}");
        let mut scratch = Scratch::new();
        for strategy in [Strategy::Probe, Strategy::Scan] {
            scratch.set_strategy(strategy);
            asking.queries(index, &mut scratch);
        }
        asking.members(index);
        asking.lookups(index);
        asking.sketches(index);
        for table in 0..index.table_count() {
            asking.dump(index, table);
        }
        asking.asked.steps = asking.meter.steps;
        asking.asked
    }
}

impl<F> Sample<F> {
    /// Sets the number of bits from one flipped bit to the next.
    pub(crate) fn with_stride(mut self, stride: usize) -> Self {
        self.stride = stride;
        self
    }
}

/// Returns a name that describes the contents of an index.
fn name<F: Fingerprint>(kind: &str, index: &Index<F>) -> String {
    let mut codecs: Vec<&str> = Vec::new();
    for table in &index.summary().tables {
        if !codecs.contains(&table.codec.name()) {
            codecs.push(table.codec.name());
        }
    }
    let (codecs, tables) = (codecs.join("+"), index.table_count());
    format!("{} bits, {codecs}, {tables} tables, {kind}", F::WIDTH)
}

/// The results of all operations on an index.
#[derive(Debug, Default, Clone, Copy)]
pub(crate) struct Asked {
    /// Operations that gave an answer, all of which were right.
    pub(crate) answered: usize,
    /// Operations that gave an error.
    pub(crate) failed: usize,
    pub(crate) steps: u64,
}

/// An index being asked what a sample must answer.
struct Asking<'a, F> {
    sample: &'a Sample<F>,
    meter: Meter<'a>,
    what: &'a str,
    asked: Asked,
}

impl<F: Fingerprint> Asking<'_, F> {
    /// Counts an answer or an error.
    fn note<T>(&mut self, result: Result<T, Error>) -> Option<T> {
        let answer = answer(result, self.what);
        match answer {
            Some(_) => self.asked.answered += 1,
            None => self.asked.failed += 1,
        }
        answer
    }

    fn queries(&mut self, index: &Index<F>, scratch: &mut Scratch<F>) {
        let what = self.what;
        for question in &self.sample.questions {
            let result = index.query_with(scratch, question.query, question.distance);
            match self.note(result.map(matched)) {
                Some(found) => assert_eq!(found, question.expected, "{what}"),
                None => assert_eq!(scratch.matches(), [], "{what}: half of an answer"),
            }
            self.meter.add_query(scratch.stats());
        }
    }

    fn members(&mut self, index: &Index<F>) {
        let what = self.what;
        for (&member, expected) in self.sample.set.iter().zip(&self.sample.ids) {
            let contained = self.note(index.contains(member));
            assert!(contained != Some(false), "{what}: {member:x} is gone");
            let mut ids = Vec::new();
            let read = each_id(index.ids_of(member), |id| {
                self.meter.add(1);
                ids.push(id_text(id));
            });
            if self.note(read).is_some() {
                assert_eq!(&ids, expected, "{what}");
            }
        }
    }

    fn lookups(&mut self, index: &Index<F>) {
        let what = self.what;
        for (id, expected) in &self.sample.lookups {
            if let Some(ranks) = self.note(index.ranks_of_id(id.as_id())) {
                assert_eq!(&ranks, expected, "{what}: the records with id {id}");
            }
            self.meter.add(expected.len() as u64);
        }
    }

    fn sketches(&mut self, index: &Index<F>) {
        let Some(expected) = &self.sample.sketches else {
            return;
        };
        let what = self.what;
        let Some(found) = self.note(index.sketches()) else {
            return;
        };
        let found = found.unwrap_or_else(|| panic!("{what}: the sketches are gone"));
        let words = found.parameters().u64_count();
        for (number, expected) in (0..).zip(expected.chunks_exact(words)) {
            let mut sketch = Vec::new();
            if self
                .note(found.read(number..number + 1, &mut sketch))
                .is_some()
            {
                assert_eq!(sketch, expected, "{what}: sketch {number}");
            }
            self.meter.add(1);
        }
    }

    /// Reads a table with its ids, as far as it can be read.
    fn dump(&mut self, index: &Index<F>, table: usize) {
        let (what, set) = (self.what, &self.sample.set);
        let (mut found, mut complete) = (Vec::new(), true);
        let mut all = index.fingerprints(table).expect("there is such a table");
        while let Some(fingerprint) = all.next() {
            self.meter.add(1);
            let Some(fingerprint) = self.note(fingerprint) else {
                complete = false;
                continue;
            };
            let place = set.binary_search(&fingerprint);
            let place = place.unwrap_or_else(|_| panic!("{what}, table {table}: {fingerprint:x}"));
            found.push(fingerprint);
            let mut ids = Vec::new();
            let read = each_id(all.ids(), |id| {
                self.meter.add(1);
                ids.push(id_text(id));
            });
            if self.note(read).is_some() {
                assert_eq!(ids, self.sample.ids[place], "{what}, table {table}");
            }
        }
        if complete {
            found.sort_unstable();
            assert_eq!(&found, set, "{what}, table {table}");
        }
    }
}

/// An answer if there is one; an error must be of the format.
pub(crate) fn answer<T>(result: Result<T, Error>, what: &str) -> Option<T> {
    match result {
        Ok(value) => Some(value),
        Err(Error::Format(error)) => {
            assert!((1..=47).contains(&error.rule()), "{what}: {error}");
            None
        }
        Err(error) => panic!("{what}: {error}"),
    }
}

/// Formats an id as a text that shows its kind.
fn id_text(id: Id<'_>) -> String {
    match id {
        Id::Number(number) => number.to_string(),
        Id::String(string) => format!("\"{string}\""),
    }
}
