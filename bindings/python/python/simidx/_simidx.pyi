"""The extension. ``given`` holds the arguments of a function of the package by name, including ``self``."""

import os
from collections.abc import Mapping, Sequence
from typing import Any, Literal, TypeAlias, final

import numpy as np
import numpy.typing as npt
from typing_extensions import Self

from simidx._types import Fingerprints, Ints, Mask, Path, Texts, UInts

_Given: TypeAlias = Mapping[str, Any]
_Column: TypeAlias = npt.NDArray[Any]
_Found: TypeAlias = tuple[Ints, UInts, npt.NDArray[np.uint8], Facts]
_Ids: TypeAlias = npt.NDArray[np.uint64] | ArrowColumn | None
_Outcome: TypeAlias = Literal["new", "unchanged", "replaced"]
_Round: TypeAlias = tuple[int, int, int, list[int], list[int]]

__version__: str

@final
class ArrowColumn:
    """A column for any library that reads Arrow: ``pyarrow.array(column)``, ``polars.Series(column)``."""

    def __len__(self) -> int: ...
    def __arrow_c_array__(self, requested_schema: Any = None) -> tuple[Any, Any]:
        """Return the schema and the array as capsules of the Arrow interface."""

@final
class Table:
    def __new__(cls, columns: Mapping[str, Any]) -> Table: ...
    def __arrow_c_stream__(self, requested_schema: Any = None) -> Any: ...
    def __arrow_c_schema__(self) -> Any: ...

@final
class Facts:
    def __new__(cls, fields: tuple[Any, ...]) -> Facts: ...
    @property
    def id_kind(self) -> Literal["none", "number", "string"]: ...
    def ranks(self, fingerprints: UInts) -> Ints: ...
    def ids(self, fingerprints: UInts, first: int) -> list[list[Any]]: ...
    def ids_arrow(self, fingerprints: UInts) -> ArrowColumn: ...
    def pickled(self, fingerprints: UInts) -> tuple[Any, ...]: ...

class Index:
    def __new__(cls, given: _Given) -> Self: ...
    def fingerprints_of(self, id: int | str) -> UInts:
        """Return the fingerprints of the records with an id, in numeric order."""
    def close(self) -> None:
        """Close the files. Other methods then raise ``ClosedError``."""
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
        """The distance that the tables were chosen for, and the default distance of queries."""
    @property
    def record_count(self) -> int:
        """Number of records."""
    @property
    def id_kind(self) -> Literal["none", "number", "string"]:
        """The kind of the ids."""
    @property
    def pipeline(self) -> str | None:
        """The description of the pipeline, if the files record it; for ``Pipeline.from_description``."""
    def info(self) -> dict[str, Any]:
        """Return the figures of the files, as ``simidx info --json`` prints them."""
    def pickled(self) -> tuple[list[os.PathLike[str]], bool]: ...
    def __len__(self) -> int:
        """Return the number of fingerprints in all files; one in several files counts for each."""
    def __contains__(self, key: int | str | np.integer[Any], /) -> bool:
        """Check whether the index holds exactly this fingerprint."""

class Collection:
    def __new__(cls, path: Path, way: str, given: _Given) -> Self: ...
    def remove(self, id: str) -> bool:
        """Remove the record with an id, and return whether there was one."""
    def get(self, id: str) -> int | None:
        """Return the fingerprint of the record with an id, if there is one."""
    def sync(self) -> None:
        """Wait until all changes so far are on disk."""
    def seal(self) -> None:
        """Seal all recent records into index files, while changes and queries go on."""
    def merge(self) -> None:
        """Merge all index files into one, without removed records, while changes and queries go on."""
    def stats(self) -> dict[str, Any]:
        """Return figures: records, recent ones, segments and their bytes, removed records, and background errors."""
    def close(self) -> None:
        """Sync all changes to disk and release the folder, once the calls of other threads have ended."""
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
        """The distance of near-duplicates of additions, and the default distance of queries."""
    @property
    def pipeline(self) -> str | None:
        """The description of the pipeline, if the collection records it; for ``Pipeline.from_description``."""
    @property
    def change_count(self) -> int:
        """Number of changes since the collection was created. While it is open, equal numbers mean equal records."""
    def __len__(self) -> int:
        """Number of records."""

