// Fingerprints of texts by the pipeline specification: the values that the default pipelines use.

import { SimidxError, checkArgument } from "./error.js";
import { DECOMPOSED, KINDS, LOWER, RUNS } from "./unicode.js";
import { xxh3 } from "./xxh3.js";

const LETTER_OR_NUMBER = 32;
const PICTOGRAPHIC = 64;
const WORD_BREAK = 31;

/** The value of each character in the table of properties. */
const properties = new Uint8Array(0x110000);
{
    const kinds = KINDS.split(" ").map(Number);
    let at = 0;
    for (const [, kind, more] of RUNS.matchAll(/([A-Z])([^A-Z]*)/g)) {
        const end = at + Number.parseInt(more || "0", 36) + 1;
        properties.fill(kinds[kind.charCodeAt(0) - 65], at, end);
        at = end;
    }
}

/** Whether a text contains a letter or number. */
function hasLetterOrNumber(text) {
    return [...text].some((c) => (properties[c.codePointAt(0)] & LETTER_OR_NUMBER) !== 0);
}

// Normalisation (section 5).

const INVISIBLE = /(?!\p{White_Space})[\p{Cc}\u00AD\u200B-\u200F\u202A-\u202E\u2060-\u206F\uFEFF]/gu;
const CJK =
    "\u2E80-\u2FDF\u3005-\u3007\u3021-\u3029\u3031-\u3035\u3038-\u303C\u3041-\u309F\u30A1-\u30FA\u30FC-\u30FF" +
    "\u31F0-\u31FF\u3400-\u4DBF\u4E00-\u9FFF\uF900-\uFAFF\u{1AFF0}-\u{1B16F}\u{20000}-\u{3FFFF}";
const SOUTH_EAST_ASIAN =
    "\u0E01-\u0E3A\u0E40-\u0E4E\u0E81-\u0ECE\u0EDC-\u0EDF\u1000-\u103F\u1050-\u108F\u109A-\u109F\u1780-\u17D3" +
    "\uA9E0-\uA9EF\uAA60-\uAA7F";
const SELECTORS = "\uFE00-\uFE0F\u{E0100}-\u{E01EF}";
const CJK_SPACE = new RegExp(`([${CJK}][${SELECTORS}]*)\\p{White_Space}+(?=(?![\u3099\u309A])[${CJK}])`, "gu");

/** The characters of a table of runs, and what they become. */
function mapOf(runs) {
    const map = new Map();
    let at = 0;
    for (const run of runs.split(" ")) {
        const [skipped, more, ...target] = run.split(",").map((digits) => Number.parseInt(digits || "0", 36));
        at += skipped;
        for (let i = 0; i <= more; i++, at++) {
            const codes = target.map((code, n) => (n === target.length - 1 ? code + i : code));
            map.set(String.fromCodePoint(at), String.fromCodePoint(...codes));
        }
    }
    return map;
}

const decomposed = mapOf(DECOMPOSED);
const lowerCase = mapOf(LOWER);
const upperCase = new Map([...lowerCase].map(([upper, lower]) => [lower, upper]));
const NEW = new RegExp(`[${[...decomposed.keys()].join("")}]`, "gu");

function compose(text) {
    const replace = (c) => {
        const known = decomposed.get(c) || c;
        if (/\p{Cn}/u.test(c) && known === c) {
            throw new SimidxError("unsupported", "the text has combining characters that this engine does not know");
        }
        return known;
    };
    return text.replace(NEW, replace).normalize("NFKC");
}

const toLower = (c) => lowerCase.get(c) ?? c.toLowerCase();
const toUpper = (c) => upperCase.get(c) ?? c.toUpperCase();
const mapped = (text, map) => Array.from(text, map).join("");

function foldCase(text) {
    const fold = (c) => mapped(mapped(toLower(c), toUpper), toLower);
    // Equal to that for ASCII.
    return text.replace(/[A-Z]+/g, (letters) => letters.toLowerCase()).replace(/[^\0-\x7f]/gu, fold);
}

const STEPS = [
    ["controls", (text) => text.replace(INVISIBLE, "")],
    ["nfkc", compose],
    ["case", (text, names) => (names.has("nfkc") ? compose(foldCase(text)) : foldCase(text))],
    ["space", (text) => text.replace(/\p{White_Space}+/gu, " ").replace(/^ | $/g, "")],
    ["cjk-space", (text) => text.replace(CJK_SPACE, "$1")],
];

