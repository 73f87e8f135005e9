"""The extension: what `simidx` exports."""

import os
from collections.abc import Callable, Iterable, Iterator, Sequence
from types import TracebackType
from typing import Any, Literal, Protocol, TypeAlias, final, overload

import numpy as np
import numpy.typing as npt

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
    "ArrowColumn",
    "Comparison",
    "Index",
    "Match",
    "Matches",
    "Pipeline",
    "_PairRounds",
    "__version__",
    "_check_measure",
    "_components",
    "_dedup_documents",
    "_dedup_texts",
    "_distinct",
    "_identities",
    "_join_manifests",
    "_lookup",
    "_manifest_segments",
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
        """Its place in the numeric order of the fingerprints of its file, counted on through several files."""
    @property
    def ids(self) -> list[Any]:
        """The ids of its records, numbers or strings; empty in an index without ids."""

@final
class Matches:
    """The matches of many queries: those of query ``i`` are at ``offsets[i]:offsets[i + 1]`` of the other arrays.

    They come by distance, then by value. ``offsets, distances, positions = matches`` unpacks them as faiss's
    ``lims, D, I``.
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

        They are read when they are first asked for.
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
    def __iter__(self) -> Iterator[npt.NDArray[Any]]:
        """``offsets``, ``distances``, ``positions``."""

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
    codec: Literal["auto", "xor", "gap", "ef"] | None = None,
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

@overload
def pairs(
    fingerprints: _Fingerprints,
    k: int = 3,
    *,
    rows: Literal[False] = False,
    width: int | None = None,
    signed: bool = False,
    max_pairs: int | None = None,
    memory: _Memory | None = None,
    temp_dir: _Path | None = None,
    threads: int | None = None,
    progress: _Progress | None = None,
) -> tuple[_UInts, _UInts, npt.NDArray[np.uint8]]: ...
@overload
def pairs(
    fingerprints: _Fingerprints,
    k: int = 3,
    *,
    rows: Literal[True],
    width: int | None = None,
    signed: bool = False,
    max_pairs: int | None = None,
    memory: _Memory | None = None,
    temp_dir: _Path | None = None,
    threads: int | None = None,
    progress: _Progress | None = None,
) -> tuple[npt.NDArray[np.int64], npt.NDArray[np.int64], npt.NDArray[np.uint8]]:
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
) -> tuple[npt.NDArray[np.int64], npt.NDArray[np.int64], npt.NDArray[np.float64]]:
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

def _program(args: Sequence[str]) -> int: ...
def _reopen(paths: Sequence[_Path], in_memory: bool) -> Index: ...
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
    texts: _Texts | None = None,
    verify: str | None = None,
    pipeline: str | Pipeline | None = None,
    priority: _Ids | None = None,
    memory: _Memory | None = None,
    threads: int | None = None,
) -> tuple[npt.NDArray[np.int64], npt.NDArray[np.int32], npt.NDArray[np.float64]]: ...
def _check_measure(value: str) -> None: ...
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
def _manifest_segments(manifest: bytes) -> list[tuple[str, str]]: ...
