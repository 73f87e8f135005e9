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

/// The smallest block size in bytes. Spec §13.
pub const MIN_BLOCK_SIZE: u32 = 128;

/// The largest block size in bytes. Spec §13.
pub const MAX_BLOCK_SIZE: u32 = 1 << 13;

/// Returns whether a block may have this size. Spec §13.
pub(crate) fn is_block_size(bytes: u32) -> bool {
    bytes.is_power_of_two() && (MIN_BLOCK_SIZE..=MAX_BLOCK_SIZE).contains(&bytes)
}

/// Checks the option `block_size`.
///
/// # Errors
/// A block may not have this size.
pub(crate) fn check_block_size(bytes: u32) -> Result<(), OptionsError> {
    if is_block_size(bytes) {
        return Ok(());
    }
    let message = format!(
        "a block size is a power of two from {MIN_BLOCK_SIZE} to {MAX_BLOCK_SIZE}, not {bytes}"
    );
    Err(OptionsError::new("block_size", message))
}

/// The factor by which Elias-Fano blocks may be larger than Huffman-coded ones and still be chosen: they are searched
/// two to four times as fast (`cargo bench --bench peers`).
const ELIAS_FANO_ALLOWANCE: f64 = 1.10;

/// Returns whether a table should be in Elias-Fano blocks rather than Huffman-coded, if no codec is requested. The
/// sizes are those of the table in each codec, in the same unit.
pub(crate) fn prefers_elias_fano(elias_fano_size: f64, huffman_size: f64) -> bool {
    elias_fano_size <= huffman_size * ELIAS_FANO_ALLOWANCE
}

/// The factor by which a table in lines may be larger than in Elias-Fano blocks and still be chosen: it is searched two
/// to four times as fast.
const LINES_ALLOWANCE: f64 = 1.07;

/// Returns whether a table should be in lines rather than in Elias-Fano blocks, if no codec is requested.
pub(crate) fn prefers_lines(lines_size: f64, elias_fano_size: f64) -> bool {
    lines_size <= elias_fano_size * LINES_ALLOWANCE
}

/// The coding of the values of a table, which is recorded for each table (spec, section 7).
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
    /// The paper's code: the Huffman-coded position of the first bit that differs from the previous value, then the
    /// bits to the right of it.
    Xor,
    /// The Huffman-coded position of the top bit of the difference from the previous value, then the bits below it. The
    /// smallest for every kind of data tried.
    Gap,
    /// Elias-Fano: any value of a block is found without decoding those before it. Smaller than `Lines` if many
    /// fingerprints share leading bits, and on uniform data half a bit a fingerprint larger than `Gap`.
    EliasFano,
    /// A row of lines of 64 bytes at computed places: a probe reads one line, and the low bits of an address with
    /// values. The fastest to search.
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

    /// Returns the codec of a number in a file; `None` if it is unknown.
    pub(crate) fn from_id(id: u8) -> Option<Self> {
        Codec::ALL.into_iter().find(|codec| codec.id() == id)
    }
}

/// A visitor of the values of a block. A closure works; a type with `#[inline(always)]` methods is certain to be
/// compiled for the same processor as the loop that calls it.
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

/// A codec with its parameters for a table.
#[derive(Debug, Clone)]
pub(crate) enum TableCode {
    Xor(Code),
    Gap(Code),
    EliasFano,
}

impl TableCode {
    /// Combines the codec with the Huffman code of the table, which `ef` ignores; `None` for tables without blocks.
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

    /// Returns the code lengths as in the file: `width` of them, all 0 without a Huffman code.
    pub(crate) fn lengths(&self, width: u32) -> Vec<u8> {
        match self {
            TableCode::Xor(code) | TableCode::Gap(code) => code.lengths().to_vec(),
            TableCode::EliasFano => vec![0; width as usize],
        }
    }
}
