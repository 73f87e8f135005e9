// Against the program that the environment variable SIMIDX names. Without it these tests say that they are skipped.

import assert from "node:assert/strict";
import { execFileSync } from "node:child_process";
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { after, before, test } from "node:test";

import { open, toHex } from "../src/index.js";
import { textPipeline } from "../src/text.js";
import { serve } from "./server.js";

const PROGRAM = process.env.SIMIDX;
const options = { skip: PROGRAM === undefined && "SIMIDX names no program" };
const RECORDS = 60000;
let folder;

before(() => {
    folder = mkdtempSync(join(tmpdir(), "simidx-js-"));
});
after(() => rmSync(folder, { recursive: true }));

/** The lines that the program prints, each cut at its tabs. An exit code of 1 means that nothing matches. */
function run(...args) {
    let text;
    try {
        const how = { encoding: "utf8", maxBuffer: 1 << 28, cwd: folder, stdio: "pipe" };
        text = execFileSync(PROGRAM, ["-q", ...args], how);
    } catch (error) {
        assert.equal(error.status, 1, error.stderr ?? error.message);
        text = error.stdout;
    }
    return text.split("\n").slice(0, -1).map((line) => line.split("\t"));
}

/** A function that gives numbers below another one that look random. */
function randomBelow(seed) {
    let state = seed;
    return (limit) => {
        state ^= state << 13;
        state ^= state >>> 17;
        state ^= state << 5;
        return (state >>> 0) % limit;
    };
}

function randomFingerprint(below, width) {
    let value = 0n;
    for (let bits = 0; bits < width; bits += 16) {
        value = (value << 16n) | BigInt(below(65536));
    }
    return value;
}

/** Fingerprints and ids. Of three fingerprints, `near` are near to others or equal to them. */
function writeRecords(name, width, count, idOf, near = 2) {
    const below = randomBelow(width);
    const made = [];
    for (let i = 0; i < count; i++) {
        const isNear = i > 0 && below(3) < near;
        let value = isNear ? made[below(made.length)] : randomFingerprint(below, width);
        for (let flips = isNear ? below(5) : 0; flips > 0; flips--) {
            value ^= 1n << BigInt(below(width));
        }
        made.push(value);
    }
    writeFileSync(join(folder, name), made.map((value, i) => `${toHex(value, width)}\t${idOf(i)}\n`).join(""));
    return made;
}

/** The matches of the program, as the reader gives them. */
function matchesOf(lines) {
    const found = new Map();
    for (const [, match, distance, id] of lines) {
        const entry = found.get(match) ?? { match, distance: Number(distance), ids: [] };
        entry.ids.push(id);
        found.set(match, entry);
    }
    return [...found.values()].sort((a, b) => a.distance - b.distance || (a.match < b.match ? -1 : 1));
}

function asText(matches, width) {
    return matches.map(({ fingerprint, distance, ids }) => {
        return { match: toHex(fingerprint, width), distance, ids: ids.map(String) };
    });
}

for (const [width, codec, kind, lookup] of [
    [64, "lines", "number", true],
    [64, "ef", "string", true],
    [32, "gap", "number", false],
    [128, "lines", "string", false],
    [128, "xor", "number", true],
]) {
    test(`files of ${width} bits, ${codec}, ${kind} ids: the answers are those of the program`, options, async () => {
        const idOf = (i) => (kind === "number" ? i * 3 : `https://example.org/${i % 1000}/é${i}`);
        const made = writeRecords("records.tsv", width, width === 64 ? RECORDS : 5000, idOf);
        const flags = ["--width", width, "--codec", codec, "--ids", kind, ...(lookup ? ["--id-lookup"] : [])];
        run("build", "records.tsv", "-o", "index.simidx", "--force", ...flags.map(String));
        const server = await serve(readFileSync(join(folder, "index.simidx")));
        try {
            const below = randomBelow(width + 1);
            for (let n = 0; n < 12; n++) {
                const query = made[below(made.length)] ^ (1n << BigInt(below(width)));
                const distance = n % 5;
                const digits = toHex(query, width);
                const index = await open(server.url);
                const found = await index.query(digits, distance);
                const wanted = matchesOf(run("query", "index.simidx", digits, "-k", String(distance)));
                assert.deepEqual(asText(found, width), wanted, `${digits} ${distance}`);
                const nearest = await index.nearest(query, 3, { maxDistance: 8 });
                const lines = run("query", "index.simidx", digits, "--nearest", "3", "-k", "8");
                assert.deepEqual(asText(nearest, width), matchesOf(lines), `nearest to ${digits}`);
                const i = below(made.length);
                assert.deepEqual(await index.find(idOf(i)), [made[i]]);
                assert.ok((await index.ids(made[i])).map(String).includes(String(idOf(i))));
                assert.ok(await index.contains(made[i]));
                assert.equal(await index.contains(query), wanted.some((match) => match.distance === 0));
            }
        } finally {
            server.close();
        }
    });
}

test("an id that is not Unicode is not taken for the replacement character", options, async () => {
    writeFileSync(join(folder, "records.tsv"), "0000000000000001\t\uFFFD\n");
    run("build", "records.tsv", "-o", "index.simidx", "--force", "--ids", "string");
    const index = await open(readFileSync(join(folder, "index.simidx")));
    assert.deepEqual([await index.find("\uFFFD"), await index.find("\uD800")], [[1n], []]);
});

