"""Feedback, and parts of a mixture that only score: results by hand, a reference in plain numpy, changes, and files."""

from __future__ import annotations

import json
import struct
import tempfile
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt
import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st
from tests.corruption import reseal
from tests.searches import rank_candidates
from tests.unit.search.vector_index import write_vector_index

import termwise
from termwise import BuildOptions, Document, Query, Ranking, build_index
from termwise.engine.feedback import UNIT, Feedback, moved_query
from termwise.engine.query_vector import query_vector
from termwise.errors import CorruptIndexError, ParameterError
from termwise.fusion import mix_indexes
from termwise.index import Index, document_vectors
from termwise.index.updater import IndexUpdater
from termwise.indexing import renew_index
from termwise.search import Search, Searcher, verify
from termwise.search.mixture import MixtureMatches
from termwise.search.mixture_folder import MixtureManifest
from termwise.storage.manifest_json import sealed
from termwise.text import Vocabulary
from termwise.vectors import DocumentVectors, TermVectors

Floats = npt.NDArray[np.float64]
Parts = dict[str, Searcher]
Vectors = dict[str, DocumentVectors]

WORDS = ["card", "file", "list", "merge", "sort"]
VOCABULARY = Vocabulary(WORDS)
TEXTS = ["merge list", "sort", "card file file", "list zebra"]
QUERIES = [Query(f"q{number}", text) for number, text in enumerate(TEXTS)]
WEIGHTS = {"bm25": 0.3, "dense": 0.7, "other": 0.2}
DEFAULT = Feedback()


