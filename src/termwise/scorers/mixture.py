"""Weighted sum of scorers with fixed z-score scales.

A mixture of rankings computes mean and deviation over the candidates of a query. A single text has no candidates.
Therefore the scale of each scorer is fixed: mean and standard deviation over given candidate lists, which also
determine the threshold of a probe (`termwise.probes.core.score_gaps`).
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np
import numpy.typing as npt

from termwise.display.safe_text import shown
from termwise.errors import DataError, ParameterError
from termwise.fast_dataclass import dataclass
from termwise.scorers.protocol import BasePairScorer, TextScorer, fingerprint_of
from termwise.scorers.score_pairs import score_pairs_with
from termwise.storage.file_record import json_fingerprint
from termwise.validation import is_finite_number


@dataclass(frozen=True)
class Scale:
    """Mean and standard deviation of the scores of one scorer.

    Attributes
    ----------
    mean, deviation : float
        A score becomes (score - mean) / deviation. Both are finite, and the deviation is above 0.

    Raises
    ------
    ParameterError
        If a value is out of range.
    """

    mean: float
    deviation: float

    def __post_init__(self) -> None:
        if not is_finite_number(self.mean) or not is_finite_number(self.deviation) or self.deviation <= 0:
            raise ParameterError(
                "a scale needs a finite mean and a deviation above 0",
                facts=[("mean", shown(self.mean)), ("deviation", shown(self.deviation))],
            )

    @classmethod
    def of(cls, lists: Mapping[str, npt.NDArray[np.float64]], *, name: str = "unnamed") -> Scale:
        """Return mean and deviation of the scores of all lists together.

        Parameters
        ----------
        lists : mapping of str to ndarray of float64
            Scores of candidates, by query.
        name : str, optional
            Name of the scorer, for errors.

        Raises
        ------
        DataError
            If all scores are equal, one is not finite, or the variance overflows.

        Examples
        --------
        >>> Scale.of({"q": np.array([1.0, 3.0]), "r": np.array([2.0, 2.0])})
        Scale(mean=2.0, deviation=0.7071067811865476)
        """
        scores = np.concatenate(
            [np.empty(0), *(np.asarray(values, dtype=np.float64) for values in lists.values())]
        )
        low, high = (scores.min(), scores.max()) if len(scores) else (0.0, 0.0)
        with np.errstate(over="ignore", under="ignore", invalid="ignore"):
            mean, deviation = (scores.mean(), scores.std()) if low < high else (0.0, 0.0)
        if not (np.isfinite(mean) and np.isfinite(deviation) and deviation > 0):
            raise DataError(
                "the scores are all equal or not finite, so they have no scale",
                facts=[
                    ("scorer", name),
                    ("scores", f"{len(scores):,} of {len(lists):,} queries"),
                    ("range", f"{low:g} to {high:g}"),
                ],
                fixes=["omit the mixture", "use a scorer with different scores of moderate size"],
            )
        return cls(float(mean), float(deviation))


class MixedScorer(BasePairScorer):
    """Weighted sum of z-scores with fixed scales; a `termwise.scorers.protocol.PairScorer`.

    Parameters
    ----------
    scorers : sequence of TextScorer
        One or more.
    weights : sequence of float
        Weight of each scorer; a negative weight reverses it. Scorers with the weight 0 are not called.
    scales : sequence of Scale
        Scale of each scorer.
    name : str, optional
        By default all names with plus signs.

    Raises
    ------
    ParameterError
        If the numbers of scorers, weights and scales differ, or a weight is not finite.
    """

    def __init__(
        self,
        scorers: Sequence[TextScorer],
        *,
        weights: Sequence[float],
        scales: Sequence[Scale],
        name: str | None = None,
    ) -> None:
        if not 0 < len(scorers) == len(weights) == len(scales):
            raise ParameterError(
                "a mixture needs a weight and a scale for each scorer",
                facts=[("scorers", len(scorers)), ("weights", len(weights)), ("scales", len(scales))],
            )
        for weight in weights:
            if not is_finite_number(weight):
                raise ParameterError(
                    "the weight of a scorer is not finite", facts=[("weight", shown(weight))]
                )
        self._scorers = tuple(scorers)
        self._weights = tuple(float(weight) for weight in weights)
        self._scales = tuple(scales)
        self.name = "+".join(scorer.name for scorer in scorers) if name is None else name

    @property
    def fingerprint(self) -> str | None:
        """Equal fingerprints mean equal scores; None if one of the scorers has none."""
        fingerprints = [fingerprint_of(scorer) for scorer in self._scorers]
        if not all(fingerprints):
            return None
        scales = [[scale.mean, scale.deviation] for scale in self._scales]
        return json_fingerprint([fingerprints, self._weights, scales])

    def _score_pairs(self, queries: Sequence[str], texts: Sequence[str]) -> npt.NDArray[np.float64]:
        total = np.zeros(len(texts))
        for scorer, weight, scale in zip(self._scorers, self._weights, self._scales, strict=True):
            if weight:
                total += weight * (score_pairs_with(scorer, queries, texts) - scale.mean) / scale.deviation
        return total
