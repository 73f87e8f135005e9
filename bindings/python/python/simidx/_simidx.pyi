"""The extension: what `simidx` exports."""

import os
from collections.abc import Callable, Iterable, Iterator, Sequence
from types import TracebackType
from typing import Any, Literal, Protocol, TypeAlias, final

import numpy as np
import numpy.typing as npt
import pandas
import polars
import pyarrow

from simidx._tables import Pairs, TextPairs

class _ArrowStream(Protocol):
    def __arrow_c_stream__(self, requested_schema: Any = None, /) -> Any: ...

class _ArrowArray(Protocol):
    def __arrow_c_array__(self, requested_schema: Any = None, /) -> Any: ...

class _NumPyArray(Protocol):
    def __array__(self) -> npt.NDArray[Any]: ...

_Column: TypeAlias = npt.NDArray[Any] | _ArrowStream | _ArrowArray | _NumPyArray
_Fingerprints: TypeAlias = _Column | Iterable[int] | Iterable[str] | Iterable[np.integer[Any]]
_Ids: TypeAlias = _Column | Iterable[int] | Iterable[str]
_Texts: TypeAlias = _Column | Iterable[str]
_Fingerprint: TypeAlias = int | str | np.integer[Any]
_Path: TypeAlias = str | os.PathLike[str]
_Memory: TypeAlias = int | str
_Progress: TypeAlias = Callable[[str, int, int], object]
_UInts: TypeAlias = npt.NDArray[np.uint32] | npt.NDArray[np.uint64]

__all__ = [
    "Added",
    "Additions",
    "ArrowColumn",
    "Collection",
    "Comparison",
    "Index",
    "Match",
    "Matches",
    "Pipeline",
    "_PairRounds",
    "_Table",
    "__version__",
    "_components",
    "_dedup_documents",
    "_dedup_texts",
    "_distinct",
    "_identities",
    "_join_manifests",
    "_lookup",
    "_manifest_segments",
    "_match",
    "_matches",
    "_pipeline",
    "_places",
    "_program",
    "_reopen",
    "_scatter",
    "_segment_manifest",
    "_sketch_matches",
    "_sketch_words",
    "_text_keys",
    "build",
    "clusters",
    "clusters_texts",
    "compare",
    "dedup",
    "dedup_texts",
    "merge",
    "open",
    "pairs",
    "pairs_texts",
]

__version__: str

@final
class ArrowColumn:
    """A column for any library that reads Arrow: ``pyarrow.array(column)``, ``polars.Series(column)``."""

    def __len__(self) -> int: ...
    def __arrow_c_array__(self, requested_schema: Any = None) -> tuple[Any, Any]:
        """Schema and array as capsules of Arrow's interface."""

@final
class Match:
    """A fingerprint near a query."""

    @property
    def fingerprint(self) -> int:
        """The fingerprint found."""
    @property
    def hex(self) -> str:
        """The fingerprint in hexadecimal, as the program prints it."""
    @property
    def distance(self) -> int:
        """Number of bits in which it differs from the query."""
    @property
    def position(self) -> int:
        """Its place in the numeric order of the fingerprints of its file, counted on through several files.

        -1 in a collection.
        """
    @property
    def ids(self) -> list[Any]:
        """The ids of its records, numbers or strings; empty in an index without ids."""
    def __reduce__(self) -> tuple[Any, ...]: ...

