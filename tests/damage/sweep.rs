//! Every flipped bit, every truncation, many extensions, exchanged and repeated parts of the samples: how many, and what
//! became of them.

use std::ops::{AddAssign, Range};
use std::thread;

use rand::RngExt;
use simidx::{Fingerprint, Index, Storage};

use super::cost::held_limit;
use super::sample::{Asked, Sample, answer};
use super::samples::{many_blocks, samples, samples_of_several_pages};
use simidx_testkit::counting::most_held;
use simidx_testkit::editor::Editor;
use simidx_testkit::encoding::{
    KEY_ENTRIES, KEY_GROUPS, LINES, Layout, PAGE_LEN, SKETCHES, Table, is_paged, number,
    payload_len,
};
use simidx_testkit::rng;
use simidx_testkit::sketches::head_len;

/// The outcomes of damages of one kind.
#[derive(Debug, Default, Clone, Copy)]
struct Tally {
    tried: usize,
    /// Damages that kept the file from being opened, or that a full check found.
    found: usize,
    /// Found damages that kept the file from being opened.
    refused: usize,
    /// Operations on the files that were opened: right answers, and errors.
    answered: usize,
    failed: usize,
    /// The most bytes that were held while a file was opened, asked and checked, and the most steps that asking took.
    most_held: usize,
    most_steps: u64,
}

impl AddAssign for Tally {
    fn add_assign(&mut self, other: Self) {
        self.tried += other.tried;
        self.found += other.found;
        self.refused += other.refused;
        self.answered += other.answered;
        self.failed += other.failed;
        self.most_held = self.most_held.max(other.most_held);
        self.most_steps = self.most_steps.max(other.most_steps);
    }
}

impl Tally {
    /// Opens a damaged file, asks it everything and checks it in full.
    fn note<F: Fingerprint>(&mut self, sample: &Sample<F>, file: &[u8], what: &str) {
        let storage = Storage::copy(file);
        let (opened, most) = most_held(|| {
            let index = answer(Index::<F>::from_bytes(storage), what)?;
            let asked = sample.ask(&index, what);
            Some((asked, index.verify(&Default::default()).unwrap()))
        });
        assert!(most <= held_limit(file.len()), "{what}: {most} bytes held");
        self.tried += 1;
        self.most_held = self.most_held.max(most);
        let Some((asked, report)) = opened else {
            self.refused += 1;
            self.found += 1;
            return;
        };
        self.found += usize::from(!report.is_sound());
        assert_eq!(report.problems.len() as u64, report.problem_count.min(20));
        let checked = (report.block_count, report.page_count);
        let good = (sample.report.block_count, sample.report.page_count);
        assert_eq!(checked, good, "{what}: blocks and pages checked");
        self.add(asked);
    }

    fn add(&mut self, asked: Asked) {
        self.answered += asked.answered;
        self.failed += asked.failed;
        self.most_steps = self.most_steps.max(asked.steps);
    }

    /// Opens a file of another length, which little memory must be enough to refuse.
    fn note_length<F: Fingerprint>(&mut self, file: &[u8], what: &str) {
        let storage = Storage::copy(file);
        let (opened, most) = most_held(|| answer(Index::<F>::from_bytes(storage), what).is_some());
        assert!(most <= 1 << 12, "{what}: {most} bytes held");
        self.tried += 1;
        self.found += usize::from(!opened);
        self.refused += usize::from(!opened);
        self.most_held = self.most_held.max(most);
    }
}

/// Every bit in turn, or every n-th by the stride of the sample.
fn flips<F: Fingerprint>(sample: &Sample<F>) -> Tally {
    let mut tally = Tally::default();
    let mut file = sample.file.clone();
    for bit in (0..file.len() * 8).step_by(sample.stride) {
        file[bit / 8] ^= 0x80 >> (bit % 8);
        tally.note(sample, &file, &format!("{}, bit {bit}", sample.name));
        file[bit / 8] ^= 0x80 >> (bit % 8);
    }
    assert_eq!(file, sample.file);
    assert_eq!(tally.tried, (file.len() * 8).div_ceil(sample.stride));
    tally
}

/// A part of a file with a checksum of its own: where its bytes are, and where its checksum is if that is not in them.
#[derive(Debug, Clone)]
struct Part {
    name: String,
    bytes: Range<usize>,
    checksum: Option<Range<usize>>,
    /// The table whose key entries need their checksum made right.
    keys_of: Option<usize>,
}

/// The tables in blocks, by their numbers.
fn in_blocks(layout: &Layout) -> impl Iterator<Item = (usize, &Table)> {
    let tables = layout.tables.iter().enumerate();
    tables.filter(|(_, table)| table.codec != LINES)
}

