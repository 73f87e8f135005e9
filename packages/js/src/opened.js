// An open file and the answers that it gives.

import { crc32, distanceOf, viewOf } from "./bits.js";
import { check, checkArgument, checkNumber, checkSignal } from "./error.js";
import { NumberIds, StringIds } from "./ids.js";
import { readLayout } from "./layout.js";
import { patterns, planOf } from "./plan.js";
import { Reads, Store, unlessAborted } from "./reader.js";
import { sourceOf } from "./source.js";
import { StringCode, compareBytes, textOf } from "./strings.js";

const DEFAULT_CACHE_BYTES = 32 << 20;
const DEFAULT_ID_BYTES = 64 << 20;

/** Bytes of the end of a file that are asked for first, unless the caller wants another number; at least the footer. */
const TAIL_BYTES = 16384;
const LEAST_TAIL_BYTES = 40;

/** Most bytes of ids of a rank that are read before it is known that it is wanted. */
const MOST_BYTES_AHEAD = 4096;

/** Entries whose ids are read at a time. */
const ENTRIES_AT_ONCE = 256;

/** The lower-case hexadecimal digits of a fingerprint. */
export function toHex(fingerprint, width) {
    return fingerprint.toString(16).padStart(width / 4, "0");
}

/**
 * Opens a file of simidx.
 *
 * @param input a URL, a Blob, an ArrayBuffer, a view of one, or `{size, read(offset, length, signal)}`
 */
export async function open(input, options) {
    const { signal, cacheBytes = DEFAULT_CACHE_BYTES, tailBytes = TAIL_BYTES, fetch, request } = options ?? {};
    checkNumber("cacheBytes", cacheBytes, Infinity);
    checkNumber("tailBytes", tailBytes);
    checkSignal(signal);
    const source = sourceOf(input, fetch, request);
    const tail = await unlessAborted(signal, () => source.tail(Math.max(LEAST_TAIL_BYTES, tailBytes), signal));
    const store = new Store(source, tail, cacheBytes);
    const reads = new Reads(store, signal);
    const layout = await readLayout(store, reads);
    await Promise.all(layout.tables.map((table) => table.open(reads)));
    return new Index(store, layout);
}

function byDistance(a, b) {
    return a.distance - b.distance || (a.fingerprint < b.fingerprint ? -1 : 1);
}

/** The inner parts of an open file, for the tests of this package. */
export let partsOf;

