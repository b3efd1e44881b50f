"""Weights of the parts of a mixture for queries with identifiers."""

from __future__ import annotations

import math

import pytest

from termwise import Document, build_index
from termwise.search import Search, Searcher
from termwise.search.part_weights import part_weights

CODES = [f"AB-{number}/X" for number in range(1000, 1030)]
DOCUMENTS = [
    *(Document(f"d{n}", f"filter for a pump, article {code}") for n, code in enumerate(CODES)),
    Document("b12", "vitamin bx12 and b12 in food"),
    Document("phrase", "replacement of an old kettle"),
    *(Document(f"p{n}", f"pump number {n} of a series, model mark3") for n in range(30)),
]


@pytest.fixture(scope="module")
def mixture(tmp_path_factory: pytest.TempPathFactory) -> Searcher:
    return build_index(
        DOCUMENTS, tmp_path_factory.mktemp("codes") / "mixture", model="instant", store_text=True
    )


def weights_for(searcher: Searcher, text: str, **options: bool):
    backend = searcher.backend
    place = backend.word_part
    encoder = None if place is None else backend.encodings(Search(text, **options))[place].encoder
    return part_weights(backend.parts, tuple(part.weight for part in backend.parts), place, text, encoder)


@pytest.mark.parametrize(
    ("query", "identifiers"),
    [
        ("AB-1005/X", ("AB-1005/X",)),
        ("where is (AB-1005/X)?", ("AB-1005/X",)),
        ("vitamin bx12", ("bx12",)),
        ("vitamin b12", ()),  # short
        ('the "replacement of an old kettle"', ('"replacement of an old kettle"',)),
        ("AB-9999/X", ()),  # not in the index
        ("pump mark3", ()),  # in half of the documents
        ("filter 1005", ()),  # four digits alone
        ("filter pump", ()),
        ("", ()),
        ("AB-1005/X " * 33, ()),  # a document, not a query
    ],
)
def test_identifiers(mixture: Searcher, query: str, identifiers: tuple[str, ...]) -> None:
    found = weights_for(mixture, query)
    assert found.identifiers == identifiers
    assert sum(found.weights) == pytest.approx(1)
    assert (found.weights == (0.4, 0.6)) == (not identifiers)


def test_a_share_by_hand(mixture: Searcher) -> None:
    """Of 62 documents, 30 have filter, ab and x, and one has 1005 and ab1005x."""
    assert weights_for(mixture, "AB-1005/X").weights == (1.0, 0.0)
    rare, frequent = (math.log(1 + (62 - df + 0.5) / (df + 0.5)) for df in (1, 30))
    share = (2 * frequent + 2 * rare) / (3 * frequent + 2 * rare)
    found = weights_for(mixture, "filter AB-1005/X")
    assert found.share == pytest.approx(share)
    assert found.weights == pytest.approx((0.4 + 0.6 * share, 0.6 * (1 - share)))


def test_the_identifier_is_first_and_the_explanation_adds_up(mixture: Searcher) -> None:
    for query in ("AB-1005/X", "filter AB-1005/X", "AB-1007/X for a pump"):
        results = mixture.search(Search(query))
        found = weights_for(mixture, query)
        assert results.ranking.doc_ids[0] == f"d{query[query.index('AB-') + 5 :][:2].lstrip('0')}"
        (explanation,) = results.explain([results.ranking.doc_ids[0]])
        assert explanation.score == results.ranking.scores[0]
        assert [part.weight for part in explanation.parts] == list(found.weights)
        assert explanation.constant + sum(each.score for each in explanation.contributions) == pytest.approx(
            explanation.score, abs=1e-9
        )
        assert "is an identifier" in explanation.parts[0].reason
        assert explanation.parts[0].reason.startswith("not 0.4: AB-")
    (plain,) = mixture.search(Search("pump")).explain(["p1"])
    assert {part.reason for part in plain.parts} == {""}


def test_mixtures_without_a_part_of_words_or_of_vectors(mixture: Searcher) -> None:
    words, vectors = (Searcher(part.backend) for part in mixture.parts)
    for searcher, weights in (
        (Searcher.mix({"vectors": vectors}, [1.0]), (1.0,)),
        (Searcher.mix({"words": words}, [0.5]), (0.5,)),
        (Searcher.mix({"words": words, "vectors": vectors}, [0.0, 1.0]), (0.0, 1.0)),
        (Searcher.mix({"words": words, "vectors": vectors}, [1.0, -1.0]), (1.0, -1.0)),
    ):
        assert weights_for(searcher, "AB-1005/X").weights == weights


@pytest.fixture(scope="module")
def compounds(tmp_path_factory: pytest.TempPathFactory) -> Searcher:
    folder = tmp_path_factory.mktemp("compounds")
    made = [*DOCUMENTS, Document("wifi", "pump with wifi")]
    vectors = build_index(made, folder / "instant", model="instant").parts[1].backend
    words = build_index(made, folder / "words", model="bm25", analyzer="english-parts")
    return Searcher.mix({"words": words, "vectors": Searcher(vectors)}, [0.4, 0.6])


@pytest.mark.parametrize(
    ("query", "identifiers"),
    [
        ("AB-1005/X", ("AB-1005/X",)),
        ("AB1005X", ("AB1005X",)),
        ("AB-1005", ("AB-1005",)),  # its parts are known, its joined form is not
        ('"wi-fi pump"', ('"wi-fi pump"',)),  # the document has only the joined form
        ("AB-9999/X", ()),
        ("wi-fi", ()),  # no digits
    ],
)
def test_identifiers_are_compounds(compounds: Searcher, query: str, identifiers: tuple[str, ...]) -> None:
    assert weights_for(compounds, query).identifiers == identifiers


@pytest.mark.parametrize(
    ("query", "options", "identifiers"),
    [
        ("ab-10", {"prefix": True}, ("ab-10",)),  # 30 codes, each in one document
        ("ab10", {"prefix": True}, ("ab10",)),
        ("pump ab-1", {"prefix": True}, ("ab-1",)),  # short, and all completions have the form
        ("ab-10", {}, ()),
        ("ab-10 ", {"prefix": True}, ()),  # the word is complete
        ("ab-99", {"prefix": True}, ()),  # begins no code
        ("b1", {"prefix": True}, ()),  # b12 is short
        ("pump mark3", {"prefix": True}, ()),  # known, in half of the documents
        ("pump mar", {"prefix": True}, ()),  # no digit
        ("mark", {"prefix": True}, ()),
        ("filtr-1005", {"fuzzy": True}, ("filtr-1005",)),
    ],
)
def test_the_beginning_of_an_identifier(
    compounds: Searcher, query: str, options: dict[str, bool], identifiers: tuple[str, ...]
) -> None:
    found = weights_for(compounds, query, **options)
    assert found.identifiers == identifiers
    assert (found.weights == (0.4, 0.6)) == (not identifiers)


def test_all_documents_of_a_partial_identifier_are_first(compounds: Searcher) -> None:
    results = compounds.search(Search("ab-100", k=100, prefix=True))
    assert set(results.ranking.doc_ids[:10]) == {f"d{number}" for number in range(10)}
    assert results.count() == 10
    assert results.matching() == ["words"] * 10 + ["meaning"] * (len(results.ranking) - 10)
    (explanation,) = results.explain(["d3"])
    assert explanation.parts[0].reason == "not 0.4: ab-100 is an identifier, 100% of the query"
