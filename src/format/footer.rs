//! The footer: the place of the directory, and the length of the file. Spec §4.3.

use byteorder::{ByteOrder, LittleEndian};

use super::{FORMAT_VERSION, HEADER_LEN, SECTION_ALIGNMENT};
use crate::error::FormatError;

/// Bytes of the footer. Spec §4.3.
pub(crate) const FOOTER_LEN: usize = 40;

/// The last bytes of every file. Spec §4.3.
const END_MAGIC: [u8; 4] = *b"XDIS";

/// Bytes that the checksum of the footer covers.
const CHECKED_LEN: usize = 32;

/// The footer of a file. Spec §4.3.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Footer {
    pub(crate) directory_offset: u64,
    pub(crate) directory_len: u32,
    pub(crate) directory_checksum: u32,
    pub(crate) file_len: u64,
    /// The width, as in the header.
    pub(crate) width: u32,
}

impl Footer {
    pub(crate) fn encode(self) -> [u8; FOOTER_LEN] {
        let mut bytes = [0; FOOTER_LEN];
        LittleEndian::write_u64(&mut bytes[..8], self.directory_offset);
        LittleEndian::write_u32(&mut bytes[8..12], self.directory_len);
        LittleEndian::write_u32(&mut bytes[12..16], self.directory_checksum);
        LittleEndian::write_u64(&mut bytes[16..24], self.file_len);
        LittleEndian::write_u16(&mut bytes[24..26], FORMAT_VERSION);
        LittleEndian::write_u16(&mut bytes[26..28], self.width as u16);
        let checksum = crc32fast::hash(&bytes[..CHECKED_LEN]);
        LittleEndian::write_u32(&mut bytes[32..36], checksum);
        bytes[36..].copy_from_slice(&END_MAGIC);
        bytes
    }

    /// Reads the footer at the end of a file and checks V5, except for the width.
    pub(crate) fn decode(file: &[u8]) -> Result<Self, FormatError> {
        let file_len = file.len() as u64;
        let start = file_len.saturating_sub(FOOTER_LEN as u64);
        let v5 = |message: &str| Err(FormatError::damaged(5, message).at(start));
        let bytes = match file.len().checked_sub(FOOTER_LEN) {
            Some(at) if start >= HEADER_LEN as u64 => &file[at..],
            _ => return v5(&format!("the file ends after {file_len} bytes")),
        };
        if bytes[36..] != END_MAGIC {
            return v5("the end mark is missing: the file is cut off or bytes follow its end");
        }
        if crc32fast::hash(&bytes[..CHECKED_LEN]) != LittleEndian::read_u32(&bytes[32..36]) {
            return v5("the footer checksum is wrong");
        }
        let footer = Footer {
            directory_offset: LittleEndian::read_u64(&bytes[..8]),
            directory_len: LittleEndian::read_u32(&bytes[8..12]),
            directory_checksum: LittleEndian::read_u32(&bytes[12..16]),
            file_len: LittleEndian::read_u64(&bytes[16..24]),
            width: u32::from(LittleEndian::read_u16(&bytes[26..28])),
        };
        if footer.file_len != file_len {
            return v5(&format!(
                "{file_len} bytes long, should be {}",
                footer.file_len
            ));
        }
        if LittleEndian::read_u16(&bytes[24..26]) != FORMAT_VERSION {
            return v5("the footer has another version than the header");
        }
        if bytes[28..CHECKED_LEN].iter().any(|&byte| byte != 0) {
            return v5("a reserved byte of the footer is set");
        }
        Ok(footer)
    }

    /// Checks the rest of V5: the width is that of the header.
    pub(crate) fn check_width(&self, header_width: u32) -> Result<(), FormatError> {
        if self.width == header_width {
            return Ok(());
        }
        let message = format!(
            "the footer has a width of {} bits, the header of {header_width}",
            self.width
        );
        Err(FormatError::damaged(5, message).at(self.file_len - FOOTER_LEN as u64))
    }

    /// Checks the part of V6 that does not need the directory.
    pub(crate) fn check_directory_range(&self) -> Result<(), FormatError> {
        let end = self
            .directory_offset
            .checked_add(u64::from(self.directory_len))
            .and_then(|end| end.checked_add(FOOTER_LEN as u64));
        if !self.directory_offset.is_multiple_of(SECTION_ALIGNMENT) || end != Some(self.file_len) {
            return Err(
                FormatError::damaged(6, "the directory is not where it can be")
                    .at(self.directory_offset),
            );
        }
        Ok(())
    }
}
