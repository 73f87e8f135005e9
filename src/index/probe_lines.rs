//! Runs probes of tables in lines, many at a time. Each step is done for all of them before the next, so that their
//! cache misses overlap.

use std::ops::Range;

use super::lines::{LinePlace, LineTable, PAGE_LINES};
use super::probe::{Findings, Found, Target};
use super::query::Match;
use crate::codec::bits::read_value;
use crate::codec::lines::{
    LINE_ADDRESSES, LINE_BITS, LINE_LEN, Line, LineFault, MAX_ADDRESS_BITS, shifted, shifted_down,
};
use crate::cpu::{CACHE_LINE, Cpu, Work, dispatch, prefetch};
use crate::design::{Permuted, TableProbes};
use crate::error::FormatError;
use crate::fingerprint::Fingerprint;
use crate::format::PAGE_LEN;
use crate::memory::will_need;

/// The least number of addresses and lines that are searched together.
const LINES_TOGETHER: usize = 512;

/// That number for the first search if one match is enough, because a match is often among the first. It doubles with
/// each search.
const FIRST_LINES_TOGETHER: usize = 4;

/// With at least this many free bits of an address, the values of a prefix are compared as one span. Two addresses are
/// faster one by one.
const LEAST_SPAN_BITS: u32 = 2;

/// With at least this many low bits for each bit that may differ, low bits alone tell most values from the query.
const LEAST_BITS_FOR_A_DIFFERENCE: u32 = 3;

/// A query for one table.
#[derive(Debug, Clone, Copy)]
pub(super) struct Ask<'a, F> {
    pub(super) table: &'a LineTable<F>,
    /// The lines of the table, whether checked or not.
    lines: &'a [[u8; LINE_LEN]],
    /// The low bits of the table, whether checked or not.
    row: &'a [u8],
    /// The query in the bit order of the table.
    pub(super) query: F,
    /// Number of leading bits in which wanted values differ from the query in at most `flips`.
    pub(super) prefix_bits: u32,
    /// The number of prefix bits in which wanted values may differ from the query.
    flips: u32,
    /// The number of the query among those processed together.
    pub(super) owner: u32,
}

impl<F: Fingerprint> Ask<'_, F> {
    /// Returns the query's own address in the table: the number of its line, and 8 bits.
    #[inline(always)]
    fn own(&self) -> u64 {
        shifted_down(self.query, self.table.low_bits()).to_u128() as u64
    }

    /// Returns the address of the query in a line whose addresses leave `bits_below` bits of a value.
    #[inline(always)]
    fn address(&self, bits_below: u32) -> u8 {
        shifted_down(self.query, bits_below).to_u128() as u8
    }

    /// Returns the first and the last address in such a line of values with the query's prefix.
    #[inline(always)]
    fn addresses(&self, bits_below: u32) -> (u8, u8) {
        lot(
            self.address(bits_below),
            self.free_bits(LINE_BITS, bits_below),
        )
    }

    /// Returns how many of the `bits` bits above the last `bits_below` are not in the prefix.
    #[inline(always)]
    fn free_bits(&self, bits: u32, bits_below: u32) -> u32 {
        let behind = F::WIDTH - self.prefix_bits;
        behind.saturating_sub(bits_below).min(bits)
    }
}

/// A line of which several addresses are wanted, or one below a crowded line.
#[derive(Debug, Clone, Copy)]
struct WideHead<F> {
    place: LinePlace<F>,
    ask: u32,
    /// Number of prefix bits, from the address in the line on, that may be flipped.
    flips: u32,
}

/// An address that has values or is in a crowded line: the number of its line, and 8 bits.
#[derive(Debug, Clone, Copy, Default)]
struct Spot {
    address: u64,
    ask: u32,
}

/// The values of an address.
#[derive(Debug, Clone, Copy)]
struct Run<F> {
    /// The values without their low bits.
    base: F,
    /// The rank of the first value.
    rank: u64,
    ask: u32,
    count: u32,
}

impl<F> Run<F> {
    fn ranks(&self) -> Range<u64> {
        self.rank..self.rank + u64::from(self.count)
    }
}

/// The values of all addresses of a line that share some leading bits.
#[derive(Debug, Clone, Copy)]
struct Span<F> {
    place: LinePlace<F>,
    /// The rank of the first value.
    rank: u64,
    ask: u32,
    /// The number of the first value in the line.
    begin: u16,
    count: u16,
    addresses: (u8, u8),
}

impl<F> Span<F> {
    fn ranks(&self) -> Range<u64> {
        self.rank..self.rank + u64::from(self.count)
    }
}