@final
class Matches:
    """The matches of many queries: those of query ``i`` are at ``offsets[i]:offsets[i + 1]`` of the other arrays.

    They come by distance, then by value. ``offsets, distances, positions = matches`` unpacks them as faiss's
    ``lims, D, I``. Libraries that read Arrow take them as a table, as ``pyarrow.table(matches)`` and
    ``polars.DataFrame(matches)`` do.
    """

    @property
    def offsets(self) -> npt.NDArray[np.int64]:
        """Where the matches of each query start, and where all end: one more than there are queries."""
    @property
    def fingerprints(self) -> _UInts:
        """The fingerprints found; of 128 bits, two columns with the high half first."""
    @property
    def distances(self) -> npt.NDArray[np.uint8]:
        """Number of bits in which each differs from its query."""
    @property
    def positions(self) -> npt.NDArray[np.int64]:
        """The place of each in the numeric order of the fingerprints of its file, counted on through several files.

        They are read when they are first asked for. -1 in a collection.
        """
    @property
    def query_count(self) -> int:
        """Number of queries."""
    @property
    def match_count(self) -> int:
        """Number of matches of all queries."""
    @property
    def counts(self) -> npt.NDArray[np.int64]:
        """Number of matches of each query."""
    @property
    def queries(self) -> npt.NDArray[np.int64]:
        """The number of the query of each match."""
    def ids(self) -> list[list[Any]]:
        """The ids of each match, numbers or strings; empty lists in an index without ids."""
    def ids_arrow(self) -> ArrowColumn:
        """The ids of each match as an Arrow column of lists."""
    def of(self, query: int) -> list[Match]:
        """The matches of one query, with their ids."""
    def to_arrow(self) -> pyarrow.Table:
        """All in a table of pyarrow, a row for each match: query, position, fingerprint, distance, and ids if any.

        ``query`` is the number of the query, ``ids`` a list. Fingerprints of 128 bits are binary of 16 bytes, the
        highest first.
        """
    def to_pandas(self) -> pandas.DataFrame:
        """The same table for pandas."""
    def to_polars(self) -> polars.DataFrame:
        """The same table for polars."""
    def __arrow_c_stream__(self, requested_schema: Any = None) -> Any:
        """The same table as a capsule of Arrow's interface."""
    def __arrow_c_schema__(self) -> Any:
        """What the columns of that table are, as a capsule."""
    def __iter__(self) -> Iterator[npt.NDArray[Any]]:
        """``offsets``, ``distances``, ``positions``."""
    def __reduce__(self) -> tuple[Any, ...]: ...

