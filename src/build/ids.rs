//! Writing the ids, in rank order (spec, section 9).

use std::io::{self, Write};

use super::records::Records;
use super::sections::SectionWriter;
use crate::codec::bits::{BitWriter, bit_length};
use crate::fingerprint::Fingerprint;
use crate::format::{GROUP_CHUNK_BITS, GROUP_CHUNK_LEN, IdKind, Kind, STRINGS_PER_OFFSET};

/// The parameters of the ids that go into the directory.
#[derive(Debug, Clone, Copy, Default)]
pub(super) struct IdParameters {
    pub(super) base: u64,
    pub(super) bits: u32,
}

/// Writes all id sections of sorted records; nothing for records without ids.
///
/// `block_counts` are those of table 0, `starts` the first record of each rank.
pub(super) fn write<F: Fingerprint, W: Write>(
    file: &mut SectionWriter<W>,
    records: &Records<F>,
    block_counts: &[u32],
    starts: &[u64],
) -> io::Result<IdParameters> {
    let kind = records.kind();
    if kind == IdKind::None {
        return Ok(IdParameters::default());
    }
    let counts: Vec<u8> = block_counts
        .iter()
        .flat_map(|&count| ((count - 1) as u16).to_le_bytes())
        .collect();
    file.write_section(Kind::BlockCounts, 0, &counts)?;
    if records.len() > starts.len() {
        file.write_paged(Kind::Groups, &encode_groups(records.len() as u64, starts))?;
    }
    match kind {
        IdKind::Number => write_numbers(file, records.numbers()),
        _ => write_strings(file, records.strings()),
    }
}

/// Spec §9.2.
fn encode_groups(record_count: u64, starts: &[u64]) -> Vec<u8> {
    let chunk_count = record_count.div_ceil(GROUP_CHUNK_BITS);
    let mut payload = Vec::with_capacity(chunk_count as usize * GROUP_CHUNK_LEN);
    let mut next = 0;
    for chunk in 0..chunk_count {
        let mut bitmap = [0u8; GROUP_CHUNK_BITS as usize / 8];
        payload.extend_from_slice(&(next as u64).to_le_bytes());
        let base = chunk * GROUP_CHUNK_BITS;
        while let Some(&start) = starts.get(next).filter(|s| **s < base + GROUP_CHUNK_BITS) {
            let bit = (start - base) as usize;
            bitmap[bit / 8] |= 0x80 >> (bit % 8);
            next += 1;
        }
        payload.extend_from_slice(&bitmap);
    }
    payload
}

/// Spec §9.3.
fn write_numbers<W: Write>(
    file: &mut SectionWriter<W>,
    numbers: impl Iterator<Item = u64> + Clone,
) -> io::Result<IdParameters> {
    let base = numbers.clone().min().unwrap_or(0);
    let bits = bit_length(numbers.clone().max().unwrap_or(0) - base);
    file.write_paged(Kind::Numbers, &pack(numbers.map(|n| n - base), bits))?;
    Ok(IdParameters { base, bits })
}

/// Spec §9.4.
fn write_strings<'a, W: Write>(
    file: &mut SectionWriter<W>,
    strings: impl Iterator<Item = &'a [u8]>,
) -> io::Result<IdParameters> {
    let (mut payload, mut offsets) = (Vec::new(), Vec::new());
    for (number, string) in strings.enumerate() {
        if (number as u64).is_multiple_of(STRINGS_PER_OFFSET) {
            offsets.push(payload.len() as u64);
        }
        write_varint(&mut payload, string.len());
        payload.extend_from_slice(string);
    }
    let bits = bit_length(payload.len() as u64);
    file.write_paged(Kind::StringOffsets, &pack(offsets.into_iter(), bits))?;
    file.write_paged(Kind::StringBytes, &payload)?;
    Ok(IdParameters { base: 0, bits })
}

/// Spec §3.3.
fn pack(numbers: impl Iterator<Item = u64>, bits: u32) -> Vec<u8> {
    let mut writer = BitWriter::new();
    for number in numbers {
        writer.write_value(number, bits);
    }
    writer.finish()
}

fn write_varint(out: &mut Vec<u8>, mut value: usize) {
    while value >= 0x80 {
        out.push(value as u8 | 0x80);
        value >>= 7;
    }
    out.push(value as u8);
}