/// The lists of a search in lines. They are empty between queries.
#[derive(Debug)]
pub(super) struct LineLists<'a, F> {
    /// The least number of addresses and lines that are searched together.
    together: usize,
    asks: Vec<Ask<'a, F>>,
    /// The first address of each of `asks`.
    starts: Vec<u32>,
    /// Addresses that are wanted, each as the number of its line and 8 bits.
    addresses: Vec<u64>,
    wide: Vec<WideHead<F>>,
    spots: Vec<Spot>,
    runs: Vec<Run<F>>,
    spans: Vec<Span<F>>,
    pub(super) scan: ScanLists<F>,
}

/// The lists of a scan of lines.
#[derive(Debug)]
pub(super) struct ScanLists<F> {
    /// Finer lines that are yet to be visited.
    waiting: Vec<LinePlace<F>>,
    /// The values of a line.
    values: Vec<Permuted<F>>,
}

impl<F> Default for LineLists<'_, F> {
    fn default() -> Self {
        LineLists {
            together: LINES_TOGETHER,
            asks: Vec::new(),
            starts: Vec::new(),
            addresses: Vec::new(),
            wide: Vec::new(),
            spots: Vec::new(),
            runs: Vec::new(),
            spans: Vec::new(),
            scan: ScanLists {
                waiting: Vec::new(),
                values: Vec::new(),
            },
        }
    }
}

impl<'a, F: Fingerprint> LineLists<'a, F> {
    /// Prepares for a search that ends with the first match, or for one of all matches.
    pub(super) fn begin(&mut self, stop_at_first: bool) {
        self.together = match stop_at_first {
            true => FIRST_LINES_TOGETHER,
            false => LINES_TOGETHER,
        };
    }

    /// Adds a query; its addresses and wide lines follow.
    #[inline(always)]
    fn start(&mut self, ask: Ask<'a, F>) {
        let start = self.addresses.len() as u32;
        self.asks.push(ask);
        self.starts.push(start);
    }
}

impl<F: Fingerprint> LineLists<'_, F> {
    /// Prefetches the low bits of the runs from number `runs` on, and of all spans. This is a loop of its own: a processor
    /// that looks up the address of a page does little else until it has found it, unless the next look-up is only a few
    /// instructions away.
    #[inline(always)]
    fn prefetch_low_bits(&self, runs: usize) {
        for run in self.runs.iter().skip(runs) {
            let ask = &self.asks[run.ask as usize];
            prefetch(ask.row, ask.table.low_bytes(run.ranks()).start);
        }
        for span in &self.spans {
            let ask = &self.asks[span.ask as usize];
            for byte in ask.table.low_bytes(span.ranks()).step_by(CACHE_LINE) {
                prefetch(ask.row, byte);
            }
        }
    }
}

impl<F> LineLists<'_, F> {
    /// Returns the addresses of a query.
    #[inline(always)]
    fn addresses_of_ask(&self, ask: usize) -> &[u64] {
        let end = self
            .starts
            .get(ask + 1)
            .map_or(self.addresses.len(), |&end| end as usize);
        &self.addresses[self.starts[ask] as usize..end]
    }

    /// Returns the lines of the addresses of a query, each line once for adjacent addresses.
    #[inline(always)]
    fn lines_of_ask(&self, ask: usize) -> impl Iterator<Item = u64> + Clone {
        let mut last = u64::MAX;
        let lines = self
            .addresses_of_ask(ask)
            .iter()
            .map(|&address| address >> LINE_BITS);
        lines.filter(move |&line| std::mem::replace(&mut last, line) != line)
    }

    /// Returns empty lists for any index, in the same memory.
    #[inline]
    pub(super) fn emptied<'b>(mut self) -> LineLists<'b, F> {
        self.clear();
        LineLists {
            together: self.together,
            asks: super::probe::emptied(self.asks),
            starts: self.starts,
            addresses: self.addresses,
            wide: self.wide,
            spots: self.spots,
            runs: self.runs,
            spans: self.spans,
            scan: self.scan,
        }
    }

    fn clear(&mut self) {
        self.asks.clear();
        self.starts.clear();
        self.addresses.clear();
        self.wide.clear();
        self.spots.clear();
        self.runs.clear();
        self.spans.clear();
    }

    /// Returns the number of addresses and lines to search.
    #[inline(always)]
    fn len(&self) -> usize {
        self.addresses.len() + self.wide.len()
    }
}

/// The numbers with at most one bit set.
const AT_MOST_ONE_FLIP: [u64; 1 + MAX_ADDRESS_BITS as usize] = {
    let mut flips = [0; 1 + MAX_ADDRESS_BITS as usize];
    let mut bit = 0;
    while bit < MAX_ADDRESS_BITS as usize {
        flips[1 + bit] = 1 << bit;
        bit += 1;
    }
    flips
};