@final
class Index:
    """An index that is open: one file, or several that are searched as one.

    Threads may share it. It is pickled by its paths. As a context manager it closes itself.
    """

    def query(
        self,
        fingerprints: _Fingerprints,
        k: int | None = None,
        *,
        signed: bool = False,
        threads: int | None = None,
        progress: _Progress | None = None,
    ) -> Matches:
        """All fingerprints within ``k`` bits of each query; by default within the distance of the index."""
    def query_one(self, fingerprint: _Fingerprint, k: int | None = None, *, signed: bool = False) -> list[Match]:
        """All fingerprints within ``k`` bits of one, with their ids."""
    def nearest(
        self,
        fingerprints: _Fingerprints,
        n: int = 1,
        *,
        max_distance: int | None = None,
        signed: bool = False,
        threads: int | None = None,
        progress: _Progress | None = None,
    ) -> Matches:
        """The ``n`` fingerprints nearest to each query, none farther than ``max_distance``."""
    def contains(
        self,
        fingerprints: _Fingerprints,
        k: int | None = None,
        *,
        signed: bool = False,
        threads: int | None = None,
        progress: _Progress | None = None,
    ) -> npt.NDArray[np.bool_]:
        """Whether the index holds a fingerprint within ``k`` bits of each query; stops at the first."""
    def join(
        self,
        fingerprints: _Fingerprints,
        k: int | None = None,
        *,
        signed: bool = False,
        memory: _Memory | None = None,
        temp_dir: _Path | None = None,
        threads: int | None = None,
        progress: _Progress | None = None,
    ) -> Matches:
        """The answers of ``query`` for very many queries, by one pass over the files where that is quicker."""
    def fingerprints(self, *, threads: int | None = None) -> _UInts:
        """All fingerprints in numeric order, each once."""
    def records(
        self, *, progress: _Progress | None = None
    ) -> tuple[_UInts, npt.NDArray[np.uint64] | ArrowColumn | None]:
        """All records: their fingerprints in numeric order, and their ids.

        Ids that are numbers are an array, strings a column of Arrow; ``None`` in an index without ids.
        """
    def ids_of(self, fingerprint: _Fingerprint, *, signed: bool = False) -> list[Any]:
        """The ids of the records that have this very fingerprint."""
    def fingerprints_of(self, id: int | str) -> _UInts:
        """The fingerprints of the records that have an id, in numeric order."""
    def without(
        self,
        ids: _Ids | None = None,
        *,
        fingerprints: _Fingerprints | None = None,
        signed: bool = False,
        file: int | None = None,
    ) -> Index:
        """The same index without the records that have some ids or some fingerprints; with ``file``, those of one file.

        The files stay as they are and open, and no answer of the new index has these records; nor has a file that
        ``merge`` makes of it alone. Figures of files, such as ``record_count`` and ``len``, still count them. It cannot
        be pickled. Memory: 20 to 40 bytes for each fingerprint, each number, and each record with a string.
        """
    def warm(self, *, threads: int | None = None, progress: _Progress | None = None) -> None:
        """Bring the files to memory and check each block once, so that the first queries are as quick as later ones."""
    def verify(self, *, threads: int | None = None, progress: _Progress | None = None) -> None:
        """Check every byte of the files. Raises ``FormatError`` if one is damaged."""
    def info(self) -> dict[str, Any]:
        """Figures of each file, by the names of ``simidx info --json``."""
    def close(self) -> None:
        """Let go of the files. What else is asked of the index raises ``ClosedError``."""
    @property
    def closed(self) -> bool:
        """Whether the index has been closed."""
    @property
    def paths(self) -> list[os.PathLike[str]]:
        """The paths of the files."""
    @property
    def width(self) -> int:
        """Bits of a fingerprint: 32, 64 or 128."""
    @property
    def k(self) -> int:
        """The distance for which the tables were chosen, and that queries have if no other is given."""
    @property
    def record_count(self) -> int:
        """Number of records."""
    @property
    def id_kind(self) -> Literal["none", "number", "string"]:
        """What the ids are."""
    @property
    def pipeline(self) -> str | None:
        """How texts became fingerprints, if the file records it; for ``Pipeline.from_description``."""
    def __len__(self) -> int:
        """Number of fingerprints of all files; one that several files hold counts for each."""
    def __contains__(self, key: _Fingerprint, /) -> bool:
        """Whether the index holds this very fingerprint."""
    def __enter__(self) -> Index: ...
    def __exit__(
        self,
        exc_type: type[BaseException] | None = None,
        exc_value: BaseException | None = None,
        traceback: TracebackType | None = None,
    ) -> None: ...
    def __reduce__(self) -> tuple[Any, ...]: ...

@final
class Added:
    """The answer to an addition to a collection."""

    @property
    def fingerprint(self) -> int:
        """The fingerprint that the record has now."""
    @property
    def matches(self) -> list[Match]:
        """What was near before, by distance, then by value. The record of the same id is left out."""
    @property
    def outcome(self) -> Literal["new", "unchanged", "replaced"]:
        """What became of the id: it was new, had this very fingerprint already, or had another one."""
    @property
    def replaced(self) -> int | None:
        """The fingerprint that the record had before, if it had another one."""

@final
class Additions:
    """The answers to many additions to a collection, in their order."""

    @property
    def fingerprints(self) -> _UInts:
        """The fingerprints of the records."""
    @property
    def matches(self) -> Matches:
        """What was near to each before it was added, the records before it included."""
    @property
    def outcomes(self) -> list[Literal["new", "unchanged", "replaced"]]:
        """What became of each id."""
    def __len__(self) -> int: ...

