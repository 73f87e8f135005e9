//! Bulk reads of lines with only a fingerprint, on all threads.
//!
//! Other lines, including blank and invalid ones, are left to the reader of single lines: a bulk read ends at the first
//! line that is not plain.

use rayon::prelude::*;

use super::digits::{self, Radix};
use simidx::{Fingerprint, Fingerprints};

/// Number of bytes that one task reads.
const PIECE: usize = 32 << 10;

/// Appends the fingerprints of complete lines, up to the first line that is not plain. Returns the length of the lines.
pub(super) fn read(lines: &[u8], radix: Radix, out: &mut Fingerprints) -> usize {
    match out {
        Fingerprints::W32(out) => read_lines(lines, radix, out),
        Fingerprints::W64(out) => read_lines(lines, radix, out),
        Fingerprints::W128(out) => read_lines(lines, radix, out),
    }
}

fn read_lines<F: Fingerprint>(lines: &[u8], radix: Radix, out: &mut Vec<F>) -> usize {
    let mut pieces = pieces(lines);
    let first = pieces.next().unwrap_or_default();
    let (fingerprints, mut length) = read_piece::<F>(first, radix);
    out.extend(fingerprints);
    // If other lines are frequent, nothing after the next of them should be examined.
    if length < first.len() {
        return length;
    }
    let rest: Vec<&[u8]> = pieces.collect();
    let read: Vec<(Vec<F>, usize)> = rest
        .par_iter()
        .map(|piece| read_piece(piece, radix))
        .collect();
    for (piece, (fingerprints, of_piece)) in rest.iter().zip(read) {
        out.extend(fingerprints);
        length += of_piece;
        if of_piece < piece.len() {
            break;
        }
    }
    length
}

/// Divides lines into pieces that end with a line.
fn pieces(mut lines: &[u8]) -> impl Iterator<Item = &[u8]> {
    std::iter::from_fn(move || {
        let behind = lines.get(PIECE..).unwrap_or_default();
        let rest = behind.iter().position(|&b| b == b'\n');
        let end = rest.map_or(lines.len(), |rest| PIECE + rest + 1);
        let (piece, after) = lines.split_at(end);
        lines = after;
        (!piece.is_empty()).then_some(piece)
    })
}

/// Returns the fingerprints of the first lines that are plain, and the length of these lines.
fn read_piece<F: Fingerprint>(lines: &[u8], radix: Radix) -> (Vec<F>, usize) {
    let mut fingerprints = Vec::with_capacity(lines.len() / (F::BYTES * 2 + 1) + 1);
    let mut read = 0;
    while let Some((fingerprint, length)) = read_line(&lines[read..], radix) {
        fingerprints.push(fingerprint);
        read += length;
    }
    (fingerprints, read)
}

/// Returns the fingerprint in the first line, and the length of the line with its end, if it is plain.
#[inline]
fn read_line<F: Fingerprint>(lines: &[u8], radix: Radix) -> Option<(F, usize)> {
    let full = F::BYTES * 2;
    if let (Radix::Hex, Some(b'\n')) = (radix, lines.get(full))
        && let Some(fingerprint) = F::from_hex(&lines[..full])
    {
        return Some((fingerprint, full + 1));
    }
    // Line ends and tabs sort before all digits and letters.
    let length = lines.iter().position(|&b| b < b'0')?;
    let end = match lines[length..] {
        _ if length == 0 => return None,
        [b'\n', ..] => 1,
        [b'\r', b'\n', ..] => 2,
        _ => return None,
    };
    let fingerprint = match radix {
        Radix::Hex => F::from_hex(&lines[..length])?,
        Radix::Dec => digits::dec_value(&lines[..length])?,
    };
    Some((fingerprint, length + end))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read_hex(lines: &str) -> (Vec<u64>, usize) {
        let mut all = Vec::new();
        let length = read_lines(lines.as_bytes(), Radix::Hex, &mut all);
        (all, length)
    }

    #[test]
    fn plain_lines_are_read_up_to_the_first_other_one() {
        let others = ["1\tid\n", "x\n", " \n", "\r\r\n", "1 \n", "+1\n"];
        for other in others.into_iter().chain(["\n", "\r\n"]) {
            let (all, length) = read_hex(&format!("ff\n1\r\n{other}2\n"));
            assert_eq!((all, length), (vec![255, 1], 6), "{other:?}");
        }
        assert_eq!(read_hex("x\n1\n"), (vec![], 0));
        assert_eq!(read_hex("\n\n"), (vec![], 0));
        assert_eq!(read_hex(""), (vec![], 0));
    }

    #[test]
    fn an_other_line_in_any_piece_is_the_end() {
        let count = 4 * PIECE as u64 / 17;
        for other in [0, 1, count / 4, count / 2, count - 1] {
            let lines: String = (0..count)
                .map(|i| {
                    if i == other {
                        "?\n".into()
                    } else {
                        format!("{i:016x}\n")
                    }
                })
                .collect();
            let (all, length) = read_hex(&lines);
            assert!(all.iter().copied().eq(0..other), "{other}");
            assert_eq!(length, other as usize * 17);
        }
    }

    #[test]
    fn pieces_are_whole_lines() {
        let lines = "12345\n".repeat(PIECE);
        let pieces: Vec<_> = pieces(lines.as_bytes()).collect();
        assert!(pieces.len() > 5 && pieces.iter().all(|piece| piece.ends_with(b"\n")));
        assert_eq!(pieces.concat(), lines.as_bytes());
    }
}
