// The ids of records (section 9 of the format specification).

import { bitLength, countOnes, readU64, viewOf } from "./bits.js";
import { SimidxError, check } from "./error.js";
import { lastRecordAtMost } from "./records.js";
import { BUCKET_STRINGS, LONGEST_BUCKET, compareBytes, textOf } from "./strings.js";

const CHUNK_IDS = 448;
const CHUNK_LENGTH = 64;
const LARGEST_NUMBER = 2n ** 64n - 1n;

/** Buckets of a run. */
const RUN = 16;

/** Probes of one round of a search over ranges, which divide what is left by one more. */
const PROBES = 15;

/** Most ids that a look-up finds. */
const MOST_FOUND = 1 << 20;

/** Equal ids after which a look-up lets others run. */
const FOUND_AT_ONCE = 1024;

/** Chunks that are read in advance while the end of a long group is looked for. */
const CHUNKS_AHEAD = 512;

/** Adds one of the ids that a look-up finds. */
function keep(found, i) {
    if (found.length === MOST_FOUND) {
        throw new SimidxError("limit", "more ids are equal than a look-up finds");
    }
    found.push(i);
}

/** The first of `count` indices from which on `test` holds. */
async function firstWhere(count, test) {
    let low = 0;
    let high = count;
    while (low < high) {
        const step = Math.ceil((high - low) / (PROBES + 1));
        const probes = [];
        for (let i = low + step - 1; i < high; i += step) {
            probes.push(i);
        }
        const answers = await Promise.all(probes.map(test));
        const found = answers.indexOf(true);
        const passed = found < 0 ? probes.length : found;
        high = found < 0 ? high : probes[found];
        low = passed === 0 ? low : probes[passed - 1] + 1;
    }
    return low;
}

/** What the numbers and strings of a file have in common: which ids belong to which rank, and the id order. */
class Ids {
    /** @param stringCode reads the string code */
    constructor(layout, stringCode) {
        Object.assign(this, layout, layout.sections);
        this.orderBits = bitLength(Math.max(0, layout.recordCount - 1));
        this.chunks = Math.ceil(layout.recordCount / CHUNK_IDS);
        this.stringCode = stringCode;
    }

    /** A number and a bitmap (section 9.2). Chunk 0 is checked here (V29). */
    async chunk(reads, j) {
        const bytes = await reads.bytes(this.groups, j * CHUNK_LENGTH, CHUNK_LENGTH);
        const chunk = { number: readU64(viewOf(bytes), 0), bitmap: bytes.subarray(8) };
        check(j > 0 || (chunk.number === 0 && (chunk.bitmap[0] & 0x80) !== 0), "V29", "chunk 0 of the groups");
        return chunk;
    }

    /** Where the group of a rank is probably. */
    chunkGuess(rank) {
        return Math.floor((rank / this.fingerprintCount) * this.chunks);
    }

    /** Reads in advance where the group of a rank is probably. */
    expect(reads, rank) {
        if (this.groups !== undefined) {
            reads.page(this.groups, Math.floor(Math.min(this.chunkGuess(rank), this.chunks - 1) / 64));
        }
    }

    /** First and end of the id indices of a rank (V29). */
    async group(reads, rank) {
        if (this.groups === undefined) {
            return { first: rank, end: rank + 1 };
        }
        const guess = this.chunkGuess(rank);
        let j = await lastRecordAtMost(reads, this.groups, readU64, 0, this.chunks, rank, guess);
        check(j >= 0, "V29", "chunk 0 of the groups");
        let chunk = await this.chunk(reads, j);
        let at = bitOfRank(chunk.bitmap, rank - chunk.number);
        check(at >= 0, "V29", `chunk ${j} of the groups`);
        const first = j * CHUNK_IDS + at;
        for (at = nextBit(chunk.bitmap, at + 1); at < 0 && j + 1 < this.chunks; at = nextBit(chunk.bitmap, 0)) {
            j++;
            if (j % CHUNKS_AHEAD === 0) {
                await reads.pause();
                const ahead = Math.min(CHUNKS_AHEAD, this.chunks - j);
                await reads.bytes(this.groups, j * CHUNK_LENGTH, ahead * CHUNK_LENGTH);
            }
            chunk = await this.chunk(reads, j);
            check(chunk.number === rank + 1, "V29", `chunk ${j} of the groups`);
        }
        const isLast = rank >= this.fingerprintCount - 1;
        const end = isLast ? this.recordCount : j * CHUNK_IDS + at;
        const isInside = first < this.recordCount && (isLast || end < this.recordCount);
        check(at < 0 === isLast && isInside, "V29", `group of rank ${rank}`);
        return { first, end };
    }

