"""Query encoder that returns weights given by the caller of a search."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from termwise.errors import ParameterError
from termwise.index import Index
from termwise.text import Analyzer
from termwise.validation import is_finite_number
from termwise.weights import TermWeights


@dataclass(frozen=True, eq=False)
class ExplicitWeights:
    """Encodes every text as the same row.

    Attributes
    ----------
    analyzer : Analyzer
        Of the index; it finds the words of a query in texts.
    row : TermWeights
    """

    analyzer: Analyzer
    row: TermWeights

    @classmethod
    def of(cls, index: Index, analyzer: Analyzer, weights: Mapping[str, float]) -> ExplicitWeights:
        """Return the encoder for weights of terms.

        Parameters
        ----------
        index : Index
        analyzer : Analyzer
            Of its queries.
        weights : mapping of str to float
            Weights of 0 or more. Terms that the index lacks are ignored, as unknown words of a query are. A reserved
            background term gets the sum of the others, as in `CountQueryEncoder`.

        Raises
        ------
        ParameterError
            If a weight is not a finite number of 0 or more.
        """
        vocabulary = index.vocabulary
        row: dict[int, float] = {}
        for term, weight in weights.items():
            if not is_finite_number(weight) or weight < 0:
                raise ParameterError(
                    "the weight of a query term is a finite number of 0 or more",
                    facts=[("term", term), ("weight", weight)],
                )
            number = vocabulary.number(term)
            if number is not None and number != vocabulary.background and weight:
                row[number] = float(weight)
        if row and vocabulary.background is not None:
            row[vocabulary.background] = sum(row.values())
        return cls(analyzer, TermWeights.from_rows([row], vocabulary.id))

    def encode_query(self, query: str) -> TermWeights:
        """Return the row."""
        return self.row
