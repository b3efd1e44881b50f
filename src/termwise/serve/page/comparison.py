"""Comparison of two rankers side by side: indexes of the service, or parts of its mixtures."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from termwise.errors import TermwiseError
from termwise.fast_dataclass import dataclass
from termwise.search import Searcher
from termwise.serve.answers import SearchAnswer
from termwise.serve.bodies import checked_model
from termwise.serve.errors import UnknownIndexError
from termwise.serve.indexes import OpenIndex, ServedIndex, ServedIndexes
from termwise.serve.page.address import SearchAddress, address_of
from termwise.serve.page.errors import refusal
from termwise.serve.page.titles import titles_of
from termwise.serve.requests import SearchRequest
from termwise.serve.search import search
from termwise.serve.settings import ServiceSettings

RESULTS = 20
"""Results of each ranker."""

ROW = 48
"""Height of a result in pixels, as in the style sheet."""


@dataclass(frozen=True)
class Ranker:
    """An index of the service, or one part of a mixture.

    Attributes
    ----------
    served : ServedIndex
    part : str
        Name of a part of a mixture, or empty.
    """

    served: ServedIndex
    part: str = ""

    @property
    def name(self) -> str:
        """Name of the index, and of the part after a slash."""
        return f"{self.served.name}/{self.part}" if self.part else self.served.name

    def current(self) -> OpenIndex:
        """Return the newest generation of the index or of the part."""
        opened = self.served.current()
        parts = [part for part in opened.searcher.parts if part.name == self.part]
        return OpenIndex(self.name, Searcher(parts[0].backend)) if parts else opened


def rankers_of(indexes: ServedIndexes) -> list[Ranker]:
    """Return all rankers of a service, without reading an index."""
    rankers = []
    for served in indexes:
        parts = served.opened.parts
        rankers += [Ranker(served), *(Ranker(served, part.name) for part in parts if len(parts) > 1)]
    return rankers


def comparison_view(
    indexes: ServedIndexes, query: str, names: tuple[str, str], settings: ServiceSettings
) -> dict[str, Any]:
    """Return the values of the template for two rankers; an empty name is that of the first or second ranker.

    Raises
    ------
    TermwiseError
        If the search is refused, or an index cannot be read.
    """
    rankers = rankers_of(indexes)
    values = _asked(rankers, query, names)
    if not query or len(rankers) < 2:
        return values
    return values | _compared([_named(rankers, name) for name in values["chosen"]], query, settings)


def uncompared_view(
    indexes: ServedIndexes, query: str, names: tuple[str, str], error: TermwiseError
) -> dict[str, Any]:
    """Return the values of the template for a comparison that was refused, without reading an index.

    Raises
    ------
    TermwiseError
        The error, if it is one of the service itself.
    """
    return _asked(rankers_of(indexes), query, names) | {"refused": refusal(error)}


def _asked(rankers: Sequence[Ranker], query: str, names: tuple[str, str]) -> dict[str, Any]:
    """Return the values of the template for a comparison without its results."""
    known = [ranker.name for ranker in rankers]
    first, second = (name or known[min(place, len(known) - 1)] for place, name in enumerate(names))
    return {
        "query": query,
        "names": known,
        "chosen": [first, second],
        "again": address_of("/compare", [("q", query), ("a", first), ("b", second)]),
        "columns": [],
        "refused": None,
    }


def _compared(both: Sequence[Ranker], query: str, settings: ServiceSettings) -> dict[str, Any]:
    """Return the results of two rankers, and the lines that join those of the same document."""
    asked = {
        "query": query,
        "k": min(RESULTS, settings.max_results),
        "syntax": True,
        "total": True,
        "show": [],
    }
    request = checked_model(asked, SearchRequest)
    opened = [ranker.current() for ranker in both]
    answers = [search(each, request, settings).answer for each in opened]
    ranks = [{hit["doc_id"]: hit["rank"] for hit in answer["hits"]} for answer in answers]
    of_both = [titles_of(each.searcher, list(found)) for each, found in zip(opened, ranks, strict=True)]
    common = [doc_id for doc_id in ranks[0] if doc_id in ranks[1]]
    return {
        "columns": [
            _column(ranker, answer, titles, ranks[1 - side], side, query)
            for side, (ranker, answer, titles) in enumerate(zip(both, answers, of_both, strict=True))
        ],
        "height": ROW * max(map(len, ranks)),
        "lines": [_line(ranks[0][doc_id], ranks[1][doc_id]) for doc_id in common],
        "common": len(common),
    }


def _named(rankers: list[Ranker], name: str) -> Ranker:
    for ranker in rankers:
        if ranker.name == name:
            return ranker
    known = ", ".join(ranker.name for ranker in rankers)
    raise UnknownIndexError("the service has no such ranker", facts=[("ranker", name), ("known", known)])


def _column(
    ranker: Ranker,
    answer: SearchAnswer,
    titles: Sequence[str],
    others: dict[str, int],
    side: int,
    query: str,
) -> dict[str, Any]:
    """Return the results of a ranker; those of the second one, with the change of their rank."""
    hits = answer["hits"]
    return {
        "name": ranker.name,
        "total": answer["total"],
        "results": [
            {
                "rank": hit["rank"],
                "title": title,
                "url": SearchAddress(index=ranker.served.name, query=query).document_url(hit["doc_id"]),
                "kind": kind_of(hit["rank"], others.get(hit["doc_id"])),
                "change": _change(hit["rank"], others.get(hit["doc_id"]), side),
            }
            for hit, title in zip(hits, titles, strict=True)
        ],
    }


def kind_of(rank: int, other: int | None) -> str:
    """Return how a rank differs from that of the same document in the other ranking, if that has it.

    Examples
    --------
    >>> kind_of(2, 5), kind_of(5, 2), kind_of(2, 2), kind_of(2, None)
    ('up', 'down', 'same', 'only')
    """
    if other is None:
        return "only"
    return "same" if rank == other else "up" if rank < other else "down"


def _change(rank: int, other: int | None, side: int) -> str:
    """Return the change from the first ranking to the second in words; none in the first for a common document."""
    kind = kind_of(rank, other)
    if other is None:
        return "only here"
    return "" if side == 0 or kind == "same" else f"{kind} {abs(other - rank)}"


def _line(first: int, second: int) -> tuple[int, int, str]:
    """Return the heights at which the line of a document begins and ends, and the kind of its change."""
    return ROW * (first - 1) + ROW // 2, ROW * (second - 1) + ROW // 2, kind_of(second, first)
