#!/usr/bin/env node
// Measures cold queries over HTTP ranges: ranges.js INDEX... prints a row of a table for each index, with and without
// ids, and for each delay of the server. Each query opens the file anew. Its fingerprint is that of a record with up to
// three flipped bits. `ranges.js --records COUNT [PREFIX] | simidx build --ids KIND -o INDEX.simidx` makes an index of
// uniform fingerprints with ids that are numbers, or strings that start with PREFIX.

import { once } from "node:events";
import { closeSync, fstatSync, openSync, readSync } from "node:fs";

import { open } from "../src/index.js";
import { partsOf } from "../src/opened.js";
import { Reads } from "../src/reader.js";
import { serve } from "../tests/server.js";

const QUERIES = 40;
const DELAYS = [0, 40];
const DISTANCE = 3;

/** A function that gives numbers of 32 bits that look random. */
function random(seed) {
    let state = seed;
    return () => {
        state = (state + 0x9e3779b9) | 0;
        let x = Math.imul(state ^ (state >>> 16), 0x21f0aaad);
        x = Math.imul(x ^ (x >>> 15), 0x735a2d97);
        return (x ^ (x >>> 15)) >>> 0;
    };
}

async function printRecords(count, prefix = "") {
    const [next, low] = [random(1), random(2)];
    let lines = "";
    for (let i = 0; i < count; i++) {
        const digits = [next(), low()].map((part) => part.toString(16).padStart(8, "0")).join("");
        lines += `${digits}\t${prefix}${i}\n`;
        if (lines.length > 1 << 16 || i + 1 === count) {
            if (!process.stdout.write(lines)) {
                await once(process.stdout, "drain");
            }
            lines = "";
        }
    }
}

/** A file as the test server wants it, of any size. */
function bytesOf(file) {
    const length = fstatSync(file).size;
    const subarray = (first, end) => {
        const bytes = Buffer.alloc(end - first);
        readSync(file, bytes, 0, bytes.length, first);
        return bytes;
    };
    return { length, subarray };
}

/** Fingerprints near to those of records. */
async function queriesOf(url) {
    const index = await open(url);
    const { store, layout } = partsOf(index);
    const [table] = layout.tables;
    const next = random(3);
    const queries = [];
    for (let n = 0; n < QUERIES; n++) {
        const rank = Math.floor((next() / 2 ** 32) * layout.fingerprintCount);
        let query = table.permutation.invert(await table.valueOf(new Reads(store), rank));
        for (let flips = n % (DISTANCE + 1); flips > 0; flips--) {
            query ^= 1n << BigInt(next() % layout.width);
        }
        queries.push(query);
    }
    return { info: index.info, queries };
}

const sorted = (numbers) => numbers.toSorted((a, b) => a - b);
const median = (numbers) => sorted(numbers)[numbers.length >> 1];

async function measure(path) {
    const file = openSync(path, "r");
    const server = await serve(bytesOf(file));
    const { info, queries } = await queriesOf(server.url);
    for (const ids of info.ids === "none" ? [false] : [false, true]) {
        let runs = [];
        const figures = (name) => runs.map((run) => run[name]);
        const times = [];
        for (const delay of DELAYS) {
            server.delay = delay;
            runs = [];
            for (const query of queries) {
                const start = performance.now();
                const index = await open(server.url);
                const found = await index.query(query, DISTANCE, { ids });
                runs.push({ ...index.traffic, ms: performance.now() - start, found: found.length });
            }
            times.push(Math.round(median(figures("ms"))));
        }
        // Those of the longest delay: without one, answers that come one by one count as round trips.
        const kilobytes = figures("bytes").map((bytes) => Math.round(bytes / 1000));
        const counts = [figures("roundTrips"), figures("requests"), kilobytes];
        const cells = counts.map((numbers) => `${median(numbers)} (${Math.max(...numbers)})`);
        const answers = ids ? `ids, ${info.ids}s` : "matches";
        const asked = [info.fingerprints.toLocaleString("en"), info.tables.length, answers];
        console.log(`| ${[...asked, ...cells, ...times].join(" | ")} |`);
    }
    server.close();
    closeSync(file);
}

const args = process.argv.slice(2);
if (args[0] === "--records") {
    await printRecords(Number(args[1]), args[2]);
} else {
    const times = DELAYS.map((delay) => `ms at ${delay} ms a request`);
    console.log(`| fingerprints | tables | answers | round trips | requests | kB | ${times.join(" | ")} |`);
    console.log(`|${"---|".repeat(6 + DELAYS.length)}`);
    for (const path of args) {
        await measure(path);
    }
}