/// A set of addresses of a line, one bit for each.
type Addresses = [u64; 4];

/// The addresses near 0, for each number of free low bits and each number of flips of the bits above.
const NEAR_ZERO: [[Addresses; 9]; 9] = near_zero();

const fn near_zero() -> [[Addresses; 9]; 9] {
    let mut near = [[[0; 4]; 9]; 9];
    let mut free_bits = 0;
    while free_bits <= 8 {
        let mut flips = 0;
        while flips <= 8 {
            let mut address = 0;
            while address < LINE_ADDRESSES {
                if (address >> free_bits).count_ones() <= flips as u32 {
                    near[free_bits][flips][address / 64] |= 1 << (address % 64);
                }
                address += 1;
            }
            flips += 1;
        }
        free_bits += 1;
    }
    near
}

/// For each `i`, the bits of a word whose numbers have bit `i` clear.
const CLEAR: [u64; 6] = [
    0x5555_5555_5555_5555,
    0x3333_3333_3333_3333,
    0x0f0f_0f0f_0f0f_0f0f,
    0x00ff_00ff_00ff_00ff,
    0x0000_ffff_0000_ffff,
    0x0000_0000_ffff_ffff,
];

/// Returns the addresses of a set, each combined with `address` by exclusive or.
#[inline(always)]
fn moved(set: &Addresses, address: u8) -> Addresses {
    let mut moved: Addresses = std::array::from_fn(|i| set[i ^ usize::from(address >> 6)]);
    for (bit, &clear) in CLEAR.iter().enumerate() {
        // Not a branch, since bits of addresses cannot be predicted.
        let is_moved = u64::from(address >> bit & 1).wrapping_neg();
        for word in &mut moved {
            let swapped = *word >> (1 << bit) & clear | (*word & clear) << (1 << bit);
            *word ^= (*word ^ swapped) & is_moved;
        }
    }
    moved
}

/// Returns the next larger number with the same number of set bits.
#[inline(always)]
fn next_pattern(pattern: u64) -> u64 {
    let low = pattern & pattern.wrapping_neg();
    let ripple = pattern.wrapping_add(low);
    ripple | ((pattern ^ ripple) >> 2) >> low.trailing_zeros()
}