@final
class Collection:
    """Records that come and go in a folder: a fingerprint with an id, a string, each. An id has one record at most.

    Opening one where there is none makes it. Answers are exact at any time, and threads may share it. ``sync`` says
    when a change is acknowledged: when it is on disk (``"always"``), or at once; it is on disk after 100 ms then
    (``"batch"``), or when it is sealed or the collection is closed (``"never"``). ``k``, ``width`` and ``pipeline`` are
    fixed when it is made, by default 3, 64 and none; of one that is there they must be so. With ``replace=False`` an id
    with another fingerprint is refused instead of replaced. After ``seal_records`` changes, by default 100,000, recent
    records go to an index file, on ``threads`` threads in the background, by default one.

    As a context manager it closes itself. It cannot be pickled, and a forked process cannot use it.
    """

    def __new__(
        cls,
        path: _Path,
        *,
        k: int | None = None,
        width: int | None = None,
        pipeline: str | Pipeline | None = None,
        sync: Literal["always", "batch", "never"] = "always",
        replace: bool = True,
        seal_records: int | None = None,
        threads: int | None = None,
    ) -> Collection: ...
    @staticmethod
    def open(
        path: _Path,
        *,
        k: int | None = None,
        width: int | None = None,
        pipeline: str | Pipeline | None = None,
        sync: Literal["always", "batch", "never"] = "always",
        replace: bool = True,
        seal_records: int | None = None,
        threads: int | None = None,
    ) -> Collection:
        """Open the collection of a folder."""
    @staticmethod
    def create(
        path: _Path,
        *,
        k: int | None = None,
        width: int | None = None,
        pipeline: str | Pipeline | None = None,
        sync: Literal["always", "batch", "never"] = "always",
        replace: bool = True,
        seal_records: int | None = None,
        threads: int | None = None,
    ) -> Collection:
        """Make an empty collection in a folder, which is made too, or is empty."""
    def add(
        self, id: str, fingerprint: _Fingerprint | None = None, *, text: str | None = None, signed: bool = False
    ) -> Added:
        """Check and add a record in one step: the answer has what was near before, and every later query finds it.

        ``text`` in place of a fingerprint becomes one by the pipeline of the collection.
        """
    def add_many(
        self,
        ids: _Ids,
        fingerprints: _Fingerprints | None = None,
        *,
        texts: _Texts | None = None,
        signed: bool = False,
        threads: int | None = None,
        progress: _Progress | None = None,
    ) -> Additions:
        """Add records one after the other, each checked against those before it, and wait for the disk once.

        If one cannot be added, those before it have been, and ``added`` of the exception is their number. After a
        ``FileError`` they may be there or not when the collection is opened again.
        """
    def remove(self, id: str) -> bool:
        """Remove the record of an id; whether there was one."""
    def get(self, id: str) -> int | None:
        """The fingerprint of the record with an id, if there is one."""
    def query(
        self,
        fingerprints: _Fingerprints,
        k: int | None = None,
        *,
        signed: bool = False,
        threads: int | None = None,
        progress: _Progress | None = None,
    ) -> Matches:
        """All fingerprints within ``k`` bits of each query. Changes may come between the answers to two queries."""
    def query_one(self, fingerprint: _Fingerprint, k: int | None = None, *, signed: bool = False) -> list[Match]:
        """All fingerprints within ``k`` bits of one, with their ids."""
    def nearest(
        self,
        fingerprints: _Fingerprints,
        n: int = 1,
        *,
        max_distance: int | None = None,
        signed: bool = False,
        threads: int | None = None,
        progress: _Progress | None = None,
    ) -> Matches:
        """The ``n`` fingerprints nearest to each query, none farther than ``max_distance``."""
    def contains(
        self,
        fingerprints: _Fingerprints,
        k: int | None = None,
        *,
        signed: bool = False,
        threads: int | None = None,
        progress: _Progress | None = None,
    ) -> npt.NDArray[np.bool_]:
        """Whether a fingerprint within ``k`` bits of each query is there."""
    def sync(self) -> None:
        """Wait until all changes so far are on disk."""
    def seal(self) -> None:
        """Seal all recent records into index files, while changes and queries go on."""
    def merge(self) -> None:
        """Merge all index files into one, without what was removed, while changes and queries go on."""
    def stats(self) -> dict[str, Any]:
        """Figures: records, recent ones, segments and their bytes, what was removed, and errors in the background."""
    def close(self) -> None:
        """Bring all changes to disk and let go of the folder, once the calls of other threads have ended."""
    @property
    def closed(self) -> bool:
        """Whether the collection has been closed."""
    @property
    def path(self) -> os.PathLike[str]:
        """The folder."""
    @property
    def width(self) -> int:
        """Bits of a fingerprint: 32, 64 or 128."""
    @property
    def k(self) -> int:
        """The distance within which additions look for near-duplicates, and that queries have if no other is given."""
    @property
    def pipeline(self) -> str | None:
        """How texts become fingerprints, if the collection records it; for ``Pipeline.from_description``."""
    @property
    def change_count(self) -> int:
        """Number of changes since the collection was made. While it stays open, equal numbers mean equal records."""
    def __len__(self) -> int:
        """Number of records."""
    def __enter__(self) -> Collection: ...
    def __exit__(
        self,
        exc_type: type[BaseException] | None = None,
        exc_value: BaseException | None = None,
        traceback: TracebackType | None = None,
    ) -> None: ...

