//! Decodes streams to UTF-8 while they are read.

use std::collections::VecDeque;
use std::io::{self, BufRead, Read};
use std::ops::Range;
use std::sync::{Arc, Mutex, PoisonError};

use encoding_rs::{Decoder, DecoderResult, Encoding};

/// Size of the buffer of decoded text, in bytes.
const TEXT: usize = 64 << 10;

/// Number of free bytes that always suffice for a character.
const ROOM: usize = 64;

/// The replacement for invalid bytes.
const REPLACEMENT: &[u8] = "\u{fffd}".as_bytes();

/// A stream decoded to UTF-8. A byte order mark overrides the encoding, and is removed.
pub(super) struct Decoding {
    bytes: Box<dyn BufRead + Send>,
    /// Whether all bytes have been read, and whether the decoder has been notified.
    at_end: bool,
    has_ended: bool,
    decoder: Decoder,
    /// The buffer, and the part of it that has been decoded and not consumed.
    text: Box<[u8]>,
    ready: Range<usize>,
    /// Number of the line in which the text ends, from 1.
    line: u64,
    faults: FaultyLines,
}

/// The numbers, from 1, of lines with invalid bytes that have not been queried yet. There are at most as many as lines
/// read ahead.
#[derive(Clone, Debug, Default)]
pub(super) struct FaultyLines(Arc<Mutex<VecDeque<u64>>>);

impl FaultyLines {
    /// Whether a line is faulty. The lines before it are forgotten.
    pub(super) fn holds(&self, line: u64) -> bool {
        let mut lines = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        while lines.front().is_some_and(|&first| first < line) {
            lines.pop_front();
        }
        lines.front() == Some(&line)
    }

    fn add(&self, line: u64) {
        let mut lines = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        if lines.back() != Some(&line) {
            lines.push_back(line);
        }
    }
}

impl Decoding {
    pub(super) fn new(
        bytes: Box<dyn BufRead + Send>,
        encoding: &'static Encoding,
    ) -> (Self, FaultyLines) {
        let faults = FaultyLines::default();
        let decoding = Decoding {
            bytes,
            at_end: false,
            has_ended: false,
            decoder: encoding.new_decoder(),
            text: vec![0; TEXT].into(),
            ready: 0..0,
            line: 1,
            faults: faults.clone(),
        };
        (decoding, faults)
    }

    /// Decodes the bytes read so far, or reads more.
    fn decode_on(&mut self) -> io::Result<()> {
        let bytes = match self.at_end {
            true => &[],
            false => self.bytes.fill_buf()?,
        };
        self.at_end |= bytes.is_empty();
        let (mut read, mut written) = (0, 0);
        while !self.has_ended && written + ROOM + REPLACEMENT.len() <= TEXT {
            let room = &mut self.text[written..TEXT - REPLACEMENT.len()];
            let (result, taken, made) =
                self.decoder
                    .decode_to_utf8_without_replacement(&bytes[read..], room, self.at_end);
            let made = &room[..made];
            self.line += made.iter().filter(|&&b| b == b'\n').count() as u64;
            read += taken;
            written += made.len();
            match result {
                DecoderResult::InputEmpty => {
                    self.has_ended = self.at_end;
                    break;
                }
                DecoderResult::OutputFull => break,
                DecoderResult::Malformed(..) => {
                    self.text[written..written + REPLACEMENT.len()].copy_from_slice(REPLACEMENT);
                    written += REPLACEMENT.len();
                    self.faults.add(self.line);
                }
            }
        }
        self.bytes.consume(read);
        self.ready = 0..written;
        Ok(())
    }
}

impl Read for Decoding {
    fn read(&mut self, out: &mut [u8]) -> io::Result<usize> {
        let length = self.fill_buf()?.read(out)?;
        self.consume(length);
        Ok(length)
    }
}

impl BufRead for Decoding {
    fn fill_buf(&mut self) -> io::Result<&[u8]> {
        while self.ready.is_empty() && !self.has_ended {
            self.decode_on()?;
        }
        Ok(&self.text[self.ready.clone()])
    }

