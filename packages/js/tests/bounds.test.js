// What an operation reads, keeps and waits for at most.

import assert from "node:assert/strict";
import { getEventListeners } from "node:events";
import { test } from "node:test";

import { open } from "../src/index.js";
import { LineTable } from "../src/lines.js";
import { partsOf } from "../src/opened.js";
import { Reads, Store } from "../src/reader.js";
import { bytesOf, rangesOf } from "./corpus.js";

test("what many matches need is decoded once", async () => {
    const index = await open(rangesOf(bytesOf("good-ef-32-strings.simidx")), { tailBytes: 64 });
    const { store, layout, ids } = partsOf(index);
    const reads = new Reads(store);
    for (const need of [() => layout.tables[0].firstRanks(reads), () => ids.stringCode(reads)]) {
        const [one, other] = await Promise.all([need(), need()]);
        assert.equal(one, other);
        assert.equal(one, await need());
    }
});

test("an operation lets others run between its matches", async () => {
    const index = await open(bytesOf("good-many-groups.simidx"));
    const controller = new AbortController();
    setTimeout(() => controller.abort(new Error("enough")), 0);
    await assert.rejects(index.query(0n, 64, { signal: controller.signal }), /enough/);
    const reads = new Reads(partsOf(index).store);
    await reads.each(Array(256).fill(0), async () => reads.once("key", async () => {}));
    assert.equal(reads.made.size, 0);
});

test("few ids are read before they are wanted for sure", async () => {
    const index = await open(rangesOf(bytesOf("good-one-group.simidx")), { tailBytes: 64 });
    const { ids } = partsOf(index);
    const budgets = [];
    ids.ofRank = function (reads, rank, budget) {
        budgets.push(budget.bytes);
        return Object.getPrototypeOf(this).ofRank.call(this, reads, rank, budget);
    };
    assert.equal((await index.query(42n, 0))[0].ids.length, 1000);
    assert.deepEqual(budgets, [4096, 64 << 20]);
});

test("crowded lines are visited in portions, and end after as many lines as there are", async () => {
    const record = { number: 0, mask: 0n, count: 4097, addressBits: 8 };
    const [crowded, plain] = [{ isCrowded: true, first: 1, extraBits: 12 }, { addresses: [], ends: [] }];
    let [calls, open, mostOpen] = [0, 0, 0];
    const search = (distance, lineOf) => {
        const table = new LineTable(record, { width: 64, fingerprintCount: 9 });
        const turn = () => new Promise((resolve) => setTimeout(resolve, 0));
        table.line = async (_, n) => {
            calls++;
            mostOpen = Math.max(mostOpen, ++open);
            await turn();
            open--;
            return lineOf(n);
        };
        return table.search({ pause: turn }, 0n, 2n ** 64n - 1n, 0n, distance).next();
    };
    assert.deepEqual((await search(64, (n) => (n === 0 ? crowded : plain))).value, []);
    assert.ok(calls === 4097 && mostOpen === 1024, `${calls} lines, ${mostOpen} at a time`);
    // Lines that name each other: those that are too far from the target count as well.
    calls = 0;
    await assert.rejects(search(2, () => crowded), { rule: "V46" });
    assert.equal(calls, 80);
});

test("few requests wait at the same time", async () => {
    let [running, most] = [0, 0];
    const read = async (_, length) => {
        most = Math.max(most, ++running);
        await new Promise((resolve) => setTimeout(resolve, 1));
        running--;
        return new Uint8Array(length);
    };
    const store = new Store({ size: 1e9, read }, new Uint8Array(0), 0);
    const controller = new AbortController();
    const [one, other] = [new Reads(store), new Reads(store, controller.signal)];
    const ranges = Array.from({ length: 100 }, (_, i) => one.range(i * 1e5, 1));
    const aborted = Array.from({ length: 100 }, (_, i) => other.range(i * 1e5, 1).catch((error) => error));
    setTimeout(() => controller.abort("enough"), 2);
    assert.equal((await Promise.all(ranges)).length, 100);
    assert.ok((await Promise.all(aborted)).includes("enough"));
    assert.deepEqual([most, store.running], [32, 0]);
});

test("an abort ends what waits for a turn or an answer, and its signal keeps no listener", async () => {
    const answers = [];
    const read = (_, length) => new Promise((resolve) => answers.push(() => resolve(new Uint8Array(length))));
    const store = new Store({ size: 1e9, read }, new Uint8Array(0), 0);
    const controller = new AbortController();
    const { signal } = controller;
    const [first, other, last] = [signal, undefined, signal].map((signal) => {
        const reads = new Reads(store, signal);
        return Array.from({ length: 20 }, (_, i) => reads.range(i * 1e5, 1));
    });
    await new Promise((resolve) => setTimeout(resolve, 5));
    assert.deepEqual([answers.length, store.waiting.size], [32, 28]);
    assert.equal(getEventListeners(signal, "abort").length, 1);
    controller.abort("enough");
    const reasons = await Promise.all([...first, ...last].map((range) => range.catch((reason) => reason)));
    assert.deepEqual(reasons, Array(40).fill("enough"));
    assert.equal(getEventListeners(signal, "abort").length, 0);
    // Those that the source has not answered are still running.
    assert.deepEqual([answers.length, store.waiting.size, store.running], [32, 8, 32]);
    const lasting = new AbortController().signal;
    const more = new Reads(store, lasting).range(0, 1);
    const timer = setInterval(() => answers.splice(0).forEach((answer) => answer()), 1);
    assert.equal((await Promise.all([...other, more])).length, 21);
    clearInterval(timer);
    assert.deepEqual([store.waiting.size, store.running], [0, 0]);
    assert.equal(getEventListeners(lasting, "abort").length, 0);
});

test("checksums of pages that are kept are not asked for", async () => {
    const index = await open(rangesOf(bytesOf("good-lines-64-numbers.simidx")), { tailBytes: 64 });
    await index.query(0n, 3);
    const { store, layout } = partsOf(index);
    for (const { offset, payload } of [layout.tables[0].lines, layout.tables[0].lowBits]) {
        assert.ok(store.cache.ranges.delete(offset + payload));
    }
    const { requests } = index.traffic;
    await new Reads(store).page(layout.tables[0].lines, 0);
    await new Promise((resolve) => setTimeout(resolve, 5));
    assert.equal(index.traffic.requests, requests);
});

test("the nearest are looked for distance by distance", async () => {
    const index = await open(bytesOf("good-dense-32.simidx"));
    const distances = new Set();
    for (const table of partsOf(index).layout.tables) {
        table.search = function (...query) {
            distances.add(query[4]);
            return Object.getPrototypeOf(this).search.apply(this, query);
        };
    }
    // The file has the numbers below 5,000.
    assert.deepEqual(await index.nearest(0xe0000000n), [{ fingerprint: 0n, distance: 3 }]);
    assert.deepEqual([...distances], [2, 3]);
});
