//! Compressed streams: detection and decompression.

use std::io::{self, BufRead, BufReader, ErrorKind, Read};

use flate2::bufread::GzDecoder;
use zstd::stream::read::Decoder as ZstdDecoder;

use super::members::{Member, Members, Raw, Rubbish};

/// Size of the buffers for compressed and decompressed bytes.
const BUFFER: usize = 64 << 10;

/// Largest memory for a stream of xz, in bytes. The strongest preset takes 65 MiB.
#[cfg(feature = "xz")]
const XZ_MEMORY: u64 = 1 << 30;

/// The compression of a stream.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Compression {
    None,
    Bzip2,
    Gzip,
    Lz4,
    Xz,
    Zstd,
}

/// The suffixes of file names.
const SUFFIXES: [(&str, Compression); 5] = [
    (".bz2", Compression::Bzip2),
    (".gz", Compression::Gzip),
    (".lz4", Compression::Lz4),
    (".xz", Compression::Xz),
    (".zst", Compression::Zstd),
];

/// The first bytes of streams: the compression, the number of them that suffice if the stream ends there, and the least
/// and the greatest value of each.
const MAGICS: [(Compression, usize, &[u8], &[u8]); 7] = [
    (Compression::Gzip, 2, b"\x1f\x8b\x08\0", b"\x1f\x8b\x08\x1f"),
    (Compression::Zstd, 2, ZSTD, ZSTD),
    (Compression::Lz4, 4, LZ4, LZ4),
    (Compression::Xz, 4, XZ, XZ),
    // A level, and then the first block or, if it is empty, the end.
    (Compression::Bzip2, 10, b"BZh11AY&SY", b"BZh91AY&SY"),
    (
        Compression::Bzip2,
        10,
        b"BZh1\x17rE8P\x90",
        b"BZh9\x17rE8P\x90",
    ),
    // Parallel tools write frames to be skipped before Zstandard data, but not before LZ4 data.
    (
        Compression::Zstd,
        4,
        b"\x50\x2a\x4d\x18",
        b"\x5f\x2a\x4d\x18",
    ),
];
const ZSTD: &[u8] = &[0x28, 0xb5, 0x2f, 0xfd];
const LZ4: &[u8] = &[0x04, 0x22, 0x4d, 0x18];
const XZ: &[u8] = b"\xfd7zXZ\0";

/// Whether the first bytes are within these limits, as far as they go.
fn begins(head: &[u8], least: &[u8], greatest: &[u8]) -> bool {
    let mut limits = least
        .iter()
        .zip(greatest)
        .map(|(least, greatest)| least..=greatest);
    head.iter()
        .all(|byte| limits.next().is_none_or(|limits| limits.contains(&byte)))
}

impl Compression {
    /// Detects the compression of a stream that begins with `head`, which may be truncated.
    pub(super) fn by_magic(head: &[u8]) -> Self {
        let mut magics = MAGICS.iter();
        let found = magics.find(|(_, enough, least, greatest)| {
            head.len() >= *enough && begins(head, least, greatest)
        });
        found.map_or(Compression::None, |found| found.0)
    }

    /// Whether the compression may be detectable only with more bytes.
    fn may_follow(head: &[u8]) -> bool {
        let mut magics = MAGICS.iter();
        magics.any(|(_, _, least, greatest)| {
            head.len() < least.len() && begins(head, least, greatest)
        })
    }

    /// Reads only the bytes that detect the compression, so that lines in a pipe are not delayed.
    pub(super) fn read_magic(stream: &mut impl Read) -> io::Result<Vec<u8>> {
        let mut head = Vec::new();
        while Self::may_follow(&head) {
            if stream.take(1).read_to_end(&mut head)? == 0 {
                break;
            }
        }
        Ok(head)
    }

    /// The name of the compression for users.
    fn name(self) -> &'static str {
        match self {
            Compression::None => "",
            Compression::Bzip2 => "bzip2",
            Compression::Gzip => "gzip",
            Compression::Lz4 => "lz4",
            Compression::Xz => "xz",
            Compression::Zstd => "zstd",
        }
    }
}

/// Returns a file name in lower case without a compression suffix, and the compression.
pub(super) fn split_suffix(name: &str) -> (&str, Compression) {
    let told = SUFFIXES.iter().find_map(|&(suffix, compression)| {
        let rest = name.strip_suffix(suffix)?;
        Some((rest, compression))
    });
    told.unwrap_or((name, Compression::None))
}

