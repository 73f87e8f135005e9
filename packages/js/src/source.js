// Where the bytes of a file come from: a URL, a Blob, a buffer, or an object of the caller.

import { SimidxError, checkArgument } from "./error.js";

/** What an operation ends with, when reading from a place ended with `cause`. */
function readError(cause, place) {
    const message = `${place}: cannot read: ${cause?.message}`;
    return cause instanceof SimidxError ? cause : new SimidxError("read", message, { cause });
}

/** A file behind a URL, which is read by HTTP ranges. All answers must be of the version of the first one. */
class HttpSource {
    constructor(url, fetch, request) {
        this.url = String(url);
        this.fetch = (...request) => (fetch ?? globalThis.fetch)(...request);
        // Browsers let only one request at a time use a URL in their cache. Others may not know the member.
        this.request = { ...(globalThis.location && { cache: "no-store" }), ...request };
    }

    refuse(kind, reason) {
        return new SimidxError(kind, `${this.url}: ${reason}`);
    }

    async ask(range, signal) {
        try {
            const headers = new Headers(this.request.headers);
            headers.set("Range", `bytes=${range}`);
            return await this.fetch(this.url, { ...this.request, headers, signal });
        } catch (error) {
            throw readError(error, this.url);
        }
    }

    /** The bytes of an answer, where `wanted(first, last, size)` says whether they are those that were asked for. */
    async bytesOf(response, wanted) {
        const header = (name) => response.headers.get(name);
        try {
            if (response.status === 200) {
                throw this.refuse("server", "the server ignores Range: it must answer ranges with 206");
            }
            if (response.status !== 206 && response.status !== 416) {
                throw this.refuse("read", `the server answers ${response.status}`);
            }
            if ((header("Content-Encoding") ?? "identity") !== "identity") {
                throw this.refuse("server", "the server encodes ranges (Content-Encoding)");
            }
            const stated = /^bytes (?:(\d+)-(\d+)|\*)\/(\d+)$/.exec(header("Content-Range"));
            if (stated === null || !Number.isSafeInteger(Number(stated[3]))) {
                throw this.refuse("server", "no Content-Range with a length (across origins it has to be exposed)");
            }
            const [first, last, size] = stated.slice(1).map(Number);
            this.checkVersion(size, header("ETag"), header("Last-Modified"));
            if (response.status === 416 && size === 0) {
                return new Uint8Array(0);
            }
            if (!wanted(first, last, size)) {
                throw this.refuse("server", `the server answers with another range: ${header("Content-Range")}`);
            }
            const bytes = new Uint8Array(await response.arrayBuffer());
            if (bytes.length !== last - first + 1) {
                throw this.refuse("read", "the answer has another length than its range");
            }
            return bytes;
        } catch (error) {
            response.body?.cancel().catch(() => {});
            throw readError(error, this.url);
        }
    }

    checkVersion(size, etag, modified) {
        const version = etag?.startsWith("W/") === false ? etag : modified;
        this.size ??= size;
        this.version ??= version;
        if (this.size === size && version === null) {
            const reason = "neither a strong ETag nor Last-Modified: a replaced file would not be noticed";
            throw this.refuse("server", reason);
        }
        if (this.size !== size || this.version !== version) {
            throw this.refuse("changed", "the file was replaced while it was open");
        }
    }

    /** The last `most` bytes of the file, or all if it has fewer. */
    async tail(most, signal) {
        const response = await this.ask(`-${most}`, signal);
        const isWanted = (first, last, size) => last === size - 1 && first === Math.max(0, size - most);
        const isKnown = response.status === 206 || response.headers.get("Content-Range") === "bytes */0";
        if (isKnown || ![200, 400, 416, 501].includes(response.status)) {
            return this.bytesOf(response, isWanted);
        }
        // The server does not know ranges from the end. The first byte tells the length of the file.
        response.body?.cancel().catch(() => {});
        await this.bytesOf(await this.ask("0-0", signal), (first, last) => first === 0 && last === 0);
        const length = Math.min(most, this.size);
        return this.read(this.size - length, length, signal);
    }

    async read(offset, length, signal) {
        const end = offset + length - 1;
        const response = await this.ask(`${offset}-${end}`, signal);
        return this.bytesOf(response, (first, last) => first === offset && last === end);
    }
}

/** A source that knows its size. */
class RangeSource {
    /**
     * @param ranges `{size, read(offset, length, signal)}`
     * @param view gives a range at once if the source is in memory
     */
    constructor(ranges, view) {
        this.size = ranges.size;
        this.ranges = ranges;
        this.view = view;
    }

    async tail(most, signal) {
        const length = Math.min(most, this.size);
        return length === 0 ? new Uint8Array(0) : this.read(this.size - length, length, signal);
    }

    async read(offset, length, signal) {
        let bytes;
        try {
            bytes = await this.ranges.read(offset, length, signal);
        } catch (error) {
            throw readError(error, "the source");
        }
        if (!(bytes instanceof Uint8Array) || bytes.length !== length) {
            throw new SimidxError("read", `the source did not read ${length} bytes at ${offset}`);
        }
        // A Buffer of node would give views in place of copies.
        return new Uint8Array(bytes.buffer, bytes.byteOffset, length);
    }
}

async function readBlob(blob, offset, length) {
    return new Uint8Array(await blob.slice(offset, offset + length).arrayBuffer());
}

/** The source of what a caller gives to `open`. */
export function sourceOf(input, fetch, request) {
    if (typeof input === "string" || input instanceof URL) {
        return new HttpSource(input, fetch, request);
    }
    const buffer = input instanceof ArrayBuffer ? new Uint8Array(input) : input;
    if (ArrayBuffer.isView(buffer)) {
        const bytes = new Uint8Array(buffer.buffer, buffer.byteOffset, buffer.byteLength);
        const read = (offset, length) => bytes.subarray(offset, offset + length);
        return new RangeSource({ size: bytes.length, read }, read);
    }
    if (input instanceof Blob) {
        return new RangeSource({ size: input.size, read: (at, length) => readBlob(input, at, length) });
    }
    checkArgument(
        typeof input?.read === "function" && Number.isSafeInteger(input.size) && input.size >= 0,
        "a source is a URL, a Blob, a buffer, or an object with size and read(offset, length, signal)",
    );
    return new RangeSource(input);
}
