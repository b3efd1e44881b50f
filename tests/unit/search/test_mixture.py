"""Mixtures: ranking with several indexes by one weighted sum of z-scores."""

from __future__ import annotations

import json
import shutil
import time
from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.searches import rank_candidates, searching

import termwise
from termwise import BuildOptions, Document, Query, Ranking, Run, build_index
from termwise.errors import (
    CorruptIndexError,
    DuplicateIdError,
    MissingFileError,
    NewerFormatError,
    NotAnIndexError,
    ParameterError,
    UnknownIdError,
)
from termwise.explain import mixture as module
from termwise.fusion import fuse, learn, mix_indexes
from termwise.index import Index, Manifest
from termwise.search import Part, Search, Searcher, mixture_folder, verify
from termwise.search.mixture import Mixture, different_documents
from termwise.search.mixture_folder import MixtureManifest
from termwise.storage.manifest_json import sealed

WORDS = ["merge", "sort", "list", "file", "read", "line", "card", "shuffle"]
DOCUMENTS = [
    Document(f"d{i}", " ".join(WORDS[(j * j + j // 3) % 8] for j in range(i, i + 1 + i % 5)) + f" only{i}")
    for i in range(40)
]
QUERIES = [Query(f"q{n}", text) for n, text in enumerate(["merge list", "read only7 file", "card", "zebra"])]


@pytest.fixture(scope="module")
def searchers(tmp_path_factory):
    folder = tmp_path_factory.mktemp("indexes")
    options = {"bm25": {"analyzer": "english"}, "jm": {"analyzer": "whitespace", "store_text": True}}
    return {
        model: build_index(DOCUMENTS, folder / f"{model}.tw", model=model, **options[model])
        for model in options
    }


def mixed(searchers, depth=5, weights=(0.25, 0.75)):
    return Searcher.mix(searchers, weights, depth=depth)


@pytest.fixture
def mixture(searchers):
    return mixed(searchers)


def test_a_mixture_by_hand(tmp_path):
    documents = [Document("a", "x x y"), Document("b", "x y y"), Document("c", "y z"), Document("d", "z z")]
    # With maximum likelihood a score is the sum of relative term frequencies; "x y" gives 1, 1, 1/2 and no result.
    exact = {"analyzer": "whitespace", "options": BuildOptions(quantiser="float32")}
    ml = build_index(documents, tmp_path / "ml", model="ml", **exact)
    bm25 = build_index(documents, tmp_path / "bm25", model="bm25", **exact)
    one, other = (
        dict(zip(r.doc_ids, r.scores.tolist(), strict=True)) for r in (ml.rank("x y"), bm25.rank("x y"))
    )
    assert one == pytest.approx({"a": 1.0, "b": 1.0, "c": 0.5})
    assert list(other) == ["b", "a", "c"] or list(other) == ["a", "b", "c"]
    z_of_one = {"a": 2**-0.5, "b": 2**-0.5, "c": -(2**0.5)}  # mean 5/6, deviation sqrt(1/18)
    values = np.array([other[doc_id] for doc_id in "abc"])
    expected = {
        doc_id: 0.5 * z_of_one[doc_id] + 2.0 * (other[doc_id] - values.mean()) / values.std()
        for doc_id in "abc"
    }
    ranking = Searcher.mix({"ml": ml, "bm25": bm25}, [0.5, 2.0]).rank("x y")
    assert dict(zip(ranking.doc_ids, ranking.scores.tolist(), strict=True)) == pytest.approx(expected)


def test_it_is_the_fusion_of_runs_over_all_candidates(searchers, mixture):
    """Every part scores the union of the first five documents of each, and `fuse` adds their z-scores."""
    for query in QUERIES:
        union = {doc_id for searcher in searchers.values() for doc_id in searcher.rank(query, k=5).doc_ids}
        candidates = sorted(union, key=lambda doc_id: int(doc_id[1:]))
        runs = [
            Run([Ranking(r.doc_ids, r.scores, query.query_id)], name)
            for name, searcher in searchers.items()
            if len(r := searcher.rank(query.text, k=99, candidates=candidates)) or True
        ]
        fused = fuse(runs, [0.25, 0.75], missing="minimum")[query.query_id]
        ranking = rank_candidates(mixture, query)
        assert set(ranking.doc_ids) == union
        seen = dict(zip(ranking.doc_ids, ranking.scores.tolist(), strict=True))
        assert seen == pytest.approx(dict(zip(fused.doc_ids, fused.scores.tolist(), strict=True)))


def test_a_smaller_k_is_a_prefix(mixture):
    everything = mixture.rank("merge list read", k=100)
    for k in range(1, len(everything) + 2):
        assert mixture.rank("merge list read", k=k) == everything.top(k)


def test_ties_are_in_input_order(tmp_path):
    texts = ["list of cards", "cards", "list of cards", "merge", "list of cards", "list"]
    documents = [Document(f"{9 - n}", text) for n, text in enumerate(texts)]
    parts = {m: build_index(documents, tmp_path / m, model=m) for m in ("bm25", "jm")}
    mixture = Searcher.mix(parts, [0.5, 0.5])
    ranking = mixture.rank("list cards")
    assert ranking.doc_ids[:3] == ("9", "7", "5")
    assert len(set(ranking.scores[:3].tolist())) == 1
    assert mixture.rank("list cards", k=2).doc_ids == ("9", "7")
    assert mixture.rank("list cards", candidates=["5", "8", "9"]).doc_ids[:2] == ("5", "9")


def test_order_of_parts_threads_and_rank_many(searchers, mixture):
    other = mixed(dict(reversed(searchers.items())), weights=(0.75, 0.25))
    run = mixture.rank_many(QUERIES, k=7)
    assert other.rank_many(QUERIES, k=7) == run
    assert mixture.rank_many(QUERIES, k=7, threads=3) == run
    assert [mixture.rank(query, k=7) for query in QUERIES] == list(run)


@settings(deadline=None, max_examples=40)
@given(
    words=st.lists(st.sampled_from([*WORDS, "only3", "zebra"]), max_size=6),
    depth=st.integers(1, 45),
    weights=st.tuples(st.floats(-2, 2), st.floats(0.01, 2)),
    k=st.integers(1, 45),
)
def test_any_mixture_is_the_sum_over_its_candidates(searchers, words, depth, weights, k):
    query = " ".join(words)
    union = {d for searcher in searchers.values() for d in searcher.rank(query, k=depth).doc_ids}
    candidates = [document.doc_id for document in DOCUMENTS if document.doc_id in union]
    total = np.zeros(len(candidates))
    for searcher, weight in zip(searchers.values(), weights, strict=True):
        ranking = searcher.rank(query, k=99, candidates=candidates)
        scores = dict(zip(ranking.doc_ids, ranking.scores.tolist(), strict=True))
        values = np.array([scores[doc_id] for doc_id in candidates])
        if len(values) and values.min() < values.max():
            total += weight / values.std() * (values - values.mean())
    order = np.argsort(-total, kind="stable")[:k]
    ranking = mixed(searchers, depth, weights).rank(query, k=k).top(len(candidates))
    assert ranking.doc_ids == tuple(candidates[place] for place in order)
    assert ranking.scores.tolist() == total[order].tolist()


def test_queries_that_one_part_or_no_part_knows(tmp_path):
    documents = [Document("a", "running fast"), Document("b", "a run"), Document("c", "walk")]
    one = build_index(documents, tmp_path / "one", model="bm25", analyzer="english")
    other = build_index(documents, tmp_path / "other", model="bm25", analyzer="whitespace")
    mixture = Searcher.mix({"one": one, "other": other}, [0.5, 0.5])
    assert mixture.rank("runs").doc_ids == one.rank("runs").doc_ids  # the other part knows no such word
    for query in ["", "zebra", "the of"]:
        assert len(mixture.rank(query)) == 0
        ranking = mixture.rank(query, candidates=["c", "a"])
        assert (ranking.doc_ids, ranking.scores.tolist()) == (("c", "a"), [0.0, 0.0])


def test_one_candidate_has_the_score_zero_and_still_an_explanation(searchers, mixture):
    ranking = mixture.rank("only7")
    assert (ranking.doc_ids, ranking.scores.tolist()) == (("d7",), [0.0])
    explanation = mixture.explain("only7", "d7")
    assert [part.deviation for part in explanation.parts] == [1.0, 1.0]
    assert sum(part.score for part in explanation.contributions) == pytest.approx(-explanation.constant)
    assert mixture.rank("only7", candidates=["d3", "d7"]).doc_ids == ("d7", "d3")


def test_given_candidates_keep_their_scores(mixture):
    found = rank_candidates(mixture, "merge list")
    again = mixture.rank(
        "merge list", candidates=sorted(found.doc_ids, key=lambda name: int(name[1:])), k=100
    )
    assert again == found
    run = Run([Ranking(found.doc_ids[:3], [3.0, 2.0, 1.0], "q0")])
    reranked = mixture.rank_many(QUERIES, candidates=run)
    assert list(reranked.rankings) == ["q0"]
    assert set(reranked["q0"].doc_ids) == set(found.doc_ids[:3])
    with pytest.raises(UnknownIdError, match="nope"):
        mixture.rank("merge", candidates=["nope"])
    with pytest.raises(DuplicateIdError):
        mixture.rank("merge", candidates=["d1", "d1"])


def test_excluded_documents_are_no_candidates(tmp_path, searchers, mixture):
    first = mixture.rank("merge list", k=100).doc_ids[0]
    ranking = mixture.rank("merge list", k=100, exclude=[first, "unknown"])
    assert first not in ranking.doc_ids
    by_id = mixture.rank_many([Query(first, "merge list")], exclude="id", k=100)[first]
    assert by_id.doc_ids == ranking.doc_ids
    assert by_id.scores.tolist() == ranking.scores.tolist()
    explained = mixture.explain("merge list", ranking.doc_ids[0], exclude=first)
    assert explained.score == ranking.scores[0]


def test_query_by_example(mixture):
    ranking = mixture.search(Search(like="d6", k=5)).ranking
    assert "d6" not in ranking.doc_ids
    assert ranking.query_id == "d6"
    explanations = mixture.search(Search(like="d6", k=5)).explain(competitors=1)
    assert [each.score for each in explanations] == ranking.scores.tolist()
    assert [each.rank for each in explanations] == [1, 2, 3, 4, 5]
    text = mixture.search(Search(like="d6")).text
    from_text = mixture.search(Search(like_text=text, k=5))
    assert from_text.same_text == ("d6",)
    assert from_text.ranking.doc_ids == ranking.doc_ids
    assert [e.score for e in from_text.explain()] == from_text.ranking.scores.tolist()


@pytest.mark.parametrize("query", ["merge list", "read only7 file", "card zebra", "zebra"])
def test_explanations_add_up(mixture, query):
    ranking, whole = rank_candidates(mixture, query), mixture.rank(query, k=100).doc_ids
    doc_ids = [*ranking.doc_ids, "d0"] if "d0" not in ranking.doc_ids else list(ranking.doc_ids)
    explanations = mixture.search(Search(query)).explain(doc_ids, competitors=1)
    for position, explanation in enumerate(explanations):
        parts = explanation.contributions
        assert explanation.constant + sum(part.score for part in parts) == pytest.approx(
            explanation.score, abs=1e-9
        )
        assert sum((p.score - p.mean) * p.scale for p in explanation.parts) == pytest.approx(
            explanation.score, abs=1e-9
        )
        scales = {part.name: part.scale for part in explanation.parts}
        for part in parts:
            assert part.scale == scales[part.part]
            assert part.score == pytest.approx(part.query_weight * part.weight * part.scale, abs=1e-12)
        assert [part.part for part in parts] == sorted((part.part for part in parts), key=list(scales).index)
        assert (
            explanation.text == DOCUMENTS[int(explanation.doc_id[1:])].text
        )  # of the part that stores texts
        if position < len(ranking):
            assert explanation.score == ranking.scores[position]
            assert (explanation.rank, explanation.results) == (position + 1, len(whole))
        else:
            assert (explanation.rank is None) == (explanation.doc_id not in whole)


def test_words_that_no_part_knows_are_unknown(mixture):
    query = "zebra merging card"
    explanation = mixture.explain(query, "d3")
    assert [query[start:end] for start, end in explanation.unknown] == [
        "zebra"
    ]  # only english knows "merging"


def test_arguments(searchers, mixture):
    with pytest.raises(ParameterError, match="1 or more"):
        mixture.rank("merge", k=0)
    with pytest.raises(ParameterError, match="identifier"):
        mixture.rank_many([3])
    for searcher in (mixture, searchers["bm25"]):
        for candidates in ("d1", [1], {"d1"}, 3, searcher.rank("merge")):
            with pytest.raises(ParameterError, match="candidates cannot have this value"):
                searcher.rank("merge", candidates=candidates)
        for doc_ids in ("d1", [5], [["d1"]], 5):
            with pytest.raises(ParameterError, match="doc_ids cannot have this value"):
                searcher.search(Search("merge")).explain(doc_ids)
        for exclude in (3, None, [1]):
            with pytest.raises(ParameterError, match="excluded documents are identifiers"):
                searcher.rank("merge", exclude=exclude)
            with pytest.raises(ParameterError, match="excluded documents are identifiers"):
                searcher.explain("merge", "d1", exclude=exclude)
        with pytest.raises(ParameterError, match="a run is a Run"):
            searcher.rank_many(QUERIES, candidates=["d1"])
        with pytest.raises(ParameterError, match="queries cannot have this value"):
            searcher.rank_many(None)
    with pytest.raises(ParameterError, match="competitors"):
        mixture.explain("merge", "d1", competitors=-1)
    with pytest.raises(UnknownIdError, match="nope"):
        mixture.explain("merge", "nope")
    with pytest.raises(ParameterError, match="a query is a string"):
        mixture.rank(3)
    with pytest.raises(ParameterError, match="weights of terms need an index with one model"):
        mixture.rank(searchers["bm25"].encode("merge"))
    bm25 = searchers["bm25"]
    wrong = [
        (None, [], "searchers cannot have this value"),
        ([bm25], [1.0], "searchers cannot have this value"),
        ({}, [], "1 to 32 parts"),
        ({"a": bm25}, [1.0, 2.0], "needs a weight"),
        ({"": bm25}, [1.0], "distinct names"),
        ({"a": bm25.index}, [1.0], "the searcher of one index"),
        ({"a": mixture}, [1.0], "the searcher of one index"),
        ({"a": bm25}, [float("nan")], "a number from"),
        ({"a": bm25}, [0.0], "not all 0"),
    ]
    for parts, weights, message in wrong:
        with pytest.raises(ParameterError, match=message):
            Searcher.mix(parts, weights)
    for names, message in ((("a", "a"), "distinct names"), ((), "1 to 32 parts")):
        with pytest.raises(ParameterError, match=message):
            Mixture([Part(name, bm25.backend, 1.0) for name in names])
    for depth in (0, 1.5, True, 1 << 25):
        with pytest.raises(ParameterError, match="depth"):
            mixed(searchers, depth=depth)


def test_parts_hold_the_same_documents_in_the_same_order(tmp_path, searchers):
    others = {
        "documents": DOCUMENTS[:-1],
        "position": [*DOCUMENTS[1:], DOCUMENTS[0]],
    }
    for fact, documents in others.items():
        other = build_index(documents, tmp_path / fact, model="bm25")
        with pytest.raises(ParameterError, match="different documents") as caught:
            Searcher.mix({"a": searchers["bm25"], "b": other}, [0.5, 0.5])
        assert fact in dict(caught.value.facts)
    assert different_documents(searchers["bm25"].index, searchers["jm"].index) is None


@pytest.fixture
def folder(tmp_path, searchers):
    path = tmp_path / "mixture.tw"
    mix_indexes([searcher.index for searcher in searchers.values()], [0.25, 0.75], path, depth=5)
    return path


def test_a_folder_ranks_like_its_parts(folder, mixture):
    opened = termwise.open(folder)
    assert len(opened.parts) > 1
    assert len(termwise.open(folder / "bm25").parts) == 1
    assert termwise.open(folder).rank("merge list") == opened.rank("merge list") == mixture.rank("merge list")
    assert opened.documents == len(DOCUMENTS)
    assert "0.25 bm25 + 0.75 jm" in repr(opened)
    assert [part.index.path.name for part in opened.parts] == ["bm25", "jm"]
    assert verify(folder / "jm") == verify(folder) == []


def test_query_settings_apply_to_every_part(folder):
    from termwise.engine.query_settings import QuerySettings

    once = searching(termwise.open(folder), weighting=QuerySettings(counts="once"))
    assert once.rank("card card list") == termwise.open(folder).rank("card list")
    encodings = once.searcher.backend.encodings(Search(**once.options), example=3)
    assert [each.encoder.example for each in encodings] == [3, 3]


def test_learned_weights_have_the_scores_of_the_mixture(folder):
    opened = termwise.open(folder)
    runs = opened.part_runs(QUERIES)
    assert [run.name for run in runs] == ["bm25", "jm"]
    fused = fuse(runs, [0.25, 0.75], missing="drop", documents="union")
    for query in QUERIES:
        ranking = rank_candidates(opened, query)
        seen = dict(zip(ranking.doc_ids, ranking.scores.tolist(), strict=True))
        again = fused[query.query_id]
        assert dict(zip(again.doc_ids, again.scores.tolist(), strict=True)) == pytest.approx(seen)
    qrels = [termwise.Qrel("q0", "d3", 1), termwise.Qrel("q1", "d7", 1)]
    assert learn(runs, qrels, method="sweep", missing="drop").learned.queries == 2


def test_bad_folders(tmp_path, folder):
    with pytest.raises(MissingFileError, match="no such index"):
        termwise.open(tmp_path / "nowhere")
    with pytest.raises(NotAnIndexError, match="a mixture of indexes"):
        Index.open(folder)
    shutil.move(folder / "jm", tmp_path / "jm")
    with pytest.raises((MissingFileError, NotAnIndexError)) as caught:
        termwise.open(folder)
    assert "mixture.tw/jm" in caught.value.render()
    build_index(DOCUMENTS, folder / "jm", model="jm", analyzer="english")
    with pytest.raises(CorruptIndexError, match="changed since the mixture was built"):
        termwise.open(folder)
    with pytest.raises(CorruptIndexError, match="changed since"):
        verify(folder)


def test_a_part_with_other_documents(tmp_path, folder):
    other = build_index(DOCUMENTS[::-1], folder / "jm", model="jm", overwrite=True)
    manifest = MixtureManifest.read(folder)
    digest = other.index.manifest.sha256
    changed = [replace(manifest.parts[0]), replace(manifest.parts[1], sha256=digest)]
    replace(manifest, parts=tuple(changed)).write(folder)
    with pytest.raises(CorruptIndexError, match="different documents"):
        termwise.open(folder)


def test_a_damaged_part_is_reported_with_its_folder(folder):
    file = next((folder / "jm").glob("ids-*.tw"))
    data = bytearray(file.read_bytes())
    data[-1] ^= 1
    file.unlink()  # the file may be shared with the index that it was copied from
    file.write_bytes(data)
    (damage,) = verify(folder)
    assert damage.file == f"jm/{file.name}"


def body(folder):
    return json.loads((folder / "mixture.json").read_text())


@pytest.mark.parametrize(
    ("change", "error", "message"),
    [
        (lambda body: {**body, "format": "other"}, NotAnIndexError, "does not describe a mixture"),
        (lambda body: {**body, "version": 9}, NewerFormatError, "later version"),
        (lambda body: {**body, "version": 0}, CorruptIndexError, "version"),
        (lambda body: {**body, "parts": []}, CorruptIndexError, "parts"),
        (lambda body: {**body, "parts": {}}, CorruptIndexError, "parts"),
        (lambda body: {**body, "parts": body["parts"][:1] * 2}, CorruptIndexError, "distinct"),
        (lambda body: {**body, "depth": 0}, CorruptIndexError, "depth"),
        (lambda body: {**body, "normalisation": "minmax"}, CorruptIndexError, "normalisation"),
        (lambda body: {**body, "extra": 1}, CorruptIndexError, "keys"),
        (lambda body: _part(body, folder="../bm25"), CorruptIndexError, "file name"),
        (lambda body: _part(body, name="a\nb"), CorruptIndexError, "name"),
        (lambda body: _part(body, weight="1"), CorruptIndexError, "weight"),
        (lambda body: _part(body, sha256="12"), CorruptIndexError, "sha256"),
        (lambda body: _part({**body, "parts": body["parts"][:1]}, weight=0), CorruptIndexError, "weight"),
    ],
)
def test_a_wrong_description(folder, change, error, message):
    (folder / "mixture.json").write_bytes(sealed(change(body(folder))))
    with pytest.raises(error) as caught:
        termwise.open(folder)
    assert message in caught.value.render()


def _part(body, **changes):
    first, *others = body["parts"]
    return {**body, "parts": [{**first, **changes}, *others]}


@pytest.mark.parametrize("data", [b"", b"{", b"\xff", b"[]", b'{"format": "termwise-mixture", "version": 1}'])
def test_a_damaged_description(folder, data):
    (folder / "mixture.json").write_bytes(data)
    with pytest.raises((CorruptIndexError, NotAnIndexError)) as caught:
        termwise.open(folder)
    assert "mixture.json" in caught.value.render()


def test_a_folder_in_place_of_the_description(folder):
    (folder / "mixture.json").unlink()
    (folder / "mixture.json").mkdir()
    with pytest.raises(NotAnIndexError):
        termwise.open(folder)


def test_opening_reads_a_description_that_a_build_has_just_replaced(folder, monkeypatch):
    real, calls = Manifest.read, []

    def read(path):
        calls.append(path)
        if len(calls) == 1:
            shutil.move(folder / "bm25", folder / "bm25-2")
            manifest = MixtureManifest.read(folder)
            first = replace(manifest.parts[0], folder="bm25-2")
            replace(manifest, parts=(first, manifest.parts[1])).write(folder)
        return real(path)

    monkeypatch.setattr(mixture_folder.Manifest, "read", read)
    assert termwise.open(folder).parts[0].index.path.name == "bm25-2"


@given(*[st.lists(st.tuples(st.integers(0, 12), st.integers(0, 5)), max_size=8)] * 2)
def test_spans_outside_of_others(spans, others):
    spans, others = ([(start, start + length) for start, length in each] for each in (spans, others))
    expected = [
        (start, end)
        for start, end in spans
        if not any(first < end and start < last for first, last in others)
    ]
    assert module._outside(spans, others) == tuple(sorted(expected))


def test_a_long_query_is_explained_in_linear_time(searchers):
    query = " ".join(["merge", "zebra"] * 8000)
    begin = time.process_time()
    explanation = mixed(searchers).explain(query, "d1")
    assert len(explanation.unknown) == 8000
    assert time.process_time() - begin < 20  # 130 seconds if each span is compared with each
