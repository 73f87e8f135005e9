"""Documents to fingerprints."""

from __future__ import annotations

from pyspark.sql import DataFrame
from pyspark.sql.pandas.types import to_arrow_schema

from simidx import Pipeline
from simidx import distributed as d
from simidx._errors import InputError
from simidx.distributed._texts import as_pipeline
from simidx.spark import _wiring as wiring
from simidx.spark._wiring import run


def fingerprint(
    df: DataFrame,
    text_column: str = "text",
    *,
    pipeline: str | Pipeline = "web",
    width: int = 64,
    output_column: str = "fingerprint",
) -> DataFrame:
    """Adds the fingerprints of a column of texts. A text that is null has none."""
    wiring.texts(df, text_column)
    if output_column in df.columns:
        raise InputError(f"there is a column {output_column!r} already: name another output_column")
    stage = d.Fingerprint(to_arrow_schema(df.schema), text_column, as_pipeline(pipeline, width), output_column)
    return run(df, stage)
