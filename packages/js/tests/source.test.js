import assert from "node:assert/strict";
import { after, beforeEach, before, test } from "node:test";

import { open, toHex } from "../src/index.js";
import { partsOf } from "../src/opened.js";
import { bytesOf, rangesOf, rowsOf } from "./corpus.js";
import { serve } from "./server.js";

const FILE = "good-lines-64-grouped-numbers.simidx";
let server;

before(async () => {
    server = await serve(bytesOf(FILE));
});
after(() => server.close());
beforeEach(() => {
    const headers = { ETag: '"1"' };
    Object.assign(server, { bytes: bytesOf(FILE), headers, ranges: "all", delay: 0, answer: undefined });
});

/** Opens with so few bytes of the end that the rest has to be asked for. */
function openInParts(options) {
    return open(server.url, { tailBytes: 64, ...options });
}

function rowsOfQueries(file) {
    const rows = rowsOf("queries.tsv").filter((row) => row.file === file);
    assert.ok(rows.length > 0, file);
    return rows;
}

async function checkAnswers(index, file = FILE) {
    for (const row of rowsOfQueries(file)) {
        const found = await index.query(row.query, Number(row.distance));
        assert.equal(found.map((match) => toHex(match.fingerprint, index.info.width)).join(" ") || "-", row.matches);
        for (const { fingerprint, ids } of found) {
            assert.deepEqual(await index.ids(fingerprint), ids);
        }
    }
}

function rejects(promise, kind, pattern) {
    return assert.rejects(promise, (error) => {
        assert.equal(error.name, "SimidxError", error.stack);
        assert.equal(error.kind, kind, error.message);
        assert.match(error.message, pattern);
        return true;
    });
}

test("all sources give the same answers", async () => {
    const bytes = bytesOf(FILE);
    const copy = new Uint8Array(bytes.length + 3);
    copy.set(bytes, 3);
    const inputs = [bytes, copy.subarray(3), copy.slice(3).buffer, new DataView(copy.buffer, 3), new Blob([bytes])];
    for (const input of [...inputs, rangesOf(bytes), server.url, new URL(server.url)]) {
        await checkAnswers(await open(input));
        await checkAnswers(await open(input, { tailBytes: 64 }));
    }
});

test("a server that knows no ranges from the end is read", async () => {
    server.ranges = "from the start";
    await checkAnswers(await openInParts());
});

test("a server without ranges is refused", async () => {
    server.ranges = "none";
    await rejects(open(server.url), "server", /ignores Range/);
});

test("a file that is replaced while it is open is an error", async () => {
    const date = { "Last-Modified": "Sat, 28 Nov 2026 00:00:00 GMT" };
    for (const headers of [{ ETag: '"2"' }, { ETag: 'W/"1"' }, date, {}]) {
        server.headers = { ETag: '"1"' };
        const index = await openInParts();
        server.headers = headers;
        const isVersion = headers.ETag === '"2"' || headers === date;
        await rejects(index.query(0n, 64), isVersion ? "changed" : "server", /replaced/);
    }
    server.headers = { "Last-Modified": "Sat, 28 Nov 2026 00:00:00 GMT" };
    const index = await openInParts();
    await checkAnswers(index);
    const another = await openInParts();
    server.headers = { "Last-Modified": "Sat, 28 Nov 2026 00:00:01 GMT" };
    await rejects(another.query(0n, 64), "changed", /replaced/);
});

test("a file of another length is an error", async () => {
    const index = await openInParts();
    server.bytes = Buffer.concat([server.bytes, Buffer.from([0])]);
    await rejects(index.query(0n, 64), "changed", /replaced/);
    server.bytes = bytesOf(FILE);
    const shortened = await openInParts();
    server.answer = (response) => response.writeHead(416, { "Content-Range": "bytes */7" }).end();
    await rejects(shortened.query(0n, 64), "changed", /replaced/);
});

test("a server that tells no version is refused", async () => {
    for (const headers of [{}, { ETag: 'W/"1"' }]) {
        server.headers = headers;
        await rejects(open(server.url), "server", /neither a strong ETag nor Last-Modified/);
    }
    server.headers = { ETag: 'W/"1"', "Last-Modified": "Sat, 28 Nov 2026 00:00:00 GMT" };
    await checkAnswers(await openInParts());
});

