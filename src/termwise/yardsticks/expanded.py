"""Texts that are scored together with queries that they might answer, as doc2query does it.

Nogueira, Yang, Lin and Cho, arXiv 1904.08375; with T5, Nogueira and Lin, 2019. Before BM25 they make an index of
expanded texts; before another ranker a text may grow out of its window.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence
from hashlib import sha256
from pathlib import Path
from typing import Protocol

import numpy as np
import numpy.typing as npt

from termwise.scorers.adapt import score_pairs_with
from termwise.scorers.protocol import BasePairScorer, FingerprintedScorer, TextScorer
from termwise.scorers.row_scorer import distinct
from termwise.scorers.score_cache import text_digest
from termwise.scorers.sqlite_cache import Kept, KeptFile
from termwise.validation import check_pairs, check_texts

_AT_ONCE = 64
"""Texts whose queries are generated before they are kept."""

_EXPANSIONS = Kept(
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
    """Generates queries that texts might answer; `termwise.yardsticks.doc2query.Doc2Query` is one."""

    @property
    def fingerprint(self) -> str:
        """Equal ones give equal queries."""
        ...

    def expand(self, texts: Sequence[str]) -> Sequence[tuple[str, ...]]:
        """Return the queries of each text, best first; those of a text depend on no other text."""
        ...


class CachedExpander:
    """Generates the queries of a text once; an expander of the probe ``append-queries`` as well.

    Parameters
    ----------
    expander : TextExpander
    path : str or Path, optional
        A file of SQLite in which queries are kept by the fingerprint of the expander and a digest of the text; made if
        there is none. In memory unless given.

    Raises
    ------
    DataError
        If the file is something else, or damaged.
    StorageError
        If it cannot be opened or written.
    """

    def __init__(self, expander: TextExpander, path: str | Path | None = None) -> None:
        self._expander = expander
        self._file = KeptFile(_EXPANSIONS, path)
        self.fingerprint = expander.fingerprint

    def expand(self, texts: Sequence[str]) -> list[tuple[str, ...]]:
        """Return the queries of each text; what was generated is safe after every few texts."""
        check_texts(texts)
        asked, places = distinct(texts)
        keys = [text_digest(text) for text in asked]
        found = dict(self._file.find(self.fingerprint, keys))
        missing = [(key, text) for key, text in zip(keys, asked, strict=True) if key not in found]
        for begin in range(0, len(missing), _AT_ONCE):
            part = missing[begin : begin + _AT_ONCE]
            queries = self._expander.expand([text for _, text in part])
            made = {key: json.dumps(said) for (key, _), said in zip(part, queries, strict=True)}
            self._file.add(self.fingerprint, list(made), list(made.values()))
            found |= made
        read = [self._queries(found[key]) for key in keys]
        return [read[place] for place in places.tolist()]

    def __call__(self, doc_id: str, text: str) -> tuple[str, ...]:
        """Return the queries of one text; its identifier does not count."""
        return self.expand([text])[0]

    def close(self) -> None:
        """Close the file; nothing is lost."""
        self._file.close()

    def _queries(self, text: str) -> tuple[str, ...]:
        """Read what was kept of a text.

        Raises
        ------
        DataError
            If it is no list of texts.
        """
        try:
            found = json.loads(text)
        except (TypeError, ValueError, RecursionError):
            found = None
        if not isinstance(found, list) or not all(isinstance(one, str) for one in found):
            raise self._file.damaged(text)
        return tuple(found)


class ExpandedScorer(BasePairScorer):
    """Scores texts, each with the queries generated of it behind it; a `termwise.scorers.protocol.PairScorer`.

    Parameters
    ----------
    scorer : TextScorer
        Any; with BM25 this is doc2query.
    expander : TextExpander
        Mostly a `CachedExpander`.
    name : str, optional
        By default ``doc2query+`` and the name of the scorer.

    Examples
    --------
    >>> from termwise.scorers import FunctionScorer
    >>> def shared_words(queries, texts):
    ...     return [len(set(q.split()) & set(t.split())) for q, t in zip(queries, texts)]
    >>> class Asks:
    ...     fingerprint = "asks"
    ...
    ...     def expand(self, texts):
    ...         return [("what about " + text.split()[0],) for text in texts]
    >>> scorer = ExpandedScorer(FunctionScorer(shared_words, name="shared"), Asks())
    >>> scorer.name, scorer.score("what about cats", ["cats sleep", "dogs bark"])
    ('doc2query+shared', array([3., 2.]))
    """

    def __init__(self, scorer: TextScorer, expander: TextExpander, *, name: str | None = None) -> None:
        self._scorer = scorer
        self._expander = expander
        self.name = f"doc2query+{scorer.name}" if name is None else name

    @property
    def fingerprint(self) -> str | None:
        """Equal ones give equal scores; None where that of the scorer is not known."""
        known = self._scorer.fingerprint if isinstance(self._scorer, FingerprintedScorer) else None
        if known is None:
            return None
        said = json.dumps(["expanded", known, self._expander.fingerprint])
        return f"sha256:{sha256(said.encode()).hexdigest()}"

    def score_pairs(self, queries: Sequence[str], texts: Sequence[str]) -> npt.NDArray[np.float64]:
        """Score each text for the query at the same place; each distinct text is expanded once."""
        check_pairs(queries, texts)
        asked, places = distinct(texts)
        longer = list(_longer(asked, self._expander.expand(asked)))
        return score_pairs_with(self._scorer, queries, [longer[place] for place in places.tolist()])


def _longer(texts: Sequence[str], queries: Sequence[tuple[str, ...]]) -> Iterator[str]:
    for text, said in zip(texts, queries, strict=True):
        yield " ".join([text, *said])
