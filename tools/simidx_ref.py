#!/usr/bin/env python3
"""Reference reader of simidx files, format version 1.

A simidx file holds a set of fingerprints (simhash values of 32, 64 or 128 bits) in compressed,
permuted tables, and optionally the ids of the records that have these fingerprints.  Each function
names the section of the specification of the format (as in "§7.2") or the rule of section 12 (as
in "V15") that it follows.  The program prefers clarity to speed and needs only the standard library
of Python 3.9 or later.

    simidx_ref.py dump FILE [--table T] [--permuted]   the fingerprints, with their ids if any
    simidx_ref.py verify FILE                          check all rules
    simidx_ref.py query FILE HEX... [-k K]             the members near to each query
    simidx_ref.py find FILE ID...                      the fingerprints of the records with an id
    simidx_ref.py info FILE                            header, directory and metadata as JSON
    simidx_ref.py check MANIFEST                       check a list of test files, and the vectors

The exit status is 0 for success, 1 for a damaged file, and 2 for a file that is not simidx or
needs a newer reader, for an I/O error and for wrong usage.
"""

import argparse
import json
import pathlib
import struct
import sys
import zlib
from bisect import bisect_left, bisect_right
from itertools import accumulate, combinations, islice
from math import comb
from typing import NamedTuple

MAGIC = bytes.fromhex("89 53 49 4d 49 44 58 0a")
END_MAGIC = b"XDIS"
HEADER_LEN = 16
FOOTER_LEN = 40
DIRECTORY_FIXED_LEN = 80
SECTION_RECORD_LEN = 24
CODECS = {1: "xor", 2: "gap", 3: "ef", 4: "lines"}
CODEC_XOR, CODEC_GAP, CODEC_EF, CODEC_LINES = CODECS
ID_KINDS = ["none", "number", "string"]
ID_NONE, ID_NUMBER, ID_STRING = range(3)
KIND_BLOCKS, KIND_GROUPS = 1, 2
(KIND_NUMBERS, KIND_PLACES, KIND_BUCKET_OFFSETS, KIND_BUCKETS, KIND_ID_ORDER, KIND_BLOCK_COUNTS,
 KIND_KEY_GROUPS, KIND_KEY_ENTRIES, KIND_STRING_CODE, KIND_PIPELINE, KIND_METADATA, KIND_LINES,
 KIND_LOW_BITS) = range(4, 17)
SECTIONS_OF_IDS = (KIND_GROUPS, *range(KIND_NUMBERS, KIND_ID_ORDER + 1))
KNOWN_KINDS = (KIND_BLOCKS, KIND_GROUPS, *range(KIND_NUMBERS, KIND_LOW_BITS + 1))
PAGED_KINDS = (*SECTIONS_OF_IDS, KIND_LINES, KIND_LOW_BITS)
CHECKED_BY_RECORD = (KIND_BLOCK_COUNTS, KIND_KEY_ENTRIES, KIND_STRING_CODE, KIND_PIPELINE,
                     KIND_METADATA)
FIRST_ANCILLARY_KIND = 0x8000
KIND_SKETCHES = 0x8001
KNOWN_INCOMPATIBLE_FEATURES = 0

MAX_COUNT = 2**48
MAX_TABLE_COUNT = 255
MAX_CODEWORD_LEN = 12
MAX_VALUES_IN_BLOCK = 65536
MAX_STRING_LEN = 65535
MAX_PIPELINE_LEN = 65536
MAX_METADATA_LEN = 1048576
MAX_SKETCH_BITS = 512
MAX_FEATURES_LEN = 1024
MAX_PLAN_NODES = 2**14  # of this reader: where a plan is harder to prove, it scans
MAX_PROBES = 2**12  # of this reader: where a plan has more probes, it scans
BLOCK_CHECKSUM_LEN = 4
PAGE_LEN = 4096
CHUNK_LEN = 64
CHUNK_IDS = 448
KEYS_PER_GROUP = 256
LINE_LEN = 64
LINE_ADDRESS_BITS = 8
LINE_MARKS_LEN = 27
RANK_BITS = 39
MAX_ADDRESS_BITS = 48
MOST_IN_SHORT_PAGES = 4100
BUCKET_LEN = 16
BUCKETS_PER_RUN = 16
PREFIX_SYMBOLS = 128
SAME_PREFIX = 63
PREFIX_ESCAPE = 127
MAX_SYMBOL_HEADER = 31


# ---- Rejection (§1, §12) ------------------------------------------------------------------------


class Rejected(Exception):
    """A rule of section 12 is broken."""

    CLASSES = {1: "not-simidx", 3: "unsupported", 4: "unsupported", 9: "unsupported"}

    def __init__(self, rule, message):
        super().__init__(message)
        self.rule = rule
        self.error_class = self.CLASSES.get(rule, "damaged")

    def __str__(self):
        return f"{self.error_class} V{self.rule}: {self.args[0]}"


class UsageError(Exception):
    """The request does not fit the file."""


def require(condition, rule, message):
    """Reject the file by `rule` unless the condition holds."""
    if not condition:
        raise Rejected(rule, message)


# ---- Conventions (§2, §3) -----------------------------------------------------------------------


