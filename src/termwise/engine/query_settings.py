"""Weighting of query terms, for queries that are whole documents.

Short queries do not need these settings. In a query of two hundred words many terms carry little information: they
cost time and add noise. The settings are static, need no network, and apply to every model:

=============  =======================================================================================================
``counts``     ``raw``: the weight of a term is its number of occurrences c. ``saturated``: (k3 + 1) c / (k3 + c), the
               query term weight of BM25 (Robertson et al., TREC-3, 1994). ``once``: 1.
``idf_power``  multiplies the weight by this power of the term's idf in the index, ln(1 + (N - df + 0.5) / (df + 0.5)).
               BM25 document weights already contain one factor of the idf.
``min_df``     drops terms that occur in fewer documents.
``max_terms``  keeps only this many terms: those with the largest product of ``counts`` and idf (or a higher power of
               it), as search engines choose terms for "more like this". If the query is a document of the index, terms
               that no other document contains are skipped.
=============  =======================================================================================================

The last three need document frequencies, which an index that ranks by vectors does not have.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
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
_BY_FREQUENCY = ("idf_power", "min_df", "max_terms")


@dataclass(frozen=True, kw_only=True)
class QuerySettings(TypedSettings):
    """Weighting of query terms; the defaults do not change the weights.

    Attributes
    ----------
    counts : {"raw", "saturated", "once"}
        Function of the number of occurrences in the query.
    k3 : float
        Saturation, for ``saturated`` only: 0 equals ``once``, a large value ``raw``.
    idf_power : float
        Power of the idf that weights are multiplied by; 0 for none.
    min_df : int
        Lower bound for the document frequency of a term.
    max_terms : int
        Number of terms to keep; 0 for all.
    """

    called: ClassVar[str] = "query setting"
    ranges: ClassVar[Mapping[str, tuple[float, float]]] = {"k3": (0, 1e6), "idf_power": (0, LARGEST_POWER)}

    counts: Literal["raw", "saturated", "once"] = "raw"
    k3: float = _K3
    idf_power: float = 0.0
    min_df: int = 0
    max_terms: int = 0

    def __post_init__(self) -> None:
        super().__post_init__()
        if self.k3 != _K3 and self.counts != "saturated":
            raise ParameterError(
                "k3 requires saturated counts",
                facts=[("k3", self.k3), ("counts", self.counts)],
                fixes=["set `counts=saturated`", "omit k3"],
            )


def with_settings(encoder: QueryEncoder, index: Index, settings: QuerySettings) -> QueryEncoder:
    """Return a query encoder that applies the settings.

    Parameters
    ----------
    encoder : QueryEncoder
        Query encoder of the index.
    index : Index
        Source of the document frequencies.
    settings : QuerySettings
        With the defaults, the result is `encoder` itself.

    Raises
    ------
    ParameterError
        If `settings` change counts and the query weighting of the index is not ``counts``, or need document frequencies
        and the index ranks by vectors.
    """
    if settings == QuerySettings():
        return encoder
    weighting = query_weighting_of(index)
    if settings.counts != "raw" and weighting != "counts":
        raise ParameterError(
            "the query weighting of this index does not use counts",
            facts=[("index", index.path), ("weighting", weighting), ("counts", settings.counts)],
            fixes=["omit the setting counts"],
        )
    needing = [name for name in _BY_FREQUENCY if getattr(settings, name)]
    if index.term_vectors is not None and needing:
        raise ParameterError(
            "an index that ranks by vectors has no document frequencies",
            facts=[("index", index.path), *((name, getattr(settings, name)) for name in needing)],
            fixes=[f"omit {' and '.join(needing)}"],
        )
    return WeighedQueryEncoder(encoder, index, settings)


@dataclass(frozen=True, eq=False)
class WeighedQueryEncoder:
    """Applies settings to the rows of another encoder.

    Attributes
    ----------
    encoder : QueryEncoder
        Encoder of the unchanged rows.
    index : Index
        Source of the document frequencies.
    settings : QuerySettings
    example : int or None
        Position of the document whose text is the query, if any.
    """

    encoder: QueryEncoder
    index: Index
    settings: QuerySettings
    example: int | None = None

    @property
    def analyzer(self) -> Analyzer:
        """Analyzer of queries."""
        return self.encoder.analyzer

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
        """Return the weight of each term, 0 for dropped ones."""
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
        importance = weights * idf_factors(frequencies, documents, max(1.0, settings.idf_power))
        weights = weights * idf_factors(frequencies, documents, settings.idf_power)
        usable = frequencies >= max(1, settings.min_df)
        if settings.max_terms:
            if self.example is not None:
                rows = (self.index.row(chunk)[0] for chunk in self.index.chunks(self.example))
                usable &= frequencies > sum(np.isin(terms, row).astype(np.int64) for row in rows)
            order = np.lexsort((terms, -importance, ~usable))
            usable[order[settings.max_terms :]] = False
        return np.where(usable, weights, 0.0)
