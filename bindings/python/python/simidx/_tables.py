"""Answers as tables of pyarrow, pandas and polars, which are imported on demand."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NamedTuple

from simidx._simidx import Table

if TYPE_CHECKING:
    import numpy as np
    import numpy.typing as npt
    import pandas
    import polars
    import pyarrow

    from simidx._types import Ints, Mask


class Tabular:
    """A result that can become a table of other libraries."""

    __slots__ = ()

    def _columns(self, arrow: bool = True) -> dict[str, Any]:
        """Return the columns by name; those that are not arrays are Arrow columns or lists."""
        raise NotImplementedError

    def __arrow_c_stream__(self, requested_schema: Any = None) -> Any:
        """Return the table as a capsule of the Arrow interface."""
        return Table(self._columns()).__arrow_c_stream__(requested_schema)

    def to_arrow(self) -> pyarrow.Table:
        """Return the table as a pyarrow table."""
        import pyarrow

        return pyarrow.table(Table(self._columns()))

    def to_pandas(self) -> pandas.DataFrame:
        """Return the table as a pandas data frame."""
        import pandas

        columns = self._columns(arrow=False).items()
        return pandas.DataFrame({name: _plain(column) for name, column in columns})

    def to_polars(self) -> polars.DataFrame:
        """Return the table as a polars data frame."""
        import polars

        return polars.DataFrame(Table(self._columns()))


def _plain(column: Any) -> Any:
    """Convert a column for pandas: values that are not numbers become objects."""
    import pandas

    if getattr(column, "ndim", 0) == 2:
        # 128-bit fingerprints, as in Arrow.
        column = [row.astype(">u8").tobytes() for row in column]
    return pandas.Series(column, dtype="object") if isinstance(column, list) else column


class _Pairs(NamedTuple):
    left: npt.NDArray[Any]
    """The smaller fingerprints, or the first rows."""
    right: npt.NDArray[Any]
    """The larger fingerprints, or the later rows."""
    distance: npt.NDArray[np.uint8]
    """Number of bits in which the two differ."""


class Pairs(Tabular, _Pairs):
    """Pairs within a distance: three arrays of the same length, and tables with a row for each pair."""

    __slots__ = ()

    def _columns(self, arrow: bool = True) -> dict[str, Any]:
        return self._asdict()


class _TextPairs(NamedTuple):
    left: Ints
    """The first rows."""
    right: Ints
    """The later rows."""
    similarity: npt.NDArray[np.float64]
    """The Jaccard similarity of the two."""


class TextPairs(Tabular, _TextPairs):
    """Pairs of similar texts: three arrays of the same length, and tables with a row for each pair."""

    __slots__ = ()

    def _columns(self, arrow: bool = True) -> dict[str, Any]:
        return self._asdict()


class _DroppedTexts(NamedTuple):
    row: Ints
    """The rows of the dropped texts, ascending."""
    kept: Ints
    """The rows of the texts kept for them."""
    in_against: Mask
    """Whether the kept row is one of ``against``."""
    similarity: npt.NDArray[np.float64]
    """The Jaccard similarity of the two."""


class DroppedTexts(Tabular, _DroppedTexts):
    """Dropped texts: four arrays of the same length, and tables with a row for each text."""

    __slots__ = ()

    def _columns(self, arrow: bool = True) -> dict[str, Any]:
        return self._asdict()
