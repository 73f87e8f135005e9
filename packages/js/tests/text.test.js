import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import { test } from "node:test";

import { toHex } from "../src/index.js";
import { textPipeline } from "../src/text.js";
import { xxh3 } from "../src/xxh3.js";

const SPEC = readFileSync(new URL("../../../book/spec/pipeline-spec.md", import.meta.url), "utf8");

/** The block or table after a marker of the specification, without its fence. */
function after(marker) {
    const found = new RegExp(`<!-- ${marker} -->\\n(?:\`\`\`\\n([^]*?)\\n\`\`\`|((?:\\|.*\\n)+))`).exec(SPEC);
    assert.ok(found !== null, marker);
    return found[1] ?? found[2].trimEnd();
}

/** The rows of a table after a marker; code marks are taken off, and escapes of characters resolved. */
function rowsAfter(marker) {
    const lines = after(marker).split("\n");
    return [lines[0], ...lines.slice(2)].map((line) => {
        const cells = line.slice(1, -1).split("|").map((cell) => cell.trim().replace(/^`(.*)`$/, "$1"));
        const resolve = (_, digits) => (digits === undefined ? "\n" : String.fromCharCode(`0x${digits}`));
        return cells.map((cell) => cell.replace(/\\(?:n|u([0-9a-f]{4}))/g, resolve));
    });
}

const EXAMPLE = JSON.parse(after("description-example"));

function describe(changes) {
    return JSON.stringify({ ...EXAMPLE, ...changes });
}

test("hashes are those of the specification", () => {
    const [, ...rows] = rowsAfter("hash-vectors");
    assert.equal(rows.length, 21);
    for (const [length, wanted] of rows) {
        const letters = Array.from({ length: Number(length.replace(",", "")) }, (_, i) => 97 + (i % 26));
        const [low, high] = xxh3(Uint8Array.from(letters));
        assert.equal(toHex((high << 64n) | low, 128), wanted, `${length} letters`);
    }
    // Of no bytes: the published value.
    assert.deepEqual(xxh3(new Uint8Array(0)), [0x6001c324468d497fn, 0x99aa06d3014798d8n]);
});

test("texts are normalised as in the specification", async () => {
    const [, ...rows] = rowsAfter("normalisation-vectors");
    let checked = 0;
    for (const [normalise, text, wanted] of rows.filter(([steps]) => steps !== "lower")) {
        const pipeline = await textPipeline(describe({ normalise }));
        assert.equal(pipeline.normalise(text), wanted, normalise);
        checked++;
    }
    assert.equal(checked, 6);
});

test("fingerprints are those of the specification", async () => {
    const [heads, ...rows] = rowsAfter("fingerprint-vectors");
    let checked = 0;
    for (const [column, head] of heads.entries()) {
        const changes = Object.fromEntries(head.split(",").map((change) => change.split("=")));
        if (column === 0 || changes.segment === "auto" || changes.segment === "jieba") {
            continue;
        }
        changes.shingle = Number(changes.shingle ?? 1);
        const pipeline = await textPipeline(describe(changes));
        for (const row of rows) {
            const found = pipeline.fingerprint(row[0] === "(empty)" ? "" : row[0]);
            assert.equal(toHex(found ?? 0n, 64), row[column], `${head}: ${row[0]}`);
            checked++;
        }
    }
    assert.equal(checked, 20);
});

test("the text of HTML is that of the specification", async () => {
    const pipeline = await textPipeline(describe({ html: "yes", normalise: "none" }));
    assert.equal(pipeline.normalise(after("html-vector")), `${after("html-vector-text")}\n`);
    const auto = await textPipeline(describe({ html: "auto", normalise: "none" }));
    const cases = [
        ["a <b>c</b>", "a <b>c</b>"],
        ["\uFEFF <!-- x --> <?xml 1?> <HTML>a&amp;b", "\uFEFF   \na&b"],
        ["<!-- <html>", "<!-- <html>"],
        ["<htmlx>a", "<htmlx>a"],
        ["<body>a<!-->b<!--->c<!--d--!>e<!f>g</>h</ i>j<k", "abceghj"],
        ["<body>a<p title='>'>b<p title=\">c", "a\nb"],
        ["<html><script><!--<script></script>--></script>a", "a"],
        ["<html><script><!-->\"<script>\"</script>a", "a"],
        ["<html>&notit; &notin; &#128; &#x110000; <a title='&copy=1'>&copy", "¬it; ∉ € \uFFFD ©"],
        ["<html><div role=Navigation>a<div>b</div>c</div>d", "d"],
        ["<html>a<svg><title><b>x</b></title></svg>b", "a\nb"],
    ];
    for (const [document, wanted] of cases) {
        assert.equal(auto.normalise(document), wanted, document);
    }
});

