// Header, footer and directory of a file (section 4 of the format specification): rules V1 to V15 and V20.

import { align, bitLength, crc32, packedLength, readBig, readU64, viewOf, Code } from "./bits.js";
import { check } from "./error.js";
import { PAGE_LENGTH } from "./reader.js";
import { BlockTable } from "./blocks.js";
import { LineTable } from "./lines.js";

const MAGIC = "\x89SIMIDX\n";
const END_MAGIC = 0x53494458;
const HEADER_LENGTH = 16;
const FOOTER_LENGTH = 40;
const DIRECTORY_HEAD_LENGTH = 80;
const SECTION_RECORD_LENGTH = 24;
const LARGEST_COUNT = 2 ** 48;
const MOST_LINE_VALUES = 2 ** 39 - 1;

/** Bytes of the longest directory: more tables than 255 break V8. */
const LONGEST_DIRECTORY = DIRECTORY_HEAD_LENGTH + 255 * 65535 + 65535 * SECTION_RECORD_LENGTH;

const CODECS = { 1: "xor", 2: "gap", 3: "ef", 4: "lines" };
const ID_KINDS = ["none", "number", "string"];

const NAMES = {
    1: "blocks",
    2: "groups",
    4: "numbers",
    5: "places",
    6: "bucketOffsets",
    7: "buckets",
    8: "order",
    9: "blockCounts",
    10: "keyGroups",
    11: "keyEntries",
    12: "stringCode",
    13: "pipeline",
    14: "metadata",
    15: "lines",
    16: "lowBits",
};
const FIRST_ANCILLARY = 0x8000;

/** Names that are paged, for the rules of alignment and length. */
const PAGED = new Set(["groups", "numbers", "places", "bucketOffsets", "buckets", "order", "lines", "lowBits"]);
const OWN_CHECKSUMS = new Set([...PAGED, "blocks", "keyGroups"]);

function checkHeader(bytes) {
    const isMagic = bytes.length >= 8 && [...MAGIC].every((c, i) => bytes[i] === c.charCodeAt(0));
    check(isMagic, "V1", "the file does not begin with the magic");
    const view = viewOf(bytes);
    const isWhole = bytes.length >= HEADER_LENGTH && view.getUint32(12, true) === crc32(bytes.subarray(0, 12));
    check(isWhole, "V2", "the header");
    checkVersion(view, 8);
}

function checkVersion(view, offset) {
    check(view.getUint16(offset, true) === 1, "V3", "unknown version of the format");
    check([32, 64, 128].includes(view.getUint16(offset + 2, true)), "V4", "unknown width");
}

/** The footer, if it is right as far as it tells without the header (V5). */
function footerOf({ size, tail }) {
    if (size < HEADER_LENGTH + FOOTER_LENGTH) {
        return undefined;
    }
    const bytes = tail.subarray(-FOOTER_LENGTH);
    const view = viewOf(bytes);
    const isWhole = view.getUint32(36, true) === END_MAGIC && view.getUint32(32, true) === crc32(bytes.subarray(0, 32));
    return isWhole && readU64(view, 16) === size && view.getUint32(28, true) === 0 ? view : undefined;
}

/** Reads and checks everything up to the places of the sections. */
export async function readLayout(store, reads) {
    const footer = footerOf(store);
    if (footer === undefined || store.tailOffset === 0) {
        const header = await reads.range(0, Math.min(HEADER_LENGTH, store.size));
        checkHeader(header);
        const isSame = viewOf(header).getUint32(8, true) === footer?.getUint32(24, true);
        check(isSame, "V5", "the footer");
    } else {
        checkVersion(footer, 24);
    }
    const width = footer.getUint16(26, true);
    const offset = readU64(footer, 0);
    const length = footer.getUint32(8, true);
    const isPlaced = offset % 64 === 0 && offset + length + FOOTER_LENGTH === store.size;
    const isPossible = length >= DIRECTORY_HEAD_LENGTH && length <= LONGEST_DIRECTORY;
    check(isPlaced && isPossible, "V6", "place of the directory");
    const bytes = await reads.range(offset, length);
    return readDirectory(bytes, width, offset, footer.getUint32(12, true));
}

