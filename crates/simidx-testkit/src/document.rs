//! Reads the specifications: the blocks and tables named by comments, and the formulas in them.
//!
//! Tests read what follows `<!-- name -->`, never a sentence, so that the prose can be rewritten freely.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::iter::Peekable;
use std::ops::RangeInclusive;
use std::path::Path;
use std::str::Chars;

/// Returns the folder of the project.
pub fn root() -> &'static Path {
    Path::new(concat!(env!("CARGO_MANIFEST_DIR"), "/../.."))
}

/// Returns the text of `format-spec.md`.
pub fn specification() -> String {
    fs::read_to_string(root().join("format-spec.md")).expect("the specification can be read")
}

/// Returns the text of `pipeline-spec.md`.
pub fn pipeline_specification() -> String {
    fs::read_to_string(root().join("book/spec/pipeline-spec.md"))
        .expect("the specification can be read")
}

/// Returns the lines after the only comment of this name, without the indentation of a list.
#[track_caller]
fn after_name<'t>(text: &'t str, name: &str) -> impl Iterator<Item = &'t str> + use<'t> {
    let comment = format!("<!-- {name} -->");
    let mut lines = text.lines();
    let indentation = lines.find_map(|line| line.strip_suffix(&comment));
    let indentation = indentation.unwrap_or_else(|| panic!("nothing is named {name}"));
    assert!(indentation.trim().is_empty(), "{name}");
    let is_repeated = lines.clone().any(|line| line.ends_with(&comment));
    assert!(!is_repeated, "two blocks are named {name}");
    lines.map(move |line| line.strip_prefix(indentation).unwrap_or(line))
}

/// Returns the lines of the fenced block of this name.
#[track_caller]
pub fn named_block(text: &str, name: &str) -> Vec<String> {
    let mut lines = after_name(text, name);
    assert_eq!(lines.next(), Some("```"), "{name} is not a block");
    let lines: Vec<String> = lines
        .take_while(|line| *line != "```")
        .map(str::to_owned)
        .collect();
    assert!(!lines.is_empty(), "{name} is empty");
    lines
}

/// Returns the rows of the table of this name, each as its cells, without code marks around a whole cell.
#[track_caller]
pub fn named_table(text: &str, name: &str) -> Vec<Vec<String>> {
    let cell = |cell: &str| {
        let cell = cell.trim();
        let code = cell.strip_prefix('`').and_then(|c| c.strip_suffix('`'));
        code.filter(|code| !code.contains('`'))
            .unwrap_or(cell)
            .to_owned()
    };
    let rows = after_name(text, name).take_while(|line| line.starts_with('|'));
    let rows = rows.map(|row| row.trim_matches('|').split('|').map(cell).collect());
    let mut rows: Vec<Vec<String>> = rows.collect();
    assert!(rows.len() > 2, "{name} is not a table with rows");
    assert!(
        rows[1].iter().all(|cell| cell.trim_matches('-').is_empty()),
        "{name}"
    );
    assert!(rows.iter().all(|row| row.len() == rows[0].len()), "{name}");
    rows.drain(..2);
    rows
}

/// Returns the heading of the table of this name.
#[track_caller]
pub fn table_heading(text: &str, name: &str) -> Vec<String> {
    let heading = after_name(text, name).next().unwrap_or_default();
    let cells = heading.trim_matches('|').split('|');
    cells.map(|cell| cell.trim().replace('`', "")).collect()
}

/// Returns the row of a table that starts with this cell.
#[track_caller]
pub fn row<'r>(rows: &'r [Vec<String>], first: &str) -> &'r [String] {
    let found = rows.iter().find(|row| row[0] == first);
    found.unwrap_or_else(|| panic!("no row {first:?}"))
}

/// Returns the items of a block, separated by white space. Each must occur once.
#[track_caller]
pub fn named_words(text: &str, name: &str) -> BTreeSet<String> {
    words(&named_block(text, name).join(" "))
}

/// Returns items separated by white space. Each must occur once.
#[track_caller]
pub fn words(text: &str) -> BTreeSet<String> {
    let all: Vec<&str> = text.split_whitespace().collect();
    let words: BTreeSet<String> = all.iter().map(|word| (*word).to_owned()).collect();
    assert_eq!(words.len(), all.len(), "an item is there twice: {all:?}");
    words
}

/// Returns everything in code marks in a text.
pub fn quoted(text: &str) -> Vec<String> {
    let parts = text.split('`').skip(1).step_by(2);
    parts.map(str::to_owned).collect()
}

/// Returns the characters of a block, which are single ones or ranges such as `U+0041..U+005A`.
#[track_caller]
pub fn named_characters(text: &str, name: &str) -> Vec<RangeInclusive<u32>> {
    let point = |item: &str| match item.strip_prefix("U+") {
        Some(digits) => u32::from_str_radix(digits, 16).expect("hexadecimal digits"),
        None => item.parse::<char>().expect("one character").into(),
    };
    let range = |item: &String| match item.split_once("..") {
        Some((first, last)) => point(first)..=point(last),
        None => point(item)..=point(item),
    };
    named_words(text, name).iter().map(range).collect()
}

/// Returns the lines of a block as names and values, separated by two or more spaces.
#[track_caller]
pub fn named_values(text: &str, name: &str) -> BTreeMap<String, String> {
    let lines = named_block(text, name);
    let value = |line: &String| {
        let (name, value) = line.split_once("  ").unwrap_or_else(|| panic!("{line}"));
        (name.to_owned(), value.trim().to_owned())
    };
    let values: BTreeMap<String, String> = lines.iter().map(value).collect();
    assert_eq!(values.len(), lines.len(), "{name} has a value twice");
    values
}