/// Decompresses a stream.
pub(super) fn decompress(
    raw: impl Read + Send + 'static,
    compression: Compression,
) -> io::Result<Box<dyn BufRead + Send>> {
    let raw = BufReader::with_capacity(BUFFER, raw);
    let name = compression.name();
    let plain: Box<dyn Read + Send> = match compression {
        Compression::None => return Ok(Box::new(raw)),
        Compression::Gzip => Box::new(Members::<GzDecoder<Raw>>::new(raw)),
        Compression::Zstd => Box::new(ZstdDecoder::with_buffer(raw)?),
        #[cfg(feature = "bzip2")]
        Compression::Bzip2 => Box::new(Members::<bzip2::bufread::BzDecoder<Raw>>::new(raw)),
        #[cfg(feature = "lz4")]
        Compression::Lz4 => Box::new(Members::<lz4_frame::Lz4Frame>::new(raw)),
        #[cfg(feature = "xz")]
        Compression::Xz => Box::new(Members::<liblzma::bufread::XzDecoder<Raw>>::new(raw)),
        #[cfg(not(all(feature = "bzip2", feature = "lz4", feature = "xz")))]
        _ => {
            let message = format!(
                "is compressed by {name}, which needs a simidx-input with its feature `{name}`"
            );
            return Err(io::Error::new(ErrorKind::Unsupported, message));
        }
    };
    let plain = Named { plain, name };
    Ok(Box::new(BufReader::with_capacity(BUFFER, plain)))
}

/// The error of a file that has become shorter, which decoders must not replace by their own.
#[derive(Debug, thiserror::Error)]
#[error("is shorter than when it was opened")]
pub(super) struct Shortened;

/// A decoder that adds the name of the compression to errors.
struct Named<R> {
    plain: R,
    name: &'static str,
}

impl<R: Read> Read for Named<R> {
    fn read(&mut self, out: &mut [u8]) -> io::Result<usize> {
        self.plain.read(out).map_err(|error| {
            let inner = error.get_ref();
            let says_all = error.raw_os_error().is_some()
                || error.kind() == ErrorKind::WouldBlock
                || inner.is_some_and(|inner| inner.is::<Shortened>() || inner.is::<Rubbish>());
            let name = self.name;
            let message = match error.kind() {
                _ if says_all => return error,
                ErrorKind::UnexpectedEof => format!("the {name} data are cut off"),
                _ => format!("the {name} data are damaged: {error}"),
            };
            io::Error::new(error.kind(), message)
        })
    }
}

impl Member for GzDecoder<Raw> {
    const NAME: &'static str = "gzip";
    const FIRST: u8 = 0x1f;

    fn begin(raw: Raw) -> io::Result<Self> {
        Ok(GzDecoder::new(raw))
    }

    fn into_raw(self) -> Raw {
        self.into_inner()
    }

    /// The last block of a tape is filled with zeros.
    fn pass_over(raw: &mut Raw) -> io::Result<()> {
        pass_over_zeros(raw)
    }
}

fn pass_over_zeros(raw: &mut Raw) -> io::Result<()> {
    loop {
        let ahead = raw.fill_buf()?;
        let zeros = ahead.iter().take_while(|&&b| b == 0).count();
        let are_all = zeros > 0 && zeros == ahead.len();
        raw.consume(zeros);
        if !are_all {
            return Ok(());
        }
    }
}

#[cfg(feature = "xz")]
impl Member for liblzma::bufread::XzDecoder<Raw> {
    const NAME: &'static str = "xz";
    const FIRST: u8 = 0xfd;

    fn begin(raw: Raw) -> io::Result<Self> {
        let decoder = liblzma::stream::Stream::new_stream_decoder(XZ_MEMORY, 0)?;
        Ok(liblzma::bufread::XzDecoder::new_stream(raw, decoder))
    }

    fn into_raw(self) -> Raw {
        self.into_inner()
    }

    /// Streams may be padded with zeros.
    fn pass_over(raw: &mut Raw) -> io::Result<()> {
        pass_over_zeros(raw)
    }
}

#[cfg(feature = "bzip2")]
impl Member for bzip2::bufread::BzDecoder<Raw> {
    const NAME: &'static str = "bzip2";
    const FIRST: u8 = b'B';

    fn begin(raw: Raw) -> io::Result<Self> {
        Ok(bzip2::bufread::BzDecoder::new(raw))
    }

