"""Exact scores of given documents by a translation table, without pruning, rounding or compilation.

`termwise.models.Model1` compiles a table with fixed p and lambda into an index. This module computes the same scores at
query time from an index of relative term frequencies P(u|D) (the model ``ml``) and the columns of the table for the
query words:

    m(t, D) = (1 - p) * sum over u of T(t|u) P(u|D)  +  p * P(t|D)
    score   = sum over the words t of the query, with repetitions, of ln(1 + (1 - lambda) m / (lambda P(t|C)))

For lambda = 0, the summand is ln max(1e-8, m). The two parts of m do not depend on p and lambda, so tuning computes
them once (`TranslationScorer.parts`).

This module imports `termwise.translation`; searching a compiled index does not.
"""

from __future__ import annotations

import time
from collections import Counter
from collections.abc import Sequence
from dataclasses import KW_ONLY, field
from typing import ClassVar

import numpy as np
import numpy.typing as npt

from termwise.engine.query_encoder import analyzer_of
from termwise.engine.retrieval import candidate_ordinals, damaged_rows
from termwise.errors import ParameterError, UnknownNameError, VocabularyMismatchError
from termwise.fast_dataclass import dataclass
from termwise.fixes import Call, Fix
from termwise.index import Index
from termwise.kernels.translation import OK, gather_translations, model1_scores
from termwise.models.attachments import FREQUENCIES, read_frequencies
from termwise.records import Query
from termwise.search.candidates import CandidateRanker, rank_candidates
from termwise.search.request import query_text
from termwise.search.timed_run import TimedRanking
from termwise.text import Analyzer
from termwise.translation.background import BACKGROUNDS, BackgroundSource, background_probabilities
from termwise.translation.table import Columns, TranslationTable
from termwise.translation.transforms import SelfTranslation, for_scoring
from termwise.validation import is_finite_number

_EXACT = Call.of("BuildOptions", quantiser="float32")
"""Options of an index of exact term frequencies."""


@dataclass(frozen=True, eq=False)
class TranslationParts:
    """Parts of the scores of documents that do not depend on p and lambda.

    Attributes
    ----------
    words : tuple of str of length q
        Distinct words of the query that are known to index or table.
    times : ndarray of shape (q,), float64
        Number of occurrences in the query.
    probabilities : ndarray of shape (q,), float64
        P(t|C), 1e-9 or more.
    translated : ndarray of shape (m, q), float64
        The sum over u of T(t|u) P(u|D).
    untranslated : ndarray of shape (m, q), float64
        P(t|D).
    """

    words: tuple[str, ...]
    times: npt.NDArray[np.float64]
    probabilities: npt.NDArray[np.float64]
    translated: npt.NDArray[np.float64]
    untranslated: npt.NDArray[np.float64]

    def scores(self, self_translation: float, lambda_: float) -> npt.NDArray[np.float64]:
        """Return the score of each document, shape (m,).

        Parameters
        ----------
        self_translation : float
            p, from 0 to 1.
        lambda_ : float
            From 0 to below 1.

        Raises
        ------
        ParameterError
            If a value is out of range.
        """
        check_share("self_translation", self_translation, below_one=False)
        check_share("lambda", lambda_, below_one=True)
        return model1_scores(
            self.translated,
            self.untranslated,
            self.times,
            self.probabilities,
            float(self_translation),
            float(lambda_),
        )


