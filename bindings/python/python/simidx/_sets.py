"""Whole sets of fingerprints and texts: pairs, clusters, and deduplication."""

from __future__ import annotations

from typing import TYPE_CHECKING, Literal

from simidx import _simidx
from simidx._tables import DroppedTexts, Pairs, TextPairs

if TYPE_CHECKING:
    from simidx._search import Index
    from simidx._texts import Pipeline
    from simidx._types import Fingerprints, Ids, Ints, Mask, Memory, Path, Progress, Texts


def pairs(
    fingerprints: Fingerprints,
    k: int = 3,
    *,
    rows: bool = False,
    width: int | None = None,
    signed: bool = False,
    max_pairs: int | None = None,
    memory: Memory | None = None,
    temp_dir: Path | None = None,
    threads: int | None = None,
    progress: Progress | None = None,
) -> Pairs:
    """Find all pairs within ``k`` bits: three arrays ``left, right, distance``, in order.

    By default they are pairs of distinct fingerprints, with the smaller on the left. With ``rows=True`` they are pairs
    of rows, including those with equal fingerprints, with the first on the left.
    """
    return Pairs(*_simidx.pairs(locals()))


def clusters(
    fingerprints: Fingerprints,
    k: int = 3,
    *,
    width: int | None = None,
    signed: bool = False,
    memory: Memory | None = None,
    temp_dir: Path | None = None,
    threads: int | None = None,
    progress: Progress | None = None,
) -> Ints:
    """Return for each row the first row of its cluster.

    Two rows are in one cluster if steps of at most ``k`` bits link them.
    """
    return _simidx.clusters(locals())


def dedup(
    fingerprints: Fingerprints,
    k: int = 3,
    *,
    against: Index | None = None,
    priority: Ids | None = None,
    width: int | None = None,
    signed: bool = False,
    memory: Memory | None = None,
    temp_dir: Path | None = None,
    threads: int | None = None,
    progress: Progress | None = None,
) -> Mask:
    """Select the rows to keep, so that one of each cluster is left: the first, or that with the highest ``priority``.

    Rows near a fingerprint of ``against`` are not kept.
    """
    return _simidx.dedup(locals())


def dedup_texts(
    texts: Texts,
    similarity: float = 0.8,
    *,
    against: Texts | None = None,
    keep: Literal["first", "longest"] = "first",
    words: int | Literal["pipeline"] | None = None,
    pipeline: str | Pipeline | None = None,
    memory: Memory | None = None,
    temp_dir: Path | None = None,
    threads: int | None = None,
    progress: Progress | None = None,
) -> Mask:
    """Select the texts to keep, so that hardly any two are similar: each dropped text is similar to a kept one.

    Two texts are similar if the Jaccard similarity of their runs of ``words`` words is at least ``similarity``.
    ``words="pipeline"`` compares the features of the pipeline instead. The default is 3, or with another ``pipeline``
    than "web" its features. Of similar texts the first is kept, or with ``keep="longest"`` the longest in bytes of
    UTF-8. With ``against`` the answer is that of one call on those texts and then these: a text of ``against`` that is
    similar to an earlier one there drops no other. At most 1 in 2,000 of the pairs at the similarity itself is missed,
    if that is 0.3 or more.
    """
    return _simidx.dedup_texts(locals())


def dropped_texts(
    texts: Texts,
    similarity: float = 0.8,
    *,
    against: Texts | None = None,
    keep: Literal["first", "longest"] = "first",
    words: int | Literal["pipeline"] | None = None,
    pipeline: str | Pipeline | None = None,
    memory: Memory | None = None,
    temp_dir: Path | None = None,
    threads: int | None = None,
    progress: Progress | None = None,
) -> DroppedTexts:
    """Explain :func:`dedup_texts`: for each dropped text, the kept text that it is similar to, and the similarity."""
    return DroppedTexts(*_simidx.dropped_texts(locals()))


def pairs_texts(
    texts: Texts,
    similarity: float = 0.8,
    *,
    words: int | Literal["pipeline"] | None = None,
    pipeline: str | Pipeline | None = None,
    max_pairs: int | None = None,
    memory: Memory | None = None,
    temp_dir: Path | None = None,
    threads: int | None = None,
    progress: Progress | None = None,
) -> TextPairs:
    """Find nearly all pairs of similar texts: three arrays ``left, right, similarity``, ordered by row."""
    return TextPairs(*_simidx.pairs_texts(locals()))


def clusters_texts(
    texts: Texts,
    similarity: float = 0.8,
    *,
    words: int | Literal["pipeline"] | None = None,
    pipeline: str | Pipeline | None = None,
    memory: Memory | None = None,
    temp_dir: Path | None = None,
    threads: int | None = None,
    progress: Progress | None = None,
) -> Ints:
    """Return for each text the first text of its cluster.

    Two texts are in one cluster if a chain of similar texts links them.
    """
    return _simidx.clusters_texts(locals())