    /** The rank of an id index (V29). */
    async rankOf(reads, i) {
        if (this.groups === undefined) {
            return i;
        }
        const { number, bitmap } = await this.chunk(reads, Math.floor(i / CHUNK_IDS));
        const at = i % CHUNK_IDS;
        let bits = number + countOnes(bitmap[at >> 3] >> (7 - (at & 7)));
        for (let byte = 0; byte < at >> 3; byte++) {
            bits += countOnes(bitmap[byte]);
        }
        check(bits >= 1 && bits <= this.fingerprintCount, "V29", `chunk of id ${i}`);
        return bits - 1;
    }

    /** The id index at a position of the id order (V37). */
    async indexAt(reads, position) {
        const i = await reads.number(this.order, this.orderBits, position);
        check(i < this.recordCount, "V37", `position ${position} of the id order`);
        return i;
    }

    /** The ids of a rank. They may have at most `budget.bytes` bytes together, which are taken off. */
    async ofRank(reads, rank, budget) {
        const { first, end } = await this.group(reads, rank);
        return this.read(reads, first, end, (bytes) => {
            budget.bytes -= bytes;
            if (budget.bytes < 0) {
                throw new SimidxError("limit", "the ids of the answer are longer than idBytes");
            }
        });
    }
}

/** The bit of a bitmap that is the one number `n`, from 0; -1 if it has fewer. */
function bitOfRank(bitmap, n) {
    let at = nextBit(bitmap, 0);
    for (let i = 0; i < n && at >= 0; i++) {
        at = nextBit(bitmap, at + 1);
    }
    return at;
}

/** The first set bit of a bitmap from one on; -1 if there is none. */
function nextBit(bitmap, from) {
    for (let at = from; at < 8 * bitmap.length; at++) {
        if (((bitmap[at >> 3] << (at & 7)) & 0x80) !== 0) {
            return at;
        }
    }
    return -1;
}

/** Ids that are numbers (section 9.3), given as BigInts. */
export class NumberIds extends Ids {
    /** The ids from an index to another (V30). */
    async read(reads, first, end, spend) {
        const found = [];
        await reads.eachNumber(this.numbers, this.idBits, first, end, (reader, i) => {
            spend(8);
            found.push(this.idOf(reader.big(this.idBits), i));
        });
        return found;
    }

    idOf(number, i) {
        const id = this.idBase + number;
        check(id <= LARGEST_NUMBER, "V30", `id ${i}`);
        return id;
    }

    async id(reads, i) {
        const reader = await reads.packed(this.numbers, this.idBits, i, 1);
        return this.idOf(reader.big(this.idBits), i);
    }

    /** The indices of all ids that equal a number (section 9.7). */
    async find(reads, wanted) {
        const found = [];
        if (this.order === undefined) {
            await reads.eachNumber(this.numbers, this.idBits, 0, this.recordCount, (reader, i) => {
                if (this.idOf(reader.big(this.idBits), i) === wanted) {
                    keep(found, i);
                }
            });
            return found;
        }
        const idAt = async (position) => this.id(reads, await this.indexAt(reads, position));
        let position = await firstWhere(this.recordCount, async (p) => (await idAt(p)) >= wanted);
        for (; position < this.recordCount && (await idAt(position)) === wanted; position++) {
            keep(found, await this.indexAt(reads, position));
            if (found.length % FOUND_AT_ONCE === 0) {
                await reads.pause();
            }
        }
        return found;
    }
}

/** Ids that are strings (section 9.4). */
export class StringIds extends Ids {
    get bucketCount() {
        return Math.ceil(this.recordCount / BUCKET_STRINGS);
    }

