//! The coding of sorted values into fixed-size blocks. Pure: bytes in, values out, no I/O.

pub(crate) mod bits;
pub(crate) mod block;
pub(crate) mod delta;
pub(crate) mod elias_fano;
pub(crate) mod huffman;
pub(crate) mod keys;
pub(crate) mod lines;
pub(crate) mod span;
pub(crate) mod strings;
mod writer;

pub(crate) use writer::{CodeChoices, TableStatistics, encode_part};

use crate::error::OptionsError;
use crate::named;
use huffman::Code;

/// Bytes of the smallest block. Spec §13.
pub const MIN_BLOCK_SIZE: u32 = 128;

/// Bytes of the largest block. Spec §13.
pub const MAX_BLOCK_SIZE: u32 = 1 << 13;

/// Whether a block may have this many bytes. Spec §13.
pub(crate) fn is_block_size(bytes: u32) -> bool {
    bytes.is_power_of_two() && (MIN_BLOCK_SIZE..=MAX_BLOCK_SIZE).contains(&bytes)
}

/// Checks the option `block_size`.
///
/// # Errors
/// A block may not have this many bytes.
pub(crate) fn check_block_size(bytes: u32) -> Result<(), OptionsError> {
    if is_block_size(bytes) {
        return Ok(());
    }
    let message = format!(
        "a block size is a power of two from {MIN_BLOCK_SIZE} to {MAX_BLOCK_SIZE}, not {bytes}"
    );
    Err(OptionsError::new("block_size", message))
}

/// How much larger Elias-Fano blocks may be than Huffman-coded ones and still be chosen: they are searched two to four
/// times as fast (`cargo bench --bench peers`).
const ELIAS_FANO_ALLOWANCE: f64 = 1.10;

/// Whether a table is coded with Elias-Fano rather than with a Huffman code, where no codec is prescribed. The sizes are
/// those of the table in either, in any one unit.
pub(crate) fn prefers_elias_fano(elias_fano_size: f64, huffman_size: f64) -> bool {
    elias_fano_size <= huffman_size * ELIAS_FANO_ALLOWANCE
}

/// How much larger a table in lines may be than in Elias-Fano blocks and still be chosen: it is searched two to four times
/// as fast.
const LINES_ALLOWANCE: f64 = 1.07;

/// Whether a table is coded in lines rather than in Elias-Fano blocks, where no codec is prescribed.
pub(crate) fn prefers_lines(lines_size: f64, elias_fano_size: f64) -> bool {
    lines_size <= elias_fano_size * LINES_ALLOWANCE
}

/// How the values of a table are coded; recorded for each table (spec, section 7).
///
/// ```
/// use simidx::Codec;
///
/// let codec: Codec = "ef".parse()?;
/// assert_eq!((codec, codec.to_string()), (Codec::EliasFano, "ef".to_owned()));
/// # Ok::<(), simidx::Error>(())
/// ```
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum Codec {
    /// The paper's code: the Huffman-coded position of the first bit that differs from the value
    /// before, then the bits to the right of it.
    Xor,
    /// The Huffman-coded position of the top bit of the difference from the value before, then the bits below
    /// it: the smallest on every kind of data tried.
    Gap,
    /// Elias-Fano: any value of a block is found without decoding those before it. Smaller than `Lines` where many
    /// fingerprints have the same leading bits, and on uniform data half a bit a fingerprint larger than `Gap`.
    EliasFano,
    /// A row of lines of 64 bytes at computed places: a probe reads one line, and the low bits of an address that has
    /// values. The quickest to search.
    Lines,
}

named!(
    Codec,
    OptionsError,
    |name| OptionsError::new(
        "codec",
        format!("{name:?} is not a codec: xor, gap, ef or lines")
    ),
    Xor = "xor",
    Gap = "gap",
    EliasFano = "ef",
    Lines = "lines",
);

impl Codec {
    /// The number in the file.
    pub(crate) fn id(self) -> u8 {
        match self {
            Codec::Xor => 1,
            Codec::Gap => 2,
            Codec::EliasFano => 3,
            Codec::Lines => 4,
        }
    }

    /// The codec of a number in a file, if this version knows it.
    pub(crate) fn from_id(id: u8) -> Option<Self> {
        Codec::ALL.into_iter().find(|codec| codec.id() == id)
    }
}

/// What is done with the values of a block. Closures do; a type of one's own whose methods are `#[inline(always)]` is
/// certain to be compiled for the processor that a loop is compiled for.
pub(crate) trait Visit<F> {
    /// Takes a value and its index.
    fn visit(&mut self, index: usize, value: F);
}

impl<F, V: FnMut(usize, F)> Visit<F> for V {
    #[inline(always)]
    fn visit(&mut self, index: usize, value: F) {
        self(index, value);
    }
}

/// A codec with all that it needs to know about a table.
#[derive(Debug, Clone)]
pub(crate) enum TableCode {
    Xor(Code),
    Gap(Code),
    EliasFano,
}

impl TableCode {
    /// The codec with the Huffman code of the table, which `ef` has no use for; `None` for tables that have no blocks.
    pub(crate) fn new(codec: Codec, code: Code) -> Option<Self> {
        match codec {
            Codec::Xor => Some(TableCode::Xor(code)),
            Codec::Gap => Some(TableCode::Gap(code)),
            Codec::EliasFano => Some(TableCode::EliasFano),
            Codec::Lines => None,
        }
    }

    pub(crate) fn codec(&self) -> Codec {
        match self {
            TableCode::Xor(_) => Codec::Xor,
            TableCode::Gap(_) => Codec::Gap,
            TableCode::EliasFano => Codec::EliasFano,
        }
    }

    /// Code lengths as the file has them: `width` of them, all 0 without a Huffman code.
    pub(crate) fn lengths(&self, width: u32) -> Vec<u8> {
        match self {
            TableCode::Xor(code) | TableCode::Gap(code) => code.lengths().to_vec(),
            TableCode::EliasFano => vec![0; width as usize],
        }
    }
}
