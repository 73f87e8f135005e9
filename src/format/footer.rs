//! The footer: where the directory is, and how long the file must be. Spec §10.2.

use byteorder::{ByteOrder, LittleEndian};

use super::SECTION_ALIGNMENT;
use crate::error::FormatError;

/// Spec §10.2.
pub(crate) const FOOTER_LEN: usize = 32;

/// Spec §10.2.
const END_MAGIC: [u8; 4] = *b"XDIS";

/// Spec §10.2.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Footer {
    pub(crate) directory_offset: u64,
    pub(crate) directory_len: u32,
    pub(crate) directory_checksum: u32,
    pub(crate) file_len: u64,
}

impl Footer {
    pub(crate) fn encode(self) -> [u8; FOOTER_LEN] {
        let mut bytes = [0; FOOTER_LEN];
        LittleEndian::write_u64(&mut bytes[..8], self.directory_offset);
        LittleEndian::write_u32(&mut bytes[8..12], self.directory_len);
        LittleEndian::write_u32(&mut bytes[12..16], self.directory_checksum);
        LittleEndian::write_u64(&mut bytes[16..24], self.file_len);
        let checksum = crc32fast::hash(&bytes[..24]);
        LittleEndian::write_u32(&mut bytes[24..28], checksum);
        bytes[28..].copy_from_slice(&END_MAGIC);
        bytes
    }

    /// Reads the footer of a whole file, whose header was good, by rule V5 and the part of V6
    /// that needs no directory.
    pub(crate) fn decode(file: &[u8]) -> Result<Self, FormatError> {
        let start = file.len() - FOOTER_LEN;
        let bytes = &file[start..];
        let v5 = |message: &str| Err(FormatError::damaged(5, message).at(start as u64));
        if bytes[28..] != END_MAGIC {
            return v5(
                "the end mark is missing: the file is truncated or has bytes behind its end",
            );
        }
        if crc32fast::hash(&bytes[..24]) != LittleEndian::read_u32(&bytes[24..28]) {
            return v5("the footer checksum is wrong");
        }
        let footer = Footer {
            directory_offset: LittleEndian::read_u64(&bytes[..8]),
            directory_len: LittleEndian::read_u32(&bytes[8..12]),
            directory_checksum: LittleEndian::read_u32(&bytes[12..16]),
            file_len: LittleEndian::read_u64(&bytes[16..24]),
        };
        if footer.file_len != file.len() as u64 {
            let message = format!("{} bytes long, should be {}", file.len(), footer.file_len);
            return v5(&message);
        }
        footer.check_directory_range()?;
        Ok(footer)
    }

    fn check_directory_range(&self) -> Result<(), FormatError> {
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
