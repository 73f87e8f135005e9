#!/usr/bin/env python3
"""Reference reader of simidx files, format version 1.

A simidx file holds a set of fingerprints (simhash values of 32, 64 or 128 bits) in compressed,
permuted tables, and optionally the ids of the records that the fingerprints stand for.  This
program is laid out to match the specification of the format: its parts stand in the order of the
sections of the specification, and each function names the section (as in "§7.2") or the rule of
section 12 (as in "V15") that it follows.  It favours clearness over speed and needs nothing but
the standard library of Python 3.9 or later.

    simidx_ref.py dump FILE [--table T] [--permuted]   the fingerprints, with their ids if any
    simidx_ref.py verify FILE                          check all rules
    simidx_ref.py query FILE HEX... [-k K]             the members near to each query
    simidx_ref.py info FILE                            header, directory and pipeline as JSON
    simidx_ref.py check MANIFEST                       judge every file of a list of test files

The exit status is 0 for success, 1 for a damaged file, and 2 for a file that is no simidx file or
needs a newer reader, for an I/O error and for wrong usage.
"""

import argparse
import json
import pathlib
import struct
import sys
import zlib
from bisect import bisect_left
from itertools import accumulate, combinations
from math import comb
from typing import NamedTuple

MAGIC = bytes.fromhex("89 53 49 4d 49 44 58 0a")
END_MAGIC = b"XDIS"
HEADER_LEN = 16
FOOTER_LEN = 32
DIRECTORY_FIXED_LEN = 40
SECTION_RECORD_LEN = 24
CODECS = {1: "xor", 2: "gap", 3: "ef"}
CODEC_XOR, CODEC_GAP, CODEC_EF = CODECS
ID_KINDS = ["none", "number", "string"]
ID_NONE, ID_NUMBER, ID_STRING = range(3)
(KIND_BLOCKS, KIND_KEYS, KIND_BLOCK_COUNTS, KIND_GROUPS, KIND_NUMBERS, KIND_STRING_OFFSETS,
 KIND_STRING_BYTES, KIND_PIPELINE) = range(1, 9)
CHECKED_BY_RECORD = (KIND_KEYS, KIND_BLOCK_COUNTS, KIND_PIPELINE)

MAX_COUNT = 2**48
MAX_CODEWORD_LEN = 12
MAX_VALUES_IN_BLOCK = 65536
MAX_STRING_LEN = 65535
MAX_PIPELINE_LEN = 65536
MAX_PLAN_NODES = 2**14  # of this reader: where a plan is harder to prove, it scans
MAX_PROBES = 2**12  # of this reader: where a plan has more probes, it scans
BLOCK_CHECKSUM_LEN = 4
PAGE_LEN = 4096
CHUNK_LEN = 64
CHUNK_IDS = 448
STRINGS_PER_OFFSET = 16


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
        actual = zlib.crc32(self.data[self.offset + start:self.offset + end])
        require(stored == actual, 28, f"wrong checksum of page {page} at {self.offset + start}")
        self.checked.add(page)

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

    Bits behind the end of the data are zero.
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


def ascending(numbers):
    """Whether the numbers ascend strictly."""
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


def check_code_lengths(lengths, t):
    """§6, V13: the code lengths of table t are a valid code."""
    used = [length for length in lengths if length != 0]
    require(all(length <= MAX_CODEWORD_LEN for length in used), 13,
            f"table {t} has a codeword that is too long")
    if len(used) == 1:
        require(used == [1], 13, f"the lone codeword of table {t} has not the length 1")
    elif used:
        total = sum(1 << (MAX_CODEWORD_LEN - length) for length in used)
        require(total == 1 << MAX_CODEWORD_LEN, 13, f"the code of table {t} is not complete")


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
    """A table record of the directory (§10.3), with what follows from it."""

    def __init__(self, number, record):
        self.number = number
        self.prefix_mask = little_endian(record[0:16])
        self.block_count, self.codec = struct.unpack_from("<QB", record, 16)
        self.reserved = record[25:32]
        self.code_lengths = list(record[32:])

    def prepare(self, width, blocks_offset, keys_data):
        """Set up what decoding needs, when the record is known to be valid; checks V17."""
        self.prefix_bits = bin(self.prefix_mask).count("1")
        self.permutation = Permutation(self.prefix_mask, width)
        self.decoding = decoding_table(self.code_lengths)
        self.blocks_offset = blocks_offset
        self.keys = read_keys(keys_data, width, self.block_count, f"keys of table {self.number}")
        self.decoded = {}


