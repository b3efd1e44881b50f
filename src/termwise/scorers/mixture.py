"""Interpolation of two scorers with fixed z-score scales.

Interpolation of rankings computes mean and deviation over the candidates of a query. A single text has no candidates.
Therefore the scale of each scorer is fixed: mean and standard deviation over given candidate lists, which also
determine the threshold of a probe (`termwise.probes.core.score_gaps`).
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from termwise.display.safe_text import shown
from termwise.errors import DataError, ParameterError
from termwise.scorers.adapt import score_pairs_with
from termwise.scorers.protocol import BasePairScorer, TextScorer, fingerprint_of
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
    """alpha z(first) + (1 - alpha) z(second) with fixed scales; a `termwise.scorers.protocol.PairScorer`.

    Parameters
    ----------
    first, second : TextScorer
    alpha : float
        Interpolation weight of the first scorer, from 0 to 1.
    scales : tuple of two Scale
        Scales of the first and the second scorer.
    name : str, optional
        By default both names with a plus sign.
    """

    def __init__(
        self,
        first: TextScorer,
        second: TextScorer,
        *,
        alpha: float,
        scales: tuple[Scale, Scale],
        name: str | None = None,
    ) -> None:
        if not is_finite_number(alpha) or not 0 <= alpha <= 1:
            raise ParameterError(
                "the interpolation weight is not from 0 to 1", facts=[("alpha", shown(alpha))]
            )
        self._scorers = (first, second)
        self._alpha = float(alpha)
        self._scales = scales
        self.name = f"{first.name}+{second.name}" if name is None else name

    @property
    def fingerprint(self) -> str | None:
        """Equal fingerprints mean equal scores; None if one of the scorers has none."""
        fingerprints = [fingerprint_of(scorer) for scorer in self._scorers]
        if not all(fingerprints):
            return None
        scales = [[scale.mean, scale.deviation] for scale in self._scales]
        return json_fingerprint([fingerprints, self._alpha, scales])

    def _score_pairs(self, queries: Sequence[str], texts: Sequence[str]) -> npt.NDArray[np.float64]:
        total = np.zeros(len(texts))
        for scorer, scale, share in zip(
            self._scorers, self._scales, (self._alpha, 1 - self._alpha), strict=True
        ):
            if share:
                total += share * (score_pairs_with(scorer, queries, texts) - scale.mean) / scale.deviation
        return total