test("wrong answers of a server are errors", async () => {
    const size = server.bytes.length;
    const answers = [
        ["server", /another range/, (response) => {
            response.writeHead(206, { ETag: '"1"', "Content-Range": `bytes 0-3/${size}` }).end("abcd");
        }],
        ["server", /Content-Range/, (response) => response.writeHead(206, { ETag: '"1"' }).end("abcd")],
        ["server", /Content-Encoding/, (response, first, last) => {
            const range = `bytes ${first}-${last}/${size}`;
            response.writeHead(206, { ETag: '"1"', "Content-Range": range, "Content-Encoding": "br" }).end("abcd");
        }],
        ["read", /length/, (response, first, last) => {
            response.writeHead(206, { ETag: '"1"', "Content-Range": `bytes ${first}-${last}/${size}` }).end("abcd");
        }],
        ["read", /404/, (response) => response.writeHead(404).end("not here")],
        ["server", /Content-Range/, (response, first, last) => {
            response.writeHead(206, { ETag: '"1"', "Content-Range": `bytes ${first}-${last}/99999999999999999` }).end();
        }],
        ["read", /cannot read/, (response) => response.destroy()],
    ];
    for (const [kind, pattern, answer] of answers) {
        server.answer = undefined;
        const index = await openInParts();
        server.answer = answer;
        await rejects(index.query(0n, 64), kind, pattern);
        await rejects(open(server.url), kind, pattern);
    }
});

test("an empty file is no file of simidx, and is read without an error of the server", async () => {
    server.bytes = Buffer.alloc(0);
    await rejects(open(server.url), "not-simidx", /V1/);
    await rejects(open(new Blob([])), "not-simidx", /V1/);
});

test("a file whose footer is wrong is judged by its header", async () => {
    const bytes = bytesOf(FILE);
    const longer = Buffer.concat([bytes, Buffer.alloc(4)]);
    const another = Buffer.from(longer);
    another[1] ^= 1;
    await rejects(open(rangesOf(longer), { tailBytes: 64 }), "damaged", /V5/);
    await rejects(open(rangesOf(another), { tailBytes: 64 }), "not-simidx", /V1/);
});

test("errors of a source are told", async () => {
    const cause = new Error("the disk is gone");
    await rejects(open({ size: 100, read: () => Promise.reject(cause) }), "read", /the disk is gone/);
    await rejects(open({ size: 100, read: async () => new Uint8Array(3) }), "read", /did not read/);
    for (const input of [undefined, 7, {}, { size: -1, read() {} }, { size: 7 }]) {
        await rejects(open(input), "argument", /a source is/);
    }
});

test("an abort ends an operation with the reason of the signal, and no other operation", async () => {
    const index = await openInParts();
    server.delay = 50;
    const reason = new Error("enough");
    const controller = new AbortController();
    const aborted = index.query(0n, 64, { signal: controller.signal });
    const other = index.query(0n, 64);
    setTimeout(() => controller.abort(reason), 10);
    await assert.rejects(aborted, reason);
    assert.equal((await other).length, index.info.fingerprints);
    await assert.rejects(index.query(0n, 64, { signal: AbortSignal.abort(reason) }), reason);
    await assert.rejects(open(server.url, { signal: AbortSignal.timeout(5) }), { name: "TimeoutError" });
    const slow = { size: 4096, read: (_offset, _length, signal) => new Promise((_, reject) => {
        signal.addEventListener("abort", () => reject(signal.reason));
    }) };
    await assert.rejects(open(slow, { signal: AbortSignal.timeout(5) }), { name: "TimeoutError" });
    // Sources that ignore signals.
    const bytes = bytesOf(FILE);
    const late = { size: bytes.length, read: async (offset, length) => {
        await new Promise((resolve) => setTimeout(resolve, 20));
        return bytes.subarray(offset, offset + length);
    } };
    await assert.rejects(open(late, { signal: AbortSignal.timeout(5) }), { name: "TimeoutError" });
    const opened = await open(late, { tailBytes: 64 });
    await assert.rejects(opened.query(0n, 64, { signal: AbortSignal.timeout(5) }), { name: "TimeoutError" });
});

