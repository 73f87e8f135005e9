// Tables in lines (section 8.2 of the format specification).

import { countOnes, distanceOf, readU64, viewOf, BitReader } from "./bits.js";
import { check } from "./error.js";
import { Permutation } from "./permutation.js";
import { lastRecordAtMost } from "./records.js";

const LINE_LENGTH = 64;
const MARKS = 5;
const ADDRESSES = 32;
const ADDRESS_BITS = 8;

/** Lines that are visited at a time, and most lines among which they are. */
const LINES_AT_ONCE = 1024;
const MOST_LEFT_OUT = 65536;

/** The numbers of the bits that are set in bytes, bit 0 of a byte first. */
function bitsOf(bytes) {
    const bits = [];
    for (let at = 0; at < bytes.length; at++) {
        for (let rest = bytes[at]; rest !== 0; rest &= rest - 1) {
            bits.push(8 * at + 31 - Math.clz32(rest & -rest));
        }
    }
    return bits;
}

function rankOfLine(view, offset) {
    return view.getUint32(offset, true) + (view.getUint8(offset + 4) & 0x7f) * 2 ** 32;
}

export class LineTable {
    constructor(record, layout) {
        Object.assign(this, layout, record);
        this.lowBitCount = layout.width - record.addressBits;
        this.topLines = 2 ** (record.addressBits - ADDRESS_BITS);
        this.permutation = new Permutation(record.mask, layout.width);
        this.name = `table ${record.number}`;
    }

    async open() {
        // Lines need nothing that is read on opening.
    }

    /** Line n, with `below` bits after the addresses (V28, V44 to V46). */
    async line(reads, n, below) {
        const bytes = await reads.bytes(this.lines, n * LINE_LENGTH, LINE_LENGTH);
        const view = viewOf(bytes);
        const place = `line ${n} of ${this.name}`;
        const rank = rankOfLine(view, 0);
        if ((bytes[4] & 0x80) !== 0) {
            const [first, extraBits] = [readU64(view, 32), readU64(view, 40)];
            check(extraBits >= 1 && extraBits <= below, "V46", `extra bits of ${place}`);
            check(first + 2 ** extraBits <= this.count, "V46", `finer lines of ${place}`);
            return { isCrowded: true, rank, first, extraBits };
        }
        const addresses = bitsOf(bytes.subarray(ADDRESSES));
        const marks = bitsOf(bytes.subarray(MARKS, ADDRESSES));
        check(marks.length === (below > 0 ? addresses.length : 0), "V44", `marks of ${place}`);
        // The values of address number i end where those of the next one start.
        const ends = below > 0 ? marks.map((mark) => mark + 1) : addresses.map((_, i) => i + 1);
        const count = ends.at(-1) ?? 0;
        check(rank + count <= this.fingerprintCount, "V45", `number of values of ${place}`);
        return { isCrowded: false, rank, addresses, ends, count, place };
    }

    /** Reads the low bits of `count` values from a rank on. */
    readLowBits(reads, rank, count) {
        return reads.packed(this.lowBits, this.lowBitCount, rank, count);
    }

    /**
     * Gives lists of [value, rank] like that of a table in blocks. `isBetween(first, last)`, if it is given, gets the
     * ranks that the target may have.
     */
    async *search(reads, low, high, target, distance, isBetween = () => {}) {
        const query = { low, high, target, distance, isBetween, met: 0 };
        const after = BigInt(this.lowBitCount + ADDRESS_BITS);
        const first = low >> after;
        const count = Number((high >> after) - first) + 1;
        yield* this.visit(reads, query, Number(first), first, count, this.lowBitCount);
    }

    /** Gives lists of what lines hold of a query, leaving out those that are too far from the target. */
    async *visit(reads, query, n, leading, count, below) {
        const target = query.target >> BigInt(below + ADDRESS_BITS);
        for (let next = 0; next < count;) {
            const waiting = [];
            const end = Math.min(count, next + MOST_LEFT_OUT);
            for (; next < end && waiting.length < LINES_AT_ONCE; next++) {
                query.met++;
                check(query.met <= this.count, "V46", `the lines of ${this.name} have no end`);
                const line = leading + BigInt(next);
                if (distanceOf(line, target) <= query.distance) {
                    const visiting = this.visitLine(reads, query, n + next, line, below);
                    // Nobody waits for it if a later line breaks a rule first.
                    visiting.catch(() => {});
                    waiting.push(visiting);
                }
            }
            yield (await Promise.all(waiting)).flat();
            if (next < count) {
                await reads.pause();
            }
        }
    }