@pytest.fixture(scope="module", autouse=True)
def without_lead() -> Iterator[None]:
    """Leave the scores of documents with all words as their parts have them; see `test_words_first.py`."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(MixtureMatches, "words_first", False)
        yield


def random_vectors(random: np.random.Generator, count: int, dimensions: int, level: int) -> DocumentVectors:
    """Return vectors of up to three windows for each document; scales are powers of two, so products are exact."""
    starts = np.concatenate([[0], np.cumsum(random.integers(0, 4, count))])
    rows = random.integers(-level, level + 1, (int(starts[-1]), dimensions))
    return DocumentVectors(starts, rows, random.choice([1.0, 0.5, 0.25], len(rows)))


def table_of(rows: Any) -> TermVectors:
    return TermVectors(rows, [0] * len(WORDS), 1.0, VOCABULARY.id)


def random_table(random: np.random.Generator, dimensions: int) -> TermVectors:
    return table_of(random.integers(-5, 6, (len(WORDS), dimensions)))


def documents_of(texts: Iterable[str]) -> list[Document]:
    return [Document(f"d{number}", text, {"number": number}) for number, text in enumerate(texts)]


def random_documents(random: np.random.Generator, count: int) -> list[Document]:
    return documents_of(" ".join(random.choice(WORDS, random.integers(0, 5))) for _ in range(count))


def write(folder: Path, made: Sequence[Document], vectors: DocumentVectors, table: TermVectors) -> Searcher:
    doc_ids, texts = zip(*((document.doc_id, document.text) for document in made), strict=True)
    return termwise.open(write_vector_index(folder, doc_ids, vectors, table, VOCABULARY, texts=texts))


def write_counts(folder: Path, made: Sequence[Document], **options: Any) -> Searcher:
    return build_index(made, folder, analyzer="whitespace", store_text=True, attributes="all", **options)


def mixed(parts: Parts, feedback: Any = DEFAULT, **options: Any) -> Searcher:
    return Searcher.mix(parts, [WEIGHTS[name] for name in parts], feedback=feedback, **options)


def ranked(searcher: Searcher, query: str, **options: Any) -> dict[str, float]:
    ranking = rank_candidates(searcher, query, **options)
    return dict(zip(ranking.doc_ids, ranking.scores.tolist(), strict=True))


def in_order(doc_ids: Iterable[str]) -> list[str]:
    return sorted(doc_ids, key=lambda doc_id: int(doc_id[1:]))


def prepared(searcher: Searcher, query: str) -> Any:
    encoder = searcher.backend.encodings(Search())[0].encoder
    return query_vector(searcher.index, encoder.encode_query(query))


def products_of(vectors: DocumentVectors, query: Floats, places: Iterable[int]) -> list[tuple[int, Floats]]:
    """Return the number of the first window of each document, and the products of its windows with a query."""
    products = vectors.matrix().astype(np.float64) @ query
    bounds = [vectors.indptr[place : place + 2].tolist() for place in places]
    return [(first, products[first:last]) for first, last in bounds]


def scores_by_vectors(vectors: DocumentVectors, query: Floats, places: Iterable[int]) -> Floats:
    """Return the largest product of each document, or the smallest of all for a document without windows."""
    found = [own.max() if len(own) else np.nan for _, own in products_of(vectors, query, places)]
    least = 0.0 if np.isnan(found).all() else float(np.nanmin(found))
    return np.asarray(np.nan_to_num(found, nan=least))


def moved_by_hand(vectors: DocumentVectors, query: Floats, first: list[int], weight: float) -> Floats | None:
    """Return a query that is moved towards documents; None if it cannot be."""
    rows = vectors.rows.astype(np.float64)
    directions = rows / np.maximum(np.linalg.norm(rows, axis=1), 1e-9)[:, None]
    best = [start + int(own.argmax()) for start, own in products_of(vectors, query, first) if len(own)]
    if not query.any() or not best:
        return None
    towards = directions[best].mean(axis=0) - directions.mean(axis=0)
    length = np.linalg.norm(towards)
    return query / np.linalg.norm(query) + weight * towards / length if length > 1e-6 else None


def expected(
    mixture: Searcher, query: str, vectors: Vectors, candidates: Sequence[str]
) -> tuple[dict[str, float], float]:
    """Return the scores of candidates, and what the rounding of moved queries can change; inf if it is too much."""
    places = [int(doc_id[1:]) for doc_id in candidates]
    queries, scores = {}, {}
    for part in mixture.parts:
        if part.name in vectors:
            vector = prepared(Searcher(part.backend), query)
            queries[part.name] = vector.vector * vector.unit
            scores[part.name] = scores_by_vectors(vectors[part.name], queries[part.name], places)
        else:
            of = ranked(Searcher(part.backend), query, candidates=candidates)
            scores[part.name] = np.array([of[doc_id] for doc_id in candidates])

    def total() -> Floats:
        sums = np.zeros(len(places))
        for part in mixture.parts:
            values = scores[part.name]
            if values.min() < values.max():
                sums += part.weight / values.std() * (values - values.mean())
        return sums

    slack, feedback = 1e-9, mixture.backend.feedback  # type: ignore[union-attr]
    if feedback is not None:
        first = [places[place] for place in np.argsort(-total(), kind="stable")[: feedback.documents]]
        for part in mixture.parts:
            if (stored := vectors.get(part.name)) is None:
                continue
            moved = moved_by_hand(stored, queries[part.name], first, feedback.weight)
            if moved is not None:
                scores[part.name] = scores_by_vectors(stored, moved, places)
                error = np.abs(stored.matrix()).sum(axis=1).max() / UNIT
                deviation = scores[part.name].std()
                slack += 5 * abs(part.weight) * error / deviation if deviation > 50 * error else np.inf
    return dict(zip(candidates, total().tolist(), strict=True)), slack


def check_scores(
    mixture: Searcher, query: str, vectors: Vectors, doc_ids: Iterable[str], **options: Any
) -> None:
    """Compare the scores of a query with the reference; `doc_ids` are the candidates in any order."""
    by_hand, slack = expected(mixture, query, vectors, in_order(doc_ids))
    assert slack < 0.05
    assert ranked(mixture, query, **options) == pytest.approx(by_hand, abs=slack, rel=0)


def check_sums(mixture: Searcher, query: str, doc_ids: Sequence[str]) -> None:
    """Check that the contributions of documents add up to their scores, which are those of the ranking."""
    scores, results = ranked(mixture, query), mixture.search(Search(query))
    reached = mixture.rank(query, k=1000).doc_ids
    for centred in (False, True):
        for found in results.explain(doc_ids, competitors=1, centred=centred):
            assert found.score == scores.get(found.doc_id, found.score)
            assert (found.rank is not None) == (found.doc_id in reached)
            total = found.constant + sum(each.score for each in found.contributions)
            assert total == pytest.approx(found.score, abs=1e-9), (found.doc_id, centred)
            for each in found.contributions:
                own = each.query_weight * (each.weight - each.mean) * each.scale
                assert each.score == pytest.approx(own, abs=1e-9)


@pytest.fixture(scope="module")
def vectors() -> Vectors:
    random = np.random.default_rng(5)
    return {"dense": random_vectors(random, 40, 4, 127), "other": random_vectors(random, 40, 3, 9)}


def name_of(vectors: DocumentVectors, first: Ranking) -> str:
    """Return the name of the contribution of feedback: that of the first documents with a window, or an empty one."""
    windows = np.diff(vectors.indptr)
    with_windows = [doc_id for doc_id in first.doc_ids if windows[int(doc_id[1:])]]
    if len(with_windows) > 2:
        with_windows[2:] = [f"{len(with_windows) - 2} more"]
    return f"similar to {' and '.join(with_windows)}" if with_windows else ""


@pytest.fixture(scope="module")
def parts(tmp_path_factory: pytest.TempPathFactory, vectors: Vectors) -> Parts:
    folder, random = tmp_path_factory.mktemp("indexes"), np.random.default_rng(6)
    made = random_documents(random, 40)
    opened = {"bm25": write_counts(folder / "bm25", made)}
    for name, stored in vectors.items():
        opened[name] = write(folder / name, made, stored, random_table(random, stored.dimensions))
    return opened


@pytest.fixture
def mixture(parts: Parts) -> Searcher:
    return mixed(parts)


@pytest.fixture
def small(tmp_path: Path) -> Parts:
    """Relative term frequencies, and vectors whose mean direction is 0."""
    made = [Document("<a>", "list"), *[Document(doc_id, "list sort") for doc_id in "bcd"]]
    ml = write_counts(tmp_path / "ml", made, model="ml", options=BuildOptions(quantiser="float32"))
    # Two windows of "<a>", one of "b" and one of "c". The directions are (0.8, 0.6), (0, 1) and their opposites.
    rows = DocumentVectors([0, 2, 3, 4, 4], [[4, 3], [0, 5], [-4, -3], [0, -5]], [1.0] * 4)
    table = table_of([[0, 0], [0, 0], [5, 0], [0, 0], [0, 0]])
    return {"ml": ml, "dense": write(tmp_path / "dense", made, rows, table)}


def test_scores_by_hand(small: Parts) -> None:
    mixture = Searcher.mix(small, [0.25, 0.75], feedback=Feedback(documents=1, weight=0.5))
    # The query (5, 0) has the direction (1, 0), and "<a>", first in both parts, that of its window (4, 3).
    # So q' = (1, 0) + 0.5 * (0.8, 0.6) = (1.4, 0.3); "d" has no window.
    values = np.array([1.4 * 4 + 0.3 * 3, -6.5, -1.5, -6.5])
    assert (values.mean(), values.var()) == pytest.approx((-2.0, 28.25))
    z_of_counts = 3**0.5 * np.array([1, -1 / 3, -1 / 3, -1 / 3])  # of the frequencies 1, 1/2, 1/2, 1/2
    total = (0.25 * z_of_counts + 0.75 * (values + 2) / 28.25**0.5).tolist()
    by_hand = dict(zip(["<a>", "b", "c", "d"], total, strict=True))
    assert ranked(mixture, "list") == pytest.approx(by_hand, abs=1e-4)
    found = mixture.explain("list", "<a>")
    scale, dense = 0.75 / 28.25**0.5, [each for each in found.contributions if each.part == "dense"]
    assert [(each.term, each.origin) for each in dense] == [("list", "exact"), ("similar to <a>", "feedback")]
    assert [each.query_weight for each in dense] == [1.0, 0.5]
    assert [each.score for each in dense] == pytest.approx([4 * scale, 2.5 * scale], abs=1e-4)
    assert "similar to &lt;a&gt;" in found.to_html()
    assert "<a>" not in found.to_html()


def test_a_moved_query_by_hand(small: Parts) -> None:
    index, query = small["dense"].index, prepared(small["dense"], "list")
    assert not index.mean_direction.any()

    def moved(documents: list[int], weight: float = 0.5, query: Any = query) -> Any:
        return moved_query(index, query, np.array(documents), weight)

    units = [round(1.4 * UNIT), round(0.3 * UNIT)]
    one = moved([0])
    assert (one.vector.tolist(), one.unit, one.term_unit) == (units, 1 / UNIT, 1 / 5)
    assert moved([3, 0]).vector.tolist() == units  # "d" has no window
    assert moved([3]) is query
    assert moved([0, 1]) is query  # their directions are opposite
    # The mean of (0.8, 0.6) and (0, -1) has the direction (2, -1) / sqrt(5).
    towards = np.array([2, -1]) / 5**0.5
    assert moved([0, 2], 1.0).vector.tolist() == np.rint(UNIT * (np.array([1, 0]) + towards)).tolist()
    for factor in (3, 1 << 22, 1 << 40):  # only the direction of a query counts
        assert moved([0], query=replace(query, vector=query.vector * factor)).vector.tolist() == units


def test_a_query_that_is_moved_to_zero(tmp_path: Path) -> None:
    made = documents_of(["list", "list sort"])
    vectors = DocumentVectors([0, 1, 2], [[-2], [2]], [1.0, 1.0])
    dense = write(tmp_path / "dense", made, vectors, table_of([[3]] * 5))
    parts = {"bm25": write_counts(tmp_path / "bm25", made), "dense": dense}
    mixture = Searcher.mix(parts, [0.8, 0.2], feedback=Feedback(documents=1, weight=1.0))
    assert ranked(mixture, "list") == pytest.approx({"d0": 0.8, "d1": -0.8})
    check_sums(mixture, "list", ["d0", "d1"])


@settings(max_examples=30, deadline=None)
@given(
    seed=st.integers(0, 2**32 - 1),
    count=st.integers(1, 12),
    level=st.sampled_from([1, 3, 127]),
    depth=st.sampled_from([1, 3, 50]),
    weights=st.sampled_from([(0.3, 0.7), (0.5, -0.5), (-1.0, 0.2), (0.0, 1.0)]),
    feedbacks=st.tuples(*[st.builds(Feedback, st.integers(1, 13), st.floats(0.01, 1))] * 2),
    only_scoring=st.sampled_from([[], [], ["bm25"], ["dense"]]),
)
def test_any_mixture_is_that_of_plain_arithmetic(
    seed: int, count: int, level: int, depth: int, weights: Any, feedbacks: Any, only_scoring: Any
) -> None:
    random, undecided = np.random.default_rng(seed), 0
    made, vectors = random_documents(random, count), random_vectors(random, count, 3, level)
    with tempfile.TemporaryDirectory() as folder:
        dense = write(Path(folder) / "dense", made, vectors, random_table(random, 3))
        parts = {"bm25": write_counts(Path(folder) / "bm25", made), "dense": dense}
        for feedback in (None, *feedbacks):
            mixture = Searcher.mix(parts, weights, depth=depth, feedback=feedback, only_scoring=only_scoring)
            for query in TEXTS:
                retrieving = [part for name, part in parts.items() if name not in only_scoring]
                union = {doc_id for part in retrieving for doc_id in part.rank(query, k=depth).doc_ids}
                scores = ranked(mixture, query)
                assert scores.keys() == union
                if union:
                    by_hand, slack = expected(mixture, query, {"dense": vectors}, in_order(union))
                    assert scores == pytest.approx(by_hand, abs=slack, rel=0)
                    undecided += slack == np.inf
    assume(undecided < 8)


def test_a_smaller_k_threads_and_given_candidates(mixture: Searcher, vectors: Vectors) -> None:
    run = mixture.rank_many(QUERIES, k=100)
    assert mixture.rank_many(QUERIES, k=100, threads=3) == run
    for query in QUERIES:
        everything, scores = rank_candidates(mixture, query), ranked(mixture, query.text)
        assert everything == run[query.query_id].top(len(everything))
        check_scores(mixture, query.text, vectors, everything.doc_ids)
        for k in range(1, len(everything) + 1):
            assert mixture.rank(query, k=k) == everything.top(k)
        given = in_order(everything.doc_ids[3:9])  # the first documents move the query all the same
        assert ranked(mixture, query.text, candidates=given) == {doc_id: scores[doc_id] for doc_id in given}


def test_documents_that_are_no_candidates_do_not_move_the_query(
    parts: Parts, mixture: Searcher, vectors: Vectors
) -> None:
    plain = mixed(parts, None)
    for query in TEXTS:
        first = plain.rank(query, k=2).doc_ids
        everything = list(ranked(plain, query))
        limited: list[tuple[dict[str, Any], list[str]]] = [
            ({"exclude": first}, [doc_id for doc_id in everything if doc_id not in first]),
            ({"exclude": first[0]}, everything[1:]),
            ({"filter": "number >= 20"}, [doc_id for doc_id in everything if int(doc_id[1:]) >= 20]),
        ]
        for options, left in limited:
            check_scores(mixture, query, vectors, left, **options)
            (found,) = mixture.search(Search(query, k=1, **options)).explain()
            names = {part: name_of(vectors[part], plain.rank(query, k=2, **options)) for part in vectors}
            seen = {each.part: each.term for each in found.contributions if each.origin == "feedback"}
            assert seen == {part: name for part, name in names.items() if name}
        by_id = mixture.rank_many([Query(first[0], query)], k=100, exclude="id")[first[0]]
        assert by_id.doc_ids == mixture.rank(query, k=100, exclude=first[0]).doc_ids


def test_a_search_without_feedback(parts: Parts, mixture: Searcher) -> None:
    plain, off = mixed(parts, None), Search(feedback=False)
    assert mixture.rank_many(QUERIES, search=off) == plain.rank_many(QUERIES) != mixture.rank_many(QUERIES)
    for query in QUERIES:
        found = mixture.search(Search(query, k=100, feedback=False))
        assert found.ranking == plain.rank(query, k=100) != mixture.rank(query, k=100)
        assert all(each.origin != "feedback" for each in found.explain()[0].contributions)
    assert mixture.part_runs(QUERIES) == plain.part_runs(QUERIES)
    assert parts["dense"].search(Search("list", feedback=False)).ranking == parts["dense"].rank("list")


def test_explanations_add_up(parts: Parts, vectors: Vectors) -> None:
    mixture, plain = mixed(parts, Feedback(documents=3, weight=0.4), depth=6), mixed(parts, None, depth=6)
    doc_ids = [f"d{number}" for number in range(40)]
    for query in TEXTS:
        assert len(ranked(mixture, query)) < 40  # others are explained on the scale of the candidates
        check_sums(mixture, query, doc_ids)
        names = {part: name_of(vectors[part], plain.rank(query, k=3)) for part in vectors}
        for place, found in enumerate(mixture.search(Search(query)).explain(doc_ids)):
            moved = [each for each in found.contributions if each.origin == "feedback" and each.score]
            windows = {part: np.diff(each.indptr)[place] for part, each in vectors.items()}
            assert [each.part for each in moved] == [part for part in vectors if windows[part]]
            assert all((each.term, each.query_weight) == (names[each.part], 0.4) for each in moved)


@pytest.mark.parametrize("centred", [False, True])
def test_explanations_are_shown(mixture: Searcher, centred: bool) -> None:
    (found,) = mixture.search(Search("merge list", k=1)).explain(centred=centred)
    name = next(each.term for each in found.contributions if each.origin == "feedback")
    as_text = found.to_text(width=200, full=True)
    assert all(name in each for each in (as_text, found.to_html(), str(found), json.dumps(found.to_dict())))


def test_arguments(parts: Parts, tmp_path: Path) -> None:
    whole: Any = np.int64(100)
    assert Feedback(whole, 1) == Feedback(100, 1.0)
    wrong: Any
    for wrong in (0, -1, 101, 2.0, True, "2", None):
        with pytest.raises(ParameterError, match="first documents"):
            Feedback(documents=wrong)
    for wrong in (0, -0.1, 1.01, float("nan"), float("inf"), True, "1", None):
        with pytest.raises(ParameterError, match="the length by which"):
            Feedback(weight=wrong)
    for wrong in (2, "2", {"documents": 2}):
        with pytest.raises(ParameterError, match="feedback cannot have this value"):
            mixed(parts, wrong)
        with pytest.raises(ParameterError, match="feedback cannot have this value"):
            Search("list", feedback=wrong)
    indexes = [searcher.index for searcher in parts.values()]
    for wrong, message in [
        *[
            (wrong, "only_scoring is a collection of names")
            for wrong in (["unknown"], [3], "dense", {"dense", "x"})
        ],
        (list(parts), "no part of the mixture finds candidates"),
    ]:
        with pytest.raises(ParameterError, match=message):
            mixed(parts, only_scoring=wrong)
        with pytest.raises(ParameterError, match=message):
            mix_indexes(indexes, [1.0] * 3, tmp_path / "m", only_scoring=wrong)
    assert not (tmp_path / "m").exists()
    with pytest.raises(ParameterError, match="only_scoring is a collection of names"):
        Searcher.mix({"a": parts["bm25"], "b": parts["dense"]}, [1.0, 1.0], only_scoring="a")


@pytest.mark.parametrize("only_scoring", [["dense"], ["bm25", "other"], ("other", "dense")])
def test_parts_that_only_score(parts: Parts, vectors: Vectors, only_scoring: Any) -> None:
    mixture = mixed(parts, only_scoring=only_scoring, depth=9)
    assert [part.retrieves for part in mixture.parts] == [name not in only_scoring for name in parts]
    for query in TEXTS:
        retrieving = [part for name, part in parts.items() if name not in only_scoring]
        union = {doc_id for part in retrieving for doc_id in part.rank(query, k=9).doc_ids}
        check_scores(mixture, query, vectors, union)
        check_sums(mixture, query, sorted(union))


def test_queries_that_cannot_be_moved(tmp_path: Path, parts: Parts) -> None:
    made = documents_of(["list", "list sort", "sort merge", "card"])
    bm25 = write_counts(tmp_path / "bm25", made)
    for name, vectors in {
        "no windows": DocumentVectors([0] * 5, np.empty((0, 2)), []),
        "zeros": DocumentVectors(range(5), np.zeros((4, 2)), [1.0] * 4),
        "equal": DocumentVectors(range(5), [[3, 1]] * 4, [1.0, 2.0, 1.0, 0.5]),
    }.items():
        dense = write(tmp_path / name, made, vectors, table_of([[0, 0], [0, 0], [1, 2], [-1, -2], [3, 0]]))
        both = {"bm25": bm25, "dense": dense}
        for query in [*TEXTS, "list merge", "zebra", ""]:  # "list merge" has the vector 0
            assert mixed(both).rank(query, k=9) == mixed(both, None).rank(query, k=9)
            check_sums(mixed(both), query, ["d0", "d3"])
    assert [len(mixed(parts).rank(query)) for query in ("zebra", "")] == [0, 0]
    with IndexUpdater(tmp_path / "equal") as updater:
        updater.delete([document.doc_id for document in made])
        updater.commit(merge=False)
    empty = termwise.open(tmp_path / "equal")
    assert len(mixed({"dense": empty}).rank("list")) == 0
    assert empty.index.mean_direction.tolist() == [0.0, 0.0]


def check_mean(index: Index, fresh: Index) -> None:
    """Compare the mean direction with a fresh index, with files without sums, and with a computation by numpy."""
    earlier = Index.open(index.path)
    for segment in earlier.segments:
        assert segment.vectors is not None
        segment.vectors._sums = None
    assert len({each.mean_direction.tobytes() for each in (index, fresh, earlier)}) == 1
    rows = fresh.document_vectors(np.arange(len(fresh))).rows.astype(np.float64)
    mean = (rows / np.linalg.norm(rows, axis=1)[:, None]).mean(axis=0)
    assert index.mean_direction / document_vectors.UNIT == pytest.approx(mean, abs=1e-7)


def test_the_mean_direction_after_changes(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(document_vectors, "BLOCK", 2)
    random, path = np.random.default_rng(8), tmp_path / "changed"
    table = random_table(random, 5)

    def made(*numbers: int) -> Vectors:
        return {f"d{number}": random_vectors(random, 1, 5, 127) for number in numbers}

    def built(folder: Path, contents: Vectors) -> Searcher:
        joined = DocumentVectors.concatenate(list(contents.values()))
        return termwise.open(write_vector_index(folder, list(contents), joined, table, VOCABULARY))

    current = made(*range(20))
    mixture = mixed({"dense": built(path, current)})
    steps: list[tuple[Vectors, list[str], bool]] = [
        (made(*range(20, 30)), [], False),
        (made(3, 4, 25), ["d5", "d21"], False),
        ({}, ["d3", "d0", "d1"], False),
        (made(0, 40), [], True),
    ]
    for added, deleted, merged in steps:
        with IndexUpdater(path) as updater:
            if added:
                updater.add_documents(list(added))
                updater.add_vectors(DocumentVectors.concatenate(list(added.values())))
            assert updater.delete(deleted) == len(deleted)
            updater.commit(merge=False)
            if merged:
                updater.merge()
        kept = {doc_id: own for doc_id, own in current.items() if doc_id not in {*added, *deleted}}
        current = {**kept, **added}
        anew, mixture = built(tmp_path / "fresh", current), mixture.refresh()
        assert (len(mixture.index.segments) == 1) == merged
        check_mean(mixture.index, anew.index)
        for query in QUERIES:
            assert mixture.rank(query, k=99) == mixed({"dense": anew}).rank(query, k=99)
    assert verify(path) == []


def test_a_changed_mixture_keeps_its_feedback(tmp_path: Path) -> None:
    made = documents_of(["merge sorted lists", "shuffle cards", "read a file", "sort a list of cards", ""])
    new = [Document("d1", "deal the cards"), Document("d5", "write lines to a file")]
    build_index(made, tmp_path / "m", model="best", store_text=True)
    with termwise.open_writer(tmp_path / "m") as writer:
        writer.add(new)
        writer.delete(["d2"])
    renew_index(tmp_path / "m")
    changed = termwise.open(tmp_path / "m")
    anew = build_index([made[0], *made[3:], *new], tmp_path / "fresh", model="best", store_text=True)
    kept, built = (MixtureManifest.read(tmp_path / name).feedback for name in ("m", "fresh"))
    assert kept == built is not None
    check_mean(changed.parts[1].index, anew.parts[1].index)
    for query in ("cards", "sort files", "lists"):
        assert changed.rank(query) == anew.rank(query)
        assert changed.search(Search(query, feedback=False)).ranking != changed.rank(query)


@pytest.fixture
def folder(tmp_path: Path, parts: Parts) -> Path:
    indexes, path = [parts[name].index for name in ("bm25", "dense")], tmp_path / "mixture.tw"
    mix_indexes(indexes, [0.3, 0.7], path, feedback=Feedback(3, 0.5), only_scoring=["dense"])
    return path


def body(folder: Path) -> Any:
    return json.loads((folder / "mixture.json").read_bytes())


def test_a_folder_keeps_feedback_and_the_parts_that_retrieve(folder: Path, parts: Parts) -> None:
    both = {name: parts[name] for name in ("bm25", "dense")}
    manifest, opened = MixtureManifest.read(folder), termwise.open(folder)
    assert (body(folder)["version"], body(folder)["feedback"]) == (4, {"documents": 3, "weight": 0.5})
    assert manifest.feedback == opened.backend.feedback == Feedback(3, 0.5)  # type: ignore[union-attr]
    assert [part.retrieves for part in manifest.parts] == [True, False]
    mixture = mixed(both, Feedback(3, 0.5), only_scoring=["dense"])
    assert opened.rank_many(QUERIES) == mixture.rank_many(QUERIES)
    manifest.write(folder)
    assert MixtureManifest.read(folder) == manifest
    assert verify(folder) == []
    # Version 3 has no scores of unrelated queries, and version 2 no scales.
    third = body(folder)
    assert third.pop("unrelated") is not None
    (folder / "mixture.json").write_bytes(sealed({**third, "version": 3}))
    assert MixtureManifest.read(folder) == replace(manifest, unrelated=None)
    for part in third["parts"]:
        assert part.pop("scale") is None
    (folder / "mixture.json").write_bytes(sealed({**third, "version": 2}))
    assert MixtureManifest.read(folder) == replace(manifest, unrelated=None)
    manifest.write(folder)
    # Version 1 has neither.
    earlier = {name: value for name, value in body(folder).items() if name not in ("feedback", "unrelated")}
    for part in earlier["parts"]:
        del part["retrieves"], part["scale"]
    (folder / "mixture.json").write_bytes(sealed({**earlier, "version": 1}))
    wrong = {**earlier, "version": 1, "feedback": None}
    opened = termwise.open(folder)
    assert opened.backend.feedback is None  # type: ignore[union-attr]
    assert all(part.retrieves for part in opened.parts)
    assert opened.rank_many(QUERIES) == mixed(both, None).rank_many(QUERIES)
    (folder / "mixture.json").write_bytes(sealed(wrong))
    with pytest.raises(CorruptIndexError):
        termwise.open(folder)


@pytest.mark.parametrize(
    ("feedback", "retrieves"),
    [
        ({"documents": 0, "weight": 0.2}, (True, True)),
        ({"documents": "2", "weight": 0.2}, (True, True)),
        ({"documents": 2, "weight": 2}, (True, True)),
        ({"documents": 2}, (True, True)),
        ({"documents": 2, "weight": 0.2, "extra": 1}, (True, True)),
        ([2, 0.2], (True, True)),
        ("absent", (True, True)),
        (None, (True, "absent")),
        (None, ("yes", True)),
        (None, (True, 1)),
        (None, (False, False)),
    ],
)
def test_a_wrong_description(folder: Path, feedback: Any, retrieves: tuple[Any, Any]) -> None:
    changed = {**body(folder), "feedback": feedback}
    for part, value in zip(changed["parts"], retrieves, strict=True):
        part["retrieves"] = value
        if value == "absent":
            del part["retrieves"]
    if feedback == "absent":
        del changed["feedback"]
    (folder / "mixture.json").write_bytes(sealed(changed))
    with pytest.raises(CorruptIndexError) as caught:
        termwise.open(folder)
    assert ("retrieves" if feedback is None else "feedback") in caught.value.render()


@pytest.mark.parametrize("wrong", [0.5, float("nan"), float("inf"), 2.0**60, None])
def test_a_wrong_sum_of_directions(tmp_path: Path, vectors: Vectors, wrong: float | None) -> None:
    """Only `verify` finds a wrong sum that is in range; the first search with feedback also finds the others."""
    table = random_table(np.random.default_rng(1), 4)
    write_vector_index(tmp_path, [f"d{number}" for number in range(40)], vectors["dense"], table, VOCABULARY)
    right = Index.open(tmp_path).segments[0].directions()[0]
    bits = struct.pack("<d", right[0] + 1 if wrong is None else wrong)
    reseal.change(tmp_path, "vectors", reseal.put(document_vectors.SUMS, 0, int.from_bytes(bits, "little")))
    (damage,) = verify(tmp_path)
    assert "the sum of the directions" in damage.what
    mixture = mixed({"dense": termwise.open(tmp_path)})
    assert len(mixture.search(Search("list", feedback=False)).ranking)
    if wrong is not None:
        with pytest.raises(CorruptIndexError) as caught:
            mixture.rank("list")
        assert "a whole number of at most" in caught.value.render()


def test_damaged_sums_of_directions(folder: Path) -> None:
    (file,) = (folder / "dense").glob("vectors-*.tw")
    data = bytearray(file.read_bytes())
    data[reseal.sections(bytes(data))[document_vectors.SUMS][0] + 3] ^= 1
    file.unlink()  # the file is shared with the index that it was copied from
    file.write_bytes(data)
    (damage,) = verify(folder)
    assert damage.file == f"dense/{file.name}"
    assert document_vectors.SUMS in damage.what


def test_documents_in_chunks(tmp_path: Path) -> None:
    """The best window of a document is that of all its chunks."""
    random = np.random.default_rng(3)
    words = [*WORDS, "shuffle", "read", "line", "boil", "green", "tea", "fold", "paper", "crane", "map"]
    sentences = [[" ".join(random.choice(words, 4)) for _ in range(number % 4)] for number in range(16)]
    made = documents_of("".join(f"{sentence}. " for sentence in each) for each in sentences)
    models = {"bm25": "bm25", "dense": "lookup"}
    parts = {name: build_index(made, tmp_path / name, model=model, chunk=5) for name, model in models.items()}
    index = parts["dense"].index
    chunks, starts = index.document_vectors(np.arange(len(index))), index.chunks.starts
    bounds = chunks.indptr[[*starts, len(index)]]
    whole = DocumentVectors(bounds, chunks.rows, chunks.scales)
    assert len(starts) == 16 < len(index)
    mixture, plain, best = mixed(parts), mixed(parts, None), []
    for query in ("sort cards", "green tea", "lines in files"):
        scores, without = ranked(mixture, query), ranked(plain, query)
        check_scores(mixture, query, {"dense": whole}, scores)
        assert max(abs(score - without[doc_id]) for doc_id, score in scores.items()) > 0.05
        check_sums(mixture, query, [document.doc_id for document in made])
        first = [int(doc_id[1:]) for doc_id in plain.rank(query, k=2).doc_ids]
        vector = prepared(parts["dense"], query).vector
        best += [int(own.argmax()) for _, own in products_of(whole, vector, first)]
    assert any(best)  # windows of other chunks than the first one


def test_a_mixture_keeps_the_scales_of_its_parts(tmp_path: Path, parts: Parts) -> None:
    indexes, path = [parts[name].index for name in ("bm25", "dense")], tmp_path / "mixture.tw"
    mixture = mix_indexes(indexes, [0.3, 0.7], path, scales={"dense": 0.0625})
    assert [part.scale for part in mixture.parts] == [None, 0.0625]
    assert [part.scale for part in termwise.open(path).parts] == [None, 0.0625]
    made = documents_of(["merge sorted lists", "shuffle cards"])
    assert [part.scale for part in build_index(made, tmp_path / "best", model="best").parts] == [
        1.453,
        0.07947,
    ]
    for scale in (0, -1.0, float("nan"), "1"):
        with pytest.raises(ParameterError, match="the scale of a part"):
            mix_indexes(indexes, [0.3, 0.7], tmp_path / "other", scales={"bm25": scale})  # type: ignore[dict-item]
    changed = body(path)
    changed["parts"][1]["scale"] = 0
    (path / "mixture.json").write_bytes(sealed(changed))
    with pytest.raises(CorruptIndexError):
        termwise.open(path)