/// The blocks, pages and key groups of a file, those that may be exchanged together.
fn parts(layout: &Layout, file: &[u8]) -> Vec<Vec<Part>> {
    let mut blocks = Vec::new();
    for (table, record) in in_blocks(layout) {
        for block in 0..record.block_count {
            let at = layout.block_at(table, block);
            blocks.push(Part {
                name: format!("block {block} of table {table}"),
                bytes: at..at + layout.block_size,
                checksum: None,
                keys_of: None,
            });
        }
    }
    let mut all = vec![blocks, key_groups(layout, file)];
    let mut single = Vec::new();
    for section in layout.sections.iter().filter(|s| is_paged(s.kind)) {
        let payload = payload_len(section.len);
        let page = |page: usize| {
            let end = payload.min((page + 1) * PAGE_LEN);
            let checksum = section.offset + payload + 4 * page;
            Part {
                name: format!("page {page} of kind {}", section.kind),
                bytes: section.offset + page * PAGE_LEN..section.offset + end,
                checksum: Some(checksum..checksum + 4),
                keys_of: None,
            }
        };
        let pages: Vec<Part> = (0..payload.div_ceil(PAGE_LEN)).map(page).collect();
        single.extend(pages.first().cloned());
        all.push(pages);
    }
    for section in layout.sections.iter().filter(|s| s.kind == SKETCHES) {
        let (start, end) = (section.offset, section.offset + section.len);
        let head = head_len(&file[start..end]);
        let pages = (section.len - head).div_ceil(PAGE_LEN + 4);
        let (start, checksums) = (start + head, end - 4 * pages);
        let page = |page: usize| Part {
            name: format!("page {page} of the sketches"),
            bytes: start + page * PAGE_LEN..checksums.min(start + (page + 1) * PAGE_LEN),
            checksum: Some(checksums + 4 * page..checksums + 4 * page + 4),
            keys_of: None,
        };
        all.push((0..pages).map(page).collect());
    }
    // Pages of different sections, too.
    all.push(single);
    all
}

fn key_groups(layout: &Layout, file: &[u8]) -> Vec<Part> {
    let (mut groups, key_len) = (Vec::new(), layout.width as usize / 8);
    for (table, _) in in_blocks(layout) {
        let entries = layout.section(KEY_ENTRIES, table);
        let section = layout.section(KEY_GROUPS, table);
        let mut start = section.offset;
        for entry in (0..entries.len).step_by(key_len + 12) {
            let at = entries.offset + entry + key_len;
            let end = section.offset + number(file, at, 8) as usize;
            groups.push(Part {
                name: format!("a key group of table {table}"),
                bytes: start..end,
                checksum: Some(at + 8..at + 12),
                keys_of: Some(table),
            });
            start = end;
        }
    }
    groups
}

/// Most pairs of parts of a kind that are exchanged and repeated.
const MOST_PAIRS: usize = 8;

/// Parts exchanged with others of their length, and in the place of others, whole and with their checksums.
fn exchanges<F: Fingerprint>(sample: &Sample<F>) -> Tally {
    let mut tally = Tally::default();
    let layout = Layout::parse(&sample.file);
    for parts in parts(&layout, &sample.file) {
        let pairs = (0..parts.len()).flat_map(|i| (i + 1..parts.len()).map(move |j| (i, j)));
        let pairs = pairs.filter(|&(i, j)| parts[i].bytes.len() == parts[j].bytes.len());
        let pairs: Vec<(usize, usize)> = pairs.take(1 << 16).collect();
        for &(i, j) in pairs
            .iter()
            .step_by(pairs.len().div_ceil(MOST_PAIRS).max(1))
        {
            let (one, two) = (&parts[i], &parts[j]);
            for (way, exchange) in [("exchanged with", true), ("in the place of", false)] {
                let what = format!("{}, {} {way} {}", sample.name, one.name, two.name);
                let file = exchanged(sample, (one, two), exchange);
                let failed_before = tally.failed + tally.refused;
                tally.note(sample, &file, &what);
                assert!(tally.failed + tally.refused > failed_before, "{what}");
            }
        }
    }
    tally
}

/// The file with two parts exchanged, or the first in the place of the second, too.
fn exchanged<F>(sample: &Sample<F>, (one, two): (&Part, &Part), exchange: bool) -> Vec<u8> {
    let mut editor = Editor::new(sample.file.clone());
    let mut copy = |from: &Range<usize>, to: &Range<usize>| {
        editor.put(to.start, &sample.file[from.clone()]);
    };
    let mut ways = vec![(one, two)];
    ways.extend(exchange.then_some((two, one)));
    for (from, to) in ways {
        copy(&from.bytes, &to.bytes);
        if let (Some(from), Some(to)) = (&from.checksum, &to.checksum) {
            copy(from, to);
        }
    }
    let has_keys = one.keys_of.is_some();
    for table in [one.keys_of, two.keys_of].into_iter().flatten() {
        editor.seal_section(KEY_ENTRIES, table);
    }
    match has_keys {
        true => editor.finish(),
        false => editor.file,
    }
}

