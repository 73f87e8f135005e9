"""What can be searched, and indexes: files that are open.

A function hands its arguments to the extension by their names, as ``locals()`` gives them when it starts.
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
    """What can be searched: an index, or a collection. As a context manager it closes itself."""

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
        """All fingerprints within ``k`` bits of each query; by default within the distance of what is searched.

        In a collection changes may come between the answers to two queries.
        """
        return Matches(*_simidx.query(locals()))

    def query_one(self, fingerprint: Fingerprint, k: int | None = None, *, signed: bool = False) -> list[Match]:
        """All fingerprints within ``k`` bits of one, with their ids."""
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
        """The ``n`` fingerprints nearest to each query, none farther than ``max_distance``."""
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
        """Whether a fingerprint within ``k`` bits of each query is there; stops at the first."""
        return _simidx.contains(locals())

    def close(self) -> None:
        """Let go of the files."""
        raise NotImplementedError

    def __enter__(self) -> Self:
        """The same."""
        return self

    def __exit__(self, *exception: object) -> None:
        """Close it."""
        self.close()


@final
class Index(_simidx.Index, Searchable):
    """An index that is open: one file, or several that are searched as one.

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
        """The answers of ``query`` for very many queries, by one pass over the files where that is quicker."""
        return Matches(*_simidx.join(locals()))

    def fingerprints(self, *, threads: int | None = None) -> UInts:
        """All fingerprints in numeric order, each once."""
        return _simidx.fingerprints(locals())

    def records(self, *, progress: Progress | None = None) -> tuple[UInts, npt.NDArray[np.uint64] | ArrowColumn | None]:
        """All records: their fingerprints in numeric order, and their ids.

        Ids that are numbers are an array, strings a column of Arrow; ``None`` in an index without ids.
        """
        return _simidx.records(locals())

    def ids_of(self, fingerprint: Fingerprint, *, signed: bool = False) -> list[Any]:
        """The ids of the records that have this very fingerprint."""
        return _simidx.ids_of(locals())

    def without(
        self,
        ids: Ids | None = None,
        *,
        fingerprints: Fingerprints | None = None,
        signed: bool = False,
        file: int | None = None,
    ) -> Index:
        """The same index without the records that have some ids or some fingerprints; with ``file``, those of one file.

        The files stay as they are and open, and no answer of the new index has these records; nor has a file that
        ``merge`` makes of it alone. Figures of files, such as ``record_count`` and ``len``, still count them. It cannot
        be pickled. Memory: 20 to 40 bytes for each fingerprint, each number, and each record with a string.
        """
        return Index(locals())

    def warm(self, *, threads: int | None = None, progress: Progress | None = None) -> None:
        """Bring the files to memory and check each block once, so that the first queries are as quick as later ones."""
        _simidx.warm(locals())

    def verify(self, *, threads: int | None = None, progress: Progress | None = None) -> None:
        """Check every byte of the files. Raises ``FormatError`` if one is damaged."""
        _simidx.verify(locals())

    def __reduce__(self) -> tuple[Any, ...]:
        """Pickled by its paths, and opened again where it is read."""
        paths, in_memory = self.pickled()
        return partial(open, in_memory=in_memory), (paths,)


def open(path: Path | Sequence[Path], *, in_memory: bool = False, warm: bool = False) -> Index:
    """Open one file, or several that are searched as one. A folder with a manifest is the set of files that it lists.

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

    The file appears under its name when it is complete, and replaces what had the name. Ids are numbers or strings,
    one for each fingerprint; ``"rows"`` stands for the numbers of the rows. ``k`` is the distance that the tables are
    chosen for, ``tables`` their number. ``memory`` limits what the build takes: a number of bytes, or ``"4GB"``.
    ``id_lookup`` makes ``Index.fingerprints_of`` quick. ``progress`` is called with a stage, what is done of it, and
    of how much.
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

    With ``newest_wins`` a record is left out if a later input has its id. ``signed`` is of ``exclude_fingerprints``.
    """
    _simidx.merge(locals())
    return open(path)
