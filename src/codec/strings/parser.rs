//! Divides a string into the symbols with the least total cost.

use super::symbol::Symbol;

/// A symbol and its cost, in any unit.
#[derive(Debug, Clone, Copy)]
pub(super) struct Priced {
    pub(super) symbol: Symbol,
    pub(super) cost: u16,
}

/// The number of an escaped byte among the numbers of symbols.
pub(super) const ESCAPED: u16 = u16::MAX;

/// Marks the absence of a node or a symbol.
const NONE: u16 = u16::MAX;

/// More than any cost that may be chosen.
const NEVER: u32 = u32::MAX / 2;

/// Finds the cheapest sequence of symbols for a string, by dynamic programming from its end.
#[derive(Debug)]
pub(super) struct Parser {
    /// All beginnings of symbols as a trie: the child for `byte` of the node in slot `n` is in slot `base(n) ^ byte`,
    /// if that slot has `n` as its parent.
    slots: Vec<Slot>,
    lens: Vec<u8>,
    ends: Vec<bool>,
    escape_cost: u32,
    empty_end: Option<(u16, u32)>,
}

#[derive(Debug, Clone, Copy)]
struct Slot {
    parent: u16,
    base: u16,
    /// The symbol of this node, and its symbol at the end of a string.
    inner: u16,
    end: u16,
    inner_cost: u16,
    end_cost: u16,
}

const FREE: Slot = Slot {
    parent: NONE,
    base: 0,
    inner: NONE,
    end: NONE,
    inner_cost: NONE,
    end_cost: NONE,
};

/// The parent of nodes of one byte; no slot has this number.
const ROOT: u16 = NONE - 1;

/// The working memory of [`Parser::parse`].
#[derive(Debug, Default)]
pub(super) struct ParseScratch {
    /// For each position of the string, the cost of the rest.
    costs: Vec<u32>,
    /// For each position, the symbol to take.
    choices: Vec<u16>,
}

impl Parser {
    /// Creates a parser of distinct symbols, which are numbered by position. The symbols of a string code fit its trie;
    /// if there are too many for it, the remaining ones are never taken.
    pub(super) fn new(symbols: &[Priced], escape_cost: u16) -> Self {
        let mut order: Vec<u16> = (0..symbols.len() as u16)
            .filter(|&i| symbols[usize::from(i)].symbol.len() > 0)
            .collect();
        order.sort_unstable_by(|&a, &b| {
            let [a, b] = [a, b].map(|i| &symbols[usize::from(i)].symbol);
            a.bytes().cmp(b.bytes())
        });
        let empty_end = symbols
            .iter()
            .position(|priced| priced.symbol == Symbol::EMPTY_END);
        let mut parser = Parser {
            slots: vec![FREE; 256],
            lens: symbols.iter().map(|s| s.symbol.len() as u8).collect(),
            ends: symbols.iter().map(|s| s.symbol.ends()).collect(),
            escape_cost: escape_cost.into(),
            empty_end: empty_end.map(|i| (i as u16, symbols[i].cost.into())),
        };
        parser.fill(symbols, &order);
        parser
    }

    /// Builds the trie, level by level.
    fn fill(&mut self, symbols: &[Priced], order: &[u16]) {
        let byte_at = |i: u16, depth: usize| symbols[usize::from(i)].symbol.slot()[depth];
        let mut level = vec![(ROOT, order)];
        let mut first_free = 0;
        for depth in 0.. {
            let mut next = Vec::new();
            for (parent, range) in level {
                let groups = range.chunk_by(|&a, &b| byte_at(a, depth) == byte_at(b, depth));
                let bytes: Vec<u8> = groups.clone().map(|g| byte_at(g[0], depth)).collect();
                let base = if parent == ROOT {
                    Some(0)
                } else {
                    self.free_base(&bytes, &mut first_free)
                };
                let Some(base) = base else { continue };
                if parent != ROOT {
                    self.slots[usize::from(parent)].base = base;
                }
                for group in groups {
                    let at = base ^ u16::from(byte_at(group[0], depth));
                    let slot = &mut self.slots[usize::from(at)];
                    slot.parent = parent;
                    let ending = group
                        .iter()
                        .take_while(|&&i| symbols[usize::from(i)].symbol.len() == depth + 1);
                    let mut longer = group;
                    for &i in ending {
                        let priced = symbols[usize::from(i)];
                        if priced.symbol.ends() {
                            (slot.end, slot.end_cost) = (i, priced.cost);
                        } else {
                            (slot.inner, slot.inner_cost) = (i, priced.cost);
                        }
                        longer = &longer[1..];
                    }
                    if !longer.is_empty() {
                        next.push((at, longer));
                    }
                }
            }
            if next.is_empty() {
                return;
            }
            level = next;
        }
    }

    /// Returns a base that puts children with these bytes into free slots.
    fn free_base(&mut self, bytes: &[u8], first_free: &mut usize) -> Option<u16> {
        // The slots of the first level are those of the bytes.
        *first_free = (*first_free).max(256);
        while self.slots.get(*first_free).is_some_and(Slot::is_used) {
            *first_free += 1;
        }
        for at in *first_free.. {
            if at >= usize::from(ROOT) & !255 {
                return None;
            }
            if at >= self.slots.len() {
                self.slots.resize(self.slots.len() + 256, FREE);
            }
            let base = at ^ usize::from(*bytes.first()?);
            let is_free = |&byte: &u8| !self.slots[base ^ usize::from(byte)].is_used();
            if bytes.iter().all(is_free) {
                return Some(base as u16);
            }
        }
        None
    }