test("the presets that need nothing else are known, the others are refused by name", async () => {
    const presets = after("presets").split("\n").map((line) => /^(\S+)\s+(.*)$/.exec(line).slice(1));
    const refused = [];
    for (const [name, members] of presets) {
        try {
            const pipeline = await textPipeline(describe(JSON.parse(`{${members}}`)));
            assert.equal(typeof pipeline.fingerprint("one two three"), "bigint");
        } catch (error) {
            assert.equal(error.kind, "unsupported", error.stack);
            refused.push(`${name}: ${error.message}`);
        }
    }
    assert.deepEqual(refused, [
        'compat-1e0ng: unknown pipeline: segment is "joined-chars:4"',
        'compat-mfonda: unknown pipeline: segment is "ascii-words"',
        'compat-simhashcjk: unknown pipeline: feature_hash is "fnv1-64"',
        'compat-yanyiwu: unknown pipeline: segment is "jieba"',
        'compat-text-dedup: unknown pipeline: normalise is "lower"',
    ]);
});

test("a pipeline names the tables of other versions", async () => {
    const tables = { ...JSON.parse(after("tables-example")), jieba: null };
    assert.deepEqual((await textPipeline(describe({ tables }))).otherTables, []);
    const older = await textPipeline(describe({ tables: { ...tables, case: "16.0.0" } }));
    assert.deepEqual(older.otherTables, ["case 16.0.0"]);
});

test("descriptions that are not by the specification are refused", async () => {
    const example = describe({});
    const changes = [
        { version: 1 }, { version: 2 }, { normalise: "nfkc+nfkc" }, { normalise: "" }, { segment: "chars:0" },
        { segment: "chars:4294967296" }, { shingle: 17 }, { shingle: "1" }, { weights: "capped:0" }, { seed: 1 },
        { fingerprint: "minhash", ties: "set" }, { tables: null }, { tables: {} }, { more: 1 }, { stop_words: {} },
        { weights: "toString" }, { segment: ["words"] }, { normalise: ["nfkc"] }, { weights: ["count"] },
        { html: true }, { tables: [] }, { tables: { ...EXAMPLE.tables, nfkc: ["18.0.0"] } },
        { tables: { ...EXAMPLE.tables, more: 1 } },
    ];
    const texts = changes.map(describe);
    texts.push("{", "null", "7", "[]", example.replace('"seed":0,', ""));
    texts.push(example.replace('"seed":0', '"seed":0,"seed":0'));
    texts.push(example.replace('"seed":0', '"seed":0,"se\\u0065d":0'));
    for (const text of texts) {
        await assert.rejects(textPipeline(text), { name: "SimidxError" }, text);
    }
    for (const [text, width] of [[undefined, 64], [example, 63], [example, "64"]]) {
        await assert.rejects(textPipeline(text, width), { name: "SimidxError", kind: "argument" });
    }
});

test("what is not a text is refused", async () => {
    for (const html of ["auto", "no"]) {
        const pipeline = await textPipeline(describe({ html }));
        for (const other of [undefined, null, 5, {}, ["a"]]) {
            assert.throws(() => pipeline.fingerprint(other), { name: "SimidxError", kind: "argument" });
            assert.throws(() => pipeline.normalise(other), { name: "SimidxError", kind: "argument" });
        }
    }
});

test("long documents take no more than their time", async () => {
    const auto = await textPipeline(describe({ html: "auto" }));
    for (const unit of ["a b\n", "\u4e00"]) {
        assert.equal(typeof auto.fingerprint(unit.repeat(150000)), "bigint");
    }
    const start = performance.now();
    auto.normalise(`<html>${"<p>a".repeat(150000)}<script>${"-".repeat(150000)}</script>`);
    assert.ok(performance.now() - start < 5000, `${performance.now() - start} ms`);
});

test("a document without features has no fingerprint", async () => {
    const pipeline = await textPipeline(describe({ fingerprint: "minhash" }));
    for (const text of ["", " ", "… !", "\u{1f600}"]) {
        assert.equal(pipeline.fingerprint(text), undefined);
    }
});
