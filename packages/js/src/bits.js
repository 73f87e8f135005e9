// Numbers, checksums, bit streams and codes (sections 3 and 6 of the format specification).

import { check } from "./error.js";

const CRC_TABLE = new Uint32Array(256).map((_, byte) => {
    let crc = byte;
    for (let bit = 0; bit < 8; bit++) {
        crc = crc & 1 ? (crc >>> 1) ^ 0xedb88320 : crc >>> 1;
    }
    return crc;
});

/** The CRC-32 of bytes. */
export function crc32(bytes) {
    let crc = 0xffffffff;
    for (let i = 0; i < bytes.length; i++) {
        crc = (crc >>> 8) ^ CRC_TABLE[(crc ^ bytes[i]) & 0xff];
    }
    return (crc ^ 0xffffffff) >>> 0;
}

/** The checksum of bytes that is bound to (kind, table, number). */
export function boundCrc32(bytes, kind, table, number) {
    const place = new DataView(new ArrayBuffer(12));
    place.setUint16(0, kind, true);
    place.setUint16(2, table, true);
    place.setBigUint64(4, BigInt(number), true);
    return (crc32(bytes) ^ crc32(new Uint8Array(place.buffer))) >>> 0;
}

/** A view of bytes for reading integers of fixed size. */
export function viewOf(bytes) {
    return new DataView(bytes.buffer, bytes.byteOffset, bytes.byteLength);
}

/** The u64 at an offset. From 2^53 on it is rounded, and then exceeds every length that a file can have. */
export function readU64(view, offset) {
    return Number(view.getBigUint64(offset, true));
}

/** The little-endian integer that bytes are. */
export function readBig(bytes) {
    let value = 0n;
    for (let i = bytes.length - 1; i >= 0; i--) {
        value = (value << 8n) | BigInt(bytes[i]);
    }
    return value;
}

/** Number of binary digits of a number below 2^53. */
export function bitLength(number) {
    return number === 0 ? 0 : number.toString(2).length;
}

/** The least multiple of `step` that is at least `number`. */
export function align(number, step) {
    return Math.ceil(number / step) * step;
}

/** Number of set bits of an integer of 32 bits. */
export function countOnes(number) {
    let n = number - ((number >>> 1) & 0x55555555);
    n = (n & 0x33333333) + ((n >>> 2) & 0x33333333);
    return (((n + (n >>> 4)) & 0x0f0f0f0f) * 0x01010101) >>> 24;
}

/** The Hamming distance of two BigInts. */
export function distanceOf(x, y) {
    let rest = x ^ y;
    let ones = 0;
    while (rest > 0n) {
        ones += countOnes(Number(rest & 0xffffffffn));
        rest >>= 32n;
    }
    return ones;
}

/** A stream of bits, the most significant first. After its end it has zeros; `isOver` tells that they were read. */
export class BitReader {
    constructor(bytes, position = 0) {
        this.bytes = bytes;
        this.position = position;
    }

    get isOver() {
        return this.position > 8 * this.bytes.length;
    }

    /** The next bits, at most 24 of them, which stay. */
    peek(count) {
        const at = this.position >>> 3;
        const bytes = this.bytes;
        const word = (bytes[at] << 24) | (bytes[at + 1] << 16) | (bytes[at + 2] << 8) | bytes[at + 3];
        return count === 0 ? 0 : (word << (this.position & 7)) >>> (32 - count);
    }

    /** A number of at most 53 bits. */
    number(count) {
        let value = 0;
        for (let left = count; left > 0; left -= 24) {
            const taken = Math.min(left, 24);
            value = value * 2 ** taken + this.peek(taken);
            this.position += taken;
        }
        return value;
    }

    /** A BigInt of any number of bits. */
    big(count) {
        if (count <= 48) {
            return BigInt(this.number(count));
        }
        const high = this.big(count - 48);
        return (high << 48n) | BigInt(this.number(48));
    }

    /** Whether all bits from here to the end are zero. */
    restIsZero() {
        const partial = (8 - (this.position & 7)) & 7;
        if (this.number(partial) !== 0) {
            return false;
        }
        for (let at = this.position >>> 3; at < this.bytes.length; at++) {
            if (this.bytes[at] !== 0) {
                return false;
            }
        }
        return true;
    }
}

/** Number of bytes of a packed array. */
export function packedLength(count, bits) {
    return Math.floor(count / 8) * bits + Math.ceil(((count % 8) * bits) / 8);
}

/** Where number i of a packed array starts: a byte and a bit of it. */
export function packedPlace(i, bits) {
    const bit = (i % 8) * bits;
    return { byte: Math.floor(i / 8) * bits + (bit >>> 3), bit: bit & 7 };
}

/** Number of low bits and of intervals of EF(count, largest). */
export function eliasFanoShape(count, largest) {
    let lowBits = 0;
    while (BigInt(count) << BigInt(lowBits + 1) <= largest) {
        lowBits++;
    }
    return { lowBits, intervals: Number(largest >> BigInt(lowBits)) + 1 };
}

/** The numbers of EF(count, largest), unchecked; undefined if not `count` of the high bits are set. */
export function readEliasFano(reader, count, largest) {
    const { lowBits, intervals } = eliasFanoShape(count, largest);
    const found = [];
    const start = reader.position;
    reader.position += count + intervals;
    for (let at = start; at < reader.position; at++) {
        if (((reader.bytes[at >> 3] << (at & 7)) & 0x80) !== 0) {
            found.push(at - start - found.length);
        }
    }
    if (found.length !== count) {
        return undefined;
    }
    return found.map((interval) => (BigInt(interval) << BigInt(lowBits)) + reader.big(lowBits));
}

const LONGEST_CODEWORD = 12;

/** A canonical Huffman code. */
export class Code {
    /** @param lengths the length of the codeword of each symbol, which is a valid code by `rule` */
    constructor(lengths, rule, place) {
        const used = lengths.filter((length) => length > 0);
        const room = used.reduce((sum, length) => sum + 2 ** -length, 0);
        const isWhole = used.length === 0 || room === (used.length === 1 ? 0.5 : 1);
        const isShort = used.every((length) => length <= LONGEST_CODEWORD);
        check(isWhole && isShort, rule, `code lengths of ${place}`);
        // For each 12 bits the symbol whose codeword they start with, times 16, plus the length of that.
        this.entries = new Int32Array(1 << LONGEST_CODEWORD).fill(-1);
        let next = 0;
        for (let length = 1; length <= LONGEST_CODEWORD; length++) {
            for (let symbol = 0; symbol < lengths.length; symbol++) {
                if (lengths[symbol] === length) {
                    const end = next + (1 << (LONGEST_CODEWORD - length));
                    this.entries.fill(symbol * 16 + length, next, end);
                    next = end;
                }
            }
        }
    }

    /** The symbol of the next codeword, or -1 if there is no such codeword. */
    read(reader) {
        const entry = this.entries[reader.peek(LONGEST_CODEWORD)];
        reader.position += entry & 15;
        return entry >> 4;
    }
}