impl<'a, F: Fingerprint> Target<'a, F> {
    /// Adds the lines that the probes of a table lead to, and searches them whenever there are enough, see
    /// [`LineLists::begin`]. [`Target::run_lines`] searches the rest. With `stop_at_first`, returns as soon as there is a
    /// match.
    ///
    /// # Errors
    /// The errors of `run_lines`.
    pub(super) fn probe_lines(
        &self,
        (table, query, owner): (&'a LineTable<F>, F, u32),
        probes: &TableProbes,
        stop_at_first: bool,
        lists: &mut LineLists<'a, F>,
        findings: &mut Findings<F>,
    ) -> Result<(), FormatError> {
        if (table.number, probes.address_bits) == (0, 0) {
            let ask = (table, query, owner);
            return self.scan_lines(ask, 0..table.part_count(), &mut lists.scan, findings);
        }
        let ask = Ask {
            table,
            lines: table.unchecked_lines(self.file),
            row: table.row.payload(self.file),
            query,
            prefix_bits: probes.prefix_bits,
            flips: probes.flips,
            owner,
        };
        findings.stats.probes += probes.probe_count();
        let is_narrow = ask.free_bits(LINE_BITS, table.low_bits()) == 0;
        let own = ask.own();
        if is_narrow && probes.flips <= 1 {
            if lists.len() >= lists.together {
                self.run_lines(lists, findings)?;
                if stop_at_first && !findings.found.is_empty() {
                    return Ok(());
                }
            }
            lists.start(ask);
            let flips = &AT_MOST_ONE_FLIP[..1 + (probes.flips * table.address_bits) as usize];
            lists.addresses.extend(flips.iter().map(|flip| own ^ flip));
            for line in lists.lines_of_ask(lists.asks.len() - 1) {
                prefetch(ask.lines, line as usize);
            }
            return Ok(());
        }
        let line_bits = table.address_bits - LINE_BITS;
        // Bits of a line number that may be flipped, and those below them, which may have any value.
        let flipped_bits = probes.prefix_bits.min(line_bits);
        let any_bits = line_bits - flipped_bits;
        let bits_left = probes.prefix_bits - flipped_bits;
        let line = own >> LINE_BITS;
        lists.start(ask);
        for flips in 0..=probes.flips.min(flipped_bits) {
            let left = (probes.flips - flips).min(bits_left);
            let mut pattern = (1u64 << flips) - 1;
            while pattern >> flipped_bits == 0 {
                let first = (line >> any_bits ^ pattern) << any_bits;
                for line in first..first + (1 << any_bits) {
                    if lists.len() >= lists.together {
                        self.run_lines(lists, findings)?;
                        if stop_at_first && !findings.found.is_empty() {
                            return Ok(());
                        }
                        lists.start(ask);
                    }
                    prefetch(ask.lines, line as usize);
                    if left == 0 && is_narrow {
                        let address = own % LINE_ADDRESSES as u64;
                        lists.addresses.push(line << LINE_BITS | address);
                    } else {
                        lists.wide.push(WideHead {
                            place: table.place(line),
                            ask: lists.asks.len() as u32 - 1,
                            flips: left,
                        });
                    }
                }
                if pattern == 0 {
                    break;
                }
                pattern = next_pattern(pattern);
            }
        }
        Ok(())
    }

    /// Compares all values of some parts of table 0 with a query.
    ///
    /// # Errors
    /// A damaged part.
    pub(super) fn scan_lines(
        &self,
        (table, query, owner): (&LineTable<F>, F, u32),
        parts: Range<usize>,
        ScanLists { waiting, values }: &mut ScanLists<F>,
        findings: &mut Findings<F>,
    ) -> Result<(), FormatError> {
        let mut rank = table.rank_of_part(self.file, parts.start)?;
        let first_rank = rank;
        let mut visits = table.line_count;
        findings.stats.blocks += parts.len() as u64;
        for part in parts {
            table.read_ahead(self.file, part);
            let place = table.place(part as u64);
            table.visit(
                self.file,
                place,
                (&mut visits, waiting),
                &mut |line, place| {
                    values.clear();
                    table.read_line(self.file, line, place, values)?;
                    for &Permuted(value) in &*values {
                        // The values of table 0 are the fingerprints.
                        let distance = value.distance(query);
                        if distance <= self.distance {
                            findings.found.push(Found {
                                owner,
                                found: Match {
                                    distance,
                                    fingerprint: value,
                                    rank: self.is_ranked.then_some(rank),
                                },
                            });
                        }
                        rank += 1;
                    }
                    Ok(())
                },
            )?;
        }
        findings.stats.candidates += rank - first_rank;
        findings.stats.probes += 1;
        Ok(())
    }
}

impl<'a, F: Fingerprint> Target<'a, F> {
    /// Searches the lines of the lists and removes them.
    ///
    /// # Errors
    /// A damaged page or line that had to be read.
    pub(super) fn run_lines(
        &self,
        lists: &mut LineLists<'a, F>,
        findings: &mut Findings<F>,
    ) -> Result<(), FormatError> {
        if lists.asks.is_empty() {
            return Ok(());
        }
        let looked_into = dispatch(LookInto {
            target: self,
            lists,
            findings,
        });
        lists.clear();
        lists.together = (2 * lists.together).min(LINES_TOGETHER);
        looked_into
    }

    /// Checks the lines that have not been used yet; all are requested before the first is read.
    #[cold]
    #[inline(never)]
    fn check_lines(&self, lists: &LineLists<'a, F>) -> Result<(), FormatError> {
        let narrow = (0..lists.asks.len()).flat_map(|ask| {
            let table = lists.asks[ask].table;
            lists.lines_of_ask(ask).map(move |line| (table, line))
        });
        let wide = lists.wide.iter();
        let wide = wide.map(|wide| (lists.asks[wide.ask as usize].table, wide.place.number));
        let all = narrow.chain(wide);
        for (table, line) in all.clone() {
            let page = line as usize / PAGE_LINES;
            if self.cold || !table.lines.is_checked(page) {
                table.lines.read_ahead(self.file, page, 1);
            }
        }
        for (table, line) in all {
            table.line(self.file, line)?;
        }
        Ok(())
    }

