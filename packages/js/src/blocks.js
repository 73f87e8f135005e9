// Tables in blocks (sections 7 and 8.1 of the format specification).

import { boundCrc32, crc32, distanceOf, eliasFanoShape, readBig, readEliasFano, readU64, viewOf } from "./bits.js";
import { BitReader } from "./bits.js";
import { check } from "./error.js";
import { Permutation } from "./permutation.js";

const GROUP_KEYS = 256;

/** Blocks that are decoded at a time. */
const BLOCKS_AT_ONCE = 256;

/** The first index from which on `test` holds, by binary search. */
function firstIndex(count, test) {
    let low = 0;
    let high = count;
    while (low < high) {
        const middle = Math.floor((low + high) / 2);
        if (test(middle)) {
            high = middle;
        } else {
            low = middle + 1;
        }
    }
    return low;
}

export class BlockTable {
    constructor(record, layout) {
        Object.assign(this, layout, record);
        this.permutation = new Permutation(record.mask, layout.width);
        this.name = `table ${record.number}`;
    }

    /** Reads the key entries (V16, V17). */
    async open(reads) {
        const { offset, length, checksum } = this.keyEntries;
        const bytes = await reads.range(offset, length);
        check(crc32(bytes) === checksum, "V16", `checksum of the key entries of ${this.name}`);
        const view = viewOf(bytes);
        const keyLength = this.width / 8;
        this.lastKeys = [];
        this.ends = [];
        this.sums = [];
        let previous = -1n;
        let end = 0;
        for (let at = 0, g = 0; at < length; at += keyLength + 12, g++) {
            const key = readBig(bytes.subarray(at, at + keyLength));
            const place = `key entry ${g} of ${this.name}`;
            check(key > previous, "V17", place);
            end += this.groupLength(g, previous + 1n, key, place);
            check(readU64(view, at + keyLength) === end, "V17", place);
            this.lastKeys.push(key);
            this.ends.push(end);
            this.sums.push(view.getUint32(at + keyLength + 8, true));
            previous = key;
        }
        check(end === this.keyGroups.length, "V17", `length of the key groups of ${this.name}`);
    }

    /** Number of keys of a group but the last. */
    innerKeys(g) {
        return Math.min(GROUP_KEYS, this.count - g * GROUP_KEYS) - 1;
    }

    groupLength(g, base, last, place) {
        const count = this.innerKeys(g);
        if (count === 0) {
            return 0;
        }
        const largest = last - base - 1n;
        check(BigInt(count) <= largest + 1n, "V17", place);
        const { lowBits, intervals } = eliasFanoShape(count, largest);
        return Math.ceil((count + intervals + count * lowBits) / 8);
    }

    /** The keys of a group (V16, V17). */
    keys(reads, g) {
        return reads.once(`keys ${this.number} ${g}`, () => this.readKeys(reads, g));
    }

    async readKeys(reads, g) {
        const count = this.innerKeys(g);
        const last = this.lastKeys[g];
        const start = g === 0 ? 0 : this.ends[g - 1];
        const length = this.ends[g] - start;
        const place = `key group ${g} of ${this.name}`;
        const verify = (bytes) => check(boundCrc32(bytes, 10, this.number, g) === this.sums[g], "V16", place);
        if (count === 0) {
            verify(new Uint8Array(0));
            return [last];
        }
        const reader = new BitReader(await reads.unit(this.keyGroups.offset + start, length, verify));
        const base = g === 0 ? 0n : this.lastKeys[g - 1] + 1n;
        const numbers = readEliasFano(reader, count, last - base - 1n);
        const keys = [...(numbers ?? []).map((number) => base + number), last];
        const isOrdered = keys.every((key, i) => i === 0 || key > keys[i - 1]);
        check(numbers !== undefined && !reader.isOver && reader.restIsZero() && isOrdered, "V17", place);
        return keys;
    }

    /** The first block whose key is at least a value; the number of blocks if there is none. */
    async blockOf(reads, value) {
        const g = firstIndex(this.lastKeys.length, (i) => this.lastKeys[i] >= value);
        if (g === this.lastKeys.length) {
            return this.count;
        }
        const keys = await this.keys(reads, g);
        return g * GROUP_KEYS + firstIndex(keys.length, (i) => keys[i] >= value);
    }

    /** The values of block b (V21 to V26). */
    block(reads, b) {
        return reads.once(`block ${this.number} ${b}`, () => this.readBlock(reads, b));
    }

    async readBlock(reads, b) {
        const g = Math.floor(b / GROUP_KEYS);
        const place = `block ${b} of ${this.name}`;
        const waiting = reads.unit(this.blocks.offset + b * this.blockSize, this.blockSize, (bytes) => {
            const sum = boundCrc32(bytes.subarray(4), 1, this.number, b);
            check(viewOf(bytes).getUint32(0, true) === sum, "V21", `checksum of ${place}`);
        });
        const keys = await this.keys(reads, g);
        const i = b % GROUP_KEYS;
        const before = i > 0 ? keys[i - 1] : this.lastKeys[g - 1];
        return this.decode((await waiting).subarray(4), before, keys[i], place);
    }

