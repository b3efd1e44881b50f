"""Two rankers interpolated, on texts that no candidate list holds.

Interpolation with z-scores takes mean and deviation over the candidates of a query, and a text by itself has none. So
the scale is fixed here: mean and standard deviation of each scorer over stated lists, those that its threshold is taken
from (`termwise.probes.core.score_gaps`).
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from hashlib import sha256

import numpy as np
import numpy.typing as npt

from termwise.display.safe_text import shown
from termwise.errors import DataError, ParameterError
from termwise.scorers.adapt import score_pairs_with
from termwise.scorers.protocol import BasePairScorer, FingerprintedScorer, TextScorer
from termwise.validation import check_pairs, is_finite_number


@dataclass(frozen=True)
class Scale:
    """What makes scores of two rankers comparable.

    Attributes
    ----------
    mean, deviation : float
        Scores become (score - mean) / deviation; both are finite, and the deviation is above 0.

    Raises
    ------
    ParameterError
        If they are not.
    """

    mean: float
    deviation: float

    def __post_init__(self) -> None:
        if not is_finite_number(self.mean) or not is_finite_number(self.deviation) or self.deviation <= 0:
            raise ParameterError(
                "a scale has a finite mean, and a deviation above 0",
                facts=[("mean", shown(self.mean)), ("deviation", shown(self.deviation))],
            )

    @classmethod
    def of(cls, lists: Mapping[str, npt.NDArray[np.float64]], *, name: str = "unnamed") -> Scale:
        """Take mean and deviation of the scores of all lists together.

        Parameters
        ----------
        lists : mapping of str to ndarray of float64
            Scores of candidates, by query.
        name : str, optional
            Of the ranker, for what is said where there is no scale.

        Raises
        ------
        DataError
            If the scores do not differ, one is not finite, or they are too far apart to be squared.

        Examples
        --------
        >>> Scale.of({"q": np.array([1.0, 3.0]), "r": np.array([2.0, 2.0])})
        Scale(mean=2.0, deviation=0.7071067811865476)
        """
        given = [np.asarray(values, dtype=np.float64) for values in lists.values()]
        scores = np.concatenate([np.empty(0), *given])
        least, most = (scores.min(), scores.max()) if len(scores) else (0.0, 0.0)
        with np.errstate(over="ignore", under="ignore", invalid="ignore"):
            mean, deviation = (scores.mean(), scores.std()) if least < most else (0.0, 0.0)
        if not (np.isfinite(mean) and np.isfinite(deviation) and deviation > 0):
            raise DataError(
                "scores that do not differ, or are not finite, have no scale to be mixed on",
                facts=[
                    ("scorer", name),
                    ("scores", f"{len(scores):,} of {len(lists):,} queries"),
                    ("span", f"{least:g} to {most:g}"),
                ],
                fixes=["leave the mixture out", "let the ranker give scores that differ, of moderate size"],
            )
        return cls(float(mean), float(deviation))


class MixedScorer(BasePairScorer):
    """alpha z(first) + (1 - alpha) z(second), on fixed scales; a `termwise.scorers.protocol.PairScorer`.

    Parameters
    ----------
    first, second : TextScorer
        The two rankers.
    alpha : float
        Share of the first, from 0 to 1.
    scales : tuple of two Scale
        Of the first and the second.
    name : str, optional
        By default both names with a plus.
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
            raise ParameterError("a share is from 0 to 1", facts=[("alpha", alpha)])
        self._scorers = (first, second)
        self._alpha = float(alpha)
        self._scales = scales
        self.name = f"{first.name}+{second.name}" if name is None else name

    @property
    def fingerprint(self) -> str | None:
        """Equal ones give equal scores; None where that of a scorer is not known."""
        known = [
            scorer.fingerprint if isinstance(scorer, FingerprintedScorer) else None
            for scorer in self._scorers
        ]
        if not all(known):
            return None
        said = [known, self._alpha, [[scale.mean, scale.deviation] for scale in self._scales]]
        return f"sha256:{sha256(json.dumps(said).encode()).hexdigest()}"

    def score_pairs(self, queries: Sequence[str], texts: Sequence[str]) -> npt.NDArray[np.float64]:
        """Score each text for the query at the same place."""
        check_pairs(queries, texts)
        total = np.zeros(len(texts))
        for scorer, scale, share in zip(
            self._scorers, self._scales, (self._alpha, 1 - self._alpha), strict=True
        ):
            if share:
                total += share * (score_pairs_with(scorer, queries, texts) - scale.mean) / scale.deviation
        return total