    /// Collects the addresses that have values or are in crowded lines. Returns whether all pages had been checked
    /// before.
    #[inline(always)]
    fn collect(&self, lists: &mut LineLists<'a, F>) -> Result<bool, FormatError> {
        let mut spots = std::mem::take(&mut lists.spots);
        spots.resize(lists.addresses.len(), Spot::default());
        let (mut count, mut all_checked) = (0, true);
        for (number, ask) in lists.asks.iter().enumerate() {
            let table = ask.table;
            for &address in lists.addresses_of_ask(number) {
                let line_number = address >> LINE_BITS;
                let Some(line) = ask.lines.get(line_number as usize).map(Line::new) else {
                    return Err(table.fault(LineFault::Finer, line_number));
                };
                all_checked &= table.lines.is_checked(line_number as usize / PAGE_LINES);
                spots[count] = Spot {
                    address,
                    ask: number as u32,
                };
                // It cannot be predicted which addresses have values.
                count += usize::from(line.has(address as u8) | line.is_crowded());
            }
        }
        spots.truncate(count);
        lists.spots = spots;
        for wide in &lists.wide {
            let ask = &lists.asks[wide.ask as usize];
            let (table, number) = (ask.table, wide.place.number);
            if number as usize >= ask.lines.len() {
                return Err(table.fault(LineFault::Finer, number));
            }
            all_checked &= table.lines.is_checked(number as usize / PAGE_LINES);
        }
        Ok(all_checked)
    }

    /// Finds the values of the addresses, and moves crowded lines to the wide ones.
    #[inline(always)]
    fn find_runs<C: Cpu>(&self, cpu: C, lists: &mut LineLists<'a, F>) -> Result<(), FormatError> {
        for spot in &lists.spots {
            let ask = &lists.asks[spot.ask as usize];
            let table = ask.table;
            let number = spot.address >> LINE_BITS;
            let Some(line) = ask.lines.get(number as usize).map(Line::new) else {
                return Err(table.fault(LineFault::Finer, number));
            };
            let place = table.place(number);
            if line.is_crowded() {
                let own = ask.own();
                // The other addresses of the line are among those near the query's own.
                if spot.address as u8 == own as u8 {
                    lists.wide.push(WideHead {
                        place,
                        ask: spot.ask,
                        flips: if spot.address == own { ask.flips } else { 0 },
                    });
                }
                continue;
            }
            let run = self.run_of(cpu, table, line, &place, (spot.ask, spot.address as u8))?;
            lists.runs.push(run);
        }
        Ok(())
    }

    /// Finds the values of the wanted addresses of a line: as a span where the addresses are adjacent.
    #[inline(always)]
    fn find_near<C: Cpu>(
        &self,
        cpu: C,
        ask: &Ask<'a, F>,
        line: Line<'_>,
        wide: &WideHead<F>,
        (runs, spans): (&mut Vec<Run<F>>, &mut Vec<Span<F>>),
    ) -> Result<(), FormatError> {
        let bits_below = wide.place.bits_below;
        if wide.flips == 0 {
            if let Some(span) = self.span_of(cpu, ask, line, wide, ask.addresses(bits_below))? {
                spans.push(span);
            }
            return Ok(());
        }
        let near = near(ask, wide, line);
        let free_bits = ask.free_bits(LINE_BITS, bits_below);
        if free_bits < LEAST_SPAN_BITS {
            for address in near {
                runs.push(self.run_of(cpu, ask.table, line, &wide.place, (wide.ask, address))?);
            }
            return Ok(());
        }
        for addresses in near.lots(free_bits) {
            if let Some(span) = self.span_of(cpu, ask, line, wide, addresses)? {
                spans.push(span);
            }
        }
        Ok(())
    }

    /// Returns the values of adjacent addresses of a line, if there are any.
    #[inline(always)]
    fn span_of<C: Cpu>(
        &self,
        cpu: C,
        ask: &Ask<'a, F>,
        line: Line<'_>,
        wide: &WideHead<F>,
        addresses: (u8, u8),
    ) -> Result<Option<Span<F>>, FormatError> {
        let (table, place) = (ask.table, &wide.place);
        if !line.is_marked_for(place.bits_below) {
            return Err(table.fault(LineFault::Marks, place.number));
        }
        let values = line.values_between(cpu, addresses, place.bits_below);
        if values.0 == values.1 {
            return Ok(None);
        }
        let ranks = self.ranks_of(table, line, place, values)?;
        Ok(Some(Span {
            place: *place,
            rank: ranks.start,
            ask: wide.ask,
            begin: values.0 as u16,
            count: (values.1 - values.0) as u16,
            addresses,
        }))
    }

    /// Returns the ranks of some values of a line.
    #[inline(always)]
    fn ranks_of(
        &self,
        table: &LineTable<F>,
        line: Line<'_>,
        place: &LinePlace<F>,
        (begin, end): (usize, usize),
    ) -> Result<Range<u64>, FormatError> {
        if begin >= end || end > LINE_ADDRESSES {
            return Err(table.fault(LineFault::Marks, place.number));
        }
        let ranks = line.rank() + begin as u64..line.rank() + end as u64;
        // Most lines are far from the end of the table.
        if line.rank() + LINE_ADDRESSES as u64 > table.value_count
            && ranks.end > table.ranks(line, place)?.end
        {
            return Err(table.fault(LineFault::Values, place.number));
        }
        Ok(ranks)
    }

