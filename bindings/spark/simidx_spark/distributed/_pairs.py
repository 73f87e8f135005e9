"""All pairs within a distance: equal fingerprints collapse, rounds group near ones, and each pair is found once."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from functools import reduce

import numpy as np
import pyarrow as pa

from simidx import _simidx
from simidx_spark.distributed._columns import (
    Array,
    arrow_type,
    as_int,
    distances,
    empty,
    from_arrow,
    pack,
    to_arrow,
    unpack,
    width_of_array,
    with_fingerprints,
)
from simidx_spark.distributed._messages import (
    MESSAGE,
    Batches,
    Rows,
    _Sends,
    at_places,
    divided,
    gathered,
    messages,
    received,
    rows_for,
)

#: A round of a search: the bits and their values that its fingerprints have, its mask, those of earlier rounds, and
#: the values under the mask that have rounds of their own.
Round = tuple[int, int, int, list[int], list[int]]

#: Fingerprints in the sample of each place.
SAMPLE = 1 << 12

#: The most fingerprints at a place of a round: 128 MiB of 64 bits.
PLACE = 1 << 24

#: Fingerprints that are hashed at once.
CHUNK = 1 << 14

#: Fingerprints in a message: rows of a few megabytes.
PIECE = 1 << 19


class Collapse(_Sends):
    """Sends the distinct fingerprints of a column to places, by their value; null values are skipped."""

    def __init__(self, column: str, places: int) -> None:
        self._column, self._places = column, places

    def _rows(self, batches: Batches) -> Rows:
        for table in gathered(batches, rows_for(self._places)):
            values = from_arrow(with_fingerprints(table, self._column).column(self._column))
            width = width_of_array(values)
            distinct, _ = _simidx.distinct(values)
            for place, some in divided(*_simidx.scatter(distinct, self._places)):
                yield place, width, pack(some)


class Distinct:
    """Returns the distinct fingerprints of each place, packed, and their profile for the choice of rounds."""

    schema: pa.Schema = pa.schema(
        [
            ("place", pa.int32()),
            ("part", pa.int32()),
            ("data", pa.binary()),
            ("count", pa.int64()),
            ("varying", pa.binary()),
            ("sample", pa.binary()),
        ]
    )

    def __call__(self, batches: Batches) -> Batches:
        for place, parts in at_places(batches, lambda width, data: unpack(data, width)):
            width = width_of_array(parts[0])
            values = np.concatenate(parts)
            del parts
            values, varying = _simidx.distinct(values)
            row = {
                "place": place,
                "part": width,
                "count": len(values),
                "varying": varying.to_bytes(16, "little"),
                "sample": pack(smallest_hashes(values, SAMPLE)),
            }
            for start in range(0, len(values), PIECE):
                row["data"] = pack(values[start : start + PIECE])
                yield pa.RecordBatch.from_pylist([row], schema=self.schema)
                # The first row holds the profile of all.
                row = {"place": place, "part": width, "count": 0, "varying": b"", "sample": b""}


def _hashes(values: Array) -> Array:
    # The finalizer of MurmurHash3, which is in the public domain.
    hashes = values if values.ndim == 1 else values[:, 0] ^ values[:, 1] * np.uint64(0xFF51AFD7ED558CCD)
    hashes = hashes.astype("<u8") ^ np.uint64(0x2545F4914F6CDD1D)
    for factor in (0xFF51AFD7ED558CCD, 0xC4CEB9FE1A85EC53):
        hashes ^= hashes >> np.uint64(33)
        hashes *= np.uint64(factor)
    hashes ^= hashes >> np.uint64(33)
    return hashes


def smallest_hashes(values: Array, most: int) -> Array:
    """Returns a sample that depends only on the fingerprints: those with the smallest hashes, ordered by hash."""
    if len(values) > 8 * most:
        # About four times as many hashes as needed are below the limit. The hashes of a chunk stay in the cache.
        limit = np.uint64((most << 66) // len(values))
        chunks = (values[start : start + CHUNK] for start in range(0, len(values), CHUNK))
        few = np.concatenate([chunk[_hashes(chunk) < limit] for chunk in chunks])
        values = few if len(few) >= most else values
    hashes = _hashes(values)
    if len(values) > most:
        near = np.argpartition(hashes, most - 1)[:most]
        values, hashes = values[near], hashes[near]
    sample: Array = values[np.argsort(hashes, kind="stable")]
    return sample


@dataclass(frozen=True)
class Profile:
    """The profile of fingerprints: their width, their number, the varying bits, and a sample."""

    width: int
    count: int
    varying: int
    sample: Array

    @staticmethod
    def of(rows: Iterable[tuple[int, int, bytes, bytes]]) -> Profile:
        """Returns the profile of all places, from the width, the count, the varying bits and the sample of each."""
        known = [(width, count, int.from_bytes(v, "little"), unpack(s, width)) for width, count, v, s in rows if count]
        if not known:
            return Profile(64, 0, 0, empty(64))
        width = known[0][0]
        firsts = [as_int(sample, 0) for _, _, _, sample in known]
        varying = reduce(lambda one, other: one | other, [v for _, _, v, _ in known] + [f ^ firsts[0] for f in firsts])
        # Values are distributed by a hash, so the same share of each place gives an even sample.
        total = sum(count for _, count, _, _ in known)
        most = min(1.0, min(len(sample) / count for _, count, _, sample in known))
        parts = [sample[: max(1, int(most * count))] for _, count, _, sample in known]
        sample, _ = _simidx.distinct(np.concatenate(parts))
        return Profile(width, total, varying, sample)


def choose_rounds(profile: Profile, k: int, places: int) -> list[Round]:
    """Chooses the rounds for these fingerprints; groups that are too large for one of ``places`` places are divided."""
    return _simidx.choose_rounds(k, profile.count, profile.varying, profile.sample, 0.25 / places)


class Meeting:
    """Where fingerprints of a width meet in each round of a search for pairs within ``k`` bits.

    A round has a number of places, with at most `PLACE` fingerprints each. If one place can hold all of them, it works
    on several rounds, so that fingerprints are sent once for each core and not once for each round.
    """

    def __init__(self, width: int, k: int, rounds: list[Round], count: int, cores: int) -> None:
        self.width: int = width
        self.rounds: list[Round] = rounds
        self._k = k
        self._of_each = max(1, -(-count // PLACE))
        #: Whether each place gets all fingerprints.
        self.sends_all: bool = self._of_each == 1
        if self.sends_all:
            places = max(1, min(cores, len(rounds)))
        else:
            self._of_each = max(self._of_each, -(-cores // len(rounds)))
            places = self._of_each * len(rounds)
        self.places: int = places

    @staticmethod
    def of(profile: Profile, k: int, cores: int) -> Meeting | None:
        """Returns where the fingerprints of a profile meet; ``None`` if no two can be near."""
        places = max(-(-profile.count // PLACE), cores)
        rounds = choose_rounds(profile, k, places) if profile.count > 1 else []
        return Meeting(profile.width, k, rounds, profile.count, cores) if rounds else None

    @property
    def copies(self) -> int:
        """The number of times that each fingerprint is sent."""
        return self.places if self.sends_all else len(self.rounds)

    def send(self, values: Array) -> Iterator[tuple[int, Array]]:
        """Returns the places of fingerprints."""
        if self.sends_all:
            yield from ((place, values) for place in range(self.places))
            return
        for number, round in enumerate(self.rounds):
            for place, some in divided(*_simidx.scatter_round(round, values, self._of_each)):
                yield number * self._of_each + place, some

    def find(self, place: int, values: Array, links: bool) -> Iterator[tuple[Array, Array]]:
        """Finds the pairs of the distinct fingerprints that came to a place."""
        if not self.sends_all:
            yield _simidx.find_pairs(self._k, self.rounds[place // self._of_each], values, links)
            return
        for round in self.rounds[place :: self.places]:
            within, _, _, _, crowds = round
            taken = _simidx.scatter_round(round, values, 1)[0] if within or crowds else values
            yield _simidx.find_pairs(self._k, round, taken, links)


class Send(_Sends):
    """Sends packed fingerprints to all places where they meet others; with two sides, as those of one side."""

    def __init__(self, meeting: Meeting, side: int = 1) -> None:
        self._meeting, self._side = meeting, side

    def _rows(self, batches: Batches) -> Rows:
        for _, width, data in received(batches):
            for place, values in self._meeting.send(unpack(data, width)):
                yield place, width * self._side, pack(values)


class Find:
    """Finds the pairs that meet at each place, or with ``links`` only enough to link the same fingerprints, packed."""

    def __init__(self, meeting: Meeting, links: bool = False) -> None:
        self._meeting, self._links = meeting, links
        kind = arrow_type(meeting.width)
        found = pa.schema([("left", kind), ("right", kind), ("distance", pa.int32())])
        self.schema: pa.Schema = MESSAGE if links else found

    def __call__(self, batches: Batches) -> Batches:
        for place, parts in at_places(batches, lambda width, data: unpack(data, width)):
            # Each fingerprint comes once, so the first ones of messages determine their order.
            values = np.concatenate(sorted(parts, key=lambda part: part[:1].tobytes()))
            del parts
            yield from self._found(place, values)

    def _found(self, place: int, values: Array) -> Batches:
        """Returns the pairs, or the links, of the distinct fingerprints that came to a place."""
        width = self._meeting.width
        pieces = (
            (left[start : start + PIECE], right[start : start + PIECE])
            for left, right in self._meeting.find(place, values, self._links)
            for start in range(0, len(left), PIECE)
        )
        if self._links:
            yield from messages((0, width, pack(np.concatenate(both))) for both in pieces)
            return
        for left, right in pieces:
            for start in range(0, len(left), 1 << 16):
                one, other = left[start : start + (1 << 16)], right[start : start + (1 << 16)]
                columns = [to_arrow(one), to_arrow(other), pa.array(distances(one, other))]
                yield pa.RecordBatch.from_arrays(columns, schema=self.schema)
