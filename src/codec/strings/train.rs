//! Trains a code: chooses its symbols and their codewords from a sample.
//!
//! Each round divides the sample into the cheapest symbols of the current vocabulary, and counts them and their pairs.
//! From the counts it estimates the savings of each symbol, and of each pair as a symbol; those with the largest
//! savings form the next vocabulary. All of this uses integers and total orders, so that the same sample gives the same
//! code everywhere.

use super::code::{
    MAX_SYMBOLS, MAX_TRAINED_SYMBOL_BYTES, PREFIX_ESCAPE, PREFIX_SYMBOLS, StringCode,
};
use super::front::FrontCoder;
use super::parser::{ESCAPED, ParseScratch, Parser, Priced};
use super::symbol::Symbol;
use super::writer::priced;
use super::{BUCKET_LEN, SAMPLE_BUCKETS};
use crate::codec::huffman::code_lengths;

/// The most bytes of a suffix that are used.
const MAX_SUFFIX_LEN: usize = 256;

/// The most bytes of suffixes that are used, approximately.
const MAX_SAMPLE_LEN: usize = 1024 << 10;

/// The least bytes of suffixes in a round, approximately, if the sample has them.
const MIN_PART_LEN: usize = 16 << 10;

/// Number of rounds that add symbols.
const GROWING_ROUNDS: usize = 7;

/// Number of later rounds that only drop symbols.
const PRUNING_ROUNDS: usize = 2;

/// Number of growing rounds that use only a part of the sample; the last of them uses half.
const PARTIAL_ROUNDS: usize = 5;

/// The factor by which a growing round keeps more symbols than fit the code.
const SPARE_SYMBOLS: usize = 2;

/// The unit of costs, in parts of a bit.
const BIT: u32 = 256;

/// The least number of occurrences of a pair that becomes a symbol.
const MIN_PAIR_COUNT: u32 = 6;

impl StringCode {
    /// Trains a code on a sample: runs of [`BUCKET_LEN`] sorted strings, of which it uses at most [`SAMPLE_BUCKETS`].
    /// Takes at most about 0.2 seconds, and the memory of the suffixes that it uses.
    pub(crate) fn train<'a>(sample: impl Iterator<Item = &'a [u8]>) -> StringCode {
        let (sample, prefix_counts) = Sample::collect(sample);
        let prefix_lengths = code_lengths(&prefix_counts);
        let mut vocabulary = Vocabulary::of_bytes(&sample);
        for round in 0..GROWING_ROUNDS + PRUNING_ROUNDS {
            let halvings = PARTIAL_ROUNDS.saturating_sub(round);
            let grows = round < GROWING_ROUNDS;
            let counts = vocabulary.count(&sample.part(halvings), grows);
            let is_last_growth = round + 1 >= GROWING_ROUNDS;
            let spare = if is_last_growth { 1 } else { SPARE_SYMBOLS };
            vocabulary = vocabulary.select(&counts, MAX_TRAINED_SYMBOL_BYTES * spare);
        }
        // These counts were taken with codeword lengths as costs.
        let counts = vocabulary.count(&sample.part(0), false);
        let code = vocabulary.code(&counts, &prefix_lengths);
        let (symbols, escape_cost) = priced(&code);
        let symbols: Vec<Priced> = symbols
            .into_iter()
            .filter(|priced| priced.symbol != Symbol::ESCAPE)
            .collect();
        let vocabulary = Vocabulary {
            symbols,
            escape_cost,
        };
        let counts = vocabulary.count(&sample.part(0), false);
        vocabulary.code(&counts, &prefix_lengths)
    }
}

/// The suffixes of a sample.
#[derive(Debug, Default)]
struct Sample {
    bytes: Vec<u8>,
    ends: Vec<usize>,
}