function readDirectory(bytes, width, directoryOffset, checksum) {
    const view = viewOf(bytes);
    const tableCount = view.getUint16(44, true);
    const sectionCount = view.getUint16(46, true);
    const tableRecordLength = view.getUint16(50, true);
    const sectionsOffset = DIRECTORY_HEAD_LENGTH + tableCount * tableRecordLength;
    const isLongEnough = tableRecordLength >= 16 + width / 8 + width;
    const isLength = bytes.length === sectionsOffset + sectionCount * SECTION_RECORD_LENGTH;
    check(isLongEnough && isLength, "V6", "length of the directory");
    check(crc32(bytes) === checksum, "V7", "checksum of the directory");
    const layout = {
        width,
        fingerprintCount: readU64(view, 0),
        recordCount: readU64(view, 8),
        contentId: readBig(bytes.subarray(16, 32)),
        idBase: view.getBigUint64(32, true),
        blockSize: view.getUint32(40, true),
        maxDistance: view.getUint16(48, true),
        idKind: ID_KINDS[bytes[52]],
        idBits: bytes[53],
        directoryOffset,
    };
    checkCounts(layout, tableCount);
    const isPlain = view.getUint16(54, true) === 0 && readU64(view, 56) === 0 && readU64(view, 72) === 0;
    check(isPlain && layout.idKind !== undefined, "V9", "feature, reserved field or kind of ids in the directory");
    const records = [];
    for (let at = sectionsOffset; at < bytes.length; at += SECTION_RECORD_LENGTH) {
        records.push(sectionRecordOf(view, at));
    }
    const tables = [];
    for (let number = 0; number < tableCount; number++) {
        const start = DIRECTORY_HEAD_LENGTH + number * tableRecordLength;
        tables.push(tableRecordOf(bytes.subarray(start, start + tableRecordLength), number, width));
    }
    tables.forEach((table) => checkTable(table, layout));
    checkSections(records, tables, layout);
    checkIds(layout);
    layout.tables = tables.map((table) => new (table.codec === "lines" ? LineTable : BlockTable)(table, layout));
    return layout;
}

function checkCounts({ width, fingerprintCount, recordCount, blockSize, maxDistance }, tableCount) {
    const isBlockSize = blockSize >= 128 && blockSize <= 8192 && (blockSize & (blockSize - 1)) === 0;
    check(isBlockSize && tableCount >= 1 && tableCount <= 255 && maxDistance <= width, "V8", "design in the directory");
    const isCount = fingerprintCount <= Math.min(2 ** width, LARGEST_COUNT) && fingerprintCount <= recordCount;
    const isRecordCount = recordCount <= LARGEST_COUNT && (fingerprintCount > 0 || recordCount === 0);
    check(isCount && isRecordCount, "V8", "number of fingerprints or records");
}

function sectionRecordOf(view, at) {
    const kind = view.getUint16(at, true);
    const name = kind >= FIRST_ANCILLARY ? "ancillary" : NAMES[kind];
    check(name !== undefined, "V9", `section of kind ${kind}`);
    return {
        kind,
        name,
        table: view.getUint16(at + 2, true),
        checksum: view.getUint32(at + 4, true),
        offset: readU64(view, at + 8),
        length: readU64(view, at + 16),
    };
}

function tableRecordOf(bytes, number, width) {
    const codec = CODECS[bytes[8]];
    const isPlain = bytes.subarray(codec === "lines" ? 10 : 9, 16).every((byte) => byte === 0);
    check(codec !== undefined && isPlain, "V9", `codec or reserved field of table ${number}`);
    return {
        number,
        codec,
        count: readU64(viewOf(bytes), 0),
        addressBits: bytes[9],
        mask: readBig(bytes.subarray(16, 16 + width / 8)),
        lengths: bytes.subarray(16 + width / 8, 16 + width / 8 + width),
    };
}

function checkTable(table, { width, fingerprintCount }) {
    const { number, codec, mask, count, addressBits } = table;
    if (number === 0) {
        // The complement of the highest bits is one less than a power of two.
        const others = mask ^ ((1n << BigInt(width)) - 1n);
        check((others & (others + 1n)) === 0n, "V11", "prefix mask of table 0");
    }
    if (codec === "ef" || codec === "lines") {
        check(
            table.lengths.every((length) => length === 0),
            "V12",
            `code lengths of table ${number}`,
        );
    } else {
        table.code = new Code(table.lengths, "V13", `table ${number}`);
    }
    let isPossible = count <= fingerprintCount && fingerprintCount <= count * 65536;
    if (codec === "lines") {
        const isEnough = 2 ** (addressBits - 8) <= count && fingerprintCount <= count * 256;
        const areBits = addressBits >= 8 && addressBits <= Math.min(width, 48);
        isPossible = areBits && isEnough && fingerprintCount <= MOST_LINE_VALUES;
    }
    check(isPossible, "V14", `number of lines or blocks of table ${number}`);
}

