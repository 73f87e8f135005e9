"""Types of arguments and results, for type checkers only."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable
from typing import Any, Protocol, TypeAlias

import numpy as np
import numpy.typing as npt


class ArrowStream(Protocol):
    """A table, or a column of several chunks, of any library that supports Arrow."""

    def __arrow_c_stream__(self, requested_schema: Any = None, /) -> Any: ...


class ArrowArray(Protocol):
    """A column of any library that supports Arrow."""

    def __arrow_c_array__(self, requested_schema: Any = None, /) -> Any: ...


class NumPyArray(Protocol):
    """An object that NumPy converts to an array."""

    def __array__(self) -> npt.NDArray[Any]: ...


Column: TypeAlias = npt.NDArray[Any] | ArrowStream | ArrowArray | NumPyArray
Fingerprints: TypeAlias = Column | Iterable[int] | Iterable[str] | Iterable[np.integer[Any]]
Ids: TypeAlias = Column | Iterable[int] | Iterable[str]
Texts: TypeAlias = Column | Iterable[str]
Fingerprint: TypeAlias = int | str | np.integer[Any]
Path: TypeAlias = str | os.PathLike[str]
Memory: TypeAlias = int | str
Progress: TypeAlias = Callable[[str, int, int], object]
Ints: TypeAlias = npt.NDArray[np.int64]
UInts: TypeAlias = npt.NDArray[np.uint32] | npt.NDArray[np.uint64]
Mask: TypeAlias = npt.NDArray[np.bool_]