    /// Returns the values of an address that has some.
    #[inline(always)]
    fn run_of<C: Cpu>(
        &self,
        cpu: C,
        table: &LineTable<F>,
        line: Line<'_>,
        place: &LinePlace<F>,
        (ask, address): (u32, u8),
    ) -> Result<Run<F>, FormatError> {
        let values = line.run(cpu, address, place.bits_below);
        let ranks = self.ranks_of(table, line, place, values)?;
        Ok(Run {
            base: place.at(address) & shifted(F::MAX, table.low_bits()),
            rank: ranks.start,
            ask,
            count: (ranks.end - ranks.start) as u32,
        })
    }

    /// Finds the values of the wide lines, and of the lines below crowded ones.
    #[inline(always)]
    fn find_wide<C: Cpu>(&self, cpu: C, lists: &mut LineLists<'a, F>) -> Result<(), FormatError> {
        let first_count = lists.wide.len();
        let mut lines_left = 0u64;
        let mut next = 0;
        while let Some(&wide) = lists.wide.get(next) {
            next += 1;
            let ask = &lists.asks[wide.ask as usize];
            let (table, place) = (ask.table, wide.place);
            let line = table.line(self.file, place.number)?;
            if !line.is_crowded() {
                let found = (&mut lists.runs, &mut lists.spans);
                self.find_near(cpu, ask, line, &wide, found)?;
                continue;
            }
            if next <= first_count {
                // A valid table refers to each line once, so each of the first lines leads to each line at most once.
                lines_left = lines_left.saturating_add(table.line_count);
            }
            let finer = line.finer(place.bits_below, table.line_count);
            let finer = finer.map_err(|fault| table.fault(fault, place.number))?;
            let bits_below = place.bits_below - finer.extra_bits;
            let own = shifted_down(ask.query, bits_below + LINE_BITS).to_u128() as u64;
            let own = own & ((1 << finer.extra_bits) - 1);
            let free_bits = ask.free_bits(finer.extra_bits, bits_below + LINE_BITS);
            let differences = match wide.flips {
                0 => 1 << free_bits,
                _ => 1 << finer.extra_bits,
            };
            let left = lines_left.checked_sub(differences);
            lines_left = left.ok_or_else(|| table.fault(LineFault::Finer, place.number))?;
            let lines = ask.lines;
            for difference in 0..differences {
                let flips = (difference >> free_bits).count_ones();
                if flips > wide.flips {
                    continue;
                }
                let place = place.finer(finer.first, bits_below, own ^ difference);
                prefetch(lines, place.number as usize);
                lists.wide.push(WideHead {
                    place,
                    ask: wide.ask,
                    flips: wide.flips - flips,
                });
            }
        }
        Ok(())
    }

    /// Compares all values found with their queries.
    #[inline(always)]
    fn compare<C: Cpu>(
        &self,
        cpu: C,
        lists: &LineLists<'a, F>,
        findings: &mut Findings<F>,
    ) -> Result<(), FormatError> {
        let mut candidates = 0;
        for run in &lists.runs {
            let ask = &lists.asks[run.ask as usize];
            let (bytes, mut bit) = self.low_bits_of(ask, run.ranks())?;
            let low_bits = ask.table.low_bits();
            for rank in run.ranks() {
                let value = run.base | read_value(bytes, bit, low_bits);
                bit += low_bits as usize;
                let distance = value.distance(ask.query);
                if distance <= self.distance {
                    self.keep_of_line(cpu, ask, value, rank, &mut findings.found);
                }
            }
            candidates += u64::from(run.count);
        }
        for span in &lists.spans {
            self.compare_span(
                cpu,
                &lists.asks[span.ask as usize],
                span,
                &mut findings.found,
            )?;
            candidates += u64::from(span.count);
        }
        findings.stats.candidates += candidates;
        Ok(())
    }

    /// Compares the values of a span with its query.
    #[inline(always)]
    fn compare_span<C: Cpu>(
        &self,
        cpu: C,
        ask: &Ask<'a, F>,
        span: &Span<F>,
        found: &mut Vec<Found<F>>,
    ) -> Result<(), FormatError> {
        let (table, number) = (ask.table, span.place.number);
        let (bytes, bit) = self.low_bits_of(ask, span.ranks())?;
        let row = (bytes, bit, table.low_bits());
        if !has_near(row, span.count.into(), (ask.query, self.distance)) {
            return Ok(());
        }
        let Some(line) = ask.lines.get(number as usize).map(Line::new) else {
            return Err(table.fault(LineFault::Finer, number));
        };
        let first = found.len();
        dispatch(CompareSpan {
            span,
            line,
            row,
            asked: (ask.query, self.distance),
            owner: ask.owner,
            found,
        });
        for new in &mut found[first..] {
            self.complete(cpu, table, &mut new.found);
        }
        Ok(())
    }

