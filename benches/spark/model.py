"""The bytes that jobs on Spark send between tasks, as computed in the chapter on Spark. `run.py` compares them with
Spark's own count.

    python3 benches/spark/model.py [--counts 10000000,10000000000] [--cores 1600]
"""

from __future__ import annotations

import argparse
from typing import NamedTuple

import numpy as np

from simidx_spark.distributed import Meeting, Profile

#: The share of fingerprints that are near another one, of which half are copies.
NEAR = 0.35
COPIES = 0.2


class Bytes(NamedTuple):
    """Bytes of each stage."""

    collapse: float
    rounds: float
    links: float
    records: float

    def of(self, job: str) -> float:
        """The bytes that a job sends."""
        return self.collapse + self.rounds + (self.links + self.records if job in ("clusters", "dedup") else 0)


def meeting(count: int, cores: int, k: int = 3) -> Meeting:
    """Where a number of evenly varying fingerprints of 64 bits meet."""
    sample = np.unique(np.random.default_rng(1).integers(0, 1 << 64, 1 << 12, dtype=np.uint64))
    met = Meeting.of(Profile(64, count, (1 << 64) - 1, sample), k, cores)
    assert met is not None, "there are at least two fingerprints"
    return met


def sent(count: int, cores: int) -> Bytes:
    """Bytes for fingerprints of 64 bits with numbers for ids, of which a fifth are copies with up to three bits changed."""
    met = meeting(count, cores)
    return Bytes(
        collapse=8.0 * count,
        rounds=8.0 * count * met.copies,
        # A link for each copy, and a label for each fingerprint that is near another.
        links=16.0 * count * COPIES + 16.0 * count * NEAR,
        # All with their ids to their labels, and those that are near another to their clusters, with the label.
        records=16.0 * count + 24.0 * count * NEAR,
    )


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--counts", default="10000000,100000000,1000000000,10000000000")
    parser.add_argument("--cores", type=int, default=1600)
    args = parser.parse_args()
    print("| fingerprints | rounds | sent to | collapse, GB | rounds, GB | links, GB | records, GB | a core, MB |")
    print("|---:|---:|---:|---:|---:|---:|---:|---:|")
    for count in map(int, args.counts.split(",")):
        met, of = meeting(count, args.cores), sent(count, args.cores)
        stages = " | ".join(f"{bytes / 1e9:.1f}" for bytes in of)
        print(f"| {count:,} | {len(met.rounds)} | {met.copies} places | {stages} | {sum(of) / args.cores / 1e6:.0f} |")


if __name__ == "__main__":
    main()