@dataclass(frozen=True, eq=False)
class TranslationScorer(CandidateRanker):
    """Scores given documents by a translation table; the module documents the formulas.

    Stateless, like a `Searcher`.

    Parameters
    ----------
    documents : Index
        Index with the model ``ml``, the analyzer of the table and 32-bit weights.
    table : TranslationTable
        The table as trained; see `termwise.translation.open_table`.
    self_translation, lambda_ : float, optional
        p, from 0 to 1, and lambda, from 0 to below 1.
    self_mode, renormalise, least, background
        See `termwise.models.Model1`.

    Raises
    ------
    ParameterError
        If `documents` is an index of another model, or a value is out of range.
    VocabularyMismatchError
        If index and table have different analyzers.
    UnknownNameError
        If there is no such mode or background.
    """

    run_name: ClassVar[str] = "translation"

    documents: Index
    table: TranslationTable
    _: KW_ONLY
    self_translation: float = 0.1
    lambda_: float = 0.3
    self_mode: SelfTranslation = "add"
    renormalise: bool = False
    least: float = 1e-3
    background: BackgroundSource = "smoothed"
    _side: _TableSide = field(init=False, repr=False)

    def __post_init__(self) -> None:
        check_share("self_translation", self.self_translation, below_one=False)
        check_share("lambda", self.lambda_, below_one=True)
        if self.background not in BACKGROUNDS:
            raise UnknownNameError.of("background", str(self.background), BACKGROUNDS)
        self.documents.check_not_cut("a translation table")
        _check_documents(self.documents)
        analyzer = _shared_analyzer(self.documents, self.table)
        object.__setattr__(self, "_side", self._prepared(analyzer))

    def _prepared(self, analyzer: Analyzer) -> _TableSide:
        index, table = self.documents, self.table
        scoring = for_scoring(table, least=self.least, mode=self.self_mode, renormalise=self.renormalise)
        built = read_frequencies(index.attachment(FREQUENCIES), index.manifest.built_terms)
        frequencies = np.pad(built, (0, index.manifest.terms - len(built)), constant_values=1)
        return _TableSide(
            analyzer,
            scoring.columns,
            table.numbers_in(index.vocabulary),
            frequencies / max(1, int(frequencies.sum())),
            table.occurrences / max(1, int(table.occurrences.sum())),
        )

    def parts(self, query: str | Query, candidates: Sequence[str]) -> TranslationParts:
        """Return the parts of the scores of documents for a query.

        Parameters
        ----------
        query : str or Query
            The information need.
        candidates : sequence of str
            Documents of the index.

        Raises
        ------
        UnknownIdError, DuplicateIdError
            If a candidate is not in the index, or occurs twice.
        """
        ordinals = candidate_ordinals(
            self.documents, candidates, query.query_id if isinstance(query, Query) else ""
        )
        return self._gathered(self._words(query_text(query)), ordinals)

    def _rank(self, query: str | Query, candidates: Sequence[str], k: int) -> TimedRanking:
        query_id = query.query_id if isinstance(query, Query) else ""
        text = query_text(query)
        begin = time.perf_counter()
        words = self._words(text)
        middle = time.perf_counter()
        ordinals = candidate_ordinals(self.documents, candidates, query_id)
        scores = self._gathered(words, ordinals).scores(self.self_translation, self.lambda_)
        ranking = rank_candidates(candidates, scores, query_id, k)
        return ranking, middle - begin, time.perf_counter() - middle

    def _words(self, query: str) -> list[_Word]:
        index, table, side = self.documents, self.table, self._side
        words = []
        for token, times in Counter(side.analyzer.tokens(query)).items():
            number, target = index.vocabulary.number(token), table.vocabulary.number(token)
            if number is not None or (target is not None and side.has_column(target)):
                words.append(_Word(token, times, number, target))
        return words

    def _probabilities(self, words: list[_Word]) -> npt.NDArray[np.float64]:
        side = self._side
        collection = [0.0 if word.number is None else side.collection[word.number] for word in words]
        bitext = [0.0 if word.target is None else side.bitext[word.target] for word in words]
        return background_probabilities(
            self.background, np.array(collection, dtype=np.float64), np.array(bitext, dtype=np.float64)
        )

    def _gathered(self, words: list[_Word], ordinals: npt.NDArray[np.int64]) -> TranslationParts:
        index = self.documents
        shape = len(ordinals), len(words)
        translated, untranslated = np.zeros(shape, dtype=np.float64), np.zeros(shape, dtype=np.float64)
        slots, columns, word_positions = self._side.scratch(words, index.manifest.terms)
        for segment, positions, rows in index.segments.by_segment(ordinals):
            part, own_part = np.zeros((len(rows), len(words))), np.zeros((len(rows), len(words)))
            status = gather_translations(
                segment.starts,
                segment.posting_terms,
                segment.impacts,
                rows,
                slots,
                columns,
                word_positions,
                part,
                own_part,
            )
            if status != OK:
                raise damaged_rows(segment)
            unit = 2**segment.shift
            translated[positions], untranslated[positions] = part * unit, own_part * unit
        return TranslationParts(
            tuple(word.token for word in words),
            np.array([word.times for word in words], dtype=np.float64),
            self._probabilities(words),
            translated,
            untranslated,
        )