    fn consume(&mut self, length: usize) {
        self.ready.start = (self.ready.start + length).min(self.ready.end);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use encoding_rs::{BIG5, GB18030, ISO_2022_JP, SHIFT_JIS, UTF_8, UTF_16BE, UTF_16LE};
    use proptest::prelude::*;
    use std::io::{BufReader, Cursor};

    /// Returns the text of bytes that arrive `piece` at a time, and its faulty lines.
    fn decoded(bytes: &[u8], encoding: &'static Encoding, piece: usize) -> (String, Vec<u64>) {
        let bytes = BufReader::with_capacity(piece, Cursor::new(bytes.to_vec()));
        let (mut decoding, faults) = Decoding::new(Box::new(bytes), encoding);
        let mut text = String::new();
        decoding.read_to_string(&mut text).unwrap();
        let lines = text.split('\n').count() as u64;
        let faulty = (1..=lines).filter(|&line| faults.holds(line)).collect();
        (text, faulty)
    }

    #[test]
    fn streams_longer_than_the_buffer_are_decoded() {
        let text = "近年來，重複的網頁越來越多。\n".repeat(20_000);
        let (bytes, ..) = BIG5.encode(&text);
        assert_eq!(decoded(&bytes, BIG5, 1 << 16), (text.clone(), vec![]));
        assert_eq!(decoded(&bytes, BIG5, 7), (text.clone(), vec![]));
        let units = text.encode_utf16();
        let bytes: Vec<u8> = units.flat_map(u16::to_be_bytes).collect();
        assert_eq!(decoded(&bytes, UTF_16BE, 1001), (text, vec![]));
    }

    #[test]
    fn a_byte_order_mark_decides() {
        let bytes = [b"\xff\xfe", &b"a\0\n\0"[..]].concat();
        assert_eq!(decoded(&bytes, SHIFT_JIS, 1), ("a\n".into(), vec![]));
        let bytes = "\u{feff}\u{e9}".as_bytes();
        assert_eq!(decoded(bytes, SHIFT_JIS, 2), ("\u{e9}".into(), vec![]));
    }

    #[test]
    fn lines_with_faults_are_told_once() {
        let bytes = b"a\n\x81\xff\xff\xff\n\nb\x81\nc\x81";
        let (text, lines) = decoded(bytes, GB18030, 3);
        assert_eq!(text.split('\n').count(), 5);
        assert_eq!(lines, [2, 4, 5]);
        assert_eq!(
            decoded("\u{fffd}".as_bytes(), UTF_8, 9),
            ("\u{fffd}".into(), vec![])
        );
    }

    #[test]
    fn a_failure_is_no_end() {
        struct Failing(u32);
        impl Read for Failing {
            fn read(&mut self, out: &mut [u8]) -> io::Result<usize> {
                self.0 += 1;
                match self.0 {
                    2 => Err(io::ErrorKind::WouldBlock.into()),
                    4.. => Ok(0),
                    _ => (&b"\xa4"[..]).read(out),
                }
            }
        }
        let bytes = Box::new(BufReader::new(Failing(0)));
        let (mut decoding, _) = Decoding::new(bytes, BIG5);
        let mut text = Vec::new();
        assert!(decoding.read_to_end(&mut text).is_err());
        decoding.read_to_end(&mut text).unwrap();
        assert_eq!(text, "中".as_bytes());
    }

    proptest! {
        #[test]
        fn pieces_make_no_difference(
            bytes in prop::collection::vec(prop_oneof![any::<u8>(), Just(b'\n'), 0x80u8..0xa0], 0..300),
            piece in 1usize..20,
            encoding in prop::sample::select(vec![UTF_8, GB18030, BIG5, SHIFT_JIS, ISO_2022_JP, UTF_16LE, UTF_16BE]),
        ) {
            let (whole, _, has_faults) = encoding.decode(&bytes);
            let (text, faulty) = decoded(&bytes, encoding, piece);
            prop_assert_eq!(&text, &whole);
            prop_assert_eq!(!faulty.is_empty(), has_faults);
            let at_once = decoded(&bytes, encoding, bytes.len().max(1));
            prop_assert_eq!(&faulty, &at_once.1);
            let lines = (1..).zip(text.split('\n'));
            let replaced = lines.filter(|(_, line)| line.contains('\u{fffd}'));
            let replaced: Vec<u64> = replaced.map(|(number, _)| number).collect();
            // Some encodings contain the character itself, as do those with a byte order mark.
            let lacks_it = [BIG5, SHIFT_JIS, ISO_2022_JP].contains(&encoding) && Encoding::for_bom(&bytes).is_none();
            match lacks_it {
                true => prop_assert_eq!(faulty, replaced),
                false => prop_assert!(faulty.iter().all(|line| replaced.contains(line))),
            }
        }
    }
}
