// The test files of the repository.

import { readFileSync } from "node:fs";

export const CORPUS = new URL("../../../tests/data/v1/", import.meta.url);

/** The rows of a table of the corpus, by the names of its columns. */
export function rowsOf(name) {
    const lines = readFileSync(new URL(name, CORPUS), "utf8").trimEnd().split("\n");
    const names = lines[0].split("\t");
    return lines.slice(1).map((line) => {
        const fields = line.split("\t");
        return Object.fromEntries(names.map((column, i) => [column, fields[i]]));
    });
}

export function bytesOf(file) {
    return readFileSync(new URL(file, CORPUS));
}

/** A source that reads asynchronously from bytes, as ranges over a network. */
export function rangesOf(bytes) {
    return {
        size: bytes.length,
        read: async (offset, length) => new Uint8Array(bytes.subarray(offset, offset + length)),
    };
}
