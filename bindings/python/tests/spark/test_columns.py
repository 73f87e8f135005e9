"""Columns of fingerprints: what is understood, and what is refused."""

from __future__ import annotations

from decimal import Decimal

import numpy as np
import pyarrow as pa
import pytest
from pyspark.sql import SparkSession
from pyspark.sql import functions as F  # noqa: N812

import simidx
from simidx import distributed
from simidx import spark as on_spark
from simidx.distributed import _pairs

HIGH = [0, 1, 2**63 - 1, 2**63, 2**64 - 1]


def test_bits_come_through_every_type() -> None:
    expected = np.array(HIGH, dtype=np.uint64)
    signed = pa.array([v - 2**64 if v >> 63 else v for v in HIGH])
    decimal = pa.array([Decimal(v) for v in HIGH], pa.decimal128(20, 0))
    for column in (signed, pa.array(HIGH, pa.uint64()), decimal, pa.chunked_array([signed[:2], signed[2:]])):
        assert (distributed.from_arrow(column) == expected).all()
    assert distributed.to_arrow(expected).equals(signed)
    assert (distributed.from_arrow(decimal[2:]) == expected[2:]).all()
    wide = np.array([[v, w] for v in HIGH for w in HIGH], dtype=np.uint64)
    packed = [v.to_bytes(8, "big") + w.to_bytes(8, "big") for v in HIGH for w in HIGH]
    for kind in (pa.binary(), pa.binary(16)):
        assert (distributed.from_arrow(pa.array(packed, kind)) == wide).all()
        assert (distributed.from_arrow(pa.array(packed, kind)[3:]) == wide[3:]).all()
    assert distributed.to_arrow(wide).to_pylist() == packed
    keys = distributed.sort_key(expected)
    assert keys.tolist() == sorted(keys.tolist())


@pytest.mark.parametrize(
    ("column", "error"),
    [
        (pa.array([1.0]), "fingerprints of type double"),
        (pa.array(["ff"]), "fingerprints of type string"),
        (pa.array([Decimal(-1)], pa.decimal128(20, 0)), "no unsigned number"),
        (pa.array([Decimal(2**64)], pa.decimal128(20, 0)), "no unsigned number"),
        (pa.array([Decimal(1)], pa.decimal128(38, 0)), "fingerprints of type decimal128"),
        (pa.array([b"short"]), "16 bytes"),
        (pa.array([b"0123456789abcdef", b"short"]), "16 bytes"),
        (pa.array([1, None]), "row 1 of a batch has no fingerprint"),
    ],
)
def test_anything_else_is_refused(column: pa.Array, error: str) -> None:
    with pytest.raises(simidx.InputError, match=error):
        distributed.from_arrow(column)


def test_spark_reads_unsigned_columns_of_parquet(spark: SparkSession, tmp_path: object) -> None:
    import pyarrow.parquet as pq

    pq.write_table(pa.table({"fingerprint": pa.array(HIGH, pa.uint64())}), f"{tmp_path}/unsigned.parquet")
    df = spark.read.parquet(f"{tmp_path}/unsigned.parquet")
    assert df.schema["fingerprint"].dataType.simpleString() == "decimal(20,0)"
    rows = on_spark.pairs(df, 1).collect()
    found = {(r["left"] % 2**64, r["right"] % 2**64, r["distance"]) for r in rows}
    assert found == {(0, 1, 1), (0, 2**63, 1), (2**63 - 1, 2**64 - 1, 1)}
    with pytest.raises(simidx.InputTypeError, match=r"conv\(column, 16, -10\)"):
        on_spark.pairs(df.select(F.lit("ff").alias("fingerprint")), 1)
    with pytest.raises(simidx.InputTypeError, match="double"):
        on_spark.pairs(df.select(F.col("fingerprint").cast("double")), 1)
    with pytest.raises(simidx.InputError, match="no column 'other'"):
        on_spark.pairs(df, 1, fingerprint_column="other")
    on_spark.release()


@pytest.mark.parametrize("wide", [False, True])
def test_a_sample_has_the_smallest_hashes(wide: bool) -> None:
    rng = np.random.default_rng(3)
    shape = (100_000, 2) if wide else 100_000
    # Evenly spread, in a row, and so many equal ones that their hash alone may be larger than those of a usual sample.
    for values in (
        rng.integers(0, 2**64, shape, dtype=np.uint64),
        np.arange(100_000, dtype=np.uint64).repeat(2 if wide else 1).reshape(shape),
        np.full(shape, 5, dtype=np.uint64),
    ):
        hashes = _pairs._hashes(values)
        smallest = values[np.argsort(hashes, kind="stable")[:500]]
        assert (_pairs.smallest_hashes(values, 500) == smallest).all()
        assert len(_pairs.smallest_hashes(values[:499], 500)) == 499