    async visitLine(reads, query, n, leading, below) {
        const line = await this.line(reads, n, below);
        return line.isCrowded
            ? this.visitFiner(reads, query, line, leading, below - line.extraBits)
            : this.visitValues(reads, query, line, leading, below);
    }

    async visitFiner(reads, query, { first, extraBits }, leading, below) {
        const after = BigInt(below + ADDRESS_BITS);
        const base = leading << BigInt(extraBits);
        const most = 2 ** extraBits - 1;
        const [lowest, highest] = [(query.low >> after) - base, (query.high >> after) - base];
        const start = lowest > 0n ? Number(lowest) : 0;
        const end = highest < BigInt(most) ? Number(highest) : most;
        const count = end - start + 1;
        const found = [];
        for await (const some of this.visit(reads, query, first + start, base + BigInt(start), count, below)) {
            some.forEach((one) => found.push(one));
        }
        return found;
    }

    async visitValues(reads, query, line, leading, below) {
        const { low, high, target, distance } = query;
        const { rank, addresses, ends, count, place } = line;
        const after = BigInt(below);
        const wanted = [];
        addresses.forEach((address, i) => {
            const above = (leading << 8n) | BigInt(address);
            const isBetween = above >= low >> after && above <= high >> after;
            if (isBetween && distanceOf(above, target >> after) <= distance) {
                wanted.push({ above, start: i === 0 ? 0 : ends[i - 1], end: ends[i] });
                if (above === target >> after) {
                    query.isBetween(rank + wanted.at(-1).start, rank + ends[i] - 1);
                }
            }
        });
        if (wanted.length === 0) {
            return [];
        }
        const from = wanted[0].start;
        const to = wanted.at(-1).end;
        const reader = await this.readLowBits(reads, rank + from, to - from);
        const origin = reader.position;
        const w = BigInt(this.lowBitCount);
        const found = [];
        const values = [];
        for (const { above, start, end } of wanted) {
            for (let i = start; i < end; i++) {
                reader.position = origin + (i - from) * this.lowBitCount;
                values.push({ value: (((above << after) >> w) << w) | reader.big(this.lowBitCount), above, i });
            }
        }
        if (wanted.length === addresses.length) {
            const isOrdered = values.every(({ value }, at) => at === 0 || value > values[at - 1].value);
            check(isOrdered, "V24", `order of the values of ${place}`);
        }
        check(
            values.every(({ value, above }) => value >> after === above),
            "V45",
            `low bits of ${place}`,
        );
        for (const { value, i } of values) {
            if (value >= low && value <= high && distanceOf(value, target) <= distance) {
                found.push([value, rank + i]);
            }
        }
        return found;
    }

    /** The rank of a value, undefined if the table lacks it. */
    async rankOf(reads, value, isBetween) {
        const { value: found } = await this.search(reads, value, value, value, 0, isBetween).next();
        return found[0]?.[1];
    }

    /** The value of a rank (V47). */
    async valueOf(reads, rank) {
        let [first, count, below, leading] = [0, this.topLines, this.lowBitCount, 0n];
        for (;;) {
            const guess = first + (rank / this.fingerprintCount) * count;
            const n = await lastRecordAtMost(reads, this.lines, rankOfLine, first, count, rank, guess);
            check(n >= first, "V47", `ranks of the lines of ${this.name}`);
            const line = await this.line(reads, n, below);
            leading += BigInt(n - first);
            if (!line.isCrowded) {
                return this.valueOfLine(reads, line, leading, below, rank - line.rank);
            }
            below -= line.extraBits;
            leading <<= BigInt(line.extraBits);
            first = line.first;
            count = 2 ** line.extraBits;
        }
    }

    async valueOfLine(reads, line, leading, below, i) {
        check(i >= 0 && i < line.count, "V47", `ranks of the lines of ${this.name}`);
        const address = line.addresses[line.ends.findIndex((end) => end > i)];
        const reader = await this.readLowBits(reads, line.rank + i, 1);
        const w = BigInt(this.lowBitCount);
        const above = ((leading << 8n) | BigInt(address)) << BigInt(below);
        const value = ((above >> w) << w) | reader.big(this.lowBitCount);
        check(value >> BigInt(below) === above >> BigInt(below), "V45", `low bits of ${line.place}`);
        return value;
    }
}