class Pipeline:
    def __new__(cls, name: str, width: int, described: bool) -> Self: ...
    @staticmethod
    def presets() -> list[str]:
        """Return the names of the presets."""
    def fingerprint(self, text: str) -> int:
        """Return the fingerprint of one text."""
    @property
    def description(self) -> str:
        """The complete description: one line of JSON, which index files record."""
    @property
    def width(self) -> int:
        """Bits of the fingerprints."""

def program(args: Sequence[str]) -> int: ...
def query(given: _Given) -> _Found: ...
def contains(given: _Given) -> Mask: ...
def join(given: _Given) -> _Found: ...
def fingerprints(given: _Given) -> UInts: ...
def records(given: _Given) -> tuple[UInts, _Ids]: ...
def ids_of(given: _Given) -> list[Any]: ...
def warm(given: _Given) -> None: ...
def verify(given: _Given) -> None: ...
def build(given: _Given) -> None: ...
def merge(given: _Given) -> None: ...
def add(given: _Given) -> tuple[int, _Outcome, int | None, _Found]: ...
def add_many(given: _Given) -> tuple[UInts, list[_Outcome], _Found]: ...
def pairs(given: _Given) -> tuple[_Column, _Column, _Column]: ...
def clusters(given: _Given) -> Ints: ...
def dedup(given: _Given) -> Mask: ...
def dedup_texts(given: _Given) -> Mask: ...
def dropped_texts(given: _Given) -> tuple[Ints, Ints, Mask, npt.NDArray[np.float64]]: ...
def pairs_texts(given: _Given) -> tuple[Ints, Ints, npt.NDArray[np.float64]]: ...
def clusters_texts(given: _Given) -> Ints: ...
def fingerprints_and_features(given: _Given) -> tuple[UInts, Mask]: ...
def compare(given: _Given) -> dict[str, Any]: ...

# For `simidx_spark`.

def choose_rounds(k: int, count: int, varying: int, sample: Fingerprints, largest_share: float) -> list[_Round]: ...
def scatter_round(round: _Round, values: Fingerprints, places: int) -> tuple[UInts, Ints]: ...
def find_pairs(k: int, round: _Round, values: Fingerprints, links: bool) -> tuple[UInts, UInts]: ...
def scatter(values: Fingerprints, places: int) -> tuple[UInts, Ints]: ...
def places(values: Fingerprints, places: int) -> npt.NDArray[np.uint32]: ...
def distinct(values: Fingerprints) -> tuple[UInts, int]: ...
def components(left: Fingerprints, right: Fingerprints) -> tuple[UInts, UInts]: ...
def lookup(ordered: Fingerprints, values: Fingerprints) -> Ints: ...
def identities(texts: Texts) -> npt.NDArray[np.uint64]: ...
def text_keys(given: _Given, with_features: bool) -> tuple[UInts, UInts, Ints, UInts]: ...
def similarities(ends: Ints, features: UInts, left: Ints, right: Ints) -> npt.NDArray[np.float64]: ...
def sketch_words(index: Index) -> int | None: ...
def sketch_matches(
    index: Index, given: _Given
) -> tuple[Ints, UInts, _Ids, npt.NDArray[np.float64], npt.NDArray[np.float64]]: ...
def segment_manifest(path: Path, name: str) -> tuple[str, bytes]: ...
def next_manifest(
    before: bytes | None, gone: set[str] | None, added: Sequence[bytes], notes: dict[str, str]
) -> bytes: ...
def manifest_segments(manifest: bytes) -> list[tuple[str, str, int, int]]: ...
