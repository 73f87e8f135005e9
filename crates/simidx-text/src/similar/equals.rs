//! Texts with equal feature sets, of which only the first takes part in the search.

use std::io;

use simidx::Fingerprint;

use super::NONE;
use super::columns::Columns;
use super::digest::HASH_NUMBERS;

/// Number of rows that are read together.
const ROWS: usize = 1 << 14;

/// Returns, for each place, the first place whose text has the same features; `NONE` for the first places themselves.
/// The hashes are in the columns from this one on; `place_of` returns the place of a text.
pub(super) fn first_equals(
    columns: &Columns,
    first_column: usize,
    place_of: impl Fn(usize) -> u32,
) -> io::Result<Vec<u32>> {
    let count = columns.len();
    // Each entry has the hash and, in the lowest 32 bits, the place.
    let mut hashes: Vec<u128> = Vec::with_capacity(count);
    let mut numbers = [const { Vec::new() }; HASH_NUMBERS];
    for start in (0..count).step_by(ROWS) {
        let rows = start..count.min(start + ROWS);
        for (column, numbers) in (first_column..).zip(&mut numbers) {
            numbers.clear();
            columns.read(column, rows.clone(), numbers)?;
        }
        for (row, text) in rows.enumerate() {
            let hash = numbers.iter().map(|numbers| numbers[row]);
            let all = hash.chain([place_of(text)]);
            hashes.push(all.fold(0, |hash, number| hash << 32 | u128::from(number)));
        }
    }
    Fingerprint::sort(&mut hashes);
    let mut firsts = vec![NONE; count];
    for equal in hashes.chunk_by(|a, b| a >> 32 == b >> 32) {
        for &other in &equal[1..] {
            firsts[other as u32 as usize] = equal[0] as u32;
        }
    }
    Ok(firsts)
}
