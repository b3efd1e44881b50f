"""Searcher with fixed options of its searches, for tests that compare it with a plain searcher."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from termwise.explain import Explanation
from termwise.index import Index
from termwise.records import Query, Ranking, Run
from termwise.search import Part, Results, Search, Searcher
from termwise.weights import TermWeights


@dataclass(frozen=True)
class Searching:
    """A searcher, and options of its searches."""

    searcher: Searcher
    options: dict[str, Any]

    @property
    def index(self) -> Index:
        return self.searcher.index

    @property
    def parts(self) -> tuple[Part, ...]:
        return self.searcher.parts

    def search(self, search: Any = None, **more: Any) -> Results:
        if isinstance(search, Search):
            given = {name: getattr(search, name) for name in ("query", "like", "k") if getattr(search, name)}
            return self.searcher.search(Search(**{**given, **self.options}))
        return self.searcher.search(Search(search, **{**self.options, **more}))

    def rank(self, query: Any, **more: Any) -> Ranking:
        return self.search(query, **more).ranking

    def rank_many(self, queries: Any, **more: Any) -> Run:
        return self.searcher.rank_many(queries, search=Search(**self.options), **more)

    def explain(self, query: Any, doc_id: str, **more: Any) -> Explanation:
        return self.search(query).explain([doc_id], **more)[0]

    def encode(self, query: str, part: int = 0) -> TermWeights:
        return self.encoder(part).encode_query(query)

    def encoder(self, part: int = 0) -> Any:
        return self.search().query.parts[part].encoder

    def did_you_mean(self, query: Any) -> Sequence[Any]:
        return self.search(query).did_you_mean()

    def similar_words(self, query: Any) -> Sequence[Any]:
        return self.search(query).similar_words()

    def windows_for(self, k: int) -> int | None:
        return self.search(k=k).windows

    def refresh(self) -> Searching:
        return Searching(self.searcher.refresh(), self.options)


def searching(searcher: Searcher, **options: Any) -> Searching:
    """Return a searcher whose searches have some options, which have to fit its index."""
    made = Searching(searcher, options)
    made.search()
    return made


def rank_candidates(searcher: Searcher, query: str | Query, **options: Any) -> Ranking:
    """Rank the candidates of a mixture, or all matches of an index, without other documents that match by words."""
    results = searcher.search(Search(query, k=1000, **options))
    if "candidates" in options or len(searcher.parts) == 1:
        return results.ranking
    matches: Any = results.matches(frozenset(results.search.exclude))
    return results.ranking.top(len(matches.candidates))
