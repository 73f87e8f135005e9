//! Compressed streams that consist of several concatenated ones, each with its own decoder.

use std::io::{self, BufRead, ErrorKind, Read};

/// A decoder of one stream.
pub(super) trait Member: Read {
    /// The name of the compression.
    const NAME: &'static str;

    /// The first byte of a stream.
    const FIRST: u8;

    /// Starts to decode a stream.
    fn begin(raw: Raw) -> io::Result<Self>
    where
        Self: Sized;

    /// Returns the input after the stream, which has been read to its end.
    fn into_raw(self) -> Raw;

    /// Skips the padding that is allowed between streams.
    fn pass_over(raw: &mut Raw) -> io::Result<()> {
        let _ = raw;
        Ok(())
    }
}

/// Bytes that are counted as they are read.
pub(super) struct Raw {
    reader: Box<dyn BufRead + Send>,
    offset: u64,
}

impl Raw {
    /// Returns the next byte, without reading it; `None` at the end.
    pub(super) fn peek(&mut self) -> io::Result<Option<u8>> {
        Ok(self.reader.fill_buf()?.first().copied())
    }

    /// Returns the error of a stream that is followed by other bytes from here on.
    pub(super) fn rubbish(&self, name: &'static str) -> io::Error {
        let offset = self.offset;
        io::Error::new(ErrorKind::InvalidData, Rubbish { name, offset })
    }
}

impl Read for Raw {
    fn read(&mut self, out: &mut [u8]) -> io::Result<usize> {
        let length = self.fill_buf()?.read(out)?;
        self.consume(length);
        Ok(length)
    }
}

impl BufRead for Raw {
    fn fill_buf(&mut self) -> io::Result<&[u8]> {
        self.reader.fill_buf()
    }

    fn consume(&mut self, length: usize) {
        self.offset += length as u64;
        self.reader.consume(length);
    }
}

/// The decoded contents of consecutive streams.
pub(super) struct Members<M>(Option<State<M>>);

enum State<M> {
    /// Within a stream.
    Within(M),
    /// Before the first stream, after a stream, or at the end.
    Between { raw: Raw, is_first: bool },
}

impl<M: Member> Members<M> {
    /// Creates the contents of the streams that begin here; there is at least one.
    pub(super) fn new(reader: impl BufRead + Send + 'static) -> Self {
        let raw = Raw {
            reader: Box::new(reader),
            offset: 0,
        };
        let is_first = true;
        Members(Some(State::Between { raw, is_first }))
    }
}

impl<M: Member> Read for Members<M> {
    fn read(&mut self, out: &mut [u8]) -> io::Result<usize> {
        if out.is_empty() {
            return Ok(0);
        }
        // After a failure, there is neither state nor more input.
        while let Some(state) = self.0.take() {
            match state {
                State::Within(mut member) => {
                    let length = member.read(out)?;
                    if length > 0 {
                        self.0 = Some(State::Within(member));
                        return Ok(length);
                    }
                    let raw = member.into_raw();
                    let is_first = false;
                    self.0 = Some(State::Between { raw, is_first });
                }
                State::Between { mut raw, is_first } => {
                    M::pass_over(&mut raw)?;
                    match raw.peek()? {
                        first if is_first || first == Some(M::FIRST) => {
                            self.0 = Some(State::Within(M::begin(raw)?));
                        }
                        Some(_) => return Err(raw.rubbish(M::NAME)),
                        None => {
                            self.0 = Some(State::Between { raw, is_first });
                            return Ok(0);
                        }
                    }
                }
            }
        }
        Ok(0)
    }
}

/// The error of a stream that is followed by other bytes.
#[derive(Debug, thiserror::Error)]
#[error("the {name} data end at offset {offset} of the file, and other bytes follow them")]
pub(super) struct Rubbish {
    name: &'static str,
    offset: u64,
}

#[cfg(test)]
mod tests {
    #[cfg(any(feature = "bzip2", feature = "lz4", feature = "xz"))]
    use std::io::Write;

    use crate::Error;
    use crate::source::tests::{gzip, read, sample, zstd};

    #[cfg(feature = "bzip2")]
    fn bzip2(bytes: &[u8]) -> Vec<u8> {
        let level = bzip2::Compression::fast();
        let mut encoder = bzip2::write::BzEncoder::new(Vec::new(), level);
        encoder.write_all(bytes).unwrap();
        encoder.finish().unwrap()
    }

    #[cfg(feature = "lz4")]
    fn lz4(bytes: &[u8]) -> Vec<u8> {
        let mut encoder = lz4_flex::frame::FrameEncoder::new(Vec::new());
        encoder.write_all(bytes).unwrap();
        encoder.finish().unwrap()
    }

