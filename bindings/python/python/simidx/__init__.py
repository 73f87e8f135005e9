"""Exact near-duplicate search over fingerprints and texts.

>>> import simidx
>>> simidx.dedup([0xFF00, 7 << 40, 0xFF01], k=3).tolist()
[True, True, False]
"""

from __future__ import annotations

from simidx._errors import (
    ClosedError,
    Error,
    FileError,
    FileMissingError,
    FormatError,
    IdExistsError,
    InputError,
    InputTypeError,
    InternalError,
    LimitError,
    LockedError,
    OptionError,
    OptionTypeError,
)
from simidx._simidx import (
    Added,
    Additions,
    ArrowColumn,
    Collection,
    Comparison,
    Index,
    Match,
    Matches,
    Pipeline,
    __version__,
    build,
    clusters,
    clusters_texts,
    compare,
    dedup,
    dedup_texts,
    merge,
    open,
    pairs,
    pairs_texts,
)
from simidx._tables import Pairs, TextPairs

__all__ = [
    "Added",
    "Additions",
    "ArrowColumn",
    "ClosedError",
    "Collection",
    "Comparison",
    "Error",
    "FileError",
    "FileMissingError",
    "FormatError",
    "IdExistsError",
    "Index",
    "InputError",
    "InputTypeError",
    "InternalError",
    "LimitError",
    "LockedError",
    "Match",
    "Matches",
    "OptionError",
    "OptionTypeError",
    "Pairs",
    "Pipeline",
    "TextPairs",
    "__version__",
    "build",
    "clusters",
    "clusters_texts",
    "compare",
    "dedup",
    "dedup_texts",
    "merge",
    "open",
    "pairs",
    "pairs_texts",
]