// Segmentation (section 6).

const SCRIPTS = new RegExp(
    `([${CJK}][${CJK}${SELECTORS}]*)|([${SOUTH_EAST_ASIAN}][${SOUTH_EAST_ASIAN}${SELECTORS}]*)`,
    "gu",
);
const WITH_SELECTORS = new RegExp(`[^][${SELECTORS}]*`, "gu");

/** All substrings of `count` units, joined; a shorter text that is not empty is one. */
function substrings(units, count) {
    const found = [];
    for (let i = 0; i + count <= units.length; i++) {
        found.push(units.slice(i, i + count).join(""));
    }
    return found.length === 0 && units.length > 0 ? [units.join("")] : found;
}

// Values of Word_Break, in the order of tools/js_tables.py.
const [, CR, LF, NEWLINE, EXTEND, ZWJ, FORMAT, KATAKANA, HEBREW, LETTER, SINGLE, DOUBLE, ...others] = Array(19).keys();
const [MID_NUM_LET, MID_LETTER, MID_NUM, NUMERIC, EXTEND_NUM_LET, REGIONAL, SPACE] = others;
const isAny = (kind, ...kinds) => kinds.includes(kind);
const isLineEnd = (kind) => isAny(kind, CR, LF, NEWLINE);
const isLetter = (kind) => isAny(kind, LETTER, HEBREW);
const isWordPart = (kind) => isAny(kind, LETTER, HEBREW, NUMERIC, EXTEND_NUM_LET);
const isMidLetter = (kind) => isAny(kind, MID_LETTER, MID_NUM_LET, SINGLE);
const isMidNumber = (kind) => isAny(kind, MID_NUM, MID_NUM_LET, SINGLE);
const isIgnored = (kind) => isAny(kind, EXTEND, FORMAT, ZWJ);

/** The segments between word boundaries by UAX 29, with the deviation in section 6.1. */
function* wordSegments(text) {
    const characters = [...text];
    const values = characters.map((c) => properties[c.codePointAt(0)]);
    const kinds = values.map((value) => value & WORD_BREAK);
    // The last character up to each one that WB4 does not ignore, and how many regional indicators end there.
    let [start, base, before, regionals] = [0, undefined, undefined, 0];
    for (let i = 0; i < characters.length; i++) {
        if (i > 0 && isBoundary(i, base, before, regionals, kinds, values)) {
            yield characters.slice(start, i).join("");
            start = i;
        }
        if (i === start || !isIgnored(kinds[i]) || isLineEnd(base)) {
            before = base;
            base = kinds[i];
            regionals = base === REGIONAL ? regionals + 1 : 0;
        }
    }
    if (start < characters.length) {
        yield characters.slice(start).join("");
    }
}

/** Whether there is a boundary before character i, where `base` and `before` precede it. */
function isBoundary(i, base, before, regionals, kinds, values) {
    const [last, kind] = [kinds[i - 1], kinds[i]];
    if (last === CR && kind === LF) {
        return false;
    }
    if (isLineEnd(last) || isLineEnd(kind)) {
        return true;
    }
    const isJoined = last === ZWJ && (values[i] & PICTOGRAPHIC) !== 0;
    if (isJoined || (last === SPACE && kind === SPACE) || isIgnored(kind)) {
        return false;
    }
    // What follows a mark in the middle of a word or number.
    let next = i + 1;
    while (next < kinds.length && isIgnored(kinds[next])) {
        next++;
    }
    const isDeviation = next > i + 1 && kinds[next - 1] === ZWJ && (values[next] & PICTOGRAPHIC) !== 0;
    const after = kinds[next];
    if (isWordPart(base) && isWordPart(kind)) {
        return false;
    }
    if (isLetter(base) && isMidLetter(kind) && (isLetter(after) || isDeviation)) {
        return false;
    }
    if (base === HEBREW && (kind === SINGLE || (kind === DOUBLE && (after === HEBREW || isDeviation)))) {
        return false;
    }
    if (isLetter(before) && isMidLetter(base) && isLetter(kind)) {
        return false;
    }
    if (before === HEBREW && base === DOUBLE && kind === HEBREW) {
        return false;
    }
    if (base === NUMERIC && isMidNumber(kind) && (after === NUMERIC || isDeviation)) {
        return false;
    }
    if (before === NUMERIC && isMidNumber(base) && kind === NUMERIC) {
        return false;
    }
    if (isAny(base, KATAKANA, EXTEND_NUM_LET) && isAny(kind, KATAKANA, EXTEND_NUM_LET)) {
        return false;
    }
    return !(base === REGIONAL && kind === REGIONAL && regionals % 2 === 1);
}

