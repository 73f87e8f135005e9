// Ranges of a file: those that are wanted at the same time are asked for together, and checked bytes are kept.

import { boundCrc32, packedPlace, viewOf, BitReader } from "./bits.js";
import { check } from "./error.js";

export const PAGE_LENGTH = 4096;

/** Most bytes between two ranges that become one request. */
const LARGEST_GAP = 4096;

/** Most bytes of a request that was joined from several ranges. */
const LONGEST_REQUEST = 1 << 22;

/** Bytes of page checksums that are read together: those of 1 MiB. */
const SUMS_LENGTH = 1024;

/** Most requests that wait for an answer at the same time. */
const REQUESTS_AT_ONCE = 32;

/** Items of a list that are worked on at a time. */
const ITEMS_AT_ONCE = 256;

/** Numbers of a packed array that are read at a time. */
const NUMBERS_AT_ONCE = 1 << 15;

/** The functions that end waits, by signal: one listener for all, since engines warn of many. */
const waits = new Map();

function endWaits({ target }) {
    waits.get(target).forEach((end) => end());
}

/** What `work()` gives, or the reason of the signal as soon as that aborts, even if the work goes on. */
export async function unlessAborted(signal, work) {
    const ends = waits.get(signal) ?? new Set();
    let end;
    try {
        return await new Promise((resolve, reject) => {
            end = reject;
            waits.set(signal, ends.add(end));
            signal?.addEventListener("abort", endWaits);
            work().then(resolve, reject);
        });
    } catch (error) {
        // The work may have failed by the signal before that was told of it.
        throw signal?.aborted ? signal.reason : error;
    } finally {
        ends.delete(end);
        if (ends.size === 0) {
            waits.delete(signal);
            signal?.removeEventListener("abort", endWaits);
        }
    }
}

/** The most recently used checked ranges, up to a number of bytes. */
class Cache {
    constructor(limit) {
        this.limit = limit;
        this.size = 0;
        this.ranges = new Map();
    }

    get(offset) {
        const bytes = this.ranges.get(offset);
        if (bytes !== undefined) {
            this.ranges.delete(offset);
            this.ranges.set(offset, bytes);
        }
        return bytes;
    }

    put(offset, bytes) {
        if (this.ranges.has(offset) || bytes.length > this.limit) {
            return;
        }
        this.ranges.set(offset, bytes);
        this.size += bytes.length;
        for (const [oldest, { length }] of this.ranges) {
            if (this.size <= this.limit) {
                break;
            }
            this.ranges.delete(oldest);
            this.size -= length;
        }
    }
}

/** An open source, its end, and what all operations on it share. */
export class Store {
    constructor(source, tail, cacheBytes) {
        this.source = source;
        this.running = 0;
        this.waiting = new Set();
        this.size = source.size;
        this.tail = tail;
        this.tailOffset = source.size - tail.length;
        this.cache = new Cache(cacheBytes);
        // The end of the file has been asked for.
        this.traffic = { requests: 1, bytes: tail.length, roundTrips: 1 };
    }

    /**
     * Reads from the source, where a request waits for another one to end if there are many. One that was aborted ends
     * when the source is done with it.
     */
    async read(offset, length, signal) {
        let turn;
        const work = async () => {
            if (this.running === REQUESTS_AT_ONCE) {
                await new Promise((resolve) => this.waiting.add((turn = resolve)));
            } else {
                this.running++;
            }
            try {
                signal?.throwIfAborted();
                return await this.source.read(offset, length, signal);
            } finally {
                const [next = () => this.running--] = this.waiting;
                this.waiting.delete(next);
                next();
            }
        };
        try {
            return await unlessAborted(signal, work);
        } finally {
            this.waiting.delete(turn);
        }
    }
}

/**
 * The reads of one operation. Ranges that are asked for before the next turn of the event loop are read together. So an
 * algorithm is written as independent functions that wait for what they need.
 */
export class Reads {
    constructor(store, signal) {
        this.store = store;
        this.signal = signal;
        this.made = new Map();
        /** Ranks of fingerprints that were met in table 0. */
        this.ranks = new Map();
        this.queue = [];
    }

    /** The unchecked bytes of a range, which is in the file. */
    range(offset, length) {
        const { source, tail, tailOffset } = this.store;
        if (length === 0) {
            return new Uint8Array(0);
        }
        if (source.view) {
            this.signal?.throwIfAborted();
            return source.view(offset, length);
        }
        if (offset >= tailOffset) {
            return tail.subarray(offset - tailOffset, offset - tailOffset + length);
        }
        return new Promise((resolve, reject) => {
            if (this.queue.push({ offset, length, resolve, reject }) === 1) {
                setTimeout(() => this.flush(), 0);
            }
        });
    }

    flush() {
        const queue = this.queue.sort((a, b) => a.offset - b.offset);
        this.queue = [];
        let joined = [];
        let end = 0;
        for (const range of queue) {
            const rangeEnd = range.offset + range.length;
            const isFar = range.offset > end + LARGEST_GAP || rangeEnd - joined[0]?.offset > LONGEST_REQUEST;
            if (joined.length > 0 && isFar) {
                this.request(joined, end);
                joined = [];
                end = 0;
            }
            joined.push(range);
            end = Math.max(end, rangeEnd);
        }
        this.request(joined, end);
    }

