"""Query by example: the query is a document, which is excluded from the results."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

from termwise.engine.allowed_documents import FilterLike
from termwise.engine.text_conditions import Words
from termwise.errors import ParameterError
from termwise.explain.explanation import Explanation
from termwise.filters import Range, ValueCount
from termwise.records import Ranking
from termwise.search.conditions import Conditions
from termwise.search.mixture import MixtureSearcher
from termwise.search.searcher import Searcher

MOST_COMPARED = 1000
"""Number of the best matches of a text among which documents with the same text are looked for, before matches are
counted."""

AnySearcher = Searcher | MixtureSearcher
"""Searcher of an index or of a mixture."""


@dataclass(frozen=True)
class Example:
    """A document that serves as the query.

    Attributes
    ----------
    name : str
        Displayed name: the identifier, or the name of a file.
    text : str
    doc_id : str or None
        Identifier, if it is a document of the index.
    """

    name: str
    text: str
    doc_id: str | None = None

    def __post_init__(self) -> None:
        if not isinstance(self.text, str):
            raise ParameterError(
                "the text of an example is a string", facts=[("given", type(self.text).__name__)]
            )

    @classmethod
    def of(cls, searcher: AnySearcher, doc_id: str) -> Example:
        """Return a document of an index as an example.

        Raises
        ------
        UnknownIdError
            If the index holds no such document.
        ParameterError
            If the index keeps no texts.
        """
        return cls(doc_id, searcher.query_of(doc_id).text, doc_id)

    def rank(
        self,
        searcher: AnySearcher,
        *,
        k: int,
        filter: FilterLike | None = None,
        must: Words = (),
        must_not: Words = (),
        phrases: Words = (),
        sort: str | None = None,
        collapse: str | None = None,
        collapse_size: int = 1,
    ) -> tuple[Ranking, tuple[str, ...]]:
        """Rank the documents for this example; see `Searcher.rank_like`.

        If the index keeps texts, documents with the same text, apart from white space, are excluded as well: a text
        from a file may equal the text of a document of the index.

        Returns
        -------
        ranking : Ranking
            At most `k` documents.
        duplicates : tuple of str
            Documents with the same text, which are excluded.
        """
        arguments: dict[str, Any] = Conditions.of(filter, must, must_not, phrases).arguments
        arguments |= {"sort": sort, "collapse": collapse, "collapse_size": collapse_size}
        if self.doc_id is not None:
            return searcher.rank_like(self.doc_id, k=k, **arguments), ()
        depth, duplicates = k, tuple[str, ...]()
        while True:
            ranking = searcher.rank(self.text, k=depth, exclude=duplicates, **arguments)
            found = self._duplicates(searcher, ranking.doc_ids)
            if not found:
                return ranking.top(k), duplicates
            depth, duplicates = 2 * depth, duplicates + found

    def facets(
        self,
        searcher: AnySearcher,
        fields: Sequence[str] = (),
        *,
        ranges: Mapping[str, Mapping[str, Range]] | None = None,
        filter: FilterLike | None = None,
        must: Words = (),
        must_not: Words = (),
        phrases: Words = (),
        n: int = 10,
    ) -> dict[str, list[ValueCount]]:
        """Count the values of attributes over the documents that match this example; see `Searcher.facets`."""
        if self.doc_id is not None:
            searcher = searcher.for_example(self.doc_id)
        conditions = Conditions.of(filter, must, must_not, phrases)
        exclude = self._excluded(searcher, (), conditions)
        return searcher.facets(
            fields, ranges=ranges, query=self.text, exclude=exclude, n=n, **conditions.arguments
        )

    def count(
        self,
        searcher: AnySearcher,
        *,
        filter: FilterLike | None = None,
        must: Words = (),
        must_not: Words = (),
        phrases: Words = (),
    ) -> int:
        """Return the number of documents that match this example; see `Searcher.count`."""
        if self.doc_id is not None:
            searcher = searcher.for_example(self.doc_id)
        conditions = Conditions.of(filter, must, must_not, phrases)
        exclude = self._excluded(searcher, (), conditions)
        return searcher.count(self.text, exclude=exclude, **conditions.arguments)

    def explain(
        self,
        searcher: AnySearcher,
        doc_ids: Sequence[str],
        *,
        competitors: int | None = None,
        filter: FilterLike | None = None,
        must: Words = (),
        must_not: Words = (),
        phrases: Words = (),
        centred: bool = False,
    ) -> list[Explanation]:
        """Explain the scores of documents for this example; see `Searcher.explain_many`.

        `centred` is for mixtures only, see `MixtureSearcher.explain`.
        """
        conditions = Conditions.of(filter, must, must_not, phrases)
        exclude: tuple[str, ...] = ()
        if self.doc_id is not None:
            searcher = searcher.for_example(self.doc_id)
        # Excluded documents do not change the scores of an index, but the scale of the parts of a mixture.
        if competitors is not None or isinstance(searcher, MixtureSearcher):
            exclude = self._excluded(searcher, doc_ids, conditions)
        arguments: dict[str, Any] = {"competitors": competitors, "exclude": exclude, **conditions.arguments}
        if isinstance(searcher, MixtureSearcher):
            explanations = searcher.explain_many(self.text, doc_ids, centred=centred, **arguments)
        else:
            explanations = searcher.explain_many(self.text, doc_ids, **arguments)
        return [replace(explanation, example=self.name) for explanation in explanations]

    def _excluded(
        self, searcher: AnySearcher, kept: Sequence[str], conditions: Conditions
    ) -> tuple[str, ...]:
        """Return the documents that are excluded from the results, except those to be kept.

        Documents with the same text have nearly the best scores, so that the texts of the others need not be read.
        """
        if self.doc_id is not None:
            return (self.doc_id,)
        duplicates = tuple[str, ...]()
        while True:
            best = searcher.rank(self.text, k=MOST_COMPARED, exclude=duplicates, **conditions.arguments)
            found = self._duplicates(searcher, best.doc_ids)
            if not found:
                return tuple(doc_id for doc_id in duplicates if doc_id not in kept)
            duplicates += found

    def _duplicates(self, searcher: AnySearcher, doc_ids: Sequence[str]) -> tuple[str, ...]:
        """Return the documents with the same words in the same order."""
        words = self.text.split()
        texts = searcher.index.document_texts(searcher.index.find_many(doc_ids))
        return tuple(
            doc_id
            for doc_id, text in zip(doc_ids, texts, strict=True)
            if text is not None and text.split() == words
        )