/** Payload of a paged section of this length (section 3.5), negative or of another length if there is none. */
function payloadOf(length) {
    return length - 4 * Math.ceil(length / (PAGE_LENGTH + 4));
}

function pagedLength(payload) {
    return payload + 4 * Math.ceil(payload / PAGE_LENGTH);
}

/** The sections that must or may be there, in order: name, table, and the length or a test of it. */
function* expectedSections(tables, layout) {
    const { recordCount, fingerprintCount, blockSize, idKind, idBits } = layout;
    const inBlocks = tables.filter(({ codec }) => codec !== "lines");
    for (const table of tables) {
        if (table.codec === "lines") {
            const lowBits = packedLength(fingerprintCount, layout.width - table.addressBits);
            yield { name: "lowBits", table, length: pagedLength(lowBits) };
            yield { name: "lines", table, length: pagedLength(64 * table.count) };
        } else {
            yield { name: "blocks", table, length: table.count * blockSize };
        }
    }
    const placesLength = pagedLength(packedLength(recordCount, bitLength(Math.max(0, recordCount - 1))));
    if (idKind !== "none" && recordCount > fingerprintCount) {
        yield { name: "groups", length: pagedLength(64 * Math.ceil(recordCount / 448)) };
    }
    if (idKind === "number") {
        yield { name: "numbers", length: pagedLength(packedLength(recordCount, idBits)) };
    }
    if (idKind === "string") {
        yield { name: "places", length: placesLength };
        yield { name: "bucketOffsets", length: pagedLength(packedLength(Math.ceil(recordCount / 16), idBits)) };
        yield { name: "buckets", isLength: (length) => pagedLength(payloadOf(length)) === length };
    }
    if (idKind !== "none") {
        yield { name: "order", length: placesLength, isOptional: true };
    }
    if (tables[0].codec !== "lines") {
        yield { name: "blockCounts", length: 2 * tables[0].count };
    }
    for (const table of inBlocks) {
        yield { name: "keyGroups", table, isLength: () => true };
    }
    for (const table of inBlocks) {
        yield { name: "keyEntries", table, length: Math.ceil(table.count / 256) * (layout.width / 8 + 12) };
    }
    if (idKind === "string") {
        yield { name: "stringCode", isLength: () => true };
    }
    yield { name: "pipeline", isOptional: true, isLength: (length) => length >= 1 && length <= 65536 };
    yield { name: "metadata", isOptional: true, isLength: (length) => length >= 1 && length <= 1048576 };
}

function alignmentOf({ name, payload }, { blockSize, fingerprintCount }) {
    if (name === "blocks") {
        return Math.min(blockSize, PAGE_LENGTH);
    }
    if (name === "lines" || name === "lowBits") {
        return fingerprintCount > 4100 ? PAGE_LENGTH : 64;
    }
    return PAGED.has(name) && payload > PAGE_LENGTH ? PAGE_LENGTH : 64;
}

/** V15: the sections are those of section 4.5. Gives each table and the layout its sections by name. */
function checkSections(records, tables, layout) {
    let next = 0;
    let end = HEADER_LENGTH;
    const take = (section, table) => {
        const { name } = section;
        section.payload = PAGED.has(name) ? payloadOf(section.length) : section.length;
        const isPlain = !OWN_CHECKSUMS.has(name) || section.checksum === 0;
        const isPlaced = section.offset === align(end, alignmentOf(section, layout));
        check(isPlain && isPlaced && section.table === (table?.number ?? 0), "V15", `section ${next}, ${name}`);
        end = section.offset + section.length;
        next++;
    };
    layout.sections = {};
    for (const { name, table, length, isLength, isOptional } of expectedSections(tables, layout)) {
        const section = records[next];
        if (isOptional && section?.name !== name) {
            continue;
        }
        const isRight = section?.name === name && (isLength ? isLength(section.length) : section.length === length);
        check(isRight, "V15", `section ${next}, ${name}`);
        take(section, table);
        if (table !== undefined) {
            table[name] = section;
        } else {
            layout.sections[name] = section;
        }
    }
    layout.ancillary = records.slice(next);
    for (const section of layout.ancillary) {
        check(section.name === "ancillary", "V15", `section ${next}, ${section.name}`);
        take(section);
    }
    check(layout.directoryOffset === align(end, 64), "V15", "offset of the directory");
}

/** V20. */
function checkIds({ idKind, idBits, idBase, sections }) {
    if (idKind === "number") {
        check(idBits <= 64, "V20", "bits of the ids");
        return;
    }
    const wanted = idKind === "string" ? bitLength(sections.buckets.payload) : 0;
    check(idBits === wanted && idBase === 0n, "V20", "bits or base of the ids");
}
