//! Texts with equal feature sets: each but the first stands back in the search.

use std::io;

use rayon::prelude::*;

use super::NONE;
use super::columns::Columns;
use super::digest::HASH_NUMBERS;

/// Rows that are read together.
const ROWS: usize = 1 << 14;

/// For each place the first one whose text has the same features, `NONE` for the first ones themselves. The hashes are in
/// the columns from this one on; `place_of` gives the place of a text.
pub(super) fn first_equals(
    columns: &Columns,
    first_column: usize,
    place_of: impl Fn(usize) -> u32,
) -> io::Result<Vec<u32>> {
    let count = columns.len();
    let mut hashes: Vec<(u64, u32, u32)> = Vec::with_capacity(count);
    let mut numbers = [const { Vec::new() }; HASH_NUMBERS];
    for start in (0..count).step_by(ROWS) {
        let rows = start..count.min(start + ROWS);
        for (column, numbers) in (first_column..).zip(&mut numbers) {
            numbers.clear();
            columns.read(column, rows.clone(), numbers)?;
        }
        for (row, text) in rows.enumerate() {
            let [a, b, c] = [0, 1, 2].map(|i| numbers[i][row]);
            hashes.push((u64::from(a) << 32 | u64::from(b), c, place_of(text)));
        }
    }
    hashes.par_sort_unstable();
    let mut firsts = vec![NONE; count];
    for equal in hashes.chunk_by(|a, b| (a.0, a.1) == (b.0, b.1)) {
        for (.., place) in &equal[1..] {
            firsts[*place as usize] = equal[0].2;
        }
    }
    Ok(firsts)
}