    #[inline(always)]
    fn child(&self, node: u16, base: u16, byte: u8) -> Option<(u16, &Slot)> {
        let at = base ^ u16::from(byte);
        let slot = self.slots.get(usize::from(at))?;
        (slot.parent == node).then_some((at, slot))
    }

    /// Returns the least cost of the bytes, as a whole string or as a part of one, and stores the symbol to take at
    /// each position. Symbol `without` is not used.
    fn solve(&self, bytes: &[u8], whole: bool, without: u16, scratch: &mut ParseScratch) -> u32 {
        let ParseScratch { costs, choices } = scratch;
        let len = bytes.len();
        costs.clear();
        costs.resize(len + 1, 0);
        choices.clear();
        choices.resize(len + 1, ESCAPED);
        costs[len] = match self.empty_end {
            _ if !whole => 0,
            Some((number, cost)) if number != without => {
                choices[len] = number;
                cost
            }
            _ => NEVER,
        };
        for start in (0..len).rev() {
            let (mut node, mut base) = (ROOT, 0);
            let mut best = costs[start + 1] + self.escape_cost;
            let mut choice = ESCAPED;
            let mut end = start;
            while let Some(&byte) = bytes.get(end) {
                let Some((at, slot)) = self.child(node, base, byte) else {
                    break;
                };
                end += 1;
                let cost = costs[end] + u32::from(slot.inner_cost);
                if cost < best && slot.inner != NONE && slot.inner != without {
                    (best, choice) = (cost, slot.inner);
                }
                if end == len && whole && slot.end != NONE && slot.end != without {
                    let cost = u32::from(slot.end_cost);
                    if cost < best {
                        (best, choice) = (cost, slot.end);
                    }
                }
                (node, base) = (at, slot.base);
            }
            costs[start] = best;
            choices[start] = choice;
        }
        costs[0]
    }

    /// Calls `take` with the number of each symbol of the string in order, or with [`ESCAPED`] and the byte.
    #[inline(always)]
    pub(super) fn parse(
        &self,
        string: &[u8],
        scratch: &mut ParseScratch,
        mut take: impl FnMut(u16, u8),
    ) {
        self.solve(string, true, NONE, scratch);
        let mut at = 0;
        while at < string.len() {
            let number = scratch.choices[at];
            if number == ESCAPED {
                take(ESCAPED, string[at]);
                at += 1;
            } else {
                take(number, 0);
                at += usize::from(self.lens[usize::from(number)]);
                if at == string.len() && self.ends(number) {
                    return;
                }
            }
        }
        take(scratch.choices[at], 0);
    }

    fn ends(&self, number: u16) -> bool {
        self.ends[usize::from(number)]
    }

    /// Returns the cost of a symbol's bytes without that symbol.
    pub(super) fn cost_without(
        &self,
        number: u16,
        symbol: &Symbol,
        scratch: &mut ParseScratch,
    ) -> u32 {
        self.solve(symbol.bytes(), symbol.ends(), number, scratch)
    }
}

impl Slot {
    fn is_used(&self) -> bool {
        self.parent != NONE
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    /// Returns the least cost of the string, by trying the symbols before each position one by one.
    fn plain_cost(symbols: &[Priced], escape_cost: u16, string: &[u8]) -> u32 {
        let mut costs = vec![NEVER; string.len() + 1];
        let mut whole = NEVER;
        costs[0] = 0;
        for at in 0..=string.len() {
            for priced in symbols {
                let cost = costs[at] + u32::from(priced.cost);
                let end = at + priced.symbol.len();
                if !string[at..].starts_with(priced.symbol.bytes()) {
                    continue;
                }
                if !priced.symbol.ends() {
                    costs[end] = costs[end].min(cost);
                } else if end == string.len() {
                    whole = whole.min(cost);
                }
            }
            if at < string.len() {
                costs[at + 1] = costs[at + 1].min(costs[at] + u32::from(escape_cost));
            }
        }
        whole
    }

    proptest! {
        #[test]
        fn the_symbols_make_the_string_at_the_least_cost(
            found in prop::collection::btree_map(("[a-c\\x00]{0,4}", any::<bool>()), 1u16..100, 0..60),
            string in "[a-d\\x00]{0,30}",
        ) {
            let with_bytes = found.iter().filter(|((text, _), _)| !text.is_empty());
            let mut symbols: Vec<Priced> = with_bytes
                .map(|((text, ends), &cost)| Priced { symbol: Symbol::new(text.as_bytes(), *ends), cost })
                .collect();
            symbols.push(Priced { symbol: Symbol::EMPTY_END, cost: 7 });
            let parser = Parser::new(&symbols, 50);
            let (mut cost, mut made, mut ended) = (0, Vec::new(), false);
            parser.parse(string.as_bytes(), &mut ParseScratch::default(), |number, byte| {
                assert!(!ended);
                if number == ESCAPED {
                    made.push(byte);
                    cost += 50;
                } else {
                    let priced = symbols[usize::from(number)];
                    made.extend(priced.symbol.bytes());
                    cost += u32::from(priced.cost);
                    ended = priced.symbol.ends();
                }
            });
            prop_assert!(ended);
            prop_assert_eq!(made, string.as_bytes());
            prop_assert_eq!(cost, plain_cost(&symbols, 50, string.as_bytes()));
            for (number, priced) in (0..).zip(&symbols).filter(|(_, s)| s.symbol.ends() && s.symbol.len() > 0) {
                let mut others = symbols.clone();
                others.remove(usize::from(number));
                let cost = parser.cost_without(number, &priced.symbol, &mut ParseScratch::default());
                prop_assert_eq!(cost, plain_cost(&others, 50, priced.symbol.bytes()));
            }
        }
    }
}
