/**
 * What every failure of this package is, but for an abort: that rejects with the reason of the signal.
 *
 * `kind` is one of
 * - `not-simidx`, `unsupported`, `damaged`: the classes of the format specification; `rule` names the broken rule;
 * - `changed`: the file was replaced while it was open;
 * - `server`: the server cannot serve ranges of one version of a file;
 * - `read`: the source failed, see `cause`;
 * - `argument`: an argument is invalid;
 * - `limit`: the ids of the answer are longer than `idBytes`, or a look-up finds more than 2^20 records.
 */
export class SimidxError extends Error {
    /** @param details may have a `rule`, a `place` and a `cause` */
    constructor(kind, message, details = {}) {
        super(message, details);
        this.name = "SimidxError";
        this.kind = kind;
        this.rule = details.rule;
        this.place = details.place;
    }
}

const CLASSES = { V1: "not-simidx", V3: "unsupported", V4: "unsupported", V9: "unsupported" };

/** The error for a broken rule of section 12.2 of the specification at a place of the file. */
export function broken(rule, place) {
    const kind = CLASSES[rule] ?? "damaged";
    return new SimidxError(kind, `${kind}: ${place} (${rule})`, { rule, place });
}

/** Rejects the file by a rule unless the condition holds. */
export function check(condition, rule, place) {
    if (!condition) {
        throw broken(rule, place);
    }
}

/** Refuses an invalid argument of the caller. */
export function checkArgument(condition, message) {
    if (!condition) {
        throw new SimidxError("argument", message);
    }
}

/** Refuses a number of the caller that is neither an integer from 0 on nor `other`. */
export function checkNumber(name, value, other) {
    checkArgument((Number.isSafeInteger(value) && value >= 0) || value === other, `${name} is an integer from 0 on`);
}

/** Refuses what is not a signal, and throws the reason of one that has aborted. */
export function checkSignal(signal) {
    checkArgument(signal === undefined || signal instanceof AbortSignal, "signal is an AbortSignal");
    signal?.throwIfAborted();
}
