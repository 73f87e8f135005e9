//! The coding of sorted values into fixed-size blocks. Pure: bytes in, values out, no I/O.

pub(crate) mod bits;
pub(crate) mod block;
pub(crate) mod huffman;

/// How the values of a table are coded; recorded for each table (spec, section 7).
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Codec {
    /// The paper's code: the Huffman-coded position of the first bit that differs from the value
    /// before, then the bits to the right of it.
    #[default]
    Xor,
}

impl Codec {
    /// The name on the command line and in reports.
    pub fn name(self) -> &'static str {
        match self {
            Codec::Xor => "xor",
        }
    }

    /// The number in the file.
    pub(crate) fn id(self) -> u8 {
        match self {
            Codec::Xor => 1,
        }
    }

    /// The codec of a number in a file, if this version knows it.
    pub(crate) fn from_id(id: u8) -> Option<Self> {
        (id == 1).then_some(Codec::Xor)
    }
}