/// Every shorter length.
fn truncations<F: Fingerprint>(sample: &Sample<F>) -> Tally {
    let mut tally = Tally::default();
    for len in 0..sample.file.len() {
        let what = format!("{}, cut to {len} bytes", sample.name);
        tally.note_length::<F>(&sample.file[..len], &what);
    }
    assert_eq!(tally.tried, sample.file.len());
    tally
}

/// 1 to 64 bytes more: zeros, ones, random ones and its own, after the file, before it, and after it with the same
/// number lost before it.
fn extensions<F: Fingerprint>(sample: &Sample<F>) -> Tally {
    let mut tally = Tally::default();
    let mut rng = rng(64);
    let file = &sample.file[..];
    for more in 1..=64 {
        let random: Vec<u8> = (0..more).map(|_| rng.random()).collect();
        let own_end = file[file.len() - more..].to_vec();
        for (kind, bytes) in [
            ("zeros", vec![0; more]),
            ("ones", vec![0xff; more]),
            ("random bytes", random),
            ("bytes of its start", file[..more].to_vec()),
            ("bytes of its end", own_end),
        ] {
            let what = format!("{}, {more} {kind} more", sample.name);
            let longer = [file, &bytes].concat();
            tally.note_length::<F>(&longer, &what);
            tally.note_length::<F>(&longer[more..], &what);
            tally.note_length::<F>(&[&bytes, file].concat(), &what);
        }
    }
    tally.note_length::<F>(&file.repeat(2), &sample.name);
    assert_eq!(tally.tried, 64 * 15 + 1);
    tally
}

/// The outcomes of all damages to some samples: flipped bits, exchanges, cuts, extensions.
#[derive(Debug, Default, Clone, Copy)]
struct Tallies {
    samples: usize,
    flips: Tally,
    exchanges: Tally,
    cuts: Tally,
    longer: Tally,
}

impl AddAssign for Tallies {
    fn add_assign(&mut self, other: Self) {
        self.samples += other.samples;
        self.flips += other.flips;
        self.exchanges += other.exchanges;
        self.cuts += other.cuts;
        self.longer += other.longer;
    }
}

impl Tallies {
    fn of<F: Fingerprint>(sample: &Sample<F>) -> Self {
        Tallies {
            samples: 1,
            flips: flips(sample),
            exchanges: exchanges(sample),
            cuts: truncations(sample),
            longer: extensions(sample),
        }
    }

    fn print(&self, name: &str) {
        let Tallies { flips, .. } = self;
        simidx_testkit::report(&format!(
            "{name}: {} of {} flipped bits found, {} of them when opened; {} of {} exchanges; {} of {} cuts; {} of {} extensions; \
             {} right answers, {} errors; at most {} bytes held and {} steps",
            flips.found,
            flips.tried,
            flips.refused,
            self.exchanges.found,
            self.exchanges.tried,
            self.cuts.found,
            self.cuts.tried,
            self.longer.found,
            self.longer.tried,
            flips.answered,
            flips.failed,
            flips.most_held,
            flips.most_steps
        ));
    }

    /// Asserts that no damage was missed, and that opening the file did not find some of the flipped bits.
    fn check(&self, name: &str) {
        for tally in [self.flips, self.exchanges, self.cuts, self.longer] {
            assert_eq!(tally.found, tally.tried, "{name}");
        }
        let opened = self.flips.tried - self.flips.refused;
        assert!(self.flips.refused > 0 && opened > 0, "{name}");
        assert!(
            self.flips.answered > opened && self.flips.failed > 0,
            "{name}"
        );
    }
}

/// Damages every sample of a width in every way.
fn check_damages<F: Fingerprint>() -> Tallies {
    let mut total = Tallies::default();
    for sample in samples::<F>().into_iter().chain(samples_of_several_pages()) {
        let tallies = Tallies::of(&sample);
        let name = format!("{}, {} bytes", sample.name, sample.file.len());
        tallies.print(&name);
        tallies.check(&name);
        total += tallies;
    }
    total
}

#[test]
fn every_damage_is_found_and_none_gives_a_wrong_answer() {
    let mut total = Tallies::default();
    thread::scope(|scope| {
        let widths = [
            scope.spawn(check_damages::<u32>),
            scope.spawn(check_damages::<u64>),
            scope.spawn(check_damages::<u128>),
            scope.spawn(|| {
                let (sample, name) = (many_blocks(), "many blocks");
                let tallies = Tallies::of(&sample);
                tallies.print(name);
                tallies.check(name);
                tallies
            }),
        ];
        for width in widths {
            total += width.join().expect("the samples of a width pass");
        }
    });
    let name = format!("all {} samples", total.samples);
    total.print(&name);
    total.check(&name);
    assert!(total.exchanges.tried > 1000);
}
