#!/usr/bin/env node
// Draws the picture of the page that the book shows: screenshot.js INDEX TEXTS ID OUT.png searches an index, built of
// the documents TEXTS, for the text of one of them. It needs Chromium.

import { readFileSync, writeFileSync } from "node:fs";
import { gunzipSync } from "node:zlib";

import { startBrowser } from "../tests/chromium.js";
import { pageFiles, serve } from "../tests/server.js";

const [index, documents, id, out] = process.argv.slice(2);
if (out === undefined) {
    console.error("usage: screenshot.js INDEX.simidx TEXTS.jsonl.gz ID OUT.png");
    process.exit(2);
}
const packed = readFileSync(documents);
const lines = gunzipSync(packed).toString().trimEnd().split("\n");
const { text } = lines.map((line) => JSON.parse(line)).find((document) => document.id === id);
const server = await serve(readFileSync(index));
server.files = { ...pageFiles(), "/texts.jsonl.gz": packed };
const browser = await startBrowser();
try {
    const url = `${server.origin}/page/index.html?texts=/texts.jsonl.gz`;
    const page = await browser.openPage(url, { width: 760, height: 960 });
    await page.until('document.getElementById("status").textContent.includes("fingerprints")');
    await page.evaluate(`document.getElementById("text").value = ${JSON.stringify(text)}`);
    await page.evaluate('document.getElementById("search").requestSubmit()');
    await page.until('document.getElementById("status").textContent.includes(" near ")');
    writeFileSync(out, await page.screenshot());
} finally {
    await browser.close();
    server.close();
}
