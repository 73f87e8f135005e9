//! Blocks: V21 to V27.

use super::*;

/// V21, V26 and V27.
#[rustfmt::skip]
pub(super) fn block_rules() -> Vec<Forgery> {
    /// Sets the last bit of the last block of table 1.
    fn set_last_bit(e: &mut Editor) {
        let last = e.layout.tables[1].block_count - 1;
        let at = e.layout.block_at(1, last) + e.layout.block_size - 1;
        e.flip(at, 1);
        e.seal_block(1, last);
    }
    /// Moves a value from the first block count to the second.
    fn shift_counts(e: &mut Editor) {
        let at = e.section(BLOCK_COUNTS, 0).offset;
        let counts = [e.file[at] - 1, 0, e.file[at + 2] + 1];
        put_in_section(e, BLOCK_COUNTS, 0, &counts);
    }
    vec![
        edit(21, "checksum", Query, PLAIN, "a bit of the checksum of block 0 of table 0 flipped", |e| {
            let at = e.layout.block_at(0, 0);
            e.flip(at, 1);
        }),
        edit(21, "count", Query, "gap-32", "a bit of the count of block 1 of table 0 flipped", |e| {
            let at = e.layout.block_at(0, 1);
            e.flip(at + 4, 0x80);
        }),
        edit(21, "stream", Query, "ef-32", "a bit of block 1 of table 1 flipped", |e| {
            let at = e.layout.block_at(1, 1);
            e.flip(at + 40, 4);
        }),
        edit(21, "last-byte", Query, "xor-128", "a bit of the last byte of the last block of table 1 flipped", |e| {
            let last = e.layout.tables[1].block_count - 1;
            let at = e.layout.block_at(1, last);
            e.flip(at + 127, 1);
        }),
        edit(21, "swapped-blocks", Query, "xor-64", "blocks 0 and 1 of table 0, with the checksum of the other", |e| {
            let (first, second) = (e.layout.block_at(0, 0), e.layout.block_at(0, 1));
            let checksums = (
                e.file[first..first + 4].to_vec(),
                e.file[second..second + 4].to_vec(),
            );
            e.put(first, &checksums.1);
            e.put(second, &checksums.0);
        }),
        edit(26, "xor", Query, "xor-64", "the last bit of the last block is set", set_last_bit),
        edit(26, "gap", Query, "gap-64", "the last bit of the last block is set", set_last_bit),
        edit(26, "ef", Query, "ef-64", "the last bit of the last block is set", set_last_bit),
        edit(26, "after-the-stream", Query, "by-hand-xor", "the first bit after the values of block 1 is set", |e| {
            let mut stream = stream_of(e, &VALUES);
            stream.push(true);
            put_block(e, VALUES.len(), &stream);
        }),
        edit(26, "key-alone", Query, "one", "a bit is set in a block that holds its key alone", |e| {
            let at = e.layout.block_at(0, 0);
            e.flip(at + 6, 1);
            e.seal_block(0, 0);
        }),
        edit(27, "xor", Query, NUMBERS_32, "a value is counted in the block after its own", shift_counts),
        edit(27, "gap", Query, GROUPED, "a value is counted in the block after its own", shift_counts),
        edit(27, "ef", Query, STRINGS, "a value is counted in the block after its own", shift_counts),
    ]
}

/// The key of block 0 of the files made by hand.
const BEFORE: u128 = 1000;

/// The values of block 1 of the files made by hand.
const VALUES: [u128; 5] = [1003, 1010, 1011, 2000, 2100];

/// The stream of values after the first key, the last of them the key.
fn stream_of(e: &Editor, values: &[u128]) -> Bits {
    e.layout.coding(0).stream(Some(BEFORE), values)
}

/// Writes block 1 of table 0.
fn put_block(e: &mut Editor, count: usize, stream: &Bits) {
    let bytes = encoding::block(count, stream, e.layout.block_size, (0, 1));
    let at = e.layout.block_at(0, 1);
    e.put(at, &bytes);
}

/// Writes these values into block 1 of table 0, whatever the keys say.
fn put_values(e: &mut Editor, values: &[u128]) {
    let stream = stream_of(e, values);
    put_block(e, values.len(), &stream);
}

