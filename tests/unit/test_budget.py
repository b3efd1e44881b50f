"""Budgets of the work for one answer: time, documents, size, cancellation, and where the library spends them."""

from __future__ import annotations

import threading

import pytest

import termwise
from termwise import Document, Search, Searcher
from termwise.budget import TEXT, Budget, limited, spend
from termwise.errors import BudgetError, DeadlineError

DOCUMENTS = [
    Document(f"d{number}", f"green tea number {number} of the north", {"n": number, "kind": "ab"[number % 2]})
    for number in range(40)
]


@pytest.fixture(scope="module")
def searcher(tmp_path_factory: pytest.TempPathFactory) -> Searcher:
    return termwise.build_index(
        DOCUMENTS, tmp_path_factory.mktemp("budget") / "i.tw", store_text=True, attributes="all"
    )


def test_documents_and_sizes_are_counted_together() -> None:
    budget = Budget(60, documents=10, size=5)
    with limited(budget):
        spend(4, size=5)
        spend(6)
        with pytest.raises(BudgetError, match="more documents"):
            spend(1)
    with limited(Budget(60, size=5)), pytest.raises(BudgetError, match="too large"):
        spend(size=6)
    spend(10**9, size=10**9)  # without a budget


def test_time_and_cancellation() -> None:
    with limited(Budget(-1.0)), pytest.raises(DeadlineError):
        spend()
    budget = Budget(60)
    budget.cancel()
    with limited(budget), pytest.raises(DeadlineError, match="not ready in time"):
        spend()


def test_a_budget_belongs_to_its_thread_and_block() -> None:
    with limited(Budget(60, documents=0)):
        others: list[int] = []
        thread = threading.Thread(target=lambda: others.append(spend(5) or 1))
        thread.start()
        thread.join()
        assert others == [1]
        with limited(None):
            spend(5)
        with pytest.raises(BudgetError):
            spend(1)
    spend(5)


SEARCHES = {
    "filter": Search("tea", filter="n > 3 and n < 30"),
    "facets": Search("tea", facets=["kind"]),
    "ranges": Search("tea", ranges={"n": {"low": (0, 9)}}),
    "phrase": Search("tea", must="tea number"),
    "excluded": Search("tea", must_not="number 7"),
    "sort": Search("tea", sort="n"),
    "list": Search(),
    "fuzzy": Search("gren nuber", fuzzy=True),
}


def everything(searcher: Searcher, search: Search) -> None:
    """Ask for all parts of the results."""
    found = searcher.search(search)
    found.count()
    found.facets()
    found.snippets()
    if search.query:
        found.explain()
        found.did_you_mean()


@pytest.mark.parametrize("name", SEARCHES)
def test_every_part_of_a_search_spends_time_and_documents(searcher: Searcher, name: str) -> None:
    search = SEARCHES[name]
    searcher.search(search)  # verdicts on phrases are kept
    with limited(Budget(60, documents=100 * len(DOCUMENTS) * TEXT)):
        everything(searcher, search)
    with limited(Budget(60, documents=1)), pytest.raises(BudgetError):
        everything(searcher, search)
    cancelled = Budget(60)
    cancelled.cancel()
    with limited(cancelled), pytest.raises(DeadlineError):
        everything(searcher, search)


@pytest.mark.parametrize("part", ["explain", "snippets", "did_you_mean"])
def test_parts_of_results_spend_time(searcher: Searcher, part: str) -> None:
    found = searcher.search(Search("greem tea numbar"))  # words that no other test asks for
    assert len(found.ranking)
    budget = Budget(60)
    budget.cancel()
    with limited(budget), pytest.raises(DeadlineError):
        getattr(found, part)()


def test_the_number_of_conditions_is_bounded(searcher: Searcher) -> None:
    few, many = (" or ".join(f"n = {number}" for number in range(size)) for size in (1024, 1025))
    assert len(searcher.rank("tea", filter=few, k=50)) == len(DOCUMENTS)
    for filter in (many, f"not ({many})", {"or": [{"n": number} for number in range(1025)]}):
        with pytest.raises(termwise.TermwiseError):
            searcher.rank("tea", filter=filter)


def test_a_long_example_spends_time_while_it_is_encoded(searcher: Searcher) -> None:
    """A document of a million words took a minute after its deadline."""
    budget = Budget(60)
    calls: list[int] = []
    budget.pause = lambda: calls.append(1)
    encoder = searcher.backend.encoder
    with limited(budget):
        encoder.encode_query(" ".join(f"word{number}" for number in range(50_000)))
    assert len(calls) > 20
    budget.cancel()
    with limited(budget), pytest.raises(DeadlineError):
        encoder.encode_query("green tea")
