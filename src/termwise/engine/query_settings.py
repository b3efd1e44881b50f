"""How the terms of a query weigh, where it is a whole document: repetitions, rarity, and the heaviest terms alone.

A question of five words needs none of this. Of a query of two hundred, many terms say little: they cost time and bring
noise. What is set here is static, it needs no network, and it goes for every model alike:

=============  =======================================================================================================
``counts``     ``raw``: a term weighs as often as it occurs, c. ``saturated``: (k3 + 1) c / (k3 + c), as BM25 weighs the
               terms of queries (Robertson et al., TREC-3, 1994). ``once``: 1.
``idf_power``  and so many powers of its idf in the index, ln(1 + (N - df + 0.5) / (df + 0.5)). BM25 has weighed its
               documents by the idf once already.
``min_df``     a term that fewer documents have does not count.
``max_terms``  only so many terms count: those for which ``counts`` times the idf, or a higher power of it, is largest,
               as search engines choose the terms of a query for "more like this". Where the query is a document of
               the index, terms that no other one has are passed over.
=============  =======================================================================================================
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import ClassVar, Literal

import numpy as np
import numpy.typing as npt

from termwise.engine.query_encoder import QueryEncoder, query_weighting_of
from termwise.errors import ParameterError
from termwise.index import Index
from termwise.models.idf_power import LARGEST_POWER, idf_factors
from termwise.settings import TypedSettings
from termwise.text import Analyzer
from termwise.weights import TermWeights

_K3 = 8.0


@dataclass(frozen=True, kw_only=True)
class QuerySettings(TypedSettings):
    """How the terms of a query weigh; with the defaults, as the index says.

    Attributes
    ----------
    counts : {"raw", "saturated", "once"}
        What becomes of the number of times that a query says a term.
    k3 : float
        Of ``saturated`` and only of it: 0 is ``once``, a large one ``raw``.
    idf_power : float
        Power of the idf that weights are multiplied by; 0 for none.
    min_df : int
        Documents that have a term that counts, at least.
    max_terms : int
        Terms that count, the heaviest of those that are left; 0 for all.
    """

    called: ClassVar[str] = "query setting"
    ranges: ClassVar[Mapping[str, tuple[float, float]]] = {
        "k3": (0, 1e6),
        "idf_power": (0, LARGEST_POWER),
    }

    counts: Literal["raw", "saturated", "once"] = "raw"
    k3: float = _K3
    idf_power: float = 0.0
    min_df: int = 0
    max_terms: int = 0

    def __post_init__(self) -> None:
        super().__post_init__()
        if self.k3 != _K3 and self.counts != "saturated":
            raise ParameterError(
                "k3 is how fast counts are saturated, and they are not",
                facts=[("k3", self.k3), ("counts", self.counts)],
                fixes=["counts=saturated", "leave k3 out"],
            )


def with_settings(encoder: QueryEncoder, index: Index, settings: QuerySettings) -> QueryEncoder:
    """Return a query encoder whose rows weigh as is set.

    Parameters
    ----------
    encoder : QueryEncoder
        That of the index.
    index : Index
        Its document frequencies are used where `settings` need them.
    settings : QuerySettings
        With the defaults `encoder` itself comes back.

    Raises
    ------
    ParameterError
        If counts are changed and the queries of the index do not weigh by them.
    """
    if settings == QuerySettings():
        return encoder
    weighting = query_weighting_of(index)
    if settings.counts != "raw" and weighting != "counts":
        raise ParameterError(
            "the queries of this index do not weigh their terms by how often they occur",
            facts=[("index", index.path), ("they weigh by", weighting), ("counts", settings.counts)],
            fixes=["leave the setting counts out"],
        )
    return WeighedQueryEncoder(encoder, index, settings)


@dataclass(frozen=True, eq=False)
class WeighedQueryEncoder:
    """Weighs the rows of another encoder again.

    Attributes
    ----------
    encoder : QueryEncoder
        The other one.
    index : Index
        Whose document frequencies are used.
    settings : QuerySettings
    example : int or None
        Position of the document that queries are the text of, if they are.
    """

    encoder: QueryEncoder
    index: Index
    settings: QuerySettings
    example: int | None = None

    @property
    def analyzer(self) -> Analyzer:
        """What cuts the query into tokens."""
        return self.encoder.analyzer

    def of_example(self, ordinal: int) -> WeighedQueryEncoder:
        """Return the same for queries that are the text of this document."""
        return replace(self, example=ordinal)

    def encode_query(self, query: str) -> TermWeights:
        """Return one row over the vocabulary of the index."""
        row = self.encoder.encode_query(query)
        terms, values = row.row(0)
        background = self.index.vocabulary.background
        if background is not None and len(terms) and int(terms[-1]) == background:
            terms, values = terms[:-1], values[:-1]
        weights = self._weights(terms, values.astype(np.float64))
        kept = weights > 0
        terms, weights = terms[kept], weights[kept]
        if background is not None and len(terms):
            terms = np.append(terms, np.int32(background))
            weights = np.append(weights, weights.sum())
        return TermWeights(np.array([0, len(terms)]), terms, weights.astype(np.float32), row.vocabulary)

    def _weights(
        self, terms: npt.NDArray[np.int32], counts: npt.NDArray[np.float64]
    ) -> npt.NDArray[np.float64]:
        """Return the weight of each term, 0 for those that are left out."""
        settings = self.settings
        weights = counts
        if settings.counts == "once":
            weights = np.ones_like(counts)
        elif settings.counts == "saturated":
            weights = (settings.k3 + 1) * counts / (settings.k3 + counts)
        if not settings.idf_power and not settings.min_df and not settings.max_terms:
            return weights
        frequencies = self.index.document_frequencies[terms]
        documents = len(self.index)
        chosen = weights * idf_factors(frequencies, documents, max(1.0, settings.idf_power))
        weights = weights * idf_factors(frequencies, documents, settings.idf_power)
        usable = frequencies >= max(1, settings.min_df)
        if settings.max_terms:
            if self.example is not None:
                usable &= frequencies > np.isin(terms, self.index.row(self.example)[0])
            order = np.lexsort((terms, -chosen, ~usable))
            usable[order[settings.max_terms :]] = False
        return np.where(usable, weights, 0.0)