    /** Section 7.3, where `before` is the key of the preceding block, undefined for block 0. */
    decode(bytes, before, key, place) {
        const reader = new BitReader(bytes);
        const count = reader.number(3 + Math.log2(this.blockSize));
        const isEliasFano = this.codec === "ef";
        const values = isEliasFano
            ? this.decodeEliasFano(reader, count, before, key, place)
            : this.decodeSteps(reader, count, before, place);
        check(!reader.isOver, "V23", `end of the values of ${place}`);
        let previous = before ?? -1n;
        for (const value of values) {
            check(value > previous, "V24", `order of the values of ${place}`);
            previous = value;
        }
        check(previous < key, "V25", `last value of ${place}`);
        check(reader.restIsZero(), "V26", `bits after the values of ${place}`);
        values.push(key);
        return values;
    }

    decodeEliasFano(reader, count, before, key, place) {
        if (count === 0) {
            return [];
        }
        const base = before === undefined ? 0n : before + 1n;
        const largest = key - base - 1n;
        check(BigInt(count) <= largest + 1n, "V22", `number of values of ${place}`);
        const numbers = readEliasFano(reader, count, largest);
        check(numbers !== undefined, "V22", `high bits of ${place}`);
        return numbers.map((number) => base + number);
    }

    /** The codecs `xor` and `gap`. */
    decodeSteps(reader, count, before, place) {
        const values = [];
        let value = before;
        for (let i = 0; i < count && !reader.isOver; i++) {
            if (value === undefined) {
                value = reader.big(this.width);
            } else {
                const height = this.code.read(reader);
                check(height >= 0, "V22", `codeword of ${place}`);
                const tail = reader.big(height);
                const h = BigInt(height);
                value = this.codec === "xor" ? (((value >> h) | 1n) << h) | tail : value + (1n << h) + tail;
            }
            values.push(value);
        }
        return values;
    }

    /**
     * Gives lists of [value, undefined] with the permuted values from `low` to `high` that are within a distance of
     * `target`, in ascending order.
     */
    async *search(reads, low, high, target, distance) {
        const first = await this.blockOf(reads, low);
        const last = Math.min(await this.blockOf(reads, high), this.count - 1);
        for (let start = first; start <= last; start += BLOCKS_AT_ONCE) {
            const waiting = [];
            for (let b = start; b <= Math.min(last, start + BLOCKS_AT_ONCE - 1); b++) {
                waiting.push(this.block(reads, b));
            }
            const found = [];
            for (const values of await Promise.all(waiting)) {
                for (const value of values) {
                    if (value >= low && value <= high && distanceOf(value, target) <= distance) {
                        found.push([value, undefined]);
                    }
                }
            }
            yield found;
            if (last >= start + BLOCKS_AT_ONCE) {
                await reads.pause();
            }
        }
    }

    /** The block counts: for each block the rank of its first value, and the number of all values at the end (V18). */
    firstRanks(reads) {
        return this.ranks ?? reads.once("ranks", () => this.readRanks(reads));
    }

    async readRanks(reads) {
        const { offset, length, checksum } = this.blockCounts;
        const bytes = await reads.range(offset, length);
        check(crc32(bytes) === checksum, "V16", "checksum of the block counts");
        const view = viewOf(bytes);
        const ranks = new Float64Array(this.count + 1);
        for (let b = 0; b < this.count; b++) {
            ranks[b + 1] = ranks[b] + view.getUint16(2 * b, true) + 1;
        }
        check(ranks[this.count] === this.fingerprintCount, "V18", "sum of the block counts");
        this.ranks = ranks;
        return ranks;
    }

    /** The values of block b of table 0, after V27. */
    async countedBlock(reads, b, ranks) {
        const values = await this.block(reads, b);
        check(values.length === ranks[b + 1] - ranks[b], "V27", `number of values of block ${b}`);
        return values;
    }

    /** The rank of a value, undefined if the table lacks it. `isBetween(first, last)` gets the ranks it may have. */
    async rankOf(reads, value, isBetween) {
        const [ranks, b] = await Promise.all([this.firstRanks(reads), this.blockOf(reads, value)]);
        if (b === this.count) {
            return undefined;
        }
        isBetween(ranks[b], ranks[b + 1] - 1);
        const values = await this.countedBlock(reads, b, ranks);
        const at = firstIndex(values.length, (i) => values[i] >= value);
        return values[at] === value ? ranks[b] + at : undefined;
    }

    /** The value of a rank. */
    async valueOf(reads, rank) {
        const ranks = await this.firstRanks(reads);
        const b = firstIndex(this.count, (i) => ranks[i + 1] > rank);
        const values = await this.countedBlock(reads, b, ranks);
        return values[rank - ranks[b]];
    }
}
