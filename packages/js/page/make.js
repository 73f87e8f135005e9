#!/usr/bin/env node
// Writes a folder to put on a web server: the page, the modules that it needs, and an index.

import {
    accessSync, constants, copyFileSync, existsSync, mkdirSync, openAsBlob, readFileSync, readdirSync, writeFileSync,
} from "node:fs";
import { basename, join } from "node:path";
import { parseArgs } from "node:util";

import { open } from "../src/index.js";

const USAGE = "usage: simidx-page INDEX -o FOLDER [--texts FILE.jsonl] [--force]";
const HERE = new URL("./", import.meta.url);

async function main() {
    const options = {
        output: { type: "string", short: "o" },
        texts: { type: "string" },
        force: { type: "boolean" },
        help: { type: "boolean", short: "h" },
    };
    const { values, positionals } = parseArgs({ options, allowPositionals: true });
    if (values.help) {
        console.log(USAGE);
        return;
    }
    const [index, ...others] = positionals;
    const { output, texts, force } = values;
    if (index === undefined || others.length > 0 || output === undefined) {
        throw new Error(USAGE);
    }
    for (const file of [index, texts].filter((file) => file !== undefined)) {
        accessSync(file, constants.R_OK);
    }
    const name = texts && basename(texts);
    // Some disks take names that differ in their case for the same.
    if (["index.simidx", "index.html", "src"].includes(name?.toLowerCase())) {
        throw new Error(`${texts}: the folder needs this name itself; rename the texts`);
    }
    // Damaged files and other files are refused here, not in the browser.
    await open(await openAsBlob(index));
    const page = join(output, "index.html");
    if (existsSync(page) && !force) {
        throw new Error(`${page}: exists already; --force replaces it`);
    }
    mkdirSync(join(output, "src"), { recursive: true });
    for (const name of readdirSync(new URL("../src/", HERE)).filter((name) => name.endsWith(".js"))) {
        copyFileSync(new URL(`../src/${name}`, HERE), join(output, "src", name));
    }
    copyFileSync(index, join(output, "index.simidx"));
    let html = readFileSync(new URL("index.html", HERE), "utf8").replaceAll('"../src/', '"./src/');
    if (texts !== undefined) {
        copyFileSync(texts, join(output, name));
        html = html.replace("<html ", `<html data-texts="${encodeURIComponent(name)}" `);
    }
    writeFileSync(page, html);
    console.log(`wrote ${output}; serve it with any web server that supports range requests`);
}

main().catch((error) => {
    console.error(`simidx-page: ${error.message}`);
    process.exitCode = 2;
});