/** The tokens of `words`, and with marks those of `code` (section 6). */
function words(text, hasMarks) {
    const tokens = [];
    const addPlain = (plain) => {
        // ASCII white space is a boundary whatever follows it.
        for (const part of plain.split(/[\t\n\f\r ]+/)) {
            for (const segment of wordSegments(part)) {
                if (hasLetterOrNumber(segment)) {
                    tokens.push(segment);
                } else if (hasMarks) {
                    tokens.push(...segment.replace(/\p{White_Space}/gu, ""));
                }
            }
        }
    };
    let end = 0;
    for (const match of text.matchAll(SCRIPTS)) {
        addPlain(text.slice(end, match.index));
        for (const token of substrings(match[0].match(WITH_SELECTORS), match[1] === undefined ? 3 : 2)) {
            tokens.push(token);
        }
        end = match.index + match[0].length;
    }
    addPlain(text.slice(end));
    return tokens;
}

// Features and fingerprints (sections 7 to 9).

function features(tokens, shingle) {
    const found = [];
    for (let i = 0; i + shingle <= tokens.length; i++) {
        found.push(tokens.slice(i, i + shingle).join(" "));
    }
    return found.length === 0 && tokens.length > 0 ? [tokens.join(" ")] : found;
}

/** MinHash of hashes (section 9.2). */
function minHash(hashes, width) {
    let fingerprint = 0n;
    const parts = hashes.map(([low, high]) => [Number(low & 0xffffffffn), Number(high & 0xffffffffn)]);
    for (let i = 0; i < width; i++) {
        const factor = Math.imul(2 * i + 1, 0x9e3779b9);
        let least = Infinity;
        for (const [a, b] of parts) {
            let x = (a + Math.imul(b, factor)) | 0;
            x = Math.imul(x ^ (x >>> 16), 0x7feb352d);
            x = Math.imul(x ^ (x >>> 15), 0x846ca68b);
            least = Math.min(least, (x ^ (x >>> 16)) >>> 0);
        }
        fingerprint |= BigInt(least & 1) << BigInt(i);
    }
    return fingerprint;
}

/** Simhash of hashes with their numbers of occurrences (section 9.1). */
function simHash(hashes, counts, width, tie) {
    let fingerprint = 0n;
    for (let i = 0; i < width; i++) {
        const bit = BigInt(i % 64);
        let votes = 0;
        hashes.forEach((hash, n) => {
            votes += ((hash[i >> 6] >> bit) & 1n) === 1n ? counts[n] : -counts[n];
        });
        fingerprint |= BigInt(votes > 0 || (votes === 0 && tie) ? 1 : 0) << BigInt(i);
    }
    return fingerprint;
}

const WEIGHTS = {
    count: (count) => count,
    uniform: () => 1,
    log2: (count) => 32 - Math.clz32(count),
};

const SEGMENTS = /^(?:words|code|chars:([1-9][0-9]{0,9}))$/;
const CAPPED = /^capped:([1-9][0-9]{0,9})$/;

/** The versions of Unicode of this module (section 11). */
const VERSIONS = { nfkc: "18.0.0", case: "17.0.0", words: "17.0.0" };

const VERSION = '"[0-9]+[.][0-9]+[.][0-9]+"';
const TABLES = new RegExp(`^{"case":${VERSION},"jieba":null,"nfkc":${VERSION},"words":${VERSION}}$`);

const isNull = (value) => value === null;

