"""BM25 as a part of the teacher of a re-ranking network."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import numpy.typing as npt

from termwise.records import Document
from termwise.scorers.model_scorers import model_scorer
from termwise.scorers.token_statistics import Background

_SETTINGS = {"k1": "0.9", "b": "0.4"}


class Bm25Teacher:
    """BM25 scores, divided by the score that the query has as a document, with the statistics of all passages.

    The division makes queries of different lengths comparable. Scores of a query without terms are 0.

    Parameters
    ----------
    passages : sequence of str
    weight : float, optional
        Factor of the quotients.

    Examples
    --------
    >>> teacher = Bm25Teacher(["green tea", "black tea", "a pot"])
    >>> teacher.scores("green tea", ["a pot", "green tea"]).tolist()
    [0.0, 1.0]
    """

    def __init__(self, passages: Sequence[str], weight: float = 1.0) -> None:
        documents = [Document(str(number), text) for number, text in enumerate(passages)]
        self._scorer = model_scorer("bm25", Background(lambda: documents), settings=_SETTINGS)
        self._weight = weight

    def scores(self, query: str, passages: Sequence[str]) -> npt.NDArray[np.float32]:
        """Return the weighted quotient of each passage: float32 of shape (D,)."""
        scores = np.asarray(self._scorer.score(query, [*passages, query]))
        return (self._weight * scores[:-1] / (scores[-1] or 1.0)).astype(np.float32)
