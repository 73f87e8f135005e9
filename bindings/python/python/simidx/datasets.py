"""Fingerprints of the texts of a Hugging Face ``datasets`` data set.

>>> from simidx.datasets import Fingerprint
>>> batch = {"text": ["One text", "Another one"]}
>>> Fingerprint("short")(batch)["fingerprint"].dtype
dtype('uint64')
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from simidx._texts import Pipeline

__all__ = ["Fingerprint"]


class Fingerprint:
    """A function for ``Dataset.map(…, batched=True)`` that adds a column of fingerprints.

    It accepts all formats of ``map``: a dictionary of lists, an Arrow table, a frame of pandas or polars. Data sets in
    the format ``"arrow"`` pass their texts without a copy. It also works with ``map_batches`` of ``ray.data``.

    ``has_features`` names a second column: whether any feature of the text counts. The fingerprint of a text without
    features has no meaning. The format ``"numpy"`` of ``datasets`` makes all integers signed: read the column in the
    format ``"arrow"``, or pass ``signed=True`` where it is used. 128-bit fingerprints are binary values of 16 bytes,
    most significant first.
    """

    def __init__(
        self,
        pipeline: str | Pipeline = "web",
        *,
        column: str = "text",
        output: str = "fingerprint",
        has_features: str | None = None,
        width: int = 64,
        threads: int | None = None,
    ) -> None:
        """Set the pipeline; ``width`` applies if it is given by name."""
        self.pipeline: Pipeline = pipeline if isinstance(pipeline, Pipeline) else Pipeline(pipeline, width=width)
        self.column = column
        self.output = output
        self.has_features = has_features
        self.threads = threads

    def __repr__(self) -> str:
        """Pipeline and columns."""
        return f"simidx.datasets.Fingerprint({self.pipeline!r}, column={self.column!r}, output={self.output!r})"

    def __call__(self, batch: Any) -> Any:
        """Return the batch with the new columns; for a dictionary, only the new columns, as ``map`` expects."""
        if self.column not in (batch if isinstance(batch, Mapping) else _names(batch)):
            raise KeyError(f"the data set has no column {self.column!r}; pass column=")
        new = self._columns(batch[self.column])
        if isinstance(batch, Mapping):
            return new
        if hasattr(batch, "append_column"):
            import pyarrow as pa

            for name, values in new.items():
                kind = pa.binary(16) if isinstance(values, list) else None
                batch = batch.append_column(name, pa.array(values, kind))
            return batch
        if hasattr(batch, "with_columns"):
            import polars as pl

            return batch.with_columns(pl.Series(name, values) for name, values in new.items())
        return batch.assign(**new)

    def _columns(self, texts: Any) -> dict[str, Any]:
        values: Any
        mask: Any = None
        if self.has_features is None:
            values = self.pipeline.fingerprints(texts, threads=self.threads)
        else:
            values, mask = self.pipeline.fingerprints_and_features(texts, threads=self.threads)
        if values.ndim == 2:
            raw = values.astype(">u8").tobytes()
            values = [raw[start : start + 16] for start in range(0, len(raw), 16)]
        new = {self.output: values}
        if self.has_features is not None:
            new[self.has_features] = mask
        return new


def _names(batch: Any) -> list[str]:
    names = getattr(batch, "column_names", None)
    return list(batch.columns if names is None else names)