    /// Returns the row, after checking the pages with the low bits of these ranks, and the bit at which the first
    /// begins.
    #[inline(always)]
    fn low_bits_of(
        &self,
        ask: &Ask<'a, F>,
        ranks: Range<u64>,
    ) -> Result<(&'a [u8], usize), FormatError> {
        let (table, row) = (ask.table, &ask.table.row);
        let bit = ranks.start as usize * table.low_bits() as usize;
        let bytes = table.low_bytes(ranks);
        let first_page = bytes.start / PAGE_LEN;
        let last_page = bytes.end.saturating_sub(1) / PAGE_LEN;
        if !(row.is_checked(first_page) && row.is_checked(last_page) && !self.cold) {
            self.check_row(table, bytes)?;
        }
        Ok((ask.row, bit))
    }

    #[cold]
    #[inline(never)]
    fn check_row(&self, table: &LineTable<F>, range: Range<usize>) -> Result<(), FormatError> {
        if self.cold {
            let bytes = table.row.payload(self.file).get(range.clone());
            will_need(bytes.unwrap_or_default());
        }
        table.row.bytes(self.file, range)?;
        Ok(())
    }

    #[cold]
    #[inline(never)]
    fn keep_of_line<C: Cpu>(
        &self,
        cpu: C,
        ask: &Ask<'a, F>,
        value: F,
        rank: u64,
        found: &mut Vec<Found<F>>,
    ) {
        let mut new = Match {
            distance: value.distance(ask.query),
            fingerprint: value,
            rank: Some(rank),
        };
        self.complete(cpu, ask.table, &mut new);
        found.push(Found {
            owner: ask.owner,
            found: new,
        });
    }

    /// Turns a value of a table into its fingerprint, and removes the rank unless the table is table 0.
    #[inline(always)]
    fn complete<C: Cpu>(&self, cpu: C, table: &LineTable<F>, found: &mut Match<F>) {
        let value = Permuted(found.fingerprint);
        found.fingerprint = table.permutation.invert_with(cpu, value);
        found.rank = found.rank.filter(|_| self.is_ranked && table.number == 0);
    }
}

/// Lines that are searched together.
struct LookInto<'a, 'b, F> {
    target: &'b Target<'a, F>,
    lists: &'b mut LineLists<'a, F>,
    findings: &'b mut Findings<F>,
}

impl<F: Fingerprint> Work for LookInto<'_, '_, F> {
    type Output = Result<(), FormatError>;

    #[inline(always)]
    fn run<C: Cpu>(self, cpu: C) -> Self::Output {
        let LookInto {
            target,
            lists,
            findings,
        } = self;
        let all_checked = target.collect(lists)?;
        if !all_checked || target.cold {
            target.check_lines(lists)?;
            target.collect(lists)?;
        }
        target.find_runs(cpu, lists)?;
        lists.prefetch_low_bits(0);
        let run_count = lists.runs.len();
        target.find_wide(cpu, lists)?;
        lists.prefetch_low_bits(run_count);
        findings.stats.blocks += (lists.runs.len() + lists.spans.len()) as u64;
        target.compare(cpu, lists, findings)
    }
}

/// Returns whether one of some values can be near a query by its low bits, which are known without its address. The row
/// has the low bits of the first value at a bit, and a number for each.
#[inline(always)]
fn has_near<F: Fingerprint>(
    (row, mut bit, low_bits): (&[u8], usize, u32),
    count: usize,
    (query, most): (F, u32),
) -> bool {
    if low_bits < LEAST_BITS_FOR_A_DIFFERENCE * most {
        return true;
    }
    let wanted = query & !shifted(F::MAX, low_bits);
    let mut has_near = false;
    for _ in 0..count {
        has_near |= read_value::<F>(row, bit, low_bits).distance(wanted) <= most;
        bit += low_bits as usize;
    }
    has_near
}

/// Compares the values of a span. This is its own function because they can be many.
struct CompareSpan<'s, F> {
    span: &'s Span<F>,
    line: Line<'s>,
    /// The row, the bit at which the low bits of the first value begin, and the number of low bits of a value.
    row: (&'s [u8], usize, u32),
    /// The query, and the largest distance.
    asked: (F, u32),
    owner: u32,
    /// Receives the values in the order of the table, with their ranks there.
    found: &'s mut Vec<Found<F>>,
}

impl<F: Fingerprint> Work for CompareSpan<'_, F> {
    type Output = ();

