"""Queries as rows of weights: the tokens of the query, looked up and counted."""

from __future__ import annotations

from collections import Counter
from dataclasses import KW_ONLY, dataclass
from typing import get_args

import numpy as np
import numpy.typing as npt

from termwise.errors import ParameterError, UnknownNameError, WeightError
from termwise.models.base import QueryWeighting
from termwise.text.analyzer import Analyzer
from termwise.text.vocabulary import TermNumbering
from termwise.weights import TermWeights


@dataclass(frozen=True, eq=False)
class CountQueryEncoder:
    """Turns a query into one row by analysing it and looking its tokens up.

    Tokens that the vocabulary does not know are dropped; they would add the same to every document. Where the
    vocabulary reserves a background term, that term gets the sum of the other weights: with counts this is
    the number of known tokens of the query, the length that multiplies a document bias.

    Parameters
    ----------
    analyzer : Analyzer
        The one the documents were analysed with.
    vocabulary : TermNumbering
        That of the index.
    weighting : {"counts", "occurrences", "idf"}, optional
        ``counts``: a token weighs as often as it occurs. ``occurrences``: 1, however often it occurs.
        ``idf``: its entry of `term_weights`, however often it occurs, as OpenSearch and sentence-transformers
        read an ``idf.json``; terms with the entry 0 are left out.
    term_weights : array-like of shape (V,), float32, optional
        Weight of each term, finite and at least 0; for ``idf`` and only for it.

    Raises
    ------
    UnknownNameError
        If there is no such weighting.
    ParameterError
        If `term_weights` are missing, not wanted, or of the wrong length.
    WeightError
        If a term weight is negative or not finite.

    Examples
    --------
    >>> from termwise.text import Vocabulary, make_analyzer
    >>> vocabulary = Vocabulary(["lists", "merge", "sorted"])
    >>> encoder = CountQueryEncoder(make_analyzer("whitespace"), vocabulary)
    >>> encoder.encode_query("merge sorted and sorted lists").row(0)
    (array([0, 1, 2], dtype=int32), array([1., 1., 2.], dtype=float32))
    """

    analyzer: Analyzer
    vocabulary: TermNumbering
    _: KW_ONLY
    weighting: QueryWeighting = "counts"
    term_weights: npt.NDArray[np.float32] | None = None

    def __post_init__(self) -> None:
        if self.weighting not in get_args(QueryWeighting):
            raise UnknownNameError.of("query weighting", str(self.weighting), get_args(QueryWeighting))
        if (self.weighting == "idf") != (self.term_weights is not None):
            raise ParameterError(
                "term weights go with the query weighting idf, and only with it",
                facts=[
                    ("weighting", self.weighting),
                    ("term weights", "none" if self.term_weights is None else "given"),
                ],
                fixes=["--set query=idf --set idf=FILE"],
            )
        if self.term_weights is not None:
            object.__setattr__(self, "term_weights", self._checked(self.term_weights))

    def _checked(self, given: npt.ArrayLike) -> npt.NDArray[np.float32]:
        weights = np.array(given, dtype=np.float32)
        if weights.shape != (len(self.vocabulary),):
            raise ParameterError(
                "there must be one term weight for each term",
                facts=[("given", weights.shape), ("expected", (len(self.vocabulary),))],
            )
        bad = np.flatnonzero(~(np.isfinite(weights) & (weights >= 0)))
        if len(bad):
            term = int(bad[0])
            raise WeightError(
                "a term weight is negative or not finite",
                facts=[
                    ("term", f"{term}, {self.vocabulary.token(term)!r}"),
                    ("weight", float(weights[term])),
                    ("terms like it", len(bad)),
                ],
            )
        weights.setflags(write=False)
        return weights

    def encode_query(self, query: str) -> TermWeights:
        """Turn the text of a query into one row.

        Parameters
        ----------
        query : str
            The information need; it may be empty.

        Returns
        -------
        TermWeights of one row
            Weights above 0; empty where no token is known.
        """
        number = self.vocabulary.number
        found = Counter(term for token in self.analyzer.tokens(query) if (term := number(token)) is not None)
        row = {term: weight for term, count in found.items() if (weight := self._weight(term, count)) > 0}
        if row and self.vocabulary.background is not None:
            row[self.vocabulary.background] = sum(row.values())
        return TermWeights.from_rows([row], self.vocabulary.id)

    def _weight(self, term: int, count: int) -> float:
        if self.term_weights is not None:
            return float(self.term_weights[term])
        return float(count) if self.weighting == "counts" else 1.0