def count_bits(block_size):
    """§7.1: the bits of the count in a block of so many bytes."""
    return min(16, 3 + block_size.bit_length() - 1)


def coded_values(index, table, block, start, before, stored_count, where):
    """§7.2.1, §7.2.2, V22, V23: the stored values of a block of codec 1 or 2, and the end of the
    stream, which starts at bit `start`.  `before` is the key of the block before, or None."""
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
            # What would follow are codewords of zeros only, which exist like this one: V22 holds.
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
    """§7.2.4: the permuted values of block b of a table, known to be good (V21 to V27)."""
    if b in table.decoded:
        return table.decoded[b]
    where = f"block {b} of table {table.number}"
    start = table.blocks_offset + b * index.block_size
    block = index.data[start:start + index.block_size]
    require(little_endian(block[:BLOCK_CHECKSUM_LEN]) == zlib.crc32(block[BLOCK_CHECKSUM_LEN:]), 21,
            f"{where}: wrong checksum")
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
    require(ascending(values), 24, f"{where}: not ascending")
    if values:
        require(before is None or values[0] > before, 24,
                f"{where}: not above the key of the block before")
        require(values[-1] < key, 25, f"{where}: the last stored value is not below the key")
    require(read_bits(block, position, 8 * len(block) - position) == 0, 26,
            f"{where}: bits behind the last value are not zero")
    values.append(key)
    if table.number == 0 and index.id_kind != ID_NONE:
        require(len(values) == index.block_counts[b], 27, f"{where}: not as the block count says")
    table.decoded[b] = values
    return values


def table_values(index, table):
    """All permuted values of a table, in order."""
    return [value for b in range(table.block_count) for value in block_values(index, table, b)]


def read_keys(data, width, block_count, what):
    """§7.3, V17: the keys of a table from its keys section."""
    if block_count == 0:
        require(not data, 17, f"{what}: bytes of no key")
        return []
    key_len = width // 8
    require(len(data) >= 2 * key_len, 17, f"{what}: the section is too short")
    first, last = little_endian(data[:key_len]), little_endian(data[key_len:2 * key_len])
    limit = last - first
    require(block_count <= limit + 1, 17, f"{what}: more than fit between the first and the last")
    stream = EliasFano(data, 16 * key_len, block_count, limit)
    require(len(data) == ceil_div(stream.end, 8), 17, f"{what}: the section has a wrong length")
    require(len(stream.high_bits()) == block_count, 17, f"{what}: wrong number of high bits")
    numbers = stream.numbers()
    require(ascending(numbers), 17, f"{what}: not ascending")
    require((numbers[0], numbers[-1]) == (0, limit), 17, f"{what}: not from the first to the last")
    require(read_bits(data, stream.end, 8 * len(data) - stream.end) == 0, 17,
            f"{what}: bits behind the numbers are not zero")
    return [first + number for number in numbers]


# ---- Query (§8) ---------------------------------------------------------------------------------


def distance(x, y):
    """§2: the Hamming distance."""
    return bin(x ^ y).count("1")


def is_complete(masks, width, flips, max_distance):
    """§8: whether each set of at most max_distance bits has at most `flips` bits in some mask.

    False also where that takes too long to prove.
    """
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
        t = next((t for t, count in enumerate(counts) if count <= flips), None)
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
    """§8: a complete plan as a list of (table, address bits, flips).

    This reader looks at plans of all tables with their prefix bits and equal flips only, and scans
    table 0 where none of them is complete or cheap.
    """
    masks = [table.prefix_mask for table in index.tables]
    for flips in range(max_distance + 1):
        probes = sum(comb(table.prefix_bits, i)
                     for table in index.tables for i in range(flips + 1))
        if probes > MAX_PROBES:
            break
        if is_complete(masks, index.width, flips, max_distance):
            return [(table, table.prefix_bits, flips) for table in index.tables]
    return [(index.tables[0], 0, 0)]


