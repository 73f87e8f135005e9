// What an operation reads, keeps and waits for at most.

import assert from "node:assert/strict";
import { test } from "node:test";

import { open } from "../src/index.js";
import { partsOf } from "../src/opened.js";
import { Reads } from "../src/reader.js";
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