impl Sample {
    /// Returns the suffixes, and the counts of the symbols of the prefix code.
    fn collect<'a>(strings: impl Iterator<Item = &'a [u8]>) -> (Sample, [u64; PREFIX_SYMBOLS]) {
        let mut sample = Sample::default();
        let mut front = FrontCoder::default();
        let mut prefix_counts = [0; PREFIX_SYMBOLS];
        // Any prefix that does not occur in the sample needs the escape.
        prefix_counts[PREFIX_ESCAPE] = 1;
        for string in strings.take(SAMPLE_BUCKETS * BUCKET_LEN) {
            let (prefix, symbol) = front.push(string);
            prefix_counts[symbol] += 1;
            let suffix = &string[prefix..];
            sample.bytes.extend(suffix.iter().take(MAX_SUFFIX_LEN));
            sample.ends.push(sample.bytes.len());
        }
        (sample, prefix_counts)
    }

    /// Returns all strings, or every second, fourth and so on, in runs; more of them if there are few.
    fn part(&self, halvings: usize) -> Vec<&[u8]> {
        let len = self.bytes.len();
        let halvings = halvings.min((len / MIN_PART_LEN).max(1).ilog2() as usize);
        let whole = len.div_ceil(MAX_SAMPLE_LEN).next_power_of_two();
        let mask = (whole << halvings) - 1;
        let mut start = 0;
        let suffixes = self.ends.iter().enumerate().filter_map(|(i, &end)| {
            let suffix = &self.bytes[start..end];
            start = end;
            ((i / BUCKET_LEN) & mask == 0).then_some(suffix)
        });
        suffixes.collect()
    }
}

/// Symbols and their costs, excluding the escape.
#[derive(Debug)]
struct Vocabulary {
    symbols: Vec<Priced>,
    escape_cost: u16,
}

/// The numbers of occurrences in a sample.
#[derive(Debug)]
struct Counts {
    symbols: Vec<u32>,
    escapes: u32,
    /// Neighbours and how often they occur together.
    pairs: Vec<(u16, u16, u32)>,
    total: u32,
}

/// A candidate symbol for a vocabulary.
#[derive(Debug)]
struct Candidate {
    symbol: Symbol,
    count: u32,
    /// The savings in the sample, in parts of a bit.
    gain: u64,
}

impl Vocabulary {
    /// Creates the vocabulary of the bytes that occur, and the end.
    fn of_bytes(sample: &Sample) -> Self {
        let mut counts = [0u32; 256];
        sample
            .bytes
            .iter()
            .for_each(|&b| counts[usize::from(b)] += 1);
        let total = (sample.bytes.len() + sample.ends.len()) as u32 + 2;
        let bytes = (0..=255u8).zip(counts).filter(|(_, count)| *count > 0);
        let symbols = bytes
            .map(|(byte, count)| (Symbol::new(&[byte], false), count))
            .chain([(Symbol::EMPTY_END, sample.ends.len() as u32 + 1)])
            .map(|(symbol, count)| Priced {
                symbol,
                cost: price(count, total),
            });
        Vocabulary {
            symbols: symbols.collect(),
            escape_cost: price(1, total) + 8 * BIT as u16,
        }
    }

    /// Divides strings into symbols and counts them.
    fn count(&self, strings: &[&[u8]], with_pairs: bool) -> Counts {
        let parser = Parser::new(&self.symbols, self.escape_cost);
        let mut scratch = ParseScratch::default();
        let mut symbols = vec![0; self.symbols.len()];
        let mut escapes = 0;
        let mut pairs: Vec<u32> = Vec::new();
        for string in strings {
            let mut before = ESCAPED;
            parser.parse(string, &mut scratch, |number, _| {
                if number == ESCAPED {
                    escapes += 1;
                } else {
                    symbols[usize::from(number)] += 1;
                    if with_pairs && before != ESCAPED {
                        pairs.push(u32::from(before) << 16 | u32::from(number));
                    }
                }
                before = number;
            });
        }
        pairs.sort_unstable();
        let pairs = pairs.chunk_by(|a, b| a == b);
        Counts {
            total: symbols.iter().sum::<u32>() + escapes,
            pairs: pairs
                .filter(|same| same.len() >= MIN_PAIR_COUNT as usize)
                .map(|same| ((same[0] >> 16) as u16, same[0] as u16, same.len() as u32))
                .collect(),
            symbols,
            escapes,
        }
    }

    /// Returns the symbols and joined pairs with the largest savings, as many as fit `room` bytes.
    fn select(&self, counts: &Counts, room: usize) -> Vocabulary {
        let mut candidates = self.kept(counts);
        candidates.extend(self.joined(counts));
        // Sorted by symbol, to combine those found in several ways.
        candidates.sort_unstable_by_key(|c| (c.symbol, c.count));
        candidates.dedup_by(|from, into| {
            let same = from.symbol == into.symbol;
            if same {
                into.count += from.count;
                into.gain += from.gain;
            }
            same
        });
        candidates.sort_by_key(|c| std::cmp::Reverse(c.gain));
        let mut left = room - 2;
        let mut symbols = vec![Priced {
            symbol: Symbol::EMPTY_END,
            cost: price(counts.symbols[self.empty_end()] + 1, counts.total + 2),
        }];
        for candidate in candidates {
            let len = candidate.symbol.len() + 1;
            if len > left || symbols.len() + 1 == MAX_SYMBOLS {
                break;
            }
            left -= len;
            symbols.push(Priced {
                symbol: candidate.symbol,
                cost: price(candidate.count, counts.total + 2),
            });
        }
        Vocabulary {
            symbols,
            escape_cost: price(counts.escapes + 1, counts.total + 2) + 8 * BIT as u16,
        }
    }