def query(index, fingerprint, max_distance):
    """§8: the set of fingerprints within the distance of the query."""
    matches = set()
    for table, address_bits, flips in plan(index, max_distance):
        permuted = table.permutation.apply(fingerprint)
        address_bit_list = [1 << bit for bit in range(index.width - address_bits, index.width)]
        low_bits = (1 << (index.width - address_bits)) - 1
        for flip_count in range(flips + 1):
            for pattern in combinations(address_bit_list, flip_count):
                probed = permuted ^ sum(pattern)
                lo, hi = probed & ~low_bits, probed | low_bits
                first, last = bisect_left(table.keys, lo), bisect_left(table.keys, hi)
                for b in range(first, min(last + 1, table.block_count)):
                    for value in block_values(index, table, b):
                        if lo <= value <= hi and distance(value, permuted) <= max_distance:
                            matches.add(table.permutation.invert(value))
    return matches


# ---- Ids (§9) -----------------------------------------------------------------------------------


def rank_of(index, fingerprint):
    """§9.1: the rank of a fingerprint that some table holds (V36 if table 0 does not)."""
    table = index.tables[0]
    b = bisect_left(table.keys, fingerprint)
    values = block_values(index, table, b) if b < table.block_count else []
    j = bisect_left(values, fingerprint)
    require(j < len(values) and values[j] == fingerprint, 36,
            "a fingerprint of another table is not in table 0")
    return index.ranks_before[b] + j


def read_chunk(index, c):
    """§9.2: the set bits before chunk c, and the places of its set bits as numbers of ids."""
    chunk = index.paged[KIND_GROUPS].read(CHUNK_LEN * c, CHUNK_LEN * (c + 1))
    starts = [CHUNK_IDS * c + i for i in range(CHUNK_IDS) if read_bits(chunk, 64 + i, 1)]
    require(not starts or starts[-1] < index.record_count, 29,
            f"chunk {c} of the groups has a bit behind the last id")
    return little_endian(chunk[0:8]), starts


