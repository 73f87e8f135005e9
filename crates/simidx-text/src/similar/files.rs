//! Numbers in temporary files, read and written at positions.

use std::fs::File;
use std::io;
use std::path::Path;

/// Bytes of a number.
pub(super) const NUMBER_LEN: usize = 4;

/// Puts the bytes of numbers in the place of what is in the buffer.
pub(super) fn bytes_of(numbers: &[u32], bytes: &mut Vec<u8>) {
    bytes.clear();
    bytes.extend(numbers.iter().flat_map(|number| number.to_le_bytes()));
}

/// Appends so many numbers that stand in the file after so many others.
pub(super) fn read_numbers(
    file: &File,
    start: u64,
    count: usize,
    out: &mut Vec<u32>,
) -> io::Result<()> {
    const PIECE: usize = 128;
    let mut bytes = [0; PIECE * NUMBER_LEN];
    if count <= PIECE {
        let bytes = &mut bytes[..count * NUMBER_LEN];
        read_at(file, bytes, start * NUMBER_LEN as u64)?;
        append_numbers(bytes, out);
    } else {
        let mut bytes = vec![0; count * NUMBER_LEN];
        read_at(file, &mut bytes, start * NUMBER_LEN as u64)?;
        append_numbers(&bytes, out);
    }
    Ok(())
}

fn append_numbers(bytes: &[u8], out: &mut Vec<u32>) {
    let (numbers, _) = bytes.as_chunks();
    out.extend(numbers.iter().map(|number| u32::from_le_bytes(*number)));
}

/// Names the folder of the file in an error.
pub(super) fn blame(folder: &Path, error: io::Error) -> io::Error {
    io::Error::new(error.kind(), format!("{}: {error}", folder.display()))
}

#[cfg(unix)]
pub(super) fn read_at(file: &File, bytes: &mut [u8], at: u64) -> io::Result<()> {
    std::os::unix::fs::FileExt::read_exact_at(file, bytes, at)
}

#[cfg(unix)]
pub(super) fn write_at(file: &File, bytes: &[u8], at: u64) -> io::Result<()> {
    std::os::unix::fs::FileExt::write_all_at(file, bytes, at)
}

#[cfg(windows)]
pub(super) fn read_at(file: &File, mut bytes: &mut [u8], mut at: u64) -> io::Result<()> {
    while !bytes.is_empty() {
        match std::os::windows::fs::FileExt::seek_read(file, bytes, at)? {
            0 => return Err(io::ErrorKind::UnexpectedEof.into()),
            count => {
                bytes = &mut bytes[count..];
                at += count as u64;
            }
        }
    }
    Ok(())
}

#[cfg(windows)]
pub(super) fn write_at(file: &File, mut bytes: &[u8], mut at: u64) -> io::Result<()> {
    while !bytes.is_empty() {
        match std::os::windows::fs::FileExt::seek_write(file, bytes, at)? {
            0 => return Err(io::ErrorKind::WriteZero.into()),
            count => {
                bytes = &bytes[count..];
                at += count as u64;
            }
        }
    }
    Ok(())
}
