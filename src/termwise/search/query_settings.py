"""How the terms of a query weigh, where it is a whole document: repetitions, rarity, and the heaviest terms alone.

A question of five words needs none of this. Of a query of two hundred, many terms say little: they cost time and bring
noise. What is set here is static, it needs no network, and it goes for every model alike:

===================  =================================================================================================
``counts``           ``raw``: a term weighs as often as it occurs, c. ``saturated``: (k3 + 1) c / (k3 + c), as BM25
                     weighs the terms of queries (Robertson et al., TREC-3, 1994). ``once``: 1.
``idf_power``        and so many powers of its idf in the index, ln(1 + (N - df + 0.5) / (df + 0.5)). BM25 has weighed
                     its documents by the idf once already.
``least_documents``  a term that fewer documents have does not count. Of a document of the index that is the query, a
                     term that no other has can find nothing.
``terms``            only the terms count that weigh most, this weight times the idf if that is not in it yet, as
                     search engines choose the terms of a query for "more like this".
===================  =================================================================================================
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import ClassVar, Literal

import numpy as np
import numpy.typing as npt

from termwise.errors import ParameterError
from termwise.index import Index
from termwise.models.rarity import LARGEST_POWER, idf_factors
from termwise.search.encoding import QueryEncoder, query_weighting_of
from termwise.text import Analyzer
from termwise.typed_settings import TypedSettings
from termwise.weights import TermWeights


@dataclass(frozen=True, kw_only=True)
class QuerySettings(TypedSettings):
    """How the terms of a query weigh; with the defaults, as the index says.

    Attributes
    ----------
    counts : {"raw", "saturated", "once"}
        What becomes of the number of times that a query says a term.
    k3 : float
        Of ``saturated``: 0 is ``once``, a large one ``raw``.
    idf_power : float
        Power of the idf that weights are multiplied by; 0 for none.
    least_documents : int
        Documents that have a term that counts, at least.
    terms : int
        Terms that count, the heaviest of the others; 0 for all.
    """

    kind: ClassVar[str] = "query setting"
    ranges: ClassVar[Mapping[str, tuple[float, float]]] = {
        "k3": (0, 1e6),
        "idf_power": (0, LARGEST_POWER),
    }

    counts: Literal["raw", "saturated", "once"] = "raw"
    k3: float = 8.0
    idf_power: float = 0.0
    least_documents: int = 0
    terms: int = 0


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
    return _WeighedQueryEncoder(encoder, index, settings)


@dataclass(frozen=True, eq=False)
class _WeighedQueryEncoder:
    """Weighs the rows of another encoder again."""

    encoder: QueryEncoder
    index: Index
    settings: QuerySettings

    @property
    def analyzer(self) -> Analyzer:
        return self.encoder.analyzer

    def encode_query(self, query: str) -> TermWeights:
        row = self.encoder.encode_query(query)
        terms, values = row.row(0)
        background = self.index.vocabulary.background
        if background is not None:
            terms, values = terms[terms != background], values[terms != background]
        weights = self._weights(terms, values.astype(np.float64))
        kept = weights > 0
        found = dict(zip(terms[kept].tolist(), weights[kept].tolist(), strict=True))
        if found and background is not None:
            found[background] = sum(found.values())
        return TermWeights.from_rows([found], row.vocabulary)

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
        if not settings.idf_power and not settings.least_documents and not settings.terms:
            return weights
        frequencies = self.index.document_frequencies[terms]
        documents = len(self.index)
        least = max(1, settings.least_documents)
        weights = weights * idf_factors(frequencies, documents, settings.idf_power)
        weights = np.where(frequencies >= least, weights, 0)
        if not 0 < settings.terms < np.count_nonzero(weights):
            return weights
        heavy = weights if settings.idf_power else weights * idf_factors(frequencies, documents, 1.0)
        chosen = np.lexsort((terms, -heavy))[: settings.terms]
        return np.where(np.isin(np.arange(len(terms)), chosen), weights, 0)