    /** Bytes of bucket g (V32). */
    async bucket(reads, g) {
        const payload = this.buckets.payload;
        const last = this.bucketCount - 1;
        const reader = await reads.packed(this.bucketOffsets, this.idBits, g, g < last ? 2 : 1);
        const start = reader.number(this.idBits);
        const end = g < last ? reader.number(this.idBits) : payload;
        const isPlaced = (start === 0) === (g === 0) && start < end && end <= payload;
        check(isPlaced, "V32", `bucket ${g}`);
        check(end - start <= LONGEST_BUCKET, "V31", `length of bucket ${g}`);
        return reads.bytes(this.buckets, start, end - start);
    }

    /** The first `count` strings of bucket g, as bytes that are valid until the caller waits for something. */
    async strings(reads, g, count) {
        const head = g - (g % RUN);
        const [code, bucket, headBucket] = await Promise.all([
            this.stringCode(reads),
            this.bucket(reads, g),
            g === head ? undefined : this.bucket(reads, head),
        ]);
        const nothing = new Uint8Array(0);
        const [first] = g === head ? [nothing] : code.decode(headBucket, nothing, 1, `bucket ${head}`);
        return code.decode(bucket, first.slice(), count, `bucket ${g}`);
    }

    /** The id at a place of the dictionary. */
    async atPlace(reads, place, spend) {
        const n = place % BUCKET_STRINGS;
        let id;
        for (const bytes of await this.strings(reads, Math.floor(place / BUCKET_STRINGS), n + 1)) {
            id = bytes;
        }
        spend(id.length);
        return textOf(id, "V31", `string at place ${place}`);
    }

    /** The place of id i from a reader at it (V37). */
    placeOf(reader, i) {
        const place = reader.number(this.orderBits);
        check(place < this.recordCount, "V37", `place of id ${i}`);
        return place;
    }

    async read(reads, first, end, spend) {
        const places = [];
        await reads.eachNumber(this.places, this.orderBits, first, end, (reader, i) => {
            spend(1);
            places.push(this.placeOf(reader, i));
        });
        return reads.each(places, (place) => this.atPlace(reads, place, spend));
    }

    /** The indices of all ids that equal a string (section 9.7). */
    async find(reads, text) {
        const wanted = new TextEncoder().encode(text);
        if (textOf(wanted, "V31", "the id") !== text) {
            // A lone surrogate: ids are in UTF-8, which has none.
            return [];
        }
        const isFrom = async (g) => {
            const [first] = await this.strings(reads, g, 1);
            return compareBytes(first, wanted) >= 0;
        };
        const start = await firstWhere(this.bucketCount, isFrom);
        const places = await this.placesFrom(reads, Math.max(0, start - 1), wanted);
        if (this.order !== undefined) {
            return reads.each(places, (place) => this.indexOfPlace(reads, place));
        }
        const isWanted = new Set(places);
        const found = [];
        if (places.length > 0) {
            await reads.eachNumber(this.places, this.orderBits, 0, this.recordCount, (reader, i) => {
                if (isWanted.has(this.placeOf(reader, i))) {
                    keep(found, i);
                }
            });
        }
        return found;
    }

    /** The places of the ids that equal a string, from bucket `g` on. */
    async placesFrom(reads, g, wanted) {
        const places = [];
        for (; g < this.bucketCount; g++) {
            const count = Math.min(BUCKET_STRINGS, this.recordCount - g * BUCKET_STRINGS);
            let place = g * BUCKET_STRINGS;
            for (const string of await this.strings(reads, g, count)) {
                const order = compareBytes(string, wanted);
                if (order > 0) {
                    return places;
                }
                if (order === 0) {
                    keep(places, place);
                }
                place++;
            }
            if (g % RUN === RUN - 1) {
                await reads.pause();
            }
        }
        return places;
    }

    /** The id index at a place by the id order, after the check that it is the inverse of the places there (V37). */
    async indexOfPlace(reads, place) {
        const i = await this.indexAt(reads, place);
        check(
            (await reads.number(this.places, this.orderBits, i)) === place,
            "V37",
            `position ${place} of the id order`,
        );
        return i;
    }
}
