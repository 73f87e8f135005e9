// The code of string ids and their buckets (section 9.5 of the format specification).

import { viewOf, BitReader, Code } from "./bits.js";
import { broken, check } from "./error.js";

export const BUCKET_STRINGS = 16;
const LONGEST_STRING = 65535;
const PREFIX_SYMBOLS = 128;
const SYMBOLS_OFFSET = PREFIX_SYMBOLS + 24;
const LITERAL_PREFIX = 127;

/** The longest section of a string code: 2^12 codewords. */
const LONGEST_CODE = SYMBOLS_OFFSET + 4096 * 16;

/** The longest valid bucket: each codeword of a suffix adds a byte or ends the string. */
export const LONGEST_BUCKET = BUCKET_STRINGS * (4 + Math.ceil((20 * (LONGEST_STRING + 1)) / 8));

/** Compares two strings of bytes: negative, 0 or positive. */
export function compareBytes(a, b) {
    const length = Math.min(a.length, b.length);
    for (let i = 0; i < length; i++) {
        if (a[i] !== b[i]) {
            return a[i] - b[i];
        }
    }
    return a.length - b.length;
}

/** The text of bytes in UTF-8; breaks a rule if they are not. */
export function textOf(bytes, rule, place) {
    try {
        return new TextDecoder("utf-8", { fatal: true, ignoreBOM: true }).decode(bytes);
    } catch {
        throw broken(rule, place);
    }
}

/** The string code of a file (V42). */
export class StringCode {
    constructor(section) {
        check(section.length >= SYMBOLS_OFFSET && section.length <= LONGEST_CODE, "V42", "length of the string code");
        this.prefixes = new Code(section.subarray(0, PREFIX_SYMBOLS), "V42", "prefixes");
        const view = viewOf(section);
        const lengths = [];
        for (let length = 1; length <= 12; length++) {
            const count = view.getUint16(PREFIX_SYMBOLS + 2 * (length - 1), true);
            for (let i = 0; i < count; i++) {
                lengths.push(length);
            }
        }
        check(lengths.length >= 2, "V42", "number of symbols");
        this.code = new Code(lengths, "V42", "symbols");
        // Where strings are decoded, each after its prefix. One may get too long by a symbol before that is noticed.
        this.scratch = new Uint8Array(LONGEST_STRING + 16);
        this.symbols = [];
        let at = SYMBOLS_OFFSET;
        for (let i = 0; i < lengths.length; i++) {
            const header = section[at];
            check(header <= 31, "V42", `symbol ${i}`);
            const end = at + 1 + (header & 15);
            this.symbols.push({ bytes: section.slice(at + 1, end), isLast: header >= 16 });
            at = end;
        }
        check(at === section.length, "V42", "length of the string code");
    }

    /**
     * The first strings of a bucket, as bytes that are valid until another string is decoded (V31).
     *
     * @param predecessor bytes of the string that the first one continues
     */
    *decode(bucket, predecessor, count, place) {
        const reader = new BitReader(bucket);
        this.scratch.set(predecessor);
        let length = predecessor.length;
        let prefix = 0;
        for (let n = 0; n < count; n++) {
            const symbol = this.prefixes.read(reader);
            check(symbol >= 0, "V31", `prefix in ${place}`);
            prefix = symbol === LITERAL_PREFIX ? reader.number(16) : prefix + symbol - 63;
            check(prefix >= 0 && prefix <= length, "V31", `prefix in ${place}`);
            length = this.decodeString(reader, prefix, place);
            yield this.scratch.subarray(0, length);
        }
    }

    /** Decodes a string after its prefix, and gives its length. */
    decodeString(reader, prefix, place) {
        const bytes = this.scratch;
        let length = prefix;
        for (let isLast = false; !isLast;) {
            const symbol = this.symbols[this.code.read(reader)];
            if (!symbol.isLast && symbol.bytes.length === 0) {
                bytes[length++] = reader.number(8);
            } else {
                bytes.set(symbol.bytes, length);
                length += symbol.bytes.length;
            }
            isLast = symbol.isLast;
            check(!reader.isOver && length <= LONGEST_STRING, "V31", `string in ${place}`);
        }
        return length;
    }
}
