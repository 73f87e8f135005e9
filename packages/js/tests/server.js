// A small server of one file on the loopback interface, for the tests.

import { createServer } from "node:http";
import { once } from "node:events";
import { readFileSync, readdirSync } from "node:fs";

/** The range of a request as [first, last], undefined if it asks for none or the server does not know its kind. */
function rangeOf(header, size, state) {
    const [, first, last] = /^bytes=(\d*)-(\d*)$/.exec(header ?? "") ?? [];
    if (first === undefined || state.ranges === "none" || (first === "" && state.ranges === "from the start")) {
        return undefined;
    }
    const start = first === "" ? Math.max(0, size - Number(last)) : Number(first);
    return [start, first === "" ? size - 1 : Math.min(Number(last), size - 1)];
}

/** The page and the modules of this package, by their paths on a server. */
export function pageFiles() {
    const root = new URL("../", import.meta.url);
    const paths = ["page", "src"].flatMap((part) => readdirSync(new URL(part, root)).map((name) => `${part}/${name}`));
    return Object.fromEntries(paths.map((path) => [`/${path}`, readFileSync(new URL(path, root))]));
}

const TYPES = { html: "text/html", js: "text/javascript" };

/**
 * Serves `state.bytes`, which has `length` and `subarray`. The state can be changed while the server runs:
 *
 * - `files`: bytes by the path of a request, in place of `bytes`;
 * - `headers`: further headers of each answer, by default a strong ETag;
 * - `ranges`: `all`, `from the start`, `none`;
 * - `delay`: milliseconds before each answer;
 * - `answer(response, first, last)`: answers instead.
 *
 * It counts `requests`, and `waves`: times at which a request came while no other was being answered.
 */
export async function serve(bytes) {
    const state = { bytes, files: {}, headers: { ETag: '"1"' }, ranges: "all", delay: 0 };
    Object.assign(state, { requests: 0, waves: 0, open: 0 });
    const server = createServer(async (request, response) => {
        state.requests++;
        state.waves += state.open === 0 ? 1 : 0;
        state.open++;
        response.on("close", () => state.open--);
        await new Promise((resolve) => setTimeout(resolve, state.delay));
        const path = request.url.replace(/\?.*/, "");
        const content = state.files[path] ?? state.bytes;
        const size = content.length;
        const range = rangeOf(request.headers.range, size, state);
        if (range !== undefined && size === 0) {
            response.writeHead(416, { ...state.headers, "Content-Range": "bytes */0" }).end();
        } else if (range === undefined) {
            const type = TYPES[path.split(".").pop()] ?? "application/octet-stream";
            response.writeHead(200, { ...state.headers, "Content-Type": type }).end(content);
        } else if (state.answer !== undefined) {
            state.answer(response, ...range);
        } else {
            const [first, last] = range;
            response.writeHead(206, { ...state.headers, "Content-Range": `bytes ${first}-${last}/${size}` });
            response.end(content.subarray(first, last + 1));
        }
    });
    server.listen(0, "127.0.0.1");
    await once(server, "listening");
    state.origin = `http://127.0.0.1:${server.address().port}`;
    state.url = `${state.origin}/file.simidx`;
    state.close = () => {
        server.closeAllConnections();
        server.close();
    };
    return state;
}