    fn into_raw(self) -> Raw {
        self.into_inner()
    }
}

/// LZ4 frames. The decoder would accept a frame that is truncated between blocks.
#[cfg(feature = "lz4")]
mod lz4_frame {
    use std::io::{self, ErrorKind, Read};

    use lz4_flex::frame::FrameDecoder;

    use super::{LZ4, Member, Raw};

    pub(super) struct Lz4Frame(FrameDecoder<Watched>);

    /// A stream that records whether it was read to its end.
    struct Watched {
        raw: Raw,
        has_ended: bool,
    }

    impl Read for Watched {
        fn read(&mut self, out: &mut [u8]) -> io::Result<usize> {
            let length = self.raw.read(out)?;
            self.has_ended |= length == 0 && !out.is_empty();
            Ok(length)
        }
    }

    impl Read for Lz4Frame {
        fn read(&mut self, out: &mut [u8]) -> io::Result<usize> {
            let length = self.0.read(out)?;
            match length == 0 && self.0.get_ref().has_ended {
                true => Err(ErrorKind::UnexpectedEof.into()),
                false => Ok(length),
            }
        }
    }

    impl Member for Lz4Frame {
        const NAME: &'static str = "lz4";
        const FIRST: u8 = LZ4[0];

        fn begin(raw: Raw) -> io::Result<Self> {
            let has_ended = false;
            Ok(Lz4Frame(FrameDecoder::new(Watched { raw, has_ended })))
        }

        fn into_raw(self) -> Raw {
            self.0.into_inner().raw
        }

        /// Skippable frames are for other programs.
        fn pass_over(raw: &mut Raw) -> io::Result<()> {
            while matches!(raw.peek()?, Some(0x50..=0x5f)) {
                let rubbish = raw.rubbish(Self::NAME);
                let mut header = [0; 8];
                raw.read_exact(&mut header)?;
                let [_, 0x2a, 0x4d, 0x18, a, b, c, d] = header else {
                    return Err(rubbish);
                };
                let length = u64::from(u32::from_le_bytes([a, b, c, d]));
                if io::copy(&mut raw.by_ref().take(length), &mut io::sink())? < length {
                    return Err(ErrorKind::UnexpectedEof.into());
                }
            }
            Ok(())
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn no_more_is_read_than_tells_the_compression() {
        for (stream, read) in [
            (&b"{\"text\": 1}"[..], 1),
            (b"", 0),
            (b"BZip", 3),
            (b"BZh9 is text", 5),
            (b"PAR1", 2),
            (b"\x1f\x8b\x08\0\0\0", 4),
            (b"\xfd7zXZ\0\0", 6),
            (b"BZh31AY&SY more", 10),
        ] {
            let head = Compression::read_magic(&mut &*stream).unwrap();
            assert_eq!(head, &stream[..read], "{stream:?}");
        }
    }

    #[test]
    fn first_bytes_tell_the_compression() {
        use Compression as C;
        for (head, expected) in [
            (&b""[..], C::None),
            (b"\x1f", C::None),
            (b"\x1f\x8b", C::Gzip),
            (b"\x1f\x8b\x07\0", C::None),
            (b"\x1f\x8b\x08\xff", C::None),
            (b"(", C::None),
            (b"(\xb5/?", C::None),
            (b"(\xb5", C::Zstd),
            (b"\x51\x2a\x4d\x18", C::Zstd),
            (b"\x04\x22\x4d\x18", C::Lz4),
            (b"\xfd7zX", C::Xz),
            (b"\xfd7zXY\0", C::None),
            (b"BZh11AY&SY", C::Bzip2),
            (b"BZh9\x17rE8P\x90", C::Bzip2),
            (b"BZh01AY&SY", C::None),
            (b"BZh9", C::None),
        ] {
            assert_eq!(C::by_magic(head), expected, "{head:?}");
        }
    }

    #[test]
    fn suffixes_tell_the_compression() {
        assert_eq!(split_suffix("a.tsv.gz"), ("a.tsv", Compression::Gzip));
        assert_eq!(split_suffix("a.bz2"), ("a", Compression::Bzip2));
        assert_eq!(split_suffix("a.lz4"), ("a", Compression::Lz4));
        assert_eq!(split_suffix("a.xz"), ("a", Compression::Xz));
        assert_eq!(split_suffix("a.zst"), ("a", Compression::Zstd));
        assert_eq!(split_suffix("a.zip"), ("a.zip", Compression::None));
    }
}