def open(path: _Path | Sequence[_Path], *, in_memory: bool = False, warm: bool = False) -> Index:
    """Open one file, or several that are searched as one. A folder with a manifest is the set of files that it lists.

    Files are mapped: replace them by renaming, never in place. ``in_memory`` reads them instead.
    """

def build(
    path: _Path,
    fingerprints: _Fingerprints,
    ids: _Ids | Literal["rows"] | None = None,
    k: int = 3,
    tables: int | None = None,
    memory: _Memory | None = None,
    *,
    width: int | None = None,
    signed: bool = False,
    codec: Literal["auto", "xor", "gap", "ef", "lines"] | None = None,
    block_size: int | None = None,
    id_lookup: bool = False,
    pipeline: str | Pipeline | None = None,
    metadata: dict[str, str] | None = None,
    temp_dir: _Path | None = None,
    threads: int | None = None,
    progress: _Progress | None = None,
) -> Index:
    """Write an index to a file, and open it.

    The file appears under its name when it is complete, and replaces what had the name. Ids are numbers or strings,
    one for each fingerprint; ``"rows"`` stands for the numbers of the rows. ``k`` is the distance that the tables are
    chosen for, ``tables`` their number. ``memory`` limits what the build takes: a number of bytes, or ``"4GB"``.
    ``id_lookup`` makes ``Index.fingerprints_of`` quick. ``progress`` is called with a stage, what is done of it, and
    of how much.
    """

def merge(
    path: _Path,
    inputs: _Path | Index | Iterable[_Path | Index],
    *,
    k: int | None = None,
    tables: int | None = None,
    newest_wins: bool = False,
    exclude_ids: _Ids | None = None,
    exclude_fingerprints: _Fingerprints | None = None,
    signed: bool = False,
    memory: _Memory | None = None,
    temp_dir: _Path | None = None,
    threads: int | None = None,
    progress: _Progress | None = None,
) -> Index:
    """Write one file with the records of several, and open it.

    With ``newest_wins`` a record is left out if a later input has its id.
    """

def pairs(
    fingerprints: _Fingerprints,
    k: int = 3,
    *,
    rows: bool = False,
    width: int | None = None,
    signed: bool = False,
    max_pairs: int | None = None,
    memory: _Memory | None = None,
    temp_dir: _Path | None = None,
    threads: int | None = None,
    progress: _Progress | None = None,
) -> Pairs:
    """All pairs within ``k`` bits: three arrays ``left, right, distance``, in order.

    By default they are pairs of distinct fingerprints, the smaller one on the left. With ``rows=True`` they are pairs
    of rows, the first one on the left, also of those with equal fingerprints.
    """

def clusters(
    fingerprints: _Fingerprints,
    k: int = 3,
    *,
    width: int | None = None,
    signed: bool = False,
    memory: _Memory | None = None,
    temp_dir: _Path | None = None,
    threads: int | None = None,
    progress: _Progress | None = None,
) -> npt.NDArray[np.int64]:
    """For each row the first row of its cluster.

    Two rows are in one cluster if steps of at most ``k`` bits lead from one to the other.
    """

def dedup(
    fingerprints: _Fingerprints,
    k: int = 3,
    *,
    against: Index | None = None,
    priority: _Ids | None = None,
    width: int | None = None,
    signed: bool = False,
    memory: _Memory | None = None,
    temp_dir: _Path | None = None,
    threads: int | None = None,
    progress: _Progress | None = None,
) -> npt.NDArray[np.bool_]:
    """Which rows to keep, so that one of each cluster is left: the first, or that of the highest ``priority``.

    No row is kept that is near to a fingerprint of ``against``.
    """

