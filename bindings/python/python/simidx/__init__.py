"""Exact near-duplicate search over fingerprints and texts.

>>> import simidx
>>> simidx.dedup([0xFF00, 7 << 40, 0xFF01], k=3).tolist()
[True, True, False]
"""

from __future__ import annotations

from simidx._collection import Added, Additions, Collection
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
from simidx._matches import Match, Matches
from simidx._search import Index, Searchable, build, merge, open
from simidx._sets import clusters, clusters_texts, dedup, dedup_texts, dropped_texts, pairs, pairs_texts
from simidx._simidx import ArrowColumn, __version__
from simidx._tables import DroppedTexts, Pairs, TextPairs
from simidx._texts import Comparison, Pipeline, compare

__all__ = [
    "Added",
    "Additions",
    "ArrowColumn",
    "ClosedError",
    "Collection",
    "Comparison",
    "DroppedTexts",
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
    "Searchable",
    "TextPairs",
    "__version__",
    "build",
    "clusters",
    "clusters_texts",
    "compare",
    "dedup",
    "dedup_texts",
    "dropped_texts",
    "merge",
    "open",
    "pairs",
    "pairs_texts",
]

# The public module name, for messages and pickles.
for _name in __all__:
    if isinstance(globals()[_name], type):
        globals()[_name].__module__ = "simidx"