test("a cold query of a file that the program built takes few round trips and bytes", options, async (t) => {
    // Fingerprints that crowd take a round trip more for each level of finer lines.
    const made = writeRecords("records.tsv", 64, RECORDS, (i) => i, 0);
    for (const [kind, ofEqual] of [["number", 3], ["string", 5]]) {
        run("build", "records.tsv", "-o", "index.simidx", "--force", "--codec", "lines", "--ids", kind);
        const server = await serve(readFileSync(join(folder, "index.simidx")));
        t.after(() => server.close());
        server.delay = 40;
        // Bits that differ from a record: none; so few of the first ones that table 0 finds it; more.
        for (const [flipped, ids, most] of [
            [0n, true, ofEqual], [1n << 60n, true, ofEqual + 1], [3n << 60n, true, ofEqual + 2], [3n << 60n, false, 3],
        ]) {
            let total = 0;
            for (let n = 0; n < 10; n++) {
                const index = await open(server.url);
                const found = await index.query(made[n * 997] ^ flipped, 3, { ids });
                assert.ok(found.length > 0);
                const { roundTrips, bytes } = index.traffic;
                assert.ok(roundTrips <= most, `${kind}, ${ids}: ${roundTrips} round trips`);
                total += bytes;
            }
            console.log(`cold queries, ${kind}, ${ids}: ${total / 10} bytes each of ${server.bytes.length}`);
            assert.ok(total / 10 <= (ids ? 120000 : 100000));
        }
    }
});

const MARKUP = [
    "<", "</", ">", "<!--", "-->", "--!>", "<!-->", "<p>", "</p>", "<b>", "<script>", "</script>", "<script ",
    "<title>", "</title>", "<textarea>", "</textarea>", "<style>", "</style>", "<svg>", "</svg>", "<svg/>", "<math/>",
    "<nav>", "</nav>", "<div role=navigation>", "<div role='Navigation'>", "</div>", "<div>", "<li role=navigation>",
    "<plaintext>", "<xmp>", "</xmp>", "<a href=x/>", "<br/>", "&amp;", "&amp", "&notit;", "&#65;", "&#x80;", "&#0;",
    "&#xD800;", "&eacute", "&hellip;", '<a title="&copy=1" role="navi&#103;ation">', "</a>", "<![CDATA[", "]]>",
    "<?xml", "?>", "<!doctype html>", "<html>", "<body", "<head>", " ", "\n", "\r\n", "\t", "\f", "/", "=", '"', "'",
    "one", "two", "three", "&", "!", "-", "\0", "<select>", "</select>", "<object>", "</object>", "<iframe>",
    "</iframe>", "<noframes>",
];
const MARKS = [
    "'", ".", ":", ",", ";", "_", "\u200d", "\u{1f600}", "\u00b7", "\u2019", '"', "\u05f4", " ", "1", "a", "\u05d0",
    "\u0301", "\u036c", "\u00ad", "\ufe0f", "\u30ab", "\u{1f1e6}", "\u0085", "\u3000",
];
const RANGES = [
    [0x20, 0x7f], [0xa0, 0x24f], [0x250, 0x6ff], [0x700, 0x11ff], [0x1200, 0x1fff], [0x2000, 0x30ff], [0x3041, 0x30ff],
    [0x3400, 0x9fff], [0xa000, 0xabff], [0xac00, 0xd7ff], [0xf900, 0xffff], [0x10000, 0x12fff], [0x16000, 0x18fff],
    [0x1b000, 0x1ffff], [0x2f800, 0x2fa1f], [0xe0100, 0xe01ef], [0xe00, 0xe7f], [0x1000, 0x109f], [0x300, 0x36f],
];

function randomDocument(below) {
    const pick = (list) => list[below(list.length)];
    const letters = () => {
        const [first, last] = pick(RANGES);
        const some = Array.from({ length: 1 + below(6) }, () => first + below(last - first + 1));
        return String.fromCodePoint(...some.filter((c) => c < 0xd800 || c > 0xdfff));
    };
    const kind = below(4);
    const parts = kind === 3 ? [pick(["<html>", "<!doctype html>", "<body>", ""])] : [];
    for (let i = 1 + below(30); i > 0; i--) {
        const isPlain = kind === 0 || (kind > 1 && below(3) === 0);
        parts.push(isPlain ? letters() : pick(kind === 3 ? MARKUP : MARKS));
    }
    return parts.join("");
}

test("fingerprints of texts are those of the program", options, async () => {
    const below = randomBelow(Number(process.env.SIMIDX_SEED ?? 11));
    const documents = Array.from({ length: 1000 }, () => randomDocument(below));
    const lines = documents.map((text, id) => `${JSON.stringify({ id: String(id), text })}\n`);
    writeFileSync(join(folder, "documents.jsonl"), lines.join(""));
    let refused = 0;
    for (const [pipeline, width] of [
        ["web", 64], ["web", 128], ["news-zh", 32], ["code", 64], ["short", 64], ["short,normalise=none", 64],
        ["short,fingerprint=simhash,normalise=case,weights=capped:2,shingle=3", 64],
        ["web,fingerprint=simhash,html=yes,segment=chars:2,weights=log2", 128],
    ]) {
        const flags = ["--pipeline", pipeline, "--width", String(width)];
        run("build", "documents.jsonl", "-o", "texts.simidx", "--force", ...flags);
        const index = await open(readFileSync(join(folder, "texts.simidx")));
        const mine = await textPipeline(await index.pipeline(), index.info.width);
        for (const [digits, id] of run("fingerprint", ...flags, "documents.jsonl")) {
            const text = documents[Number(id)];
            try {
                const found = toHex(mine.fingerprint(text) ?? 0n, width);
                assert.equal(found, digits, `${pipeline}: ${JSON.stringify(text)}`);
            } catch (error) {
                // Combining characters that came after the version of Unicode of this engine.
                assert.equal(error.kind, "unsupported", error.message);
                refused++;
            }
        }
    }
    assert.ok(refused < 200, `${refused} refused`);
});