def all_group_starts(index):
    """§9.2, V29: for each rank, the number of its first id."""
    if KIND_GROUPS not in index.paged:
        return list(range(index.fingerprint_count))
    all_starts = []
    for c in range(index.paged[KIND_GROUPS].payload_len // CHUNK_LEN):
        before, starts = read_chunk(index, c)
        require(before == len(all_starts), 29, f"chunk {c} of the groups has a wrong count")
        all_starts += starts
    require(all_starts[:1] == [0], 29, "the first bit of the groups is not set")
    require(len(all_starts) == index.fingerprint_count, 29,
            "the groups have a wrong number of bits")
    return all_starts


def group_of_rank(index, rank):
    """§9.2: the range of the numbers of the ids of one rank; V29 as far as the chunks show."""
    if KIND_GROUPS not in index.paged:
        return rank, rank + 1
    chunk_count = index.paged[KIND_GROUPS].payload_len // CHUNK_LEN
    c, end = 0, chunk_count  # the last chunk with at most `rank` set bits before it
    while end - c > 1:
        middle = (c + end) // 2
        if read_chunk(index, middle)[0] <= rank:
            c = middle
        else:
            end = middle
    before, starts = read_chunk(index, c)
    require(before <= rank < before + len(starts), 29, f"rank {rank} is not in chunk {c}")
    require(c > 0 or (before == 0 and starts[0] == 0), 29, "the groups start wrongly")
    first, later = starts[rank - before], starts[rank - before + 1:]
    while not later and c + 1 < chunk_count:
        c += 1
        before, later = read_chunk(index, c)
        require(before == rank + 1, 29, f"chunk {c} of the groups has a wrong count")
    require(bool(later) == (rank + 1 < index.fingerprint_count), 29,
            "the groups have a wrong number of bits")
    return first, later[0] if later else index.record_count


def read_number(index, i):
    """§9.3, V30: id i of a file with numbers."""
    number = index.id_base + index.paged[KIND_NUMBERS].packed_number(index.id_bits, i)
    require(number < 2**64, 30, f"id {i} is above 64 bits")
    return number


def read_string(index, position):
    """§9.4, V31: the string id at a position of the payload, as bytes, and its end."""
    payload = index.paged[KIND_STRING_BYTES]
    length = 0
    for i in range(3):
        require(position < payload.payload_len, 31, "a string id ends behind the payload")
        byte = payload.read(position, position + 1)[0]
        position += 1
        length |= (byte & 0x7f) << (7 * i)
        if byte < 0x80:
            break
    require(byte < 0x80 and length <= MAX_STRING_LEN, 31, "the length of a string id is too large")
    require(byte != 0 or i == 0, 31, "the length of a string id is not in its shortest form")
    end = position + length
    require(end <= payload.payload_len, 31, "a string id ends behind the payload")
    string = payload.read(position, end)
    try:
        string.decode("utf-8")
    except UnicodeDecodeError:
        raise Rejected(31, "a string id is not UTF-8") from None
    return string, end


def all_strings(index):
    """§9.4, V31, V32: all ids of a file with strings."""
    strings, position = [], 0
    for i in range(index.record_count):
        start = position
        string, position = read_string(index, start)
        strings.append(string)
        g, first = divmod(i, STRINGS_PER_OFFSET)
        if first == 0:
            stored = index.paged[KIND_STRING_OFFSETS].packed_number(index.id_bits, g)
            require(stored == start, 32, f"string offset {g} is wrong")
    require(position == index.paged[KIND_STRING_BYTES].payload_len, 32,
            "the last string does not end the payload")
    return strings


def some_strings(index, first, end):
    """§9.4: the string ids [first, end); V32 as far as the offset that is used shows."""
    payload_len = index.paged[KIND_STRING_BYTES].payload_len
    g = first // STRINGS_PER_OFFSET
    position = index.paged[KIND_STRING_OFFSETS].packed_number(index.id_bits, g)
    require(position < payload_len and (g > 0 or position == 0), 32, f"string offset {g} is wrong")
    strings = []
    for i in range(STRINGS_PER_OFFSET * g, end):
        string, position = read_string(index, position)
        if i >= first:
            strings.append(string)
    require(end < index.record_count or position == payload_len, 32,
            "the last string does not end the payload")
    return strings


def ids_of_rank(index, rank):
    """§9: the ids of one fingerprint, in stored order."""
    first, end = group_of_rank(index, rank)
    if index.id_kind == ID_NUMBER:
        return [read_number(index, i) for i in range(first, end)]
    return some_strings(index, first, end)


def all_ids(index):
    """§9: for each rank the list of its ids; checks V28 to V32 in full."""
    for paged in index.paged.values():
        paged.check_all_pages()
    starts = all_group_starts(index)
    if index.id_kind == ID_NUMBER:
        ids = [read_number(index, i) for i in range(index.record_count)]
    else:
        ids = all_strings(index)
    return [ids[start:end] for start, end in zip(starts, starts[1:] + [index.record_count])]


# ---- Container (§10) and the rules of the stage `open` (§12) ------------------------------------


class Section(NamedTuple):
    """§10.3: a section record."""

    kind: int
    table: int
    checksum: int
    offset: int
    length: int

    @property
    def end(self):
        return self.offset + self.length


class Index:
    """An open file, for which the rules V1 to V20 are known to hold."""

    def __init__(self, data):
        self.data = data
        self.read_header()
        self.read_footer()
        self.read_directory()
        self.check_directory()
        self.check_sections()
        self.load_sections()
        self.check_id_fields()

    def read_header(self):
        """§10.1: V1 to V4."""
        data = self.data
        require(data[:len(MAGIC)] == MAGIC, 1, "the file does not start with the magic bytes")
        require(len(data) >= HEADER_LEN + FOOTER_LEN, 2, "the file is too short")
        self.format_version, self.width, reserved, checksum = struct.unpack_from("<HBBI", data, 8)
        require(checksum == zlib.crc32(data[:12]), 2, "wrong checksum of the header")
        require(self.format_version == 1, 3, f"unknown format version {self.format_version}")
        require(self.width in (32, 64, 128), 4, f"unknown width {self.width}")
        require(reserved == 0, 4, "the reserved byte of the header is not zero")

    def read_footer(self):
        """§10.2: V5."""
        footer = self.data[-FOOTER_LEN:]
        (self.directory_offset, self.directory_len, self.directory_checksum, file_len, checksum,
         end_magic) = struct.unpack("<QIIQI4s", footer)
        require(end_magic == END_MAGIC, 5, "the file does not end with the end magic")
        require(checksum == zlib.crc32(footer[:24]), 5, "wrong checksum of the footer")
        require(file_len == len(self.data), 5, "the file has not the length that it says")

    def read_directory(self):
        """§10.3: V6 and V7."""
        require(self.directory_offset % 64 == 0, 6, "the directory is not aligned")
        require(self.directory_offset + self.directory_len + FOOTER_LEN == len(self.data), 6,
                "the directory does not end at the footer")
        require(self.directory_len >= DIRECTORY_FIXED_LEN, 6, "the directory is too short")
        directory = self.data[self.directory_offset:self.directory_offset + self.directory_len]
        (self.fingerprint_count, self.record_count, self.id_base, self.block_size, section_count,
         table_count, self.max_distance, self.id_kind, self.id_bits,
         self.reserved) = struct.unpack_from("<QQQIHBBBB6s", directory)
        table_len = 32 + self.width
        sections_at = DIRECTORY_FIXED_LEN + table_count * table_len
        require(self.directory_len == sections_at + section_count * SECTION_RECORD_LEN, 6,
                "the directory has not the length that its counts imply")
        require(self.directory_checksum == zlib.crc32(directory), 7,
                "wrong checksum of the directory")
        self.tables = [
            Table(t, directory[start:start + table_len])
            for t, start in enumerate(range(DIRECTORY_FIXED_LEN, sections_at, table_len))]
        self.sections = [
            Section._make(struct.unpack_from("<HHIQQ", directory, start))
            for start in range(sections_at, self.directory_len, SECTION_RECORD_LEN)]

    def check_directory(self):
        """§10.3: V8 to V14."""
        n = self.fingerprint_count
        require(self.block_size in [2**i for i in range(7, 17)], 8, "wrong block size")
        require(len(self.tables) >= 1, 8, "there is no table")
        require(self.max_distance <= self.width, 8, "the distance is above the width")
        require(n <= min(2**self.width, MAX_COUNT), 8, "too many fingerprints")
        require(n <= self.record_count <= MAX_COUNT, 8, "wrong number of records")
        require(n > 0 or self.record_count == 0, 8, "records without fingerprints")

        require(self.id_kind < len(ID_KINDS), 9, f"unknown kind of ids {self.id_kind}")
        for table in self.tables:
            require(table.codec in CODECS, 9, f"unknown codec {table.codec}")
            require(not any(table.reserved), 9, "reserved bytes of a table record are not zero")
        for section in self.sections:
            require(KIND_BLOCKS <= section.kind <= KIND_PIPELINE, 9,
                    f"unknown kind of section {section.kind}")
        require(not any(self.reserved), 9, "reserved bytes of the directory are not zero")

        masks = [table.prefix_mask for table in self.tables]
        ones = (1 << self.width) - 1
        require(all(mask <= ones for mask in masks), 10, "a mask has bits above the width")
        require(masks[0] in [ones >> i << i for i in range(self.width + 1)], 11,
                "the mask of table 0 is not of the highest bits")
        for table in self.tables:
            require(table.codec != CODEC_EF or not any(table.code_lengths), 12,
                    f"table {table.number} has a code that its codec does not use")
        for table in self.tables:
            check_code_lengths(table.code_lengths, table.number)  # V13
        for table in self.tables:
            require(table.block_count <= n <= table.block_count * MAX_VALUES_IN_BLOCK, 14,
                    f"table {table.number} has a wrong number of blocks")

    def expected_sections(self):
        """§10.4: (kind, table, alignment, length) of each section; length None if it is free."""
        expected = []
        for table in self.tables:
            expected.append((KIND_BLOCKS, table.number, min(self.block_size, 4096),
                             table.block_count * self.block_size))
            expected.append((KIND_KEYS, table.number, 64, None))  # §7.3: the length is V17's
        if self.id_kind != ID_NONE:
            expected.append((KIND_BLOCK_COUNTS, 0, 64, 2 * self.tables[0].block_count))
            if self.record_count > self.fingerprint_count:
                payload_len = ceil_div(self.record_count, CHUNK_IDS) * CHUNK_LEN
                expected.append((KIND_GROUPS, 0, 64, paged_len(payload_len)))
        if self.id_kind == ID_NUMBER:
            payload_len = packed_len(self.record_count, self.id_bits)
            expected.append((KIND_NUMBERS, 0, 64, paged_len(payload_len)))
        if self.id_kind == ID_STRING:
            offset_count = ceil_div(self.record_count, STRINGS_PER_OFFSET)
            payload_len = packed_len(offset_count, self.id_bits)
            expected.append((KIND_STRING_OFFSETS, 0, 64, paged_len(payload_len)))
            expected.append((KIND_STRING_BYTES, 0, 64, None))
        if self.sections and self.sections[-1].kind == KIND_PIPELINE:
            expected.append((KIND_PIPELINE, 0, 64, None))
        return expected

    def check_sections(self):
        """§10.3, §10.4: V15."""
        expected = self.expected_sections()
        require(len(self.sections) == len(expected), 15, "wrong number of sections")
        end = HEADER_LEN
        for section, (kind, table, alignment, length) in zip(self.sections, expected):
            where = f"section of kind {section.kind} at {section.offset}"
            require((section.kind, section.table) == (kind, table), 15, f"{where}: out of order")
            require(section.offset == align(end, alignment), 15, f"{where}: wrong offset")
            require(length is None or section.length == length, 15, f"{where}: wrong length")
            if kind == KIND_STRING_BYTES:
                require(paged_payload_len(section.length) is not None, 15,
                        f"{where}: not the length of a paged section")
            if kind == KIND_PIPELINE:
                require(1 <= section.length <= MAX_PIPELINE_LEN, 15, f"{where}: wrong length")
            if kind not in CHECKED_BY_RECORD:
                require(section.checksum == 0, 15, f"{where}: has a checksum")
            end = section.end
        require(self.directory_offset == align(end, 64), 15, "wrong place of the directory")

    def load_sections(self):
        """§7.3, §9.1, §10.5: V16 to V19."""
        contents = {}
        for section in self.sections:
            if section.kind in CHECKED_BY_RECORD:
                content = self.data[section.offset:section.end]
                require(section.checksum == zlib.crc32(content), 16,
                        f"section of kind {section.kind} at {section.offset}: wrong checksum")
                contents[section.kind, section.table] = content
        blocks_offsets = [s.offset for s in self.sections if s.kind == KIND_BLOCKS]
        for table, blocks_offset in zip(self.tables, blocks_offsets):
            table.prepare(self.width, blocks_offset, contents[KIND_KEYS, table.number])
        if self.id_kind != ID_NONE:
            stored = struct.iter_unpack("<H", contents[KIND_BLOCK_COUNTS, 0])
            self.block_counts = [number + 1 for number, in stored]
            require(sum(self.block_counts) == self.fingerprint_count, 18,
                    "the block counts do not sum to the number of fingerprints")
            self.ranks_before = [0] + list(accumulate(self.block_counts))
        try:
            pipeline = contents.get((KIND_PIPELINE, 0))
            self.pipeline = None if pipeline is None else pipeline.decode("utf-8")
        except UnicodeDecodeError:
            raise Rejected(19, "the pipeline is not UTF-8") from None
        self.paged = {s.kind: Paged(self.data, s) for s in self.sections
                      if KIND_GROUPS <= s.kind <= KIND_STRING_BYTES}

    def check_id_fields(self):
        """§9.3, §9.4: V20."""
        if self.id_kind == ID_NONE:
            require(self.id_bits == 0 and self.id_base == 0, 20, "id fields without ids")
        elif self.id_kind == ID_NUMBER:
            require(self.id_bits <= 64, 20, "too many bits in an id")
        else:
            bits = self.paged[KIND_STRING_BYTES].payload_len.bit_length()
            require(self.id_bits == bits, 20, "wrong number of bits in a string offset")
            require(self.id_base == 0, 20, "a base without numbers")


# ---- Full check (§12) ---------------------------------------------------------------------------


def check_unused_bits(index):
    """V34: the bytes between sections and the bits behind packed arrays are zero."""
    starts = [section.offset for section in index.sections] + [index.directory_offset]
    ends = [HEADER_LEN] + [section.end for section in index.sections]
    for end, start in zip(ends, starts):
        require(not any(index.data[end:start]), 34, f"bytes from {end} to {start} are not zero")
    for kind, count in ((KIND_NUMBERS, index.record_count),
                        (KIND_STRING_OFFSETS, ceil_div(index.record_count, STRINGS_PER_OFFSET))):
        used_bits = count * index.id_bits
        if kind in index.paged and used_bits % 8 != 0:
            last_byte = index.paged[kind].read(used_bits // 8, used_bits // 8 + 1)
            require(read_bits(last_byte, used_bits % 8, 8 - used_bits % 8) == 0, 34,
                    "bits behind a packed array are not zero")


def verify(index):
    """§12: the rules of the stages behind `open`, V21 to V36."""
    values = [table_values(index, table) for table in index.tables]  # V21 to V27
    if index.id_kind != ID_NONE:
        for ids in all_ids(index):  # V28 to V32
            require(ids == sorted(ids), 33, "the ids of a fingerprint do not ascend")
    check_unused_bits(index)
    for table in index.tables:
        require(len(values[table.number]) == index.fingerprint_count, 35,
                f"table {table.number} has a wrong number of values")
    fingerprints = set(values[0])
    for table in index.tables:
        inverted = map(table.permutation.invert, values[table.number])
        require(fingerprints.issuperset(inverted), 36,
                f"table {table.number} holds other fingerprints than table 0")


# ---- Test files (§16) ---------------------------------------------------------------------------


def read_all(index):
    """What one reads who reads every table, and at each fingerprint its ids."""
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


def judge(data):
    """The class, the rule and the stage at which a file is rejected; dashes for a sound file.

    The stage is `open` if the file cannot be opened, `query` if reading it meets the rule, and
    `verify` if only a full check does.  What reading met a full check must find first as well:
    otherwise the stage tells what it found.
    """
    opened, index = rejected_by(Index, data)
    if index is None:
        return *opened, "open"
    read, _ = rejected_by(read_all, index)
    checked, _ = rejected_by(verify, index)
    if read == ("-", "-"):
        return *checked, "-" if checked == read else "verify"
    return *read, "query" if checked == read else f"query, but verify says {checked}"


def faults_of(folder, row):
    """In what this reader and a row of the manifest differ."""
    data = (folder / row["file"]).read_bytes()
    error_class, rule, stage = judge(data)
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
    faults += [f"{name} is {value}" for name, value in found.items() if row[name] != str(value)]
    if row["contents"] != "-" and (folder / row["contents"]).read_bytes() != dump:
        faults.append(f"other contents than {row['contents']}")
    return faults


def check_lines(manifest):
    """A line for each file of a manifest about which this reader says something else."""
    folder = pathlib.Path(manifest).parent
    lines = pathlib.Path(manifest).read_text(encoding="utf-8").splitlines()
    names = lines[0].split("\t")
    rows = [dict(zip(names, line.split("\t"))) for line in lines[1:]]
    faults = [f"{row['file']}: {fault}" for row in rows for fault in faults_of(folder, row)]
    return faults, f"{len(rows)} files, {len(faults)} not as the manifest says"


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


def info_lines(index, _arguments):
    """The header, the directory and the pipeline as JSON."""
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
        "tables": [{
            "prefix_mask": hex_digits(index, table.prefix_mask),
            "block_count": table.block_count,
            "codec": CODECS[table.codec],
            "code_lengths": table.code_lengths,
        } for table in index.tables],
        "sections": [section._asdict() for section in index.sections],
        "pipeline": index.pipeline,
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
    add_command("info", info_lines, "print header, directory and pipeline as JSON")
    check = commands.add_parser("check", help="judge every file of a list of test files")
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
