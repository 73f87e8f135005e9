"""Answers: the matches of many queries in arrays, and single matches."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, final

from simidx._simidx import ArrowColumn, Facts, Table
from simidx._tables import Tabular

if TYPE_CHECKING:
    import numpy as np
    import numpy.typing as npt

    from simidx._types import Ints, UInts


@final
@dataclass(frozen=True, eq=False, repr=False, slots=True)
class Match:
    """A fingerprint near a query."""

    fingerprint: int
    """The fingerprint found."""
    distance: int
    """Number of bits in which the fingerprint differs from the query."""
    rank: int
    """The rank of the fingerprint in its file, in numeric order; ranks continue across files.

    -1 in a collection.
    """
    ids: list[Any]
    """The ids of its records, numbers or strings; empty in an index without ids."""
    _width: int

    @property
    def hex(self) -> str:
        """The fingerprint in hexadecimal, as the program prints it."""
        return f"{self.fingerprint:0{self._width // 4}x}"

    def __repr__(self) -> str:
        """All fields except the rank."""
        return f"Match(fingerprint=0x{self.hex}, distance={self.distance}, ids={self.ids})"


@final
class Matches(Tabular):
    """The matches of many queries: those of query ``i`` are at ``offsets[i]:offsets[i + 1]`` of the other arrays.

    They are ordered by distance, then by value. Libraries that support Arrow read them as a table with a row for each
    match: query, rank, fingerprint, distance, and ids if the index has some. ``query`` is the number of the query,
    ``ids`` a list. There, 128-bit fingerprints are binary of 16 bytes, most significant first.
    """

    __slots__ = ("_facts", "_ranks", "distances", "fingerprints", "offsets")

    def __init__(
        self,
        offsets: Ints,
        fingerprints: UInts,
        distances: npt.NDArray[np.uint8],
        facts: Facts,
        ranks: Ints | None = None,
    ) -> None:
        """Create them from the results of a search."""
        self.offsets: Ints = offsets
        """The start of each query's matches, and the end of the last: one more entry than queries."""
        self.fingerprints: UInts = fingerprints
        """The matching fingerprints; for 128 bits, two columns with the high half first."""
        self.distances: npt.NDArray[np.uint8] = distances
        """Number of bits in which each match differs from its query."""
        self._facts = facts
        self._ranks = ranks

    @property
    def ranks(self) -> Ints:
        """The rank of each match in its file, in numeric order; ranks continue across files.

        Ranks are not row numbers of the input of the index; ids can store these. They are read on first access. -1 in a
        collection.
        """
        if self._ranks is None:
            self._ranks = self._facts.ranks(self.fingerprints)
        return self._ranks

    @property
    def query_count(self) -> int:
        """Number of queries."""
        return len(self.offsets) - 1

    @property
    def match_count(self) -> int:
        """Number of matches of all queries."""
        return len(self.distances)

    @property
    def counts(self) -> Ints:
        """Number of matches of each query."""
        return self.offsets[1:] - self.offsets[:-1]

    @property
    def queries(self) -> Ints:
        """The query number of each match."""
        import numpy as np

        return np.repeat(np.arange(self.query_count, dtype=np.int64), self.counts)

    def ids(self) -> list[list[Any]]:
        """Return the ids of each match, numbers or strings; empty lists in an index without ids."""
        return self._facts.ids(self.fingerprints, 0)

    def ids_arrow(self) -> ArrowColumn:
        """Return the ids of each match as an Arrow column of lists."""
        return self._facts.ids_arrow(self.fingerprints)

    def of(self, query: int) -> list[Match]:
        """Return the matches of one query, with their ids."""
        count = self.query_count
        if not -count <= query < count:
            raise IndexError(f"there is no query {query}, only {count}")
        start, end = self.offsets[query % count :][:2].tolist()
        found = self.fingerprints[start:end]
        ranks = self._facts.ranks(found) if self._ranks is None else self._ranks[start:end]
        width = 8 * found.dtype.itemsize * found.ndim
        values: Any = found.tolist()
        if found.ndim == 2:
            values = [high << 64 | low for high, low in values]
        distances = self.distances[start:end].tolist()
        columns = zip(values, distances, ranks.tolist(), self._facts.ids(found, start), strict=True)
        return [Match(*facts, width) for facts in columns]

    def _columns(self, arrow: bool = True) -> dict[str, Any]:
        columns: dict[str, Any] = {
            "query": self.queries,
            "rank": self.ranks,
            "fingerprint": self.fingerprints,
            "distance": self.distances,
        }
        if self._facts.id_kind != "none":
            columns["ids"] = self.ids_arrow() if arrow else self.ids()
        return columns

    def __arrow_c_schema__(self) -> Any:
        """Return the column types of the table as a capsule."""
        none = Matches(self.offsets[:1], self.fingerprints[:0], self.distances[:0], self._facts)
        return Table(none._columns()).__arrow_c_schema__()

    def __reduce__(self) -> tuple[Any, ...]:
        """Pickle with ranks and ids, without the index."""
        return _pickled, (
            self.offsets,
            self.fingerprints,
            self.distances,
            self._facts.pickled(self.fingerprints),
            self.ranks,
        )

    def __repr__(self) -> str:
        """Counts."""
        return f"<simidx.Matches: {self.match_count} matches of {self.query_count} queries>"


def _pickled(offsets: Ints, fingerprints: UInts, distances: npt.NDArray[np.uint8], facts: Any, ranks: Ints) -> Matches:
    return Matches(offsets, fingerprints, distances, Facts(facts), ranks)
