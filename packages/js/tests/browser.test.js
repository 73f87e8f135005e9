// The pages in Chromium: that of this package, and those that the program that SIMIDX names serves and writes. Without
// one of them these tests say that they are skipped.

import assert from "node:assert/strict";
import { execFileSync, spawn } from "node:child_process";
import { mkdtempSync, readFileSync, readdirSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { after, before, test } from "node:test";
import { pathToFileURL } from "node:url";
import { gunzipSync } from "node:zlib";

import { CHROMIUM, startBrowser } from "./chromium.js";
import { pageFiles, serve } from "./server.js";

const PROGRAM = process.env.SIMIDX;
const DOCUMENTS = new URL("../../../data/en.jsonl.gz", import.meta.url);
const missing = CHROMIUM === undefined ? "Chromium is not here" : PROGRAM === undefined && "SIMIDX names no program";
const options = { skip: missing };

let folder;
let browser;
let server;
let texts;

function run(...args) {
    return execFileSync(PROGRAM, ["-q", ...args], { encoding: "utf8", maxBuffer: 1 << 28, cwd: folder, stdio: "pipe" });
}

before(async () => {
    if (missing) {
        return;
    }
    folder = mkdtempSync(join(tmpdir(), "simidx-pages-"));
    run("build", DOCUMENTS.pathname, "-o", "demo.simidx");
    const bytes = readFileSync(join(folder, "demo.simidx"));
    const damaged = Buffer.from(bytes);
    damaged[bytes.length - 60] ^= 1;
    const packed = readFileSync(DOCUMENTS);
    const lines = gunzipSync(packed).toString().trimEnd().split("\n");
    texts = new Map(lines.map((line) => JSON.parse(line)).map(({ id, text }) => [id, text]));
    server = await serve(bytes);
    server.files = { ...pageFiles(), "/demo.simidx": bytes, "/damaged.simidx": damaged, "/texts.jsonl.gz": packed };
    browser = await startBrowser();
});
after(async () => {
    await browser?.close();
    server?.close();
    if (folder !== undefined) {
        rmSync(folder, { recursive: true });
    }
});

/** What the program finds for a text: [distance, fingerprint, ids] of each match. */
function matchesOf(text) {
    const found = new Map();
    for (const line of run("query", "demo.simidx", "--text", text).trimEnd().split("\n")) {
        const [, match, distance, id] = line.split("\t");
        const entry = found.get(match) ?? [Number(distance), match, []];
        entry[2].push(id);
        found.set(match, entry);
    }
    return [...found.values()];
}

const IS_OPEN = 'document.getElementById("status").textContent.includes("fingerprints of 64 bits")';
const HAS_FOUND = 'document.getElementById("status").textContent.includes(" near ")';
const ROWS = `[...document.querySelectorAll("#matches tbody tr")].map(({ cells: [distance, found] }) => [
    Number(distance.textContent),
    found.querySelector("code").textContent,
    [...found.querySelectorAll("div > :first-child")].map((name) => name.textContent),
])`;

async function openPage(query, how) {
    return browser.openPage(`${server.origin}/page/index.html?file=/${query}`, how);
}

async function search(page, text) {
    await page.evaluate(`document.getElementById("text").value = ${JSON.stringify(text)}`);
    await page.evaluate('document.getElementById("search").requestSubmit()');
    await page.until(HAS_FOUND);
}

/** The page has no errors, and nothing that is too wide for a window of 360 pixels or too faint, light or dark. */
async function checkLooks(url, isReady) {
    for (const how of [{ width: 360, height: 640 }, { dark: true }]) {
        const page = await browser.openPage(url, how);
        await page.until(isReady);
        assert.ok((await page.overflow()) <= 0, `${url}: ${await page.overflow()} pixels too wide`);
        assert.deepEqual(await page.faintTexts(), [], url);
        assert.deepEqual(page.complaints, [], url);
    }
}

test("the page gives the answers of the program, with what it read and how texts differ", options, async () => {
    let differences = 0;
    for (const id of ["libyara9", "libmono-ldap4.0-cil", "2to3"]) {
        const text = texts.get(id);
        const page = await openPage("demo.simidx&texts=/texts.jsonl.gz");
        await page.until(IS_OPEN);
        await search(page, text);
        const rows = await page.evaluate(ROWS);
        assert.deepEqual(rows, matchesOf(text));
        const status = await page.evaluate('document.getElementById("status").textContent');
        assert.match(status, /^\d+ match(es)? near [0-9a-f]{16}: \d+ requests? in \d+ round trips?, \d+ kB, \d+ ms\.$/);
        const shown = await page.evaluate(`[...document.querySelectorAll("#matches p")].map((p) =>
            ["del", "ins"].map((kind) => {
                const copy = p.cloneNode(true);
                copy.querySelectorAll(kind).forEach((part) => part.remove());
                return copy.textContent;
            }))`);
        const isSame = (one, other) => assert.deepEqual(one.trim().split(/\s+/), other.trim().split(/\s+/));
        const ids = rows.flatMap(([, , ofRow]) => ofRow);
        assert.equal(shown.length, ids.length);
        shown.forEach(([withoutStruck, withoutAdded], i) => {
            isSame(withoutStruck, texts.get(ids[i]));
            isSame(withoutAdded, text);
        });
        differences += await page.evaluate('document.querySelectorAll("#matches ins").length');
        assert.deepEqual(page.complaints, []);
    }
    assert.ok(differences > 0);
});

test("a folder that was made to be served has the page with the texts", options, async () => {
    const make = new URL("../page/make.js", import.meta.url).pathname;
    const output = join(folder, "site");
    execFileSync(make, [join(folder, "demo.simidx"), "--texts", DOCUMENTS.pathname, "-o", output], { stdio: "pipe" });
    for (const name of ["index.html", "index.simidx", "en.jsonl.gz", ...readdirSync(join(output, "src")).map((n) => `src/${n}`)]) {
        server.files[`/site/${name}`] = readFileSync(join(output, name));
    }
    const page = await browser.openPage(`${server.origin}/site/index.html`);
    await page.until(IS_OPEN);
    await search(page, texts.get("libyara9"));
    assert.deepEqual(await page.evaluate(ROWS), matchesOf(texts.get("libyara9")));
    assert.ok((await page.evaluate('document.querySelectorAll("#matches ins").length')) > 0);
    assert.deepEqual(page.complaints, []);
});

test("the page can be used with the keyboard", options, async () => {
    const page = await openPage("demo.simidx");
    await page.until(IS_OPEN);
    const focused = 'document.activeElement.id || document.activeElement.textContent';
    const order = [];
    while (order.at(-1) !== "text") {
        assert.ok(order.length < 9, order.join(" "));
        await page.press("Tab");
        order.push(await page.evaluate(focused));
    }
    assert.deepEqual(order, ["url", "file", "texts", "Open", "text"]);
    await page.type(texts.get("2to3"));
    await page.press("Tab");
    await page.press("Enter");
    await page.until(HAS_FOUND);
    assert.deepEqual(await page.evaluate(ROWS), matchesOf(texts.get("2to3")));
    // The ring around what has the focus can be seen.
    assert.notEqual(await page.evaluate("getComputedStyle(document.activeElement).outlineStyle"), "none");
});

test("the page fits a narrow window, light and dark", options, async () => {
    await checkLooks(`${server.origin}/page/index.html?file=/demo.simidx`, IS_OPEN);
    for (const how of [{ width: 360, height: 640 }, { dark: true }]) {
        const page = await openPage("demo.simidx&texts=/texts.jsonl.gz", how);
        await page.until(IS_OPEN);
        await search(page, texts.get("libyara9"));
        assert.ok((await page.overflow()) <= 0, `${await page.overflow()} pixels too wide`);
        assert.deepEqual(await page.faintTexts(), []);
    }
});

test("the page says what is wrong with a file", options, async () => {
    const page = await openPage("damaged.simidx");
    await page.until('document.getElementById("error").textContent !== ""');
    assert.match(await page.evaluate('document.getElementById("error").textContent'), /damaged: .*V7/);
    assert.equal(await page.evaluate('getComputedStyle(document.getElementById("error")).display'), "block");
    assert.deepEqual(page.complaints, []);
});

test("the page of the server shows matches", options, async () => {
    const args = ["serve", "demo.simidx", "--listen", "127.0.0.1:0"];
    const program = spawn(PROGRAM, args, { cwd: folder, stdio: ["ignore", "pipe", "pipe"] });
    try {
        const url = await new Promise((resolve, reject) => {
            let said = "";
            const hear = (text) => {
                said += text;
                const [, found] = /listening on (http:\S+)/.exec(said) ?? [];
                if (found !== undefined) {
                    resolve(`${found}/`);
                }
            };
            program.stdout.on("data", hear);
            program.stderr.on("data", hear);
            program.on("exit", () => reject(new Error(said)));
        });
        const [[, fingerprint]] = matchesOf(texts.get("2to3"));
        const isReady = 'document.querySelector("main form textarea") !== null';
        await checkLooks(url, isReady);
        const page = await browser.openPage(`${url}?q=${fingerprint}`);
        assert.match(await page.evaluate("document.body.innerText"), /2to3/);
        await checkLooks(`${url}?q=${fingerprint}`, 'document.body.innerText.includes("2to3")');
    } finally {
        program.kill();
    }
});

test("a report is shown", options, async () => {
    run("report", "demo.simidx", "--texts", DOCUMENTS.pathname, "-o", "report.html");
    const url = pathToFileURL(join(folder, "report.html")).href;
    await checkLooks(url, 'document.querySelectorAll("main section").length > 3');
});
