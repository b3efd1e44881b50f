"""What probes and re-rankers see of a ranker: a query, some texts, one score each."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Protocol, runtime_checkable

import numpy as np
import numpy.typing as npt


@runtime_checkable
class TextScorer(Protocol):
    """Anything that can score texts for a query.

    The protocol is deliberately small: a probe can be run on a callable, a network or an index behind it.
    """

    @property
    def name(self) -> str:
        """What the scorer is called in tables."""
        ...

    def score(self, query: str, texts: Sequence[str]) -> npt.NDArray[np.float64]:
        """Score each text for the query.

        Parameters
        ----------
        query : str
            The information need.
        texts : sequence of str of length n
            The texts to score; they need not be part of any collection.

        Returns
        -------
        ndarray of shape (n,), float64
            Larger is better. The score of a text does not depend on the other texts.
        """
        ...
