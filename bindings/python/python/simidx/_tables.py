"""Answers as tables of pyarrow, pandas and polars, which are imported when they are asked for."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NamedTuple

from simidx._simidx import Table

if TYPE_CHECKING:
    import numpy as np
    import numpy.typing as npt
    import pandas
    import polars
    import pyarrow

    from simidx._types import Ints


class Tabular:
    """What can be a table of other libraries."""

    __slots__ = ()

    def _columns(self, arrow: bool = True) -> dict[str, Any]:
        """The columns by their names; what is no array is a column of Arrow, or a list."""
        raise NotImplementedError

    def __arrow_c_stream__(self, requested_schema: Any = None) -> Any:
        """All in a table as a capsule of Arrow's interface."""
        return Table(self._columns()).__arrow_c_stream__(requested_schema)

    def to_arrow(self) -> pyarrow.Table:
        """All in a table of pyarrow."""
        import pyarrow

        return pyarrow.table(Table(self._columns()))

    def to_pandas(self) -> pandas.DataFrame:
        """All in a table of pandas."""
        import pandas

        columns = self._columns(arrow=False).items()
        return pandas.DataFrame({name: _plain(column) for name, column in columns})

    def to_polars(self) -> polars.DataFrame:
        """All in a table of polars."""
        import polars

        return polars.DataFrame(Table(self._columns()))


def _plain(column: Any) -> Any:
    """A column as pandas takes it: what is no number as an object for each row."""
    import pandas

    if getattr(column, "ndim", 0) == 2:
        # Fingerprints of 128 bits, as Arrow has them.
        column = [row.astype(">u8").tobytes() for row in column]
    return pandas.Series(column, dtype="object") if isinstance(column, list) else column


class _Pairs(NamedTuple):
    left: npt.NDArray[Any]
    """The smaller fingerprints, or the rows that come first."""
    right: npt.NDArray[Any]
    """The larger fingerprints, or the rows that come later."""
    distance: npt.NDArray[np.uint8]
    """Number of bits in which the two differ."""


class Pairs(Tabular, _Pairs):
    """Pairs within a distance: three arrays of the same length, and tables with a row for each pair."""

    __slots__ = ()

    def _columns(self, arrow: bool = True) -> dict[str, Any]:
        return self._asdict()


class _TextPairs(NamedTuple):
    left: Ints
    """The rows that come first."""
    right: Ints
    """The rows that come later."""
    similarity: npt.NDArray[np.float64]
    """The Jaccard similarity of the two."""


class TextPairs(Tabular, _TextPairs):
    """Pairs of similar texts: three arrays of the same length, and tables with a row for each pair."""

    __slots__ = ()

    def _columns(self, arrow: bool = True) -> dict[str, Any]:
        return self._asdict()