def dedup_texts(
    texts: _Texts,
    similarity: float = 0.8,
    *,
    words: int | None = 3,
    pipeline: str | Pipeline | None = None,
    memory: _Memory | None = None,
    temp_dir: _Path | None = None,
    threads: int | None = None,
    progress: _Progress | None = None,
) -> npt.NDArray[np.bool_]:
    """Which texts to keep, so that no two are similar: each other one is similar to an earlier one that is kept.

    Two texts are similar if the Jaccard similarity of their runs of ``words`` words is at least ``similarity``. With
    ``words=None`` the features of the pipeline are compared.
    """

def pairs_texts(
    texts: _Texts,
    similarity: float = 0.8,
    *,
    words: int | None = 3,
    pipeline: str | Pipeline | None = None,
    max_pairs: int | None = None,
    memory: _Memory | None = None,
    temp_dir: _Path | None = None,
    threads: int | None = None,
    progress: _Progress | None = None,
) -> TextPairs:
    """All pairs of similar texts: three arrays ``left, right, similarity``, by row."""

def clusters_texts(
    texts: _Texts,
    similarity: float = 0.8,
    *,
    words: int | None = 3,
    pipeline: str | Pipeline | None = None,
    memory: _Memory | None = None,
    temp_dir: _Path | None = None,
    threads: int | None = None,
    progress: _Progress | None = None,
) -> npt.NDArray[np.int64]:
    """For each text the first of its cluster.

    Two texts are in one cluster if a chain of similar ones leads from one to the other.
    """

def compare(a: str, b: str, *, pipeline: str | Pipeline | None = None, width: int = 64) -> Comparison:
    """Compare two texts by the fingerprints and all features of a pipeline."""

@final
class Comparison:
    """Two texts compared by one pipeline."""

    @property
    def distance(self) -> int:
        """Number of bits in which the fingerprints differ."""
    @property
    def jaccard(self) -> float:
        """Jaccard similarity of the features that count."""
    @property
    def weighted_jaccard(self) -> float:
        """Jaccard similarity of the features by their weights."""
    @property
    def cosine(self) -> float:
        """Cosine of the angle between the weights."""
    @property
    def similarity(self) -> float:
        """The exact value of what the fingerprints estimate."""
    @property
    def estimate(self) -> float:
        """The similarity as the distance of the fingerprints estimates it."""
    @property
    def equal(self) -> bool:
        """Whether the texts are equal."""
    @property
    def have_features(self) -> bool:
        """Whether both texts have features."""
    @property
    def fingerprints(self) -> tuple[int, int]:
        """The fingerprints of the two."""
    @property
    def most_different(self) -> list[tuple[str, float, float]]:
        """The features that differ most: text, weight in the first, weight in the second."""

@final
class Pipeline:
    """How texts become fingerprints: the name of a preset, with changes as in the options of the program."""

    def __new__(cls, name: str = "web", *, width: int = 64) -> Pipeline: ...
    @staticmethod
    def from_description(description: str, *, width: int = 64) -> Pipeline:
        """The pipeline of a description, as ``description`` gives it and index files record it."""
    @staticmethod
    def presets() -> list[str]:
        """The names of the presets."""
    def fingerprints(self, texts: _Texts, *, threads: int | None = None, progress: _Progress | None = None) -> _UInts:
        """The fingerprints of texts, in order."""
    def fingerprint(self, text: str) -> int:
        """The fingerprint of one text."""
    def fingerprints_and_features(
        self, texts: _Texts, *, threads: int | None = None, progress: _Progress | None = None
    ) -> tuple[_UInts, npt.NDArray[np.bool_]]:
        """What ``fingerprints`` and ``has_features`` give, in one pass over the texts."""
    def has_features(self, texts: _Texts, *, threads: int | None = None) -> npt.NDArray[np.bool_]:
        """Whether any feature of each text counts. The fingerprint of a text without features says nothing about it."""
    @property
    def description(self) -> str:
        """The complete description: one line of JSON, which index files record."""
    @property
    def width(self) -> int:
        """Bits of the fingerprints."""
    def __eq__(self, value: object, /) -> bool: ...
    def __hash__(self) -> int: ...
    def __reduce__(self) -> tuple[Any, ...]: ...

