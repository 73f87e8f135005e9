//! The header: the magic bytes, the version and the width. Spec §4.2.

use byteorder::{ByteOrder, LittleEndian};

use super::FORMAT_VERSION;
use crate::error::FormatError;

/// Bytes of the header. Spec §4.2.
pub(crate) const HEADER_LEN: usize = 16;

/// The first bytes of every index file of any version (spec §4.2).
pub const MAGIC: [u8; 8] = *b"\x89SIMIDX\n";

/// The header of a file. Spec §4.2.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Header {
    pub(crate) width: u32,
}

impl Header {
    pub(crate) fn encode(self) -> [u8; HEADER_LEN] {
        let mut bytes = [0; HEADER_LEN];
        bytes[..8].copy_from_slice(&MAGIC);
        LittleEndian::write_u16(&mut bytes[8..10], FORMAT_VERSION);
        LittleEndian::write_u16(&mut bytes[10..12], self.width as u16);
        let checksum = crc32fast::hash(&bytes[..12]);
        LittleEndian::write_u32(&mut bytes[12..16], checksum);
        bytes
    }

    /// Reads the header of a file and checks V1 to V4.
    pub(crate) fn decode(file: &[u8]) -> Result<Self, FormatError> {
        if file.get(..8) != Some(&MAGIC[..]) {
            return Err(FormatError::not_simidx(1, "the magic bytes are missing").at(0));
        }
        let Some(bytes) = file.get(..HEADER_LEN) else {
            let message = format!("the file ends after {} bytes", file.len());
            return Err(FormatError::damaged(2, message).at(file.len() as u64));
        };
        if crc32fast::hash(&bytes[..12]) != LittleEndian::read_u32(&bytes[12..16]) {
            return Err(FormatError::damaged(2, "the header checksum is wrong").at(12));
        }
        let version = LittleEndian::read_u16(&bytes[8..10]);
        check_version(version).map_err(|error| error.at(8))?;
        let width = u32::from(LittleEndian::read_u16(&bytes[10..12]));
        check_width(width).map_err(|error| error.at(10))?;
        Ok(Header { width })
    }
}

/// Checks V3.
fn check_version(version: u16) -> Result<(), FormatError> {
    if version == FORMAT_VERSION {
        return Ok(());
    }
    let message = format!("format version {version}, this reader knows {FORMAT_VERSION}");
    Err(FormatError::unsupported(3, message))
}

/// Checks V4.
fn check_width(width: u32) -> Result<(), FormatError> {
    if [32, 64, 128].contains(&width) {
        return Ok(());
    }
    let message = format!("a width of {width} bits, this reader knows 32, 64 and 128");
    Err(FormatError::unsupported(4, message))
}
