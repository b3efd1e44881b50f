"""Query encoders of an index: the one that its manifest describes, and explicit weights."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Protocol, cast, get_args

import numpy as np

from termwise.display.safe_text import short_digest
from termwise.engine.added_terms import Span
from termwise.engine.query_languages import QueryEncoderByLanguage
from termwise.errors import (
    CorruptIndexError,
    ParameterError,
    UnknownNameError,
    UsageError,
    VocabularyMismatchError,
    WeightError,
)
from termwise.fast_dataclass import dataclass
from termwise.index import Index
from termwise.index.container import corrupt
from termwise.index.manifest import NAME
from termwise.models.base import QueryWeighting
from termwise.models.count_query_encoder import CountQueryEncoder
from termwise.text import Analyzer, AnalyzerSpec, analyzer_from_spec
from termwise.text.analyzer_by_attribute import SEPARATOR, AnalyzerByAttribute, readings
from termwise.validation import is_finite_number
from termwise.weights import TermWeights


class QueryEncoder(Protocol):
    """Encodes a query as one row of weights, without running a network."""

    @property
    def analyzer(self) -> Analyzer:
        """Analyzer of queries."""

    def encode_query(self, query: str) -> TermWeights:
        """Return one row over the vocabulary of the index."""


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
    def of(
        cls, index: Index, analyzer: Analyzer, weights: TermWeights | Mapping[str, float]
    ) -> ExplicitWeights:
        """Return the encoder for one row, or for weights of terms.

        Parameters
        ----------
        index : Index
        analyzer : Analyzer
            Of its queries.
        weights : TermWeights or mapping of str to float
            Weights of 0 or more. Terms that the index lacks are ignored, as unknown words of a query are. A reserved
            background term gets the sum of the others, as in `CountQueryEncoder`.

        Raises
        ------
        ParameterError
            If a weight is not a finite number of 0 or more.
        """
        if isinstance(weights, TermWeights):
            return cls(analyzer, weights)
        vocabulary = index.vocabulary
        row: dict[int, float] = {}
        for term, weight in weights.items():
            if not is_finite_number(weight) or weight < 0 or (weight and np.float32(weight) == 0):
                raise ParameterError(
                    "the weight of a query term is a finite number of 0 or more that a float of 32 bits can hold",
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


def analyzer_of(index: Index) -> Analyzer:
    """Make the analyzer of an index from its description.

    Raises
    ------
    VocabularyMismatchError
        If this version of termwise makes a different analyzer of the same specification.
    UnknownNameError
        If the index has no description of an analyzer.
    CorruptIndexError
        If there is no such analyzer, or it cannot have these options.
    """
    described = index.manifest.encoder.analyzer
    if described is None:
        raise UnknownNameError(
            "the index has no description of its query analyzer",
            facts=[("index", index.path)],
            fixes=["search with rows of term weights instead of text"],
        )
    files = {name: index.attachment(name) for name in described.files}
    spec = AnalyzerSpec(described.name, described.options, files)
    try:
        analyzer = analyzer_from_spec(spec)
    except UsageError as error:
        raise _unreadable(index, "analyzer", error.message) from error
    if analyzer.spec.fingerprint != described.fingerprint:
        built, current = spec.differences(analyzer.spec)
        raise VocabularyMismatchError(
            "the analyzer of this index has changed since the build",
            facts=[
                ("index", index.path),
                ("built with", f"{built}  {short_digest(described.fingerprint)}"),
                ("now", f"{current}  {short_digest(analyzer.spec.fingerprint)}"),
            ],
            fixes=["build the index again"],
        )
    return analyzer


def query_encoder_of(index: Index) -> QueryEncoder:
    """Make the query encoder of an index from its description."""
    weighting = query_weighting_of(index)
    term_weights = index.query_weights if weighting == "idf" else None
    analyzer = analyzer_of(index)
    if isinstance(analyzer, AnalyzerByAttribute):
        return QueryEncoderByLanguage(index, analyzer.limited_to(languages_of(index, analyzer.specs)))
    try:
        return CountQueryEncoder(analyzer, index.vocabulary, weighting=weighting, term_weights=term_weights)
    except (ParameterError, WeightError) as error:
        raise _unreadable(index, "query", error.message) from error


def languages_of(index: Index, languages: Iterable[str]) -> list[str]:
    """Return those of some languages that terms of an index have."""
    starting_with = index.vocabulary.starting_with
    return [language for language in languages if len(starting_with(f"{language}{SEPARATOR}"))]


def left_out_by_a_language(analyzer: Analyzer, text: str, spans: Iterable[Span]) -> set[Span]:
    """Return the spans of a text in which the analyzer of a language has no token, such as those of its stop words.

    Examples
    --------
    >>> from termwise.text import make_analyzer_by_attribute
    >>> both = make_analyzer_by_attribute("lang").limited_to(["en", "fr"])
    >>> left_out_by_a_language(both, "the vestes", [(0, 3), (4, 10)]), both.tokens("the")
    ({(0, 3)}, ['fr:the'])
    """
    spans, found = set(spans), set[Span]()
    for reading in readings(analyzer):
        kept = reading.analyze(text).spans.tolist()
        found |= {(start, end) for start, end in spans if not any(a < end and start < b for a, b in kept)}
    return found


def query_weighting_of(index: Index) -> QueryWeighting:
    """Return the query weighting in the description of an index."""
    weighting = index.manifest.encoder.weighting
    if weighting not in get_args(QueryWeighting):
        raise _unreadable(index, "query.weighting", weighting)
    return cast(QueryWeighting, weighting)


def _unreadable(index: Index, key: str, seen: object) -> CorruptIndexError:
    return corrupt(index.path / NAME, None, f"a known encoder.{key}", str(seen)[:120])
