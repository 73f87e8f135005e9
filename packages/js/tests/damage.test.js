import assert from "node:assert/strict";
import { test } from "node:test";

import { SimidxError, open } from "../src/index.js";
import { boundCrc32, crc32 } from "../src/bits.js";
import { partsOf } from "../src/opened.js";
import { bytesOf, rangesOf, rowsOf } from "./corpus.js";

/** Longest time for one damaged file of a few kilobytes. */
const MOST_MILLISECONDS = 20000;

/** Numbers from 0 to 2^32 - 1 that look random. */
function* randomNumbers(seed) {
    for (let state = seed; ; ) {
        state ^= state << 13;
        state ^= state >>> 17;
        state ^= state << 5;
        yield state >>> 0;
    }
}

/** The valid files that are short, in two halves, so that the tests take their time only once for each. */
const FILES = rowsOf("manifest.tsv")
    .filter(({ expect, file }) => expect === "good" && bytesOf(file).length < 9000)
    .map(({ file }) => file);
const HALVES = [0, 1].map((rest) => FILES.filter((_, n) => n % 2 === rest));

/** What a reader says of a file: all entries, an answer, a look-up, a neighbour, the texts. */
async function answersOf(input) {
    const index = await open(input);
    const entries = [];
    for await (const { fingerprint, ids } of index.entries()) {
        entries.push([fingerprint, ...(ids ?? [])]);
    }
    const query = await index.query(entries[0]?.[0] ?? 0n, 3);
    const nearest = await index.nearest(entries.at(-1)?.[0] ?? 0n, 2, { ids: false });
    const found = index.info.ids === "none" || entries.length === 0 ? [] : await index.find(entries.at(-1)[1]);
    const texts = [await index.pipeline(), [...(await index.metadata())]];
    return [entries, query, nearest, found, texts];
}

/** The answers, or the error, which must be one of this package and come soon. */
async function outcomeOf(input, what) {
    const start = performance.now();
    try {
        return await answersOf(input);
    } catch (error) {
        assert.ok(error instanceof SimidxError, `${what}: ${error.stack}`);
        return error;
    } finally {
        const milliseconds = performance.now() - start;
        assert.ok(milliseconds < MOST_MILLISECONDS, `${what}: ${milliseconds} ms`);
    }
}

test("a file with a bit flipped gives the answers of the whole file, or an error", async () => {
    let rejected = 0;
    for (const [n, file] of HALVES[0].entries()) {
        const bytes = bytesOf(file);
        const wanted = await answersOf(bytes);
        const random = randomNumbers(n + 1);
        for (let i = 0; i < 3; i++) {
            const bit = random.next().value % (8 * bytes.length);
            const damaged = Uint8Array.from(bytes);
            damaged[bit >> 3] ^= 1 << (bit & 7);
            const input = i % 2 === 0 ? damaged : rangesOf(damaged);
            const outcome = await outcomeOf(input, `${file}, bit ${bit}`);
            if (outcome instanceof SimidxError) {
                rejected++;
            } else {
                assert.deepEqual(outcome, wanted, `${file}, bit ${bit}`);
            }
        }
    }
    assert.ok(rejected > 80, `${rejected} rejected`);
});

test("a file that is cut off is rejected", async () => {
    for (const [n, file] of FILES.entries()) {
        const bytes = bytesOf(file);
        const random = randomNumbers(n + 1000);
        for (let i = 0; i < 5; i++) {
            const length = random.next().value % bytes.length;
            const outcome = await outcomeOf(bytes.subarray(0, length), `${file}, ${length} bytes`);
            assert.ok(outcome instanceof SimidxError, `${file}, ${length} bytes`);
        }
    }
});

/** Makes the checksums of a changed file right again, by the layout of the file before. */
function seal(bytes, layout, sectionCount) {
    const view = new DataView(bytes.buffer);
    const boundTo = (kind, table, number, start, end) => boundCrc32(bytes.subarray(start, end), kind, table, number);
    const sections = [...Object.values(layout.sections), ...layout.ancillary];
    for (const table of layout.tables) {
        sections.push(...[table.lines, table.lowBits, table.keyEntries].filter((section) => section !== undefined));
        for (let b = 0; table.blocks !== undefined && b < table.count; b++) {
            const start = table.blocks.offset + b * layout.blockSize;
            view.setUint32(start, boundTo(1, table.number, b, start + 4, start + layout.blockSize), true);
        }
        for (let g = 0; g < (table.ends?.length ?? 0); g++) {
            const start = table.keyGroups.offset + (g === 0 ? 0 : table.ends[g - 1]);
            const sum = boundTo(10, table.number, g, start, table.keyGroups.offset + table.ends[g]);
            view.setUint32(table.keyEntries.offset + (g + 1) * (layout.width / 8 + 12) - 4, sum, true);
        }
    }
    const paged = sections.filter((section) => section.payload < section.length);
    for (const { kind, table, offset, payload, length } of paged) {
        for (let j = 0; payload + 4 * j < length; j++) {
            const start = offset + 4096 * j;
            const sum = boundTo(kind, table, j, start, Math.min(start + 4096, offset + payload));
            view.setUint32(offset + payload + 4 * j, sum, true);
        }
    }
    const end = bytes.length - 40;
    for (let at = end - 24 * sectionCount; at < end; at += 24) {
        const [offset, length] = [Number(view.getBigUint64(at + 8, true)), Number(view.getBigUint64(at + 16, true))];
        const section = sections.find((one) => one.kind === view.getUint16(at, true) && one.payload === one.length);
        if (section !== undefined && offset + length <= bytes.length && length > 0) {
            view.setUint32(at + 4, crc32(bytes.subarray(offset, offset + length)), true);
        }
    }
    view.setUint32(12, crc32(bytes.subarray(0, 12)), true);
    view.setUint32(end + 12, crc32(bytes.subarray(layout.directoryOffset, end)), true);
    view.setUint32(end + 32, crc32(bytes.subarray(end, end + 32)), true);
}

test("a file that was changed and sealed again ends in an answer or an error, soon", async () => {
    const rules = new Set();
    for (const [n, file] of HALVES[1].entries()) {
        const bytes = bytesOf(file);
        const { layout } = partsOf(await open(bytes));
        const sectionCount = bytes.readUInt16LE(layout.directoryOffset + 46);
        const random = randomNumbers(n + 2000);
        for (let i = 0; i < 6; i++) {
            const forged = Uint8Array.from(bytes);
            // Half of the changes are in the directory, and those of several bytes make large numbers.
            const start = i % 2 === 0 ? layout.directoryOffset : 16;
            const at = start + (random.next().value % (bytes.length - start));
            const length = 1 + (random.next().value % 8);
            const value = random.next().value;
            forged.fill(i % 3 === 0 ? 0xff : value & 0xff, at, i % 4 < 2 ? at + 1 : at + length);
            seal(forged, layout, sectionCount);
            const outcome = await outcomeOf(forged, `${file}, change ${i} at ${at}`);
            if (outcome instanceof SimidxError) {
                rules.add(outcome.rule);
            }
        }
    }
    assert.ok(rules.size >= 20, [...rules].join(" "));
});