    async request(ranges, end) {
        const { traffic } = this.store;
        const start = ranges[0].offset;
        // One more than the requests that may have led to this one.
        const roundTrip = traffic.roundTrips + 1;
        try {
            this.signal?.throwIfAborted();
            traffic.requests++;
            traffic.bytes += end - start;
            const bytes = await this.store.read(start, end - start, this.signal);
            traffic.roundTrips = Math.max(traffic.roundTrips, roundTrip);
            // A copy, so that a range that is kept does not keep the whole answer.
            ranges.forEach(({ offset, length, resolve }) =>
                resolve(bytes.slice(offset - start, offset - start + length)),
            );
        } catch (error) {
            ranges.forEach(({ reject }) => reject(error));
        }
    }

    /**
     * The bytes of a range after `verify(bytes, more)`, which throws if they are damaged; `readMore()` reads together
     * with the range what that needs. Units differ in their offsets.
     */
    unit(offset, length, verify, readMore) {
        return this.once(offset, async () => {
            const { cache } = this.store;
            let bytes = cache.get(offset);
            if (bytes === undefined) {
                const more = readMore?.();
                bytes = await this.range(offset, length);
                verify(bytes, await more);
                cache.put(offset, bytes);
            }
            return bytes;
        });
    }

    /** The promise of what `make()` reads or decodes, which is done once. */
    once(key, make) {
        let promise = this.made.get(key);
        if (promise === undefined) {
            promise = make();
            // Who waits for the promise gets its error; it may be wanted in advance only.
            promise.catch(() => {});
            this.made.set(key, promise);
        }
        return promise;
    }

    /** Lets go of what the operation has read, but not of what the cache keeps, and lets others run. */
    async pause() {
        this.made.clear();
        this.ranks.clear();
        await new Promise((resolve) => setTimeout(resolve, 0));
        this.signal?.throwIfAborted();
    }

    /** What `make(item)` gives for each item, some at a time. */
    async each(items, make) {
        const made = [];
        for (let start = 0; start < items.length; start += ITEMS_AT_ONCE) {
            const some = items.slice(start, start + ITEMS_AT_ONCE);
            made.push(...(await Promise.all(some.map(make))));
            if (some.length === ITEMS_AT_ONCE) {
                await this.pause();
            }
        }
        return made;
    }

    /** Page j of a paged section (section 3.5), after V28. */
    page(section, j) {
        const { offset, payload, kind, table, name } = section;
        const start = j * PAGE_LENGTH;
        const sumsStart = payload + Math.floor((4 * j) / SUMS_LENGTH) * SUMS_LENGTH;
        const sumsLength = Math.min(SUMS_LENGTH, section.length - sumsStart);
        const readSums = () => this.unit(offset + sumsStart, sumsLength, () => {});
        const verify = (bytes, sums) => {
            const sum = viewOf(sums).getUint32(payload + 4 * j - sumsStart, true);
            check(boundCrc32(bytes, kind, table, j) === sum, "V28", `checksum of page ${j} of ${name}`);
        };
        return this.unit(offset + start, Math.min(PAGE_LENGTH, payload - start), verify, readSums);
    }

    /** Bytes of the payload of a paged section. */
    async bytes(section, start, length) {
        const first = Math.floor(start / PAGE_LENGTH);
        const last = Math.floor((start + length - 1) / PAGE_LENGTH);
        const waiting = [];
        for (let j = first; j <= last; j++) {
            waiting.push(this.page(section, j));
        }
        const pages = await Promise.all(waiting);
        const from = start - first * PAGE_LENGTH;
        if (pages.length === 1) {
            return pages[0].subarray(from, from + length);
        }
        const joined = new Uint8Array(pages.reduce((sum, page) => sum + page.length, 0));
        pages.forEach((page, i) => joined.set(page, i * PAGE_LENGTH));
        return joined.subarray(from, from + length);
    }

    /** A reader at number `first` of a packed array that is the payload of a section, with `count` numbers. */
    async packed(section, bits, first, count) {
        const { byte, bit } = packedPlace(first, bits);
        const bytes = await this.bytes(section, byte, Math.ceil((bit + count * bits) / 8));
        return new BitReader(bytes, bit);
    }

    /** Number i of a packed array of numbers that are below 2^53. */
    async number(section, bits, i) {
        return (await this.packed(section, bits, i, 1)).number(bits);
    }

    /** Calls `visit(reader, i)` for each i from `first` to `end`, with a reader at number i. */
    async eachNumber(section, bits, first, end, visit) {
        for (let start = first; start < end; start += NUMBERS_AT_ONCE) {
            const count = Math.min(NUMBERS_AT_ONCE, end - start);
            const reader = await this.packed(section, bits, start, count);
            for (let i = start; i < start + count; i++) {
                visit(reader, i);
            }
            if (start + count < end) {
                await this.pause();
            }
        }
    }
}