/// Parses numbers joined by commas.
#[track_caller]
pub fn numbers(list: &str) -> Vec<u128> {
    list.split(", ").map(plain_number).collect()
}

/// Parses a number as the specifications print it: `65,536`, `0x1f` or `2^48`.
#[track_caller]
pub fn plain_number(text: &str) -> u128 {
    let text = text.replace(',', "");
    let number = |text: &str| -> u128 { text.parse().unwrap_or_else(|_| panic!("{text}")) };
    match (text.strip_prefix("0x"), text.split_once('^')) {
        (Some(digits), _) => u128::from_str_radix(digits, 16).expect("hexadecimal digits"),
        (None, Some((base, exponent))) => number(base).pow(number(exponent) as u32),
        (None, None) => number(&text),
    }
}

/// Formulas of a specification, by name.
pub struct Formulas(BTreeMap<String, String>);

/// Returns the formulas of a block, one line `name = formula` each; a comment may follow after two spaces.
#[track_caller]
pub fn named_formulas(text: &str, name: &str) -> Formulas {
    let formula = |line: String| {
        let (name, formula) = line.split_once(" = ").expect("name = formula");
        let formula = formula.split("  ").next().unwrap_or_default();
        (name.to_owned(), formula.to_owned())
    };
    Formulas(named_block(text, name).into_iter().map(formula).collect())
}

impl Formulas {
    /// Evaluates a formula with these variables; other names in it are formulas of the same block.
    #[track_caller]
    pub fn value(&self, name: &str, variables: &[(&str, usize)]) -> usize {
        let value = self.ratio(name, variables);
        assert_eq!(value.0 % value.1, 0, "{name} is not an integer");
        usize::try_from(value.0 / value.1).expect(name)
    }

    fn ratio(&self, name: &str, variables: &[(&str, usize)]) -> Ratio {
        let formula = self
            .0
            .get(name)
            .unwrap_or_else(|| panic!("no formula {name}"));
        let mut reader = FormulaReader {
            rest: formula.chars().peekable(),
            lookup: &|wanted| match variables.iter().find(|(known, _)| *known == wanted) {
                Some((_, value)) => (*value as i128, 1),
                None => self.ratio(wanted, variables),
            },
        };
        let value = reader.sum();
        assert_eq!(reader.next_sign(), None, "{formula}");
        value
    }
}

/// A numerator and a denominator above 0.
type Ratio = (i128, i128);

/// Reads sums, products, powers, `⌈x⌉`, `⌊x⌋`, `min`, `log2` and `align`.
struct FormulaReader<'f> {
    rest: Peekable<Chars<'f>>,
    lookup: &'f dyn Fn(&str) -> Ratio,
}

impl FormulaReader<'_> {
    fn next_sign(&mut self) -> Option<char> {
        while self.rest.next_if_eq(&' ').is_some() {}
        self.rest.peek().copied()
    }

    fn expect(&mut self, sign: char) {
        assert_eq!(self.next_sign(), Some(sign));
        self.rest.next();
    }

    fn sum(&mut self) -> Ratio {
        let mut sum = self.product();
        while let Some(sign @ ('+' | '−')) = self.next_sign() {
            self.rest.next();
            let (n, d) = self.product();
            let n = if sign == '+' { n } else { -n };
            sum = (sum.0 * d + n * sum.1, sum.1 * d);
        }
        sum
    }

    fn product(&mut self) -> Ratio {
        let mut product = self.power();
        while let Some(sign @ ('·' | '/')) = self.next_sign() {
            self.rest.next();
            let (n, d) = self.power();
            let (n, d) = if sign == '·' { (n, d) } else { (d, n) };
            product = (product.0 * n, product.1 * d);
        }
        product
    }

    /// Reads a power; the largest number if it overflows.
    fn power(&mut self) -> Ratio {
        let base = self.atom();
        if self.next_sign() != Some('^') {
            return base;
        }
        self.rest.next();
        let (exponent, 1) = self.atom() else {
            panic!("an exponent is an integer");
        };
        (base.0.saturating_pow(exponent as u32), base.1)
    }

    fn atom(&mut self) -> Ratio {
        let sign = self.next_sign().expect("a formula goes on");
        if matches!(sign, '(' | '⌈' | '⌊') {
            self.rest.next();
            let (n, d) = self.sum();
            return match sign {
                '(' => {
                    self.expect(')');
                    (n, d)
                }
                '⌈' => {
                    self.expect('⌉');
                    (-(-n).div_euclid(d), 1)
                }
                _ => {
                    self.expect('⌋');
                    (n.div_euclid(d), 1)
                }
            };
        }
        let mut word = String::new();
        while let Some(c) = self.rest.next_if(|c| c.is_alphanumeric() || *c == '_') {
            word.push(c);
        }
        if sign.is_ascii_digit() {
            return (plain_number(&word) as i128, 1);
        }
        match &word[..] {
            "min" | "align" => {
                self.expect('(');
                let first = self.integer();
                self.expect(',');
                let second = self.integer();
                self.expect(')');
                match &word[..] {
                    "min" => (first.min(second), 1),
                    _ => ((first + second - 1).div_euclid(second) * second, 1),
                }
            }
            "log2" => {
                self.expect('(');
                let of = self.integer();
                self.expect(')');
                (of.ilog2().into(), 1)
            }
            _ => (self.lookup)(&word),
        }
    }

    fn integer(&mut self) -> i128 {
        let (n, d) = self.sum();
        assert_eq!(n % d, 0, "not an integer");
        n / d
    }
}
