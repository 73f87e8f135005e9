"""All pairs within a distance: equal fingerprints collapse, rounds bring near ones together, a pair is found once."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from functools import reduce

import numpy as np
import pyarrow as pa

from simidx._simidx import _distinct, _PairRounds, _scatter
from simidx.distributed._columns import (
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
)
from simidx.distributed._messages import MESSAGE, Batches, gathered, messages, received, rows_for

#: Fingerprints of a sample of each place.
SAMPLE = 1 << 12


class Collapse:
    """Sends the distinct fingerprints of a column to places, by their value."""

    schema: pa.Schema = MESSAGE

    def __init__(self, column: str, places: int) -> None:
        self._column, self._places = column, places

    def __call__(self, batches: Batches) -> Batches:
        return messages(self._rows(batches))

    def _rows(self, batches: Batches) -> Iterator[tuple[int, int, bytes]]:
        for table in gathered(batches, rows_for(self._places)):
            values = from_arrow(table.column(self._column))
            width = width_of_array(values)
            distinct, _ = _distinct(values, width)
            scattered, ends = _scatter(distinct, width, self._places)
            start = 0
            for place, end in enumerate(ends.tolist()):
                if end > start:
                    yield place, width, pack(scattered[start:end])
                start = end


class Distinct:
    """The distinct fingerprints of each place, packed, and what is to be known of them before rounds are chosen."""

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
        places: dict[int, list[Array]] = {}
        width = 64
        for place, width, data in received(batches):
            places.setdefault(place, []).append(unpack(data, width))
        for place in sorted(places):
            values, varying = _distinct(np.concatenate(places.pop(place)), width)
            row = {
                "place": place,
                "part": width,
                "data": pack(values),
                "count": len(values),
                "varying": varying.to_bytes(16, "little"),
                "sample": pack(smallest_hashes(values, SAMPLE)),
            }
            yield pa.RecordBatch.from_pylist([row], schema=self.schema)


def smallest_hashes(values: Array, most: int) -> Array:
    """A sample that depends on the fingerprints alone: those with the smallest hashes, in order of these."""
    # The finalizer of MurmurHash3, which is in the public domain.
    hashes = values if values.ndim == 1 else values[:, 0] ^ values[:, 1] * np.uint64(0xFF51AFD7ED558CCD)
    hashes = hashes.astype("<u8") ^ np.uint64(0x2545F4914F6CDD1D)
    for factor in (0xFF51AFD7ED558CCD, 0xC4CEB9FE1A85EC53):
        hashes ^= hashes >> np.uint64(33)
        hashes *= np.uint64(factor)
    hashes ^= hashes >> np.uint64(33)
    if len(values) > most:
        near = np.argpartition(hashes, most - 1)[:most]
        values, hashes = values[near], hashes[near]
    sample: Array = values[np.argsort(hashes, kind="stable")]
    return sample


@dataclass(frozen=True)
class Profile:
    """What is known of fingerprints: their width, their number, the bits that vary, and a sample."""

    width: int
    count: int
    varying: int
    sample: Array

    @staticmethod
    def of(rows: Iterable[tuple[int, int, bytes, bytes]]) -> Profile:
        """The profile of all places, from the width, the count, what varies and the sample of each."""
        known = [(width, count, int.from_bytes(v, "little"), unpack(s, width)) for width, count, v, s in rows if count]
        if not known:
            return Profile(64, 0, 0, empty(64))
        width = known[0][0]
        firsts = [as_int(sample, 0) for _, _, _, sample in known]
        varying = reduce(lambda one, other: one | other, [v for _, _, v, _ in known] + [f ^ firsts[0] for f in firsts])
        # Places hold what a hash gives them: from each as much as its share, so that the sample is even.
        total = sum(count for _, count, _, _ in known)
        most = min(1.0, min(len(sample) / count for _, count, _, sample in known))
        parts = [sample[: max(1, int(most * count))] for _, count, _, sample in known]
        sample, _ = _distinct(np.concatenate(parts), width)
        return Profile(width, total, varying, sample)


def choose_rounds(profile: Profile, k: int, places: int) -> _PairRounds:
    """The rounds for these fingerprints; what meets too often for one of so many places is divided."""
    return _PairRounds.choose(k, profile.count, profile.varying, profile.sample, 0.25 / places)


class Send:
    """Sends packed fingerprints to a place of each round: place ``round * places + i`` of ``places * len(rounds)``."""

    schema: pa.Schema = MESSAGE

    def __init__(self, rounds: _PairRounds, places: int) -> None:
        self._rounds, self._places = rounds, places

    def __call__(self, batches: Batches) -> Batches:
        return messages(self._rows(batches))

    def _rows(self, batches: Batches) -> Iterator[tuple[int, int, bytes]]:
        for _, width, data in received(batches):
            values = unpack(data, width)
            for round in range(len(self._rounds)):
                scattered, ends = self._rounds.scatter(round, values, self._places)
                start = 0
                for place, end in enumerate(ends.tolist()):
                    if end > start:
                        yield round * self._places + place, width, pack(scattered[start:end])
                    start = end


class Find:
    """The pairs that meet at each place, or with ``links`` as few as link the same fingerprints, packed."""

    def __init__(self, rounds: _PairRounds, places: int, links: bool = False) -> None:
        self._rounds, self._places, self._links = rounds, places, links
        kind = arrow_type(rounds.width)
        pairs = pa.schema([("left", kind), ("right", kind), ("distance", pa.int32())])
        self.schema: pa.Schema = MESSAGE if links else pairs

    def __call__(self, batches: Batches) -> Batches:
        places: dict[int, list[Array]] = {}
        for place, width, data in received(batches):
            places.setdefault(place, []).append(unpack(data, width))
        found = (self._find(place, places.pop(place)) for place in sorted(places))
        if self._links:
            yield from messages((0, self._rounds.width, pack(np.concatenate(both))) for both in found if len(both[0]))
            return
        for left, right in found:
            for start in range(0, len(left), 1 << 16):
                one, other = left[start : start + (1 << 16)], right[start : start + (1 << 16)]
                columns = [to_arrow(one), to_arrow(other), pa.array(distances(one, other))]
                yield pa.RecordBatch.from_arrays(columns, schema=self.schema)

    def _find(self, place: int, parts: list[Array]) -> tuple[Array, Array]:
        left, right = self._rounds.find(place // self._places, np.concatenate(parts), self._links, 1)
        return left, right