@dataclass(frozen=True)
class _Word:
    """A query word with its numbers in the index and in the table, None if unknown."""

    token: str
    times: int
    number: int | None
    target: int | None


@dataclass(frozen=True, eq=False)
class _TableSide:
    """A table prepared for an index; `numbers` maps its terms to those of the index, -1 for unknown ones."""

    analyzer: Analyzer
    columns: Columns
    numbers: npt.NDArray[np.int32]
    collection: npt.NDArray[np.float64]
    bitext: npt.NDArray[np.float64]

    def has_column(self, target: int) -> bool:
        return bool(self.columns.indptr[target] < self.columns.indptr[target + 1])

    def column(self, target: int) -> tuple[npt.NDArray[np.int32], npt.NDArray[np.float32]]:
        """Return the sources of a target, numbered as in the index, and their probabilities."""
        entries = slice(int(self.columns.indptr[target]), int(self.columns.indptr[target + 1]))
        sources = self.numbers[self.columns.sources[entries]]
        known = sources >= 0
        return sources[known], self.columns.probabilities[entries][known]

    def scratch(
        self, words: list[_Word], n_terms: int
    ) -> tuple[npt.NDArray[np.int32], npt.NDArray[np.float64], npt.NDArray[np.int32]]:
        """Return the arguments `slots`, `columns` and `word_positions` of `gather_translations`."""
        word_columns = [
            (np.empty(0, np.int32), np.empty(0, np.float32))
            if word.target is None
            else self.column(word.target)
            for word in words
        ]
        slots = np.zeros(n_terms, dtype=np.int32)
        for sources, _ in word_columns:
            slots[sources] = 1
        for word in words:
            if word.number is not None:
                slots[word.number] = 1
        terms = np.flatnonzero(slots)
        slots[terms] = np.arange(1, len(terms) + 1, dtype=np.int32)
        columns = np.zeros((len(terms) + 1, len(words)), dtype=np.float64)
        word_positions = np.full(len(terms) + 1, -1, dtype=np.int32)
        for place, (word, (sources, chances)) in enumerate(zip(words, word_columns, strict=True)):
            columns[slots[sources], place] = chances
            if word.number is not None:
                word_positions[slots[word.number]] = place
        return slots, columns, word_positions


def check_share(name: str, value: object, *, below_one: bool) -> None:
    """Refuse anything but a number from 0 to 1 or, with `below_one` (lambda), 0 or a number from 1e-9 to below 1."""
    holds = is_finite_number(value) and 0 <= value <= 1
    if not holds or (below_one and (value == 1 or 0 < value < 1e-9)):  # type: ignore[operator]
        raise ParameterError(
            f"{name} is out of range",
            facts=[
                (name, value),
                ("expected", "0, or a number from 1e-9 to below 1" if below_one else "a number from 0 to 1"),
                *([("reason", "lambda = 1 ignores the document")] if below_one and value == 1 else []),
            ],
        )


def _check_documents(index: Index) -> None:
    model = index.manifest.encoder.model.name or "unknown"
    kind = index.manifest.quantiser.kind
    if model != "ml" or kind != "float32" or FREQUENCIES not in index.manifest.attachments:
        raise ParameterError(
            "a translation scorer needs an index of relative term frequencies",
            facts=[("index", index.path), ("model", model), ("weights", kind), ("expected", "ml, float32")],
            fixes=[
                Fix.sentence(
                    "{} with the analyzer of the table",
                    Fix.call("build_index", model="ml", options=_EXACT),
                )
            ],
        )


def _shared_analyzer(index: Index, table: TranslationTable) -> Analyzer:
    analyzer = analyzer_of(index)
    if analyzer.spec.fingerprint != table.analyzer.fingerprint:
        index_analyzer, table_analyzer = analyzer.spec.differences(table.analyzer)
        raise VocabularyMismatchError(
            "the index and the translation table have different analyzers",
            facts=[("index", f"{index.path}  {index_analyzer}"), ("table", table_analyzer)],
            fixes=[
                Fix.sentence(
                    "build the index with the analyzer of the table: {}",
                    Fix.call("build_index", model="ml", analyzer=table.analyzer.name, options=_EXACT),
                )
            ],
        )
    return analyzer