    fn empty_end(&self) -> usize {
        let mut symbols = self.symbols.iter();
        let found = symbols.position(|s| s.symbol == Symbol::EMPTY_END);
        found.expect("each vocabulary has the end")
    }

    /// Returns the symbols that save more than they take in the file, and all bytes. Those without savings are dropped
    /// last, since longer symbols that replace each other may all be dropped at once.
    fn kept(&self, counts: &Counts) -> Vec<Candidate> {
        let parser = Parser::new(&self.symbols, self.escape_cost);
        let mut scratch = ParseScratch::default();
        let mut kept = Vec::new();
        for (number, (priced, &count)) in self.symbols.iter().zip(&counts.symbols).enumerate() {
            let symbol = priced.symbol;
            if count > 0 && symbol != Symbol::EMPTY_END {
                let instead = parser.cost_without(number as u16, &symbol, &mut scratch);
                kept.extend(Candidate::new(symbol, count, instead, counts.total));
            }
            if symbol.is_byte() {
                kept.push(Candidate {
                    symbol,
                    count: 1,
                    gain: 0,
                });
            }
        }
        kept
    }

    /// Returns the pairs that would save more as symbols than they take in the file.
    fn joined(&self, counts: &Counts) -> Vec<Candidate> {
        let pairs = counts.pairs.iter().filter_map(|&(first, second, count)| {
            let first = &self.symbols[usize::from(first)];
            let second = &self.symbols[usize::from(second)];
            let symbol = first.symbol.joined(&second.symbol)?;
            let instead = u32::from(first.cost) + u32::from(second.cost);
            Candidate::new(symbol, count, instead, counts.total)
        });
        pairs.collect()
    }

    /// Returns the code for the counts of this vocabulary.
    fn code(&self, counts: &Counts, prefix_lengths: &[u8]) -> StringCode {
        let (mut symbols, mut numbers) =
            (vec![Symbol::ESCAPE], vec![u64::from(counts.escapes) + 1]);
        for (priced, &count) in self.symbols.iter().zip(&counts.symbols) {
            let is_end = priced.symbol == Symbol::EMPTY_END;
            if count > 0 || is_end {
                symbols.push(priced.symbol);
                numbers.push(u64::from(count) + u64::from(is_end));
            }
        }
        let lengths = code_lengths(&numbers);
        StringCode::new(lengths.into_iter().zip(symbols).collect(), prefix_lengths)
    }
}

impl Candidate {
    /// Creates a candidate if it saves more than it takes; `instead` is the cost of each occurrence without it.
    fn new(symbol: Symbol, count: u32, instead: u32, total: u32) -> Option<Self> {
        let own = u32::from(price(count, total));
        let stored = (symbol.len() as u64 + 1) * 8 * u64::from(BIT);
        let saved = u64::from(instead.checked_sub(own)?) * u64::from(count);
        let gain = saved.checked_sub(stored)?;
        Some(Candidate {
            symbol,
            count,
            gain,
        })
    }
}

/// Returns the cost of each of `count` occurrences among `total`, in parts of a bit: the logarithm of their ratio, as
/// in an ideal code, but at least one bit, the length of the shortest codeword.
fn price(count: u32, total: u32) -> u16 {
    let cost = log2(total.max(count)) - log2(count);
    cost.max(BIT) as u16
}

/// Returns the binary logarithm of a number above 0 in parts of a bit, rounded down.
fn log2(number: u32) -> u32 {
    let whole = number.ilog2();
    // From 1 to 2, as 2^31 to 2^32: squaring moves the next bit of the logarithm before the point.
    let mut rest = u64::from(number) << (31 - whole);
    let mut log = whole;
    for _ in 0..BIT.ilog2() {
        rest = (rest * rest) >> 31;
        let bit = (rest >> 32) as u32;
        rest >>= bit;
        log = log << 1 | bit;
    }
    log
}
