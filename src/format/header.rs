//! The header: what the file is, its version and its width. Spec §10.1.

use byteorder::{ByteOrder, LittleEndian};

use super::FORMAT_VERSION;
use crate::error::FormatError;

/// Spec §10.1.
pub(crate) const HEADER_LEN: usize = 16;

/// Spec §10.1.
const MAGIC: [u8; 8] = *b"\x89SIMIDX\n";

/// Shortest file: header and footer. Spec §12, V2.
const MIN_FILE_LEN: usize = 48;

/// Spec §10.1.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Header {
    pub(crate) width: u32,
}

impl Header {
    pub(crate) fn encode(self) -> [u8; HEADER_LEN] {
        let mut bytes = [0; HEADER_LEN];
        bytes[..8].copy_from_slice(&MAGIC);
        LittleEndian::write_u16(&mut bytes[8..10], FORMAT_VERSION);
        bytes[10] = self.width as u8;
        let checksum = crc32fast::hash(&bytes[..12]);
        LittleEndian::write_u32(&mut bytes[12..16], checksum);
        bytes
    }

    /// Reads the header of a whole file by the rules V1 to V4.
    pub(crate) fn decode(file: &[u8]) -> Result<Self, FormatError> {
        if file.get(..8) != Some(&MAGIC[..]) {
            return Err(FormatError::not_simidx(1, "the magic bytes are missing").at(0));
        }
        if file.len() < MIN_FILE_LEN {
            let message = format!("the file ends after {} bytes", file.len());
            return Err(FormatError::damaged(2, message).at(file.len() as u64));
        }
        if crc32fast::hash(&file[..12]) != LittleEndian::read_u32(&file[12..16]) {
            return Err(FormatError::damaged(2, "the header checksum is wrong").at(12));
        }
        let version = LittleEndian::read_u16(&file[8..10]);
        if version != FORMAT_VERSION {
            let message = format!("format version {version}, this reader knows {FORMAT_VERSION}");
            return Err(FormatError::unsupported(3, message).at(8));
        }
        let width = u32::from(file[10]);
        if ![32, 64, 128].contains(&width) || file[11] != 0 {
            let message = format!("width {width}, reserved byte {}", file[11]);
            return Err(FormatError::unsupported(4, message).at(10));
        }
        Ok(Header { width })
    }
}