    #[inline(always)]
    fn run<C: Cpu>(self, _: C) {
        let (bytes, mut bit, low_bits) = self.row;
        let (query, most) = self.asked;
        let place = &self.span.place;
        let above = shifted(F::MAX, low_bits);
        let mut rank = self.span.rank;
        let (addresses, begin) = (self.span.addresses, self.span.begin.into());
        self.line
            .for_each_between(addresses, begin, place.bits_below, |address| {
                let value = place.at(address) & above | read_value(bytes, bit, low_bits);
                bit += low_bits as usize;
                let distance = value.distance(query);
                if distance <= most {
                    self.found.push(Found {
                        owner: self.owner,
                        found: Match {
                            distance,
                            fingerprint: value,
                            rank: Some(rank),
                        },
                    });
                }
                rank += 1;
            });
    }
}

/// Returns the wanted addresses of a line that have values.
#[inline(always)]
fn near<F: Fingerprint>(ask: &Ask<'_, F>, wide: &WideHead<F>, line: Line<'_>) -> SetAddresses {
    let bits_below = wide.place.bits_below;
    let free_bits = ask.free_bits(LINE_BITS, bits_below);
    let flips = wide.flips.min(LINE_BITS - free_bits);
    let near = &NEAR_ZERO[free_bits as usize][flips as usize];
    let (mut words, there) = (moved(near, ask.address(bits_below)), line.there());
    for (word, there) in words.iter_mut().zip(there) {
        *word &= there;
    }
    SetAddresses { words, at: 0 }
}

/// Returns the first and the last of the addresses that differ from one only in the lowest bits.
#[inline(always)]
fn lot(address: u8, free_bits: u32) -> (u8, u8) {
    let any = ((1u32 << free_bits) - 1) as u8;
    (address & !any, address | any)
}

/// Iterates over the addresses of a set, in order.
struct SetAddresses {
    words: Addresses,
    /// The number of the next word.
    at: usize,
}

impl SetAddresses {
    /// Returns the first and the last of each group of addresses that differ only in the lowest bits, if the set has
    /// any of them.
    #[inline(always)]
    fn lots(mut self, free_bits: u32) -> impl Iterator<Item = (u8, u8)> {
        std::iter::from_fn(move || {
            let (first, last) = lot(self.next()?, free_bits);
            self.at = usize::from(last / 64);
            self.words[self.at] &= u64::MAX << (last % 64) << 1;
            Some((first, last))
        })
    }
}

impl Iterator for SetAddresses {
    type Item = u8;

    #[inline(always)]
    fn next(&mut self) -> Option<u8> {
        while self.words.get(self.at) == Some(&0) {
            self.at += 1;
        }
        let word = self.words.get_mut(self.at)?;
        let bit = word.trailing_zeros();
        *word &= *word - 1;
        Some((self.at * 64) as u8 + bit as u8)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn addresses_near_one_are_those_near_zero_moved() {
        for (free_bits, of_bits) in NEAR_ZERO.iter().enumerate() {
            for (flips, set) in of_bits.iter().enumerate() {
                for address in 0..=u8::MAX {
                    let near = moved(set, address);
                    for other in 0..=u8::MAX {
                        let is_near = near[usize::from(other / 64)] >> (other % 64) & 1 != 0;
                        let differing = (u32::from(address ^ other) >> free_bits).count_ones();
                        assert_eq!(is_near, differing <= flips as u32);
                    }
                }
            }
        }
    }

    #[test]
    fn lots_come_once_if_the_set_has_any_of_them() {
        let mut words = [0; 4];
        let set = [0u8, 5, 6, 62, 63, 64, 130, 191, 254, 255];
        for address in set {
            words[usize::from(address / 64)] |= 1 << (address % 64);
        }
        for free_bits in 0..=8 {
            let lots: Vec<(u8, u8)> = SetAddresses { words, at: 0 }.lots(free_bits).collect();
            let mut expected = set.map(|address| lot(address, free_bits)).to_vec();
            expected.dedup();
            assert_eq!(lots, expected, "{free_bits}");
            let mut lengths = lots.iter().map(|(first, last)| u32::from(last - first) + 1);
            assert!(lengths.all(|length| length == 1 << free_bits));
        }
    }

    #[test]
    fn patterns_come_each_once() {
        let mut pattern = 0b111;
        let mut count = 0;
        while pattern >> 12 == 0 {
            assert_eq!(pattern.count_ones(), 3);
            count += 1;
            let next = next_pattern(pattern);
            assert!(next > pattern);
            pattern = next;
        }
        assert_eq!(count, 220);
    }
}
