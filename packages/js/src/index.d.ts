/** What a file is read from. A string is a URL. */
export type Input = string | URL | Blob | ArrayBuffer | ArrayBufferView | RangeSource;

/** A source of the caller. */
export interface RangeSource {
    /** Length of the file in bytes. */
    readonly size: number;
    /**
     * Reads exactly `length` bytes from `offset` on. All answers must be of the same version of the file. The signal is
     * that of the operation that needs the bytes. An abort ends the operation at once, even if the source ignores the
     * signal. Such a read still counts among the 32 that may run at a time, until the source answers.
     */
    read(offset: number, length: number, signal?: AbortSignal): Uint8Array | Promise<Uint8Array>;
}

export interface OpenOptions {
    /** Aborts the opening; the promise rejects with the reason of the signal. */
    signal?: AbortSignal;
    /**
     * Most bytes of the file that are kept in memory, 32 MiB by default, in addition to what opening reads; `Infinity`
     * keeps all.
     */
    cacheBytes?: number;
    /** Bytes of the end of the file that the first request asks for, 16384 by default; fewer than 40 are 40. */
    tailBytes?: number;
    /** For URLs: used in place of the global `fetch`. */
    fetch?: typeof fetch;
    /** For URLs: members of each request, such as `headers` or `credentials`. */
    request?: RequestInit;
}

export interface OperationOptions {
    /** Aborts the operation; its promise rejects with the reason of the signal. */
    signal?: AbortSignal;
}

export interface QueryOptions extends OperationOptions {
    /** Whether matches get their ids; by default they do, if the file has ids. */
    ids?: boolean;
    /**
     * Most bytes of all ids of an answer, 64 MiB by default; more is an error of the kind `limit`. `Infinity` is no
     * limit.
     */
    idBytes?: number;
}

export interface NearestOptions extends QueryOptions {
    /** Largest distance that is looked at; `Infinity`, the default, is no limit. */
    maxDistance?: number;
}

/** A fingerprint: a BigInt, or as many hexadecimal digits as it has, which is a quarter of the width. */
export type Fingerprint = bigint | string;

/** The id of a record: a BigInt in a file of numbers, else a string. */
export type Id = bigint | string;

export interface Match {
    fingerprint: bigint;
    /** Number of bits in which the fingerprint differs from the query. */
    distance: number;
    /** The ids of its records in ascending order; undefined if the file has none, or none were wanted. */
    ids?: Id[];
}

export interface Info {
    /** Bits per fingerprint. */
    width: 32 | 64 | 128;
    /** Number of distinct fingerprints. */
    fingerprints: number;
    records: number;
    ids: "none" | "number" | "string";
    /** Whether an id is found without reading all ids. */
    hasIdOrder: boolean;
    /** Distance that the tables were chosen for; queries may use any. */
    maxDistance: number;
    /** Content identifier of the records, 32 hexadecimal digits. */
    contentId: string;
    /** Length of the file. */
    bytes: number;
    /** Bytes of a block, in tables whose codec is not `lines`. */
    blockSize: number;
    tables: { codec: "xor" | "gap" | "ef" | "lines"; prefixMask: bigint }[];
}

/** What was asked of the source since the file was opened. */
export interface Traffic {
    requests: number;
    bytes: number;
    /** Requests that had to wait for one another. */
    roundTrips: number;
}

/** An open file. Operations may run at the same time. All reject with a SimidxError, or with the reason of a signal. */
export interface Index {
    readonly info: Info;
    readonly traffic: Traffic;
    /**
     * All fingerprints within a distance, by distance and then by value.
     *
     * @param distance largest Hamming distance; by default that for which the tables were chosen
     */
    query(fingerprint: Fingerprint, distance?: number, options?: QueryOptions): Promise<Match[]>;
    /** The `count` nearest fingerprints, by distance and then by value; 1 by default. */
    nearest(fingerprint: Fingerprint, count?: number, options?: NearestOptions): Promise<Match[]>;
    /** The ids of exactly this fingerprint, none if the file lacks it. An error if the file has no ids. */
    ids(fingerprint: Fingerprint, options?: QueryOptions): Promise<Id[]>;
    /**
     * The fingerprints of all records with an id, ascending. Reads all ids if the file has no id order. An error if the
     * ids of the file are of the other type, or if more than 2^20 records have this one.
     *
     * @param id a string, or a BigInt or safe integer
     */
    find(id: Id | number, options?: OperationOptions): Promise<bigint[]>;
    contains(fingerprint: Fingerprint, options?: OperationOptions): Promise<boolean>;
    /**
     * All fingerprints in ascending order, with their ids if the file has ids. Reads the whole of a table.
     *
     * `idBytes` bounds the ids of 256 entries, which are read together.
     */
    entries(options?: QueryOptions): AsyncGenerator<{ fingerprint: bigint; ids?: Id[] }, void, undefined>;
    /** The description of how documents became fingerprints, for `textPipeline`; undefined if the file has none. */
    pipeline(options?: OperationOptions): Promise<string | undefined>;
    /** The metadata of the file. */
    metadata(options?: OperationOptions): Promise<Map<string, string>>;
}

/** Opens a file of simidx, format version 1. Rejects with a SimidxError, or with the reason of the signal. */
export function open(input: Input, options?: OpenOptions): Promise<Index>;

/** The lower-case hexadecimal digits of a fingerprint of `width` bits. */
export function toHex(fingerprint: bigint, width: number): string;

/**
 * - `not-simidx`, `unsupported`, `damaged`: the classes of the format specification;
 * - `changed`: the file was replaced while it was open;
 * - `server`: the server does not serve ranges of one version of a file;
 * - `read`: the source failed, see `cause`;
 * - `argument`: an argument is invalid;
 * - `limit`: the ids of the answer are longer than `idBytes`, or a look-up finds more than 2^20 records.
 *
 * `unsupported` is also the kind of a pipeline or text for which no fingerprint can be computed.
 */
export type ErrorKind =
    "not-simidx" | "unsupported" | "damaged" | "changed" | "server" | "read" | "argument" | "limit";

export class SimidxError extends Error {
    private constructor();
    readonly kind: ErrorKind;
    /** The broken rule of the format specification, such as `V21`. */
    readonly rule?: string;
    /** Where the rule is broken, in words. */
    readonly place?: string;
}
