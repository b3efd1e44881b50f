"""A ranker that is a Python function."""

from __future__ import annotations

import traceback
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
import numpy.typing as npt

from termwise.arguments import check, check_pairs
from termwise.errors import DataError, TermwiseError
from termwise.legible import shown
from termwise.scorers.given import as_scores


class FunctionScorer:
    """Scores texts by a function of pairs; a `termwise.scoring.PairScorer`.

    Parameters
    ----------
    function : callable
        Takes a list of queries and a list of texts, equally long, and returns a number for each pair: what
        ``CrossEncoder.predict`` does with its list of pairs, say.
    name : str
        What the scorer is called in tables.
    fingerprint : str, optional
        Says that the same function gives the same scores. Without it nothing is kept of a scorer from one run to the
        next: a function may change without anybody telling.

    Examples
    --------
    >>> shared = FunctionScorer(
    ...     lambda queries, texts: [
    ...         len(set(q.split()) & set(t.split())) for q, t in zip(queries, texts)
    ...     ],
    ...     name="shared words",
    ... )
    >>> shared.score("a cat", ["a cat sat", "dogs"])
    array([2., 0.])
    """

    def __init__(
        self,
        function: Callable[[list[str], list[str]], Any],
        *,
        name: str,
        fingerprint: str | None = None,
    ) -> None:
        check("function", function, callable(function), "a function of queries and texts")
        check("name", name, isinstance(name, str) and bool(name), "a name")
        self._function = function
        self.name = name
        self.fingerprint = fingerprint

    def score(self, query: str, texts: Sequence[str]) -> npt.NDArray[np.float64]:
        """Score each text for the query; see `termwise.scoring.TextScorer`."""
        return self.score_pairs([query] * len(texts), texts)

    def score_pairs(self, queries: Sequence[str], texts: Sequence[str]) -> npt.NDArray[np.float64]:
        """Score each text for the query at the same place.

        Raises
        ------
        DataError
            If the function fails, or what it returns are no numbers; the facts say where.
        """
        check_pairs(queries, texts)
        try:
            given = self._function(list(queries), list(texts))
        except TermwiseError:
            raise
        except Exception as error:
            *_, last = traceback.extract_tb(error.__traceback__)
            raise DataError(
                "the function of a ranker failed",
                facts=[
                    ("scorer", self.name),
                    ("Python says", f"{type(error).__name__}: {shown(str(error))}"),
                    ("where", f"{last.filename}, line {last.lineno}, in {last.name}"),
                ],
            ) from error
        return as_scores(self.name, given)
