// Is compiled, not run: what a user of TypeScript writes.

import { open, toHex, SimidxError, type Id, type Match } from "../src/index.js";
import { textPipeline } from "../src/text.js";

export async function use(file: File, signal: AbortSignal): Promise<string[]> {
    const index = await open("https://example.org/docs.simidx", { signal, request: { headers: {} } });
    await open(file);
    await open(new Uint8Array(9));
    await open({ size: 9, read: async (_offset: number, length: number) => new Uint8Array(length) });
    const pipeline = await textPipeline(await index.pipeline(), index.info.width);
    const others: string[] = pipeline.otherTables;
    const fingerprint = pipeline.fingerprint("a text");
    if (fingerprint === undefined) {
        return [];
    }
    const matches: Match[] = await index.query(fingerprint, 3, { signal, ids: true });
    const nearest: Match[] = await index.nearest("9a3f00c1d2e4b576", 10, { maxDistance: 8 });
    const ids: Id[] = await index.ids(fingerprint);
    const found: bigint[] = await index.find(7);
    for await (const entry of index.entries({ idBytes: 1 << 20 })) {
        found.push(entry.fingerprint);
    }
    // @ts-expect-error: a number is no fingerprint.
    await index.query(7);
    // @ts-expect-error: errors are made by the package.
    const error: SimidxError = new SimidxError();
    const digits = [...matches, ...nearest].map((match) => toHex(match.fingerprint, index.info.width));
    return [...others, ...digits, error.kind, String(ids.length)];
}
