"""Scoring of texts together with generated queries, as in doc2query.

Nogueira, Yang, Lin and Cho, arXiv 1904.08375; with T5, Nogueira and Lin, 2019. With BM25 this is doc2query; with
another scorer, an expanded text can exceed its window.
"""

from __future__ import annotations

import json
from collections.abc import Sequence
from pathlib import Path
from typing import Protocol

import numpy as np
import numpy.typing as npt

from termwise.scorers.protocol import BasePairScorer, TextScorer, fingerprint_of
from termwise.scorers.row_scorer import distinct
from termwise.scorers.score_pairs import score_pairs_with
from termwise.scorers.sqlite_cache import CacheSchema, SqliteCache, text_key
from termwise.storage.file_record import json_fingerprint
from termwise.validation import check_texts

_TEXTS_PER_COMMIT = 16

_EXPANSIONS = CacheSchema(
    noun="generated queries",
    application=0x74776571,
    version=1,
    table="expansions",
    owner="expander",
    key="text",
    value="queries",
    column="TEXT",
)


class TextExpander(Protocol):
    """Generator of queries that a text answers, such as `termwise.yardsticks.doc2query.Doc2Query`."""

    @property
    def fingerprint(self) -> str:
        """Equal fingerprints mean equal queries."""

    def expand(self, texts: Sequence[str]) -> Sequence[tuple[str, ...]]:
        """Return the queries of each text, best first; they do not depend on the other texts."""


class CachedExpander:
    """Text expander with a cache.

    Parameters
    ----------
    expander : TextExpander
    path : str or Path, optional
        SQLite file with the queries by fingerprint of the expander and digest of the text; created if it does not
        exist. In memory unless given.

    Raises
    ------
    DataError
        If the file is of another type, or damaged.
    StorageError
        If it cannot be opened or written.
    """

    def __init__(self, expander: TextExpander, path: str | Path | None = None) -> None:
        self._expander = expander
        self._cache = SqliteCache(_EXPANSIONS, path)
        self.fingerprint = expander.fingerprint

    def expand(self, texts: Sequence[str]) -> list[tuple[str, ...]]:
        """Return the queries of each text; generated queries are stored after every few texts."""
        check_texts(texts)
        distinct_texts, positions = distinct(texts)
        keys = [text_key(text) for text in distinct_texts]
        encoded = dict(self._cache.find(self.fingerprint, keys))
        missing = [(key, text) for key, text in zip(keys, distinct_texts, strict=True) if key not in encoded]
        for begin in range(0, len(missing), _TEXTS_PER_COMMIT):
            part = missing[begin : begin + _TEXTS_PER_COMMIT]
            generated = self._expander.expand([text for _, text in part])
            new = {key: json.dumps(queries) for (key, _), queries in zip(part, generated, strict=True)}
            self._cache.add(self.fingerprint, list(new), list(new.values()))
            encoded |= new
        decoded = [self._decode(encoded[key]) for key in keys]
        return [decoded[position] for position in positions.tolist()]

    def close(self) -> None:
        """Close the file."""
        self._cache.close()

    def _decode(self, value: str) -> tuple[str, ...]:
        """Return the queries of a cached value, or raise `DataError`."""
        try:
            queries = json.loads(value)
        except (TypeError, ValueError, RecursionError):
            queries = None
        if not isinstance(queries, list) or not all(isinstance(query, str) for query in queries):
            raise self._cache.damaged(value)
        return tuple(queries)


class ExpandedScorer(BasePairScorer):
    """Scores texts with their generated queries appended; a `termwise.scorers.protocol.PairScorer`.

    Parameters
    ----------
    scorer : TextScorer
    expander : TextExpander
        Usually a `CachedExpander`.
    name : str, optional
        By default ``doc2query+`` and the name of the scorer.

    Examples
    --------
    >>> from termwise.scorers import FunctionScorer
    >>> def shared_words(queries, texts):
    ...     return [len(set(q.split()) & set(t.split())) for q, t in zip(queries, texts)]
    >>> class QuestionExpander:
    ...     fingerprint = "questions"
    ...
    ...     def expand(self, texts):
    ...         return [("what about " + text.split()[0],) for text in texts]
    >>> scorer = ExpandedScorer(FunctionScorer(shared_words, name="shared"), QuestionExpander())
    >>> scorer.name, scorer.score("what about cats", ["cats sleep", "dogs bark"])
    ('doc2query+shared', array([3., 2.]))
    """

    def __init__(self, scorer: TextScorer, expander: TextExpander, *, name: str | None = None) -> None:
        self._scorer = scorer
        self._expander = expander
        self.name = f"doc2query+{scorer.name}" if name is None else name

    @property
    def fingerprint(self) -> str | None:
        """Equal fingerprints mean equal scores; None if the scorer has none."""
        inner = fingerprint_of(self._scorer)
        return None if inner is None else json_fingerprint(["expanded", inner, self._expander.fingerprint])

    def _score_pairs(self, queries: Sequence[str], texts: Sequence[str]) -> npt.NDArray[np.float64]:
        distinct_texts, positions = distinct(texts)
        expansions = self._expander.expand(distinct_texts)
        expanded = [
            " ".join([text, *expansion]) for text, expansion in zip(distinct_texts, expansions, strict=True)
        ]
        return score_pairs_with(
            self._scorer, queries, [expanded[position] for position in positions.tolist()]
        )
