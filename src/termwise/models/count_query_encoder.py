"""Query encoder that counts the tokens of a query."""

from __future__ import annotations

import math
from dataclasses import KW_ONLY
from typing import get_args

import numpy as np
import numpy.typing as npt

from termwise.budget import spend
from termwise.errors import ParameterError, UnknownNameError, WeightError
from termwise.fast_dataclass import dataclass
from termwise.fixes import Code, Fix
from termwise.models.base import QueryWeighting
from termwise.text.analyzer import Analyzer, unknown_token
from termwise.text.vocabulary import TermLookup
from termwise.weights import TermWeights

AT_ONCE = 4096
"""Tokens of a query between two looks at the time."""


@dataclass(frozen=True, eq=False)
class CountQueryEncoder:
    """Encodes a query as one row: analyse the text, look up the tokens, weigh them.

    Unknown tokens are dropped; they would change all scores equally. So is the token ``[UNK]`` of word pieces, which
    would match unrelated words. A reserved background term gets the sum of
    the other weights: with counts this is the number of known tokens, which multiplies the document bias.

    Parameters
    ----------
    analyzer : Analyzer
        Analyzer of the documents.
    vocabulary : TermLookup
        Vocabulary of the index.
    weighting : {"counts", "log-counts", "occurrences", "idf"}, optional
        Weight of a token. ``counts``: number c of occurrences. ``log-counts``: 1 + ln c. ``occurrences``: 1. ``idf``:
        its entry of `term_weights`, independent of the number of occurrences, as OpenSearch and sentence-transformers
        apply an ``idf.json``; terms with the entry 0 are left out.
    term_weights : array-like of shape (V,), float32, optional
        Weight of each term, finite and at least 0; required for ``idf``, refused otherwise.

    Raises
    ------
    UnknownNameError
        If there is no such weighting.
    ParameterError
        If `term_weights` are missing, not applicable, or of the wrong length.
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
    vocabulary: TermLookup
    _: KW_ONLY
    weighting: QueryWeighting = "counts"
    term_weights: npt.NDArray[np.float32] | None = None

    def __post_init__(self) -> None:
        if self.weighting not in get_args(QueryWeighting):
            raise UnknownNameError.of("query weighting", str(self.weighting), get_args(QueryWeighting))
        if (self.weighting == "idf") != (self.term_weights is not None):
            raise ParameterError(
                "term weights and the query weighting idf require each other",
                facts=[
                    ("weighting", self.weighting),
                    ("term weights", "none" if self.term_weights is None else "given"),
                ],
                fixes=[Fix.use(query="idf", idf=Code("FILE"))],
            )
        if self.term_weights is not None:
            object.__setattr__(self, "term_weights", self._checked(self.term_weights))

    def _checked(self, values: npt.ArrayLike) -> npt.NDArray[np.float32]:
        weights = np.array(values, dtype=np.float32)
        if weights.shape != (len(self.vocabulary),):
            raise ParameterError(
                "the number of term weights differs from the number of terms",
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
                    ("terms affected", len(bad)),
                ],
            )
        weights.setflags(write=False)
        return weights

    def encode_query(self, query: str) -> TermWeights:
        """Return the row of a query; see the class for the weights.

        Parameters
        ----------
        query : str
            Text of the query; it may be empty.

        Returns
        -------
        TermWeights of one row
            Weights above 0; empty if no token is known.
        """
        number, unknown = self.vocabulary.number, unknown_token(self.analyzer)
        counts: dict[int, int] = {}
        tokens = self.analyzer.tokens(query)
        for start in range(0, len(tokens), AT_ONCE):
            spend()
            for token in tokens[start : start + AT_ONCE]:
                if token != unknown and (term := number(token)) is not None:
                    counts[term] = counts.get(term, 0) + 1
        row = {term: weight for term, count in counts.items() if (weight := self._weight(term, count)) > 0}
        if row and self.vocabulary.background is not None:
            row[self.vocabulary.background] = sum(row.values())
        return TermWeights.of_query(row, self.vocabulary.id)

    def _weight(self, term: int, count: int) -> float:
        if self.term_weights is not None:
            return float(self.term_weights[term])
        if self.weighting == "counts":
            return float(count)
        return 1.0 + math.log(count) if self.weighting == "log-counts" else 1.0