export class Index {
    static {
        partsOf = (index) => ({ store: index.#store, layout: index.#layout, ids: index.#ids });
    }

    #store;
    #layout;
    #tables;
    #ids;
    #plans = new Map();
    #stringCode;

    constructor(store, layout) {
        this.#store = store;
        this.#layout = layout;
        this.#tables = layout.tables;
        const [table] = this.#tables;
        table.blockCounts = layout.sections.blockCounts;
        const kinds = { number: NumberIds, string: StringIds };
        if (layout.idKind !== "none") {
            this.#ids = new kinds[layout.idKind](layout, (reads) => this.#readStringCode(reads));
        }
    }

    get info() {
        const { width, fingerprintCount, recordCount, idKind, maxDistance, contentId, blockSize, sections } =
            this.#layout;
        return {
            width,
            fingerprints: fingerprintCount,
            records: recordCount,
            ids: idKind,
            hasIdOrder: sections.order !== undefined,
            maxDistance,
            contentId: toHex(contentId, 128),
            bytes: this.#store.size,
            blockSize,
            tables: this.#tables.map(({ codec, mask }) => ({ codec, prefixMask: mask })),
        };
    }

    get traffic() {
        return { ...this.#store.traffic };
    }

    async query(fingerprint, distance = this.#layout.maxDistance, options) {
        const target = this.#parse(fingerprint);
        checkNumber("distance", distance);
        const reads = this.#reads(options);
        const isBetween = reads.wantsIds ? this.#readAhead(reads, target) : undefined;
        const found = await this.#search(reads, target, distance, this.#planFor(distance), isBetween);
        return this.#finish(reads, found);
    }

    async nearest(fingerprint, count = 1, options) {
        const target = this.#parse(fingerprint);
        checkNumber("count", count);
        const reads = this.#reads(options);
        const most = Math.min(reads.maxDistance, this.#layout.width);
        for (let distance = Math.min(most, Math.max(1, this.#layout.maxDistance)); ; distance++) {
            const plan = this.#planFor(distance);
            const isScan = plan[0].bits === 0;
            const found = isScan
                ? await this.#scanNearest(reads, target, most, count)
                : await this.#search(reads, target, distance, plan);
            if (isScan || found.length >= count || distance === most) {
                return this.#finish(reads, found.slice(0, count));
            }
        }
    }

    async contains(fingerprint, options) {
        return (await this.query(fingerprint, 0, { ...options, ids: false })).length > 0;
    }

    async ids(fingerprint, options) {
        const target = this.#parse(fingerprint);
        checkArgument(this.#ids !== undefined, "the file has no ids");
        const reads = this.#reads(options);
        return (await this.#idsOf(reads, target, { bytes: reads.idBytes })) ?? [];
    }

    async find(id, options) {
        checkArgument(this.#ids !== undefined, "the file has no ids");
        const isNumber = this.#layout.idKind === "number";
        const wanted = isNumber && Number.isSafeInteger(id) ? BigInt(id) : id;
        const type = isNumber ? "bigint" : "string";
        checkArgument(typeof wanted === type, `the ids of the file are of type ${type}`);
        const reads = this.#reads(options);
        const indices = await this.#ids.find(reads, wanted);
        const ranks = await reads.each(indices, (i) => this.#ids.rankOf(reads, i));
        const [table] = this.#tables;
        const values = await reads.each([...new Set(ranks)], (rank) => table.valueOf(reads, rank));
        return values.map((value) => table.permutation.invert(value)).sort((a, b) => (a < b ? -1 : 1));
    }

    async *entries(options) {
        const reads = this.#reads(options);
        const [table] = this.#tables;
        for await (const values of table.search(reads, 0n, this.#highest, 0n, this.#layout.width)) {
            for (let start = 0; start < values.length; start += ENTRIES_AT_ONCE) {
                const some = values.slice(start, start + ENTRIES_AT_ONCE);
                const entries = some.map(([value]) => ({ fingerprint: table.permutation.invert(value) }));
                yield* await this.#finish(reads, entries);
            }
        }
    }

    async pipeline(options) {
        const bytes = await this.#section(this.#reads(options), "pipeline");
        return bytes === undefined ? undefined : textOf(bytes, "V19", "the pipeline is not UTF-8");
    }

    async metadata(options) {
        const bytes = await this.#section(this.#reads(options), "metadata");
        return bytes === undefined ? new Map() : metadataOf(bytes);
    }

    get #highest() {
        return (1n << BigInt(this.#layout.width)) - 1n;
    }

    /** The reads of an operation, with what else its options say. */
    #reads(options) {
        const { signal, ids, idBytes = DEFAULT_ID_BYTES, maxDistance = Infinity } = options ?? {};
        checkNumber("idBytes", idBytes, Infinity);
        checkNumber("maxDistance", maxDistance, Infinity);
        checkSignal(signal);
        const wantsIds = this.#ids !== undefined && ids !== false;
        return Object.assign(new Reads(this.#store, signal), { wantsIds, idBytes, maxDistance });
    }

    #parse(fingerprint) {
        const { width } = this.#layout;
        const digits = typeof fingerprint === "string" && /^(?:0x)?([0-9a-f]+)$/i.exec(fingerprint)?.[1];
        const value = digits && digits.length === width / 4 ? BigInt(`0x${digits}`) : fingerprint;
        checkArgument(
            typeof value === "bigint" && value >= 0n && value <= this.#highest,
            `a fingerprint is a BigInt of ${width} bits or ${width / 4} hexadecimal digits`,
        );
        return value;
    }

    #planFor(distance) {
        const { width, fingerprintCount } = this.#layout;
        const within = Math.min(distance, width);
        let plan = this.#plans.get(within);
        if (plan === undefined) {
            const exact = [{ table: this.#tables[0], bits: width, flips: 0 }];
            plan = within === 0 ? exact : planOf(this.#tables, width, within, fingerprintCount);
            this.#plans.set(within, plan);
        }
        return plan;
    }

    /** The matches within a distance, by distance and then by value. */
    async #search(reads, target, distance, plan, isBetween) {
        const found = new Map();
        await Promise.all(plan.map((part) => this.#searchTable(reads, target, distance, part, found, isBetween)));
        return [...found.values()].sort(byDistance);
    }

    async #searchTable(reads, target, distance, { table, bits, flips }, found, isBetween) {
        const { width } = this.#layout;
        const value = table.permutation.apply(target);
        const low = BigInt(width - bits);
        const below = (1n << low) - 1n;
        const isFirst = table.number === 0;
        const probe = async (pattern) => {
            const start = ((value ^ pattern) >> low) << low;
            const search = table.search(reads, start, start | below, value, distance, isFirst ? isBetween : undefined);
            for await (const values of search) {
                for (const [near, rank] of values) {
                    const fingerprint = table.permutation.invert(near);
                    found.set(fingerprint, { fingerprint, distance: distanceOf(near, value) });
                    if (isFirst) {
                        reads.ranks.set(fingerprint, rank);
                    }
                }
            }
        };
        await Promise.all(Array.from(patterns(width, bits, flips), probe));
    }

    /** The nearest fingerprints of table 0, which is read as a whole. */
    async #scanNearest(reads, target, most, count) {
        const [table] = this.#tables;
        const value = table.permutation.apply(target);
        let nearest = [];
        for await (const values of table.search(reads, 0n, this.#highest, value, most)) {
            for (const [near] of values) {
                nearest.push({ fingerprint: table.permutation.invert(near), distance: distanceOf(near, value) });
            }
            if (nearest.length > 2 * count) {
                nearest = nearest.sort(byDistance).slice(0, count);
            }
        }
        return nearest.sort(byDistance);
    }

    /** Adds the ids to matches. */
    async #finish(reads, matches) {
        if (!reads.wantsIds) {
            return matches;
        }
        const budget = { bytes: reads.idBytes };
        await reads.each(matches, async (match) => {
            match.ids = await this.#idsOf(reads, match.fingerprint, budget);
            check(match.ids !== undefined, "V36", "a match is not in table 0");
        });
        return matches;
    }

    /** The ids of a fingerprint; undefined if table 0 does not hold it. */
    async #idsOf(reads, fingerprint, budget) {
        let rank = reads.ranks.get(fingerprint);
        if (rank === undefined) {
            const [table] = this.#tables;
            const isBetween = this.#readAhead(reads, fingerprint);
            rank = await table.rankOf(reads, table.permutation.apply(fingerprint), isBetween);
        }
        return rank === undefined ? undefined : this.#ids.ofRank(reads, rank, budget);
    }

    /**
     * Reads in advance what the ids of a fingerprint probably need, and gives a function that reads the ids of the
     * ranks that it may have. Errors count only if that is wanted in fact.
     */
    #readAhead(reads, fingerprint) {
        const { width, fingerprintCount } = this.#layout;
        const ids = this.#ids;
        if (this.#store.source.view) {
            return () => {};
        }
        const share = Number(fingerprint) / 2 ** width;
        ids.expect(reads, Math.floor(share * fingerprintCount));
        const bytes = Math.min(reads.idBytes, MOST_BYTES_AHEAD);
        const readIds = (rank) => ids.ofRank(reads, rank, { bytes }).catch(() => {});
        return (first, last) => new Set([first, last]).forEach(readIds);
    }

    async #section(reads, name) {
        const section = this.#layout.sections[name];
        if (section === undefined) {
            return undefined;
        }
        const bytes = await reads.range(section.offset, section.length);
        check(crc32(bytes) === section.checksum, "V16", `checksum of ${name}`);
        return bytes;
    }

    #readStringCode(reads) {
        const make = async () => (this.#stringCode = new StringCode(await this.#section(reads, "stringCode")));
        return this.#stringCode ?? reads.once("stringCode", make);
    }
}

/** V41. */
function metadataOf(bytes) {
    const view = viewOf(bytes);
    const entries = new Map();
    let previous = new Uint8Array(0);
    for (let at = 0; at < bytes.length;) {
        const keyEnd = at + 5 + bytes[at];
        check(keyEnd <= bytes.length && bytes[at] > 0, "V41", "entry of the metadata");
        const end = keyEnd + view.getUint32(at + 1, true);
        const key = bytes.subarray(at + 5, keyEnd);
        check(end <= bytes.length && compareBytes(previous, key) < 0, "V41", "entry of the metadata");
        entries.set(
            textOf(key, "V41", "key of the metadata"),
            textOf(bytes.subarray(keyEnd, end), "V41", "metadata"),
        );
        previous = key;
        at = end;
    }
    return entries;
}
