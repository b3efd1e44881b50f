"""Weighting of query terms, for queries that are whole documents, and terms added for mistyped or unfinished words.

Short queries do not need the weighting. In a query of two hundred words many terms carry little information: they
cost time and add noise. The settings are static, need no network, and apply to every model:

=============  =======================================================================================================
``counts``     ``raw``: the weight of a term is its number of occurrences c, or 1 + ln c in an index with this weighting
               of queries, as those of ``lookup`` have. ``saturated``: (k3 + 1) c / (k3 + c), the query term weight of
               BM25 (Robertson et al., TREC-3, 1994). ``once``: 1.
``idf_power``  multiplies the weight by this power of the term's idf in the index, ln(1 + (N - df + 0.5) / (df + 0.5)).
               BM25 document weights already contain one factor of the idf.
``min_df``     drops terms that occur in fewer documents.
``max_terms``  keeps only this many terms: those with the largest product of ``counts`` and idf (or a higher power of
               it), as search engines choose terms for "more like this". If the query is a document of the index, terms
               that no other document contains are skipped.
=============  =======================================================================================================

`idf_power`, `min_df` and `max_terms` need document frequencies, which an index that ranks by vectors does not have.

A search may add terms of similar spelling for each word that the index lacks (``fuzzy``), and terms that begin with the
last word of the query, for search while a user types (``prefix``). Both need terms that are whole words;
`termwise.engine.similar_terms` describes the added terms. Their weights are added to those of equal terms of the query.
Synonyms (`termwise.engine.synonyms`) come last: a term that they add keeps the largest of its weights.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, ClassVar, Literal

import numpy as np
import numpy.typing as npt

from termwise.engine.added_terms import AddedTerm, AddedTerms
from termwise.engine.query_encoder import QueryEncoder, query_weighting_of
from termwise.engine.query_languages import QueryEncoderByLanguage
from termwise.errors import ParameterError
from termwise.fast_dataclass import dataclass
from termwise.fixes import Fix
from termwise.index import Index
from termwise.models.idf_power import LARGEST_POWER, idf_factors
from termwise.settings import TypedSettings
from termwise.text import Analyzer
from termwise.weights import TermWeights

if TYPE_CHECKING:
    from termwise.engine.similar_terms import SimilarTerms, SimilarTermsByLanguage
    from termwise.engine.subwords import SimilarPieces
    from termwise.engine.synonyms import SynonymTerms

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
                fixes=[Fix.use(counts="saturated"), "omit k3"],
            )


DEFAULT = QuerySettings()
"""Settings that do not change the weights."""

_NONE = AddedTerms()


def check_settings(settings: QuerySettings, index: Index) -> None:
    """Check that an index can apply the settings.

    Raises
    ------
    ParameterError
        If `settings` change counts and the query weighting of the index does not use them, or need document frequencies
        and the index ranks by vectors.
    """
    weighting = query_weighting_of(index)
    if settings.counts != "raw" and weighting not in ("counts", "log-counts"):
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


def no_whole_words(fuzzy: bool, prefix: bool, facts: Sequence[tuple[str, object]]) -> ParameterError:
    """Return the error for similar terms in an index or a mixture whose terms are pieces of words."""
    given = [name for name, wanted in (("fuzzy", fuzzy), ("prefix", prefix)) if wanted]
    return ParameterError(
        "similar terms need an index of whole words; this one splits unknown words into pieces",
        facts=[*facts, *((name, True) for name in given)],
        fixes=[*(Fix.omit(name) for name in given), "search an index of bm25, or a mixture with one"],
    )


def no_languages(lang: str, facts: Sequence[tuple[str, object]]) -> ParameterError:
    """Return the error for the language of a query where all documents have the same analyzer."""
    return ParameterError(
        "the language of a query needs an index whose analyzer depends on an attribute",
        facts=[*facts, ("lang", lang)],
        fixes=[Fix.omit("lang"), Fix.build(analyzer="by-attribute:lang")],
    )


def no_words(match: str | None, only_words: bool, facts: Sequence[tuple[str, object]]) -> ParameterError:
    """Return the error for conditions on the words of a query where documents match by vectors alone."""
    given = {"match": match, "only_words": only_words}
    return ParameterError(
        "documents match by their words only in an index with postings; this one has vectors",
        facts=[*facts, *((name, value) for name, value in given.items() if value)],
        fixes=[
            *(Fix.omit(name) for name, value in given.items() if value),
            "search an index of bm25, or a mixture with one",
        ],
    )


def added_terms(encoder: QueryEncoder, query: str) -> AddedTerms:
    """Return the terms that an encoder adds to a query for mistyped or unfinished words, and synonyms."""
    if not isinstance(encoder, WeightedQueryEncoder):
        return _NONE
    added = _NONE if encoder.synonyms is None else encoder.synonyms.added_to(query)
    similar = encoder.similar
    if similar is None:
        return added
    found = similar.added_to(query, fuzzy=encoder.fuzzy, prefix=encoder.prefix)
    terms = [each for each in found if each.origin == "prefix" or not added.are_known(each.spans)]
    replaced = {span for each in terms for span in each.spans} if similar.replaces else set()
    return AddedTerms((*added.terms, *terms), added.replaced | replaced)


@dataclass(frozen=True, eq=False)
class WeightedQueryEncoder:
    """Applies settings to the rows of another encoder.

    Attributes
    ----------
    encoder : QueryEncoder
        Encoder of the unchanged rows.
    index : Index
        Source of the document frequencies.
    settings : QuerySettings
    similar : SimilarTerms, SimilarTermsByLanguage, SimilarPieces or None
        Look-up of similar terms, for `fuzzy` and `prefix`.
    fuzzy, prefix : bool
        Whether to add terms of similar spelling, and terms that begin with the last word.
    example : int or None
        Position of the document whose text is the query, if any.
    synonyms : SynonymTerms or None
        Look-up of synonyms.
    """

    encoder: QueryEncoder
    index: Index
    settings: QuerySettings = DEFAULT
    similar: SimilarTerms | SimilarTermsByLanguage | SimilarPieces | None = None
    fuzzy: bool = False
    prefix: bool = False
    example: int | None = None
    synonyms: SynonymTerms | None = None

    @property
    def analyzer(self) -> Analyzer:
        """Analyzer of queries."""
        return self.encoder.analyzer

    def encode_query(self, query: str) -> TermWeights:
        """Return one row over the vocabulary of the index."""
        added = added_terms(self, query)
        row = self.encoder.encode_query(added.without_replaced(query))
        terms, values = row.row(0)
        background = self.index.vocabulary.background
        if background is not None and len(terms) and int(terms[-1]) == background:
            terms, values = terms[:-1], values[:-1]
        counts = values.astype(np.float64)
        if query_weighting_of(self.index) == "log-counts" and self.settings.counts != "raw":
            counts = np.rint(np.exp(counts - 1.0))
        weights = self._of_counts(counts)
        if added.terms:
            weight_of = dict(zip(terms.tolist(), weights.tolist(), strict=True))
            of_added = list(zip(added.terms, self._of_added(added.terms).tolist(), strict=True))
            for each, weight in of_added:
                if each.origin != "synonym":
                    weight_of[each.number] = weight_of.get(each.number, 0.0) + weight
            for each, weight in of_added:
                if each.origin == "synonym":
                    weight_of[each.number] = max(weight_of.get(each.number, 0.0), weight)
            terms = np.array(sorted(weight_of), dtype=np.int32)
            weights = np.array([weight_of[term] for term in terms.tolist()])
        weights = self._of_frequencies(terms, weights)
        kept = weights > 0
        terms, weights = terms[kept], weights[kept]
        if background is not None and len(terms):
            terms = np.append(terms, np.int32(background))
            weights = np.append(weights, weights.sum())
        if self.settings is DEFAULT:  # counts, and shares of them, are valid weights
            return TermWeights.of_query(
                dict(zip(terms.tolist(), weights.tolist(), strict=True)), row.vocabulary
            )
        return TermWeights(np.array([0, len(terms)]), terms, weights.astype(np.float32), row.vocabulary)

    def _of_counts(self, counts: npt.NDArray[np.float64]) -> npt.NDArray[np.float64]:
        settings = self.settings
        if settings.counts == "once":
            return np.ones_like(counts)
        if settings.counts == "saturated":
            return (settings.k3 + 1) * counts / (settings.k3 + counts)
        return counts

    def _of_added(self, added: Sequence[AddedTerm]) -> npt.NDArray[np.float64]:
        """Return the weights of added terms: their shares of the weight that they would have if typed."""
        shares = np.array([each.share for each in added])
        if isinstance(self.encoder, QueryEncoderByLanguage):
            shares *= np.array(self.encoder.factors_of_added(added))
        weighting = query_weighting_of(self.index)
        if weighting == "idf":
            return shares * self.index.query_weights[[each.number for each in added]]
        if weighting == "occurrences":
            return shares
        counts = self._of_counts(np.array([float(len(each.spans)) for each in added]))
        logarithmic = weighting == "log-counts" and self.settings.counts == "raw"
        return shares * (1.0 + np.log(counts) if logarithmic else counts)

    def _of_frequencies(
        self, terms: npt.NDArray[np.int32], weights: npt.NDArray[np.float64]
    ) -> npt.NDArray[np.float64]:
        """Return the weight of each term, 0 for dropped ones."""
        settings = self.settings
        if not settings.idf_power and not settings.min_df and not settings.max_terms:
            return weights
        frequencies = self.index.document_frequencies[terms]
        documents = len(self.index)
        importance = weights * idf_factors(frequencies, documents, max(1.0, settings.idf_power))
        weights = weights * idf_factors(frequencies, documents, settings.idf_power)
        usable = frequencies >= max(1, settings.min_df)
        if settings.max_terms:
            if self.example is not None:
                rows = (self.index.row(chunk)[0] for chunk in self.index.chunks.of(self.example))
                usable &= frequencies > sum(np.isin(terms, row).astype(np.int64) for row in rows)
            order = np.lexsort((terms, -importance, ~usable))
            usable[order[settings.max_terms :]] = False
        return np.where(usable, weights, 0.0)
