"""Collections: records that come and go, and are searched meanwhile."""

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
    """What became of the id: it was new, had this very fingerprint already, or had another one."""
    replaced: int | None
    """The fingerprint that the record had before, if it had another one."""
    matches: list[Match]
    """What was near before, by distance, then by value. The record of the same id is left out."""

    def __repr__(self) -> str:
        """The outcome and what was near."""
        return f'Added(outcome="{self.outcome}", matches={self.matches})'


@final
@dataclass(frozen=True, eq=False, repr=False)
class Additions:
    """The answers to many additions to a collection, in their order."""

    fingerprints: UInts
    """The fingerprints of the records."""
    outcomes: list[Literal["new", "unchanged", "replaced"]]
    """What became of each id."""
    matches: Matches
    """What was near to each before it was added, the records before it included."""

    def __len__(self) -> int:
        """Number of records."""
        return len(self.outcomes)

    def __repr__(self) -> str:
        """Counts."""
        return f"<simidx.Additions: {len(self)} records, {self.matches.match_count} matches>"


@final
class Collection(_simidx.Collection, Searchable):
    """Records that come and go in a folder: a fingerprint with an id, a string, each. An id has one record at most.

    Opening one where there is none makes it. Answers are exact at any time, and threads may share it. ``sync`` says
    when a change is acknowledged: when it is on disk (``"always"``, the default), or at once; it is on disk after 100
    ms then (``"batch"``), or when it is sealed or the collection is closed (``"never"``). ``k``, ``width`` and
    ``pipeline`` are fixed when it is made, by default 3, 64 and none; of one that is there they must be so. With
    ``replace=False`` an id with another fingerprint is refused instead of replaced. After ``seal_records`` changes, by
    default 100,000, recent records go to an index file, on ``threads`` threads in the background, by default one.

    It cannot be pickled, and a forked process cannot use it.
    """

    __slots__ = ()

    def __new__(cls, path: Path, **options: Unpack[_Options]) -> Collection:
        """Open the collection of a folder, or make one where there is none."""
        return cls._started(path, "either", options)

    @classmethod
    def open(cls, path: Path, **options: Unpack[_Options]) -> Collection:
        """Open the collection of a folder."""
        return cls._started(path, "open", options)

    @classmethod
    def create(cls, path: Path, **options: Unpack[_Options]) -> Collection:
        """Make an empty collection in a folder, which is made too, or is empty."""
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
        """Check and add a record in one step: the answer has what was near before, and every later query finds it.

        ``text`` in place of a fingerprint becomes one by the pipeline of the collection.
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
        """Add records one after the other, each checked against those before it, and wait for the disk once.

        If one cannot be added, those before it have been, and ``added`` of the exception is their number. After a
        ``FileError`` they may be there or not when the collection is opened again.
        """
        values, outcomes, near = _simidx.add_many(locals())
        return Additions(values, outcomes, Matches(*near))
