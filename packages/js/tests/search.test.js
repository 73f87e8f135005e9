import assert from "node:assert/strict";
import { test } from "node:test";
import { inspect } from "node:util";

import { open, toHex } from "../src/index.js";
import { bytesOf, rangesOf, rowsOf } from "./corpus.js";

function distanceOf(x, y) {
    return (x ^ y).toString(2).replaceAll("0", "").length;
}

/** The matches that a comparison with all entries finds, by distance and then by value. */
function bruteForce(entries, query, distance) {
    const found = entries.map((entry) => ({ ...entry, distance: distanceOf(entry.fingerprint, query) }));
    const order = (a, b) => a.distance - b.distance || (a.fingerprint < b.fingerprint ? -1 : 1);
    return found.filter((match) => match.distance <= distance).sort(order);
}

test("queries find what a comparison with all entries finds", async () => {
    const files = rowsOf("manifest.tsv").filter(({ expect, fingerprints, records }) => {
        return expect === "good" && Number(fingerprints) > 0 && Number(fingerprints) < 1200 && Number(records) < 1500;
    });
    assert.ok(files.length > 100, `${files.length} files`);
    for (const [n, { file }] of files.entries()) {
        const bytes = bytesOf(file);
        const options = { tailBytes: 64, cacheBytes: n % 3 === 0 ? 0 : 9999 };
        const index = await open(n % 2 === 0 ? bytes : rangesOf(bytes), options);
        const { width } = index.info;
        const entries = [];
        for await (const entry of index.entries()) {
            entries.push(entry);
        }
        for (let i = 0; i < 5; i++) {
            // Members with some bits flipped, which differ from file to file.
            let query = entries[(n * 7 + i * 31) % entries.length].fingerprint;
            for (let flips = 0; flips < i; flips++) {
                query ^= 1n << BigInt((n * 13 + flips * 29 + i) % width);
            }
            const distance = [0, 1, 2, 3, 5][(n + i) % 5];
            const wanted = bruteForce(entries, query, distance);
            assert.deepEqual(await index.query(query, distance), wanted, `${file} ${toHex(query, width)} ${distance}`);
            const nearest = await index.nearest(query, 2);
            assert.deepEqual(nearest, bruteForce(entries, query, width).slice(0, 2), `${file} ${toHex(query, width)}`);
            assert.equal(await index.contains(query), wanted.some((match) => match.distance === 0));
        }
        if (index.info.ids !== "none") {
            const [id] = entries.at(-1).ids;
            const holders = entries.filter(({ ids }) => ids.includes(id)).map(({ fingerprint }) => fingerprint);
            assert.deepEqual(await index.find(id), holders, `${file} ${id}`);
        }
    }
});

test("an answer with long ids is refused unless the caller allows it", async () => {
    const index = await open(bytesOf("good-one-group.simidx"));
    await assert.rejects(index.query(42n, 0, { idBytes: 7999 }), { name: "SimidxError", kind: "limit" });
    assert.equal((await index.query(42n, 0, { idBytes: 8000 }))[0].ids.length, 1000);
    assert.equal((await index.query(42n, 0, { ids: false }))[0].ids, undefined);
    await assert.rejects(index.entries({ idBytes: 7999 }).next(), { name: "SimidxError", kind: "limit" });
    assert.equal((await index.entries({ ids: false }).next()).value.ids, undefined);
});

test("a look-up checks the places that it reads, and finds no id for text that is not Unicode", async () => {
    for (const [file, whole] of [
        ["bad-v37-no-such-place.simidx", "good-ef-32-strings.simidx"],
        ["bad-v37-largest-place.simidx", "good-gap-32-grouped-strings.simidx"],
    ]) {
        const { value } = await (await open(bytesOf(whole))).entries().next();
        const index = await open(bytesOf(file));
        await assert.rejects(index.find(value.ids[0]), { name: "SimidxError", rule: "V37" }, file);
        assert.deepEqual(await index.find("\ud800"), []);
    }
});

test("invalid options are refused", async () => {
    const bytes = bytesOf("good-lines-64-numbers.simidx");
    const index = await open(bytes);
    const numbers = [NaN, -1, 0.5, -Infinity, 2 ** 53, "3", 3n, null, {}, Symbol("3")];
    const ofOperations = [
        ...numbers.flatMap((number) => [{ idBytes: number }, { maxDistance: number }]),
        ...[null, {}, true, 0, "", new AbortController()].map((signal) => ({ signal })),
    ];
    const ofOpening = [
        ...[...numbers, Infinity].map((tailBytes) => ({ tailBytes })),
        ...numbers.map((cacheBytes) => ({ cacheBytes })),
        ...ofOperations.filter((options) => "signal" in options),
    ];
    const refused = async (what, options, promise) => {
        await assert.rejects(promise, { name: "SimidxError", kind: "argument" }, `${what} ${inspect(options)}`);
    };
    for (const options of ofOpening) {
        for (const input of [bytes, rangesOf(bytes), "http://localhost:1"]) {
            await refused("open", options, open(input, options));
        }
    }
    for (const options of ofOperations) {
        await refused("query", options, index.query(0n, 3, options));
        await refused("nearest", options, index.nearest(0n, 1, options));
        await refused("entries", options, index.entries(options).next());
        for (const name of ["contains", "ids", "find"]) {
            await refused(name, options, index[name](0n, options));
        }
        for (const name of ["pipeline", "metadata"]) {
            await refused(name, options, index[name](options));
        }
    }
    for (const headers of [5, "Range"]) {
        await assert.rejects(open("http://localhost:1", { request: { headers } }), { name: "SimidxError" });
    }
});

test("numbers without a limit, and no options, are taken", async () => {
    const bytes = bytesOf("good-lines-64-numbers.simidx");
    const index = await open(rangesOf(bytes), { cacheBytes: Infinity, tailBytes: 0 });
    const wanted = await index.nearest(0n, 5);
    assert.ok(wanted[0].ids.length > 0);
    assert.deepEqual(await index.nearest(0n, 5, { idBytes: Infinity, maxDistance: Infinity }), wanted);
    assert.deepEqual(await index.nearest(0n, 5, null), wanted);
    assert.deepEqual(await (await open(bytes, null)).nearest(0n, 5), wanted);
    for (const call of [() => index.query(0n, Infinity), () => index.nearest(0n, Infinity)]) {
        await assert.rejects(call(), { name: "SimidxError", kind: "argument" });
    }
});

test("invalid arguments are refused", async () => {
    const index = await open(bytesOf("good-lines-64-numbers.simidx"));
    const without = await open(bytesOf("good-lines-64.simidx"));
    for (const call of [
        () => index.query(7), () => index.query(-1n), () => index.query(1n << 64n), () => index.query("12"),
        () => index.query("000000000000000g"), () => index.query(0n, -1), () => index.query(0n, 0.5),
        () => index.query(0n, "1"), () => index.nearest(0n, -1), () => index.nearest(0n, 1, { maxDistance: NaN }),
        () => index.find("7"), () => index.find(0.5), () => index.contains(undefined), () => without.find(7n),
        () => without.ids(0n),
    ]) {
        await assert.rejects(call(), { name: "SimidxError", kind: "argument" }, String(call));
    }
    const digits = toHex((await index.nearest(0n))[0].fingerprint, 64);
    assert.deepEqual(await index.ids(`0x${digits.toUpperCase()}`), await index.ids(digits));
});