def ceil_div(x, y):
    """§2: x / y rounded up."""
    return -(-x // y)


def align(x, alignment):
    """§2: x rounded up to a multiple of the alignment."""
    return ceil_div(x, alignment) * alignment


def little_endian(data):
    """§3.1: the unsigned number that the bytes stand for."""
    return int.from_bytes(data, "little")


def read_bits(data, position, count):
    """§3.2: the number of `count` bits at stream bit `position`, which must lie in the data."""
    end = position + count
    first_byte, end_byte = position // 8, ceil_div(end, 8)
    number = int.from_bytes(data[first_byte:end_byte], "big")
    return (number >> (8 * end_byte - end)) & ((1 << count) - 1)


def place(kind, table, number):
    """§3.4: what binds a checksum to the place of what it covers."""
    return zlib.crc32(struct.pack("<HHQ", kind, table, number))


def bound_checksum(data, kind, table, number):
    """§3.4: the checksum of some bytes, bound to their place."""
    return zlib.crc32(data) ^ place(kind, table, number)


def packed_len(count, bits):
    """§3.3: the length in bytes of a packed array."""
    return ceil_div(count * bits, 8)


def paged_len(payload_len):
    """§3.5: the length of a paged section."""
    return payload_len + 4 * ceil_div(payload_len, PAGE_LEN)


def paged_payload_len(section_len):
    """§3.5: the payload length of a paged section, or None if the section length is invalid."""
    payload_len = section_len - 4 * ceil_div(section_len, PAGE_LEN + 4)
    return payload_len if payload_len >= 0 and paged_len(payload_len) == section_len else None


class Paged:
    """§3.5: the payload of a paged section; each page is checked before its first use (V28)."""

    def __init__(self, data, section):
        self.data = data
        self.kind = section.kind
        self.table = section.table
        self.offset = section.offset
        self.payload_len = paged_payload_len(section.length)
        self.checked = set()

    def check_page(self, page):
        """§3.5, V28: the checksum of one page, unless it was checked before."""
        if page in self.checked:
            return
        start = PAGE_LEN * page
        end = min(start + PAGE_LEN, self.payload_len)
        checksum_at = self.offset + self.payload_len + 4 * page
        stored = little_endian(self.data[checksum_at:checksum_at + 4])
        content = self.data[self.offset + start:self.offset + end]
        require(stored == bound_checksum(content, self.kind, self.table, page), 28,
                f"wrong checksum of page {page} at {self.offset + start}")
        self.check_content(page, content)
        self.checked.add(page)

    def check_content(self, page, content):
        """The rules of a kind of section for the content of each page."""

    def check_all_pages(self):
        """§3.5, V28: the checksums of all pages."""
        for page in range(ceil_div(self.payload_len, PAGE_LEN)):
            self.check_page(page)

    def read(self, start, end):
        """The payload bytes [start, end), which must lie in the payload."""
        for page in range(start // PAGE_LEN, ceil_div(end, PAGE_LEN)):
            self.check_page(page)
        return self.data[self.offset + start:self.offset + end]

    def packed_number(self, bits, i):
        """§3.3: number i of the packed array that the payload is."""
        start = i * bits
        first_byte = start // 8
        data = self.read(first_byte, ceil_div(start + bits, 8))
        return read_bits(data, start - 8 * first_byte, bits)


class EliasFano:
    """§3.6: the stream EF(count, limit) that starts at a stream bit of some data.

    Bits after the end of the data are zero.
    """

    def __init__(self, data, start, count, limit):
        self.data, self.start, self.count = data, start, count
        self.low_bits = 0
        while count << (self.low_bits + 1) <= limit:
            self.low_bits += 1
        self.high_len = count + (limit >> self.low_bits) + 1
        self.end = start + self.high_len + count * self.low_bits

    def high_bits(self):
        """The places of the high bits that are 1, counted from the first high bit."""
        available = max(0, min(self.high_len, 8 * len(self.data) - self.start))
        text = f"{read_bits(self.data, self.start, available):0{available}b}"
        return [place for place, bit in enumerate(text) if bit == "1"]

    def numbers(self):
        """The numbers; the stream must lie in the data and have `count` high bits that are 1."""
        lows_at = self.start + self.high_len
        return [(place - i << self.low_bits)
                + read_bits(self.data, lows_at + i * self.low_bits, self.low_bits)
                for i, place in enumerate(self.high_bits())]


def increasing(numbers):
    """Whether the numbers are strictly increasing."""
    return all(x > y for y, x in zip(numbers, numbers[1:]))


# ---- Tables and permutations (§5) ---------------------------------------------------------------


class Permutation:
    """§5: the bit order of one table.

    Neighbouring bits of the same kind (in the mask or not) stay together, so the permutation is
    held as a list of runs of bits: (lowest bit in the fingerprint, lowest bit in the permuted
    value, number of bits).
    """

    def __init__(self, prefix_mask, width):
        order = [bit for bit in range(width) if not prefix_mask >> bit & 1]
        order += [bit for bit in range(width) if prefix_mask >> bit & 1]
        self.runs = []
        for target, source in enumerate(order):
            if self.runs:
                run_source, run_target, length = self.runs[-1]
                if run_source + length == source:
                    self.runs[-1] = (run_source, run_target, length + 1)
                    continue
            self.runs.append((source, target, 1))

    def apply(self, fingerprint):
        """§5: the permuted value of a fingerprint."""
        permuted = 0
        for source, target, length in self.runs:
            permuted |= (fingerprint >> source & ((1 << length) - 1)) << target
        return permuted

    def invert(self, permuted):
        """§5: the fingerprint of a permuted value."""
        fingerprint = 0
        for source, target, length in self.runs:
            fingerprint |= (permuted >> target & ((1 << length) - 1)) << source
        return fingerprint


# ---- Canonical Huffman codes (§6) ---------------------------------------------------------------


def is_valid_code(lengths):
    """§6: whether code lengths are a valid code."""
    used = [length for length in lengths if length != 0]
    if any(length > MAX_CODEWORD_LEN for length in used):
        return False
    if len(used) <= 1:
        return used in ([], [1])
    total = sum(1 << (MAX_CODEWORD_LEN - length) for length in used)
    return total == 1 << MAX_CODEWORD_LEN


def decoding_table(lengths):
    """§6: for each value of the next 12 stream bits, (symbol, codeword length), or None."""
    entries = [None] * (1 << MAX_CODEWORD_LEN)
    codeword = 0
    for length in range(1, MAX_CODEWORD_LEN + 1):
        codeword *= 2
        free_bits = MAX_CODEWORD_LEN - length
        for symbol, symbol_length in enumerate(lengths):
            if symbol_length == length:
                start = codeword << free_bits
                for i in range(start, start + (1 << free_bits)):
                    entries[i] = (symbol, length)
                codeword += 1
    return entries


# ---- Blocks (§7) --------------------------------------------------------------------------------


class Table:
    """A table record of the directory (§4.4), with what follows from it."""

    def __init__(self, number, record, width):
        self.number = number
        self.block_count, self.codec, self.address_bits, self.reserved = struct.unpack_from(
            "<QBB6s", record)
        mask_end = 16 + width // 8
        self.prefix_mask = little_endian(record[16:mask_end])
        self.code_lengths = list(record[mask_end:mask_end + width])  # what follows is unknown

    @property
    def is_in_lines(self):
        """§4.5: whether the table is in lines; else it is in blocks."""
        return self.codec == CODEC_LINES

    def prepare(self, width):
        """Set up what every table needs, when the record is known to be valid."""
        self.prefix_bits = bin(self.prefix_mask).count("1")
        self.permutation = Permutation(self.prefix_mask, width)
        self.decoded = {}

    def prepare_blocks(self, blocks_offset, keys):
        """Set up what the decoding of blocks needs."""
        self.decoding = decoding_table(self.code_lengths)
        self.blocks_offset = blocks_offset
        self.keys = keys

    def prepare_lines(self, lines, low_bits, value_count, width):
        """Set up what the decoding of lines needs."""
        self.lines = lines
        self.low_bits = low_bits
        self.value_count = value_count
        self.low_bit_count = width - self.address_bits


def count_bits(block_size):
    """§7.1: the bits of the count in a block of this size."""
    return 3 + block_size.bit_length() - 1


def coded_values(index, table, block, start, before, stored_count, where):
    """§7.2.1, §7.2.2, V22, V23: the stored values of a block of codec 1 or 2, and the end of the
    stream, which starts at bit `start`.  `before` is the key of the preceding block, or None."""
    padded = block + bytes(2)  # so that 12 bits can be taken at every position up to the end
    position = start
    values, value = [], before
    while len(values) < stored_count:
        if value is None:
            value = read_bits(padded, position, index.width)
            position += index.width
        else:
            entry = table.decoding[read_bits(padded, position, MAX_CODEWORD_LEN)]
            require(entry is not None, 22, f"{where}: no such codeword")
            h, codeword_len = entry
            tail_at = position + codeword_len
            position = tail_at + h
            # The rest would be codewords of zeros only, which exist like this one: V22 holds.
            require(position <= 8 * len(block), 23,
                    f"{where}: the values do not end within the block")
            tail = read_bits(padded, tail_at, h)
            if table.codec == CODEC_XOR:
                value = ((value >> h | 1) << h) + tail
            else:
                value += (1 << h) + tail
        values.append(value)
    return values, position


def elias_fano_values(block, start, before, key, stored_count, where):
    """§7.2.3, V22, V23: the stored values of a block of codec 3, and the end of the stream."""
    if stored_count == 0:
        return [], start
    base = 0 if before is None else before + 1
    limit = key - base - 1
    require(stored_count <= limit + 1, 22, f"{where}: more values than fit between the keys")
    stream = EliasFano(block, start, stored_count, limit)
    require(len(stream.high_bits()) == stored_count, 22, f"{where}: wrong number of high bits")
    require(stream.end <= 8 * len(block), 23, f"{where}: the values do not end within the block")
    return [base + number for number in stream.numbers()], stream.end


def block_values(index, table, b):
    """§7.3: the permuted values of block b of a table, known to be valid (V21 to V27)."""
    if b in table.decoded:
        return table.decoded[b]
    where = f"block {b} of table {table.number}"
    start = table.blocks_offset + b * index.block_size
    block = index.data[start:start + index.block_size]
    checksum = bound_checksum(block[BLOCK_CHECKSUM_LEN:], KIND_BLOCKS, table.number, b)
    require(little_endian(block[:BLOCK_CHECKSUM_LEN]) == checksum, 21, f"{where}: wrong checksum")
    count_at, count_len = 8 * BLOCK_CHECKSUM_LEN, count_bits(index.block_size)
    stored_count = read_bits(block, count_at, count_len)  # without the key
    values_at = count_at + count_len
    before, key = table.keys[b - 1] if b > 0 else None, table.keys[b]
    if table.codec == CODEC_EF:
        values, position = elias_fano_values(block, values_at, before, key, stored_count,
                                             where)
    else:
        values, position = coded_values(index, table, block, values_at, before, stored_count,
                                        where)
    require(increasing(values), 24, f"{where}: not strictly increasing")
    if values:
        require(before is None or values[0] > before, 24,
                f"{where}: not above the key of the preceding block")
        require(values[-1] < key, 25, f"{where}: the last stored value is not below the key")
    require(read_bits(block, position, 8 * len(block) - position) == 0, 26,
            f"{where}: bits after the last value are not zero")
    values.append(key)
    if table.number == 0:
        require(len(values) == index.block_counts[b], 27, f"{where}: not as the block count says")
    table.decoded[b] = values
    return values


def table_values(index, table):
    """All permuted values of a table, in order."""
    if table.is_in_lines:
        return values_in_lines(table, 0, (1 << index.width) - 1)
    return [value for b in range(table.block_count) for value in block_values(index, table, b)]


# ---- Lines (§8.2) -------------------------------------------------------------------------------


class Line(NamedTuple):
    """§8.2: a line; marks and addresses are numbers with a bit for each mark and each address."""

    head: int
    marks: int
    addresses: int

    @property
    def rank(self):
        return self.head & (1 << RANK_BITS) - 1

    @property
    def is_crowded(self):
        return self.head >> RANK_BITS == 1

    @property
    def first(self):
        """The number of the first finer line of a crowded line."""
        return self.addresses & LOW_64

    @property
    def extra_bits(self):
        """The bits by which finer lines have more leading bits than their crowded line."""
        return self.addresses >> 64 & LOW_64

    def count(self, below):
        """The number of values of a line that is not crowded."""
        return self.marks.bit_length() if below > 0 else ones(self.addresses)


def ones(number):
    """The number of bits that are set."""
    return bin(number).count("1")


def line_of(data):
    """§8.2: the line that 64 bytes are."""
    marks_end = 5 + LINE_MARKS_LEN
    return Line(*map(little_endian, (data[:5], data[5:marks_end], data[marks_end:])))


class LinePages(Paged):
    """§8.2: the lines of a table."""

    def check_content(self, page, content):
        """V44, as far as a line itself shows it."""
        for at in range(0, len(content), LINE_LEN):
            line = line_of(content[at:at + LINE_LEN])
            n = (PAGE_LEN * page + at) // LINE_LEN
            require(line.is_crowded or ones(line.marks) in (0, ones(line.addresses)), 44,
                    f"line {n} of table {self.table}: wrong number of marks")

    def line(self, n):
        """Line n, which must be one of the table."""
        return line_of(self.read(LINE_LEN * n, LINE_LEN * (n + 1)))


def read_line(table, n, below):
    """§8.2, V44 to V46: line n of a table, whose addresses leave this many bits below."""
    line, where = table.lines.line(n), f"line {n} of table {table.number}"
    if line.is_crowded:
        require(1 <= line.extra_bits <= below, 46, f"{where}: wrong number of extra bits")
        require(line.first + (1 << line.extra_bits) <= table.block_count, 46,
                f"{where}: its finer lines are not lines of the table")
        return line
    marks = ones(line.addresses) if below > 0 else 0
    require(ones(line.marks) == marks, 44, f"{where}: wrong number of marks")
    require(line.rank + line.count(below) <= table.value_count, 45,
            f"{where}: it has more values than are left of the table")
    return line


def top_lines(table, lo, hi):
    """§8.2: the numbers of the top lines that can hold values from lo to hi."""
    after = table.low_bit_count + LINE_ADDRESS_BITS
    return range(lo >> after, (hi >> after) + 1)


def lines_between(table, lo, hi):
    """§8.2, V44 to V46: the lines that can hold values from lo to hi, in order of the values, as
    (line, leading bits, number of bits below the addresses)."""
    met = 0

    def visit(n, leading, below):
        nonlocal met
        met += 1
        require(met <= table.block_count, 46, f"table {table.number}: the lines have no end")
        line = read_line(table, n, below)
        if not line.is_crowded:
            yield line, leading, below
            return
        below -= line.extra_bits
        after = below + LINE_ADDRESS_BITS
        for s in range(1 << line.extra_bits):
            finer = leading << line.extra_bits | s
            if lo >> after <= finer <= hi >> after:
                yield from visit(line.first + s, finer, below)

    for n in top_lines(table, lo, hi):
        yield from visit(n, n, table.low_bit_count)


def low_bits_of_rank(table, rank):
    """§8.2: the low bits of the value with that rank."""
    return table.low_bits.packed_number(table.low_bit_count, rank)


def addresses_of_values(line, below):
    """§8.2: the address of each value of a line that is not crowded, in order."""
    addresses = [a for a in range(1 << LINE_ADDRESS_BITS) if line.addresses >> a & 1]
    if below == 0:
        return addresses
    return [addresses[ones(line.marks & (1 << i) - 1)] for i in range(line.count(below))]


def values_of_line(table, line, leading, below):
    """§8.2, V24 and V45: the permuted values of a line that is not crowded, in order."""
    low = [low_bits_of_rank(table, line.rank + i) for i in range(line.count(below))]
    above = [(leading << LINE_ADDRESS_BITS | address) << below
             for address in addresses_of_values(line, below)]
    w = table.low_bit_count
    values = [high >> w << w | low for high, low in zip(above, low)]
    require(increasing(values), 24, f"table {table.number}: the values of a line are not in order")
    require(all(value >> below == high >> below for value, high in zip(values, above)), 45,
            f"table {table.number}: low bits are not those of the line and the address")
    return values


def values_in_lines(table, lo, hi):
    """§8.2: the permuted values from lo to hi of a table in lines, in order."""
    found = []
    for place_of_line in lines_between(table, lo, hi):
        if place_of_line not in table.decoded:
            table.decoded[place_of_line] = values_of_line(table, *place_of_line)
        found += [value for value in table.decoded[place_of_line] if lo <= value <= hi]
    return found


def find_in_lines(table, x):
    """§8.2: the rank of a value of a table in lines, or None if the table does not hold it."""
    below = table.low_bit_count
    line = read_line(table, x >> below + LINE_ADDRESS_BITS, below)
    while line.is_crowded:
        below -= line.extra_bits
        s = x >> below + LINE_ADDRESS_BITS & (1 << line.extra_bits) - 1
        line = read_line(table, line.first + s, below)
    address, low = x >> below & 0xff, x & (1 << table.low_bit_count) - 1
    if not line.addresses >> address & 1:
        return None
    before = ones(line.addresses & (1 << address) - 1)
    marks = [i for i in range(8 * LINE_MARKS_LEN) if line.marks >> i & 1]
    i = before
    if below > 0:
        i = marks[before - 1] + 1 if before > 0 else 0
    while True:
        if low_bits_of_rank(table, line.rank + i) == low:
            return line.rank + i
        if below == 0 or line.marks >> i & 1:
            return None
        i += 1


# ---- Keys (§8.1) --------------------------------------------------------------------------------


class KeyGroup(NamedTuple):
    """§8.1: a key entry, with what follows from it and its predecessor."""

    base: int  # the least value that the first key can have
    last: int
    others: int  # the number of keys but the last
    start: int
    end: int
    checksum: int

    @property
    def limit(self):
        return self.last - self.base - 1


def read_key_entries(data, width, block_count, groups_len, what):
    """§8.1, V17: the key groups of a table, by their entries."""
    key_len = width // 8
    entry_len = key_len + 12
    groups, base, start = [], 0, 0
    for g, at in enumerate(range(0, len(data), entry_len)):
        last = little_endian(data[at:at + key_len])
        end, checksum = struct.unpack_from("<QI", data, at + key_len)
        others = min(KEYS_PER_GROUP, block_count - KEYS_PER_GROUP * g) - 1
        group = KeyGroup(base, last, others, start, end, checksum)
        require(last >= base, 17, f"{what}: the last keys of groups are not strictly increasing")
        length = 0
        if others > 0:
            require(others <= group.limit + 1, 17, f"{what}: more keys in group {g} than fit")
            length = ceil_div(EliasFano(b"", 0, others, group.limit).end, 8)
        require(end == start + length, 17, f"{what}: group {g} has a wrong length")
        groups.append(group)
        base, start = last + 1, end
    require(start == groups_len, 17, f"{what}: the groups have a wrong length")
    return groups


def read_key_group(data, table, g, group, what):
    """§8.1, V16 and V17: the keys of a group."""
    require(group.checksum == bound_checksum(data, KIND_KEY_GROUPS, table, g), 16,
            f"{what}: wrong checksum of group {g}")
    if group.others == 0:
        return [group.last]
    stream = EliasFano(data, 0, group.others, group.limit)
    require(len(stream.high_bits()) == group.others, 17,
            f"{what}: wrong number of high bits in group {g}")
    numbers = stream.numbers()
    require(increasing(numbers) and numbers[-1] <= group.limit, 17,
            f"{what}: the keys of group {g} are not strictly increasing")
    require(read_bits(data, stream.end, 8 * len(data) - stream.end) == 0, 17,
            f"{what}: bits after the keys of group {g} are not zero")
    return [group.base + number for number in numbers] + [group.last]


# ---- Ids (§9) -----------------------------------------------------------------------------------


def rank_of(index, fingerprint):
    """§8: the rank of a fingerprint that some table holds (V36 if table 0 does not)."""
    table = index.tables[0]
    if table.is_in_lines:
        rank = find_in_lines(table, fingerprint)
        require(rank is not None, 36, "a fingerprint of another table is not in table 0")
        return rank
    b = bisect_left(table.keys, fingerprint)
    values = block_values(index, table, b) if b < table.block_count else []
    j = bisect_left(values, fingerprint)
    require(j < len(values) and values[j] == fingerprint, 36,
            "a fingerprint of another table is not in table 0")
    return index.ranks_before[b] + j


def fingerprint_of_rank(index, rank):
    """§8: the fingerprint with a rank, which must be below the number of fingerprints."""
    if index.tables[0].is_in_lines:
        values = table_values(index, index.tables[0])
        require(rank < len(values), 35, "table 0 has a wrong number of values")
        return values[rank]
    b = bisect_right(index.ranks_before, rank) - 1
    return block_values(index, index.tables[0], b)[rank - index.ranks_before[b]]


def chunk_count(index):
    """§9.2: the number of chunks of the groups."""
    return index.paged[KIND_GROUPS].payload_len // CHUNK_LEN


def chunk_number(index, j):
    """§9.2: the number of set bits before chunk j."""
    return little_endian(index.paged[KIND_GROUPS].read(CHUNK_LEN * j, CHUNK_LEN * j + 8))


def read_chunk(index, j):
    """§9.2: the number of set bits before chunk j, and the id indices of its set bits."""
    chunk = index.paged[KIND_GROUPS].read(CHUNK_LEN * j, CHUNK_LEN * (j + 1))
    bits = read_bits(chunk, 64, CHUNK_IDS)
    starts = [CHUNK_IDS * j + i for i in range(CHUNK_IDS) if bits >> (CHUNK_IDS - 1 - i) & 1]
    before = little_endian(chunk[0:8])
    if j == 0:
        require(before == 0 and starts[:1] == [0], 29, "the groups start wrongly")
    return before, starts


def require_below_record_count(index, starts):
    """V29: no bit is set after that of the last id."""
    require(all(start < index.record_count for start in starts), 29,
            "the groups have a bit after that of the last id")


def all_group_starts(index):
    """§9.2, V29: for each rank, the index of its first id."""
    if KIND_GROUPS not in index.paged:
        return list(range(index.fingerprint_count))
    all_starts = []
    for j in range(chunk_count(index)):
        before, starts = read_chunk(index, j)
        require(before == len(all_starts), 29, f"chunk {j} of the groups has a wrong number")
        require_below_record_count(index, starts)
        all_starts += starts
    require(len(all_starts) == index.fingerprint_count, 29,
            "the groups have a wrong number of set bits")
    return all_starts


def group_of_rank(index, rank):
    """§9.2: the range of the indices of the ids of one rank; V29 at stage `id`."""
    if KIND_GROUPS not in index.paged:
        return rank, rank + 1
    chunks = chunk_count(index)
    j, end = 0, chunks
    while end - j > 1:
        middle = (j + end) // 2
        if chunk_number(index, middle) <= rank:
            j = middle
        else:
            end = middle
    before, starts = read_chunk(index, j)
    require(before <= rank < before + len(starts), 29, f"rank {rank} is not in chunk {j}")
    first, later = starts[rank - before], starts[rank - before + 1:]
    while not later and j + 1 < chunks:
        j += 1
        before, later = read_chunk(index, j)
        require(before == rank + 1, 29, f"chunk {j} of the groups has a wrong number")
    require(bool(later) == (rank + 1 < index.fingerprint_count), 29,
            "the groups have a wrong number of set bits")
    require_below_record_count(index, [first] + later[:1])
    return first, later[0] if later else index.record_count


def rank_of_id(index, i):
    """§9.2: the rank of id i; V29 at stage `id`."""
    if KIND_GROUPS not in index.paged:
        return i
    before, starts = read_chunk(index, i // CHUNK_IDS)
    set_bits = before + bisect_right(starts, i)
    require(1 <= set_bits <= index.fingerprint_count, 29, "the groups have a wrong number")
    return set_bits - 1


def index_bits(index):
    """§9.4, §9.6: the bits of a place or an index of an id."""
    return max(index.record_count - 1, 0).bit_length()


def read_number(index, i):
    """§9.3, V30: id i of a file with numbers."""
    number = index.id_base + index.paged[KIND_NUMBERS].packed_number(index.id_bits, i)
    require(number < 2**64, 30, f"id {i} is above 64 bits")
    return number


def read_place(index, i):
    """§9.4, V37: the place of id i."""
    place_of_id = index.paged[KIND_PLACES].packed_number(index_bits(index), i)
    require(place_of_id < index.record_count, 37, f"id {i} has a place after the last one")
    return place_of_id


def read_order(index, p):
    """§9.6, V37: the index of the id at position p of the id order."""
    i = index.paged[KIND_ID_ORDER].packed_number(index_bits(index), p)
    require(i < index.record_count, 37, f"position {p} of the id order is not of an id")
    return i


def bucket_count(index):
    """§9.4: the number of buckets."""
    return ceil_div(index.record_count, BUCKET_LEN)


def bucket_range(index, g):
    """§9.4, V32: where bucket g starts and ends in the payload."""
    offsets, payload_len = index.paged[KIND_BUCKET_OFFSETS], index.paged[KIND_BUCKETS].payload_len
    start, end = offsets.packed_number(index.id_bits, g), payload_len
    if g + 1 < bucket_count(index):
        end = offsets.packed_number(index.id_bits, g + 1)
    require(start < end <= payload_len and (g == 0) == (start == 0), 32,
            f"the offset of bucket {g} or the next one is wrong")
    return start, end


class StringCode:
    """§9.5: the string code: symbols as (bytes, whether they end the string), None for an escape."""

    def __init__(self, prefix_lengths, symbol_lengths, symbols):
        self.prefixes = decoding_table(prefix_lengths)
        self.symbols = [symbols[entry[0]] + (entry[1],)
                        for entry in decoding_table(symbol_lengths)]


def read_string_code(data):
    """§9.5, V42: the string code."""
    counts_end = PREFIX_SYMBOLS + 2 * MAX_CODEWORD_LEN
    require(len(data) >= counts_end, 42, "the string code is too short")
    prefix_lengths = list(data[:PREFIX_SYMBOLS])
    require(is_valid_code(prefix_lengths), 42, "the prefix lengths are not a valid code")
    counts = struct.unpack_from(f"<{MAX_CODEWORD_LEN}H", data, PREFIX_SYMBOLS)
    require(2 <= sum(counts) <= 1 << MAX_CODEWORD_LEN, 42, "wrong number of symbols")
    symbol_lengths = [length for length, count in enumerate(counts, 1) for _ in range(count)]
    require(is_valid_code(symbol_lengths), 42, "the symbol lengths are not a valid code")
    symbols, position = [], counts_end
    for _ in symbol_lengths:
        require(position < len(data), 42, "a symbol is missing")
        header = data[position]
        end = position + 1 + header % 16
        require(header <= MAX_SYMBOL_HEADER and end <= len(data), 42, "a symbol is not valid")
        symbols.append((None if header == 0 else data[position + 1:end], header >= 16))
        position = end
    require(position == len(data), 42, "bytes after the last symbol")
    return StringCode(prefix_lengths, symbol_lengths, symbols)


def decode_bucket(code, data, count, predecessor):
    """§9.5, V31: each string of a bucket, and the bit of the bucket at which it ends."""
    padded = data + bytes(2)  # so that 12 bits can be taken at every position up to the end
    position, prefix, string = 0, 0, predecessor

    def read(bits):
        """The next bits, which must be in the bucket."""
        nonlocal position
        start, position = position, position + bits
        require(position <= 8 * len(data), 31, "the strings do not end within the bucket")
        return read_bits(data, start, bits)

    for _ in range(count):
        entry = code.prefixes[read_bits(padded, position, MAX_CODEWORD_LEN)]
        require(entry is not None, 31, "no such codeword of a prefix length")
        read(entry[1])
        prefix = read(16) if entry[0] == PREFIX_ESCAPE else prefix + entry[0] - SAME_PREFIX
        require(0 <= prefix <= len(string), 31, "a prefix is longer than the predecessor")
        parts, length, ends = [string[:prefix]], prefix, False
        while not ends:
            content, ends, codeword_len = code.symbols[read_bits(padded, position,
                                                                 MAX_CODEWORD_LEN)]
            read(codeword_len)
            parts.append(bytes([read(8)]) if content is None else content)
            length += len(parts[-1])
            require(length <= MAX_STRING_LEN, 31, "a string is too long")
        string = b"".join(parts)
        yield string, position


def require_utf8(string):
    """V31: a string is UTF-8."""
    try:
        string.decode("utf-8")
    except UnicodeDecodeError:
        raise Rejected(31, "a string is not UTF-8") from None


def bucket_bytes(index, g):
    """§9.4: the bytes of bucket g."""
    return index.paged[KIND_BUCKETS].read(*bucket_range(index, g))


def bucket_strings(index, g):
    """§9.5: each string of bucket g, and the bit of the bucket at which it ends, one by one."""
    predecessor = b""
    if g % BUCKETS_PER_RUN != 0:
        predecessor = first_string(index, g - g % BUCKETS_PER_RUN)
    count = min(BUCKET_LEN, index.record_count - BUCKET_LEN * g)
    return decode_bucket(index.string_code, bucket_bytes(index, g), count, predecessor)


def first_string(index, g):
    """§9.5: the first string of bucket g."""
    return next(bucket_strings(index, g))[0]


def all_strings(index):
    """§9.4, §9.5, V31, V32, V38: all strings of the dictionary."""
    strings = []
    for g in range(bucket_count(index)):
        for string, end in bucket_strings(index, g):
            require_utf8(string)
            require(not strings or strings[-1] <= string, 38, f"the strings of bucket {g} decrease")
            strings.append(string)
        data = bucket_bytes(index, g)
        require(ceil_div(end, 8) == len(data), 31, f"bytes after the last string of bucket {g}")
        require(read_bits(data, end, 8 * len(data) - end) == 0, 31,
                f"bits after the last string of bucket {g} are not zero")
    require(strings or index.paged[KIND_BUCKETS].payload_len == 0, 32, "bytes without buckets")
    return strings


def read_string(index, i):
    """§9.1: id i of a file with strings."""
    g, n = divmod(read_place(index, i), BUCKET_LEN)
    string, _ = next(islice(bucket_strings(index, g), n, None))
    require_utf8(string)
    return string


def read_id(index, i):
    """§9.1: id i."""
    return read_number(index, i) if index.id_kind == ID_NUMBER else read_string(index, i)


def ids_of_rank(index, rank):
    """§9.1: the ids of one fingerprint, in stored order."""
    return [read_id(index, i) for i in range(*group_of_rank(index, rank))]


def all_ids(index):
    """§9: for each rank the list of its ids; checks V28 to V32, V37 and V38 completely."""
    for paged in index.paged.values():
        paged.check_all_pages()
    starts = all_group_starts(index)
    if index.id_kind == ID_NUMBER:
        ids = [read_number(index, i) for i in range(index.record_count)]
        check_order_of_numbers(index, ids)
    else:
        dictionary = all_strings(index)
        places = [read_place(index, i) for i in range(index.record_count)]
        check_places(index, places, dictionary)
        ids = [dictionary[p] for p in places]
    return [ids[start:end] for start, end in zip(starts, starts[1:] + [index.record_count])]


def check_order_of_numbers(index, ids):
    """V37: the id order is that of the numbers."""
    if KIND_ID_ORDER in index.paged:
        order = [read_order(index, p) for p in range(index.record_count)]
        require(order == sorted(order, key=lambda i: (ids[i], i)) and increasing(sorted(order)), 37,
                "the id order is not that of the numbers")


def check_places(index, places, dictionary):
    """V37, and V38 for equal ids: the places, and the id order if there is one."""
    require(len(set(places)) == len(places), 37, "two ids have the same place")
    order = [0] * len(places)
    for i, p in enumerate(places):
        order[p] = i
    if KIND_ID_ORDER in index.paged:
        stored = [read_order(index, p) for p in range(index.record_count)]
        require(stored == order, 37, "the id order is not the inverse of the places")
    require(increasing(list(zip(dictionary, order))), 38,
            "equal ids are not in the order of their indices")


def find_number(index, number):
    """§9.7: the indices of the ids that equal a number."""
    if KIND_ID_ORDER not in index.paged:
        return [i for i in range(index.record_count) if read_number(index, i) == number]
    first, end = 0, index.record_count
    while first < end:
        middle = (first + end) // 2
        if read_number(index, read_order(index, middle)) < number:
            first = middle + 1
        else:
            end = middle
    found = []
    while first < index.record_count:
        i = read_order(index, first)
        if read_number(index, i) != number:
            break
        found.append(i)
        first += 1
    return found


def places_of_string(index, wanted):
    """§9.7: the places of the ids that equal a string."""
    first, end = 0, bucket_count(index)
    while first < end:
        middle = (first + end) // 2
        if first_string(index, middle) < wanted:
            first = middle + 1
        else:
            end = middle
    found = []
    for g in range(max(first - 1, 0), bucket_count(index)):
        for n, (string, _) in enumerate(bucket_strings(index, g)):
            if string > wanted:
                return found
            if string == wanted:
                found.append(BUCKET_LEN * g + n)
    return found


def find_string(index, string):
    """§9.7: the indices of the ids that equal a string."""
    places = places_of_string(index, string)
    if KIND_ID_ORDER not in index.paged:
        wanted = set(places)
        return [i for i in range(index.record_count) if wanted and read_place(index, i) in wanted]
    found = [read_order(index, p) for p in places]
    for p, i in zip(places, found):
        require(read_place(index, i) == p, 37, f"position {p} of the id order is not of its id")
    return found


def find_id(index, wanted):
    """§9.7: the indices of the ids that equal a number or a string."""
    return (find_number if index.id_kind == ID_NUMBER else find_string)(index, wanted)


# ---- Metadata and content identifier (§10) ------------------------------------------------------


def read_metadata(data):
    """§10.2, V41: the metadata as a dictionary in stored order."""
    metadata, position, last_key = {}, 0, None
    while position < len(data):
        require(position + 5 <= len(data), 41, "a metadata entry is cut")
        key_len, value_len = struct.unpack_from("<BI", data, position)
        key_end = position + 5 + key_len
        end = key_end + value_len
        require(key_len > 0 and end <= len(data), 41, "a metadata entry has a wrong length")
        key, value = data[position + 5:key_end], data[key_end:end]
        require(last_key is None or key > last_key, 41,
                "the keys of the metadata are not strictly increasing")
        try:
            metadata[key.decode("utf-8")] = value.decode("utf-8")
        except UnicodeDecodeError:
            raise Rejected(41, "a metadata entry is not UTF-8") from None
        position, last_key = end, key
    return metadata


LOW_64 = 2**64 - 1


class Sketches:
    """§10.4: the sketches of a file."""

    HEAD_LEN = 18

    def __init__(self, index, section):
        """V43."""
        data = index.data[section.offset:section.end]
        require(len(data) >= self.HEAD_LEN, 43, "the head of the sketches is cut")
        checksum, self.method, self.bits, count, features_len = struct.unpack_from("<IHHQH", data)
        head_len = align(self.HEAD_LEN + features_len, 64)
        head = data[:head_len]
        require(len(head) == head_len, 43, "the head of the sketches is cut")
        require(checksum == zlib.crc32(head[4:]), 43, "wrong checksum of the head of the sketches")
        if self.method != 1:
            return
        require(self.bits % 64 == 0 and 64 <= self.bits <= MAX_SKETCH_BITS, 43, "bits of a sketch")
        require(1 <= features_len <= MAX_FEATURES_LEN, 43, "length of the features")
        features, padding = head[self.HEAD_LEN:][:features_len], head[self.HEAD_LEN + features_len:]
        try:
            self.features = features.decode("utf-8")
        except UnicodeDecodeError:
            require(False, 43, "the features are not UTF-8")
        require(not any(padding), 43, "the head of the sketches does not end with zeros")
        with_ids = index.id_kind != ID_NONE
        wanted = index.record_count if with_ids else index.fingerprint_count
        payload_len = wanted * self.bits // 8
        require(count == wanted and len(data) - head_len == paged_len(payload_len), 43,
                "the sketches are not as many as the records")
        pages = Section(KIND_SKETCHES, 0, 0, section.offset + head_len, section.length - head_len)
        self.paged = Paged(index.data, pages)
        self.count = count

    def read(self, i):
        """§10.4: sketch i as bytes."""
        length = self.bits // 8
        return self.paged.read(length * i, length * (i + 1))


def read_sketches(index):
    """§10.4: the sketches, or None if there are none of a known method."""
    sections = [section for section in index.sections if section.kind == KIND_SKETCHES]
    require(len(sections) <= 1, 43, "there are two sections of sketches")
    sketches = [Sketches(index, section) for section in sections]
    return next((found for found in sketches if found.method == 1), None)


def check_sketches(index):
    """§10.4: V43, and V28 for the pages of the sketches."""
    sketches = read_sketches(index)
    if sketches is not None:
        sketches.paged.check_all_pages()


def words_of(width, fingerprint, record_id):
    """§10.3: the words of a fingerprint and an id, which is None without ids."""
    words = [fingerprint] if width <= 64 else [fingerprint & LOW_64, fingerprint >> 64]
    if isinstance(record_id, int):
        words.append(record_id)
    elif record_id is not None:
        words += [little_endian(record_id[i:i + 8]) for i in range(0, len(record_id), 8)]
        words.append(len(record_id))
    return words


def digest(words):
    """§10.3: the digest of an item."""
    a, b = 0x243f6a8885a308d3, 0
    for word in words:
        product = (a ^ word) * 0x9e3779b97f4a7c15
        low, high = product & LOW_64, product >> 64
        a = high ^ low
        b = (b ^ word) + high & LOW_64
    return a + (b << 64)


# ---- Query (§11) --------------------------------------------------------------------------------


def distance(x, y):
    """§2: the Hamming distance."""
    return bin(x ^ y).count("1")


def address_bit_set(prefix_mask, width, address_bits):
    """§11: A_t, the fingerprint bits that a table moves to its `address_bits` highest ones."""
    order = sorted(range(width), key=lambda bit: (prefix_mask >> bit & 1, bit), reverse=True)
    return sum(1 << bit for bit in order[:address_bits])


def is_complete(masks, width, flips, max_distance):
    """§11: whether each set of at most max_distance bits has, for some t, at most `flips[t]` bits
    in `masks[t]`.

    False also where that takes too long to prove.
    """
    max_distance = min(max_distance, width)
    # Bits that belong to the same masks are alike: bit t of a membership is set for mask t.
    capacity = {}
    for bit in range(width):
        membership = sum((mask >> bit & 1) << t for t, mask in enumerate(masks))
        capacity[membership] = capacity.get(membership, 0) + 1
    nodes = 0

    def violated(counts, depth):
        """Whether some set of max_distance bits that extends the one reached violates the plan.

        `counts` has, for each mask, how many bits of the set are in it.  A set that violates the
        plan must have a further bit in the first mask that has too few.
        """
        nonlocal nodes
        nodes += 1
        if nodes > MAX_PLAN_NODES:
            return True
        t = next((t for t, count in enumerate(counts) if count <= flips[t]), None)
        if t is None:
            return True
        if depth == max_distance:
            return False
        for membership, free in capacity.items():
            if free > 0 and membership >> t & 1:
                capacity[membership] -= 1
                further = [count + (membership >> i & 1) for i, count in enumerate(counts)]
                found = violated(further, depth + 1)
                capacity[membership] += 1
                if found:
                    return True
        return False

    return not violated([0] * len(masks), 0)


def plan(index, max_distance):
    """§11: a complete plan as a list of (table, address bits, flips).

    This reader looks at plans of all tables with their prefix bits and equal flips only, and scans
    table 0 where none of them is complete or cheap.
    """
    masks = [table.prefix_mask for table in index.tables]
    for flips in range(max_distance + 1):
        probes = sum(comb(table.prefix_bits, i)
                     for table in index.tables for i in range(flips + 1))
        if probes > MAX_PROBES:
            break
        if is_complete(masks, index.width, [flips] * len(masks), max_distance):
            return [(table, table.prefix_bits, flips) for table in index.tables]
    return [(index.tables[0], 0, 0)]


def values_between(index, table, lo, hi):
    """§11: the permuted values of a table from lo to hi."""
    if table.is_in_lines:
        return values_in_lines(table, lo, hi)
    first, last = bisect_left(table.keys, lo), bisect_left(table.keys, hi)
    return [value for b in range(first, min(last + 1, table.block_count))
            for value in block_values(index, table, b) if lo <= value <= hi]


def query(index, fingerprint, max_distance):
    """§11: the set of fingerprints within the distance of the query."""
    matches = set()
    for table, address_bits, flips in plan(index, max_distance):
        permuted = table.permutation.apply(fingerprint)
        address_bit_list = [1 << bit for bit in range(index.width - address_bits, index.width)]
        low_bits = (1 << (index.width - address_bits)) - 1
        for flip_count in range(flips + 1):
            for pattern in combinations(address_bit_list, flip_count):
                probed = permuted ^ sum(pattern)
                for value in values_between(index, table, probed & ~low_bits, probed | low_bits):
                    if distance(value, permuted) <= max_distance:
                        matches.add(table.permutation.invert(value))
    return matches


# ---- Container (§4) and the rules of the stage `open` (§12) -------------------------------------


class Section(NamedTuple):
    """§4.4: a section record."""

    kind: int
    table: int
    checksum: int
    offset: int
    length: int

    @property
    def end(self):
        return self.offset + self.length


class Index:
    """An open file, for which the rules of the stage `open` are known to hold."""

    def __init__(self, data):
        self.data = data
        self.read_header()
        self.read_footer()
        self.read_directory()
        self.check_directory()
        self.check_sections()
        self.load_sections()

    def read_header(self):
        """§4.2: V1 to V4."""
        data = self.data
        require(data[:len(MAGIC)] == MAGIC, 1, "the file does not start with the magic bytes")
        require(len(data) >= HEADER_LEN, 2, "the file is too short")
        self.format_version, self.width, checksum = struct.unpack_from("<HHI", data, 8)
        require(checksum == zlib.crc32(data[:12]), 2, "wrong checksum of the header")
        require(self.format_version == 1, 3, f"unknown format version {self.format_version}")
        require(self.width in (32, 64, 128), 4, f"unknown width {self.width}")

    def read_footer(self):
        """§4.3: V5."""
        require(len(self.data) >= HEADER_LEN + FOOTER_LEN, 5, "the file is too short")
        footer = self.data[-FOOTER_LEN:]
        (self.directory_offset, self.directory_len, self.directory_checksum, file_len,
         format_version, width, reserved, checksum,
         end_magic) = struct.unpack("<QIIQHHII4s", footer)
        require(end_magic == END_MAGIC, 5, "the file does not end with the end magic")
        require(checksum == zlib.crc32(footer[:32]), 5, "wrong checksum of the footer")
        require(file_len == len(self.data), 5, "the file has another length than it says")
        require((format_version, width) == (self.format_version, self.width), 5,
                "the footer has another version or width than the header")
        require(reserved == 0, 5, "the reserved field of the footer is not zero")

    def read_directory(self):
        """§4.4: V6 and V7."""
        require(self.directory_offset % 64 == 0, 6, "the directory is not aligned")
        require(self.directory_offset + self.directory_len + FOOTER_LEN == len(self.data), 6,
                "the directory does not end at the footer")
        require(self.directory_len >= DIRECTORY_FIXED_LEN, 6, "the directory is too short")
        directory = self.data[self.directory_offset:self.directory_offset + self.directory_len]
        (self.fingerprint_count, self.record_count, content_id, self.id_base, self.block_size,
         table_count, section_count, self.max_distance, table_len, self.id_kind, self.id_bits,
         reserved_1, self.incompatible_features, self.compatible_features,
         reserved_2) = struct.unpack_from("<QQ16sQIHHHHBBHQQQ", directory)
        self.content_id = little_endian(content_id)
        self.reserved = reserved_1 | reserved_2
        require(table_len >= 16 + self.width // 8 + self.width, 6, "the table records are too short")
        sections_at = DIRECTORY_FIXED_LEN + table_count * table_len
        require(self.directory_len == sections_at + section_count * SECTION_RECORD_LEN, 6,
                "the directory has another length than its counts imply")
        require(self.directory_checksum == zlib.crc32(directory), 7,
                "wrong checksum of the directory")
        self.tables = [
            Table(t, directory[start:start + table_len], self.width)
            for t, start in enumerate(range(DIRECTORY_FIXED_LEN, sections_at, table_len))]
        self.sections = [
            Section._make(struct.unpack_from("<HHIQQ", directory, start))
            for start in range(sections_at, self.directory_len, SECTION_RECORD_LEN)]

    def check_directory(self):
        """§4.4: V8 to V14."""
        n = self.fingerprint_count
        require(self.block_size in [2**i for i in range(7, 14)], 8, "wrong block size")
        require(1 <= len(self.tables) <= MAX_TABLE_COUNT, 8, "wrong number of tables")
        require(self.max_distance <= self.width, 8, "the distance is above the width")
        require(n <= min(2**self.width, MAX_COUNT), 8, "too many fingerprints")
        require(n <= self.record_count <= MAX_COUNT, 8, "wrong number of records")
        require(n > 0 or self.record_count == 0, 8, "records without fingerprints")

        require(self.incompatible_features & ~KNOWN_INCOMPATIBLE_FEATURES == 0, 9,
                "the file needs features that are unknown")
        require(self.id_kind < len(ID_KINDS), 9, f"unknown kind of ids {self.id_kind}")
        for table in self.tables:
            require(table.codec in CODECS, 9, f"unknown codec {table.codec}")
            require(not any(table.reserved) and (table.is_in_lines or table.address_bits == 0), 9,
                    "reserved bytes of a table record are not zero")
        for section in self.sections:
            require(section.kind in KNOWN_KINDS
                    or section.kind >= FIRST_ANCILLARY_KIND, 9,
                    f"unknown kind of section {section.kind}")
        require(self.reserved == 0, 9, "reserved fields of the directory are not zero")

        ones = (1 << self.width) - 1
        require(self.tables[0].prefix_mask in [ones >> i << i for i in range(self.width + 1)], 11,
                "the mask of table 0 is not of the highest bits")
        for table in self.tables:
            require(table.codec not in (CODEC_EF, CODEC_LINES) or not any(table.code_lengths), 12,
                    f"table {table.number} has a code that its codec does not use")
        for table in self.tables:
            require(is_valid_code(table.code_lengths), 13,
                    f"the code lengths of table {table.number} are not a valid code")
        for table in self.tables:
            if not table.is_in_lines:
                require(table.block_count <= n <= table.block_count * MAX_VALUES_IN_BLOCK, 14,
                        f"table {table.number} has a wrong number of blocks")
                continue
            least, most = LINE_ADDRESS_BITS, min(self.width, MAX_ADDRESS_BITS)
            require(least <= table.address_bits <= most, 14,
                    f"table {table.number} has a wrong number of address bits")
            require(1 << table.address_bits - LINE_ADDRESS_BITS <= table.block_count
                    and n <= table.block_count << LINE_ADDRESS_BITS and n < 1 << RANK_BITS, 14,
                    f"table {table.number} has a wrong number of lines")

    def expected_sections(self):
        """§4.5: (kind, table, length) of each section; the length is None if it is free.

        For a paged section it is the length of the payload.
        """
        n, records = self.fingerprint_count, self.record_count
        in_blocks = [table for table in self.tables if not table.is_in_lines]
        expected = []
        for table in self.tables:
            if table.is_in_lines:
                low_bits = packed_len(n, self.width - table.address_bits)
                expected += [(KIND_LOW_BITS, table.number, low_bits),
                             (KIND_LINES, table.number, table.block_count * LINE_LEN)]
            else:
                expected.append((KIND_BLOCKS, table.number, table.block_count * self.block_size))
        if self.id_kind != ID_NONE and records > n:
            chunks = ceil_div(records, CHUNK_IDS)
            expected.append((KIND_GROUPS, 0, chunks * CHUNK_LEN))
        indices_len = packed_len(records, index_bits(self))
        if self.id_kind == ID_NUMBER:
            expected.append((KIND_NUMBERS, 0, packed_len(records, self.id_bits)))
        if self.id_kind == ID_STRING:
            offsets_len = packed_len(bucket_count(self), self.id_bits)
            expected += [(KIND_PLACES, 0, indices_len), (KIND_BUCKET_OFFSETS, 0, offsets_len),
                         (KIND_BUCKETS, 0, None)]
        kinds = [section.kind for section in self.sections]
        if self.id_kind != ID_NONE and KIND_ID_ORDER in kinds:
            expected.append((KIND_ID_ORDER, 0, indices_len))
        if not self.tables[0].is_in_lines:
            expected.append((KIND_BLOCK_COUNTS, 0, 2 * self.tables[0].block_count))
        expected += [(KIND_KEY_GROUPS, table.number, None) for table in in_blocks]
        for table in in_blocks:
            groups = ceil_div(table.block_count, KEYS_PER_GROUP)
            expected.append((KIND_KEY_ENTRIES, table.number, groups * (self.width // 8 + 12)))
        if self.id_kind == ID_STRING:
            expected.append((KIND_STRING_CODE, 0, None))
        expected += [(kind, 0, None) for kind in (KIND_PIPELINE, KIND_METADATA) if kind in kinds]
        expected += [(kind, 0, None) for kind in kinds if kind >= FIRST_ANCILLARY_KIND]
        return expected

    def check_sections(self):
        """§4.4, §4.5: V15."""
        expected = self.expected_sections()
        require(len(self.sections) == len(expected), 15, "wrong number of sections")
        end = HEADER_LEN
        for section, (kind, table, length) in zip(self.sections, expected):
            where = f"section of kind {section.kind} at {section.offset}"
            require((section.kind, section.table) == (kind, table), 15, f"{where}: out of order")
            content_len, alignment = section.length, 64
            if kind == KIND_BLOCKS:
                alignment = min(self.block_size, PAGE_LEN)
            if kind in PAGED_KINDS:
                content_len = paged_payload_len(section.length)
                require(content_len is not None, 15, f"{where}: not the length of a paged section")
                is_long = content_len > PAGE_LEN
                if kind in (KIND_LINES, KIND_LOW_BITS):
                    is_long = self.fingerprint_count > MOST_IN_SHORT_PAGES
                alignment = PAGE_LEN if is_long else 64
            require(section.offset == align(end, alignment), 15, f"{where}: wrong offset")
            require(length is None or content_len == length, 15, f"{where}: wrong length")
            if kind == KIND_PIPELINE:
                require(1 <= section.length <= MAX_PIPELINE_LEN, 15, f"{where}: wrong length")
            if kind == KIND_METADATA:
                require(1 <= section.length <= MAX_METADATA_LEN, 15, f"{where}: wrong length")
            if kind not in CHECKED_BY_RECORD and kind < FIRST_ANCILLARY_KIND:
                require(section.checksum == 0, 15, f"{where}: has a checksum")
            end = section.end
        require(self.directory_offset == align(end, 64), 15, "wrong place of the directory")

    def section(self, kind, table=0):
        """The record of a section, or None if there is no such section."""
        return next((s for s in self.sections if (s.kind, s.table) == (kind, table)), None)

    def content(self, kind, table=0):
        """The bytes of a section that is not paged, or None if there is no such section."""
        section = self.section(kind, table)
        return section and self.data[section.offset:section.end]

    def load_sections(self):
        """§8, §9, §10: V16 to V20, V41 and V42."""
        for section in self.sections:
            if section.kind in CHECKED_BY_RECORD:
                content = self.data[section.offset:section.end]
                require(section.checksum == zlib.crc32(content), 16,
                        f"section of kind {section.kind} at {section.offset}: wrong checksum")
        for table in self.tables:
            table.prepare(self.width)
            if table.is_in_lines:
                lines = LinePages(self.data, self.section(KIND_LINES, table.number))
                low_bits = Paged(self.data, self.section(KIND_LOW_BITS, table.number))
                table.prepare_lines(lines, low_bits, self.fingerprint_count, self.width)
            else:
                self.load_keys(table)
        if not self.tables[0].is_in_lines:
            stored = struct.iter_unpack("<H", self.content(KIND_BLOCK_COUNTS))
            self.block_counts = [number + 1 for number, in stored]
            require(sum(self.block_counts) == self.fingerprint_count, 18,
                    "the block counts do not sum to the number of fingerprints")
            self.ranks_before = [0] + list(accumulate(self.block_counts))
        try:
            pipeline = self.content(KIND_PIPELINE)
            self.pipeline = None if pipeline is None else pipeline.decode("utf-8")
        except UnicodeDecodeError:
            raise Rejected(19, "the pipeline is not UTF-8") from None
        self.paged = {s.kind: Paged(self.data, s) for s in self.sections
                      if s.kind in SECTIONS_OF_IDS}
        self.check_id_fields()
        self.metadata = read_metadata(self.content(KIND_METADATA) or b"")
        if self.id_kind == ID_STRING:
            self.string_code = read_string_code(self.content(KIND_STRING_CODE))

    def check_id_fields(self):
        """§9.3, §9.4: V20."""
        if self.id_kind == ID_NONE:
            require(self.id_bits == 0 and self.id_base == 0, 20, "id fields without ids")
        elif self.id_kind == ID_NUMBER:
            require(self.id_bits <= 64, 20, "too many bits in an id")
        else:
            bits = self.paged[KIND_BUCKETS].payload_len.bit_length()
            require(self.id_bits == bits, 20, "wrong number of bits in a bucket offset")
            require(self.id_base == 0, 20, "a base without numbers")

    def load_keys(self, table):
        """§8.1, V16 and V17: the keys of a table in blocks."""
        what = f"keys of table {table.number}"
        entries = self.content(KIND_KEY_ENTRIES, table.number)
        data = self.content(KIND_KEY_GROUPS, table.number)
        groups = read_key_entries(entries, self.width, table.block_count, len(data), what)
        keys = [key for g, group in enumerate(groups)
                for key in read_key_group(data[group.start:group.end], table.number, g, group,
                                          what)]
        table.prepare_blocks(self.section(KIND_BLOCKS, table.number).offset, keys)


# ---- Full check (§12) ---------------------------------------------------------------------------


def check_order_of_ids(ids_of_ranks):
    """V33: the ids of each fingerprint are in non-decreasing order."""
    for ids in ids_of_ranks:
        require(ids == sorted(ids), 33, "the ids of a fingerprint decrease")


def check_unused_bits(index):
    """V34: the bytes between sections and the bits after packed arrays are zero."""
    starts = [section.offset for section in index.sections] + [index.directory_offset]
    ends = [HEADER_LEN] + [section.end for section in index.sections]
    for end, start in zip(ends, starts):
        require(not any(index.data[end:start]), 34, f"bytes from {end} to {start} are not zero")
    records = index.record_count
    sizes = {KIND_NUMBERS: (records, index.id_bits), KIND_PLACES: (records, index_bits(index)),
             KIND_BUCKET_OFFSETS: (bucket_count(index), index.id_bits),
             KIND_ID_ORDER: (records, index_bits(index))}
    arrays = [(index.paged[kind], *size) for kind, size in sizes.items() if kind in index.paged]
    arrays += [(table.low_bits, index.fingerprint_count, table.low_bit_count)
               for table in tables_in_lines(index)]
    for array, count, bits in arrays:
        used_bits = count * bits
        if used_bits % 8 != 0:
            last_byte = array.read(used_bits // 8, used_bits // 8 + 1)
            require(read_bits(last_byte, used_bits % 8, 8 - used_bits % 8) == 0, 34,
                    "bits after a packed array are not zero")


def tables_in_lines(index):
    return [table for table in index.tables if table.is_in_lines]


def check_order_of_lines(index, table):
    """§8.2, V47: the ranks and order of the lines, which are known to have an end."""
    rank = 0
    top = top_lines(table, 0, (1 << index.width) - 1)
    next_line = len(top)

    def visit(n, below):
        nonlocal rank, next_line
        line, where = read_line(table, n, below), f"line {n} of table {table.number}"
        require(line.rank == rank, 47, f"{where}: wrong rank")
        if line.is_crowded:
            require(line.marks == 0 and line.addresses >> 128 == 0, 47,
                    f"{where}: it is crowded and has marks or bytes that are not zero")
            for s in range(1 << line.extra_bits):
                visit(line.first + s, below - line.extra_bits)
            require(line.first == next_line, 47, f"{where}: its finer lines are at a wrong place")
            next_line += 1 << line.extra_bits
        else:
            rank += line.count(below)

    for n in top:
        visit(n, table.low_bit_count)
    require(next_line == table.block_count, 47, f"table {table.number} has lines that none needs")


def check_tables(index, values):
    """V35, V36: all tables hold the same fingerprints; `values` has those of each table."""
    for table in index.tables:
        require(len(values[table.number]) == index.fingerprint_count, 35,
                f"table {table.number} has a wrong number of values")
    fingerprints = set(values[0])
    for table in index.tables:
        inverted = map(table.permutation.invert, values[table.number])
        require(fingerprints.issuperset(inverted), 36,
                f"table {table.number} holds other fingerprints than table 0")


def verify(index):
    """§12: the rules of the stages after `open`."""
    for table in index.tables:
        if not table.is_in_lines:
            table_values(index, table)  # V21 to V27
    ids_of_ranks = [[None]] * index.fingerprint_count
    for table in tables_in_lines(index):
        table.low_bits.check_all_pages()
        table.lines.check_all_pages()
        table_values(index, table)  # V24, V44 to V46
    for paged in index.paged.values():
        paged.check_all_pages()
    values = [table_values(index, table) for table in index.tables]
    check_sketches(index)
    if index.id_kind != ID_NONE:
        ids_of_ranks = all_ids(index)  # V28 to V32, V37, V38
        check_order_of_ids(ids_of_ranks)
    check_unused_bits(index)
    check_tables(index, values)
    total = sum(digest(words_of(index.width, fingerprint, record_id))
                for fingerprint, ids in zip(values[0], ids_of_ranks) for record_id in ids)
    require(index.content_id == total % 2**128, 39, "the content identifier is wrong")
    for section in index.sections:
        if section.kind >= FIRST_ANCILLARY_KIND:
            require(section.checksum == zlib.crc32(index.data[section.offset:section.end]), 40,
                    f"section of kind {section.kind} at {section.offset}: wrong checksum")
    for table in tables_in_lines(index):
        check_order_of_lines(index, table)


# ---- Test files (§16) ---------------------------------------------------------------------------


def read_all(index):
    """Read every table, and the ids of each fingerprint."""
    for table in index.tables:
        for value in table_values(index, table):
            if index.id_kind != ID_NONE:
                ids_of_rank(index, rank_of(index, table.permutation.invert(value)))


def rejected_by(step, argument):
    """The class and the rule by which a step rejects a file, or dashes, and what it returns."""
    try:
        return ("-", "-"), step(argument)
    except Rejected as rejected:
        return (rejected.error_class, f"V{rejected.rule}"), None


def examine(data):
    """The class, the rule and the stage at which a file is rejected; dashes for a sound file.

    The stage is `open` if the file cannot be opened, `query` if reading it meets the rule, and
    `verify` if only a full check does.  A full check must find first what reading met; otherwise
    the stage says what it found.
    """
    opened, index = rejected_by(Index, data)
    if index is None:
        return *opened, "open"
    read, _ = rejected_by(read_all, index)
    checked, _ = rejected_by(verify, index)
    if read == ("-", "-"):
        return *checked, "-" if checked == read else "verify"
    return *read, "query" if checked == read else f"query, but verify says {checked}"


def contents_of_sections(index):
    """The columns of the manifest for the pipeline, the metadata and the sketches."""
    pipeline, sketches = index.content(KIND_PIPELINE), read_sketches(index)
    metadata = index.content(KIND_METADATA) and "".join(
        f"{key}\t{value}\n" for key, value in index.metadata.items())
    columns = {"pipeline": pipeline, "metadata": metadata and metadata.encode("utf-8"),
               "features": sketches and sketches.features.encode("utf-8"),
               "sketches": sketches and b"".join(map(sketches.read, range(sketches.count)))}
    return {f"{name}_crc32": "-" if data is None else f"{zlib.crc32(data):08x}"
            for name, data in columns.items()}


def faults_of(folder, row):
    """How this reader and a row of the manifest differ."""
    data = (folder / row["file"]).read_bytes()
    error_class, rule, stage = examine(data)
    wanted = (row["class"], row["rule"], row["stage"])
    if (error_class, rule, stage) != wanted:
        return [f"{error_class} {rule}, {stage}; not {' '.join(wanted)}"]
    expects = {"-": "good", "unsupported": "unsupported"}
    faults = []
    if row["expect"] != expects.get(error_class, "bad"):
        faults.append(f"expect is {row['expect']}")
    if error_class != "-":
        return faults
    index = Index(data)
    lines = dump_lines(index, argparse.Namespace(table=0, permuted=False))
    dump = "".join(line + "\n" for line in lines).encode("utf-8")
    codecs = dict.fromkeys(CODECS[table.codec] for table in index.tables)
    found = {
        "width": index.width, "tables": len(index.tables), "block_size": index.block_size,
        "codec": "+".join(codecs), "ids": ID_KINDS[index.id_kind],
        "fingerprints": index.fingerprint_count, "records": index.record_count,
        "contents_crc32": f"{zlib.crc32(dump):08x}",
    }
    found.update(contents_of_sections(index))
    faults += [f"{name} is {value}" for name, value in found.items() if row[name] != str(value)]
    if row["contents"] != "-" and (folder / row["contents"]).read_bytes() != dump:
        faults.append(f"other contents than {row['contents']}")
    return faults


def rows_of(path):
    """The rows of a table of tab-separated columns, each by the names of the first line."""
    lines = path.read_text(encoding="utf-8").splitlines()
    names = lines[0].split("\t")
    return [dict(zip(names, line.split("\t"))) for line in lines[1:]]


def answer_to_query(folder, row):
    """The list in a row of queries.tsv: the matches by distance and value."""
    index = Index((folder / row["file"]).read_bytes())
    fingerprint, max_distance = int(row["query"], 16), int(row["distance"])
    matches = query(index, fingerprint, max_distance)
    matches = sorted((distance(fingerprint, match), match) for match in matches)
    return " ".join(hex_digits(index, match) for _, match in matches) or "-"


def answer_to_lookup(folder, row):
    """The list in a row of lookups.tsv: the fingerprints of the records with an id."""
    index = Index((folder / row["file"]).read_bytes())
    wanted = int(row["id"]) if index.id_kind == ID_NUMBER else row["id"].encode("utf-8")
    ranks = dict.fromkeys(rank_of_id(index, i) for i in find_id(index, wanted))
    return " ".join(hex_digits(index, fingerprint_of_rank(index, r)) for r in sorted(ranks)) or "-"


def answer_about_plan(_folder, row):
    """The verdict in a row of plans.tsv: whether the plan is complete."""
    width, tables = int(row["width"]), [table.split(":") for table in row["plan"].split(" ")]
    tables = [table for table in tables if table[1] != "-"]
    sets = [address_bit_set(int(mask, 16), width, int(bits)) for mask, bits, _ in tables]
    flips = [int(flips) for _, _, flips in tables]
    return "yes" if is_complete(sets, width, flips, int(row["distance"])) else "no"


VECTORS = {"queries.tsv": (answer_to_query, "matches"),
           "lookups.tsv": (answer_to_lookup, "fingerprints"),
           "plans.tsv": (answer_about_plan, "complete")}


def check_vectors(folder, name):
    """The number of rows of a table of vectors, and a line for each that is not as it says."""
    answer, column = VECTORS[name]
    rows, faults = rows_of(folder / name), []
    for row in rows:
        try:
            found = answer(folder, row)
        except Rejected as rejected:
            found = str(rejected)
        if found != row[column]:
            asked = " ".join(value for key, value in row.items() if key != column)
            faults.append(f"{name}: {asked}: {found}; not {row[column]}")
    return len(rows), faults


def check_lines(manifest):
    """A line for each difference between this reader and a manifest with its vectors, and a
    summary."""
    folder, rows = pathlib.Path(manifest).parent, rows_of(pathlib.Path(manifest))
    faults = [f"{row['file']}: {fault}" for row in rows for fault in faults_of(folder, row)]
    vectors = 0
    for name in VECTORS:
        count, more = check_vectors(folder, name)
        vectors += count
        faults += more
    return faults, f"{len(rows)} files and {vectors} vectors, {len(faults)} not as they should be"


# ---- Command line -------------------------------------------------------------------------------


def hex_digits(index, value):
    """A fingerprint or permuted value as it is printed."""
    return f"{value:0{index.width // 4}x}"


def id_text(record_id):
    """An id as it is printed: a number in decimal, a string as it is."""
    return str(record_id) if isinstance(record_id, int) else record_id.decode("utf-8")


def dump_lines(index, arguments):
    """The fingerprints of a table in table order, with the ids of each."""
    if not 0 <= arguments.table < len(index.tables):
        raise UsageError(f"there is no table {arguments.table}")
    table = index.tables[arguments.table]
    values = table_values(index, table)
    fingerprints = [table.permutation.invert(value) for value in values]
    shown = [hex_digits(index, x) for x in (values if arguments.permuted else fingerprints)]
    if index.id_kind == ID_NONE:
        return shown
    table_values(index, index.tables[0])  # so that every block of table 0 is known to be good
    ids = all_ids(index)
    return [f"{text}\t{id_text(record_id)}" for text, fingerprint in zip(shown, fingerprints)
            for record_id in ids[rank_of(index, fingerprint)]]


def verify_lines(index, _arguments):
    verify(index)
    return ["sound"]


def query_lines(index, arguments):
    """The matches of each query by distance and value, with the ids of each."""
    max_distance = index.max_distance if arguments.k is None else arguments.k
    if max_distance < 0:
        raise UsageError("the distance is negative")
    lines = []
    for text in arguments.hex:
        digits = text.lower()
        if len(digits) != index.width // 4 or set(digits) - set("0123456789abcdef"):
            raise UsageError(f"a query has {index.width // 4} hex digits, not {text!r}")
        fingerprint = int(digits, 16)
        matches = query(index, fingerprint, max_distance)
        for d, match in sorted((distance(fingerprint, match), match) for match in matches):
            line = f"{digits}\t{hex_digits(index, match)}\t{d}"
            if index.id_kind == ID_NONE:
                lines.append(line)
            else:
                ids = ids_of_rank(index, rank_of(index, match))
                lines += [f"{line}\t{id_text(record_id)}" for record_id in ids]
    return lines


def find_lines(index, arguments):
    """The fingerprints of the records with each id, in order of id index."""
    if index.id_kind == ID_NONE:
        raise UsageError("the file has no ids")
    lines = []
    for text in arguments.id:
        if index.id_kind == ID_STRING:
            wanted = text.encode("utf-8")
        elif text.isascii() and text.isdigit():
            wanted = int(text)
        else:
            raise UsageError(f"an id is a number, not {text!r}")
        ranks = dict.fromkeys(rank_of_id(index, i) for i in find_id(index, wanted))
        lines += [f"{text}\t{hex_digits(index, fingerprint_of_rank(index, r))}" for r in ranks]
    return lines


def sketch_info(index):
    """The parameters of the sketches, and their bytes in hex digits."""
    sketches = read_sketches(index)
    if sketches is None:
        return None
    values = [sketches.read(i).hex() for i in range(sketches.count)]
    return {"bits": sketches.bits, "features": sketches.features, "values": values}


def info_lines(index, _arguments):
    """The header, the directory, the pipeline and the metadata as JSON."""
    info = {
        "format_version": index.format_version,
        "width": index.width,
        "fingerprint_count": index.fingerprint_count,
        "record_count": index.record_count,
        "max_distance": index.max_distance,
        "block_size": index.block_size,
        "id_kind": ID_KINDS[index.id_kind],
        "id_base": index.id_base,
        "id_bits": index.id_bits,
        "content_id": f"{index.content_id:032x}",
        "compatible_features": index.compatible_features,
        "tables": [{
            "prefix_mask": hex_digits(index, table.prefix_mask),
            "block_count": table.block_count,
            "codec": CODECS[table.codec],
            "code_lengths": table.code_lengths,
        } for table in index.tables],
        "sections": [section._asdict() for section in index.sections],
        "pipeline": index.pipeline,
        "metadata": index.metadata,
        "sketches": sketch_info(index),
    }
    return [json.dumps(info)]


def parse_arguments():
    parser = argparse.ArgumentParser(description="Reference reader of simidx files.")
    commands = parser.add_subparsers(required=True, metavar="COMMAND")

    def add_command(name, function, help_text):
        command = commands.add_parser(name, help=help_text)
        command.set_defaults(function=function)
        command.add_argument("file", metavar="FILE")
        return command

    dump = add_command("dump", dump_lines, "print the fingerprints, with their ids if any")
    dump.add_argument("--table", type=int, default=0, metavar="T", help="the table (default 0)")
    dump.add_argument("--permuted", action="store_true", help="print permuted values")
    add_command("verify", verify_lines, "check all rules")
    query_command = add_command("query", query_lines, "print the members near to each query")
    query_command.add_argument("hex", nargs="+", metavar="HEX", help="a fingerprint")
    query_command.add_argument("-k", type=int, metavar="K",
                               help="the distance (default: that of the file)")
    find = add_command("find", find_lines, "print the fingerprints of the records with an id")
    find.add_argument("id", nargs="+", metavar="ID", help="a number or a string")
    add_command("info", info_lines, "print header, directory and metadata as JSON")
    check = commands.add_parser("check", help="check every file of a list of test files")
    check.set_defaults(function=None)
    check.add_argument("file", metavar="MANIFEST")
    return parser.parse_args()


def main():
    arguments = parse_arguments()
    try:
        if arguments.function is None:
            faults, summary = check_lines(arguments.file)
            print("\n".join([*faults, summary]))
            return 1 if faults else 0
        with open(arguments.file, "rb") as file:
            data = file.read()
        lines = arguments.function(Index(data), arguments)
        sys.stdout.buffer.write("".join(line + "\n" for line in lines).encode("utf-8"))
        sys.stdout.buffer.flush()
    except Rejected as rejected:
        print(rejected, file=sys.stderr)
        return 1 if rejected.error_class == "damaged" else 2
    except (OSError, UsageError) as error:
        print(f"error: {error}", file=sys.stderr)
        return 2
    return 0


if __name__ == "__main__":
    sys.exit(main())
