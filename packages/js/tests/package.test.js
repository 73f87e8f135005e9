import assert from "node:assert/strict";
import { spawnSync } from "node:child_process";
import { existsSync, mkdtempSync, readFileSync, readdirSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { test } from "node:test";

import { CORPUS, rowsOf } from "./corpus.js";

const ROOT = new URL("../", import.meta.url);

function read(path) {
    return readFileSync(new URL(path, ROOT), "utf8");
}

test("the package has the version of the workspace and no dependencies", () => {
    const manifest = JSON.parse(read("package.json"));
    const workspace = /\[workspace\.package\][^]*?\nversion = "(.*)"/.exec(read("../../Cargo.toml"));
    assert.equal(manifest.version, workspace[1]);
    assert.equal(manifest.dependencies, undefined);
    for (const file of Object.values(manifest.exports).flatMap(Object.values)) {
        assert.ok(read(file).length > 0, file);
    }
});

test("modules import nothing but modules of the package", () => {
    for (const file of readdirSync(new URL("src/", ROOT)).filter((name) => name.endsWith(".js"))) {
        const source = read(`src/${file}`);
        for (const [, name] of source.matchAll(/(?:from|import\()\s*"(.*?)"/g)) {
            assert.match(name, /^\.\/[a-z0-9]+\.js$/, file);
        }
    }
    const loadsTexts = /"\.\/(text|xxh3|unicode|html|entities)\.js"/;
    for (const file of ["index.js", "opened.js", "ids.js", "layout.js", "source.js", "reader.js"]) {
        assert.doesNotMatch(read(`src/${file}`), loadsTexts, file);
    }
});

test("a page is made of a sound index only, and replaces nothing", () => {
    const folder = mkdtempSync(join(tmpdir(), "simidx-make-"));
    const make = (...args) => spawnSync(new URL("page/make.js", ROOT).pathname, args, { encoding: "utf8" });
    const output = join(folder, "site");
    try {
        const sound = rowsOf("manifest.tsv").find(({ expect }) => expect === "good");
        const index = new URL(sound.file, CORPUS).pathname;
        assert.equal(make(index, "-o", output).status, 0);
        assert.match(readFileSync(join(output, "index.html"), "utf8"), /"\.\/src\/index\.js"/);
        assert.ok(existsSync(join(output, "src", "index.js")) && existsSync(join(output, "index.simidx")));
        const again = make(index, "-o", output);
        assert.equal(again.status, 2);
        assert.match(again.stderr, /^simidx-page: .*exists already; --force replaces it\n$/);
        assert.equal(make(index, "-o", output, "--force").status, 0);
        writeFileSync(join(folder, "other"), "no index");
        const other = make(join(folder, "other"), "-o", join(folder, "none"));
        assert.equal(other.status, 2);
        assert.ok(!existsSync(join(folder, "none")), other.stderr);
        for (const args of [["missing"], [index, "--texts", "missing"]]) {
            const missing = make(...args, "-o", join(folder, "none"));
            assert.equal(missing.status, 2);
            assert.match(missing.stderr, /^simidx-page: ENOENT.*'missing'\n$/);
            assert.ok(!existsSync(join(folder, "none")));
        }
        for (const name of ["index.simidx", "Index.HTML", "src"]) {
            const texts = join(folder, name);
            writeFileSync(texts, "{}");
            const clash = make(index, "--texts", texts, "-o", join(folder, "none"));
            assert.equal(clash.status, 2);
            assert.match(clash.stderr, /^simidx-page: .*: the folder needs this name itself; rename the texts\n$/);
            assert.ok(!existsSync(join(folder, "none")));
        }
        assert.match(make().stderr, /^simidx-page: usage: /);
    } finally {
        rmSync(folder, { recursive: true });
    }
});
