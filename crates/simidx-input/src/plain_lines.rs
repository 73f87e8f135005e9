//! Bulk reads of lines with only a fingerprint, on all threads.
//!
//! Other lines, including invalid ones, are left to the reader of single lines: a bulk read ends at the first line that
//! is not plain.

use rayon::prelude::*;

use super::digits::{self, Radix};
use simidx::{Fingerprint, Fingerprints};

/// Number of bytes that one task reads.
const PIECE: usize = 32 << 10;

/// The extent of a reading, up to the end of the last fingerprint.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct Extent {
    pub(super) lines: u64,
    pub(super) bytes: usize,
}

/// Appends the fingerprints of complete lines, up to the first line that is not plain.
pub(super) fn read(lines: &[u8], radix: Radix, out: &mut Fingerprints) -> Extent {
    match out {
        Fingerprints::W32(out) => read_lines(lines, radix, out),
        Fingerprints::W64(out) => read_lines(lines, radix, out),
        Fingerprints::W128(out) => read_lines(lines, radix, out),
    }
}

fn read_lines<F: Fingerprint>(lines: &[u8], radix: Radix, out: &mut Vec<F>) -> Extent {
    let mut pieces = pieces(lines);
    let mut reading = Reading::default();
    let Some(first) = pieces.next() else {
        return reading.extent;
    };
    // If other lines are frequent, nothing after the next of them should be examined.
    if !reading.join(Piece::read(first, radix), out) {
        return reading.extent;
    }
    let rest: Vec<&[u8]> = pieces.collect();
    let rest: Vec<Piece<F>> = rest
        .into_par_iter()
        .map(|piece| Piece::read(piece, radix))
        .collect();
    for piece in rest {
        if !reading.join(piece, out) {
            break;
        }
    }
    reading.extent
}

/// Pieces that have been joined.
#[derive(Default)]
struct Reading {
    extent: Extent,
    /// The extent of all pieces so far.
    passed: Extent,
}

impl Reading {
    /// Adds the next piece, and returns whether all of it is plain.
    fn join<F: Fingerprint>(&mut self, piece: Piece<F>, out: &mut Vec<F>) -> bool {
        out.extend_from_slice(&piece.fingerprints);
        if !piece.fingerprints.is_empty() {
            self.extent = self.passed + piece.extent;
        }
        match piece.whole {
            Some(whole) => self.passed = self.passed + whole,
            None => return false,
        }
        true
    }
}

impl std::ops::Add for Extent {
    type Output = Extent;

    fn add(self, next: Extent) -> Extent {
        Extent {
            lines: self.lines + next.lines,
            bytes: self.bytes + next.bytes,
        }
    }
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

/// The fingerprints of some lines.
struct Piece<F> {
    fingerprints: Vec<F>,
    extent: Extent,
    /// The extent of all lines, if all of them are plain.
    whole: Option<Extent>,
}

impl<F: Fingerprint> Piece<F> {
    fn read(lines: &[u8], radix: Radix) -> Self {
        let mut fingerprints = Vec::with_capacity(lines.len() / (F::BYTES * 2 + 1) + 1);
        let (mut extent, mut passed) = (Extent::default(), Extent::default());
        while passed.bytes < lines.len() {
            let Some((fingerprint, length)) = read_line(&lines[passed.bytes..], radix) else {
                break;
            };
            passed.lines += 1;
            passed.bytes += length;
            if let Some(fingerprint) = fingerprint {
                fingerprints.push(fingerprint);
                extent = passed;
            }
        }
        let whole = (passed.bytes == lines.len()).then_some(passed);
        Piece {
            fingerprints,
            extent,
            whole,
        }
    }
}

/// Returns the fingerprint in the first line, and the length of the line with its end, if it is plain; an empty line
/// has no fingerprint.
#[inline]
fn read_line<F: Fingerprint>(lines: &[u8], radix: Radix) -> Option<(Option<F>, usize)> {
    let full = F::BYTES * 2;
    if let (Radix::Hex, Some(b'\n')) = (radix, lines.get(full))
        && let Some(fingerprint) = F::from_hex(&lines[..full])
    {
        return Some((Some(fingerprint), full + 1));
    }
    // Line ends and tabs sort before all digits and letters.
    let digits = lines.iter().position(|&b| b < b'0')?;
    let end = match lines[digits..] {
        [b'\n', ..] => 1,
        [b'\r', b'\n', ..] => 2,
        _ => return None,
    };
    let fingerprint = match (digits, radix) {
        (0, _) => None,
        (_, Radix::Hex) => Some(F::from_hex(&lines[..digits])?),
        (_, Radix::Dec) => Some(digits::dec_value(&lines[..digits])?),
    };
    Some((fingerprint, digits + end))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read_hex(lines: &str) -> (Vec<u64>, Extent) {
        let mut all = Vec::new();
        let extent = read_lines(lines.as_bytes(), Radix::Hex, &mut all);
        (all, extent)
    }

    #[test]
    fn plain_lines_are_read_up_to_the_first_other_one() {
        for other in ["1\tid\n", "x\n", " \n", "\r\r\n", "1 \n", "+1\n"] {
            let (all, extent) = read_hex(&format!("ff\n\n1\r\n\r\n\n{other}2\n"));
            assert_eq!(all, [255, 1], "{other:?}");
            assert_eq!(extent, Extent { lines: 3, bytes: 7 }, "{other:?}");
        }
        assert_eq!(read_hex("x\n1\n"), (vec![], Extent::default()));
        assert_eq!(read_hex("\n\n"), (vec![], Extent::default()));
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
            let (all, extent) = read_hex(&lines);
            assert!(all.iter().copied().eq(0..other), "{other}");
            let bytes = other as usize * 17;
            assert_eq!(
                extent,
                Extent {
                    lines: other,
                    bytes
                }
            );
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