/// V22 to V25 in the codecs `xor` and `gap`.
#[rustfmt::skip]
pub(super) fn delta_blocks() -> Vec<Forgery> {
    /// One codeword, `0`, and a stream that starts with a 1.
    fn no_codeword(e: &mut Editor) {
        put_lengths(e, 0, &[0, 0, 0, 0, 1]);
        put_block(e, 2, &bits_of(0b1_0000, 5));
    }
    /// No codeword, and a block that needs one.
    fn no_code(e: &mut Editor) {
        put_lengths(e, 0, &[]);
        put_block(e, 2, &bits_of(0, 8));
    }
    /// Thirty steps of more than thirty bits.
    fn overrun(e: &mut Editor) {
        let values: Vec<u128> = (1..=30).map(|i| BEFORE + (i << 40)).collect();
        put_values(e, &[&values[..], &[2100]].concat());
    }
    vec![
        edit(
            22,
            "xor-no-codeword",
            Query,
            "by-hand-xor",
            "the lone codeword is `0`, and the stream has a 1",
            no_codeword,
        ),
        edit(
            22,
            "gap-no-codeword",
            Query,
            "by-hand-gap",
            "the lone codeword is `0`, and the stream has a 1",
            no_codeword,
        ),
        edit(22, "xor-no-code", Query, "by-hand-xor", "a stored value in a table without a code", no_code),
        edit(22, "gap-no-code", Query, "by-hand-gap", "a stored value in a table without a code", no_code),
        edit(23, "xor", Query, "by-hand-xor", "the values run past the end of the block", overrun),
        edit(23, "gap", Query, "by-hand-gap", "the values run past the end of the block", overrun),
        edit(23, "count-too-large", Query, "by-hand-xor", "block 1 counts 1,024 values", |e| {
            let stream = stream_of(e, &VALUES);
            put_block(e, 1024, &stream);
        }),
        edit(24, "xor-descending", Query, "by-hand-xor", "1,010 after 1,011", |e| put_values(e, &[1011, 1010, 2100])),
        edit(24, "xor-below-the-key-before", Query, "by-hand-xor", "the first value is 512, after key 1,000", |e| {
            put_values(e, &[512, 1800, 2100]);
        }),
        edit(24, "xor-the-key-before", Query, "by-hand-xor", "the first value is key 1,000 itself, whose bit 3 is set", |e| {
            // All codewords have six bits. Bit 3 and a tail of 0 give 1,000 again; then bit 1 and the tail 1 give 1,003.
            let mut stream = bits_of(3, 6);
            stream.extend_from_bitslice(&bits_of(0, 3));
            stream.extend_from_bitslice(&bits_of(1, 6));
            stream.extend_from_bitslice(&bits_of(1, 1));
            put_block(e, 3, &stream);
        }),
        edit(25, "xor-above", Query, "by-hand-xor", "2,101 after 1,003, and the key is 2,100", |e| {
            put_values(e, &[1003, 2101, 2100]);
        }),
        edit(25, "gap-above", Query, "by-hand-gap", "2,101 after 1,003, and the key is 2,100", |e| {
            put_values(e, &[1003, 2101, 2100]);
        }),
        edit(25, "gap-the-key", Query, "by-hand-gap", "the last stored value is the key", |e| {
            put_values(e, &[1003, 2100, 2100]);
        }),
        edit(25, "gap-overflow", Query, "by-hand-gap", "2^64 - 1 above 1,003: the sum passes 2^64", |e| {
            put_values(e, &[1003, 1003 + u128::from(u64::MAX), 2100]);
        }),
    ]
}

/// Writes block 0 of table 0 with `count` values, all but the key of which have only high bits, and its key.
fn put_block_0(e: &mut Editor, count: usize, key: u128) {
    let mut keys = e.keys(0);
    keys[0] = key;
    let at = e.layout.block_at(0, 0);
    let stream = Bits::repeat(true, count - 1);
    let block = encoding::block(count, &stream, e.layout.block_size, (0, 0));
    e.put(at, &block);
    let mut parts = Parts::of(&e.file);
    parts.put_keys(0, &keys);
    *e = Editor::new(parts.file());
}

/// V22 to V25 in the codec `ef`.
#[rustfmt::skip]
pub(super) fn elias_fano_blocks() -> Vec<Forgery> {
    const EF: &str = "by-hand-ef";
    /// The largest number that may be stored in block 1.
    const MAX: u128 = VALUES[4] - BEFORE - 2;
    vec![
        edit(22, "ef-a-high-bit-more", Query, EF, "one high bit too many", |e| {
            let mut stream = stream_of(e, &VALUES);
            let clear = stream.first_zero().unwrap();
            stream.set(clear, true);
            put_block(e, VALUES.len(), &stream);
        }),
        edit(22, "ef-a-high-bit-less", Query, EF, "one high bit too few", |e| {
            let mut stream = stream_of(e, &VALUES);
            let set = stream.first_one().unwrap();
            stream.set(set, false);
            put_block(e, VALUES.len(), &stream);
        }),
        edit(22, "ef-no-room", Query, "ef-32", "block 0 counts more values than there are numbers up to its key", |e| {
            put_block_0(e, 6, 3);
        }),
        edit(22, "ef-one-too-many", Query, "ef-32", "block 0 stores 4 values below key 3: c = Z + 2", |e| {
            put_block_0(e, 5, 3);
        }),
        edit(23, "ef", Query, EF, "the numbers run past the end of the block", |e| {
            let values: Vec<u128> = (1..=300).map(|i| BEFORE + 3 * i).collect();
            put_values(e, &[&values[..], &[2100]].concat());
        }),
        edit(24, "ef-equal", Query, EF, "the number 5 is there twice", |e| {
            put_block(e, 4, &elias_fano(&[5, 5, 600], MAX));
        }),
        edit(24, "ef-descending", Query, EF, "4 after 5 in one bucket", |e| {
            put_block(e, 4, &elias_fano(&[5, 4, 600], MAX));
        }),
        edit(24, "ef-beyond-the-last-bucket", Query, EF, "two numbers that are too large, the second less than the first", |e| {
            let (low_bits, buckets) = elias_fano_layout(3, MAX);
            let mut stream = Bits::repeat(false, 3 + buckets);
            stream.set(0, true);
            stream.set(1 + buckets, true);
            stream.set(2 + buckets, true);
            for low in [0, 2, 1] {
                stream.extend_from_bitslice(&bits_of(low, low_bits));
            }
            put_block(e, 4, &stream);
        }),
        edit(25, "ef-above", Query, EF, "the last number is one more than there is room for below the key", |e| {
            put_block(e, 4, &elias_fano(&[1, 2, MAX + 1], MAX));
        }),
        edit(25, "ef-last-bucket", Query, EF, "the last high bit is 1", |e| {
            let (_, buckets) = elias_fano_layout(3, MAX);
            let mut stream = elias_fano(&[1, 2, MAX], MAX);
            stream.set(2 + buckets - 1, false);
            stream.set(2 + buckets, true);
            put_block(e, 4, &stream);
        }),
    ]
}
