"""Searches, and indexes: open files.

Each function passes its arguments to the extension by name, as ``locals()`` returns them when it starts.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from functools import partial
from typing import TYPE_CHECKING, Any, Literal, final

from simidx import _simidx
from simidx._matches import Match, Matches

if TYPE_CHECKING:
    import numpy as np
    import numpy.typing as npt
    from typing_extensions import Self

    from simidx._simidx import ArrowColumn
    from simidx._texts import Pipeline
    from simidx._types import Fingerprint, Fingerprints, Ids, Mask, Memory, Path, Progress, UInts


class Searchable:
    """An index or a collection. As a context manager, it closes itself."""

    __slots__ = ()

    def query(
        self,
        fingerprints: Fingerprints,
        k: int | None = None,
        *,
        signed: bool = False,
        threads: int | None = None,
        progress: Progress | None = None,
    ) -> Matches:
        """Find all fingerprints within ``k`` bits of each query; ``k`` is by default that of the index or collection.

        In a collection, changes may occur between the answers to two queries.
        """
        return Matches(*_simidx.query(locals()))

    def query_one(self, fingerprint: Fingerprint, k: int | None = None, *, signed: bool = False) -> list[Match]:
        """Find all fingerprints within ``k`` bits of one, with their ids."""
        return Matches(*_simidx.query(locals())).of(0)

    def nearest(
        self,
        fingerprints: Fingerprints,
        n: int = 1,
        *,
        max_distance: int | None = None,
        signed: bool = False,
        threads: int | None = None,
        progress: Progress | None = None,
    ) -> Matches:
        """Find the ``n`` fingerprints nearest to each query, within ``max_distance``."""
        return Matches(*_simidx.query(locals()))

    def contains(
        self,
        fingerprints: Fingerprints,
        k: int | None = None,
        *,
        signed: bool = False,
        threads: int | None = None,
        progress: Progress | None = None,
    ) -> Mask:
        """Check whether there is a fingerprint within ``k`` bits of each query; stops at the first."""
        return _simidx.contains(locals())

    def close(self) -> None:
        """Close the files."""
        raise NotImplementedError

    def __enter__(self) -> Self:
        """Return self."""
        return self

    def __exit__(self, *exception: object) -> None:
        """Close it."""
        self.close()


@final
class Index(_simidx.Index, Searchable):
    """An open index: one or several files, searched as one.

    Threads may share it. It is pickled by its paths.
    """

    __slots__ = ()

    def join(
        self,
        fingerprints: Fingerprints,
        k: int | None = None,
        *,
        signed: bool = False,
        memory: Memory | None = None,
        temp_dir: Path | None = None,
        threads: int | None = None,
        progress: Progress | None = None,
    ) -> Matches:
        """Answer very many queries like ``query``, by one pass over the files if that is faster."""
        return Matches(*_simidx.join(locals()))

    def fingerprints(self, *, threads: int | None = None) -> UInts:
        """Return all distinct fingerprints in numeric order."""
        return _simidx.fingerprints(locals())

    def records(self, *, progress: Progress | None = None) -> tuple[UInts, npt.NDArray[np.uint64] | ArrowColumn | None]:
        """Return all records: their fingerprints in numeric order, and their ids.

        Number ids are an array, string ids an Arrow column; ``None`` in an index without ids.
        """
        return _simidx.records(locals())

    def ids_of(self, fingerprint: Fingerprint, *, signed: bool = False) -> list[Any]:
        """Return the ids of the records with exactly this fingerprint."""
        return _simidx.ids_of(locals())

    def without(
        self,
        ids: Ids | None = None,
        *,
        fingerprints: Fingerprints | None = None,
        signed: bool = False,
        file: int | None = None,
    ) -> Index:
        """Return the index without records with some ids or fingerprints; with ``file``, only those of one file.

        The files stay unchanged and open. No answer of the new index has the excluded records, and neither has a file
        that ``merge`` makes of it alone. Figures of files, such as ``record_count`` and ``len``, still include them.
        The new index cannot be pickled. Memory: 20 to 40 bytes for each fingerprint, each number id, and each record
        with a string id.
        """
        return Index(locals())

    def warm(self, *, threads: int | None = None, progress: Progress | None = None) -> None:
        """Load the files into memory and check each block once, so that the first queries are as fast as later ones."""
        _simidx.warm(locals())

    def verify(self, *, threads: int | None = None, progress: Progress | None = None) -> None:
        """Check every byte of the files. Raises ``FormatError`` if one is damaged."""
        _simidx.verify(locals())

    def __reduce__(self) -> tuple[Any, ...]:
        """Pickle the paths; unpickling opens the files again."""
        paths, in_memory = self.pickled()
        return partial(open, in_memory=in_memory), (paths,)


def open(path: Path | Sequence[Path], *, in_memory: bool = False, warm: bool = False) -> Index:
    """Open one file, or several as one. A folder with a manifest is the set of files that it lists.

    Files are mapped: replace them by renaming, never in place. ``in_memory`` reads them instead.
    """
    index = Index(locals())
    if warm:
        index.warm()
    return index


def build(
    path: Path,
    fingerprints: Fingerprints,
    ids: Ids | Literal["rows"] | None = None,
    k: int = 3,
    tables: int | None = None,
    memory: Memory | None = None,
    *,
    width: int | None = None,
    signed: bool = False,
    codec: Literal["auto", "xor", "gap", "ef", "lines"] | None = None,
    block_size: int | None = None,
    id_lookup: bool = False,
    pipeline: str | Pipeline | None = None,
    metadata: dict[str, str] | None = None,
    temp_dir: Path | None = None,
    threads: int | None = None,
    progress: Progress | None = None,
) -> Index:
    """Write an index to a file, and open it.

    The complete file replaces any file of its name. Ids are numbers or strings, one for each fingerprint; ``"rows"``
    means the row numbers. ``k`` is the distance that the tables are chosen for, ``tables`` their number. ``memory``
    limits the memory of the build: a number of bytes, or ``"4GB"``. ``id_lookup`` makes ``Index.fingerprints_of`` fast.
    ``progress`` is called with the stage, the amount done and the total.
    """
    _simidx.build(locals())
    return open(path)


def merge(
    path: Path,
    inputs: Path | Index | Iterable[Path | Index],
    *,
    k: int | None = None,
    tables: int | None = None,
    newest_wins: bool = False,
    exclude_ids: Ids | None = None,
    exclude_fingerprints: Fingerprints | None = None,
    signed: bool = False,
    memory: Memory | None = None,
    temp_dir: Path | None = None,
    threads: int | None = None,
    progress: Progress | None = None,
) -> Index:
    """Write one file with the records of several, and open it.

    With ``newest_wins``, a record is dropped if a later input has its id. ``signed`` applies to
    ``exclude_fingerprints``.
    """
    _simidx.merge(locals())
    return open(path)
