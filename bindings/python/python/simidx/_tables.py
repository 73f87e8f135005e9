"""Answers as tables of pyarrow, pandas and polars, which are imported when they are asked for."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NamedTuple

from simidx._simidx import _Table

if TYPE_CHECKING:
    import numpy as np
    import numpy.typing as npt
    import pandas
    import polars
    import pyarrow

__all__ = ["Pairs", "TextPairs", "to_pandas"]


class Pairs(NamedTuple):
    """Pairs within a distance: three arrays of the same length."""

    left: npt.NDArray[Any]
    """The smaller fingerprints, or the rows that come first."""
    right: npt.NDArray[Any]
    """The larger fingerprints, or the rows that come later."""
    distance: npt.NDArray[np.uint8]
    """Number of bits in which the two differ."""

    def to_arrow(self) -> pyarrow.Table:
        """The three as a table of pyarrow, with a row for each pair."""
        return _to_arrow(self._asdict())

    def to_pandas(self) -> pandas.DataFrame:
        """The three as a table of pandas, with a row for each pair."""
        return to_pandas(self._asdict())

    def to_polars(self) -> polars.DataFrame:
        """The three as a table of polars, with a row for each pair."""
        return _to_polars(self._asdict())


class TextPairs(NamedTuple):
    """Pairs of similar texts: three arrays of the same length."""

    left: npt.NDArray[np.int64]
    """The rows that come first."""
    right: npt.NDArray[np.int64]
    """The rows that come later."""
    similarity: npt.NDArray[np.float64]
    """The Jaccard similarity of the two."""

    def to_arrow(self) -> pyarrow.Table:
        """The three as a table of pyarrow, with a row for each pair."""
        return _to_arrow(self._asdict())

    def to_pandas(self) -> pandas.DataFrame:
        """The three as a table of pandas, with a row for each pair."""
        return to_pandas(self._asdict())

    def to_polars(self) -> polars.DataFrame:
        """The three as a table of polars, with a row for each pair."""
        return _to_polars(self._asdict())


def _to_arrow(columns: dict[str, Any]) -> pyarrow.Table:
    import pyarrow

    return pyarrow.table(_Table(columns))


def _to_polars(columns: dict[str, Any]) -> polars.DataFrame:
    import polars

    return polars.DataFrame(_Table(columns))


def to_pandas(columns: dict[str, Any]) -> pandas.DataFrame:
    """Arrays and lists by their names as a table of pandas."""
    import pandas

    return pandas.DataFrame({name: _plain(column) for name, column in columns.items()})


def _plain(column: Any) -> Any:
    """A column as pandas takes it: what is no number as an object for each row."""
    import pandas

    if getattr(column, "ndim", 0) == 2:
        # Fingerprints of 128 bits, as Arrow has them.
        column = [row.astype(">u8").tobytes() for row in column]
    return pandas.Series(column, dtype="object") if isinstance(column, list) else column
