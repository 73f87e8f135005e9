"""Pipelines for texts, and the comparison of two texts."""

from __future__ import annotations

from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING, Any, final

from simidx import _simidx

if TYPE_CHECKING:
    from simidx._types import Mask, Progress, Texts, UInts


@final
class Pipeline(_simidx.Pipeline):
    """A pipeline, which computes fingerprints of texts: a preset, with changes as in the options of the program."""

    __slots__ = ("_name",)
    _name: str | None

    def __new__(cls, name: str = "web", *, width: int = 64) -> Pipeline:
        """Open a pipeline by name."""
        pipeline = super().__new__(cls, name, width, False)
        pipeline._name = name
        return pipeline

    @classmethod
    def from_description(cls, description: str, *, width: int = 64) -> Pipeline:
        """Open a pipeline by a description, which ``description`` returns and index files record."""
        pipeline = super().__new__(cls, description, width, True)
        pipeline._name = None
        return pipeline

    def fingerprints(self, texts: Texts, *, threads: int | None = None, progress: Progress | None = None) -> UInts:
        """Return the fingerprints of texts, in order."""
        return _simidx.fingerprints_and_features(locals())[0]

    def fingerprints_and_features(
        self, texts: Texts, *, threads: int | None = None, progress: Progress | None = None
    ) -> tuple[UInts, Mask]:
        """Return the results of ``fingerprints`` and ``has_features``, in one pass over the texts."""
        return _simidx.fingerprints_and_features(locals())

    def has_features(self, texts: Texts, *, threads: int | None = None) -> Mask:
        """Check whether each text has a feature that counts. The fingerprint of one without has no meaning."""
        return _simidx.fingerprints_and_features(locals())[1]

    def __eq__(self, other: object) -> bool:
        """Check whether both give the same fingerprints."""
        return isinstance(other, Pipeline) and (self.description, self.width) == (other.description, other.width)

    def __hash__(self) -> int:
        """Hash the description."""
        return hash((self.description, self.width))

    def __reduce__(self) -> tuple[Any, ...]:
        """Pickle the description."""
        return partial(Pipeline.from_description, width=self.width), (self.description,)

    def __repr__(self) -> str:
        """Name, or description, and width."""
        if self._name is None:
            return f"<simidx.Pipeline {self.description}, width={self.width}>"
        return f'simidx.Pipeline("{self._name}", width={self.width})'


@final
@dataclass(frozen=True, eq=False, repr=False)
class Comparison:
    """The comparison of two texts by one pipeline."""

    distance: int
    """Number of bits in which the fingerprints differ."""
    jaccard: float
    """Jaccard similarity of the features that count."""
    weighted_jaccard: float
    """Jaccard similarity of the features by their weights."""
    cosine: float
    """Cosine of the angle between the weights."""
    similarity: float
    """The exact value of the similarity that the fingerprints estimate."""
    estimate: float
    """The estimate of the similarity by the distance of the fingerprints."""
    equal: bool
    """Whether the texts are equal."""
    have_features: bool
    """Whether both texts have features."""
    fingerprints: tuple[int, int]
    """The fingerprints of both texts."""
    most_different: list[tuple[str, float, float]]
    """The features that differ most: text, weight in the first text, weight in the second."""

    def __repr__(self) -> str:
        """The main figures."""
        return f"Comparison(distance={self.distance}, jaccard={self.jaccard:.4f}, cosine={self.cosine:.4f})"


def compare(a: str, b: str, *, pipeline: str | Pipeline | None = None, width: int | None = None) -> Comparison:
    """Compare two texts by the fingerprints and all features of a pipeline.

    ``width`` is the bits of a fingerprint, by default those of a ``Pipeline``, or 64.
    """
    return Comparison(**_simidx.compare(locals()))