test("an abort ends an operation that gets no answer, or waits for those that get none", async () => {
    const index = await openInParts();
    server.answer = () => {};
    const controller = new AbortController();
    const queries = Array.from({ length: 40 }, (_, i) => index.query(BigInt(i) << 58n, 3, controller));
    const stalled = queries.map((query) => assert.rejects(query, /enough/));
    const soon = () => ({ signal: AbortSignal.timeout(20) });
    await assert.rejects(index.query(1n << 40n, 3, soon()), { name: "TimeoutError" });
    controller.abort(new Error("enough"));
    await Promise.all(stalled);
    server.answer = undefined;
    await checkAnswers(index);
    const silent = { size: 4096, read: () => new Promise(() => {}) };
    await assert.rejects(open(silent, soon()), { name: "TimeoutError" });
    await assert.rejects(open(silent, controller), /enough/);
    const bytes = bytesOf(FILE);
    const source = rangesOf(bytes);
    const opened = await open(source, { tailBytes: 64 });
    source.read = silent.read;
    await assert.rejects(opened.query(0n, 64, soon()), { name: "TimeoutError" });
});

test("a range that is kept is a copy, also of a Buffer", async () => {
    const bytes = bytesOf(FILE);
    const reads = (offset, length) => bytes.subarray(offset, offset + length);
    const index = await open({ size: bytes.length, read: async (...range) => reads(...range) }, { tailBytes: 64 });
    await index.query(0n, 64);
    const kept = [...partsOf(index).store.cache.ranges.values()];
    assert.ok(kept.length > 0 && kept.every(({ buffer }) => buffer !== bytes.buffer));
});

test("the cache keeps to its bound, and answers do not depend on it", async () => {
    for (const cacheBytes of [0, 400, 1 << 20]) {
        const index = await openInParts({ cacheBytes });
        await checkAnswers(index);
        const { cache } = partsOf(index).store;
        const kept = [...cache.ranges.values()].reduce((sum, bytes) => sum + bytes.length, 0);
        assert.equal(cache.size, kept);
        assert.ok(kept <= cacheBytes, `${kept} of ${cacheBytes} bytes`);
        const { requests } = index.traffic;
        await checkAnswers(index);
        assert.equal(index.traffic.requests === requests, cacheBytes === 1 << 20, `${cacheBytes} bytes`);
    }
});

test("a query takes few round trips", async () => {
    const isShort = ({ file, ids }) => /^good-lines-(32|64|128)/.test(file) && ids !== "string";
    const files = rowsOf("manifest.tsv").filter(isShort);
    assert.equal(files.length, 9);
    for (const { file, ids } of files) {
        server.bytes = bytesOf(file);
        server.delay = 15;
        const tailBytes = server.bytes.length - Number(server.bytes.readBigUInt64LE(server.bytes.length - 40));
        for (const row of rowsOfQueries(file).filter(({ distance }) => Number(distance) <= 3)) {
            server.waves = 0;
            const index = await open(server.url, { tailBytes });
            const found = await index.query(row.query, Number(row.distance));
            const most = ids === "none" || found.length === 0 ? 3 : 5;
            const { roundTrips } = index.traffic;
            assert.ok(roundTrips <= most && server.waves <= roundTrips, `${file}: ${roundTrips} round trips`);
        }
    }
});

test("a long scan of a file in memory lets others run, and can be aborted", async () => {
    const index = await open(bytesOf("good-two-key-groups.simidx"));
    let hasRun = false;
    setTimeout(() => (hasRun = true), 0);
    assert.equal((await index.nearest(0n, 1)).length, 1);
    assert.ok(hasRun);
    const controller = new AbortController();
    setTimeout(() => controller.abort(new Error("enough")), 0);
    await assert.rejects(index.nearest(0n, 1, { signal: controller.signal }), /enough/);
});
