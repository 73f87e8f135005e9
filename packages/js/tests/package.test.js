import assert from "node:assert/strict";
import { readFileSync, readdirSync } from "node:fs";
import { test } from "node:test";

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