    #[cfg(feature = "xz")]
    fn xz(bytes: &[u8]) -> Vec<u8> {
        let mut encoder = liblzma::write::XzEncoder::new(Vec::new(), 0);
        encoder.write_all(bytes).unwrap();
        encoder.finish().unwrap()
    }

    /// A compression with its name.
    type Packer = (&'static str, fn(&[u8]) -> Vec<u8>);

    /// All supported compressions.
    const PACKERS: &[Packer] = &[
        ("gzip", gzip),
        ("zstd", zstd),
        #[cfg(feature = "bzip2")]
        ("bzip2", bzip2),
        #[cfg(feature = "lz4")]
        ("lz4", lz4),
        #[cfg(feature = "xz")]
        ("xz", xz),
    ];

    #[test]
    fn compressed_streams_are_read_through() {
        let sample = sample();
        assert_eq!(read(&sample).unwrap(), sample);
        for (name, pack) in PACKERS {
            assert!(read(&pack(&sample)).unwrap() == sample, "{name}");
            assert_eq!(read(&pack(b"")).unwrap(), b"", "{name}");
        }
    }

    #[test]
    fn concatenated_streams_are_read_as_one() {
        for (name, pack) in PACKERS {
            let several = [pack(b"one "), pack(b""), pack(b"two "), pack(b"three")];
            assert_eq!(read(&several.concat()).unwrap(), b"one two three", "{name}");
        }
    }

    #[test]
    fn truncated_streams_are_errors_that_name_the_file() {
        for (name, pack) in PACKERS {
            let whole = pack(&sample()[..200_000]);
            let step = whole.len() / 40;
            let few = (12..40).chain((40..whole.len()).step_by(step));
            for length in few.chain([whole.len() - 1]) {
                let error = read(&whole[..length]).unwrap_err();
                assert!(matches!(error, Error::Io(_)), "{name} {error:?}");
                let start = format!("in: the {name} data are ");
                assert!(error.to_string().starts_with(&start), "{length}: {error}");
            }
        }
        for whole in [gzip(&sample()), zstd(&sample())] {
            for length in [2, 3, 4, 5] {
                assert!(matches!(read(&whole[..length]), Err(Error::Io(_))));
            }
        }
    }

    #[test]
    fn frames_without_their_last_blocks_are_errors() {
        for (name, pack) in PACKERS {
            let several = [pack(b"one "), pack(&sample())].concat();
            let (first, last) = (pack(b"one ").len(), several.len());
            for length in [first + 1, first + 4, first + 20, last - 4, last - 8] {
                let error = read(&several[..length]).unwrap_err().to_string();
                let start = format!("in: the {name} data ");
                assert!(error.starts_with(&start), "{length}: {error}");
            }
        }
    }

    #[test]
    fn a_damaged_stream_is_an_error() {
        for (name, pack) in PACKERS {
            let mut damaged = pack(&sample());
            let middle = damaged.len() / 2;
            for byte in &mut damaged[middle..middle + 20] {
                *byte ^= 0x55;
            }
            // The checksum of some compressions is optional.
            let has_checksum = !["lz4", "zstd"].contains(name);
            let is_found = matches!(read(&damaged), Err(Error::Io(_)));
            assert!(is_found || !has_checksum, "{name}");
        }
        let mut damaged = gzip(&sample());
        let checksum = damaged.len() - 8;
        damaged[checksum] ^= 1;
        assert!(matches!(read(&damaged), Err(Error::Io(_))));
    }

    #[test]
    fn bytes_after_the_end_of_a_stream_are_told() {
        for (name, pack) in PACKERS {
            let bytes = [pack(b"one"), b"garbage".to_vec()].concat();
            let error = read(&bytes).unwrap_err().to_string();
            let offset = pack(b"one").len();
            let message = match *name {
                "zstd" => format!("in: the {name} data are damaged: "),
                _ => format!(
                    "in: the {name} data end at offset {offset} of the file, and other bytes follow them"
                ),
            };
            assert!(error.starts_with(&message), "{error}");
        }
        let filled = [gzip(b"one"), vec![0; 1000]].concat();
        assert_eq!(read(&filled).unwrap(), b"one");
        let filled = [gzip(b"one"), vec![0; 1000], gzip(b"two")].concat();
        assert_eq!(read(&filled).unwrap(), b"onetwo");
    }

    #[test]
    #[cfg(feature = "lz4")]
    fn frames_for_others_are_passed_over() {
        let skippable = b"\x53\x2a\x4d\x18\x05\0\0\0hello";
        let bytes = [
            lz4(b"one "),
            skippable.to_vec(),
            lz4(b"two"),
            skippable.to_vec(),
        ]
        .concat();
        assert_eq!(read(&bytes).unwrap(), b"one two");
        let cut = &bytes[..bytes.len() - 1];
        assert_eq!(
            read(cut).unwrap_err().to_string(),
            "in: the lz4 data are cut off"
        );
    }
}
