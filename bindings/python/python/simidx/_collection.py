"""Collections: records that change while they are searched."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Literal, TypedDict, final

from simidx import _simidx
from simidx._matches import Match, Matches
from simidx._search import Searchable

if TYPE_CHECKING:
    from typing_extensions import Unpack

    from simidx._texts import Pipeline
    from simidx._types import Fingerprint, Fingerprints, Ids, Path, Progress, Texts, UInts


class _Options(TypedDict, total=False):
    k: int | None
    width: int | None
    pipeline: str | Pipeline | None
    sync: Literal["always", "batch", "never"]
    replace: bool
    seal_records: int | None
    threads: int | None


@final
@dataclass(frozen=True, eq=False, repr=False)
class Added:
    """The answer to an addition to a collection."""

    fingerprint: int
    """The fingerprint that the record has now."""
    outcome: Literal["new", "unchanged", "replaced"]
    """The outcome: the id was new, had exactly this fingerprint already, or had another one."""
    replaced: int | None
    """The previous fingerprint of the record, if it had another one."""
    matches: list[Match]
    """The earlier records nearby, by distance, then by value. The record with the same id is excluded."""

    def __repr__(self) -> str:
        """The outcome and the matches."""
        return f'Added(outcome="{self.outcome}", matches={self.matches})'


@final
@dataclass(frozen=True, eq=False, repr=False)
class Additions:
    """The answers to many additions to a collection, in their order."""

    fingerprints: UInts
    """The fingerprints of the records."""
    outcomes: list[Literal["new", "unchanged", "replaced"]]
    """The outcome of each addition."""
    matches: Matches
    """The matches of each record when it was added, including earlier records of this call."""

    def __len__(self) -> int:
        """Number of records."""
        return len(self.outcomes)

    def __repr__(self) -> str:
        """Counts."""
        return f"<simidx.Additions: {len(self)} records, {self.matches.match_count} matches>"


@final
class Collection(_simidx.Collection, Searchable):
    """A collection of records in a folder, each a fingerprint with a string id. An id has at most one record.

    The constructor creates a collection that does not exist. Answers are exact at any time, and threads may share it.
    ``sync`` determines when a change is acknowledged: once it is on disk (``"always"``, the default), or at once, in
    which case it is on disk about 100 ms later (``"batch"``), or only when it is sealed or the collection is closed
    (``"never"``). ``k``, ``width`` and ``pipeline`` are fixed at creation, by default 3, the width of a ``Pipeline`` or
    64, and none; for an existing collection they must match. With ``replace=False``, an id with another fingerprint is
    an error instead of being replaced. After ``seal_records`` changes, by default 100,000, recent records go to an
    index file, on ``threads`` background threads, by default one.

    It cannot be pickled, and a forked process cannot use it.
    """

    __slots__ = ()

    def __new__(cls, path: Path, **options: Unpack[_Options]) -> Collection:
        """Open the collection of a folder, or create it."""
        return cls._started(path, "either", options)

    @classmethod
    def open(cls, path: Path, **options: Unpack[_Options]) -> Collection:
        """Open the existing collection of a folder."""
        return cls._started(path, "open", options)

    @classmethod
    def create(cls, path: Path, **options: Unpack[_Options]) -> Collection:
        """Create an empty collection in a folder, which must be empty or not exist."""
        return cls._started(path, "create", options)

    @classmethod
    def _started(cls, path: Path, way: Literal["either", "open", "create"], options: _Options) -> Collection:
        for name in options:
            if name not in _Options.__annotations__:
                raise TypeError(f"Collection() got an unexpected keyword argument '{name}'")
        return super().__new__(cls, path, way, options)

    def add(
        self, id: str, fingerprint: Fingerprint | None = None, *, text: str | None = None, signed: bool = False
    ) -> Added:
        """Check and add a record in one step. Return its earlier matches; every later query finds the record.

        The pipeline of the collection converts ``text`` to a fingerprint.
        """
        value, outcome, replaced, near = _simidx.add(locals())
        return Added(value, outcome, replaced, Matches(*near).of(0))

    def add_many(
        self,
        ids: Ids,
        fingerprints: Fingerprints | None = None,
        *,
        texts: Texts | None = None,
        signed: bool = False,
        threads: int | None = None,
        progress: Progress | None = None,
    ) -> Additions:
        """Add records in order, each checked against those before it, and wait for the disk once.

        If a record cannot be added, those before it have been, and ``added`` of the exception is their number. After a
        ``FileError`` they may or may not exist when the collection is opened again.
        """
        values, outcomes, near = _simidx.add_many(locals())
        return Additions(values, outcomes, Matches(*near))
