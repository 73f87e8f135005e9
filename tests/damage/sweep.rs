//! Every flipped bit, every truncation and many extensions of the samples: how many, and what became of them.

use std::ops::AddAssign;
use std::thread;

use rand::RngExt;
use simidx::{Fingerprint, Index};

use super::cost::held_limit;
use super::sample::{Asked, Sample, answer};
use super::samples::{samples, samples_of_several_pages};
use simidx_testkit::counting::most_held;
use simidx_testkit::rng;

/// What came of damages of one kind.
#[derive(Debug, Default, Clone, Copy)]
struct Tally {
    tried: usize,
    /// Those that kept the file from being opened, or that a full check told of.
    found: usize,
    /// Those of the found that kept the file from being opened.
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
        let (opened, most) = most_held(|| {
            let index = answer(Index::<F, _>::from_bytes(file), what)?;
            let asked = sample.ask(&index, what);
            Some((asked, index.verify()))
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
        let (opened, most) = most_held(|| answer(Index::<F, _>::from_bytes(file), what).is_some());
        assert!(most <= 1 << 12, "{what}: {most} bytes held");
        self.tried += 1;
        self.found += usize::from(!opened);
        self.refused += usize::from(!opened);
        self.most_held = self.most_held.max(most);
    }
}

/// Every bit in turn, or as many as the stride of the sample leaves.
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

/// 1 to 64 bytes more: zeros, ones, random ones and its own, behind the file, before it, and behind it with as many
/// lost before it.
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
            let behind = [file, &bytes].concat();
            tally.note_length::<F>(&behind, &what);
            tally.note_length::<F>(&behind[more..], &what);
            tally.note_length::<F>(&[&bytes, file].concat(), &what);
        }
    }
    tally.note_length::<F>(&file.repeat(2), &sample.name);
    assert_eq!(tally.tried, 64 * 15 + 1);
    tally
}

/// What came of all damages to some samples: of flipped bits, of cuts, of extensions.
#[derive(Debug, Default, Clone, Copy)]
struct Tallies {
    samples: usize,
    flips: Tally,
    cuts: Tally,
    longer: Tally,
}

impl AddAssign for Tallies {
    fn add_assign(&mut self, other: Self) {
        self.samples += other.samples;
        self.flips += other.flips;
        self.cuts += other.cuts;
        self.longer += other.longer;
    }
}

impl Tallies {
    fn of<F: Fingerprint>(sample: &Sample<F>) -> Self {
        Tallies {
            samples: 1,
            flips: flips(sample),
            cuts: truncations(sample),
            longer: extensions(sample),
        }
    }

    fn print(&self, name: &str) {
        let Tallies { flips, .. } = self;
        simidx_testkit::report(&format!(
            "{name}: {} of {} flipped bits found, {} of them when opened; {} of {} cuts; {} of {} extensions; \
             {} right answers, {} errors; at most {} bytes held and {} steps",
            flips.found,
            flips.tried,
            flips.refused,
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

    /// Holds that nothing was missed, and that some of the flipped bits were not told of when the file was opened.
    fn check(&self, name: &str) {
        for tally in [self.flips, self.cuts, self.longer] {
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
        ];
        for width in widths {
            total += width.join().expect("the samples of a width pass");
        }
    });
    let name = format!("all {} samples", total.samples);
    total.print(&name);
    total.check(&name);
}
