"""Score of a probe at every threshold.

The thresholds are the percentiles of the score gaps of the scorer (`termwise.probes.core.score_gaps`). At percentile 0
nearly all differences count, at 100 only differences larger than every gap at the top of a ranking (MacAvaney et al.,
TACL 2022, figure 2).
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from termwise.probes.core.result import ProbeResult
from termwise.probes.core.score_gaps import Scores


@dataclass(frozen=True, eq=False)
class Sweep:
    """The score of a probe by threshold.

    Attributes
    ----------
    percentiles, deltas, scores : ndarray of shape (101,), float64
        Percentiles of the gaps from 0 to 100, with their thresholds and mean effects.
    """

    percentiles: Scores
    deltas: Scores
    scores: Scores

    @property
    def area(self) -> float:
        """The mean score over all percentiles."""
        return float(self.scores.mean())


def sweep(result: ProbeResult, gaps: Scores) -> Sweep | None:
    """Return the score of a probe at each percentile of the gaps; None without a sample.

    Parameters
    ----------
    result : ProbeResult
        Result of the probe; its effects are not used.
    gaps : ndarray of shape (g,), float64
        Gaps of the scorer, at least one; see `termwise.probes.core.score_gaps.pooled_gaps`.
    """
    if not len(result):
        return None
    percentiles = np.arange(101, dtype=np.float64)
    deltas = np.percentile(gaps, percentiles)
    differences = np.sort(result.differences)
    count = len(differences)
    positive = count - np.searchsorted(differences, deltas, side="right")
    negative = np.searchsorted(differences, -deltas, side="left")
    effects = positive + negative if result.symmetric else positive - negative
    return Sweep(percentiles, deltas, effects / count)