/** The values that this module knows, for each member of a description. */
const KNOWN = {
    version: (value) => value === 2 || value === 3,
    html: (value) => ["no", "yes", "auto"].includes(value),
    normalise: (value, { version }) => value === "none" || areSteps(String(value).split("+"), version),
    segment: (value, { version }) =>
        SEGMENTS.test(value) && Number(SEGMENTS.exec(value)[1] ?? 1) < 2 ** 32 && (value !== "code" || version > 2),
    user_dictionary: isNull,
    stop_words: isNull,
    shingle: (value) => Number.isInteger(value) && value >= 1 && value <= 16,
    weights: (value) => Object.hasOwn(WEIGHTS, value) || (CAPPED.test(value) && CAPPED.exec(value)[1] < 2 ** 32),
    idf: isNull,
    parts: isNull,
    select: (value) => value === "all",
    feature_hash: (value) => value === "xxh3-128",
    seed: (value) => value === 0,
    fingerprint: (value) => value === "simhash" || value === "minhash",
    ties: (value, { fingerprint }) => value === "clear" || (value === "set" && fingerprint === "simhash"),
    tables: (value) => TABLES.test(JSON.stringify(value, Object.keys(value ?? {}).sort())),
};

function areSteps(names, version) {
    const known = STEPS.map(([name]) => name).filter((name) => version > 2 || name !== "cjk-space");
    return names.every((name, i) => known.includes(name) && names.indexOf(name) === i);
}

/** Checks a description (section 3) and refuses what this module does not know. */
function parse(description) {
    let members;
    const names = [];
    try {
        members = JSON.parse(description);
    } catch (cause) {
        throw new SimidxError("argument", "the pipeline is not JSON", { cause });
    }
    // JSON.parse keeps the last of repeated members. The text has each name once more than its object then.
    for (const [, name] of description.matchAll(/"((?:[^"\\]|\\.)*)"\s*:/g)) {
        names.push(JSON.parse(`"${name}"`));
    }
    const isRepeated = new Set(names).size !== names.length;
    checkArgument(!isRepeated && members instanceof Object, "the pipeline repeats a member");
    for (const name of ["version", ...Object.keys(KNOWN), ...Object.keys(members)]) {
        const value = members[name];
        // Regular expressions would take a list of one string for the string.
        const isNested = name !== "tables" && value instanceof Object;
        const isMember = Object.hasOwn(KNOWN, name) && Object.hasOwn(members, name);
        if (isNested || !isMember || !KNOWN[name](value, members)) {
            throw new SimidxError("unsupported", `unknown pipeline: ${name} is ${JSON.stringify(value)}`);
        }
    }
    return members;
}

class TextPipeline {
    #members;
    #width;
    #textOfHtml;

    constructor(members, width, textOfHtml) {
        this.#members = members;
        this.#width = width;
        this.#textOfHtml = textOfHtml;
    }

    get otherTables() {
        const { tables } = this.#members;
        const names = Object.keys(VERSIONS).filter((name) => tables[name] !== VERSIONS[name]);
        return names.map((name) => `${name} ${tables[name]}`);
    }

    normalise(document) {
        checkArgument(typeof document === "string", "a text is a string");
        const { html, normalise } = this.#members;
        const names = new Set(normalise.split("+"));
        const text = html === "no" ? document : this.#textOfHtml(document, html);
        return STEPS.reduce((sum, [name, step]) => (names.has(name) ? step(sum, names) : sum), text);
    }

    fingerprint(document) {
        const { segment, shingle, weights, fingerprint, ties } = this.#members;
        const text = this.normalise(document?.toWellFormed?.() ?? document);
        const length = SEGMENTS.exec(segment)[1];
        const tokens = length ? substrings([...text], Number(length)) : words(text, segment === "code");
        const counts = new Map();
        for (const feature of features(tokens, shingle)) {
            counts.set(feature, (counts.get(feature) ?? 0) + 1);
        }
        if (counts.size === 0) {
            return undefined;
        }
        const encoder = new TextEncoder();
        const hashes = [...counts.keys()].map((feature) => xxh3(encoder.encode(feature)));
        if (fingerprint === "minhash") {
            return minHash(hashes, this.#width);
        }
        const cap = CAPPED.exec(weights)?.[1];
        const weigh = cap === undefined ? WEIGHTS[weights] : (count) => Math.min(count, cap);
        return simHash(hashes, [...counts.values()].map(weigh), this.#width, ties === "set");
    }
}

/** The pipeline of a description, for fingerprints of `width` bits. */
export async function textPipeline(description, width = 64) {
    checkArgument([32, 64, 128].includes(width), "the width is 32, 64 or 128");
    checkArgument(typeof description === "string", "the file does not say how its fingerprints were made");
    const members = parse(description);
    const html = members.html === "no" ? undefined : await import("./html.js");
    return new TextPipeline(members, width, html?.textOfHtml);
}