@final
class _Table:
    def __new__(cls, columns: dict[str, npt.NDArray[Any]]) -> _Table: ...
    def __arrow_c_stream__(self, requested_schema: Any = None) -> Any: ...

def _program(args: Sequence[str]) -> int: ...
def _reopen(paths: Sequence[_Path], in_memory: bool) -> Index: ...
def _match(fingerprint: int, distance: int, position: int, ids: list[Any], digits: int) -> Match: ...
def _matches(width: int, arrays: tuple[Any, ...], ids: tuple[Any, ...]) -> Matches: ...
def _pipeline(description: str, width: int) -> Pipeline: ...

_Round: TypeAlias = tuple[int, int, int, list[int], list[int]]

@final
class _PairRounds:
    def __new__(cls, width: int, distance: int, rounds: Sequence[_Round]) -> _PairRounds: ...
    @staticmethod
    def choose(k: int, count: int, varying: int, sample: _Fingerprints, largest_share: float) -> _PairRounds: ...
    @property
    def width(self) -> int: ...
    @property
    def distance(self) -> int: ...
    @property
    def rounds(self) -> list[_Round]: ...
    def scatter(self, round: int, values: _Fingerprints, places: int) -> tuple[_UInts, npt.NDArray[np.int64]]: ...
    def find(
        self, round: int, values: _Fingerprints, links: bool, threads: int | None = None
    ) -> tuple[_UInts, _UInts]: ...
    def __len__(self) -> int: ...
    def __reduce__(self) -> tuple[Any, ...]: ...

def _scatter(values: _Fingerprints, width: int, places: int) -> tuple[_UInts, npt.NDArray[np.int64]]: ...
def _places(values: _Fingerprints, width: int, places: int) -> npt.NDArray[np.uint32]: ...
def _distinct(values: _Fingerprints, width: int) -> tuple[_UInts, int]: ...
def _components(left: _Fingerprints, right: _Fingerprints, width: int) -> tuple[_UInts, _UInts]: ...
def _lookup(ordered: _Fingerprints, values: _Fingerprints, width: int) -> npt.NDArray[np.int64]: ...
def _identities(texts: _Texts) -> npt.NDArray[np.uint64]: ...
def _text_keys(
    texts: _Texts,
    similarity: float,
    *,
    words: int | None = 3,
    pipeline: str | Pipeline | None = None,
    threads: int | None = None,
) -> npt.NDArray[np.uint64]: ...
def _dedup_texts(
    texts: _Texts,
    similarity: float,
    *,
    words: int | None = 3,
    pipeline: str | Pipeline | None = None,
    memory: _Memory | None = None,
    threads: int | None = None,
    longest: bool = False,
    chains: bool = False,
) -> tuple[npt.NDArray[np.int64], npt.NDArray[np.float64]]: ...
def _dedup_documents(
    fingerprints: _Fingerprints,
    width: int,
    k: int,
    *,
    priority: _Ids | None = None,
    memory: _Memory | None = None,
    threads: int | None = None,
) -> tuple[npt.NDArray[np.int64], npt.NDArray[np.int32]]: ...
def _sketch_words(index: Index) -> int | None: ...
def _sketch_matches(
    index: Index,
    texts: _Texts,
    similarity: float,
    *,
    words: int | None = 3,
    pipeline: str | Pipeline | None = None,
    threads: int | None = None,
) -> tuple[
    npt.NDArray[np.int64],
    _UInts,
    npt.NDArray[np.uint64] | ArrowColumn | None,
    npt.NDArray[np.float64],
    npt.NDArray[np.float64],
]: ...
def _segment_manifest(path: _Path, name: str) -> tuple[str, bytes]: ...
def _join_manifests(manifests: Sequence[bytes], notes: dict[str, str]) -> bytes: ...
def _manifest_segments(manifest: bytes) -> list[tuple[str, str, int]]: ...
