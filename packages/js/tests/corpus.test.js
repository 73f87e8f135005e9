import assert from "node:assert/strict";
import { test } from "node:test";

import { SimidxError, open, toHex } from "../src/index.js";
import { crc32 } from "../src/bits.js";
import { partsOf } from "../src/opened.js";
import { isComplete } from "../src/plan.js";
import { Reads } from "../src/reader.js";
import { CORPUS, bytesOf, rangesOf, rowsOf } from "./corpus.js";
import { readFileSync } from "node:fs";

const encoder = new TextEncoder();

function checksumOf(text) {
    return crc32(encoder.encode(text)).toString(16).padStart(8, "0");
}

/** Files that break several rules, of which this reader, which visits lines side by side, meets another one first. */
const OTHER_RULES = { "bad-v46-itself.simidx": "V24" };

/** Reads what a reader checks on opening, every table, and the ids of each fingerprint: the contents. */
async function readAll(input) {
    const index = await open(input);
    const { store, layout, ids } = partsOf(index);
    const pipeline = await index.pipeline();
    const metadata = await index.metadata();
    const reads = new Reads(store);
    const [first, ...others] = layout.tables;
    if (ids === undefined) {
        await first.firstRanks?.(reads);
    }
    for (const table of layout.tables) {
        for (let g = 0; g < (table.lastKeys?.length ?? 0); g++) {
            await table.keys(reads, g);
        }
    }
    const highest = (1n << BigInt(layout.width)) - 1n;
    let contents = "";
    for await (const entry of index.entries()) {
        const digits = toHex(entry.fingerprint, layout.width);
        for (const id of entry.ids ?? [undefined]) {
            contents += id === undefined ? `${digits}\n` : `${digits}\t${id}\n`;
        }
    }
    for (const table of others) {
        for await (const values of table.search(reads, 0n, highest, 0n, layout.width)) {
            for (const [value] of ids === undefined ? [] : values) {
                const found = await index.ids(table.permutation.invert(value));
                if (found.length === 0) {
                    throw new SimidxError("damaged", "a value is not in table 0", { rule: "V36" });
                }
            }
        }
    }
    return { index, contents, pipeline, metadata };
}

async function verdictOf(bytes) {
    try {
        return await readAll(bytes);
    } catch (error) {
        assert.ok(error instanceof SimidxError, error.stack);
        return error;
    }
}

test("each file of the corpus is read or rejected as the manifest says", async () => {
    const rows = rowsOf("manifest.tsv");
    assert.ok(rows.length >= 599);
    const wrong = [];
    for (const row of rows) {
        const bytes = bytesOf(row.file);
        const verdict = await verdictOf(bytes);
        const isRejected = verdict instanceof SimidxError;
        if (row.stage === "open" || row.stage === "query") {
            const rule = OTHER_RULES[row.file] ?? row.rule;
            if (!isRejected || verdict.kind !== row.class || verdict.rule !== rule) {
                wrong.push(`${row.file}: ${row.rule}, not ${isRejected ? verdict.message : "read"}`);
            }
            continue;
        }
        if (row.expect === "good" && isRejected) {
            wrong.push(`${row.file}: ${verdict.message}`);
        } else if (row.expect === "good") {
            wrong.push(...differences(row, verdict));
        }
    }
    assert.deepEqual(wrong, []);
});

function differences(row, { index, contents, pipeline, metadata }) {
    const { info } = index;
    const entries = [...metadata].map(([key, value]) => `${key}\t${value}\n`).join("");
    const found = {
        width: info.width,
        tables: info.tables.length,
        block_size: info.blockSize,
        codec: [...new Set(info.tables.map(({ codec }) => codec))].join("+"),
        ids: info.ids,
        fingerprints: info.fingerprints,
        records: info.records,
        contents_crc32: checksumOf(contents),
        pipeline_crc32: pipeline === undefined ? "-" : checksumOf(pipeline),
        metadata_crc32: entries === "" ? "-" : checksumOf(entries),
    };
    const wrong = Object.keys(found).filter((name) => row[name] !== String(found[name]));
    if (row.contents !== "-" && readFileSync(new URL(row.contents, CORPUS), "utf8") !== contents) {
        wrong.push("contents");
    }
    return wrong.map((name) => `${row.file}: ${name}`);
}

test("queries find what the corpus lists, from memory and over ranges", async () => {
    const rows = rowsOf("queries.tsv");
    assert.ok(rows.length >= 288);
    for (const row of rows) {
        const bytes = bytesOf(row.file);
        for (const input of [bytes, rangesOf(bytes)]) {
            const index = await open(input);
            const found = await index.query(row.query, Number(row.distance));
            const digits = found.map(({ fingerprint }) => toHex(fingerprint, index.info.width));
            assert.equal(digits.join(" ") || "-", row.matches, `${row.file} ${row.query} ${row.distance}`);
        }
    }
});

test("look-ups find what the corpus lists, from memory and over ranges", async () => {
    const rows = rowsOf("lookups.tsv");
    assert.ok(rows.length >= 276);
    for (const row of rows) {
        const bytes = bytesOf(row.file);
        for (const input of [bytes, rangesOf(bytes)]) {
            const index = await open(input);
            const id = index.info.ids === "number" ? BigInt(row.id) : row.id;
            const digits = (await index.find(id)).map((fingerprint) => toHex(fingerprint, index.info.width));
            assert.equal(digits.join(" ") || "-", row.fingerprints, `${row.file} ${row.id}`);
        }
    }
});

test("plans are complete where the corpus says so", () => {
    const rows = rowsOf("plans.tsv");
    assert.ok(rows.length >= 29);
    for (const { width, distance, plan, complete } of rows) {
        const tables = plan.split(" ").map((part) => {
            const [mask, bits, flips] = part.split(":");
            return { mask: BigInt(`0x${mask}`), bits: bits === "-" ? 0 : Number(bits), flips: Number(flips ?? -1) };
        });
        assert.equal(isComplete(tables, Number(width), Number(distance)), complete === "yes", `${plan} ${distance}`);
    }
});
